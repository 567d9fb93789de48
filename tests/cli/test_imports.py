"""The screen belongs to the commands: nothing else in the library imports what draws it."""

from __future__ import annotations

import re
from pathlib import Path

import groundjudge

PACKAGE = Path(groundjudge.__file__).parent
FOLDERS = (PACKAGE, PACKAGE / "adapters")  # that one is a link, which rglob passes over
SCREEN = re.compile(r"^\s*(import|from) (rich|typer)\b", re.MULTILINE)


def test_nothing_outside_the_commands_draws() -> None:
    drawing = {
        path.relative_to(PACKAGE).parts[0]
        for folder in FOLDERS
        for path in folder.rglob("*.py")
        if SCREEN.search(path.read_text(encoding="utf-8"))
    }
    assert drawing == {"cli"}
