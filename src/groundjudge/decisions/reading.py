"""Turns answers into a verdict: values, parts with their evidence, or an error for what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from groundjudge.case.numbered import Sentences
from groundjudge.decisions.answers import AnswerError, Answers
from groundjudge.decisions.evidence import MAX_OFFERED, find_evidence
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.question import Question
from groundjudge.decisions.questionnaire import NO_CLAIM, VERDICT, JudgeQuestion, Questionnaire
from groundjudge.decisions.values import AnswerValue, reason_of, value_of
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.numbered import SHARE_MISMATCH, contradict
from groundjudge.replies.reply import Reply
from groundjudge.rubric.parts import EVIDENCE_NOT_FOUND
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Evidence, Part, Verdict

EVIDENCE_PRESELECTED = "evidence_preselected"
EVIDENCE_UNANSWERED = "evidence_unanswered"


def read_verdict(questionnaire: Questionnaire, request: Request, answers: Answers, reply: Reply) -> Verdict:
    """Read the verdict that the answers to all questions about a case give.

    Args:
        questionnaire: what the judge asks.
        request: the request with all questions about the case.
        answers: the answers, from one reply or several.
        reply: the last reply.

    Raises:
        AnswerError: `refused` or `missing_answer`; it has the parts that were answered. An answer about
            evidence may be missing: the score does not depend on it.
    """
    if questionnaire.sentence is not None:
        return _read_sentences(questionnaire, request, answers, reply)
    if questionnaire.questions[0].id == VERDICT:
        return _read_one_answer(questionnaire.questions[0], request, answers, reply)
    return _read_parts(questionnaire.questions, request, answers, reply)


def _read_one_answer(question: JudgeQuestion, request: Request, answers: Answers, reply: Reply) -> Verdict:
    """Read the verdict of a judge with a single question, whose answer is the verdict."""
    rubric = request.rubric
    _refuse_missing(inquiry_of(request).questions, answers, (), reply)
    value = value_of(question, answers.probabilities[question.id], rubric.scale)
    score: float | None = None
    if value.expected is not None:
        label = value.label if rubric.scale.choices else ""
        score = rubric.format.score(Reading(value.expected, label=label), rubric.scale)
    return rubric.make_verdict(
        reply,
        request.case,
        score,
        (),
        value=value.value,
        label=value.label or None,
        reason=reason_of(value.shares),
        warnings=request.rubric.warnings_on(request.case),
        expected=None if score is None else value.expected,
        distribution=value.distribution,
        confidence=value.confidence,
    )


def _read_parts(
    questions: Sequence[JudgeQuestion], request: Request, answers: Answers, reply: Reply
) -> Verdict:
    """Make a part, such as "recall", from the answer to each question."""
    parts: list[Part] = []
    readings: list[PartReading] = []
    for question in questions:
        probabilities = answers.probabilities.get(question.id)
        if probabilities is None:  # `_refuse_missing` reports it, with the parts that there are
            continue
        value = value_of(question, probabilities, request.rubric.scale)
        readings.append(PartReading(question.id, value.expected))
        parts.append(_make_part(question.id, value, reason_of(value.shares)))
    _refuse_missing(inquiry_of(request).questions, answers, parts, reply)
    return _verdict_of(parts, Reading(None, parts=tuple(readings)), request, reply)


def _read_sentences(
    questionnaire: Questionnaire, request: Request, answers: Answers, reply: Reply
) -> Verdict:
    """Make a part for each sentence of the response, with the evidence that was chosen for it."""
    sentences = request.sentences or Sentences()
    required: list[Question] = []
    evidence_questions: dict[str, Question] = {}
    for asked in inquiry_of(request).questions:
        if asked.id.startswith("e"):
            evidence_questions[asked.id] = asked
        else:
            required.append(asked)
    question = questionnaire.questions[0]
    readings: list[PartReading] = []
    parts: list[Part] = []
    warnings: list[str] = []
    if evidence_questions and len(sentences.source) > MAX_OFFERED:
        warnings.append(EVIDENCE_PRESELECTED)
    for number, sentence in enumerate(sentences.response, 1):
        probabilities = answers.probabilities.get(f"s{number}")
        if probabilities is None:  # `_refuse_missing` reports it, with the parts that there are
            continue
        value = value_of(question, probabilities, request.rubric.scale)
        evidence: tuple[Evidence, ...] = ()
        warning = ""
        # A sentence that surely scores 0, or claims nothing, shows no evidence.
        if value.score and question.evidence is not None:
            evidence, warning = _evidence_for(number, evidence_questions, sentences, answers)
            # An expected value is above 0 as soon as any other option is slightly probable, so the median
            # decides whether evidence is missing: a made-up sentence has none to look for.
            if warning == EVIDENCE_NOT_FOUND and not value.median_score:
                warning = ""
            if warning:
                warnings.append(warning)
        part_warnings = (warning,) if warning == EVIDENCE_NOT_FOUND else ()
        readings.append(PartReading(sentence.text, value.expected))
        place = {"number": number, "start": sentence.start, "end": sentence.end}
        found = {"evidence": evidence, "warnings": part_warnings}
        parts.append(_make_part(sentence.text, value, value.shares, **place, **found))
    _refuse_missing(required, answers, parts, reply)
    mean: float | None = None
    whole: float | None = None
    expected_values = [reading.value for reading in readings if reading.value is not None]
    if questionnaire.whole is not None:
        probabilities = answers.probabilities[questionnaire.whole.id]
        whole = value_of(questionnaire.whole, probabilities, request.rubric.scale).score
        claims = [part.score for part in parts if part.score is not None]
        if claims and whole is not None and contradict(claims, whole):
            warnings.append(SHARE_MISMATCH)
    elif expected_values:
        mean = fmean(expected_values)
    reading = Reading(mean, parts=tuple(readings), whole=whole)
    return _verdict_of(parts, reading, request, reply, warnings)


def _evidence_for(
    number: int, evidence_questions: Mapping[str, Question], sentences: Sentences, answers: Answers
) -> tuple[tuple[Evidence, ...], str]:
    """Return the evidence that was chosen for a sentence, and its warning; "" for none."""
    question = evidence_questions.get(f"e{number}")
    if question is None:  # the source has no sentences
        return (), EVIDENCE_NOT_FOUND
    probabilities = answers.probabilities.get(question.id)
    if probabilities is None:
        return (), EVIDENCE_UNANSWERED
    evidence = find_evidence(probabilities, question, sentences.source)
    return evidence, "" if evidence else EVIDENCE_NOT_FOUND


def _make_part(
    name: str,
    value: AnswerValue,
    reason: str,
    **fields: Any,  # noqa: ANN401  those of a part
) -> Part:
    """Make the part of a sentence, or of a score such as "recall", from its answer."""
    label: str | None = value.label
    # As in a text model's reply, a sentence that claims nothing has neither a value nor a label.
    if not value.label or value.label == NO_CLAIM:
        label = None
    return Part(
        name=name,
        value=value.value,
        score=value.score,
        label=label,
        reason=reason,
        distribution=value.distribution,
        confidence=value.confidence,
        **fields,
    )


def _verdict_of(
    parts: Sequence[Part], reading: Reading, request: Request, reply: Reply, warnings: Sequence[str] = ()
) -> Verdict:
    """Make the verdict from parts, and from the means of their answers."""
    rubric = request.rubric
    score = rubric.format.score(reading, rubric.scale)
    return rubric.make_verdict(
        reply,
        request.case,
        score,
        tuple(parts),
        request.sentences,
        scores={} if score is None else rubric.format.scores(reading, rubric.scale),
        value=reading.value,
        reason=reason_of(""),
        warnings=(*dict.fromkeys(warnings), *request.rubric.warnings_on(request.case)),
        confidence=min((part.confidence for part in parts if part.confidence is not None), default=None),
    )


def _refuse_missing(
    questions: Sequence[Question], answers: Answers, parts: Sequence[Part], reply: Reply
) -> None:
    """Refuse incomplete answers.

    Raises:
        AnswerError: `missing_answer`, or `refused` if the model declined all that are missing.
    """
    missing = tuple(question for question in questions if question.id not in answers.probabilities)
    if not missing:
        return
    names = ", ".join(question.id for question in missing)
    # One that is only missing may come when it is asked again, so it decides the code.
    if all(question.id in answers.refused for question in missing):
        error = AnswerError("refused", reply.text, f"the model declined to answer {names}")
    else:
        error = AnswerError("missing_answer", reply.text, f"there is no answer to {names}")
    error.parts = tuple(parts)
    error.questions = missing
    raise error
