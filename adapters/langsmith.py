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
from pathlib import Path
from typing import Any, Unpack, cast, get_args

from groundjudge.case.case import CaseLike, Document
from groundjudge.case.fields import Fields, FieldsLike
from groundjudge.case.traces import traced_documents, try_find
from groundjudge.errors import GroundjudgeError, requires
from groundjudge.judging.conversation import Ask, Step, call, call_and_block, without_waiting
from groundjudge.judging.endings import Experiments
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge, model_to_come
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.lookup import ModelLike, call_metadata
from groundjudge.models.redaction import RedactedError
from groundjudge.runs.named_verdicts import select_named, shared_name
from groundjudge.runs.summary import Figure, summarise
from groundjudge.verdict import Failure, Verdict, score_names

with requires("groundjudge.adapters.langsmith needs LangSmith", "langsmith"):
    from langsmith import get_current_run_tree, trace
    from langsmith.evaluation import EvaluationResult, EvaluationResults
    from langsmith.evaluation.evaluator import DynamicRunEvaluator
    from langsmith.run_helpers import get_tracing_context
    from langsmith.run_trees import RunTree
    from langsmith.schemas import Example, Run
    from langsmith.utils import tracing_is_enabled

__all__ = ["documents", "evaluator", "log_verdict", "summary"]

ROOTS = ("inputs", "outputs", "reference_outputs", "run", "example")
"""What a path to a field can begin with."""

METRICS: tuple[Figure, ...] = get_args(Figure)

log = logging.getLogger("langsmith.groundjudge")
"""Shown without any configuration, as LangSmith's own log is; the library's logger is silent."""

SUMMARY_PLACE = "summary({0!r}) adds up the verdicts of all runs: it belongs in summary_evaluators="

STORED = "groundjudge"
"""The key in `run.extra` under which each feedback key has its evaluator, and that one's verdict."""

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
    """Make an evaluator for `evaluate`, `aevaluate` and `evaluate_existing` from a judge.

    The fields of the case are read from inputs, outputs and reference outputs under their usual names.
    A context is read from the outputs, else from retriever and tool child runs (see `documents`), else
    from the inputs or reference outputs. A run that failed without outputs has no response.

    The trace shows each call of the model as an llm run with its messages and tokens. A call that already
    shows itself as one (of a LangChain model, of a client in `wrap_openai`) is not shown twice. Each vote of
    a panel is a separate run with its calls inside. Labels are categorical feedback.

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
    return JudgeEvaluator(loaded, key or loaded.name, loaded.cases(fields, ROOTS, _case_of))


def summary(
    judge: JudgeLike, *, metrics: Sequence[Figure] = ("mean", "coverage", "pass_rate")
) -> Callable[[Sequence[Run], Sequence[Example]], EvaluationResults]:
    """Make a summary evaluator for the verdicts that the judge's `evaluator` gave in the same experiment.

    No case is judged again. The feedback keys are the evaluator's key followed by:

    - `_mean`: the mean score, 0..1.
    - `_lower_bound`, `_upper_bound`: the mean if every error counted as 0, or as 1.
    - `_coverage`: of the rows that should have a score, the share that has one, 0..1.
    - `_pass_rate`: the share of the scored rows that passed, 0..1.

    The comment has the counts of the rows.

    Args:
        judge: the judge, as for `evaluator`, or the evaluator's key if it has another one.
        metrics: the figures to send, each a column in LangSmith; "lower_bound" and "upper_bound" only here.

    Returns:
        A summary evaluator. It raises ValueError if the experiment has no verdicts under that key, and
        TypeError if you pass it as an evaluator.

    Raises:
        ValueError: `metrics` has an unknown name.
        PromptError: the path is not that of a prompt file.
    """
    if isinstance(judge, str) and not Path(judge).is_file():
        key = judge
    else:
        # No model is asked, so any judge may be named.
        key = as_judge(judge, model_to_come).name
    if isinstance(metrics, str):  # otherwise its letters would be the metrics
        metrics = (cast("Figure", metrics),)
    for metric in metrics:
        if metric not in METRICS:
            message = f"unknown metric {metric!r}: metrics= lists one or more of {', '.join(METRICS)}"
            raise ValueError(message)

    def summarise_runs(
        runs: Sequence[Run] | Run,
        examples: Sequence[Example],  # noqa: ARG001
    ) -> EvaluationResults:
        if not isinstance(runs, Sequence):  # LangSmith gives an evaluator one run
            raise TypeError(SUMMARY_PLACE.format(key))
        stored_by_run: list[list[tuple[str, Verdict]]] = []
        for run in runs:
            # The additional keys of a judge with several scores have no verdict.
            stored = [(name, verdict) for name, (_, verdict) in _stored_in(run).items() if verdict]
            stored_by_run.append(stored)
        verdicts = select_named(key, stored_by_run, "key")
        (total,) = summarise(verdicts)
        signatures = {verdict.signature for verdict in verdicts}
        results: list[EvaluationResult] = []
        for metric in metrics:
            result = EvaluationResult(
                key=f"{key}_{metric}",
                score=total.figures[metric],
                comment=total.counts,
                evaluator_info={"signatures": sorted(signatures)},
            )
            results.append(result)
        return {"results": results}

    summarise_runs.__name__ = f"{key}_summary"
    return summarise_runs


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

    for result in _result_of(verdict, judge, judge.name):
        feedback: dict[str, Any] = result.model_dump(include={"key", "score", "value", "comment", "extra"})
        if result.score is None and result.value is None:
            feedback["value"] = verdict.status  # the plugin's table breaks on feedback with neither one
        testing.log_feedback(**feedback, source_info=result.evaluator_info, error=verdict.status == "error")


def documents(run: Run) -> tuple[Document, ...] | None:
    """Return the documents that the run's retrievers and tools returned; see `traced_documents`."""

    def child_runs(run: Run) -> Sequence[Run]:
        return run.child_runs or ()

    def source(run: Run) -> tuple[str, str, object, str | None]:
        return run.run_type, run.name, run.outputs or {}, run.error

    return traced_documents(child_runs(run), child_runs, source)


