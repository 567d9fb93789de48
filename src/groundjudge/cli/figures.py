"""Figures on the screen: their names, intervals, tables and the notes below them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from groundjudge.cli.screen import print_text, table_of

if TYPE_CHECKING:  # the statistics libraries and rich are loaded when a command needs them
    from rich.console import Console
    from rich.table import Table

    from groundjudge.analysis.figures import Figure

USUAL_WIDTH = 80
"""Columns of a terminal into which tables must fit."""

FIGURE_NAMES: Mapping[str, str] = {
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


def figures_table(console: Console, *columns: str) -> Table:
    """An empty table: names of figures on the left, and columns of numbers."""
    return table_of(["", *columns], [], gap=2 if console.width > USUAL_WIDTH else 1)


def with_interval(figure: Figure, *, signed: bool = False) -> str:
    """A figure with its interval in brackets."""
    if figure.value is None:
        return "undefined"
    value = f"{figure.value:{'+.3f' if signed else '.3f'}}"
    if figure.low is None or figure.high is None:
        return value
    return f"{value} [{figure.low:.3f}, {figure.high:.3f}]"


def as_text(value: float | None) -> str:
    """A number with three decimals; "-" for None."""
    return "-" if value is None else f"{value:.3f}"


def print_interval_note(console: Console, group: str | None) -> None:
    """Print what the intervals are, and over what they are resampled."""
    over = (
        f"groups with the same {group}."
        if group
        else "rows. If some rows belong together, name the key they share with --group."
    )
    print_text(console, f"In brackets: 95 % intervals, by bootstrap over {over}")


def print_notes(console: Console, notes: Iterable[str]) -> None:
    """Print notes, one per line."""
    for note in notes:
        print_text(console, f"note: {note}")
