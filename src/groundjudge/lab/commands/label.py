"""`groundjudge label`: the page where people label drawn rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from groundjudge.case.case import Case
from groundjudge.cli import options
from groundjudge.cli.outputs import check_files, hold_file
from groundjudge.cli.screen import INCOMPLETE, Screen, fail
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.lab.commands import options as measuring
from groundjudge.lab.commands.inputs import (
    VerdictFile,
    check_contents,
    exit_after,
    load_rubric_of,
    load_verdicts,
    read_again,
)
from groundjudge.lab.commands.pages import PageOut, check_page, write_page
from groundjudge.lab.labelling import labelling_page
from groundjudge.lab.labels import value_in
from groundjudge.lab.sample import LabelSample, draw, save_sample
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.rows import FileRow
from groundjudge.runs.run import case_of, id_of

NumberedRow = tuple[Mapping[str, Any], int]
"""A row that could be read, and its number in the file."""

NumberOfRows = Annotated[
    int,
    typer.Option(
        "--n", metavar="N", min=1, help="How many rows to label; with --group, how many whole groups."
    ),
]
DoubleLabels = Annotated[
    int,
    typer.Option("--double", metavar="N", min=0, help="How many of the rows a second person also labels."),
]
Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="OLD",
        help="The judge's earlier verdicts, such as with another model: rows whose verdict flips are drawn "
        "more often.",
    ),
]
OwnLabels = Annotated[
    bool,
    typer.Option("--own-labels", help="Choose among the judge's own labels."),
]
QueueName = Annotated[
    str | None,
    typer.Option(
        "--queue",
        metavar="NAME",
        help="Also create an annotation queue with this name in LangSmith: row ids must be run ids there.",
    ),
]
DrawSeed = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="The seed of the draw."),
]


def label(
    cases: options.Cases,
    verdicts: options.Verdicts,
    *,
    n: NumberOfRows = 100,
    out: PageOut = "label.html",
    judge: measuring.OneJudge = None,
    double: DoubleLabels = 0,
    group: measuring.Group = None,
    against: Against = None,
    own_labels: OwnLabels = False,
    judge_file: measuring.JudgeFile = None,
    queue: QueueName = None,
    row_options: options.RowOptions,
    seed: DrawSeed = 0,
    overwrite: options.Overwrite = False,
) -> None:
    """Draw rows for people to label, and make the page on which they do.

    The page is one file for any browser, works offline, and shows nothing that the judge said. The sample is
    written next to it, as NAME.sample.json, and with --double the second person's page as NAME.2.html.

    With --queue, the files are written first: if LangSmith refuses, you still have them.

    Exit status: 0; 1 if a line could not be read, or LangSmith created no queue; 2 if nothing could be drawn.
    """
    page, sample_file, second_page = _file_names(out)
    pages = [page]
    if double:
        pages.append(second_page)
    check_files(
        [("--out", path) for path in (*pages, sample_file)],
        [("the file of cases", cases), ("the file of verdicts", verdicts), ("--against", against)],
    )
    # Labels refer to the sample; the pages can be made again from it.
    with hold_file("--out", sample_file, overwrite=overwrite):
        if not overwrite:  # which replaces the pages of an earlier draw, from any version
            for path in pages:
                check_page(path)
        rows = read_again(cases, partial(row_options.read, cases))
        file = load_verdicts(verdicts)
        groups = _groups(_readable(rows), group) if group else {}
        earlier = load_verdicts(against).verdicts if against else None
        sample = draw(file.verdicts, n, judge=judge, double=double, seed=seed, groups=groups, against=earlier)
        rubric = load_rubric_of(sample.judge, judge_file)
        drawn_cases = _drawn_cases(sample, _readable(rows), rubric, file)
        # Made before anything is written or sent, so that a case that cannot be shown leaves no partial draw.
        htmls: dict[str, str] = {}
        for path in pages:
            is_second = path == second_page
            htmls[path] = labelling_page(sample, drawn_cases, rubric, own_labels=own_labels, second=is_second)
        if queue:
            from groundjudge.adapters.langsmith_queue import queue_items  # noqa: PLC0415  an extra

            queue_items(sample, drawn_cases)
        for path, html in htmls.items():
            write_page(path, html)
        save_sample(sample_file, sample)
    screen = Screen()
    strata: list[list[str]] = []
    for stratum in sample.strata:
        strata.append([stratum.name, f"{stratum.rows:,}", f"{len(stratum.ids):,}"])
    screen.table(["stratum", "rows", "drawn"], strata)
    screen.text(f"{' and '.join(pages)}: open in a browser, label, and download the labels.")
    then = f"groundjudge rate {verdicts}"
    if against:
        then = f"groundjudge compare {against} {verdicts}"
    screen.text(f"Then: {then} --labels labels.jsonl --sample {sample_file}")
    if queue:
        _make_queue(sample, queue, rubric, drawn_cases)
    exit_after(screen, [], file)


def _file_names(out: str) -> tuple[str, str, str]:
    """Name the page, the sample, and the second person's page. Exit if --out is not an HTML file."""
    path = Path(out)
    if path.suffix.casefold() not in {".html", ".htm"}:
        fail(f"--out {out}: the page is HTML; choose a name that ends in .html")
    return out, str(path.with_suffix(".sample.json")), str(path.with_suffix(f".2{path.suffix}"))


def _readable(rows: Iterable[FileRow]) -> Iterator[NumberedRow]:
    """Yield the rows that could be read."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, CaseError):
            yield row, number


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


def _drawn_cases(
    sample: LabelSample, rows: Iterable[NumberedRow], rubric: Rubric, file: VerdictFile
) -> list[Case]:
    """Make the drawn cases that are in the file. Exit if one differs from what was judged."""
    drawn_ids = frozenset(sample.ids)
    case_by_id: dict[str, Case] = {}
    for row, number in rows:
        case_id = id_of(row, number)
        if case_id in drawn_ids:
            case_by_id[case_id] = case_of(row, number)  # if two share an id, the last one counts
    cases = [case_by_id[case_id] for case_id in sample.ids if case_id in case_by_id]
    check_contents(cases, rubric, file.verdicts.select([sample.judge]))
    return cases


def _make_queue(sample: LabelSample, name: str, rubric: Rubric, cases: list[Case]) -> None:
    """Create the annotation queue. Exit if LangSmith refuses; the draw's files are written by then."""
    from groundjudge.adapters.langsmith_queue import queue_sample  # noqa: PLC0415

    try:
        queue_sample(sample, name, rubric, cases)
    except (GroundjudgeError, OSError) as error:
        fail(f"--queue {name}: {error}; the files were written: try again with --overwrite", INCOMPLETE)
