"""How many answers are grounded: the true rate of thousands of verdicts, from a hundred labels.

sample = draw(verdicts, 100)          # the rows that people label
found = rate(verdicts, labels, sample)
print(found.rate, found.own)          # the true rate, and what the judge says

A judge's own pass rate is not the rate of grounded answers: its mistakes do not cancel out. Labels correct
it, and the judge makes them go further: rows are drawn by what it said, so a stratum is nearly of one kind.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from math import ceil, sqrt
from statistics import covariance, fmean, pvariance
from typing import TypeAlias

from groundjudge.lab.labels import (
    NO_SAMPLE,
    LabelError,
    Labels,
    find_grounded,
    group_by_judge,
    learn_vocabulary,
    rubric_vocabulary,
)
from groundjudge.lab.people import People, measure_people
from groundjudge.lab.proportions import Rate, Z, rate_of, wilson_interval
from groundjudge.lab.sample import LEAST, LabelSample, Stratum, judge_in, weight_labels
from groundjudge.rubric.rubric import load_rubric, names
from groundjudge.runs.verdict_file import latest_verdicts
from groundjudge.verdict import Frozen, Score, Verdict, deciding_score

MOST_LABELS = 10_000_000
"""Labels that nobody gives: where the search for how many are worth as much ends."""

HALF_WIDTH = 0.03
"""Half the width of the interval that `TrueRate.needed` is about."""

Grounded: TypeAlias = Mapping[str, bool]
"""Whether people call each labelled row grounded, by id."""

Seen: TypeAlias = tuple[int, int, Sequence[tuple[int, int]]]
"""What is known of a stratum (see `stratified_rate`)."""


class OwnRate(Frozen):
    """The share of rows that passed a judge, of those that it judged."""

    judge: str
    signature: str
    passed: Rate


class TrueRate(Frozen):
    """The share of answers that people would call grounded.

    Attributes:
        judge: the judge by whose verdicts the rows were drawn.
        rows: how many rows the rate is of: all, also those that the judge could not judge.
        rate: the rate with its 95 % interval; `n` is the number of labels.
        own: what each judge and version says by itself, which is no estimate of the rate.
        alone: the interval of as many labels of a simple random sample, without a judge.
        worth: how many labels of a simple random sample would give an interval as narrow as `rate`.
        needed: how many labels would give an interval of ±0.03.
        cannot_tell: the share of rows of which people could not tell. `rate` takes them to be as the others.
        bounds: the rate if none of those is grounded, and if all are.
        n_unlabelled: drawn rows that have no label yet.
        n_verdicts: the judge's rows in the verdicts at hand; `rows` at the time of the draw.
        people: how far people agree; None if no row has two labels.
    """

    judge: str
    rows: int
    rate: Rate
    own: tuple[OwnRate, ...]
    alone: Rate
    worth: int
    needed: int
    cannot_tell: Score
    bounds: tuple[Score, Score]
    n_unlabelled: int
    n_verdicts: int
    people: People | None


def rate(  # noqa: PLR0913  each option changes what is estimated
    verdicts: Iterable[Verdict],
    labels: Labels,
    sample: LabelSample | None = None,
    *,
    judge: str | None = None,
    label_threshold: float | None = None,
    lam: float | None = None,
) -> TrueRate:
    """Estimate how many answers people would call grounded.

    With a sample of `draw`, the share in each stratum is (y + 1/2) / (k + 1), and the interval is Wald's for
    a finite population. Without one the labels must be a simple random sample of the rows: then they correct
    the mean of the judge's scores (prediction-powered inference: Angelopoulos, Duchi and Zrnic, 2023).

    Args:
        verdicts: of the judge that the sample was drawn by; others add their own rates.
        labels: people's. A label that means "not applicable" counts as grounded, as such verdicts pass.
        sample: what was drawn; None: the labels are a simple random sample of all rows.
        judge: without a sample: whose scores correct the mean; None: those of the only judge.
        label_threshold: the lowest label that means grounded, if labels are grades.
        lam: without a sample: how much the judge's scores count, 0..1; None: so that the interval is narrow.

    Raises:
        LabelError: `outside_sample`: a label of a row that was not drawn, or of another draw; `no_sample`:
            the labels are of a draw, and it is not given; `too_few_labels`; `unreadable_label`; `bad_option`:
            grades without `label_threshold`, no such judge, or verdicts that the sample was not drawn from.
    """
    if lam is not None and not 0 <= lam <= 1:
        raise LabelError("bad_option", f"`lam` must be 0..1, not {lam}", "lam")
    of_all = {name: found for name, found in group_by_judge(latest_verdicts(verdicts)[0]).items() if name}
    name = judge_in(of_all, sample.judge if sample else judge)
    own = {verdict.case_id or "": verdict for verdict in of_all[name]}
    labels = _check_origin(labels, sample, own)
    words = labels.vocabulary or (
        rubric_vocabulary(load_rubric(name)) if name in names() else learn_vocabulary(of_all[name])
    )
    grounded = partial(find_grounded, name, vocabulary=words, threshold=label_threshold)
    told = dict.fromkeys(labels.seen) | grounded(labels)
    known = {case_id: label for case_id, label in told.items() if label is not None}
    if len(known) < LEAST:
        message = (
            f"{len(known)} rows have a label that says whether they are grounded: label at least {LEAST}"
        )
        raise LabelError("too_few_labels", message, name)
    weights = {case_id: labels.drawn[case_id][1] if sample else 1.0 for case_id in told}
    estimate = partial(_stratified, sample.strata) if sample else partial(_corrected, own, lam)
    value, variance = estimate(known)
    rows = sample.rows if sample else len(own)
    left = rows if sample else None  # of random rows nothing is known of how many there could be
    low, high = _interval(value, variance, is_wald=sample is not None or lam is not None)
    passed = {case_id: verdict.passed for case_id, verdict in own.items()}
    return TrueRate(
        judge=name,
        rows=rows,
        rate=Rate(n=len(known), value=value, low=low, high=high),
        own=tuple(_own_rates(of_all)),
        alone=_of_random_rows(value, len(known), left),
        worth=_worth(value, high - low, left),
        needed=_needed(variance, len(known), rows),
        cannot_tell=sum(weights[each] for each in told.keys() - known.keys()) / sum(weights.values()),
        bounds=(
            estimate(dict.fromkeys(told, False) | known)[0],
            estimate(dict.fromkeys(told, True) | known)[0],
        ),
        n_unlabelled=len(sample.ids) - len(told) if sample else 0,
        n_verdicts=len(own),
        people=measure_people(labels, grounded, passed),
    )


def _check_origin(labels: Labels, sample: LabelSample | None, own: Mapping[str, Verdict]) -> Labels:
    """The labels, once it is certain that they, the sample and the verdicts are of the same rows.

    Raises:
        LabelError: `no_sample`, `outside_sample`, `bad_option`.
    """
    if sample is None:
        if labels.samples:
            raise LabelError("no_sample", NO_SAMPLE, "sample")
        if labels.groups:
            message = "`group`: labels of random rows cannot be in groups: draw these with `label --group`"
            raise LabelError("bad_option", message, "group")
        if lost := sorted(labels.seen - own.keys()):
            raise LabelError(
                "outside_sample", f"there is no verdict on the labelled row {lost[0]!r}", lost[0]
            )
        return labels
    if lost := sorted(set(sample.ids) - own.keys()):
        message = f"the sample was drawn from other verdicts: there is none on {lost[0]!r}"
        raise LabelError("bad_option", message, lost[0])
    labels = weight_labels(labels, sample)
    for stratum in sample.strata:
        if labels.seen.isdisjoint(each for unit in stratum.drawn for each in unit):
            message = f"no row of the stratum {stratum.name!r} has a label: label the rows that are left"
            raise LabelError("too_few_labels", message, stratum.name)
    return labels


def _stratified(strata: Sequence[Stratum], known: Grounded) -> tuple[float, float]:
    """The rate and its variance from a stratified sample."""
    seen: list[Seen] = []
    for stratum in strata:
        units = [[known[each] for each in unit if each in known] for unit in stratum.drawn]
        seen.append((stratum.rows, stratum.units, [(len(unit), sum(unit)) for unit in units if unit]))
    return stratified_rate(seen)


def stratified_rate(seen: Sequence[Seen]) -> tuple[float, float]:
    """A rate and its variance from what was seen of each stratum, and half a row of each kind beside that.

    Args:
        seen: for each stratum how many rows and units it has, and for each labelled unit how many rows of it
            are labelled, and how many of these are grounded.
    """
    value, variance, total = 0.0, 0.0, sum(rows for rows, _, _ in seen)
    for rows, units, labelled in seen:
        n, grounded = sum(size for size, _ in labelled), sum(own for _, own in labelled)
        # Groups say as much as so many rows by themselves; what is added is half of one of each kind.
        effective = n / _design_effect(labelled) if n else 0.0
        share = (grounded / n * effective + 0.5) / (effective + 1) if n else 0.5
        left = (units - len(labelled)) / max(1, units - 1)
        value += (grounded + (rows - n) * share) / total
        variance += (rows / total) ** 2 * share * (1 - share) / (effective + 1) * left
    return value, variance


def _design_effect(labelled: Sequence[tuple[int, int]]) -> float:
    """How much more groups vary than as many rows by themselves (Kish, 1965); 1 for groups of one row.

    Args:
        labelled: of each group how many rows are labelled, and how many of them are grounded.
    """
    n, grounded = sum(size for size, _ in labelled), sum(own for _, own in labelled)
    if not labelled[1:] or grounded in {0, n}:  # no variation to see: as if each group were of one kind
        return sum(size * size for size, _ in labelled) / n
    seen, k = grounded / n, len(labelled)
    between = k / (k - 1) * sum((own - seen * size) ** 2 for size, own in labelled) / (n * n)
    return max(1.0, between * (n - 1) / (seen * (1 - seen)))


def _corrected(own: Mapping[str, Verdict], lam: float | None, known: Grounded) -> tuple[float, float]:
    """The rate and its variance from a simple random sample: the mean score, corrected by the labels."""
    scores = {case_id: _prediction(verdict) for case_id, verdict in own.items()}
    labels, theirs = [float(label) for label in known.values()], [scores[case_id] for case_id in known]
    others = [score for case_id, score in scores.items() if case_id not in known] or [fmean(theirs)]
    n, more = len(labels), len(others)
    if lam is None:
        varies = pvariance([*theirs, *others]) * (1 + n / more)
        lam = min(1.0, max(0.0, covariance(labels, theirs) * (n - 1) / n / varies)) if varies else 0.0
    errors = [label - lam * score for label, score in zip(labels, theirs, strict=True)]
    least = 0.5 / (n + 1)  # the variance is at least that of half a row that is not as the others
    spread = max(pvariance(errors), least * (1 - least))
    value = min(1.0, max(0.0, lam * fmean(others) + fmean(errors)))
    return value, lam**2 * pvariance(others) / more + spread / n


def _prediction(verdict: Verdict) -> float:
    """What the judge predicts of a row: its score; 1 where there is nothing to judge, 0 after an error."""
    score = deciding_score(verdict)
    return float(bool(verdict.passed)) if score is None else score


def _own_rates(of_all: Mapping[str, Iterable[Verdict]]) -> Iterable[OwnRate]:
    for judge, verdicts in sorted(of_all.items()):
        by_signature: dict[str, list[bool]] = {}
        for verdict in verdicts:
            if verdict.passed is not None:
                by_signature.setdefault(verdict.signature, []).append(verdict.passed)
        for signature, passed in sorted(by_signature.items()):
            yield OwnRate(judge=judge, signature=signature, passed=rate_of(passed))


def _interval(value: float, variance: float, *, is_wald: bool) -> tuple[float, float]:
    """The 95 % interval of a rate: Wald's, or Wilson's of as many rows as would give this variance."""
    if is_wald or not 0 < value < 1 or not variance:
        half = Z * sqrt(variance)
        return max(0.0, value - half), min(1.0, value + half)
    return wilson_interval(value, value * (1 - value) / variance)


def _of_random_rows(value: float, n: int, rows: int | None) -> Rate:
    """A share with the Wilson interval of n rows drawn at random from so many; None: from any number."""
    left = 1.0 if rows is None else (rows - n) / max(1, rows - 1)
    low, high = wilson_interval(value, n / left) if left else (value, value)
    return Rate(n=n, value=value, low=low, high=high)


def _worth(value: float, width: float, rows: int | None) -> int:
    """How many rows drawn at random give an interval that is no wider."""

    def wilsons(n: int) -> float:
        found = _of_random_rows(value, n, rows)
        return (found.high or 0.0) - (found.low or 0.0)

    return 1 + bisect_left(range(1, rows or MOST_LABELS), -width, key=lambda n: -wilsons(n))


def _needed(variance: float, n: int, rows: int) -> int:
    """How many labels give ±`HALF_WIDTH`, if the variance falls as 1/n - 1/rows."""
    per_label = variance / (1 / n - 1 / rows) if n < rows else 0.0
    return ceil(1 / ((HALF_WIDTH / Z) ** 2 / per_label + 1 / rows)) if per_label else n
