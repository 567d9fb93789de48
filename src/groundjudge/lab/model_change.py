"""What changes with a judge's model: which verdicts flip, and where the threshold belongs now.

change = measure_change(old_verdicts, new_verdicts, labels)
print(change.n_lost, change.n_gained, change.p)  # passed only before, pass only now
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil
from operator import itemgetter

from groundjudge.lab.brief import BriefVerdict
from groundjudge.lab.calibration import Calibration, calibrate
from groundjudge.lab.columns import passes_at, sample_of
from groundjudge.lab.comparison import Comparison, compare_matched, label_cases
from groundjudge.lab.figures import RESAMPLES, Bootstrap
from groundjudge.lab.labels import LabelError, Labels, join_judge
from groundjudge.lab.matched import MatchedCases, match_cases
from groundjudge.lab.notices import FEW_WITH_SCORES
from groundjudge.lab.proportions import Rate, Z, mcnemar, wilson
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.verdict import Frozen, Score, Verdict, deciding_score

# The default number of flips to list.
MAX_FLIPS = 10

# `ModelChange.labels_needed` is for an interval of the difference in accuracy with this half-width.
HALF_WIDTH = 0.05

# The number of folds for testing a threshold, unless a class has fewer rows.
FOLDS = 5


class Flip(Frozen):
    """A case that passes with one of two judges and not with the other.

    Attributes:
        case_id: the id of the case.
        first_passed: whether it passed with the first judge; with the second, it did the opposite.
        first_score: the first verdict's deciding score.
        second_score: the second verdict's deciding score.
        first_reason: the first verdict's explanation.
        second_reason: the second verdict's explanation.
        grounded: whether people call it grounded; None without a label that says so.
    """

    case_id: str
    first_passed: bool
    first_score: Score
    second_score: Score
    first_reason: str
    second_reason: str
    grounded: bool | None


class ModelChange(Frozen):
    """What changes from one judge to another, such as when a model is replaced.

    All counts cover the cases that both scored.

    Attributes:
        comparison: the figures of both and their differences, including the shift in scores
            (`comparison.differences["mean_score"]`).
        n: the number of cases.
        n_lost: cases that passed only with the first.
        n_gained: cases that pass only with the second.
        share: the share of cases that flip.
        p: the p of a test that as many cases are lost as gained (see `proportions.mcnemar`);
            None for groups of cases, because the test assumes independent cases, and without cases.
        flips: the listed flips, those with the largest change in score.
        labels_needed: how many labels of a sample with many flips (`sample.draw` with `against`) show which
            judge is right more often, to ±0.05 in accuracy, and where the threshold belongs.
        refit: the threshold at which the second judge agrees best with people, with its figures on held-out
            rows; `refit.gain` is what keeping the current threshold costs.
        why_no_refit: why there is no `refit`; "" if there is one.
    """

    comparison: Comparison
    n: int
    n_lost: int
    n_gained: int
    share: Rate
    p: Score | None
    flips: tuple[Flip, ...]
    labels_needed: int
    refit: Calibration | None
    why_no_refit: str

    @property
    def n_flips(self) -> int:
        """How many verdicts flip."""
        return self.n_lost + self.n_gained


def measure_change(  # noqa: PLR0913  each option changes the figures
    first: Iterable[Verdict],
    second: Iterable[Verdict],
    labels: Labels | None = None,
    *,
    thresholds: tuple[float | None, float | None] = (None, None),
    label_threshold: float | None = None,
    most_flips: int = MAX_FLIPS,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> ModelChange:
    """Measure what changes from the verdicts of one judge to those of another on the same cases.

    Args:
        first: the earlier judge's verdicts.
        second: the current judge's verdicts.
        labels: human labels, if any; without them there is no `refit`.
        thresholds: for each judge, the lowest score, 0..1, that passes; None: whether a row passed in its
            run counts.
        label_threshold: the lowest label that means grounded, for graded labels.
        most_flips: the maximum number of flips to list.
        resamples: how many bootstrap resamples to draw for the intervals.
        seed: the seed of the bootstrap and of the folds.

    Raises:
        LabelError: `bad_option` if either side does not come from exactly one judge; `unreadable_label`.
    """
    labels = labels or Labels({})
    first_verdicts = latest_verdicts(first)
    second_verdicts = latest_verdicts(second)
    matched = match_cases(first_verdicts, second_verdicts)
    labelled = label_cases(matched, labels, thresholds, label_threshold)
    bootstrap = Bootstrap(resamples, seed)
    comparison = compare_matched(matched, labels, labelled, thresholds, bootstrap)
    flips = _find_flips(matched, thresholds)
    n = comparison.n
    n_flips = len(flips)
    n_lost = sum(passes_at(thresholds[0], first) for first, _ in flips)
    n_gained = n_flips - n_lost
    first_reasons = _read_reasons(first_verdicts, flips[:most_flips])
    second_reasons = _read_reasons(second_verdicts, flips[:most_flips])
    grounded: dict[str, bool] = {}
    refit: Calibration | None = None
    why_no_refit = "no labelled case has a score from both"
    if labelled is not None:
        positive = labelled.samples[0].positive
        if positive is not None:  # grades without a threshold don't say which cases are grounded
            grounded = dict(zip(labelled.ids, positive.tolist(), strict=True))
        try:
            refit = _refit(matched, labels, thresholds[1], label_threshold, bootstrap)
            why_no_refit = ""
        except LabelError as error:
            why_no_refit = error.message
    listed_flips: list[Flip] = []
    for first_verdict, second_verdict in flips[:most_flips]:
        case_id = first_verdict.case_id or ""
        flip = Flip(
            case_id=case_id,
            first_passed=passes_at(thresholds[0], first_verdict),
            first_score=deciding_score(first_verdict) or 0.0,
            second_score=deciding_score(second_verdict) or 0.0,
            first_reason=first_reasons[case_id],
            second_reason=second_reasons[case_id],
            grounded=grounded.get(case_id),
        )
        listed_flips.append(flip)
    share = 0.0
    if n:
        share = n_flips / n
    p: float | None = None
    # The test assumes independent cases.
    if comparison.n_groups == n:
        p = mcnemar(n_lost, n_gained, n)
    return ModelChange(
        comparison=comparison,
        n=n,
        n_lost=n_lost,
        n_gained=n_gained,
        share=wilson(share, n),
        p=p,
        flips=tuple(listed_flips),
        labels_needed=_labels_needed(n_flips, n),
        refit=refit,
        why_no_refit=why_no_refit,
    )


def _labels_needed(n_flips: int, n: int) -> int:
    """Compute how many labels are needed, drawn by `sample.draw` with `against`; see `ModelChange`.

    Only flips make the accuracy of two judges differ. So with m labelled flips, the interval of the
    difference has a half-width of at most 1.96 times the share of flips, divided by the square root of m.
    """
    if n == 0:
        return 0
    share = n_flips / n
    flips_needed = min(n_flips, ceil((Z * share / HALF_WIDTH) ** 2))
    # Half of a sample is drawn by size. A further quarter is flips: two of the four strata sharing the rest.
    share_in_sample = share / 2 + 1 / 4
    return min(n, max(FEW_WITH_SCORES, ceil(flips_needed / share_in_sample)))


def _find_flips(
    matched: MatchedCases, thresholds: tuple[float | None, float | None]
) -> list[tuple[BriefVerdict, BriefVerdict]]:
    """Find the verdicts that flip, those with the largest change in score first, then by case id."""
    flips: list[tuple[float, str, tuple[BriefVerdict, BriefVerdict]]] = []
    for first, second in zip(*matched.sides, strict=True):
        first_score, second_score = deciding_score(first), deciding_score(second)
        if first_score is None or second_score is None:
            continue
        if passes_at(thresholds[0], first) != passes_at(thresholds[1], second):
            flips.append((-abs(second_score - first_score), first.case_id or "", (first, second)))
    flips.sort(key=itemgetter(0, 1))
    return [pair for _, _, pair in flips]


def _read_reasons(
    verdicts: Iterable[Verdict], flips: Iterable[tuple[BriefVerdict, BriefVerdict]]
) -> dict[str, str]:
    """Read the explanations of some verdicts again, by case id: those of all verdicts are not held."""
    wanted_ids = {first.case_id for first, _ in flips}
    reasons: dict[str, str] = {}
    if wanted_ids:
        for verdict in verdicts:
            if verdict.case_id in wanted_ids:
                reasons[verdict.case_id or ""] = verdict.explanation
    return reasons


def _refit(
    matched: MatchedCases,
    labels: Labels,
    threshold: float | None,
    label_threshold: float | None,
    bootstrap: Bootstrap,
) -> Calibration:
    """Fit the second judge's threshold to the labels, and compare it with its current one.

    Raises:
        LabelError: as for `calibration.calibrate`.
    """
    with_label = [verdict for verdict in matched.sides[1] if verdict.case_id in labels.by_case]
    judged_rows = join_judge(matched.judges[1], with_label, labels)
    sample = sample_of(judged_rows, label_threshold=label_threshold).count_unscored(None)
    folds = FOLDS
    if sample.positive is not None:
        _, n_rarer = sample.rarer_class
        folds = max(2, min(FOLDS, n_rarer))
    return calibrate(
        judged_rows,
        folds=folds,
        threshold=threshold,
        label_threshold=label_threshold,
        resamples=bootstrap.resamples,
        seed=bootstrap.seed,
    )
