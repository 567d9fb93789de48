"""Where the characters of a changed copy of a text are in the original."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable


class Origins:
    """For each index of a copy, including its end, the index in the original.

    Only the positions of replacements are stored: a number for each character would take far more memory than
    both texts.
    """

    def __init__(self) -> None:
        """Start with a copy that is like the original."""
        # Stretches of the copy: where each begins in it and in the original.
        self._starts = array("Q", [0])
        self._places = array("Q", [0])

    def __getitem__(self, index: int) -> int:
        """Return where a character is in the original; for a replacement, where its span begins."""
        stretch = bisect_right(self._starts, index) - 1
        return self._places[stretch] + index - self._starts[stretch]

    def replace(self, start: int, end: int, length: int) -> None:
        """Record what was replaced in the copy; in the order of the text.

        Args:
            start: where the replaced span begins in the original.
            end: where it ends.
            length: the length of what the copy has instead; each of its characters is a stretch.
        """
        new_start = self._starts[-1] + start - self._places[-1]
        self._starts.extend(range(new_start, new_start + length + 1))
        self._places.extend([start] * length + [end])


def replaced(original: str, replacements: Iterable[tuple[int, int, str]]) -> tuple[str, Origins]:
    """Return a copy of a text with other texts in place of some spans, which are in order."""
    pieces: list[str] = []
    origins = Origins()
    position = 0
    for start, end, replacement in replacements:
        pieces += (original[position:start], replacement)
        if end - start != len(replacement):
            origins.replace(start, end, len(replacement))
        position = end
    pieces.append(original[position:])
    return "".join(pieces), origins
