"""Weighted scores over HTTP: probabilities come, are refused or ignored, and are kept in the cache."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openai
import pytest
from any_options import load_one
from command_line import ROW
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field
from standin_openai import Answer, Piece, StandIn, Status, Text, logprobs_of, refuses, refusing, text_of

from groundjudge import ModelError, Verdict, load
from groundjudge.models.cached import CachedModel
from groundjudge.models.openai import OpenAIModel
from groundjudge.types import Judge

UNKNOWN = "logprobs_unusable"
PIECES: list[Piece] = ["<S1>", "r", "</S1>", "<S2", {">4": 0.5, ">5": 0.25, ">1": 0.25}, "</S2>"]
SHARES = {"1": 0.25, "4": 0.5, "5": 0.25}
FOUR = Text(text_of(PIECES), logprobs=logprobs_of(PIECES))
BARE = Text(text_of(PIECES))
FEW = Text(text_of(PIECES), logprobs=logprobs_of(PIECES, most=1))


def judge_at(server: StandIn, **options: Any) -> Judge:
    settings: dict[str, Any] = {"weighted": True, "model": OpenAIModel("m", base_url=server.url), **options}
    return load_one("groundedness", **settings)


def assert_weighted(verdict: Verdict) -> None:
    assert verdict.distribution == pytest.approx(SHARES)
    assert verdict.expected == pytest.approx(3.5)
    assert verdict.score == pytest.approx(0.625)
    assert verdict.value == 4
    assert UNKNOWN not in verdict.warnings


def assert_plain(verdict: Verdict) -> None:
    assert (verdict.value, verdict.score, verdict.expected, verdict.distribution) == (4, 0.75, None, None)
    assert UNKNOWN in verdict.warnings


def names_sent(body: Mapping[str, Any]) -> set[str]:
    return {name for name in ("logprobs", "top_logprobs") if name in body}


BOTH = {"logprobs", "top_logprobs"}


def test_probabilities_come_over_http() -> None:
    with StandIn([FOUR]) as server:
        assert_weighted(judge_at(server).judge(ROW))
    assert server.bodies[0]["logprobs"] is True
    assert server.bodies[0]["top_logprobs"] == 20


def test_probabilities_come_through_clients_objects_and_functions() -> None:
    completion = {"choices": [{"message": {"content": FOUR.text}, "logprobs": FOUR.logprobs}]}

    def answer(*_: object, **__: object) -> Any:
        return completion

    create = SimpleNamespace(create=answer)
    with StandIn([FOUR]) as server, openai.OpenAI(base_url=server.url, api_key="k") as client:
        own_client = SimpleNamespace(chat=SimpleNamespace(completions=create))
        models: list[Any] = [(client, "m"), (own_client, "m"), answer]
        for model in models:
            assert_weighted(load_one("groundedness", model=model, weighted=True).judge(ROW))


def test_endpoint_with_fewer_candidates_leaves_the_plain_value_and_is_asked_again() -> None:
    with StandIn([FEW, FOUR]) as server:
        judge = judge_at(server)
        assert_plain(judge.judge(ROW))
        assert_weighted(judge.judge(ROW))


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(refuses("logprobs"), id="unsupported parameter"),
        pytest.param(Status(400, "top_logprobs must be at most 5"), id="too many candidates"),
        pytest.param(
            Status(422, body={"detail": [{"loc": ["body", "top_logprobs"]}]}),
            id="location in a detail, as of pydantic",
        ),
    ],
)
def test_refused_probabilities_are_left_out_at_once_and_from_then_on(
    refusal: Status, caplog: pytest.LogCaptureFixture
) -> None:
    script = refusing({"logprobs": refusal}, FOUR)
    with StandIn(script) as server, caplog.at_level(logging.WARNING, "groundjudge"):
        judge = judge_at(server)
        for _ in range(3):
            assert_plain(judge.judge(ROW))
    assert [names_sent(body) for body in server.bodies] == [BOTH, set(), set(), set()]
    assert server.bodies[-1]["temperature"] == 0
    (record,) = caplog.records
    assert record.getMessage() == (
        f"m at 127.0.0.1:{server.port} refuses parameters: from now on logprobs is left out, "
        "top_logprobs is left out"
    )


@pytest.mark.parametrize(
    "logprobs",
    [
        pytest.param(None, id="none"),
        pytest.param({"content": None}, id="without content"),
        pytest.param({"tokens": ["<"], "token_logprobs": [-0.1]}, id="in the shape of old completions"),
    ],
)
def test_ignored_probabilities_leave_the_plain_value(logprobs: Any) -> None:
    with StandIn([Text(BARE.text, logprobs=logprobs)]) as server:
        assert_plain(judge_at(server).judge(ROW))


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Status(401, "Incorrect API key provided"), id="wrong key"),
        pytest.param(Status(403, "You are not allowed to request logprobs from this model"), id="forbidden"),
    ],
)
def test_other_rejection_stays_an_error(answer: Answer) -> None:
    with StandIn([answer]) as server:
        with pytest.raises(ModelError) as caught:
            judge_at(server).judge(ROW)
        assert caught.value.code == "auth"
        assert len(server.requests) == 1
        server.script = [FOUR]
        assert_weighted(judge_at(server).judge(ROW))


def test_cache_keeps_the_probabilities(tmp_path: Path) -> None:
    with StandIn([FOUR]) as server:
        model = CachedModel(OpenAIModel("m", base_url=server.url), tmp_path / "c")
        first, second = (judge_at(server, model=model).judge(ROW) for _ in "12")
        assert len(server.requests) == 1
    assert_weighted(first)
    cost_of_first = {"usage": first.usage, "latency_s": first.latency_s}
    assert second.model_copy(update=cost_of_first) == first


class Settings(BaseChatModel):
    """A LangChain chat model with OpenAI's fields."""

    logprobs: bool | None = None
    top_logprobs: int | None = None
    calls: list[tuple[bool | None, int | None]] = Field(default_factory=list[Any])

    @property
    def _llm_type(self) -> str:
        return "settings"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:  # noqa: ARG002
        self.calls.append((self.logprobs, self.top_logprobs))
        metadata = {"logprobs": FOUR.logprobs if self.logprobs else None, "finish_reason": "stop"}
        message = AIMessage(FOUR.text or "", response_metadata=metadata)
        return ChatResult(generations=[ChatGeneration(message=message)])


