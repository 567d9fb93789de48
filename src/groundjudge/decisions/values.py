"""What the probabilities of an answer mean: a value, a label, the expected value, and a confidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from groundjudge.decisions.answers import NOISE, Probabilities
from groundjudge.decisions.questionnaire import Alternative, JudgeQuestion
from groundjudge.replies.distribution import confidence_of
from groundjudge.scale import DIGITS, Scale
from groundjudge.verdict import NO_REASONS

MIN_SHOWN = 0.005
"""Anything less probable than half a percent is left out of a reason."""


Shares: TypeAlias = Sequence[tuple[Alternative, float]]
"""Alternatives of a question, each with its probability."""


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
    distribution: dict[str, float] = {}
    scored: list[tuple[Alternative, float]] = []
    unscored: list[tuple[Alternative, float]] = []
    n_scored = total = 0.0
    shares = [entry for entry in zip(question.alternatives, probabilities, strict=True) if entry[1]]
    for alternative, share in shares:
        distribution[alternative.name] = share
        if alternative.score is None or alternative.value is None:
            unscored.append((alternative, share))
        else:
            scored.append((alternative, share))
            n_scored += share
            total += share * alternative.value
    expected: float | None = None
    score: float | None = None
    if round(n_scored, DIGITS) < 1 / 2:
        chosen = max(unscored, key=itemgetter(1))[0]
        value = chosen.value
    else:
        expected = round(total / n_scored, DIGITS)
        score = scale.score(expected)
        chosen = _lower_median(scored, n_scored)
        value = expected
        if scale.choices or scale.integer:
            value = chosen.value
    confidence = confidence_of(probabilities)
    return AnswerValue(
        value, chosen.label, chosen.score, expected, score, distribution, confidence, describe_shares(shares)
    )


def _lower_median(scored: Shares, n_scored: float) -> Alternative:
    """Return the alternative at which half of the probability of the scored ones is reached."""
    below = 0.0
    ranked = sorted(scored, key=lambda entry: entry[0].score or 0.0)
    for alternative, share in ranked:
        below += share
        if below >= n_scored / 2 - NOISE:  # three times .1 is more than .3 to a computer
            return alternative
    return ranked[-1][0]


def describe_shares(shares: Shares) -> str:
    """Say how probable the labels are, or the numbers without one: "incorrect 71%, grounded 29%"."""
    by_name: dict[str, float] = {}
    for alternative, share in shares:
        name = alternative.label or f"{alternative.name}:"
        by_name[name] = by_name.get(name, 0.0) + share  # several values can have one label
    entries: list[str] = []
    for name, share in sorted(by_name.items(), key=itemgetter(1), reverse=True):
        if share >= MIN_SHOWN:
            entries.append(f"{name} {round(100 * share)}%")
    return ", ".join(entries)


def reason_of(shares: str) -> str:
    """Return the reason of a verdict: the model itself writes no words."""
    return f"{shares} {NO_REASONS}".strip()
