"""The command `judges`, as a user meets it."""

from __future__ import annotations

from command_line import Invoke

from groundjudge import names


def test_judges_lists_scales_and_inputs(invoke: Invoke) -> None:
    result = invoke("judges")
    assert [line for line in result.stdout.splitlines() if not line.startswith(" ")] == names()
    assert (
        "  scale: 1..5 (whole numbers)\n  inputs: query, context (may be empty), response\n" in result.stdout
    )
    assert "answers (optional)" in result.stdout
