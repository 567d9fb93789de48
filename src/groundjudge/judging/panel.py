"""A panel: several judges, or one judge several times, and one verdict.

The verdict passes if more than half of the votes asked for pass; an error withholds its vote. Asking until
the majority is decided, two votes at first, gave the verdict of sixteen votes for 97 % of the cases in one
study, with 2.25 calls a case; the mean score is no better than that of two votes then, so use `stop="never"`
where the score itself matters. Repeats make a verdict stable and show its doubt; they hardly make it right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from statistics import fmean, median, pstdev
from typing import Any, Literal, TypeAlias

from groundjudge.case.case import Case
from groundjudge.errors import GroundjudgeError, PanelError, PromptError
from groundjudge.judging.conversation import Conversation, Step
from groundjudge.judging.judge import Judge, Judging
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import check_choice
from groundjudge.scale import DIGITS
from groundjudge.verdict import Part, Usage, Verdict, Vote

Rule: TypeAlias = Literal["mean", "median", "min"]
"""How the scores of the votes become one."""

RULES: Mapping[Rule, Callable[[Sequence[float]], float]] = {"mean": fmean, "median": median, "min": min}

FIRST_VOTES = 2
"""Votes that are always asked for; if they agree, they decide."""

Stop: TypeAlias = Literal["decided", "never"]
"""When to stop asking for votes: once the majority is decided, or not before all have voted."""

WARM = 0.7
"""The temperature of repeats: at 0 a model repeats its reply, and nothing is learned."""


@dataclass(frozen=True)
class Panel(Judging):
    """Several judges that vote on each case; it is used like a Judge. Immutable.

    Attributes:
        judges: two or more, in the order in which they are asked; all answer on one scale.
        rule: the score is the "mean", the "median" or the "min" of the scores of the votes.
        stop: "decided" asks two judges, and the others only until no outcome can be overturned; "never"
            asks all. Early stopping keeps the verdict, not the precision of the score.

    Raises:
        PromptError: `bad_panel`.
    """

    judges: tuple[Judge, ...]
    rule: Rule = "mean"
    stop: Stop = "decided"

    def __post_init__(self) -> None:
        check_choice("bad_panel", "rule", self.rule, Rule)
        check_choice("bad_panel", "stop", self.stop, Stop)
        if len(self.judges) < FIRST_VOTES:
            raise bad_panel("panel", f"it needs two judges or more, not {len(self.judges)}")
        for one, other in pairwise(self.judges):
            if one.rubric.scale != other.rubric.scale:
                scales = f"{one.name} {one.rubric.scale}; {other.name} {other.rubric.scale}"
                raise bad_panel("panel", f"its judges must answer on one scale, not on several: {scales}")
        for judge in self.judges:
            if judge.repeat and judge.rubric.prompt.parameters.get("temperature", 1) == 0:
                twice = "is listed twice at temperature 0, where it repeats itself: ask one for repeats"
                raise bad_panel("panel", f"{judge.name} {twice}")

    @cached_property
    def identity(self) -> str:
        """A hash of all that decides on a verdict: the judges' identities, the rule, and when to stop."""
        settings = [*(judge.identity for judge in self.judges), self.rule, self.stop]
        return sha256(" ".join(settings).encode()).hexdigest()[:16]

    def _voters(self) -> tuple[Judge, ...]:
        return self.judges

    async def _verdict(self, case: Case, conversation: Conversation) -> Verdict:
        votes: list[Verdict] = []
        errors: list[GroundjudgeError] = []
        for number, judge in enumerate(self.judges, 1):
            try:
                with conversation.around(Step(f"groundjudge.vote {number}", case, is_vote=True)) as note:
                    vote = await judge.ajudge(case, conversation.around, conversation.ask)
                    note(vote)
            except GroundjudgeError as error:
                errors.append(error)
                vote = judge.failed(error, case)
            votes.append(vote)
            if self.stop == "decided" and _is_decided(votes, len(self.judges)):
                break
        conversation.spent = _with_votes(conversation.spent, votes, conversation.latency())
        # A vote with status "error" counts among the votes and says nothing.
        winner = _more_than_half([_outcome(vote) for vote in votes])
        if winner is None:
            raise _no_majority(self.name, votes, errors)
        return majority_verdict(conversation.spent, votes, winner, self.rule)


