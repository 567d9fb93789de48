"""A piece of a quote that is nowhere as it is: sentence by sentence, joined, or nearly."""

from __future__ import annotations

import re
from itertools import islice

from groundjudge.evidence.exact import FINAL, exact, without_final
from groundjudge.evidence.near import near
from groundjudge.evidence.pieces import JOINT, MOST_PIECES, STRONG
from groundjudge.evidence.skeleton import MARKS
from groundjudge.evidence.sources import Sources
from groundjudge.text.sentences import sentences
from groundjudge.verdict import Evidence

MAX_WARNINGS = 20
MOST_JOINTS = 40
SHORTEST_JOINED = 8
"""Letters and digits of a quote that is joined to another one without marks; half as many in Chinese."""
_UNSPACED = re.compile("[\u0e00-\u109f\u3041-\u9fff]")
_ENDS_CLAUSE = re.compile(rf"\s*(?:[{re.escape(FINAL)}()（）—–:]|\n|\Z)")
_BEGINS_CLAUSE = re.compile(r"(?:\A|[.,;:!?…。，；：！？、()（）—–\n]|^[-*•])[\s*_#>-]*\Z")


def inexact(piece: str, sources: Sources) -> tuple[list[Evidence], list[str]]:
    """Look up a piece of a quote that no document has as it is."""
    if (joined := _joined(piece, sources)) is not None:
        return joined, []
    parts = [span.text for span in islice(sentences(piece), MOST_PIECES)]
    if len(parts) < 2:  # noqa: PLR2004  it is one sentence
        return _nearly(piece, sources)
    evidence: list[Evidence] = []
    warnings: list[str] = []
    for part in parts:
        found, warned = _sentence(part, sources)
        evidence.extend(found)
        warnings.extend(warned)
        if len(warnings) >= MAX_WARNINGS:
            break
    return evidence, warnings


def _sentence(part: str, sources: Sources) -> tuple[list[Evidence], list[str]]:
    if whole := exact(part, sources):
        return [whole], []
    if (joined := _joined(part, sources)) is not None:
        return joined, []
    return _nearly(part, sources)


def _nearly(part: str, sources: Sources) -> tuple[list[Evidence], list[str]]:
    if found := without_final(part, sources):
        return [found], []
    similar, warning = near(part, sources)
    return [similar] if similar else [], [warning] if warning else []


def _joined(part: str, sources: Sources) -> list[Evidence] | None:
    """The quotes that make up a text, if they are all exact and each is a clause of its own.

    A longer text can only be in a document if a shorter one with the same beginning is, so halving finds the
    longest beginning that is in one.
    """
    places = (joint.span() for joint in JOINT.finditer(part) if _is_joint(part, joint))
    joints = list(islice(places, MOST_JOINTS + 1))
    if not joints or len(joints) > MOST_JOINTS:
        return None
    ends = [*joints, (len(part), len(part))]
    found: list[Evidence] = []
    start = 0
    while ends:
        candidates = ends[: _longest(part, start, ends, sources)]
        clause = _clause(part, start, candidates, sources)
        if clause is None:
            return None
        number, evidence = clause
        found.append(evidence)
        start = ends[number][1]
        ends = ends[number + 1 :]
    return found


def _is_joint(part: str, joint: re.Match[str]) -> bool:
    """Whether two quotes may meet here; at a mere space only if the next word has a capital letter."""
    return bool(joint[0].strip()) or part[joint.end() : joint.end() + 1].isupper()


def _longest(part: str, start: int, ends: list[tuple[int, int]], sources: Sources) -> int:
    """How many of the ends a text from `start` may reach in a document."""
    low, high = 0, len(ends)
    while low < high:
        middle = (low + high + 1) // 2
        if sources.corpus.holds(part[start : ends[middle - 1][0]]):
            low = middle
        else:
            high = middle - 1
    return low


def _clause(
    part: str, start: int, ends: list[tuple[int, int]], sources: Sources
) -> tuple[int, Evidence] | None:
    """The longest quote from `start` that is exact and a clause of its own, and the index of its end."""
    for index in range(len(ends) - 1, -1, -1):
        text = part[start : ends[index][0]].strip().strip(MARKS)
        if not _is_long_enough(text):
            return None
        evidence = exact(text, sources)
        if evidence and _may_join(part, start, ends[index], evidence, sources):
            return index, evidence
    return None


def _may_join(part: str, start: int, end: tuple[int, int], evidence: Evidence, sources: Sources) -> bool:
    source = sources.documents[evidence.document].content
    is_first, is_last = start == 0, end[0] == len(part)
    before = part[max(0, start - 4) : start]
    return (is_last or bool(STRONG.search(part[slice(*end)])) or _ends_clause(source, evidence.end)) and (
        is_first or bool(STRONG.search(before)) or _begins_clause(source, evidence.start)
    )


def _ends_clause(source: str, end: int) -> bool:
    return source[end - 1] in FINAL or bool(_ENDS_CLAUSE.match(source, end))


def _begins_clause(source: str, start: int) -> bool:
    return bool(_BEGINS_CLAUSE.search(source, max(0, start - 16), start)) or not start


def _is_long_enough(text: str) -> bool:
    letters = sum(map(str.isalnum, text))
    return letters >= (SHORTEST_JOINED // 2 if _UNSPACED.search(text) else SHORTEST_JOINED)
