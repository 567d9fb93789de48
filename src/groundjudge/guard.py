"""A guard judges an answer before it goes out: what is not grounded is written again, or replaced."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from time import perf_counter
from typing import Any, Literal, TypeAlias, get_args

from groundjudge.case.case import Case, CaseLike, Text
from groundjudge.errors import GroundjudgeError, ModelError
from groundjudge.judging.conversation import Around, untraced
from groundjudge.judging.judge import Judging
from groundjudge.models.loop_thread import called, shared_loop
from groundjudge.verdict import Part, Usage, Verdict, passes

OnError: TypeAlias = Literal["block", "allow", "raise"]
Mode: TypeAlias = Literal["enforce", "observe"]
Reason: TypeAlias = Literal["passed", "regenerated", "fallback", "not_judged", "not_applicable", "observed"]
Regenerate: TypeAlias = Callable[[str, Verdict], Text | Awaitable[Text]]
"""From a note on what is not grounded, and the verdict, to a new response."""
Fallback: TypeAlias = str | Callable[[Verdict], str]
"""What goes out instead of an answer that must not: a text, or a function from the last verdict to one."""

NOTE = (
    "Your last answer was not sent, because the sources do not support all of it. Answer the same request "
    "again, completely. Keep what the sources support; correct the following by the sources, or leave it "
    "out. Do not mention this note."
)
NOTHING = "The sources say nothing of this."


@dataclass(frozen=True)
class Draft:
    """A response that was judged, and its verdict."""

    response: Any
    verdict: Verdict


@dataclass(frozen=True)
class Outcome:
    """What a guard decided about an answer.

    Attributes:
        response: what goes out: the last draft as it was given, or the fallback; None if nothing may.
        replaced: whether the response is the fallback, or None, instead of a draft.
        reason: why it goes out: "passed", the first draft; "regenerated", a later draft that passed;
            "not_applicable", the first draft makes no claim; "fallback", no draft passed; "not_judged", the
            judge failed, and `on_error` decided; "observed", the draft failed and the guard only observes.
        drafts: all drafts with their verdicts, in order; only the last one can have gone out.
        seconds: the time that judging and writing again took together.
    """

    response: Any
    replaced: bool
    reason: Reason
    drafts: tuple[Draft, ...]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """The verdict of the last draft."""
        return self.drafts[-1].verdict

    @property
    def calls(self) -> int:
        """How many times the judge's model was asked."""
        return sum(draft.verdict.attempts for draft in self.drafts)

    @property
    def usage(self) -> Usage | None:
        """The tokens that judging took; None if the judge's model reported none."""
        counted = [draft.verdict.usage for draft in self.drafts if draft.verdict.usage]
        return reduce(add, counted) if counted else None

    @property
    def summary(self) -> dict[str, Any]:
        """The decision as JSON data, without a word of the drafts and of the judge's replies.

        It may be kept where the application's users, or its next model call, see it.
        """
        verdict = self.verdict
        return {
            "reason": self.reason,
            "replaced": self.replaced,
            "status": verdict.status,
            "passed": verdict.passed,
            "score": verdict.score,
            "error": verdict.error.code if verdict.error else None,
            "drafts": len(self.drafts),
            "calls": self.calls,
            "seconds": round(self.seconds, 3),
            "signature": verdict.signature,
        }


class GuardError(GroundjudgeError):
    """An answer was blocked, and there is no fallback.

    Attributes:
        outcome: what was decided, with all drafts; its response is None.
    """

    def __init__(self, code: str, message: str, outcome: Outcome) -> None:
        super().__init__(code, message)
        self.args = (code, message, outcome)
        self.outcome = outcome
        self.verdict = outcome.verdict


