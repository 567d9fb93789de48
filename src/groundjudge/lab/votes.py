"""Votes against people's labels: is a panel right where it agrees, and is it better than its members?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from groundjudge.lab.brief import BriefVerdict
from groundjudge.lab.figures import (
    Bootstrap,
    Figure,
    Sample,
    figures_of,
    passes_at,
    percentile_figures,
    resample_pair,
    rows_right,
)
from groundjudge.lab.labels import JudgedRows
from groundjudge.lab.libraries import NDArray, np
from groundjudge.lab.proportions import mcnemar
from groundjudge.verdict import Frozen, Score

# The name of the only member of a panel, which is a judge that is asked several times.
SINGLE_VOTE = "a single vote"

# The p value from which on a difference counts as noise, after Bonferroni's correction for the members.
SIGNIFICANT = 0.05

# Digits of the hash of a prompt in the name of a member.
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
        threshold: the lowest score, 0..1, that passes; None: as in the run.
        bootstrap: how intervals are resampled.
    """

    verdicts: Sequence[BriefVerdict]
    sample: Sample
    threshold: float | None
    bootstrap: Bootstrap

    def accuracy(self, rows: NDArray[Any]) -> Accuracy:
        """The panel's accuracy on some of the rows."""
        sample = self.sample.select(rows)
        figures = self.bootstrap.figures(sample, Sample.accuracy)
        return Accuracy(n=sample.scores.size, accuracy=figures["accuracy"])

    def member(self, key: MemberKey, name: str) -> Member:
        """How one member compares with the panel on the rows with a vote of this member."""
        rows: list[int] = []
        turns: list[int] = []
        passed: list[bool] = []
        for row, verdict in enumerate(self.verdicts):
            first_turns = _first_turns(verdict)
            if key in first_turns:
                turn = first_turns[key]
                rows.append(row)
                turns.append(turn)
                passed.append(passes_at(self.threshold, verdict.votes[turn]))
        panel = self.sample.select(np.array(rows))
        member = replace(panel, passed=np.array(passed, dtype=np.bool_))
        _, member_draws, differences = resample_pair(panel, member, Sample.accuracy, self.bootstrap)
        p = mcnemar(rows_right(panel, member))
        # A member that never votes before the panel may have stopped is only asked about doubtful rows.
        fewest_votes = min(len(verdict.votes) for verdict in self.verdicts)
        return Member(
            name=name,
            n=len(rows),
            accuracy=figures_of(member_draws, panel.groups)["accuracy"],
            difference=percentile_figures(differences)["accuracy"],
            p=1.0 if p is None else p,
            is_selected=fewest_votes <= min(turns),
        )


def measure_votes(
    judged_rows: JudgedRows, sample: Sample, threshold: float | None, bootstrap: Bootstrap
) -> VoteAgreement | None:
    """Compare the votes of a panel with people's labels.

    Args:
        judged_rows: the panel's verdicts joined with labels.
        sample: the same as columns.
        threshold: the lowest score, 0..1, that passes; None: as in the run.
        bootstrap: how intervals are resampled.

    Returns:
        None if there are no votes, or the labels do not say which rows are positive.
    """
    # A cascade has votes too, but of these one stands, and they do not agree or differ.
    has_votes = np.fromiter(
        (row.verdict.agreement is not None for row in judged_rows.labelled_rows), dtype=np.bool_
    )
    if sample.positive is None or not has_votes.any():
        return None
    verdicts = [row.verdict for row in judged_rows.labelled_rows if row.verdict.agreement is not None]
    panel = _Panel(verdicts, sample.select(has_votes), threshold, bootstrap)
    is_unanimous = np.array([verdict.agreement == 1 for verdict in verdicts], dtype=np.bool_)
    members = [panel.member(key, name) for key, name in _member_names(verdicts).items()]
    # Members that are only asked about the harder rows are compared if there are no others.
    compared_members = [member for member in members if not member.is_selected]
    if not compared_members:
        compared_members = members
    best = max(compared_members, key=lambda member: member.difference.value or 0.0)
    return VoteAgreement(
        whole=panel.accuracy(np.ones_like(is_unanimous)),
        unanimous=panel.accuracy(is_unanimous),
        split=panel.accuracy(~is_unanimous),
        members=tuple(members),
        best=best,
        finding=_finding(best, len(compared_members)),
    )


def _finding(best: Member, n_compared: int) -> Finding:
    """How the panel compares with the best of the members that were compared."""
    # Bonferroni's correction.
    if best.p * n_compared >= SIGNIFICANT:
        return "no_difference"
    # The difference is the member's accuracy minus the panel's.
    if best.difference.low is not None and best.difference.low > 0:
        return "worse"
    if best.difference.high is not None and best.difference.high < 0:
        return "better"
    return "no_difference"


def _member_names(verdicts: Sequence[BriefVerdict]) -> dict[MemberKey, str]:
    """The members in the order of their votes, each with a name of what the others do not share."""
    # The verdict with the most votes has most members in their order; others may add some.
    longest = max(verdicts, key=lambda verdict: len(verdict.votes))
    keys: dict[MemberKey, None] = {}
    for verdict in (longest, *verdicts):
        keys |= dict.fromkeys(_first_turns(verdict))
    if len(keys) == 1:
        return dict.fromkeys(keys, SINGLE_VOTE)
    judges = {judge for judge, _, _ in keys}
    models = {model for _, model, _ in keys}
    prompts = {(judge, sha) for judge, _, sha in keys}
    names: dict[MemberKey, str] = {}
    for judge, model, sha in keys:
        differences: list[str] = []
        if len(judges) > 1:
            differences.append(judge)
        if len(models) > 1:
            differences.append(model)
        if len(prompts) > len(judges):
            differences.append(sha)
        names[judge, model, sha] = ", ".join(differences)
    return names


def _first_turns(verdict: BriefVerdict) -> dict[MemberKey, int]:
    """When each member voted first: further votes may have been asked for because that one was doubtful."""
    first_turns: dict[MemberKey, int] = {}
    for turn, vote in enumerate(verdict.votes):
        if vote.score is None:
            continue
        sha = vote.prompt.sha256[:SHA_DIGITS] if vote.prompt else "?"
        first_turns.setdefault((vote.judge, vote.model or "?", f"sha:{sha}"), turn)
    return first_turns
