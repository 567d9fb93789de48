"""LangChain: a judge as a runnable, or as a prompt and a parser; any chat model as the judge's model.

    grounded = runnable("groundedness", model=ChatOpenAI(model="gpt-6-luna"))
    verdict = grounded.invoke({"query": "...", "context": documents, "response": "..."})

The input is a case, a mapping with its fields under their usual names, or an agent's state with `messages`;
the output is a verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal, TypeAlias, Unpack, cast, get_args

from pydantic import InstanceOf

from groundjudge.case.case import Case, CaseLike
from groundjudge.case.fields import Fields, FieldsLike
from groundjudge.errors import CaseError, PromptError, ReplyError, requires
from groundjudge.judging.conversation import Ask, Step, call, call_and_block, without_waiting
from groundjudge.judging.judge import Judge, request_for
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.models.library import UNSTREAMED
from groundjudge.models.lookup import ModelLike, call_metadata, may_trace_itself
from groundjudge.models.loop_thread import enter_context
from groundjudge.models.returned import reply_of
from groundjudge.prompt.input_model import input_model
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.verdict import Verdict

with requires("groundjudge.adapters.langchain needs langchain-core", "langchain"):
    from langchain_core.exceptions import OutputParserException
    from langchain_core.messages import AIMessage, BaseMessage, UsageMetadata, convert_to_messages
    from langchain_core.output_parsers import BaseOutputParser
    from langchain_core.outputs import ChatGeneration, Generation, LLMResult
    from langchain_core.prompt_values import ChatPromptValue, PromptValue
    from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda
    from langchain_core.runnables import config as configs

__all__ = ["parser", "prompt", "runnable"]

ROOTS = ("input",)
"""What a path to a field can begin with."""

OnError: TypeAlias = Literal["raise", "verdict"]


def runnable(  # noqa: PLR0913  one per option
    judge: JudgeLike,
    *,
    model: ModelLike | None = None,
    llm: ModelLike | None = None,
    fields: FieldsLike = None,
    on_error: OnError = "raise",
    output: str | None = None,
    **options: Unpack[PanelOptions],
) -> Runnable[CaseLike, Any]:
    """Make a runnable from a judge.

    A trace shows a run with the judge's name and the child runs "groundjudge.ask", "groundjudge.call" (with
    the runs inside that a chat model or a function leaves itself; for other models it is an llm run, with the
    tokens) and "groundjudge.read": three more if the model is asked again, none for a blank response. Each
    vote of a panel is a child run with these runs inside. In LangGraph, `stream_mode="messages"` shows none
    of the model's tokens.
    `batch` and `abatch` judge 16 cases at a time, or the config's `max_concurrency`.

    Args:
        judge: as for `groundjudge.as_judge`.
        model: a chat model, or anything else that `groundjudge.as_judge` accepts.
        llm: the same as `model`, under LangChain's usual name.
        fields: where to find fields with other names, as for `Fields.of`. A path begins with input; a
            function is called with the input.
        on_error: "raise", or "verdict" to return the verdict of an error (status "error") instead, so that
            a failing row does not end a `batch`.
        output: the key under which the verdict is returned, as `{output: verdict}`. A LangGraph node needs
            it: the graph treats what a node returns as an update of the state, and a bare verdict as one of
                `reason`, `label`, `score` and its other attributes.
        options: as for `groundjudge.as_judge`.

    Returns:
        A runnable from a case, or a mapping as `Case.from_mapping` reads it, to a Verdict. It raises
        CaseError, ModelError or ReplyError, with the verdict (status "error") in the attribute `verdict`.

    Raises:
        GroundjudgeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
        TypeError: an option is unknown, or both `model` and `llm` are given.
        ValueError: `on_error` has another value.
    """
    if model is not None and llm is not None:
        message = "model and llm are two names for the same argument: pass one of them"
        raise TypeError(message)
    if on_error not in get_args(OnError):
        message = f"on_error must be 'raise' or 'verdict', not {on_error!r}"
        raise ValueError(message)
    loaded = as_judge(judge, llm if model is None else model, **options)
    case_of = loaded.cases(fields, ROOTS, _case_of)
    evaluate = loaded.ajudge if on_error == "raise" else loaded.aevaluate

    async def ainvoke(row: CaseLike, ask: Ask = call) -> Any:  # noqa: ANN401  a verdict, alone or in a mapping
        verdict = await evaluate(lambda: case_of(row), _trace_step, ask)
        if output is None:
            return verdict
        return {output: verdict}

    # Without a function for each, LangChain runs the sync one in a thread for async callers.
    def invoke(row: CaseLike) -> Any:  # noqa: ANN401
        return without_waiting(ainvoke(row, call_and_block))

    # With `fields` the application determines the shape of the input.
    input_type: Any = Any
    if fields is None:
        input_type = input_model(loaded.name, loaded.inputs)
    output_type: Any = Verdict if output is None else dict[str, Verdict]
    step = RunnableLambda(invoke, ainvoke, name=loaded.name)
    typed = step.with_types(input_type=input_type, output_type=output_type)
    return typed.with_config(max_concurrency=16)  # LangChain's own default for `abatch` is all at once


def prompt(judge: Judge | Rubric) -> Runnable[CaseLike, ChatPromptValue]:
    """Make a runnable from a judge's prompt, for your own chain `prompt | llm | parser`.

    Returns:
        A runnable from a case, or a mapping as `Case.from_mapping` reads it, to the prompt. It raises
        CaseError, with the verdict in the attribute `verdict`: also on a blank response that
        `empty_response` makes "not_applicable" or "worst", because the chain cannot skip its model.

    Raises:
        PromptError: `bad_panel`: it is a panel or a cascade. `bad_window`: it has a `window`.
    """
    rubric = _rubric_of(judge)

    def render(row: CaseLike) -> ChatPromptValue:
        return _prompt_value(request_for(rubric, lambda: _case_of(Fields(), row)))

    step = RunnableLambda(render, name="groundjudge.prompt")
    return step.with_types(input_type=input_model(rubric.name, rubric.inputs), output_type=ChatPromptValue)


def parser(judge: Judge | Rubric, case: CaseLike | None = None) -> BaseOutputParser[Verdict]:
    """Make a parser that reads the judge's verdict from a model's message or a string.

    A reply that cannot be read raises an OutputParserException with the reply as its `llm_output` and the
    ReplyError as its cause.

    Args:
        judge: the judge or rubric whose prompt the model was sent.
        case: the case that the model was asked about, in which quotes are looked up. Without it the
            verdict of a judge that asks for quotes has the warning `evidence_unchecked`.

    Raises:
        CaseError: `case` is a mapping that cannot become a case.
        PromptError: as for `prompt`.
    """
    known_case = None if case is None else Case.of(case)
    return Parser(rubric=_rubric_of(judge), case=known_case)


def _case_of(fields: Fields, row: CaseLike) -> CaseLike:
    """Return the case in a runnable's input: the input itself, or the fields at paths in it.

    Raises:
        CaseError: `unreadable_row`: it is an answer, or a list.
    """
    if fields.paths:
        return fields.in_row(row, {"input": row})
    # A chain that ends in a model or a parser passes on a bare answer, which has lost the question.
    if isinstance(row, str | BaseMessage | PromptValue):
        kind = type(row).__name__
        message = (
            f"a case must be a mapping from field names to values, not {kind}: keep the chain's input and "
            "add the answer to it, RunnablePassthrough.assign(response=prompt | llm), before the judge"
        )
        raise CaseError("unreadable_row", message)
    if isinstance(row, list):
        message = (
            'a case must be a mapping, not a list: pass messages as {"messages": [...]}, and rows to `batch`'
        )
        raise CaseError("unreadable_row", message)
    return row


def _rubric_of(judge: Judge | Rubric) -> Rubric:
    """Return the rubric of a judge. A panel and a cascade have several, but a chain has one prompt.

    Raises:
        PromptError: `bad_panel`, `bad_window`.
    """
    rubric = judge.rubric if isinstance(judge, Judge) else judge
    if not isinstance(rubric, Rubric):  # pyright: ignore[reportUnnecessaryIsInstance]
        message = f"prompt and parser need a judge or a rubric, not {type(judge).__name__}"
        raise PromptError("bad_panel", f"{message}: use runnable for a panel, and load() for a name")
    if rubric.window is not None:
        message = f"{rubric.name}: a chain calls its model once, but `window` may take several calls"
        raise PromptError("bad_window", f"{message}: use runnable, or leave it out", "window")
    return rubric


def _traceable(value: object) -> object:
    """Return the input or output of a step as LangChain's traces display it: a request as its messages."""
    if isinstance(value, Request):
        return _prompt_value(value)
    if isinstance(value, Reply):
        return _message_of(value)
    return value


