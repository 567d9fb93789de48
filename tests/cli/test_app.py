"""The command line as a whole."""

from __future__ import annotations

import pytest
from command_line import Invoke
from typer.testing import CliRunner

from groundjudge import __version__, names
from groundjudge.cli.app import app


def test_version_and_help(invoke: Invoke) -> None:
    assert invoke("--version").stdout == f"groundjudge {__version__}\n"
    for command in ("", "run", "batch submit"):
        short, long = (invoke(*command.split(), option) for option in ("-h", "--help"))
        assert (short.exit_code, short.stdout) == (0, long.stdout)
        assert "-h, --help" in short.stdout


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("groundjudge es", ["estimate"]),
        ("groundjudge run --max", ["--max-calls", "--max-tokens"]),
        ("groundjudge run cases.jsonl --judge ", names()),
        ("groundjudge show pas", ["passage_quality"]),
        ("groundjudge run cases --format ", ["jsonl", "json", "csv", "tsv", "parquet"]),
        ("groundjudge run --judge my_judge.pro", []),
    ],
)
def test_the_shell_completes(typed: str, completed: list[str]) -> None:
    position = str(len(typed.split()) - (not typed.endswith(" ")))
    asked = {"_GROUNDJUDGE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": position}
    done = CliRunner(env=asked).invoke(app, prog_name="groundjudge")
    assert (done.stdout.split(), done.stderr) == (completed, "")


def test_the_shell_is_given_a_script(invoke: Invoke) -> None:
    assert "--install-completion" in invoke("--help").stdout
    runner = CliRunner(env={"_GROUNDJUDGE_COMPLETE": "source_bash"})
    script = runner.invoke(app, prog_name="groundjudge").stdout
    assert "_GROUNDJUDGE_COMPLETE=complete_bash" in script
    assert script.rstrip().endswith(" groundjudge")
