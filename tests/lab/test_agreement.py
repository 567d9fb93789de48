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
from groundjudge.lab.labels import JudgedRows, Labels, LabelVocabulary, join
from groundjudge.lab.libraries import import_library
from groundjudge.verdict import Part, Verdict


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
    first, second = agree(verdicts, Labels({"a": 1, "b": 0, "c": 1, "d": 0, "e": 1, "f": 1}))
    assert first.confusion == matrix(1, 1, 1, 1)
    assert (first.n, first.base_rate, first.guess["accuracy"]) == (4, 0.5, 0.5)
    assert (first.counts["n_error"], first.counts["n_not_applicable"]) == (1, 1)
    assert (first.figures["accuracy"].value, first.figures["roc_auc"].value) == (0.5, 0.75)
    assert (second.n, second.counts["n_unjudged"], second.confusion) == (2, 4, matrix(1, 1, 0, 0))


ONE_CLASS = {"balanced_accuracy", "macro_f1", "kappa", "roc_auc"}
GROUNDED = {"precision", "recall", "f1"}
NOT_GROUNDED = {f"{name}_not_grounded" for name in GROUNDED}
BINARY, SPEARMAN = ONE_CLASS | GROUNDED | NOT_GROUNDED | {"accuracy"}, {"spearman"}
UNDEFINED = [
    pytest.param(
        [1.0, 0.0],
        [1, 1],
        ONE_CLASS | {"recall_not_grounded"},
        "every label is positive",
        id="only grounded rows",
    ),
    pytest.param(
        [1.0, 0.0],
        [0, 0],
        ONE_CLASS | {"recall"},
        "every label is negative",
        id="only rows that are not grounded",
    ),
    pytest.param([0.0, 0.25], [1, 0], {"precision"}, "nothing passed", id="nothing passed"),
    pytest.param(
        [1.0, 0.75], [1, 0], {"precision_not_grounded"}, "everything passed", id="everything passed"
    ),
    pytest.param([1.0, 0.0], [1, 0], SPEARMAN, "the labels are not grades", id="labels without grades"),
    pytest.param([1.0, 1.0], [1, 3], SPEARMAN, "scores or labels do not vary", id="constant scores"),
    pytest.param(
        [1.0, 0.0],
        [1, 3],
        BINARY,
        "the labels are grades, and no label threshold",
        id="grades without a threshold",
    ),
    pytest.param([1.0], [None], BINARY | SPEARMAN, "no row has both a score and a label", id="no label"),
]


@pytest.mark.parametrize(("scores", "labels", "names", "reason"), UNDEFINED)
def test_undefined_figures_have_a_reason(
    scores: list[float], labels: list[int | None], names: set[str], reason: str
) -> None:
    agreement = measure_agreement(joined(scores, labels))
    assert {
        name for name, undefined_reason in agreement.undefined.items() if undefined_reason.startswith(reason)
    } == names
    assert agreement.undefined.keys() == {
        name for name, figure in agreement.figures.items() if figure.value is None
    }
    assert bool(agreement.curves.roc) is (agreement.figures["roc_auc"].value is not None)


ROUNDED = joined([0.3, 0.1 + 0.2, 0.2], [1, 1, 0])
GRADED = joined([0.0, 0.25, 0.5, 1.0], [1, 2, 4, 5])
BUILT_IN = [verdict(case_id, 1.0, judge="groundedness") for case_id in "ab"]
(IN_ITS_WORDS,) = join(BUILT_IN, Labels({"a": "incomplete", "b": "incorrect"}))
(ON_ITS_SCALE,) = join(BUILT_IN, Labels({"a": {"groundedness": 4}, "b": {"groundedness": 2}}))
(NO_GRADE_JUDGED,) = join(BUILT_IN, Labels({"a": 1, "b": 0, "unjudged": 3}))


@pytest.mark.parametrize(
    ("rows", "options", "counts"),
    [
        pytest.param(ROUNDED, {}, (0, 0, 2, 1), id="as in the run"),
        pytest.param(ROUNDED, {"threshold": 0.3}, (2, 0, 0, 1), id="a threshold for scores"),
        pytest.param(GRADED, {"label_threshold": 4}, (2, 0, 0, 2), id="a threshold for grades"),
        pytest.param(IN_ITS_WORDS, {}, (1, 1, 0, 0), id="the judge's own threshold for words"),
        pytest.param(ON_ITS_SCALE, {}, (1, 1, 0, 0), id="the judge's own threshold"),
        pytest.param(NO_GRADE_JUDGED, {}, (1, 1, 0, 0), id="grades of which those judged are 0 and 1"),
    ],
)
def test_thresholds_decide_which_scores_pass_and_which_labels_are_positive(
    rows: JudgedRows, options: AgreeOptions, counts: tuple[int, ...]
) -> None:
    assert measure_agreement(rows, **options).confusion == matrix(*counts)


