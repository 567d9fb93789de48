"""Repeats, panels, weighted scores and structured replies on the command line, as a user meets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from command_line import GOOD, ROW, STRICT, FileOf, Invoke, verdicts_in, words
from formatter import sure
from scripted_model import ScriptedModel
from standin_openai import Answer, Hang, Script, StandIn, Status, Text
from typer.testing import Result

from groundjudge import Reply, Usage, load_rubric
from groundjudge.replies.reply import Token

PROSE = "I would rather not say."
BAD = f"<S0>t</S0><S1>none of it</S1>{sure(1)}"
JUDGE = ("--judge", "groundedness")
REPEATED = (*JUDGE, "--model", "m", "--repeats")
ALL = "--model good --model bad --model well"
MODELS = ALL.split()
REPLIES = {"good": GOOD, "bad": BAD, "well": GOOD, "m": GOOD}

LABELLED = """---
name: supported
inputs: [{name: response, type: text}]
reply: {format: plain}
scale: {choices: {"yes": 1, "partly": 0.5, "no": 0, cannot tell: null}}
---
user:
Is {{response}} supported?
"""
RunAtEndpoint: TypeAlias = Callable[..., tuple[Result, StandIn]]


def by_model(body: dict[str, Any]) -> Answer:
    return Text(REPLIES[body["model"]], model=body["model"])


@pytest.fixture
def run_at_endpoint(
    command: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RunAtEndpoint]:
    """Runs a command on rows, by default on one, at an endpoint that gets a script."""
    Path("labelled.prompty").write_text(LABELLED)
    Path("strict.prompty").write_text(STRICT)
    with StandIn() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        def call(
            *options: str,
            script: Script = by_model,
            name: str = "run",
            rows: Sequence[Mapping[str, Any]] = (ROW,),
            columns: int = 200,
        ) -> tuple[Result, StandIn]:
            server.script = script
            return command(name, file_of(*rows), *options, columns=columns), server

        yield call


G, M = "--judge groundedness", "--model m"
S = "--judge strict.prompty"
VERSION = load_rubric("groundedness").prompt.id.version
PANEL = (*JUDGE, "--panel", *MODELS)
WHO_VOTES: dict[str, tuple[str, list[str], list[str], bool]] = {
    "repeats": (f"{G} {M} --repeats 5", ["groundedness"], ["m"] * 2, True),
    "all asked": (f"{G} {M} --repeats 5 -O stop=never", ["groundedness"], ["m"] * 5, True),
    "prompts": (f"{G} {S} --panel {M}", ["groundedness+strict"], ["m", "m"], True),
    "no votes, one judge named twice": (f"{G} {G} {M}", ["groundedness"], [], True),
}


@pytest.mark.parametrize(("options", "judges", "votes", "passed"), WHO_VOTES.values(), ids=WHO_VOTES)
def test_options_say_who_votes(
    run_at_endpoint: RunAtEndpoint, options: str, judges: object, votes: list[str], passed: object
) -> None:
    result, server = run_at_endpoint(*options.split())
    assert result.exit_code == 0, result.output
    by_judge = {verdict.judge: verdict for verdict in verdicts_in(result.stdout)}
    assert sorted(by_judge) == judges
    n_requests = 0
    for verdict in by_judge.values():
        assert [vote.model for vote in verdict.votes] == votes
        assert verdict.passed is passed
        n_requests += max(1, len(verdict.votes))
    assert len(server.requests) == n_requests
    assert words(result.stderr)[0][-2] == ("calls/row" if votes else "bounds")


def test_resumed_run_asks_for_no_vote_again_and_needs_the_same_votes(run_at_endpoint: RunAtEndpoint) -> None:
    out = Path("out.jsonl")
    rows = [{**ROW, "id": str(n)} for n in range(4)]
    run = ("--out", "out.jsonl", "--concurrency", "1")
    stopped, _ = run_at_endpoint(*run, *REPEATED, "3", "--max-calls", "5", rows=rows)
    assert stopped.exit_code == 1
    assert "stopped: calls made: 5, and --max-calls allows 5" in stopped.stdout + stopped.stderr
    assert len(verdicts_in(out.read_text())) == 2
    for other_votes in ([*REPEATED, "5"], [*REPEATED, "3", "-O", "stop=never"], [*JUDGE, "--model", "m"]):
        result, server = run_at_endpoint(*run, *other_votes, "--resume", rows=rows)
        assert (result.exit_code, len(server.requests)) == (2, 5)
    resumed, server = run_at_endpoint(*run, *REPEATED, "3", "--resume", rows=rows)
    assert "2 verdicts reused, 2 new" in resumed.stdout
    assert len(server.requests) == 9
    assert len(verdicts_in(out.read_text())) == 4


def test_votes_from_the_cache_cost_nothing(run_at_endpoint: RunAtEndpoint) -> None:
    options = (*PANEL, *"--price 1e5,1e5 --cache cache.db".split())
    first, _ = run_at_endpoint(*options)
    second, server = run_at_endpoint(*options)
    (new,) = verdicts_in(first.stdout)
    (cached,) = verdicts_in(second.stdout)
    assert len(server.requests) == len(new.votes) == 3
    assert [vote.reply for vote in cached.votes] == [vote.reply for vote in new.votes]
    assert new.usage == Usage(prompt_tokens=30, completion_tokens=15)
    assert cached.usage == Usage()
    assert "tokens: 30 prompt, 15 completion, 45 per verdict, cost: 4.5000\n" in first.stderr
    assert "tokens: 0 prompt, 0 completion, 0 per verdict, cost: 0.0000\n" in second.stderr


def hanging(body: dict[str, Any]) -> Answer:
    return Hang() if body["model"] == "well" else by_model(body)


def refusing(body: dict[str, Any]) -> Answer:
    return Status(404, "no such model") if body["model"] == "bad" else by_model(body)


AROUND: dict[str, tuple[str, dict[str, Any], int, Sequence[str]]] = {
    "a budget for all votes": (
        "--concurrency 1 --max-tokens 45",
        {"rows": [ROW] * 2},
        1,
        ["tokens used: 45,"],
    ),
    "a vote that is refused ends the run": ("", {"script": refusing}, 2, ["no such model"]),
    "the lowest score": ("-O rule=min", {}, 0, ["  score: 0, passed\n"]),
    "a narrow terminal": (
        "",
        {"columns": 30},
        0,
        ["groundedness", "agreement", "calls/row", "3.00", "0.666"],
    ),
}


@pytest.mark.soak  # it waits for the deadline
def test_the_deadline_is_for_all_votes(run_at_endpoint: RunAtEndpoint) -> None:
    result, _ = run_at_endpoint(*PANEL, "--full", "row 1", "--deadline", "1", script=hanging)
    assert result.exit_code == 1
    assert (
        "groundedness: no_majority 1, the first is row 1: groundedness: no outcome has more" in result.stderr
    )
    vote = f"vote 3: groundedness@{VERSION}, well: error timeout: well: no verdict within the row's"
    assert vote in result.stderr


@pytest.mark.parametrize(("options", "settings", "code", "texts"), AROUND.values(), ids=AROUND)
def test_run_of_a_panel_shows(
    run_at_endpoint: RunAtEndpoint, options: str, settings: Any, code: int, texts: Sequence[str]
) -> None:
    result, _ = run_at_endpoint(*PANEL, "--full", "row 1", *options.split(), **settings)
    assert result.exit_code == code
    for text in texts:
        assert text in result.stderr


def test_full_shows_each_vote(run_at_endpoint: RunAtEndpoint) -> None:
    result, _ = run_at_endpoint(*PANEL, "--full", "row 1")
    assert result.stderr.split("\n\n", 1)[1].splitlines() == [
        "row 1, groundedness",
        "  status: ok",
        "  score: 0.6667, passed",
        "  label: grounded",
        f"  vote 1: groundedness@{VERSION}, good: score 1, label grounded, passed",
        f"  vote 2: groundedness@{VERSION}, bad: score 0, label ungrounded, not passed",
        f"  vote 3: groundedness@{VERSION}, well: score 1, label grounded, passed",
        "  spread: 0.471",
        "  agreement: 0.667, after 3 votes",
        "  reason: all of it",
    ]


def test_full_shows_the_probabilities_of_a_weighted_score(invoke: Invoke, file_of: FileOf) -> None:
    tokens = (
        Token(b"<S1>all of it</S1><S2>", ((b"<", 1.0),)),
        Token(b"5", ((b"5", 0.75), (b"4", 0.25))),
        Token(b"</S2>", ((b"<", 1.0),)),
    )
    model = ScriptedModel(Reply(b"".join(token.text for token in tokens).decode(), tokens=tokens))
    options = [*JUDGE, "--model", "m", "-O", "weighted=true", "--full", "row 1"]
    result = invoke("run", file_of(ROW), *options, model=model)
    (verdict,) = verdicts_in(result.stdout)
    assert (verdict.score, verdict.expected, verdict.distribution) == (0.9375, 4.75, {"5": 0.75, "4": 0.25})
    assert [dict(request.parameters)["top_logprobs"] for request in model.asked] == [20]
    assert result.stderr.split("\n\n", 1)[1].splitlines()[2:7] == [
        "  score: 0.9375, passed",
        "  value: 5",
        "  label: grounded",
        "  expected: 4.75",
        "  distribution: 4 0.25, 5 0.75",
    ]
    plain = invoke("run", file_of(ROW), *options, model=ScriptedModel(f"<S1>r</S1>{sure(5)}"))
    assert "\ngroundedness: logprobs_unusable 1. The endpoint returned no usable" in plain.stderr
    assert "logprobs_unusable" not in result.stderr


@pytest.mark.parametrize(
    ("options", "formats"),
    [
        pytest.param("-O structured=never", [None, None], id="never"),
        pytest.param(
            "-O structured=always --repeats 2",
            ["json_schema", "json_object", "json_schema"],
            id="always, and any JSON after an unreadable reply",
        ),
    ],
)
def test_structured_says_when_the_schema_is_asked_for(
    run_at_endpoint: RunAtEndpoint, options: str, formats: list[str | None]
) -> None:
    script = [PROSE, '{"reasoning": "why", "score": 1}']
    result, server = run_at_endpoint(
        "--judge", "confidence_grounding", *M.split(), *options.split(), script=script
    )
    assert result.exit_code == 0, result.output
    assert [body.get("response_format", {}).get("type") for body in server.bodies] == formats


def test_titles_make_tool_results_unless_they_must_not(run_at_endpoint: RunAtEndpoint) -> None:
    rows = [{**ROW, "context": [{"title": "Tool Result: x", "content": "At nine."}]}]
    for options, n_tools in ([], 1), (["-O", "tool_titles=false"], 0):
        _, server = run_at_endpoint(*G.split(), *M.split(), *options, rows=rows)
        assert server.bodies[-1]["messages"][1]["content"].count('kind="tool result"') == n_tools


@pytest.mark.parametrize(
    ("options", "calls", "note"),
    [
        pytest.param(G, "2", "", id="one call a row"),
        pytest.param(f"{G} --repeats 5", "<= 10", "groundedness: 2 to 5 calls per row\n", id="repeats"),
        pytest.param(
            f"{G} {S} --panel", "4", "groundedness+strict: 2 calls per row\n", id="a panel of prompts"
        ),
    ],
)
def test_estimate_counts_votes_and_needs_no_key(
    run_at_endpoint: RunAtEndpoint, options: str, calls: str, note: str
) -> None:
    priced = (*options.split(), "--price", "1,1")
    result, _ = run_at_endpoint(*priced, name="estimate", rows=[ROW, ROW])
    assert result.exit_code == 0, result.output
    _, table, below = result.stdout.split("\n", 2)
    assert table.replace("<= ", "<=").split()[1] == calls.replace(" ", "")
    note_below, _, cost = below.rpartition("cost: ")
    assert note_below == note
    assert cost.startswith("at most about " if "<=" in calls else "about ")


@pytest.mark.usefixtures("run_at_endpoint")
def test_labels_are_shown_with_their_scores(command: Invoke, file_of: FileOf) -> None:
    scale = "scale: yes (1), partly (0.5), no (0), cannot tell (not applicable)"
    assert scale in command("show", "labelled.prompty").stdout.splitlines()
    assert f"  {scale}" in command("judges", "labelled.prompty").stdout.splitlines()
    model = ScriptedModel("Yes", "No.", "**partly**", "cannot_tell")
    options = ["--judge", "labelled.prompty", *M.split(), "--concurrency", "1"]
    result = command("run", file_of(*[ROW] * 4), *options, model=model)
    assert words(result.stderr)[1][:5] == ["supported", "0.500", "3", "0", "1"]
    assert result.stderr.splitlines()[2] == "supported: cannot tell 1, no 1, partly 1, yes 1"
    assert [v.label for v in verdicts_in(result.stdout)] == ["yes", "no", "partly", "cannot tell"]
