"""The same state of an agent is the same case at every adapter that takes inputs and outputs, or a state."""

# What LangSmith leaves without types is no concern of these tests:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from chats import CHAT, LANGCHAIN, OPENAI
from langsmith.schemas import Run
from scripted_model import ScriptedModel

from groundjudge import Case, load, load_rubric
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langfuse import evaluator as langfuse_evaluator
from groundjudge.adapters.langsmith import evaluator
from groundjudge.adapters.mlflow import scorer
from groundjudge.adapters.promptfoo import get_assert
from groundjudge.adapters.pydantic_evals import JudgeEvaluator

GREETING: list[Any] = [("user", "Hi!"), ("assistant", "Hello!")]
NEXT: list[Any] = [("user", "And when does it leave?"), ("assistant", "At 9.")]
ANTHROPIC: list[Any] = [
    {"role": "user", "content": "Where is it?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "1", "name": "get_order", "input": {"id": 7}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "In Köln."}]},
    {"role": "assistant", "content": [{"type": "text", "text": "In Köln."}]},
]
STATES: Mapping[str, Mapping[str, Any]] = {
    "OpenAI": {"messages": OPENAI},
    "LangChain": {"messages": LANGCHAIN},
    "Anthropic": {"messages": ANTHROPIC},
    "no tool": {"messages": GREETING},
    "a tool in an earlier turn": {"messages": [*CHAT, *NEXT]},
    "documents beside it": {"messages": [*CHAT, *NEXT], "documents": ["It leaves at 9."]},
    "an answer beside it": {"messages": OPENAI, "answer": "In Köln."},
}
GOOD = "<S1>w</S1><S2>5</S2>"


def by_langsmith(model: ScriptedModel, state: Any) -> None:
    times: Any = {"start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T00:00:01"}
    first = {"messages": state["messages"][:1]}
    run = Run(id=uuid4(), name="a", run_type="chain", trace_id=uuid4(), inputs=first, outputs=state, **times)
    evaluator("groundedness", model=model).evaluate_run(run, None)


def by_pydantic_evals(model: ScriptedModel, state: Any) -> None:
    context: Any = SimpleNamespace(
        inputs={}, output=state, expected_output=None, metadata=None, name=None, attributes={}
    )
    asyncio.run(JudgeEvaluator("groundedness", model).evaluate(context))


def by_langfuse(model: ScriptedModel, state: Any) -> None:
    asyncio.run(langfuse_evaluator("groundedness", model=model)(input={}, output=state))


ADAPTERS: Mapping[str, Callable[[ScriptedModel, Any], object]] = {
    "judge": lambda model, state: load("groundedness", model=model).judge(state),
    "langchain": lambda model, state: runnable("groundedness", model=model).invoke(state),
    "langsmith": by_langsmith,
    "mlflow": lambda model, state: scorer("groundedness", model=model)(inputs={}, outputs=state),
    "langfuse": by_langfuse,
    "pydantic-evals": by_pydantic_evals,
    "promptfoo": lambda model, state: get_assert(
        state, {"vars": {}, "config": {"judge": "groundedness", "model": model}}
    ),
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_state_is_the_same_case(adapter: str, state: Mapping[str, Any]) -> None:
    model = ScriptedModel(GOOD)
    ADAPTERS[adapter](model, state)
    assert [request.case for request in model.asked] == [Case.of(state)]


def test_images_are_a_warning_of_the_verdict() -> None:
    image = {"type": "image_url", "image_url": {"url": "u"}}
    state = {
        "messages": [("user", "What is it?"), {"role": "tool", "content": [image]}, ("assistant", "A cat.")]
    }
    rubric = load_rubric("groundedness")
    assert rubric.read(GOOD, state).warnings == ("content_not_shown",)
    unused = {"response": "r", "context": "c", "conversation": [{"role": "user", "content": [image]}]}
    assert load_rubric("groundedness").read(GOOD, unused).warnings == ()
    assert runnable("groundedness", model=ScriptedModel(GOOD)).invoke(state).warnings == (
        "content_not_shown",
    )
