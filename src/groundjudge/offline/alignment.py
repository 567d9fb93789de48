"""Whether one sentence of the sources says what a sentence claims, in nearly the same words.

The sentence must begin with the claim: the same words in the same order, ignoring articles and auxiliaries,
up to the end of a phrase. What follows must not limit or deny it ("only", "unless"). The claim may omit one
word at the start of a phrase, such as an adjective after an article, and say "it" for the subject.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from groundjudge.offline.vocabulary import LIMITS_AHEAD, LIMITS_BEHIND, is_pronoun, keys_of, vocabulary
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import Sentence, sentences, without_citations
from groundjudge.text.words import Language, Word, language_of, words

MIN_WORDS = 2
"""Content words of a claim: a single one ("None.") is in many sentences, and says nothing."""

MAX_SUBJECT = 4
"""Words of a subject that a claim replaces by a pronoun."""

MAX_PLACES = 64
"""How many sentences with a word are looked at: for a word that is everywhere, more of them add nothing."""

FOREIGN_NUMBER = 0.7
"""The factor on the rank of a claim with a number that is in no source."""

PAST_ENDINGS: Mapping[Language, tuple[str, ...]] = {"english": ("ed",), "german": ("te", "ten")}
"""Endings of verbs in the past that stems ignore."""

_ASIDE = compile_when_used(r"\([^()]*\)|, (?:which|who)\b[^,]*,")
_LIST_NUMBER = compile_when_used(r"\A\s*\(?(?:\d{1,3}|[a-z])[.)]\s+")
_QUESTION = compile_when_used(r"[?？]\W*\Z")


class Term(NamedTuple):
    """A word that is compared: any but articles and auxiliaries.

    Attributes:
        key: what all forms of the word share.
        form: the key with what it ignores and yet says something: the past ("opened"), accents ("wäre").
        begins_phrase: whether a phrase may begin with it: it follows an article or a comma, or is a link.
        can_be_omitted: whether a claim may lack it: not in "the museum of Bern", nor a number, nor "most".
    """

    key: str
    form: str
    begins_phrase: bool
    can_be_omitted: bool


@dataclass(frozen=True, eq=False)  # each is a key of its own, however often its words are repeated
class SourceSentence:
    """A sentence of a source, its words, and the keys of its content words."""

    sentence: Sentence
    words: Sequence[Word]
    keys: frozenset[str]

    @property
    def first_keys(self) -> frozenset[str]:
        """The keys of the words that name its subject, if it begins with that."""
        return frozenset(keys_of(self.words[:MAX_SUBJECT]))


@dataclass(frozen=True)
class Sources:
    """The sentences that can support a claim, by their words.

    Attributes:
        language: the language of the case.
        by_key: by the key of each content word of the response, the sentences that have it, in order.
    """

    language: Language
    by_key: Mapping[str, Sequence[SourceSentence]]

    def find(self, claim: Sequence[Word], asked: frozenset[str] | None) -> SourceSentence | None:
        """Find a sentence that says what a claim says; None if there is none.

        Args:
            claim: the words of the claim.
            asked: what the query asks about, which the claim may call "it"; None: "it" is something else.
        """
        keys = keys_of(claim)
        if len(keys) < MIN_WORDS:
            return None
        # The sentence has all words of the claim, so the rarest leads to it.
        rarest = min((self.by_key.get(key, ()) for key in keys), key=len)
        for sentence in rarest[:MAX_PLACES]:
            if not sentence.keys.issuperset(keys):
                continue
            terms = _terms_of(sentence.words, self.language)
            if self._begins_with(terms, _terms_of(claim, self.language)):
                return sentence
            # "What does the museum cost? It costs 5 euros": the sentence may begin with "The museum".
            if asked is None or not is_pronoun(claim[0]):
                continue
            subject = self._find_subject(terms, _terms_of(claim[1:], self.language))
            if subject is not None and (subject <= asked or asked <= sentence.keys):
                return sentence
        return None

    def _find_subject(self, sentence: Sequence[Term], predicate: Sequence[Term]) -> set[str] | None:
        """Return the keys of the subject of which a sentence says something; None if it does not say that."""
        for length in range(MAX_SUBJECT + 1):
            subject = {term.key for term in sentence[:length]}
            if not subject.isdisjoint(vocabulary(self.language, *LIMITS_AHEAD, "subjects")):
                return None  # "Critics say it costs 5 euros" has another subject.
            if self._begins_with(sentence[length:], predicate):
                # "We open at 9" does not say that they do.
                is_person = bool(subject) and subject <= vocabulary(self.language, "i", "we", "you")
                return None if is_person else subject
        return None

    def _begins_with(self, sentence: Sequence[Term], claim: Sequence[Term]) -> bool:
        """Whether a sentence begins with a claim, and nothing behind it limits that."""
        forms = [term.form for term in claim]
        pairs = enumerate(zip(sentence, forms, strict=False))
        difference = next((place for place, (term, form) in pairs if term.form != form), 0)
        # The claim may lack one word, but not the first.
        if difference > 0 and sentence[difference].can_be_omitted:
            sentence = [*sentence[:difference], *sentence[difference + 1 :]]
        if [term.form for term in sentence[: len(claim)]] != forms:
            return False
        rest = sentence[len(claim) :]
        if not vocabulary(self.language, *LIMITS_BEHIND).isdisjoint(term.key for term in rest):
            return False
        # What follows directly says more about the last word: "5 million".
        return not rest or rest[0].begins_phrase

    def nearest(self, keys: Sequence[str]) -> tuple[Sequence[SourceSentence], float]:
        """Return the sentence that shares the most words with a claim, if any, and the claim's rank, 0 to 1.

        Two thirds of the rank are the content words that any sentence has, one third those of this one, which
        ranks people's labels best.
        """
        keys = list(dict.fromkeys(keys))  # in their order, which breaks ties alike in every process
        known = [key for key in keys if key in self.by_key]
        n_shared = Counter(chain.from_iterable(self.by_key[key][:MAX_PLACES] for key in known))
        if not n_shared:
            return (), 0.0
        [(nearest, n_common)] = n_shared.most_common(1)
        rank = (n_common + 2 * len(known)) / (3 * len(keys))
        if any(key[0].isdigit() and key not in known for key in keys):
            rank *= FOREIGN_NUMBER
        return (nearest,), rank


def read_sources(documents: Sequence[str], response: str, query: str = "") -> Sources:
    """Read the sentences that can support a response to a query."""
    language = language_of((query, response, *documents))
    looked_up = frozenset(keys_of(words(response, language)))
    found_sentences: defaultdict[str, list[SourceSentence]] = defaultdict(list)
    for number, content in enumerate(documents):
        for source in _read_document(number, content, language):
            for key in source.keys & looked_up:
                found_sentences[key].append(source)
    return Sources(language, dict(found_sentences))


@lru_cache(maxsize=32)  # several judges, or several responses, share their sources
def _read_document(document: int, content: str, language: Language) -> Sequence[SourceSentence]:
    """Read the sentences of a document. One with an aside comes twice: as it is, and without the aside."""
    found_sentences: list[SourceSentence] = []
    for sentence in sentences(content, document):
        if asks(sentence.text):
            continue
        readings = [sentence.text]
        asides = " ".join(_ASIDE.findall(sentence.text))
        # "(rarely)" limits what it stands in.
        if asides and vocabulary(language, *LIMITS_AHEAD).isdisjoint(keys_of(words(asides, language))):
            readings.append(_ASIDE.sub(" ", sentence.text))
        for reading in readings:
            sentence_words = words(as_compared(reading), language)
            keys = frozenset(keys_of(sentence_words))
            found_sentences.append(SourceSentence(sentence, sentence_words, keys))
    return found_sentences


def as_compared(sentence: str) -> str:
    """Return a sentence without list numbers and citation markers, which mean nothing."""
    return _LIST_NUMBER.sub("", without_citations(sentence))


def asks(sentence: str) -> bool:
    """Whether a sentence is a question."""
    return _QUESTION.search(sentence) is not None


def _terms_of(sentence_words: Sequence[Word], language: Language) -> list[Term]:
    """Return the words of a sentence that are compared."""
    limits = vocabulary(language, *LIMITS_AHEAD)
    conjunctions = vocabulary(language, "conjunctions")
    beginnings = vocabulary(language, "beginnings")
    terms: list[Term] = []
    begins_phrase = True
    is_joined = False
    for word in sentence_words:
        joins = word.key in conjunctions
        if word.kind != "filler":
            is_content = word.kind == "content" and not joins
            begins = begins_phrase or not is_content or word.begins_clause or word.key in beginnings
            # A single letter is a grade, a unit or a variable. What "and" joins is more than an adjective.
            is_word = is_content and word.key.isalpha() and len(word.key) > 1 and not is_joined
            can_be_omitted = is_word and begins and word.key not in limits
            terms.append(Term(word.key, _form_of(word, language), begins, can_be_omitted))
        is_joined = joins
        begins_phrase = word.kind != "content"
    return terms


def _form_of(word: Word, language: Language) -> str:
    """Return the key of a word with what it ignores and yet says something."""
    text = word.text.casefold()
    accents = "".join(character for character in text if not character.isascii())
    endings = PAST_ENDINGS.get(language, ())
    # Irregular verbs have another key in the past.
    tense = "past" if text.endswith(endings) and not word.key.endswith(endings) else ""
    return f"{word.key} {accents} {tense}"
