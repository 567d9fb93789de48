"""How well people agree with each other, which is about as well as a judge can agree with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import TypeAlias

from groundjudge.lab.formulas import cohen_kappa, confusion_cells
from groundjudge.lab.labels import Labels, find_grounded
from groundjudge.lab.libraries import np
from groundjudge.verdict import Finite, Frozen, Score

# Two opinions on a row (whether each calls it grounded), and how much the pair counts.
WeightedPair: TypeAlias = tuple[bool, bool, float]


class People(Frozen):
    """How well people agree on rows that two of them labelled, each weighted by the rows it represents.

    Attributes:
        n: the number of rows.
        same: the share of them with the same label.
        kappa: Cohen's kappa (1960); None if both gave the same label throughout.
        judge_kappa: the average kappa of the judge and one person, on the rows that the judge judged.
            People's own kappa is about the highest it can reach.
    """

    n: int
    same: Score
    kappa: Finite | None
    judge_kappa: Finite | None


def measure_people(
    judge: str, labels: Labels, label_threshold: float | None, passed: Mapping[str, bool | None]
) -> People | None:
    """Compare people with each other, and the judge with them, on rows with two labels; None without any.

    Args:
        judge: the judge's name.
        labels: people's labels; those of a drawn sample count by their weights.
        label_threshold: the lowest label that means grounded; None: as for `agree`.
        passed: whether each case passed the judge; None for an error.
    """
    opinions_on_case: dict[str, list[bool]] = {}
    for labels_of_person in labels.annotators.values():
        grounded = find_grounded(judge, replace(labels, by_case=labels_of_person), label_threshold)
        for case_id, is_grounded in grounded.items():
            opinions_on_case.setdefault(case_id, []).append(is_grounded)
    weights = [
        labels.weight_of(case_id) for case_id, opinions in opinions_on_case.items() if len(opinions) > 1
    ]
    if not weights:
        return None
    mean_weight = fmean(weights)
    is_same: list[bool] = []
    pair_weights: list[float] = []
    pairs_of_people: list[WeightedPair] = []
    pairs_with_judge: list[WeightedPair] = []
    for case_id, opinions in opinions_on_case.items():
        if len(opinions) == 1:
            continue
        weight = labels.weight_of(case_id)
        # m people form m (m - 1) / 2 pairs, which count as m / 2 (Krippendorff, 1970).
        pair_weight = weight / mean_weight / (len(opinions) - 1)
        for first, second in combinations(opinions, 2):
            is_same.append(first == second)
            pair_weights.append(pair_weight)
            pairs_of_people.append((first, second, pair_weight))
        outcome = passed.get(case_id)
        if outcome is not None:
            pairs_with_judge += [(opinion, outcome, weight) for opinion in opinions]
    return People(
        n=len(weights),
        same=fmean(is_same, pair_weights),
        kappa=_cohen_kappa(pairs_of_people),
        judge_kappa=_cohen_kappa(pairs_with_judge),
    )


def _cohen_kappa(pairs: Sequence[WeightedPair]) -> float | None:
    """Compute Cohen's kappa (1960); None without pairs, and if all opinions are the same."""
    if not pairs:
        return None
    firsts, seconds, weights = np.array(pairs, dtype=np.float64).T
    # With a single label, all agreement is by chance, and kappa is 0 / 0.
    if (firsts == firsts[0]).all() and (seconds == firsts[0]).all():
        return None
    cells = weights[None, :] @ confusion_cells(firsts.astype(bool), seconds.astype(bool))
    return float(cohen_kappa(*cells.T)[0])
