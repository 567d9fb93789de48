"""What can be passed as a model, and the Model that it becomes: names, clients, functions, libraries' models.

LangChain and DeepEval are used through the methods of the objects only: neither is imported.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any, Protocol, TypeAlias, cast

from groundjudge.decisions.question import Kind
from groundjudge.models.answer import model_error, model_errors, without_echo
from groundjudge.models.decision_libraries import (
    UNSTREAMED,
    Library,
    ask_function,
    ask_library,
    library_of,
    takes_questions,
)
from groundjudge.models.decision_names import is_decision_name
from groundjudge.models.identity import declared_identity, identity_by_settings, itself, not_pickled
from groundjudge.models.loop_thread import call_function
from groundjudge.models.redaction import RedactedError, text_of
from groundjudge.models.redirects import chat_model_without_redirects
from groundjudge.models.secret_values import environment_keys, secret_attributes
from groundjudge.models.unsupported_parameters import known_refusals, negotiate
from groundjudge.replies.reply import Reply, reply_of, usage_of
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.text.patterns import compile_when_used

CHOICES = (
    'a model\'s name ("gpt-6-luna" or "openai:gpt-6-luna": any OpenAI-compatible endpoint; '
    '"langchain:PROVIDER:MODEL": any provider of LangChain), '
    '"offline" (no language model, no key), (an OpenAI client, a model\'s name), '
    "a LangChain chat model, a DeepEvalBaseLLM, an object with name and acomplete (or complete), "
    "or a function from the request to its reply; "
    'a decision model is "decisions:MODEL" (OpenAI\'s form) or "systemone:MODEL" (TypeSafe\'s form, as many '
    "servers have it), an OpenAI client with such a name, a decision model of LangChain, DeepEval or "
    "pydantic-ai, or a function from state and questions to answers"
)

EMBEDDING_METHODS = ("embed_query", "embed_text", "encode")
"""What models of embeddings have: LangChain's, DeepEval's, Sentence Transformers', which can be called."""

DECISION_PROVIDERS = {"decisions": "openai", "systemone": "typesafe"}
"""Whose interface a decision model has, by the beginning of its name."""

PROVIDER = compile_when_used(
    r"anthropic|azure(_ai|_openai)?|bedrock(_converse)?|cohere|deepseek|fireworks|gemini|google(_genai|_vertexai)?"
    r"|groq|huggingface|ibm|mistralai|nvidia|ollama|openrouter|perplexity|together(_ai)?|upstage|vertex_?ai|xai"
)
"""Providers by LangChain's names and by those of other libraries.

None is the name of a model at Ollama, as in "mistral:7b".
"""

ModelFunction: TypeAlias = Callable[[Request], Any] | Callable[[Request], Awaitable[Any]]
"""A function from the request to a string, a mapping, an object with `.content`, or a Reply."""

DecisionFunction: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], Any]
"""A function from the state and the questions, in the form of System One, to the answers in that form."""


