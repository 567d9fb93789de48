"""Edits that change no fact, and what they leave alone."""

from __future__ import annotations

import pytest

from groundjudge import Case, load_rubric, names
from groundjudge.lab.probe.cases import built_in_cases
from groundjudge.lab.probe.edit import suitable_edits
from groundjudge.lab.probe.neutral_edits import EDITS
from groundjudge.text.numbers import numbers

ENGLISH = Case(
    query="When?", context=["It opens at 9.", "It is free."], response="It opens at 9. It is free."
)
CHINESE = Case(query="几点？", context=["9点开门。"], response="9点开门。")

EDITED = [
    ("documents_reversed", ENGLISH, "context", "It is free."),
    ("unrelated_document", CHINESE, "context", "冰碛"),
    ("markdown", ENGLISH, "response", "- It opens at 9.\n- It is free."),
    ("capitals", ENGLISH, "response", "IT OPENS AT 9. IT IS FREE."),
    ("white_space", ENGLISH, "response", "  It  opens  at  9.\n\n  It  is  free."),
    ("polite_sentence", CHINESE, "response", "谢谢您的提问！9点开门。"),
]


@pytest.mark.parametrize(("edit", "case", "field", "begins"), EDITED)
def test_form_is_changed(edit: str, case: Case, field: str, begins: str) -> None:
    found = EDITS[edit].apply(case)
    assert found is not None
    shown = found.response_text if field == "response" else next(iter(found.context or ())).content
    assert shown.startswith(begins)
    assert found.model_copy(update={field: getattr(case, field)}) == case


UNTOUCHED = [
    ("documents_reversed", CHINESE),
    ("documents_reversed", ENGLISH.model_copy(update={"response": "See document 1."})),
    ("unrelated_document", Case(query="?", context="", response="Hello.")),
    ("capitals", ENGLISH.model_copy(update={"response": "It has 20 mW."})),
    ("query_translated", ENGLISH),
]


@pytest.mark.parametrize(("edit", "case"), UNTOUCHED)
def test_edit_that_could_change_a_fact_does_not_apply(edit: str, case: Case) -> None:
    assert EDITS[edit].apply(case) is None


def test_query_is_taken_from_the_metadata_in_another_language() -> None:
    case = ENGLISH.model_copy(update={"metadata": {"query_translated": "Wann?"}})
    assert getattr(EDITS["query_translated"].apply(case), "query", None) == "Wann?"


@pytest.mark.parametrize("name", ["groundedness", "confidence_grounding", "passage_quality"])
def test_each_right_case_of_the_library_has_its_query_in_another_language(name: str) -> None:
    for each in built_in_cases(load_rubric(name)):
        if each.is_right:
            translated = EDITS["query_translated"].apply(each.case)
            assert translated is not None, each.case.id
            assert translated.query != each.case.query


@pytest.mark.parametrize("name", names())
def test_numbers_of_the_response_stay(name: str) -> None:
    for each in built_in_cases(load_rubric(name)):
        for edit, apply in suitable_edits(EDITS, load_rubric(name)).items():
            found = apply(each.case)
            if found is not None:
                assert sorted(numbers(found.response_text)) == sorted(numbers(each.case.response_text)), edit
