"""Where the characters of a changed copy of a text are in the original."""

from __future__ import annotations

from array import array
from bisect import bisect_right


class Origins:
    """For each index of a copy, including its end, the index in the original.

    Only the positions of replacements are stored: a number for each character would take far more memory than
    both texts.
    """

    def __init__(self) -> None:
        """Start with a copy that is like the original."""
        # Stretches of the copy: where each begins in it and in the original, and whether it was replaced.
        self._starts = array("Q", [0])
        self._places = array("Q", [0])
        self._is_replaced = bytearray([False])

    def replace(self, start: int, end: int, length: int) -> None:
        """Record what was replaced in the copy; in the order of the text.

        Args:
            start: where the replaced span begins in the original.
            end: where it ends.
            length: the length of what the copy has instead.
        """
        new_start = self._starts[-1] + start - self._places[-1]
        if length:
            self._append(new_start, start, is_replaced=True)
        self._append(new_start + length, end, is_replaced=False)

    def _append(self, start: int, place: int, *, is_replaced: bool) -> None:
        self._starts.append(start)
        self._places.append(place)
        self._is_replaced.append(is_replaced)

    def __getitem__(self, index: int) -> int:
        """Return where a character is in the original; for a replacement, where its span begins."""
        stretch = bisect_right(self._starts, index) - 1
        place = self._places[stretch]
        if not self._is_replaced[stretch]:
            place += index - self._starts[stretch]
        return place
