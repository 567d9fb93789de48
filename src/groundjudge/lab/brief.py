"""Brief verdicts: what figures need of a verdict, in a fraction of the memory."""

from __future__ import annotations

from sys import intern
from typing import NamedTuple

from groundjudge.verdict import Status, Verdict, vote_scores_of


class BriefVerdict(NamedTuple):
    """What figures need of a verdict. Fields without a description are those of `Verdict`.

    A tuple takes the least memory.

    Attributes:
        has_votes: whether it comes from votes, or a cascade.
        vote_scores: the scores of the votes whose majority decides.
        case_hash: a hash of the case, "" if the verdict does not know it.
        signature: prompt, model and version.
        explanation: why; "" where it is not needed.
        error_code: the code of the error; None without an error.
    """

    case_id: str | None
    status: Status
    score: float | None
    weakest: float | None
    label: str | None
    passed: bool | None
    has_votes: bool
    vote_scores: tuple[float | None, ...]
    case_hash: str
    signature: str
    explanation: str
    error_code: str | None


def brief_verdict(verdict: Verdict, *, with_explanation: bool) -> BriefVerdict:
    """Make a verdict brief."""
    # A million verdicts share a few labels and signatures.
    return BriefVerdict(
        case_id=verdict.case_id,
        status=verdict.status,
        score=verdict.score,
        weakest=verdict.weakest,
        label=None if verdict.label is None else intern(verdict.label),
        passed=verdict.passed,
        has_votes=bool(verdict.votes),
        vote_scores=vote_scores_of(verdict),
        case_hash=verdict.case_hash,
        signature=intern(verdict.signature),
        explanation=verdict.explanation if with_explanation else "",
        error_code=verdict.error.code if verdict.error else None,
    )
