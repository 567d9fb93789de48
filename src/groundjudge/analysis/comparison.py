"""Paired comparison of two judges, prompts or models on the same cases."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan

from groundjudge.analysis.agreement import sample_of, verdict_passes
from groundjudge.analysis.figures import (
    AGREEMENT_FIGURES,
    LABEL_FREE_FIGURES,
    RESAMPLES,
    Figure,
    Sample,
    numbered,
    paired_differences,
    point_estimates,
)
from groundjudge.analysis.joined import Joined, join
from groundjudge.analysis.labels import LabelError, Labels
from groundjudge.analysis.libraries import np
from groundjudge.analysis.words import words_of
from groundjudge.runs.verdict_file import last_of_each
from groundjudge.verdict import Finite, Frozen, Score, Verdict


class Comparison(Frozen):
    """The figures of two judges on the same cases, and their differences.

    Attributes:
        first: the name of the first judge.
        second: the name of the second judge, the same where prompts or models are compared.
        n: cases with a score from both. Mean score and pass rate are computed from these.
        n_labelled: those of them that have a label. All other figures are computed from these.
        n_first_only: cases that only the first gave a score.
        n_second_only: cases that only the second gave a score.
        n_neither: cases that neither gave a score: errors, nothing to judge, missing inputs.
        n_changed: cases whose content differs between the two under one id; they are left out.
        n_groups: how many independent groups the n cases belong to.
        same_outcome: the share of the n cases that passed with both or with neither, 0..1; None if
            there are none.
        values: the figure of the first and of the second, by name; None where it is undefined. See
            `figures.ALL_FIGURES`.
        differences: the second minus the first, by name, with paired bootstrap intervals.
    """

    first: str
    second: str
    n: int
    n_labelled: int
    n_first_only: int
    n_second_only: int
    n_neither: int
    n_changed: int
    n_groups: int
    same_outcome: Score | None
    values: Mapping[str, tuple[Finite | None, Finite | None]]
    differences: Mapping[str, Figure]


def compare(  # noqa: PLR0913  each option changes the figures
    first: Iterable[Verdict],
    second: Iterable[Verdict],
    labels: Labels | None = None,
    *,
    thresholds: tuple[float | None, float | None] = (None, None),
    label_threshold: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare the verdicts of two judges case by case (see `figures.paired_differences`).

    Args:
        first: the verdicts of one judge.
        second: those of another judge, or of the same with another prompt or model.
        labels: human labels, if there are any; their groups count even for unlabelled cases.
        thresholds: for each judge the lowest score, 0..1, that passes; None: whether a row passed
            in its run counts.
        label_threshold: the lowest label that means grounded, for graded labels.
        resamples: how many bootstrap resamples to draw for the intervals.
        seed: of the bootstrap.

    Raises:
        LabelError: `bad_option` if either side does not come from exactly one judge;
            `unreadable_label`.
    """
    labels = labels or Labels({})
    sides = tuple(_side(verdicts) for verdicts in (first, second))
    one, other = sides
    labels = replace(labels, words=labels.words or words_of([*one.verdicts, *other.verdicts]))
    in_both = [case_id for case_id in one.scored if case_id in other.scored]
    both = [case_id for case_id in in_both if _same_case(one.scored[case_id], other.scored[case_id])]
    samples = [
        _sample(side, both, labels, threshold) for side, threshold in zip(sides, thresholds, strict=True)
    ]
    labelled = [_labelled(join(side.verdicts, labels)[0], frozenset(both)) for side in sides]
    found = _compared(samples, LABEL_FREE_FIGURES, resamples, seed)
    if labelled[0].labelled:
        labelled_samples = [
            sample_of(joined, threshold=threshold, label_threshold=label_threshold)
            for joined, threshold in zip(labelled, thresholds, strict=True)
        ]
        found |= _compared(labelled_samples, AGREEMENT_FIGURES, resamples, seed)
    return Comparison(
        first=one.judge,
        second=other.judge,
        n=len(both),
        n_labelled=len(labelled[0].labelled),
        n_first_only=len(one.scored) - len(in_both),
        n_second_only=len(other.scored) - len(in_both),
        n_neither=len((one.case_ids | other.case_ids) - one.scored.keys() - other.scored.keys()),
        n_changed=len(in_both) - len(both),
        n_groups=samples[0].n_groups,
        same_outcome=float((samples[0].passed == samples[1].passed).mean()) if both else None,
        values={name: values for name, (values, _) in found.items()},
        differences={name: difference for name, (_, difference) in found.items()},
    )


@dataclass(frozen=True)
class _Side:
    """The last verdict of one judge on every case, and those with a score by case id."""

    judge: str
    verdicts: Sequence[Verdict]
    scored: Mapping[str, Verdict]

    @property
    def case_ids(self) -> set[str]:
        return {verdict.case_id for verdict in self.verdicts if verdict.case_id}


def _side(verdicts: Iterable[Verdict]) -> _Side:
    last, _ = last_of_each(verdicts)
    scored = {verdict.case_id: verdict for verdict in last if verdict.case_id and verdict.score is not None}
    return _Side(_judge_of(last), last, scored)


def _judge_of(verdicts: Sequence[Verdict]) -> str:
    judges = sorted({verdict.judge for verdict in verdicts})
    if len(judges) != 1:
        message = (
            f"compare takes the verdicts of one judge on each side, not of {', '.join(judges) or 'none'}"
        )
        raise LabelError("bad_option", message)
    return judges[0]


def _same_case(first: Verdict, second: Verdict) -> bool:
    """Whether two verdicts under one id are on the same content, as far as their keys say."""
    hashes = {verdict.key.rpartition("-")[2] for verdict in (first, second) if verdict.key}
    return len(hashes) <= 1


def _sample(side: _Side, case_ids: Sequence[str], labels: Labels, threshold: float | None) -> Sample:
    """The verdicts on these cases as columns, without labels."""
    verdicts = [side.scored[case_id] for case_id in case_ids]
    return Sample(
        scores=np.array([verdict.score for verdict in verdicts], dtype=np.float64),
        passed=np.array([verdict_passes(verdict, threshold) for verdict in verdicts], dtype=np.bool_),
        positive=None,
        graded=None,
        groups=numbered([labels.groups.get(case_id, f"case {case_id}") for case_id in case_ids]),
    )


def _labelled(joined: Joined, case_ids: Collection[str]) -> Joined:
    """The labelled verdicts on these cases, sorted by case id so that both sides have one order."""
    rows = sorted((row for row in joined.labelled if row.case_id in case_ids), key=lambda row: row.case_id)
    return replace(joined, labelled=tuple(rows))


def _compared(
    samples: Sequence[Sample], names: Iterable[str], resamples: int, seed: int
) -> dict[str, tuple[tuple[float | None, float | None], Figure]]:
    """By figure name: the values of both samples, and their difference with its interval."""
    first, second = samples
    before, after = point_estimates(first), point_estimates(second)
    found = paired_differences(first, second, resamples=resamples, seed=seed)
    return {name: ((_or_none(before[name]), _or_none(after[name])), found[name]) for name in names}


def _or_none(value: float) -> float | None:
    return None if isnan(value) else value
