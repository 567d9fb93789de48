"""Token prices from the command line."""

from __future__ import annotations

from groundjudge.cli.screen import fail
from groundjudge.runs.cost import Prices


def prices_of(price_in: float | None, price_out: float | None) -> Prices | None:
    """The prices, or None without them. One price alone is an error."""
    if price_in is None and price_out is None:
        return None
    if price_in is None or price_out is None:
        fail("--price-in and --price-out belong together")
    return Prices(price_in, price_out)
