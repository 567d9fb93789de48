"""The command `report`, as a user meets it."""

from __future__ import annotations

from pathlib import Path

from command_line import Invoke
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
    assert "labels are left out: 0: the label 'from the wiki' is neither" in result.stdout


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
    assert "the case 'row 1' is not what was judged under this id" in result.stderr


def test_report_tells_of_cases_that_cannot_be_shown(command: Invoke) -> None:
    write_verdicts("v.jsonl", some_verdicts())
    Path("cases.jsonl").write_text('{"id": 0, "response": "r"}\n[]\n')
    result = command("report", "v.jsonl", "--cases", "cases.jsonl")
    assert "report.html: 40 verdicts, 1 cases" in result.stdout
    assert result.stdout.count("cannot be shown") == 1
    assert "labels are left out: cases.jsonl: line 2" in result.stdout
