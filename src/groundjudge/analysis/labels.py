"""Human labels: read from a file, and in the terms of a judge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import isfinite, nan
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from groundjudge.analysis.words import Words
from groundjudge.case.shapes import is_list, is_mapping
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.replies import PartReading, Reading
from groundjudge.rubric.rubric import Rubric, load_rubric, names
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.run import id_of

BOOLEAN_WORDS: Mapping[str, float] = MappingProxyType({"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0})
"""Words that CSV files use for 1 and 0, in lower case."""


class LabelError(GroundjudgeError):
    """Labels or calibrations that cannot be read, or not be used with the given options.

    Codes: unreadable_label, label_conflict, no_labels, too_few_labels, bad_option,
    unreadable_calibration.
    """


@dataclass(frozen=True)
class Labels:
    """Human labels and groups, by case id.

    Attributes:
        by_case: the label as it stands in the file. 1, true or yes: grounded; 0, false or no: not
            grounded; any other finite number: a grade, higher is better; one of the judge's own
            labels (see `labels_for`); None or "": no label; a mapping: one label per judge name, for
            built-in judges on the judge's own scale.
        groups: the group of each case. Cases of one group, such as the passages of one claim, are
            not independent; a case without an entry is a group of its own.
        words: what labels in words mean; None: as the verdicts show (see `words_of`).
    """

    by_case: Mapping[str, Any]
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    words: Words | None = None

    def group_of(self, case_id: str | None) -> str:
        """The group of a case, which may be its own."""
        return self.groups.get(case_id or "", f"case {case_id}")


@dataclass(frozen=True)
class HumanLabel:
    """A label as people gave it.

    Attributes:
        number: 0 or 1, a grade, or a score, 0..1; None for "not applicable", and where there is no label.
        word: the judge's label that it is; None if people's labels are numbers or booleans.
    """

    number: float | None
    word: str | None = None


NO_LABEL = HumanLabel(None)
"""The label of a case that has none."""


def read_labels(
    path: str | Path,
    key: str = "label",
    group: str | None = None,
    rows: Iterable[FileRow] | None = None,
) -> Labels:
    """Read labels from a file whose rows have an `id` and a label; the file of cases will do.

    Args:
        path: JSON Lines, or a .csv, .tsv, .json or .parquet file.
        key: the field of a row, or of its `metadata`, that holds the label.
        group: the field that holds the group (see `Labels`), if there are groups.
        rows: the rows of the file, if they are read in another way than by `read_rows(path)`.

    Raises:
        OSError: the file cannot be opened or read.
        LabelError: `no_labels` if no row has the field `key`, or `group` where one is given;
            `label_conflict` if one id has two labels; `unreadable_label` for an unreadable row.
    """
    labels: dict[str, Any] = {}
    groups: dict[str, str] = {}
    for case_id, row in _rows_with_ids(path, read_rows(path) if rows is None else rows):
        label = _field(row, key)
        if labels.setdefault(case_id, label) != label:
            message = f"{path}: {case_id!r} has two labels, {labels[case_id]!r} and {label!r}"
            raise LabelError("label_conflict", message, case_id)
        if group and (value := _field(row, group)) is not None:
            groups[case_id] = str(value)
    by_case = {case_id: label for case_id, label in labels.items() if label is not None}
    for option, name, found in (("--label", key, by_case), ("--group", group, groups)):
        if name and not found:
            raise LabelError("no_labels", f"{path}: no row has a {name!r} field ({option})", str(path))
    return Labels(by_case, groups)


def labels_for(judge: str, labels: Labels, words: Words) -> dict[str, HumanLabel]:
    """The labels for one judge by case id.

    If any label is one of the judge's in words, all text is read so: "Yes" may be the judge's label for
    what is not grounded, and so may 1 or true. Otherwise see `label_of`.

    Raises:
        LabelError: `unreadable_label`, also for a word that is not among the judge's labels.
    """
    texts = {case_id: _text(value, judge, words) for case_id, value in labels.by_case.items()}
    in_words = _are_words([text for text in texts.values() if text], words)
    return {
        case_id: _in_words(texts[case_id], judge, case_id, words)
        if in_words and texts[case_id]
        else HumanLabel(label_of(value, judge, case_id))
        for case_id, value in labels.by_case.items()
    }


def number_of(value: object, source: str) -> float | None:
    """Convert a label to a number: true and yes to 1, false and no to 0; None if it is empty.

    Args:
        value: a boolean, a finite number, a string that holds one, or None.
        source: what the error message names, such as the case's id.

    Raises:
        LabelError: `unreadable_label`.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = _number(value)
    return _unreadable(value, source) if number is None else number


