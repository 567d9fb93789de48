"""Without any extra the core judges and runs, and a command that needs more says which extra has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import run_program
from test_architecture import FRAMEWORKS

OPTIONAL = (*FRAMEWORKS, "anthropic", "langchain_anthropic", "numpy", "pandas", "pyarrow", "scipy", "sklearn")
"""Every package that an extra brings, and what these bring: none can be imported."""

# In one process, since each takes half a second to start: a command prints its status and its last line.
PROGRAM = """
import json, os, sys
folder, optional, commands = sys.argv[1], *map(json.loads, sys.argv[2:])
sys.modules.update(dict.fromkeys(optional))
import groundjudge
from groundjudge.cli.app import app
from typer.testing import CliRunner
os.chdir(folder)
judge = groundjudge.load("statement_groundedness", model=lambda messages: "no reply in the format")
verdicts = list(groundjudge.run(judge, [{"context": "c", "response": "r"}]))
results = {"Python": (verdicts[0].status, verdicts[0].error.code)}
for name, words in commands.items():
    result = CliRunner().invoke(app, words.split())
    last_line = result.output.strip().rpartition("\\n")[-1]
    results[name] = (result.exit_code, last_line)
    if name == "examples":
        open("cases.jsonl", "w").write(result.output)
print(json.dumps(results))
"""

ANALYSIS = 'pip install "groundjudge[analysis]"'
ARROW = 'pip install "groundjudge[arrow]"'
LABELS = "--labels cases.jsonl --judge groundedness"

COMMANDS = [
    ("examples", "examples", 0, ""),
    ("run", "run cases.jsonl --model offline --out v.jsonl", 0, ""),
    ("judges", "judges", 0, ""),
    ("show", "show groundedness", 0, ""),
    ("estimate", "estimate cases.jsonl --model offline", 0, ""),
    ("report", "report v.jsonl --out a.html", 0, ""),
    ("label", "label cases.jsonl v.jsonl --judge groundedness --n 12", 0, ""),
    ("probe", "probe --judge groundedness --model offline --worst 0", 0, ""),
    ("batch write", "batch write cases.jsonl --judge groundedness --model m --out requests.jsonl", 0, ""),
    ("report with labels", "report v.jsonl --labels cases.jsonl --out b.html", 0, ANALYSIS),
    ("agree", f"agree v.jsonl {LABELS}", 2, ANALYSIS),
    ("calibrate", f"calibrate v.jsonl {LABELS}", 2, ANALYSIS),
    ("calibrate --cascade", f"calibrate v.jsonl --cascade v.jsonl {LABELS}", 2, ANALYSIS),
    ("compare", "compare v.jsonl v.jsonl --judge groundedness", 2, ANALYSIS),
    ("rate", "rate v.jsonl --labels cases.jsonl", 2, ANALYSIS),
    ("run to Parquet", "run cases.jsonl --model offline --out v.parquet", 2, ARROW),
    ("run from Parquet", "run cases.parquet --model offline --out w.jsonl", 2, ARROW),
    (
        "batch submit to Anthropic",
        "batch submit cases.jsonl --judge groundedness --model langchain:anthropic:m --out b.jsonl",
        2,
        "langchain-anthropic",
    ),
]
"""What is called, its arguments, its exit status, and what its last line says is needed."""


@pytest.mark.soak
def test_core_and_command_without_extras_work_or_name_the_extra(tmp_path: Path) -> None:
    (tmp_path / "cases.parquet").write_bytes(b"PAR1")
    commands = {name: words for name, words, _, _ in COMMANDS}
    status, output, errors = run_program(PROGRAM, str(tmp_path), json.dumps(OPTIONAL), json.dumps(commands))
    assert status == 0, errors
    results: dict[str, list[Any]] = json.loads(output)
    assert results["Python"] == ["error", "no_verdict"]
    for name, _, exit_code, needed in COMMANDS:
        exited, last_line = results[name]
        assert exited == exit_code, (name, last_line)
        assert needed in last_line, name
        if not needed:
            assert "pip install" not in last_line, name
