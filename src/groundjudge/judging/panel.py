"""A panel: several judges, or one judge several times, and one verdict.

The verdict passes if more than half of the votes asked for pass; an error withholds its vote. Its score is
that of all votes, and it has a value where these have one label. Asking until
the majority is decided, two votes at first, gave the verdict of sixteen votes for 97 % of the cases in one
study, with 2.25 calls a case; the mean score is no better than that of two votes then, so use `stop="never"`
where the score itself matters. Repeats make a verdict stable and show its doubt; they hardly make it right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from statistics import fmean, median, median_low, pstdev
from typing import Any, Literal, TypeAlias

from groundjudge.case.case import Case
from groundjudge.errors import GroundjudgeError, PanelError, PromptError
from groundjudge.judging.conversation import Conversation, Step
from groundjudge.judging.judge import BaseJudge, Judge
from groundjudge.rubric.model import Model, identity_of
from groundjudge.rubric.options import check_choice
from groundjudge.scale import DIGITS
from groundjudge.verdict import Verdict, Vote, deciding_score, sum_costs

Rule: TypeAlias = Literal["mean", "median", "min"]
"""How the scores of the votes become one."""

RULES: Mapping[Rule, Callable[[Sequence[float]], float]] = {"mean": fmean, "median": median, "min": min}

FIRST_VOTES = 2
"""Votes that are always asked for; if they agree, they decide."""

Stop: TypeAlias = Literal["decided", "never"]
"""When to stop asking for votes: once the majority is decided, or not before all have voted."""

VOTE_FIELDS = ("status", "score", "weakest", "value", "label", "passed", "reason", "parts", "reply")
"""The fields that a panel's verdict takes from one vote of the majority."""

REPEAT_TEMPERATURE = 0.7
"""The temperature of repeats: at 0 a model repeats its reply, and nothing is learned."""


