"""What a run proposes for rows whose fields have other names: one --fields that can be pasted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import FileOf, Invoke

from groundjudge.cli.proposal import propose_fields

OPEN = "On Saturdays the library opens at nine, and it is closed on Sundays."
ASKED = "When does the library open?"
ANSWER = "It opens at nine on Saturdays."
FILE_ID = "8f44f061-35be-4512-9e12-d98f998aeabc"
ALL = ("query", "context", "response")
NONE = "--fields query=PATH,context=PATH,response=PATH"
CHAT = [
    {"message.role": "user", "message.content": ASKED},
    {"message.role": "assistant", "message.content": ANSWER},
]

PROPOSED = [
    # a row, what is missing, and the option
    pytest.param(
        {"knowledge": OPEN, "question": ASKED, "right_answer": ANSWER, "hallucinated_answer": "At ten."},
        ("context", "response"),
        "--fields context=knowledge,response=PATH (response may be right_answer, hallucinated_answer)",
        id="HaluEval, two answers",
    ),
    pytest.param(
        {"knowledge": OPEN, "question": ASKED, "answer": ANSWER, "hallucination": "no"},
        ("context",),
        "--fields context=knowledge",
        id="HaluEval, one of them",
    ),
    pytest.param(
        {
            "source_id": "1000",
            "source": "MARCO",
            "source_info": {"question": ASKED, "passages": OPEN},
            "prompt": f"Answer the question: {ASKED}\n{OPEN}",
        },
        ALL,
        "--fields query=source_info.question,context=source_info.passages,response=PATH",
        id="RAGTruth, without the answers",
    ),
    pytest.param(
        {
            "prompt": {"raw": f"Context: {OPEN} Question: {ASKED}"},
            "response": {"output": ANSWER},
            "vars": {"question": ASKED, "context": OPEN},
        },
        ("query", "context"),
        "--fields query=vars.question,context=vars.context",
        id="promptfoo",
    ),
    pytest.param(
        {
            "context.span_id": FILE_ID,
            "attributes.input.mime_type": "text/plain",
            "attributes.input.value": ASKED,
            "attributes.output.value": ANSWER,
            "attributes.retrieval.documents": [{"document.content": OPEN, "document.score": 0.8}],
        },
        ALL,
        "--fields query=attributes.input.value,context=attributes.retrieval.documents,"
        "response=attributes.output.value",
        id="a span of Phoenix",
    ),
    pytest.param(
        {"trace_id": FILE_ID, "attributes.llm.messages": CHAT},
        ALL,
        "--fields messages=attributes.llm.messages",
        id="a thread",
    ),
    pytest.param(
        {"user_input": [("user", ASKED), {"type": "ai", "content": "", "tool_calls": None}, ("ai", ANSWER)]},
        ("response",),
        "--fields messages=user_input",
        id="a sample of Ragas with several turns",
    ),
    pytest.param(
        {
            "info": {
                "trace_id": FILE_ID,
                "request_preview": json.dumps({"q": ASKED}),
                "response_preview": ANSWER,
            },
            "data": {
                "spans": [
                    {"name": "app", "attributes": {"mlflow.spanType": "CHAIN"}},
                    {
                        "name": "find",
                        "attributes": {"mlflow.spanOutputs": json.dumps([{"page_content": OPEN}])},
                    },
                ]
            },
        },
        ALL,
        "--fields query=info.request_preview.q,context=data.spans.1.attributes.mlflow.spanOutputs,"
        "response=info.response_preview",
        id="a trace of MLflow",
    ),
    pytest.param(
        {
            "input": ASKED,
            "output": ANSWER,
            "record_json": json.dumps({"calls": [{"rets": [OPEN], "args": {"query": ASKED}}]}),
        },
        ("context",),
        "--fields context=record_json.calls.0.rets",
        id="a record of TruLens",
    ),
    pytest.param(
        {"inputs.query": ASKED, "inputs.context": OPEN, "inputs.response": ANSWER, "outputs.score": 5.0},
        ALL,
        "--fields query=inputs.query,context=inputs.context,response=inputs.response",
        id="results of Azure",
    ),
    pytest.param(
        {"input_question": ASKED, "output_answer": ANSWER, "gt_answer": "At nine."},
        ("query", "response"),
        "--fields query=input_question,response=output_answer",
        id="a truth beside the response",
    ),
    pytest.param({"gt_answer": ANSWER}, ("response",), "--fields response=PATH", id="only a truth"),
    pytest.param(
        {"answer_id": FILE_ID, "doc_url": "https://a.example/b", "created_at": OPEN},
        ALL,
        NONE,
        id="ids, links and times",
    ),
    pytest.param({"score": 0.93, "result": "0.93", "my_answer": 5}, ALL, NONE, id="numbers"),
    pytest.param({"error": "TimeoutError: the model did not answer"}, ALL, NONE, id="an error"),
    pytest.param(
        {"run": {"outputs": {"choices": [{"text": ANSWER}]}}},
        ("context",),
        "--fields context=PATH",
        id="a completion",
    ),
    pytest.param(
        {"documents_file": "opening hours.pdf"}, ("context",), "--fields context=PATH", id="a file's name"
    ),
]


@pytest.mark.parametrize(("row", "missing", "option"), PROPOSED)
def test_fields_are_proposed_by_names_and_by_what_columns_hold(
    row: dict[str, Any], missing: tuple[str, ...], option: str
) -> None:
    assert propose_fields(row, missing) == option


def test_the_proposed_option_makes_the_rows_readable(invoke: Invoke, file_of: FileOf) -> None:
    path = file_of({"vars": {"q": ASKED, "text": OPEN}, "summary": ANSWER})
    run = (
        "run",
        path,
        "--model",
        "offline",
        "--judge",
        "groundedness",
        "--out",
        path.with_name("out"),
        "--overwrite",
    )
    option = "query=vars.q,context=vars.text,response=summary"
    assert f"the rows have summary, vars: try --fields {option}\n" in invoke(*run).output
    assert invoke(*run, "--fields", option).exit_code == 0


def test_a_field_in_a_mapping_of_its_name_is_proposed(invoke: Invoke, file_of: FileOf) -> None:
    path = file_of({"input": {"question": ASKED}, "output": {"answer": ANSWER, "sources": [OPEN]}})
    result = invoke(
        "run", path, "--model", "offline", "--judge", "groundedness", "--out", path.with_name("out")
    )
    assert "the rows have input, output: try --fields query=input.question\n" in result.output


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        pytest.param("rows.json", "[]", "rows.json: no row could be read: the file has no rows", id="array"),
        pytest.param("rows.jsonl", '{"error": "Timeout"}', "run the application again", id="crashed rows"),
        pytest.param(
            "rows.jsonl",
            json.dumps({"input": ASKED, "output": ANSWER, "reference": OPEN}),
            "--judge passage_quality; if it contains the documents, --fields context=reference\n",
            id="a reference that may be the documents",
        ),
    ],
)
def test_rows_that_cannot_be_judged_are_refused_with_what_to_do(
    invoke: Invoke, tmp_path: Path, name: str, text: str, fault: str
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = invoke("run", str(tmp_path / name), "--model", "offline", "--out", str(tmp_path / "out.jsonl"))
    assert (result.exit_code, fault in result.output) == (2, True)