AnyJudge: TypeAlias = Judge | Panel
"""What judges a case: every adapter and every run takes either."""


def panel(judges: Sequence[Judge], *, rule: Rule = "mean", stop: Stop = "decided") -> Panel:
    """A panel of judges with other models or other prompts, all on one scale.

    A judge that is listed several times is asked several times.

    Raises:
        PromptError: `bad_panel`: there are fewer than two judges, they have different scales, one of them is
            listed twice with a temperature of 0, or `rule` or `stop` is not one of the choices.
    """
    seen = Counter[object]()
    members: list[Judge] = []
    for judge in judges:
        if not isinstance(judge, Judge):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(judge).__name__
            raise bad_panel("panel", f"its members must be judges, not {kind}: load them without `repeats`")
        who = judge.identity, getattr(judge.model, "identity", id(judge.model))
        members.append(replace(judge, repeat=seen[who]))
        seen[who] += 1
    return Panel(tuple(members), rule, stop)


def repeated(judge: Judge, repeats: int, *, rule: Rule = "mean", stop: Stop = "decided") -> Panel:
    """A panel of one judge that is asked several times, at temperature 0.7 unless it has one above 0.

    A `seed` among its parameters is raised by one for each repeat.

    Raises:
        PromptError: `bad_panel`: `repeats` is below 2, or `rule` or `stop` is not one of the choices.
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < FIRST_VOTES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PromptError("bad_panel", f"repeats must be 2 or more, not {repeats!r}", "repeats")
    return Panel(tuple(_repeat(judge, index) for index in range(repeats)), rule, stop)


def models_of(judges: Iterable[AnyJudge]) -> list[Model]:
    """The models of the judges and of the members of panels, each once."""
    return [*{id(model): model for judge in judges for model in judge.models}.values()]


def with_models(judges: Collection[AnyJudge], of: Callable[[Model], Model]) -> list[AnyJudge]:
    """The judges with other models.

    Args:
        judges: the judges; of a panel every member gets another model.
        of: makes the new model of a model; it is called once for each model.
    """
    made = {id(model): of(model) for model in models_of(judges)}

    def changed(judge: Judge) -> Judge:
        return replace(judge, model=made[id(judge.model)])

    return [
        replace(judge, judges=tuple(map(changed, judge.judges)))
        if isinstance(judge, Panel)
        else changed(judge)
        for judge in judges
    ]


def _repeat(judge: Judge, index: int) -> Judge:
    given = judge.rubric.prompt.parameters
    changed: dict[str, Any] = {} if given.get("temperature") else {"temperature": WARM}
    if isinstance(given.get("seed"), int):
        changed["seed"] = given["seed"] + index
    return replace(judge, rubric=judge.rubric.with_options(parameters=changed), repeat=index)


def bad_panel(subject: str, message: str) -> PromptError:
    """The error of a panel, or of an option of panels, that cannot be."""
    return PromptError("bad_panel", f"{subject}: {message}", subject)


def majority_verdict(verdict: Verdict, votes: Sequence[Verdict], winner: str, rule: Rule) -> Verdict:
    """The verdict of the majority."""
    scored = [vote for vote in votes if vote.score is not None]
    is_scored = winner != "not_applicable"
    score = round(RULES[rule]([vote.score or 0.0 for vote in scored]), DIGITS) if is_scored else None
    representative = _representative([vote for vote in votes if _outcome(vote) == winner], score)
    return verdict.model_copy(
        update={
            "status": "ok" if is_scored else "not_applicable",
            "score": score,
            "value": _value(rule, scored) if is_scored else representative.value,
            "label": _more_than_half([vote.label for vote in votes]),
            "passed": winner != "failed",
            "reason": representative.reason,
            "parts": tuple(_part(part, scored, rule) for part in representative.parts),
            "warnings": tuple(dict.fromkeys(code for vote in votes for code in vote.warnings)),
            "reply": representative.reply,
            "error": None,
        }
    )


def _more_than_half(said: Sequence[str | None]) -> str | None:
    counts = Counter(each for each in said if each is not None)
    return next((each for each, count in counts.items() if 2 * count > len(said)), None)


def _is_decided(votes: Sequence[Verdict], asked_for: int) -> bool:
    """Whether the first two agree, no further vote can overturn the majority, or none can make one."""
    most = _largest_group(votes)
    is_hopeless = 2 * (most + asked_for - len(votes)) <= asked_for
    return 2 * most > asked_for or most == len(votes) == FIRST_VOTES or is_hopeless


def _outcome(vote: Verdict) -> str | None:
    """What a vote counts for: "passed", "failed" or "not_applicable"; None for an error."""
    if vote.status == "ok":
        return "passed" if vote.passed else "failed"
    return "not_applicable" if vote.status == "not_applicable" else None


def _largest_group(votes: Sequence[Verdict]) -> int:
    """How many votes say the same, at most."""
    return max(Counter(filter(None, map(_outcome, votes))).values(), default=0)


def _with_votes(verdict: Verdict, votes: Sequence[Verdict], latency: float) -> Verdict:
    """A verdict with what the votes cost, and how far they agree."""
    usages = [vote.usage for vote in votes if vote.usage]
    scores = [vote.score for vote in votes if vote.score is not None]
    return verdict.model_copy(
        update={
            "votes": tuple(Vote.model_validate(vote, from_attributes=True) for vote in votes),
            "spread": pstdev(scores) if scores else None,
            "agreement": _largest_group(votes) / len(votes) or None,
            "decided_after": len(votes),
            "usage": sum(usages, Usage()) if usages else None,
            "attempts": sum(vote.attempts for vote in votes),
            "retries": sum(vote.retries for vote in votes),
            "latency_s": latency,
            "model": "+".join(dict.fromkeys(vote.model or "?" for vote in votes)),
        }
    )


def _representative(votes: Sequence[Verdict], score: float | None) -> Verdict:
    """The vote of the majority that is nearest to the score: its reason and its reply are the panel's."""

    def rank(vote: Verdict) -> tuple[float, float, str, str]:
        own = vote.score or 0.0
        return abs(own - (score or 0.0)), own, vote.reply or "", vote.model or ""

    return min(votes, key=rank)


