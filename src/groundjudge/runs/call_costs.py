"""What a model's calls cost, for frameworks that report the cost of each row."""

from __future__ import annotations

from groundjudge.judging.conversation import Ask
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.runs.cost import Prices


class CallCosts:
    """Adds up the costs of calls.

    Args:
        prices: the prices of tokens; None: use the cost that the model itself reports, if it does.

    Raises:
        TypeError: `prices` is something else.
    """

    def __init__(self, prices: Prices | None) -> None:
        if prices is not None and not isinstance(prices, Prices):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"prices must be groundjudge.Prices(prompt=..., completion=...), not {prices!r}"
            raise TypeError(message)
        self._prices = prices
        self._costs: list[float | None] = []

    @property
    def total(self) -> float | None:
        """The cost of all calls; None if there was no call, or if the cost of a call is unknown."""
        total = 0.0
        for cost in self._costs:
            if cost is None:
                return None
            total += cost
        return total if self._costs else None

    def count(self, ask: Ask) -> Ask:
        """Return an `ask` whose calls are counted."""

        async def ask_and_count(model: Model, request: Request) -> Reply:
            reply = await ask(model, request)
            if reply.cached:
                self._costs.append(0.0)
            elif self._prices and reply.usage:
                self._costs.append(self._prices.of(reply.usage))
            else:
                self._costs.append(reply.cost)
            return reply

        return ask_and_count
