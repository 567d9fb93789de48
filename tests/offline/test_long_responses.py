"""A long response takes the baseline memory and time in proportion to its length, by small factors."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Sequence

from groundjudge.offline.reasons import reason
from groundjudge.offline.support import Support, index

from groundjudge import load
from groundjudge.offline.claims import claims

SOURCES = ("The hotel opens at nine.", "Breakfast is served until ten in the restaurant.")
NAMES = """
torven kenetor venruba barufer doloven plistav gramine shidoqu kelomi rustane basheli fergrado
"""
# What a response of words that the sources lack may take for each of its characters: it took 19.
MOST_BYTES = 17
# What the whole judgement of such a response may take, the verdict with its reply included: it took 108.
MOST_BYTES_OF_A_JUDGEMENT = 45
# What a scorecard of 400 sentences may take, half of which the caches hold, whatever its length: it took 218.
MOST_BYTES_OF_SCORECARD = 70
# How many times as long the reason of eight times as many statements may take: it took sixty times as long.
MOST_TIMES = 24


def response_of(n_sentences: int) -> str:
    texts: list[str] = []
    for number in range(n_sentences):
        names = " ".join(f"{name}{chr(97 + number % 26)}" for name in NAMES.split())
        texts.append(f"The {names} was {number} of the hotel.")
    return " ".join(texts)


def test_a_long_response_takes_few_bytes_for_each_of_its_characters() -> None:
    sources = index(SOURCES)
    claims(response_of(300), sources)  # fills the caches, which hold no more for a longer text
    text = response_of(1500)
    tracemalloc.start()
    statements = claims(text, sources)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(statements) == 1500
    assert peak < MOST_BYTES * len(text)


def test_a_long_response_is_judged_by_its_sentences_in_few_bytes_for_each_of_its_characters() -> None:
    judge = load("statement_groundedness", model="offline")
    case = {"query": "What is known?", "context": list(SOURCES), "response": response_of(300)}
    judge.judge(case)
    case["response"] = response_of(1500)
    tracemalloc.start()
    verdict = judge.judge(case)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(verdict.parts) == 1500
    assert peak < MOST_BYTES_OF_A_JUDGEMENT * len(case["response"])


def test_a_scorecard_of_a_long_response_takes_few_bytes_for_each_of_its_characters() -> None:
    judge = load("statement_groundedness", model="offline")
    # What is left out of a copy, bold type and citations, is traced back to where it stands.
    text = response_of(400).replace(" was ", " *was* [1] ")
    case = {"query": "Describe the hotel.", "response": text, "context": [*SOURCES]}
    judge.judge({**case, "response": text[: len(text) // 4]})  # fills the caches
    tracemalloc.start()
    verdict = judge.judge(case)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(verdict.parts) == 400
    assert peak < MOST_BYTES_OF_SCORECARD * len(text)


def fastest_reason(statements: Sequence[Support]) -> float:
    durations: list[float] = []
    for _ in range(3):
        start = time.process_time()
        reason(statements)
        durations.append(time.process_time() - start)
    return min(durations)


def test_the_reason_of_many_statements_takes_time_in_proportion_to_their_number() -> None:
    statements = claims(response_of(4000), index(SOURCES))
    assert fastest_reason(statements) < MOST_TIMES * fastest_reason(statements[:500])
