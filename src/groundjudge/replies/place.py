"""What stands in a verdict's place: one number or, on a scale of labels, one label."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from groundjudge.errors import ReplyError
from groundjudge.replies.folded import fold
from groundjudge.replies.reply import Reply
from groundjudge.replies.score import EMPHASIS, ends_in_number, number, on_scale, written
from groundjudge.scale import Scale

PLACEHOLDER = re.compile(
    r"\W*(?:your\s+(?:\w+\s+){0,2}(?:score|number|rating|value|label|verdict|choice|answer)|score|number)\W*"
    r"|\s*(?:\.\.\.|…)\s*",
    re.IGNORECASE,
)
BETWEEN_LABELS = re.compile(r"[|/,;、\n]|\b(?:or|and)\b", re.IGNORECASE)
WHOLE_LINE = re.compile(r"\s*\S[^\n]*\n")


class Mark(NamedTuple):
    """What a place says.

    Attributes:
        value: the number, or the label's score; None for a label that means "not applicable".
        label: the label; "" on a scale of numbers.
    """

    value: float | None
    label: str = ""

    def __str__(self) -> str:
        return self.label or written(self.value or 0.0)


def mark(place: str, scale: Scale, reply: Reply, whose: str = "") -> Mark:
    """Read a place, all of which must be the verdict; see `number` for what may stand beside a number.

    Args:
        place: the folded text in the verdict's place.
        scale: the scale of the verdict.
        reply: the reply that contains the place, for the error.
        whose: what the verdict is of, for the error's message.

    Raises:
        ReplyError: as for `number`; `unknown_label` if the place is no label of the scale, and `ambiguous`
            if it names several.
    """
    if not scale.choices:
        return Mark(number(place, scale, reply, whose))
    label = scale.named(place)
    if label is None:
        code = "ambiguous" if len(_labels_in(place, scale)) > 1 else "unknown_label"
        of = f" of {whose[:80]!r}" if whose else ""
        message = f"the verdict{of} must be one of {', '.join(scale.choices)}, not {place.strip()[:80]!r}"
        raise ReplyError(code, reply.text, message)
    return Mark(scale.choices[label], label)


def json_mark(value: object, scale: Scale, reply: Reply) -> Mark:
    """Read a value of a JSON object; a string is folded and read like any other place.

    Raises:
        ReplyError: as for `mark`.
    """
    if isinstance(value, str):
        return mark(fold(value).text, scale, reply)
    if scale.choices:  # true, false and whole numbers are labels too, if the scale has them
        if isinstance(value, int):
            return mark(str(value), scale, reply)
        message = f"the verdict must be one of {', '.join(scale.choices)}, as a string and nothing else"
        raise ReplyError("unknown_label", reply.text, message)

    def error(code: str) -> ReplyError:
        message = f"the score must be one number on {scale}, not {str(value)[:80]!r}"
        return ReplyError(code, reply.text, message)

    if isinstance(value, bool) or not isinstance(value, int | float):
        raise error("not_a_number")
    return Mark(on_scale(value, scale, error))


def one_mark(places: Sequence[str], scale: Scale, reply: Reply, whose: str = "") -> Mark:
    """What all places say: verdicts that agree are one, verdicts that differ are `ambiguous`.

    Raises:
        ReplyError: as for `mark`.
    """
    if len(places) > 1 and len({_mark_or_none(place, scale, reply) for place in places}) > 1:
        message = f"the reply gives more than one score{f' of {whose[:80]!r}' if whose else ''}"
        raise ReplyError("ambiguous", reply.text, message)
    return mark(places[0], scale, reply, whose)


def is_placeholder(place: str, scale: Scale) -> bool:
    """Whether a place only repeats the prompt: "your Score", or all labels of the scale in a row."""
    if scale.named(place):
        return False
    if scale.choices and len(_labels_in(place, scale)) == len(scale.choices):
        return True
    return bool(PLACEHOLDER.fullmatch(EMPHASIS.sub(" ", place)))


def may_go_on(place: str, scale: Scale) -> bool:
    """Whether the verdict at the beginning of a text that was cut off may be incomplete."""
    return not WHOLE_LINE.match(place) if scale.choices else ends_in_number(place)


def _mark_or_none(place: str, scale: Scale, reply: Reply) -> Mark | None:
    try:
        return mark(place, scale, reply)
    except ReplyError:
        return None


def _labels_in(place: str, scale: Scale) -> set[str]:
    """The labels that a text lists; none if it says anything else."""
    named = {scale.named(piece) for piece in BETWEEN_LABELS.split(place) if piece.strip()}
    return {label for label in named if label} if None not in named else set()
