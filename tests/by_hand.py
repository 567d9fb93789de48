"""The figures of agreement by their definitions, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

Row = tuple[float, bool, bool]
"""A score, whether it passed, and whether people called it grounded."""


def by_hand(rows: list[Row]) -> dict[str, Fraction | None]:
    """The figures by their definitions, in fractions; None where one divides by nothing."""
    n = len(rows)
    hits = sum(passed and said for _, passed, said in rows)
    false_passes = sum(passed and not said for _, passed, said in rows)
    misses = sum(said and not passed for _, passed, said in rows)
    rejections = n - hits - false_passes - misses
    positives, negatives = hits + misses, false_passes + rejections

    def share(part: int | Fraction, whole: int | Fraction) -> Fraction | None:
        return Fraction(part) / whole if whole else None

    agreed = Fraction(hits + rejections, n)
    chance = Fraction((hits + false_passes) * positives + (misses + rejections) * negatives, n * n)
    recall, rejected = share(hits, positives), share(rejections, negatives)
    two = positives > 0 and negatives > 0
    pairs = [(a, b) for (a, _, up), (b, _, down) in product(rows, rows) if up and not down]
    won = sum((Fraction(a > b) + Fraction(a == b, 2) for a, b in pairs), Fraction())
    return {
        "accuracy": agreed,
        "balanced_accuracy": (recall + rejected) / 2 if recall is not None and rejected is not None else None,
        "precision": share(hits, hits + false_passes),
        "recall": recall,
        "f1": share(2 * hits, 2 * hits + false_passes + misses),
        "kappa": share(agreed - chance, 1 - chance) if two else None,
        "roc_auc": share(won, len(pairs)),
        "spearman": None,
    }
