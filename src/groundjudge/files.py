"""Writing files: readable only by their owner, one process at a time, completely or not at all.

They contain prompts and replies, which may be confidential. Every file that the library writes is opened
with `private_opener` or by `replace_file`, which is as strict. Anything that is not a regular file, such as
/dev/null or a pipe, is only written to.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from stat import S_IMODE
from typing import BinaryIO


def private_opener(path: str, flags: int) -> int:
    """Open a file, as an opener for `open`: only its owner can read a new file; others keep their mode."""
    return os.open(path, flags, 0o600)


def is_nonempty_file(path: str | Path) -> bool:
    """Return whether the path is a regular file that is not empty."""
    return Path(path).is_file() and Path(path).stat().st_size > 0


@contextmanager
def name_in_errors(path: str | Path) -> Generator[None, None, None]:
    """Add a file's name to the error that writing to it raises: a full disk's error names no file.

    Raises:
        OSError: the original error, with the name.
    """
    try:
        yield
    except OSError as error:
        if not error.filename:
            error.filename = str(path)
        raise


@contextmanager
def lock_file(path: Path, in_use: Exception) -> Generator[None, None, None]:
    """Lock a file for the caller alone, under all its names except hard links, whether or not it exists yet.

    The lock is on a hidden file next to it, `.NAME.lock`, which is removed at the end. A lock on the file
    itself would be lost when another file replaces it. A killed process leaves the hidden file, unlocked.

    Args:
        path: the file.
        in_use: the error to raise if another caller has it.

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
            except Timeout:  # the opened file may be one that another caller was just removing
                lock.acquire()
    except Timeout:
        raise in_use from None
    try:
        yield
    finally:
        with suppress(OSError):  # Windows cannot remove an open file; there, the lock removes it
            lock_path.unlink()  # before the release: a waiting caller must not get this file
        lock.release()


@contextmanager
def replace_file(path: Path) -> Generator[BinaryIO, None, None]:
    """Open a new file that replaces another one at the end, keeping its mode, once it is on disk.

    After an error the other file is unchanged. A link to it stays a link.

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
            if hasattr(os, "O_DIRECTORY"):  # Windows does not have it, and cannot open folders
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
    """Give the file at a new path the mode of another one, and its owner and group if permitted."""
    with suppress(PermissionError, AttributeError):  # Windows has no owners
        os.chown(new_path, path.stat().st_uid, path.stat().st_gid)
    # Last: a new owner clears some bits of the mode.
    new_path.chmod(S_IMODE(path.stat().st_mode))


@contextmanager
def _name_folder_in_errors(folder: Path) -> Generator[None, None, None]:
    """Make the error for an unwritable folder name the folder, not a file that the user does not know."""
    try:
        yield
    except OSError as error:
        if not os.access(folder, os.W_OK):
            error.filename = str(folder)
        raise
