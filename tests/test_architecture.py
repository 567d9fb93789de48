"""The core in layers, wings apart from one another, adapters above both: for the imports of types too."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest
from syntax_tree import nodes_of

from groundjudge.replies import FORMATS

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "groundjudge"

CORE = (
    "verdict",
    "scale",
    "errors",
    "files",
    "text",
    "case",
    "evidence",
    "citations",
    "prompt",
    "replies",
    "rubric",
    "models",
    "judging",
    "runs",
    "types",
    "",  # the public face: groundjudge/__init__.py
    "cli",
    "__main__",
)
"""Files and folders: each imports itself and those before it."""

WINGS = ("decisions", "offline", "report", "lab", "batches")
"""Each imports itself and the core. Report and lab may have one arrow between them."""

COMMANDS = ("cli", "lab.commands", "batches.commands", "batches.submission", "report.command")
"""What draws on the terminal and takes options; the rest of a wing does not know the command line."""

APART = (("replies", "prompt"),)
"""Layers that do not know each other, although their order would allow it."""

FRAMEWORKS = """
    agents deepeval inspect_ai langchain langchain_core langfuse langgraph langsmith mlflow opentelemetry
    pydantic_ai pydantic_evals pyspark
""".split()

HOMES: Mapping[str, tuple[str, ...]] = {
    "aiohttp": ("models.transport",),
    "anthropic": ("batches.anthropic",),
    "numpy": ("lab.libraries",),
    "openai": ("models.openai",),
    "pyarrow": (),  # imported by name
    "rich": COMMANDS,
    "scipy": (),  # imported by name, as is
    "sklearn": (),
    "typer": COMMANDS,
    **dict.fromkeys(FRAMEWORKS, ("adapters",)),
}
"""The files and folders that may import a package, anywhere in them and for types too."""


def name_of(file: Path) -> str:
    """The module's name below the package; "" for the package itself."""
    home = PACKAGE if file.is_relative_to(PACKAGE) else ROOT
    parts = file.relative_to(home).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


LINKS = (PACKAGE / "adapters", PACKAGE / "prompts")
"""The folders at the top of the repository, linked so that an editable install has them too."""


def files() -> Iterator[Path]:
    """The files of the core, of the wings and of the adapters, each once."""
    for file in PACKAGE.rglob("*.py"):
        if not any(link in file.parents for link in LINKS):
            yield file
    yield from (ROOT / "adapters").glob("*.py")


@cache
def nodes() -> Mapping[str, Sequence[ast.AST]]:
    """The nodes of the syntax trees of all files, by module."""
    return {name_of(file): nodes_of(file.read_text(encoding="utf-8")) for file in files()}


