"""Rows of a file, one at a time: an unreadable line is an error that does not affect other lines."""

from __future__ import annotations

import asyncio
import codecs
import csv
import gzip
import io
import json
import sys
import zlib
from collections.abc import AsyncIterator, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, TextIO, TypeAlias, cast

from groundjudge.case.case import Case, Document
from groundjudge.case.cells import opened
from groundjudge.case.data import as_plain, is_absent, is_list, is_mapping, unique_keys
from groundjudge.case.fields import ALIASES, RESERVED, SIDES, Fields, find_keys
from groundjudge.case.paths import FieldPaths, until_found, value_at
from groundjudge.case.shapes import is_blank, try_read_field
from groundjudge.errors import CaseError, name_list
from groundjudge.runs.columns import MAX_ROW, field_of_column
from groundjudge.runs.run import Rows, find_duplicate, id_of
from groundjudge.text.patterns import compile_when_used

FileRow: TypeAlias = Mapping[str, Any] | CaseError
"""What a case can be built from, or the error that replaces an unreadable line."""

FileFormat: TypeAlias = Literal["jsonl", "json", "csv", "tsv", "parquet"]

FORMATS: Mapping[str, FileFormat] = MappingProxyType(
    {".json": "json", ".csv": "csv", ".tsv": "tsv", ".parquet": "parquet"}
)
"""The formats by suffix; a file with any other suffix is JSON Lines."""

DELIMITERS: Mapping[FileFormat, str] = MappingProxyType({"csv": ",;\t", "tsv": "\t"})
"""The delimiters that a table can have: the one used is the most frequent in the first line, outside
quotation marks."""

QUOTED = compile_when_used('"[^"]*+"')
"""A cell, or part of one, in which a delimiter is text."""

STDIO = "-"
"""Stdin for rows, stdout for verdicts."""

NOT_UTF8 = compile_when_used("[\ud800-\udfff]")
"""What bytes that are not UTF-8 become when decoded."""

MAX_KEYS = 1000
"""Roughly how many different row keys are remembered: keys may be ids, which differ in each row."""

TOO_LARGE = f"more than {MAX_ROW} characters, the maximum for a row"

MAX_ARRAY = 4 * MAX_ROW
"""Characters of a JSON array, which is read as a whole and needs up to 30 times as much memory."""

MAX_COLUMNS = 10_000
"""Columns of a table: a header of one line may have millions."""

GZIP = ".gz"
"""The suffix of a compressed file, after the suffix of its contents."""

ZIP_MAGIC = b"PK\x03\x04"
"""How a ZIP archive, such as an .xlsx file, begins."""

ABSENT = frozenset({"nan", "NaN", "NaT", "<NA>", "#N/A", "NULL", "null", "None", "undefined"})
"""What exports write for a missing value; with `keep_words` they are words."""


def can_read_again(path: str | Path) -> bool:
    """Return whether the rows can be read more than once: those of a file or a folder, not of a pipe."""
    return Path(path).is_file() or Path(path).is_dir()


def format_of(path: str | Path) -> FileFormat:
    """Return the format of a file by its name, ignoring ".gz"; a folder contains Parquet files."""
    if Path(path).is_dir():
        return "parquet"
    name = Path(path).name.casefold().removesuffix(GZIP)
    return FORMATS.get(Path(name).suffix, "jsonl")


