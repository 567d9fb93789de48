"""What the baseline says of its findings. A text from the case is cut short and put on one line."""

from __future__ import annotations

from collections.abc import Sequence

from groundjudge.offline.claims import Claim
from groundjudge.offline.support import Support

SUPPORTED = 0.5
"""A claim with less support is called not backed."""
LONGEST_QUOTE = 160
MOST_CLAIMS = 2
MOST_WORDS = 4
LONGEST_WORD = 30


def reason(claims: Sequence[Claim], where: str = "the source") -> str:
    """What was found and what was not, in a few sentences."""
    if not claims:
        return "Nothing is stated that could be checked."
    ranked = sorted(claims, key=lambda claim: claim.support.score)
    failed = [claim for claim in ranked if claim.support.score < SUPPORTED]
    whole = [claim for claim in ranked if claim.is_whole and claim not in failed]
    partly = [claim for claim in ranked if claim not in failed and claim not in whole]
    counts = f"{len(whole)} backed by {where}, {len(partly)} in part, {len(failed)} not"
    said = [f"Statements: {len(claims)} ({counts})."]
    if whole:
        said.append(f"Backed: {_quoted(whole[-1].text)} by {_at(whole[-1].support)}.")
    for label, some in (("Backed in part", partly), ("Not backed", failed)):
        said.extend(f"{label}: {_quoted(claim.text)}{_why(claim.support)}." for claim in some[:MOST_CLAIMS])
    return " ".join(said)


def _why(found: Support) -> str:
    """What contradicts a claim in the passage that is most like it, or else what is missing."""
    if found.contradictions:
        return f" ({'; '.join(found.contradictions)}), against {_at(found)}"
    lacking = ", ".join(_short(word, LONGEST_WORD) for word in found.missing[:MOST_WORDS])
    missing = f" (not found: {lacking})" if lacking else ""
    return f"{missing}, nearest: {_at(found)}" if found.quote else missing


def _at(found: Support) -> str:
    """The quote of a claim and where it is, texts being counted from 1 as in the prompts."""
    document, start, end = found.passage
    return f"{_quoted(found.quote)} (text {document + 1}, {start} to {end})"


def _quoted(text: str) -> str:
    return f"“{_short(text)}”"


def _short(text: str, longest: int = LONGEST_QUOTE) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
