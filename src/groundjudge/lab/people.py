"""How far people agree with each other, which is about as far as a judge can agree with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean

from groundjudge.lab.labels import Labels
from groundjudge.lab.libraries import metrics
from groundjudge.verdict import Finite, Frozen, Score


class People(Frozen):
    """How far people agree on rows that two of them labelled, each row weighted by how many it stands for.

    Attributes:
        n: the rows.
        same: the share of them with the same label.
        kappa: Cohen's kappa (1960); None if both gave one label throughout.
        alpha: Krippendorff's alpha for categories (1970); None likewise.
        judge_kappa: the kappa of the judge and one of them, on average, on those of the rows that it judged.
            People's own kappa is about as high as it can be.
    """

    n: int
    same: Score
    kappa: Finite | None
    alpha: Finite | None
    judge_kappa: Finite | None


def measure_people(
    labels: Labels,
    grounded: Callable[[Labels], Mapping[str, bool | None]],
    passed: Mapping[str, bool | None],
) -> People | None:
    """Compare people with each other, and the judge with them, on the rows with two labels; None without any.

    Args:
        labels: people's; those of a drawn sample count by their weights.
        grounded: whether labels call each case grounded.
        passed: whether the judge does; None for an error.
    """
    of_case: dict[str, list[bool]] = {}
    for given in labels.annotators.values():
        for case_id, label in grounded(replace(labels, by_case=given)).items():
            if label is not None:
                of_case.setdefault(case_id, []).append(label)
    twice = {case_id: found for case_id, found in of_case.items() if len(found) > 1}
    if not twice:
        return None
    weights = {each: labels.drawn[each][1] if labels.drawn else 1.0 for each in twice}
    mean_weight = fmean(weights.values())
    pairs = [
        # Of m people there are m (m - 1) / 2 pairs, which count as m / 2 (Krippendorff, 1970).
        (*pair, weights[each] / mean_weight / (len(found) - 1))
        for each, found in twice.items()
        for pair in combinations(found, 2)
    ]
    with_judge = [
        (label, outcome, weights[each])
        for each, found in twice.items()
        if (outcome := passed.get(each)) is not None
        for label in found
    ]
    return People(
        n=len(twice),
        same=fmean((one == other for one, other, _ in pairs), [weight for *_, weight in pairs]),
        kappa=_kappa(pairs),
        alpha=_alpha(pairs),
        judge_kappa=_kappa(with_judge),
    )


def _kappa(pairs: Sequence[tuple[bool, bool, float]]) -> float | None:
    one, other, weights = zip(*pairs, strict=True) if pairs else ((), (), ())
    if not {True, False} <= {*one, *other}:
        return None
    return float(metrics.cohen_kappa_score(one, other, sample_weight=weights))


def _alpha(pairs: Sequence[tuple[bool, bool, float]]) -> float | None:
    """One minus the disagreement that is there by the one that chance would give."""
    total = 2 * sum(weight for *_, weight in pairs)
    grounded = sum((one + other) * weight for one, other, weight in pairs)
    by_chance = 2 * grounded * (total - grounded) / (total - 1)
    apart = 2 * sum(weight for one, other, weight in pairs if one != other)
    return 1 - apart / by_chance if by_chance else None
