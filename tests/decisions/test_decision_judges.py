"""Judges with a decision model: one table of verdicts beside text, requests counted, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bundled_judges import EVERY_FIELD, reply_of
from crossed import crossed
from decision_models import (
    REFUSAL,
    Answer,
    Form,
    RuleModel,
    answer_to,
    sure_of,
    sure_of_the_best,
    sure_of_the_worst,
)
from scripted_model import ScriptedModel

from groundjudge import (
    Case,
    GroundjudgeError,
    ModelError,
    PromptError,
    Reply,
    Verdict,
    as_judge,
    estimate,
    load,
    load_rubric,
    names,
    panel,
    run,
)
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.question import Question
from groundjudge.judging.guard import as_guard
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.shared import share_calls
from groundjudge.rubric.rubric import TEXT
from groundjudge.runs.cost import prompt_tokens
from groundjudge.types import Judge, Model, Request


def not_applicable(question: Question, _: int) -> Answer:
    """The option that means "nothing to judge", where there is one."""
    return sure_of(question, 0)


def without_answers(question: Question, _: int) -> Answer:
    return None if question.id in {"verdict", "precision", "s1"} else sure_of_the_best(question)


def refusing(question: Question, _: int) -> Answer:
    return REFUSAL if question.id in {"verdict", "precision", "s1"} else sure_of_the_best(question)


def with_a_bad_sum(question: Question, _: int) -> Answer:
    return answer_to(question, [0.4] * len(question.options))


def text_replies(name: str) -> Mapping[str, Model]:
    """A text model for each row of the table."""
    rubric = load_rubric(name)
    response = EVERY_FIELD["response"]
    too_long = ModelError("bad_request", "the prompt is longer than the model's context")
    down = ModelError("connection", "nobody is there")
    return {
        "passes": ScriptedModel(reply_of(rubric, response, 1.0)),
        "fails": ScriptedModel(reply_of(rubric, response, 0.0)),
        "too long": ScriptedModel(too_long),
        "endpoint down": ScriptedModel(down),
    }


DECISION_MODELS: Mapping[str, Callable[[], RuleModel]] = {
    "passes": lambda: RuleModel(lambda question, _: sure_of_the_best(question)),
    "fails": lambda: RuleModel(lambda question, _: sure_of_the_worst(question)),
    "not applicable": lambda: RuleModel(not_applicable),
    "refused": lambda: RuleModel(refusing),
    "missing answer": lambda: RuleModel(without_answers),
    "bad distribution": lambda: RuleModel(with_a_bad_sum),
    "too long": lambda: RuleModel(ModelError("too_long", "the state is longer than the model's context")),
    "endpoint down": lambda: RuleModel(ModelError("connection", "nobody is there")),
}

EXPECTED: Mapping[str, tuple[str, bool | None, str | None, int]] = {
    "passes": ("ok", True, None, 1),
    "fails": ("ok", False, None, 1),
    "not applicable": ("not_applicable", True, None, 1),
    "refused": ("error", None, "refused", 2),
    "missing answer": ("error", None, "missing_answer", 2),
    "bad distribution": ("error", None, "bad_distribution", 1),
    "too long": ("error", None, "too_long", 1),
    "endpoint down": ("error", None, "connection", 1),
}
"""Status, whether it passes, the error's code, and the requests of a decision judge."""


OTHERS = [name for name in names() if name != "groundedness"]
VERDICTS: Sequence[tuple[str, str, Form]] = [
    *((name, state, "openai") for name in OTHERS for state in ("passes", "fails", "missing answer")),
    *(("groundedness", state, "openai") for state in EXPECTED),
    *(("statement_groundedness", state, "systemone") for state in EXPECTED),
]


