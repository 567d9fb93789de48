"""The commands `show`, `judges` and `examples`, as a user meets them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from command_line import COMMAND, ROW, FileOf, Invoke
from fenced import without_codes

from groundjudge import names


@pytest.mark.parametrize("name", names())
def test_show_prints_what_would_be_sent(invoke: Invoke, name: str) -> None:
    shown = invoke("show", name).stdout
    assert shown.startswith("system:\n")
    assert "\n\nuser:\n" in shown
    assert "<data-response>\n" in without_codes(shown)
    assert "{{" not in shown
    assert json.loads(shown.splitlines()[-1].removeprefix("parameters: "))["temperature"] == 0


def test_show_takes_a_case_of_a_file(invoke: Invoke, file_of: FileOf) -> None:
    path = file_of("{", ROW, {**ROW, "id": "x", "response": "Größer als {{query}}?"})
    shown = without_codes(invoke("show", "groundedness", "--cases", path).stdout)
    assert "<data-response>\nThe ferry sails at nine.\n" in shown
    shown = without_codes(invoke("show", "groundedness", "--cases", path, "--case", "x").stdout)
    assert "<data-response>\nGrößer als {{query}}?\n" in shown
    assert invoke("show", "groundedness", "--cases", path, "--case", "row 2").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["x"], "there is no judge 'x', and no file of that name; the judges are"),
        (["groundedness", "--case", "1"], "--case needs --cases FILE"),
        (["groundedness", "--cases", "CASES", "--case", "1"], "cases.jsonl has no case with the id '1'"),
        (["passage_quality", "--cases", "CASES"], "passage_quality needs reference, which is not given"),
    ],
)
def test_what_is_wrong_is_reported_in_one_line(
    invoke: Invoke, file_of: FileOf, arguments: list[str], message: str
) -> None:
    cases = file_of(ROW)
    result = invoke("show", *(cases if argument == "CASES" else argument for argument in arguments))
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.fullmatch(r"groundjudge: .+\n", result.stderr)
    assert message in result.stderr


def test_judges_lists_scales_and_inputs(invoke: Invoke) -> None:
    result = invoke("judges")
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == names()
    assert (
        "  scale: 1..5 (whole numbers)\n  inputs: query, context (may be empty), response\n" in result.stdout
    )
    assert "answers (optional)" in result.stdout


CASES = Path(__file__).parents[2] / "examples" / "cases.jsonl"


def test_examples_prints_the_file_of_cases_unchanged() -> None:
    done = subprocess.run([*COMMAND, "examples"], capture_output=True, check=True, timeout=60)  # noqa: S603
    assert (done.stdout, done.stderr) == (CASES.read_bytes(), b"")
