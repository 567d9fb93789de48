"""`groundjudge label` and `rate`: how many answers people would call grounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from groundjudge.case.case import Case
from groundjudge.cli import options
from groundjudge.cli.inputs import (
    VerdictFile,
    check_contents,
    exit_after,
    load_labels,
    load_verdicts,
    mixed_signatures,
    people_lines,
    without_id,
)
from groundjudge.cli.outputs import check_files, check_page, hold_file, write_page
from groundjudge.cli.screen import Screen, as_text, fail, report_errors, with_interval
from groundjudge.errors import CaseError
from groundjudge.lab.labels import Labels, value_in
from groundjudge.lab.sample import LabelSample, draw, read_sample, save_sample
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.rows import can_read_again, read_rows
from groundjudge.runs.run import case_of, id_of

if TYPE_CHECKING:  # the statistics libraries are loaded when a command runs
    from groundjudge.lab.rate import TrueRate

NumberedRow = tuple[Mapping[str, Any], int]
"""A row that could be read, and its number in the file."""

NumberOfRows = Annotated[
    int,
    typer.Option("--n", metavar="N", min=1, help="How many rows to label; with --group, how many groups."),
]
LabelPage = Annotated[
    str,
    typer.Option("--out", "-o", metavar="PATH", help="Write the page to this file."),
]
DrawnBy = Annotated[
    str | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        autocompletion=options.complete_judge,
        help="Whose verdicts decide what is drawn. Default: the only judge.",
    ),
]
DoubleLabels = Annotated[
    int,
    typer.Option("--double", metavar="N", min=0, help="How many of the rows a second person labels too."),
]
DrawnGroup = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="KEY",
        help="The key shared by rows that belong together, such as those of one conversation: draw these "
        "whole.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="OLD",
        help="Verdicts of the judge before, such as with another model: rows whose verdict flips are drawn "
        "more often.",
    ),
]
OwnLabels = Annotated[
    bool,
    typer.Option("--own-labels", help="Choose among the judge's own labels."),
]
OwnJudgeFile = Annotated[
    str | None,
    typer.Option("--judge-file", metavar="FILE", help="The prompt file of a judge of your own."),
]
QueueName = Annotated[
    str | None,
    typer.Option(
        "--queue",
        metavar="NAME",
        help="Make an annotation queue of this name in LangSmith, too: the ids of the rows are ids of runs "
        "there.",
    ),
]
DrawSeed = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Seed of the draw."),
]
OverwriteDraw = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace the files of an earlier draw."),
]


def label(
    cases: options.Cases,
    verdicts: options.Verdicts,
    *,
    n: NumberOfRows = 100,
    out: LabelPage = "label.html",
    judge: DrawnBy = None,
    double: DoubleLabels = 0,
    group: DrawnGroup = None,
    against: Against = None,
    own_labels: OwnLabels = False,
    judge_file: OwnJudgeFile = None,
    queue: QueueName = None,
    file_format: options.RowFormat = None,
    paths: options.RowFields = None,
    encoding: options.RowEncoding = options.UTF_8,
    limit: options.RowLimit = None,
    keep_words: options.KeepWords = False,
    seed: DrawSeed = 0,
    overwrite: OverwriteDraw = False,
) -> None:
    """Draw rows for people to label, and make the page on which they do.

    The page is one file for any browser, works offline, and shows nothing that the judge said. What was drawn
    is written beside it, as NAME.sample.json, and with --double the second person's page as NAME.2.html.

    Exit status: 0; 1 if a line could not be read; 2 if nothing could be drawn.
    """
    with report_errors(), ExitStack() as until_written:
        page, sample_file, second_page = _file_names(out)
        pages = [page]
        if double:
            pages.append(second_page)
        check_files(
            [("--out", path) for path in (*pages, sample_file)],
            [("the file of cases", cases), ("the file of verdicts", verdicts), ("--against", against)],
        )
        # The sample is data, which labels refer to; the pages can be made again of it.
        until_written.enter_context(hold_file("--out", sample_file, overwrite=overwrite))
        if not overwrite:
            for path in pages:
                check_page(path)
        row_options = options.RowOptions(file_format, paths, encoding, limit, keep_words)
        read_stored_rows = _stored_rows(cases, row_options)
        file = load_verdicts(verdicts)
        groups = _groups(read_stored_rows(), group) if group else {}
        earlier = load_verdicts(against).verdicts if against else None
        sample = draw(file.verdicts, n, judge=judge, double=double, seed=seed, groups=groups, against=earlier)
        rubric = _load_own_rubric(sample.judge, judge_file)
        drawn_cases = _drawn_cases(sample, read_stored_rows(), rubric, file)
        htmls = _make_pages(pages, second_page, sample, drawn_cases, rubric, own_labels=own_labels)
        if queue:
            from groundjudge.adapters.langsmith_queue import queue_sample  # noqa: PLC0415  an extra

            queue_sample(sample, queue, rubric)
        # The files come last: a draw that LangSmith refuses leaves none.
        for path, html in htmls.items():
            write_page(path, html)
        save_sample(sample_file, sample)
    screen = Screen()
    screen.table(["stratum", "rows", "drawn"], _strata_rows(sample))
    screen.text(f"{' and '.join(pages)}: open in a browser, label, and download the labels.")
    then = f"groundjudge rate {verdicts}"
    if against:
        then = f"groundjudge compare {against} {verdicts}"
    screen.text(f"Then: {then} --labels labels.jsonl --sample {sample_file}")
    exit_after(screen, mixed_signatures(file.verdicts), file)


LabelFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--labels", metavar="FILE", help="People's labels; repeatable, for those of several people."
    ),
]
FeedbackKey = Annotated[
    str | None,
    typer.Option(
        "--feedback",
        metavar="KEY",
        help="With --sample: the labels are the feedback of this key on the runs in LangSmith.",
    ),
]
RandomSample = Annotated[
    bool,
    typer.Option("--random", help="The labels are a simple random sample of the rows."),
]
RatedJudge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        autocompletion=options.complete_judge,
        help="With --random: the judge. Default: the only one.",
    ),
]


def rate(
    verdicts: options.Verdicts,
    *,
    labels: LabelFiles = None,
    feedback: FeedbackKey = None,
    random: RandomSample = False,
    label: options.LabelKey = options.LABEL,
    group: options.GroupKey = None,
    label_threshold: options.LabelThreshold = None,
    judge_file: options.JudgeFile = None,
    sample: options.SampleFile = None,
    encoding: options.LabelsEncoding = options.UTF_8,
    keep_words: options.KeepWords = False,
    judge: RatedJudge = None,
) -> None:
    """Estimate how many answers people would call grounded.

    A judge's own pass rate is not that number. Labels of a drawn sample correct it.

    Exit status: 0; 1 if a line could not be read; 2 if there is no estimate.
    """
    with report_errors():
        from groundjudge.lab.rate import rate as estimate_rate  # noqa: PLC0415

        _check_sources(labels, feedback, sample, judge, random=random)
        file = load_verdicts(verdicts)
        label_sample = read_sample(sample) if sample else None
        if feedback and label_sample:
            from groundjudge.adapters.langsmith_queue import queue_labels  # noqa: PLC0415  an extra

            people = queue_labels(label_sample, key=feedback)
        else:
            label_options = options.LabelOptions(
                label, group, label_threshold, judge_file, sample, keep_words
            )
            people = _read_labels(labels or [], label_options, encoding)
        true_rate = estimate_rate(
            file.verdicts, people, label_sample, judge=judge, label_threshold=label_threshold
        )
    screen = Screen()
    _show_rate(screen, true_rate)
    exit_after(screen, [*_rate_notes(true_rate), *without_id(people), *mixed_signatures(file.verdicts)], file)


def _file_names(out: str) -> tuple[str, str, str]:
    """Name the page, what was drawn, and the second person's page. Exit if --out is no page."""
    path = Path(out)
    if path.suffix.casefold() not in {".html", ".htm"}:
        fail(f"--out {out}: the page is HTML: choose a name that ends in .html")
    return out, str(path.with_suffix(".sample.json")), str(path.with_suffix(f".2{path.suffix}"))


