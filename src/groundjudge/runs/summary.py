"""What a run amounts to, judge by judge: the mean, and how much of the data it speaks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from groundjudge.verdict import Frozen, Score, Usage, Verdict

MISSING = "missing_field"
"""The error code of a row that lacks an input the judge needs."""


class Summary(Frozen):
    """The verdicts of one judge, counted.

    Attributes:
        judge: the judge's name; "" stands for the rows that could not be read.
        mean: the mean score, 0..1, over the rows that have one; None when no row has.
        n_ok: rows with a score.
        n_error: rows that should have one and have not.
        n_not_applicable: rows with nothing to judge.
        n_missing: rows that lack an input the judge needs (error code `missing_field`); they are no
            failures of the judge and are counted nowhere else.
        coverage: n_ok / (n_ok + n_error), 0..1; 1.0 when there was nothing to score.
        bounds: what the mean would be if every error were a 0, and if every one were a 1; None when
            there was nothing to score.
        pass_rate: the share, 0..1, of the rows with a score that reached the threshold; None when
            no row has a score.
        labels: how often each label was given, the most frequent first.
        errors: how often each error code came, the most frequent first; `missing_field` is not there.
        usage: tokens of all its verdicts together, with re-asks and without what came from a cache; None
            when the model reported none.
    """

    judge: str
    mean: Score | None
    n_ok: int
    n_error: int
    n_not_applicable: int
    n_missing: int
    coverage: Score
    bounds: tuple[Score, Score] | None
    pass_rate: Score | None
    labels: Mapping[str, int]
    errors: Mapping[str, int]
    usage: Usage | None = None

    @property
    def n(self) -> int:
        """All rows that the judge was given."""
        return self.n_ok + self.n_error + self.n_not_applicable + self.n_missing


class Tally:
    """Counts verdicts as they come, judge by judge, and keeps none of them.

    Args:
        judges: names that have a summary in any case, and before all others.
    """

    def __init__(self, judges: Iterable[str] = ()) -> None:
        self._first = tuple(judges)
        self._counts = {judge: _Count(judge) for judge in self._first}

    def add(self, verdict: Verdict) -> None:
        """Count one more verdict."""
        self._counts.setdefault(verdict.judge, _Count(verdict.judge)).add(verdict)

    def summaries(self) -> list[Summary]:
        """One summary per judge so far: those named at first in their order, then the others by name."""
        others = sorted(self._counts.keys() - set(self._first))
        return [self._counts[judge].summary() for judge in (*dict.fromkeys(self._first), *others)]


def summarise(verdicts: Iterable[Verdict]) -> list[Summary]:
    """One summary per judge, by name, of any iterable of verdicts. None of them is kept.

    Rows that could not be read belong to no judge: they have a summary of their own, named "".
    """
    tally = Tally()
    for verdict in verdicts:
        tally.add(verdict)
    return tally.summaries()


@dataclass
class _Count:
    """What is counted for one judge."""

    judge: str
    total: Fraction = Fraction()  # exact, so that the order in which verdicts come changes nothing
    passed: int = 0
    statuses: Counter[str] = field(default_factory=Counter[str])
    labels: Counter[str] = field(default_factory=Counter[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    usage: Usage | None = None

    def add(self, verdict: Verdict) -> None:
        missing = verdict.error is not None and verdict.error.code == MISSING
        self.statuses["missing" if missing else verdict.status] += 1
        if verdict.score is not None:
            self.total += Fraction(verdict.score)
            self.passed += bool(verdict.passed)
        if verdict.label is not None:
            self.labels[verdict.label] += 1
        if verdict.error is not None and not missing:
            self.errors[verdict.error.code] += 1
        if verdict.usage is not None:
            self.usage = self.usage + verdict.usage if self.usage else verdict.usage

    def summary(self) -> Summary:
        n_ok, n_error = self.statuses["ok"], self.statuses["error"]
        n_due = n_ok + n_error
        return Summary(
            judge=self.judge,
            mean=float(self.total / n_ok) if n_ok else None,
            n_ok=n_ok,
            n_error=n_error,
            n_not_applicable=self.statuses["not_applicable"],
            n_missing=self.statuses["missing"],
            coverage=n_ok / n_due if n_due else 1.0,
            bounds=(float(self.total / n_due), float((self.total + n_error) / n_due)) if n_due else None,
            pass_rate=self.passed / n_ok if n_ok else None,
            labels=_by_frequency(self.labels),
            errors=_by_frequency(self.errors),
            usage=self.usage,
        )


def _by_frequency(counted: Counter[str]) -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))
