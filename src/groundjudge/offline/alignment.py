"""Whether one sentence of the sources says what a sentence claims, in nearly the same words.

A claim and a sentence of a source are compared by their content words: those of the claim must stand in the
sentence one after the other, with nothing else between them. That alone rules out another name, number, unit
or negation. Function words may come and go between them, but none may take the place of another ("to" and
"from"), and whatever limits the sentence (not, only, unless, most, may) must be in the claim.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from re import compile as compile_pattern
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from groundjudge.evidence.sources import Passage
from groundjudge.text.negations import NEGATIONS
from groundjudge.text.sentences import sentences
from groundjudge.text.words import Language, Word, language_of, words

_LIMITS = (
    "only except unless if until till but without nur außer wenn falls sofern solange bis aber ohne "
    "不 没 沒 未 无 無 非"
)
_QUALIFIERS = (
    "all every each some most many few any several half than almost nearly hardly rarely partly formerly "
    "usually often sometimes always may might could should must can alle jede jeder jedes einige manche "
    "viele wenige meist meisten fast selten teilweise oft manchmal immer kann können darf dürfen muss "
    "müssen soll sollen könnte"
)

MAX_PIECE = 1000
"""Characters of a sentence that are compared at once, so that a megabyte without a full stop stays cheap."""

MAX_PLACES = 64
"""Sentences with a word that are looked at: of a word that stands everywhere, more of them tell nothing."""

MAX_NEAREST = 4
"""Sentences that share most words with a claim, of which the nearest one is named."""

MAX_CONJUNCTION = 3
"""Letters of a word that joins a clause to the one before it, in any language: y, und, and, ale."""

FOREIGN_NUMBER = 0.7
"""What is left of the rank of a claim that has a number which no source has."""

_PIECE = compile_pattern(rf"\S(?s:.{{0,{MAX_PIECE}}})(?=\s|\Z)|\S(?s:.{{0,{MAX_PIECE}}})")
_ASIDE = compile_pattern(r"\([^()]*\)")


class Wording:
    """The words of a sentence as they are compared with those of another one."""

    def __init__(self, sentence_words: Sequence[Word]) -> None:
        self.words = sentence_words
        self.keys: list[str] = []  # of its content words
        self.links: list[set[str]] = [set()]  # the linking words ahead of each of them, and behind the last
        for word in sentence_words:
            if word.kind == "content":
                self.keys.append(word.key)
                self.links.append(set())
            elif word.kind == "link":
                self.links[-1].add(word.key)

    @cached_property
    def line(self) -> str:
        """The keys in one text, in which those of another wording can be looked up."""
        return f" {' '.join(self.keys)} "

    def places_of(self, claim: Wording) -> Iterator[int]:
        """Yield where the content words of a claim stand in this sentence, with nothing else between them."""
        if claim.line not in self.line:
            return
        n_keys = len(claim.keys)
        for start in range(len(self.keys) - n_keys + 1):
            if self.keys[start : start + n_keys] == claim.keys and self._has_links_of(claim, start):
                yield start

    def _has_links_of(self, claim: Wording, start: int) -> bool:
        """Whether linking words are only left out or added there, and none stands in another's place."""
        for number, claim_links in enumerate(claim.links[:-1]):
            links = self.links[start + number]
            if not (claim_links <= links or links <= claim_links):
                return False
        return True


class Nearest(NamedTuple):
    """The sentence of the sources that is most like a claim."""

    passage: Passage | None
    rank: float  # how much of the claim stands there and elsewhere in the sources, 0..1
    missing: tuple[str, ...]  # the words of the claim that it lacks


