"""The beginning that all prompts of a judge share: its length, and its mark for Anthropic's cache."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from formatter import sure
from langchain_anthropic import ChatAnthropic
from loopback import Seen, json_server, running, url_of

from groundjudge import Usage, load, load_rubric, names
from groundjudge.judging.load import as_model
from groundjudge.models.prefixes import message_tokens, prefix_tokens
from groundjudge.prompt.prompt import Prompt
from groundjudge.types import Judge, Rubric

ROW = {"query": "When do you open?", "context": "We open at 9.", "response": "At 9."}
GOOD = f"<S0>t</S0><S1>The context says so.</S1>{sure(5)}"
CASE = "user:\n{{query}} {{context}} {{response}}"
LONG = "Judge well, " * 400  # 1,200 tokens
SHORT = "Judge well, " * 300  # 900
OPUS = "langchain:anthropic:claude-opus-5"


def rubric_of(body: str) -> Rubric:
    """The rubric of a judge of the library, with another prompt."""
    return replace(load_rubric("groundedness"), prompt=Prompt.parse(body))


class MessagesApi:
    """Anthropic's Messages API: keeps the bodies of requests, and has most of each prompt in its cache."""

    def __init__(self, *replies: str) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.replies = [*replies]

    def __call__(self, seen: Seen) -> tuple[int, Any]:
        self.bodies.append(seen.body)
        reply = self.replies.pop(0) if self.replies else GOOD
        usage = {"input_tokens": 300, "cache_read_input_tokens": 1700, "output_tokens": 80}
        message = {"id": "m", "type": "message", "role": "assistant", "model": seen.body["model"]}
        content = [{"type": "text", "text": reply}]
        return 200, {**message, "content": content, "stop_reason": "end_turn", "usage": usage}


class OtherPlatform(ChatAnthropic):
    """As a subclass for another platform, it is sent no mark."""


def claude_at(
    url: str, model: str = "claude-x", *, kind: Any = ChatAnthropic, **settings: Any
) -> ChatAnthropic:
    # Its types know some of its arguments by other names.
    llm: ChatAnthropic = kind(model=model, api_key="k", base_url=url, max_retries=0, **settings)
    return llm


def system_sent(rubric: Rubric, model: str = "claude-x", **settings: Any) -> Any:
    """The `system` of the body that arrives when a case is judged."""
    api = MessagesApi()
    server = json_server(api)
    with running(server):
        verdict = Judge(rubric, as_model(claude_at(url_of(server), model, **settings))).evaluate(ROW)
    assert verdict.status == "ok"
    return api.bodies[0].get("system")


