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
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Unpack

from pydantic import PrivateAttr

from groundjudge.case.case import CaseLike, Document
from groundjudge.case.data import is_absent
from groundjudge.case.fields import SIDES, Fields, FieldsLike
from groundjudge.case.traces import traced_documents
from groundjudge.errors import CaseError, requires
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import AnyJudge, Panel
from groundjudge.models.lookup import ModelLike
from groundjudge.verdict import NamedScore, Verdict, passes

with requires("groundjudge.adapters.mlflow needs MLflow", "mlflow"):
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback, Span, SpanType, Trace
    from mlflow.entities.trace_state import TraceState
    from mlflow.genai.scorers import Scorer

__all__ = ["documents", "scorer"]

ROOTS = ("inputs", "outputs", "expectations", "trace")
"""What a path to a field can begin with."""


def scorer(
    judge: JudgeLike,
    *,
    model: ModelLike | None = None,
    name: str | None = None,
    fields: FieldsLike = None,
    **options: Unpack[PanelOptions],
) -> Scorer:
    """Make a judge a scorer for `mlflow.genai.evaluate`.

    The fields of the case are read from inputs, outputs and expectations under their usual names;
    `expected_response` is the reference. A context is read from the outputs, else from the retriever and
    tool spans of the trace (see `documents`), else from the inputs or expectations.

    Args:
        judge: as for `groundjudge.as_judge`.
        model: as for `groundjudge.as_judge`.
        name: the name of the feedback, by default the judge's.
        fields: where to find fields with other names, as for `Fields.of`. A path begins with inputs, outputs,
            expectations or trace; a function is called with these four as keyword arguments.
        options: as for `groundjudge.as_judge`.

    Returns:
        A scorer that never raises. The value of its feedback is the score, 0..1, or None if there is
        nothing to judge, which MLflow does not average; an error has the code of this library. The metadata
        has the label, the signature and, as `groundjudge`, the whole verdict as JSON. A judge with several
        scores gives a list of feedback (passage_quality, passage_recall, passage_precision; with
        name="mine": mine, mine_recall, mine_precision), and for an error only the first: MLflow takes no
        list for a failure.

    Raises:
        GroundjudgeError, TypeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
    """
    made = as_judge(judge, model, **options)
    return JudgeScorer(made, name or made.name, made.cases(fields, ROOTS, _case))


def documents(trace: Trace) -> tuple[Document, ...] | None:
    """The documents that retriever and tool spans below a trace's root returned; see `traced_documents`."""
    children = defaultdict[str | None, list[Span]](list)
    for span in sorted(trace.data.spans, key=lambda span: span.start_time_ns):
        children[span.parent_id].append(span)
    below = [span for root in children[None] for span in children[root.span_id]]
    return traced_documents(below, lambda span: children[span.span_id], _source)


def _source(span: Span) -> tuple[str, str, object]:
    kinds = {SpanType.RETRIEVER: "retriever", SpanType.TOOL: "tool"}
    return kinds.get(span.span_type or "", ""), span.name, span.outputs


class JudgeScorer(Scorer):
    """MLflow's scorer of a judge; it cannot be registered, because MLflow would store its source code."""

    identity: str = ""
    """The judge's identity, which tells the definitions of two scorers apart."""
    timeout: int | float | None = 0
    """Off: a model has its own timeout, and MLflow's would replace the error code."""

    _judge: AnyJudge = PrivateAttr()
    _case_of: Callable[..., CaseLike] = PrivateAttr()

    def __init__(self, judge: AnyJudge, name: str, case_of: Callable[..., CaseLike]) -> None:
        super().__init__(name=name)
        self.identity, self._judge, self._case_of = judge.identity, judge, case_of

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
        row: Any = dict(zip(ROOTS, (inputs, outputs, expectations, trace), strict=True))
        verdict = self._judge.evaluate(lambda: self._case_of(**row))
        first, *others = (_feedback(score, verdict) for score in self._judge.scores(verdict, self.name))
        return [first, *others] if others and not verdict.error else first

    @property
    def pass_if(self) -> Callable[[Any], bool] | None:
        """What `EvaluationResult.passed` asks of a value; None for a panel, whose majority decides."""
        judge = self._judge
        return None if isinstance(judge, Panel) else lambda value: passes(value, judge.threshold)


def _case(fields: Fields, **row: Any) -> Mapping[str, Any]:  # noqa: ANN401
    """The fields of a row; the context, if it has none, from the trace.

    Raises:
        CaseError: `no_response` if the application failed; otherwise as for `Fields.in_row`.
    """
    *sides, trace = (None if is_absent(value) else value for value in row.values())
    if trace and trace.info.state == TraceState.ERROR:
        failures = [span.status.description for span in trace.data.spans if span.parent_id is None]
        raise CaseError("no_response", f"the application failed: {'; '.join(failures)}", "response")
    retrieved = partial(documents, trace) if trace else None
    return fields.in_row(dict(zip(SIDES, sides, strict=True)), row, retrieved)


def _feedback(score: NamedScore, verdict: Verdict) -> Feedback:
    """A score as feedback. Its label is in the metadata, since MLflow averages numbers only."""
    error, said = verdict.error, _metadata(score, verdict).items()
    return Feedback(
        name=score.name,
        value=score.score,
        error=AssessmentError(error.code, error.message) if error else None,
        rationale=score.explanation,
        source=AssessmentSource("LLM_JUDGE", verdict.model),
        metadata={key: str(value) for key, value in said if value not in {None, ""}},
    )


def _metadata(score: NamedScore, verdict: Verdict) -> dict[str, Any]:
    """What a verdict says besides the score; the headline has all of it, and the tokens that it took."""
    shown = {"status": verdict.status, "signature": verdict.signature, "key": verdict.key}
    if score.part:
        return shown | {"label" if isinstance(score.value, str) else "value": score.value}
    usage = verdict.usage
    return shown | {
        "label": verdict.label,
        "value": verdict.value,
        "passed": verdict.passed,
        "warnings": ", ".join(verdict.warnings),
        "groundjudge": verdict.model_dump_json(),
        "mlflow.assessment.judgeInputTokens": usage and usage.prompt_tokens,
        "mlflow.assessment.judgeOutputTokens": usage and usage.completion_tokens,
    }