@dataclass
class CaseFile:
    """The rows of a file on their way to the judges: counted, and some of them kept.

    "-" is stdin. A file whose name ends in ".gz" is decompressed.

    "jsonl", JSON Lines: one JSON object per line, in UTF-8; blank lines are skipped.

    "json": an array of objects, in UTF-8; or an object without fields of a case that contains one such array,
    or one that `rows` names. It is read as a whole; the other formats are read row by row.

    "csv", in UTF-8: a header, and as delimiter the comma, semicolon or tab, whichever is most frequent in the
    first line, outside quotation marks. An empty cell is an empty text; a row of empty cells is skipped. A
    cell containing only None, null, NULL, nan, NaN, NaT, undefined, #N/A or <NA> is None. A column without a
    name, such as pandas' index, is dropped. "tsv" is the same with tabs.

    A row has at most MAX_ROW characters, and a JSON array MAX_ARRAY; anything longer is an error.

    "parquet", which needs PyArrow: a file, or a folder of them. Nulls are None, maps and structs mappings.

    In every format, a JSON list in a string is read as that list when a case is made from the row: texts or
    objects for the context, texts for answers and judges, messages (objects) for query, response and
    conversation.

    Attributes:
        path: the file.
        file_format: its format. By default the suffix decides: .csv, .tsv, .json or .parquet (also for a
            folder); anything else, including stdin, is JSON Lines.
        fields: fields that are elsewhere in a row, each with its dotted path; see `Fields.in_row`.
        encoding: of the text, such as "utf-8" or "cp1252". The whole file must use it, which is checked
            before the first row. None: UTF-8, where an invalid line is only an error of that line; so it
            always is when "utf-8" comes from a pipe.
        limit: read no more rows than this; None: all.
        array: the dotted path to the array of rows in a JSON file, such as "results.results"; errors call it
            `rows`, as the command line does.
        keep_words: whether "None", "null", "nan" and the like in a table cell are text: set it if they are
            answers.
        kept_ids: the ids of the rows to keep.
        n_read: how many rows could be read so far.
        n_unreadable: how many could not.
        n_blank_contexts: how many have a context that contains nothing.
        keys: the keys that have a value in any row, about MAX_KEYS at most.
        kept_rows: the rows kept so far, by id.
        first_row: the first readable row, before fields are looked up in it.
    """

    path: str | Path
    file_format: FileFormat | None = None
    fields: FieldPaths = field(default_factory=dict[str, str])
    encoding: str | None = None
    limit: int | None = None
    array: str | None = field(default=None, kw_only=True)
    keep_words: bool = field(default=False, kw_only=True)
    kept_ids: frozenset[str] = field(default=frozenset(), kw_only=True)
    n_read: int = 0
    n_unreadable: int = 0
    n_blank_contexts: int = 0
    keys: set[str] = field(default_factory=set[str])
    kept_rows: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    first_row: Mapping[str, Any] | None = None

    def __iter__(self) -> Iterator[FileRow]:
        for number, row in enumerate(self.rows(), 1):
            if isinstance(row, CaseError):
                self.n_unreadable += 1
                yield row
                continue
            self.n_read += 1
            if _has_blank_context(row):
                self.n_blank_contexts += 1
            if len(self.keys) < MAX_KEYS:
                self.keys.update(key for key, value in row.items() if value is not None)
            case_id = id_of(row, number)
            if case_id in self.kept_ids:
                self.kept_rows[case_id] = row
            yield row

    def rows(self) -> Generator[FileRow, None, None]:
        """Yield the rows without counting them.

        Yields:
            A mapping per row, or a CaseError with the code `unreadable_row` and the line's number, from 1.

        Raises:
            OSError: the file cannot be opened or read.
            CaseError: `unreadable_file`: it should be a JSON array or Parquet and is not, or it is not in the
                encoding. `unknown_encoding`: no encoding has that name. `bad_path`: no row has one of the
                paths of `fields`. This is raised before the first row, or after the last one if the source
                can be read only once.
            ImportError: it is a Parquet file, and PyArrow is not installed.
        """
        checked_fields = Fields.of(self.fields, None)
        if self.encoding is not None:
            self._check_encoding(self.encoding)
        paths = checked_fields.paths
        # If the file can be read twice, a wrong path is reported before anything is judged.
        if paths and can_read_again(self.path):
            with closing(self._rows_in_file()) as rows_to_check:
                for _ in until_found(rows_to_check, paths, self._name):
                    pass
        rows = self._rows_in_file()
        # For a pipe, a wrong path is reported after the last row: `until_found` searches as it yields rows.
        all_rows = chain(until_found(rows, paths, self._name), rows)
        for row in islice(all_rows, self.limit):
            if self.first_row is None and not isinstance(row, CaseError):
                self.first_row = row
            if isinstance(row, CaseError) or not paths:
                yield row
                continue
            try:
                yield checked_fields.in_flat_row(row)
            except CaseError as error:  # an error of this row
                yield error

    @property
    def source(self) -> Rows:
        """The rows for `run`, which continues judging while it waits for a pipe."""
        if can_read_again(self.path):
            return self
        return _as_they_come(self)

    def count(self) -> int | None:
        """Count the rows to read, including broken ones; None for a source that can be read only once."""
        if not can_read_again(self.path):
            return None
        return sum(1 for _ in islice(self._rows_in_file(), self.limit))

    def first_case(self) -> Case:
        """Return the case of the first readable row; without one, a case without fields."""
        return Case.from_mapping(Fields.of(self.fields, None).in_flat_row(self.first_row or {}))

    def lacks(self, name: str) -> bool:
        """Return whether no row has the field, under any of its names, or anything that may contain it."""
        fields_of_keys = {field_of_column(key) for key in self.keys}
        # Metadata and the sides of an exchange can contain any field.
        containers = RESERVED - {"id"}
        return fields_of_keys.isdisjoint({field_of_column(name), *containers})

    def documents_of(self, case_id: str) -> Sequence[Document]:
        """Return the documents of a kept row, to which the evidence of its verdicts points."""
        try:
            case = Case.from_mapping(self.kept_rows.get(case_id, {}))
        except CaseError:
            return ()
        return case.context or ()

    @property
    def _format(self) -> FileFormat:
        """The given format, or else the one that the file's name implies."""
        return self.file_format or format_of(self.path)

    @property
    def _name(self) -> str:
        """The file's name in error messages."""
        return "stdin" if str(self.path) == STDIO else str(self.path)

    def _rows_in_file(self) -> Generator[FileRow, None, None]:
        """Yield the rows of the file, before fields are looked up in them."""
        with closing(self._raw_rows()) as rows:
            for row in rows:
                yield row if isinstance(row, CaseError) else _parse_sides(row)

    def _raw_rows(self) -> Generator[FileRow, None, None]:
        """Yield the rows as they are in the file."""
        if self.array is not None and self._format != "json":
            message = (
                f"{self._name}: `rows` names an array in a JSON file, but this is read as {self._format}: "
                "leave `rows` out, or pass the format json"
            )
            raise CaseError("unreadable_file", message, "rows")
        if self._format == "parquet":
            yield from self._parquet_rows()
            return
        with self.text() as text:
            if self._format == "jsonl":
                for number, line in enumerate(_lines(text), 1):
                    if not line.isspace():
                        yield parse_row(line, f"line {number}")
            elif self._format == "json":
                entries = _parse_array(text.read(MAX_ARRAY + 1), self._name, self.array)
                for number, entry in enumerate(entries, 1):
                    yield _object_or_error(entry, f"item {number}")
            else:
                yield from _table_rows(text, self._format, keep_words=self.keep_words)

    def _parquet_rows(self) -> Iterator[FileRow]:
        """Return the rows of a Parquet file."""
        is_stdin = str(self.path) == STDIO
        if not can_read_again(self.path) and (is_stdin or Path(self.path).exists()):
            message = f"{self._name}: Parquet must be a file, not a pipe, because its index is at the end"
            raise CaseError("unreadable_file", message, str(self.path))
        from groundjudge.runs.arrow import parquet_rows  # noqa: PLC0415  PyArrow is an extra

        return parquet_rows(Path(self.path))

    @contextmanager
    def text(self) -> Generator[TextIO, None, None]:
        """The text of the file. Bytes that are not UTF-8 become surrogates, to be reported row by row.

        Only a line feed ends a line: a carriage return may be part of a cell. The text is decoded before it
        is split: in some encodings, other characters contain the byte of a line feed.
        """
        if self.encoding is None or codecs.lookup(self.encoding).name == "utf-8":
            # Excel writes a byte order mark, which would become part of the first column's name.
            encoding, errors = "utf-8-sig", "surrogateescape"
        else:
            encoding, errors = self.encoding, "strict"
        is_stdin = str(self.path) == STDIO
        with nullcontext(sys.stdin.buffer) if is_stdin else self._open() as file:
            text = io.TextIOWrapper(file, encoding, errors, newline="\n")
            try:
                yield text
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                message = (
                    f"{self._name} cannot be decompressed ({error}): copy it again, or compress it again"
                )
                raise CaseError("unreadable_file", message, str(self.path)) from error
            except UnicodeError as error:
                why = getattr(error, "reason", error)  # UTF-16 without a byte order mark gives none
                remedy = "save it as UTF-8, or name its encoding with `encoding`, such as cp1252 or utf-16"
                message = f"{self._name} is not in {self.encoding}: {why}; {remedy}"
                raise CaseError("unreadable_file", message, "encoding") from error
            finally:
                text.detach()  # closing the text would close stdin

    def _open(self) -> BinaryIO:
        """Open the file, decompressed.

        Raises:
            CaseError: `unreadable_file`: it is a workbook.
        """
        path = Path(self.path)
        if path.is_file() and self._begins_with(ZIP_MAGIC):
            message = (
                f"{self._name} is a workbook (.xlsx) or another ZIP archive, not text: save the sheet as "
                "CSV UTF-8, and use that file"
            )
            raise CaseError("unreadable_file", message, str(self.path))
        if path.suffix.casefold() == GZIP:
            return cast("BinaryIO", gzip.open(path, "rb"))
        return path.open("rb")

    def _begins_with(self, magic: bytes) -> bool:
        with Path(self.path).open("rb") as file:
            return file.read(len(magic)) == magic

    def _check_encoding(self, encoding: str) -> None:
        """Make sure that an encoding exists, and that a whole text file uses it.

        Raises:
            CaseError: `unknown_encoding`, `unreadable_file`.
        """
        try:
            " ".encode(encoding)
        except (LookupError, ValueError) as error:
            remedy = "use a name such as utf-8, cp1252 or gb18030"
            message = f"`encoding`: unknown encoding {encoding!r}: {remedy}"
            raise CaseError("unknown_encoding", message, "encoding") from error
        if self._format == "parquet" or not can_read_again(self.path):
            return
        # Any bytes are valid cp1252: UTF-8 would silently become nonsense.
        if not codecs.lookup(encoding).name.startswith("utf-8") and self._begins_with(codecs.BOM_UTF8):
            message = f"{self._name} is not in {encoding}: it begins with the byte order mark of UTF-8"
            raise CaseError("unreadable_file", message, "encoding")
        with self.text() as lines:
            for number, line in enumerate(_lines(lines), 1):
                _check_utf8(line, f" on line {number}")


