"""How far a judge agrees with people, where it errs, and how sure that is.

labels = read_labels("labels.jsonl")
for found in agree(verdicts, labels):
    print(found.judge, found.n, found.figures["kappa"], found.undefined)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from groundjudge.analysis.figures import (
    AGREEMENT,
    RESAMPLES,
    Figure,
    Floats,
    Sample,
    constant_guess,
    intervals,
    numbered,
)
from groundjudge.analysis.labels import Joined, LabelledVerdict, Labels, join
from groundjudge.analysis.libraries import metrics, np, stats
from groundjudge.verdict import Finite, Frozen, Score, Verdict

BINS = 10
"""Into how many parts of equal width the scores are put to compare them with the share of positives."""

Thresholds: TypeAlias = float | Mapping[str, float] | None
"""One for all judges, one for each, or None: what passed in the run."""


class ConfusionMatrix(Frozen):
    """How many responses people and judge called grounded. Positive means people did."""

    true_positives: int
    """Grounded, and passed."""
    false_positives: int
    """Not grounded, and passed all the same."""
    false_negatives: int
    """Grounded, and not passed all the same."""
    true_negatives: int
    """Not grounded, and not passed."""


class Disagreement(Frozen):
    """A case on which judge and people differ."""

    case_id: str
    score: Score
    passed: bool
    label: Finite
    reason: str


class Bin(Frozen):
    """The rows whose scores lie near one another, and how many of them are grounded."""

    mean_score: Score
    share_grounded: Score
    n: int


class Curves(Frozen):
    """What is drawn of an agreement.

    Attributes:
        roc: false and true positive rate, from (0, 0) to (1, 1), as the threshold falls.
        bins: scores against the share of grounded responses.
    """

    roc: tuple[tuple[Score, Score], ...] = ()
    bins: tuple[Bin, ...] = ()


class Agreement(Frozen):
    """How far one judge agrees with people.

    Attributes:
        threshold: from which score on a response passed; None: as in the run that judged it.
        n: rows with a score and a label. Everything else is about them.
        n_groups: how many independent observations they are.
        n_error, n_not_applicable, n_missing, n_unlabelled, n_unjudged, n_repeated: see `Joined`.
        base_rate: the share of them that people called grounded; None for graded labels without a mark.
        guess: the figures of a constant guess (see `figures.constant_guess`), where it has them.
        confusion: None for graded labels without a mark.
        figures: by name, see `figures.AGREEMENT`. All count grounded as positive.
        undefined: by the name of a figure that is None, the reason why.
        worst: where judge and people differ, the widest gap between score and label first.
        curves: what a report draws.
    """

    judge: str
    threshold: Score | None
    n: int
    n_groups: int
    n_error: int
    n_not_applicable: int
    n_missing: int
    n_unlabelled: int
    n_unjudged: int
    n_repeated: int
    base_rate: Score | None
    guess: Mapping[str, Finite]
    confusion: ConfusionMatrix | None
    figures: Mapping[str, Figure]
    undefined: Mapping[str, str]
    worst: tuple[Disagreement, ...]
    curves: Curves


def agree(  # noqa: PLR0913  each of them changes the figures
    verdicts: Iterable[Verdict],
    labels: Labels,
    *,
    threshold: Thresholds = None,
    label_threshold: float | None = None,
    worst: int = 5,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Agreement]:
    """Measure how far each judge agrees with people.

    Args:
        verdicts: of any number of judges.
        labels: what people said, by case.
        threshold: from which score on a response passes, instead of what passed in the run.
        label_threshold: from which label on people called a response grounded, where labels are
            graded; without it they are only compared in rank.
        worst: how many disagreements are listed at most.
        resamples: of the bootstrap that gives the intervals.
        seed: of the same.

    Raises:
        LabelError: `unreadable_label`.
    """
    return [
        measure_agreement(
            joined,
            threshold=threshold,
            label_threshold=label_threshold,
            worst=worst,
            resamples=resamples,
            seed=seed,
        )
        for joined in join(verdicts, labels)
    ]


def measure_agreement(  # noqa: PLR0913  as for agree
    joined: Joined,
    *,
    threshold: Thresholds = None,
    label_threshold: float | None = None,
    worst: int = 5,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Agreement:
    """Measure how far one judge agrees with people; the arguments are those of `agree`."""
    threshold = threshold_of(threshold, joined.judge)
    sample = sample_of(joined, threshold=threshold, label_threshold=label_threshold)
    figures = intervals(sample, resamples=resamples, seed=seed)
    positive = sample.positive
    return Agreement(
        judge=joined.judge,
        threshold=threshold,
        n=len(joined.labelled),
        n_groups=sample.n_groups,
        n_error=joined.n_error,
        n_not_applicable=joined.n_not_applicable,
        n_missing=joined.n_missing,
        n_unlabelled=joined.n_unlabelled,
        n_unjudged=joined.n_unjudged,
        n_repeated=joined.n_repeated,
        base_rate=None if positive is None or not positive.size else float(positive.mean()),
        guess={} if positive is None or not positive.size else constant_guess(positive),
        confusion=_confusion(sample),
        figures={name: figures[name] for name in AGREEMENT},
        undefined={name: why_undefined(name, sample) for name in AGREEMENT if figures[name].value is None},
        worst=_worst(joined.labelled, sample)[:worst],
        curves=_curves(sample),
    )


def sample_of(
    joined: Joined, *, threshold: float | None = None, label_threshold: float | None = None
) -> Sample:
    """The rated rows of a judge as columns of numbers; the arguments are those of `agree`.

    Labels that are all 0 or 1 are no grades: 1 is positive, unless a label threshold says otherwise.
    """
    rated = joined.labelled
    labels: Floats = np.array([row.label for row in rated], dtype=np.float64)
    graded = not np.isin(labels, (0, 1)).all()
    mark = joined.pass_mark if label_threshold is None else label_threshold
    mark = 1.0 if mark is None and not graded else mark
    return Sample(
        scores=np.array([row.score for row in rated], dtype=np.float64),
        passed=np.array([passes(row.verdict, threshold) for row in rated], dtype=np.bool_),
        positive=None if mark is None else np.round(labels, 9) >= mark,
        graded=labels if graded else None,
        groups=numbered([row.group for row in rated]),
    )


def threshold_of(threshold: Thresholds, judge: str) -> float | None:
    """The threshold for a judge; None where it is the run's."""
    return threshold.get(judge) if isinstance(threshold, Mapping) else threshold


