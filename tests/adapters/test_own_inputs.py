"""A judge with an input of its own, `topic`, at every adapter: filled from metadata or a mapping's key."""

# What LangSmith and DeepEval leave without types is no concern of these tests:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from deepeval.errors import MissingTestCaseParamsError
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.evaluate import evaluate as deepeval_evaluate
from deepeval.test_case import ConversationalTestCase, LLMTestCase, Turn
from langchain_core.runnables import RunnableLambda
from langsmith import Client
from langsmith import evaluate as langsmith_evaluate
from langsmith.schemas import Example, Run
from pydantic_evals import Case as EvalsCase
from pydantic_evals import Dataset
from scripted_model import ScriptedModel
from typer.testing import CliRunner

from groundjudge import AnyJudge, CaseError, Judge, JudgeOptions, Verdict, load, run
from groundjudge.adapters.deepeval import ConversationalKnowledgeHallucinationMetric, JudgeMetric
from groundjudge.adapters.langchain import prompt, runnable
from groundjudge.adapters.langfuse import evaluator as langfuse_evaluator
from groundjudge.adapters.langsmith import evaluator
from groundjudge.adapters.pydantic_evals import JudgeEvaluator
from groundjudge.cli.app import app
from groundjudge.runs.rows import read_rows

FILE = """\
---
name: on_topic
inputs:
  - {name: topic, type: text}
  - {name: rules, type: list, required: false}
  - {name: query, type: text}
  - {name: context, type: documents}
  - {name: response, type: text}
reply: {format: tags, value: S2, reason: S1}
scale: {worst: 1, best: 5}
---
system:
Does the response stay on the topic?
user:
{{topic}} {{rules}} {{query}} {{context}} {{response}}
"""
REPLY = "<S1>w</S1><S2>5</S2>"
ROW: Mapping[str, Any] = {"query": "q", "context": ["c"], "response": "r"}
TOPIC = "<data-topic>\ndogs\n</data-topic>"
NO_CONTEXT: JudgeOptions = {"may_be_empty": ["context"], "optional": ["topic"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "on_topic.prompty"
    path.write_text(FILE, encoding="utf-8")
    return path


def asked(judge: AnyJudge) -> str:
    """What the judge's model was asked last."""
    assert isinstance(judge, Judge)
    model = judge.model
    assert isinstance(model, ScriptedModel)
    return model.asked[-1].messages[1]["content"]


def judge_of(file: Path, **options: Any) -> Judge:
    judge: Judge = load(file, model=ScriptedModel(REPLY), **options)
    return judge


@pytest.fixture(params=["key", "metadata"])
def row(request: pytest.FixtureRequest) -> Mapping[str, Any]:
    return {**ROW, "topic": "dogs"} if request.param == "key" else {**ROW, "metadata": {"topic": "dogs"}}


# --- the core and the command line ------------------------------------------------------------------


def test_run_fills_the_input(file: Path, row: Mapping[str, Any]) -> None:
    judge = judge_of(file)
    verdicts = list(run(judge, [row, ROW]))
    assert sorted(verdict.status for verdict in verdicts) == ["error", "ok"]
    assert TOPIC in asked(judge)


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv"])
def test_file_of_cases_fills_the_input(file: Path, name: str) -> None:
    rows = file.with_name(name)
    if name.endswith(".csv"):
        rows.write_text("topic,query,context,response\ndogs,q,c,r\n", encoding="utf-8")
    else:
        rows.write_text(json.dumps({**ROW, "topic": "dogs"}), encoding="utf-8")
    judge = judge_of(file)
    assert [verdict.score for verdict in run(judge, read_rows(rows))] == [1]
    assert TOPIC in asked(judge)


def test_command_line_shows_the_missing_input(file: Path) -> None:
    rows = file.with_name("rows.jsonl")
    rows.write_text(json.dumps({**ROW, "topik": "dogs"}), encoding="utf-8")
    result = CliRunner().invoke(app, ["run", str(rows), "--judge", str(file), "--model", "offline"])
    assert "missing_field" in result.output


# --- LangSmith ----------------------------------------------------------------------------------------


def answered(inputs: dict[str, Any]) -> dict[str, Any]:
    return {"response": "r", "context": inputs["passages"]}


def mapped(run: Run, example: Example | None) -> Mapping[str, Any]:  # noqa: ARG001
    return {**ROW, "topic": "dogs"}


def by_langsmith(judge: Judge, example: Mapping[str, Any], **options: Any) -> Verdict:
    results = langsmith_evaluate(
        answered,
        data=[Example(id=uuid4(), **example)],
        evaluators=[evaluator(judge, **options)],
        upload_results=False,
        client=Client(
            api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0.0
        ),
    )
    (found,) = results
    verdict: Verdict = found["run"].extra["groundjudge"][judge.name]  # type: ignore[index]
    return verdict


ASKED: Mapping[str, Any] = {"query": "q", "passages": ["c"]}
EXAMPLES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # where the topic stands: (the example, the evaluator's options)
    "inputs": ({"inputs": {**ASKED, "topic": "dogs"}}, {}),
    "metadata among the inputs": ({"inputs": {**ASKED, "metadata": {"topic": "dogs"}}}, {}),
    "reference outputs": ({"inputs": ASKED, "outputs": {"topic": "dogs"}}, {}),
    "the example's metadata": ({"inputs": ASKED, "metadata": {"topic": "dogs", "split": "x"}}, {}),
    "inputs before the example's metadata": (
        {"inputs": {**ASKED, "topic": "dogs"}, "metadata": {"topic": "cats"}},
        {},
    ),
    "a path": ({"inputs": {**ASKED, "t": {"u": "dogs"}}}, {"fields": {"topic": "inputs.t.u"}}),
    "a path into the metadata": (
        {"inputs": ASKED, "metadata": {"a": "dogs"}},
        {"fields": {"topic": "example.metadata.a"}},
    ),
    "a function": ({"inputs": ASKED}, {"fields": mapped}),
}


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
@pytest.mark.parametrize(("example", "options"), EXAMPLES.values(), ids=EXAMPLES)
def test_langsmith_fills_the_input(file: Path, example: dict[str, Any], options: dict[str, Any]) -> None:
    judge = judge_of(file)
    verdict = by_langsmith(judge, example, **options)
    assert (verdict.error, verdict.score) == (None, 1)
    assert TOPIC in asked(judge)


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
def test_langsmith_names_the_missing_input_and_what_was_there(file: Path) -> None:
    verdict = by_langsmith(judge_of(file), {"inputs": {**ASKED, "topik": "dogs"}})
    assert verdict.error
    assert verdict.error.code == "missing_field"
    assert "needs topic, which is not given" in verdict.error.message
    assert "LangSmith gave inputs: query, passages, topik" in verdict.error.message


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
def test_langsmith_takes_the_options_of_inputs(file: Path) -> None:
    judge = judge_of(file)
    empty = {"inputs": {"query": "q", "passages": []}}
    verdict = by_langsmith(judge, empty)
    assert verdict.error
    assert by_langsmith(judge, empty, **NO_CONTEXT).score == 1
    assert "<data-context>\n</data-context>" in asked(judge)


# --- DeepEval -----------------------------------------------------------------------------------------


def row_with(metadata: dict[str, Any] | None, **fields: Any) -> LLMTestCase:
    given: dict[str, Any] = {"input": "q", "actual_output": "r", "retrieval_context": ["c"], **fields}
    return LLMTestCase(**given, metadata=metadata)


@pytest.mark.parametrize("run_async", [False, True])
def test_deepeval_fills_the_input_from_metadata(
    file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_async: bool,  # noqa: FBT001
) -> None:
    monkeypatch.chdir(tmp_path)  # DeepEval leaves its results where it runs
    metric = JudgeMetric(judge=file, model=ScriptedModel(REPLY))
    metrics: list[Any] = [metric]
    outcome = deepeval_evaluate(
        [row_with({"topic": "dogs", "rules": ["a"], "other": 1})],
        metrics,
        async_config=AsyncConfig(run_async=run_async),
        display_config=DisplayConfig(show_indicator=False, print_results=False),
    )
    assert outcome.test_results[0].success
    assert TOPIC in asked(metric.judge)
    assert '["a"]' in asked(metric.judge)


def test_deepeval_does_not_cache_a_verdict_that_rests_on_metadata(file: Path) -> None:
    metric = JudgeMetric(judge=file, model=ScriptedModel(REPLY))
    metric.measure(row_with({"topic": "dogs"}))
    assert metric.criteria.startswith("not cacheable")


@pytest.mark.parametrize(
    ("metadata", "there"),
    [(None, "query, response, context"), ({"topik": 1}, "query, response, context, topik")],
)
def test_deepeval_names_the_missing_input_and_what_was_there(
    file: Path, metadata: dict[str, Any] | None, there: str
) -> None:
    metric = JudgeMetric(judge=file, model=ScriptedModel(REPLY))
    with pytest.raises(MissingTestCaseParamsError) as raised:
        metric.measure(row_with(metadata))
    with pytest.raises(MissingTestCaseParamsError) as araised:
        asyncio.run(metric.a_measure(row_with(metadata)))
    assert str(raised.value) == str(araised.value)
    assert "missing_field: on_topic needs topic, which is not given" in str(raised.value)
    assert str(raised.value).endswith(f"The case has: {there}")
    assert metric.verdict
    assert metric.verdict.error
    assert metric.verdict.error.code == "missing_field"


def test_deepeval_takes_the_options_of_inputs(file: Path) -> None:
    metric = JudgeMetric(judge=file, model=ScriptedModel(REPLY), **NO_CONTEXT)
    assert metric.measure(row_with(None, retrieval_context=[])) == 1
    assert "<data-context>\n</data-context>" in asked(metric.judge)


def test_deepeval_conversation_fills_the_input_from_metadata(tmp_path: Path) -> None:
    path = tmp_path / "scene.prompty"
    path.write_text(FILE.replace("name: query", "name: profile").replace("{{query}}", "{{profile}}"))
    metric = ConversationalKnowledgeHallucinationMetric(
        judge=path, model=ScriptedModel(REPLY), optional=["context"]
    )
    turns = [Turn(role="user", content="q"), Turn(role="assistant", content="r")]
    metric.measure(ConversationalTestCase(turns=turns, chatbot_role="p", metadata={"topic": "dogs"}))
    assert metric.score == 1
    assert TOPIC in asked(metric.judge)


# --- LangChain ----------------------------------------------------------------------------------------


def test_langchain_runnable_fills_the_input(file: Path, row: Mapping[str, Any]) -> None:
    judge = judge_of(file)
    chain = RunnableLambda[str, Mapping[str, Any]](lambda response: {**row, "response": response}) | runnable(
        judge
    )
    assert chain.invoke("r").score == 1
    assert TOPIC in asked(judge)
    assert asyncio.run(runnable(judge).ainvoke(row)).score == 1
    assert [verdict.score for verdict in runnable(judge).batch([row, row])] == [1, 1]
    assert TOPIC in str(prompt(judge).invoke(row).to_messages()[1].content)


def test_langchain_names_the_missing_input_and_what_was_there(file: Path) -> None:
    with pytest.raises(CaseError) as raised:
        runnable(judge_of(file)).invoke({**ROW, "topik": "dogs"})
    assert (raised.value.code, raised.value.subject) == ("missing_field", "topic")
    assert raised.value.message.endswith("The case has: query, response, context, topik")


def test_langchain_takes_the_options_of_inputs(file: Path) -> None:
    judge = judge_of(file)
    chain = runnable(judge, **NO_CONTEXT)
    assert chain.invoke({**ROW, "context": []}).score == 1
    assert chain.get_input_jsonschema()["required"] == ["query", "context", "response"]


@pytest.mark.parametrize(
    "name", ["topic", "json", "schema", "copy", "model_name", "model_config", "user-tier"]
)
def test_langchain_schema_has_the_input_whatever_its_name(file: Path, name: str) -> None:
    file.write_text(FILE.replace("topic", name), encoding="utf-8")
    chain = runnable(judge_of(file))
    schema = chain.get_input_jsonschema()
    assert [*schema["properties"]] == [name, "rules", "query", "context", "response"]
    assert name in schema["required"]
    assert chain.invoke({**ROW, name: "dogs"}).score == 1


# --- adapters that hand over inputs, output and metadata --------------------------------------------------


def in_code(*_: object, **__: object) -> Mapping[str, Any]:
    return {**ROW, "topic": "dogs"}


OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any], Any]] = {
    # where the topic stands: (the inputs, the metadata, the argument `case`)
    "inputs": ({"query": "q", "topic": "dogs"}, {}, None),
    "metadata": ({"query": "q"}, {"topic": "dogs", "split": "x"}, None),
    "inputs before metadata": ({"query": "q", "topic": "dogs"}, {"topic": "cats"}, None),
    "a path": ({"query": "q"}, {"t": {"u": "dogs"}}, {"topic": "metadata.t.u"}),
    "a function": ({"query": "q"}, {}, in_code),
}
ANSWER = {"response": "r", "context": ["c"]}


@pytest.mark.parametrize(("inputs", "metadata", "case"), OTHERS.values(), ids=OTHERS)
def test_pydantic_evals_fills_the_input(
    file: Path, inputs: dict[str, Any], metadata: dict[str, Any], case: Any
) -> None:
    judge = judge_of(file)
    dataset = Dataset[Any, Any, Any](
        name="own inputs",
        cases=[EvalsCase(inputs=inputs, metadata=metadata)],
        evaluators=[JudgeEvaluator(judge, fields=case)],
    )
    (row,) = dataset.evaluate_sync(lambda _: ANSWER, progress=False).cases
    assert row.scores["on_topic"].value == 1
    assert TOPIC in asked(judge)


@pytest.mark.parametrize(("inputs", "metadata", "case"), OTHERS.values(), ids=OTHERS)
def test_langfuse_fills_the_input(
    file: Path, inputs: dict[str, Any], metadata: dict[str, Any], case: Any
) -> None:
    judge = judge_of(file)
    evaluate = langfuse_evaluator(judge, fields=case)
    scores = asyncio.run(evaluate(input=inputs, output=ANSWER, expected_output=None, metadata=metadata))
    assert [score.value for score in scores] == [1]
    assert TOPIC in asked(judge)
