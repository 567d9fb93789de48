"""A panel: several judges, or one judge several times, and one verdict.

The verdict passes if more than half of the votes asked for pass; an error withholds its vote. Its score
combines all votes, and it has a value if these have one label. Asking until the majority is decided, with two
votes at first, gave the verdict of sixteen votes for 97% of the cases in one study, at 2.25 calls per case.
The mean score is then no better than that of two votes, so use `stop="never"` where the score itself matters.
Repeats make a verdict stable and show how doubtful it is; they hardly make it more accurate.
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
from groundjudge.judging.cascade import Cascade, as_members
from groundjudge.judging.conversation import Conversation
from groundjudge.judging.judge import BaseJudge, Judge, ask_vote, identity_of_requests
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import check_choice
from groundjudge.scale import DIGITS
from groundjudge.verdict import Verdict, deciding_score, fields_of_votes

Rule: TypeAlias = Literal["mean", "median", "min"]
"""How the votes' scores are combined."""

RULES: Mapping[Rule, Callable[[Sequence[float]], float]] = {"mean": fmean, "median": median, "min": min}

FIRST_VOTES = 2
"""Votes that are always asked for; if they agree, they decide."""

Stop: TypeAlias = Literal["decided", "never"]
"""When to stop asking for votes: once the majority is decided, or only when all have voted."""

VOTE_FIELDS = (
    *("status", "score", "scores", "weakest", "value", "label", "passed", "reason", "parts", "citations"),
    "reply",
)
"""The fields that a panel's verdict takes from one vote of the majority."""

REPEAT_TEMPERATURE = 0.7
"""The temperature of repeats: at 0 a model repeats its reply, which shows nothing new."""


