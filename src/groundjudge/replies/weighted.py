"""How probable the model found each verdict, by the probabilities of the token that decided it.

The mean of this distribution agrees with people a little better than the likeliest value (Wang et al.,
"Improving LLM-as-a-Judge Inference with the Judgment Distribution", 2025).
"""

from __future__ import annotations

import re
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
    folded_labels = {name: fold_label(name).encode() for name in values_of(scale)}
    candidates = (token.text, *dict(token.candidates))
    # What each candidate contains of the verdict, and then the value that this is or begins.
    texts = {candidate: _begun_text(candidate, before, scale) for candidate in candidates}
    names = {candidate: _begun_value(texts[candidate], texts.values(), folded_labels) for candidate in texts}
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
    spelt = b"".join(token.text for token in reply.tokens)
    text = reply.text.encode().rstrip()
    # Where the text begins in what the tokens spell, with the last token or without it.
    for end in (len(spelt), len(spelt) - len(reply.tokens[-1].text)):
        tokens_text = spelt[:end].rstrip()
        if tokens_text.endswith(text):
            position = len(tokens_text) - len(text) + len(reply.text[: span[0]].encode())
            break
    else:
        return None, b""
    for token in reply.tokens:
        if position < len(token.text):
            return token, token.text[:position]
        position -= len(token.text)
    return None, b""


def _begun_text(candidate: bytes, before: bytes, scale: Scale) -> bytes:
    """Return the part of the verdict in a candidate, as `fold_label` writes labels; b"" if there is none.

    For the candidate `: "Yes` it is b"yes" if the verdict follows `: "`. It may end within a character.

    Args:
        candidate: the bytes of a token that could replace the deciding one.
        before: the bytes of the deciding token before the verdict.
        scale: the scale.
    """
    lead = before.strip(AROUND)
    text = candidate.lstrip(AROUND)
    if not text.startswith(lead):
        return b""
    verdict = text.removeprefix(lead).lstrip(AROUND).decode(errors="surrogateescape")
    line, newline, _ = fold(verdict).text.casefold().translate(MARKS).partition("\n")
    if scale.choices:
        line = re.sub(SPACES, " ", line)
    return (line.rstrip(" ") + newline).encode(errors="surrogateescape")


def _begun_value(text: bytes, texts: Iterable[bytes], folded_labels: Mapping[str, bytes]) -> str | None:
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
    names = [name for name, folded in folded_labels.items() if folded.startswith(text)]
    if not names:  # "A*" is the beginning of itself, and not the end of "A"
        for name, folded in folded_labels.items():
            behind = text.removeprefix(folded).decode(errors="surrogateescape")
            if text.startswith(folded) and not GOES_ON.match(behind):
                names.append(name)
    elif len(names) > 1:
        longer = [other for other in texts if other != text and other.startswith(text)]
        names = [name for name in names if not any(map(folded_labels[name].startswith, longer))]
    return names[0] if len(names) == 1 else None
