"""A cascade: a cheap judge whose verdict is final when it is sure, and a strong one for the other cases.

Most cases are clear, and a small model settles them as well as a large one, at a fraction of the cost. Where
the small one is sure enough isn't known in advance; `groundjudge calibrate --cascade` proves it on labelled
rows. A cascade is never more accurate than its strong judge on the cases that reach it, and never cheaper
than its cheap one: a case costs one call, and one more for each judge that is not sure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from math import isfinite
from typing import Any, Literal, TypeAlias

from groundjudge.case.case import Case
from groundjudge.case.data import is_list, is_number
from groundjudge.errors import GroundjudgeError, PromptError
from groundjudge.judging.conversation import Conversation
from groundjudge.judging.judge import BaseJudge, Judge, ask_vote, identity_of_requests
from groundjudge.judging.probability import passing_probability
from groundjudge.rubric.options import check_choice
from groundjudge.verdict import Verdict, deciding_score, fields_of_votes, round_score

Bounds: TypeAlias = tuple[float | None, float | None]
"""Where a judge is sure: a number at most the first, or at least the second; None: never at that end."""

Until: TypeAlias = Bounds | Sequence[Bounds]
"""The bounds of a cascade: one pair for all judges but the last, or a pair for each of them."""

By: TypeAlias = Literal["score", "probability"]
"""What bounds are compared with: the deciding score, or the probability that the verdict passes."""

MIN_JUDGES = 2

N_BOUNDS = 2

STANDING_FIELDS = (
    *("status", "score", "scores", "weakest", "value", "label", "passed", "reason", "parts", "warnings"),
    *("citations", "reply", "expected", "distribution", "confidence"),
)
"""The fields that a cascade's verdict takes from the one that is final."""


