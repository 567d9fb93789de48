"""The commands that look at verdicts: agree and calibrate with people, compare, make a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from groundjudge.analysis.labels import Joined, LabelError, Labels, join, label_of, read_labels
from groundjudge.case import Case
from groundjudge.cli.terminal import console_of, errors_told, fail, tell
from groundjudge.errors import CaseError
from groundjudge.runs.rows import read_rows
from groundjudge.runs.run import case_of
from groundjudge.runs.verdict_file import last_of_each, read_verdicts
from groundjudge.verdict import Verdict

if TYPE_CHECKING:  # the statistics libraries are loaded when a command needs them
    from rich.console import Console
    from rich.table import Table

    from groundjudge.analysis.agreement import Agreement
    from groundjudge.analysis.calibration import Calibration, Criterion
    from groundjudge.analysis.comparison import Comparison
    from groundjudge.analysis.figures import Figure

MEGABYTE = 1_000_000

SOME_UNREADABLE = 1
"""Exit status: there is a result, but lines of the input are missing from it."""

NAMED: Mapping[str, str] = {
    "mean_score": "mean score",
    "pass_rate": "pass rate",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "kappa": "Cohen's kappa",
    "roc_auc": "ROC AUC",
    "spearman": "Spearman",
}

APART = (
    ("error", "n_error"),
    ("not applicable", "n_not_applicable"),
    ("without a label", "n_unlabelled"),
    ("missing input", "n_missing"),
    ("labelled, not judged", "n_unjudged"),
    ("judged again (last counts)", "n_repeated"),
)
"""What is counted apart from n."""

SHOWN_IF_ANY = frozenset({"groups", *(name for name, _ in APART[2:])})

USUAL_WIDTH = 80
"""Columns of a terminal in which tables must have room."""

REASON = 300
"""Characters of a reason that are shown."""

CRITERIA: Mapping[str, Criterion] = {
    "balanced-accuracy": "balanced_accuracy",
    "accuracy": "accuracy",
    "f1": "f1",
    "kappa": "kappa",
}

VerdictsFile = Annotated[
    str,
    typer.Argument(metavar="VERDICTS", help='A file that `groundjudge run` has written; "-" is stdin.'),
]
LABELS = typer.Option(
    "--labels", metavar="FILE", help="A file with id and label in every row, or that of the cases."
)
LabelsFile = Annotated[str, LABELS]
LabelsFileIfAny = Annotated[str | None, LABELS]
LabelKey = Annotated[
    str,
    typer.Option(
        "--label",
        metavar="KEY",
        help="Under which name a label stands: 1 or true, 0 or false, a grade, or a value for each judge.",
    ),
]
GroupKey = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="KEY",
        help="Under which name rows share a value that are not independent, such as one claim's passages.",
    ),
]
LabelThreshold = Annotated[
    float | None,
    typer.Option(metavar="GRADE", help="From which grade on people mean grounded."),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        metavar="SCORE|FILE",
        help="From which score on a response passes, or a file that `calibrate` has written; "
        "without it what passed in the run.",
    ),
]
JudgeNames = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Which judges; repeatable. Without it all.")
]
Seed = Annotated[int, typer.Option(metavar="N", help="Of splits and of the intervals' resamples.")]


def agree(  # noqa: PLR0913  one per option
    verdicts: VerdictsFile,
    *,
    labels: LabelsFile,
    label: LabelKey = "label",
    group: GroupKey = None,
    label_threshold: LabelThreshold = None,
    judge: JudgeNames = None,
    threshold: Threshold = None,
    worst: Annotated[
        int, typer.Option(metavar="N", min=0, help="How many disagreements are shown for each judge.")
    ] = 3,
    seed: Seed = 0,
) -> None:
    """Measure how far judges agree with people, and show where they do not.

    Exit status: 0; 1 when a line could not be read; 2 when nothing could be measured.
    """
    with errors_told():
        from groundjudge.analysis.agreement import measure_agreement  # noqa: PLC0415

        told = read_labels(labels, label, group)
        read = _read(verdicts)
        joined = _chosen(_some_rated(join(read.verdicts, told), read, told, labels), judge)
        thresholds, warnings = _thresholds(threshold, read.verdicts)
        found = [
            measure_agreement(
                one, threshold=thresholds, label_threshold=label_threshold, worst=worst, seed=seed
            )
            for one in joined
        ]
    console = console_of()
    _show_agreements(console, found)
    tell(console, _how_sure(group))
    _show_notes(console, [*_undefined(found), *_mixed(read.verdicts), *warnings])
    for one in found:
        _show_worst(console, one)
    _exit(console, read)


def calibrate(  # noqa: PLR0913  one per option
    verdicts: VerdictsFile,
    *,
    labels: LabelsFile,
    label: LabelKey = "label",
    group: GroupKey = None,
    label_threshold: LabelThreshold = None,
    judge: JudgeNames = None,
    by: Annotated[
        str, typer.Option(metavar="FIGURE", help=f"What to make best: {', '.join(CRITERIA)}.")
    ] = "balanced-accuracy",
    folds: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Cross-validate; without it one half fits, the other tests."),
    ] = None,
    out: Annotated[str | None, typer.Option(metavar="PATH", help="Where to write the thresholds.")] = None,
    seed: Seed = 0,
) -> None:
    """Fit thresholds to people's labels, and test them on rows that they were not fitted on.

    Exit status: 0; 1 when a line could not be read; 2 when no threshold could be fitted.
    """
    with errors_told():
        from groundjudge.analysis import calibration  # noqa: PLC0415

        if by not in CRITERIA:
            fail(f"--by can be {', '.join(CRITERIA)}, not {by}")
        told = read_labels(labels, label, group)
        read = _read(verdicts)
        joined = _some_rated(join(read.verdicts, told), read, told, labels)
        found, notes = _calibrated(
            partial(
                calibration.calibrate,
                by=CRITERIA[by],
                folds=folds,
                label_threshold=label_threshold,
                seed=seed,
            ),
            [one for one in _chosen(joined, judge) if one.labelled or judge],
        )
        if out:
            calibration.save_calibrations(out, found)
    console = console_of()
    for one in found:
        _show_calibration(console, one)
    _show_notes(console, [*notes, *_mixed(read.verdicts)])
    if out:
        tell(console, f"written to {out}: agree, compare and report take it as --threshold {out}")
    _exit(console, read)


def compare(  # noqa: PLR0913  one per option
    first: Annotated[str, typer.Argument(metavar="FIRST", help="A file of verdicts.")],
    second: Annotated[
        str, typer.Argument(metavar="SECOND", help="Another, on the same cases; or the same, with --judge.")
    ],
    *,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Which judge; given twice: which of the first file and which of the second.",
        ),
    ] = None,
    labels: LabelsFileIfAny = None,
    label: LabelKey = "label",
    group: GroupKey = None,
    label_threshold: LabelThreshold = None,
    threshold: Threshold = None,
    seed: Seed = 0,
) -> None:
    """Compare two judges, prompts or models on the same cases, row by row.

    Exit status: 0; 1 when a line could not be read; 2 when there is nothing to compare.
    """
    with errors_told():
        told = read_labels(labels, label, group) if labels else None
        reads = _read(first), _read(second)
        pairs = [_sides(reads, names) for names in _pairs(reads, judge or [])]
        found = [_compared(pair, told, threshold, label_threshold, seed) for pair in pairs]
        if not any(one.n for one, _ in found):
            fail(f"no case has a score in both {first} and {second}: cases are matched by their ids")
    console = console_of()
    for (one, _), (before, after) in zip(found, pairs, strict=True):
        _show_comparison(console, one, before, after)
    _show_notes(console, dict.fromkeys(warning for _, warnings in found for warning in warnings))
    tell(console, _how_sure(group))
    _exit(console, *reads)


def report(  # noqa: PLR0913  one per option
    verdicts: VerdictsFile,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PATH", help="Where the page goes.")] = Path(
        "report.html"
    ),
    cases: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The cases, to be read beside their verdicts."),
    ] = None,
    labels: LabelsFileIfAny = None,
    label: LabelKey = "label",
    group: GroupKey = None,
    label_threshold: LabelThreshold = None,
    threshold: Threshold = None,
) -> None:
    """Make a page of what was judged and why: one file that opens in any browser, offline.

    Labels that the file of the cases holds are used without --labels.

    Exit status: 0; 1 when a line could not be read; 2 when there is nothing to show.
    """
    with errors_told():
        from groundjudge.report.page import report as page  # noqa: PLC0415

        read = _read(verdicts)
        told, left_out = _labels_if_any(labels, cases, label, group)
        shown, unreadable = _cases(cases) if cases else ([], [])
        agreements, warnings = _agreements(read, told, threshold, label_threshold, asked=labels is not None)
        made = page(
            read.verdicts, title=Path(verdicts).name, cases=shown, labels=told, agreements=agreements
        ).encode()
        out.write_bytes(made)
    console = console_of()
    size = f"{len(made) / 1e6:.1f} MB" if len(made) >= MEGABYTE else f"{len(made) / 1e3:.0f} kB"
    tell(console, f"{out}: {len(read.verdicts)} verdicts, {len(shown)} cases, {size}")
    _show_notes(console, [*left_out, *warnings, *unreadable])
    _exit(console, read)


@dataclass(frozen=True)
class Read:
    """What a file of verdicts held."""

    path: str
    verdicts: tuple[Verdict, ...]
    unreadable: tuple[str, ...]


def _read(path: str) -> Read:
    rows = list(read_verdicts(path))
    verdicts = tuple(row for row in rows if isinstance(row, Verdict))
    unreadable = tuple(row.message for row in rows if isinstance(row, CaseError))
    if not verdicts:
        first = f"; the first line: {unreadable[0]}" if unreadable else ""
        fail(f"{path} holds no verdicts, as `groundjudge run` writes them{first}")
    return Read(path, verdicts, unreadable)


def _some_rated(joined: list[Joined], read: Read, labels: Labels, path: str) -> list[Joined]:
    """The judges that have at least one row with a score and a label; they must not be none."""
    if not any(one.labelled for one in joined):
        judged = next((v.case_id for v in read.verdicts if v.case_id), None)
        labelled = next(iter(labels.by_case), None)
        fail(
            f"no case has both a score in {read.path} and a label in {path}: cases are matched by their ids, "
            f"such as {judged!r} there and {labelled!r} here"
        )
    return joined


def _thresholds(
    told: str | None, verdicts: Sequence[Verdict]
) -> tuple[float | dict[str, float] | None, list[str]]:
    """What --threshold says, and what is to be said against using it on these verdicts."""
    if told is None:
        return None, []
    try:
        number = float(told)
    except ValueError:
        return _from_file(told, verdicts)
    if not 0 <= number <= 1:
        message = f"--threshold lies on the score, 0..1, not {told}"
        raise LabelError("bad_option", message)
    return number, []


def _from_file(path: str, verdicts: Sequence[Verdict]) -> tuple[dict[str, float], list[str]]:
    from groundjudge.analysis.calibration import drift, read_calibrations  # noqa: PLC0415

    calibrations = read_calibrations(path)
    missing = sorted({v.judge for v in verdicts if v.judge} - calibrations.keys())
    return (
        {judge: one.threshold for judge, one in calibrations.items()},
        [
            *(
                f"{judge}: {path} has no threshold for it, so what passed in the run counts"
                for judge in missing
            ),
            *(warning for one in calibrations.values() for warning in drift(one, verdicts)),
        ],
    )


def _chosen(joined: Sequence[Joined], wanted: Sequence[str] | None) -> list[Joined]:
    known = {one.judge for one in joined}
    for name in wanted or ():
        if name not in known:
            fail(f"no verdict is by the judge {name!r}; there are {', '.join(sorted(known))}")
    return [one for one in joined if not wanted or one.judge in wanted]


def _calibrated(
    calibrating: Callable[[Joined], Calibration], chosen: Sequence[Joined]
) -> tuple[list[Calibration], list[str]]:
    """The calibrations of the judges that have labels enough, and why others have none.

    Raises:
        LabelError: as for `calibration.calibrate`, when no judge has one.
    """
    found: list[Calibration] = []
    refused: list[LabelError] = []
    for one in chosen:
        try:
            found.append(calibrating(one))
        except LabelError as error:
            refused.append(error)
    if refused and not found:
        raise refused[0]
    return found, [error.message for error in refused]


def _pairs(reads: Sequence[Read], wanted: Sequence[str]) -> list[tuple[str, str]]:
    """Which judge of the first file is compared with which of the second."""
    here, there = ({v.judge for v in read.verdicts if v.judge} for read in reads)
    if len(wanted) > 2:  # noqa: PLR2004  one for each file
        fail("--judge can be given once, or twice: for the first file and for the second")
    if wanted:
        pairs = [(wanted[0], wanted[-1])]
    elif len(here) == len(there) == 1:
        pairs = [(next(iter(here)), next(iter(there)))]
    else:
        pairs = [(name, name) for name in sorted(here & there)]
    for read, known, side in zip(reads, (here, there), zip(*pairs, strict=True), strict=False):
        for name in side:
            if name not in known:
                fail(f"{read.path} has no verdict by {name!r}; there are {', '.join(sorted(known))}")
    if not pairs:
        fail("the files have no judge in common: say --judge for the first file and --judge for the second")
    return pairs


def _sides(reads: Sequence[Read], names: Sequence[str]) -> tuple[Sequence[Verdict], Sequence[Verdict]]:
    """The verdicts of one judge in the first file and of one in the second."""
    before, after = (
        [verdict for verdict in read.verdicts if verdict.judge == name]
        for read, name in zip(reads, names, strict=True)
    )
    return before, after


def _compared(
    pair: tuple[Sequence[Verdict], Sequence[Verdict]],
    labels: Labels | None,
    threshold: str | None,
    label_threshold: float | None,
    seed: int,
) -> tuple[Comparison, list[str]]:
    """Two sides compared, and what is to be said against the thresholds used."""
    from groundjudge.analysis.agreement import threshold_of  # noqa: PLC0415
    from groundjudge.analysis.comparison import compare as compared  # noqa: PLC0415

    (one, warned), (other, warned_too) = (_thresholds(threshold, side) for side in pair)
    found = compared(
        *pair,
        labels,
        thresholds=(threshold_of(one, pair[0][0].judge), threshold_of(other, pair[1][0].judge)),
        label_threshold=label_threshold,
        seed=seed,
    )
    return found, [*warned, *warned_too]


def _labels_if_any(
    labels: str | None, cases: str | None, key: str, group: str | None
) -> tuple[Labels | None, list[str]]:
    """The labels of a file that was named for them, or those that the file of the cases may hold."""
    if labels or not cases:
        return (read_labels(labels, key, group) if labels else None), []
    try:
        found = read_labels(cases, key, group)
        for case_id, said in found.by_case.items():
            label_of(said, "", case_id)  # what is no label is none of the report's business
    except LabelError as error:
        return None, [] if error.code == "no_labels" else [f"labels are left out: {error.message}"]
    return found, []


def _agreements(
    read: Read, labels: Labels | None, threshold: str | None, label_threshold: float | None, *, asked: bool
) -> tuple[list[Agreement], list[str]]:
    """The agreement of each judge, and what is to be said about it.

    Labels that came with the cases are shown even where the statistics libraries are missing.
    """
    if labels is None:
        return [], []
    try:
        from groundjudge.analysis.agreement import measure_agreement  # noqa: PLC0415
    except ImportError as error:
        if asked:
            raise
        return [], [f"labels are shown without figures: {error}"]
    thresholds, warnings = _thresholds(threshold, read.verdicts)
    joined = join(read.verdicts, labels)
    return [
        measure_agreement(one, threshold=thresholds, label_threshold=label_threshold, worst=len(one.labelled))
        for one in joined
    ], warnings


def _cases(path: str) -> tuple[list[Case], list[str]]:
    """The cases of a file, and why some of its rows are none."""
    cases: list[Case] = []
    unreadable: list[str] = []
    for number, row in enumerate(read_rows(path), 1):
        try:
            if isinstance(row, CaseError):
                raise row
            cases.append(case_of(row, number))
        except CaseError as error:
            unreadable.append(f"{path}: row {number} cannot be shown: {error.message}")
    return cases, unreadable


def _show_agreements(console: Console, found: Sequence[Agreement]) -> None:
    """Figures in rows and judges in columns; as many judges side by side as there is room for."""
    rows: list[tuple[str, Callable[[Agreement], str]]] = [
        ("n", lambda one: str(one.n)),
        ("groups", lambda one: str(one.n_groups) if one.n_groups < one.n else "0"),
        *((name, partial(_counted, attribute)) for name, attribute in APART),
        ("threshold", lambda one: "as run" if one.threshold is None else f"{one.threshold:g}"),
        ("base rate", lambda one: _number(one.base_rate)),
        ("constant guess, accuracy", lambda one: _number(one.guess.get("accuracy"))),
        *((NAMED[name], partial(_figure_of, name)) for name in _shown(found)),
        ("grounded: passed, not", lambda one: _cells(one, "true_positives", "false_negatives")),
        ("not grounded: passed, not", lambda one: _cells(one, "false_positives", "true_negatives")),
    ]
    told = [[name, *(cell(one) for one in found)] for name, cell in rows]
    side_by_side = max(1, (console.width - 26) // 27)
    for start in range(0, len(found), side_by_side):
        chosen = found[start : start + side_by_side]
        table = _table(console, *(one.judge for one in chosen))
        for name, *cells in told:
            if name not in SHOWN_IF_ANY or any(cell != "0" for cell in cells):
                table.add_row(name, *cells[start : start + side_by_side])
        console.print(table)
    tell(console, "Positive: people called it grounded. Constant guess: the same answer for every row.")


def _counted(attribute: str, one: Agreement) -> str:
    return str(getattr(one, attribute))


def _figure_of(name: str, one: Agreement) -> str:
    return _with_interval(one.figures[name])


def _shown(found: Sequence[Agreement]) -> list[str]:
    """The figures to show: Spearman only where labels are graded."""
    some = found[0].figures
    return [
        name
        for name in some
        if name != "spearman" or any(one.figures[name].value is not None for one in found)
    ]


def _cells(one: Agreement, *names: str) -> str:
    table = one.confusion
    return "-" if table is None else ", ".join(str(getattr(table, name)) for name in names)


def _show_calibration(console: Console, one: Calibration) -> None:
    """The threshold, what it is worth where it was fitted and elsewhere, and the line to use it by."""
    how = "one half of the rows" if one.folds is None else f"all rows, tested in {one.folds} folds"
    named = NAMED[one.by]
    tell(console, f"{one.judge}: threshold {one.threshold:g}, best {named} on {how}", style="bold")
    if one.folds:
        tell(console, f"thresholds of the folds: {', '.join(f'{each:g}' for each in one.thresholds)}")
    elsewhere = "the other half" if one.folds is None else "held-out folds"
    tell(console, f"fitted on {one.n_fitted} rows, tested on {elsewhere}, {one.n_tested} rows")
    table = _table(console, "fitted", "tested", "as run", "tested - as run")
    for name, tested in one.tested.items():
        if tested.value is not None and name not in {"roc_auc", "spearman"}:
            table.add_row(
                NAMED[name],
                _number(one.fitted[name].value),
                _with_interval(tested),
                _number(one.as_run[name].value),
                _with_interval(one.gain[name], signed=True),
            )
    console.print(table)
    guess, tested = one.guess[one.by], one.tested[one.by]
    if not one.beats_guessing:
        tell(
            console,
            f"On rows that it was not fitted on, {named} is {_with_interval(tested)}: not to be told from a "
            f"constant guess ({guess:.3f}).",
        )
    tell(console, f'load("{one.judge}", model=..., threshold={one.threshold:g})\n')


def _show_comparison(
    console: Console, one: Comparison, before: Sequence[Verdict], after: Sequence[Verdict]
) -> None:
    tell(console, f"{one.first} (first) and {one.second} (second)", style="bold")
    for side, verdicts in (("first", before), ("second", after)):
        tell(console, f"{side}: {_provenance(verdicts)}", margin=2)
    apart = {
        "scored by the first alone": one.n_first_only,
        "by the second alone": one.n_second_only,
        "by neither": one.n_neither,
        "that differ under one id": one.n_changed,
    }
    counted = "".join(f", {count} {name}" for name, count in apart.items() if count)
    labelled = f", {one.n_labelled} of them labelled" if one.n_labelled else ""
    groups = f" in {one.n_groups} groups" if one.n_groups < one.n else ""
    tell(console, f"{one.n} cases{groups} scored by both{labelled}{counted}", margin=2)
    if not one.n:
        return
    table = _table(console, "first", "second", "second - first", "")
    for name, difference in one.differences.items():
        first, second = one.values[name]
        if difference.value is not None:
            clear = difference.low is not None and not difference.low <= 0 <= (difference.high or 0.0)
            cells = _number(first), _number(second), _with_interval(difference, signed=True)
            table.add_row(NAMED[name], *cells, "clear" if clear else "")
    console.print(table)
    tell(console, f"passed with both or with neither: {_number(one.same_outcome)}\n")


def _show_worst(console: Console, one: Agreement) -> None:
    if one.worst:
        tell(console, f"\n{one.judge}, where it differs most", style="bold")
    for row in one.worst:
        passed = "passed" if row.passed else "not passed"
        tell(console, f"{row.case_id}: score {row.score:.3g}, {passed}; label {row.label:.3g}", margin=2)
        if row.reason:
            tell(console, shorten(row.reason, REASON, placeholder=" ..."), margin=4)


def _show_notes(console: Console, notes: Iterable[str]) -> None:
    for note in notes:
        tell(console, f"note: {note}")


def _undefined(found: Iterable[Agreement]) -> list[str]:
    """Why figures are undefined, said once for all figures with one reason."""
    notes: list[str] = []
    for one in found:
        by_reason: dict[str, list[str]] = {}
        for name, reason in one.undefined.items():
            if name != "spearman" or one.confusion is None:
                by_reason.setdefault(reason, []).append(NAMED[name])
        notes.extend(
            f"{one.judge}: {', '.join(names)} undefined: {reason}" for reason, names in by_reason.items()
        )
    return notes


def _mixed(verdicts: Sequence[Verdict]) -> list[str]:
    """Judges whose verdicts come from more than one prompt, model or version: figures mix them up."""
    signatures: dict[str, set[str]] = {}
    for verdict in last_of_each(verdicts)[0]:
        if verdict.score is not None:
            signatures.setdefault(verdict.judge, set()).add(verdict.signature)
    return [
        f"{judge}: these figures mix verdicts of {len(found)} kinds: {', '.join(sorted(found))}"
        for judge, found in signatures.items()
        if len(found) > 1
    ]


def _provenance(verdicts: Sequence[Verdict]) -> str:
    return ", ".join(sorted({verdict.signature for verdict in verdicts if verdict.score is not None}))


def _how_sure(group: str | None) -> str:
    told = "In brackets: 95 % intervals, by bootstrap over "
    if group:
        return f"{told}groups of one {group}."
    return f"{told}rows; where some belong together, --group says by which key."


def _exit(console: Console, *reads: Read) -> NoReturn:
    """Tell of the lines that could not be read, and end."""
    for read in reads:
        if read.unreadable:
            tell(
                console,
                f"{read.path}: {len(read.unreadable)} unreadable lines, the first is {read.unreadable[0]}",
            )
    raise typer.Exit(SOME_UNREADABLE if any(read.unreadable for read in reads) else 0)


def _table(console: Console, *others: str) -> Table:
    """A table of figures: their names, and columns of numbers."""
    from rich.table import Table  # noqa: PLC0415

    gap = 2 if console.width > USUAL_WIDTH else 1
    table = Table("", box=None, padding=(0, gap, 0, 0), pad_edge=False)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _with_interval(figure: Figure, *, signed: bool = False) -> str:
    if figure.value is None:
        return "undefined"
    style = "+.3f" if signed else ".3f"
    told = f"{figure.value:{style}}"
    if figure.low is None or figure.high is None:
        return told
    return f"{told} [{figure.low:.3f}, {figure.high:.3f}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
