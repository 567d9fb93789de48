"""`groundjudge report`: a page of what was judged and why."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from groundjudge.analysis.labels import LabelError, Labels, join, labels_for, words_of
from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES
from groundjudge.cli.figures import print_notes
from groundjudge.cli.measured import VerdictFile, exit_after, load_labels, load_verdicts, thresholds_for
from groundjudge.cli.options import OPTIONAL_LABELS, THRESHOLD, VERDICTS, LabelOptions, RowOptions, option
from groundjudge.cli.outputs import check_outputs
from groundjudge.cli.screen import open_console, print_text, report_errors
from groundjudge.errors import CaseError
from groundjudge.probe.figures import read_card
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.run import case_of

if TYPE_CHECKING:  # the statistics libraries are loaded when the command needs them
    from groundjudge.analysis.agreement import Agreement


def report(  # noqa: PLR0913  one per option
    verdicts: str = VERDICTS,
    *,
    out: Path = option(
        "Write the page to this file.", "--out", "-o", default=Path("report.html"), metavar="PATH"
    ),
    cases: str | None = option("The file of cases, to show them beside their verdicts.", metavar="FILE"),
    row_options: RowOptions,
    labels: str | None = OPTIONAL_LABELS,
    label_options: LabelOptions,
    threshold: str | None = THRESHOLD,
    probe: str | None = option("Show the figures of a card written by `probe --card`.", metavar="CARD"),
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
        check_outputs([("--out", str(out))], inputs)
        file = load_verdicts(verdicts)
        rows = partial(read_rows, cases or "", row_options.file_format, row_options.fields())
        people: Labels | None = None
        label_notes: list[str] = []
        if labels:
            people = load_labels(labels, label_options)
        elif cases:
            people, label_notes = _labels_of_cases(cases, rows(), label_options, file)
        shown, unreadable = _cases(cases, rows()) if cases else ([], [])
        agreements, warnings = _agreements(
            file, people, threshold, label_options.label_threshold, required=labels is not None
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
    print_text(console, f"{out}: {len(file.verdicts)} verdicts, {len(shown)} cases, {len(html) / 1e6:.1f} MB")
    print_notes(console, [*label_notes, *warnings, *unreadable])
    exit_after(console, file)


def _labels_of_cases(
    path: str, rows: Iterable[FileRow], options: LabelOptions, file: VerdictFile
) -> tuple[Labels | None, list[str]]:
    """The labels in the file of cases, and notes about them: their key may mean something else there."""
    try:
        found = load_labels(path, options, rows)
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