@dataclass(frozen=True)
class Cascade(BaseJudge):
    """Several judges: each is asked only if the one before it is not sure. Immutable.

    Use it like a Judge. The verdict of the first judge that is sure is final, or else that of the last one;
    the verdicts of all that were asked are its votes.

    Attributes:
        judges: two or more, the cheapest first; all have one scale and one threshold.
        until: for each judge but the last, when its verdict is final: it fails with a number at or below the
            first bound, or passes with one at or above the second.
        by: what bounds are compared with: the "score", which for sentences is that of the weakest where it
            decides, or the "probability" that the verdict passes, for verdicts with a distribution; for
            sentences that is the least over the claims. A verdict that has none is never sure.
        not_applicable_stands: whether "not applicable" may be final: with `by="score"` always, otherwise if
            the probability that it passes reaches the bound. By default the next judge is asked, because
            "not applicable" passes, and a judge may say so even of a response that makes claims.

    Raises:
        PromptError: `bad_cascade`.
    """

    judges: tuple[Judge, ...]
    until: tuple[Bounds, ...]
    by: By = "score"
    not_applicable_stands: bool = False

    def __post_init__(self) -> None:
        check_choice("bad_cascade", "by", self.by, By)
        if not isinstance(self.not_applicable_stands, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            value = self.not_applicable_stands
            raise bad_cascade("not_applicable_stands", f"it must be True or False, not {value!r}")
        _check_judges(self.judges)
        if len(self.until) != len(self.judges) - 1:
            pairs = f"{len(self.until)} pairs of bounds for {len(self.judges)} judges"
            raise bad_cascade("until", f"{pairs}: give one pair, or one for each judge but the last")
        for judge, bounds in zip(self.judges, self.until, strict=False):  # the last judge has none
            _check_bounds(bounds)
            if self.by == "score":
                _check_sides(bounds, judge)
            else:
                _check_probabilities(judge)

    @cached_property
    def identity(self) -> str:
        """A hash of all that determines a verdict: the judges' identities, and when the next one is asked."""
        settings = ["cascade", self.by, str(self.not_applicable_stands)]
        for judge in self.judges:
            settings.append(judge.identity)
        for bounds in self.until:
            settings.append(repr(bounds))
        return sha256(" ".join(settings).encode()).hexdigest()[:16]

    @property
    def voters(self) -> tuple[Judge, ...]:
        """The judges of the cascade."""
        return self.judges

    async def _verdict(self, case: Case, conversation: Conversation) -> Verdict:
        """Ask one judge after the other until one is sure, and return its verdict, with all votes."""
        votes: list[Verdict] = []
        index = 0
        while True:
            judge = self.judges[index]
            error: Exception | None = None
            try:
                vote = await ask_vote(judge, index + 1, case, conversation)
            except Exception as raised:  # noqa: BLE001  after any error the next judge is asked
                error = raised
                vote = judge.error_verdict(error, case)
            votes.append(vote)
            conversation.update_record(**fields_of_votes(votes))
            is_last = index + 1 == len(self.judges)
            # In a batch an answer may still come: then no other judge is asked.
            is_pending = isinstance(error, GroundjudgeError) and error.is_pending
            if error is not None and (is_last or is_pending):
                raise error
            if is_last or self._is_sure(index, vote):
                break
            index += 1
        changes: dict[str, Any] = {name: getattr(vote, name) for name in STANDING_FIELDS}
        changes["decided_by"] = f"{vote.judge}@{vote.model or judge.model.name}"
        return conversation.record.model_copy(update=changes)

    def _is_sure(self, index: int, verdict: Verdict) -> bool:
        """Whether the verdict of the judge with that index is final."""
        if verdict.status == "error":
            return False
        if verdict.status == "not_applicable":
            if not self.not_applicable_stands:
                return False
            if self.by == "score":
                return True
        number = deciding_score(verdict)
        if self.by == "probability":
            number = passing_probability(
                self.judges[index].rubric, verdict, count_not_applicable=self.not_applicable_stands
            )
        if number is None:
            return False
        # Rounded as for thresholds: a mean of 0.9 that floating point makes 0.8999999 reaches a bound of 0.9.
        low, high = self.until[index]
        # If a distribution has two peaks, a verdict can fail that more probably passes: then it is unsure.
        if verdict.passed:
            return high is not None and round_score(number) >= high
        return low is not None and round_score(number) <= low


def cascade(
    judges: Sequence[Judge], *, until: Until, by: By = "score", not_applicable_stands: bool = False
) -> Cascade:
    """Make a cascade: the first judge's verdict is final if it is sure, otherwise the next one is asked.

    If a judge ends in an error, the next one is asked. The same is true of "not applicable", which passes,
    unless calibration proved that it may be final. `groundjudge calibrate --cascade` finds bounds that
    labelled rows prove.

    Args:
        judges: two or more, the cheapest first, all with one scale and one threshold.
        until: `(low, high)`: a verdict is final if its deciding score is at most `low` or at least `high`,
            both 0..1; None for an end at which it never is. With more than two judges, pass one pair for
            all but the last, or a list with a pair for each.
        by: "score", or "probability": see `Cascade`.
        not_applicable_stands: whether "not applicable" may be final; see `Cascade`.

    Raises:
        PromptError: `bad_cascade`: there are fewer than two judges, one is listed twice, they have different
            scales or thresholds, bounds are out of order, outside 0..1 or on the wrong side of the
            threshold, both are None, or `by` is "probability" and a judge gives none.
    """
    members = as_members("bad_cascade", "cascade", judges)
    pairs: Any = until
    has_pairs = is_list(until) and len(until) > 0 and all(map(is_list, until))
    if not has_pairs:
        pairs = [until] * (len(members) - 1)
    # As tuples, which bounds from JSON are not: equal bounds make the same judge.
    bounds = [tuple(pair) if is_list(pair) else pair for pair in pairs]
    return Cascade(members, tuple(bounds), by, not_applicable_stands)


def as_members(code: str, subject: str, judges: Iterable[Judge]) -> tuple[Judge, ...]:
    """Return the judges that were passed to `cascade` or `panel`.

    Raises:
        PromptError: with that code, if it was one judge, or the name of one.
    """
    passed: object = judges
    if isinstance(passed, BaseJudge | str):
        fault = f"it needs a list of judges, as in {subject}([load(...), load(...)]), not {passed!r}"
        raise PromptError(code, f"{subject}: {fault}", subject)
    return tuple(judges)


def bad_cascade(subject: str, message: str) -> PromptError:
    """Make the error of an impossible cascade, or of an impossible option of one."""
    return PromptError("bad_cascade", f"{subject}: {message}", subject)


def _check_judges(judges: Sequence[Judge]) -> None:
    """Make sure that there are two judges or more, all single, distinct, on one scale, with one threshold."""
    if len(judges) < MIN_JUDGES:
        raise bad_cascade("cascade", f"it needs two judges or more, not {len(judges)}")
    identities = set[object]()
    for judge in judges:
        if not isinstance(judge, Judge):  # pyright: ignore[reportUnnecessaryIsInstance]
            fault = f"its members must be single judges, as load() returns them, not {type(judge).__name__}"
            raise bad_cascade("cascade", fault)
        identity = identity_of_requests(judge)
        if identity in identities:
            fault = f"{judge.name} with {judge.model.name} is listed twice, so it would be asked twice"
            raise bad_cascade("cascade", fault)
        identities.add(identity)
    for judge, next_judge in pairwise(judges):
        names = f"{judge.name} with {judge.model.name}", f"{next_judge.name} with {next_judge.model.name}"
        first, second = judge.rubric, next_judge.rubric
        if first.scale != second.scale:
            scales = f"{names[0]}: {first.scale}; {names[1]}: {second.scale}"
            raise bad_cascade("cascade", f"its judges must answer on one scale, not on several: {scales}")
        if first.threshold != second.threshold:
            thresholds = f"{names[0]}: {first.threshold:g}; {names[1]}: {second.threshold:g}"
            raise bad_cascade("cascade", f"its judges must have one threshold, not several: {thresholds}")


def _check_bounds(bounds: Bounds) -> None:
    """Make sure that bounds are a pair such as (0.1, 0.9), in order, of which at most one is None."""
    if not is_list(bounds) or len(bounds) != N_BOUNDS:
        raise bad_cascade("until", f"it must be (low, high), as in (0.1, 0.9), not {bounds!r}")
    low, high = bounds
    for bound in bounds:
        if bound is None:
            continue
        if not is_number(bound) or not isfinite(bound) or not 0 <= bound <= 1:
            raise bad_cascade("until", f"a bound is a number from 0 to 1, or None, not {bound!r}")
    if low is None and high is None:
        raise bad_cascade("until", "both bounds are None: no verdict of this judge would ever be final")
    if low is not None and high is not None and low > high:
        raise bad_cascade("until", f"the low bound {low:g} is above the high one {high:g}: swap them")


def _check_sides(bounds: Bounds, judge: Judge) -> None:
    """Make sure that a score that fails is sure at the low end only, and one that passes at the high end."""
    low, high = bounds
    threshold = judge.rubric.threshold
    where = f"the threshold of {judge.name} with {judge.model.name}, {threshold:g}"
    if low is not None and low >= threshold:
        raise bad_cascade("until", f"the low bound {low:g} must be below {where}: above it verdicts pass")
    if high is not None and high < threshold:
        raise bad_cascade("until", f"the high bound {high:g} must reach {where}: below it verdicts fail")


def _check_probabilities(judge: Judge) -> None:
    """Make sure that the verdicts of a judge can say how probable it is that they pass."""
    rubric = judge.rubric
    has_parts = rubric.format.part_names or rubric.format.parts_are_sentences
    who = f"{judge.name} with {judge.model.name}"
    if rubric.scores_by_probability:
        return
    if has_parts and rubric.passes == "score":
        fault = f"the score of {who} is made of several parts, which have no common probability"
        raise bad_cascade("by", f'{fault}: use by="score"')
    # Where no text is written, the answer is always how probable each value is.
    if rubric.way.writes_text and not rubric.weighted:
        fault = f"the verdicts of {who} have no probabilities"
        raise bad_cascade("by", f'{fault}: load it with weighted=True or "stated", or use by="score"')
