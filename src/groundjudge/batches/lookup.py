"""From a model to the provider of its batches."""

from __future__ import annotations

from groundjudge.batches.openai import OpenAIBatches
from groundjudge.batches.provider import Provider
from groundjudge.errors import ModelError
from groundjudge.models.openai import OpenAIModel
from groundjudge.models.wrappers import LangChainModel
from groundjudge.rubric.model import Model


def batches_of(model: Model) -> Provider:
    """The provider of a model's batches.

    Raises:
        ModelError: `no_batches`: it has none.
    """
    if isinstance(model, OpenAIModel):
        return OpenAIBatches(model)
    if isinstance(model, LangChainModel) and type(model.llm).__module__.startswith("langchain_anthropic."):
        from groundjudge.batches.anthropic import AnthropicBatches  # noqa: PLC0415  an extra

        return AnthropicBatches()
    message = (
        f"{model.name} has no batches: pass a model of an endpoint with OpenAI's Files and Batches API, "
        "or langchain:anthropic:NAME"
    )
    raise ModelError("no_batches", message, model.name)
