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

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

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
    Adjacent,
    Case,
    CaseError,
    Document,
    Failure,
    GroundjudgeError,
    Judge,
    Verdict,
    load,
    summarise,
)
from groundjudge.case import FIELD_NAMED

__all__ = ["documents", "evaluator", "log_verdict", "summary"]

CaseOf: TypeAlias = Callable[[Run, Example | None], Case | Mapping[str, Any]]
Where: TypeAlias = CaseOf | Mapping[str, str] | None

DOCUMENT_LISTS = ("output", "documents", "contexts", "context", "results")
"""The keys under which the outputs of a retriever's run hold what it found."""

KEPT = "groundjudge"
"""The key in `run.extra` under which the verdicts on a run are kept for the summary."""

log = logging.getLogger(__name__)


def evaluator(
    judge: str | Path | Judge,
    *,
    model: Any = None,  # noqa: ANN401  whatever `load` takes
    case: Where = None,
    **options: Any,  # noqa: ANN401
) -> DynamicRunEvaluator:
    """Make a judge an evaluator for `evaluate`, `aevaluate` and `evaluate_existing`.

    The case is found under the usual names of its fields in inputs, outputs and reference outputs.
    For a judge that takes a context, one that neither inputs nor outputs hold is what `documents` finds.

    Args:
        judge: a judge, or the name or path of one, which is loaded with `model` and `options`.
        model: as for `load`.
        case: for other names: a function from (run, example) to the case, or a mapping of field to
            dotted path, as in {"query": "inputs.q", "response": "outputs.choices.0.text"}. A path
            begins with inputs, outputs, reference_outputs, run or example. Fields that the mapping
            does not name are found under their usual names.
        options: as for `load`.

    Returns:
        An evaluator with one feedback key, the judge's name; a judge of several scores has one more
        for each (passage_quality, passage_recall, passage_precision). It leaves its verdict in
        `run.extra`, in memory only, where `summary` finds it.

    Raises:
        GroundjudgeError: as for `load`.
    """
    if not isinstance(judge, Judge):
        judge = load(judge, model=model, **options)
    elif model is not None or options:
        conflict = "a Judge has its model and options already: pass them to load(), or pass the judge's name"
        raise TypeError(conflict)
    return JudgeEvaluator(judge, case)


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
                verdict = _failed(judge, error, run, example)
            return _conclude(verdict, judge, run)

        async def ascore(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            try:
                verdict = await ajudging(_case(judge, run, example, where))
            except Exception as error:  # noqa: BLE001
                verdict = _failed(judge, error, run, example)
            return _conclude(verdict, judge, run)

        score.__name__ = ascore.__name__ = judge.name
        super().__init__(cast("Any", score), cast("Any", ascore))
        self.keys = [judge.name, *_part_keys(judge).values()]

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
    """The case from where it is said to be, or by the usual names; its context, if need be, from the run."""
    if callable(where):
        return where(run, example)
    sides = _sides(run, example)
    case = own = Case()
    with suppress(CaseError) if where else nullcontext():  # names that disagree matter only where they count
        case, own = Case.from_exchange(**sides), Case.from_exchange(None, sides["outputs"])
    if where:
        sides |= {"run": run, "example": example}
        said = Case.from_mapping({field: _at(sides, path) for field, path in where.items()})
        named = {FIELD_NAMED[name] for name in where if name in FIELD_NAMED}
        told: dict[str, Any] = {field: getattr(said, field) for field in named}
        told |= {"id": said.id or case.id, "metadata": {**case.metadata, **said.metadata}}
        case, own = case.model_copy(update=told), own.model_copy(update=told)
    if own.context is None and any(each.field == "context" for each in judge.prompt.inputs):
        retrieved = documents(run)
        return case if retrieved is None else case.model_copy(update={"context": retrieved})
    return case


def _at(sides: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401
    """What a dotted path leads to, by keys, attributes and the numbers of items; None if nowhere."""
    side, *names = path.split(".")
    if side not in sides:
        message = f"the path {path!r} begins with {side!r}, which is none of {', '.join(sides)}"
        raise CaseError("bad_path", message, path)
    value: Any = sides[side]
    for name in names:
        if hasattr(value, "get"):
            value = value.get(name)
        elif name.isdigit():
            value = dict(enumerate(value or ())).get(int(name))
        else:
            value = getattr(value, name, None)
    return value


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


def _failed(judge: Judge, error: Exception, run: Run, example: Example | None) -> Verdict:
    """The verdict of a row that raised; where the case is at fault, with what there was to make one of."""
    verdict = Verdict(judge=judge.name, status="error", model=judge.model.name, prompt=judge.prompt.id)
    code, told = "unexpected", f"{type(error).__name__}: {error}"
    if isinstance(error, GroundjudgeError):
        verdict, code, told = error.verdict or verdict, error.code, error.message
    else:
        log.error("%s raised what no judge should", judge.name, exc_info=error)
    if isinstance(error, CaseError):
        sides = _sides(run, example).items()
        held = "; ".join(f"{side}: {', '.join(map(str, there)) or 'nothing'}" for side, there in sides)
        told += f". LangSmith gave {held}"
        if not any(_sources(run)):
            told += "; no retriever or tool child runs (evaluate_existing needs load_nested=True for them)"
        if run.error:
            told += f"; a run that failed: {run.error.splitlines()[0]}"
    return verdict.model_copy(update={"error": Failure(code=code, message=told)})


def _conclude(verdict: Verdict, judge: Judge, run: Run) -> EvaluationResults:
    run.extra = {**(run.extra or {}), KEPT: {**_kept(run), judge.name: verdict}}
    return {"results": _feedback(verdict, judge)}


def _kept(run: Run) -> dict[str, Verdict]:
    return cast("dict[str, Verdict]", (run.extra or {}).get(KEPT, {}))


def _part_keys(judge: Judge) -> dict[str, str]:
    """The feedback keys of the scores that a judge gives besides its headline, by their names."""
    names = judge.format.names if isinstance(judge.format, Adjacent) else ()
    return {name: f"{judge.name.removesuffix('_quality')}_{name}" for name in names}


def _feedback(verdict: Verdict, judge: Judge) -> list[EvaluationResult]:
    """A verdict as feedback: one result for its score, and one for each score that it is made of."""
    prompt = verdict.prompt.model_dump() if verdict.prompt else {}
    info = {f"prompt_{name}": told for name, told in prompt.items()}
    info |= {"model": verdict.model, "signature": verdict.signature}
    extra = verdict.model_dump(mode="json", include={"status", "passed", "parts", "warnings"})
    extra |= {"error": True} if verdict.error else {}
    whole = (verdict.score, verdict.value if verdict.label is None else verdict.label, _comment(verdict))
    parts = {part.name: (part.score, part.value, part.reason) for part in verdict.parts}
    rows = {judge.name: whole} | {key: parts.get(name, whole) for name, key in _part_keys(judge).items()}
    return [
        EvaluationResult(
            key=key, score=score, value=value, comment=comment, evaluator_info=dict(info), extra=dict(extra)
        )
        for key, (score, value, comment) in rows.items()
    ]


def _comment(verdict: Verdict) -> str:
    if verdict.error:
        return f"{verdict.error.code}: {verdict.error.message}"
    lines = [verdict.reason or (f"not applicable: {verdict.label}" if verdict.status != "ok" else "")]
    if verdict.parts:
        weakest = min(verdict.parts, key=lambda part: part.score)
        quoted = " ... ".join(f'"{found.quote}"' for found in weakest.evidence)
        lines.append(f"weakest: {weakest.name} ({weakest.value:g}) {quoted or weakest.reason}".rstrip())
    return "\n".join(line for line in lines if line)