def _case_of(fields: Fields, run: Run, example: Example | None) -> Mapping[str, Any]:
    """Return the fields of the exchange; the context, if it has none, from the child runs."""
    row: dict[str, Any] = {**_sides_of(run, example), "metadata": {}}
    if example and example.metadata:
        row["metadata"] = example.metadata
    return fields.in_row(row, {"run": run, "example": example}, try_find(documents, run))


def _sides_of(run: Run, example: Example | None) -> dict[str, Any]:
    """Return the inputs, outputs and reference outputs: `{"inputs": {...}, "outputs": {...}, ...}`."""
    sides: dict[str, Any] = {"inputs": run.inputs, "outputs": {}, "reference_outputs": {}}
    # What a run had returned before it failed is not a response.
    if run.outputs and not run.error:
        sides["outputs"] = run.outputs
    if example:
        # Those of the run are the arguments of the target, which may have other names.
        sides["inputs"] = example.inputs or run.inputs
        sides["reference_outputs"] = example.outputs or {}
    return sides


def _result_of(verdict: Verdict, judge: AnyJudge, key: str) -> list[EvaluationResult]:
    """Return the verdict as feedback: one result for each of its scores."""
    # LangSmith uploads these and `extra` from feedback on a run, but not `metadata`.
    evaluator_info: dict[str, Any] = {"model": verdict.model, "signature": verdict.signature}
    if verdict.prompt:
        for name, value in verdict.prompt:
            evaluator_info[f"prompt_{name}"] = value
    # LangSmith's categories must have a value.
    categories: list[dict[str, Any]] = []
    for label, value in judge.scale.choices.items():
        if value is not None:
            categories.append({"value": value, "label": label})
    results: list[EvaluationResult] = []
    for score in judge.scores(verdict, key):
        result = EvaluationResult(
            key=score.name,
            score=score.score,
            value=score.value,
            comment=score.explanation,
            evaluator_info=evaluator_info,
            extra=_metadata_of(verdict),
        )
        # The value of a panel without a common label is a number.
        if categories and score.score is not None and isinstance(score.value, str):
            result.feedback_config = cast("Any", {"type": "categorical", "categories": categories})
        results.append(result)
    return results


def _metadata_of(verdict: Verdict) -> dict[str, Any]:
    """Return the metadata that accompanies the scores; the reply only for an error, which it explains."""
    metadata = verdict.model_dump(mode="json", include={"status", "passed", "parts", "warnings"})
    replies_of_votes: Any = {"votes": {"__all__": {"reply"}}}
    uncertainty = verdict.model_dump(
        mode="json", include=UNCERTAINTY, exclude=replies_of_votes, exclude_defaults=True
    )
    metadata.update(uncertainty)
    if verdict.error:
        metadata["error"] = True  # LangSmith marks the feedback as an error
        if verdict.reply is not None:
            metadata["reply"] = verdict.reply
    return metadata


def _explain_error(verdict: Verdict, run: Run, example: Example | None) -> Verdict:
    """Return the verdict; if there was no case to judge, its error says what LangSmith had, and why.

    A run that has crashed lacks a response, which is an error and never a missing field.
    """
    error = verdict.error
    if error is None or verdict.attempts:  # after an attempt there was a case
        return verdict
    code = error.code
    keys_by_side: list[str] = []
    for side, content in _sides_of(run, example).items():
        keys = ", ".join(str(key) for key in content)
        keys_by_side.append(f"{side}: {keys or 'nothing'}")
    message = f"{error.message}. LangSmith gave {'; '.join(keys_by_side)}"
    if not run.child_runs:
        message += "; no retriever or tool child runs (evaluate_existing needs load_nested=True for them)"
    if run.error:
        message += f"; the run failed: {run.error.splitlines()[0]}"  # a traceback follows
        if code in {"missing_field", "unexpected"}:
            code = "no_response"
    return verdict.model_copy(update={"error": Failure(code=code, message=message)})


