"""The syntax tree of a source file."""

from __future__ import annotations

import ast
import gc
from functools import cache


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
