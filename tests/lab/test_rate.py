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
from groundjudge.lab.labels import LabelError, Labels, LabelVocabulary, read_labels
from groundjudge.lab.libraries import import_library
from groundjudge.lab.proportions import Z
from groundjudge.lab.rate import StratumCounts, rate, stratified_rate
from groundjudge.lab.sample import LabelSample, draw

TRUTH = {f"c{place}": place % 10 < 7 for place in range(400)}


def make_verdicts(errors: float = 0.0) -> list[Verdict]:
    """Verdicts on 400 cases, 70% of them grounded, by a judge that passes half of the others."""
    dice = random.Random(5)  # noqa: S311  no secret
    verdicts: list[Verdict] = []
    for case_id, is_grounded in TRUTH.items():
        is_right = dice.random() < (0.95 if is_grounded else 0.5)
        score = dice.uniform(0, 0.5)
        if is_right == is_grounded:
            score += 0.5
        is_error = dice.random() < errors
        verdicts.append(error(case_id, "timeout") if is_error else verdict(case_id, score))
    return verdicts


VERDICTS = make_verdicts()


def label_drawn(sample: LabelSample, **changes: Any) -> Labels:
    """What people say of the drawn rows: the truth, but for some changes; None where they cannot tell."""
    labels = {case_id: int(TRUTH[case_id]) for case_id in sample.ids} | changes
    certain_labels = {case_id: label for case_id, label in labels.items() if label is not None}
    return Labels(certain_labels, samples=dict.fromkeys(sample.ids, sample.id))


def of_random_rows() -> Labels:
    """What people say of 80 rows that were drawn without regard to the judge."""
    ids = random.Random(2).sample(sorted(TRUTH), 80)  # noqa: S311  no secret
    return Labels({case_id: int(TRUTH[case_id]) for case_id in ids})


def test_each_stratum_counts_by_its_size_with_half_a_row_of_each_kind_added() -> None:
    large = StratumCounts(90, 90, [(1, 1)] * 8 + [(1, 0)])
    small = StratumCounts(10, 10, [(1, 0)] * 4)
    value, variance = stratified_rate([large, small])
    shares = 8.5 / 10, 0.5 / 5
    assert value == pytest.approx((8 + 81 * shares[0] + 6 * shares[1]) / 100)
    parts = [0.9**2 * shares[0] * 0.15 / 10 * 81 / 89, 0.1**2 * shares[1] * 0.9 / 5 * 6 / 9]
    assert variance == pytest.approx(sum(parts))


def test_where_all_rows_are_labelled_the_rate_is_exact() -> None:
    verdicts = VERDICTS
    sample = draw(verdicts, 400)
    true_rate = rate(verdicts, label_drawn(sample), sample).rate
    assert (true_rate.value, true_rate.low, true_rate.high) == pytest.approx((0.7, 0.7, 0.7))


@pytest.mark.soak
def test_the_interval_holds_the_rate_where_the_judges_own_does_not() -> None:
    verdicts = VERDICTS
    n_holding = 0
    n_holding_of_judge = 0
    total_worth = 0
    for seed in range(100):
        sample = draw(verdicts, 100, seed=seed)
        true_rate = rate(verdicts, label_drawn(sample), sample)
        n_holding += holds(true_rate.rate)
        n_holding_of_judge += holds(true_rate.own[0].passed)
        total_worth += true_rate.worth
    assert n_holding >= 93
    assert n_holding_of_judge == 0
    assert total_worth / 100 > 100


def holds(interval: Any) -> bool:
    """Whether an interval holds the share of grounded cases in `TRUTH`."""
    return bool(interval.low <= 0.7 <= interval.high)


def test_rows_with_errors_that_people_find_ungrounded_move_the_rate() -> None:
    verdicts = make_verdicts(errors=0.2)
    sample = draw(verdicts, 120)
    error_ids = {verdict.case_id or "" for verdict in verdicts if verdict.error}
    ungrounded = dict.fromkeys(error_ids & set(sample.ids), 0)
    good = rate(verdicts, label_drawn(sample), sample).rate.value or 0.0
    bad = rate(verdicts, label_drawn(sample, **ungrounded), sample).rate.value or 0.0
    assert good - bad == pytest.approx(0.7 * len(error_ids) / 400, abs=0.07)
    assert "error" in [stratum.name for stratum in sample.strata]


