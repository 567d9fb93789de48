"""OpenTelemetry: a verdict as `gen_ai.evaluation.result` events, on the span of the response that was judged.

    with tracer.start_as_current_span("chat") as span:
        response = application(query)
    verdict = judge.evaluate({"query": query, "context": documents, "response": response})
    emit(verdict, judge, span_context=span.get_span_context())

The events are log records, and follow the semantic conventions for generative AI (status: development).
Only `opentelemetry-api` is needed: without an SDK whose logger provider is set, nothing is sent.
"""

from __future__ import annotations

from time import time_ns

from groundjudge.errors import requires
from groundjudge.judging.panel import AnyJudge
from groundjudge.verdict import NamedScore, Verdict, __version__, named_scores

with requires("groundjudge.adapters.opentelemetry needs opentelemetry-api", "otel"):
    from opentelemetry._logs import LoggerProvider, SeverityNumber, get_logger
    from opentelemetry.trace import NonRecordingSpan, SpanContext, set_span_in_context
    from opentelemetry.util.types import AttributeValue

__all__ = ["emit"]


def emit(
    verdict: Verdict,
    judge: AnyJudge | None = None,
    *,
    span_context: SpanContext | None = None,
    response_id: str | None = None,
    logger_provider: LoggerProvider | None = None,
) -> None:
    """Emit an event for each score of a verdict.

    Its attributes are `gen_ai.evaluation.name`, `.score.value` (0..1; absent without a score), `.score.label`
    (the verdict's label; "not_applicable" for such a verdict without one) and `.explanation`; `error.type`,
    the code of an error; `gen_ai.response.id`, if given; and of this library `groundjudge.status`,
    `groundjudge.signature` and `groundjudge.verdict`, which is the whole verdict as JSON.

    Args:
        verdict: the verdict.
        judge: the judge that gave it; only needed for one with several scores (passage_quality), which
            without it has only an event for the headline.
        span_context: the span whose output was judged; by default the current span.
        response_id: the id of the judged completion, which helps if spans are not available.
        logger_provider: where to send the events, by default the global one.

    Raises:
        ValueError: another judge gave the verdict: it does not have this one's scores.
    """
    logger = get_logger("groundjudge", __version__, logger_provider)
    context = None  # OpenTelemetry uses the current span
    if span_context is not None:
        # Only the span's ids are needed; it may have ended.
        context = set_span_in_context(NonRecordingSpan(span_context))
    scores = judge.scores(verdict) if judge else named_scores(verdict, ())
    for score in scores:
        logger.emit(
            timestamp=time_ns(),
            context=context,
            severity_number=SeverityNumber.INFO,
            attributes=_result_of(verdict, score, response_id),
            event_name="gen_ai.evaluation.result",
        )


def _result_of(verdict: Verdict, score: NamedScore, response_id: str | None) -> dict[str, AttributeValue]:
    """Return the attributes of the event of one score.

    As in `{"gen_ai.evaluation.name": "groundedness", "gen_ai.evaluation.score.value": 0.75, ...}`.
    """
    label: str | None = None
    if isinstance(score.value, str):
        label = score.value
    elif verdict.status == "not_applicable":
        label = "not_applicable"
    attributes: dict[str, AttributeValue | None] = {
        "gen_ai.evaluation.name": score.name,
        "gen_ai.evaluation.score.value": score.score,
        "gen_ai.evaluation.score.label": label,
        "gen_ai.evaluation.explanation": score.explanation,
        "gen_ai.response.id": response_id,
        "error.type": verdict.error.code if verdict.error else None,
        "groundjudge.status": verdict.status,
        "groundjudge.signature": verdict.signature,
        "groundjudge.verdict": verdict.model_dump_json(exclude_none=True),
    }
    # The conventions leave out an attribute without a value.
    return {name: value for name, value in attributes.items() if value is not None}
