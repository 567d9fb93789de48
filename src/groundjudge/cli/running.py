"""A run on the screen: its verdicts as they arrive, its summary at the end, and the exit status."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from math import floor
from typing import NoReturn

import typer

from groundjudge.case.data import is_mapping
from groundjudge.case.fields import ALIASES, find_keys
from groundjudge.case.shapes import is_blank
from groundjudge.citations import SCORES as CITATION_SCORES
from groundjudge.cli.fitting import input_fields
from groundjudge.cli.options import OutputOptions
from groundjudge.cli.outputs import open_out
from groundjudge.cli.progress import ProgressLine
from groundjudge.cli.proposal import propose_fields
from groundjudge.cli.screen import INCOMPLETE, Screen, as_text, counts_text, fail, in_options, message_of
from groundjudge.errors import CaseError, ModelError, explain_code, name_list
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import STDIO, CaseFile
from groundjudge.runs.summary import Summary, Tally
from groundjudge.runs.verdict_file import MAX_UNREADABLE, RunTotals, write_verdicts
from groundjudge.verdict import Usage, Verdict


def judge_rows(
    judged_by: Callable[..., Generator[Verdict, None, None]],
    judges: Sequence[AnyJudge],
    out: str | None,
    output: OutputOptions,
    prices: Prices | None,
    *,
    count: Callable[[], int | None],
    kept_ids: frozenset[str] = frozenset(),
) -> RunTotals:
    """Judge rows and write each verdict as it comes, with the progress on the screen.

    Exit if a file is in the way, or if the endpoint never answered.

    Args:
        judged_by: makes the verdicts: `run` with all options except `previous` and `on_outage`.
        judges: whose verdicts these are.
        out: the file to write to, "-" for stdout, None to write nothing.
        output: what becomes of a file that exists.
        prices: for the cost so far; None if unknown.
        count: counts the rows that are to be judged; None if that is not known.
        kept_ids: the ids of the cases whose verdicts are kept.
    """
    with open_out(out, judges, output) as verdict_file:
        # A judge that no row names has a line in the table, too.
        tally = Tally(judge.name for judge in judges)
        totals = RunTotals(tally, kept_ids, verdict_file.previous)
        progress = ProgressLine(count, totals, prices, out)
        verdicts = judged_by(previous=verdict_file.previous, on_outage=progress.show_message)
        try:
            write_verdicts(verdicts, verdict_file, totals, progress.show())
        except ModelError as error:
            if error.code != "connection":
                raise
            fail(f"stopped: {error.message}", status=INCOMPLETE)  # the same command may succeed later
    return totals


def show_run(screen: Screen, judges: Sequence[AnyJudge], rows: CaseFile, totals: RunTotals) -> None:
    """Print the totals of a run: the summaries, the errors, what no row has, and what was reused."""
    # Without rows there is nothing to summarise; `exit_after_run` reports that.
    if rows.n_read:
        _show_summaries(screen, totals.tally.summaries())
    screen.text(*_error_lines(totals), *_missing_input_lines(judges, totals, rows))
    if rows.n_blank_contexts and any("context" in input_fields(judge) for judge in judges):
        have = "row has" if rows.n_blank_contexts == 1 else "rows have"
        screen.text(f"{rows.n_blank_contexts} {have} a blank context")
    screen.text(*reused_lines(totals))


def reused_lines(totals: RunTotals) -> list[str]:
    """Say how many verdicts of the previous run were reused, if this one continues it."""
    previous = totals.previous
    if previous is None:
        return []
    lines = [f"{previous.n_used} verdicts reused, {totals.n_new} new"]
    # A run that stopped has not reached the rows of the other verdicts.
    if previous.n_unused and not totals.stopped:
        lines.append(
            f"{previous.n_unused} previous verdicts are for cases that were removed or changed, in the file "
            "or by --fields or --limit: they stay in the file and are not counted"
        )
    return lines


def usage_lines(
    usage: Usage | None, prices: Prices | None, place: str = "", n_verdicts: int = 0
) -> list[str]:
    """Write the tokens that were used, and their cost if there are prices; nothing if none were reported.

    Cached tokens and reasoning tokens are in parentheses, if the endpoint counts them.

    Args:
        usage: the tokens; None if the model reports none.
        prices: of these tokens.
        place: where they were used, as in " in batches"; "" if that needs no mention.
        n_verdicts: for the tokens per verdict; 0 leaves them out.
    """
    if usage is None:
        return []
    line = f"tokens{place}: {usage.prompt_tokens:,} prompt"
    if usage.cached_tokens is not None:
        line += f" ({usage.cached_tokens:,} cached)"
    line += f", {usage.completion_tokens:,} completion"
    if usage.reasoning_tokens is not None:
        line += f" ({usage.reasoning_tokens:,} reasoning)"
    if n_verdicts:
        line += f", {round(usage.total_tokens / n_verdicts):,} per verdict"
    if prices:
        line += f", cost: {prices.of(usage):.4f}"
    return [line]


def fail_if_stopped(totals: RunTotals, out: str | None) -> None:
    """Exit if the run ended early."""
    if not totals.stopped:
        return
    message = f"stopped: {message_of(totals.stopped)}"
    if out is not None and out != STDIO:  # what was written to stdout cannot be continued
        message += f"; the finished verdicts are in {out}, continue with --resume"
    fail(message, status=INCOMPLETE)


def fail_without_rows(rows: CaseFile) -> None:
    """Exit if no row could be read."""
    if rows.n_read:
        return
    nothing = f"{rows.path}: no row could be read"
    if not rows.n_unreadable:
        fail(f"{nothing}: the file has no rows")
    expected = "a table has a header and rows with as many cells, other files one JSON object per line"
    fail(f"{nothing}: {expected}: see --format")


def exit_after_run(
    rows: CaseFile, totals: RunTotals, out: str | None, min_coverage: float = 1.0, *, is_complete: bool = True
) -> NoReturn:
    """Exit with the status of a command that judges.

    Args:
        rows: the rows that were read.
        totals: what was judged.
        out: the file that --resume continues; None if the command has no such option.
        min_coverage: the share of its rows that each judge must have scored, 0..1.
        is_complete: whether nothing else is missing.
    """
    fail_without_rows(rows)
    n_judged = 0
    n_usable = 0
    for summary in totals.tally.summaries():
        n_judged += summary.n
        n_usable += summary.n + summary.n_waiting
        for code, count in summary.errors.items():
            if code in CaseError.codes:
                n_usable -= count
        # A judge that no row names has no coverage, and that is not a fault.
        if summary.coverage is not None and summary.coverage < min_coverage:
            is_complete = False
    fail_if_stopped(totals, out)
    nothing = f"{rows.path}: nothing was judged, because"
    if not n_judged:
        fail(f"{nothing} every row names other judges under `judges`: choose one of them with --judge")
    if not n_usable:
        fail(f"{nothing} no row can be judged as it was given: see above")
    # A row that cannot be read is in no judge's coverage.
    if not is_complete or totals.n_unreadable:
        raise typer.Exit(INCOMPLETE)
    raise typer.Exit


def _show_table(screen: Screen, summaries: Sequence[Summary]) -> None:
    """Print a row for each judge."""
    # All judges get the columns that one of them needs: for panels, cascades, and rows that wait for batches.
    unused_columns = {"waiting", "agreement", "calls/row"}
    for summary in summaries:
        if summary.n_waiting:
            unused_columns -= {"waiting"}
        if summary.agreement is not None:
            unused_columns -= {"agreement", "calls/row"}
        if summary.decided_by:
            unused_columns -= {"calls/row"}
    rows: list[dict[str, str]] = []
    for summary in summaries:
        cells = _summary_cells(summary)
        for column in unused_columns:
            del cells[column]
        rows.append(cells)
    screen.table(list(rows[0]), [list(cells.values()) for cells in rows])


def _show_summaries(screen: Screen, summaries: Sequence[Summary]) -> None:
    """Print a table, and below it the labels, and what is remarkable."""
    _show_table(screen, summaries)
    for summary in summaries:
        if summary.labels:
            screen.text(f"{summary.judge}: {counts_text(summary.labels)}")
    for summary in summaries:
        if summary.decided_by:
            screen.text(f"{summary.judge}: decided by {counts_text(summary.decided_by)}")
    for summary in summaries:
        for line in _remarks_on(summary):
            screen.text(f"{summary.judge}: {line}")
    undecided: list[str] = []
    for summary in summaries:
        if summary.not_decided:
            undecided.append(f"{summary.judge} {summary.not_decided} of {summary.n}")
    if undecided:
        meaning, remedy = explain_code("warnings", "not_decided")
        screen.text(f"not decided: {', '.join(undecided)}. {meaning} {remedy}")


def _remarks_on(summary: Summary) -> list[str]:
    """Describe the citations and the warnings of a judge's summary, on one line each."""
    lines: list[str] = []
    scores: list[str] = []
    for name in CITATION_SCORES:
        if name in summary.scores:
            scores.append(f"{name} {summary.scores[name]:.3f}")
    if scores:
        uses = ", ".join(f"{position} ({count})" for position, count in summary.used_documents.items())
        lines.append(f"{', '.join(scores)}; sentences supported by document {uses or 'none'}")
    for note, count in summary.notes.items():
        if note == "not_decided":
            continue  # a line for all judges says so
        meaning, remedy = explain_code("warnings", note)
        lines.append(f"{note} {count}. {meaning} {remedy}")
    return lines


