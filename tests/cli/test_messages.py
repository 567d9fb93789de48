"""Error messages speak of options on the command line, and of arguments in Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import GOOD, ROW, FileOf, Invoke
from scripted_model import ScriptedModel
from standin_openai import StandIn, Status

from groundjudge import CaseError, GroundjudgeError, ModelError, PromptError
from groundjudge.cli.screen import in_options
from groundjudge.models.openai import REMEDIES


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (ModelError("budget", "`max_calls` allows 5", "max_calls"), "--max-calls allows 5"),
        (PromptError("bad_weighted", "j: `weighted` needs labels", "weighted"), "j: --weighted needs labels"),
        (ModelError("bad_request", "`max_tokens` is too large", "gpt-4o"), "`max_tokens` is too large"),
        (CaseError("empty_response", "the empty_response", "empty_response"), "the empty_response"),
    ],
)
def test_the_parameter_that_an_error_names_becomes_an_option(error: GroundjudgeError, shown: str) -> None:
    assert in_options(error.message, error.subject) == shown


@pytest.mark.parametrize("remedy", REMEDIES.values(), ids=REMEDIES)
def test_remedies_for_an_endpoint_name_no_argument(remedy: str) -> None:
    assert not re.search(r"\w=|`", remedy)


PROMPT = """---
name: mine
{head}
inputs: [{{name: response, type: text}}]
---
user:
Rate {{{{response}}}}
"""


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ("--model m --judge NO_REPLY", "reply is missing: add it"),
        ("--model m --judge NO_SCALE", "scale is missing: put it into the file"),
        ("--model m --judge groundedness", "set OPENAI_API_KEY to use OpenAI, set"),
        ("--model openai: --judge groundedness", "lacks the name of the model"),
        ("--model anthropic:x --judge groundedness", 'pass "langchain:anthropic:x" (pip install'),
        ("--model ofline --judge groundedness", 'the lexical baseline is called "offline"'),
        ("--model offline --judge groundedness", 'set --empty-response to "not_applicable" to'),
        ("--model offline --judge groundedness --cache FOLDER", "cannot be used as a cache"),
    ],
)
def test_messages_that_a_user_can_meet_name_no_argument(
    invoke: Invoke, file_of: FileOf, tmp_path: Path, options: str, shown: str
) -> None:
    places = {name: tmp_path / f"{name}.prompty" for name in ("NO_REPLY", "NO_SCALE")}
    for name, head in (("NO_REPLY", ""), ("NO_SCALE", "reply: {format: tags, value: v}")):
        places[name].write_text(PROMPT.format(head=head))
    given = ({**places, "FOLDER": tmp_path}.get(option, option) for option in options.split())
    result = invoke("run", file_of(ROW, {**ROW, "response": ""}), *given)
    assert result.exit_code in {1, 2}
    assert shown in result.stderr
    assert not re.search(r"\b[a-z_]+=(?![\w{])", result.stderr)


@pytest.mark.parametrize("status", [400, 401, 404, 500])
def test_messages_about_an_endpoint_name_no_argument(
    invoke: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setattr("groundjudge.models.pacing.FIRST_WAIT", 0.01)
    with StandIn([Status(status)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = invoke("run", file_of(ROW), "--judge", "groundedness", "--model", "m", "--deadline", "20")
    assert result.exit_code in {1, 2}
    assert "OPENAI_BASE_URL" in result.stderr
    assert "base_url" not in result.stderr
    assert "api_key" not in result.stderr


def test_a_budget_is_named_as_an_option(invoke: Invoke, file_of: FileOf) -> None:
    options = ["--judge", "groundedness", "--model", "m", "--max-calls", "1"]
    result = invoke("run", file_of(ROW, ROW), *options, model=ScriptedModel(GOOD))
    assert "stopped: 1 calls were made, and --max-calls allows 1\n" in result.stderr
