"""Paired comparison of two judges, prompts or models on the same cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from groundjudge.lab import figures
from groundjudge.lab.agreement import Bounds, notices_on, sample_of
from groundjudge.lab.brief import BriefVerdict
from groundjudge.lab.figures import (
    RESAMPLES,
    Bools,
    Bootstrap,
    Draws,
    Figure,
    Floats,
    Sample,
    SampleStatistics,
    unlabelled_sample,
)
from groundjudge.lab.labels import (
    NO_SAMPLE,
    JudgedRows,
    LabelError,
    LabelledVerdict,
    Labels,
    join_judge,
)
from groundjudge.lab.libraries import np
from groundjudge.lab.matched import MatchedCases, Side
from groundjudge.lab.proportions import mcnemar
from groundjudge.verdict import Finite, Frozen, Score, Verdict


class Comparison(Frozen):
    """The figures of two judges on the same cases, and their differences.

    Attributes:
        first: the name of the first judge.
        second: the name of the second judge; the same if prompts or models are compared.
        n: cases scored by both. The pass rate and the mean score are computed from these.
        n_labelled: how many of them have a label. All other figures are computed from these.
        n_first_only: cases scored only by the first.
        n_second_only: cases scored only by the second.
        n_neither: cases scored by neither: errors, nothing to judge, missing inputs.
        n_changed: cases with the same id but different content; they are left out.
        n_groups: how many independent groups the n cases belong to.
        same_outcome: the share of the n cases that passed with both or with neither, 0..1; None if
            there are none.
        values: the figure of the first and of the second, by name; None where it is undefined. See
            `figures.Sample`.
        differences: the second minus the first, by name, with paired bootstrap intervals.
        clear: the names of the differences that are not 0, corrected for their number (see
            `figures.clear_differences`); never those on too few rows (see `figures.few_rows_notice`).
        bounds: each difference if the cases without a score were the worst for the second judge (wrong for it
            and right for the first), and if they were the best. A case without a label is wrong if it does
            not pass. None where undefined. It omits the mean score, which only covers cases with a score.
            Empty if both scored all cases that they judged.
        as_run: the same figures of the first and the second on the rows of `bounds`, where cases without a
            score count as in their runs: "not applicable" passes and an error does not. Empty if `bounds` is.
        n_first_right: labelled cases on which only the first is right.
        n_second_right: labelled cases on which only the second is right.
        p: the p of McNemar's test on these two numbers (mid-p); None without positive labels, and for groups
            of cases, because the test assumes independent cases.
        notices: reasons to doubt the differences (see `agreement.notices_on`).
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
    clear: tuple[str, ...] = ()
    bounds: Mapping[str, Bounds] = {}
    as_run: Mapping[str, Bounds] = {}
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
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare the verdicts of two judges case by case (see `figures.resample_pair`).

    Args:
        first: the verdicts of one judge.
        second: the verdicts of another judge, or of the same one with another prompt or model.
        labels: human labels, if any; their groups count even for unlabelled cases.
        thresholds: for each judge, the lowest score, 0..1, that passes; None: whether a row passed
            in its run counts.
        label_threshold: the lowest label that means grounded, for graded labels.
        resamples: how many bootstrap resamples to draw for the intervals.
        seed: the seed of the bootstrap.

    Raises:
        LabelError: `bad_option` if either side does not come from exactly one judge;
            `unreadable_label`.
    """
    matched = MatchedCases.of(Side.of(first), Side.of(second))
    return compare_matched(
        matched,
        labels or Labels({}),
        thresholds=thresholds,
        label_threshold=label_threshold,
        bootstrap=Bootstrap(resamples, seed),
    )


def compare_matched(
    matched: MatchedCases,
    labels: Labels,
    *,
    thresholds: tuple[float | None, float | None],
    label_threshold: float | None,
    bootstrap: Bootstrap,
) -> Comparison:
    """Compare two judges whose verdicts were matched; for the arguments see `compare`."""
    labelled_cases = label_cases(matched, labels, thresholds, label_threshold)
    all_cases = _all_cases(matched.sides, labels, thresholds, labelled_cases)
    cases = _SamplePair.of(*all_cases).without_labels()
    measured = [(cases, Sample.mean_score), (cases, Sample.pass_rate)]
    bounds = cases.bounds(Sample.pass_rate)
    as_run = cases.as_run(Sample.pass_rate)
    labelled = cases
    if labelled_cases is not None:
        labelled = _SamplePair.of(*labelled_cases.samples)
        measured.append((labelled, Sample.agreement))
        bounds |= labelled.bounds(Sample.agreement)
        as_run |= labelled.as_run(Sample.agreement)
    resampled = _resample(measured, bootstrap)
    n_first_right, n_second_right, n_labelled = labelled.count_right()
    n_groups = cases.scored[0].n_groups
    return Comparison(
        first=matched.judges[0],
        second=matched.judges[1],
        n=cases.n,
        n_labelled=0 if labelled_cases is None else labelled.n,
        n_first_only=len(matched.first_scored - matched.second_scored),
        n_second_only=len(matched.second_scored - matched.first_scored),
        n_neither=matched.n_neither_scored,
        n_changed=len(matched.changed_ids),
        n_groups=n_groups,
        same_outcome=cases.same_outcome,
        values=resampled.values,
        differences=figures.percentile_figures(resampled.differences),
        clear=tuple(figures.clear_differences(resampled.differences_on_enough_rows)),
        bounds=bounds,
        as_run=as_run,
        n_first_right=n_first_right,
        n_second_right=n_second_right,
        # The test assumes independent cases.
        p=mcnemar(n_first_right, n_second_right, n_labelled) if n_groups == cases.n else None,
        notices=notices_on(labelled.scored[0], {}, labels),
    )


@dataclass(frozen=True)
class _SamplePair:
    """Two judges on the same cases.

    Attributes:
        all_cases: the sample of each, including cases without a score.
        scored: the cases that both scored.
    """

    all_cases: tuple[Sample, Sample]
    scored: tuple[Sample, Sample]

    @classmethod
    def of(cls, first: Sample, second: Sample) -> _SamplePair:
        """Leave out cases that either judge did not score."""
        # In a paired comparison, a case counts for both judges or for neither.
        is_scored = first.is_scored & second.is_scored
        return cls((first, second), (first.select(is_scored), second.select(is_scored)))

    def without_labels(self) -> _SamplePair:
        """Return the same, without labels that have already said what is right."""
        first, second = self.scored
        # Labels would put pseudo-rows into two classes, which figures without labels do not have.
        return replace(self, scored=(replace(first, positive=None), replace(second, positive=None)))

    @property
    def n(self) -> int:
        """The number of cases that both scored."""
        return self.scored[0].scores.size

    @property
    def has_unscored(self) -> bool:
        """Whether either judge left a case without a score."""
        return not all(sample.is_scored.all() for sample in self.all_cases)

    @property
    def same_outcome(self) -> float | None:
        """The share of the cases that passed with both or with neither; None without cases."""
        if not self.n:
            return None
        first, second = self.scored
        return float((first.passed == second.passed).mean())

    def count_right(self) -> tuple[int, int, int]:
        """Count how often only the first judge is right, how often only the second, and the labels."""
        first, second = self.scored
        if first.positive is None:
            return 0, 0, 0
        first_right = first.passed == first.positive
        second_right = second.passed == first.positive
        only_first = int((first_right & ~second_right).sum())
        only_second = int((second_right & ~first_right).sum())
        return only_first, only_second, self.n

    def bounds(self, statistics: SampleStatistics) -> dict[str, Bounds]:
        """Compute each difference if cases without a score were worst and best for the second judge."""
        if not self.has_unscored:
            return {}
        first, second = self.all_cases
        first_if_wrong = first.count_unscored("wrong").values(statistics)
        second_if_wrong = second.count_unscored("wrong").values(statistics)
        first_if_right = first.count_unscored("right").values(statistics)
        second_if_right = second.count_unscored("right").values(statistics)
        bounds: dict[str, Bounds] = {}
        for name in first_if_wrong:
            lowest = second_if_wrong[name] - first_if_right[name]
            highest = second_if_right[name] - first_if_wrong[name]
            bounds[name] = (figures.none_if_nan(lowest), figures.none_if_nan(highest))
        return bounds

    def as_run(self, statistics: SampleStatistics) -> dict[str, Bounds]:
        """Compute each figure of both judges on the rows of `bounds`, counted as in their runs."""
        if not self.has_unscored:
            return {}
        first, second = self.all_cases
        first_values = first.count_unscored("as-run").values(statistics)
        second_values = second.count_unscored("as-run").values(statistics)
        pairs: dict[str, Bounds] = {}
        for name, first_value in first_values.items():
            pairs[name] = (figures.none_if_nan(first_value), figures.none_if_nan(second_values[name]))
        return pairs


@dataclass(frozen=True)
class _ResampledFigures:
    """The figures of two judges by name, and how they vary.

    Attributes:
        values: the figure of the first judge and of the second.
        differences: the second's minus the first's, and the same for each resample.
        differences_on_enough_rows: those with enough cases for an interval.
    """

    values: Mapping[str, tuple[float | None, float | None]]
    differences: Draws
    differences_on_enough_rows: Draws


def _resample(
    measured: Iterable[tuple[_SamplePair, SampleStatistics]], bootstrap: Bootstrap
) -> _ResampledFigures:
    """Compute the figures of each pair of samples on the cases that both scored, and resample them."""
    values: dict[str, tuple[float | None, float | None]] = {}
    differences: dict[str, Floats] = {}
    differences_on_enough_rows: dict[str, Floats] = {}
    for pair, statistics in measured:
        first, second = pair.scored
        first_draws, second_draws, changes = figures.resample_pair(first, second, statistics, bootstrap)
        for name in changes:
            first_value = figures.none_if_nan(float(first_draws[name][0]))
            values[name] = (first_value, figures.none_if_nan(float(second_draws[name][0])))
        differences.update(changes)
        if figures.few_rows_notice(first) is None:
            differences_on_enough_rows.update(changes)
    return _ResampledFigures(values, differences, differences_on_enough_rows)


@dataclass(frozen=True)
class LabelledCases:
    """The cases with a label for both judges.

    Attributes:
        ids: of the cases.
        judged: the rows of each judge.
        samples: the same rows as columns.
    """

    ids: Sequence[str]
    judged: tuple[JudgedRows, JudgedRows]
    samples: tuple[Sample, Sample]


def label_cases(
    matched: MatchedCases,
    labels: Labels,
    thresholds: tuple[float | None, float | None],
    label_threshold: float | None,
) -> LabelledCases | None:
    """Find the cases with a label for both judges; None without such cases.

    If each judge has its own labels, one may lack some.

    Args:
        matched: the verdicts of both sides.
        labels: people's labels.
        thresholds: for each side, the lowest score that passes; None: as in its run.
        label_threshold: the lowest label that means grounded.

    Raises:
        LabelError: `no_sample`, `unreadable_label`.
    """
    if labels.samples and not labels.drawn_rows:
        raise LabelError("no_sample", NO_SAMPLE, "sample")
    joined: list[JudgedRows] = []
    for judge, side in zip(matched.judges, matched.sides, strict=True):
        with_label = [verdict for verdict in side if verdict.case_id in labels.by_case]
        joined.append(join_judge(judge, with_label, labels, {}))
    first_joined, second_joined = joined
    first_rows = _rows_by_case(first_joined)
    second_rows = _rows_by_case(second_joined)
    ids = [case_id for case_id in first_rows if case_id in second_rows]
    if not ids:
        return None
    first_judged = _select_cases(first_joined, first_rows, ids)
    second_judged = _select_cases(second_joined, second_rows, ids)
    first_sample = sample_of(first_judged, threshold=thresholds[0], label_threshold=label_threshold)
    second_sample = sample_of(second_judged, threshold=thresholds[1], label_threshold=label_threshold)
    return LabelledCases(ids, (first_judged, second_judged), (first_sample, second_sample))


def _rows_by_case(judged_rows: JudgedRows) -> dict[str, LabelledVerdict]:
    return {row.case_id: row for row in (*judged_rows.labelled_rows, *judged_rows.unscored_rows)}


def _select_cases(
    judged_rows: JudgedRows, rows: Mapping[str, LabelledVerdict], case_ids: Iterable[str]
) -> JudgedRows:
    """Return the rows of some cases in their order, with or without a score."""
    labelled_rows = tuple(rows[case_id] for case_id in case_ids)
    return replace(judged_rows, labelled_rows=labelled_rows, unscored_rows=())


def _all_cases(
    sides: tuple[Sequence[BriefVerdict], Sequence[BriefVerdict]],
    labels: Labels,
    thresholds: tuple[float | None, float | None],
    labelled_cases: LabelledCases | None,
) -> tuple[Sample, Sample]:
    """Return each judge's sample on the cases of both, labelled or not."""
    case_ids = [verdict.case_id or "" for verdict in sides[0]]
    groups = [labels.group_of(case_id) for case_id in case_ids]
    first = unlabelled_sample(sides[0], groups, thresholds[0])
    second = unlabelled_sample(sides[1], groups, thresholds[1])
    if labelled_cases is None:
        return first, second
    first_labelled, second_labelled = labelled_cases.samples
    first = replace(first, positive=_label_cases(case_ids, labelled_cases.ids, first_labelled))
    second = replace(second, positive=_label_cases(case_ids, labelled_cases.ids, second_labelled))
    return first, second


def _label_cases(case_ids: Sequence[str], labelled_ids: Sequence[str], sample: Sample) -> Bools | None:
    """Say whether the label calls each case grounded; a case without a label counts as grounded.

    Args:
        case_ids: the ids of the cases.
        labelled_ids: the ids of the cases with a label.
        sample: the sample of these.
    """
    if sample.positive is None:
        return None
    # So "wrong" counts a case with neither score nor label as not passed, and "right" as passed.
    label_by_case = dict(zip(labelled_ids, sample.positive.tolist(), strict=True))
    return np.array([label_by_case.get(case_id, True) for case_id in case_ids], dtype=np.bool_)
