"""A run from a file of cases to a file of verdicts, and its totals."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from groundjudge.case.case import Case, Document
from groundjudge.case.fields import ALIASES, RESERVED, FieldPaths
from groundjudge.errors import CaseError, GroundjudgeError, ModelError
from groundjudge.runs.rows import STDIO, FileFormat, FileRow, count_rows, is_kept, read_rows
from groundjudge.runs.run import Rows, id_of
from groundjudge.runs.summary import Tally
from groundjudge.runs.verdict_file import PreviousVerdicts, lock
from groundjudge.verdict import Usage, Verdict

MAX_KEYS = 1000
"""Keys that may be the rows' ids are not all remembered."""

MAX_UNREADABLE = 20
"""How many messages of unreadable rows are kept."""

Progress: TypeAlias = AbstractContextManager[Callable[[], object]]
"""Entered when there is a first verdict; the function it gives is called after each verdict."""


@dataclass
class CaseFile:
    """The rows of a file on their way to the judges: counted, and some of them kept.

    Attributes:
        path: the file of cases.
        kept_ids: the ids of the rows to keep.
        file_format: the file's format; None: by its suffix.
        fields: fields that are elsewhere in a row, each with its path.
        n_read: how many rows could be read so far.
        n_unreadable: how many could not.
        keys: the keys that have a value in any of them, about MAX_KEYS at most.
        kept: the rows kept so far, by id.
    """

    path: str
    kept_ids: frozenset[str] = frozenset()
    file_format: FileFormat | None = None
    fields: FieldPaths = field(default_factory=dict[str, str])
    n_read: int = 0
    n_unreadable: int = 0
    keys: set[str] = field(default_factory=set[str])
    kept: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])

    def __iter__(self) -> Iterator[FileRow]:
        for number, row in enumerate(read_rows(self.path, self.file_format, self.fields), 1):
            if isinstance(row, CaseError):
                self.n_unreadable += 1
            else:
                self.n_read += 1
                if len(self.keys) < MAX_KEYS:
                    self.keys.update(key for key, value in row.items() if value is not None)
                if (case_id := id_of(row, number)) in self.kept_ids:
                    self.kept[case_id] = row
            yield row

    @property
    def source(self) -> Rows:
        """The rows for `run`, which judges on while it waits for those of a pipe."""
        return self if is_kept(self.path) else _as_they_come(self)

    def count(self) -> int | None:
        """How many rows the file has; None for what can be read only once."""
        return count_rows(self.path, self.file_format)

    def lacks(self, name: str) -> bool:
        """Whether no row has the field, by any of its names, nor anything that may hold it."""
        return self.keys.isdisjoint({name, *ALIASES.get(name, ()), *RESERVED - {"id"}})

    def sources(self, case_id: str) -> Sequence[Document]:
        """The documents of a kept row, which the evidence of its verdicts points to."""
        with suppress(CaseError):
            return Case.from_mapping(self.kept.get(case_id, {})).context or ()
        return ()


@dataclass
class RunTotals:
    """The totals of a run. Memory does not grow with the rows.

    Attributes:
        tally: the summaries, judge by judge.
        kept_ids: the ids of the cases whose verdicts are kept.
        previous: the verdicts of the run that this one continues; None for a run from the start.
        kept: the verdicts of those cases, by the case's id.
        first_errors: the first message, by judge and error code.
        unreadable: messages of rows that could not be read: the first `MAX_UNREADABLE`.
        n_unreadable: how many rows could not be read.
        n_new: how many verdicts are not from the previous run.
        usage: the tokens of the new verdicts; None when the model reported none.
        stopped: why the run ended early; None when it did not.
    """

    tally: Tally
    kept_ids: frozenset[str] = frozenset()
    previous: PreviousVerdicts | None = None
    kept: dict[str, list[Verdict]] = field(default_factory=dict[str, list[Verdict]])
    first_errors: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    unreadable: list[str] = field(default_factory=list[str])
    n_unreadable: int = 0
    n_new: int = 0
    usage: Usage | None = None
    stopped: GroundjudgeError | None = None

    def is_new(self, verdict: Verdict) -> bool:
        """Whether a verdict is not from the previous run."""
        return self.previous is None or verdict.key not in self.previous

    def add(self, verdict: Verdict) -> None:
        """Count one more verdict."""
        if self.is_new(verdict):
            self.n_new += 1
            if verdict.usage:
                self.usage = (self.usage or Usage()) + verdict.usage
        if verdict.case_id in self.kept_ids:
            self.kept.setdefault(verdict.case_id, []).append(verdict)
        if verdict.judge:
            self.tally.add(verdict)
        if verdict.error and verdict.judge:
            message = f"{verdict.case_id}: {verdict.error.message}"
            self.first_errors.setdefault((verdict.judge, verdict.error.code), message)
        elif verdict.error:
            self.n_unreadable += 1
            self.unreadable = [*self.unreadable, verdict.error.message][:MAX_UNREADABLE]


def write_verdicts(
    judged: Generator[Verdict, None, None],
    out: str | None,
    totals: RunTotals,
    progress: Progress | None = None,
) -> None:
    """Write each new verdict as it comes, and count all of them.

    Args:
        judged: the verdicts, those of `totals.previous` among them; they are closed at the end.
        out: the file to write to, "-" for stdout, or None to write nothing. A file is emptied first, unless
            it holds the previous verdicts.
        totals: counts the verdicts, and says why the run ended early if it did.
        progress: shows how far the run is.

    Raises:
        ModelError: the model cannot be reached, and there is no verdict at all. After a first verdict the
            error ends the run and is in `totals.stopped`.
        OSError: the rows cannot be read, or the verdicts cannot be written.
    """
    with closing(judged) as verdicts:
        first = list(islice(verdicts, 1))  # may raise, and must do so before an existing file is emptied
        with (
            _lines(out, append=totals.previous is not None) as write,
            progress or nullcontext(lambda: None) as advance,
        ):
            try:
                for verdict in chain(first, verdicts):
                    if totals.is_new(verdict):
                        write(verdict)
                    totals.add(verdict)
                    advance()
            except ModelError as error:
                totals.stopped = error
            except KeyboardInterrupt:
                totals.stopped = GroundjudgeError("interrupted", "interrupted")


async def _as_they_come(rows: Iterable[FileRow]) -> AsyncIterator[FileRow]:
    """The rows of a source that may block, such as a pipe: judging goes on while it does."""
    reading = iter(rows)
    while (row := await asyncio.to_thread(next, reading, None)) is not None:
        yield row


@contextmanager
def _lines(out: str | None, *, append: bool) -> Generator[Callable[[Verdict], object], None, None]:
    """Open the output; yields what writes a verdict at once and as a whole line."""
    if out is None:
        yield lambda _: None
        return

    def write(verdict: Verdict) -> None:
        file.write(verdict.model_dump_json().encode() + b"\n")
        file.flush()

    with nullcontext(sys.stdout.buffer) if out == STDIO else Path(out).open("ab") as file:
        if out != STDIO:
            lock(file, Path(out))
            if not append and Path(out).is_file():
                file.truncate(0)
        yield write
