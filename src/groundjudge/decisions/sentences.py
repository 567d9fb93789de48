"""The sentences of a case, which a decision model names by their numbers, with their places.

Prose is cut into sentences, code into lines, and the JSON of a tool result into its entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from groundjudge.replies.marks import find_fences, is_label_of_code
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import Span, says_something, sentences

LINE = compile_when_used(r"[^\n]+")

LONGEST_ENTRY = 300
"""Characters of an entry of JSON that is not cut any further, unless it is a list of lists or mappings."""

DEEPEST_ENTRY = 5
"""How deeply the entries of JSON are cut; each step reads the text once more."""

DECODER = json.JSONDecoder()
BLANK = compile_when_used(r"\s*+")


def cut_text(text: str, *, is_tool_result: bool = False) -> list[Span]:
    """Cut a text into its sentences, its lines of code, or the entries of a tool result that is JSON.

    Returns:
        The sentences, each with its place: `text[start:end]`. [] for a text without words.
    """
    if is_tool_result:
        entries = _entries_of(text)
        if entries:
            return entries
    if "```" not in text and "~~~" not in text:
        return sentences(text)
    spans: list[Span] = []
    start = 0
    is_code = False
    for fence in find_fences(text):
        spans.extend(_cut_segment(text, start, fence.start(), is_code=is_code))
        start = fence.end() if is_label_of_code(fence["info"]) else fence.start("info")
        is_code = not is_code
    spans.extend(_cut_segment(text, start, len(text), is_code=is_code))
    return spans or sentences(text)


def _cut_segment(text: str, start: int, end: int, *, is_code: bool) -> Iterator[Span]:
    """Cut the text between two fences: code into lines with a letter or digit, and prose into sentences."""
    if not is_code:
        for span in sentences(text[start:end]):
            # A segment that says nothing is one span, such as the line between two blocks of code.
            if says_something(span.text):
                yield Span(span.text, start + span.start, start + span.end)
        return
    for line in LINE.finditer(text, start, end):
        code = line[0].strip()
        if any(map(str.isalnum, code)):
            code_start = line.start() + line[0].index(code)
            yield Span(code, code_start, code_start + len(code))


def _entries_of(text: str) -> list[Span]:
    """Return the entries of a text that is a JSON list or mapping; [] for any other text."""
    start = _skip_blanks(text, 0)
    if text[start : start + 1] not in {"[", "{"}:
        return []
    # Deeply nested JSON, or numbers of thousands of digits, are no entries that anybody could name.
    with suppress(ValueError, RecursionError):
        json.loads(text)
        return [Span(text[first:last], first, last) for first, last in _places_in(text, start, 1)]
    return []


def _places_in(
    text: str, start: int, depth: int, first_start: int | None = None
) -> Iterator[tuple[int, int]]:
    """Find the entries of the list or mapping that begins at an index; the text is valid JSON.

    Args:
        text: the JSON.
        start: where the list or mapping begins.
        depth: how many lists and mappings it is in, itself included.
        first_start: where its first entry begins: if it is an entry itself, where that does. So its key is
            shown, which says what the entries are: the rows under "cancelled" are other ones than those under
            "on_time".
    """
    is_mapping = text[start] == "{"
    position = _skip_blanks(text, start + 1)
    while text[position] not in "]}":
        entry_start = position
        if is_mapping:
            _, position = DECODER.raw_decode(text, position)
            position = _skip_blanks(text, _skip_blanks(text, position) + 1)
        value, end = DECODER.raw_decode(text, position)
        length = end - entry_start
        if first_start is not None:
            entry_start = first_start
            first_start = None
        if depth < DEEPEST_ENTRY and _is_cut(value, length):
            yield from _places_in(text, position, depth + 1, entry_start)
        else:
            yield entry_start, end
        position = _skip_blanks(text, end)
        if text[position] == ",":
            position = _skip_blanks(text, position + 1)


def _is_cut(value: Any, length: int) -> bool:  # noqa: ANN401  whatever JSON can hold
    """Whether the entries of a value count, and not the value as a whole."""
    if not value or not isinstance(value, list | dict):
        return False
    if isinstance(value, list) and isinstance(value[0], list | dict):
        return True
    return length > LONGEST_ENTRY


def _skip_blanks(text: str, position: int) -> int:
    blanks = BLANK.match(text, position)
    return blanks.end() if blanks else position
