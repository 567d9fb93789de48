"""The mark for Anthropic's cache behind the system message that all prompts of a judge share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from formatter import sure
from langchain_anthropic import ChatAnthropic
from loopback import Seen, json_server, running, url_of

from groundjudge import Usage, load, load_rubric
from groundjudge.models.lookup import as_model
from groundjudge.prompt.prompt import Prompt
from groundjudge.types import Judge, Rubric

ROW = {"query": "When do you open?", "context": "We open at 9.", "response": "At 9."}
GOOD = f"<S0>t</S0><S1>The context says so.</S1>{sure(5)}"
CASE = "user:\n{{query}} {{context}} {{response}}"
SYSTEM = "Judge well."


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


def claude_at(url: str, *, kind: Any = ChatAnthropic, **settings: Any) -> ChatAnthropic:
    # Its types know some of its arguments by other names.
    llm: ChatAnthropic = kind(model="claude-x", api_key="k", base_url=url, max_retries=0, **settings)
    return llm


def system_sent(rubric: Rubric, **settings: Any) -> Any:
    """The `system` of the body that arrives when a case is judged."""
    api = MessagesApi()
    server = json_server(api)
    with running(server):
        verdict = Judge(rubric, as_model(claude_at(url_of(server), **settings))).evaluate(ROW)
    assert verdict.status == "ok"
    return api.bodies[0].get("system")


def test_a_mark_changes_nothing_else_of_a_request() -> None:
    api = MessagesApi()
    for kind in (ChatAnthropic, OtherPlatform):
        server = json_server(api)  # models at one address share a client, which belongs to one event loop
        with running(server):
            verdict = load("groundedness", model=claude_at(url_of(server), kind=kind)).evaluate(ROW)
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


UNMARKED: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "a value of the case in it": (f"system:\n{SYSTEM} {{{{query}}}}\n{CASE}", {}),
    "a mark of the caller's own": (
        f"system:\n{SYSTEM}\n{CASE}",
        {"model_kwargs": {"cache_control": {"type": "ephemeral", "ttl": "1h"}}},
    ),
}


@pytest.mark.parametrize("state", UNMARKED)
def test_system_messages_that_are_not_marked_are_sent_as_text(state: str) -> None:
    body, settings = UNMARKED[state]
    system = system_sent(rubric_of(body), **settings)
    assert isinstance(system, str)


def test_a_constant_system_message_of_a_prompt_of_your_own_is_marked() -> None:
    (block,) = system_sent(rubric_of(f"system:\n{SYSTEM}\n{CASE}"))
    assert block["text"] == SYSTEM


def test_a_prompt_without_a_system_message_has_no_mark() -> None:
    assert system_sent(rubric_of(f"{SYSTEM}\n{{{{query}}}} {{{{context}}}} {{{{response}}}}")) is None


def test_a_wrapped_model_is_called_unchanged() -> None:
    api = MessagesApi()
    server = json_server(api)
    with running(server):
        load("groundedness", model=claude_at(url_of(server)).with_retry()).evaluate(ROW)
    assert isinstance(api.bodies[0]["system"], str)
