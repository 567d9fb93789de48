"""Verdicts and labels for tests, made from a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from groundjudge import Verdict
from groundjudge.lab.labels import JudgedRows, Labels, join
from groundjudge.types import Failure, PromptId
from groundjudge.verdict import Vote

PROMPT = PromptId(name="one", version="1.0.0", sha256="a" * 64)


def verdict(case_id: str, score: float | None, *, judge: str = "one", **more: Any) -> Verdict:
    """A verdict with a score, passed from 0.5 on; without one there is nothing to judge."""
    fields: dict[str, Any] = {
        "judge": judge,
        "case_id": case_id,
        "status": "not_applicable" if score is None else "ok",
        "score": score,
        "passed": score is None or score >= 0.5,
        "model": "m",
        "prompt": PROMPT,
        "attempts": 1,
    }
    return Verdict.model_validate(fields | more)


def error(case_id: str, code: str, *, judge: str = "one") -> Verdict:
    failure = Failure(code=code, message=f"it is {code}")
    return Verdict(judge=judge, case_id=case_id, status="error", error=failure)


def joined(scores: Sequence[float], labels: Sequence[Any], groups: Sequence[Any] | None = None) -> JudgedRows:
    """The verdicts of one judge with a label each, and a group each if there are groups."""
    ids = [f"case {place:04}" for place in range(len(scores))]
    verdicts = [verdict(case_id, score) for case_id, score in zip(ids, scores, strict=True)]
    grouped = {} if groups is None else dict(zip(ids, map(str, groups), strict=True))
    (judged_rows,) = join(verdicts, Labels(dict(zip(ids, labels, strict=True)), grouped))
    return judged_rows


def labelled(case_id: str, label: str, score: float | None, *, judge: str = "one", **more: Any) -> Verdict:
    """The verdict of a judge that answers with a label; a label without a score is not applicable."""
    return verdict(case_id, score, judge=judge, label=label, value=score, **more)


def vote(model: str, score: float | None, **more: Any) -> Vote:
    """A vote that passes from 0.5 on; without a score it is an error."""
    fields = {"status": "error" if score is None else "ok", "score": score, "model": model, "prompt": PROMPT}
    passed = None if score is None else score >= 0.5
    return Vote.model_validate({"judge": "one", "passed": passed} | fields | more)


def panel_verdict(case_id: str, *votes: Vote, **more: Any) -> Verdict:
    """The verdict of a panel with these votes, by their majority."""
    outcomes = [vote.passed for vote in votes]
    passed = outcomes.count(True) > outcomes.count(False)
    scores = [vote.score for vote in votes if vote.score is not None]
    most = max(outcomes.count(passes) for passes in (True, False))
    fields: dict[str, Any] = {"passed": passed, "votes": votes, "agreement": most / len(votes)}
    return verdict(case_id, sum(scores) / len(scores), **(fields | more))