def _message_of(reply: Reply) -> AIMessage:
    """Return a reply as a chat model's message, with its tokens where traces count them."""
    additional: dict[str, str] = {}
    if reply.refusal:
        additional["refusal"] = reply.refusal
    usage: UsageMetadata | None = None
    if reply.usage:
        usage = cast("UsageMetadata", reply.usage.counts)
    return AIMessage(
        reply.text,
        response_metadata={"finish_reason": reply.finish_reason, "model_name": reply.model},
        additional_kwargs=additional,
        usage_metadata=usage,
    )


def _prompt_value(request: Request) -> ChatPromptValue:
    """Return the messages of a request as LangChain's prompts contain them."""
    messages = [dict(message) for message in request.messages]
    return ChatPromptValue(messages=convert_to_messages(messages))


def _trace_step(step: Step) -> AbstractContextManager[Callable[[Any], object]]:
    """Trace a step as a child run, inside which the runs of its model nest; or a model's call as its run."""
    if step.model and not may_trace_itself(step.model):
        return _trace_call(step, step.model)
    config = configs.ensure_config()
    manager = configs.get_callback_manager_for_config(config)
    run: Any = manager.on_chain_start(None, cast("Any", _traceable(step.argument)), name=step.name)
    # Without the child's callbacks the model's own run would have no parent.
    child_config = configs.patch_config(config, callbacks=run.get_child())
    return _run_inside(child_config, lambda result: run.on_chain_end(_traceable(result)), run.on_chain_error)


