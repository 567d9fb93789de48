"""DeepEval metrics: judges for `measure`, `evaluate`, `assert_test` and `deepeval test run`.

    GroundednessMetric(threshold=0.7, model="gpt-4o-mini")
    JudgeMetric(judge="my_judge.prompty", model="gpt-4o-mini")
    recall, precision = passage_metrics(model="gpt-4o-mini")  # they share one call per case

`input` is the query, `actual_output` the response, `expected_output` the reference; `retrieval_context` and
the outputs of `tools_called` are the context. `context`, DeepEval's ideal context, is not used: a response
is judged by what was actually retrieved. Fields that DeepEval does not have are read from `metadata`:
profile, agent_name, conversation, answers.
"""

# DeepEval's base classes leave `__init_subclass__` untyped:
# mypy: untyped-calls-exclude=deepeval
from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import EllipsisType
from typing import Any, ClassVar, Unpack, cast
from uuid import uuid4

from groundjudge import (
    AnyJudge,
    Case,
    CaseError,
    Document,
    GroundjudgeError,
    Judge,
    Prices,
    PromptError,
    Reply,
    Rubric,
    Verdict,
    as_judge,
    names,
)
from groundjudge.case.fields import FIELD_NAMED
from groundjudge.judging.conversation import Step
from groundjudge.judging.panel import Rule, Stop
from groundjudge.models.cached import shared
from groundjudge.models.lookup import ModelLike
from groundjudge.rubric.options import PromptOptions
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
"""The parameter of a test case for each field of a case; the other fields come from `metadata`."""


NO_JUDGE = (
    f"no judge given: pass judge=, which can be the name of a judge ({', '.join(names())}), "
    "the path of a prompt file, a Rubric or a Judge"
)


class OtherOptions(PromptOptions, total=False):
    """The options of a judge that are not arguments of DeepEval's metrics."""

    max_reasks: int
    repeats: int
    rule: Rule
    stop: Stop


class MetricOptions(OtherOptions, total=False):
    """The keyword arguments of a metric."""

    threshold: float | EllipsisType | None
    model: ModelLike | None
    judge: str | Path | Rubric | AnyJudge | None
    prices: Prices | None
    include_reason: bool
    async_mode: bool
    strict_mode: bool
    verbose_mode: bool
    flaky: bool


