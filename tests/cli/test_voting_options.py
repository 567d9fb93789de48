"""Repeats, panels, weighted scores and structured replies on the command line, as a user meets them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from command_line import GOOD, ROW, FileOf, Invoke, verdicts_in, words
from scripted_model import ScriptedModel
from standin_openai import Answer, Hang, Script, StandIn, Text

from groundjudge import Reply, Usage
from groundjudge.replies.reply import Token

BAD = "<S0>t</S0><S1>none of it</S1><S2>1</S2>"
JUDGE = ("--judge", "groundedness")
REPEATED = (*JUDGE, "--model", "m", "--repeats")
MODELS = "--model good --model bad --model well"
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
STRICT = """---
name: strict
model: {parameters: {temperature: 0}}
inputs: [{name: response, type: text}]
reply: {format: tags, value: S2, reason: S1}
scale: {worst: 1, best: 5, integer: true}
---
user:
Rate {{response}} strictly.
"""
"""A prompt on the scale of groundedness."""


Serve: TypeAlias = Callable[[Script], StandIn]


def by_model(body: dict[str, Any]) -> Answer:
    return Text(REPLIES[body["model"]], model=body["model"])


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Starts an endpoint with a script, where OPENAI_BASE_URL points to."""
    servers: list[StandIn] = []

    def start(script: Script) -> StandIn:
        server = StandIn(script).__enter__()
        servers.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return server

    yield start
    for server in servers:
        server.__exit__()


@pytest.fixture
def prompts(tmp_path: Path) -> dict[str, Path]:
    """Prompt files, by the words that stand for them in tables."""
    texts = {"LABELLED": LABELLED, "STRICT": STRICT, "COPY": STRICT}
    for name, text in texts.items():
        (tmp_path / f"{name.lower()}.prompty").write_text(text)
    return {name: tmp_path / f"{name.lower()}.prompty" for name in texts}


def given(options: str, prompts: dict[str, Path]) -> list[str | Path]:
    """The options of a row of a table, with the names of all models and of prompt files in their places."""
    return [prompts.get(option, option) for option in options.replace("MODELS", MODELS).split()]


@pytest.mark.parametrize(
    ("options", "judges", "votes", "passed"),
    [
        ("--model m --repeats 5", ["groundedness"], "m m", True),
        ("--model m --repeats 5 --stop never", ["groundedness"], "m m m m m", True),
        ("--panel MODELS", ["groundedness"], "good bad well", True),
        ("--judge STRICT --panel --model m", ["groundedness+strict"], "m m", True),
        ("--judge STRICT --panel MODELS", ["groundedness", "strict"], "good bad well", True),
        ("--judge STRICT --repeats 3 --model bad", ["groundedness", "strict"], "bad bad", False),
        ("--judge groundedness --model m", ["groundedness"], "", True),  # one judge named twice
    ],
)
def test_options_say_who_votes(  # noqa: PLR0913, PLR0917  fixtures and a row of the table
    invoke: Invoke,
    file_of: FileOf,
    serve: Serve,
    prompts: dict[str, Path],
    options: str,
    judges: list[str],
    votes: str,
    passed: object,
) -> None:
    server = serve(by_model)
    result = invoke("run", file_of(ROW), *JUDGE, *given(options, prompts))
    assert result.exit_code == 0, result.output
    found = {verdict.judge: verdict for verdict in verdicts_in(result.stdout)}
    assert sorted(found) == judges
    for verdict in found.values():
        assert ([vote.model for vote in verdict.votes], verdict.passed) == (votes.split(), passed)
    assert len(server.requests) == len(judges) * max(1, len(votes.split()))


@pytest.mark.parametrize(("rule", "score"), [("", 2 / 3), ("--rule median", 1.0), ("--rule min", 0.0)])
def test_rule_makes_the_score(invoke: Invoke, file_of: FileOf, serve: Serve, rule: str, score: float) -> None:
    serve(by_model)
    result = invoke("run", file_of(ROW), *JUDGE, "--panel", *MODELS.split(), *rule.split())
    (verdict,) = verdicts_in(result.stdout)
    assert verdict.score == pytest.approx(score)


ADD_PANEL = "several --model: add --panel to let them vote, or run the command once for each"
ADD_VOTES = "--rule and --stop are about votes: add --repeats N, or --panel"
USE_REPEATS = "--panel needs several --model or --judge: to ask one judge several times, use --repeats N"


NAME_JUDGES = "--panel with one --model: the judges vote, so name two or more --judge, or add another --model"
OTHER_SCALES = (
    "panel: its judges must answer on one scale, not on several: "
    "groundedness 1..5 (whole numbers); confidence_grounding 0..1"
)
TOO_MANY_VALUES = (
    "--weighted needs labels or at most 20 whole numbers from 0, because a token must tell them apart; "
    "the scale is"
)


TWICE = "--model: two models have the name 'a': to ask one model several times, use --repeats"
SAME_NAME = "--judge: two judges have the name 'strict': change `name` in one of the prompt files"
LISTED_TWICE = "panel: strict is listed twice at temperature 0, where it repeats itself: ask one for repeats"


