"""Collections that are kept on disk: a million labels or verdicts as objects take more than a gigabyte.

Each is a temporary file of SQLite's own: no other process can open it, and it goes with the collection. A
small one never leaves SQLite's cache.
"""

from __future__ import annotations

from array import array
from collections.abc import Generator, Iterable, Iterator, MutableMapping, Sequence
from contextlib import closing, contextmanager
from pickle import HIGHEST_PROTOCOL, dumps, loads
from sqlite3 import Connection, OperationalError, connect
from typing import Any, Generic, TypeVar, overload

ItemT = TypeVar("ItemT")


class StoredMapping(MutableMapping[str, Any]):
    """A mapping on disk, in the order in which its keys were first set."""

    def __init__(self) -> None:
        """Make an empty mapping."""
        self._database = _open_database("CREATE TABLE item (key BLOB PRIMARY KEY, value BLOB)")

    def __getitem__(self, key: str) -> Any:  # noqa: ANN401  whatever was stored
        row = self._database.execute("SELECT value FROM item WHERE key = ?", (_encode(key),)).fetchone()
        if row is None:
            raise KeyError(key)
        return _from_blob(row[0])

    def __setitem__(self, key: str, value: object) -> None:
        statement = "INSERT INTO item VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        with _naming_the_folder():
            self._database.execute(statement, (_encode(key), _to_blob(value)))

    def __delitem__(self, key: str) -> None:
        if not self._database.execute("DELETE FROM item WHERE key = ?", (_encode(key),)).rowcount:
            raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        for (key,) in self._database.execute("SELECT key FROM item ORDER BY rowid"):
            yield _decode(key)

    def __len__(self) -> int:
        (length,) = self._database.execute("SELECT count(*) FROM item").fetchone()
        return int(length)


class StoredList(Sequence[ItemT], Generic[ItemT]):
    """A list on disk."""

    def __init__(self) -> None:
        """Make an empty list."""
        self._database = _open_database("CREATE TABLE item (place INTEGER PRIMARY KEY, value BLOB)")
        self._length = 0

    def append(self, value: ItemT) -> None:
        """Add a value behind the others."""
        with _naming_the_folder():
            self._database.execute("INSERT INTO item VALUES (?, ?)", (self._length, _to_blob(value)))
        self._length += 1

    @overload
    def __getitem__(self, place: int) -> ItemT: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ItemT]: ...
    def __getitem__(self, place: int | slice) -> ItemT | Sequence[ItemT]:
        places = range(self._length)[place]
        if isinstance(places, range):
            return [self[place] for place in places]
        (blob,) = self._database.execute("SELECT value FROM item WHERE place = ?", (places,)).fetchone()
        value: ItemT = _from_blob(blob)
        return value

    def __iter__(self) -> Iterator[ItemT]:
        for (value,) in self._database.execute("SELECT value FROM item ORDER BY place"):
            yield _from_blob(value)

    def __len__(self) -> int:
        return self._length


def name_ranks(names: Iterable[str]) -> array[int]:
    """The place of each name among the distinct names in alphabetical order, from 0."""
    table = "CREATE TABLE item (place INTEGER PRIMARY KEY, name BLOB)"
    with _naming_the_folder(), closing(_open_database(table)) as database:
        encoded_names = ((_encode(name),) for name in names)
        database.executemany("INSERT INTO item (name) VALUES (?)", encoded_names)
        ranks = database.execute(
            "SELECT rank FROM (SELECT place, dense_rank() OVER (ORDER BY name) - 1 AS rank FROM item) "
            "ORDER BY place"
        )
        return array("q", (rank for (rank,) in ranks))


def _open_database(table: str) -> Connection:
    """Open a temporary database with one table."""
    # Without a name it is a temporary file, which is deleted at once. Nothing is ever rolled back. Labels may
    # be read in one thread and used in another, as by asyncio.to_thread.
    database = connect("", isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("BEGIN")  # one transaction for all: writing takes a fifth less time
    database.execute(table)
    return database


@contextmanager
def _naming_the_folder() -> Generator[None, None, None]:
    """Raise an OSError with a remedy where SQLite cannot write, as on a full disk."""
    try:
        yield
    except OperationalError as error:
        message = f"a temporary file cannot be written ({error}): set TMPDIR to a folder with more space"
        raise OSError(message) from error


def _encode(text: str) -> bytes:
    # In these bytes texts are in the same order as by their characters, and lone surrogates can be stored.
    return text.encode("utf-8", "surrogatepass")


def _decode(encoded: bytes) -> str:
    return encoded.decode("utf-8", "surrogatepass")


def _to_blob(value: object) -> bytes:
    return dumps(value, HIGHEST_PROTOCOL)


def _from_blob(blob: bytes) -> Any:  # noqa: ANN401  whatever was stored
    return loads(blob)  # noqa: S301  nobody else can write to the file
