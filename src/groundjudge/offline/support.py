"""How far a sentence is supported by documents, going by its words, numbers and negations."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from groundjudge.evidence.sources import Passage
from groundjudge.offline.readings import TokenizedText, contradictions, tokenize_text
from groundjudge.text.sentences import sentences, without_citations
from groundjudge.text.words import is_unspaced

# So many occurrences of a word are looked at, so that long documents cost no more than their length.
MOST_PLACES = 64
# The share of a sentence that a passage must hold to contradict it.
CLOSE = 0.65
# The share of a sentence that a second passage must add to be quoted with the first.
PAIR_GAIN = 0.09
# A sentence with less support is called not backed.
SUPPORTED = 0.5
COEFFICIENTS = "support.json"
# A sentence, or a part of a long one, as in JSON.
_PIECE = re.compile(r"\S(?s:.{0,400})(?=[ ,，、](?!\d)|\Z)|\S(?s:.{0,400})")


@dataclass(frozen=True)
class PassageIndex:
    """Documents made ready for looking sentences up in them; `index` makes one."""

    documents: Sequence[str]
    passages: Sequence[Passage]  # sentences, then pairs of neighbouring ones
    singles: int
    places: Mapping[str, Sequence[int]]  # the passages that have each stem and each number


class Signals(NamedTuple):
    """What is known of a sentence and its sources: the score is computed from this and nothing else."""

    covered: float  # the weighted share of its words and numbers that the documents have
    together: float  # the same for the best passage alone
    unknown: float  # 1 if the documents lack one of its numbers
    whole: float  # 1 if the best passage has all its content and does not contradict it
    contradicted: float  # 1 if the best passage says nearly the same, but otherwise


@dataclass(frozen=True)
class Support:
    """A sentence, how far it is supported, and by what."""

    sentence: str
    length: int  # 1 and its content words
    score: float  # 0..1; 0.5 separates the supported from the unsupported
    passage: Passage  # the one that has most of the sentence
    quote: str  # its text; "" if there is none
    missing: tuple[str, ...]  # the sentence's content words and numbers that the documents lack
    contradictions: tuple[str, ...]  # in what the passage says nearly the same, but otherwise
    signals: Signals
    note: str = ""  # what the sentence is, where it means something only by its question


def index(documents: Sequence[str]) -> PassageIndex:
    """Make documents ready for looking sentences up in them."""
    pieces = [
        (Passage(number, *piece.span()), tokenize_text(piece[0]).keys)
        for number, document in enumerate(documents)
        for _, start, end in sentences(document)
        for piece in _PIECE.finditer(document, start, end)
    ]
    pairs = [
        (Passage(first.document, first.start, second.end), first_keys | second_keys)
        for (first, first_keys), (second, second_keys) in pairwise(pieces)
        if first.document == second.document
    ]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, (_, keys) in enumerate([*pieces, *pairs]):
        for key in keys:
            places[key].append(place)
    return PassageIndex(documents, [passage for passage, _ in [*pieces, *pairs]], len(pieces), dict(places))


def support(sentence: str, sources: PassageIndex) -> Support:
    """How far a sentence is supported by documents, and the passage that has most of it."""
    reading = tokenize_text(without_citations(sentence))
    passage, share = _best(reading, sources)
    quote = sources.documents[passage.document][passage.start : passage.end] if share else ""
    quote_reading = tokenize_text(quote)
    findings = contradictions(reading, quote_reading) if share >= CLOSE else ()
    content = [token for token in reading.tokens if token.is_content]
    is_whole = share > 0 and not findings and all(token.key in quote_reading.keys for token in content)
    weights = reading.weights
    covered = sum(weights[key] for key in weights if key in sources.places) / (sum(weights.values()) or 1)
    if is_whole and content and is_unspaced(content[-1].text):
        covered = share = 1.0  # words that moved made new pairs of signs
    is_unknown = any(token.is_number and token.key not in sources.places for token in reading.tokens)
    signals = Signals(covered, share, float(is_unknown), float(is_whole), float(bool(findings)))
    missing = tuple(dict.fromkeys(token.text for token in content if token.key not in sources.places))
    length = 1 + sum(word.weight == 1 for word in reading.words)
    return Support(sentence, length, score(signals), passage, quote, missing, findings, signals)


def score(signals: Signals) -> float:
    """The support that signals amount to, 0..1."""
    weights = coefficients()
    weighed = sum(weights[name] * value for name, value in signals._asdict().items())
    return 1 / (1 + math.exp(-weights["intercept"] - weighed))


@cache
def coefficients() -> Mapping[str, float]:
    """What `tools/fit_support.py` found for each signal, and the intercept; read when first needed."""
    text = files("groundjudge.offline").joinpath(COEFFICIENTS).read_text(encoding="utf-8")
    return {name: float(value) for name, value in json.loads(text)["coefficients"].items()}


def _best(reading: TokenizedText, sources: PassageIndex) -> tuple[Passage, float]:
    """The passage that holds most of a sentence, and the weighted share that it holds."""
    weight_of_place: defaultdict[int, float] = defaultdict(float)
    for key, weight in reading.weights.items():
        for place in sources.places.get(key, ())[:MOST_PLACES]:
            weight_of_place[place] += weight
    if not weight_of_place:
        return Passage(0, 0, 0), 0.0
    total = sum(reading.weights.values())
    least_gain = [0.0, total * PAIR_GAIN]  # what a pair must have more than a single sentence
    best = max(
        weight_of_place,
        key=lambda place: (weight_of_place[place] - least_gain[place >= sources.singles], -place),
    )
    return sources.passages[best], weight_of_place[best] / total