def _stored_in(run: Run) -> dict[str, tuple[object, Verdict | None]]:
    """Return the evaluator of each feedback key, and the verdict that it has stored in the run.

    As in `{"passage_quality": (evaluator, verdict), "passage_recall": (evaluator, None)}`. It is the mapping
    in the run itself, to which evaluators add.
    """
    if STORED not in (run.extra or {}):
        run.extra = {**(run.extra or {}), STORED: {}}  # a new mapping: LangSmith sends the one that it has
    stored: dict[str, tuple[object, Verdict | None]] = cast("Any", run.extra)[STORED]
    return stored


@contextmanager
def _trace_step(step: Step) -> Generator[Callable[[Any], object]]:
    """Trace each call of a model as an llm run, and each vote as a run; no other step."""
    results: list[Any] = []
    # `tracing_is_enabled()` can also be "local", with `upload_runs=False`: then no run is sent.
    parent = get_current_run_tree() if tracing_is_enabled() is True else None
    if step.is_vote:
        with trace(step.name, inputs={"case": step.argument}) as vote_run:
            yield results.append  # which the step calls with its result
            vote_run.end(outputs={"output": results[0]})
        return
    if step.model is None or parent is None:
        yield results.append
        return
    # The shape of a chat completion, by which LangSmith shows a conversation and counts tokens.
    messages = [dict(message) for message in step.argument.messages]
    inputs = {"model": step.model.name, "messages": messages, **step.argument.parameters}
    llm_run = parent.create_child(step.name, "llm", inputs=inputs)
    llm_run.add_metadata(call_metadata(step.model))
    n_before = len(parent.child_runs)
    try:
        yield results.append
        reply = results[0]
        # LangSmith reads the tokens from the metadata and from the outputs.
        usage = {"usage_metadata": reply.usage.counts} if reply.usage else {}
        message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal}
        choices = [{"message": message, "finish_reason": reply.finish_reason}]
        llm_run.end(outputs={"model": reply.model, "choices": choices, **usage}, metadata=usage)
    except Exception as error:  # an endpoint can repeat the key that it was sent
        llm_run.end(error=RedactedError(error).clean(repr(error)))
        raise
    finally:
        # Only now is it known whether the model traces itself, as by `wrap_openai` in a function.
        if not _has_llm_run(parent.child_runs[n_before:]):
            llm_run.post()


def _has_llm_run(runs: Sequence[RunTree]) -> bool:
    """Whether a model call is among the runs, or anywhere below them."""
    return any(run.run_type == "llm" or _has_llm_run(run.child_runs) for run in runs)


# LangSmith reads the key under which it records a function's error from the function's source code; for a
# closure that is the wrong name. Feedback from a RunEvaluator names a run that LangSmith never stores. Only
# this class of LangSmith's does both right.
class JudgeEvaluator(DynamicRunEvaluator):
    """LangSmith's evaluator with a sync and an async function, and with known feedback keys."""

    def __init__(self, judge: AnyJudge, key: str, case_of: Callable[..., CaseLike]) -> None:
        self.judge = judge
        self.key = key
        self.case_of = case_of
        self._experiments = Experiments()

        # LangSmith traces run and example in full unless a function has more arguments.
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
        """The feedback keys, which LangSmith reads before there is any feedback."""
        return list(score_names(self.key, self.judge.part_names).values())

    async def judge_run(self, run: Run, example: Example | None, ask: Ask) -> EvaluationResults:
        """Judge a run, unless another evaluator has one of the feedback keys, and store the verdict."""
        stored = _stored_in(run)
        metadata: Mapping[str, Any] = get_tracing_context().get("metadata") or {}
        endings = self._experiments.endings_at(metadata.get("experiment"), run.id)
        # All keys are reserved, even if one of them is taken: another evaluator may share a later one.
        taken_keys: list[str] = []
        for key in self.feedback_keys:
            holder, _ = stored.setdefault(key, (self, None))
            if holder is not self:
                taken_keys.append(key)
        if taken_keys:
            key = taken_keys[0]
            fault = GroundjudgeError("duplicate_key", shared_name(key, "feedback key"), key)
            verdict = self.judge.error_verdict(fault)
        else:
            verdict = await self._verdict_on(run, example, endings.limit(ask))
        note = endings.note(verdict)
        if note:  # LangSmith shows errors in comments only
            log.error("%s: %s", self.key, note)
        if self.key not in taken_keys:
            stored[self.key] = (self, verdict)
        return {"results": _result_of(verdict, self.judge, self.key)}

    async def _verdict_on(self, run: Run, example: Example | None, ask: Ask) -> Verdict:
        """Judge a run as a step of the trace; what is wrong with it becomes the verdict's error."""
        try:
            case = self.case_of(run, example)
            with trace("judge", inputs={"case": case}) as judge_run:
                verdict = await self.judge.ajudge(case, _trace_step, ask)
                judge_run.end(outputs=dict(verdict))
        except Exception as error:  # noqa: BLE001  an error in one row must not affect others
            return _explain_error(self.judge.error_verdict(error), run, example)
        return verdict