def test_rows_of_which_people_cannot_tell_are_a_share_and_bounds() -> None:
    verdicts, sample = VERDICTS, draw(VERDICTS, 100)
    unsure = sample.ids[:10]
    true_rate = rate(verdicts, label_drawn(sample, **dict.fromkeys(unsure)), sample)
    weights = {case_id: 1 / probability for case_id, probability in sample.probabilities.items()}
    share = sum(weights[case_id] for case_id in unsure) / sum(weights.values())
    assert true_rate.cannot_tell == pytest.approx(share)
    assert true_rate.rate.n == 90
    low, high = true_rate.bounds
    assert low < (true_rate.rate.value or 0) < high
    assert high - low == pytest.approx(share, abs=0.02)


def test_share_of_rows_that_people_cannot_tell_does_not_depend_on_the_order_of_hashes() -> None:
    shares: set[float] = set()
    for prefix in "abcdef":
        # The names of the cases change the order of a set of them, and nothing else.
        renamed = [
            verdict.model_copy(update={"case_id": f"{prefix}{verdict.case_id}"}) for verdict in VERDICTS
        ]
        sample = draw(renamed, 100)
        labels = {case_id: int(TRUTH[case_id.removeprefix(prefix)]) for case_id in sample.ids[30:]}
        people = Labels(labels, samples=dict.fromkeys(sample.ids, sample.id))
        shares.add(rate(renamed, people, sample).cannot_tell)
    assert len(shares) == 1


def test_a_stratum_of_which_people_can_tell_nothing_is_as_likely_grounded_as_not() -> None:
    verdicts = [*VERDICTS[:380], *(verdict(f"c{place}", None) for place in range(380, 400))]
    sample = draw(verdicts, 100)
    (not_applicable,) = [stratum for stratum in sample.strata if stratum.name == "not applicable"]
    unsure = dict.fromkeys(not_applicable.ids)
    true_rate = rate(verdicts, label_drawn(sample, **unsure), sample)
    assert true_rate.cannot_tell == pytest.approx(20 / 400)
    assert 0 < true_rate.bounds[1] - true_rate.bounds[0] <= 20 / 400


@pytest.mark.parametrize(
    "lam",
    [pytest.param(-0.1, id="below 0"), pytest.param(1.1, id="above 1"), pytest.param(float("nan"), id="NaN")],
)
def test_a_weight_that_is_none_is_refused(lam: float) -> None:
    with pytest.raises(LabelError, match=r"`lam` must be between 0 and 1"):
        rate(VERDICTS, Labels({f"c{place}": 1 for place in range(20)}), lam=lam)


def test_labels_of_random_rows_cannot_be_grouped() -> None:
    ids = [f"c{place}" for place in range(20)]
    people = Labels(dict.fromkeys(ids, 1), dict.fromkeys(ids, "g"))
    with pytest.raises(LabelError, match="draw groups with `label --group`"):
        rate(VERDICTS, people)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("share", "passes"),
    [
        pytest.param(0.05, 0.7, id="one bad row in twenty"),
        pytest.param(0.03, 0.9, id="one bad row in thirty"),
    ],
)
def test_intervals_of_random_rows_hold_the_rate_where_bad_rows_are_rare(share: float, passes: float) -> None:
    n_holding = 0
    truth = {f"c{place}": place >= share * 1000 for place in range(1000)}
    for seed in range(100):
        dice = random.Random(seed)  # noqa: S311  no secret
        verdicts = [verdict(case_id, 0.9 if dice.random() < passes else 0.2) for case_id in truth]
        labels = Labels({case_id: int(truth[case_id]) for case_id in dice.sample(sorted(truth), 100)})
        true_rate = rate(verdicts, labels).rate
        n_holding += (true_rate.low or 0) <= 1 - share <= (true_rate.high or 0)
    assert n_holding >= 92


def test_drawn_rows_that_have_no_label_yet_are_counted() -> None:
    verdicts, sample = VERDICTS, draw(VERDICTS, 100)
    labelled_ids = sample.ids[:60]
    labels = {case_id: int(TRUTH[case_id]) for case_id in labelled_ids}
    people = Labels(labels, samples=dict.fromkeys(labelled_ids, sample.id))
    true_rate = rate(verdicts, people, sample)
    assert (true_rate.n_unlabelled, true_rate.rate.n) == (40, 60)


