"""The files that a command writes: it never overwrites its inputs, nor any file by accident."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TextIO

from groundjudge.cli.options import OutputOptions
from groundjudge.cli.screen import fail
from groundjudge.files import is_nonempty_file, lock_file
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.rows import STDIO
from groundjudge.runs.verdict_file import Output, ResumeError, open_output


def check_files(outputs: Iterable[tuple[str, str | None]], inputs: Iterable[tuple[str, str | None]]) -> None:
    """Exit if an output is an input or another output, by any path or link, or if its folder is missing.

    Stdout can be an output too: redirected to the end of an input, it would make that grow while it is read.

    Args:
        outputs: the option that names each output, and its path; "-" is stdout, None an output not wanted.
        inputs: what each input is ("the file of cases") and its path; "-" is stdin, None an input not given.
    """
    uses: dict[object, str] = {}
    for description, path in inputs:
        if path is not None:
            uses[_identity(path, sys.stdin)] = description
    for option, path in outputs:
        if path is None:
            continue
        identity = _identity(path, sys.stdout)
        name = "stdout" if path == STDIO else f"{option} {path}"
        # By identity: links, `sub/../` and the shell's redirection give a file other names.
        if identity and identity in uses:
            fail(f"{name} is {uses[identity]}: choose another file")
        if "://" in path:  # also a valid path with folders
            fail(f"{name}: this is a URL, but the command writes to a file: give a path")
        folder = Path(path).parent
        if not folder.is_dir():
            fail(f"{name}: the folder {folder} does not exist: create it")
        uses[identity] = f"the file {option}"  # no other output may be the same file


def check_cases(path: str) -> None:
    """Make sure that a file of cases can be opened.

    Raises:
        OSError: it cannot.
    """
    # A pipe cannot be opened twice; the reader of rows refuses a folder with its own message.
    if path != STDIO and not Path(path).is_fifo() and not Path(path).is_dir():
        Path(path).open("rb").close()


def open_out(
    out: str | None, judges: Iterable[AnyJudge], options: OutputOptions
) -> AbstractContextManager[Output]:
    """Open the file --out for a run, and its verdicts if the run is to continue it."""
    if options.resume and options.overwrite:
        fail("--resume continues the file --out and --overwrite replaces it: use one of them")
    if options.resume and (out is None or out == STDIO):
        fail("--resume needs --out PATH, the file to continue")
    return open_output(out, judges, resume=options.resume, overwrite=options.overwrite)


@contextmanager
def hold_file(option: str, path: str | None, *, overwrite: bool) -> Generator[None, None, None]:
    """Reserve a data file for this command, from before its work until it is written. None: no file.

    Exit if another command has it, or if it has contents that must not be replaced.
    """
    if path is None:
        yield
        return
    # Locked before the work: otherwise, of two simultaneous commands, one would replace the other's output.
    in_use = ResumeError("in_use", f"{path}: another command is writing to it", path)
    with lock_file(Path(path), in_use):
        if is_nonempty_file(path) and not overwrite:
            fail(f"{option} {path} already exists: choose another file, or replace it with --overwrite")
        yield


def is_table(out: str | None) -> bool:
    """Return whether the output is called a Parquet file."""
    return out is not None and Path(out).suffix.casefold() == ".parquet"


def refuse_table(out: str | None) -> None:
    """Exit if lines would be written to a file whose name says that it is a table."""
    if is_table(out):
        fail(f"--out {out}: the command writes a JSON object per line: choose a name that ends in .jsonl")


def _identity(path: str, stream: TextIO) -> object:
    """Return what all names of a regular file have in common; of one that does not exist yet, its path.

    None for a terminal, a pipe or /dev/null, which can be input and output at once.
    """
    try:
        if path == STDIO:
            status = os.fstat(stream.fileno())
        else:
            status = Path(path).stat()
    except (AttributeError, OSError, ValueError):
        # A stream may be None, closed or not a file, as under pythonw and in tests; a path may contain a NUL.
        return None if path == STDIO else Path(path).resolve()
    if not stat.S_ISREG(status.st_mode):
        return None
    # Links, also hard ones, have these in common with the file itself.
    return status.st_dev, status.st_ino
