"""The verdicts of one evaluator among those that an experiment has stored with its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")


def shared_name(name: str, kind: str) -> str:
    """Say that two evaluators have the same name, and what to do."""
    return f"two evaluators share the {kind} {name!r}: give one of them a different {kind}"


def select_named(name: str, rows: Iterable[Iterable[tuple[str, T]]], kind: str) -> list[T]:
    """Select what the evaluator with a name has stored.

    Args:
        name: the evaluator's name.
        rows: for each row, what evaluators have stored, with their names.
        kind: what the framework calls such a name.

    Raises:
        ValueError: nothing is stored under that name (the message lists the existing names), or two
            evaluators of one row have it.
    """
    selected: list[T] = []
    other_names: dict[str, None] = {}
    for row in rows:
        n_before = len(selected)
        for stored_name, stored in row:
            if stored_name == name:
                selected.append(stored)
            else:
                other_names[stored_name] = None
        if len(selected) > n_before + 1:
            raise ValueError(shared_name(name, kind))
    if selected:
        return selected
    message = f"no verdicts under the {kind} {name!r}: evaluator({name!r}, ...) must be among the evaluators"
    if other_names:
        message += f"; there are verdicts under {', '.join(other_names)}"
    raise ValueError(message)
