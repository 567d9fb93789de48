"""LangChain: a judge as a runnable, or as a prompt and a parser; any chat model as a judge's model.

    grounded = runnable("groundedness", llm=ChatOpenAI(model="gpt-4o-mini"))
    verdict = grounded.invoke({"query": "...", "context": documents, "response": "..."})

A case goes in, or a mapping with its fields under their usual names, and a verdict comes out.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

from pydantic import ConfigDict, InstanceOf, create_model

from groundjudge import Case, Judge, Model, ModelError, Reply, ReplyError, Request, Verdict, load
from groundjudge.case import Context, Text
from groundjudge.judge import as_case
from groundjudge.model import ModelLike, as_model, reply_of
from groundjudge.models.refused import REFUSING, refused

try:
    from langchain_core.exceptions import OutputParserException
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, convert_to_messages
    from langchain_core.output_parsers import BaseOutputParser
    from langchain_core.outputs import ChatGeneration, Generation
    from langchain_core.prompt_values import ChatPromptValue
    from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
    from langchain_core.runnables.config import patch_config
except ImportError as error:
    needed = 'groundjudge.adapters.langchain needs langchain-core: pip install "groundjudge[langchain]"'
    raise ImportError(needed) from error

__all__ = ["ChatModel", "parser", "prompt", "runnable"]

T = TypeVar("T")
Judged: TypeAlias = Case | Mapping[str, Any]
Steps: TypeAlias = Generator[tuple[str, Runnable[Any, Any], Any], Any, T]
"""Child runs, each with its name, the runnable and its input. They are sent what each returned or raised."""

IN_FLIGHT = 16
TYPES: Mapping[str, Any] = {"text": str, "messages": Text, "documents": Context, "list": Sequence[str]}
STATUS = {401: "auth", 402: "quota", 403: "auth", 404: "not_found", 408: "timeout", 429: "rate_limited"}
KINDS = {"Timeout": "timeout", "Connect": "connection", "Transport": "connection"}

log = logging.getLogger("groundjudge")


def runnable(
    judge: Judge | str | Path,
    *,
    llm: Runnable[Any, Any] | ModelLike | None = None,
    **options: Any,  # noqa: ANN401  whatever `load` takes
) -> Runnable[Judged, Verdict]:
    """Make a judge a runnable.

    A trace shows a run of the judge's name with the child runs "prompt", "model" and "parser": three more
    if the model is asked again, none for a blank response. `batch` and `abatch` judge 16 cases at a time,
    or as many as the config's `max_concurrency` says.

    Args:
        judge: a judge's name, the path of a prompt file, or a judge.
        llm: a chat model (see `ChatModel`), or whatever else `groundjudge.load` takes as a model. A judge
            keeps the model it has if this is not given.
        options: what else `groundjudge.load` takes, for a judge that is named.

    Raises:
        GroundjudgeError: as for `groundjudge.load`. When it is invoked CaseError, ModelError or ReplyError,
            with the verdict (status "error") in the attribute `verdict`.
        TypeError: options for a judge that is loaded already.
    """
    model = ChatModel(cast("Any", llm)) if isinstance(llm, Runnable) else llm
    if not isinstance(judge, Judge):
        loaded = load(judge, model=model, **options)
    elif options:
        conflict = "a Judge brings its options along: give them to load(), or give the judge's name"
        raise TypeError(conflict)
    else:
        loaded = judge if model is None else replace(judge, model=as_model(model))

    def invoke(case: Judged, config: RunnableConfig) -> Verdict:
        return _run(_judging(loaded, case), config)

    async def ainvoke(case: Judged, config: RunnableConfig) -> Verdict:
        return await _arun(_judging(loaded, case), config)

    step = RunnableLambda(invoke, ainvoke, name=loaded.name)
    typed = step.with_types(input_type=_schema(loaded), output_type=Verdict)
    return typed.with_config(max_concurrency=IN_FLIGHT)


def prompt(judge: Judge) -> Runnable[Judged, ChatPromptValue]:
    """Make a judge's prompt a runnable, for a `prompt | llm | parser` of one's own. It raises CaseError."""

    def render(case: Judged) -> ChatPromptValue:
        return _prompted(judge.ask(case))

    step = RunnableLambda(render, name="prompt")
    return step.with_types(input_type=_schema(judge), output_type=ChatPromptValue)


def parser(judge: Judge, case: Judged | None = None) -> BaseOutputParser[Verdict]:
    """Make what reads the judge's verdict from a model's message, or from a text.

    Quotes are looked up in the case that the model was asked about; without it the verdict of a judge that
    quotes has the warning `evidence_unchecked`. A reply that cannot be read is an OutputParserException with
    the reply as its `llm_output` and the ReplyError as its cause.
    """
    return Parser(judge=judge, case=None if case is None else as_case(case))


class Parser(BaseOutputParser[Verdict]):
    """See `parser`."""

    judge: InstanceOf[Judge]
    case: InstanceOf[Case] | None = None

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Verdict:  # noqa: ARG002  LangChain's
        """Read a message with its usage and finish reason, or a text, which has neither."""
        said = result[0].message if isinstance(result[0], ChatGeneration) else result[0].text
        try:
            return self.judge.read(reply_of(said), self.case)
        except ReplyError as error:
            raise OutputParserException(str(error), llm_output=error.reply) from error

    def parse(self, text: str) -> Verdict:
        """Read a text."""
        return self.parse_result([Generation(text=text)])

    @property
    def _type(self) -> str:
        return "groundjudge"


class ChatModel:
    """A LangChain chat model as a model of the core: `load("groundedness", model=ChatModel(llm))`.

    What is set on the llm stays. What is not, the judge's parameters fill in (temperature, max_tokens, ...),
    where the llm has a field of that name and the endpoint does not refuse it. An llm that comes wrapped
    (`with_retry`, `with_fallbacks`, `bind`) is asked as it is.
    """

    def __init__(self, llm: Runnable[Any, Any]) -> None:
        self.llm = llm
        self._refused = frozenset[str]()

    @property
    def name(self) -> str:
        """What the llm calls its model."""
        names = (getattr(self.llm, name, None) for name in ("model_name", "model"))
        return next((name for name in names if isinstance(name, str) and name), self.llm.get_name())

    def complete(self, request: Request) -> Reply:
        """Ask the llm."""
        return reply_of(_run(self.asking(request, _prompted(request))))

    async def acomplete(self, request: Request) -> Reply:
        """Ask the llm without blocking the event loop."""
        return reply_of(await _arun(self.asking(request, _prompted(request))))

    def asking(self, request: Request, messages: ChatPromptValue) -> Steps[AIMessage]:
        """The steps to the llm's answer: one, and one more for each parameter that turns out to be refused.

        Raises:
            ModelError: there is no answer.
        """
        left_out, in_thread = self._refused, False
        while True:
            llm, filled_in = _filled_in(self.llm, request.parameters, left_out)
            try:
                said = yield "model", RunnableLambda(llm.invoke) if in_thread else llm, messages
                self._refused |= left_out
                return said if isinstance(said, AIMessage) else _message(reply_of(said))
            except ModelError:
                raise
            except Exception as error:
                failed = _model_error(self.name, error)
                refusal = refused(str(error), "", filled_in) if failed.code in REFUSING else {}
                if refusal:
                    left_out = left_out.union(refusal)
                    log.warning("%s does not take %s: it is left out from now on", self.name, *refusal)
                elif isinstance(error, RuntimeError) and "loop" in str(error) and not in_thread:
                    # Its async client hangs on to an event loop that is gone. Its sync one needs none.
                    in_thread = True
                else:
                    raise failed from error


def _judging(judge: Judge, case: Judged) -> Steps[Verdict]:
    """The steps to a verdict. What to ask, and whether again, is for the core's conversation to say."""
    talk = judge.conversation(case)
    try:
        request = next(talk)
        while True:
            messages = yield "prompt", RunnableLambda(partial(_prompted, request)), request.case
            try:
                said = yield from _asking(judge.model, request, messages)
            except ModelError as error:
                request = talk.throw(error)
            else:
                with suppress(OutputParserException):  # the conversation reads it too, and knows what to do
                    yield "parser", parser(judge, request.case), said
                request = talk.send(reply_of(said))
    except StopIteration as end:
        return cast("Verdict", end.value)


