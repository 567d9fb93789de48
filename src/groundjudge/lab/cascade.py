"""Bounds of a cascade, proven on labelled rows: when can a cheap judge decide alone?

Rows are sorted by how sure the cheap judge is, at both ends together. Growing sets, starting from the surest
rows, are tested one after the other: does the share of right verdicts in the set reach the required share?
The first set that fails ends the search, so at most 5% of searches accept a set that should have failed: a
fixed sequence of tests (Maurer, Hothorn and Lehmacher, 1995), which depends only on scores, never on labels.
Each test is an exact bound (Clopper and Pearson, 1934). It needs independent rows, so only one row of each
group counts.

A small part of the 5% is spent on all rows at once: chance sometimes ends a search through many sets even if
a judge is right everywhere, and more often the less its scores separate right from wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from math import ceil, floor, log
from typing import NamedTuple

from groundjudge.judging.cascade import Bounds, By
from groundjudge.judging.probability import passing_probability
from groundjudge.lab.figures import ONE_SIDED, lower_bound
from groundjudge.lab.labels import LabelError, Labels, find_grounded
from groundjudge.lab.matched import single_judge
from groundjudge.lab.proportions import Rate, rate_of, wilson
from groundjudge.rubric.rubric import Rubric
from groundjudge.verdict import Frozen, Score, Verdict, deciding_score, passes, round_score

STEPS_OF_BOUNDS = 10_000
"""Bounds have four decimals: rows with the same four decimals are equally sure."""

SETS = 20
"""Approximate number of sets to test: fewer rarely end a search by chance, more give finer bounds."""

ERROR_OF_ALL = 0.01
"""The share of searches that may accept all rows by mistake; the growing sets get the rest of the 5%."""

MISTAKES_AT_START = 2
"""How many mistakes the first set may have. With none (29 rows for 0.9, at 5%), chance immediately ends every
tenth search with a good judge; with two (61 rows), every hundredth. Simulated with 400 labels and a judge
that is right on 95% of the rows, and slightly more often where it is surer."""

MIN_SHOWN = 10
"""In a smaller set, the number of right verdicts says too little."""

NOT_APPLICABLE = -1.0
"""How sure a judge is of "not applicable" if it has no number for it: less than of any score."""


@dataclass(frozen=True)
class CascadeRow:
    """A labelled row with the verdicts of both judges.

    Attributes:
        cheap: the verdict of the cheap judge.
        strong: the verdict of the strong judge; None if there is none.
        is_grounded: whether people call the response grounded.
        number: the number to compare with bounds, with four decimals, rounded towards the threshold; None
            if there is none.
        certainty: how sure the cheap judge is; None if it ended in an error or has no number.
    """

    cheap: Verdict
    strong: Verdict | None
    is_grounded: bool
    number: float | None = None
    certainty: float | None = None

    @property
    def is_right(self) -> bool:
        """Whether the cheap judge agrees with people; an error does not."""
        return self.cheap.passed is self.is_grounded

    @property
    def is_matched(self) -> bool:
        """Whether the strong judge judged it too."""
        return self.strong is not None and self.strong.status != "error"

    @property
    def is_strong_right(self) -> bool:
        """Whether the strong judge agrees with people."""
        return self.strong is not None and self.strong.passed is self.is_grounded

    @property
    def is_applicable(self) -> bool:
        """Whether the cheap judge found something to judge."""
        return self.cheap.status != "not_applicable"


class CascadeCalibration(Frozen):
    """When a cheap judge can decide alone, and what that saves on the labelled rows.

    The `accuracy` is proven for further rows. The shares are those on the rows that the bounds were found on.

    Attributes:
        judge: the name of the cheap judge.
        models: the models of the cheap judge and the strong judge.
        accuracy: the proven share of right verdicts among those that the cheap judge decides alone: at most
            5% of such searches find bounds by mistake.
        by: the value to compare with the bounds.
        until: the bounds, low and high, as `cascade` takes them.
        not_applicable_stands: whether the cheap judge's "not applicable" is final.
        n: the labelled rows that count and have a verdict of the cheap judge, including errors.
        n_standing: how many of them the cheap judge decides alone with these bounds.
        n_right: how many of these it decides correctly.
        saved: the share of rows for which the strong judge is not asked.
        standing_right: the share of right verdicts among those that the cheap judge decides alone.
        cheap_right: the share of right verdicts if the cheap judge decides every row, on the rows with a
            verdict of both judges.
        strong_right: the same if the strong judge decides.
        cascade_right: the same if the cascade decides.
        counts: by name: `n_error`, the cheap judge's errors, and `n_not_applicable`, both included in
            `n`; `n_unjudged`, labelled rows without a verdict of the cheap judge, `n_unmatched`, rows without
            one of the strong judge other than an error, and `n_left_out`, rows that do not count: all but one
            of each group, and in a drawn sample some of the strata that were drawn more often than others.
    """

    judge: str
    models: tuple[str, str]
    accuracy: Score
    by: By
    until: Bounds
    not_applicable_stands: bool
    n: int
    n_standing: int
    n_right: int
    saved: Rate
    standing_right: Rate
    cheap_right: Rate
    strong_right: Rate
    cascade_right: Rate
    counts: Mapping[str, int]


def calibrate_cascade(  # noqa: PLR0913  each option changes the bounds or the figures
    cheap: Iterable[Verdict],
    strong: Iterable[Verdict],
    labels: Labels,
    *,
    accuracy: float,
    by: By = "score",
    rubric: Rubric | None = None,
    label_threshold: float | None = None,
) -> CascadeCalibration:
    """Find the bounds within which a cheap judge can decide alone with the required accuracy.

    Args:
        cheap: the verdicts of the cheap judge; the last one on each case counts.
        strong: the strong judge's verdicts on the same cases. They don't affect the bounds.
        labels: people's labels, which neither judge was built with. One row of each group counts.
        accuracy: the required share of right verdicts among those of the cheap judge, above 0 and below 1.
        by: the value to compare with the bounds; see `Cascade`.
        rubric: the cheap judge's rubric, needed for probabilities.
        label_threshold: the lowest label that means grounded, needed for graded labels.

    Raises:
        LabelError: `no_threshold`: no bounds are proven; `bad_option`: for verdicts of several judges or
            of votes, graded labels without a label threshold, an accuracy of 0 or 1, or probabilities
            without their rubric; `too_few_labels`: no verdict of the cheap judge has a label;
            `unreadable_label`.
    """
    if not 0 < accuracy < 1:
        message = (
            f"`accuracy` must be between 0 and 1, not {accuracy:g}: labels never prove that all are right"
        )
        raise LabelError("bad_option", message, "accuracy")
    cheap_verdicts = single_judge(cheap, "the cheap judge")
    strong_verdicts = single_judge(strong, "the strong judge")
    (judge,) = cheap_verdicts.judges
    grounded = find_grounded(judge, labels, label_threshold)
    # From a file of millions of verdicts, only those with a label are kept.
    all_labelled = [verdict for verdict in cheap_verdicts if verdict.case_id in grounded]
    labelled = _choose_independent(all_labelled, labels)
    if not labelled:
        raise LabelError("too_few_labels", f"{judge}: no verdict of the cheap judge has a label", judge)
    if any(verdict.votes for verdict in labelled):
        fault = (
            "its verdicts come from votes, but the members of a cascade are single judges: use a single judge"
        )
        raise LabelError("bad_option", f"{judge}: {fault}", judge)
    strong_by_case: dict[str, Verdict] = {}
    for verdict in strong_verdicts:
        if verdict.case_id in grounded:
            strong_by_case[verdict.case_id] = verdict
    rows: list[CascadeRow] = []
    for verdict, (number, certainty) in zip(labelled, _numbers(labelled, by, rubric), strict=True):
        case_id = verdict.case_id or ""
        row = CascadeRow(
            cheap=verdict,
            strong=strong_by_case.get(case_id),
            is_grounded=grounded[case_id],
            number=number,
            certainty=certainty,
        )
        rows.append(row)
    standing = find_standing(rows, accuracy)  # the rows that the cheap judge may decide alone
    # "Not applicable" alone has no bounds.
    if all(row.number is None for row in standing):
        raise LabelError("no_threshold", _why_none(rows, accuracy, judge), judge)
    left_out = {
        "n_unjudged": len(grounded) - len(all_labelled),
        "n_left_out": len(all_labelled) - len(labelled),
    }
    return _measure(rows, standing, accuracy, by, left_out)


def _choose_independent(verdicts: Iterable[Verdict], labels: Labels) -> list[Verdict]:
    """Choose the verdicts that count: one of each group, and from a drawn sample each stratum by its size.

    The choice depends on a hash of the cases' ids alone: no verdict or label can influence it. A drawn sample
    over-represents some strata. Its rows are thinned to the lowest of all sampling rates, which makes them a
    random sample.
    """
    case_by_group: dict[str, str] = {}
    verdict_by_case = {verdict.case_id or "": verdict for verdict in verdicts}
    for case_id in sorted(verdict_by_case, key=_fraction):
        case_by_group.setdefault(labels.group_of(case_id), case_id)
    most = max(map(labels.weight_of, case_by_group.values()), default=1.0)
    independent: list[Verdict] = []
    for group, case_id in case_by_group.items():
        # With the case's id, this would be smaller the more rows a group has.
        if _fraction(group) <= labels.weight_of(case_id) / most:
            independent.append(verdict_by_case[case_id])
    return independent


def _fraction(name: str) -> float:
    """Make a number from 0 to 1 from a name alone: it says nothing about the case."""
    # An id may contain half of a surrogate pair, as JSON allows.
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]) / 2**64


def find_standing(rows: Iterable[CascadeRow], accuracy: float) -> Sequence[CascadeRow]:
    """Return the largest set of the surest rows that is proven to have the required accuracy.

    Rows with the same certainty stay together. () if nothing is proven.
    """
    ranked = _rank(rows)
    sets = _nested_sets(ranked)
    whole = [rows_set for rows_set in sets if rows_set.is_whole]
    n_at_start = fewest_rows(accuracy, MISTAKES_AT_START, ONE_SIDED - ERROR_OF_ALL)
    step = max(1, len(ranked) // SETS)
    growing: list[_Set] = []
    next_size = step
    for rows_set in sets:
        is_due = rows_set.size >= n_at_start and rows_set.size >= next_size
        if is_due or (growing and rows_set.is_whole):
            growing.append(rows_set)
            next_size = rows_set.size + step
    if not growing:  # with so few labels there is one test, with all of the 5%
        return ranked[: _last_proven(whole, accuracy, ONE_SIDED)]
    size = max(
        _last_proven(growing, accuracy, ONE_SIDED - ERROR_OF_ALL),
        _last_proven(whole, accuracy, ERROR_OF_ALL),
    )
    return ranked[:size]


@cache
def fewest_rows(accuracy: float, n_mistakes: int = 0, error: float = ONE_SIDED) -> int:
    """Return the minimum number of rows that prove an accuracy with this number of mistakes."""
    # Even without a mistake, fewer rows cannot prove it: accuracy**n must not exceed the error.
    n = max(n_mistakes + 1, ceil(log(error) / log(accuracy)))
    while lower_bound(n - n_mistakes, n, error) < accuracy:
        n += 1
    return n


class _Set(NamedTuple):
    """The surest rows, up to a certainty.

    Attributes:
        size: how many rows.
        n_right: how many of their verdicts are right.
        is_whole: whether it is all rows that are sure of a score, or all rows.
    """

    size: int
    n_right: int
    is_whole: bool


def _nested_sets(ranked: Sequence[CascadeRow]) -> Sequence[_Set]:
    """Return the sets of the surest rows, smallest first, that keep rows with the same certainty together."""
    sets: list[_Set] = []
    n_right = 0
    for size, row in enumerate(ranked, 1):
        n_right += row.is_right
        next_certainty = None if size == len(ranked) else ranked[size].certainty
        if next_certainty != row.certainty:
            is_whole = next_certainty is None or next_certainty == NOT_APPLICABLE
            sets.append(_Set(size, n_right, is_whole))
    return sets


def _last_proven(sets: Iterable[_Set], accuracy: float, error: float) -> int:
    """Return the size of the last set before the first that is not proven; 0 if the first is not."""
    n_fewest = fewest_rows(accuracy, error=error)
    size = 0
    for rows_set in sets:
        if rows_set.size < n_fewest:
            continue  # too small to prove anything, so not a test
        if lower_bound(rows_set.n_right, rows_set.size, error) < accuracy:
            break
        size = rows_set.size
    return size


def _bounds_of(standing: Iterable[CascadeRow], by: By) -> tuple[Bounds, bool]:
    """Return the bounds of a set of rows, and whether "not applicable" is final."""
    passing: list[float] = []
    failing: list[float] = []
    # In a probability, "not applicable" is counted as passing.
    not_applicable_stands = by == "probability"
    for row in standing:
        if not row.is_applicable:
            not_applicable_stands = True
        if row.number is not None and row.cheap.passed:
            passing.append(row.number)
        elif row.number is not None:
            failing.append(row.number)
    return (max(failing, default=None), min(passing, default=None)), not_applicable_stands


Number = tuple[float | None, float | None]
"""The number of a verdict to compare with bounds, and how sure the judge is."""


def _numbers(verdicts: Sequence[Verdict], by: By, rubric: Rubric | None) -> list[Number]:
    """Find the number of each verdict, and its certainty.

    Raises:
        LabelError: `bad_option`: the verdicts have several thresholds, or probabilities lack their rubric.
    """
    if by == "score":
        return _numbers_by_score(verdicts)
    judge = verdicts[0].judge
    if rubric is None:
        message = f"{judge}: probabilities need the rubric: name the judge's prompt file with `judge_file`"
        raise LabelError("bad_option", message, "judge_file")
    _check_threshold(verdicts, rubric)
    return [_number_by_probability(verdict, rubric) for verdict in verdicts]


def _number_by_probability(verdict: Verdict, rubric: Rubric) -> Number:
    if verdict.status == "error":
        return None, None
    probability = passing_probability(rubric, verdict, count_not_applicable=True)
    if probability is None:
        return None, None
    number = _on_its_side(probability, verdict)
    if verdict.passed:
        return number, number
    return number, 1 - number


def _numbers_by_score(verdicts: Sequence[Verdict]) -> list[Number]:
    """Find the score of each verdict, and its distance from the threshold, 0..1.

    Raises:
        LabelError: `bad_option`: the verdicts have several thresholds.
    """
    passing_scores: list[float] = []
    failing_scores: list[float] = []
    for verdict in verdicts:
        score = deciding_score(verdict)
        if score is not None and verdict.passed:
            passing_scores.append(round_score(score))
        elif score is not None:
            failing_scores.append(round_score(score))
    # Verdicts do not include their threshold: it lies between these two, and no bound may be beyond it.
    lowest_passing = min(passing_scores, default=1.0)
    highest_failing = max(failing_scores, default=0.0)
    if passing_scores and failing_scores and highest_failing >= lowest_passing:
        judge = verdicts[0].judge
        fault = f"{highest_failing:g} fails and {lowest_passing:g} passes"
        raise LabelError(
            "bad_option",
            f"{judge}: the verdicts have several thresholds: {fault}; judge them with one",
            judge,
        )
    middle = (highest_failing + lowest_passing) / 2
    numbers: list[Number] = []
    for verdict in verdicts:
        score = deciding_score(verdict)
        if verdict.status == "not_applicable":
            numbers.append((None, NOT_APPLICABLE))
        elif score is None:
            numbers.append((None, None))
        elif verdict.passed:
            number = max(_on_its_side(score, verdict), lowest_passing)
            numbers.append((number, 1 - (1 - number) / (1 - middle)))
        else:
            number = min(_on_its_side(score, verdict), highest_failing)
            numbers.append((number, 1 - number / middle))
    return numbers


def _check_threshold(verdicts: Iterable[Verdict], rubric: Rubric) -> None:
    for verdict in verdicts:
        score = deciding_score(verdict)
        if score is not None and verdict.passed is not passes(score, rubric.threshold):
            passed = "passed" if verdict.passed else "failed"
            message = (
                f"{verdict.judge}: its run used a threshold other than its file's {rubric.threshold:g}: "
                f"{score:g} {passed}; set `threshold` in the prompt file, and judge with that file"
            )
            raise LabelError("bad_option", message, verdict.judge)


def _on_its_side(number: float, verdict: Verdict) -> float:
    """Round to four decimals so that, as a bound on this side of the threshold, it includes the number."""
    steps = round_score(number * STEPS_OF_BOUNDS)
    if verdict.passed:
        return floor(steps) / STEPS_OF_BOUNDS
    return ceil(steps) / STEPS_OF_BOUNDS


def _rank(rows: Iterable[CascadeRow]) -> Sequence[CascadeRow]:
    """Return the rows for which the cheap judge says how sure it is, surest first."""
    certain = [row for row in rows if row.certainty is not None]
    return sorted(certain, key=lambda row: -(row.certainty or 0.0))


def _why_none(rows: Sequence[CascadeRow], accuracy: float, judge: str) -> str:
    """Say that nothing is proven, and how often the judge is right where it is most sure."""
    fault = f"{judge}: no threshold reaches {accuracy:.2f} with {len(rows)} labels"
    sets = _nested_sets(_rank(rows))
    if not sets:
        return f"{fault}: no verdict of the cheap judge says how sure it is"
    surest = next((rows_set for rows_set in sets if rows_set.size >= MIN_SHOWN), sets[-1])
    share = f"{surest.n_right / surest.size:.0%} of the {surest.size} rows that it is most sure of"
    return f"{fault}: it is right on {share}; {fewest_rows(accuracy)} without a mistake would prove it"


def _measure(
    rows: Sequence[CascadeRow],
    standing: Sequence[CascadeRow],
    accuracy: float,
    by: By,
    left_out: Mapping[str, int],
) -> CascadeCalibration:
    """Measure what the rows that the cheap judge decides save, and how often the cascade is right."""
    until, not_applicable_stands = _bounds_of(standing, by)
    standing_ids = {row.cheap.case_id for row in standing}
    matched = [row for row in rows if row.is_matched]
    cascade_right: list[bool] = []
    for row in matched:
        if row.cheap.case_id in standing_ids:
            cascade_right.append(row.is_right)
        else:
            cascade_right.append(row.is_strong_right)
    return CascadeCalibration(
        judge=rows[0].cheap.judge,
        models=(_models(row.cheap for row in rows), _models(row.strong for row in matched)),
        accuracy=accuracy,
        by=by,
        until=until,
        not_applicable_stands=not_applicable_stands,
        n=len(rows),
        n_standing=len(standing),
        n_right=sum(row.is_right for row in standing),
        saved=wilson(len(standing) / len(rows), len(rows)),
        standing_right=rate_of([row.is_right for row in standing]),
        cheap_right=rate_of([row.is_right for row in matched]),
        strong_right=rate_of([row.is_strong_right for row in matched]),
        cascade_right=rate_of(cascade_right),
        counts={
            "n_error": sum(row.cheap.status == "error" for row in rows),
            "n_not_applicable": sum(not row.is_applicable for row in rows),
            "n_unmatched": len(rows) - len(matched),
            **left_out,
        },
    )


def _models(verdicts: Iterable[Verdict | None]) -> str:
    """Name the models of verdicts."""
    names = {verdict.model for verdict in verdicts if verdict is not None and verdict.model}
    return ", ".join(sorted(names)) or "?"
