"""`groundjudge run`: judge every case of a file."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path

from groundjudge.cli import options
from groundjudge.cli.outputs import check_cases, check_files, held, is_table
from groundjudge.cli.running import exit_after_run, judge_rows, show_case, show_run, usage_lines
from groundjudge.cli.screen import Screen, note, refuse, report_errors
from groundjudge.files import is_nonempty_file
from groundjudge.judging.panel import Stop
from groundjudge.runs.rows import STDIO
from groundjudge.runs.run import run as run_judges
from groundjudge.runs.verdict_file import read_verdicts
from groundjudge.verdict import Verdict


def run(  # noqa: PLR0913  one per option
    cases: str = options.CASES,
    *,
    selection: options.JudgeSelection,
    stop: Stop | None = options.STOP,
    row_options: options.RowOptions,
    out: str | None = options.option(
        'Write verdicts here, one JSON object per line; "-" is stdout, which is the default where stdout is '
        "not a terminal. A PATH that ends in .parquet is written at the end, from PATH.jsonl, which --resume "
        "continues.",
        *options.OUT,
        metavar="PATH",
    ),
    output: options.OutputOptions,
    limits: options.RunLimits,
    min_coverage: float = options.option(
        "Exit with status 1 if any judge scored a smaller share of the rows it should score.",
        default=1.0,
        **options.SHARE,
    ),
    full: list[str] | None = options.option(
        'Print this case\'s verdicts in full; repeatable. Rows without an id are "row 3".', metavar="CASE_ID"
    ),
    pricing: options.PriceOptions,
    cache: str | None = options.CACHE,
) -> None:
    """Judge every case of a file with every judge, and summarise.

    A row may name the judges that apply to it (`judges`), and the other judges skip it. A row that lacks an
    input that a judge requires is an error; so is a missing or blank response, unless --empty-response says
    otherwise.

    With --repeats or --panel, a verdict comes from several votes. It passes if more than half of them pass,
    and a row without a majority is an error.

    Interrupted runs, and runs stopped by a quota or a budget, can be resumed with --resume.

    If the endpoint stops answering, the run waits for it, up to 5 minutes. If it never answered, the run
    stops.

    Exit status: 0; 1 if a judge's coverage is below --min-coverage, a row could not be read or the run was
    stopped; 2 if no row could be read, nothing could be judged or the arguments are wrong.
    """
    with report_errors(), ExitStack() as until_written:
        prices = pricing.prices
        if out is None and not sys.stdout.isatty():
            out = STDIO
        lines = _lines_of(out, overwrite=output.overwrite)
        inputs = [("the file of cases", cases), *selection.prompt_files]
        check_files([("--out", out), ("--out", lines), ("--cache", cache)], inputs)
        judges = selection.judges(stop, cache=cache)
        check_cases(cases)
        if out != lines:
            until_written.enter_context(held("--out", out, overwrite=True))
        rows = row_options.case_file(cases, judges, full)
        judged_by = partial(run_judges, judges, rows.source, **asdict(limits))
        if out is None:
            note("without --out, verdicts are counted, but not kept: -o PATH")
        totals = judge_rows(
            judged_by, judges, lines, output, prices, count=rows.count, kept_ids=rows.kept_ids
        )
        if out and out != lines:
            from groundjudge.runs.arrow import write_parquet  # noqa: PLC0415  PyArrow is an extra

            write_parquet((row for row in read_verdicts(str(lines)) if isinstance(row, Verdict)), Path(out))
        screen = Screen(to_stderr=out == STDIO)
        show_run(screen, judges, rows, totals)
        screen.text(*usage_lines(totals.usage, prices, n_verdicts=totals.n_new))
        for case_id in dict.fromkeys(full or ()):
            show_case(screen, case_id, totals.kept_verdicts.get(case_id, []), rows.sources(case_id))
        exit_after_run(rows, totals, out, min_coverage)


def _lines_of(out: str | None, *, overwrite: bool) -> str | None:
    """The file to which verdicts are written as they come: one beside a .parquet file, or --out itself."""
    if out is None or not is_table(out):
        return out
    import_module("groundjudge.runs.arrow")  # if PyArrow is missing, it is missed before anything is judged
    lines = f"{out}.jsonl"
    is_alone = is_nonempty_file(out) and not is_nonempty_file(lines)
    lost = f"--out {out} already exists, and {lines}, its lines, does not: replace it with --overwrite"
    refuse(
        (Path(out).is_dir(), f"--out {out} is a folder: choose another file"),
        (is_alone and not overwrite, lost),
    )
    return lines
