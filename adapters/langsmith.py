"""LangSmith: a judge as an evaluator of runs, a summary of an experiment, feedback from a pytest test.

    evaluate(
        target,
        data="my dataset",
        evaluators=[evaluator("groundedness", model="openai:gpt-4o-mini")],
        summary_evaluators=[summary("groundedness")],
    )

The same two serve `aevaluate` and `evaluate_existing`; the latter needs `load_nested=True` where the
context is what retriever and tool child runs returned.
"""

# LangSmith annotates much of its data as a bare dict, of which strict checking knows nothing:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, Unpack, cast

from pydantic_core import to_json

try:
    from langsmith import traceable
    from langsmith.evaluation import EvaluationResult, EvaluationResults
    from langsmith.evaluation.evaluator import DynamicRunEvaluator
    from langsmith.schemas import Example, Run
except ImportError as error:
    needed = 'groundjudge.adapters.langsmith needs LangSmith: pip install "groundjudge[langsmith]"'
    raise ImportError(needed) from error

from groundjudge import (
    Case,
    Document,
    Judge,
    JudgeOptions,
    NamedScore,
    Rubric,
    Verdict,
    as_judge,
    summarise,
)
from groundjudge.case import FIELD_NAMED
from groundjudge.models.lookup import ModelLike

__all__ = ["documents", "evaluator", "log_verdict", "summary"]

CaseOf: TypeAlias = Callable[[Run, Example | None], Case | Mapping[str, Any]]
Where: TypeAlias = CaseOf | Mapping[str, str] | None

DOCUMENT_LISTS = ("output", "documents", "contexts", "context", "results")
"""The keys under which the outputs of a retriever's run hold what it found."""

KEPT = "groundjudge"
"""The key in `run.extra` under which the verdicts on a run are kept for the summary."""


def evaluator(
    judge: str | Path | Rubric | Judge,
    *,
    model: ModelLike | None = None,
    case: Where = None,
    **options: Unpack[JudgeOptions],
) -> DynamicRunEvaluator:
    """Make a judge an evaluator for `evaluate`, `aevaluate` and `evaluate_existing`.

    The case is found under the usual names of its fields in inputs, outputs and reference outputs.
    For a judge that takes a context, one that neither inputs nor outputs hold is what `documents` finds.

    Args:
        judge: a judge or a rubric, or the name of a judge, or the path of a prompt file.
        model: as for `load`. A judge keeps the model that it has if none is given.
        case: for other names: a function from (run, example) to the case, or a mapping of field to
            dotted path, as in {"query": "inputs.q", "response": "outputs.choices.0.text"}. A path
            begins with inputs, outputs, reference_outputs, run or example. Fields that the mapping
            does not name are found under their usual names.
        options: what else `load` takes; they replace what a judge has.

    Returns:
        An evaluator with one feedback key, the judge's name; a judge of several scores has one more
        for each (passage_quality, passage_recall, passage_precision). It leaves its verdict in
        `run.extra`, in memory only, where `summary` finds it.

    Raises:
        GroundjudgeError: as for `load`.
    """
    return JudgeEvaluator(as_judge(judge, model, **options), case)


def summary(judge: str | Judge) -> Callable[[Sequence[Run], Sequence[Example]], EvaluationResults]:
    """Make a summary evaluator of what the judge's `evaluator` found in the same experiment.

    Nothing is judged again. The feedback, each 0..1, has the judge's name and `_mean`; `_lower_bound`
    and `_upper_bound`, the mean if every error were a 0, or a 1; `_coverage`, the share of the rows
    due a score that have one; `_pass_rate`. The comment counts the rows.
    """
    name = judge if isinstance(judge, str) else judge.name

    def summarised(runs: Sequence[Run], examples: Sequence[Example]) -> EvaluationResults:  # noqa: ARG001
        verdicts = [kept[name] for run in runs if name in (kept := _kept(run))]
        if not verdicts:
            missing = f"no verdicts: evaluator({name!r}, ...) must be among the evaluators"
            raise ValueError(missing)
        (told,) = summarise(verdicts)
        lowest, highest = told.bounds or (None, None)
        scores = {
            "mean": told.mean,
            "lower_bound": lowest,
            "upper_bound": highest,
            "coverage": told.coverage,
            "pass_rate": told.pass_rate,
        }
        errors = ", ".join(f"{code} {count}" for code, count in told.errors.items())
        comment = (
            f"{told.n} rows: {told.n_ok} with a score, {told.n_not_applicable} not applicable, "
            f"{told.n_missing} without what the judge needs, {told.n_error} errors ({errors or 'none'})"
        )
        info = {"signatures": sorted({verdict.signature for verdict in verdicts})}
        return {
            "results": [
                EvaluationResult(key=f"{name}_{what}", score=score, comment=comment, evaluator_info=info)
                for what, score in scores.items()
            ]
        }

    summarised.__name__ = f"{name}_summary"
    return summarised


def log_verdict(verdict: Verdict, judge: Judge) -> None:
    """Log the judge's verdict as feedback on the running test of LangSmith's pytest plugin.

    One call per score; none is sent where `LANGSMITH_TEST_TRACKING` is false. An error that the judge
    raised has its verdict in the attribute `verdict`.
    """
    from langsmith import testing  # noqa: PLC0415  it imports pytest, which is for tests alone

    for result in _feedback(verdict, judge):
        given: dict[str, Any] = result.model_dump(include={"key", "score", "value", "comment", "extra"})
        if result.score is None and result.value is None:
            given["value"] = verdict.status  # the plugin's table breaks on feedback with neither
        testing.log_feedback(**given, source_info=result.evaluator_info, error=verdict.status == "error")