async def _as_they_come(rows: Iterable[FileRow]) -> AsyncIterator[FileRow]:
    """Yield the rows of a source that may block, such as a pipe: judging continues meanwhile."""
    iterator = iter(rows)
    while (row := await asyncio.to_thread(next, iterator, None)) is not None:
        yield row


def _parse_sides(row: Mapping[str, Any]) -> FileRow:
    """Return a row whose sides of an exchange are objects if they are JSON objects in strings, as in a table.

    This is done only if both inputs and outputs are such strings, because an answer may itself be JSON. A
    string that only looks like an object is an error: it would be judged with its keys.
    """
    sides: dict[str, Any] = {}
    for name in (*SIDES, "metadata"):
        text = row.get(name)
        if isinstance(text, str) and text.lstrip().startswith("{"):
            sides[name] = opened(text)
    if "inputs" not in sides or "outputs" not in sides:
        return row
    for name, side in sides.items():
        if isinstance(side, str) and name in SIDES:
            fault = "is an object, but not JSON: export it in full, and write it with json.dumps"
            return CaseError("field_unreadable", f"{name} {fault}: {side[:60]!r}", name)
    return {**row, **sides}


def _has_blank_context(row: Mapping[str, Any]) -> bool:
    """Return whether a row has a context, itself or on a side of an exchange, and all of it is blank."""
    values: list[object] = []
    for part in (row, *(row.get(side) for side in SIDES)):
        if is_mapping(part):
            values += [as_plain(part[key]) for key in find_keys(part, "context")]
    contexts = [try_read_field("context", value) for value in values if not is_absent(value)]
    return bool(contexts) and is_blank(contexts)


