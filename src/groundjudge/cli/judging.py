"""The options of judging that the command line takes with -O; `cli/selection.py` reads their values."""

from __future__ import annotations

from groundjudge.judging.load import CascadeOptions, PanelOptions
from groundjudge.rubric.options import Option, declared_options


class JudgingOptions(PanelOptions, CascadeOptions, total=False):
    """All options of judging: those of judges, votes and cascades."""


def judging_options() -> dict[str, Option]:
    """Return the options that -O takes, by their names: all except those that have a flag or are objects."""
    taken: dict[str, Option] = {}
    for name, option in declared_options(JudgingOptions).items():
        if option.command_line == "-O":
            taken[name] = option
    return taken
