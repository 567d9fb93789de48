"""Rows of a file, one at a time: an unreadable line is an error of its own and affects no other."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, TextIO, TypeAlias, cast

from groundjudge.case import FIELD_NAMED
from groundjudge.errors import CaseError

FileRow: TypeAlias = Mapping[str, Any] | CaseError
"""What a case can be built from, or the error in place of a line that could not be read."""

STDIO = "-"
"""Stdin for rows, stdout for verdicts."""

LIST_OF: Mapping[str, tuple[type, ...]] = MappingProxyType(
    {
        "query": (dict,),
        "response": (dict,),
        "conversation": (dict,),
        "context": (str, dict),
        "answers": (str,),
        "judges": (str,),
    }
)
"""The columns whose cells may hold a JSON list, each with the types of the list's items."""

EMPTY_IS_GIVEN = frozenset({"context", "response"})
"""The columns in which an empty cell is an empty value, not a missing one."""

DELIMITERS = ",;\t"


def read_rows(path: str | Path) -> Generator[FileRow, None, None]:
    """Read the rows of a file: CSV where the name ends in .csv, JSON Lines otherwise; "-" is stdin.

    JSON Lines: one JSON object per line, in UTF-8; blank lines are skipped.

    CSV, in UTF-8: a header, and as delimiter the comma, semicolon or tab, whichever is most frequent in
    the first line. An empty cell is an empty value for the context and the response, and a missing one
    for any other column; a row of empty cells is skipped. A cell that holds a JSON list is read as that
    list where the column allows one: texts or objects for the context, texts for answers and judges,
    messages (objects) for query, response and conversation.

    Yields:
        A mapping per row, or a CaseError with the code `unreadable_row` and the line's number, from 1.

    Raises:
        OSError: the file cannot be opened or read.
    """
    if str(path) == STDIO:
        yield from _json_rows(sys.stdin.buffer)
    elif _is_csv(path):
        with _text_of(path) as text:
            yield from _csv_rows(text)
    else:
        with Path(path).open("rb") as lines:
            yield from _json_rows(lines)


def count_rows(path: str | Path) -> int | None:
    """Count the rows of a file quickly, broken ones included. None for what can be read only once."""
    if not Path(path).is_file():
        return None
    if _is_csv(path):
        with _text_of(path) as text:
            return max(0, sum(isinstance(found, csv.Error) or any(found) for _, found in _records(text)) - 1)
    with Path(path).open("rb") as lines:
        return sum(not line.isspace() for line in lines)


def _is_csv(path: str | Path) -> bool:
    return Path(path).suffix.casefold() == ".csv"


def _text_of(path: str | Path) -> TextIO:
    """Open a file as text. Bytes that are not UTF-8 become surrogates, to be reported row by row."""
    return Path(path).open(encoding="utf-8-sig", errors="surrogateescape", newline="")


def _json_rows(lines: Iterable[bytes]) -> Iterator[FileRow]:
    for number, line in enumerate(lines, 1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip()
            row = json.loads(text) if text else None
        except UnicodeDecodeError as error:
            yield _unreadable(number, f"not UTF-8 ({error.reason} at byte {error.start + 1})")
        except json.JSONDecodeError as error:
            yield _unreadable(number, f"not JSON ({error.msg} at column {error.colno})")
        except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
            yield _unreadable(number, f"not readable as JSON ({error})")
        else:
            if isinstance(row, dict):
                yield cast("dict[str, Any]", row)
            elif text:
                yield _unreadable(number, f"a row must be a JSON object, not {type(row).__name__}")


def _csv_rows(text: TextIO) -> Iterator[FileRow]:
    records = ((line, found) for line, found in _records(text) if found)
    line, header = next(records, (1, [""]))
    fault = _header_fault(header)
    if isinstance(header, csv.Error) or fault:
        yield _unreadable(line, fault)
        return
    names = [name.strip() for name in header]
    for line, found in records:
        if isinstance(found, csv.Error):
            yield _unreadable(line, f"not CSV ({found})")
        elif len(found) > len(names):
            yield _unreadable(line, f"{len(found)} cells, but the header has {len(names)}")
        elif not _is_utf8(found):
            yield _unreadable(line, "not UTF-8")
        elif any(cell.strip() for cell in found):
            yield dict(_cells(zip(names, found, strict=False)))


def _header_fault(header: list[str] | csv.Error) -> str:
    if isinstance(header, csv.Error):
        return f"not CSV ({header})"
    if not _is_utf8(header):
        return "the header is not UTF-8"
    counted = Counter(name.strip() for name in header)
    twice = [name for name, count in counted.items() if name and count > 1]
    return f"the column {twice[0]!r} appears twice" if twice else ""


def _records(text: TextIO) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """The records of a CSV file, each with the line on which it begins."""
    first = text.readline()
    delimiter = max(DELIMITERS, key=first.count)
    # Strict: otherwise an unclosed quote silently swallows the rest of the file.
    reader = csv.reader(chain([first], text), delimiter=delimiter, strict=True)
    while True:
        line = reader.line_num + 1
        try:
            yield line, next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, error


def _cells(row: Iterable[tuple[str, str]]) -> Iterator[tuple[str, object]]:
    """The cells that have a value, each read as its column demands."""
    for name, cell in row:
        field = FIELD_NAMED.get(name, name)
        if name and (cell.strip() or field in EMPTY_IS_GIVEN):
            yield name, _listed(cell, LIST_OF.get(field, ()))


def _listed(cell: str, kinds: tuple[type, ...]) -> object:
    """The JSON list in a cell if its items have these types; otherwise the cell."""
    if not kinds or not cell.lstrip().startswith("["):
        return cell
    try:
        listed = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return listed if all(isinstance(item, kinds) for item in listed) else cell


def _is_utf8(cells: Iterable[str]) -> bool:
    try:
        "".join(cells).encode()
    except UnicodeEncodeError:
        return False
    return True


def _unreadable(line: int, why: str) -> CaseError:
    return CaseError("unreadable_row", f"line {line}: {why}", f"line {line}")
