"""The protocol of reply formats, what they mark in replies, and what is read there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from groundjudge.case.numbered import Sentences
from groundjudge.replies.reply import Reply
from groundjudge.scale import Scale

Span: TypeAlias = tuple[int, int]
"""Where something stands in the raw reply: its first index, and the one behind its last."""


class Expectation(NamedTuple):
    """What a format may have to know of the question besides the scale.

    Attributes:
        levels: the labels of numbers, by the highest number that bears them. The label of a number may stand
            beside it.
        response: the response, all sentences of which a scorecard must rate; None if it is not known.
        sentences: the numbered sentences that the prompt showed; None if they are not known.
        earlier: what stays of an earlier reply, which this one completes; "" for nothing.
    """

    levels: Mapping[float, str] = MappingProxyType({})
    response: str | None = None
    sentences: Sentences | None = None
    earlier: str = ""


NO_EXPECTATION = Expectation()
"""Nothing but the scale is known of the question."""


@dataclass(frozen=True)
class PartReading:
    """One of several scores.

    Attributes:
        name: what is scored: a name of the format's `part_names`, or a sentence of the response.
        value: the score on the judge's own scale; None for a label that means "not applicable", and for a
            sentence that claims nothing.
        reason: the explanation; "" if there is none.
        quotes: the quotes given as evidence, not yet checked.
        number: the number of the sentence; None where sentences have none.
        sources: the numbers of the source's sentences that are given as evidence.
        label: the label, on a scale of labels; otherwise "".
        span: where the score stands in the reply; None if that is not known.
        distribution: how probable each value is, if the score is weighted by that; the keys are labels on a
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
        level: the level that the reply names besides the number; "" if it names none.
        warnings: codes for irregularities that did not prevent reading.
        label: the label, on a scale of labels; otherwise "".
        shares: the text in the place of the shares, how probable each value is; "" if there is none.
        whole: how probably all that the response claims is borne out, 0..1; None if the reply does not say.
        span: where the value stands in the reply; None if that is not known.
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


class Place(NamedTuple):
    """Something that a format marks in a reply. Spans are those of the folded text.

    Attributes:
        kind: what stands there: "value", "reason", "level", "shares" or "thoughts"; "text" for prose that
            only looks marked; "other" for what is neither prose nor any of these.
        content: where it stands, without its marks.
        span: where it stands with its marks, such as its tags, or the line with its label.
        label: the label of its line.
        scale: what the label says of the scale: "0-10".
        below: what follows its line, up to the next label.
        text: what stands there, if that is not the text of its content, such as a string with escapes.
        is_closed: False for what has no end, or may hide a verdict. A value needs no end at that of a reply.
    """

    kind: str
    content: Span
    span: Span
    label: str = ""
    scale: str = ""
    below: Span = (0, 0)
    text: str | None = None
    is_closed: bool = True


@runtime_checkable
class Format(Protocol):
    """A reply format: reads replies, writes them and scores them. Nothing outside it knows their syntax.

    Derive a format of your own from `PlacedFormat`, which reads replies and makes all checks. A class that
    derives from this one reads replies by itself, unchecked, and needs `read_reply` and `write_reply`; any
    other object needs all members. It may also have `labels`, the texts that mark the verdict in a reply: a
    prompt that has none of them is warned of.
    """

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the scores that each reply has besides the headline score; () if there are none."""
        return ()

    @property
    def parts_are_sentences(self) -> bool:
        """Whether the parts of a reading are the sentences of the response, and should cover all of it."""
        return False

    @property
    def numbers_sentences(self) -> bool:
        """Whether replies name sentences by number, so that the prompt must show their numbers."""
        return False

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of the further scores that `scores` makes of a reading; () if there are none."""
        return ()

    @abstractmethod
    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read the reply that a model gave.

        Args:
            reply: what the model answered.
            scale: the numbers or labels that it may answer with.
            expectation: what else is known of the question.

        Raises:
            ReplyError: the reply holds no verdict on the scale.
        """

    @abstractmethod
    def write_reply(self, reading: Reading, scale: Scale) -> str:
        """Write a reply that `read_reply` reads as this reading, but for what the format does not express."""

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The headline score of a reading, 0..1: the value's position on the scale, unless there are parts.

        None if there is nothing to judge.
        """
        if reading.value is None:
            return None
        return scale.score(reading.value)

    def scores(self, reading: Reading, scale: Scale) -> Mapping[str, float]:  # noqa: ARG002  for parts
        """Further scores of a reading, 0..1, by their names; {} if there is nothing to judge."""
        return {}

    def schema(self, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG002  for formats that are JSON
        """A JSON schema of the reply; None if replies are not JSON."""
        return None


def missing_members(candidate: object) -> list[str]:
    """Return the names of the members of `Format` that an object lacks."""
    missing: list[str] = []
    for name in vars(Format):
        # What begins with an underscore is Python's own: `__doc__`, and the machinery of protocols.
        if not name.startswith("_") and not hasattr(candidate, name):
            missing.append(name)
    return missing
