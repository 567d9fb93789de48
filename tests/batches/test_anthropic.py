"""Anthropic's Message Batches as a provider of batches."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import anthropic
import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from anthropic.types.shared import ErrorObject
from command_line import GOOD, ROW
from pydantic import TypeAdapter
from scripted_model import ScriptedModel
from standin_batches import BatchStandIn, LineAnswer, Unanswered
from standin_openai import Cut, Status, Text

from groundjudge import Case, ModelError, Reply, Usage, load_rubric
from groundjudge.batches.anthropic import DEFAULT_MAX_TOKENS, AnthropicBatches, params_of
from groundjudge.batches.lines import ANTHROPIC_CODES, read_result
from groundjudge.batches.provider import Batch, Provider
from groundjudge.batches.replay import PendingRequest, replay
from groundjudge.types import Judge

PARAMS = TypeAdapter(MessageCreateParamsNonStreaming)
USER = {"role": "user", "content": "u"}


@contextmanager
def provider_of(server: BatchStandIn) -> Generator[AnthropicBatches, None, None]:
    with anthropic.Anthropic(base_url=server.root, api_key="k", max_retries=0) as client:
        yield AnthropicBatches(client)


def pending(n: int) -> list[PendingRequest]:
    """Requests of a judge about n cases."""
    judge = Judge(load_rubric("groundedness"), ScriptedModel(GOOD))
    cases = [Case.from_mapping({**ROW, "query": f"Number {number}?"}) for number in range(n)]
    return [each for case in cases for each in replay(judge, case, lambda _: None)[1]]


def file_of(provider: Provider, tmp_path: Path, n: int = 3) -> Path:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(f"{provider.line(each)}\n" for each in pending(n)))
    return path


def results(provider: Provider, batch: Batch) -> list[str]:
    """The lines of the results of a batch that has ended."""
    return (
        b"".join(chunk for name in batch.files for chunk in provider.content(name, 0)).decode().splitlines()
    )


def ended(provider: Provider, batch: Batch) -> Batch:
    while not batch.is_ended:
        batch = provider.batch(batch.id)
    return batch


@pytest.mark.parametrize(
    ("messages", "parameters", "expected"),
    [
        ([USER], {}, {"max_tokens": DEFAULT_MAX_TOKENS, "messages": [USER]}),
        (
            [{"role": "system", "content": "a"}, USER, {"role": "system", "content": "b"}],
            {"max_tokens": 5},
            {"max_tokens": 5, "messages": [USER], "system": "a\n\nb"},
        ),
        (
            [USER, {"role": "assistant", "content": "x"}, USER],
            {"max_completion_tokens": 7, "temperature": 0, "top_p": 1},
            {
                "max_tokens": 7,
                "messages": [USER, {"role": "assistant", "content": "x"}, USER],
                "temperature": 0,
                "top_p": 1,
            },
        ),
        ([USER], {"max_tokens": None, "stop": "x"}, {"max_tokens": 4096, "stop_sequences": ["x"]}),
        ([USER], {"stop": ["x", "y"]}, {"max_tokens": 4096, "stop_sequences": ["x", "y"]}),
        ([USER], {"seed": 1, "logprobs": True, "response_format": {}, "n": 1}, {"max_tokens": 4096}),
    ],
)
def test_parameters_are_those_of_anthropics_api(
    messages: Sequence[Mapping[str, str]], parameters: Mapping[str, Any], expected: Mapping[str, Any]
) -> None:
    found = params_of("claude", messages, parameters)
    assert found == {"model": "claude", "messages": [USER], **expected}
    PARAMS.validate_python(found)


def succeeded(**changes: Any) -> str:
    message = {
        "model": "claude",
        "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "a"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }
    return json.dumps({"custom_id": "r", "result": {"type": "succeeded", "message": {**message, **changes}}})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, Reply("a", "end_turn", Usage(prompt_tokens=3, completion_tokens=2), "claude")),
        (
            {"stop_reason": "max_tokens", "content": []},
            Reply("", "max_tokens", Usage(prompt_tokens=3, completion_tokens=2), "claude"),
        ),
        (
            {
                "usage": {
                    "input_tokens": 3,
                    "output_tokens": 2,
                    "cache_read_input_tokens": 40,
                    "cache_creation_input_tokens": 500,
                }
            },
            Reply("a", "end_turn", Usage(prompt_tokens=543, completion_tokens=2), "claude"),
        ),
        (
            {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            Reply("ab", "end_turn", Usage(prompt_tokens=3, completion_tokens=2), "claude"),
        ),
    ],
)
def test_a_message_is_read_as_a_reply(changes: Mapping[str, Any], expected: Reply) -> None:
    assert read_result(succeeded(**changes)) == ("r", expected)


@pytest.mark.parametrize(
    ("result", "code"),
    [
        ({"type": "expired"}, "expired"),
        ({"type": "canceled"}, "cancelled"),
        ({"type": "new"}, "failed"),
        *(
            ({"type": "errored", "error": {"type": "error", "error": {"type": kind, "message": "m"}}}, code)
            for kind, code in {**ANTHROPIC_CODES, "api_error": "server", "overloaded_error": "server"}.items()
        ),
    ],
)
def test_what_is_no_message_is_an_error(result: Mapping[str, Any], code: str) -> None:
    custom_id, answer = read_result(json.dumps({"custom_id": "r", "result": result}))
    assert custom_id == "r"
    assert isinstance(answer, ModelError)
    assert answer.code == code


def test_every_error_of_the_client_has_a_code() -> None:
    union, *_ = get_args(ErrorObject)
    kinds = {get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(union)}
    assert kinds == {*ANTHROPIC_CODES, "api_error", "overloaded_error"}


def test_a_batch_is_created_polled_and_read(tmp_path: Path) -> None:
    answers: dict[int, LineAnswer] = {
        1: Text("<S0>", finish_reason="length"),
        2: Status(429),
        3: Unanswered("expired"),
    }

    def script(body: dict[str, Any]) -> LineAnswer:
        assert {"model", "system", "messages", "max_tokens", "temperature", "top_p"} == {*body}
        number = int(body["messages"][-1]["content"].split("Number ")[1].split("?")[0])
        return answers.get(number, GOOD)

    with BatchStandIn(script) as server, provider_of(server) as provider:
        lines = file_of(provider, tmp_path, 5)
        batch = provider.create(lines, {})
        assert batch == Batch(batch.id, "in_progress", is_ended=False)
        end = Batch(batch.id, "ended", is_ended=True, n_done=5, files=(batch.id,))
        assert ended(provider, batch) == end
        found = dict(map(read_result, results(provider, end)))
    good, cut_off, *errors, last = [found[each.custom_id] for each in pending(5)]
    assert last == good
    assert isinstance(good, Reply)
    assert (good.text, good.finish_reason, good.model) == (GOOD, "end_turn", pending(1)[0].model.name)
    assert isinstance(cut_off, Reply)
    assert cut_off.finish_reason == "max_tokens"
    assert [error.code for error in errors if isinstance(error, ModelError)] == ["rate_limited", "expired"]


@pytest.mark.soak
def test_a_cancelled_batch_has_the_replies_that_it_got(tmp_path: Path) -> None:
    with BatchStandIn() as server, provider_of(server) as provider:
        batch = provider.create(file_of(provider, tmp_path, 4), {})
        assert provider.batch(batch.id, cancel=True).status == "canceling"
        answers = [read_result(line)[1] for line in results(provider, ended(provider, batch))]
    codes = sorted(getattr(answer, "code", "reply") for answer in answers)
    assert codes == ["cancelled", "cancelled", "reply", "reply"]


@pytest.mark.soak
@pytest.mark.parametrize("ahead", [0.0, 900.0, -900.0])
def test_a_batch_is_found_by_time_and_size_whatever_the_servers_clock_says(
    tmp_path: Path, ahead: float
) -> None:
    with BatchStandIn(ahead=ahead) as server, provider_of(server) as provider:
        made = [provider.create(file_of(provider, tmp_path, n), {}) for n in (1, 2, 3)]
        for one, other in pairwise(server.batches.values()):
            one.created_at, other.created_at = other.created_at - 60, other.created_at
        now = time.time()
        assert provider.find({}, now - 30, 3) == made[2]
        assert provider.find({}, now - 30, 2) is None
        assert provider.find({}, now - 90, 2) == made[1]
        assert provider.find({}, now + 30, 3) is None
        assert provider.find({}, now - 999, 4) is None


@pytest.mark.soak
@pytest.mark.parametrize("answer", [Cut(), Status(500), Status(429, retry_after=0)])
def test_a_batch_is_created_with_one_call(tmp_path: Path, answer: Status | Cut) -> None:
    with BatchStandIn() as server, anthropic.Anthropic(base_url=server.root, api_key="k") as client:
        provider = AnthropicBatches(client)
        server.fail("create", answer, takes_effect=True)
        lines, since = file_of(provider, tmp_path), time.time()
        with pytest.raises(ModelError):
            provider.create(lines, {})
        found = provider.find({}, since, 3)
    assert found
    assert [*server.batches] == [found.id]


@pytest.mark.soak
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Status(401), "auth"),
        (Status(400), "bad_request"),
        (Status(429), "rate_limited"),
        (Status(529), "server"),
        (Cut(), "connection"),
    ],
)
@pytest.mark.parametrize("call", ["create", "retrieve", "list", "results", "cancel"])
def test_errors_of_the_client_are_model_errors(
    tmp_path: Path, call: Any, answer: Status | Cut, code: str
) -> None:
    with BatchStandIn() as server, provider_of(server) as provider:
        lines = file_of(provider, tmp_path)
        batch = ended(provider, provider.create(lines, {}))
        server.fail(call, answer)
        does: dict[str, Callable[[], object]] = {
            "create": lambda: provider.create(lines, {}),
            "retrieve": lambda: provider.batch(batch.id),
            "list": lambda: provider.find({}, 0, 3),
            "results": lambda: results(provider, batch),
            "cancel": lambda: provider.batch(batch.id, cancel=True),
        }
        with pytest.raises(ModelError) as caught:
            does[call]()
    assert caught.value.code == code


def test_a_missing_key_is_a_model_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ModelError):
        AnthropicBatches().batch("b")


@pytest.mark.soak
@pytest.mark.parametrize("start", [0, 1, 999, 10**9])
def test_a_download_can_begin_anywhere(tmp_path: Path, start: int) -> None:
    with BatchStandIn() as server, provider_of(server) as provider:
        batch = ended(provider, provider.create(file_of(provider, tmp_path, 40), {}))
        whole = b"".join(provider.content(batch.id, 0))
        assert b"".join(provider.content(batch.id, start)) == whole[start:]
