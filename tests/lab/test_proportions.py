"""Shares with their intervals, and the test of two shares on the same cases, against SciPy."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.lab.proportions import mcnemar, rate_of, wilson


def binomtest(events: int, n: int) -> Any:
    """SciPy's test, which only the worker that needs it imports."""
    return import_module("scipy.stats").binomtest(events, n)


@given(st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_is_that_of_scipy(counts: tuple[int, int]) -> None:
    events, n = counts
    expected = binomtest(events, n).proportion_ci(method="wilson")
    interval = wilson(events / n, n)
    assert interval.low == pytest.approx(expected.low)
    assert interval.high == pytest.approx(expected.high)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
def test_mcnemar_is_the_binomial_test_of_the_pairs_that_differ(pairs: list[tuple[bool, bool]]) -> None:
    only_first, only_second = pairs.count((True, False)), pairs.count((False, True))
    n_different = only_first + only_second
    expected = 1.0
    if n_different:  # less half of the chance of what was seen, twice
        seen = import_module("scipy.stats").binom.pmf(only_first, n_different, 0.5)
        expected = binomtest(only_first, n_different).pvalue - seen
    assert mcnemar(only_first, only_second, len(pairs)) == pytest.approx(expected)


def test_no_observation_has_no_share_and_no_test() -> None:
    assert (rate_of([]).value, rate_of([]).n, mcnemar(0, 0, 0)) == (None, 0, None)
