"""The stand-in for batch APIs refuses what the real ones refuse: what it takes, they take."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

import anthropic
import pytest
from anthropic.types.messages.batch_create_params import Request as MessageRequest
from standin_batches import (
    COMPLETIONS,
    BatchStandIn,
    read_lines,
)


def line(number: int, **changes: Any) -> str:
    """A line of requests: its user says the number."""
    body = {"model": "m", "messages": [{"role": "user", "content": str(number)}]}
    return json.dumps(
        {"custom_id": f"r{number}", "method": "POST", "url": COMPLETIONS, "body": body, **changes}
    )


def lines(n: int) -> bytes:
    return "\n".join(map(line, range(n))).encode()


def requests(n: int, **params: Any) -> list[MessageRequest]:
    """Requests to Anthropic: the user of each says its number."""

    def params_of(number: int) -> dict[str, Any]:
        messages = [{"role": "user", "content": str(number)}]
        return {"model": "m", "max_tokens": 9, "messages": messages, **params}

    listed = [{"custom_id": f"r{number}", "params": params_of(number)} for number in range(n)]
    return cast("list[MessageRequest]", listed)


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


def client_of(server: BatchStandIn) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.root, api_key="k", max_retries=0)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("faulty", "message"),
    [
        ([*requests(1), *requests(1)], "unique"),
        ([{**requests(1)[0], "custom_id": "a:b"}], "should match pattern"),
        (requests(4), "1 to 3"),
    ],
)
def test_a_faulty_list_of_messages_is_refused(faulty: list[MessageRequest], message: str) -> None:
    with (
        BatchStandIn(max_lines=3) as server,
        client_of(server) as client,
        pytest.raises(anthropic.BadRequestError, match=message),
    ):
        client.messages.batches.create(requests=faulty)


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
def test_faulty_parameters_are_errors_of_their_request(params: Mapping[str, Any]) -> None:
    with BatchStandIn() as server, client_of(server) as client:
        batches = client.messages.batches
        batch = batches.create(requests=requests(1, **params))
        for _ in range(3):
            batches.retrieve(batch.id)
        (found,) = batches.results(batch.id)
    assert found.result.type == "errored"
    assert found.result.error.error.type == "invalid_request_error"
