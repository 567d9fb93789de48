"""The command line in tests: how it is called, and what it wrote."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from formatter import sure
from typer.testing import CliRunner, Result

from groundjudge import Verdict
from groundjudge.cli.app import app

COMMAND = [sys.executable, "-m", "groundjudge"]
GOOD = f"<S0>t</S0><S1>all of it</S1>{sure(5)}"
ROW = {
    "query": "When does the ferry sail?",
    "context": "The ferry sails at nine in the morning.",
    "response": "The ferry sails at nine.",
}

STRICT = """---
name: strict
model: {parameters: {temperature: 0}}
inputs: [{name: response, type: text}]
reply: {format: tags, value: S2, reason: S1, shares: S3}
scale: {worst: 1, best: 5, integer: true}
weighted: stated
---
user:
Rate {{response}} strictly.
"""
"""A prompt on the scale of groundedness."""

Invoke = Callable[..., Result]
FileOf = Callable[..., Path]


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs a command, with a model that stands for every name."""

    def call(
        *arguments: str | Path, model: object = None, stdin: str | bytes | None = None, columns: int = 200
    ) -> Result:
        if model is not None:

            def stand_in(_: str) -> object:
                return model

            monkeypatch.setattr("groundjudge.cli.selection.as_model", stand_in)
        words = [str(argument) for argument in arguments]
        runner = CliRunner(env={"COLUMNS": str(columns)})
        return runner.invoke(app, words, input=stdin)

    return call


@pytest.fixture
def command(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Runs a command in a folder of its own, where files are named without a path."""
    monkeypatch.chdir(tmp_path)
    return invoke


@pytest.fixture
def file_of(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows as JSON Lines; a text among them as it is."""

    def write(*rows: Mapping[str, Any] | str) -> Path:
        path = tmp_path / "cases.jsonl"
        with path.open("w") as file:
            for row in rows:
                line = row if isinstance(row, str) else json.dumps(row)
                file.write(f"{line}\n")
        return path

    return write


def verdicts_in(lines: str) -> list[Verdict]:
    return [Verdict.model_validate_json(line) for line in lines.splitlines()]


def words(output: str) -> list[list[str]]:
    """The words of each line."""
    return [line.split() for line in output.splitlines()]


def run_command(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own."""
    return subprocess.run(  # noqa: S603  this very Python
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False, **options
    )


SEVERAL = """
import json, sys
from groundjudge.cli.app import app
for arguments in json.loads(sys.argv[1]):
    app(arguments, standalone_mode=False)
    print("= the end", flush=True)
"""


def several_on_a_terminal(*commands: Sequence[str]) -> list[str]:
    """What each of several commands shows on a terminal, all in one process; each must end well."""
    status, output = on_a_terminal(json.dumps(commands), program=[sys.executable, "-c", SEVERAL])
    assert status == 0, output
    return output.split("= the end")[:-1]


def on_a_terminal(
    *arguments: object,
    see: Callable[[bytes], object] = lambda _: None,
    program: Sequence[str] = COMMAND,
    **environment: str,
) -> tuple[int, str]:
    """Run a command on a terminal of its own; gives its status and its output, which `see` gets so far."""
    pid, terminal = pty.fork()
    if pid == 0:
        words = [str(argument) for argument in arguments]
        os.execve(program[0], [*program, *words], {**os.environ, **environment})  # noqa: S606
    output = b""
    with suppress(OSError):  # how Linux says that the other side is closed
        while True:
            ready, _, _ = select.select([terminal], [], [], 60)
            assert ready, "nothing was printed for a minute"
            chunk = os.read(terminal, 65536)
            if not chunk:
                break
            output += chunk
            see(output)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), output.decode()


def run_program(code: str, *arguments: str) -> tuple[int, str, str]:
    """Run a program that can import what tests import; its exit status, stdout and stderr."""
    process = subprocess.run(  # noqa: S603  this very Python
        [sys.executable, "-W", "always", "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=Path(__file__).parent,
    )
    return process.returncode, process.stdout, process.stderr
