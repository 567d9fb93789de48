"""Files of verdicts: written by a run while it is counted, read back, and continued by another run."""

from __future__ import annotations

import errno
import signal
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, ClassVar, NamedTuple

from pydantic import ValidationError

from groundjudge.case.case import Case
from groundjudge.errors import CaseError, GroundjudgeError, ModelError, first_fault
from groundjudge.files import is_nonempty_file, lock_file, private_opener, replace_file
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.rows import STDIO, format_of, read_json_lines
from groundjudge.runs.summary import Tally
from groundjudge.text.printable import json_line
from groundjudge.verdict import Usage, Verdict, __version__

MAX_UNREADABLE = 20
"""How many messages of unreadable rows are kept."""


def read_verdicts(path: str | Path) -> Iterator[Verdict | CaseError]:
    """Read the verdicts of a file, one JSON object per line; "-" is stdin.

    From a .parquet file, or a folder of them, the column `verdict` is read, starting with the oldest file.

    Yields:
        A verdict per line, or a CaseError (`unreadable_row`) for a line that is not a verdict, such as the
        half-written last line of an interrupted run.

    Raises:
        OSError: the file cannot be opened or read.
        CaseError: `unreadable_file`: it should be Parquet with a column `verdict` and is not.
        ImportError: a Parquet file, and PyArrow is not installed.
    """
    if format_of(path) == "parquet":
        yield from _verdicts_in_table(path)
        return
    for number, line in enumerate(read_json_lines(path), 1):
        if not line.isspace():
            yield _read_verdict(line, f"line {number}")


def _verdicts_in_table(path: str | Path) -> Iterator[Verdict | CaseError]:
    """Read the column `verdict` of a Parquet file, or of a folder of them."""
    from groundjudge.runs.arrow import parquet_rows  # noqa: PLC0415  PyArrow is an extra

    for number, row in enumerate(parquet_rows(Path(path), "verdict"), 1):
        if isinstance(row, CaseError):
            yield row
        else:
            yield _read_verdict(row["verdict"] or "", f"row {number}")  # a null is not a verdict either


def _read_verdict(text: str, row_name: str) -> Verdict | CaseError:
    """Read a verdict in JSON; return the error of its row if it is not one."""
    try:
        return Verdict.model_validate_json(text)
    except ValidationError as error:
        fault = first_fault(error)
    except UnicodeEncodeError:
        fault = "not UTF-8"
    return CaseError("unreadable_row", f"{row_name}: not a verdict ({fault})", row_name)


class ResumeError(GroundjudgeError):
    """A run cannot be resumed, or cannot start in a file that is not empty; the file is unchanged."""

    codes: ClassVar[Mapping[str, str]] = {
        "exists": "The file is not empty. Continue it with `--resume`, or replace it with `--overwrite`.",
        "in_use": "Another command is writing to the file. Wait for it, or choose another `--out`.",
        "no_verdict": "A line is not a verdict. Choose another `--out`, or remove the file.",
        "other_model": "The verdicts come from another model, other settings or another library version. "
        "As for `no_verdict`: the scores of both would not be comparable.",
        "other_prompt": "The file's verdicts come from another prompt. As for `other_model`.",
    }


class PreviousVerdicts:
    """The verdicts of a previous run with status ok or not_applicable, for `run` to reuse.

    They stay in the file; only the key and the offset of each are in memory.
    """

    def __init__(self, lines: BinaryIO, offsets: dict[str, int]) -> None:
        self._lines = lines
        self._offsets = offsets
        self._used_keys = set[str]()

    def __call__(self, judge: AnyJudge, case: Case) -> Verdict | None:
        """Return the verdict of the judge on the case, or None."""
        key = judge.key(case)
        offset = self._offsets.get(key)
        if offset is None:
            return None
        self._used_keys.add(key)
        self._lines.seek(offset)
        return Verdict.model_validate_json(self._lines.readline())

    def __contains__(self, key: str | None) -> bool:
        return key in self._offsets

    @property
    def n_used(self) -> int:
        """How many verdicts were reused."""
        return len(self._used_keys)

    @property
    def n_unused(self) -> int:
        """How many verdicts were not reused, because their cases were removed or changed."""
        return len(self._offsets) - len(self._used_keys)


class Output(NamedTuple):
    """What a run writes to.

    Attributes:
        file: the file of verdicts, or stdout; None: verdicts are not written.
        previous: the verdicts in it that the run continues; None for a run from the start.
        is_replaced: whether its contents are replaced at the first verdict.
    """

    file: BinaryIO | None
    previous: PreviousVerdicts | None = None
    is_replaced: bool = False