@dataclass(frozen=True)
class Panel(BaseJudge):
    """Several judges that vote on each case; use it like a Judge. Immutable.

    Attributes:
        judges: two or more, in the order in which they are asked; all share one scale.
        rule: the score is the "mean", the "median" or the "min" of the scores of the votes. Votes with parts
            are not mixed: the majority's vote with the median of the deciding scores, or with "min" the
            lowest, represents all, so that parts, headline and weakest part match.
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
        for judge, next_judge in pairwise(self.judges):
            scale, next_scale = judge.rubric.scale, next_judge.rubric.scale
            if scale != next_scale:
                scales = f"{judge.name} {scale}; {next_judge.name} {next_scale}"
                raise bad_panel("panel", f"its judges must answer on one scale, not on several: {scales}")
        for judge in self.judges:
            # Only a judge that is listed again has an index above 0.
            if judge.repeat and judge.rubric.prompt.parameters.get("temperature", 1) == 0:
                fault = f"{judge.name} is listed twice at temperature 0, where it repeats itself"
                raise bad_panel("panel", f"{fault}: load it once, with `repeats`")

    @cached_property
    def identity(self) -> str:
        """A hash of all that determines a verdict: the judges' identities, the rule, and when to stop."""
        settings = " ".join([*(judge.identity for judge in self.judges), self.rule, self.stop])
        return sha256(settings.encode()).hexdigest()[:16]

    @property
    def voters(self) -> tuple[Judge, ...]:
        """The judges of the panel."""
        return self.judges

    async def _verdict(self, case: Case, conversation: Conversation) -> Verdict:
        """Ask the judges for their votes, and return the verdict of more than half of them."""
        votes: list[Verdict] = []
        errors: list[GroundjudgeError] = []
        n_agreeing = 0
        for number, judge in enumerate(self.judges, 1):
            try:
                vote = await ask_vote(judge, number, case, conversation)
            except GroundjudgeError as error:
                errors.append(error)
                vote = judge.error_verdict(error, case)
            votes.append(vote)
            n_agreeing = max(_count_outcomes(votes).values(), default=0)
            # What one vote costs is saved where it could change nothing.
            if self.stop == "decided" and self._is_decided(len(votes), n_agreeing):
                break
        agreement = n_agreeing / len(votes) if n_agreeing else None
        conversation.update_record(**fields_of_votes(votes), spread=_spread(votes), agreement=agreement)
        # A vote with status "error" counts among the votes and says nothing.
        outcome = _more_than_half([_outcome(vote) for vote in votes])
        if outcome is None:
            raise _no_majority(self.name, votes, errors)
        return self._majority_verdict(conversation.record, votes, outcome)

    def _is_decided(self, n_votes: int, n_agreeing: int) -> bool:
        """Whether the first votes agree, or no further vote can overturn a majority or create one.

        Of five judges, 2 of 2 that agree decide, and 3 of 4; 2 of 3 do not.

        Args:
            n_votes: how many votes there are.
            n_agreeing: how many are in the largest group of them that agrees.
        """
        if n_votes == n_agreeing == FIRST_VOTES:
            return True
        n_needed = len(self.judges) // 2 + 1
        n_to_come = len(self.judges) - n_votes
        return n_agreeing >= n_needed or n_agreeing + n_to_come < n_needed

    def _majority_verdict(self, record: Verdict, votes: Sequence[Verdict], outcome: str) -> Verdict:
        """Make the verdict of one vote of the majority, with the score of all votes.

        Parts and headline match only within one reply: of votes with parts, one vote is used whole.
        """
        scored = [vote for vote in votes if vote.score is not None]
        has_parts = any(vote.parts for vote in scored)
        score = 0.0
        if scored:
            combine = RULES[self.rule]
            if has_parts and self.rule != "min":
                combine = median_low  # the score must be one that a vote has: its parts explain it
            score = round(combine([deciding_score(vote) or 0.0 for vote in scored]), DIGITS)
        majority = [vote for vote in votes if _outcome(vote) == outcome]

        def distance(vote: Verdict) -> tuple[float, float, str, str]:
            """Measure how far a vote is from the score; of equal ones the lower one is nearer."""
            vote_score = deciding_score(vote) or 0.0  # without one, as if nothing is applicable
            # The texts make the choice between equal votes independent of their order.
            return abs(vote_score - score), vote_score, vote.reply or "", vote.model or ""

        spokesman = min(majority, key=distance)
        changes = {name: getattr(spokesman, name) for name in VOTE_FIELDS}
        warnings: dict[str, None] = {}
        for vote in votes:
            warnings.update(dict.fromkeys(vote.warnings))
        changes["warnings"] = tuple(warnings)
        if outcome != "not_applicable" and not has_parts:
            changes["score"] = score
            changes["label"] = _more_than_half([vote.label for vote in votes])
            changes["value"] = self._value_of_all(scored)
        return record.model_copy(update=changes)

    def _value_of_all(self, scored: Sequence[Verdict]) -> float | None:
        """Return the value of all votes, if they share one label.

        No judge meant a level between two others.
        """
        values = [vote.value for vote in scored if vote.value is not None]
        labels = {vote.label for vote in scored}
        if len(values) < len(scored) or len(labels) > 1:
            return None
        if self.rule == "min":  # the lowest score may have the largest number
            return min(scored, key=lambda vote: vote.score or 0.0).value
        value = round(RULES[self.rule](values), DIGITS)
        # The mean of 1 and 3 may be the 2 that means "not applicable".
        for rubric in self.rubrics:
            if value in rubric.not_applicable:
                return None
        return value


AnyJudge: TypeAlias = Judge | Panel | Cascade
"""What judges a case: every adapter and every run accepts any of them."""


def panel(judges: Sequence[Judge], *, rule: Rule = "mean", stop: Stop = "decided") -> Panel:
    """Make a panel of judges with different models or different prompts, all on one scale.

    A judge that is listed several times is asked several times.

    Args:
        judges: two or more.
        rule: see `Panel`.
        stop: see `Panel`.

    Raises:
        PromptError: `bad_panel`: there are fewer than two judges, they have different scales, one of them is
            listed twice with a temperature of 0, or `rule` or `stop` is not one of the choices.
    """
    times_listed = Counter[object]()
    members: list[Judge] = []
    for judge in as_members("bad_panel", "panel", judges):
        if not isinstance(judge, Judge):  # pyright: ignore[reportUnnecessaryIsInstance]
            kind = type(judge).__name__
            fault = f"its members must be judges, not {kind}: use load() without `repeats` for each"
            raise bad_panel("panel", fault)
        # A judge that is listed again is asked again: a cache would give it the first reply.
        identity = identity_of_requests(judge)
        members.append(replace(judge, repeat=times_listed[identity]))
        times_listed[identity] += 1
    return Panel(tuple(members), rule, stop)


