"""What a response claims, sentence by sentence, and which sentences of the sources say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rapidfuzz.distance import LCSseq

from groundjudge.evidence.sources import Passage
from groundjudge.offline.alignment import Sentence, Sources, as_compared
from groundjudge.offline.vocabulary import keys_of, negations, vocabulary
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import sentences
from groundjudge.text.words import Language, Word, words

Finding: TypeAlias = Literal["backed", "undecided", "refuted", "claims nothing"]
"""What is known about a sentence; "refuted" is a refusal ("not mentioned") of what the sources do mention."""

MAX_OTHERS = 2
"""Words other than talk in a question back, a heading or a greeting; with more it also says something."""

MAX_CONJUNCTION = 3
"""Letters of a word that joins a clause to the one before it, in any language: y, und, and, ale."""

# Above every usual threshold: what is supported passes, and the rest of the range only ranks.
WORST_BACKED = 0.8
"""The score of a sentence whose words are all in the source, each in another form; 1.0 if none is."""

_ASKS_OR_ANNOUNCES = compile_when_used(r"[?？:：]\W*\Z|\A\s*#+\s")
_ASKS = compile_when_used("[?？]")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, and what the sources say about it.

    Attributes:
        sentence: its text.
        finding: what is known about it.
        score: how literally the sources say it, .8 to 1; otherwise how much of it they have, 0 to 1.
        passages: the sentences that say it, one for each of its clauses; or the one that is most like it.
        missing: the words that the latter lacks; for a refusal, those that it has.
    """

    sentence: str
    finding: Finding
    score: float = 0.0
    passages: tuple[Passage, ...] = ()
    missing: tuple[str, ...] = ()


def read_claims(text: str, sources: Sources, query: str = "", compared_text: str = "") -> list[Claim]:
    """Look the sentences of a text up in the sources.

    Args:
        text: the text.
        sources: the sources.
        query: what the text answers.
        compared_text: the text with spaces for what says nothing in it; "" if there is no such part.
    """
    cut_sentences = sentences(text)
    compared_text = compared_text or text
    compared = [as_compared(compared_text[sentence.start : sentence.end]) for sentence in cut_sentences]
    words_of_sentences = [words(text, sources.language) for text in compared]
    reader = _Reader(frozenset[str]().union(*map(keys_of, words_of_sentences)), sources, query)
    claims: list[Claim] = []
    openers: list[Word] = []
    for sentence, sentence_words in zip(cut_sentences, words_of_sentences, strict=True):
        if not compared_text[sentence.start : sentence.end].strip():
            claims.append(Claim(sentence.text, "claims nothing"))  # a line of a list of sources
            continue
        is_last = sentence is cut_sentences[-1]
        if not is_last and sentence_words and not reader.split_openers(sentence_words)[1]:
            openers += sentence_words  # "Yes. We are open." claims what "Yes, we are open." does
            claims.append(Claim(sentence.text, "claims nothing"))
            continue
        claim = reader.read(sentence.text, [*openers, *sentence_words])
        if openers and claim.finding == "claims nothing":
            claims[-1] = reader.read(claims[-1].sentence, openers)  # "Of course! Which day is it?"
        claims.append(claim)
        openers = []
    return claims


