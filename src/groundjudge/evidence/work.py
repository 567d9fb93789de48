"""How much work looking up quotes may take: it grows with their length and no faster."""

from __future__ import annotations

QUOTES = 160_000
"""Units of work that quotes may take whatever their length, roughly a microsecond each."""
SENTENCES = 40_000
"""The same for the sentences that a judge rated."""
PER_BYTE = 0.75
"""Units that each byte of a quote or sentence adds to them."""
A_PLACE = 8
"""Units for a place where a quote is found, which must cut no word, no number and no negation."""
A_CUT_PLACE = 200
"""Units for a place where it cuts a number or a negation, which must be read first."""
A_SEARCH = 30
"""Units for a search for a near match; to them come one for each character of the quote, and `A_PAIR`."""
A_PAIR = 0.005
"""Units for each pair of characters of the quote: it is aligned with passages as long as itself."""
A_COMPARISON = 1.5
"""Units for each character of a quote whose meaning is compared with that of a near match."""
SCANNED = 1000
"""Characters of the documents that are scanned for a quote in one unit."""


class TooMuchWork(Exception):  # noqa: N818  it ends the search for one quote, it is no error
    """A quote would take more work than its length allows, after the quotes before it."""


class Work:
    """The units of work that are left for quotes; it does not depend on the clock, so results never vary."""

    def __init__(self, units: float = QUOTES) -> None:
        self._left = units

    def grant(self, quote: str) -> None:
        """Add what a quote brings along."""
        self._left += PER_BYTE * len(quote.encode(errors="replace"))

    def spend(self, units: float) -> None:
        """Take units away.

        Raises:
            TooMuchWork: none are left.
        """
        self._left -= units
        if self._left < 0:
            raise TooMuchWork
