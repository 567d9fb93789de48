"""Calibration: thresholds are fitted on some rows and tested on held-out ones."""

from __future__ import annotations

from functools import cache
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from make_verdicts import PROMPT, joined, verdict
from scripted_model import ScriptedModel

from groundjudge import load
from groundjudge.lab.calibration import calibrate, read_calibrations, save_calibrations, warnings_on
from groundjudge.lab.columns import Sample, reaches, sample_of
from groundjudge.lab.figures import lower_bound
from groundjudge.lab.formulas import Bools, Floats
from groundjudge.lab.labels import JudgedRows, LabelError
from groundjudge.lab.thresholds import Criterion, fit_threshold, split_rows

CRITERIA: tuple[Criterion, ...] = ("balanced_accuracy", "accuracy", "f1", "kappa")


def rows_of(scores: Floats, labels: Bools) -> JudgedRows:
    return joined(scores.round(3).tolist(), labels.astype(int).tolist())


def random_rows(seed: int, n: int = 60) -> JudgedRows:
    """Scores that are independent of the labels."""
    generator = np.random.default_rng(seed)
    return rows_of(generator.random(n).round(2), generator.random(n) < 0.5)


@cache
def separable_rows(*, is_reversed: bool = False) -> JudgedRows:
    """Scores that a threshold of 0.3 separates by label."""
    generator = np.random.default_rng(7)
    labels = generator.random(200) < 0.4
    scores = np.where(labels, 0.3 + 0.7 * generator.random(200), 0.3 * generator.random(200))
    return rows_of(scores, labels != is_reversed)


def sample_with(scores: Floats, positive: Bools, weights: Floats | None = None) -> Sample:
    """Independent rows with these scores and labels."""
    return Sample(scores, scores >= 0.5, np.arange(scores.size), positive, row_weights=weights)


@pytest.mark.soak
@pytest.mark.parametrize("folds", [pytest.param(None, id="halves"), pytest.param(5, id="five folds")])
def test_threshold_fitted_to_random_labels_beats_chance_only_on_its_own_rows(folds: int | None) -> None:
    fitted_values: list[float | None] = []
    tested_values: list[float | None] = []
    n_beating_chance = 0
    for seed in range(40):
        calibration = calibrate(random_rows(seed), folds=folds, resamples=100, seed=seed)
        fitted_values.append(calibration.fitted["balanced_accuracy"].value)
        tested_values.append(calibration.tested["balanced_accuracy"].value)
        n_beating_chance += calibration.beats_guessing
    fitted = np.array(fitted_values, dtype=float)
    tested = np.array(tested_values, dtype=float)
    assert fitted.mean() > 0.56  # the best of sixty thresholds, fitted to noise
    assert (fitted >= 0.5).all()
    assert abs(tested.mean() - 0.5) < 0.03  # held-out rows show that it is noise
    assert n_beating_chance <= 4
    assert (fitted - tested).mean() > 0.05


@pytest.mark.parametrize(("by", "folds"), [*((by, None) for by in CRITERIA), ("accuracy", 5)])
def test_separating_threshold_is_found_and_holds_on_held_out_rows(by: Criterion, folds: int | None) -> None:
    calibration = calibrate(separable_rows(), by=by, folds=folds, resamples=50)
    assert 0.25 < calibration.threshold < 0.35
    assert calibration.beats_guessing
    tested = calibration.tested[by].value or 0.0
    as_run = calibration.as_run[by].value or 1.0
    assert tested > 0.9 > as_run
    assert calibration.gain[by].value == pytest.approx(tested - as_run)


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2), st.sampled_from(CRITERIA))
def test_fitted_threshold_maximises_the_figure_on_its_own_rows(
    rows: list[tuple[int, bool]], by: Criterion
) -> None:
    scores = np.array([score / 10 for score, _ in rows])
    positive = np.array([label for _, label in rows])

    def figure_at(threshold: float) -> float:
        sample = Sample(scores, scores >= threshold, np.arange(len(rows)), positive)
        return float(np.nan_to_num(sample.values(Sample.agreement)[by], nan=-1.0))

    threshold = fit_threshold(sample_with(scores, positive), by)
    assert 0 <= threshold <= 1
    best = max(figure_at(step / 20) for step in range(21))
    assert figure_at(threshold) == pytest.approx(best)


