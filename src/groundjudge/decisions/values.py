"""What the probabilities of an answer mean: a value, a label, the expected value, and a confidence."""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import NamedTuple

from groundjudge.decisions.answers import NOISE, Probabilities
from groundjudge.decisions.questionnaire import Alternative, JudgeQuestion
from groundjudge.replies.distribution import confidence_of, expectation
from groundjudge.scale import DIGITS, Scale
from groundjudge.verdict import NO_REASONS

MIN_SHOWN = 0.005
"""Anything less probable than half a percent is left out of a reason."""


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


def value_of(question: JudgeQuestion, probabilities: Probabilities, scale: Scale) -> AnswerValue:
    """Return what the probabilities of the alternatives of a question say.

    There is nothing to judge only if the probability of an answer without a score is above one half.
    Otherwise such answers are left out. The label is the lower median in the order of score; so is the value
    if only whole numbers or labels are values, and otherwise it is the expected value.
    """
    pairs = zip(question.names, probabilities, strict=True)
    distribution = {name: share for name, share in pairs if share}
    confidence = confidence_of(probabilities)
    shares = describe_shares(question, probabilities)
    n_scored = sum(probabilities[index] for index in question.ranking)
    mean = expectation(distribution, question.scored_values)
    if mean is None or round(n_scored, DIGITS) < 1 / 2:
        likeliest = _likeliest_unscored(question, probabilities)
        return AnswerValue(
            likeliest.value, likeliest.label, None, None, None, distribution, confidence, shares
        )
    # Floating-point noise must not leave the scale.
    lowest, highest = question.ends
    expected = min(max(round(mean, DIGITS), lowest), highest)
    median = _lower_median(question, probabilities, n_scored)
    value: float | None = expected
    if scale.choices or scale.integer:
        value = median.value
    score = scale.score(expected)
    return AnswerValue(value, median.label, median.score, expected, score, distribution, confidence, shares)


def _lower_median(question: JudgeQuestion, probabilities: Probabilities, n_scored: float) -> Alternative:
    """Return the alternative at which half of the probability of the scored ones is reached."""
    half = n_scored / 2 - NOISE  # three times .1 is more than .3 to a computer
    below = 0.0
    for index in question.ranking:
        below += probabilities[index]
        if below >= half:
            return question.alternatives[index]
    # Only if the sum's noise is larger than expected.
    return question.alternatives[question.ranking[-1]]


def _likeliest_unscored(question: JudgeQuestion, probabilities: Probabilities) -> Alternative:
    """Return the likeliest of the alternatives without a score."""
    pairs = zip(probabilities, question.alternatives, strict=True)
    unscored = [(share, alternative) for share, alternative in pairs if alternative.score is None]
    return max(unscored, key=lambda pair: pair[0])[1]


def describe_shares(question: JudgeQuestion, probabilities: Probabilities) -> str:
    """Say how probable the labels are, or the numbers without one: "incorrect 71%, grounded 29%"."""
    shares: dict[str, float] = {}
    for name, share in zip(question.shown_names, probabilities, strict=True):
        if share:
            # Several values can have one label.
            shares[name] = shares.get(name, 0.0) + share
    entries: list[str] = []
    for name, share in sorted(shares.items(), key=itemgetter(1), reverse=True):
        if share >= MIN_SHOWN:
            entries.append(f"{name} {round(100 * share)}%")
    return ", ".join(entries)


def reason_of(shares: str) -> str:
    """Return the reason of a verdict: the model itself writes no words."""
    return f"{shares} {NO_REASONS}".strip()
