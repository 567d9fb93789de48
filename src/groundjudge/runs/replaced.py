"""Files that are replaced as a whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def named(path: str | Path) -> Generator[None, None, None]:
    """Name a file in the error that writing to it raises: that of a full disk names none.

    Raises:
        OSError: what was raised.
    """
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


@contextmanager
def replaced(path: Path) -> Generator[Path, None, None]:
    """Yield a path beside a file, to be written to; it takes the file's place at the end.

    The new content is on disk before it does. After an error the file is as it was.

    Raises:
        OSError: the folder cannot be written to.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        with named(part):
            yield part
            sync(part)
            part.replace(path)
            if hasattr(os, "O_DIRECTORY"):  # Windows has none, and cannot open folders
                sync(path.parent)
    finally:
        part.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk."""
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
