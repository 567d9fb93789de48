"""The screen belongs to the commands: nothing else in the library imports them or what draws them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from syntax_tree import tree_of

import groundjudge

PACKAGE = Path(groundjudge.__file__).parent
SCREEN = ("rich", "typer", "groundjudge.cli")
FOLDERS = (PACKAGE, PACKAGE / "adapters")  # that one is a link, which rglob passes over
FILES = sorted({path for folder in FOLDERS for path in folder.rglob("*.py")})
COMMANDS = (PACKAGE / "cli", PACKAGE / "__main__.py")
MODULES = [path for path in FILES if not any(path.is_relative_to(each) for each in COMMANDS)]


def imported(source: str, package: str) -> Iterator[str]:
    """The full names of all imports, those inside functions and relative ones included."""
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: -node.level + 1 or None] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def screens(source: str, package: str = "groundjudge") -> list[str]:
    """The imports that are, or lie in, one of the modules of the screen."""
    return [
        name for name in imported(source, package) if any(f"{name}.".startswith(f"{one}.") for one in SCREEN)
    ]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_nothing_outside_the_commands_imports_the_screen(path: Path) -> None:
    package = ".".join(["groundjudge", *path.relative_to(PACKAGE).parent.parts])
    assert screens(path.read_text(encoding="utf-8"), package) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import rich.table", ["rich.table"]),
        ("def f():\n    from typer import echo", ["typer.echo"]),
        ("from groundjudge.cli.screen import fail", ["groundjudge.cli.screen.fail"]),
        ("from groundjudge import cli", ["groundjudge.cli"]),
        ("from .cli import app", ["groundjudge.cli.app"]),
        ("from . import cli", ["groundjudge.cli"]),
        ("import richer, groundjudge.client", []),
    ],
)
def test_imports_of_the_screen_are_found(source: str, found: list[str]) -> None:
    assert screens(source) == found


def test_modules_of_the_package_are_checked() -> None:
    assert PACKAGE / "runs" / "verdict_file.py" in MODULES
    assert PACKAGE / "adapters" / "langsmith.py" in MODULES
