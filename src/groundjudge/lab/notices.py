"""Notices: reasons to doubt figures, such as too few rows."""

from __future__ import annotations

from collections.abc import Mapping

from groundjudge.lab.columns import Sample
from groundjudge.lab.figures import Figure
from groundjudge.lab.labels import Labels

# A guess's value for the figures that show whether scores and labels run in opposite directions.
GUESS: Mapping[str, float] = {"roc_auc": 0.5, "balanced_accuracy": 0.5, "spearman": 0.0}

# Intervals cover too rarely below these numbers of independent groups: overall; overall if scores matter,
# for correlations and fitted thresholds; and in either class (simulated: tests/lab/test_coverage.py).
FEW_GROUPS = 20
FEW_WITH_SCORES = 50
FEW_IN_CLASS = 10

# Rows that share their context are worth a note above this share of the labelled rows.
MANY_SAME_CONTEXT = 0.1

REVERSED = "worse than guessing: are the labels reversed?"

NOT_INDEPENDENT = "intervals may be too narrow: name the field that says which rows belong together (--group)"


def notices_on(
    sample: Sample, figures: Mapping[str, Figure], labels: Labels, *, scores_matter: bool = False
) -> tuple[str, ...]:
    """Give the reasons to doubt figures, as sentences.

    Args:
        sample: the rows that they are computed from.
        figures: the figures.
        labels: all labels; their rows may share a context.
        scores_matter: whether a threshold was fitted to the scores.
    """
    notices: list[str] = []
    if is_reversed(figures):
        notices.append(REVERSED)
    few_rows = few_rows_notice(sample, scores_matter=scores_matter)
    if few_rows is not None:
        notices.append(few_rows)
    n_same = labels.n_same_context
    if n_same > MANY_SAME_CONTEXT * len(labels.by_case):
        notices.append(f"{n_same} labelled rows share their context with others: {NOT_INDEPENDENT}")
    return tuple(notices)


def is_reversed(figures: Mapping[str, Figure]) -> bool:
    """Say whether a judge is clearly worse than guessing, as if the labels were reversed."""
    for name, guess in GUESS.items():
        high = figures.get(name, Figure()).high
        if high is not None and high < guess:
            return True
    return False


def few_rows_notice(sample: Sample, *, scores_matter: bool = False) -> str | None:
    """Say that there are too few independent rows for the intervals; None if there are enough."""
    if sample.n_groups == 1:
        single = "group" if sample.groups.size > 1 else "row"
        return f"no intervals: a single {single}"
    least_groups = FEW_GROUPS
    if scores_matter or sample.graded is not None:
        least_groups = FEW_WITH_SCORES
    if sample.n_groups < least_groups:
        return f"only {sample.n_groups} independent rows or groups: intervals may be too narrow"
    if sample.positive is None:
        return None
    rarer_class, n_rarer = sample.rarer_class
    # A class without rows needs no notice: the figures that need it are undefined.
    if n_rarer == 0 or n_rarer >= FEW_IN_CLASS:
        return None
    rows_or_groups = "row or group" if n_rarer == 1 else "rows or groups"
    return f"only {n_rarer} independent {rows_or_groups} labelled {rarer_class}: intervals may be too narrow"
