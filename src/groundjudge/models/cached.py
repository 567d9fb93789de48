"""Replies that serve more than one request, from a file."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
import threading
import warnings
import weakref
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import cast

from pydantic import BaseModel, ValidationError

from groundjudge.files import private_opener
from groundjudge.models.failure import model_error
from groundjudge.models.lookup import ModelLike, as_model
from groundjudge.replies.reply import Reply, Token
from groundjudge.rubric.model import identity_of
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage

PATIENCE = 5.0
"""Seconds to wait for another process that is writing to the file."""

TABLE = "replies (key TEXT PRIMARY KEY, reply TEXT NOT NULL) WITHOUT ROWID"

IS_CACHE = """SELECT (SELECT count(*) FROM sqlite_master WHERE sql IS NOT ?) = 0
AND (SELECT application_id FROM pragma_application_id) = 0
AND (SELECT user_version FROM pragma_user_version) = 0"""
"""Whether a database has nothing but the one table of a cache, or nothing at all."""

log = logging.getLogger("groundjudge")


class CachedModel:
    """A model that caches the replies of another model in an SQLite file.

    A reply is stored, as raw text, once the judge that asked has read it. It is read again on each use, so an
    improved reply format needs no new calls, and a reply that a judge cannot read is requested again. Errors,
    refusals and unreadable replies are not stored. A reply from the file has `cached=True` and a usage of 0.

    The cache key consists of everything that is sent, the model's identity (endpoint, name and settings,
    without secrets), all parameters, `repeat` and the request's own `repeat`. A model that cannot be
    distinguished from others, such as a function without an attribute `identity`, is asked every time, after
    a RuntimeWarning.
    Any number of threads and processes can share the file. If it cannot be read or written, the model is
    asked and a warning is logged. A forked process needs its own CachedModel; one that is pickled opens the
    file again, by its absolute path.

    While a request is in flight in an event loop, equal ones wait for its reply instead of being sent.

    Args:
        model: the model to ask, or anything that `load` accepts as one.
        path: the file; it is created if it does not exist, but its folder is not.
        repeat: the index, from 0, of one of several replies to the same request, for example for votes.

    Raises:
        ModelError: `bad_cache` if the file cannot be opened or is not a cache; otherwise as for `load`.
    """

    def __init__(self, model: ModelLike, path: str | Path, *, repeat: int = 0) -> None:
        self.model = as_model(model)
        self.name = self.model.name
        self.path = Path(path)
        self.repeat = repeat
        self._lock = threading.Lock()
        self._in_flight: dict[tuple[int, str], asyncio.Event] = {}
        if not self.identity:
            message = (
                f"replies of {self.name} are not cached, because nothing distinguishes it from other models "
                "with that name: give it an attribute `identity`, a string that changes when its replies may"
            )
            warnings.warn(message, RuntimeWarning, stacklevel=2)
        try:
            self._file = _open_cache(self.path.resolve())
        except (sqlite3.Error, OSError) as error:
            raise model_error("bad_cache", f"{path} cannot be used as a cache: {error}", str(path)) from error
        weakref.finalize(self, self._file.close)

    @property
    def identity(self) -> str:
        """The identity of the underlying model."""
        return identity_of(self.model)

    async def acomplete(self, request: Request) -> Reply:
        """Answer from the file, or ask the model.

        Raises:
            ModelError: as for the underlying model.
        """
        identity = self.identity
        if not identity:
            return await self.model.acomplete(request)
        key = self._key(request, identity)
        call_id = id(asyncio.get_running_loop()), key
        if call_id in self._in_flight:
            # Once: if the first one's reply could not be read, all others are sent.
            await self._in_flight[call_id].wait()
            return await self._look_up_or_ask(key, request)
        end_of_call = asyncio.Event()
        self._in_flight[call_id] = end_of_call
        try:
            return await self._look_up_or_ask(key, request)
        finally:
            # Whoever waits continues when this task waits for something else, which is after its judge has
            # read the reply and stored it.
            del self._in_flight[call_id]
            end_of_call.set()

    def close(self) -> None:
        """Close the file. After that every request goes to the model, with a warning in the log."""
        self._file.close()

    def __reduce__(self) -> tuple[Callable[[], CachedModel], tuple[()]]:
        """Pickle the model and the path, not the open file."""
        return partial(CachedModel, self.model, self.path.absolute(), repeat=self.repeat), ()

    async def _look_up_or_ask(self, key: str, request: Request) -> Reply:
        """Return the stored reply or, without one, the model's, which is not stored yet.

        `Dialogue.send` calls its `keep`, which stores it, once the judge could read it.
        """
        if not request.fresh:
            stored = self._look_up(key)
            if stored is not None:
                return stored
        reply = await self.model.acomplete(request)
        return replace(reply, keep=partial(self._store, key, reply))

    def _look_up(self, key: str) -> Reply | None:
        """Return the reply that is stored under a key; None if there is none."""
        row = self._execute("SELECT reply FROM replies WHERE key = ?", key)
        if row is None:
            return None
        try:
            stored = StoredReply.model_validate_json(row[0])
        except ValidationError:  # the file may contain something else
            return None
        return Reply(**dict(stored), usage=Usage(), cached=True)

    def _store(self, key: str, reply: Reply) -> None:
        """Store a reply under a key, in place of an older one."""
        text = StoredReply.model_validate(reply, from_attributes=True).model_dump_json()
        self._execute("INSERT OR REPLACE INTO replies VALUES (?, ?)", key, text)

    def _key(self, request: Request, identity: str) -> str:
        """Return a hash of everything that the reply to a request depends on."""
        version = 3  # increase it when the meaning of keys changes
        messages = [dict(message) for message in request.messages]
        repeats = [self.repeat, request.repeat]
        parts: list[object] = [version, identity, messages, dict(request.parameters), repeats]
        if request.payload is not None:
            parts.append(request.payload.key)
        return sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()

    def _execute(self, statement: str, *values: str) -> tuple[str | bytes] | None:
        """Return the first row of a statement's result; None if there is none or the file cannot be used."""
        try:
            with self._lock:
                return cast("tuple[str | bytes] | None", self._file.execute(statement, values).fetchone())
        except sqlite3.Error as error:
            log.warning("the cache %s cannot be used: %s", self.path, error)
            return None


