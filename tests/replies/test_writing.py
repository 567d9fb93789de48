"""Formats read what they write: `write_reply` is the inverse of `read_reply` for what a format expresses."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundjudge import Choices, Reply, Scale
from groundjudge.replies import (
    FORMATS,
    Adjacent,
    Banded,
    Format,
    Json,
    PartReading,
    Plain,
    Reading,
    Scorecard,
    Tags,
)
from groundjudge.replies.opening import INVISIBLE

TO_FIVE = Scale(worst=1, best=5)
WHOLE = Scale(worst=1, best=5, integer=True)
TO_HUNDRED = Scale(worst=0, best=100)
DOWN = Scale(worst=10, best=0)

ODD = st.sampled_from(
    [
        "<S2>5</S2>",
        "Score: 3\nScore: 9",
        '{"score": 1}',
        "<think>",
        "</think>\nno",
        "(3 * 1.0)",
        "“x” (4)",
        "",
    ]
)
REASON = st.text(max_size=80) | ODD


def value_on(scale: Scale) -> st.SearchStrategy[float]:
    lowest, highest = sorted((scale.worst, scale.best))
    if scale.integer:
        return st.integers(int(lowest), int(highest)).map(float)
    return st.floats(lowest, highest, allow_nan=False).map(lambda value: round(value, 4))


SCALES = st.sampled_from([TO_FIVE, WHOLE, TO_HUNDRED, DOWN])
VALUED = SCALES.flatmap(lambda scale: st.tuples(st.just(scale), value_on(scale)))
SINGLE: list[Format] = [Tags(), Json("mark", "because"), Banded(), Plain()]


@pytest.mark.parametrize("format_", SINGLE, ids=repr)
@given(VALUED, REASON)
def test_written_value_is_read(format_: Format, valued: tuple[Scale, float], reason: str) -> None:
    scale, value = valued
    written = format_.write_reply(Reading(value, reason, level="mild"))
    reading = format_.read_reply(Reply(written), scale)
    assert reading.value == value
    assert reading.warnings == ()
    assert format_.score(reading, scale) == scale.score(value)
    again = format_.write_reply(reading)
    twice = format_.write_reply(format_.read_reply(Reply(again), scale))
    assert INVISIBLE.sub("", twice) == INVISIBLE.sub("", again)  # at the ends of a reason they can be lost


@given(st.text(max_size=200))
def test_json_reason_is_read_unchanged(reason: str) -> None:
    written = Json().write_reply(Reading(3.0, reason))
    assert Json().read_reply(Reply(written), TO_FIVE).reason == Reply(reason).text


SENTENCE = st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=60).filter(
    lambda text: any(map(str.isalnum, text))
)
PART = st.builds(
    PartReading,
    name=SENTENCE,
    value=value_on(DOWN),
    reason=st.just("") | SENTENCE,
    quotes=st.just(()) | st.tuples(SENTENCE),
)


@given(st.lists(PART, min_size=1, max_size=5, unique_by=lambda part: " ".join(part.name.casefold().split())))
def test_written_scorecard_is_read(parts: list[PartReading]) -> None:
    format_ = Scorecard()
    reading = format_.read_reply(Reply(format_.write_reply(Reading(None, parts=tuple(parts)))), DOWN)
    assert [part.value for part in reading.parts] == [part.value for part in parts]
    assert [part.name for part in reading.parts] == [" ".join(part.name.split()) for part in parts]


@given(value_on(TO_FIVE), value_on(TO_FIVE), REASON)
def test_written_weighted_sums_are_read(recall: float, precision: float, reason: str) -> None:
    parts = (PartReading("recall", recall, reason), PartReading("precision", precision, reason))
    reading = Adjacent().read_reply(Reply(Adjacent().write_reply(Reading(None, parts=parts))), TO_FIVE)
    assert [part.value for part in reading.parts] == pytest.approx([recall, precision], abs=1e-8)
    assert reading.warnings == ()


@pytest.mark.parametrize(("value", "formula"), [(3.3, "(3 * 0.7) + (4 * 0.3)"), (5.0, "(5 * 1.0)")])
def test_fraction_is_written_as_formula_of_two_adjacent_scores(value: float, formula: str) -> None:
    written = Adjacent(("fit",)).write_reply(Reading(None, parts=(PartReading("fit", value, "why"),)))
    assert written == f"FIT_Reasoning: why\nFIT_Formula: {formula}\nFIT_Weighted_Summed_Score: {value:g}"
    assert Adjacent(("fit",)).read_reply(Reply(written), TO_FIVE).parts[0].value == value


@pytest.mark.parametrize(
    ("scale", "value"),
    [
        (WHOLE, {"type": "integer", "enum": [1, 2, 3, 4, 5]}),
        (Scale(worst=100, best=0, integer=True), {"type": "integer", "minimum": 0, "maximum": 100}),
        (DOWN, {"type": "number", "minimum": 0, "maximum": 10}),
        (Choices({"yes": 1, "no": 0}), {"type": "string", "enum": ["yes", "no"]}),
    ],
)
def test_json_schema_has_the_reason_first(scale: Scale, value: dict[str, Any]) -> None:
    schema = Json("mark", "because").schema(scale)
    assert schema == {
        "type": "object",
        "properties": {"because": {"type": "string"}, "mark": value},
        "required": ["because", "mark"],
        "additionalProperties": False,
    }
    assert [*(schema or {})["properties"]] == ["because", "mark"]


@pytest.mark.parametrize("name", sorted(FORMATS.keys() - {"json", "numbered"}))
def test_other_formats_have_no_schema(name: str) -> None:
    assert FORMATS[name]().schema(TO_FIVE) is None


def test_score_is_the_mean_for_scorecard_and_the_harmonic_mean_for_adjacent() -> None:
    parts = (PartReading("a", 5.0), PartReading("b", 2.0))
    assert Scorecard().score(Reading(None, parts=parts), TO_FIVE) == 0.625
    assert Adjacent(("a", "b")).score(Reading(None, parts=parts), TO_FIVE) == 0.4
