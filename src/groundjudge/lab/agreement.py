"""Agreement of a judge with human labels: figures, confidence intervals and the widest disagreements.

labels = read_labels("labels.jsonl")
for agreement in agree(verdicts, labels):
    print(agreement.judge, agreement.n, agreement.figures["kappa"], agreement.undefined)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypedDict, Unpack

from groundjudge.lab import figures, formulas
from groundjudge.lab.columns import Sample, passes_at, sample_of, sample_of_rows
from groundjudge.lab.figures import RESAMPLES, Bootstrap, Bounds, Figure
from groundjudge.lab.formulas import Bools, Floats
from groundjudge.lab.labels import (
    JudgedRows,
    LabelledVerdict,
    Labels,
    join,
    vocabulary_of,
)
from groundjudge.lab.libraries import np
from groundjudge.lab.notices import notices_on
from groundjudge.lab.people import People, measure_people
from groundjudge.verdict import Finite, Frozen, Score, Verdict

# The column for panels whose votes have no label in common.
NO_COMMON_LABEL = "(no label)"

# The number of bins of equal width of the reliability diagram.
RELIABILITY_BINS = 10

# The scores of people's and of the judge's label in pseudo-rows (see `figures.add_pseudo_rows`).
PSEUDO_LABELS: Floats = np.array([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])

# Two steps of a curve with a smaller cross product lie on one line.
MIN_TURN = 1e-9

# One threshold for all judges, or one per judge name; None: whether a row passed in its run counts.
Thresholds: TypeAlias = float | Mapping[str, float] | None


class ConfusionMatrix(Frozen):
    """Counts of rows by label and by whether they passed. Positive: the label calls the response grounded.

    Attributes:
        true_positives: grounded and passed.
        false_positives: not grounded but passed.
        false_negatives: grounded but not passed.
        true_negatives: not grounded and not passed.
    """

    true_positives: int
    false_positives: int
    false_negatives: int
    true_negatives: int


class Disagreement(Frozen):
    """A case on which judge and label disagree.

    Attributes:
        case_id: the id of the case.
        score: the verdict's score.
        passed: whether the verdict passed.
        label: the label as a number.
        reason: the verdict's explanation.
        word: the label as a word, if people's labels are words.
    """

    case_id: str
    score: Score
    passed: bool
    label: Finite
    reason: str
    word: str | None = None


class ReliabilityBin(Frozen):
    """The rows with a score in one bin: their mean score, and the share labelled grounded."""

    mean_score: Score
    share_grounded: Score
    n: int


class Curves(Frozen):
    """The points of a report's charts; empty for graded labels without a label threshold.

    Attributes:
        roc: false and true positive rate as the threshold falls, from (0, 0) to (1, 1); empty if
            all labels are in one class.
        bins: the reliability diagram: non-empty bins of equal width, by rising score.
    """

    roc: tuple[tuple[Score, Score], ...] = ()
    bins: tuple[ReliabilityBin, ...] = ()


class LabelAgreement(Frozen):
    """How often people and the judge give the same label.

    Attributes:
        labels: the labels given by people or the judge, by rising score, with "not applicable" last.
        scores: the score of each, 0..1; None for "not applicable".
        columns: `labels`, and `NO_COMMON_LABEL` if a panel's verdict has none.
        counts: the confusion matrix: a row for each of people's labels, a column for each of the judge's.
        n: the rows in the matrix.
        n_scored: how many of them have a score for both labels; the weighted kappa is computed from these.
        same: the share of the n rows with the same label.
        majority: people's most frequent label.
        majority_share: its share of the n rows, which is `same` for a judge that always gives it.
        weighted_kappa: Cohen's kappa (1968), with disagreements weighted by the squared difference of the
            scores. Undefined unless the scores of people's labels vary.
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


