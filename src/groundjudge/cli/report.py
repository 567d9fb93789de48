"""`groundjudge report`: a page of what was judged and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from groundjudge.analysis.labels import LabelError, Labels, join, labels_for, words_of
from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES
from groundjudge.cli.measured import VerdictFile, exit_after, load_labels, load_verdicts, thresholds_for
from groundjudge.cli.options import OPTIONAL_LABELS, THRESHOLD, VERDICTS, LabelOptions, RowOptions, option
from groundjudge.cli.outputs import check_outputs
from groundjudge.cli.screen import open_console, print_notes, print_text, report_errors
from groundjudge.errors import CaseError
from groundjudge.probe.figures import read_card
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.run import case_of

if TYPE_CHECKING:  # the statistics libraries are loaded when the command needs them
    from groundjudge.analysis.agreement import Agreement


def report(  # noqa: PLR0913  one per option
    verdicts: str = VERDICTS,
    *,
    out: str = option("Write the page to this file.", "--out", "-o", default="report.html", metavar="PATH"),
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
        check_outputs([("--out", out)], inputs)
        file = load_verdicts(verdicts)
        fields = row_options.fields()
        rows = [*read_rows(cases, row_options.file_format, fields)] if cases else []
        people, notes = _labels(labels, label_options, cases, rows, file)
        agreements: list[Agreement] = []
        if people:
            required = labels is not None
            agreements, warnings = _agreements(file, people, threshold, label_options, is_required=required)
            notes += warnings
        shown, unreadable = _cases(cases, rows)
        html = page(
            file.verdicts,
            title=Path(verdicts).name,
            cases=shown,
            labels=people,
            agreements=agreements,
            probe=read_card(probe) if probe else None,
        ).encode()
        Path(out).write_bytes(html)
    console = open_console()
    print_text(console, f"{out}: {len(file.verdicts)} verdicts, {len(shown)} cases, {len(html) / 1e6:.1f} MB")
    print_notes(console, [*notes, *unreadable])
    exit_after(console, file)


def _labels(
    path: str | None, options: LabelOptions, cases: str | None, rows: Sequence[FileRow], file: VerdictFile
) -> tuple[Labels | None, list[str]]:
    """People's labels, from their own file or the file of cases, and notes about them.

    In the file of cases their key may mean something else, which is no error.
    """
    if path or not cases:
        return load_labels(path, options) if path else None, []
    try:
        found = load_labels(cases, options, rows)
        labels_for("", found, found.words or words_of(file.verdicts))
    except LabelError as error:
        return None, [] if error.code == "no_labels" else [f"labels are left out: {error.message}"]
    return found, []


def _agreements(
    file: VerdictFile, labels: Labels, threshold: str | None, options: LabelOptions, *, is_required: bool
) -> tuple[list[Agreement], list[str]]:
    """The agreement of each judge with the labels, and notes about it.

    Labels that are not required are shown without figures where the statistics libraries are missing.
    """
    try:
        from groundjudge.analysis.agreement import measure_agreement  # noqa: PLC0415
    except ImportError as error:
        if is_required:
            raise
        return [], [f"labels are shown without figures: {error}"]
    thresholds, warnings = thresholds_for(threshold, file.verdicts)
    limit = options.label_threshold
    return [
        measure_agreement(one, threshold=thresholds, label_threshold=limit, worst=len(one.labelled))
        for one in join(file.verdicts, labels)
    ], warnings


def _cases(path: str | None, rows: Sequence[FileRow]) -> tuple[list[Case], list[str]]:
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
