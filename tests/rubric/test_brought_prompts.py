"""Prompts that users bring: what is said of a file without a reply format loads when it is pasted."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import yaml

from groundjudge import PromptError, Scale, load_rubric
from groundjudge.replies import Json, Tags

GRADER = """---
name: Support of an answer
description: Grades how well the documents support an answer.
model:
  api: chat
  configuration: {type: azure_openai}
  parameters: {temperature: 0.0, max_tokens: 800, response_format: {type: text}}
inputs:
  query: {type: string}
  response: {type: string}
  context: {type: string}
---
system:
# What to grade
An answer is **supported** if all that it says stands in the CONTEXT.

user:
## [Support: 1] (Another subject)
The answer is about something else.
## [Support: 2] (Contradicted)
The answer says what the context denies.
## [Support: 3] (Partly invented)
## [Support: 4] (Gaps)
## [Support: 5] (Supported in full)

CONTEXT: {{context}}
QUERY: {{query}}
RESPONSE: {{response}}

# Your task
Write three things between these tags, and nothing else: <S0>think step by step</S0>, <S1>a short
explanation</S1>, <S2>your Score, an integer</S2>.
"""

GUARDRAIL = """You check what a support agent is about to send. How sure can we be that it is backed?

<documents>{{documents}}</documents>
<message>{{response}}</message>

- 1.0: every sentence follows from the documents, or it is only polite
- 0.7-0.9: small steps beyond them
- 0.4-0.6: mixed with general knowledge
- 0.0-0.3: invented

Return only a JSON object, e.g.:
{"score": <a number between 0.0 and 1.0>, "reasoning": "<two sentences>"}
"""

OVERLAP = """You compare a SOURCE with a STATEMENT. Go through it by its sentences, and rate how much
of it the source says, where 0 is nothing and 10 is everything. Use the whole scale from 0 to 10.

SOURCE: {premise}

STATEMENT: {hypothesis}

For each sentence write
Criteria: <the sentence>
Supporting Evidence: <words of the source, or NOTHING FOUND>
Score: <your rating>
"""

PASSAGES = """---
id: 17
title: Passage judge
author: The search team
tags: [retrieval]
---
Compare the returned passage with the ideal one, for recall and then for precision, on a scale of 1 to 5.

Query: {{query}}
Ideal: {{passage_gt}}
Returned: {{passage_llm}}

Find the two neighbouring scores between which it lies, and weigh them. Write exactly:
RECALL_Reasoning: why
RECALL_Formula: (a * share) + (b * share)
RECALL_Weighted_Summed_Score: the sum
PRECISION_Reasoning: why
PRECISION_Formula: (a * share) + (b * share)
PRECISION_Weighted_Summed_Score: the sum
"""

CHARACTER = """---
title: Does the character stay with the facts?
date: 2024-05-01
---
{{agent_name}} is played by a model. Profile: {{profile}}
So far: {{conversation}}
It now says: {{response}}

0-20: severe invention
21-40: great invention
41-60: some invention
61-80: little invention
81-100: none

