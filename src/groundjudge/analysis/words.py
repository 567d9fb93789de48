"""Labels in words: what a judge's labels mean, as its verdicts or its prompt file show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from groundjudge.rubric.rubric import Rubric
from groundjudge.scale import folded
from groundjudge.verdict import Verdict, Vote

NOT_LABELS = frozenset({"no_response", "empty_response"})
"""What verdicts on a missing or blank response have in place of a label."""

Judged: TypeAlias = Verdict | Vote
"""What bears a label: the verdict of a single judge, or a vote."""


@dataclass(frozen=True)
class Words:
    """The labels that a judge is known to answer with.

    Attributes:
        scores: each label's score, 0..1, by rising score; last those that mean "not applicable", with None.
        threshold: the lowest score of a label that counts as grounded, 0..1; None if it is not known.
    """

    scores: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    threshold: float | None = None

    def named(self, text: str) -> str | None:
        """The label that a text is, compared as a judge's replies are; None if it is not one."""
        return {folded(name): name for name in self.scores}.get(folded(text))


def words_of(verdicts: Sequence[Verdict], others: Sequence[Verdict] = ()) -> Words:
    """Learn what labels mean from verdicts that bear them.

    A panel's labels are those of its votes. A label's score is that of the verdicts with it; where scores
    are weighted by probabilities, it is their value. Labels that have several scores, as the names of bands
    do, are no labels in this sense.

    Args:
        verdicts: of one judge, or of judges with the same labels.
        others: further verdicts, for labels that the first ones do not have.
    """
    own, more = _outcomes(verdicts), _outcomes(others)
    known = {folded(name): (name, score) for one in (more, own) for name, score in _scores(one).items()}
    scores = dict(sorted(known.values(), key=_rising))
    return Words(scores, _threshold(own, scores))


def words_in(rubric: Rubric) -> Words:
    """The labels that a rubric knows; none if its judge answers with numbers."""
    return Words(dict(sorted(rubric.scale.choices.items(), key=_rising)), rubric.threshold)


def _rising(named: tuple[str, float | None]) -> tuple[bool, float, str]:
    name, score = named
    return score is None, score or 0.0, name


def _outcomes(verdicts: Iterable[Verdict]) -> list[Judged]:
    """The verdicts of single judges, and the votes of panels, without errors."""
    everything = (one for verdict in verdicts for one in (verdict.votes or (verdict,)))
    return [one for one in everything if one.status != "error" and one.label not in NOT_LABELS]


def _scores(outcomes: Sequence[Judged]) -> Mapping[str, float | None]:
    """The score of each label; {} if labels have several."""
    is_weighted = any(isinstance(one, Verdict) and one.label in (one.distribution or ()) for one in outcomes)
    by_score = {} if is_weighted else _one_each(outcomes, lambda one: one.score)
    return by_score or _one_each(outcomes, lambda one: one.value)


def _one_each(
    outcomes: Iterable[Judged], number: Callable[[Judged], float | None]
) -> dict[str, float | None]:
    """The number of each label; {} if a label has several, or one outside of 0..1."""
    found: dict[str, float | None] = {}
    for one in outcomes:
        own = None if one.status == "not_applicable" else number(one)
        if one.label and (found.setdefault(one.label, own) != own or not 0 <= (own or 0) <= 1):
            return {}
    return found


def _threshold(outcomes: Sequence[Judged], scores: Mapping[str, float | None]) -> float | None:
    """The lowest score that passed, if no label's score lies between it and the highest that did not."""
    passed = [one.score for one in outcomes if one.score is not None and one.passed]
    failed = [one.score for one in outcomes if one.score is not None and not one.passed]
    if not passed:
        return None
    lowest, highest = min(passed), max(failed, default=-1.0)
    is_unclear = any(score is not None and highest < score < lowest for score in scores.values())
    return None if is_unclear or highest >= lowest else lowest
