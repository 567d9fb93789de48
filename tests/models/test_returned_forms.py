"""What a function or a model object returns is read by its form, or is one error that names its keys."""

# LangChain's runnables and lambdas have no types of their own:
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from adapter_entries import ENTRIES
from adapters_table import Exchange
from deepeval.models import DeepEvalBaseLLM
from formatter import sure
from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableLambda
from openai.types.responses import Response

from groundjudge import Usage, Verdict, load
from groundjudge.types import AnyJudge

ROW = {"query": "When do you open?", "context": "We open at 9.", "response": "At 9."}
EXCHANGE = Exchange("a", {"query": ROW["query"]}, {"response": ROW["response"], "context": [ROW["context"]]})
# LangSmith says this of evaluations that are not uploaded.
pytestmark = pytest.mark.filterwarnings("ignore:'upload_")
GOOD = f"<S0>t</S0><S1>all of it</S1>{sure(5)}"
DRAFT = f"<S0>t</S0><S1>none of it</S1>{sure(1)}"


def responses(text: str = GOOD, status: str = "completed", **fields: Any) -> dict[str, Any]:
    """A response of OpenAI's Responses API, as JSON."""
    reasoning = {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": DRAFT}]}
    part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": []}
    message: dict[str, Any] = {
        "type": "message",
        "id": "m",
        "role": "assistant",
        "status": status,
        "content": [part],
    }
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 0,
        "model": "gpt-x",
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "output": [reasoning, message],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 2},
            "total_tokens": 15,
        },
        **fields,
    }


REFUSAL = [
    {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "I will not."}]}
]


def converse(text: str = GOOD, stop_reason: str = "end_turn") -> dict[str, Any]:
    """A response of Bedrock's Converse API."""
    thought = {"reasoningContent": {"reasoningText": {"text": DRAFT, "signature": "s"}}}
    return {
        "ResponseMetadata": {"HTTPStatusCode": 200},
        "output": {"message": {"role": "assistant", "content": [thought, {"text": text}]}},
        "stopReason": stop_reason,
        "usage": {
            "inputTokens": 6,
            "outputTokens": 5,
            "totalTokens": 15,
            "cacheReadInputTokens": 4,
            "cacheWriteInputTokens": 0,
        },
        "metrics": {"latencyMs": 1},
    }


def anthropic(text: str = GOOD, stop_reason: str = "end_turn") -> dict[str, Any]:
    """A message of Anthropic's API."""
    content = [{"type": "thinking", "thinking": DRAFT, "signature": "s"}, {"type": "text", "text": text}]
    usage = {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 5}
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }


