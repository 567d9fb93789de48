"""README.md: every code block runs as printed, and every command prints what is shown."""

from __future__ import annotations

import doctest
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import standin_langsmith
from readme_blocks import Block, blocks, commands
from standin_openai import StandIn
from typer.testing import CliRunner

from groundjudge import load_rubric
from groundjudge.cli.app import app

NOT_RUN: Mapping[str, str] = {
    # the first line of a block, and why it cannot run here
    "make demo     # runs all five judges on 40 examples: no key, no model call": "sets up an environment",
    'pip install "groundjudge[langsmith]"   # or [deepeval], [langchain], [all]; without an extra: the core '
    "alone": "downloads packages",
}
RUN_HERE = ("python", "pycon", "console", "markdown")
IN_LANGSMITH = "from langsmith import"
"""LangSmith keeps the environment that it first meets: a block with it runs in a process of its own."""

REPLY = "<S0>t</S0><S1>The context says so.</S1><S2>5</S2>"
BLOCKS = [block for block in blocks() if block.name not in NOT_RUN]


def of(*languages: str) -> list[Block]:
    return [block for block in BLOCKS if block.language in languages]


@pytest.fixture
def endpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """The endpoint that OPENAI_BASE_URL names, and an empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    with StandIn([REPLY]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "a-key")
        yield server


def test_every_block_is_run_or_listed_with_the_reason() -> None:
    assert [block for block in BLOCKS if block.language not in RUN_HERE] == []
    assert [block for block in of("console") if not [*commands(block)]] == []
    assert {block.name for block in blocks()} >= {*NOT_RUN}


def test_python_blocks_run_in_order(endpoint: StandIn, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {"__name__": "readme"}
    session_of = doctest.DocTestParser().get_doctest
    for block in of("python", "pycon"):
        if block.language == "pycon":
            session = session_of(block.code, names, "README", "README.md", block.line)
            assert doctest.DocTestRunner().run(session).failed == 0, capsys.readouterr().out
        elif IN_LANGSMITH not in block.code:
            exec(compile(block.in_its_place, "README.md", "exec"), names)  # noqa: S102
            for name in [name for name in names if name.startswith("test_")]:
                names.pop(name)()
    assert "1.0 grounded True The context says so.\n" in capsys.readouterr().out
    assert len(endpoint.requests) == 3  # one each: the core, DeepEval and LangChain


def test_langsmith_block_sends_its_feedback(endpoint: StandIn, tmp_path: Path) -> None:
    (block,) = (block for block in of("python") if IN_LANGSMITH in block.code)
    with standin_langsmith.StandIn([({"question": "When do you open?"}, None)]) as server:
        server.dataset = "my dataset"
        program = tmp_path / "program.py"
        program.write_text(block.code)
        done = subprocess.run(  # noqa: S603  this very Python
            [sys.executable, program],
            env={**os.environ, "LANGSMITH_ENDPOINT": server.url, "LANGSMITH_API_KEY": "a-key"},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    sent = [(feedback["key"], feedback["score"]) for feedback in server.feedback]
    assert sent[0] == ("groundedness", 1.0)
    assert ("groundedness_mean", 1.0) in sent
    assert len(endpoint.requests) == 1


def test_commands_print_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (command for block in of("console") for command in commands(block)):
        line, _, target = command.line.partition(" > ")
        program, *arguments = shlex.split(line)
        assert program == "groundjudge"
        result = CliRunner(env={"COLUMNS": "100"}).invoke(app, arguments)
        if target:
            Path(target).write_bytes(result.stdout_bytes)
        printed = result.stderr if target else result.stdout + result.stderr
        shown = "".join(f"{row.rstrip()}\n" for row in printed.splitlines())
        assert doctest.OutputChecker().check_output(command.output, shown, doctest.ELLIPSIS), (line, shown)


def test_prompt_files_load(tmp_path: Path) -> None:
    for block in of("markdown"):
        path = tmp_path / "politeness.prompty"
        path.write_text(block.code)
        assert load_rubric(path).name == "politeness"
