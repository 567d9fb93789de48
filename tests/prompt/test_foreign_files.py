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
    "query": [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "?"},
        ("user", "When is it?"),
    ],
    "context": ["On {Monday}.", {"title": "B", "content": "Or not."}],
    "reference": "On Monday.",
    "response": "It is on Monday.",
    "conversation": [("user", "Hi"), ("assistant", "Hello")],
}
CONTEXT = (
    '<data-{0}>\n<data-document number="1">\nOn {{Monday}}.\n</data-document>\n'
    '<data-document number="2" title="B">\nOr not.\n</data-document>\n</data-{0}>'
)

PROMPTY = """\
---
name: Groundedness Evaluator
model:
  api: chat
  configuration: {type: azure_openai}
  parameters:
    temperature: 0.0
    max_tokens: 800
    response_format: {type: text}
inputs:
  response: {type: string}
  context: {type: string}
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
MARKDOWN = """\
---
title: Faithfulness
temperature: 0.3
---
# Faithfulness

Question: {{customerQuery}}
Answer: {{prediction}}

Reply with JSON like {"score": 0.5, "why": {"text": "…", "tags": ["{a}"]}} and {"b": {}}:
100 % of {it}, {{"c": 1}}.
"""
PLAIN = """\
Premise: {premise}
Hypothesis: {hypothesis}
Better: {passage_gt}
Keep {braces}, {{"score": {{}}}}, {0}, {}, \\frac{1}{2} and { premise } as they are.
"""


ASKED_IN_MARKDOWN = (
    "# Faithfulness\n\n"
    "Question: <data-customerQuery>\nWhen is it?\n</data-customerQuery>\n"
    "Answer: <data-prediction>\nIt is on Monday.\n</data-prediction>\n\n"
    'Reply with JSON like {"score": 0.5, "why": {"text": "…", "tags": ["{a}"]}} and {"b": {}}:\n'
    '100 % of {it}, {{"c": 1}}.'
)
ASKED_PLAINLY = (
    f"Premise: {CONTEXT.format('premise')}\n"
    "Hypothesis: <data-hypothesis>\nIt is on Monday.\n</data-hypothesis>\n"
    "Better: <data-passage_gt>\nOn Monday.\n</data-passage_gt>\n"
    'Keep {braces}, {{"score": {{}}}}, {0}, {}, \\frac{1}{2} and { premise } as they are.'
)
ASKED_WITH_HISTORY = (
    "<data-history>\n"
    '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]'
    "\n</data-history>\n<data-answer>\nIt is on Monday.\n</data-answer>"
)


def foreign_file(kind: str, text: str, arguments: dict[str, Any], reply: str, **expected: Any) -> Any:
    return pytest.param(text, arguments, reply, expected, id=kind)


FOREIGN = [
    foreign_file(
        "Prompty v1",
        PROMPTY,
        {"reply": Tags(value="S2", reason="S1"), "scale": Scale(worst=1, best=5, integer=True)},
        "<S1>w</S1><S2>4</S2>",
        name="Groundedness Evaluator",
        score=0.75,
        parameters={"temperature": 0.0, "max_tokens": 800, "response_format": {"type": "text"}},
        messages=[
            ("system", "You grade. Answer as <S2>your Score</S2>."),
            ("user", "CONTEXT: " + CONTEXT.format("context")),
            ("assistant", "Fine."),
            ("user", "RESPONSE: <data-response>\nIt is on Monday.\n</data-response>"),
        ],
    ),
    foreign_file(
        "Markdown",
        MARKDOWN,
        {"reply": Json(value="score", reason="why"), "scale": Scale(worst=0, best=1)},
        '{"why": "w", "score": 0.5}',
        name="mine",
        score=0.5,
        parameters={},
        messages=[("user", ASKED_IN_MARKDOWN)],
    ),
    foreign_file(
        "plain template",
        PLAIN,
        {"reply": Tags(value="v", reason="r"), "scale": Scale(worst=0, best=10), "levels": {10: "any"}},
        "<r>w</r><v>5</v>",
        name="mine",
        score=0.5,
        label="any",
        parameters={},
        messages=[("user", ASKED_PLAINLY)],
    ),
    foreign_file(
        "roles without front matter",
        "Grade it.\nuser:\n{history}\n{answer}",
        {"reply": Banded(), "scale": Scale(worst=100, best=0), "not_applicable": [50]},
        "Analysis: w\nLevel: x\nScore: 25\n",
        name="mine",
        score=0.75,
        parameters={},
        messages=[("system", "Grade it."), ("user", ASKED_WITH_HISTORY)],
    ),
]


@pytest.mark.parametrize(("text", "arguments", "reply", "expected"), FOREIGN)
def test_file_of_another_tool_is_a_judge(
    tmp_path: Path, text: str, arguments: dict[str, Any], reply: str, expected: dict[str, Any]
) -> None:
    path, model = tmp_path / "mine.prompty", ScriptedModel(reply)
    path.write_text(text, encoding="utf-8")
    judge = load_one(path, model=model, **arguments)
    verdict = judge.judge(ROW)
    assert (verdict.judge, verdict.score, verdict.reason) == (expected["name"], expected["score"], "w")
    assert verdict.label == expected.get("label")
    assert dict(judge.rubric.prompt.parameters) == expected["parameters"]
    (request,) = model.asked
    sent = [(each["role"], without_codes(each["content"])) for each in request.messages]
    assert sent == expected["messages"]


def test_answers_are_optional_if_undeclared() -> None:
    prompt = Prompt.parse("{response} {real_answers}")
    assert prompt.render(Case(response="r"))
    with pytest.raises(CaseError, match="missing_field"):
        prompt.render(Case(answers=["a"]))
