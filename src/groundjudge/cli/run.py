"""`groundjudge run`: judge every case of a file."""

from __future__ import annotations

from functools import partial
from importlib import import_module
from pathlib import Path

from groundjudge.cli import options
from groundjudge.cli.judging import cached_model, judges_of
from groundjudge.cli.outputs import check_cases, check_outputs, is_table, previous_verdicts, refuse_to_append
from groundjudge.cli.progress import ProgressLine
from groundjudge.cli.run_summary import exit_after_run, report_connection, show_case, show_run, show_usage
from groundjudge.cli.screen import fail, open_console, report_errors
from groundjudge.judging.panel import Stop
from groundjudge.runs.rows import STDIO, CaseFile
from groundjudge.runs.run import run as run_judges
from groundjudge.runs.summary import Tally
from groundjudge.runs.verdict_file import RunTotals, read_verdicts, write_verdicts
from groundjudge.verdict import Verdict


def run(  # noqa: PLR0913  one per option
    cases: str = options.CASES,
    *,
    selection: options.JudgeSelection,
    stop: Stop | None = options.STOP,
    row_options: options.RowOptions,
    out: str = options.option(
        'Write verdicts here, one JSON object per line; "-" is stdout. A PATH that ends in .parquet is '
        "written at the end, from PATH.jsonl, which --resume continues.",
        default=STDIO,
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

    A row may name the judges that apply to it (`judges`). A row that lacks a judge's required input counts
    as missing, not as an error; a missing or blank response is an error, unless --empty-response says
    otherwise.

    With --repeats or --panel, a verdict comes from several votes. It passes if more than half of them pass,
    and a row without a majority is an error.

    Interrupted runs, and runs stopped by a quota or a budget, can be resumed with --resume.

    If the endpoint stops answering, the run waits for it, up to 5 minutes. If it never answered, the run
    stops.

    Exit status: 0; 1 if a judge's coverage is below --min-coverage, a row could not be read or the run was
    stopped; 2 if no row could be read, nothing could be judged or the arguments are wrong.
    """
    with report_errors():
        prices = pricing.prices
        lines = _lines_of(out, overwrite=output.overwrite)
        inputs = [("the file of cases", cases), *selection.prompt_files]
        check_outputs([("--out", out), ("--out", lines), ("--cache", cache)], inputs)
        if out == STDIO:
            refuse_to_append(*inputs[0])
        judges = judges_of(selection, partial(cached_model, cache=cache), stop)
        check_cases(cases)
        fields = row_options.fields([rubric for judge in judges for rubric in judge.rubrics])
        rows = CaseFile(cases, frozenset(full or ()), row_options.file_format, fields)
        with previous_verdicts(lines, judges, output) as previous:
            totals = RunTotals(Tally(judge.name for judge in judges), rows.kept_ids, previous)
            progress = ProgressLine(rows.count, totals, prices, out)
            judged = run_judges(judges, rows.source, **progress.run_options(limits))
            with report_connection():
                write_verdicts(judged, lines, totals, progress.shown())
        if out != lines:
            _write_table(out, lines)
        console = open_console(to_stderr=out == STDIO)
        show_run(console, judges, rows, totals)
        show_usage(console, totals, prices)
        for case_id in dict.fromkeys(full or ()):
            show_case(console, case_id, totals.kept.get(case_id, []), rows.sources(case_id))
        exit_after_run(rows, totals, out, min_coverage)


def _lines_of(out: str, *, overwrite: bool) -> str:
    """The file to which verdicts are written as they come: one beside a .parquet file, or --out itself."""
    if not is_table(out):
        return out
    import_module("groundjudge.runs.arrow")  # if PyArrow is missing, it is missed before anything is judged
    lines = f"{out}.jsonl"
    if Path(out).is_dir():
        fail(f"--out {out} is a folder: choose another file")
    if Path(out).exists() and not Path(lines).exists() and not overwrite:
        fail(f"--out {out} already exists, and {lines}, its lines, does not: replace it with --overwrite")
    return lines


def _write_table(out: str, lines: str) -> None:
    """Write the verdicts in a file of lines as a .parquet file."""
    from groundjudge.runs.arrow import write_parquet  # noqa: PLC0415  PyArrow is an extra

    write_parquet((row for row in read_verdicts(lines) if isinstance(row, Verdict)), Path(out))
