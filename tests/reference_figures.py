"""Reference implementation of the agreement figures, from their definitions and in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

Row = tuple[float, bool, bool]
"""A score, whether it passed, and whether the label is positive."""


def reference_figures(rows: list[Row]) -> dict[str, Fraction | None]:
    """The figures of rows without grades; None where a denominator is 0."""
    n = len(rows)
    true_positives = sum(passed and positive for _, passed, positive in rows)
    false_positives = sum(passed and not positive for _, passed, positive in rows)
    false_negatives = sum(positive and not passed for _, passed, positive in rows)
    true_negatives = n - true_positives - false_positives - false_negatives
    positives, negatives = true_positives + false_negatives, false_positives + true_negatives
    passes, failures = true_positives + false_positives, false_negatives + true_negatives

    accuracy = Fraction(true_positives + true_negatives, n)
    chance = Fraction(passes * positives + failures * negatives, n * n)
    recall, specificity = ratio(true_positives, positives), ratio(true_negatives, negatives)
    both_classes = recall is not None and specificity is not None
    f1, f1_not_grounded = (
        ratio(2 * true_positives, passes + positives),
        ratio(2 * true_negatives, failures + negatives),
    )
    return {
        "accuracy": accuracy,
        "balanced_accuracy": None if recall is None or specificity is None else (recall + specificity) / 2,
        "precision": ratio(true_positives, passes),
        "recall": recall,
        "f1": f1,
        "recall_not_grounded": specificity,
        "precision_not_grounded": ratio(true_negatives, failures),
        "f1_not_grounded": f1_not_grounded,
        "macro_f1": (f1 + f1_not_grounded) / 2
        if both_classes and f1 is not None and f1_not_grounded is not None
        else None,
        "kappa": ratio(accuracy - chance, 1 - chance) if both_classes else None,
        "roc_auc": roc_auc(rows),
        **dict.fromkeys(("pearson", "spearman", "kendall")),
    }


def roc_auc(rows: list[Row]) -> Fraction | None:
    """The share of pairs of a positive and a negative row in which the positive scores higher; ties 1/2."""
    pairs = [(a, b) for (a, _, up), (b, _, down) in product(rows, rows) if up and not down]
    return ratio(sum((Fraction(a > b) + Fraction(a == b, 2) for a, b in pairs), Fraction()), len(pairs))


def ratio(part: int | Fraction, whole: int | Fraction) -> Fraction | None:
    return Fraction(part) / whole if whole else None