@pytest.mark.parametrize(
    ("scores", "labels", "threshold"),
    [
        pytest.param([0.1, 0.4, 0.6], [1, 1, 1], 0.0, id="everything should pass"),
        pytest.param(
            [0.3, 0.1 + 0.2 + 1e-13, 0.7], [0, 0, 1], 0.5, id="scores that are equal after rounding"
        ),
    ],
)
def test_fitted_threshold_is_a_short_number_between_two_scores(
    scores: list[float], labels: list[int], threshold: float
) -> None:
    sample = sample_with(np.array(scores), np.array(labels, dtype=bool))
    assert fit_threshold(sample, "accuracy") == threshold


@given(st.lists(st.tuples(st.integers(0, 10), st.booleans(), st.integers(1, 3)), min_size=1))
def test_weighted_row_moves_the_fitted_threshold_like_repeated_rows(
    rows: list[tuple[int, bool, int]],
) -> None:
    scores, positive, times = (np.array(column) for column in zip(*rows, strict=True))
    threshold = fit_threshold(sample_with(scores / 10, positive, times), "accuracy")
    repeated = sample_with(np.repeat(scores / 10, times), np.repeat(positive, times))
    assert threshold == fit_threshold(repeated, "accuracy")


@given(st.floats(0, 1), st.floats(0, 1))
@example(0.08779665950030925, 0.08779665950030925)  # its score ends in 5, which NumPy rounds differently
def test_reaches_decides_as_a_judge_with_that_threshold(score: float, threshold: float) -> None:
    judge = load("confidence_grounding", model=ScriptedModel("-"), threshold=threshold)
    verdict_read = judge.rubric.read(f'{{"reasoning": "r", "score": {score:.17f}}}')
    assert reaches(np.array([verdict_read.score]), threshold).tolist() == [verdict_read.passed]


@pytest.mark.parametrize("folds", [pytest.param(None, id="halves"), pytest.param(3, id="three folds")])
def test_splits_never_divide_a_group(folds: int | None) -> None:
    labels = [place % 2 for place in range(60)]
    rows = joined([place / 60 for place in range(60)], labels, [place // 4 for place in range(60)])
    sample = sample_of(rows)
    parts = split_rows(sample, "one", folds, seed=1).parts
    assert len(parts) == (folds or 1)
    for fit_rows, test_rows in parts:
        assert not set(sample.groups[fit_rows]) & set(sample.groups[test_rows])
        assert len(fit_rows) + len(test_rows) == 60


def test_same_seed_gives_the_same_split_and_another_seed_another() -> None:
    calibration = calibrate(random_rows(0), resamples=50, seed=1)
    assert calibrate(random_rows(0), resamples=50, seed=1) == calibration
    assert calibrate(random_rows(0), resamples=50, seed=2).tested != calibration.tested


@pytest.mark.parametrize(
    ("labels", "groups", "folds", "code"),
    [
        pytest.param([1, 1, 1, 1], None, None, "too_few_labels", id="one class"),
        pytest.param([0, 0, 1, 1], None, 3, "too_few_labels", id="fewer rows of a class than folds"),
        pytest.param([0, 0, 1, 1], [1, 1, 2, 2], None, "too_few_labels", id="one group of each class"),
        pytest.param([1, 2, 3, 4], None, None, "bad_option", id="grades without a threshold"),
    ],
)
def test_too_few_labels_or_unthresholded_grades_raise(
    labels: list[int], groups: list[int] | None, folds: int | None, code: str
) -> None:
    with pytest.raises(LabelError, match=code):
        calibrate(joined([0.0, 0.2, 0.4, 0.6], labels, groups), folds=folds)


def test_saved_calibration_is_read_back_unchanged_and_another_file_refused(tmp_path: Path) -> None:
    calibration = calibrate(separable_rows(), resamples=50)
    path = tmp_path / "threshold.json"
    save_calibrations(path, [calibration])
    assert read_calibrations(path) == {"one": calibration}
    for text in ("", "[{}]"):
        path.write_text(text)
        with pytest.raises(LabelError, match=r"threshold\.json"):
            read_calibrations(path)


@pytest.mark.parametrize(
    ("folds", "n_fitted"), [pytest.param(None, 100, id="halves"), pytest.param(5, 200, id="five folds")]
)
def test_rows_that_the_threshold_was_fitted_on_are_recognised(folds: int | None, n_fitted: int) -> None:
    rows = separable_rows()
    calibration = calibrate(rows, folds=folds, resamples=50)
    verdicts = [verdict(row.case_id, row.verdict.score) for row in rows.labelled_rows]
    of_another_run = [same.model_copy(update={"reason": "another run"}) for same in verdicts]
    of_other_content = [same.model_copy(update={"key": "prompt-other content"}) for same in verdicts]
    of_another_judge = [same.model_copy(update={"judge": "two"}) for same in verdicts]
    for fitted_rows in (verdicts, of_another_run):
        (warning,) = warnings_on([calibration], fitted_rows)
        assert f"was fitted on {n_fitted} of these 200 rows" in warning
    assert warnings_on([calibration], of_other_content) == []
    assert warnings_on([calibration], of_another_judge) == []


@pytest.mark.parametrize("folds", [pytest.param(None, id="halves"), pytest.param(4, id="four folds")])
def test_the_threshold_has_an_interval(folds: int | None) -> None:
    labels = np.arange(200) % 2 == 0
    noise = np.random.default_rng(0).normal(0, 0.15, 200)
    scores = np.clip(np.where(labels, 0.7, 0.3) + noise, 0, 1)
    calibration = calibrate(rows_of(scores, labels), folds=folds, resamples=100)
    assert (
        0.35
        < (calibration.interval.low or 0)
        <= calibration.threshold
        <= (calibration.interval.high or 1)
        < 0.65
    )


def test_a_judge_that_is_reversed_is_noted() -> None:
    calibration = calibrate(separable_rows(is_reversed=True), resamples=50)
    assert calibration.is_reversed
    assert calibration.notices == ("worse than guessing: are the labels reversed?",)
    assert not calibrate(separable_rows(), resamples=50).is_reversed


OTHER = PROMPT.model_copy(update={"sha256": "b" * 64})


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"prompt": OTHER}, id="another prompt"),
        pytest.param({"model": "another"}, id="another model"),
        pytest.param({"library": "99.0"}, id="another version of the library"),
    ],
)
def test_drift_names_the_signatures_that_the_threshold_was_not_fitted_on(change: dict[str, Any]) -> None:
    calibration = calibrate(separable_rows(), resamples=50)
    same = verdict("a", 1.0)
    changed_verdict = verdict("b", 1.0, **change)
    (warning,) = warnings_on([calibration], [same, changed_verdict])
    assert f"fitted on verdicts from {same.signature}; these are from" in warning
    assert changed_verdict.signature in warning
    assert warnings_on([calibration], [same, verdict("b", 1.0, judge="two", **change)]) == []


