"""Folding for reading: characters that differ only in appearance become equal; the raw text is kept."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

PLAIN: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\r", ""),
        # The marks of writing direction, which surround numbers in Arabic and Hebrew replies.
        **dict.fromkeys("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ""),
        **{chr(ord("０") + digit): str(digit) for digit in range(10)},
        **dict(zip("：．／％－", ":./%-", strict=True)),
    }
)
FOLDED = re.compile(f"[{''.join(PLAIN)}]")


@dataclass(frozen=True)
class Folded:
    """A folded text that maps each of its characters back to the raw text.

    Attributes:
        raw: the text before folding.
        text: the folded text.
        origins: for each character of `text` its index in `raw`; None if the two are the same.
    """

    raw: str
    text: str
    origins: Sequence[int] | None = None

    def slice(self, start: int, end: int | None = None) -> str:
        """The raw text of a span of the folded text, with the characters removed inside and around it."""
        end = len(self.text) if end is None else end
        if self.origins is None:
            return self.raw[start:end]
        first = self.origins[start - 1] + 1 if start else 0
        last = self.origins[end] if end < len(self.text) else len(self.raw)
        return self.raw[first:last]


def fold(raw: str) -> Folded:
    """Remove zero-width characters; replace full-width digits and signs; make every line end a newline."""
    if not FOLDED.search(raw):
        return Folded(raw, raw)
    kept: list[str] = []
    origins: list[int] = []
    for index, character in enumerate(raw):
        plain = PLAIN.get(character, character)
        if character == "\r" and raw[index + 1 : index + 2] != "\n":
            plain = "\n"
        if plain:
            kept.append(plain)
            origins.append(index)
    return Folded(raw, "".join(kept), origins)
