"""Verdicts and labels for tests, made from a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundjudge import Failure, PromptId, Verdict
from groundjudge.analysis.labels import Joined, Labels, join

PROMPT = PromptId(name="one", version="1.0.0", sha256="a" * 64)


def verdict(case_id: str, score: float | None, *, judge: str = "one", **more: Any) -> Verdict:
    """A verdict with a score, passed from 0.5 on; without one there is nothing to judge."""
    told: dict[str, Any] = {
        "judge": judge,
        "case_id": case_id,
        "status": "not_applicable" if score is None else "ok",
        "score": score,
        "passed": score is None or score >= 0.5,
        "model": "m",
        "prompt": PROMPT,
        "attempts": 1,
    }
    return Verdict.model_validate(told | more)


def error(case_id: str, code: str, *, judge: str = "one") -> Verdict:
    failure = Failure(code=code, message=f"it is {code}")
    return Verdict(judge=judge, case_id=case_id, status="error", error=failure)


def joined(scores: Sequence[float], labels: Sequence[Any], groups: Sequence[Any] | None = None) -> Joined:
    """The verdicts of one judge with a label each, and a group each if there are groups."""
    ids = [f"case {place:04}" for place in range(len(scores))]
    verdicts = [verdict(case_id, score) for case_id, score in zip(ids, scores, strict=True)]
    grouped = {} if groups is None else dict(zip(ids, map(str, groups), strict=True))
    (found,) = join(verdicts, Labels(dict(zip(ids, labels, strict=True)), grouped))
    return found
