"""What a response claims, sentence by sentence, and which sentences of the sources say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Literal, TypeAlias

from groundjudge.offline.alignment import Sources, SourceSentence, as_compared, asks
from groundjudge.offline.vocabulary import is_pronoun, keys_of, vocabulary
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import Sentence, sentences
from groundjudge.text.words import Word, words

Finding: TypeAlias = Literal["backed", "undecided", "claims nothing"]
"""What is known about a sentence."""

MAX_CLAUSES = 8
"""Clauses of a sentence that are looked up on their own: a longer list takes the square of the time."""

MAX_ASKED = 4
"""Words in a counter-question that are not of conversation: "Shall it be short and formal?"."""

# Above every usual threshold: what is supported passes, and the rest of the range only ranks.
WORST_BACKED = 0.8
"""The score of a backed sentence none of whose words is in the source in the same form; 1.0 if all are."""

# In chats the next sentence may begin in small letters.
_SENTENCE_END = compile_when_used(r"(?<=[.!?])\s+|(?<=[。！？])")
_ANNOUNCES = compile_when_used(r"[:：]\W*\Z|\A\s*#+\s")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, and what the sources say about it.

    Attributes:
        sentence: its text.
        finding: what is known about it.
        score: how literally the sources say it, .8 to 1; otherwise how much of it they have, 0 to 1.
        sources: the sentences that say it, one for each of its clauses; or the one that is most like it.
        missing: the words that the nearest sentence lacks.
    """

    sentence: str
    finding: Finding
    score: float = 0.0
    sources: tuple[Sentence, ...] = ()
    missing: tuple[str, ...] = ()


def read_claims(text: str, sources: Sources, query: str = "", compared_text: str = "") -> list[Claim]:
    """Look the sentences of a text up in the sources.

    Args:
        text: the text.
        sources: the sources.
        query: what the text answers.
        compared_text: the text with its meaningless parts blanked out, so that offsets stay; "": it has none.
    """
    spans = sentences(text)
    compared = [as_compared((compared_text or text)[span.start : span.end]) for span in spans]
    reader = _Reader(sources, query)
    claims: list[Claim] = []
    for span, looked_up, following in zip(spans, compared, [*compared[1:], ""], strict=False):
        claim = reader.read(span.text, looked_up)
        if claim.finding == "undecided" and not claim.sources and not claim.missing:
            # It has only openers: "Yes. We are open." claims what "Yes, we are open." does.
            claim = reader.read(span.text, f"{looked_up} {following}")
        claims.append(claim)
    return claims


