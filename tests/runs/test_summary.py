"""Summaries: means, coverage, bounds and counts per judge."""

from __future__ import annotations

import random
from typing import Any

import pytest

from groundjudge.runs.summary import Tally, summarise
from groundjudge.verdict import Failure, Verdict


def ok(score: float, label: str | None = None, *, judge: str = "j", passed: bool | None = None) -> Verdict:
    passed = score >= 0.5 if passed is None else passed
    return Verdict(judge=judge, status="ok", score=score, label=label, passed=passed)


def error(code: str = "timeout", judge: str = "j") -> Verdict:
    return Verdict(judge=judge, status="error", error=Failure(code=code, message="because"))


def not_applicable(label: str, *, judge: str = "j", passed: bool | None = None) -> Verdict:
    return Verdict(judge=judge, status="not_applicable", label=label, passed=passed)


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        pytest.param(
            [ok(1.0), error()],
            {"mean": 1.0, "coverage": 0.5, "bounds": (0.5, 1.0), "n_ok": 1, "n_error": 1},
            id="error counts in coverage and bounds, not in the mean",
        ),
        pytest.param(
            [error(), error("quota")],
            {"mean": None, "coverage": 0.0, "bounds": (0.0, 1.0), "pass_rate": None},
            id="only errors",
        ),
        pytest.param(
            [ok(0.25), error("server"), error("missing_field"), error("missing_field")],
            {"mean": 0.25, "coverage": 0.25, "n_error": 3, "errors": {"missing_field": 2, "server": 1}},
            id="a missing field is an error, and codes are by frequency",
        ),
        pytest.param(
            [not_applicable("empty_response")] * 2,
            {"mean": None, "coverage": None, "bounds": None, "pass_rate": None, "n_ok": 0, "n_error": 0},
            id="no row should have a score: its coverage is undefined",
        ),
        pytest.param(
            [ok(0.0), not_applicable("nothing_to_ground", passed=True)],
            {"mean": 0.0, "pass_rate": 0.0, "coverage": 1.0, "n_not_applicable": 1},
            id="not applicable counts in neither mean nor pass rate nor coverage",
        ),
        pytest.param(
            [ok(1, "grounded"), ok(0.25, "incorrect"), ok(1, "grounded"), ok(0, "ungrounded")],
            {
                "pass_rate": 0.5,
                "labels": {"grounded": 2, "incorrect": 1, "ungrounded": 1},
            },
            id="labels by frequency, then by name",
        ),
        pytest.param([ok(0.1)] * 10, {"mean": 0.1}, id="the mean of equal scores is exact"),
        pytest.param([ok(0.4, passed=True)], {"pass_rate": 1.0}, id="passed is taken from the verdict"),
    ],
)
def test_verdicts_are_summarised(verdicts: list[Verdict], expected: dict[str, Any]) -> None:
    (summary,) = summarise(verdicts)
    assert {name: getattr(summary, name) for name in expected} == expected
    assert summary.n == len(verdicts)


def test_further_scores_have_means_over_the_rows_that_have_them() -> None:
    scores: list[dict[str, float]] = [{"mean": 0.5, "weakest": 0.1}, {"mean": 0.7}, {}]
    verdicts = [ok(1.0).model_copy(update={"scores": further}) for further in scores]
    (summary,) = summarise([*verdicts, error()])
    assert summary.scores == {"mean": 0.6, "weakest": 0.1}


def test_summaries_are_sorted_by_judge_with_unreadable_rows_first() -> None:
    assert summarise([]) == []
    verdicts = [ok(1, judge="b"), ok(0, judge="a"), ok(0.5, judge="b"), error("unreadable_row", judge="")]
    assert [(s.judge, s.mean, s.n) for s in summarise(verdicts)] == [
        ("", None, 1),
        ("a", 0.0, 1),
        ("b", 0.75, 2),
    ]


def test_judges_passed_to_the_tally_come_first_even_without_verdicts() -> None:
    tally = Tally(["z", "b", "a"])
    for verdict in (ok(1, judge="c"), ok(1, judge="a"), ok(1, judge="0")):
        tally.add(verdict)
    assert [(s.judge, s.n) for s in tally.summaries()] == [("z", 0), ("b", 0), ("a", 1), ("0", 1), ("c", 1)]


def test_order_of_verdicts_does_not_matter() -> None:
    noise = random.Random(7)  # noqa: S311  not a secret
    verdicts = [ok(noise.random(), f"l{number % 3}") for number in range(200)]
    verdicts += [error(), error("server"), not_applicable("empty_response")]
    expected = summarise(verdicts)
    for _ in range(20):
        noise.shuffle(verdicts)
        assert summarise(verdicts) == expected


@pytest.mark.parametrize(
    "verdicts", [pytest.param("v.jsonl", id="a path"), pytest.param([{"score": 1}], id="mappings")]
)
def test_what_are_no_verdicts_have_no_summary(verdicts: Any) -> None:
    with pytest.raises(
        TypeError, match=r"summarise takes the verdicts that run\(\) yields, in an iterable, not"
    ):
        summarise(verdicts)
