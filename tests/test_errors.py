"""The tables of codes: every code is in that of its class, with a meaning and a remedy."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from syntax_tree import nodes_of

from groundjudge.batches.state import StateError
from groundjudge.decisions.answers import AnswerError
from groundjudge.errors import (
    ENDS_RUN,
    WHAT_IS_WRONG,
    CaseError,
    GroundjudgeError,
    ModelError,
    ReplyError,
    code_of_status,
    explain_code,
    tables_of_codes,
)
from groundjudge.judging.guard import GuardError
from groundjudge.lab.labels import LabelError
from groundjudge.lab.probe.cases import ProbeError
from groundjudge.runs.verdict_file import ResumeError

ROOT = Path(__file__).parents[1]
# Named here so that they are imported: only then `tables_of_codes` has their tables.
ERRORS_OF_OTHER_ROOMS = (AnswerError, GuardError, LabelError, ProbeError, ResumeError, StateError)
CODES = tables_of_codes()
ALL_CODES = {code for codes in CODES.values() for code in codes}
CODE = re.compile(r"[a-z]+(_[a-z]+)*")


@cache
def nodes() -> Mapping[Path, Sequence[ast.AST]]:
    """The nodes of all files, parsed when the first test needs them: not by every worker."""
    return {
        file: nodes_of(file.read_text(encoding="utf-8"))
        for folder in ("src/groundjudge", "adapters")
        for file in (ROOT / folder).rglob("*.py")
        if not file.is_symlink()
    }


def is_table(node: ast.AST) -> bool:
    """Whether a statement defines a table of codes, or what is made of one."""
    return (
        isinstance(node, ast.AnnAssign)
        and isinstance(node.target, ast.Name)
        and node.target.id in {"codes", "WARNINGS", "WITH_NUMBERS"}
    )


def literals(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The texts among nodes that could be codes."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
            yield node.value


def code_argument(call: ast.Call) -> ast.AST | None:
    """What a call of an error's class gives as the code."""
    for keyword in call.keywords:
        if keyword.arg == "code":
            return keyword.value
    if call.args:
        return call.args[0]
    return None


def codes_raised() -> set[tuple[str, str]]:
    """The class and the code of every error that is made with a literal, or with one of several."""
    pairs: set[tuple[str, str]] = set()
    for nodes_of_file in nodes().values():
        for node in nodes_of_file:
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            if node.func.id not in CODES:
                continue
            argument = code_argument(node)
            if isinstance(argument, ast.Constant | ast.IfExp):
                pairs.update((node.func.id, code) for code in literals(ast.walk(argument)))
    return pairs


def test_every_class_of_errors_with_a_table_is_collected() -> None:
    with_table: set[str] = set()
    for nodes_of_file in nodes().values():
        for node in nodes_of_file:
            if isinstance(node, ast.ClassDef) and any(is_table(statement) for statement in node.body):
                with_table.add(node.name)
    assert CODES.keys() == {*with_table, "warnings"}


def test_code_of_every_error_is_in_the_table_of_its_class() -> None:
    pairs = codes_raised()
    assert len(pairs) > 50
    assert not [(kind, code) for kind, code in pairs if code not in CODES[kind]]


def test_every_code_of_the_tables_is_used() -> None:
    n_uses: Counter[str] = Counter()
    for nodes_of_file in nodes().values():
        n_uses.update(literals(nodes_of_file))
        for table in filter(is_table, nodes_of_file):
            n_uses.subtract(literals(ast.walk(table)))
    assert {code for code, n in n_uses.items() if n > 0} >= ALL_CODES


def alternatives(node: ast.AST | None) -> Iterator[str]:
    """The texts that an expression can be, or be a list of."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from alternatives(body)
            yield from alternatives(orelse)
        case ast.Tuple(elts=members) | ast.List(elts=members):
            for member in members:
                yield from alternatives(member)
        case _:
            pass


def texts_given_as_warnings() -> Iterator[str]:
    """What the code that reads replies returns, yields, appends or calls warnings."""
    for file, nodes_of_file in nodes().items():
        if file.parent.name not in {"replies", "evidence", "rubric"}:
            continue
        for node in nodes_of_file:
            match node:
                case (
                    ast.Return(value=value)
                    | ast.Yield(value=value)
                    | ast.keyword(arg="warnings", value=value)
                ):
                    yield from alternatives(value)
                case ast.Call(func=ast.Attribute(attr="append"), args=[value]):
                    yield from alternatives(value)
                case ast.Assign(targets=[ast.Name(id="warnings")], value=value):
                    yield from alternatives(value)
                case _:
                    pass


def test_every_warning_of_a_verdict_is_in_the_table() -> None:
    codes = {text for text in texts_given_as_warnings() if "_" in text and CODE.fullmatch(text)}
    assert len(codes) > 5
    missing = sorted(codes - ALL_CODES)
    assert not missing, f"errors.py: add {', '.join(missing)} to WARNINGS, then run `make docs`"


@pytest.mark.parametrize("kind", CODES)
def test_every_code_has_a_meaning_and_every_error_a_remedy(kind: str) -> None:
    for code in CODES[kind]:
        meaning, remedy = explain_code(kind, code)
        assert re.fullmatch(r"\S.{10,}\.", meaning), code
        assert re.fullmatch(r"\S.{4,}\.", remedy) or (kind == "warnings" and not remedy), code


def test_error_of_no_special_class_may_have_the_code_of_any_class() -> None:
    assert GroundjudgeError("timeout", "message").code == "timeout"  # as an adapter raises a verdict's error
    with pytest.warns(RuntimeWarning, match="the code 'of_my_own' of a GroundjudgeError is not in"):
        GroundjudgeError("of_my_own", "message")
    with pytest.warns(RuntimeWarning, match="the code 'timeout' of a CaseError is not in"):
        CaseError("timeout", "message")


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
