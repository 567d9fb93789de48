"""LangSmith: a judge as an evaluator of runs, as a summary evaluator, and as feedback from a pytest test.

    evaluate(
        target,
        data="my dataset",
        evaluators=[evaluator("groundedness", model="openai:gpt-4o-mini")],
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
from typing import Any, Literal, TypeAlias, Unpack, cast, get_args

from groundjudge.case.case import CaseLike, Document
from groundjudge.case.fields import Fields, FieldsLike
from groundjudge.case.traces import traced_documents
from groundjudge.errors import ENDS_RUN, GroundjudgeError, requires
from groundjudge.judging.conversation import Ask, Step, call, call_and_block, without_waiting
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import AnyJudge
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
    from langsmith.run_trees import RunTree
    from langsmith.schemas import Example, Run
    from langsmith.utils import tracing_is_enabled

__all__ = ["documents", "evaluator", "log_verdict", "summary"]

Metric: TypeAlias = Literal["mean", "lower_bound", "upper_bound", "coverage", "pass_rate"]

log = logging.getLogger("groundjudge")

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

UNCERTAINTY = {"votes", "spread", "agreement", "decided_after", "expected", "distribution"}
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
    made = as_judge(judge, model, **options)
    return JudgeEvaluator(made, key or made.name, made.cases(fields, ROOTS, _case))


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
        A summary evaluator. It raises ValueError if the experiment has no verdicts under that key.

    Raises:
        ValueError: `metrics` has a name that there is not.
        PromptError: the path is not that of a prompt file.
    """
    is_key = isinstance(judge, str) and not Path(judge).is_file()
    key = str(judge) if is_key else as_judge(judge, "offline").name
    if unknown := [metric for metric in metrics if metric not in METRICS]:
        message = f"unknown metric {unknown[0]!r}: metrics= is a list of some of {', '.join(METRICS)}"
        raise ValueError(message)

    def summarised(runs: Sequence[Run], examples: Sequence[Example]) -> EvaluationResults:  # noqa: ARG001
        verdicts = _verdicts(runs, key)
        (total,) = summarise(verdicts)
        bounds = total.bounds or (None, None)
        figures = dict(zip(METRICS, (total.mean, *bounds, total.coverage, total.pass_rate), strict=True))
        info = {"signatures": sorted({verdict.signature for verdict in verdicts})}
        shown: Any = {"comment": total.counts, "evaluator_info": info}
        scores = [EvaluationResult(key=f"{key}_{name}", score=figures[name], **shown) for name in metrics]
        return {"results": scores}

    summarised.__name__ = f"{key}_summary"
    return summarised


def _verdicts(runs: Sequence[Run], key: str) -> list[Verdict]:
    """The verdicts that the evaluator with this key has stored in the runs."""
    stored = [(name, verdict) for run in runs for name, (_, verdict) in _stored(run).items() if verdict]
    verdicts = [verdict for name, verdict in stored if name == key]
    if not verdicts:
        message = f"no verdicts under the key {key!r}: evaluator({key!r}, ...) must be among the evaluators"
        keys = ", ".join(dict.fromkeys(name for name, _ in stored))
        raise ValueError(f"{message}; there are those of {keys}" if keys else message)
    return verdicts


def log_verdict(verdict: Verdict, judge: AnyJudge) -> None:
    """Log the judge's verdict as feedback on the current test of LangSmith's pytest plugin.

    There is one piece of feedback per score; none is sent if `LANGSMITH_TEST_TRACKING` is false.

    Args:
        verdict: the verdict to log. An error that `Judge.judge` raises has one in its attribute `verdict`.
        judge: the judge that gave it.
    """
    from langsmith import testing  # noqa: PLC0415  it imports pytest, which only tests need

    for result in _feedback(verdict, judge, judge.name):
        feedback: dict[str, Any] = result.model_dump(include={"key", "score", "value", "comment", "extra"})
        if result.score is None and result.value is None:
            feedback["value"] = verdict.status  # the plugin's table breaks on feedback with neither
        testing.log_feedback(**feedback, source_info=result.evaluator_info, error=verdict.status == "error")


