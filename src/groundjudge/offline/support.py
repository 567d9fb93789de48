"""How far a sentence is supported by documents, going by its words, numbers and a few tables."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from groundjudge.offline.conflicts import Conflict, conflict
from groundjudge.offline.readings import Reader, Reading, reader
from groundjudge.text.sentences import sentences
from groundjudge.text.words import FUNCTION_SIGNS, Word, is_unspaced

SPEAKERS = frozenset(("i", "me", "my", "myself", "i'm", "i’m", "我"))
"""Words by which a speaker means itself: what an agent says of itself is a claim like any other."""
JOINING = FUNCTION_SIGNS | {"一"}
"""Signs that need none of their neighbours, to have the meaning they have."""
LONGEST_PASSAGE = 400
"""Characters of a passage where a document has no sentences, as JSON has none."""
MOST_PLACES = 64
"""So many occurrences of a word are looked at, so that long documents cost no more than their length."""
COEFFICIENTS = "support.json"
PAIR_GAIN = 0.1
"""The share of a sentence that a second passage must add to be quoted with the first."""
_CUT = re.compile(r"[ ,，、](?!\d)")


class Passage(NamedTuple):
    """A sentence of a document, or a piece where it has none: `documents[document][start:end]`."""

    document: int
    start: int
    end: int


Piece = tuple[float, Sequence[int]]
"""A word or number of a sentence: its weight, and the passages that have it."""


class Search(NamedTuple):
    """What was found of a sentence."""

    content: Sequence[Word]  # the words that say something themselves
    missing: AbstractSet[int]  # where those begin that no document has
    worded: Sequence[Piece]  # its stems, each with all its weight
    numbered: Sequence[Piece]
    speaks: bool  # whether it speaks of its speaker


@dataclass(frozen=True)
class Sources:
    """Documents made ready for looking sentences up in them; `index` makes one."""

    documents: Sequence[str]
    passages: Sequence[Passage]
    places: Mapping[str, Sequence[int]]  # the passages that have each stem and each number
    read: Reader


class Signals(NamedTuple):
    """What is known of a sentence and its sources: the score is computed from this and nothing else.

    Three shares, then flags; the last five speak of a passage that says nearly the same.
    """

    covered: float  # of the words and numbers, weighted: what stands anywhere in the documents
    together: float  # the same for the best passage alone
    names: float  # of the names (capital letters inside a sentence): what stands nowhere
    unknown: float  # a number stands nowhere in the documents, and no other one in its place
    speaker: float  # the sentence speaks of its speaker ("I", "my"), which no document does
    renamed: float  # with another name
    contested: float  # with another number
    denied: float  # but one of the two denies it
    opposed: float  # with another unit, day or quantity
    exchanged: float  # with two things in each other's place


class Model(NamedTuple):
    """What the signals are worth: the logistic of their weighted sum and the intercept is the score."""

    coefficients: Signals
    intercept: float
    exact: float  # from this score on, a text is taken to have every detail from its source


@cache
def model() -> Model:
    """The coefficients that `tools/fit_support.py` found, read when they are first needed."""
    fitted = json.loads(files("groundjudge.offline").joinpath(COEFFICIENTS).read_text(encoding="utf-8"))
    return Model(Signals(**fitted["coefficients"]), fitted["intercept"], fitted["exact"])


@dataclass(frozen=True)
class Support:
    """How far a sentence is supported, and by what."""

    score: float  # 0..1; 0.5 separates the supported from the unsupported
    quote: str  # the passage that has most of the sentence, `document[start:end]`, or ""
    document: int | None
    start: int
    end: int
    matched: tuple[str, ...]  # the sentence's content words that stand in the documents
    missing: tuple[str, ...]  # those that stand nowhere
    numbers: tuple[str, ...]  # the sentence's numbers that the quote does not have
    conflict: Conflict  # in what the sentence differs from the quote
    signals: Signals

    @property
    def is_contradicted(self) -> bool:
        """Whether a passage says nearly the same, but otherwise."""
        found = self.conflict
        return bool(found.contested or found.denied or found.clashes or found.exchanged)


def index(documents: Sequence[str], read: Reader | None = None) -> Sources:
    """Make documents ready for looking sentences up in them; `read` is the case's reader, if there is one."""
    read = read or reader()
    passages = [
        Passage(number, start, end)
        for number, document in enumerate(documents)
        for start, end in _pieces(document)
    ]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, (number, start, end) in enumerate(passages):
        reading = read(documents[number][start:end])
        for key in {*(word.stem for word in reading.words), *reading.backs}:
            places[key].append(place)
    return Sources(documents, passages, dict(places), read)


