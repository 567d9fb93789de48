"""Whatever a function, a client or a chat model raises is an error of its row: nothing hangs or ends."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, Mock

import openai
import pytest
from any_options import load_any
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import AIMessage

from groundjudge import Guard, ModelError, Reply, Verdict, load, run
from groundjudge.adapters.langchain import runnable
from groundjudge.models.loop_thread import ThreadPerCall
from groundjudge.models.redaction import RedactedError
from groundjudge.types import Request

ROW = {"query": "When do you open?", "context": "We open at 9.", "response": "At 9."}
LONGEST = 30
"""Seconds after which a call counts as one that hangs."""


class OfTheCallerError(BaseException):
    """One that no `except Exception` catches."""


class UntellableError(Exception):
    """One whose text cannot be made."""

    def __str__(self) -> str:
        raise ValueError

    __repr__ = __str__


def raised_from_itself() -> BaseException:
    error = ValueError("boom")
    error.__cause__ = error
    return error


EXCEPTIONS: dict[str, Callable[[], BaseException]] = {
    "StopIteration": lambda: StopIteration("boom"),
    "StopAsyncIteration": lambda: StopAsyncIteration("boom"),
    "CancelledError": lambda: asyncio.CancelledError("boom"),
    "text that cannot be made": UntellableError,
    "ExceptionGroup": lambda: ExceptionGroup("boom", [ValueError("1")]),
    "BaseExceptionGroup": lambda: BaseExceptionGroup("boom", [OfTheCallerError("1")]),
    "BaseException": lambda: OfTheCallerError("boom"),
    "RuntimeError": lambda: RuntimeError("boom"),
    "raised from itself": raised_from_itself,
}


# Models


class Chat(SimpleChatModel):
    """A chat model that raises."""

    make: Any

    @property
    def _llm_type(self) -> str:
        return "chat"

    def _call(self, *_: Any, **__: Any) -> str:
        raise self.make()


class AsyncChat(Chat):
    """One that raises in its asynchronous method too."""

    async def _agenerate(self, *_: Any, **__: Any) -> Any:
        raise self.make()


def models_that_raise(make: Callable[[], BaseException]) -> Iterator[tuple[str, Any]]:
    """Models of every kind that raise the exception, by name."""

    def function(_: object) -> str:
        raise make()

    async def async_function(_: object) -> str:
        raise make()

    async def async_function_after_a_wait(_: object) -> str:
        await asyncio.sleep(0)
        raise make()

    def create(**_: object) -> Any:
        raise make()

    async def async_create(**_: object) -> Any:
        raise make()

    class WithComplete:
        name = "m"

        def complete(self, _: object) -> str:
            raise make()

    class DeepEvalModel:
        def generate(self, _: str) -> str:
            raise make()

        async def a_generate(self, _: str) -> str:
            raise make()

        def get_model_name(self) -> str:
            return "m"

    yield "function", function
    yield "asynchronous function", async_function
    for client_name, method in (("client", create), ("asynchronous client", async_create)):
        completions = SimpleNamespace(create=method)
        yield client_name, (SimpleNamespace(chat=SimpleNamespace(completions=completions)), "m")
    yield "asynchronous function that waits", async_function_after_a_wait
    yield "object with complete", WithComplete()
    yield "mock of a client", (Mock(chat=Mock(completions=Mock(create=Mock(side_effect=create)))), "m")
    yield "DeepEval model", DeepEvalModel()
    yield "chat model", Chat(make=make)
    yield "asynchronous chat model", AsyncChat(make=make)


def decision_models_that_raise(make: Callable[[], BaseException]) -> Iterator[tuple[str, Any]]:
    """Decision models of several kinds that raise the exception, by name."""

    def answer_questions(state: Any, questions: Any) -> Any:
        del state, questions
        raise make()

    async def async_answer_questions(state: Any, questions: Any) -> Any:
        del state, questions
        raise make()

    yield "function of questions", answer_questions
    yield "asynchronous function of questions", async_answer_questions
    for name, model_class in decision_model_classes().items():
        yield name, model_class(make=make)


@cache
def decision_model_classes() -> dict[str, Any]:
    """Decision models of LangChain, which has them since 1.8."""
    if find_spec("langchain_core.decisions") is None:
        return {}
    decisions: Any = import_module("langchain_core.decisions")

    class MyDecisionModel(decisions.BaseDecisionModel):  # type: ignore[misc]  # a class that is imported late
        model: str = "m"
        make: Any

        @property
        def _provider(self) -> str:
            return "mine"

        def _classify(self, *_: Any) -> Any:
            raise self.make()

    class AsyncDecisionModel(MyDecisionModel):
        async def _aclassify(self, *_: Any) -> Any:
            raise self.make()

    return {"decision model": MyDecisionModel, "asynchronous decision model": AsyncDecisionModel}


# Ways to call a judge


def code_raised(judge: Any) -> str:
    with pytest.raises(ModelError) as raised:
        judge.judge(ROW)
    return raised.value.code


async def async_code_raised(judge: Any) -> str:
    with pytest.raises(ModelError) as raised:
        await judge.ajudge(ROW)
    return raised.value.code


def code_of(verdict: Verdict) -> str | None:
    return verdict.error.code if verdict.error else None


async def sync_call_in_a_loop(judge: Any) -> str | None:
    return code_of(judge.evaluate(ROW))


def code_of_guard(judge: Any) -> str | None:
    outcome = Guard(judge, fallback="Sorry.").run(ROW, lambda _note, _draft: "At 9.")
    assert outcome.response == "Sorry."
    return code_of(outcome.drafts[-1].verdict)


async def code_of_async_guard(judge: Any) -> str | None:
    outcome = await Guard(judge, fallback="Sorry.").arun(ROW, lambda _note, _draft: "At 9.")
    return code_of(outcome.drafts[-1].verdict)


def of_runnable(judge: Any, method: str) -> str | None:
    judging = runnable(judge, on_error="verdict")
    if method == "batch":
        return code_of(judging.batch([ROW])[0])
    if method == "ainvoke":
        return code_of(asyncio.run(judging.ainvoke(ROW)))
    return code_of(judging.invoke(ROW))


WAYS: dict[str, Callable[[Any], str | None]] = {
    "judge": code_raised,
    "ajudge": lambda judge: asyncio.run(async_code_raised(judge)),
    "evaluate": lambda judge: code_of(judge.evaluate(ROW)),
    "aevaluate": lambda judge: code_of(asyncio.run(judge.aevaluate(ROW))),
    "evaluate in a running loop": lambda judge: asyncio.run(sync_call_in_a_loop(judge)),
    "run": lambda judge: code_of(*run(judge, [ROW])),
    "run with a deadline": lambda judge: code_of(*run(judge, [ROW], deadline=60.0)),
    "guard": code_of_guard,
    "asynchronous guard": lambda judge: asyncio.run(code_of_async_guard(judge)),
    "LangChain's invoke": lambda judge: of_runnable(judge, "invoke"),
    "LangChain's ainvoke": lambda judge: of_runnable(judge, "ainvoke"),
    "LangChain's batch": lambda judge: of_runnable(judge, "batch"),
}


def result_of(call: Callable[[], Any]) -> Any:
    """Return what a call returns, in a thread of its own, or "hangs"; raise what it raises."""
    future = ThreadPerCall().submit(call)
    return future.result(LONGEST)


def codes_of(way: Callable[[Any], Any], models: Iterator[tuple[str, Any]], **options: Any) -> dict[str, Any]:
    """The codes that a way to call a judge gives, by the kinds of models."""
    codes: dict[str, Any] = {}
    for kind, model in models:
        judge = load_any("groundedness", model=model, **options)
        codes[kind] = result_of(lambda: way(judge))  # noqa: B023  it is called here
    return codes


@pytest.mark.parametrize(
    "name", ["StopIteration", "CancelledError", "text that cannot be made", "BaseException"]
)
def test_what_a_model_of_any_kind_raises_is_the_error_of_its_row(name: str) -> None:
    make = EXCEPTIONS[name]
    models = [*models_that_raise(make), *decision_models_that_raise(make)]
    assert codes_of(WAYS["evaluate"], iter(models)) == {kind: "failed" for kind, _ in models}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_to_call_a_judge_gives_that_error(way: Callable[[Any], str | None]) -> None:
    (function,) = islice(models_that_raise(EXCEPTIONS["StopIteration"]), 1)
    _, async_function = islice(models_that_raise(EXCEPTIONS["CancelledError"]), 2)
    codes = codes_of(way, iter([function, async_function]))
    assert codes == {"function": "failed", "asynchronous function": "failed"}


@pytest.mark.parametrize("make", EXCEPTIONS.values(), ids=EXCEPTIONS)
def test_what_a_function_raises_is_the_error_of_its_row_and_of_each_vote(
    make: Callable[[], BaseException],
) -> None:
    def by_votes(panel: Any) -> set[str | None]:
        verdict = panel.evaluate(ROW)
        return {code_of(verdict), *map(code_of, verdict.votes)}

    alone = codes_of(WAYS["evaluate"], islice(models_that_raise(make), 2))
    assert alone == {"function": "failed", "asynchronous function": "failed"}
    codes = codes_of(by_votes, islice(models_that_raise(make), 2), repeats=2)
    assert codes == {"function": {"failed"}, "asynchronous function": {"failed"}}


def test_message_names_what_was_raised() -> None:
    def untellable(_: object) -> str:
        raise UntellableError

    messages = {
        next_of_nothing: "the model next_of_nothing raised RuntimeError: a function raised StopIteration",
        untellable: "raised UntellableError: (no text: its __str__ raises ValueError)",
    }
    for function, message in messages.items():
        with pytest.raises(ModelError) as raised:
            load("groundedness", model=function).judge(ROW)
        assert message in raised.value.message
        assert isinstance(raised.value.__cause__, RedactedError)
        assert type(raised.value.__cause__.raised).__name__ in str(raised.value.__cause__)


def ask_nobody(_: object) -> str:
    """The shape of a function that is a model."""
    raise NotImplementedError


def next_of_nothing(_: object) -> str:
    return next(iter(()))


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(Mock(spec=ask_nobody, side_effect=[]), id="mock"),
        pytest.param(AsyncMock(spec=ask_nobody, side_effect=[]), id="asynchronous mock"),
        pytest.param(next_of_nothing, id="iterator"),
        pytest.param(GenericFakeChatModel(messages=iter(list[AIMessage]())), id="chat model of LangChain"),
    ],
)
def test_script_that_has_run_out_is_an_error(model: Any) -> None:
    judge = load("groundedness", model=model)
    assert code_of(result_of(lambda: judge.evaluate(ROW))) == "failed"


@pytest.mark.parametrize("kind", [openai.OpenAI, openai.AsyncOpenAI])
def test_transport_of_a_client_that_raises_anything_is_an_error(kind: Any) -> None:
    client = kind(base_url="http://127.0.0.1:9/v1", api_key="k", max_retries=0)
    client.chat.completions.create = Mock(side_effect=[])
    assert code_of(result_of(lambda: load("groundedness", model=(client, "m")).evaluate(ROW))) == "failed"


def test_verdict_of_an_object_of_the_callers_own_has_a_text_that_cannot_be_made() -> None:
    class Own:
        name = "own"

        async def acomplete(self, request: Request) -> Reply:  # noqa: ARG002  the protocol's name
            raise UntellableError

    verdict = load("groundedness", model=Own()).evaluate(ROW)
    assert verdict.error
    assert verdict.error.message == "UntellableError: (no text: its __str__ raises ValueError)"


# What ends a program or a task


ENDS = {
    "KeyboardInterrupt": lambda: KeyboardInterrupt("boom"),
    "SystemExit": lambda: SystemExit(3),
}


@pytest.mark.parametrize("make", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("way", ["evaluate", "aevaluate", "run"])
def test_what_ends_the_program_is_no_error_of_a_row(make: Callable[[], BaseException], way: str) -> None:
    functions_and_clients = islice(models_that_raise(make), 4)
    for _, model in functions_and_clients:
        judge = load("groundedness", model=model)
        with pytest.raises(type(make())):
            result_of(lambda: WAYS[way](judge))  # noqa: B023


@pytest.mark.parametrize("is_sync", [True, False], ids=["function in a thread", "asynchronous function"])
async def test_task_that_is_cancelled_ends(is_sync: Any) -> None:
    release = threading.Event()
    begun = asyncio.Event()
    loop = asyncio.get_running_loop()

    def blocking(_: object) -> str:
        loop.call_soon_threadsafe(begun.set)
        release.wait(LONGEST)
        return "late"

    async def waiting(_: object) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "late"

    judge = load("groundedness", model=blocking if is_sync else waiting)
    task = asyncio.create_task(judge.aevaluate(ROW))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()
    begun.clear()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await judge.aevaluate(ROW)
    begun.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(judge.aevaluate(ROW), 0.01)
    release.set()


async def test_failure_of_another_task_of_a_group_cancels_the_judge() -> None:
    begun = asyncio.Event()

    async def waiting(_: object) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "late"

    async def fail() -> None:
        await begun.wait()
        raise ValueError

    judging: list[asyncio.Task[Verdict]] = []

    async def judge_and_fail() -> None:
        async with asyncio.TaskGroup() as group:
            judging.append(group.create_task(load("groundedness", model=waiting).aevaluate(ROW)))
            group.create_task(fail())

    with pytest.raises(ExceptionGroup):
        await judge_and_fail()
    assert judging[0].cancelled()


def test_coroutine_that_is_thrown_away_ends_quietly(recwarn: pytest.WarningsRecorder) -> None:
    async def waiting(_: object) -> str:
        await asyncio.Event().wait()
        return "late"

    async def begin() -> Any:
        judging = load("groundedness", model=waiting).aevaluate(ROW)
        judging.send(None)
        return judging

    judging = asyncio.run(begin())
    judging.close()
    del judging
    gc.collect()
    assert not [str(warning.message) for warning in recwarn if "Unraisable" in str(warning.category)]
