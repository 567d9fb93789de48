"""The true rate of grounded answers, from labels of a drawn sample or of a random one."""

from __future__ import annotations

import random
from collections.abc import Iterable
from math import sqrt
from statistics import fmean, pvariance
from typing import Any

import pytest
from make_verdicts import error, verdict
from make_verdicts import labelled as in_words

from groundjudge import Verdict
from groundjudge.lab.labels import LabelError, Labels, read_labels
from groundjudge.lab.libraries import metrics
from groundjudge.lab.proportions import Z
from groundjudge.lab.rate import StratumCounts, rate, stratified_rate
from groundjudge.lab.sample import LabelSample, draw

TRUTH = {f"c{place}": place % 10 < 7 for place in range(400)}


def judged(errors: float = 0.0) -> list[Verdict]:
    """Verdicts on 400 cases, 70 % of them grounded, by a judge that passes half of the others."""
    dice = random.Random(5)  # noqa: S311  no secret
    found: list[Verdict] = []
    for case_id, is_grounded in TRUTH.items():
        right, score = dice.random() < (0.95 if is_grounded else 0.5), dice.uniform(0, 0.5)
        score = score + 0.5 if right == is_grounded else score
        found.append(error(case_id, "timeout") if dice.random() < errors else verdict(case_id, score))
    return found


JUDGED = judged()


def labelled(sample: LabelSample, **others: Any) -> Labels:
    """What people say of the drawn rows, all alike but for others."""
    given = {case_id: int(TRUTH[case_id]) for case_id in sample.ids} | others
    known = {case_id: label for case_id, label in given.items() if label is not None}
    return Labels(known, samples=dict.fromkeys(sample.ids, sample.id))


def of_random_rows() -> Labels:
    """What people say of 80 rows that were drawn without regard to the judge."""
    ids = random.Random(2).sample(sorted(TRUTH), 80)  # noqa: S311  no secret
    return Labels({each: int(TRUTH[each]) for each in ids})


def test_each_stratum_counts_by_its_size_with_half_a_row_of_each_kind_added() -> None:
    large = StratumCounts(90, 90, [(1, 1)] * 8 + [(1, 0)])
    small = StratumCounts(10, 10, [(1, 0)] * 4)
    value, variance = stratified_rate([large, small])
    shares = 8.5 / 10, 0.5 / 5
    assert value == pytest.approx((8 + 81 * shares[0] + 6 * shares[1]) / 100)
    parts = [0.9**2 * shares[0] * 0.15 / 10 * 81 / 89, 0.1**2 * shares[1] * 0.9 / 5 * 6 / 9]
    assert variance == pytest.approx(sum(parts))


def test_where_all_rows_are_labelled_the_rate_is_exact() -> None:
    verdicts = judged()
    sample = draw(verdicts, 400)
    found = rate(verdicts, labelled(sample), sample).rate
    assert (found.value, found.low, found.high) == pytest.approx((0.7, 0.7, 0.7))


def test_the_interval_holds_the_rate_where_the_judges_own_does_not() -> None:
    verdicts = judged()
    held = own = worth = 0
    for seed in range(100):
        sample = draw(verdicts, 100, seed=seed)
        found = rate(verdicts, labelled(sample), sample)
        held += holds(found.rate)
        own += holds(found.own[0].passed)
        worth += found.worth
    assert (held >= 93, own) == (True, 0), held
    assert worth / 100 > 100


def holds(found: Any) -> bool:
    return bool(found.low <= 0.7 <= found.high)


def test_rows_with_errors_that_people_find_ungrounded_move_the_rate() -> None:
    verdicts = judged(errors=0.2)
    sample = draw(verdicts, 120)
    errors = {one.case_id or "": 0 for one in verdicts if one.error}
    good = rate(verdicts, labelled(sample), sample).rate.value or 0.0
    bad = rate(verdicts, labelled(sample, **dict.fromkeys(errors.keys() & set(sample.ids), 0)), sample).rate
    assert good - (bad.value or 0.0) == pytest.approx(0.7 * len(errors) / 400, abs=0.07)
    assert any(one.name == "error" for one in sample.strata)


def test_rows_of_which_people_cannot_tell_are_a_share_and_bounds() -> None:
    verdicts, sample = JUDGED, draw(JUDGED, 100)
    unsure = sample.ids[:10]
    found = rate(verdicts, labelled(sample, **dict.fromkeys(unsure)), sample)
    weights = [1 / each for each in sample.probabilities.values()]
    share = sum(1 / sample.probabilities[each] for each in unsure) / sum(weights)
    assert found.cannot_tell == pytest.approx(share)
    assert found.rate.n == 90
    low, high = found.bounds
    assert low < (found.rate.value or 0) < high
    assert high - low == pytest.approx(share, abs=0.02)


