"""A judge is a rubric and a model: it asks, reads the reply, and gives a verdict.

Panels and cascades offer the same.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, Never, TypeAlias

from groundjudge.case.case import Case, CaseLike
from groundjudge.case.fields import Fields, FieldsLike
from groundjudge.citations import SCORES as CITATION_SCORES
from groundjudge.errors import CaseError, GroundjudgeError, PromptError
from groundjudge.judging.conversation import (
    Around,
    Ask,
    Conversation,
    Dialogue,
    Step,
    call,
    call_and_block,
    run_untraced,
    without_waiting,
)
from groundjudge.models.redaction import RedactedError, text_of
from groundjudge.prompt.input import Input
from groundjudge.rubric.blank_response import blank_response_verdict
from groundjudge.rubric.model import Model, check_rubric, identity_of, way_of
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.scale import Scale
from groundjudge.verdict import Failure, NamedScore, PromptId, Verdict, named_scores, passes_anew, score_names

log = logging.getLogger("groundjudge")

CaseSource: TypeAlias = CaseLike | Callable[[], CaseLike]
"""A case, a mapping with its fields, or a function that returns one of them."""

CONVERSATION_FIELDS = ("attempts", "retries", "usage", "latency_s", "key", "model")
"""The fields of a verdict about all its requests together; the others come from the reply that was read."""


class BaseJudge(ABC):
    """Gives a verdict on a case: a single judge, or several as a panel or a cascade."""

    @cached_property
    @abstractmethod
    def identity(self) -> str:
        """A hash of everything that determines a verdict."""

    @property
    @abstractmethod
    def voters(self) -> tuple[Judge, ...]:
        """The single judges that may be asked, in their order."""

    @abstractmethod
    async def _verdict(self, case: Case, conversation: Conversation) -> Verdict:
        """Ask for the verdict on a case; `ajudge` calls it, and records in its errors what they cost."""

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        """The rubric of each vote; a single judge has one."""
        return tuple(judge.rubric for judge in self.voters)

    @property
    def models(self) -> tuple[Model, ...]:
        """The model of each vote; a single judge has one."""
        return tuple(judge.model for judge in self.voters)

    @cached_property
    def name(self) -> str:
        """The judge's name, or those of several judges if they differ: "groundedness+strict"."""
        return "+".join(dict.fromkeys(rubric.name for rubric in self.rubrics))

    @property
    def model_name(self) -> str:
        """The name of the model, or the names of several models."""
        return "+".join(dict.fromkeys(model.name for model in self.models))

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The fields of the case that any of the votes uses."""
        inputs: dict[str, Input] = {}
        for rubric in reversed(self.rubrics):  # of inputs with one name the first vote's counts
            for prompt_input in rubric.inputs:
                inputs[prompt_input.name] = prompt_input
        return tuple(inputs.values())

    @property
    def scale(self) -> Scale:
        """The numbers or the labels that a reply may give; all votes have one scale."""
        return self.rubrics[0].scale

    @property
    def threshold(self) -> float:
        """The threshold on the score, 0..1; for a panel the strictest; each vote is compared with its own."""
        return max(rubric.threshold for rubric in self.rubrics)

    @cached_property
    def prompt_id(self) -> PromptId:
        """Which prompt is used; for several prompts, their names and versions and a hash of them all."""
        prompt_ids = list(dict.fromkeys(rubric.prompt.id for rubric in self.rubrics))
        if len(prompt_ids) == 1:
            return prompt_ids[0]
        hashes = " ".join(prompt_id.sha256 for prompt_id in prompt_ids)
        return PromptId(
            name=self.name,
            version="+".join(prompt_id.version for prompt_id in prompt_ids),
            sha256=sha256(hashes.encode()).hexdigest(),
        )

    @cached_property
    def part_names(self) -> tuple[str, ...]:
        """The names of the scores that each verdict, and each of its votes, has besides the headline."""
        names = [_score_names(rubric) for rubric in self.rubrics]
        return tuple(name for name in names[0] if all(name in others for others in names))

    def key(self, case: CaseLike) -> str:
        """Return the key of the verdicts on a case, before and after it is judged.

        It is `identity` and a hash of the case; metadata counts only if a prompt shows it.
        """
        return f"{self.identity}-{case_hash(Case.of(case), self.inputs)}"

    def judge(self, case: CaseLike | None = None, around: Around = run_untraced, **fields: Never) -> Verdict:
        """Judge a case with at most `max_reasks` + 1 calls, and one more if a reply was truncated.

        Models are asynchronous: they answer in the library's event loop, in its own thread, with the caller's
        context variables. Everything else happens in the caller's thread. Inside a running event loop, as in
        a notebook, it works but blocks that loop; `ajudge` does not.

        Each error has the row's verdict (status "error") in its attribute `verdict`.

        Args:
            case: the case, or a mapping with its fields. It is required.
            around: for traces: a function from a `Step` to a context manager, inside which the step is
                done. What `with` gives is called with the step's result.
            fields: none: pass the fields inside the case.

        Raises:
            CaseError: the case cannot be judged as it is; no call was made.
            ModelError: the model returned no reply.
            ReplyError: no reply could be read.
            PanelError: `no_majority`: the votes of a panel give no verdict.
            RuntimeError: it is called inside the library's own event loop, for instance by an asynchronous
                model: use `ajudge` there.
            TypeError: the fields are not in one mapping.
        """
        return without_waiting(self.ajudge(case, around, call_and_block, **fields))

    async def ajudge(
        self,
        case: CaseSource | None = None,
        around: Around = run_untraced,
        ask: Ask = call,
        **fields: Never,
    ) -> Verdict:
        """Judge a case without blocking the event loop; see `judge`.

        Args:
            case: the case, a mapping with its fields, or a function without arguments to either.
            around: as for `judge`.
            ask: calls a model with a request; pass your own to limit or replay calls.
            fields: none, as for `judge`.
        """
        source = _as_one_case(case, fields)
        conversation = Conversation(around, ask, self._blank_verdict)
        try:
            case = Case.of(source() if callable(source) else source)
            # From here on an error's verdict has the id and the key of its row.
            conversation.record = self.empty_verdict(case.id, self.key(case))
            return await self._verdict(case, conversation)
        except GroundjudgeError as error:
            error.verdict = with_error(conversation.record, error)
            raise

    def cases(
        self, fields: FieldsLike, roots: Collection[str], usual: Callable[..., CaseLike]
    ) -> Callable[..., CaseLike]:
        """Make the function that turns what a framework passes into the case that is judged.

        Args:
            fields: what was passed as `fields=`; a function takes the place of `usual`.
            roots: what a path can begin with.
            usual: takes the checked `fields` and what the framework passes, returns the case.

        Raises:
            CaseError, TypeError: as for `Fields.of`.
        """
        checked_fields = Fields.of(fields, [prompt_input.name for prompt_input in self.inputs], roots)
        if checked_fields.function is not None:
            return partial(_call_fields, checked_fields.function)
        return partial(usual, checked_fields)

    def evaluate(
        self, case: CaseSource | None = None, around: Around = run_untraced, **fields: Never
    ) -> Verdict:
        """Judge a case and never raise: any failure becomes a verdict with status "error".

        Args:
            case: as for `judge`; or a function without arguments that returns the case, so that an error in
                making the case becomes the verdict's error too.
            around: as for `judge`.
            fields: none, as for `judge`.
        """
        return without_waiting(self.aevaluate(case, around, call_and_block, **fields))

    async def aevaluate(
        self,
        case: CaseSource | None = None,
        around: Around = run_untraced,
        ask: Ask = call,
        **fields: Never,
    ) -> Verdict:
        """Judge a case without blocking the event loop, and never raise; see `evaluate`."""
        case = _as_one_case(case, fields)
        try:
            return await self.ajudge(case, around, ask)
        except Exception as error:  # noqa: BLE001  it is the verdict's error
            return self.error_verdict(error, case)

    def error_verdict(self, error: BaseException, case: CaseSource | None = None) -> Verdict:
        """Make the verdict of a row that raised; use the error's own, if it has one."""
        verdict: Verdict | None = getattr(error, "verdict", None)
        if verdict is not None:
            return verdict
        case_id = case.id if isinstance(case, Case) else None
        return with_error(self.empty_verdict(case_id), error)

    def empty_verdict(self, case_id: str | None = None, key: str | None = None) -> Verdict:
        """Make the verdict before anything was asked; its status is "error" until it gets another one."""
        return self._blank_verdict.model_copy(update={"case_id": case_id, "key": key})

    @cached_property
    def _blank_verdict(self) -> Verdict:
        """The verdict before anything was asked, on no case: each case begins with a copy, which is quick."""
        return Verdict(judge=self.name, status="error", model=self.model_name, prompt=self.prompt_id)

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of the scores that each verdict has: the headline, and one for each named part."""
        return tuple(score_names(self.name, self.part_names).values())

    def passes_strictly(self, verdict: Verdict) -> bool | None:
        """Whether a verdict has the judge's best label, or a score of 1; as `passed` for one without a score.

        A mean over probabilities reaches 1 only if the judge has no doubt at all about the best label.
        """
        best_labels = {rubric.best_label for rubric in self.rubrics}
        if verdict.label is not None and verdict.label in best_labels:
            return True
        return passes_anew(verdict, 1.0)

    def scores(self, verdict: Verdict, name: str | None = None) -> tuple[NamedScore, ...]:
        """Return a verdict's scores in the order of `score_names`, each with its explanation.

        Args:
            verdict: the verdict.
            name: the name of the headline, by default the judge's; the names of the other scores follow it
                (with name="mine": mine, mine_recall, mine_precision).

        Raises:
            ValueError: another judge gave the verdict: it does not have this one's scores.
        """
        if verdict.judge != self.name:
            message = f"the verdict comes from {verdict.judge}, not from the judge {self.name}"
            raise ValueError(message)
        return named_scores(verdict, self.part_names, name)


@dataclass(frozen=True)
class Judge(BaseJudge):
    """A judge. Immutable: the results of a call are in the verdict.

    Attributes:
        rubric: how the model is asked about a case, and how its reply becomes a verdict.
        model: what answers.
        max_reasks: how often the model is asked again after a reply that cannot be read.
        repeat: the index of this judge among equal judges of a panel: a cache keeps their replies apart.
    """

    rubric: Rubric
    model: Model
    max_reasks: int = 1
    repeat: int = 0

    def __post_init__(self) -> None:
        check_rubric(self.model, self.rubric)
        way = way_of(self.model)
        if self.repeat and not way.writes_text:
            fault = f"{self.name} is listed twice with {self.model.name}, which would repeat its answers"
            raise PromptError("bad_panel", f"panel: {fault}: list it once", "panel")
        if way != self.rubric.way:
            object.__setattr__(self, "rubric", replace(self.rubric, way=way))

    def __repr__(self) -> str:
        prompt = f"sha:{self.rubric.prompt.id.sha256[:12]}"
        return f"Judge(name={self.name!r}, model={self.model.name!r}, prompt={prompt!r})"

    @cached_property
    def identity(self) -> str:
        """A hash of everything that determines a verdict: the rubric's identity and the model's name."""
        return sha256(f"{self.rubric.identity} {self.model.name}".encode()).hexdigest()[:16]

    @property
    def voters(self) -> tuple[Judge, ...]:
        """This judge alone."""
        return (self,)

    async def _verdict(self, case: Case, conversation: Conversation) -> Verdict:
        """Ask the model in the rubric's way, unless the response is blank."""
        verdict = blank_response_verdict(self.rubric, case)
        if verdict is not None:  # no model is asked
            return verdict.model_copy(update={"key": conversation.record.key})

        request = conversation.run_step("groundjudge.ask", case, self._ask)
        dialogue = Dialogue(conversation, self.model)
        verdict = await self.rubric.way.converse(request, dialogue, self.max_reasks)
        totals = {name: getattr(conversation.record, name) for name in CONVERSATION_FIELDS}
        return verdict.model_copy(update=totals)

    def _ask(self, case: Case) -> Request:
        """Make the request about a case."""
        request = self.rubric.ask(case)
        return replace(request, repeat=self.repeat) if self.repeat else request