def support(sentence: str, sources: Sources) -> Support:
    """How far a sentence is supported by documents, and the passage that has most of it."""
    reading = sources.read(sentence)
    search = _search(reading, sources)
    best, conflict = _compared(reading, search, sources)
    signals = _signals(search, best, conflict)
    passage, quote = _quote(best, sources)
    quoted = sources.read(quote).backs
    missing = dict.fromkeys(word.text for word in search.content if word.start in search.missing)
    return Support(
        score=score(signals),
        quote=quote,
        document=passage.document if passage else None,
        start=passage.start if passage else 0,
        end=passage.end if passage else 0,
        matched=tuple(dict.fromkeys(word.text for word in search.content if word.text not in missing)),
        missing=tuple(missing),
        numbers=tuple(number for number in reading.numbers if number not in quoted),
        conflict=conflict,
        signals=signals,
    )


def score(signals: Signals, fitted: Model | None = None) -> float:
    """The support that signals amount to, 0..1."""
    coefficients, intercept, _ = fitted or model()
    return 1 / (1 + math.exp(-intercept - sum(a * b for a, b in zip(coefficients, signals, strict=True))))


def _pieces(document: str) -> Iterator[tuple[int, int]]:
    """Where the passages of a document begin and end: its sentences, the long ones cut."""
    for _, start, end in sentences(document):
        while end - start > LONGEST_PASSAGE:
            middle, furthest = start + LONGEST_PASSAGE // 2, start + LONGEST_PASSAGE
            cut = max((sign.end() for sign in _CUT.finditer(document, middle, furthest)), default=furthest)
            yield start, cut
            start = cut  # noqa: PLW2901  the rest of the sentence
        yield start, end


def _search(reading: Reading, sources: Sources) -> Search:
    """Look up the words and numbers of a sentence."""
    keys = (*(word.stem for word in reading.words), *reading.numbers)
    places = {key: sources.places.get(key, ())[:MOST_PLACES] for key in keys}
    words = list(_without_seams(reading, places))
    content = [word for word in words if word.weight == 1]
    weights: defaultdict[str, float] = defaultdict(float)
    for word in words:
        weights[word.stem] += word.weight
    return Search(
        content,
        {word.start for word in content if not places[word.stem]},
        [(weight, places[stem]) for stem, weight in weights.items()],
        [(1.0, places[number]) for number in reading.numbers],
        _speaks_of_itself([word for word in words if not places[word.stem]], words),
    )


def _without_seams(reading: Reading, places: Mapping[str, Sequence[int]]) -> Iterator[Word]:
    """Its words without the pairs of signs that only join two that were found, as where a phrase has moved.

    A sign also needs no other one behind a number, which it counts, and where it joins words itself.
    """
    counting = {number.end for number in reading.placed}
    known = {word.start for word in reading.words if places[word.stem] and len(word.text) > 1}
    for word in reading.words:
        start = word.start
        left = start - 1 in known or start in counting or word.text[0] in JOINING
        right = start + 1 in known or word.text[-1] in JOINING
        if start in known or not (left and right and is_unspaced(word.text)):
            yield word


