"""Which sentences of a part of the source bear on each sentence of the response: "3 | 12, 14-16"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundjudge.errors import ReplyError
from groundjudge.replies.format import PartReading, Place, Reading
from groundjudge.replies.numbered_lines import ALL, MARKS, NONE, find_lines, read_sources, split_line
from groundjudge.replies.reading import Marks, PlacedFormat
from groundjudge.replies.value import Reader

N_FIELDS = 2  # number and sources


@dataclass(frozen=True)
class Found(PlacedFormat):
    """Reads a line for each sentence of the response, with the numbers of the source that it names."""

    parts_are_sentences = True
    numbers_sentences = True

    @property
    def marks(self) -> Marks:
        """The beginning of a line."""
        return MARKS

    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find the lines of a reply, see `find_lines`."""
        return find_lines(reader, N_FIELDS)

    def read_places(self, reader: Reader, places: Sequence[Place]) -> Reading:
        """Read the lines: those of all sentences in order.

        Raises:
            ReplyError: `ambiguous` for a line that names anything but sentences that were shown, and
                `unrated_sentences` if a sentence has no line, or a line no sentence.
        """
        sentences = reader.expectation.sentences
        parts: list[PartReading] = []
        for line in places:
            fields = split_line(reader.text, line, line.content[1])
            sources = read_sources(fields[0], sentences)
            if line.label == ALL or sources is None or len(fields) >= N_FIELDS:
                raise reader.make_error("ambiguous", reader.text[slice(*line.span)])
            parts.append(PartReading(line.label, None, number=int(line.label), sources=sources))
        n_sentences = len(parts) if sentences is None else len(sentences.response)
        if [part.number for part in parts] != [*range(1, n_sentences + 1)]:
            fault = f"it has lines for other sentences than 1 to {n_sentences}"
            raise ReplyError("unrated_sentences", reader.reply.raw, fault)
        return Reading(None, parts=tuple(parts))

    def write_reply(self, reading: Reading) -> str:
        """Write a line for each part."""
        lines: list[str] = []
        for part in reading.parts:
            lines.append(f"{part.number} | {', '.join(map(str, part.sources)) or NONE}")
        return "\n".join(lines)
