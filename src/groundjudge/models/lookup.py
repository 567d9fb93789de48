"""What can be passed as a model, and the Model it becomes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import import_module
from typing import Annotated, Any, Protocol, TypeAlias, TypedDict, Unpack

from groundjudge.case.data import is_mapping
from groundjudge.models.failure import model_error
from groundjudge.models.function import FunctionModel
from groundjudge.models.init_chat_model import model_of_provider
from groundjudge.models.library import LibraryModel, has_methods
from groundjudge.rubric.model import Model, innermost
from groundjudge.rubric.options import COUNT, Option, is_deadline
from groundjudge.rubric.rubric import Request

WINGS = ("groundjudge.offline.names", "groundjudge.decisions.names")
"""The files that know other kinds of models by their names and objects, in the order in which they are asked.

Each has a function `find_model`: it takes a name or an object, and the client and the options that were
passed with a name, and returns the model; None if it is not of its kind. All are asked about every model, so
they import little: the rest of the wing comes with its first model.
"""

CHOICES = (
    'a model\'s name ("gpt-6-luna" or "openai:gpt-6-luna": any OpenAI-compatible endpoint; '
    '"langchain:PROVIDER:MODEL": any provider of LangChain), '
    '"offline" (no language model, no key), (an OpenAI client, a model\'s name), '
    "a LangChain chat model, a DeepEvalBaseLLM, an object with name and acomplete (or complete), "
    "or a function from the request to its reply; "
    'a model that answers questions with probabilities is "decisions:MODEL" (OpenAI\'s form) or '
    '"systemone:MODEL" (TypeSafe\'s form, as many servers have it), an OpenAI client with such a name, or a '
    "decision model of LangChain, DeepEval or pydantic-ai"
)

NO_OPTIONS: Mapping[str, Any] = {}

ModelFunction: TypeAlias = Callable[[Request], Any] | Callable[[Request], Awaitable[Any]]
"""A function from the request to a string, a mapping, an object with `.content`, or a Reply."""


def _is_text(value: object) -> bool:
    return isinstance(value, str)


class ChatModel(Protocol):
    """A LangChain chat model, or a runnable used in its place; it has `invoke` too."""

    def ainvoke(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes messages, returns a message."""


