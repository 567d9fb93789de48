"""LangSmith: a judge as an evaluator of runs, as a summary evaluator, and as feedback from a pytest test.

    evaluate(
        target,
        data="my dataset",
        evaluators=[evaluator("groundedness", model="openai:gpt-6-luna")],
        summary_evaluators=[summary("groundedness")],
    )

Both also work with `aevaluate` and `evaluate_existing`; the latter needs `load_nested=True` if the context
is what retriever and tool child runs returned.
"""

# LangSmith annotates much of its data as a bare dict, which strict checking reports as unknown:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias, Unpack, cast, get_args
from uuid import UUID

from groundjudge.case.case import CaseLike, Document
from groundjudge.case.fields import Fields, FieldsLike, Retrieved
from groundjudge.case.traces import traced_documents
from groundjudge.errors import ENDS_RUN, CaseError, GroundjudgeError, ModelError, requires
from groundjudge.judging.conversation import Ask, Step, call, call_and_block, without_waiting
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge, model_to_come
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.failure import model_error
from groundjudge.models.lookup import ModelLike, call_metadata
from groundjudge.models.redaction import RedactedError
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.runs.summary import summarise
from groundjudge.scale import Scale
from groundjudge.verdict import Failure, NamedScore, Verdict, score_names

with requires("groundjudge.adapters.langsmith needs LangSmith", "langsmith"):
    from langsmith import get_current_run_tree, trace
    from langsmith.evaluation import EvaluationResult, EvaluationResults
    from langsmith.evaluation.evaluator import DynamicRunEvaluator, FeedbackConfig
    from langsmith.run_helpers import get_tracing_context
    from langsmith.run_trees import RunTree
    from langsmith.schemas import Example, Run
    from langsmith.utils import tracing_is_enabled

__all__ = ["documents", "evaluator", "log_verdict", "summary"]

Metric: TypeAlias = Literal["mean", "lower_bound", "upper_bound", "coverage", "pass_rate"]

log = logging.getLogger("langsmith.groundjudge")
"""Shown without any configuration, as LangSmith's own log is; the library's logger is silent."""

ROOTS = ("inputs", "outputs", "reference_outputs", "run", "example")
"""What a path to a field can begin with."""

STORED = "groundjudge"
"""The key in `run.extra` under which each feedback key has its evaluator, and that one's verdict."""

Stored: TypeAlias = dict[str, tuple[object, Verdict | None]]

METRICS: tuple[Metric, ...] = get_args(Metric)

DUPLICATE = "duplicate_key"
"""The error code of an evaluator whose feedback key another evaluator of the experiment has."""

NO_CHILD_RUNS = "; no retriever or tool child runs (evaluate_existing needs load_nested=True for them)"

ONE_KEY = "two evaluators have the feedback key {0!r}: give one another, as in evaluator(..., key='{0}_2')"

SUMMARY_PLACE = "summary({0!r}) adds up the verdicts of all runs: it belongs in summary_evaluators="

UNCERTAINTY = {
    *("votes", "spread", "agreement", "decided_after", "decided_by"),
    *("expected", "distribution", "confidence"),
}
"""The fields of a verdict that show how certain it is."""


def evaluator(
    judge: JudgeLike,
    *,
    model: ModelLike | None = None,
    key: str | None = None,
    fields: FieldsLike = None,
    **options: Unpack[PanelOptions],
) -> DynamicRunEvaluator:
    """Make a judge an evaluator for `evaluate`, `aevaluate` and `evaluate_existing`.

    The fields of the case are read from inputs, outputs and reference outputs under their usual names.
    A context is read from the outputs, else from retriever and tool child runs (see `documents`), else
    from the inputs or reference outputs. A run that failed without outputs has no response.

    The trace shows each call of the model as an llm run with its messages and tokens. A call that already
    shows itself as one (of a LangChain model, of a client in `wrap_openai`) is not shown twice. Each vote of
    a panel is a run of its own with its calls inside. Labels are categorical feedback.

    Args:
        judge: as for `groundjudge.as_judge`.
        model: as for `groundjudge.as_judge`.
        key: the feedback key, by default the judge's name. Evaluators of one experiment need different keys.
        fields: where to find fields with other names, as for `Fields.of`. A path begins with inputs, outputs,
            reference_outputs, run or example; a function is called with (run, example).
        options: as for `groundjudge.as_judge`.

    Returns:
        An evaluator with one feedback key; a judge with several scores has one more key for each
        (passage_quality, passage_recall, passage_precision; with key="mine": mine, mine_recall,
        mine_precision). It stores its verdict in `run.extra`, in memory only, for `summary`.

    Raises:
        GroundjudgeError, TypeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
    """
    loaded = as_judge(judge, model, **options)
    return JudgeEvaluator(loaded, key or loaded.name, loaded.cases(fields, ROOTS, _case_of_run))


