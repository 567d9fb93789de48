"""A format by somebody else: it says where its places are, and has every protection without knowing of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from groundjudge.replies import Marks, Place, PlacedFormat, Reader, Reading, write_value

STAMP = re.compile(r"@@(?P<value>[^@]*)@@")


@dataclass(frozen=True)
class Stamp(PlacedFormat):
    """Reads `@@4@@` as 4."""

    @property
    def marks(self) -> Marks:
        return Marks(STAMP)

    def find_places(self, reader: Reader) -> Sequence[Place]:
        return [Place("value", stamp.span("value"), stamp.span()) for stamp in STAMP.finditer(reader.text)]

    def write_reply(self, reading: Reading) -> str:
        return f"@@{write_value(reading)}@@"