def chat(text: str | None = GOOD, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion."""
    choice = {"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}
    return {
        "object": "chat.completion",
        "choices": [{**choice, "finish_reason": finish_reason}],
        "usage": usage,
    }


GEMINI: dict[str, Any] = {
    "candidates": [{"content": {"parts": [{"text": GOOD}]}, "finishReason": "STOP"}],
    "usageMetadata": {},
}


# How the answer gets to the judge


class Counted:
    """A model of any kind that returns one answer, and how often it was called."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.n_calls = 0

    def give(self, _: object) -> Any:
        self.n_calls += 1
        return self.answer

    async def agive(self, _: object) -> Any:
        await asyncio.sleep(0)
        return self.give(_)


def deepeval_model(counted: Counted) -> DeepEvalBaseLLM:
    class OwnLLM(DeepEvalBaseLLM):
        def load_model(self) -> Any:
            return self

        def generate(self, prompt: str) -> Any:
            return counted.give(prompt)

        async def a_generate(self, prompt: str) -> Any:
            return counted.give(prompt)

        def get_model_name(self) -> str:
            return "own"

    return OwnLLM()


def by_aevaluate(judge: AnyJudge) -> Verdict:
    return asyncio.run(judge.aevaluate(ROW))


def by_adapter(name: str) -> Callable[[AnyJudge], Verdict]:
    return lambda judge: ENTRIES[name](judge, [EXCHANGE])[0]


KINDS: dict[str, tuple[Callable[[Counted], Any], Callable[[AnyJudge], Verdict]]] = {
    "asynchronous function": (lambda counted: counted.agive, by_aevaluate),
    "function in LangChain": (lambda counted: counted.give, by_adapter("langchain")),
    "asynchronous function in DeepEval": (lambda counted: counted.agive, by_adapter("deepeval")),
    "function in LangSmith": (lambda counted: counted.give, by_adapter("langsmith")),
    "runnable of LangChain": (lambda counted: RunnableLambda(counted.give), by_adapter("langchain")),
    "model of DeepEval": (deepeval_model, by_adapter("deepeval")),
}


ALL_USAGE = Usage(prompt_tokens=10, completion_tokens=5, cached_tokens=4)


@pytest.mark.parametrize(
    ("answer", "expected", "n_calls"),
    [
        # The four forms
        pytest.param(chat(), 1.0, 1, id="chat completion"),
        pytest.param(responses(), 1.0, 1, id="Responses"),
        pytest.param(anthropic(), 1.0, 1, id="Anthropic"),
        pytest.param(converse(), 1.0, 1, id="Converse"),
        # A call of a function: what stands next to it may be a draft
        pytest.param(
            chat(tool_calls=[{"id": "1"}]), "interrupted", 2, id="chat completion that calls a tool"
        ),
        pytest.param(
            chat(function_call={"name": "f"}),
            "interrupted",
            2,
            id="chat completion that calls a function",
        ),
        pytest.param(
            responses(output=[*responses()["output"], {"type": "function_call", "name": "f"}]),
            "interrupted",
            2,
            id="Responses that calls a function",
        ),
        pytest.param(
            responses(output=[{"type": "web_search_call", "id": "w"}, *responses()["output"]]),
            1.0,
            1,
            id="Responses after a search of the provider's",
        ),
        pytest.param(
            {**anthropic(), "content": [*anthropic()["content"], {"type": "tool_use", "name": "f"}]},
            "interrupted",
            2,
            id="Anthropic that calls a tool",
        ),
        # Cut off: asked for once more
        pytest.param(chat(GOOD, "length"), "truncated", 2, id="chat completion that was cut off"),
        pytest.param(
            responses(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
            "truncated",
            2,
            id="Responses that is incomplete for want of tokens",
        ),
        pytest.param(responses(status="incomplete"), "truncated", 2, id="Responses that is incomplete"),
        pytest.param(anthropic(GOOD, "max_tokens"), "truncated", 2, id="Anthropic's that was cut off"),
        pytest.param(converse(GOOD, "max_tokens"), "truncated", 2, id="Converse that was cut off"),
        pytest.param({"content": GOOD, "status": "incomplete"}, "truncated", 2, id="incomplete message"),
        # Refused
        pytest.param(chat(GOOD, "content_filter"), "refused", 2, id="chat completion that was filtered"),
        pytest.param(
            responses(status="incomplete", incomplete_details={"reason": "content_filter"}),
            "refused",
            2,
            id="Responses that was filtered",
        ),
        pytest.param(responses(output=REFUSAL), "refused", 2, id="Responses with a refusal"),
        pytest.param(anthropic(GOOD, "refusal"), "refused", 2, id="Anthropic's refusal"),
        pytest.param(converse(GOOD, "guardrail_intervened"), "refused", 2, id="guardrail of Converse"),
        pytest.param({"role": "assistant", "content": None, "refusal": "no"}, "refused", 2, id="refusal"),
        # Neither one nor the other
        pytest.param(responses(status="in_progress"), "interrupted", 2, id="Responses in the background"),
        pytest.param(responses(output=[]), "empty", 2, id="Responses without a message"),
        # An error is its code
        pytest.param(
            responses(status="failed", output=[], error={"code": "invalid_prompt", "message": "no"}),
            "refused",
            1,
            id="Responses that failed for its prompt",
        ),
        pytest.param({"choices": None, "error": {"code": 402, "message": "no"}}, "quota", 1, id="error 402"),
        pytest.param({"type": "error", "error": {"type": "x", "message": "no"}}, "failed", 1, id="error"),
        # No known form
        pytest.param(GEMINI, "failed", 1, id="Gemini"),
        pytest.param({"text": GOOD, "finish": "length"}, "failed", 1, id="keys of one's own"),
        pytest.param({"message": {"content": GOOD}, "done_reason": "length"}, "failed", 1, id="Ollama"),
        pytest.param({"score": 5, "reasoning": "r"}, "failed", 1, id="JSON for a judge that takes tags"),
        pytest.param({}, "failed", 1, id="empty mapping"),
    ],
)
def test_what_is_returned_is_read_by_its_form(answer: Any, expected: object, n_calls: int) -> None:
    counted = Counted(answer)
    verdict = load("groundedness", model=counted.give).evaluate(ROW)
    assert (verdict.error.code if verdict.error else verdict.score) == expected
    assert counted.n_calls == n_calls
    if expected == 1.0:
        assert verdict.usage
        assert verdict.usage.model_copy(update={"reasoning_tokens": None}) == ALL_USAGE


@pytest.mark.parametrize(("make", "judged_by"), KINDS.values(), ids=KINDS)
def test_functions_and_models_of_every_kind_are_read_alike(make: Any, judged_by: Any) -> None:
    outcomes: list[object] = []
    for answer in (responses(), anthropic(GOOD, "max_tokens"), GEMINI):
        counted = Counted(answer)
        verdict = judged_by(load("groundedness", model=make(counted)))
        outcomes += [verdict.error.code if verdict.error else verdict.score, counted.n_calls]
    assert outcomes == [1.0, 1, "truncated", 2, "failed", 1]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(GEMINI, "a mapping with the keys candidates, usageMetadata, which", id="Gemini"),
        pytest.param({}, "returned an empty mapping, which contains no reply", id="empty mapping"),
        pytest.param(4, "returned an object of class int, which contains no reply", id="number"),
        pytest.param(SimpleNamespace(text=GOOD), "object of class SimpleNamespace", id="object"),
        pytest.param({"error": {"message": "no", "code": 429}}, "returned an error: no", id="error"),
    ],
)
def test_what_has_no_known_form_is_named(answer: object, message: str) -> None:
    def own_model(_: object) -> object:
        return answer

    verdict = load("groundedness", model=own_model).evaluate(ROW)
    assert verdict.error
    assert verdict.error.message.startswith("the model own_model returned ")
    assert message in verdict.error.message
    if "error" not in message:
        assert "return the reply's text" in verdict.error.message


