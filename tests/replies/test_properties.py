"""What holds for every reply: a value is read as written, and no character makes another value of it."""

from __future__ import annotations

import json
import math
import unicodedata
from time import perf_counter
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from read_replies import FOUR, GRADES, PLACED, READERS, SCALES, YES, block, outcome, passage

from groundjudge import Reply, ReplyError, Scale
from groundjudge.errors import WHAT_IS_WRONG
from groundjudge.replies import FORMATS, Json, Line, Reading
from groundjudge.scale import fold_label

VALUES: dict[str, st.SearchStrategy[str]] = {
    "tags": st.integers(1, 5).map(str),
    "own": st.integers(1, 5).map(str),
    "line": st.integers(1, 5).map(str),
    "json": st.integers(0, 1000).map(lambda value: f"{value / 1000:g}"),
    "scorecard": st.integers(0, 20).map(lambda half: f"{half / 2:g}"),
    "numbered": st.integers(0, 20).map(lambda half: f"{half / 2:g}"),
    "banded": st.integers(0, 1000).map(lambda tenth: f"{tenth / 10:g}"),
    "plain": st.integers(10, 50).map(lambda tenth: f"{tenth / 10:g}"),
}
WRITTEN = st.sampled_from(
    "{}| {} |**{}**|[{}]|{}.|Score: {}|rating: {}.|“{}”|「{}」|`{}`|{} ({})|{}, {}".split("|")
)
STRUCTURE = set('<>/{}[]"\\,:.%+-−‐–—－＋．，％')
ODD = st.characters() | st.sampled_from([*"eExX_*`()|;~=^ \n\t\r\u200b\u00b2½٤４Ⅳ四五", "\ud800", "\u2028"])


def is_free(character: str) -> bool:
    """Whether the character is neither a digit of any script, nor a sign, nor a format's own structure."""
    return unicodedata.numeric(character, None) is None and character not in STRUCTURE


def ends_field(kind: str, character: str) -> bool:
    """Whether the character ends a field: the last field of a numbered line is its place, others the note."""
    return kind == "numbered" and character == "|"


def with_one_more(data: st.DataObject, place: str, character: str) -> str:
    """The place with a character inserted anywhere."""
    at = data.draw(st.integers(0, len(place)))
    return place[:at] + character + place[at:]


def framed(kind: str, place: str) -> str:
    return PLACED[kind].format(json.dumps(place)[1:-1] if kind == "json" else place)


@pytest.mark.parametrize("kind", PLACED)
@given(data=st.data(), written=WRITTEN, character=ODD)
def test_inserted_character_never_makes_another_number(
    kind: str, data: st.DataObject, written: str, character: str
) -> None:
    value = data.draw(VALUES[kind])
    place = written.format(value, value)
    expected: Any = [float(value)] if kind in {"scorecard", "numbered"} else float(value)
    assert outcome(kind, framed(kind, place)) == expected
    assume(is_free(character) and not ends_field(kind, character))
    result = outcome(kind, framed(kind, with_one_more(data, place, character)))
    assert result == expected or isinstance(result, str)


@given(value=VALUES["json"], character=ODD, data=st.data())
def test_inserted_character_never_makes_another_number_of_a_bare_one(
    value: str, character: str, data: st.DataObject
) -> None:
    assume(is_free(character))
    bare = f'{{"reasoning": "r", "score": {with_one_more(data, value, character)}}}'
    result = outcome(Json(), bare, Scale(worst=0, best=100))
    assert result == float(value) or isinstance(result, str)


@pytest.mark.parametrize("kind", PLACED)
@given(data=st.data(), scale=st.sampled_from([YES, FOUR, GRADES]), character=ODD)
def test_inserted_character_never_makes_another_label(
    kind: str, data: st.DataObject, scale: Scale, character: str
) -> None:
    label = data.draw(st.sampled_from([*scale.choices]))
    place = data.draw(WRITTEN.filter(lambda frame: frame.count("{}") == 1 and "「" not in frame)).format(
        label
    )
    assume(character not in STRUCTURE and not ends_field(kind, character))
    result = outcome(kind, framed(kind, with_one_more(data, place, character)), scale)
    assert result in (label, [label]) or (isinstance(result, str) and result in WHAT_IS_WRONG)


