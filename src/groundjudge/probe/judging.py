"""A probe from start to end: plan, judge, figures."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Unpack

from groundjudge.judging.panel import AnyJudge
from groundjudge.probe.figures import Card, Judged, card, judged
from groundjudge.probe.plan import FAMILIES, Family, Plan, asked_twice, plan_of
from groundjudge.runs.run import Row, RunOptions, run
from groundjudge.verdict import Verdict, deciding_score


@dataclass(frozen=True)
class Probe:
    """The result of a probe.

    Attributes:
        plan: what was judged.
        verdicts: one for each trial, in no order.
        card: the figures.
        judged: the edited cases, each with its verdict and with those on the unchanged case.
    """

    plan: Plan
    verdicts: Sequence[Verdict]
    card: Card
    judged: Sequence[Judged]

    def worst(self, n: int = 3) -> list[Judged]:
        """For each family the n largest failures, one for each case if there are as many."""
        return [each for family in FAMILIES for each in self._failures(family)[:n]]

    def _failures(self, family: Family) -> list[Judged]:
        """The largest failure of each case, the largest first."""
        failures = (
            each
            for each in self.judged
            if each.trial.family == family and each.is_fit and each.verdict.status != "error"
            if each.event is (family != "faults")
        )
        rising = sorted(failures, key=_badness)
        of_each_case = {each.trial.original.name: each for each in rising}
        return sorted(of_each_case.values(), key=_badness, reverse=True)


def probe(
    judge: AnyJudge,
    cases: Iterable[Row] | None = None,
    *,
    without: Collection[str] = (),
    **options: Unpack[RunOptions],
) -> Probe:
    """Probe a judge: which faults does it miss, what moves its verdicts, and what fools it?

    Each case is judged twice unchanged, and once for each edit that applies to it; see `plan_of`.

    Args:
        judge: a judge or a panel.
        cases: rows with the judge's inputs and `expect`, "pass" or "fail" (or `label`, 1 or 0); by default
            those that come with the library.
        without: names of edits to leave out.
        options: as for `run`, see `RunOptions`; the order makes no difference.

    Raises:
        ProbeError: the judge cannot be probed with these cases, or every call failed.
        ModelError: as for `run`: no further case can be judged.
    """
    planned = plan_of(judge.rubrics[0], cases, without)
    verdicts = list(run(asked_twice(judge), [trial.case for trial in planned.trials], **options))
    return result_of(planned, verdicts, judge)


def result_of(planned: Plan, verdicts: Sequence[Verdict], judge: AnyJudge) -> Probe:
    """The result of a plan whose cases were judged.

    Raises:
        ProbeError: `no_verdict`.
    """
    today = datetime.now(UTC).date()
    return Probe(
        planned, verdicts, card(planned, verdicts, judge, today), judged(planned, verdicts, judge.rubrics[0])
    )


def _badness(each: Judged) -> float:
    """How far a verdict is from what it should be."""
    score, first = deciding_score(each.verdict) or 0.0, deciding_score(each.first) or 0.0
    return abs(score - first) if each.trial.family == "neutral_edits" else score
