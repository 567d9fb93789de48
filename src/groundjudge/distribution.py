"""How probable each verdict was to the model, by the probabilities of the token that decided.

The mean of this distribution agrees with people a little better than the likeliest value (Wang et al.,
"Improving LLM-as-a-Judge Inference with the Judgment Distribution", 2025).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from groundjudge.replies.folded import fold
from groundjudge.replies.reading import Reading, Span
from groundjudge.reply import Reply, Token
from groundjudge.scale import Scale, folded

MOST_VALUES = 20
"""Endpoints give the probabilities of at most 20 tokens."""

LEAST_MASS = 0.9
"""How much of the probability must lie on values of the scale; the rest might be any of them."""

BEGINNING = re.compile(r"[^\W_]")
NUMBER = re.compile(r"\d+(?![\d]*[.,]\d)")
WORDS = re.compile(r"[\w\s\-]+")


def is_weighable(scale: Scale) -> bool:
    """Whether the values of a scale can be told apart by a token: few whole numbers from 0, or labels."""
    values = scale.whole_numbers
    return bool(scale.choices) or (0 < len(values) <= MOST_VALUES and values[0] >= 0)


@dataclass(frozen=True)
class Weighed:
    """A reading after its values were weighed.

    Attributes:
        reading: the reading with the mean in place of each value whose probabilities are known.
        shares: the probabilities of the reading's own value, as `distribution` returns them.
        warnings: `logprobs_unusable` if the probabilities of a value are not known.
    """

    reading: Reading
    shares: Mapping[str, float] | None = None
    warnings: tuple[str, ...] = ()


def weigh(reply: Reply, reading: Reading, scale: Scale, not_applicable: Collection[float] = ()) -> Weighed:
    """Weigh the value of a reading, and those of its parts.

    Values that mean "not applicable" have no part in a mean.
    """
    known: list[bool] = []

    def mean(value: float | None, span: Span | None) -> tuple[float | None, Mapping[str, float] | None]:
        shares = distribution(reply, span, scale)
        known.append(shares is not None)
        return _mean(shares or {}, value, scale, not_applicable), shares

    parts = tuple(replace(part, value=mean(part.value, part.span)[0]) for part in reading.parts)
    value, shares = (reading.value, None) if parts else mean(reading.value, reading.span)
    warnings = () if all(known) else ("logprobs_unusable",)
    return Weighed(replace(reading, value=value, parts=parts), shares, warnings)


def distribution(reply: Reply, span: Span | None, scale: Scale) -> Mapping[str, float] | None:
    """The probability of each value of the scale in a place of the reply.

    Args:
        reply: a reply with its tokens.
        span: where the verdict stands in the reply's text.
        scale: the scale; see `is_weighable`.

    Returns:
        Value or label -> probability, in the order of the scale, without those that have none; they add up to
        1. None if that is not known: there are no tokens, they do not spell the text, less than 0.9 of the
        probability lies on the scale, or the token begins several values.
    """
    found = _deciding(reply, span)
    if found is None:
        return None
    token, before = found
    shares: defaultdict[str, float] = defaultdict(float)
    wholes = {text for candidate, _ in token.candidates if (text := _verdict_text(candidate, before, scale))}
    for candidate, probability in token.candidates:
        name = _name_of(_verdict_text(candidate, before, scale), scale, wholes)
        if name:
            shares[name] += probability
    mass = sum(shares.values())
    if mass < LEAST_MASS:
        return None
    return {name: shares[name] / mass for name in _names(scale) if name in shares}


def _mean(
    shares: Mapping[str, float], value: float | None, scale: Scale, not_applicable: Collection[float]
) -> float | None:
    """The mean of the values by their probabilities; the value itself where there are none, or it is None."""
    values = scale.choices or {name: float(name) for name in shares}
    weights = [
        (own, share)
        for name, share in shares.items()
        if (own := values[name]) is not None and own not in not_applicable
    ]
    total = sum(share for _, share in weights)
    return value if value is None or not total else sum(own * share for own, share in weights) / total


def _deciding(reply: Reply, span: Span | None) -> tuple[Token, bytes] | None:
    """The token in which the verdict begins, and what that token has before it; offsets are in bytes."""
    beginning = BEGINNING.search(reply.text, *span) if span else None
    if beginning is None or not reply.tokens:
        return None
    position = len(reply.text[: beginning.start()].encode())
    if not b"".join(token.text for token in reply.tokens).startswith(reply.text.encode()):
        return None  # the tokens are not those of the text
    ends = accumulate((len(token.text) for token in reply.tokens), initial=0)
    for token, (start, end) in zip(reply.tokens, pairwise(ends), strict=True):
        if start <= position < end:
            return token, token.text[: position - start]
    return None


def _verdict_text(candidate: bytes, before: bytes, scale: Scale) -> str:
    """How a candidate begins the verdict, folded; "" if it does not."""
    text, prefix = (fold(part.decode(errors="replace")).text.strip() for part in (candidate, before))
    if not text.startswith(prefix):
        return ""
    match = (WORDS if scale.choices else NUMBER).match(text.removeprefix(prefix).strip())
    return folded(match[0]) if match else ""


def _name_of(text: str, scale: Scale, wholes: Iterable[str]) -> str | None:
    """The one value or label that a text can be the beginning of; None if there is none, or several.

    A text that is a value and begins another one is the value if the other one is a token of its own, as
    "10" is beside "1".
    """
    if not text:
        return None
    begun = {name: folded(name) for name in _names(scale) if folded(name).startswith(text)}
    if not scale.choices:
        begun = {name: whole for name, whole in begun.items() if whole == text or whole not in wholes}
    return next(iter(begun)) if len(begun) == 1 else None


def _names(scale: Scale) -> Iterator[str]:
    return iter(scale.choices) if scale.choices else map(str, scale.whole_numbers)