def test_groups_of_equal_rows_count_as_one_row_each() -> None:
    of_one = stratified_rate([StratumCounts(400, 100, [(4, 4)] * 30 + [(4, 0)] * 10)])[1]
    alone = stratified_rate([StratumCounts(100, 100, [(1, 1)] * 30 + [(1, 0)] * 10)])[1]
    assert sqrt(of_one / alone) == pytest.approx(1, abs=0.03)
    mixed = stratified_rate([StratumCounts(400, 100, [(4, 3)] * 40)])[1]
    assert mixed == pytest.approx(
        stratified_rate([StratumCounts(400, 400, [(1, 1)] * 120 + [(1, 0)] * 40)])[1], rel=0.02
    )


def test_groups_are_estimated_as_a_whole() -> None:
    verdicts = VERDICTS
    groups = {case_id: str(place % 100) for place, case_id in enumerate(TRUTH)}
    sample = draw(verdicts, 50, groups=groups)
    true_rate = rate(verdicts, label_drawn(sample), sample)
    assert (true_rate.rows, true_rate.rate.n) == (400, len(sample.ids))
    assert holds(true_rate.rate)


@pytest.mark.parametrize(
    "lam",
    [
        pytest.param(0.0, id="labels alone"),
        pytest.param(0.3, id="scores count by 0.3"),
        pytest.param(1.0, id="scores count in full"),
    ],
)
def test_labels_of_random_rows_correct_the_mean_of_the_scores(lam: float) -> None:
    verdicts = VERDICTS
    scores = {verdict.case_id or "": verdict.score or 0.0 for verdict in verdicts}
    labelled_ids = of_random_rows().by_case
    true_rate = rate(verdicts, of_random_rows(), lam=lam).rate
    # The scaled mean score of the rows without a label, and the mean error of those with one.
    scores_of_unlabelled = [lam * scores[case_id] for case_id in TRUTH if case_id not in labelled_ids]
    errors = [TRUTH[case_id] - lam * scores[case_id] for case_id in labelled_ids]
    value = fmean(scores_of_unlabelled) + fmean(errors)
    half = Z * sqrt(pvariance(scores_of_unlabelled) / 320 + pvariance(errors) / 80)
    assert (true_rate.value, true_rate.low, true_rate.high) == pytest.approx(
        (value, value - half, value + half)
    )


def test_by_default_the_scores_count_as_much_as_narrows_the_interval_most() -> None:
    verdicts, people = VERDICTS, of_random_rows()

    def width(lam: float | None = None) -> float:
        true_rate = rate(verdicts, people, lam=lam).rate
        return (true_rate.high or 0) - (true_rate.low or 0)

    assert width() <= min(width(place / 5) for place in range(6)) * 1.01


def test_the_interval_of_random_rows_is_wilsons_at_the_number_of_rows_that_vary_as_much() -> None:
    true_rate = rate(VERDICTS, of_random_rows()).rate
    low, high, value = true_rate.low or 0, true_rate.high or 0, true_rate.value or 0
    assert value - low > high - value > 0  # towards one half, as Wilson's is
    assert 0.7 < (high - low) / (2 * Z * sqrt(value * (1 - value) / 80)) < 1.05


def test_random_rows_without_any_disagreement_have_an_interval_too() -> None:
    verdicts = [verdict(f"c{place}", 1.0) for place in range(200)]
    true_rate = rate(verdicts, Labels({f"c{place}": 1 for place in range(20)})).rate
    assert (true_rate.value, true_rate.high) == (1, 1)
    assert 0.8 < (true_rate.low or 0) < 1


def test_other_judges_and_versions_add_their_own_rates() -> None:
    verdicts = [*VERDICTS, *(verdict(case_id, 0.1, judge="two") for case_id in TRUTH)]
    sample = draw(verdicts, 60, judge="one")
    true_rate = rate(verdicts, label_drawn(sample), sample)
    first, second = true_rate.own
    assert first.judge == "one"
    assert first.passed.value == pytest.approx(0.81, abs=0.05)
    assert (second.judge, second.passed.value) == ("two", 0)


