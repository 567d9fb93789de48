"""The imports run one way, for the types too: no circle, and no room imports one above it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from syntax_tree import tree_of

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "groundjudge"

ROOMS = (
    "verdict",
    "shares",
    "errors",
    "files",
    "scale",
    "text",
    "case",
    "evidence",
    "prompt",
    "replies",
    "rubric",
    "offline",
    "models",
    "judging",
    "guard",
    "runs",
    "batches",
    "analysis",
    "probe",
    "report",
    "types",
    "",  # the public face: groundjudge/__init__.py
    "adapters",
    "cli",
    "__main__",
)
"""Files and folders from the ground up: each imports itself and those before it."""


def name_of(file: Path) -> str:
    """The module's name below the package; "" for the package itself."""
    home = CORE if file.is_relative_to(CORE) else ROOT
    parts = file.relative_to(home).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


FOLDERS = [CORE, *(folder for folder in CORE.iterdir() if folder.is_dir() and not folder.is_symlink())]
FILES: Mapping[str, Path] = {
    name_of(file): file for folder in (*FOLDERS, ROOT / "adapters") for file in folder.glob("*.py")
}


def room_of(module: str) -> str:
    return module.partition(".")[0]


def imports_of(file: Path) -> Iterator[str]:
    """The modules of the package that a file imports, anywhere in it and also for types only."""
    for node in ast.walk(tree_of(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (found for alias in node.names for found in _modules(alias.name))
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: a relative import"
            yield from (found for alias in node.names for found in _modules(f"{node.module}.{alias.name}"))


def _modules(dotted: str) -> Iterator[str]:
    """The module that a dotted name means: itself, or what it is a name in."""
    package, _, name = dotted.partition(".")
    if package != "groundjudge":
        return
    yield name if name in FILES else name.rpartition(".")[0]


GRAPH = {name: set(imports_of(file)) - {name} for name, file in FILES.items()}


def test_every_file_stands_in_a_room() -> None:
    assert {room_of(name) for name in FILES} == set(ROOMS)


def test_imports_have_no_circle() -> None:
    try:
        order = list(TopologicalSorter(GRAPH).static_order())
    except CycleError as error:
        pytest.fail(f"a circle: {error.args[1]}")
    assert set(order) == set(GRAPH)


def test_imports_run_one_way() -> None:
    for module, imported in GRAPH.items():
        floor = ROOMS.index(room_of(module))
        above = [name for name in imported if ROOMS.index(room_of(name)) > floor]
        assert not above, f"{module or 'groundjudge'} imports {above}"


def test_adapters_do_not_import_one_another() -> None:
    imported = {name for module, names in GRAPH.items() if room_of(module) == "adapters" for name in names}
    assert not [name for name in imported if room_of(name) == "adapters"]


FORMAT_NAMES = {"Adjacent", "Banded", "Json", "Scorecard", "Tags"}


def test_no_format_is_told_from_another_outside_its_room() -> None:
    """Outside `replies` no format is named: so none can be matched or asked for its class."""
    for module, file in FILES.items():
        if room_of(module) not in {"replies", ""}:
            tree = tree_of(file.read_text(encoding="utf-8"))
            named = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert not named & FORMAT_NAMES, module


def rooms_graph() -> dict[str, set[str]]:
    """The rooms that each room imports."""
    graph: dict[str, set[str]] = {room: set() for room in ROOMS}
    for module, imported in GRAPH.items():
        graph[room_of(module)] |= {room_of(name) for name in imported} - {room_of(module)}
    return graph


def test_there_are_few_rooms_and_few_imports_between_them() -> None:
    graph = rooms_graph()
    depth: dict[str, int] = {}
    for room in TopologicalSorter(graph).static_order():
        depth[room] = 1 + max((depth[other] for other in graph[room]), default=0)
    flat = [room for room in ROOMS if not (CORE / room).is_dir() or not room]
    assert len(ROOMS) <= 26
    assert sum(map(len, graph.values())) <= 140
    assert max(depth.values()) <= 13
    assert len(flat) <= 12
