"""What a run amounts to, as the command line shows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import TYPE_CHECKING

from groundjudge.case import Document
from groundjudge.cli.terminal import PIPED_WIDTH, tell
from groundjudge.runs.cost import Prices
from groundjudge.runs.resume import Earlier
from groundjudge.runs.summary import MISSING, Summary, Tally
from groundjudge.verdict import Usage, Verdict

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

LISTED = 20
"""How many unreadable rows are listed at most."""

COLUMNS = ("mean", "ok", "error", "n/a", "missing", "coverage", "bounds")

LABELS_FROM = 110
"""Columns from which on the labels have room in the table."""


@dataclass
class Outcome:
    """What a run amounts to, as far as it is shown."""

    tally: Tally
    wanted: frozenset[str]
    n_unreadable: int = 0
    unreadable: list[str] = field(default_factory=list[str])
    first: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    in_full: dict[str, list[Verdict]] = field(default_factory=dict[str, list[Verdict]])
    stopped: str = ""
    n_new: int = 0
    spent: Usage | None = None

    def add(self, verdict: Verdict, *, is_new: bool = True) -> None:
        """Take in one more verdict."""
        self.n_new += is_new
        if is_new and verdict.usage:
            self.spent = self.spent + verdict.usage if self.spent else verdict.usage
        if verdict.case_id in self.wanted:
            self.in_full.setdefault(verdict.case_id, []).append(verdict)
        if verdict.judge:
            self.tally.add(verdict)
        if verdict.error and verdict.judge:
            told = f"{verdict.case_id}: {verdict.error.message}"
            self.first.setdefault((verdict.judge, verdict.error.code), told)
        elif verdict.error:
            self.n_unreadable += 1
            if self.n_unreadable <= LISTED:
                self.unreadable.append(verdict.error.message)


def show_errors(console: Console, outcome: Outcome) -> None:
    """How often each error came, with the first of each, and the rows that could not be read."""
    for one in outcome.tally.summaries():
        for code, count in {**one.errors, MISSING: one.n_missing}.items():
            if count:
                tell(console, f"{one.judge}: {code} {count}, the first is {outcome.first[one.judge, code]}")
    if outcome.n_unreadable:
        tell(console, f"unreadable rows: {outcome.n_unreadable}")
    for message in outcome.unreadable:
        tell(console, message, margin=2)
    if outcome.n_unreadable > LISTED:
        tell(console, "...", margin=2)


def show_course(console: Console, outcome: Outcome, earlier: Earlier | None, prices: Prices | None) -> None:
    """What the run found done already, and what it spent."""
    if earlier is not None:
        tell(console, f"{earlier.n_used} verdicts were there already, {outcome.n_new} are new")
    if earlier is not None and earlier.n_unused and not outcome.stopped:
        told = (
            "earlier verdicts are on cases that are not there, or were different then: they stay in the file"
        )
        tell(console, f"{earlier.n_unused} {told} and are not counted")
    if outcome.spent:
        tell(console, _spent(outcome.spent, outcome.n_new, prices))


def _spent(spent: Usage, n_verdicts: int, prices: Prices | None) -> str:
    a_verdict = round(spent.total_tokens / n_verdicts)
    told = f"tokens: {spent.prompt_tokens:,} prompt, {spent.completion_tokens:,} completion"
    cost = f", cost: {prices.of(spent):.4f}" if prices else ""
    return f"{told}, {a_verdict:,} a verdict{cost}"


def show_summaries(console: Console, summaries: Sequence[Summary]) -> None:
    """A table, or a line per judge where a table has no room; the labels in it or below it."""
    wide = console.width >= LABELS_FROM
    table = _table(summaries, with_labels=wide)
    natural = console.measure(table, options=console.options.update_width(PIPED_WIDTH)).maximum
    if wide or natural <= console.width:
        console.print(table)
    else:
        for one in summaries:
            told = (f"{name} {cell}" for name, cell in zip(COLUMNS, _cells(one), strict=True))
            tell(console, f"{one.judge}: {', '.join(told)}")
    for one in summaries:
        if one.labels and not wide:
            tell(console, f"{one.judge}: {_counted(one.labels)}")


def _table(summaries: Iterable[Summary], *, with_labels: bool) -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table("judge", box=None, padding=(0, 1, 0, 0))
    for name in COLUMNS:
        table.add_column(name, justify="right", no_wrap=True)
    if with_labels:
        table.add_column("labels")
    for one in summaries:
        table.add_row(one.judge, *_cells(one), *([_counted(one.labels)] if with_labels else []))
    return table


def _cells(summary: Summary) -> tuple[str, ...]:
    """What stands in the table's columns for a judge."""
    mean, bounds = summary.mean, summary.bounds
    return (
        "-" if mean is None else f"{mean:.3f}",
        str(summary.n_ok),
        str(summary.n_error),
        str(summary.n_not_applicable),
        str(summary.n_missing),
        f"{floor(summary.coverage * 1000) / 1000:.3f}",  # 1.000 for nothing less than all
        "-" if bounds is None else f"{bounds[0]:.3f}..{bounds[1]:.3f}",
    )


def show_case(
    console: Console, case_id: str, verdicts: Sequence[Verdict], sources: Sequence[Document]
) -> None:
    """A case's verdicts in full, by judge."""
    if not verdicts:
        tell(console, f"\nno verdict is on a case called {case_id!r}")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.judge):
        tell(console, f"\n{case_id}, {verdict.judge or 'no judge'}", style="bold")
        for name, told in _told(verdict):
            tell(console, f"{name}: {told}", margin=2)
        for part in verdict.parts:
            tell(console, f"{part.name}: score {part.score:.4g}, value {part.value:g}", margin=2)
            if part.reason:
                tell(console, f"reason: {part.reason}", margin=4)
            for found in part.evidence:
                place = f"context[{found.document}][{found.start}:{found.end}]"
                source = "".join(one.content for one in sources[found.document : found.document + 1])
                tell(console, f"quote: {found.quote}", margin=4)
                alike = "exact" if found.exact else "near"
                tell(console, f"{place}, {alike}: {source[found.start : found.end]}", margin=4)


def _told(verdict: Verdict) -> Iterator[tuple[str, object]]:
    """What there is to say of a verdict as a whole."""
    yield "status", verdict.status.replace("_", " ")
    if verdict.error:
        yield "error", f"{verdict.error.code}: {verdict.error.message}"
    if verdict.score is not None:
        yield "score", f"{verdict.score:.4g}, {'passed' if verdict.passed else 'not passed'}"
    if verdict.value is not None:
        yield "value", f"{verdict.value:g}"
    if verdict.label:
        yield "label", verdict.label
    if verdict.reason:
        yield "reason", verdict.reason
    if verdict.warnings:
        yield "warnings", ", ".join(verdict.warnings)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
