"""Reasoning models as judges: stand-ins that behave as those of OpenAI, Anthropic and Google do."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openai
import pytest
from formatter import sure
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from loopback import Seen, json_server, running, url_of
from scripted_model import ScriptedModel
from standin_openai import Answer, Raw, StandIn, Status, Text, completion, refuses

from groundjudge import Reply, Usage, Verdict, load
from groundjudge.models.openai import OpenAIModel
from groundjudge.models.returned import completion_of, reply_of
from groundjudge.runs.verdict_file import read_verdicts

ROW = {"query": "When do you open?", "context": "We open at 9.", "response": "At 9."}
GOOD = f"<S0>t</S0><S1>The context says so.</S1>{sure(5)}"
REPLY_TOKENS = 80


class OpenAIReasoning:
    """Answers as a reasoning model behind chat completions: it thinks first, in the room of the reply.

    Attributes:
        thinking: the tokens that it thinks, by `reasoning_effort`; "default" where none was sent.
    """

    def __init__(self, **thinking: int) -> None:
        self.thinking = thinking

    def __call__(self, body: dict[str, Any]) -> Answer:
        if body.get("temperature", 1) != 1:
            message = (
                f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. "
                "Only the default (1) value is supported."
            )
            return Status(400, message, "unsupported_value", "temperature", "invalid_request_error")
        if "top_p" in body:
            return refuses("top_p")
        if "max_tokens" in body:
            return refuses("max_tokens", "max_completion_tokens")
        room = body["max_completion_tokens"]
        thinking = min(self.thinking[body.get("reasoning_effort", "default")], room)
        has_room = thinking + REPLY_TOKENS <= room
        answer = completion(Text(GOOD if has_room else "", "stop" if has_room else "length"))
        answer["usage"] = {
            "prompt_tokens": 1500,
            "completion_tokens": thinking + REPLY_TOKENS if has_room else room,
            "total_tokens": 1500 + (thinking + REPLY_TOKENS if has_room else room),
            "prompt_tokens_details": {"cached_tokens": 1024, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": thinking, "audio_tokens": 0},
        }
        return Raw(json.dumps(answer).encode())


@pytest.mark.parametrize(
    ("thinking", "parameters", "rooms", "code"),
    [
        pytest.param({"default": 300}, {}, [2000], None, id="room for all"),
        pytest.param({"default": 2500}, {}, [2000, 8000], None, id="all of it thought, more than it is"),
        pytest.param({"default": 7000}, {}, [2000, 8000], None, id="thought that four times the room holds"),
        pytest.param({"default": 9000}, {}, [2000, 8000], "truncated", id="thought without an end"),
        pytest.param({"default": 1950}, {}, [2000, 7900], None, id="reply cut off behind the thinking"),
        pytest.param(
            {"default": 5000}, {"max_completion_tokens": 6000}, [6000], None, id="newer name of the limit"
        ),
        pytest.param(
            {"default": 200},
            {"max_completion_tokens": 100},
            [100, 400],
            None,
            id="a small limit of the user's",
        ),
        pytest.param({"low": 100}, {"reasoning_effort": "low"}, [2000], None, id="low effort"),
        pytest.param({"none": 0}, {"reasoning_effort": "none"}, [2000], None, id="no effort"),
    ],
)
def test_openai_model_that_thinks_is_a_judge(
    thinking: dict[str, int],
    parameters: dict[str, Any],
    rooms: list[int],
    code: str | None,
) -> None:
    with StandIn(OpenAIReasoning(**thinking)) as server:
        model = OpenAIModel("luna", base_url=server.url)
        verdict = load("groundedness", model=model, parameters=parameters).evaluate(ROW)
        taken = [body for body in server.bodies if not {"temperature", "top_p", "max_tokens"} & body.keys()]
    assert [body["max_completion_tokens"] for body in taken] == rooms
    assert {body.get("reasoning_effort") for body in taken} == {parameters.get("reasoning_effort")}
    assert (verdict.error.code if verdict.error else None) == code
    assert verdict.attempts == len(rooms)
    assert verdict.usage
    spent = [min(*thinking.values(), room) for room in rooms]
    assert verdict.usage.reasoning_tokens == sum(spent)
    assert verdict.usage.cached_tokens == 1024 * len(rooms)
    assert verdict.usage.prompt_tokens == 1500 * len(rooms)
    assert verdict.usage.completion_tokens >= sum(spent)


@pytest.mark.parametrize("make", [openai.OpenAI, openai.AsyncOpenAI])
async def test_client_of_a_model_that_thinks_leaves_it_more_room_too(make: Any) -> None:
    with StandIn(OpenAIReasoning(default=2500)) as server:
        client = make(base_url=server.url, api_key="k")
        verdict = await load("groundedness", model=(client, "luna")).aevaluate(ROW)
        closing = client.close()
        if closing:
            await closing
    assert (verdict.status, verdict.attempts) == ("ok", 2)


def test_refusals_of_a_reasoning_model_are_learned_once() -> None:
    with StandIn(OpenAIReasoning(default=10)) as server:
        for number in range(3):
            load("groundedness", model=OpenAIModel("luna", base_url=server.url)).judge(ROW)
            assert len(server.requests) == 4 + number


# Anthropic


class AnthropicReasoning:
    """Answers as a Claude behind the Messages API."""

    def __init__(self, thinking: int = 0, *, takes_one_of_two: bool = False) -> None:
        self.thinking = thinking
        self.takes_one_of_two = takes_one_of_two
        self.taken: list[dict[str, Any]] = []

    def __call__(self, seen: Seen) -> tuple[int, Any]:
        body: dict[str, Any] = seen.body
        thinking: Mapping[str, Any] = body.get("thinking") or {}
        fault = ""
        if thinking.get("type") == "enabled" and body["max_tokens"] <= thinking["budget_tokens"]:
            fault = (
                "`max_tokens` must be greater than `thinking.budget_tokens`. Please consult our documentation"
            )
        elif thinking and body.get("temperature", 1) != 1:
            fault = "`temperature` may only be set to 1 when thinking is enabled or in adaptive mode."
        elif self.takes_one_of_two and {"temperature", "top_p"} <= body.keys():
            fault = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        if fault:
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": fault}}
        self.taken.append(body)
        spent = min(self.thinking, body["max_tokens"])
        has_room = spent + REPLY_TOKENS <= body["max_tokens"]
        content: list[dict[str, Any]] = []
        if spent:
            content.append({"type": "thinking", "thinking": f"<S2>1</S2> {GOOD[:9]}", "signature": "s"})
        if has_room:
            content.append({"type": "text", "text": GOOD})
        usage: dict[str, Any] = {
            "input_tokens": 476,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 1024,
            "output_tokens": spent + REPLY_TOKENS if has_room else body["max_tokens"],
        }
        if spent:
            usage["output_tokens_details"] = {"thinking_tokens": spent}
        message = {"id": "m", "type": "message", "role": "assistant", "model": body["model"]}
        stop_reason = "end_turn" if has_room else "max_tokens"
        return 200, {**message, "content": content, "stop_reason": stop_reason, "usage": usage}


@contextmanager
def claude(answer: AnthropicReasoning, model: str = "claude-x", **settings: Any) -> Generator[ChatAnthropic]:
    server = json_server(answer)
    make: Any = ChatAnthropic  # whose types know some of its arguments by other names
    with running(server):
        yield make(model=model, api_key="k", base_url=url_of(server), max_retries=0, **settings)


@pytest.mark.parametrize(
    ("answer", "settings", "temperature"),
    [
        pytest.param(AnthropicReasoning(), {}, 0, id="no thinking"),
        pytest.param(
            AnthropicReasoning(900),
            {"thinking": {"type": "enabled", "budget_tokens": 1024}},
            None,
            id="budget for thinking",
        ),
        pytest.param(AnthropicReasoning(900), {"thinking": {"type": "adaptive"}}, None, id="adaptive"),
        pytest.param(AnthropicReasoning(takes_one_of_two=True), {}, 0, id="one of temperature and top_p"),
    ],
)
def test_claude_is_a_judge(answer: AnthropicReasoning, settings: Any, temperature: Any) -> None:
    answer.taken.clear()
    with claude(answer, f"claude-{temperature}-{answer.thinking}", **settings) as llm:
        verdict = load("groundedness", model=llm).evaluate(ROW)
    assert (verdict.status, verdict.score, verdict.attempts) == ("ok", 1.0, 1)
    (body,) = answer.taken
    assert body.get("temperature") == temperature
    assert verdict.usage == Usage(
        prompt_tokens=1500,
        completion_tokens=answer.thinking + REPLY_TOKENS,
        cached_tokens=1024,
        reasoning_tokens=answer.thinking or None,
    )


def test_claude_without_room_is_truncated_and_keeps_the_limit_that_was_set() -> None:
    answer = AnthropicReasoning(3000)
    with claude(answer, thinking={"type": "enabled", "budget_tokens": 1024}, max_tokens=2000) as llm:
        verdict = load("groundedness", model=llm).evaluate(ROW)
    assert verdict.error
    assert verdict.error.code == "truncated"
    assert [body["max_tokens"] for body in answer.taken] == [2000, 2000]


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-fable-5"])
def test_claude_that_langchain_refuses_a_temperature_is_a_judge(model: str) -> None:
    answer = AnthropicReasoning(100)
    with claude(answer, model) as llm:
        verdict = load("groundedness", model=llm).evaluate(ROW)
    assert (verdict.status, verdict.attempts) == ("ok", 1)
    assert "temperature" not in answer.taken[0]


# Gemini, and other shapes of a message


def gemini(text: str, finish_reason: str, thinking: int | None, content: Any = None) -> AIMessage:
    """A message as LangChain makes it of Gemini's `candidates` and `usageMetadata`."""
    usage: Any = {"input_tokens": 1500, "output_tokens": REPLY_TOKENS, "total_tokens": 1500 + REPLY_TOKENS}
    usage["input_token_details"] = {"cache_read": 1024}
    if thinking is not None:
        usage["output_tokens"] += thinking
        usage["total_tokens"] += thinking
        usage["output_token_details"] = {"reasoning": thinking}
    metadata = {"finish_reason": finish_reason, "model_name": "gemini-x"}
    return AIMessage(text if content is None else content, response_metadata=metadata, usage_metadata=usage)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        pytest.param("", "truncated", id="empty text"),
        pytest.param([], "truncated", id="no parts"),
        pytest.param([{"type": "thinking", "thinking": GOOD}], "truncated", id="thoughts only"),
        pytest.param([{"type": "reasoning", "summary": ""}], "truncated", id="summary of the reasoning"),
    ],
)
def test_gemini_without_room_is_truncated(content: Any, code: str) -> None:
    cut_off = gemini("", "MAX_TOKENS", 500, content)
    llm = GenericFakeChatModel(messages=iter([cut_off, cut_off]))
    verdict = load("groundedness", model=llm).evaluate(ROW)
    assert verdict.error
    assert (verdict.error.code, verdict.attempts) == (code, 2)
    llm = GenericFakeChatModel(messages=iter([cut_off, gemini(GOOD, "STOP", 700)]))
    verdict = load("groundedness", model=llm).evaluate(ROW)
    assert (verdict.status, verdict.attempts) == ("ok", 2)
    assert verdict.usage == Usage(
        prompt_tokens=3000, completion_tokens=1360, cached_tokens=2048, reasoning_tokens=1200
    )


