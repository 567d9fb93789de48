"""The labelled cases of a probe: those that come with the library, or your own file or list."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from groundjudge.case.case import Case
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.rows import CaseFile
from groundjudge.runs.run import Row, case_of

FOLDER = Path(__file__).parent / "cases"

# The values of `expect` or `label`, including true and false, and whether the response is right.
EXPECTED: Mapping[object, bool] = {"pass": True, "fail": False, 1: True, 0: False}

# The fields that can support a response.
BACKING = frozenset({"context", "reference", "profile", "conversation", "answers"})


class ProbeError(GroundjudgeError):
    """A judge cannot be probed, or the card of a probe cannot be read."""

    codes: ClassVar[Mapping[str, str]] = {
        "bad_card": "The file was not written by `groundjudge probe --card`. Pass a file that was.",
        "bad_case": "A row of `--cases` is unreadable, has no `expect`, or repeats an id. Correct that row.",
        "no_cases": "No case of the library has your judge's inputs. Pass your own: `--cases own.jsonl`.",
        "no_edit": "`--without` names an edit that does not exist. Use a name listed in the message.",
        "no_source": "The prompt shows nothing that could support a response. Probe another judge.",
        "no_verdict": "No case got a verdict. Look up the first error, which the message quotes.",
        "nothing_fails": "No case is labelled `fail`. Add some: attacks need wrong responses.",
        "nothing_passes": "No case is labelled `pass`. Add some: edits need right responses.",
    }


@dataclass(frozen=True)
class ProbeCase:
    """A labelled case.

    Attributes:
        case: the case, with an id.
        is_right: whether its response is right.
        is_canary: whether no one could fail it, or no one could pass it.
    """

    case: Case
    is_right: bool
    is_canary: bool = False

    @property
    def name(self) -> str:
        """The id of the case."""
        return str(self.case.id)


def cases_for(rubric: Rubric, rows: Iterable[Row] | None) -> list[ProbeCase]:
    """Return the labelled cases to probe a judge with: those in the rows, or else the library's own.

    Raises:
        ProbeError: `no_source`, `no_cases`, `nothing_passes`, `nothing_fails`, or as for the functions below.
    """
    shown_fields = {prompt_input.field for prompt_input in rubric.inputs}
    if BACKING.isdisjoint(shown_fields):
        names = ", ".join(prompt_input.name for prompt_input in rubric.inputs)
        message = (
            f"{rubric.name} shows only {names}: a probe edits supported facts, so the prompt must show "
            "context, reference, profile, conversation or answers"
        )
        raise ProbeError("no_source", message, rubric.name)
    cases = built_in_cases(rubric) if rows is None else labelled_cases(rows)
    labels = {case.is_right for case in cases}
    for is_right, code, expect in ((True, "nothing_passes", "pass"), (False, "nothing_fails", "fail")):
        if is_right not in labels:
            message = (
                f"no case is labelled {expect} (expect: {expect}): a probe needs right and wrong responses"
            )
            raise ProbeError(code if labels else "no_cases", message)
    return cases


def built_in_cases(rubric: Rubric) -> list[ProbeCase]:
    """Return the library's own cases for a judge: those with its name, or the first set with all its inputs.

    Raises:
        ProbeError: `no_cases`: no set has them all.
    """
    files = sorted(FOLDER.glob("*.jsonl"), key=lambda file: (file.stem != rubric.name, file.stem))
    for file in files:
        cases = labelled_cases(CaseFile(file).rows())
        if not any(rubric.prompt.missing(labelled_case.case) for labelled_case in cases):
            return cases
    required = ", ".join(prompt_input.name for prompt_input in rubric.inputs if prompt_input.required)
    message = (
        f"{rubric.name}: none of groundjudge's own sets of cases has all of its inputs ({required}): "
        "pass your own cases, each with these inputs and expect, pass or fail (--cases FILE)"
    )
    raise ProbeError("no_cases", message, rubric.name)


def labelled_cases(rows: Iterable[Row]) -> list[ProbeCase]:
    """Make labelled cases from rows.

    Raises:
        ProbeError: `bad_case`: a row cannot be read, has no label, or an id appears twice.
    """
    cases = [_labelled_case(row, number) for number, row in enumerate(rows, 1)]
    counts = Counter(case.name for case in cases)
    for name, count in counts.items():
        if count > 1:
            raise ProbeError("bad_case", f"two cases have the id {name!r}", name)
    return cases


def _labelled_case(row: Row, number: int) -> ProbeCase:
    try:
        if isinstance(row, CaseError):
            raise row
        case = case_of(row, number)
    except CaseError as error:
        raise ProbeError("bad_case", f"row {number} of the cases: {error.message}", error.subject) from error
    label: Any = case.metadata.get("expect", case.metadata.get("label"))
    is_right: bool | None = None
    if isinstance(label, str | bool | int | float):  # a list or a mapping is not hashable
        is_right = EXPECTED.get(label)
    if is_right is None:
        message = f"{case.id}: expect must be pass or fail (or label 1 or 0), not {label!r}"
        raise ProbeError("bad_case", message, str(case.id))
    return ProbeCase(case, is_right, bool(case.metadata.get("canary")))