def documents(run: Run) -> tuple[Document, ...] | None:
    """The documents that the run's retrievers and tools returned; see `traced_documents`."""
    return traced_documents(run.child_runs or (), lambda each: each.child_runs or (), _source)


class JudgeEvaluator(DynamicRunEvaluator):
    """LangSmith's evaluator with a sync and an async function, and with known feedback keys."""

    def __init__(self, judge: AnyJudge, key: str, case_of: Callable[..., CaseLike]) -> None:
        self.judge, self.key, self.case_of, self.has_logged = judge, key, case_of, False

        # LangSmith traces run and example in full unless a function takes more arguments.
        def score(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            return without_waiting(self.judged(run, example, call_and_block))

        async def ascore(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            return await self.judged(run, example, call)

        score.__name__ = ascore.__name__ = key
        super().__init__(cast("Any", score), cast("Any", ascore))

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback, which LangSmith reads before there is any."""
        return [*score_names(self.key, self.judge.part_names).values()]

    async def judged(self, run: Run, example: Example | None, ask: Ask) -> EvaluationResults:
        """Judge a run, unless another evaluator has one of the feedback keys, and store the verdict."""
        stored = _stored(run)
        try:
            self._claim(stored)
            case = self.case_of(run, example)
            with trace("judge", inputs={"case": case}) as traced:
                verdict = await self.judge.ajudge(case, _traced, ask)
                traced.end(outputs=dict(verdict))
        except Exception as error:  # noqa: BLE001  an error in one row must not affect others
            verdict = _explained(self.judge.error_verdict(error), run, example)
            if verdict.error and verdict.error.code in ENDS_RUN and not self.has_logged:
                self.has_logged = True  # what other rows will meet too; they show it in a comment only
                log.error("%s: %s", self.key, verdict.explanation)  # noqa: TRY400  no traceback
        if stored[self.key][0] is self:
            stored[self.key] = self, verdict
        return {"results": _feedback(verdict, self.judge, self.key)}

    def _claim(self, stored: Stored) -> None:
        """Reserve the feedback keys, before the run is judged.

        Raises:
            GroundjudgeError: `duplicate_key`: another evaluator has one of them.
        """
        keys = self.feedback_keys
        if taken := [key for key in keys if stored.setdefault(key, (self, None))[0] is not self]:
            raise GroundjudgeError(DUPLICATE, ONE_KEY.format(taken[0]), taken[0])


@contextmanager
def _traced(step: Step) -> Generator[Callable[[Any], object]]:
    """Trace each call of a model as an llm run, and each vote as a run."""
    results: list[Any] = []
    parent = get_current_run_tree() if tracing_is_enabled() is True else None
    if step.is_vote:
        with trace(step.name, inputs={"case": step.argument}) as run:
            yield results.append
            run.end(outputs={"output": results[0]})
    elif parent and step.model:
        call = parent.create_child(step.name, "llm", inputs=_sent(step.model, step.argument))
        call.add_metadata(call_metadata(step.model))
        n_before = len(parent.child_runs)
        try:
            yield results.append
            call.end(outputs=_completion(results[0]), metadata=_tokens(results[0]))
        except Exception as error:
            call.end(error=RedactedError(error).clean(repr(error)))
            raise
        finally:
            # Only now is it known whether the model traces itself, as by `wrap_openai` in a function.
            if not _has_llm_run(parent.child_runs[n_before:]):
                call.post()
    else:
        yield results.append


def _has_llm_run(runs: Sequence[RunTree]) -> bool:
    return any(run.run_type == "llm" or _has_llm_run(run.child_runs) for run in runs)


def _sent(model: Model, request: Request) -> dict[str, Any]:
    return {"model": model.name, "messages": [*map(dict, request.messages)], **request.parameters}


def _tokens(reply: Reply) -> dict[str, Any]:
    """The tokens as LangSmith names them, which it reads from the metadata and from the outputs."""
    return {"usage_metadata": reply.usage.counts} if reply.usage else {}


def _completion(reply: Reply) -> dict[str, Any]:
    """The reply as a chat completion, with its tokens."""
    message = _known(role="assistant", content=reply.text, refusal=reply.refusal)
    choice = {"message": message, "finish_reason": reply.finish_reason}
    return _known(choices=[choice], model=reply.model, **_tokens(reply))


def _known(**content: object) -> dict[str, Any]:
    return {name: value for name, value in content.items() if value is not None}


def _sides(run: Run, example: Example | None) -> dict[str, Any]:
    """The inputs, outputs and reference outputs, the roots of paths.

    What a run had returned by the time at which it failed is no response.
    """
    return {
        "inputs": (example and example.inputs) or run.inputs,
        "outputs": (not run.error and run.outputs) or {},
        "reference_outputs": (example and example.outputs) or {},
    }


def _case(fields: Fields, run: Run, example: Example | None) -> Mapping[str, Any]:
    """The fields of the exchange; the context, if it has none, from the child runs."""
    row = {**_sides(run, example), "metadata": (example and example.metadata) or {}}
    return fields.in_row(row, {"run": run, "example": example}, lambda: documents(run))


def _source(run: Run) -> tuple[str, str, object]:
    return run.run_type, run.name, run.outputs or {}


def _explained(verdict: Verdict, run: Run, example: Example | None) -> Verdict:
    """The verdict; if there was no case to judge, its error says what LangSmith had, and why.

    Whatever a run lacks that has crashed, it lacks a response, which is an error and never a missing field.
    """
    error = verdict.error
    if error is None or verdict.attempts or error.code == DUPLICATE:
        return verdict
    sides = _sides(run, example).items()
    keys = "; ".join(f"{side}: {', '.join(map(str, content)) or 'nothing'}" for side, content in sides)
    message = f"{error.message}. LangSmith gave {keys}{'' if run.child_runs else NO_CHILD_RUNS}"
    if run.error:
        message += f"; the run failed: {run.error.splitlines()[0]}"
    lacks_response = run.error and error.code in {"missing_field", "unexpected"}
    failure = Failure(code="no_response" if lacks_response else error.code, message=message)
    return verdict.model_copy(update={"error": failure})


def _stored(run: Run) -> Stored:
    """What evaluators have stored in the run."""
    extra = run.extra or {}
    if STORED not in extra:
        run.extra = extra = {**extra, STORED: {}}  # a new mapping: LangSmith sends the one that it has
    return cast("Stored", extra[STORED])


def _feedback(verdict: Verdict, judge: AnyJudge, key: str) -> list[EvaluationResult]:
    """The verdict as feedback: one result for each of its scores."""
    prompt = verdict.prompt.model_dump() if verdict.prompt else {}
    info = {f"prompt_{name}": value for name, value in prompt.items()}
    info |= {"model": verdict.model, "signature": verdict.signature}
    return [
        EvaluationResult(
            key=score.name,
            score=score.score,
            value=score.value,
            comment=score.explanation,
            feedback_config=_categories(judge.scale, score),
            evaluator_info=info,
            extra=_extra(verdict),
        )
        for score in judge.scores(verdict, key)
    ]


def _extra(verdict: Verdict) -> dict[str, Any]:
    """What a verdict says besides its scores; the reply only of an error, which it explains."""
    extra = verdict.model_dump(mode="json", include={"status", "passed", "parts", "warnings"})
    exclude: Any = {"votes": {"__all__": {"reply"}}}
    extra |= verdict.model_dump(mode="json", include=UNCERTAINTY, exclude=exclude, exclude_defaults=True)
    return extra | (_known(error=True, reply=verdict.reply) if verdict.error else {})


def _categories(scale: Scale, score: NamedScore) -> FeedbackConfig | None:
    """The labels of a scale as LangSmith's categories, which must have a value; None for a number.

    The value of a panel without a common label is a number.
    """
    if score.score is None or not isinstance(score.value, str) or not scale.choices:
        return None
    listed: Any = [{"value": own, "label": name} for name, own in scale.choices.items() if own is not None]
    return FeedbackConfig(type="categorical", min=None, max=None, categories=listed)
