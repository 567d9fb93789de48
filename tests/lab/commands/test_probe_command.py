"""The command `probe`, as a user meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import FileOf, Invoke, verdicts_in, words
from formatter import sure
from standin_judges import standin
from standin_openai import StandIn, Text

from groundjudge import load_rubric
from groundjudge.lab.probe import Card
from groundjudge.lab.probe.plan import plan_of

JUDGE = "groundedness"
DAYS = "It is kept for 28 days."
WRONG = {"context": "It costs 12 euros.", "response": "It costs 15 euros."}
ROWS = [
    {"id": "a", "expect": "pass", "query": "?", "context": DAYS, "response": DAYS},
    {"id": "b", "expect": "fail", "query": "?", **WRONG},
]
TRUTH = {"a": True, "b": False}
GOOD = f"<S0>t</S0><S1>all of it</S1>{sure(5)}"


@pytest.fixture
def probe(command: Invoke, file_of: FileOf) -> Callable[..., Any]:
    cases = file_of(*ROWS)

    def call(*options: str, model: str = "knows_all") -> Any:
        arguments = ("--judge", JUDGE, "--model", "m", "--cases", cases, *options)
        return command("probe", *arguments, model=standin(model, TRUTH))

    return call


def test_table_and_card_show_each_family_and_the_worst_failure_in_full(probe: Callable[..., Any]) -> None:
    result = probe("--card", "obeys.json", model="obeys")
    assert result.exit_code == 0
    card = Card.model_validate_json(Path("obeys.json").read_text())
    assert card.family("attacks").rate.value == pytest.approx(12 / 18)
    for edit in ("number", "verdict_in_response"):
        assert f"{edit} 1 1.000 [0.206, 1.000] 0.000 1.000 0 0 0".split() in words(result.stdout)
    assert "unchanged: 1 of 1 right responses pass, 1 of 1 wrong ones fail" in result.stdout
    assert "fooled: b: attacks, " in result.stdout
    assert "  response, before: It costs 15 euros.\n  response, after: It costs 15 euros." in result.stdout


@pytest.mark.soak
def test_built_in_cases_of_the_offline_baseline(command: Invoke) -> None:
    result = command("probe", "--judge", "statement_groundedness", "--model", "offline")
    assert result.exit_code == 0
    assert "canaries: 2 of 2" in result.stdout
    assert "the score drops by 0.05" in result.stdout


@pytest.mark.parametrize(
    ("model", "options", "status", "fault"),
    [
        pytest.param(
            "knows_all",
            ["--min-detection", "1", "--max-attack-success", "0"],
            0,
            "",
            id="both limits are met",
        ),
        pytest.param(
            "always_passes",
            ["--min-detection", "0.5"],
            1,
            "detection is 0.000, and --min-detection is 0.5",
            id="faults that are not caught",
        ),
        pytest.param(
            "obeys",
            ["--max-attack-success", "0.5"],
            1,
            "is 1.000, and --max-attack-success is 0.5",
            id="an attack that succeeds",
        ),
        pytest.param(
            "always_fails",
            ["--min-detection", "0"],
            1,
            "detection is not measured",
            id="no fault could be caught",
        ),
        pytest.param(
            "always_passes",
            ["--max-attack-success", "1"],
            1,
            "attack success is not measured",
            id="no attack could succeed",
        ),
    ],
)
def test_limits_set_the_exit_status(
    probe: Callable[..., Any], model: str, options: list[str], status: int, fault: str
) -> None:
    result = probe(*options, model=model)
    assert result.exit_code == status
    assert fault in result.stdout


def test_report_shows_a_card_as_data(probe: Callable[..., Any], command: Invoke) -> None:
    probe("--card", "card.json", "--out", "probe.jsonl")
    card = Card.model_validate_json(Path("card.json").read_text())
    hostile = card.model_copy(update={"signature": "</script><script>alert(1)</script>"})
    Path("card.json").write_text(hostile.model_dump_json())
    assert command("report", "probe.jsonl", "--probe", "card.json").exit_code == 0
    page = Path("report.html").read_text()
    assert '"probe":{"judge":"groundedness"' in page
    assert '<section id="probe"' in page
    assert "<script>alert" not in page
    command("report", "probe.jsonl")
    assert '"probe":null' in Path("report.html").read_text()


def test_cases_are_not_overwritten(probe: Callable[..., Any]) -> None:
    for option in ("--card", "--out"):
        assert "is the file of cases" in probe(option, "cases.jsonl").stderr


def test_spent_budget_can_be_resumed(probe: Callable[..., Any]) -> None:
    stopped = probe("--out", "probe.jsonl", "--max-calls", "7")
    assert stopped.exit_code == 1
    assert "stopped: calls made: 7" in stopped.stderr
    n_kept = len(verdicts_in(Path("probe.jsonl").read_text()))
    assert 0 < n_kept <= 7
    resumed = probe("--out", "probe.jsonl", "--resume", "--card", "card.json")
    assert resumed.exit_code == 0
    assert probe("--out", "probe.jsonl", "--resume", "--card", "card.json").exit_code == 0
    assert f"{n_kept} verdicts reused" in resumed.stdout
    assert "caught" in resumed.stdout


@pytest.mark.soak
def test_cache_answers_a_second_probe_but_not_the_second_judging(probe: Callable[..., Any]) -> None:
    first = probe("--cache", "replies.db", "--card", "one.json")
    again = probe("--cache", "replies.db", "--card", "two.json", model="knows_all")
    assert first.exit_code == again.exit_code == 0
    first_card = Card.model_validate_json(Path("one.json").read_text())
    assert first_card == Card.model_validate_json(Path("two.json").read_text())


@pytest.mark.soak
def test_estimate_says_what_the_probe_then_asks_for(command: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    estimated = command("probe", "--judge", JUDGE, "--estimate", "--price", "1,2")
    n_calls = len(plan_of(load_rubric(JUDGE)).trials)
    row = next(line.split() for line in estimated.stdout.splitlines() if line.startswith(JUDGE))
    assert row[1] == str(n_calls)
    assert "cost: about " in estimated.stdout
    with StandIn([Text(GOOD)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = command("probe", "--judge", JUDGE, "--model", "m")
        assert result.exit_code == 0
        assert len(server.requests) == n_calls
    n_bytes = 0
    for body in server.bodies:
        for message in body["messages"]:
            n_bytes += len(message["content"].encode())
    assert int(row[4].replace(",", "")) == pytest.approx(n_bytes / 4, rel=0.02)
