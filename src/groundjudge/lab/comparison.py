"""Paired comparison of two judges, prompts or models on the same cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from groundjudge.lab import figures
from groundjudge.lab.agreement import Bounds, notices_on, sample_of
from groundjudge.lab.figures import (
    RESAMPLES,
    Bools,
    Bootstrap,
    Figure,
    Sample,
    SampleStatistics,
    without_labels,
)
from groundjudge.lab.labels import JudgedRows, LabelError, Labels, Unscored, join, learn_vocabulary
from groundjudge.lab.libraries import np
from groundjudge.lab.proportions import mcnemar
from groundjudge.runs.verdict_file import latest_verdicts
from groundjudge.verdict import Finite, Frozen, Score, Verdict


class Comparison(Frozen):
    """The figures of two judges on the same cases, and their differences.

    Attributes:
        first: the name of the first judge.
        second: the name of the second judge, the same where prompts or models are compared.
        n: cases with a score from both; if cases without a score count, all cases that both judged. The
            pass rate is computed from these, the mean score from those with a score from both.
        n_unscored: those of the n cases without a score from one or both.
        n_labelled: those of them that have a label. All other figures are computed from these.
        n_first_only: cases that only the first gave a score.
        n_second_only: cases that only the second gave a score.
        n_neither: cases that neither gave a score: errors, nothing to judge, missing inputs.
        n_changed: cases whose content differs between the two under one id; they are left out.
        n_groups: how many independent groups the n cases belong to.
        same_outcome: the share of the n cases that passed with both or with neither, 0..1; None if
            there are none.
        values: the figure of the first and of the second, by name; None where it is undefined. See
            `figures.Sample`.
        differences: the second minus the first, by name, with paired bootstrap intervals.
        count_unscored: how cases without a score count; None: not at all.
        clear: the names of the differences that are not 0, corrected for their number (see
            `figures.clear_differences`); none of figures on too few rows (see `figures.few_rows`).
        bounds: each difference if the cases without a score were the worst for the second judge, wrong for it
            and right for the first, and if they were the best. A case without a label is wrong if it does
            not pass. None where it is undefined. Without the mean score, which is of cases with a score only.
            Empty if both gave all cases that they judged a score.
        n_first_right: labelled cases on which only the first is right.
        n_second_right: those on which only the second is.
        p: of the exact McNemar test of these two numbers; None without positive labels, and for groups of
            cases, because the test takes cases as independent.
        notices: what makes the differences doubtful (see `agreement.notices_on`).
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
    n_unscored: int
    values: Mapping[str, tuple[Finite | None, Finite | None]]
    differences: Mapping[str, Figure]
    count_unscored: Unscored | None = None
    clear: tuple[str, ...] = ()
    bounds: Mapping[str, Bounds] = {}
    n_first_right: int = 0
    n_second_right: int = 0
    p: Score | None = None
    notices: tuple[str, ...] = ()


