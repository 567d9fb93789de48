"""What the baseline says of claims: which of them are backed, which are not, and by what passages."""

from __future__ import annotations

from collections.abc import Sequence

from groundjudge.offline.support import SUPPORTED, Support

# Characters of a sentence or a quote.
LONGEST_QUOTE = 160
# Claims of each kind that are named.
MOST_CLAIMS = 2
# Characters of a missing word.
LONGEST_WORD = 30


def reason(claims: Sequence[Support], where: str = "the source") -> str:
    """What was found and what was not, in a few sentences."""
    if not claims:
        return "Nothing is stated that could be checked."
    failed: list[Support] = []
    whole: list[Support] = []
    partly: list[Support] = []
    for claim in sorted(claims, key=lambda claim: claim.score):
        if claim.score < SUPPORTED:
            failed.append(claim)
        elif claim.is_whole:
            whole.append(claim)
        else:
            partly.append(claim)
    counts = f"{len(whole)} backed by {where}, {len(partly)} in part, {len(failed)} not"
    lines = [f"Statements: {len(claims)} ({counts})."]
    if whole:
        best = whole[-1]
        note = f" ({best.note})" if best.note else ""
        lines.append(f"Backed: {in_quotes(best.sentence)}{note} by {_at(best)}.")
    for label, shown_claims in (("Backed in part", partly), ("Not backed", failed)):
        lines.extend(
            f"{label}: {in_quotes(claim.sentence)}{_why(claim)}." for claim in shown_claims[:MOST_CLAIMS]
        )
    return " ".join(lines)


def reason_of_sentence(claim: Support) -> str:
    """What was found of a single sentence that makes a claim, and stands beside it."""
    if claim.score < SUPPORTED:
        return f"Not backed{_why(claim)}."
    if claim.is_whole:
        note = f" ({claim.note})" if claim.note else ""
        return f"Backed{note} by {_at(claim)}."
    return f"Backed in part{_why(claim)}."


def reason_beside_quotes(claims: Sequence[Support]) -> str:
    """Why sentences score low that have their quotes beside them; "" if there are none.

    The worst come first, and only a few of them are named: so the reason of a long response stays short.
    """
    claims_by_sentence = {claim.sentence: claim for claim in claims}  # texts can repeat themselves
    worst_first = sorted(claims_by_sentence.values(), key=lambda claim: claim.score)
    lines: list[str] = []
    for claim in worst_first[:MOST_CLAIMS]:
        is_contested = bool(claim.contradictions or claim.note)
        label = "Not backed" if is_contested else "Backed in part"
        fault = _fault(claim) or " (found, but not together)"
        lines.append(f"{label}: {in_quotes(claim.sentence)}{fault}.")
    n_more = len(worst_first) - MOST_CLAIMS
    if n_more > 0:
        lines.append(f"More below the pass mark: {n_more}.")
    return " ".join(lines)


def _why(claim: Support) -> str:
    """What contradicts a claim or is missing, and the passage that is most like it."""
    fault = _fault(claim)
    if claim.contradictions:
        return f"{fault}, against {_at(claim)}"
    if claim.quote:
        return f"{fault}, nearest: {_at(claim)}"
    return fault


def _fault(claim: Support) -> str:
    """What contradicts a claim, or else what is missing, in brackets; "" if nothing is."""
    if claim.contradictions:
        return f" ({'; '.join(claim.contradictions)})"
    if claim.note:
        return f" ({claim.note})"
    if claim.missing:
        missing_words = ", ".join(word[:LONGEST_WORD] for word in claim.missing)
        return f" (not found: {missing_words})"
    return ""


def _at(claim: Support) -> str:
    """The quote of a claim and where it is, texts being counted from 1 as in the prompts."""
    document, start, end = claim.passage
    return f"{in_quotes(claim.quote)} (text {document + 1}, {start} to {end})"


def in_quotes(text: str) -> str:
    """A text on one line in quotation marks, cut if it is long."""
    text = " ".join(text.split())
    return f"“{text if len(text) <= LONGEST_QUOTE else f'{text[: LONGEST_QUOTE - 1]}…'}”"
