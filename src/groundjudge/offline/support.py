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
from groundjudge.offline.readings import TokenizedText, contradictions, read
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


def index(documents: Sequence[str]) -> PassageIndex:
    """Make documents ready for looking sentences up in them."""
    found = [
        (Passage(number, *piece.span()), read(piece[0]).keys)
        for number, document in enumerate(documents)
        for _, start, end in sentences(document)
        for piece in _PIECE.finditer(document, start, end)
    ]
    pairs = [
        (Passage(one.document, one.start, two.end), some | more)
        for (one, some), (two, more) in pairwise(found)
        if one.document == two.document
    ]
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, (_, keys) in enumerate([*found, *pairs]):
        for key in keys:
            places[key].append(place)
    return PassageIndex(documents, [passage for passage, _ in [*found, *pairs]], len(found), dict(places))


def support(sentence: str, sources: PassageIndex) -> Support:
    """How far a sentence is supported by documents, and the passage that has most of it."""
    said = read(without_citations(sentence))
    passage, held = _best(said, sources)
    quote = sources.documents[passage.document][passage.start : passage.end] if held else ""
    given = read(quote)
    found = contradictions(said, given) if held >= CLOSE else ()
    content = [token for token in said.tokens if token.is_content]
    is_whole = held > 0 and not found and all(token.key in given.keys for token in content)
    weights = said.weights
    covered = sum(weights[key] for key in weights if key in sources.places) / (sum(weights.values()) or 1)
    if is_whole and content and is_unspaced(content[-1].text):
        covered = held = 1.0  # words that moved made new pairs of signs
    is_unknown = any(token.is_number and token.key not in sources.places for token in said.tokens)
    signals = Signals(covered, held, float(is_unknown), float(is_whole), float(bool(found)))
    missing = tuple(dict.fromkeys(each.text for each in content if each.key not in sources.places))
    length = 1 + sum(word.weight == 1 for word in said.words)
    return Support(sentence, length, score(signals), passage, quote, missing, found, signals)


def score(signals: Signals) -> float:
    """The support that signals amount to, 0..1."""
    fitted = coefficients()
    weighed = sum(fitted[name] * value for name, value in signals._asdict().items())
    return 1 / (1 + math.exp(-fitted["intercept"] - weighed))


@cache
def coefficients() -> Mapping[str, float]:
    """What `tools/fit_support.py` found for each signal, and the intercept; read when first needed."""
    text = files("groundjudge.offline").joinpath(COEFFICIENTS).read_text(encoding="utf-8")
    return {name: float(value) for name, value in json.loads(text)["coefficients"].items()}


def _best(said: TokenizedText, sources: PassageIndex) -> tuple[Passage, float]:
    """The passage that holds most of a sentence, and the weighted share that it holds."""
    held: defaultdict[int, float] = defaultdict(float)
    for key, weight in said.weights.items():
        for place in sources.places.get(key, ())[:MOST_PLACES]:
            held[place] += weight
    if not held:
        return Passage(0, 0, 0), 0.0
    total = sum(said.weights.values())
    least = [0.0, total * PAIR_GAIN]  # what a pair must have more than a single sentence
    best = max(held, key=lambda place: (held[place] - least[place >= sources.singles], -place))
    return sources.passages[best], held[best] / total
