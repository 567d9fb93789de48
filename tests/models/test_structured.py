"""Structured output: asked for when a reply could not be read, loosened where it is refused."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import pytest
from any_options import load_one
from command_line import ROW
from scripted_model import ScriptedModel
from standin_openai import Answer, StandIn, Status, refuses, refusing

from groundjudge import PromptError, ReplyError, Usage, load_rubric, run
from groundjudge.models.openai import OpenAIModel
from groundjudge.replies import Banded, Json, Tags
from groundjudge.types import Judge, Request

PROSE = "It looks fine to me."
GOOD = '{"reasoning": "r", "score": 0.5}'
NO_SCHEMA = Status(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported")
NO_JSON = Status(400, "This response_format type is unavailable now")


NUMBERS = count()


def judge_at(server: StandIn, **options: Any) -> Judge:
    # Refusals are remembered by URL and name, and a port may have been another server's.
    model = OpenAIModel(f"m-{next(NUMBERS)}", base_url=server.url)
    return load_one("confidence_grounding", **{"model": model, **options})


def kinds(bodies: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """The type of response_format in each of these requests."""
    return [body.get("response_format", {}).get("type") for body in bodies]


SCHEMA, OBJECT = "json_schema", "json_object"


# What is asked for


def test_first_request_is_free_text_and_the_second_carries_the_schema() -> None:
    with StandIn([PROSE, GOOD]) as server:
        verdict = judge_at(server).judge(ROW)
    assert (verdict.score, verdict.attempts) == (0.5, 2)
    first, second = server.bodies
    assert "response_format" not in first
    schema = Json().schema(load_rubric("confidence_grounding").scale)
    assert second["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "strict": True, "schema": schema},
    }
    assert second["messages"][-2:][0] == {"role": "assistant", "content": PROSE}


# When it is asked for


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({"structured": "reask"}, [None, SCHEMA], id="at the re-ask"),
        pytest.param({"structured": "never"}, [None, None], id="never"),
        pytest.param({"max_reasks": 0}, [None], id="no re-ask"),
        pytest.param({"max_reasks": 3}, [None, SCHEMA, OBJECT, None], id="three re-asks"),
        pytest.param({"max_reasks": 2, "structured": "always"}, [SCHEMA, OBJECT, None], id="always"),
        pytest.param({"reply": Tags()}, [None, None], id="format without a schema"),
        pytest.param(
            {"reply": Banded(), "structured": "always"}, [None, None], id="format without a schema, always"
        ),
    ],
)
def test_response_format_is_sent_when_it_is_due(options: dict[str, Any], expected: list[str | None]) -> None:
    model = ScriptedModel(PROSE)
    with pytest.raises(ReplyError):
        load_one("confidence_grounding", model=model, **options).judge(ROW)
    assert kinds([request.parameters for request in model.asked]) == expected


@pytest.mark.parametrize(
    ("structured", "response_format"),
    [
        ("reask", {"type": "json_object"}),
        ("always", {"type": "json_schema", "json_schema": {"name": "o"}}),
        ("never", {"type": "json_object"}),
    ],
    ids=["at the re-ask", "always", "never"],
)
def test_response_format_of_the_users_own_is_not_touched(
    structured: Any, response_format: dict[str, Any]
) -> None:
    model = ScriptedModel(PROSE)
    own: Any = {"parameters": {"response_format": response_format}, "structured": structured}
    with pytest.raises(ReplyError):
        load_one("confidence_grounding", model=model, max_reasks=3, **own).judge(ROW)
    assert [request.parameters["response_format"] for request in model.asked] == [response_format] * 4


def test_unknown_way_is_refused() -> None:
    wrong: Any = "sometimes"
    with pytest.raises(PromptError, match=r"bad_structured: .*'reask', 'always', 'never'"):
        load_rubric("confidence_grounding", structured=wrong)


# Endpoints that refuse it


def refusing_after_prose(refusals: Mapping[str, Status]) -> Any:
    """An endpoint that replies in prose to free text and in JSON to a re-ask, and refuses what is listed."""

    def answer_to(body: dict[str, Any]) -> Answer:
        is_reask = len(body["messages"]) > 2
        answer: Answer = refusing(refusals, GOOD if is_reask else PROSE)(body)
        return answer

    return answer_to


REFUSED_SCHEMA = [None, SCHEMA, OBJECT, None, OBJECT]
REFUSED_JSON = [None, SCHEMA, OBJECT, None, None, None]


@pytest.mark.parametrize(
    ("refusals", "expected", "change"),
    [
        pytest.param({SCHEMA: NO_SCHEMA}, REFUSED_SCHEMA, "sent as json_object", id="schema refused"),
        pytest.param(
            {SCHEMA: NO_SCHEMA, OBJECT: NO_JSON}, REFUSED_JSON, "left out", id="schema and any JSON refused"
        ),
        pytest.param(
            {"response_format": refuses("response_format")},
            REFUSED_JSON,
            "left out",
            id="response_format refused by its name",
        ),
        pytest.param(
            {SCHEMA: Status(400, "Unknown name \"strict\" at 'generation_config.response_schema'")},
            REFUSED_SCHEMA,
            "sent as json_object",
            id="unknown name in the schema, as at Google",
        ),
        pytest.param(
            {SCHEMA: Status(400, "Unable to generate parser: JSON schema error at #: unrecognized type x")},
            REFUSED_SCHEMA,
            "sent as json_object",
            id="schema that cannot be parsed",
        ),
    ],
)
def test_refused_response_format_is_loosened_in_the_same_reask(
    refusals: Mapping[str, Status], expected: list[str | None], change: str, caplog: pytest.LogCaptureFixture
) -> None:
    with StandIn(refusing_after_prose(refusals)) as server, caplog.at_level(logging.WARNING, "groundjudge"):
        judge = judge_at(server)
        verdicts = [judge.judge(ROW) for _ in range(2)]
    assert kinds(server.bodies) == expected, "what the endpoint refuses is remembered"
    usage = Usage(prompt_tokens=20, completion_tokens=10)
    assert [(verdict.score, verdict.attempts, verdict.usage) for verdict in verdicts] == [(0.5, 2, usage)] * 2
    assert [record.getMessage().split(" is ")[1] for record in caplog.records] == [change]


def test_refused_parameter_beside_the_schema_is_left_out_alone() -> None:
    with StandIn(refusing_after_prose({"temperature": refuses("temperature")})) as server:
        judge_at(server, structured="always").judge(ROW)
    assert kinds(server.bodies) == [SCHEMA, SCHEMA, OBJECT]
    assert ["temperature" in body for body in server.bodies] == [True, False, False]


@pytest.mark.soak
def test_concurrent_refusals_of_the_schema_all_try_json_object() -> None:
    """Later refusals of the schema arrive when the endpoint is known to take json_object."""
    script = refusing_after_prose({SCHEMA: NO_SCHEMA})
    with StandIn(script, delays=(0, 0, 0, 0, 0, 0.3, 0.3, 0.3)) as server:
        verdicts = list(run(judge_at(server), [{**ROW, "id": str(n)} for n in range(4)], concurrency=4))
    assert [verdict.score for verdict in verdicts] == [0.5] * 4
    assert kinds(server.bodies).count(SCHEMA) == kinds(server.bodies).count(OBJECT) == 4


def test_reply_that_can_be_read_is_a_success_whatever_its_shape() -> None:
    with StandIn([PROSE, f"Here it is: {GOOD} I hope that helps."]) as server:
        judge = judge_at(server)
        assert [judge.judge(ROW).score for _ in range(2)] == [0.5, 0.5]
    assert kinds(server.bodies) == [None, SCHEMA, None]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, [None, None], id="by default"),
        pytest.param({"structured": "always"}, [SCHEMA, "json_object"], id="always"),
        pytest.param(
            {"parameters": {"response_format": {"type": "text"}}}, ["text", "text"], id="the user's own"
        ),
    ],
)
def test_function_gets_no_response_format_that_only_a_reask_would_add(
    options: dict[str, Any], expected: list[str | None]
) -> None:
    parameters_sent: list[Mapping[str, Any]] = []

    def model(request: Request) -> str:
        parameters_sent.append(request.parameters)
        return PROSE if len(parameters_sent) == 1 else GOOD

    assert load_one("confidence_grounding", model=model, **options).judge(ROW).attempts == 2
    assert kinds(parameters_sent) == expected
