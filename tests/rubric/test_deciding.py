"""Which score decides: the headline, or the lowest score of the parts; the same wherever a threshold is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from formatter import numbered
from scripted_model import ScriptedModel
from sentence_cards import SENTENCE_CARDS

from groundjudge import Choices, PromptError, Verdict, load, load_rubric
from groundjudge.lab.agreement import agree
from groundjudge.lab.columns import sample_of
from groundjudge.lab.comparison import compare
from groundjudge.lab.labels import Labels, join
from groundjudge.lab.thresholds import fit_threshold
from groundjudge.types import Rubric
from groundjudge.verdict import Part, named_scores

SENTENCES = ("It rains.", "It snows.", "It hails.")
CASE = {"context": " ".join(SENTENCES), "response": " ".join(SENTENCES)}
NUMBERED = load_rubric("statement_groundedness")
CARDS = load_rubric(SENTENCE_CARDS)
IN_WORDS = {"all": 1.0, "half": 0.5, "nothing": 0.0, "no claim": None}


def cards_verdict(rubric: Rubric, *values: float | str) -> Verdict:
    """The verdict on sentences with these values or labels, which are copied."""
    blocks = (
        f"Statement Sentence: {name}\nSupporting Evidence: {name}\nScore: {value}"
        for name, value in zip(SENTENCES, values, strict=True)
    )
    return rubric.read("\n\n".join(blocks), CASE)


def numbered_verdict(rubric: Rubric, whole: float, *values: float | str) -> Verdict:
    """The verdict on sentences with these values or labels, which are numbered, and on all of them."""
    lines = [(str(number), "in part", value) for number, value in enumerate(values, 1)]
    return rubric.read(numbered(lines, whole), CASE)


@pytest.mark.parametrize(
    ("values", "options", "expected"),
    [
        pytest.param((10, 9, 8), {}, (0.9, 0.8, True), id="all sentences pass"),
        pytest.param((10, 10, 5.5), {}, (0.85, 0.55, False), id="one sentence is below the threshold"),
        pytest.param((10, 10, 0), {}, (0.666666667, 0.0, False), id="one sentence has the worst score"),
        pytest.param((0, 0, 0), {"threshold": 0.0}, (0.0, 0.0, True), id="all pass a threshold of 0"),
        pytest.param((10, 10, 5), {"threshold": 0.5}, (0.833333333, 0.5, True), id="weakest reaches it"),
        pytest.param((10, 10, 0), {"passes": "score"}, (0.666666667, None, True), id="the mean decides"),
    ],
)
def test_weakest_sentence_decides_beside_the_mean(values: Any, options: Any, expected: object) -> None:
    verdict = cards_verdict(CARDS.with_options(**options), *values)
    assert (round(verdict.score or 0, 9), verdict.weakest, verdict.passed) == expected
    assert verdict.scores == {}


@pytest.mark.parametrize(
    ("whole", "values", "options", "expected"),
    [
        # score, mean, weakest of the claims, weakest where that decides, and whether it passes
        pytest.param(50, (10, 9, 5), {}, (0.5, 0.8, 0.5, None, True), id="at the threshold"),
        pytest.param(49, (10, 9, 5), {}, (0.49, 0.8, 0.5, None, False), id="below it"),
        pytest.param(30, (10, 8, 6), {}, (0.3, 0.8, 0.6, None, False), id="the whole fails alone"),
        pytest.param(70, (10, 10, 4), {}, (0.7, 0.8, 0.4, None, True), id="one fails, the whole passes"),
        pytest.param(5, (10, 8, 0), {}, (0.05, 0.6, 0.0, None, False), id="one has the worst score"),
        pytest.param(70, (10, 8, 6), {"threshold": 0.75}, (0.7, 0.8, 0.6, None, False), id="a higher one"),
        pytest.param(
            70, (10, 10, 4), {"passes": "weakest"}, (0.7, 0.8, 0.4, 0.4, False), id="the weakest decides"
        ),
        pytest.param(
            60, (10, "NO CLAIM", 6), {}, (0.6, 0.8, 0.6, None, True), id="a sentence without a claim"
        ),
    ],
)
def test_the_whole_decides_beside_mean_and_weakest(
    whole: float, values: Any, options: Any, expected: object
) -> None:
    verdict = numbered_verdict(NUMBERED.with_options(**options), whole, *values)
    mean, weakest = verdict.scores["mean"], verdict.scores["weakest"]
    assert (verdict.score, round(mean, 9), weakest, verdict.weakest, verdict.passed) == expected
    assert (verdict.value, verdict.warnings) == (None, ())


@pytest.mark.parametrize(
    ("whole", "values", "warning", "score"),
    [
        pytest.param(40, (10, 9, 9), "share_mismatch", 0.4, id="all are sure, the whole is not"),
        pytest.param(51, (10, 10, 2), "share_mismatch", 0.2, id="one is nothing, the whole passes"),
        pytest.param(50, (10, 10, 2), None, 0.5, id="just not"),
        pytest.param(49, (10, 10, 8), None, 0.49, id="just not, either"),
        pytest.param(101, (10, 10, 8), "shares_unreadable", 0.8, id="the whole cannot be read"),
    ],
)
def test_where_whole_and_sentences_differ_the_lower_one_counts(
    whole: float, values: Any, warning: str | None, score: float
) -> None:
    verdict = numbered_verdict(NUMBERED, whole, *values)
    assert (verdict.score, verdict.warnings) == (score, (warning,) if warning else ())


NO_CLAIMS = [
    pytest.param(("all", "no claim", "all"), ("ok", 1.0, 1.0, True), id="others pass"),
    pytest.param(("no claim", "half", "all"), ("ok", 0.75, 0.5, False), id="another one fails"),
    pytest.param(
        ("no claim", "no claim", "no claim"), ("not_applicable", None, None, True), id="no sentence claims"
    ),
]
"""Labels of sentences; and status, mean, the weakest, and whether that passes."""


@pytest.mark.parametrize(("labels", "expected"), NO_CLAIMS)
def test_sentence_without_a_claim_has_no_score(labels: Any, expected: object) -> None:
    verdict = cards_verdict(CARDS.with_options(scale=Choices(IN_WORDS)), *labels)
    assert (verdict.status, verdict.score, verdict.weakest, verdict.passed) == expected
    if verdict.score is None:
        assert verdict.explanation == "Not applicable (no claim)."


@pytest.mark.parametrize(("labels", "expected"), NO_CLAIMS)
def test_numbered_sentence_without_a_claim_has_no_score(labels: Any, expected: object) -> None:
    options: Any = {"scale": Choices(IN_WORDS), "passes": "weakest", "threshold": 0.6}
    verdict = numbered_verdict(NUMBERED.with_options(**options), 75, *labels)
    assert (verdict.status, verdict.scores.get("mean"), verdict.weakest, verdict.passed) == expected
    assert verdict.scores.get("weakest") == verdict.weakest
    if verdict.score is None:
        assert (verdict.scores, verdict.explanation) == ({}, "Not applicable (no claim).")


def test_weakest_is_a_named_score_that_quotes_its_sentence() -> None:
    judge = load(SENTENCE_CARDS, model="offline")
    verdict = cards_verdict(judge.rubric, 10, 4, 10)
    assert judge.score_names == ("sentence_cards", "sentence_cards_weakest")
    headline, weakest = judge.scores(verdict, "mine")
    assert headline.score == pytest.approx(0.8)
    assert (headline.name, headline.part) == ("mine", "")
    assert (weakest.name, weakest.score, weakest.value, weakest.part) == ("mine_weakest", 0.4, 4, "weakest")
    assert weakest.explanation == "It snows. (4): It snows."
    assert verdict.explanation.startswith(weakest.explanation)
    left_out = load(SENTENCE_CARDS, model="offline", empty_response="not_applicable")
    blank = left_out.judge({**CASE, "response": " "})
    assert [score.score for score in left_out.scores(blank)] == [None, None]
    by_mean = load(SENTENCE_CARDS, model="offline", passes="score")
    assert by_mean.score_names == judge.score_names[:1]


@pytest.mark.parametrize("passes", ["score", "weakest"])
def test_mean_and_weakest_of_numbered_sentences_are_named_scores(passes: Any) -> None:
    judge = load("statement_groundedness", model="offline", passes=passes)
    verdict = numbered_verdict(judge.rubric, 30, 10, 4, 10)
    names = [
        "statement_groundedness",
        "statement_groundedness_sentence_mean",
        "statement_groundedness_weakest",
    ]
    assert [*judge.score_names] == names
    headline, mean, weakest = judge.scores(verdict, "mine")
    assert (headline.name, headline.score, headline.value) == ("mine", 0.3, None)
    assert (mean.name, mean.value, mean.part) == ("mine_sentence_mean", None, "mean")
    assert mean.score == pytest.approx(0.8)
    assert (weakest.name, weakest.score, weakest.value, weakest.part) == ("mine_weakest", 0.4, 4, "weakest")
    assert mean.explanation == headline.explanation == verdict.explanation
    assert weakest.explanation == "It snows. (4): in part"
    left_out = load("statement_groundedness", model="offline", empty_response="not_applicable")
    blank = left_out.judge({**CASE, "response": " "})
    assert [score.score for score in left_out.scores(blank)] == [None, None, None]


def test_a_sentence_with_the_name_of_a_score_is_not_that_score() -> None:
    judge = load("statement_groundedness", model="offline")
    case = {**CASE, "response": "- mean\n- weakest\n- rain"}
    verdict = judge.rubric.read(numbered([("1", "-", 10), ("1", "-", 8), ("1", "-", 6)], 70), case)
    assert [score.score for score in judge.scores(verdict)] == [0.7, pytest.approx(0.8), 0.6]


def test_weakest_of_named_parts_decides_too() -> None:
    reply = "RECALL_Formula: (5 * 1.0)\nPRECISION_Formula: (2 * 1.0)"
    judge = load("passage_quality", model=ScriptedModel(reply), passes="weakest", threshold=0.3)
    verdict = judge.judge({"query": "q", "reference": "r", "response": "r"})
    assert verdict.score == pytest.approx(0.4)
    assert (verdict.weakest, verdict.passed) == (0.25, False)
    _, *named_scores = judge.scores(verdict)
    assert [score.name for score in named_scores] == [f"passage_{name}" for name in judge.part_names]
    assert [score.score for score in named_scores] == [1.0, 0.25, 0.25]


@pytest.mark.parametrize(
    ("status", "parts", "expected"),
    [
        ("ok", {"recall": 0.8, "precision": 0.2}, [0.5, 0.8, 0.2]),
        ("ok", {"recall": 0.8}, [0.5, 0.8, None]),
        ("ok", {}, [0.5, None, None]),
        # those that a decision model answered say nothing without the others
        ("error", {"recall": 0.8}, [None, None, None]),
        ("not_applicable", {}, [None, None, None]),
    ],
    ids=["all", "one is missing", "none", "an error has one", "not applicable"],
)
def test_a_score_of_a_part_is_its_own(
    status: Any, parts: Mapping[str, float], expected: Sequence[float | None]
) -> None:
    verdict = Verdict(
        judge="passage_quality",
        status=status,
        score=0.5 if status == "ok" else None,
        parts=tuple(Part(name=part_name, score=score) for part_name, score in parts.items()),
    )
    assert [score.score for score in named_scores(verdict, ["recall", "precision"])] == expected


@pytest.mark.parametrize(
    ("name", "weakest", "further_scores"),
    [
        pytest.param(SENTENCE_CARDS, 0.0, {}, id="the weakest decides"),
        pytest.param("statement_groundedness", None, {"mean": 0.0, "weakest": 0.0}, id="the whole decides"),
    ],
)
def test_blank_response_that_is_scored_0_is_its_own_weakest_part(
    name: Any, weakest: float | None, further_scores: Mapping[str, float]
) -> None:
    judge = load(name, model="offline", empty_response="worst")
    verdict = judge.judge({**CASE, "response": " "})
    assert (verdict.score, verdict.weakest, verdict.passed) == (0.0, weakest, False)
    assert verdict.scores == further_scores
    assert {score.score for score in judge.scores(verdict)} == {0.0}


def test_blank_response_that_is_scored_0_has_the_worst_parts() -> None:
    judge_of_passages = load("passage_quality", model="offline", empty_response="worst")
    verdict = judge_of_passages.judge({"query": "q", "reference": "r", "response": " "})
    assert (verdict.value, [(part.value, part.score) for part in verdict.parts]) == (None, [(1, 0)] * 2)


@pytest.mark.parametrize(
    ("name", "passes", "message"),
    [
        ("groundedness", "weakest", "bad_passes: .*: passes: weakest needs a reply format with parts"),
        ("statement_groundedness", "mean", "passes must be one of 'score', 'weakest', not 'mean'"),
    ],
)
def test_what_cannot_decide_is_refused(name: str, passes: Any, message: str) -> None:
    with pytest.raises(PromptError, match=message):
        load_rubric(name, passes=passes)


# What is measured. The headlines say nothing here, the weakest parts everything.

GROUNDED = [0.9, 0.8, 0.7, 0.9, 0.8, 0.7, 0.9, 0.8]
UNGROUNDED = [0.2, 0.1, 0.3, 0.4, 0.2, 0.1, 0.3, 0.4]
VERDICTS = [
    Verdict(judge="j", status="ok", case_id=str(index), score=0.95, weakest=weakest, passed=weakest >= 0.85)
    for index, weakest in enumerate([*GROUNDED, *UNGROUNDED])
]
LABELS = Labels({str(index): index < len(GROUNDED) for index in range(len(VERDICTS))})


def test_agreement_calibration_and_comparison_use_the_score_that_decides() -> None:
    (agreement,) = agree(VERDICTS, LABELS, threshold=0.5, resamples=20)
    assert {agreement.figures[name].value for name in ("accuracy", "roc_auc")} == {1.0}
    (as_run,) = agree(VERDICTS, LABELS, resamples=20)
    assert as_run.figures["recall"].value == 3 / 8
    assert [disagreement.score for disagreement in as_run.worst] == [0.7, 0.7, 0.8, 0.8, 0.8]
    (pairs,) = join(VERDICTS, LABELS)
    assert 0.4 < fit_threshold(sample_of(pairs), "balanced_accuracy") <= 0.7
    strict = compare(VERDICTS, VERDICTS, LABELS, thresholds=(0.5, 0.85), resamples=20)
    assert strict.values["pass_rate"] == (8 / 16, 3 / 16)
    assert strict.values["mean_score"] == pytest.approx((0.53125, 0.53125))
