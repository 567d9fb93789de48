"""What probabilities say: expected value, lower median, not applicable, confidence, reasons, and evidence."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from time import process_time
from typing import Any

import pytest
from decision_models import RuleModel, answer_to, sure_of_the_best
from decision_requests import inquiry_about

from groundjudge import Verdict, load_rubric
from groundjudge.decisions.evidence import SourceIndex, find_evidence
from groundjudge.decisions.question import Option, Question
from groundjudge.decisions.questionnaire import questionnaire_of
from groundjudge.decisions.reading import AnswerValue, value_of
from groundjudge.replies.distribution import confidence_of
from groundjudge.text.sentences import Sentence
from groundjudge.types import Judge, Rubric

GROUNDEDNESS = load_rubric("groundedness")
CASE = {"query": "When?", "context": ["It opens at nine. Dogs may enter."], "response": "It opens at nine."}


def question_of(rubric: Rubric) -> Question:
    return questionnaire_of(rubric).questions[0]


def groundedness(**shares: float) -> AnswerValue:
    """The value of an answer with these probabilities of the labels."""
    question = question_of(GROUNDEDNESS)
    probabilities = tuple(shares.get(alternative.label, 0.0) for alternative in question.options)
    return value_of(question, probabilities, GROUNDEDNESS.scale)


MEDIANS: Mapping[str, tuple[dict[str, float], str | None, float | None]] = {
    "one label": ({"incorrect": 1.0}, "incorrect", 2.0),
    "the likeliest is not the median": (
        {"incorrect": 0.4, "incomplete": 0.3, "grounded": 0.3},
        "incomplete",
        3.5,
    ),
    "exactly half lies at or below": ({"incorrect": 0.5, "grounded": 0.5}, "incorrect", 3.5),
    "a little less than half": ({"incorrect": 0.49, "grounded": 0.51}, "grounded", 3.53),
    "not applicable is left out": ({"nothing_to_ground": 0.4, "incorrect": 0.6}, "incorrect", 2.0),
    "not applicable is left out of the median": (
        {"nothing_to_ground": 0.4, "ungrounded": 0.2, "grounded": 0.4},
        "grounded",
        11 / 3,
    ),
    "just one half is not applicable": ({"nothing_to_ground": 0.5, "grounded": 0.5}, "grounded", 5.0),
    "more than one half": ({"nothing_to_ground": 0.51, "grounded": 0.49}, "nothing_to_ground", None),
    "a plurality": (
        {"nothing_to_ground": 0.35, "ungrounded": 0.33, "grounded": 0.32},
        "ungrounded",
        (0.33 + 5 * 0.32) / 0.65,
    ),
    "only not applicable": ({"nothing_to_ground": 1.0}, "nothing_to_ground", None),
}


@pytest.mark.parametrize("name", MEDIANS)
def test_label_and_expected_value(name: str) -> None:
    shares, label, expected = MEDIANS[name]
    value = groundedness(**shares)
    assert value.label == label
    assert value.expected == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize("seed", range(8))
def test_the_expected_value_lies_on_the_scale_and_half_at_or_below_the_label(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311  no secret
    labels = [alternative.label for alternative in question_of(GROUNDEDNESS).options]
    weights = [dice.choice([0, dice.random()]) for _ in labels]
    weights[dice.randrange(1, len(weights))] += 0.01
    shares = {label: weight / sum(weights) for label, weight in zip(labels, weights, strict=True)}
    value = groundedness(**shares)
    if shares["nothing_to_ground"] > 0.5:
        assert value.expected is None
        return
    order = ["ungrounded", "incorrect", "incomplete", "grounded"]
    total = sum(shares[label] for label in order)
    assert value.expected is not None
    assert value.expected == pytest.approx(
        sum(shares[label] * number for label, number in zip(order, (1, 2, 4, 5), strict=True)) / total
    )
    place = order.index(value.label)
    assert sum(shares[label] for label in order[: place + 1]) / total >= 0.5 - 1e-9
    assert sum(shares[label] for label in order[:place]) / total < 0.5


def judge_by(name: str, **probabilities: Sequence[float]) -> Verdict:
    """The verdict where a model gives these probabilities by the ids of the questions."""
    rubric = load_rubric(name)
    fields = ("query", "context", "reference", "agent_name", "profile", "conversation")
    case: dict[str, Any] = {**dict.fromkeys(fields, "It opens at nine."), "response": "It opens at nine."}
    model = RuleModel(lambda question, _: answer_to(question, probabilities[question.id]))
    return Judge(rubric, model).judge(case)


SURE = [0.0, 1.0]
"""The answer that the source bears out all that the response claims."""


def test_confidence_grounding_is_the_expected_value() -> None:
    verdict = judge_by("confidence_grounding", verdict=[0.1, 0.2, 0.3, 0.4, 0])
    assert verdict.score == pytest.approx(0.2 * 0.2 + 0.3 * 0.5 + 0.4 * 0.8)
    assert (verdict.value, verdict.expected) == (verdict.score, verdict.score)
    assert verdict.label is None
    assert verdict.distribution == {"0": 0.1, "0.2": 0.2, "0.5": 0.3, "0.8": 0.4}
    assert verdict.reason == "0.8: 40%, 0.5: 30%, 0.2: 20%, 0: 10% (a decision model gives no reasons)"


def test_knowledge_hallucination_has_the_band_of_the_median() -> None:
    verdict = judge_by("knowledge_hallucination", verdict=[0.3, 0.3, 0, 0, 0, 0.4])
    assert verdict.value == verdict.expected == pytest.approx(0.3 * 10 + 0.4 * 95)
    assert verdict.score == pytest.approx(0.41)
    assert verdict.label == "severe_hallucination"
    assert verdict.reason.startswith("severe_hallucination 60%, no_hallucination 40% (")


def test_passage_quality_has_two_parts() -> None:
    verdict = judge_by("passage_quality", recall=[0, 0, 0, 0, 1], precision=[0.5, 0, 0.5, 0, 0])
    recall, precision = verdict.parts
    assert (recall.value, recall.score, recall.confidence) == (5.0, 1.0, 1.0)
    assert (precision.value, precision.score) == (2.0, 0.25)
    assert precision.distribution == {"1": 0.5, "3": 0.5}
    assert verdict.confidence == precision.confidence == pytest.approx((5 * 0.5 - 1) / 4)
    assert verdict.score == pytest.approx(0.4)
    assert (verdict.value, verdict.distribution) == (None, None)
    assert precision.reason == "1: 50%, 3: 50% (a decision model gives no reasons)"


def test_statement_groundedness_has_the_expected_value_of_each_sentence() -> None:
    verdict = judge_by("statement_groundedness", s1=[0.4, 0, 0, 0, 0, 0.3, 0.3], e1=[0.1, 0.9], whole=SURE)
    (part,) = verdict.parts
    assert part.value == pytest.approx((0.3 * 8.5 + 0.3 * 10) / 0.6)
    assert part.label is None
    assert part.distribution == {"no_claim": 0.4, "8.5": 0.3, "10": 0.3}
    assert part.reason == "no_claim: 40%, 8.5: 30%, 10: 30%"
    assert [quote.quote for quote in part.evidence] == ["It opens at nine."]
    assert (part.number, part.start, part.end, part.evidence[0].number) == (1, 0, 17, 1)
    assert (verdict.value, verdict.weakest) == (None, None)
    assert verdict.scores == {"mean": part.score, "weakest": part.score}


WHOLES: Mapping[str, tuple[list[float], list[float], float, bool, tuple[str, ...]]] = {
    # probabilities about the one sentence and about the whole; the score, whether it passes, and warnings
    "the whole decides": ([0, 0, 0, 0, 0.5, 0.5, 0], [0.7, 0.3], 0.3, False, ()),
    "at the threshold": ([0, 0, 0, 0, 0.5, 0.5, 0], [0.5, 0.5], 0.5, True, ()),
    "against a sentence that fails": ([0, 0, 0, 1, 0, 0, 0], [0.2, 0.8], 0.8, True, ()),
    "a sentence that is nothing": ([0, 1, 0, 0, 0, 0, 0], [0.2, 0.8], 0.0, False, ("share_mismatch",)),
    "a sentence that is sure": ([0, 0, 0, 0, 0, 0, 1], [0.6, 0.4], 0.4, False, ("share_mismatch",)),
}


@pytest.mark.parametrize("name", WHOLES)
def test_the_question_about_the_whole_decides_the_score(name: str) -> None:
    sentence, whole, score, passed, warnings = WHOLES[name]
    verdict = judge_by("statement_groundedness", s1=sentence, e1=[0.1, 0.9], whole=whole)
    assert verdict.score == pytest.approx(score)
    assert verdict.passed is passed
    assert (verdict.warnings, verdict.attempts) == (warnings, 1)
    assert verdict.scores["mean"] == verdict.scores["weakest"] == verdict.parts[0].score


def test_a_sentence_claims_nothing_only_above_one_half() -> None:
    verdict = judge_by("statement_groundedness", s1=[0.51, 0, 0, 0, 0, 0, 0.49], e1=[1, 0], whole=SURE)
    assert verdict.status == "not_applicable"
    assert (verdict.scores, verdict.passed) == ({}, True)
    (part,) = verdict.parts
    assert (part.value, part.score, part.label, part.value_text) == (None, None, None, "no claim")
    assert not verdict.warnings


CONFIDENCES: Mapping[str, tuple[tuple[float, ...], float]] = {
    "sure": ((0, 1, 0), 1),
    "all equal": ((0.25, 0.25, 0.25, 0.25), 0),
    "two of three": ((0.5, 0.5, 0), 0.25),
    "two options": ((0.9, 0.1), 0.8),
    "thirds with noise": ((1 / 3, 1 / 3, 1 - 2 / 3), 0),
}


@pytest.mark.parametrize("name", CONFIDENCES)
def test_confidence(name: str) -> None:
    probabilities, confidence = CONFIDENCES[name]
    assert confidence_of(probabilities) == pytest.approx(confidence, abs=1e-9)


def source_of(*texts: str) -> list[Sentence]:
    return [Sentence(text, 0, len(text)) for text in texts]


EVIDENCE: Mapping[str, tuple[list[float], list[str]]] = {
    "none above one half": ([0.51, 0.49, 0, 0, 0], []),
    "none at one half": ([0.5, 0.5, 0, 0, 0], ["a"]),
    "the likeliest": ([0.1, 0.2, 0.7, 0, 0], ["b"]),
    "another with half as much": ([0, 0.2, 0.4, 0.2, 0.2], ["b", "a", "c"]),
    "a little less than half": ([0, 0.19, 0.4, 0.41, 0], ["c", "b"]),
    "three at most": ([0, 0.25, 0.25, 0.25, 0.25], ["a", "b", "c"]),
    "none is likeliest but below one half": ([0.4, 0.3, 0.3, 0, 0], ["a", "b"]),
    "nothing but none": ([0.4, 0, 0, 0, 0], []),
}


@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_by_choice(name: str) -> None:
    probabilities, texts = EVIDENCE[name]
    question = Question("e1", "choice", "Which?", tuple(Option(str(number), None) for number in range(5)))
    evidence = find_evidence(tuple(probabilities), question, source_of("a", "b", "c", "d"))
    assert [quote.quote for quote in evidence] == texts


def test_every_quote_is_the_sources_own_text() -> None:
    documents = ["  First. <|im_end|> Second!\n\n", "```\ncode line\n```", "Third. Fourth?"]
    rubric = load_rubric("statement_groundedness")
    (about_evidence,) = [
        question
        for question in inquiry_about(rubric, {"context": documents, "response": "A claim."}).questions
        if question.id.startswith("e")
    ]
    n_sentences = len(about_evidence.options) - 1
    assert n_sentences > 4
    for number in range(1, n_sentences + 1):

        def rule(question: Question, _: int, number: int = number) -> Mapping[str, Any]:
            if not question.id.startswith("e"):
                return sure_of_the_best(question)
            return answer_to(question, [float(option.key == str(number)) for option in question.options])

        verdict = Judge(rubric, RuleModel(rule)).judge({"context": documents, "response": "A claim."})
        (quote,) = verdict.parts[0].evidence
        assert (quote.exact, quote.number) == (True, number)
        assert documents[quote.document][quote.start : quote.end] == quote.quote


def test_a_score_without_evidence_is_a_warning_and_nothing_is_asked_again() -> None:
    verdict = judge_by("statement_groundedness", s1=[0, 0, 0, 0, 0, 0, 1], e1=[0.6, 0.4], whole=SURE)
    assert verdict.score == 1
    assert verdict.warnings == ("evidence_not_found",)
    assert verdict.parts[0].warnings == ("evidence_not_found",)
    assert verdict.attempts == 1


# The options are: no claim, 0, 2, 4, 6.5, 8.5, 10; and none, the one sentence of the source.
NEEDS: Mapping[str, tuple[list[float], list[float], tuple[str, ...], int]] = {
    "surely 0": ([0, 1, 0, 0, 0, 0, 0], [0, 1], (), 0),
    "surely 0, and no evidence": ([0, 1, 0, 0, 0, 0, 0], [1, 0], (), 0),
    "nearly 0, and no evidence": ([0, 0.97, 0.03, 0, 0, 0, 0], [0.98, 0.02], (), 0),
    "the median is 0, the mean is not": ([0, 0.5, 0, 0, 0, 0, 0.5], [0.9, 0.1], (), 0),
    "the median is 0, the mean is not, and there is evidence": ([0, 0.5, 0, 0, 0, 0, 0.5], [0.1, 0.9], (), 1),
    "the median is 0 of what claims something": ([0.4, 0.3, 0.3, 0, 0, 0, 0], [0.9, 0.1], (), 0),
    "the median is above 0, and no evidence": (
        [0, 0.49, 0.51, 0, 0, 0, 0],
        [0.9, 0.1],
        ("evidence_not_found",),
        0,
    ),
    "the median is above 0": ([0, 0.49, 0.51, 0, 0, 0, 0], [0.1, 0.9], (), 1),
    "no claim": ([1, 0, 0, 0, 0, 0, 0], [1, 0], (), 0),
}


@pytest.mark.parametrize("name", NEEDS)
def test_a_sentence_whose_median_is_worth_0_needs_no_evidence(name: str) -> None:
    sentence, source_sentence, warnings, n_quotes = NEEDS[name]
    verdict = judge_by("statement_groundedness", s1=sentence, e1=source_sentence, whole=[0.5, 0.5])
    (part,) = verdict.parts
    assert verdict.warnings == part.warnings == warnings
    assert len(part.evidence) == n_quotes


def test_sixty_sentences_are_offered_numbers_and_names_first() -> None:
    source = source_of(*(f"Nothing of note happened on day {'i' * number}." for number in range(500)))
    named = {7: "Rotterdam came first.", 300: "It cost 4711 euros.", 450: "the library opens"}
    for index, text in named.items():
        source[index] = Sentence(text, 0, len(text))
    offered = SourceIndex(source).offered_for("The library in Rotterdam cost 4711 euros")
    assert len(offered) == 60
    assert offered == sorted(set(offered))
    assert {*named} <= {*offered}
    assert {299, 301, 6, 8} <= {*offered}  # neighbours


def test_sixty_are_offered_where_no_word_is_shared() -> None:
    assert SourceIndex(source_of(*(["x."] * 61))).offered_for("Nothing?") == [*range(60)]


@pytest.mark.parametrize("n_sentences", [1, 3, 60, 61])
def test_of_a_few_sentences_all_are_offered(n_sentences: int) -> None:
    case = {"context": ["It opens at nine. " * n_sentences], "response": "It opens at nine."}
    question = inquiry_about(load_rubric("statement_groundedness"), case).questions[1]
    numbers = range(1, min(n_sentences, 60) + 1)
    assert question.keys == ["0", *map(str, numbers)]


def test_preselected_evidence_is_a_warning() -> None:
    case = {"context": ["It opens at nine. " * 61], "response": "It opens at nine."}
    rubric = load_rubric("statement_groundedness")
    verdict = Judge(rubric, RuleModel(lambda question, _: sure_of_the_best(question))).judge(case)
    assert verdict.warnings == ("evidence_preselected",)
    assert len(verdict.parts[0].evidence) == 1


def seconds_to_ask(n_sentences: int, n_source: int) -> float:
    rubric = load_rubric("statement_groundedness")
    source = " ".join(
        f"Sentence {number} says that house {number % 97} is green." for number in range(n_source)
    )
    response = " ".join(f"House {number} is green." for number in range(n_sentences))
    case = {"context": [source], "response": response}
    model = RuleModel(lambda question, _: sure_of_the_best(question), form="systemone")
    judge = Judge(rubric, model)
    judge.judge(case)
    times: list[float] = []
    for _ in range(3):
        start = process_time()
        judge.judge(case)
        times.append(process_time() - start)
    return min(times)


@pytest.mark.soak
def test_time_grows_linearly_in_sentences_and_in_sources() -> None:
    base = seconds_to_ask(50, 500)
    assert seconds_to_ask(200, 500) < 8 * base
    assert seconds_to_ask(50, 2000) < 8 * base


def test_a_text_verdict_with_a_distribution_has_a_confidence() -> None:
    reply = "<S0>t</S0><S1>why</S1><S2>2</S2><S3>1:0, 2:60, 3:0, 4:40, 5:0</S3>"
    verdict = GROUNDEDNESS.read(reply, CASE)
    assert verdict.distribution == {"2": 0.6, "4": 0.4}
    assert verdict.confidence == pytest.approx((5 * 0.6 - 1) / 4)


def test_a_text_verdict_without_a_distribution_has_none() -> None:
    verdict = load_rubric("groundedness", weighted=False).read("<S1>why</S1><S2>2</S2>", CASE)
    assert (verdict.distribution, verdict.confidence) == (None, None)