def test_a_stratum_of_which_people_can_tell_nothing_is_as_likely_grounded_as_not() -> None:
    verdicts = [*judged()[:380], *(verdict(f"c{place}", None) for place in range(380, 400))]
    sample = draw(verdicts, 100)
    (skipped,) = (one for one in sample.strata if one.name == "not applicable")
    found = rate(verdicts, labelled(sample, **dict.fromkeys(each for (each,) in skipped.drawn)), sample)
    assert found.cannot_tell == pytest.approx(20 / 400)
    assert 0 < found.bounds[1] - found.bounds[0] <= 20 / 400


@pytest.mark.parametrize("lam", [-0.1, 1.1, float("nan")])
def test_a_weight_that_is_none_is_refused(lam: float) -> None:
    with pytest.raises(LabelError, match=r"`lam` must be 0\.\.1"):
        rate(judged(), Labels({f"c{place}": 1 for place in range(20)}), lam=lam)


def test_labels_of_random_rows_cannot_be_grouped() -> None:
    ids = [f"c{place}" for place in range(20)]
    people = Labels(dict.fromkeys(ids, 1), dict.fromkeys(ids, "g"))
    with pytest.raises(LabelError, match="draw these with `label --group`"):
        rate(judged(), people)


@pytest.mark.soak
@pytest.mark.parametrize(("share", "passes"), [(0.05, 0.7), (0.03, 0.9)])
def test_intervals_of_random_rows_hold_the_rate_where_bad_rows_are_rare(share: float, passes: float) -> None:
    held, truth = 0, {f"c{place}": place >= share * 1000 for place in range(1000)}
    for seed in range(100):
        dice = random.Random(seed)  # noqa: S311  no secret
        verdicts = [verdict(each, 0.9 if dice.random() < passes else 0.2) for each in truth]
        found = rate(
            verdicts, Labels({each: int(truth[each]) for each in dice.sample(sorted(truth), 100)})
        ).rate
        held += (found.low or 0) <= 1 - share <= (found.high or 0)
    assert held >= 92


def test_drawn_rows_that_have_no_label_yet_are_counted() -> None:
    verdicts, sample = JUDGED, draw(JUDGED, 100)
    done = sample.ids[:60]
    people = Labels({each: int(TRUTH[each]) for each in done}, samples=dict.fromkeys(done, sample.id))
    found = rate(verdicts, people, sample)
    assert (found.n_unlabelled, found.rate.n) == (40, 60)


def test_groups_of_equal_rows_count_as_one_row_each() -> None:
    of_one = stratified_rate([StratumCounts(400, 100, [(4, 4)] * 30 + [(4, 0)] * 10)])[1]
    alone = stratified_rate([StratumCounts(100, 100, [(1, 1)] * 30 + [(1, 0)] * 10)])[1]
    assert sqrt(of_one / alone) == pytest.approx(1, abs=0.03)
    mixed = stratified_rate([StratumCounts(400, 100, [(4, 3)] * 40)])[1]
    assert mixed == pytest.approx(
        stratified_rate([StratumCounts(400, 400, [(1, 1)] * 120 + [(1, 0)] * 40)])[1], rel=0.02
    )


def test_groups_are_estimated_as_a_whole() -> None:
    verdicts = judged()
    groups = {case_id: str(place % 100) for place, case_id in enumerate(TRUTH)}
    sample = draw(verdicts, 50, groups=groups)
    found = rate(verdicts, labelled(sample), sample)
    assert (found.rows, found.rate.n) == (400, len(sample.ids))
    assert holds(found.rate)


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_labels_of_random_rows_correct_the_mean_of_the_scores(lam: float) -> None:
    verdicts = judged()
    scores = {one.case_id or "": one.score or 0.0 for one in verdicts}
    ids = of_random_rows().by_case
    found = rate(verdicts, of_random_rows(), lam=lam).rate
    # The scaled mean score of the rows without a label, and the mean error of the others.
    others = [lam * scores[each] for each in TRUTH if each not in ids]
    errors = [TRUTH[each] - lam * scores[each] for each in ids]
    value, half = fmean(others) + fmean(errors), Z * sqrt(pvariance(others) / 320 + pvariance(errors) / 80)
    assert (found.value, found.low, found.high) == pytest.approx((value, value - half, value + half))


def test_by_default_the_scores_count_as_much_as_narrows_the_interval_most() -> None:
    verdicts, people = judged(), of_random_rows()

    def width(lam: float | None = None) -> float:
        found = rate(verdicts, people, lam=lam).rate
        return (found.high or 0) - (found.low or 0)

    assert width() <= min(width(place / 20) for place in range(21)) * 1.01