def _check_utf8(text: str, where: str = "") -> None:
    """Make sure that no byte of the text was escaped.

    Raises:
        UnicodeDecodeError: the text was not UTF-8; `where` is added to the reason.
    """
    try:
        text.encode(errors="surrogateescape").decode()
    except UnicodeDecodeError as error:
        error.reason += where
        raise


def _parse_array(text: str, name: str, path: str | None) -> Sequence[Any]:
    """Parse a JSON array, or an object that contains one.

    Args:
        text: the JSON.
        name: what errors call the file.
        path: where in the object the array is; None: the only array, or the only one with responses.

    Raises:
        CaseError: `unreadable_file`, if it is something else, or has several arrays and no path is given.
    """
    if len(text) > MAX_ARRAY:
        message = (
            f"{name}: a JSON array of more than {MAX_ARRAY} characters cannot be read as a whole: "
            "write it as JSON Lines, one object per line"
        )
        raise CaseError("unreadable_file", message, name)
    remedy = "write an array of objects, or use --format jsonl if each line is an object"
    try:
        _check_utf8(text)
        data: Any = json.loads(text, object_pairs_hook=unique_keys)
    except (ValueError, RecursionError) as error:  # not UTF-8, not JSON, 100,000 brackets
        raise CaseError("unreadable_file", f"{name}: it is not JSON: {error}: {remedy}", name) from error
    arrays: dict[str, Sequence[Any]] = {}
    if is_list(data):
        if path is None:
            return data
        fault = "it is an array, so `rows` does not apply"
        remedy = "leave `rows` out"
    elif not is_mapping(data):
        fault = f"it is a single value ({type(data).__name__})"
    else:
        arrays = dict(_find_arrays(data))
        fault = f"it is a single object with the keys {name_list(data) or 'none'}"
        if path is not None:
            rows = value_at(data, path)
            if is_list(rows):
                return rows
            fault = f"there is no array at {path}, which `rows` names"
        # Rows have responses, unlike the prompts and tests that an export has next to them.
        with_responses = [array for array in arrays.values() if any(map(_has_response, array))]
        candidates = with_responses or list(arrays.values())
        if path is None and len(candidates) == 1 and not find_keys(data, *ALIASES, "messages"):
            return candidates[0]
    if arrays:
        remedy = f"if an array in it contains the rows, name it with `rows`, which can be {name_list(arrays)}"
    raise CaseError("unreadable_file", f"{name}: {fault}: {remedy}", "rows")


