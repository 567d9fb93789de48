"""Which of the judges fit the rows of a file: those whose inputs some row has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from groundjudge.case.case import Case
from groundjudge.case.data import find_key
from groundjudge.cli.screen import fail
from groundjudge.errors import CaseError
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.rows import CaseFile, can_read_again
from groundjudge.runs.run import jobs_of
from groundjudge.verdict import Verdict


def input_fields(judge: AnyJudge) -> list[str]:
    """Name the fields that a judge's inputs are read from."""
    return [prompt_input.field for prompt_input in judge.inputs]


def take_fitting(judges: list[AnyJudge], rows: CaseFile) -> tuple[list[AnyJudge], list[str]]:
    """Select the judges for which some row has all inputs except the response, and name the others in a line.

    For a pipe, which can be read only once, these are all judges; so they are if no row has any judge's
    inputs.
    """
    if not can_read_again(rows.path):
        return judges, []
    left_out = list(judges)
    missing: dict[str, set[str]] = {}
    for number, row in enumerate(rows.rows(), 1):
        for job in jobs_of(row, number, left_out, {}):
            if isinstance(job, Verdict):
                continue
            judge, case = job
            fields = _missing_fields(judge, case)
            missing[judge.name] = fields & missing.get(judge.name, fields)
            if not fields:
                left_out.remove(judge)
        if not left_out:
            break
    fitting = [judge for judge in judges if judge not in left_out]
    if not fitting or not left_out:
        return judges, []
    _refuse_ambiguous_reference(fitting, missing, rows)
    descriptions: list[str] = []
    for judge in left_out:
        description = judge.name
        if missing.get(judge.name):  # what all rows lack, which may be nothing
            description += f" ({', '.join(sorted(missing[judge.name]))})"
        descriptions.append(description)
    reason = "left out because no row has all their inputs"
    return fitting, [f"{reason}: {', '.join(descriptions)}; --judge NAME runs one anyway"]


def _refuse_ambiguous_reference(
    fitting: Sequence[AnyJudge], missing: Mapping[str, set[str]], rows: CaseFile
) -> None:
    """Exit if only the user knows what a column `reference` is: the answer or, as in Phoenix, the documents.

    It may be the documents where no other column is, and some judge lacks nothing else.
    """
    is_given = find_key(rows.first_row or {}, "reference") is not None
    if {"context"} not in missing.values() or not is_given or rows.first_case().response is None:
        return
    for judge in fitting:
        if "reference" in input_fields(judge):
            fail(
                f"{rows.path}: name a judge: if the column reference contains the correct answer, "
                f"--judge {judge.name}; if it contains the documents, --fields context=reference"
            )


def _missing_fields(judge: AnyJudge, case: Case) -> set[str]:
    """Return the fields that a judge needs and a case lacks. A response may be missing in any file."""
    fields: set[str] = set()
    for rubric in judge.rubrics:
        for prompt_input in rubric.prompt.inputs:
            # An unreadable field is not missing: it is an error of its row.
            with suppress(CaseError):
                if prompt_input.is_missing(case):
                    fields.add(prompt_input.field)
    return fields - {"response"}