def _summary_cells(summary: Summary) -> dict[str, str]:
    """Return a judge's cells by column."""
    bounds = "-"
    if summary.bounds is not None:
        low, high = summary.bounds
        bounds = f"{as_text(low)}..{as_text(high)}"
    calls_per_row = "-"
    if summary.calls_per_row is not None:
        calls_per_row = f"{summary.calls_per_row:.2f}"
    return {
        "judge": summary.judge,
        "mean": as_text(summary.mean),
        "ok": str(summary.n_ok),
        "error": str(summary.n_error),
        "n/a": str(summary.n_not_applicable),
        "waiting": str(summary.n_waiting),
        "coverage": _round_down(summary.coverage),
        "bounds": bounds,
        "agreement": _round_down(summary.agreement),
        "calls/row": calls_per_row,
        "passed": _round_down(summary.pass_rate),
    }


def _round_down(share: float | None) -> str:
    """Write a share with three decimals: 1.000 means every row, or every vote."""
    if share is None:
        return "-"
    return f"{floor(share * 1000) / 1000:.3f}"


def _error_lines(totals: RunTotals) -> list[str]:
    """Say how often each error occurred, with the first of each, and which rows could not be read."""
    lines: list[str] = []
    for summary in totals.tally.summaries():
        for code, count in summary.errors.items():
            first_error = in_options(totals.first_errors[summary.judge, code])
            lines.append(f"{summary.judge}: {code} {count}, the first is {first_error}")
    if totals.n_unreadable:
        lines.append(f"unreadable rows: {totals.n_unreadable}")
        for message in totals.unreadable:
            lines.append(f"  {message}")
    if totals.n_unreadable > MAX_UNREADABLE:
        lines.append("  ...")
    return lines