@contextmanager
def open_output(
    out: str | None, judges: Iterable[AnyJudge], *, resume: bool = False, overwrite: bool = False
) -> Generator[Output, None, None]:
    """Open what a run writes to before anything is judged, and lock it until the end.

    A file keeps its contents until there is a first verdict. A new file that is still empty after an error
    is removed.

    Args:
        out: a path; "-" is stdout; None: nothing is written.
        judges: who judges.
        resume: whether to continue a file that contains verdicts.
        overwrite: whether to replace a file that is not empty.

    Raises:
        ResumeError: `in_use`: another run is writing to the file; `exists`: it is not empty, and neither
            `resume` nor `overwrite` is set; the others as for `resumed`.
        OSError: it cannot be opened, or its folder cannot be written to.
    """
    if out is None:
        yield Output(None)
        return
    if out == STDIO:
        yield Output(sys.stdout.buffer)
        return
    path = Path(out)
    with lock_file(path, ResumeError("in_use", f"{out}: another command is writing to it", out)):
        is_new = not path.exists()
        has_verdicts = is_nonempty_file(path)
        if has_verdicts and not (resume or overwrite):
            choice = "continue it with --resume, or replace it with --overwrite"
            raise ResumeError("exists", f"--out {out} already exists: {choice}", out)
        is_resumed = has_verdicts and resume
        previous_run = resume_verdict_file(path, judges) if is_resumed else nullcontext()
        try:
            # Without a buffer, which would be written again when the file is closed.
            with previous_run as previous, open(path, "ab", buffering=0, opener=private_opener) as file:
                yield Output(file, previous, is_replaced=has_verdicts and not resume)
        except BaseException:
            if is_new and not is_nonempty_file(path):
                path.resolve().unlink(missing_ok=True)
            raise


@contextmanager
def resume_verdict_file(path: Path, judges: Iterable[AnyJudge]) -> Generator[PreviousVerdicts, None, None]:
    """Prepare a file of verdicts to be continued by the same judges, and open it for them.

    Errors are removed, because those rows are judged again, and so is a half-written last line. The
    verdicts of other judges stay. The file is replaced as a whole or not at all.

    Args:
        path: the file, which the caller has locked.
        judges: who judges.

    Raises:
        ResumeError: a line is not a verdict, or a verdict is by one of these judges, but with another prompt,
            model or parameters.
        OSError: the file cannot be read or written, or its folder cannot be written to.
    """
    judge_by_name = {judge.name: judge for judge in judges}
    offsets: dict[str, int] = {}
    # Opened for writing, so that an unwritable file is an error and is not replaced.
    with replace_file(path) as new_file, path.open("r+b") as lines:
        for number, line in enumerate(lines, 1):
            verdict = _parse_verdict(line, f"{path}, line {number}")
            if verdict is None:  # a run that was killed while writing
                continue
            judge = judge_by_name.get(verdict.judge)
            if verdict.error and (judge or not verdict.judge or verdict.error.code == "unknown_judge"):
                continue  # this run encounters it again
            if judge:
                _check_identity(verdict, judge, path)
                offsets[str(verdict.key)] = new_file.tell()  # the newer one of two
            new_file.write(line.rstrip(b"\n") + b"\n")
    with path.open("rb") as lines:
        yield PreviousVerdicts(lines, offsets)


def _parse_verdict(line: bytes, line_name: str) -> Verdict | None:
    """Return the verdict on a line; None for an unfinished line."""
    try:
        return Verdict.model_validate_json(line)
    except ValidationError as error:
        if not line.endswith(b"\n") or not line.strip():
            return None
        message = f"{line_name}: not a verdict: choose another --out, or remove this file"
        raise ResumeError("no_verdict", message, line_name) from error


def _check_identity(verdict: Verdict, judge: AnyJudge, path: Path) -> None:
    """Make sure that the verdict is by exactly this judge.

    Raises:
        ResumeError: `other_prompt`, `other_model`.
    """
    if verdict.key and verdict.key.startswith(f"{judge.identity}-"):
        return
    prompt = judge.prompt_id
    if verdict.prompt == prompt:
        code = "other_model"
        difference = f"another model, setting or version ({judge.model_name}, groundjudge {__version__})"
    else:
        code = "other_prompt"
        difference = f"the prompt {prompt.version}|sha:{prompt.sha256[:12]}"
    message = (
        f"{path} contains verdicts of {verdict.signature}, but this run uses {difference}: "
        "choose another --out, or remove this file"
    )
    raise ResumeError(code, message, str(path))


