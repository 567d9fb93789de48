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
FOLDED = re.compile(rf"[{''.join(PLAIN)}]|\\(?=_)")


@dataclass(frozen=True)
class Folded:
    """A folded text that maps each of its characters back to the raw text.

    Attributes:
        raw: the text before folding.
        text: the folded text.
        origins: for each character of `text` its index in `raw`; None if the two are the same.
        offset: where `raw` begins in the reply.
    """

    raw: str
    text: str
    origins: Sequence[int] | None = None
    offset: int = 0

    def slice(self, start: int, end: int | None = None) -> str:
        """The raw text of a span of the folded text, with the characters removed inside and around it."""
        first, last = self._raw_span(start, end)
        return self.raw[first:last]

    def span(self, start: int, end: int | None = None) -> tuple[int, int]:
        """The same span in the reply."""
        first, last = self._raw_span(start, end)
        return first + self.offset, last + self.offset

    def _raw_span(self, start: int, end: int | None) -> tuple[int, int]:
        end = len(self.text) if end is None else end
        if self.origins is None:
            return start, end
        first = self.origins[start - 1] + 1 if start else 0
        return first, self.origins[end] if end < len(self.text) else len(self.raw)


def fold(raw: str, offset: int = 0) -> Folded:
    """Remove zero-width characters; replace full-width digits and signs; make every line end a newline."""
    if not FOLDED.search(raw):
        return Folded(raw, raw, None, offset)
    kept: list[str] = []
    origins: list[int] = []
    for index, character in enumerate(raw):
        plain = PLAIN.get(character, character)
        if character == "\\" and raw[index + 1 : index + 2] == "_":  # Markdown's escape: RECALL\_Formula
            continue
        if character == "\r" and raw[index + 1 : index + 2] != "\n":
            plain = "\n"
        if plain:
            kept.append(plain)
            origins.append(index)
    return Folded(raw, "".join(kept), origins, offset)