def rows(annotator: str, labels: Iterable[int | None], ids: Iterable[str]) -> list[dict[str, Any]]:
    pairs = zip(ids, labels, strict=True)
    return [{"id": case_id, "label": label, "annotator": annotator} for case_id, label in pairs]


def test_two_people_are_compared_on_the_rows_that_both_labelled() -> None:
    verdicts = VERDICTS
    sample = draw(verdicts, 400)  # all weights are equal
    ids = sample.ids[:20]
    of_ann = [int(TRUTH[case_id]) for case_id in sample.ids]
    of_bob = [1 - label for label in of_ann[:4]] + of_ann[4:20]
    file_rows = rows("ann", of_ann, sample.ids) + rows("bob", of_bob, ids)
    for row in file_rows:
        row["sample"] = sample.id
    people = rate(verdicts, read_labels("labels.jsonl", rows=file_rows), sample).people
    assert people is not None
    assert people.n == 20
    assert people.same == pytest.approx(0.8)
    metrics = import_library("sklearn.metrics")
    assert people.kappa == pytest.approx(metrics.cohen_kappa_score(of_ann[:20], of_bob))
    passed = {verdict.case_id: bool(verdict.passed) for verdict in verdicts}
    # The judge is compared with either of them.
    outcomes = [passed[case_id] for case_id in ids]
    kappa = metrics.cohen_kappa_score(of_ann[:20] + of_bob, outcomes + outcomes)
    assert people.judge_kappa == pytest.approx(kappa)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param({"by_case": {"other": 1}}, "outside_sample", id="label of a row that was not drawn"),
        pytest.param({"samples": {"c0": "another draw"}}, "outside_sample", id="label of another draw"),
        pytest.param({"by_case": {}}, "too_few_labels", id="no label"),
        pytest.param({"sample": None}, "no_sample", id="labels of a draw without the sample"),
        pytest.param({"by_case": {"c0": 3}}, "bad_option", id="grades without a threshold"),
        pytest.param({"verdicts": 30}, "bad_option", id="verdicts that lack drawn rows"),
        pytest.param({"stratum": 0}, "too_few_labels", id="stratum without a label"),
    ],
)
def test_what_would_make_the_rate_wrong_is_refused(change: dict[str, Any], code: str) -> None:
    verdicts, sample = VERDICTS, draw(VERDICTS, 100)
    people = label_drawn(sample)
    if "stratum" in change:
        change["by_case"] = dict.fromkeys(sample.strata[0].ids, 1)
        people = Labels({}, samples=dict.fromkeys(change["by_case"], sample.id))
    by_case = change.get("by_case", people.by_case)
    labels = Labels(by_case, samples={**people.samples, **change.get("samples", {})})
    with pytest.raises(LabelError) as error_info:
        rate(verdicts[: change.get("verdicts", 400)], labels, change.get("sample", sample))
    assert error_info.value.code == code


def test_grades_count_by_the_lowest_that_means_grounded() -> None:
    verdicts, people = VERDICTS, of_random_rows()
    grades = Labels({case_id: 4 if label else 3 for case_id, label in people.by_case.items()})
    assert rate(verdicts, grades, label_threshold=4).rate == rate(verdicts, people).rate


def test_labels_of_rows_that_were_not_judged_are_refused() -> None:
    with pytest.raises(LabelError, match="the labelled row 'zzz' has no verdict"):
        rate(VERDICTS, Labels({"zzz": 1, "c1": 1}))


def test_a_label_that_means_not_applicable_counts_as_grounded() -> None:
    labels_and_scores = [("bad", 0.0), ("good", 1.0), ("greeting", None)] * 20
    verdicts: list[Verdict] = []
    words: dict[str, str] = {}
    for place, (label, score) in enumerate(labels_and_scores):
        verdicts.append(in_words(f"c{place}", label, score))
        words[f"c{place}"] = label
    sample = draw(verdicts, 60)
    vocabulary = LabelVocabulary({"bad": 0.0, "good": 1.0, "greeting": None}, 0.5)
    labels = Labels(words, vocabulary=vocabulary, samples=dict.fromkeys(words, sample.id))
    true_rate = rate(verdicts, labels, sample)
    assert true_rate.rate.value == pytest.approx(2 / 3)