def passes(verdict: Verdict, threshold: float | None) -> bool:
    """Whether a verdict with a score passes: as in its run, or as a judge with that threshold decides."""
    if threshold is None or verdict.score is None:
        return bool(verdict.passed)
    return round(verdict.score, 9) >= threshold


def why_undefined(name: str, sample: Sample) -> str:
    """Why the rows do not define a figure."""
    if not sample.scores.size:
        return "no row has both a score and a label"
    if name == "spearman":
        return "the labels are not graded" if sample.graded is None else "scores or labels do not vary"
    if sample.positive is None:
        return "the labels are graded, and no label threshold says from which one on they mean grounded"
    if name == "precision":
        return "nothing passed"
    return f"every label is {'positive' if sample.positive.all() else 'negative'}"


def _confusion(sample: Sample) -> ConfusionMatrix | None:
    positive, passed = sample.positive, sample.passed
    if positive is None:
        return None
    (true_negatives, false_positives), (false_negatives, true_positives) = (
        [int(np.sum((positive == said) & (passed == judged))) for judged in (False, True)]
        for said in (False, True)
    )
    return ConfusionMatrix(
        true_positives=true_positives,
        false_positives=false_positives,
        false_negatives=false_negatives,
        true_negatives=true_negatives,
    )


def _worst(rated: Sequence[LabelledVerdict], sample: Sample) -> tuple[Disagreement, ...]:
    """The rows where judge and people differ, the widest gap first.

    Where people said grounded or not, the gap lies between the score and 1 or 0; where they only
    gave grades, between the two ranks.
    """
    if sample.positive is None:
        gaps = np.abs(_ranked(sample.scores) - _ranked(np.array([row.label for row in rated])))
        differ = gaps > 0
    else:
        gaps = np.abs(sample.scores - sample.positive)
        differ = sample.positive != sample.passed
    columns = zip(gaps.tolist(), rated, sample.passed.tolist(), differ.tolist(), strict=True)
    found = sorted(
        ((gap, row, passed) for gap, row, passed, differs in columns if differs),
        key=lambda one: (-one[0], one[1].case_id),
    )
    return tuple(
        Disagreement(
            case_id=row.case_id,
            score=row.score,
            passed=passed,
            label=row.label,
            reason=reason_of(row.verdict),
        )
        for _, row, passed in found
    )


def reason_of(verdict: Verdict) -> str:
    """A verdict's reason; where it only has those of its parts, those of its lowest ones."""
    if verdict.reason.strip() or not verdict.parts:
        return verdict.reason
    lowest = min(part.score for part in verdict.parts)
    told = [f"{part.name} ({part.value:g})" for part in verdict.parts if part.score == lowest]
    return f"lowest of {len(verdict.parts)} parts: {'; '.join(told)}"


def _ranked(values: Floats) -> Floats:
    """Ranks as shares of the number of rows."""
    return np.asarray(stats.rankdata(values) / max(1, values.size))


def _curves(sample: Sample) -> Curves:
    positive, scores = sample.positive, sample.scores
    if positive is None or not positive.size:
        return Curves()
    roc: tuple[tuple[float, float], ...] = ()
    if positive.any() and not positive.all():
        false_rates, true_rates, _ = metrics.roc_curve(positive, scores)
        roc = tuple(zip(false_rates.tolist(), true_rates.tolist(), strict=True))
    place = np.minimum((scores * BINS).astype(int), BINS - 1)
    return Curves(
        roc=roc,
        bins=tuple(
            Bin(
                mean_score=float(scores[place == number].mean()),
                share_grounded=float(positive[place == number].mean()),
                n=int((place == number).sum()),
            )
            for number in np.unique(place)
        ),
    )