@pytest.mark.parametrize("command", ["run", "estimate"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--judge groundedness --model a --model b", ADD_PANEL),
        ("--judge groundedness --model a --model b --repeats 3", ADD_PANEL),
        ("--judge groundedness --model a --panel", USE_REPEATS),
        ("--judge groundedness --judge groundedness --model a --panel", USE_REPEATS),
        ("--model a --panel", NAME_JUDGES),
        (
            "--judge groundedness --model a --model b --panel --repeats 3",
            "--panel and --repeats are two ways to vote: use one of them",
        ),
        ("--judge groundedness --model a --rule min", ADD_VOTES),
        ("--judge groundedness --model a --stop never", ADD_VOTES),
        ("--judge groundedness --model a --model b --model a --panel", TWICE),
        ("--judge groundedness --judge confidence_grounding --model a --panel", OTHER_SCALES),
        ("--judge STRICT --judge COPY --model a --panel", LISTED_TWICE),
        ("--judge STRICT --judge COPY --model a --repeats 2", SAME_NAME),
        (
            "--judge confidence_grounding --model a --weighted",
            f"confidence_grounding: {TOO_MANY_VALUES} 0..1",
        ),
        (
            "--judge knowledge_hallucination --model a --weighted",
            f"knowledge_hallucination: {TOO_MANY_VALUES} 0..100",
        ),
    ],
)
def test_unclear_options_are_refused_in_one_line(  # noqa: PLR0913, PLR0917  fixtures and a row of the table
    invoke: Invoke,
    file_of: FileOf,
    monkeypatch: pytest.MonkeyPatch,
    prompts: dict[str, Path],
    command: str,
    options: str,
    message: str,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    result = invoke(command, file_of(ROW), *given(options, prompts))
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"groundjudge: {message}\n")


@pytest.mark.parametrize(
    "options",
    [
        "--repeats=1",
        "--repeats=x",
        "--rule=mode --repeats=3",
        "--stop=early --repeats=3",
        "--structured=sometimes",
    ],
)
def test_options_out_of_range_are_named(invoke: Invoke, file_of: FileOf, options: str) -> None:
    result = invoke("run", file_of(ROW), *JUDGE, "--model", "offline", *options.split())
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"Invalid value for '{options.partition('=')[0]}'" in result.stderr


# What a run does around its votes.


def test_resumed_run_asks_for_no_vote_again_and_needs_the_same_votes(
    invoke: Invoke, file_of: FileOf, tmp_path: Path, serve: Serve
) -> None:
    server, out = serve(by_model), tmp_path / "out.jsonl"
    options = ("run", file_of(*({**ROW, "id": str(n)} for n in range(4))), "--out", out, "--concurrency", "1")
    stopped = invoke(*options, *REPEATED, "3", "--max-calls", "5")
    assert stopped.exit_code == 1
    assert "stopped: 5 calls were made, and --max-calls allows 5" in stopped.stdout + stopped.stderr
    assert len(verdicts_in(out.read_text())) == 2
    for others in ([*REPEATED, "5"], [*REPEATED, "3", "--stop", "never"], [*JUDGE, "--model", "m"]):
        refused = invoke(*options, *others, "--resume")
        assert refused.exit_code == 2
        assert "this run uses another model, other settings" in refused.stderr
    assert len(server.requests) == 5
    done = invoke(*options, *REPEATED, "3", "--resume")
    assert "2 verdicts reused, 2 new" in done.stdout
    assert len(server.requests) == 9
    assert len(verdicts_in(out.read_text())) == 4


@pytest.mark.parametrize("options", [[*REPEATED, "3"], [*JUDGE, "--panel", *MODELS.split()]])
def test_votes_from_the_cache_cost_nothing(
    invoke: Invoke, file_of: FileOf, tmp_path: Path, serve: Serve, options: list[str]
) -> None:
    server = serve(by_model)
    prices = "--price-in 1e5 --price-out 1e5".split()
    again = ("run", file_of(ROW), *options, *prices, "--cache", tmp_path / "cache.db")
    first, second = invoke(*again), invoke(*again)
    (asked,), (cached,) = verdicts_in(first.stdout), verdicts_in(second.stdout)
    assert len(server.requests) == len(asked.votes)
    assert [vote.reply for vote in cached.votes] == [vote.reply for vote in asked.votes]
    n = len(asked.votes)
    assert asked.usage == Usage(prompt_tokens=10 * n, completion_tokens=5 * n)
    assert cached.usage == Usage()
    assert first.stderr.splitlines()[-1] == (
        f"tokens: {10 * n} prompt, {5 * n} completion, {15 * n} a verdict, cost: {1.5 * n:.4f}"
    )
    assert second.stderr.splitlines()[-1] == ("tokens: 0 prompt, 0 completion, 0 a verdict, cost: 0.0000")