class _Reader:
    """Reads the sentences of one text."""

    def __init__(self, text_keys: frozenset[str], sources: Sources, query: str) -> None:
        self._sources = sources
        self._language: Language = sources.language
        self._negations = negations(self._language)
        self._greetings = self._vocabulary("greetings")
        self._talk = self._vocabulary("greetings talk")
        self._stating_nothing = self._vocabulary("greetings talk pronouns_and_auxiliaries")
        questions = [sentence.text for sentence in sentences(query) if _ASKS.search(sentence.text)]
        self._is_question = bool(questions)
        question_words = words(" ".join(questions), self._language)
        self._question_keys = frozenset(keys_of(question_words)) - self._stating_nothing
        query_keys = frozenset(keys_of(words(query, self._language))) - self._stating_nothing
        self._asked = query_keys & sources.places.keys()
        self._known = query_keys | text_keys | self._vocabulary("openers")

    def read(self, sentence: str, sentence_words: Sequence[Word]) -> Claim:
        """Find out what the sources say about a sentence.

        Args:
            sentence: its text.
            sentence_words: its words, preceded by those of a "Yes." that opens it.
        """
        openers, statement = self.split_openers(sentence_words)
        statement_keys = keys_of(statement)
        keys = frozenset([*keys_of(openers), *statement_keys])
        other_keys = keys - self._stating_nothing
        asks_or_announces = _ASKS_OR_ANNOUNCES.search(as_compared(sentence)) is not None
        is_short = bool(sentence_words) and len(other_keys) <= MAX_OTHERS
        # "It is free" says something about its subject in words that otherwise belong to conversation.
        says_something = bool(sentence_words) and sentence_words[0].key in self._vocabulary("subjects")
        if (asks_or_announces and is_short) or (not says_something and self._is_talk(keys, other_keys)):
            return Claim(sentence, "claims nothing")
        places = self._sources.places
        foreign = [word for word in statement if word.kind == "content" and word.key not in places]
        backing: list[Sentence] = []
        # As a whole first: "bread and butter" is not two clauses.
        if not foreign:
            backing = self._sources.find(statement, self._known, self._asked)
        if not backing and all(map(_may_join_clauses, foreign)):
            backing = self._find_clauses(statement)
        if backing and self._agrees(keys_of(openers), statement_keys, backing):
            return Claim(sentence, "backed", _literalness(statement, backing), _passages_of(backing))
        # After the search: "The shop is not open" is found in a source that says so.
        if self._is_refusal(statement_keys):
            return self._read_refusal(sentence, statement)
        nearest, rank = self._sources.nearest(statement_keys)
        nearest_keys = _keys_of_all(nearest)
        missing = [word.text for word in statement if word.kind == "content" and word.key not in nearest_keys]
        return Claim(sentence, "undecided", rank, _passages_of(nearest), tuple(dict.fromkeys(missing)))

    def split_openers(self, sentence_words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
        """Split off the words that only open a statement: "Yes, we are open" -> "Yes", "we are open"."""
        for number, word in enumerate(sentence_words):
            if word.key not in self._vocabulary("openers"):
                return sentence_words[:number], sentence_words[number:]
        return sentence_words, ()

    def _find_clauses(self, statement: Sequence[Word]) -> list[Sentence]:
        """Find a sentence for each clause of a compound one; [] unless all are found.

        Before a clause, its sentence must say only what the first clause names: a clause takes its subject
        from the one before it.
        """
        clauses = _clauses_of(statement)
        if not clauses or not self._vocabulary("conditions").isdisjoint(keys_of(statement)):
            return []  # a condition applies to the clause next to it only
        known_keys = frozenset(keys_of(clauses[0]))
        backing: list[Sentence] = []
        for clause in clauses:
            clause_backing = self._sources.find(clause, known_keys, None)
            first = clause[0]
            # Only "and" and "und" are known as such: any other word that may join clauses is dropped to try.
            may_be_left_out = _may_join_clauses(first) and first.key not in self._negations
            if not clause_backing and backing and may_be_left_out:
                clause_backing = self._sources.find(clause[1:], known_keys, None)
            if not clause_backing:
                return []
            backing.extend(clause_backing)
        return backing

    def _agrees(self, openers: Sequence[str], keys: Sequence[str], backing: Sequence[Sentence]) -> bool:
        """Whether a yes or no before a claim agrees with it.

        It answers the query: then the sentence that supports the claim must be about everything that is
        asked, and only "no" goes with a negation.
        """
        agrees = not self._vocabulary("agreement").isdisjoint(openers)
        denies = not self._vocabulary("no").isdisjoint(openers)
        if not self._is_question or not (agrees or denies):
            return True
        # "Yes" to a question that the sentence says nothing about would confirm something unknown.
        is_negated = not self._negations.isdisjoint(keys)
        return agrees is not denies and is_negated is denies and self._question_keys <= _keys_of_all(backing)

    def _is_talk(self, keys: frozenset[str], other_keys: frozenset[str]) -> bool:
        """Whether a sentence consists only of words of conversation, like "Thanks!".

        A word that answers a question claims something: "Yes.", and "Of course!" to a question. Next to a
        greeting a few others are fine if no source has them and nothing is denied: "Sorry for the delay!"

        Args:
            keys: the words of the sentence.
            other_keys: those that are not words of conversation.
        """
        greets = not self._greetings.isdisjoint(keys)
        answers = self._vocabulary("yes no")
        if self._is_question and (self._asked or not greets):
            # Otherwise "Of course, happy to help" agrees to help.
            answers = self._vocabulary("yes no agreement")
        if not answers.isdisjoint(keys):
            return False
        if not other_keys:
            # "Free." alone is a statement, but "Feel free to ask." is not.
            is_one_word = len(keys - self._negations) == 1
            agrees = not self._vocabulary("agreement").isdisjoint(keys)
            return not self._talk.isdisjoint(keys) and (greets or agrees or not is_one_word)
        is_foreign = other_keys.isdisjoint(self._sources.places) and self._negations.isdisjoint(keys)
        return greets and len(other_keys) <= MAX_OTHERS and is_foreign

    def _is_refusal(self, keys: Sequence[str]) -> bool:
        """Whether a sentence says that the sources do not say something.

        It denies something about the sources, or has a word of saying next to a negation, with only words of
        conversation between them: "I do not have any information".
        """
        if self._negations.isdisjoint(keys):
            return False
        last = ""  # the kind of the word before, words of conversation left out
        for key in keys:
            kind = "other"
            if key in self._negations:
                kind = "negation"
            elif key in self._vocabulary("saying"):
                kind = "saying"
            elif key in self._stating_nothing:
                continue
            if {kind, last} == {"negation", "saying"}:
                return True
            last = kind
        return not self._vocabulary("sources").isdisjoint(keys)

    def _read_refusal(self, sentence: str, statement: Sequence[Word]) -> Claim:
        """Read a refusal: it claims nothing if no source has a word of what is said to be missing."""
        about_sources = self._vocabulary("saying") | self._vocabulary("sources") | self._stating_nothing
        missing = frozenset(keys_of(statement)) - about_sources
        words_in_sources = {
            word.key: word.text for word in statement if word.key in missing & self._sources.places.keys()
        }
        if not words_in_sources:
            return Claim(sentence, "claims nothing")
        number = self._sources.places[next(iter(words_in_sources))][0]
        passage = self._sources.sentences[number].passage
        rank = 1 - len(words_in_sources) / len(missing)  # the more of it is there, the more it is refuted
        return Claim(sentence, "refuted", rank, (passage,), tuple(words_in_sources.values()))

    def _vocabulary(self, names: str) -> frozenset[str]:
        return vocabulary(names, self._language)


def _keys_of_all(source_sentences: Sequence[Sentence]) -> set[str]:
    return {key for sentence in source_sentences for key in sentence.keys}


def _passages_of(source_sentences: Sequence[Sentence]) -> tuple[Passage, ...]:
    return tuple(dict.fromkeys(sentence.passage for sentence in source_sentences))


def _literalness(statement: Sequence[Word], backing: Sequence[Sentence]) -> float:
    """Return the score of a supported claim: how many of its words are in the sources unchanged."""
    claim_texts = [word.text.casefold() for word in statement]
    source_texts: list[str] = []
    for sentence in backing:
        source_texts.extend(word.text.casefold() for word in sentence.words)
    share = LCSseq.similarity(claim_texts, source_texts) / len(claim_texts)
    return WORST_BACKED + (1 - WORST_BACKED) * share


def _may_join_clauses(word: Word) -> bool:
    """Whether a clause may begin with a word that is in no source."""
    return len(word.text) <= MAX_CONJUNCTION and word.text.islower()


def _clauses_of(claim_words: Sequence[Word]) -> list[list[Word]]:
    """Return the clauses of a sentence, separated by commas, semicolons and "and"; [] if there is only one.

    As words: "We open at 9 and sell tea" -> "We open at 9", "and sell tea".
    """
    clauses: list[list[Word]] = [[]]
    has_content = False
    for word in claim_words:
        # A clause without a content word goes on.
        if has_content and (word.begins_clause or word.text.casefold() in {"and", "und"}):
            clauses.append([])
            has_content = False
        clauses[-1].append(word)
        has_content = has_content or word.kind == "content"
    if not has_content:
        clauses.pop()
    return clauses if len(clauses) > 1 else []
