"""How probable each verdict was to the model, by the probabilities of the token that decided.

The mean of this distribution agrees with people a little better than the likeliest value (Wang et al.,
"Improving LLM-as-a-Judge Inference with the Judgment Distribution", 2025).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from groundjudge.replies.format import PartReading, Reading, Span
from groundjudge.replies.opening import fold
from groundjudge.replies.reply import Reply, Token
from groundjudge.replies.value import said
from groundjudge.scale import DASHES, SPACES, Scale, folded

# Endpoints give the probabilities of at most 20 tokens.
MOST_VALUES = 20

# How much of the probability must lie on values of the scale; the rest might be any of them.
LEAST_MASS = 0.98

# White space, quotation marks and emphasis before a verdict: with or without them it is the same.
AROUND = b" \t\r\n\"'`*"

# What must not follow a value on its line: "1" is not all of "12", of "1.5" or of "1 of 3".
GOES_ON = re.compile(r"[^\S\n]*\w|[.,]\d|[-+]")


def is_weighable(scale: Scale) -> bool:
    """Whether the values of a scale can be told apart by a token: few whole numbers from 0, or labels."""
    values = scale.whole_numbers
    return bool(scale.choices) or (0 < len(values) <= MOST_VALUES and values[0] >= 0)


def weigh(
    reply: Reply, reading: Reading, scale: Scale, not_applicable: Collection[float] = ()
) -> tuple[Reading, Mapping[str, float] | None]:
    """Weigh the value of a reading or, if it has parts, theirs.

    Values that mean "not applicable" have no part in a mean.

    Returns:
        The reading with the mean in place of each value whose probabilities are known, and the warning
        `logprobs_unusable` if those of a value are not; and the probabilities of the reading's own value, as
        `distribution` returns them, None if it has parts.
    """
    verdicts: Sequence[Reading | PartReading] = reading.parts or (reading,)
    # A sentence that claims nothing has no value to weigh.
    nothing: Mapping[str, float] = {}
    found = [
        nothing if each.value is None and not each.label else distribution(reply, each, scale)
        for each in verdicts
    ]
    means = [
        _mean(shares or {}, verdict.value, scale, not_applicable)
        for verdict, shares in zip(verdicts, found, strict=True)
    ]
    warnings = (*reading.warnings, *(["logprobs_unusable"] if None in found else []))
    if not reading.parts:
        return replace(reading, value=means[0], warnings=warnings), found[0]
    parts = tuple(replace(part, value=mean) for part, mean in zip(reading.parts, means, strict=True))
    return replace(reading, parts=parts, warnings=warnings), None


def distribution(reply: Reply, verdict: Reading | PartReading, scale: Scale) -> Mapping[str, float] | None:
    """The probability of each value of the scale where a verdict stands in the reply.

    Args:
        reply: a reply with its tokens.
        verdict: what was read there.
        scale: the scale; see `is_weighable`.

    Returns:
        Value or label -> probability, in the order of the scale, without those that have none; they add up
        to 1. None if that is not known: there are no tokens, they do not spell the text, the token begins
        several values, or less than 0.98 of the probability lies on the scale.
    """
    found = _deciding(reply, verdict.span)
    if found is None:
        return None
    token, before = found
    texts = {each: _begun_text(each, before, scale) for each in (token.text, *dict(token.candidates))}
    names = {each: _name(text, texts.values(), scale) for each, text in texts.items()}
    if names[token.text] != said(verdict):
        return None
    shares: defaultdict[str | None, float] = defaultdict(float)
    for candidate, probability in token.candidates:
        shares[names[candidate]] += probability
    known = {name: shares[name] for name in _names(scale) if name in shares}
    mass = sum(known.values())
    return {name: share / mass for name, share in known.items()} if mass >= LEAST_MASS else None


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
    """The token in which the verdict begins, and what that token has before it."""
    offset = _offset(reply)
    if span is None or offset is None:
        return None
    position, tokens = offset + len(reply.text[: span[0]].encode()), reply.tokens or ()
    starts = [*accumulate((len(token.text) for token in tokens), initial=0)]
    at = bisect_right(starts, position) - 1
    return (tokens[at], tokens[at].text[: position - starts[at]]) if at < len(tokens) else None


def _offset(reply: Reply) -> int | None:
    """Where the text begins in the bytes of the tokens; None if they do not spell it.

    Ahead of it may be reasoning that the endpoint took out of the text, behind it a token that ends it.
    """
    text = reply.text.encode().rstrip()
    spelt = [token.text for token in reply.tokens or ()]
    wholes = (b"".join(texts).rstrip() for texts in (spelt, spelt[:-1]))
    return next((len(whole) - len(text) for whole in wholes if whole.endswith(text)), None)


def _begun_text(candidate: bytes, before: bytes, scale: Scale) -> str:
    """What a candidate has of the verdict, written as `folded` writes labels; "" if it has none of it.

    Bytes of an incomplete character become surrogates.
    """
    lead, text = before.strip(AROUND), candidate.lstrip(AROUND)
    if not text.startswith(lead):
        return ""
    own = text.removeprefix(lead).lstrip(AROUND).decode(errors="surrogateescape")
    line, newline, _ = fold(own).text.casefold().translate(DASHES).partition("\n")
    return (SPACES.sub(" ", line) if scale.choices else line).rstrip(" ") + newline


def _name(text: str, texts: Iterable[str], scale: Scale) -> str | None:
    """The one value or label that a text is or begins; None if there is none, or several.

    A text that begins several begins only those for which no longer one is among the texts: "1" is not the
    beginning of "10" where "10" is a token of its own.
    """
    wholes = {name: folded(name) for name in _names(scale)}
    ended = [name for name, whole in wholes.items() if _has_ended(whole, text)]
    begun = [name for name, whole in wholes.items() if text and _begins(text, whole)]
    if len(begun) > 1:
        longer = [other for other in texts if other != text and _begins(text, other)]
        begun = [name for name in begun if not any(_begins(other, wholes[name]) for other in longer)]
    found = ended or begun
    return found[0] if len(found) == 1 else None


def _has_ended(whole: str, text: str) -> bool:
    """Whether a text has all of a value, and more after it that does not belong to it: "4</"."""
    return text != whole and text.startswith(whole) and not GOES_ON.match(text, len(whole))


def _begins(text: str, whole: str) -> bool:
    """Whether a text, which may end within a character, is a beginning of another one."""
    return whole.encode(errors="surrogateescape").startswith(text.encode(errors="surrogateescape"))


def _names(scale: Scale) -> Iterable[str]:
    return scale.choices or map(str, scale.whole_numbers)
