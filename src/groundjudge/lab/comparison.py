"""Paired comparison of two judges, prompts or models on the same cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from groundjudge.lab import columns, figures, formulas
from groundjudge.lab.columns import Sample, SampleStatistics, sample_of_rows, unlabelled_sample
from groundjudge.lab.figures import RESAMPLES, Bootstrap, Bounds, Figure
from groundjudge.lab.formulas import Floats
from groundjudge.lab.labels import LabelledVerdict, Labels, check_weights, labels_for
from groundjudge.lab.libraries import np
from groundjudge.lab.matched import MatchedCases, match_cases
from groundjudge.lab.notices import few_rows_notice, notices_on
from groundjudge.lab.proportions import mcnemar
from groundjudge.verdict import Finite, Frozen, Score, Verdict

# The samples of two judges on the same cases.
SamplePair: TypeAlias = tuple[Sample, Sample]


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
            `columns.Sample`.
        differences: the second minus the first, by name, with paired bootstrap intervals.
        clear: the names of the differences that are not 0, corrected for their number (see
            `figures.clear_differences`); never those on too few rows (see `notices.few_rows_notice`).
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
        notices: reasons to doubt the differences (see `notices.notices_on`).
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
    labels = labels or Labels({})
    matched = match_cases(first, second)
    labelled_cases = label_cases(matched, labels, thresholds, label_threshold)
    return compare_matched(matched, labels, labelled_cases, thresholds, Bootstrap(resamples, seed))


def compare_matched(
    matched: MatchedCases,
    labels: Labels,
    labelled_cases: LabelledCases | None,
    thresholds: tuple[float | None, float | None],
    bootstrap: Bootstrap,
) -> Comparison:
    """Compare two judges whose verdicts were matched; for the arguments see `compare` and `label_cases`."""
    groups = [labels.group_of(verdict.case_id) for verdict in matched.sides[0]]
    cases = (
        unlabelled_sample(matched.sides[0], groups, thresholds[0]),
        unlabelled_sample(matched.sides[1], groups, thresholds[1]),
    )
    scored = _scored_by_both(cases)
    labelled = scored
    measured: list[tuple[SampleStatistics, SamplePair]] = [
        (Sample.mean_score, scored),
        (Sample.pass_rate, scored),
    ]
    with_unscored: list[tuple[SampleStatistics, SamplePair]] = [(Sample.pass_rate, cases)]
    if labelled_cases is not None:
        labelled = _scored_by_both(labelled_cases.samples)
        measured.append((Sample.agreement, labelled))
        with_unscored = [
            (Sample.pass_rate, labelled_cases.add_labels(cases)),
            (Sample.agreement, labelled_cases.samples),
        ]
    values: dict[str, Bounds] = {}
    differences: dict[str, Floats] = {}
    differences_on_enough_rows: dict[str, Floats] = {}
    for statistics, (first, second) in measured:
        first_draws, second_draws, changes = figures.resample_pair(first, second, statistics, bootstrap)
        values |= figures.pair_values(formulas.values_of(first_draws), formulas.values_of(second_draws))
        differences |= changes
        if few_rows_notice(first) is None:
            differences_on_enough_rows |= changes
    bounds: dict[str, Bounds] = {}
    as_run: dict[str, Bounds] = {}
    for statistics, (first, second) in with_unscored:
        if first.is_scored.all() and second.is_scored.all():
            continue
        bounds |= _bounds((first, second), statistics)
        as_run |= figures.pair_values(*_count_unscored((first, second), "as-run", statistics))
    n, n_groups = len(scored[0].scores), scored[0].n_groups
    n_labelled, n_first_right, n_second_right = _count_right(labelled)
    same_outcome: float | None = None
    if n:
        same_outcome = float((scored[0].passed == scored[1].passed).mean())
    return Comparison(
        first=matched.judges[0],
        second=matched.judges[1],
        n=n,
        n_labelled=0 if labelled_cases is None else len(labelled[0].scores),
        n_first_only=matched.n_first_only,
        n_second_only=matched.n_second_only,
        n_neither=matched.n_neither,
        n_changed=matched.n_changed,
        n_groups=n_groups,
        same_outcome=same_outcome,
        values=values,
        differences=figures.percentile_figures(differences),
        clear=tuple(figures.clear_differences(differences_on_enough_rows)),
        bounds=bounds,
        as_run=as_run,
        n_first_right=n_first_right,
        n_second_right=n_second_right,
        # The test assumes independent cases.
        p=mcnemar(n_first_right, n_second_right, n_labelled) if n_groups == n else None,
        notices=notices_on(labelled[0], {}, labels),
    )


def _scored_by_both(pair: SamplePair) -> SamplePair:
    """Leave out cases that either judge did not score: a case counts for both judges or for neither."""
    first, second = pair
    is_scored = first.is_scored & second.is_scored
    return first.select(is_scored), second.select(is_scored)


def _count_right(labelled: SamplePair) -> tuple[int, int, int]:
    """Count the cases whose label says what is right, and those on which only one of the judges is right."""
    first, second = labelled
    if first.positive is None:
        return 0, 0, 0
    first_right = first.passed == first.positive
    second_right = second.passed == first.positive
    only_first = int((first_right & ~second_right).sum())
    only_second = int((second_right & ~first_right).sum())
    return first.scores.size, only_first, only_second


def _bounds(pair: SamplePair, statistics: SampleStatistics) -> dict[str, Bounds]:
    """Compute each difference if cases without a score were worst and best for the second judge."""
    first_if_wrong, second_if_wrong = _count_unscored(pair, "wrong", statistics)
    first_if_right, second_if_right = _count_unscored(pair, "right", statistics)
    bounds: dict[str, Bounds] = {}
    for name in first_if_wrong:
        lowest = second_if_wrong[name] - first_if_right[name]
        highest = second_if_right[name] - first_if_wrong[name]
        bounds[name] = (figures.none_if_nan(lowest), figures.none_if_nan(highest))
    return bounds


def _count_unscored(
    pair: SamplePair, rule: columns.Unscored, statistics: SampleStatistics
) -> tuple[dict[str, float], dict[str, float]]:
    """Compute the figures of both judges on all cases, with a rule for those without a score."""
    first, second = pair
    return first.count_unscored(rule).values(statistics), second.count_unscored(rule).values(statistics)


@dataclass(frozen=True)
class LabelledCases:
    """The cases with a label, judged by both.

    Attributes:
        ids: of the cases.
        places: their places among the matched cases.
        samples: their rows as columns, for each judge.
    """

    ids: Sequence[str]
    places: Sequence[int]
    samples: SamplePair

    def add_labels(self, pair: SamplePair) -> SamplePair:
        """Add the labels to samples of all matched cases; a case without a label counts as grounded."""
        first, second = pair
        return self._add_positive(first, self.samples[0]), self._add_positive(second, self.samples[1])

    def _add_positive(self, sample: Sample, labelled: Sample) -> Sample:
        if labelled.positive is None:
            return sample
        # So "wrong" counts a case with neither score nor label as not passed, and "right" as passed.
        positive = np.ones_like(sample.passed)
        positive[self.places] = labelled.positive
        return replace(sample, positive=positive)


def label_cases(
    matched: MatchedCases,
    labels: Labels,
    thresholds: tuple[float | None, float | None],
    label_threshold: float | None,
) -> LabelledCases | None:
    """Find the cases with a label; None without such cases.

    Args:
        matched: the verdicts of both sides.
        labels: people's labels.
        thresholds: for each side, the lowest score that passes; None: as in its run.
        label_threshold: the lowest label that means grounded.

    Raises:
        LabelError: `no_sample`, `unreadable_label`.
    """
    check_weights(labels)
    first_labels = labels_for(matched.judges[0], labels, label_threshold)
    second_labels = labels_for(matched.judges[1], labels, label_threshold)
    places: list[int] = []
    first_rows: list[LabelledVerdict] = []
    second_rows: list[LabelledVerdict] = []
    for place, (first, second) in enumerate(zip(*matched.sides, strict=True)):
        if first.case_id not in labels.by_case:
            continue
        first_row = first_labels.add_to(first, labels)
        second_row = second_labels.add_to(second, labels)
        # "Not applicable" may be a label of one judge only.
        if first_row.human_label.number is not None and second_row.human_label.number is not None:
            places.append(place)
            first_rows.append(first_row)
            second_rows.append(second_row)
    if not places:
        return None
    samples = (
        sample_of_rows(first_rows, thresholds[0], first_labels.threshold),
        sample_of_rows(second_rows, thresholds[1], second_labels.threshold),
    )
    return LabelledCases([row.case_id for row in first_rows], places, samples)