def summary(
    judge: JudgeLike, *, metrics: Sequence[Metric] = METRICS
) -> Callable[[Sequence[Run], Sequence[Example]], EvaluationResults]:
    """Make a summary evaluator of the verdicts that the judge's `evaluator` gave in the same experiment.

    No case is judged again. The feedback keys are the evaluator's key followed by:

    - `_mean`: the mean score, 0..1.
    - `_lower_bound`, `_upper_bound`: the mean if every error counted as 0, or as 1.
    - `_coverage`: of the rows that should have a score, the share that has one, 0..1.
    - `_pass_rate`: the share of the scored rows that passed, 0..1.

    The comment has the counts of the rows.

    Args:
        judge: the judge, as for `evaluator`, or the evaluator's key if it has another one.
        metrics: the figures to send: "mean", "lower_bound", "upper_bound", "coverage", "pass_rate".

    Returns:
        A summary evaluator. It raises ValueError if the experiment has no verdicts under that key, and
        TypeError if it stands among the evaluators.

    Raises:
        ValueError: `metrics` has a name that there is not.
        PromptError: the path is not that of a prompt file.
    """
    if isinstance(judge, str) and not Path(judge).is_file():
        key = judge
    else:
        # No model is asked, and any judge may be named.
        key = as_judge(judge, model_to_come).name
    if isinstance(metrics, str):  # otherwise its letters would be the metrics
        metrics = (cast("Metric", metrics),)
    for metric in metrics:
        if metric not in METRICS:
            message = f"unknown metric {metric!r}: metrics= is a list of some of {', '.join(METRICS)}"
            raise ValueError(message)

    def summarise_runs(
        runs: Sequence[Run] | Run,
        examples: Sequence[Example],  # noqa: ARG001
    ) -> EvaluationResults:
        if not isinstance(runs, Sequence):  # LangSmith gives an evaluator one run
            raise TypeError(SUMMARY_PLACE.format(key))
        verdicts = _verdicts_under(key, runs)
        (total,) = summarise(verdicts)
        lower_bound, upper_bound = total.bounds or (None, None)
        figures: dict[Metric, float | None] = {
            "mean": total.mean,
            "lower_bound": lower_bound,
            "upper_bound": upper_bound,
            "coverage": total.coverage,
            "pass_rate": total.pass_rate,
        }
        signatures = {verdict.signature for verdict in verdicts}
        results: list[EvaluationResult] = []
        for metric in metrics:
            result = EvaluationResult(
                key=f"{key}_{metric}",
                score=figures[metric],
                comment=total.counts,
                evaluator_info={"signatures": sorted(signatures)},
            )
            results.append(result)
        return {"results": results}

    summarise_runs.__name__ = f"{key}_summary"
    return summarise_runs


def _verdicts_under(key: str, runs: Sequence[Run]) -> list[Verdict]:
    """The verdicts that the evaluator with this key has stored in the runs.

    Raises:
        ValueError: there are none; the message has the keys under which there are some.
    """
    verdicts: list[Verdict] = []
    other_keys: list[str] = []
    for run in runs:
        # There is no verdict under the further keys of a judge with several scores.
        for stored_key, (_, verdict) in _stored_in(run).items():
            if verdict and stored_key == key:
                verdicts.append(verdict)
            elif verdict and stored_key not in other_keys:
                other_keys.append(stored_key)
    if verdicts:
        return verdicts
    message = f"no verdicts under the key {key!r}: evaluator({key!r}, ...) must be among the evaluators"
    if other_keys:
        message += f"; there are those of {', '.join(other_keys)}"
    raise ValueError(message)


