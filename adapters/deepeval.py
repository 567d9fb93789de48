"""DeepEval: judges as metrics, for `measure`, `evaluate`, `assert_test` and `deepeval test run`.

    GroundednessMetric(threshold=0.7, model="gpt-6-luna")
    JudgeMetric(judge="my_judge.prompty", model="gpt-6-luna")
    recall, precision = passage_metrics(model="gpt-6-luna")  # they share one call per case
    GroundednessMetric(eval_mode="system_one")  # a decision model: TypeSafe's, or system_one_model=

`input` is the query, `actual_output` the response, `expected_output` the reference; `retrieval_context` and
the outputs of `tools_called` are the context. `context`, DeepEval's ideal context, is not used: a response
is judged by what was actually retrieved. Fields that DeepEval does not have are read from `metadata`:
profile, agent_name, conversation, answers.

Test cases have fixed fields, so there are no `fields=` and no `ROOTS` here. DeepEval reads attributes: a
metric shows its verdict in them (`_show_result`), where other adapters return a result.
"""

# DeepEval's base classes leave `__init_subclass__` untyped:
# mypy: untyped-calls-exclude=deepeval
from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import EllipsisType
from typing import Any, ClassVar, Unpack, cast
from uuid import uuid4

from groundjudge.case.traces import tool_documents
from groundjudge.citations import SCORES as CITATION_SCORES
from groundjudge.decisions.modes import EvalMode, judge_by_mode
from groundjudge.errors import CaseError, GroundjudgeError, PromptError, requires
from groundjudge.judging.conversation import Ask, call, call_and_block, without_waiting
from groundjudge.judging.judge import BaseJudge
from groundjudge.judging.load import AskingOptions, JudgeLike, VoteOptions
from groundjudge.judging.panel import Panel
from groundjudge.judging.turns import judge_turns
from groundjudge.judging.twins import make_twins
from groundjudge.models.lookup import ModelLike
from groundjudge.models.redaction import RedactedError
from groundjudge.rubric.options import PromptOptions
from groundjudge.runs.call_costs import CallCosts
from groundjudge.runs.cost import Prices
from groundjudge.verdict import Verdict, passes, passes_anew, score_names

with requires("groundjudge.adapters.deepeval needs deepeval", "deepeval"):
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseConversationalMetric, BaseMetric
    from deepeval.metrics.utils import construct_verbose_logs
    from deepeval.test_case import ConversationalTestCase, LLMTestCase

