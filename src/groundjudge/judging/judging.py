"""What everything that judges offers: a single judge, and a panel of several."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import sha256
from typing import Any, TypeAlias

from groundjudge.case.case import Case
from groundjudge.case.shapes import well_formed
from groundjudge.errors import GroundjudgeError
from groundjudge.judging.conversation import (
    Around,
    Ask,
    Conversation,
    call,
    call_and_block,
    run_conversation,
    untraced,
    without_waiting,
)
from groundjudge.prompt.prompt import Input
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Rubric
from groundjudge.scale import Scale
from groundjudge.verdict import Failure, NamedScore, PromptId, Verdict, named_scores, score_names

log = logging.getLogger("groundjudge")

CaseGiven: TypeAlias = Case | Mapping[str, Any] | Callable[[], Case | Mapping[str, Any]]
"""A case, a mapping with its fields, or a function to one of them."""


class Judging(ABC):
    """Gives a verdict on a case. Subclasses say by which rubrics and models, and hold the conversation."""

    @property
    @abstractmethod
    def rubrics(self) -> tuple[Rubric, ...]:
        """The rubric of each vote; a single judge has one."""

    @property
    @abstractmethod
    def models(self) -> tuple[Model, ...]:
        """The model of each vote; a single judge has one."""

    @cached_property
    @abstractmethod
    def identity(self) -> str:
        """A hash of all that decides on a verdict."""

    @cached_property
    def name(self) -> str:
        """The judge's name, or those of a panel's judges if they differ: "groundedness+strict"."""
        return "+".join(dict.fromkeys(rubric.name for rubric in self.rubrics))

    @property
    def model_name(self) -> str:
        """The name of the model, or the names of several models."""
        return "+".join(dict.fromkeys(model.name for model in self.models))

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The fields of the case that are looked at, by any of the votes."""
        shown = {each.name: each for rubric in reversed(self.rubrics) for each in rubric.inputs}
        return tuple(shown.values())

    @property
    def scale(self) -> Scale:
        """The numbers or the labels that a reply may give; all votes have one scale."""
        return self.rubrics[0].scale

    @property
    def threshold(self) -> float:
        """The threshold on the score, 0..1; of a panel the strictest; each vote is measured by its own."""
        return max(rubric.threshold for rubric in self.rubrics)

    @cached_property
    def prompt_id(self) -> PromptId:
        """Which prompt is used; of several prompts their names and versions, and a hash of them all."""
        ids = [*dict.fromkeys(rubric.prompt.id for rubric in self.rubrics)]
        if len(ids) == 1:
            return ids[0]
        sha = sha256(" ".join(each.sha256 for each in ids).encode()).hexdigest()
        return PromptId(name=self.name, version="+".join(each.version for each in ids), sha256=sha)

    @cached_property
    def part_names(self) -> tuple[str, ...]:
        """The names of the scores that each verdict, and each of its votes, has besides the headline."""
        first, *others = (rubric.format.part_names for rubric in self.rubrics)
        return tuple(name for name in first if all(name in names for names in others))

    @abstractmethod
    def conversation(self, case: Case | Mapping[str, Any]) -> Conversation:
        """The conversation about a case, step by step, for whoever runs it.

        Raises:
            GroundjudgeError: as for `judge`.
        """

    def key(self, case: Case | Mapping[str, Any]) -> str:
        """The key of the verdicts on a case, before and after it is judged."""
        return key_of(self.identity, self.inputs, Case.of(case))

    def judge(self, case: Case | Mapping[str, Any], around: Around = untraced) -> Verdict:
        """Judge a case: at most one call more than `max_reasks`, and one more if a reply was truncated.

        Models are asynchronous: they answer in an event loop of the library, in a thread of its own, with the
        caller's context variables. All else happens in the caller's thread. Called inside a running event
        loop, as in a notebook, it works and blocks that loop: `ajudge` does not.

        Each error has the row's verdict (status "error") in its attribute `verdict`.

        Args:
            case: the case, or a mapping with its fields.
            around: for traces: a function from a `Step` to a context manager, inside which the step is
                done. What `with` gives is called with the step's result.

        Raises:
            CaseError: the case cannot be judged as it is; no call was made.
            ModelError: the model returned no reply.
            ReplyError: no reply could be read.
            PanelError: `no_majority`: the votes of a panel give no verdict.
            RuntimeError: it is called inside the library's own event loop, by an asynchronous model for
                instance: use `ajudge` there.
        """
        return without_waiting(self.ajudge(case, around, call_and_block))

    async def ajudge(
        self, case: Case | Mapping[str, Any], around: Around = untraced, ask: Ask = call
    ) -> Verdict:
        """Judge a case without blocking the event loop; see `judge`.

        Args:
            case: the case, or a mapping with its fields.
            around: as for `judge`.
            ask: calls a model with a request; whoever limits or replays calls passes their own.
        """
        return await run_conversation(self.conversation(case), around, ask)

    def evaluate(self, case: CaseGiven, around: Around = untraced) -> Verdict:
        """Judge a case and never raise: whatever goes wrong is a verdict with status "error".

        Args:
            case: as for `judge`; or a function without arguments to the case, so that what goes wrong in
                making the case is the verdict's error too.
            around: as for `judge`.
        """
        return without_waiting(self.aevaluate(case, around, call_and_block))

    async def aevaluate(self, case: CaseGiven, around: Around = untraced, ask: Ask = call) -> Verdict:
        """Judge a case without blocking the event loop, and never raise; see `evaluate`."""
        try:
            return await self.ajudge(case() if callable(case) else case, around, ask)
        except Exception as error:  # noqa: BLE001  it is the verdict's error
            return self.failed(error, case)

    def failed(self, error: BaseException, case: CaseGiven | None = None) -> Verdict:
        """The verdict of a row that raised: the error's own, if it has one."""
        return error_verdict(self.unjudged(case.id if isinstance(case, Case) else None), error)

    def unjudged(self, case_id: str | None = None, key: str | None = None) -> Verdict:
        """The verdict before anything was asked; its status is "error" until it has another one."""
        return Verdict(
            judge=self.name,
            status="error",
            model=self.model_name,
            prompt=self.prompt_id,
            case_id=case_id,
            key=key,
        )

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of the scores that each verdict has: the headline, and one for each named part."""
        return tuple(score_names(self.name, self.part_names).values())

    def scores(self, verdict: Verdict, name: str | None = None) -> tuple[NamedScore, ...]:
        """A verdict's scores in the order of `score_names`, each with its explanation.

        Args:
            verdict: the verdict.
            name: the name of the headline, by default the judge's; the names of the other scores follow it
                (passage_quality, passage_recall, passage_precision; with name="mine": mine, mine_recall,
                mine_precision).
        """
        return named_scores(verdict, self.part_names, name)


def key_of(identity: str, inputs: Iterable[Input], case: Case) -> str:
    """The key of a verdict: the identity of who gives it, and a hash of what it looks at."""
    own = {each.name: case.metadata.get(each.name) for each in inputs if each.is_custom}
    shown = case.model_copy(update={"metadata": own})
    try:
        content = shown.model_dump_json(exclude=None if own else {"metadata"})
    except ValueError:  # tool calls may be nested deeper than pydantic goes
        content = repr(shown)
    return f"{identity}-{sha256(content.encode()).hexdigest()[:32]}"


def error_verdict(verdict: Verdict, error: BaseException) -> Verdict:
    """A verdict with the error that took its place; the error's own verdict, if it has one.

    An error that is not one of this library gets the code "unexpected" and is logged.
    """
    if isinstance(error, GroundjudgeError):
        failure = Failure(code=error.code, message=well_formed(error.message))
        return error.verdict or verdict.model_copy(update={"error": failure})
    log.error("%s: judging %s raised an unexpected error", verdict.judge, verdict.case_id, exc_info=error)
    failure = Failure(code="unexpected", message=well_formed(f"{type(error).__name__}: {error}"))
    return verdict.model_copy(update={"error": failure})
