"""Votes against people's labels: is a panel right where it agrees, and is it better than its members?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Literal, TypeAlias

from groundjudge.lab.figures import (
    Bootstrap,
    Figure,
    Sample,
    figures_of,
    outcomes,
    passes_at,
    percentile_figures,
    resample_pair,
)
from groundjudge.lab.labels import JudgedRows
from groundjudge.lab.libraries import NDArray, np
from groundjudge.lab.proportions import mcnemar
from groundjudge.verdict import Frozen, Score, Verdict

SINGLE_VOTE = "a single vote"
# The p value from which on a difference counts as noise, after Bonferroni's correction for the members.
SIGNIFICANT = 0.05

SHA_DIGITS = 12

# Whose vote it is: the judge's name, the model's, and the hash of the prompt.
MemberKey: TypeAlias = tuple[str, str, str]

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
        sample: the same as columns.
    """

    verdicts: Sequence[Verdict]
    sample: Sample
    threshold: float | None
    bootstrap: Bootstrap

    def accuracy(self, rows: NDArray[Any]) -> Accuracy:
        """The panel's accuracy on the chosen rows."""
        chosen = self.sample.rows(rows)
        return Accuracy(n=chosen.scores.size, **self.bootstrap.figures(chosen, Sample.accuracy))

    def member(self, key: MemberKey, name: str) -> Member:
        """How one member compares with the panel on the rows with a vote of this member."""
        turns = {row: found[key] for row, found in enumerate(map(_turns, self.verdicts)) if key in found}
        votes = [self.verdicts[row].votes[turn] for row, turn in turns.items()]
        passed = np.array([passes_at(self.threshold, vote) for vote in votes], dtype=np.bool_)
        whole = self.sample.rows(np.array([*turns]))
        member = replace(whole, passed=passed)
        _, own, difference = resample_pair(whole, member, Sample.accuracy, self.bootstrap)
        p = mcnemar(outcomes(whole, member))
        return Member(
            name=name,
            n=passed.size,
            accuracy=figures_of(own, whole.groups)["accuracy"],
            difference=percentile_figures(difference)["accuracy"],
            p=1.0 if p is None else p,
            is_selected=min(len(one.votes) for one in self.verdicts) <= min(turns.values()),
        )


def measure_votes(
    joined: JudgedRows, sample: Sample, threshold: float | None, bootstrap: Bootstrap
) -> VoteAgreement | None:
    """Compare the votes of a panel with people's labels.

    Args:
        joined: the panel's verdicts joined with labels.
        sample: the same as columns.
        threshold: the lowest score, 0..1, that passes; None: as in the run.
        bootstrap: how intervals are resampled.

    Returns:
        None if there are no votes, or the labels do not say which rows are positive.
    """
    voted = np.array([bool(row.verdict.votes) for row in joined.labelled_rows], dtype=np.bool_)
    if sample.positive is None or not voted.any():
        return None
    verdicts = [row.verdict for row in joined.labelled_rows if row.verdict.votes]
    panel = _Panel(verdicts, sample.rows(voted), threshold, bootstrap)
    agreed = np.array([verdict.agreement == 1 for verdict in verdicts], dtype=np.bool_)
    members = tuple(panel.member(key, name) for key, name in _names(verdicts).items())
    compared = [one for one in members if not one.is_selected] or members
    best = max(compared, key=lambda one: one.difference.value or 0.0)
    low, high = best.difference.low or 0.0, best.difference.high or 0.0
    is_clear = best.p * len(compared) < SIGNIFICANT and (low > 0 or high < 0)
    direction: Finding = "worse" if low > 0 else "better"
    return VoteAgreement(
        whole=panel.accuracy(np.ones_like(agreed)),
        unanimous=panel.accuracy(agreed),
        split=panel.accuracy(~agreed),
        members=members,
        best=best,
        finding=direction if is_clear else "no_difference",
    )


def _names(verdicts: Sequence[Verdict]) -> Mapping[MemberKey, str]:
    """The members in the order of their votes, each with a name of what the others do not share."""
    longest = max(verdicts, key=lambda verdict: len(verdict.votes))
    keys = [*dict.fromkeys(key for verdict in (longest, *verdicts) for key in _turns(verdict))]
    if len(keys) == 1:
        return {keys[0]: SINGLE_VOTE}
    judges, models = ({key[place] for key in keys} for place in range(2))
    prompts = {(judge, sha) for judge, _, sha in keys}
    shown = len(judges) > 1, len(models) > 1, len(prompts) > len(judges)
    return {key: ", ".join(compress(key, shown)) for key in keys}


def _turns(verdict: Verdict) -> dict[MemberKey, int]:
    """When each member voted first: further votes may have been asked for because that one was doubtful."""
    found: dict[MemberKey, int] = {}
    for turn, vote in enumerate(verdict.votes):
        if vote.score is not None:
            sha = vote.prompt.sha256[:SHA_DIGITS] if vote.prompt else "?"
            found.setdefault((vote.judge, vote.model or "?", f"sha:{sha}"), turn)
    return found