__all__ = [
    "CitationMetric",
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
"""The fields of a case that DeepEval lacks."""


class OtherOptions(PromptOptions, AskingOptions, VoteOptions, total=False):
    """The options of a judge that are not arguments of DeepEval's metrics, as the threshold is."""


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


def passage_metrics(**options: Unpack[MetricOptions]) -> tuple[PassageRecallMetric, PassagePrecisionMetric]:
    """Make metrics of a passage's recall and precision that share one call per case.

    The tokens of a call are counted by the metric that made it.

    Args:
        options: the arguments of both metrics, by name.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.as_judge`.
    """
    recall = PassageRecallMetric(**options)
    precision = PassagePrecisionMetric(**options)
    recall.judge, precision.judge = make_twins(recall.judge)
    return recall, precision


def _context_of(turn: Any) -> list[Any] | None:  # noqa: ANN401  an LLMTestCase or a Turn
    """Return the documents retrieved for a case or a turn, then its tools' outputs; None for neither."""
    tool_results: list[Any] = []
    for tool_call in turn.tools_called or ():  # None where the application calls no tools
        tool_results.extend(tool_documents(tool_call.name, tool_call.output))
    # An empty list is a search that found nothing, which is a context; None means no search.
    if turn.retrieval_context is None and not tool_results:
        return None
    return list(turn.retrieval_context or ()) + tool_results


def _messages_of(turns: Iterable[Any]) -> list[Any]:
    """Return turns as messages; one that called a tool becomes its call, the tool's result and its text."""
    messages: list[Any] = []
    for turn in turns:
        tool_calls = turn.tools_called or ()  # None where the application calls no tools
        if tool_calls:
            calls: list[dict[str, Any]] = []
            for tool_call in tool_calls:
                calls.append({"name": tool_call.name, "args": tool_call.input_parameters})
            messages.append({"role": turn.role, "content": "", "tool_calls": calls})
        for tool_call in tool_calls:
            # DeepEval's tool metrics need names only, so that many test cases have no outputs.
            if tool_call.output is not None:
                messages.append({"role": "tool", "name": tool_call.name, "content": tool_call.output})
        messages.append({"role": turn.role, "content": turn.content})
    return messages


def _mode_of_environment() -> str:
    """Return the mode that `deepeval set-eval-mode` or its variable set: "llm", "hybrid" or "system_one"."""
    try:
        from deepeval.config.eval_mode import resolve_eval_mode  # noqa: PLC0415  older versions lack it
    except ImportError:
        return "llm"
    return str(resolve_eval_mode())


class _Metric:
    """What metrics of single turns and of conversations have in common.

    A verdict that is not applicable (the level `nothing_to_ground`) has a score of None, is a success, and
    its reason says so. A missing or blank response is an error of its row, unless `empty_response` says
    otherwise: one that it leaves out is neither a success nor a failure.

    Args:
        threshold: on the score, 0..1; by default (`...`) the judge's own. With None no test case passes
            or fails.
        model: a model's name, a DeepEvalBaseLLM, or anything else that `groundjudge.as_judge` accepts.
        include_reason: whether to set `reason`.
        async_mode: has no effect, as there is only one call; accepted because DeepEval's metrics have it.
        strict_mode: whether only the judge's best label passes, or a score of 1 if there are no labels.
            The score is not changed. A panel asks for all votes.
        verbose_mode: whether to print the verdict.
        flaky: whether DeepEval only reports a failure and lets the test case pass.
        judge: as for `groundjudge.as_judge`.
        name: the name in DeepEval's reports, by default the judge's; a metric of a part adds the part's. Give
            metrics of one judge (with another model, with repeats, a panel) different names: DeepEval merges
            the results of metrics with the same name.
        prices: what the model's tokens cost, for `evaluation_cost`; by default the model's own statement of
            the cost is used, if it returns one.
        eval_mode: who decides, as in DeepEval's own metrics: "llm", a text model; "system_one", a decision
            model; "hybrid", a cascade: the decision model's verdict is final with a score of at most 0.1 or
            at least 0.9, otherwise the text model is asked. By default what DEEPEVAL_EVAL_MODE says, unless
            there is a `model`, or a `judge` that has one. For other bounds pass a `groundjudge.cascade` as
            `judge`.
        system_one_model: the decision model for "system_one" and "hybrid": a name of TypeSafe's models, a
            DeepEvalBaseSystemOneModel, or anything else that `groundjudge.as_judge` accepts. By default
            TypeSafe's.
        options: as for `groundjudge.as_judge`.

    Attributes:
        score: the score, 0..1; None if the verdict has none.
        success: whether the test case passed; None if it wasn't judged or there is no threshold.
        reason: the explanation, or the message of the error.
        error: the message of the last error; None if there was none.
        verdict: the last verdict, with label, parts and evidence; also after an error.
        score_breakdown: the scores of the verdict's parts by their names, its further `scores`, and `weakest`
            where the lowest of the parts decides; None if there are none.
        confidence: how sure the judge is, 0..1, according to the verdict; None if unknown.
        verbose_logs: the verdict as JSON; after an error, followed by the model's raw last reply.
        input_tokens: the prompt tokens of the last verdict; None if unknown.
        output_tokens: the completion tokens of the last verdict; None if unknown.
        evaluation_cost: the cost of all calls for the last verdict; None if neither `prices` nor the model
            gives it, or if there was no call.

    Raises:
        PromptError, ModelError, TypeError: as for `groundjudge.as_judge`; `bad_eval_mode`: there is no such
            mode, or it does not fit the models that were passed.
    """

    default_judge: ClassVar[str] = ""
    part: ClassVar[str] = ""
    """The part of the verdict whose score the metric shows; by default the headline."""
    title: ClassVar[str] = ""
    """The prefix of the name in reports, which distinguishes it from the metric of single turns."""
    test_case_type: ClassVar[type[Any]] = LLMTestCase
    """The kind of test case."""
    places: ClassVar[str] = (
        "In an LLMTestCase the query is `input`, the response `actual_output`, the reference "
        "`expected_output`, the context `retrieval_context`, not `context`; other fields are in `metadata`"
    )
    """Where a test case has the fields, which judges' messages call by their own names."""
    success: bool | None

    # DeepEval copies a metric by calling its class with the attributes that are named like an argument. Each
    # argument therefore has an attribute with its name, whose value gives the same metric when passed again;
    # only the model is the judge's.
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
        first_argument: object = threshold
        if isinstance(first_argument, str | BaseJudge):
            fault = "the first argument is the threshold, as in DeepEval's metrics"
            message = f"{fault}: pass the judge by keyword, {type(self).__name__}(judge=...)"
            raise TypeError(message)
        judge_threshold = None if threshold is ... else threshold  # None: the judge's own
        if strict_mode:
            judge_threshold = 1
        if self.part in CITATION_SCORES:
            options.setdefault("citations", True)
        self.judge = judge_by_mode(
            judge or self.default_judge,
            model,
            eval_mode,
            system_one_model,
            setting=_mode_of_environment(),
            threshold=judge_threshold,
            **options,
        )
        if self.part and self.part not in self.judge.part_names:
            message = (
                f"verdicts of the judge {self.judge.name} have no part {self.part!r}, which a "
                f"{type(self).__name__} shows: pass that judge to JudgeMetric, or leave out `judge`"
            )
            raise PromptError("no_part", message, self.judge.name)
        if strict_mode and isinstance(self.judge, Panel):
            # It stops once the votes agree on a threshold, which does not decide here.
            self.judge = replace(self.judge, stop="never")
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
        self._show_result(None, CallCosts(prices))

    # DeepEval passes its own switches, such as `_show_indicator` and `_in_component`.
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
        return without_waiting(self._measure(test_case, call_and_block, switches))

    async def a_measure(self, test_case: Any, *_: object, **switches: object) -> Any:  # noqa: ANN401
        """Judge a test case without blocking the event loop; see `measure`."""
        return await self._measure(test_case, call, switches)

    def is_successful(self) -> bool | None:
        """Whether the test case passed: by its score, or as not applicable. None without a threshold."""
        # DeepEval's users set `threshold` after a measurement too: the score is compared again.
        if self.threshold is None or self.verdict is None:
            self.success = None
        elif self.error is not None:
            self.success = False
        elif self.part and self.score is not None:
            self.success = passes(self.score, self.threshold)
        elif self.strict_mode:
            self.success = self.verdict.passed
        else:
            self.success = passes_anew(self.verdict, self.threshold)
        return self.success

    @property
    def __name__(self) -> Any:  # noqa: ANN401  DeepEval's own is a Literal
        """The name of the metric in DeepEval's reports."""
        name = score_names(self.name or self.judge.name, self.judge.part_names)[self.part]
        if self.name:  # the user's own spelling stays
            return name
        return self.title + name.replace("_", " ").title()

    async def _measure(self, test_case: Any, ask: Ask, switches: Iterable[str]) -> float | None:  # noqa: ANN401
        """Judge a test case and show the verdict; an error is kept with its verdict, and raised."""
        for name in switches:
            if not name.startswith("_"):  # as all of DeepEval's do
                message = f"measure accepts only a test case: pass {name!r} when you create the metric"
                raise TypeError(message)
        # DeepEval's `evals_iterator` measures several spans at once with one metric, and would mix up its
        # attributes.
        if self.is_measuring:
            fault = "it is measuring another test case: use one metric per task"
            raise GroundjudgeError("metric_in_use", fault)
        self.is_measuring = True
        costs = CallCosts(self.prices)
        # DeepEval's sync mode measures one test case after another with one metric: if this one ends in an
        # error, nothing of the previous one may be shown.
        self._show_result(None, costs)
        try:
            verdict = await self._verdict_on(test_case, costs.count(ask))
        except Exception as error:
            failed = self.judge.error_verdict(error)
            self._show_result(failed, costs)
            if isinstance(error, CaseError) and error.code == "missing_field":
                # The error that `ErrorConfig(skip_on_missing_params=True)` skips.
                message = f"{error}. {self.places}"
                raise MissingTestCaseParamsError(message) from error
            if isinstance(error, TypeError):
                # DeepEval mistakes it for a metric that knows no switches, and calls `measure` again.
                message = str(failed.error and failed.error.message)
                raise GroundjudgeError("unexpected", message) from RedactedError(error)
            raise
        finally:
            self.is_measuring = False
        self._show_result(verdict, costs)
        return self.score

    async def _verdict_on(self, test_case: Any, ask: Ask) -> Verdict:  # noqa: ANN401
        return await self._judge_case(ask, self._case_of(test_case))

    async def _judge_case(self, ask: Ask, case: Mapping[str, Any]) -> Verdict:
        """Judge a case; whether it passes depends on `strict_mode`."""
        verdict = await self.judge.ajudge(case, ask=ask)
        if self.strict_mode:
            return verdict.model_copy(update={"passed": self.judge.passes_strictly(verdict)})
        return verdict

    def _case_of(self, test_case: Any) -> dict[str, Any]:  # noqa: ANN401
        """Return the test case as a case, a mapping.

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
        in_metadata = {name: metadata[name] for name in IN_METADATA if name in metadata}
        # If a field is in both places, that of the test case counts.
        return {**in_metadata, **self._fields_of(test_case), "id": test_case.name, "metadata": metadata}

    def _fields_of(self, test_case: Any) -> Mapping[str, Any]:  # noqa: ANN401, ARG002
        """Return the fields of the case that are not in the metadata; by default none."""
        return {}

    def _show_result(self, new_verdict: Verdict | None, costs: CallCosts) -> None:
        """Set the attributes to what a verdict says; None: there is none yet."""
        self.verdict = new_verdict
        verdict = new_verdict or self.judge.empty_verdict()
        scores = {score.part: score for score in self.judge.scores(verdict)}
        score = scores[self.part]  # "" is the headline
        self.score = score.score
        breakdown = {part.name: part.score for part in verdict.parts}
        breakdown.update(verdict.scores)
        if verdict.weakest is not None:
            breakdown["weakest"] = verdict.weakest
        self.score_breakdown: Any = breakdown or None
        # The explanation of an error is its code and its message.
        self.error = score.explanation if verdict.error else None
        self.reason: str | None = None
        if new_verdict and self.include_reason:
            self.reason = score.explanation
        elif new_verdict and verdict.status != "ok":
            # Without the judge's words, but an error and "not applicable" must be seen in any report.
            self.reason = verdict.model_copy(update={"reason": ""}).explanation
        self.input_tokens = verdict.usage.prompt_tokens if verdict.usage else None
        self.output_tokens = verdict.usage.completion_tokens if verdict.usage else None
        self.evaluation_cost = costs.total
        self.confidence = verdict.confidence
        self.is_successful()  # it sets `success`
        self.verbose_logs: str | None = None
        if new_verdict:
            lines = [new_verdict.model_dump_json(indent=2, exclude_defaults=True)]
            if self.error and new_verdict.reply:
                lines.append(f"Reply:\n{new_verdict.reply}")
            lines.append(self.error or f"Score: {self.score}")  # DeepEval only prints the last line
            self.verbose_logs = construct_verbose_logs(cast("BaseMetric", self), lines)


class JudgeMetric(_Metric, BaseMetric):
    """Any judge as a metric. Each judge that comes with groundjudge also has its own class.

    DeepEval's cache ignores `tools_called` and `metadata`, so a verdict that depends on them is not reused.
    """

    def _fields_of(self, test_case: Any) -> Mapping[str, Any]:  # noqa: ANN401  an LLMTestCase
        fields = {
            "query": test_case.input,
            "response": test_case.actual_output,
            "context": _context_of(test_case),
            "reference": test_case.expected_output,
        }
        # DeepEval's cache compares the criteria: if they are equal, a result of the test case is reused.
        self.criteria = self.judge.identity
        inputs = {prompt_input.field for prompt_input in self.judge.inputs}
        shows_metadata = bool(test_case.metadata) and bool(inputs - fields.keys())
        shows_tools = "context" in inputs and fields["context"] != test_case.retrieval_context
        # The cache ignores both, and would reuse the verdict for other data: nothing equals a new UUID.
        if shows_metadata or shows_tools:
            self.criteria = f"not cacheable: {uuid4()}"
        return fields


class GroundednessMetric(JudgeMetric):
    """How well the response is supported by the retrieval context, and how complete it is."""

    default_judge = "groundedness"


class ConfidenceGroundingMetric(JudgeMetric):
    """How well a support agent's response can be derived from documents and tool results."""

    default_judge = "confidence_grounding"


class StatementGroundednessMetric(JudgeMetric):
    """How much of each sentence of the response the retrieval context supports, with quoted evidence."""

    default_judge = "statement_groundedness"


class CitationMetric(StatementGroundednessMetric):
    """How many of the sentences that claim something cite a document that supports them.

    The reason names each wrong citation and the document that would be right; `score_breakdown` has
    `citation_precision`, the share of the citations that are right, and `utilization`.
    """

    part = "citation_recall"


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

    def _fields_of(self, test_case: Any) -> Mapping[str, Any]:  # noqa: ANN401  a ConversationalTestCase
        metadata: dict[str, Any] = test_case.metadata or {}
        turns = test_case.turns
        last_answer: int | None = None
        for number, turn in enumerate(turns):
            if turn.role == "assistant":
                last_answer = number
        return {
            "profile": test_case.chatbot_role,
            "agent_name": metadata.get("agent_name", "assistant"),
            "conversation": _messages_of(turns[:last_answer]),  # without an answer all turns
            "response": None if last_answer is None else turns[last_answer].content,
        }


class TurnGroundednessMetric(_Metric, BaseConversationalMetric):
    """How well each of the assistant's turns is supported by its own retrieval context and tools' results.

    The turns before it are the query. The lowest turn decides: its score is the metric's, each turn is a
    part, and the reason names the turns that fail. Turns without a `retrieval_context` or the output of a
    tool are not judged. The same is true of turns that lack something else the judge needs, such as the query
    of an opening turn. The reason counts and names them, and each is a part without a score, such as "turn 4
    (not judged)". A conversation without other turns lacks a field. If a turn ends in another error, that is
    the error of the test case, which names the turn. There is one call for each judged turn.
    """

    default_judge = "groundedness"
    title = "Turn "
    test_case_type = ConversationalTestCase
    places = (
        "In a ConversationalTestCase the context is the `retrieval_context` of an assistant's turn, and what "
        "its tools returned; the query the turns before it, and other fields are in `metadata`"
    )

    async def _verdict_on(self, test_case: Any, ask: Ask) -> Verdict:  # noqa: ANN401  a ConversationalTestCase
        """Judge each of the assistant's turns, and give the verdict of the lowest one."""
        shared_fields = self._case_of(test_case)
        cases: dict[str, Mapping[str, Any] | str] = {}
        for number, turn in enumerate(test_case.turns):
            name = f"turn {number + 1}"
            context = _context_of(turn)
            # A text in place of a case names the field that the turn lacks.
            if turn.role == "assistant" and context is None:
                cases[name] = "retrieval_context"
            elif turn.role == "assistant":
                fields = {"query": _messages_of(test_case.turns[:number]), "response": turn.content}
                cases[name] = {**shared_fields, **fields, "context": context}
            elif number == len(test_case.turns) - 1:
                cases[name] = "response"  # a question that was never answered must be seen in the report
        return await judge_turns(self.judge, cases, partial(self._judge_case, ask))
