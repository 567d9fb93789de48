"""Tables of figures: their names and order in `agree`, `calibrate` and `compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from textwrap import shorten
from typing import TYPE_CHECKING

from groundjudge.cli.screen import as_text, below_one

if TYPE_CHECKING:  # the statistics libraries are loaded when a command runs
    from groundjudge.lab.figures import Bounds, Figure
    from groundjudge.lab.proportions import Rate

MAX_REASON = 300
"""Maximum length of a reason in characters: it may be as long as a reply, and each listed case has one."""

SECTIONS: Mapping[str, Mapping[str, str]] = {
    "not grounded": {
        "recall_not_grounded": "recall",
        "precision_not_grounded": "precision",
        "f1_not_grounded": "F1",
    },
    "grounded": {"recall": "recall", "precision": "precision", "f1": "F1"},
    "both": {
        "balanced_accuracy": "balanced accuracy",
        "macro_f1": "macro-F1",
        "accuracy": "accuracy",
        "kappa": "Cohen's kappa",
    },
    "scores": {
        "roc_auc": "ROC AUC",
        "spearman": "Spearman",
        "mean_score": "mean score",
        "pass_rate": "pass rate",
    },
}
"""The sections of a table, the class whose failures matter first, each with its figures and their names."""


def shorten_reason(reason: str) -> str:
    """Put a reason on one line, shortened for a list of cases."""
    return shorten(reason, MAX_REASON, placeholder=" ...")


def short_name(figure: str) -> str:
    """Name a figure inside its section."""
    return SECTIONS[_section_of(figure)][figure]


def full_name(figure: str) -> str:
    """Name a figure outside its section."""
    section = _section_of(figure)
    name = SECTIONS[section][figure]
    if section in {"not grounded", "grounded"}:
        return f"{name} of {section}"
    return name


def _section_of(figure: str) -> str:
    """Return the heading that a figure is listed under: "roc_auc" -> "scores"."""
    for section, figure_names in SECTIONS.items():
        if figure in figure_names:
            return section
    raise KeyError(figure)


def rows_in_sections(cells: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Put rows of a table under the headings of their sections.

    Args:
        cells: the cells of each figure, and of headings that have cells.
    """
    width = max((len(row) for row in cells.values()), default=0)
    rows: list[list[str]] = []
    for section, figure_names in SECTIONS.items():
        section_rows: list[list[str]] = []
        for figure, name in figure_names.items():
            if figure in cells:
                section_rows.append([f"  {name}", *cells[figure]])
        if section_rows:
            heading_cells = cells.get(section, [""] * width)
            rows.append([section, *heading_cells])
            rows += section_rows
    return rows


def bounds_text(bounds: Bounds | None) -> str:
    """Write the bounds of a figure; "" if it has none."""
    if not bounds:
        return ""
    low, high = bounds
    return f"{as_text(low)}..{as_text(high)}"


def judge_notices(judge: str, notices: Iterable[str]) -> list[str]:
    """Put the judge's name in front of each notice about its figures."""
    return [f"{judge}: {notice}" for notice in notices]


def interval_note(group: str | None) -> str:
    """Say what the intervals are, and which units are resampled."""
    units = "rows. If some rows belong together, name the key that they share with --group."
    if group:
        units = f"groups with the same {group}."
    return f"In brackets: 95% intervals, for independent {units}"


def with_interval(figure: Figure | Rate, *, signed: bool = False) -> str:
    """Write a figure with its interval in brackets."""
    if figure.value is None:
        return "undefined"
    value = below_one(figure.value)
    text = f"{value:+.3f}" if signed else f"{value:.3f}"
    if figure.low is None or figure.high is None:
        return text
    low = _round_bound(figure.low, ROUND_FLOOR)
    high = _round_bound(figure.high, ROUND_CEILING)
    return f"{text} [{low}, {high}]"


def interval_ends(figure: Figure) -> str:
    """Write the ends of a threshold's interval, such as "0.4 to 0.6"; "" if it has none."""
    if figure.low is None or figure.high is None:
        return ""
    return f"{figure.low:g} to {figure.high:g}"


def _round_bound(bound: float, rounding: str) -> Decimal:
    """Round an end of an interval to three decimals, outwards, so that it never looks narrower than it is."""
    exact = Decimal(f"{bound:.9f}")  # without the errors of binary fractions
    return exact.quantize(Decimal("0.001"), rounding) + 0  # + 0: avoids a minus before zero
