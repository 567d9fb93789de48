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


def verdicts_of(scores: Mapping[str, float | None], judge: str = "one") -> list[Verdict]:
    return [verdict(case_id, score, judge=judge) for case_id, score in scores.items()]


def test_cases_scored_by_both_are_compared_and_the_others_counted() -> None:
    first = [*verdicts_of({"a": 1.0, "b": 0.0, "c": 0.5, "d": None}), error("e", "timeout")]
    second = verdicts_of({"a": 0.5, "b": 0.25, "d": 1.0, "e": None, "f": None}, "two")
    comparison = compare(first, second)
    assert (comparison.n, comparison.n_first_only, comparison.n_second_only, comparison.n_neither) == (
        2,
        1,
        1,
        2,
    )
    assert (comparison.first, comparison.second, comparison.same_outcome) == ("one", "two", 1.0)
    assert comparison.values["mean_score"] == (0.5, 0.375)
    assert comparison.differences["mean_score"].value == pytest.approx(-0.125)
    assert "accuracy" not in comparison.values


def test_labels_give_the_second_judge_a_higher_accuracy() -> None:
    labels = {str(place): place % 2 for place in range(40)}
    right = {case_id: float(label) for case_id, label in labels.items()}
    noisy = {case_id: 1 - score if int(case_id) % 5 == 0 else score for case_id, score in right.items()}
    comparison = compare(verdicts_of(noisy), verdicts_of(right), Labels(labels))
    assert comparison.values["accuracy"] == (0.8, 1.0)
    assert 0 < (comparison.differences["accuracy"].low or 0) < 0.2
    assert comparison.n_labelled == 40


def test_identical_verdicts_have_zero_differences_and_none_is_clear() -> None:
    verdicts = verdicts_of({str(place): place / 10 for place in range(10)})
    comparison = compare(verdicts, verdicts, Labels({str(place): place > 4 for place in range(10)}))
    defined = {name: figure for name, figure in comparison.differences.items() if figure.value is not None}
    for figure in defined.values():
        assert figure.value == 0
        assert figure.low is None or figure.low < 0 < (figure.high or 0)
    assert (comparison.clear, comparison.p, comparison.n_first_right, comparison.n_second_right) == (
        (),
        1.0,
        0,
        0,
    )
    assert comparison.differences.keys() - defined.keys() == {"spearman"}


HALF = Labels({str(place): place < 50 for place in range(100)})
RIGHT = {str(place): float(place < 50) for place in range(100)}
"""Scores that agree with `HALF`."""


def test_cases_without_a_score_are_bounds() -> None:
    scores_of_abstaining: dict[str, float | None] = {}
    scores_of_fair: dict[str, float] = {}
    for case_id, score in RIGHT.items():
        scores_of_abstaining[case_id] = None if int(case_id) >= 60 else score
        scores_of_fair[case_id] = 1 - score if int(case_id) % 10 == 0 else score
    abstaining = verdicts_of(scores_of_abstaining)
    fair = verdicts_of(scores_of_fair)
    without_unscored = compare(abstaining, fair, HALF, resamples=20)
    assert (without_unscored.n, without_unscored.n_labelled, without_unscored.n_second_only) == (60, 60, 40)
    assert without_unscored.values["accuracy"] == (1.0, 0.9)
    assert without_unscored.bounds["accuracy"] == pytest.approx((-0.1, 0.3))
    # The rows without a score are not grounded: if they are wrong, they pass.
    assert without_unscored.bounds["pass_rate"] == pytest.approx((0.0, -0.4))
    assert "mean_score" not in without_unscored.bounds
    for name, (lowest, highest) in without_unscored.bounds.items():
        first, second = without_unscored.as_run[name]
        if first is not None and second is not None and lowest is not None and highest is not None:
            assert min(lowest, highest) <= second - first <= max(lowest, highest)
    assert compare(abstaining, fair, resamples=20).bounds["pass_rate"] == pytest.approx((-0.4, 0.0))
    assert without_unscored.as_run["accuracy"] == (0.6, 0.9)  # "not applicable" passes
    assert compare(fair, fair, HALF, resamples=20).bounds == {}


