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


def edited(edit: str, response: str, source: str = "", **fields: Any) -> str | None:
    """The response after an edit; None if the edit does not apply. Without a source, the response is it."""
    case = Case(query="?", context=[source or response], response=response, **fields)
    found = EDITS[edit].apply(case)
    return None if found is None else found.response_text


CHANGED = [
    ("number", "Books are lent for 28 days.", "Books are lent for 37 days."),
    ("number", "It costs 1,250 euros.", "It costs 1,666 euros."),
    ("number", "They won in three sets.", "They won in five sets."),
    ("number", "物品保管60天。", "物品保管80天。"),
    ("unit", "Wait 5 minutes.", "Wait 5 hours."),
    ("unit", "面团醒30分钟。", "面团醒30小时。"),
    ("date", "It is expected on Friday.", "It is expected on Sunday."),
    ("date", "It was built in 1902.", "It was built in 1905."),
    ("date", "The trial ends on 2 June.", "The trial ends on 2 August."),
    ("date", "游泳馆每周三闭馆。", "游泳馆每周五闭馆。"),
    ("date", "预计5月18日送达。", "预计5月21日送达。"),
    ("name", "You may ask Petra Holm.", "You may ask Marlow Tilbury."),
    ("name", "课由陆雨桐老师上。", "课由欧阳雨桐老师上。"),
    ("negation_added", "Dogs are allowed in the garden.", "Dogs are not allowed in the garden."),
    ("negation_added", "The shop opens at nine.", "The shop does not open at nine."),
    ("negation_added", "门票包含午餐。", "门票不包含午餐。"),
    ("negation_removed", "A game cannot be renewed.", "A game can be renewed."),
    ("negation_removed", "校内不能停车。", "校内能停车。"),
    ("some_made_all", "Most games are kept behind the desk.", "All games are kept behind the desk."),
    ("some_made_all", "部分展厅不许拍照。", "所有展厅不许拍照。"),
    ("roles_exchanged", "Tamsin Roe beat Iris Calloway.", "Iris Calloway beat Tamsin Roe."),
]


@pytest.mark.parametrize(("edit", "response", "wrong"), CHANGED)
def test_fact_is_exchanged(edit: str, response: str, wrong: str) -> None:
    assert edited(edit, response) == wrong


UNTOUCHED = [
    ("number", "Up to 5 books are lent."),
    ("number", "Come between 9 and 12."),
    ("number", "See document 2."),
    ("number", "A 3D model is shown."),
    ("number", f"It has {'9' * 400} digits."),
    ("number", "如果至少提前3小时请假，可以补课。"),
    ("date", "It is open Monday to Friday."),
    ("name", "The English tour is short."),
    ("name", "Thank you, Jonah, for asking."),
    ("negation_added", "Is the shop open?"),
    ("negation_added", "If it rains, the match is called off."),
    ("negation_added", "The shop is not open."),
    ("negation_removed", "It is not only cheap but good."),
    ("some_made_all", "It is the most popular game."),
    ("roles_exchanged", "Tamsin Roe told everyone in Warsaw."),
]


@pytest.mark.parametrize(("edit", "response"), UNTOUCHED)
def test_fact_that_might_stay_true_is_left_alone(edit: str, response: str) -> None:
    assert edited(edit, response) is None


def test_fact_that_nothing_backs_is_left_alone() -> None:
    for edit in ("number", "unit", "date", "name", "negation_added"):
        found = edited(edit, "On Friday Petra Holm sold 28 days for 1902.", "Glaciers are melting.")
        assert found is None, edit


def test_number_of_another_document_is_not_used() -> None:
    found = edited("number", "It takes 30 days.", "It takes 30 days. Elsewhere it takes 40 days.")
    assert found == "It takes 41 days."


def test_range_in_the_source_protects_a_weekday_that_it_may_contain() -> None:
    source = "It is open Monday to Friday. You can come on Friday."
    assert edited("date", "You can come on Friday.", source) is None


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
    said = [{"role": "assistant", "content": content} for content in contents]
    found: Any = EDITS["number"].apply(Case(query="?", context=["It costs 28 euros."], response=said))
    assert [message.content for message in found.response] == ["One moment.", "It costs 37 euros."]


def test_false_premise_is_followed_only_where_the_response_denies_it() -> None:
    character: dict[str, Any] = {
        "agent_name": "Ilse",
        "profile": "Ilse lost two fingers to a winch.",
        "conversation": "Was it the war?",
    }
    edit = EDITS["premise_followed"].apply
    followed: Any = edit(Case(**character, response="No, it was the winch."))
    assert followed.response_text.startswith("Yes")
    assert edit(Case(**character, response="The winch it was.")) is None


def test_profile_is_changed_where_the_response_repeats_it() -> None:
    case = Case(
        agent_name="Ilse", profile="She has 17 bees.", conversation="How many?", response="I have 17 bees."
    )
    found: Any = EDITS["profile_changed"].apply(case)
    assert (found.profile, found.response) == ("She has 22 bees.", case.response)


ALL_CASES = [
    (name, labelled_case)
    for name in judges_with_a_source()
    for labelled_case in built_in_cases(load_rubric(name))
    if labelled_case.is_right
]


@pytest.mark.parametrize("edit", ["number", "unit", "date", "name"])
def test_exchanged_fact_stands_nowhere_in_the_case(edit: str) -> None:
    edited = [(each, found) for _, each in ALL_CASES if (found := EDITS[edit].apply(each.case))]
    for each, found in edited:
        assert found.model_copy(update={"response": each.case.response}) == each.case
        more = set(numbers(found.response_text)) - set(numbers(all_text(each.case)))
        assert more or edit in {"unit", "date", "name"}, found.response_text
        assert found.response_text not in backing_text(each.case)
    assert len(edited) >= 0.2 * len(ALL_CASES)


@pytest.mark.parametrize("name", judges_with_a_source())
def test_each_judge_gets_the_edits_that_its_prompt_rates(name: str) -> None:
    suits = {*suitable_edits(EDITS, load_rubric(name))}
    own = {
        "knowledge_hallucination": {"invented_in_role", "premise_followed", "profile_changed"},
        "passage_quality": {"needed_sentence_removed", "irrelevant_sentence_added"},
    }
    for judge, edits in own.items():
        assert edits <= suits if judge == name else not edits & suits
    assert {"number", "unit", "date", "name", "negation_added", "negation_removed", "some_made_all"} <= suits
    assert ("tool_result_contradicted" in suits) == ("context" in shown_fields(load_rubric(name)))
