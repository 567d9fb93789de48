"""Figures from labels of a drawn sample are figures of all rows that it was drawn from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from make_verdicts import labelled as in_words
from make_verdicts import verdict

from groundjudge import Verdict
from groundjudge.lab.agreement import agree
from groundjudge.lab.calibration import calibrate
from groundjudge.lab.comparison import compare
from groundjudge.lab.labels import LabelError, Labels, LabelVocabulary, join
from groundjudge.lab.sample import LabelSample, draw, weight_labels

NAMES = ("accuracy", "recall", "recall_not_grounded", "kappa", "roc_auc")


def population(n: int, seed: int = 0) -> tuple[list[Verdict], Labels]:
    """Verdicts on n cases, four in five of them grounded, and a label for each."""
    generator = np.random.default_rng(seed)
    truth = {f"c{place:05}": int(generator.random() < 0.8) for place in range(n)}
    verdicts: list[Verdict] = []
    for case_id, label in truth.items():
        score = generator.beta(5, 2) if label else generator.beta(2, 4)
        verdicts.append(verdict(case_id, float(score)))
    return verdicts, Labels(truth)


def weighted_labels(labels: Labels, sample: LabelSample) -> Labels:
    """The labels of the drawn rows, weighted."""
    labels_of_drawn = {case_id: labels.by_case[case_id] for case_id in sample.ids}
    return weight_labels(replace(labels, by_case=labels_of_drawn), sample)


def test_a_sample_of_all_rows_gives_the_figures_of_all_rows() -> None:
    verdicts, labels = population(200)
    weighted = weighted_labels(labels, draw(verdicts, 200))
    (of_all,) = agree(verdicts, labels, resamples=2)
    (of_sample,) = agree(verdicts, weighted, resamples=2)
    values_of_all = {name: figure.value for name, figure in of_all.figures.items()}
    assert {name: figure.value for name, figure in of_sample.figures.items()} == pytest.approx(values_of_all)
    assert of_sample.base_rate == pytest.approx(of_all.base_rate)
    assert dict(of_sample.guess) == pytest.approx(dict(of_all.guess))


@pytest.mark.soak
def test_rows_count_by_one_over_their_probability_everywhere() -> None:
    verdicts, labels = population(200)
    sample = draw(verdicts, 60)
    weighted = weighted_labels(labels, sample)
    # The same figures come from rows that are repeated as often as they count, in fifths.
    verdict_by_case = {verdict.case_id: verdict for verdict in verdicts}
    repeated_verdicts: list[Verdict] = []
    labels_of_repeated: dict[str, object] = {}
    for case_id, probability in sample.probabilities.items():
        for copy in range(round(5 / probability)):
            copy_id = f"{case_id} {copy}"
            repeated_verdicts.append(verdict_by_case[case_id].model_copy(update={"case_id": copy_id}))
            labels_of_repeated[copy_id] = labels.by_case[case_id]
    repeated = Labels(labels_of_repeated)
    # Only values are compared, no intervals: two resamples are enough.
    (of_sample,) = agree(verdicts, weighted, resamples=2)
    (of_repeated,) = agree(repeated_verdicts, repeated, resamples=2)
    for name in NAMES:
        assert of_sample.figures[name].value == pytest.approx(of_repeated.figures[name].value, abs=0.01)
    drawn_verdicts = [verdict for verdict in verdicts if verdict.case_id in sample.probabilities]
    (drawn_rows,) = join(drawn_verdicts, weighted)
    (repeated_rows,) = join(repeated_verdicts, repeated)
    threshold = calibrate(drawn_rows, folds=2, resamples=2).threshold
    assert threshold == pytest.approx(calibrate(repeated_rows, folds=2, resamples=2).threshold, abs=0.05)
    change = compare(failing(verdicts), verdicts, weighted, resamples=2).differences["accuracy"].value
    change_of_repeated = compare(failing(repeated_verdicts), repeated_verdicts, repeated, resamples=2)
    assert change == pytest.approx(change_of_repeated.differences["accuracy"].value, abs=0.01)


def failing(verdicts: list[Verdict]) -> list[Verdict]:
    """The same verdicts by a judge that lets nothing pass."""
    return [verdict.model_copy(update={"score": 0.2, "passed": False}) for verdict in verdicts]


def test_labels_in_words_are_weighted_too() -> None:
    words = ["good"] * 160 + ["bad"] * 40
    verdicts = [in_words(f"c{place}", word, float(word == "good")) for place, word in enumerate(words)]
    human_labels = {f"c{place}": "bad" if place % 8 == 0 else word for place, word in enumerate(words)}
    sample = draw(verdicts, 60)
    labels = Labels(human_labels, vocabulary=LabelVocabulary({"bad": 0.0, "good": 1.0}, 0.5))
    (agreement,) = agree(verdicts, weighted_labels(labels, sample), resamples=2)
    assert agreement.labels is not None
    weight_of_same = 0.0
    total = 0.0
    for case_id, probability in sample.probabilities.items():
        total += 1 / probability
        if human_labels[case_id] == words[int(case_id[1:])]:
            weight_of_same += 1 / probability
    assert agreement.labels.same.value == pytest.approx(weight_of_same / total)


def test_labels_of_a_drawn_sample_are_refused_without_it() -> None:
    verdicts, labels = population(60)
    sample = draw(verdicts, 20)
    labels_of_draw = Labels(labels.by_case, samples=dict.fromkeys(sample.ids, sample.id))
    with pytest.raises(LabelError, match=r"no_sample.*pass the `sample`"):
        agree(verdicts, labels_of_draw)


def test_rows_of_a_drawn_group_are_resampled_together() -> None:
    verdicts, labels = population(600)
    groups = {case_id: f"g{int(case_id[1:]) // 6}" for case_id in labels.by_case}
    sample = draw(verdicts, 30, groups=groups)
    (agreement,) = agree(verdicts, weighted_labels(labels, sample), resamples=2)
    assert (agreement.n, agreement.n_groups) == (180, 30)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_intervals_hold_the_figures_of_all_rows() -> None:
    n_covered = dict.fromkeys(NAMES, 0)
    verdicts, labels = population(500)
    (of_all,) = agree(verdicts, labels, resamples=2)
    for seed in range(150):
        weighted = weighted_labels(labels, draw(verdicts, 100, seed=seed))
        (of_sample,) = agree(verdicts, weighted, resamples=400)
        for name in NAMES:
            figure = of_sample.figures[name]
            true_value = of_all.figures[name].value or 0.0
            n_covered[name] += (figure.low or 0.0) <= true_value <= (figure.high or 0.0)
    assert min(n_covered.values()) >= 0.93 * 150, n_covered