def test_langchain_model_with_the_fields_is_asked_for_probabilities() -> None:
    llm = Settings()
    assert_weighted(load("groundedness", model=llm, weighted=True).judge(ROW))
    assert llm.calls == [(True, 20)]


EXAMPLE = Path(__file__).parents[2] / "examples" / "yes_no.prompty"


@pytest.mark.parametrize(
    ("label", "score"),
    [
        pytest.param("Yes", 0.8, id="probable Yes"),
        pytest.param("No", 0.8, id="No, though Yes is more probable"),
        pytest.param("No", 0.3, id="probable No"),
    ],
)
def test_yes_or_no_of_a_model_trained_for_grounding_is_scored_by_its_probability(
    label: str, score: float
) -> None:
    shares = {"Yes": score, "No": 1 - score}
    sampled_first = {label: shares[label], **shares}
    pieces: list[Piece] = [sampled_first, "<|im_end|>"]
    with StandIn([Text(label, logprobs=logprobs_of(pieces))]) as server:
        judge: Judge = load(EXAMPLE, model=OpenAIModel("m", base_url=server.url), weighted=True)
        verdict = judge.judge({"context": "The ferry sails at nine.", "response": "It sails at nine."})
    assert verdict.label == label.lower()
    assert math.isclose(verdict.score or 0, score)
    assert verdict.passed is (score > 0.5)
    (message,) = server.bodies[0]["messages"]
    assert message["role"] == "user"
    assert "The ferry sails at nine." in message["content"]
