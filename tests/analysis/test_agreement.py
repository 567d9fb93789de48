"""How far a judge agrees with people, and what is said where nothing can be measured."""

from __future__ import annotations

import subprocess
import sys

import pytest
from make_verdicts import error, joined, verdict

from groundjudge.analysis.agreement import Bin, Confusion, agree, measured
from groundjudge.analysis.labels import Labels
from groundjudge.verdict import Part


def test_every_judge_is_measured_on_its_own_rows() -> None:
    verdicts = [
        *(verdict(case_id, score) for case_id, score in zip("abcd", (1.0, 0.75, 0.25, 0.0), strict=True)),
        verdict("e", None),
        error("f", "timeout"),
        *(verdict(case_id, 1.0, judge="two") for case_id in "ab"),
    ]
    one, two = agree(verdicts, Labels({"a": 1, "b": 0, "c": 1, "d": 0, "e": 1, "f": 1}))
    assert one.confusion == Confusion(hits=1, false_passes=1, misses=1, rejections=1)
    assert (one.n, one.base_rate, one.n_error, one.n_not_applicable, one.guess["accuracy"]) == (
        4,
        0.5,
        1,
        1,
        0.5,
    )
    assert (one.figures["accuracy"].value, one.figures["roc_auc"].value) == (0.5, 0.75)
    assert (two.n, two.n_unjudged, two.confusion) == (
        2,
        4,
        Confusion(hits=1, false_passes=1, misses=0, rejections=0),
    )


@pytest.mark.parametrize(
    ("labels", "undefined", "reason"),
    [
        ([1, 1], {"balanced_accuracy", "kappa", "roc_auc", "spearman"}, "every label is positive"),
        ([0, 0], {"balanced_accuracy", "kappa", "recall", "roc_auc", "spearman"}, "every label is negative"),
    ],
)
def test_one_class_leaves_figures_undefined_and_says_why(
    labels: list[int], undefined: set[str], reason: str
) -> None:
    found = measured(joined([1.0, 0.0], labels))
    assert {name for name, figure in found.figures.items() if figure.value is None} == undefined
    assert found.undefined.keys() == undefined
    assert found.undefined["kappa"] == reason
    assert found.curves.roc == ()


@pytest.mark.parametrize(
    ("scores", "labels", "name", "reason"),
    [
        ([0.0, 0.25], [1, 0], "precision", "nothing passed"),
        ([1.0, 0.0], [1, 0], "spearman", "the labels are not graded"),
        ([1.0, 1.0], [1, 3], "spearman", "scores or labels do not vary"),
        ([1.0, 0.0], [1, 3], "kappa", "the labels are graded, and no label threshold says"),
        ([], [], "accuracy", "no row has both a score and a label"),
    ],
)
def test_what_is_undefined_is_said_to_be(
    scores: list[float], labels: list[int], name: str, reason: str
) -> None:
    found = measured(joined(scores, labels)) if scores else measured(joined([1.0], [None]))
    assert found.figures[name].value is None
    assert found.undefined[name].startswith(reason)


def test_graded_labels_are_compared_in_rank_and_by_a_mark() -> None:
    scores, grades = [0.0, 0.25, 0.5, 1.0], [1, 2, 4, 5]
    ranked, marked = (measured(joined(scores, grades), label_threshold=mark) for mark in (None, 4))
    assert ranked.figures["spearman"].value == pytest.approx(1.0)
    assert (ranked.confusion, ranked.base_rate, ranked.guess) == (None, None, {})
    assert marked.confusion == Confusion(hits=2, false_passes=0, misses=0, rejections=2)


def test_labels_on_the_judges_own_scale_pass_where_the_judge_would_pass() -> None:
    verdicts = [verdict(case_id, 1.0, judge="groundedness") for case_id in "ab"]
    (found,) = agree(verdicts, Labels({"a": {"groundedness": 4}, "b": {"groundedness": 2}}))
    assert found.confusion == Confusion(hits=1, false_passes=1, misses=0, rejections=0)


def test_a_threshold_replaces_what_passed_in_the_run() -> None:
    rows = joined([0.3, 0.1 + 0.2, 0.2], [1, 1, 0])
    assert measured(rows).confusion == Confusion(hits=0, false_passes=0, misses=2, rejections=1)
    assert measured(rows, threshold=0.3).confusion == Confusion(
        hits=2, false_passes=0, misses=0, rejections=1
    )


def test_thresholds_can_be_given_judge_by_judge() -> None:
    verdicts = [verdict("a", 0.6, judge=judge) for judge in ("one", "two")]
    found = agree(verdicts, Labels({"a": 1}), threshold={"two": 0.9})
    assert [(one.judge, one.threshold) for one in found] == [("one", None), ("two", 0.9)]
    assert [one.confusion.hits for one in found if one.confusion] == [1, 0]


def test_the_widest_gaps_come_first_and_agreement_is_none() -> None:
    found = measured(joined([0.4, 0.0, 0.9, 1.0, 0.6], [1, 1, 0, 1, 0]), worst=3)
    assert [(row.case_id[-1], row.score, row.passed, row.label) for row in found.worst] == [
        ("1", 0.0, False, 1.0),
        ("2", 0.9, True, 0.0),
        ("0", 0.4, False, 1.0),
    ]


def test_a_disagreement_tells_the_reason_or_the_lowest_parts() -> None:
    parts = tuple(Part(name=name, value=value, score=value / 10) for name, value in (("A.", 9), ("B.", 1)))
    verdicts = [verdict("a", 0.0, reason="because"), verdict("b", 0.1, parts=parts)]
    (found,) = agree(verdicts, Labels({"a": 1, "b": 1}))
    assert [row.reason for row in found.worst] == ["because", "lowest of 2 parts: B. (1)"]


def test_curves_show_the_scores_against_the_labels() -> None:
    curves = measured(joined([0.0, 0.04, 1.0, 1.0], [0, 1, 1, 0])).curves
    assert curves.bins == (
        Bin(mean_score=0.02, share_grounded=0.5, n=2),
        Bin(mean_score=1.0, share_grounded=0.5, n=2),
    )
    assert (curves.roc[0], curves.roc[-1]) == ((0.0, 0.0), (1.0, 1.0))
    assert (0.5, 0.5) in curves.roc


def test_importing_the_library_loads_no_statistics() -> None:
    code = (
        "import sys, groundjudge.cli.app, groundjudge.report.page\n"
        "print([name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["numpy", "scipy", "sklearn"])
def test_a_missing_library_is_an_error_that_names_the_extra(missing: str) -> None:
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