@dataclass(frozen=True)
class Panel(BaseJudge):
    """Several judges that vote on each case; it is used like a Judge. Immutable.

    Attributes:
        judges: two or more, in the order in which they are asked; all answer on one scale.
        rule: the score is the "mean", the "median" or the "min" of the scores of the votes. Votes with parts
            are not mixed: of the majority's votes the one with the median of the deciding scores, or with
            "min" the lowest, speaks for all, so that parts, headline and weakest part fit each other.
        stop: "decided" asks two judges, and the others only until no outcome can be overturned; "never"
            asks all. Early stopping keeps the verdict, not the precision of the score.

    Raises:
        PromptError: `bad_panel`.
    """

    judges: tuple[Judge, ...]
    rule: Rule = "mean"
    stop: Stop = "decided"

    def __post_init__(self) -> None:
        check_choice("bad_panel", "rule", self.rule, Rule)
        check_choice("bad_panel", "stop", self.stop, Stop)
        if len(self.judges) < FIRST_VOTES:
            raise bad_panel("panel", f"it needs two judges or more, not {len(self.judges)}")
        for one, other in pairwise(self.judges):
            if one.rubric.scale != other.rubric.scale:
                scales = f"{one.name} {one.rubric.scale}; {other.name} {other.rubric.scale}"
                raise bad_panel("panel", f"its judges must answer on one scale, not on several: {scales}")
        for judge in self.judges:
            if judge.repeat and judge.rubric.prompt.parameters.get("temperature", 1) == 0:
                twice = f"{judge.name} is listed twice at temperature 0, where it repeats itself"
                raise bad_panel("panel", f"{twice}: ask one for repeats")

    @cached_property
    def identity(self) -> str:
        """A hash of all that decides on a verdict: the judges' identities, the rule, and when to stop."""
        settings = " ".join([*(judge.identity for judge in self.judges), self.rule, self.stop])
        return sha256(settings.encode()).hexdigest()[:16]

    def _voters(self) -> tuple[Judge, ...]:
        return self.judges

    async def _verdict(self, case: Case, conversation: Conversation) -> Verdict:
        votes: list[Verdict] = []
        errors: list[GroundjudgeError] = []
        needed, most = len(self.judges) // 2 + 1, 0
        for number, judge in enumerate(self.judges, 1):
            try:
                with conversation.around(Step(f"groundjudge.vote {number}", case, is_vote=True)) as note:
                    vote = await judge.ajudge(case, conversation.around, conversation.ask)
                    note(vote)
            except GroundjudgeError as error:
                errors.append(error)
                vote = judge.error_verdict(error, case)
            votes.append(vote)
            most = max(Counter(filter(None, map(_outcome, votes))).values(), default=0)
            to_come = len(self.judges) - len(votes)
            # Two that agree decide; then whatever no further vote can overturn: a majority, or no majority.
            if self.stop == "decided" and (
                most == len(votes) == FIRST_VOTES or most >= needed or most + to_come < needed
            ):
                break
        conversation.update_record(**_totals(votes), agreement=most / len(votes) or None)
        # A vote with status "error" counts among the votes and says nothing.
        winner = _more_than_half([_outcome(vote) for vote in votes])
        if winner is None:
            raise _no_majority(self.name, votes, errors)
        return self._majority_verdict(conversation.record, votes, winner)

    def _majority_verdict(self, spent: Verdict, votes: Sequence[Verdict], winner: str) -> Verdict:
        """What one vote of the majority says, with the score of all votes.

        Parts and headline fit each other in one reply only: of votes with parts that vote is taken whole.
        """
        scored = [vote for vote in votes if vote.score is not None]
        has_parts = any(vote.parts for vote in scored)
        combine = median_low if has_parts and self.rule != "min" else RULES[self.rule]
        score = round(combine([deciding_score(vote) or 0.0 for vote in scored]), DIGITS) if scored else 0.0
        agreeing = [vote for vote in votes if _outcome(vote) == winner]
        nearest = min(agreeing, key=lambda vote: _distance(vote, score))
        said: dict[str, Any] = {
            **{name: getattr(nearest, name) for name in VOTE_FIELDS},
            "warnings": tuple(dict.fromkeys(code for vote in votes for code in vote.warnings)),
        }
        if winner != "not_applicable" and not has_parts:
            not_applicable = {value for rubric in self.rubrics for value in rubric.not_applicable}
            said |= {
                "score": score,
                "label": _more_than_half([vote.label for vote in votes]),
                "value": _value(scored, self.rule, not_applicable),
            }
        return spent.model_copy(update=said)


AnyJudge: TypeAlias = Judge | Panel
"""What judges a case: every adapter and every run takes either."""


def panel(judges: Sequence[Judge], *, rule: Rule = "mean", stop: Stop = "decided") -> Panel:
    """A panel of judges with other models or other prompts, all on one scale.

    A judge that is listed several times is asked several times.

    Raises:
        PromptError: `bad_panel`: there are fewer than two judges, they have different scales, one of them is
            listed twice with a temperature of 0, or `rule` or `stop` is not one of the choices.
    """
    seen = Counter[object]()
    members: list[Judge] = []
    for judge in judges:
        if not isinstance(judge, Judge):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise bad_panel(
                "panel",
                f"its members must be judges, not {type(judge).__name__}: load them without `repeats`",
            )
        who = judge.identity, identity_of(judge.model) or id(judge.model)
        members.append(replace(judge, repeat=seen[who]))
        seen[who] += 1
    return Panel(tuple(members), rule, stop)


