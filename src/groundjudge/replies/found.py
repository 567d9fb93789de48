"""Which sentences of a window of the source matter to each sentence of the response: "3 | 12, 14-16"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from groundjudge.errors import ReplyError
from groundjudge.replies.format import NO_EXPECTATION, Expectation, PartReading, Place, Reading
from groundjudge.replies.numbered_lines import ALL, NONE, NumberedLines, read_sources, split_line
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader
from groundjudge.scale import Scale

UNREADABLE = ("ambiguous", "no_verdict", "unrated_sentences")
"""The codes of replies in another form. What they mean for a verdict does not fit a search."""


@dataclass(frozen=True)
class Found(NumberedLines):
    """Reads a line for each sentence of the response, with the numbers of the source that it names."""

    n_fields = 2  # number and sources

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: `unreadable_search`, or the code of a reply that is not finished.
        """
        try:
            return super().read_reply(reply, scale, expectation)
        except ReplyError as error:
            if error.code in UNREADABLE:
                raise ReplyError("unreadable_search", error.reply) from error
            raise

    def read_places(self, reader: Reader, places: Sequence[Place]) -> Reading:
        """Read the lines: those of all sentences in order.

        Raises:
            ReplyError: `ambiguous` for a line that names anything but sentences that were shown, and
                `unrated_sentences` if a sentence has no line, or a line no sentence.
        """
        sentences = reader.expectation.sentences
        parts: list[PartReading] = []
        for line in places:
            fields = split_line(reader.text, line)
            sources = read_sources(fields[0], sentences)
            if line.label == ALL or sources is None or len(fields) > 1:
                raise reader.make_error("ambiguous", reader.text[slice(*line.span)])
            parts.append(PartReading(line.label, None, number=int(line.label), sources=sources))
        n_sentences = len(parts) if sentences is None else len(sentences.response)
        if [part.number for part in parts] != [*range(1, n_sentences + 1)]:
            raise reader.make_error("unrated_sentences")
        return Reading(None, parts=tuple(parts))

    def write_reply(self, reading: Reading) -> str:
        """Write a line for each part."""
        lines: list[str] = []
        for part in reading.parts:
            lines.append(f"{part.number} | {', '.join(map(str, part.sources)) or NONE}")
        return "\n".join(lines)
