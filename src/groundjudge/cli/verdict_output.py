"""The file --out of a command that judges: continued or refused, and what is said if the run ends early."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path

from groundjudge.cli.screen import INCOMPLETE, fail
from groundjudge.errors import ModelError
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.file_run import CaseFile
from groundjudge.runs.resume import PreviousVerdicts, prepare_resume
from groundjudge.runs.rows import STDIO
from groundjudge.runs.totals import RunTotals
from groundjudge.runs.verdict_file import read_verdicts
from groundjudge.verdict import Verdict


def previous_verdicts(
    out: str, judges: Sequence[AnyJudge], *, resume: bool, overwrite: bool
) -> AbstractContextManager[PreviousVerdicts | None]:
    """The verdicts that the file --out holds, if the run is to continue it; a file in the way is an error."""
    if resume and overwrite:
        fail("--resume continues the file --out and --overwrite replaces it: use one of them")
    if resume and out == STDIO:
        fail("--resume needs --out PATH, the file to continue")
    if out == STDIO or not Path(out).is_file() or not Path(out).stat().st_size:
        return nullcontext()
    if not resume and not overwrite:
        fail(f"--out {out} already exists: continue it with --resume, or replace it with --overwrite")
    return closing(prepare_resume(Path(out), judges)) if resume else nullcontext()


def lines_of(out: str, *, overwrite: bool) -> str:
    """The file to which verdicts are written as they come: one beside a .parquet file, or --out itself."""
    if Path(out).suffix.casefold() != ".parquet":
        return out
    import_module("groundjudge.runs.parquet")  # if PyArrow is missing, it is missed before anything is judged
    lines = f"{out}.jsonl"
    if Path(out).is_dir():
        fail(f"--out {out} is a folder: choose another file")
    if Path(out).exists() and not Path(lines).exists() and not overwrite:
        fail(f"--out {out} already exists, and {lines}, its lines, does not: replace it with --overwrite")
    return lines


def write_table(out: str, lines: str) -> None:
    """Write the verdicts in a file of lines as a .parquet file, if --out is one.

    Raises:
        OSError: a file cannot be read or written.
    """
    if out != lines:
        from groundjudge.runs.parquet import write_parquet  # noqa: PLC0415  PyArrow is an extra

        verdicts = (row for row in read_verdicts(lines) if isinstance(row, Verdict))
        write_parquet(verdicts, Path(out))


@contextmanager
def report_connection() -> Generator[None, None, None]:
    """Report an endpoint that never answered."""
    try:
        yield
    except ModelError as error:
        if error.code != "connection":
            raise
        fail(f"stopped: {error.message}", status=INCOMPLETE)  # the same command may succeed later


def fail_if_stopped(outcome: RunTotals, out: str | None) -> None:
    """Exit if the run ended early."""
    if outcome.stopped:
        kept = f"; the finished verdicts are in {out}, continue with --resume"
        remedy = "" if out in {None, STDIO} else kept
        fail(f"stopped: {outcome.stopped}{remedy}", status=INCOMPLETE)


def check_paths(cases: str, out: str) -> None:
    """Make sure that the cases can be read, and that the verdicts can be written."""
    if cases != STDIO and not Path(cases).is_fifo() and not Path(cases).is_dir():
        Path(cases).open("rb").close()
    check_folder(out)


def check_folder(out: str) -> None:
    """Make sure that the folder of the file --out exists."""
    if out != STDIO and not Path(out).parent.is_dir():
        fail(f"--out {out}: the folder {Path(out).parent} does not exist")


def refuse_parquet(out: str | None) -> None:
    """Exit if lines would be written to a file that is called a table."""
    if out is not None and Path(out).suffix.casefold() == ".parquet":
        fail(f"--out {out}: this command writes one JSON object per line: choose a name that ends in .jsonl")


def fail_without_rows(rows: CaseFile) -> None:
    """Exit if no row could be read."""
    if not rows.n_read:
        fail(
            f"{rows.path}: no row could be read; the file must hold one JSON object per line, "
            "or be a .csv, .tsv, .json or .parquet file: see --format"
        )


def fail_without_result(rows: CaseFile, outcome: RunTotals) -> None:
    """Exit if no row could be read, or nothing could be judged."""
    fail_without_rows(rows)
    counts = outcome.tally.summaries()
    if not any(one.n for one in counts):
        fail(f"{rows.path}: nothing was judged, because every row names other judges under `judges`")
    if any(one.n_missing for one in counts) and not any(one.n > one.n_missing for one in counts):
        fail(f"{rows.path}: nothing was judged, because every row lacks a required input: see above")


def status_of(outcome: RunTotals, min_coverage: float) -> int:
    """The exit status of a command that judges."""
    below = any(one.coverage < min_coverage for one in outcome.tally.summaries())
    return INCOMPLETE if below or outcome.n_unreadable else 0
