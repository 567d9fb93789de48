"""Files of verdicts: read back, and prepared to be continued by another run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from groundjudge.case.case import Case
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.replaced import replaced
from groundjudge.runs.rows import FileRow, format_of, read_rows
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
    is_table = format_of(path) == "parquet"
    rows: Iterable[FileRow] = read_rows(path, "jsonl")
    if is_table:
        from groundjudge.runs.arrow import parquet_rows  # noqa: PLC0415  PyArrow is an extra

        rows = parquet_rows(Path(path), "verdict")
    for number, row in enumerate(rows, 1):
        if isinstance(row, CaseError):
            yield row
            continue
        try:
            yield (
                Verdict.model_validate_json(row["verdict"] or "") if is_table else Verdict.model_validate(row)
            )
        except ValidationError as error:
            first = error.errors()[0]
            message = f"row {number}: not a verdict ({'.'.join(map(str, first['loc']))}: {first['msg']})"
            yield CaseError("unreadable_row", message, f"row {number}")


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


class ResumeError(GroundjudgeError):
    """A run cannot be resumed; the file is left unchanged.

    Codes: no_verdict (a line is not a verdict), other_prompt and other_model (the file was written with
    another one), in_use.
    """


class PreviousVerdicts:
    """The verdicts of a previous run with status ok or not_applicable, for `run` to reuse.

    They stay in the file; memory holds the key and the offset of each.
    """

    def __init__(self, lines: BinaryIO, offsets: dict[str, int]) -> None:
        self._lines = lines
        self._offsets = offsets
        self._used: set[str] = set()

    def __call__(self, judge: AnyJudge, case: Case) -> Verdict | None:
        """The verdict of the judge on the case, or None."""
        offset = self._offsets.get(key := judge.key(case))
        if offset is None:
            return None
        self._used.add(key)
        self._lines.seek(offset)
        return Verdict.model_validate_json(self._lines.readline())

    def __contains__(self, key: str | None) -> bool:
        return key in self._offsets

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    @property
    def n_used(self) -> int:
        """How many verdicts were reused."""
        return len(self._used)

    @property
    def n_unused(self) -> int:
        """How many were not, because their cases were removed or changed."""
        return len(self._offsets) - len(self._used)


def prepare_resume(path: Path, judges: Iterable[AnyJudge]) -> PreviousVerdicts:
    """Prepare a file of verdicts to be continued by the same judges. The caller closes what is returned.

    Errors are removed, because those rows are judged again, and so is a half-written last line. The
    verdicts of other judges stay. The file is replaced as a whole or not at all.

    Raises:
        ResumeError: another run is writing to the file, a line is not a verdict, or a verdict is by one of
            these judges, but with another prompt, model or parameters.
        OSError: the file cannot be read, or its folder cannot be written to.
    """
    path = path.resolve()
    by_name = {judge.name: judge for judge in judges}
    offsets: dict[str, int] = {}
    with path.open("rb") as lines:
        lock(lines, path)
        # Closed before the file is replaced, as Windows demands.
        with replaced(path) as part, part.open("wb") as kept, lines:
            for number, line in enumerate(lines, 1):
                verdict = _parse(line, f"{path}, line {number}")
                if verdict is None or _is_judged_again(verdict, by_name) or verdict.key in offsets:
                    continue
                if verdict.judge in by_name:
                    _check_identity(verdict, by_name[verdict.judge], path)
                    offsets[str(verdict.key)] = kept.tell()
                kept.write(line.rstrip(b"\n") + b"\n")
    return PreviousVerdicts(path.open("rb"), offsets)


def lock(file: BinaryIO, path: Path) -> None:
    """Keep other runs from the file until it is closed, on systems that support it.

    Raises:
        ResumeError: `in_use`, if another run holds it.
    """
    with suppress(ImportError):
        import fcntl  # noqa: PLC0415  Windows has none

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ResumeError("in_use", f"{path}: another run is writing to it", str(path)) from error


def _parse(line: bytes, place: str) -> Verdict | None:
    """The verdict on a line; None for an unfinished line."""
    try:
        return Verdict.model_validate_json(line)
    except ValidationError as error:
        if not line.endswith(b"\n") or not line.strip():
            return None
        message = f"{place}: not a verdict: choose another --out, or replace the file with --overwrite"
        raise ResumeError("no_verdict", message, place) from error


def _is_judged_again(verdict: Verdict, judges: Iterable[str]) -> bool:
    """Whether it is an error that this run meets again: of one of its judges, or of a row itself."""
    if verdict.error is None:
        return False
    return verdict.judge in judges or not verdict.judge or verdict.error.code == "unknown_judge"


def _check_identity(verdict: Verdict, judge: AnyJudge, path: Path) -> None:
    """Make sure that the verdict is by exactly this judge."""
    if verdict.key and verdict.key.startswith(f"{judge.identity}-"):
        return
    prompt = judge.prompt_id
    code, what = "other_prompt", f"the prompt {prompt.version}|sha:{prompt.sha256[:12]}"
    if verdict.prompt == prompt:
        code, what = "other_model", "another model, other settings or another version of groundjudge"
    message = (
        f"{path} holds verdicts of {verdict.signature}, but this run uses {what}: "
        "choose another --out, or replace the file with --overwrite"
    )
    raise ResumeError(code, message, str(path))
