"""How far a sentence is supported by documents, going by words, numbers and negations alone.

An honest baseline and no reader: it sees that words are missing, that a number is another one, that
a "not" came or went. It does not see that two sentences with the same words say different things,
nor that two with different words say the same.
"""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from groundjudge.facts import NEGATIONS, TENS, UNITS, negated_at, numbers
from groundjudge.sentences import sentences

FUNCTION_WORDS = NEGATIONS | frozenset(
    word
    for words in (
        "a an the and or but if then than that this these those it its he she they we you i his her",
        "their our",
        "your my me him them us is are was were be been being am do does did have has had having of",
        "in on at to",
        "for from by with as into about over under after before between during through out up down",
        "off so too",
        "very can could will would shall should may might must there here what which who whom whose",
        "when where",
        "why how all any both each few more most other some such only own same just also well while",
        "because",
        "until against further once again yes yeah ok okay please ja oui sí sì sim да نعم हाँ",
        "der die das den dem des ein eine einer eines einem einen und oder aber wenn als dass daß",
        "ist sind war",
        "waren wird werden wurde wurden hat haben hatte im am zum zur von vom mit auf für aus bei",
        "nach auch es",
        "er sie wir ihr ich sich wie noch nur schon um über unter durch bis kann man zu",
        "le la les un une du de et ou mais est sont était ont avait à au aux en dans par pour sur",
        "avec que qui",
        "ne ce cette ces se sa son ses il elle ils elles nous vous je plus y",
        "el los las lo una unos del al pero es son fue ser ha han con por para su sus como más",
        "gli uno di e ed è sono era da nel nella dei delle della che si per alla anche come os as",
        "um uma do dos",
        "no na nos nas em ao pelo pela são foi mais het een van zijn op te dat met aan door ook",
        "maar om bij naar",
        "и в во на с со что как по к у о от за из это был была было были для но а то его её их",
        "في من على إلى عن أن إن كان كانت هذا هذه التي الذي أو ما مع هو هي كل قد فيه فيها به له",
        "है हैं था थी थे का की के को में से पर और यह वह ने एक कि भी",
    )
    for word in words.split()
)
"""Words that hardly any text does without, so that they say little about what it states."""

SPEAKERS = frozenset(
    (
        *(
            "i",
            "me",
            "my",
            "mine",
            "myself",
            "i'm",
            "i’m",
            "ich",
            "mein",
            "meine",
            "mir",
            "mich",
            "je",
            "mon",
        ),
        *("yo", "mi", "eu", "meu", "minha", "io", "ik", "я", "мой", "мне", "我", "أنا"),
    )
)
"""Words by which a speaker means itself: what an agent says of itself is a claim like any other."""

ENDINGS = frozenset(
    (
        *(
            "ations",
            "ation",
            "ungen",
            "ments",
            "ement",
            "ment",
            "ings",
            "ing",
            "edly",
            "ies",
            "ied",
            "ung",
            "ers",
        ),
        *("ern", "est", "ed", "es", "er", "en", "em", "ly", "as", "os", "s", "e", "n"),
    )
)
LONGEST_ENDING = max(map(len, ENDINGS))
SHORTEST_STEM = 3
FUNCTION_WEIGHT = 0.4

KINSHIP = 5
"""Letters at its beginning that a word must share with another to be taken for a form of it."""
KIN_SHARE = 0.65
"""What these letters must be of the longer of the two."""
KIN_WEIGHT = 0.8

LONGEST_PASSAGE = 400
"""Characters of a passage where a document has no sentences, as JSON has none."""
MOST_PLACES = 64
"""So many occurrences of a word are looked at, so that long documents cost no more than their length."""
PAIR_GAIN = 0.1
"""The share of a sentence that a second passage must add to be quoted with the first."""
CLOSE = 0.75
"""The share of a sentence that a passage must hold for a differing number or negation to contradict it."""
SCOPE = 3
"""So many words before and after a negation may be what it denies."""

