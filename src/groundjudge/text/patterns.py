"""Regular expressions that are compiled on first use.

Compiling all of the library's patterns takes longer than importing pydantic, and no program uses them all.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _LazyPattern:
    """Stands in for a regular expression; the first use of any of its methods compiles it.

    From then on the method is the compiled pattern's own, so a call has no extra cost.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  whatever the pattern has
        if name.startswith("__"):  # what copying and pickling look for
            raise AttributeError(name)
        method = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, method)
        return method


def compile_when_used(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression that is compiled when it is first used, from `re.compile`'s arguments."""
    return cast("re.Pattern[str]", _LazyPattern(pattern, flags))