@given(low=st.integers(1, 4), share=st.integers(0, 100), character=ODD, data=st.data())
def test_inserted_character_never_makes_another_sum(
    low: int, share: int, character: str, data: st.DataObject
) -> None:
    formula = f"({low} * {share / 100:g}) + ({low + 1} * {1 - share / 100:.2f})"
    expected = pytest.approx([low + 1 - share / 100, 5], abs=1e-8)
    assert outcome("adjacent", passage(f"RECALL_Formula: {formula}")) == expected
    assume(is_free(character) and character not in "()*×·xX=")
    result = outcome("adjacent", passage(f"RECALL_Formula: {with_one_more(data, formula, character)}"))
    assert isinstance(result, str) or result == expected


NOISE = st.sampled_from(
    [
        *("{}", "Score: {}", "<S2>{}</S2>", "<S0><S2>{}</S2></S0>", "<S1>{}</S1>", "-{}", " ({})", " // {}"),
        *('{{"score": {}}}', '"score": {}', "({} * 1.0)", "I would say {}.", " actually {}", " or {}", "/{}"),
        *("\n> Score: {}\n", "\nScore: {}\n", "\n\nOverall\nScore: {}\n", "\nFinal Score: {}\n"),
        *("\nFinal verdict: {}\n", "\nRating: {}\n", "，更正：{}", "\nCorrection: {}", " out of {}"),
        *("<think>{}</think>", " /* {} */"),
    ]
)
FRAMES = {
    "tags": "{before}<S0>t{inside}</S0><S1>r{within}</S1><S2>{a}{behind}</S2>{after}",
    "json": '{before}{{"reasoning": "r{within}", "score": {a}{behind}}}{after}',
    "banded": "{before}\nAnalysis: r{within}\nLevel: x{inside}\nScore: {a}{behind}\n{after}",
    "line": "{before}\nr{within}\nFinal verdict: {a}{behind}\n{after}",
    "scorecard": (
        "{before}\nStatement Sentence: S.{inside}\nSupporting Evidence: q{within}\n"
        "Score: {a}{behind}\n{after}"
    ),
}
PLACES = ("before", "inside", "within", "behind", "after")


@pytest.mark.parametrize("kind", FRAMES)
@given(data=st.data(), place=st.sampled_from(PLACES), noise=NOISE)
def test_no_other_number_is_read_as_the_verdict(
    kind: str, data: st.DataObject, place: str, noise: str
) -> None:
    a, b = data.draw(VALUES[kind]), data.draw(VALUES[kind])
    assume(float(a) != float(b))
    text = noise.format(b)
    assume(not (place == "behind" and text[0].isdigit()))  # that makes another number of the first one
    text = json.dumps(text)[1:-1] if kind == "json" and place == "within" else text
    noises = {name: text if name == place else "" for name in PLACES}
    result = outcome(kind, FRAMES[kind].format(a=a, **noises))
    assert isinstance(result, str) or result in (float(a), [float(a)])
    assert isinstance(result, str) or place != "after" or kind not in ("json", "line")


