"""pydantic-evals: `Dataset.evaluate` over the table in `adapters_table`, and files of data sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from adapters_table import CASES, Fields, expected, fields_of, judge_of, judges, outputs_of, target
from pydantic_evals import Case as EvalsCase
from pydantic_evals import Dataset
from pydantic_evals.reporting import ReportCase
from scripted_model import ScriptedModel

import groundjudge
from groundjudge import Verdict, load_rubric
from groundjudge.adapters.pydantic_evals import JudgeEvaluator
from groundjudge.types import AnyJudge

Row = ReportCase[Any, Any, Any]
DATA = Dataset[Any, Any, Any]
GOOD = "<S1>because</S1><S2>5</S2>"


def judged(evaluator: JudgeEvaluator, case: EvalsCase[Any, Any, Any], output: Any = "At 9.") -> Row:
    """The report's row of a case whose task returns the output."""
    data = DATA(name="data", cases=[case], evaluators=[evaluator])
    (row,) = data.evaluate_sync(lambda _: output, progress=False).cases
    return row


def verdict_of(row: Row, name: str = "groundedness") -> Verdict:
    return Verdict.model_validate(row.attributes["groundjudge"][name])


def checked(row: Row, judge: AnyJudge) -> Fields:
    """The verdict in the attributes of a row, after checking everything else in the row against it."""
    verdict = verdict_of(row, judge.name)
    scores = {
        one.name: (one.score, one.explanation) for one in judge.scores(verdict) if one.score is not None
    }
    label = {f"{judge.name}_label": verdict.label} if verdict.score is not None and verdict.label else {}
    passed = {} if verdict.score is None else {f"{judge.name}_pass": verdict.passed}
    assert {key: (one.value, one.reason) for key, one in row.scores.items()} == scores
    assert {key: one.value for key, one in row.labels.items()} == label
    assert {key: one.value for key, one in row.assertions.items()} == passed
    shown = [(each.name, each.error_message) for each in row.evaluator_failures]
    message = f"GroundjudgeError: {verdict.explanation}"
    assert shown == ([(judge.name, message)] if verdict.error else [])
    by: list[Any] = [*row.scores.values(), *row.labels.values(), *row.evaluator_failures]
    assert {one.evaluator_version for one in by} <= {judge.prompt_id.sha256}
    return fields_of(verdict)


def by_evaluate(name: str) -> list[Fields]:
    cases = CASES[name]
    judge = judge_of(name)
    data = DATA(
        name="adapters",
        cases=[EvalsCase(name=case["id"], inputs=case, expected_output=outputs_of(case)) for case in cases],
        evaluators=[JudgeEvaluator(judge)],
    )
    rows = {row.name: row for row in data.evaluate_sync(target, progress=False).cases}
    return [checked(rows[case["id"]], judge) for case in cases]


@pytest.mark.parametrize("name", judges("passage_quality"))
def test_evaluate_gives_the_verdicts_of_every_judge(name: str) -> None:
    assert by_evaluate(name) == expected(name)


def test_name_is_that_of_the_scores_and_of_failures() -> None:
    evaluator = JudgeEvaluator(judge_of("passage_quality"), name="mine")
    good, bad = (
        judged(evaluator, EvalsCase(inputs=case, expected_output=outputs_of(case)), case.get("response"))
        for case in (CASES["passage_quality"][0], CASES["passage_quality"][-1])
    )
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
    read = DATA.from_file(path, custom_evaluator_types=[JudgeEvaluator])
    assert read.evaluators == evaluators
    for one, other in zip(read.evaluators, evaluators, strict=True):
        assert isinstance(one, JudgeEvaluator)
        assert one.loaded.identity == other.loaded.identity
    schema = json.loads((tmp_path / "data_schema.json").read_text(encoding="utf-8"))
    shown = schema["$defs"]["spec_params_JudgeEvaluator"]["properties"]
    assert shown.keys() == {"judge", "model", "name", "fields", *OPTIONS}


@pytest.mark.parametrize(
    "judge", [load_rubric("groundedness"), judge_of("groundedness")], ids=["rubric", "judge"]
)
def test_objects_are_written_by_their_names(judge: Any) -> None:
    def nothing(_: object) -> dict[str, Any]:
        return {}

    evaluator = JudgeEvaluator(judge, ScriptedModel(GOOD), fields=nothing)
    arguments = {"judge": "groundedness", "model": "scripted", "fields": "(a function)"}
    assert evaluator.build_serialization_arguments() == arguments


@pytest.mark.parametrize("kind", [str, Path])
def test_prompt_file_is_written_by_its_path(kind: Callable[[Path], Any]) -> None:
    path = Path(groundjudge.__file__).parent / "prompts" / "groundedness.prompty"
    evaluator = JudgeEvaluator(kind(path), "offline")
    assert evaluator.as_spec().arguments == {"judge": str(path), "model": "offline"}
