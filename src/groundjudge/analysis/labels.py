"""What people said of cases, read from a file and laid beside what judges said, case by case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from groundjudge.case import is_list, is_mapping
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.replies import PartReading, Reading
from groundjudge.rubric import Rubric, load_rubric, names
from groundjudge.runs.rows import read_rows
from groundjudge.runs.run import id_of
from groundjudge.runs.summary import MISSING
from groundjudge.runs.verdict_file import last_of_each
from groundjudge.verdict import Verdict

WORDS: Mapping[str, float] = MappingProxyType({"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0})
"""Labels that are words, as tables have them. Numbers may be written as texts too."""


class LabelError(GroundjudgeError):
    """Labels that cannot be read, or not be used as was asked.

    Codes: unreadable_label, label_conflict, no_labels, too_few_labels, bad_option.
    """


@dataclass(frozen=True)
class Labels:
    """Labels by the case's id.

    Attributes:
        told: what people said, as it stands in the file: 1 or true for grounded, 0 or false for not,
            a number where labels are graded (more is better), None for nothing to say; or a mapping
            from judges' names to values on their own scales.
        groups: which cases belong together and are therefore not independent of one another, such
            as the passages of one claim. A case that is not there stands for itself.
    """

    told: Mapping[str, Any]
    groups: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True)
class Rated:
    """A verdict with a score, and the label that people gave its case (see `Labels`)."""

    verdict: Verdict
    score: float
    label: float
    group: str

    @property
    def case_id(self) -> str:
        """The case's id."""
        return self.verdict.case_id or ""


@dataclass(frozen=True)
class Joined:
    """The verdicts of one judge beside people's labels. Every verdict is counted in one place.

    Attributes:
        rated: those with a score and a label.
        n_error: rows that should have a score and have not.
        n_not_applicable: rows with nothing to judge.
        n_missing: rows that lacked an input of the judge.
        n_unlabelled: rows with a score on which people said nothing.
        n_unjudged: labelled cases on which there is no verdict of this judge.
        n_repeated: earlier verdicts on a case that was judged again; only the last one counts.
        pass_mark: the label from which on the judge's own scale calls it passed, where the labels
            are on that scale; otherwise None.
    """

    judge: str
    rated: tuple[Rated, ...]
    n_error: int
    n_not_applicable: int
    n_missing: int
    n_unlabelled: int
    n_unjudged: int
    n_repeated: int
    pass_mark: float | None


def read_labels(path: str | Path, key: str = "label", group: str | None = None) -> Labels:
    """Read labels from a file with `id` and a label in every row: its own, or the file of the cases.

    Args:
        path: JSON Lines, or .csv.
        key: under which name the label stands, in the row or in its `metadata`.
        group: under which name rows that belong together share a value.

    Raises:
        OSError: the file cannot be opened or read.
        LabelError: `no_labels` when no row has that key; `label_conflict` when one id has two labels;
            `unreadable_label` for a row that cannot be read.
    """
    told: dict[str, Any] = {}
    groups: dict[str, str] = {}
    seen: set[str] = set()
    found = False
    for number, row in enumerate(read_rows(path), 1):
        if isinstance(row, CaseError):
            message = f"{path}: {row.message}"
            raise LabelError("unreadable_label", message, str(path))
        case_id = id_of(row, number)
        label = _under(row, key)
        found = found or label is not None
        if case_id in seen and told.get(case_id) != label:
            message = f"{path}: {case_id!r} has two labels, {told.get(case_id)!r} and {label!r}"
            raise LabelError("label_conflict", message, case_id)
        seen.add(case_id)
        if label is not None:
            told[case_id] = label
        if group and (shared := _under(row, group)) is not None:
            groups[case_id] = str(shared)
    if not found:
        message = f"{path}: no row has a {key!r}; --label says under which name the labels stand"
        raise LabelError("no_labels", message, str(path))
    if group and not groups:
        message = f"{path}: no row has a {group!r} to group by"
        raise LabelError("no_labels", message, str(path))
    return Labels(told, groups)


