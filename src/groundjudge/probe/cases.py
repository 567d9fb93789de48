"""The labelled cases of a probe: those that come with the library, or a file or list of your own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from groundjudge.case.case import Case
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.run import Row, case_of

FOLDER = Path(__file__).parent / "cases"

TRANSLATED = "translated_queries.json"
"""The file of queries in another language, by the query."""

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


def built_in_cases(rubric: Rubric) -> list[ProbeCase]:
    """The library's own cases for a judge: those of its name, or the first set that has all its inputs.

    Raises:
        ProbeError: `no_cases`: no set has them all.
    """
    sets = sorted(FOLDER.glob("*.jsonl"), key=lambda file: (file.stem != rubric.name, file.stem))
    for file in sets:
        found = labelled(_with_translation(read_rows(file)))
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
    found: dict[str, ProbeCase] = {}
    for number, row in enumerate(rows, 1):
        one = _labelled(row, number)
        if str(one.case.id) in found:
            raise ProbeError("bad_case", f"two cases have the id {one.case.id!r}", str(one.case.id))
        found[str(one.case.id)] = one
    return list(found.values())


def _with_translation(rows: Iterable[FileRow]) -> Iterator[FileRow]:
    """The rows, each with its query in another language if the library has it."""
    known: Mapping[str, str] = json.loads((FOLDER / TRANSLATED).read_text(encoding="utf-8"))
    for row in rows:
        if isinstance(row, CaseError) or row.get("query") not in known:
            yield row
        else:
            yield {**row, "query_translated": known[row["query"]]}


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
    labels = [each.is_right for each in cases]
    if not labels:
        raise ProbeError("no_cases", "there are no cases: a probe needs right and wrong responses")
    for is_right, code, what in ((True, "nothing_passes", "pass"), (False, "nothing_fails", "fail")):
        if is_right not in labels:
            families = "faults and neutral_edits" if is_right else "attacks"
            message = (
                f"no case is labelled {what} (expect: {what}), and {families} would have nothing to edit"
            )
            raise ProbeError(code, message)


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
