"""DeepEval: judges as metrics, for `measure`, `evaluate`, `assert_test` and `deepeval test run`.

    GroundednessMetric(threshold=0.7, model="gpt-6-luna")
    JudgeMetric(judge="my_judge.prompty", model="gpt-6-luna")
    recall, precision = passage_metrics(model="gpt-6-luna")  # they share one call per case
    GroundednessMetric(eval_mode="system_one")  # a decision model: TypeSafe's, or system_one_model=

`input` is the query, `actual_output` the response, `expected_output` the reference; `retrieval_context` and
the outputs of `tools_called` are the context. `context`, DeepEval's ideal context, is not used: a response
is judged by what was actually retrieved. Fields that DeepEval does not have are read from `metadata`:
profile, agent_name, conversation, answers.
"""

# DeepEval's base classes leave `__init_subclass__` untyped:
# mypy: untyped-calls-exclude=deepeval
from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Any, ClassVar, Literal, TypeAlias, Unpack, cast, get_args
from uuid import uuid4

from groundjudge.case.traces import tool_documents
from groundjudge.errors import CaseError, GroundjudgeError, PromptError, requires
from groundjudge.judging.cascade import Cascade, cascade
from groundjudge.judging.conversation import Ask, call, call_and_block, run_untraced, without_waiting
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import AnyJudge, Panel, Rule, Stop, with_models
from groundjudge.models.lookup import ModelLike
from groundjudge.models.redaction import RedactedError
from groundjudge.models.shared import share_calls
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import PromptOptions
from groundjudge.rubric.rubric import Request
from groundjudge.runs.cost import Prices
from groundjudge.verdict import Failure, Part, Verdict, deciding_score, passes, score_names, sum_costs

with requires("groundjudge.adapters.deepeval needs deepeval", "deepeval"):
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseConversationalMetric, BaseMetric
    from deepeval.metrics.utils import construct_verbose_logs
    from deepeval.test_case import ConversationalTestCase, LLMTestCase

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
    "TurnGroundednessMetric",
    "passage_metrics",
]

IN_METADATA = ("profile", "agent_name", "conversation", "answers")
"""The fields of a case that DeepEval does not have."""


EvalMode: TypeAlias = Literal["llm", "hybrid", "system_one"]
"""Who decides, in DeepEval's words: a text model, a decision model and a text model, a decision model."""

SURE = (0.1, 0.9)
"""Where a decision model's score stands with `hybrid`, if the threshold lies between the two."""


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
    judge: JudgeLike | None
    prices: Prices | None
    name: str | None
    eval_mode: EvalMode | None
    system_one_model: ModelLike | None
    include_reason: bool
    async_mode: bool
    strict_mode: bool
    verbose_mode: bool
    flaky: bool


