"""What a format read from a reply: values on the judge's own scale, and the explanations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

Span: TypeAlias = tuple[int, int]
"""Where something stands in the raw reply: its first index, and the one behind its last."""


class Asked(NamedTuple):
    """What a reader may have to know of the question besides the scale.

    Attributes:
        levels: the labels of numbers, by the highest number that bears them: one may stand beside its number.
        response: the response, all sentences of which a scorecard must rate; None if it is not known.
    """

    levels: Mapping[float, str] = MappingProxyType({})
    response: str | None = None


NOTHING_ELSE = Asked()


@dataclass(frozen=True)
class PartReading:
    """One of several scores.

    Attributes:
        name: what is scored: a name of the format's `part_names`, or a sentence of the response.
        value: the score on the judge's own scale; None for a label that means "not applicable", and for a
            sentence that claims nothing.
        reason: the explanation; "" if there is none.
        quotes: the quotes given as evidence, not yet checked.
        label: the label, on a scale of labels; otherwise "".
        span: where the score stands in the reply; None if that is not known.
    """

    name: str
    value: float | None
    reason: str = ""
    quotes: tuple[str, ...] = ()
    label: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Reading:
    """The content of a reply.

    Attributes:
        value: the number on the judge's own scale; None if the format has no single number, or for a label
            that means "not applicable".
        reason: the explanation; "" if there is none.
        parts: the scores of a format that has several.
        level: the level that the reply names besides the number; "" if it names none.
        warnings: codes for irregularities that did not prevent reading.
        label: the label, on a scale of labels; otherwise "".
        span: where the value stands in the reply; None if that is not known.
    """

    value: float | None
    reason: str = ""
    parts: tuple[PartReading, ...] = ()
    level: str = ""
    warnings: tuple[str, ...] = ()
    label: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)
