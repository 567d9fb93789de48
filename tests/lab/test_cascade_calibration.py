"""Bounds of a cascade: they are proven by labels, and found by mistake in one search of twenty at most."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
from typing import Any, TypeAlias

import numpy as np
import pytest
from make_verdicts import error, panel_verdict, verdict, vote

from groundjudge import Verdict, cascade, load_rubric
from groundjudge.judging.cascade import Bounds, Cascade
from groundjudge.lab.cascade import CascadeCalibration, calibrate_cascade, fewest_rows
from groundjudge.lab.formulas import Bools, Floats
from groundjudge.lab.labels import DrawnRow, LabelError, Labels
from groundjudge.types import Judge

Numbers: TypeAlias = Sequence[float | None]


def ids(n: int) -> list[str]:
    return [f"case {number:04}" for number in range(n)]


def calibrated(
    scores: Numbers,
    grounded: Sequence[Any],
    *,
    groups: Sequence[str] | None = None,
    strong: Sequence[Verdict] | None = None,
    cheap: Sequence[Verdict] | None = None,
    **options: Any,
) -> CascadeCalibration:
    """What is found from the scores of a cheap judge that passes from 0.5 on, and an ideal strong one."""
    case_ids = ids(len(scores))
    if cheap is None:
        cheap = [verdict(name, score, model="cheap") for name, score in zip(case_ids, scores, strict=True)]
    if strong is None:
        strong = [
            verdict(name, float(bool(y)), model="strong") for name, y in zip(case_ids, grounded, strict=True)
        ]
    labels = Labels(
        dict(zip(case_ids, map(int, grounded), strict=True)),
        {} if groups is None else dict(zip(case_ids, groups, strict=True)),
    )
    options.setdefault("accuracy", 0.9)
    return calibrate_cascade(cheap, strong, labels, **options)


def message_of(*arguments: Any, **options: Any) -> str:
    """Why nothing is found."""
    with pytest.raises(LabelError) as raised:
        calibrated(*arguments, **options)
    assert raised.value.code == "no_threshold"
    return raised.value.message


# How many rows prove what.


def test_fewest_rows_that_prove_an_accuracy() -> None:
    assert [fewest_rows(accuracy) for accuracy in (0.8, 0.9, 0.95, 0.99)] == [14, 29, 59, 299]
    assert [fewest_rows(0.9, n_mistakes) for n_mistakes in (0, 1, 2)] == [29, 46, 61]


@pytest.mark.parametrize(("accuracy", "fewest"), [(0.9, 29), (0.8, 14)])
def test_one_row_less_than_can_prove_it_proves_nothing(accuracy: float, fewest: int) -> None:
    proven = calibrated([1.0] * fewest, [True] * fewest, accuracy=accuracy)
    assert (proven.until, proven.n_standing, proven.n_right) == ((None, 1.0), fewest, fewest)
    message = message_of([1.0] * (fewest - 1), [True] * (fewest - 1), accuracy=accuracy)
    assert (
        f"no threshold reaches {accuracy:.2f} with {fewest - 1} labels: it is right on 100% of the "
        in message
    )


def test_both_ends_are_one_sequence() -> None:
    # Neither end has 29 rows; together they prove 0.9.
    scores, grounded = [0.0] * 15 + [1.0] * 15, [False] * 15 + [True] * 15
    assert calibrated(scores, grounded).until == (0.0, 1.0)
    assert "no threshold" in message_of(scores[:20], grounded[:20])


def test_end_at_which_no_verdict_stands_has_no_bound() -> None:
    generator = np.random.default_rng(1)
    scores = [0.95] * 150 + [0.4] * 50
    grounded = [True] * 150 + (generator.random(50) < 0.5).tolist()
    found = calibrated(scores, grounded)
    assert (found.until, found.n_standing) == ((None, 0.95), 150)


@pytest.mark.parametrize(
    ("scores", "until"),
    [
        pytest.param([0.1, 0.9], (0.1, 0.9), id="few decimals"),
        pytest.param([0.123456, 0.876543], (0.1235, 0.8765), id="four decimals, which include the scores"),
    ],
)
def test_bounds_include_the_scores_that_they_were_found_with(scores: list[float], until: Bounds) -> None:
    found = calibrated([*scores * 50, *[0.45, 0.55] * 50], [False, True] * 50 + [True, False] * 50)
    assert (found.until, found.n_standing) == (until, 100)


def test_bound_is_never_on_the_other_side_of_the_threshold() -> None:
    found = calibrated([0.499961, 0.5] * 100, [False, True] * 100)
    assert (found.until, found.n_standing) == ((0.499961, 0.5), 200)
    assert cascade_of(found).until == (found.until,)  # which is not refused


class Silent:
    """A model that is not asked."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def acomplete(self, request: object) -> Any:
        raise NotImplementedError(request)