@pytest.mark.parametrize(
    "labels",
    [pytest.param([1, 1, 0, 0, 0, 1], id="grounded or not"), pytest.param([5, 4, 1, 2, 2, 4], id="grades")],
)
def test_rows_without_a_score_have_bounds(labels: list[int]) -> None:
    scores = dict(zip("abcd", (1.0, 1.0, 0.0, 0.0), strict=True))
    verdicts = [verdict(case_id, score) for case_id, score in scores.items()]
    verdicts += [verdict("e", None), error("f", "timeout")]
    human_labels = Labels(dict(zip("abcdef", labels, strict=True)))
    options: AgreeOptions = {"label_threshold": 3 if max(labels) > 1 else None}
    (without_unscored,) = agree(verdicts, human_labels, **options)
    assert (without_unscored.n, without_unscored.n_unscored, without_unscored.figures["accuracy"].value) == (
        4,
        2,
        1.0,
    )
    assert without_unscored.bounds["accuracy"] == pytest.approx((4 / 6, 1))
    assert without_unscored.bounds["recall_not_grounded"] == pytest.approx((2 / 3, 1))
    (all_scored,) = agree(verdicts, Labels({"a": 1, "b": 1}))
    assert (all_scored.n_unscored, all_scored.bounds) == (0, {})


def test_threshold_per_judge_leaves_other_judges_as_in_the_run() -> None:
    verdicts = [verdict("a", 0.6, judge=judge) for judge in ("one", "two")]
    first, second = agree(verdicts, Labels({"a": 1}), threshold={"two": 0.9})
    assert (first.judge, first.threshold, first.confusion) == ("one", None, matrix(1, 0, 0, 0))
    assert (second.judge, second.threshold, second.confusion) == ("two", 0.9, matrix(0, 0, 1, 0))


def test_panel_passes_a_threshold_by_majority() -> None:
    verdicts = [panel_verdict("a", vote("m1", 0.9), vote("m2", 0.8), vote("m3", 0.1))]  # the mean is .6
    for threshold, expected in (0.7, matrix(1, 0, 0, 0)), (0.85, matrix(0, 0, 1, 0)):
        (agreement,) = agree(verdicts, Labels({"a": 1}), threshold=threshold)
        assert agreement.confusion == expected


def test_disagreements_are_sorted_by_gap_and_leave_out_agreements() -> None:
    agreement = measure_agreement(joined([0.4, 0.0, 0.9, 1.0, 0.6], [1, 1, 0, 1, 0]), worst=3)
    order = [(row.case_id[-1], row.score, row.passed, row.label) for row in agreement.worst]
    assert order == [("1", 0.0, False, 1.0), ("2", 0.9, True, 0.0), ("0", 0.4, False, 1.0)]


def test_disagreement_has_the_verdicts_explanation() -> None:
    parts = (Part(name="A.", value=9, score=0.9), Part(name="B.", value=1, score=0.1))
    verdicts = [verdict("a", 0.0, reason="because"), verdict("b", 0.1, parts=parts)]
    (agreement,) = agree(verdicts, Labels({"a": 1, "b": 1}))
    assert [row.reason for row in agreement.worst] == ["because", "B. (1)\nA. (9)"]


def test_curves_hold_reliability_bins_and_roc_points() -> None:
    curves = measure_agreement(joined([0.0, 0.04, 1.0, 1.0], [0, 1, 1, 0])).curves
    assert curves.bins == (
        ReliabilityBin(mean_score=0.02, share_grounded=0.5, n=2),
        ReliabilityBin(mean_score=1.0, share_grounded=0.5, n=2),
    )
    assert (curves.roc[0], curves.roc[-1]) == ((0.0, 0.0), (1.0, 1.0))
    assert (0.5, 0.5) in curves.roc


SCORES = {"bad": 0.0, "fair": 0.5, "good": 1.0, "cannot tell": None}
VOCABULARY = LabelVocabulary(SCORES, 0.5)
PAIRS = [
    ("good", "good"), ("good", "good"), ("good", "good"), ("good", "bad"), ("fair", "good"), ("fair", "fair"),
    ("bad", "bad"), ("bad", "bad"), ("bad", "fair"), ("cannot tell", "cannot tell"), ("cannot tell", "bad"),
    ("fair", "cannot tell"),
]  # fmt: skip
"""What people say of a case, and what the judge does."""


