"""From answers to what a verdict says: values, parts with their evidence, or an error for what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from groundjudge.decisions.answers import AnswerError, Answers
from groundjudge.decisions.evidence import MAX_OFFERED, find_evidence
from groundjudge.decisions.inquiry import Inquiry
from groundjudge.decisions.question import Question
from groundjudge.decisions.questionnaire import NO_CLAIM, VERDICT, JudgeQuestion, Questionnaire
from groundjudge.decisions.state import Sentences
from groundjudge.decisions.values import AnswerValue, reason_of, value_of
from groundjudge.replies import PartReading, Reading
from groundjudge.rubric.reading import EVIDENCE_NOT_FOUND
from groundjudge.scale import Scale
from groundjudge.verdict import Evidence, Part

EVIDENCE_PRESELECTED = "evidence_preselected"
EVIDENCE_UNANSWERED = "evidence_unanswered"


@dataclass(frozen=True)
class Decision:
    """What the answers of a decision model say of a case.

    Attributes:
        reading: the expected values, as a format scores them.
        value, label, reason, distribution, confidence: as in a verdict.
        parts: those of the verdict.
        is_applicable: whether there is something to judge.
        warnings: codes of what looked odd.
    """

    reading: Reading
    value: float | None
    label: str
    reason: str
    distribution: Mapping[str, float] | None
    confidence: float | None
    parts: tuple[Part, ...] = ()
    is_applicable: bool = True
    warnings: tuple[str, ...] = ()


def read_decision(
    questionnaire: Questionnaire, inquiry: Inquiry, answers: Answers, scale: Scale, reply: str
) -> Decision:
    """Read what the answers to the questions about a case say.

    Args:
        questionnaire: what the judge asks.
        inquiry: what was asked about the case.
        answers: the answers.
        scale: the judge's scale.
        reply: the text of the last reply, for errors.

    Raises:
        AnswerError: `refused` or `missing_answer`; it has the parts that were answered. An answer about
            evidence may be missing: the score does not depend on it.
    """
    if questionnaire.sentence is not None:
        return _decide_on_sentences(questionnaire.sentence, inquiry, answers, scale, reply)
    values: dict[str, AnswerValue] = {}
    for question in questionnaire.questions:
        if question.id in answers.probabilities:
            values[question.id] = value_of(question, answers.probabilities[question.id], scale)
    if questionnaire.questions[0].id == VERDICT:
        _refuse_missing(inquiry.questions, answers, (), reply)
        value = values[VERDICT]
        return Decision(
            reading=Reading(value.expected, label=value.label if scale.choices else ""),
            value=value.value,
            label=value.label,
            reason=reason_of(value.shares),
            distribution=value.distribution,
            confidence=value.confidence,
            is_applicable=value.expected is not None,
        )
    parts = [_make_part(name, value, reason_of(value.shares)) for name, value in values.items()]
    _refuse_missing(inquiry.questions, answers, parts, reply)
    return _decision_of(parts, [*values.values()], None, ())


def _decide_on_sentences(
    question: JudgeQuestion, inquiry: Inquiry, answers: Answers, scale: Scale, reply: str
) -> Decision:
    """Make a part for each sentence of the response, with the evidence that was chosen for it."""
    questions = inquiry.questions
    sentences = inquiry.sentences
    n_sentences = len(sentences.response)
    evidence_questions = {evidence.id: evidence for evidence in questions[n_sentences:]}
    values: list[AnswerValue] = []
    parts: list[Part] = []
    warnings: list[str] = []
    if evidence_questions and len(sentences.source) > MAX_OFFERED:
        warnings.append(EVIDENCE_PRESELECTED)
    for number, sentence in enumerate(sentences.response, 1):
        probabilities = answers.probabilities.get(f"s{number}")
        if probabilities is None:
            continue
        value = value_of(question, probabilities, scale)
        evidence: tuple[Evidence, ...] = ()
        warning = ""
        # A sentence that is surely worth 0, or claims nothing, shows no evidence.
        if value.score and question.evidence is not None:
            evidence, warning = _evidence_for(number, evidence_questions, sentences, answers)
            # An expected value is above 0 as soon as any other option is a little probable: whether evidence
            # is missed is decided by the median, for a sentence that is made up has none to look for.
            if warning == EVIDENCE_NOT_FOUND and not value.median_score:
                warning = ""
            warnings.append(warning)
        part_warnings = (warning,) if warning == EVIDENCE_NOT_FOUND else ()
        values.append(value)
        parts.append(_make_part(sentence, value, value.shares, evidence=evidence, warnings=part_warnings))
    _refuse_missing(questions[:n_sentences], answers, parts, reply)
    warnings = [warning for warning in dict.fromkeys(warnings) if warning]
    expected_values = [value.expected for value in values if value.expected is not None]
    mean = fmean(expected_values) if expected_values else None
    return _decision_of(parts, values, mean, tuple(warnings))


def _evidence_for(
    number: int, evidence_questions: Mapping[str, Question], sentences: Sentences, answers: Answers
) -> tuple[tuple[Evidence, ...], str]:
    """Return the evidence that was chosen for a sentence, and the warning that it gives; "" for none."""
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
    label: str | None = value.label
    # As in a reply of a text model, a sentence that claims nothing has neither a value nor a label.
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


def _decision_of(
    parts: Sequence[Part], values: Sequence[AnswerValue], mean: float | None, warnings: tuple[str, ...]
) -> Decision:
    readings: list[PartReading] = []
    for part, value in zip(parts, values, strict=True):
        readings.append(PartReading(part.name, value.expected))
    return Decision(
        reading=Reading(mean, parts=tuple(readings)),
        value=mean,
        label="",
        reason=reason_of(""),
        distribution=None,
        confidence=min((value.confidence for value in values), default=None),
        parts=tuple(parts),
        warnings=warnings,
    )


def _refuse_missing(
    questions: Sequence[Question], answers: Answers, parts: Sequence[Part], reply: str
) -> None:
    """Refuse answers that are not complete.

    Raises:
        AnswerError: `missing_answer`, or `refused` if the model declined to give all that are missing.
    """
    missing = tuple(question for question in questions if question.id not in answers.probabilities)
    if not missing:
        return
    names = ", ".join(question.id for question in missing)
    if all(question.id in answers.refused for question in missing):
        error = AnswerError("refused", reply, f"the model declined to answer {names}")
    else:
        error = AnswerError("missing_answer", reply, f"there is no answer to {names}")
    error.parts = tuple(parts)
    error.questions = missing
    raise error
