"""The inputs of a command, which its output must not overwrite."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from groundjudge.cli.screen import fail
from groundjudge.rubric.rubric import names
from groundjudge.runs.rows import STDIO


def refuse_to_overwrite(option: str, out: str | None, inputs: Iterable[tuple[str, str | None]]) -> None:
    """Exit if an output is one of the command's inputs, by whatever path or link.

    Args:
        option: the option that names the output.
        out: the path of the output, not "-"; None if there is none.
        inputs: what each input is ("the file of cases") and its path; "-" is stdin, None an input not given.
    """
    for what, path in inputs:
        if out is not None and path is not None and _is_same_file(_stat(out), _stat_of_input(path)):
            fail(f"{option} {out} is {what}: choose another file")


def refuse_to_append(what: str, path: str) -> None:
    """Exit if stdout was redirected to the end of an input, which would grow while it is read."""
    if _is_same_file(_stat_of_stream(sys.stdout), _stat_of_input(path)):
        fail(f"stdout is {what}: choose another file")


def prompt_files(judges: Iterable[str]) -> list[tuple[str, str]]:
    """The judges that are prompt files, as inputs for `refuse_to_overwrite`."""
    return [("the prompt file of a judge", judge) for judge in judges if judge not in names()]


def lines_of(paths: Iterable[str]) -> Iterator[str]:
    """The lines of several files of batch results; only a line feed ends a line."""
    for path in paths:
        with Path(path).open(encoding="utf-8", errors="replace", newline="\n") as lines:
            yield from lines


def _is_same_file(one: os.stat_result | None, other: os.stat_result | None) -> bool:
    """Whether both are the same regular file. A terminal or /dev/null can be input and output at once."""
    if one is None or other is None or not stat.S_ISREG(one.st_mode):
        return False
    return os.path.samestat(one, other)


def _stat_of_input(path: str) -> os.stat_result | None:
    return _stat_of_stream(sys.stdin) if path == STDIO else _stat(path)


def _stat(path: str) -> os.stat_result | None:
    """The file's identity; None if it does not exist or cannot be reached, as opening it will report."""
    with suppress(OSError, ValueError):
        return Path(path).stat()
    return None


def _stat_of_stream(stream: object) -> os.stat_result | None:
    """The identity of the file behind a stream; None for a stream without one."""
    with suppress(AttributeError, OSError, ValueError):
        return os.fstat(stream.fileno())  # type: ignore[attr-defined]
    return None
