"""`load` and `as_judge` with options that only the running test knows: no checker can tell the result."""

from __future__ import annotations

from collections.abc import Callable

from groundjudge import as_judge, load
from groundjudge.types import AnyJudge, Judge

load_any: Callable[..., AnyJudge] = load
load_one: Callable[..., Judge] = load
as_one: Callable[..., Judge] = as_judge
