"""Verdicts read back from the file that a run wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from groundjudge.errors import CaseError
from groundjudge.runs.rows import format_of, read_rows
from groundjudge.verdict import Verdict


def read_verdicts(path: str | Path) -> Iterator[Verdict | CaseError]:
    """Read the verdicts of a file, one JSON object per line; "-" is stdin.

    Of a .parquet file, or a folder of them, the column `verdict` is read.

    Yields:
        A verdict per line, or a CaseError (`unreadable_row`) for a line that is not a verdict, such as the
        half-written last line of an interrupted run.

    Raises:
        OSError: the file cannot be opened or read.
        CaseError: `unreadable_file`: it should be Parquet with a column `verdict` and is not.
        ImportError: a Parquet file, and PyArrow is not installed.
    """
    if format_of(path) == "parquet":
        from groundjudge.runs.arrow import verdict_texts  # noqa: PLC0415  PyArrow is an extra

        texts = enumerate(verdict_texts(Path(path)), 1)
        yield from (_verdict(Verdict.model_validate_json, text or "", number) for number, text in texts)
        return
    for number, row in enumerate(read_rows(path, "jsonl"), 1):
        yield row if isinstance(row, CaseError) else _verdict(Verdict.model_validate, row, number)


def _verdict(validate: Callable[[Any], Verdict], row: object, number: int) -> Verdict | CaseError:
    try:
        return validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        message = f"row {number}: not a verdict ({'.'.join(map(str, first['loc']))}: {first['msg']})"
        return CaseError("unreadable_row", message, f"row {number}")


def last_of_each(verdicts: Iterable[Verdict]) -> tuple[list[Verdict], int]:
    """The last verdict of every judge on every case, and how many earlier ones were dropped.

    A resumed run writes a row that had failed once more, and the last verdict counts. Verdicts on cases
    without an id are all kept, because nothing shows that two of them are on the same case.
    """
    kept: dict[object, Verdict] = {}
    n_seen = 0
    for n_seen, verdict in enumerate(verdicts, 1):
        key = n_seen if verdict.case_id is None else (verdict.judge, verdict.case_id)
        kept.pop(key, None)
        kept[key] = verdict
    return list(kept.values()), n_seen - len(kept)
