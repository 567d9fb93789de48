"""How the tests of formats read replies, and the frames in which they put a verdict."""

from __future__ import annotations

from own_format import Stamp

from groundjudge import Case, Choices, Reply, ReplyError, Scale
from groundjudge.case.numbered import number_sentences
from groundjudge.replies import (
    Adjacent,
    Banded,
    Expectation,
    Format,
    Json,
    Line,
    Numbered,
    PartReading,
    Plain,
    Reading,
    Scorecard,
    Tags,
)

LABELS = ("ungrounded", "incorrect", "nothing_to_ground", "incomplete", "grounded")
LEVELS: dict[float, str] = dict(enumerate(LABELS, 1))
SCALES = {
    "tags": Scale(worst=1, best=5, integer=True),
    "json": Scale(worst=0, best=1),
    "scorecard": Scale(worst=0, best=10),
    "numbered": Scale(worst=0, best=10),
    "adjacent": Scale(worst=1, best=5),
    "banded": Scale(worst=0, best=100),
    "plain": Scale(worst=1, best=5),
    "line": Scale(worst=1, best=5, integer=True),
    "own": Scale(worst=1, best=5, integer=True),
}
READERS: dict[str, Format] = {
    "tags": Tags(),
    "json": Json(),
    "scorecard": Scorecard(),
    "numbered": Numbered(),
    "adjacent": Adjacent(),
    "banded": Banded(),
    "plain": Plain(),
    "line": Line(("Final verdict", "Rating")),
    "own": Stamp(),
}
YES = Choices({"yes": 1, "no": 0})
FOUR = Choices({"supported": 1, "partially supported": 0.5, "not supported": 0, "cannot tell": None})
SIGNED = Choices({"-1": 0, "0": 0.5, "1": 1})
CHINESE = Choices({"有依据": 1, "无依据": 0})
GRADES = Choices({"A": 1, "A-": 0.8, "B+": 0.6, "B": 0.4})
STARRED = Choices({"A*": 1, "A": 0.9, "B": 0})


def outcome(
    kind: str | Format,
    text: str,
    scale: Scale | None = None,
    finish_reason: str | None = "stop",
    response: str | None = None,
) -> object:
    """The value or label of a reply, those of its parts, or the code of its error."""
    reply_format = READERS[kind] if isinstance(kind, str) else kind
    if scale is None:
        assert isinstance(kind, str), "a format of one's own needs a scale"
        scale = SCALES[kind]
    levels = LEVELS if scale == SCALES["tags"] else {}
    expectation = Expectation(levels, response)
    if reply_format.numbers_sentences and response is not None:
        case = Case(response=response, context=["It is shut. It opens at ten."])
        expectation = Expectation(levels, response, number_sentences(case))
    try:
        reading = reply_format.read_reply(Reply(text, finish_reason), scale, expectation)
    except ReplyError as error:
        return error.code
    if not reading.parts:
        return outcome_of(reading, scale)
    return [outcome_of(part, scale) for part in reading.parts]


def outcome_of(verdict: Reading | PartReading, scale: Scale) -> object:
    """The label of a verdict, whose value must be that of the label, or its value."""
    if not verdict.label:
        return verdict.value
    assert scale.choices[verdict.label] == verdict.value
    return verdict.label


def block(score: str, evidence: str = "b", sentence: str = "A stands here.") -> str:
    """A block of a scorecard."""
    return f"Statement Sentence: {sentence}\nSupporting Evidence: {evidence}\nScore: {score}"


def card(*scores: str) -> str:
    """A scorecard with a sentence for each score."""
    blocks = [block(score, "q", f"Sentence {number}.") for number, score in enumerate(scores)]
    return "\n\n".join(blocks)


def passage(recall: str, precision: str = "(5 * 1.0)", stated: str = "5.0") -> str:
    """A reply with two weighted sums: the lines of the recall; formula and sum of the precision."""
    return (
        f"RECALL_Reasoning: r\n{recall}\n"
        f"PRECISION_Reasoning: p\nPRECISION_Formula: {precision}\nPRECISION_Weighted_Summed_Score: {stated}"
    )


PLACED = {
    "tags": "<S1>r</S1><S2>{}</S2>",
    "json": '{{"reasoning": "r", "score": "{}"}}',
    "scorecard": "Statement Sentence: A stands here.\nSupporting Evidence: b\nScore: {}",
    "numbered": "1 | - | r | {}\nALL | 50",
    "banded": "Analysis: a\nLevel: x\nScore: {}",
    "plain": "{}",
    "line": "Because.\nFinal verdict: {}",
    "own": "Because. @@{}@@",
}
"""For each format a reply with a place in it."""
