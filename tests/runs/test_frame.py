"""A data frame of cases becomes one of verdicts."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from groundjudge import ModelError, load, run
from groundjudge.types import Request

pd: Any = import_module("pandas")  # it has no type hints

CASE = {"query": "When?", "context": ["We open at 9."], "response": "We open at 9."}


def test_each_row_has_its_verdict_in_the_order_of_the_rows() -> None:
    frame = pd.DataFrame([CASE, {**CASE, "response": "Thank you!"}, {**CASE, "response": None}])
    verdicts = run(load("groundedness", model="offline"), frame)
    assert type(verdicts) is pd.DataFrame
    assert [*verdicts["case_id"]] == ["row 1", "row 2", "row 3"]
    assert [*verdicts["status"]] == ["ok", "not_applicable", "error"]
    assert verdicts["score"][0] == 1.0
    assert verdicts["score"].isna().tolist() == [False, True, True]
    assert verdicts["reason"][2].startswith("no_response: ")


def test_two_judges_have_a_row_each() -> None:
    judges = [load(name, model="offline") for name in ("groundedness", "confidence_grounding")]
    verdicts = run(judges, pd.DataFrame([{"id": "a", **CASE}]))
    assert [*verdicts["judge"]] == ["groundedness", "confidence_grounding"]
    assert [*verdicts["case_id"]] == ["a", "a"]


def test_a_run_that_ends_early_gives_the_verdicts_it_has() -> None:
    def answer(_: Request) -> str:
        return "<S1>fine</S1><S2>5</S2><S3>1:0, 2:0, 3:0, 4:0, 5:100</S3>"

    frame = pd.DataFrame([CASE] * 3)
    with pytest.raises(ModelError) as caught:
        run(load("groundedness", model=answer), frame, max_calls=2, concurrency=1)
    assert caught.value.code == "budget"
    assert [*caught.value.verdicts["score"]] == [1.0, 1.0]


def test_a_verdict_has_the_index_of_its_case() -> None:
    frame = pd.DataFrame([CASE, {**CASE, "response": "We open at 8."}], index=[20, 10])
    judges = [load(name, model="offline") for name in ("groundedness", "confidence_grounding")]
    assert run(judges, frame).index.tolist() == [20, 20, 10, 10]
    frame["passed"] = run(judges[0], frame.sort_index())["passed"]
    assert frame["passed"].tolist() == [True, False]


def test_a_frame_without_rows_gives_one() -> None:
    assert len(run(load("groundedness", model="offline"), pd.DataFrame([]))) == 0


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pd.DataFrame([["q", "c", "r", "s"]], columns=["query", "context", "response", "response"])
    with pytest.raises(ValueError, match="two columns of the data frame have the name 'response'"):
        run(load("groundedness", model="offline"), frame)
