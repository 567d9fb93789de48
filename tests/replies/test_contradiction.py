"""Two places of one reply that say the same thing: they agree, or there is no verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from any_options import load_any
from scripted_model import ScriptedModel

from groundjudge import Choices, ReplyError, Scale
from groundjudge.replies import Banded, Json, Line, Tags

CASE = {
    "query": "When do you open?",
    "context": "We open at 9.",
    "response": "At nine.",
    "reference": "We open at 9.",
    "agent_name": "Ada",
    "profile": "She keeps the library.",
    "conversation": "user: When do you open?",
}

PERCENT: Mapping[str, Any] = {"scale": Scale(worst=0, best=100), "not_applicable": (), "weighted": False}
BANDS = {20: "severe", 40: "great", 60: "moderate", 80: "mild", 100: "none"}
LABELS = Choices({"good": 1, "fair": 0.5, "poor": 0, "no answer": None})
OWN: Mapping[str, Mapping[str, Any]] = {
    "unweighted": {"weighted": False},
    "tokens": {"weighted": True},
    "json": {"reply": Json(shares="shares"), "weighted": "stated"},
    "line": {"reply": Line(shares="Shares"), "weighted": "stated"},
    "banded": {"reply": Banded(shares="Shares"), "weighted": "stated"},
    "labels": {"scale": LABELS, "levels": {}, "not_applicable": (), "weighted": "stated"},
    "bands": {**PERCENT, "levels": BANDS, "weighted": "stated"},
    "percent": {**PERCENT, "levels": {}, "reply": Tags()},
    "percent of faults": {**PERCENT, "levels": {}, "reply": Tags(), "scale": Scale(worst=100, best=0)},
    "ten": {"levels": {}, "not_applicable": (), "reply": Tags(), "scale": Scale(worst=0, best=10)},
}
"""Options that make another judge of groundedness."""


def tags(value: object, shares: str) -> str:
    return f"<S1>r</S1><S2>{value}</S2><S3>{shares}</S3>"


def shares(*percents: int) -> str:
    return ", ".join(f"{level}: {percent}" for level, percent in enumerate(percents, 1))


def in_json(score: int, *percents: int) -> str:
    return f'{{"reasoning": "r", "score": {score}, "shares": "{shares(*percents)}"}}'


def play(level: str, score: object) -> str:
    return f"Analysis: a\nLevel: {level}\nScore: {score}"


def in_bands(score: object, **percents: int) -> str:
    return tags(score, ", ".join(f"{band}: {percents.get(band, 0)}" for band in BANDS.values()))


DISAGREE: list[Any] = [
    # Shares and level, in every format that has a place for them.
    pytest.param("groundedness", tags(1, shares(0, 0, 100, 0, 0)), id="1, and surely not applicable"),
    pytest.param("groundedness", tags(1, shares(0, 0, 0, 0, 100)), id="1, and surely grounded"),
    pytest.param("groundedness", tags(4, shares(0, 51, 0, 49, 0)), id="4, and a little likelier 2"),
    pytest.param("tokens", tags(4, shares(0, 100, 0, 0, 0)), id="shares beside those of tokens"),
    pytest.param("json", in_json(4, 0, 100, 0, 0, 0), id="shares in JSON"),
    pytest.param("line", f"r\nVerdict: 4\nShares: {shares(0, 100, 0, 0, 0)}", id="shares on a line"),
    pytest.param(
        "banded",
        f"{play('incomplete', 4)}\nShares: {shares(0, 100, 0, 0, 0)}",
        id="shares against score and level",
    ),
    pytest.param("labels", tags("poor", "good: 90, fair: 10, poor: 0, no answer: 0"), id="shares of labels"),
    pytest.param("bands", in_bands(10, none=100), id="shares of bands"),
    # A number that may be a fraction or a percentage.
    pytest.param("knowledge_hallucination", "Analysis: a\nScore: 0.8", id="a fraction without a level"),
    pytest.param(
        "knowledge_hallucination", play("no_hallucination", 0.8), id="a fraction with the level of percent"
    ),
    pytest.param("knowledge_hallucination", play("severe", 0.1), id="a fraction whose percentage fits, too"),
    pytest.param("percent", "<S2>0.5</S2>", id="a fraction on a scale to 100"),
    pytest.param("percent of faults", "<S2>0.01</S2>", id="a fraction on a scale from 100"),
]


@pytest.mark.parametrize(("judge", "reply"), DISAGREE)
def test_places_that_disagree_are_asked_about_once_more_and_then_an_error(judge: str, reply: str) -> None:
    model = ScriptedModel(reply)
    loaded = load_any("groundedness" if judge in OWN else judge, model=model, **OWN.get(judge, {}))
    with pytest.raises(ReplyError) as caught:
        loaded.judge(CASE)
    assert caught.value.code == "ambiguous"
    verdict = caught.value.verdict
    assert verdict is not None
    assert (verdict.status, verdict.score, verdict.passed, verdict.attempts) == ("error", None, None, 2)
    assert "contradicts its own score elsewhere" in model.asked[1].messages[-1]["content"]


AGREE: list[Any] = [
    pytest.param("groundedness", tags(4, shares(0, 45, 0, 55, 0)), 0.525, id="the likeliest level"),
    pytest.param("groundedness", tags(3, shares(0, 50, 50, 0, 0)), None, id="a tie with not applicable"),
    pytest.param(
        "groundedness", tags(4, shares(24, 25, 0, 26, 25)), 0.5075, id="in doubt, on the side of its level"
    ),
    pytest.param(
        "groundedness",
        tags(4, shares(35, 25, 0, 40, 0)),
        0.3625,
        id="a mean on the other side",
    ),
    pytest.param("bands", in_bands(90, severe=40, great=20, none=40), 0.46, id="a tie of bands"),
    pytest.param("knowledge_hallucination", play("mild_hallucination", 72), 0.72, id="its level"),
    pytest.param("knowledge_hallucination", play("mild", 80), 0.8, id="the beginning of a level, at its end"),
    pytest.param("knowledge_hallucination", play("fine", 85), 0.85, id="no level of the scale"),
    pytest.param("knowledge_hallucination", play("severe", 0.8), 0.008, id="a small number with its level"),
    pytest.param("bands", in_bands(0.5, severe=100), 0.005, id="a small number with its shares"),
    pytest.param("knowledge_hallucination", "Score: 0", 0, id="0"),
    pytest.param("percent of faults", "<S2>1.5</S2>", 0.985, id="a number above 1"),
    pytest.param("ten", "<S2>0.8</S2>", 0.08, id="a fraction on a scale to 10"),
]


@pytest.mark.parametrize(("judge", "reply", "score"), AGREE)
def test_places_that_agree_are_read_at_once(judge: str, reply: str, score: float | None) -> None:
    model = ScriptedModel(reply)
    loaded = load_any("groundedness" if judge in OWN else judge, model=model, **OWN.get(judge, {}))
    verdict = loaded.judge(CASE)
    assert verdict.score == pytest.approx(score)
    assert (verdict.attempts, verdict.warnings) == (1, ())


def test_reply_that_agrees_after_the_question_counts() -> None:
    model = ScriptedModel(tags(1, shares(0, 0, 100, 0, 0)), tags(1, shares(90, 10, 0, 0, 0)))
    verdict = load_any("groundedness", model=model).judge(CASE)
    assert verdict.score == pytest.approx(0.025)
    assert verdict.attempts == 2
    complaint = model.asked[1].messages[-1]["content"]
    assert "1: 0, 2: 0, 3: 100, 4: 0, 5: 0" in complaint
