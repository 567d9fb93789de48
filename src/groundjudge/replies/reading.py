"""What a format read from a reply: numbers on the judge's own scale, and the explanations."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PartReading:
    """One of several scores.

    Attributes:
        name: what is scored: a name of the format's `part_names`, or a sentence of the response.
        value: the score on the judge's own scale.
        reason: the explanation; "" if there is none.
        quotes: the quotes given as evidence, not yet checked.
    """

    name: str
    value: float
    reason: str = ""
    quotes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reading:
    """The content of a reply.

    Attributes:
        value: the number on the judge's own scale; None if the format has no single number.
        reason: the explanation; "" if there is none.
        parts: the scores of a format that has several.
        level: the level that the reply names besides the number; "" if it names none.
        warnings: codes for irregularities that did not prevent reading.
    """

    value: float | None
    reason: str = ""
    parts: tuple[PartReading, ...] = ()
    level: str = ""
    warnings: tuple[str, ...] = ()
