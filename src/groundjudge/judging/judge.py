"""A judge is a rubric and a model: it asks, reads the reply, and gives a verdict."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from time import perf_counter
from typing import Any, TypeAlias, cast

from groundjudge.case.case import Case
from groundjudge.case.shapes import well_formed
from groundjudge.errors import GroundjudgeError, ModelError, ReplyError
from groundjudge.prompt.prompt import Input
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.scale import Scale
from groundjudge.verdict import Failure, NamedScore, PromptId, Usage, Verdict, named_scores, score_names

DEFAULT_REPLY_TOKENS = 2048
"""The room that a truncated reply is taken to have had, where no limit was sent and no usage came."""

log = logging.getLogger("groundjudge")


@dataclass(frozen=True)
class Step:
    """One step of a conversation with a model: `run(given)` gives its result.

    Attributes:
        name: "prompt" (from the case to the request), "model" (from the request to the reply) or "parser"
            (from the reply to the verdict); "vote 1" and so on for a judge's vote in a panel.
        given: what the step starts from.
        run: does the step.
        arun: does the step without blocking the event loop; None where `run` never blocks.
        model: the model of a "model" step.
        talk: for a vote, the conversation of which it consists.
    """

    name: str
    given: Any
    run: Callable[[Any], Any] | None = None
    arun: Callable[[Any], Awaitable[Any]] | None = None
    model: Model | None = None
    talk: Callable[[Any], Conversation] | None = None


Conversation: TypeAlias = Generator[Step, Any, Verdict]
"""Yields steps and is sent their results, or has thrown in what they raised."""


def perform(step: Step, inside: Callable[[Step], Any] | None = None) -> Any:  # noqa: ANN401  each step has a result of its own
    """Do a step; the steps of a vote are done by `inside`."""
    if step.talk:
        return drive(step.talk(step.given), inside or perform)
    return step.run(step.given) if step.run else None


async def aperform(step: Step, inside: Callable[[Step], Awaitable[Any]] | None = None) -> Any:  # noqa: ANN401
    """Do a step without blocking the event loop."""
    if step.talk:
        return await adrive(step.talk(step.given), inside or aperform)
    return await step.arun(step.given) if step.arun else perform(step)


def drive(talk: Conversation, perform: Callable[[Step], Any] = perform) -> Verdict:
    """The verdict of a conversation whose steps `perform` does.

    Raises:
        GroundjudgeError: as the conversation.
    """
    try:
        step = next(talk)
        while True:
            try:
                result = perform(step)
            except GroundjudgeError as error:
                step = talk.throw(error)
            else:
                step = talk.send(result)
    except StopIteration as end:
        return cast("Verdict", end.value)


async def adrive(talk: Conversation, perform: Callable[[Step], Awaitable[Any]] = aperform) -> Verdict:
    """The same without blocking the event loop; see `drive`."""
    try:
        step = next(talk)
        while True:
            try:
                result = await perform(step)
            except GroundjudgeError as error:
                step = talk.throw(error)
            else:
                step = talk.send(result)
    except StopIteration as end:
        return cast("Verdict", end.value)


@dataclass(frozen=True)
class Judge:
    """A judge. Immutable: what a call brought is in the verdict.

    Attributes:
        rubric: how a case is asked about, and how a reply becomes a verdict.
        model: what answers.
        max_reasks: how often the model is asked again after a reply that cannot be read.
        repeat: the index of this judge among equal judges of a panel: a cache keeps their replies apart.
    """

    rubric: Rubric
    model: Model
    max_reasks: int = 1
    repeat: int = 0

    def __repr__(self) -> str:
        prompt = f"sha:{self.rubric.prompt.id.sha256[:12]}"
        return f"Judge(name={self.name!r}, model={self.model.name!r}, prompt={prompt!r})"

    @property
    def name(self) -> str:
        """The judge's name."""
        return self.rubric.name

    @property
    def model_name(self) -> str:
        """The model's name."""
        return self.model.name

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The fields of the case that the judge looks at."""
        return self.rubric.inputs

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        """The rubric, as the only one."""
        return (self.rubric,)

    @property
    def scale(self) -> Scale:
        """The numbers or the labels that a reply may give."""
        return self.rubric.scale

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the scores that each verdict has besides the headline."""
        return self.rubric.format.part_names

    @property
    def threshold(self) -> float:
        """The rubric's threshold on the score, 0..1."""
        return self.rubric.threshold

    @property
    def prompt_id(self) -> PromptId:
        """Which prompt is used."""
        return self.rubric.prompt.id

    @cached_property
    def identity(self) -> str:
        """A hash of all that decides on a verdict: the rubric's identity and the model's name."""
        return identity_of(self.rubric, self.model)

    def key(self, case: Case | Mapping[str, Any]) -> str:
        """The key of this judge's verdicts on a case, before and after it is judged."""
        return key_of(self.identity, self.inputs, Case.of(case))

    def judge(self, case: Case | Mapping[str, Any], perform: Callable[[Step], Any] = perform) -> Verdict:
        """Judge a case: at most one call more than `max_reasks`, and one more if a reply was truncated.

        Each error has the row's verdict (status "error") in its attribute `verdict`.

        Args:
            case: the case, or a mapping with its fields.
            perform: does each step of the conversation; whoever traces or throttles passes their own.

        Raises:
            CaseError: the case cannot be judged as it is; no call was made.
            ModelError: the model returned no reply.
            ReplyError: no reply could be read.
        """
        return drive(self.conversation(case), perform)

    async def ajudge(
        self, case: Case | Mapping[str, Any], perform: Callable[[Step], Awaitable[Any]] = aperform
    ) -> Verdict:
        """Judge a case without blocking the event loop; see `judge`."""
        return await adrive(self.conversation(case), perform)

    def evaluate(self, case: Case | Mapping[str, Any], perform: Callable[[Step], Any] = perform) -> Verdict:
        """Judge a case and never raise: whatever goes wrong is a verdict with status "error"."""
        try:
            return self.judge(case, perform)
        except Exception as error:  # noqa: BLE001  it is the verdict's error
            return self.failed(error, case)

    async def aevaluate(
        self, case: Case | Mapping[str, Any], perform: Callable[[Step], Awaitable[Any]] = aperform
    ) -> Verdict:
        """Judge a case without blocking the event loop, and never raise; see `evaluate`."""
        try:
            return await self.ajudge(case, perform)
        except Exception as error:  # noqa: BLE001  as above
            return self.failed(error, case)

    def failed(self, error: BaseException, case: Case | Mapping[str, Any] | None = None) -> Verdict:
        """The verdict of a row that raised: the error's own, if it has one."""
        if isinstance(error, GroundjudgeError) and error.verdict:
            return error.verdict
        case_id = case.id if isinstance(case, Case) else None
        verdict = Verdict(
            judge=self.name,
            status="error",
            model=self.model_name,
            prompt=self.prompt_id,
            case_id=case_id,
        )
        return error_verdict(verdict, error)

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of the scores that each verdict has: the judge's, and one for each named part."""
        return tuple(score_names(self.name, self.part_names).values())

    def scores(self, verdict: Verdict) -> tuple[NamedScore, ...]:
        """A verdict's scores in the order of `score_names`, each with its explanation."""
        return named_scores(verdict, self.part_names)

    def _ask(self, case: Case) -> Request:
        request = self.rubric.ask(case)
        return replace(request, repeat=self.repeat) if self.repeat else request

    def conversation(self, case: Case | Mapping[str, Any]) -> Conversation:
        """The conversation with a model about a case, step by step, for whoever drives it.

        Raises:
            GroundjudgeError: as for `judge`.
        """
        started = perf_counter()
        spent = Verdict(judge=self.name, status="error", model=self.model_name, prompt=self.prompt_id)
        reasks, has_more_room = self.max_reasks, False
        try:
            case = Case.of(case)
            spent = spent.model_copy(update={"case_id": case.id, "key": self.key(case)})
            free = self.rubric.blank_response_verdict(case)
            if free is not None:
                return free.model_copy(update={"key": spent.key})
            request: Request = yield Step("prompt", case, self._ask)
            while True:
                reply: Reply = yield Step(
                    "model", request, self.model.complete, self.model.acomplete, self.model
                )
                spent = _with_reply(spent, reply, self.model.name, perf_counter() - started)
                try:
                    read: Verdict = yield Step("parser", reply, partial(self.rubric.verdict, case=case))
                except ReplyError as error:
                    if error.code == "truncated" and not has_more_room:
                        has_more_room = True
                        again = _with_more_room(request, reply)
                    elif error.code != "truncated" and reasks:
                        reasks -= 1
                        again = _with_the_error(request, error)
                    else:
                        raise
                    again = replace(again, attempt=request.attempt + 1)
                    request = yield Step("prompt", case, partial(_ready, again))
                else:
                    kept = ("attempts", "retries", "usage", "latency_s", "key", "model")
                    return read.model_copy(update={name: getattr(spent, name) for name in kept})
        except GroundjudgeError as error:
            attempts, retries = spent.attempts, spent.retries
            if isinstance(error, ModelError):
                attempts, retries = attempts + 1, retries + error.retries
            error.verdict = spent.model_copy(
                update={
                    "error": Failure(code=error.code, message=error.message),
                    "attempts": attempts,
                    "retries": retries,
                    "latency_s": perf_counter() - started if attempts else 0.0,
                }
            )
            raise


