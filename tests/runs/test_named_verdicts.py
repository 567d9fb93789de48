"""What is found under an evaluator's name, and what is said where nothing is."""

from __future__ import annotations

import pytest

from groundjudge.runs.named_verdicts import select_named

ROWS = [[("a", 1), ("b", 2)], [("a", 3)], []]


def test_the_evaluator_of_a_name_is_selected() -> None:
    assert select_named("a", ROWS, "key") == [1, 3]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param(
            ROWS, "no verdicts under the key 'c': .*; there are verdicts under a, b", id="another name"
        ),
        pytest.param([], r"evaluator\('c', ...\) must be among the evaluators$", id="no rows"),
        pytest.param([[("c", 1), ("c", 2)]], "two evaluators share the key 'c': give one", id="two of a row"),
    ],
)
def test_what_cannot_be_selected_says_why(rows: list[list[tuple[str, int]]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        select_named("c", rows, "key")
