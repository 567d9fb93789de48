"""Evidence is checked, not believed: every quote is looked up in the documents it is said to be from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from unicodedata import normalize

from groundjudge.case import Document
from groundjudge.verdict import Evidence

NEAR = 90.0
"""A quote counts as near when it aligns with the source by so many per cent."""
LONGEST_SLIP = 20
"""A stretch of so many letters of the response that no block covers is a sentence left out."""
LONGEST_NEAR = 4000
"""Longer quotes are found as they stand or not at all: looking for what is like them takes too long."""
MOST_MISSES = 20
"""After so many pieces of a quote that are not found the rest is not looked for."""

MARKS = "'‘’‚‛`´\"“”„‟«»‹›「」『』"
SPACES = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
ALIKE = str.maketrans(dict.fromkeys(MARKS, "'") | dict.fromkeys(SPACES, " "))
# Markdown's emphasis, and what nobody sees: both get lost when a text is copied by hand.
_LOST = r"*_\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
# Signs that Unicode also knows composed with the letter before: accents, vowels of Hangul, and their like.
_JOINED = "\u0300-\u036f\u0653-\u0655\u093c\u09bc\u0a3c\u1161-\u11ff\u3099\u309a"
NOISE = re.compile(rf" [ {_LOST}]+|''+|[{_LOST}]+|\w[{_JOINED}]+")
JOINED = re.compile(f"[{_JOINED}]*")
LOST = re.compile(f"[{_LOST}]+")
RUN = re.compile(" +|''+")

ELLIPSIS = re.compile(r"[\[(]?(?:\.{3,}|…)[\])]?")
LISTED = re.compile(r"(?<=[\"”»])(?:\s*[,;])?\s+(?=[\"“«])|\n")
# What may stand ahead of a quote: a list's bullet, and the number of the document.
BULLET = re.compile(
    r"^\s*(?:(?:[-*•]|[0-9]+[.)])\s+)?(?:[\[(]?(?:document|doc|source)\s+[0-9]+[\])]?\s*:)?", re.IGNORECASE
)
WORD_BY_WORD = "\u0e00"
"""The scripts of Europe and the Near East, and of India, put spaces between words; they come before this."""


@dataclass(frozen=True)
class Skeleton:
    """A text without what differs in looks only, that still knows where each character stood.

    Gone are case, the kind of white space and of quotation marks, and runs of them, Markdown's
    emphasis, invisible characters, and whether an accent is written as a character of its own.
    """

    source: str
    text: str
    origins: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where a span of the skeleton stands in the source."""
        last = self.origins[end - 1] + 1
        joined = JOINED.match(self.source, last)
        return self.origins[start], joined.end() if joined else last


@dataclass(frozen=True)
class Sources:
    """The documents, and their skeletons once a quote does not stand in them to the letter."""

    documents: Sequence[Document]

    @cached_property
    def skeletons(self) -> Sequence[Skeleton]:
        """A skeleton for each document."""
        return [skeleton(document.content) for document in self.documents]


