"""The stand-in for batch APIs behaves as the real clients expect."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import anthropic
import openai
import pytest
from anthropic.types.messages.batch_create_params import Request as MessageRequest
from openai.types import Batch
from standin_batches import (
    COMPLETIONS,
    GOOD,
    BatchStandIn,
    LineAnswer,
    Unanswered,
    read_lines,
)
from standin_openai import Status, Text

Dial = Callable[[BatchStandIn], openai.OpenAI]
Post = Callable[[BatchStandIn], anthropic.Anthropic]


@pytest.fixture
def dial() -> Iterator[Dial]:
    """OpenAI's client of a server, which sends nothing again by itself."""
    clients: list[openai.OpenAI] = []

    def client_of(server: BatchStandIn) -> openai.OpenAI:
        clients.append(openai.OpenAI(base_url=server.url, api_key="k", max_retries=0))
        return clients[-1]

    yield client_of
    for client in clients:
        client.close()


@pytest.fixture
def post() -> Iterator[Post]:
    """Anthropic's client of a server, which sends nothing again by itself."""
    clients: list[anthropic.Anthropic] = []

    def client_of(server: BatchStandIn) -> anthropic.Anthropic:
        clients.append(anthropic.Anthropic(base_url=server.root, api_key="k", max_retries=0))
        return clients[-1]

    yield client_of
    for client in clients:
        client.close()


def line(number: int, **changes: Any) -> str:
    """A line of requests: its user says the number."""
    body = {"model": "m", "messages": [{"role": "user", "content": str(number)}]}
    return json.dumps(
        {"custom_id": f"r{number}", "method": "POST", "url": COMPLETIONS, "body": body, **changes}
    )


def lines(n: int) -> bytes:
    return "\n".join(map(line, range(n))).encode()


def begin(client: openai.OpenAI, content: bytes, **more: Any) -> Batch:
    file = client.files.create(file=("requests.jsonl", content), purpose="batch")
    return client.batches.create(input_file_id=file.id, endpoint=COMPLETIONS, completion_window="24h", **more)


def polled(client: openai.OpenAI, batch: Batch, n: int = 3) -> list[Batch]:
    return [client.batches.retrieve(batch.id) for _ in range(n)]


def results(client: openai.OpenAI, file_id: str | None) -> dict[str, Any]:
    if file_id is None:
        return {}
    return {each["custom_id"]: each for each in map(json.loads, client.files.content(file_id).iter_lines())}


def by_number(answers: Mapping[int, LineAnswer]) -> Callable[[dict[str, Any]], LineAnswer]:
    return lambda body: answers.get(int(body["messages"][-1]["content"]), GOOD)


def requests(n: int, **params: Any) -> list[MessageRequest]:
    """Requests to Anthropic: the user of each says its number."""

    def params_of(number: int) -> dict[str, Any]:
        messages = [{"role": "user", "content": str(number)}]
        return {"model": "m", "max_tokens": 9, "messages": messages, **params}

    listed = [{"custom_id": f"r{number}", "params": params_of(number)} for number in range(n)]
    return cast("list[MessageRequest]", listed)


# --- OpenAI ---------------------------------------------------------------------------------------