RUBRIC = load_rubric("groundedness")


def cascade_of(found: CascadeCalibration) -> Cascade:
    """The cascade with the bounds that were found."""
    judges = [Judge(RUBRIC, Silent("cheap")), Judge(RUBRIC, Silent("strong"))]
    return cascade(judges, until=found.until, by=found.by, not_applicable_stands=found.not_applicable_stands)


# Ties, groups, missing verdicts.


def test_equal_scores_stay_together() -> None:
    # Among the 100 surest rows, 60 of one score, the first 40 are right: they cannot be told from the others.
    scores = [1.0] * 40 + [0.9] * 60 + [0.6] * 100
    grounded = [True] * 40 + [True] * 30 + [False] * 30 + [True] * 50 + [False] * 50
    found = message_of(scores, grounded)
    assert "no threshold reaches 0.90 with 200 labels" in found
    # If they can, the surest stand.
    finer = [1.0] * 40 + [0.95] * 30 + [0.9] * 30 + [0.6] * 100
    assert calibrated(finer, grounded).until == (None, 0.95)


def test_ties_of_both_ends_stay_together() -> None:
    scores, grounded = [0.0] * 100 + [1.0] * 100, [False] * 100 + [True] * 50 + [False] * 50
    assert "no threshold" in message_of(scores, grounded)


def test_of_the_rows_of_a_group_one_counts() -> None:
    scores, grounded = [1.0] * 60, [True] * 60
    groups = [f"claim {number // 3}" for number in range(60)]
    assert calibrated(scores, grounded).n_standing == 60
    assert "no threshold reaches 0.90 with 20 labels" in message_of(scores, grounded, groups=groups)
    more = [f"claim {number // 2}" for number in range(60)]
    found = calibrated(scores, grounded, groups=more)
    assert (found.n, found.n_standing, found.saved.n, found.counts["n_left_out"]) == (30, 30, 30, 30)


@pytest.mark.parametrize("right_within", [0, 1, 2])
def test_which_row_of_a_group_counts_does_not_depend_on_verdict_or_label(right_within: int) -> None:
    """One row of three is right in each group: whichever it is, about a third of the rows that count are."""
    is_right = [number % 3 == right_within for number in range(900)]
    groups = [f"claim {number // 3}" for number in range(900)]
    found = calibrated([1.0] * 900, is_right, groups=groups, accuracy=0.2)
    assert found.n == 300
    assert 75 < found.n_right < 125


def test_strata_of_a_drawn_sample_count_in_proportion_to_their_size() -> None:
    names = ids(400)
    cheap = [verdict(name, 1.0) for name in names]
    even = Labels(dict.fromkeys(names, 1), drawn_rows=dict.fromkeys(names, DrawnRow("all", 3.0)))
    assert calibrate_cascade(cheap, cheap, even, accuracy=0.9).n_standing == 400
    rows = dict.fromkeys(names[:200], DrawnRow("large", 4.0)) | dict.fromkeys(
        names[200:], DrawnRow("small", 1.0)
    )
    # The small stratum was drawn four times as often as the large one; and the cheap judge fails on it.
    labels = Labels(dict.fromkeys(names[:200], 1) | dict.fromkeys(names[200:], 0), drawn_rows=rows)
    found = calibrate_cascade(cheap, cheap, labels, accuracy=0.7)
    assert found.n_right == 200
    assert 35 < found.n - found.n_right < 65
    assert found.counts["n_left_out"] == 400 - found.n


def test_errors_and_missing_verdicts_ask_the_strong_judge_or_are_counted() -> None:
    names = ids(120)
    cheap = [error(names[0], "timeout"), error(names[1], "timeout")]
    cheap += [verdict(name, 1.0, model="cheap") for name in names[2:110]]
    strong = [error(names[3], "server"), *(verdict(name, 1.0, model="strong") for name in names[4:])]
    found = calibrated([1.0] * 120, [True] * 120, cheap=cheap, strong=strong)
    assert (found.n, found.n_standing, found.counts) == (
        110,
        108,
        {"n_error": 2, "n_not_applicable": 0, "n_unjudged": 10, "n_unmatched": 4, "n_left_out": 0},
    )
    assert found.saved.n == 110
    assert found.saved.value == pytest.approx(108 / 110)
    assert (found.strong_right.n, found.strong_right.value) == (106, 1.0)


