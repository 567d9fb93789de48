"""Edits that make a right response wrong, and what they leave alone."""

from __future__ import annotations

import re
from typing import Any

import pytest
from bundled_judges import judges_with_a_source, shown_fields

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
    "minutes of waiting": ("unit", "Wait 5 minutes.", "Wait 5 hours."),
    "unit before a noun": ("unit", "It is a 7-day ticket.", "It is a 7-week ticket."),
    "Chinese minutes": ("unit", "面团醒30分钟。", "面团醒30小时。"),
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
    "cannot": ("negation_removed", "A game cannot be renewed.", "A game can be renewed."),
    "does not": ("negation_removed", "It does not dry dishes.", "It does dry dishes."),
    "isn't": ("negation_removed", "The garden isn't open.", "The garden is open."),
    "Chinese not allowed": ("negation_removed", "校内不允许停车。", "校内允许停车。"),
    "most": ("some_made_all", "Here most games are for adults.", "Here all games are for adults."),
    "some": ("some_made_all", "Some old contracts end in June.", "All old contracts end in June."),
    "a few of the": ("some_made_all", "A few of the rooms are shut.", "All of the rooms are shut."),
    "Chinese some of the rooms": ("some_made_all", "部分展厅不许拍照。", "所有展厅不许拍照。"),
    "Chinese most of the rooms": ("some_made_all", "周末，大多数展厅开放。", "周末，所有展厅开放。"),
    "from a place to a place": (
        "roles_exchanged",
        "Parcels go from Osk to Harl Bridge.",
        "Parcels go from Harl Bridge to Osk.",
    ),
    "from a time to a time": ("roles_exchanged", "It is from 9:00 to 17:30.", "It is from 17:30 to 9:00."),
    "number that rose": ("roles_exchanged", "Fees rose from $3 to $5.", "Fees rose from $5 to $3."),
    "Chinese times": ("roles_exchanged", "电梯9:00至11:00检修。", "电梯11:00至9:00检修。"),
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
    "only some": ("negation_added", "Some rooms are open."),
    "unit of a bound": ("unit", "Come within 5 minutes."),
    "unit in a word": ("unit", "It has 5 daytime trains."),
    "unit after a date": ("unit", "It starts on June 5, day and night."),
    "Chinese age": ("unit", "孩子已经3周岁。"),
    "not only": ("negation_removed", "It is not only cheap but good."),
    "two negations": ("negation_removed", "It does not work without water."),
    "denial that says which one": ("negation_removed", "It cleans places that a brush cannot reach."),
    "details of a source": ("negation_removed", "The passages do not give details."),
    "the most popular": ("some_made_all", "These are the most popular games."),
    "most common": ("some_made_all", "Their most common symptoms are coughs."),
    "what some may do": ("some_made_all", "Some guests may come later."),
    "range of amounts": ("roles_exchanged", "It costs from 3 to 5 euros."),
    "range of names": ("roles_exchanged", "Grades range from Poor to Excellent."),
    "same in both directions": ("roles_exchanged", "It is 40 miles from Osk to Harl."),
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


def test_part_of_which_the_source_does_not_speak_is_left_alone() -> None:
    assert response_after("some_made_all", "Most games are kept here.", "All games are kept here.") is None


@pytest.mark.parametrize(
    ("edit", "response", "source"),
    [
        pytest.param("some_made_all", "Some dogs bark.", "The handsome dogs bark.", id="part of a word"),
        pytest.param("number", "It takes 5 days.", "It takes 5.5 days.", id="part of a number"),
        pytest.param("name", "Here sat Anna often.", "Here sat Annabel often.", id="part of a name"),
    ],
)
def test_part_of_a_longer_word_or_number_backs_nothing(edit: str, response: str, source: str) -> None:
    assert response_after(edit, response, source) is None


def test_edited_date_keeps_its_leading_zero() -> None:
    source = "It opens at 05:30 daily."
    assert response_after("date", "It opens at 05:30.", source) == "It opens at 08:30."


def test_tool_result_alone_is_contradicted() -> None:
    tool = {"title": "Tool Result: visits", "content": '{"seats": 14}', "kind": "tool"}
    case = Case(
        query="?",
        context=[tool, "A ticket costs 20 euros."],
        response="It costs 20 euros; 14 seats are left.",
    )
    contradict = EDITS["tool_result_contradicted"].apply
    assert getattr(contradict(case), "response_text", None) == "It costs 20 euros; 18 seats are left."
    assert contradict(case.model_copy(update={"context": (case.context or ())[1:]})) is None


def test_only_the_last_reply_of_an_assistant_is_edited() -> None:
    contents = ("One moment.", "It costs 28 euros.")
    messages = [{"role": "assistant", "content": content} for content in contents]
    case = Case(query="?", context=["It costs 28 euros."], response=messages)
    edited_case: Any = EDITS["number"].apply(case)
    assert [message.content for message in edited_case.response] == ["One moment.", "It costs 37 euros."]


@pytest.mark.parametrize(
    ("question", "response", "followed"),
    [
        pytest.param("Was it the war?", "No, it was the winch.", "Yes, quite right", id="denied"),
        pytest.param("是您浇的水吧？", "不是我，是老秦。", "对，没错", id="denied in Chinese"),
        pytest.param("Was it the war?", "The winch it was.", None, id="not denied"),
        pytest.param("Was it not the winch?", "No, it was the war.", None, id="question that denies"),
        pytest.param("What was it?", "No idea.", None, id="no that denies something else"),
    ],
)
def test_false_premise_is_followed_only_where_the_response_denies_it(
    question: str, response: str, followed: str | None
) -> None:
    case = Case(
        agent_name="Ilse", profile="Ilse lost a finger to a winch.", conversation=question, response=response
    )
    edited_case = EDITS["premise_followed"].apply(case)
    if followed is None:
        assert edited_case is None
    else:
        assert edited_case is not None
        assert edited_case.response_text.startswith(followed)


@pytest.mark.parametrize(
    ("conversation", "profile"),
    [
        pytest.param("How many?", "She has 22 bees.", id="only the profile has it"),
        pytest.param("Do you have 17 bees?", None, id="the conversation has it too"),
    ],
)
def test_profile_is_changed_where_the_response_repeats_it(conversation: str, profile: str | None) -> None:
    case = Case(
        agent_name="Ilse", profile="She has 17 bees.", conversation=conversation, response="I have 17 bees."
    )
    edited_case = EDITS["profile_changed"].apply(case)
    assert getattr(edited_case, "profile", None) == profile
    assert edited_case is None or edited_case.response == case.response


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
            old_numbers = re.findall(r"[\d.]+", all_text(case))
            assert set(re.findall(r"[\d.]+", edited_case.response_text)).difference(old_numbers)
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
        "roles_exchanged",
    } <= suitable
    assert ("tool_result_contradicted" in suitable) == ("context" in shown_fields(load_rubric(name)))