@pytest.mark.parametrize(("name", "state", "form"), VERDICTS)
def test_verdicts_of_decision_models(name: str, state: str, form: Form) -> None:
    model = DECISION_MODELS[state]()
    model.form = form
    judge = Judge(load_rubric(name), model)
    verdict = judge.evaluate(EVERY_FIELD)
    status, passed, code, n_requests = EXPECTED[state]
    assert (verdict.status, verdict.passed) == (status, passed)
    assert (verdict.error.code if verdict.error else None) == code
    assert (len(model.requests), verdict.attempts) == (n_requests, n_requests)
    assert verdict.judge == name
    assert verdict.model == "decisions:test"
    assert verdict.prompt == judge.rubric.prompt.id
    assert verdict.key == judge.key(EVERY_FIELD)
    assert (verdict.score is None) == (status != "ok")
    if status == "ok":
        assert verdict.confidence == 1
        assert verdict.explanation
        assert "a decision model gives no reasons" in verdict.explanation
        assert (verdict.distribution is None) == bool(verdict.parts)
        assert all(part.distribution and part.confidence == 1 for part in verdict.parts)
    if status == "error":
        assert (verdict.value, verdict.label, verdict.confidence) == (None, None, None)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


@pytest.mark.parametrize(
    ("name", "state"), crossed(names(), ["passes", "fails", "too long", "endpoint down"])
)
def test_text_and_decision_models_agree_on_what_a_verdict_says(name: str, state: str) -> None:
    text = Judge(load_rubric(name), text_replies(name)[state]).evaluate(EVERY_FIELD)
    decided = Judge(load_rubric(name), DECISION_MODELS[state]()).evaluate(EVERY_FIELD)
    for field in ("judge", "status", "passed", "prompt", "case_id", "attempts"):
        assert getattr(text, field) == getattr(decided, field), field
    assert (text.error is None) == (decided.error is None)
    if state == "endpoint down" and text.error and decided.error:
        assert text.error.code == decided.error.code
    assert [part.name for part in text.parts] == [part.name for part in decided.parts]
    assert text.label == decided.label
    # The best option of a level that is a range is not the best number of the scale.
    assert text.score == pytest.approx(decided.score, abs=0.051)


def test_what_is_missing_is_asked_for_once_more_alone() -> None:
    def rule(question: Question, number: int) -> Answer:
        if question.id == "precision" and number == 1:
            return REFUSAL
        return sure_of_the_best(question)

    model = RuleModel(rule)
    verdict = Judge(load_rubric("passage_quality"), model).judge(EVERY_FIELD)
    first, second = map(inquiry_of, model.requests)
    assert [question.id for question in first.questions] == ["recall", "precision"]
    assert [question.id for question in second.questions] == ["precision"]
    assert second.questions[0] == first.questions[1]
    assert (second.state, model.requests[1].attempt) == (first.state, 2)
    assert (verdict.score, verdict.attempts) == (1, 2)
    assert (verdict.reply or "").count("gpt-6-luna") == 2


def test_the_answers_that_came_stay_in_the_verdict_of_the_error() -> None:
    verdict = Judge(load_rubric("passage_quality"), RuleModel(refusing)).evaluate(EVERY_FIELD)
    assert [(part.name, part.score) for part in verdict.parts] == [("recall", 1.0)]
    assert verdict.score is None
    assert verdict.error is not None
    assert "precision" in verdict.error.message


def test_an_answer_about_the_whole_that_is_missing_is_asked_for_once_more_alone() -> None:
    def rule(question: Question, number: int) -> Answer:
        return None if (question.id, number) == ("whole", 1) else sure_of_the_worst(question)

    model = RuleModel(rule)
    verdict = Judge(load_rubric("statement_groundedness"), model).judge(EVERY_FIELD)
    first, second = map(inquiry_of, model.requests)
    assert [question.id for question in first.questions] == ["s1", "e1", "whole"]
    assert [question.id for question in second.questions] == ["whole"]
    assert (verdict.score, verdict.passed, verdict.attempts) == (0, False, 2)


@pytest.mark.parametrize(("answer", "code"), [(None, "missing_answer"), (REFUSAL, "refused")])
def test_without_an_answer_about_the_whole_there_is_no_score(answer: Answer, code: str) -> None:
    model = RuleModel(lambda question, _: answer if question.id == "whole" else sure_of_the_best(question))
    verdict = Judge(load_rubric("statement_groundedness"), model).evaluate(EVERY_FIELD)
    assert verdict.error is not None
    assert verdict.error.code == code
    assert "whole" in verdict.error.message
    assert (verdict.score, verdict.scores, verdict.passed, verdict.attempts) == (None, {}, None, 2)
    assert [part.score for part in verdict.parts] == [1.0]