class ChatModel(Protocol):
    """A LangChain chat model, or a runnable used in its place; it has `invoke` too."""

    def ainvoke(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes messages, returns a message."""


class DeepEvalLLM(Protocol):
    """A DeepEvalBaseLLM; it has `generate` and `get_model_name` too."""

    def a_generate(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes a prompt, returns a string, or a string and its cost."""


class DeepEvalDecisions(Protocol):
    """A DeepEvalBaseSystemOneModel; it has `decide` and `get_model_name` too."""

    def a_decide(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes a state and questions, returns answers and their cost."""


class PydanticAIDecisions(Protocol):
    """A DecisionModel of pydantic-ai."""

    def decide(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Takes a request and settings, returns answers."""


ModelLike: TypeAlias = (
    str
    | Model
    | ModelFunction
    | DecisionFunction
    | tuple[Any, str]
    | ChatModel
    | DeepEvalLLM
    | DeepEvalDecisions
    | PydanticAIDecisions
)
"""What can be passed as a model; see `CHOICES`."""


@dataclass(frozen=True)
class FunctionModel:
    """A function, sync or async, as a model. An exception that it raises becomes a ModelError.

    An exception with an HTTP status (`status_code`) gets that status's code; one whose class has "Timeout"
    in its name `timeout`, "Connect" `connection`, as Python's own have; any other `failed`.

    A function with two required parameters, state and questions, is a decision model: it takes what an
    endpoint of the System One form is sent, and returns what that would answer.

    Attributes:
        function: from the request to the reply. A synchronous one runs in a thread of its own.
        name: the model's name in verdicts; by default the function's own name.
    """

    function: ModelFunction | DecisionFunction = field(repr=False)
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            name: object = getattr(self.function, "__name__", None)
            if not isinstance(name, str):  # an object has none, and a mock's is another mock
                name = type(self.function).__name__
            object.__setattr__(self, "name", name)

    @cached_property
    def kind(self) -> Kind:
        """How the function answers: with a text, or with the probabilities of options."""
        return "decision" if takes_questions(self.function) else "text"

    @property
    def identity(self) -> str:
        """What tells this function from others, for a cache: its attribute `identity`, or its object's."""
        identity = declared_identity(self.function)
        return identity or declared_identity(getattr(self.function, "__self__", None))

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The keys in the environment, which no reply shows."""
        return environment_keys()

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled. A key in an attribute of the function's object gives a RuntimeWarning."""
        # The object that a method belongs to, or else the function itself, which may be an object.
        names = secret_attributes(getattr(self.function, "__self__", self.function))
        if names:
            message = (
                f"the model {self.name} is pickled with what looks like a key or a password, in "
                f"{', '.join(sorted(names))}: read it from the environment inside the function"
            )
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        return {"function": self.function, "name": self.name}

    async def acomplete(self, request: Request) -> Reply:
        """Call the function.

        Raises:
            ModelError: the function raised an exception, or its result cannot be read as a reply.
        """
        if "response_format" in request.added_parameters and request.rubric.structured != "always":
            # It was added for a re-ask, and nobody would notice that the function does not know it.
            parameters = dict(request.parameters)
            del parameters["response_format"]
            request = replace(request, parameters=parameters)
        task = asyncio.current_task()
        with model_errors(self.name, f"the model {self.name} raised ", task=task):
            if self.kind == "decision":
                reply = await ask_function(self.function, request)
            else:
                reply = reply_of(await call_function(self.function, request))
            return without_echo(reply, request, self.secrets)


@dataclass(frozen=True, eq=False, repr=False)
class LibraryModel:
    """A LangChain chat model or a DeepEval model as a model, or a decision model of a library.

    Settings of a LangChain llm are kept. The judge's parameters (temperature, max_tokens, ...) apply to
    settings that were not set, if the llm has a field of that name and the endpoint accepts it. A runnable
    that wraps an llm (`with_retry`, `with_fallbacks`, `bind`) is called unchanged. To Anthropic's, a constant
    system message goes with a mark, so that the provider keeps it in its cache.

    A DeepEval model gets the messages as one string; the judge's parameters are not sent. A decision model
    gets the state and the questions in the library's own words.

    Attributes:
        llm: the model, or a runnable that wraps one. If its asynchronous method is missing, or belongs to
            another event loop, the synchronous one runs in a thread.
        remake: makes this model again, in another process; None: it cannot be pickled.
        decisions: how its library's decision models are asked; None of a model that answers with a text.
    """

    llm: Any
    remake: Callable[[], LibraryModel] | None = None
    decisions: Library | None = None

    @property
    def kind(self) -> Kind:
        """How it answers: with a text, or with the probabilities of options."""
        return "decision" if self.decisions else "text"

    def __repr__(self) -> str:
        return f"LibraryModel({self.name!r})"

    __copy__ = __deepcopy__ = itself

    def __reduce__(self) -> tuple[Callable[[], LibraryModel], tuple[()]]:
        """Pickle the name from which LangChain made the llm.

        Raises:
            PicklingError: the llm was given as an object.
        """
        if self.remake is None:
            raise not_pickled(self.name, "the model object that was given, which may hold a key")
        return self.remake, ()

    @property
    def name(self) -> str:
        """The name of the llm's model, as DeepEval or LangChain report it, or else of its class."""
        names: list[object] = []
        if hasattr(self.llm, "get_model_name"):  # DeepEval's
            names.append(self.llm.get_model_name())
        names.append(getattr(self.llm, "model_name", None))
        names.append(getattr(self.llm, "model", None))
        if hasattr(self.llm, "get_name"):  # that of LangChain's runnables, which is their class's
            names.append(self.llm.get_name())
        for name in names:
            if isinstance(name, str) and name:
                return name
        return type(self.llm).__name__

    @property
    def identity(self) -> str:
        """What tells this llm from others of its name, for a cache: its class and its settings.

        A runnable that wraps an llm is told by the settings of all that it wraps. One with code of your own
        is told by an attribute `identity` that you give it, or not at all: "".
        """
        return declared_identity(self.llm) or identity_by_settings(self.name, self.llm)

    @cached_property
    def refusals(self) -> dict[str, str]:
        """The parameters that it is known to refuse, each with its new name, or "" if it is left out."""
        return known_refusals(self.identity) if self.identity else {}

    @cached_property
    def secrets(self) -> tuple[str, ...]:
        """The keys in the environment, which no reply shows."""
        return environment_keys()

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm, and again without each parameter that the endpoint refuses.

        Raises:
            ModelError: the llm raised an exception, or its result cannot be read as a reply; the codes are
                those of a FunctionModel.
        """
        kind = cast("Any", type(self.llm))
        unset_fields = set[str]()
        if hasattr(kind, "bind_tools"):  # a runnable around an llm has fields of another kind
            unset_fields = kind.model_fields.keys() - self.llm.model_fields_set

        async def send(parameters: dict[str, Any]) -> Reply:
            settings = {name: parameters[name] for name in unset_fields & parameters.keys()}
            # They are not bound to the call: some llms pass bound parameters on to clients that reject them.
            llm = self.llm.model_copy(update=settings) if settings else self.llm
            with model_errors(self.name, f"{self.name}: ", task=asyncio.current_task()):
                if self.decisions:
                    reply = await ask_library(self.decisions, llm, request)
                else:
                    reply = _reply_of(await _call_llm(llm, request))
                return without_echo(reply, request, self.secrets)

        parameters = {name: value for name, value in request.parameters.items() if name in unset_fields}
        return await negotiate(replace(request, parameters=parameters), self.refusals, self.name, send)


LIBRARIES = (("invoke", "ainvoke"), ("generate", "a_generate", "get_model_name"))
"""The methods of LangChain's chat models, and of DeepEval's."""


async def _call_llm(llm: Any, request: Request) -> object:  # noqa: ANN401  of either library
    """Return what the llm's asynchronous method returns, or else its synchronous one, in a thread."""
    arguments: tuple[object, ...]
    if _has_methods(llm, "ainvoke"):
        method, sync_method = llm.ainvoke, llm.invoke
        arguments = (_messages_for(llm, request), UNSTREAMED)
    else:
        method, sync_method = llm.a_generate, llm.generate
        prompt = "\n\n".join(message["content"] for message in request.messages)
        arguments = (prompt,)
    try:
        return await method(*arguments)
    except RuntimeError as error:  # NotImplementedError is one too
        # An async client may belong to an event loop that has ended. The sync client needs no loop.
        if not isinstance(error, NotImplementedError) and "loop" not in text_of(error):
            raise
        return await call_function(sync_method, *arguments)


def _messages_for(llm: object, request: Request) -> list[dict[str, Any]]:
    """Copy the messages of a request for LangChain; for Anthropic, a constant system message gets a mark.

    Anthropic keeps in its cache what ends with a mark, for five minutes after it was last read, and ignores
    the mark where that is too short to be kept. OpenAI and Gemini keep beginnings by themselves. A model that
    has a mark of its caller's gets no second one: one for five minutes must not stand before one for an hour.
    """
    messages: list[dict[str, Any]] = [dict(message) for message in request.messages]
    kind = type(llm)
    # Subclasses are for other platforms, some of whose models refuse marks.
    is_anthropic = kind.__name__ == "ChatAnthropic" and kind.__module__.startswith("langchain_anthropic.")
    has_own_mark = "cache_control" in getattr(llm, "model_kwargs", {})
    if is_anthropic and request.rubric.prompt.has_constant_system and not has_own_mark:
        block = {"type": "text", "text": messages[0]["content"], "cache_control": {"type": "ephemeral"}}
        messages[0]["content"] = [block]
    return messages


def _reply_of(answer: object) -> Reply:
    """Return the reply in a message or a string, or in DeepEval's string and cost, which may have tokens."""
    if not isinstance(answer, tuple):
        return reply_of(answer)
    text, cost = cast("tuple[str, Any]", answer)
    usage = usage_of(getattr(cost, "input_tokens", None), getattr(cost, "output_tokens", None))
    return Reply(text, usage=usage, cost=cost if isinstance(cost, int | float) else None)


def may_trace_itself(model: Model) -> bool:
    """Whether LangChain may trace calls of the model by itself: of its own models, and in functions."""
    inner = getattr(model, "model", model)  # that of a CachedModel
    if isinstance(inner, LibraryModel):
        return _has_methods(inner.llm, "ainvoke")
    return isinstance(inner, FunctionModel)


def call_metadata(model: Model) -> dict[str, str]:
    """Return what LangChain and LangSmith need to know of a call, for its price for instance."""
    inner = getattr(model, "model", model)
    endpoint = str(getattr(inner, "endpoint", ""))
    metadata = {"ls_model_type": "chat"}
    if model.name:
        metadata["ls_model_name"] = model.name
    form, _, model_name = model.name.partition(":")
    if form in DECISION_PROVIDERS:
        return {**metadata, "ls_model_name": model_name, "ls_provider": DECISION_PROVIDERS[form]}
    # Chat completions are OpenAI's interface, whoever offers them.
    if ".azure." in endpoint:
        metadata["ls_provider"] = "azure"
    elif "://" in endpoint:
        metadata["ls_provider"] = "openai"
    return metadata


def model_of(model: ModelLike | None) -> Model:
    """Return the argument as a Model; a Model is returned unchanged. `load` also knows the model "offline".

    Raises:
        ModelError: `no_model` if it is None, `unknown_model` if it is not one of `CHOICES`.
    """
    candidate: Any = model
    if isinstance(candidate, str):
        return _model_of_name(candidate)
    if isinstance(candidate, Model):
        return candidate
    library = library_of(candidate)
    if library is not None:
        return LibraryModel(candidate, decisions=library)
    if any(_has_methods(candidate, method) for method in EMBEDDING_METHODS):
        kind = type(candidate).__name__
        message = f"{kind} makes embeddings, and cannot answer: a model is {CHOICES}"
        raise model_error("unknown_model", message, kind)
    if any(_has_methods(candidate, *methods) for methods in LIBRARIES):
        return LibraryModel(candidate)
    # Metrics and evaluators that are made of a judge are called like functions, but answer nothing.
    if _has_methods(candidate, "ajudge") or _has_methods(getattr(candidate, "judge", None), "ajudge"):
        kind = type(candidate).__name__
        message = f"a judge ({kind}) is no model: pass the judge itself where judges go, and here {CHOICES}"
        raise model_error("unknown_model", message, kind)
    if _has_methods(candidate, "complete"):
        return FunctionModel(candidate.complete, candidate.name)
    if callable(candidate):
        return FunctionModel(candidate)
    match candidate:
        case (client, str(name)):
            return _model_at_endpoint(name, client=client)
        case None:
            raise model_error("no_model", f"no model given: pass `model`, which can be {CHOICES}", "")
        case _:  # code without a type checker can pass anything
            message = f"{type(candidate).__name__} cannot be used as a model: a model is {CHOICES}"
            raise model_error("unknown_model", message, type(candidate).__name__)


def _model_at_endpoint(name: str, client: object = None) -> Model:
    """Return the model of a name without a provider: a decision model, or one that can chat."""
    # Importing the client takes a second.
    if is_decision_name(name):
        from groundjudge.models.decisions import DecisionModel  # noqa: PLC0415

        return DecisionModel(name, client=client)
    from groundjudge.models.openai import OpenAIModel  # noqa: PLC0415

    return OpenAIModel(name, client=client)


def _model_of_name(name: str) -> Model:
    """Return the model of a name: of an endpoint with OpenAI's API, or of LangChain.

    The API of other providers differs. Names with a slash are those of gateways (OpenRouter, LiteLLM),
    refused at OpenAI's endpoint only. A colon may belong to the model's name: llama3:8b, ft:gpt-oss:org::id.

    Raises:
        ModelError: `unknown_model`; the message says how the model can be used.
    """
    deployment = name.removeprefix("langchain:").removeprefix("openai:")
    if name == "offline":
        message = (
            'the model "offline" belongs to the judge that it is passed to: pass its name, and nothing else'
        )
        raise model_error("unknown_model", message, name)
    if get_close_matches(name.casefold(), ["offline"], cutoff=0.8):
        message = f'there is no model {name!r}: the offline judge is called "offline"'
        raise model_error("unknown_model", message, name)
    if deployment.casefold().startswith(("http://", "https://")):
        message = f"{name!r} is a URL: set OPENAI_BASE_URL to it, and pass the name of a model"
        raise model_error("unknown_model", message, name)
    if not deployment.strip():
        message = f'{name!r} lacks the name of the model, as in "openai:gpt-6-luna"'
        raise model_error("unknown_model", message, name)
    if is_decision_name(name):
        return _model_at_endpoint(name)

    has_slash = "/" in name.partition(":")[0]
    prefix, _, model = name.partition("/" if has_slash else ":")
    provider = prefix.casefold().replace("-", "_")
    is_at_gateway = has_slash and bool(os.environ.get("OPENAI_BASE_URL"))
    if model and PROVIDER.fullmatch(provider) and not is_at_gateway:
        at_gateway = name if has_slash else f"openai:{model}"
        message = (
            f"{name!r} is a model of another provider, {prefix}: pass "
            f'"langchain:{provider}:{model}" (pip install langchain and the provider\'s package; some names '
            "are LangChain's own, as google_genai and azure_openai) or, if an endpoint with OpenAI's API "
            f'serves it, set OPENAI_BASE_URL and pass "{at_gateway}"'
        )
        raise model_error("unknown_model", message, name)
    if name.startswith("langchain:"):
        return _model_from_langchain(name.removeprefix("langchain:"))
    return _model_at_endpoint(deployment)


def _model_from_langchain(name: str) -> LibraryModel:
    """Return the chat model that LangChain's `init_chat_model` makes of "provider:model".

    Raises:
        ModelError: `unknown_model`, if LangChain or the provider's package is not installed, or if it makes
            no model of that name, for want of a key for instance.
    """
    try:
        llm = chat_model_without_redirects(name)
        return LibraryModel(llm, partial(_model_from_langchain, name))
    except Exception as error:  # noqa: BLE001  each provider's package raises exceptions of its own
        remedy = "it needs a key, and pip install langchain with, for instance, langchain-anthropic"
        message = f"LangChain cannot make the model {name!r}: {error} ({remedy})"
        raise model_error("unknown_model", message, name) from RedactedError(error)


def _has_methods(model: object, *names: str) -> bool:
    """Whether the model's class has all these methods: instances of some runnables have any attribute."""
    return all(hasattr(type(model), name) for name in names)
