"""Files of other tools are judges: Prompty, Markdown, and plain templates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from any_options import load_one
from fenced import without_codes
from scripted_model import ScriptedModel

from groundjudge.case.case import Case
from groundjudge.errors import CaseError
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies import Banded, Json, Tags
from groundjudge.scale import Scale

ROW: Mapping[str, Any] = {
    "query": [("user", "When?"), ("assistant", "?"), ("user", "When is it?")],
    "context": ["On {Monday}.", {"title": "B", "content": "Or not."}],
    "reference": "On Monday.",
    "response": "It is on Monday.",
    "conversation": [("user", "Hi"), ("assistant", "Hello")],
}
CONTEXT = (
    '<data-{0}>\n<data-document number="1">\nOn {{Monday}}.\n</data-document>\n'
    '<data-document number="2" title="B">\nOr not.\n</data-document>\n</data-{0}>'
)
ANSWER = "<data-{0}>\nIt is on Monday.\n</data-{0}>"

PROMPTY = """\
---
name: mine
model:
  api: chat
  configuration: {type: azure_openai}
  parameters: {temperature: 0.3, response_format: {type: text}}
inputs: {response: {type: string}, context: {type: string}}
sample: {response: Paris}
---
system:
You grade. Answer as <S2>your Score</S2>.
user:
CONTEXT: {{context}}
# assistant:
Fine.
 User:
RESPONSE: {{ response }}
"""
PROMPTY_ASKS = [
    ("system", "You grade. Answer as <S2>your Score</S2>."),
    ("user", "CONTEXT: " + CONTEXT.format("context")),
    ("assistant", "Fine."),
    ("user", "RESPONSE: " + ANSWER.format("response")),
]
BRACES = (
    '{"score": 0.5, "why": {"tags": ["{a}"]}}, {"b": {}}, 100% of {it}, {{"c": 1}}, {0}, {} and \\frac{1}{2}'
)
MARKDOWN = f"""\
---
title: Faithfulness
temperature: 0.3
---
# Faithfulness

Question: {{{{customerQuery}}}}
Answer: {{{{prediction}}}}
{BRACES}
"""
MARKDOWN_ASKS = (
    "# Faithfulness\n\nQuestion: <data-customerQuery>\nWhen is it?\n</data-customerQuery>\n"
    f"Answer: {ANSWER.format('prediction')}\n{BRACES}"
)
PLAIN = f"Premise: {{premise}}\nHypothesis: {{hypothesis}}\nBetter: {{passage_gt}}\n{BRACES} {{ premise }}"
PLAIN_ASKS = (
    f"Premise: {CONTEXT.format('premise')}\nHypothesis: {ANSWER.format('hypothesis')}\n"
    f"Better: <data-passage_gt>\nOn Monday.\n</data-passage_gt>\n{BRACES} {{ premise }}"
)
HISTORY = '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]'
HISTORY_ASKS = f"<data-history>\n{HISTORY}\n</data-history>\n{ANSWER.format('answer')}"

TO_FIVE = Scale(worst=1, best=5, integer=True)
FOREIGN: dict[str, tuple[Any, ...]] = {
    # The text of the file, options, a reply; what is asked, score and label.
    "Prompty": (
        PROMPTY,
        {"reply": Tags(), "scale": TO_FIVE},
        "<S1>w</S1><S2>4</S2>",
        (PROMPTY_ASKS, 0.75, None),
    ),
    "Markdown": (
        MARKDOWN,
        {"reply": Json(reason="why"), "scale": Scale(worst=0, best=1)},
        '{"why": "w", "score": 0.5}',
        ([("user", MARKDOWN_ASKS)], 0.5, None),
    ),
    "plain template": (
        PLAIN,
        {"reply": Tags("v", "r"), "scale": Scale(worst=0, best=10), "levels": {10: "any"}},
        "<r>w</r><v>5</v>",
        ([("user", PLAIN_ASKS)], 0.5, "any"),
    ),
    "roles without front matter": (
        "Grade it.\nuser:\n{history}\n{answer}",
        {"reply": Banded(), "scale": Scale(worst=100, best=0)},
        "Analysis: w\nScore: 25",
        ([("system", "Grade it."), ("user", HISTORY_ASKS)], 0.75, None),
    ),
}


@pytest.mark.parametrize(("text", "options", "reply", "expected"), FOREIGN.values(), ids=FOREIGN)
@pytest.mark.filterwarnings("ignore:.*keys of other tools are ignored")
@pytest.mark.filterwarnings("ignore:.*the model is sent {a}, {it} literally")
def test_file_of_another_tool_is_a_judge(
    tmp_path: Path, text: str, options: dict[str, Any], reply: str, expected: tuple[Any, ...]
) -> None:
    path, model = tmp_path / "mine.prompty", ScriptedModel(reply)
    path.write_text(text, encoding="utf-8")
    judge = load_one(path, model=model, **options)
    verdict = judge.judge(ROW)
    expected_messages, score, label = expected
    assert (verdict.judge, verdict.score, verdict.label, verdict.reason) == ("mine", score, label, "w")
    parameters = {"temperature": 0.3, "response_format": {"type": "text"}} if text == PROMPTY else {}
    assert dict(judge.rubric.prompt.parameters) == parameters
    messages = [(message["role"], without_codes(message["content"])) for message in model.asked[0].messages]
    assert messages == expected_messages


def test_answers_are_optional_if_undeclared() -> None:
    prompt = Prompt.parse("{response} {real_answers}")
    assert prompt.render(Case(response="r"))
    with pytest.raises(CaseError, match="missing_field"):
        prompt.render(Case(answers=["a"]))
