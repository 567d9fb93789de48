"""The command `report`, as a user meets it."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Invoke
from make_verdicts import error, panel_verdict, verdict, vote
from verdict_files import some_labels, some_verdicts, write_rows, write_verdicts


def test_report_is_written_with_what_there_is(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("cases.jsonl", [row | {"response": "r", "context": "c"} for row in some_labels()])
    result = command("report", "v.jsonl", "--cases", "cases.jsonl", "-o", "page.html")
    assert result.exit_code == 0
    assert result.stdout.startswith("page.html: 40 verdicts, 40 cases, ")
    page = Path("page.html").read_text()
    assert '"kappa":{"value":' in page
    assert command("report", "v.jsonl").exit_code == 0
    assert '"agreement":null' in Path("report.html").read_text()


def test_a_label_of_the_cases_that_says_something_else_is_left_out(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("cases.jsonl", [{"id": 0, "response": "r", "label": "from the wiki"}])
    result = command("report", "v.jsonl", "--cases", "cases.jsonl")
    assert result.exit_code == 0
    assert "the labels are ignored: 'from the wiki' (1 row): not a number" in result.stdout


def test_cases_that_are_not_those_judged_are_refused(command: Invoke) -> None:
    rows = [{"query": "q", "context": "At 9.", "response": text} for text in ("At 9.", "At 8.", "Never.")]
    write_rows("judged.jsonl", rows)
    write_rows("other.jsonl", rows[1:])
    assert (
        command(
            "run", "judged.jsonl", "--judge", "groundedness", "--model", "offline", "-o", "v.jsonl"
        ).exit_code
        == 0
    )
    assert command("report", "v.jsonl", "--cases", "judged.jsonl").exit_code == 0
    result = command("report", "v.jsonl", "--cases", "other.jsonl", "-o", "other.html")
    assert (result.exit_code, Path("other.html").exists()) == (2, False)
    assert "the case 'row 1' differs from the one judged under this id" in result.stderr


def test_of_rows_with_one_id_the_first_is_shown_as_it_was_judged(command: Invoke) -> None:
    row = {"query": "q", "context": "At 9."}
    write_rows("cases.jsonl", [row | {"id": "a", "response": text} for text in ("At 9.", "At 8.")])
    judge = ("--judge", "groundedness", "--model", "offline")
    assert command("run", "cases.jsonl", *judge, "-o", "v.jsonl").exit_code == 1
    result = command("report", "v.jsonl", "--cases", "cases.jsonl")
    assert (result.exit_code, "2 verdicts, 1 cases" in result.stdout) == (0, True)
    page = Path("report.html").read_text()
    assert ('"response":"At 9."' in page, '"response":"At 8."' in page) == (True, False)


def test_report_tells_of_cases_none_of_which_was_judged(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("cases.jsonl", [{"number": 0, "response": "r"}])
    result = command("report", "v.jsonl", "--cases", "cases.jsonl")
    assert "0 cases" in result.stdout
    assert "cases.jsonl: no row has the id of a verdict: use the same --fields" in result.stdout


def test_report_tells_of_cases_that_cannot_be_shown(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    Path("cases.jsonl").write_text('{"id": 0, "response": "r"}\n[]\n')
    result = command("report", "v.jsonl", "--cases", "cases.jsonl")
    assert "report.html: 40 verdicts, 1 cases" in result.stdout
    assert result.stdout.count("cannot be shown") == 1
    assert "the labels are ignored: cases.jsonl: line 2" in result.stdout


def test_the_first_rows_of_each_kind_are_shown_and_figures_are_of_all(command: Invoke) -> None:
    """Two kinds of verdicts are more than the limit; people disagree with the last one of the second."""
    passed = [verdict(str(place), 1.0) for place in range(10)]
    failed = [verdict(str(place), 0.0) for place in range(10, 20)]
    write_verdicts("v.jsonl", [*passed, *failed, error("20", "timeout")])
    write_rows("cases.jsonl", [{"id": place, "response": f"r{place}", "context": "c"} for place in range(21)])
    write_rows("l.jsonl", [{"id": place, "label": int(place < 10 or place == 19)} for place in range(20)])
    result = command("report", "v.jsonl", "--cases", "cases.jsonl", "--labels", "l.jsonl", "--most-rows", "3")
    assert result.stdout.startswith("report.html: 8 verdicts, 8 cases, ")
    assert (
        "the table has 8 of 21 verdicts, the first 3 of each kind (--most-rows); all figures are over all"
        in (result.stdout)
    )
    page = Path("report.html").read_text()
    responses = [place for place in range(21) if f'"response":"r{place}"' in page]
    assert responses == [0, 1, 2, 10, 11, 12, 19, 20]
    assert '"n_verdicts":21,"n_cases":21,"most_of_a_kind":3' in page
    assert '"n_ok":20,"n_error":1' in page
    assert '"true_positives":10,"false_positives":0,"false_negatives":1,"true_negatives":9' in page
    assert "the table has" not in command("report", "v.jsonl", "-o", "all.html").stdout


def test_verdicts_and_cases_through_a_pipe(command: Invoke, invoke: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    write_rows("cases.jsonl", [row | {"response": "r", "context": "c"} for row in some_labels()])
    assert command("report", "v.jsonl", "--cases", "cases.jsonl").exit_code == 0
    page = Path("report.html").read_text()
    cases = Path("cases.jsonl").read_text()
    result = invoke("report", "v.jsonl", "--cases", "-", stdin=cases)
    assert (result.exit_code, Path("report.html").read_text()) == (0, page)
    result = invoke("report", "-", "--cases", "cases.jsonl", stdin=Path("v.jsonl").read_text())
    assert (result.exit_code, Path("report.html").read_text()) == (0, page.replace("v.jsonl", "-"))


LABELS = ("--labels", "l.jsonl")


@pytest.mark.parametrize(
    ("threshold", "labels", "n_passed"),
    [
        pytest.param(None, LABELS, 2, id="as in the run"),
        pytest.param("0.7", LABELS, 1, id="higher than in the run"),
        pytest.param("0.6", LABELS, 2, id="a score that is reached exactly"),
        pytest.param("0.2", LABELS, 3, id="lower than in the run"),
        pytest.param("0.7", (), 1, id="without labels"),
    ],
)
def test_the_whole_page_is_at_the_threshold(
    command: Invoke, threshold: str | None, labels: tuple[str, ...], n_passed: int
) -> None:
    scores = (0.9, 0.6, 0.2)  # the run's threshold is 0.5
    write_verdicts("v.jsonl", [verdict(str(score), score) for score in scores])
    write_rows("l.jsonl", [{"id": str(score), "label": 1} for score in scores])
    options = () if threshold is None else ("--threshold", threshold)
    assert command("report", "v.jsonl", *labels, *options).exit_code == 0
    page = Path("report.html").read_text()
    assert f'"passed":{n_passed},"histogram":' in page
    assert page.count('"passed":true') == n_passed
    assert f'"threshold":{"null" if threshold is None else float(threshold)},"rate":' in page
    if labels:
        assert f'"true_positives":{n_passed},' in page


def test_a_panel_passes_a_threshold_by_majority_and_its_votes_as_in_the_run(command: Invoke) -> None:
    votes = (vote("m1", 0.9), vote("m2", 0.8), vote("m3", 0.1))
    write_verdicts("v.jsonl", [panel_verdict("a", *votes)])
    for threshold, n_passed in ("0.5", 3), ("0.7", 3), ("0.85", 2):  # the mean is .6
        assert command("report", "v.jsonl", "--threshold", threshold).exit_code == 0
        assert Path("report.html").read_text().count('"passed":true') == n_passed


@pytest.mark.parametrize(
    ("threshold", "message"),
    [
        pytest.param("0,7", "--threshold 0,7 is neither a score, 0..1, nor a file from", id="a comma"),
        pytest.param("75", "--threshold must be a score, 0..1, not 75", id="a percentage"),
        pytest.param("nan", "--threshold must be a score, 0..1, not nan", id="not a number"),
        pytest.param("v.jsonl", "v.jsonl is not a file of thresholds written by", id="another file"),
    ],
)
def test_a_threshold_that_is_no_score_is_refused_without_labels(
    command: Invoke, threshold: str, message: str
) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    result = command("report", "v.jsonl", "--threshold", threshold)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr
    assert not Path("report.html").exists()
