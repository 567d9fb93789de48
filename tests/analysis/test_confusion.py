"""Agreement label by label: the matrix, weighted kappa and the majority baseline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from make_verdicts import labelled, panel_verdict, vote

from groundjudge.analysis.agreement import NO_COMMON_LABEL, Agreement, agree
from groundjudge.analysis.figures import Figure
from groundjudge.analysis.labels import Labels
from groundjudge.analysis.libraries import metrics

SCORES = {"bad": 0.0, "fair": 0.5, "good": 1.0, "cannot tell": None}
PAIRS = [
    ("good", "good"), ("good", "good"), ("good", "good"), ("good", "bad"), ("fair", "good"), ("fair", "fair"),
    ("bad", "bad"), ("bad", "bad"), ("bad", "fair"), ("cannot tell", "cannot tell"), ("cannot tell", "bad"),
    ("fair", "cannot tell"),
]  # fmt: skip
"""What people say of a case, and what the judge does."""


def measured(pairs: Sequence[tuple[str, str]], **options: Any) -> Agreement:
    verdicts = [labelled(str(place), said, SCORES[said]) for place, (_, said) in enumerate(pairs)]
    people = {str(place): word.upper() for place, (word, _) in enumerate(pairs)}
    (found,) = agree(verdicts, Labels(people), **options)
    return found


def test_matrix_has_people_in_rows_and_the_judge_in_columns_by_rising_score() -> None:
    found = measured(PAIRS).labels
    assert found
    assert found.labels == found.columns == ("bad", "fair", "good", "cannot tell")
    assert found.scores == (0.0, 0.5, 1.0, None)
    assert found.counts == ((2, 1, 0, 0), (0, 1, 1, 1), (1, 0, 3, 0), (1, 0, 0, 1))
    assert (found.n, found.n_scored, found.majority, found.majority_share) == (12, 9, "good", 4 / 12)


def test_weighted_kappa_is_scikit_learns_on_rows_that_both_score() -> None:
    found = measured(PAIRS).labels
    assert found
    scored = [(SCORES[people], SCORES[judge]) for people, judge in PAIRS[:9]]
    people, judge = zip(*((2 * (a or 0), 2 * (b or 0)) for a, b in scored), strict=True)
    expected = metrics.cohen_kappa_score(people, judge, weights="quadratic")
    assert found.weighted_kappa.value == pytest.approx(expected)
    assert found.same.value == pytest.approx(7 / 12)
    for figure in (found.weighted_kappa, found.same):
        assert (figure.low or 1) < (figure.value or 0) < (figure.high or 0)


@pytest.mark.parametrize(
    "pairs", [[("good", "good"), ("good", "bad")], [("cannot tell", "good"), ("good", "cannot tell")]]
)
def test_weighted_kappa_is_undefined_where_people_do_not_differ(pairs: Sequence[tuple[str, str]]) -> None:
    found = measured(pairs).labels
    assert found
    assert found.weighted_kappa == Figure()


def test_a_panel_without_a_common_label_has_a_column_of_its_own() -> None:
    names = ("good", "fair", "bad")
    good, fair, bad = (vote(name, SCORES[name], label=name, value=SCORES[name]) for name in names)
    verdicts = [
        panel_verdict("a", good, fair, bad),
        panel_verdict("b", good, good, label="good"),
        panel_verdict("c", bad, bad, label="bad"),
    ]
    (found,) = agree(verdicts, Labels({"a": "fair", "b": "good", "c": "good"}))
    assert found.labels
    assert found.labels.columns == ("bad", "fair", "good", NO_COMMON_LABEL)
    assert found.labels.counts == ((0, 0, 0, 0), (0, 0, 0, 1), (1, 0, 1, 0))
    assert (found.labels.n, found.labels.n_scored) == (3, 2)
    assert found.labels.same.value == pytest.approx(1 / 3)


def test_labels_in_words_are_positive_where_the_judge_would_pass_them() -> None:
    found = measured(PAIRS)
    assert found.confusion
    assert (found.confusion.true_positives, found.confusion.false_negatives) == (5, 1)
    assert (found.n, found.counts["n_label_not_applicable"], found.counts["n_not_applicable"]) == (9, 1, 2)
    assert {row.word for row in found.worst} == {"good", "bad"}


def test_groups_are_resampled_together() -> None:
    people = {str(place): word for place, (word, _) in enumerate(PAIRS)}
    verdicts = [labelled(str(place), said, SCORES[said]) for place, (_, said) in enumerate(PAIRS)]
    (found,) = agree(verdicts, Labels(people, dict.fromkeys(people, "one")))
    assert found.labels
    assert (found.labels.same.low, found.labels.weighted_kappa.low) == (None, None)
