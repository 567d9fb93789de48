"""What ends the calls of an experiment, and what is said of it."""

from __future__ import annotations

import pytest
from formatter import sure
from scripted_model import ScriptedModel

from groundjudge import ModelError, load
from groundjudge.judging.conversation import call
from groundjudge.judging.endings import Endings

CASE = {"query": "q", "response": "r", "context": ["c"]}
GOOD = f"<S1>w</S1>{sure(5)}"
AUTH, TIMEOUT = ModelError("auth", "set a key"), ModelError("timeout", "too slow")
ENDED = "auth: set a key. No further row is sent to this model"


@pytest.mark.parametrize(
    ("replies", "n_calls", "notes"),
    [
        pytest.param([AUTH], 1, [ENDED, None, None], id="the first row ends it"),
        pytest.param([GOOD, AUTH], 2, [None, ENDED, None], id="a later row ends it"),
        pytest.param([TIMEOUT], 3, ["timeout: too slow", None, None], id="an error of the first row only"),
        pytest.param([GOOD, TIMEOUT], 3, [None, None, None], id="an error of later rows"),
    ],
)
async def test_a_model_that_ends_a_run_is_not_asked_about_further_rows(
    replies: list[str | Exception], n_calls: int, notes: list[str | None]
) -> None:
    model = ScriptedModel(*replies)
    judge = load("groundedness", model=model)
    endings = Endings()
    noted: list[str | None] = []
    for _ in notes:
        verdict = await judge.aevaluate(CASE, ask=endings.limit(call))
        noted.append(endings.note(verdict))
    assert (len(model.asked), noted) == (n_calls, notes)
