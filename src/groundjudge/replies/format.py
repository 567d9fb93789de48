"""What a reply format offers; a format of your own offers the same and is passed as `reply=`."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from groundjudge.replies.reading import Reading
from groundjudge.reply import Reply
from groundjudge.verdict import Scale


@runtime_checkable
class Format(Protocol):
    """A reply format answers for itself: nothing outside it knows how its replies are written.

    Frozen dataclasses serve best: a judge's identity holds the class and the attributes of its format.
    """

    @property
    def part_names(self) -> tuple[str, ...]:
        """The names of the scores that each reply has besides the headline; () where there are none."""
        ...

    @property
    def parts_are_sentences(self) -> bool:
        """Whether the parts of a reading are the sentences of the response, which they should cover."""
        ...

    def read(self, reply: Reply, scale: Scale) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: the reply holds no verdict on the scale.
        """
        ...

    def write(self, reading: Reading, scale: Scale) -> str:
        """Write the reply that `read` reads as this reading, as far as the format has a place for it."""
        ...

    def score(self, reading: Reading, scale: Scale) -> float:
        """The headline score of a reading, 0..1."""
        ...

    def schema(self, scale: Scale) -> dict[str, Any] | None:
        """A JSON schema of the reply; None where replies are not JSON."""
        ...


def missing_members(candidate: object) -> list[str]:
    """The names of what a would-be format lacks."""
    members = ("part_names", "parts_are_sentences", "read", "write", "score", "schema")
    return [name for name in members if not hasattr(candidate, name)]
