"""The labelling page: one HTML file where people label drawn rows without seeing what the judge said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groundjudge.case.case import Case
from groundjudge.lab.labels import LabelError
from groundjudge.lab.sample import LabelSample
from groundjudge.lab.template import case_data, fill_page
from groundjudge.rubric.rubric import Rubric

CANNOT_TELL = "cannot tell"

# The question that people answer with grounded or not grounded; a judge's own question has its own labels.
QUESTION = "Is everything the response claims supported by the documents?"

# The choices, each with its key and label.
GROUNDED_OR_NOT = (
    {"key": "1", "text": "grounded", "label": 1},
    {"key": "0", "text": "not grounded", "label": 0},
    {"key": "2", "text": CANNOT_TELL, "label": None},
)

# The maximum number of a judge's labels, each with a digit as its key; 0 is for "cannot tell".
MAX_KEYS = 9


def labelling_page(
    sample: LabelSample,
    cases: Iterable[Case],
    rubric: Rubric,
    *,
    second: bool = False,
    own_labels: bool = False,
) -> str:
    """Make the page for a sample.

    The page contains the drawn cases in the order of the sample and nothing that the judge said: for a given
    sample it is the same, byte for byte, regardless of the verdicts. The browser saves people's work, and
    they download it as a file of labels for `read_labels`.

    Args:
        sample: what was drawn.
        cases: the judged cases; cases that were not drawn are ignored.
        rubric: the judge's rubric, whose question people answer.
        second: make the second person's page, with the rows that two people label.
        own_labels: let people choose among the judge's labels instead of grounded and not grounded.

    Returns:
        The page as HTML. It fetches nothing.

    Raises:
        LabelError: `bad_option`: a drawn case is missing, or the judge has no labels or too many.
    """
    case_ids = [case_id for case_id in sample.ids if not second or case_id in sample.double]
    cases_by_id = {case.id: case for case in cases}
    rows: list[dict[str, Any]] = []
    for case_id in case_ids:
        if case_id not in cases_by_id:
            message = (
                f"the file of cases has no row {case_id!r}, which was drawn: pass the file that was judged, "
                "with all its rows"
            )
            raise LabelError("bad_option", message, case_id)
        rows.append(case_data(cases_by_id[case_id]))
    description = rubric.prompt.description or rubric.name
    # Every second piece of a section is a placeholder for the case; a judge is told the text in between.
    instructions = ["".join(pieces[::2]) for role, pieces in rubric.prompt.sections if role == "system"]
    question = QUESTION
    choices: Sequence[Mapping[str, Any]] = GROUNDED_OR_NOT
    if own_labels:
        question = description
        choices = _judge_choices(rubric)
    data = {
        "sample": sample.id,
        "part": 2 if second else 1,
        "question": question,
        "description": description,
        "instructions": "\n\n".join(instructions),
        "choices": choices,
        "rows": rows,
    }
    return fill_page("label", f"Label {len(rows)} rows", data)


def _judge_choices(rubric: Rubric) -> list[Mapping[str, Any]]:
    """Turn a judge's labels into choices, each with a key."""
    names = list(rubric.scale.choices)
    if not names:
        names = list(rubric.levels.values())
    if not 0 < len(names) <= MAX_KEYS:
        message = (
            f"{rubric.name} has {len(names)} labels, but the page has keys for 1 to {MAX_KEYS}: "
            "omit `own_labels`"
        )
        raise LabelError("bad_option", message, "own_labels")
    choices: list[Mapping[str, Any]] = []
    for key, name in enumerate(names, 1):
        choices.append({"key": str(key), "text": name.replace("_", " "), "label": name})
    choices.append({"key": "0", "text": CANNOT_TELL, "label": None})
    return choices
