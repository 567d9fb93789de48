"""Figures and intervals against their definitions, known results and theory."""

from __future__ import annotations

from fractions import Fraction
from math import isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_figures import Row, reference_figures

from groundjudge.analysis.figures import (
    AGREEMENT_FIGURES,
    Figure,
    Sample,
    constant_guess,
    intervals,
    numbered,
    paired_differences,
    point_estimates,
    weighted_figures,
)

ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), st.booleans(), st.booleans()), min_size=1
)
GRADED = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), min_size=1)


def sample(rows: list[Row], groups: list[int] | None = None) -> Sample:
    scores, passed, positive = zip(*rows, strict=True)
    return Sample(
        np.array(scores, dtype=float),
        np.array(passed, dtype=bool),
        np.array(positive, dtype=bool),
        None,
        numbered(groups or range(len(rows))),
    )


def table(true_positives: int, false_positives: int, false_negatives: int, true_negatives: int) -> Sample:
    cells = (
        (1.0, True, True, true_positives),
        (1.0, True, False, false_positives),
        (0.0, False, True, false_negatives),
    )
    rows = [(score, passed, positive) for score, passed, positive, count in cells for _ in range(count)]
    return sample([*rows, *[(0.0, False, False)] * true_negatives])


def same(found: float, expected: Fraction | float | None) -> bool:
    return isnan(found) if expected is None else found == pytest.approx(float(expected), abs=1e-12)


@given(ROWS)
def test_figures_match_the_reference_implementation(rows: list[Row]) -> None:
    found, expected = point_estimates(sample(rows)), reference_figures(rows)
    assert [name for name in AGREEMENT_FIGURES if not same(found[name], expected[name])] == []


@pytest.mark.parametrize(
    ("cells", "kappa"),
    [
        ((20, 5, 10, 15), 0.4),  # 35 of 50 agree where chance gives 25: (0.7 - 0.5) / 0.5
        ((45, 15, 25, 15), 0.1304),  # 60 of 100 agree where chance gives 54
        ((50, 0, 0, 50), 1.0),
        ((25, 25, 25, 25), 0.0),
        ((0, 50, 50, 0), -1.0),
    ],
)
def test_kappa_of_known_confusion_matrices(cells: tuple[int, int, int, int], kappa: float) -> None:
    assert point_estimates(table(*cells))["kappa"] == pytest.approx(kappa, abs=1e-4)


@given(ROWS, st.data())
def test_weighted_row_counts_like_repeated_rows(rows: list[Row], data: st.DataObject) -> None:
    weights = data.draw(
        st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)).filter(
            lambda drawn: sum(drawn) > 0
        )
    )
    found = weighted_figures(sample(rows))(np.array([weights], dtype=float))
    repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
    expected = point_estimates(sample(repeated))
    assert [name for name in expected if not same(float(found[name][0]), _or_none(expected[name]))] == []


@given(GRADED, st.data())
def test_weighted_grade_counts_like_repeated_grades(rows: list[tuple[int, int]], data: st.DataObject) -> None:
    weights = data.draw(
        st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)).filter(
            lambda drawn: sum(drawn) > 0
        )
    )
    found = weighted_figures(graded(rows))(np.array([weights], dtype=float))
    repeated = [row for row, weight in zip(rows, weights, strict=True) for _ in range(weight)]
    expected = point_estimates(graded(repeated))["spearman"]
    assert same(float(found["spearman"][0]), _or_none(expected))


def graded(rows: list[tuple[int, int]]) -> Sample:
    scores, grades = np.array(rows, dtype=float).T
    return Sample(scores / 4, scores >= 2, None, grades, numbered(range(len(rows))))


def _or_none(value: float) -> float | None:
    return None if isnan(value) else value


def test_spearman_is_the_correlation_of_midranks() -> None:
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4: squared differences 0 + .25 + .25 + 0, tied twice.
    rows = [(0, 1), (1, 2), (1, 4), (3, 5)]
    first, second = np.array([1, 2.5, 2.5, 4]), np.array([1, 2, 3, 4])
    assert point_estimates(graded(rows))["spearman"] == pytest.approx(np.corrcoef(first, second)[0, 1])


def test_constant_guess_is_the_best_constant_answer() -> None:
    guess = constant_guess(np.array([True] * 3 + [False] * 7))
    everything_passes = point_estimates(table(3, 7, 0, 0))
    assert guess["accuracy"] == pytest.approx(0.7)
    assert guess["f1"] == pytest.approx(everything_passes["f1"])
    assert (guess["balanced_accuracy"], guess["roc_auc"], guess["kappa"]) == (0.5, 0.5, 0.0)


def test_interval_of_accuracy_is_about_as_wide_as_the_normal_approximation() -> None:
    found = intervals(table(160, 40, 60, 140))["accuracy"]
    assert found.low is not None
    assert found.high is not None
    expected = 2 * 1.96 * sqrt(0.75 * 0.25 / 400)
    assert found.high - found.low == pytest.approx(expected, rel=0.1)


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


def width(figure: Figure) -> float:
    assert figure.low is not None
    assert figure.high is not None
    return figure.high - figure.low


def test_same_seed_gives_the_same_intervals() -> None:
    rows = sample([(0.25 * place, place > 2, place % 2 == 0) for place in range(5)] * 4)
    assert intervals(rows, seed=3) == intervals(rows, seed=3)
    assert intervals(rows, seed=3) != intervals(rows, seed=4)


@pytest.mark.parametrize("n_groups", [0, 1])
def test_one_group_or_none_has_no_interval(n_groups: int) -> None:
    rows = sample([(1.0, True, True), (0.0, False, False)], [0, 0]).rows(np.arange(2 * n_groups))
    assert all(figure.low is None and figure.high is None for figure in intervals(rows).values())


def test_figure_undefined_in_many_resamples_has_no_interval() -> None:
    # In about a third of the resamples the one row that passes is not drawn.
    rows = sample([(1.0, True, True), *[(0.0, False, False)] * 9])
    assert intervals(rows)["precision"] == Figure(value=1.0)


def test_identical_samples_have_zero_differences() -> None:
    rows = sample([(0.25 * (place % 5), place % 3 == 0, place % 2 == 0) for place in range(30)])
    found = paired_differences(rows, rows)
    assert found["kappa"] == Figure(value=0.0, low=0.0, high=0.0)
    assert found["spearman"] == Figure()


def test_paired_difference_has_a_narrower_interval_than_either_sample() -> None:
    generator = np.random.default_rng(5)
    positive = generator.random(300) < 0.5
    first = np.where(generator.random(300) < 0.75, positive, ~positive)
    second = np.where(generator.random(300) < 0.05, ~first, first)
    before, after = (
        sample([(float(p), bool(p), bool(s)) for p, s in zip(passed, positive, strict=True)])
        for passed in (first, second)
    )
    found = paired_differences(before, after)["accuracy"]
    assert found.value == pytest.approx(
        point_estimates(after)["accuracy"] - point_estimates(before)["accuracy"]
    )
    assert width(found) < 0.7 * width(intervals(before)["accuracy"])


def test_figures_of_no_rows_are_undefined() -> None:
    empty = sample([(0.0, False, False)]).rows(np.array([], dtype=int))
    assert all(isnan(value) for value in point_estimates(empty).values())
    assert intervals(empty) == dict.fromkeys(intervals(empty), Figure())
