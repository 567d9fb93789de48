"""Two judges, prompts or models on the same cases: what the second does better, and how sure that is."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isnan

from groundjudge.analysis.agreement import passes, sample_of
from groundjudge.analysis.figures import (
    AGREEMENT,
    NAMES,
    RESAMPLES,
    Figure,
    Sample,
    differences,
    measure,
    numbered,
)
from groundjudge.analysis.labels import Joined, LabelError, Labels, join
from groundjudge.analysis.libraries import np
from groundjudge.runs.verdict_file import last_of_each
from groundjudge.verdict import Finite, Frozen, Score, Verdict

UNLABELLED = tuple(name for name in NAMES if name not in AGREEMENT)


class Comparison(Frozen):
    """One judge's verdicts beside another's.

    Attributes:
        first, second: the judges' names; equal where prompts or models are compared.
        n: cases that have a score from both. Mean score and pass rate are over these.
        n_labelled: those of them on which people said something; all other figures are over these.
        n_first_only, n_second_only: cases that only one of them gave a score.
        n_neither: cases that neither did: errors, nothing to judge, inputs that were missing.
        n_changed: cases under one id that were not the same when they were judged; they are left out.
        n_groups: how many independent observations the n cases are.
        same_outcome: the share of the n cases that passed with both or with neither; None for none.
        values: by figure, the first's and the second's; None where it is undefined.
        differences: by figure, the second's less the first's, with its interval.
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


def compare(  # noqa: PLR0913  each of them changes the figures
    first: Iterable[Verdict],
    second: Iterable[Verdict],
    labels: Labels | None = None,
    *,
    thresholds: tuple[float | None, float | None] = (None, None),
    label_threshold: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare two judgements of the same cases, row by row.

    Args:
        first: the verdicts of one judge.
        second: those of another, or of the same with another prompt or model.
        labels: what people said, if they did; its groups count in any case.
        thresholds: from which score on a response passes, instead of what passed in the runs.
        label_threshold: from which label on people called a response grounded, where labels are graded.
        resamples: of the bootstrap that gives the intervals.
        seed: of the same.

    Raises:
        LabelError: `bad_option` when either side is not of exactly one judge; `unreadable_label`.
    """
    labels = labels or Labels({})
    sides = [last_of_each(each)[0] for each in (first, second)]
    judges = [_judge_of(side) for side in sides]
    scored = [
        {verdict.case_id: verdict for verdict in side if verdict.case_id and verdict.score is not None}
        for side in sides
    ]
    in_both = [case_id for case_id in scored[0] if case_id in scored[1]]
    both = [case_id for case_id in in_both if _same_case(scored[0][case_id], scored[1][case_id])]
    groups = [labels.groups.get(case_id, f"case {case_id}") for case_id in both]
    samples = [
        _unlabelled([by_id[case_id] for case_id in both], threshold, groups)
        for by_id, threshold in zip(scored, thresholds, strict=True)
    ]
    labelled = _labelled([join(side, labels)[0] for side in sides], frozenset(both))
    n_labelled = len(labelled[0].labelled)
    with_labels = [
        sample_of(joined, threshold=threshold, label_threshold=label_threshold)
        for joined, threshold in zip(labelled, thresholds, strict=True)
    ]
    found = _compared(samples, UNLABELLED, resamples, seed)
    if n_labelled:
        found |= _compared(with_labels, AGREEMENT, resamples, seed)
    all_ids = {verdict.case_id for side in sides for verdict in side if verdict.case_id}
    return Comparison(
        first=judges[0],
        second=judges[1],
        n=len(both),
        n_labelled=n_labelled,
        n_first_only=len(scored[0]) - len(in_both),
        n_second_only=len(scored[1]) - len(in_both),
        n_neither=len(all_ids - scored[0].keys() - scored[1].keys()),
        n_changed=len(in_both) - len(both),
        n_groups=samples[0].n_groups,
        same_outcome=float((samples[0].passed == samples[1].passed).mean()) if both else None,
        values={name: values for name, (values, _) in found.items()},
        differences={name: difference for name, (_, difference) in found.items()},
    )


def _judge_of(verdicts: Sequence[Verdict]) -> str:
    judges = sorted({verdict.judge for verdict in verdicts})
    if len(judges) != 1:
        message = f"one judge is compared with one other; these verdicts are of {', '.join(judges) or 'none'}"
        raise LabelError("bad_option", message)
    return judges[0]


def _unlabelled(verdicts: Sequence[Verdict], threshold: float | None, groups: Sequence[str]) -> Sample:
    return Sample(
        scores=np.array([verdict.score for verdict in verdicts], dtype=np.float64),
        passed=np.array([passes(verdict, threshold) for verdict in verdicts], dtype=np.bool_),
        positive=None,
        graded=None,
        groups=numbered(groups),
    )


def _same_case(first: Verdict, second: Verdict) -> bool:
    """Whether two verdicts under one id are on the same case, as far as they tell."""
    cases = [verdict.key.rpartition("-")[2] for verdict in (first, second) if verdict.key]
    return len(set(cases)) <= 1


def _labelled(sides: Sequence[Joined], both: Collection[str]) -> list[Joined]:
    """The rated rows of cases that both have, in one order."""
    return [
        replace(
            joined,
            labelled=tuple(
                sorted((row for row in joined.labelled if row.case_id in both), key=lambda row: row.case_id)
            ),
        )
        for joined in sides
    ]


def _compared(
    samples: Sequence[Sample], names: Iterable[str], resamples: int, seed: int
) -> dict[str, tuple[tuple[float | None, float | None], Figure]]:
    first, second = samples
    before, after = measure(first), measure(second)
    found = differences(first, second, resamples=resamples, seed=seed)
    return {name: ((_defined(before[name]), _defined(after[name])), found[name]) for name in names}


def _defined(value: float) -> float | None:
    return None if isnan(value) else value
