"""Judges ask, read, ask again if needed, and give a verdict that can be traced."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scripted_model import ScriptedModel

from groundjudge import (
    Case,
    CaseError,
    GroundjudgeError,
    ModelError,
    Reply,
    Scale,
    Usage,
    Verdict,
    __version__,
    load,
    names,
)
from groundjudge.replies import Tags
from groundjudge.rubric.model import Model
from groundjudge.types import Failure, Judge
from groundjudge.verdict import passes

RAG: Mapping[str, Any] = {
    "id": "rag",
    "query": "When does the library open?",
    "context": ["The library opens at 9:00 on weekdays. It is closed on Sundays."],
    "response": "It opens at 9:00. It is closed on Sundays.",
    "reference": "The library opens at 9:00 on weekdays.",
}
PLAY: Mapping[str, Any] = {
    "agent_name": "Mira",
    "profile": "Mira keeps the lighthouse of Vessa.",
    "conversation": [{"role": "user", "content": "Who are you?"}],
    "response": "I keep the lighthouse.",
}
CASES = {name: PLAY if name == "knowledge_hallucination" else RAG for name in names()}

GOOD = {
    "groundedness": "<S0>t</S0><S1>why</S1><S2>4</S2>",
    "confidence_grounding": '{"reasoning": "why", "score": 0.75}',
    "statement_groundedness": (
        "Statement Sentence: It opens at 9:00.\nSupporting Evidence: The library opens at 9:00\nScore: 10\n"
        "Statement Sentence: It is closed on Sundays.\n"
        "Supporting Evidence: It is closed on Sundays.\nScore: 5"
    ),
    "passage_quality": "RECALL_Reasoning: r\nRECALL_Formula: (5 * 1.0)\nPRECISION_Formula: (2 * 1.0)",
    "knowledge_hallucination": "Analysis: why\nLevel: Mild\nScore: 75",
}
VALUES = {
    "groundedness": (4, 0.75, "incomplete"),
    "confidence_grounding": (0.75, 0.75, None),
    "statement_groundedness": (7.5, 0.75, None),
    "passage_quality": (None, pytest.approx(0.4), None),
    "knowledge_hallucination": (75, 0.75, "mild_hallucination"),
}
"""The value, the score and the label of these replies."""

MISSPELT = ("ofline", "off-line", "Offline ")
EMPTY_RESPONSES = "bad_empty_response: .* must be one of 'error', 'not_applicable', 'worst'"


def verdict_by(judge: Judge, case: Mapping[str, Any] | Case, *, by: str) -> Verdict:
    """The verdict by `judge` or `ajudge`, or the verdict of the error."""
    try:
        return judge.judge(case) if by == "judge" else asyncio.run(judge.ajudge(case))
    except GroundjudgeError as error:
        return verdict_of(error)


def verdict_of(error: GroundjudgeError) -> Verdict:
    """The verdict of an error, which has the same code and message."""
    assert error.verdict is not None
    assert error.verdict.error is not None
    assert (error.verdict.error.code, error.verdict.error.message) == (error.code, error.message)
    return error.verdict


def both_ways(
    name: str, *replies: str | Reply | Exception, case: Mapping[str, Any] | None = None
) -> tuple[Verdict, ScriptedModel]:
    """The verdict by `judge`, after checking that `ajudge` gives the same."""
    models = ScriptedModel(*replies), ScriptedModel(*replies)
    sync, async_ = (
        verdict_by(load(name, model=model), case or CASES[name], by=by)
        for model, by in ((models[0], "judge"), (models[1], "ajudge"))
    )
    assert sync.model_copy(update={"latency_s": 0.0}) == async_.model_copy(update={"latency_s": 0.0})
    assert [request.messages for request in models[0].asked] == [
        request.messages for request in models[1].asked
    ]
    return sync, models[0]


@pytest.mark.parametrize("name", names())
def test_good_reply_gives_a_verdict_in_one_call(name: str) -> None:
    verdict, model = both_ways(name, GOOD[name])
    assert (verdict.status, verdict.error, verdict.attempts, len(model.asked)) == ("ok", None, 1, 1)
    assert (verdict.value, verdict.score, verdict.label) == VALUES[name]
    assert verdict.reply == GOOD[name]


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(
    ("replies", "code", "attempts"),
    [
        (["hm", None], None, 2),
        (["", None], None, 2),
        (["I'm sorry, I can't do that.", None], None, 2),
        ([Reply("<S1>thi", finish_reason="length"), None], None, 2),
        ([Reply("", finish_reason="length"), "hm", None], None, 3),
        (["hm", "hm"], "no_verdict", 2),
        (["hm", Reply("", finish_reason="content_filter")], "refused", 2),
        (["hm", Reply("", finish_reason="length"), None], None, 3),
        (["", ""], "empty", 2),
        (["I'm sorry, I can't do that."], "no_verdict", 2),
        ([Reply("<S1>thi", finish_reason="length")], "truncated", 2),
        ([Reply("", refusal="No.")], "refused", 2),
        ([ModelError("timeout", "no reply within 2 s")], "timeout", 1),
        (["hm", ModelError("server", "500")], "server", 2),
    ],
)
def test_unreadable_reply_is_asked_about_once_and_then_an_error(
    name: str, replies: list[Any], code: str | None, attempts: int
) -> None:
    verdict, _ = both_ways(name, *(GOOD[name] if reply is None else reply for reply in replies))
    assert (verdict.error.code if verdict.error else None, verdict.attempts) == (code, attempts)
    assert (verdict.score is None, verdict.passed is None) == (code is not None, code is not None)
    assert verdict.status == ("error" if code else "ok")


@pytest.mark.parametrize("max_reasks", [0, 1, 2])
def test_reask_quotes_the_reply_and_its_error(max_reasks: int) -> None:
    model = ScriptedModel("<S2>7</S2>")
    verdict = load("groundedness", model=model, max_reasks=max_reasks).evaluate(RAG)
    assert verdict.attempts == len(model.asked) == max_reasks + 1
    for before, again in pairwise(model.asked):
        assert again.messages[: len(before.messages)] == before.messages
        reply, question = again.messages[len(before.messages) :]
        assert reply == {"role": "assistant", "content": "<S2>7</S2>"}
        assert "1..5" in question["content"]
        assert re.search(r"<data-quote-\w+>\n7\n</data-quote-\w+>", question["content"])


@pytest.mark.parametrize(
    ("parameters", "usage", "limit"),
    [
        ({}, None, ("max_tokens", 4000)),
        ({"max_completion_tokens": 100}, None, ("max_completion_tokens", 200)),
        ({"max_tokens": None}, Usage(completion_tokens=300), ("max_tokens", 600)),
        ({"max_tokens": None}, None, ("max_tokens", 4096)),
    ],
)
def test_truncated_reply_doubles_the_limit_or_the_usage_or_a_default(
    parameters: dict[str, Any], usage: Usage | None, limit: tuple[str, int]
) -> None:
    model = ScriptedModel(Reply("", finish_reason="length", usage=usage), GOOD["groundedness"])
    load("groundedness", model=model, parameters=parameters).judge(RAG)
    assert model.asked[1].parameters[limit[0]] == limit[1]
    assert model.asked[0].messages == model.asked[1].messages


def test_usage_of_all_attempts_is_added_up() -> None:
    replies = [
        Reply("hm", usage=Usage(prompt_tokens=10, completion_tokens=2)),
        Reply(GOOD["groundedness"], usage=Usage(prompt_tokens=20, completion_tokens=3), model="m-2"),
    ]
    verdict, _ = both_ways("groundedness", *replies)
    assert verdict.usage == Usage(prompt_tokens=30, completion_tokens=5)
    assert Usage(prompt_tokens=30, completion_tokens=5).total_tokens == 35
    assert verdict.model == "m-2"
    failed, _ = both_ways("groundedness", replies[0])
    assert failed.usage == Usage(prompt_tokens=20, completion_tokens=4)
    assert failed.reply == "hm"


BLANKS: list[tuple[object, str]] = [
    ("", "empty_response"),
    (" \n\t", "empty_response"),
    ("\u00a0\u3000", "empty_response"),
    ([], "empty_response"),
    ((), "empty_response"),
    ([{"role": "assistant", "content": ""}], "empty_response"),
    ([{"role": "assistant", "content": " "}, {"role": "assistant", "content": "\n"}], "empty_response"),
    ([{"role": "assistant", "content": [{"type": "text", "text": ""}]}], "empty_response"),
    ([("ai", " ")], "empty_response"),
    (None, "no_response"),
    (..., "no_response"),
]
"""What an application that crashed leaves of its response; ...: not even the key."""


@pytest.mark.parametrize(
    ("name", "blank", "code"),
    [
        pytest.param(name, *blank, marks=() if (row + column) % len(names()) == 0 else pytest.mark.soak)
        for row, name in enumerate(names())
        for column, blank in enumerate(BLANKS)
    ],
)
def test_a_missing_or_blank_response_is_an_error_left_out_or_scored_worst_without_a_call(
    name: str, blank: object, code: str
) -> None:
    case = {key: value for key, value in {**CASES[name], "response": blank}.items() if value is not ...}
    verdict, model = both_ways(name, "hm", case=case)
    assert (verdict.status, verdict.score, verdict.passed) == ("error", None, None)
    assert verdict.error is not None
    assert verdict.error.code == code
    assert '`empty_response` to "not_applicable"' in verdict.error.message
    assert (model.asked, verdict.attempts) == ([], 0)
    left_out = load(name, model=model, empty_response="not_applicable").judge(case)
    assert (left_out.status, left_out.label) == ("not_applicable", code)
    assert (left_out.score, left_out.passed) == (None, None)
    worst = load(name, model=model, empty_response="worst").judge(case)
    assert (worst.status, worst.score, worst.passed, worst.warnings) == ("ok", 0, False, (code,))
    assert {part.name for part in worst.parts} == ({"recall", "precision"} if "passage" in name else set())
    assert model.asked == []
    assert None not in {left_out.key, worst.key}


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("passage_quality", {"query": "When?", "response": ""}, "missing_field: .* needs reference"),
        ("groundedness", {"query": "When?"}, "no_response"),
        ("groundedness", {"context": "At nine."}, "missing_field: groundedness needs query"),
    ],
)
def test_a_crash_is_told_from_a_case_for_another_judge(name: str, row: dict[str, str], message: str) -> None:
    with pytest.raises(CaseError, match=message):
        load(name, model=ScriptedModel("hm")).judge(row)


def test_a_judge_that_needs_no_response_judges_without_one(tmp_path: Path) -> None:
    path = tmp_path / "queries.prompty"
    path.write_text("---\nname: queries\n---\nRate {{query}}", encoding="utf-8")
    model = ScriptedModel("<S2>4</S2>")
    judge = load(path, model=model, reply=Tags(), scale=Scale(worst=1, best=5))
    assert judge.judge({"query": "When?", "response": " "}).value == 4


@pytest.mark.parametrize("name", names())
def test_missing_field_is_named_without_a_call(name: str) -> None:
    judge = load(name, model=ScriptedModel("hm"))
    for given in judge.rubric.prompt.inputs:
        if not given.required or given.field == "response":
            continue
        for change in ({}, {given.field: None}, {given.field: " "})[: 2 if given.may_be_empty else 3]:
            row = {key: value for key, value in CASES[name].items() if key != given.field} | change
            with pytest.raises(CaseError, match=given.field) as caught:
                judge.judge(row)
            assert (caught.value.code, caught.value.subject) == ("missing_field", given.field)
            assert verdict_of(caught.value).attempts == 0


LEVELS = {1: "ungrounded", 2: "incorrect", 3: "nothing_to_ground", 4: "incomplete", 5: "grounded"}
BANDS = {
    "severe": (0, 20),
    "great": (20.5, 40),
    "moderate": (41, 60),
    "mild": (61, 80),
    "no": (80.1, 100),
}


@pytest.mark.parametrize("level", LEVELS)
def test_levels_have_their_labels_and_level_three_is_not_applicable_and_passes(level: int) -> None:
    judge = load("groundedness", model=ScriptedModel(f"<S1>r</S1><S2>{level}</S2>"), threshold=0.99)
    verdict = judge.judge(RAG)
    expected = ("not_applicable", None, True) if level == 3 else ("ok", (level - 1) / 4, level == 5)
    assert (verdict.status, verdict.score, verdict.passed) == expected
    assert (verdict.value, verdict.label, verdict.reason) == (level, LEVELS[level], "r")


@pytest.mark.parametrize("band", BANDS)
def test_bands_have_their_labels(band: str) -> None:
    for value in BANDS[band]:
        model = ScriptedModel(f"Score: {value}")
        verdict = load("knowledge_hallucination", model=model).judge(PLAY)
        assert verdict.score == pytest.approx(value / 100)
        assert verdict.label == f"{band}_hallucination"


@pytest.mark.parametrize(
    ("score", "threshold", "passed"),
    [
        *((0.1 + 0.2, 0.3, True), (0.7 + 0.1, 0.8, True), (1 - 0.9, 0.1, True), (0.75, 1.0, False)),
        *((0.29999999, 0.3, False), (0.75, 0.75, True), (0.0, 0.0, True), (0.75, 0.750000001, False)),
    ],
)
def test_rounding_errors_of_sums_do_not_decide(score: float, threshold: float, passed: bool) -> None:  # noqa: FBT001
    assert passes(score, threshold) is passed


def test_statement_parts_carry_checked_evidence() -> None:
    verdict = load("statement_groundedness", model=ScriptedModel(GOOD["statement_groundedness"])).judge(RAG)
    first, second = verdict.parts
    source = RAG["context"][0]
    assert [source[one.start : one.end] for one in (*first.evidence, *second.evidence)] == [
        "The library opens at 9:00",
        "It is closed on Sundays.",
    ]
    assert verdict.warnings == ()


def test_warnings_never_change_a_score() -> None:
    reply = (
        "Statement Sentence: It opens at 9:00.\nSupporting Evidence: The library opens at 9:30\nScore: 10\n"
        "Statement Sentence: Cats may come in.\nSupporting Evidence: Dogs and cats are welcome here\nScore: 5"
    )
    case = {**RAG, "response": "It opens at 9:00. Cats may come in."}
    verdict = load("statement_groundedness", model=ScriptedModel(reply)).judge(case)
    assert verdict.score == 0.75
    assert set(verdict.warnings) == {"evidence_altered", "evidence_not_found"}


def test_verdict_has_prompt_case_id_and_signature() -> None:
    judge = load("groundedness", model=ScriptedModel(GOOD["groundedness"]))
    verdict = judge.judge(RAG)
    assert verdict.prompt == judge.rubric.prompt.id
    assert verdict.case_id == "rag"
    assert verdict.signature == (
        f"groundedness@{judge.rubric.prompt.version}|sha:{judge.rubric.prompt.sha256[:12]}|model:scripted|groundjudge:{__version__}"
    )
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    assert (
        json.loads(json.dumps(verdict.model_dump(mode="json"), allow_nan=False))["signature"]
        == verdict.signature
    )


def test_repr_of_a_judge_names_judge_model_and_prompt() -> None:
    judge = load("statement_groundedness", model="offline")
    prompt = f"sha:{judge.rubric.prompt.sha256[:12]}"
    shown = f"Judge(name='statement_groundedness', model='offline', prompt='{prompt}')"
    assert (repr(judge), str(judge)) == (shown, shown)
    assert len(shown) < 120


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"status": "ok", "score": 0.75, "label": "incomplete"}, "score=0.75, label='incomplete'"),
        ({"status": "ok", "score": 0.0, "usage": Usage()}, "score=0.0"),
        ({"status": "not_applicable", "label": "nothing_to_ground"}, "label='nothing_to_ground'"),
        ({"status": "error", "error": Failure(code="empty", message="m" * 999)}, "error='empty'"),
    ],
)
def test_repr_of_a_verdict_has_one_short_line(given: Any, shown: str) -> None:
    verdict = Verdict(judge="g", value=4, reason="r", reply="r" * 999, **given)
    line = f"judge='g', status={given['status']!r}, {shown}"
    assert (repr(verdict), str(verdict)) == (f"Verdict({line})", line.replace(", ", " "))


def test_request_has_messages_and_parameters_and_makes_no_call() -> None:
    model = ScriptedModel("hm")
    judge = load("groundedness", model=model, parameters={"temperature": 0.5, "seed": 7})
    request = judge.rubric.ask(RAG)
    assert request == judge.rubric.ask(Case.from_mapping(RAG))
    assert request.parameters == {"temperature": 0.5, "top_p": 1, "max_tokens": 2000, "seed": 7}
    assert [message["role"] for message in request.messages] == ["system", "user"]
    assert model.asked == []


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("fairness", {}, r"unknown_judge: .*fairness.*confidence_grounding.*statement_groundedness"),
        ("groundedness", {}, r"no_model: .*openai:gpt-4o-mini.*offline"),
        ("groundedness", {"model": 4}, "int cannot be used as a model"),
        *(("groundedness", {"model": model}, r'unknown_model: .*"offline"') for model in MISSPELT),
        *(
            ("groundedness", {"model": "offline", "empty_response": choice}, EMPTY_RESPONSES)
            for choice in ("ignore", "Error", 0, True)
        ),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_the_choices(name: str, options: Any, message: str) -> None:
    with pytest.raises(GroundjudgeError, match=message):
        load(name, **options)


class ClientMessage:
    """A message as many client libraries return it: with content and metadata."""

    content = GOOD["groundedness"]
    usage_metadata = {"input_tokens": 7, "output_tokens": 3}  # noqa: RUF012
    response_metadata = {"finish_reason": "stop", "model_name": "chatty-1"}  # noqa: RUF012


async def answer_later(_: object) -> str:
    await asyncio.sleep(0)
    return GOOD["groundedness"]


class AsyncCallable:
    async def __call__(self, request: object) -> str:
        return await answer_later(request)


def returning(answer: Any) -> Callable[[object], Any]:
    return lambda _: answer


TEXT = GOOD["groundedness"]


@pytest.mark.parametrize(
    "answer",
    [
        returning(TEXT),
        returning({"content": TEXT}),
        returning({"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}),
        returning({"content": [{"type": "text", "text": TEXT}]}),
        returning(ClientMessage()),
        returning(Reply(TEXT)),
        *(answer_later, partial(answer_later), AsyncCallable()),
    ],
)
def test_any_function_is_a_model(answer: Any) -> None:
    judge = load("groundedness", model=answer)
    assert isinstance(judge.model, Model)
    assert judge.judge(RAG).value == 4
    assert asyncio.run(judge.ajudge(RAG)).value == 4

    async def inside_a_loop() -> Verdict:
        return judge.judge(RAG)

    assert asyncio.run(inside_a_loop()).value == 4


def test_function_can_return_the_json_object_itself() -> None:
    judge = load("confidence_grounding", model=returning({"reasoning": "r", "score": 0.75}))
    assert judge.judge(RAG).score == 0.75


def raising(error: Exception) -> Callable[[object], str]:
    def fails(_: object) -> str:
        raise error

    return fails


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (raising(ValueError("no")), "failed"),
        (raising(TypeError("no")), "failed"),
        (raising(TimeoutError()), "timeout"),
        (raising(ConnectionError()), "connection"),
    ],
)
@pytest.mark.parametrize("by", ["judge", "ajudge"])
def test_exception_of_a_function_becomes_a_model_error(function: Any, code: str, by: str) -> None:
    verdict = verdict_by(load("groundedness", model=function), RAG, by=by)
    assert verdict.error is not None
    assert (verdict.error.code, verdict.attempts) == (code, 1)


def test_reply_without_content_is_a_model_error() -> None:
    with pytest.raises(ModelError, match=r"must be a text, a mapping or have \.content, not int"):
        load("groundedness", model=returning(4)).judge(RAG)