@pytest.mark.parametrize(
    ("grouped", "p"),
    [pytest.param(False, 1 / 2**10, id="independent cases"), pytest.param(True, None, id="cases in groups")],
)
def test_mcnemar_takes_cases_as_independent(grouped: bool, p: float | None) -> None:  # noqa: FBT001
    worse = {case_id: 1 - score if int(case_id) < 10 else score for case_id, score in RIGHT.items()}
    groups = {case_id: case_id[0] for case_id in RIGHT} if grouped else {}
    comparison = compare(verdicts_of(RIGHT), verdicts_of(worse), Labels(HALF.by_case, groups), resamples=20)
    assert (comparison.n_first_right, comparison.n_second_right) == (10, 0)
    assert comparison.p == p


@pytest.mark.parametrize(
    ("n", "clear"),
    [
        pytest.param(3, (), id="3 rows"),
        pytest.param(19, (), id="19 rows"),
        pytest.param(20, ("mean_score", "pass_rate"), id="20 rows"),
    ],
)
def test_nothing_is_clear_on_too_few_rows(n: int, clear: tuple[str, ...]) -> None:
    case_ids = [str(place) for place in range(n)]
    worst = verdicts_of(dict.fromkeys(case_ids, 0.0))
    best = verdicts_of(dict.fromkeys(case_ids, 1.0))
    assert compare(worst, best).clear == clear


@pytest.mark.soak
def test_equal_judges_are_seldom_told_apart() -> None:
    n_clear = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        sides: list[list[Verdict]] = []
        for _ in range(2):
            scores = {case_id: abs(score - (generator.random() < 0.15)) for case_id, score in RIGHT.items()}
            sides.append(verdicts_of(scores))
        n_clear += bool(compare(sides[0], sides[1], HALF, resamples=400, seed=seed).clear)
    assert n_clear <= 7  # 5% of 60 are 3


def test_groups_widen_the_interval() -> None:
    generator = np.random.default_rng(2)
    scores = {str(place): float(score) for place, score in enumerate(np.repeat(generator.random(40), 5))}
    labels = Labels({}, {case_id: str(int(case_id) // 5) for case_id in scores})
    before = verdicts_of(scores)
    after = verdicts_of({case_id: score**2 for case_id, score in scores.items()})
    alone = compare(before, after, resamples=200).differences["mean_score"]
    in_groups = compare(before, after, labels, resamples=200)
    together = in_groups.differences["mean_score"]
    assert (together.low or 0) < (alone.low or 0) < 0
    assert in_groups.n_groups == 40


def test_case_with_changed_content_under_one_id_is_left_out() -> None:
    first = [verdict("a", 1.0, key="x-1"), verdict("b", 1.0, key="x-2"), verdict("c", 1.0)]
    second = [verdict("a", 0.0, key="y-1"), verdict("b", 0.0, key="y-3"), verdict("c", 0.0, key="y-4")]
    comparison = compare(first, second)
    assert (comparison.n, comparison.n_changed, comparison.n_first_only) == (2, 1, 0)


def test_each_side_has_its_own_threshold() -> None:
    verdicts = verdicts_of({"a": 0.4, "b": 0.6})
    comparison = compare(verdicts, verdicts, thresholds=(0.3, 0.9))
    assert (comparison.values["pass_rate"], comparison.same_outcome) == ((1.0, 0.0), 0.0)


def test_only_cases_with_a_label_for_both_judges_count_as_labelled() -> None:
    labels = Labels({"a": {"one": 1, "two": 1}, "b": {"one": 0}, "c": {"one": 0, "two": 0}, "d": {"two": 1}})
    scores = dict.fromkeys("abcd", 1.0)
    comparison = compare(verdicts_of(scores), verdicts_of(scores, "two"), labels)
    assert (comparison.n, comparison.n_labelled, comparison.values["accuracy"]) == (4, 2, (0.5, 0.5))


def test_no_common_case_gives_undefined_figures() -> None:
    comparison = compare(verdicts_of({"a": 1.0}), verdicts_of({"b": 1.0}))
    assert (comparison.n, comparison.same_outcome, comparison.differences["mean_score"]) == (
        0,
        None,
        Figure(),
    )


@pytest.mark.parametrize(
    "first",
    [
        pytest.param([], id="no verdict"),
        pytest.param([verdict("a", 1.0), verdict("a", 1.0, judge="two")], id="two judges"),
    ],
)
def test_side_without_exactly_one_judge_raises(first: list[Verdict]) -> None:
    with pytest.raises(LabelError, match="one judge"):
        compare(first, verdicts_of({"a": 1.0}))
