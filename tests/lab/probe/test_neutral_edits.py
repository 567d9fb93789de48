"""Edits that change no fact, and what they leave alone."""

from __future__ import annotations

import re

import pytest

from groundjudge import Case, load_rubric, names
from groundjudge.lab.probe.cases import built_in_cases
from groundjudge.lab.probe.edit import suitable_edits
from groundjudge.lab.probe.neutral_edits import EDITS

ENGLISH = Case(
    query="When?", context=["It opens at 9.", "It is free."], response="It opens at 9. It is free."
)
CHINESE = Case(query="几点？", context=["9点开门。"], response="9点开门。")

EDITED = {
    "order of the documents": ("documents_reversed", ENGLISH, "context", "It is free."),
    "document about something else": ("unrelated_document", CHINESE, "context", "冰碛"),
    "list in Markdown": ("markdown", ENGLISH, "response", "- It opens at 9.\n- It is free."),
    "capital letters": ("capitals", ENGLISH, "response", "IT OPENS AT 9. IT IS FREE."),
    "lines and spaces": ("white_space", ENGLISH, "response", "  It  opens  at  9.\n\n  It  is  free."),
    "courtesy in Chinese": ("polite_sentence", CHINESE, "response", "谢谢您的提问！9点开门。"),
}


@pytest.mark.parametrize(("edit", "case", "field", "begins"), EDITED.values(), ids=EDITED)
def test_form_is_changed(edit: str, case: Case, field: str, begins: str) -> None:
    edited_case = EDITS[edit].apply(case)
    assert edited_case is not None
    text = edited_case.response_text
    if field == "context":
        assert edited_case.context
        text = edited_case.context[0].content
    assert text.startswith(begins)
    assert edited_case.model_copy(update={field: getattr(case, field)}) == case


UNTOUCHED = {
    "a single document": ("documents_reversed", CHINESE),
    "document that is named by its number": (
        "documents_reversed",
        ENGLISH.model_copy(update={"response": "See document 1."}),
    ),
    "no context": ("unrelated_document", Case(query="?", context="", response="Hello.")),
    "unit that capitals change": ("capitals", ENGLISH.model_copy(update={"response": "It has 20 mW."})),
    "no translation in the metadata": ("query_translated", ENGLISH),
}


@pytest.mark.parametrize(("edit", "case"), UNTOUCHED.values(), ids=UNTOUCHED)
def test_edit_that_could_change_a_fact_does_not_apply(edit: str, case: Case) -> None:
    assert EDITS[edit].apply(case) is None


def test_query_is_taken_from_the_metadata_in_another_language() -> None:
    case = ENGLISH.model_copy(update={"metadata": {"query_translated": "Wann?"}})
    assert getattr(EDITS["query_translated"].apply(case), "query", None) == "Wann?"


@pytest.mark.parametrize("name", ["groundedness", "confidence_grounding", "passage_quality"])
def test_each_right_case_of_the_library_has_its_query_in_another_language(name: str) -> None:
    for labelled in built_in_cases(load_rubric(name)):
        if labelled.is_right:
            translated = EDITS["query_translated"].apply(labelled.case)
            assert translated is not None, labelled.name
            assert translated.query != labelled.case.query


@pytest.mark.parametrize("name", names())
def test_numbers_of_the_response_stay(name: str) -> None:
    rubric = load_rubric(name)
    for labelled in built_in_cases(rubric):
        numbers_before = sorted(re.findall(r"\d+", labelled.case.response_text))
        for edit, apply in suitable_edits(EDITS, rubric).items():
            edited_case = apply(labelled.case)
            if edited_case is not None:
                assert sorted(re.findall(r"\d+", edited_case.response_text)) == numbers_before, edit