def identity_of(rubric: Rubric, model: Model) -> str:
    """A hash of all that decides on a verdict: the rubric's identity and the model's name."""
    return sha256(f"{rubric.identity} {model.name}".encode()).hexdigest()[:16]


def key_of(identity: str, inputs: Iterable[Input], case: Case) -> str:
    """The key of a verdict: the identity of who gives it, and a hash of what it looks at."""
    own = {each.name: case.metadata.get(each.name) for each in inputs if each.is_custom}
    shown = case.model_copy(update={"metadata": own})
    try:
        content = shown.model_dump_json(exclude=None if own else {"metadata"})
    except ValueError:  # tool calls may be nested deeper than pydantic goes
        content = repr(shown)
    return f"{identity}-{sha256(content.encode()).hexdigest()[:32]}"


def error_verdict(verdict: Verdict, error: BaseException) -> Verdict:
    """A verdict with the error that took its place; the error's own verdict, if it has one.

    An error that is not one of this library gets the code "unexpected" and is logged.
    """
    if isinstance(error, GroundjudgeError):
        failure = Failure(code=error.code, message=well_formed(error.message))
        return error.verdict or verdict.model_copy(update={"error": failure})
    log.error("%s: judging %s raised an unexpected error", verdict.judge, verdict.case_id, exc_info=error)
    failure = Failure(code="unexpected", message=well_formed(f"{type(error).__name__}: {error}"))
    return verdict.model_copy(update={"error": failure})


def _ready(request: Request, _: Case) -> Request:
    return request


def _with_reply(spent: Verdict, reply: Reply, model: str, latency: float) -> Verdict:
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
    return replace(request, parameters={**request.parameters, limit: 2 * room})


def _with_the_error(request: Request, error: ReplyError) -> Request:
    """The request once more, with the reply and what was wrong with it, and structured where possible."""
    complaint = {
        "role": "user",
        "content": f"Your last reply could not be read: {error.message}. "
        "Give the whole verdict again, in exactly the format that was asked for and nothing else.",
    }
    said = ({"role": "assistant", "content": error.reply},) if error.reply.strip() else ()
    messages = (*request.messages, *said, complaint)
    return replace(request, messages=messages, parameters=_with_format(request))


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
