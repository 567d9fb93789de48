"""A ledger keeps replies in a file: what is judged again asks only for what is missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from arrow_table import batch_of
from command_line import GOOD, ROW
from many_rows import Echo, judge_named, rows
from scripted_model import NamedModel

from groundjudge import ModelError, Verdict, load, panel
from groundjudge.runs.arrow import judge_batches


def output_rows(batch: Any, judge: Any, ledger: Path | None) -> list[dict[str, Any]]:
    return [row for output in judge_batches([batch], judge, ledger=ledger) for row in output.to_pylist()]


def test_rows_judged_again_cost_nothing(tmp_path: Path) -> None:
    echo = Echo()
    batch, judge = batch_of(*rows(20)), judge_named("e", echo)
    first, again = (output_rows(batch, judge, tmp_path / "l.db") for _ in "12")
    assert echo.asked == 20
    keys = [row["key"] for row in output_rows(batch, judge, None)]  # they are the same without a ledger
    assert [row["key"] for row in first] == [row["key"] for row in again] == keys
    assert [row["score"] for row in first] == [row["score"] for row in again]
    assert {Verdict.model_validate_json(row["verdict"]).attempts for row in again} == {1}


def test_after_a_fatal_error_only_the_rest_is_asked(tmp_path: Path) -> None:
    echo = Echo(fail={5: ModelError("quota", "no money")})
    judge, batch = judge_named("e", echo), batch_of(*rows(20))
    with pytest.raises(ModelError, match="no money"):
        list(judge_batches([batch], judge, concurrency=1, ledger=tmp_path / "l.db"))
    echo.fail = {}
    list(judge_batches([batch], judge, concurrency=1, ledger=tmp_path / "l.db"))
    assert echo.asked == 6 + 15


def test_members_of_a_panel_are_recorded_too(tmp_path: Path) -> None:
    model, warm = NamedModel(GOOD), {"temperature": 1}
    judge = load("groundedness", model=model, parameters=warm)
    other = load("groundedness", model=model, parameters=warm, threshold=0.9)
    votes = panel([judge, judge, other], stop="never")
    for _ in "12":
        (row,) = output_rows(batch_of(ROW), votes, tmp_path / "l.db")
        assert row["status"] == "ok"
        assert len(model.asked) == 2  # the third judge sends the request of the first


def test_file_that_is_no_ledger_is_refused(tmp_path: Path) -> None:
    (tmp_path / "l.db").write_text("no database, but a text of some length " * 9)
    with pytest.raises(ModelError, match="cannot be used as a cache"):
        judge_batches([], judge_named("e", Echo()), ledger=tmp_path / "l.db")