def test_empty_reply_that_ended_by_itself_is_empty() -> None:
    verdict = load("groundedness", model=ScriptedModel(Reply("", "stop"))).evaluate(ROW)
    assert verdict.error
    assert verdict.error.code == "empty"


# Usage


DETAILS = {
    "completion_tokens_details": {"reasoning_tokens": 7},
    "prompt_tokens_details": {"cached_tokens": 6},
}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        pytest.param({}, (10, 9, None, None), id="no details"),
        pytest.param(DETAILS, (10, 9, 6, 7), id="OpenAI"),
        pytest.param({"prompt_tokens_details": None}, (10, 9, None, None), id="details that are null"),
        pytest.param({"prompt_tokens_details": {"cached_tokens": 0}}, (10, 9, 0, None), id="nothing cached"),
        pytest.param({"total_tokens": 19}, (10, 9, None, None), id="total"),
        pytest.param(
            {"total_tokens": 119}, (10, 109, None, 100), id="Gemini counts thinking in the total only"
        ),
        pytest.param(
            {"total_tokens": 26, **DETAILS}, (10, 16, 6, 7), id="xAI, which tells the thinking apart too"
        ),
        pytest.param({"total_tokens": 3}, (10, 9, None, None), id="total that is too small"),
        pytest.param(
            {"completion_tokens_details": {"reasoning_tokens": "7"}}, (10, 9, None, None), id="no number"
        ),
        pytest.param(
            {"completion_tokens_details": {"reasoning_tokens": -7}}, (10, 9, None, None), id="no count"
        ),
    ],
)
def test_reasoning_and_cached_tokens_are_counted_apart(usage: dict[str, Any], expected: Any) -> None:
    completion_body = {
        **completion(Text("fine")),
        "usage": {"prompt_tokens": 10, "completion_tokens": 9, **usage},
    }
    for answer in (completion_body, json.loads(json.dumps(completion_body), object_hook=as_object)):
        reply = completion_of(answer)
        assert reply is not None
        assert reply.usage is not None
        counts = reply.usage
        assert (
            counts.prompt_tokens,
            counts.completion_tokens,
            counts.cached_tokens,
            counts.reasoning_tokens,
        ) == expected


