"""What counts as a score: one number in its place; it is never guessed or clamped."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from groundjudge.errors import ReplyError
from groundjudge.reply import Reply
from groundjudge.verdict import Scale

EMPHASIS = re.compile(r"[*_`]")
PLACEHOLDER = re.compile(
    r"\W*(?:your\s+(?:\w+\s+){0,2}(?:score|number|rating|value)|score|number)\W*|\s*(?:\.\.\.|…)\s*",
    re.IGNORECASE,
)
OWN_LABEL = re.compile(r"^(?:final\s+)?(?:score|rating)\s*[:=]\s*", re.IGNORECASE)
# A comma before exactly three digits may separate thousands: "1,000" is not 1. Only "0,125" is clear.
NUMBER = re.compile(r"[+\-−]?(?:0*,[0-9]+|[0-9]+(?:\.[0-9]+|,(?![0-9]{3}(?![0-9]))[0-9]+)?|\.[0-9]+)")
OUT_OF = re.compile(
    r"\s*(?:[(\[]\s*)?(?:/|out\s+of\b)\s*(?P<best>[0-9]+(?:[.,][0-9]+)?)(?:\s*[)\]])?", re.IGNORECASE
)
SECOND_NUMBER = re.compile(
    r"(?:\s+|\s*[-–—−~/|,;:&=+>→，、；]+\s*)[+\-−]?[.,]?\d"
    r"|\s*(?:[-–—−~/|,;:.!&=+>→(\[，、；（]+\s*)?"
    r"(?:(?:or|to|and|maybe|perhaps|possibly|rather|wait|no(?=,)|bis|oder|und|ou|à|o|y)\b\W{0,2}){1,3}"
    r"(?:\w+\s+)?\d"
    r"|\s*(?:[,(，（]\s*)?(?:或者?|至|到|か)\s*\d",
    re.IGNORECASE,
)
PERCENT = re.compile(r"\s*%")
COMMENT = re.compile(r"\s*(?:$|\n|[(\[（]|[-–—=:;\"'”。，；！]|[.,!](?:\s|$))")
# How a number can end that may be incomplete: "72", "72.", "7-", "85/".
BROKEN_OFF = re.compile(r"[.,]?|\s*[-–—/]\s*")


def is_placeholder(place: str) -> bool:
    """Whether a score's place only repeats the prompt's placeholder ("your Score")."""
    return bool(PLACEHOLDER.fullmatch(EMPHASIS.sub(" ", place)))


def ends_in_number(place: str) -> bool:
    """Whether a place ends within or right after its number, so that digits may be missing."""
    match = NUMBER.search(place)
    return match is None or bool(BROKEN_OFF.fullmatch(place, match.end()))


def number(place: str, scale: Scale, reply: Reply, whose: str = "") -> float:
    """The number in a score's place: digits, then nothing, a comment, or `/N` with the scale's best N.

    Args:
        place: the folded text in the score's place.
        scale: the scale that the number must lie on.
        reply: the reply that contains the place, for the error.
        whose: what the score is of, for the error's message.

    Returns:
        The number, on the judge's own scale.

    Raises:
        ReplyError: `not_a_number`, `ambiguous`, `out_of_scale` or `not_integer`.
    """

    def error(code: str) -> ReplyError:
        of = f" of {whose[:80]!r}" if whose else ""
        return ReplyError(
            code, reply.text, f"the score{of} must be one number on {scale}, not {place.strip()[:80]!r}"
        )

    text = OWN_LABEL.sub("", EMPHASIS.sub(" ", place).strip().strip("\"'“”").strip())
    found = NUMBER.match(text)
    if not found:
        raise error("not_a_number")
    rest = text[found.end() :]
    out_of = OUT_OF.match(rest)
    if out_of:
        if decimal(out_of["best"]) != max(scale.worst, scale.best):
            raise error("out_of_scale")
        rest = rest[out_of.end() :]
    if SECOND_NUMBER.match(rest):
        raise error("ambiguous")
    percent = PERCENT.match(rest)
    if percent and (scale.worst, scale.best) == (0, 100):
        rest = rest[percent.end() :]
    if not COMMENT.match(rest):
        raise error("not_a_number")
    return on_scale(decimal(found[0]), scale, error)


def on_scale(value: float, scale: Scale, error: Callable[[str], ReplyError]) -> float:
    """The value if it lies on the scale, neither clamped nor rounded. Otherwise `error(code)` is raised."""
    if isinstance(value, float) and math.isnan(value):
        raise error("not_a_number")
    if not scale.holds(value):
        raise error("out_of_scale")
    if scale.integer and value != int(value):
        raise error("not_integer")
    return float(value) + 0.0  # -0.0 becomes 0.0


def same_number(place: str, value: float, scale: Scale, reply: Reply) -> bool:
    """Whether a place holds that value; False if it cannot be read."""
    try:
        return number(place, scale, reply) == value
    except ReplyError:
        return False


def decimal(digits: str) -> float:
    """The value of a number with a decimal point or a decimal comma."""
    return float(digits.replace(",", ".").replace("−", "-"))


def written(value: float) -> str:
    """A number in digits, never with an exponent; a whole number without a decimal point."""
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")
