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
}


@pytest.mark.parametrize(("text", "reply", "scale"), OTHER_DRAFTS.values(), ids=OTHER_DRAFTS)
def test_formats_are_told_by_what_a_text_asks_for(tmp_path: Path, text: str, reply: Any, scale: Any) -> None:
    path = tmp_path / "brought.prompty"
    path.write_text(text)
    new_text = pasted(path)
    assert yaml.safe_load(new_text.split("---\n")[1]) == {**reply, "scale": scale}
    path.write_text(new_text)
    load_rubric(path)


def scale_line(path: Path) -> str:
    """The line that is proposed for a scale, with its comment."""
    with pytest.raises(PromptError) as raised:
        load_rubric(path)
    (line,) = (line for line in raised.value.message.splitlines() if line.startswith("scale:"))
    return line


@pytest.mark.parametrize(
    ("text", "value", "reason"),
    [
        pytest.param(
            '{"reason": "<why this score>", "score": <integer>}', "score", "reason", id="reason first"
        ),
        pytest.param('{"score": 4, "reason": "<why this score>"}', "score", "reason", id="score first"),
        pytest.param(
            '{"reason": "explain the score", "score": 0-10}', "score", "reason", id="score explained"
        ),
        pytest.param(
            '{"rationale": "why this label", "verdict": "yes"}', "verdict", "rationale", id="a label"
        ),
        pytest.param("{'thought': 'on the score', 'rating': 4}", "rating", "thought", id="single quotes"),
        pytest.param("{reason: string, score: number}", "score", "reason", id="keys without quotes"),
        pytest.param('{{"reason": "...", "score": 4}}', "score", "reason", id="double braces"),
        pytest.param(
            '{"explanation": "the score", "groundedness": 4}', "groundedness", "explanation", id="name"
        ),
        pytest.param('{"is_hallucination": bool, "quote": "..."}', "is_hallucination", None, id="a question"),
        pytest.param(
            '{"score_reason": "...", "score": 3}', "score", "score_reason", id="a reason by its end"
        ),
        pytest.param('{"claims": 3, "faithfulness": 0.5}', "faithfulness", None, id="two numbers"),
        pytest.param(
            '{"claims": [{"text": "...", "verdict": "..."}], "faithfulness": 0.5}',
            "faithfulness",
            None,
            id="keys of objects within",
        ),
        pytest.param(
            '{"type": "object", "properties": {"score": {"type": "integer"}, "reason": {"type": "string"}}}',
            "score",
            "reason",
            id="a schema",
        ),
        pytest.param(
            'Input: {"answer": "a"}\nOutput: {"reason": "r", "score": 4}\n'
            'Input: {"answer": "b"}\nOutput: {"reason": "r", "score": 1}\nInput: {"answer": "{{query}}"}',
            "score",
            "reason",
            id="examples",
        ),
        pytest.param('JSON with the keys "reasoning" and "score".', "score", "reasoning", id="keys in prose"),
        pytest.param("JSON with `explanation` and `verdict`.", "verdict", "explanation", id="in backticks"),
        pytest.param(
            'JSON: "explanation", "groundedness".', "groundedness", "explanation", id="a name in prose"
        ),
        pytest.param("JSON with keys reason and score.", "score", "reason", id="in prose without quotes"),
        pytest.param("JSON with:\n- reason: why\n- score: a number", "score", "reason", id="in a list"),
    ],
)
def test_the_key_of_a_verdict_is_told_by_its_name(
    tmp_path: Path, text: str, value: str, reason: str | None
) -> None:
    path = tmp_path / "brought.md"
    path.write_text(f"Rate {{{{response}}}} from 0 to 10.\n{text}")
    reply = {"format": "json", "value": value}
    if reason is not None:
        reply["reason"] = reason
    assert yaml.safe_load(pasted(path).split("---\n")[1])["reply"] == reply


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        pytest.param(
            'Answer with a word: "yes" if the answer contains a hallucination, "no" if it does not.',
            {"yes": 0, "no": 1},
            id="yes is bad",
        ),
        pytest.param(
            '"yes" if the answer is faithful, otherwise "no".', {"yes": 1, "no": 0}, id="yes is good"
        ),
        pytest.param(
            'Say "no" if there is a hallucination, "yes" otherwise.', {"no": 0, "yes": 1}, id="no is bad"
        ),
        pytest.param(
            'Say "yes" if it does not contain hallucinations, else "no".', {"yes": 1, "no": 0}, id="negated"
        ),
        pytest.param(
            'Return "yes" if it is hallucinated.\nReturn "no" if all is supported.',
            {"yes": 0, "no": 1},
            id="a line for each",
        ),
        pytest.param("**Yes** if it is faithful, otherwise **No**.", {"Yes": 1, "No": 0}, id="bold"),
        pytest.param("<hallucination>yes/no</hallucination>", {"yes": 0, "no": 1}, id="a tag's name"),
        pytest.param('{"is_hallucination": true|false}', {"true": 0, "false": 1}, id="a key's name"),
        pytest.param('{"grounded": <bool>}', {"true": 1, "false": 0}, id="a boolean"),
        pytest.param(
            "<verdict>SUPPORTED or NOT_SUPPORTED</verdict>",
            {"SUPPORTED": 1, "NOT_SUPPORTED": 0},
            id="in a tag",
        ),
        pytest.param(
            "Write HALLUCINATED or NOT HALLUCINATED.",
            {"HALLUCINATED": 0, "NOT HALLUCINATED": 1},
            id="the good one is the negated one",
        ),
        pytest.param(
            "SUPPORTED, PARTIALLY_SUPPORTED or NOT_SUPPORTED",
            {"SUPPORTED": 1, "PARTIALLY_SUPPORTED": 0.5, "NOT_SUPPORTED": 0},
            id="three",
        ),
        pytest.param("PASS, FAIL, or N/A.", {"PASS": 1, "FAIL": 0, "N/A": None}, id="not applicable"),
        pytest.param('either "factual" or "hallucinated".', {"factual": 1, "hallucinated": 0}, id="quoted"),
        pytest.param(
            "PASS if all is in the source. FAIL if anything is not.", {"PASS": 1, "FAIL": 0}, id="sentences"
        ),
        pytest.param(
            'Explain in 1 to 2 sentences, then write "Verdict: PASS" or "Verdict: FAIL"',
            {"PASS": 1, "FAIL": 0},
            id="a labelled line",
        ),
        pytest.param(
            'Output: {"label": "faithful"}\nOutput: {"label": "unfaithful"}',
            {"faithful": 1, "unfaithful": 0},
            id="in examples",
        ),
    ],
)
def test_labels_are_proposed_with_the_good_one_by_the_words_around(
    tmp_path: Path, text: str, scores: dict[str, float | None]
) -> None:
    path = tmp_path / "brought.md"
    path.write_text(f"This is to be judged: {{{{response}}}}.\n{text}")
    line = scale_line(path)
    assert "#" not in line
    assert yaml.safe_load(line) == {"scale": {"choices": scores}}
    path.write_text(pasted(path))
    assert load_rubric(path).scale.choices == scores


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        pytest.param("Answer yes or no.", {"choices": {"yes": 1, "no": 0}}, id="nothing around"),
        pytest.param(
            "Does the answer hallucinate? Output YES or NO only.",
            {"choices": {"YES": 0, "NO": 1}},
            id="the question ahead",
        ),
        pytest.param(
            'End with "Verdict: yes" or "Verdict: no"', {"choices": {"yes": 1, "no": 0}}, id="a labelled line"
        ),
        pytest.param(
            'Answer "entailment", "neutral" or "contradiction".',
            {"choices": {"entailment": 1, "neutral": 0.5, "contradiction": 0}},
            id="a label that tells nothing",
        ),
        pytest.param("<score>0 or 1</score>", {"worst": 0, "best": 1, "integer": True}, id="two numbers"),
        pytest.param('{"hallucination_score": 0.0-1.0}', {"worst": 1, "best": 0}, id="a bad thing is rated"),
    ],
)
def test_where_the_words_do_not_say_which_end_is_good_a_comment_says_to_check(
    tmp_path: Path, text: str, scale: dict[str, Any]
) -> None:
    path = tmp_path / "brought.md"
    path.write_text(f"This is to be judged: {{{{response}}}}.\n{text}")
    line = scale_line(path)
    assert "  # check which" in line
    assert yaml.safe_load(line) == {"scale": scale}
    path.write_text(pasted(path))
    load_rubric(path)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("What about it?", id="no word"),
        pytest.param("Give a score out of 10.", id="one number"),
        pytest.param("Write PASS or N/A.", id="one label beside not applicable"),
        pytest.param("Compare the ANSWER with the CONTEXT, or say why not.", id="capital words"),
        pytest.param('{"explanation": "...", "score": <your score>}', id="a key"),
        pytest.param("Say in 1-2 sentences how well it is supported.", id="a number of sentences"),
    ],
)
def test_a_scale_that_no_word_tells_is_to_be_filled_in(tmp_path: Path, text: str) -> None:
    path = tmp_path / "brought.md"
    path.write_text(f"This is to be judged: {{{{response}}}}.\n{text}")
    filled_in = pasted(path)
    line = "scale: {worst: LOWEST, best: HIGHEST}"
    comment = "  # fill in the numbers, or for labels: {choices: {GOOD: 1, BAD: 0}}"
    assert scale_line(path) == f"{line}{comment}"
    path.write_text(filled_in)
    with pytest.raises(PromptError, match=r"bad_front_matter.*worst"):
        load_rubric(path)
    path.write_text(filled_in.replace("LOWEST", "1").replace("HIGHEST", "5"))
    load_rubric(path)


def test_examples_of_judged_answers_are_not_the_verdicts_line(tmp_path: Path) -> None:
    path = tmp_path / "brought.md"
    path.write_text(
        "Answer: a\nLabel: supported\nAnswer: b\nLabel: unsupported\nAnswer: {{response}}\nLabel:"
    )
    settings = yaml.safe_load(pasted(path).split("---\n")[1])
    assert settings == {
        "reply": {"format": "line", "name": "Label"},
        "scale": {"choices": {"supported": 1, "unsupported": 0}},
    }


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
