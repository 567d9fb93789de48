"""DeepEval metrics: each judge for `measure`, `evaluate`, `assert_test` and `deepeval test run`.

    GroundednessMetric(threshold=0.7, model="gpt-4o-mini")
    JudgeMetric(judge="my_judge.prompty", model="gpt-4o-mini")
    recall, precision = passage_metrics(model="gpt-4o-mini")  # one call per case between them

`input` is the query, `actual_output` the response, `expected_output` the reference; `retrieval_context` and
the outputs of `tools_called` are the context. `context`, DeepEval's ideal context, is not read: a response
is judged by what was really retrieved. What DeepEval has no field for is looked up in `metadata` under its
own name: profile, agent_name, conversation, answers.
"""

# DeepEval's base classes leave `__init_subclass__` untyped:
# mypy: untyped-calls-exclude=deepeval
from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import EllipsisType
from typing import Any, ClassVar, Unpack, cast
from uuid import uuid4

from groundjudge import Case, CaseError, Document, GroundjudgeError, Judge, Rubric, Verdict, as_judge
from groundjudge.models.coalesced import shared
from groundjudge.models.lookup import ModelLike
from groundjudge.options import PromptOptions
from groundjudge.verdict import passes

try:
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseConversationalMetric, BaseMetric
    from deepeval.metrics.utils import (
        check_conversational_test_case_params,
        check_llm_test_case_params,
        construct_verbose_logs,
    )
    from deepeval.test_case import MultiTurnParams, SingleTurnParams
except ImportError as error:
    needed = 'groundjudge.adapters.deepeval needs deepeval: pip install "groundjudge[deepeval]"'
    raise ImportError(needed) from error

__all__ = [
    "ConfidenceGroundingMetric",
    "ConversationalKnowledgeHallucinationMetric",
    "GroundednessMetric",
    "JudgeMetric",
    "KnowledgeHallucinationMetric",
    "PassagePrecisionMetric",
    "PassageQualityMetric",
    "PassageRecallMetric",
    "StatementGroundednessMetric",
    "passage_metrics",
]

PARAMS = {
    "query": SingleTurnParams.INPUT,
    "response": SingleTurnParams.ACTUAL_OUTPUT,
    "context": SingleTurnParams.RETRIEVAL_CONTEXT,
    "reference": SingleTurnParams.EXPECTED_OUTPUT,
}
"""The parameters of a test case by the fields that they fill; `metadata` fills the others."""


class OtherOptions(PromptOptions, total=False):
    """The options of a judge that are no arguments of DeepEval's metrics."""

    max_reasks: int


class MetricOptions(OtherOptions, total=False):
    """The arguments of a metric by name."""

    threshold: float | EllipsisType | None
    model: ModelLike | None
    judge: str | Path | Rubric | Judge | None
    include_reason: bool
    async_mode: bool
    strict_mode: bool
    verbose_mode: bool
    flaky: bool


