"""A mapping in a temporary file: a run can have millions of requests, and memory must not grow with them."""

from __future__ import annotations

import sqlite3
from typing import Any

from pydantic_core import from_json, to_json


class DiskDict:
    """What is known about each request, by its name. Nothing of it stays when it is closed."""

    def __init__(self) -> None:
        # A database without a name is a temporary file. Verdicts are made in the thread of a run.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._file.execute("CREATE TABLE entries (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID")

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401  what was set
        """The value of a name, as it comes back from JSON."""
        found = self._file.execute("SELECT value FROM entries WHERE name = ?", (name,)).fetchone()
        return from_json(found[0]) if found else default

    def __setitem__(self, name: str, value: object) -> None:
        self._file.execute("INSERT OR REPLACE INTO entries VALUES (?, ?)", (name, to_json(value)))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
