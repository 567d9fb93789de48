"""Judges ask, read, ask again if needed, and give a verdict that can be traced."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bundled_judges import reply_of, shown_fields
from formatter import sure
from scripted_model import NamedModel, ScriptedModel

from groundjudge import (
    CachedModel,
    CaseError,
    GroundjudgeError,
    Guard,
    ModelError,
    PromptError,
    Reply,
    Scale,
    Usage,
    Verdict,
    __version__,
    load,
    load_rubric,
    names,
)
from groundjudge.replies import Scorecard, Tags
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
RUBRICS = {name: load_rubric(name) for name in names()}
CASES = {name: PLAY if "profile" in shown_fields(rubric) else RAG for name, rubric in RUBRICS.items()}

WRITTEN = {
    "groundedness": f"<S0>t</S0><S1>why</S1>{sure(4)}",
    "confidence_grounding": '{"reasoning": "why", "score": 0.75}',
    "statement_groundedness": "1 | 1 | - | 10\n2 | 2 | not every Sunday | 5\nALL | 75",
    "passage_quality": "RECALL_Reasoning: r\nRECALL_Formula: (5 * 1.0)\nPRECISION_Formula: (2 * 1.0)",
    "knowledge_hallucination": "Analysis: why\nLevel: Mild\nScore: 75",
}
GOOD = {name: reply_of(rubric, RAG["response"], 0.75) for name, rubric in RUBRICS.items()} | WRITTEN
"""A good reply of every judge: the one written out here, or else one that its format writes."""

VALUES = {
    "groundedness": (4, 0.75, "incomplete"),
    "confidence_grounding": (0.75, 0.75, None),
    "statement_groundedness": (None, 0.75, None),
    "passage_quality": (None, pytest.approx(0.4), None),
    "knowledge_hallucination": (75, 0.75, "mild_hallucination"),
}
"""The value, the score and the label of the replies written out."""


def verdict_by(judge: Judge, case: Mapping[str, Any], *, by: str) -> Verdict:
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
    model, other = ScriptedModel(*replies), ScriptedModel(*replies)
    verdict = verdict_by(load(name, model=model), case or CASES[name], by="judge")
    awaited = verdict_by(load(name, model=other), case or CASES[name], by="ajudge")
    assert verdict.model_dump(exclude={"latency_s"}) == awaited.model_dump(exclude={"latency_s"})
    assert [request.messages for request in model.asked] == [request.messages for request in other.asked]
    return verdict, model


@pytest.mark.parametrize("name", names())
def test_every_judge_asks_again_after_a_reply_without_a_verdict(name: str) -> None:
    verdict, _ = both_ways(name, "hm", GOOD[name])
    assert (verdict.status, verdict.attempts) == ("ok", 2)
    failed, _ = both_ways(name, "hm")
    assert (failed.status, failed.score, failed.attempts) == ("error", None, 2)


@pytest.mark.parametrize("name", WRITTEN)
def test_good_reply_gives_a_verdict_in_one_call(name: str) -> None:
    verdict, model = both_ways(name, GOOD[name])
    assert (verdict.status, verdict.error, verdict.attempts, len(model.asked)) == ("ok", None, 1, 1)
    assert (verdict.value, verdict.score, verdict.label) == VALUES[name]
    assert verdict.reply == GOOD[name]


UNFINISHED = Reply("<S1>thi", finish_reason="length")


@pytest.mark.parametrize(
    ("replies", "code", "attempts"),
    [
        pytest.param(["hm", None], None, 2, id="no verdict, then a good reply"),
        pytest.param(["", None], None, 2, id="empty, then a good reply"),
        pytest.param([UNFINISHED, "hm", None], None, 3, id="cut off, no verdict, then a good reply"),
        pytest.param(["hm", UNFINISHED, None], None, 3, id="no verdict, cut off, then a good reply"),
        pytest.param(
            [Reply("<S1>thi", finish_reason="unheard-of"), None],
            None,
            2,
            id="unknown finish reason, then a good reply",
        ),
        pytest.param(["hm"], "no_verdict", 2, id="no verdict twice"),
        pytest.param([UNFINISHED], "truncated", 2, id="cut off twice"),
        pytest.param([Reply("", refusal="No.")], "refused", 2, id="refused twice"),
        pytest.param([ModelError("timeout", "no reply within 2 s")], "timeout", 1, id="timeout"),
        pytest.param(["hm", ModelError("server", "500")], "server", 2, id="no verdict, then a server error"),
    ],
)
def test_unreadable_reply_is_asked_about_once_and_then_an_error(
    replies: list[Any], code: str | None, attempts: int
) -> None:
    """None stands for a good reply."""
    script = [GOOD["groundedness"] if reply is None else reply for reply in replies]
    verdict = load("groundedness", model=ScriptedModel(*script)).evaluate(RAG)
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
        pytest.param({}, None, ("max_tokens", 4000), id="the judge's limit"),
        pytest.param(
            {"max_completion_tokens": 100}, None, ("max_completion_tokens", 200), id="max_completion_tokens"
        ),
        pytest.param(
            {"max_tokens": None},
            Usage(completion_tokens=300),
            ("max_tokens", 600),
            id="usage, without a limit",
        ),
        pytest.param({"max_tokens": None}, None, ("max_tokens", 4096), id="neither limit nor usage"),
    ],
)
def test_truncated_reply_doubles_the_limit_or_the_usage_or_a_default(
    parameters: dict[str, Any], usage: Usage | None, limit: tuple[str, int]
) -> None:
    model = ScriptedModel(Reply("", finish_reason="length", usage=usage), GOOD["groundedness"])
    load("groundedness", model=model, parameters=parameters).judge(RAG)
    assert model.asked[1].parameters == {**model.asked[0].parameters, limit[0]: limit[1]}
    assert model.asked[0].messages == model.asked[1].messages


def test_usage_of_all_attempts_is_added_up() -> None:
    first_reply = Reply("hm", usage=Usage(prompt_tokens=10, completion_tokens=2))
    second_reply = Reply(
        GOOD["groundedness"], usage=Usage(prompt_tokens=20, completion_tokens=3), model="m-2"
    )
    verdict, _ = both_ways("groundedness", first_reply, second_reply)
    assert (verdict.usage, verdict.model) == (Usage(prompt_tokens=30, completion_tokens=5), "m-2")
    assert Usage(prompt_tokens=30, completion_tokens=5).total_tokens == 35
    failed, _ = both_ways("groundedness", first_reply)
    assert (failed.usage, failed.reply) == (Usage(prompt_tokens=20, completion_tokens=4), "hm")


def test_a_follow_up_is_answered_from_the_cache(tmp_path: Path) -> None:
    model = NamedModel("hm", GOOD["groundedness"], "hm")
    judge = load("groundedness", model=CachedModel(model, tmp_path / "c.db"))
    assert [judge.judge(RAG).score for _ in "12"] == [0.75, 0.75]
    assert len(model.asked) == 3  # no cache keeps what could not be read


BLANKS: Mapping[str, tuple[object, str]] = {
    "empty": ("", "empty_response"),
    "white space": (" \n\t\u00a0\u3000", "empty_response"),
    "empty list": ([], "empty_response"),
    "messages of white space": (
        [{"role": "assistant", "content": " "}, {"role": "assistant", "content": "\n"}],
        "empty_response",
    ),
    "message with an empty part": (
        [{"role": "assistant", "content": [{"type": "text", "text": ""}]}],
        "empty_response",
    ),
    "None": (None, "no_response"),
    "no key": (..., "no_response"),
}
"""What an application that crashed leaves of its response; ...: not even the key."""


@pytest.mark.parametrize(("blank", "code"), BLANKS.values(), ids=BLANKS)
def test_a_missing_or_blank_response_is_an_error_without_a_call(blank: object, code: str) -> None:
    case = {**RAG, "response": blank}
    if blank is ...:
        del case["response"]
    model = ScriptedModel("hm")
    verdict = load("groundedness", model=model).evaluate(case)
    assert (verdict.status, verdict.score, verdict.passed) == ("error", None, None)
    assert verdict.error is not None
    assert verdict.error.code == code
    assert '`empty_response` to "not_applicable"' in verdict.error.message
    assert (model.asked, verdict.attempts) == ([], 0)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(("blank", "code"), [("", "empty_response"), (None, "no_response")])
def test_a_missing_or_blank_response_can_be_left_out_or_scored_worst_without_a_call(
    name: str, blank: object, code: str
) -> None:
    case = {**CASES[name], "response": blank}
    model = ScriptedModel("hm")
    left_out = load(name, model=model, empty_response="not_applicable").judge(case)
    assert (left_out.status, left_out.label) == ("not_applicable", code)
    assert (left_out.score, left_out.passed) == (None, None)
    worst = load(name, model=model, empty_response="worst").judge(case)
    assert (worst.status, worst.score, worst.passed, worst.warnings) == ("ok", 0, False, (code,))
    assert {part.name for part in worst.parts} == ({"recall", "precision"} if "passage" in name else set())
    assert model.asked == []
    assert None not in {left_out.key, worst.key}


def test_a_crash_is_told_from_a_case_for_another_judge() -> None:
    with pytest.raises(CaseError, match=r"missing_field: .* needs reference"):
        load("passage_quality", model=ScriptedModel("hm")).judge({"query": "When?", "response": ""})


@pytest.mark.parametrize(
    ("changes", "names_the_remedy"),
    [
        pytest.param({"final_text": "At nine."}, True, id="a response under another name"),
        pytest.param({"final_text": None}, False, id="a key without a value"),
        pytest.param({}, False, id="nothing else"),
        pytest.param({"respones": "At nine."}, False, id="a misspelt name, which is named"),
        pytest.param({"response": " ", "final_text": "At nine."}, False, id="a blank response"),
    ],
)
def test_a_response_that_may_be_under_another_name_is_to_be_named_before_its_row_is_left_out(
    changes: Mapping[str, Any], *, names_the_remedy: bool
) -> None:
    verdict = load("groundedness", model=ScriptedModel("hm")).evaluate(
        {"query": "When?", "context": "c", **changes}
    )
    assert verdict.error
    remedy = "If it has another name, rename it to response, or give its path in `fields`, where"
    assert (remedy in verdict.error.message) == names_the_remedy
    assert "`empty_response`" in verdict.error.message


def test_a_judge_that_needs_no_response_judges_without_one(tmp_path: Path) -> None:
    path = tmp_path / "queries.prompty"
    path.write_text("---\nname: queries\n---\nRate {{query}}", encoding="utf-8")
    model = ScriptedModel("<S2>4</S2>")
    judge = load(path, model=model, reply=Tags(), scale=Scale(worst=1, best=5))
    assert judge.judge({"query": "When?", "response": " "}).value == 4


@pytest.mark.parametrize("name", names())
def test_missing_field_is_named_without_a_call(name: str) -> None:
    judge = load(name, model=ScriptedModel("hm"))
    for prompt_input in judge.rubric.prompt.inputs:
        if not prompt_input.required or prompt_input.field == "response":
            continue
        changes: list[Mapping[str, str | None]] = [{}, {prompt_input.field: None}]
        # Sentences that are rated one by one need no context where none of them claims anything.
        is_asked_about = judge.rubric.format.parts_are_sentences and prompt_input.field == "context"
        if not prompt_input.may_be_empty and not is_asked_about:
            changes.append({prompt_input.field: " "})
        for change in changes:
            row = {key: value for key, value in CASES[name].items() if key != prompt_input.field}
            row.update(change)
            with pytest.raises(CaseError, match=prompt_input.field) as caught:
                judge.judge(row)
            assert (caught.value.code, caught.value.subject) == ("missing_field", prompt_input.field)
            assert verdict_of(caught.value).attempts == 0


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param(
            {"frage": "When?"},
            "customerQuery or input, or give its path in `fields`, where",
            id="another key",
        ),
        pytest.param(
            {"frage": None},
            "customerQuery or input. The case has: response, context",
            id="a key without a value",
        ),
        pytest.param({}, "customerQuery or input. The case has: response, context", id="no other key"),
    ],
)
def test_a_field_that_may_have_another_name_can_be_named_by_its_path(
    others: Mapping[str, Any], expected: str
) -> None:
    judge = load("groundedness", model=ScriptedModel("hm"))
    verdict = judge.evaluate({"response": "At nine.", "context": "It sails at nine.", **others})
    assert verdict.error
    assert verdict.error.code == "missing_field"
    assert expected in verdict.error.message


FIELDS = {"query": "When?", "response": "At nine.", "context": "It sails at nine."}


@pytest.mark.parametrize("method", ["judge", "evaluate"])
def test_fields_that_are_passed_as_arguments_are_refused_with_how_it_is_done(method: str) -> None:
    judge: Any = load("groundedness", model=ScriptedModel("hm"))
    expected = 'a case is one argument, a mapping or a Case: judge.judge({"query": ..., "response": ..., '
    with pytest.raises(TypeError, match=re.escape(expected)):
        getattr(judge, method)(**FIELDS)
    with pytest.raises(TypeError, match="a case is one argument"):
        getattr(judge, method)()
    with pytest.raises(TypeError, match="a case is one argument"):
        asyncio.run(getattr(judge, f"a{method}")(**FIELDS))


def test_a_judge_as_a_model_is_refused() -> None:
    judge: Any = load("groundedness", model=ScriptedModel("hm"))
    with pytest.raises(ModelError, match="unknown_model: Judge cannot be used as a model"):
        load("groundedness", model=judge)


def test_a_judge_cannot_be_called_so_no_framework_scores_with_one_that_is_not_wrapped() -> None:
    assert not callable(load("groundedness", model=ScriptedModel("hm")))


GREETING = "Hello! How can I help you?"
NO_CLAIMS = "1 | - | - | NO CLAIM\n2 | - | - | NO CLAIM\nALL | 100"
A_CLAIM = "1 | - | - | 0\nALL | 0"


@pytest.mark.parametrize(
    "context",
    [
        pytest.param("", id="an empty text"),
        pytest.param(" ", id="a blank text"),
        pytest.param([], id="no document"),
        pytest.param([{"content": " "}], id="a blank document"),
    ],
)
def test_a_response_that_claims_nothing_needs_no_context_to_measure_its_sentences_by(context: Any) -> None:
    judge = load("statement_groundedness", model=ScriptedModel(NO_CLAIMS, A_CLAIM))
    greeting = judge.judge({"context": context, "response": GREETING})
    assert (greeting.status, greeting.score, greeting.passed) == ("not_applicable", None, True)
    with pytest.raises(CaseError, match="context, which is given, but blank") as raised:
        judge.judge({"context": context, "response": "It sails."})
    assert 'pass may_be_empty=["context"]' in raised.value.message
    assert (raised.value.code, verdict_of(raised.value).attempts) == ("missing_field", 1)


def test_claims_without_a_source_are_scored_where_the_context_may_be_empty() -> None:
    judge = load("statement_groundedness", model=ScriptedModel(A_CLAIM), may_be_empty=["context"])
    assert judge.judge({"context": "", "response": "It sails."}).score == 0


def test_a_context_that_was_not_given_is_missing_whatever_the_response_says() -> None:
    model = ScriptedModel(NO_CLAIMS)
    with pytest.raises(CaseError, match="needs context, which is not given"):
        load("statement_groundedness", model=model).judge({"response": GREETING})
    assert model.asked == []


@pytest.mark.parametrize(
    ("name", "reply", "expected"),
    [
        pytest.param(
            "groundedness",
            f"<S1>r</S1>{sure(1)}",
            ("ok", 0, False, "ungrounded"),
            id="lowest level",
        ),
        pytest.param(
            "groundedness",
            f"<S1>r</S1>{sure(3)}",
            ("not_applicable", None, True, "nothing_to_ground"),
            id="level three",
        ),
        pytest.param(
            "groundedness",
            f"<S1>r</S1>{sure(5)}",
            ("ok", 1, True, "grounded"),
            id="highest level",
        ),
        pytest.param(
            "knowledge_hallucination",
            "Score: 20",
            ("ok", 0.2, False, "severe_hallucination"),
            id="end of a band",
        ),
        pytest.param(
            "knowledge_hallucination",
            "Score: 20.5",
            ("ok", 0.205, False, "great_hallucination"),
            id="between two bands",
        ),
        pytest.param(
            "knowledge_hallucination",
            "Score: 80.1",
            ("ok", 0.801, True, "no_hallucination"),
            id="beginning of the last band",
        ),
        pytest.param(
            "knowledge_hallucination",
            "Score: 100",
            ("ok", 1, True, "no_hallucination"),
            id="end of the last band",
        ),
    ],
)
def test_levels_and_bands_have_their_labels_and_level_three_is_not_applicable_and_passes(
    name: str, reply: str, expected: object
) -> None:
    verdict = load(name, model=ScriptedModel(reply)).judge(CASES[name])
    assert (verdict.status, verdict.score, verdict.passed, verdict.label) == expected


@pytest.mark.parametrize(
    ("score", "threshold", "passed"),
    [
        pytest.param(0.1 + 0.2, 0.3, True, id="sum above the threshold by an error of floating point"),
        pytest.param(0.7 + 0.1, 0.8, True, id="sum below the threshold by an error of floating point"),
        pytest.param(0.29999999, 0.3, False, id="score below at the 8th decimal"),
        pytest.param(0.699999999, 0.7, False, id="score below at the 9th decimal"),
        pytest.param(0.6999999999, 0.7, True, id="score below at the 10th decimal"),
        pytest.param(0.75, 0.750000001, False, id="threshold above at the 9th decimal"),
        pytest.param(0.75, 0.7500000001, False, id="threshold above at the 10th decimal: it is not rounded"),
        pytest.param(0.0, 0.0, True, id="0 at the threshold 0"),
    ],
)
def test_rounding_errors_of_sums_do_not_decide(score: float, threshold: float, passed: bool) -> None:  # noqa: FBT001
    assert passes(score, threshold) is passed


def test_evidence_is_looked_up_and_its_warnings_never_change_a_score() -> None:
    reply = (
        "Statement Sentence: It opens at 9:00.\nSupporting Evidence: The library opens at 9:30\nScore: 10\n"
        "Statement Sentence: It is closed on Sundays.\nSupporting Evidence: closed on Sundays.\nScore: 8\n"
        "Statement Sentence: Cats may come in.\nSupporting Evidence: Dogs and cats are welcome here\nScore: 6"
    )
    case = {**RAG, "response": f"{RAG['response']} Cats may come in."}
    verdict = load("statement_groundedness", model=ScriptedModel(reply), reply=Scorecard()).judge(case)
    _, closed, cats = verdict.parts
    (evidence,) = closed.evidence
    assert RAG["context"][0][evidence.start : evidence.end] == "closed on Sundays."
    assert not cats.evidence
    assert verdict.score == pytest.approx(0.8)
    assert {*verdict.warnings} == {"evidence_not_found"}


DOUBTFUL = "1 | 1 | - | 8\n2 | - | nothing of this | 8\nALL | 80"
CUT_OFF = Reply("hm", finish_reason="length")
INTERRUPTED = Reply("hm", finish_reason="by the weather")


@pytest.mark.parametrize("max_reasks", [0, 2])
@pytest.mark.parametrize(
    "later_replies",
    [
        pytest.param(["hm"], id="unreadable"),
        pytest.param([CUT_OFF], id="cut off"),
        pytest.param([INTERRUPTED], id="interrupted"),
        pytest.param([CUT_OFF, INTERRUPTED, "hm"], id="cut off, interrupted, unreadable"),
        pytest.param(["hm", CUT_OFF], id="unreadable, cut off"),
        pytest.param([Reply("", refusal="no")], id="refused"),
    ],
)
def test_a_verdict_in_doubt_is_better_than_the_error_of_a_later_reply(
    later_replies: list[str | Reply], max_reasks: int
) -> None:
    model = ScriptedModel(DOUBTFUL, *later_replies)
    verdict = load("statement_groundedness", model=model, max_reasks=max_reasks).judge(RAG)
    assert (verdict.score, verdict.reply) == (0.8, DOUBTFUL)
    assert verdict.warnings == ("evidence_not_found",)
    assert verdict.attempts == len(model.asked) <= max_reasks + 3


def test_verdict_has_prompt_case_id_and_signature_and_judge_a_short_repr() -> None:
    judge = load("groundedness", model=ScriptedModel(GOOD["groundedness"]))
    prompt, verdict = judge.rubric.prompt, judge.judge(RAG)
    sha = f"sha:{prompt.sha256[:12]}"
    assert (verdict.prompt, verdict.case_id) == (prompt.id, "rag")
    assert (
        verdict.signature
        == f"groundedness@{prompt.id.version}|{sha}|model:scripted|groundjudge:{__version__}"
    )
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    assert verdict.model_dump(mode="json")["signature"] == verdict.signature
    assert str(judge) == f"Judge(name='groundedness', model='scripted', prompt='{sha}')"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param(
            {"status": "ok", "score": 0.75, "label": "incomplete"},
            "score=0.75, label='incomplete'",
            id="score and label",
        ),
        pytest.param({"status": "ok", "score": 0.0, "usage": Usage()}, "score=0.0", id="score 0"),
        pytest.param(
            {"status": "error", "error": Failure(code="empty", message="m" * 999)},
            "error='empty'",
            id="error with a long message",
        ),
    ],
)
def test_repr_of_a_verdict_has_one_short_line(fields: Any, words: str) -> None:
    verdict = Verdict(judge="g", value=4, reason="r", reply="r" * 999, **fields)
    line = f"judge='g', status={fields['status']!r}, {words}"
    assert (repr(verdict), str(verdict)) == (f"Verdict({line})", line.replace(", ", " "))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        pytest.param(
            "fairness",
            {},
            r"unknown_judge: .*fairness.*confidence_grounding.*statement_groundedness",
            id="unknown judge",
        ),
        pytest.param("groundedness", {}, r"no_model: .*openai:gpt-6-luna.*offline", id="no model"),
        pytest.param("groundedness", {"model": 4}, "int cannot be used as a model", id="number as a model"),
        pytest.param(
            "groundedness",
            {"model": "offline", "empty_response": "Error"},
            "bad_empty_response: .*'worst'",
            id="unknown way with an empty response",
        ),
    ],
)
def test_what_cannot_be_loaded_is_refused_with_the_choices(name: str, options: Any, message: str) -> None:
    with pytest.raises(GroundjudgeError, match=message):
        load(name, **options)


def chain_model(_: object) -> str:
    return "hm"


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        pytest.param(
            None, "no judge was given: a judge is one of confidence_grounding, .*a prompt file", id="None"
        ),
        pytest.param("", "no judge was given", id="an empty name"),
        pytest.param(4, "int cannot be used as a judge: a judge is one of .*what load", id="a number"),
        pytest.param(b"groundedness", "bytes cannot be used as a judge", id="bytes"),
        pytest.param({"judge": "groundedness"}, "dict cannot be used as a judge", id="a mapping"),
        pytest.param(["groundedness"], r"list cannot .*pass several one by one, or panel\(", id="a list"),
        pytest.param(chain_model, "function cannot .*pass a model as `model`", id="a function"),
        pytest.param(ScriptedModel("hm"), "ScriptedModel cannot .*pass a model as `model`", id="a model"),
        pytest.param(Judge, "the class Judge cannot be used as a judge", id="a class"),
        pytest.param(
            Guard(load("groundedness", model="offline")),
            "Guard cannot .*this one has a judge: pass its attribute `judge`",
            id="what is made of a judge",
        ),
        pytest.param(
            "You are a judge.\nRate {{response}}." * 99,
            "'You are a judge.' is the start of a prompt's text: save the text to a file",
            id="the text of a prompt",
        ),
    ],
)
def test_what_is_in_the_place_of_a_judge_is_named_with_what_belongs_there(judge: Any, message: str) -> None:
    with pytest.raises(PromptError, match=f"unknown_judge: .*{message}"):
        load(judge, model="offline")


def test_a_rubric_is_loaded_from_a_name_or_a_path_only() -> None:
    judge: Any = load("groundedness", model="offline")
    with pytest.raises(PromptError, match=r"unknown_judge: load a rubric by .*, not from Judge"):
        load_rubric(judge)


async def answer_later(_: object) -> str:
    await asyncio.sleep(0)
    return GOOD["groundedness"]


class AsyncCallable:
    async def __call__(self, request: object) -> str:
        return await answer_later(request)


def returns(answer: Any) -> Callable[[object], Any]:
    return lambda _: answer


def raises(error: Exception) -> Callable[[object], str]:
    def fails(_: object) -> str:
        raise error

    return fails


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        pytest.param("groundedness", returns(GOOD["groundedness"]), id="text"),
        pytest.param(
            "groundedness", returns(SimpleNamespace(content=GOOD["groundedness"])), id="object with content"
        ),
        pytest.param(
            "groundedness",
            returns(SimpleNamespace(content=[SimpleNamespace(type="text", text=GOOD["groundedness"])])),
            id="object with parts that are objects",
        ),
        pytest.param(
            "groundedness",
            returns({"choices": [{"message": {"content": [None, 5, {"text": None}, GOOD["groundedness"]]}}]}),
            id="chat completion with parts that are no texts",
        ),
        pytest.param(
            "groundedness",
            returns({"content": GOOD["groundedness"], "response_metadata": "none", "usage_metadata": [1]}),
            id="message with metadata of other types",
        ),
        pytest.param("groundedness", returns(Reply(GOOD["groundedness"])), id="Reply"),
        pytest.param("groundedness", answer_later, id="asynchronous function"),
        pytest.param("groundedness", AsyncCallable(), id="asynchronous object"),
    ],
)
def test_any_function_is_a_model(name: str, answer: Any) -> None:
    judge = load(name, model=answer)
    assert isinstance(judge.model, Model)

    async def inside_a_loop() -> list[Verdict]:
        return [judge.judge(RAG), await judge.ajudge(RAG)]

    verdicts = [judge.judge(RAG), *asyncio.run(inside_a_loop())]
    assert [verdict.score for verdict in verdicts] == [0.75] * 3


COUNTS = {
    "input_tokens": 10,
    "cache_creation_input_tokens": 5,
    "cache_read_input_tokens": 100,
    "output_tokens": 20,
    "output_tokens_details": {"thinking_tokens": 7},
}


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        (COUNTS, Usage(prompt_tokens=115, completion_tokens=20, cached_tokens=100, reasoning_tokens=7)),
        (SimpleNamespace(input_tokens=10, output_tokens=20), Usage(prompt_tokens=10, completion_tokens=20)),
        ({"input_tokens": 10, "output_tokens": 20}, Usage(prompt_tokens=10, completion_tokens=20)),
        ({"input_tokens": 10, "cache_read_input_tokens": None}, Usage(prompt_tokens=10)),
        ({"input_tokens": "10", "output_tokens": 20}, None),
        ({"output_tokens": 20}, None),
        ("ten", None),
        (None, None),
    ],
    ids=["all", "an object", "no cache", "no reply", "a text", "no prompt", "no mapping", "nothing"],
)
def test_the_tokens_and_the_model_of_a_message_of_anthropic_are_read(
    counts: Any, usage: Usage | None
) -> None:
    content = [{"type": "text", "text": GOOD["groundedness"]}]
    message = {"content": content, "model": "claude-x", "usage": counts}
    verdict = load("groundedness", model=returns(message), weighted=False).judge(RAG)
    assert (verdict.usage, verdict.model) == (usage, "claude-x")


@pytest.mark.parametrize(
    "message",
    [
        pytest.param({"content": "<S2>4", "finish_reason": "length"}, id="mapping of one's own"),
        pytest.param(
            SimpleNamespace(content=[SimpleNamespace(text="<S2>4")], stop_reason="max_tokens"), id="object"
        ),
        pytest.param({"content": "<S2>4", "response_metadata": {"stop_reason": "max_tokens"}}, id="metadata"),
    ],
)
def test_a_message_that_was_cut_off_gives_no_verdict(message: object) -> None:
    verdict = load("groundedness", model=returns(message), weighted=False).evaluate(RAG)
    assert verdict.error is not None
    assert verdict.error.code == "truncated"


@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        pytest.param(raises(ValueError("no")), "failed", "raised ValueError: no", id="raises ValueError"),
        pytest.param(raises(TimeoutError()), "timeout", "TimeoutError", id="raises TimeoutError"),
        pytest.param(raises(ConnectionError()), "connection", "ConnectionError", id="raises ConnectionError"),
        pytest.param(
            returns(4),
            "failed",
            "returned an object of class int, which contains no reply",
            id="returns a number",
        ),
    ],
)
def test_what_a_function_raises_or_cannot_mean_is_a_model_error(
    function: Any, code: str, message: str
) -> None:
    verdict = load("groundedness", model=function).evaluate(RAG)
    assert verdict.error is not None
    assert (verdict.error.code, verdict.attempts) == (code, 1)
    assert message in verdict.error.message
