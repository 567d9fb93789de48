"""`groundjudge agree`: judges compared with people's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from groundjudge.cli import options
from groundjudge.cli.screen import Screen, as_text, outcome_text
from groundjudge.lab.commands import options as measuring
from groundjudge.lab.commands.figures import (
    bounds_text,
    full_name,
    interval_note,
    judge_notices,
    rows_in_sections,
    shorten_reason,
    with_interval,
)
from groundjudge.lab.commands.inputs import (
    exit_after,
    label_notes,
    load_labelled,
    people_lines,
    thresholds_for,
)

if TYPE_CHECKING:  # the statistics libraries are loaded when the command runs
    from groundjudge.lab.agreement import Agreement, Disagreement, LabelAgreement

COUNTS: Mapping[str, str] = {
    "error": "n_error",
    "not applicable": "n_not_applicable",
    "without a label": "n_unlabelled",
    "label: not applicable": "n_label_not_applicable",
    "labelled, not judged": "n_unjudged",
    "judged again (last counts)": "n_repeated",
}
"""The table rows that are not part of n, each with the count in an agreement."""

ALWAYS_SHOWN = frozenset({"n", "error", "not applicable", "threshold"})
"""The rows to show even if every judge has a 0."""

MEANINGS = (
    "Recall: of what people call grounded, the share that passed; of the rest, the share that did not",
    "(specificity). Constant guess: the same answer for every row.",
)

BOUNDS = "a..b: the figure if all rows without a score were wrong, or all right."

WorstDisagreements = Annotated[
    int,
    typer.Option("--worst", metavar="N", min=0, help="How many disagreements to show for each judge."),
]


def agree(
    verdicts: options.Verdicts,
    *,
    labelled: measuring.LabelledInput,
    threshold: measuring.Threshold = None,
    worst: WorstDisagreements = 3,
) -> None:
    """Measure how far judges agree with people's labels.

    The largest disagreements are shown with their reasons.

    Exit status: 0; 1 if a line could not be read; 2 if nothing could be measured.
    """
    from groundjudge.lab.agreement import measure_agreement  # noqa: PLC0415

    label_options = labelled.label_options
    file, judged = load_labelled(verdicts, labelled)
    thresholds, warnings = thresholds_for(threshold, file.verdicts)
    warnings += label_notes(label_options.group, judged[0].labels, file.verdicts)
    agreements: list[Agreement] = []
    for rows in judged:
        agreement = measure_agreement(
            rows,
            threshold=thresholds,
            label_threshold=label_options.label_threshold,
            worst=worst,
        )
        agreements.append(agreement)
    screen = Screen()
    _show_table(screen, agreements)
    screen.text(*MEANINGS)
    if any(agreement.bounds for agreement in agreements):
        screen.text(BOUNDS)
    screen.text(interval_note(label_options.group))
    notes: list[str] = []
    for agreement in agreements:
        _show_details(screen, agreement)
        notes += _undefined_figures(agreement)
        notes += judge_notices(agreement.judge, agreement.notices)
    exit_after(screen, [*notes, *warnings], file)


def _show_table(screen: Screen, agreements: Sequence[Agreement]) -> None:
    """Print figures in rows and judges in columns."""
    columns = [_counts(agreement) for agreement in agreements]
    rows: list[list[str]] = []
    for name in columns[0]:  # all columns have the same names
        cells = [column[name] for column in columns]
        if name in ALWAYS_SHOWN or set(cells) != {"0"}:
            rows.append([name, *cells])
    is_graded = any(agreement.figures["spearman"].value is not None for agreement in agreements)
    cells_by_name: dict[str, list[str]] = {}
    for figure in agreements[0].figures:
        if is_graded or figure != "spearman":
            cells_by_name[figure] = [_figure(agreement, figure) for agreement in agreements]
    cells_by_name["not grounded"] = [
        _right_and_wrong(agreement, "true_negatives", "false_positives") for agreement in agreements
    ]
    cells_by_name["grounded"] = [
        _right_and_wrong(agreement, "true_positives", "false_negatives") for agreement in agreements
    ]
    headings = ["", *(agreement.judge for agreement in agreements)]
    screen.table(headings, [*rows, *rows_in_sections(cells_by_name)])


def _counts(agreement: Agreement) -> dict[str, str]:
    """Fill a judge's column above its figures: the text of each cell, by the name of its row."""
    cells = {"n": str(agreement.n), "groups": "0"}  # 0: each label is its own group
    if agreement.n_groups < agreement.n:
        cells["groups"] = str(agreement.n_groups)
    for name, count in COUNTS.items():
        cells[name] = str(agreement.counts[count])
    cells["labelled, no score"] = str(agreement.n_unscored)
    cells["threshold"] = "as run"
    if agreement.threshold is not None:
        cells["threshold"] = f"{agreement.threshold:g}"
    cells["base rate"] = as_text(agreement.base_rate)
    cells["constant guess, accuracy"] = as_text(agreement.guess.get("accuracy"))
    return cells


