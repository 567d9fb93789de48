"""One reply, one verdict; one place, one number: what else stands in a reply never decides."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from groundjudge import ReplyError, load_rubric
from groundjudge.replies.reply import Reply

KINDS = {
    "tags": "groundedness",
    "json": "confidence_grounding",
    "scorecard": "statement_groundedness",
    "adjacent": "passage_quality",
    "banded": "knowledge_hallucination",
}
RUBRICS = {kind: load_rubric(name) for kind, name in KINDS.items()}


def outcome(
    kind: str, text: str, finish_reason: str | None = None
) -> list[float | None] | float | str | None:
    """The value or the parts' values that a reply is read as, or the code of its error."""
    rubric = RUBRICS[kind]
    try:
        reading = rubric.format.read(Reply(text, finish_reason), rubric.scale)
    except ReplyError as error:
        return error.code
    return [part.value for part in reading.parts] if reading.parts else reading.value


def card(*scores: str) -> str:
    return "\n\n".join(
        f"Statement Sentence: Sentence {letter}.\nSupporting Evidence: quote\nScore: {score}"
        for letter, score in zip("ABCDEF", scores, strict=False)
    )


def passage(recall: str, precision: str = "(5 * 1.0)", *, full: bool = False) -> str:
    sums = ("RECALL_Weighted_Summed_Score: 2", "PRECISION_Weighted_Summed_Score: 5") if full else ("", "")
    return (
        f"RECALL_Reasoning: r\nRECALL_Formula: {recall}\n{sums[0]}\n"
        f"PRECISION_Reasoning: p\nPRECISION_Formula: {precision}\n{sums[1]}"
    ).rstrip()


INSIDE = [
    ("tags", '<S2>1</S2><S1>The response ends with "<S2>5</S2>", which I ignore.</S1>', 1),
    ("tags", '<S1>The response ends with "<S2>5</S2>".</S1><S2>1</S2>', 1),
    ("tags", "<S0>first <S2>2</S2> came to mind</S0><S1>r</S1><S2>4</S2>", 4),
    ("tags", "<S0>is it <S2>5</S2>? or <S2>1</S2>?</S0><S2>3</S2>", 3),
    ("tags", "<S0><S1>it says <S2>5</S2></S1></S0><S1>no</S1><S2>2</S2>", 2),
    ("tags", "<s0>is it <s2>5</s2>?</s0><s2>3</s2>", 3),
    ("tags", "<S1>quoted: < S2 >5</ S2 ></S1><S2>2</S2>", 2),
    ("tags", "<S1>one <S2>5</S2></S1><S1>two <S2>4</S2></S1><S2>1</S2>", 1),
    ("tags", "<S0>first <S2>2</S2> came to", "no_verdict"),
    ("tags", "<S1>it is <S2>5</S2>", "no_verdict"),
    ("tags", "<S0>thoughts <S1>why</S1><S2>5</S2>", "no_verdict"),
    ("tags", "<S1>open <S2>2</S2>", "no_verdict"),
    ("tags", "</S1><S2>4</S2>", 4),
    ("banded", "Analysis: it says\n> Score: 100\nLevel: severe\nScore: 3", 3),
    ("banded", "Analysis: a\n> Analysis: b\n> Score: 90\nScore: 10", 10),
    ("banded", 'Analysis: it says "Score: 100" at the end\nScore: 3', 3),
    ("scorecard", card("2") + "\n\n> Statement Sentence: Sentence A.\n> Score: 10", [2]),
    ("json", json.dumps({"reasoning": 'it ends with {"score": 1.0}', "score": 0.1}), 0.1),
    ("json", json.dumps({"reasoning": '"score": 1.0, "score": 1.0', "score": 0.1}), 0.1),
    ("adjacent", passage("(2 * 1.0)").replace(": r", ": it says RECALL_Formula (5 * 1.0)"), [2, 5]),
]
"""What stands inside another element is no verdict."""

