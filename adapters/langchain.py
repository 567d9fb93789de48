"""LangChain: a judge as a runnable, or as a prompt and a parser; any chat model as the judge's model.

    grounded = runnable("groundedness", model=ChatOpenAI(model="gpt-4o-mini"))
    verdict = grounded.invoke({"query": "...", "context": documents, "response": "..."})

The input is a case, or a mapping with its fields under their usual names; the output is a verdict.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from pydantic import ConfigDict, InstanceOf, create_model

from groundjudge import Case, Judge, JudgeOptions, Reply, ReplyError, Request, Rubric, Verdict, as_judge
from groundjudge.case import Context, Text
from groundjudge.judge import Step, aperform, perform
from groundjudge.models.lookup import ModelLike
from groundjudge.reply import reply_of

try:
    from langchain_core.exceptions import OutputParserException
    from langchain_core.messages import AIMessage, convert_to_messages
    from langchain_core.output_parsers import BaseOutputParser
    from langchain_core.outputs import ChatGeneration, Generation
    from langchain_core.prompt_values import ChatPromptValue
    from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
    from langchain_core.runnables.config import patch_config
except ImportError as error:
    needed = 'groundjudge.adapters.langchain needs langchain-core: pip install "groundjudge[langchain]"'
    raise ImportError(needed) from error

__all__ = ["parser", "prompt", "runnable"]

Judged: TypeAlias = Case | Mapping[str, Any]

DEFAULT_CONCURRENCY = 16
TYPES: Mapping[str, Any] = {"text": str, "messages": Text, "documents": Context, "list": Sequence[str]}


def runnable(
    judge: str | Path | Rubric | Judge,
    *,
    model: ModelLike | None = None,
    llm: ModelLike | None = None,
    **options: Unpack[JudgeOptions],
) -> Runnable[Judged, Verdict]:
    """Make a judge a runnable.

    A trace shows a run with the judge's name and the child runs "prompt", "model" (with the chat model's
    own run inside) and "parser": three more if the model is asked again, none for a blank response.
    `batch` and `abatch` judge 16 cases at a time, or the config's `max_concurrency`.

    Args:
        judge: a judge, a rubric, the name of a judge, or the path of a prompt file.
        model: a chat model, or any other model that `groundjudge.load` accepts. A judge keeps its model
            unless another one is given.
        llm: the same as `model`, under LangChain's usual name.
        options: further options of `groundjudge.load`; they replace the judge's own.

    Returns:
        A runnable from a case, or a mapping with its fields, to a verdict. It raises CaseError, ModelError
        or ReplyError, with the verdict (status "error") in the attribute `verdict`.

    Raises:
        GroundjudgeError: as for `groundjudge.load`.
        TypeError: an option is unknown, or both `model` and `llm` are given.
    """
    if model is not None and llm is not None:
        message = "model and llm are two names for the same argument: pass one of them"
        raise TypeError(message)
    loaded = as_judge(judge, llm if model is None else model, **options)

    def invoke(case: Judged, config: RunnableConfig) -> Verdict:
        return loaded.judge(case, _traced(config))

    async def ainvoke(case: Judged, config: RunnableConfig) -> Verdict:
        return await loaded.ajudge(case, _atraced(config))

    step = RunnableLambda(invoke, ainvoke, name=loaded.name)
    typed = step.with_types(input_type=_schema(loaded.rubric), output_type=Verdict)
    return typed.with_config(max_concurrency=DEFAULT_CONCURRENCY)


def prompt(judge: Judge | Rubric) -> Runnable[Judged, ChatPromptValue]:
    """Make a judge's prompt a runnable, for your own chain `prompt | llm | parser`.

    Returns:
        A runnable from a case, or a mapping with its fields, to the prompt. It raises CaseError.
    """
    rubric = _rubric(judge)

    def render(case: Judged) -> ChatPromptValue:
        return _prompt_value(rubric.ask(case))

    step = RunnableLambda(render, name="prompt")
    return step.with_types(input_type=_schema(rubric), output_type=ChatPromptValue)


def parser(judge: Judge | Rubric, case: Judged | None = None) -> BaseOutputParser[Verdict]:
    """Make a parser that reads the judge's verdict from a model's message or a string.

    A reply that cannot be read raises an OutputParserException with the reply as its `llm_output` and the
    ReplyError as its cause.

    Args:
        judge: the judge or rubric whose prompt the model was sent.
        case: the case that the model was asked about, in which quotes are looked up. Without it the
            verdict of a judge that asks for quotes has the warning `evidence_unchecked`.

    Raises:
        CaseError: `case` is a mapping that cannot become a case.
    """
    return Parser(rubric=_rubric(judge), case=None if case is None else Case.of(case))


class Parser(BaseOutputParser[Verdict]):
    """See `parser`."""

    rubric: InstanceOf[Rubric]
    case: InstanceOf[Case] | None = None

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Verdict:  # noqa: ARG002  required by LangChain
        """Read a message with its usage and finish reason, or a string, which has neither."""
        answer = result[0].message if isinstance(result[0], ChatGeneration) else result[0].text
        try:
            return self.rubric.read(reply_of(answer), self.case)
        except ReplyError as error:
            raise OutputParserException(str(error), llm_output=error.reply) from error

    def parse(self, text: str) -> Verdict:
        """Read a string."""
        return self.parse_result([Generation(text=text)])

    @property
    def _type(self) -> str:
        return "groundjudge"


def _rubric(judge: Judge | Rubric) -> Rubric:
    return judge.rubric if isinstance(judge, Judge) else judge


def _traced(config: RunnableConfig) -> Callable[[Step], Any]:
    """A function that performs the steps of a conversation, each as a child run."""

    def traced(step: Step) -> Any:  # noqa: ANN401  the result depends on the step
        results: list[Any] = []

        def work(_: object) -> Any:  # noqa: ANN401
            results.append(perform(step))
            return _traceable(results[0])

        RunnableLambda(work).invoke(_traceable(step.given), patch_config(config, run_name=step.name))
        return results[0]

    return traced


def _atraced(config: RunnableConfig) -> Callable[[Step], Awaitable[Any]]:
    """Like `_traced`, without blocking the event loop."""

    async def traced(step: Step) -> Any:  # noqa: ANN401
        results: list[Any] = []

        async def work(_: object) -> Any:  # noqa: ANN401
            results.append(await aperform(step))
            return _traceable(results[0])

        await RunnableLambda(work).ainvoke(_traceable(step.given), patch_config(config, run_name=step.name))
        return results[0]

    return traced


def _traceable(value: object) -> object:
    """The input or output of a step as an object that LangChain's traces display."""
    match value:
        case Request():
            return _prompt_value(value)
        case Reply():
            return _message(value)
        case _:
            return value


def _prompt_value(request: Request) -> ChatPromptValue:
    return ChatPromptValue(
        messages=convert_to_messages([(message["role"], message["content"]) for message in request.messages])
    )


def _message(reply: Reply) -> AIMessage:
    """The reply as a message."""
    metadata = {"finish_reason": reply.finish_reason, "model_name": reply.model}
    message = AIMessage(reply.text, response_metadata=metadata)
    if reply.refusal:
        message.additional_kwargs["refusal"] = reply.refusal
    if reply.usage:
        message.usage_metadata = {
            "input_tokens": reply.usage.prompt_tokens,
            "output_tokens": reply.usage.completion_tokens,
            "total_tokens": reply.usage.total_tokens,
        }
    return message


def _schema(rubric: Rubric) -> Any:  # noqa: ANN401  passed as a `type[Judged]`, which it is not
    """The input schema: the fields of the case that the judge's prompt shows."""
    fields: dict[str, Any] = {
        field.field: (TYPES[field.type], ...) if field.required else (TYPES[field.type] | None, None)
        for field in rubric.inputs
    }
    return create_model(f"{rubric.name}_input", __config__=ConfigDict(extra="allow"), **fields)