def _find_arrays(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Sequence[Any]]]:
    """Find the arrays of objects in an object and in its nested objects, each with its dotted path."""
    for key, value in data.items():
        path = f"{prefix}{key}"
        if is_mapping(value):
            yield from _find_arrays(value, f"{path}.")
        elif is_list(value) and any(is_mapping(entry) for entry in value):
            yield path, value


def _has_response(row: object) -> bool:
    return is_mapping(row) and ("outputs" in row or bool(find_keys(row, "response")))


def _lines(text: TextIO) -> Iterator[str]:
    """Yield the lines of a text. A line too long for a row is cut right after the limit."""
    while line := text.readline(MAX_ROW + 1):
        yield line
        while len(line) > MAX_ROW and not line.endswith("\n"):  # the rest of a line that was cut
            line = text.readline(MAX_ROW + 1)


def read_json_lines(path: str | Path) -> Generator[str, None, None]:
    """Read the lines of a JSON file. A line too long for a row is cut right after the limit."""
    with CaseFile(path).text() as text:
        yield from _lines(text)


def parse_row(line: str, line_name: str) -> FileRow:
    """Parse a line of JSON into an object, or into the error that replaces it."""
    if len(line) > MAX_ROW:
        return _unreadable(line_name, TOO_LARGE)
    try:
        _check_utf8(line)
        row = json.loads(line.rstrip(), object_pairs_hook=unique_keys)
    except UnicodeDecodeError as error:
        return _unreadable(line_name, f"not UTF-8 ({error.reason} at byte {error.start + 1})")
    except json.JSONDecodeError as error:
        return _unreadable(line_name, f"not JSON (column {error.colno}: {error.msg})")
    except (ValueError, RecursionError) as error:  # a number of 5,000 digits, 100,000 brackets
        return _unreadable(line_name, f"not readable as JSON ({error})")
    return _object_or_error(row, line_name)


