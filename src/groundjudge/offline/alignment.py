"""Whether one sentence of the sources says what a sentence claims, in nearly the same words.

A claim and a sentence of a source are compared by their content words: those of the claim must appear in the
sentence one after the other, with nothing else between them. That alone rules out another name, number, unit
or negation. Function words may come and go between them, but none may replace another ("to" and "from"), and
anything that limits the sentence (not, only, unless, most, may) must be in the claim.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rapidfuzz.distance import LCSseq

from groundjudge.evidence.sources import Passage
from groundjudge.offline.vocabulary import keys_of, limits, qualifiers, vocabulary
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import Span, sentences, without_citations
from groundjudge.text.words import Language, Word, language_of, words

MIN_WORDS = 2
"""Content words of a claim: a single one ("None.") is in many sentences, and says nothing."""

MAX_PLACES = 64
"""How many sentences with a word are looked at: for a word that is everywhere, more of them add nothing."""

MAX_CANDIDATES = 8
"""How many of the sentences that share most with a claim are compared: one of them says it, or none."""

MAX_PIECE = 1000
"""The most characters of a sentence that is compared as a whole."""

MAX_SUBJECT = 3
"""Content words of a subject: at the beginning of a sentence, or before what a claim uses of it."""

FOREIGN_NUMBER = 0.7
"""The factor on the rank of a claim with a number that is in no source."""

_PIECE = compile_when_used(rf"\S(?s:.{{0,{MAX_PIECE}}})(?=\s|\Z)|\S(?s:.{{0,{MAX_PIECE}}})")
_ASIDE = compile_when_used(r"\([^()]*\)")
_LIST_NUMBER = compile_when_used(r"\A\s*\(?(?:\d{1,3}|[a-z])[.)]\s+")
_QUESTION = compile_when_used(r"[?？]\W*\Z")


class Wording:
    """The words of a sentence, prepared for comparison with another one.

    Attributes:
        subject: the content words that begin the previous sentence; a pronoun in this one may mean them.
        keys: the content words in the form that is compared.
        links: the linking words before each of them, and after the last.
        pronouns: the places with a pronoun before them.
        openings: the places at which a phrase begins, with a function word or after a comma.
    """

    def __init__(
        self, sentence_words: Sequence[Word], language: Language, subject: Sequence[str] = ()
    ) -> None:
        self.subject = subject
        self.keys: list[str] = []
        self.links: list[set[str]] = [set()]
        self.pronouns: set[int] = set()
        self.openings: set[int] = set()
        pronouns = vocabulary("pronouns", language)
        beginnings = vocabulary("beginnings", language)
        for word in sentence_words:
            # Places count content words: everything between two of them has the same place.
            place = len(self.keys)
            if word.kind == "content":
                if word.begins_clause or word.key in beginnings:
                    self.openings.add(place)
                self.keys.append(word.key)
                self.links.append(set())
                continue
            self.openings.add(place)
            if word.kind == "link":
                self.links[place].add(word.key)
            if word.key in pronouns:
                self.pronouns.add(place)

    def begins_phrase(self, place: int) -> bool:
        """Whether nothing at a place says more about the word before it."""
        return place in {0, len(self.keys)} or place in self.openings


class Sentence(NamedTuple):
    """A sentence of a source.

    Attributes:
        passage: where it is.
        words: its words.
        keys: what its content words are compared by.
        subject: the content words that begin the previous sentence.
    """

    passage: Passage
    words: Sequence[Word]
    keys: list[str]
    subject: list[str]


@dataclass(frozen=True)
class Sources:
    """The sentences that can support a claim, and where their words are.

    Attributes:
        language: the language of the case.
        sentences: the sentences.
        places: the numbers of the sentences that have a key, rising.
    """

    language: Language
    sentences: list[Sentence]
    places: dict[str, list[int]]

    def find(
        self, claim_words: Sequence[Word], known_keys: frozenset[str], asked_keys: frozenset[str] | None
    ) -> list[Sentence]:
        """Find a sentence that says what a claim says, and return it in a list; [] if there is none.

        Args:
            claim_words: the words of the claim.
            known_keys: what the reader knows it is about: the content words of query and response.
            asked_keys: the words of the query that the sources have: a sentence with all of them may say
                something new before the claim, such as its subject. None: no sentence may.
        """
        keys = keys_of(claim_words)
        claim_keys = set(keys)
        if len(keys) < MIN_WORDS or not claim_keys <= self.places.keys():
            return []  # a word is in no source
        limits_ahead, limits_anywhere = qualifiers(self.language), limits(self.language)
        claim = Wording(claim_words, self.language)
        for sentence in self._candidates(keys):
            sentence_keys = {*sentence.keys, *sentence.subject}
            if not claim_keys <= sentence_keys:
                continue  # a word is missing that no pronoun can replace
            wording = Wording(sentence.words, self.language, sentence.subject)
            # "What does the museum cost? It costs 5 euros": the sentence may begin with "The museum".
            is_asked_for = asked_keys is not None and 0 in claim.pronouns and asked_keys <= sentence_keys
            for start, end in _matches(claim, wording, limits_ahead, takes_subject=asked_keys is None):
                ahead, behind = wording.keys[:start], wording.keys[end:]
                # What limits or denies the sentence must be in the claim.
                is_limited = not limits_ahead.isdisjoint(ahead) or not limits_anywhere.isdisjoint(behind)
                # "In 2019 it opened" is not "It opened": a number in front is not a subject.
                has_number = any(key.lstrip("-")[0].isdigit() for key in ahead if key != "-")
                is_subject = is_asked_for and len(ahead) <= MAX_SUBJECT and not has_number
                if not is_limited and (is_subject or known_keys.issuperset(ahead)):
                    return [sentence]
        return []

    def nearest(self, keys: Sequence[str]) -> tuple[list[Sentence], float]:
        """Return the sentence most like a claim with these keys; how much of it the sources have, 0 to 1.

        The sentence is returned in a list, which is [] if no sentence has any of the keys.
        """
        nearest: list[Sentence] = []
        n_nearest = 0
        for sentence in self._candidates(keys):
            n_common = LCSseq.similarity(keys, sentence.keys)
            # Of two equally near ones, the one with the rarer words, which comes first.
            if n_common > n_nearest:
                nearest, n_nearest = [sentence], n_common
        if not nearest:
            return [], 0.0
        foreign = [key for key in keys if key not in self.places]
        # A word that is anywhere counts twice: this ranks people's labels best.
        rank = (n_nearest + 2 * (len(keys) - len(foreign))) / (3 * len(keys))
        if any(key[0].isdigit() for key in foreign):
            rank *= FOREIGN_NUMBER
        return nearest, rank

    def _candidates(self, keys: Sequence[str]) -> list[Sentence]:
        """Return the sentences that share most with a claim; a rare word counts more than others."""
        weights: defaultdict[int, float] = defaultdict(float)
        for key in dict.fromkeys(
            keys
        ):  # in their order, so that ties are broken the same way in every process
            places = self.places.get(key)
            if places:
                weight = 1 / len(places)
                for number in places[:MAX_PLACES]:
                    weights[number] += weight
        # A heap is slower for the few hundred sentences that there can be.
        numbers = sorted(weights, key=weights.__getitem__, reverse=True)
        return [self.sentences[number] for number in numbers[:MAX_CANDIDATES]]


def read_sources(documents: Sequence[str], response: str) -> Sources:
    """Read the sentences that can support a response.

    Each is read as it is and, if it has an aside in brackets, without that. Each knows the subject of the
    previous sentence in its document, which a pronoun may mean.
    """
    language = language_of((response, *documents))
    source_sentences: list[Sentence] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for document, content in enumerate(documents):
        subject: list[str] = []
        for sentence in sentences(content):
            if _states_nothing(sentence.text):
                continue
            for piece in _pieces_of(sentence):
                # Both readings have the same passage: an aside is quoted with its sentence.
                passage = Passage(document, piece.start, piece.end)
                for text in _readings_of(piece.text, language):
                    text_words = words(as_compared(text), language)
                    keys = keys_of(text_words)
                    number = len(source_sentences)
                    for key in set(keys):
                        places[key].append(number)
                    source_sentences.append(Sentence(passage, text_words, keys, subject))
            # From the last reading: an aside is not what the sentence is about.
            subject = _subject_of(source_sentences[-1].words)
    return Sources(language, source_sentences, places)


def _states_nothing(sentence: str) -> bool:
    """Whether a sentence is a question, or has no words."""
    if ("?" in sentence or "？" in sentence) and _QUESTION.search(sentence):
        return True
    return not any(map(str.isalnum, sentence))


def _pieces_of(sentence: Span) -> list[Span]:
    """Return a sentence, or the parts of a long one, so that a megabyte without a full stop costs no more."""
    if len(sentence.text) <= MAX_PIECE:
        return [sentence]
    pieces: list[Span] = []
    for piece in _PIECE.finditer(sentence.text):
        start, end = piece.span()
        pieces.append(Span(piece[0], sentence.start + start, sentence.start + end))
    return pieces


def _subject_of(sentence_words: Sequence[Word]) -> list[str]:
    """Return the content words that begin a sentence, which a pronoun in the next one may mean.

    They end at the first linking word: of "Museum of Art opened" only "museum" counts, and of "To the mayor"
    nothing does.
    """
    subject: list[str] = []
    for word in sentence_words:
        if word.kind == "link" or len(subject) == MAX_SUBJECT:
            break
        if word.kind == "content":
            subject.append(word.key)
    return subject


def _readings_of(text: str, language: Language) -> list[str]:
    """Return a sentence as it is, and without what is in brackets, unless that limits the rest.

    "It opened (in May) at 9." -> itself and "It opened   at 9."; "It opens (not in May) at 9." -> itself.
    """
    asides = keys_of(words(" ".join(_ASIDE.findall(text)), language)) if "(" in text else ()
    if not asides or not limits(language).isdisjoint(asides):
        return [text]
    return [text, _ASIDE.sub(" ", text)]


def as_compared(sentence: str) -> str:
    """Return a sentence without what says nothing in it: the number of a list, citation markers."""
    return _LIST_NUMBER.sub("", without_citations(sentence))


def _matches(
    claim: Wording, wording: Wording, limits_ahead: frozenset[str], *, takes_subject: bool
) -> Iterator[tuple[int, int]]:
    """Yield where the content words of a claim begin and end in a sentence.

    A phrase at the beginning of the sentence may end the claim, and vice versa.
    """
    for start, key in enumerate(wording.keys):
        if key == claim.keys[0] or start in wording.pronouns:
            end = _end_of_match(claim.keys, claim.links, wording, start, limits_ahead)
            # It begins with its own phrase, which no "of" leads to. A pronoun, or the clause before, can name
            # what comes first.
            begins_phrase = wording.begins_phrase(start) and wording.links[start] <= claim.links[0]
            if end is not None and (begins_phrase or takes_subject or 0 in claim.pronouns):
                yield start, end
    # "In May it opened at 9" and "It opened at 9 in May" say the same.
    for place in claim.openings - {0}:
        keys = claim.keys[place:] + claim.keys[:place]
        links = claim.links[place:-1] + claim.links[:place]
        end = _end_of_match(keys, links, wording, 0, limits_ahead)
        if end is not None:
            yield 0, end


def _end_of_match(
    keys: Sequence[str], links: Sequence[set[str]], wording: Wording, start: int, limits_ahead: frozenset[str]
) -> int | None:
    """Return where a claim's words end that begin at a place of a sentence; None if they are not there.

    One difference is fine: a word of the sentence that the claim leaves out, or a pronoun in it that the
    claim replaces with the beginning of the previous sentence.

    Args:
        keys: the content words of the claim.
        links: the linking words before each of them, and after the last.
        wording: the sentence.
        start: the place of its first word that is compared.
        limits_ahead: words that limit what follows them, such as "only": none of them may be left out.
    """
    claim_place, place = 0, start
    lacks_link = lacks_word = names_subject = False
    while claim_place < len(keys):
        # A slice, because the sentence may end first.
        if wording.keys[place : place + 1] == [keys[claim_place]]:
            claim_links, source_links = links[claim_place], wording.links[place]
            # Linking words are only left out or added, and none replaces another.
            if not (claim_links <= source_links or source_links <= claim_links):
                return None
            lacks_link = lacks_link or not source_links <= claim_links
            claim_place += 1
            place += 1
            continue
        # The words differ, which is fine once: with two differences it may be another statement.
        if lacks_word or names_subject:
            return None
        n_named = _length_of_subject(keys[claim_place:], wording, place)
        if n_named:
            names_subject = True
            claim_place += n_named
        elif claim_place > 0 and not links[claim_place] and _may_be_left_out(wording, place, limits_ahead):
            lacks_word = True
            place += 1
        else:
            return None
    if lacks_word and lacks_link:  # "was bought by" is not "bought"
        return None
    return place if wording.begins_phrase(place) else None


def _length_of_subject(keys: Sequence[str], wording: Wording, place: int) -> int:
    """Return how many keys, from the first on, name what a pronoun at a place means; 0 if they do not.

    It is 2 for "city museum opens", if this sentence is "It opens" after one that begins "The city museum".
    """
    if place not in wording.pronouns:
        return 0
    next_keys = wording.keys[place : place + 1]
    for start in range(len(wording.subject)):
        for end in range(start + 1, len(wording.subject) + 1):
            subject_keys = wording.subject[start:end]
            # The sentence continues like the claim, or two subjects that begin alike would match.
            expected_keys = [*subject_keys, *next_keys]
            if expected_keys == keys[: len(expected_keys)]:
                return len(subject_keys)
    return 0


def _may_be_left_out(wording: Wording, place: int, limits_ahead: frozenset[str]) -> bool:
    """Whether a claim may lack a word: not a number, a symbol, or one that "of" or the like leads to."""
    if place == len(wording.keys) or wording.links[place]:
        return False
    key = wording.keys[place]
    # A letter alone is a grade, a unit or a variable: "vitamin C".
    return key.isalpha() and len(key) > 1 and key not in limits_ahead
