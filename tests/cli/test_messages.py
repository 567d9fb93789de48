"""Error messages speak of options on the command line, and of arguments in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import GOOD, ROW, Invoke
from scripted_model import ScriptedModel
from standin_openai import StandIn, Status

from groundjudge.cli.screen import OPTIONS, as_options
from groundjudge.models.openai import REMEDIES


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("5 calls were made, and max_calls allows 5", "5 calls were made, and --max-calls allows 5"),
        ("9 tokens were spent, and max_tokens allows 5", "9 tokens were spent, and --max-tokens allows 5"),
        ("no model given: pass model=, which can be", "no model given: pass --model, which can be"),
        ('pass model="langchain:a:b" or', "pass --model langchain:a:b or"),
        (
            'pass empty_response="not_applicable" to leave such rows out, or "worst" to score them 0.',
            'pass --empty-response not_applicable to leave such rows out, or "worst" to score them 0.',
        ),
        (
            "set OPENAI_API_KEY or pass api_key= to use OpenAI, set X or pass base_url=, or pass client=",
            "set OPENAI_API_KEY to use OpenAI, set X",
        ),
        (
            "m at h: no response in time (raise timeout= if the endpoint needs longer)",
            "m at h: no response in time",
        ),
        ("put it into the file, or pass scale=Scale(worst=…, best=…)", "put it into the file"),
        ("add it to the file, or pass reply=Tags(value=…, reason=…)", "add it to the file"),
        ("use a smaller concurrency=", "use a smaller --concurrency"),
        ("listed twice: pass load(repeats=)", "listed twice: pass --repeats"),
        ("j: weighted needs labels", "j: --weighted needs labels"),
        ("a weighted sum, and the model needs more", "a weighted sum, and the model needs more"),
        ("the model said: a=1 or b=2", "the model said: a=1 or b=2"),
        ("the model, its threshold and the deadline", "the model, its threshold and the deadline"),
        ("max_calls_total, my_max_tokens", "max_calls_total, my_max_tokens"),
    ],
)
def test_arguments_become_options(message: str, shown: str) -> None:
    assert as_options(message) == shown


@pytest.mark.parametrize("remedy", REMEDIES.values(), ids=REMEDIES)
def test_remedies_for_an_endpoint_name_no_argument(remedy: str) -> None:
    assert not re.search(r"\w=", as_options(f"m at h: why ({remedy})"))


def test_what_messages_call_an_option_is_one(invoke: Invoke) -> None:
    shown = invoke("run", "--help").stdout + invoke("agree", "--help").stdout
    for name in OPTIONS:
        assert f"--{name.replace('_', '-')} " in shown


PROMPT = """---
name: mine
{head}
inputs: [{{name: response, type: text}}]
---
user:
Rate {{{{response}}}}
"""


@pytest.mark.parametrize(
    ("head", "row", "options", "shown"),
    [
        pytest.param(
            "", ROW, ["--model", "m", "--judge", "PROMPT"], "reply is missing: add it", id="no reply format"
        ),
        pytest.param(
            *("reply: {format: tags, value: v}", ROW, ["--model", "m", "--judge", "PROMPT"]),
            *("scale is missing: put it into the file\n",),
            id="no scale",
        ),
        pytest.param("", ROW, ["--model", "m"], "set OPENAI_API_KEY to use OpenAI, set", id="no endpoint"),
        pytest.param("", ROW, ["--model", "openai:"], "lacks the name of the model", id="no name of a model"),
        pytest.param(
            *("", ROW, ["--model", "anthropic:x"], "pass --model langchain:anthropic:x (pip install"),
            id="another provider",
        ),
        pytest.param("", ROW, ["--model", "ofline"], 'the lexical baseline is called "offline"', id="a typo"),
        pytest.param(
            "", ROW, ["--model", "langchain:nobody:x"], "nobody", id="a provider that does not exist"
        ),
        pytest.param(
            *("", {**ROW, "response": ""}, ["--model", "offline"], "pass --empty-response not_applicable to"),
            id="a blank response",
        ),
        pytest.param(
            *("", ROW, ["--model", "offline", "--cache", "FOLDER"], "cannot be used as a cache"),
            id="a cache that is a folder",
        ),
    ],
)
def test_messages_that_a_user_can_meet_name_no_argument(  # noqa: PLR0913, PLR0917  fixtures and a row of the table
    invoke: Invoke,
    file_of: Callable[..., Path],
    tmp_path: Path,
    head: str,
    row: dict[str, str],
    options: list[str],
    shown: str,
) -> None:
    prompt = tmp_path / "mine.prompty"
    prompt.write_text(PROMPT.format(head=head))
    places = {"PROMPT": prompt, "FOLDER": tmp_path}
    judge = [] if "PROMPT" in options else ["--judge", "groundedness"]
    result = invoke("run", file_of(row), *judge, *(places.get(option, option) for option in options))
    assert result.exit_code in {1, 2}
    assert shown in result.stderr
    assert not re.search(r"\b[a-z_]+=(?![\w{])", result.stderr)


@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_messages_about_an_endpoint_name_no_argument(
    invoke: Invoke, file_of: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    with StandIn([Status(status)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = invoke("run", file_of(ROW), "--judge", "groundedness", "--model", "m", "--deadline", "20")
    assert result.exit_code in {1, 2}
    assert "OPENAI_BASE_URL" in result.stderr
    assert "base_url" not in result.stderr
    assert "api_key" not in result.stderr


def test_a_budget_is_named_as_an_option(invoke: Invoke, file_of: Callable[..., Path]) -> None:
    options = ["--judge", "groundedness", "--model", "m", "--max-calls", "1"]
    result = invoke("run", file_of(ROW, ROW), *options, model=ScriptedModel(GOOD))
    assert "stopped: 1 calls were made, and --max-calls allows 1\n" in result.stderr
