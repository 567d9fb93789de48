"""A run on the screen: how far it is, its summary at the end, verdicts in full, and the exit status."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from math import floor
from time import monotonic
from typing import NoReturn

import typer

from groundjudge.case.case import Document
from groundjudge.cli.options import OutputOptions
from groundjudge.cli.outputs import opened
from groundjudge.cli.screen import INCOMPLETE, Screen, as_text, fail, in_options, note, refuse
from groundjudge.errors import ModelError
from groundjudge.judging.panel import AnyJudge
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import STDIO, CaseFile
from groundjudge.runs.summary import Summary, Tally
from groundjudge.runs.verdict_file import MAX_UNREADABLE, RunTotals, write_verdicts
from groundjudge.text.printable import printable
from groundjudge.verdict import Evidence, Failure, Part, Usage, Verdict, Vote

LINE_EVERY = 10.0
"""Seconds between two lines of progress where there is no terminal."""

MAX_KEYS = 20
"""How many keys of the rows are listed."""


def judge_rows(  # noqa: PLR0913  independent of each other
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
        judged_by: makes the verdicts: `run` with all but the options `previous` and `on_outage`.
        judges: whose verdicts these are.
        out: the file to write to, "-" for stdout, None to write nothing.
        output: what becomes of a file that exists.
        prices: for the cost so far; None if they are not known.
        count: counts the rows that are to be judged; None if that is not known.
        kept_ids: the ids of the cases whose verdicts are kept.
    """
    with opened(out, judges, output) as written:
        totals = RunTotals(Tally(judge.name for judge in judges), kept_ids, written.previous)
        progress = ProgressLine(count, totals, prices, out)
        judged = judged_by(previous=written.previous, on_outage=progress.show_message)
        try:
            write_verdicts(judged, written, totals, progress.shown())
        except ModelError as error:
            if error.code != "connection":
                raise
            fail(f"stopped: {error.message}", status=INCOMPLETE)  # the same command may succeed later
    return totals


class ProgressLine:
    """A bar on a terminal, unless the verdicts are printed there, with a message beside it.

    Where stderr is no terminal, a line tells every 10 seconds how far the run is. Where there is no bar, a
    message is a line of stderr, and only the first of several in a row is printed.

    Args:
        count: counts the rows that are to be judged; None if that is not known.
        totals: what was judged so far.
        prices: for the cost so far; None if it is not known.
        out: where the verdicts go; "-" is stdout.
        clock: the time in seconds.
    """

    def __init__(
        self,
        count: Callable[[], int | None],
        totals: RunTotals,
        prices: Prices | None,
        out: str | None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        # The rows are counted for the first line: short runs print none.
        self._count, self._totals, self._prices, self._clock = cache(count), totals, prices, clock
        self._has_bar = sys.stderr.isatty() and not (out == STDIO and sys.stdout.isatty())
        self._message, self._due = "", clock() + LINE_EVERY
        self._update: Callable[[str], None] | None = None

    def show_message(self, message: str) -> None:
        """Show a message in place of the last one; "" removes it. Can be called from any thread."""
        is_first, self._message = not self._message, message
        if self._update:
            self._update(message)
        elif message and is_first and not self._has_bar:
            note(message)

    @contextmanager
    def shown(self) -> Generator[Callable[[], None], None, None]:
        """Show the bar, or else print lines; yields what is to be called after each verdict."""
        if not self._has_bar:
            yield self._print_line
            return
        from rich import progress  # noqa: PLC0415

        columns = (
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.description}", markup=False),
        )
        with progress.Progress(*columns, console=Screen(to_stderr=True).console, transient=True) as bar:
            task = bar.add_task(self._message, total=self._total())
            self._update = lambda message: bar.update(task, description=printable(message))
            yield lambda: bar.advance(task)
            self._update = None

    def _print_line(self) -> None:
        """Print how far the run is, now and then; a terminal without a bar shows the verdicts themselves."""
        if self._clock() < self._due or sys.stderr.isatty():
            return
        self._due = self._clock() + LINE_EVERY
        summaries, n_unreadable = self._totals.tally.summaries(), self._totals.n_unreadable
        n_verdicts = sum(one.n for one in summaries) + n_unreadable
        n_errors = sum(one.n_error for one in summaries) + n_unreadable
        total, usage = self._total(), self._totals.usage
        of_all = "" if total is None else f" of {total:,}"
        cost = f", cost so far: {self._prices.of(usage):.4f}" if self._prices and usage else ""
        note(f"{n_verdicts:,}{of_all} verdicts, {n_errors:,} errors{cost}")

    def _total(self) -> int | None:
        """How many verdicts there will be; None if that is not known."""
        n_rows = self._count()
        return None if n_rows is None else n_rows * len(self._totals.tally.summaries())


