"""CONTRIBUTING.md names only files, folders and make targets that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
QUOTED = sorted(set(re.findall(r"`([^`\n]+)`", TEXT)))

PATHS = [name for name in QUOTED if re.fullmatch(r"(?!build/)[\w./-]+(/[\w.-]*|\.py)", name)]
"""What has a slash or ends in .py, but for what `make` builds."""


def test_every_file_and_folder_is_there() -> None:
    homes = (ROOT, ROOT / "src" / "groundjudge")  # as the pages write them, from either
    assert not [path for path in PATHS if not any((home / path).exists() for home in homes)]


def test_make_has_the_targets() -> None:
    commands = [name.split() for name in QUOTED if name.startswith("make ")]
    targets = {target for _, *words in commands for target in words}
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets <= set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
