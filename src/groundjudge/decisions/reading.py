"""Turns answers into a verdict: values, parts with their evidence, or an error for what is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

from groundjudge.case.numbered import Sentences
from groundjudge.decisions.answers import NOISE, AnswerError, Answers, Probabilities
from groundjudge.decisions.evidence import MAX_OFFERED, find_evidence
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.question import Option, Question
from groundjudge.decisions.questionnaire import VERDICT, WHOLE, Questionnaire
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.distribution import confidence_of
from groundjudge.replies.numbered import SHARE_MISMATCH, contradict
from groundjudge.replies.reply import Reply
from groundjudge.rubric.parts import EVIDENCE_NOT_FOUND
from groundjudge.rubric.rubric import Request
from groundjudge.scale import DIGITS, Scale
from groundjudge.verdict import NO_REASONS, Evidence, Part, Verdict

EVIDENCE_PRESELECTED = "evidence_preselected"
EVIDENCE_UNANSWERED = "evidence_unanswered"

MIN_SHOWN = 0.005
"""Anything less probable than half a percent is left out of a reason."""

Shares: TypeAlias = Sequence[tuple[Option, float]]
"""Options of a question, each with its probability."""


# A tuple takes a tenth of the time of a frozen dataclass, and there is one for each sentence.
class AnswerValue(NamedTuple):
    """What one answer says.

    Attributes:
        value: the number on the judge's own scale; None for "no claim", and for a label that means "not
            applicable".
        label: the label of that value; "" if it has none.
        median_score: the score of the lower median; None if there is nothing to judge.
        expected: the mean of the values with a score by how probable they are; None if there is nothing to
            judge.
        score: the score of that mean, 0..1; None if there is nothing to judge.
        distribution: how probable each option is, zeros left out. The keys are the labels of a scale of
            labels, and otherwise numbers in digits, such as "5", even if these have labels.
        confidence: how sure the distribution is, 0..1.
        shares: the likeliest labels, or numbers without one, in words: "incorrect 71%, grounded 29%".
    """

    value: float | None
    label: str
    median_score: float | None
    expected: float | None
    score: float | None
    distribution: Mapping[str, float]
    confidence: float
    shares: str


def read_verdict(questionnaire: Questionnaire, request: Request, answers: Answers, reply: Reply) -> Verdict:
    """Read the verdict that the answers to all questions about a case give.

    Args:
        questionnaire: what the judge asks.
        request: the request with all questions about the case.
        answers: the answers, from one reply or several.
        reply: the last reply, with the text of all of them.

    Raises:
        AnswerError: `refused` or `missing_answer`; it has the parts that were answered. An answer about
            evidence may be missing: the score does not depend on it.
    """
    parts, readings, warnings = read_parts(questionnaire, request, answers)
    missing: list[Question] = []
    for question in inquiry_of(request).questions:
        is_about_evidence = questionnaire.sentence is not None and question.id.startswith("e")
        if answers.get(question.id) is None and not is_about_evidence:
            missing.append(question)
    if missing:
        raise _missing_error(missing, answers, parts, reply)
    rubric = request.rubric
    if questionnaire.questions[0].id == VERDICT:
        value = value_of(questionnaire.questions[0], answers[VERDICT] or (), rubric.scale)
        reading = Reading(value.expected, label=value.label if rubric.scale.choices else "")
        fields: dict[str, Any] = {
            "value": value.value,
            "label": value.label or None,
            "reason": reason_of(value.shares),
            "expected": value.expected,
            "distribution": value.distribution,
            "confidence": value.confidence,
        }
    else:
        mean: float | None = None
        whole: float | None = None
        values = [part.value for part in readings if part.value is not None]
        if questionnaire.whole is not None:
            whole = value_of(questionnaire.whole, answers[WHOLE] or (), rubric.scale).score
        elif questionnaire.sentence is not None and values:
            mean = fmean(values)
        reading = Reading(mean, parts=tuple(readings), whole=whole)
        confidences = [part.confidence for part in parts if part.confidence is not None]
        fields = {"value": mean, "reason": reason_of(""), "confidence": min(confidences, default=None)}
        claims = [part.score for part in parts if part.score is not None]
        if claims and whole is not None and contradict(claims, whole):
            warnings.append(SHARE_MISMATCH)
    score = rubric.format.score(reading, rubric.scale)
    return rubric.make_verdict(
        reply,
        request.case,
        score,
        tuple(parts),
        request.sentences,
        scores={} if score is None else rubric.format.scores(reading, rubric.scale),
        warnings=(*dict.fromkeys(warnings), *rubric.warnings_on(request.case)),
        **fields,
    )


def read_parts(
    questionnaire: Questionnaire, request: Request, answers: Answers
) -> tuple[list[Part], list[PartReading], list[str]]:
    """Read the parts that were answered, such as "recall", or the sentences of the response.

    Returns:
        The parts, their expected values, and the codes of warnings; nothing for a judge with one value.
    """
    if questionnaire.sentence is not None:
        return _read_sentences(questionnaire, request, answers)
    parts: list[Part] = []
    readings: list[PartReading] = []
    for question in questionnaire.questions:
        probabilities = answers.get(question.id)
        if probabilities is not None and question.id != VERDICT:
            value = value_of(question, probabilities, request.rubric.scale)
            readings.append(PartReading(question.id, value.expected))
            parts.append(_make_part(question.id, value, reason_of(value.shares)))
    return parts, readings, []


def _read_sentences(
    questionnaire: Questionnaire, request: Request, answers: Answers
) -> tuple[list[Part], list[PartReading], list[str]]:
    """Make a part for each sentence of the response, with the evidence that was chosen for it."""
    sentences = request.sentences or Sentences()
    question = questionnaire.questions[0]
    questions_by_id = {asked.id: asked for asked in inquiry_of(request).questions}
    parts: list[Part] = []
    readings: list[PartReading] = []
    warnings: list[str] = []
    if questionnaire.evidence is not None and len(sentences.source) > MAX_OFFERED:
        warnings.append(EVIDENCE_PRESELECTED)
    for number, sentence in enumerate(sentences.response, 1):
        probabilities = answers.get(f"s{number}")
        if probabilities is None:
            continue
        value = value_of(question, probabilities, request.rubric.scale)
        evidence: tuple[Evidence, ...] = ()
        part_warnings: tuple[str, ...] = ()
        # A sentence that surely scores 0, or claims nothing, shows no evidence.
        if value.score and questionnaire.evidence is not None:
            evidence_question = questions_by_id.get(f"e{number}")  # None if the source has no sentences
            choice = answers.get(f"e{number}")
            if evidence_question is not None and choice is not None:
                evidence = find_evidence(choice, evidence_question, sentences.source)
            if evidence_question is not None and choice is None:
                warnings.append(EVIDENCE_UNANSWERED)
            # An expected value is above 0 as soon as any other option is slightly probable, so the median
            # decides whether evidence is missing: a made-up sentence has none to look for.
            elif value.median_score and not evidence:
                part_warnings = (EVIDENCE_NOT_FOUND,)
                warnings.append(EVIDENCE_NOT_FOUND)
        readings.append(PartReading(sentence.text, value.expected))
        place = {"number": number, "start": sentence.start, "end": sentence.end}
        found = {"evidence": evidence, "warnings": part_warnings}
        parts.append(_make_part(sentence.text, value, value.shares, **place, **found))
    return parts, readings, warnings


def _make_part(
    name: str,
    value: AnswerValue,
    reason: str,
    **fields: Any,  # noqa: ANN401  those of a part
) -> Part:
    """Make the part of a sentence, or of a score such as "recall", from its answer."""
    return Part(
        name=name,
        value=value.value,
        score=value.score,
        label=value.label or None,
        reason=reason,
        distribution=value.distribution,
        confidence=value.confidence,
        **fields,
    )


def _missing_error(
    missing: Sequence[Question], answers: Answers, parts: Sequence[Part], reply: Reply
) -> AnswerError:
    """Make the error: `missing_answer`, or `refused` if the model declined to answer all that are missing."""
    names = ", ".join(question.id for question in missing)
    # One that is only missing may come when it is asked again, so it decides the code.
    code, fault = "missing_answer", "there is no answer to"
    if all(question.id in answers for question in missing):
        code, fault = "refused", "the model declined to answer"
    error = AnswerError(code, reply.text, f"{fault} {names}")
    error.parts = tuple(parts)
    error.questions = tuple(missing)
    return error


def value_of(question: Question, probabilities: Probabilities, scale: Scale) -> AnswerValue:
    """Return what the probabilities of the options of a question say.

    There is nothing to judge only if the probability of an answer without a score is above one half.
    Otherwise such answers are left out. The label is the lower median in the order of score; so is the value
    if only whole numbers or labels are values, and otherwise it is the expected value.
    """
    shares = [entry for entry in zip(question.options, probabilities, strict=True) if entry[1]]
    distribution: dict[str, float] = {}
    scored: list[tuple[Option, float]] = []
    n_scored = total = 0.0
    for option, share in shares:
        distribution[option.name] = share
        if option.score is not None:
            scored.append((option, share))
            n_scored += share
            total += share * (option.value or 0.0)
    expected: float | None = None
    score: float | None = None
    if round(n_scored, DIGITS) < 1 / 2:
        chosen, _ = max((entry for entry in shares if entry[0].score is None), key=itemgetter(1))
        value = chosen.value
    else:
        expected = round(total / n_scored, DIGITS)
        score = scale.score(expected)
        chosen = _lower_median(scored, n_scored)
        value = chosen.value if scale.choices or scale.integer else expected
    confidence = confidence_of(probabilities)
    return AnswerValue(
        value, chosen.label, chosen.score, expected, score, distribution, confidence, describe_shares(shares)
    )


def _lower_median(scored: Shares, n_scored: float) -> Option:
    """Return the option at which half of the probability of the scored ones is reached."""
    below = 0.0
    ranked = sorted(scored, key=lambda entry: entry[0].score or 0.0)
    for option, share in ranked:
        below += share
        if below >= n_scored / 2 - NOISE:  # three times .1 is more than .3 to a computer
            return option
    return ranked[-1][0]


def describe_shares(shares: Shares) -> str:
    """Say how probable the labels are, or the numbers without one: "incorrect 71%, grounded 29%"."""
    by_name: dict[str, float] = {}
    for option, share in shares:
        name = option.label or f"{option.name}:"
        by_name[name] = by_name.get(name, 0.0) + share  # several values can have one label
    entries: list[str] = []
    for name, share in sorted(by_name.items(), key=itemgetter(1), reverse=True):
        if share >= MIN_SHOWN:
            entries.append(f"{name} {round(100 * share)}%")
    return ", ".join(entries)


def reason_of(shares: str) -> str:
    """Return the reason of a verdict: the model itself writes no words."""
    return f"{shares} {NO_REASONS}".strip()