@pytest.mark.parametrize(
    ("labels", "at_least", "expected"),
    [
        pytest.param([0, 0, 1, 1], 0.9, 0.4, id="classes apart"),
        pytest.param([0, 1, 0, 1], 0.6, 0.2, id="classes mixed"),
        pytest.param([0, 0, 0, 1], 1.0, 0.8, id="one grounded row"),
    ],
)
def test_threshold_for_a_precision_is_the_lowest_that_reaches_it(
    labels: list[int], at_least: float, expected: float
) -> None:
    scores = np.array([0.1, 0.3, 0.6, 0.9])
    sample = sample_with(scores, np.array(labels, dtype=bool))
    assert fit_threshold(sample, "precision", at_least) == expected
    with pytest.raises(LabelError, match=r"the highest is 0\.750"):
        fit_threshold(sample_with(scores, np.array([1, 1, 1, 0], dtype=bool)), "precision", 0.9)


@given(st.integers(1, 60), st.integers(0, 60))
def test_bound_of_a_share_is_the_exact_one(n: int, events: int) -> None:
    """With the bound as the true share, so many events or more come in 5% of the samples."""
    events = min(n, events)
    low = lower_bound(events, n)
    tail = sum(comb(n, k) * low**k * (1 - low) ** (n - k) for k in range(events, n + 1))
    assert tail == pytest.approx(0.05 if events else 1)


def test_precision_is_tested_on_held_out_rows() -> None:
    calibration = calibrate(separable_rows(), by="precision", at_least=0.95, resamples=50)
    assert 0.25 <= calibration.threshold <= 0.32
    assert (calibration.at_least, calibration.n_tested) == (0.95, 100)
    assert calibration.bound is not None
    # Versions of scikit-learn draw other halves.
    assert 0.7 < calibration.bound < (calibration.tested["precision"].value or 0)
    assert calibration.beats_guessing


@pytest.mark.parametrize(
    ("by", "at_least"),
    [
        pytest.param("precision", None, id="precision without a share"),
        pytest.param("f1", 0.9, id="a share for another figure"),
    ],
)
def test_only_precision_has_a_share_to_reach(by: Criterion, at_least: float | None) -> None:
    with pytest.raises(LabelError, match="at_least"):
        calibrate(separable_rows(), by=by, at_least=at_least)
