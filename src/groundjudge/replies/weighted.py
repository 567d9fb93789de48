"""How probable the model found each verdict, by the probabilities of the token that decided it.

The mean of this distribution agrees with people a little better than the likeliest value (Wang et al.,
"Improving LLM-as-a-Judge Inference with the Judgment Distribution", 2025).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from groundjudge.replies.format import PartReading, Reading, Span
from groundjudge.replies.opening import fold
from groundjudge.replies.reply import Reply, Token
from groundjudge.replies.value import write_value
from groundjudge.scale import MARKS, SPACES, Scale, fold_label
from groundjudge.text.patterns import compile_when_used

# Endpoints return the probabilities of at most 20 tokens.
MAX_VALUES = 20

# How much of the probability must be on values of the scale; the rest might belong to any of them.
MIN_MASS = 0.98

# White space, quotation marks and emphasis before a verdict, which do not change it.
AROUND = b" \t\r\n\"'`*"

# What must not follow a value on its line: "1" is not all of "12", of "1.5" or of "1 of 3".
GOES_ON = compile_when_used(r"[^\S\n]*\w|[.,]\d|[-+]")


def is_weighable(scale: Scale) -> bool:
    """Whether a token can tell the values of a scale apart: few whole numbers from 0, or labels."""
    if scale.choices:
        return True
    values = scale.whole_numbers
    return 0 < len(values) <= MAX_VALUES and values[0] >= 0


def weigh(
    reply: Reply, reading: Reading, scale: Scale, not_applicable: Collection[float] = ()
) -> tuple[Reading, Mapping[str, float] | None]:
    """Weight the value of a reading or, if it has parts, their values.

    Values that mean "not applicable" are left out of the means.

    Returns:
        The reading with the mean in place of each value whose probabilities are known, and the warning
        `logprobs_unusable` if any are not; and the probabilities of the reading's own value, as returned by
        `distribution`, or None if it has parts.
    """
    values = values_with_score(scale_values(scale), not_applicable)
    unusable = (*reading.warnings, "logprobs_unusable")
    if not reading.parts:
        shares = distribution(reply, reading, scale)
        warnings = unusable if shares is None else reading.warnings
        mean = mean_by_shares(reading.value, shares, values)
        return replace(reading, value=mean, warnings=warnings), shares
    parts: list[PartReading] = []
    warnings = reading.warnings
    for part in reading.parts:
        shares = distribution(reply, part, scale)
        if shares is None:
            warnings = unusable
        mean = mean_by_shares(part.value, shares, values)
        parts.append(replace(part, value=mean, distribution=shares))
    return replace(reading, parts=tuple(parts), warnings=warnings), None


def values_with_score(
    values: Mapping[str, float | None], not_applicable: Collection[float]
) -> Mapping[str, float]:
    """Return the values that have a score."""
    scored: dict[str, float] = {}
    for name, value in values.items():
        if value is not None and value not in not_applicable:
            scored[name] = value
    return scored


def mean_by_shares(
    value: float | None, shares: Mapping[str, float] | None, values: Mapping[str, float]
) -> float | None:
    """Return the mean of the values that count, weighted by their shares.

    It is 4.25 for {"4": 0.6, "5": 0.2, "n/a": 0.2} with the values {"4": 4, "5": 5}.

    Args:
        value: the verdict's own value. It is returned if it is None, or if none that counts has a share.
        shares: the share of each value, by its name: a label, or a number in digits.
        values: the values that count, by the same names.
    """
    if value is None or shares is None:
        return value
    counted = [name for name in shares if name in values]
    total = sum(shares[name] for name in counted)
    if not total:
        return value
    return sum(values[name] * shares[name] for name in counted) / total


def distribution(reply: Reply, verdict: Reading | PartReading, scale: Scale) -> Mapping[str, float] | None:
    """Return the probability of each value of the scale at the verdict's position in the reply.

    Args:
        reply: a reply with its tokens.
        verdict: what was read there.
        scale: the scale; see `is_weighable`.

    Returns:
        The probability of each value, by its number in digits, {"4": 0.7, "5": 0.3}, or by its label on a
        scale of labels; in the order of the scale, without those of 0. They add up to 1. {} for a verdict
        that claims nothing. None if the probabilities are unknown: there are no tokens, they do not spell the
        text, the token begins several values, or less than 0.98 of the probability is on the scale.
    """
    if verdict.value is None and not verdict.label:  # a sentence that claims nothing
        return {}
    token, before = _find_deciding_token(reply, verdict.span)
    if token is None:
        return None
    # What each candidate contains of the verdict, and then the value that this is or begins.
    texts: dict[bytes, str] = {}
    for candidate in (token.text, *dict(token.candidates)):
        texts[candidate] = _begun_text(candidate, before, scale)
    names: dict[bytes, str | None] = {}
    for candidate, text in texts.items():
        names[candidate] = _begun_value(text, texts.values(), scale)
    if names[token.text] != write_value(verdict):  # the token that the model chose begins several values
        return None
    shares: dict[str, float] = {}
    for name in scale_values(scale):
        shares[name] = sum(share for candidate, share in token.candidates if names[candidate] == name)
    mass = sum(shares.values())
    if mass >= MIN_MASS:
        return {name: share / mass for name, share in shares.items() if share}
    return None


def _find_deciding_token(reply: Reply, span: Span | None) -> tuple[Token | None, bytes]:
    """Return the token in which the verdict begins, and its bytes before the verdict; None if unknown.

    For the tokens `Score`, `: 4` and the verdict 4, these are `: 4` and `: `.

    The tokens must spell the text. Before it they may contain reasoning that the endpoint removed from the
    text, and after it one token that ends the reply.
    """
    if span is None or not reply.tokens:
        return None, b""
    starts = [0]
    for token in reply.tokens:
        starts.append(starts[-1] + len(token.text))
    spelt = b"".join(token.text for token in reply.tokens)
    text = reply.text.encode().rstrip()
    # Where the text begins in what the tokens spell, with the last token or without it.
    offset = None
    for end in (starts[-1], starts[-2]):
        tokens_text = spelt[:end].rstrip()
        if tokens_text.endswith(text):
            offset = len(tokens_text) - len(text)
            break
    if offset is None:
        return None, b""
    position = offset + len(reply.text[: span[0]].encode())
    index = bisect_right(starts, position) - 1
    if index == len(reply.tokens):
        return None, b""
    token = reply.tokens[index]
    return token, token.text[: position - starts[index]]


def _begun_text(candidate: bytes, before: bytes, scale: Scale) -> str:
    """Return the part of the verdict in a candidate, as `fold_label` writes labels; "" if there is none.

    For the candidate `: "Yes` it is "yes" if the verdict follows `: "`. Bytes of an incomplete character
    become surrogates.

    Args:
        candidate: the bytes of a token that could replace the deciding one.
        before: the bytes of the deciding token before the verdict.
        scale: the scale.
    """
    lead = before.strip(AROUND)
    text = candidate.lstrip(AROUND)
    if not text.startswith(lead):
        return ""
    verdict = text.removeprefix(lead).lstrip(AROUND).decode(errors="surrogateescape")
    line, newline, _ = fold(verdict).text.casefold().translate(MARKS).partition("\n")
    if scale.choices:
        line = re.sub(SPACES, " ", line)
    return line.rstrip(" ") + newline


def _begun_value(text: str, texts: Iterable[str], scale: Scale) -> str | None:
    """Return the one value or label that a text is or begins; None if there is none, or several.

    If it begins several, those that a longer text also begins do not count: "1" is not the beginning of "10"
    if "10" is a single token.

    Args:
        text: the text of a candidate, from `_begun_text`.
        texts: the texts of all candidates.
        scale: the scale.
    """
    ended: list[str] = []
    begun: dict[str, str] = {}
    for name in scale_values(scale):
        folded = fold_label(name)
        if _is_ended(text, folded):
            ended.append(name)
        if text and _begins(text, folded):
            begun[name] = folded
    names = [*begun]
    if len(names) > 1:
        longer = [other for other in texts if other != text and _begins(text, other)]
        names = [name for name in names if not any(_begins(other, begun[name]) for other in longer)]
    elif not begun:  # "A*" is the beginning of itself, and not the end of "A"
        names = ended
    return names[0] if len(names) == 1 else None


def _is_ended(text: str, value: str) -> bool:
    """Whether a text is a value and more, which does not belong to the value: "4</"."""
    return text != value and text.startswith(value) and not GOES_ON.match(text, len(value))


def _begins(text: str, whole: str) -> bool:
    """Whether another text begins with this one, which may end within a character: "supp" and "supported"."""
    return whole.encode(errors="surrogateescape").startswith(text.encode(errors="surrogateescape"))


def scale_values(scale: Scale) -> Mapping[str, float | None]:
    """Return a scale's values by how replies write them: {"1": 1, "2": 2}, or {"yes": 1.0, "no": 0.0}."""
    if scale.choices:
        return scale.choices
    return {str(number): number for number in scale.whole_numbers}