def documents(run: Run) -> tuple[Document, ...] | None:
    """What the run's retrievers and tools returned; None where no child run is one.

    Only the outermost count: the application saw what they returned, not what went on inside them.

    Raises:
        CaseError: `context_unreadable`, when something that was retrieved has no text.
    """
    sources = list(_sources(run))
    return tuple(document for source in sources for document in _returned(source)) if sources else None


class JudgeEvaluator(DynamicRunEvaluator):
    """LangSmith's evaluator of two functions, one sync and one async, that knows its feedback keys."""

    def __init__(self, judge: Judge, where: Where) -> None:
        judging, ajudging = traceable(name="judge")(judge.judge), traceable(name="judge")(judge.ajudge)

        # Where a function takes more than run and example, LangSmith does not trace the two whole.
        def score(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            try:
                verdict = judging(_case(judge, run, example, where))
            except Exception as error:  # noqa: BLE001  a row's error is that row's alone
                verdict = judge.failed(error)
            return _conclude(verdict, judge, run, example)

        async def ascore(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            try:
                verdict = await ajudging(_case(judge, run, example, where))
            except Exception as error:  # noqa: BLE001  a row's error is that row's alone
                verdict = judge.failed(error)
            return _conclude(verdict, judge, run, example)

        score.__name__ = ascore.__name__ = judge.name
        super().__init__(cast("Any", score), cast("Any", ascore))
        self.keys = list(judge.score_names)

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback, which LangSmith wants to know before there is any."""
        return self.keys


def _sides(run: Run, example: Example | None) -> dict[str, Any]:
    """What was asked, answered and expected."""
    return {
        "inputs": (example and example.inputs) or run.inputs,
        "outputs": run.outputs or {},
        "reference_outputs": (example and example.outputs) or {},
    }


def _case(judge: Judge, run: Run, example: Example | None, where: Where) -> Case | Mapping[str, Any]:
    """The case as it is mapped, or by the usual names; its context, if need be, from the run."""
    if callable(where):
        return where(run, example)
    sides, roots = _sides(run, example), {"run": run, "example": example}
    case = Case.from_exchange(**sides, where=where, roots=roots)
    if any(each.field == "context" for each in judge.inputs):
        is_mapped = "context" in {FIELD_NAMED.get(name) for name in where or ()}
        own = case if is_mapped else Case.from_exchange(None, sides["outputs"], where=where, roots=roots)
        retrieved = documents(run) if own.context is None else None
        return case if retrieved is None else case.model_copy(update={"context": retrieved})
    return case


def _sources(run: Run) -> Iterator[Run]:
    for child in run.child_runs or ():
        if child.run_type in {"retriever", "tool"}:
            yield child
        else:
            yield from _sources(child)


def _returned(source: Run) -> tuple[Document, ...]:
    outputs: dict[str, Any] = source.outputs or {}
    if source.run_type == "retriever":
        found = next((outputs[key] for key in DOCUMENT_LISTS if key in outputs), outputs)
        return Case(context=found or ()).context or ()
    match outputs:
        case {"output": {"tool_call_id": _, "content": result}}:  # a LangChain message, reloaded
            pass
        case {"output": result, **others} if not others:
            result = getattr(result, "content", result)
        case _:
            result = outputs or None
    if result is None:
        return ()
    text = result if isinstance(result, str) else to_json(result, fallback=str).decode()
    return (Document(content=text, title=f"Tool Result: {source.name}", kind="tool"),)


def _with_sides(verdict: Verdict, run: Run, example: Example | None) -> Verdict:
    """A verdict; where the case could not be judged, its error says what there was to make a case of."""
    error = verdict.error
    if error is None or verdict.attempts or error.code == "unexpected":
        return verdict
    sides = _sides(run, example).items()
    held = "; ".join(f"{side}: {', '.join(map(str, there)) or 'nothing'}" for side, there in sides)
    message = f"{error.message}. LangSmith gave {held}"
    if not any(_sources(run)):
        message += "; no retriever or tool child runs (evaluate_existing needs load_nested=True for them)"
    if run.error:
        message += f"; the run failed: {run.error.splitlines()[0]}"
    return verdict.model_copy(update={"error": error.model_copy(update={"message": message})})


def _conclude(verdict: Verdict, judge: Judge, run: Run, example: Example | None) -> EvaluationResults:
    verdict = _with_sides(verdict, run, example)
    run.extra = {**(run.extra or {}), KEPT: {**_kept(run), judge.name: verdict}}
    return {"results": _feedback(verdict, judge)}


def _kept(run: Run) -> dict[str, Verdict]:
    return cast("dict[str, Verdict]", (run.extra or {}).get(KEPT, {}))


def _feedback(verdict: Verdict, judge: Judge) -> list[EvaluationResult]:
    """A verdict as feedback: a result for each of its scores."""
    return [_result(score, verdict) for score in judge.scores(verdict)]


def _result(score: NamedScore, verdict: Verdict) -> EvaluationResult:
    prompt = verdict.prompt.model_dump() if verdict.prompt else {}
    info = {f"prompt_{name}": value for name, value in prompt.items()}
    info |= {"model": verdict.model, "signature": verdict.signature}
    extra = verdict.model_dump(mode="json", include={"status", "passed", "parts", "warnings"})
    extra |= {"error": True} if verdict.error else {}
    return EvaluationResult(
        key=score.name,
        score=score.score,
        value=score.value,
        comment=score.explanation,
        evaluator_info=info,
        extra=extra,
    )
