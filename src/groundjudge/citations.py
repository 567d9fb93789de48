"""Citations: which document a marker in a response names, and whether it supports its sentence.

No model is asked. A verdict with numbered evidence says which documents support each sentence, and the
sentence's markers are compared with them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from groundjudge.case.case import Case, Context, Document
from groundjudge.case.numbered import Sentences
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import Sentence, sentences
from groundjudge.verdict import Citation, CitationFinding, Part

SCORES = ("citation_precision", "citation_recall", "utilization")
"""The scores that citations add to a verdict."""

MAX_NAMED = 5
"""How many wrong citations a reason lists one by one."""

MAX_RANGE = 100
"""The maximum number of documents in one range."""

YEAR_DIGITS = 4
"""How many digits make a number a year, if no document has that number."""

_NUMBER = r"[0-9]{1,4}"
_LIST = rf"\^?{_NUMBER}(?:\s*[-‐-―,;]\s*\^?{_NUMBER})*"
# Blanked first, because nothing in it is a citation.
_CODE = compile_when_used(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]+`", re.DOTALL)
_MAY_CITE = compile_when_used(r"[\[(【]")
_MARKER = compile_when_used(
    rf"""
    \[(?P<label> [^\[\]\n]{{1,200}} )\] (?: \((?P<link> [^()\s]{{1,500}} )\) )? (?! \s*=[^=] )  # not a[1] = 2
  | 【(?P<wide> [^【】\n]{{1,200}} )】
  | (?<! [0-9A-Za-z_] ) \( (?P<round> {_LIST} ) \) (?= \s*+ (?: [.,;:!?)(。，；：！？] | $ ) )
    """,
    re.VERBOSE | re.MULTILINE,
)
_NUMBERS = compile_when_used(rf"(?P<numbers>{_LIST})(?:†[^†]*)?")  # 【3†source】
_ONE_OR_RANGE = compile_when_used(rf"\^?(?P<first>{_NUMBER})(?:\s*[-‐-―]\s*\^?(?P<last>{_NUMBER}))?")
_DEFINITION = compile_when_used(
    rf"[ \t>]*(?:[-*•][ \t]+)?(?:\[\^?(?P<number>{_NUMBER})\]:?|(?P<item>{_NUMBER})[.)])[ \t]+(?P<text>\S.*)"
)


class Checked(NamedTuple):
    """The result of checking a response's citations.

    Attributes:
        citations: the citations, each with its finding.
        scores: those of `SCORES` that could be measured.
        note: what is wrong, one line each; "" if nothing is.
    """

    citations: tuple[Citation, ...]
    scores: Mapping[str, float]
    note: str


def citations(
    response: str, documents: Context, numbers: Mapping[str, int] | None = None
) -> tuple[Citation, ...]:
    """Find the citations of a response: [1], [1, 2], [1-3], [^1], 【1】, (1), [title], [id] and links.

    A marker that names several documents is a citation of each. It belongs to the sentence that contains it,
    or to the one that ends just before it. Code, check boxes, list numbers, years and a list of sources at
    the end are not citations; neither is a number without a document if no other number has one.

    Args:
        response: the text.
        documents: the sources, in any shape that a case takes. Numbers count from 1 in their order, unless
            all have a number as their id, or a list of sources at the end of the response says otherwise.
        numbers: instead of that, the index of the document for each number, as in `{"7": 0}`.

    Raises:
        CaseError: the documents are in no known shape.
    """
    case = Case(response=response, context=documents)
    return tuple(_read_cited(response, case.context or (), sentences(response), numbers).citations)


def check_citations(case: Case, numbered: Sentences, parts: Sequence[Part]) -> Checked:
    """Compare what the sentences of a response cite with what supports them.

    Args:
        case: the case.
        numbered: its sentences.
        parts: the parts of the verdict: one per sentence of the response, in order.
    """
    cited = _read_cited(case.response_text, case.context or (), numbered.response)
    found = [_check(citation, parts[citation.sentence - 1], cited.names) for citation in cited.citations]
    # The lines of a list of sources cite nothing, and need not cite anything.
    parts = [part for part in parts if part.start is not None and part.start < cited.list_start]
    return Checked(tuple(found), _scores(found, parts, numbered), _note(found, parts))


def without_markers(case: Case) -> str:
    """Return the text of a response, with spaces in place of citations and lines that only name a source.

    All positions stay the same.
    """
    text = case.response_text
    cited = _read_cited(text, case.context or ())
    blanks = [(citation.start, citation.end) for citation in cited.citations]
    start = cited.list_start
    for line in cited.text[start:].splitlines(keepends=True):
        definition = _DEFINITION.fullmatch(line.rstrip())
        # "[1] Opening hours, which are 9 to 20" says something.
        if definition is not None and cited.names.named(definition["text"]):
            blanks.append((start, start + len(line)))
        start += len(line)
    pieces: list[str] = []
    end = 0
    for start, blank_end in dict.fromkeys(blanks):  # a marker can be several citations
        pieces += (text[end:start], " " * (blank_end - start))
        end = blank_end
    return "".join([*pieces, text[end:]])


def used_documents(parts: Sequence[Part]) -> Counter[int]:
    """Count the sentences of a response that each document supports, by the document's index."""
    counts: Counter[int] = Counter()
    for part in parts:
        counts.update(part.borne_out_by)
    return counts