def _stored_rows(path: str, row_options: options.RowOptions) -> Callable[[], Iterable[NumberedRow]]:
    """Make a function that reads the rows of a file that can be read; those of a pipe are kept for it."""

    def read() -> Iterator[NumberedRow]:
        for number, row in enumerate(row_options.read(path), 1):
            if not isinstance(row, CaseError):
                yield row, number

    if can_read_again(path):
        return read
    rows = list(read())
    return lambda: rows


def _groups(rows: Iterable[NumberedRow], key: str) -> dict[str, str]:
    """Find the group of each row that has one. Exit if no row has the key."""
    groups: dict[str, str] = {}
    for row, number in rows:
        group = value_in(row, key)
        if group is not None:
            groups[id_of(row, number)] = str(group)
    if not groups:
        fail(f"--group {key}: no row has this field")
    return groups


def _load_own_rubric(judge: str, file: str | None) -> Rubric:
    """Load the judge's rubric, from its prompt file if it is not a built-in one."""
    if file:
        return load_rubric(file)
    if judge not in names():
        fail(f"{judge} is not a built-in judge: name its prompt file with --judge-file")
    return load_rubric(judge)


def _drawn_cases(
    sample: LabelSample, rows: Iterable[NumberedRow], rubric: Rubric, file: VerdictFile
) -> list[Case]:
    """Make the cases that were drawn, as far as the file has them. Exit if one is not what was judged."""
    drawn_ids = frozenset(sample.ids)
    case_by_id: dict[str, Case] = {}
    for row, number in rows:
        case_id = id_of(row, number)
        if case_id in drawn_ids:
            case_by_id[case_id] = case_of(row, number)  # of two with one id the last counts
    cases = [case_by_id[case_id] for case_id in sample.ids if case_id in case_by_id]
    check_contents(cases, rubric, file.by_judge(sample.judge))
    return cases


