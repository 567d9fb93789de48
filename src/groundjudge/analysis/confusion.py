"""Agreement label by label, where people and judge answer in the same words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import nan

from groundjudge.analysis.figures import RESAMPLES, Bools, Figure, Floats, numbered, with_intervals
from groundjudge.analysis.joined import Joined, PairedLabel
from groundjudge.analysis.libraries import np
from groundjudge.verdict import Frozen, Score

NO_LABEL = "(no label)"
"""The column of panels whose votes have no common label."""

LEAST_VARIANCE = 1e-12
"""A smaller variance is rounding error: people's labels are constant."""


class LabelAgreement(Frozen):
    """How often people and judge give the same label.

    Attributes:
        labels: those that people or the judge gave, by rising score, last those that mean "not applicable".
        scores: the score of each, 0..1; None for "not applicable".
        columns: `labels`, and `NO_LABEL` if a verdict of a panel has none.
        counts: the confusion matrix: a row for each of people's labels, a column for each of the judge's.
        n: the rows in the matrix.
        n_scored: those of them where both labels have a score; the weighted kappa is computed from these.
        same: the share of the n rows with the same label.
        majority: people's most frequent label.
        majority_share: its share of the n rows, which is the `same` of a judge that always gives it.
        weighted_kappa: Cohen's kappa, a disagreement weighted by the squared difference of the two labels'
            scores (Cohen, 1968). Undefined unless the scores of people's labels vary.
    """

    labels: tuple[str, ...]
    scores: tuple[Score | None, ...]
    columns: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]
    n: int
    n_scored: int
    same: Figure
    majority: str
    majority_share: Score
    weighted_kappa: Figure


def measure_labels(joined: Joined, *, resamples: int = RESAMPLES, seed: int = 0) -> LabelAgreement | None:
    """Compare people's labels with the judge's; None if people's labels are not in words.

    For the other arguments see `agreement.agree`.
    """
    pairs, scores = joined.paired, joined.words.scores
    if not pairs:
        return None
    counts = Counter((pair.people, pair.judge or NO_LABEL) for pair in pairs)
    labels = [name for name in scores if any(name in pair for pair in counts)]
    columns = (*labels, NO_LABEL) if any(pair.judge is None for pair in pairs) else (*labels,)
    people = Counter(pair.people for pair in pairs)
    majority = max(labels, key=people.__getitem__)
    figures = _figures(pairs, scores, resamples, seed)
    return LabelAgreement(
        labels=tuple(labels),
        scores=tuple(scores[name] for name in labels),
        columns=columns,
        counts=tuple(tuple(counts[name, column] for column in columns) for name in labels),
        n=len(pairs),
        n_scored=int(_scored(pairs, scores).sum()),
        same=figures["same"],
        majority=majority,
        majority_share=people[majority] / len(pairs),
        weighted_kappa=figures["weighted_kappa"],
    )


def weighted_kappa(weights: Floats, people: Floats, judge: Floats) -> Floats:
    """Compute quadratically weighted kappa for many weighted copies of the same rows; NaN if undefined.

    1 - (mean squared difference) / (the same by chance, from the two distributions of scores).

    Args:
        weights: how often each row counts, shape (resamples, rows).
        people: the scores of people's labels, shape (rows,).
        judge: the scores of the judge's labels, shape (rows,).

    Returns:
        An array of the shape (resamples,).
    """
    total = weights.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        means = weights @ people / total, weights @ judge / total
        spreads = [
            np.maximum(weights @ scores**2 / total - mean**2, 0)
            for scores, mean in zip((people, judge), means, strict=True)
        ]
        observed = weights @ (people - judge) ** 2 / total
        chance = spreads[0] + spreads[1] + (means[0] - means[1]) ** 2
        return np.where(spreads[0] > LEAST_VARIANCE, 1 - observed / chance, nan)


def _figures(
    pairs: Sequence[PairedLabel], scores: Mapping[str, float | None], resamples: int, seed: int
) -> dict[str, Figure]:
    same = np.array([pair.people == pair.judge for pair in pairs], dtype=np.float64)
    scored = _scored(pairs, scores)
    people, judge = (
        np.array([scores.get(name or "") or 0.0 for name in side], dtype=np.float64)[scored]
        for side in zip(*((pair.people, pair.judge) for pair in pairs), strict=True)
    )

    def figures(weights: Floats) -> dict[str, Floats]:
        return {
            "same": weights @ same / weights.sum(axis=1),
            "weighted_kappa": weighted_kappa(weights[:, scored], people, judge),
        }

    estimates = {name: float(value[0]) for name, value in figures(np.ones((1, len(pairs)))).items()}
    return with_intervals(estimates, numbered([pair.group for pair in pairs]), resamples, seed, figures)


def _scored(pairs: Sequence[PairedLabel], scores: Mapping[str, float | None]) -> Bools:
    """Whether both labels have a score, shape (rows,)."""
    both = ((pair.people, pair.judge or "") for pair in pairs)
    return np.array([all(scores.get(name) is not None for name in pair) for pair in both], dtype=np.bool_)
