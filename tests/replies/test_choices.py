"""A label is read in its place as strictly as a number: all of the place is one label, or it is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from read_replies import FOUR, READERS, YES, card, outcome
from scripted_model import ScriptedModel

from groundjudge import Case, Choices, PromptError, Scale, load_rubric
from groundjudge.replies import Adjacent, Banded, Format, Tags
from groundjudge.types import Judge, Rubric

TRUE = Choices({"true": 1, "false": 0})
GRADES = Choices({"1": 0, "2": 0.5, "3": 1})
CHINESE = Choices({"有依据": 1, "无依据": 0})

REPLIES: list[tuple[str, str, Scale, object]] = [
    # The place as a whole, folded.
    ("tags", "<S1>r</S1><S2>supported</S2>", FOUR, "supported"),
    ("tags", "<S2> SUPPORTED.\n</S2>", FOUR, "supported"),
    ("tags", '<S2>"supported".</S2>', FOUR, "supported"),
    ("tags", "<S2>“supported.”</S2>", FOUR, "supported"),
    ("tags", "<S2>not supported</S2>", FOUR, "not supported"),
    ("tags", "<S2>not\\_supported</S2>", FOUR, "not supported"),
    ("tags", "<S2>not\u00a0supported</S2>", FOUR, "not supported"),
    ("tags", "<S2>Partially  supported</S2>", FOUR, "partially supported"),
    ("tags", "<S2>CANNOT_TELL</S2>", FOUR, "cannot tell"),
    ("tags", "<S2>有依据。</S2>", CHINESE, "有依据"),
    ("tags", "<S2>「无依据」</S2>", CHINESE, "无依据"),
    # Anything else is no label.
    ("tags", "<S2>supported by the context</S2>", FOUR, "unknown_label"),
    ("tags", "<S2>not partially supported</S2>", FOUR, "unknown_label"),
    ("tags", "<S2>no 依据</S2>", CHINESE, "unknown_label"),
    ("tags", "<S2></S2>", FOUR, "unknown_label"),
    # Several labels.
    ("tags", "<S2>supported or not supported</S2>", FOUR, "unknown_label"),
    ("tags", "<S2>supported\n\nnot supported</S2>", FOUR, "unknown_label"),
    ("tags", "<S2>supported</S2><S2>not supported</S2>", FOUR, "ambiguous"),
    ("tags", "<S2>supported</S2><S2>Supported.</S2>", FOUR, "supported"),
    ("tags", "<S2>supported</S2><S2>who knows</S2>", FOUR, "ambiguous"),
    ("tags", "<S0>maybe <S2>not supported</S2></S0><S2>supported</S2>", FOUR, "supported"),
    # The prompt's own words are an echo; its list of labels is not.
    ("tags", "<S2>yes|no</S2><S2>no</S2>", YES, "ambiguous"),
    ("tags", "<S2>your label</S2><S2>yes</S2>", YES, "yes"),
    # JSON.
    ("json", '{"reasoning": "r", "score": "supported"}', FOUR, "supported"),
    ("json", '{"score": "cannot_tell"}', FOUR, "cannot tell"),
    ("json", '{"score": true}', TRUE, "true"),
    ("json", '{"score": "False"}', TRUE, "false"),
    ("json", '{"score": true}', YES, "unknown_label"),
    ("json", '{"score": 1}', YES, "unknown_label"),
    ("json", '{"score": 2}', GRADES, "2"),
    ("json", '{"score": null}', FOUR, "unknown_label"),
    ("json", '{"score": ["supported"]}', FOUR, "unknown_label"),
    ("json", '{"score": "supported"} {"score": "not supported"}', FOUR, "ambiguous"),
    ("json", "{'score': 'supported',}", FOUR, "supported"),
    ("json", "{score: not supported}", FOUR, "not supported"),
    ("json", '{"reasoning": "it says \\"score\\": \\"no\\"", "score": "yes"}', YES, "yes"),
    # Labelled lines.
    ("banded", "Analysis: a\nScore: supported", FOUR, "supported"),
    ("banded", "**Score:** Not supported.", FOUR, "not supported"),
    ("banded", "Score: yes\nScore: no", YES, "ambiguous"),
    ("banded", "Score: yes\n> Score: no", YES, "ambiguous"),
    ("banded", "The answer is yes", YES, "no_verdict"),
    # One label for each sentence.
    ("scorecard", card("supported", "not supported"), FOUR, ["supported", "not supported"]),
    ("scorecard", card("supported", "5"), FOUR, "unknown_label"),
    ("scorecard", card("supported, not supported"), FOUR, "unknown_label"),
    ("scorecard", card("yes").replace("Score: yes", "Score: yes\nScore: no"), YES, "ambiguous"),
    # Nothing but the label.
    ("plain", "Yes", YES, "yes"),
    ("plain", " No.\n", YES, "no"),
    ("plain", "<think>Yes? no ...</think>\nYes", YES, "yes"),
    ("plain", "```\nyes\n```", YES, "yes"),
    ("plain", "Yes\nNo", YES, "unknown_label"),
    ("plain", "I cannot help with that.", YES, "unknown_label"),
]


@pytest.mark.parametrize(("kind", "text", "scale", "expected"), REPLIES)
def test_label_is_read_in_its_place_only(kind: str, text: str, scale: Scale, expected: object) -> None:
    assert outcome(kind, text, scale) == expected


PLACES = {"tags": "<S2>%s</S2>", "json": '{"score": "%s"}', "banded": "Score: %s", "plain": "%s"}


@pytest.mark.parametrize("kind", PLACES)
@given(
    said=st.sampled_from([*FOUR.choices]),
    marks=st.sampled_from([("", ""), ("**", "**"), ("“", "”"), ("[", "]"), ("_", "_")]),
    letters=st.sampled_from([str.upper, str.title, str.lower]),
    more=st.text(alphabet="abcdefghij ", min_size=1, max_size=8).map(str.strip).filter(bool),
)
def test_label_with_other_words_beside_it_is_never_that_label(
    kind: str, said: str, marks: tuple[str, str], letters: Any, more: str
) -> None:
    place = f"{marks[0]}{letters(said)}{marks[1]}"
    assert outcome(kind, PLACES[kind] % place, FOUR) == said
    assert outcome(kind, PLACES[kind] % f"{more} {place}", FOUR) == "unknown_label"
    assert outcome(kind, PLACES[kind] % f"{place} {more}", FOUR) == "unknown_label"


@pytest.mark.parametrize("kind", [*PLACES, "scorecard", "line"])
@pytest.mark.parametrize("scale", [FOUR, YES, TRUE, GRADES, CHINESE], ids=str)
def test_every_format_expresses_labels(kind: str, scale: Scale) -> None:
    rubric = load_rubric("groundedness", reply=READERS[kind], scale=scale, levels={}, not_applicable=())
    assert rubric.scale is scale  # making the rubric tries to write and read every label


BAD_SCALES: list[tuple[dict[Any, Any], str]] = [
    ({}, "two of them"),
    ({"yes": 1}, "two of them"),
    ({"yes": 1, "no": 1}, "two of them"),
    ({"yes": 1, "no": None}, "two of them"),
    ({"yes": 1, "Yes!": 0}, "differ in their words"),
    ({"not_ok": 1, "not ok": 0}, "differ in their words"),
    ({"...": 1, "no": 0}, "differ in their words"),
    ({True: 1, False: 0}, 'quote the labels, as in "yes": 1'),
    ({None: 1, "no": 0}, "null and ~ as nothing, and 1 as a number"),
    ({1: 1, "1": 0, "b": 0.5}, "null and ~ as nothing, and 1 as a number"),
    ({"good": 5, "bad": 1}, "less than or equal to 1"),
    ({"good": 1, "bad": -1}, "greater than or equal to 0"),
    ({"good": float("nan"), "bad": 0}, "finite"),
]


@pytest.mark.parametrize(("choices", "message"), BAD_SCALES)
def test_labels_that_cannot_be_told_apart_or_scored_are_refused(
    choices: dict[Any, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        Choices(choices)


def test_labels_with_ends_are_refused() -> None:
    with pytest.raises(ValidationError, match="choices need no worst"):
        Scale(worst=0, best=1, choices={"yes": 1, "no": 0})


@pytest.mark.parametrize(
    ("format_", "choices"),
    [
        (Adjacent(), {"yes": 1, "no": 0}),
        (Tags(), {"</S2>": 1, "no": 0}),
        (Banded(), {"yes\nno": 1, "no": 0}),
    ],
)
def test_format_that_cannot_express_a_label_is_refused_when_the_rubric_is_made(
    format_: Format, choices: dict[str, float | None]
) -> None:
    with pytest.raises(PromptError, match=r"bad_choices.*cannot express the label"):
        load_rubric("groundedness", reply=format_, scale=Choices(choices), levels={}, not_applicable=())


def test_label_that_occurs_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "support.prompty"
    file.write_text(PROMPT.replace("partly supported: 0.5", "supported: 0.5"), encoding="utf-8")
    with pytest.raises(PromptError, match=r"the key 'supported' occurs twice.*line 6"):
        load_rubric(file)


def test_mapping_in_place_of_a_scale_is_refused() -> None:
    scale: Any = {"choices": {"yes": 1, "no": 0}}
    with pytest.raises(PromptError, match=r"bad_scale: scale must be a Scale"):
        load_rubric("groundedness", scale=scale)


def test_levels_and_values_belong_to_numbers() -> None:
    with pytest.raises(PromptError, match="bad_levels"):
        load_rubric("groundedness", scale=YES)


PROMPT = """\
---
name: support
version: "1"
inputs: [{name: response}, {name: context, type: documents}]
reply: {format: json, value: label}
scale: {choices: {supported: 1, partly supported: 0.5, not supported: 0, cannot tell: null}}
threshold: 0.6
example_reply: {text: '{"label": "Partly supported"}', value: partly supported}
---
Is {{response}} supported by {{context}}? Answer as JSON: {"reasoning": "...", "label": "..."}
"""


@pytest.fixture(name="support")
def a_rubric_with_labels(tmp_path: Path) -> Rubric:
    file = tmp_path / "support.prompty"
    file.write_text(PROMPT, encoding="utf-8")
    return load_rubric(file)


CASE = Case(response="It rains.", context="It rains.")


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("supported", ("ok", "supported", 1.0, True)),
        ("Partly supported", ("ok", "partly supported", 0.5, False)),
        ("NOT_SUPPORTED", ("ok", "not supported", 0.0, False)),
        ("cannot tell", ("not_applicable", "cannot tell", None, True)),
    ],
)
def test_verdict_has_the_label_and_its_score(
    support: Rubric, said: str, expected: tuple[str, str, float | None, bool]
) -> None:
    verdict = Judge(support, ScriptedModel(f'{{"reasoning": "r", "label": "{said}"}}')).judge(CASE)
    assert (verdict.status, verdict.label, verdict.score, verdict.passed) == expected
    assert verdict.value == verdict.score


def test_unknown_label_is_asked_again_with_the_labels(support: Rubric) -> None:
    model = ScriptedModel('{"label": "yes"}', '{"label": "supported"}')
    verdict = Judge(support, model).judge(CASE)
    assert (verdict.label, verdict.attempts) == ("supported", 2)
    assert (
        "supported, partly supported, not supported, cannot tell" in model.asked[-1].messages[-1]["content"]
    )


def test_blank_response_can_be_given_the_worst_label(support: Rubric) -> None:
    worst = support.with_options(empty_response="worst")
    verdict = Judge(worst, ScriptedModel("")).judge(Case(response=" ", context="It rains."))
    assert (verdict.label, verdict.score, verdict.passed) == ("not supported", 0.0, False)


def test_example_that_names_another_label_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "support.prompty"
    file.write_text(PROMPT.replace("value: partly supported", "value: supported"), encoding="utf-8")
    with pytest.raises(PromptError, match=r"bad_example.*is read as partly supported, not as supported"):
        load_rubric(file)


def test_sentence_that_cannot_be_judged_is_left_out_of_the_mean() -> None:
    rubric = load_rubric("statement_groundedness", scale=FOUR)
    verdict = rubric.read(card("supported", "cannot tell", "not supported"))
    assert (verdict.score, [part.score for part in verdict.parts]) == (0.5, [1.0, None, 0.0])
    nothing = rubric.read(card("cannot tell"))
    assert (nothing.status, nothing.score) == ("not_applicable", None)


def test_label_is_part_of_the_rubrics_identity(support: Rubric) -> None:
    other = support.with_options(scale=Choices({**support.scale.choices, "partly supported": 0.6}))
    assert other.identity != support.identity