def find(quotes: Iterable[str], sources: Sources) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Look up what a judge gave as evidence: texts that hold one quote, or several joined or listed.

    Returns:
        What was found, and a warning for what was not: `evidence_altered` (a near match whose
        numbers or negations differ) or `evidence_not_found` (it stands nowhere).
    """
    found: list[Evidence] = []
    warnings: list[str] = []
    for quote in quotes:
        evidence, warned = _look_up(quote, sources)
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
    source = Sources([Document(content=response)])
    for sentence in sentences:
        spans = _everywhere(sentence, source)
        if not spans:
            near, _ = _near(sentence, source)
            spans = [(near.start, near.end)] if near else []
        if not spans:
            warnings.append("statement_not_in_response")
        covered.extend(spans)
    if any(sum(map(str.isalpha, gap)) >= LONGEST_SLIP for gap in _gaps(response, covered)):
        warnings.append("statement_missing")
    return tuple(dict.fromkeys(warnings))


def skeleton(text: str) -> Skeleton:
    """The skeleton of a text."""
    alike = text.translate(ALIKE)
    kept: list[str] = []
    origins: list[int] = []
    reached = 0
    for noise in NOISE.finditer(alike):
        instead = noise[0][0] if noise[0][0] in " '" else normalize("NFC", LOST.sub("", noise[0]))
        kept += alike[reached : noise.start()], instead
        origins += range(reached, noise.start())
        origins += [noise.start()] * len(instead)
        reached = noise.end()
    kept.append(alike[reached:])
    origins += range(reached, len(alike))
    plain = "".join(kept)
    folded = plain.casefold()
    if len(folded) != len(plain):  # ß becomes ss
        origins = [origin for origin, one in zip(origins, plain, strict=True) for _ in one.casefold()]
    return Skeleton(text, folded, origins)


def _look_up(quote: str, sources: Sources) -> tuple[list[Evidence], list[str]]:
    """One quote as it stands or, where it stands nowhere as a whole, the pieces it is made of."""
    for whole in dict.fromkeys((quote, BULLET.sub("", quote))):
        evidence = _found(whole, sources)
        if evidence:
            return [evidence], []
    pieces = [piece for part in LISTED.split(quote) for piece in ELLIPSIS.split(part)]
    found: list[Evidence] = []
    warnings: list[str] = []
    for piece in pieces:
        bare = BULLET.sub("", piece).strip()
        if not any(map(str.isalnum, bare)):
            continue
        evidence = _found(bare, sources)
        warning = None
        if evidence is None:
            evidence, warning = _near(bare, sources)
        if evidence:
            found.append(evidence)
        if warning:
            warnings.append(warning)
        if len(warnings) == MOST_MISSES:
            break
    return found, warnings


def _found(quote: str, sources: Sources) -> Evidence | None:
    """Where a quote stands, but for what differs in looks only."""
    ways = _ways(quote)
    for written in ways:
        for index, document in enumerate(sources.documents):
            start = document.content.find(written)  # most quotes are verbatim, and this is quick
            if start >= 0:
                return Evidence(
                    quote=written, document=index, start=start, end=start + len(written), exact=True
                )
    for written in ways:
        for index, source in enumerate(sources.skeletons):
            for start, end in _places(written, source)[:1]:
                stands = source.source[start:end]
                exact = _folded(stands) == _folded(written)
                if exact or _says_the_same(stands, written):
                    return Evidence(quote=written, document=index, start=start, end=end, exact=exact)
    return None


def _ways(quote: str) -> list[str]:
    """A quote as it is given and, where it comes in quotation marks of its own, without them."""
    given = quote.strip()
    return [way for way in dict.fromkeys((given, _bare(given))) if way]


def _bare(quote: str) -> str:
    return quote.strip().strip(MARKS).strip()


def _folded(text: str) -> str:
    """A text without case, and with one kind of white space and of quotation marks."""
    return RUN.sub(lambda run: run[0][0], text.translate(ALIKE)).casefold()


def _says_the_same(source: str, quote: str) -> bool:
    """Whether numbers and negations are the same."""
    from groundjudge.text.negations import negations  # noqa: PLC0415  needed where a quote is not verbatim
    from groundjudge.text.numbers import numbers  # noqa: PLC0415

    source, quote = normalize("NFC", source), normalize("NFC", quote)
    return sorted(numbers(source)) == sorted(numbers(quote)) and negations(source) == negations(quote)


def _near(quote: str, sources: Sources) -> tuple[Evidence | None, str | None]:
    """The place that is most like a quote, if it says the same; otherwise the warning."""
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415  most quotes are exact
    from rapidfuzz.fuzz import partial_ratio_alignment  # noqa: PLC0415

    written = _bare(quote)
    sought = skeleton(written).text
    best, best_score = None, NEAR
    if not 0 < len(sought) <= LONGEST_NEAR:
        return None, "evidence_not_found"
    for index, source in enumerate(sources.skeletons):
        # A document shorter than the quote would be searched for in the quote: no near match then.
        if len(source.text) * 100 < len(sought) * NEAR:
            continue
        aligned = partial_ratio_alignment(sought, source.text, score_cutoff=best_score)
        if aligned and (best is None or aligned.score > best_score):
            # What aligns is as long as the quote: where that added words, it runs on into the next sentence.
            aligns = source.text[aligned.dest_start : aligned.dest_end]
            same = LCSseq.opcodes(sought, aligns).as_matching_blocks()
            first, last = same[0], same[-2]  # the very last marks the end
            start, end = _to_words(
                source.source,
                *source.span(aligned.dest_start + first.b, aligned.dest_start + last.b + last.size),
            )
            best = Evidence(quote=written, document=index, start=start, end=end, exact=False)
            best_score = aligned.score
    if best is None:
        return None, "evidence_not_found"
    stands = sources.documents[best.document].content[best.start : best.end]
    return (best, None) if _says_the_same(stands, written) else (None, "evidence_altered")


def _to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """A span widened to whole words, so that no number and no negation is cut in two."""

    def is_inside(place: int) -> bool:
        return text[place - 1].isalnum() and text[place].isalnum() and text[place] < WORD_BY_WORD

    while start > 0 and is_inside(start):
        start -= 1
    while end < len(text) and is_inside(end):
        end += 1
    return start, end


def _places(quote: str, source: Skeleton) -> list[tuple[int, int]]:
    """All places where a quote stands in a text, but for what differs in looks only."""
    sought = skeleton(quote).text
    spans: list[tuple[int, int]] = []
    at = source.text.find(sought) if sought else -1
    while at >= 0:
        spans.append(source.span(at, at + len(sought)))
        at = source.text.find(sought, at + len(sought))
    return spans


def _everywhere(sentence: str, response: Sources) -> list[tuple[int, int]]:
    """All places where a sentence stands in the response, as it is given or without its quotation marks."""
    text = response.documents[0].content
    for written in _ways(sentence):
        if written in text:  # a skeleton costs more, and most sentences are copied faithfully
            pattern = re.compile(re.escape(written), re.IGNORECASE)
            return [match.span() for match in pattern.finditer(text)]
        spans = _places(written, response.skeletons[0])
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