class DeepEvalLLM(Protocol):
    """A DeepEvalBaseLLM; it has `generate` and `get_model_name` too."""

    def a_generate(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes a prompt, returns a string, or a string and its cost."""


class Decider(Protocol):
    """A model of DeepEval or pydantic-ai that answers questions instead of messages."""

    def decide(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes questions, returns answers."""


class ModelOptions(TypedDict, total=False):
    """The options of a model that is passed by its name; a client or a model object has its own."""

    base_url: Annotated[
        str | None,
        Option(
            "OPENAI_BASE_URL, or the variable for another API",
            "The endpoint's URL, for a model that is passed by name.",
            (_is_text, "a text"),
        ),
    ]
    api_key: Annotated[
        str | None,
        Option(
            "OPENAI_API_KEY, or the variable for another API",
            "The key for that endpoint.",
            (_is_text, "a text"),
            command_line="none",  # where other users of the machine see it, and the history keeps it
        ),
    ]
    max_retries: Annotated[
        int | None,
        Option(
            "2, or the LangChain model's own",
            "How often a request is sent again after a transient error.",
            COUNT,
        ),
    ]
    timeout: Annotated[
        float | None,
        Option(
            "60, or the LangChain model's own",
            "Seconds to wait for data from the endpoint before an attempt fails.",
            (is_deadline, "a number of seconds above 0"),
        ),
    ]


ModelLike: TypeAlias = str | Model | ModelFunction | tuple[Any, str] | ChatModel | DeepEvalLLM | Decider
"""What can be passed as a model; see `CHOICES`."""


CHAT_METHODS = (("invoke", "ainvoke"), ("generate", "a_generate", "get_model_name"))
"""The methods of LangChain's chat models, and of DeepEval's."""


def may_trace_itself(model: Model) -> bool:
    """Whether LangChain may trace the model's calls itself: for its own models, and inside functions."""
    inner = innermost(model)
    if isinstance(inner, LibraryModel):
        return has_methods(inner.llm, "ainvoke")
    return isinstance(inner, FunctionModel)


def call_metadata(model: Model) -> dict[str, str]:
    """Return what LangChain and LangSmith need to know about a call, for instance to price it."""
    inner = innermost(model)
    endpoint = str(getattr(inner, "endpoint", ""))
    metadata = {"ls_model_type": "chat"}
    if model.name:
        metadata["ls_model_name"] = model.name
    # Chat completions are OpenAI's interface, no matter who offers them.
    if ".azure." in endpoint:
        metadata["ls_provider"] = "azure"
    elif "://" in endpoint:
        metadata["ls_provider"] = "openai"
    own_metadata = getattr(inner, "call_metadata", None)
    if is_mapping(own_metadata):
        metadata.update(own_metadata)
    return metadata


def as_model(model: ModelLike | None, **options: Unpack[ModelOptions]) -> Model:
    """Make a Model from what was passed as a model; a Model is returned unchanged.

    Args:
        model: what was passed as a model.
        options: see `ModelOptions`.

    Raises:
        ModelError: `no_model` if it is None, `unknown_model` if it is not one of `CHOICES`, or if options
            were passed and it is not a name.
    """
    candidate: Any = model
    settings: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if settings and not isinstance(candidate, str):
        kind = "none was passed" if candidate is None else f"this is a {type(candidate).__name__}"
        message = (
            f"{' and '.join(settings)}: only for a model that is passed by name, but {kind}: pass the name "
            "too, or create the model with these settings"
        )
        raise model_error("unknown_model", message, "")
    if candidate is None:
        raise model_error("no_model", f"no model given: pass `model`, which can be {CHOICES}", "")
    if isinstance(candidate, Model):
        return candidate
    client: Any = None
    match candidate:
        case (of_caller, str(name)):
            client, candidate = of_caller, name
        case _:
            pass
    # Wings come first: to the core "decisions:gpt-6" would be a name at an endpoint like any other.
    model_of_wing = find_in_wings(candidate, client, settings)
    if model_of_wing is not None:
        return model_of_wing
    if not isinstance(candidate, str):
        return _model_of_object(candidate)
    if client is None and candidate.startswith("langchain:"):
        return model_of_provider(candidate.removeprefix("langchain:"), settings)
    from groundjudge.models.openai import OpenAIModel  # noqa: PLC0415  importing the client takes a second

    if client is not None:
        return OpenAIModel(candidate, client=client)
    # Another colon belongs to the model's name: llama3:8b, ft:gpt-oss:org::id.
    name_at_endpoint = candidate.removeprefix("openai:")
    if not name_at_endpoint.strip():
        message = f'{candidate!r} lacks the name of the model, as in "openai:gpt-6-luna"'
        raise model_error("unknown_model", message, candidate)
    return OpenAIModel(name_at_endpoint, **settings)


def find_in_wings(
    candidate: object, client: object = None, options: Mapping[str, Any] = NO_OPTIONS
) -> Model | None:
    """Return the model of another kind that a name or an object means; None if there is none."""
    for wing in WINGS:
        model: Model | None = import_module(wing).find_model(candidate, client, options)
        if model is not None:
            return model
    return None


def _model_of_object(candidate: Any) -> Model:  # noqa: ANN401  code without a type checker can pass anything
    """Return the model for an object that is not a name."""
    kind = type(candidate).__name__
    # Before functions: in older versions, LangChain's chat models can be called, too.
    if any(has_methods(candidate, *methods) for methods in CHAT_METHODS):
        return LibraryModel(candidate)
    if has_methods(candidate, "complete"):
        return FunctionModel(candidate.complete, candidate.name)
    if callable(candidate):
        return FunctionModel(candidate)
    raise model_error("unknown_model", f"{kind} cannot be used as a model: a model is {CHOICES}", kind)