def repeat_judge(judge: Judge, repeats: int, *, rule: Rule = "mean", stop: Stop = "decided") -> Panel:
    """Make a panel of one judge that is asked several times, at temperature 0.7 unless it has one above 0.

    A `seed` among its parameters is raised by one for each repeat.

    Raises:
        PromptError: `bad_panel`: `repeats` is below 2, or `rule` or `stop` is not one of the choices.
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < FIRST_VOTES:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise PromptError("bad_panel", f"repeats must be 2 or more, not {repeats!r}", "repeats")
    if not judge.rubric.way.writes_text:
        raise bad_panel("repeats", f"{judge.model.name} would repeat its answers: ask it once")
    parameters = judge.rubric.prompt.parameters
    members: list[Judge] = []
    for index in range(repeats):
        changes: dict[str, Any] = {"temperature": parameters.get("temperature") or REPEAT_TEMPERATURE}
        seed = parameters.get("seed")
        if isinstance(seed, int):  # with one seed a model would repeat its reply
            changes["seed"] = seed + index
        members.append(replace(judge, rubric=judge.rubric.with_options(parameters=changes), repeat=index))
    return Panel(tuple(members), rule, stop)


def models_of(judges: Iterable[AnyJudge]) -> list[Model]:
    """Return the models of the judges and of the members of panels and cascades, without repetitions."""
    models: dict[int, Model] = {}  # by what they are, not by their name: models need not be hashable
    for judge in judges:
        for model in judge.models:
            models[id(model)] = model
    return list(models.values())


def with_models(judges: Collection[AnyJudge], of: Callable[[Model], Model]) -> list[AnyJudge]:
    """Make the same judges with other models.

    Args:
        judges: the judges; of a panel or a cascade every member gets another model.
        of: makes the new model of a model; it is called once for each model.
    """
    new_models = {id(model): of(model) for model in models_of(judges)}
    new_judges: list[AnyJudge] = []
    for judge in judges:
        if isinstance(judge, Judge):
            new_judges.append(replace(judge, model=new_models[id(judge.model)]))
        else:
            members = [replace(member, model=new_models[id(member.model)]) for member in judge.judges]
            new_judges.append(replace(judge, judges=tuple(members)))
    return new_judges


def bad_panel(subject: str, message: str) -> PromptError:
    """Make the error of a panel, or of an option of panels, that cannot be."""
    return PromptError("bad_panel", f"{subject}: {message}", subject)


def _more_than_half(names: Sequence[str | None]) -> str | None:
    """Return what more than half of the votes say, "passed" for ["passed", None, "passed"]; else None.

    None among them is a vote that says nothing, and counts as one.
    """
    counts = Counter(name for name in names if name)
    for name, count in counts.items():
        if 2 * count > len(names):
            return name
    return None


def _outcome(vote: Verdict) -> str | None:
    """Return what a vote counts for: "passed", "failed" or "not_applicable"; None for an error."""
    if vote.status == "error":
        return None
    if vote.status == "ok":
        return "passed" if vote.passed else "failed"
    return vote.status


def _count_outcomes(votes: Iterable[Verdict]) -> Counter[str]:
    """Count the votes for each outcome; an error counts for none."""
    counts = Counter[str]()
    for vote in votes:
        outcome = _outcome(vote)
        if outcome is not None:
            counts[outcome] += 1
    return counts


def _spread(votes: Sequence[Verdict]) -> float | None:
    """Return how far the scores of votes are apart; None if no vote has one."""
    scores: list[float] = []
    for vote in votes:
        score = deciding_score(vote)
        if score is not None:
            scores.append(score)
    return pstdev(scores) if scores else None


def _no_majority(name: str, votes: Sequence[Verdict], errors: Sequence[GroundjudgeError]) -> GroundjudgeError:
    """Make the error that says why there is no verdict: the votes failed alike, or they differ."""
    # One code for all votes, such as `missing_field`, says more than that there is no majority.
    codes = {error.code for error in errors}
    if len(errors) == len(votes) and len(codes) == 1:
        return errors[-1]
    counts = _count_outcomes(votes)
    for vote in votes:
        if vote.status == "error":
            counts[vote.error.code if vote.error else "error"] += 1
    listed = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
    return PanelError(
        "no_majority", f"{name}: no outcome has more than half of the {len(votes)} votes: {listed}", name
    )
