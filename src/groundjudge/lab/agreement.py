"""Agreement of a judge with human labels: figures, confidence intervals and the widest disagreements.

labels = read_labels("labels.jsonl")
for agreement in agree(verdicts, labels):
    print(agreement.judge, agreement.n, agreement.figures["kappa"], agreement.undefined)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias, TypedDict, Unpack

from groundjudge.lab import figures
from groundjudge.lab.figures import RESAMPLES, Bools, Bootstrap, Drawn, Figure, Floats, Sample, passes_at
from groundjudge.lab.labels import JudgedRows, LabelledVerdict, Labels, Unscored, find_grounded, join
from groundjudge.lab.libraries import metrics, np
from groundjudge.lab.people import People, measure_people
from groundjudge.lab.votes import VoteAgreement, measure_votes
from groundjudge.verdict import Finite, Frozen, Score, Verdict

# The column of panels whose votes have no common label.
NO_COMMON_LABEL = "(no label)"

# The number of bins of equal width of the reliability diagram.
RELIABILITY_BINS = 10

# The scores of people's and of the judge's label in pseudo-rows (see `figures.smoothed`).
PSEUDO_LABELS: Floats = np.array([(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)])

REVERSED = "worse than guessing: are the labels the other way round?"

NOT_INDEPENDENT = "intervals may be too narrow unless a group (--group) says which rows belong together"

# The share of the labelled rows above which rows that share their context are worth a note.
MANY_SAME_CONTEXT = 0.1

# The figures of graded labels.
CORRELATIONS = ("pearson", "spearman", "kendall")

# What a figure is if the rows without a score were all wrong, and if all were right.
Bounds: TypeAlias = tuple[Finite | None, Finite | None]

# One threshold for all judges, or one per judge name; None: whether a row passed in its run counts.
Thresholds: TypeAlias = float | Mapping[str, float] | None


class ConfusionMatrix(Frozen):
    """How many rows passed or not, by their label. Positive: the label calls the response grounded.

    Attributes:
        true_positives: grounded, and passed.
        false_positives: not grounded, but passed.
        false_negatives: grounded, but not passed.
        true_negatives: not grounded, and not passed.
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
        word: the label in words, if people's labels are words.
    """

    case_id: str
    score: Score
    passed: bool
    label: Finite
    reason: str
    word: str | None = None


class ReliabilityBin(Frozen):
    """The rows whose scores fall into one bin: their mean score, and the share labelled grounded."""

    mean_score: Score
    share_grounded: Score
    n: int


class Curves(Frozen):
    """The points of a report's charts; empty for graded labels without a label threshold.

    Attributes:
        roc: false and true positive rate as the threshold falls, from (0, 0) to (1, 1); empty if
            all labels are of one class.
        bins: the reliability diagram: non-empty bins of equal width, by rising score.
    """

    roc: tuple[tuple[Score, Score], ...] = ()
    bins: tuple[ReliabilityBin, ...] = ()


class LabelAgreement(Frozen):
    """How often people and judge give the same label.

    Attributes:
        labels: those that people or the judge gave, by rising score, last those that mean "not applicable".
        scores: the score of each, 0..1; None for "not applicable".
        columns: `labels`, and `NO_COMMON_LABEL` if a verdict of a panel has none.
        counts: the confusion matrix: a row for each of people's labels, a column for each of the judge's.
        n: the rows in the matrix.
        n_scored: those of them where both labels have a score; the weighted kappa is computed from these.
        same: the share of the n rows with the same label.
        majority: people's most frequent label.
        majority_share: its share of the n rows, which is the `same` of a judge that always gives it.
        weighted_kappa: Cohen's kappa, a disagreement weighted by the squared difference of the two labels'
            scores (Cohen, 1968). Undefined unless the scores of people's labels vary.
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
        n: rows with a score and a label, or those with a label if rows without a score count. All figures are
            computed from these.
        n_groups: how many independent groups these rows belong to.
        counts: how many verdicts have no score or no label, by name (see `Joined`).
        n_unscored: the rows with a label but without a score: errors, and "not applicable", which passes.
        base_rate: the share of rows labelled grounded, 0..1; None without rows, and for graded
            labels without a label threshold.
        guess: the figures of the constant-guess baseline (see `figures.constant_guess`); empty where
            the base rate is None.
        confusion: None for graded labels without a label threshold.
        figures: the figures by name (see `figures.Sample.agreement`).
        count_unscored: how these count; None: not at all.
        bounds: each figure if the rows without a score were all wrong, and if all were right; None where it
            is undefined. Empty if `n_unscored` is 0.
        notices: what makes the figures doubtful (see `notices_on`).
        undefined: the reason for each figure without a value, by name.
        worst: the disagreements, the widest gap between score and label first.
        curves: what a report draws.
        labels: agreement label by label; None if people's labels are not in words.
        people: how far people agree with each other; None if no row has two labels, or they are not compared.
        votes: the votes of a panel; None if there are none, or `confusion` is None.
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
    count_unscored: Unscored | None
    bounds: Mapping[str, Bounds]
    notices: tuple[str, ...]
    worst: tuple[Disagreement, ...]
    curves: Curves
    labels: LabelAgreement | None = None
    people: People | None = None
    votes: VoteAgreement | None = None


