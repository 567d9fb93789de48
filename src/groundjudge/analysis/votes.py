"""Votes against people's labels: is a panel right where it agrees, and is it better than its members?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Literal, TypeAlias

from groundjudge.analysis.figures import RESAMPLES, Bools, Figure, Floats, Sample, numbered, with_intervals
from groundjudge.analysis.joined import Joined
from groundjudge.analysis.libraries import NDArray, np, stats
from groundjudge.verdict import Frozen, Score, Verdict, Vote, passes

SINGLE_VOTE = "a single vote"
SIGNIFICANT = 0.05
"""The p value from which on a difference counts as noise, after Bonferroni's correction for the members."""

SHA_DIGITS = 12

MemberKey: TypeAlias = tuple[str, str, str]
"""Whose vote it is: the judge's name, the model's, and the hash of the prompt."""

Finding: TypeAlias = Literal["worse", "better", "no_difference"]


class Accuracy(Frozen):
    """The share of rows that passed or not as people's labels say; the figure has no value without rows."""

    n: int
    accuracy: Figure


class Member(Frozen):
    """How a member of a panel agrees with people, by its first vote on each row.

    Attributes:
        name: what distinguishes it from the other members: judge, model, prompt; `SINGLE_VOTE` for repeats.
        n: rows with a vote of this member that has a score.
        difference: the member's accuracy minus the panel's on the same rows, with its paired interval.
        p: of the exact McNemar test of that difference.
        is_selected: whether it was only asked where earlier votes differed, which are the harder rows.
    """

    name: str
    n: int
    accuracy: Figure
    difference: Figure
    p: Score
    is_selected: bool


class VoteAgreement(Frozen):
    """How far the votes of a panel agree with people.

    Attributes:
        whole: the panel itself.
        unanimous: the rows whose votes all have one outcome.
        split: the others; a vote with an error counts as another outcome.
        members: in the order in which they vote.
        best: the member with the highest accuracy relative to the panel's, of those that always vote.
        finding: the panel compared with that member: worse or better than it only if the interval of the
            difference excludes 0 and p, times the number of members compared, is below 0.05.
    """

    whole: Accuracy
    unanimous: Accuracy
    split: Accuracy
    members: tuple[Member, ...]
    best: Member
    finding: Finding


@dataclass(frozen=True)
class _Panel:
    """The labelled verdicts of a panel, and how they are measured.

    Attributes:
        verdicts: those with votes.
        positive: whether the label calls the response grounded, shape (rows,).
        right: whether the panel agrees with it, shape (rows,).
        groups: the group of each row, numbered from 0, shape (rows,).
    """

    verdicts: Sequence[Verdict]
    positive: Bools
    right: Bools
    groups: NDArray[np.int64]
    threshold: float | None
    resamples: int
    seed: int

    def mean(self, values: Floats, rows: Bools) -> Figure:
        """The mean of values, one for each of the chosen rows, with its interval."""

        def resampled(weights: Floats) -> dict[str, Floats]:
            return {"mean": weights @ values / weights.sum(axis=1)}

        estimate = {"mean": float(values.mean()) if values.size else nan}
        groups = numbered(self.groups[rows])
        return with_intervals(estimate, groups, self.resamples, self.seed, resampled)["mean"]

    def accuracy(self, rows: Bools) -> Accuracy:
        """The panel's accuracy on the chosen rows."""
        right = self.right[rows].astype(np.float64)
        return Accuracy(n=right.size, accuracy=self.mean(right, rows))


