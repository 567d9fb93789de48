"""Rendering: each value stands in the place of its placeholder, as text, JSON or documents."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from fenced import without_codes
from hypothesis import given
from hypothesis import strategies as st

from groundjudge import load_rubric, names
from groundjudge.case.case import Case, Document, Message
from groundjudge.case.shapes import is_blank
from groundjudge.errors import CaseError
from groundjudge.prompt.fences import without_control_tokens
from groundjudge.prompt.prompt import Prompt

BUNDLED = {name: load_rubric(name).prompt for name in names()}
BRACED = Prompt.parse("{{query}} {query} {{response}}")


def user_of(prompt: Prompt, **fields: Any) -> str:
    messages = prompt.render(Case(**fields))
    assert messages[-1]["role"] == "user"
    return without_codes(messages[-1]["content"])


# --- all of a conversation ----------------------------------------------------------------------

CALL = {"function": {"name": "find", "arguments": '{"order": 4417}'}}
SEEN_CALL = {"name": "find", "arguments": {"order": 4417}}
SEEN: list[Any] = [
    {"role": "system", "content": "Be kind."},
    {"role": "assistant", "content": "", "tool_calls": [SEEN_CALL]},
    {"role": "tool", "content": "paid", "name": "find"},
    {"role": "assistant", "content": "„{{query}}“: Größe\n</data-query>"},
    {"role": "user", "content": "Thanks. When?"},
]
TALK = [SEEN[0], {"role": "assistant", "tool_calls": [CALL]}, *SEEN[2:4], ("human", "Thanks. When?")]
STRING_INPUTS = (
    "{X: {type: string}}",
    "\n  X:\n    type: string",
    "{X: {type: object, description: all of it, required: true}}",
    "[{name: X, type: array}]",
    "[{name: X, type: messages}]",
)


@pytest.mark.parametrize(
    ("name", "inputs"),
    [
        *(("response", inputs) for inputs in STRING_INPUTS),
        *((name, STRING_INPUTS[0]) for name in ("query", "question", "output", "conversation", "history")),
    ],
)
def test_messages_in_a_string_input_are_shown_whole(inputs: str, name: str) -> None:
    prompt = Prompt.parse(f"---\ninputs: {inputs.replace('X', name)}\n---\nIt: {{{{{name}}}}}")
    content = without_codes(prompt.render(Case.from_mapping({name: TALK}))[0]["content"])
    value = re.fullmatch(rf"It: <data-{name}>\n(.*)\n</data-{name}>", content)
    assert value
    assert json.loads(value[1]) == SEEN
    assert "Größe" in content


def test_input_of_type_text_shows_the_last_message_of_the_role() -> None:
    prompt = Prompt.parse("{query} {response} {conversation}")
    messages = [("user", "a"), ("assistant", "b"), ("user", "c")]
    content = user_of(prompt, query=messages, response=messages[:2], conversation=messages)
    assert content.startswith("<data-query>\nc\n</data-query> <data-response>\nb\n</data-response>")
    assert content.count('"content"') == 3


def test_answers_are_a_json_list_and_documents_are_numbered() -> None:
    prompt = Prompt.parse("{answers}{context}")
    tool_result = {"title": "T", "content": "b", "kind": "tool"}
    documents = [Document(content="a"), "", tool_result, Document(content="c", kind="tool")]
    assert user_of(prompt, answers=["x", "ÿ"], context=documents) == (
        '<data-answers>\n["x", "ÿ"]\n</data-answers>'
        "<data-context>\n"
        '<data-document number="1">\na\n</data-document>\n'
        '<data-document number="2" kind="tool result" title="Tool Result: T">\nb\n</data-document>\n'
        '<data-document number="3" kind="tool result" title="Tool Result:">\nc\n</data-document>\n'
        "</data-context>"
    )


# --- any values -------------------------------------------------------------------------------

ODD = """
<data-response>|</data-response>|＜/data-query＞|<data-document number="9" kind="tool result">
</data-document>|<data-|system:|user:|assistant:|---|Tool Result: get_order|{{query}}|{response}
{{ context }}|{|}|{{|}}|{%|%}|{# x #}|${x}|%s|%(query)s|$x|\\1|\\g<0>|\\frac{a}{b}|$$\\{x\\}$$|"|'
\\|&lt;data-x&gt;|" kind="tool result|>|größer 😀 中文|<|im_end|>|[/INST]
"""
SCRAPS = ("\nsystem:\n", "\n---\n", "\u200b", "\u2028", "\x00", "\ud800", "\r\n", *re.split(r"[|\n]", ODD))
TEXT = st.lists(st.sampled_from(SCRAPS) | st.text(max_size=5), max_size=8).map("".join)
DOCUMENTS = st.lists(
    st.builds(Document, content=TEXT, title=TEXT, kind=st.sampled_from(["knowledge", "tool"])), max_size=3
)
TEXT_OR_MESSAGES = TEXT | st.lists(
    st.builds(Message, role=st.sampled_from(["user", "assistant", "tool"]), content=TEXT)
)
CASES = st.builds(
    Case,
    query=TEXT_OR_MESSAGES,
    response=TEXT_OR_MESSAGES,
    context=TEXT | DOCUMENTS,
    reference=TEXT,
    conversation=TEXT_OR_MESSAGES,
    profile=TEXT,
    agent_name=TEXT,
    answers=st.lists(TEXT, max_size=3),
)


@given(CASES)
def test_bundled_prompts_render_any_case_with_their_own_roles_and_tags_only(case: Case) -> None:
    for prompt in BUNDLED.values():
        try:
            system, user = prompt.render(case)
        except CaseError as error:
            if error.code == "missing_field":
                continue
            raise
        assert (system["role"], user["role"]) == ("system", "user")
        assert system["content"] == prompt.sections[0][1][0]
        closed = re.findall(r"</data-(\w+)-[0-9a-f]{8}>", user["content"])
        assert [name for name in closed if name != "document"] == [*prompt.sections[1][1][1::2]]


@given(TEXT)
def test_value_is_verbatim_except_for_control_tokens_and_never_expanded(text: str) -> None:
    case = Case(query=text, response=text)
    assert isinstance(case.response, str)
    visible = without_control_tokens(case.response)
    if not is_blank(case.response):
        assert user_of(BRACED, query=text, response=text) == (
            f"<data-query>\n{visible}\n</data-query> {{query}} <data-response>\n{visible}\n</data-response>"
        )


# --- prompt caching ---------------------------------------------------------------------------


def typical(topic: str) -> Case:
    """A typical case: three retrieved passages, a question and an answer."""
    passage = f"The {topic} opens at nine on weekdays and at ten on Saturdays, not on public holidays. " * 6
    return Case(
        query=f"When does the {topic} open on Saturdays, and is it open on public holidays?",
        context=[passage] * 3,
        reference=passage,
        response=f"The {topic} opens at ten on Saturdays. It is closed on public holidays.",
        conversation=[("user", f"Tell me about the {topic}."), ("assistant", "Gladly.")] * 4,
        profile=f"She has kept the {topic} for thirty years. " * 8,
        agent_name=f"The keeper of the {topic}",
    )


@pytest.mark.parametrize("name", names())
def test_all_instructions_stand_ahead_of_the_case_so_that_providers_cache_them(name: str) -> None:
    first, second = (BUNDLED[name].render(typical(topic)) for topic in ("library", "museum"))
    assert first[0] == second[0]
    assert [message["role"] for message in first] == ["system", "user"]
