"""All entry points of the library give the same verdict.

Each row of the table is a judge, a case, and the model's reply. Every other entry point must give the same
verdict as `Judge.judge`, field by field, except for the time that it took.
"""

# LangSmith and DeepEval are only partly typed:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import formatter
import pytest
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.evaluate import evaluate as deepeval_evaluate
from deepeval.test_case import LLMTestCase
from langsmith import Client, aevaluate
from langsmith import evaluate as langsmith_evaluate
from langsmith.schemas import Example
from pydantic_evals import Case as EvalsCase
from pydantic_evals import Dataset
from pydantic_evals.evaluators import EvaluatorContext
from pydantic_evals_door import JudgeEvaluator

from groundjudge import (
    AnyJudge,
    Case,
    Choices,
    GroundjudgeError,
    ModelError,
    Reply,
    Request,
    Verdict,
    load,
    names,
)
from groundjudge.adapters.deepeval import JudgeMetric
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langsmith import evaluator
from groundjudge.errors import WHAT_IS_WRONG

RAG: Mapping[str, Any] = {
    "query": "When does the library open?",
    "context": [
        "The library opens at 9:00 on weekdays.",
        "Tours cost 4.50 euros.",
    ],
    "response": "It opens at 9:00 on weekdays. Tours cost 4.50 euros.",
    "reference": "The library opens at 9:00 on weekdays.",
}
PLAY: Mapping[str, Any] = {
    "query": "none",
    "agent_name": "Mira",
    "profile": "Mira keeps the lighthouse of Vessa.",
    "conversation": "Who are you?",
    "answers": ["I keep the light."],
    "response": "I keep the lighthouse.",
}
SENTENCES = [("It opens at 9:00 on weekdays.", "The library opens at 9:00 on weekdays.", 10.0)]
CUT = "length"


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        judge: the judge's name, or a name in `OTHERS`.
        answer: the model's reply to every request, or the error that it raises; of a panel, one for each
            vote.
        case: changes to the default case; a field that is None is removed.
    """

    judge: str
    answer: str | Reply | ModelError | tuple[str | ModelError, ...]
    case: Mapping[str, Any] | None = None


DOWN = ModelError("server", "server: message of the endpoint")
OTHERS: Mapping[str, Mapping[str, Any]] = {
    "labels": {
        "scale": Choices({"supported": 1, "partly supported": 0.5, "not supported": 0, "unclear": None}),
        "levels": {},
        "not_applicable": (),
    },
    "repeats": {"repeats": 3, "max_reasks": 0},
    "all repeats": {"repeats": 4, "max_reasks": 0, "stop": "never", "rule": "median"},
    "labels of repeats": {
        "scale": Choices({"supported": 1, "not supported": 0}),
        "levels": {},
        "not_applicable": (),
        "repeats": 3,
    },
}
"""Options that make another judge of groundedness."""

JUDGES = [*names(), *OTHERS]


def votes(*scores: object) -> tuple[str | ModelError, ...]:
    return tuple(
        each if isinstance(each, ModelError) else f"<S1>for {each}</S1><S2>{each}</S2>" for each in scores
    )


TABLE = [
    *(Row("groundedness", formatter.tags(level, f"because {level}")) for level in range(1, 6)),
    Row("groundedness", formatter.tags(4, "an empty context"), {"context": []}),
    Row("groundedness", formatter.tags(5, "<b>tags</b> & {braces} of its own")),
    Row("groundedness", "<S1>left open</S1><S2>4"),
    Row("groundedness", "<S1>first</S1><S2>2</S2> <S1>second</S1><S2>5</S2>"),
    Row("groundedness", "<think><S2>5</S2></think><S1>no</S1><S2>1</S2>"),
    Row("groundedness", "<S2>9</S2>"),
    Row("groundedness", "<S2>4.5</S2>"),
    Row("groundedness", "<S2>good</S2>"),
    Row("groundedness", "<S2>3 or 4</S2>"),
    Row("groundedness", "Looks good to me."),
    Row("groundedness", ""),
    Row("groundedness", "I'm sorry, but I can't help with that."),
    Row("groundedness", Reply("", refusal="No.")),
    Row("groundedness", Reply("<S2>4</S2>", finish_reason="content_filter")),
    Row("groundedness", Reply("<S1>this resp", finish_reason=CUT)),
    Row("groundedness", Reply("<S1>complete</S1><S2>4</S2>", finish_reason=CUT)),
    Row("groundedness", "", {"response": " "}),
    Row("groundedness", "", {"context": None}),
    *(
        Row("groundedness", ModelError(code, f"{code}: message of the endpoint"))
        for code in (
            "timeout",
            "connection",
            "rate_limited",
            "quota",
            "auth",
            "bad_request",
            "not_found",
            "server",
        )
    ),
    *(Row("confidence_grounding", formatter.json_object(value, f"so {value}")) for value in (0, 0.3, 0.5, 1)),
    Row(
        "confidence_grounding",
        formatter.json_object(0.9, "a greeting"),
        {"context": [], "response": "Hi there!"},
    ),
    Row("confidence_grounding", "{'reasoning': 'repaired', 'score': 0.8,}"),
    Row("confidence_grounding", '{"score": 1.7}'),
    Row("confidence_grounding", '{"score": 0.5 or 0.6}'),
    Row("confidence_grounding", '{"score": null}'),
    Row("confidence_grounding", "", {"response": ""}),
    Row(
        "statement_groundedness",
        formatter.scorecard([*SENTENCES, ("Tours cost 4.50 euros.", "NOTHING FOUND", 0)]),
    ),
    Row(
        "statement_groundedness",
        formatter.scorecard([*SENTENCES, ("Tours cost 4.50 euros.", "Tours cost 5", 2.5)]),
    ),
    Row("statement_groundedness", formatter.scorecard(SENTENCES)),
    Row("statement_groundedness", formatter.scorecard(SENTENCES) + "\n\nStatement Sentence: No score."),
    Row("statement_groundedness", Reply(formatter.scorecard(SENTENCES), finish_reason=CUT)),
    Row("statement_groundedness", "", {"context": []}),
    Row("passage_quality", formatter.adjacent((4, 0.7), (2, 0.5), "why")),
    Row("passage_quality", formatter.adjacent((1, 1.0), (4, 0.0), "nothing of it")),
    Row("passage_quality", "RECALL_Formula: (2 * 0.5) + (4 * 0.5)\nPRECISION_Formula: (5 * 1.0)"),
    Row("passage_quality", "RECALL_Formula: (2 * 0.5) + (3 * 0.4)\nPRECISION_Formula: (5 * 1.0)"),
    Row("passage_quality", "RECALL_Formula: (2 * 1.0)"),
    Row("passage_quality", "", {"reference": None}),
    Row("passage_quality", "", {"response": None}),
    *(
        Row("knowledge_hallucination", formatter.banded(value, f"at {value}"))
        for value in (0, 20, 55.5, 80, 100)
    ),
    Row("knowledge_hallucination", "Analysis: words differ\nLevel: severe\nScore: 72"),
    Row("knowledge_hallucination", "Score: 101"),
    Row("knowledge_hallucination", formatter.banded(90, "no answers known"), {"answers": None}),
    Row("knowledge_hallucination", "", {"profile": " "}),
    *(Row("labels", f"<S1>so {label}</S1><S2>{label}</S2>") for label in OTHERS["labels"]["scale"].choices),
    Row("labels", "<S2>Partly_supported.</S2>"),
    Row("labels", "<S2>mostly supported</S2>"),
    Row("labels", "<S2>supported or unclear</S2>"),
    Row("labels", "", {"response": " "}),
    Row("repeats", votes(5, 4, 1)),
    Row("repeats", votes(5, 1, 4)),
    Row("repeats", votes(1, 5, 2)),
    Row("repeats", votes(5, DOWN, 4)),
    Row("repeats", votes(5, DOWN, 1)),
    Row("repeats", votes(5, 3, 1)),
    Row("repeats", votes(3, 5, 3)),
    Row("repeats", votes(DOWN, DOWN, DOWN)),
    Row("repeats", votes(9, "?", DOWN)),
    Row("repeats", votes(5, 5, 5), {"response": None}),
    Row("all repeats", votes(5, 5, 4, 1)),
    Row("all repeats", votes(5, 5, 1, 1)),
    Row("all repeats", votes(5, 4, 3, 3)),
    Row("labels of repeats", votes("supported", "not supported", "supported")),
    Row("labels of repeats", votes("not supported", "not supported", "supported")),
]


def case_of(number: int, row: Row) -> dict[str, Any]:
    """The row's case; its response, unless blank, contains the number of the row."""
    case = {**(PLAY if row.judge == "knowledge_hallucination" else RAG), **(row.case or {})}
    if (case["response"] or "").strip():
        case["response"] += f" [{number}]"
    case["id"] = f"case {number}"
    return {field: value for field, value in case.items() if value is not None}