def show_run(screen: Screen, judges: Sequence[AnyJudge], rows: CaseFile, totals: RunTotals) -> None:
    """Print the totals of a run: the summaries, the errors, what no row has, and what was reused."""
    if rows.n_read:
        _show_summaries(screen, totals.tally.summaries())
    screen.text(*_errors(totals), *_absent(judges, totals, rows), *reused_lines(totals))


def reused_lines(totals: RunTotals) -> list[str]:
    """How many verdicts of the previous run were reused, if this one continues it."""
    previous = totals.previous
    if previous is None:
        return []
    reused = f"{previous.n_used} verdicts reused, {totals.n_new} new"
    if totals.stopped or not previous.n_unused:
        return [reused]
    changed = "cases that were removed or changed, in the file or by --fields or --limit"
    kept = "they stay in the file and are not counted"
    return [reused, f"{previous.n_unused} previous verdicts are on {changed}: {kept}"]


def usage_lines(
    usage: Usage | None, prices: Prices | None, place: str = "", n_verdicts: int = 0
) -> list[str]:
    """The tokens that were used, and their cost if there are prices; nothing if the model reported none.

    Args:
        usage: the tokens.
        prices: of these tokens.
        place: where they were used, as in " in batches"; "" where that needs no word.
        n_verdicts: for the tokens a verdict; 0 leaves them out.
    """
    if usage is None:
        return []
    tokens = f"tokens{place}: {usage.prompt_tokens:,} prompt, {usage.completion_tokens:,} completion"
    a_verdict = f", {round(usage.total_tokens / n_verdicts):,} a verdict" if n_verdicts else ""
    return [f"{tokens}{a_verdict}{f', cost: {prices.of(usage):.4f}' if prices else ''}"]


def fail_if_stopped(totals: RunTotals, out: str | None) -> None:
    """Exit if the run ended early."""
    if totals.stopped:
        reason = in_options(totals.stopped.message, totals.stopped.subject)
        kept = f"; the finished verdicts are in {out}, continue with --resume"
        fail(f"stopped: {reason}{'' if out in {None, STDIO} else kept}", status=INCOMPLETE)


def fail_without_rows(rows: CaseFile) -> None:
    """Exit if no row could be read."""
    expected = "the file must hold one JSON object per line, or be a .csv, .tsv, .json or .parquet file"
    refuse((not rows.n_read, f"{rows.path}: no row could be read; {expected}: see --format"))


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
    counts, nothing = totals.tally.summaries(), f"{rows.path}: nothing was judged, because every row"
    is_missing = all(one.n == one.errors.get("missing_field", 0) for one in counts)
    others = "names other judges under `judges`: choose one of them with --judge"
    refuse(
        (not any(one.n for one in counts), f"{nothing} {others}"),
        (is_missing, f"{nothing} lacks a required input: see above"),
    )
    fail_if_stopped(totals, out)
    is_covered = all(one.coverage is None or one.coverage >= min_coverage for one in counts)
    is_complete = is_complete and is_covered and not totals.n_unreadable
    raise typer.Exit(0 if is_complete else INCOMPLETE)


def _show_summaries(screen: Screen, summaries: Sequence[Summary]) -> None:
    """Print a table, and the labels below it."""
    has_votes = any(one.agreement is not None for one in summaries)
    is_waiting = any(one.n_waiting for one in summaries)
    cells = [_cells(one, has_votes=has_votes, is_waiting=is_waiting) for one in summaries]
    screen.table([*cells[0]], ([*each.values()] for each in cells))
    labels = {one.judge: [f"{name} {count}" for name, count in one.labels.items()] for one in summaries}
    screen.text(*(f"{judge}: {', '.join(counts)}" for judge, counts in labels.items() if counts))
    for code in ("evidence_not_found", "logprobs_unusable"):
        counted = ((one.judge, getattr(one, code)) for one in summaries)
        screen.text(*(f"{judge}: {code} {count}" for judge, count in counted if count))


def _cells(summary: Summary, *, has_votes: bool, is_waiting: bool) -> dict[str, str]:
    """A judge's cells by column; more of them where verdicts come from votes, or wait for batches."""
    bounds, calls = summary.bounds, summary.calls_per_row
    cells = {
        "judge": summary.judge,
        "mean": as_text(summary.mean),
        "ok": str(summary.n_ok),
        "error": str(summary.n_error),
        "n/a": str(summary.n_not_applicable),
        **({"waiting": str(summary.n_waiting)} if is_waiting else {}),
        "coverage": _rounded_down(summary.coverage),
        "bounds": "-" if bounds is None else "..".join(map(as_text, bounds)),
    }
    if has_votes:
        cells["agreement"] = _rounded_down(summary.agreement)
        cells["calls/row"] = "-" if calls is None else f"{calls:.2f}"
    return cells


