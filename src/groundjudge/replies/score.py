"""What counts as a number in a verdict's place: one number; it is never guessed or clamped."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from groundjudge.errors import ReplyError
from groundjudge.replies.reply import Reply
from groundjudge.scale import BRACKETS, Scale

EMPHASIS = re.compile(r"[*_`]")
OWN_LABEL = re.compile(r"^(?:final\s+)?(?:score|rating)\s*[:=]\s*", re.IGNORECASE)
# A comma before exactly three digits may separate thousands: "1,000" is not 1. Only "0,125" is clear.
NUMBER = re.compile(r"[+\-−]?(?:0*,[0-9]+|[0-9]+(?:\.[0-9]+|,(?![0-9]{3}(?![0-9]))[0-9]+)?|\.[0-9]+)")
OUT_OF = re.compile(
    r"\s*(?:[(\[]\s*)?(?:/|out\s+of\b)\s*(?P<best>[0-9]+(?:[.,][0-9]+)?)(?:\s*[)\]])?", re.IGNORECASE
)
ANY_NUMBER = re.compile(
    r"(?P<of>(?:/|\bout\s+of\b)\s*)?(?P<digits>\d+(?:[.,]\d+)*)(?=(?P<counted>\s+[^\W\d_]{2,})?)"
)
# Words that turn a remark into another verdict, or into a scale.
CORRECTION = re.compile(
    r"\b(?:max|maximum|min|scale|score|rating|points?|or|to|maybe|perhaps|possibly|rather|instead|actually"
    r"|should|would|could|but|was|were|from|if|when|unless|else|before|after|initially|originally|oder|bis|eher|ou|plutôt|o|más)\b|->|→|或|到|至",
    re.IGNORECASE,
)
PERCENT = re.compile(r"\s*%")
COMMENT = re.compile(r"\s*(?:$|\n|[(\[（]|[-–—=:;\"'”。，；！]|[.,!](?:\s|$))")
# What goes on after digits is no number of its own: "4th", "4e0", "4.1.2".
GOES_ON = re.compile(r"[A-Za-zÀ-ɏ]|[.][0-9]")
# How a number can end that may be incomplete: "72", "72.", "7-", "85/".
BROKEN_OFF = re.compile(r"[.,]?|\s*[-–—/]\s*")


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

    text = _bare(place)
    found = NUMBER.match(text)
    if not found:
        raise error("not_a_number")
    value, rest = decimal(found[0]), text[found.end() :]
    out_of = OUT_OF.match(rest)
    if out_of:
        if decimal(out_of["best"]) != max(scale.worst, scale.best):
            raise error("out_of_scale")
        rest = rest[out_of.end() :]
    percent = PERCENT.match(rest)
    if percent and (scale.worst, scale.best) == (0, 100):
        rest = rest[percent.end() :]
    if GOES_ON.match(rest):
        raise error("not_a_number")
    if _has_another_number(rest, value, scale):
        raise error("ambiguous")
    if not COMMENT.match(rest):
        raise error("not_a_number")
    return on_scale(value, scale, error)


def _bare(place: str) -> str:
    """The place without emphasis, quotation marks, brackets around all of it, and a label of its own."""
    text = EMPHASIS.sub(" ", place).strip().strip("\"'“”").strip()
    if text[:1] + text[-1:] in BRACKETS:
        text = text[1:-1].strip()
    return OWN_LABEL.sub("", text)


def _has_another_number(rest: str, value: float, scale: Scale) -> bool:
    """Whether a number stands behind the first one that is neither its scale's best nor the value again.

    In a remark in brackets numbers may count something: "(all 3 facts match)".
    """
    if not any(map(str.isdigit, rest)):
        return False
    stripped = rest.strip()
    is_remark = stripped[0] + stripped[-1] in BRACKETS and not CORRECTION.search(stripped)
    return not all(
        _repeats(match, value, scale) or (is_remark and match["counted"] and match["digits"].isdecimal())
        for match in ANY_NUMBER.finditer(rest)
    )


def _repeats(match: re.Match[str], value: float, scale: Scale) -> bool:
    digits = match["digits"]
    if not re.fullmatch(NUMBER, digits):
        return False
    return decimal(digits) == (max(scale.worst, scale.best) if match["of"] else value)


def on_scale(value: float, scale: Scale, error: Callable[[str], ReplyError]) -> float:
    """The value if it lies on the scale, neither clamped nor rounded. Otherwise `error(code)` is raised."""
    if isinstance(value, float) and math.isnan(value):
        raise error("not_a_number")
    if not scale.holds(value):
        raise error("out_of_scale")
    if scale.integer and value != int(value):
        raise error("not_integer")
    return float(value) + 0.0  # -0.0 becomes 0.0


def decimal(digits: str) -> float:
    """The value of a number with a decimal point or a decimal comma."""
    return float(digits.replace(",", ".").replace("−", "-"))


def written(value: float) -> str:
    """A number in digits, never with an exponent; a whole number without a decimal point."""
    return format(Decimal(repr(float(value))), "f").removesuffix(".0")
