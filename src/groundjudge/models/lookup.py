"""From a name, a client, a function or another library's model to a Model."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, TypeAlias, cast

from groundjudge.errors import ModelError
from groundjudge.model import Model
from groundjudge.models.chat_model import ChatModel, LangChainModel
from groundjudge.models.deepeval_llm import DeepEvalLLM, DeepEvalModel
from groundjudge.models.function import Answer, FunctionModel

CHOICES = (
    'a model\'s name ("gpt-4o-mini" or "openai:gpt-4o-mini": any OpenAI-compatible endpoint), '
    '"offline" (a lexical baseline: no language model, no key), (an OpenAI client, a model\'s name), '
    "a LangChain chat model, a DeepEvalBaseLLM, an object with name, complete and acomplete, "
    "or a function from the request to its reply"
)

ModelLike: TypeAlias = str | Model | Answer | tuple[Any, str] | ChatModel | DeepEvalLLM
"""What can be passed as a model; see `CHOICES`."""


def as_model(model: ModelLike | None) -> Model:
    """The argument as a Model; a Model is returned unchanged.

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
    if callable(model):
        return FunctionModel(model)
    match model:
        case None:
            raise ModelError("no_model", f"no model given: pass model=, which can be {CHOICES}")
        case (client, str(name)):
            from groundjudge.models.openai import OpenAIModel  # noqa: PLC0415

            return OpenAIModel(name, client=client)
        case _:  # code without a type checker can pass anything
            raise _unknown(model)


def _named(name: str) -> Model:
    if name == "offline":
        from groundjudge.offline.model import OfflineModel  # noqa: PLC0415  loaded only if used

        return OfflineModel()
    if get_close_matches(name.casefold(), ["offline"], cutoff=0.8):
        message = f'there is no model {name!r}: the lexical baseline is called "offline"'
        raise ModelError("unknown_model", message, name)
    deployment = name.removeprefix("openai:")
    if not deployment.strip():
        raise _unknown(name)
    from groundjudge.models.openai import OpenAIModel  # noqa: PLC0415  importing the client takes a second

    return OpenAIModel(deployment)


def _has_methods(model: object, *names: str) -> bool:
    """Whether the model's class has all these methods: instances of some runnables have any attribute."""
    return all(hasattr(type(model), name) for name in names)


def _unknown(model: object) -> ModelError:
    message = f"{type(model).__name__} cannot be used as a model: a model is {CHOICES}"
    return ModelError("unknown_model", message, str(model))