def test_error_of_the_cheap_judge_is_never_right() -> None:
    names = ids(60)
    cheap = [error(name, "timeout") for name in names[:20]] + [verdict(name, 0.0) for name in names[20:]]
    found = calibrated([0.0] * 60, [False] * 60, cheap=cheap)
    assert found.cheap_right.value == pytest.approx(40 / 60)
    assert found.cascade_right.value == 1.0


def test_not_applicable_takes_part_and_stands_only_where_it_is_proven() -> None:
    right = calibrated([1.0] * 80 + [None] * 20, [True] * 100)
    assert (right.not_applicable_stands, right.n_standing, right.counts["n_not_applicable"]) == (
        True,
        100,
        20,
    )
    wrong = calibrated([1.0] * 80 + [None] * 20, [True] * 80 + [False] * 20)
    assert (wrong.not_applicable_stands, wrong.n_standing) == (False, 80)
    assert wrong.saved.value == pytest.approx(0.8)
    assert "no threshold" in message_of([None] * 100, [True] * 100)


def test_rows_without_a_label_take_no_part() -> None:
    names = ids(60)
    cheap = [verdict(name, 1.0) for name in names]
    labels = Labels(dict.fromkeys(names[:40], 1) | dict.fromkeys(names[40:], None))
    assert calibrate_cascade(cheap, cheap, labels, accuracy=0.9).n == 40


# By probability.


def test_bounds_by_probability_are_those_of_the_cascade() -> None:
    names = ids(300)
    generator = np.random.default_rng(3)
    shares = generator.choice([0.02, 0.3, 0.7, 0.98], 300).tolist()
    cheap = [
        verdict(name, share, judge="groundedness", distribution={"1": 1 - share, "5": share})
        for name, share in zip(names, shares, strict=True)
    ]
    grounded = [bool(generator.random() < share) for share in shares]
    found = calibrated(shares, grounded, cheap=cheap, by="probability", rubric=RUBRIC, accuracy=0.9)
    assert found.until == (0.02, 0.98)
    assert found.not_applicable_stands  # its share counts as passing
    assert cascade_of(found).by == "probability"


# What is measured.


def test_shares_are_of_the_rows_that_stand_and_of_those_that_are_asked_on() -> None:
    found = calibrated([1.0] * 100 + [0.6] * 100, [True] * 100 + [True, False] * 50)
    assert (found.saved.value, found.standing_right.value, found.cascade_right.value) == (0.5, 1.0, 1.0)
    assert found.cheap_right.value == 0.75


WRONG: Mapping[str, tuple[Callable[[], object], str]] = {
    "an accuracy of 1": (
        lambda: calibrated([1.0] * 40, [True] * 40, accuracy=1.0),
        "`accuracy` must be between 0 and 1, not 1",
    ),
    "grades": (
        lambda: calibrate_cascade(
            [verdict("a", 1.0)], [verdict("a", 1.0)], Labels({"a": 4, "b": 2}), accuracy=0.9
        ),
        "the labels are grades",
    ),
    "votes": (
        lambda: calibrated([1.0], [True], cheap=[panel_verdict("case 0000", vote("a", 1.0), vote("b", 1.0))]),
        "verdicts come from votes, but the members of a cascade are single judges",
    ),
    "two judges": (
        lambda: calibrated(
            [1.0], [True], cheap=[verdict("case 0000", 1.0), verdict("case 0000", 1.0, judge="two")]
        ),
        "these are verdicts of one, two: pass those of one judge",
    ),
    "two thresholds": (
        lambda: calibrated(
            [1, 1], [1, 1], cheap=[verdict("case 0000", 0.6, passed=False), verdict("case 0001", 0.5)]
        ),
        "several thresholds: 0.6 fails and 0.5 passes",
    ),
    "no label on a verdict": (
        lambda: calibrated([1.0], [True], cheap=[verdict("other", 1.0)]),
        "no verdict of the cheap judge has a label",
    ),
    "probabilities without a rubric": (
        lambda: calibrated([1.0], [True], by="probability"),
        "probabilities need the rubric",
    ),
    "another threshold than the rubric's": (
        lambda: calibrated(
            [0.45], [True], cheap=[verdict("case 0000", 0.45, passed=True)], by="probability", rubric=RUBRIC
        ),
        "a threshold other than its file's 0.5: 0.45 passed",
    ),
}


@pytest.mark.parametrize(("call", "message"), WRONG.values(), ids=WRONG)
def test_wrong_use_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(LabelError, match=message):
        call()