@pytest.mark.parametrize("method", ["evaluate", "aevaluate"])
def test_a_mark_changes_nothing_else_of_a_request(method: str) -> None:
    api = MessagesApi()
    for kind in (ChatAnthropic, OtherPlatform):
        server = json_server(api)  # models at one address share a client, which belongs to one event loop
        with running(server):
            judge = load("groundedness", model=claude_at(url_of(server), kind=kind))
            verdict = judge.evaluate(ROW) if method == "evaluate" else asyncio.run(judge.aevaluate(ROW))
        assert verdict.usage == Usage(prompt_tokens=2000, completion_tokens=80, cached_tokens=1700)
    marked_body, plain_body = api.bodies
    text = load_rubric("groundedness").ask(ROW).messages[0]["content"]
    block = {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
    assert marked_body["system"] == [block]
    assert {**marked_body, "system": text} == plain_body


def test_what_is_sent_again_begins_with_the_same_marked_message() -> None:
    api = MessagesApi("I cannot say.")
    server = json_server(api)
    with running(server):
        verdict = load("groundedness", model=claude_at(url_of(server))).evaluate(ROW)
    assert verdict.attempts == 2
    first, second = api.bodies
    assert first["system"] == second["system"]
    assert "cache_control" in first["system"][0]
    assert "cache_control" not in str(second["messages"])


UNMARKED: Mapping[str, tuple[str, str, Mapping[str, Any]]] = {
    "too short": (f"system:\n{SHORT}\n{CASE}", "claude-x", {}),
    "too short for this model": (f"system:\n{LONG}\n{CASE}", "claude-haiku-4-5-20251001", {}),
    "a value of the case in it": (f"system:\n{LONG} {{{{query}}}}\n{CASE}", "claude-x", {}),
    "a mark of the caller's own": (
        f"system:\n{LONG}\n{CASE}",
        "claude-x",
        {"model_kwargs": {"cache_control": {"type": "ephemeral", "ttl": "1h"}}},
    ),
}


@pytest.mark.parametrize("state", UNMARKED)
def test_system_messages_that_are_not_marked_are_sent_as_text(state: str) -> None:
    body, model, settings = UNMARKED[state]
    system = system_sent(rubric_of(body), model, **settings)
    assert isinstance(system, str)


def test_a_long_constant_system_message_of_a_prompt_of_your_own_is_marked() -> None:
    (block,) = system_sent(rubric_of(f"system:\n{LONG}\n{CASE}"))
    assert block["text"] == LONG.strip()


def test_a_prompt_without_a_system_message_has_no_mark() -> None:
    assert system_sent(rubric_of(f"{LONG}\n{{{{query}}}} {{{{context}}}} {{{{response}}}}")) is None


def test_a_wrapped_model_is_called_unchanged() -> None:
    api = MessagesApi()
    server = json_server(api)
    with running(server):
        load("groundedness", model=claude_at(url_of(server)).with_retry()).evaluate(ROW)
    assert isinstance(api.bodies[0]["system"], str)


@pytest.mark.parametrize(
    ("body", "model", "is_kept"),
    [
        pytest.param(f"system:\n{LONG}\n{CASE}", "openai:gpt-6-luna", True, id="OpenAI from 1,024"),
        pytest.param(f"system:\n{SHORT}\n{CASE}", "openai:gpt-6-luna", False, id="OpenAI below"),
        pytest.param(f"{LONG}\n{CASE[6:]}", "gpt-6-luna", True, id="instructions in the user's message"),
        pytest.param(f"{{{{query}}}}\n{LONG}\n{CASE[6:]}", "gpt-6-luna", False, id="a value comes first"),
        pytest.param(f"system:\n{LONG}\n{CASE}", "gemini-2.5-pro", False, id="2.5 below"),
        pytest.param(f"system:\n{LONG * 2}\n{CASE}", "google/gemini-2.5-pro", True, id="2.5 from 2,048"),
        pytest.param(f"system:\n{LONG * 3}\n{CASE}", "gemini-3.6-flash", False, id="Gemini 3 below"),
        pytest.param(f"system:\n{LONG * 4}\n{CASE}", "gemini-3.6-flash", True, id="Gemini 3 from 4,096"),
        pytest.param(f"system:\n{LONG}\n{CASE}", OPUS, True, id="Claude of LangChain's Anthropic"),
        pytest.param(f"{LONG}\n{CASE[6:]}", OPUS, False, id="Claude without a message to mark"),
        pytest.param(f"system:\n{LONG}\n{CASE}", "anthropic/claude-opus-5", False, id="Claude of a gateway"),
        pytest.param(f"system:\n{LONG}\n{CASE}", "claude-haiku-4.5", False, id="Claude Haiku 4.5 below"),
    ],
)
def test_a_beginning_is_kept_from_the_length_of_its_provider_on(
    body: str, model: str, *, is_kept: bool
) -> None:
    assert (prefix_tokens(rubric_of(body), model) > 0) == is_kept


@pytest.mark.parametrize("name", names())
def test_a_beginning_is_what_the_prompts_of_two_cases_share(name: str) -> None:
    rubric = load_rubric(name)
    fields = [prompt_input.field for prompt_input in rubric.inputs]
    first = rubric.ask(dict.fromkeys(fields, "Cats sleep a lot.")).messages
    second = rubric.ask(dict.fromkeys(fields, "Is it Monday?")).messages
    beginning = rubric.prompt.beginning
    assert first[:-1] == second[:-1] == beginning[:-1]
    assert first[-1]["content"].startswith(beginning[-1]["content"])
    assert second[-1]["content"].startswith(beginning[-1]["content"])
    assert first[-1] != second[-1]
    assert prefix_tokens(rubric, "m") == message_tokens(beginning) > 1024
