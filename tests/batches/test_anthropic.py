"""Anthropic's Message Batches as a provider of batches."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import anthropic
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.shared import ErrorObject
from batch_commands import by_number, rows
from pydantic import TypeAdapter
from scripted_model import ScriptedModel
from standin_batches import GOOD, BatchStandIn, Unanswered
from standin_openai import Status, Text

from groundjudge import ModelError, Reply, Usage, load
from groundjudge.batches.anthropic import DEFAULT_MAX_TOKENS, ERROR_CODES, AnthropicBatches, params_of
from groundjudge.batches.lines import read_result
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.replay import PendingRequest, pending_requests

PARAMS = TypeAdapter(MessageCreateParamsNonStreaming)
SYSTEM, USER, ANSWER = ({"role": role, "content": role[0]} for role in ("system", "user", "assistant"))


@contextmanager
def provider_of(server: BatchStandIn) -> Generator[AnthropicBatches, None, None]:
    with anthropic.Anthropic(base_url=server.root, api_key="k", max_retries=0) as client:
        yield AnthropicBatches(client)


def pending(n: int) -> list[PendingRequest]:
    """Requests of a judge about n cases."""
    judge = load("groundedness", model=ScriptedModel(GOOD))
    requests: list[PendingRequest] = []
    for requests_of_case, _ in pending_requests([judge], rows(n)):
        requests.extend(requests_of_case)
    return requests


def create_batch(provider: Provider, tmp_path: Path, n: int) -> Batch:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{provider.line(request)}\n" for request in pending(n)))
    return provider.create(path, {})


@pytest.mark.parametrize(
    ("messages", "parameters", "expected"),
    [
        pytest.param(
            [SYSTEM, USER, SYSTEM],
            {"max_tokens": 5},
            {"max_tokens": 5, "system": "s\n\ns"},
            id="system prompts are joined",
        ),
        pytest.param(
            [USER, ANSWER, USER],
            {"max_completion_tokens": 7, "temperature": 0, "stop": ["x", "y"]},
            {"max_tokens": 7, "temperature": 0, "stop_sequences": ["x", "y"]},
            id="conversation, stop texts and newer limit",
        ),
        pytest.param(
            [USER],
            {"max_tokens": None, "stop": "x"},
            {"max_tokens": DEFAULT_MAX_TOKENS, "stop_sequences": ["x"]},
            id="default limit and one stop text",
        ),
        pytest.param(
            [USER],
            {"seed": 1, "logprobs": True, "response_format": {}, "n": 1},
            {"max_tokens": 4096},
            id="what the API lacks is left out",
        ),
    ],
)
def test_parameters_are_those_of_anthropics_api(
    messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    params = params_of("claude", messages, parameters)
    other_messages = [message for message in messages if message is not SYSTEM]
    assert params == {"model": "claude", "messages": other_messages, **expected}
    PARAMS.validate_python(params)


USAGE = {"input_tokens": 3, "output_tokens": 2}
CACHED = {**USAGE, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 500}
THOUGHT = {**USAGE, "output_tokens_details": {"thinking_tokens": 1}}
TEXT = {"type": "text", "text": "a"}


@pytest.mark.parametrize(
    ("content", "stop_reason", "usage", "text", "counts"),
    [
        pytest.param(
            [{"type": "thinking", "thinking": "t"}, TEXT],
            "end_turn",
            USAGE,
            "a",
            (3, None, None),
            id="thinking is no text",
        ),
        pytest.param(
            [TEXT, TEXT],
            "end_turn",
            CACHED,
            "aa",
            (543, 40, None),
            id="texts are joined, cache counted",
        ),
        pytest.param([], "max_tokens", THOUGHT, "", (3, None, 1), id="no text, all room was for thinking"),
    ],
)
def test_a_message_is_read_as_a_reply(
    content: Any, stop_reason: str, usage: Mapping[str, Any], text: str, counts: tuple[Any, Any, Any]
) -> None:
    message = {"model": "claude", "content": content, "stop_reason": stop_reason, "usage": usage}
    line = {"custom_id": "r", "result": {"type": "succeeded", "message": message}}
    n_prompt, cached, reasoning = counts
    tokens = Usage(
        prompt_tokens=n_prompt, completion_tokens=2, cached_tokens=cached, reasoning_tokens=reasoning
    )
    assert read_result(json.dumps(line)) == ("r", Reply(text, stop_reason, tokens, "claude"))


def error_result(kind: str) -> dict[str, Any]:
    return {"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": "m"}}}


@pytest.mark.parametrize(
    ("result", "code"),
    [
        pytest.param({"type": "expired"}, "expired", id="expired"),
        pytest.param({"type": "canceled"}, "cancelled", id="cancelled"),
        pytest.param({"type": "new"}, "failed", id="unknown"),
        pytest.param(error_result("invalid_request_error"), "bad_request", id="bad request"),
        pytest.param(error_result("billing_error"), "quota", id="no money"),
        pytest.param(error_result("timeout_error"), "timeout", id="timeout"),
        pytest.param(error_result("overloaded_error"), "server", id="overloaded"),
    ],
)
def test_what_is_no_message_is_an_error(result: Mapping[str, Any], code: str) -> None:
    custom_id, answer = read_result(json.dumps({"custom_id": "r", "result": result}))
    assert (custom_id, getattr(answer, "code", "")) == ("r", code)


def test_every_error_of_the_client_has_a_code() -> None:
    union, *_ = get_args(ErrorObject)
    kinds = {get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(union)}
    assert kinds == {*ERROR_CODES, "api_error", "overloaded_error"}


def test_a_batch_is_created_polled_and_read(tmp_path: Path) -> None:
    cut_off = Text("<S0>", finish_reason="length")
    script = by_number({1: cut_off, 2: Status(429), 3: Unanswered("expired")})
    with BatchStandIn(script) as server, provider_of(server) as provider:
        batch = create_batch(provider, tmp_path, 5)
        assert batch == Batch(batch.id, "in_progress", is_ended=False)
        while not (end := provider.batch(batch.id)).is_ended:
            pass
        assert end == Batch(batch.id, "ended", is_ended=True, n_done=5, files=(batch.id,))
        lines = b"".join(provider.content(batch.id, 0)).decode().splitlines()
    (params, *_) = server.batches[batch.id].requests.values()
    assert {*params} == {"model", "system", "messages", "max_tokens", "temperature", "top_p"}
    answer_by_id = dict(map(read_result, lines))
    replies: list[tuple[str, str | None, str | None]] = []
    codes: list[str] = []
    for request in pending(5):
        answer = answer_by_id[request.custom_id]
        if isinstance(answer, Reply):
            replies.append((answer.text, answer.finish_reason, answer.model))
        else:
            codes.append(answer.code)
    good = (GOOD, "end_turn", pending(1)[0].model.name)
    assert replies == [good, ("<S0>", "max_tokens", good[2]), good]
    assert codes == ["rate_limited", "expired"]


@pytest.mark.soak
def test_a_batch_is_found_by_time_and_size_whatever_the_servers_clock_says(tmp_path: Path) -> None:
    with BatchStandIn(ahead=900.0) as server, provider_of(server) as provider:
        batches = [create_batch(provider, tmp_path, n) for n in (1, 2, 3)]
        for earlier, later in pairwise(server.batches.values()):
            earlier.created_at = later.created_at - 60
        now = time.time()
        assert provider.find({}, now - 30, 3) == batches[2]
        assert provider.find({}, now - 30, 2) is None
        assert provider.find({}, now - 90, 2) == batches[1]
        assert provider.find({}, now + 30, 3) is None
        assert provider.find({}, now - 999, 4) is None


def test_a_missing_key_is_a_model_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ModelError):
        AnthropicBatches().batch("b")