@dataclass(frozen=True)
class Sources:
    """The sentences that can bear out a claim, and where their words stand.

    Attributes:
        language: the language of the case.
        passages: the sentences.
        wordings: their words.
        places: the numbers of the sentences that have a key, rising.
    """

    language: Language
    passages: Sequence[Passage]
    wordings: Sequence[Wording]
    places: dict[str, list[int]]

    def find(self, claim: Wording, known: frozenset[str], asked: frozenset[str] | None) -> int | None:
        """Find the number of a sentence that says what a claim says; None if there is none.

        Args:
            claim: the words of the claim.
            known: what the reader knows that it speaks of: the content words of query and response.
            asked: the words of the query that the sources have: a sentence with all of them may say what
                nobody knows ahead of the claim, such as its subject. None: no sentence may.
        """
        if not claim.keys:
            return None
        rarest = min(claim.keys, key=lambda key: len(self.places.get(key, ())))
        for number in self.places.get(rarest, [])[:MAX_PLACES]:
            wording = self.wordings[number]
            is_asked_for = asked is not None and asked.issubset(wording.keys)
            for start in wording.places_of(claim):
                ahead = wording.keys[:start]
                behind = wording.keys[start + len(claim.keys) :]
                if self._is_limited(ahead, behind):
                    continue
                if is_asked_for or known.issuperset(ahead):
                    return number
        return None

    def _is_limited(self, ahead: Iterable[str], behind: Iterable[str]) -> bool:
        """Whether a sentence limits or denies what a claim takes from it, by words that the claim lacks."""
        limits = keys_of(_LIMITS, self.language) | negations(self.language)
        qualifiers = keys_of(_QUALIFIERS, self.language)
        return not (limits | qualifiers).isdisjoint(ahead) or not limits.isdisjoint(behind)

    def nearest(self, claim: Wording) -> Nearest:
        """Find the sentence that is most like a claim which no sentence bears out."""
        if not claim.keys:
            return Nearest(None, 0.0, ())
        counts: Counter[int] = Counter()
        for key in set(claim.keys):
            counts.update(self.places.get(key, [])[:MAX_PLACES])
        foreign = [key for key in claim.keys if key not in self.places]
        best, n_best = -1, 0
        for number, _ in counts.most_common(MAX_NEAREST):
            n_common = LCSseq.similarity(claim.keys, self.wordings[number].keys)
            if n_common > n_best:
                best, n_best = number, n_common
        if best < 0:
            return Nearest(None, 0.0, _content_of(claim))
        n_keys = len(claim.keys)
        n_known = n_keys - len(foreign)
        rank = (n_best + 2 * n_known) / (3 * n_keys)  # both measured on labelled rows; see docs/models.md
        if any(key[0].isdigit() for key in foreign):
            rank *= FOREIGN_NUMBER
        return Nearest(self.passages[best], rank, _content_of(claim, self.wordings[best]))


def read_sources(documents: Sequence[str], response: str) -> Sources:
    """Read the sentences that can bear out a response."""
    language = language_of((response, *documents))
    passages: list[Passage] = []
    wordings: list[Wording] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for document, content in enumerate(documents):
        for sentence in sentences(content):
            for piece in _PIECE.finditer(content, sentence.start, sentence.end):
                for text in _readings_of(piece[0]):
                    wording = Wording(words(text, language))
                    for key in set(wording.keys):
                        places[key].append(len(wordings))
                    wordings.append(wording)
                    passages.append(Passage(document, *piece.span()))
    return Sources(language, passages, wordings, dict(places))


def _readings_of(text: str) -> list[str]:
    """A sentence as it stands, and without what it says in brackets, which interrupts the rest."""
    without_asides = _ASIDE.sub(" ", text)
    return [text] if without_asides == text else [text, without_asides]


def _content_of(claim: Wording, wording: Wording | None = None) -> tuple[str, ...]:
    """The content words of a claim that another wording lacks, each once."""
    keys = set(wording.keys) if wording is not None else set[str]()
    texts = [word.text for word in claim.words if word.kind == "content" and word.key not in keys]
    return tuple(dict.fromkeys(texts))


@cache
def negations(language: Language) -> frozenset[str]:
    """The keys of negations."""
    return keys_of(" ".join(NEGATIONS), language)


@cache
def keys_of(text: str, language: Language) -> frozenset[str]:
    """The keys of the content words of a text."""
    return frozenset(word.key for word in words(text, language) if word.kind == "content")
