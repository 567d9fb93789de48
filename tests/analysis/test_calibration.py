"""Thresholds: fitted on some rows, and honest about the others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_hand import by_hand
from hypothesis import given
from hypothesis import strategies as st
from make_verdicts import PROMPT, joined, verdict
from scripted_model import ScriptedModel

from groundjudge import load
from groundjudge.analysis.agreement import sample_of
from groundjudge.analysis.calibration import (
    Criterion,
    calibrate,
    drift,
    fit,
    passes,
    read_calibrations,
    save_calibrations,
    splits,
)
from groundjudge.analysis.labels import Joined, LabelError

CRITERIA: tuple[Criterion, ...] = ("balanced_accuracy", "accuracy", "f1", "kappa")


def random_rows(seed: int, n: int = 60) -> Joined:
    """Scores that know nothing of the labels."""
    generator = np.random.default_rng(seed)
    return joined(generator.random(n).round(2).tolist(), (generator.random(n) < 0.5).astype(int).tolist())


def telling_rows(n: int = 200) -> Joined:
    """Scores that tell the labels apart at 0.3."""
    generator = np.random.default_rng(7)
    labels = generator.random(n) < 0.4
    scores = np.where(labels, 0.3 + 0.7 * generator.random(n), 0.3 * generator.random(n))
    return joined(scores.round(3).tolist(), labels.astype(int).tolist())


@pytest.mark.parametrize("folds", [None, pytest.param(5, marks=pytest.mark.soak)])
def test_a_threshold_fitted_to_random_labels_looks_good_only_where_it_was_fitted(folds: int | None) -> None:
    found = [calibrate(random_rows(seed), folds=folds, resamples=100, seed=seed) for seed in range(40)]
    fitted, tested = (
        np.array([getattr(one, part)["balanced_accuracy"].value for one in found])
        for part in ("fitted", "tested")
    )
    assert fitted.mean() > 0.56  # the best of sixty thresholds on noise
    assert (fitted >= 0.5).all()
    assert abs(tested.mean() - 0.5) < 0.03  # and what it is worth
    assert sum(one.beats_guessing for one in found) <= 4
    assert (fitted - tested).mean() > 0.05


@pytest.mark.parametrize("folds", [None, 5])
@pytest.mark.parametrize("by", CRITERIA)
def test_a_threshold_that_tells_apart_is_found_and_holds_elsewhere(by: Criterion, folds: int | None) -> None:
    found = calibrate(telling_rows(), by=by, folds=folds, resamples=200)
    assert 0.25 < found.threshold < 0.35
    assert found.beats_guessing
    value, as_run = found.tested[by].value, found.as_run[by].value
    assert value is not None
    assert as_run is not None
    assert value > 0.9 > as_run
    assert found.gain[by].value == pytest.approx(value - as_run)


@given(
    st.lists(st.tuples(st.integers(0, 10), st.booleans()), min_size=2).filter(
        lambda rows: len({label for _, label in rows}) == 2
    ),
    st.sampled_from(CRITERIA),
)
def test_no_threshold_does_better_on_the_rows_it_was_fitted_on(
    rows: list[tuple[int, bool]], by: Criterion
) -> None:
    def reached(threshold: float) -> float:
        found = by_hand([(score / 10, score / 10 >= threshold, label) for score, label in rows])[by]
        return -1.0 if found is None else float(found)

    scores, positive = np.array([score / 10 for score, _ in rows]), np.array([label for _, label in rows])
    threshold = fit(scores, positive, by)
    assert 0 <= threshold <= 1
    assert reached(threshold) == pytest.approx(max(reached(step / 20) for step in range(21)))


@pytest.mark.parametrize(
    ("scores", "labels", "threshold"),
    [
        ([0.0, 0.25, 0.75, 1.0], [0, 0, 1, 1], 0.5),  # in the middle of the gap
        ([0.31, 0.33], [0, 1], 0.32),
        ([0.1, 0.4, 0.6], [1, 1, 1], 0.0),  # everything passes
        ([0.3, 0.1 + 0.2 + 1e-13, 0.7], [0, 0, 1], 0.5),  # scores that are equal for a judge
    ],
)
def test_a_threshold_is_a_plain_number_between_scores(
    scores: list[float], labels: list[int], threshold: float
) -> None:
    assert fit(np.array(scores), np.array(labels, dtype=bool), "accuracy") == threshold


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_threshold_decides_as_a_judge_with_it_does(score: float, threshold: float) -> None:
    judge = load("confidence_grounding", model=ScriptedModel("-"), threshold=threshold)
    decided = judge.rubric.read(f'{{"reasoning": "r", "score": {score:.17f}}}').passed
    assert bool(passes(np.array([float(f"{score:.17f}")]), threshold)[0]) == decided


@pytest.mark.parametrize("folds", [None, 3])
def test_rows_of_a_group_are_never_split(folds: int | None) -> None:
    labels = [place % 2 for place in range(60)]
    rows = joined([place / 60 for place in range(60)], labels, [place // 4 for place in range(60)])
    sample = sample_of(rows)
    assert sample.positive is not None
    parts = list(splits(sample, sample.positive, "one", folds, seed=1))
    assert len(parts) == (folds or 1)
    for fitted_on, tested_on in parts:
        assert not set(sample.groups[fitted_on]) & set(sample.groups[tested_on])
        assert len(fitted_on) + len(tested_on) == 60


def test_the_split_depends_on_the_seed_alone() -> None:
    rows = random_rows(0)
    assert calibrate(rows, resamples=50, seed=1) == calibrate(rows, resamples=50, seed=1)
    assert calibrate(rows, resamples=50, seed=1).tested != calibrate(rows, resamples=50, seed=2).tested


@pytest.mark.parametrize(
    ("labels", "groups", "folds", "code"),
    [
        ([1, 1, 1, 1], None, None, "too_few_labels"),
        ([0, 1, 1, 1], None, None, "too_few_labels"),
        ([0, 0, 1, 1], None, 3, "too_few_labels"),
        ([0, 0, 1, 1], [1, 1, 2, 2], None, "too_few_labels"),
        ([1, 2, 3, 4], None, None, "bad_option"),
    ],
)
def test_too_little_to_fit_and_test_is_an_error(
    labels: list[int], groups: list[int] | None, folds: int | None, code: str
) -> None:
    with pytest.raises(LabelError) as caught:
        calibrate(joined([0.0, 0.2, 0.4, 0.6], labels, groups), folds=folds)
    assert caught.value.code == code


def test_a_saved_calibration_is_read_as_it_was(tmp_path: Path) -> None:
    found = calibrate(telling_rows(), resamples=50)
    save_calibrations(tmp_path / "threshold.json", [found])
    assert read_calibrations(tmp_path / "threshold.json") == {"one": found}


@pytest.mark.parametrize("text", ["", "{", "[{}]", '{"threshold": 0.5}'])
def test_what_is_no_calibration_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "threshold.json").write_text(text)
    with pytest.raises(LabelError, match=r"threshold\.json"):
        read_calibrations(tmp_path / "threshold.json")


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({}, ""),
        ({"prompt": PROMPT.model_copy(update={"sha256": "b" * 64})}, "prompt"),
        ({"model": "another"}, "model"),
        ({"library": "99.0"}, "groundjudge"),
        ({"judge": "two", "model": "another"}, ""),
    ],
)
def test_verdicts_that_the_threshold_was_not_fitted_on_are_told(changed: dict[str, Any], what: str) -> None:
    found = calibrate(telling_rows(), resamples=50)
    warnings = drift(found, [verdict("a", 1.0, **changed)])
    assert [f"fitted on {what} " in warning for warning in warnings] == [True] * bool(what)