class _Judged:
    """What metrics of single turns and of conversations have in common.

    A verdict that is not applicable (the level `nothing_to_ground`) has a score of None, is a success, and
    its reason says so. A missing or blank response is an error of its row, unless
    `empty_response` says otherwise.

    Args:
        threshold: on the score, 0..1; by default (`...`) the judge's own. With None no test case passes
            or fails.
        model: a model's name, a DeepEvalBaseLLM, or any other model that `groundjudge.load` accepts.
        include_reason: whether to set `reason`.
        async_mode: has no effect, as there is only one call; accepted because DeepEval's metrics have it.
        strict_mode: a threshold of 1. The score is not changed.
        verbose_mode: whether to print the verdict.
        flaky: whether DeepEval only reports a failure and lets the test case pass.
        judge: a judge, a panel, a rubric, the name of a judge, or the path of a prompt file. A judge keeps
            its model unless `model` is given.
        prices: what the model's tokens cost, for `evaluation_cost`; by default the model's own statement of
            the cost is used, if it returns one.
        options: further options of `groundjudge.load`; they replace the judge's own.

    Attributes:
        score: the score, 0..1; None if the verdict has none.
        success: whether the test case passed; None if it was not judged or there is no threshold.
        reason: the explanation, or the message of the error.
        error: the message of the last error; None if there was none.
        verdict: the last verdict, with label, parts and evidence; also after an error.
        score_breakdown: the scores of the verdict's parts by their names; None if there are no parts.
        verbose_logs: the verdict as JSON; after an error followed by the model's last reply as it was.
        input_tokens: the prompt tokens of the last verdict; None if unknown.
        output_tokens: the completion tokens of the last verdict; None if unknown.
        evaluation_cost: the cost of all calls for the last verdict; None if neither `prices` nor the model
            tells it, or if there was no call.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.load`.
    """

    default_judge: ClassVar[str] = ""
    title: ClassVar[str] = ""
    """The name in reports; by default it is made from the judge's name."""
    part: ClassVar[str] = ""
    """The part of the verdict whose score the metric shows; by default the headline."""

    verdict: Verdict | None
    score: float | None
    score_breakdown: Any
    reason: str | None
    success: bool | None
    error: str | None
    verbose_logs: str | None
    input_tokens: int | None
    output_tokens: int | None
    evaluation_cost: float | None

    # DeepEval copies a metric by calling its class with the attributes that are named like an argument, so
    # each argument has an attribute of its name, whose value gives the same metric when passed again.
    def __init__(  # noqa: PLR0913, PLR0917  the arguments of DeepEval's metrics, also by position
        self,
        threshold: float | EllipsisType | None = ...,
        model: ModelLike | None = None,
        include_reason: bool = True,  # noqa: FBT001, FBT002
        async_mode: bool = True,  # noqa: FBT001, FBT002
        strict_mode: bool = False,  # noqa: FBT001, FBT002
        verbose_mode: bool = False,  # noqa: FBT001, FBT002
        flaky: bool = False,  # noqa: FBT001, FBT002
        judge: str | Path | Rubric | AnyJudge | None = None,
        prices: Prices | None = None,
        **options: Unpack[OtherOptions],
    ) -> None:
        if not judge and not self.default_judge:
            raise PromptError("unknown_judge", NO_JUDGE)
        new_threshold = 1 if strict_mode else None if threshold is ... else threshold
        self.judge = as_judge(judge or self.default_judge, model, threshold=new_threshold, **options)
        self.model: Any = self.judge.model if isinstance(self.judge, Judge) else None
        self.threshold = self.judge.threshold if strict_mode or threshold is not None else None
        self.include_reason = include_reason
        self.async_mode = async_mode
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.prices = prices
        self.evaluation_model: str | None = self.judge.model_name
        self._reset()

    def measure(self, test_case: Any, *_: object, **__: object) -> Any:  # noqa: ANN401  DeepEval does not expect None
        """Judge a test case.

        Returns:
            The score, 0..1, or None if the verdict is not applicable.

        Raises:
            MissingTestCaseParamsError: the test case lacks a field that the judge needs.
            GroundjudgeError: as for `Judge.judge`.
        """
        with self._measuring(test_case):
            self._set_result(self.judge.judge(self._case(test_case), self._noting))
        return self.score

    async def a_measure(self, test_case: Any, *_: object, **__: object) -> Any:  # noqa: ANN401
        """Judge a test case without blocking the event loop; see `measure`."""
        with self._measuring(test_case):
            self._set_result(await self.judge.ajudge(self._case(test_case), self._noting))
        return self.score

    def is_successful(self) -> bool | None:
        """Whether the test case passed: by its score, or as not applicable. None without a threshold."""
        if self.threshold is None:
            self.success = None
        elif self.error is not None:
            self.success = False
        elif self.verdict and self.verdict.votes and not self.part:
            self.success = self.verdict.passed  # the majority decides, whatever the mean score is
        elif self.score is not None:
            self.success = passes(self.score, self.threshold)
        return self.success

    @property
    def __name__(self) -> Any:  # noqa: ANN401  DeepEval's own is a Literal
        """The name of the metric in DeepEval's reports."""
        return self.title or self.judge.name.replace("_", " ").title()

    def _case(self, test_case: Any) -> Case:  # noqa: ANN401
        raise NotImplementedError

    def _reset(self) -> None:
        self.verdict = self.score = self.score_breakdown = self.reason = self.success = self.error = None
        self.verbose_logs = self.input_tokens = self.output_tokens = self.evaluation_cost = None
        self._costs: list[float | None] = []
        # DeepEval's cache compares a metric's criteria, but not its prompt.
        self.criteria = self.judge.identity

    @contextmanager
    def _measuring(self, test_case: Any) -> Generator[None]:  # noqa: ANN401
        """Reset the results, translate errors, and keep an error with its verdict."""
        self._reset()
        try:
            with _translated():
                _check_text(test_case)
                yield
        except Exception as error:
            verdict = getattr(error, "verdict", None) or getattr(error.__cause__, "verdict", None)
            self._set_verdict(verdict or self.verdict)
            self.error = self.reason = str(error)
            self.is_successful()
            self._log(self.error)
            raise

    @contextmanager
    def _noting(self, step: Step) -> Generator[Callable[[Any], object]]:
        """Note what a call of the model cost."""
        yield self._note_cost if step.model else lambda _: None

    def _note_cost(self, reply: Reply) -> None:
        self._costs.append(_cost(reply, self.prices))

    def _log(self, conclusion: str) -> None:
        """Set the logs; DeepEval prints the conclusion, but does not keep it."""
        verdict = self.verdict
        steps = [verdict.model_dump_json(indent=2, exclude_defaults=True)] if verdict else []
        steps += [f"Reply:\n{verdict.reply}"] if verdict and verdict.error and verdict.reply else []
        self.verbose_logs = construct_verbose_logs(cast("BaseMetric", self), [*steps, conclusion])

    def _set_verdict(self, verdict: Verdict | None) -> None:
        self.verdict = verdict
        if verdict and verdict.usage:
            self.input_tokens = verdict.usage.prompt_tokens
            self.output_tokens = verdict.usage.completion_tokens
        costs = [cost for cost in self._costs if cost is not None]
        self.evaluation_cost = sum(costs) if costs and len(costs) == len(self._costs) else None

    def _set_result(self, verdict: Verdict) -> None:
        self._set_verdict(verdict)
        named_score = next(score for score in self.judge.scores(verdict) if score.part == self.part)
        self.score = named_score.score
        self.score_breakdown = {part.name: part.score for part in verdict.parts} or None
        status = f"Not applicable ({verdict.label})." if verdict.status == "not_applicable" else None
        self.reason = named_score.explanation if self.include_reason else status
        self.success = verdict.passed
        self.is_successful()
        self._log(f"Score: {self.score}")


