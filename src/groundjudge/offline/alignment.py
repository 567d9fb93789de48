"""Whether one sentence of the sources says what a sentence claims, in nearly the same words.

A claim and a sentence of a source are compared by their content words: those of the claim must stand in the
sentence one after the other, with nothing else between them. That alone rules out another name, number, unit
or negation. Function words may come and go between them, but none may take the place of another ("to" and
"from"), and whatever limits the sentence (not, only, unless, most, may) must be in the claim.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from groundjudge.evidence.sources import Passage
from groundjudge.text.negations import NEGATIONS
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import sentences
from groundjudge.text.words import Language, Word, language_of, words

_LIMITS = (
    "only except unless if until till but without nur außer wenn falls sofern solange bis aber ohne "
    "不 没 沒 未 无 無 非"
)
_QUALIFIERS = (
    "that whether dass ob all every each some most many few any several half than almost nearly hardly "
    "rarely partly formerly usually often sometimes always may might could should must can alle jede "
    "jeder jedes einige manche viele wenige meist meisten fast selten teilweise oft manchmal immer kann "
    "können darf dürfen muss müssen soll sollen könnte"
)

_PRONOUNS = "it its they them their es er sie ihn ihm"

MAX_PIECE = 1000
"""Characters of a sentence that are compared at once, so that a megabyte without a full stop stays cheap."""

MAX_PLACES = 64
"""Sentences with a word that are looked at: of a word that stands everywhere, more of them tell nothing."""

MAX_CANDIDATES = 8
"""Sentences that share most words with a claim: one of them says it, or none does."""

MAX_SUBJECT = 3
"""Content words at the beginning of a sentence for which a pronoun of the next one may stand."""

MAX_CONJUNCTION = 3
"""Letters of a word that joins a clause to the one before it, in any language: y, und, and, ale."""

FOREIGN_NUMBER = 0.7
"""What is left of the rank of a claim that has a number which no source has."""

_PIECE = compile_when_used(rf"\S(?s:.{{0,{MAX_PIECE}}})(?=\s|\Z)|\S(?s:.{{0,{MAX_PIECE}}})")
_ASIDE = compile_when_used(r"\([^()]*\)")


class Wording:
    """The words of a sentence as they are compared with those of another one.

    Attributes:
        words: the words.
        subject: the first content words of the sentence before, for which a pronoun of this one may stand.
        keys: the content words as they are compared.
        links: the linking words ahead of each of them, and behind the last.
        pronouns: the places ahead of which a pronoun stands.
        openings: the places at which a phrase begins, with a function word or behind a comma.
    """

    def __init__(self, sentence_words: Sequence[Word], subject: Sequence[str] = ()) -> None:
        self.words = sentence_words
        self.subject = list(subject)
        self.keys: list[str] = []
        self.links: list[set[str]] = [set()]
        self.pronouns: set[int] = set()
        self.openings: set[int] = set()
        for word in sentence_words:
            if word.begins_clause or word.kind != "content":
                self.openings.add(len(self.keys))
            if word.kind == "content":
                self.keys.append(word.key)
                self.links.append(set())
            elif word.kind == "link":
                self.links[-1].add(word.key)
            elif word.text.casefold() in _PRONOUNS.split():
                self.pronouns.add(len(self.keys))

    @property
    def named(self) -> set[str]:
        """What the sentence speaks of: its content words, and what its pronouns may stand for."""
        return {*self.keys, *self.subject} if self.pronouns else set(self.keys)

    @property
    def opening(self) -> list[str]:
        """The content words with which the sentence begins, up to the first linking word."""
        opening: list[str] = []
        for key, links in zip(self.keys[:MAX_SUBJECT], self.links, strict=False):
            if links:
                break
            opening.append(key)
        return opening


class Match(NamedTuple):
    """Where a claim stands in a sentence: the content words ahead of it, and those behind it."""

    ahead: Sequence[str]
    behind: Sequence[str]


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
        limits = keys_of(_LIMITS, self.language) | negations(self.language)
        qualifiers = keys_of(_QUALIFIERS, self.language) | limits
        for number in self._candidates(claim):
            wording = self.wordings[number]
            is_asked_for = asked is not None and asked.issubset(wording.named)
            for match in _matches(claim, wording, qualifiers):
                # What limits or denies the sentence must be in the claim.
                is_limited = not qualifiers.isdisjoint(match.ahead) or not limits.isdisjoint(match.behind)
                if not is_limited and (is_asked_for or known.issuperset(match.ahead)):
                    return number
        return None

    def nearest(self, claim: Wording) -> Nearest:
        """Find the sentence that is most like a claim which no sentence bears out."""
        best: int | None = None
        n_best = 0
        for number in self._candidates(claim):
            n_common = LCSseq.similarity(claim.keys, self.wordings[number].keys)
            if n_common > n_best:
                best, n_best = number, n_common
        if best is None:
            return Nearest(None, 0.0, _content_of(claim))
        foreign = [key for key in claim.keys if key not in self.places]
        n_keys = len(claim.keys)
        # A word that stands elsewhere counts as much again: by that people's labels are ranked best.
        rank = (n_best + 2 * (n_keys - len(foreign))) / (3 * n_keys)
        if any(key[0].isdigit() for key in foreign):
            rank *= FOREIGN_NUMBER
        return Nearest(self.passages[best], rank, _content_of(claim, self.wordings[best]))

    def _candidates(self, claim: Wording) -> list[int]:
        """The numbers of the sentences that share most words with a claim."""
        counts: Counter[int] = Counter()
        for key in set(claim.keys):
            counts.update(self.places.get(key, [])[:MAX_PLACES])
        return [number for number, _ in counts.most_common(MAX_CANDIDATES)]


def _matches(claim: Wording, wording: Wording, qualifiers: frozenset[str]) -> Iterator[Match]:
    """Yield where the content words of a claim stand in a sentence, one after the other.

    A phrase with which the sentence begins may end the claim, and the other way round.
    """
    for start, key in enumerate(wording.keys):
        if key != claim.keys[0] and start not in wording.pronouns:
            continue
        if start and start not in wording.openings and 0 not in claim.pronouns:
            continue  # the east | gate
        end = _end_of_match(claim.keys, claim.links, wording, start, qualifiers)
        if end is not None and _ends_phrase(wording, end):
            yield Match(wording.keys[:start], wording.keys[end:])
    for place in claim.openings - {0}:
        keys = claim.keys[place:] + claim.keys[:place]
        links = claim.links[place:-1] + claim.links[:place]
        end = _end_of_match(keys, links, wording, 0, qualifiers)
        if end is not None and _ends_phrase(wording, end):
            yield Match((), wording.keys[end:])


def _ends_phrase(wording: Wording, place: int) -> bool:
    """Whether a phrase ends ahead of a place: nothing there says more of the word before."""
    return place == len(wording.keys) or place in wording.openings


def _end_of_match(
    keys: Sequence[str], links: Sequence[set[str]], wording: Wording, start: int, qualifiers: frozenset[str]
) -> int | None:
    """Where the words of a claim end that begin at a place of a sentence; None if they do not stand there.

    One difference is fine: a word of the sentence that the claim leaves out, or a pronoun of it for
    which the claim names what the sentence before begins with.
    """
    place = start
    number = 0
    lacks_link = lacks_word = names_subject = False
    while number < len(keys):
        is_same = place < len(wording.keys) and wording.keys[place] == keys[number]
        if is_same:
            claim_links, source_links = links[number], wording.links[place]
            # Linking words are only left out or added, and none takes another's place.
            if not (claim_links <= source_links or source_links <= claim_links):
                return None
            lacks_link = lacks_link or not source_links <= claim_links
            number += 1
            place += 1
            continue
        if lacks_word or names_subject:
            return None
        n_named = 0
        if place in wording.pronouns:
            n_named = _length_of_subject(keys[number:], wording, place)
        if n_named:
            names_subject = True
            number += n_named
        elif number and not links[number] and _may_be_left_out(wording, place, qualifiers):
            lacks_word = True
            place += 1
        else:
            return None
    if lacks_word and lacks_link:
        return None  # "was bought by" is not "bought"
    return place


def _length_of_subject(keys: Sequence[str], wording: Wording, place: int) -> int:
    """How many keys, from the first on, name what the pronoun at a place stands for; 0 if they do not.

    Behind them the sentence must go on as the claim does.
    """
    rest = wording.keys[place : place + 1]
    for start in range(len(wording.subject)):
        for end in range(start + 1, len(wording.subject) + 1):
            length = end - start
            if wording.subject[start:end] == keys[:length] and rest[:1] == keys[length : length + 1]:
                return length
    return 0


def _may_be_left_out(wording: Wording, place: int, qualifiers: frozenset[str]) -> bool:
    """Whether a claim may lack a word: no number, no sign, and none that "of", "for" or the like leads to."""
    if place == len(wording.keys) or wording.links[place]:
        return False
    key = wording.keys[place]
    return key.isalpha() and len(key) > 1 and key not in qualifiers


def read_sources(documents: Sequence[str], response: str) -> Sources:
    """Read the sentences that can bear out a response."""
    language = language_of((response, *documents))
    passages: list[Passage] = []
    wordings: list[Wording] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for document, content in enumerate(documents):
        subject: Sequence[str] = ()
        for sentence in sentences(content):
            for piece in _PIECE.finditer(content, sentence.start, sentence.end):
                for text in _readings_of(piece[0]):
                    wording = Wording(words(text, language), subject)
                    for key in set(wording.keys):
                        places[key].append(len(wordings))
                    wordings.append(wording)
                    passages.append(Passage(document, *piece.span()))
                subject = wordings[-1].opening
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
