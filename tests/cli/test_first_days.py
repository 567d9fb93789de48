"""What the screen says to somebody who uses the commands for the first time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_line import GOOD, ROW, FileOf, Invoke, run_command, words
from formatter import sure
from scripted_model import ScriptedModel
from standin_openai import StandIn, Status
from typer.testing import CliRunner

from groundjudge.cli.app import COMMANDS, app


def test_a_run_prints_the_share_of_the_rows_that_passed(invoke: Invoke, file_of: FileOf) -> None:
    model = ScriptedModel(GOOD, GOOD, f"<S0>t</S0><S1>r</S1>{sure(1)}")
    arguments = ["--judge", "groundedness", "--model", "m", "--concurrency", "1"]
    output = invoke("run", file_of(ROW, ROW, ROW), *arguments, "--out", "-", model=model).stderr
    heading, row = words(output)[:2]
    assert (row[heading.index("passed")], row[heading.index("mean")]) == ("0.666", "0.667")


@pytest.mark.parametrize(("status", "exit_status"), [(400, 1), (404, 2)])
def test_the_providers_own_words_are_shown_as_they_are(
    invoke: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch, status: int, exit_status: int
) -> None:
    words_of_provider = "The model `nosuch` does not exist"
    with StandIn([Status(status, words_of_provider)]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result = invoke("run", file_of(ROW), "--judge", "groundedness", "--model", "nosuch")
    output = result.stdout + result.stderr
    assert (result.exit_code, words_of_provider in output, "--nosuch" in output) == (
        exit_status,
        True,
        False,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(
            ["run", "cases.csv", "--judge", "groundness", "--model", "offline"],
            "there is no judge 'groundness' and no file with that name, did you mean 'groundedness'? the",
            id="a judge",
        ),
        pytest.param(
            ["run", "cases.csv", "--judge", "groundedness", "--model", "offline"],
            "cases.csv: no row could be read: the file has no rows",
            id="a header alone",
        ),
        pytest.param(
            ["run", "empty.jsonl", "--judge", "groundedness", "--model", "offline"],
            "empty.jsonl: no row could be read: the file has no rows",
            id="an empty file",
        ),
        pytest.param(
            ["run", "wide.csv", "--judge", "groundedness", "--model", "offline"],
            "wide.csv: no row could be read: a table has a header and rows with as many cells",
            id="a table with too many cells",
        ),
        pytest.param(
            ["run", "row.csv", "--judge", "groundedness", "--model", "m"],
            "the URL 'localhost:8000/v1' of m has no scheme (OPENAI_BASE_URL, or as passed): write "
            "http://localhost:8000/v1 or https://localhost:8000/v1",
            id="a URL without a scheme",
        ),
    ],
)
def test_a_message_names_what_is_wrong(
    command: Invoke, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000/v1")
    Path("cases.csv").write_text("query,context,response\n")
    Path("empty.jsonl").touch()
    Path("wide.csv").write_text("query\nq,c,r\n")
    Path("row.csv").write_text("query,context,response\nq,c,r\n")
    result = command(*arguments)
    assert result.exit_code in {1, 2}
    assert f"groundjudge: {message}" in result.stderr.replace("stopped: ", "")


def test_a_prompt_without_a_format_gets_lines_to_paste(command: Invoke) -> None:
    Path("mine.md").write_text("Rate {{response}}: <grade>1 to 5</grade>")
    result = command("show", "mine.md")
    assert result.exit_code == 2
    lines = "reply: {format: tags, value: S2, reason: S1}\nscale: {worst: 1, best: 5, integer: true}\n"
    assert f"\n{lines}" in result.stderr


@pytest.mark.soak
def test_a_notice_on_a_prompt_is_one_line(tmp_path: Path) -> None:
    front_matter = "id: 1\nreply: {format: plain}\nscale: {worst: 1, best: 5}"
    (tmp_path / "mine.md").write_text(f"---\n{front_matter}\n---\nRate {{{{response}}}}")
    result = run_command("judges", "mine.md", cwd=tmp_path)
    assert result.stderr == "groundjudge: mine.md: these keys of other tools are ignored: id\n"


# --- help -----------------------------------------------------------------------------------------

NAMES = sorted(name for group in COMMANDS.values() for name in group)


def test_help_has_every_command_in_a_group_those_of_a_first_day_first(invoke: Invoke) -> None:
    lines = invoke("--help").stdout.splitlines()
    titles = [line for line in lines if re.fullmatch(r"[A-Z][\w ]+:", line)]
    assert titles == ["Options:", "Judge:", "Measure:", "At scale:"]
    first_names = [line.split()[0] for line in lines[lines.index("Judge:") + 1 :][:3]]
    assert first_names == ["examples", "run", "report"]


def help_at_100_columns(*arguments: str) -> str:
    return CliRunner().invoke(app, [*arguments, "--help"], terminal_width=100).stdout


@pytest.mark.parametrize("arguments", [[], *([name] for name in NAMES)], ids=" ".join)
def test_help_is_whole_at_100_columns(arguments: list[str]) -> None:
    output = help_at_100_columns(*arguments)
    assert output.startswith("Usage: ")
    assert "..." not in output.split("\n\n", 1)[1]
    assert max(map(len, output.splitlines())) <= 100


def test_help_of_a_run_fits_one_screen() -> None:
    assert 20 < len(help_at_100_columns("run").splitlines()) <= 50


def test_the_judge_and_the_model_have_short_options(invoke: Invoke, file_of: FileOf) -> None:
    result = invoke("run", file_of(ROW), "-j", "groundedness", "-m", "m", model=ScriptedModel(GOOD))
    assert result.exit_code == 0
