"""The labelling page: one HTML file on which people label drawn rows without seeing what the judge said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from groundjudge.case.case import Case
from groundjudge.lab.labels import LabelError
from groundjudge.lab.sample import LabelSample
from groundjudge.report.template import case_data, filled
from groundjudge.rubric.rubric import Rubric

CANNOT_TELL = "cannot tell"

QUESTION = "Is all that the response claims supported by the documents?"
"""What people answer with grounded or not grounded; a judge's own question has its own labels."""

GROUNDED_OR_NOT = (
    {"key": "1", "text": "grounded", "label": 1},
    {"key": "0", "text": "not grounded", "label": 0},
    {"key": "2", "text": CANNOT_TELL, "label": None},
)
"""What people choose from, with the key and the label of each."""

MOST_KEYS = 9
"""The most labels of a judge that have a key."""


def labelling_page(
    sample: LabelSample,
    cases: Iterable[Case],
    rubric: Rubric,
    *,
    second: bool = False,
    own_labels: bool = False,
) -> str:
    """Make the page for a sample.

    The page holds the drawn cases in the order of the sample and nothing that the judge said: for a sample it
    is the same, byte for byte, whatever the verdicts are. The browser keeps what people do, and they download
    it as a file of labels, which `read_labels` reads.

    Args:
        sample: what was drawn.
        cases: the judged cases; those that were not drawn are left out.
        rubric: the judge's, whose question people answer.
        second: make the page of the second person, with the rows that two label.
        own_labels: let people choose among the judge's labels; otherwise: grounded, not grounded.

    Returns:
        The page as HTML. It fetches nothing.

    Raises:
        LabelError: `bad_option`: a drawn case is missing, or the judge has no labels, or too many.
    """
    by_id = {case.id: case for case in cases}
    shown = [case_id for case_id in sample.ids if not second or case_id in sample.double]
    missing = [case_id for case_id in shown if case_id not in by_id]
    if missing:
        message = (
            f"the file of cases has no row {missing[0]!r}, which was drawn: give the file that was judged"
        )
        raise LabelError("bad_option", message, missing[0])
    told_in_short = rubric.prompt.description or rubric.name
    told = ["".join(pieces[::2]) for role, pieces in rubric.prompt.sections if role == "system"]
    data = {
        "sample": sample.id,
        "part": 2 if second else 1,
        "question": told_in_short if own_labels else QUESTION,
        "description": told_in_short,
        "instructions": "\n\n".join(told),
        "choices": _own_choices(rubric) if own_labels else GROUNDED_OR_NOT,
        "rows": [case_data(by_id[case_id]) for case_id in shown],
    }
    return filled("label", f"Label {len(shown)} rows", data)


def _own_choices(rubric: Rubric) -> Sequence[Mapping[str, Any]]:
    names = [*rubric.scale.choices] or [*rubric.levels.values()]
    if not 0 < len(names) <= MOST_KEYS:
        fault = f"{rubric.name} has {len(names)} labels, and 1 to {MOST_KEYS} can have a key"
        message = f"{fault}: leave out `own_labels`"
        raise LabelError("bad_option", message, "own_labels")
    own = [
        {"key": str(key), "text": name.replace("_", " "), "label": name} for key, name in enumerate(names, 1)
    ]
    return [*own, {"key": "0", "text": CANNOT_TELL, "label": None}]
