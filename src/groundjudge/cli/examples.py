"""`groundjudge examples`: cases to try the judges on."""

from __future__ import annotations

from pathlib import Path

import typer

CASES = Path(__file__).with_name("cases.jsonl")


def examples() -> None:
    """Print 40 labelled cases for `groundjudge run`, as JSON Lines."""
    typer.echo(CASES.read_bytes(), nl=False)
