"""From a name, a client, a function or another library's model to a Model."""

from __future__ import annotations

import os
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from groundjudge.models.model_error import model_error
from groundjudge.models.wrappers import (
    Answer,
    ChatModel,
    DeepEvalLLM,
    DeepEvalModel,
    FunctionModel,
    LangChainModel,
)
from groundjudge.rubric.model import Model

CHOICES = (
    'a model\'s name ("gpt-4o-mini" or "openai:gpt-4o-mini": any OpenAI-compatible endpoint; '
    '"langchain:PROVIDER:MODEL": any provider of LangChain), '
    '"offline" (a lexical baseline: no language model, no key), (an OpenAI client, a model\'s name), '
    "a LangChain chat model, a DeepEvalBaseLLM, an object with name and acomplete (or complete), "
    "or a function from the request to its reply"
)

PROVIDERS = MappingProxyType(
    {
        **{
            name: name
            for name in (
                *("anthropic", "azure_ai", "azure_openai", "bedrock", "bedrock_converse", "cohere"),
                *("deepseek", "fireworks", "google_genai", "google_vertexai", "groq", "huggingface", "ibm"),
                *("mistralai", "nvidia", "ollama", "openrouter", "perplexity", "together", "upstage", "xai"),
            )
        },
        "azure": "azure_openai",
        "together_ai": "together",
        **dict.fromkeys(("gemini", "google"), "google_genai"),
        **dict.fromkeys(("vertex_ai", "vertexai"), "google_vertexai"),
    }
)
"""Providers by LangChain's names and by those of other libraries -> LangChain's name.

None is the name of a model at Ollama, as in "mistral:7b".
"""

LANGCHAIN = "langchain:"

ModelLike: TypeAlias = str | Model | Answer | tuple[Any, str] | ChatModel | DeepEvalLLM
"""What can be passed as a model; see `CHOICES`."""


def model_of(model: ModelLike | None) -> Model:  # noqa: PLR0911  a table of kinds
    """The argument as a Model; a Model is returned unchanged. `load` also knows the model "offline".

    Raises:
        ModelError: `no_model` if it is None, `unknown_model` if it is not one of `CHOICES`.
    """
    if isinstance(model, str):
        return _named(model)
    if isinstance(model, Model):
        return model
    if _has_methods(model, "invoke", "ainvoke"):
        return LangChainModel(cast("ChatModel", model))
    if _has_methods(model, "generate", "a_generate", "get_model_name"):
        return DeepEvalModel(cast("DeepEvalLLM", model))
    if _has_methods(model, "complete"):
        return FunctionModel(cast("Any", model).complete, cast("Any", model).name)
    if callable(model):
        return FunctionModel(model)
    match model:
        case (client, str(name)):
            return _at_endpoint(name, client=client)
        case None:
            raise model_error("no_model", f"no model given: pass `model`, which can be {CHOICES}", "")
        case _:  # code without a type checker can pass anything
            message = f"{type(model).__name__} cannot be used as a model: a model is {CHOICES}"
            raise model_error("unknown_model", message, type(model).__name__)


def _at_endpoint(name: str, client: object = None) -> Model:
    from groundjudge.models.openai import OpenAIModel  # noqa: PLC0415  importing the client takes a second

    return OpenAIModel(name, client=client)


def _named(name: str) -> Model:
    if get_close_matches(name.casefold(), ["offline"], cutoff=0.8):
        message = f'there is no model {name!r}: the lexical baseline is called "offline"'
        raise model_error("unknown_model", message, name)
    deployment = name.removeprefix(LANGCHAIN).removeprefix("openai:")
    if not deployment.strip():
        message = f'{name!r} lacks the name of the model, as in "openai:gpt-4o-mini"'
        raise model_error("unknown_model", message, name)
    if name.startswith(LANGCHAIN):
        return _from_langchain(name.removeprefix(LANGCHAIN))
    _refuse_other_provider(name)
    return _at_endpoint(deployment)


def _from_langchain(name: str) -> LangChainModel:
    """The chat model that LangChain's `init_chat_model` makes of "provider:model".

    Raises:
        ModelError: `unknown_model`, if LangChain or the provider's package is not installed, or if it makes
            no model of that name, for want of a key for instance.
    """
    try:
        make = import_module("langchain.chat_models").init_chat_model
        return LangChainModel(make(name), partial(_from_langchain, name))
    except Exception as error:  # each provider's package raises exceptions of its own
        remedy = "it needs a key, and pip install langchain with, for instance, langchain-anthropic"
        message = f"LangChain cannot make the model {name!r}: {error} ({remedy})"
        raise model_error("unknown_model", message, name) from error


def _refuse_other_provider(name: str) -> None:
    """Refuse a name that begins with another provider than OpenAI, whose API differs.

    Names with a slash are those of gateways (OpenRouter, LiteLLM), refused at OpenAI's endpoint only.
    A colon may belong to the model's name: llama3:8b, ft:gpt-4o:org::id.

    Raises:
        ModelError: `unknown_model`; the message says how the model can be used.
    """
    separator = "/" if "/" in name.partition(":")[0] else ":"
    prefix, _, model = name.partition(separator)
    provider = PROVIDERS.get(prefix.casefold().replace("-", "_"))
    is_at_gateway = separator == "/" and os.environ.get("OPENAI_BASE_URL")
    if not model or not provider or is_at_gateway:
        return
    at_gateway = name if separator == "/" else f"openai:{model}"
    message = (
        f"{name!r} is a model of another provider, {prefix}: pass "
        f'"langchain:{provider}:{model}" (pip install langchain, and the provider\'s package) or, '
        f'if an endpoint with OpenAI\'s API serves it, set OPENAI_BASE_URL and pass "{at_gateway}"'
    )
    raise model_error("unknown_model", message, name)


def _has_methods(model: object, *names: str) -> bool:
    """Whether the model's class has all these methods: instances of some runnables have any attribute."""
    return all(hasattr(type(model), name) for name in names)
