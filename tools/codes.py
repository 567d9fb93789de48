"""The codes of the library's errors and warnings, found in its source, so that their page lacks none.

A code is a literal where an error is made, or it gets there by variables, tables and functions, which this
file follows. A place to which no code can be followed is an error of this file, so that none is overlooked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "src/groundjudge", ROOT / "adapters")
CODE = re.compile(r"[a-z]+(_[a-z]+)*")
OTHER_MAKERS: Mapping[str, tuple[int, str]] = MappingProxyType(
    {
        "_Failure": (0, "ModelError"),
        "model_error": (0, "ModelError"),
        "Failure": (0, "GroundjudgeError"),
        "_check_choice": (0, "PromptError"),
        "error": (0, "ReplyError"),  # the functions with which scores are read
        "unread": (1, "ReplyError"),
    }
)
"""What makes errors besides their classes -> the position of the code as an argument, and the class."""

WARN = ("replies", "evidence", "rubric.py", "distribution.py")
"""Where the warnings of verdicts come from: whatever these return, yield or append."""

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Module


class File:
    """A parsed file of the library."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.nodes = [*ast.walk(self.tree)]

    @cached_property
    def parents(self) -> Mapping[ast.AST, ast.AST]:
        """The node around each node."""
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """What encloses a node, the nearest first."""
        while node is not self.tree:
            node = self.parents[node]
            yield node

    def scopes(self, node: ast.AST) -> list[Scope]:
        """The functions around a node, the nearest first, and the module."""
        return [each for each in self.around(node) if isinstance(each, Scope)]


@cache
def files() -> tuple[File, ...]:
    """Every file of the library and of its adapters, once."""
    paths = {path.resolve() for folder in FOLDERS for path in folder.rglob("*.py")}
    return tuple(map(File, sorted(paths)))


@cache
def functions() -> Mapping[str, tuple[File, Function]]:
    """Every function by its name."""
    return {node.name: (file, node) for file in files() for node in file.nodes if isinstance(node, Function)}


@cache
def makers() -> Mapping[str, tuple[int, str]]:
    """Whatever makes errors: the classes, and the rest."""
    found = {"GroundjudgeError": (0, "GroundjudgeError")}
    for node in (node for file in files() for node in file.nodes if isinstance(node, ast.ClassDef)):
        if any(_name(base) in found for base in node.bases):
            found[node.name] = (0, node.name)
    return {**found, **OTHER_MAKERS}


def errors() -> dict[str, set[str]]:
    """The codes of each class of errors.

    Raises:
        ValueError: no code can be followed to a place that needs one.
    """
    found: dict[str, set[str]] = {}
    for file in files():
        for node in file.nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in makers():
                position, kind = makers()[node.func.id]
                keywords = [each.value for each in node.keywords if each.arg == "code"]
                for given in keywords or node.args[position : position + 1]:
                    found.setdefault(kind, set()).update(_codes(file, given))
    return found


def warnings() -> set[str]:
    """The codes of the warnings of verdicts."""
    sources = [file for file in files() if set(file.path.parts) & set(WARN)]
    return {
        node.value
        for file in sources
        for node in file.nodes
        if isinstance(node, ast.Constant) and _is_warning(file, node)
        if isinstance(node.value, str) and "_" in node.value and CODE.fullmatch(node.value)
    }


def _is_warning(file: File, node: ast.Constant) -> bool:
    """Whether a literal, alone or in a list, is returned, yielded, appended, or called a warning."""
    within: ast.AST = node
    for around in file.around(node):
        match around:
            case ast.IfExp(test=test) if within is not test:
                within = around
            case ast.Tuple() | ast.List() | ast.Starred():
                within = around
            case ast.Assign(targets=targets):
                return any("warn" in ast.unparse(target) for target in targets)
            case ast.Call(func=ast.Attribute(attr="append")) | ast.Return() | ast.Yield():
                return True
            case _:
                return False
    return False


def _codes(file: File, given: ast.expr) -> set[str]:
    is_passed_on = isinstance(given, ast.Attribute) and given.attr == "code"
    is_in_maker = any(_name(scope) in makers() for scope in file.scopes(given))
    found = {*_literals(file, given, frozenset())}
    if not (found or is_passed_on or is_in_maker):
        message = f"{file.path}:{given.lineno}: no code can be followed to {ast.unparse(given)!r}"
        raise ValueError(message)
    return found


def _literals(file: File, node: ast.AST, seen: frozenset[object]) -> Iterator[str]:
    """The codes that an expression can have; `seen` are the names and functions that led here."""
    parts: list[tuple[File, ast.AST]] = []
    match node:
        case ast.Constant(value=str() as text) if CODE.fullmatch(text):
            yield text
        case ast.Dict(values=values):
            parts = [(file, value) for value in values]
        case ast.IfExp(body=body, orelse=orelse):
            parts = [(file, body), (file, orelse)]
        case ast.Name(id=name):
            parts = [(file, value) for value in _assigned(file, node, name)] if name not in seen else []
            seen |= {name}
        case ast.Call(func=ast.Attribute(value=table, attr="get"), args=[_, *default]):
            parts = [(file, each) for each in (table, *default)]
        case ast.Subscript(value=table):
            parts = [(file, table)]
        case ast.Call(func=function) if _name(function) in functions() and _name(function) not in seen:
            where, called = functions()[_name(function)]
            parts = [
                (where, each.value)
                for each in ast.walk(called)
                if isinstance(each, ast.Return) and each.value
            ]
            seen |= {_name(function)}
        case ast.JoinedStr() | ast.Compare() | ast.Attribute(attr="code"):
            pass
        case _:
            parts = [(file, child) for child in ast.iter_child_nodes(node)]
    for where, part in parts:
        yield from _literals(where, part, seen)


def _assigned(file: File, node: ast.AST, name: str) -> list[ast.expr]:
    """What is assigned to a name in the nearest scope that has it."""
    for scope in file.scopes(node):
        body = scope.body if isinstance(scope, ast.Module) else ast.walk(scope)
        values = [value for each in body for value in _values(each, name)]
        if values:
            return values
    return []


def _values(statement: ast.AST, name: str) -> Iterator[ast.expr]:
    match statement:
        case ast.Assign(targets=[target], value=value):
            yield from _at(target, value, name)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield from _at(target, value, name)
        case ast.For(target=target, iter=ast.Tuple(elts=rows)):
            for row in rows:
                yield from _at(target, row, name)
        case ast.comprehension(target=target, iter=value):
            yield from _at(target, value, name)
        case _:
            pass


def _at(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    """The part of a value that a target assigns to a name."""
    match target, value:
        case ast.Name(id=own), _:
            yield from (value,) if own == name else ()
        case ast.Tuple(elts=targets), ast.Tuple(elts=values):
            for one, other in zip(targets, values, strict=True):
                yield from _at(one, other, name)
        case ast.Tuple(elts=targets), _ if name in map(_name, targets):
            yield value
        case _:
            pass


def _name(node: ast.AST) -> str:
    """The last name of what is called, or of a function."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name):
            return name
        case _:
            return ""
