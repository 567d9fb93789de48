"""Columns of a table of cases, and those of a table of verdicts."""

from __future__ import annotations

from groundjudge.case.data import as_json
from groundjudge.case.fields import field_of
from groundjudge.verdict import Verdict

MAX_ROW = 64 * 2**20
"""Characters or bytes of a row. No model reads a tenth of it, and a few kB may contain a row of gigabytes."""


def field_of_column(column: str) -> str:
    """Return what a column of a table contains, by its name in any case: a field, or a key in lower case."""
    return field_of(column) or column.casefold()


def row_of_verdict(verdict: Verdict) -> dict[str, object]:
    """Return the values of a verdict, by column; "verdict" is the whole verdict as JSON."""
    reason = verdict.reason
    if verdict.error or not reason:
        reason = verdict.explanation
    distribution: str | None = None
    if verdict.distribution is not None:
        distribution = as_json(verdict.distribution)
    return {
        "key": verdict.key,
        "judge": verdict.judge,
        "status": verdict.status,
        "score": verdict.score,
        "scores": as_json(verdict.scores) if verdict.scores else None,
        "label": verdict.label,
        "passed": verdict.passed,
        "confidence": verdict.confidence,
        "distribution": distribution,
        "reason": reason,
        "signature": verdict.signature,
        "verdict": verdict.model_dump_json(),
    }