ROWS = {name: {i: row for i, row in enumerate(TABLE) if row.judge == name} for name in JUDGES}
CASES = {name: [case_of(i, row) for i, row in rows.items()] for name, rows in ROWS.items()}


class Script:
    """A model that gives each row the answer in the table."""

    name = "script"

    def __init__(self, judge: str) -> None:
        self.rows = ROWS[judge]

    def complete(self, request: Request) -> Reply:
        answer = self.rows[int(request.case.response_text.rpartition("[")[2].rstrip("]"))].answer
        if isinstance(answer, tuple):
            answer = answer[request.repeat]
        if isinstance(answer, ModelError):
            raise ModelError(answer.code, answer.message)
        return Reply(answer) if isinstance(answer, str) else answer

    async def acomplete(self, request: Request) -> Reply:
        await asyncio.sleep(0)
        return self.complete(request)


Fields: TypeAlias = dict[str, Any]
"""A verdict as JSON data, without its latency."""


def fields_of(verdict: Verdict | BaseException | None) -> Fields:
    """All fields of a verdict except its latency.

    An error that occurred before the first call is reduced to its code: adapters add to its message.
    """
    if isinstance(verdict, BaseException):
        assert isinstance(verdict, GroundjudgeError), verdict
        verdict = verdict.verdict
    assert verdict is not None
    found = verdict.model_dump(mode="json", exclude={"latency_s"})
    if found["error"] and not verdict.attempts:
        found["error"] = found["error"]["code"]
    return found