def join(verdicts: Iterable[Verdict], labels: Labels) -> list[Joined]:
    """The verdicts beside the labels, judge by judge in the order of their names.

    Verdicts that belong to no judge (rows that could not be read) are left out.

    Raises:
        LabelError: `unreadable_label` for a label that is neither true or false nor a number.
    """
    by_judge: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.judge:
            by_judge.setdefault(verdict.judge, []).append(verdict)
    return [_joined(judge, by_judge[judge], labels) for judge in sorted(by_judge)]


def number_of(told: object, about: str) -> float | None:
    """A label as a number: 1 for true, 0 for false; None where nothing is said.

    Raises:
        LabelError: `unreadable_label`, with the case in the message.
    """
    if told is None or (isinstance(told, str) and not told.strip()):
        return None
    if isinstance(told, str):
        told = WORDS.get(told.strip().casefold(), told)
    try:
        value = float(told) if isinstance(told, bool | int | float | str) else float("nan")
    except ValueError:
        value = float("nan")
    return value if isfinite(value) else _unreadable(told, about)


def _joined(judge: str, verdicts: Sequence[Verdict], labels: Labels) -> Joined:
    last, n_repeated = last_of_each(verdicts)
    rated: list[Rated] = []
    counted = {"error": 0, "not_applicable": 0, "missing": 0, "unlabelled": 0}
    for verdict in last:
        label = label_of(labels.told.get(verdict.case_id or ""), judge, verdict.case_id or "")
        if verdict.error is not None:
            counted["missing" if verdict.error.code == MISSING else "error"] += 1
        elif verdict.score is None:
            counted["not_applicable"] += 1
        elif label is None:
            counted["unlabelled"] += 1
        else:
            group = labels.groups.get(verdict.case_id or "", f"case {verdict.case_id}")
            rated.append(Rated(verdict, verdict.score, label, group))
    judged = {verdict.case_id for verdict in last}
    on_own_scales = any(is_mapping(told) for told in labels.told.values())
    return Joined(
        judge=judge,
        rated=tuple(rated),
        n_error=counted["error"],
        n_not_applicable=counted["not_applicable"],
        n_missing=counted["missing"],
        n_unlabelled=counted["unlabelled"],
        n_unjudged=sum(
            case_id not in judged and label_of(told, judge, case_id) is not None
            for case_id, told in labels.told.items()
        ),
        n_repeated=n_repeated,
        pass_mark=_known(judge).threshold if on_own_scales and judge in names() else None,
    )


def label_of(told: object, judge: str, about: str) -> float | None:
    """What people said of a case, as far as it is about that judge.

    A mapping says it judge by judge: of a judge that comes along on its own scale, which becomes a
    score as the judge's own values do (a list: one value per sentence, a mapping: one per part);
    of any other judge as any label.

    Raises:
        LabelError: `unreadable_label`.
    """
    if not is_mapping(told):
        return number_of(told, about)
    value = told.get(judge)
    if value is None:
        return None
    return _on_own_scale(value, _known(judge), about) if judge in names() else number_of(value, about)


def _on_own_scale(value: object, rubric: Rubric, about: str) -> float | None:
    parts = list(value.values()) if is_mapping(value) else list(value) if is_list(value) else [value]
    numbers = [number_of(part, about) for part in parts]
    given = [number for number in numbers if number is not None]
    if not given or len(given) < len(numbers) or not all(map(rubric.scale.holds, given)):
        _unreadable(value, f"{about}, {rubric.name} (scale {rubric.scale})")
    if given[0] in rubric.not_applicable:
        return None
    if len(given) > 1 and not (rubric.format.part_names or rubric.format.parts_are_sentences):
        _unreadable(value, f"{about}, {rubric.name} (a single value)")
    reading = Reading(given[0], parts=tuple(PartReading("", number) for number in given))
    return rubric.format.score(reading, rubric.scale)


@cache
def _known(name: str) -> Rubric:
    """The rubric of one of the library's judges."""
    return load_rubric(name)


def _under(row: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401  whatever the file holds
    value = row.get(key)
    if value is None and is_mapping(more := row.get("metadata")):
        return more.get(key)
    return value


def _unreadable(told: object, about: str) -> NoReturn:
    message = f"{about}: the label {told!r} is neither true or false nor a number on the scale"
    raise LabelError("unreadable_label", message, about)
