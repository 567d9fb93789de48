"""Evidence is checked, not believed: every quote is looked up in the documents it is said to be from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from groundjudge.case import Document
from groundjudge.facts import negations, numbers
from groundjudge.verdict import Evidence

NEAR = 90.0
"""A quote counts as near when it aligns with the source by so many per cent."""
LONGEST_SLIP = 20
"""A stretch of so many letters of the response that no block covers is a sentence left out."""

MARKS = "'‘’‚‛`´\"“”„‟«»"
ELLIPSIS = re.compile(r"\s*[\[(]?(?:\.{3,}|…)[\])]?\s*")
LISTED = re.compile(r"\n\s*(?:[-*•]|[0-9]+[.)])\s+|(?<=[\"”»])\s*[,;]?\s+(?=[\"“«])|\n")
BULLET = re.compile(r"^\s*(?:[-*•]|[0-9]+[.)])\s+")
WRAPPED = re.compile(f"^[{MARKS}]+|[{MARKS}]+$")


def find(
    quotes: Iterable[str], documents: Sequence[Document]
) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Look up what a judge gave as evidence: texts that hold one quote, or several joined or listed.

    Returns:
        What was found, and a warning for what was not: `evidence_altered` (a near match whose
        numbers or negations differ) or `evidence_not_found` (it stands nowhere).
    """
    found: list[Evidence] = []
    warnings: list[str] = []
    for quote in quotes:
        evidence, warned = _look_up(quote, documents)
        found.extend(evidence)
        warnings.extend(warned)
    return tuple(found), tuple(dict.fromkeys(warnings))


def unlisted(sentences: Sequence[str], response: str) -> tuple[str, ...]:
    """Compare the sentences of the blocks with the response that they should make up.

    Returns:
        `statement_not_in_response` when a sentence is none of the response's, and
        `statement_missing` when taking all of them out of the response leaves a run of text.
    """
    covered: list[tuple[int, int]] = []
    warnings: list[str] = []
    source = [Document(content=response)]
    for sentence in sentences:
        spans = _everywhere(sentence, response)
        if not spans:
            near, _ = _near(sentence, source)
            spans = [(near.start, near.end)] if near else []
        if not spans:
            warnings.append("statement_not_in_response")
        covered.extend(spans)
    if any(sum(map(str.isalpha, gap)) >= LONGEST_SLIP for gap in _gaps(response, covered)):
        warnings.append("statement_missing")
    return tuple(dict.fromkeys(warnings))


def _look_up(quote: str, documents: Sequence[Document]) -> tuple[list[Evidence], list[str]]:
    """One quote as it stands or, where it stands nowhere as a whole, the pieces it is made of."""
    whole = _exact(quote, documents) or _exact(BULLET.sub("", quote), documents)
    if whole:
        return [whole], []
    pieces = [piece for part in LISTED.split(quote) for piece in ELLIPSIS.split(part)]
    found: list[Evidence] = []
    warnings: list[str] = []
    for piece in pieces:
        bare = BULLET.sub("", piece).strip()
        if not any(map(str.isalnum, bare)):
            continue
        evidence = _exact(bare, documents)
        warning = None
        if evidence is None:
            evidence, warning = _near(bare, documents)
        if evidence:
            found.append(evidence)
        if warning:
            warnings.append(warning)
    return found, warnings


def _exact(quote: str, documents: Sequence[Document]) -> Evidence | None:
    """Where a quote stands, equal but for white space, quotation marks and case."""
    for written in _ways(quote):
        for index, document in enumerate(documents):
            start = document.content.find(written)  # most quotes are verbatim, and this is quick
            if start >= 0:
                return Evidence(
                    quote=written, document=index, start=start, end=start + len(written), exact=True
                )
        pattern = re.compile(_folding(written), re.IGNORECASE)
        for index, document in enumerate(documents):
            match = pattern.search(document.content)
            if match:
                return Evidence(
                    quote=written, document=index, start=match.start(), end=match.end(), exact=True
                )
    return None


def _ways(quote: str) -> list[str]:
    """A quote as it is given and, where it comes in quotation marks of its own, without them."""
    given = quote.strip()
    return [way for way in dict.fromkeys((given, WRAPPED.sub("", given).strip())) if way]


def _folding(quote: str) -> str:
    """A pattern that finds a quote whatever its white space and quotation marks."""
    return r"\s+".join(map(_any_marks, quote.split()))


def _any_marks(word: str) -> str:
    return f"[{MARKS}]+".join(map(re.escape, re.split(f"[{MARKS}]+", word)))


def _near(quote: str, documents: Sequence[Document]) -> tuple[Evidence | None, str | None]:
    """The place that is most like a quote, if it says the same; otherwise the warning."""
    from rapidfuzz.fuzz import partial_ratio_alignment  # noqa: PLC0415  most quotes are exact

    written = WRAPPED.sub("", quote.strip())
    best, best_score = None, NEAR
    for index, document in enumerate(documents):
        # A document shorter than the quote would be searched for in the quote: no near match then.
        if len(document.content) * 100 < len(written) * NEAR:
            continue
        aligned = partial_ratio_alignment(
            written.casefold(), _same_length_casefold(document.content), score_cutoff=best_score
        )
        if aligned and (best is None or aligned.score > best_score):
            start, end = _to_words(document.content, aligned.dest_start, aligned.dest_end)
            best, best_score = (
                Evidence(quote=written, document=index, start=start, end=end, exact=False),
                aligned.score,
            )
    if best is None:
        return None, "evidence_not_found"
    source = documents[best.document].content[best.start : best.end]
    same = sorted(numbers(source)) == sorted(numbers(written)) and negations(source) == negations(written)
    return (best, None) if same else (None, "evidence_altered")


def _same_length_casefold(text: str) -> str:
    folded = text.casefold()
    return (
        folded
        if len(folded) == len(text)
        else "".join(one if len(one.lower()) != 1 else one.lower() for one in text)
    )


def _to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """A span widened to whole words, so that no number and no negation is cut in two."""
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum() and text[start].isascii():
        start -= 1
    while 0 < end < len(text) and text[end - 1].isalnum() and text[end].isalnum() and text[end].isascii():
        end += 1
    return start, end


def _everywhere(sentence: str, response: str) -> list[tuple[int, int]]:
    """All places where a sentence stands in the response, equal but for white space, marks and case."""
    for written in _ways(sentence):
        # Building a pattern costs more than all the rest, and most sentences are copied faithfully.
        pattern = re.escape(written) if written in response else _folding(written)
        spans = [match.span() for match in re.finditer(pattern, response, re.IGNORECASE)]
        if spans:
            return spans
    return []


def _gaps(text: str, covered: Iterable[tuple[int, int]]) -> list[str]:
    """What is left of a text when the covered spans are taken out."""
    gaps: list[str] = []
    reached = 0
    for start, end in sorted(covered):
        gaps.append(text[reached : max(start, reached)])
        reached = max(reached, end)
    return [*gaps, text[reached:]]
