"""Weighted figures against their definitions, scikit-learn and SciPy; intervals against theory."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import chain
from math import isnan, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_figures import Row, reference_figures

from groundjudge.analysis.figures import (
    Bootstrap,
    Figure,
    Floats,
    Sample,
    constant_guess,
    paired,
    weighted_kappa,
    weighted_mean,
)

metrics: Any = import_module("sklearn.metrics")
stats: Any = import_module("scipy.stats")

SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
ROWS = st.lists(st.tuples(SCORES, st.booleans(), st.booleans()), min_size=1)
WEIGHTED = st.lists(
    st.tuples(SCORES, st.booleans(), st.booleans(), st.integers(1, 5), st.integers(0, 3)), min_size=1
).filter(lambda rows: any(row[-1] for row in rows))
"""Rows with a score, whether it passed, whether the label is positive, a grade, and how often it counts."""


def sample(rows: Sequence[Row], groups: Sequence[int] | None = None) -> Sample:
    scores, passed, positive = (np.array(column) for column in zip(*rows, strict=True))
    return Sample(scores, passed, np.array(groups or range(len(rows))), positive)


def figures(of: Sample, weights: Floats | None = None) -> dict[str, float]:
    """The agreement figures of a sample by name, each row counted as often as its weight says."""
    found = of.agreement(np.ones((1, of.scores.size)) if weights is None else weights[None, :])
    return {name: float(value[0]) for name, value in found.items()}


@given(ROWS)
def test_figures_match_the_reference_implementation(rows: list[Row]) -> None:
    found, expected = figures(sample(rows)), reference_figures(rows)
    known = {name: float("nan") if value is None else float(value) for name, value in expected.items()}
    assert found == pytest.approx(known, abs=1e-12, nan_ok=True)


@given(WEIGHTED, st.sampled_from([1.0, 0.001, 1e6]))
def test_weighted_row_counts_like_repeated_rows_and_a_common_factor_changes_nothing(
    rows: list[tuple[float, bool, bool, int, int]], factor: float
) -> None:
    scores, passed, positive, grades, times = (np.array(column) for column in zip(*rows, strict=True))
    everything = Sample(scores, passed, np.arange(len(rows)), positive, grades.astype(float))
    repeated = everything.rows(np.repeat(np.arange(len(rows)), times))
    assert figures(everything, times * factor) == pytest.approx(figures(repeated), abs=1e-9, nan_ok=True)


ORACLES = {
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
    "f1": metrics.f1_score,
    "kappa": metrics.cohen_kappa_score,
}


@pytest.mark.parametrize("seed", range(3))
def test_weighted_figures_are_scikit_learns(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores, weights = generator.random(50).round(1), generator.random(50)
    positive, passed = generator.random(50) < 0.4, scores >= 0.5
    found = figures(Sample(scores, passed, np.arange(50), positive), weights)
    expected = {name: oracle(positive, passed, sample_weight=weights) for name, oracle in ORACLES.items()}
    expected["roc_auc"] = metrics.roc_auc_score(positive, scores, sample_weight=weights)
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    guess, same = constant_guess(positive, weights), (np.zeros(50, dtype=bool), np.ones(50, dtype=bool))
    accuracies = (metrics.accuracy_score(positive, each, sample_weight=weights) for each in same)
    assert guess["accuracy"] == pytest.approx(max(accuracies))
    assert guess["f1"] == pytest.approx(metrics.f1_score(positive, same[1], sample_weight=weights))
    assert weighted_mean(weights[None, :], scores)[0] == pytest.approx(np.average(scores, weights=weights))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=2))
def test_spearman_is_scipys(rows: list[tuple[int, int]]) -> None:
    scores, grades = np.array(rows, dtype=float).T
    found = figures(Sample(scores / 4, scores >= 2, np.arange(len(rows)), None, grades))["spearman"]
    if np.ptp(scores) > 0 and np.ptp(grades) > 0:
        assert found == pytest.approx(stats.spearmanr(scores, grades).statistic)
    else:
        assert isnan(found)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(0.01, 3)), min_size=2))
def test_weighted_kappa_is_scikit_learns(rows: list[tuple[int, int, float]]) -> None:
    people, judge, weights = (np.array(column) for column in zip(*rows, strict=True))
    found = weighted_kappa(weights[None, :], people / 3, judge / 3)[0]
    if np.ptp(people) == 0:
        assert isnan(found)
    else:
        options: dict[str, Any] = {"labels": range(4), "weights": "quadratic", "sample_weight": weights}
        assert found == pytest.approx(metrics.cohen_kappa_score(people, judge, **options))


def test_weighted_kappa_follows_the_scores_and_not_the_order_of_the_labels() -> None:
    people, near, far = (np.array(row) for row in ([0.0, 0.1, 1.0], [0.1, 0.1, 1.0], [0.0, 1.0, 1.0]))
    ones = np.ones((1, 3))
    assert weighted_kappa(ones, people, near)[0] > 0.95 > weighted_kappa(ones, people, far)[0]


def test_interval_of_accuracy_is_about_as_wide_as_the_normal_approximation() -> None:
    cells = [(1.0, True, True)] * 160, [(1.0, True, False)] * 40, [(0.0, False, True)] * 60
    found = intervals(sample([*chain(*cells), *[(0.0, False, False)] * 140]))["accuracy"]
    assert width(found) == pytest.approx(2 * 1.96 * sqrt(0.75 * 0.25 / 400), rel=0.1)


def test_interval_is_wider_when_identical_rows_form_groups() -> None:
    generator = np.random.default_rng(1)
    kinds = generator.random((60, 2)) < 0.5
    rows = [(float(passed), bool(passed), bool(positive)) for passed, positive in kinds for _ in range(5)]
    alone, together = (
        intervals(sample(rows, groups)) for groups in (None, [place for place in range(60) for _ in range(5)])
    )
    for name in ("accuracy", "balanced_accuracy", "f1", "kappa", "roc_auc"):
        assert width(together[name]) > 1.5 * width(alone[name])
        assert together[name].value == alone[name].value


def intervals(of: Sample, bootstrap: Bootstrap | None = None) -> dict[str, Figure]:
    return (bootstrap or Bootstrap()).figures(of.agreement, of.groups)


def width(figure: Figure) -> float:
    assert figure.low is not None
    assert figure.high is not None
    return figure.high - figure.low


def test_same_seed_gives_the_same_intervals() -> None:
    rows = sample([(0.25 * place, place > 2, place % 2 == 0) for place in range(5)] * 4)
    first, again, other = (intervals(rows, Bootstrap(seed=seed)) for seed in (3, 3, 4))
    assert first == again != other


@pytest.mark.parametrize("n_groups", [0, 1])
def test_one_group_or_none_has_no_interval(n_groups: int) -> None:
    rows = sample([(1.0, True, True), (0.0, False, False)], [0, 0]).rows(np.arange(2 * n_groups))
    found = intervals(rows)
    assert all(figure.low is None and figure.high is None for figure in found.values())
    assert (found["accuracy"] == Figure()) is (n_groups == 0)


def test_figure_undefined_in_many_resamples_has_no_interval() -> None:
    # In about a third of the resamples the one row that passes is not drawn.
    rows = sample([(1.0, True, True), *[(0.0, False, False)] * 9])
    assert intervals(rows)["precision"] == Figure(value=1.0)


def test_paired_difference_has_a_narrower_interval_than_either_sample() -> None:
    generator = np.random.default_rng(5)
    positive = generator.random(300) < 0.5
    first = np.where(generator.random(300) < 0.75, positive, ~positive)
    second = np.where(generator.random(300) < 0.05, ~first, first)
    before, after = (
        Sample(passed.astype(float), passed, np.arange(300), positive) for passed in (first, second)
    )
    one, other, change = (
        table["accuracy"] for table in paired(before.agreement, after.agreement, before.groups, Bootstrap())
    )
    assert (one, other) == (intervals(before)["accuracy"], intervals(after)["accuracy"])
    assert change.value == pytest.approx((other.value or 0) - (one.value or 0))
    assert width(change) < 0.7 * width(one)