@dataclass
class RunTotals:
    """The totals of a run. Memory does not grow with the rows.

    Attributes:
        tally: the summaries, judge by judge.
        kept_ids: the ids of the cases whose verdicts are kept.
        previous: the verdicts of the run that this one continues; None for a run from the start.
        kept_verdicts: the verdicts of those cases, by the case's id.
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
    kept_verdicts: dict[str, list[Verdict]] = field(default_factory=dict[str, list[Verdict]])
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
        """Count a verdict."""
        if self.is_new(verdict):
            self.n_new += 1
            if verdict.usage:
                self.usage = (self.usage or Usage()) + verdict.usage
        if verdict.case_id in self.kept_ids:
            self.kept_verdicts.setdefault(verdict.case_id, []).append(verdict)
        if verdict.judge:
            self.tally.add(verdict)
            if verdict.error:
                message = f"{verdict.case_id}: {verdict.error.message}"
                self.first_errors.setdefault((verdict.judge, verdict.error.code), message)
        elif verdict.error:
            self.n_unreadable += 1
            if len(self.unreadable) < MAX_UNREADABLE:
                self.unreadable.append(verdict.error.message)


def write_verdicts(
    run_verdicts: Generator[Verdict, None, None],
    output: Output,
    totals: RunTotals,
    progress: AbstractContextManager[Callable[[], object]],
) -> None:
    """Write each new verdict as it arrives, and count all of them.

    Args:
        run_verdicts: the verdicts, including those of `totals.previous`; they are closed at the end.
        output: what they are written to (see `open_output`).
        totals: counts the verdicts, and says why the run ended early, if it did.
        progress: shows the progress: entered at the first verdict; the function that it returns is called
            after each verdict.

    Raises:
        ModelError: the model cannot be reached, and there is no verdict at all. After a first verdict the
            error ends the run and is in `totals.stopped`; so does `unwritable`: a verdict cannot be written.
        OSError: the rows cannot be read.
    """
    file = output.file
    with closing(run_verdicts), closing(_until_interrupted(run_verdicts)) as verdicts:
        first_verdict = list(islice(verdicts, 1))  # may raise, and must do so before a file is emptied
        if file and output.is_replaced and first_verdict:
            file.truncate(0)
        with progress as advance:
            try:
                for verdict in chain(first_verdict, verdicts):
                    if file and totals.is_new(verdict):
                        _write_line(verdict, file)
                    totals.add(verdict)  # what cannot be written is not counted
                    advance()
            except KeyboardInterrupt:
                totals.stopped = GroundjudgeError("interrupted", "interrupted")
            except GroundjudgeError as error:
                if not isinstance(error, ModelError) and error.code != "unwritable":
                    raise
                totals.stopped = error


def _until_interrupted(verdicts: Iterator[Verdict]) -> Generator[Verdict]:
    """Yield the verdicts until an interrupt (Ctrl-C), which ends waiting for a verdict, not work on one.

    During that work, an interrupt could leave half a line, and pydantic would turn it into another error
    while it writes JSON. A second interrupt ends that work, too.

    Raises:
        KeyboardInterrupt: the run was interrupted.
    """
    can_handle = threading.current_thread() is threading.main_thread()
    if not can_handle or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield from verdicts  # the program handles interrupts itself
        return

    is_waiting = True  # for a verdict, rather than working on one
    is_interrupted = False

    def interrupt(_signal: int, _frame: object) -> None:
        """End waiting at once; during work, only remember the first interrupt."""
        nonlocal is_interrupted
        if is_waiting or is_interrupted:
            raise KeyboardInterrupt
        is_interrupted = True

    signal.signal(signal.SIGINT, interrupt)
    try:
        for verdict in verdicts:
            is_waiting = False
            yield verdict
            is_waiting = True
            if is_interrupted:
                raise KeyboardInterrupt
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _write_line(verdict: Verdict, file: BinaryIO) -> None:
    """Write a verdict at once and as a whole line."""
    line = memoryview(json_line(verdict.model_dump_json(), file))
    try:
        while line:  # a nearly full disk accepts only part of it
            n_written = file.write(line)
            line = line[n_written:]
        file.flush()
    except OSError as error:
        if error.errno == errno.EPIPE:  # the reader has gone, as after `| head`
            raise
        name = "stdout" if file is sys.stdout.buffer else str(file.name)
        raise GroundjudgeError("unwritable", f"{name}: {error.strerror}", name) from error
