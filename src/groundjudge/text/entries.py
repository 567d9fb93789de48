"""Where the entries of JSON begin: the rows that a tool returned, and the members of a mapping."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from groundjudge.text.patterns import compile_when_used

MAX_ENTRY = 300
"""Characters of an entry that is not cut any further, unless it is a list of lists or mappings."""

MAX_DEPTH = 5
"""How deeply entries are cut; each level reads the text again."""

DECODER = json.JSONDecoder()
BLANKS = compile_when_used(r"\s*+")


def entry_starts(text: str) -> list[int]:
    """Return where the entries of a JSON list or mapping begin, each with its key; [] for any other text.

    Those of `{"a": 1, "b": [2]}` begin at 1 and 9. The rows of `{"rows": [[1, 2], [3, 4]]}` are its entries:
    the first one begins at 1, with the key, the second one at 18.
    """
    start = _skip_blanks(text, 0)
    if not text.startswith(("[", "{"), start):
        return []
    # Deeply nested JSON, or numbers of thousands of digits, have no entries that anyone could name.
    with suppress(ValueError, RecursionError):
        json.loads(text)  # the steps through it rely on valid JSON
        return _starts_in(text, start, 1)
    return []


def _starts_in(text: str, start: int, depth: int) -> list[int]:
    """Return where the entries begin of the list or mapping at an index; the text is valid JSON.

    `{"cancelled": [[1], [2]]}` has the entries `"cancelled": [[1]` and `[2]`: the key says what the rows are.

    Args:
        text: the JSON.
        start: where the list or mapping begins.
        depth: how many lists and mappings it is in, itself included.
    """
    starts: list[int] = []
    is_mapping = text[start] == "{"
    position = _skip_blanks(text, start + 1)
    while text[position] not in "]}":
        entry_start = position
        if is_mapping:
            _, position = DECODER.raw_decode(text, position)
            position = _skip_blanks(text, _skip_blanks(text, position) + 1)
        value, end = DECODER.raw_decode(text, position)
        rows: list[int] = []
        if depth < MAX_DEPTH and _is_cut(value, end - entry_start):
            rows = _starts_in(text, position, depth + 1)
        # The first row begins with the key that leads to it.
        starts += [entry_start, *rows[1:]]
        position = _skip_blanks(text, end)
        if text[position] == ",":
            position = _skip_blanks(text, position + 1)
    return starts


def _is_cut(value: Any, length: int) -> bool:  # noqa: ANN401  any JSON
    """Whether the entries of a value count instead of the whole value: for rows and long values.

    Args:
        value: the value.
        length: how many characters it has in JSON, with its key.
    """
    if not value or not isinstance(value, list | dict):
        return False
    if isinstance(value, list) and isinstance(value[0], list | dict):
        return True
    return length > MAX_ENTRY


def _skip_blanks(text: str, position: int) -> int:
    """Return the first place from a position on that is not white space."""
    blanks = BLANKS.match(text, position)
    return blanks.end() if blanks else position  # for type checkers: it always matches