def _open_cache(path: Path) -> sqlite3.Connection:
    """Open the file of a cache, or create it.

    Raises:
        sqlite3.Error, OSError: it cannot be opened, or belongs to another application.
    """
    with suppress(FileExistsError):  # SQLite creates the files next to it with the same mode
        open(path, "xb", opener=private_opener).close()
    _check_is_cache(path)
    file = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        # Readers do not block the writer. A killed process loses nothing that was committed. Changing the
        # mode does not wait: it fails if another process has the file, and then that one changes it.
        with suppress(sqlite3.OperationalError):
            file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = NORMAL")
        file.execute(f"CREATE TABLE IF NOT EXISTS {TABLE}")
    except BaseException:
        file.close()
        raise
    return file


def _check_is_cache(path: Path) -> None:
    """Check a file before it is opened as a cache, without writing to it or next to it.

    Raises:
        sqlite3.Error: it belongs to another application.
    """
    if path.with_name(f"{path.name}-wal").exists():
        mode = "mode=ro"  # it may be open elsewhere, with a part of it only in the log
    else:
        mode = "immutable=1"  # SQLite would create files next to it
    with closing(sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=PATIENCE)) as file:
        (is_cache,) = file.execute(IS_CACHE, [f"CREATE TABLE {TABLE}"]).fetchone()
    if not is_cache or path.stat().st_size == 1:  # which is nothing to SQLite
        message = "it contains something else"
        raise sqlite3.DatabaseError(message)


class StoredReply(BaseModel, ser_json_bytes="base64", val_json_bytes="base64", strict=True):
    """A reply as it is stored in the file, without its cost."""

    text: str
    finish_reason: str | None
    model: str | None
    refusal: str | None
    tokens: tuple[Token, ...] | None
    warnings: tuple[str, ...] = ()
    limits: str = ""