def _compared(reading: Reading, search: Search, sources: Sources) -> tuple[range, Conflict]:
    """The passages that a sentence is best compared with, and in what it differs from them.

    What contradicts a sentence says the same in its words, so that its numbers must not choose it, unless
    several passages say the same in all words.
    """
    pieces = [*search.worded, *search.numbered]
    by_all = _by_place(pieces)
    rival = _fullest(_by_place(search.worded), by_all)
    found = _conflict(reading, search, _held(search.worded, rival), rival, sources)
    if found != Conflict():
        return rival, found
    best = _with_neighbour(pieces, _fullest(by_all, by_all), sources)
    found = _conflict(reading, search, _held(pieces, best), best, sources)
    return best, found._replace(contested=None)


def _conflict(reading: Reading, search: Search, held: float, where: range, sources: Sources) -> Conflict:
    """In what a sentence differs from passages that hold this share of it."""
    _, text = _quote(where, sources)
    return conflict(reading, search.missing, sources.read(text), held) if where else Conflict()


def _quote(where: range, sources: Sources) -> tuple[Passage | None, str]:
    """Passages as one, and their text."""
    if not where:
        return None, ""
    document, start, _ = sources.passages[where[0]]
    end = sources.passages[where[-1]].end
    return Passage(document, start, end), sources.documents[document][start:end]


def _signals(search: Search, best: range, conflict: Conflict) -> Signals:
    """What the score is computed from."""
    names = [word for word in search.content if word.is_name]
    pieces = [*search.worded, *search.numbered]
    return Signals(
        covered=_held(pieces),
        together=_held(pieces, best),
        names=sum(word.start in search.missing for word in names) / (len(names) or 1),
        unknown=float(not conflict.contested and not all(places for _, places in search.numbered)),
        speaker=float(search.speaks),
        renamed=float(bool(conflict.renamed)),
        contested=float(bool(conflict.contested)),
        denied=float(conflict.denied),
        opposed=float(bool(conflict.clashes)),
        exchanged=float(bool(conflict.exchanged)),
    )


def _speaks_of_itself(missing: Sequence[Word], words: Sequence[Word]) -> bool:
    """Whether a speaker means itself; behind a name, as in "Elizabeth I", it is a number."""
    kings = {word.start for name, word in pairwise(words) if name.is_name and word.text == "I"}
    return any(word.text.casefold() in SPEAKERS and word.start not in kings for word in missing)


def _by_place(pieces: Iterable[Piece]) -> dict[int, float]:
    """How much of a sentence each passage holds that holds any of it."""
    held: defaultdict[int, float] = defaultdict(float)
    for weight, places in pieces:
        for place in places:
            held[place] += weight
    return held


def _fullest(held: Mapping[int, float], also: Mapping[int, float]) -> range:
    """The passage that holds most of a sentence, of several the one that `also` has most of; or none."""
    best = min(held, key=lambda place: (-held[place], -also[place], place), default=0)
    return range(best, best + bool(held))


def _with_neighbour(pieces: Sequence[Piece], best: range, sources: Sources) -> range:
    """A passage, together with one beside it if that adds much."""
    passages = sources.passages
    beside = (range(first, first + 2) for place in best for first in (place - 1, place))
    pairs = (
        pair
        for pair in beside
        if 0 <= pair[0] < len(passages) - 1 and passages[pair[0]].document == passages[pair[1]].document
    )
    pair = max(pairs, key=lambda pair: _held(pieces, pair), default=best)
    return pair if _held(pieces, pair) > _held(pieces, best) + PAIR_GAIN else best


def _held(pieces: Iterable[Piece], where: range | None = None) -> float:
    """The weighted share of a sentence that was found: anywhere, or in some passages."""
    total = held = 0.0
    for weight, places in pieces:
        total += weight
        if places if where is None else any(place in places for place in where):
            held += weight
    return held / total if total else 0.0
