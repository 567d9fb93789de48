"""Where the characters of a text stand in the one that it was made of."""

from __future__ import annotations

from array import array
from bisect import bisect_right


class Origins:
    """For each index of a text, its end included, the index in another text, most of which is copied.

    Only the places where something was replaced are stored: a number for each character would take far more
    memory than both texts.
    """

    def __init__(self) -> None:
        """Begin with a text that is the other one."""
        # Stretches of the text: where each begins, there and in the other text, and whether it was replaced.
        self._starts = array("Q", [0])
        self._places = array("Q", [0])
        self._is_replaced = bytearray([False])

    def replace(self, start: int, end: int, length: int) -> None:
        """Put a text of some length in the place of a span of the other text, behind all others so far."""
        new_start = self._starts[-1] + start - self._places[-1]
        if length:
            self._append(new_start, start, is_replaced=True)
        self._append(new_start + length, end, is_replaced=False)

    def _append(self, start: int, place: int, *, is_replaced: bool) -> None:
        self._starts.append(start)
        self._places.append(place)
        self._is_replaced.append(is_replaced)

    def __getitem__(self, index: int) -> int:
        """Where the character of that index stands; all of a text that replaced a span, where that begins."""
        stretch = bisect_right(self._starts, index) - 1
        place = self._places[stretch]
        if not self._is_replaced[stretch]:
            place += index - self._starts[stretch]
        return place
