"""MLflow: a judge as a scorer for `mlflow.genai.evaluate`.

    mlflow.genai.evaluate(
        data=[{"inputs": {"question": "...", "context": ["..."]}, "outputs": "..."}],
        scorers=[scorer("groundedness", model="openai:gpt-4o-mini")],
    )

It scores rows with inputs, outputs and expectations, the results of a `predict_fn`, and traces: what their
retriever and tool spans returned is the context.
"""

# MLflow is only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Unpack

from pydantic import PrivateAttr

from groundjudge import (
    AnyJudge,
    Case,
    CaseError,
    Document,
    NamedScore,
    Panel,
    PanelOptions,
    Rubric,
    Verdict,
    as_judge,
)
from groundjudge.case.fields import Fields, FieldsGiven, retrieved_documents, tool_documents
from groundjudge.case.shapes import is_absent
from groundjudge.models.lookup import ModelLike
from groundjudge.verdict import passes, score_names

try:
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback, Span, SpanType, Trace
    from mlflow.entities.trace_state import TraceState
    from mlflow.genai.scorers import Scorer
except ImportError as error:
    needed = 'groundjudge.adapters.mlflow needs MLflow: pip install "groundjudge[mlflow]"'
    raise ImportError(needed) from error

__all__ = ["documents", "scorer"]

ROOTS = ("inputs", "outputs", "expectations", "trace")
"""What a path to a field can begin with."""

RENAMED = {"expected_response": "reference"}
"""MLflow's own name of an expectation that is a field of the case."""


def scorer(
    judge: str | Path | Rubric | AnyJudge,
    *,
    model: ModelLike | None = None,
    name: str | None = None,
    fields: FieldsGiven = None,
    **options: Unpack[PanelOptions],
) -> Scorer:
    """Make a judge a scorer for `mlflow.genai.evaluate`.

    The fields of the case are read from inputs, outputs and expectations under their usual names;
    `expected_response` is the reference. A context is read from the outputs, else from the retriever and
    tool spans of the trace (see `documents`), else from the inputs or expectations.

    Args:
        judge: a judge, a panel, a rubric, the name of a judge, or the path of a prompt file.
        model: as for `load`. A judge keeps its model unless another one is given.
        name: the name of the feedback, by default the judge's.
        fields: where to find fields with other names: a mapping of field to dotted path, as in
            {"query": "inputs.q", "response": "outputs.choices.0.message.content"}, or a function from
            (inputs, outputs, expectations, trace) to the case. A path begins with inputs, outputs,
            expectations or trace. Fields that the mapping does not contain are read under their usual names.
        options: further options of `load`; they replace the judge's own.

    Returns:
        A scorer that never raises. The value of its feedback is the score, 0..1, or None if there is
        nothing to judge, which MLflow does not average; an error has the code of this library. The metadata
        has the label, the signature and, as `groundjudge`, the whole verdict as JSON. A judge with several
        scores gives a list of feedback (passage_quality, passage_recall, passage_precision; with
        name="mine": mine, mine_recall, mine_precision).

    Raises:
        GroundjudgeError, TypeError: as for `load`; for `fields`, as for `Fields.of`.
    """
    made = as_judge(judge, model, **options)
    found = Fields.of(fields, [each.name for each in made.inputs], ROOTS)
    return JudgeScorer(made, name or made.name, found)


def documents(trace: Trace) -> tuple[Document, ...] | None:
    """The documents that retriever and tool spans of a trace returned; None if it has no such span.

    Only the outermost spans below the root count: the application saw what they returned, not the spans
    inside them.

    Raises:
        CaseError: `context_unreadable` if something that was retrieved has no text.
    """
    children = defaultdict[str | None, list[Span]](list)
    for span in sorted(trace.data.spans, key=lambda span: span.start_time_ns):
        children[span.parent_id].append(span)
    sources = [source for root in children[None] for source in _sources(root, children)]
    return tuple(document for source in sources for document in _returned(source)) if sources else None


