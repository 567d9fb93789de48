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

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias, Unpack, cast, get_args
from uuid import uuid4

try:
    from langsmith import get_current_run_tree, trace, traceable
    from langsmith.evaluation import EvaluationResult, EvaluationResults
    from langsmith.evaluation.evaluator import DynamicRunEvaluator, FeedbackConfig
    from langsmith.run_trees import RunTree
    from langsmith.schemas import Example, Run, UsageMetadata
    from langsmith.utils import tracing_is_enabled
except ImportError as error:
    needed = 'groundjudge.adapters.langsmith needs LangSmith: pip install "groundjudge[langsmith]"'
    raise ImportError(needed) from error

from groundjudge import (
    AnyJudge,
    Case,
    Document,
    Failure,
    GroundjudgeError,
    Model,
    NamedScore,
    PanelOptions,
    Prompt,
    Reply,
    Request,
    Rubric,
    Scale,
    Summary,
    Verdict,
    as_judge,
    names,
    summarise,
)
from groundjudge.case.fields import Fields, FieldsGiven, retrieved_documents, tool_documents
from groundjudge.judging.conversation import Step
from groundjudge.models.lookup import ModelLike
from groundjudge.runs.summary import MISSING
from groundjudge.verdict import Usage, score_names

__all__ = ["documents", "evaluator", "log_verdict", "summary"]

Metric: TypeAlias = Literal["mean", "lower_bound", "upper_bound", "coverage", "pass_rate"]

ROOTS = ("inputs", "outputs", "reference_outputs", "run", "example")
"""What a path to a field can begin with."""

VERDICTS = "groundjudge"
"""The key in `run.extra` under which the verdicts on a run are stored for the summary."""

OWNERS = "groundjudge_evaluators"
"""The key in `run.extra` under which each feedback key has the id of the evaluator that uses it."""

METRICS: tuple[Metric, ...] = get_args(Metric)

DOUBT = {"votes", "spread", "agreement", "decided_after", "expected", "distribution"}
"""What a verdict says of how sure it is."""

DUPLICATE = "duplicate_key"
"""The error code of an evaluator whose feedback key another evaluator of the experiment has."""

UNEXPECTED = "unexpected"
"""The error code of an exception that is none of this library, for example of a function `fields`."""


