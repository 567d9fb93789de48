"""The adapter to OpenTelemetry: the names, scopes and spans of events, as the SDK exports them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from adapter_entries import GEN_AI, Exported
from command_line import run_program
from opentelemetry.sdk.trace import TracerProvider

from groundjudge import Verdict, __version__, load
from groundjudge.adapters.langsmith import log_verdict
from groundjudge.adapters.opentelemetry import emit
from groundjudge.judging.panel import AnyJudge
from groundjudge.types import Part

OK = Verdict(judge="mine", status="ok", score=0.75, value=4, passed=True, reason="because")


def test_event_has_name_scope_and_severity() -> None:
    exported = Exported()
    emit(OK, response_id="chatcmpl-1", logger_provider=exported.provider)
    (event,) = exported.events()
    assert event.log_record.event_name == "gen_ai.evaluation.result"
    assert event.log_record.severity_number.name == "INFO"
    assert event.log_record.timestamp <= event.log_record.observed_timestamp
    assert (event.instrumentation_scope.name, event.instrumentation_scope.version) == (
        "groundjudge",
        __version__,
    )
    assert event.log_record.attributes["gen_ai.response.id"] == "chatcmpl-1"


def test_without_the_judge_there_is_one_event_for_the_headline() -> None:
    exported = Exported()
    parts = (Part(name="recall", value=3, score=0.5),)
    emit(OK.model_copy(update={"parts": parts}), logger_provider=exported.provider)
    assert [event.log_record.attributes[f"{GEN_AI}name"] for event in exported.events()] == ["mine"]


def test_what_is_not_applicable_has_no_score_and_says_so_where_it_has_no_label() -> None:
    exported = Exported()
    emit(Verdict(judge="mine", status="not_applicable"), logger_provider=exported.provider)
    (event,) = exported.events()
    assert event.log_record.attributes[f"{GEN_AI}score.label"] == "not_applicable"
    assert f"{GEN_AI}score.value" not in event.log_record.attributes


@pytest.mark.parametrize(
    ("verdict", "judge"),
    [
        pytest.param(OK, "passage_quality", id="a judge with more scores"),
        pytest.param(OK, "groundedness", id="a judge with as many scores"),
        pytest.param(Verdict(judge="mine", status="error"), "passage_quality", id="an error"),
        pytest.param(Verdict(judge="mine", status="not_applicable"), "passage_quality", id="not applicable"),
    ],
)
@pytest.mark.parametrize("show", [emit, log_verdict], ids=["OpenTelemetry", "LangSmith's pytest plugin"])
def test_verdict_with_a_judge_that_did_not_give_it_is_refused(
    show: Callable[[Verdict, AnyJudge], None], verdict: Verdict, judge: str
) -> None:
    with pytest.raises(ValueError, match=f"comes from mine, not from the judge {judge}"):
        show(verdict, load(judge, model="offline"))


def test_event_belongs_to_the_given_span_else_to_the_current_one() -> None:
    exported = Exported()
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("test")
    with tracer.start_as_current_span("chat") as judged_span:
        emit(OK, logger_provider=exported.provider)
    with tracer.start_as_current_span("evaluation"):
        emit(OK, span_context=judged_span.get_span_context(), logger_provider=exported.provider)
    emit(OK, logger_provider=exported.provider)
    span = judged_span.get_span_context()
    ids = span.trace_id, span.span_id
    records = [event.log_record for event in exported.events()]
    assert [(record.trace_id, record.span_id) for record in records] == [ids, ids, (0, 0)]


EMIT = """
from groundjudge import Verdict
from groundjudge.adapters.opentelemetry import emit
emit(Verdict(judge="mine", status="ok", score=1))
"""
WITHOUT_SDK = f"import sys; sys.modules['opentelemetry.sdk'] = None\n{EMIT}"
WITH_SDK = f"""
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
exporter = InMemoryLogRecordExporter()
provider = LoggerProvider(shutdown_on_exit=False)
provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
set_logger_provider(provider)
{EMIT}
print(*[event.log_record.event_name for event in exporter.get_finished_logs()])
"""


@pytest.mark.soak
@pytest.mark.parametrize(
    ("program", "expected"),
    [(WITHOUT_SDK, ""), (WITH_SDK, "gen_ai.evaluation.result\n")],
    ids=["without an SDK", "with an SDK"],
)
def test_global_provider_is_the_default(program: str, expected: str) -> None:
    status, printed, errors = run_program(program)
    assert (status, printed) == (0, expected), errors
