"""What a response claims, sentence by sentence, and which sentences of the sources say so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rapidfuzz.distance import LCSseq

from groundjudge.evidence.sources import Passage
from groundjudge.offline.alignment import MAX_CONJUNCTION, Sources, Wording, keys_of, negations
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import sentences
from groundjudge.text.words import Language, Word, words

Finding: TypeAlias = Literal["backed", "undecided", "refuted", "claims nothing"]
"""What is known of a sentence; "refuted" is a refusal ("not mentioned") of what the sources do mention."""

# All of these in English and German alone. A sentence that consists of greetings and talk states nothing: it
# keeps a conversation going, or speaks of the answer and its sources.
_GREETINGS = (
    "thank thanks welcome hello hi hey dear good nice great lovely glad happy sorry apologise apologize "
    "pleasure bye goodbye danke dank bitte willkommen hallo wiedersehen guten gute schön freue freut gern "
    "gerne entschuldigung"
)
_TALK = (
    "like need please day take care help assist assistance support contact send ask tell hear know hope "
    "feel free wait moment problem keep go come back right mind rephrase see reach out question answer "
    "request number information detail document documentation context source text passage material page "
    "provide give find mention state specify contain enough sufficient available base following below "
    "above sure course certainly absolutely möchte tag tut leid geschehen helfen hilfe weiterhelfen "
    "melden frage fragen antwort sagen weiß wissen information informationen angabe angaben dokument "
    "dokumente dokumenten quelle quellen text texten enthalten enthält erwähnt erwähnen steht finden "
    "folgt folgende"
)
# Words beside them that state nothing either, but are no talk by themselves: "We are not."
_PRONOUNS_AND_AUXILIARIES = (
    "i me my you we your our us could can will would may let want get did was were say include no not any "
    "if all anything something else more further other how what when where which why ich du wir mir mich "
    "mein dein ihnen uns unser können kann könnte könnten konnte konnten etwas noch weitere anderes wie "
    "was welche wenn kein keine nicht sich haben habe"
)
# Beside a negation, these say that something is not in the sources.
_SAYING = (
    "mention name state say said show contain given specify find know tell list cover discuss indicate "
    "describe information detail answer data erwähnt erwähnen angegeben genannt hervor steht finden weiß "
    "wissen angabe angaben information informationen antwort beantworten"
)
# So does a negation in a sentence that speaks of the sources.
_SOURCES = (
    "document documentation context text source passage page excerpt material article file table dokument "
    "dokumente dokumenten kontext text texten quelle quellen abschnitt unterlagen auszug"
)
_YES = "yes yeah yep ja"
_NO = "no nope nein"
_AGREEMENT = f"{_YES} sure course certainly absolutely indeed klar natürlich"
_OPENERS = f"{_AGREEMENT} {_NO} of well ok okay actually unfortunately leider doch also"

MAX_ASKED = 2
"""Other words than talk in a question back, a heading or a lead-in; with more it also tells something."""

MIN_WORDS = 2
"""Content words of a statement: one alone ("None.") stands in many a sentence, and says nothing."""

WORST_BACKED = 0.8
"""The score of a sentence whose words all stand in the source, each in another form; 1.0 if none does."""

_LIST_NUMBER = compile_when_used(r"\A\s*\(?(?:\d{1,3}|[a-z])[.)]\s+")
_ASKS_OR_ANNOUNCES = compile_when_used(r"[?？:：]\W*\Z|\A\s*#+\s")


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence, and what the sources have of it.

    Attributes:
        sentence: its text.
        finding: what is known of it.
        score: how literally the sources say it, .8 to 1; otherwise how much of it they have, 0 to 1.
        passages: the sentences that say it, one for each of its clauses; or the one that is most like it.
        missing: the words that the latter lacks.
    """

    sentence: str
    finding: Finding
    score: float = 0.0
    passages: tuple[Passage, ...] = ()
    missing: tuple[str, ...] = ()


