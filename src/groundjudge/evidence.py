"""Evidence is checked: every quote that a judge gives is looked up in the documents of the case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from unicodedata import normalize

from groundjudge.case import Document
from groundjudge.verdict import Evidence

if TYPE_CHECKING:
    from rapidfuzz.distance import ScoreAlignment

NEAR_MATCH = 90.0
"""Per cent. A passage that aligns with a quote at least this well is a near match."""
UNCOVERED_LETTERS = 20
"""A gap between the statements with so many letters of the response is a missing sentence."""
LONGEST_NEAR_MATCH = 4000
"""Characters. For longer quotes there are only exact matches, because fuzzy search would take too long."""
MAX_WARNINGS = 20
"""After so many pieces of a quote without a match, the other pieces are skipped."""

MARKS = "'‘’‚‛`´\"“”„‟«»‹›「」『』"
SPACES = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007"
    "\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
ALIKE = str.maketrans(dict.fromkeys(MARKS, "'") | dict.fromkeys(SPACES, " "))
# Markdown's emphasis and invisible characters: both get lost when text is copied by hand.
_DROPPED = r"*_\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff"
# Characters that Unicode can also compose with the one before: accents, vowels of Hangul, and so on.
_COMBINING = "\u0300-\u036f\u0653-\u0655\u093c\u09bc\u0a3c\u1161-\u11ff\u3099\u309a"
NOISE = re.compile(rf" [ {_DROPPED}]+|''+|[{_DROPPED}]+|\w[{_COMBINING}]+")
COMBINING = re.compile(f"[{_COMBINING}]*")
DROPPED = re.compile(f"[{_DROPPED}]+")
RUN = re.compile(" +|''+")

ELLIPSIS = re.compile(r"[\[(]?(?:\.{3,}|…)[\])]?")
LISTED = re.compile(r"(?<=[\"”»])(?:\s*[,;])?\s+(?=[\"“«])|\n")
# What may precede a quote: the bullet of a list, and the number of the document.
BULLET = re.compile(
    r"^\s*(?:(?:[-*•]|[0-9]+[.)])\s+)?(?:[\[(]?(?:document|doc|source)\s+[0-9]+[\])]?\s*:)?", re.IGNORECASE
)
UNSPACED_SCRIPTS = "\u0e00"
"""Below this character are the scripts that put spaces between words: Europe's, the Near East's, India's."""


