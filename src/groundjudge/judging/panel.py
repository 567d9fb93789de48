"""A panel: several judges, or one judge several times, and one verdict.

The verdict passes if more than half of the votes asked for pass; an error withholds its vote. Asking until
the majority is decided, two votes at first, gave the verdict of sixteen votes for 97 % of the cases in one
study, with 2.25 calls a case; the mean score is no better than that of two votes then, so use `stop="never"`
where the score itself matters. Repeats make a verdict stable and show its doubt; they hardly make it right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from time import perf_counter
from typing import Any, Literal, TypeAlias, get_args

from groundjudge.case.case import Case
from groundjudge.errors import GroundjudgeError, PromptError
from groundjudge.judging.conversation import Conversation, Step
from groundjudge.judging.judge import Judge
from groundjudge.judging.judging import Judging
from groundjudge.judging.votes import (
    FIRST_VOTES,
    RULES,
    Rule,
    is_decided,
    majority,
    majority_verdict,
    no_majority,
    with_votes,
)
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Rubric
from groundjudge.verdict import Failure, Verdict

Stop: TypeAlias = Literal["decided", "never"]
"""When to stop asking for votes: once the majority is decided, or not before all have voted."""

WARM = 0.7
"""The temperature of repeats: at 0 a model repeats its reply, and nothing is learned."""


@dataclass(frozen=True)
class Panel(Judging):
    """Several judges that vote on each case; it is used like a Judge. Immutable.

    Attributes:
        judges: two or more, in the order in which they are asked; all answer on one scale.
        rule: the score is the "mean", the "median" or the "min" of the scores of the votes.
        stop: "decided" asks two judges, and the others only until no outcome can be overturned; "never"
            asks all. Early stopping keeps the verdict, not the precision of the score.

    Raises:
        PromptError: `bad_panel`.
    """

    judges: tuple[Judge, ...]
    rule: Rule = "mean"
    stop: Stop = "decided"

    def __post_init__(self) -> None:
        fault = _fault(self)
        if fault:
            raise PromptError("bad_panel", f"panel: {fault}", "panel")

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        """The rubric of each vote."""
        return tuple(judge.rubric for judge in self.judges)

    @property
    def models(self) -> tuple[Model, ...]:
        """The model of each vote."""
        return tuple(judge.model for judge in self.judges)

    @cached_property
    def identity(self) -> str:
        """A hash of all that decides on a verdict: the judges' identities, the rule, and when to stop."""
        settings = [*(judge.identity for judge in self.judges), self.rule, self.stop]
        return sha256(" ".join(settings).encode()).hexdigest()[:16]

    def conversation(self, case: Case | Mapping[str, Any]) -> Conversation:
        """The votes on a case, step by step, for whoever runs them.

        Raises:
            GroundjudgeError: as for `judge`.
        """
        started = perf_counter()
        verdict = self.unjudged()
        votes: list[Verdict] = []
        errors: list[GroundjudgeError] = []
        try:
            case = Case.of(case)
            verdict = self.unjudged(case.id, self.key(case))
            for number, judge in enumerate(self.judges, 1):
                try:
                    vote: Verdict = yield Step(
                        f"groundjudge.vote {number}", case, conversation=judge.conversation
                    )
                except GroundjudgeError as error:
                    errors.append(error)
                    vote = judge.failed(error, case)
                votes.append(vote)
                if self.stop == "decided" and is_decided(votes, len(self.judges)):
                    break
            verdict = with_votes(verdict, votes, perf_counter() - started)
            winner = majority(votes)
            if winner is None:
                raise no_majority(self.name, votes, errors)
            return majority_verdict(verdict, votes, winner, self.rule)
        except GroundjudgeError as error:
            failure = Failure(code=error.code, message=error.message)
            error.verdict = verdict.model_copy(update={"error": failure})
            raise


AnyJudge: TypeAlias = Judge | Panel
"""What judges a case: every adapter and every run takes either."""


def panel(judges: Sequence[Judge], *, rule: Rule = "mean", stop: Stop = "decided") -> Panel:
    """A panel of judges with other models or other prompts, all on one scale.

    A judge that is listed several times is asked several times.

    Raises:
        PromptError: `bad_panel`: there are fewer than two judges, they have different scales, one of them is
            listed twice with a temperature of 0, or `rule` or `stop` is none of the choices.
    """
    seen = Counter[object]()
    members: list[Judge] = []
    for judge in map(_single, judges):
        who = judge.identity, getattr(judge.model, "identity", id(judge.model))
        members.append(replace(judge, repeat=seen[who]))
        seen[who] += 1
    return Panel(tuple(members), rule, stop)


def repeated(judge: Judge, repeats: int, *, rule: Rule = "mean", stop: Stop = "decided") -> Panel:
    """A panel of one judge that is asked several times, at temperature 0.7 unless it has one above 0.

    A `seed` among its parameters is raised by one for each repeat.

    Raises:
        PromptError: `bad_panel`: `repeats` is below 2, or `rule` or `stop` is none of the choices.
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < FIRST_VOTES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PromptError("bad_panel", f"repeats must be 2 or more, not {repeats!r}", "repeats")
    return Panel(tuple(_repeat(judge, index) for index in range(repeats)), rule, stop)


def models_of(judges: Iterable[AnyJudge]) -> list[Model]:
    """The models of the judges and of the members of panels, each once."""
    return [*{id(model): model for judge in judges for model in judge.models}.values()]


def with_models(judges: Iterable[AnyJudge], of: Callable[[Model], Model]) -> list[AnyJudge]:
    """The judges with other models.

    Args:
        judges: the judges; of a panel every member gets another model.
        of: makes the new model of a model; it is called once for each model.
    """
    listed = [*judges]
    made = {id(model): of(model) for model in models_of(listed)}

    def changed(judge: Judge) -> Judge:
        return replace(judge, model=made[id(judge.model)])

    return [
        replace(judge, judges=tuple(map(changed, judge.judges)))
        if isinstance(judge, Panel)
        else changed(judge)
        for judge in listed
    ]


def _single(judge: object) -> Judge:
    if not isinstance(judge, Judge):
        message = (
            f"panel: its members must be judges, not {type(judge).__name__}: load them without `repeats`"
        )
        raise PromptError("bad_panel", message, "panel")
    return judge


def _repeat(judge: Judge, index: int) -> Judge:
    given = judge.rubric.prompt.parameters
    changed: dict[str, Any] = {} if given.get("temperature") else {"temperature": WARM}
    if isinstance(given.get("seed"), int):
        changed["seed"] = given["seed"] + index
    return replace(judge, rubric=judge.rubric.with_options(parameters=changed), repeat=index)


def _fault(panel: Panel) -> str:
    """What is wrong with a panel; "" if nothing is."""
    if len(panel.judges) < FIRST_VOTES:
        return f"it needs two judges or more, not {len(panel.judges)}"
    for one, other in pairwise(panel.judges):
        if one.rubric.scale != other.rubric.scale:
            scales = f"{one.name} {one.rubric.scale}; {other.name} {other.rubric.scale}"
            return f"its judges must answer on one scale, not on several: {scales}"
    for judge in panel.judges:
        if judge.repeat and judge.rubric.prompt.parameters.get("temperature", 1) == 0:
            return (
                f"{judge.name} is listed twice at temperature 0, where it repeats itself: ask one for repeats"
            )
    for option, choice, choices in (("rule", panel.rule, RULES), ("stop", panel.stop, get_args(Stop))):
        if choice not in choices:
            return f"{option} must be one of {', '.join(map(repr, choices))}, not {choice!r}"
    return ""
