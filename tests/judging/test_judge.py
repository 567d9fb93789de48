"""Judges ask, read, ask again if needed, and give a verdict that can be traced."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from functools import partial
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
    "passage_quality": (
        "RECALL_Reasoning: r\nRECALL_Formula: (5 * 1.0)\nRECALL_Weighted_Summed_Score: 5\n"
        "PRECISION_Reasoning: p\nPRECISION_Formula: (2 * 1.0)\nPRECISION_Weighted_Summed_Score: 2"
    ),
    "knowledge_hallucination": "Analysis: why\nLevel: Mild\nScore: 75",
}
SCORES = {
    "groundedness": (4, 0.75, "incomplete"),
    "confidence_grounding": (0.75, 0.75, None),
    "statement_groundedness": (7.5, 0.75, None),
    "passage_quality": (None, 0.4, None),
    "knowledge_hallucination": (75, 0.75, "mild_hallucination"),
}

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
    assert (verdict.status, verdict.attempts, len(model.asked)) == ("ok", 1, 1)
    value, score, label = SCORES[name]
    assert (verdict.value, verdict.label) == (value, label)
    assert verdict.score == pytest.approx(score)
    assert verdict.error is None
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


def test_reask_quotes_the_reply_and_its_error() -> None:
    verdict, model = both_ways("groundedness", "<S2>7</S2>", GOOD["groundedness"])
    first, second = model.asked
    assert second.messages[: len(first.messages)] == first.messages
    reply, question = second.messages[len(first.messages) :]
    assert reply == {"role": "assistant", "content": "<S2>7</S2>"}
    assert "1..5" in question["content"]
    assert re.search(r"<data-quote-\w+>\n7\n</data-quote-\w+>", question["content"])
    assert verdict.value == 4


@pytest.mark.parametrize("max_reasks", [0, 1, 2])
def test_max_reasks_limits_the_number_of_reasks(max_reasks: int) -> None:
    judge = load("groundedness", model=ScriptedModel("hm"), max_reasks=max_reasks)
    assert judge.evaluate(RAG).attempts == max_reasks + 1


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
BLANKS_OF_JUDGES = [
    pytest.param(name, *blank, marks=() if (row + column) % len(names()) == 0 else pytest.mark.soak)
    for row, name in enumerate(names())
    for column, blank in enumerate(BLANKS)
]


def with_response(name: str, response: object) -> dict[str, Any]:
    case = {**CASES[name], "response": response}
    return {key: value for key, value in case.items() if value is not ...}


@pytest.mark.parametrize(("name", "blank", "code"), BLANKS_OF_JUDGES)
def test_a_missing_or_blank_response_is_an_error_without_a_call(name: str, blank: object, code: str) -> None:
    verdict, model = both_ways(name, "hm", case=with_response(name, blank))
    assert (verdict.status, verdict.score, verdict.passed) == ("error", None, None)
    assert verdict.error is not None
    assert verdict.error.code == code
    assert '`empty_response` to "not_applicable"' in verdict.error.message
    assert (model.asked, verdict.attempts) == ([], 0)


@pytest.mark.parametrize(("name", "blank", "code"), BLANKS_OF_JUDGES)
def test_a_missing_or_blank_response_can_be_left_out_or_scored_worst(
    name: str, blank: object, code: str
) -> None:
    model = ScriptedModel("hm")
    case = with_response(name, blank)
    left_out = load(name, model=model, empty_response="not_applicable").judge(case)
    assert (left_out.status, left_out.label, left_out.score, left_out.passed) == (
        *("not_applicable", code),
        *(None, None),
    )
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
    for field in judge.rubric.prompt.inputs:
        if not field.required or field.field == "response":
            continue
        for change in (
            ({}, {field.field: None}) if field.may_be_empty else ({}, {field.field: None}, {field.field: " "})
        ):
            row = {key: value for key, value in CASES[name].items() if key != field.field} | change
            with pytest.raises(CaseError, match=field.field) as caught:
                judge.judge(row)
            assert (caught.value.code, caught.value.subject) == ("missing_field", field.field)
            assert verdict_of(caught.value).attempts == 0


def test_misspelt_context_is_a_missing_field() -> None:
    row = {"query": "q", "response": "r", "contxt": ["c"]}
    for name in ("groundedness", "confidence_grounding"):
        with pytest.raises(CaseError, match=r"context.*contxt"):
            load(name, model=ScriptedModel("hm")).judge(row)


def test_groundedness_level_three_is_not_applicable_and_passes() -> None:
    judge = load("groundedness", model=ScriptedModel("<S1>a question back</S1><S2>3</S2>"), threshold=0.99)
    verdict = judge.judge(RAG)
    assert (verdict.status, verdict.value, verdict.score, verdict.label, verdict.passed) == (
        "not_applicable",
        3,
        None,
        "nothing_to_ground",
        True,
    )
    assert verdict.reason == "a question back"


@pytest.mark.parametrize(
    ("name", "reply", "score", "label"),
    [
        *(
            ("groundedness", f"<S2>{level}</S2>", (level - 1) / 4, label)
            for level, label in ((1, "ungrounded"), (2, "incorrect"), (4, "incomplete"), (5, "grounded"))
        ),
        *(
            ("knowledge_hallucination", f"Score: {value}", value / 100, label)
            for value, label in (
                (0, "severe_hallucination"),
                (20, "severe_hallucination"),
                (20.5, "great_hallucination"),
                (40, "great_hallucination"),
                (41, "moderate_hallucination"),
                (60, "moderate_hallucination"),
                (80, "mild_hallucination"),
                (80.1, "no_hallucination"),
                (100, "no_hallucination"),
            )
        ),
    ],
)
def test_levels_and_bands_have_their_labels(name: str, reply: str, score: float, label: str) -> None:
    verdict = load(name, model=ScriptedModel(reply)).judge(CASES[name])
    assert verdict.score == pytest.approx(score)
    assert verdict.label == label


@pytest.mark.parametrize(
    ("level", "warned"),
    [
        ("Mild Hallucination", False),
        ("mild_hallucination", False),
        ("Severe", True),
        ("No Hallucination", True),
        ("61-80", False),
        ("", False),
    ],
)
def test_level_that_names_another_band_gives_a_warning(level: str, warned: bool) -> None:  # noqa: FBT001
    verdict = load(
        "knowledge_hallucination", model=ScriptedModel(f"Analysis: a\nLevel: {level}\nScore: 72")
    ).judge(PLAY)
    assert (verdict.value, verdict.label) == (72, "mild_hallucination")
    assert verdict.warnings == (("band_mismatch",) if warned else ())


@pytest.mark.parametrize(
    ("score", "threshold", "passed"),
    [
        *((0.1 + 0.2, 0.3, True), (0.7 + 0.1, 0.8, True), (1 - 0.9, 0.1, True)),
        *((0.29999999, 0.3, False), (0.75, 0.75, True), (0.0, 0.0, True)),
        *((0.75, 0.750000001, False), (0.75, 0.0, True), (0.75, 1.0, False)),
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


def test_reading_without_the_case_leaves_quotes_unchecked() -> None:
    judge = load("statement_groundedness", model=ScriptedModel("hm"))
    verdict = judge.rubric.read(GOOD["statement_groundedness"])
    assert verdict.score == 0.75
    assert verdict.warnings == ("evidence_unchecked",)
    assert all(part.evidence == () for part in verdict.parts)


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


ANSWERS = [
    returning(GOOD["groundedness"]),
    returning({"content": GOOD["groundedness"]}),
    returning({"choices": [{"message": {"content": GOOD["groundedness"]}, "finish_reason": "stop"}]}),
    returning({"content": [{"type": "text", "text": GOOD["groundedness"]}]}),
    returning(ClientMessage()),
    returning(Reply(GOOD["groundedness"])),
    answer_later,
    partial(answer_later),
    AsyncCallable(),
]


@pytest.mark.parametrize("answer", ANSWERS)
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


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ValueError("no"), "failed"),
        (TypeError("no"), "failed"),
        (TimeoutError(), "timeout"),
        (ConnectionError(), "connection"),
    ],
)
def test_exception_of_a_function_becomes_a_model_error(error: Exception, code: str) -> None:
    def fails(_: object) -> str:
        raise error

    verdict, _ = (verdict_by(load("groundedness", model=fails), RAG, by=by) for by in ("judge", "ajudge"))
    assert verdict.error is not None
    assert verdict.error.code == code
    assert verdict.attempts == 1


def test_reply_without_content_is_a_model_error() -> None:
    with pytest.raises(ModelError, match=r"must be a text, a mapping or have \.content, not int"):
        load("groundedness", model=returning(4)).judge(RAG)