def uncited_parts(found: Sequence[Citation], parts: Sequence[Part]) -> list[Part]:
    """Return the sentences of a verdict that claim something and cite nothing."""
    cited = {citation.sentence for citation in found}
    return [part for part in parts if part.score is not None and part.number not in cited]


@dataclass(frozen=True)
class _Names:
    """The documents by the names that a response can use for them.

    Attributes:
        by_name: by their titles and ids, folded. The pieces of one page share its title: citing the page
            cites any of them.
        by_number: by the numbers of markers.
    """

    by_name: Mapping[str, tuple[int, ...]]
    by_number: Mapping[str, tuple[int, ...]]

    def named(self, name: str) -> tuple[int, ...]:
        """Return the documents with a title or an id; () if there are none."""
        return self.by_name.get(_fold(name), ())

    def named_in(self, text: str) -> tuple[int, ...]:
        """Return the documents whose title or id a text contains, by the longest of several; () for none."""
        folded = _fold(text)
        names = [name for name in self.by_name if name in folded]
        return self.by_name[max(names, key=len)] if names else ()

    def marker_of(self, index: int) -> str:
        """Return a marker that cites a document."""
        for number, indices in self.by_number.items():
            if index in indices:
                return f"[{number}]"
        return f"document {index + 1}"


def _names_of(documents: Sequence[Document]) -> _Names:
    """Make the names of documents; numbers count from 1, unless each document has a number as its id."""
    by_name: defaultdict[str, tuple[int, ...]] = defaultdict(tuple)
    by_number: defaultdict[str, tuple[int, ...]] = defaultdict(tuple)
    has_numbers = all(document.id.isdecimal() for document in documents)
    for index, document in enumerate(documents):
        for name in {_fold(document.title), _fold(document.id)} - {""}:
            by_name[name] += (index,)
        by_number[str(int(document.id)) if has_numbers else str(index + 1)] += (index,)
    return _Names(dict(by_name), dict(by_number))


def _fold(name: str) -> str:
    """Return a name as it is compared: case-folded and with single spaces."""
    return " ".join(name.casefold().split())


class _Cited(NamedTuple):
    """What a response cites.

    Attributes:
        text: the response, with its code, which contains no citations, replaced by spaces; positions stay the
            same.
        list_start: where its list of sources begins; the length of the text if there is none.
        names: its names for the documents.
        citations: the citations, in their order.
    """

    text: str
    list_start: int
    names: _Names
    citations: Sequence[Citation]


def _read_cited(
    response: str,
    documents: Sequence[Document],
    spans: Sequence[Sentence] = (),
    numbers: Mapping[str, int] | None = None,
) -> _Cited:
    """Read the citations of a response.

    Args:
        response: the text.
        documents: the sources.
        spans: the sentences of the text; () if it does not matter which of them cites.
        numbers: as for `citations`.
    """
    names = _names_of(documents)
    if not _MAY_CITE.search(response):  # true of most, and quick to check
        return _Cited(response, len(response), names, ())
    text = _CODE.sub(lambda code: " " * len(code[0]), response)
    list_start, definitions = _read_definitions(text, names)
    by_number = {**names.by_number, **definitions}
    if numbers is not None:
        by_number = {number: (index,) for number, index in numbers.items()}
    names = replace(names, by_number=by_number)
    starts = [span.start for span in spans]
    squares: list[Citation] = []
    rounds: list[Citation] = []
    for marker in _MARKER.finditer(text, 0, list_start):
        start, end = marker.span()
        sentence = _sentence_of(start, text, spans, starts)
        for name, indices in _targets_of(marker, names):
            citation = Citation(text=name, start=start, end=end, sentence=sentence, documents=indices)
            (rounds if marker["round"] else squares).append(citation)
    found = _without_other_numbers(squares)
    # "It opened in May (1)." is a citation only if the text contains another one of this kind.
    if len({citation.start for citation in rounds}) > 1:
        found += _without_other_numbers(rounds)
    found.sort(key=lambda citation: citation.start)
    return _Cited(text, list_start, names, found)


