"""The commands `show`, `judges` and `examples`, as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import ROW, FileOf, Invoke
from fenced import without_codes

from groundjudge import names


@pytest.mark.parametrize("name", names())
def test_show_prints_what_would_be_sent(invoke: Invoke, name: str) -> None:
    output = invoke("show", name).stdout
    assert output.startswith("system:\n")
    assert "\n\nuser:\n" in output
    assert "<data-response>\n" in without_codes(output)
    assert "{{" not in output
    parameters = json.loads(output.splitlines()[-1].removeprefix("parameters: "))
    assert parameters["temperature"] == 0


def test_show_takes_a_case_of_a_file(invoke: Invoke, file_of: FileOf) -> None:
    path = file_of("{", ROW, {**ROW, "id": "x", "response": "Größer als {{query}}?"})
    first_case = without_codes(invoke("show", "groundedness", "--cases", path).stdout)
    assert "<data-response>\nThe ferry sails at nine.\n" in first_case
    case_x = without_codes(invoke("show", "groundedness", "--cases", path, "--case", "x").stdout)
    assert "<data-response>\nGrößer als {{query}}?\n" in case_x
    assert invoke("show", "groundedness", "--cases", path, "--case", "row 2").exit_code == 0


def test_judges_lists_scales_and_inputs(invoke: Invoke) -> None:
    result = invoke("judges")
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == names()
    assert (
        "  scale: 1..5 (whole numbers)\n  inputs: query, context (may be empty), response\n" in result.stdout
    )
    assert "answers (optional)" in result.stdout


CASES = Path(__file__).parents[2] / "examples" / "cases.jsonl"


def test_examples_prints_the_file_of_cases_unchanged(invoke: Invoke) -> None:
    assert invoke("examples").stdout_bytes == CASES.read_bytes()


@pytest.mark.parametrize("name", names())
def test_show_prints_what_a_decision_model_would_be_sent(invoke: Invoke, name: str) -> None:
    output = invoke("show", name, "--questions").stdout
    assert output.startswith("rules:\n`response`")
    assert "\nresponse: " in output
    assert "verdict (" in output or "recall (" in output or "s1 (" in output
    assert "{{" not in output
    assert "temperature" not in output


def test_show_questions_takes_a_case_of_a_file(invoke: Invoke, file_of: FileOf) -> None:
    output = invoke("show", "groundedness", "--questions", "--cases", file_of(ROW)).stdout
    assert '\nresponse: "The ferry sails at nine."\n' in output


def test_show_questions_names_what_is_missing(invoke: Invoke, tmp_path: Path) -> None:
    file = tmp_path / "cards.prompty"
    file.write_text("---\nreply: {format: scorecard}\nscale: {worst: 0, best: 10}\n---\nRate {{response}}")
    result = invoke("show", str(file), "--questions")
    assert result.exit_code != 0
    assert "add `questions:`" in result.stderr