def _missing_input_lines(judges: Sequence[AnyJudge], totals: RunTotals, rows: CaseFile) -> list[str]:
    """Say which inputs no row has, for each judge without a score, and which option may read them."""
    # One score shows that the inputs were there.
    idle_judges = {summary.judge for summary in totals.tally.summaries() if summary.n and not summary.n_ok}
    row = rows.first_row or {}
    lines: list[str] = []
    proposals: list[str] = []
    for judge in judges:
        if judge.name not in idle_judges:
            continue
        missing: list[str] = []
        for judge_input in judge.inputs:
            if judge_input.required and rows.lacks(judge_input.field):
                missing.append(judge_input.field)
        if missing:
            lines.append(f"{judge.name}: no row has {', '.join(missing)}")
        to_find = _fields_to_find(judge, rows)
        if to_find:
            proposals.append(propose_fields(row, to_find))
    if not lines and not proposals:
        return []
    if not proposals:
        remedy = "rename the keys with other names, or use --fields FIELD=PATH"
    elif not is_blank(row.get("error")) and rows.first_case().response is None:
        remedy = "if a row has an error instead of a response, run the application again"
    else:
        # The proposal with the fewest unknown paths; of equals, that of the first judge.
        remedy = f"try {min(proposals, key=lambda proposal: proposal.count('=PATH'))}"
    return [*lines, f"the rows have {name_list(sorted(rows.keys)) or 'nothing'}: {remedy}"]


def _fields_to_find(judge: AnyJudge, rows: CaseFile) -> list[str]:
    """Return the fields that a judge needs and the first row lacks, or has in a shape that cannot be read."""
    row = rows.first_row or {}
    case = rows.first_case()
    missing: list[str] = []
    for judge_input in judge.inputs:
        field = judge_input.field
        is_missing = field in ALIASES and getattr(case, field) is None
        if field in case.unreadable:
            # The field may be in a mapping under its own name.
            is_missing = any(is_mapping(row[key]) for key in find_keys(row, field))
        if judge_input.required and is_missing and field not in missing:
            missing.append(field)
    return missing