def _read_definitions(text: str, names: _Names) -> tuple[int, Mapping[str, tuple[int, ...]]]:
    """Read the list of sources at the end of a text.

    Returns:
        Where it begins, the length of the text if there is none; and the documents of its numbers, if it
        names any by a title or an id.
    """
    end = len(text)
    definitions: dict[str, tuple[int, ...]] = {}
    for line in reversed(text.splitlines(keepends=True)):
        definition = _DEFINITION.fullmatch(line.rstrip())
        if line.strip():
            if definition is None or _MARKER.search(definition["text"]):
                break  # a sentence; also if it begins like a source, but cites one
            documents = names.named_in(definition["text"])
            if definition["item"] and not documents:
                break  # a step, such as "2. Add water."
            definitions[str(int(definition["number"] or definition["item"]))] = documents
        end -= len(line)
    # Lines that begin with a marker may be the whole response: "[1] It opens at 9."
    if _MARKER.search(text, 0, end) is None:
        return len(text), {}
    # If no line names a document, the documents have other names, and the numbers count them. If one does, a
    # number whose line names none is that of a document that does not exist.
    return end, definitions if any(definitions.values()) else {}


def _targets_of(marker: re.Match[str], names: _Names) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield each name in a marker with its documents; none if it is not a citation, such as [sic]."""
    label = (marker["label"] or marker["wide"] or marker["round"]).strip()
    documents = names.named(label)
    if marker["link"]:
        documents = names.named(marker["link"]) or documents
    numbers = _NUMBERS.fullmatch(label)
    if documents:
        yield label, documents
    elif numbers is not None:
        for part in _ONE_OR_RANGE.finditer(numbers["numbers"]):
            first = int(part["first"])
            last = int(part["last"] or first)
            for number in range(first, min(last, first + MAX_RANGE) + 1):
                yield str(number), names.by_number.get(str(number), ())
    else:
        labels = [name.strip() for name in re.split("[,;]", label)]
        if all(map(names.named, labels)):
            for name in labels:
                yield name, names.named(name)


def _without_other_numbers(found: Sequence[Citation]) -> list[Citation]:
    """Leave out numbers that cite nothing: years, and all others where no number has a document."""
    has_number = any(citation.text.isdecimal() and citation.documents for citation in found)
    kept: list[Citation] = []
    for citation in found:
        is_year = len(citation.text) >= YEAR_DIGITS
        if citation.documents or (has_number and not is_year):
            kept.append(citation)
    return kept


def _sentence_of(start: int, text: str, spans: Sequence[Sentence], starts: Sequence[int]) -> int:
    """Return the number of the sentence that a marker belongs to.

    Args:
        start: where the marker begins.
        text: the text.
        spans: its sentences.
        starts: where they begin.
    """
    number = bisect_right(starts, start)
    if number <= 1:
        return 1
    # "It opens at 9. (1) It closes at 5.": it follows its sentence, unless it begins a line.
    begins_sentence = not text[starts[number - 1] : start].strip()
    if begins_sentence and "\n" not in text[spans[number - 2].end : start]:
        return number - 1
    return number


def _check(citation: Citation, part: Part, names: _Names) -> Citation:
    """Return a citation with its finding, based on the part for its sentence."""
    right = part.borne_out_by
    markers = " and ".join(names.marker_of(index) for index in right)
    is_one = len(right) == 1
    finding: CitationFinding = "unsupported"
    note = ""
    if not citation.documents:
        finding = "dangling"
        note = f"there is no source [{citation.text}]"
        if right:
            note = f"{note}; {markers} {'says' if is_one else 'say'} this"
    elif part.score is None:
        finding = "no_claim"
    elif part.warnings:  # its evidence is in no document
        finding = "unchecked"
    elif not set(right).isdisjoint(citation.documents):
        finding = "supported"
        right = ()
    elif right:
        finding = "wrong_document"
        note = f"[{citation.text}] does not say this; {markers} {'does' if is_one else 'do'}"
    else:
        note = f"[{citation.text}] does not say this, and no other source does"
    return citation.model_copy(update={"finding": finding, "right": right, "note": note})


def _scores(found: Sequence[Citation], parts: Sequence[Part], numbered: Sentences) -> dict[str, float]:
    """Return precision, recall and utilization, each if it can be measured."""
    scores: dict[str, float] = {}
    findings = [citation.finding for citation in found if citation.finding not in {"no_claim", "unchecked"}]
    if findings:
        scores["citation_precision"] = findings.count("supported") / len(findings)
    claims = [part.number for part in parts if part.score is not None and not part.warnings]
    if claims:
        supported = {citation.sentence for citation in found if citation.finding == "supported"}
        scores["citation_recall"] = len(supported) / len(claims)
    if numbered.source:
        used: set[int | None] = set()
        for part in parts:
            if part.borne_out_by:
                used.update(evidence.number for evidence in part.evidence)
        scores["utilization"] = len(used) / len(numbered.source)
    return scores


def _note(found: Sequence[Citation], parts: Sequence[Part]) -> str:
    """Describe what is wrong with citations, one line each, and which sentences have none."""
    lines = [f"Sentence {citation.sentence}: {citation.note}." for citation in found if citation.note]
    n_more = len(lines) - MAX_NAMED
    if n_more > 0:
        lines[MAX_NAMED:] = [f"{n_more} more citations are wrong."]
    uncited = [str(part.number) for part in uncited_parts(found, parts)]
    if uncited:
        lines.append(f"Without a citation: sentence {', '.join(uncited)}.")
    return "\n".join(lines)
