"""Prompts that users bring: what is said of a file without a reply format loads when it is pasted."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from groundjudge import PromptError, Scale, load_rubric
from groundjudge.replies import FORMATS, Json, Numbered, Tags

REPLIES = {
    "tags": ("<S1>the price is missing</S1><S2>4</S2>", 0.75),
    "json": ('{"reasoning": "the price is missing", "score": 0.8}', 0.8),
    "line": ("The year differs.\n\nFinal verdict: Inconsistent", 0.0),
    "plain": ("Yes", 1.0),
    "banded": ("Analysis: a\nLevel: none\nScore: 90", 0.9),
    "scorecard": ("Statement Sentence: It sails.\nSupporting Evidence: It sails.\nScore: 7", 0.7),
    "numbered": ("1 | 1 | - | 10\n2 | 1 | at ten, not at nine | 4\nALL | 20", 0.2),
    "adjacent": (
        "\n".join(
            f"{name}_Reasoning: r\n{name}_Formula: (3 * 1.0)\n{name}_Weighted_Summed_Score: 3"
            for name in ("RECALL", "PRECISION")
        ),
        0.5,
    ),
}
"""For each format a reply to a prompt that has the front matter of the message, and its score."""


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.filterwarnings("ignore:.*keys of other tools are ignored", "ignore:.*its text never mentions")
def test_what_the_message_says_to_paste_makes_a_judge(tmp_path: Path, name: str) -> None:
    path = tmp_path / "brought.prompty"
    text = "Rate {{response}} by {{context}}"
    path.write_text(text)
    with pytest.raises(PromptError, match=r"no_reply_format.*reply is missing: add it") as raised:
        load_rubric(path)
    blocks = raised.value.message.split("\n\n")
    examples = [block.strip() for block in blocks if f"reply: {{format: {name}" in block]
    assert len(examples) == 1, f"replies/__init__.py: add an example of {name} to FORMAT_EXAMPLES"
    (block,) = examples
    assert name in REPLIES, f"add a reply to the example of {name}, and its score, to REPLIES here"
    path.write_text(f"---\n{block}\n---\n{text}")
    reply, score = REPLIES[name]
    assert load_rubric(path).read(reply).score == pytest.approx(score)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Rate {{response}}", id="no context"),
        pytest.param("Rate what follows from {{context}}", id="no response"),
        pytest.param(
            "---\ninputs: [context, {name: response, type: messages}]\n---\n{{context}} {{response}}",
            id="a response of messages",
        ),
    ],
)
def test_sentences_have_numbers_only_in_context_and_response(tmp_path: Path, text: str) -> None:
    path = tmp_path / "brought.prompty"
    path.write_text(text)
    options: Any = {"reply": Numbered(), "scale": Scale(worst=0, best=10)}
    with pytest.raises(PromptError, match=r"bad_reply_format: .*numbers the sentences of"):
        load_rubric(path, **options)


def test_scales_for_numbers_and_labels_are_named_where_one_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "brought.md"
    path.write_text("---\nreply: {format: tags, value: grade}\n---\n0 to 10: <grade>8</grade> {{response}}")
    with pytest.raises(PromptError, match=r"no_scale.*\{worst: 1, best: 5\}; .*\{choices: "):
        load_rubric(path)


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
    assert notices(path) == ["these keys of other tools are ignored: id, title, author"]
    path.write_text(f"---\n{keys}\ntreshold: 1\n---\nRate {{{{response}}}}")
    with pytest.raises(PromptError, match="unknown key treshold, did you mean 'threshold'"):
        load_rubric(path)


LITERAL = "literally, because no field of a case has that name"


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


SCALE = Scale(worst=1, best=5)
NEVER = "where replies must give the verdict: ask for it there, or correct `reply:`"


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