def log_verdict(verdict: Verdict, judge: AnyJudge) -> None:
    """Log the judge's verdict as feedback on the current test of LangSmith's pytest plugin.

    There is one piece of feedback per score; none is sent if `LANGSMITH_TEST_TRACKING` is false.

    Args:
        verdict: the verdict to log. An error that `Judge.judge` raises has one in its attribute `verdict`.
        judge: the judge that gave it.

    Raises:
        ValueError: another judge gave it: it does not have this one's scores.
    """
    from langsmith import testing  # noqa: PLC0415  it imports pytest, which only tests need

    for result in _feedback_of(verdict, judge, judge.name):
        feedback: dict[str, Any] = result.model_dump(include={"key", "score", "value", "comment", "extra"})
        if result.score is None and result.value is None:
            feedback["value"] = verdict.status  # the plugin's table breaks on feedback with neither
        testing.log_feedback(**feedback, source_info=result.evaluator_info, error=verdict.status == "error")


def documents(run: Run) -> tuple[Document, ...] | None:
    """The documents that the run's retrievers and tools returned; see `traced_documents`."""

    def child_runs(run: Run) -> Sequence[Run]:
        return run.child_runs or ()

    def source(run: Run) -> tuple[str, str, object]:
        return run.run_type, run.name, run.outputs or {}

    return traced_documents(child_runs(run), child_runs, source)


@dataclass
class Progress:
    """What an evaluator has met so far in an experiment.

    Attributes:
        experiment: what LangSmith calls the experiment; None outside of one.
        run_ids: the runs that were judged. One that comes again begins anew: it is judged twice.
        endings: by the id of a model, the error with which each of its calls would end.
        has_verdict: whether a row has a verdict that is no error.
        logged_codes: the codes of the errors that were logged.
    """

    experiment: object = None
    run_ids: set[UUID] = field(default_factory=set[UUID])
    endings: dict[int, ModelError] = field(default_factory=dict[int, ModelError])
    has_verdict: bool = False
    logged_codes: set[str] = field(default_factory=set[str])

    def limited(self, ask: Ask) -> Ask:
        """Return what asks models like `ask` about one row, but none that ended an earlier one."""
        endings = dict(self.endings)

        async def ask_or_raise(model: Model, request: Request) -> Reply:
            ending = endings.get(id(model))
            if ending is not None:
                message = f"not asked after this error: {ending.message}"
                raise model_error(ending.code, message, ending.subject)
            try:
                return await ask(model, request)
            except ModelError as error:
                if error.code in ENDS_RUN:
                    self.endings[id(model)] = error
                raise

        return ask_or_raise


