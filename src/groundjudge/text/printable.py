"""Text on one line, and for a terminal: characters that control it or are invisible are shown, not obeyed."""

from __future__ import annotations

import json
import re
from typing import BinaryIO

from groundjudge.text.patterns import compile_when_used

STEERING = compile_when_used(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls: C0 but for tabs and ends of lines, DEL, C1
    r"\u2028\u2029\u202a-\u202e\u2066-\u2069\u061c\u200e\u200f"  # ends of lines; the direction of text
    # What else is invisible, such as tags and variation selectors. The joiners U+200C and U+200D are part of
    # words in Persian and Hindi.
    r"\xad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\ufe00-\ufe0f"
    r"\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def printable(text: str) -> str:
    """Return the text with these characters escaped as in JSON, so that lines of JSON stay equivalent."""
    return STEERING.sub(_escape, text)


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces between its words."""
    if text.isprintable() and "  " not in text:  # as most sentences: all others take four times as long
        return text.strip()
    return " ".join(text.split())


def json_line(text: str, file: BinaryIO) -> bytes:
    """Return a line of JSON as it is written to a file: printable on a terminal, elsewhere unchanged."""
    if file.isatty():
        text = printable(text)
    return text.encode() + b"\n"


def _escape(character: re.Match[str]) -> str:
    """Return a matched character as JSON escapes it."""
    escaped = json.dumps(character[0])[1:-1]
    return escaped.replace("\x7f", "\\u007f")  # JSON leaves DEL as it is