def repeat_judge(judge: Judge, repeats: int, *, rule: Rule = "mean", stop: Stop = "decided") -> Panel:
    """A panel of one judge that is asked several times, at temperature 0.7 unless it has one above 0.

    A `seed` among its parameters is raised by one for each repeat.

    Raises:
        PromptError: `bad_panel`: `repeats` is below 2, or `rule` or `stop` is not one of the choices.
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < FIRST_VOTES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PromptError("bad_panel", f"repeats must be 2 or more, not {repeats!r}", "repeats")
    return Panel(tuple(_repeat(judge, index) for index in range(repeats)), rule, stop)


def models_of(judges: Iterable[AnyJudge]) -> list[Model]:
    """The models of the judges and of the members of panels, each once."""
    return [*{id(model): model for judge in judges for model in judge.models}.values()]


def with_models(judges: Collection[AnyJudge], of: Callable[[Model], Model]) -> list[AnyJudge]:
    """The judges with other models.

    Args:
        judges: the judges; of a panel every member gets another model.
        of: makes the new model of a model; it is called once for each model.
    """
    made = {id(model): of(model) for model in models_of(judges)}
    return [
        replace(judge, judges=tuple(replace(each, model=made[id(each.model)]) for each in judge.judges))
        if isinstance(judge, Panel)
        else replace(judge, model=made[id(judge.model)])
        for judge in judges
    ]


def _repeat(judge: Judge, index: int) -> Judge:
    given = judge.rubric.prompt.parameters
    seed = {"seed": given["seed"] + index} if isinstance(given.get("seed"), int) else {}
    changes = {"temperature": given.get("temperature") or REPEAT_TEMPERATURE, **seed}
    return replace(judge, rubric=judge.rubric.with_options(parameters=changes), repeat=index)


def bad_panel(subject: str, message: str) -> PromptError:
    """The error of a panel, or of an option of panels, that cannot be."""
    return PromptError("bad_panel", f"{subject}: {message}", subject)


def _distance(vote: Verdict, score: float) -> tuple[float, float, str, str]:
    """How far a vote is from a score; of equal ones the lower one is nearer."""
    own = deciding_score(vote) or 0.0
    return abs(own - score), own, vote.reply or "", vote.model or ""


def _value(scored: Sequence[Verdict], rule: Rule, not_applicable: Collection[float]) -> float | None:
    """The value of all votes, if they have one label: between two levels lies no third one that was meant."""
    values = [vote.value for vote in scored if vote.value is not None]
    if len(values) < len(scored) or len({vote.label for vote in scored}) > 1:
        return None
    if rule == "min":  # the lowest score may have the largest number
        return min(scored, key=lambda vote: vote.score or 0.0).value
    value = round(RULES[rule](values), DIGITS)
    return None if value in not_applicable else value


def _more_than_half(said: Sequence[str | None]) -> str | None:
    counts = Counter(filter(None, said))
    return next((each for each, count in counts.items() if 2 * count > len(said)), None)


def _outcome(vote: Verdict) -> str | None:
    """What a vote counts for: "passed", "failed" or "not_applicable"; None for an error."""
    return {"ok": "passed" if vote.passed else "failed", "error": None}.get(vote.status, vote.status)


def _totals(votes: Sequence[Verdict]) -> dict[str, Any]:
    """What the votes cost together, and how far their scores are apart."""
    scores = [score for vote in votes if (score := deciding_score(vote)) is not None]
    return {
        "votes": tuple(Vote.model_validate(vote, from_attributes=True) for vote in votes),
        "spread": pstdev(scores) if scores else None,
        "decided_after": len(votes),
        **sum_costs(votes),
        "model": "+".join(dict.fromkeys(vote.model or "?" for vote in votes)),
    }


def _no_majority(name: str, votes: Sequence[Verdict], errors: Sequence[GroundjudgeError]) -> GroundjudgeError:
    """Why there is no verdict: the reason of all votes if they failed alike, otherwise that they differ."""
    if len(errors) == len(votes) and len({error.code for error in errors}) == 1:
        return errors[-1]
    counts = Counter(_outcome(vote) or (vote.error.code if vote.error else "error") for vote in votes)
    listed = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    return PanelError(
        "no_majority", f"{name}: no outcome has more than half of the {len(votes)} votes: {listed}", name
    )
