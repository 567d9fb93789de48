"""What a format found in a reply: numbers on the judge's own scale, and the words around them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PartReading:
    """One of several scores, with the quotes that are given as its evidence (not yet checked)."""

    name: str
    value: float
    reason: str = ""
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """A reply as it was read.

    `value` is None where the format has no single number; `level` is the level the reply names in
    words beside the number; `warnings` are codes of what looked odd but left no doubt.
    """

    value: float | None
    reason: str = ""
    parts: tuple[PartReading, ...] = ()
    level: str = ""
    warnings: tuple[str, ...] = ()