async def ask_vote(judge: Judge, number: int, case: Case, conversation: Conversation) -> Verdict:
    """Ask one of several judges for its verdict, as a step of the conversation about all of them.

    Args:
        judge: the judge that is asked.
        number: which vote it is, from 1.
        case: the case.
        conversation: the conversation of the panel or the cascade.

    Raises:
        GroundjudgeError: as for `BaseJudge.judge`.
    """
    with conversation.around(Step(f"groundjudge.vote {number}", case, is_vote=True)) as report:
        vote = await judge.ajudge(case, conversation.around, conversation.ask)
        report(vote)
    return vote


def request_for(rubric: Rubric, make_case: Callable[[], CaseLike]) -> Request:
    """Return what a model is asked about a case, for chains that call the model themselves.

    Args:
        rubric: how it is asked about.
        make_case: a function without arguments that returns the case, or a mapping with its fields.

    Raises:
        CaseError: the case cannot be asked about; the verdict is in its attribute `verdict`. Also on a blank
            response that `empty_response` makes "not_applicable" or "worst": a chain cannot skip its model.
    """
    verdict = Verdict(judge=rubric.name, status="error", prompt=rubric.prompt.id)
    verdict_on_blank: Verdict | None = None
    try:
        case = Case.of(make_case())
        verdict = verdict.model_copy(update={"case_id": case.id})
        verdict_on_blank = blank_response_verdict(rubric, case)
        if verdict_on_blank is not None:
            # The rubric leaves a blank response out, or scores it 0: here it is an error.
            blank_response_verdict(rubric.with_options(empty_response="error"), case)
        return rubric.ask(case)
    except CaseError as error:
        error.verdict = verdict_on_blank or with_error(verdict, error)
        raise