def compare(  # noqa: PLR0913  each option changes the figures
    first: Iterable[Verdict],
    second: Iterable[Verdict],
    labels: Labels | None = None,
    *,
    thresholds: tuple[float | None, float | None] = (None, None),
    label_threshold: float | None = None,
    count_unscored: Unscored | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare the verdicts of two judges case by case (see `figures.paired`).

    Args:
        first: the verdicts of one judge.
        second: those of another judge, or of the same with another prompt or model.
        labels: human labels, if there are any; their groups count even for unlabelled cases.
        thresholds: for each judge the lowest score, 0..1, that passes; None: whether a row passed
            in its run counts.
        label_threshold: the lowest label that means grounded, for graded labels.
        count_unscored: how cases count that a judge gave no score; as for `agreement.measure_agreement`, and
            in the pass rate, a case without a label is right if it passes. None: they do not count, and
            `bounds` shows what they could change.
        resamples: how many bootstrap resamples to draw for the intervals.
        seed: of the bootstrap.

    Raises:
        LabelError: `bad_option` if either side does not come from exactly one judge;
            `unreadable_label`.
    """
    bootstrap = Bootstrap(resamples, seed)
    sides = [latest_verdicts(verdicts)[0] for verdicts in (first, second)]
    judges = [_judge_of(side) for side in sides]
    labels = labels or Labels({})
    labels = replace(labels, vocabulary=labels.vocabulary or learn_vocabulary([*sides[0], *sides[1]]))
    one, other = ({each.case_id: each for each in side if each.case_id} for side in sides)
    in_both = sorted(one.keys() & other.keys())
    both = [case_id for case_id in in_both if _same_case(one[case_id], other[case_id])]
    judged = [[side[case_id] for case_id in both] for side in (one, other)]
    groups = [labels.group_of(case_id) for case_id in both]
    one_side, other_side = (
        without_labels(side, groups, threshold) for side, threshold in zip(judged, thresholds, strict=True)
    )
    shared, labelled = _labelled([join(side, labels) for side in judged], thresholds, label_threshold)
    if labelled:
        one_side, other_side = (
            replace(side, positive=_called_grounded(both, shared, own))
            for side, own in zip((one_side, other_side), labelled, strict=True)
        )
    cases, scored_by_both = (
        _Sides.of(one_side, other_side, how).outcomes_alone() for how in (count_unscored, None)
    )
    parts: list[tuple[_Sides, SampleStatistics]] = [(cases, Sample.pass_rate)]
    if labelled:
        parts.append((_Sides.of(*labelled, count_unscored), Sample.agreement))
    compared = [(scored_by_both, Sample.mean_score), *parts]
    draws = [figures.resample_pair(*side.counted, statistics, bootstrap) for side, statistics in compared]
    values, others, changes = (
        {name: each for tables in draws for name, each in tables[place].items()} for place in range(3)
    )
    on_enough_rows = {
        name: each
        for (side, _), tables in zip(compared, draws, strict=True)
        if not figures.few_rows(side.counted[0])
        for name, each in tables[2].items()
    }
    changed = {*in_both} - {*both}
    scored = [
        {id_ for id_, each in side.items() if each.score is not None} - changed for side in (one, other)
    ]
    right = parts[-1][0].outcomes()
    return Comparison(
        first=judges[0],
        second=judges[1],
        n=cases.n,
        n_labelled=parts[-1][0].n if labelled else 0,
        n_unscored=cases.n - scored_by_both.n,
        n_first_only=len(scored[0] - scored[1]),
        n_second_only=len(scored[1] - scored[0]),
        n_neither=len({*one, *other} - changed.union(*scored)),
        n_changed=len(changed),
        n_groups=cases.counted[0].n_groups,
        same_outcome=cases.same_outcome,
        values={
            name: (figures.defined(float(values[name][0])), figures.defined(float(others[name][0])))
            for name in changes
        },
        differences=figures.percentile_figures(changes),
        count_unscored=count_unscored,
        clear=tuple(figures.clear_differences(on_enough_rows)),
        bounds={name: each for side, statistics in parts for name, each in side.bounds(statistics).items()},
        n_first_right=right[True, False],
        n_second_right=right[False, True],
        p=mcnemar(right.elements()) if cases.counted[0].n_groups == cases.n else None,
        notices=notices_on(parts[-1][0].counted[0], {}, labels),
    )


@dataclass(frozen=True)
class _Sides:
    """Two judges on the same cases, and how cases without a score count.

    Attributes:
        given: the sample of either, with the cases without a score.
        counted: the same as they count.
    """

    given: tuple[Sample, Sample]
    counted: tuple[Sample, Sample]

    @classmethod
    def of(cls, first: Sample, second: Sample, count_unscored: Unscored | None) -> _Sides:
        """Count the cases without a score, or leave out those that either judge did not score."""
        if count_unscored:
            return cls((first, second), (first.counting(count_unscored), second.counting(count_unscored)))
        scored = first.is_scored & second.is_scored
        return cls((first, second), (first.rows(scored), second.rows(scored)))

    def outcomes_alone(self) -> _Sides:
        """The same, where labels have said how cases count and are not needed any more."""
        first, second = (replace(side, positive=None) for side in self.counted)
        return replace(self, counted=(first, second))

    @property
    def n(self) -> int:
        """The number of cases that count."""
        return self.counted[0].scores.size

    @property
    def same_outcome(self) -> float | None:
        """The share of the cases that passed with both or with neither; None without cases."""
        one, other = self.counted
        return float((one.passed == other.passed).mean()) if self.n else None

    def outcomes(self) -> Counter[tuple[bool, bool]]:
        """How often either judge is right."""
        return Counter(figures.outcomes(*self.counted) if self.counted[0].positive is not None else ())

    def bounds(self, statistics: SampleStatistics) -> dict[str, Bounds]:
        """Each difference if the cases without a score were the worst and the best for the second judge."""
        if all(side.is_scored.all() for side in self.given):
            return {}
        wrong, right = (
            [side.counting(how).values(statistics) for side in self.given] for how in ("wrong", "right")
        )
        ends = [(wrong[1][name] - right[0][name], right[1][name] - wrong[0][name]) for name in wrong[0]]
        defined = ((figures.defined(low), figures.defined(high)) for low, high in ends)
        return dict(zip(wrong[0], defined, strict=True))


def _labelled(
    joined: Iterable[Sequence[JudgedRows]],
    thresholds: Iterable[float | None],
    label_threshold: float | None,
) -> tuple[Sequence[str], tuple[Sample, Sample] | None]:
    """The ids of the cases with a label for both judges, and their samples; None without such cases.

    Where each judge has labels of its own, one may lack some.

    Args:
        joined: for each side its verdicts joined with the labels; nothing without verdicts.
        thresholds: for each side the lowest score that passes; None: as in its run.
        label_threshold: the lowest label that means grounded.
    """
    sides = [one for side in joined for one in side]
    rows = [{row.case_id: row for row in (*side.labelled_rows, *side.unscored_rows)} for side in sides]
    shared = [case_id for case_id in rows[0] if case_id in rows[1]] if rows else []
    if not shared:
        return (), None
    first, second = (
        sample_of(
            replace(side, labelled_rows=tuple(own[case_id] for case_id in shared), unscored_rows=()),
            threshold=threshold,
            label_threshold=label_threshold,
        )
        for side, own, threshold in zip(sides, rows, thresholds, strict=True)
    )
    return shared, (first, second)


def _called_grounded(case_ids: Sequence[str], labelled: Sequence[str], sample: Sample) -> Bools | None:
    """Whether the label calls each case grounded, which one without a label is taken to be.

    Args:
        case_ids: of the cases.
        labelled: the ids of those with a label.
        sample: of these.
    """
    if sample.positive is None:
        return None
    called = dict(zip(labelled, sample.positive.tolist(), strict=True))
    return np.array([called.get(case_id, True) for case_id in case_ids], dtype=np.bool_)


def _judge_of(verdicts: Sequence[Verdict]) -> str:
    judges = sorted({verdict.judge for verdict in verdicts})
    if len(judges) != 1:
        found = ", ".join(judges) or "none"
        message = f"compare takes the verdicts of one judge on each side, not of {found}"
        raise LabelError("bad_option", message)
    return judges[0]


def _same_case(first: Verdict, second: Verdict) -> bool:
    """Whether two verdicts under one id are on the same content, as far as their keys say."""
    return first.case_hash == second.case_hash or not (first.key and second.key)
