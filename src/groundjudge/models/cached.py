"""A cache of replies in a file: repeating a request costs nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from groundjudge.errors import ModelError, ReplyError
from groundjudge.models.lookup import ModelLike, as_model
from groundjudge.replies.reply import Reply, Token
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage

LAYOUT = 1
"""Part of every key: increase it when the meaning of keys changes."""

PATIENCE = 5.0
"""Seconds to wait for another process that is writing to the file."""

FIND = "SELECT reply FROM replies WHERE key = ?"
STORE = "INSERT OR REPLACE INTO replies VALUES (?, ?)"
TABLE = "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID"

log = logging.getLogger(__name__)


class CachedModel:
    """A model that caches the replies of another model in an SQLite file.

    Only replies that the requesting judge can read are stored, as raw text. They are read again on each
    use, so an improved reply format needs no new calls. Errors, refusals and unreadable replies are not
    stored. A reply from the file has `cached=True` and a usage of 0.

    The cache key consists of the messages, the endpoint, the model's name, all parameters, `repeat` and the
    request's own `repeat`.
    Any number of threads and processes can share the file. If it cannot be read or written, the model is
    asked and a warning is logged. A forked process needs its own CachedModel; one that is pickled opens the
    file again, by its absolute path.

    While a request is in flight in an event loop, equal ones wait for its reply instead of being sent.

    Args:
        model: the model to ask, or anything that `as_model` accepts.
        path: the file; it is created if it does not exist, its folder is not.
        repeat: the index, from 0, of one of several replies to the same request, for example for votes.

    Raises:
        ModelError: `bad_cache` if the file cannot be opened or is not a cache; otherwise as for `as_model`.
    """

    def __init__(self, model: ModelLike, path: str | Path, *, repeat: int = 0) -> None:
        self.model = as_model(model)
        self.path = Path(path)
        self.repeat = repeat
        self._lock = threading.Lock()
        self._in_flight: dict[tuple[int, str], asyncio.Event] = {}
        try:
            self._file = _open(self.path)
        except sqlite3.Error as error:
            raise ModelError("bad_cache", f"{path} cannot be used as a cache: {error}", str(path)) from error
        weakref.finalize(self, self._file.close)

    @property
    def name(self) -> str:
        """The name of the underlying model."""
        return self.model.name

    def complete(self, request: Request) -> Reply:
        """Answer from the file, or ask the model.

        Raises:
            ModelError: as for the underlying model.
        """
        key = self._key(request)
        return self._find(key, request) or self._store(key, request, self.model.complete(request))

    async def acomplete(self, request: Request) -> Reply:
        """Ask without blocking the event loop while the model answers; see `complete`."""
        key = self._key(request)
        async with self._after_equal_one(key):
            return self._find(key, request) or self._store(key, request, await self.model.acomplete(request))

    def close(self) -> None:
        """Close the file. After that every request goes to the model, with a warning in the log."""
        self._file.close()

    def __reduce__(self) -> tuple[Callable[[], CachedModel], tuple[()]]:
        """Pickle the model and the path, not the open file."""
        return partial(CachedModel, self.model, self.path.absolute(), repeat=self.repeat), ()

    @asynccontextmanager
    async def _after_equal_one(self, key: str) -> AsyncGenerator[None, None]:
        """Wait for an equal request in flight, once: if its reply was not stored, all others are sent."""
        place = id(asyncio.get_running_loop()), key
        first = self._in_flight.get(place)
        if first is not None:
            await first.wait()
            yield
            return
        done = self._in_flight[place] = asyncio.Event()
        try:
            yield
        finally:
            del self._in_flight[place]
            done.set()

    def _key(self, request: Request) -> str:
        parts = [
            LAYOUT,
            getattr(self.model, "endpoint", type(self.model).__qualname__),
            self.model.name,
            [dict(message) for message in request.messages],
            dict(request.parameters),
            [self.repeat, request.repeat] if request.repeat else self.repeat,
        ]
        return sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()

    def _find(self, key: str, request: Request) -> Reply | None:
        """The reply in the file, if there is one and the rubric can read it."""
        row = self._execute(FIND, key)
        reply = _reply(row[0]) if row else None
        if reply is None:
            return None
        outcome = request.rubric.outcome(reply, request.case)
        if isinstance(outcome.found, ReplyError):
            return None
        return replace(reply, usage=Usage(), cached=True, outcome=outcome)

    def _store(self, key: str, request: Request, reply: Reply) -> Reply:
        """The reply, after it was stored if it is readable."""
        outcome = request.rubric.outcome(reply, request.case)
        if not isinstance(outcome.found, ReplyError):
            self._execute(STORE, key, _text(reply))
        return replace(reply, outcome=outcome)

    def _execute(self, statement: str, *values: str) -> tuple[object] | None:
        """The first row that a statement returns; None if there is none or the file cannot be used."""
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
            # Readers do not block the writer. A killed process loses nothing that was committed.
            file.execute("PRAGMA journal_mode = WAL")
            file.execute("PRAGMA synchronous = NORMAL")
            file.execute(TABLE)
        except sqlite3.Error as error:
            file.close()
            # Changing the mode ignores the timeout, so processes that create the file together must retry.
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
    if reply.tokens:
        fields["tokens"] = [
            [token.text.hex(), [[text.hex(), share] for text, share in token.candidates]]
            for token in reply.tokens
        ]
    return json.dumps(fields, ensure_ascii=False)


def _reply(text: object) -> Reply | None:
    """The reply in a JSON text, without its usage; None if the text is not a reply."""
    try:
        match found := json.loads(str(text)):
            case {
                "text": str(content),
                "finish_reason": str() | None as reason,
                "model": str() | None as model,
                "refusal": str() | None as refusal,
            }:
                return Reply(content, reason, None, model, refusal, tokens=_tokens(found.get("tokens")))
            case _:
                return None
    except (ValueError, TypeError, RecursionError):
        return None


def _tokens(listed: list[tuple[str, list[tuple[str, float]]]] | None) -> tuple[Token, ...] | None:
    if listed is None:
        return None
    return tuple(
        Token(bytes.fromhex(text), tuple((bytes.fromhex(each), float(share)) for each, share in candidates))
        for text, candidates in listed
    )