@dataclass(frozen=True)
class Skeleton:
    """A text reduced to its wording, with the origin of each character.

    It ignores case, the kinds of white space and quotation marks and runs of them, Markdown's emphasis,
    invisible characters, and whether an accent is a character of its own.

    Attributes:
        source: the original text.
        text: the reduced text.
        origins: for each character of `text` its offset in `source`.
    """

    source: str
    text: str
    origins: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The offsets in the source of a span of the skeleton."""
        last = self.origins[end - 1] + 1
        combining = COMBINING.match(self.source, last)
        return self.origins[start], combining.end() if combining else last


@dataclass(frozen=True)
class Sources:
    """Documents, and their skeletons, which are built when the first quote has no verbatim match."""

    documents: Sequence[Document]

    @cached_property
    def skeletons(self) -> Sequence[Skeleton]:
        """One skeleton per document."""
        return [skeleton(document.content) for document in self.documents]


def find(quotes: Iterable[str], sources: Sources) -> tuple[tuple[Evidence, ...], tuple[str, ...]]:
    """Look up the quotes that a judge gives as evidence.

    Args:
        quotes: texts with one quote each, or several joined by an ellipsis or in a list.
        sources: the documents.

    Returns:
        The quotes that were found, with their offsets, and the distinct warnings for the others:
        `evidence_altered` (a near match whose numbers or negations differ) or `evidence_not_found`.
    """
    found: list[Evidence] = []
    warnings: list[str] = []
    for quote in quotes:
        evidence, warned = _look_up(quote, sources)
        found.extend(evidence)
        warnings.extend(warned)
    return tuple(found), tuple(dict.fromkeys(warnings))


def unlisted(sentences: Sequence[str], response: str) -> tuple[str, ...]:
    """Compare the sentences that a judge rated with the response that they should add up to.

    Returns:
        The warnings `statement_not_in_response` if a sentence is not in the response, and
        `statement_missing` if a part of the response is in none of the sentences.
    """
    covered: list[tuple[int, int]] = []
    warnings: list[str] = []
    source = Sources([Document(content=response)])
    for sentence in sentences:
        spans = _occurrences(sentence, source)
        if not spans:
            near, _ = _near(sentence, source)
            spans = [(near.start, near.end)] if near else []
        if not spans:
            warnings.append("statement_not_in_response")
        covered.extend(spans)
    if any(sum(map(str.isalpha, gap)) >= UNCOVERED_LETTERS for gap in _gaps(response, covered)):
        warnings.append("statement_missing")
    return tuple(dict.fromkeys(warnings))


def skeleton(text: str) -> Skeleton:
    """Reduce a text to its wording, see `Skeleton`."""
    alike = text.translate(ALIKE)
    kept: list[str] = []
    origins: list[int] = []
    reached = 0
    for noise in NOISE.finditer(alike):
        replacement = noise[0][0] if noise[0][0] in " '" else normalize("NFC", DROPPED.sub("", noise[0]))
        kept += alike[reached : noise.start()], replacement
        origins += range(reached, noise.start())
        origins += [noise.start()] * len(replacement)
        reached = noise.end()
    kept.append(alike[reached:])
    origins += range(reached, len(alike))
    plain = "".join(kept)
    folded = plain.casefold()
    if len(folded) != len(plain):  # ß becomes ss
        origins = [origin for origin, char in zip(origins, plain, strict=True) for _ in char.casefold()]
    return Skeleton(text, folded, origins)


def _look_up(quote: str, sources: Sources) -> tuple[list[Evidence], list[str]]:
    """A quote as a whole or, if there is no match for it, piece by piece."""
    for whole in dict.fromkeys((quote, BULLET.sub("", quote))):
        evidence = _found(whole, sources)
        if evidence:
            return [evidence], []
    found: list[Evidence] = []
    warnings: list[str] = []
    for piece in _pieces(quote):
        evidence, warning = _found(piece, sources), None
        if evidence is None:
            evidence, warning = _near(piece, sources)
        if evidence:
            found.append(evidence)
        if warning:
            warnings.append(warning)
        if len(warnings) == MAX_WARNINGS:
            break
    return found, warnings


def _pieces(quote: str) -> Iterator[str]:
    """The quotes that are listed, or joined by an ellipsis, without bullets."""
    for item in LISTED.split(quote):
        for piece in ELLIPSIS.split(item):
            bare = BULLET.sub("", piece).strip()
            if any(map(str.isalnum, bare)):
                yield bare


def _found(quote: str, sources: Sources) -> Evidence | None:
    """The first place where a document has a quote verbatim or, if none has, its wording."""
    variants = _variants(quote)
    for variant in variants:
        for index, document in enumerate(sources.documents):
            start = document.content.find(variant)  # most quotes are verbatim, and this is fast
            if start >= 0:
                end = start + len(variant)
                return Evidence(quote=variant, document=index, start=start, end=end, exact=True)
    return next(filter(None, (_found_wording(variant, sources) for variant in variants)), None)


def _found_wording(quote: str, sources: Sources) -> Evidence | None:
    """The first place where a document has the wording of a quote, with its numbers and negations."""
    for index, source in enumerate(sources.skeletons):
        for start, end in _places(quote, source)[:1]:
            passage = source.source[start:end]
            exact = _folded(passage) == _folded(quote)
            if exact or _says_the_same(passage, quote):
                return Evidence(quote=quote, document=index, start=start, end=end, exact=exact)
    return None


def _variants(quote: str) -> list[str]:
    """A quote as given and, if it has quotation marks around it, without them."""
    given = quote.strip()
    return [variant for variant in dict.fromkeys((given, _bare(given))) if variant]


def _bare(quote: str) -> str:
    return quote.strip().strip(MARKS).strip()


def _folded(text: str) -> str:
    """A text in one case, with one kind of white space and of quotation marks."""
    return RUN.sub(lambda run: run[0][0], text.translate(ALIKE)).casefold()


def _says_the_same(source: str, quote: str) -> bool:
    """Whether source and quote have the same numbers and negations."""
    from groundjudge.text.negations import negations  # noqa: PLC0415  only for quotes that are not verbatim
    from groundjudge.text.numbers import numbers  # noqa: PLC0415

    source, quote = normalize("NFC", source), normalize("NFC", quote)
    return sorted(numbers(source)) == sorted(numbers(quote)) and negations(source) == negations(quote)


def _near(quote: str, sources: Sources) -> tuple[Evidence | None, str | None]:
    """The passage most similar to a quote, if it says the same; otherwise the warning."""
    bare = _bare(quote)
    sought = skeleton(bare).text
    best = _best_alignment(sought, sources) if 0 < len(sought) <= LONGEST_NEAR_MATCH else None
    if best is None:
        return None, "evidence_not_found"
    index, alignment = best
    source = sources.skeletons[index]
    start, end = _aligned_span(sought, source, alignment)
    if not _says_the_same(source.source[start:end], bare):
        return None, "evidence_altered"
    return Evidence(quote=bare, document=index, start=start, end=end, exact=False), None


def _best_alignment(sought: str, sources: Sources) -> tuple[int, ScoreAlignment] | None:
    """The document with the best near match, and the alignment of the quote with its skeleton."""
    from rapidfuzz.fuzz import partial_ratio_alignment  # noqa: PLC0415  most quotes are exact

    best: tuple[int, ScoreAlignment] | None = None
    for index, source in enumerate(sources.skeletons):
        # If a document is shorter than the quote, rapidfuzz searches the quote for the document instead.
        if len(source.text) * 100 < len(sought) * NEAR_MATCH:
            continue
        cutoff = best[1].score if best else NEAR_MATCH
        alignment = partial_ratio_alignment(sought, source.text, score_cutoff=cutoff)
        if alignment and (best is None or alignment.score > cutoff):
            best = index, alignment
    return best


def _aligned_span(sought: str, source: Skeleton, alignment: ScoreAlignment) -> tuple[int, int]:
    """The offsets in the source of the passage that an alignment found, in whole words.

    The alignment is as long as the quote. If the quote has added words, the alignment extends into the next
    sentence, so the span goes only from the first character that they share to the last.
    """
    from rapidfuzz.distance import LCSseq  # noqa: PLC0415  most quotes are exact

    aligned = source.text[alignment.dest_start : alignment.dest_end]
    blocks = LCSseq.opcodes(sought, aligned).as_matching_blocks()
    first, last = blocks[0], blocks[-2]  # the very last block only marks the end
    offset = alignment.dest_start
    return _to_words(source.source, *source.span(offset + first.b, offset + last.b + last.size))


def _to_words(text: str, start: int, end: int) -> tuple[int, int]:
    """The span extended to whole words, so that it cuts no number and no negation in two."""

    def is_inside(place: int) -> bool:
        return text[place - 1].isalnum() and text[place].isalnum() and text[place] < UNSPACED_SCRIPTS

    while start > 0 and is_inside(start):
        start -= 1
    while end < len(text) and is_inside(end):
        end += 1
    return start, end


def _places(quote: str, source: Skeleton) -> list[tuple[int, int]]:
    """The offsets of all places where a text has the wording of a quote."""
    sought = skeleton(quote).text
    spans: list[tuple[int, int]] = []
    at = source.text.find(sought) if sought else -1
    while at >= 0:
        spans.append(source.span(at, at + len(sought)))
        at = source.text.find(sought, at + len(sought))
    return spans


def _occurrences(sentence: str, response: Sources) -> list[tuple[int, int]]:
    """The offsets of all places of a sentence in the response, as given or without its quotation marks."""
    text = response.documents[0].content
    for variant in _variants(sentence):
        if variant in text:  # cheaper than a skeleton, and most sentences are copied verbatim
            pattern = re.compile(re.escape(variant), re.IGNORECASE)
            return [match.span() for match in pattern.finditer(text)]
        spans = _places(variant, response.skeletons[0])
        if spans:
            return spans
    return []


def _gaps(text: str, covered: Iterable[tuple[int, int]]) -> list[str]:
    """The parts of a text that no span covers."""
    gaps: list[str] = []
    reached = 0
    for start, end in sorted(covered):
        gaps.append(text[reached : max(start, reached)])
        reached = max(reached, end)
    return [*gaps, text[reached:]]
