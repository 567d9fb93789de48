"""Files that are written: for their owner alone, by one process at a time, as a whole or not at all.

They hold prompts and replies, which may be confidential. Whatever the library writes is opened with
`private_opener` or by `replace_file`, which is as strict. What is not a regular file, as /dev/null or a
pipe, is only written to.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import BinaryIO


def private_opener(path: str, flags: int) -> int:
    """An opener, as `open` takes one: a new file is for its owner alone, another one keeps its mode."""
    return os.open(path, flags, 0o600)


def is_nonempty_file(path: str | Path) -> bool:
    """Whether it is a regular file that is not empty."""
    return Path(path).is_file() and Path(path).stat().st_size > 0


@contextmanager
def name_in_errors(path: str | Path) -> Generator[None, None, None]:
    """Name a file in the error that writing to it raises: that of a full disk names none.

    Raises:
        OSError: what was raised.
    """
    try:
        yield
    except OSError as error:
        if not error.filename:
            error.filename = str(path)
        raise


@contextmanager
def lock_file(path: Path, in_use: Exception) -> Generator[None, None, None]:
    """Keep a file for the caller alone, under all its names but hard links, whether it is there yet or not.

    What is locked is a hidden file beside it, `.NAME.lock`, which is removed at the end. A lock on the file
    itself would be lost when another file takes its place. A killed process leaves the hidden file, unlocked.

    Args:
        path: the file.
        in_use: what is raised if another caller has it.

    Raises:
        OSError: its folder cannot be written to.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  needed where a command writes

    if _is_special(path):
        yield
        return
    path = path.resolve()
    lock_path = path.with_name(f".{path.name}.lock")
    lock = FileLock(lock_path, blocking=False, mode=0o600, thread_local=False)
    try:
        with _name_folder_in_errors(path.parent):
            try:
                lock.acquire()
            except Timeout:  # what it opened may be the file that another caller was just removing
                lock.acquire()
    except Timeout:
        raise in_use from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows removes no open file; there the lock does it
            lock_path.unlink()  # before the release: whoever waits for it must not have it
        lock.release()


@contextmanager
def replace_file(path: Path) -> Generator[BinaryIO, None, None]:
    """Open a new file that takes the place of another one at the end, with its mode, once it is on disk.

    After an error the other one is as it was. A link to it stays a link.

    Raises:
        OSError: the folder cannot be written to.
    """
    from tempfile import mkstemp  # noqa: PLC0415  as above

    if _is_special(path):
        with name_in_errors(path), path.open("wb") as file:
            yield file
        return
    path = path.resolve()
    with _name_folder_in_errors(path.parent):
        handle, name = mkstemp(".part", f".{path.name}.", path.parent)
    os.close(handle)
    new_path = Path(name)
    try:
        with name_in_errors(path):
            with new_path.open("wb") as file:
                yield file
            sync(new_path)
            with suppress(FileNotFoundError):  # there was no file before
                _copy_access(path, new_path)
            new_path.replace(path)
            if hasattr(os, "O_DIRECTORY"):  # Windows has none, and cannot open folders
                sync(path.parent)
    finally:
        new_path.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    flags = os.O_RDWR  # Windows syncs only what is open for writing
    if path.is_dir():
        flags = os.O_RDONLY
    handle = os.open(path, flags)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _is_special(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _copy_access(path: Path, new_path: Path) -> None:
    """Give the file at a new path the mode of another one, and its owner and group where that is allowed."""
    with suppress(PermissionError, AttributeError):  # Windows has no owners
        os.chown(new_path, path.stat().st_uid, path.stat().st_gid)
    # Last: a new owner clears some bits of the mode.
    new_path.chmod(S_IMODE(path.stat().st_mode))


@contextmanager
def _name_folder_in_errors(folder: Path) -> Generator[None, None, None]:
    """Name the folder, and not a file that nobody knows of, in the error that it cannot be written to."""
    try:
        yield
    except OSError as error:
        if not os.access(folder, os.W_OK):
            error.filename = str(folder)
        raise
