"""The names of a field have an order: the first that holds what the field holds counts, the rest is noted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chats import error_of
from langchain_core.documents import Document as LangChainDocument
from scripted_model import ScriptedModel

from groundjudge import load, run
from groundjudge.case.case import Case
from groundjudge.case.data import is_list
from groundjudge.case.fields import Fields
from groundjudge.runs.rows import CaseFile
from groundjudge.runs.summary import summarise

OPEN = "We open at 9 on weekdays."
OTHER = "The shop is closed on Sundays."
NOTED = ("also_given",)
ASKED = {"query": "When?", "response": "At 9."}
GOLDEN: dict[str, Any] = {
    "input": "When?",
    "actual_output": "At 9.",
    "expected_output": "At nine.",
    "context": [OTHER],
    "retrieval_context": [OPEN],
    "tools_called": None,
    "additional_metadata": {"team": "shop"},
    "source_file": "shop.md",
}
"""A golden as DeepEval writes it, with the ideal context beside the one that was retrieved."""

TABLE = [
    # a row, the field, its text, and whether another name gives the note
    pytest.param(GOLDEN, "context", OPEN, NOTED, id="a golden's context"),
    pytest.param(GOLDEN, "reference", "At nine.", (), id="a golden's reference"),
    pytest.param(
        {**GOLDEN, "retrieval_context": [OTHER]}, "context", OTHER, (), id="two contexts that agree"
    ),
    pytest.param(
        {"context": [OTHER], "retrievalContext": [OPEN]}, "context", OPEN, NOTED, id="a test run of DeepEval"
    ),
    pytest.param({"actualOutput": "At 9."}, "response", "At 9.", (), id="a name in camel case"),
    pytest.param({"contexts": [OPEN], "source": OTHER}, "context", OPEN, NOTED, id="contexts before source"),
    pytest.param({"source": OTHER, "contexts": [OPEN]}, "context", OPEN, NOTED, id="in any order of the row"),
    pytest.param(
        {"contexts": [OPEN], "source": "shop.md"}, "context", OPEN, (), id="a file's name beside it"
    ),
    pytest.param({"contexts": [], "source": OTHER}, "context", OTHER, (), id="an empty one is passed over"),
    pytest.param({"contexts": [], "source": "MARCO"}, "context", "", (), id="but not for a word"),
    pytest.param(
        {"context": "shop.md", "documents": [OPEN]}, "context", OPEN, NOTED, id="a name as the context"
    ),
    pytest.param({"context": "shop.md"}, "context", "shop.md", (), id="a name as the only context"),
    pytest.param({"source": OPEN}, "context", OPEN, (), id="a passage as the source"),
    pytest.param({"source": [{"text": "Nine"}]}, "context", "Nine", (), id="documents as the source"),
    pytest.param(
        {"source": "営業時間は九時からです。"},
        "context",
        "営業時間は九時からです。",
        (),
        id="a passage without spaces",
    ),
    pytest.param({"source": "MARCO"}, "context", None, (), id="a word as the source"),
    pytest.param({"source": "Recent News"}, "context", None, (), id="two words as the source"),
    pytest.param(
        {"source": "https://a.example/opening-hours"}, "context", None, (), id="a link as the source"
    ),
    pytest.param({"source": "opening hours of shops.pdf"}, "context", None, (), id="a file as the source"),
    pytest.param({"source": ["a.pdf", "b.pdf"]}, "context", None, (), id="files as the source"),
    pytest.param({"source": 7}, "context", None, (), id="a number as the source"),
    pytest.param(
        {"response": "At 9.", "output": "At ten."}, "response", "At 9.", NOTED, id="response before output"
    ),
    pytest.param(
        {"result": "At ten.", "answer": "At 9."}, "response", "At 9.", NOTED, id="answer before result"
    ),
    pytest.param(
        {"answer": "At 9.", "prediction": 0.93}, "response", "At 9.", (), id="a number as the prediction"
    ),
    pytest.param({"answer": None, "output": "At 9."}, "response", "At 9.", (), id="a null before it"),
    pytest.param({"answer": " ", "output": "At 9."}, "response", "At 9.", (), id="a blank before it"),
    pytest.param({"output": "At 9."}, "response", "At 9.", (), id="a text as the output"),
    pytest.param({"result": "0.93"}, "response", None, (), id="a number in a text as the result"),
    pytest.param({"prediction": 1}, "response", None, (), id="a label as the prediction"),
    pytest.param({"output": {"answer": "At 9."}}, "response", "At 9.", (), id="a mapping with an answer"),
    pytest.param({"output": {"tokens": 9}}, "response", None, (), id="a mapping without one"),
    pytest.param(
        {"inputs": "q", "outputs": {"output": 42}}, "response", "42", (), id="a number that was returned"
    ),
    pytest.param(
        {"inputs": "q", "outputs": {"answer": "a", "result": "b"}},
        "response",
        "a",
        NOTED,
        id="two answers of a run",
    ),
    pytest.param(
        {"inputs": "q", "outputs": {"context": OPEN}, "retrieval_context": OTHER},
        "context",
        OPEN,
        NOTED,
        id="the outputs before the row",
    ),
    pytest.param({"question": "a", "input": "b"}, "query", "a", NOTED, id="question before input"),
    pytest.param(
        {"input": [("user", "a")], "query": "a"}, "query", "a", NOTED, id="a message that says the same"
    ),
    pytest.param({"reference": "a", "expected": ["b"]}, "reference", "a", NOTED, id="two references"),
]


@pytest.mark.parametrize(("row", "field", "text", "warnings"), TABLE)
def test_first_name_that_holds_what_the_field_holds_counts(
    row: dict[str, Any], field: str, text: str | None, warnings: tuple[str, ...]
) -> None:
    case = Case.from_mapping(row)
    value: Any = case.value(field)
    if is_list(value):
        value = "\n".join(part.content for part in value)
    assert (value, case.warnings([field])) == (text, warnings)
    # A case can be read again, as adapters and files do.
    assert Case.from_mapping(case.model_dump()).value(field) == case.value(field)


@pytest.mark.parametrize(
    ("row", "field", "hint"),
    [
        pytest.param({"respones": "At 9."}, "response", "'respones'", id="a misspelt name"),
        pytest.param({"retrieved_context": [OPEN]}, "context", "'retrieved_context'", id="of two words"),
        pytest.param({"respones": 0.9}, "response", "", id="a misspelt name with a number"),
        pytest.param({"gt_answer": "At 9."}, "response", "", id="a truth"),
        pytest.param({"source_id": "d7"}, "context", "", id="an id"),
        pytest.param({"answer_id": "d7"}, "response", "", id="an id of an answer"),
        pytest.param({"answerId": "d7"}, "response", "", id="an id in camel case"),
        pytest.param({"source": "MARCO"}, "context", "'source'", id="a word as the source"),
        pytest.param(
            {**GOLDEN, "retrieval_context": None},
            "context",
            "context=context",
            id="a golden before retrieval",
        ),
        pytest.param(
            {"context": OTHER, "retrievedContexts": []}, "context", "=context", id="nothing was found"
        ),
        pytest.param({"output": 0.9}, "response", "'output'", id="a number as the output"),
        pytest.param(
            {"user_input": [("user", "When?"), ("assistant", "At 9.")]},
            "response",
            "the query ends with an answer: if that is the response, name it messages",
            id="a conversation as the query",
        ),
    ],
)
def test_hint_goes_by_what_a_key_holds(row: dict[str, Any], field: str, hint: str) -> None:
    text = Case.from_mapping(row).hint(field)
    assert (hint in text, bool(text)) == (True, bool(hint))


def test_a_whole_conversation_under_the_name_of_the_query_can_be_named() -> None:
    row = {"user_input": [("user", "When?"), ("tool", OPEN), ("assistant", "At 9.")], "reference": "At nine."}
    case = Case.of(Fields.of({"messages": "user_input"}).in_row(row))
    assert (case.query, case.response, case.reference) == ("When?", "At 9.", "At nine.")
    assert [document.content for document in case.context or ()] == [OPEN]


def test_a_context_that_is_named_is_taken_for_one_that_was_not_retrieved() -> None:
    golden = {**GOLDEN, "retrieval_context": ""}
    assert Case.from_mapping(golden).context is None
    case = Case.of(Fields.of({"context": "context"}).in_flat_row(golden))
    assert [document.content for document in case.context or ()] == [OTHER]


def test_what_a_path_leads_to_is_not_the_field_of_its_name_too() -> None:
    case = Case.of(Fields.of({"context": "reference"}).in_row({**ASKED, "reference": OPEN}))
    assert [document.content for document in case.context or ()] == [OPEN]
    assert case.reference is None


def test_a_thread_that_cannot_be_read_beside_a_context_is_an_error_of_the_thread() -> None:
    assert "messages must be" in error_of({"messages": [5], "context": [OPEN]}).message


def test_goldens_in_a_file_are_judged_and_the_note_is_counted(tmp_path: Path) -> None:
    file = tmp_path / "goldens.jsonl"
    file.write_text(f"{json.dumps(GOLDEN)}\n" * 2, encoding="utf-8")
    judge = load("groundedness", model=ScriptedModel("<S1>w</S1><S2>5</S2>"), weighted=False)
    (summary,) = summarise(run(judge, CaseFile(file).rows()))
    assert (summary.n_ok, summary.notes) == (2, {"also_given": 2})
    assert summary.counts.endswith("0 errors (none), 2 with also_given")


def test_a_note_on_a_field_that_the_judge_does_not_show_is_not_given() -> None:
    case = Case.from_mapping({**ASKED, "context": OPEN, "reference": "a", "expected": "b"})
    judge = load("groundedness", model=ScriptedModel("<S1>w</S1><S2>5</S2>"), weighted=False)
    assert judge.judge(case).warnings == ()
    assert case.replace(reference="c").warnings(["reference"]) == ()


def test_a_note_stays_where_documents_are_objects() -> None:
    case = Case.from_mapping({**ASKED, "docs": [LangChainDocument(OPEN)], "source": OTHER})
    assert case.without_tool_titles().warnings(["context"]) == NOTED


REQUEST = {
    "model": "m",
    "messages": [{"role": "system", "content": OPEN}, {"role": "user", "content": "When?"}],
}
COMPLETION = {
    "object": "chat.completion",
    "choices": [{"message": {"role": "assistant", "content": "At 9."}}],
}
"""A call of a model, as traces keep it."""


@pytest.mark.parametrize(
    ("row", "query", "response", "context"),
    [
        pytest.param(
            {"input": json.dumps(REQUEST), "output": json.dumps(COMPLETION), "context": OTHER},
            "When?",
            "At 9.",
            [OTHER],
            id="a span with JSON in strings",
        ),
        pytest.param(
            {"inputs": REQUEST, "outputs": COMPLETION}, "When?", "At 9.", None, id="a run of a model"
        ),
        pytest.param(
            {"output": json.dumps({"choices": ["At 9.", "At ten."]})},
            "",
            '{"choices": ["At 9.", "At ten."]}',
            None,
            id="an answer that is JSON",
        ),
        pytest.param(
            {"output": '{"answer": "At 9.", "sources": ["We open at 9 on weekdays."]}'},
            "",
            '{"answer": "At 9.", "sources": ["We open at 9 on weekdays."]}',
            None,
            id="an answer that is JSON and cites itself",
        ),
        pytest.param(
            {"output": '[{"role": "assistant", "content": "At 9.", "context": "We open at 9 on weekdays."}]'},
            "",
            "At 9.",
            None,
            id="a message in a string that cites itself",
        ),
        pytest.param(
            {"query": "When?", "response": {"answer": "At 9.", "candidates": [{"content": "At 11."}]}},
            "When?",
            "At 9.",
            None,
            id="an answer beside its candidates",
        ),
        pytest.param(
            {
                "inputs": {"query": "When?", "context": ["old"]},
                "outputs": {"answer": "At 9.", "candidates": [{"content": "At 11."}]},
            },
            "When?",
            "At 9.",
            ["old"],
            id="an answer beside its candidates in outputs",
        ),
        pytest.param(
            {"inputs": "When?", "outputs": {"choices": [{"text": "At 9."}], "context": [OPEN]}},
            "When?",
            "At 9.",
            [OPEN],
            id="a context beside a completion",
        ),
        pytest.param(
            {
                "conversation": {
                    "messages": [
                        {"role": "user", "content": "When?"},
                        {"role": "assistant", "content": "At 9.", "context": OPEN},
                    ]
                }
            },
            "When?",
            "At 9.",
            [OPEN],
            id="a conversation of Azure's",
        ),
    ],
)
def test_what_stands_around_messages_is_opened(
    row: dict[str, Any], query: str, response: str, context: list[str] | None
) -> None:
    case = Case.from_mapping(row)
    documents = None if case.context is None else [document.content for document in case.context]
    assert (case.query_text, case.response_text, documents) == (query, response, context)


def test_several_completions_in_a_string_are_refused() -> None:
    choice = {"message": {"role": "assistant", "content": "At 9."}}
    assert "2 choices" in error_of({"response": json.dumps({"choices": [choice, choice]})}).message
