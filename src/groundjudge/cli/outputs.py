"""The files that a command writes: never over what it reads, and never over a file by accident."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TextIO

from groundjudge.cli.options import OutputOptions
from groundjudge.cli.screen import refuse
from groundjudge.files import is_nonempty_file, lock_file, replace_file
from groundjudge.judging.panel import AnyJudge
from groundjudge.report.template import is_page
from groundjudge.runs.rows import STDIO
from groundjudge.runs.verdict_file import Output, ResumeError, open_output


def check_files(outputs: Iterable[tuple[str, str | None]], inputs: Iterable[tuple[str, str | None]]) -> None:
    """Exit if an output is an input or another output, by whatever path or link, or if its folder is missing.

    Stdout can be an output too: redirected to the end of an input, that would grow while it is read.

    Args:
        outputs: the option that names each output, and its path; "-" is stdout, None an output not wanted.
        inputs: what each input is ("the file of cases") and its path; "-" is stdin, None an input not given.
    """
    taken = {_identity(path, sys.stdin): what for what, path in inputs if path is not None}
    for option, path in dict.fromkeys(outputs):
        if path is not None:
            identity, name = _identity(path, sys.stdout), "stdout" if path == STDIO else f"{option} {path}"
            folder = Path(path).parent
            refuse(
                (identity and identity in taken, f"{name} is {taken.get(identity)}: choose another file"),
                (not folder.is_dir(), f"{name}: the folder {folder} does not exist: create it"),
            )
            taken[identity] = f"the file {option}"


def check_cases(path: str) -> None:
    """Make sure that a file of cases can be opened; a pipe cannot be opened twice.

    Raises:
        OSError: it cannot.
    """
    if path != STDIO and not Path(path).is_fifo() and not Path(path).is_dir():
        Path(path).open("rb").close()


def opened(
    out: str | None, judges: Iterable[AnyJudge], options: OutputOptions
) -> AbstractContextManager[Output]:
    """Open the file --out for a run, and the verdicts that it holds if the run is to continue it."""
    resume, overwrite = options.resume, options.overwrite
    refuse(
        (
            resume and overwrite,
            "--resume continues the file --out and --overwrite replaces it: use one of them",
        ),
        (resume and out in {None, STDIO}, "--resume needs --out PATH, the file to continue"),
    )
    return open_output(out, judges, resume=resume, overwrite=overwrite)


@contextmanager
def held(option: str, path: str | None, *, overwrite: bool) -> Generator[None, None, None]:
    """Keep a file of data for this command, from before its work until it is written. None: there is none.

    Exit if another command has it, or if it holds something that must not be replaced.
    """
    if path is None:
        yield
        return
    in_use = ResumeError("in_use", f"{path}: another command is writing to it", path)
    with lock_file(Path(path), in_use):
        remedy = "choose another file, or replace it with --overwrite"
        refuse((is_nonempty_file(path) and not overwrite, f"{option} {path} already exists: {remedy}"))
        yield


def write_page(path: str, html: str) -> int:
    """Write a page in the place of none or an older one; returns its size in bytes."""
    with replace_file(Path(path)) as file:
        return file.write(html.encode())


def check_page(path: str) -> None:
    """Exit if a page would be written over a file that is not a page of this library."""
    remedy = "it is not a page of groundjudge: choose another file"
    refuse((is_nonempty_file(path) and not is_page(path), f"--out {path} already exists, and {remedy}"))


def is_table(out: str | None) -> bool:
    """Whether the output is called a Parquet file."""
    return out is not None and Path(out).suffix.casefold() == ".parquet"


def refuse_table(out: str | None) -> None:
    """Exit if lines would be written to a file that is called a table."""
    remedy = "this command writes one JSON object per line: choose a name that ends in .jsonl"
    refuse((is_table(out), f"--out {out}: {remedy}"))


def _identity(path: str, stream: TextIO) -> object:
    """What all names of a regular file have in common; of one that does not exist yet, its path.

    None for a terminal, a pipe or /dev/null, which can be input and output at once.
    """
    with suppress(AttributeError, OSError, ValueError):
        found = os.fstat(stream.fileno()) if path == STDIO else Path(path).stat()
        return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None
    return None if path == STDIO else Path(path).resolve()