def judge_of(name: str) -> AnyJudge:
    judge: AnyJudge = load(
        "groundedness" if name in OTHERS else name, model=Script(name), **OTHERS.get(name, {})
    )
    return judge


def one_by_one(judge: Callable[[Any], Any], cases: Sequence[Any]) -> list[Fields]:
    """The verdict of each case, returned or raised."""

    def outcome(case: Any) -> Any:
        try:
            return judge(case)
        except GroundjudgeError as error:
            return error

    return [fields_of(outcome(case)) for case in cases]


def by_judge(name: str) -> list[Fields]:
    return one_by_one(judge_of(name).judge, CASES[name])


def by_ajudge(name: str) -> list[Fields]:
    judge = judge_of(name)
    return one_by_one(lambda case: asyncio.run(judge.ajudge(case)), CASES[name])


def by_case_objects(name: str) -> list[Fields]:
    return one_by_one(judge_of(name).judge, [Case(**case) for case in CASES[name]])


def by_invoke(name: str) -> list[Fields]:
    return one_by_one(runnable(judge_of(name)).invoke, CASES[name])


def by_ainvoke(name: str) -> list[Fields]:
    chain = runnable(judge_of(name))
    return one_by_one(lambda case: asyncio.run(chain.ainvoke(case)), CASES[name])


def by_stream(name: str) -> list[Fields]:
    chain = runnable(judge_of(name))
    return one_by_one(lambda case: next(iter(chain.stream(case))), CASES[name])


def by_batch(name: str) -> list[Fields]:
    cases: list[Any] = CASES[name]
    verdicts: list[Any] = runnable(judge_of(name)).batch(cases, return_exceptions=True)
    return [fields_of(verdict) for verdict in verdicts]


def by_abatch(name: str) -> list[Fields]:
    cases: list[Any] = CASES[name]
    verdicts: list[Any] = asyncio.run(runnable(judge_of(name)).abatch(cases, return_exceptions=True))
    return [fields_of(verdict) for verdict in verdicts]


LANGCHAIN = {
    "invoke": by_invoke,
    "ainvoke": by_ainvoke,
    "stream": by_stream,
    "batch": by_batch,
    "abatch": by_abatch,
}
CORE = {"ajudge": by_ajudge, "Case": by_case_objects}


def expected(name: str) -> list[Fields]:
    return by_judge(name)


