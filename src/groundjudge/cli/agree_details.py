"""What `agree` prints of labels in words and of votes, judge by judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from groundjudge.cli.figures import figures_table, with_interval
from groundjudge.cli.screen import print_text

if TYPE_CHECKING:  # the statistics libraries and rich are loaded when the command runs
    from rich.console import Console

    from groundjudge.analysis.confusion import LabelAgreement
    from groundjudge.analysis.votes import VoteAgreement


def show_labels(console: Console, judge: str, one: LabelAgreement) -> None:
    """Print the confusion matrix over the labels, and what it says."""
    print_text(console, f"\n{judge}, label by label (rows: people, columns: the judge)", style="bold")
    table = figures_table(console, *one.columns)
    for name, score, counts in zip(one.labels, one.scores, one.counts, strict=True):
        meaning = "not applicable" if score is None else f"{score:g}"
        table.add_row(f"{name} ({meaning})", *map(str, counts))
    console.print(table)
    print_text(
        console,
        f"same label: {with_interval(one.same)} of {one.n} rows; always {one.majority!r}: "
        f"{one.majority_share:.3f}",
    )
    print_text(
        console,
        f"weighted kappa: {with_interval(one.weighted_kappa)} on {one.n_scored} rows whose labels both have "
        "a score; a disagreement weighs the squared difference of the two scores",
    )


def show_votes(console: Console, judge: str, one: VoteAgreement) -> None:
    """Print how accurate the votes are, together and member by member."""
    print_text(console, f"\n{judge}, votes", style="bold")
    table = figures_table(console, "n", "accuracy", "minus panel, same rows")
    for name, part in (("panel", one.whole), ("unanimous votes", one.unanimous), ("split votes", one.split)):
        table.add_row(name, str(part.n), with_interval(part.accuracy), "")
    for member in one.members:
        mark = " *" if member.is_selected else ""
        difference = with_interval(member.difference, signed=True)
        table.add_row(f"{member.name}{mark}", str(member.n), with_interval(member.accuracy), difference)
    console.print(table)
    if any(member.is_selected for member in one.members):
        print_text(
            console,
            "* asked only where earlier votes left the verdict open, which are the harder rows: "
            "for a comparison run with --stop never",
        )
    print_text(console, _sentence(one))


def _sentence(one: VoteAgreement) -> str:
    """Whether the panel is worse than its best member, as far as the rows can tell."""
    best, n = _best(one), one.best.n
    if one.finding == "no_difference":
        return f"No difference in accuracy was found on {n} rows between the panel and {best}."
    gap = abs(one.best.difference.value or 0.0)
    return (
        f"The panel is {one.finding} than {best}: on the same {n} rows its accuracy is {gap:.3f} "
        f"{'lower' if one.finding == 'worse' else 'higher'} (exact McNemar test: p = {one.best.p:.2g})."
    )


def _best(one: VoteAgreement) -> str:
    """The member that the panel is compared with."""
    if len(one.members) == 1:
        return one.best.name
    of_some = " of those always asked" if any(member.is_selected for member in one.members) else ""
    return f"its best member{of_some}, {one.best.name}"