class _Judged:
    """What metrics of single turns and of conversations have in common.

    Nothing to judge (the level `nothing_to_ground`) is a score of None and a success, and the reason says
    so. An empty response is an error of its row, as a missing parameter is.

    Args:
        threshold: on the score, 0..1; by default (`...`) the judge's own. With None nothing passes or fails.
        model: a model's name, a DeepEvalBaseLLM, or whatever else `groundjudge.load` takes as a model.
        include_reason: whether there is a `reason`.
        async_mode: taken for DeepEval's sake: there is only one call, with nothing to run beside it.
        strict_mode: a threshold of 1. The score stays as the judge gave it.
        verbose_mode: whether the verdict is printed.
        flaky: whether DeepEval only reports a failure and lets the test case pass.
        judge: a judge or a rubric, or the name of a judge, or the path of a prompt file. A judge keeps the
            model that it has if none is given.
        options: what else `groundjudge.load` takes; they replace what a judge has.

    Attributes:
        verdict: the last verdict as groundjudge gives it, with label, parts and evidence; also of an error.
        score_breakdown: the scores of the verdict's parts by their names.
        verbose_logs: the verdict as JSON.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.load`.
    """

    # What a class below says: its judge, its name in reports, the part of the verdict that it shows.
    named: ClassVar[str] = ""
    titled: ClassVar[str] = ""
    part: ClassVar[str] = ""

    verdict: Verdict | None
    score: float | None
    score_breakdown: Any
    reason: str | None
    success: bool | None
    error: str | None
    verbose_logs: str | None
    input_tokens: int | None
    output_tokens: int | None

    # DeepEval copies a metric by calling its class with those attributes that bear an argument's name:
    # each argument is kept under its own, and what was made of it is an argument that stays as it is.
    def __init__(  # noqa: PLR0913, PLR0917  the arguments of DeepEval's metrics, by position too
        self,
        threshold: float | EllipsisType | None = ...,
        model: ModelLike | None = None,
        include_reason: bool = True,  # noqa: FBT001, FBT002
        async_mode: bool = True,  # noqa: FBT001, FBT002
        strict_mode: bool = False,  # noqa: FBT001, FBT002
        verbose_mode: bool = False,  # noqa: FBT001, FBT002
        flaky: bool = False,  # noqa: FBT001, FBT002
        judge: str | Path | Rubric | Judge | None = None,
        **options: Unpack[OtherOptions],
    ) -> None:
        on = 1 if strict_mode else None if threshold is ... else threshold
        self.judge = as_judge(judge or self.named, model, threshold=on, **options)
        self.model: Any = self.judge.model
        self.threshold = self.judge.rubric.threshold if strict_mode or threshold is not None else None
        self.include_reason = include_reason
        self.async_mode = async_mode
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.evaluation_model: str | None = self.judge.model.name
        self._forget()

    def measure(self, test_case: Any, *_: object, **__: object) -> Any:  # noqa: ANN401  DeepEval knows no None
        """Judge a test case.

        Returns:
            The score, 0..1, or None where there is nothing to judge.

        Raises:
            MissingTestCaseParamsError: the test case lacks what the judge needs, or its response is empty.
            GroundjudgeError: as for `Judge.judge`.
        """
        with self._row(test_case):
            self._show(self.judge.judge(self._case(test_case)))
        return self.score

    async def a_measure(self, test_case: Any, *_: object, **__: object) -> Any:  # noqa: ANN401
        """Judge a test case without blocking the event loop; see `measure`."""
        with self._row(test_case):
            self._show(await self.judge.ajudge(self._case(test_case)))
        return self.score

    def is_successful(self) -> bool | None:
        """Whether the score reaches the threshold, or there was nothing to judge."""
        if self.threshold is None:
            self.success = None
        elif self.error is not None:
            self.success = False
        elif self.score is not None:
            self.success = passes(self.score, self.threshold)
        return self.success

    @property
    def __name__(self) -> Any:  # noqa: ANN401  DeepEval's own is a literal
        """What DeepEval's reports call the metric."""
        return self.titled or self.judge.name.replace("_", " ").title()

    def _case(self, test_case: Any) -> Case:  # noqa: ANN401
        raise NotImplementedError

    def _forget(self) -> None:
        self.verdict = self.score = self.score_breakdown = self.reason = self.success = self.error = None
        self.verbose_logs = self.input_tokens = self.output_tokens = None
        # DeepEval's cache compares a metric's criteria, but not its prompt.
        self.criteria = self.judge.identity

    @contextmanager
    def _row(self, test_case: Any) -> Generator[None]:  # noqa: ANN401
        self._forget()
        try:
            with _translated():
                _check_text(test_case)
                yield
        except Exception as error:
            of_error = getattr(error, "verdict", None) or getattr(error.__cause__, "verdict", None)
            self._keep(of_error or self.verdict)
            self.error = str(error)
            raise

    def _keep(self, verdict: Verdict | None) -> None:
        self.verdict = verdict
        if verdict and verdict.usage:
            self.input_tokens = verdict.usage.prompt_tokens
            self.output_tokens = verdict.usage.completion_tokens

    def _show(self, verdict: Verdict) -> None:
        self._keep(verdict)
        if verdict.label == "empty_response":
            message = f"empty_response: there is no response to judge for the '{self.__name__}' metric"
            raise MissingTestCaseParamsError(message)
        shown = next(score for score in self.judge.scores(verdict) if score.part == self.part)
        self.score = shown.score
        self.score_breakdown = {part.name: part.score for part in verdict.parts} or None
        bare = f"Not applicable ({verdict.label})." if verdict.status == "not_applicable" else None
        self.reason = shown.explanation if self.include_reason else bare
        self.success = verdict.passed
        self.is_successful()
        steps = [verdict.model_dump_json(indent=2, exclude_defaults=True), f"Score: {self.score}"]
        self.verbose_logs = construct_verbose_logs(cast("BaseMetric", self), steps)


