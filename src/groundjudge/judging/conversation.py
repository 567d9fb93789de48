"""A conversation with a model about a case: ask, read, ask again if needed.

A conversation is a generator of steps, written once. Whoever runs it does the steps: a judge, a run over
many rows with its limits, a batch with answers that are there already. Traces wrap each step in a context
manager.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar, cast

from groundjudge.errors import GroundjudgeError, ReplyError
from groundjudge.models.loop_thread import shared_loop
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage, Verdict

DEFAULT_REPLY_TOKENS = 2048
"""The room that a truncated reply is taken to have had, where no limit was sent and no usage came."""

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One step of a conversation: a call of a model, a vote, or something that needs no waiting.

    Attributes:
        name: "groundjudge.ask" (from the case to the request), "groundjudge.call" (from the request to the
            reply), "groundjudge.read" (from the reply to the verdict); "groundjudge.vote 1" and so on for a
            judge's vote in a panel.
        given: what the step starts from.
        run: does the step, for "groundjudge.ask" and "groundjudge.read".
        model: the model to call, for "groundjudge.call".
        conversation: the conversation of which a vote consists, from the case.
    """

    name: str
    given: Any
    run: Callable[[Any], Any] | None = None
    model: Model | None = None
    conversation: Callable[[Any], Conversation] | None = None


Conversation: TypeAlias = Generator[Step, Any, Verdict]
"""Yields steps and is sent their results, or has thrown in what they raised."""

Around: TypeAlias = Callable[[Step], AbstractContextManager[Callable[[Any], object]]]
"""From a step to a context manager, inside which it is done; what `with` gives is called with its result."""

Ask: TypeAlias = Callable[[Model, Request], Awaitable[Reply]]
"""How a model is called."""

UNTRACED = nullcontext[Callable[[Any], object]](lambda _: None)


def untraced(_: Step) -> AbstractContextManager[Callable[[Any], object]]:
    """Around a step that nobody traces."""
    return UNTRACED


async def call(model: Model, request: Request) -> Reply:
    """Call a model."""
    return await model.acomplete(request)


async def call_and_block(model: Model, request: Request) -> Reply:
    """Call a model in the event loop that serves synchronous callers, and block until it has answered."""
    return shared_loop().run(model.acomplete, request)


async def run_conversation(conversation: Conversation, around: Around = untraced, ask: Ask = call) -> Verdict:
    """The verdict of a conversation.

    It waits only while `ask` does.

    Raises:
        GroundjudgeError: as the conversation.
    """
    try:
        step = next(conversation)
        while True:
            try:
                with around(step) as note:
                    result = await _result(step, around, ask)
                    note(result)
            except GroundjudgeError as error:
                step = conversation.throw(error)
            else:
                step = conversation.send(result)
    except StopIteration as end:
        return cast("Verdict", end.value)
    finally:
        conversation.close()


async def _result(step: Step, around: Around, ask: Ask) -> Any:  # noqa: ANN401  each step has its own kind of result
    if step.model:
        return await ask(step.model, step.given)
    if step.conversation:
        return await run_conversation(step.conversation(step.given), around, ask)
    return step.run(step.given) if step.run else None


def without_waiting(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine that never waits, such as a conversation with `call_and_block`.

    So synchronous callers are served by the code that serves asynchronous ones, in their own thread and
    context; only the call of the model happens elsewhere.
    """
    try:
        work.send(None)
    except StopIteration as end:
        return cast("T", end.value)
    finally:
        work.close()
    message = "a step of a synchronous judgement waited for something"
    raise RuntimeError(message)


@dataclass
class Reasks:
    """How often a model may still be asked again.

    Attributes:
        unreadable: after replies that cannot be read.
        truncated: after replies that were cut off, which then get more room.
    """

    unreadable: int
    truncated: int = 1

    def request(self, request: Request, reply: Reply, error: ReplyError) -> Request:
        """The request after one whose reply could not be read.

        Raises:
            ReplyError: the model has been asked often enough.
        """
        if error.code == "truncated" and self.truncated:
            self.truncated -= 1
            return _with_more_room(request, reply)
        if error.code != "truncated" and self.unreadable:
            self.unreadable -= 1
            return _with_the_error(request, error)
        raise error


def with_reply(spent: Verdict, reply: Reply, model: str, latency: float) -> Verdict:
    """What was spent, one more reply included."""
    return spent.model_copy(
        update={
            "usage": _sum(spent.usage, reply.usage),
            "attempts": spent.attempts + 1,
            "retries": spent.retries + reply.retries,
            "latency_s": latency,
            "model": reply.model or model,
            "reply": reply.text,
        }
    )


def _with_more_room(request: Request, reply: Reply) -> Request:
    """The same request with twice the room for its reply."""
    limit = next(
        (name for name in ("max_completion_tokens", "max_tokens") if name in request.parameters), "max_tokens"
    )
    used = reply.usage.completion_tokens if reply.usage else 0
    room = request.parameters.get(limit) or used or DEFAULT_REPLY_TOKENS
    return _again(request, parameters={**request.parameters, limit: 2 * room})


def _with_the_error(request: Request, error: ReplyError) -> Request:
    """The request once more, with the reply and what was wrong with it, and structured where possible."""
    complaint = {
        "role": "user",
        "content": f"Your last reply could not be read: {error.message}. "
        "Give the whole verdict again, in exactly the format that was asked for and nothing else.",
    }
    said = ({"role": "assistant", "content": error.reply},) if error.reply.strip() else ()
    return _again(request, messages=(*request.messages, *said, complaint), parameters=_with_format(request))


def _again(request: Request, **changes: Any) -> Request:  # noqa: ANN401  the request's fields
    return replace(request, attempt=request.attempt + 1, fresh=False, **changes)


def _with_format(request: Request) -> Mapping[str, Any]:
    """The parameters of the next request: with the format's schema, then with any JSON, then without."""
    rubric, parameters = request.rubric, dict(request.parameters)
    if not rubric.response_format or "response_format" in rubric.prompt.parameters:
        return parameters
    match parameters.pop("response_format", None):
        case None:
            return {**parameters, **rubric.response_format}
        case {"type": "json_schema"}:
            return {**parameters, "response_format": {"type": "json_object"}}
        case _:
            return parameters


def _sum(first: Usage | None, second: Usage | None) -> Usage | None:
    return first + second if first and second else first or second
