"""MLflow: a judge as a scorer for `mlflow.genai.evaluate`.

    mlflow.genai.evaluate(
        data=[{"inputs": {"question": "...", "context": ["..."]}, "outputs": "..."}],
        scorers=[scorer("groundedness", model="openai:gpt-6-luna")],
    )

It scores rows with inputs, outputs and expectations, the results of a `predict_fn`, and traces: what their
retriever and tool spans returned is the context.
"""

# MLflow is only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Unpack

from pydantic import PrivateAttr

from groundjudge.case.case import CaseLike, Document
from groundjudge.case.data import is_absent
from groundjudge.case.fields import Fields, FieldsLike
from groundjudge.case.traces import traced_documents, try_find
from groundjudge.errors import CaseError, requires
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import AnyJudge, Panel
from groundjudge.models.lookup import ModelLike
from groundjudge.verdict import NamedScore, Verdict, passes

with requires("groundjudge.adapters.mlflow needs MLflow", "mlflow"):
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback, Span, SpanStatusCode, Trace
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
    """Make a scorer for `mlflow.genai.evaluate` from a judge.

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
        name="mine": mine, mine_recall, mine_precision), and for an error only the first: MLflow accepts no
        list for a failure.

    Raises:
        GroundjudgeError, TypeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
    """
    loaded = as_judge(judge, model, **options)
    case_of = loaded.cases(fields, ROOTS, _case_of)
    return JudgeScorer(loaded, name or loaded.name, case_of)


def documents(trace: Trace) -> tuple[Document, ...] | None:
    """Return the documents from retriever and tool spans below a trace's root; see `traced_documents`."""
    children = defaultdict[str | None, list[Span]](list)
    for span in sorted(trace.data.spans, key=lambda span: span.start_time_ns):
        children[span.parent_id].append(span)
    # The root is the application itself: what it returned is the response, even if it is a tool's span.
    below_root: list[Span] = []
    for root in children[None]:
        below_root.extend(children[root.span_id])

    def source(span: Span) -> tuple[str, str, object, str | None]:
        error: str | None = None
        if span.status.status_code == SpanStatusCode.ERROR:
            error = span.status.description
        return str(span.span_type).lower(), span.name, span.outputs, error  # "RETRIEVER", "TOOL" or another

    return traced_documents(below_root, lambda span: children[span.span_id], source)


def _case_of(fields: Fields, **roots: Any) -> Mapping[str, Any]:  # noqa: ANN401
    """Return the fields of a row; the context, if it has none, from the trace.

    Args:
        fields: where the caller finds fields with other names.
        roots: what MLflow gives a scorer, by `ROOTS`.

    Raises:
        CaseError: `no_response` if the application failed; otherwise as for `Fields.in_row`.
    """
    sides: dict[str, Any] = {}
    for side, root in (("inputs", "inputs"), ("outputs", "outputs"), ("reference_outputs", "expectations")):
        # MLflow makes a table of the rows: what a row lacks is NaN there.
        sides[side] = None if is_absent(roots[root]) else roots[root]
    trace = None if is_absent(roots["trace"]) else roots["trace"]
    if not trace:
        return fields.in_row(sides, roots)
    # What a crashed application returned before it failed is not a response.
    if trace.info.state == TraceState.ERROR:
        failures = [span.status.description for span in trace.data.spans if span.parent_id is None]
        raise CaseError("no_response", f"the application failed: {'; '.join(failures)}", "response")
    return fields.in_row(sides, roots, try_find(documents, trace))


def _result_of(verdict: Verdict, judge: AnyJudge, name: str) -> Feedback | list[Feedback]:
    """Return the verdict as feedback, one piece per score; MLflow accepts no list for a failure."""
    error: AssessmentError | None = None
    if verdict.error:
        error = AssessmentError(verdict.error.code, verdict.error.message)
    result: list[Feedback] = []
    for score in judge.scores(verdict, name):
        feedback = Feedback(
            name=score.name,
            value=score.score,
            error=error,
            rationale=score.explanation,
            source=AssessmentSource("LLM_JUDGE", verdict.model),
            metadata=_metadata_of(score, verdict),
        )
        result.append(feedback)
    return result[0] if error or len(result) == 1 else result


def _metadata_of(score: NamedScore, verdict: Verdict) -> dict[str, str]:
    """Return the metadata that accompanies a score; the headline has all of it, and the tokens.

    It includes labels, because MLflow averages only numbers.
    """
    metadata: dict[str, Any] = {
        "status": verdict.status,
        "signature": verdict.signature,
        "key": verdict.key,
    }
    if score.part:  # "" for the headline
        metadata["label" if isinstance(score.value, str) else "value"] = score.value
    else:
        metadata["label"] = verdict.label
        metadata["value"] = verdict.value
        metadata["passed"] = verdict.passed
        metadata["warnings"] = ", ".join(verdict.warnings)
        metadata["groundjudge"] = verdict.model_dump_json()
    # Only once: the parts used no tokens themselves.
    if verdict.usage and not score.part:
        metadata["mlflow.assessment.judgeInputTokens"] = verdict.usage.prompt_tokens
        metadata["mlflow.assessment.judgeOutputTokens"] = verdict.usage.completion_tokens
    # MLflow's metadata consists of strings, in which "None" would look like a label.
    return {key: str(value) for key, value in metadata.items() if value not in {None, ""}}


class JudgeScorer(Scorer):
    """MLflow's scorer of a judge; it cannot be registered, because MLflow would store its source code."""

    identity: str = ""
    """The judge's identity, which distinguishes the definitions of two scorers."""
    timeout: int | float | None = 0
    """Off: a model has its own timeout, and MLflow's would replace the error code."""

    _judge: AnyJudge = PrivateAttr()
    _case_of: Callable[..., CaseLike] = PrivateAttr()

    def __init__(self, judge: AnyJudge, name: str, case_of: Callable[..., CaseLike]) -> None:
        super().__init__(name=name)
        self.identity = judge.identity
        self._judge = judge
        self._case_of = case_of

    def __call__(
        self,
        *,
        inputs: Any = None,  # noqa: ANN401  the application decides
        outputs: Any = None,  # noqa: ANN401
        expectations: dict[str, Any] | None = None,
        trace: Trace | None = None,
        session: list[Trace] | None = None,  # noqa: ARG002  MLflow has it for scorers of conversations
    ) -> Feedback | list[Feedback]:
        """Judge a row; a judge with several scores gives one piece of feedback for each."""
        roots = {"inputs": inputs, "outputs": outputs, "expectations": expectations, "trace": trace}
        verdict = self._judge.evaluate(lambda: self._case_of(**roots))
        return _result_of(verdict, self._judge, self.name)

    @property
    def pass_if(self) -> Callable[[Any], bool] | None:
        """The test of `EvaluationResult.passed` for a value; None for a panel, whose majority decides."""
        judge = self._judge
        if isinstance(judge, Panel):  # its mean can be above the threshold although most votes fail
            return None
        return lambda value: passes(value, judge.threshold)
