"""`groundjudge report`: a page of what was judged and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from groundjudge.case.case import Case
from groundjudge.cli import options
from groundjudge.cli.outputs import check_files
from groundjudge.cli.screen import Screen
from groundjudge.errors import CaseError
from groundjudge.lab.commands import options as measuring
from groundjudge.lab.commands.compare import measure_changes
from groundjudge.lab.commands.inputs import (
    VerdictFile,
    check_contents,
    exit_after,
    label_notes,
    load_labels,
    load_verdicts,
    read_again,
    thresholds_for,
)
from groundjudge.lab.commands.pages import PageOut, check_page, write_page
from groundjudge.lab.labels import JudgedRows, LabelError, Labels, join
from groundjudge.lab.probe.figures import read_card
from groundjudge.lab.sample import read_sample
from groundjudge.rubric.load import load_rubric, names
from groundjudge.runs.latest_verdicts import LatestVerdicts
from groundjudge.runs.rows import FileRow
from groundjudge.runs.run import case_of, id_of
from groundjudge.verdict import PromptId, Verdict

if TYPE_CHECKING:  # the statistics libraries are loaded when the command needs them
    from groundjudge.lab.agreement import Agreement
    from groundjudge.lab.model_change import ModelChange
    from groundjudge.lab.rate import TrueRate

MAX_FLIPS = 200
"""Maximum number of flips on the page, those with the largest change in score."""

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
    out: PageOut = "report.html",
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
    from groundjudge.report.collected import collect  # noqa: PLC0415
    from groundjudge.report.page import disagreements_of  # noqa: PLC0415
    from groundjudge.report.page import report as make_report  # noqa: PLC0415

    inputs = {
        "the file of verdicts": verdicts,
        "the file of cases": cases,
        "the file of labels": labels,
        "the file of thresholds": threshold,
        "the file of a card": probe,
        "--against": against,
    }
    check_files([("--out", out)], inputs.items())
    check_page(out)
    _check_options(cases, row_options, labels, label_options)

    file = load_verdicts(verdicts)
    rows: Iterable[FileRow] = ()
    if cases:
        rows = read_again(cases, partial(row_options.read, cases))
    people: Labels | None = None
    judged_rows: list[JudgedRows] = []
    notes: list[str] = []
    if labels:
        people, judged_rows, notes = _join_labels(file, labels, label_options, row_options.encoding)
    elif cases:
        people, judged_rows, notes = _join_labels_of_cases(file, cases, rows, label_options)
    earlier: LatestVerdicts | None = None
    verdict_sets = [file.verdicts]
    if against:
        earlier = load_verdicts(against).verdicts
        verdict_sets.append(earlier)
    thresholds, threshold_notes = thresholds_for(threshold, *verdict_sets)

    label_threshold = label_options.label_threshold
    agreements, agreement_notes = _measure_agreements(judged_rows, thresholds, label_threshold)
    notes += threshold_notes + agreement_notes
    changes: list[ModelChange] = []
    if earlier is not None:
        changes = measure_changes(
            earlier, file.verdicts, people, thresholds, label_threshold, most_flips=MAX_FLIPS
        )

    collected = collect(file.verdicts, disagreements_of(agreements), most_rows, thresholds)
    n_verdicts, n_shown = len(file.verdicts), len(collected.shown_verdicts)
    if n_shown < n_verdicts:
        shown = f"{n_shown:,} of {n_verdicts:,} verdicts, the first {most_rows:,} of each kind"
        notes.append(f"the table has {shown} (--most-rows); all figures are over all verdicts")
    shown_cases: list[Case] = []
    if cases:
        shown_cases, case_notes = _read_cases(cases, rows, collected.shown_verdicts)
        notes += case_notes
    html = make_report(
        collected,
        title=Path(verdicts).name,
        cases=shown_cases,
        labels=people,
        agreements=agreements,
        rate=_estimate_rate(file.verdicts, people, label_options),
        probe=read_card(probe) if probe else None,
        changes=changes,
    )
    n_bytes = write_page(out, html)
    screen = Screen()
    screen.text(f"{out}: {n_shown} verdicts, {len(shown_cases)} cases, {n_bytes / 1e6:.1f} MB")
    exit_after(screen, notes, file)


def _check_options(
    cases: str | None,
    row_options: options.RowOptions,
    labels: str | None,
    label_options: measuring.LabelOptions,
) -> None:
    """Exit if options were given, but not the file that they apply to."""
    flags = options.flags_of(row_options)
    if labels and "--encoding" in flags:
        flags.remove("--encoding")  # the one option of rows that also applies to the file of labels
    options.refuse_without(cases, "--cases", flags)
    # A file of cases can have labels, too.
    options.refuse_without(labels or cases, "--labels", options.flags_of(label_options))


def _join_labels(
    file: VerdictFile, labels: str, label_options: measuring.LabelOptions, encoding: str
) -> tuple[Labels, list[JudgedRows], list[str]]:
    """Join the labels in a file of labels, with notes on them."""
    people = load_labels(labels, label_options, measuring.LabelsFileOptions(encoding).read(labels))
    return people, join(file.verdicts, people), label_notes(label_options.group, people, file.verdicts)


def _join_labels_of_cases(
    file: VerdictFile, cases: str, rows: Iterable[FileRow], label_options: measuring.LabelOptions
) -> tuple[Labels | None, list[JudgedRows], list[str]]:
    """Join the labels that a file of cases may contain, with a note if they cannot be read as labels."""
    try:
        people = load_labels(cases, label_options, rows)
        return people, join(file.verdicts, people), []
    except LabelError as error:
        # The key of labels may mean something else there, which is not an error.
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
        agreement = measure_agreement(
            rows,
            threshold=thresholds,
            label_threshold=label_threshold,
            worst=len(rows.labelled_rows),  # the page marks all disagreements
        )
        agreements.append(agreement)
    return agreements, []


def _estimate_rate(
    verdicts: LatestVerdicts, labels: Labels | None, label_options: measuring.LabelOptions
) -> TrueRate | None:
    """Estimate the true rate of grounded answers; None if the labels do not come from a drawn sample."""
    if not labels or not label_options.sample:
        return None
    from groundjudge.lab.rate import rate  # noqa: PLC0415

    sample = read_sample(label_options.sample)
    return rate(verdicts, labels, sample, label_threshold=label_options.label_threshold)


def _read_cases(
    path: str, rows: Iterable[FileRow], verdicts: Sequence[Verdict]
) -> tuple[list[Case], list[str]]:
    """Make the cases that the verdicts are on, with notes on rows that cannot be shown.

    Exit if a case is not the one that was judged.
    """
    shown_ids = {verdict.case_id for verdict in verdicts}
    cases: list[Case] = []
    notes: list[str] = []
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
            notes.append(f"{path}: row {number} cannot be shown: {error.message}")
    if verdicts and not cases:
        notes.append(
            f"{path}: no row has the id of a verdict: use the same --fields and --format as for `run`"
        )
    _check_judged(cases, verdicts)
    return cases, notes


def _check_judged(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> None:
    """Exit if a case is not the one that a built-in judge judged.

    Verdicts from another version of the prompt may hash other fields, and are not compared.
    """
    verdicts_by_prompt: dict[tuple[str, PromptId | None], list[Verdict]] = {}
    for verdict in verdicts:
        verdicts_by_prompt.setdefault((verdict.judge, verdict.prompt), []).append(verdict)
    for name in names():
        rubric = load_rubric(name)
        check_contents(cases, rubric, verdicts_by_prompt.get((name, rubric.prompt.id), ()))