class Agreement(Frozen):
    """How well the verdicts of one judge agree with human labels.

    Attributes:
        threshold: the lowest score that passes; None: whether a row passed in its run counts.
        n: the number of rows with a score and a label. All figures are computed from these.
        n_groups: how many independent groups these rows belong to.
        counts: how many verdicts have no score or no label, by name (see `JudgedRows`).
        n_unscored: the rows with a label but without a score: errors, and "not applicable", which passes.
        base_rate: the share of rows labelled grounded, 0..1; None without rows, and for graded
            labels without a label threshold.
        guess: the figures of the constant-guess baseline (see `formulas.constant_guess`); empty if
            the base rate is None.
        confusion: None for graded labels without a label threshold.
        figures: the figures by name (see `columns.Sample.agreement`).
        bounds: each figure if the rows without a score were all wrong, and if all were right; None where it
            is undefined. Empty if `n_unscored` is 0.
        notices: reasons to doubt the figures (see `notices.notices_on`).
        undefined: the reason for each figure without a value, by name.
        worst: the disagreements, with the widest gap between score and label first.
        curves: the charts of a report.
        labels: agreement label by label; None if people's labels are not words.
        people: how well people agree with each other; None if no row has two labels, or it was not measured.
    """

    judge: str
    threshold: Score | None
    n: int
    n_groups: int
    counts: Mapping[str, int]
    base_rate: Score | None
    guess: Mapping[str, Finite]
    confusion: ConfusionMatrix | None
    figures: Mapping[str, Figure]
    undefined: Mapping[str, str]
    n_unscored: int
    bounds: Mapping[str, Bounds]
    notices: tuple[str, ...]
    worst: tuple[Disagreement, ...]
    curves: Curves
    labels: LabelAgreement | None = None
    people: People | None = None


class AgreeOptions(TypedDict, total=False):
    """The options of `agree`.

    Attributes:
        threshold: the lowest score, 0..1, that passes, for all judges or by judge name; it replaces whether a
            row passed in its run.
        label_threshold: the lowest label that means grounded. Without it, graded labels are only
            compared by rank.
        worst: the maximum number of disagreements to list; 5 by default.
        resamples: how many bootstrap resamples to draw for the intervals (see `figures.Bootstrap`); 2000 by
            default.
        seed: the seed of the bootstrap; 0 by default.
    """

    threshold: Thresholds
    label_threshold: float | None
    worst: int
    resamples: int
    seed: int


def agree(verdicts: Iterable[Verdict], labels: Labels, **options: Unpack[AgreeOptions]) -> list[Agreement]:
    """Measure how well each judge agrees with human labels; one result per judge, by name.

    Args:
        verdicts: verdicts of any number of judges.
        labels: the human labels.
        options: see `AgreeOptions`.

    Raises:
        LabelError: `unreadable_label`.
    """
    return [measure_agreement(judged_rows, **options) for judged_rows in join(verdicts, labels)]


