"""DeepEval: judges as metrics, for `measure`, `evaluate`, `assert_test` and `deepeval test run`.

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

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Any, ClassVar, Unpack, cast
from uuid import uuid4

from groundjudge.case.traces import tool_documents
from groundjudge.errors import CaseError, GroundjudgeError, requires
from groundjudge.judging.conversation import Ask, call, call_and_block, run_untraced, without_waiting
from groundjudge.judging.load import JudgeLike, as_judge
from groundjudge.judging.panel import Rule, Stop, with_models
from groundjudge.models.cached import share_calls
from groundjudge.models.lookup import ModelLike
from groundjudge.models.redaction import RedactedError
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
    include_reason: bool
    async_mode: bool
    strict_mode: bool
    verbose_mode: bool
    flaky: bool


class _Metric:
    """What metrics of single turns and of conversations have in common.

    A verdict that is not applicable (the level `nothing_to_ground`) has a score of None, is a success, and
    its reason says so. A missing or blank response is an error of its row, unless
    `empty_response` says otherwise.

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
        options: as for `groundjudge.as_judge`.

    Attributes:
        score: the score, 0..1; None if the verdict has none.
        success: whether the test case passed; None if it was not judged or there is no threshold.
        reason: the explanation, or the message of the error.
        error: the message of the last error; None if there was none.
        verdict: the last verdict, with label, parts and evidence; also after an error.
        score_breakdown: the scores of the verdict's parts by their names, and `weakest` where the lowest
            of them decides; None if there are no parts.
        verbose_logs: the verdict as JSON; after an error followed by the model's last reply as it was.
        input_tokens: the prompt tokens of the last verdict; None if unknown.
        output_tokens: the completion tokens of the last verdict; None if unknown.
        evaluation_cost: the cost of all calls for the last verdict; None if neither `prices` nor the model
            tells it, or if there was no call.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.as_judge`.
    """

    default_judge: ClassVar[str] = ""
    part: ClassVar[str] = ""
    """The part of the verdict whose score the metric shows; by default the headline."""
    title: ClassVar[str] = ""
    """What the name in reports begins with, so that it differs from that of the metric of single turns."""
    judged: ClassVar[type[Any]] = LLMTestCase
    """The kind of test case."""

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
        **options: Unpack[OtherOptions],
    ) -> None:
        new_threshold = 1 if strict_mode else None if threshold is ... else threshold
        self.judge = as_judge(judge or self.default_judge, model, threshold=new_threshold, **options)
        self.threshold = self.judge.threshold if strict_mode or threshold is not None else None
        self.include_reason = include_reason
        self.async_mode = async_mode
        self.strict_mode = strict_mode
        self.verbose_mode = verbose_mode
        self.flaky = flaky
        self.prices = prices
        self.name = name
        self.is_measuring = False
        self.evaluation_model: str | None = self.judge.model_name
        self.criteria = self.judge.identity
        self._show(None)

    def measure(self, test_case: Any, *_: object, **__: object) -> Any:  # noqa: ANN401  DeepEval does not expect None
        """Judge a test case.

        Returns:
            The score, 0..1, or None if the verdict is not applicable.

        Raises:
            MissingTestCaseParamsError: the test case lacks a field that the judge needs.
            ValueError: it is not of the metric's kind, an LLMTestCase or a ConversationalTestCase.
            GroundjudgeError: as for `Judge.judge`; `metric_in_use`: this metric is measuring
                another test case at the moment, and DeepEval would mix up the results.
        """
        return without_waiting(self._measured(test_case, call_and_block))

    async def a_measure(self, test_case: Any, *_: object, **__: object) -> Any:  # noqa: ANN401
        """Judge a test case without blocking the event loop; see `measure`."""
        return await self._measured(test_case, call)

    def is_successful(self) -> bool | None:
        """Whether the test case passed: by its score, or as not applicable. None without a threshold."""
        if self.threshold is None:
            self.success = None
        elif self.error is not None:
            self.success = False
        elif self.score is None or (self.verdict and self.verdict.votes and not self.part):
            # Of a panel the majority decides, whatever the mean score is.
            self.success = self.verdict.passed if self.verdict else None
        else:
            deciding = deciding_score(self.verdict) if self.verdict and not self.part else self.score
            self.success = passes(deciding or 0.0, self.threshold)
        return self.success

    @property
    def __name__(self) -> Any:  # noqa: ANN401  DeepEval's own is a Literal
        """The name of the metric in DeepEval's reports."""
        shown = score_names(self.name or self.judge.name, self.judge.part_names)[self.part]
        return shown if self.name else self.title + shown.replace("_", " ").title()

    def _fields(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401
        """The fields of the case that are not in the metadata."""
        raise NotImplementedError

    async def _measured(self, test_case: Any, ask: Ask) -> float | None:  # noqa: ANN401
        """Judge a test case and show the verdict; an error is kept with its verdict, and raised."""
        costs: list[float | None] = []

        async def priced(model: Model, request: Request) -> Reply:
            reply = await ask(model, request)
            known = self.prices.of(reply.usage) if self.prices and reply.usage else reply.cost
            costs.append(0.0 if reply.cached else known)
            return reply

        if self.is_measuring:
            raise GroundjudgeError("metric_in_use", "it measures another test case: use one metric per task")
        self.is_measuring = True
        self._show(None)
        try:
            verdict = await self._verdict(test_case, priced)
        except Exception as error:
            failed = self.judge.error_verdict(error)
            self._show(failed, costs)
            if isinstance(error, CaseError) and error.code == "missing_field":
                raise MissingTestCaseParamsError(str(error)) from error
            if isinstance(error, TypeError):  # DeepEval would call `measure` again with other arguments
                raise GroundjudgeError(
                    "unexpected", str(failed.error and failed.error.message)
                ) from RedactedError(error)
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
        if not isinstance(test_case, self.judged):
            kind, needed = type(test_case).__name__, self.judged.__name__
            message = f"the test case is of type {kind!r}, not {needed!r}, which {self.__name__} judges"
            raise ValueError(message)  # noqa: TRY004  the type of DeepEval's own error
        if test_case.multimodal:
            message = "the test case contains images, and judges read text only: remove the images"
            raise CaseError("field_unreadable", message, "multimodal")
        metadata: dict[str, Any] = test_case.metadata or {}
        held = {name: metadata[name] for name in IN_METADATA if name in metadata}
        return {**held, **self._fields(test_case), "id": test_case.name, "metadata": metadata}

    def _show(self, verdict: Verdict | None, costs: Sequence[float | None] = ()) -> None:
        """Set the attributes to what a verdict says; None: there is none yet."""
        told = verdict or self.judge.empty_verdict()
        shown = next(score for score in self.judge.scores(told) if score.part == self.part)
        self.verdict, self.score = verdict, shown.score
        weakest = {} if told.weakest is None else {"weakest": told.weakest}
        self.score_breakdown: Any = {part.name: part.score for part in told.parts} | weakest or None
        self.error = shown.explanation if told.error else None
        brief = None if told.status == "ok" else told.model_copy(update={"reason": ""}).explanation
        self.reason = shown.explanation if verdict and self.include_reason else brief
        self.input_tokens = told.usage.prompt_tokens if told.usage else None
        self.output_tokens = told.usage.completion_tokens if told.usage else None
        known = [cost for cost in costs if cost is not None]
        self.evaluation_cost = sum(known) if known and len(known) == len(costs) else None
        self.is_successful()
        self.verbose_logs = self._logs(verdict) if verdict else None

    def _logs(self, verdict: Verdict) -> str:
        """The verdict and, of an error, the reply. DeepEval only prints the last line."""
        reply = [f"Reply:\n{verdict.reply}"] if self.error and verdict.reply else []
        whole = verdict.model_dump_json(indent=2, exclude_defaults=True)
        lines = [whole, *reply, self.error or f"Score: {self.score}"]
        return construct_verbose_logs(cast("BaseMetric", self), lines)


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
        inputs = {each.field for each in self.judge.inputs}
        from_metadata = test_case.metadata and inputs - fields.keys()
        is_cacheable = not from_metadata and not (_from_tools(test_case) and "context" in inputs)
        # DeepEval's cache compares a metric's criteria, but not its prompt.
        self.criteria = self.judge.identity if is_cacheable else f"not cacheable: {uuid4()}"
        return fields


def _from_tools(held: Any) -> list[Any]:  # noqa: ANN401  an LLMTestCase or a Turn
    """What its tools returned, as documents."""
    return [result for each in held.tools_called or () for result in tool_documents(each.name, each.output)]


def _context(held: Any) -> list[Any] | None:  # noqa: ANN401  an LLMTestCase or a Turn
    """What was retrieved for it, and what its tools returned; None if nothing was asked for."""
    tools = _from_tools(held)
    return None if held.retrieval_context is None and not tools else [*(held.retrieval_context or ()), *tools]


def _messages(turns: Iterable[Any]) -> list[Any]:
    """Turns as messages: the tools that a turn called, and what they returned, come before what it says."""
    said: list[Any] = []
    for turn in turns:
        called = turn.tools_called or ()
        calls = [{"name": each.name, "args": each.input_parameters} for each in called]
        said += [{"role": turn.role, "content": "", "tool_calls": calls}] if calls else []
        outputs = [(each.name, each.output) for each in called if each.output is not None]
        said += [{"role": "tool", "name": name, "content": output} for name, output in outputs]
        said.append(turn)
    return said


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
    judged = ConversationalTestCase

    def _fields(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401  a ConversationalTestCase
        metadata: dict[str, Any] = test_case.metadata or {}
        last = max((n for n, turn in enumerate(test_case.turns) if turn.role == "assistant"), default=None)
        return {
            "profile": test_case.chatbot_role,
            "agent_name": metadata.get("agent_name", "assistant"),
            "conversation": _messages(test_case.turns[:last]),
            "response": None if last is None else test_case.turns[last].content,
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
    judged = ConversationalTestCase

    def _fields(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401, ARG002  each turn has its own
        return {}

    async def _verdict(self, test_case: Any, ask: Ask) -> Verdict:  # noqa: ANN401  a ConversationalTestCase
        case, turns = self._case(test_case), test_case.turns
        found, lacking, fault = dict[str, Verdict](), dict[str, str](), None
        for number, turn in enumerate(turns):
            name, context = f"turn {number + 1}", _context(turn)
            if turn.role == "assistant" and context is None:
                lacking[name] = "retrieval_context"
            elif turn.role == "assistant":
                query = _messages(turns[:number])
                fields = {"query": query, "response": turn.content, "context": context}
                try:
                    found[name] = await self._of_turn(name, {**case, **fields}, ask)
                except CaseError as error:
                    if error.code != "missing_field":
                        raise
                    lacking[name], fault = error.subject, fault or error
        if turns[-1].role == "user":
            lacking[f"turn {len(turns)}"] = "response"
        if not found:
            message = "no turn of the assistant has a `retrieval_context` or the output of a tool"
            raise fault or CaseError("missing_field", message, "retrieval_context")
        return _of_turns(found, lacking)

    async def _of_turn(self, name: str, case: Mapping[str, Any], ask: Ask) -> Verdict:
        """The verdict on a turn; an error names it."""
        try:
            return await self.judge.ajudge(case, run_untraced, ask)
        except GroundjudgeError as error:
            error.message = f"{name}: {error.message}"
            named = {"error": Failure(code=error.code, message=error.message)}
            error.verdict = self.judge.error_verdict(error).model_copy(update=named)
            raise


def _of_turns(found: Mapping[str, Verdict], lacking: Mapping[str, str]) -> Verdict:
    """The verdict of the turn that decides, with all turns as its parts, and what they took together.

    Args:
        found: the verdicts by turn.
        lacking: what each turn lacks that could not be judged.
    """
    scored = [each for each in found.values() if each.score is not None] or [*found.values()]
    decisive = min(scored, key=lambda each: (each.passed is not False, deciding_score(each) or 0.0))
    failed = ", ".join(name for name, each in found.items() if each.passed is False)
    parts = (
        Part(name=name, value=one.value, score=deciding_score(one), label=one.label, reason=one.explanation)
        for name, one in found.items()
    )
    not_judged = (
        Part(name=f"{name} (not judged)", value=None, score=None, label=f"no {field}")
        for name, field in lacking.items()
    )
    passed = "The one judged turn passed." if len(found) == 1 else f"All {len(found)} judged turns passed."
    told: dict[str, Any] = {
        "score": deciding_score(decisive),
        "weakest": None,
        "reason": " ".join([f"Not passed: {failed}." if failed else passed, *_left_out(lacking)]),
        "parts": (*parts, *not_judged),
        "warnings": tuple(dict.fromkeys(code for each in found.values() for code in each.warnings)),
        **sum_costs([*found.values()]),
    }
    return decisive.model_copy(update=told)


def _left_out(lacking: Mapping[str, str]) -> Iterator[str]:
    """A sentence for each field that turns lack, with their number and names."""
    for field in dict.fromkeys(lacking.values()):
        names = [name for name, absent in lacking.items() if absent == field]
        turns, were = ("turn", "was") if len(names) == 1 else ("turns", "were")
        yield f"{len(names)} {turns} without a {field} {were} not judged: {', '.join(names)}."


def passage_metrics(**options: Unpack[MetricOptions]) -> tuple[PassageRecallMetric, PassagePrecisionMetric]:
    """Metrics of a passage's recall and precision that share one call per case.

    The tokens of a call are counted by the metric that made it.

    Args:
        options: the arguments of both metrics, by name.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.as_judge`.
    """
    recall, precision = PassageRecallMetric(**options), PassagePrecisionMetric(**options)
    pairs = {id(model): share_calls(model) for model in recall.judge.models}
    (precision.judge,) = with_models([recall.judge], lambda model: pairs[id(model)][1])
    (recall.judge,) = with_models([recall.judge], lambda model: pairs[id(model)][0])
    return recall, precision