class AgreeOptions(TypedDict, total=False):
    """The options of `agree`."""

    threshold: Thresholds
    label_threshold: float | None
    count_unscored: Unscored | None
    worst: int
    resamples: int
    seed: int


def agree(verdicts: Iterable[Verdict], labels: Labels, **options: Unpack[AgreeOptions]) -> list[Agreement]:
    """Measure how well each judge agrees with human labels; one result per judge, by name.

    Args:
        verdicts: verdicts of any number of judges.
        labels: the human labels.
        options: as for `measure_agreement`.

    Raises:
        LabelError: `unreadable_label`.
    """
    return [measure_agreement(joined, **options) for joined in join(verdicts, labels)]


def measure_agreement(  # noqa: PLR0913  each option changes the figures
    joined: JudgedRows,
    *,
    threshold: Thresholds = None,
    label_threshold: float | None = None,
    count_unscored: Unscored | None = None,
    worst: int = 5,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """Measure how well one judge agrees with human labels.

    Args:
        joined: its verdicts joined with the labels.
        threshold: the lowest score, 0..1, that passes, in place of whether a row passed in its run.
        label_threshold: the lowest label that means grounded. Without it graded labels are only
            compared by correlations.
        count_unscored: how labelled rows without a score count: "wrong", "right", or "as-run", where "not
            applicable" passes and an error does not. None: they do not, and `bounds` shows what they could
            change.
        worst: how many disagreements to list at most.
        resamples: how many bootstrap resamples to draw for the intervals (see `figures.Bootstrap`).
        seed: of the bootstrap.
    """
    threshold = threshold_of(threshold, joined.judge)
    bootstrap = Bootstrap(resamples, seed)
    everything = sample_of(joined, threshold=threshold, label_threshold=label_threshold)
    scored, sample = everything.counting(None), everything.counting(count_unscored)
    found = bootstrap.figures(sample, Sample.agreement)
    positive = sample.positive if sample.scores.size else None
    return Agreement(
        judge=joined.judge,
        threshold=threshold,
        n=sample.scores.size,
        n_groups=sample.n_groups,
        counts=joined.counts,
        base_rate=None if positive is None else float(np.average(positive, weights=sample.weights)),
        guess={} if positive is None else figures.constant_guess(positive, sample.weights),
        confusion=None if sample.positive is None else _confusion_matrix(sample.positive, sample.passed),
        figures=found,
        undefined={
            name: why_undefined(name, sample) for name, figure in found.items() if figure.value is None
        },
        n_unscored=len(joined.unscored_rows),
        count_unscored=count_unscored,
        bounds=_bounds(everything) if joined.unscored_rows else {},
        # Rows that count as wrong are no sign of labels the other way round.
        notices=notices_on(sample, {} if count_unscored else found, joined.labels),
        worst=tuple(_disagreements(joined.labelled_rows, scored)[:worst]),
        curves=Curves() if positive is None else curves(positive, sample.scores, sample.weights),
        labels=measure_labels(joined, bootstrap),
        people=_people(joined, sample, threshold, label_threshold),
        votes=measure_votes(joined, scored, threshold, bootstrap),
    )


def sample_of(
    joined: JudgedRows, *, threshold: float | None = None, label_threshold: float | None = None
) -> Sample:
    """Turn the labelled verdicts of a judge into columns; for the arguments see `measure_agreement`.

    Rows without a score come last. If all labels are 0 or 1, they are not grades, and 1 is positive unless a
    label threshold is given.
    """
    rows = (*joined.labelled_rows, *joined.unscored_rows)
    labels: Floats = np.array([row.people.number for row in rows], dtype=np.float64)
    graded = not np.isin(labels, (0, 1)).all()
    if label_threshold is None:
        label_threshold = joined.default_label_threshold
    if label_threshold is None and not graded:
        label_threshold = 1.0
    return replace(
        figures.without_labels([row.verdict for row in rows], [row.group for row in rows], threshold),
        positive=None if label_threshold is None else figures.reaches(labels, label_threshold),
        graded=labels if graded else None,
        drawn=Drawn.of(rows),
    )


def _people(
    joined: JudgedRows, sample: Sample, threshold: float | None, label_threshold: float | None
) -> People | None:
    if sample.positive is None:
        return None
    grounded = partial(find_grounded, joined.judge, vocabulary=joined.vocabulary, threshold=label_threshold)
    passed = {row.case_id: passes_at(threshold, row.verdict) for row in joined.labelled_rows}
    return measure_people(joined.labels, grounded, passed)


def notices_on(
    sample: Sample, found: Mapping[str, Figure], labels: Labels, *, scores_matter: bool = False
) -> tuple[str, ...]:
    """What makes figures doubtful, in sentences.

    Args:
        sample: the rows that they are computed from.
        found: the figures.
        labels: all labels, which may be of rows that share their context.
        scores_matter: whether a threshold was fitted to the scores.
    """
    n_same = labels.n_same_context
    shared = f"{n_same} labelled rows share their context with others: {NOT_INDEPENDENT}"
    reasons = (
        REVERSED if figures.is_reversed(found) else None,
        figures.few_rows(sample, scores_matter=scores_matter),
        shared if n_same > MANY_SAME_CONTEXT * len(labels.by_case) else None,
    )
    return tuple(filter(None, reasons))


def measure_labels(joined: JudgedRows, bootstrap: Bootstrap) -> LabelAgreement | None:
    """Compare people's labels with the judge's; None if people's labels are not in words."""
    scores = joined.vocabulary.scores
    pairs = [(row.people.word or "", row.said or NO_COMMON_LABEL) for row in joined.worded_rows]
    if not pairs:
        return None
    counts, people = Counter(pairs), Counter(word for word, _ in pairs)
    labels = [name for name in scores if any(name in pair for pair in counts)]
    columns = [*labels, NO_COMMON_LABEL] if any(said == NO_COMMON_LABEL for _, said in pairs) else labels
    majority = max(labels, key=people.__getitem__)
    numbers = np.array([[scores.get(name) for name in pair] for pair in pairs], dtype=np.float64)
    theirs, judged = np.vstack([numbers, PSEUDO_LABELS]).T
    scored = ~np.isnan(theirs + judged)
    same = np.append([word == label for word, label in pairs], np.equal(*PSEUDO_LABELS.T))

    def statistics(weights: Floats) -> dict[str, Floats]:
        kappa = figures.weighted_kappa(weights[:, scored], theirs[scored], judged[scored])
        return {"same": figures.weighted_mean(weights, same), "weighted_kappa": kappa}

    groups = np.array([row.group for row in joined.worded_rows])
    prior = np.full(len(PSEUDO_LABELS), figures.group_weight(groups))
    return LabelAgreement(
        labels=tuple(labels),
        scores=tuple(scores[name] for name in labels),
        columns=tuple(columns),
        counts=tuple(tuple(counts[name, column] for column in columns) for name in labels),
        n=len(pairs),
        n_scored=int(scored[: len(pairs)].sum()),
        majority=majority,
        majority_share=people[majority] / len(pairs),
        **figures.figures_of(
            bootstrap.draws(statistics, groups, prior, Drawn.of(joined.worded_rows)), groups
        ),
    )


def threshold_of(threshold: Thresholds, judge: str) -> float | None:
    """Look up the threshold of one judge; None: whether a row passed in its run counts."""
    return threshold.get(judge) if isinstance(threshold, Mapping) else threshold


def why_undefined(name: str, sample: Sample) -> str:
    """Explain why a figure is undefined for a sample."""
    if not sample.scores.size:
        return "no row has both a score and a label"
    if name in CORRELATIONS:
        return "the labels are not graded" if sample.graded is None else "scores or labels do not vary"
    if sample.positive is None:
        return "the labels are graded, and no label threshold says which of them mean grounded"
    if name == "precision" or (name == "precision_not_grounded" and sample.passed.all()):
        return f"{'everything' if sample.passed.any() else 'nothing'} passed"
    return f"every label is {'positive' if sample.positive.all() else 'negative'}"


def curves(positive: Bools, scores: Floats, weights: Floats | None = None) -> Curves:
    """The points of a report's charts.

    Args:
        positive: whether the label calls the response grounded, shape (rows,).
        scores: 0..1, shape (rows,).
        weights: how much each row counts, shape (rows,); None: all the same.
    """
    roc: tuple[tuple[float, float], ...] = ()
    if positive.any() and not positive.all():
        false_rates, true_rates, _ = metrics.roc_curve(positive, scores, sample_weight=weights)
        roc = tuple(zip(false_rates.tolist(), true_rates.tolist(), strict=True))
    weights = np.ones_like(scores) if weights is None else weights
    bin_of_row = np.minimum((scores * RELIABILITY_BINS).astype(int), RELIABILITY_BINS - 1)
    bins = tuple(
        ReliabilityBin(
            mean_score=float(np.average(scores[rows], weights=weights[rows])),
            share_grounded=float(np.average(positive[rows], weights=weights[rows])),
            n=int(rows.sum()),
        )
        for rows in (bin_of_row == number for number in np.unique(bin_of_row))
    )
    return Curves(roc=roc, bins=bins)


def _bounds(sample: Sample) -> dict[str, Bounds]:
    """The figures if the rows without a score were all wrong, and if all were right."""
    wrong, right = (sample.counting(how).values(Sample.agreement) for how in ("wrong", "right"))
    return {name: (figures.defined(wrong[name]), figures.defined(right[name])) for name in wrong}


def _confusion_matrix(positive: Bools, passed: Bools) -> ConfusionMatrix:
    counts = figures.confusion_cells(positive, passed).sum(axis=0).astype(int).tolist()
    return ConfusionMatrix.model_validate(dict(zip(ConfusionMatrix.model_fields, counts, strict=True)))


def _disagreements(rows: Sequence[LabelledVerdict], sample: Sample) -> list[Disagreement]:
    """The rows on which judge and label disagree, the widest gap first, then by case id."""
    gaps, disagree = _gaps(sample)
    places = sorted(np.flatnonzero(disagree).tolist(), key=lambda place: (-gaps[place], rows[place].case_id))
    return [
        Disagreement(
            case_id=rows[place].case_id,
            score=float(sample.scores[place]),
            passed=bool(sample.passed[place]),
            label=rows[place].people.number or 0.0,
            word=rows[place].people.word,
            reason=rows[place].verdict.explanation,
        )
        for place in places
    ]


def _gaps(sample: Sample) -> tuple[Floats, Bools]:
    """How far apart score and label are, 0..1, and whether they disagree; both of the shape (rows,).

    For labels that mean grounded or not, the gap is the distance of the score from 1 or 0; for mere
    grades it is the distance between the ranks of score and grade.
    """
    if sample.positive is not None:
        return np.abs(sample.scores - sample.positive), sample.positive != sample.passed
    grades = sample.scores if sample.graded is None else sample.graded
    gaps = np.abs(figures.relative_ranks(sample.scores) - figures.relative_ranks(grades))
    return gaps, gaps > 0
