"""`groundjudge agree`, `calibrate` and `compare`: judges beside people's labels, and beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from textwrap import shorten
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from groundjudge.cli import measured, options
from groundjudge.cli.outputs import check_files, held
from groundjudge.cli.screen import Screen, as_notes, as_text, refuse, report_errors, with_interval
from groundjudge.lab.labels import JudgedRows, LabelError, Unscored
from groundjudge.verdict import Verdict, deciding_score

if TYPE_CHECKING:  # the statistics libraries are loaded when a command runs
    from groundjudge.lab.agreement import Agreement, Bounds, Disagreement, LabelAgreement
    from groundjudge.lab.calibration import Calibration, Criterion
    from groundjudge.lab.comparison import Comparison
    from groundjudge.lab.votes import VoteAgreement

Maximised: TypeAlias = Literal["balanced-accuracy", "accuracy", "f1", "kappa", "precision"]
"""A `Criterion`, as the command line spells it."""

CORRELATIONS = frozenset({"pearson", "spearman", "kendall"})
"""The figures of graded labels, which are left out where no judge has any."""

Sides: TypeAlias = tuple[Sequence[Verdict], Sequence[Verdict]]
"""The verdicts of one judge in the first file and of one in the second."""

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "not grounded": {
        "recall_not_grounded": "recall",
        "precision_not_grounded": "precision",
        "f1_not_grounded": "F1",
    },
    "grounded": {"recall": "recall", "precision": "precision", "f1": "F1"},
    "both": {
        "balanced_accuracy": "balanced accuracy",
        "macro_f1": "macro-F1",
        "accuracy": "accuracy",
        "kappa": "Cohen's kappa",
    },
    "scores": {
        "roc_auc": "ROC AUC",
        "pearson": "Pearson",
        "spearman": "Spearman",
        "kendall": "Kendall's tau-b",
        "mean_score": "mean score",
        "pass_rate": "pass rate",
    },
}
"""The sections of a table, the class whose failures matter first, each with its figures and their names."""

COUNTS = {
    "error": "n_error",
    "not applicable": "n_not_applicable",
    "without a label": "n_unlabelled",
    "label: not applicable": "n_label_not_applicable",
    "labelled, not judged": "n_unjudged",
    "judged again (last counts)": "n_repeated",
}
"""The rows of the table that are not part of n, each with the count of an agreement."""

HIDDEN_IF_ZERO = {"groups", "labelled, no score", *COUNTS} - {"error", "not applicable"}
"""The rows that are left out where every judge has a 0."""

MEANINGS = (
    "Recall: of what people call grounded, the share that passed; of the rest, the share that did not",
    "(specificity). Constant guess: the same answer for every row.",
)

BOUNDS = "a..b: with the rows without a score all wrong, all right; --count-unscored wrong counts them so."

CLEAR = (
    "Clear: not 0, by a test that allows for the number of differences (max-T, 5 %). An interval is of one "
    "difference alone."
)

SELECTED = (
    "* asked only where earlier votes left the verdict open, which are the harder rows: "
    "for a comparison run with --stop never"
)

COUNTED_AS: Mapping[Unscored, str] = {"wrong": "as wrong", "right": "as right", "as-run": "as in the run"}
"""How cases without a score count, in words."""

MAX_REASON = 300
"""Characters of a reason that are shown."""


def agree(  # noqa: PLR0913  one per option
    verdicts: str = options.VERDICTS,
    *,
    labelled: measured.LabelledFiles,
    label_options: options.LabelOptions,
    threshold: str | None = options.THRESHOLD,
    count_unscored: Unscored | None = options.COUNT_UNSCORED,
    worst: int = options.option("How many disagreements to show for each judge.", default=3, min=0),
) -> None:
    """Measure how far judges agree with people's labels.

    The largest disagreements are shown with their reasons.

    Exit status: 0; 1 if a line could not be read; 2 if nothing could be measured.
    """
    with report_errors():
        from groundjudge.lab.agreement import measure_agreement  # noqa: PLC0415

        file, joined = labelled.joined(verdicts, label_options, counts_unscored=count_unscored is not None)
        thresholds, warnings = measured.thresholds_for(threshold, file.verdicts)
        warnings += measured.without_group(label_options.group, joined[0].labels)
        measure = partial(
            measure_agreement,
            threshold=thresholds,
            label_threshold=label_options.label_threshold,
            count_unscored=count_unscored,
            worst=worst,
            seed=labelled.seed,
        )
        found = [*map(measure, joined)]
    screen = Screen()
    _show_agreements(screen, found)
    screen.text(*MEANINGS, *([BOUNDS] if any(one.bounds for one in found) else []))
    screen.text(_interval_note(label_options.group))
    notes = [note for one in found for note in (*_undefined(one), *_notices(one.judge, one))]
    screen.text(*as_notes([*notes, *measured.mixed_signatures(file.verdicts), *warnings]))
    for one in found:
        screen.text(*(f"{one.judge}: {line}" for line in measured.people_lines(one.people)))
        if one.labels:
            _show_labels(screen, one.judge, one.labels)
        if one.votes:
            _show_votes(screen, one.judge, one.votes)
        _show_worst(screen, one)
    measured.exit_after(screen, [], file)


def calibrate(  # noqa: PLR0913  one per option
    verdicts: str = options.VERDICTS,
    *,
    labelled: measured.LabelledFiles,
    label_options: options.LabelOptions,
    by: Maximised = options.option("The figure to maximise.", default="balanced-accuracy"),
    at_least: float | None = options.option(
        "With --by precision: the lowest share of grounded rows among those that pass.", min=0, max=1
    ),
    folds: int | None = options.option(
        "Cross-validate in N folds. Default: fit on one half, test on the other.", min=2
    ),
    out: str | None = options.option("Write the thresholds to this file.", *options.OUT, metavar="PATH"),
    overwrite: bool = options.OVERWRITE,
) -> None:
    """Fit thresholds to people's labels, and test them.

    They are tested on rows that they were not fitted on.

    Exit status: 0; 1 if a line could not be read; 2 if no threshold could be fitted.
    """
    with report_errors(), ExitStack() as until_written:
        from groundjudge.lab import calibration  # noqa: PLC0415

        inputs = [("the file of verdicts", verdicts), ("the file of labels", labelled.labels)]
        check_files([("--out", out)], inputs)
        until_written.enter_context(held("--out", out, overwrite=overwrite))
        file, joined = labelled.joined(verdicts, label_options)
        ungrouped = measured.without_group(label_options.group, joined[0].labels)
        fit = partial(
            calibration.calibrate,
            by=cast("Criterion", by.replace("-", "_")),
            at_least=at_least,
            folds=folds,
            label_threshold=label_options.label_threshold,
            seed=labelled.seed,
        )
        found, notes = _calibrations(fit, [one for one in joined if one.labelled_rows or labelled.judge])
        if out:
            calibration.save_calibrations(out, found)
    screen = Screen()
    for one in found:
        _show_calibration(screen, one)
    use = f"use --threshold {out} with agree, compare or report"
    screen.text(*([f"thresholds written to {out}: {use}"] if out else []))
    notes += [note for one in found for note in _notices(one.judge, one)]
    notes += [
        *ungrouped,
        *_unchanged(found),
        *_without_choice(joined),
        *measured.mixed_signatures(file.verdicts),
    ]
    measured.exit_after(screen, notes, file)


def compare(  # noqa: PLR0913  one per option
    first: str = options.argument("A file of verdicts.", metavar="FIRST"),
    second: str = options.argument(
        "Another one on the same cases, or the same file and --judge twice.", metavar="SECOND"
    ),
    *,
    judge: list[str] | None = options.option(
        "Only this judge; given twice: the judge in the first file and the one in the second.", metavar="NAME"
    ),
    labels: str | None = options.OPTIONAL_LABELS,
    label_options: options.LabelOptions,
    encoding: str = options.LABELS_ENCODING,
    threshold: str | None = options.THRESHOLD,
    count_unscored: Unscored | None = options.COUNT_UNSCORED,
    seed: int = options.SEED,
) -> None:
    """Compare two judges, prompts or models, case by case.

    Exit status: 0; 1 if a line could not be read; 2 if there is nothing to compare.
    """
    with report_errors():
        from groundjudge.lab import comparison  # noqa: PLC0415
        from groundjudge.lab.agreement import threshold_of  # noqa: PLC0415

        options.refuse_without(labels, "--labels", label_options)
        people = measured.load_labels(labels, label_options, encoding) if labels else None
        files = measured.load_verdicts(first), measured.load_verdicts(second)
        pairs: list[Sides] = [
            (files[0].by_judge(one), files[1].by_judge(other))
            for one, other in _judge_pairs(files[0].judges, files[1].judges, judge or [])
        ]
        thresholds, warnings = measured.thresholds_for(threshold, *(side for pair in pairs for side in pair))
        warnings += measured.without_group(label_options.group, people)
        found = [
            comparison.compare(
                one,
                other,
                people,
                thresholds=(threshold_of(thresholds, one[0].judge), threshold_of(thresholds, other[0].judge)),
                label_threshold=label_options.label_threshold,
                count_unscored=count_unscored,
                seed=seed,
            )
            for one, other in pairs
        ]
        is_apart = not any(one.n for one in found)
        refuse((is_apart, f"no case has a score in both {first} and {second}: cases are matched by id"))
    screen = Screen()
    for one, sides in zip(found, pairs, strict=True):
        _show_comparison(screen, one, sides)
    screen.text(_interval_note(label_options.group), CLEAR)
    notices = (note for one in found for note in _notices(f"{one.first} and {one.second}", one))
    measured.exit_after(screen, [*notices, *warnings], *files)


def _notices(judge: str, one: Agreement | Calibration | Comparison) -> list[str]:
    return [f"{judge}: {notice}" for notice in one.notices]


def _unchanged(found: Iterable[Calibration]) -> list[str]:
    """A note for each judge with rows that no threshold changes."""
    return [
        f"{one.judge}: {one.n_unscored} labelled rows have no score, which no threshold changes: see "
        "`groundjudge agree --threshold`"
        for one in found
        if one.n_unscored
    ]


def _in_sections(rows: Mapping[str, Sequence[str]]) -> Iterator[Sequence[str]]:
    """Rows of a table under the headings of their sections.

    Args:
        rows: the cells of each figure, and of the headings that have any.
    """
    blank = [""] * max(map(len, rows.values()), default=0)
    for heading, names in SECTIONS.items():
        known = [name for name in names if name in rows]
        if known:
            yield [heading, *rows.get(heading, blank)]
            yield from ([f"  {names[name]}", *rows[name]] for name in known)


def _show_agreements(screen: Screen, found: Sequence[Agreement]) -> None:
    """Print figures in rows and judges in columns."""
    columns = [_counts(one) for one in found]
    empty = {name for name in HIDDEN_IF_ZERO if all(each[name] == "0" for each in columns)}
    counts = [[name, *(each[name] for each in columns)] for name in columns[0] if name not in empty]
    is_graded = any(one.figures["spearman"].value is not None for one in found)
    names = [name for name in found[0].figures if is_graded or name not in CORRELATIONS]
    figures = {name: [_figure(one, name) for one in found] for name in names}
    pairs = {
        "not grounded": [_pair(one, "true_negatives", "false_positives") for one in found],
        "grounded": [_pair(one, "true_positives", "false_negatives") for one in found],
    }
    screen.table(["", *(one.judge for one in found)], [*counts, *_in_sections({**figures, **pairs})])


def _counts(one: Agreement) -> dict[str, str]:
    """A judge's cells above its figures, by the names of the rows."""
    return {
        "n": str(one.n),
        "groups": str(one.n_groups) if one.n_groups < one.n else "0",
        **{name: str(one.counts[count]) for name, count in COUNTS.items()},
        "labelled, no score": f"{one.n_unscored}{_counted(one)}" if one.n_unscored else "0",
        "threshold": "as run" if one.threshold is None else f"{one.threshold:g}",
        "base rate": as_text(one.base_rate),
        "constant guess, accuracy": as_text(one.guess.get("accuracy")),
    }


