"""`groundjudge report`: a page of what was judged and why."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundjudge.case.case import Case
from groundjudge.cli import options
from groundjudge.cli.outputs import check_files
from groundjudge.cli.screen import Screen, report_errors
from groundjudge.errors import CaseError
from groundjudge.lab.commands import options as measuring
from groundjudge.lab.commands.inputs import (
    VerdictFile,
    check_contents,
    exit_after,
    judge_pairs,
    label_notes,
    load_labels,
    load_verdicts,
    stored_rows,
    thresholds_for,
)
from groundjudge.lab.commands.pages import check_page, write_page
from groundjudge.lab.labels import JudgedRows, LabelError, Labels, join
from groundjudge.lab.probe.figures import read_card
from groundjudge.lab.sample import read_sample
from groundjudge.rubric.load import load_rubric, names
from groundjudge.runs.rows import FileRow
from groundjudge.runs.run import case_of, id_of
from groundjudge.verdict import Verdict

if TYPE_CHECKING:  # the statistics libraries are loaded when the command needs them
    from groundjudge.lab.agreement import Agreement
    from groundjudge.lab.model_change import ModelChange
    from groundjudge.lab.rate import TrueRate

MAX_FLIPS = 200
"""Maximum number of flips on the page, those with the largest change in score."""

ReportPage = Annotated[
    str,
    typer.Option("--out", "-o", metavar="PATH", help="Write the page to this file."),
]
ReportCases = Annotated[
    str | None,
    typer.Option("--cases", metavar="FILE", help="The file of cases, to show them next to their verdicts."),
]
ProbeCard = Annotated[
    str | None,
    typer.Option("--probe", metavar="CARD", help="Show the figures of a card written by `probe --card`."),
]

EarlierVerdicts = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="OLD",
        help="Earlier verdicts, such as from another model: show which verdicts flip, with both reasons.",
    ),
]
MostRows = Annotated[
    int,
    typer.Option(
        "--most-rows",
        metavar="N",
        min=1,
        help="Maximum number of rows in the table for each kind of verdict (judge, outcome, and whether "
        "people agree). All figures are over all verdicts.",
    ),
]


def report(
    verdicts: options.Verdicts,
    *,
    out: ReportPage = "report.html",
    cases: ReportCases = None,
    row_options: options.RowOptions,
    labels: measuring.OptionalLabelsFile = None,
    label_options: measuring.LabelOptions,
    threshold: measuring.Threshold = None,
    probe: ProbeCard = None,
    against: EarlierVerdicts = None,
    most_rows: MostRows = 1000,
) -> None:
    """Write an HTML report of the verdicts and their reasons.

    The report is one file that opens offline in any browser. Labels in the file of cases are used
    without --labels.

    Exit status: 0; 1 if a line could not be read; 2 if there is nothing to show.
    """
    with report_errors():
        from groundjudge.report.collected import collect  # noqa: PLC0415
        from groundjudge.report.page import disagreements_of  # noqa: PLC0415
        from groundjudge.report.page import report as make_report  # noqa: PLC0415

        inputs = [
            ("the file of verdicts", verdicts),
            ("the file of cases", cases),
            ("the file of labels", labels),
            ("the file of thresholds", threshold),
            ("the file of a card", probe),
            ("--against", against),
        ]
        check_files([("--out", out)], inputs)
        check_page(out)
        options_of_cases = row_options
        if labels:
            options_of_cases = replace(row_options, encoding=options.UTF_8)  # --encoding is of labels, too
        options.refuse_without(cases, "--cases", options_of_cases)
        options.refuse_without(labels or cases, "--labels", label_options)
        file = load_verdicts(verdicts)
        read_rows = list[FileRow] if cases is None else stored_rows(cases, row_options)
        people, judged_rows, notes = _join_labels(
            file, cases, labels, read_rows, label_options, row_options.encoding
        )
        earlier = load_verdicts(against) if against else None
        verdict_sets = [file.verdicts]
        if earlier is not None:
            verdict_sets.append(earlier.verdicts)
        thresholds, warnings = thresholds_for(threshold, *verdict_sets)
        notes += warnings
        agreements, warnings = _measure_agreements(judged_rows, thresholds, label_options.label_threshold)
        notes += warnings
        collected = collect(file.verdicts, disagreements_of(agreements), most_rows, thresholds)
        shown_cases, unreadable = _read_cases(read_rows(), collected.shown_ids)
        _check_judged(shown_cases, collected.shown_verdicts)
        html = make_report(
            collected,
            title=Path(verdicts).name,
            cases=shown_cases,
            labels=people,
            agreements=agreements,
            rate=_estimate_rate(file, people, label_options),
            probe=read_card(probe) if probe else None,
            changes=_measure_changes(file, earlier, people, thresholds, label_options.label_threshold),
        )
        n_bytes = write_page(out, html)
    screen = Screen()
    n_verdicts, n_shown = len(file.verdicts), len(collected.shown_verdicts)
    screen.text(f"{out}: {n_shown} verdicts, {len(shown_cases)} cases, {n_bytes / 1e6:.1f} MB")
    if n_shown < n_verdicts:
        notes.append(
            f"the table has {n_shown:,} of {n_verdicts:,} verdicts, the first {most_rows:,} of each kind "
            "(--most-rows); all figures are over all verdicts"
        )
    for message in unreadable:
        notes.append(f"{cases}: {message}")
    if cases and n_shown and not shown_cases:
        notes.append(
            f"{cases}: no row has the id of a verdict: use the same --fields and --format as for `run`"
        )
    exit_after(screen, notes, file)


def _join_labels(  # noqa: PLR0917  two files, one of which has labels
    file: VerdictFile,
    cases: str | None,
    labels: str | None,
    read_rows: Callable[[], Iterable[FileRow]],
    label_options: measuring.LabelOptions,
    encoding: str,
) -> tuple[Labels | None, list[JudgedRows], list[str]]:
    """Read people's labels from their file, or else from the file of cases, and join them; with notes."""
    if labels:
        rows = measuring.LabelsFileOptions(encoding).read(labels)
        people = load_labels(labels, label_options, rows)
        return people, join(file.verdicts, people), label_notes(label_options.group, people, file.verdicts)
    if not cases:
        return None, [], []
    # In a file of cases, the key of labels may mean something else, which is not an error.
    try:
        people = load_labels(cases, label_options, read_rows())
        return people, join(file.verdicts, people), []
    except LabelError as error:
        if error.code == "no_labels":
            return None, [], []
        return None, [], [f"the labels are ignored: {error.message}"]


