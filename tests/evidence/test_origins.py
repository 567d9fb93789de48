"""Where the characters of a text stand in the one that it was made of."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from groundjudge.evidence.copied import TracedText
from groundjudge.text.patterns import compile_when_used

REPLACEMENTS = {
    "nothing": (r"x", "y"),
    "longer": (r"b", "<b>"),
    "shorter": (r"bc", "-"),
    "left out": (r"[ac]", ""),
    "one sign for one": (r"b", "B"),
    "the same": (r"b", "b"),
    "at both ends": (r"\Aa|c\Z", "__"),
}


def replace_by(text: str) -> Callable[[re.Match[str]], str]:
    return lambda _: text


@pytest.mark.parametrize("second", REPLACEMENTS.values(), ids=REPLACEMENTS)
@pytest.mark.parametrize("first", REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_each_character_is_traced_to_where_it_or_what_it_replaced_begins(
    first: tuple[str, str], second: tuple[str, str]
) -> None:
    text = "abc bcd aabbcc"
    traced = TracedText(text, range(len(text) + 1))
    origins = list(range(len(text) + 1))
    for pattern, replacement in (first, second):
        new_origins: list[int] = []
        position = 0
        for match in re.finditer(pattern, traced.text):
            new_origins += origins[position : match.start()]
            new_origins += [origins[match.start()]] * len(replacement)
            position = match.end()
        origins = new_origins + origins[position:]
        traced = traced.substitute(compile_when_used(pattern), replace_by(replacement))
    assert [traced.origins[index] for index in range(len(traced.text) + 1)] == origins
