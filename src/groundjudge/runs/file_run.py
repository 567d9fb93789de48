"""A run from a file of cases to a file of verdicts."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from groundjudge.case import Case, Document
from groundjudge.cli.outcome import Outcome
from groundjudge.cli.terminal import console_of
from groundjudge.errors import CaseError, ModelError
from groundjudge.runs.resume import Earlier, lock
from groundjudge.runs.rows import STDIN, FileRow, count_rows, read_rows
from groundjudge.runs.run import Rows as RunRows
from groundjudge.runs.run import id_of
from groundjudge.runs.summary import Tally
from groundjudge.verdict import Verdict

Judging: TypeAlias = Callable[[RunRows], Generator[Verdict, None, None]]
"""From rows to verdicts: `run`, told everything else."""


@dataclass
class Rows:
    """The rows of a file on their way to the judges: counted, and those to be shown in full kept."""

    path: str
    wanted: frozenset[str]
    n_read: int = 0
    kept: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def __iter__(self) -> Iterator[FileRow]:
        for number, row in enumerate(read_rows(self.path), 1):
            if not isinstance(row, CaseError):
                self.n_read += 1
                if (case_id := id_of(row, number)) in self.wanted:
                    self.kept[case_id] = row
            yield row

    def sources(self, case_id: str) -> Sequence[Document]:
        """The documents that the evidence on a case points to."""
        with suppress(CaseError):
            return Case.from_mapping(self.kept.get(case_id, {})).context or ()
        return ()


def judge_rows(
    rows: Rows, judging: Judging, judges: Sequence[str], out: str, earlier: Earlier | None
) -> Outcome:
    """Judge the rows, write each verdict as it comes, and sum up.

    Args:
        rows: the file's rows.
        judging: what makes verdicts of rows.
        judges: the names of the judges.
        out: where to write, or "-". The file is begun anew, unless there are earlier verdicts in it.
        earlier: the verdicts that are there already, which `judging` gives again.

    Raises:
        ModelError: nobody can be asked, and there is no verdict at all. Later it is in the outcome.
        OSError: the rows cannot be read, or the verdicts not be written.
    """
    outcome = Outcome(Tally(judges), rows.wanted)
    source = rows if Path(rows.path).is_file() else _as_they_come(rows)
    with closing(judging(source)) as verdicts:
        begun = list(islice(verdicts, 1))  # before the file of an earlier run is emptied
        with (
            _lines(out, anew=earlier is None) as write,
            _progress(rows.path, len(judges), out) as advance,
        ):
            try:
                for verdict in chain(begun, verdicts):
                    is_new = earlier is None or verdict.key not in earlier
                    if is_new:
                        write(verdict)
                    outcome.add(verdict, is_new=is_new)
                    advance()
            except ModelError as error:
                outcome.stopped = error.message
            except KeyboardInterrupt:
                outcome.stopped = "interrupted"
    return outcome


async def _as_they_come(rows: Iterable[FileRow]) -> AsyncIterator[FileRow]:
    """The rows of a source that may keep us waiting for them, while the judging goes on."""
    reading = iter(rows)
    while (row := await asyncio.to_thread(next, reading, None)) is not None:
        yield row


@contextmanager
def _lines(out: str, *, anew: bool) -> Generator[Callable[[Verdict], None], None, None]:
    """Where the verdicts are written, each one at once and as a whole line."""

    def write(verdict: Verdict) -> None:
        file.write(verdict.model_dump_json().encode() + b"\n")
        file.flush()

    if out == STDIN:
        file = sys.stdout.buffer
        yield write
        return
    with Path(out).open("ab") as file:
        lock(file, Path(out))
        if anew and Path(out).is_file():
            file.truncate(0)
        yield write


@contextmanager
def _progress(cases: str, n_judges: int, out: str) -> Generator[Callable[[], None], None, None]:
    """A bar on a terminal, unless the verdicts themselves go there."""
    if not sys.stderr.isatty() or (out == STDIN and sys.stdout.isatty()):
        yield lambda: None
        return
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console_of(to_stderr=True), transient=True) as bar:
        rows = count_rows(cases)
        task = bar.add_task("", total=None if rows is None else rows * n_judges)
        yield lambda: bar.advance(task)