def _score_names(rubric: Rubric) -> dict[str, None]:
    """Return the names of the scores that a verdict has besides the headline, in order."""
    names = [*rubric.format.part_names, *rubric.format.score_names]
    if rubric.citations:
        names.extend(CITATION_SCORES)
    if rubric.passes == "weakest":
        names.append("weakest")
    return dict.fromkeys(names)


def identity_of_requests(judge: Judge) -> object:
    """Return a value that is equal for two judges that would send the same model the same request.

    Models with the same name may differ in their settings; one without an identity equals only itself.
    """
    return judge.identity, identity_of(judge.model) or id(judge.model)


def _call_fields(function: Callable[..., CaseLike | None], *args: object, **kwargs: object) -> CaseLike:
    """Return the case that a function passed as `fields` makes.

    Raises:
        CaseError: `unreadable_row`: it returned None, mostly because of a forgotten `return`. Further on,
            None has other meanings, such as an answer that is still to come.
    """
    case = function(*args, **kwargs)
    if case is None:
        message = "the function passed as `fields` returned None: it must return a case or a mapping"
        raise CaseError("unreadable_row", message, "fields")
    return case


def _as_one_case(case: CaseSource | None, fields: Mapping[str, object]) -> CaseSource:
    """Return the case.

    Raises:
        TypeError: there is none, or its fields were passed as arguments.
    """
    if case is None or fields:
        names = ", ".join(f'"{name}": ...' for name in fields) or '"query": ..., "response": ...'
        message = f"a case is one argument, a mapping or a Case: judge.judge({{{names}}})"
        raise TypeError(message)
    return case


