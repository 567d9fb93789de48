"""What the probabilities of an answer mean: a value, a label, the expected value, and a confidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from groundjudge.decisions.answers import Probabilities
from groundjudge.decisions.questionnaire import Alternative, JudgeQuestion
from groundjudge.scale import DIGITS, Scale
from groundjudge.verdict import NO_REASONS

LEAST_SHOWN = 0.005
"""What is less probable than half a percent is not in a reason."""


@dataclass(frozen=True)
class AnswerValue:
    """What one answer says.

    Attributes:
        value: the number on the judge's own scale; None for "no claim", and for a label that means "not
            applicable".
        label: the label of that value; "" if it has none.
        expected: the mean of the values with a score by how probable they are; None if there is nothing to
            judge.
        distribution: how probable each option is, those of 0 left out.
        confidence: see `confidence_of`.
        shares: the likeliest labels, or numbers without one, in words: "incorrect 71 %, grounded 29 %".
    """

    value: float | None
    label: str
    expected: float | None
    distribution: Mapping[str, float]
    confidence: float
    shares: str


def value_of(question: JudgeQuestion, probabilities: Probabilities, scale: Scale) -> AnswerValue:
    """Return what the probabilities of the alternatives of a question say.

    There is nothing to judge only if it is more probable than one half that the answer has no score.
    Otherwise such answers are left out. The label is the lower median in the order of score; so is the value
    where only whole numbers or labels are values, and elsewhere it is the expected value.
    """
    pairs = list(zip(question.alternatives, probabilities, strict=True))
    unscored = [pair for pair in pairs if pair[0].score is None]
    scored = [pair for pair in pairs if pair[0].score is not None]
    distribution = {alternative.name: round(share, DIGITS) for alternative, share in pairs if share}
    confidence = confidence_of(probabilities)
    shares = describe_shares(pairs)
    if round(sum(share for _, share in unscored), DIGITS) > 1 / 2:
        likeliest = max(unscored, key=lambda pair: pair[1])[0]
        return AnswerValue(likeliest.value, likeliest.label, None, distribution, confidence, shares)
    total = sum(share for _, share in scored)
    expected = 0.0
    for alternative, share in scored:
        expected += (alternative.value or 0.0) * share / total
    # The noise of floating point may not leave the scale.
    values = [alternative.value or 0.0 for alternative, _ in scored]
    expected = min(max(round(expected, DIGITS), min(values)), max(values))
    median = _lower_median(scored, total)
    value: float | None = expected
    if scale.choices or scale.integer:
        value = median.value
    return AnswerValue(value, median.label, expected, distribution, confidence, shares)


def _lower_median(scored: Sequence[tuple[Alternative, float]], total: float) -> Alternative:
    """Return the first alternative, from the worst score up, with half of the probability at or below it."""
    ranked = sorted(scored, key=lambda pair: pair[0].score or 0.0)
    below = 0.0
    for alternative, share in ranked:
        below += share / total
        if round(below, DIGITS) >= 1 / 2:
            return alternative
    return ranked[-1][0]


def confidence_of(probabilities: Iterable[float], n_options: int = 0) -> float:
    """Return how sure a distribution is: 1 if it is all on one option, 0 if all are equally probable.

    Args:
        probabilities: those of the options; they add up to 1.
        n_options: how many options there are, if those of 0 are left out.
    """
    shares = list(probabilities)
    n_options = max(n_options, len(shares))
    if n_options < 2:  # noqa: PLR2004  there is nothing to choose
        return 1.0
    confidence = (n_options * max(shares) - 1) / (n_options - 1)
    return min(max(round(confidence, DIGITS), 0.0), 1.0)


def describe_shares(pairs: Iterable[tuple[Alternative, float]]) -> str:
    """Say how probable the labels are, or the numbers that have none, the likeliest first."""
    shares: dict[str, float] = {}
    for alternative, share in pairs:
        name = alternative.label or f"{alternative.name}:"
        shares[name] = shares.get(name, 0.0) + share
    ranked = sorted(shares.items(), key=lambda pair: -pair[1])
    return ", ".join(f"{name} {100 * share:.0f} %" for name, share in ranked if share >= LEAST_SHOWN)


def reason_of(shares: str) -> str:
    """Return the reason of a verdict: there are no words of the model's own."""
    return f"{shares} {NO_REASONS}".strip()
