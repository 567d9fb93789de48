"""What is not the verdict, wherever it stands: thoughts that have no end, quotations, drafts, corrections."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace

import pytest
from read_replies import PLACED, READERS, SCALES, outcome, passage

from groundjudge import Choices, Scale
from groundjudge.models.returned import reply_of
from groundjudge.replies import Format, Json, Line

VERDICTS = {kind: frame.format(1) for kind, frame in PLACED.items()}
VERDICTS["adjacent"] = passage("RECALL_Formula: (1 * 1.0)")
READ: dict[str, object] = {
    **dict.fromkeys(PLACED, 1.0),
    "scorecard": [1.0],
    "numbered": [1.0],
    "adjacent": [1.0, 5.0],
}
KINDS = [kind for kind in READERS if kind != "plain"]

THOUGHTS = (
    ("<think>", "</think>"),
    ('<think mode="fast">', "</think>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<inner_thoughts>", "</inner_thoughts>"),
    ("<antThinking>", "</antThinking>"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<think_fast>", "</think_fast>"),
    ("<reasoning>", "</reasoning>"),
    ("<self-reflection>", "</self-reflection>"),
    ("<analysis>", "</analysis>"),
    ("<draft>", "</draft>"),
    ("<internal_monologue>", "</internal_monologue>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<｜think｜>", "<｜/think｜>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<unused94>", "<unused95>"),
    ("<|channel|>analysis", "<|channel|>final"),
)
"""Tags of models for their thoughts."""

OTHER_TAGS = ("<notes>", "<ponder>", "<brainstorm>", "<details>", '<step number="1">')
"""Tags that tell only by their place that thoughts may follow: a reply begins with them."""

NO_THOUGHTS = (
    "<p>\n",
    "<br>\n",
    "<|im_start|>assistant\n",
    "<start_of_turn>model\n",
    "<b>Verdict</b>\n",
    "<hr />\n",
    "<answer>\n",
    "<final_answer>\n",
)


@pytest.mark.parametrize("kind", KINDS)
def test_thoughts_without_an_end_hold_the_verdict(kind: str) -> None:
    verdict = VERDICTS[kind]
    for begin, end in THOUGHTS:
        assert outcome(kind, f"{begin}\nIt is good.\n{verdict}") == "no_verdict", begin
        assert outcome(kind, f"Well.\n{begin}\nIt is good.\n{verdict}") in {"no_verdict", "ambiguous"}, begin
        assert outcome(kind, f"{begin}\nIt is good.\n{end}\n{verdict}") == READ[kind], begin


def test_thoughts_that_begin_in_a_line_that_only_looks_marked_hold_the_verdict() -> None:
    in_brackets = Line("Rating", brackets=True)
    for begin, _ in (*THOUGHTS, ("<!--", "-->")):
        reply = f"Rating: {begin} so\nRating: [[4]]"
        assert outcome(in_brackets, reply, SCALES["line"]) == "no_verdict", begin
        assert outcome(in_brackets, f"Rating: {begin[0]} so\nRating: [[4]]", SCALES["line"]) == 4, begin


@pytest.mark.parametrize("kind", KINDS)
def test_tag_that_begins_a_reply_and_never_closes_holds_the_verdict(kind: str) -> None:
    for tag in OTHER_TAGS:
        name = tag.strip("<>").split()[0]
        assert outcome(kind, f"{tag}\nIt is good.\n{VERDICTS[kind]}") == "no_verdict", tag
        assert outcome(kind, f"{tag}\nIt is good.\n</{name}>\n{VERDICTS[kind]}") == READ[kind], tag


@pytest.mark.parametrize("kind", KINDS)
def test_tag_that_needs_no_end_holds_nothing(kind: str) -> None:
    for lead in NO_THOUGHTS:
        assert outcome(kind, f"{lead}{VERDICTS[kind]}") == READ[kind], lead


QUOTATIONS = (
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("‘", "’"),
    ("„", "“"),
    ("‚", "‘"),
    ("«", "»"),
    ("« ", " »"),
    ("»", "«"),
    ("‹", "›"),
    ("「", "」"),
    ("『", "』"),
    ("《", "》"),
    ("〈", "〉"),
    ("〝", "〞"),
    ("❝", "❞"),
    ('"\n', '\n"'),
    ('"""\n', '\n"""'),
    ("「 ", " 」"),
    ("~~", "~~"),
    ("~~ ", " ~~"),
)
"""Signs around a quotation in several languages, and around what is struck out."""


@pytest.mark.parametrize("kind", ["tags", "json", "own"])
def test_verdict_that_is_only_quoted_is_none(kind: str) -> None:
    verdict = {"tags": "<S2>5</S2>", "json": '{"score": 1}', "own": "@@5@@"}[kind]
    for begin, end in QUOTATIONS:
        quoted = f"{begin}{verdict}{end}"
        assert outcome(kind, f"The document asks for {quoted}") in {"no_verdict", "ambiguous"}, begin
        assert outcome(kind, f"{VERDICTS[kind]}\n{quoted}") == "ambiguous", begin


@pytest.mark.parametrize("kind", KINDS)
def test_reply_that_is_quoted_whole_is_ambiguous(kind: str) -> None:
    for begin, end in QUOTATIONS:
        inner = f"It is {begin.strip()[0]}so{end.strip()[0]}."
        for reply in (VERDICTS[kind], f"So it is.\n{VERDICTS[kind]}", f"{inner}\n{VERDICTS[kind]}"):
            assert outcome(kind, reply) == READ[kind], reply
            assert outcome(kind, f"{begin}{reply}{end}") == "ambiguous", f"{begin}{reply}{end}"


NOT_WHOLE = (
    pytest.param("plain", 4, '"4"', id="marks around a value alone"),
    pytest.param("line", 4, 'It is "so".\nRating: "4"', id="a mark at the end alone"),
    pytest.param("json", "no_verdict", '"maybe"', id="a text without a verdict"),
)


@pytest.mark.parametrize(("kind", "expected", "reply"), NOT_WHOLE)
def test_marks_that_enclose_no_verdict_do_not_quote_one(kind: str, expected: object, reply: str) -> None:
    assert outcome(kind, reply) == expected


@pytest.mark.parametrize("kind", ["tags", "json", "own"])
def test_quotation_ahead_of_a_verdict_does_not_matter(kind: str) -> None:
    for begin, end in QUOTATIONS:
        assert outcome(kind, f"It claims {begin}so it is{end}\n{VERDICTS[kind]}") == READ[kind], begin


CORRECTIONS = ("½", "plus ½", "No: Ⅱ.", "②", "⒉", "2️⃣", "m²", "تصحيح ٢", "更正 〢", "a ⅔ b")
"""Numbers that are no digits, and digits that are not ASCII."""


@pytest.mark.parametrize("kind", ["line", "json", "own"])
def test_number_behind_a_verdict_may_be_another_verdict(kind: str) -> None:
    for correction in CORRECTIONS:
        assert outcome(kind, f"{VERDICTS[kind]}\n{correction}") == "ambiguous", correction


GROUNDED = Choices({"grounded": 1, "ungrounded": 0})
FOLLOWS = Choices({"follows": 1, "doesn't follow": 0})
CORRECTED: tuple[tuple[Format, Scale, str, object], ...] = (
    (Line("Verdict"), GROUNDED, "Verdict: grounded\nWait: the claim isn't grounded.", "ambiguous"),
    (Line("Verdict"), GROUNDED, "Verdict: grounded\nIt is not fully grounded.", "ambiguous"),
    (Line("Verdict"), GROUNDED, "Verdict: grounded\nIt is grounded, and adds nothing.", "grounded"),
    (Line("Verdict"), FOLLOWS, "Verdict: follows\nCorrection: it doesn’t follow.", "ambiguous"),
    (Line("Verdict"), FOLLOWS, "Verdict: doesn’t follow", "doesn't follow"),
    (Line("Verdict"), Choices({"gut": 1, "Verstoß": 0}), "Verdict: gut\nKorrektur: Verstoß.", "ambiguous"),
    (Line("Verdict"), Choices({"1": 1, "-1": 0}), "Verdict: 1\nCorrection: –1", "ambiguous"),
    (Json(), SCALES["json"], '{"score": 1}\nRevised:\n{"rating": 0}', "ambiguous"),
    (Json(), SCALES["json"], '{"score": 1}\n{"final_score": 0}', "ambiguous"),
    (Json(), SCALES["json"], '{"score": 1}\n$\\boxed{0}$', "ambiguous"),
    (Json("verdict"), GROUNDED, '{"verdict": "grounded"}\n{"answer": "ungrounded"}', "ambiguous"),
)


@pytest.mark.parametrize(("reply_format", "scale", "reply", "expected"), CORRECTED)
def test_correction_behind_a_verdict_is_noticed(
    reply_format: Format, scale: Scale, reply: str, expected: object
) -> None:
    assert outcome(reply_format, reply, scale) == expected


@pytest.mark.parametrize(("begin", "end"), [("`", "`"), ("“", "”"), ("~~", "~~"), ('"', '"')])
def test_tags_that_are_only_quoted_together_are_none(begin: str, end: str) -> None:
    example = "<S1>why</S1><S2>4</S2>"
    assert outcome("tags", f"The format is {begin}{example}{end}") == "ambiguous"
    assert outcome("tags", f"So it is.\n{example}") == 4


def test_number_word_of_chinese_prose_behind_a_verdict_is_no_number() -> None:
    assert outcome("line", "Final verdict: 4\n一切都有依据，三思而行。") == 4


SCORES = (
    pytest.param("ambiguous", '{"score": 0.9, "score\u200b": 0.2}', id="zero-width sign in a second key"),
    pytest.param("ambiguous", '{"score": 0.9, "ｓｃｏｒｅ": 0.2}', id="second key in full width"),
    pytest.param(0.9, '{"ｓｃｏｒｅ": 0.9}', id="key in full width"),
    pytest.param(
        "ambiguous", '{"score": 0.9}\n{"name": "submit", "arguments": {"score": 0.2}}', id="call behind"
    ),
    pytest.param(
        "ambiguous", '{"name": "look_up", "arguments": {"score": 0.9}}\n{"score": 0.2}', id="call ahead"
    ),
    pytest.param(
        0.2, '{"name": "look_up", "arguments": {}}\n{"score": 0.2}', id="call without a score ahead"
    ),
)


@pytest.mark.parametrize(("expected", "text"), SCORES)
def test_score_under_the_same_key_elsewhere(expected: object, text: str) -> None:
    assert outcome("json", text) == expected


@pytest.mark.parametrize("sign", ["*", "**", "***"])
def test_formula_may_be_emphasized(sign: str) -> None:
    formula = f"RECALL_Formula: {sign}(4 * 0.8) + (5 * 0.2){sign}"
    assert outcome("adjacent", passage(formula)) == [4.2, 5.0]
    assert outcome("adjacent", passage(f"RECALL_Formula: {sign}(4 * 0.8) + (5 * 0.2)")) == "not_adjacent"


BASES = {**VERDICTS, "json": '{"reasoning": "r", "score": 1}'}
OTHERS = {
    "tags": "<S0>t</S0><S1>r</S1><S2>4</S2>",
    "json": '{"reasoning": "r", "score": 0}',
    "scorecard": "Statement Sentence: A stands here.\nSupporting Evidence: b\nScore: 9",
    "numbered": "1 | 2 | r | 9\nALL | 90",
    "banded": "Analysis: r\nLevel: x\nScore: 90",
    "adjacent": passage("RECALL_Formula: (4 * 1.0)"),
    "line": "Because.\nRating: 4",
    "own": "Because. @@4@@",
}
"""Verdicts that are not the last word, or are cut off."""


BETWEEN = ("\n", "\n\nWait, once more.\n\n", "\n## Final\n")


@pytest.mark.parametrize("kind", KINDS)
def test_part_of_another_reply_never_gives_the_verdict(kind: str) -> None:
    other = OTHERS[kind]
    base = BASES[kind]
    for cut in range(1, len(other)):
        between = BETWEEN[cut % len(BETWEEN)]
        for reply in (
            other[:cut] + between + base,
            other[cut:] + between + base,
            base + between + other[cut:],
        ):
            result = outcome(kind, reply)
            assert result == READ[kind] or isinstance(result, str), reply


@pytest.mark.parametrize("kind", ["tags", "banded", "adjacent", "scorecard", "own"])
def test_draft_ahead_of_a_reply_that_is_cut_off_is_no_verdict(kind: str) -> None:
    other = OTHERS[kind]
    first_label = other.index({"tags": ">", "own": "@"}.get(kind, ":"))
    for cut in range(first_label + 1, len(other)):
        result = outcome(kind, f"{other}\n\n{other[:cut]}")
        assert isinstance(result, str) or cut >= len(other) - 6, other[:cut]


REPEATED_LABELS = (
    pytest.param("ambiguous", "Analysis: a\nLevel: x\nScore: 90\nAnalysis: b", id="another analysis begins"),
    pytest.param("ambiguous", "Analysis: a\nLevel: x\nScore: 90\nLevel: y", id="another level behind"),
    pytest.param("ambiguous", "Score: 90\nLevel: x Score: 7\nLevel: y\nAnalysis: a", id="two levels behind"),
    pytest.param(90, "Score: 90\nLevel: x\nAnalysis: a", id="score first"),
    pytest.param(90, "Analysis: a\nScore: 90\nLevel: x", id="level last"),
    pytest.param(
        90, "Analysis: a\nLevel: x\nScore: 90\n\nAnalysis: a\nLevel: x\nScore: 90", id="twice the same"
    ),
)


@pytest.mark.parametrize(("expected", "text"), REPEATED_LABELS)
def test_labels_behind_a_score(expected: object, text: str) -> None:
    assert outcome("banded", text) == expected


THOUGHT_PARTS: dict[str, Mapping[str, object]] = {
    "Anthropic": {"type": "thinking", "thinking": "5"},
    "a server that names the text so, too": {"type": "thinking", "text": "5"},
    "LangChain": {"type": "reasoning", "reasoning": "5"},
    "reasoning with a text": {"type": "reasoning", "text": "5"},
    "Responses API": {"type": "reasoning_text", "text": "5"},
    "a summary of reasoning": {"type": "summary_text", "text": "5"},
    "Gemini": {"text": "5", "thought": True},
}


@pytest.mark.parametrize("thought", THOUGHT_PARTS.values(), ids=THOUGHT_PARTS)
def test_thoughts_among_the_parts_of_a_message_are_no_answer(thought: Mapping[str, object]) -> None:
    for answer in ({"type": "text", "text": "2"}, {"text": "2"}, {"type": "output_text", "text": "2"}, "2"):
        for parts in ([thought, answer], [SimpleNamespace(**thought), answer]):
            assert reply_of({"content": parts}).text == "2"
            assert reply_of({"choices": [{"message": {"content": parts}}]}).text == "2"
    assert reply_of({"content": [thought]}).text == ""
