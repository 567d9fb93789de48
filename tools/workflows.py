"""Check the workflows in .github: their make targets exist, and their actions are pinned by a commit's hash.

.venv/python3/bin/python tools/workflows.py     # part of make lint
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = re.compile(r"^([\w-]+):", re.MULTILINE)
CALL = re.compile(r"^[^#\n]*\bmake ([\w -]+)", re.MULTILINE)
ACTION = re.compile(r"\buses: *(.+)$", re.MULTILINE)
PINNED = re.compile(r"\./.+|[\w./-]+@[0-9a-f]{40} # v[\d.]+")
"""A workflow of this repository, or a hash and its version, which Dependabot keeps up to date."""


def called_targets(script: str) -> set[str]:
    """The make targets that a workflow or a shell script calls."""
    targets: set[str] = set()
    for call in CALL.findall(script):
        targets.update(call.split())
    return targets


def problems(workflow: str, makefile: str) -> Iterator[str]:
    """What is wrong with the text of a workflow, a line each."""
    for target in sorted(called_targets(workflow) - set(TARGET.findall(makefile))):
        yield f"make has no target {target}"
    for action in ACTION.findall(workflow):
        if not PINNED.fullmatch(action):
            yield f"not pinned by the hash of a commit, with its version in a comment: {action}"


def main() -> None:
    """Print what is wrong with any workflow.

    Raises:
        SystemExit: something is.
    """
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lines: list[str] = []
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        for problem in problems(path.read_text(encoding="utf-8"), makefile):
            lines.append(f"{path.relative_to(ROOT)}: {problem}")
    if lines:
        raise SystemExit("\n".join(lines))


if __name__ == "__main__":
    main()