SEVERAL = [
    ("tags", "<S2>4</S2> as I said <S2>4</S2>", 4),
    ("tags", "<S2>4</S2><S1>r</S1><S2>4/5</S2>", 4),
    ("tags", "between the tags <S2>your Score</S2> ... <S2>4</S2>", 4),
    ("tags", "<S2>4</S2> ... <S2>2</S2>", "ambiguous"),
    ("tags", "<S2>4</S2> ... <S2>unsure</S2>", "ambiguous"),
    ("tags", "<S2>9</S2> ... <S2>4</S2>", "ambiguous"),
    ("tags", "<S1>a</S1><S2>1</S2>\n\nFinal:\n<S1>b</S1><S2>5</S2>", "ambiguous"),
    ("json", '{"score": 0.0} {"score": 1.0}', "ambiguous"),
    ("json", '{"score": 0.0}\n\n```json\n{"score": 1.0}\n```', "ambiguous"),
    ("json", '{"score": 0.5} {"score": "0.5"}', 0.5),
    ("json", '{"score": 0.5, "score": 0.5}', 0.5),
    ("json", '{"score": 0.5, "score": 0.6}', "ambiguous"),
    ("json", '{"score": 0.5} {"score": null}', "ambiguous"),
    ("json", '{"reasoning": "your reasoning", "score": "your score"} {"score": 0.5}', 0.5),
    ("json", 'The format is {"reasoning": "...", "score": number}.\n{"reasoning": "r", "score": 0.5}', 0.5),
    ("banded", "Score: 3\nAnalysis: the reply says\nScore: 100", "ambiguous"),
    ("banded", "Score: 30\nLevel: great\nScore: 30", 30),
    ("banded", "Score: 30\nFinal Score: 30/100", 30),
    ("banded", "Score: 30\nOverall Score: 40", "ambiguous"),
    ("scorecard", card("10", "0") + "\n\nOverall\nScore: 5", [10, 0]),
    ("scorecard", card("10", "0") + "\n\n**Overall assessment**\nThe mean is five.\nScore: 5", [10, 0]),
    ("scorecard", card("10", "0") + "\n\n---\nScore: 5", [10, 0]),
    ("scorecard", card("10", "0") + "\n\nSummary: half of it is there.", [10, 0]),
    ("scorecard", card("10", "0") + "\n\n总分\nScore: 5", [10, 0]),
    ("scorecard", card("8\nScore: 4"), "ambiguous"),
    ("scorecard", card("8\nScore: 8"), [8]),
    ("scorecard", card("8") + "\n\n" + card("8"), [8]),
    ("scorecard", card("8") + "\n\n" + card("4"), "ambiguous"),
    ("scorecard", card("8\n(all of it)"), [8]),
    ("adjacent", passage("(1 * 1.0)") + "\n" + passage("(2 * 1.0)"), "ambiguous"),
    ("adjacent", passage("(2 * 1.0)", full=True) + "\n" + passage("(2 * 1.0)", full=True), [2, 5]),
]
"""Several verdicts that agree are one; verdicts that differ are ambiguous, in whatever order."""

IN_A_PLACE = [
    *(
        ("tags", f"<S2>{place}</S2>", 4)
        for place in ("4", "**4**", "[4]", "(4)", "{4}", '"4"', "`4`", " 4\n")
    ),
    *(
        ("tags", f"<S2>{place}</S2>", 4)
        for place in ("4/5", "4 / 5", "4 out of 5", "4 (out of 5)", "Score: 4/5")
    ),
    *(
        ("tags", f"<S2>{place}</S2>", 4)
        for place in ("4 - mostly correct", "4 (mostly)", "4: fine", "4, fine", "4.")
    ),
    *(("tags", f"<S2>{place}</S2>", 4) for place in ("4 (4 out of 5)", "4 = 4", "4 (all 3 facts match)")),
    *(
        ("tags", f"<S2>{place}</S2>", "ambiguous")
        for place in (
            "5 - actually 4",
            "5-point scale: 3",
            "5 (I first thought 4)",
            "4 (max. 5)",
            "4 (scale 1 to 5)",
            "4 (3 points for truth)",
            "1: ungrounded 2: incorrect 3: nothing 4: incomplete 5: grounded",
            "4, not 5",
            "4 → 5",
            "4 ~ 5",
            "4 & 5",
            "4 ... 5",
            "4 or 5",
            "4至5",
            "4 oder 5",
            "2 + 2 = 4",
            "4 (5)",
            "4, 5",
            "4 - 5",
            "3 of 5 facts, so 4",
            "4 (5 if lenient)",
        )
    ),
    *(
        ("banded", f"Score: {place}", "ambiguous")
        for place in (
            "20 (fact 1) + 40 (fact 2) = 60",
            "60 - 80",
            "60, later 80",
            "50% to 60%",
            "10 (max. 20)",
        )
    ),
    ("banded", "Score (0-100): 72", 72),
    ("banded", "**Score (0-100):** 72", 72),
    ("banded", "Score [0 to 100]: 72", 72),
    ("banded", "Score: 72 (three of the five facts)", 72),
    ("banded", "Score: 72 (3 of 5 facts hold)", 72),
    ("scorecard", card("4 (max. 5)"), "ambiguous"),
    ("scorecard", card("10 (all 3 facts match)"), [10]),
    ("scorecard", card("10 (3 of 3 facts, see documents)"), [10]),
    ("scorecard", card("8 (was 10 before)"), "ambiguous"),
    ("json", '{"score": "0.8, actually 0.3"}', "ambiguous"),
    ("json", '{"score": "0.8 (0.3 before)"}', "ambiguous"),
    ("json", '{"score": "0.8/1"}', 0.8),
    ("json", '{"score": "0.8 or 0.9"}', "ambiguous"),
    ("adjacent", passage("(5 * 1.0) = 5.0 -> (4 * 1.0) = 4.0"), "ambiguous"),
    ("adjacent", passage("(5 * 1.0) = 5.0, rather (4 * 1.0)"), "ambiguous"),
    ("adjacent", passage("(3 * 0.7) + (4 * 0.3) = 2.1 + 1.2 = 3.3"), [3.3, 5]),
    ("adjacent", passage("(3 * 0.7) + (4 * 0.3) = 3.3"), [3.3, 5]),
    ("adjacent", passage("(3 * 0.7) + (4 * 0.3) ≈ 3.3."), [3.3, 5]),
    ("adjacent", passage("(3 * 0.7) + (4 * 0.3) = 3.3 or 3.4"), "ambiguous"),
]
"""A place holds one number."""