def _value(rule: Rule, scored: Sequence[Verdict | Part]) -> float | None:
    """The votes' value on the judge's scale, whose worst end may be its largest number."""
    values = [each.value for each in scored if each.value is not None]
    if len(values) < len(scored):
        return None
    return min(scored, key=lambda each: each.score or 0.0).value if rule == "min" else RULES[rule](values)


def _part(part: Part, votes: Sequence[Verdict], rule: Rule) -> Part:
    """A part of the representative's verdict with the score and value of all votes that have it."""
    same = [
        each for vote in votes for each in vote.parts if each.name == part.name and each.score is not None
    ]
    if part.score is None or not same:
        return part
    score = RULES[rule]([each.score or 0.0 for each in same])
    labels = {each.label for each in same}
    label = labels.pop() if len(labels) == 1 else None
    return part.model_copy(
        update={"score": round(score, DIGITS), "value": _value(rule, same), "label": label}
    )


def _no_majority(name: str, votes: Sequence[Verdict], errors: Sequence[GroundjudgeError]) -> GroundjudgeError:
    """Why there is no verdict: the reason of all votes if they failed alike, otherwise that they differ."""
    codes = {error.code for error in errors}
    if len(errors) == len(votes) and len(codes) == 1:
        return errors[-1]
    counts = Counter(_outcome(vote) or (vote.error.code if vote.error else "error") for vote in votes)
    listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    message = f"{name}: no outcome has more than half of the {len(votes)} votes: {listed}"
    return PanelError("no_majority", message, name)