def measure_votes(
    joined: Joined,
    sample: Sample,
    *,
    threshold: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> VoteAgreement | None:
    """Compare the votes of a panel with people's labels.

    Args:
        joined: the panel's verdicts joined with labels.
        sample: the same as columns.
        threshold: the lowest score, 0..1, that passes; None: as in the run.
        resamples: how many bootstrap resamples to draw for the intervals.
        seed: of the bootstrap.

    Returns:
        None if there are no votes, or the labels do not say which rows are positive.
    """
    voted = np.array([bool(row.verdict.votes) for row in joined.labelled], dtype=np.bool_)
    if sample.positive is None or not voted.any():
        return None
    verdicts = [row.verdict for row in joined.labelled if row.verdict.votes]
    rows = sample.rows(voted)
    positive = sample.positive[voted]
    right = rows.passed == positive
    panel = _Panel(verdicts, positive, right, rows.groups, threshold, resamples, seed)
    agreed = np.array([verdict.agreement == 1 for verdict in verdicts], dtype=np.bool_)
    members = tuple(_member(panel, key, name) for key, name in _names(verdicts).items())
    compared = [one for one in members if not one.is_selected] or members
    best = max(compared, key=lambda one: one.difference.value or 0.0)
    return VoteAgreement(
        whole=panel.accuracy(np.ones_like(agreed)),
        unanimous=panel.accuracy(agreed),
        split=panel.accuracy(~agreed),
        members=members,
        best=best,
        finding=_finding(best, len(compared)),
    )


def _member(panel: _Panel, key: MemberKey, name: str) -> Member:
    votes = [_first_vote(verdict, key) for verdict in panel.verdicts]
    rows = np.array([vote is not None for vote in votes], dtype=np.bool_)
    passed = np.array([_passes(vote, panel.threshold) for vote in votes if vote], dtype=np.bool_)
    own, others = passed == panel.positive[rows], panel.right[rows]
    right = own.astype(np.float64)
    return Member(
        name=name,
        n=right.size,
        accuracy=panel.mean(right, rows),
        difference=panel.mean(right - others, rows),
        p=_mcnemar(own & ~others, others & ~own),
        is_selected=_is_selected(key, panel.verdicts),
    )


def _names(verdicts: Sequence[Verdict]) -> Mapping[MemberKey, str]:
    """The members in the order of their votes, each with a name of what the others do not share."""
    longest = max(verdicts, key=lambda verdict: len(verdict.votes)).votes
    everyone = [vote for votes in (longest, *(one.votes for one in verdicts)) for vote in votes]
    keys = [*dict.fromkeys(_key(vote) for vote in everyone if vote.score is not None)]
    if len(keys) == 1:
        return {keys[0]: SINGLE_VOTE}
    shown = [
        len({judge for judge, _, _ in keys}) > 1,
        len({model for _, model, _ in keys}) > 1,
        len({(judge, sha) for judge, _, sha in keys}) > len({judge for judge, _, _ in keys}),
    ]
    return {key: ", ".join(part for part, differs in zip(key, shown, strict=True) if differs) for key in keys}


def _key(vote: Vote) -> MemberKey:
    sha = vote.prompt.sha256[:SHA_DIGITS] if vote.prompt else "?"
    return vote.judge, vote.model or "?", f"sha:{sha}"


def _first_vote(verdict: Verdict, key: MemberKey) -> Vote | None:
    """The first vote of a member: further ones may have been asked for because it was doubtful."""
    return next((vote for vote in verdict.votes if vote.score is not None and _key(vote) == key), None)


def _passes(vote: Vote, threshold: float | None) -> bool:
    return bool(vote.passed) if threshold is None or vote.score is None else passes(vote.score, threshold)


def _is_selected(key: MemberKey, verdicts: Sequence[Verdict]) -> bool:
    """Whether some rows were decided before it was this member's turn."""
    places = [
        place
        for verdict in verdicts
        for place, vote in enumerate(verdict.votes)
        if vote.score is not None and _key(vote) == key
    ]
    return any(len(verdict.votes) <= min(places) for verdict in verdicts)


def _mcnemar(only_one: Bools, only_other: Bools) -> float:
    """The exact McNemar test (1947): a two-sided binomial test on the rows where only one of two is right."""
    first, second = int(only_one.sum()), int(only_other.sum())
    return float(stats.binomtest(first, first + second).pvalue) if first + second else 1.0


def _finding(best: Member, n_compared: int) -> Finding:
    low, high = best.difference.low, best.difference.high
    if low is None or high is None or best.p * n_compared >= SIGNIFICANT or low <= 0 <= high:
        return "no_difference"
    return "worse" if low > 0 else "better"