class JudgeMetric(_Judged, BaseMetric):
    """Any judge as a metric. Each judge that comes with groundjudge also has a class of its own.

    DeepEval's cache ignores `tools_called` and `metadata`, so a verdict that depends on them is not reused.
    """

    @property
    def _required_params(self) -> Any:  # noqa: ANN401  DeepEval declares it as a list on the class
        # The judge itself checks its own inputs, because its error names their keys.
        required = (field.field for field in self.judge.inputs if field.required and not field.is_custom)
        return list(dict.fromkeys(PARAMS.get(name, SingleTurnParams.METADATA) for name in required))

    def _case(self, test_case: Any) -> Case:  # noqa: ANN401  an LLMTestCase, if the check passes
        names = {field.field for field in self.judge.inputs}
        tools = _tool_results(test_case) if "context" in names else []
        # A missing response is the judge's own error: DeepEval can be set to skip what lacks a parameter.
        unchecked = {PARAMS["response"], *([PARAMS["context"]] if tools else [])}
        required = [param for param in self._required_params if param not in unchecked]
        check_llm_test_case_params(test_case, required, None, None, self)
        retrieved = test_case.retrieval_context
        metadata: dict[str, Any] = test_case.metadata or {}
        shown = (names - PARAMS.keys()) & metadata.keys()
        fields = {name: metadata[name] for name in shown & FIELD_NAMED.keys()}
        if tools or shown:
            self.criteria = f"not cacheable: {uuid4()}"
        return Case(
            query=test_case.input,
            response=test_case.actual_output,
            context=None if retrieved is None and not tools else [*(retrieved or ()), *tools],
            reference=test_case.expected_output,
            id=test_case.name,
            metadata={name: metadata[name] for name in metadata.keys() - fields.keys()},
            **fields,
        )


class GroundednessMetric(JudgeMetric):
    """How well the response is supported by the retrieval context, and how complete it is."""

    default_judge = "groundedness"


class ConfidenceGroundingMetric(JudgeMetric):
    """How well a support agent's response can be derived from documents and tool results."""

    default_judge = "confidence_grounding"


class StatementGroundednessMetric(JudgeMetric):
    """How much of each sentence of the response the retrieval context supports, with quoted evidence."""

    default_judge = "statement_groundedness"


class PassageQualityMetric(JudgeMetric):
    """How well a returned passage matches the ideal one: the harmonic mean of recall and precision."""

    default_judge = "passage_quality"