NUMBERS = " or 0.5|\nOops, I meant 0.1|\nNein, doch 0,1.|\n٣|\n```\n0.5\n```"
FINE = ".|\n```\nAnything else?|\nIt is a good answer, not supported by its notes. // so"
OBJECT = '1/2: {"reasoning": "r", "score": 1.0}'
BEHIND: list[Any] = [
    pytest.param(
        "json",
        OBJECT,
        SCALES["json"],
        "ambiguous",
        f'{NUMBERS}|/10|%|/ ten|\n{{"a": 1}}\nso 0.5',
        id="digits behind an object",
    ),
    pytest.param("json", OBJECT, SCALES["json"], 1, FINE, id="prose without digits behind an object"),
    pytest.param(
        "line",
        "1/2\nRating: 1",
        SCALES["line"],
        "ambiguous",
        f"{NUMBERS}|\nGood.\nRating: 1\nor 3",
        id="digits behind a line",
    ),
    pytest.param("line", "1/2\nRating: 1", SCALES["line"], 1, FINE, id="prose without digits behind a line"),
    pytest.param(
        "line", "Rating: yes", YES, "ambiguous", "\nActually, no.|\n**NO**, it is not.", id="no behind yes"
    ),
    pytest.param(
        "line",
        "Rating: not supported",
        FOUR,
        "ambiguous",
        "\nWait: supported.|\nNo: partially_supported",
        id="shorter labels behind a longer one",
    ),
    pytest.param("line", "Rating: B", GRADES, "ambiguous", "\nNo, A-.|\nOr b+", id="grades behind a grade"),
    *(
        pytest.param(
            "line", f"Rating: {label}", scale, label, FINE, id=f"prose that names no grade behind {label}"
        )
        for scale, label in ((FOUR, "not supported"), (GRADES, "B"))
    ),
]


@pytest.mark.parametrize(("kind", "reply", "scale", "expected", "behind"), BEHIND)
def test_no_other_verdict_stands_in_the_prose_behind(
    kind: str, reply: str, scale: Scale, expected: object, behind: str
) -> None:
    for prose in behind.split("|"):
        assert outcome(kind, reply + prose, scale) == expected, prose


PIECES = st.sampled_from(
    [
        *"<S0> <S1> </S1> <S2> </S2> <think> </think> { } [ ] , : \" ' \\ // /* ```json ``` ...".split(),
        *"4 5 -3 0.5 1e9 10/10 3/5 80% 7-8 NaN Infinity null true ٤ ４ ² ½ 五 0x4 1_0".split(),
        *"(0*1) (5*9) (3*0.7)+(4*0.3) Score: **Score:** Score： Level: Analysis: Rating: [[5]]".split(),
        *"RECALL_Reasoning: RECALL_Formula: RECALL_Weighted_Summed_Score: PRECISION_Formula:".split(),
        *"""PRECISION_Weighted_Summed_Score: {"score": "score": 'score':""".split(),
        *("Statement Sentence:", "Supporting Evidence:", "NOTHING FOUND", "NO CLAIM", "your Score"),
        *("\n", "\r", "\u200b", "\ud800", " "),
    ]
)
GARBAGE = st.text() | st.lists(PIECES, max_size=30).map("".join) | st.lists(PIECES, max_size=30).map(" ".join)


@pytest.mark.parametrize("kind", FORMATS)
@given(text=GARBAGE, finish_reason=st.sampled_from(["stop", "length", None, "content_filter"]))
def test_any_reply_gives_a_value_on_the_scale_or_a_reply_error(
    kind: str, text: str, finish_reason: str | None
) -> None:
    try:
        reading = READERS[kind].read_reply(Reply(text, finish_reason), SCALES[kind])
    except ReplyError as error:
        assert error.code in WHAT_IS_WRONG  # noqa: PT017  a reply may be read, too
        return
    values = [part.value for part in reading.parts] or [reading.value]
    for value in values:
        assert value is None or (math.isfinite(value) and 0 <= SCALES[kind].score(value) <= 1)
    assert kind in {"scorecard", "numbered"} or None not in values
    reading.reason.encode()  # raises for unpaired surrogates, which cannot be written to a file


@given(st.dictionaries(st.text(), st.text() | st.none() | st.floats(allow_nan=False) | st.lists(st.text())))
def test_valid_json_is_never_altered(fields: dict[str, Any]) -> None:
    others = {key: value for key, value in fields.items() if key.casefold() not in {"score", "reasoning"}}
    reading = Json().read_reply(
        Reply(json.dumps({**others, "reasoning": "a\nb", "score": 0.25})), SCALES["json"]
    )
    assert reading == Reading(0.25, "a\nb")


