"""The command line as a whole."""

from __future__ import annotations

import pytest
from command_line import Invoke
from typer.testing import CliRunner

from groundjudge import __version__, names
from groundjudge.cli.app import COMMANDS, RENAMED, app, import_command
from groundjudge.cli.judging import judging_options
from groundjudge.cli.selection import complete_option


def test_version_and_help(invoke: Invoke) -> None:
    assert invoke("--version").stdout == f"groundjudge {__version__}\n"
    for command in ("", "run", "batch submit"):
        short = invoke(*command.split(), "-h")
        long = invoke(*command.split(), "--help")
        assert (short.exit_code, short.stdout) == (0, long.stdout)
        assert "-h, --help" in short.stdout


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        pytest.param("groundjudge es", ["estimate"], id="a command"),
        pytest.param("groundjudge run --max", ["--max-calls", "--max-tokens"], id="options"),
        pytest.param("groundjudge run cases.jsonl --judge ", names(), id="all judges"),
        pytest.param("groundjudge show pas", ["passage_quality"], id="a judge as an argument"),
        pytest.param(
            "groundjudge run cases --format ", ["jsonl", "json", "csv", "tsv", "parquet"], id="choices"
        ),
        pytest.param("groundjudge run --judge my_judge.pro", [], id="a prompt file is left to the shell"),
    ],
)
def test_the_shell_completes(typed: str, completed: list[str]) -> None:
    position = len(typed.split())
    if not typed.endswith(" "):
        position -= 1  # the last word is the one to complete
    environment = {
        "_GROUNDJUDGE_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": str(position),
    }
    result = CliRunner(env=environment).invoke(app, prog_name="groundjudge")
    assert (result.stdout.split(), result.stderr) == (completed, "")


def test_the_shell_is_given_a_script(invoke: Invoke) -> None:
    assert "--install-completion" in invoke("--help").stdout
    runner = CliRunner(env={"_GROUNDJUDGE_COMPLETE": "source_bash"})
    script = runner.invoke(app, prog_name="groundjudge").stdout
    assert "_GROUNDJUDGE_COMPLETE=complete_bash" in script
    assert script.rstrip().endswith(" groundjudge")


PLACES = {name: place for group in COMMANDS.values() for name, place in group.items()}


def test_the_list_of_commands_has_the_first_sentence_of_each() -> None:
    for name, (place, sentence) in PLACES.items():
        assert import_command(name, place).get_short_help_str(200) == sentence


@pytest.mark.parametrize("flag", ["--unweighted", "--price-in"])
def test_a_flag_of_an_earlier_version_is_told_how_it_is_written(invoke: Invoke, flag: str) -> None:
    result = invoke("run", "cases.jsonl", flag, "1")
    assert result.exit_code == 2
    assert result.stderr.endswith(f"No such option: {flag}. Write {RENAMED[flag]}\n")


def test_run_has_few_options() -> None:
    place, _ = PLACES["run"]
    options = [option for option in import_command("run", place).params if option.opts[0].startswith("-")]
    assert len(options) <= 24


def test_every_option_of_judging_is_listed_and_completed(invoke: Invoke) -> None:
    listed = invoke("judges", "--options").stdout
    assert [name for name in judging_options() if f"{name}\n" not in listed] == []
    assert complete_option("may") == ["may_be_empty="]