def test_deadline_holds_for_all_votes_of_a_row_together(
    invoke: Invoke, file_of: FileOf, serve: Serve
) -> None:
    serve(lambda body: Hang() if body["model"] == "well" else by_model(body))
    result = invoke(
        "run", file_of(ROW), *JUDGE, "--panel", *MODELS.split(), "--deadline", "1", "--full", "row 1"
    )
    (verdict,) = verdicts_in(result.stdout)
    assert [vote.error and vote.error.code for vote in verdict.votes] == [None, None, "timeout"]
    assert result.exit_code == 1
    assert (
        "groundedness: no_majority 1, the first is row 1: groundedness: no outcome has more" in result.stderr
    )
    assert (
        "vote 3: groundedness@1.1.0, well: error timeout: well: no verdict within the row's" in result.stderr
    )


# What is shown.


def test_votes_are_shown_where_there_are_votes(invoke: Invoke, file_of: FileOf, serve: Serve) -> None:
    serve(by_model)
    alone = invoke("run", file_of(ROW), *JUDGE, "--model", "m")
    assert words(alone.stderr)[0][-2:] == ["coverage", "bounds"]
    shown = invoke("run", file_of(ROW), *JUDGE, "--panel", *MODELS.split(), "--full", "row 1").stderr
    assert words(shown)[0][-3:] == ["bounds", "agreement", "calls/row"]
    assert words(shown)[1][-2:] == ["0.666", "3.00"]
    assert shown.split("\n\n", 1)[1].splitlines() == [
        "row 1, groundedness",
        "  status: ok",
        "  score: 0.6667, passed",
        "  value: 3.66667",
        "  label: grounded",
        "  vote 1: groundedness@1.1.0, good: score 1, label grounded, passed",
        "  vote 2: groundedness@1.1.0, bad: score 0, label ungrounded, not passed",
        "  vote 3: groundedness@1.1.0, well: score 1, label grounded, passed",
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
    options = [*JUDGE, "--model", "m", "--weighted", "--full", "row 1"]
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


@pytest.mark.parametrize(
    ("options", "formats"),
    [
        ("", [None, "json_schema"]),
        ("--structured reask", [None, "json_schema"]),
        ("--structured always", ["json_schema", "json_object"]),
        ("--structured never", [None, None]),
        ("--structured always --repeats 2", ["json_schema", "json_object", "json_object"]),
    ],
)
def test_structured_says_when_the_schema_is_asked_for(
    invoke: Invoke, file_of: FileOf, serve: Serve, options: str, formats: list[str | None]
) -> None:
    server = serve(["I would rather not say.", '{"reasoning": "why", "score": 1}'])
    judge = ("--judge", "confidence_grounding", "--model", "m")
    result = invoke("run", file_of(ROW), *judge, *options.split())
    assert result.exit_code == 0, result.output
    assert [body.get("response_format", {}).get("type") for body in server.bodies] == formats


@pytest.mark.parametrize(
    ("options", "calls", "note"),
    [
        ("", "2", ""),
        ("--repeats 5", "<=10", "groundedness: 2 to 5 calls a row\n"),
        ("--repeats 2", "4", "groundedness: 2 calls a row\n"),
        ("--repeats 5 --stop never", "10", "groundedness: 5 calls a row\n"),
        ("--panel MODELS", "<=6", "groundedness: 2 to 3 calls a row\n"),
        ("--judge STRICT --panel", "4", "groundedness+strict: 2 calls a row\n"),
        ("--weighted --structured always", "2", ""),
    ],
)
def test_estimate_counts_votes_and_needs_no_key(  # noqa: PLR0913, PLR0917  fixtures and a row of the table
    invoke: Invoke,
    file_of: FileOf,
    monkeypatch: pytest.MonkeyPatch,
    prompts: dict[str, Path],
    options: str,
    calls: str,
    note: str,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    prices = ["--price-in", "1", "--price-out", "1"]
    result = invoke("estimate", file_of(ROW, ROW), *JUDGE, *given(options, prompts), *prices)
    assert result.exit_code == 0, result.output
    _, table, *rest = result.stdout.split("\n", 2)
    assert table.replace("<= ", "<=").split()[1] == calls
    shown_note, _, cost = "".join(rest).rpartition("cost: ")
    assert shown_note == note
    assert cost.startswith("at most about " if "<=" in calls else "about ")


def test_labels_are_shown_with_their_scores(
    invoke: Invoke, file_of: FileOf, prompts: dict[str, Path]
) -> None:
    scale = "scale: yes (1), partly (0.5), no (0), cannot tell (not applicable)"
    assert scale in invoke("show", prompts["LABELLED"]).stdout.splitlines()
    assert f"  {scale}" in invoke("judges", prompts["LABELLED"]).stdout.splitlines()
    model = ScriptedModel("Yes", "No.", "**partly**", "cannot_tell")
    options = ["--judge", prompts["LABELLED"], "--model", "m", "--concurrency", "1"]
    result = invoke("run", file_of(*[ROW] * 4), *options, model=model)
    assert words(result.stderr)[1][:5] == ["supported", "0.500", "3", "0", "1"]
    assert result.stderr.splitlines()[2] == "supported: cannot tell 1, no 1, partly 1, yes 1"
    assert [json.loads(line)["label"] for line in result.stdout.splitlines()] == [
        *("yes", "no", "partly", "cannot tell")
    ]
