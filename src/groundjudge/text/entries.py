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
# What comes before a value of valid JSON: the comma after the last one, and the key in a mapping.
BEFORE_VALUE = compile_when_used(r'[\s,]*+(?P<key>"(?:[^"\\]|\\.)*+"\s*+:\s*+)?')


def entry_starts(text: str) -> list[int]:
    """Return where the entries of a JSON list or mapping begin, each with its key; [] for any other text.

    Those of `{"a": 1, "b": [2]}` begin at 1 and 9. The rows of `{"rows": [[1, 2], [3, 4]]}` are its entries:
    the first one begins at 1, with the key, the second one at 18.
    """
    if not text.lstrip().startswith(("[", "{")):
        return []
    # Deeply nested JSON, or numbers of thousands of digits, have no entries that anyone could name.
    with suppress(ValueError, RecursionError):
        json.loads(text)  # the steps through it rely on valid JSON
        return _starts_in(text, len(text) - len(text.lstrip()), 1)
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
    end = start + 1
    while True:
        before = BEFORE_VALUE.match(text, end)
        if before is None or text[before.end()] in "]}":
            return starts
        value_start = before.end()
        entry_start = value_start if before["key"] is None else before.start("key")
        value, end = DECODER.raw_decode(text, value_start)
        rows: list[int] = []
        if depth < MAX_DEPTH and _is_cut(value, end - entry_start):
            rows = _starts_in(text, value_start, depth + 1)
        # The first row begins with the key that leads to it.
        starts += [entry_start, *rows[1:]]


def _is_cut(value: Any, length: int) -> bool:  # noqa: ANN401  any JSON
    """Whether the entries of a value count instead of the whole value: for rows and long values.

    Args:
        value: the value.
        length: how many characters it has in JSON, with its key.
    """
    if not value or not isinstance(value, list | dict):
        return False
    has_rows = isinstance(value, list) and isinstance(value[0], list | dict)
    return has_rows or length > MAX_ENTRY
