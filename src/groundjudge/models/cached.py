"""Replies kept in a file: what was asked before, in the very same words, costs nothing."""

from __future__ import annotations

import json
import logging
import sqlite3
import threading
import time
import weakref
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from groundjudge.errors import ModelError, ReplyError
from groundjudge.models.lookup import ModelLike, as_model
from groundjudge.reply import Reply
from groundjudge.rubric import Request
from groundjudge.verdict import Usage

LAYOUT = 1
"""Goes into the keys: raise it when their meaning changes."""

PATIENCE = 5.0
"""Seconds to wait for another process that is writing."""

FIND = "SELECT reply FROM replies WHERE key = ?"
KEEP = "INSERT OR REPLACE INTO replies VALUES (?, ?)"
TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID"

log = logging.getLogger(__name__)


class CachedModel:
    """A model that asks another one, and keeps its replies in an SQLite file.

    A reply is kept if the judge that asked can read it, as the raw text; it is read anew each time, so a
    better reader needs no new call. Errors, refusals and what cannot be read are not kept. A reply from
    the file is `cached` and has a usage of 0.

    A reply is found again by the messages, the endpoint, the model's name, all parameters and `repeat`. Any
    number of threads and processes may use the file at once. If it cannot be written the model is asked
    all the same, with a warning in the log. A process that was forked needs a CachedModel of its own.

    Args:
        model: the model to ask, or what can be given as one.
        path: the file, made if it is not there; its folder must be.
        repeat: which one of several replies to the same request is meant, from 0: for votes.

    Raises:
        ModelError: `bad_cache`, if the file cannot be opened or is something else; as for `as_model`.
    """

    def __init__(self, model: ModelLike, path: str | Path, *, repeat: int = 0) -> None:
        self.model = as_model(model)
        self.path = Path(path)
        self.repeat = repeat
        self._lock = threading.Lock()
        try:
            self._file = _open(self.path)
        except sqlite3.Error as error:
            raise ModelError("bad_cache", f"{path} cannot be used as a cache: {error}", str(path)) from error
        weakref.finalize(self, self._file.close)

    @property
    def name(self) -> str:
        """The model's own name."""
        return self.model.name

    def complete(self, request: Request) -> Reply:
        """Answer from the file, or ask the model."""
        key = self._key(request)
        return self._found(key, request) or self._kept(key, request, self.model.complete(request))

    async def acomplete(self, request: Request) -> Reply:
        """Answer from the file, or ask the model, without blocking the event loop."""
        key = self._key(request)
        return self._found(key, request) or self._kept(key, request, await self.model.acomplete(request))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _key(self, request: Request) -> str:
        asked = [
            LAYOUT,
            getattr(self.model, "endpoint", type(self.model).__qualname__),
            self.model.name,
            [dict(message) for message in request.messages],
            dict(request.parameters),
            self.repeat,
        ]
        return sha256(json.dumps(asked, sort_keys=True, default=repr).encode()).hexdigest()

    def _found(self, key: str, request: Request) -> Reply | None:
        """The reply in the file, if there is one that can be read."""
        row = self._with_the_file(FIND, key)
        reply = _reply(row[0]) if row else None
        if reply is None:
            return None
        outcome = request.rubric.outcome(reply, request.case)
        if isinstance(outcome.found, ReplyError):
            return None
        return replace(reply, usage=Usage(), cached=True, outcome=outcome)

    def _kept(self, key: str, request: Request, reply: Reply) -> Reply:
        """The reply, which is in the file before anybody gets it."""
        outcome = request.rubric.outcome(reply, request.case)
        if not isinstance(outcome.found, ReplyError):
            self._with_the_file(KEEP, key, _text(reply))
        return replace(reply, outcome=outcome)

    def _with_the_file(self, statement: str, *values: str) -> tuple[object] | None:
        """What a statement finds; nothing where the file is of no use."""
        try:
            with self._lock:
                found: tuple[object] | None = self._file.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            log.warning("the cache %s cannot be used: %s", self.path, error)
            return None
        else:
            return found


def _open(path: Path) -> sqlite3.Connection:
    end = time.monotonic() + PATIENCE
    while True:
        file = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        try:
            # Readers and a writer side by side. A killed process loses nothing that was committed.
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = NORMAL")
            file.execute(TABLE)
        except sqlite3.Error as error:
            file.close()
            # Who changes the mode waits for nobody, so those who make the file together must try again.
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return file


def _text(reply: Reply) -> str:
    """A reply as JSON."""
    fields: dict[str, Any] = {
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "model": reply.model,
        "refusal": reply.refusal,
        "usage": reply.usage.model_dump() if reply.usage else None,
    }
    return json.dumps(fields, ensure_ascii=False)


def _reply(text: object) -> Reply | None:
    """The reply that JSON holds, but for its usage; None if it holds none."""
    try:
        match json.loads(str(text)):
            case {
                "text": str(said),
                "finish_reason": str() | None as reason,
                "model": str() | None as model,
                "refusal": str() | None as refusal,
            }:
                return Reply(said, reason, None, model, refusal)
            case _:
                return None
    except (ValueError, RecursionError):
        return None
