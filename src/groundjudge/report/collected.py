"""What a report shows about verdicts: figures over all of them, and the first rows of each kind.

No browser opens a page of a million rows. So verdicts are counted one at a time, and only the first of each
kind are kept.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median, quantiles
from types import MappingProxyType
from typing import Any

from groundjudge.runs.latest_verdicts import LatestVerdicts, latest_verdicts
from groundjudge.runs.summary import Summary, Tally
from groundjudge.verdict import Verdict, passes_anew

# Maximum number of verdicts of a kind on the page. A kind is one judge with one outcome and, if there are
# labels, whether people agree with it.
MAX_OF_A_KIND = 1000

# The number of bins of equal width of a judge's histogram of scores.
HISTOGRAM_BINS = 20

# Digits of the hash of a prompt, as in a signature.
SHA_DIGITS = 12


@dataclass
class JudgeCounts:
    """What is counted in a judge's verdicts, in addition to their summary.

    Attributes:
        histogram: for each bin of the scores, how many verdicts did not pass and how many did.
        n_passed: verdicts with a score that passed; "not applicable" passes without one, and is counted
            separately.
        n_calls: how many times the model was asked.
        n_with_tokens: how many verdicts report their tokens.
        latencies: the seconds taken by each verdict for which a model was called.
        models: the names of the models that answered.
        prompts: the versions of the prompt.
        label_scores: for each label, the sum of its scores and their number.
    """

    histogram: list[list[int]] = field(default_factory=lambda: [[0, 0] for _ in range(HISTOGRAM_BINS)])
    n_passed: int = 0
    n_calls: int = 0
    n_with_tokens: int = 0
    latencies: array[float] = field(default_factory=lambda: array("d"))
    models: set[str] = field(default_factory=set[str])
    prompts: set[str] = field(default_factory=set[str])
    label_scores: dict[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])

    def add(self, verdict: Verdict) -> None:
        """Count one more verdict."""
        self.n_calls += verdict.attempts
        if verdict.passed and verdict.score is not None:
            self.n_passed += 1
        if verdict.usage:
            self.n_with_tokens += 1
        if verdict.model:
            self.models.add(verdict.model)
        if verdict.prompt:
            self.prompts.add(f"{verdict.prompt.version} · sha {verdict.prompt.sha256[:SHA_DIGITS]}")
        if verdict.attempts:
            self.latencies.append(verdict.latency_s)
        if verdict.label is not None and verdict.score is not None:
            total, n = self.label_scores.get(verdict.label, (0.0, 0))
            self.label_scores[verdict.label] = (total + verdict.score, n + 1)
        if verdict.score is not None:
            # A score of 1 belongs to the highest bin.
            bin_of_score = min(int(verdict.score * HISTOGRAM_BINS), HISTOGRAM_BINS - 1)
            self.histogram[bin_of_score][bool(verdict.passed)] += 1

    @property
    def latency(self) -> list[float] | None:
        """The median and 95th percentile of the seconds per verdict; None if no model was called."""
        if not self.latencies:
            return None
        if len(self.latencies) == 1:
            return [self.latencies[0], self.latencies[0]]  # `quantiles` needs two values
        seconds = sorted(self.latencies)
        return [median(seconds), quantiles(seconds, n=20, method="inclusive")[-1]]

    def levels(self, summary: Summary) -> list[dict[str, Any]]:
        """Count how often each level was given, by rising mean score, with levels without a score last."""
        levels: list[dict[str, Any]] = []
        for label, n_given in sorted(summary.labels.items()):
            mean: float | None = None
            if label in self.label_scores:
                total, n = self.label_scores[label]
                mean = total / n
            levels.append({"name": label, "n": n_given, "mean": mean})
        return sorted(levels, key=lambda level: (level["mean"] is None, level["mean"] or 0.0))


@dataclass(frozen=True)
class CollectedVerdicts:
    """The figures over all verdicts, and the first verdicts of each kind.

    Attributes:
        latest: the verdicts they come from.
        summaries: one for each judge, sorted by name.
        counts: what else was counted, by judge.
        shown_verdicts: the first verdicts of each kind, in their order.
        disagreements: the judge and case of each verdict that differs from people's label.
        most_of_a_kind: the maximum number shown of each kind.
        thresholds: the lowest score that passes, by judge; the verdicts of other judges pass as in the run.
    """

    latest: LatestVerdicts
    summaries: tuple[Summary, ...]
    counts: Mapping[str, JudgeCounts]
    shown_verdicts: tuple[Verdict, ...]
    disagreements: frozenset[tuple[str, str]]
    most_of_a_kind: int
    thresholds: Mapping[str, float]

    @property
    def shown_ids(self) -> frozenset[str]:
        """The ids of the cases that the shown verdicts are on."""
        return frozenset(verdict.case_id for verdict in self.shown_verdicts if verdict.case_id is not None)


def collect(
    verdicts: Iterable[Verdict],
    disagreements: frozenset[tuple[str, str]] = frozenset(),
    most_of_a_kind: int = MAX_OF_A_KIND,
    thresholds: Mapping[str, float] = MappingProxyType({}),
) -> CollectedVerdicts:
    """Count verdicts in a stream, and keep the first of each kind.

    Args:
        verdicts: of any judges.
        disagreements: the judge and case of each verdict that differs from people's label.
        most_of_a_kind: the maximum number to keep of each kind.
        thresholds: the lowest score that passes, 0..1, by judge; the verdicts of other judges pass as in the
            run. The votes of a panel keep their own outcomes, by which its agreement was counted.
    """
    latest = latest_verdicts(verdicts)
    tally = Tally()
    counts: dict[str, JudgeCounts] = {}
    shown_verdicts: list[Verdict] = []
    n_of_kind: Counter[tuple[str, str, bool | None, bool]] = Counter()
    for verdict in latest:
        if verdict.judge in thresholds:
            passed = passes_anew(verdict, thresholds[verdict.judge])
            verdict = verdict.model_copy(update={"passed": passed})  # noqa: PLW2901  the same verdict
        tally.add(verdict)
        counts.setdefault(verdict.judge, JudgeCounts()).add(verdict)
        disagrees = (verdict.judge, verdict.case_id or "") in disagreements
        kind = (verdict.judge, verdict.status, verdict.passed, disagrees)
        n_of_kind[kind] += 1
        if n_of_kind[kind] <= most_of_a_kind:
            shown_verdicts.append(verdict)
    return CollectedVerdicts(
        latest,
        tuple(tally.summaries()),
        counts,
        tuple(shown_verdicts),
        disagreements,
        most_of_a_kind,
        thresholds,
    )
