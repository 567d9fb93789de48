"""Costs of a run: the estimate before it, and the tokens and prices after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import GOOD, ROW, Invoke
from scripted_model import ScriptedModel

from groundjudge import Prices, Reply, Usage, as_judge, cascade, load, load_rubric, panel, run, summarise
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


class DataFrame:
    """What iterates over the names of its columns."""

    def to_dict(self) -> None: ...

    def __iter__(self) -> Iterator[str]:
        return iter(["query"])


G = load("groundedness", model=no_call)


@pytest.mark.parametrize(
    ("judges", "cases", "error", "message"),
    [
        pytest.param(G, "cases.jsonl", TypeError, "read a file with json", id="a path"),
        pytest.param(G, ROW, TypeError, "put a single case in a list", id="a single case"),
        pytest.param(G, DataFrame(), TypeError, r'df\.to_dict\("records"\)', id="a data frame"),
        pytest.param("groundedness", [ROW], TypeError, r"as load\(\) returns them, not str", id="a name"),
        pytest.param(["groundedness"], [ROW], TypeError, r"as load\(\) returns them, not str", id="names"),
        pytest.param(
            [G, G], [ROW], ValueError, "two judges have the name 'groundedness'", id="one name twice"
        ),
        pytest.param(
            [G, load_rubric("groundedness")],
            [ROW],
            ValueError,
            "two judges have the name",
            id="a rubric of that name",
        ),
    ],
)
def test_what_a_run_would_refuse_has_no_estimate(
    judges: Any, cases: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        estimate(judges, cases)


def test_estimate_counts_the_calls_of_a_run() -> None:
    judges = [load(name, model=no_call) for name in ("groundedness", "statement_groundedness")]
    rows: list[Any] = [
        ROW,
        {**ROW, "response": " "},
        {"response": "no context"},
        {**ROW, "judges": "groundedness"},
        {**ROW, "response": True},
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


def test_offline_judge_calls_no_model() -> None:
    offline, strong = load("groundedness", model="offline"), load("groundedness", model=no_call)
    both = cascade([offline, strong], until=(None, 0.8))
    alone, first = estimate([offline], [ROW])[0], estimate([both], [ROW])[0]
    assert (alone.n_calls, alone.calls_per_row, alone.n_free, alone.prompt_tokens) == (0, (0, 0), 1, 0)
    assert (first.n_calls, first.calls_per_row, first.n_free) == (1, (0, 1), 0)
    assert first.prompt_tokens == estimate([strong], [ROW])[0].prompt_tokens
    last = cascade([strong, offline], until=(None, 0.8))
    votes = panel([offline, strong, load("groundedness", model=no_call, structured="always")])
    for judge, calls in ((last, (1, 1)), (votes, (1, 2))):
        assert estimate([judge], [ROW])[0].calls_per_row == calls
    assert estimate([offline], [{"response": "no context"}])[0].n_error == 1


def test_estimate_without_max_tokens_has_no_completion_tokens() -> None:
    rubric = load_rubric("groundedness")
    unlimited = replace(rubric, prompt=rubric.prompt.model_copy(update={"parameters": {}}))
    assert estimate(unlimited, [ROW])[0].completion_tokens is None


def test_estimate_command_makes_no_call(invoke: Invoke, file_of: Callable[..., Path]) -> None:
    options = ["--judge", "groundedness", "--price", "100,1000"]
    result = invoke("estimate", file_of(ROW, ROW, "{"), *options)
    assert result.exit_code == 0, result.output
    judge, calls, free, errors, tokens, _, most = result.stdout.splitlines()[1].split()
    assert (judge, calls, free, errors, most) == ("groundedness", "2", "0", "0", "4,000")
    assert int(tokens.replace(",", "")) > 1000
    assert "at most 4.0000 for replies" in result.stdout
    without = invoke("estimate", file_of(ROW)).stdout
    judges = ["confidence_grounding", "groundedness", "statement_groundedness", "left"]
    assert [line.split()[0] for line in without.splitlines()[1:]] == judges
    assert "cost" not in without


@pytest.mark.parametrize(
    ("command", "price"),
    [("run", "1"), ("run", "1,2,3,4"), ("estimate", "1,much"), ("run", "1,-2"), ("estimate", "nan,1")],
)
def test_what_is_no_price_is_refused(
    invoke: Invoke, file_of: Callable[..., Path], command: str, price: str
) -> None:
    result = invoke(command, file_of(ROW), "--price", price)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"groundjudge: --price {price}: expected IN,OUT or IN,OUT,CACHED")


@pytest.mark.parametrize(
    ("cached_price", "cached_tokens", "cost"),
    [
        pytest.param(None, 800, 2_000, id="no price of its own"),
        pytest.param(0.2, None, 2_000, id="the endpoint does not count"),
        pytest.param(0.2, 0, 2_000, id="nothing cached"),
        pytest.param(0.2, 800, 560, id="a part"),
        pytest.param(0.2, 5_000, 200, id="more than the prompt has"),
        pytest.param(0, 800, 400, id="free"),
    ],
)
def test_cached_tokens_have_a_price(
    cached_price: float | None, cached_tokens: int | None, cost: float
) -> None:
    prices = Prices(prompt=2e6, completion=0, cached=None if cached_price is None else cached_price * 1e6)
    usage = Usage(prompt_tokens=1_000, completion_tokens=50, cached_tokens=cached_tokens)
    assert prices.of(usage) == pytest.approx(cost)
    assert prices.times(0.5).of(usage) == pytest.approx(cost / 2)


@pytest.mark.parametrize(
    ("prices", "message"),
    [
        pytest.param(("1", 2.0), "the price prompt must be .* not '1'", id="a text"),
        pytest.param((1.0, None), "the price completion must be .* not None", id="none"),
        pytest.param((1.0, True), "the price completion must be .* not True", id="a boolean"),
        pytest.param((-1, 2), "the price prompt must be .* not -1", id="below 0"),
        pytest.param((1, 2, -0.5), "the price cached must be .* not -0.5", id="below 0, cached"),
        pytest.param((float("nan"), 2), "the price prompt must be .* not nan", id="not a number"),
        pytest.param((1, float("inf")), "the price completion must be .* not inf", id="infinite"),
    ],
)
def test_a_price_is_a_number_from_0(prices: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Prices(*prices)


def test_run_command_reports_tokens_including_reasks(invoke: Invoke, file_of: Callable[..., Path]) -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=50)
    model = ScriptedModel(Reply("no verdict", usage=usage), Reply(GOOD, usage=usage))
    options = ["--judge", "groundedness", "--model", "m", "--concurrency", "1"]
    prices = ["--price", "0.5,2"]
    result = invoke("run", file_of(ROW, ROW), *options, *prices, model=model)
    assert result.stderr.splitlines()[-1] == (
        "tokens: 3,000 prompt, 150 completion, 1,575 per verdict, cost: 0.0018"
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
        "tokens: 2,000 prompt (1,024 cached), 900 completion (800 reasoning), 2,900 per verdict"
    )


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        pytest.param({"cached_tokens": 0}, "2,000 prompt (0 cached), 900 completion", id="no token cached"),
        pytest.param(
            {"reasoning_tokens": 0}, "2,000 prompt, 900 completion (0 reasoning)", id="no token of thinking"
        ),
    ],
)
def test_run_command_tells_none_from_unknown(
    invoke: Invoke, file_of: Callable[..., Path], counts: dict[str, int], line: str
) -> None:
    usage = Usage(prompt_tokens=2000, completion_tokens=900, **counts)
    options = ["--judge", "groundedness", "--model", "m"]
    result = invoke("run", file_of(ROW), *options, model=ScriptedModel(Reply(GOOD, usage=usage)))
    assert result.stderr.splitlines()[-1] == f"tokens: {line}, 2,900 per verdict"


def test_run_command_counts_cached_tokens_at_their_price(
    invoke: Invoke, file_of: Callable[..., Path]
) -> None:
    usage = Usage(prompt_tokens=2000, completion_tokens=900, cached_tokens=1000)
    options = "--judge groundedness --model m --price 1000,0,100".split()
    result = invoke("run", file_of(ROW), *options, model=ScriptedModel(Reply(GOOD, usage=usage)))
    assert result.stderr.splitlines()[-1].endswith("cost: 1.1000")


def test_summary_has_the_usage_of_its_judge() -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=5)
    replies = Reply(GOOD, usage=usage), Reply(GOOD, usage=usage), Reply(GOOD)
    judge = load("groundedness", model=ScriptedModel(*replies))
    (summary,) = summarise(run(judge, [ROW, ROW, ROW]))
    assert summary.usage == usage + usage
    assert summarise(run(load("groundedness", model=ScriptedModel(GOOD)), [ROW]))[0].usage is None
