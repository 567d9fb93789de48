"""Edits that make a right response wrong, and what they leave alone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bundled_judges import judges_with_a_source

from groundjudge import Case, load_rubric
from groundjudge.lab.probe.cases import built_in_cases
from groundjudge.lab.probe.edit import all_text, backing_text, suitable_edits
from groundjudge.lab.probe.faults import EDITS


def response_after(edit: str, response: str, source: str = "", **fields: Any) -> str | None:
    """The response after an edit; None if the edit does not apply. Without a source, the response is it."""
    case = Case(query="?", context=[source or response], response=response, **fields)
    edited_case = EDITS[edit].apply(case)
    return None if edited_case is None else edited_case.response_text


CHANGED = {
    "days lent": ("number", "Books are lent for 28 days.", "Books are lent for 37 days."),
    "thousands with a comma": ("number", "It costs 1,250 euros.", "It costs 1,666 euros."),
    "Chinese days": ("number", "物品保管60天。", "物品保管80天。"),
    "weekday": ("date", "It is expected on Friday.", "It is expected on Sunday."),
    "year": ("date", "It was built in 1902.", "It was built in 1905."),
    "month": ("date", "The trial ends on 2 June.", "The trial ends on 2 August."),
    "Chinese weekday": ("date", "游泳馆每周三闭馆。", "游泳馆每周五闭馆。"),
    "Chinese date": ("date", "预计5月18日送达。", "预计5月21日送达。"),
    "time of day": ("date", "It opens at 22:30.", "It opens at 3:30."),
    "name of two words": ("name", "You may ask Petra Holm.", "You may ask Marlow Tilbury."),
    "name of one word": ("name", "It is a train to Osk.", "It is a train to Marlow."),
    "are": ("negation_added", "Dogs are allowed in the garden.", "Dogs are not allowed in the garden."),
    "Chinese verb": ("negation_added", "门票包含午餐。", "门票不包含午餐。"),
}


@pytest.mark.parametrize(("edit", "response", "wrong"), CHANGED.values(), ids=CHANGED)
def test_fact_is_exchanged(edit: str, response: str, wrong: str) -> None:
    assert response_after(edit, response) == wrong


UNTOUCHED = {
    "upper bound": ("number", "Up to 5 books are lent."),
    "ends of a range": ("number", "Come between 9 and 12."),
    "prices of a range": ("number", "It costs $400-$500."),
    "number of a document": ("number", "See document 2."),
    "number in a word": ("number", "A 3D model is shown."),
    "number of 400 digits": ("number", f"It has {'9' * 400} digits."),
    "Chinese lower bound": ("number", "如果至少提前3小时请假，可以补课。"),
    "range of weekdays": ("date", "It is open Monday to Friday."),
    "person who is addressed": ("name", "Thank you, Jonah, for asking."),
    "question": ("negation_added", "Is the shop open?"),
    "condition": ("negation_added", "If it rains, the match is called off."),
    "number in words": ("number", "They won in three sets."),
    "month after a preposition": ("name", "It is open in March."),
    "first word of a sentence": ("name", "Books are lent. Games are not."),
    "only": ("negation_added", "The shop is only open on Fridays."),
    "offer that states no fact": ("negation_added", "Sure, I can help you with that."),
    "negated already": ("negation_added", "The shop is not open."),
}


@pytest.mark.parametrize(("edit", "response"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_fact_that_might_stay_true_is_left_alone(edit: str, response: str) -> None:
    assert response_after(edit, response) is None


def test_fact_that_nothing_backs_is_left_alone() -> None:
    for edit in ("number", "date", "name", "negation_added"):
        response = "On Friday Petra Holm sold 28 days for 1902."
        assert response_after(edit, response, "Glaciers are melting.") is None, edit


def test_number_of_another_document_is_not_used() -> None:
    source = "It takes 30 days. Elsewhere it takes 40 days."
    assert response_after("number", "It takes 30 days.", source) == "It takes 41 days."


def test_range_in_the_source_protects_a_weekday_that_it_may_contain() -> None:
    source = "It is open Monday to Friday. You can come on Friday."
    assert response_after("date", "You can come on Friday.", source) is None


def test_only_the_last_reply_of_an_assistant_is_edited() -> None:
    contents = ("One moment.", "It costs 28 euros.")
    messages = [{"role": "assistant", "content": content} for content in contents]
    case = Case(query="?", context=["It costs 28 euros."], response=messages)
    edited_case: Any = EDITS["number"].apply(case)
    assert [message.content for message in edited_case.response] == ["One moment.", "It costs 37 euros."]


def right_cases() -> list[Case]:
    """The cases of all judges whose response is right."""
    cases: list[Case] = []
    for name in judges_with_a_source():
        cases += [labelled.case for labelled in built_in_cases(load_rubric(name)) if labelled.is_right]
    return cases


RIGHT_CASES = right_cases()


@pytest.mark.parametrize("edit", ["number", "date", "name"])
def test_exchanged_fact_stands_nowhere_in_the_case(edit: str) -> None:
    n_edited = 0
    for case in RIGHT_CASES:
        edited_case = EDITS[edit].apply(case)
        if edited_case is None:
            continue
        n_edited += 1
        assert edited_case.model_copy(update={"response": case.response}) == case
        if edit == "number":
            old_numbers = re.findall(r"[\d.]+", all_text(case))
            assert set(re.findall(r"[\d.]+", edited_case.response_text)).difference(old_numbers)
        assert edited_case.response_text not in backing_text(case)
    assert n_edited >= 0.2 * len(RIGHT_CASES)


@pytest.mark.parametrize("name", judges_with_a_source())
def test_each_judge_gets_the_edits_that_its_prompt_rates(name: str) -> None:
    suitable = suitable_edits(EDITS, load_rubric(name)).keys()
    edits_of_one_judge = {
        "knowledge_hallucination": {"invented_in_role"},
        "passage_quality": {"needed_sentence_removed", "irrelevant_sentence_added"},
    }
    for judge, edits in edits_of_one_judge.items():
        if judge == name:
            assert edits <= suitable
        else:
            assert edits.isdisjoint(suitable)
    assert {"number", "date", "name", "negation_added"} <= suitable