def measure_pairs(
    pairs: Sequence[tuple[str, str]], group: str | None = None
) -> tuple[Agreement, LabelAgreement]:
    """The agreement on cases with these labels; all cases are of the group, if there is one."""
    verdicts: list[Verdict] = []
    human_labels: dict[str, str] = {}
    for place, (human_label, judge_label) in enumerate(pairs):
        verdicts.append(labelled(str(place), judge_label, SCORES[judge_label]))
        human_labels[str(place)] = human_label.upper()
    groups = dict.fromkeys(human_labels, group) if group else {}
    (agreement,) = agree(verdicts, Labels(human_labels, groups, VOCABULARY))
    assert agreement.labels
    return agreement, agreement.labels


def test_matrix_has_people_in_rows_and_the_judge_in_columns_by_rising_score() -> None:
    _, label_agreement = measure_pairs(PAIRS)
    assert label_agreement.labels == label_agreement.columns == ("bad", "fair", "good", "cannot tell")
    assert label_agreement.scores == (0.0, 0.5, 1.0, None)
    assert label_agreement.counts == ((2, 1, 0, 0), (0, 1, 1, 1), (1, 0, 3, 0), (1, 0, 0, 1))
    assert (
        label_agreement.n,
        label_agreement.n_scored,
        label_agreement.majority,
        label_agreement.majority_share,
    ) == (12, 9, "good", 4 / 12)


def test_weighted_kappa_is_scikit_learns_on_rows_that_both_score() -> None:
    _, label_agreement = measure_pairs(PAIRS)
    both_scored = PAIRS[:9]
    people = [2 * (SCORES[human_label] or 0) for human_label, _ in both_scored]
    judge = [2 * (SCORES[judge_label] or 0) for _, judge_label in both_scored]
    expected = import_library("sklearn.metrics").cohen_kappa_score(people, judge, weights="quadratic")
    assert label_agreement.weighted_kappa.value == pytest.approx(expected)
    assert label_agreement.same.value == pytest.approx(7 / 12)
    for figure in (label_agreement.weighted_kappa, label_agreement.same):
        assert (figure.low or 1) < (figure.value or 0) < (figure.high or 0)


@pytest.mark.parametrize(
    "pairs",
    [
        pytest.param([("good", "good"), ("good", "bad")], id="one label throughout"),
        pytest.param([("cannot tell", "good"), ("good", "cannot tell")], id="one label with a score"),
    ],
)
def test_weighted_kappa_is_undefined_where_people_do_not_differ(pairs: Sequence[tuple[str, str]]) -> None:
    assert measure_pairs(pairs)[1].weighted_kappa == Figure()


def test_a_panel_without_a_common_label_has_a_column_of_its_own() -> None:
    good = vote("good", 1.0, label="good", value=1.0)
    fair = vote("fair", 0.5, label="fair", value=0.5)
    bad = vote("bad", 0.0, label="bad", value=0.0)
    verdicts = [
        panel_verdict("a", good, fair, bad),
        panel_verdict("b", good, good, label="good"),
        panel_verdict("c", bad, bad, label="bad"),
    ]
    labels = Labels({"a": "fair", "b": "good", "c": "good"}, vocabulary=VOCABULARY)
    (agreement,) = agree(verdicts, labels)
    assert agreement.labels
    assert agreement.labels.columns == ("bad", "fair", "good", NO_COMMON_LABEL)
    assert agreement.labels.counts == ((0, 0, 0, 0), (0, 0, 0, 1), (1, 0, 1, 0))
    assert (agreement.labels.n, agreement.labels.n_scored) == (3, 2)
    assert agreement.labels.same.value == pytest.approx(1 / 3)


def test_labels_in_words_are_positive_where_the_judge_would_pass_them() -> None:
    agreement, _ = measure_pairs(PAIRS)
    assert agreement.confusion
    assert (agreement.confusion.true_positives, agreement.confusion.false_negatives) == (5, 1)
    assert (
        agreement.n,
        agreement.counts["n_label_not_applicable"],
        agreement.counts["n_not_applicable"],
    ) == (9, 1, 2)
    assert {row.word for row in agreement.worst} == {"good", "bad"}


def test_groups_are_resampled_together() -> None:
    _, label_agreement = measure_pairs(PAIRS, group="one")
    assert (label_agreement.same.low, label_agreement.weighted_kappa.low) == (None, None)


def printed_by(code: str) -> str:
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


@pytest.mark.soak
def test_importing_the_command_line_and_the_report_imports_no_statistics_library() -> None:
    code = "import sys, groundjudge.cli.app, groundjudge.report.page; print(*sys.modules)"
    assert not {"numpy", "scipy", "sklearn"} & {*printed_by(code).split()}


@pytest.mark.soak
def test_missing_statistics_library_raises_an_error_that_names_the_extra() -> None:
    code = """
import sys
sys.modules["numpy"] = None
for name in ("agreement", "calibration", "comparison"):
    try:
        __import__(f"groundjudge.lab.{name}")
    except ImportError as error:
        print(error)
"""
    assert printed_by(code).count('pip install "groundjudge[analysis]"') == 3
