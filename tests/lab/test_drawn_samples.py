"""Figures from labels of a drawn sample are figures of all rows that it was drawn from."""

from __future__ import annotations

import numpy as np
import pytest
from make_verdicts import labelled as in_words
from make_verdicts import verdict

from groundjudge import Verdict
from groundjudge.lab.agreement import agree
from groundjudge.lab.calibration import calibrate
from groundjudge.lab.comparison import compare
from groundjudge.lab.labels import LabelError, Labels, join
from groundjudge.lab.sample import LabelSample, draw, weight_labels

NAMES = ("accuracy", "recall", "recall_not_grounded", "kappa", "roc_auc")


def population(n: int, seed: int = 0) -> tuple[list[Verdict], Labels]:
    """Verdicts on n cases, four in five of them grounded, and a label for each."""
    generator = np.random.default_rng(seed)
    truth = {f"c{place:05}": int(generator.random() < 0.8) for place in range(n)}
    verdicts = [
        verdict(each, float(generator.beta(5, 2) if label else generator.beta(2, 4)))
        for each, label in truth.items()
    ]
    return verdicts, Labels(truth)


def drawn_of(labels: Labels, sample: LabelSample) -> Labels:
    """The labels of the drawn rows, weighted."""
    return weight_labels(Labels({each: labels.by_case[each] for each in sample.ids}), sample)


def test_a_sample_of_all_rows_gives_the_figures_of_all_rows() -> None:
    verdicts, labels = population(200)
    drawn = drawn_of(labels, draw(verdicts, 200))
    (whole,), (found,) = agree(verdicts, labels), agree(verdicts, drawn)
    assert {name: each.value for name, each in found.figures.items()} == pytest.approx(
        {name: each.value for name, each in whole.figures.items()}
    )
    assert found.base_rate == pytest.approx(whole.base_rate)
    assert dict(found.guess) == pytest.approx(dict(whole.guess))


def test_rows_count_by_one_over_their_probability_everywhere() -> None:
    verdicts, labels = population(400)
    sample = draw(verdicts, 100)
    drawn = drawn_of(labels, sample)
    weights = {each: 1 / probability for each, probability in sample.probabilities.items()}
    # The same figures from rows that are repeated as often as they count, in tenths.
    times = {each: round(10 * weight) for each, weight in weights.items()}
    by_id = {one.case_id: one for one in verdicts}
    copies = [(f"{each} {copy}", each) for each, n in times.items() for copy in range(n)]
    repeated = [by_id[each].model_copy(update={"case_id": name}) for name, each in copies]
    same = Labels({name: labels.by_case[each] for name, each in copies})
    (found,), (expected,) = agree(verdicts, drawn), agree(repeated, same)
    for name in NAMES:
        assert found.figures[name].value == pytest.approx(expected.figures[name].value, abs=0.01)
    (joined,) = join([one for one in verdicts if one.case_id in weights], drawn)
    (whole,) = join(repeated, same)
    threshold, other = calibrate(joined, folds=2).threshold, calibrate(whole, folds=2).threshold
    assert threshold == pytest.approx(other, abs=0.05)
    change, same_change = (
        compare(failing(own), own, people).differences["accuracy"].value
        for own, people in ((verdicts, drawn), (repeated, same))
    )
    assert change == pytest.approx(same_change, abs=0.01)


def failing(verdicts: list[Verdict]) -> list[Verdict]:
    """The same verdicts by a judge that lets nothing pass."""
    return [one.model_copy(update={"score": 0.2, "passed": False}) for one in verdicts]


def test_labels_in_words_are_weighted_too() -> None:
    words = ["good"] * 160 + ["bad"] * 40
    verdicts = [in_words(f"c{place}", word, float(word == "good")) for place, word in enumerate(words)]
    people = {f"c{place}": "bad" if place % 8 == 0 else word for place, word in enumerate(words)}
    sample = draw(verdicts, 60)
    (found,) = agree(verdicts, drawn_of(Labels(people), sample))
    assert found.labels is not None
    right = {each: people[each] == words[int(each[1:])] for each in sample.ids}
    weights = {each: 1 / probability for each, probability in sample.probabilities.items()}
    share = sum(weights[each] for each in right if right[each]) / sum(weights.values())
    assert found.labels.same.value == pytest.approx(share)


def test_labels_of_a_drawn_sample_are_refused_without_it() -> None:
    verdicts, labels = population(60)
    sample = draw(verdicts, 20)
    people = Labels(labels.by_case, samples=dict.fromkeys(sample.ids, sample.id))
    with pytest.raises(LabelError, match=r"no_sample.*give the `sample`"):
        agree(verdicts, people)


def test_rows_of_a_drawn_group_are_resampled_together() -> None:
    verdicts, labels = population(600)
    groups = {each: f"g{int(each[1:]) // 6}" for each in labels.by_case}
    sample = draw(verdicts, 30, groups=groups)
    (found,) = agree(verdicts, drawn_of(labels, sample))
    assert (found.n, found.n_groups) == (180, 30)


@pytest.mark.soak
@pytest.mark.parametrize("n", [100, 300])
def test_intervals_hold_the_figures_of_all_rows(n: int) -> None:
    held = dict.fromkeys(NAMES, 0)
    for seed in range(300):
        verdicts, labels = population(1000, seed)
        (whole,), (found,) = (
            agree(verdicts, labels, resamples=2),
            agree(verdicts, drawn_of(labels, draw(verdicts, n, seed=seed)), resamples=400),
        )
        for name in NAMES:
            figure, true = found.figures[name], whole.figures[name].value or 0.0
            held[name] += (figure.low or 0.0) <= true <= (figure.high or 0.0)
    assert min(held.values()) >= 0.93 * 300, held