def label_of(value: object, judge: str, source: str) -> float | None:
    """Convert an entry of `Labels.by_case` to the label for one judge; None if it has none.

    A mapping holds one label per judge. For a built-in judge that label is on the judge's own scale
    (a list: one value per sentence; a mapping: one value per part) and is converted to a score,
    0..1, in the same way as the judge's own values; for any other judge see `number_of`.

    Raises:
        LabelError: `unreadable_label`, also for a value outside the judge's scale.
    """
    own = value.get(judge) if is_mapping(value) else value
    rubric = _built_in(judge) if is_mapping(value) and own is not None else None
    return number_of(own, source) if rubric is None else _label_on_judge_scale(own, rubric, source)


def default_label_threshold(
    judge: str, labels: Labels, people: Mapping[str, HumanLabel], words: Words
) -> float | None:
    """The lowest label, 0..1, that counts as grounded by itself (see `Joined`)."""
    if any(label.word for label in people.values()):
        return words.threshold
    rubric = _built_in(judge) if any(map(is_mapping, labels.by_case.values())) else None
    return rubric.threshold if rubric else None


def _text(value: object, judge: str, words: Words) -> str:
    """An entry of `Labels.by_case` as text, numbers and booleans only if they are labels; "" for others."""
    own = value.get(judge) if is_mapping(value) else value
    if isinstance(own, bool | int):
        return words.named(str(own)) or ""
    return own.strip() if isinstance(own, str) else ""


def _are_words(texts: Collection[str], words: Words) -> bool:
    """Whether texts are meant as the judge's labels: one of them is, or cannot be anything else."""
    return bool(words.scores) and (
        any(map(words.named, texts)) or any(_number(text) is None for text in texts)
    )


def _number(value: object) -> float | None:
    """A boolean, number, word for one of them, or text of a number as a finite number; None if it is not."""
    if isinstance(value, str):
        value = BOOLEAN_WORDS.get(value.strip().casefold(), value)
    try:
        number = float(value) if isinstance(value, bool | int | float | str) else nan
    except ValueError:
        return None
    return number if isfinite(number) else None


def _in_words(text: str, judge: str, source: str, words: Words) -> HumanLabel:
    found = words.named(text)
    if found is None:
        message = (
            f"{source}: {text!r} is not among the known labels of {judge}: "
            f"{', '.join(map(repr, words.scores))}; if it has more, name its prompt file with --judge-file"
        )
        raise LabelError("unreadable_label", message, source)
    return HumanLabel(words.scores[found], found)


def _label_on_judge_scale(value: object, rubric: Rubric, source: str) -> float | None:
    """A label on the judge's own scale as a score, 0..1; None if it means "nothing to judge"."""
    parts = list(value.values()) if is_mapping(value) else list(value) if is_list(value) else [value]
    numbers = [number for part in parts if (number := number_of(part, source)) is not None]
    if not numbers or len(numbers) < len(parts) or not all(map(rubric.scale.holds, numbers)):
        _unreadable(value, f"{source}, {rubric.name} (scale {rubric.scale})")
    if numbers[0] in rubric.not_applicable:
        return None
    if len(numbers) > 1 and not (rubric.format.part_names or rubric.format.parts_are_sentences):
        _unreadable(value, f"{source}, {rubric.name} (a single value)")
    reading = Reading(numbers[0], parts=tuple(PartReading("", number) for number in numbers))
    return rubric.format.score(reading, rubric.scale)


@cache
def _built_in(name: str) -> Rubric | None:
    """The rubric of a built-in judge; None for the name of any other judge."""
    return load_rubric(name) if name in names() else None


def _rows_with_ids(path: str | Path, rows: Iterable[FileRow]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, row in enumerate(rows, 1):
        if isinstance(row, CaseError):
            raise LabelError("unreadable_label", f"{path}: {row.message}", str(path))
        yield id_of(row, number), row


def _field(row: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401  whatever the file holds
    value = row.get(key)
    if value is None and is_mapping(metadata := row.get("metadata")):
        return metadata.get(key)
    return value


def _unreadable(value: object, source: str) -> NoReturn:
    message = f"{source}: the label {value!r} is neither a boolean nor a number on the scale"
    raise LabelError("unreadable_label", message, source)
