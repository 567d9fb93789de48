"""What the baseline says of its findings. A text from the case is cut short and stands on one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from groundjudge.offline.claims import Claim
from groundjudge.offline.conflicts import Conflict
from groundjudge.offline.support import Support
from groundjudge.text.words import is_unspaced

SUPPORTED = 0.5
"""A claim with less support is called not backed."""
LONGEST_QUOTE = 90
MOST_QUOTES = 2
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
    parts = f", {len(partly)} in part" if partly else ""
    said = [f"{len(claims) - len(failed)} of {len(claims)} statements found in {where}{parts}."]
    if whole:
        said.append(f"Backed: {_quoted(whole[-1].text)} by {_at(whole[-1].support)}.")
    for label, some in (("Backed in part", partly), ("Not backed", failed)):
        said.extend(f"{label}: {_quoted(claim.text)}{_why(claim.support)}." for claim in some[:MOST_QUOTES])
    return " ".join(said)


def _quoted(text: str) -> str:
    """A text in quotation marks, cut short."""
    return f"“{_short(text)}”"


def _why(found: Support) -> str:
    """In what a claim differs from the passage that is most like it, or else what is missing."""
    differences = "; ".join(_differences(found.conflict))
    if differences:
        return f" ({differences}), against {_at(found)}"
    lacking = ", ".join(_short(one, LONGEST_WORD) for one in _lacking(found)[:MOST_WORDS])
    missing = f" (not found: {lacking})" if lacking else ""
    return f"{missing}, nearest: {_at(found)}" if found.quote else missing


def _differences(conflict: Conflict) -> Iterator[str]:
    instead = [pair for pair in (*conflict.clashes, conflict.renamed, conflict.contested) if pair]
    yield from (
        f"“{_short(mine) or 'nothing'}” instead of “{_short(theirs) or 'nothing'}”"
        for mine, theirs in instead
    )
    if conflict.exchanged:
        one, two = map(_short, conflict.exchanged)
        yield f"“{one}” and “{two}” in each other's place"
    if conflict.denied:
        yield "one denies what the other says"


def _lacking(found: Support) -> list[str]:
    """Numbers and words that are missing; of pairs of signs that overlap, where no spaces part words, one."""
    lacking = [*found.numbers]
    for word in found.missing:
        if lacking and is_unspaced(word) and lacking[-1][-1] == word[0]:
            lacking[-1] += word[1:]
        else:
            lacking.append(word)
    return lacking


def _at(found: Support) -> str:
    """The quote of a claim and where it stands, texts being counted from 1 as in the prompts."""
    return f"{_quoted(found.quote)} (text {(found.document or 0) + 1}, {found.start} to {found.end})"


def _short(text: str, longest: int = LONGEST_QUOTE) -> str:
    text = " ".join(text.split())
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