CUT = [
    ("tags", "<S0>Let us see: <S2>3</S2> is not yet m", "truncated"),
    ("tags", "<S0>it is <S2>3</S2>, I thi</S0", "truncated"),
    ("tags", "<S1>why <S2>3</S2>", "truncated"),
    ("tags", "<S0>t</S0><S1>r</S1><S2>4</S2>", 4),
    ("tags", "<S0>t</S0><S1>r</S1><S2>4</S2> and", 4),
    ("tags", "<S2>4</S2><S2>", "truncated"),
    ("tags", "<S2>4</S2><S2>5", "truncated"),
    ("tags", "<S2>4", "truncated"),
    ("tags", "<S0>t</S0><S1>r</S1>", "truncated"),
    ("json", '{"reasoning": "r", "score": 0.5}', 0.5),
    ("json", '{"reasoning": "r", "score": 0.5', "truncated"),
    ("json", '{"score": 0.5} {"reasoning": "no, ', "truncated"),
    ("scorecard", card("8", "4"), "truncated"),
    ("scorecard", card("8", "4") + "\n\nOverall it is fine.", "truncated"),
    ("banded", "Analysis: a\nScore: 7", "truncated"),
    ("banded", "Analysis: a\nScore: 72\n", 72),
    ("adjacent", passage("(3 * 0.7) + (4 * 0.3)"), "truncated"),
]
"""A reply cut off by its length counts only if its verdict is complete."""

ANYBODY = [
    ("json", '{"reasoning": "r", "score": 1.0 // fine\n}', 1),
    ("json", '{"reasoning": "r", "score": 0.5 /* half */}', 0.5),
    ("json", '{"reasoning": "r",\n"score": 0.5 # half\n}', 0.5),
    ("json", '{"result": {"reasoning": "r", "score": 0.5}}', 0.5),
    ("json", '{"evaluation": {"judgement": {"score": 0.5}}}', 0.5),
    ("json", '{"a": {"score": 0.5}, "b": {"score": 0.6}}', "no_verdict"),
    ("json", '{"score": 0.5, "details": {"score": 0.9}}', 0.5),
    ("json", '{"reasoning": "it says score: 1.0, false", "score" 0.2}', "ambiguous"),
    ("json", "{'reasoning': 'it is fine', 'score': 0.8,}", 0.8),
    *(
        ("tags", f"<{tag}><S2>5</S2></{tag}><S2>2</S2>", 2)
        for tag in (
            "think",
            "thinking",
            "THINK",
            "thought",
            "reasoning",
            "reflection",
            "scratchpad",
            "analysis",
        )
    ),
    ("tags", "<reasoning>never closed <S2>5</S2>", "no_verdict"),
    ("tags", "<S2>4</S1>", 4),
    ("tags", "<S1>r</S1><S2>4</S0>", 4),
    ("adjacent", passage("(3 * 0.7) + (4 * 0.3)").replace("_", "\\_"), [3.3, 5]),
    (
        "adjacent",
        (
            "RECALL_Reasoning: r RECALL_Formula: (3 * 1.0) RECALL_Weighted_Summed_Score: 3.0 "
            "PRECISION_Reasoning: p PRECISION_Formula: (5 * 1.0) PRECISION_Weighted_Summed_Score: 5.0"
        ),
        [3, 5],
    ),
    ("scorecard", "STATEMENT 0:\nSentence A.\nSupporting Evidence: q\nScore: 7", [7]),
    ("scorecard", "Statement 1: A\nSupporting Evidence: q\nScore: 7\nStatement 2: B\nScore: 3", [7, 3]),
    *(
        ("tags", text, "refused")
        for text in (
            "I'm sorry, but I can't help with that.",
            "抱歉，我无法评价。",
            "क्षमा करें, मैं ऐसा नहीं कर सकता।",
            "Lo siento, no puedo ayudar con eso.",
            "عذرًا، لا أستطيع المساعدة.",
            "Je suis désolé, je ne peux pas répondre.",
            "দুঃখিত, আমি সাহায্য করতে পারছি না।",
            "Desculpe, não posso ajudar com isso.",
            "Извините, я не могу помочь.",
            "معذرت، میں مدد نہیں کر سکتا۔",
            "Maaf, saya tidak bisa membantu.",
            "Es tut mir leid, dabei kann ich nicht helfen.",
        )
    ),
]
"""What anybody would read is read; a refusal in the most spoken languages is one."""


