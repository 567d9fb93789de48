"""Agreement label by label, where people and judge answer in the same words."""

from __future__ import annotations

from collections import Counter

from groundjudge.analysis.figures import Bootstrap, Figure, Floats, numbered, weighted_kappa, weighted_mean
from groundjudge.analysis.joined import Joined
from groundjudge.analysis.libraries import np
from groundjudge.verdict import Frozen, Score

NO_COMMON_LABEL = "(no label)"
"""The column of panels whose votes have no common label."""


class LabelAgreement(Frozen):
    """How often people and judge give the same label.

    Attributes:
        labels: those that people or the judge gave, by rising score, last those that mean "not applicable".
        scores: the score of each, 0..1; None for "not applicable".
        columns: `labels`, and `NO_COMMON_LABEL` if a verdict of a panel has none.
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


def measure_labels(joined: Joined, bootstrap: Bootstrap) -> LabelAgreement | None:
    """Compare people's labels with the judge's; None if people's labels are not in words."""
    pairs, scores = joined.paired, joined.words.scores
    if not pairs:
        return None
    counts = Counter((pair.people, pair.judge or NO_COMMON_LABEL) for pair in pairs)
    labels = [name for name in scores if any(name in pair for pair in counts)]
    columns = (*labels, NO_COMMON_LABEL) if any(pair.judge is None for pair in pairs) else (*labels,)
    people = Counter(pair.people for pair in pairs)
    majority = max(labels, key=people.__getitem__)
    said, judged = (
        np.array([scores.get(name) for name in side], dtype=np.float64)
        for side in zip(*((pair.people, pair.judge or NO_COMMON_LABEL) for pair in pairs), strict=True)
    )
    scored = ~np.isnan(said + judged)
    same = np.array([pair.people == pair.judge for pair in pairs], dtype=np.float64)

    def figures(weights: Floats) -> dict[str, Floats]:
        kappa = weighted_kappa(weights[:, scored], said[scored], judged[scored])
        return {"same": weighted_mean(weights, same), "weighted_kappa": kappa}

    return LabelAgreement(
        labels=tuple(labels),
        scores=tuple(scores[name] for name in labels),
        columns=columns,
        counts=tuple(tuple(counts[name, column] for column in columns) for name in labels),
        n=len(pairs),
        n_scored=int(scored.sum()),
        majority=majority,
        majority_share=people[majority] / len(pairs),
        **bootstrap.figures(figures, numbered([pair.group for pair in pairs])),
    )