def _make_pages(
    pages: list[str],
    second_page: str,
    sample: LabelSample,
    cases: list[Case],
    rubric: Rubric,
    *,
    own_labels: bool,
) -> dict[str, str]:
    """Make the HTML of each page, before any of them is written."""
    from groundjudge.report.labelling import labelling_page  # noqa: PLC0415

    htmls: dict[str, str] = {}
    for path in pages:
        htmls[path] = labelling_page(sample, cases, rubric, own_labels=own_labels, second=path == second_page)
    return htmls


def _strata_rows(sample: LabelSample) -> list[list[str]]:
    rows: list[list[str]] = []
    for stratum in sample.strata:
        n_drawn = sum(len(group) for group in stratum.drawn)
        rows.append([stratum.name, f"{stratum.rows:,}", f"{n_drawn:,}"])
    return rows


def _check_sources(
    labels: list[str] | None, feedback: str | None, sample: str | None, judge: str | None, *, random: bool
) -> None:
    """Exit if it is not clear where labels come from, or how the labelled rows were chosen."""
    if not sample and not random:
        fail(
            "how were the labelled rows chosen? add --sample FILE, which `groundjudge label` wrote, or "
            "--random if the rows were drawn at random"
        )
    if not labels and not (feedback and sample):
        fail("add --labels FILE, or --sample FILE and --feedback KEY")
    if labels and feedback:
        fail("--labels and --feedback are two sources of labels: leave one out")
    if sample and random:
        fail("--sample and --random contradict each other: leave one out")
    if sample and judge:
        fail("--judge: the sample says whose verdicts it was drawn by: leave it out")


def _read_labels(paths: list[str], label_options: options.LabelOptions, encoding: str) -> Labels:
    """Read the labels of several people, as if they were in one file."""
    keep_words = label_options.keep_words
    rows = chain.from_iterable(read_rows(path, encoding=encoding, keep_words=keep_words) for path in paths)
    return load_labels(", ".join(paths), label_options, rows=rows)


def _show_rate(screen: Screen, true_rate: TrueRate) -> None:
    """Print the rate, and beside it what the judge and the labels say by themselves."""
    screen.text(heading=f"{true_rate.judge}: grounded answers among {true_rate.rows:,}")
    n_labels = true_rate.rate.n
    rows = [
        ["true rate", with_interval(true_rate.rate)],
        [f"{n_labels:,} labels alone", with_interval(true_rate.alone)],
    ]
    for pass_rate in true_rate.own:
        rows.append([f"{_short_signature(pass_rate.signature)} passes", with_interval(pass_rate.passed)])
    screen.table(["", "share [95 %]"], rows)
    # How many labels would be needed to know as much without the judge.
    gain = "the judge added nothing to the labels"
    if true_rate.worth > n_labels:
        gain = f"the judge makes {n_labels:,} labels as good as {true_rate.worth:,}"
    screen.text(gain, f"an interval of ±0.03 takes about {true_rate.needed:,} labels")
    if true_rate.cannot_tell:
        low, high = true_rate.bounds
        screen.text(
            f"people could not tell: {true_rate.cannot_tell:.3f} of the rows; "
            f"the rate if none or all of these are grounded: {as_text(low)} to {as_text(high)}"
        )
    screen.text(*people_lines(true_rate.people))


def _short_signature(signature: str) -> str:
    """Cut a signature down to the judge, the version of its prompt and the model."""
    prompt, _, model, *_ = signature.split("|")
    return f"{prompt}|{model}"


def _rate_notes(true_rate: TrueRate) -> list[str]:
    notes: list[str] = []
    if true_rate.n_unlabelled:
        notes.append(
            f"{true_rate.n_unlabelled} drawn rows have no label yet: the rate takes them to be as the others"
        )
    if true_rate.n_verdicts != true_rate.rows:
        notes.append(
            f"the sample was drawn from {true_rate.rows:,} rows, and there are verdicts on "
            f"{true_rate.n_verdicts:,}: the rate is of those at the time of the draw"
        )
    return notes
