"""The summary of a run for each judge: the mean score, and how much of the data it covers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain
from typing import Literal, TypeAlias

from groundjudge.citations import used_documents
from groundjudge.verdict import Frozen, Score, Usage, Verdict

Figure: TypeAlias = Literal["mean", "lower_bound", "upper_bound", "coverage", "pass_rate"]
"""The figures of a summary that adapters show."""


class Summary(Frozen):
    """Counts and averages over the verdicts of one judge.

    Attributes:
        judge: the judge's name; "" for the rows that could not be read.
        mean: the mean score, 0..1, over the rows with a score; None if there are none.
        scores: the mean of each further score, 0..1, such as "weakest", over the rows that have it.
        n_ok: rows with a score.
        n_error: rows that should have a score but ended in an error, such as those without an input that
            the judge needs (`missing_field`).
        n_not_applicable: rows with nothing to judge.
        coverage: n_ok / (n_ok + n_error + n_waiting), 0..1; None if there was nothing to score.
        bounds: the mean if all rows that have an error or are waiting were scored 0, and if all were scored
            1; None if there was nothing to score.
        pass_rate: the share, 0..1, of the rows with a score that passed the threshold; None if no row
            has a score.
        labels: label -> number of verdicts, the most frequent first; only decided verdicts count.
        errors: error code -> number of verdicts, the most frequent first.
        notes: warning -> number of verdicts that have it, or whose parts have it, the most frequent first.
        calls_per_row: the average number of calls per row, including re-asks and replies from a cache; None
            if no row took any.
        agreement: the mean agreement of the votes, 0..1, over the rows with votes; None if there are none.
        split_rate: the share, 0..1, of the rows with votes whose votes differ; None if there are none.
        decided_by: for a cascade, how many rows each judge and model decided, the most frequent first.
        used_documents: for judges that give evidence, how many sentences the document at each position, from
            1, supports; documents that were never used are left out.
        usage: the total tokens of all verdicts, including re-asks, excluding replies from a cache; None if
            the model reported no usage.
        n_waiting: rows whose verdicts are waiting for a batch that is still running.
    """

    judge: str
    mean: Score | None
    n_ok: int
    n_error: int
    n_not_applicable: int
    coverage: Score | None
    bounds: tuple[Score, Score] | None
    pass_rate: Score | None
    labels: Mapping[str, int]
    errors: Mapping[str, int]
    scores: Mapping[str, Score] = {}
    notes: Mapping[str, int] = {}
    calls_per_row: float | None = None
    agreement: Score | None = None
    split_rate: Score | None = None
    decided_by: Mapping[str, int] = {}
    used_documents: Mapping[int, int] = {}
    usage: Usage | None = None
    n_waiting: int = 0

    @property
    def n(self) -> int:
        """The number of verdicts in the summary."""
        return self.n_ok + self.n_error + self.n_not_applicable

    @property
    def evidence_not_found(self) -> int:
        """Verdicts with a score that needs a quote which is in no document."""
        return self.notes.get("evidence_not_found", 0)

    @property
    def logprobs_unusable(self) -> int:
        """Verdicts whose score should have been weighted but is not."""
        return self.notes.get("logprobs_unusable", 0)

    @property
    def not_decided(self) -> int:
        """Verdicts of the offline judge on responses that it could not find in the sources."""
        return self.notes.get("not_decided", 0)

    @property
    def shares_unreadable(self) -> int:
        """Verdicts whose score should have been the mean by stated shares but is that of the value."""
        return self.notes.get("shares_unreadable", 0)

    @property
    def figures(self) -> dict[Figure, float | None]:
        """The figures that adapters show; None if there is nothing to compute one from."""
        lower_bound, upper_bound = self.bounds or (None, None)
        return {
            "mean": self.mean,
            "lower_bound": lower_bound,
            "upper_bound": upper_bound,
            "coverage": self.coverage,
            "pass_rate": self.pass_rate,
        }

    @property
    def counts(self) -> str:
        """The numbers of rows in one sentence, as adapters show them next to the figures."""
        errors = ", ".join(f"{code} {count}" for code, count in self.errors.items()) or "none"
        sentence = (
            f"{self.n} rows: {self.n_ok} with a score, {self.n_not_applicable} not applicable, "
            f"{self.n_error} errors ({errors})"
        )
        for note, count in self.notes.items():
            sentence += f", {count} with {note}"
        return sentence


class Tally:
    """Counts verdicts per judge as they arrive, without keeping them.

    Args:
        judges: the names of the judges whose summaries come first, in this order, even without a verdict.
    """

    def __init__(self, judges: Iterable[str] = ()) -> None:
        self._first_judges = tuple(dict.fromkeys(judges))
        self._counts: defaultdict[str, _Counts] = defaultdict(_Counts)

    def add(self, verdict: Verdict) -> None:
        """Count one verdict."""
        self._counts[verdict.judge].add(verdict)

    def add_waiting(self, judge: str, n_rows: int) -> None:
        """Count rows whose verdicts are still to come."""
        self._counts[judge].n["waiting"] += n_rows

    def summaries(self) -> list[Summary]:
        """Make one summary per judge so far: first the judges named at the start, then the others by name."""
        further_judges = sorted(self._counts.keys() - set(self._first_judges))
        judges = [*self._first_judges, *further_judges]
        return [self._counts[judge].summary(judge) for judge in judges]


def summarise(verdicts: Iterable[Verdict]) -> list[Summary]:
    """Make one summary per judge, sorted by name. The verdicts may be any iterable and are not kept.

    Rows that could not be read belong to no judge: they have a separate summary, whose judge is "".

    Raises:
        TypeError: they are not verdicts, but for example the path of a file of verdicts, or a single verdict.
    """
    tally = Tally()
    for verdict in verdicts:
        if not isinstance(verdict, Verdict):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"summarise takes the verdicts that run() yields, in an iterable, not {verdicts!r:.100}"
            raise TypeError(message)
        tally.add(verdict)
    return tally.summaries()


@dataclass
class _Counts:
    """The running counts of one judge."""

    total_score: Fraction = Fraction()  # exact, so the order of the verdicts changes nothing
    # For each further score, by its name: the total, and how many there are.
    scores: dict[str, tuple[Fraction, int]] = field(default_factory=dict[str, tuple[Fraction, int]])
    total_agreement: Fraction = Fraction()
    # By what is counted: a status, "waiting", a warning, "passed", "calls", "rows_with_calls" and so on.
    n: Counter[str] = field(default_factory=Counter[str])
    labels: Counter[str] = field(default_factory=Counter[str])
    errors: Counter[str] = field(default_factory=Counter[str])
    notes: Counter[str] = field(default_factory=Counter[str])
    decided_by: Counter[str] = field(default_factory=Counter[str])
    used_documents: Counter[int] = field(default_factory=Counter[int])
    usage: Usage | None = None

    def add(self, verdict: Verdict) -> None:
        """Count one verdict."""
        self.n[verdict.status] += 1
        if verdict.score is not None:
            self.total_score += Fraction(verdict.score)
            if verdict.passed:
                self.n["passed"] += 1
        for name, score in verdict.scores.items():
            total, n_scores = self.scores.get(name, (Fraction(), 0))
            self.scores[name] = (total + Fraction(score), n_scores + 1)
        # If nothing is decided, the label only names the range of the score.
        if verdict.label is not None and "not_decided" not in verdict.warnings:
            self.labels[verdict.label] += 1
        if verdict.error is not None:
            self.errors[verdict.error.code] += 1
        # Rows are counted, no matter how many of their quotes are missing.
        self.notes.update({*verdict.warnings, *chain.from_iterable(part.warnings for part in verdict.parts)})
        self.n["calls"] += verdict.attempts
        # Blank responses, which need no call, would make the others seem cheaper.
        if verdict.attempts > 0:
            self.n["rows_with_calls"] += 1
        if verdict.agreement is not None:
            self.n["rows_with_votes"] += 1
            self.total_agreement += Fraction(verdict.agreement)
            if verdict.agreement < 1:
                self.n["split"] += 1
        if verdict.decided_by is not None:
            self.decided_by[verdict.decided_by] += 1
        self.used_documents.update(used_documents(verdict.parts))
        if verdict.usage is not None:
            self.usage = (self.usage or Usage()) + verdict.usage

    def summary(self, judge: str) -> Summary:
        """Make the summary of the counts so far, for the judge with that name."""
        n = self.n
        n_unknown = n["error"] + n["waiting"]
        # "Not applicable" is an outcome: only errors and waiting rows lack a score, each from 0 to 1.
        n_scorable = n["ok"] + n_unknown
        lowest_mean = _mean(self.total_score, n_scorable)
        highest_mean = _mean(self.total_score + n_unknown, n_scorable)
        bounds = None
        if lowest_mean is not None and highest_mean is not None:
            bounds = (lowest_mean, highest_mean)
        return Summary(
            judge=judge,
            mean=_mean(self.total_score, n["ok"]),
            scores={name: float(total / n_scores) for name, (total, n_scores) in self.scores.items()},
            n_ok=n["ok"],
            n_error=n["error"],
            n_not_applicable=n["not_applicable"],
            coverage=_mean(n["ok"], n_scorable),
            bounds=bounds,
            pass_rate=_mean(n["passed"], n["ok"]),
            labels=_by_frequency(self.labels),
            errors=_by_frequency(self.errors),
            notes=_by_frequency(self.notes),
            calls_per_row=_mean(n["calls"], n["rows_with_calls"]),
            agreement=_mean(self.total_agreement, n["rows_with_votes"]),
            split_rate=_mean(n["split"], n["rows_with_votes"]),
            decided_by=_by_frequency(self.decided_by),
            used_documents={index + 1: count for index, count in sorted(self.used_documents.items())},
            usage=self.usage,
            n_waiting=n["waiting"],
        )


def _mean(total: Fraction | int, n: int) -> float | None:
    """Return the total divided by the number; None if that is 0."""
    if n == 0:
        return None
    return float(total / n)


def _by_frequency(counts: Counter[str]) -> dict[str, int]:
    """Return the counts, the most frequent first, and by name where they are equal."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))
