"""Whether one sentence of the sources says what a sentence claims, in nearly the same words.

A sentence of a source must begin with the content words of the claim, in their order. The claim may lack one
of them that begins a phrase, and say "it" for the subject. Function words may come and go, but none may
replace another ("to" and "from"). What follows in the sentence may be left out, but for known limits.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from groundjudge.evidence.sources import Passage
from groundjudge.offline.vocabulary import keys_of, limits, qualifiers, vocabulary
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import sentences, without_citations
from groundjudge.text.words import Language, Word, language_of, words

MIN_WORDS = 2
"""Content words of a claim: a single one ("None.") is in many sentences, and says nothing."""

MAX_SUBJECT = 3
"""Content words of a subject that a claim replaces by a pronoun."""

TURNING_LINKS = frozenset({"by", "von", "durch", "who", "which"})
"""Linking words that turn a sentence round: "was bought by" is not "bought", "who steal" not "steal"."""

MAX_PLACES = 64
"""How many sentences with a word are looked at: for a word that is everywhere, more of them add nothing."""

MAX_KEPT = 32
"""Documents that are kept as they were read: several judges, or several responses, share their sources."""

FOREIGN_NUMBER = 0.7
"""The factor on the rank of a claim with a number that is in no source."""

_ASIDE = compile_when_used(r"\([^()]*\)|, (?:which|who)\b[^,]*,")
_LIST_NUMBER = compile_when_used(r"\A\s*\(?(?:\d{1,3}|[a-z])[.)]\s+")
_QUESTION = compile_when_used(r"[?？]\W*\Z")


class Term(NamedTuple):
    """A content word, and what leads to it.

    Attributes:
        key: the form that is compared.
        links: the linking words between it and the content word before.
        begins_phrase: whether a phrase begins with it: after a function word or a comma.
        is_past: whether it is in the past tense, in English: "opened" does not say that it opens.
    """

    key: str
    links: set[str]
    begins_phrase: bool
    is_past: bool = False


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

    def have_none_of(self, keys: frozenset[str]) -> bool:
        """Whether no sentence has any of these keys."""
        return all(keys.isdisjoint(sentence.keys) for sentence in self.sentences)

    def find(self, claim_words: Sequence[Word], asked_keys: frozenset[str] | None) -> Sentence | None:
        """Find a sentence that says what a claim says; None if there is none.

        Args:
            claim_words: the words of the claim.
            asked_keys: what the query asks about: a sentence with all of it may name what the claim calls
                "it". None: no sentence may.
        """
        keys = keys_of(claim_words)
        if len(keys) < MIN_WORDS or not all(key in self.places for key in keys):
            return None
        # The sentence has all words of the claim, so the rarest leads to it.
        rarest = min((self.places[key] for key in keys), key=len)
        candidates = [self.sentences[number] for number in rarest[:MAX_PLACES]]
        for sentence in candidates:
            if sentence.keys.issuperset(keys) and self._is_said(claim_words, sentence, asked_keys):
                return sentence
        return None

    def _is_said(
        self, claim_words: Sequence[Word], sentence: Sentence, asked_keys: frozenset[str] | None
    ) -> bool:
        """Whether a sentence begins with what a claim says, or with the subject that the claim calls "it"."""
        terms = _terms_of(sentence.words, self.language)
        claim = _terms_of(claim_words, self.language)
        if _says(terms, claim, self.language):
            return True
        pronouns = vocabulary(self.language, "subjects")
        if claim_words[0].key not in pronouns or asked_keys is None or not asked_keys <= sentence.keys:
            return False
        # "What does the museum cost? It costs 5 euros": the sentence may begin with "The museum".
        for start in range(1, _length_of_subject(terms, self.language) + 1):
            # "Critics say it costs 5 euros" has a subject of its own there.
            is_subject = terms[start].links.isdisjoint(pronouns)
            if is_subject and _says(terms[start:], claim, self.language):
                return True
        return False

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


def read_sources(documents: Sequence[str], response: str) -> Sources:
    """Read the sentences that can support a response."""
    language = language_of((response, *documents))
    looked_up = frozenset(keys_of(words(response, language)))
    source_sentences: list[Sentence] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for document, content in enumerate(documents):
        for start, end, sentence_words, keys in _read_document(content, language):
            for key in keys & looked_up:
                places[key].append(len(source_sentences))
            source_sentences.append(Sentence(Passage(document, start, end), sentence_words, keys))
    return Sources(language, source_sentences, places)


@lru_cache(MAX_KEPT)
def _read_document(content: str, language: Language) -> Sequence[tuple[int, int, list[Word], frozenset[str]]]:
    """Return where each sentence of a document is, its words, and the keys of its content words.

    A sentence comes once for each way in which a claim may repeat it.
    """
    found_sentences: list[tuple[int, int, list[Word], frozenset[str]]] = []
    header: Sequence[str] = ()  # of the table that a row is in
    previous_end = 0
    for text, start, end in sentences(content):
        if _QUESTION.search(text):
            continue
        cells = _cells_of(text)
        if not cells or "\n\n" in content[previous_end:start]:
            header = ()
        for reading in (text, *_without_asides(text, language), *_with_header(cells, header)):
            sentence_words = words(as_compared(reading), language)
            found_sentences.append((start, end, sentence_words, frozenset(keys_of(sentence_words))))
        if not header and "|-" in text.replace(" ", ""):
            header = cells
        previous_end = end
    return found_sentences


def _without_asides(text: str, language: Language) -> list[str]:
    """Return a sentence without its asides, in a list; [] if it has none, or one that limits the rest.

    "It opened (in May) at 9." -> "It opened   at 9."; "It opens (not in May) at 9." -> [].
    """
    if "(" not in text and ", wh" not in text:  # as in most sentences
        return []
    asides = " ".join(_ASIDE.findall(text))
    if not asides or not qualifiers(language).isdisjoint(keys_of(words(asides, language))):
        return []
    return [_ASIDE.sub(" ", text)]


def _cells_of(text: str) -> list[str]:
    """Return the cells of a row of a Markdown table; [] for any other text."""
    row = text.partition("\n")[0].strip()
    return row.strip("|").split("|") if row.startswith("|") else []


def _with_header(cells: Sequence[str], header: Sequence[str]) -> list[str]:
    """Return a row of a table with its columns: "Skua, Departs 7:40" and "Boat Skua, Departs 7:40"."""
    if not header or len(cells) != len(header):
        return []
    pairs = zip(header[1:], cells[1:], strict=True)
    others = ", ".join(f"{name} {cell}" for name, cell in pairs if cell.strip())
    return [f"{cells[0]}, {others}", f"{header[0]} {cells[0]}, {others}"]


def as_compared(sentence: str) -> str:
    """Return a sentence without what says nothing in it: the number of a list, citation markers."""
    return _LIST_NUMBER.sub("", without_citations(sentence))


def _terms_of(sentence_words: Sequence[Word], language: Language) -> list[Term]:
    """Return the content words of a sentence with what leads to each, and an empty one for its end."""
    beginnings = vocabulary(language, "beginnings")
    terms: list[Term] = []
    links: set[str] = set()
    begins_phrase = True
    for word in sentence_words:
        if word.kind == "content":
            begins = begins_phrase or word.begins_clause or word.key in beginnings
            # Irregular verbs have another key in the past.
            is_past = word.text.casefold().endswith("ed") and not word.key.endswith("ed")
            terms.append(Term(word.key, links, begins, is_past))
            links = set()
        elif word.kind == "link":
            links.add(word.key)
        begins_phrase = word.kind != "content"
    return [*terms, Term("", links, begins_phrase=True)]


def _says(sentence: Sequence[Term], claim: Sequence[Term], language: Language) -> bool:
    """Whether a sentence begins with what a claim says, and nothing in it limits that.

    Both end with an empty term.
    """
    place = 0
    lacks_word = False
    pairs: list[tuple[Term, Term]] = []  # terms of the sentence and of the claim with the same key
    for term in claim[:-1]:
        may_skip = place > 0 and not lacks_word and _may_be_left_out(sentence[place], language)
        if may_skip and sentence[place].key != term.key:
            lacks_word = True
            place += 1
        said = sentence[place]
        if said.key != term.key or said.is_past is not term.is_past:  # also if a word was skipped
            return False
        pairs.append((said, term))
        place += 1
    rest = sentence[place:]
    if not rest[0].key:  # the sentence ends, too: "macht um 8 auf" is not "macht um 8 zu"
        pairs.append((rest[0], claim[-1]))
    if not all(_may_differ(said.links, claimed) for said, claimed in pairs):
        return False
    lacks_link = any(not said.links <= claimed.links for said, claimed in pairs)
    if lacks_word and lacks_link:  # "is the daughter of the mayor" is not "is the mayor"
        return False
    # What limits or denies the sentence must be in the claim.
    if any(term.key in limits(language) for term in rest):
        return False
    # What follows directly says more about the last word: "5 million".
    return rest[0].begins_phrase


def _may_differ(links: set[str], term: Term) -> bool:
    """Whether the linking words of a sentence may differ from those of a claim before the same word.

    They may be left out or added, and none may replace another; before an amount each says something.
    """
    if links == term.links:
        return True
    if links - term.links and term.links - links:
        return False
    is_amount = term.key != "" and not term.key[0].isalpha()
    return not is_amount and TURNING_LINKS.isdisjoint(links ^ term.links)


def _may_be_left_out(term: Term, language: Language) -> bool:
    """Whether a claim may lack a word: one that begins a phrase, and is no number, symbol or limit.

    "The museum shop" is not "the museum", and "the museum of Bern" may be another one.
    """
    is_word = term.key.isalpha() and len(term.key) > 1  # a letter alone is a grade, a unit or a variable
    return is_word and term.begins_phrase and not term.links and term.key not in qualifiers(language)


def _length_of_subject(sentence: Sequence[Term], language: Language) -> int:
    """Return how many words name the subject with which a sentence begins; 0 for "In May the museum"."""
    length = 0
    for term in sentence[:MAX_SUBJECT]:
        goes_on = not term.begins_phrase if length else not term.links
        if not goes_on or not term.key.isalpha() or term.key in qualifiers(language):
            break
        length += 1
    return length
