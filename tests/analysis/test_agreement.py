"""Agreement with human labels: figures, undefined figures and their reasons, disagreements, curves."""

from __future__ import annotations

import subprocess
import sys

import pytest
from make_verdicts import error, joined, verdict

from groundjudge.analysis.agreement import ConfusionMatrix, ReliabilityBin, agree, measure_agreement
from groundjudge.analysis.labels import Labels
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


ONE_CLASS = {"balanced_accuracy", "kappa", "roc_auc"}
UNDEFINED: list[tuple[list[float], list[int | None], set[str], str]] = [
    ([1.0, 0.0], [1, 1], ONE_CLASS, "every label is positive"),
    ([1.0, 0.0], [0, 0], ONE_CLASS | {"recall"}, "every label is negative"),
    ([0.0, 0.25], [1, 0], {"precision"}, "nothing passed"),
    ([1.0, 0.0], [1, 0], {"spearman"}, "the labels are not graded"),
    ([1.0, 1.0], [1, 3], {"spearman"}, "scores or labels do not vary"),
    (
        [1.0, 0.0],
        [1, 3],
        ONE_CLASS | {"accuracy", "f1"},
        "the labels are graded, and no label threshold says",
    ),
    (
        [1.0],
        [None],
        ONE_CLASS | {"accuracy", "precision", "recall", "f1", "spearman"},
        "no row has both a score and a label",
    ),
]


@pytest.mark.parametrize(("scores", "labels", "names", "reason"), UNDEFINED)
def test_undefined_figures_have_a_reason(
    scores: list[float], labels: list[int | None], names: set[str], reason: str
) -> None:
    found = measure_agreement(joined(scores, labels))
    assert {name for name, why in found.undefined.items() if why.startswith(reason)} >= names
    assert found.undefined.keys() == {name for name, figure in found.figures.items() if figure.value is None}
    assert bool(found.curves.roc) is (found.figures["roc_auc"].value is not None)


def test_graded_labels_give_spearman_and_with_a_label_threshold_the_other_figures() -> None:
    scores, grades = [0.0, 0.25, 0.5, 1.0], [1, 2, 4, 5]
    rows = joined(scores, grades)
    ranked, binary = (measure_agreement(rows, label_threshold=each) for each in (None, 4))
    assert ranked.figures["spearman"].value == pytest.approx(1.0)
    assert (ranked.confusion, ranked.base_rate, ranked.guess) == (None, None, {})
    assert binary.confusion == matrix(2, 0, 0, 2)


def test_labels_on_the_judges_scale_are_positive_from_the_judges_threshold_on() -> None:
    verdicts = [verdict(case_id, 1.0, judge="groundedness") for case_id in "ab"]
    (found,) = agree(verdicts, Labels({"a": {"groundedness": 4}, "b": {"groundedness": 2}}))
    assert found.confusion == matrix(1, 1, 0, 0)


def test_threshold_replaces_the_decisions_of_the_run() -> None:
    rows = joined([0.3, 0.1 + 0.2, 0.2], [1, 1, 0])
    assert measure_agreement(rows).confusion == matrix(0, 0, 2, 1)
    assert measure_agreement(rows, threshold=0.3).confusion == matrix(2, 0, 0, 1)


def test_threshold_per_judge_leaves_other_judges_as_in_the_run() -> None:
    verdicts = [verdict("a", 0.6, judge=judge) for judge in ("one", "two")]
    found = agree(verdicts, Labels({"a": 1}), threshold={"two": 0.9})
    assert [(one.judge, one.threshold) for one in found] == [("one", None), ("two", 0.9)]
    assert [one.confusion.true_positives for one in found if one.confusion] == [1, 0]


def test_disagreements_are_sorted_by_gap_and_leave_out_agreements() -> None:
    found = measure_agreement(joined([0.4, 0.0, 0.9, 1.0, 0.6], [1, 1, 0, 1, 0]), worst=3)
    assert [(row.case_id[-1], row.score, row.passed, row.label) for row in found.worst] == [
        ("1", 0.0, False, 1.0),
        ("2", 0.9, True, 0.0),
        ("0", 0.4, False, 1.0),
    ]


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


def test_importing_the_command_line_and_the_report_imports_no_statistics_library() -> None:
    code = (
        "import sys, groundjudge.cli.app, groundjudge.report.page\n"
        "print([name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "missing", ["scipy", *(pytest.param(each, marks=pytest.mark.soak) for each in ("numpy", "sklearn"))]
)
def test_missing_statistics_library_raises_an_error_that_names_the_extra(missing: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
for name in ("agreement", "calibration", "comparison"):
    try:
        __import__(f"groundjudge.analysis.{{name}}")
    except ImportError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.count('pip install "groundjudge[analysis]"') == 3
