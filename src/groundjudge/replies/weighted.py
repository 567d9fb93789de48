"""How probable the model found each verdict, by the probabilities of the token that decided it.

The mean of this distribution agrees with people a little better than the likeliest value (Wang et al.,
"Improving LLM-as-a-Judge Inference with the Judgment Distribution", 2025).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import replace

from groundjudge.replies.distribution import values_of
from groundjudge.replies.format import PartReading, Reading, Span
from groundjudge.replies.opening import fold
from groundjudge.replies.reply import Reply, Token
from groundjudge.replies.value import write_value
from groundjudge.scale import MARKS, SPACES, Scale, fold_label
from groundjudge.text.patterns import compile_when_used

# How much of the probability must be on values of the scale; the rest might belong to any of them.
MIN_MASS = 0.98

# White space, quotation marks and emphasis before a verdict, which do not change it.
AROUND = b" \t\r\n\"'`*"

# What must not follow a value on its line: "1" is not all of "12", of "1.5" or of "1 of 3".
GOES_ON = compile_when_used(r"[^\S\n]*\w|[.,]\d|[-+]")


def with_probabilities(reading: Reading, reply: Reply, scale: Scale) -> Reading:
    """Return a reading with the distribution of its value or, if it has parts, with theirs.

    It has the warning `logprobs_unusable` if any of them is unknown.
    """
    parts = tuple(replace(part, distribution=distribution(reply, part, scale)) for part in reading.parts)
    own = None if parts else distribution(reply, reading, scale)
    warnings = reading.warnings
    if None in ([part.distribution for part in parts] or [own]):
        warnings = (*warnings, "logprobs_unusable")
    return replace(reading, parts=parts, distribution=own, warnings=warnings)


def distribution(reply: Reply, verdict: Reading | PartReading, scale: Scale) -> Mapping[str, float] | None:
    """Return the probability of each value of the scale at the verdict's position in the reply.

    Args:
        reply: a reply with its tokens.
        verdict: what was read there.
        scale: the scale; see `values_of`.

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
    folded_labels = {name: fold_label(name) for name in values_of(scale)}
    # What each candidate contains of the verdict, and then the value that this is or begins.
    texts: dict[bytes, str] = {}
    for candidate in (token.text, *dict(token.candidates)):
        texts[candidate] = _begun_text(candidate, before, scale)
    names: dict[bytes, str | None] = {}
    for candidate, text in texts.items():
        names[candidate] = _begun_value(text, texts.values(), folded_labels)
    if names[token.text] != write_value(verdict):  # the token that the model chose begins several values
        return None
    shares: dict[str, float] = {}
    for name in folded_labels:
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


def _begun_value(text: str, texts: Iterable[str], folded_labels: Mapping[str, str]) -> str | None:
    """Return the one value or label that a text is or begins; None if there is none, or several.

    If it begins several, those that a longer text also begins do not count: "1" is not the beginning of "10"
    if "10" is a single token. If it begins none, it may be a value and more, which is not part of it: "4</".

    Args:
        text: the text of a candidate, from `_begun_text`.
        texts: the texts of all candidates.
        folded_labels: the values as `fold_label` writes them, by their names.
    """
    if not text:
        return None
    names = [name for name, folded in folded_labels.items() if _begins(text, folded)]
    if not names:  # "A*" is the beginning of itself, and not the end of "A"
        for name, folded in folded_labels.items():
            if text.startswith(folded) and not GOES_ON.match(text, len(folded)):
                names.append(name)
    elif len(names) > 1:
        longer = [other for other in texts if other != text and _begins(text, other)]
        names = [name for name in names if not any(_begins(other, folded_labels[name]) for other in longer)]
    return names[0] if len(names) == 1 else None


def _begins(text: str, whole: str) -> bool:
    """Whether another text begins with this one, which may end within a character: "supp" and "supported"."""
    return whole.encode(errors="surrogateescape").startswith(text.encode(errors="surrogateescape"))
