"""Texts of twice the length take the offline judge twice the work and memory, whatever repeats in them."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any

import pytest

from groundjudge.offline.alignment import read_sources
from groundjudge.offline.claims import read_claims

N_TIMES = 80  # more than the sentences with a word that are looked at
MAX_GROWTH = 2.2
"""How much more twice the size may take: a little more than twice, and less than what a square would."""

PIECES: Mapping[str, tuple[str, str]] = {
    # what the source repeats, and what the response repeats; {} is a number
    "sentences that are backed": ("Mill {} grinds oats.", "Mill {} grinds oats."),
    "sentences that are not": ("Mill {} grinds oats.", "Mill {} grinds rye."),
    "words that no source has": ("Mill {} grinds oats.", "Penguin x{} fishes."),
    "the same sentence": ("The mill is red.", "The mill is old."),
    "one sentence without an end": ("mill {} is red, ", "mill {} is old, "),
    "clauses of one word": ("mill {} is red. ", "mill, "),
    "refusals": ("Mill {} is red.", "Mill {} is not mentioned."),
    "openers": ("Mill {} is red.", "Yes."),
    "brackets": ("Mill ({}) is red.", "Mill ({} is red."),
    "Chinese": ("磨坊{}是红色的。", "磨坊{}是旧的。"),
}


def read_repeated(source_piece: str, response_piece: str, n_times: int) -> None:
    source = " ".join(source_piece.format(number) for number in range(n_times))
    response = " ".join(response_piece.format(number) for number in range(n_times))
    read_claims(response, read_sources([source], response), "Is the mill red?")


def count_calls(function: Callable[[], Any]) -> int:
    """How many functions are called: no other process changes that."""
    n_calls = 0

    def count(_: FrameType, event: str, __: Any) -> None:
        nonlocal n_calls
        n_calls += event in {"call", "c_call"}

    sys.setprofile(count)
    function()
    sys.setprofile(None)
    return n_calls


def peak_memory(function: Callable[[], Any]) -> int:
    """The least of three peaks: threads that other tests left behind take memory, too."""
    peaks: list[int] = []
    for _ in range(3):
        tracemalloc.start()
        function()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return min(peaks)


@pytest.mark.soak
@pytest.mark.parametrize("pieces", PIECES.values(), ids=PIECES)
def test_twice_the_length_takes_twice_the_work(pieces: tuple[str, str]) -> None:
    read_repeated(*pieces, 2 * N_TIMES)  # fills the caches
    single = count_calls(lambda: read_repeated(*pieces, N_TIMES))
    double = count_calls(lambda: read_repeated(*pieces, 2 * N_TIMES))
    assert double <= MAX_GROWTH * single


@pytest.mark.soak
def test_twice_the_length_takes_twice_the_memory() -> None:
    pieces = PIECES["sentences that are not"]
    read_repeated(*pieces, 2 * N_TIMES)
    single = peak_memory(lambda: read_repeated(*pieces, N_TIMES))
    double = peak_memory(lambda: read_repeated(*pieces, 2 * N_TIMES))
    assert double <= MAX_GROWTH * single