def imports_of(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The dotted names that a file imports, anywhere in it and for types too."""
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, ast.unparse(node)
            for alias in node.names:
                yield f"{node.module}.{alias.name}"


@cache
def imports() -> Mapping[str, set[str]]:
    """The dotted names that each module imports."""
    return {name: set(imports_of(nodes_of_file)) for name, nodes_of_file in nodes().items()}


def own_modules(names: set[str]) -> Iterator[str]:
    """The modules of the package among imported names: each name is one, or stands in one."""
    for dotted in names:
        package, _, name = dotted.partition(".")
        if package == "groundjudge":
            yield name if name in nodes() else name.rpartition(".")[0]


@cache
def graph() -> Mapping[str, set[str]]:
    """The modules that each module imports."""
    return {module: set(own_modules(names)) - {module} for module, names in imports().items()}


def layer_of(module: str) -> str:
    return module.partition(".")[0]


def is_in(module: str, homes: tuple[str, ...]) -> bool:
    """Whether a module is one of several files or stands in one of several folders."""
    return any(module == home or module.startswith(f"{home}.") for home in homes)


def arrows() -> Iterator[tuple[str, str]]:
    """Who imports whom across layers."""
    for module, others in graph().items():
        for other in others:
            if layer_of(module) != layer_of(other):
                yield module, other


def arrows_between_wings() -> set[tuple[str, str]]:
    """Which wing imports which other."""
    layers = {(layer_of(module), layer_of(other)) for module, other in arrows()}
    return {(layer, other) for layer, other in layers if {layer, other} <= {*WINGS}}


def test_what_an_adapter_imports_is_a_known_framework() -> None:
    for module, names in imports().items():
        if layer_of(module) == "adapters":
            packages = {name.partition(".")[0] for name in names} - sys.stdlib_module_names
            assert packages - {"groundjudge", "pydantic", "pydantic_core"} <= {*FRAMEWORKS}, module


def test_every_file_belongs_to_the_core_to_a_wing_or_to_the_adapters() -> None:
    assert {layer_of(name) for name in nodes()} == {*CORE, *WINGS, "adapters"}


def test_contributing_lists_the_layers_in_their_order_and_the_wings() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, rest = text.partition("\n## The layers\n")
    section, _, _ = rest.partition("\n## ")
    listed = re.findall(r"^    (\w+)", section, re.MULTILINE)
    assert listed == [layer or "__init__" for layer in (*CORE, *WINGS, "adapters")]


def test_imports_have_no_circle() -> None:
    try:
        order = list(TopologicalSorter(graph()).static_order())
    except CycleError as error:
        pytest.fail(f"a circle: {error.args[1]}")
    assert set(order) == set(graph())


@pytest.mark.parametrize("layer", CORE)
def test_a_layer_of_the_core_imports_only_layers_before_it(layer: str) -> None:
    """So it imports neither a wing nor an adapter."""
    before = CORE[: CORE.index(layer)]
    forbidden = {
        arrow for arrow in arrows() if layer_of(arrow[0]) == layer and layer_of(arrow[1]) not in before
    }
    assert not forbidden


@pytest.mark.parametrize(("layer", "other"), APART)
def test_two_layers_do_not_know_each_other(layer: str, other: str) -> None:
    assert not {arrow for arrow in arrows() if (layer_of(arrow[0]), layer_of(arrow[1])) == (layer, other)}


@pytest.mark.parametrize("wing", WINGS)
def test_a_wing_imports_no_other_but_report_and_lab(wing: str) -> None:
    others = {other for layer, other in arrows_between_wings() if layer == wing}
    assert others <= ({"report", "lab"} if wing in {"report", "lab"} else set[str]())


def test_one_arrow_at_most_stands_between_two_wings() -> None:
    assert len(arrows_between_wings()) <= 1


def test_only_commands_import_the_command_line() -> None:
    importers = {module for module, other in arrows() if layer_of(other) == "cli"}
    assert not {module for module in importers if not is_in(module, (*COMMANDS, "__main__"))}


def test_only_commands_of_wings_import_an_adapter() -> None:
    """So no adapter imports another, and the core imports none."""
    importers = {module for module, others in graph().items() if "adapters" in set(map(layer_of, others))}
    assert not {module for module in importers if not is_in(module, COMMANDS) or is_in(module, ("cli",))}


@pytest.mark.parametrize("package", HOMES)
def test_a_package_is_imported_only_where_it_is_at_home(package: str) -> None:
    importers = {
        module for module, names in imports().items() if package in {name.partition(".")[0] for name in names}
    }
    assert not {module for module in importers if not is_in(module, HOMES[package])}


def test_no_format_is_named_outside_its_layer() -> None:
    """Outside `replies` no format is named: so none can be matched or asked for its class."""
    formats = {"Labelled", *map(str.capitalize, FORMATS)}
    for module, nodes_of_file in nodes().items():
        if layer_of(module) not in {"replies", ""}:
            names_used = {node.id for node in nodes_of_file if isinstance(node, ast.Name)}
            assert names_used.isdisjoint(formats), module


def test_patterns_are_compiled_when_they_are_used() -> None:
    """Compiled at import, all of them together would take longer than importing pydantic."""
    for file in files():
        if name_of(file) != "text.patterns":
            assert "re.compile(" not in file.read_text(encoding="utf-8"), f"{file}: use compile_when_used"


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
    for module, nodes_of_file in nodes().items():
        for node in nodes_of_file:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if (node.end_lineno or 0) - node.lineno > MAX_BODY and lines_of_body(node) > MAX_BODY:
                long_functions.append(f"{module}.{node.name}")
    assert not long_functions
