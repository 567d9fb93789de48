"""The labelled cases of a probe: those that come with the library, or a file or list of your own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from groundjudge.case.case import Case
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.rows import read_rows
from groundjudge.runs.run import Row, case_of

FOLDER = Path(__file__).parent / "cases"

EXPECTED: Mapping[object, bool] = {"pass": True, "fail": False, 1: True, 0: False}
"""What `expect` or `label` can be in a row, true and false included, and whether the response is right."""

BACKING = frozenset({"context", "reference", "profile", "conversation", "answers"})
"""The fields that can back a response."""


class ProbeError(GroundjudgeError):
    """A judge cannot be probed.

    Codes: no_source (it compares the response with nothing), no_cases, bad_case, nothing_passes,
    nothing_fails (of the labels), no_edit (there is none of a name), no_verdict (every call failed),
    bad_card, other_judge (of two cards).
    """


@dataclass(frozen=True)
class ProbeCase:
    """A labelled case.

    Attributes:
        case: the case, with an id.
        is_right: whether its response is right.
        is_canary: whether nobody could fail it, or nobody could pass it.
    """

    case: Case
    is_right: bool
    is_canary: bool = False

    @property
    def name(self) -> str:
        """The id of the case."""
        return str(self.case.id)


def cases_for(rubric: Rubric, rows: Iterable[Row] | None) -> list[ProbeCase]:
    """The labelled cases that a judge is probed with: those in the rows, or without any the library's own.

    Raises:
        ProbeError: the judge cannot be probed with these cases.
    """
    check_source(rubric)
    found = built_in_cases(rubric) if rows is None else labelled(rows)
    check_labels(found)
    return found


def built_in_cases(rubric: Rubric) -> list[ProbeCase]:
    """The library's own cases for a judge: those of its name, or the first set that has all its inputs.

    Raises:
        ProbeError: `no_cases`: no set has them all.
    """
    sets = sorted(FOLDER.glob("*.jsonl"), key=lambda file: (file.stem != rubric.name, file.stem))
    for file in sets:
        found = labelled(read_rows(file))
        if all(not rubric.prompt.missing(each.case) for each in found):
            return found
    needed = ", ".join(each.name for each in rubric.inputs if each.required)
    message = (
        f"{rubric.name}: no set of cases that comes with groundjudge has all of its inputs ({needed}): "
        "pass cases of your own, each with its inputs and expect, pass or fail (--cases FILE)"
    )
    raise ProbeError("no_cases", message, rubric.name)


def labelled(rows: Iterable[Row]) -> list[ProbeCase]:
    """Labelled cases from rows.

    Raises:
        ProbeError: `bad_case`: a row cannot be read, has no label, or an id appears twice.
    """
    found = [_labelled(row, number) for number, row in enumerate(rows, 1)]
    twice = [name for name, n in Counter(each.name for each in found).items() if n > 1]
    if twice:
        raise ProbeError("bad_case", f"two cases have the id {twice[0]!r}", twice[0])
    return found


def check_source(rubric: Rubric) -> None:
    """Make sure that a judge compares the response with something.

    Raises:
        ProbeError: `no_source`.
    """
    if BACKING.isdisjoint(each.field for each in rubric.inputs):
        shown = ", ".join(each.name for each in rubric.inputs)
        message = (
            f"{rubric.name} shows only {shown}: a probe edits facts that something backs, so the prompt must "
            "show one of context, reference, profile and conversation"
        )
        raise ProbeError("no_source", message, rubric.name)


def check_labels(cases: Iterable[ProbeCase]) -> None:
    """Make sure that there are right and wrong responses.

    Raises:
        ProbeError: `no_cases`, `nothing_passes` or `nothing_fails`.
    """
    labels = {each.is_right for each in cases}
    for is_right, code, expect in ((True, "nothing_passes", "pass"), (False, "nothing_fails", "fail")):
        if is_right not in labels:
            message = (
                f"no case is labelled {expect} (expect: {expect}): a probe needs right and wrong responses"
            )
            raise ProbeError(code if labels else "no_cases", message)


def digest(cases: Iterable[ProbeCase]) -> str:
    """A hash of cases and labels, by which two cards are known to be about the same ones."""
    lines = (f"{each.is_right} {each.case.model_dump_json()}\n" for each in cases)
    return sha256("".join(lines).encode()).hexdigest()[:12]


def _labelled(row: Row, number: int) -> ProbeCase:
    try:
        if isinstance(row, CaseError):
            raise row
        case = case_of(row, number)
    except CaseError as error:
        raise ProbeError("bad_case", f"row {number} of the cases: {error.message}", error.subject) from error
    return ProbeCase(case, _label(case), bool(case.metadata.get("canary")))


def _label(case: Case) -> bool:
    given: Any = case.metadata.get("expect", case.metadata.get("label"))
    known = EXPECTED.get(given) if isinstance(given, str | bool | int | float) else None
    if known is None:
        message = f"{case.id}: expect must be pass or fail (or label 1 or 0), not {given!r}"
        raise ProbeError("bad_case", message, str(case.id))
    return known