def read_claims(text: str, sources: Sources, query: str = "") -> list[Claim]:
    """Look the sentences of a text up in the sources; the query is what the text answers."""
    reader = _Reader(text, sources, query)
    claims: list[Claim] = []
    openers: list[Word] = []
    cut_sentences = sentences(text)
    for number, sentence in enumerate(cut_sentences):
        sentence_words = words(_LIST_NUMBER.sub("", sentence.text), sources.language)
        is_last = number + 1 == len(cut_sentences)
        if not is_last and sentence_words and reader.count_openers(sentence_words) == len(sentence_words):
            openers = sentence_words  # "Yes. We are open." claims what "Yes, we are open." does
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

    def __init__(self, text: str, sources: Sources, query: str) -> None:
        self._sources = sources
        self._language: Language = sources.language
        self._is_asked = "?" in query or "？" in query
        self._greetings = keys_of(_GREETINGS, self._language)
        self._talk = keys_of(_TALK, self._language)
        self._stating_nothing = (
            self._greetings | self._talk | keys_of(_PRONOUNS_AND_AUXILIARIES, self._language)
        )
        self._query_keys = self._keys_besides_talk(words(query, self._language))
        self._asked = self._query_keys & sources.places.keys()
        self._known = (
            self._query_keys
            | frozenset(Wording(words(text, self._language)).keys)
            | keys_of(_OPENERS, self._language)
        )

    def read(self, sentence: str, sentence_words: Sequence[Word]) -> Claim:
        """Find out what the sources say of a sentence.

        Args:
            sentence: its text.
            sentence_words: its words, and ahead of them those of a "Yes." that opens it.
        """
        if self._asks_or_announces(sentence, sentence_words) or self._is_talk(sentence_words):
            return Claim(sentence, "claims nothing")
        n_openers = self.count_openers(sentence_words)
        openers, rest = sentence_words[:n_openers], sentence_words[n_openers:]
        claim = Wording(rest)
        numbers = self._find(claim) or self._find_clauses(rest)
        if numbers and self._agrees(openers, claim, numbers):
            passages = dict.fromkeys(self._sources.passages[number] for number in numbers)
            return Claim(sentence, "backed", self._literalness(rest, numbers), tuple(passages))
        if self._is_refusal(rest):
            return self._read_refusal(sentence, claim)
        nearest = self._sources.nearest(claim)
        passages_of_nearest = () if nearest.passage is None else (nearest.passage,)
        return Claim(sentence, "undecided", nearest.rank, passages_of_nearest, nearest.missing)

    def count_openers(self, sentence_words: Sequence[Word]) -> int:
        """How many words ahead of a statement only open it: "Yes", "Of course", "Leider"."""
        openers = _OPENERS.split()
        for number, word in enumerate(sentence_words):
            if word.text.casefold() not in openers:
                return number
        return len(sentence_words)

    def _find(self, claim: Wording) -> list[int]:
        if len(claim.keys) < MIN_WORDS:
            return []
        number = self._sources.find(claim, self._known, self._asked)
        return [] if number is None else [number]

    def _find_clauses(self, claim_words: Sequence[Word]) -> list[int]:
        """Find a sentence for each clause of a compound one; [] unless all are found.

        Ahead of a clause, its sentence must say nothing but what the first clause names:
        a clause takes its subject from the one before it.
        """
        clauses = _clauses_of(claim_words)
        if len(clauses) == 1:
            return []
        known = frozenset(Wording(clauses[0]).keys)
        numbers: list[int] = []
        for clause_number, clause in enumerate(clauses):
            candidates = [clause]
            if clause_number and self._may_be_conjunction(clause[0]):
                candidates.append(clause[1:])
            for candidate in candidates:
                wording = Wording(candidate)
                number = None
                if len(wording.keys) >= MIN_WORDS:
                    number = self._sources.find(wording, known, None)
                if number is not None:
                    numbers.append(number)
                    break
            else:
                return []
        return numbers

    def _may_be_conjunction(self, word: Word) -> bool:
        is_short = len(word.text) <= MAX_CONJUNCTION and word.text.islower()
        return word.kind == "content" and is_short and word.key not in negations(self._language)

    def _agrees(self, openers: Sequence[Word], claim: Wording, numbers: Sequence[int]) -> bool:
        """Whether a yes or no ahead of a claim agrees with it.

        It answers the query: then the sentence that bears out the claim must speak of all that is asked, and
        only "no" goes with a negation.
        """
        terms = {word.text.casefold() for word in openers}
        agrees = not terms.isdisjoint(_AGREEMENT.split())
        denies = not terms.isdisjoint(_NO.split())
        if not self._is_asked or not (agrees or denies):
            return True
        keys = set[str]().union(*(self._sources.wordings[number].keys for number in numbers))
        is_negated = not negations(self._language).isdisjoint(claim.keys)
        return agrees is not denies and is_negated is denies and self._query_keys <= keys

    def _literalness(self, claim_words: Sequence[Word], numbers: Sequence[int]) -> float:
        """The score of a claim that the sources bear out: how many of its words stand there as they are."""
        written = [word.text.casefold() for word in claim_words]
        source_written: list[str] = []
        for number in numbers:
            source_written.extend(word.text.casefold() for word in self._sources.wordings[number].words)
        share = LCSseq.similarity(written, source_written) / len(written)
        return WORST_BACKED + (1 - WORST_BACKED) * share

    def _asks_or_announces(self, sentence: str, sentence_words: Sequence[Word]) -> bool:
        """Whether a sentence is a short question, a heading or a lead-in."""
        is_short = len(sentence_words) > 0 and len(self._keys_besides_talk(sentence_words)) <= MAX_ASKED
        return is_short and _ASKS_OR_ANNOUNCES.search(sentence) is not None

    def _is_talk(self, sentence_words: Sequence[Word]) -> bool:
        """Whether a sentence is made of words of conversation alone; a bare yes or no is an answer.

        Beside a greeting a few others are fine if no source has them and nothing is denied: "Sorry for the
        delay!"
        """
        keys = {word.key for word in sentence_words if word.kind == "content"}
        greets = not self._greetings.isdisjoint(keys)
        terms = {word.text.casefold() for word in sentence_words}
        # "Of course, I'd be happy to help" agrees to help, unless the query asks about the sources.
        may_agree = self._is_asked and (bool(self._asked) or not greets)
        answers = f"{_AGREEMENT} {_NO}" if may_agree else f"{_YES} {_NO}"
        if not terms.isdisjoint(answers.split()):
            return False
        others = self._keys_besides_talk(sentence_words)
        if others:
            denies = not negations(self._language).isdisjoint(keys)
            is_foreign = others.isdisjoint(self._sources.places) and not denies
            return greets and len(others) <= MAX_ASKED and is_foreign
        return greets or not self._talk.isdisjoint(keys)

    def _is_refusal(self, claim_words: Sequence[Word]) -> bool:
        """Whether a sentence says that the sources do not say something.

        It denies something of the sources, or has a word of saying beside a negation, with nothing between
        them but words of conversation: "I do not have any information".
        """
        saying = keys_of(_SAYING, self._language)
        keys = {word.key for word in claim_words}
        denies = not keys.isdisjoint(negations(self._language))
        if denies and not keys.isdisjoint(keys_of(_SOURCES, self._language)):
            return True
        last: str | None = None
        for word in claim_words:
            if word.kind != "content":
                continue
            kind = "other"
            if word.key in negations(self._language):
                kind = "negation"
            elif word.key in saying:
                kind = "saying"
            elif word.key in self._stating_nothing:
                continue
            if {kind, last} == {"negation", "saying"}:
                return True
            last = kind
        return False

    def _read_refusal(self, sentence: str, claim: Wording) -> Claim:
        """A refusal claims nothing where no source has a word of what is said to be missing."""
        saying = keys_of(_SAYING, self._language)
        missing = self._keys_besides_talk(claim.words) - saying - keys_of(_SOURCES, self._language)
        found = [key for key in claim.keys if key in missing and key in self._sources.places]
        if not found:
            return Claim(sentence, "claims nothing")
        number = self._sources.places[found[0]][0]
        rank = 1 - len(set(found)) / len(missing)  # the more of it is there, the more it is refuted
        return Claim(sentence, "refuted", rank, (self._sources.passages[number],), tuple(found))

    def _keys_besides_talk(self, some_words: Sequence[Word]) -> frozenset[str]:
        keys = frozenset(word.key for word in some_words if word.kind == "content")
        return keys - self._stating_nothing


def _clauses_of(claim_words: Sequence[Word]) -> list[list[Word]]:
    """The clauses of a sentence: what commas, semicolons and "and" separate, each with a content word."""
    clauses: list[list[Word]] = [[]]
    for word in claim_words:
        begins = word.begins_clause or word.text.casefold() in {"and", "und"}
        if begins and any(other.kind == "content" for other in clauses[-1]):
            clauses.append([])
        clauses[-1].append(word)
    if len(clauses) > 1 and not any(word.kind == "content" for word in clauses[-1]):
        clauses.pop()
    return clauses