def test_the_interval_of_random_rows_is_wilsons_at_the_number_of_rows_that_vary_as_much() -> None:
    found = rate(judged(), of_random_rows()).rate
    low, high, value = found.low or 0, found.high or 0, found.value or 0
    assert value - low > high - value > 0  # towards one half, as Wilson's is
    assert 0.7 < (high - low) / (2 * Z * sqrt(value * (1 - value) / 80)) < 1.05


def test_random_rows_without_any_disagreement_have_an_interval_too() -> None:
    verdicts = [verdict(f"c{place}", 1.0) for place in range(200)]
    found = rate(verdicts, Labels({f"c{place}": 1 for place in range(20)})).rate
    assert (found.value, found.high) == (1, 1)
    assert 0.8 < (found.low or 0) < 1


def test_other_judges_and_versions_add_their_own_rates() -> None:
    verdicts = [*judged(), *(verdict(case_id, 0.1, judge="two") for case_id in TRUTH)]
    sample = draw(verdicts, 60, judge="one")
    found = rate(verdicts, labelled(sample), sample)
    assert [(one.judge, one.passed.value) for one in found.own] == [
        ("one", pytest.approx(0.81, abs=0.05)),
        ("two", 0),
    ]


def rows(annotator: str, labels: Iterable[int | None], ids: Iterable[str]) -> list[dict[str, Any]]:
    pairs = zip(ids, labels, strict=True)
    return [{"id": each, "label": label, "annotator": annotator} for each, label in pairs]


def test_two_people_are_compared_on_the_rows_that_both_labelled() -> None:
    verdicts = judged()
    sample = draw(verdicts, 400)  # all weights are equal
    ids = sample.ids[:20]
    one = [int(TRUTH[each]) for each in sample.ids]
    other = [label if place > 3 else 1 - label for place, label in enumerate(one[:20])]
    given = [
        {**row, "sample": sample.id} for row in (*rows("ann", one, sample.ids), *rows("bob", other, ids))
    ]
    people = rate(verdicts, read_labels("labels.jsonl", rows=given), sample).people
    assert people is not None
    assert people.n == 20
    assert people.same == pytest.approx(0.8)
    assert people.kappa == pytest.approx(metrics.cohen_kappa_score(one[:20], other))
    n_ones = sum(one[:20]) + sum(other)
    assert people.alpha == pytest.approx(1 - 39 * 8 / (2 * n_ones * (40 - n_ones)))
    said = {each.case_id: bool(each.passed) for each in verdicts}
    twice = [said[each] for each in ids for _ in range(2)]
    both = [label for pair in zip(one[:20], other, strict=True) for label in pair]
    assert people.judge_kappa == pytest.approx(metrics.cohen_kappa_score(both, twice))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"by_case": {"other": 1}}, "outside_sample"),
        ({"samples": {"c0": "another draw"}}, "outside_sample"),
        ({"by_case": {}}, "too_few_labels"),
        ({"sample": None}, "no_sample"),
        ({"by_case": {"c0": 3}}, "bad_option"),
        ({"verdicts": 30}, "bad_option"),
        ({"stratum": 0}, "too_few_labels"),
    ],
)
def test_what_would_make_the_rate_wrong_is_refused(change: dict[str, Any], code: str) -> None:
    verdicts, sample = JUDGED, draw(JUDGED, 100)
    people = labelled(sample)
    if "stratum" in change:
        change["by_case"] = {each: 1 for unit in sample.strata[0].drawn for each in unit}
        people = Labels({}, samples=dict.fromkeys(change["by_case"], sample.id))
    by_case = change.get("by_case", people.by_case)
    labels = Labels(by_case, samples={**people.samples, **change.get("samples", {})})
    with pytest.raises(LabelError) as caught:
        rate(verdicts[: change.get("verdicts", 400)], labels, change.get("sample", sample))
    assert caught.value.code == code


def test_grades_count_by_the_lowest_that_means_grounded() -> None:
    verdicts, people = judged(), of_random_rows()
    grades = Labels({each: 4 if label else 3 for each, label in people.by_case.items()})
    assert rate(verdicts, grades, label_threshold=4).rate == rate(verdicts, people).rate


def test_labels_of_rows_that_were_not_judged_are_refused() -> None:
    with pytest.raises(LabelError, match="no verdict on the labelled row 'zzz'"):
        rate(judged(), Labels({"zzz": 1, "c1": 1}))


def test_a_label_that_means_not_applicable_counts_as_grounded() -> None:
    named = [("bad", 0.0), ("good", 1.0), ("greeting", None)]
    verdicts = [in_words(f"c{place}", *named[place % 3]) for place in range(60)]
    sample = draw(verdicts, 60)
    words = {one.case_id or "": one.label for one in verdicts}
    found = rate(verdicts, Labels(words, samples=dict.fromkeys(words, sample.id)), sample)
    assert found.rate.value == pytest.approx(2 / 3)
