"""Whatever stands in a chat completion, its verdict can be written, and read again."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from formatter import sure
from hypothesis import given
from hypothesis import strategies as st

from groundjudge import Verdict, load

CASE = {"id": "a", "query": "q", "context": ["c"], "response": "r"}
GOOD = f"<S0>t</S0><S1>all of it</S1>{sure(5)}"
SURROGATES = st.text(st.one_of(st.characters(), st.sampled_from("\ud83d\udfff\x00\x85")), max_size=6)
ANYTHING = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), SURROGATES, st.just(10**5000))


def written_verdict(completion: Mapping[str, Any]) -> Verdict:
    """The verdict on a case, after it was written and read."""
    verdict = load("groundedness", model=lambda _: completion).evaluate(CASE)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    return verdict


def completion(usage: Any = None, **choice: Any) -> dict[str, Any]:
    message = {"content": choice.pop("content", GOOD), "refusal": choice.pop("refusal", None)}
    model = choice.pop("model", "m")
    return {
        "choices": [{"message": message, "finish_reason": "stop", **choice}],
        "model": model,
        "usage": usage,
    }


BAD = f"<S0>t</S0><S1>none of it</S1>{sure(1)}"
CHOICES: list[Any] = [
    pytest.param([GOOD, GOOD], "ok", id="two that are the same"),
    pytest.param([GOOD, BAD], "ambiguous", id="the better one first"),
    pytest.param([BAD, GOOD], "ambiguous", id="the worse one first"),
    pytest.param([GOOD, None], "ambiguous", id="one without a text"),
    pytest.param(["", GOOD], "ambiguous", id="an empty one first"),
    pytest.param([GOOD, "\ud83d"], "ambiguous", id="half a character"),
    pytest.param([GOOD, [{"type": "text", "text": GOOD}]], "ok", id="the same in parts"),
]


@pytest.mark.parametrize(("contents", "outcome"), CHOICES)
def test_choices_that_differ_are_no_verdict(contents: Any, outcome: str) -> None:
    answer: Any = {"choices": [{"message": {"content": content}} for content in contents]}
    verdict = load("groundedness", model=lambda _: answer).evaluate(CASE)
    assert (verdict.error.code if verdict.error else verdict.status) == outcome
    if outcome == "ambiguous":
        assert verdict.attempts == 2
        assert verdict.error
        assert "different answers: ask for one choice" in verdict.error.message


def test_choices_that_are_objects_and_differ_are_no_verdict() -> None:
    choices = [SimpleNamespace(message=SimpleNamespace(content=content)) for content in (GOOD, BAD)]
    verdict = load("groundedness", model=lambda _: SimpleNamespace(choices=choices)).evaluate(CASE)
    assert verdict.error
    assert verdict.error.code == "ambiguous"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param(
            {"model": "a\ud83d"},
            {"model": "a\ufffd", "status": "ok"},
            id="half a character in the model's name",
        ),
        pytest.param(
            {"finish_reason": "\ud83d"}, {"status": "error"}, id="half a character as the finish reason"
        ),
        pytest.param(
            {"content": None, "refusal": "no\udfff"}, {"status": "error"}, id="half a character in a refusal"
        ),
        pytest.param(
            {"content": GOOD.replace("all", "\ud83d")},
            {"status": "ok", "reason": "\ufffd of it"},
            id="half a character in the reason",
        ),
        pytest.param(
            {"usage": {"prompt_tokens": 10**5000, "completion_tokens": 1}},
            {"status": "ok", "usage": None},
            id="number of tokens with 5,000 digits",
        ),
        pytest.param(
            {"usage": {"prompt_tokens": 2**53 + 1, "completion_tokens": 1}},
            {"status": "ok", "usage": None},
            id="number of tokens that no float holds",
        ),
        pytest.param(
            {"usage": {"prompt_tokens": -1, "completion_tokens": 1}},
            {"status": "ok", "usage": None},
            id="negative number of tokens",
        ),
        pytest.param(
            {"usage": {"prompt_tokens": float("nan")}},
            {"status": "ok", "usage": None},
            id="tokens that are no number",
        ),
    ],
)
def test_what_an_endpoint_must_not_send_harms_no_row(fields: Any, expected: Mapping[str, Any]) -> None:
    verdict = written_verdict(completion(**fields))
    assert {name: getattr(verdict, name) for name in expected} == expected


@given(
    st.fixed_dictionaries(dict.fromkeys(("model", "finish_reason", "refusal", "content"), ANYTHING)), ANYTHING
)
def test_any_value_in_any_field_gives_a_verdict_that_can_be_written(fields: Any, tokens: Any) -> None:
    written_verdict(completion({"prompt_tokens": tokens, "completion_tokens": tokens}, **fields))
