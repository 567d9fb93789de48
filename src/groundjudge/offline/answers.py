"""Responses that mean something only by their question: yes and no, and what stands in place of an answer.

A bare "Yes." claims what the question asks. A sentence of the sources settles it if it has all that the
question speaks of: then it says so or denies it, by a negation or by the opposite of one of the words. Where
no sentence has all of it, or two disagree, or it is said with a reservation, nothing is settled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from groundjudge.evidence.sources import Passage
from groundjudge.offline.readings import tokenize_text
from groundjudge.offline.support import PassageIndex
from groundjudge.text.sentences import sentences
from groundjudge.text.words import NEGATIONS, opposites

_YES = """
yes yeah yep yup ja jo jawohl oui si sí sì sim да tak ano evet так نعم כן हाँ ναι بله vâng 是 是的 对 對
有 可以 能 会 會 はい ええ 네 예
"""
YES = frozenset(_YES.split())
_NO = """
no nope nah never nein nee nej nei non não nao нет nie ne hayır ні لا לא नहीं όχι نه không tidak 不
不是 不能 不行 不可以 不会 不會 没有 沒有 いいえ 아니요 아니오
"""
NO = frozenset(_NO.split())
_AGREEMENTS = """
absolutely affirmative certainly correct course definitely exactly gladly indeed naturally ok okay
pleasure right sure true totally natürlich sicher klar gerne selbstverständlich genau bien sûr
évidemment claro certo certamente natuurlijk zeker 当然 當然 好的 没问题 沒問題 もちろん 👍 ✅ ✔ ☑
"""
AGREEMENTS = frozenset(_AGREEMENTS.split())
REFUSALS = frozenset(("negative", "false", "wrong", "incorrect", "👎", "❌", "✖", "✗", "✘"))

_VERBS = """
am is are was were do does did have has had can could may might must will would shall should so not
cannot isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't
wouldn't shouldn't
"""
VERBS = frozenset(_VERBS.split())
"""The verbs that an answer repeats of its question, and nothing else: "We are.", "It does not."."""

_FILLERS = """
i you he she it we they there that this of with at all really think believe guess suppose afraid
unfortunately sadly please thank thanks very much sir madam oh well leider malheureusement danke
merci gracias grazie
"""
FILLERS = frozenset(_FILLERS.split())

_OPENING_VERBS = """
ist sind war waren hat haben habt hast gibt kann kannst können könnt könnte könnten darf dürfen muss
müssen wird werden est-ce est êtes avez peut peut-on puis-je pouvez hay está están puedo puede se è
siete avete posso può há pode zijn heeft hebben kan kunnen mag
"""
OPENING_VERBS = (VERBS - {"so", "not"}).union(_OPENING_VERBS.split())
"""A question that begins with one of these asks for yes or no."""

_QUESTION_WORDS = """
what when where who whom whose which why how wann wo wer wen wem wie was warum wieso welche welcher
welches welchen wieviel quand où comment pourquoi combien quel quelle quels quelles qué cuándo dónde
quién cómo cuál cuánto cuánta quando dove chi perché quale quanto quanta onde quem qual wat wanneer
waar hoe waarom welke что когда где кто как почему сколько какой какая
"""
QUESTION_WORDS = frozenset(_QUESTION_WORDS.split())
_QUESTION_SIGNS = re.compile("什么|什麼|何|谁|誰|哪|几|幾|多少|怎|いつ|どこ|なぜ|いくら|どう")

# What a question has beside what it asks: who is addressed, and the words that make it a question.
_ADDRESSING = """
sie ihr ihre ihren du ich wir man es er haben habt hast hat gibt kann kannst können könnt darf
dürfen muss bei ihnen in im am vous nous je tu il elle on est êtes sont avez avons est-ce que peut
peux pouvez puis-je y à le la les un une de du usted ustedes está están es son hay puede puedo
tienen se el los las en lo i gli siete avete è sono posso può vocês há pode o os as na bent u zijn
jullie hebben heeft kan mag het een op a still currently actually really also there any anything
anyone whether true correct know exactly simply along anyway
"""
ADDRESSING = frozenset(_ADDRESSING.split())
_ADDRESSING_SIGNS = re.compile(
    "请问|請問|你们|我们|您|你|我|是否|可以|能不能|是不是|有没有|吗|嗎|呢|么|ですか|ますか"
)
# Asks to do something: who agrees promises it, and states nothing.
_REQUEST = re.compile(
    r"\A\W*(?:please|bitte|por favor|s['’]il vous plaît|per favore|alsjeblieft)\b"
    r"|\b(?:can|could|would|will)\s+you\b.*\b(?:me|my|us|our|please)\b|\bmind\b",
    re.IGNORECASE | re.DOTALL,
)
# "Can you tell me whether you are open?" asks whether we are open.
_WHETHER = re.compile(
    r"\b(?:ask|check|confirm|know|say|tell|wonder|wondering)\b.*?\b(?:if|whether)\b(?P<question>.+)",
    re.IGNORECASE | re.DOTALL,
)
_ALTERNATIVES = re.compile(r"\b(?:or|oder|ou)\b|还是|還是", re.IGNORECASE)

_RESERVATIONS = """
but except excepting excluding only unless until till if when rarely seldom sometimes usually
formerly partly partially almost nearly might maybe perhaps probably reportedly allegedly stopped
ceased cancelled canceled suspended planned außer nur sauf uniquement seulement excepto solo sólo
salvo tranne behalve alleen
"""
RESERVATIONS = frozenset(_RESERVATIONS.split())
"""A sentence with one of these says what it says for some cases only, or no longer."""
_RESERVING_SIGNS = re.compile("除|只|仅|僅")
_PRONOUN = re.compile(r"\W*(?:it|they|he|she|we|es|sie|er|il|elle|ils|elles)\b", re.IGNORECASE)

_QUESTION_MARK = re.compile(r"[?？؟]\W*\Z")
_LETTERS = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*|[👍✅✔☑👎❌✖✗✘]")
# What separates an answer from what follows it in its sentence.
_PAUSE = re.compile(r"[,.!;:，。！；：、–—-]")
_CONTRACTED = re.compile(r"['’](?:m|s|re|ve|d|ll)\b", re.IGNORECASE)

# What programs and tables write where there is no value, in any letters.
_PLACEHOLDERS = r"(?:none|null|nil|nan|nat|undefined|n\.?/?a\.?|\[object\s+object\])"
_SIGNS = r"[\s!-/:-@\[-`{-~\u00a1-\u00bf\u2010-\u205e\u3001-\u301f\uff01-\uff0f\uff1a-\uff20]"
_LEFTOVER = re.compile(rf"{_SIGNS}*(?:{_PLACEHOLDERS}(?:{_SIGNS}+|\Z))*", re.IGNORECASE)
_PLACEHOLDER = re.compile(rf"(?<!\w){_PLACEHOLDERS}(?!\w)", re.IGNORECASE)
_EMPTY = re.compile(r"\[\s*\]|\{\s*\}|\(\s*\)|\"\"|''")
_ITEMS = re.compile(r"[,;，；、]")


# Characters of a sentence in which an answer is looked for, and of a question.
LONGEST_ANSWER, LONGEST_QUESTION = 400, 400
# A query that asks more is judged by the last ones.
MOST_QUESTIONS = 8


class Answer(NamedTuple):
    """A sentence that answers yes or no."""

    is_yes: bool
    is_courtesy: bool  # "Of course!", which may also agree to do something
    remainder: str  # what follows the answer in its sentence; "" if it is bare


class Outcome(NamedTuple):
    """What the sources say about a question for yes or no."""

    is_yes: bool | None  # None: it is not settled
    passage: Passage | None  # the sentence that settles it


NOT_SETTLED = Outcome(None, None)


class Question(NamedTuple):
    """What a text asks."""

    text: str
    keys: tuple[str, ...]  # its content words and numbers, as texts are compared
    is_for_yes_or_no: bool
    is_request: bool  # it asks to be told, which "Of course!" only promises


def read_answer(sentence: str) -> Answer | None:
    """Read a sentence that says yes or no, alone or ahead of something else; None if it does neither."""
    plain = _CONTRACTED.sub("", sentence[:LONGEST_ANSWER]).replace("’", "'")
    signals = YES | NO | AGREEMENTS | REFUSALS
    # Most sentences are no answer by their first word.
    first_letters = _LETTERS.search(plain)
    if first_letters is None:
        return None
    first_term = _PAUSE.split(first_letters[0])[0].casefold()
    if first_term not in signals and first_term not in VERBS and first_term not in FILLERS:
        return None
    terms = _terms(plain)
    if any(term in QUESTION_WORDS for term in terms) or _QUESTION_MARK.search(plain):
        return None
    is_whole = len(sentence) <= LONGEST_ANSWER
    if is_whole and all(term in signals or term in VERBS or term in FILLERS for term in terms):
        if signals.isdisjoint(terms) and VERBS.isdisjoint(terms):
            return None
        return _answer_of(terms, "")
    pause = _PAUSE.search(plain)
    if pause is None:
        return None
    lead_terms = _terms(plain[: pause.start()])
    is_lead = all(term in signals or term in FILLERS for term in lead_terms)
    if not is_lead or signals.isdisjoint(lead_terms):
        return None
    return _answer_of(lead_terms, plain[pause.end() :].strip())


def _terms(text: str) -> list[str]:
    return [match[0].casefold() for match in _LETTERS.finditer(text)]


def _answer_of(terms: Sequence[str], remainder: str) -> Answer:
    is_yes = True
    for term in terms:
        if term in NO or term in REFUSALS or term in {"not", "cannot"} or term.endswith("n't"):
            is_yes = False
    is_courtesy = (YES | NO | VERBS).isdisjoint(terms)
    return Answer(is_yes, is_courtesy, remainder)


def read_questions(query: str) -> list[Question]:
    """Read what a text asks; a request to do something is no question, nor is what speaks of nothing."""
    questions: list[Question] = []
    for sentence in sentences(query):
        if len(sentence.text) > LONGEST_QUESTION:
            continue  # it tells more than it asks
        question = _read_question(sentence.text)
        if question is not None and question.keys:
            questions.append(question)
    return questions[-MOST_QUESTIONS:]


def _read_question(text: str) -> Question | None:
    whether = _WHETHER.search(text)
    if whether:
        inner_question = whether["question"]
        return Question(inner_question, question_keys(inner_question), is_for_yes_or_no=True, is_request=True)
    if _REQUEST.search(text):
        return None
    terms = _terms(text)
    begins_with_verb = False
    for part in _PAUSE.split(text):
        if OPENING_VERBS.intersection(_terms(part)[:1]):
            begins_with_verb = True
    asks_for_more = bool(_QUESTION_SIGNS.search(text)) or not QUESTION_WORDS.isdisjoint(terms)
    is_question = _QUESTION_MARK.search(text) or begins_with_verb or QUESTION_WORDS.intersection(terms[:1])
    if not is_question:
        return None
    is_for_yes_or_no = begins_with_verb or not asks_for_more
    return Question(text, question_keys(text), is_for_yes_or_no, is_request=False)


def question_keys(text: str) -> tuple[str, ...]:
    """What a question speaks of: its content words and numbers, without those that make it a question."""
    reading = tokenize_text(_ADDRESSING_SIGNS.sub(" ", text))
    keys: dict[str, None] = {}
    for token in reading.tokens:
        word = token.text.casefold()
        if word in ADDRESSING or word in QUESTION_WORDS:
            continue
        if token.is_content or token.is_number:
            keys[token.key] = None
    return tuple(keys)


def settle(question: Question, sources: PassageIndex) -> Outcome:
    """Find out what the sources say about a question for yes or no."""
    reading = tokenize_text(question.text)
    # "Aren't you open?" asks the same as "Are you open?"; any other denial in a question can mean either.
    opening = reading.tokens[0].start if reading.tokens else 0
    if reading.negated - {opening} or _ALTERNATIVES.search(question.text):
        return NOT_SETTLED
    outcomes: dict[bool | None, Passage] = {}
    for passage, text, keys in _telling_passages(question.keys, sources):
        outcomes.setdefault(_says(keys, text, question.text), passage)
    if len(outcomes) != 1:
        return NOT_SETTLED
    [(is_yes, passage)] = outcomes.items()
    return Outcome(is_yes, passage)


def _telling_passages(
    keys: Sequence[str], sources: PassageIndex
) -> Iterator[tuple[Passage, str, Sequence[str]]]:
    """The sentences that have all of the keys, or their opposites, each with its text and the keys it has.

    A sentence that begins with a pronoun may leave some of them to the sentence ahead.
    """
    counts: Counter[int] = Counter()
    for key in keys:
        places: set[int] = set()
        for stem in {key, *opposites().get(key, ())}:
            places.update(sources.passages_with(stem))
        counts.update(places)
    places_of_all = sorted(place for place, count in counts.items() if count == len(keys))
    n_singles = len(sources.singles)
    has_single = any(place < n_singles for place in places_of_all)
    for place in places_of_all:
        passage = sources.passage(place)
        text = sources.text_of(passage)
        if place < n_singles:
            yield passage, text, keys
        elif not has_single:
            last = sentences(text)[-1].text
            last_keys = [key for key in keys if _holds(key, tokenize_text(last).keys)]
            if _PRONOUN.match(last) and 2 * len(last_keys) >= len(keys):
                yield passage, last, last_keys


def _holds(key: str, keys: Collection[str]) -> bool:
    """Whether keys of a text have a key, or the opposite of it."""
    return key in keys or not opposites().get(key, frozenset[str]()).isdisjoint(keys)


def _says(keys: Sequence[str], text: str, question: str) -> bool | None:
    """Whether a sentence with these keys, or their opposites, says so (True) or denies it; None: neither."""
    reading = tokenize_text(text)
    clauses: dict[int, set[str]] = {}
    for token in reading.tokens:
        clauses.setdefault(token.clause, set()).add(token.key)
    telling = set(clauses)
    for clause, clause_keys in clauses.items():
        if all(_holds(key, clause_keys) for key in keys):
            telling = {clause}
            break
    tokens = [token for token in reading.tokens if token.clause in telling]
    text_keys = {token.key for token in tokens}
    terms = {token.text.casefold() for token in tokens}
    if terms & RESERVATIONS - set(_terms(question)) or _RESERVING_SIGNS.search(text):
        return None
    denials: list[str] = []
    for key in keys:
        if text_keys.isdisjoint(opposites().get(key, ())):
            continue
        if key in text_keys:
            return None  # it is the one in some cases, and the other in others
        denials.append(key)
    for place, token in enumerate(tokens):
        if token.start not in reading.negated:
            continue
        # It denies the word behind it, or at the end of its text the one ahead.
        neighbours = [other.key for other in tokens[place + 1 :] if other.is_content][:1]
        if not neighbours:
            neighbours = [other.key for other in tokens[:place] if other.is_content][-1:]
        if not neighbours or not _holds(neighbours[0], keys):
            return None  # it denies something else
        denials.append(token.key)
    return len(denials) % 2 == 0


def is_leftover(text: str) -> bool:
    """Whether a text is nothing but signs and words that programs write where there is no value."""
    return _LEFTOVER.fullmatch(text) is not None


def describe_leftover(text: str) -> str:
    """What a leftover is, for the reason of a verdict."""
    if _PLACEHOLDER.search(text):
        return "what a program or a table writes where there is no value"
    if _EMPTY.search(text):
        return "an empty list, mapping or text of a program"
    return "nothing but punctuation"


def is_bare_denial(sentence: str) -> bool:
    """Whether a sentence is "None.", "Nothing." or "Nobody." and the like."""
    has_term = False
    for match in _LETTERS.finditer(sentence):
        term = match[0].casefold()
        if term not in NEGATIONS or term in NO or term in VERBS:
            return False
        has_term = True
    return has_term


def find_as_answer(text: str, query: str, sources: PassageIndex) -> Passage | None:
    """Find where the sources answer a query with "none" or the like; None where they do not.

    The words of the query, at least half of them, must be beside it, as in "Middle name: none".
    """
    keys = question_keys(query)
    literal = _EMPTY.search(text)
    is_denial = is_bare_denial(text)
    has_placeholder = _PLACEHOLDER.search(text) is not None
    if not keys or not (literal or is_denial or has_placeholder):
        return None
    for passage in sources.singles:
        for part in _ITEMS.split(sources.text_of(passage)):
            reading = tokenize_text(part)
            n_common = sum(key in reading.keys for key in keys)
            is_empty = literal is not None and literal[0] in part
            is_none = has_placeholder and _PLACEHOLDER.search(part) is not None
            denies = is_denial and bool(reading.negated) and n_common == len(keys)
            if 2 * n_common >= len(keys) and (is_empty or is_none or denies):
                return passage
    return None


def speaks_of(question: Question, texts: Iterable[str]) -> bool:
    """Whether texts together have at least half of what a question speaks of."""
    text_keys = set[str]()
    for text in texts:
        text_keys |= tokenize_text(text).keys
    n_common = sum(key in text_keys for key in question.keys)
    return 2 * n_common >= len(question.keys)
