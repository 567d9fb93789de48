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
    Summary,
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
"""The keys under which the outputs of a retriever's run can contain the documents."""

VERDICTS = "groundjudge"
"""The key in `run.extra` under which the verdicts on a run are stored for the summary."""


def evaluator(
    judge: str | Path | Rubric | Judge,
    *,
    model: ModelLike | None = None,
    case: Where = None,
    **options: Unpack[JudgeOptions],
) -> DynamicRunEvaluator:
    """Make a judge an evaluator for `evaluate`, `aevaluate` and `evaluate_existing`.

    The fields of the case are read from inputs, outputs and reference outputs under their usual names.
    A context is read from the outputs, else from retriever and tool child runs (see `documents`), else
    from the inputs or reference outputs.

    Args:
        judge: a judge, a rubric, the name of a judge, or the path of a prompt file.
        model: as for `load`. A judge keeps its model unless another one is given.
        case: where to find fields with other names: a mapping of field to dotted path, as in
            {"query": "inputs.q", "response": "outputs.choices.0.text"}, or a function from (run, example)
            to the case. A path begins with inputs, outputs, reference_outputs, run or example. Fields that
            the mapping does not contain are read under their usual names.
        options: further options of `load`; they replace the judge's own.

    Returns:
        An evaluator with one feedback key, the judge's name; a judge with several scores has one more
        key for each (passage_quality, passage_recall, passage_precision). It stores its verdict in
        `run.extra`, in memory only, for `summary`.

    Raises:
        GroundjudgeError, TypeError: as for `load`.
    """
    return JudgeEvaluator(as_judge(judge, model, **options), case)


def summary(judge: str | Judge) -> Callable[[Sequence[Run], Sequence[Example]], EvaluationResults]:
    """Make a summary evaluator of the verdicts that the judge's `evaluator` gave in the same experiment.

    No case is judged again. The feedback keys are the judge's name followed by:

    - `_mean`: the mean score, 0..1.
    - `_lower_bound`, `_upper_bound`: the mean if every error counted as 0, or as 1.
    - `_coverage`: the share of the rows that should have a score and have one, 0..1.
    - `_pass_rate`: the share of the scored rows that passed, 0..1.

    The comment has the counts of the rows.

    Args:
        judge: the judge or its name.

    Returns:
        A summary evaluator. It raises ValueError if the experiment has no verdicts of the judge.
    """
    name = judge if isinstance(judge, str) else judge.name

    def summarised(runs: Sequence[Run], examples: Sequence[Example]) -> EvaluationResults:  # noqa: ARG001
        verdicts = [stored[name] for run in runs if name in (stored := _verdicts(run))]
        if not verdicts:
            missing = f"no verdicts: evaluator({name!r}, ...) must be among the evaluators"
            raise ValueError(missing)
        (found,) = summarise(verdicts)
        comment = _comment(found)
        info = {"signatures": sorted({verdict.signature for verdict in verdicts})}
        return {
            "results": [
                EvaluationResult(key=f"{name}_{figure}", score=value, comment=comment, evaluator_info=info)
                for figure, value in _figures(found).items()
            ]
        }

    summarised.__name__ = f"{name}_summary"
    return summarised


def _figures(found: Summary) -> dict[str, float | None]:
    lower_bound, upper_bound = found.bounds or (None, None)
    return {
        "mean": found.mean,
        "lower_bound": lower_bound,
        "upper_bound": upper_bound,
        "coverage": found.coverage,
        "pass_rate": found.pass_rate,
    }


def _comment(found: Summary) -> str:
    errors = ", ".join(f"{code} {count}" for code, count in found.errors.items())
    return (
        f"{found.n} rows: {found.n_ok} with a score, {found.n_not_applicable} not applicable, "
        f"{found.n_missing} without a required field, {found.n_error} errors ({errors or 'none'})"
    )


def log_verdict(verdict: Verdict, judge: Judge) -> None:
    """Log the judge's verdict as feedback on the current test of LangSmith's pytest plugin.

    There is one piece of feedback per score; none is sent if `LANGSMITH_TEST_TRACKING` is false.

    Args:
        verdict: the verdict to log. An error that `Judge.judge` raises has one in its attribute `verdict`.
        judge: the judge that gave it.
    """
    from langsmith import testing  # noqa: PLC0415  it imports pytest, which only tests need

    for result in _feedback(verdict, judge):
        feedback: dict[str, Any] = result.model_dump(include={"key", "score", "value", "comment", "extra"})
        if result.score is None and result.value is None:
            feedback["value"] = verdict.status  # the plugin's table breaks on feedback with neither
        testing.log_feedback(**feedback, source_info=result.evaluator_info, error=verdict.status == "error")


