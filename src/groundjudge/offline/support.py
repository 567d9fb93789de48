"""How far a sentence is supported by documents, going by its words, numbers and negations."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import islice, permutations
from operator import attrgetter
from typing import NamedTuple

from groundjudge.evidence.sources import Passage
from groundjudge.offline.arithmetic import PEOPLE, PERSON, counts, ends, totals
from groundjudge.offline.readings import (
    NUMBER_WEIGHT,
    Token,
    TokenizedText,
    contradictions,
    is_name,
    name_contradictions,
    tokenize_text,
)
from groundjudge.offline.wording import GENERAL, GENERAL_WEIGHT, PART_ENDS, PERSONAL, claim_of, parts_of
from groundjudge.text.sentences import sentences
from groundjudge.text.words import (
    MONTH_NUMBERS,
    MONTHS,
    NOON,
    ClockTime,
    is_unspaced,
    words,
)

# The months by the stems of their names.
MONTH_STEMS = {words(name)[0].stem: number for name, number in MONTH_NUMBERS.items()}

# So many occurrences of a word are looked at, so that long documents cost no more than their length.
MOST_PLACES = 64
# The share of a sentence that a passage must hold to contradict it.
CLOSE = 0.65
# The share of a sentence that a second passage must add to be quoted with the first.
PAIR_GAIN = 0.09
# Words that a reason names as missing: all those of a long response take more memory than its text.
MOST_WORDS = 4
# The share of a part's content that the documents must lack for it to be judged by itself, and how many words
# that must be: anybody may add a few of general use.
FOREIGN_PART, LEAST_FOREIGN = 0.75, 2.0
# Signs of a word in Chinese.
SIGNS_OF_WORD = 2
# A sentence with less support is called not backed.
SUPPORTED = 0.5
# Digits of a value on a scale of 0 to 1; a wider scale has fewer of them behind the point.
DIGITS = 2
# The logarithm of how many different words short documents have (16) and long ones (245).
SHORT, LONG = 2.75, 5.5
# How fast a missing word counts more in shorter ones.
STEEPNESS = 2.5
COEFFICIENTS = "support.json"
# A sentence, or a part of a long one, as in JSON.
_PIECE = re.compile(r"\S(?s:.{0,400})(?=[ ,，、](?!\d)|\Z)|\S(?s:.{0,400})")


@dataclass(frozen=True)
class PassageIndex:
    """Documents made ready for looking sentences up in them; `index` makes one.

    A passage is a sentence, or a pair of neighbouring ones. It has a number: those of the pairs follow those
    of the sentences, and no pair is stored.
    """

    documents: Sequence[str]
    singles: Sequence[Passage]  # the sentences
    places: Mapping[str, Sequence[int]]  # the numbers of the sentences that have each key of a text, rising
    openings: Collection[int]  # numbers of the sentences that begin a document, and the one behind the last

    def passage(self, number: int) -> Passage:
        """The passage of that number."""
        n_singles = len(self.singles)
        if number < n_singles:
            return self.singles[number]
        last = self.singles[number - n_singles]
        return Passage(last.document, self.singles[number - n_singles - 1].start, last.end)

    def text_of(self, passage: Passage) -> str:
        """The text of a passage."""
        return self.documents[passage.document][passage.start : passage.end]

    def passages_with(self, key: str) -> Iterator[int]:
        """Yield the numbers of the sentences that have a stem or a number, then those of such pairs."""
        yield from self.places.get(key, ())
        yield from self.pairs_with(key)

    def pairs_with(self, key: str) -> Iterator[int]:
        """Yield the numbers of the pairs of sentences that have a stem or a number."""
        singles = self.places.get(key, ())
        # A pair is counted by its second sentence.
        n_singles = len(self.singles)
        previous = -1
        for single in singles:
            if single > previous and single not in self.openings:
                yield n_singles + single
            previous = single + 1
            if previous not in self.openings:
                yield n_singles + previous


class Signals(NamedTuple):
    """What is known of a sentence and its sources: the score is computed from this and nothing else."""

    together: float  # the weighted share of its words and numbers that the best passage has
    missing: float  # the share of its content that the documents lack, more if they are short
    names: float  # the logarithm of 1 and the number of names that they lack: words with a capital letter
    unknown: float  # 1 if they lack one of its numbers or dates
    personal: float  # 1 if it speaks of "I" or "my", and they do not
    foreign: float  # 1 if they have nothing of its content
    contradicted: float  # 1 if the best passage says nearly the same, but otherwise


class Comparison(NamedTuple):
    """A sentence beside the passage that has most of it."""

    passage: Passage
    quote: str  # its text; "" if no passage has anything
    share: float  # the weighted share of the sentence's words and numbers that it has
    content: Sequence[Token]  # the content words and numbers of the sentence
    missing: Sequence[Token]  # those that the documents lack, and that do not follow from theirs
    missing_share: float  # how much of the content they are, 0 to 1
    unknown_dates: Sequence[str]  # dates whose day the documents have in other months only
    wrong_times: Sequence[ClockTime]  # times that the documents have in the other half of the day only
    lacks_number: bool  # whether the documents lack one of its numbers, dates or times
    contradictions: tuple[str, ...]
    is_whole: bool  # whether the passage has all its content and does not contradict it


@dataclass(frozen=True, slots=True)
class Support:
    """A sentence, how far it is supported, and by what."""

    sentence: str
    length: int  # 1 and its content words
    score: float  # 0..1; 0.5 separates the supported from the unsupported
    passage: Passage  # the one that has most of the sentence
    quote: str  # its text; "" if there is none
    missing: tuple[str, ...]  # the first words of the sentence that the documents lack: content, numbers, "I"
    missing_share: float  # how much of its content the documents lack, 0 to 1
    contradictions: tuple[str, ...]  # in what the passage says nearly the same, but otherwise
    is_whole: bool  # whether the passage has all its content and does not contradict it
    signals: Signals | None  # what the score was computed from; None of a fact, whose score is a share
    note: str = ""  # what the sentence is, where it means something only by its question


def index(documents: Sequence[str]) -> PassageIndex:
    """Make documents ready for looking sentences up in them."""
    singles: list[Passage] = []
    openings: set[int] = set()
    # The keys of a sentence go once its number is entered: those of all take far more memory than the text.
    places: defaultdict[str, array[int]] = defaultdict(_no_places)
    for document_number, document in enumerate(documents):
        openings.add(len(singles))
        for _, start, end in sentences(document):
            for piece in _PIECE.finditer(document, start, end):
                for key in tokenize_text(piece[0]).keys:
                    places[key].append(len(singles))
                singles.append(Passage(document_number, *piece.span()))
    openings.add(len(singles))
    return PassageIndex(documents, singles, dict(places), openings)


def _no_places() -> array[int]:
    return array("I")


def support(sentence: str, sources: PassageIndex) -> Support:
    """How far a sentence is supported by documents, and the passage that has most of it.

    What it adds to what they say, as a part of its own, is not made good by the rest of it. A sentence that
    is not supported as a whole is not taken apart: that would only tell bad ones from worse ones.
    """
    claim_text = on_clock_of(sources, claim_of(sentence))
    claim = _support_as_one(sentence, tokenize_text(claim_text), sources)
    if round(claim.score, DIGITS) < SUPPORTED or claim.missing_share == 0:
        return claim
    parts = parts_of(claim_text, PART_ENDS)
    if len(parts) == 1:
        return claim
    for part in parts:
        if not _is_foreign(part.reading, sources):
            continue
        part_claim = _support_as_one(part.text, part.reading, sources)
        if part_claim.score < claim.score:
            claim = replace(
                claim, score=part_claim.score, signals=part_claim.signals, missing=part_claim.missing
            )
    return claim


def on_clock_of(sources: PassageIndex, text: str) -> str:
    """A text with those times of day on the other clock that the documents have on that one only.

    "2:30 pm" is "14:30" where they say so. A time that they lack stays as it is.
    """
    reading = tokenize_text(text)
    spelt_text = reading.text
    times = [
        time
        for time in reading.times
        if time.key not in sources.places and time.on_other_clock().key in sources.places
    ]
    if not times:
        return text
    for time in sorted(times, key=attrgetter("start"), reverse=True):
        spelt_text = f"{spelt_text[: time.start]}{time.on_other_clock()}{spelt_text[time.end :]}"
    return spelt_text


def _is_foreign(part: TokenizedText, sources: PassageIndex) -> bool:
    """Whether a part of a sentence speaks of something that the documents have hardly anything of."""
    content = [token for token in part.tokens if token.is_content]
    missing = [token for token in content if token.key not in sources.places]
    least = LEAST_FOREIGN
    if missing and is_unspaced(missing[0].text):
        least *= SIGNS_OF_WORD
    return _weight(missing) >= max(least, FOREIGN_PART * _weight(content))


def _support_as_one(sentence: str, reading: TokenizedText, sources: PassageIndex) -> Support:
    """How far a sentence is supported as one claim, in the words of the reading."""
    comparison = compare(reading, sources)
    names = [token for token in comparison.missing if is_name(token)]
    personal_words: list[str] = []
    if PERSONAL.isdisjoint(sources.places):
        personal_words = [word.text for word in reading.words if word.stem in PERSONAL]
    if comparison.content:
        is_foreign = len(comparison.missing) == len(comparison.content)
    else:
        is_foreign = comparison.share == 0
    signals = Signals(
        together=comparison.share,
        missing=comparison.missing_share * _shortness(sources),
        names=math.log1p(len(names)),
        unknown=float(comparison.lacks_number),
        personal=float(bool(personal_words)),
        foreign=float(is_foreign),
        contradicted=float(bool(comparison.contradictions)),
    )
    claim = make_support(sentence, reading, comparison, score(signals), signals)
    # Function words, which a reader would not look for: they are named first.
    missing = dict.fromkeys((*personal_words, *claim.missing))
    return replace(claim, missing=tuple(missing)[:MOST_WORDS])


def make_support(
    sentence: str,
    reading: TokenizedText,
    comparison: Comparison,
    score: float,
    signals: Signals | None = None,
) -> Support:
    """A sentence with its score and what was found of it."""
    missing_texts = dict.fromkeys(token.text for token in comparison.missing)
    for date in comparison.unknown_dates:
        if date.split()[1].title() not in missing_texts:
            missing_texts[date.title()] = None
    for time in comparison.wrong_times:
        missing_texts[str(time)] = None
    return Support(
        sentence=sentence,
        length=1 + sum(word.weight == 1 for word in reading.words),
        score=score,
        passage=comparison.passage,
        quote=comparison.quote,
        missing=tuple(missing_texts)[:MOST_WORDS],
        missing_share=comparison.missing_share,
        contradictions=comparison.contradictions,
        is_whole=comparison.is_whole,
        signals=signals,
    )


def compare(reading: TokenizedText, sources: PassageIndex) -> Comparison:
    """Compare a sentence with the passage that has most of it."""
    passage, share = _best_passage(reading, sources)
    quote = ""
    if share:
        quote = sources.text_of(passage)
    content = [token for token in reading.tokens if token.is_content]
    missing = [token for token in content if token.key not in sources.places]
    if missing and reading.numbers:
        derived_keys = _derived_keys(reading, sources)
        missing = [token for token in missing if token.key not in derived_keys]
    # The passage is read only where it can contradict the sentence, have all of it or name another month.
    has_unknown_month = any(token.key in MONTH_STEMS for token in missing)
    is_compared = share >= CLOSE or not missing or has_unknown_month
    quote_reading = tokenize_text(quote if is_compared else "")
    unknown_dates = [date for date in reading.dates if _is_in_other_months(date, sources)]
    wrong_times = [time for time in reading.times if _is_in_other_half(time, sources)]
    findings: tuple[str, ...] = ()
    if share >= CLOSE:
        findings = (
            *contradictions(reading, quote_reading),
            *_date_contradictions(unknown_dates, quote_reading),
            *_time_contradictions(wrong_times, quote_reading),
        )
        # Two sentences together have all of "Gaggia invented it in Turin", if the other one names Turin.
        if not findings and not missing:
            findings = _name_contradictions(reading, quote)
    has_all = not missing and all(token.key in quote_reading.keys for token in content)
    is_whole = share > 0 and has_all and not findings
    if is_whole and content and is_unspaced(content[-1].text):
        share = 1.0  # words that moved made new pairs of signs
    if content:
        missing_share = _weight(missing) / _weight(content)
    else:  # "It is so."
        missing_share = 1 - share
    lacks_number = any(
        token.is_number or _is_unknown_month(token, sources, quote_reading) for token in missing
    )
    return Comparison(
        passage=passage,
        quote=quote,
        share=share,
        content=content,
        missing=missing,
        missing_share=missing_share,
        unknown_dates=unknown_dates,
        wrong_times=wrong_times,
        lacks_number=lacks_number or bool(unknown_dates) or bool(wrong_times),
        contradictions=findings,
        is_whole=is_whole and not unknown_dates and not wrong_times,
    )


def _derived_keys(reading: TokenizedText, sources: PassageIndex) -> set[str]:
    """The numbers and months of a sentence that follow from numbers which the documents have."""
    keys: set[str] = set()
    for end in ends(reading):
        if end.beginning in sources.places and end.period in _counts_in(sources, end.unit):
            keys.update(end.keys)
    for total in totals(reading):
        if total.rate not in sources.places:
            continue
        counts_of_documents = _counts_in(sources, total.counted)
        if total.counted == PERSON:
            counts_of_documents |= _counts_in(sources, PEOPLE)
        # With two counts, nothing says which of them is meant.
        if len(counts_of_documents) == 1 and total.is_product(*counts_of_documents):
            keys.add(total.value)
    return keys


def _counts_in(sources: PassageIndex, counted: str) -> set[str]:
    """How many of something the documents have, by its stem."""
    counts_of_documents: set[str] = set()
    for place in islice(sources.passages_with(counted), MOST_PLACES):
        text = sources.text_of(sources.passage(place))
        counts_of_documents |= counts(tokenize_text(text), counted)
    return counts_of_documents


def _is_unknown_month(token: Token, sources: PassageIndex, passage: TokenizedText) -> bool:
    """Whether a word names a month that the documents lack, where the passage names another."""
    number = MONTH_STEMS.get(token.key)
    if number is None or not token.text[0].isupper() or MONTH_STEMS.keys().isdisjoint(passage.keys - {"may"}):
        return False
    names = [stem for stem, number_of_stem in MONTH_STEMS.items() if number_of_stem == number]
    return all(name not in sources.places for name in names)


def _is_in_other_months(date: str, sources: PassageIndex) -> bool:
    """Whether the documents have the day of a date in other months, and not in its own."""
    if date in sources.places:
        return False
    day = date.split(maxsplit=1)[0]
    return any(f"{day} {month.lower()}" in sources.places for month in MONTHS)


def _is_in_other_half(time: ClockTime, sources: PassageIndex) -> bool:
    """Whether the documents have a time of day in the other half of the day, and not in its own.

    Of 9:00 that is not known: a sentence of theirs that has it alone does not say which half it means.
    """
    if not time.is_halved and time.hour <= NOON:
        return False
    if time.key in sources.places or time.on_other_clock().key in sources.places:
        return False
    other_time = time.in_other_half()
    return other_time.key in sources.places or other_time.on_other_clock().key in sources.places


def _date_contradictions(dates: Sequence[str], passage: TokenizedText) -> list[str]:
    """What is wrong with dates, in words, where a passage has their day in another month."""
    findings: list[str] = []
    for date in dates:
        for other_date in passage.dates:
            if other_date.split()[0] == date.split()[0]:
                findings.append(f"“{date.title()}” instead of “{other_date.title()}”")
    return findings


def _name_contradictions(reading: TokenizedText, quote: str) -> tuple[str, ...]:
    """What is wrong with the names of a sentence, in words, by one of two sentences that back it together."""
    passages = [tokenize_text(sentence.text) for sentence in sentences(quote)]
    findings: list[str] = []
    for passage, neighbour in permutations(passages, 2):
        findings.extend(name_contradictions(reading, passage, neighbour))
    return tuple(findings)


def _time_contradictions(times: Sequence[ClockTime], passage: TokenizedText) -> list[str]:
    """What is wrong with times of day, in words, where a passage has them in the other half of the day."""
    findings: list[str] = []
    for time in times:
        other_time = time.in_other_half()
        for passage_time in passage.times:
            if (passage_time.hour, passage_time.minute) == (other_time.hour, other_time.minute):
                findings.append(f"“{time}” instead of “{passage_time}”")
    return findings


def _weight(tokens: Iterable[Token]) -> float:
    """How much the absence of words and numbers counts."""
    total = 0.0
    for token in tokens:
        if token.is_number:
            total += NUMBER_WEIGHT
        elif token.key in GENERAL:
            total += GENERAL_WEIGHT
        else:
            total += 1.0
    return total


def _shortness(sources: PassageIndex) -> float:
    """How much more a missing word counts in short documents, which say little in two ways: 1 to 5.7."""
    size = math.log1p(len(sources.places))
    shortness: float = (LONG / min(max(size, SHORT), LONG)) ** STEEPNESS
    return shortness


def score(signals: Signals) -> float:
    """The support that signals amount to, 0..1."""
    weights = coefficients()
    logit = weights["intercept"]
    for name, value in signals._asdict().items():
        logit += weights[name] * value
    return 1 / (1 + math.exp(-logit))


@cache
def coefficients() -> Mapping[str, float]:
    """What `tools/fit_support.py` found for each signal, and the intercept; read when first needed."""
    text = files("groundjudge.offline").joinpath(COEFFICIENTS).read_text(encoding="utf-8")
    return {name: float(value) for name, value in json.loads(text)["coefficients"].items()}


def _best_passage(reading: TokenizedText, sources: PassageIndex) -> tuple[Passage, float]:
    """The passage that holds most of a sentence, and the weighted share that it holds."""
    weight_of_single: defaultdict[int, float] = defaultdict(float)
    for key, weight in reading.weights.items():
        for place in sources.places.get(key, ())[:MOST_PLACES]:
            weight_of_single[place] += weight
    if not weight_of_single:
        return Passage(0, 0, 0), 0.0
    total = sum(reading.weights.values())
    best_weight = max(weight_of_single.values())
    best = min(place for place, weight in weight_of_single.items() if weight == best_weight)
    least_gain = total * PAIR_GAIN  # what a pair must have more than a single sentence
    if _can_pair_win(weight_of_single, best_weight + least_gain, sources):
        weight_of_pair: defaultdict[int, float] = defaultdict(float)
        for key, weight in reading.weights.items():
            most_pairs = max(0, MOST_PLACES - len(sources.places.get(key, ())))
            for place in islice(sources.pairs_with(key), most_pairs):
                weight_of_pair[place] += weight
        for place, weight in sorted(weight_of_pair.items()):
            if weight - least_gain > best_weight:
                best, best_weight = place, weight
                least_gain = 0.0  # of two pairs, the one that holds more
    return sources.passage(best), best_weight / total


def _can_pair_win(weight_of_single: Mapping[int, float], least: float, sources: PassageIndex) -> bool:
    """Whether two neighbouring sentences could together hold more of a sentence than this weight.

    They hold no more than the sum of the two, so that most sentences need no look at pairs.
    """
    for single, weight in weight_of_single.items():
        next_single = single + 1
        if next_single not in weight_of_single or next_single in sources.openings:
            continue
        if weight + weight_of_single[next_single] > least:
            return True
    return False
