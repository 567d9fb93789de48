"""The state of a submitted run: what was asked in which batch, and what was answered.

An SQLite file, because each step must be on disk before the next one begins: a process can be killed at any
point, and the next one goes on from there without asking anything twice.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from groundjudge.errors import GroundjudgeError

StepName: TypeAlias = Literal["planned", "uploaded", "creating", "created", "collected"]
"""How far a part is. "creating" is written before the provider is asked: only a part with it can have a batch
that is not written down."""

TABLES = """
CREATE TABLE IF NOT EXISTS run (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS parts (
    number INTEGER PRIMARY KEY, model TEXT NOT NULL, step TEXT NOT NULL, since REAL NOT NULL,
    n_requests INTEGER NOT NULL, n_bytes INTEGER NOT NULL,
    upload TEXT NOT NULL, batch TEXT NOT NULL, status TEXT NOT NULL, n_done INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS lines (part INTEGER NOT NULL, line TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS lines_of_part ON lines (part);
CREATE TABLE IF NOT EXISTS asked (
    custom_id TEXT PRIMARY KEY, part INTEGER NOT NULL, round INTEGER NOT NULL, times INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS answers (
    number INTEGER PRIMARY KEY, custom_id TEXT NOT NULL UNIQUE, model TEXT NOT NULL, line TEXT NOT NULL,
    is_reply INTEGER NOT NULL
);
"""
ASK = """
INSERT INTO asked VALUES (?, ?, ?, 1)
ON CONFLICT (custom_id) DO UPDATE SET part = excluded.part, round = excluded.round, times = times + 1
WHERE round != excluded.round
"""
ANSWER = """
INSERT INTO answers (custom_id, model, line, is_reply) VALUES (?, ?, ?, ?)
ON CONFLICT (custom_id) DO UPDATE SET line = excluded.line, is_reply = excluded.is_reply WHERE is_reply = 0
"""
PART = "number, model, step, since, n_requests, n_bytes, upload, batch, status, n_done"


class StateError(GroundjudgeError):
    """The state of a submitted run cannot be used. Codes: no_state, other_run, in_use."""


@dataclass(frozen=True)
class PartOfRun:
    """A part of the requests, which becomes one batch.

    Attributes:
        number: from 1.
        model: the name of the model that is asked.
        step: how far it is.
        since: when that step began, in seconds since 1970.
        n_requests: how many requests it has.
        n_bytes: how long their lines are together, line breaks included.
        upload: the provider's name for the uploaded lines; "" before that.
        batch: the provider's name for the batch; "" before it is created.
        status: the batch's status, in the provider's words.
        n_done: how many of the requests have been answered or have failed.
    """

    number: int
    model: str
    step: StepName
    since: float
    n_requests: int
    n_bytes: int
    upload: str
    batch: str
    status: str
    n_done: int


class State:
    """The state of a submitted run in a file. Each change is on disk when its method returns.

    Args:
        path: the file, or "" for a temporary one that does not stay.

    Raises:
        StateError: `no_state`: the file holds something else.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        self._file = sqlite3.connect(self.path, isolation_level=None, timeout=30, check_same_thread=False)
        try:
            self._file.executescript(TABLES)
            self._file.execute("SELECT value FROM run")
            self._file.execute(f"SELECT {PART} FROM parts")  # noqa: S608  a constant
        except sqlite3.DatabaseError as error:
            self._file.close()
            message = f"{self.path} is not the state of a submitted run ({error}): choose another --out"
            raise StateError("no_state", message, self.path) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @contextmanager
    def change(self) -> Generator[None, None, None]:
        """Make several changes at once, or none of them."""
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._file.execute("ROLLBACK")
            raise
        self._file.execute("COMMIT")

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the run was submitted with; empty before that."""
        rows = self._file.execute("SELECT name, value FROM run").fetchall()
        return {name: json.loads(value) for name, value in rows}

    def set(self, settings: Mapping[str, Any]) -> None:
        """Keep what the run is submitted with."""
        rows = [(name, json.dumps(value)) for name, value in settings.items()]
        self._file.executemany("INSERT OR REPLACE INTO run VALUES (?, ?)", rows)

    def parts(self) -> list[PartOfRun]:
        """All parts, in order."""
        rows = self._file.execute(f"SELECT {PART} FROM parts ORDER BY number")  # noqa: S608  a constant
        return [PartOfRun(*row) for row in rows]

    def part(self, number: int) -> PartOfRun:
        """The part with that number, as it is now."""
        return self.parts()[number - 1]

    def add_part(self, model: str) -> int:
        """Add an empty part for requests to a model; returns its number."""
        values = (model, "planned", time.time(), 0, 0, "", "", "", 0)
        statement = "INSERT INTO parts VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        return self._file.execute(statement, values).lastrowid or 0

    def fill_part(self, number: int, n_requests: int, n_bytes: int) -> None:
        """Set how large a part is."""
        self._file.execute(
            "UPDATE parts SET n_requests = ?, n_bytes = ? WHERE number = ?", (n_requests, n_bytes, number)
        )

    def move(self, part: PartOfRun, step: StepName, *, upload: str = "", batch: str = "") -> PartOfRun:
        """Write down that a part has come to a step; what is "" stays as it was."""
        self._file.execute(
            "UPDATE parts SET step = ?, since = ?, upload = ?, batch = ? WHERE number = ?",
            (step, time.time(), upload or part.upload, batch or part.batch, part.number),
        )
        if step == "created":  # the provider has the lines now
            self._file.execute("DELETE FROM lines WHERE part = ?", (part.number,))
        return self.part(part.number)

    def note(self, part: PartOfRun, status: str, n_done: int) -> None:
        """Keep the provider's last word about a part's batch."""
        self._file.execute(
            "UPDATE parts SET status = ?, n_done = ? WHERE number = ?", (status, n_done, part.number)
        )

    def ask(self, custom_id: str, part: int, round_number: int) -> None:
        """Put a request into a part; no request is in two parts of one round."""
        self._file.execute(ASK, (custom_id, part, round_number))

    def keep_line(self, part: int, line: str) -> None:
        """Keep the line of a request until its batch is created."""
        self._file.execute("INSERT INTO lines VALUES (?, ?)", (part, line))

    def times_asked(self, custom_id: str) -> int:
        """In how many rounds a request was."""
        found = self._file.execute("SELECT times FROM asked WHERE custom_id = ?", (custom_id,)).fetchone()
        return found[0] if found else 0

    def part_of(self, custom_id: str) -> PartOfRun | None:
        """The part in which a request was last asked; None if it was not."""
        columns = ", ".join(f"parts.{name}" for name in PART.split(", "))
        statement = (
            f"SELECT {columns} FROM asked JOIN parts ON parts.number = asked.part "  # noqa: S608  constants
            "WHERE custom_id = ?"
        )
        found = self._file.execute(statement, (custom_id,)).fetchone()
        return PartOfRun(*found) if found else None

    def is_in_round(self, custom_id: str, round_number: int) -> bool:
        """Whether a request is in a part of that round."""
        found = self._file.execute("SELECT round FROM asked WHERE custom_id = ?", (custom_id,)).fetchone()
        return found is not None and found[0] == round_number

    @contextmanager
    def lines(self, part: PartOfRun) -> Generator[Path, None, None]:
        """A file with the lines of a part, which is removed afterwards."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "requests.jsonl"
            rows: Iterable[tuple[str]] = self._file.execute(
                "SELECT line FROM lines WHERE part = ? ORDER BY rowid", (part.number,)
            )
            with path.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for (line,) in rows)
            yield path

    def answer(self, custom_id: str, model: str, line: str, *, is_reply: bool) -> None:
        """Keep the line of a result. A reply replaces an error, and nothing replaces a reply."""
        self._file.execute(ANSWER, (custom_id, model, line, is_reply))

    def answered(self, custom_id: str) -> tuple[str, str] | None:
        """The model and the line that answered a request; None if there is no answer."""
        found: tuple[str, str] | None = self._file.execute(
            "SELECT model, line FROM answers WHERE custom_id = ?", (custom_id,)
        ).fetchone()
        return found

    def answers(self) -> Iterator[tuple[str, str]]:
        """The model and the line of every answer."""
        yield from self._file.execute("SELECT model, line FROM answers ORDER BY number")
