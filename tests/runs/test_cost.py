"""Costs of a run: the estimate before it, and the tokens and prices after it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import GOOD, ROW, Invoke
from scripted_model import ScriptedModel

from groundjudge import Reply, Usage, as_judge, load, load_rubric, names, run, summarise
from groundjudge.runs.cost import estimate, prompt_tokens
from groundjudge.types import Request


def no_call(_: Request) -> str:
    raise AssertionError


@pytest.mark.parametrize(
    ("contents", "tokens"),
    [
        pytest.param(["abcd"], 1 + 4, id="four bytes are a token"),
        pytest.param(["abc"], 4, id="less than four bytes are none"),
        pytest.param(["abcd" * 100, "abcd"], 101 + 8, id="two messages"),
        pytest.param(["日本語日"], 3 + 4, id="bytes, not characters"),
        pytest.param([""], 4, id="an empty message"),
    ],
)
def test_prompt_tokens_are_estimated_at_four_bytes_each(contents: list[str], tokens: int) -> None:
    judge = load("groundedness", model=no_call)
    messages = tuple({"role": "user", "content": content} for content in contents)
    request = Request(messages, {}, judge.rubric, judge.rubric.ask(ROW).case)
    assert prompt_tokens(request) == tokens


def test_estimate_counts_the_calls_of_a_run() -> None:
    judges = [load(name, model=no_call) for name in ("groundedness", "statement_groundedness")]
    rows: list[Any] = [
        ROW,
        {**ROW, "response": " "},
        {"response": "no context"},
        {**ROW, "judges": "groundedness"},
        {**ROW, "answer": "twice"},
        {**ROW, "judges": "groundednes"},
    ]
    first, second = estimate(judges, rows)
    assert (first.judge, first.n_calls, first.n_free, first.n_error) == ("groundedness", 2, 0, 3)
    assert (second.n_calls, second.n_free, second.n_error) == (1, 0, 3)
    (lenient,) = estimate(as_judge(judges[0], empty_response="worst"), rows)
    assert (lenient.n_calls, lenient.n_free, lenient.n_error) == (2, 1, 2)
    assert first.prompt_tokens == 2 * prompt_tokens(judges[0].rubric.ask(ROW))
    assert first.completion_tokens == 2 * 2000
    assert estimate(load("groundedness", model=no_call), [])[0].n_calls == 0


def test_estimate_without_max_tokens_has_no_completion_tokens() -> None:
    rubric = load_rubric("groundedness")
    unlimited = replace(rubric, prompt=rubric.prompt.model_copy(update={"parameters": {}}))
    assert estimate(unlimited, [ROW])[0].completion_tokens is None


def test_estimate_command_makes_no_call(invoke: Invoke, file_of: Callable[..., Path]) -> None:
    options = ["--judge", "groundedness", "--price-in", "100", "--price-out", "1000"]
    result = invoke("estimate", file_of(ROW, ROW, "{"), *options)
    assert result.exit_code == 0, result.output
    judge, calls, free, errors, tokens, _, most = result.stdout.splitlines()[1].split()
    assert (judge, calls, free, errors, most) == ("groundedness", "2", "0", "0", "4,000")
    assert int(tokens.replace(",", "")) > 2000
    assert "at most 4.0000 for replies" in result.stdout
    without = invoke("estimate", file_of(ROW)).stdout
    assert [line.split()[0] for line in without.splitlines()[1:]] == names()
    assert "cost" not in without


@pytest.mark.parametrize("command", ["run", "estimate"])
def test_single_price_is_refused(invoke: Invoke, file_of: Callable[..., Path], command: str) -> None:
    result = invoke(command, file_of(ROW), "--price-in", "1")
    message = "groundjudge: --price-in and --price-out belong together: add the other one\n"
    assert (result.exit_code, result.stderr) == (2, message)


def test_run_command_reports_tokens_including_reasks(invoke: Invoke, file_of: Callable[..., Path]) -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=50)
    model = ScriptedModel(Reply("no verdict", usage=usage), Reply(GOOD, usage=usage))
    options = ["--judge", "groundedness", "--model", "m", "--concurrency", "1"]
    prices = ["--price-in", "0.5", "--price-out", "2"]
    result = invoke("run", file_of(ROW, ROW), *options, *prices, model=model)
    assert result.stderr.splitlines()[-1] == (
        "tokens: 3,000 prompt, 150 completion, 1,575 a verdict, cost: 0.0018"
    )
    (line, *_) = (json.loads(line) for line in result.stdout.splitlines())
    assert line["usage"] == {
        "prompt_tokens": 2000,
        "completion_tokens": 100,
        "cached_tokens": None,
        "reasoning_tokens": None,
    }


def test_run_command_shows_cached_and_reasoning_tokens(invoke: Invoke, file_of: Callable[..., Path]) -> None:
    usage = Usage(prompt_tokens=2000, completion_tokens=900, cached_tokens=1024, reasoning_tokens=800)
    model = ScriptedModel(Reply(GOOD, usage=usage))
    result = invoke("run", file_of(ROW), "--judge", "groundedness", "--model", "m", model=model)
    assert result.stderr.splitlines()[-1] == (
        "tokens: 2,000 prompt (1,024 cached), 900 completion (800 reasoning), 2,900 a verdict"
    )


def test_summary_has_the_usage_of_its_judge() -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=5)
    replies = Reply(GOOD, usage=usage), Reply(GOOD, usage=usage), Reply(GOOD)
    judge = load("groundedness", model=ScriptedModel(*replies))
    (summary,) = summarise(run(judge, [ROW, ROW, ROW]))
    assert summary.usage == usage + usage
    assert summarise(run(load("groundedness", model=ScriptedModel(GOOD)), [ROW]))[0].usage is None