def test_table_covers_every_judge_status_and_error() -> None:
    rows = [one for name in JUDGES for one in by_judge(name)]
    assert len(rows) == len(TABLE) >= 40
    assert {one["status"] for one in rows} == {"ok", "not_applicable", "error"}
    endpoint = {
        "timeout",
        "connection",
        "rate_limited",
        "quota",
        "auth",
        "bad_request",
        "not_found",
        "server",
    }
    errors = {
        one["error"] if isinstance(one["error"], str) else one["error"]["code"]
        for one in rows
        if one["error"]
    }
    assert errors == {
        *WHAT_IS_WRONG,
        *endpoint,
        "missing_field",
        "empty_response",
        "no_response",
        "no_majority",
    }


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("entry", [*CORE, *LANGCHAIN])
def test_core_and_langchain_give_the_same_verdicts(entry: str, name: str) -> None:
    assert (CORE | LANGCHAIN)[entry](name) == expected(name)


SIDES = {"id", "query", "agent_name", "profile", "conversation", "answers"}


def example(case: Mapping[str, Any]) -> Example:
    return Example(
        id=uuid4(),
        inputs={field: value for field, value in case.items() if field in SIDES | {"context", "response"}},
        outputs={"reference": case["reference"]} if "reference" in case else None,
    )


def target(inputs: dict[str, Any]) -> dict[str, Any]:
    return {field: inputs[field] for field in ("response", "context") if field in inputs}


async def atarget(inputs: dict[str, Any]) -> dict[str, Any]:
    return target(inputs)


def from_langsmith(row: Any, judge: AnyJudge) -> Fields:
    """The verdict that the evaluator stores in the run, after checking the feedback against it."""
    verdict: Verdict = row["run"].extra["groundjudge"][judge.name]
    shown = [(one.key, one.score, one.value, one.comment) for one in row["evaluation_results"]["results"]]
    assert shown == [(one.name, one.score, one.value, one.explanation) for one in judge.scores(verdict)]
    return fields_of(verdict)


def offline() -> Client:
    return Client(
        api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0.0
    )


def by_langsmith(name: str) -> list[Fields]:
    data = [example(case) for case in CASES[name]]
    results = langsmith_evaluate(
        target, data=data, evaluators=[evaluator(judge_of(name))], upload_results=False, client=offline()
    )
    rows = {row["example"].id: row for row in results}
    return [from_langsmith(rows[one.id], judge_of(name)) for one in data]


def by_langsmith_async(name: str) -> list[Fields]:
    data = [example(case) for case in CASES[name]]

    async def evaluated() -> dict[Any, Any]:
        results = await aevaluate(
            atarget, data=data, evaluators=[evaluator(judge_of(name))], upload_results=False, client=offline()
        )
        return {row["example"].id: row async for row in results}

    rows = asyncio.run(evaluated())
    return [from_langsmith(rows[one.id], judge_of(name)) for one in data]


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("entry", [by_langsmith, by_langsmith_async])
def test_langsmith_gives_the_same_verdicts(entry: Callable[[str], list[Fields]], name: str) -> None:
    assert entry(name) == expected(name)


PARAMS = {"query": "input", "response": "actual_output", "reference": "expected_output"}


def llm_test_case(case: Mapping[str, Any]) -> LLMTestCase:
    fields: dict[str, Any] = {PARAMS[field]: value for field, value in case.items() if field in PARAMS}
    context = case.get("context")
    if context is not None:
        fields["retrieval_context"] = [each if isinstance(each, str) else each["content"] for each in context]
    fields.setdefault("input", "none")
    metadata = {field: case[field] for field in PLAY if field in case and field not in PARAMS}
    return LLMTestCase(**fields, name=case["id"], metadata=metadata)


REFUSED: Fields = {"error": "missing_field"}
"""A row with a missing field, which DeepEval's own check refuses before it is judged."""


def from_metric(metric: JudgeMetric) -> Fields:
    """The verdict that the metric stores, after checking the metric's attributes against it."""
    if metric.verdict is None or metric.verdict.error:
        assert metric.error
        assert metric.score is None
        return REFUSED if metric.verdict is None else fields_of(metric.verdict)
    headline, *_ = metric.judge.scores(metric.verdict)
    assert (metric.score, metric.reason) == (headline.score, headline.explanation)
    assert metric.success is metric.verdict.passed
    return fields_of(metric.verdict)


