"""Where the characters of a text are in the text that it was made from."""

from __future__ import annotations

from array import array
from bisect import bisect_right


class Origins:
    """For each index of a text, including its end, the index in another text, from which most was copied.

    Only the positions of replacements are stored: a number for each character would take far more memory than
    both texts.
    """

    def __init__(self) -> None:
        """Start with identical texts."""
        # Stretches of the text: where each begins in it and in the other text, and whether it was replaced.
        self._starts = array("Q", [0])
        self._places = array("Q", [0])
        self._is_replaced = bytearray([False])

    def replace(self, start: int, end: int, length: int) -> None:
        """Record that a text replaces a span of the other text, which must follow all earlier ones."""
        new_start = self._starts[-1] + start - self._places[-1]
        if length:
            self._append(new_start, start, is_replaced=True)
        self._append(new_start + length, end, is_replaced=False)

    def _append(self, start: int, place: int, *, is_replaced: bool) -> None:
        self._starts.append(start)
        self._places.append(place)
        self._is_replaced.append(is_replaced)

    def __getitem__(self, index: int) -> int:
        """Return where a character is in the other text; for a replacement, where its span begins."""
        stretch = bisect_right(self._starts, index) - 1
        place = self._places[stretch]
        if not self._is_replaced[stretch]:
            place += index - self._starts[stretch]
        return place