_UNSPACED = (
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0903\u093a-\u094f"
    "\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a4d\u0a81-\u0acd\u0b01-\u0b4d\u0b82-\u0bcd"
    "\u0c00-\u0c4d\u0c81-\u0ccd\u0d00-\u0d4d\u0dca-\u0ddf\u0e31-\u0e4e\u0eb1-\u0ecd\u102b-\u103e\u17b4-\u17d3"
)
_WORD = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*(?:['’][^\W_]+)?")
_UNSPACED_SIGN = re.compile(f"[{_UNSPACED}]")
# A negation stands by itself, so that it does not hide the words on its two sides.
_RUN = re.compile(f"[不没沒无無未]|(?:(?![不没沒无無未])[{_UNSPACED}])+|[^{_UNSPACED}]+")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_ARABIC = re.compile("[\u0621-\u064a]")
_ARABIC_SIGNS = re.compile("[\u0610-\u061a\u0640\u064b-\u065f\u0670]")
_ARABIC_ALIKE = str.maketrans("أإآىة", "اااهه")
_ARABIC_AFFIX = re.compile("^(?:[وفبك]?(?:ال|لل)|و)(?=...)|(?<=....)ا$")
_LAST_OF_LATIN = "\u024f"


class Word(NamedTuple):
    """A word as it is compared: its stem, how much it counts, how it is written, whether it is a name."""

    stem: str
    weight: float
    text: str
    start: int
    is_name: bool = False


class Passage(NamedTuple):
    """A sentence of a document, or a piece where it has none: `documents[document][start:end]`."""

    document: int
    start: int
    end: int


class Piece(NamedTuple):
    """A word or number of a sentence: its weight, how well it was found, and in which passages."""

    weight: float
    share: float
    places: Sequence[int]


@dataclass(frozen=True)
class Sources:
    """Documents made ready for looking sentences up in them; `index` makes one.

    Attributes:
        documents: their texts.
        passages: what they are cut into.
        numbers: the numbers in each passage.
        places: the passages in which each stem, and each number, stands.
        kin: the stems by the letters they begin with.
    """

    documents: Sequence[str]
    passages: Sequence[Passage]
    numbers: Sequence[tuple[str, ...]]
    places: Mapping[str, Sequence[int]]
    kin: Mapping[str, Sequence[str]]


class Signals(NamedTuple):
    """What is known of a sentence and its sources: the score is computed from this and nothing else.

    Attributes:
        covered: weighted share of the sentence's words and numbers that stand anywhere in the documents.
        together: the same, in the best passage alone.
        missing: logarithm of 1 + the content words that stand nowhere.
        names: share of the names (capital letters inside a sentence) that stand nowhere.
        unknown: 1 if a number stands nowhere in the documents and no other one in its stead.
        contested: 1 if a passage says nearly the same with another number.
        denied: 1 if a passage says nearly the same, but one of the two denies it.
        speaker: 1 if the sentence speaks of its speaker ("I", "my"), which no document does.
    """

    covered: float
    together: float
    missing: float
    names: float
    unknown: float
    contested: float
    denied: float
    speaker: float


# The last three are set by hand: rare in texts that people wrote, and the first thing a judge must see.
COEFFICIENTS = Signals(
    covered=4.6,
    together=1.3,
    missing=-0.8,
    names=-0.8,
    unknown=-3.0,
    contested=-3.0,
    denied=-3.0,
    speaker=-1.0,
)
INTERCEPT = -3.3


@dataclass(frozen=True)
class Support:
    """How far a sentence is supported, and by what.

    Attributes:
        score: 0..1; 0.5 parts the supported from the unsupported.
        quote: the passage that has most of the sentence: `document[start:end]`, "" if none has any.
        document: the index of the document that the quote stands in, None without a quote.
        start: where the quote begins in it.
        end: where it ends.
        matched: the sentence's content words that stand in the documents, as they are written.
        missing: those that stand nowhere.
        numbers: the sentence's numbers that the quote does not have.
        denied: whether one of sentence and quote denies what the other says.
        words: the sentence's words as they were compared.
        signals: what the score was computed from.
    """

    score: float
    quote: str
    document: int | None
    start: int
    end: int
    matched: tuple[str, ...]
    missing: tuple[str, ...]
    numbers: tuple[str, ...]
    denied: bool
    words: tuple[Word, ...]
    signals: Signals


def index(documents: Sequence[str]) -> Sources:
    """Make documents ready for looking sentences up in them."""
    passages: list[Passage] = []
    counted: list[tuple[str, ...]] = []
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, document in enumerate(documents):
        for start, end in _pieces(document):
            text = document[start:end]
            counted.append(numbers(text))
            for stem in {*(word.stem for word in words(text)), *counted[-1]}:
                places[stem].append(len(passages))
            passages.append(Passage(number, start, end))
    kin: defaultdict[str, list[str]] = defaultdict(list)
    for stem in places:
        if len(stem) >= KINSHIP:
            kin[stem[:KINSHIP]].append(stem)
    return Sources(documents, passages, counted, dict(places), dict(kin))


def support(sentence: str, sources: Sources) -> Support:
    """How far a sentence is supported by documents, and the passage that has most of it."""
    said, counted = words(sentence), tuple(dict.fromkeys(numbers(sentence)))
    weights: defaultdict[str, float] = defaultdict(float)
    for word in said:
        weights[word.stem] += word.weight
    found = {stem: _find(stem, sources) for stem in weights}
    worded = [Piece(weight, *found[stem]) for stem, weight in weights.items()]
    pieces = [*worded, *(Piece(1.0, *_find_number(number, sources)) for number in counted)]
    content = [word for word in said if word.weight == 1]
    names = [word for word in content if word.is_name]

    best = _best(pieces, sources)
    # What contradicts a sentence says the same in its words, so that its numbers must not choose it.
    rival = _fullest(worded)
    is_rival = _held(worded, rival) >= CLOSE
    contested = is_rival and _contested(counted, _counted(rival, sources))
    denied = (is_rival and _denies(sentence, _text(rival, sources))) or (
        _held(pieces, best) >= CLOSE and _denies(sentence, _text(best, sources))
    )
    if contested:
        best = rival
    quote, quoted = _text(best, sources), _counted(best, sources)
    signals = Signals(
        covered=_held(pieces),
        together=_held(pieces, best),
        missing=math.log1p(sum(not found[word.stem][0] for word in content)),
        names=sum(not found[word.stem][0] for word in names) / (len(names) or 1),
        unknown=float(not contested and any(number not in sources.places for number in counted)),
        contested=float(contested),
        denied=float(denied),
        speaker=float(any(word.text.casefold() in SPEAKERS and not found[word.stem][0] for word in said)),
    )
    first, last = (sources.passages[best[0]], sources.passages[best[-1]]) if best else (None, None)
    return Support(
        score=_logistic(INTERCEPT + sum(a * b for a, b in zip(COEFFICIENTS, signals, strict=True))),
        quote=quote,
        document=first.document if first else None,
        start=first.start if first else 0,
        end=last.end if last else 0,
        matched=tuple(dict.fromkeys(word.text for word in content if found[word.stem][0])),
        missing=tuple(dict.fromkeys(word.text for word in content if not found[word.stem][0])),
        numbers=tuple(number for number in counted if number not in quoted),
        denied=denied,
        words=tuple(said),
        signals=signals,
    )


def words(text: str) -> list[Word]:
    """The words of a text without its numbers; in scripts without spaces, every two neighbouring signs."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        if word.isdecimal():
            continue
        if word.isascii() or not _UNSPACED_SIGN.search(word):
            low = word.casefold()
            if low not in UNITS and low not in TENS:
                found.append(_word(word, low, start))
        else:
            for run in _RUN.finditer(word):
                found.extend(_signs(run[0], start + run.start()))
    return found


def _word(word: str, low: str, start: int) -> Word:
    is_function = low in FUNCTION_WORDS or len(low) == 1 or low.endswith(("n't", "n’t"))
    weight = FUNCTION_WEIGHT if is_function else 1.0
    return Word(_stem(low), weight, word, start, is_name=start > 0 and word[0].isupper())


def _signs(run: str, start: int) -> Iterator[Word]:
    if run.isdecimal():
        return
    if not _UNSPACED_SIGN.match(run):
        yield _word(run, run.casefold(), start)
    elif len(run) == 1:
        yield Word(run, FUNCTION_WEIGHT, run, start)
    else:
        for offset in range(len(run) - 1):
            two = run[offset : offset + 2]
            yield Word(two, FUNCTION_WEIGHT if _HIRAGANA.fullmatch(two) else 1.0, two, start + offset)


def _stem(word: str) -> str:
    """A word without its ending and its accents: crude, and one rule for all languages of a script."""
    if not word.isascii():
        if _ARABIC.search(word):
            return _ARABIC_AFFIX.sub("", _ARABIC_SIGNS.sub("", word).translate(_ARABIC_ALIKE))
        if word[0] <= _LAST_OF_LATIN:
            word = "".join(
                sign for sign in unicodedata.normalize("NFD", word) if not unicodedata.combining(sign)
            )
    word = word.removesuffix("'s").removesuffix("’s")
    if len(word) <= SHORTEST_STEM:
        return word
    for size in range(min(LONGEST_ENDING, len(word) - SHORTEST_STEM), 0, -1):
        if word[-size:] in ENDINGS:
            word = word[:-size]
            break
    if len(word) > SHORTEST_STEM and word[-1] == word[-2]:
        return word[:-1]
    return f"{word[:-1]}i" if len(word) > SHORTEST_STEM and word[-1] == "y" else word


def _pieces(document: str) -> Iterator[tuple[int, int]]:
    """Where the passages of a document begin and end: its sentences, the long ones cut."""
    for _, start, end in sentences(document):
        while end - start > LONGEST_PASSAGE:
            middle, furthest = start + LONGEST_PASSAGE // 2, start + LONGEST_PASSAGE
            cut = max(document.rfind(sign, middle, furthest) for sign in " ,，、") + 1 or furthest
            yield start, cut
            start = cut  # noqa: PLW2901  the rest of the sentence
        yield start, end


def _find(stem: str, sources: Sources) -> tuple[float, Sequence[int]]:
    """How well a stem is found, and where: itself, or else one of its kin."""
    places = sources.places.get(stem)
    if places:
        return 1.0, places
    for other in sources.kin.get(stem[:KINSHIP], ())[:MOST_PLACES]:
        if _shared_letters(stem, other) >= KIN_SHARE * max(len(stem), len(other)):
            return KIN_WEIGHT, sources.places[other]
    return 0.0, ()


def _shared_letters(one: str, two: str) -> int:
    """How many letters two words have in common from the beginning."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((at for at, (first, second) in pairs if first != second), min(len(one), len(two)))


def _find_number(number: str, sources: Sources) -> tuple[float, Sequence[int]]:
    places = sources.places.get(number, ())
    return float(bool(places)), places


def _fullest(pieces: Iterable[Piece]) -> range:
    """The passage that holds most of a sentence, the first of several; none if none has any of it."""
    held: defaultdict[int, float] = defaultdict(float)
    for weight, share, places in pieces:
        for place in places[:MOST_PLACES]:
            held[place] += weight * share
    best = min(held, key=lambda place: (-held[place], place), default=-1)
    return range(best, best + 1) if held else range(0)


def _best(pieces: Sequence[Piece], sources: Sources) -> range:
    """The fullest passage, or two neighbours if they hold clearly more."""
    alone = _fullest(pieces)
    held: defaultdict[int, float] = defaultdict(float)
    for weight, share, places in pieces:
        for first in {first for place in places[:MOST_PLACES] for first in (place - 1, place)}:
            held[first] += weight * share
    firsts = [first for first in held if _has_neighbour(first, sources)]
    first = min(firsts, key=lambda first: (-held[first], first), default=-1)
    pair = range(first, first + 2)
    return pair if firsts and _held(pieces, pair) > _held(pieces, alone) + PAIR_GAIN else alone


def _has_neighbour(place: int, sources: Sources) -> bool:
    """Whether a passage is followed by another one of the same document."""
    passages = sources.passages
    return 0 <= place < len(passages) - 1 and passages[place].document == passages[place + 1].document


def _held(pieces: Iterable[Piece], where: range | None = None) -> float:
    """The weighted share of a sentence that was found: anywhere, or in certain passages."""
    total = held = 0.0
    for weight, share, places in pieces:
        total += weight
        if where is None or any(place in where for place in places[:MOST_PLACES]):
            held += weight * share
    return held / total if total else 0.0


def _text(places: range, sources: Sources) -> str:
    if not places:
        return ""
    first, last = sources.passages[places[0]], sources.passages[places[-1]]
    return sources.documents[first.document][first.start : last.end]


def _counted(places: range, sources: Sources) -> set[str]:
    """The numbers in passages."""
    return {number for place in places for number in sources.numbers[place]}


def _contested(counted: Sequence[str], given: set[str]) -> bool:
    """Whether one of a sentence's numbers has another one in its stead, of the same length: a year for a year."""
    others = {len(number) for number in given.difference(counted)}
    return any(number not in given and len(number) in others for number in counted)


def _denies(sentence: str, quote: str) -> bool:
    """Whether what one of the two texts denies is affirmed by the other."""
    if not negated_at(sentence) and not negated_at(quote):
        return False
    denied, affirmed = _denied(sentence)
    quote_denied, quote_affirmed = _denied(quote)
    if denied & quote_denied:
        return False
    return bool(denied & quote_affirmed or (quote_denied - quote_affirmed) & affirmed)


def _denied(text: str) -> tuple[set[str], set[str]]:
    """The content words of a text that stand near a negation, and those that do not."""
    said = words(text.casefold())
    starts = [word.start for word in said]
    near: set[int] = set()
    for offset in negated_at(text):
        at = bisect_left(starts, offset)
        near.update(range(at - SCOPE, at + SCOPE + 1))
    content = [(at in near, word.stem) for at, word in enumerate(said) if word.weight == 1]
    return {stem for is_near, stem in content if is_near}, {stem for is_near, stem in content if not is_near}


def _logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))
