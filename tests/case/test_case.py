"""Cases: what they need, what they say of what is missing, and any value that they may hold."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from chats import error_of
from hypothesis import given
from hypothesis import strategies as st

from groundjudge import load
from groundjudge.case.case import Case, Document, Message, ToolCall
from groundjudge.case.fields import ALIASES, FIELD_NAMED
from groundjudge.errors import CaseError
from groundjudge.prompt.prompt import Prompt

SHOWS_ALL = Prompt.parse(
    f"---\ninputs: {json.dumps([{'name': field, 'required': False} for field in ALIASES])}\n---\n"
    + "\n".join(f"{{{{{field}}}}}" for field in ALIASES)
)
# --- missing fields ---------------------------------------------------------------------------

GROUNDEDNESS = (
    "---\nname: groundedness\ninputs:\n  - {name: query}\n  - {name: context, may_be_empty: true}\n---\n"
)


def missing_field_error(row: dict[str, Any]) -> CaseError:
    prompt = Prompt.parse(GROUNDEDNESS + "{{query}}{{context}}")
    with pytest.raises(CaseError) as raised:
        prompt.render(Case.from_mapping(row))
    assert raised.value.code == "missing_field"
    return raised.value


def test_misspelt_key_is_an_error_not_an_empty_context() -> None:
    error = missing_field_error({"query": "q", "contxt": "", "response": "r"})
    assert error.subject == "context"
    assert error.message.endswith("The case has: query, response, contxt")
    assert "not given" in error.message
    assert "retrieved_contexts" in error.message


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"context": "c"},
            "not given. Give it as query or question or user_input or customerQuery or input.",
        ),
        ({}, "query, which is not given, and context, which is not given. Give query as query or question"),
        ({}, "The case has: nothing"),
        (
            {"query": " "},
            "query, which is given, but blank, and context, which is not given. Give context as",
        ),
        ({}, "; context as retrieval_context or retrieved_contexts or"),
        (
            {"query": [("user", "")], "context": "c"},
            "but blank. If it may be blank, for example when a search finds",
        ),
        ({"query": ""}, 'nothing, pass may_be_empty=["query"]. The case has: query'),
    ],
    ids=[
        "no query",
        "nothing",
        "a case without fields",
        "a blank query and no context",
        "both names are listed",
        "a blank message",
        "what may be blank",
    ],
)
def test_missing_field_is_named_with_the_fields_of_the_case(row: dict[str, Any], message: str) -> None:
    error = missing_field_error(row)
    assert error.subject == "query"
    assert error.message.startswith("groundedness needs query, which is")
    assert message in error.message


# --- arbitrary values -------------------------------------------------------------------------

TEXTS = st.text(st.characters() | st.sampled_from("\ud800\udfff\x00"), max_size=8) | st.sampled_from(
    ["user", "ai", "Tool Result: x", '{"a": "\\ud800"}', "[[", "Document"]
)
KEYS = TEXTS | st.sampled_from(
    [
        *FIELD_NAMED,
        *"inputs outputs reference_outputs metadata id cls role content type tool_calls name".split(),
        *"kind title text page_content kwargs lc data function arguments args refusal".split(),
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=12,
)
ROWS = st.dictionaries(KEYS, ANYTHING, max_size=5)
MESSAGES = st.lists(
    st.builds(
        Message,
        role=st.sampled_from(["user", "assistant", "ai", "tool", "x"]),
        content=TEXTS,
        name=st.none() | TEXTS,
        tool_calls=st.lists(st.builds(ToolCall, name=TEXTS, arguments=ANYTHING), max_size=2),
    ),
    max_size=3,
)
# White space alone is read as "", and only the result of a tool may have a title and no text.
DOCUMENTS = st.lists(
    st.builds(Document, content=TEXTS, title=TEXTS, kind=st.sampled_from(["tool", "knowledge"])).filter(
        lambda document: (
            bool(document.content.strip())
            or (document.content == "" and (document.kind == "tool" or not document.title))
        )
    ),
    max_size=3,
)
CASES = st.builds(
    Case,
    query=TEXTS | MESSAGES,
    response=TEXTS | MESSAGES,
    context=TEXTS | DOCUMENTS,
    reference=TEXTS | DOCUMENTS,
    conversation=MESSAGES,
    profile=TEXTS,
    agent_name=TEXTS,
    answers=st.lists(TEXTS, max_size=3),
    id=st.none() | TEXTS,
    metadata=st.dictionaries(TEXTS, ANYTHING, max_size=3),
)


def check_that_it_can_be_written_and_sent(case: Case) -> None:
    assert Case.model_validate_json(case.model_dump_json()).model_dump() == case.model_dump()
    for message in SHOWS_ALL.render(case):
        message["content"].encode()


@given(CASES)
def test_case_is_the_same_after_a_round_trip_through_json(case: Case) -> None:
    check_that_it_can_be_written_and_sent(case)
    assert Case.from_mapping(json.loads(case.model_dump_json())) == case


@given(ROWS | ANYTHING)
def test_any_value_is_a_case_or_a_case_error(row: Any) -> None:
    with suppress(CaseError):
        check_that_it_can_be_written_and_sent(Case.from_mapping(row))


@given(st.text())
def test_strings_are_kept_unchanged(text: str) -> None:
    case = Case(query=text, response=text, reference=text, profile=text, agent_name=text)
    assert {case.query, case.response, case.reference, case.profile, case.agent_name} == {text}
    assert case.context is None
    assert Case(query="\ud83d\ude00").query == "😀"


NO_RESPONSES: dict[str, Any] = {
    "an answer to an earlier question": [("user", "q"), ("assistant", "a"), ("user", "q")],
    "a blank answer to the last question": [
        ("user", "q"),
        ("assistant", "a"),
        ("user", "q"),
        ("assistant", " "),
    ],
    "an empty answer after a tool result": [("assistant", "I look."), ("tool", "9"), ("assistant", "")],
    "a zero-width space": "\u200b",
    "a byte order mark and a word joiner": "\ufeff\u2060 \n",
    "a soft hyphen and a no-break space": "\u00ad\u00a0",
    "a message without content": [{"role": "assistant", "content": None}],
}


@pytest.mark.parametrize("response", NO_RESPONSES.values(), ids=NO_RESPONSES)
def test_what_shows_no_text_and_what_answers_an_earlier_question_is_no_response(response: Any) -> None:
    row = {"query": "q", "context": "a", "response": response}
    with pytest.raises(CaseError, match="empty_response"):
        load("groundedness", model="offline").judge(row)


@dataclass
class Passage:
    text: str
    title: str = "T"


def test_metadata_is_kept_whatever_it_holds() -> None:
    circle: list[Any] = []
    circle.append(circle)
    odd: Any = {1: circle, (1, 2): {(3,): 4}, "set": {2, 1}, "array": np.array([1.5, 2]), "more": iter("ab")}
    case = Case.from_mapping({"response": "r", "passages": [Passage("p")], **odd})
    assert case.metadata == {
        "passages": [{"text": "p", "title": "T"}],
        "1": "[[...]]",
        "(1, 2)": "{(3,): 4}",
        "set": [1, 2],
        "array": [1.5, 2],
        "more": ["a", "b"],
    }
    assert case.metadata_value("passages", "documents") == (Document(content="p", title="T"),)


LONE = "a\ud83d."

# --- copies with other values -----------------------------------------------------------------

IMAGE = {"type": "image_url", "image_url": {"url": "u"}}
IMAGES: dict[str, Any] = {
    "query": [{"role": "user", "content": [IMAGE]}],
    "response": [{"role": "assistant", "content": [IMAGE]}],
    "context": [{"content": [IMAGE]}],
    "reference": [{"content": [IMAGE]}],
    "conversation": [{"role": "user", "content": [IMAGE]}],
}


def replace_both_ways(case: Case, **changes: Any) -> Case:
    """The copy that `replace` makes, which is also the one of `model_copy`."""
    copy = case.replace(**changes)
    assert copy == case.model_copy(update=changes)
    assert copy.model_fields_set == case.model_copy(update=changes).model_fields_set
    return copy


@pytest.mark.parametrize("field", IMAGES)
def test_copy_holds_media_where_its_own_values_do(field: str) -> None:
    text = Case(query="q", response="r", context="c", reference="g", conversation="t")
    with_image = replace_both_ways(text, **{field: IMAGES[field]})
    assert (text.warnings(IMAGES), with_image.warnings(IMAGES)) == ((), ("content_not_shown",))
    assert not replace_both_ways(with_image, **{field: "x"}).warnings(IMAGES)
    assert replace_both_ways(with_image, id="7").warnings([field])


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        pytest.param({"context": "c"}, Case(query="q", context=["c"], metadata={"a": 1}), id="a text"),
        pytest.param(
            {"response": [("assistant", "r")]},
            Case(query="q", response=[Message(role="assistant", content="r")], metadata={"a": 1}),
            id="a pair of role and text",
        ),
        pytest.param({"id": 7}, Case(query="q", id="7", metadata={"a": 1}), id="a number as id"),
        pytest.param({"metadata": {"b": {2}}}, Case(query="q", metadata={"b": [2]}), id="metadata"),
        pytest.param({"query": None, "metadata": None}, Case(), id="nothing"),
        pytest.param({"answers": ["a", " "]}, Case(query="q", answers="a", metadata={"a": 1}), id="answers"),
        pytest.param({"profile": LONE}, Case(query="q", profile="a�.", metadata={"a": 1}), id="a surrogate"),
    ],
)
def test_replaced_values_are_read_like_those_of_a_new_case(changes: dict[str, Any], same: Case) -> None:
    assert replace_both_ways(Case(query="q", metadata={"a": 1}), **changes) == same


def test_replaced_field_can_be_read_again_and_the_others_stay_as_they_are() -> None:
    case = Case.from_mapping({"query": 5, "context": [5], "response": "r"})
    copy = replace_both_ways(case, query="q")
    assert copy.value("query") == "q"
    assert replace_both_ways(case, query=None).value("query") is None
    with pytest.raises(CaseError, match="context_unreadable"):
        copy.value("context")
    with pytest.raises(CaseError, match="field_unreadable"):
        case.value("query")


def test_what_cannot_be_read_and_what_is_no_field_cannot_be_put_in_place() -> None:
    case = Case(query="q")
    with pytest.raises(CaseError, match="context_unreadable"):
        case.replace(context=[5])
    with pytest.raises(TypeError, match="contxt"):
        case.replace(contxt="c")  # type: ignore[call-arg]
    assert case.model_copy() == case.model_copy(deep=True) == case.replace() == case


def test_case_is_the_same_when_it_was_pickled() -> None:
    case = Case.from_mapping({"query": [{"role": "user", "content": [IMAGE]}], "context": [5], "label": 1})
    again = pickle.loads(pickle.dumps(case))  # noqa: S301  made right here
    assert again.model_dump() == case.model_dump()
    assert again.field_names() == case.field_names()
    assert again.warnings(["query"]) == ("content_not_shown",)
    with pytest.raises(CaseError, match="context_unreadable"):
        again.value("context")


def test_how_a_case_was_read_is_no_part_of_it_as_data() -> None:
    case = Case.from_mapping({"reference": [{"content": [IMAGE]}], "context": [5]}).without_tool_titles()
    assert dict(case) == case.model_dump()
    assert [*Case.model_json_schema()["properties"]] == [*case.model_dump()]
    assert "unreadable" not in f"{case!r} {case.model_dump_json()}"
    assert Case(metadata={"case": case}).metadata["case"] == case.model_dump()


@pytest.mark.parametrize(
    "row",
    [
        {"query": [{"role": "assistant", "tool_calls": [{"name": LONE, "args": {LONE: [LONE]}}]}]},
        {"context": {"content": {LONE: LONE}}},
        {"profile": {LONE: LONE}},
        {"metadata": {LONE: [LONE]}},
        {"id": LONE},
    ],
    ids=[
        "arguments of a call",
        "content as JSON",
        "a profile",
        "metadata",
        "an id",
    ],
)
def test_lone_surrogates_are_replaced(row: dict[str, Any]) -> None:
    assert "a�." in Case.from_mapping(row).model_dump_json()  # a lone surrogate would raise here


@pytest.mark.soak
def test_huge_values_are_read() -> None:
    text = "word " * 400_000
    case = Case.from_mapping({"query": text, "contexts": [text] * 10, "response": [("ai", text)]})
    assert len(SHOWS_ALL.render(case)[0]["content"]) > 11 * len(text)


QUICK = {"query", "context"}


@pytest.mark.parametrize(
    "field", [pytest.param(name, marks=() if name in QUICK else pytest.mark.soak) for name in ALIASES]
)
def test_deeply_nested_value_is_an_unreadable_field(field: str) -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    calls = [{"role": "assistant", "content": "x", "tool_calls": [{"name": "f", "args": deep}]}]
    value = calls if field in {"query", "response", "conversation"} else deep
    assert error_of({field: value}).subject == field