class _Reader:
    """Reads the sentences of one text."""

    def __init__(self, sources: Sources, query: str) -> None:
        self._sources = sources
        # Words that say nothing about the world, and those of conversation, which may: "time", "help".
        self._empty = self._vocabulary(
            "greetings", "openers", "auxiliaries", "question_words", "i", "we", "you", "agreement"
        )
        self._talk = self._empty | self._vocabulary("talk")
        questions = [text for text in _SENTENCE_END.split(query) if asks(text)]
        # "Can you help me?" asks nothing that a source could answer.
        self._asked = frozenset(keys_of(words(" ".join(questions), sources.language))) - self._talk

    def read(self, sentence: str, compared: str) -> Claim:
        """Find out what the sources say about a sentence.

        Args:
            sentence: its text.
            compared: what of it is looked up; blank for a line of a list of sources.
        """
        sentence_words = words(compared, self._sources.language)
        openers, statement = self._split_openers(sentence_words)
        if not compared.strip() or self._claims_nothing(compared, sentence_words, is_bare=not statement):
            return Claim(sentence, "claims nothing")
        backing = self._find(statement)
        if backing and self._agree(openers, statement, backing):
            sources = tuple(dict.fromkeys(source.sentence for source in backing))  # one may say two clauses
            return Claim(sentence, "backed", _literalness(statement, backing), sources)
        # After the search: "The shop is not open" is found in a source that says so.
        if self._is_honest_refusal(sentence_words):
            return Claim(sentence, "claims nothing")
        nearest, rank = self._sources.nearest(keys_of(statement))
        known = {key for source in nearest for key in source.keys}
        missing = [word.text for word in statement if word.kind == "content" and word.key not in known]
        sources = tuple(source.sentence for source in nearest)
        return Claim(sentence, "undecided", rank, sources, tuple(dict.fromkeys(missing)))

    def _split_openers(self, sentence_words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
        """Split off the words that only open a statement: "Yes, we are open" -> "Yes", "we are open"."""
        openers = self._vocabulary("openers", "yes", "no", "agreement")
        for number, (word, following) in enumerate(zip_longest(sentence_words, sentence_words[1:])):
            # "No, dogs are allowed" opens with a no, and "No dogs are allowed" does not.
            is_no = word.key in self._vocabulary("no")
            is_determiner = is_no and following is not None and not following.begins_clause
            if word.key not in openers or is_determiner:
                return sentence_words[:number], sentence_words[number:]
        return sentence_words, ()

    def _find(self, statement: Sequence[Word]) -> list[SourceSentence]:
        """Find the sentences that say a statement, each of them one or more clauses; [] if it is not said."""
        conjunctions = self._vocabulary("conjunctions")
        # Most of what is not said has a word that no source has.
        if not self._sources.by_key.keys() >= set(keys_of(statement)) - conjunctions:
            return []
        clauses = self._clauses_of(statement)
        backing: list[SourceSentence] = []
        while clauses:
            # Only the first clause can mean what the query asks about by "it".
            asked = None if backing else self._asked
            # "Bread and butter" is not two clauses, so that all together are looked up first.
            for n_clauses in range(len(clauses), 0, -1):
                clause = list(chain.from_iterable(clauses[:n_clauses]))
                if clause and clause[0].key in conjunctions:
                    clause = clause[1:]
                sentence = self._sources.find(clause, asked)
                if sentence is not None:
                    break
            else:
                return []
            backing.append(sentence)
            clauses = clauses[n_clauses:]
        return backing

    def _clauses_of(self, statement: Sequence[Word]) -> list[Sequence[Word]]:
        """Return the clauses of a sentence, which begin after commas and semicolons, with "and" and "but".

        As words: "We open at 9, but sell tea" -> "We open at 9", "but sell tea". A sentence with a condition
        is one clause: "unless" applies only to the clause next to it.
        """
        conjunctions = self._vocabulary("conjunctions")
        clauses: list[list[Word]] = [[]]
        has_content = False
        for word in statement:
            joins = word.key in conjunctions
            # A clause does not end before it has a content word.
            if has_content and (joins or word.begins_clause):
                clauses.append([])
                has_content = False
            clauses[-1].append(word)
            has_content = has_content or (word.kind == "content" and not joins)
        if self._has(statement, "conditions") or len(clauses) > MAX_CLAUSES:
            return [statement]
        return [*clauses]

    def _agree(
        self, openers: Sequence[Word], statement: Sequence[Word], backing: Sequence[SourceSentence]
    ) -> bool:
        """Whether a yes or no agrees with the statement after it, and this is about all of what is asked.

        "No, we are open" contradicts itself, and "Yes, it is safe" says too much if it is safe for adults.
        """
        if not self._has(openers, "yes", "no", "agreement"):
            return True
        if self._has(openers, "no") is not self._has(statement, "negations"):
            return False
        subjects = frozenset[str]().union(*(source.first_keys for source in backing))
        return self._asked <= subjects.union(keys_of(statement))

    def _claims_nothing(self, compared: str, sentence_words: Sequence[Word], *, is_bare: bool) -> bool:
        """Whether a sentence asks back, announces what follows, or is talk between "me" and "you".

        Args:
            compared: its text.
            sentence_words: its words.
            is_bare: whether it has nothing but openers: "Yes."
        """
        others = frozenset(keys_of(sentence_words)) - self._talk
        has_number = any(key[0].isdigit() for key in others)
        if not sentence_words or has_number or self._has_pronoun_subject(sentence_words):
            return False
        if self._is_answer(sentence_words, is_bare=is_bare):
            return False
        has_topic = not others.isdisjoint(self._sources.by_key)
        if asks(compared):
            if self._has(sentence_words[:1], "question_words"):
                return len(others) <= MAX_ASKED
            # "Did you know that entry is free?" says so; "Anything that I can do?" has no other word.
            most_others = 0 if self._has(sentence_words, "beginnings") else MAX_ASKED
            return len(others) <= most_others and not has_topic
        if _ANNOUNCES.search(compared):
            return len(others) <= 1 and not has_topic
        return not has_topic and self._is_talk(sentence_words)

    def _is_talk(self, sentence_words: Sequence[Word]) -> bool:
        """Whether a sentence has only words of conversation, and one other next to a greeting."""
        for clause in self._clauses_of(sentence_words):
            # "Sorry for the inconvenience!" is talk, and "Sorry, tickets are gone!" is not.
            greets = self._has(clause, "greetings", "agreement") and not self._has(clause, "negations")
            if len(frozenset(keys_of(clause)) - self._talk) > int(greets):
                return False
        if self._has(sentence_words, "greetings", "agreement"):
            return True
        # "Free." and "Not free." are statements; "Support today" may be about what the sources speak of.
        keys = frozenset(keys_of(sentence_words))
        talk = keys & self._vocabulary("talk")
        has_two_words = len(keys - self._vocabulary("negations")) > 1
        return has_two_words and bool(talk) and talk.isdisjoint(self._sources.by_key)

    def _is_answer(self, sentence_words: Sequence[Word], *, is_bare: bool) -> bool:
        """Whether a sentence answers a question ("Of course!" "I'm afraid not."), or only says yes or no."""
        if self._asked:
            return self._has(sentence_words, "yes", "no", "agreement", "negations")
        return is_bare and self._has(sentence_words, "yes", "no")

    def _is_honest_refusal(self, sentence_words: Sequence[Word]) -> bool:
        """Whether a sentence only says that the sources, or "I", do not know something that no source has."""
        missing = frozenset(keys_of(sentence_words)) - self._empty - self._vocabulary("sources", "told")
        # A number may be one of the question.
        has_number = any(key[0].isdigit() for key in missing - self._asked)
        is_known = not missing.isdisjoint(self._sources.by_key)
        if has_number or is_known or self._has_pronoun_subject(sentence_words):
            return False
        denies_knowledge = False
        for clause in self._clauses_of(sentence_words):
            # "Whether it is open, the documents do not say."
            is_question = self._has(clause[:1], "question_words")
            if self._denies_knowledge(clause, has_topic=not missing <= self._talk):
                denies_knowledge = True
            elif not is_question and not self._talk.issuperset(keys_of(clause)):
                return False  # "The source does not mention parking, so it is free."
        return denies_knowledge

    def _denies_knowledge(self, clause: Sequence[Word], *, has_topic: bool) -> bool:
        """Whether a clause says that something is not told, is not in the sources, or is not known to "me".

        "We do not deliver" is not about me, and "The doctor mentions nothing" not about the sources.

        Args:
            clause: its words.
            has_topic: whether the sentence says what is not known.
        """
        if not self._has(clause, "negations") or self._has(clause, "reasons"):
            return False
        # As they are written: "is not mentioned", but not "the doctor does not mention".
        is_told = any(word.text.casefold() in vocabulary("", "told") for word in clause)
        # "I'm afraid not." answers.
        is_unknown = has_topic or self._has(clause, "knowing")
        is_about_me = self._has(clause, "i") and not self._has(clause, "we")
        return is_told or self._has(clause, "sources") or (is_about_me and is_unknown)

    def _has_pronoun_subject(self, sentence_words: Sequence[Word]) -> bool:
        """Whether a clause begins with a pronoun such as "it", which stands for what the text is about."""
        return any(word.begins_clause and is_pronoun(word) for word in sentence_words)

    def _has(self, some_words: Sequence[Word], *groups: str) -> bool:
        """Whether one of some words is in one of these groups."""
        return not self._vocabulary(*groups).isdisjoint(word.key for word in some_words)

    def _vocabulary(self, *groups: str) -> frozenset[str]:
        return vocabulary(self._sources.language, *groups)


def _literalness(statement: Sequence[Word], backing: Sequence[SourceSentence]) -> float:
    """Return the score of a supported claim: how many of its words are in the sources unchanged."""
    source_texts = {word.text.casefold() for source in backing for word in source.words}
    n_unchanged = sum(word.text.casefold() in source_texts for word in statement)
    return WORST_BACKED + (1 - WORST_BACKED) * n_unchanged / len(statement)
