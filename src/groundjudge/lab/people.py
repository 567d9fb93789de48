"""How well people agree with each other, which is about as well as a judge can agree with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean
from typing import TypeAlias

from groundjudge.lab.figures import cohen_kappa, confusion_cells
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
    all_opinions: dict[str, list[bool]] = {}
    for labels_of_person in labels.annotators.values():
        grounded_cases = find_grounded(judge, replace(labels, by_case=labels_of_person), label_threshold)
        for case_id, is_grounded in grounded_cases.items():
            if is_grounded is not None:
                all_opinions.setdefault(case_id, []).append(is_grounded)
    opinions = {
        case_id: case_opinions for case_id, case_opinions in all_opinions.items() if len(case_opinions) > 1
    }
    if not opinions:
        return None
    weights = dict.fromkeys(opinions, 1.0)
    if labels.drawn_rows:
        weights = {case_id: labels.drawn_rows[case_id].weight for case_id in opinions}
    mean_weight = fmean(weights.values())
    pairs_of_people: list[WeightedPair] = []
    pairs_with_judge: list[WeightedPair] = []
    for case_id, case_opinions in opinions.items():
        weight = weights[case_id]
        # m people form m (m - 1) / 2 pairs, which count as m / 2 (Krippendorff, 1970).
        pair_weight = weight / mean_weight / (len(case_opinions) - 1)
        for first, second in combinations(case_opinions, 2):
            pairs_of_people.append((first, second, pair_weight))
        outcome = passed.get(case_id)
        if outcome is not None:
            pairs_with_judge += [(opinion, outcome, weight) for opinion in case_opinions]
    agreements = [first == second for first, second, _ in pairs_of_people]
    pair_weights = [weight for _, _, weight in pairs_of_people]
    return People(
        n=len(opinions),
        same=fmean(agreements, pair_weights),
        kappa=_cohen_kappa(pairs_of_people),
        judge_kappa=_cohen_kappa(pairs_with_judge),
    )


def _cohen_kappa(pairs: Sequence[WeightedPair]) -> float | None:
    firsts = np.array([first for first, _, _ in pairs], dtype=np.bool_)
    seconds = np.array([second for _, second, _ in pairs], dtype=np.bool_)
    weights = np.array([weight for _, _, weight in pairs])
    # With a single label, all agreement is by chance, and kappa is 0 / 0.
    opinions = np.concatenate([firsts, seconds])
    if opinions.all() or not opinions.any():
        return None
    cells = weights[None, :] @ confusion_cells(firsts, seconds)
    return float(cohen_kappa(*cells.T)[0])
