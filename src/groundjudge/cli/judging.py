"""The options of judging that the command line takes with -O; `cli/selection.py` reads their values."""

from __future__ import annotations

from groundjudge.judging.load import CascadeOptions, PanelOptions
from groundjudge.rubric.options import Option, declared_options


def judging_options() -> dict[str, Option]:
    """Return the options that -O takes, by their names: all except those that have a flag or are objects."""
    taken: dict[str, Option] = {}
    for options_type in (PanelOptions, CascadeOptions):
        for name, option in declared_options(options_type).items():
            if option.command_line == "-O":
                taken[name] = option
    return taken