PIECE = (
    " |\n|#|> |*|**a |- |<|<S2>4 |</think>|<think>|\"|\\\"|'|{|}|{'a':|[|```\n|your |(x) |4 or |Score: 8\n"
    "|/*|//|.|_a|\u200b|4,|:"
)
FRAMED = [
    pytest.param("tags", "<S2>4%sx</S2>", id="within a tag"),
    pytest.param("json", '{"score": 0.5, %s', id="in an object that does not close"),
    pytest.param("json", '{"score": 0.5%s}', id="before an object's end"),
    pytest.param("json", '```%s{"score": 0.5}', id="behind a fence"),
    pytest.param("scorecard", block("8", "%s"), id="in evidence"),
    pytest.param("banded", "Score: 4%sx", id="behind a score"),
    pytest.param("banded", "Score: 4\n%s", id="below a score"),
    pytest.param("line", "%s\nRating: 4\n%s", id="around a line"),
    pytest.param("adjacent", passage("RECALL_Formula: (4 * 0.8) +%sx"), id="within a formula"),
]


@pytest.mark.soak
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("kind", "frame"),
    [*[pytest.param(kind, "%s", id=f"{kind} alone") for kind in FORMATS], *FRAMED],
)
def test_long_replies_are_read_in_linear_time(kind: str, frame: str) -> None:
    for piece in PIECE.split("|"):
        long = piece * (32_000 // len(piece))
        started = perf_counter()
        outcome(kind, frame.replace("%s", long))
        assert perf_counter() - started < 5, piece  # 32,000 characters take 0.03 s; quadratic time is minutes


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("kind", "long"),
    [
        pytest.param("json", '{"score": 0.5, "a": ' + "/" * 100_000 + "5}", id="slashes ahead of a digit"),
        pytest.param("json", '{"score": 0.5, "a"' + ":'b" * 30_000 + "}", id="quotes that do not close"),
        pytest.param("json", "{}" * 50_000 + '{"score": 0.5}', id="objects"),
        pytest.param("scorecard", block("8", "*" * 100_000 + "x"), id="signs ahead of a letter"),
        pytest.param("tags", "<S2>4</S2>" * 10_000, id="verdicts"),
        pytest.param("plain", "4" + "</s>" * 25_000, id="tokens that end a turn"),
        pytest.param("adjacent", "RECALL\nx\n" * 11_000, id="names of parts"),
    ],
)
def test_reply_of_100_kb_is_read_at_once(kind: str, long: str) -> None:
    started = perf_counter()
    outcome(kind, long)
    assert perf_counter() - started < 5  # each takes 0.2 s at most; quadratic time is minutes


@pytest.mark.soak
def test_label_in_many_brackets_is_folded_at_once() -> None:
    started = perf_counter()
    assert fold_label("(" * 200_000 + "Not_so." + ")" * 200_000) == "not so"
    assert perf_counter() - started < 5


WRAPPED = {
    "asterisks": ("* ", " *"),
    "full stops between brackets": ("[", "]."),
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("begin", "end"), WRAPPED.values(), ids=WRAPPED)
def test_score_in_thousands_of_marks_is_an_error_of_the_reply(begin: str, end: str) -> None:
    score = begin * 20_000 + "4" + end * 20_000
    started = perf_counter()
    assert outcome("scorecard", block(score)) == "ambiguous"
    assert perf_counter() - started < 5


@given(
    name=st.sampled_from(["Verdict", "[RESULT]", ("Rating", "Verdict")]),
    brackets=st.booleans(),
    value=st.integers(1, 5),
    reason=st.text() | st.just("Rating: 3\n[RESULT] 2\nVerdict: [[1]]"),
)
def test_line_reads_what_it_writes(
    name: str | tuple[str, ...], value: int, reason: str, *, brackets: bool
) -> None:
    format_ = Line(name, brackets)
    written = format_.write_reply(Reading(value, reason))
    allowed = (value, "ambiguous", "no_verdict") if "think" in reason else (value,)
    assert outcome(format_, written, SCALES["line"]) in allowed
