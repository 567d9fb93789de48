"""The command `examples`, as a user meets it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from command_line import COMMAND

CASES = Path(__file__).parents[2] / "examples" / "cases.jsonl"


def test_examples_prints_the_file_of_cases_unchanged() -> None:
    done = subprocess.run([*COMMAND, "examples"], capture_output=True, check=True, timeout=60)  # noqa: S603
    assert (done.stdout, done.stderr) == (CASES.read_bytes(), b"")
