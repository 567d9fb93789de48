"""Agreement with human labels: figures, reasons for undefined ones, disagreements, curves, single labels."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

import pytest
from make_verdicts import error, joined, labelled, panel_verdict, verdict, vote

from groundjudge.lab.agreement import (
    NO_COMMON_LABEL,
    Agreement,
    AgreeOptions,
    ConfusionMatrix,
    LabelAgreement,
    ReliabilityBin,
    agree,
    measure_agreement,
)
from groundjudge.lab.figures import Figure
from groundjudge.lab.labels import JudgedRows, Labels, Unscored, join
from groundjudge.lab.libraries import metrics
from groundjudge.verdict import Part


def matrix(*counts: int) -> ConfusionMatrix:
    """True and false positives, false and true negatives."""
    names = ("true_positives", "false_positives", "false_negatives", "true_negatives")
    return ConfusionMatrix.model_validate(dict(zip(names, counts, strict=True)))


def test_each_judge_is_measured_on_its_own_rows() -> None:
    verdicts = [
        *(verdict(case_id, score) for case_id, score in zip("abcd", (1.0, 0.75, 0.25, 0.0), strict=True)),
        verdict("e", None),
        error("f", "timeout"),
        *(verdict(case_id, 1.0, judge="two") for case_id in "ab"),
    ]
    one, two = agree(verdicts, Labels({"a": 1, "b": 0, "c": 1, "d": 0, "e": 1, "f": 1}))
    assert one.confusion == matrix(1, 1, 1, 1)
    assert (one.n, one.base_rate, one.guess["accuracy"]) == (4, 0.5, 0.5)
    assert (one.counts["n_error"], one.counts["n_not_applicable"]) == (1, 1)
    assert (one.figures["accuracy"].value, one.figures["roc_auc"].value) == (0.5, 0.75)
    assert (two.n, two.counts["n_unjudged"], two.confusion) == (2, 4, matrix(1, 1, 0, 0))


ONE_CLASS = {"balanced_accuracy", "macro_f1", "kappa", "roc_auc"}
GROUNDED = {"precision", "recall", "f1"}
NOT_GROUNDED = {f"{name}_not_grounded" for name in GROUNDED}
BINARY, CORRELATIONS = ONE_CLASS | GROUNDED | NOT_GROUNDED | {"accuracy"}, {"pearson", "spearman", "kendall"}
UNDEFINED: list[tuple[list[float], list[int | None], set[str], str]] = [
    ([1.0, 0.0], [1, 1], ONE_CLASS | {"recall_not_grounded"}, "every label is positive"),
    ([1.0, 0.0], [0, 0], ONE_CLASS | {"recall"}, "every label is negative"),
    ([0.0, 0.25], [1, 0], {"precision"}, "nothing passed"),
    ([1.0, 0.75], [1, 0], {"precision_not_grounded"}, "everything passed"),
    ([1.0, 0.0], [1, 0], CORRELATIONS, "the labels are not graded"),
    ([1.0, 1.0], [1, 3], CORRELATIONS, "scores or labels do not vary"),
    ([1.0, 0.0], [1, 3], BINARY, "the labels are graded, and no label threshold"),
    ([1.0], [None], BINARY | CORRELATIONS, "no row has both a score and a label"),
]


@pytest.mark.parametrize(("scores", "labels", "names", "reason"), UNDEFINED)
def test_undefined_figures_have_a_reason(
    scores: list[float], labels: list[int | None], names: set[str], reason: str
) -> None:
    found = measure_agreement(joined(scores, labels))
    assert {name for name, why in found.undefined.items() if why.startswith(reason)} == names
    assert found.undefined.keys() == {name for name, figure in found.figures.items() if figure.value is None}
    assert bool(found.curves.roc) is (found.figures["roc_auc"].value is not None)


ROUNDED, GRADED = joined([0.3, 0.1 + 0.2, 0.2], [1, 1, 0]), joined([0.0, 0.25, 0.5, 1.0], [1, 2, 4, 5])
ON_SCALE = [verdict(case_id, 1.0, judge="groundedness") for case_id in "ab"]
(OWN,) = join(ON_SCALE, Labels({"a": {"groundedness": 4}, "b": {"groundedness": 2}}))


@pytest.mark.parametrize(
    ("rows", "options", "counts"),
    [
        (ROUNDED, {}, (0, 0, 2, 1)),  # as in the run
        (ROUNDED, {"threshold": 0.3}, (2, 0, 0, 1)),
        (GRADED, {"label_threshold": 4}, (2, 0, 0, 2)),
        (OWN, {}, (1, 1, 0, 0)),  # by the judge's own threshold
    ],
)
def test_thresholds_decide_which_scores_pass_and_which_labels_are_positive(
    rows: JudgedRows, options: AgreeOptions, counts: tuple[int, ...]
) -> None:
    assert measure_agreement(rows, **options).confusion == matrix(*counts)


@pytest.mark.parametrize("labels", [[1, 1, 0, 0, 0, 1], [5, 4, 1, 2, 2, 4]])
def test_rows_without_a_score_have_bounds_or_count(labels: list[int]) -> None:
    scores = dict(zip("abcd", (1.0, 1.0, 0.0, 0.0), strict=True))
    verdicts = [*(verdict(*each) for each in scores.items()), verdict("e", None), error("f", "timeout")]
    people = Labels(dict(zip("abcdef", labels, strict=True)))
    options: AgreeOptions = {"label_threshold": 3 if max(labels) > 1 else None}
    (left_out,) = agree(verdicts, people, **options)
    assert (left_out.n, left_out.n_unscored, left_out.figures["accuracy"].value) == (4, 2, 1.0)
    assert left_out.bounds["accuracy"] == pytest.approx((4 / 6, 1))
    assert left_out.bounds["recall_not_grounded"] == pytest.approx((2 / 3, 1))
    cases: list[tuple[Unscored, int]] = [("wrong", 4), ("right", 6), ("as-run", 4)]
    for how, n_right in cases:  # "not applicable" passes, and no error
        counting: AgreeOptions = {**options, "count_unscored": how}
        (counted,) = agree(verdicts, people, **counting)
        assert counted.n == 6
        assert counted.figures["accuracy"].value == pytest.approx(n_right / 6)
        assert (counted.bounds, counted.worst) == (left_out.bounds, ())
    (unlabelled,) = agree(verdicts, Labels({"a": 1, "b": 1}))
    assert (unlabelled.n_unscored, unlabelled.bounds) == (0, {})


def test_threshold_per_judge_leaves_other_judges_as_in_the_run() -> None:
    verdicts = [verdict("a", 0.6, judge=judge) for judge in ("one", "two")]
    found = agree(verdicts, Labels({"a": 1}), threshold={"two": 0.9})
    assert [(one.judge, one.threshold) for one in found] == [("one", None), ("two", 0.9)]
    assert [one.confusion.true_positives for one in found if one.confusion] == [1, 0]


def test_disagreements_are_sorted_by_gap_and_leave_out_agreements() -> None:
    found = measure_agreement(joined([0.4, 0.0, 0.9, 1.0, 0.6], [1, 1, 0, 1, 0]), worst=3)
    order = [(row.case_id[-1], row.score, row.passed, row.label) for row in found.worst]
    assert order == [("1", 0.0, False, 1.0), ("2", 0.9, True, 0.0), ("0", 0.4, False, 1.0)]


def test_disagreement_has_the_verdicts_explanation() -> None:
    parts = tuple(Part(name=name, value=value, score=value / 10) for name, value in (("A.", 9), ("B.", 1)))
    verdicts = [verdict("a", 0.0, reason="because"), verdict("b", 0.1, parts=parts)]
    (found,) = agree(verdicts, Labels({"a": 1, "b": 1}))
    assert [row.reason for row in found.worst] == ["because", "B. (1)\nA. (9)"]


def test_curves_hold_reliability_bins_and_roc_points() -> None:
    curves = measure_agreement(joined([0.0, 0.04, 1.0, 1.0], [0, 1, 1, 0])).curves
    assert curves.bins == (
        ReliabilityBin(mean_score=0.02, share_grounded=0.5, n=2),
        ReliabilityBin(mean_score=1.0, share_grounded=0.5, n=2),
    )
    assert (curves.roc[0], curves.roc[-1]) == ((0.0, 0.0), (1.0, 1.0))
    assert (0.5, 0.5) in curves.roc


SCORES = {"bad": 0.0, "fair": 0.5, "good": 1.0, "cannot tell": None}
PAIRS = [
    ("good", "good"), ("good", "good"), ("good", "good"), ("good", "bad"), ("fair", "good"), ("fair", "fair"),
    ("bad", "bad"), ("bad", "bad"), ("bad", "fair"), ("cannot tell", "cannot tell"), ("cannot tell", "bad"),
    ("fair", "cannot tell"),
]  # fmt: skip
"""What people say of a case, and what the judge does."""


def measured(pairs: Sequence[tuple[str, str]], group: str | None = None) -> tuple[Agreement, LabelAgreement]:
    verdicts = [labelled(str(place), said, SCORES[said]) for place, (_, said) in enumerate(pairs)]
    people = {str(place): word.upper() for place, (word, _) in enumerate(pairs)}
    (found,) = agree(verdicts, Labels(people, dict.fromkeys(people, group) if group else {}))
    assert found.labels
    return found, found.labels


def test_matrix_has_people_in_rows_and_the_judge_in_columns_by_rising_score() -> None:
    _, found = measured(PAIRS)
    assert found.labels == found.columns == ("bad", "fair", "good", "cannot tell")
    assert found.scores == (0.0, 0.5, 1.0, None)
    assert found.counts == ((2, 1, 0, 0), (0, 1, 1, 1), (1, 0, 3, 0), (1, 0, 0, 1))
    assert (found.n, found.n_scored, found.majority, found.majority_share) == (12, 9, "good", 4 / 12)


def test_weighted_kappa_is_scikit_learns_on_rows_that_both_score() -> None:
    _, found = measured(PAIRS)
    people, judge = ([2 * (SCORES[pair[side]] or 0) for pair in PAIRS[:9]] for side in (0, 1))
    expected = metrics.cohen_kappa_score(people, judge, weights="quadratic")
    assert found.weighted_kappa.value == pytest.approx(expected)
    assert found.same.value == pytest.approx(7 / 12)
    for figure in (found.weighted_kappa, found.same):
        assert (figure.low or 1) < (figure.value or 0) < (figure.high or 0)


@pytest.mark.parametrize(
    "pairs", [[("good", "good"), ("good", "bad")], [("cannot tell", "good"), ("good", "cannot tell")]]
)
def test_weighted_kappa_is_undefined_where_people_do_not_differ(pairs: Sequence[tuple[str, str]]) -> None:
    assert measured(pairs)[1].weighted_kappa == Figure()


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
    found, _ = measured(PAIRS)
    assert found.confusion
    assert (found.confusion.true_positives, found.confusion.false_negatives) == (5, 1)
    assert (found.n, found.counts["n_label_not_applicable"], found.counts["n_not_applicable"]) == (9, 1, 2)
    assert {row.word for row in found.worst} == {"good", "bad"}


def test_groups_are_resampled_together() -> None:
    _, found = measured(PAIRS, group="one")
    assert (found.same.low, found.weighted_kappa.low) == (None, None)


def printed_by(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def test_importing_the_command_line_and_the_report_imports_no_statistics_library() -> None:
    code = "import sys, groundjudge.cli.app, groundjudge.report.page; print(*sys.modules)"
    assert not {"numpy", "scipy", "sklearn"} & {*printed_by(code).split()}


def test_missing_statistics_library_raises_an_error_that_names_the_extra() -> None:
    code = """
import sys
sys.modules["scipy"] = None
for name in ("agreement", "calibration", "comparison"):
    try:
        __import__(f"groundjudge.lab.{name}")
    except ImportError as error:
        print(error)
"""
    assert printed_by(code).count('pip install "groundjudge[analysis]"') == 3
