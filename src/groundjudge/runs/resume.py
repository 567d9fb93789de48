"""Going on with a file of verdicts: what stands there need not be asked for once more."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from pydantic import ValidationError

from groundjudge.case import Case
from groundjudge.errors import GroundjudgeError
from groundjudge.judge import Judge
from groundjudge.verdict import Verdict


class ResumeError(GroundjudgeError):
    """A file cannot be gone on with, and is left as it is.

    Codes: no_verdict (a line holds none), other_prompt and other_model (of an earlier run), in_use.
    """


class Earlier:
    """The verdicts of an earlier run, as `run` takes them: those with status ok or not_applicable.

    They stay in the file. In memory there is a key for each.
    """

    def __init__(self, lines: BinaryIO, places: dict[str, int]) -> None:
        self._lines = lines
        self._places = places
        self._used: set[str] = set()

    def __call__(self, judge: Judge, case: Case) -> Verdict | None:
        """The verdict of the judge on the case, if it is there."""
        place = self._places.get(key := judge.key(case))
        if place is None:
            return None
        self._used.add(key)
        self._lines.seek(place)
        return Verdict.model_validate_json(self._lines.readline())

    def __contains__(self, key: str | None) -> bool:
        return key in self._places

    def close(self) -> None:
        """Let go of the file."""
        self._lines.close()

    @property
    def n_used(self) -> int:
        """How many verdicts were asked for."""
        return len(self._used)

    @property
    def n_unused(self) -> int:
        """How many were not: they are on cases that are not there any more, or were different."""
        return len(self._places) - len(self._used)


def take_up(path: Path, judges: Iterable[Judge]) -> Earlier:
    """Make a file ready to be gone on with, by the same judges. What is given has to be closed.

    Errors are taken out, as those rows are judged again, and so is a half-written last line. The verdicts
    of other judges stay. The file is replaced as a whole or not at all.

    Raises:
        ResumeError: another run writes to the file, a line holds no verdict, or a verdict is by one of
            these judges, but with another prompt, model or parameters.
        OSError: the file cannot be read, or its folder not be written to.
    """
    path = path.resolve()
    part = path.with_name(f".{path.name}.part")
    crew = {judge.name: judge for judge in judges}
    with path.open("rb") as lines:
        lock(lines, path)
        try:
            places = _copy_what_stays(lines, part, crew, path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    part.replace(path)
    return Earlier(path.open("rb"), places)


def _copy_what_stays(
    lines: Iterable[bytes], part: Path, crew: Mapping[str, Judge], path: Path
) -> dict[str, int]:
    """Copy the verdicts that stay; gives the places, by their keys, of those that need not be asked for."""
    places: dict[str, int] = {}
    with part.open("wb") as kept:
        for number, line in enumerate(lines, 1):
            verdict = _verdict(line, f"{path}, line {number}")
            if verdict is None or _is_due_again(verdict, crew) or verdict.key in places:
                continue
            if verdict.judge in crew:
                _check(verdict, crew[verdict.judge], path)
                places[str(verdict.key)] = kept.tell()
            kept.write(line.rstrip(b"\n") + b"\n")
        kept.flush()
        os.fsync(kept.fileno())
    return places


def lock(file: BinaryIO, path: Path) -> None:
    """Keep other runs from the file until it is closed, where the system can do that.

    Raises:
        ResumeError: `in_use`, if another run has it.
    """
    with suppress(ImportError):
        import fcntl  # noqa: PLC0415  there is none on Windows

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ResumeError("in_use", f"{path}: another run is writing to it", str(path)) from error


def _verdict(line: bytes, place: str) -> Verdict | None:
    """The verdict on a line; None for a line that was not finished."""
    try:
        return Verdict.model_validate_json(line)
    except ValidationError as error:
        if not line.endswith(b"\n") or not line.strip():
            return None
        raise ResumeError("no_verdict", f"{place}: this is no verdict", place) from error


def _is_due_again(verdict: Verdict, crew: Iterable[str]) -> bool:
    """Whether it is an error that this run comes upon again: of its judges, or of a row as such."""
    if verdict.error is None:
        return False
    return verdict.judge in crew or not verdict.judge or verdict.error.code == "unknown_judge"


def _check(verdict: Verdict, judge: Judge, path: Path) -> None:
    """Make sure that the verdict is by the very same judge."""
    if verdict.key and verdict.key.startswith(f"{judge.identity}-"):
        return
    now = judge.rubric.prompt.id
    if verdict.prompt == now:
        code, what = (
            "other_model",
            "another model, with other parameters or by another version of groundjudge",
        )
    else:
        code, what = "other_prompt", f"the prompt {now.version}|sha:{now.sha256[:12]}"
    message = (
        f"{path} holds verdicts of {verdict.signature}, and this run would add some by {what}: "
        "one file cannot hold both, give another --out, or --overwrite to begin anew"
    )
    raise ResumeError(code, message, str(path))
