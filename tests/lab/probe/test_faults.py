"""Edits that make a right response wrong, and what they leave alone."""

from __future__ import annotations

from typing import Any

import pytest
from bundled_judges import judges_with_a_source, shown_fields

from groundjudge import Case, load_rubric
from groundjudge.lab.probe.cases import built_in_cases
from groundjudge.lab.probe.edit import all_text, backing_text, suitable_edits
from groundjudge.lab.probe.faults import EDITS
from groundjudge.text.numbers import numbers


def response_after(edit: str, response: str, source: str = "", **fields: Any) -> str | None:
    """The response after an edit; None if the edit does not apply. Without a source, the response is it."""
    case = Case(query="?", context=[source or response], response=response, **fields)
    edited_case = EDITS[edit].apply(case)
    return None if edited_case is None else edited_case.response_text


CHANGED = {
    "days lent": ("number", "Books are lent for 28 days.", "Books are lent for 37 days."),
    "thousands with a comma": ("number", "It costs 1,250 euros.", "It costs 1,666 euros."),
    "number in words": ("number", "They won in three sets.", "They won in five sets."),
    "Chinese days": ("number", "物品保管60天。", "物品保管80天。"),
    "minutes of waiting": ("unit", "Wait 5 minutes.", "Wait 5 hours."),
    "Chinese minutes": ("unit", "面团醒30分钟。", "面团醒30小时。"),
    "weekday": ("date", "It is expected on Friday.", "It is expected on Sunday."),
    "year": ("date", "It was built in 1902.", "It was built in 1905."),
    "month": ("date", "The trial ends on 2 June.", "The trial ends on 2 August."),
    "Chinese weekday": ("date", "游泳馆每周三闭馆。", "游泳馆每周五闭馆。"),
    "Chinese date": ("date", "预计5月18日送达。", "预计5月21日送达。"),
    "English name": ("name", "You may ask Petra Holm.", "You may ask Marlow Tilbury."),
    "Chinese name before a title": ("name", "课由陆雨桐老师上。", "课由欧阳雨桐老师上。"),
    "are": ("negation_added", "Dogs are allowed in the garden.", "Dogs are not allowed in the garden."),
    "verb in the third person": (
        "negation_added",
        "The shop opens at nine.",
        "The shop does not open at nine.",
    ),
    "Chinese verb": ("negation_added", "门票包含午餐。", "门票不包含午餐。"),
    "cannot": ("negation_removed", "A game cannot be renewed.", "A game can be renewed."),
    "Chinese cannot": ("negation_removed", "校内不能停车。", "校内能停车。"),
    "most": ("some_made_all", "Most games are kept behind the desk.", "All games are kept behind the desk."),
    "Chinese some of the rooms": ("some_made_all", "部分展厅不许拍照。", "所有展厅不许拍照。"),
    "two names around beat": (
        "roles_exchanged",
        "Tamsin Roe beat Iris Calloway.",
        "Iris Calloway beat Tamsin Roe.",
    ),
}


@pytest.mark.parametrize(("edit", "response", "wrong"), CHANGED.values(), ids=CHANGED)
def test_fact_is_exchanged(edit: str, response: str, wrong: str) -> None:
    assert response_after(edit, response) == wrong


UNTOUCHED = {
    "upper bound": ("number", "Up to 5 books are lent."),
    "ends of a range": ("number", "Come between 9 and 12."),
    "number of a document": ("number", "See document 2."),
    "number in a word": ("number", "A 3D model is shown."),
    "number of 400 digits": ("number", f"It has {'9' * 400} digits."),
    "Chinese lower bound": ("number", "如果至少提前3小时请假，可以补课。"),
    "range of weekdays": ("date", "It is open Monday to Friday."),
    "nationality": ("name", "The English tour is short."),
    "person who is addressed": ("name", "Thank you, Jonah, for asking."),
    "question": ("negation_added", "Is the shop open?"),
    "condition": ("negation_added", "If it rains, the match is called off."),
    "negated already": ("negation_added", "The shop is not open."),
    "not only": ("negation_removed", "It is not only cheap but good."),
    "the most popular": ("some_made_all", "It is the most popular game."),
    "a name and a place": ("roles_exchanged", "Tamsin Roe told everyone in Warsaw."),
}