def as_object(fields: dict[str, Any]) -> Any:
    return SimpleNamespace(**fields) if "role" not in fields else fields


def test_sum_of_usages_knows_what_one_of_them_knows() -> None:
    unknown = Usage(prompt_tokens=1, completion_tokens=1)
    known = Usage(prompt_tokens=1, completion_tokens=1, cached_tokens=0, reasoning_tokens=1)
    assert (unknown + unknown).reasoning_tokens is None
    assert (unknown + known) == (known + unknown)
    assert (known + known + unknown).reasoning_tokens == 2
    assert (unknown + known).cached_tokens == 0


def test_counts_have_langchains_names_and_are_read_again() -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=9, cached_tokens=6, reasoning_tokens=7)
    metadata: Any = usage.counts
    assert metadata["input_token_details"] == {"cache_read": 6}
    assert metadata["output_token_details"] == {"reasoning": 7}
    assert reply_of(AIMessage("fine", usage_metadata=metadata)).usage == usage
    assert Usage(prompt_tokens=10).counts == {"input_tokens": 10, "output_tokens": 0, "total_tokens": 10}


def test_verdict_file_keeps_the_counts_and_older_ones_are_read(tmp_path: Path) -> None:
    usage = Usage(prompt_tokens=10, completion_tokens=9, cached_tokens=6, reasoning_tokens=7)
    verdict = load("groundedness", model=ScriptedModel(Reply(GOOD, "stop", usage))).judge(ROW)
    older = json.loads(verdict.model_dump_json())
    del older["usage"]["cached_tokens"], older["usage"]["reasoning_tokens"]
    path = tmp_path / "verdicts.jsonl"
    path.write_text(f"{verdict.model_dump_json()}\n{json.dumps(older)}\n")
    usages: list[Usage | None] = []
    for row in read_verdicts(path):
        assert isinstance(row, Verdict)
        usages.append(row.usage)
    assert usages == [usage, Usage(prompt_tokens=10, completion_tokens=9)]


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_limit_of_the_user_takes_the_place_of_the_files(name: str) -> None:
    judge = load("groundedness", model=ScriptedModel(GOOD), parameters={name: 77})
    parameters = judge.rubrics[0].parameters
    limits = {key: value for key, value in parameters.items() if "tokens" in key}
    assert limits == {name: 77}