def with_error(verdict: Verdict, error: BaseException) -> Verdict:
    """Return a verdict with the error that replaced it.

    An error that is not from this library gets the code "unexpected" and is logged, without keys.
    """
    if isinstance(error, GroundjudgeError):
        failure = Failure(code=error.code, message=error.message)
    else:
        redacted = RedactedError(error)
        message = "%s: judging %s raised an unexpected error"
        log.error(message, verdict.judge, verdict.case_id, exc_info=redacted)
        failure = Failure(
            code="unexpected", message=redacted.clean(f"{type(error).__name__}: {text_of(error)}")
        )
    return verdict.model_copy(update={"error": failure})


def case_hash(case: Case, inputs: Collection[Input]) -> str:
    """Return a hash of a case; metadata counts only if a prompt with these inputs shows it."""
    metadata: dict[str, Any] = {}
    for prompt_input in inputs:
        if prompt_input.is_custom:
            metadata[prompt_input.name] = case.metadata.get(prompt_input.name)
    # The key is stored with verdicts: a column of a file that no prompt shows must not change it.
    try:
        if metadata:
            content = case.replace(metadata=metadata).model_dump_json()
        else:
            content = case.model_dump_json(exclude={"metadata"})
    except ValueError:  # tool calls may be nested deeper than pydantic goes
        content = repr(case.replace(metadata=metadata))
    return sha256(content.encode()).hexdigest()[:32]