# LangSmith reads from the source code of a function under which key an error of it is recorded: of a closure
# that is the wrong name. Feedback of a RunEvaluator names a run that LangSmith never stores. Only this class
# of LangSmith's does both right.
class JudgeEvaluator(DynamicRunEvaluator):
    """LangSmith's evaluator with a sync and an async function, and with known feedback keys."""

    def __init__(self, judge: AnyJudge, key: str, case_of: Callable[..., CaseLike]) -> None:
        self.judge = judge
        self.key = key
        self.case_of = case_of
        self._lock = Lock()
        self._progress = Progress()

        # LangSmith traces run and example in full unless a function takes more arguments.
        def score(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            return without_waiting(self.judge_run(run, example, call_and_block))

        async def ascore(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            return await self.judge_run(run, example, call)

        # LangSmith names the evaluator, and its runs, like the function.
        score.__name__ = key
        ascore.__name__ = key
        super().__init__(cast("Any", score), cast("Any", ascore))

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback, which LangSmith reads before there is any."""
        return list(score_names(self.key, self.judge.part_names).values())

    async def judge_run(self, run: Run, example: Example | None, ask: Ask) -> EvaluationResults:
        """Judge a run, unless another evaluator has one of the feedback keys, and store the verdict."""
        stored = _stored_in(run)
        progress = self._progress_at(run)
        try:
            self._claim_keys(stored)
            case = self.case_of(run, example)
            with trace("judge", inputs={"case": case}) as judge_run:
                verdict = await self.judge.ajudge(case, _trace_step, progress.limited(ask))
                judge_run.end(outputs=dict(verdict))
            progress.has_verdict = True
        except Exception as error:  # noqa: BLE001  an error in one row must not affect others
            verdict = _with_explanation(self.judge.error_verdict(error), run, example)
            self._log_first(verdict, progress)
        holder, _ = stored[self.key]
        if holder is self:
            stored[self.key] = (self, verdict)
        return {"results": _feedback_of(verdict, self.judge, self.key)}

    def _claim_keys(self, stored: Stored) -> None:
        """Reserve the feedback keys, before the run is judged.

        Raises:
            GroundjudgeError: `duplicate_key`: another evaluator has one of them.
        """
        duplicates: list[str] = []
        for key in self.feedback_keys:
            holder, _ = stored.setdefault(key, (self, None))
            if holder is not self:
                duplicates.append(key)
        if duplicates:
            raise GroundjudgeError(DUPLICATE, ONE_KEY.format(duplicates[0]), duplicates[0])

    def _progress_at(self, run: Run) -> Progress:
        """The progress of the experiment in which the run is judged."""
        metadata: Mapping[str, Any] = get_tracing_context().get("metadata") or {}
        experiment = metadata.get("experiment")
        if experiment is None:
            return Progress()  # a caller that judges single runs may have set a key since the last one
        with self._lock:
            if experiment != self._progress.experiment or run.id in self._progress.run_ids:
                self._progress = Progress(experiment)
            self._progress.run_ids.add(run.id)
            return self._progress

    def _log_first(self, verdict: Verdict, progress: Progress) -> None:
        """Log an error that most likely all rows will meet; LangSmith shows it in comments only.

        It is that of the first row, or one that ends a run.
        """
        if verdict.error is None:
            return
        code = verdict.error.code
        with self._lock:
            is_first = not progress.has_verdict and not progress.logged_codes
            if code in progress.logged_codes or not (is_first or code in ENDS_RUN):
                return
            progress.logged_codes.add(code)
        consequence = ""
        if progress.endings:
            consequence = ". No further row is sent to this model"
        log.error("%s: %s%s", self.key, verdict.explanation, consequence)


@contextmanager
def _trace_step(step: Step) -> Generator[Callable[[Any], object]]:
    """Trace each call of a model as an llm run, and each vote as a run; no other step."""
    results: list[Any] = []
    # It can also be "local", with `upload_results=False`: then no run is sent.
    parent = get_current_run_tree() if tracing_is_enabled() is True else None
    if step.is_vote:
        with trace(step.name, inputs={"case": step.argument}) as run:
            yield results.append
            run.end(outputs={"output": results[0]})
    elif parent and step.model:
        with _trace_call(parent, step.name, step.model, step.argument) as note:
            yield note
    else:
        yield results.append


@contextmanager
def _trace_call(
    parent: RunTree, name: str, model: Model, request: Request
) -> Generator[Callable[[Reply], object]]:
    """Trace the call of a model as an llm run, unless the model has left one itself."""
    # The shape of a chat completion, by which LangSmith shows a conversation and counts tokens.
    messages = [dict(message) for message in request.messages]
    inputs = {"model": model.name, "messages": messages, **request.parameters}
    llm_run = parent.create_child(name, "llm", inputs=inputs)
    llm_run.add_metadata(call_metadata(model))
    replies: list[Reply] = []
    n_before = len(parent.child_runs)
    try:
        yield replies.append
        reply = replies[0]
        llm_run.end(outputs=_completion_of(reply), metadata=_token_counts(reply))
    except Exception as error:  # an endpoint can repeat the key that it was sent
        llm_run.end(error=RedactedError(error).clean(repr(error)))
        raise
    finally:
        # Only now is it known whether the model traces itself, as by `wrap_openai` in a function.
        if not _has_llm_run(parent.child_runs[n_before:]):
            llm_run.post()


def _has_llm_run(runs: Sequence[RunTree]) -> bool:
    for run in runs:
        if run.run_type == "llm" or _has_llm_run(run.child_runs):
            return True
    return False


def _token_counts(reply: Reply) -> dict[str, Any]:
    """The tokens as LangSmith names them, which it reads from the metadata and from the outputs."""
    if not reply.usage:
        return {}
    return {"usage_metadata": reply.usage.counts}


def _completion_of(reply: Reply) -> dict[str, Any]:
    """The reply as a chat completion, with its tokens."""
    message = {"role": "assistant", "content": reply.text}
    if reply.refusal is not None:
        message["refusal"] = reply.refusal
    completion: dict[str, Any] = {
        "choices": [{"message": message, "finish_reason": reply.finish_reason}],
    }
    if reply.model is not None:
        completion["model"] = reply.model
    completion.update(_token_counts(reply))
    return completion


def _sides_of(run: Run, example: Example | None) -> dict[str, Any]:
    """The inputs, outputs and reference outputs, the roots of paths.

    What a run had returned by the time at which it failed is no response.
    """
    inputs = run.inputs
    if example and example.inputs:
        inputs = example.inputs
    outputs: dict[str, Any] = {}
    if run.outputs and not run.error:
        outputs = run.outputs
    reference_outputs: dict[str, Any] = {}
    if example and example.outputs:
        reference_outputs = example.outputs
    return {"inputs": inputs, "outputs": outputs, "reference_outputs": reference_outputs}


def _case_of_run(fields: Fields, run: Run, example: Example | None) -> Mapping[str, Any]:
    """The fields of the exchange; the context, if it has none, from the child runs."""
    row = _sides_of(run, example)
    row["metadata"] = {}
    if example and example.metadata:
        row["metadata"] = example.metadata
    retrieved: Retrieved
    try:
        retrieved = documents(run)
    except CaseError as error:
        retrieved = error
    return fields.in_row(row, {"run": run, "example": example}, retrieved)


def _with_explanation(verdict: Verdict, run: Run, example: Example | None) -> Verdict:
    """The verdict; if there was no case to judge, its error says what LangSmith had, and why.

    Whatever a run lacks that has crashed, it lacks a response, which is an error and never a missing field.
    """
    error = verdict.error
    # After an attempt there was a case; a duplicate key is a fault of the experiment, not of the row.
    if error is None or verdict.attempts or error.code == DUPLICATE:
        return verdict
    keys_by_side: list[str] = []
    for side, content in _sides_of(run, example).items():
        keys = ", ".join(str(key) for key in content)
        keys_by_side.append(f"{side}: {keys or 'nothing'}")
    code = error.code
    message = f"{error.message}. LangSmith gave {'; '.join(keys_by_side)}"
    if not run.child_runs:
        message += NO_CHILD_RUNS
    if run.error:
        message += f"; the run failed: {run.error.splitlines()[0]}"  # a traceback follows
        if code in {"missing_field", "unexpected"}:
            code = "no_response"
    return verdict.model_copy(update={"error": Failure(code=code, message=message)})


def _stored_in(run: Run) -> Stored:
    """What evaluators have stored in the run."""
    extra = run.extra or {}
    if STORED not in extra:
        extra = {**extra, STORED: {}}  # a new mapping: LangSmith sends the one that it has
        run.extra = extra
    return cast("Stored", extra[STORED])


def _feedback_of(verdict: Verdict, judge: AnyJudge, key: str) -> list[EvaluationResult]:
    """The verdict as feedback: one result for each of its scores."""
    # Of feedback on a run, LangSmith uploads these and `extra`, but not `metadata`.
    evaluator_info: dict[str, Any] = {}
    if verdict.prompt:
        for name, value in verdict.prompt.model_dump().items():
            evaluator_info[f"prompt_{name}"] = value
    evaluator_info["model"] = verdict.model
    evaluator_info["signature"] = verdict.signature
    results: list[EvaluationResult] = []
    for score in judge.scores(verdict, key):
        result = EvaluationResult(
            key=score.name,
            score=score.score,
            value=score.value,
            comment=score.explanation,
            feedback_config=_categories(judge.scale, score),
            evaluator_info=evaluator_info,
            extra=_extra_of(verdict),
        )
        results.append(result)
    return results


def _extra_of(verdict: Verdict) -> dict[str, Any]:
    """What a verdict says besides its scores; the reply only of an error, which it explains."""
    extra = verdict.model_dump(mode="json", include={"status", "passed", "parts", "warnings"})
    replies_of_votes: Any = {"votes": {"__all__": {"reply"}}}
    uncertainty = verdict.model_dump(
        mode="json", include=UNCERTAINTY, exclude=replies_of_votes, exclude_defaults=True
    )
    extra.update(uncertainty)
    if verdict.error:
        extra["error"] = True  # LangSmith marks the feedback as an error
        if verdict.reply is not None:
            extra["reply"] = verdict.reply
    return extra


def _categories(scale: Scale, score: NamedScore) -> FeedbackConfig | None:
    """The labels of a scale as LangSmith's categories, which must have a value; None for a number.

    The value of a panel without a common label is a number.
    """
    if score.score is None or not isinstance(score.value, str) or not scale.choices:
        return None
    categories: list[Any] = []
    for label, value in scale.choices.items():
        if value is not None:
            categories.append({"value": value, "label": label})
    return FeedbackConfig(type="categorical", min=None, max=None, categories=categories)
