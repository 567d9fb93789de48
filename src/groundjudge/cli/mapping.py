"""The option --map: fields that stand elsewhere in the rows of the file of cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from groundjudge.case.case import ALIASES, FIELD_NAMED
from groundjudge.case.mapped import Where
from groundjudge.cli.screen import fail
from groundjudge.rubric.rubric import Rubric

MORE_FIELDS = ("id", "judges")
"""What a row can hold besides the fields that prompts show."""


def where_of(options: Sequence[str] | None, rubrics: Iterable[Rubric] | None = None) -> Where:
    """The paths of fields that stand elsewhere. Exit if an option is malformed, or names no field.

    Args:
        options: the values of --map, each FIELD=PATH.
        rubrics: what will judge the cases: their own inputs are fields too. None: not known, so that a name
            that resembles no field can be an input of theirs.
    """
    own = [each.name for rubric in rubrics or () for each in rubric.inputs if each.is_custom]
    where: dict[str, str] = {}
    for option in options or ():
        name, _, path = option.partition("=")
        field, path = _field(name.strip(), own, is_complete=rubrics is not None), path.strip()
        if not path:
            fail(f"--map {option}: expected FIELD=PATH, such as --map query=inputs.question")
        if field in where:
            fail(f"--map {option}: {field} is already read from {where[field]}")
        where[field] = path
    return where


def _field(name: str, own: Sequence[str], *, is_complete: bool) -> str:
    """The field that a name means.

    Args:
        name: its own name, or another usual one.
        own: the names of the judges' own inputs.
        is_complete: whether there can be no others.
    """
    known = {**FIELD_NAMED, **{field: field for field in (*MORE_FIELDS, *own)}}
    nearest = get_close_matches(name, known, 1)
    if name not in known and (nearest or is_complete or not name):
        hint = f", did you mean {nearest[0]}?" if nearest else "."
        fields = ", ".join((*ALIASES, *MORE_FIELDS, *own))
        fail(f"--map: there is no field {name!r}{hint} The fields are: {fields}")
    return known.get(name, name)