class JudgeScorer(Scorer):
    """MLflow's scorer of a judge; it cannot be registered, because MLflow would store its source code."""

    identity: str = ""
    """The judge's identity, which tells the definitions of two scorers apart."""
    timeout: int | float | None = 0
    """Off: a model has its own timeout, and MLflow's would replace the error code."""

    _judge: AnyJudge = PrivateAttr()
    _found_by: Fields = PrivateAttr()

    def __init__(self, judge: AnyJudge, name: str, fields: Fields) -> None:
        super().__init__(name=name)
        self.identity, self._judge, self._found_by = judge.identity, judge, fields

    def __call__(
        self,
        *,
        inputs: Any = None,  # noqa: ANN401  whatever the application takes
        outputs: Any = None,  # noqa: ANN401
        expectations: dict[str, Any] | None = None,
        trace: Trace | None = None,
        session: list[Trace] | None = None,  # noqa: ARG002  MLflow has it for scorers of conversations
    ) -> Feedback | list[Feedback]:
        """Judge a row; a judge with several scores gives as many pieces of feedback."""
        judge = self._judge
        row = {"inputs": inputs, "outputs": outputs, "expectations": expectations, "trace": trace}
        try:
            verdict = judge.judge(_case(row, self._found_by))
        except Exception as error:  # noqa: BLE001  an error in one row must not affect others
            verdict = judge.failed(error)
        names = score_names(self.name, judge.part_names)
        feedback = [_feedback(names[score.part], score, verdict) for score in judge.scores(verdict)]
        return feedback if len(feedback) > 1 else feedback[0]

    @property
    def pass_if(self) -> Callable[[Any], bool] | None:
        """What `EvaluationResult.passed` asks of a value; None for a panel, whose majority decides."""
        judge = self._judge
        return None if isinstance(judge, Panel) else lambda value: passes(value, judge.threshold)


def _case(row: Mapping[str, Any], fields: Fields) -> Case | Mapping[str, Any]:
    """The case by `fields`, or by the usual names; its context, if it has none, from the trace.

    Raises:
        CaseError: `no_response` if the application failed; otherwise as for `Fields.in_exchange`.
    """
    if fields.function:
        return Case.of(fields.function(**row))
    inputs, outputs, expectations, trace = (None if is_absent(value) else value for value in row.values())
    if outputs is None and trace and trace.info.state == TraceState.ERROR:
        failures = [span.status.description for span in trace.data.spans if span.parent_id is None]
        raise CaseError("no_response", f"the application failed: {'; '.join(failures)}", "response")
    expected = {RENAMED.get(name, name): value for name, value in (expectations or {}).items()}
    retrieved = partial(documents, trace) if trace else None
    return fields.in_exchange(inputs, outputs, expected, roots=row, retrieved=retrieved)


def _sources(parent: Span, children: Mapping[str | None, list[Span]]) -> Iterator[Span]:
    for child in children[parent.span_id]:
        if child.span_type in {SpanType.RETRIEVER, SpanType.TOOL}:
            yield child
        else:
            yield from _sources(child, children)


def _returned(source: Span) -> tuple[Document, ...]:
    if source.span_type == SpanType.RETRIEVER:
        return retrieved_documents(source.outputs)
    return tool_documents(source.name, source.outputs)


def _feedback(name: str, score: NamedScore, verdict: Verdict) -> Feedback:
    """A score as feedback. Its label is in the metadata, since MLflow averages numbers only."""
    error = verdict.error
    return Feedback(
        name=name,
        value=score.score,
        error=AssessmentError(error.code, error.message) if error else None,
        rationale=score.explanation,
        source=AssessmentSource("LLM_JUDGE", verdict.model),
        metadata={key: str(value) for key, value in _metadata(score, verdict) if value not in {None, ""}},
    )


def _metadata(score: NamedScore, verdict: Verdict) -> Iterator[tuple[str, Any]]:
    """What a verdict says besides the score; the headline has all of it, and the tokens that it took."""
    yield "status", verdict.status
    yield "signature", verdict.signature
    yield "key", verdict.key
    if score.part:
        yield "label" if isinstance(score.value, str) else "value", score.value
        return
    yield "label", verdict.label
    yield "value", verdict.value
    yield "passed", verdict.passed
    yield "warnings", ", ".join(verdict.warnings)
    yield "groundjudge", verdict.model_dump_json()
    if verdict.usage:
        yield "mlflow.assessment.judgeInputTokens", verdict.usage.prompt_tokens
        yield "mlflow.assessment.judgeOutputTokens", verdict.usage.completion_tokens