def _asking(model: Model, request: Request, messages: ChatPromptValue) -> Steps[AIMessage]:
    if isinstance(model, ChatModel):
        return (yield from model.asking(request, messages))

    def complete(_: object) -> AIMessage:
        return _message(model.complete(request))

    async def acomplete(_: object) -> AIMessage:
        return _message(await model.acomplete(request))

    said: AIMessage = yield "model", RunnableLambda(complete, acomplete), messages
    return said


def _run(steps: Steps[T], config: RunnableConfig | None = None) -> T:
    try:
        name, step, given = next(steps)
        while True:
            result, raised = None, None
            try:
                result = step.invoke(given, patch_config(config, run_name=name))
            except Exception as error:  # noqa: BLE001  the steps know what to do about it
                raised = error
            name, step, given = steps.throw(raised) if raised else steps.send(result)
    except StopIteration as end:
        return cast("T", end.value)


async def _arun(steps: Steps[T], config: RunnableConfig | None = None) -> T:
    try:
        name, step, given = next(steps)
        while True:
            result, raised = None, None
            try:
                result = await step.ainvoke(given, patch_config(config, run_name=name))
            except Exception as error:  # noqa: BLE001  as above
                raised = error
            name, step, given = steps.throw(raised) if raised else steps.send(result)
    except StopIteration as end:
        return cast("T", end.value)


