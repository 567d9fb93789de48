"""A false green fails in a guard and at the command line; in a table it may be no value at all."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from command_line import Invoke, command, invoke, verdicts_in

from groundjudge import Guard, load

__all__ = ["command", "invoke"]  # the fixtures

SOURCE = "We are closed on Sundays."
QUERY = "Are you open on Sundays?"
FALLBACK = "I could not find that out."

RESPONSES = [
    "Yes.",
    "Of course!",
    "We are.",
    "None",
    "null",
    "NaN",
    "undefined",
    "N/A",
    "<NA>",
    "[]",
    "{}",
    "...",
]
HARMLESS = ["Which day is it?", "I do not know."]
ABSENT = ["None", "null", "nan", "NaN", "NaT", "undefined", "#N/A", "<NA>"]
"""What a table has where there is no value."""


def row_of(response: str) -> dict[str, str]:
    return {"query": QUERY, "context": SOURCE, "response": response}


@pytest.mark.parametrize("name", ["groundedness", "confidence_grounding", "statement_groundedness"])
def test_guard_lets_no_false_green_out(name: str) -> None:
    guard = Guard(load(name, model="offline"), fallback=FALLBACK)
    for response in RESPONSES:
        outcome = guard.run(row_of(response))
        assert (outcome.response, outcome.reason) == (FALLBACK, "fallback"), response


@pytest.mark.parametrize("response", HARMLESS)
def test_guard_lets_out_what_claims_nothing(response: str) -> None:
    outcome = Guard(load("groundedness", model="offline"), fallback=FALLBACK).run(row_of(response))
    assert (outcome.response, outcome.reason) == (response, "not_applicable")


def table_of(*responses: str) -> str:
    table = io.StringIO()
    writer = csv.DictWriter(table, ["query", "context", "response"])
    writer.writeheader()
    writer.writerows(row_of(response) for response in responses)
    return table.getvalue()


def test_in_json_lines_it_is_text_and_fails(command: Invoke) -> None:
    lines = "".join(f"{json.dumps(row_of(response))}\n" for response in ABSENT)
    Path("cases.jsonl").write_text(lines, encoding="utf-8")
    result = command("run", "cases.jsonl", "--judge", "groundedness", "--model", "offline", "--out", "-")
    outcomes = {(verdict.status, verdict.passed) for verdict in verdicts_in(result.stdout)}
    assert outcomes == {("ok", False)}


@pytest.mark.parametrize(
    ("flags", "outcome"),
    [
        pytest.param([], ("error", "no_response"), id="no value"),
        pytest.param(["--keep-words"], ("ok", None), id="words that are kept"),
    ],
)
def test_in_a_table_such_a_word_is_no_response_unless_words_are_kept(
    command: Invoke, flags: list[str], outcome: tuple[str, str | None]
) -> None:
    Path("cases.csv").write_text(table_of(*ABSENT), encoding="utf-8")
    options = ["--judge", "groundedness", "--model", "offline", "--out", "-", *flags]
    result = command("run", "cases.csv", *options)
    verdicts = verdicts_in(result.stdout)
    assert len(verdicts) == len(ABSENT)
    for verdict in verdicts:
        code = verdict.error.code if verdict.error else None
        assert (verdict.status, code) == outcome
        assert not verdict.passed


def test_in_a_table_other_false_greens_are_text_and_fail(command: Invoke) -> None:
    responses = [response for response in RESPONSES if response not in ABSENT]
    Path("cases.csv").write_text(table_of(*responses), encoding="utf-8")
    result = command("run", "cases.csv", "--judge", "groundedness", "--model", "offline", "--out", "-")
    outcomes: dict[str, tuple[str, bool | None]] = {}
    for response, verdict in zip(responses, verdicts_in(result.stdout), strict=True):
        outcomes[response] = (verdict.status, verdict.passed)
    assert set(outcomes.values()) == {("ok", False)}


def test_not_decided_is_on_each_verdict_and_counted_for_the_run(command: Invoke) -> None:
    rows = [row_of(SOURCE), row_of("Yes."), row_of("No.")]
    Path("cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    judges = ["--judge", "groundedness", "--judge", "confidence_grounding"]
    result = command("run", "cases.jsonl", *judges, "--model", "offline", "--out", "v.jsonl", columns=400)
    verdicts = verdicts_in(Path("v.jsonl").read_text(encoding="utf-8"))
    assert sum("not_decided" in verdict.warnings for verdict in verdicts) == 4
    assert "not decided: groundedness 2 of 3, confidence_grounding 2 of 3." in result.output
