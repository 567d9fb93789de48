"""The syntax tree of a source file."""

from __future__ import annotations

import ast
import gc
from collections.abc import Sequence
from functools import cache

from groundjudge.case.data import is_list


@cache
def tree_of(source: str) -> ast.Module:
    """Parse a source, once for all tests of a process, without a garbage collection meanwhile.

    If the collector runs finalizers while CPython 3.11 builds the tree, its check of the recursion depth can
    raise a SystemError.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return ast.parse(source)
    finally:
        if was_enabled:
            gc.enable()


@cache
def nodes_of(source: str) -> Sequence[ast.AST]:
    """All nodes of a source in the order of `ast.walk`, but without contexts and operators, walked once."""
    nodes: list[ast.AST] = [tree_of(source)]
    for node in nodes:
        for name in node._fields:
            value: object = getattr(node, name, None)
            if is_list(value):
                nodes.extend(child for child in value if isinstance(child, ast.AST))
            elif isinstance(value, ast.AST) and value._fields:
                nodes.append(value)
    return nodes
