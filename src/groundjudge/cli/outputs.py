"""The files that a command writes: never over what it reads, and never over a file by accident."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from pathlib import Path

from groundjudge.cli.options import OutputOptions
from groundjudge.cli.screen import fail
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.rows import STDIO
from groundjudge.runs.verdict_file import PreviousVerdicts, prepare_resume


def check_outputs(
    outputs: Iterable[tuple[str, str | None]], inputs: Iterable[tuple[str, str | None]]
) -> None:
    """Exit if an output is an input or another output, by whatever path or link, or if its folder is missing.

    Args:
        outputs: the option that names each output, and its path; "-" is stdout, None an output not wanted.
        inputs: what each input is ("the file of cases") and its path; "-" is stdin, None an input not given.
    """
    others = [(what, path) for what, path in inputs if path is not None]
    for option, path in dict.fromkeys(outputs):
        if path is None or path == STDIO:
            continue
        for what, other in others:
            if _is_same_file(path, other):
                fail(f"{option} {path} is {what}: choose another file")
        if not Path(path).parent.is_dir():
            fail(f"{option} {path}: the folder {Path(path).parent} does not exist")
        others.append((f"the file {option}", path))


def check_cases(path: str) -> None:
    """Make sure that a file of cases can be opened; a pipe cannot be opened twice.

    Raises:
        OSError: it cannot.
    """
    if path != STDIO and not Path(path).is_fifo() and not Path(path).is_dir():
        Path(path).open("rb").close()


def refuse_to_append(what: str, path: str) -> None:
    """Exit if stdout was redirected to the end of an input, which would grow while it is read."""
    if _is_same_regular_file(_stat_of_stream(sys.stdout), _stat_of_input(path)):
        fail(f"stdout is {what}: choose another file")


def previous_verdicts(
    out: str, judges: Iterable[AnyJudge], options: OutputOptions
) -> AbstractContextManager[PreviousVerdicts | None]:
    """The verdicts that the file --out holds, if the run is to continue it; a file in the way is an error."""
    if options.resume and options.overwrite:
        fail("--resume continues the file --out and --overwrite replaces it: use one of them")
    if options.resume and out == STDIO:
        fail("--resume needs --out PATH, the file to continue")
    if not holds_something(out):
        return nullcontext()
    if not options.resume and not options.overwrite:
        fail(f"--out {out} already exists: continue it with --resume, or replace it with --overwrite")
    return closing(prepare_resume(Path(out), [*judges])) if options.resume else nullcontext()


def holds_something(out: str) -> bool:
    """Whether the output is a file that is not empty."""
    return out != STDIO and Path(out).is_file() and Path(out).stat().st_size > 0


def is_table(out: str | None) -> bool:
    """Whether the output is called a Parquet file."""
    return out is not None and Path(out).suffix.casefold() == ".parquet"


def refuse_table(out: str | None) -> None:
    """Exit if lines would be written to a file that is called a table."""
    if is_table(out):
        fail(f"--out {out}: this command writes one JSON object per line: choose a name that ends in .jsonl")


def _is_same_file(out: str, other: str) -> bool:
    """Whether two paths lead to one regular file, or to one that neither names yet."""
    one, two = _stat_of_path(out), _stat_of_input(other)
    if one is None and two is None:
        return Path(out).resolve() == Path(other).resolve()
    return _is_same_regular_file(one, two)


def _is_same_regular_file(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Whether both are the same regular file. A terminal or /dev/null can be input and output at once."""
    if one is None or other is None or not stat.S_ISREG(one.st_mode):
        return False
    return os.path.samestat(one, other)


def _stat_of_input(path: str) -> os.stat_result | None:
    return _stat_of_stream(sys.stdin) if path == STDIO else _stat_of_path(path)


def _stat_of_path(path: str) -> os.stat_result | None:
    """The file's identity; None if it does not exist or cannot be reached, as opening it will report."""
    with suppress(OSError, ValueError):
        return Path(path).stat()
    return None


def _stat_of_stream(stream: object) -> os.stat_result | None:
    """The identity of the file behind a stream; None for a stream without one."""
    with suppress(AttributeError, OSError, ValueError):
        return os.fstat(stream.fileno())  # type: ignore[attr-defined]
    return None