def measured(name: str, measure: Callable[[JudgeMetric, LLMTestCase], None]) -> list[Fields]:
    metric = JudgeMetric(judge=judge_of(name))
    shown: list[Fields] = []
    for case in CASES[name]:
        with suppress(GroundjudgeError, MissingTestCaseParamsError):
            measure(metric, llm_test_case(case))
        shown.append(from_metric(metric))
    return shown


def by_measure(name: str) -> list[Fields]:
    return measured(name, lambda metric, case: metric.measure(case))


def by_a_measure(name: str) -> list[Fields]:
    return measured(name, lambda metric, case: asyncio.run(metric.a_measure(case)))


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("entry", [by_measure, by_a_measure])
def test_deepeval_metric_gives_the_same_verdicts(entry: Callable[[str], list[Fields]], name: str) -> None:
    for shown, verdict in zip(entry(name), expected(name), strict=True):
        may_be_refused = verdict["error"] == "missing_field"
        assert shown == verdict or (may_be_refused and shown == REFUSED)


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("run_async", [False, True])
def test_deepeval_evaluate_gives_the_same_verdicts(
    run_async: bool,  # noqa: FBT001
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # DeepEval writes its results into the working directory
    metrics: list[Any] = [JudgeMetric(judge=judge_of(name))]
    outcome = deepeval_evaluate(
        [llm_test_case(case) for case in CASES[name]],
        metrics,
        async_config=AsyncConfig(run_async=run_async),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
        error_config=ErrorConfig(ignore_errors=True),
    )
    verdicts = [verdict_of(judge_of(name), case) for case in CASES[name]]
    results: list[Any] = sorted(outcome.test_results, key=lambda result: result.index or 0)
    for verdict, result in zip(verdicts, results, strict=True):
        (shown,) = result.metrics_data
        failed = verdict.error
        assert shown.success is (not failed and bool(verdict.passed))
        assert bool(shown.error) is bool(failed)
        assert shown.score == verdict.score
        if verdict.error and verdict.error.code != "missing_field":
            assert f"{verdict.error.code}: " in shown.error
        if not failed:
            assert verdict.reason in shown.reason


def verdict_of(judge: AnyJudge, case: Mapping[str, Any]) -> Verdict:
    try:
        return judge.judge(case)
    except GroundjudgeError as error:
        verdict = error.verdict
    assert verdict
    return verdict


def by_pydantic_evals(name: str) -> list[Fields]:
    """Verdicts by a prototype of an adapter for another framework."""
    verdicts: dict[str, Verdict] = {}

    class Recording(JudgeEvaluator):
        async def verdict(self, ctx: EvaluatorContext[Any, Any, Any]) -> Verdict:
            verdicts[str(ctx.name)] = verdict = await super().verdict(ctx)
            return verdict

    cases = CASES[name]
    dataset = Dataset[Any, Any, Any](
        name="doors",
        cases=[
            EvalsCase(name=case["id"], inputs=case, expected_output=example(case).outputs) for case in cases
        ],
        evaluators=[Recording(judge_of(name))],
    )
    report = dataset.evaluate_sync(target, progress=False)
    for shown in report.cases:
        verdict = verdicts[shown.name]
        scores = [(one.name, one.score) for one in judge_of(name).scores(verdict) if one.score is not None]
        assert [(key, one.value) for key, one in shown.scores.items()] == ([] if verdict.error else scores)
        assert bool(shown.evaluator_failures) is bool(verdict.error)
    return [fields_of(verdicts[case["id"]]) for case in cases]


@pytest.mark.parametrize("name", JUDGES)
def test_pydantic_evals_gives_the_same_verdicts(name: str) -> None:
    assert by_pydantic_evals(name) == expected(name)


def test_pydantic_evals_adapter_has_at_most_forty_lines() -> None:
    source = (Path(__file__).parents[1] / "pydantic_evals_door.py").read_text(encoding="utf-8")
    assert len(source.splitlines()) <= 40


def test_example_shows_the_same_verdict_four_times(tmp_path: Path) -> None:
    example_file = Path(__file__).parents[2] / "examples" / "one_judge_in_three_frameworks.py"
    done = subprocess.run(  # noqa: S603
        [sys.executable, str(example_file)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "All the same: True" in done.stdout
    assert done.stdout.count("score 0.25, incorrect") == 4
