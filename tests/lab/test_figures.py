"""Weighted figures against their definitions, scikit-learn and SciPy; intervals against theory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from math import isnan
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge.lab.columns import Sample
from groundjudge.lab.figures import (
    Bootstrap,
    Figure,
    clear_differences,
    figures_of,
    group_weight,
    percentile_figures,
    resample_pair,
)
from groundjudge.lab.formulas import Floats, constant_guess, weighted_kappa, weighted_mean
from groundjudge.lab.notices import few_rows_notice, is_reversed
from groundjudge.lab.proportions import wilson


def metric(name: str) -> Any:
    """A metric of scikit-learn, which only the worker that needs it imports: that takes two seconds."""
    return getattr(import_module("sklearn.metrics"), name)


Row = tuple[float, bool, bool]
"""A score, whether it passed, and whether the label is positive."""

SCORES = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
WEIGHTED = st.lists(
    st.tuples(SCORES, st.booleans(), st.booleans(), st.integers(1, 5), st.integers(0, 3)), min_size=1
).filter(lambda rows: any(row[-1] for row in rows))
"""Rows with a score, whether it passed, whether the label is positive, a grade, and how often it counts."""


def sample(rows: Sequence[Row], groups: Sequence[int] | None = None) -> Sample:
    scores, passed, positive = (np.array(column) for column in zip(*rows, strict=True))
    return Sample(scores, passed, np.array(groups or range(len(rows))), positive)


def figures(of: Sample, weights: Floats | None = None) -> dict[str, float]:
    """The agreement figures of a sample by name, each row counted as often as its weight says."""
    if weights is None:
        weights = np.ones(of.scores.size)
    values_by_name = of.agreement(weights[None, :])
    return {name: float(values[0]) for name, values in values_by_name.items()}


@given(WEIGHTED, st.sampled_from([1.0, 0.001, 1e6]))
def test_weighted_row_counts_like_repeated_rows_and_a_common_factor_changes_nothing(
    rows: list[tuple[float, bool, bool, int, int]], factor: float
) -> None:
    scores, passed, positive, grades, times = (np.array(column) for column in zip(*rows, strict=True))
    everything = Sample(scores, passed, np.arange(len(rows)), positive, grades.astype(float))
    repeated = everything.select(np.repeat(np.arange(len(rows)), times))
    assert figures(everything, times * factor) == pytest.approx(figures(repeated), abs=1e-9, nan_ok=True)


ORACLES: dict[str, tuple[str, dict[str, Any]]] = {
    # our figure: the metric of scikit-learn, and its options
    "recall_not_grounded": ("recall_score", {"pos_label": 0}),
    "precision_not_grounded": ("precision_score", {"pos_label": 0}),
    "f1_not_grounded": ("f1_score", {"pos_label": 0}),
    "macro_f1": ("f1_score", {"average": "macro"}),
    "accuracy": ("accuracy_score", {}),
    "balanced_accuracy": ("balanced_accuracy_score", {}),
    "precision": ("precision_score", {}),
    "recall": ("recall_score", {}),
    "f1": ("f1_score", {}),
    "kappa": ("cohen_kappa_score", {}),
}


@pytest.mark.parametrize("seed", range(2))
def test_weighted_figures_are_scikit_learns(seed: int) -> None:
    generator = np.random.default_rng(seed)
    scores, weights = generator.random(50).round(1), generator.random(50)
    positive, passed = generator.random(50) < 0.4, scores >= 0.5
    sample_of_rows = Sample(scores, passed, np.arange(50), positive, row_weights=weights)
    values = figures(sample_of_rows, weights)
    oracles = {name: partial(metric(function), **options) for name, (function, options) in ORACLES.items()}
    expected = {name: oracle(positive, passed, sample_weight=weights) for name, oracle in oracles.items()}
    expected["roc_auc"] = metric("roc_auc_score")(positive, scores, sample_weight=weights)
    assert {name: values[name] for name in expected} == pytest.approx(expected)
    guess = constant_guess(sample_of_rows.share_grounded)
    nothing_passes = np.zeros(50, dtype=bool)
    everything_passes = np.ones(50, dtype=bool)
    for name in ("accuracy", "f1", "f1_not_grounded", "macro_f1"):
        options = {} if name == "accuracy" else {"zero_division": 0}
        lower = oracles[name](positive, nothing_passes, sample_weight=weights, **options)
        upper = oracles[name](positive, everything_passes, sample_weight=weights, **options)
        assert guess[name] == pytest.approx(max(lower, upper))
    assert weighted_mean(weights[None, :], scores)[0] == pytest.approx(np.average(scores, weights=weights))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=2))
def test_spearman_is_scipys(rows: list[tuple[int, int]]) -> None:
    scores, grades = np.array(rows, dtype=float).T
    correlation = figures(Sample(scores / 4, scores >= 2, np.arange(len(rows)), None, grades))["spearman"]
    if np.ptp(scores) > 0 and np.ptp(grades) > 0:
        assert correlation == pytest.approx(import_module("scipy.stats").spearmanr(scores, grades).statistic)
    else:
        assert isnan(correlation)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.floats(0.01, 3)), min_size=2))
def test_weighted_kappa_is_scikit_learns(rows: list[tuple[int, int, float]]) -> None:
    people, judge, weights = (np.array(column) for column in zip(*rows, strict=True))
    kappa = weighted_kappa(weights[None, :], people / 3, judge / 3)[0]
    if np.ptp(people) == 0:
        assert isnan(kappa)
    else:
        options: dict[str, Any] = {"labels": range(4), "weights": "quadratic", "sample_weight": weights}
        assert kappa == pytest.approx(metric("cohen_kappa_score")(people, judge, **options))


def test_weighted_kappa_follows_the_scores_and_not_the_order_of_the_labels() -> None:
    people = np.array([0.0, 0.1, 1.0])
    near = np.array([0.1, 0.1, 1.0])
    far = np.array([0.0, 1.0, 1.0])
    weights = np.ones((1, 3))
    assert weighted_kappa(weights, people, near)[0] > 0.95 > weighted_kappa(weights, people, far)[0]


def test_interval_is_wider_when_identical_rows_form_groups() -> None:
    kinds = np.random.default_rng(1).random((60, 2)) < 0.5
    rows: list[Row] = []
    for passed, positive in kinds.tolist():
        rows += [(float(passed), passed, positive)] * 5
    alone = intervals(sample(rows), Bootstrap(400))
    together = intervals(sample(rows, [place // 5 for place in range(300)]), Bootstrap(400))
    for name in ("accuracy", "balanced_accuracy", "f1", "kappa", "roc_auc"):
        assert width(together[name]) > 1.5 * width(alone[name])
        assert together[name].value == alone[name].value


def intervals(of: Sample, bootstrap: Bootstrap | None = None) -> dict[str, Figure]:
    return (bootstrap or Bootstrap()).figures(of, Sample.agreement)


def width(figure: Figure) -> float:
    assert figure.low is not None
    assert figure.high is not None
    return figure.high - figure.low


def test_same_seed_gives_the_same_intervals() -> None:
    rows = sample([(0.25 * place, place > 2, place % 2 == 0) for place in range(5)] * 4)
    first = intervals(rows, Bootstrap(seed=3))
    assert intervals(rows, Bootstrap(seed=3)) == first
    assert intervals(rows, Bootstrap(seed=4)) != first


@pytest.mark.parametrize("n_groups", [pytest.param(0, id="no group"), pytest.param(1, id="one group")])
def test_one_group_or_none_has_no_interval(n_groups: int) -> None:
    rows = sample([(1.0, True, True), (0.0, False, False)], [0, 0]).select(np.arange(2 * n_groups))
    sample_figures = intervals(rows)
    assert all(figure.low is None and figure.high is None for figure in sample_figures.values())
    assert (sample_figures["accuracy"] == Figure()) is (n_groups == 0)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param(20, 0, id="all right"),
        pytest.param(1, 0, id="a single row"),
        pytest.param(30, 10, id="three in four right"),
    ],
)
def test_shares_of_independent_rows_have_wilsons_interval(right: int, wrong: int) -> None:
    n = right + wrong
    rows = [(0.0, False, False)] * right + [(1.0, True, False)] * wrong + [(1.0, True, True)] * 5
    expected = wilson(right / n, n)
    recall = intervals(sample(rows))["recall_not_grounded"]
    assert (recall.low, recall.high) == pytest.approx((expected.low, expected.high), abs=0.02)


@pytest.mark.parametrize(
    "group", [pytest.param(1, id="independent rows"), pytest.param(4, id="groups of four")]
)
def test_a_perfect_judge_has_intervals_that_grow_with_the_dependence_of_rows(group: int) -> None:
    rows = [(float(place % 8 < 4), place % 8 < 4, place % 8 < 4) for place in range(80)]
    sample_figures = intervals(sample(rows, [place // group for place in range(80)]))
    defined = {name: figure for name, figure in sample_figures.items() if figure.value is not None}
    n_effective = 40 / group
    for name, figure in defined.items():
        assert (figure.value, figure.high) == (1, 1), name
        assert figure.low is not None
        assert figure.low < 1 - 1 / (n_effective + 4)
    assert defined["recall"].low == pytest.approx(wilson(1, int(n_effective)).low, abs=0.03)


def test_scores_that_do_not_vary_have_a_mean_without_an_interval() -> None:
    rows = sample([(0.7, True, place % 2 == 0) for place in range(20)])
    mean_score = Bootstrap().figures(rows, Sample.mean_score)["mean_score"]
    assert (mean_score.low, mean_score.high) == (None, None)
    assert width(Bootstrap().figures(rows, Sample.pass_rate)["pass_rate"]) > 0.1


def test_a_group_weighs_what_it_has_of_a_class() -> None:
    for groups, weight in (([1, 2, 3], 1), ([1, 1, 2, 2], 2), ([1, 1, 1, 2], 2.5), ([], 1)):
        assert group_weight(np.array(groups)) == weight


@pytest.mark.parametrize(
    ("n", "n_positive", "group", "few"),
    [
        pytest.param(100, 50, 1, None, id="enough rows"),
        pytest.param(19, 9, 1, "only 19 independent rows or groups:", id="few rows"),
        pytest.param(
            100, 95, 1, "only 5 independent rows or groups labelled not grounded:", id="few rows of a class"
        ),
        pytest.param(1, 1, 1, "no intervals: a single row", id="a single row"),
        pytest.param(
            100, 99, 1, "only 1 independent row or group labelled not grounded:", id="a single row of a class"
        ),
        pytest.param(100, 100, 1, None, id="one class throughout"),
    ],
)
def test_few_rows_are_noted(n: int, n_positive: int, group: int, few: str | None) -> None:
    rows = [(1.0, True, place < n_positive) for place in range(n)]
    notice = few_rows_notice(sample(rows, [place // group for place in range(n)]))
    assert notice == few if few is None else (notice or "").startswith(few)


@pytest.mark.parametrize(
    ("figure", "expected"),
    [
        pytest.param({"roc_auc": Figure(value=0.3, low=0.2, high=0.49)}, True, id="ROC AUC below one half"),
        pytest.param({"spearman": Figure(value=-0.3, low=-0.5, high=-0.1)}, True, id="negative correlation"),
        pytest.param(
            {"spearman": Figure(value=-0.3, low=-0.5, high=0.1)}, False, id="correlation that may be 0"
        ),
        pytest.param({"accuracy": Figure(value=0.1, low=0.0, high=0.2)}, False, id="low accuracy"),
    ],
)
def test_clearly_worse_than_guessing_is_reversed(figure: dict[str, Figure], expected: bool) -> None:  # noqa: FBT001
    assert is_reversed(figure) is expected


def test_only_differences_beyond_chance_are_clear() -> None:
    generator = np.random.default_rng(3)
    noise = generator.normal(size=(20, 1001))
    noise[:, 0] = 0
    draws = {str(place): row for place, row in enumerate(noise)}
    assert clear_differences(draws) == []
    shifted = draws | {"far": noise[0] + 5, "near": noise[1] + 2.5, "none": np.full(1001, np.nan)}
    assert clear_differences(shifted) == ["far"]
    assert clear_differences({"near": noise[1] + 2.5}) == ["near"]
    assert clear_differences({"outside": np.append(3, noise[1, 1:])}) == []
    assert clear_differences({"one group": np.array([0.5])}) == []


@pytest.mark.parametrize(
    ("rule", "scores", "passed"),
    [
        pytest.param(None, [0.9, 0.2], [True, False], id="left out"),
        pytest.param("wrong", [0.9, 0.2, 0.0, 1.0, 1.0], [True, False, False, True, True], id="wrong"),
        pytest.param("right", [0.9, 0.2, 1.0, 0.0, 0.0], [True, False, True, False, False], id="right"),
        pytest.param(
            "as-run", [0.9, 0.2, 1.0, 1.0, 0.0], [True, False, True, True, False], id="as in the run"
        ),
    ],
)
def test_rows_without_a_score_count_as_told(rule: Any, scores: list[float], passed: list[bool]) -> None:
    """The last rows are not applicable, twice, and an error."""
    rows = Sample(
        np.array([0.9, 0.2, np.nan, np.nan, np.nan]),
        np.array([True, False, True, True, False]),
        np.arange(5),
        np.array([True, False, True, False, False]),
    )
    sample_that_counts = rows.count_unscored(rule)
    assert (sample_that_counts.scores.tolist(), sample_that_counts.passed.tolist()) == (scores, passed)


@pytest.mark.parametrize(
    ("n", "is_few"), [pytest.param(49, True, id="49 rows"), pytest.param(50, False, id="50 rows")]
)
def test_correlations_need_more_rows(n: int, is_few: bool) -> None:  # noqa: FBT001
    scores = np.linspace(0, 1, n)
    notice = few_rows_notice(Sample(scores, scores > 0.5, np.arange(n), None, scores))
    assert (notice is not None) is is_few


def test_rows_without_a_score_get_the_lowest_or_highest_score_of_their_grade() -> None:
    rows = Sample(np.full(3, np.nan), np.ones(3, dtype=bool), np.arange(3), None, np.array([1.0, 3.0, 5.0]))
    assert rows.count_unscored("right").scores.tolist() == [0, 0.5, 1]
    assert rows.count_unscored("wrong").scores.tolist() == [1, 0.5, 0]


def test_paired_difference_has_a_narrower_interval_than_either_sample() -> None:
    chance = np.random.default_rng(5).random((3, 300))
    positive = chance[0] < 0.5
    passed_first = positive ^ (chance[1] > 0.75)
    passed_second = passed_first ^ (chance[2] < 0.05)
    groups = np.arange(300)
    first = Sample(passed_first.astype(float), passed_first, groups, positive)
    second = Sample(passed_second.astype(float), passed_second, groups, positive)
    first_draws, second_draws, differences = resample_pair(first, second, Sample.agreement, Bootstrap(400))
    of_first = figures_of(first_draws, groups)["accuracy"]
    of_second = figures_of(second_draws, groups)["accuracy"]
    change = percentile_figures(differences)["accuracy"]
    assert (width(of_first), width(of_second)) == pytest.approx((0.1, 0.1), abs=0.02)
    assert change.value == pytest.approx((of_second.value or 0) - (of_first.value or 0))
    assert width(change) < 0.7 * width(of_first)