def _counted(one: Agreement) -> str:
    return f" (counted {one.count_unscored})" if one.count_unscored else ""


def _figure(one: Agreement, name: str) -> str:
    """A figure with its interval, and its bounds if there are rows without a score."""
    return " ".join([with_interval(one.figures[name]), *_bounds(one.bounds.get(name))])


def _bounds(bounds: Bounds | None) -> list[str]:
    return [f"{as_text(bounds[0])}..{as_text(bounds[1])}"] if bounds else []


def _pair(one: Agreement, right: str, wrong: str) -> str:
    table = one.confusion
    return "" if table is None else f"{getattr(table, right)} right, {getattr(table, wrong)} wrong"


def _undefined(one: Agreement) -> list[str]:
    """Why figures of a judge are undefined: one note for all with the same reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in one.undefined.items():
        if name not in CORRELATIONS or one.confusion is None:
            by_reason.setdefault(reason, []).append(_named(name))
    return [f"{one.judge}: {', '.join(names)} undefined: {reason}" for reason, names in by_reason.items()]


def _show_worst(screen: Screen, one: Agreement) -> None:
    heading = f"\n{one.judge}, largest disagreements" if one.worst else ""
    screen.text(*(line for row in one.worst for line in _disagreement(row)), heading=heading)


def _disagreement(row: Disagreement) -> list[str]:
    passed, label = "passed" if row.passed else "not passed", row.word or f"{row.label:.3g}"
    reason = shorten(row.reason or "", MAX_REASON, placeholder=" ...")
    line = f"  {row.case_id}: score {row.score:.3g}, {passed}; label {label}"
    return [line, f"    {reason}"] if reason else [line]


def _show_labels(screen: Screen, judge: str, one: LabelAgreement) -> None:
    """Print the confusion matrix over the labels, and what it says."""
    screen.text(heading=f"\n{judge}, label by label (rows: people, columns: the judge)")
    scores = ["not applicable" if score is None else f"{score:g}" for score in one.scores]
    table = zip(one.labels, scores, one.counts, strict=True)
    rows = ([f"{label} ({score})", *map(str, counts)] for label, score, counts in table)
    screen.table(["", *one.columns], rows)
    always = f"always {one.majority!r}: {one.majority_share:.3f}"
    screen.text(
        f"same label: {with_interval(one.same)} of {one.n} rows; {always}",
        f"weighted kappa: {with_interval(one.weighted_kappa)} on {one.n_scored} rows whose labels both have "
        "a score; a disagreement weighs the squared difference of the two scores",
    )


def _show_votes(screen: Screen, judge: str, one: VoteAgreement) -> None:
    """Print how accurate the votes are, together and member by member."""
    screen.text(heading=f"\n{judge}, votes")
    parts = {"panel": one.whole, "unanimous votes": one.unanimous, "split votes": one.split}
    rows = [[name, str(part.n), with_interval(part.accuracy), ""] for name, part in parts.items()]
    for member in one.members:
        name = f"{member.name} *" if member.is_selected else member.name
        difference = with_interval(member.difference, signed=True)
        rows.append([name, str(member.n), with_interval(member.accuracy), difference])
    screen.table(["", "n", "accuracy", "minus panel, same rows"], rows)
    has_selected = any(member.is_selected for member in one.members)
    screen.text(*([SELECTED] if has_selected else []), _finding(one))


def _finding(one: VoteAgreement) -> str:
    """Whether the panel is worse than its best member, as far as the rows can tell."""
    best, n = one.best.name, one.best.n
    if len(one.members) > 1:
        of_some = " of those always asked" if any(member.is_selected for member in one.members) else ""
        best = f"its best member{of_some}, {best}"
    if one.finding == "no_difference":
        return f"No difference in accuracy was found on {n} rows between the panel and {best}."
    gap = f"{abs(one.best.difference.value or 0.0):.3f} {'lower' if one.finding == 'worse' else 'higher'}"
    rows = f"on the same {n} rows its accuracy is {gap} (exact McNemar test: p = {one.best.p:.2g})"
    return f"The panel is {one.finding} than {best}: {rows}."


def _calibrations(
    fit: Callable[[JudgedRows], Calibration], joined: Iterable[JudgedRows]
) -> tuple[list[Calibration], list[str]]:
    """The calibrations of the judges with enough labels, and why the others have none.

    Raises:
        LabelError: as for `calibration.calibrate`, if no judge has enough.
    """
    found: list[Calibration] = []
    errors: list[LabelError] = []
    for one in joined:
        try:
            found.append(fit(one))
        except LabelError as error:
            errors.append(error)
    if errors and not found:
        raise errors[0]
    return found, [error.message for error in errors]


def _without_choice(joined: Iterable[JudgedRows]) -> list[str]:
    """A note for each judge whose scores leave a threshold nothing to choose."""
    return [
        f"{one.judge}: its scores take only two values, so all thresholds between them give the same verdicts"
        for one in joined
        if len({deciding_score(row.verdict) for row in one.labelled_rows}) == 2  # noqa: PLR2004  such as yes and no
    ]


def _show_calibration(screen: Screen, one: Calibration) -> None:
    """Print the threshold, how well it does where it was fitted and elsewhere, and the code that sets it."""
    name, rows, elsewhere = _short(one.by), "one half of the rows", "the other half"
    held_out = "On rows it was not fitted on"
    if one.folds:
        rows, elsewhere = f"all rows, tested in {one.folds} folds", "held-out folds"
        held_out = "In the folds, each with its own threshold"
    best = f"best {name}" if one.at_least is None else f"the lowest with a {name} of {one.at_least:g}"
    screen.text(
        *_resampled_thresholds(one),
        f"fitted on {one.n_fitted} rows, tested on {elsewhere}, {one.n_tested} rows",
        heading=f"{one.judge}: threshold {one.threshold:g}, {best} on {rows}",
    )
    tested = "tested in folds" if one.folds else "tested"
    screen.table(["", "fitted", tested, "as run", "tested - as run"], _in_sections(_calibration_rows(one)))
    guess = f"indistinguishable from a constant guess ({one.guess[one.by]:.3f})"
    if one.bound is not None:
        share = f"{held_out}, {one.n_passed} of {one.n_tested} pass"
        screen.text(f"{share}, with 95 % confidence {name} is {one.bound:.3f} or more")
    use = f'load("{one.judge}", model=..., threshold={one.threshold:g})\n'
    is_noise = not one.beats_guessing and not one.is_reversed
    doubts = [f"{held_out}, {name} is {with_interval(one.tested[one.by])}: {guess}."] if is_noise else []
    screen.text(*doubts, use)


def _resampled_thresholds(one: Calibration) -> list[str]:
    """How far the threshold depends on the rows."""
    low, high = one.interval.low, one.interval.high
    interval = [] if low is None or high is None else [f"95 % interval of the threshold: {low:g} to {high:g}"]
    folds = ", ".join(f"{each:g}" for each in one.thresholds)
    return [*interval, *([f"thresholds of the folds, which were tested: {folds}"] if one.folds else [])]


def _calibration_rows(one: Calibration) -> dict[str, list[str]]:
    """The cells of the figures that a threshold changes."""
    return {
        name: [
            as_text(one.fitted[name].value),
            with_interval(tested),
            as_text(one.as_run[name].value),
            with_interval(one.gain[name], signed=True),
        ]
        for name, tested in one.tested.items()
        if tested.value is not None and name not in {"roc_auc", *CORRELATIONS}
    }


def _judge_pairs(
    first: frozenset[str], second: frozenset[str], chosen: Sequence[str]
) -> list[tuple[str, str]]:
    """Which judge of the first file is compared with which of the second: by default those of one name."""
    is_clear = chosen or len(first) == len(second) == 1
    refuse(
        (len(chosen) > 2, "--judge can be given at most twice: once for each file"),  # noqa: PLR2004
        (
            not is_clear and first.isdisjoint(second),
            "the files have no judge in common: give --judge twice, once for each file",
        ),
    )
    if is_clear:
        return [(chosen[0], chosen[-1]) if chosen else (min(first), min(second))]
    return [(name, name) for name in sorted(first & second)]


def _show_comparison(screen: Screen, one: Comparison, sides: Sides) -> None:
    signatures = [", ".join(measured.signatures_of(verdicts)) for verdicts in sides]
    screen.text(
        *(f"  {name}: {each}" for name, each in zip(("first", "second"), signatures, strict=True)),
        f"  {_compared_counts(one)}",
        heading=f"{one.first} (first) and {one.second} (second)",
    )
    if one.n:
        rows = {
            name: [*map(as_text, one.values[name]), *_difference(one, name)]
            for name in one.differences
            if one.values[name] != (None, None)
        }
        columns = ["", "first", "second", "second - first", *(["worst..best"] if one.bounds else []), ""]
        screen.table(columns, _in_sections(rows))
        screen.text(*_outcomes(one))


def _compared_counts(one: Comparison) -> str:
    """How many cases are compared, and how many are not."""
    apart = {
        "scored only by the first": one.n_first_only,
        "scored only by the second": one.n_second_only,
        "scored by neither": one.n_neither,
        "with one id but different contents": one.n_changed,
    }
    groups = f" in {one.n_groups} groups" if one.n_groups < one.n else ""
    labelled = f", {one.n_labelled} of them labelled" if one.n_labelled else ""
    counted = "".join(f", {count} {name}" for name, count in apart.items() if count)
    both = "judged" if one.count_unscored else "scored"
    unscored = ""
    if one.count_unscored and one.n_unscored:
        count = f"which count {COUNTED_AS[one.count_unscored]}"
        unscored = f", {one.n_unscored} of them without a score from one or both, {count}"
    return f"{one.n} cases{groups} {both} by both{unscored}{labelled}{counted}"


def _outcomes(one: Comparison) -> list[str]:
    """On how many cases the outcomes of two judges differ."""
    same = f"passed with both or with neither: {as_text(one.same_outcome)}"
    test = "" if one.p is None else f" (exact McNemar test: p = {one.p:.2g})"
    right = (
        f"right only with the first: {one.n_first_right}, only with the second: {one.n_second_right}{test}"
    )
    bounds = "worst..best: the difference if the cases without a score are the worst and best for the second"
    return [same, *([right] if one.n_labelled else []), *([bounds] if one.bounds else []), ""]


def _short(figure: str) -> str:
    """What a figure is called inside its section."""
    return next(names[figure] for names in SECTIONS.values() if figure in names)


def _named(figure: str) -> str:
    """What a figure is called outside its section."""
    section = next(heading for heading, names in SECTIONS.items() if figure in names)
    return f"{_short(figure)} of {section}" if section.endswith("grounded") else _short(figure)


def _difference(one: Comparison, name: str) -> list[str]:
    """A difference with its bounds, and "clear" if it is."""
    is_clear = name in one.clear
    bounds = (_bounds(one.bounds.get(name)) or [""]) if one.bounds else []
    return [with_interval(one.differences[name], signed=True), *bounds, "clear" if is_clear else ""]


def _interval_note(group: str | None) -> str:
    """What the intervals are, and over what they are resampled."""
    rows = "rows. If some rows belong together, name the key they share with --group."
    over = f"groups with the same {group}." if group else rows
    return f"In brackets: 95 % intervals, for independent {over}"