class JudgeMetric(_Judged, BaseMetric):
    """Any judge as a metric; the classes below are those of groundjudge's own judges.

    DeepEval's cache sees neither `tools_called` nor `metadata`: a verdict that rests on them is not reused.
    """

    @property
    def _required_params(self) -> Any:  # noqa: ANN401  a list on the class, says DeepEval
        needed = (each.field for each in self.judge.inputs if each.required)
        return list(dict.fromkeys(PARAMS.get(name, SingleTurnParams.METADATA) for name in needed))

    def _case(self, test_case: Any) -> Case:  # noqa: ANN401  an LLMTestCase, once it is checked
        fields = {each.field for each in self.judge.inputs}
        called = (getattr(test_case, "tools_called", None) or ()) if "context" in fields else ()
        tools = [_document(call.name, call.output) for call in called if call.output is not None]
        needed = [each for each in self._required_params if not (tools and each is PARAMS["context"])]
        check_llm_test_case_params(test_case, needed, None, None, self)
        retrieved = test_case.retrieval_context
        told: dict[str, Any] = test_case.metadata or {}
        own = {name: told[name] for name in (fields - PARAMS.keys()) & told.keys()}
        if tools or own:
            self.criteria = f"not to be cached: {uuid4()}"
        return Case(
            query=test_case.input,
            response=test_case.actual_output,
            context=None if retrieved is None and not tools else [*(retrieved or ()), *tools],
            reference=test_case.expected_output,
            id=test_case.name,
            metadata={name: told[name] for name in told.keys() - own.keys()},
            **own,
        )


class GroundednessMetric(JudgeMetric):
    """How well the response is supported by the retrieval context, and how complete it is."""

    named = "groundedness"


class ConfidenceGroundingMetric(JudgeMetric):
    """How confidently a support agent's response can be derived from documents and tool results."""

    named = "confidence_grounding"


class StatementGroundednessMetric(JudgeMetric):
    """How much of each sentence of the response the retrieval context holds, with the evidence quoted."""

    named = "statement_groundedness"


class PassageQualityMetric(JudgeMetric):
    """How well a returned passage matches the ideal one: the harmonic mean of recall and precision."""

    named = "passage_quality"


class PassageRecallMetric(PassageQualityMetric):
    """How much of the ideal passage, as far as the query needs it, the returned passage holds."""

    titled = "Passage Recall"
    part = "recall"


class PassagePrecisionMetric(PassageQualityMetric):
    """How little the returned passage holds that is not in the ideal one."""

    titled = "Passage Precision"
    part = "precision"


class KnowledgeHallucinationMetric(JudgeMetric):
    """How true a character's response stays to its profile, the conversation and real answers."""

    named = "knowledge_hallucination"


class ConversationalKnowledgeHallucinationMetric(_Judged, BaseConversationalMetric):
    """How true the assistant's last turn stays to its role, the turns before, and real answers.

    `chatbot_role` is the profile; `metadata` may hold agent_name (otherwise "assistant") and answers.
    """

    named = "knowledge_hallucination"
    _required_test_case_params: ClassVar = [MultiTurnParams.ROLE, MultiTurnParams.CONTENT]
    _requires_chatbot_role = True

    def _case(self, test_case: Any) -> Case:  # noqa: ANN401  a ConversationalTestCase, once it is checked
        check_conversational_test_case_params(test_case, self._required_test_case_params, self, True)  # noqa: FBT003
        told: dict[str, Any] = test_case.metadata or {}
        last = max((at for at, turn in enumerate(test_case.turns) if turn.role == "assistant"), default=None)
        return Case(
            profile=test_case.chatbot_role,
            agent_name=told.get("agent_name", "assistant"),
            answers=told.get("answers"),
            conversation=test_case.turns[:last],
            response=None if last is None else test_case.turns[last].content,
            id=test_case.name,
        )


def passage_metrics(**options: Unpack[MetricOptions]) -> tuple[PassageRecallMetric, PassagePrecisionMetric]:
    """The metrics of a passage's recall and precision, which cost one call per case between them.

    The tokens of a call are counted by the metric that made it.

    Args:
        options: the arguments of either metric, by name.
    """
    first, second = shared(PassageRecallMetric(**options).model)
    recall: dict[str, Any] = {**options, "model": first}
    precision: dict[str, Any] = {**options, "model": second}
    return PassageRecallMetric(**recall), PassagePrecisionMetric(**precision)


def _document(tool: str, output: object) -> Document:
    content = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, default=str)
    return Document(content=content, title=f"Tool Result: {tool}", kind="tool")


def _check_text(test_case: Any) -> None:  # noqa: ANN401
    if getattr(test_case, "multimodal", False):
        message = "the test case holds images, and a judge reads text only"
        raise CaseError("field_unreadable", message, "multimodal")


@contextmanager
def _translated() -> Generator[None]:
    """Errors as DeepEval knows them, or at least does not mistake them."""
    try:
        yield
    except CaseError as error:
        if error.code == "missing_field":
            raise MissingTestCaseParamsError(str(error)) from error
        raise
    except TypeError as error:  # read as a metric that does not take DeepEval's arguments, and measured again
        raise GroundjudgeError("failed", f"TypeError: {error}") from error