def _rounded_down(share: float | None) -> str:
    """A share with three decimals: 1.000 means every row, or every vote."""
    return "-" if share is None else f"{floor(share * 1000) / 1000:.3f}"


def _errors(totals: RunTotals) -> Iterator[str]:
    """How often each error occurred, with the first of each, and the rows that could not be read."""
    for one in totals.tally.summaries():
        for code, count in one.errors.items():
            first = in_options(totals.first_errors[one.judge, code])
            yield f"{one.judge}: {code} {count}, the first is {first}"
    if totals.n_unreadable:
        yield f"unreadable rows: {totals.n_unreadable}"
        yield from (f"  {message}" for message in totals.unreadable)
    if totals.n_unreadable > MAX_UNREADABLE:
        yield "  ..."


def _absent(judges: Sequence[AnyJudge], totals: RunTotals, rows: CaseFile) -> Iterator[str]:
    """Which inputs no row has, for each judge that could not judge anything."""
    idle = {one.judge for one in totals.tally.summaries() if one.n and not one.n_ok}
    shown = ", ".join(sorted(rows.keys)[:MAX_KEYS]) or "nothing"
    for judge in judges:
        absent = [each.field for each in judge.inputs if each.required and rows.lacks(each.field)]
        if absent and judge.name in idle:
            remedy = f"rename what has another name, or use --fields {absent[0]}=PATH"
            yield f"{judge.name}: no row has {', '.join(absent)}; the rows have {shown}: {remedy}"


def show_case(screen: Screen, case_id: str, verdicts: Sequence[Verdict], sources: Sequence[Document]) -> None:
    """Print a case's verdicts in full, by judge."""
    if not verdicts:
        screen.text(f"\nno verdict is on a case with the id {case_id!r}")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.judge):
        whole = [f"  {name}: {value}" for name, value in _fields(verdict).items() if value]
        parts = (line for part in verdict.parts for line in _part_lines(part, sources))
        screen.text(*whole, *parts, heading=f"\n{case_id}, {verdict.judge or 'no judge'}")


def _fields(verdict: Verdict) -> dict[str, str]:
    """What is known of the verdict as a whole; "" is not shown."""
    passed = "passed" if verdict.passed else "not passed"
    weakest = "" if verdict.weakest is None else f"weakest {verdict.weakest:.4g}, "
    shares = (verdict.distribution or {}).items()
    after = f"after {verdict.decided_after} votes"
    return {
        "status": verdict.status.replace("_", " "),
        "error": _error(verdict.error),
        "score": "" if verdict.score is None else f"{verdict.score:.4g}, {weakest}{passed}",
        "value": "" if verdict.value is None else f"{verdict.value:g}",
        "label": verdict.label or "",
        "expected": "" if verdict.expected is None else f"{verdict.expected:.4g}",
        "distribution": ", ".join(f"{name} {share:.3g}" for name, share in shares),
        **{f"vote {number}": _vote(vote) for number, vote in enumerate(verdict.votes, 1)},
        "spread": "" if verdict.spread is None else f"{verdict.spread:.3f}",
        "agreement": "" if verdict.agreement is None else f"{verdict.agreement:.3f}, {after}",
        "reason": verdict.reason or "",
        "warnings": ", ".join(verdict.warnings),
    }


def _vote(vote: Vote) -> str:
    """Who voted, and what the vote says."""
    version = f"@{vote.prompt.version}" if vote.prompt else ""
    voter = f"{vote.judge}{version}, {vote.model or 'no model'}"
    if vote.error:
        return f"{voter}: error {_error(vote.error)}"
    label = f", label {vote.label}" if vote.label else ""
    if vote.score is None:
        return f"{voter}: not applicable{label}"
    weakest = "" if vote.weakest is None else f", weakest {vote.weakest:.4g}"
    return f"{voter}: score {vote.score:.4g}{weakest}{label}, {'passed' if vote.passed else 'not passed'}"


def _error(error: Failure | None) -> str:
    return "" if error is None else f"{error.code}: {in_options(error.message)}"


def _part_lines(part: Part, sources: Sequence[Document]) -> list[str]:
    score = "not applicable" if part.score is None else f"score {part.score:.4g}"
    quotes = (line for one in part.evidence for line in (f"    quote: {one.quote}", _source_of(one, sources)))
    reasons = [f"    reason: {part.reason}"] if part.reason else []
    return [f"  {part.name}: {score}, value {part.value_text}", *reasons, *quotes]


def _source_of(found: Evidence, sources: Sequence[Document]) -> str:
    """Where a quote was found, and the source's own text there; no text if the source is not at hand."""
    place = f"context[{found.document}][{found.start}:{found.end}]"
    source = "".join(one.content for one in sources[found.document : found.document + 1])
    return f"    {place}, {'exact' if found.exact else 'near'}: {source[found.start : found.end]}"