def _figure(agreement: Agreement, name: str) -> str:
    """Write a figure with its interval, and with its bounds if there are rows without a score."""
    text = with_interval(agreement.figures[name])
    bounds = bounds_text(agreement.bounds.get(name))
    if bounds:
        return f"{text} {bounds}"
    return text


def _right_and_wrong(agreement: Agreement, right: str, wrong: str) -> str:
    """Count the rows of a class that are judged right and wrong, by the names in the confusion matrix."""
    matrix = agreement.confusion
    if matrix is None:
        return ""
    return f"{getattr(matrix, right)} right, {getattr(matrix, wrong)} wrong"


def _undefined_figures(agreement: Agreement) -> list[str]:
    """Say why a judge's figures are undefined, in one note for all with the same reason."""
    names_by_reason: dict[str, list[str]] = {}
    for figure, reason in agreement.undefined.items():
        # Labels that are not grades never have a correlation: that needs no note.
        if figure == "spearman" and agreement.confusion is not None:
            continue
        names_by_reason.setdefault(reason, []).append(full_name(figure))
    notes: list[str] = []
    for reason, names in names_by_reason.items():
        notes.append(f"{agreement.judge}: {', '.join(names)} undefined: {reason}")
    return notes


def _show_details(screen: Screen, agreement: Agreement) -> None:
    """Print everything besides the figures: agreement between people, labels, and disagreements."""
    screen.text(*judge_notices(agreement.judge, people_lines(agreement.people)))
    if agreement.labels:
        _show_labels(screen, agreement.judge, agreement.labels)
    if agreement.worst:
        screen.text(heading=f"\n{agreement.judge}, largest disagreements")
    for disagreement in agreement.worst:
        screen.text(*_disagreement_lines(disagreement))


def _disagreement_lines(disagreement: Disagreement) -> list[str]:
    """Write a disagreement: "row 3: score 0.2, not passed; label 1", with the judge's reason below."""
    label = disagreement.word or f"{disagreement.label:.3g}"
    outcome = outcome_text(disagreement.passed)
    lines = [f"  {disagreement.case_id}: score {disagreement.score:.3g}, {outcome}; label {label}"]
    reason = shorten_reason(disagreement.reason)
    if reason:
        lines.append(f"    {reason}")
    return lines


def _show_labels(screen: Screen, judge: str, agreement: LabelAgreement) -> None:
    """Print the confusion matrix of the labels, and its figures."""
    screen.text(heading=f"\n{judge}, label by label (rows: people, columns: the judge)")
    rows: list[list[str]] = []
    for label, score, counts in zip(agreement.labels, agreement.scores, agreement.counts, strict=True):
        score_text = "not applicable" if score is None else f"{score:g}"
        rows.append([f"{label} ({score_text})", *(str(count) for count in counts)])
    screen.table(["", *agreement.columns], rows)
    always = f"always {agreement.majority!r}: {agreement.majority_share:.3f}"
    screen.text(
        f"same label: {with_interval(agreement.same)} of {agreement.n} rows; {always}",
        f"weighted kappa: {with_interval(agreement.weighted_kappa)} on {agreement.n_scored} rows whose "
        "labels both have a score; a disagreement weighs the squared difference of the two scores",
    )