def test_a_batch_goes_on_with_each_poll_and_its_results_are_shuffled(dial: Dial) -> None:
    with BatchStandIn() as server:
        client = dial(server)
        batch = begin(client, lines(20), metadata={"run": "a"})
        assert (batch.status, batch.request_counts) == ("validating", None)
        found = polled(client, batch)
        assert [each.status for each in found] == ["in_progress", "finalizing", "completed"]
        done = found[-1]
        assert (done.metadata, done.error_file_id) == ({"run": "a"}, None)
        assert done.request_counts
        assert done.request_counts.model_dump() == {"total": 20, "completed": 20, "failed": 0}
        output = results(client, done.output_file_id)
    assert [*output] != sorted(output, key=lambda name: int(name[1:]))
    assert {*output} == {f"r{number}" for number in range(20)}
    assert output["r3"]["response"]["body"]["choices"][0]["message"]["content"] == GOOD
    assert set(server.paid().values()) == {1}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "empty_file"),
        (b"{", "invalid_json_line"),
        (lines(2) + b"\n" + lines(1), "duplicate_custom_id"),
        (line(0, url="/v1/responses").encode(), "invalid_url"),
        (line(0, method="GET").encode(), "invalid_url"),
        (line(0, body={"model": "m"}).encode(), "missing_required_parameter"),
        (line(0, extra=1).encode(), "invalid_request"),
        (
            f"{line(0)}\n{line(1, body={'model': 'n', 'messages': [{}]})}".encode(),
            "mismatched_model",
        ),
        (lines(4), "too_many_tasks"),
    ],
)
def test_a_faulty_file_is_refused(content: bytes, code: str) -> None:
    _, errors = read_lines(content, COMPLETIONS, 3)
    assert [each["code"] for each in errors] == [code]


# --- Anthropic ------------------------------------------------------------------------------------


def test_a_batch_of_messages_ends_and_its_results_are_shuffled(post: Post) -> None:
    answers: dict[int, LineAnswer] = {
        1: Status(529, "Overloaded"),
        2: Unanswered("expired"),
        3: Text("<S0>", finish_reason="length", usage=(7, 9)),
    }
    with BatchStandIn(by_number(answers)) as server:
        batches = post(server).messages.batches
        batch = batches.create(requests=requests(20))
        assert (batch.processing_status, batch.request_counts.processing) == ("in_progress", 20)
        with pytest.raises(anthropic.AnthropicError, match="in_progress"):
            batches.results(batch.id)  # which asks for the batch first
        done = [batches.retrieve(batch.id) for _ in range(3)][-1]
        assert done.processing_status == "ended"
        assert done.request_counts.model_dump(exclude={"processing"}) == {
            "succeeded": 18,
            "errored": 1,
            "expired": 1,
            "canceled": 0,
        }
        found = {each.custom_id: each.result for each in batches.results(batch.id)}
    assert [*found] != [f"r{number}" for number in range(20)]
    assert len(found) == 20
    errored, cut_off = found["r1"], found["r3"]
    assert errored.type == "errored"
    assert errored.error.error.type == "overloaded_error"
    assert found["r2"].type == "expired"
    assert cut_off.type == "succeeded"
    assert (cut_off.message.stop_reason, cut_off.message.usage.output_tokens) == ("max_tokens", 9)
    assert set(server.paid().values()) == {1}


@pytest.mark.soak
@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        ([*requests(1), *requests(1)], "unique"),
        ([{**requests(1)[0], "custom_id": "a:b"}], "should match pattern"),
        (requests(4), "1 to 3"),
    ],
)
def test_a_faulty_list_of_messages_is_refused(post: Post, faulty: list[MessageRequest], message: str) -> None:
    with BatchStandIn(max_lines=3) as server, pytest.raises(anthropic.BadRequestError, match=message):
        post(server).messages.batches.create(requests=faulty)


@pytest.mark.soak
@pytest.mark.parametrize(
    "params",
    [
        {"max_tokens": 0},
        {"seed": 1},
        {"stop": "x"},
        {"response_format": {"type": "json_object"}},
        {"messages": [{"role": "system", "content": "s"}]},
    ],
)
def test_faulty_parameters_are_errors_of_their_request(post: Post, params: Mapping[str, Any]) -> None:
    with BatchStandIn() as server:
        batches = post(server).messages.batches
        batch = batches.create(requests=requests(1, **params))
        for _ in range(3):
            batches.retrieve(batch.id)
        (found,) = batches.results(batch.id)
    assert found.result.type == "errored"
    assert found.result.error.error.type == "invalid_request_error"
