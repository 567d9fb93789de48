"""Finding the batch provider of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundjudge.batches.anthropic import AnthropicBatches
from groundjudge.batches.openai import OpenAIBatches
from groundjudge.batches.provider import Provider
from groundjudge.models.failure import model_error
from groundjudge.models.library import LibraryModel
from groundjudge.models.openai import OpenAIModel
from groundjudge.rubric.model import Model

PROVIDERS: Mapping[str, Callable[[], Provider]] = {"langchain_anthropic": AnthropicBatches}
"""The providers with their own API, by the package of their LangChain models. Each finds its key in the
environment, as LangChain does."""


def provider_of(model: Model) -> Provider:
    """Return the provider that runs a model's batches.

    Raises:
        ModelError: `no_batches`: it has none.
    """
    if isinstance(model, OpenAIModel):
        return OpenAIBatches(model)
    if isinstance(model, LibraryModel):
        package = type(model.llm).__module__.partition(".")[0]
        if package in PROVIDERS:
            return PROVIDERS[package]()
    names = [f"langchain:{package.removeprefix('langchain_')}:NAME" for package in PROVIDERS]
    message = (
        f"{model.name} has no batches: pass a model of an endpoint with OpenAI's Files and Batches API, "
        f"or {' or '.join(names)}"
    )
    raise model_error("no_batches", message, model.name)
