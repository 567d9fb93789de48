"""How many answers are grounded: the true rate of thousands of verdicts, from a hundred labels.

sample = draw(verdicts, 100)          # the rows that people label
true_rate = rate(verdicts, labels, sample)
print(true_rate.rate, true_rate.own)  # the true rate, and what the judge says

A judge's own pass rate is not the rate of grounded answers: its mistakes do not cancel out. Labels correct
it, and the judge makes them go further: rows are drawn by what it said, so most rows in a stratum are alike.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, sqrt
from statistics import covariance, fmean, pvariance
from sys import maxsize
from typing import NamedTuple, TypeAlias

from groundjudge.lab.labels import NO_SAMPLE, LabelError, Labels, find_grounded
from groundjudge.lab.people import People, measure_people
from groundjudge.lab.proportions import Rate, Z, wilson, wilson_interval
from groundjudge.lab.sample import LEAST, LabelSample, Stratum, judge_in, weight_labels
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.verdict import Frozen, Score, Verdict, deciding_score

# `TrueRate.needed` is for an interval with this half-width.
HALF_WIDTH = 0.03

# Whether people call each labelled row grounded, by id.
Grounded: TypeAlias = Mapping[str, bool]

# For each labelled unit, how many of its rows are labelled, and how many of these are grounded.
UnitCounts: TypeAlias = Sequence[tuple[int, int]]


class StratumCounts(NamedTuple):
    """What is known about a stratum.

    Attributes:
        rows: how many rows it has.
        units: how many units it has.
        labelled_units: what people say about the units that they labelled.
    """

    rows: int
    units: int
    labelled_units: UnitCounts


class OwnRate(Frozen):
    """The share of judged rows that passed a judge."""

    judge: str
    signature: str
    passed: Rate


class TrueRate(Frozen):
    """The share of answers that people would call grounded.

    Attributes:
        judge: the judge by whose verdicts the rows were drawn.
        rows: how many rows the rate covers: all, including those that the judge could not judge.
        rate: the rate with its 95% interval; `n` is the number of labels.
        own: the pass rate of each judge and version, which does not estimate the rate.
        alone: the interval from the same number of labels in a simple random sample, without a judge.
        worth: how many labels of a simple random sample would give an interval as narrow as that of `rate`.
        needed: how many labels would give an interval of ±0.03.
        cannot_tell: the share of rows where people could not tell. `rate` assumes they are like the others.
        bounds: the rate if none of those is grounded, and if all are.
        n_unlabelled: drawn rows that have no label yet.
        n_verdicts: the judge's rows in the current verdicts; `rows` counts them at the time of the draw.
        people: how well people agree; None if no row has two labels.
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

    With a sample from `draw`, the share in each stratum is (y + 1/2) / (k + 1), and the interval is
    Wald's for a finite population. Without one, the labels must be a simple random sample of the rows: they
    then correct the mean of the judge's scores (prediction-powered inference: Angelopoulos, Duchi and
    Zrnic, 2023).

    Args:
        verdicts: those of the judge that the sample was drawn by; other judges add their own pass rates.
        labels: people's labels. "Not applicable" counts as grounded, because such verdicts pass.
        sample: the drawn sample; None: the labels are a simple random sample of all rows.
        judge: without a sample: the judge whose scores to correct; None: the only judge.
        label_threshold: the lowest label that means grounded, if labels are grades.
        lam: without a sample: how much the judge's scores count, 0..1; None: for the narrowest interval.

    Raises:
        LabelError: `outside_sample`: a labelled row was not drawn, or belongs to another draw; `no_sample`:
            the labels come from a draw that was not passed; `too_few_labels`; `unreadable_label`;
            `bad_option`: grades without `label_threshold`, no such judge, or verdicts other than those that
            the sample was drawn from.
    """
    if lam is not None and not 0 <= lam <= 1:
        raise LabelError("bad_option", f"`lam` must be between 0 and 1, not {lam}", "lam")
    latest = latest_verdicts(verdicts)
    name = judge_in(latest.judges, sample.judge if sample else judge)
    ids_to_keep = set(labels.reviewed_ids)
    if sample:
        ids_to_keep.update(sample.ids)
    judged = _Judged(name, frozenset(ids_to_keep))
    for verdict in latest:
        judged.add(verdict)
    labels = _check_origin(labels, sample, judged)

    def estimate(grounded: Grounded) -> tuple[float, float]:
        if sample:
            return _estimate_from_strata(sample.strata, grounded)
        return _estimate_from_random_rows(judged, lam, grounded)

    # The ids are a set, whose order changes between processes, and with it the last digit of a sum of
    # weights, so they are sorted.
    reviewed_ids = sorted(labels.reviewed_ids)
    grounded = dict(sorted(find_grounded(name, labels, label_threshold).items()))
    if len(grounded) < LEAST:
        message = f"only {len(grounded)} rows are labelled grounded or not grounded: label at least {LEAST}"
        raise LabelError("too_few_labels", message, name)
    weights: list[float] = []
    weights_of_unsure: list[float] = []
    for case_id in reviewed_ids:
        weight = labels.weight_of(case_id)
        weights.append(weight)
        if case_id not in grounded:
            weights_of_unsure.append(weight)
    lowest_value, _ = estimate(dict.fromkeys(reviewed_ids, False) | grounded)
    highest_value, _ = estimate(dict.fromkeys(reviewed_ids, True) | grounded)
    value, variance = estimate(grounded)
    low, high = _interval(value, variance, is_wald=sample is not None or lam is not None)
    n_rows = judged.n_rows
    n_unlabelled = 0
    population: int | None = None  # random rows may come from a population of any size
    if sample:
        n_rows = population = sample.rows
        n_unlabelled = len(sample.ids) - len(reviewed_ids)
    return TrueRate(
        judge=name,
        rows=n_rows,
        rate=Rate(n=len(grounded), value=value, low=low, high=high),
        own=judged.own_rates(),
        alone=_rate_of_random_rows(value, len(grounded), population),
        worth=_n_worth(value, high - low, population),
        needed=_n_needed(variance, len(grounded), n_rows),
        cannot_tell=sum(weights_of_unsure) / sum(weights),
        bounds=(lowest_value, highest_value),
        n_unlabelled=n_unlabelled,
        n_verdicts=judged.n_rows,
        people=measure_people(name, labels, label_threshold, judged.passed),
    )


@dataclass
class _Judged:
    """What is kept of verdicts: details if people labelled the case, and only numbers otherwise.

    Attributes:
        judge: the judge that the labels correct, or that corrects them.
        ids_to_keep: the cases that people labelled.
        passed: whether each of these passed the judge; None for an error.
        predictions: what the judge predicts for each of them.
        other_predictions: what it predicts for the other cases, in no order.
        outcomes: how many verdicts of each judge and signature passed and did not.
    """

    judge: str
    ids_to_keep: frozenset[str]
    passed: dict[str, bool | None] = field(default_factory=dict[str, bool | None])
    predictions: dict[str, float] = field(default_factory=dict[str, float])
    other_predictions: array[float] = field(default_factory=lambda: array("d"))
    outcomes: Counter[tuple[str, str, bool]] = field(default_factory=Counter[tuple[str, str, bool]])

    @property
    def n_rows(self) -> int:
        """The number of rows that the judge judged."""
        return len(self.predictions) + len(self.other_predictions)

    def add(self, verdict: Verdict) -> None:
        """Count a verdict."""
        if not verdict.judge:
            return  # a row that could not be read
        if verdict.passed is not None:
            self.outcomes[verdict.judge, verdict.signature, verdict.passed] += 1
        if verdict.judge != self.judge:
            return
        if verdict.case_id in self.ids_to_keep:
            self.passed[verdict.case_id] = verdict.passed
            self.predictions[verdict.case_id] = _prediction(verdict)
        else:
            self.other_predictions.append(_prediction(verdict))

    def own_rates(self) -> tuple[OwnRate, ...]:
        """Return the pass rate of each judge and version."""
        own_rates: list[OwnRate] = []
        versions = {(judge, signature) for judge, signature, _ in self.outcomes}
        for judge, signature in sorted(versions):
            n_passed = self.outcomes[judge, signature, True]
            n = n_passed + self.outcomes[judge, signature, False]
            own_rates.append(OwnRate(judge=judge, signature=signature, passed=wilson(n_passed / n, n)))
        return tuple(own_rates)


def _check_origin(labels: Labels, sample: LabelSample | None, judged: _Judged) -> Labels:
    """Return the labels after checking that they, the sample and the verdicts cover the same rows.

    Raises:
        LabelError: `no_sample`, `outside_sample`, `bad_option`.
    """
    if sample is None:
        if labels.samples:
            raise LabelError("no_sample", NO_SAMPLE, "sample")
        if labels.groups:
            message = "`group`: labels of random rows cannot have groups: draw groups with `label --group`"
            raise LabelError("bad_option", message, "group")
        unjudged_ids = labels.reviewed_ids - judged.passed.keys()
        if unjudged_ids:
            first_id = min(unjudged_ids)
            message = f"the labelled row {first_id!r} has no verdict: pass the verdicts on the labelled rows"
            raise LabelError("outside_sample", message, first_id)
        return labels
    missing_ids = set(sample.ids) - judged.passed.keys()
    if missing_ids:
        first_id = min(missing_ids)
        message = f"the sample was drawn from other verdicts: these have none on {first_id!r}"
        raise LabelError("bad_option", message, first_id)
    labels = weight_labels(labels, sample)
    for stratum in sample.strata:
        if labels.reviewed_ids.isdisjoint(stratum.ids):
            message = f"no row of the stratum {stratum.name!r} has a label: label the remaining rows"
            raise LabelError("too_few_labels", message, stratum.name)
    return labels


def _estimate_from_strata(strata: Sequence[Stratum], grounded: Grounded) -> tuple[float, float]:
    """Estimate the rate and its variance from a stratified sample."""
    counts: list[StratumCounts] = []
    for stratum in strata:
        labelled_units: list[tuple[int, int]] = []
        for unit in stratum.drawn:
            opinions = [grounded[case_id] for case_id in unit if case_id in grounded]
            if opinions:
                labelled_units.append((len(opinions), sum(opinions)))
        counts.append(StratumCounts(stratum.rows, stratum.units, labelled_units))
    return stratified_rate(counts)


def stratified_rate(strata: Sequence[StratumCounts]) -> tuple[float, float]:
    """Estimate a rate and its variance from what is known about each stratum, plus half a row of each kind.

    The share in each stratum is (y + 1/2) / (k + 1), and its variance is that of a sample from a finite
    population.
    """
    value = 0.0
    variance = 0.0
    total = sum(stratum.rows for stratum in strata)
    for rows, units, labelled_units in strata:
        n, n_grounded = _sum_units(labelled_units)
        effective = 0.0
        share = 0.5
        if n:
            # Groups are worth this number of independent rows, plus half a row of each kind.
            effective = n / _design_effect(labelled_units)
            share = (n_grounded / n * effective + 0.5) / (effective + 1)
        # Labelled units are certain: only the other units make the rate vary.
        unlabelled_share = (units - len(labelled_units)) / max(1, units - 1)
        value += (n_grounded + (rows - n) * share) / total
        variance += (rows / total) ** 2 * share * (1 - share) / (effective + 1) * unlabelled_share
    return value, variance


def _design_effect(labelled_units: UnitCounts) -> float:
    """Compute how much more groups vary than as many separate rows (Kish, 1965); 1 for groups of one."""
    n, n_grounded = _sum_units(labelled_units)
    k = len(labelled_units)
    if k <= 1 or n_grounded in {0, n}:  # no variation to see: assume that each group is of one kind
        return sum(size * size for size, _ in labelled_units) / n
    share = n_grounded / n
    squares = sum((unit_grounded - share * size) ** 2 for size, unit_grounded in labelled_units)
    variance_of_groups = k / (k - 1) * squares / (n * n)
    return max(1.0, variance_of_groups * (n - 1) / (share * (1 - share)))


def _sum_units(labelled_units: UnitCounts) -> tuple[int, int]:
    """Count the labelled rows of the units, and how many of these are grounded."""
    n = sum(size for size, _ in labelled_units)
    n_grounded = sum(unit_grounded for _, unit_grounded in labelled_units)
    return n, n_grounded


def _estimate_from_random_rows(judged: _Judged, lam: float | None, grounded: Grounded) -> tuple[float, float]:
    """Estimate the rate and its variance from a simple random sample: the mean score, corrected by labels.

    This is prediction-powered inference (Angelopoulos, Duchi and Zrnic, 2023).
    """
    labels = [float(label) for label in grounded.values()]
    predictions_of_labelled = array("d", [judged.predictions[case_id] for case_id in grounded])
    predictions_of_others = array("d", judged.other_predictions)
    for case_id, prediction in judged.predictions.items():
        if case_id not in grounded:
            predictions_of_others.append(prediction)
    if not predictions_of_others:
        # If all rows are labelled, the predictions cancel out, and the rate is that of the labels.
        predictions_of_others.append(fmean(predictions_of_labelled))
    n = len(labels)
    n_others = len(predictions_of_others)
    if lam is None:
        # This weight of the predictions minimises the variance.
        lam = 0.0
        all_predictions = predictions_of_labelled + predictions_of_others
        spread_of_predictions = pvariance(all_predictions) * (1 + n / n_others)
        if spread_of_predictions:
            shared_spread = covariance(labels, predictions_of_labelled) * (n - 1) / n
            lam = min(1.0, max(0.0, shared_spread / spread_of_predictions))
    errors: list[float] = []
    for label, prediction in zip(labels, predictions_of_labelled, strict=True):
        errors.append(label - lam * prediction)
    least_share = 0.5 / (n + 1)  # the variance is at least that of half a row unlike the others
    spread_of_errors = max(pvariance(errors), least_share * (1 - least_share))
    value = min(1.0, max(0.0, lam * fmean(predictions_of_others) + fmean(errors)))
    variance = lam**2 * pvariance(predictions_of_others) / n_others + spread_of_errors / n
    return value, variance


def _prediction(verdict: Verdict) -> float:
    """Predict a row as the judge does: its score; 1 if there is nothing to judge, 0 after an error."""
    score = deciding_score(verdict)
    if score is None:
        return float(bool(verdict.passed))
    return score


def _interval(value: float, variance: float, *, is_wald: bool) -> tuple[float, float]:
    """Compute the 95% interval of a rate: Wald's, or Wilson's for the number of rows with this variance."""
    # At 0 and 1, and without variance, Wilson's number of rows would be zero or infinite.
    if is_wald or not 0 < value < 1 or not variance:
        half = Z * sqrt(variance)
        return max(0.0, value - half), min(1.0, value + half)
    return wilson_interval(value, value * (1 - value) / variance)


def _rate_of_random_rows(value: float, n: int, population: int | None) -> Rate:
    """Return a share with the Wilson interval of n rows drawn from a population; None: of any size."""
    unlabelled_share = 1.0
    if population is not None:
        # The correction for a finite population: with all rows labelled, the share is known.
        unlabelled_share = (population - n) / max(1, population - 1)
    low, high = value, value
    if unlabelled_share:
        low, high = wilson_interval(value, n / unlabelled_share)
    return Rate(n=n, value=value, low=low, high=high)


def _n_worth(value: float, width: float, population: int | None) -> int:
    """Compute how many rows drawn at random give an equally narrow interval."""

    def negative_width(n: int) -> float:
        rate_of_n = _rate_of_random_rows(value, n, population)
        return -((rate_of_n.high or 0.0) - (rate_of_n.low or 0.0))

    # Intervals narrow with more rows, so the negative widths rise, as bisection requires.
    numbers = range(1, maxsize if population is None else population)
    return 1 + bisect_left(numbers, -width, key=negative_width)


def _n_needed(variance: float, n: int, rows: int) -> int:
    """Compute how many labels give ±`HALF_WIDTH`, if the variance falls as 1/n - 1/rows."""
    if n >= rows:
        return n
    per_label = variance / (1 / n - 1 / rows)
    if not per_label:
        return n
    return ceil(1 / ((HALF_WIDTH / Z) ** 2 / per_label + 1 / rows))
