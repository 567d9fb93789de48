"""The options of a rubric, typed, and checked by name when they are used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, TypedDict

from groundjudge.replies import Format
from groundjudge.verdict import Scale


class PromptOptions(TypedDict, total=False):
    """What a prompt file says of itself, and what may be given in code instead. None: not given."""

    parameters: Mapping[str, Any] | None
    reply: Format | None
    scale: Scale | None
    levels: Mapping[float, str] | None
    not_applicable: Sequence[float] | None


class RubricOptions(PromptOptions, total=False):
    """The same, and the threshold."""

    threshold: float | None


def check_options(options: Iterable[str], known: type[Any]) -> None:
    """Refuse options that a TypedDict does not have.

    Raises:
        TypeError: an option is unknown; the message names the nearest right one.
    """
    names = list(known.__annotations__)
    for option in options:
        if option not in names:
            nearest = get_close_matches(option, names, 1)
            hint = f", did you mean {nearest[0]!r}?" if nearest else ";"
            message = f"unknown option {option!r}{hint} The options are: {', '.join(names)}"
            raise TypeError(message)