TWO_SENTENCES: Mapping[str, Any] = {**EVERY_FIELD, "response": "One is one. Two is two."}


class FailingModel(RuleModel):
    """A RuleModel whose second request ends in an error."""

    async def acomplete(self, request: Request) -> Reply:
        if self.requests:
            raise ModelError("connection", "the endpoint is gone")
        return await super().acomplete(request)


def without_the_second(question: Question, number: int) -> Answer:
    """No answer to the question about the second sentence, which then has a bad sum."""
    if question.id != "s2":
        return sure_of_the_best(question)
    return None if number == 1 else with_a_bad_sum(question, number)


def bad_from_the_second_request_on(question: Question, number: int) -> Answer:
    return sure_of_the_best(question) if number == 1 else with_a_bad_sum(question, number)


def the_best(question: Question, _: int) -> Answer:
    return sure_of_the_best(question)


@pytest.mark.parametrize(
    ("model", "code", "n_parts"),
    [
        pytest.param(RuleModel(without_the_second), "bad_distribution", 1, id="asked again, a bad sum"),
        pytest.param(FailingModel(without_the_second), "connection", 1, id="asked again, no endpoint"),
        pytest.param(
            RuleModel(bad_from_the_second_request_on, most_questions=1),
            "bad_distribution",
            1,
            id="the second of several requests, a bad sum",
        ),
        pytest.param(
            FailingModel(the_best, most_questions=1),
            "connection",
            1,
            id="the second of several requests, no endpoint",
        ),
        pytest.param(
            FailingModel(the_best, most_questions=2), "connection", 2, id="all but the evidence, no endpoint"
        ),
        pytest.param(RuleModel(with_a_bad_sum), "bad_distribution", 0, id="a bad sum at once"),
        pytest.param(RuleModel(ModelError("server", "no")), "server", 0, id="no endpoint at once"),
    ],
)
def test_the_answers_that_came_before_an_error_stay_in_its_verdict(
    model: RuleModel, code: str, n_parts: int
) -> None:
    verdict = Judge(load_rubric("statement_groundedness"), model).evaluate(TWO_SENTENCES)
    assert verdict.error
    assert verdict.error.code == code
    sentences = ["One is one.", "Two is two."]
    assert [(part.name, part.score) for part in verdict.parts] == [(name, 1) for name in sentences[:n_parts]]
    assert (verdict.score, verdict.passed, verdict.weakest) == (None, None, None)


@pytest.mark.parametrize("max_reasks", [0, 1, 3])
def test_max_reasks_says_how_often_it_is_asked_again(max_reasks: int) -> None:
    model = RuleModel(refusing)
    Judge(load_rubric("passage_quality"), model, max_reasks=max_reasks).evaluate(EVERY_FIELD)
    assert len(model.requests) == 1 + max_reasks


@pytest.mark.parametrize("answer", [REFUSAL, None])
def test_evidence_that_is_not_answered_is_a_warning(answer: Answer) -> None:
    model = RuleModel(lambda question, _: answer if question.id[0] == "e" else sure_of_the_best(question))
    verdict = Judge(load_rubric("statement_groundedness"), model).judge(EVERY_FIELD)
    assert (verdict.score, verdict.attempts) == (1, 1)
    assert verdict.warnings == ("evidence_unanswered",)
    assert not verdict.parts[0].warnings


def test_a_model_that_takes_few_questions_gets_several_requests() -> None:
    model = RuleModel(lambda question, _: sure_of_the_best(question), most_questions=2)
    case = {**EVERY_FIELD, "response": "One is one. Two is two. Three is three."}
    verdict = Judge(load_rubric("statement_groundedness"), model).judge(case)
    ids = [[question.id for question in inquiry_of(request).questions] for request in model.requests]
    assert ids == [["s1", "s2"], ["s3", "e1"], ["e2", "e3"], ["whole"]]
    assert (verdict.score, verdict.attempts, len(verdict.parts)) == (1, 4, 3)