@pytest.mark.parametrize(("edit", "response"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_fact_that_might_stay_true_is_left_alone(edit: str, response: str) -> None:
    assert response_after(edit, response) is None


def test_fact_that_nothing_backs_is_left_alone() -> None:
    for edit in ("number", "unit", "date", "name", "negation_added"):
        response = "On Friday Petra Holm sold 28 days for 1902."
        assert response_after(edit, response, "Glaciers are melting.") is None, edit


def test_number_of_another_document_is_not_used() -> None:
    source = "It takes 30 days. Elsewhere it takes 40 days."
    assert response_after("number", "It takes 30 days.", source) == "It takes 41 days."


def test_range_in_the_source_protects_a_weekday_that_it_may_contain() -> None:
    source = "It is open Monday to Friday. You can come on Friday."
    assert response_after("date", "You can come on Friday.", source) is None


def test_tool_result_alone_is_contradicted() -> None:
    tool = {"title": "Tool Result: visits", "content": '{"seats": 14}', "kind": "tool"}
    case = Case(
        query="?", context=[tool, "A ticket costs 20 euros."], response="There are 14 seats at 20 euros."
    )
    contradict = EDITS["tool_result_contradicted"].apply
    assert getattr(contradict(case), "response_text", None) == "There are 18 seats at 20 euros."
    assert contradict(case.model_copy(update={"context": (case.context or ())[1:]})) is None


def test_only_the_last_reply_of_an_assistant_is_edited() -> None:
    contents = ("One moment.", "It costs 28 euros.")
    messages = [{"role": "assistant", "content": content} for content in contents]
    case = Case(query="?", context=["It costs 28 euros."], response=messages)
    edited_case: Any = EDITS["number"].apply(case)
    assert [message.content for message in edited_case.response] == ["One moment.", "It costs 37 euros."]


def test_false_premise_is_followed_only_where_the_response_denies_it() -> None:
    character: dict[str, Any] = {
        "agent_name": "Ilse",
        "profile": "Ilse lost two fingers to a winch.",
        "conversation": "Was it the war?",
    }
    edit = EDITS["premise_followed"].apply
    edited_case: Any = edit(Case(**character, response="No, it was the winch."))
    assert edited_case.response_text.startswith("Yes")
    assert edit(Case(**character, response="The winch it was.")) is None


def test_profile_is_changed_where_the_response_repeats_it() -> None:
    case = Case(
        agent_name="Ilse", profile="She has 17 bees.", conversation="How many?", response="I have 17 bees."
    )
    edited_case: Any = EDITS["profile_changed"].apply(case)
    assert (edited_case.profile, edited_case.response) == ("She has 22 bees.", case.response)


def right_cases() -> list[Case]:
    """The cases of all judges whose response is right."""
    cases: list[Case] = []
    for name in judges_with_a_source():
        cases += [labelled.case for labelled in built_in_cases(load_rubric(name)) if labelled.is_right]
    return cases


RIGHT_CASES = right_cases()


@pytest.mark.parametrize("edit", ["number", "unit", "date", "name"])
def test_exchanged_fact_stands_nowhere_in_the_case(edit: str) -> None:
    n_edited = 0
    for case in RIGHT_CASES:
        edited_case = EDITS[edit].apply(case)
        if edited_case is None:
            continue
        n_edited += 1
        assert edited_case.model_copy(update={"response": case.response}) == case
        if edit == "number":
            assert set(numbers(edited_case.response_text)) - set(numbers(all_text(case)))
        assert edited_case.response_text not in backing_text(case)
    assert n_edited >= 0.2 * len(RIGHT_CASES)


@pytest.mark.parametrize("name", judges_with_a_source())
def test_each_judge_gets_the_edits_that_its_prompt_rates(name: str) -> None:
    suitable = suitable_edits(EDITS, load_rubric(name)).keys()
    edits_of_one_judge = {
        "knowledge_hallucination": {"invented_in_role", "premise_followed", "profile_changed"},
        "passage_quality": {"needed_sentence_removed", "irrelevant_sentence_added"},
    }
    for judge, edits in edits_of_one_judge.items():
        if judge == name:
            assert edits <= suitable
        else:
            assert edits.isdisjoint(suitable)
    assert {
        "number",
        "unit",
        "date",
        "name",
        "negation_added",
        "negation_removed",
        "some_made_all",
    } <= suitable
    assert ("tool_result_contradicted" in suitable) == ("context" in shown_fields(load_rubric(name)))
