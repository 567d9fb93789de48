"""The protocol for reply formats, the places they mark in replies, and what is read there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias

from groundjudge.case.numbered import Sentences
from groundjudge.replies.reply import Reply
from groundjudge.scale import Scale

Span: TypeAlias = tuple[int, int]
"""A range in the raw reply: its first index, and the index after its last."""


NO_LEVELS: Mapping[float, str] = MappingProxyType({})


class Expectation(NamedTuple):
    """What a format may need to know about the question, besides the scale.

    Attributes:
        levels: the labels of numbers, by the highest number that has each. A number may be followed by its
            label.
        response: the response; a scorecard must rate all its sentences. None if it is unknown.
        sentences: the numbered sentences that the prompt showed; None if they are unknown.
        earlier: the part kept from an earlier reply, which this one completes; "" if there is none.
    """

    levels: Mapping[float, str] = NO_LEVELS
    response: str | None = None
    sentences: Sentences | None = None
    earlier: str = ""


NO_EXPECTATION = Expectation()
"""Only the scale is known."""


@dataclass(frozen=True)
class PartReading:
    """One of several scores.

    Attributes:
        name: what is scored: a name of the format's `part_names`, or a sentence of the response.
        value: the score on the judge's own scale; None for a label that means "not applicable", and for a
            sentence that claims nothing.
        reason: the explanation; "" if there is none.
        quotes: the quotes given as evidence, not yet checked.
        number: the number of the sentence; None if sentences aren't numbered.
        sources: the numbers of the source's sentences that are given as evidence.
        label: the label, on a scale of labels; otherwise "".
        span: where the score is in the reply; None if that is unknown.
        distribution: the probability of each value, if the score is weighted; the keys are labels on a
            scale of labels, and otherwise numbers in digits, such as "4".
    """

    name: str
    value: float | None
    reason: str = ""
    quotes: tuple[str, ...] = ()
    label: str = ""
    span: Span | None = field(default=None, compare=False, repr=False)
    number: int | None = None
    sources: tuple[int, ...] = ()
    distribution: Mapping[str, float] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Reading:
    """The content of a reply.

    Attributes:
        value: the number on the judge's own scale; None if the format has no single number, or for a label
            that means "not applicable".
        reason: the explanation; "" if there is none.
        parts: the scores of a format that has several.
        level: the level that the reply names in addition to the number; "" if it names none.
        warnings: codes for irregularities that did not prevent reading.
        label: the label, on a scale of labels; otherwise "".
        shares: the text in the place of the shares (the probability of each value); "" if there is none.
        whole: the probability, 0..1, that the source supports everything the response claims; None if the
            reply does not say.
        span: where the value is in the reply; None if that is unknown.
        distribution: the probability of each value, if the score is weighted; the keys are as in a part,
            or the labels of levels.
    """

    value: float | None
    reason: str = ""
    parts: tuple[PartReading, ...] = ()
    level: str = ""
    warnings: tuple[str, ...] = ()
    label: str = ""
    shares: str = ""
    whole: float | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    distribution: Mapping[str, float] | None = field(default=None, compare=False, repr=False)


def scores_of_claims(reading: Reading, scale: Scale) -> list[float]:
    """Return the scores of the parts that have a value: of the sentences that claim something."""
    return [scale.score(part.value) for part in reading.parts if part.value is not None]


class Place(NamedTuple):
    """Something that a format marks in a reply. Spans are those of the folded text.

    Attributes:
        kind: what it is: "value", "reason", "level", "shares" or "thoughts"; "text" for prose that only
            looks marked; "other" for anything else that isn't prose.
        content: the span without the marks.
        span: the span with the marks, such as the tags, or the line with the label.
        label: the label of its line.
        scale: what the label says about the scale: "0-10".
        below: what follows its line, up to the next label: a value there may contradict this one.
        text: what it says, if that differs from the text of its content, as in a string with escapes.
        is_closed: False if it never ends, or may hide a verdict. A value at the end of a reply needs no end.
    """

    kind: str
    content: Span
    span: Span
    label: str = ""
    scale: str = ""
    below: Span = (0, 0)
    text: str | None = None
    is_closed: bool = True


class Format(Protocol):
    """A reply format: reads, writes and scores replies. Nothing outside it knows their syntax.

    Derive your own format from `PlacedFormat`, which reads replies and makes all checks. A class that derives
    from this one reads replies itself, unchecked, and needs `read_reply` and `write_reply`; any other object
    needs all members. A format may also have `labels`, the texts that mark the verdict in a reply: a prompt
    that contains none of them causes a warning.

    Attributes:
        parts_are_sentences: whether the parts of a reading are the sentences of the response, and should
            cover all of it.
        numbers_sentences: whether replies refer to sentences by number, so that the prompt must show the
            numbers.
        score_names: the names of the further scores that `scores` computes; () if there are none.
    """

    parts_are_sentences: bool = False
    numbers_sentences: bool = False
    score_names: tuple[str, ...] = ()

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the scores in each reply, besides the headline score; () if there are none."""
        return ()

    @abstractmethod
    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a model's reply.

        Args:
            reply: what the model answered.
            scale: the numbers or labels that it may answer with.
            expectation: what else is known about the question.

        Raises:
            ReplyError: the reply contains no verdict on the scale.
        """

    @abstractmethod
    def write_reply(self, reading: Reading) -> str:
        """Write a reply that `read_reply` reads as this reading, except what the format cannot express."""

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """Return the headline score, 0..1: the value's position on the scale, unless there are parts.

        None if there is nothing to judge.
        """
        if reading.value is None:
            return None
        return scale.score(reading.value)

    def scores(self, reading: Reading, scale: Scale) -> Mapping[str, float]:  # noqa: ARG002  for parts
        """Return further scores, 0..1, by name; {} if there is nothing to judge."""
        return {}

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  for formats that are JSON
        """Return a JSON schema of the reply; None if replies are not JSON."""
        return None


def missing_members(candidate: object) -> list[str]:
    """Return the names of the members of `Format` that an object lacks."""
    missing: list[str] = []
    for name in vars(Format):
        # Names that begin with an underscore are Python's own: `__doc__`, and the machinery of protocols.
        if not name.startswith("_") and not hasattr(candidate, name):
            missing.append(name)
    return missing