def test_the_request_has_no_messages_and_no_parameters() -> None:
    request = Judge(load_rubric("groundedness"), RuleModel(refusing)).rubric.ask(EVERY_FIELD)
    assert (request.messages, request.parameters) == ((), {})


def test_a_missing_response_is_an_error_without_a_call() -> None:
    model = RuleModel(refusing)
    verdict = Judge(load_rubric("groundedness"), model).evaluate({**EVERY_FIELD, "response": None})
    assert verdict.error is not None
    assert verdict.error.code == "no_response"
    assert not model.requests


REFUSED: Mapping[str, tuple[dict[str, Any], str, str]] = {
    "temperature": ({"parameters": {"temperature": 0.5}}, "no_decision", "`temperature` has no meaning"),
    "top_p": ({"parameters": {"top_p": 0.9}}, "no_decision", "`top_p` has no meaning"),
    "max_tokens": ({"parameters": {"max_tokens": 10}}, "no_decision", "`max_tokens` has no meaning"),
    "response_format": (
        {"parameters": {"response_format": {"type": "json_object"}}},
        "no_decision",
        "`response_format` has no meaning",
    ),
    "structured": ({"structured": "always"}, "no_decision", "`structured` has no meaning"),
    "weighted": ({"weighted": True}, "no_decision", "`weighted` has no meaning"),
    "unweighted": ({"weighted": False}, "no_decision", "`weighted` has no meaning"),
    "repeats": ({"repeats": 3}, "bad_panel", "repeats: decisions:test would repeat its answers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_options_of_text_models_are_refused_at_load(name: str) -> None:
    options, code, message = REFUSED[name]
    with pytest.raises(PromptError, match=message) as raised:
        load("groundedness", model=RuleModel(refusing), **options)
    assert raised.value.code == code


def test_a_threshold_beyond_the_best_answers_is_refused() -> None:
    load("knowledge_hallucination", model=RuleModel(refusing), threshold=0.95)
    with pytest.raises(PromptError, match=r"`threshold` is 0\.96, but its questions reach at most 0\.95"):
        load("knowledge_hallucination", model=RuleModel(refusing), threshold=0.96)


@pytest.mark.parametrize("name", names())
def test_every_judge_can_reach_a_threshold_up_to_its_best_answers(name: str) -> None:
    best = Judge(load_rubric(name), DECISION_MODELS["passes"]()).judge(EVERY_FIELD).score
    assert best is not None
    assert load(name, model=RuleModel(refusing), threshold=best).threshold == best


def test_what_the_file_says_for_text_models_is_not_refused() -> None:
    for name in names():
        load(name, model=RuleModel(refusing))


def test_a_response_format_in_the_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "json.prompty"
    parameters = "model: {parameters: {response_format: {type: json_object}}}"
    head = f"{parameters}\nreply: {{format: plain}}\nscale: {{choices: {{a: 1, b: 0}}}}"
    file.write_text(f"---\n{head}\n---\n{{{{response}}}}")
    load(file, model=ScriptedModel("a"))
    with pytest.raises(PromptError, match="`response_format` has no meaning"):
        load(file, model=RuleModel(refusing))


def test_one_decision_judge_listed_twice_is_no_panel() -> None:
    model = RuleModel(refusing)
    model.identity = "one"  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    judge = load("groundedness", model=model)
    with pytest.raises(PromptError, match="listed twice with decisions:test, which would repeat its answers"):
        panel([judge, judge])


def test_a_prompt_that_gives_no_questions_is_refused_at_load(tmp_path: Path) -> None:
    file = tmp_path / "cards.prompty"
    file.write_text("---\nreply: {format: scorecard}\nscale: {worst: 0, best: 10}\n---\nRate {{response}}")
    with pytest.raises(PromptError, match=r"cards\.prompty: its replies have parts: add `questions:`"):
        load(file, model=RuleModel(refusing))


def test_the_way_of_asking_is_part_of_the_identity() -> None:
    rubric = load_rubric("groundedness")
    text_model = ScriptedModel("")
    text_model.name = "decisions:test"
    decision_judge = Judge(rubric, RuleModel(refusing))
    assert decision_judge.identity != Judge(rubric, text_model).identity
    assert decision_judge.identity == Judge(rubric, RuleModel(without_answers)).identity


def test_a_judge_with_another_model_is_asked_in_the_way_of_that_model() -> None:
    decision_judge = load("groundedness", model=RuleModel(refusing))
    text_judge = as_judge(decision_judge, ScriptedModel(""), parameters={"temperature": 0.5})
    assert text_judge.rubric.way == TEXT
    assert replace(decision_judge, model=ScriptedModel("")).rubric.way == TEXT
    assert as_judge(decision_judge, threshold=0.6).rubric.way == decision_judge.rubric.way != TEXT


def test_text_and_decision_judges_vote_together() -> None:
    rubric = load_rubric("groundedness")
    judges = [
        Judge(rubric, ScriptedModel(reply_of(rubric, "It opens at nine.", 1.0))),
        Judge(rubric, DECISION_MODELS["passes"]()),
        Judge(rubric, DECISION_MODELS["fails"]()),
    ]
    verdict = panel(judges, stop="never").judge(EVERY_FIELD)
    assert (verdict.passed, [vote.passed for vote in verdict.votes]) == (True, [True, True, False])


async def test_models_that_share_calls_tell_decision_requests_apart() -> None:
    model = DECISION_MODELS["passes"]()
    first, second = share_calls(model)
    rubric = Judge(load_rubric("groundedness"), first).rubric
    await first.acomplete(rubric.ask(EVERY_FIELD))
    await second.acomplete(rubric.ask({**EVERY_FIELD, "response": "It opens at ten."}))
    await second.acomplete(rubric.ask(EVERY_FIELD))
    assert len(model.requests) == 2


def test_a_run_goes_on_where_it_ended_and_text_verdicts_are_other_ones() -> None:
    cases = [{**EVERY_FIELD, "id": str(number)} for number in range(3)]
    model = DECISION_MODELS["passes"]()
    judge = Judge(load_rubric("groundedness"), model)
    verdicts = [*run(judge, cases)]
    by_key = {verdict.key: verdict for verdict in verdicts}

    def previous(judge: AnyJudge, case: Case) -> Verdict | None:
        return by_key.get(judge.key(case))

    assert [verdict.score for verdict in verdicts] == [1, 1, 1]
    assert [*run(judge, cases, previous=previous)] == verdicts
    assert len(model.requests) == 3
    text_model = ScriptedModel(reply_of(judge.rubric, EVERY_FIELD["response"], 1.0))
    text_model.name = model.name
    text_verdicts = [*run(Judge(judge.rubric, text_model), cases)]
    assert by_key.keys().isdisjoint(verdict.key for verdict in text_verdicts)


@pytest.mark.parametrize(("state", "is_passed_on"), [("passes", True), ("fails", False), ("refused", False)])
def test_a_guard_asks_a_decision_judge(state: str, *, is_passed_on: bool) -> None:
    judge = Judge(load_rubric("groundedness"), DECISION_MODELS[state]())
    outcome = as_guard(judge, fallback="I do not know.").run(EVERY_FIELD)
    assert (outcome.response == EVERY_FIELD["response"]) is is_passed_on


def test_an_estimate_counts_state_and_questions_and_no_completion() -> None:
    judge = Judge(load_rubric("groundedness"), DECISION_MODELS["passes"]())
    (counts,) = estimate(judge, [EVERY_FIELD])
    assert counts.prompt_tokens == prompt_tokens(judge.rubric.ask(EVERY_FIELD)) > 500
    assert counts.completion_tokens == 0


def test_errors_are_raised_with_their_verdict() -> None:
    with pytest.raises(GroundjudgeError) as raised:
        Judge(load_rubric("groundedness"), RuleModel(with_a_bad_sum)).judge(EVERY_FIELD)
    assert raised.value.code == "bad_distribution"
    assert raised.value.verdict is not None
    assert raised.value.verdict.attempts == 1
