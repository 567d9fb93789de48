"""`groundjudge report`: a page of what was judged and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundjudge.analysis.joined import join
from groundjudge.analysis.labels import LabelError, Labels, labels_for, read_labels
from groundjudge.analysis.words import words_of
from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES
from groundjudge.cli.figures import print_notes
from groundjudge.cli.inputs import refuse_to_overwrite
from groundjudge.cli.labelled import JudgeFile, in_words_of
from groundjudge.cli.mapping import fields_of
from groundjudge.cli.options import (
    FieldPaths,
    FormatChoice,
    GroupKey,
    LabelKey,
    LabelThreshold,
    OptionalLabelsFile,
    Threshold,
    VerdictsFile,
)
from groundjudge.cli.screen import open_console, print_text, report_errors
from groundjudge.cli.thresholds import thresholds_for
from groundjudge.cli.verdicts import VerdictFile, exit_after, load_verdicts
from groundjudge.errors import CaseError
from groundjudge.probe.compared import read_card
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.run import case_of

if TYPE_CHECKING:  # the statistics libraries are loaded when the command needs them
    from groundjudge.analysis.agreement import Agreement

MEGABYTE = 1_000_000


def report(  # noqa: PLR0913  one per option
    verdicts: VerdictsFile,
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="PATH", help="Write the page to this file.")
    ] = Path("report.html"),
    cases: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The file of cases, to show them beside their verdicts."),
    ] = None,
    file_format: FormatChoice = None,
    paths: FieldPaths = None,
    labels: OptionalLabelsFile = None,
    label: LabelKey = "label",
    group: GroupKey = None,
    label_threshold: LabelThreshold = None,
    judge_file: JudgeFile = None,
    threshold: Threshold = None,
    probe: Annotated[
        str | None, typer.Option(metavar="CARD", help="Show the figures of a card written by `probe --card`.")
    ] = None,
) -> None:
    """Make a page of what was judged and why.

    The page is one file for any browser, and works offline. Labels in the file of cases are used
    without --labels.

    Exit status: 0; 1 if a line could not be read; 2 if there is nothing to show.
    """
    with report_errors():
        from groundjudge.report.page import report as page  # noqa: PLC0415

        inputs = (
            ("the file of verdicts", verdicts),
            ("the file of cases", cases),
            ("the file of labels", labels),
            ("the file of thresholds", threshold),
            ("the card of the probe", probe),
        )
        refuse_to_overwrite("--out", str(out), inputs)
        file = load_verdicts(verdicts)
        rows = partial(read_rows, cases or "", file_format, fields_of(paths))
        people: Labels | None = None
        label_notes: list[str] = []
        if labels:
            people = in_words_of(read_labels(labels, label, group), judge_file)
        elif cases:
            read = partial(read_labels, cases, label, group)
            people, label_notes = _labels_of_cases(lambda: in_words_of(read(rows()), judge_file), file)
        shown, unreadable = _cases(cases, rows()) if cases else ([], [])
        agreements, warnings = _agreements(
            file, people, threshold, label_threshold, required=labels is not None
        )
        html = page(
            file.verdicts,
            title=Path(verdicts).name,
            cases=shown,
            labels=people,
            agreements=agreements,
            probe=read_card(probe) if probe else None,
        ).encode()
        out.write_bytes(html)
    console = open_console()
    print_text(console, f"{out}: {len(file.verdicts)} verdicts, {len(shown)} cases, {_size(len(html))}")
    print_notes(console, [*label_notes, *warnings, *unreadable])
    exit_after(console, file)


def _labels_of_cases(read: Callable[[], Labels], file: VerdictFile) -> tuple[Labels | None, list[str]]:
    """The labels in the file of cases, and notes about them: their key may mean something else there."""
    try:
        found = read()
        labels_for("", found, found.words or words_of(file.verdicts))
    except LabelError as error:
        return None, [] if error.code == "no_labels" else [f"labels are left out: {error.message}"]
    return found, []


def _agreements(
    file: VerdictFile,
    labels: Labels | None,
    threshold: str | None,
    label_threshold: float | None,
    *,
    required: bool,
) -> tuple[list[Agreement], list[str]]:
    """The agreement of each judge with the labels, and notes about it.

    Labels that are not required are shown without figures where the statistics libraries are missing.
    """
    if labels is None:
        return [], []
    try:
        from groundjudge.analysis.agreement import measure_agreement  # noqa: PLC0415
    except ImportError as error:
        if required:
            raise
        return [], [f"labels are shown without figures: {error}"]
    thresholds, warnings = thresholds_for(threshold, file.verdicts)
    return [
        measure_agreement(one, threshold=thresholds, label_threshold=label_threshold, worst=len(one.labelled))
        for one in join(file.verdicts, labels)
    ], warnings


def _cases(path: str, rows: Iterable[FileRow]) -> tuple[list[Case], list[str]]:
    """The cases of a file, and why other rows cannot be shown."""
    cases: list[Case] = []
    unreadable: list[str] = []
    for number, row in enumerate(rows, 1):
        try:
            if isinstance(row, CaseError):
                raise row
            case = case_of(row, number)
            for name in ALIASES:
                case.value(name)  # raises what could not be read
            cases.append(case)
        except CaseError as error:
            unreadable.append(f"{path}: row {number} cannot be shown: {error.message}")
    return cases, unreadable


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= MEGABYTE else f"{n_bytes / 1e3:.0f} kB"