def _table_rows(text: TextIO, kind: FileFormat, *, keep_words: bool) -> Iterator[FileRow]:
    """Yield the rows of a table.

    Args:
        text: the table.
        kind: "csv" or "tsv".
        keep_words: whether the words of `ABSENT` are text.
    """
    absent_words = frozenset[str]() if keep_words else ABSENT
    records = _records(text, kind)
    # A file without a record has no rows either: the default replaces its header.
    row_name, header = next(records, ("line 1", [""]))
    if isinstance(header, CaseError):
        yield header
        return
    if len(header) > MAX_COLUMNS:
        reason = f"a table may have {MAX_COLUMNS} columns at most, not {len(header)}"
        yield _unreadable(row_name, reason)
        return
    names = [name.strip() for name in header]
    repeated_name = find_duplicate(name for name in names if name)
    if repeated_name is not None:
        yield _unreadable(row_name, f"the column {repeated_name!r} appears twice")
        return
    for row_name, record in records:
        if isinstance(record, CaseError):
            yield record
        elif len(record) > len(names):
            yield _unreadable(row_name, f"{len(record)} cells, but the header has {len(names)}")
        elif any(cell.strip() for cell in record):
            yield _row_of(names, record, absent_words)


class RecordLines:
    """The lines of a table, for a reader that joins the lines of a record.

    Attributes:
        number: how many lines were read.
        size: the characters that were read since this was last set to 0; too many are a `csv.Error`.
    """

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self.number = 0
        self.size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        self.size += len(line)
        if self.size > MAX_ROW:
            raise csv.Error(TOO_LARGE)
        return line


def _records(text: TextIO, kind: FileFormat) -> Iterator[tuple[str, list[str] | CaseError]]:
    """Yield the records of a table, or the error of one, each with the line on which it begins: "line 3".

    Empty lines are not records.
    """
    lines_of_text = _lines(text)
    first_lines = list(islice(lines_of_text, 1))
    unquoted_header = QUOTED.sub("", "".join(first_lines))
    delimiter = max(DELIMITERS[kind], key=unquoted_header.count)
    lines = RecordLines(chain(first_lines, lines_of_text))
    # Strict: otherwise an unclosed quote silently swallows the rest of the file.
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first_line = lines.number + 1
        row_name = f"line {first_line}"
        lines.size = 0
        try:
            # 128 KiB by default, but contexts are longer. The program may have changed it; it is not
            # lowered again, as it is one for the process, and another thread may read a table.
            if csv.field_size_limit() < MAX_ROW:
                csv.field_size_limit(MAX_ROW)
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            fault = str(error).partition(" - ")[0]  # without advice for programmers
            reason = f"not {kind.upper()} ({fault})"
            if lines.number > first_line:
                reason += (
                    f": quotation marks make lines {first_line} to {lines.number} one row; close each quote, "
                    "and double a quote inside a cell"
                )
            yield row_name, _unreadable(row_name, reason)
            continue
        if not record:
            continue
        if any(NOT_UTF8.search(cell) for cell in record):
            yield row_name, _unreadable(row_name, "not UTF-8")
        else:
            yield row_name, record


def _row_of(names: Sequence[str], record: Sequence[str], absent_words: Collection[str]) -> dict[str, object]:
    """Read the cells of a record: an empty cell is an empty text, an absent word is None.

    Args:
        names: the names of the columns; cells of columns without a name are dropped.
        record: the cells.
        absent_words: words that are not values, such as "NaN".
    """
    row: dict[str, object] = {}
    for name, cell in zip(names, record, strict=False):  # a record may end early
        if name:
            row[name] = None if cell.strip() in absent_words else cell
    return row


def _object_or_error(row: Any, row_name: str) -> FileRow:  # noqa: ANN401  whatever JSON holds
    """Return a row if it is a JSON object, otherwise its error."""
    if isinstance(row, dict):
        return cast("dict[str, Any]", row)
    return _unreadable(row_name, f"a row must be a JSON object, not {type(row).__name__}")


def _unreadable(row_name: str, reason: str) -> CaseError:
    """Make the error of an unreadable row; its name says where it is: "line 3"."""
    return CaseError("unreadable_row", f"{row_name}: {reason}", row_name)