Answer in this form.
Analysis: what is and is not in the profile
Level: the name of the band
Score: a number
"""

BROUGHT = {
    "a grader in tags": (
        GRADER,
        {
            "reply": {"format": "tags", "value": "S2", "reason": "S1"},
            "scale": {"worst": 1, "best": 5, "integer": True},
        },
        "<S0>t</S0><S1>r</S1><S2>4</S2>",
        0.75,
    ),
    "a guardrail with a JSON object": (
        GUARDRAIL,
        {
            "reply": {"format": "json", "value": "score", "reason": "reasoning"},
            "scale": {"worst": 0, "best": 1},
        },
        '{"score": 0.8, "reasoning": "r"}',
        0.8,
    ),
    "overlap by sentences": (
        OVERLAP,
        {"reply": {"format": "scorecard"}, "scale": {"worst": 0, "best": 10}},
        "Criteria: It sails.\nSupporting Evidence: It sails.\nScore: 7",
        0.7,
    ),
    "passages with formulas": (
        PASSAGES,
        {"reply": {"format": "adjacent"}, "scale": {"worst": 1, "best": 5}},
        "\n".join(
            f"{name}_Reasoning: r\n{name}_Formula: (3 * 1.0)\n{name}_Weighted_Summed_Score: 3"
            for name in ("RECALL", "PRECISION")
        ),
        0.5,
    ),
    "a character with bands": (
        CHARACTER,
        {"reply": {"format": "banded"}, "scale": {"worst": 0, "best": 100}},
        "Analysis: a\nLevel: none\nScore: 90",
        0.9,
    ),
}
"""Prompt, the front matter that is proposed, a reply that the prompt asks for, and its score."""


def pasted(path: Path) -> str:
    """The text of a file with what the message about it says to paste."""
    text = path.read_text()
    with pytest.raises(PromptError, match="reply is missing: add it, or in Python pass") as raised:
        load_rubric(path)
    draft = raised.value.message.split("\n\n")[1]
    if draft.startswith("---"):
        return f"{draft}\n{text}"
    assert text.startswith("---\n")
    return text.replace("---\n", f"---\n{draft}\n", 1)


@pytest.mark.parametrize(("text", "draft", "reply", "score"), BROUGHT.values(), ids=BROUGHT)
@pytest.mark.filterwarnings("ignore:.*nothing reads the keys")
def test_what_the_message_says_to_paste_makes_a_judge(
    tmp_path: Path, text: str, draft: Any, reply: str, score: float
) -> None:
    path = tmp_path / "brought.prompty"
    path.write_text(text)
    new_text = pasted(path)
    settings = yaml.safe_load(new_text.split("---\n")[1])
    assert {key: settings[key] for key in draft} == draft
    path.write_text(new_text)
    assert load_rubric(path).read(reply).score == pytest.approx(score)


OTHER_DRAFTS = {
    "a labelled line": (
        "Is {{response}} consistent? End with Final verdict: Consistent or Inconsistent",
        {"reply": {"format": "line", "name": "Final verdict"}},
        {"choices": {"Consistent": 1, "Inconsistent": 0}},
    ),
    "double brackets": (
        'Rate {{response}} on a scale of 1 to 10, strictly in this form: "Rating: [[5]]"',
        {"reply": {"format": "line", "name": "Rating", "brackets": True}},
        {"worst": 1, "best": 10},
    ),
    "a label in brackets": (
        "Grade {{response}}. Score 1: bad.\nScore 5: good.\nWrite feedback, then [RESULT] and an integer.",
        {"reply": {"format": "line", "name": "[RESULT]"}},
        {"worst": 1, "best": 5, "integer": True},
    ),
    "tags with labels": (
        "Is there a risk in {{response}}? <why>your reasons</why><risk>yes or no</risk>",
        {"reply": {"format": "tags", "value": "risk", "reason": "why"}},
        {"choices": {"yes": 1, "no": 0}},
    ),
    "JSON with labels": (
        'Check {{response}}: {"REASONING": ["..."], "SCORE": "PASS" or "FAIL"}',
        {"reply": {"format": "json", "value": "SCORE", "reason": "REASONING"}},
        {"choices": {"PASS": 1, "FAIL": 0}},
    ),
    "a word": (
        "Does the source say {{response}}? Reply with Yes or No only.",
        {"reply": {"format": "plain"}},
        {"choices": {"Yes": 1, "No": 0}},
    ),
    "nothing that tells": (
        "What about {{response}}?",
        {"reply": {"format": "plain"}},
        {"worst": 1, "best": 5},
    ),
}


@pytest.mark.parametrize(("text", "reply", "scale"), OTHER_DRAFTS.values(), ids=OTHER_DRAFTS)
def test_formats_are_told_by_what_a_text_asks_for(tmp_path: Path, text: str, reply: Any, scale: Any) -> None:
    path = tmp_path / "brought.prompty"
    path.write_text(text)
    new_text = pasted(path)
    assert yaml.safe_load(new_text.split("---\n")[1]) == {**reply, "scale": scale}
    path.write_text(new_text)
    load_rubric(path)


def test_the_message_has_a_line_on_each_format(tmp_path: Path) -> None:
    path = tmp_path / "brought.md"
    path.write_text("Rate {{response}}")
    with pytest.raises(PromptError) as raised:
        load_rubric(path)
    lines = raised.value.message.splitlines()
    names = [line.partition(":")[0].strip() for line in lines if line.startswith("  ")]
    assert sorted(names) == ["adjacent", "banded", "json", "line", "plain", "scorecard", "tags"]


def test_a_file_without_a_scale_gets_one_to_paste(tmp_path: Path) -> None:
    path = tmp_path / "brought.md"
    path.write_text("---\nreply: {format: tags, value: grade}\n---\n0 to 10: <grade>8</grade> {{response}}")
    with pytest.raises(PromptError, match="no_scale") as raised:
        load_rubric(path)
    assert "\n\nscale: {worst: 0, best: 10}\n" in raised.value.message
    assert "reply: {" not in raised.value.message


def test_inputs_of_ones_own_are_listed_to_paste(tmp_path: Path) -> None:
    path = tmp_path / "brought.md"
    front_matter = "reply: {format: plain}\nscale: {worst: 0, best: 1}\n"
    path.write_text(f"---\n{front_matter}---\n{{{{response}}}} {{{{tone}}}} {{{{brand_voice}}}}")
    with pytest.raises(PromptError, match="unknown_input") as raised:
        load_rubric(path)
    start = raised.value.message.index("inputs: [")
    inputs = raised.value.message[start : raised.value.message.index("]", start) + 1]
    path.write_text(path.read_text().replace(front_matter, f"{front_matter}{inputs}\n"))
    assert [prompt_input.name for prompt_input in load_rubric(path).inputs] == [
        "response",
        "tone",
        "brand_voice",
    ]


# --- notices --------------------------------------------------------------------------------------


def notices(path: Path, **options: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_rubric(path, **options)
    return [str(warning.message).removeprefix(f"{path}: ") for warning in caught]


def test_keys_of_other_tools_are_ignored_with_one_notice(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    keys = "id: 3\ntitle: T\nauthor: A\ntags: [a]\nreply: {format: plain}\nscale: {worst: 0, best: 1}"
    path.write_text(f"---\n{keys}\n---\nRate {{{{response}}}}")
    assert notices(path) == ["nothing reads the keys id, title, author, which other tools write"]
    path.write_text(f"---\n{keys}\ntreshold: 1\n---\nRate {{{{response}}}}")
    with pytest.raises(PromptError, match="unknown key treshold, did you mean 'threshold'"):
        load_rubric(path)


LITERAL = "as it stands, for no field of a case has that name"


@pytest.mark.parametrize(
    ("text", "literal_names"),
    [
        pytest.param("{question} {sources} {answer} Rating:", "{sources}", id="one is misspelt"),
        pytest.param("{{question}} {sources} {answer} Rating:", "{sources}, {answer}", id="mixed braces"),
        pytest.param('{question} {"rating": 1} {} {1} Rating:', "", id="JSON and empty braces"),
        pytest.param("{question} Write Rating: {Rating}", "", id="the verdict's own name"),
    ],
)
def test_braces_that_hold_no_field_are_warned_of(tmp_path: Path, text: str, literal_names: str) -> None:
    path = tmp_path / "mine.md"
    path.write_text(f"---\nreply: {{format: line, name: Rating}}\nscale: {{worst: 1, best: 5}}\n---\n{text}")
    (warning,) = notices(path) or [""]
    assert (f"the model is sent {literal_names} {LITERAL}" in warning) == bool(literal_names)
    assert bool(warning) == bool(literal_names)


def test_the_line_that_shows_the_answer_is_not_the_verdicts(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("Question: {question}\n**Answer:** {answer}\nEnd with Rating: a number from 1 to 5.")
    with pytest.raises(PromptError, match=r"reply: \{format: line, name: Rating\}"):
        load_rubric(path)


SCALE = Scale(worst=1, best=5)
NEVER = "where the verdict is looked for in replies: ask for it there, or correct `reply:`"


@pytest.mark.parametrize(
    ("text", "reply", "labels"),
    [
        pytest.param("Rate {{response}}.", Tags("grade"), "grade", id="a tag that is not there"),
        pytest.param("Write <GRADE>4</GRADE> of {{response}}.", Tags("grade"), "", id="a tag in upper case"),
        pytest.param("Upgrade {{response}}.", Tags("grade"), "grade", id="a part of another word"),
        pytest.param("Give JSON on {{response}}.", Json("score"), "score", id="a key that is not there"),
        pytest.param('{"score": 1} of {{response}}', Json("score"), "", id="a key"),
    ],
)
def test_a_format_that_the_text_never_asks_for_is_warned_of(
    tmp_path: Path, text: str, reply: Any, labels: str
) -> None:
    path = tmp_path / "mine.md"
    path.write_text(text)
    expected = [f"its text never mentions {labels}, {NEVER}"] if labels else []
    assert notices(path, reply=reply, scale=SCALE) == expected


def test_a_schema_that_is_always_sent_names_the_keys(tmp_path: Path) -> None:
    path = tmp_path / "mine.md"
    path.write_text("Rate {{response}}.")
    assert notices(path, reply=Json("score"), scale=SCALE, structured="always") == []