class PassageRecallMetric(PassageQualityMetric):
    """How much of what the query needs from the ideal passage is in the returned passage."""

    title = "Passage Recall"
    part = "recall"


class PassagePrecisionMetric(PassageQualityMetric):
    """How little the returned passage contains that is not in the ideal one."""

    title = "Passage Precision"
    part = "precision"


class KnowledgeHallucinationMetric(JudgeMetric):
    """How well a character's response agrees with its profile, the conversation and real answers."""

    default_judge = "knowledge_hallucination"


class ConversationalKnowledgeHallucinationMetric(_Judged, BaseConversationalMetric):
    """How well the assistant's last turn agrees with its role, the turns before it, and real answers.

    `chatbot_role` is the profile; `metadata` can contain agent_name (default "assistant") and answers.
    """

    default_judge = "knowledge_hallucination"
    _required_test_case_params: ClassVar = [MultiTurnParams.ROLE, MultiTurnParams.CONTENT]
    _requires_chatbot_role = True

    def _case(self, test_case: Any) -> Case:  # noqa: ANN401  a ConversationalTestCase, if the check passes
        check_conversational_test_case_params(test_case, self._required_test_case_params, self, True)  # noqa: FBT003
        metadata: dict[str, Any] = test_case.metadata or {}
        turns = enumerate(test_case.turns)
        last = max((index for index, turn in turns if turn.role == "assistant"), default=None)
        return Case(
            profile=test_case.chatbot_role,
            agent_name=metadata.get("agent_name", "assistant"),
            answers=metadata.get("answers"),
            conversation=test_case.turns[:last],
            response=None if last is None else test_case.turns[last].content,
            id=test_case.name,
            metadata=metadata,
        )


def passage_metrics(**options: Unpack[MetricOptions]) -> tuple[PassageRecallMetric, PassagePrecisionMetric]:
    """Metrics of a passage's recall and precision that share one call per case.

    The tokens of a call are counted by the metric that made it.

    Args:
        options: the arguments of both metrics, by name.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.load`.
    """
    first, second = _sharing(PassageRecallMetric(**options).judge)
    applied = {"model", "judge", *OtherOptions.__annotations__}
    others: dict[str, Any] = {name: value for name, value in options.items() if name not in applied}
    return PassageRecallMetric(judge=first, **others), PassagePrecisionMetric(judge=second, **others)


def _sharing(judge: AnyJudge) -> tuple[AnyJudge, AnyJudge]:
    """Two judges like this one that share their calls."""
    if isinstance(judge, Judge):
        first, second = (replace(judge, model=model) for model in shared(judge.model))
        return first, second
    pairs = [[replace(each, model=model) for model in shared(each.model)] for each in judge.judges]
    one, other = (replace(judge, judges=tuple(judges)) for judges in zip(*pairs, strict=True))
    return one, other


def _cost(reply: Reply, prices: Prices | None) -> float | None:
    """What a reply cost by the prices, or else as the model states it; None if neither is known."""
    if reply.cached:
        return 0.0
    return prices.of(reply.usage) if prices and reply.usage else reply.cost


def _tool_results(test_case: Any) -> list[Document]:  # noqa: ANN401
    called = getattr(test_case, "tools_called", None) or ()
    return [_document(call.name, call.output) for call in called if call.output is not None]


def _document(tool: str, output: object) -> Document:
    content = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, default=str)
    return Document(content=content, title=f"Tool Result: {tool}", kind="tool")


def _check_text(test_case: Any) -> None:  # noqa: ANN401
    if getattr(test_case, "multimodal", False):
        message = "the test case contains images, and judges read text only: remove the images"
        raise CaseError("field_unreadable", message, "multimodal")


@contextmanager
def _translated() -> Generator[None]:
    """Raise errors as the types that DeepEval expects, or as types that it does not misinterpret."""
    try:
        yield
    except CaseError as error:
        if error.code == "missing_field":
            raise MissingTestCaseParamsError(str(error)) from error
        raise
    except TypeError as error:  # DeepEval would call `measure` again with other arguments
        raise GroundjudgeError("failed", f"TypeError: {error}") from error
