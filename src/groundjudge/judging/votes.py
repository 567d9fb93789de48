"""What votes say together: the verdict of the majority, and how far they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import add
from statistics import fmean, median, pstdev
from typing import Literal, TypeAlias, TypeVar

from groundjudge.errors import GroundjudgeError, PanelError
from groundjudge.scale import DIGITS
from groundjudge.verdict import Part, Usage, Verdict, Vote

Rule: TypeAlias = Literal["mean", "median", "min"]
"""How the scores of the votes become one."""

Outcome: TypeAlias = Literal["passed", "failed", "not_applicable"]
"""What a vote counts for."""

RULES: Mapping[Rule, Callable[[Sequence[float]], float]] = {"mean": fmean, "median": median, "min": min}

T = TypeVar("T")

FIRST_VOTES = 2
"""Votes that are always asked for; if they agree, they decide."""


def majority(votes: Sequence[Verdict]) -> Outcome | None:
    """What more than half of the votes say: passed, failed or not applicable; None without a majority.

    A vote with status "error" counts among the votes and says nothing.
    """
    return _more_than_half([_outcome(vote) for vote in votes])


def _more_than_half(said: Sequence[T | None]) -> T | None:
    counts = Counter(each for each in said if each is not None)
    return next((each for each, count in counts.items() if 2 * count > len(said)), None)


def is_decided(votes: Sequence[Verdict], asked_for: int) -> bool:
    """Whether the first two agree, no further vote can overturn the majority, or none can make one."""
    most = _largest_group(votes)
    is_hopeless = 2 * (most + asked_for - len(votes)) <= asked_for
    return 2 * most > asked_for or most == len(votes) == FIRST_VOTES or is_hopeless


def _outcome(vote: Verdict) -> Outcome | None:
    """What a vote counts for; None for an error, which counts for nothing."""
    if vote.status == "ok":
        return "passed" if vote.passed else "failed"
    return "not_applicable" if vote.status == "not_applicable" else None


def _largest_group(votes: Sequence[Verdict]) -> int:
    """How many votes say the same, at most."""
    return max(Counter(filter(None, map(_outcome, votes))).values(), default=0)


def majority_verdict(verdict: Verdict, votes: Sequence[Verdict], winner: Outcome, rule: Rule) -> Verdict:
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


def with_votes(verdict: Verdict, votes: Sequence[Verdict], latency: float) -> Verdict:
    """A verdict with what the votes cost, and how far they agree."""
    usages = [vote.usage for vote in votes if vote.usage]
    scores = [vote.score for vote in votes if vote.score is not None]
    return verdict.model_copy(
        update={
            "votes": tuple(Vote.model_validate(vote, from_attributes=True) for vote in votes),
            "spread": pstdev(scores) if scores else None,
            "agreement": _largest_group(votes) / len(votes) or None,
            "decided_after": len(votes),
            "usage": reduce(add, usages, Usage()) if usages else None,
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


def no_majority(name: str, votes: Sequence[Verdict], errors: Sequence[GroundjudgeError]) -> GroundjudgeError:
    """Why there is no verdict: the reason of all votes if they failed alike, otherwise that they differ."""
    codes = {error.code for error in errors}
    if len(errors) == len(votes) and len(codes) == 1:
        return errors[-1]
    counts = Counter(_outcome(vote) or (vote.error.code if vote.error else "error") for vote in votes)
    listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    message = f"{name}: no outcome has more than half of the {len(votes)} votes: {listed}"
    return PanelError("no_majority", message, name)
