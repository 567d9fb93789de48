"""Verdicts with nothing around them: `Yes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundjudge.replies.format import Place, Reading
from groundjudge.replies.opening import NOTHING
from groundjudge.replies.reading import Marks, PlacedFormat
from groundjudge.replies.value import Reader, write_value
from groundjudge.text.patterns import compile_when_used

# A whole reply in a code fence, as written by models that were trained on code.
FENCED = compile_when_used(r"\s*```\w*\n([^`]*)```\s*")


@dataclass(frozen=True)
class Plain(PlacedFormat):
    """Reads a reply that is the verdict and nothing else, for example "Yes"; reasoning may precede it.

    Use it for models that were trained to answer this way: MiniCheck, Granite Guardian and others.
    """

    @property
    def marks(self) -> Marks:
        """None: the place of the verdict is the whole reply."""
        return Marks(NOTHING)

    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find the one place."""
        whole = (0, len(reader.text))
        fenced = FENCED.fullmatch(reader.text)
        if fenced is not None:
            return [Place("value", fenced.span(1), whole)]
        return [Place("value", whole, whole)]

    def write_reply(self, reading: Reading) -> str:
        """Write the number or the label."""
        return write_value(reading)
