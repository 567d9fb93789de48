"""Regular expressions that are compiled on first use.

Compiling all of the library's patterns takes longer than importing pydantic, and no program uses them all.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

Found_co = TypeVar("Found_co", covariant=True)

Replacement: TypeAlias = str | Callable[[re.Match[str]], str]


class Find(Protocol[Found_co]):
    """A method of a pattern that searches a text, or a part of it."""

    def __call__(self, text: str, start: int = 0, end: int = sys.maxsize, /) -> Found_co:
        """Look between two indexes."""
        ...


class LazyPattern:
    """A regular expression with the methods of `re.Pattern`; the first use of any of them compiles it.

    From then on the method is the compiled pattern's own, so a call has no extra cost.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(self.pattern, self.flags)

    @cached_property
    def search(self) -> Find[re.Match[str] | None]:
        """As `re.Pattern.search`."""
        return self._pattern.search

    @cached_property
    def match(self) -> Find[re.Match[str] | None]:
        """As `re.Pattern.match`."""
        return self._pattern.match

    @cached_property
    def fullmatch(self) -> Find[re.Match[str] | None]:
        """As `re.Pattern.fullmatch`."""
        return self._pattern.fullmatch

    @cached_property
    def finditer(self) -> Find[Iterator[re.Match[str]]]:
        """As `re.Pattern.finditer`."""
        return self._pattern.finditer

    @cached_property
    def findall(self) -> Find[list[Any]]:
        """As `re.Pattern.findall`."""
        return self._pattern.findall

    @cached_property
    def split(self) -> Callable[[str], list[str | Any]]:
        """As `re.Pattern.split`."""
        return self._pattern.split

    def sub(self, replacement: Replacement, text: str, count: int = 0) -> str:
        """As `re.Pattern.sub`."""
        return self._pattern.sub(replacement, text, count)


def compile_when_used(pattern: str, flags: int = 0) -> LazyPattern:
    """Return a regular expression that is compiled when it is first used, from `re.compile`'s arguments."""
    return LazyPattern(pattern, flags)
