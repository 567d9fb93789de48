"""The totals of a run: its verdicts counted, and a few of them kept to be shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from groundjudge.errors import GroundjudgeError
from groundjudge.runs.resume import PreviousVerdicts
from groundjudge.runs.summary import Tally
from groundjudge.verdict import Usage, Verdict

MAX_UNREADABLE = 20
"""How many messages of unreadable rows are kept."""


@dataclass
class RunTotals:
    """The totals of a run. Memory does not grow with the rows.

    Attributes:
        tally: the summaries, judge by judge.
        kept_ids: the ids of the cases whose verdicts are kept.
        previous: the verdicts of the run that this one continues; None for a run from the start.
        kept: the verdicts of those cases, by the case's id.
        first_errors: the first message, by judge and error code.
        unreadable: messages of rows that could not be read: the first `MAX_UNREADABLE`.
        n_unreadable: how many rows could not be read.
        n_new: how many verdicts are not from the previous run.
        usage: the tokens of the new verdicts; None when the model reported none.
        stopped: why the run ended early; None when it did not.
    """

    tally: Tally
    kept_ids: frozenset[str] = frozenset()
    previous: PreviousVerdicts | None = None
    kept: dict[str, list[Verdict]] = field(default_factory=dict[str, list[Verdict]])
    first_errors: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    unreadable: list[str] = field(default_factory=list[str])
    n_unreadable: int = 0
    n_new: int = 0
    usage: Usage | None = None
    stopped: GroundjudgeError | None = None

    def is_new(self, verdict: Verdict) -> bool:
        """Whether a verdict is not from the previous run."""
        return self.previous is None or verdict.key not in self.previous

    def add(self, verdict: Verdict) -> None:
        """Count one more verdict."""
        if self.is_new(verdict):
            self.n_new += 1
            if verdict.usage:
                self.usage = (self.usage or Usage()) + verdict.usage
        if verdict.case_id in self.kept_ids:
            self.kept.setdefault(verdict.case_id, []).append(verdict)
        if verdict.judge:
            self.tally.add(verdict)
        if verdict.error and verdict.judge:
            message = f"{verdict.case_id}: {verdict.error.message}"
            self.first_errors.setdefault((verdict.judge, verdict.error.code), message)
        elif verdict.error:
            self.n_unreadable += 1
            self.unreadable = [*self.unreadable, verdict.error.message][:MAX_UNREADABLE]