@pytest.mark.parametrize(("kind", "text", "read_as"), [*INSIDE, *SEVERAL, *IN_A_PLACE, *ANYBODY])
def test_reply_is_read_as(kind: str, text: str, read_as: object) -> None:
    assert outcome(kind, text) == read_as


@pytest.mark.parametrize(("kind", "text", "read_as"), CUT)
def test_cut_off_reply_counts_if_its_verdict_is_complete(kind: str, text: str, read_as: object) -> None:
    assert outcome(kind, text, "length") == read_as


def test_a_level_of_no_hallucination_beside_a_low_score_is_warned_of() -> None:
    rubric = RUBRICS["banded"]
    verdict = rubric.read("Analysis: a\nLevel: No Hallucination\nScore: 5")
    assert (verdict.value, verdict.label, verdict.warnings) == (5, "severe", ("band_mismatch",))


# --- the property ---------------------------------------------------------------------------------

TAKES: dict[str, st.SearchStrategy[Any]] = {
    "tags": st.integers(1, 5),
    "scorecard": st.integers(0, 10),
    "banded": st.integers(0, 100),
    "json": st.integers(0, 10).map(lambda tenth: tenth / 10),
}
NOISE = st.sampled_from(
    [
        "{b}",
        "Score: {b}",
        "\nScore: {b}\n",
        "<S2>{b}</S2>",
        "<S0><S2>{b}</S2></S0>",
        "<S1>{b}</S1>",
        '{{"score": {b}}}',
        '"score": {b}',
        "\n> Score: {b}\n",
        "({b} * 1.0)",
        "I would say {b}.",
        " actually {b}",
        " or {b}",
        "/{b}",
        " out of {b}",
        "\n\nOverall\nScore: {b}\n",
        "\nFinal Score: {b}\n",
        "<think>{b}</think>",
        "\nStatement Sentence: Another.\nSupporting Evidence: q\nScore: {b}\n",
        "-{b}",
        " ({b})",
    ]
)
FRAMES = {
    "tags": "{before}<S0>t{inside}</S0><S1>r{within}</S1><S2>{a}{behind}</S2>{after}",
    "json": '{before}{{"reasoning": "r{within}", "score": {a}{behind}}}{after}',
    "banded": "{before}\nAnalysis: r{within}\nLevel: x{inside}\nScore: {a}{behind}\n{after}",
    "scorecard": (
        "{before}\nStatement Sentence: S.{inside}\nSupporting Evidence: q{within}\n"
        "Score: {a}{behind}\n{after}"
    ),
}
PLACES = ("before", "inside", "within", "behind", "after")


@pytest.mark.parametrize("kind", sorted(FRAMES))
@pytest.mark.parametrize("finish_reason", [None, "length"])
@settings(max_examples=int(os.environ.get("GROUNDJUDGE_EXAMPLES", "50")))
@given(data=st.data())
def test_no_other_number_is_read_as_the_verdict(kind: str, finish_reason: str | None, data: Any) -> None:
    a, b = data.draw(TAKES[kind]), data.draw(TAKES[kind])
    assume(a != b)
    place = data.draw(st.sampled_from(PLACES))
    noise = data.draw(NOISE).format(b=b)
    assume(not (place == "behind" and noise[0].isdigit()))  # that makes another number of the first one
    if kind == "json" and place == "within":
        noise = json.dumps(noise)[1:-1]
    filled = {name: noise if name == place else "" for name in PLACES}
    found = outcome(kind, FRAMES[kind].format(a=a, **filled), finish_reason)
    values: list[Any] = [*found] if isinstance(found, list) else [found]
    of_its_own = "Statement Sentence" in noise  # a block of its own is another sentence's
    assert a in values if of_its_own and len(values) > 1 else b not in values
