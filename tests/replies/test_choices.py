"""A label is read in its place as strictly as a number: all of the place is one label, or it is an error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from crossed import crossed
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from read_replies import CHINESE, FOUR, READERS, YES, card, outcome
from scripted_model import ScriptedModel

from groundjudge import Choices, PromptError, ReplyError, Scale, load_rubric
from groundjudge.replies import Adjacent, Banded, Format
from groundjudge.replies.value import label_of
from groundjudge.types import Judge, Rubric

TRUE = Choices({"true": 1, "false": 0})
GRADES = Choices({"1": 0, "2": 0.5, "3": 1})

REPLIES: list[Any] = [
    # Several labels, and an echo of the prompt, which a list of the labels is not.
    pytest.param("tags", "<S2>supported</S2><S2>Supported.</S2>", FOUR, "supported", id="a label twice"),
    pytest.param(
        "tags",
        "<S2>supported</S2><S2>who knows</S2>",
        FOUR,
        "ambiguous",
        id="a label, then a tag that cannot be read",
    ),
    pytest.param(
        "tags", "<S2>yes|no</S2><S2>no</S2>", YES, "ambiguous", id="a list of the labels and one of them"
    ),
    # JSON.
    pytest.param("json", '{"score": "cannot_tell"}', FOUR, "cannot tell", id="an underscore for the space"),
    pytest.param("json", '{"score": true}', TRUE, "true", id="true as a label"),
    pytest.param("json", '{"score": true}', YES, "unknown_label", id="true, which is no label"),
    pytest.param("json", '{"score": 2}', GRADES, "2", id="a number as a label"),
    pytest.param("json", '{"score": null}', FOUR, "unknown_label", id="null"),
    pytest.param("json", '{"score": ["supported"]}', FOUR, "unknown_label", id="a list"),
    pytest.param("json", "{score: not supported}", FOUR, "not supported", id="a bare label"),
    # Labelled lines; one label for each sentence; nothing but the label.
    pytest.param(
        "banded", "Score: yes\n> Score: no", YES, "ambiguous", id="two labels, of which one is quoted"
    ),
    pytest.param(
        "scorecard",
        card("supported", "not supported"),
        FOUR,
        ["supported", "not supported"],
        id="a label for each sentence",
    ),
    pytest.param("scorecard", card("supported", "5"), FOUR, "unknown_label", id="a number among labels"),
    pytest.param("plain", "```\nyes\n```", YES, "yes", id="a fence"),
]


@pytest.mark.parametrize(("kind", "text", "scale", "expected"), REPLIES)
def test_label_is_read_in_its_place_only(kind: str, text: str, scale: Scale, expected: object) -> None:
    assert outcome(kind, text, scale) == expected


PLACES = {"tags": "<S2>%s</S2>", "json": '{"score": "%s"}', "banded": "Score: %s", "plain": "%s"}


@pytest.mark.parametrize("kind", PLACES)
@given(
    label=st.sampled_from([*FOUR.choices]),
    marks=st.sampled_from([("", ""), ("**", "**"), ("“", "”"), ("[", "]"), ("_", "_")]),
    letters=st.sampled_from([str.upper, str.title, str.lower]),
    more=st.text(alphabet="abcdefghij ", min_size=1, max_size=8).map(str.strip).filter(bool),
)
def test_label_with_other_words_beside_it_is_never_that_label(
    kind: str, label: str, marks: tuple[str, str], letters: Any, more: str
) -> None:
    place = f"{marks[0]}{letters(label)}{marks[1]}"
    assert outcome(kind, PLACES[kind] % place, FOUR) == label
    assert outcome(kind, PLACES[kind] % f"{more} {place}", FOUR) == "unknown_label"
    assert outcome(kind, PLACES[kind] % f"{place} {more}", FOUR) == "unknown_label"


@pytest.mark.parametrize(
    ("kind", "scale"), crossed([*PLACES, "scorecard", "line"], [FOUR, YES, TRUE, GRADES, CHINESE])
)
def test_every_format_expresses_labels(kind: str, scale: Scale) -> None:
    rubric = load_rubric("groundedness", reply=READERS[kind], scale=scale, levels={}, not_applicable=())
    assert rubric.scale is scale  # making the rubric tries to write and read every label


BAD_SCALES: list[Any] = [
    pytest.param({"yes": 1, "no": 1}, "two of them", id="one score for both"),
    pytest.param(
        {"yes": 1, "Yes.": 0}, "differ in their words", id="labels that differ in capitals and signs"
    ),
    pytest.param({"...": 1, "no": 0}, "differ in their words", id="a label without words"),
    pytest.param({True: 1, False: 0}, "YAML reads true and false as booleans", id="a boolean"),
    pytest.param({None: 1, "no": 0}, "null and ~ as null", id="None"),
    pytest.param({1: 1, "1": 0, "b": 0.5}, "and 1 as a number", id="a number and its text"),
    pytest.param({"good": 5, "bad": 1}, "less than or equal to 1", id="a score above 1"),
    pytest.param({"good": float("nan"), "bad": 0}, "finite", id="NaN"),
]


@pytest.mark.parametrize(("choices", "message"), BAD_SCALES)
def test_labels_that_cannot_be_told_apart_or_scored_are_refused(
    choices: dict[Any, Any], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        Choices(choices)


NEAREST: list[Any] = [
    pytest.param({"good": 1, "bad": 0}, 0.5, "bad", id="the lower of two, though it comes last"),
    pytest.param({"bad": 0, "good": 1}, 0.5, "bad", id="the lower of two, which comes first"),
    pytest.param({"b": 0.5, "a": 0.5, "c": 1}, 0.5, "b", id="the first of two with one score"),
    pytest.param({"c": 0, "b": 1, "a": 1, "unknown": None}, 0.75, "b", id="of two with one score, above"),
    pytest.param({"low": 0.25, "high": 1}, 0.7, "high", id="the nearer one"),
]


@pytest.mark.parametrize(("choices", "score", "label"), NEAREST)
def test_nearest_label(choices: dict[str, float | None], score: float, label: str) -> None:
    assert Choices(choices).nearest(score) == label


BANDS = {30.0: "severe", 70.0: "moderate", 100.0: "mild"}
LABELLED_VALUES: list[Any] = [
    pytest.param(0.0, "severe", id="the lowest value"),
    pytest.param(30.0, "severe", id="the highest value of a band"),
    pytest.param(30.1, "moderate", id="right above a band"),
    pytest.param(100.0, "mild", id="the highest value of all"),
    pytest.param(100.1, None, id="above all bands"),
    pytest.param(None, None, id="no value"),
]


@pytest.mark.parametrize(("value", "label"), LABELLED_VALUES)
def test_label_of_a_value(value: float | None, label: str | None) -> None:
    for levels in (BANDS, dict(reversed(BANDS.items()))):
        assert label_of(value, levels) == label


def test_labels_with_ends_are_refused() -> None:
    with pytest.raises(ValidationError, match="choices need no worst"):
        Scale(worst=0, best=1, choices={"yes": 1, "no": 0})


@pytest.mark.parametrize(
    ("format_", "choices"),
    [
        pytest.param(Adjacent(), {"yes": 1, "no": 0}, id="labels cannot be weighed"),
        pytest.param(Banded(), {"yes\nno": 1, "no": 0}, id="a label of two lines"),
    ],
)
def test_format_that_cannot_express_a_label_is_refused_when_the_rubric_is_made(
    format_: Format, choices: dict[str, float | None]
) -> None:
    with pytest.raises(PromptError, match=r"bad_choices.*cannot express the label"):
        load_rubric("groundedness", reply=format_, scale=Choices(choices), levels={}, not_applicable=())


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


def support(tmp_path: Path, old: str = "", new: str = "", **options: Any) -> Rubric:
    """The rubric of the prompt, some of whose text may be replaced."""
    file = tmp_path / "support.prompty"
    file.write_text(PROMPT.replace(old, new), encoding="utf-8")
    return load_rubric(file, **options)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("partly supported: 0.5", "supported: 0.5", r"the key 'supported' occurs twice.*line 6"),
        ("value: partly", "value:", "bad_example.*is read as partly supported, not as supported"),
    ],
)
def test_label_that_occurs_twice_or_not_in_its_example_is_refused(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(PromptError, match=message):
        support(tmp_path, old, new)


CASE = {"response": "It rains.", "context": "It rains."}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("supported", ("ok", "supported", 1.0, True), id="the best label"),
        pytest.param("NOT_SUPPORTED", ("ok", "not supported", 0.0, False), id="the worst label"),
        pytest.param("cannot tell", ("not_applicable", "cannot tell", None, True), id="not applicable"),
    ],
)
def test_verdict_has_the_label_and_its_score(
    tmp_path: Path, text: str, expected: tuple[str, str, float | None, bool]
) -> None:
    verdict = support(tmp_path).read(f'{{"reasoning": "r", "label": "{text}"}}')
    assert (verdict.status, verdict.label, verdict.score, verdict.passed) == expected
    assert verdict.value == verdict.score


def test_unknown_label_is_an_error_that_names_the_labels(tmp_path: Path) -> None:
    with pytest.raises(ReplyError, match="one of supported, partly supported, not supported, cannot tell"):
        support(tmp_path).read('{"label": "yes"}')


def test_blank_response_can_be_given_the_worst_label(tmp_path: Path) -> None:
    judge = Judge(support(tmp_path, empty_response="worst"), ScriptedModel(""))
    verdict = judge.judge({**CASE, "response": " "})
    assert (verdict.label, verdict.score, verdict.passed) == ("not supported", 0.0, False)