def measure_agreement(  # noqa: PLR0913  each option changes the figures
    judged_rows: JudgedRows,
    *,
    threshold: Thresholds = None,
    label_threshold: float | None = None,
    worst: int = 5,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """Measure how well one judge agrees with human labels, from verdicts joined with the labels.

    For the options see `AgreeOptions`.
    """
    judge_threshold = threshold.get(judged_rows.judge) if isinstance(threshold, Mapping) else threshold
    bootstrap = Bootstrap(resamples, seed)
    all_rows = sample_of(judged_rows, threshold=judge_threshold, label_threshold=label_threshold)
    sample = all_rows.count_unscored(None)
    sample_figures = bootstrap.figures(sample, Sample.agreement)
    undefined: dict[str, str] = {}
    for name, figure in sample_figures.items():
        if figure.value is None:
            undefined[name] = why_undefined(name, sample)
    bounds: dict[str, Bounds] = {}
    if judged_rows.unscored_rows:
        if_wrong = all_rows.count_unscored("wrong").values(Sample.agreement)
        if_right = all_rows.count_unscored("right").values(Sample.agreement)
        bounds = figures.pair_values(if_wrong, if_right)
    confusion: ConfusionMatrix | None = None
    base_rate: float | None = None
    guess: dict[str, float] = {}
    points = Curves()
    people: People | None = None
    if sample.positive is not None:
        cells = formulas.confusion_cells(sample.positive, sample.passed).sum(axis=0).astype(int).tolist()
        true_positives, false_positives, false_negatives, true_negatives = cells
        confusion = ConfusionMatrix(
            true_positives=true_positives,
            false_positives=false_positives,
            false_negatives=false_negatives,
            true_negatives=true_negatives,
        )
        if sample.scores.size:
            base_rate = sample.share_grounded
            guess = formulas.constant_guess(base_rate)
            points = curves(sample.positive, sample.scores, sample.weights)
        passed = {row.case_id: passes_at(judge_threshold, row.verdict) for row in judged_rows.labelled_rows}
        people = measure_people(judged_rows.judge, judged_rows.labels, label_threshold, passed)
    return Agreement(
        judge=judged_rows.judge,
        threshold=judge_threshold,
        n=sample.scores.size,
        n_groups=sample.n_groups,
        counts=judged_rows.counts,
        base_rate=base_rate,
        guess=guess,
        confusion=confusion,
        figures=sample_figures,
        undefined=undefined,
        n_unscored=len(judged_rows.unscored_rows),
        bounds=bounds,
        notices=notices_on(sample, sample_figures, judged_rows.labels),
        worst=_disagreements(judged_rows.labelled_rows, sample, worst),
        curves=points,
        labels=measure_labels(judged_rows, bootstrap),
        people=people,
    )


def measure_labels(judged_rows: JudgedRows, bootstrap: Bootstrap) -> LabelAgreement | None:
    """Compare people's labels with the judge's; None if people's labels are not words."""
    rows = judged_rows.worded_rows
    if not rows:
        return None
    scores = vocabulary_of(judged_rows.judge, judged_rows.labels).scores
    people_labels: list[str] = []
    judge_labels: list[str] = []
    for row in rows:
        people_labels.append(row.human_label.word or "")
        judge_labels.append(row.judge_label or NO_COMMON_LABEL)
    counts = Counter(zip(people_labels, judge_labels, strict=True))
    counts_of_people = Counter(people_labels)
    used_labels = {*people_labels, *judge_labels}
    labels = [name for name in scores if name in used_labels]
    columns = labels
    if NO_COMMON_LABEL in judge_labels:
        columns = [*labels, NO_COMMON_LABEL]
    matrix: list[tuple[int, ...]] = []
    for label in labels:
        matrix.append(tuple(counts[label, column] for column in columns))
    majority = max(labels, key=lambda label: counts_of_people[label])

    # "Not applicable" and votes without a common label have no score: NaN.
    people_numbers: Floats = np.array([scores.get(label) for label in people_labels], dtype=np.float64)
    judge_numbers: Floats = np.array([scores.get(label) for label in judge_labels], dtype=np.float64)
    people_scores = np.append(people_numbers, PSEUDO_LABELS[:, 0])
    judge_scores = np.append(judge_numbers, PSEUDO_LABELS[:, 1])
    is_scored = ~np.isnan(people_scores + judge_scores)
    is_same_label = [first == second for first, second in zip(people_labels, judge_labels, strict=True)]
    is_same = np.append(is_same_label, PSEUDO_LABELS[:, 0] == PSEUDO_LABELS[:, 1])

    def statistics(_sample: Sample, weights: Floats) -> dict[str, Floats]:
        same = formulas.weighted_mean(weights, is_same)
        kappa = formulas.weighted_kappa(
            weights[:, is_scored], people_scores[is_scored], judge_scores[is_scored]
        )
        return {"same": same, "weighted_kappa": kappa}

    sample = sample_of_rows(rows, None, None)
    prior = np.full(len(PSEUDO_LABELS), figures.group_weight(sample.groups))
    draws = bootstrap.draws(replace(sample, prior=prior), statistics)
    label_figures = figures.figures_of(draws, sample.groups)
    return LabelAgreement(
        labels=tuple(labels),
        scores=tuple(scores[name] for name in labels),
        columns=tuple(columns),
        counts=tuple(matrix),
        n=len(rows),
        n_scored=int(is_scored[: len(rows)].sum()),
        same=label_figures["same"],
        majority=majority,
        majority_share=counts_of_people[majority] / len(rows),
        weighted_kappa=label_figures["weighted_kappa"],
    )


def why_undefined(name: str, sample: Sample) -> str:
    """Explain why a figure is undefined for a sample."""
    if not sample.scores.size:
        return "no row has both a score and a label"
    if name == "spearman":
        return "the labels are not grades" if sample.graded is None else "scores or labels do not vary"
    if sample.positive is None:
        return "the labels are grades, and no label threshold (--label-threshold) says which mean grounded"
    if name == "precision_not_grounded" and sample.passed.all():
        return "everything passed"
    if name == "precision":
        return "everything passed" if sample.passed.any() else "nothing passed"
    return "every label is positive" if sample.positive.all() else "every label is negative"


def curves(positive: Bools, scores: Floats, weights: Floats) -> Curves:
    """Compute the points of a report's charts.

    Args:
        positive: whether the label calls the response grounded, shape (rows,).
        scores: 0..1, shape (rows,).
        weights: how much each row counts, shape (rows,).
    """
    roc: tuple[tuple[float, float], ...] = ()
    if positive.any() and not positive.all():
        roc = _roc_curve(positive, scores, weights)
    # A score of 1 belongs to the highest bin.
    bin_of_row = np.minimum((scores * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    bins: list[ReliabilityBin] = []
    for number in np.unique(bin_of_row):
        is_in_bin = bin_of_row == number
        reliability_bin = ReliabilityBin(
            mean_score=float(np.average(scores[is_in_bin], weights=weights[is_in_bin])),
            share_grounded=float(np.average(positive[is_in_bin], weights=weights[is_in_bin])),
            n=int(is_in_bin.sum()),
        )
        bins.append(reliability_bin)
    return Curves(roc=roc, bins=tuple(bins))


def _roc_curve(positive: Bools, scores: Floats, weights: Floats) -> tuple[tuple[float, float], ...]:
    """Compute false and true positive rates by falling threshold, without points on straight lines."""
    order = np.argsort(-scores, kind="stable")
    # The last row of each score: a threshold passes all rows with a score, or none.
    ends = np.append(np.flatnonzero(np.diff(scores[order])), scores.size - 1)
    false_positives = np.append(0.0, np.cumsum((weights * ~positive)[order])[ends])
    true_positives = np.append(0.0, np.cumsum((weights * positive)[order])[ends])
    false_steps = np.diff(false_positives)
    true_steps = np.diff(true_positives)
    # A point lies between two steps with the same slope if their cross product is 0.
    turns = false_steps[1:] * true_steps[:-1] - false_steps[:-1] * true_steps[1:]
    is_corner = np.concatenate([[True], np.abs(turns) > MIN_TURN, [True]])
    false_rates = false_positives[is_corner] / false_positives[-1]
    true_rates = true_positives[is_corner] / true_positives[-1]
    return tuple(zip(false_rates.tolist(), true_rates.tolist(), strict=True))


def _disagreements(rows: Sequence[LabelledVerdict], sample: Sample, most: int) -> tuple[Disagreement, ...]:
    """List the rows on which judge and label disagree, widest gap first, then by case id."""
    gaps, disagrees = _gaps(sample)
    places: list[int] = np.flatnonzero(disagrees).tolist()
    places.sort(key=lambda place: (-gaps[place], rows[place].case_id))
    disagreements: list[Disagreement] = []
    for place in places[:most]:
        row = rows[place]
        human_label = row.human_label
        disagreement = Disagreement(
            case_id=row.case_id,
            score=float(sample.scores[place]),
            passed=bool(sample.passed[place]),
            label=human_label.number or 0.0,
            word=human_label.word,
            reason=row.verdict.explanation,
        )
        disagreements.append(disagreement)
    return tuple(disagreements)


def _gaps(sample: Sample) -> tuple[Floats, Bools]:
    """Measure how far apart score and label are, 0..1, and whether they disagree; both of shape (rows,).

    For labels that mean grounded or not, the gap is the distance of the score from 1 or 0; for
    grades, it is the distance between the ranks of score and grade.
    """
    if sample.positive is not None:
        return np.abs(sample.scores - sample.positive), sample.positive != sample.passed
    grades = sample.scores if sample.graded is None else sample.graded
    gaps = np.abs(formulas.relative_ranks(sample.scores) - formulas.relative_ranks(grades))
    return gaps, gaps > 0