def _measure_agreements(
    judged_rows: Sequence[JudgedRows], thresholds: Mapping[str, float], label_threshold: float | None
) -> tuple[list[Agreement], list[str]]:
    """Measure the agreement of each judge with the labels, with notes on it.

    Without the statistics libraries there are no figures: the page only shows the labels.
    """
    if not judged_rows:
        return [], []
    try:
        from groundjudge.lab.agreement import measure_agreement  # noqa: PLC0415
    except ImportError as error:
        return [], [f"labels are shown without figures: {error}"]
    agreements: list[Agreement] = []
    for rows in judged_rows:
        n_labelled = len(rows.labelled_rows)  # the page marks all disagreements
        agreements.append(
            measure_agreement(rows, threshold=thresholds, label_threshold=label_threshold, worst=n_labelled)
        )
    return agreements, []


def _measure_changes(
    file: VerdictFile,
    earlier: VerdictFile | None,
    labels: Labels | None,
    thresholds: Mapping[str, float],
    label_threshold: float | None,
) -> list[ModelChange]:
    """Compare each judge with the earlier one of the same name, or the only judge with the only earlier one.

    Without a file of earlier verdicts nothing is compared.
    """
    if earlier is None:
        return []
    from groundjudge.lab.model_change import measure_change  # noqa: PLC0415

    changes: list[ModelChange] = []
    for first_judge, second_judge in judge_pairs(earlier, file):
        change = measure_change(
            earlier.verdicts.select([first_judge]),
            file.verdicts.select([second_judge]),
            labels,
            thresholds=(thresholds.get(first_judge), thresholds.get(second_judge)),
            label_threshold=label_threshold,
            most_flips=MAX_FLIPS,
        )
        changes.append(change)
    return changes


def _estimate_rate(
    file: VerdictFile, labels: Labels | None, label_options: measuring.LabelOptions
) -> TrueRate | None:
    """Estimate the true rate of grounded answers; None if the labels do not come from a drawn sample."""
    if not labels or not label_options.sample:
        return None
    from groundjudge.lab.rate import rate  # noqa: PLC0415

    sample = read_sample(label_options.sample)
    return rate(file.verdicts, labels, sample, label_threshold=label_options.label_threshold)


def _read_cases(rows: Iterable[FileRow], shown_ids: frozenset[str]) -> tuple[list[Case], list[str]]:
    """Make the cases to show, and say why rows cannot be shown."""
    cases: list[Case] = []
    unreadable: list[str] = []
    read_ids: set[str] = set()
    for number, row in enumerate(rows, 1):
        try:
            if isinstance(row, CaseError):
                raise row
            case_id = id_of(row, number)
            if case_id not in shown_ids or case_id in read_ids:  # of rows with one id, `run` judges the first
                continue
            read_ids.add(case_id)
            cases.append(case_of(row, number))
        except CaseError as error:
            unreadable.append(f"row {number} cannot be shown: {error.message}")
    return cases, unreadable


def _check_judged(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> None:
    """Exit if a case is not the one that a built-in judge judged.

    Verdicts from another version of the prompt may hash other fields, and are not compared.
    """
    built_in_judges = {verdict.judge for verdict in verdicts} & set(names())
    for name in sorted(built_in_judges):
        rubric = load_rubric(name)
        verdicts_of_prompt: list[Verdict] = []
        for verdict in verdicts:
            if verdict.judge == name and verdict.prompt == rubric.prompt.id:
                verdicts_of_prompt.append(verdict)
        check_contents(cases, rubric, verdicts_of_prompt)