def _trace_call(step: Step, model: Model) -> AbstractContextManager[Callable[[Any], object]]:
    """Trace the call of a model as an llm run with its messages and tokens."""
    config: Any = configs.ensure_config()  # which has all the keys that its type leaves open
    # The tags keep the call out of `stream_mode="messages"`; the metadata names the model, for its price.
    call_config: Any = {
        **config,
        "tags": config["tags"] + UNSTREAMED["tags"],
        "metadata": config["metadata"] | call_metadata(model),
    }
    manager = configs.get_callback_manager_for_config(call_config)
    # One run, because there is one list of messages.
    messages = [_prompt_value(step.argument).to_messages()]
    (run,) = manager.on_chat_model_start({}, messages, name=step.name)

    def end(reply: Reply) -> None:
        generation = ChatGeneration(message=_message_of(reply))
        run.on_llm_end(LLMResult(generations=[[generation]]))

    return _run_inside(config, end, run.on_llm_error)


@contextmanager
def _run_inside(
    config: RunnableConfig, end: Callable[[Any], object], fail: Callable[[BaseException], object]
) -> Generator[Callable[[Any], object]]:
    """Do a step with a config, and end its run with the result or the error.

    Yields:
        What the step calls with its result.
    """
    results: list[object] = []
    try:
        with configs.set_config_context(config) as context, enter_context(context):
            yield results.append
    except BaseException as error:  # a cancelled run must not stay open in the trace
        fail(error)
        raise
    end(results[0])


class Parser(BaseOutputParser[Verdict]):
    """See `parser`."""

    # LangChain's parsers are pydantic models, which must not validate ours anew.
    rubric: InstanceOf[Rubric]
    case: InstanceOf[Case] | None = None

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Verdict:  # noqa: ARG002  required by LangChain
        """Read a message with its usage and finish reason, or a string, which has neither."""
        generation = result[0]
        answer: AIMessage | str = generation.text
        if isinstance(generation, ChatGeneration):
            answer = cast("AIMessage", generation.message)
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
