"""pydantic-evals: names of scores, and files of data sets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from adapters_table import Exchange, exchanges, judge_of
from formatter import sure
from pydantic_evals import Case as EvalsCase
from pydantic_evals import Dataset
from pydantic_evals.reporting import ReportCase
from scripted_model import ScriptedModel

import groundjudge
from groundjudge import load, load_rubric
from groundjudge.adapters.pydantic_evals import JudgeEvaluator
from groundjudge.judging.panel import AnyJudge

Row = ReportCase[Any, Any, Any]
DATA = Dataset[Any, Any, Any]
GOOD = f"<S1>because</S1>{sure(5)}"


def evaluate(evaluator: JudgeEvaluator, exchange: Exchange) -> Row:
    """The report's row of a case whose task returns the outputs of the exchange."""
    case = EvalsCase(inputs=exchange.inputs_with_id, expected_output=exchange.reference)
    data = DATA(name="data", cases=[case], evaluators=[evaluator])
    (row,) = data.evaluate_sync(lambda _: exchange.outputs, progress=False).cases
    return row


def test_name_is_that_of_the_scores_and_of_failures() -> None:
    evaluator = JudgeEvaluator(judge_of("passage_quality"), name="mine")
    good = evaluate(evaluator, exchanges("passage_quality")[0])
    bad = evaluate(evaluator, exchanges("passage_quality")[-1])
    assert list(good.scores) == ["mine", "mine_recall", "mine_precision"]
    assert list(good.assertions) == ["mine_pass"]
    assert [failure.name for failure in bad.evaluator_failures] == ["mine"]


OPTIONS: Mapping[str, Any] = {
    "threshold": 0.9,
    "parameters": {"max_tokens": 9},
    "max_reasks": 0,
    "repeats": 3,
    "rule": "min",
    "stop": "never",
    "empty_response": "worst",
    "structured": "never",
    "weighted": False,
    "tool_titles": False,
    "citations": False,
    "not_applicable": [2],
    "passes": "score",
    "may_be_empty": ["query"],
    "optional": ["query"],
}


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_dataset_with_names_and_options_survives_its_file(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.{suffix}"
    where = {"query": "inputs.q"}
    evaluators = [
        JudgeEvaluator("groundedness", "offline"),
        JudgeEvaluator("groundedness", "offline", name="strict", fields=where, **OPTIONS),
    ]
    data = DATA(name="data", cases=[EvalsCase(inputs={"q": "When?"})], evaluators=evaluators)
    data.to_file(path, custom_evaluator_types=[JudgeEvaluator])
    loaded_data = DATA.from_file(path, custom_evaluator_types=[JudgeEvaluator])
    assert loaded_data.evaluators == evaluators
    for loaded_evaluator, evaluator in zip(loaded_data.evaluators, evaluators, strict=True):
        assert isinstance(loaded_evaluator, JudgeEvaluator)
        assert loaded_evaluator.loaded_judge.identity == evaluator.loaded_judge.identity
    schema = json.loads((tmp_path / "data_schema.json").read_text(encoding="utf-8"))
    properties = schema["$defs"]["spec_params_JudgeEvaluator"]["properties"]
    assert properties.keys() == {"judge", "model", "name", "fields", *OPTIONS}


def scripted(level: int) -> AnyJudge:
    return load("groundedness", model=ScriptedModel(f"<S1>because</S1>{sure(level)}"))


@pytest.mark.parametrize(
    ("argument", "value", "result"),
    [
        pytest.param("threshold", 1.0, (0.75, False), id="option"),
        pytest.param("model", ScriptedModel(f"<S1>because</S1>{sure(5)}"), (1.0, True), id="model"),
        pytest.param("judge", scripted(2), (0.25, False), id="judge"),
    ],
)
def test_argument_that_is_set_later_counts(argument: str, value: object, result: tuple[float, bool]) -> None:
    evaluator = JudgeEvaluator(scripted(4))
    setattr(evaluator, argument, value)
    row = evaluate(evaluator, exchanges("groundedness")[0])
    assert (row.scores["groundedness"].value, row.assertions["groundedness_pass"].value) == result


def test_fields_that_are_set_later_count() -> None:
    evaluator = JudgeEvaluator(judge_of("groundedness"))
    evaluator.fields = {"query": "inputs.nothing_there"}
    row = evaluate(evaluator, exchanges("groundedness")[0])
    assert "inputs.nothing_there" in row.evaluator_failures[0].error_message


PROMPT = Path(groundjudge.__file__).parent / "prompts" / "groundedness.prompty"
WRITTEN: Sequence[tuple[Any, str]] = [
    (load_rubric("groundedness"), "groundedness"),
    (judge_of("groundedness"), "groundedness"),
    (PROMPT, str(PROMPT)),
    (str(PROMPT), str(PROMPT)),
]


def test_objects_are_written_by_their_names_and_prompt_files_by_their_paths() -> None:
    def nothing(_: object) -> dict[str, Any]:
        return {}

    for judge, name in WRITTEN:
        evaluator = JudgeEvaluator(judge, ScriptedModel(GOOD), fields=nothing)
        arguments = {"judge": name, "model": "scripted", "fields": "(a function)"}
        assert evaluator.as_spec().arguments == arguments
