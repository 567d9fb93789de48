"""How probable each verdict was to the model, by the probabilities of the token that decided.

The mean of this distribution agrees with people a little better than the likeliest value (Wang et al.,
"Improving LLM-as-a-Judge Inference with the Judgment Distribution", 2025).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from groundjudge.replies.format import PartReading, Reading, Span
from groundjudge.replies.opening import fold
from groundjudge.replies.reply import Reply, Token
from groundjudge.replies.value import value_text
from groundjudge.scale import DASHES, SPACES, Scale, fold_label

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
    weighed = [(each.value, distribution(reply, each, scale)) for each in verdicts]
    values = {name: own for name, own in _values(scale).items() if own not in (None, *not_applicable)}
    means = [_mean(own, shares or {}, values) for own, shares in weighed]
    is_known = all(shares is not None for _, shares in weighed)
    warnings = (*reading.warnings, *([] if is_known else ["logprobs_unusable"]))
    if not reading.parts:
        return replace(reading, value=means[0], warnings=warnings), weighed[0][1]
    parts = tuple(replace(part, value=mean) for part, mean in zip(reading.parts, means, strict=True))
    return replace(reading, parts=parts, warnings=warnings), None


def _mean(own: float | None, shares: Mapping[str, float], values: Mapping[str, float | None]) -> float | None:
    """The mean of the values that count; a verdict's own where none does, or where that has none."""
    total = sum(share for name, share in shares.items() if name in values)
    if own is None or not total:
        return own
    return sum((values[name] or 0.0) * share for name, share in shares.items() if name in values) / total


def distribution(reply: Reply, verdict: Reading | PartReading, scale: Scale) -> Mapping[str, float] | None:
    """The probability of each value of the scale where a verdict stands in the reply.

    Args:
        reply: a reply with its tokens.
        verdict: what was read there.
        scale: the scale; see `is_weighable`.

    Returns:
        Value or label -> probability, in the order of the scale, without those that have none; they add up
        to 1. {} for a verdict that claims nothing. None if they are not known: there are no tokens, they do
        not spell the text, the token begins several values, or less than 0.98 of the probability lies on the
        scale.
    """
    if verdict.value is None and not verdict.label:  # a sentence that claims nothing
        return {}
    token, before = _deciding(reply, verdict.span)
    if token is None:
        return None
    candidates = token.candidates
    texts = {each: _begun_text(each, before, scale) for each in (token.text, *dict(candidates))}
    names = {each: _name(text, texts.values(), scale) for each, text in texts.items()}
    if names[token.text] != value_text(verdict):
        return None
    known = {name: sum(own for each, own in candidates if names[each] == name) for name in _values(scale)}
    mass = sum(known.values())
    return {name: share / mass for name, share in known.items() if share} if mass >= LEAST_MASS else None


def _deciding(reply: Reply, span: Span | None) -> tuple[Token | None, bytes]:
    """The token in which the verdict begins, and what it has before it; None if the tokens do not spell it.

    Ahead of the text may be reasoning that the endpoint took out of it, behind it a token that ends it.
    """
    text, tokens = reply.text.encode().rstrip(), reply.tokens or ()
    starts = [*accumulate((len(token.text) for token in tokens), initial=0)]
    spelt = b"".join(token.text for token in tokens)
    wholes = (spelt[:end].rstrip() for end in (starts[-1], starts[-2:][0]))
    offset = next((len(whole) - len(text) for whole in wholes if whole.endswith(text)), None)
    if span is None or offset is None:
        return None, b""
    position = offset + len(reply.text[: span[0]].encode())
    at = bisect_right(starts, position) - 1
    return (tokens[at], tokens[at].text[: position - starts[at]]) if at < len(tokens) else (None, b"")


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
    wholes = {name: fold_label(name) for name in _values(scale)}
    ended = [name for name, whole in wholes.items() if _ends(text, whole)]
    begun = [name for name, whole in wholes.items() if text and _begins(text, whole)]
    if len(begun) > 1:
        longer = [other for other in texts if other != text and _begins(text, other)]
        begun = [name for name in begun if not any(_begins(other, wholes[name]) for other in longer)]
    found = ended or begun
    return found[0] if len(found) == 1 else None


def _ends(text: str, whole: str) -> bool:
    """Whether a text is more than a value, and what follows does not belong to it: "4</"."""
    return text != whole and text.startswith(whole) and not GOES_ON.match(text, len(whole))


def _begins(text: str, whole: str) -> bool:
    """Whether a text, which may end within a character, is a beginning of another one."""
    return whole.encode(errors="surrogateescape").startswith(text.encode(errors="surrogateescape"))


def _values(scale: Scale) -> Mapping[str, float | None]:
    """The values of a scale by what a reply says."""
    return scale.choices or {str(number): number for number in scale.whole_numbers}
