"""When a model is switched off: asked of the endpoint's list of models, once, and never an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from command_line import GOOD, ROW, FileOf, Invoke
from standin_openai import Answer, Cut, Hang, Raw, StandIn, Status

from groundjudge.models import openai as openai_models

RUN = ("--judge", "groundedness", "--model", "m", "-o", "v.jsonl", "--overwrite")
NOTE = "m is switched off at http://127.0.0.1:{port}/v1 on 14 January 2027: "


def listing(*models: Any) -> Raw:
    return Raw(json.dumps({"object": "list", "data": models}).encode())


ANNOUNCED = listing({"id": "other"}, {"id": "m", "object": "model", "shutdown_date": "2027-01-14"})


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_models, "LONGEST_LISTING", 0.3)


@pytest.mark.parametrize(
    ("answer", "is_noted"),
    [
        pytest.param(ANNOUNCED, True, id="announced"),
        pytest.param(listing({"id": "m", "shutdown_date": None}), False, id="not announced"),
        pytest.param(listing({"id": "m-2", "shutdown_date": "2027-01-14"}), False, id="another model"),
        pytest.param(listing({"id": "m", "shutdown_date": "soon"}), False, id="no date"),
        pytest.param(listing({"id": "m", "shutdown_date": 1800000000}), False, id="a number"),
        pytest.param(listing("m", None, ["m"]), False, id="models of another shape"),
        pytest.param(Raw(b'{"data": {"m": "2027-01-14"}}'), False, id="a list of another shape"),
        pytest.param(Raw(b"<html>busy</html>", "text/html"), False, id="a page"),
        pytest.param(Status(404), False, id="no such list"),
        pytest.param(Status(401), False, id="not for this key"),
        pytest.param(Cut(), False, id="cut off"),
        pytest.param(Hang(), False, id="no answer"),
    ],
)
def test_a_run_says_when_its_model_is_switched_off(
    answer: Answer, *, is_noted: bool, command: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = file_of({**ROW, "id": "1"}, {**ROW, "id": "2"})
    with StandIn([GOOD], listing=answer) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-planted-0123456789")
        result = command("run", cases, *RUN, "--judge", "confidence_grounding")
        # The transport itself repeats a GET whose connection was cut.
        assert 1 <= server.n_listings <= (2 if isinstance(answer, Cut) else 1)
    assert (NOTE.format(port=server.port) in result.stderr) == is_noted
    assert "sk-planted" not in result.output
    assert result.exit_code in {0, 1}  # that of the verdicts


def test_an_estimate_says_it_too_if_a_model_is_named(
    command: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = file_of({**ROW, "id": "1"})
    with StandIn([GOOD], listing=ANNOUNCED) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        estimated = command("estimate", cases, "--judge", "groundedness")
        assert (estimated.exit_code, server.n_listings) == (0, 0)
        estimated = command("estimate", cases, "--judge", "groundedness", "--model", "m")
        assert (estimated.exit_code, server.n_listings, server.requests) == (0, 1, [])
        assert NOTE.format(port=server.port) in estimated.stderr
        # Two models of one endpoint are on one list.
        two = ("--panel", "--model", "m", "--model", "other")
        estimated = command("estimate", cases, "--judge", "groundedness", *two)
        assert (estimated.stderr.count("is switched off"), server.n_listings) == (1, 2)
        assert command("estimate", cases, "--judge", "groundedness", "--model", "offline").exit_code == 0
        assert server.n_listings == 2


def test_the_list_is_asked_for_at_the_endpoint_only(
    command: Invoke, file_of: FileOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = file_of({**ROW, "id": "1"})
    with StandIn([GOOD], listing=ANNOUNCED) as elsewhere:
        moved = Status(307, headers={"Location": f"{elsewhere.url}/models"})
        with StandIn([GOOD], listing=moved) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            result = command("run", cases, *RUN)
            assert (server.n_listings, elsewhere.n_listings) == (1, 0)
    assert "switched off" not in result.stderr
    assert result.exit_code == 0
