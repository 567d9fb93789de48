"""What a response claims, sentence by sentence, and which sentences of the sources say so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise, zip_longest
from typing import Literal, TypeAlias

from groundjudge.evidence.sources import Passage
from groundjudge.offline.alignment import Sentence, Sources, as_compared
from groundjudge.offline.vocabulary import keys_of, negations, vocabulary
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import sentences
from groundjudge.text.words import Word, words

Finding: TypeAlias = Literal["backed", "undecided", "refuted", "claims nothing"]
"""What is known about a sentence; "refuted" is a refusal ("not mentioned") of what the sources do mention."""

MAX_CLAUSES = 8
"""Clauses of a sentence that are looked up on their own: a longer list takes the square of the time."""

MAX_OTHERS = 2
"""Words other than talk in a sentence that claims nothing; with more it also says something."""

MAX_ASKED = 4
"""Words other than talk in a question back, if no source has any of them: "Shall it be short and formal?"."""

# Above every usual threshold: what is supported passes, and the rest of the range only ranks.
WORST_BACKED = 0.8
"""The score of a backed sentence none of whose words is in the source in the same form; 1.0 if all are."""

# In chats the next sentence may begin in small letters.
_SENTENCE_END = compile_when_used(r"(?<=[.!?])\s+|(?<=[。！？])")
_ANNOUNCES = compile_when_used(r"[:：]\W*\Z|\A\s*#+\s")
_ASKS = compile_when_used(r"[?？]\W*\Z")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, and what the sources say about it.

    Attributes:
        sentence: its text.
        finding: what is known about it.
        score: how literally the sources say it, .8 to 1; otherwise how much of it they have, 0 to 1.
        passages: the sentences that say it, one for each of its clauses; or the one that is most like it.
        missing: the words that the nearest sentence lacks; of a refuted refusal, those that a source has.
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
    spans = sentences(text)
    compared = [as_compared((compared_text or text)[start:end]) for _, start, end in spans]
    reader = _Reader(sources, query)
    claims: list[Claim] = []
    for number, span in enumerate(spans):
        if not compared[number].strip():  # a line of a list of sources
            claims.append(Claim(span.text, "claims nothing"))
            continue
        claim = reader.read(span.text, compared[number])
        says_nothing = claim.finding == "undecided" and not claim.passages and not claim.missing
        if says_nothing and number + 1 < len(spans):
            # "Yes. We are open." claims what "Yes, we are open." does.
            claim = reader.read(span.text, f"{compared[number]} {compared[number + 1]}")
        claims.append(claim)
    return claims


class _Reader:
    """Reads the sentences of one text."""

    def __init__(self, sources: Sources, query: str) -> None:
        self._sources = sources
        self._negations = negations(sources.language)
        self._talk = self._vocabulary("greetings", "talk", "pronouns_and_auxiliaries", "agreement")
        questions = [text for text in _SENTENCE_END.split(query) if "?" in text or "？" in text]
        # "Can you help me?" asks nothing that a source could answer.
        self._asked = frozenset(keys_of(words(" ".join(questions), sources.language))) - self._talk
        self._query_keys = frozenset(keys_of(words(query, sources.language)))
        # "I'll be right back" asks nothing, and is not about the sources.
        self._query_is_talk = False
        if self._query_keys and not self._asked:
            self._query_is_talk = sources.have_none_of(self._query_keys - self._talk)

    def read(self, sentence: str, compared: str) -> Claim:
        """Find out what the sources say about a sentence.

        Args:
            sentence: its text.
            compared: what of it is looked up.
        """
        sentence_words = words(compared, self._sources.language)
        if self._claims_nothing(compared, sentence_words):
            return Claim(sentence, "claims nothing")
        openers, statement = self._split_openers(sentence_words)
        backing = self._find(statement)
        if backing and self._agrees(keys_of(openers), statement, backing):
            passages = dict.fromkeys(source.passage for source in backing)
            return Claim(sentence, "backed", _literalness(statement, backing), tuple(passages))
        # After the search: "The shop is not open" is found in a source that says so.
        if not self._has_subject(sentence_words) and self._is_refusal(keys_of(sentence_words)):
            return self._read_refusal(sentence, statement)
        keys = keys_of(statement)
        nearest, rank = self._sources.nearest(keys)
        if nearest is None:
            return Claim(sentence, "undecided", rank, missing=_texts_of(statement, keys))
        missing = _texts_of(statement, set(keys) - nearest.keys)
        return Claim(sentence, "undecided", rank, (nearest.passage,), missing)

    def _split_openers(self, sentence_words: Sequence[Word]) -> tuple[Sequence[Word], Sequence[Word]]:
        """Split off the words that only open a statement: "Yes, we are open" -> "Yes", "we are open"."""
        openers = self._vocabulary("openers")
        no = self._vocabulary("no")
        for number, (word, following) in enumerate(zip_longest(sentence_words, sentence_words[1:])):
            # "No, dogs are allowed" opens with a no, and "No dogs are allowed" does not.
            is_determiner = word.key in no and following is not None and not following.begins_clause
            if word.key not in openers or is_determiner:
                return sentence_words[:number], sentence_words[number:]
        return sentence_words, ()

    def _find(self, statement: Sequence[Word]) -> list[Sentence]:
        """Find the sentences that say a statement, each of them one or more clauses; [] if it is not said."""
        clauses = self._clauses_of(statement)
        backing: list[Sentence] = []
        while clauses:
            # Only the first clause can mean what the query asks about by "it".
            sentence, n_clauses = self._find_longest(clauses, None if backing else self._asked)
            if sentence is None:
                return []
            backing.append(sentence)
            clauses = clauses[n_clauses:]
        return backing

    def _find_longest(
        self, clauses: Sequence[Sequence[Word]], asked: frozenset[str] | None
    ) -> tuple[Sentence | None, int]:
        """Find a sentence that says the first clauses, as many as possible; and return how many these are.

        "Bread and butter" is not two clauses, so that all together are looked up first.
        """
        for n_clauses in range(len(clauses), 0, -1):
            clause = list(chain.from_iterable(clauses[:n_clauses]))
            if clause and clause[0].key in self._vocabulary("conjunctions"):
                clause = clause[1:]
            sentence = self._sources.find(clause, asked)
            if sentence is not None:
                return sentence, n_clauses
        return None, 0

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
            # A clause without a content word goes on.
            if has_content and (joins or word.begins_clause):
                clauses.append([])
                has_content = False
            clauses[-1].append(word)
            has_content = has_content or (word.kind == "content" and not joins)
        has_condition = not self._vocabulary("conditions").isdisjoint(keys_of(statement))
        if has_condition or len(clauses) > MAX_CLAUSES:
            return [statement]
        return [*clauses]

    def _agrees(self, openers: Sequence[str], statement: Sequence[Word], backing: Sequence[Sentence]) -> bool:
        """Whether a yes or no before a statement goes with it.

        "No, we are open" contradicts itself. A yes or no to a question says more than the statement, unless
        the sentences that say this are about everything that is asked.
        """
        if self._vocabulary("no", "agreement").isdisjoint(openers):
            return True
        says_no = not self._vocabulary("no").isdisjoint(openers)
        is_negated = not self._negations.isdisjoint(keys_of(statement))
        if says_no is not is_negated:
            return False
        return self._asked <= frozenset[str]().union(*(source.keys for source in backing))

    def _claims_nothing(self, compared: str, sentence_words: Sequence[Word]) -> bool:
        """Whether a sentence asks back, announces what follows, or is talk.

        A word that answers a question claims something: "Yes.", "Of course!". A few words other than talk are
        fine if no source has them, but no number, and in a question no clause.
        """
        keys = frozenset(keys_of(sentence_words))
        answers = self._vocabulary("yes", "no", "agreement") if self._asked else self._vocabulary("yes", "no")
        if not sentence_words or not (self._query_is_talk or keys.isdisjoint(answers)):
            return False
        others = keys - self._talk
        is_foreign = others.isdisjoint(self._sources.places)
        has_number = any(key[0].isdigit() for key in others)
        if _ASKS.search(compared) and not has_number:
            most_others = MAX_ASKED if is_foreign else MAX_OTHERS
            if any(word.key in self._vocabulary("beginnings") for word in sentence_words):
                most_others = 0  # "Did you know that entry is free?" says so
            if len(others) <= most_others:
                return True
        if not is_foreign or len(others) > MAX_OTHERS:
            return False
        if _ANNOUNCES.search(compared):
            return True
        return not has_number and self._is_talk(sentence_words, keys, others)

    def _is_talk(self, sentence_words: Sequence[Word], keys: frozenset[str], others: frozenset[str]) -> bool:
        """Whether a sentence has almost only words of conversation.

        Others are fine next to a greeting ("Sorry for the delay!"), and if what the user said is talk, too
        ("Hang on." "No rush, take your time.").

        Args:
            sentence_words: its words.
            keys: the keys of its content words.
            others: those that are no talk: few, and in no source.
        """
        # "It is free" says something about its subject in words that otherwise belong to conversation.
        if self._has_subject(sentence_words):
            return False
        # What takes up the user's words says something about them: "Your flight is changed."
        if self._query_is_talk and others.isdisjoint(self._query_keys):
            return not self._talk.isdisjoint(keys - self._negations)
        greetings = self._vocabulary("greetings")
        if others:
            return not keys.isdisjoint(greetings) and keys.isdisjoint(self._negations)
        # "Support is available." says something about what the sources speak of.
        if not (keys & self._vocabulary("talk")).isdisjoint(self._sources.places):
            return False
        spoken = greetings | self._vocabulary("agreement")
        if len(keys - self._negations) > 1:  # "Free." alone is a statement, but "Feel free to ask." is not
            spoken |= self._vocabulary("talk")
        return not keys.isdisjoint(spoken)

    def _has_subject(self, sentence_words: Sequence[Word]) -> bool:
        """Whether a clause begins with a pronoun such as "it", which stands for what the text is about."""
        conjunctions = self._vocabulary("conjunctions")
        begins = True
        for word in sentence_words:
            if (begins or word.begins_clause) and word.key in self._vocabulary("subjects"):
                return True
            begins = word.key in conjunctions
        return False

    def _is_refusal(self, keys: Sequence[str]) -> bool:
        """Whether a sentence says that the sources do not say something.

        It denies something about the sources, or has a word of saying next to a negation, with only words of
        conversation between them: "I do not have any information".
        """
        if self._negations.isdisjoint(keys):
            return False
        if not self._vocabulary("sources").isdisjoint(keys):
            return True
        saying = self._vocabulary("saying")
        told = [key for key in keys if key in saying or key in self._negations or key not in self._talk]
        return any(
            not saying.isdisjoint(pair) and not self._negations.isdisjoint(pair) for pair in pairwise(told)
        )

    def _read_refusal(self, sentence: str, statement: Sequence[Word]) -> Claim:
        """Read a refusal: it claims nothing if no source has a word of what is said to be missing."""
        about_sources = self._vocabulary("saying", "sources") | self._talk
        missing = [key for key in dict.fromkeys(keys_of(statement)) if key not in about_sources]
        found = [key for key in missing if key in self._sources.places]
        if not found:
            return Claim(sentence, "claims nothing")
        number = self._sources.places[found[0]][0]
        passage = self._sources.sentences[number].passage
        rank = 1 - len(found) / len(missing)  # the more of it is there, the more it is refuted
        return Claim(sentence, "refuted", rank, (passage,), _texts_of(statement, found))

    def _vocabulary(self, *groups: str) -> frozenset[str]:
        return vocabulary(self._sources.language, *groups)


def _texts_of(statement: Sequence[Word], keys: Collection[str]) -> tuple[str, ...]:
    """Return the content words with these keys as they are written, each once."""
    texts = [word.text for word in statement if word.kind == "content" and word.key in keys]
    return tuple(dict.fromkeys(texts))


def _literalness(statement: Sequence[Word], backing: Sequence[Sentence]) -> float:
    """Return the score of a supported claim: how many of its words are in the sources unchanged."""
    source_texts: set[str] = set()
    for source in backing:
        source_texts.update(word.text.casefold() for word in source.words)
    n_unchanged = sum(word.text.casefold() in source_texts for word in statement)
    return WORST_BACKED + (1 - WORST_BACKED) * n_unchanged / len(statement)
