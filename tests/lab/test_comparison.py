"""Paired comparison of two judges on the same cases."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from make_verdicts import error, verdict

from groundjudge.lab.comparison import compare
from groundjudge.lab.figures import Figure
from groundjudge.lab.labels import LabelError, Labels
from groundjudge.verdict import Verdict


def judged(scores: Mapping[str, float | None], judge: str = "one") -> list[Verdict]:
    return [verdict(case_id, score, judge=judge) for case_id, score in scores.items()]


def test_cases_scored_by_both_are_compared_and_the_others_counted() -> None:
    first = [*judged({"a": 1.0, "b": 0.0, "c": 0.5, "d": None}), error("e", "timeout")]
    second = judged({"a": 0.5, "b": 0.25, "d": 1.0, "e": None, "f": None}, "two")
    found = compare(first, second)
    assert (found.n, found.n_first_only, found.n_second_only, found.n_neither) == (2, 1, 1, 2)
    assert (found.first, found.second, found.same_outcome) == ("one", "two", 1.0)
    assert found.values["mean_score"] == (0.5, 0.375)
    assert found.differences["mean_score"].value == pytest.approx(-0.125)
    assert "accuracy" not in found.values


def test_labels_give_the_second_judge_a_higher_accuracy() -> None:
    labels = {str(place): place % 2 for place in range(40)}
    right = {case_id: float(label) for case_id, label in labels.items()}
    noisy = {case_id: 1 - score if int(case_id) % 5 == 0 else score for case_id, score in right.items()}
    found = compare(judged(noisy), judged(right), Labels(labels))
    assert found.values["accuracy"] == (0.8, 1.0)
    assert 0 < (found.differences["accuracy"].low or 0) < 0.2
    assert found.n_labelled == 40


def test_identical_verdicts_have_zero_differences_and_none_is_clear() -> None:
    run = judged({str(place): place / 10 for place in range(10)})
    found = compare(run, run, Labels({str(place): place > 4 for place in range(10)}))
    known = {name: figure for name, figure in found.differences.items() if figure.value is not None}
    assert {figure.value for figure in known.values()} == {0}
    assert all(figure.low is None or figure.low < 0 < (figure.high or 0) for figure in known.values())
    assert (found.clear, found.p, found.n_first_right, found.n_second_right) == ((), 1.0, 0, 0)
    assert found.differences.keys() - known.keys() == {"pearson", "spearman", "kendall"}


HALF = Labels({str(place): place < 50 for place in range(100)})
RIGHT = {str(place): float(place < 50) for place in range(100)}
"""Scores that agree with `HALF`."""


def test_cases_without_a_score_are_bounds_or_count() -> None:
    abstaining = judged({case_id: None if int(case_id) >= 60 else score for case_id, score in RIGHT.items()})
    fair = judged({each: 1 - score if int(each) % 10 == 0 else score for each, score in RIGHT.items()})
    left_out = compare(abstaining, fair, HALF)
    assert (left_out.n, left_out.n_labelled, left_out.n_second_only) == (60, 60, 40)
    assert left_out.values["accuracy"] == (1.0, 0.9)
    assert left_out.bounds["accuracy"] == pytest.approx((-0.1, 0.3))
    # The rows without a score are not grounded: if they are wrong, they pass.
    assert left_out.bounds["pass_rate"] == pytest.approx((0.0, -0.4))
    assert "mean_score" not in left_out.bounds
    assert compare(abstaining, fair).bounds["pass_rate"] == pytest.approx((-0.4, 0.0))
    wrong, as_run, right = (
        compare(abstaining, fair, HALF, count_unscored=how) for how in ("wrong", "as-run", "right")
    )
    for found, accuracy, pass_rate, same in (
        (wrong, 0.6, 0.9, 0.58),
        (as_run, 0.6, 0.9, 0.58),  # "not applicable" passes
        (right, 1.0, 0.5, 0.9),
    ):
        assert (found.n, found.n_unscored, found.bounds) == (100, 40, left_out.bounds)
        assert (found.values["accuracy"], found.values["pass_rate"]) == ((accuracy, 0.9), (pass_rate, 0.5))
        assert found.same_outcome == same
        assert found.values["mean_score"] == left_out.values["mean_score"]
    assert "accuracy" in wrong.clear
    # Without labels, what passes is right.
    assert compare(abstaining, fair, count_unscored="right").values["pass_rate"] == (0.9, 0.5)
    assert compare(fair, fair, HALF).bounds == {}


@pytest.mark.parametrize(("grouped", "p"), [(False, 2 / 2**10), (True, None)])
def test_mcnemar_takes_cases_as_independent(grouped: bool, p: float | None) -> None:  # noqa: FBT001
    worse = {case_id: 1 - score if int(case_id) < 10 else score for case_id, score in RIGHT.items()}
    groups = {case_id: case_id[0] for case_id in RIGHT} if grouped else {}
    found = compare(judged(RIGHT), judged(worse), Labels(HALF.by_case, groups))
    assert (found.n_first_right, found.n_second_right) == (10, 0)
    assert found.p == p


@pytest.mark.parametrize(("n", "clear"), [(3, ()), (19, ()), (20, ("mean_score", "pass_rate"))])
def test_nothing_is_clear_on_too_few_rows(n: int, clear: tuple[str, ...]) -> None:
    worst, best = (judged(dict.fromkeys(map(str, range(n)), score)) for score in (0.0, 1.0))
    assert compare(worst, best).clear == clear


@pytest.mark.soak
def test_equal_judges_are_seldom_told_apart() -> None:
    told_apart = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        one, other = (
            judged({case_id: abs(score - (generator.random() < 0.15)) for case_id, score in RIGHT.items()})
            for _ in range(2)
        )
        told_apart += bool(compare(one, other, HALF, resamples=400, seed=seed).clear)
    assert told_apart <= 7  # 5 % of 60 are 3


def test_groups_widen_the_interval() -> None:
    generator = np.random.default_rng(2)
    scores = {str(place): float(score) for place, score in enumerate(np.repeat(generator.random(40), 5))}
    labels = Labels({}, {case_id: str(int(case_id) // 5) for case_id in scores})
    before, after = judged(scores), judged({case_id: score**2 for case_id, score in scores.items()})
    alone, together = (compare(before, after, known).differences["mean_score"] for known in (None, labels))
    assert (together.low or 0) < (alone.low or 0) < 0
    assert compare(before, after, labels).n_groups == 40


def test_case_with_changed_content_under_one_id_is_left_out() -> None:
    first = [verdict("a", 1.0, key="x-1"), verdict("b", 1.0, key="x-2"), verdict("c", 1.0)]
    second = [verdict("a", 0.0, key="y-1"), verdict("b", 0.0, key="y-3"), verdict("c", 0.0, key="y-4")]
    found = compare(first, second)
    assert (found.n, found.n_changed, found.n_first_only) == (2, 1, 0)


def test_each_side_has_its_own_threshold() -> None:
    run = judged({"a": 0.4, "b": 0.6})
    found = compare(run, run, thresholds=(0.3, 0.9))
    assert (found.values["pass_rate"], found.same_outcome) == ((1.0, 0.0), 0.0)


def test_only_cases_with_a_label_for_both_judges_count_as_labelled() -> None:
    labels = Labels({"a": {"one": 1, "two": 1}, "b": {"one": 0}, "c": {"one": 0, "two": 0}, "d": {"two": 1}})
    scores = dict.fromkeys("abcd", 1.0)
    found = compare(judged(scores), judged(scores, "two"), labels)
    assert (found.n, found.n_labelled, found.values["accuracy"]) == (4, 2, (0.5, 0.5))


def test_no_common_case_gives_undefined_figures() -> None:
    found = compare(judged({"a": 1.0}), judged({"b": 1.0}))
    assert (found.n, found.same_outcome, found.differences["mean_score"]) == (0, None, Figure())


@pytest.mark.parametrize("first", [[], [verdict("a", 1.0), verdict("a", 1.0, judge="two")]])
def test_side_without_exactly_one_judge_raises(first: list[Verdict]) -> None:
    with pytest.raises(LabelError, match="one judge"):
        compare(first, judged({"a": 1.0}))