def test_an_error_that_holds_itself_is_an_error() -> None:
    answer: dict[Any, Any] = {(1, 2): 3}
    answer["error"] = answer
    verdict = load("groundedness", model=lambda _: answer).evaluate(ROW)
    assert verdict.error
    assert verdict.error.code == "failed"


def test_objects_of_openais_client_are_read_too() -> None:
    response = Response.model_validate(responses(status="incomplete"))
    verdict = load("groundedness", model=lambda _: response).evaluate(ROW)
    assert verdict.error
    assert verdict.error.code == "truncated"
    verdict = load("groundedness", model=lambda _: Response.model_validate(responses())).evaluate(ROW)
    assert (verdict.score, verdict.model) == (1.0, "gpt-x")


@pytest.mark.parametrize(
    ("name", "answer", "score"),
    [
        pytest.param("confidence_grounding", {"reasoning": "r", "score": 0.75}, 0.75, id="JSON"),
        pytest.param("confidence_grounding", {"Score": 0.75}, 0.75, id="JSON without a reason"),
        pytest.param(
            "statement_groundedness",
            {"sentences": [{"n": 1, "sources": [1], "note": "-", "score": 10}], "all": 90},
            0.9,
            id="numbered sentences",
        ),
    ],
)
@pytest.mark.parametrize("make", [lambda answer: lambda _: answer, lambda a: RunnableLambda(lambda _: a)])
def test_a_verdict_that_was_read_from_json_is_a_reply(
    name: str, answer: Any, score: float, make: Any
) -> None:
    assert load(name, model=make(answer)).judge(ROW).score == score


def test_status_of_langchains_message_is_why_it_ended() -> None:
    metadata = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    message = AIMessage(GOOD, response_metadata=metadata)
    verdict = load("groundedness", model=RunnableLambda(lambda _: message)).evaluate(ROW)
    assert verdict.error
    assert verdict.error.code == "refused"