class _Metric:
    """What metrics of single turns and of conversations have in common.

    A verdict that is not applicable (the level `nothing_to_ground`) has a score of None, is a success, and
    its reason says so. A missing or blank response is an error of its row, unless `empty_response` says
    otherwise: one that it leaves out is neither a success nor a failure.

    Args:
        threshold: on the score, 0..1; by default (`...`) the judge's own. With None no test case passes
            or fails.
        model: a model's name, a DeepEvalBaseLLM, or what else `groundjudge.as_judge` accepts.
        include_reason: whether to set `reason`.
        async_mode: has no effect, as there is only one call; accepted because DeepEval's metrics have it.
        strict_mode: a threshold of 1. The score is not changed.
        verbose_mode: whether to print the verdict.
        flaky: whether DeepEval only reports a failure and lets the test case pass.
        judge: as for `groundjudge.as_judge`.
        name: the name in DeepEval's reports, by default the judge's; a metric of a part adds the part's. Give
            metrics of one judge (with another model, with repeats, a panel) different names: DeepEval merges
            the results of metrics with one name.
        prices: what the model's tokens cost, for `evaluation_cost`; by default the model's own statement of
            the cost is used, if it returns one.
        eval_mode: who decides, as in DeepEval's own metrics: "llm", a text model; "system_one", a decision
            model; "hybrid", a cascade: the decision model's verdict stands with a score of at most 0.1 or at
            least 0.9, otherwise the text model is asked. By default what DEEPEVAL_EVAL_MODE says, unless
            there is a `model`, or a `judge` that has one. For other bounds pass a `groundjudge.cascade` as
            `judge`.
        system_one_model: the decision model for "system_one" and "hybrid": a name of TypeSafe's models, a
            DeepEvalBaseSystemOneModel, or what else `groundjudge.as_judge` accepts. By default TypeSafe's.
        options: as for `groundjudge.as_judge`.

    Attributes:
        score: the score, 0..1; None if the verdict has none.
        success: whether the test case passed; None if it was not judged or there is no threshold.
        reason: the explanation, or the message of the error.
        error: the message of the last error; None if there was none.
        verdict: the last verdict, with label, parts and evidence; also after an error.
        score_breakdown: the scores of the verdict's parts by their names, and `weakest` where the lowest
            of them decides; None if there are no parts.
        confidence: how sure the judge is, 0..1, as the verdict has it; None if nothing says it.
        verbose_logs: the verdict as JSON; after an error followed by the model's last reply as it was.
        input_tokens: the prompt tokens of the last verdict; None if unknown.
        output_tokens: the completion tokens of the last verdict; None if unknown.
        evaluation_cost: the cost of all calls for the last verdict; None if neither `prices` nor the model
            tells it, or if there was no call.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.as_judge`; `bad_eval_mode`: there is no such
            mode, or it does not go with the models that were given.
    """

    default_judge: ClassVar[str] = ""
    part: ClassVar[str] = ""
    """The part of the verdict whose score the metric shows; by default the headline."""
    title: ClassVar[str] = ""
    """What the name in reports begins with, so that it differs from that of the metric of single turns."""
    test_case_type: ClassVar[type[Any]] = LLMTestCase
    """The kind of test case."""
    places: ClassVar[str] = (
        "In an LLMTestCase the query is `input`, the response `actual_output`, the reference "
        "`expected_output`, the context `retrieval_context`, not `context`; other fields are in `metadata`"
    )
    """Where a test case has the fields, which the messages of judges call by names of their own."""

    # DeepEval copies a metric by calling its class with the attributes that are named like an argument, so
    # each argument has an attribute of its name, whose value gives the same metric when passed again; only
    # the model is the judge's.
    def __init__(  # noqa: PLR0913, PLR0917  the arguments of DeepEval's metrics, also by position
        self,
        threshold: float | EllipsisType | None = ...,
        model: ModelLike | None = None,
        include_reason: bool = True,  # noqa: FBT001, FBT002
        async_mode: bool = True,  # noqa: FBT001, FBT002
        strict_mode: bool = False,  # noqa: FBT001, FBT002
        verbose_mode: bool = False,  # noqa: FBT001, FBT002
        flaky: bool = False,  # noqa: FBT001, FBT002
        judge: JudgeLike | None = None,
        prices: Prices | None = None,
        name: str | None = None,
        eval_mode: EvalMode | None = None,
        system_one_model: ModelLike | None = None,
        **options: Unpack[OtherOptions],
    ) -> None:
        if prices is not None and not isinstance(prices, Prices):  # pyright: ignore[reportUnnecessaryIsInstance]
            message = f"prices must be groundjudge.Prices(prompt=..., completion=...), not {prices!r}"
            raise TypeError(message)
        first_argument: object = threshold
        if not judge and not self.default_judge and isinstance(first_argument, str | Judge | Panel | Cascade):
            message = (
                "the first argument is the threshold, as of DeepEval's metrics: name the judge, "
                f"{type(self).__name__}(judge=...)"
            )
            raise TypeError(message)
        judge_threshold: float | None = None  # None: the judge's own
        if strict_mode:
            judge_threshold = 1
        elif threshold is not ...:
            judge_threshold = threshold
        self.judge = _judge_of_mode(
            judge or self.default_judge,
            model,
            eval_mode,
            system_one_model,
            threshold=judge_threshold,
            **options,
        )
        if self.part and self.part not in self.judge.part_names:
            message = (
                f"verdicts of the judge {self.judge.name} have no part {self.part!r}, which a "
                f"{type(self).__name__} shows: pass that judge to JudgeMetric, or leave out `judge`"
            )
            raise PromptError("no_part", message, self.judge.name)
        self.threshold: float | None = self.judge.threshold
        if threshold is None and not strict_mode:
            self.threshold = None  # no test case passes or fails
        self.include_reason = include_reason
        self.async_mode = async_mode
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.prices = prices
        self.name = name
        self.eval_mode: Any = eval_mode
        self.system_one_model: Any = system_one_model
        self.is_measuring = False
        self.evaluation_model: str | None = self.judge.model_name
        self.criteria = self.judge.identity
        self._show(None)

    # DeepEval passes switches of its own, such as `_show_indicator` and `_in_component`.
    def measure(self, test_case: Any, *_: object, **switches: object) -> Any:  # noqa: ANN401  DeepEval does not expect None
        """Judge a test case.

        Returns:
            The score, 0..1, or None if the verdict is not applicable.

        Raises:
            MissingTestCaseParamsError: the test case lacks a field that the judge needs.
            ValueError: it is not of the metric's kind, an LLMTestCase or a ConversationalTestCase.
            GroundjudgeError: as for `Judge.judge`; `metric_in_use`: this metric is measuring
                another test case at the moment, and DeepEval would mix up the results.
            TypeError: an option of the metric is passed here.
        """
        _check_switches(switches)
        return without_waiting(self._measure(test_case, call_and_block))

    async def a_measure(self, test_case: Any, *_: object, **switches: object) -> Any:  # noqa: ANN401
        """Judge a test case without blocking the event loop; see `measure`."""
        _check_switches(switches)
        return await self._measure(test_case, call)

    def is_successful(self) -> bool | None:
        """Whether the test case passed: by its score, or as not applicable. None without a threshold."""
        if self.threshold is None:
            self.success = None
        elif self.error is not None:
            self.success = False
        elif self.verdict is None:
            self.success = None
        elif self.score is None:
            self.success = self.verdict.passed
        elif self.part:
            self.success = passes(self.score, self.threshold)
        elif self.verdict.votes and self.verdict.decided_by is None:
            # Of a panel the majority decides, whatever the mean score is; of a cascade one verdict stands.
            self.success = self.verdict.passed
        else:
            # DeepEval's users set `threshold` after a measurement too: it is compared anew.
            self.success = passes(deciding_score(self.verdict) or 0.0, self.threshold)
        return self.success

    @property
    def __name__(self) -> Any:  # noqa: ANN401  DeepEval's own is a Literal
        """The name of the metric in DeepEval's reports."""
        names = score_names(self.name or self.judge.name, self.judge.part_names)
        name = names[self.part]
        if self.name:
            return name
        return self.title + name.replace("_", " ").title()

    def _fields(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401
        """The fields of the case that are not in the metadata."""
        raise NotImplementedError

    async def _measure(self, test_case: Any, ask: Ask) -> float | None:  # noqa: ANN401
        """Judge a test case and show the verdict; an error is kept with its verdict, and raised."""
        costs: list[float | None] = []

        async def ask_and_note_cost(model: Model, request: Request) -> Reply:
            reply = await ask(model, request)
            if reply.cached:
                costs.append(0.0)
            elif self.prices and reply.usage:
                costs.append(self.prices.of(reply.usage))
            else:
                costs.append(reply.cost)
            return reply

        # DeepEval's `evals_iterator` measures several spans at once with one metric, and would mix up what
        # its attributes say.
        if self.is_measuring:
            raise GroundjudgeError("metric_in_use", "it measures another test case: use one metric per task")
        self.is_measuring = True
        # DeepEval's sync mode measures one test case after another with one metric: if this one ends in an
        # error, nothing may be shown of the one before.
        self._show(None)
        try:
            verdict = await self._verdict(test_case, ask_and_note_cost)
        except Exception as error:
            failed = self.judge.error_verdict(error)
            self._show(failed, costs)
            if isinstance(error, CaseError) and error.code == "missing_field":
                # The error that `ErrorConfig(skip_on_missing_params=True)` skips.
                message = f"{error}. {self.places}"
                raise MissingTestCaseParamsError(message) from error
            if isinstance(error, TypeError):
                # DeepEval takes it for a metric that knows none of its switches, and calls `measure` again.
                message = str(failed.error and failed.error.message)
                raise GroundjudgeError("unexpected", message) from RedactedError(error)
            raise
        finally:
            self.is_measuring = False
        self._show(verdict, costs)
        return self.score

    async def _verdict(self, test_case: Any, ask: Ask) -> Verdict:  # noqa: ANN401
        """The verdict on a test case."""
        return await self.judge.ajudge(self._case(test_case), run_untraced, ask)

    def _case(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401
        """The test case as a case, a mapping.

        Raises:
            ValueError: it is not of the metric's kind.
            CaseError: it contains images.
        """
        if not isinstance(test_case, self.test_case_type):
            kind = type(test_case).__name__
            needed = self.test_case_type.__name__
            message = f"the test case is of type {kind!r}, not {needed!r}, which {self.__name__} judges"
            raise ValueError(message)  # noqa: TRY004  the type of DeepEval's own error
        if test_case.multimodal:
            message = "the test case contains images, and judges read text only: remove the images"
            raise CaseError("field_unreadable", message, "multimodal")
        metadata: dict[str, Any] = test_case.metadata or {}
        case: dict[str, Any] = {}
        for name in IN_METADATA:
            if name in metadata:
                case[name] = metadata[name]
        case.update(self._fields(test_case))  # of fields that stand in both places, those of the test case
        case["id"] = test_case.name
        case["metadata"] = metadata
        return case

    def _show(self, new_verdict: Verdict | None, costs: Sequence[float | None] = ()) -> None:
        """Set the attributes to what a verdict says; None: there is none yet."""
        self.verdict = new_verdict
        verdict = new_verdict or self.judge.empty_verdict()
        scores = {score.part: score for score in self.judge.scores(verdict)}
        score = scores[self.part]
        self.score = score.score
        breakdown = {part.name: part.score for part in verdict.parts}
        if verdict.weakest is not None:
            breakdown["weakest"] = verdict.weakest
        self.score_breakdown: Any = breakdown or None
        self.error = score.explanation if verdict.error else None
        self.reason: str | None = None
        if new_verdict and self.include_reason:
            self.reason = score.explanation
        elif verdict.status != "ok":
            # Without the judge's words, but an error and "not applicable" must be seen in any report.
            self.reason = verdict.model_copy(update={"reason": ""}).explanation
        self.input_tokens = verdict.usage.prompt_tokens if verdict.usage else None
        self.output_tokens = verdict.usage.completion_tokens if verdict.usage else None
        self.evaluation_cost = _sum_if_all_known(costs)
        self.confidence = verdict.confidence
        self.is_successful()  # it sets `success`
        self.verbose_logs = self._logs(new_verdict) if new_verdict else None

    def _logs(self, verdict: Verdict) -> str:
        """The verdict and, of an error, the reply. DeepEval only prints the last line."""
        lines = [verdict.model_dump_json(indent=2, exclude_defaults=True)]
        if self.error and verdict.reply:
            lines.append(f"Reply:\n{verdict.reply}")
        lines.append(self.error or f"Score: {self.score}")
        return construct_verbose_logs(cast("BaseMetric", self), lines)


def _check_switches(names: Iterable[str]) -> None:
    """Check that DeepEval has passed what `measure` is called with beside the test case.

    Raises:
        TypeError: the user has, and it would have no effect.
    """
    for name in names:
        if not name.startswith("_"):  # as all of DeepEval's do
            message = f"measure takes a test case only: {name!r} is given when the metric is made"
            raise TypeError(message)


def _judge_of_mode(
    judge: JudgeLike,
    model: ModelLike | None,
    eval_mode: EvalMode | None,
    system_one_model: ModelLike | None,
    **options: Unpack[PanelOptions],
) -> AnyJudge:
    """Make the judge of a metric by who decides.

    Raises:
        PromptError: `bad_eval_mode`.
    """
    mode = eval_mode
    if mode is None:
        has_model = model is not None or isinstance(judge, Judge | Panel | Cascade)
        mode = "llm" if has_model else _mode_of_environment()
    if mode not in get_args(EvalMode):
        modes = ", ".join(get_args(EvalMode))
        raise _mode_error("eval_mode", f"there is no mode {mode!r}: use one of {modes}")
    if mode == "llm":
        if system_one_model is not None:
            raise _mode_error(
                "system_one_model", "pass eval_mode system_one or hybrid, with which it decides"
            )
        llm_judge = as_judge(judge, model, **options)
        if eval_mode == "llm" and not _writes_text(llm_judge):
            raise _mode_error("eval_mode", "llm with a decision model: pass system_one")
        return llm_judge
    # A copy of a metric is made from the judge that the metric has, which is one of its mode already.
    if mode == "hybrid" and isinstance(judge, Cascade):
        return as_judge(judge, **options)
    if isinstance(judge, Judge) and not _writes_text(judge):
        decision_judge = as_judge(judge, **options)
    else:
        decision_judge = as_judge(judge, _decision_model(system_one_model, model, mode), **options)
    if any(rubric.way.writes_text for rubric in decision_judge.rubrics):
        fault = f"{mode} needs a decision model, and {decision_judge.model_name} answers with a text"
        raise _mode_error("model", fault)
    if mode == "system_one":
        return decision_judge
    text_judge = as_judge(judge, model, **options)
    if not _writes_text(text_judge):
        raise _mode_error("model", "hybrid needs a text model beside the decision model")
    if not isinstance(decision_judge, Judge) or not isinstance(text_judge, Judge):
        raise _mode_error("eval_mode", "hybrid asks two single judges: repeats and panels do not go with it")
    low, high = SURE
    threshold = text_judge.threshold
    until = (low if low < threshold else None, max(high, threshold))
    return cascade([decision_judge, text_judge], until=until)


def _writes_text(judge: AnyJudge) -> bool:
    """Whether all models of a judge answer with texts, and none with probabilities."""
    return all(rubric.way.writes_text for rubric in judge.rubrics)


def _decision_model(system_one_model: ModelLike | None, model: ModelLike | None, mode: EvalMode) -> ModelLike:
    """Return the decision model: the one passed for that, with system_one else `model`, or TypeSafe's."""
    if mode == "system_one" and model is not None:
        if system_one_model is not None:
            raise _mode_error("system_one_model", "system_one asks one model: pass `model` or this, not both")
        return model
    if system_one_model is None:
        system_one_model = os.environ.get("TYPESAFE_DEFAULT_MODEL") or "jev-latest"
    # DeepEval's users name TypeSafe's models without a prefix.
    if isinstance(system_one_model, str) and ":" not in system_one_model:
        return f"systemone:{system_one_model}"
    return system_one_model


def _mode_of_environment() -> EvalMode:
    """What DEEPEVAL_EVAL_MODE, or `deepeval set-eval-mode`, says."""
    try:
        from deepeval.config.eval_mode import resolve_eval_mode  # noqa: PLC0415  older versions do not have it
    except ImportError:
        return "llm"
    return cast("EvalMode", str(resolve_eval_mode()))


def _mode_error(subject: str, fault: str) -> PromptError:
    return PromptError("bad_eval_mode", f"{subject}: {fault}", subject)


def _sum_if_all_known(costs: Sequence[float | None]) -> float | None:
    """The sum of the costs; None if one of them is not known, or there was no call."""
    known_costs = [cost for cost in costs if cost is not None]
    if not costs or len(known_costs) < len(costs):
        return None
    return sum(known_costs)


class JudgeMetric(_Metric, BaseMetric):
    """Any judge as a metric. Each judge that comes with groundjudge also has a class of its own.

    DeepEval's cache ignores `tools_called` and `metadata`, so a verdict that depends on them is not reused.
    """

    def _fields(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401  an LLMTestCase
        fields = {
            "query": test_case.input,
            "response": test_case.actual_output,
            "context": _context(test_case),
            "reference": test_case.expected_output,
        }
        inputs = {prompt_input.field for prompt_input in self.judge.inputs}
        shows_metadata = bool(test_case.metadata) and bool(inputs - fields.keys())
        shows_tools = "context" in inputs and bool(_tool_results(test_case))
        # DeepEval's cache compares a metric's criteria, but not its prompt.
        self.criteria = self.judge.identity
        if shows_metadata or shows_tools:  # which that cache does not compare
            self.criteria = f"not cacheable: {uuid4()}"
        return fields


def _tool_results(turn: Any) -> list[Any]:  # noqa: ANN401  an LLMTestCase or a Turn
    """What its tools returned, as documents."""
    results: list[Any] = []
    for tool_call in turn.tools_called or ():  # None where the application calls no tools
        results.extend(tool_documents(tool_call.name, tool_call.output))
    return results


def _context(turn: Any) -> list[Any] | None:  # noqa: ANN401  an LLMTestCase or a Turn
    """What was retrieved for it, and what its tools returned; None if nothing was asked for."""
    tool_results = _tool_results(turn)
    # An empty list is a search that found nothing, which is a context; None is no search.
    if turn.retrieval_context is None and not tool_results:
        return None
    return list(turn.retrieval_context or ()) + tool_results


def _messages(turns: Iterable[Any]) -> list[Any]:
    """Turns as messages: the tools that a turn called, and what they returned, come before what it says."""
    messages: list[Any] = []
    for turn in turns:
        tool_calls = turn.tools_called or ()
        if tool_calls:
            calls = [{"name": call.name, "args": call.input_parameters} for call in tool_calls]
            messages.append({"role": turn.role, "content": "", "tool_calls": calls})
        for tool_call in tool_calls:
            if tool_call.output is not None:
                messages.append({"role": "tool", "name": tool_call.name, "content": tool_call.output})
        messages.append(turn)
    return messages


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

    part = "recall"


class PassagePrecisionMetric(PassageQualityMetric):
    """How little the returned passage contains that is not in the ideal one."""

    part = "precision"


class KnowledgeHallucinationMetric(JudgeMetric):
    """How well a character's response agrees with its profile, the conversation and real answers."""

    default_judge = "knowledge_hallucination"


class ConversationalKnowledgeHallucinationMetric(_Metric, BaseConversationalMetric):
    """How well the assistant's last turn agrees with its role, the turns before it, and real answers.

    `chatbot_role` is the profile; `metadata` can contain agent_name (default "assistant") and answers.
    """

    default_judge = "knowledge_hallucination"
    test_case_type = ConversationalTestCase
    places = (
        "In a ConversationalTestCase the profile is `chatbot_role`, the conversation and the response are "
        "`turns`, and other fields are in `metadata`"
    )

    def _fields(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401  a ConversationalTestCase
        metadata: dict[str, Any] = test_case.metadata or {}
        turns = test_case.turns
        last_answer: int | None = None
        for number, turn in enumerate(turns):
            if turn.role == "assistant":
                last_answer = number
        return {
            "profile": test_case.chatbot_role,
            "agent_name": metadata.get("agent_name", "assistant"),
            "conversation": _messages(turns[:last_answer]),
            "response": None if last_answer is None else turns[last_answer].content,
        }


class TurnGroundednessMetric(_Metric, BaseConversationalMetric):
    """How well each of the assistant's turns is supported by its own retrieval context and tools' results.

    The turns before it are the query. The lowest turn decides: its score is the metric's, each turn is a
    part, and the reason names the turns that fail. Turns without a `retrieval_context` or the output of a
    tool are not judged, and neither are those that lack something else that the judge needs, as an opening
    turn lacks the query: the reason counts and names them, and each is a part without a score, such as
    "turn 4 (not judged)". A conversation without other turns lacks a field. If a turn ends in another error,
    that is the error of the test case, which names the turn. There is one call for each turn that is judged.
    """

    default_judge = "groundedness"
    title = "Turn "
    test_case_type = ConversationalTestCase
    places = (
        "In a ConversationalTestCase the context is the `retrieval_context` of an assistant's turn, the "
        "query the turns before it, and other fields are in `metadata`"
    )

    def _fields(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002  each turn has its own
        return {}

    async def _verdict(self, test_case: Any, ask: Ask) -> Verdict:  # noqa: ANN401  a ConversationalTestCase
        case = self._case(test_case)
        turns = test_case.turns
        verdicts: dict[str, Verdict] = {}
        missing_fields: dict[str, str] = {}
        first_error: CaseError | None = None
        for number, turn in enumerate(turns):
            if turn.role != "assistant":
                continue
            name = f"turn {number + 1}"
            context = _context(turn)
            if context is None:
                missing_fields[name] = "retrieval_context"
                continue
            fields = {"query": _messages(turns[:number]), "response": turn.content, "context": context}
            try:
                verdicts[name] = await self._verdict_on_turn(name, {**case, **fields}, ask)
            except CaseError as error:
                if error.code != "missing_field":  # a response that cannot be judged is no gap in the data
                    raise
                missing_fields[name] = error.subject
                first_error = first_error or error
        if turns[-1].role == "user":  # a question that was never answered must be seen in the report
            missing_fields[f"turn {len(turns)}"] = "response"
        if not verdicts:
            message = "no turn of the assistant has a `retrieval_context` or the output of a tool"
            raise first_error or CaseError("missing_field", message, "retrieval_context")
        return _verdict_on_conversation(verdicts, missing_fields)

    async def _verdict_on_turn(self, name: str, case: Mapping[str, Any], ask: Ask) -> Verdict:
        """The verdict on a turn; an error names it."""
        try:
            return await self.judge.ajudge(case, run_untraced, ask)
        except GroundjudgeError as error:  # its class and code stay, which DeepEval and callers look at
            error.message = f"{name}: {error.message}"
            failure = Failure(code=error.code, message=error.message)
            error.verdict = self.judge.error_verdict(error).model_copy(update={"error": failure})
            raise


def _verdict_on_conversation(verdicts: Mapping[str, Verdict], missing_fields: Mapping[str, str]) -> Verdict:
    """The verdict of the turn that decides, with all turns as its parts, and what they took together.

    Args:
        verdicts: the verdicts by turn.
        missing_fields: what each turn lacks that could not be judged.
    """
    parts: list[Part] = []
    warnings: list[str] = []
    failed_turns: list[str] = []
    for name, verdict in verdicts.items():
        part = Part(
            name=name,
            value=verdict.value,
            score=deciding_score(verdict),
            label=verdict.label,
            reason=verdict.explanation,
        )
        parts.append(part)
        warnings.extend(verdict.warnings)
        if verdict.passed is False:
            failed_turns.append(name)
    for name, field in missing_fields.items():
        parts.append(Part(name=f"{name} (not judged)", value=None, score=None, label=f"no {field}"))

    if failed_turns:
        reason = f"Not passed: {', '.join(failed_turns)}."
    elif len(verdicts) == 1:
        reason = "The one judged turn passed."
    else:
        reason = f"All {len(verdicts)} judged turns passed."
    sentences = [reason, *_sentences_on_missing(missing_fields)]

    decisive = _lowest_turn(list(verdicts.values()))
    changes: dict[str, Any] = {
        "score": deciding_score(decisive),
        "weakest": None,  # the lowest turn's is in the score already
        "reason": " ".join(sentences),
        "parts": tuple(parts),
        "warnings": tuple(dict.fromkeys(warnings)),
        **sum_costs(list(verdicts.values())),
    }
    return decisive.model_copy(update=changes)


def _lowest_turn(verdicts: Sequence[Verdict]) -> Verdict:
    """The verdict that decides: of those with a score one that failed, then the lowest, then the first."""
    scored = [verdict for verdict in verdicts if verdict.score is not None]
    candidates = scored or verdicts
    return min(candidates, key=lambda verdict: (verdict.passed is not False, deciding_score(verdict) or 0.0))


def _sentences_on_missing(missing_fields: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each field that turns lack, with their number and names."""
    turns_by_field: dict[str, list[str]] = {}
    for name, field in missing_fields.items():
        turns_by_field.setdefault(field, []).append(name)
    for field, names in turns_by_field.items():
        turns_were = "turn without a {} was" if len(names) == 1 else "turns without a {} were"
        yield f"{len(names)} {turns_were.format(field)} not judged: {', '.join(names)}."


def passage_metrics(**options: Unpack[MetricOptions]) -> tuple[PassageRecallMetric, PassagePrecisionMetric]:
    """Metrics of a passage's recall and precision that share one call per case.

    The tokens of a call are counted by the metric that made it.

    Args:
        options: the arguments of both metrics, by name.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.as_judge`.
    """
    recall = PassageRecallMetric(**options)
    precision = PassagePrecisionMetric(**options)
    # Votes of a panel may have several models: each of them is shared with itself.
    recall_models: dict[int, Model] = {}
    precision_models: dict[int, Model] = {}
    for model in recall.judge.models:
        recall_models[id(model)], precision_models[id(model)] = share_calls(model)
    judge = recall.judge
    (recall.judge,) = with_models([judge], lambda model: recall_models[id(model)])
    (precision.judge,) = with_models([judge], lambda model: precision_models[id(model)])
    return recall, precision
