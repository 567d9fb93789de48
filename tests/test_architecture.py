"""The imports run one way, for the types too: no circle, and no layer imports a later one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from syntax_tree import tree_of

from groundjudge.replies import FORMATS

ROOT = Path(__file__).parents[1]
CORE = ROOT / "src" / "groundjudge"

LAYERS = (
    "verdict",
    "errors",
    "files",
    "text",
    "scale",
    "case",
    "evidence",
    "prompt",
    "replies",
    "decisions",
    "rubric",
    "offline",
    "models",
    "judging",
    "runs",
    "batches",
    "lab",
    "report",
    "types",
    "",  # the public face: groundjudge/__init__.py
    "adapters",
    "cli",
    "commands",
    "__main__",
)
"""Files and folders: each imports itself and those before it."""


def name_of(file: Path) -> str:
    """The module's name below the package; "" for the package itself."""
    home = CORE if file.is_relative_to(CORE) else ROOT
    parts = file.relative_to(home).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


LINKS = (CORE / "adapters", CORE / "prompts")
"""The folders at the top of the repository, linked so that an editable install has them too."""


def files() -> Iterator[Path]:
    """The files of the core and of the adapters, each once."""
    for file in CORE.rglob("*.py"):
        if not any(link in file.parents for link in LINKS):
            yield file
    yield from (ROOT / "adapters").glob("*.py")


FILES: Mapping[str, Path] = {name_of(file): file for file in files()}


COMMANDS = re.compile(r"lab\.commands|(batches\.(commands|submission)|report\.command)$")
"""The commands of the wings, which may import those of the core."""


def layer_of(module: str) -> str:
    if COMMANDS.match(module):
        return "commands"
    return module.partition(".")[0]


def imports_of(file: Path) -> Iterator[str]:
    """The modules of the package that a file imports, anywhere in it and also for types only."""
    for node in ast.walk(tree_of(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (module for alias in node.names for module in _modules(alias.name))
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{file}: a relative import"
            yield from (module for alias in node.names for module in _modules(f"{node.module}.{alias.name}"))


def _modules(dotted: str) -> Iterator[str]:
    """The module that a dotted name means: itself, or what it is a name in."""
    package, _, name = dotted.partition(".")
    if package != "groundjudge":
        return
    yield name if name in FILES else name.rpartition(".")[0]


GRAPH = {name: set(imports_of(file)) - {name} for name, file in FILES.items()}


def test_every_file_belongs_to_a_layer() -> None:
    assert {layer_of(name) for name in FILES} == set(LAYERS)


def test_contributing_lists_the_layers_in_their_order() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("\n## The layers\n")
    section, _, _ = rest.partition("\n## ")
    listed = re.findall(r"^    (\w+)", section, re.MULTILINE)
    assert listed == [layer or "__init__" for layer in LAYERS]


def test_imports_have_no_circle() -> None:
    try:
        order = list(TopologicalSorter(GRAPH).static_order())
    except CycleError as error:
        pytest.fail(f"a circle: {error.args[1]}")
    assert set(order) == set(GRAPH)


def test_imports_run_one_way() -> None:
    for module, imported in GRAPH.items():
        place = LAYERS.index(layer_of(module))
        later = [name for name in imported if LAYERS.index(layer_of(name)) > place]
        assert not later, f"{module or 'groundjudge'} imports {later}"


def test_only_pages_commands_and_the_annotation_queue_import_the_lab() -> None:
    importers = {
        name for name, imported in GRAPH.items() if any(layer_of(other) == "lab" for other in imported)
    }
    importers_outside = {name for name in importers if layer_of(name) not in {"lab", "report", "commands"}}
    assert importers_outside == {"adapters.langsmith_queue"}


def test_the_commands_of_the_core_import_no_wing() -> None:
    for module, imported in GRAPH.items():
        if layer_of(module) == "cli":
            wings = {layer_of(name) for name in imported} & {"lab", "report", "batches", "commands"}
            assert not wings, module


def test_adapters_do_not_import_one_another() -> None:
    imported = {name for module, names in GRAPH.items() if layer_of(module) == "adapters" for name in names}
    assert not [name for name in imported if layer_of(name) == "adapters"]


def test_no_format_is_named_outside_its_layer() -> None:
    """Outside `replies` no format is named: so none can be matched or asked for its class."""
    for module, file in FILES.items():
        if layer_of(module) not in {"replies", ""}:
            tree = tree_of(file.read_text(encoding="utf-8"))
            names_used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
            assert names_used.isdisjoint({"Labelled", *map(str.capitalize, FORMATS)}), module


def test_patterns_are_compiled_when_they_are_used() -> None:
    """Compiled at import, all of them together would take longer than importing pydantic."""
    for module, file in FILES.items():
        if module != "text.patterns":
            assert "re.compile(" not in file.read_text(encoding="utf-8"), f"{module}: use compile_when_used"


def layers_graph() -> dict[str, set[str]]:
    """The layers that each layer imports."""
    graph: dict[str, set[str]] = {layer: set() for layer in LAYERS}
    for module, imported in GRAPH.items():
        graph[layer_of(module)] |= {layer_of(name) for name in imported} - {layer_of(module)}
    return graph


def test_there_are_few_layers_and_few_imports_between_them() -> None:
    graph = layers_graph()
    depth: dict[str, int] = {}
    for layer in TopologicalSorter(graph).static_order():
        depth[layer] = 1 + max((depth[other] for other in graph[layer]), default=0)
    flat = [layer for layer in LAYERS if not (CORE / layer).is_dir() or not layer]
    assert len(LAYERS) <= 24
    assert sum(map(len, graph.values())) <= 147
    assert max(depth.values()) <= 15
    assert len(flat) <= 10


MAX_BODY = 60
"""Lines of code of a function, without its signature, docstring, comments and blank lines."""


def lines_of_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines of a function hold a part of a statement."""
    lines: set[int] = set()
    for statement in function.body:
        is_docstring = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if is_docstring:
            continue
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt | ast.expr):
                lines.add(node.lineno)
    return len(lines)


def test_no_function_is_long() -> None:
    long_functions: list[str] = []
    for module, file in FILES.items():
        for node in ast.walk(tree_of(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of_body(node) > MAX_BODY:
                long_functions.append(f"{module}.{node.name}")
    assert not long_functions
