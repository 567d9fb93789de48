"""The protocol of reply formats. A custom format implements it and is passed as `reply=`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from groundjudge.replies.reading import NOTHING_ELSE, Asked, Reading
from groundjudge.replies.reply import Reply
from groundjudge.scale import Scale


@runtime_checkable
class Format(Protocol):
    """A reply format: reads replies, writes them and scores them. Nothing outside it knows their syntax.

    Use a frozen dataclass: a judge's identity depends on the class and the attributes of its format.
    """

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the scores that each reply has besides the headline score; () if there are none."""
        ...

    @property
    def parts_are_sentences(self) -> bool:
        """Whether the parts of a reading are the sentences of the response, and should cover all of it."""
        ...

    def read(self, reply: Reply, scale: Scale, asked: Asked = NOTHING_ELSE) -> Reading:
        """Read a reply to what was asked.

        Raises:
            ReplyError: the reply holds no verdict on the scale.
        """
        ...

    def write(self, reading: Reading, scale: Scale) -> str:
        """Write a reply that `read` reads as this reading, except for what the format does not express."""
        ...

    def score(self, reading: Reading, scale: Scale) -> float | None:
        """The headline score of a reading, 0..1; None if there is nothing to judge."""
        ...

    def schema(self, scale: Scale) -> dict[str, Any] | None:
        """A JSON schema of the reply; None if replies are not JSON."""
        ...


def score_of_value(_: object, reading: Reading, scale: Scale) -> float | None:
    """The position of the value on the scale, 0..1; None for a label that means "not applicable"."""
    return None if reading.value is None else scale.score(reading.value)


def no_schema(_: object, scale: Scale) -> dict[str, Any] | None:  # noqa: ARG001  required by the protocol
    """None: the reply is not JSON."""
    return None


def missing_members(candidate: object) -> list[str]:
    """The names of the members of `Format` that the candidate lacks."""
    members = ("part_names", "parts_are_sentences", "read", "write", "score", "schema")
    return [name for name in members if not hasattr(candidate, name)]