def documents(run: Run) -> tuple[Document, ...] | None:
    """The documents that the run's retrievers and tools returned; None if no child run is one.

    Only the outermost retrievers and tools count: the application saw what they returned, not the runs
    inside them.

    Raises:
        CaseError: `context_unreadable` if something that was retrieved has no text.
    """
    sources = list(_sources(run))
    return tuple(document for source in sources for document in _returned(source)) if sources else None


class JudgeEvaluator(DynamicRunEvaluator):
    """LangSmith's evaluator with a sync and an async function, and with known feedback keys."""

    def __init__(self, judge: Judge, where: Where) -> None:
        judging, ajudging = traceable(name="judge")(judge.judge), traceable(name="judge")(judge.ajudge)

        # LangSmith traces run and example in full unless a function takes more arguments.
        def score(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            try:
                verdict = judging(_case(judge, run, example, where))
            except Exception as error:  # noqa: BLE001  an error in one row must not affect others
                verdict = judge.failed(error)
            return _conclude(verdict, judge, run, example)

        async def ascore(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            try:
                verdict = await ajudging(_case(judge, run, example, where))
            except Exception as error:  # noqa: BLE001  an error in one row must not affect others
                verdict = judge.failed(error)
            return _conclude(verdict, judge, run, example)

        score.__name__ = ascore.__name__ = judge.name
        super().__init__(cast("Any", score), cast("Any", ascore))
        self.keys = list(judge.score_names)

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback, which LangSmith reads before there is any."""
        return self.keys


def _sides(run: Run, example: Example | None) -> dict[str, Any]:
    """The inputs, outputs and reference outputs, the roots of paths."""
    return {
        "inputs": (example and example.inputs) or run.inputs,
        "outputs": run.outputs or {},
        "reference_outputs": (example and example.outputs) or {},
    }


def _case(judge: Judge, run: Run, example: Example | None, where: Where) -> Case | Mapping[str, Any]:
    """The case by `where`, or by the usual names; its context, if it has none, from the child runs."""
    if callable(where):
        return where(run, example)
    sides, roots = _sides(run, example), {"run": run, "example": example}
    case = Case.from_exchange(**sides, where=where, roots=roots)
    if any(field.field == "context" for field in judge.inputs):
        is_mapped = "context" in {FIELD_NAMED.get(name) for name in where or ()}
        source = case if is_mapped else Case.from_exchange(None, sides["outputs"], where=where, roots=roots)
        retrieved = documents(run) if source.context is None else None
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
    """The verdict; if there was no case to judge, its error lists the keys that LangSmith had."""
    error = verdict.error
    if error is None or verdict.attempts or error.code == "unexpected":
        return verdict
    sides = _sides(run, example).items()
    keys = "; ".join(f"{side}: {', '.join(map(str, content)) or 'nothing'}" for side, content in sides)
    message = f"{error.message}. LangSmith gave {keys}"
    if not any(_sources(run)):
        message += "; no retriever or tool child runs (evaluate_existing needs load_nested=True for them)"
    if run.error:
        message += f"; the run failed: {run.error.splitlines()[0]}"
    return verdict.model_copy(update={"error": error.model_copy(update={"message": message})})


def _conclude(verdict: Verdict, judge: Judge, run: Run, example: Example | None) -> EvaluationResults:
    verdict = _with_sides(verdict, run, example)
    run.extra = {**(run.extra or {}), VERDICTS: {**_verdicts(run), judge.name: verdict}}
    return {"results": _feedback(verdict, judge)}


def _verdicts(run: Run) -> dict[str, Verdict]:
    """The verdicts that evaluators have stored in the run, by the names of the judges."""
    return cast("dict[str, Verdict]", (run.extra or {}).get(VERDICTS, {}))


def _feedback(verdict: Verdict, judge: Judge) -> list[EvaluationResult]:
    """The verdict as feedback: one result for each of its scores."""
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
