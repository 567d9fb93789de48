"""The adapter to OpenTelemetry: the events of the verdicts in `adapters_table`, as the SDK exports them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from adapters_table import CASES, Fields, expected, fields_of, judge_of, judges
from adapters_table import verdict_of as judged
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanContext

from groundjudge import Verdict, __version__
from groundjudge.adapters.opentelemetry import emit
from groundjudge.types import AnyJudge

GEN_AI = "gen_ai.evaluation."


class Exported:
    """A logger provider that keeps what it exports."""

    def __init__(self) -> None:
        make: Callable[[], InMemoryLogRecordExporter] = InMemoryLogRecordExporter  # it is not annotated
        self._exporter = make()
        self.provider = LoggerProvider(shutdown_on_exit=False)
        self.provider.add_log_record_processor(SimpleLogRecordProcessor(self._exporter))

    def events(self) -> list[Any]:
        """The log records since the last call, each with its scope."""
        found = self._exporter.get_finished_logs()
        self._exporter.clear()
        return [*found]


def attributes_of(verdict: Verdict, judge: AnyJudge | None, exported: Exported) -> list[dict[str, Any]]:
    emit(verdict, judge, logger_provider=exported.provider)
    return [dict(event.log_record.attributes) for event in exported.events()]


def checked(verdict: Verdict, judge: AnyJudge, exported: Exported) -> Fields:
    """The verdict that the events have as JSON, after checking their other attributes against it."""
    shown = attributes_of(verdict, judge, exported)
    assert len(shown) == len(judge.score_names)
    for attributes, one in zip(shown, judge.scores(verdict), strict=True):
        code = {"error.type": verdict.error.code} if verdict.error else {}
        score = {} if one.score is None else {f"{GEN_AI}score.value": one.score}
        label = {f"{GEN_AI}score.label": one.value} if isinstance(one.value, str) else {}
        assert attributes == {
            f"{GEN_AI}name": one.name,
            f"{GEN_AI}explanation": one.explanation,
            "groundjudge.status": verdict.status,
            "groundjudge.signature": verdict.signature,
            "groundjudge.verdict": verdict.model_dump_json(exclude_none=True),
            **code,
            **score,
            **label,
        }
    return fields_of(Verdict.model_validate_json(shown[0]["groundjudge.verdict"]))


def by_emit(name: str) -> list[Fields]:
    judge, exported = judge_of(name), Exported()
    return [checked(judged(judge, case), judge, exported) for case in CASES[name]]


@pytest.mark.parametrize("name", judges("passage_quality", "labels", "repeats"))
def test_events_have_the_verdicts_of_every_judge(name: str) -> None:
    assert by_emit(name) == expected(name)


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
    verdict = judged(judge_of("passage_quality"), CASES["passage_quality"][0])
    shown = attributes_of(verdict, None, Exported())
    assert [attributes[f"{GEN_AI}name"] for attributes in shown] == ["passage_quality"]


def parents(exported: Exported) -> list[tuple[int, int]]:
    return [(event.log_record.trace_id, event.log_record.span_id) for event in exported.events()]


def ids_of(context: SpanContext) -> tuple[int, int]:
    return context.trace_id, context.span_id


def test_event_belongs_to_the_given_span_else_to_the_current_one() -> None:
    exported, tracer = Exported(), TracerProvider(shutdown_on_exit=False).get_tracer("test")
    with tracer.start_as_current_span("chat") as judged_span:
        emit(OK, logger_provider=exported.provider)
    with tracer.start_as_current_span("evaluation"):
        emit(OK, span_context=judged_span.get_span_context(), logger_provider=exported.provider)
    emit(OK, logger_provider=exported.provider)
    span = ids_of(judged_span.get_span_context())
    assert parents(exported) == [span, span, (0, 0)]


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603


@pytest.mark.soak
def test_without_an_sdk_nothing_happens() -> None:
    done = python(
        "import sys; sys.modules['opentelemetry.sdk'] = None\n"
        "from groundjudge import Verdict\n"
        "from groundjudge.adapters.opentelemetry import emit\n"
        "emit(Verdict(judge='mine', status='ok', score=1))\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.soak
def test_global_provider_is_the_default() -> None:
    done = python(
        "from opentelemetry._logs import set_logger_provider\n"
        "from opentelemetry.sdk._logs import LoggerProvider\n"
        "from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor\n"
        "exporter, provider = InMemoryLogRecordExporter(), LoggerProvider()\n"
        "provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))\n"
        "set_logger_provider(provider)\n"
        "from groundjudge import Verdict\n"
        "from groundjudge.adapters.opentelemetry import emit\n"
        "emit(Verdict(judge='mine', status='ok', score=1))\n"
        "print([event.log_record.event_name for event in exporter.get_finished_logs()])\n"
    )
    assert done.stdout == "['gen_ai.evaluation.result']\n"
