"""Regular expressions that are compiled when they are first used.

Compiling all of the library's patterns takes longer than importing pydantic, and no program uses them all.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeAlias

Replacement: TypeAlias = str | Callable[[re.Match[str]], str]


class LazyPattern:
    """A regular expression with the methods of `re.Pattern`; the first call of any of them compiles it."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    def search(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """As `re.Pattern.search`."""
        return self._pattern.search(text, start, end)

    def match(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """As `re.Pattern.match`."""
        return self._pattern.match(text, start, end)

    def fullmatch(self, text: str, start: int = 0, end: int = sys.maxsize) -> re.Match[str] | None:
        """As `re.Pattern.fullmatch`."""
        return self._pattern.fullmatch(text, start, end)

    def finditer(self, text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
        """As `re.Pattern.finditer`."""
        return self._pattern.finditer(text, start, end)

    def findall(self, text: str) -> list[Any]:
        """As `re.Pattern.findall`."""
        return self._pattern.findall(text)

    def split(self, text: str) -> list[str | Any]:
        """As `re.Pattern.split`."""
        return self._pattern.split(text)

    def sub(self, replacement: Replacement, text: str, count: int = 0) -> str:
        """As `re.Pattern.sub`."""
        return self._pattern.sub(replacement, text, count)


def compile_when_used(pattern: str, flags: int = 0) -> LazyPattern:
    """Return a regular expression that is compiled when it is first used, from `re.compile`'s arguments."""
    return LazyPattern(pattern, flags)