@dataclass(frozen=True)
class Guard:
    """Judges an answer before it goes out.

    Use it where an ungrounded answer does more harm than the wait for a verdict: each answer costs the
    calls and the seconds of its judge. Where only a rate is wanted, `mode="observe"` or a run over logged
    answers is enough.

    Attributes:
        judge: a judge, or a panel.
        retries: how often a draft that failed is written again.
        fallback: what goes out if no draft passes; without one, GuardError is raised.
        on_error: what happens to a draft that the judge could not judge: "block" replaces it by the
            fallback, "allow" lets it go out, "raise" raises the judge's error. It is never written again.
        deadline: the seconds that judging and writing again may take together. A draft that is not judged by
            then counts as one that the judge could not judge; one that is not rewritten, as one that failed.
        mode: "enforce"; or "observe": the first draft is judged and goes out whatever the verdict.
    """

    judge: Judging
    retries: int = 1
    fallback: Fallback | None = None
    on_error: OnError = "block"
    deadline: float | None = None
    mode: Mode = "enforce"

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            ValueError: a setting has a value that it cannot have; the message names it.
        """
        choices = {"on_error": (self.on_error, OnError), "mode": (self.mode, Mode)}
        for name, (value, known) in choices.items():
            if value not in get_args(known):
                message = f"`{name}` must be one of {', '.join(map(repr, get_args(known)))}, not {value!r}"
                raise ValueError(message)
        if self.retries < 0 or (self.deadline is not None and not self.deadline > 0):
            message = f"`retries` must be 0 or more and `deadline` above 0: {self.retries}, {self.deadline}"
            raise ValueError(message)

    def run(self, case: CaseLike, regenerate: Regenerate | None = None, around: Around = untraced) -> Outcome:
        """Judge a draft and decide what goes out; see `arun`. It blocks until that is decided."""
        return shared_loop().run(self.arun, case, regenerate, around)

    async def arun(
        self, case: CaseLike, regenerate: Regenerate | None = None, around: Around = untraced
    ) -> Outcome:
        """Judge a draft and decide what goes out.

        Args:
            case: the case with the first draft as its response.
            regenerate: called with a note for the model that wrote the draft, and the verdict, if a draft
                fails; returns the next draft. A synchronous function runs in a thread. Without it no draft
                is written again. What it raises is raised.
            around: for traces, as for `Judge.judge`.

        Raises:
            CaseError: `unreadable_row`: the case is neither a case nor a mapping.
            GuardError: `blocked`: no draft may go out, and there is no fallback.
            GroundjudgeError: with `on_error="raise"`, the error of the judge.
        """
        end = None if self.deadline is None else asyncio.get_running_loop().time() + self.deadline
        started, case = perf_counter(), Case.of(case)
        drafts = [await self._judged(case, around, end)]
        while regenerate and self._may_retry(drafts):
            response = await self._rewritten(regenerate, drafts[-1].verdict, end)
            if response is None:
                break
            case = case.model_copy(update={"response": Case(response=response).response})
            drafts.append(await self._judged(case, around, end))
        return self._decided(tuple(drafts), perf_counter() - started)

    def _may_retry(self, drafts: Sequence[Draft]) -> bool:
        failed = drafts[-1].verdict.passed is False
        return failed and self.mode == "enforce" and len(drafts) <= self.retries

    async def _judged(self, case: Case, around: Around, end: float | None) -> Draft:
        """A draft and its verdict; a verdict that is not there in time is an error of the judge."""
        limit = asyncio.timeout_at(end)
        try:
            async with limit:
                return Draft(case.response, await self.judge.ajudge(case, around))
        except Exception as error:
            late = ModelError("timeout", f"the guard's deadline of {self.deadline} s has passed")
            known = late if limit.expired() else error
            verdict = self.judge.failed(known, case)
            if self.on_error != "raise" or self.mode == "observe":
                return Draft(case.response, verdict)
            if isinstance(known, GroundjudgeError):
                known.verdict = verdict
            raise known from error

    async def _rewritten(self, regenerate: Regenerate, verdict: Verdict, end: float | None) -> Text | None:
        """The next draft; None if it is not there in time."""
        limit = asyncio.timeout_at(end)
        try:
            async with limit:
                return await called(regenerate, note_on(verdict, self.judge.threshold), verdict)
        except TimeoutError:
            if limit.expired():
                return None
            raise

    def _decided(self, drafts: tuple[Draft, ...], seconds: float) -> Outcome:
        response, verdict = drafts[-1].response, drafts[-1].verdict
        reason = _reason(verdict, len(drafts), self.mode)
        goes_out = verdict.passed or self.mode == "observe" or (verdict.error and self.on_error == "allow")
        if goes_out:
            return Outcome(response, False, reason, drafts, seconds)
        if self.fallback is None:
            outcome = Outcome(None, True, reason, drafts, seconds)
            message = f"no draft of {len(drafts)} may go out: {verdict.explanation}. Give a `fallback`"
            raise GuardError("blocked", message, outcome)
        text = self.fallback if isinstance(self.fallback, str) else self.fallback(verdict)
        return Outcome(text, True, reason, drafts, seconds)


def _reason(verdict: Verdict, drafts: int, mode: Mode) -> Reason:
    if verdict.error:
        return "not_judged"
    if not verdict.passed:
        return "observed" if mode == "observe" else "fallback"
    if drafts > 1:
        return "regenerated"
    return "not_applicable" if verdict.status == "not_applicable" else "passed"


def failed_parts(verdict: Verdict, threshold: float) -> tuple[Part, ...]:
    """The parts of a verdict whose score is below a threshold: what must be written again."""
    return tuple(
        part for part in verdict.parts if part.score is not None and not passes(part.score, threshold)
    )


def note_on(verdict: Verdict, threshold: float) -> str:
    """What the model that wrote a draft is told about it: the parts that failed, or else the reason.

    Args:
        verdict: the verdict on the draft.
        threshold: the judge's; it applies to each part.
    """
    parts = failed_parts(verdict, threshold)
    faults = "\n".join(map(_line, parts)) if parts else verdict.reason
    return f"{NOTE}\n\n{faults}"


def _line(part: Part) -> str:
    quotes = " ... ".join(dict.fromkeys(each.quote for each in part.evidence))
    nearest = f"The nearest that the sources say: {quotes}" if quotes else part.reason or NOTHING
    return f"- {part.name}\n  {nearest}"
