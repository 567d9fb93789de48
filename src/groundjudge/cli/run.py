"""`groundjudge run`: judge every case of a file."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from groundjudge.cli import options
from groundjudge.cli.fitting import take_fitting
from groundjudge.cli.full import show_case
from groundjudge.cli.outputs import check_cases, check_files, hold_file, is_table
from groundjudge.cli.running import exit_after_run, judge_rows, show_run, usage_lines
from groundjudge.cli.screen import Screen, fail, note
from groundjudge.cli.selection import JudgeSelection
from groundjudge.files import is_nonempty_file
from groundjudge.runs.rows import STDIO
from groundjudge.runs.run import run as run_judges
from groundjudge.runs.verdict_file import read_verdicts
from groundjudge.verdict import Verdict

VerdictsOut = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="PATH",
        help='Where to write the verdicts: .jsonl, .parquet, or "-" for stdout.',
    ),
]
MinCoverage = Annotated[
    float,
    typer.Option(
        "--min-coverage",
        metavar="SHARE",
        min=0,
        max=1,
        help="Exit with 1 if a judge scored a smaller share of its rows.",
    ),
]
FullCases = Annotated[
    list[str] | None,
    typer.Option(
        "--full", metavar="CASE_ID", help='Print a case in full; repeatable. Without an id: "row 3".'
    ),
]


def run(
    cases: options.Cases,
    *,
    selection: JudgeSelection,
    row_options: options.RowOptions,
    out: VerdictsOut = None,
    output: options.OutputOptions,
    limits: options.RunLimits,
    min_coverage: MinCoverage = 1.0,
    full: FullCases = None,
    price: options.Price = None,
    cache: options.CacheFile = None,
) -> None:
    """Judge every case in a file and print a summary.

    A row that cannot be judged is an error in its verdict, and the run goes on. --resume continues a run
    that was interrupted or stopped by a quota or a budget.

    Exit status: 0; 1 if a judge's coverage is below --min-coverage, a row could not be read or the run was
    stopped; 2 if no row could be read, nothing could be judged or the arguments are wrong.
    """
    prices = options.prices_of(price)
    # Verdicts go to a pipe or a file; on a terminal they would hide the table.
    if out is None and not sys.stdout.isatty():
        out = STDIO
    lines = _lines_path(out, overwrite=output.overwrite)
    table = None if out == lines else out
    check_files(
        [("--out", table), ("--out", lines), ("--cache", cache)],
        [("the file of cases", cases), *selection.prompt_files],
    )
    judges = selection.judges(cache=cache)
    # A wrong path is reported before anything is opened to write.
    check_cases(cases)
    # Whether the table may be replaced is decided by its lines.
    with hold_file("--out", table, overwrite=True):
        rows = row_options.case_file(cases, judges, full)
        left_out: list[str] = []
        if not selection.judge:
            judges, left_out = take_fitting(judges, rows)
        judged_by = partial(run_judges, judges, rows.source, **asdict(limits))
        if out is None:
            note("without --out, verdicts are counted but not saved: add -o PATH to save them")
        totals = judge_rows(
            judged_by, judges, lines, output, prices, count=rows.count, kept_ids=rows.kept_ids
        )
        if table and lines:
            from groundjudge.runs.arrow import write_parquet  # noqa: PLC0415  PyArrow is an extra

            readable = (verdict for verdict in read_verdicts(lines) if isinstance(verdict, Verdict))
            write_parquet(readable, Path(table))
    screen = Screen(to_stderr=out == STDIO)
    show_run(screen, judges, rows, totals)
    screen.text(*left_out)
    screen.text(*usage_lines(totals.usage, prices, n_verdicts=totals.n_new))
    # A case that is named twice is printed once.
    for case_id in dict.fromkeys(full or ()):
        show_case(screen, case_id, totals.kept_verdicts.get(case_id, []), rows.documents_of(case_id))
    exit_after_run(rows, totals, out, min_coverage)


def _lines_path(out: str | None, *, overwrite: bool) -> str | None:
    """Name the file to which verdicts are written as they arrive: next to a .parquet file, or --out itself.

    Exit if the table cannot be written, or contains verdicts whose lines are gone.
    """
    if out is None or not is_table(out):
        return out
    import_module("groundjudge.runs.arrow")  # a missing PyArrow is reported before anything is judged
    lines = f"{out}.jsonl"
    if Path(out).is_dir():
        fail(f"--out {out} is a folder: choose another file")
    # --resume continues the lines: a table without them would be replaced by one with the new rows only.
    if is_nonempty_file(out) and not is_nonempty_file(lines) and not overwrite:
        fail(f"--out {out} already exists, but its lines, {lines}, do not: replace it with --overwrite")
    return lines
