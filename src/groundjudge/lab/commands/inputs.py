"""The inputs of the measuring commands: files of verdicts, people's labels, and thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

import typer

from groundjudge.case.case import Case
from groundjudge.cli.screen import INCOMPLETE, Screen, as_text, counts_text, fail
from groundjudge.judging.judge import case_hash
from groundjudge.lab.commands.options import LabelledInput, LabelOptions
from groundjudge.lab.labels import JudgedRows, Labels, join, read_labels, rubric_vocabulary
from groundjudge.lab.sample import read_sample, weight_labels
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.latest_verdicts import LatestVerdicts, latest_verdicts
from groundjudge.runs.rows import FileRow, can_read_again
from groundjudge.runs.verdict_file import read_verdicts
from groundjudge.verdict import Verdict

if TYPE_CHECKING:  # the statistics libraries are loaded when a command needs them
    from groundjudge.lab.people import People

LineT = TypeVar("LineT")


@dataclass(frozen=True)
class VerdictFile:
    """A file of verdicts, read again each time they are needed.

    Attributes:
        path: the file.
        verdicts: the verdicts that count, by the requested judges.
    """

    path: str
    verdicts: LatestVerdicts


@dataclass(frozen=True)
class _ReadAgain(Generic[LineT]):
    """What a function reads, from the first line each time."""

    read: Callable[[], Iterator[LineT]]

    def __iter__(self) -> Iterator[LineT]:
        return self.read()


def read_again(path: str, read: Callable[[], Iterator[LineT]]) -> Iterable[LineT]:
    """Return lines that can be iterated several times: a file is read again, those of a pipe are stored."""
    if can_read_again(path):
        return _ReadAgain(read)
    return list(read())


def load_verdicts(path: str, judges: Sequence[str] | None = None) -> VerdictFile:
    """Read a file of verdicts. Exit if it has none, or none by one of `judges`."""
    verdicts = latest_verdicts(read_again(path, partial(read_verdicts, path)))
    if not len(verdicts):
        first = f"; the first line: {verdicts.first_unreadable}" if verdicts.n_unreadable else ""
        fail(f"{path} contains no verdicts: expected a file written by `groundjudge run`{first}")
    if not judges:
        return VerdictFile(path, verdicts)
    for judge in judges:
        if judge not in verdicts.judges:
            choices = ", ".join(verdicts.judges)
            fail(f"{path} has no verdict by the judge {judge!r}: choose --judge from {choices}")
    return VerdictFile(path, verdicts.select(judges))


def load_both(first: str, second: str, judges: Sequence[str] | None) -> tuple[VerdictFile, VerdictFile]:
    """Read two files of verdicts, by the judge that is named for each, or by one that is named for both."""
    chosen = judges or []
    if len(chosen) > 2:  # noqa: PLR2004  one for each file
        fail("--judge is given more than twice: name one judge for each file")
    return load_verdicts(first, chosen[:1]), load_verdicts(second, chosen[-1:])


def load_rubric_of(judge: str, judge_file: str | None) -> Rubric:
    """Load a judge's rubric, from its prompt file if the judge is not built in.

    Exit if it is neither.
    """
    if judge_file:
        return load_rubric(judge_file)
    if judge not in names():
        fail(f"{judge} is not a built-in judge: name its prompt file with --judge-file")
    return load_rubric(judge)


def load_labels(path: str, options: LabelOptions, rows: Iterable[FileRow]) -> Labels:
    """Read people's labels, with the label words of the prompt file that the options name.

    Args:
        path: the file.
        options: where to find them in a row.
        rows: the rows of the file.

    Raises:
        LabelError, OSError: as for `read_labels`, `read_sample` and `weight_labels`.
    """
    labels = read_labels(path, options.label, options.group, rows)
    if options.sample:
        labels = weight_labels(labels, read_sample(options.sample))
    if options.judge_file is None:
        return labels
    rubric = load_rubric(options.judge_file)
    vocabulary = rubric_vocabulary(rubric)
    if not vocabulary.scores:
        numbers = f"its judge answers with numbers on {rubric.scale}, not with labels: omit the option"
        fail(f"--judge-file {options.judge_file}: {numbers}")
    return replace(labels, vocabulary=vocabulary)


def load_labelled(verdicts: str, labelled: LabelledInput) -> tuple[VerdictFile, list[JudgedRows]]:
    """Read a file of verdicts and one of labels, and join them, judge by judge. Exit if no case has both."""
    file = load_verdicts(verdicts, labelled.judge)
    rows = labelled.file_options.read(labelled.labels)
    people = load_labels(labelled.labels, labelled.label_options, rows)
    joined = join(file.verdicts, people)
    # One judge with a row is enough: the figures say that the others have none.
    if not any(judge.labelled_rows or judge.worded_rows for judge in joined):
        fail(_why_no_row(file, labelled.labels, people, joined))
    return file, joined


def _why_no_row(file: VerdictFile, path: str, labels: Labels, joined: Sequence[JudgedRows]) -> str:
    """Say why no case has both a score and a label."""
    reasons: Counter[str] = Counter()
    for judge in joined:
        reasons.update(row.verdict.error_code or "not applicable" for row in judge.unscored_rows)
    if reasons:
        counts = counts_text(dict(reasons.most_common()))
        return f"{file.path}: no labelled case has a score: {counts}"
    # The usual fault is that ids differ: the first ones show it.
    judged_id = next((verdict.case_id for verdict in file.verdicts if verdict.case_id), None)
    labelled_id = next(iter(labels.by_case), None)
    remedy = ""
    if labels.n_without_id:
        remedy = "; a labelled row without `id` is named by its position: call the column of ids `id`"
    return (
        f"no case has both a score in {file.path} and a label in {path}: cases are matched by id, and "
        f"the first ids are {judged_id!r} and {labelled_id!r}{remedy}"
    )


def label_notes(group: str | None, labels: Labels | None, *verdicts: Iterable[Verdict]) -> list[str]:
    """Make notes on the labelled rows that lack an id or the key of the groups, or have other texts."""
    notes: list[str] = []
    if labels is None:
        return notes
    n_labelled = len(labels.by_case)
    if labels.n_without_id:
        # In another order, their labels belong to other cases.
        notes.append(
            f"{labels.n_without_id} of {n_labelled} labelled rows have no `id`, and count for the case at "
            "the same position: figures are right only if the judged rows are the same, in this order"
        )
    n_without_group = sum(case_id not in labels.groups for case_id in labels.by_case)
    if group and n_without_group:
        notes.append(
            f"{n_without_group} of {n_labelled} labelled rows have no {group!r} (--group), so each counts as "
            "independent"
        )
    bundled = names()
    compared_ids: set[str] = set()
    other_ids: set[str] = set()
    for verdict in chain.from_iterable(verdicts):
        case_id = verdict.case_id or ""
        content = labels.contents.get(case_id)
        # Of a prompt of your own, the hash may cover metadata.
        if content and verdict.case_hash and verdict.judge in bundled:
            compared_ids.add(case_id)
            if content != verdict.case_hash:
                other_ids.add(case_id)
    if other_ids:
        notes.append(
            f"{len(other_ids)} of {len(compared_ids)} labelled rows differ from what was judged under their "
            "ids: if the texts have changed, the labels are for other texts, and the figures wrong"
        )
    return notes


def thresholds_for(option: str | None, *verdict_sets: LatestVerdicts) -> tuple[dict[str, float], list[str]]:
    """Read each judge's threshold from --threshold, and warn about using them on each set of verdicts.

    Exit if it is neither a score nor a file.
    """
    if option is None:
        return {}, []
    # A file whose name is a number has to be given as a path, as in ./0.5.
    try:
        number = float(option)
    except ValueError:
        if not Path(option).exists():
            fail(f"--threshold {option} is neither a score, 0..1, nor a file from `groundjudge calibrate`")
        return _fitted_thresholds(option, verdict_sets)
    if not 0 <= number <= 1:
        fail(f"--threshold must be a score, 0..1, not {option}")
    thresholds: dict[str, float] = {}
    for verdicts in verdict_sets:
        thresholds |= dict.fromkeys(verdicts.judges, number)
    return thresholds, []


def _fitted_thresholds(
    path: str, verdict_sets: Sequence[LatestVerdicts]
) -> tuple[dict[str, float], list[str]]:
    """Read a file written by `calibrate`."""
    from groundjudge.lab.calibration import read_calibrations, warnings_on  # noqa: PLC0415

    calibrations = read_calibrations(path)
    warnings: list[str] = []
    for verdicts in verdict_sets:
        for judge in verdicts.judges:
            if judge not in calibrations:
                warnings.append(
                    f"{judge}: {path} has no threshold for this judge, so the run's decision counts"
                )
        warnings += warnings_on(calibrations.values(), verdicts)
    thresholds = {judge: calibration.threshold for judge, calibration in calibrations.items()}
    # A judge that is compared with several others would repeat its warnings.
    return thresholds, list(dict.fromkeys(warnings))


def people_lines(people: People | None) -> list[str]:
    """Describe how well people agree, on one line; none if no row has two labels."""
    if not people:
        return []
    line = (
        f"{people.n} rows have two labels: {people.same:.3f} agree, kappa {as_text(people.kappa)}; "
        f"the judge's kappa with one of them {as_text(people.judge_kappa)}"
    )
    return [line]


def exit_after(screen: Screen, notes: Iterable[str], *files: VerdictFile) -> NoReturn:
    """Print the notes, and those on each file; the exit status says whether it has unreadable lines."""
    all_notes = list(notes)
    status = 0
    for file in files:
        for judge in file.verdicts.judges:
            signatures = file.verdicts.signatures_of(judge)
            if len(signatures) > 1:
                mixed = f"{len(signatures)} signatures: {', '.join(signatures)}"
                all_notes.append(f"{judge}: these figures mix verdicts with {mixed}")
    for note in all_notes:
        screen.text(f"note: {note}")
    for file in files:
        n_unreadable = file.verdicts.n_unreadable
        if n_unreadable:
            first = file.verdicts.first_unreadable
            screen.text(f"{file.path}: {n_unreadable} unreadable lines, the first is {first}")
            status = INCOMPLETE
    raise typer.Exit(status)


def check_contents(cases: Iterable[Case], rubric: Rubric, verdicts: Iterable[Verdict]) -> None:
    """Exit if a case is not the one that was judged, as far as its verdict's key can show."""
    if any(prompt_input.is_custom for prompt_input in rubric.inputs):
        return  # the key covers the metadata that a prompt shows, and a panel may show more of it
    case_by_id = {case.id: case for case in cases}
    for verdict in verdicts:
        case = case_by_id.get(verdict.case_id)
        # A verdict without a key, such as one on a row that could not be read, has no hash.
        if case is None or not verdict.case_hash:
            continue
        if verdict.case_hash != case_hash(case, rubric.inputs):
            remedy = "pass the file that was judged, with the same --fields and --format"
            fail(f"the case {case.id!r} differs from the one judged under this id: {remedy}")
