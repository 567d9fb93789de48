"""The rows of the adapters' table that a run judges as `Judge.judge` does, and record batches of any rows."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from adapters_table import ROWS, Fields, case_of, expected_verdicts

from groundjudge import ModelError

pa: Any = import_module("pyarrow")

ENDS_OR_WAITS = frozenset({"auth", "quota", "not_found", "connection", "rate_limited"})
"""The codes of the errors after which a run ends, or asks again."""


def numbers(name: str) -> list[int]:
    """The places of these rows among those of a judge."""
    answers = [row.answer for row in ROWS[name].values()]
    return [
        place
        for place, answer in enumerate(answers)
        if not isinstance(answer, ModelError) or answer.code not in ENDS_OR_WAITS
    ]


def cases_in_runs(name: str) -> list[dict[str, Any]]:
    """The cases of these rows."""
    cases = [case_of(number, row) for number, row in ROWS[name].items()]
    return [cases[place] for place in numbers(name)]


def expected_of_runs(name: str) -> list[Fields]:
    """Their verdicts."""
    verdicts = expected_verdicts(name)
    return [verdicts[place] for place in numbers(name)]


def batch_of(*rows: Mapping[str, Any], **types: Any) -> Any:
    """A record batch of rows; a column of `types` has that type."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    arrays = [pa.array([row.get(name) for row in rows], types.get(name)) for name in names]
    return pa.RecordBatch.from_arrays(arrays, names=names)
