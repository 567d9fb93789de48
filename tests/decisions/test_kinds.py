"""Which way a model is asked, and what a rubric without questions says to a decision model."""

from __future__ import annotations

from pathlib import Path

import pytest
from decision_requests import inquiry_about
from scripted_model import ScriptedModel

from groundjudge import PromptError, load_rubric
from groundjudge.rubric.model import way_of
from groundjudge.rubric.rubric import TEXT


def test_a_model_without_a_way_answers_with_a_text() -> None:
    assert way_of(ScriptedModel("")) == TEXT


def test_a_rubric_without_questions_cannot_ask_a_decision_model(tmp_path: Path) -> None:
    file = tmp_path / "two_parts.prompty"
    file.write_text("---\nreply: {format: scorecard}\nscale: {worst: 0, best: 10}\n---\nRate {{response}}")
    with pytest.raises(PromptError, match=r"two_parts\.prompty.*questions:") as raised:
        inquiry_about(load_rubric(file), {"response": "It opens at nine."})
    assert raised.value.code == "no_questions"
