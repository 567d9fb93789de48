"""The table of codes: every code that the library uses is in it, and has a meaning and a remedy."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from syntax_tree import tree_of

from groundjudge.errors import (
    CODES,
    ENDS_RUN,
    WHAT_IS_WRONG,
    ModelError,
    ReplyError,
    code_of_status,
    explain_code,
)

ROOT = Path(__file__).parents[1]
ERRORS = ROOT / "src/groundjudge/errors.py"
FILES = {
    file: tree_of(file.read_text(encoding="utf-8"))
    for folder in ("src/groundjudge", "adapters")
    for file in (ROOT / folder).rglob("*.py")
    if file != ERRORS and not file.is_symlink()
}
ALL_CODES = {code for codes in CODES.values() for code in codes}
CODE = re.compile(r"[a-z]+(_[a-z]+)*")


def literals(node: ast.AST) -> Iterator[str]:
    """The texts in an expression that could be codes."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and CODE.fullmatch(each.value):
            yield each.value


def raised() -> Iterator[tuple[str, str]]:
    """The class and the code of every error that is made with a literal, or with one of several."""
    for node in (node for tree in FILES.values() for node in ast.walk(tree)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CODES:
            given = [each.value for each in node.keywords if each.arg == "code"] or node.args[:1]
            if given and isinstance(given[0], ast.Constant | ast.IfExp):
                yield from ((node.func.id, code) for code in literals(given[0]))


def test_code_of_every_error_is_in_the_table() -> None:
    found = {*raised()}
    assert len(found) > 50
    assert not [(kind, code) for kind, code in found if code not in CODES[kind]]


def test_every_code_of_the_table_is_used() -> None:
    used = {text for tree in FILES.values() for text in literals(tree)}
    assert used >= ALL_CODES


def test_class_of_every_code_exists() -> None:
    errors = tree_of(ERRORS.read_text(encoding="utf-8"))
    nodes = [node for tree in (*FILES.values(), errors) for node in ast.walk(tree)]
    assert CODES.keys() - {node.name for node in nodes if isinstance(node, ast.ClassDef)} == {"warnings"}


def alternatives(node: ast.AST | None) -> Iterator[str]:
    """The texts that an expression can be, or be a list of."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*alternatives(body), *alternatives(orelse))
        case ast.Tuple(elts=items) | ast.List(elts=items):
            yield from (text for item in items for text in alternatives(item))
        case _:
            pass


def given_as_warnings() -> Iterator[str]:
    """What the code that reads replies returns, yields, appends or calls warnings."""
    read = (tree for file, tree in FILES.items() if file.parent.name in {"replies", "evidence", "rubric"})
    for node in (node for tree in read for node in ast.walk(tree)):
        match node:
            case ast.Return(value=value) | ast.Yield(value=value) | ast.keyword(arg="warnings", value=value):
                yield from alternatives(value)
            case ast.Call(func=ast.Attribute(attr="append"), args=[value]):
                yield from alternatives(value)
            case ast.Assign(targets=[ast.Name(id="warnings")], value=value):
                yield from alternatives(value)
            case _:
                pass


def test_every_warning_of_a_verdict_is_in_the_table() -> None:
    found = {text for text in given_as_warnings() if "_" in text and CODE.fullmatch(text)}
    assert len(found) > 5
    assert found <= ALL_CODES


@pytest.mark.parametrize("kind", CODES)
def test_every_code_has_a_meaning_and_every_error_a_remedy(kind: str) -> None:
    for code in CODES[kind]:
        meaning, remedy = explain_code(kind, code)
        assert re.fullmatch(r"\S.{10,}\.", meaning), code
        assert re.fullmatch(r"\S.{4,}\.", remedy) or (kind == "warnings" and not remedy), code


def test_code_that_is_not_in_the_table_is_told() -> None:
    with pytest.warns(RuntimeWarning, match="the code 'of_my_own' of a ModelError is not in"):
        assert ModelError("of_my_own", "message").code == "of_my_own"


def test_model_is_told_what_is_wrong_in_a_clause() -> None:
    assert WHAT_IS_WRONG.keys() == CODES["ReplyError"].keys()
    assert ReplyError("empty", "").message == "the reply is empty"
    assert not [clause for clause in WHAT_IS_WRONG.values() if clause.endswith(".") or clause[0].isupper()]


def test_status_of_a_response_has_a_code_of_the_table() -> None:
    codes = {status: code_of_status(status) for status in range(400, 600)}
    assert {codes[status] for status in (401, 402, 404, 418, 429, 500)} == {
        "auth",
        "quota",
        "not_found",
        "bad_request",
        "rate_limited",
        "server",
    }
    assert {*codes.values(), *ENDS_RUN} <= CODES["ModelError"].keys()
