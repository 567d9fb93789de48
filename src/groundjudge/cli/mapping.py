"""The option --fields: fields that stand elsewhere in the rows of the file of cases."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groundjudge.case.fields import FieldPaths, Fields
from groundjudge.cli.screen import fail
from groundjudge.errors import CaseError
from groundjudge.rubric.rubric import Rubric


def fields_of(options: Sequence[str] | None, rubrics: Iterable[Rubric] | None = None) -> FieldPaths:
    """The paths of fields that stand elsewhere. Exit if an option is malformed, or names no field.

    Args:
        options: the values of --fields, each FIELD=PATH.
        rubrics: what will judge the cases: their own inputs are fields too. None: not known, so that a name
            that resembles no field can be an input of theirs.
    """
    inputs = None if rubrics is None else [each.name for rubric in rubrics for each in rubric.inputs]
    paths: dict[str, str] = {}
    for option in options or ():
        name, _, path = (part.strip() for part in option.partition("="))
        if not path:
            fail(f"--fields {option}: expected FIELD=PATH, such as --fields query=inputs.question")
        if name in paths:
            fail(f"--fields {option}: {name} is already read from {paths[name]}")
        paths[name] = path
    try:
        return Fields.of(paths, inputs).paths
    except CaseError as error:
        fail(f"--fields: {error.message}")
