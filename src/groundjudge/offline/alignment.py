"""Whether one sentence of the sources says what a sentence claims, in nearly the same words.

The claim must be a piece of that sentence: the same words in the same order, but for articles and
auxiliaries, from its beginning to the end of a phrase. What follows must not limit or deny it ("only",
"unless"). The claim may lack one word that begins a phrase, and say "it" for the subject.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from groundjudge.evidence.sources import Passage
from groundjudge.offline.vocabulary import is_pronoun, keys_of, limits, qualifiers, vocabulary
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import sentences, without_citations
from groundjudge.text.words import Language, Word, language_of, words

MIN_WORDS = 2
"""Content words of a claim: a single one ("None.") is in many sentences, and says nothing."""

MAX_SUBJECT = 4
"""Words of a subject that a claim replaces by a pronoun."""

MAX_PLACES = 64
"""How many sentences with a word are looked at: for a word that is everywhere, more of them add nothing."""

FOREIGN_NUMBER = 0.7
"""The factor on the rank of a claim with a number that is in no source."""

_ASIDE = compile_when_used(r"\([^()]*\)|, (?:which|who)\b[^,]*,")
_LIST_NUMBER = compile_when_used(r"\A\s*\(?(?:\d{1,3}|[a-z])[.)]\s+")
_QUESTION = compile_when_used(r"[?？]\W*\Z")


class Term(NamedTuple):
    """A word that is compared: any but articles and auxiliaries.

    Attributes:
        key: the form that is compared.
        is_past: whether it is in the past tense, in English: "opened" does not say that it opens.
        is_content: whether it says something; others, like "of" and "and", link words that do.
        begins_phrase: whether it may begin a phrase: after an article or a comma, and what links phrases.
    """

    key: str
    is_past: bool
    is_content: bool
    begins_phrase: bool

    def is_same(self, other: Term) -> bool:
        """Whether both are the same word in the same tense."""
        return self.key == other.key and self.is_past is other.is_past


class Sentence(NamedTuple):
    """A sentence of a source: where it is, its words, and the keys of its content words."""

    passage: Passage
    words: Sequence[Word]
    keys: frozenset[str]


@dataclass(frozen=True)
class Sources:
    """The sentences that can support a claim, and where their words are.

    Attributes:
        language: the language of the case.
        sentences: the sentences.
        places: the numbers of the sentences that have a key of the response, rising.
    """

    language: Language
    sentences: list[Sentence]
    places: dict[str, list[int]]

    def find(self, claim: Sequence[Word], asked: frozenset[str] | None) -> Sentence | None:
        """Find a sentence that says what a claim says; None if there is none.

        Args:
            claim: the words of the claim.
            asked: what the query asks about, which the claim may call "it"; None: "it" is something else.
        """
        keys = keys_of(claim)
        if len(keys) < MIN_WORDS:
            return None
        # The sentence has all words of the claim, so the rarest leads to it.
        rarest = min((self.places.get(key, []) for key in keys), key=len)
        for number in rarest[:MAX_PLACES]:
            sentence = self.sentences[number]
            if sentence.keys.issuperset(keys) and self._says(sentence, claim, asked):
                return sentence
        return None

    def _says(self, sentence: Sentence, claim: Sequence[Word], asked: frozenset[str] | None) -> bool:
        terms = _terms_of(sentence.words, self.language)
        if self._has_piece(terms, 0, claim):
            return True
        if not is_pronoun(claim[0]) or asked is None:
            return False
        # "What does the museum cost? It costs 5 euros": the sentence may begin with "The museum".
        for start in range(MAX_SUBJECT + 1):
            if self._has_piece(terms, start, claim[1:]):
                subject = {term.key for term in terms[:start]}
                # "Critics say it costs 5 euros" has another subject.
                has_other = not subject.isdisjoint(vocabulary(self.language, "subjects"))
                return not has_other and (subject <= asked or asked <= sentence.keys)
        return False

    def _has_piece(self, sentence: Sequence[Term], start: int, claim: Sequence[Word]) -> bool:
        """Whether a sentence has a claim as a piece that begins there, and that the rest does not limit."""
        end = start
        lacks_word = False
        for term in _terms_of(claim, self.language):
            if end > start and not lacks_word and end < len(sentence) and not sentence[end].is_same(term):
                lacks_word = self._may_be_left_out(sentence[end])
                end += int(lacks_word)
            if end >= len(sentence) or not sentence[end].is_same(term):
                return False
            end += 1
        before, after = sentence[:start], sentence[end:]
        if any(term.key in qualifiers(self.language) for term in before):
            return False
        if any(term.key in limits(self.language) for term in after):
            return False
        # What follows directly says more about the last word: "5 million".
        return not after or after[0].begins_phrase

    def _may_be_left_out(self, term: Term) -> bool:
        """Whether a claim may lack a word: not in "the museum of Bern", nor a number, nor "most"."""
        is_word = term.is_content and term.key.isalpha()
        is_name = len(term.key) == 1  # a letter alone is a grade, a unit or a variable
        return is_word and not is_name and term.begins_phrase and term.key not in qualifiers(self.language)

    def nearest(self, keys: Sequence[str]) -> tuple[Sentence | None, float]:
        """Return the sentence with most words of a claim, and how much of it the sources have, 0 to 1."""
        keys = list(dict.fromkeys(keys))  # in their order, which breaks ties alike in every process
        foreign = [key for key in keys if key not in self.places]
        n_common = Counter(chain.from_iterable(self.places.get(key, [])[:MAX_PLACES] for key in keys))
        if not n_common:
            return None, 0.0
        number = max(n_common, key=n_common.__getitem__)
        # A word that is anywhere counts twice: this ranks people's labels best.
        rank = (n_common[number] + 2 * (len(keys) - len(foreign))) / (3 * len(keys))
        if any(key[0].isdigit() for key in foreign):
            rank *= FOREIGN_NUMBER
        return self.sentences[number], rank


def read_sources(documents: Sequence[str], response: str, query: str = "") -> Sources:
    """Read the sentences that can support a response to a query."""
    language = language_of((query, response, *documents))
    looked_up = frozenset(keys_of(words(response, language)))
    source_sentences: list[Sentence] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for document, content in enumerate(documents):
        for start, end, sentence_words, keys in _read_document(content, language):
            for key in keys & looked_up:
                places[key].append(len(source_sentences))
            source_sentences.append(Sentence(Passage(document, start, end), sentence_words, keys))
    return Sources(language, source_sentences, places)


@lru_cache(maxsize=32)  # several judges, or several responses, share their sources
def _read_document(content: str, language: Language) -> Sequence[tuple[int, int, list[Word], frozenset[str]]]:
    """Return where each sentence of a document is, its words, and the keys of its content words.

    A sentence with an aside comes twice: as it is, and without the aside.
    """
    found_sentences: list[tuple[int, int, list[Word], frozenset[str]]] = []
    for text, start, end in sentences(content):
        if _QUESTION.search(text):
            continue
        readings = [text]
        asides = " ".join(_ASIDE.findall(text))
        # "(rarely)" limits what it stands in.
        if asides and qualifiers(language).isdisjoint(keys_of(words(asides, language))):
            readings.append(_ASIDE.sub(" ", text))
        for reading in readings:
            sentence_words = words(as_compared(reading), language)
            found_sentences.append((start, end, sentence_words, frozenset(keys_of(sentence_words))))
    return found_sentences


def as_compared(sentence: str) -> str:
    """Return a sentence without what says nothing in it: the number of a list, citation markers."""
    return _LIST_NUMBER.sub("", without_citations(sentence))


def _terms_of(sentence_words: Sequence[Word], language: Language) -> list[Term]:
    """Return the words of a sentence that are compared."""
    conjunctions = vocabulary(language, "conjunctions")
    beginnings = vocabulary(language, "beginnings")
    terms: list[Term] = []
    begins_phrase = True
    for word in sentence_words:
        joins = word.key in conjunctions
        if word.kind != "filler" or joins:
            # Irregular verbs have another key in the past.
            is_past = word.text.casefold().endswith("ed") and not word.key.endswith("ed")
            is_content = word.kind == "content" and not joins
            begins = begins_phrase or word.begins_clause or not is_content or word.key in beginnings
            terms.append(Term(word.key, is_past, is_content, begins))
        begins_phrase = word.kind != "content" and not joins
    return terms
