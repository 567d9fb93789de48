"""`groundjudge report`: a page of what was judged and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES
from groundjudge.cli import options
from groundjudge.cli.measured import (
    VerdictFile,
    check_contents,
    exit_after,
    load_labels,
    load_verdicts,
    thresholds_for,
)
from groundjudge.cli.outputs import check_files, check_page, write_page
from groundjudge.cli.screen import Screen, report_errors
from groundjudge.errors import CaseError
from groundjudge.lab.labels import LabelError, Labels, join, labels_for, learn_vocabulary
from groundjudge.lab.probe.figures import read_card
from groundjudge.lab.sample import read_sample
from groundjudge.rubric.rubric import load_rubric, names
from groundjudge.runs.rows import FileRow
from groundjudge.runs.run import case_of

if TYPE_CHECKING:  # the statistics libraries are loaded when the command needs them
    from groundjudge.lab.agreement import Agreement
    from groundjudge.lab.rate import TrueRate

CASES = options.option("The file of cases, to show them beside their verdicts.", metavar="FILE")
CARD = options.option("Show the figures of a card written by `probe --card`.", metavar="CARD")
OUT = options.option("Write the page to this file.", *options.OUT, default="report.html", metavar="PATH")


def report(  # noqa: PLR0913  one per option
    verdicts: str = options.VERDICTS,
    *,
    out: str = OUT,
    cases: str | None = CASES,
    row_options: options.RowOptions,
    labels: str | None = options.OPTIONAL_LABELS,
    label_options: options.LabelOptions,
    threshold: str | None = options.THRESHOLD,
    probe: str | None = CARD,
) -> None:
    """Make a page of what was judged and why.

    The page is one file for any browser, and works offline. Labels in the file of cases are used
    without --labels.

    Exit status: 0; 1 if a line could not be read; 2 if there is nothing to show.
    """
    with report_errors():
        from groundjudge.report.page import report as page  # noqa: PLC0415

        files = {
            "verdicts": verdicts,
            "cases": cases,
            "labels": labels,
            "thresholds": threshold,
            "a card": probe,
        }
        check_files([("--out", out)], ((f"the file of {what}", path) for what, path in files.items()))
        check_page(out)
        read_too = replace(row_options, encoding="utf-8") if labels else row_options  # which it is about, too
        options.refuse_without(cases, "--cases", read_too)
        options.refuse_without(labels or cases, "--labels", label_options)
        file = load_verdicts(verdicts)
        rows = [*row_options.rows(cases)] if cases else []
        people = load_labels(labels, label_options, row_options.encoding) if labels else None
        notes: list[str] = []
        if cases and not labels:
            people, notes = _labels_of_cases(cases, label_options, rows, file)
        agreements: Sequence[Agreement] = ()
        if people:
            agreements, warnings = _agreements(file, people, threshold, label_options.label_threshold)
            notes = [*notes, *warnings]
        shown, unreadable = _cases(rows)
        for rubric in map(load_rubric, sorted({each.judge for each in file.verdicts} & {*names()})):
            theirs = [each for each in file.by_judge(rubric.name) if each.prompt == rubric.prompt.id]
            check_contents(shown, rubric, theirs)
        title, card = Path(verdicts).name, read_card(probe) if probe else None
        html = page(
            file.verdicts,
            title=title,
            cases=shown,
            labels=people,
            agreements=agreements,
            rate=_rate(file, people, label_options) if people else None,
            probe=card,
        )
        n_bytes = write_page(out, html)
    screen = Screen()
    screen.text(f"{out}: {len(file.verdicts)} verdicts, {len(shown)} cases, {n_bytes / 1e6:.1f} MB")
    exit_after(screen, [*notes, *(f"{cases}: {message}" for message in unreadable)], file)


def _labels_of_cases(
    path: str, given: options.LabelOptions, rows: Sequence[FileRow], file: VerdictFile
) -> tuple[Labels | None, list[str]]:
    """People's labels in the file of cases, where their key may mean something else, which is no error."""
    try:
        found = load_labels(path, given, rows=rows)
        labels_for("", found, found.vocabulary or learn_vocabulary(file.verdicts))
    except LabelError as error:
        return None, [] if error.code == "no_labels" else [f"labels are left out: {error.message}"]
    return found, []


def _agreements(
    file: VerdictFile, labels: Labels, threshold: str | None, limit: float | None
) -> tuple[list[Agreement], list[str]]:
    """The agreement of each judge with the labels, and notes; none without the statistics libraries."""
    try:
        from groundjudge.lab.agreement import measure_agreement  # noqa: PLC0415
    except ImportError as error:
        return [], [f"labels are shown without figures: {error}"]
    thresholds, warnings = thresholds_for(threshold, file.verdicts)
    return [
        measure_agreement(one, threshold=thresholds, label_threshold=limit, worst=len(one.labelled_rows))
        for one in join(file.verdicts, labels)
    ], warnings


def _rate(file: VerdictFile, labels: Labels, given: options.LabelOptions) -> TrueRate | None:
    """The true rate of grounded answers; None if the labels are not of a drawn sample."""
    if not given.sample:
        return None
    from groundjudge.lab.rate import rate  # noqa: PLC0415

    return rate(file.verdicts, labels, read_sample(given.sample), label_threshold=given.label_threshold)


def _cases(rows: Iterable[FileRow]) -> tuple[list[Case], list[str]]:
    """The cases of the rows, and why other rows cannot be shown."""
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
            unreadable.append(f"row {number} cannot be shown: {error.message}")
    return cases, unreadable