def _prompted(request: Request, _: object = None) -> ChatPromptValue:
    return ChatPromptValue(
        messages=convert_to_messages([(told["role"], told["content"]) for told in request.messages])
    )


def _message(reply: Reply) -> AIMessage:
    """A reply as the message that `reply_of` reads as that reply."""
    said = AIMessage(
        reply.text, response_metadata={"finish_reason": reply.finish_reason, "model_name": reply.model}
    )
    if reply.refusal:
        said.additional_kwargs["refusal"] = reply.refusal
    if reply.usage:
        asked, answered = reply.usage.prompt_tokens, reply.usage.completion_tokens
        said.usage_metadata = {
            "input_tokens": asked,
            "output_tokens": answered,
            "total_tokens": asked + answered,
        }
    return said


def _filled_in(
    llm: Runnable[Any, Any], parameters: Mapping[str, Any], left_out: frozenset[str]
) -> tuple[Runnable[Any, Any], Mapping[str, Any]]:
    """The llm with those parameters that it has a field for which nobody has set, and which these are.

    They are not bound to the call: some llms hand on what is bound to clients that do not know it.
    """
    if not isinstance(llm, BaseChatModel):
        return llm, {}
    fields = type(llm).model_fields.keys() - llm.model_fields_set - left_out
    filled_in = {name: value for name, value in parameters.items() if name in fields}
    return (llm.model_copy(update=filled_in) if filled_in else llm), filled_in


def _model_error(name: str, error: Exception) -> ModelError:
    """What a client's error means: by its HTTP status if it has one, else by what its classes are called."""
    kinds = " ".join(kind.__name__ for kind in type(error).__mro__)
    code = next((code for part, code in KINDS.items() if part in kinds), "failed")
    told = getattr(error, "code", None)
    status = getattr(error, "status_code", told)
    if isinstance(status, int):
        code = STATUS.get(status, "server" if status >= 500 else "bad_request")  # noqa: PLR2004  RFC 9110
    if told == "insufficient_quota":
        code = "quota"
    return ModelError(code, f"{name}: {type(error).__name__}: {error}", name)


def _schema(judge: Judge) -> Any:  # noqa: ANN401  a class that stands for what it does not derive from
    """The fields of the case that the judge's prompt shows."""
    fields: dict[str, Any] = {
        each.field: (TYPES[each.type], ...) if each.required else (TYPES[each.type] | None, None)
        for each in judge.prompt.inputs
    }
    return create_model(f"{judge.name}_input", __config__=ConfigDict(extra="allow"), **fields)