def evaluator(
    judge: str | Path | Rubric | AnyJudge,
    *,
    model: ModelLike | None = None,
    key: str | None = None,
    fields: FieldsGiven = None,
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
        judge: a judge, a panel, a rubric, the name of a judge, or the path of a prompt file.
        model: as for `load`. A judge keeps its model unless another one is given.
        key: the feedback key, by default the judge's name. Evaluators of one experiment need different keys.
        fields: where to find fields with other names: a mapping of field to dotted path, as in
            {"query": "inputs.q", "response": "outputs.choices.0.text"}, or a function from (run, example)
            to the case. A path begins with inputs, outputs, reference_outputs, run or example. Fields that
            the mapping does not contain are read under their usual names.
        options: further options of `load`; they replace the judge's own.

    Returns:
        An evaluator with one feedback key; a judge with several scores has one more key for each
        (passage_quality, passage_recall, passage_precision; with key="mine": mine, mine_recall,
        mine_precision). It stores its verdict in `run.extra`, in memory only, for `summary`.

    Raises:
        GroundjudgeError, TypeError: as for `load`.
        CaseError: `unknown_field` or `bad_path`: `fields` has a field that there is not, or a path that
            begins with something else.
    """
    made = as_judge(judge, model, **options)
    found = Fields.of(fields, [each.name for each in made.inputs], ROOTS)
    return JudgeEvaluator(made, key or made.name, found)


def summary(
    judge: str | Path | Rubric | AnyJudge, *, metrics: Sequence[Metric] = METRICS
) -> Callable[[Sequence[Run], Sequence[Example]], EvaluationResults]:
    """Make a summary evaluator of the verdicts that the judge's `evaluator` gave in the same experiment.

    No case is judged again. The feedback keys are the evaluator's key followed by:

    - `_mean`: the mean score, 0..1.
    - `_lower_bound`, `_upper_bound`: the mean if every error counted as 0, or as 1.
    - `_coverage`: of the rows that should have a score, the share that has one, 0..1.
    - `_pass_rate`: the share of the scored rows that passed, 0..1.

    The comment has the counts of the rows.

    Args:
        judge: the judge, as for `evaluator`, or the evaluator's key if it has one of its own.
        metrics: the figures to send: "mean", "lower_bound", "upper_bound", "coverage", "pass_rate".

    Returns:
        A summary evaluator. It raises ValueError if the experiment has no verdicts under that key.

    Raises:
        ValueError: `metrics` has a name that there is not.
        PromptError: the path is not that of a prompt file.
    """
    key = _key_of(judge)
    unknown = [metric for metric in metrics if metric not in METRICS]
    if unknown:
        message = f"unknown metric {unknown[0]!r}: metrics= is a list of some of {', '.join(METRICS)}"
        raise ValueError(message)

    def summarised(runs: Sequence[Run], examples: Sequence[Example]) -> EvaluationResults:  # noqa: ARG001
        verdicts = _verdicts(runs, key)
        (found,) = summarise(verdicts)
        figures, comment = _figures(found), found.counts
        info = {"signatures": sorted({verdict.signature for verdict in verdicts})}
        return {
            "results": [
                EvaluationResult(
                    key=f"{key}_{metric}", score=figures[metric], comment=comment, evaluator_info=info
                )
                for metric in metrics
            ]
        }

    summarised.__name__ = f"{key}_summary"
    return summarised


def _key_of(judge: str | Path | Rubric | AnyJudge) -> str:
    """The key of a judge's evaluator: the judge's name; or the key itself."""
    if not isinstance(judge, str | Path):
        return judge.name
    is_file = str(judge) not in names() and Path(judge).is_file()
    return Prompt.read(judge).name if is_file or isinstance(judge, Path) else judge


def _verdicts(runs: Sequence[Run], key: str) -> list[Verdict]:
    """The verdicts that the evaluator with this key has stored in the runs."""
    found = [_kept(run, VERDICTS) for run in runs]
    verdicts = [kept[key] for kept in found if key in kept]
    if not verdicts:
        message = f"no verdicts under the key {key!r}: evaluator({key!r}, ...) must be among the evaluators"
        keys = ", ".join(dict.fromkeys(key for kept in found for key in kept))
        raise ValueError(f"{message}; there are those of {keys}" if keys else message)
    return verdicts


def _figures(found: Summary) -> dict[Metric, float | None]:
    lower_bound, upper_bound = found.bounds or (None, None)
    return {
        "mean": found.mean,
        "lower_bound": lower_bound,
        "upper_bound": upper_bound,
        "coverage": found.coverage,
        "pass_rate": found.pass_rate,
    }


def log_verdict(verdict: Verdict, judge: AnyJudge) -> None:
    """Log the judge's verdict as feedback on the current test of LangSmith's pytest plugin.

    There is one piece of feedback per score; none is sent if `LANGSMITH_TEST_TRACKING` is false.

    Args:
        verdict: the verdict to log. An error that `Judge.judge` raises has one in its attribute `verdict`.
        judge: the judge that gave it.
    """
    from langsmith import testing  # noqa: PLC0415  it imports pytest, which only tests need

    for result in _feedback(verdict, judge, _keys(judge, judge.name)):
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

    def __init__(self, judge: AnyJudge, key: str, fields: Fields) -> None:
        keys, evaluator = _keys(judge, key), uuid4().hex

        @traceable(name="judge")
        def judging(case: Case | Mapping[str, Any]) -> Verdict:
            return judge.judge(case, _traced)

        @traceable(name="judge")
        async def ajudging(case: Case | Mapping[str, Any]) -> Verdict:
            return await judge.ajudge(case, _traced)

        def conclude(verdict: Verdict, run: Run, example: Example | None) -> EvaluationResults:
            verdict = _explained(verdict, run, example)
            if _kept(run, OWNERS)[key] == evaluator:
                _keep(run, VERDICTS, {key: verdict})
            return {"results": _feedback(verdict, judge, keys)}

        # LangSmith traces run and example in full unless a function takes more arguments.
        def score(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            try:
                _claim(run, [*keys.values()], evaluator)
                verdict = judging(_case(judge, run, example, fields))
            except Exception as error:  # noqa: BLE001  an error in one row must not affect others
                verdict = judge.failed(error)
            return conclude(verdict, run, example)

        async def ascore(run: Run, example: Example | None, outputs: object) -> EvaluationResults:  # noqa: ARG001
            try:
                _claim(run, [*keys.values()], evaluator)
                verdict = await ajudging(_case(judge, run, example, fields))
            except Exception as error:  # noqa: BLE001  an error in one row must not affect others
                verdict = judge.failed(error)
            return conclude(verdict, run, example)

        score.__name__ = ascore.__name__ = key
        super().__init__(cast("Any", score), cast("Any", ascore))
        self.keys = list(keys.values())

    @property
    def feedback_keys(self) -> list[str]:
        """The keys of the feedback, which LangSmith reads before there is any."""
        return self.keys


def _keys(judge: AnyJudge, key: str) -> dict[str, str]:
    """The feedback keys by the parts of the verdict; the headline's part is ""."""
    return score_names(key, judge.part_names)


@contextmanager
def _traced(step: Step) -> Generator[Callable[[Any], object]]:
    """Trace each call of a model as an llm run, and each vote as a run."""
    results: list[Any] = []
    if step.is_vote:
        with trace(step.name, inputs={"case": step.given}) as run:
            yield results.append
            run.end(outputs={"output": results[0]})
        return
    with _llm_run(step, results):
        yield results.append


@contextmanager
def _llm_run(step: Step, results: Sequence[Any]) -> Generator[None]:
    """Add a call of the model to the trace when it has ended, unless it has added itself.

    Only then is it known whether the model is traced, for example by `wrap_openai` within a function.
    """
    model = step.model
    parent = get_current_run_tree() if model and tracing_is_enabled() is True else None
    if model is None or parent is None:
        yield
        return
    n_before, started, error = len(parent.child_runs), datetime.now(UTC), None
    try:
        yield
    except Exception as raised:
        error = repr(raised)
        raise
    finally:
        if not _has_llm_run(parent.child_runs[n_before:]):
            parent.create_child(
                step.name,
                "llm",
                inputs=_call(model, step.given),
                outputs=_completion(results[0]) if results else None,
                error=error,
                start_time=started,
                end_time=datetime.now(UTC),
                extra={"metadata": _metadata(model, *results)},
            ).post()


def _has_llm_run(runs: Sequence[RunTree]) -> bool:
    return any(run.run_type == "llm" or _has_llm_run(run.child_runs) for run in runs)


def _call(model: Model, request: Request) -> dict[str, Any]:
    return {"model": model.name, "messages": [*map(dict, request.messages)], **request.parameters}


def _completion(reply: Reply) -> dict[str, Any]:
    """The reply as a chat completion, with its tokens as LangSmith names them."""
    message = {"role": "assistant", "content": reply.text}
    message |= {"refusal": reply.refusal} if reply.refusal else {}
    completion: dict[str, Any] = {"choices": [{"message": message, "finish_reason": reply.finish_reason}]}
    completion |= {"model": reply.model} if reply.model else {}
    return completion | ({"usage_metadata": _tokens(reply.usage)} if reply.usage else {})


def _metadata(model: Model, reply: Reply | None = None) -> dict[str, Any]:
    """What LangSmith needs to look up the price of a call and to show its tokens."""
    metadata: dict[str, Any] = {"ls_model_type": "chat", "ls_model_name": model.name}
    inner = getattr(model, "model", model)  # that of a CachedModel
    endpoint = str(getattr(inner, "endpoint", ""))
    if "://" in endpoint:  # chat completions are OpenAI's interface, whoever offers them
        metadata["ls_provider"] = "azure" if ".azure." in endpoint else "openai"
    return metadata | ({"usage_metadata": _tokens(reply.usage)} if reply and reply.usage else {})


def _tokens(usage: Usage) -> UsageMetadata:
    return UsageMetadata(
        input_tokens=usage.prompt_tokens,
        output_tokens=usage.completion_tokens,
        total_tokens=usage.total_tokens,
    )


def _sides(run: Run, example: Example | None) -> dict[str, Any]:
    """The inputs, outputs and reference outputs, the roots of paths."""
    return {
        "inputs": (example and example.inputs) or run.inputs,
        "outputs": run.outputs or {},
        "reference_outputs": (example and example.outputs) or {},
    }


def _case(judge: AnyJudge, run: Run, example: Example | None, fields: Fields) -> Case | Mapping[str, Any]:
    """The case by `fields`, or by the usual names; its context, if it has none, from the child runs."""
    if fields.function:
        return Case.of(fields.function(run, example))
    roots = {"run": run, "example": example}
    found = fields.in_exchange(**_sides(run, example), roots=roots, retrieved=lambda: documents(run))
    if _has_crashed(run) and "response" not in fields.paths:  # the inputs can hold a response too
        found["response"] = None
    own = {each.name for each in judge.inputs if each.is_custom}
    more = {key: value for key, value in ((example and example.metadata) or {}).items() if key in own}
    return {**found, "metadata": {**more, **found["metadata"]}}


def _has_crashed(run: Run) -> bool:
    """Whether the run failed before it returned anything."""
    return bool(run.error) and all(value is None for value in (run.outputs or {}).values())


def _sources(run: Run) -> Iterator[Run]:
    for child in run.child_runs or ():
        if child.run_type in {"retriever", "tool"}:
            yield child
        else:
            yield from _sources(child)


def _returned(source: Run) -> tuple[Document, ...]:
    outputs: dict[str, Any] = source.outputs or {}
    if source.run_type == "retriever":
        return retrieved_documents(outputs)
    return tool_documents(source.name, outputs)


def _explained(verdict: Verdict, run: Run, example: Example | None) -> Verdict:
    """The verdict; if there was no case to judge, its error says what LangSmith had, and why.

    Whatever a run lacks that has crashed, it lacks a response, which is an error and never a missing field.
    """
    error = verdict.error
    if error is None or verdict.attempts or error.code == DUPLICATE:
        return verdict
    code, message = error.code, error.message
    if code != UNEXPECTED:
        message += f". LangSmith gave {_keys_of_sides(run, example)}"
    if run.error:
        message += f"; the run failed: {run.error.splitlines()[0]}"
    if _has_crashed(run) and code in {MISSING, UNEXPECTED}:
        code = "no_response"
    return verdict.model_copy(update={"error": Failure(code=code, message=message)})


def _keys_of_sides(run: Run, example: Example | None) -> str:
    sides = _sides(run, example).items()
    keys = "; ".join(f"{side}: {', '.join(map(str, content)) or 'nothing'}" for side, content in sides)
    if any(_sources(run)):
        return keys
    return f"{keys}; no retriever or tool child runs (evaluate_existing needs load_nested=True for them)"


def _kept(run: Run, name: str) -> dict[str, Any]:
    """What evaluators keep in the run, by their keys: their verdicts, or their ids."""
    return cast("dict[str, Any]", (run.extra or {}).get(name, {}))


def _keep(run: Run, name: str, content: Mapping[str, Any]) -> None:
    run.extra = {**(run.extra or {}), name: {**_kept(run, name), **content}}


def _claim(run: Run, keys: Sequence[str], evaluator: str) -> None:
    """Reserve the feedback keys of an evaluator on the run, before it judges.

    Raises:
        GroundjudgeError: `duplicate_key`: another evaluator has one of them.
    """
    owners = dict.fromkeys(keys, evaluator) | _kept(run, OWNERS)
    _keep(run, OWNERS, owners)
    taken = next((key for key in keys if owners[key] != evaluator), None)
    if taken:
        message = (
            f"two evaluators have the feedback key {taken!r}, so the verdicts of one would overwrite the "
            f"other's: give one of them another key, as in evaluator(..., key='{taken}_2')"
        )
        raise GroundjudgeError(DUPLICATE, message, taken)


def _feedback(verdict: Verdict, judge: AnyJudge, keys: Mapping[str, str]) -> list[EvaluationResult]:
    """The verdict as feedback: one result for each of its scores."""
    config = _categories(judge.scale)
    return [
        _result(keys[score.part], score, verdict, config if _is_category(score) else None)
        for score in judge.scores(verdict)
    ]


def _is_category(score: NamedScore) -> bool:
    """Whether the value is a label; that of a panel without a common label is a number."""
    return score.score is not None and isinstance(score.value, str)


def _categories(scale: Scale) -> FeedbackConfig | None:
    """The labels of a scale as LangSmith's categories, which must have a value; None if it has numbers."""
    listed: list[Any] = [
        {"value": own, "label": name} for name, own in scale.choices.items() if own is not None
    ]
    return FeedbackConfig(type="categorical", min=None, max=None, categories=listed) if listed else None


def _result(key: str, score: NamedScore, verdict: Verdict, config: FeedbackConfig | None) -> EvaluationResult:
    prompt = verdict.prompt.model_dump() if verdict.prompt else {}
    info = {f"prompt_{name}": value for name, value in prompt.items()}
    info |= {"model": verdict.model, "signature": verdict.signature}
    extra = verdict.model_dump(mode="json", include={"status", "passed", "parts", "warnings"})
    extra |= verdict.model_dump(
        mode="json", include=DOUBT, exclude={"votes": {"__all__": {"reply"}}}, exclude_defaults=True
    )
    if verdict.error:
        extra |= {"error": True} | ({} if verdict.reply is None else {"reply": verdict.reply})
    return EvaluationResult(
        key=key,
        score=score.score,
        value=score.value,
        comment=score.explanation,
        evaluator_info=info,
        feedback_config=config,
        extra=extra,
    )
