"""Wrong use is one line, before anything is judged; it names options, and no arguments of Python."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from command_line import GOOD, ROW, STRICT, FileOf, Invoke
from scripted_model import ScriptedModel
from standin_openai import StandIn, Status
from verdict_files import write_rows

from groundjudge import CaseError, GroundjudgeError, ModelError, PromptError
from groundjudge.cli.screen import in_options
from groundjudge.models.openai import REMEDIES


@pytest.mark.parametrize(
    ("error", "message"),
    [
        pytest.param(
            ModelError("budget", "`max_calls` allows 5", "max_calls"),
            "--max-calls allows 5",
            id="a budget of a run",
        ),
        pytest.param(
            PromptError("bad_weighted", "j: `weighted` needs labels", "weighted"),
            "j: -O weighted needs labels",
            id="an option of a rubric",
        ),
        pytest.param(
            ModelError("bad_request", "`max_tokens` is too large", "gpt-6-luna"),
            "`max_tokens` is too large",
            id="an argument of the endpoint stays",
        ),
        pytest.param(
            CaseError("empty_response", "the empty_response", "empty_response"),
            "the empty_response",
            id="a word without quotes stays",
        ),
    ],
)
def test_the_parameter_that_an_error_names_becomes_an_option(error: GroundjudgeError, message: str) -> None:
    assert in_options(error.message, error.subject) == message


@pytest.mark.parametrize("remedy", REMEDIES.values(), ids=REMEDIES)
def test_remedies_for_an_endpoint_name_no_argument(remedy: str) -> None:
    assert not re.search(r"\w=|`", remedy)


JUDGED = ("--judge", "groundedness", "--model", "m")
G, S = "--judge groundedness", "--judge strict.prompty"
ADD_PANEL = "several --model: add --panel to let them vote, or run the command once for each"
ADD_VOTES = " only applies to votes: add --repeats N, or --panel"
USE_REPEATS = "to ask one judge several times, use --repeats N"
ARGUMENT = re.compile(r"\b[a-z_]+=(?![\w{'])")  # LangChain says model='...'


@pytest.mark.parametrize(
    ("model", "message"),
    [
        pytest.param("m", "set OPENAI_API_KEY to use OpenAI; set", id="no key"),
        pytest.param("offline", 'set -O empty_response to "not_applicable" to', id="a blank response"),
    ],
)
def test_a_message_about_a_key_or_a_row_names_no_argument(
    invoke: Invoke, file_of: FileOf, model: str, message: str
) -> None:
    result = invoke("run", file_of(ROW, {**ROW, "response": ""}), *G.split(), "--model", model)
    assert message in result.stderr
    assert not ARGUMENT.search(result.stderr)


def test_a_message_about_a_response_under_another_name_names_the_option_for_it(
    invoke: Invoke, file_of: FileOf
) -> None:
    result = invoke(
        "run", file_of({"query": "q", "context": "c", "text": "r"}), *G.split(), "--model", "offline"
    )
    assert "\ngroundedness: no row has response\n" in result.stderr
    assert "the rows have context, query, text: try --fields response=PATH\n" in result.stderr


@pytest.mark.parametrize("status", [400, 401])
def test_messages_about_an_endpoint_name_no_argument(
    invoke: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    with StandIn([Status(status)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = invoke("run", file_of(ROW), *JUDGED, "--deadline", "20")
    assert result.exit_code in {1, 2}
    assert "OPENAI_BASE_URL" in result.stderr
    assert "base_url" not in result.stderr
    assert "api_key" not in result.stderr


ROWS: Mapping[str, list[Mapping[str, Any]]] = {
    "c.jsonl": [ROW],
    "odd.jsonl": [{"inputs": {"q": "q"}, "found": [{"text": "c"}], "output": {"text": "r"}}],
    "v.jsonl": [],
}
TEXTS = {
    "broken.prompty": "---\nname: [\n  x: y: z\n---\nuser:\nRate {{response}}\n",
    "strict.prompty": STRICT,
    "copy.prompty": STRICT,
    "no_reply.prompty": re.sub("reply:.*\n", "", STRICT),
    "object.json": '{"rows": []}',
    "two.json": '{"results": {"results": [{"vars": {}}], "prompts": [{"raw": ""}]}}',
}
MAPPING = "run odd.jsonl --model a --judge groundedness"
WRONG: Mapping[str, Mapping[str, str]] = {
    # the beginning of a command, and its options, with what is said of them
    "run": {
        "c.jsonl": 'no model given: add --model, which can be "openai:MODEL" or just MODEL',
        "c.jsonl --model a --judge x": "there is no judge 'x' and no file with that name; the judges are",
        "c.jsonl --model a --judge groundedness,x": "no file with that name: name each judge separately",
        "c.jsonl --model a -O parameters.temperature=0,top_p=1": "once for each: ",
        "c.jsonl --model a -O repeats=3": "-O repeats=3: it has its own flag: --repeats\n",
        "c.jsonl --model a --judge broken.prompty": "broken.prompty: the front matter is not valid YAML",
        "c.jsonl --model a --judge .": "there is no judge '.'",
        "c.jsonl --model a --judge no_reply.prompty": "reply is missing: add it",
        "c.jsonl --model openai:": "lacks the name of the model",
        "c.jsonl --model offline --cache .": "cannot be used as a cache",
        "none.jsonl --model a": "none.jsonl: No such file or directory",
        ". --model a": ".: Is a directory",
        "object.json --model a": "object.json: it is a single object with the keys rows: write an",
        "c.jsonl --model a --out c.jsonl": "c.jsonl is the file of cases: choose another",
        "c.jsonl --model a --out no/folder.jsonl": "the folder no does not exist: create it",
        "c.jsonl --model a --out s3://bucket/v.jsonl": "--out s3://bucket/v.jsonl: this is a URL, but the",
        "two.json --model a": "name it with --rows, which can be results.results, results.prompts",
        "c.jsonl --model a --rows results": "leave --rows out, or pass the format json",
        "c.jsonl --model a --resume": "--resume needs --out PATH, the file to continue",
        "c.jsonl --model a --out o --resume --overwrite": "use one of them",
    },
    "show": {
        "groundedness --case 1": "--case needs --cases FILE",
        "groundedness --cases c.jsonl --case 1": "c.jsonl has no case with the id '1'",
        "passage_quality --cases c.jsonl": "passage_quality needs reference, which is not given",
        "groundedness --format csv": "--format: add --cases FILE",
        "groundedness --cases odd.jsonl --fields query": "--fields query: expected FIELD=PATH",
    },
    "report v.jsonl": {
        "--fields query=q": "--fields: add --cases FILE",
        "--group topic": "--group: add --labels FILE",
    },
    "compare v.jsonl v.jsonl": {
        "--label l --label-threshold 1": "--label, --label-threshold: add --labels FILE",
    },
    "probe": {
        "": "no judge given: add --judge NAME",
        "--judge groundedness --model offline --without x": "there is no edit 'x'",
        "--judge groundedness --model offline --card x --out x": "--card x is the file --out",
        "--judge groundedness --format csv --fields query=q": "--format, --fields: add --cases FILE",
    },
    "estimate": {
        f"c.jsonl {G} --model a --panel": f"{USE_REPEATS}\n",
        f"odd.jsonl {G} --fields query": "--fields query: expected FIELD=PATH, such as --fields query=",
    },
    "run c.jsonl": {
        f"{G} --model a --model b": f"{ADD_PANEL}\n",
        f"{G} --model a --panel": f"{USE_REPEATS}\n",
        "--model a --panel": "--panel with one --model: name two or more --judge, or add another --model",
        f"{G} --model a --model b --panel --repeats 3": "--panel and --repeats exclude each other: use one",
        f"{G} --model a -O rule=min": f"-O rule{ADD_VOTES}\n",
        f"{G} --model a -O stop=never": f"-O stop{ADD_VOTES}\n",
        f"{G} --model a --model b --model a --panel": "two models have the name 'a': to ask one model",
        f"{G} --judge confidence_grounding --model a --panel": "panel: its judges must answer on one scale",
        f"{S} --judge copy.prompty --model a --repeats 2": "--judge: two judges have the name 'strict'",
    },
    MAPPING: {
        "--fields quary=inputs.q": "--fields: unknown field 'quary', did you mean 'query'? The fields",
        "--fields query": "--fields query: expected FIELD=PATH, such as --fields query=inputs.question",
        "--fields query=q,query=found": "--fields query=found: query is already read from q: leave one out",
        "--fields query=": "--fields query=: expected FIELD=PATH",
        "--fields query=inputs.q --fields question=other": "--fields: query is already read from inputs.q",
        "--fields response=output.txt": "the path output.txt, which --fields gives for response, did you",
        "--fields response=nowhere": "has the path nowhere, which --fields gives for response. The first row",
    },
}


LINES = [
    (f"{beginning} {options}", message)
    for beginning, messages in WRONG.items()
    for options, message in messages.items()
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all that the lines name is."""
    path = tmp_path_factory.mktemp("wrong use")
    for name, rows in ROWS.items():
        write_rows(str(path / name), rows)
    for name, text in TEXTS.items():
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize(("line", "message"), LINES, ids=[line for line, _ in LINES])
def test_wrong_use_is_one_line_before_anything_is_judged(
    invoke: Invoke, folder: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.chdir(folder)
    result = invoke(*line.split())
    assert (result.exit_code, result.stdout) == (2, "")
    first_line, *to_paste = result.stderr.splitlines()
    assert first_line.startswith("groundjudge: "), result.stderr
    # Only front matter to paste has lines of its own.
    assert to_paste == [] or to_paste[2].startswith("reply: {"), result.stderr
    assert message in result.stderr
    # A path such as query=inputs.q looks like an argument.
    assert "--fields" in line or not ARGUMENT.search(result.stderr)
    assert {path.name for path in folder.iterdir()} == {*ROWS, *TEXTS}
    assert Path("c.jsonl").read_text() == json.dumps(ROW) + "\n"


@pytest.mark.parametrize(
    "options",
    [
        "--concurrency=0",
        "--min-coverage=1.5",
        "-O structured=sometimes",
        "--repeats=3 -O stop=early",
    ],
)
def test_option_out_of_range_is_named(invoke: Invoke, file_of: FileOf, options: str) -> None:
    result = invoke("run", file_of(ROW), *JUDGED, *options.split(), model=ScriptedModel(GOOD))
    assert (result.exit_code, result.stdout) == (2, "")
    assert options.rpartition(" ")[2].partition("=")[0] in result.stderr
