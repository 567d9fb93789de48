"""What a change of model changes: flips, the paired test, and the threshold of the new judge.

`GROUNDJUDGE_DRAWS=200 pytest -m soak -s tests/lab/test_model_change.py` prints the power that
docs/model-change.md names.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Literal

import numpy as np
import pytest
from make_verdicts import error, verdict

from groundjudge import Verdict
from groundjudge.lab.calibration import calibrate
from groundjudge.lab.formulas import Floats
from groundjudge.lab.labels import Labels, join
from groundjudge.lab.model_change import Flip, measure_change
from groundjudge.lab.proportions import mcnemar
from groundjudge.lab.sample import FAILED, FAILED_NOW, PASSED_NOW, draw

Generator = np.random.Generator
Change = Literal["none", "shift", "noise", "flips of one kind"]


def verdicts_of(scores: Floats, **more: Any) -> list[Verdict]:
    """Verdicts of these scores, which pass from 0.5 on."""
    return [verdict(f"{place:04}", score, **more) for place, score in enumerate(scores.round(4).tolist())]


def test_flips_are_counted_by_direction_and_listed_by_the_change_of_the_score() -> None:
    scores = np.array([0.9, 0.9, 0.9, 0.4, 0.1, 0.1])
    old = [*verdicts_of(scores, reason="before"), error("only errors", "timeout")]
    new = [*verdicts_of(np.array([0.45, 0.9, 0.1, 0.55, 0.1, 0.1]), reason="after"), verdict("new", 1.0)]
    change = measure_change(old, new, Labels({"0002": 0, "0000": 1}), most_flips=2, resamples=20)
    assert (change.n, change.n_lost, change.n_gained, change.n_flips, change.share.value) == (6, 2, 1, 3, 0.5)
    assert change.flips == (
        Flip(
            case_id="0002",
            first_passed=True,
            first_score=0.9,
            second_score=0.1,
            first_reason="before",
            second_reason="after",
            grounded=False,
        ),
        Flip(
            case_id="0000",
            first_passed=True,
            first_score=0.9,
            second_score=0.45,
            first_reason="before",
            second_reason="after",
            grounded=True,
        ),
    )
    assert change.comparison.values["mean_score"] == pytest.approx((0.55, 2.2 / 6))
    strict = measure_change(old, new, thresholds=(0.3, 0.5), resamples=20)
    assert (strict.n_lost, strict.n_gained) == (2, 0)


def test_a_case_whose_content_was_changed_does_not_flip() -> None:
    old = [verdict("a", 1.0, key="judge-one"), verdict("b", 1.0, key="judge-two")]
    new = [verdict("a", 0.0, key="judge-other"), verdict("b", 0.0, key="judge-two")]
    # A verdict without a key does not know the content.
    old.append(verdict("c", 1.0, key="judge-three"))
    new.append(verdict("c", 0.0))
    assert measure_change(old, new, resamples=20).n_flips == 2
    strata = {stratum.name: stratum.rows for stratum in draw(new, 3, against=old).strata}
    assert strata == {FAILED: 1, FAILED_NOW: 2}


def test_the_new_threshold_is_where_people_agree_and_the_cost_of_the_old_one_is_of_other_rows() -> None:
    """All scores fall by 0.3: rows that people call grounded have from 0.35 on instead of 0.65."""
    grounded = np.arange(100) % 2 == 0
    spread = np.arange(100) / 500
    old = verdicts_of(np.where(grounded, 0.65 + spread, 0.1 + spread))
    new = verdicts_of(np.where(grounded, 0.35 + spread, 0.05 + spread / 2))
    labels = Labels({f"{place:04}": int(label) for place, label in enumerate(grounded)})
    change = measure_change(old, new, labels, resamples=100)
    assert change.refit
    assert 0.15 < change.refit.threshold <= 0.35
    assert change.refit.interval.low is not None
    assert change.refit.interval.high is not None
    assert change.refit.interval.low <= change.refit.threshold <= change.refit.interval.high < 0.4
    assert change.refit.as_run["balanced_accuracy"].value == pytest.approx(0.62, abs=0.03)
    assert change.refit.gain["balanced_accuracy"].value == pytest.approx(0.38, abs=0.03)
    lenient = measure_change(old, new, labels, thresholds=(0.5, 0.3), resamples=50).refit
    assert lenient
    assert lenient.as_run["balanced_accuracy"].value == 1.0


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        pytest.param({}, "no labelled case", id="no labels"),
        pytest.param({"0000": 1, "0001": 1}, "need", id="one class"),
        pytest.param({f"{place:04}": place / 10 for place in range(20)}, "labels are grades", id="grades"),
    ],
)
def test_why_no_threshold_is_fitted_is_said(labels: dict[str, float], reason: str) -> None:
    verdicts = verdicts_of(np.linspace(0, 1, 20))
    change = measure_change(verdicts, verdicts, Labels(labels), resamples=20)
    assert change.refit is None
    assert reason in change.why_no_refit


def test_groups_have_no_test() -> None:
    verdicts = verdicts_of(np.linspace(0, 1, 20))
    groups = {f"{place:04}": str(place // 2) for place in range(20)}
    change = measure_change(verdicts, verdicts, Labels({}, groups), resamples=20)
    assert change.p is None


@pytest.mark.parametrize(
    ("lost", "gained", "expected"),
    [
        pytest.param(0, 0, 1.0, id="nothing differs"),
        pytest.param(1, 0, 0.5, id="one flip"),
        pytest.param(6, 1, 0.125 - 7 / 128, id="exact less half of what was seen, twice"),
        pytest.param(5, 5, 1 - 252 / 1024, id="as many"),
    ],
)
def test_mid_p_counts_half_of_what_was_seen(lost: int, gained: int, expected: float) -> None:
    assert mcnemar(lost, gained, 50) == pytest.approx(expected)
    assert mcnemar(0, 0, 0) is None


def test_rows_that_flip_are_drawn_more_often_and_nothing_else_is_lost() -> None:
    """Of 1,000 rows 20 pass only before and 10 only now."""
    old = np.where(np.arange(1000) < 600, 0.9, 0.1)
    new = old.copy()
    new[:20] = 0.1
    new[990:] = 0.9
    verdicts = verdicts_of(new)
    sample = draw(verdicts, 100, against=verdicts_of(old), seed=3)
    drawn = {stratum.name: (stratum.rows, len(stratum.drawn)) for stratum in sample.strata}
    assert drawn[FAILED_NOW] == (20, 15)
    assert drawn[PASSED_NOW] == (10, 10)
    assert sum(rows for rows, _ in drawn.values()) == 1000
    assert sum(n for _, n in drawn.values()) == 100
    assert draw(verdicts, 100, against=verdicts, seed=3) == draw(verdicts, 100, seed=3)


DRAWS = 2000
SHIFT = 0.05


def scores_of_change(generator: Generator, n: int, change: Change) -> tuple[Floats, Floats]:
    """The scores of a judge and of one with another model. Both have noise of their own."""
    quality = generator.uniform(0, 1, n)
    first = quality + generator.normal(0, 0.08, n)
    second = quality + generator.normal(0, 0.08, n)
    if change == "shift":
        second -= SHIFT
    elif change == "noise":
        second += generator.normal(0, 0.15, n)
    elif change == "flips of one kind":
        second = np.where((first >= 0.5) & (generator.random(n) < 0.08), 0.2, second)
    return np.clip(first, 0, 1), np.clip(second, 0, 1)


def share_of_alarms(n: int, change: Change) -> float:
    """How often the test says that the pass rate changed."""
    generator = np.random.default_rng([n, len(change)])
    n_alarms = 0
    for _ in range(DRAWS):
        first, second = scores_of_change(generator, n, change)
        lost = int(((first >= 0.5) & (second < 0.5)).sum())
        gained = int(((first < 0.5) & (second >= 0.5)).sum())
        p = mcnemar(lost, gained, n)
        n_alarms += p is not None and p < 0.05
    return n_alarms / DRAWS


@pytest.mark.soak
@pytest.mark.parametrize("n", [100, 200, 1000])
def test_false_alarms_are_five_percent_and_power_grows_with_the_rows(n: int) -> None:
    two_standard_errors = 2 * (0.05 * 0.95 / DRAWS) ** 0.5
    shares: dict[Change, float] = {}
    changes: tuple[Change, ...] = ("none", "noise", "shift", "flips of one kind")
    for change in changes:
        shares[change] = share_of_alarms(n, change)
    text = ", ".join(f"{change} {share:.3f}" for change, share in shares.items())
    sys.stdout.write(f"{n} rows: {text}\n")
    # More noise around a threshold in the middle changes which rows pass, and not how many.
    assert max(shares["none"], shares["noise"]) < 0.05 + two_standard_errors
    if n >= 200:  # with 100 rows there are ten flips, of which too few outcomes are near 5%
        assert min(shares["none"], shares["noise"]) > 0.05 - two_standard_errors
    if n == 1000:
        assert min(shares["shift"], shares["flips of one kind"]) > 0.8


@pytest.mark.soak
@pytest.mark.parametrize("n", [50, 100, 200] if "GROUNDJUDGE_DRAWS" in os.environ else [100])
@pytest.mark.parametrize(
    ("share", "separation"),
    [
        pytest.param(0.5, 0.4, id="half grounded, good judge"),
        pytest.param(0.8, 0.15, id="most grounded, weak judge"),
    ],
)
def test_the_interval_of_the_threshold_covers(n: int, share: float, separation: float) -> None:
    """Balanced accuracy is highest in the middle between two normal distributions of one width."""
    generator = np.random.default_rng([n, int(100 * share), int(100 * separation)])
    width = 0.15 if separation > 0.2 else 0.2
    best = 0.5
    n_covered = 0
    n_draws = int(os.environ.get("GROUNDJUDGE_DRAWS", "100"))
    for place in range(n_draws):
        grounded = generator.permutation(np.arange(n) < round(share * n))
        middles = np.where(grounded, best + separation / 2, best - separation / 2)
        scores = np.clip(generator.normal(middles, width), 0, 1)
        labels = {f"{row:04}": int(label) for row, label in enumerate(grounded)}
        (judged_rows,) = join(verdicts_of(scores), Labels(labels))
        interval = calibrate(judged_rows, folds=2, resamples=200, seed=place).interval
        low, high = interval.low, interval.high
        n_covered += low is not None and high is not None and low <= best <= high
    sys.stdout.write(f"{n} labels, {share} grounded, {separation} apart: {n_covered / n_draws:.3f}\n")
    # Three standard errors, as there are several rows.
    assert n_covered / n_draws > 0.95 - 3 * (0.95 * 0.05 / n_draws) ** 0.5