# Judges as they are.


def test_cheap_judge_that_is_always_sure_and_wrong_is_refused() -> None:
    scores = [0.0, 1.0] * 200
    message = message_of(scores, [True, False] * 200)
    assert message == (
        "one: no threshold reaches 0.90 with 400 labels: it is right on 0% of the 400 rows that it is "
        "most sure of; 29 without a mistake would prove it"
    )


def test_judge_whose_scores_say_nothing_is_refused() -> None:
    generator = np.random.default_rng(5)
    message = message_of(generator.random(400).tolist(), (generator.random(400) < 0.5).tolist())
    assert "no threshold reaches 0.90 with 400 labels" in message


Rule: TypeAlias = Callable[[Floats], Floats]
"""From how sure a judge is, 0..1, to how often it is right."""

JUDGES: Mapping[str, Rule] = {
    "right on 95%, whatever its score": lambda sure: np.full_like(sure, 0.95),
    "right on 90% at most": lambda sure: np.full_like(sure, 0.8999),
    "a little short of 90% where it is sure": lambda sure: 0.6 + 0.29 * sure,
    "sure of a fifth": lambda sure: np.where(sure > 0.8, 0.97, 0.5),
    "less often right where it is sure": lambda sure: 0.95 - 0.1 * sure,
}


def simulated(rule: Rule, n: int, generator: np.random.Generator, decimals: int) -> tuple[Floats, Bools]:
    """Scores, and whether people call each response grounded."""
    scores: Floats = generator.random(n).round(decimals)
    is_right = generator.random(n) < rule(np.abs(scores - 0.5) * 2)
    return scores, np.where(is_right, scores >= 0.5, scores < 0.5)


def share_right(rule: Rule, until: Bounds, decimals: int) -> tuple[float, float]:
    """How often verdicts that stand are right, and the share of rows with one, on very many rows."""
    scores, grounded = simulated(rule, 50_000, np.random.default_rng(9), decimals)
    low, high = until
    stands = np.zeros(scores.size, dtype=np.bool_)
    if high is not None:
        stands |= (scores >= 0.5) & (scores >= high)
    if low is not None:
        stands |= (scores < 0.5) & (scores <= low)
    is_right = (scores >= 0.5) == grounded
    return float(is_right[stands].mean()), float(stands.mean())


N_JUDGES = 60


@pytest.mark.soak
@pytest.mark.parametrize(
    ("rule", "decimals"),
    [
        # Every second judge has tied scores.
        pytest.param(rule, decimals, id=f"{name}, {scores}")
        for (name, rule), (decimals, scores) in zip(
            JUDGES.items(), cycle([(6, "scores differ"), (1, "ties")]), strict=False
        )
    ],
)
def test_bounds_are_found_by_mistake_in_one_search_of_twenty(rule: Rule, decimals: int) -> None:
    generator = np.random.default_rng(20)
    n_mistaken = 0
    shares: list[float] = []
    for _ in range(N_JUDGES):
        scores, grounded = simulated(rule, 400, generator, decimals)
        try:
            found = calibrated(scores.tolist(), grounded.tolist())
        except LabelError:
            shares.append(0.0)
            continue
        right, share = share_right(rule, found.until, decimals)
        shares.append(share)
        n_mistaken += right < 0.9
    standard_error = (0.05 * 0.95 / N_JUDGES) ** 0.5
    assert n_mistaken / N_JUDGES <= 0.05 + 2 * standard_error
    # A cascade that never decides meets no bar: of what could be decided at least half is.
    all_right, _ = share_right(rule, (0.4999, 0.5), decimals)
    if all_right > 0.94:
        assert np.mean(shares) >= 0.5
        assert np.median(shares) >= 0.5


@pytest.mark.soak
def test_rows_of_groups_are_no_more_proof_than_their_groups() -> None:
    """All rows of a group are right or wrong together: 400 rows are 100 observations."""
    generator = np.random.default_rng(4)
    n_mistaken = 0
    for _ in range(N_JUDGES):
        is_right = (generator.random(100) < 0.89).repeat(4)
        scores: Floats = generator.integers(0, 2, 400).astype(np.float64)
        grounded: Bools = is_right == (scores == 1)
        groups = [f"claim {number // 4}" for number in range(400)]
        try:
            calibrated(scores.tolist(), grounded.tolist(), groups=groups)
        except LabelError:
            continue
        n_mistaken += 1
    assert n_mistaken / N_JUDGES <= 0.05 + 2 * (0.05 * 0.95 / N_JUDGES) ** 0.5
