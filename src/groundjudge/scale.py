"""A scale: the numbers or the labels that a judge may answer with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil, floor
from typing import cast

from pydantic import Field, field_validator, model_validator

from groundjudge.verdict import Finite, Frozen, Score

DIGITS = 12
"""Decimal places of a score that are kept: further ones are floating-point noise."""

PAIRS = (
    *('""', "''", "“”", "‘’", "„“", "„”", "«»", "»«", "「」", "『』"),
    *("**", "__", "``", "[]", "()", "{}", "（）", "【】"),
)
"""Quotation marks, emphasis and brackets around a value. A single one is part of it: `A*` is not `A`."""

FULL_STOPS = (".", "。")

SPACES = r"[\s_]+|(?<=[^\W\d_])[-‐-―](?=[^\W\d_])"
"""White space, `_`, and hyphens between letters. Other characters are part of a label: `A-` is not `A`."""

MARKS = str.maketrans("‐‑‒–—―−’ʼ", "-------''")
"""Dashes and the minus sign are compared as "-", and apostrophes as "'"."""


class Scale(Frozen):
    """The numbers that a judge may give, or the labels (`choices`).

    Attributes:
        worst: the number that scores 0. It may be the larger number.
        best: the number that scores 1.
        integer: whether only whole numbers are allowed.
        choices: the labels that the judge chooses from, each with its score, 0..1, or None for a label that
            means "not applicable". White space, `_`, hyphens between letters, case, pairs of quotation
            marks and a full stop do not distinguish labels. {} if the judge answers with a number.

    Raises:
        ValidationError: worst and best are the same number or missing; or the choices cannot be told apart,
            lie outside 0..1, do not have two different scores, or are combined with worst, best or integer.
    """

    worst: Finite = 0.0
    best: Finite = 1.0
    integer: bool = False
    choices: Mapping[str, Score | None] = Field(default_factory=dict[str, float | None])

    @field_validator("choices", mode="before")
    @classmethod
    def _refuse_labels_that_are_no_words(cls, choices: object) -> object:
        """Refuse labels that YAML does not read as text, such as the bare words true and false."""
        if not isinstance(choices, Mapping):
            return choices  # pydantic refuses it
        labels = cast("Mapping[object, object]", choices)
        scores_by_text = {str(label): score for label, score in labels.items()}
        has_no_word = any(isinstance(label, bool | None) for label in labels)
        has_one_text_twice = len(scores_by_text) < len(labels)  # 1 and "1"
        if has_no_word or has_one_text_twice:
            words = "true and false as booleans, null and ~ as null, and 1 as a number"
            message = f'YAML reads {words}: quote the labels, as in "true": 1'
            raise ValueError(message)
        return scores_by_text

    @model_validator(mode="after")
    def _check_consistency(self) -> Scale:
        # Not whether it is empty: `choices: {}` is a scale of labels that lacks its labels.
        if "choices" in self.model_fields_set:
            fault = _fault_of_choices(self)
        else:
            fault = _fault_of_numbers(self)
        if fault:
            raise ValueError(fault)
        return self

    def holds(self, value: float) -> bool:
        """Return whether the value is on the scale, ends included; no number is on a scale of labels."""
        if self.choices:
            return False
        return min(self.worst, self.best) <= value <= max(self.worst, self.best)

    def score(self, value: float) -> float:
        """The value as a score: 0 at the scale's worst end, 1 at its best. A label's value is its score."""
        score = round((value - self.worst) / (self.best - self.worst), DIGITS)  # 8.8 of 10 is 0.88
        return score + 0.0  # never -0.0, as 0 / -4 is

    def find_choice(self, text: str) -> str | None:
        """Return the choice that the whole text is; None if it is not one."""
        folded_text = fold_label(text)
        for choice in self.choices:
            if fold_label(choice) == folded_text:
                return choice
        return None

    def nearest(self, score: float) -> str:
        """Return the choice whose score is nearest, the lower one of two; "" on a scale of numbers."""
        nearest_choice = ""
        smallest: tuple[float, float] | None = None
        for choice, choice_score in self.choices.items():
            if choice_score is None:
                continue
            distance = (abs(choice_score - score), choice_score)
            if smallest is None or distance < smallest:
                nearest_choice = choice
                smallest = distance
        return nearest_choice

    @property
    def expected_text(self) -> str:
        """What belongs in the place of a verdict, in words."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return f"one number on {self}"

    @property
    def without_score(self) -> str | None:
        """The first choice that means "not applicable"; None if there is none."""
        for choice, score in self.choices.items():
            if score is None:
                return choice
        return None

    @property
    def whole_numbers(self) -> range:
        """The values of a scale of whole numbers; empty for any other scale."""
        if not self.integer:
            return range(0)
        lowest, highest = sorted((self.worst, self.best))
        return range(ceil(lowest), floor(highest) + 1)

    def __str__(self) -> str:
        if self.choices:
            return ", ".join(_describe_choice(choice, score) for choice, score in self.choices.items())
        numbers = f"{self.worst:g}..{self.best:g}"
        if self.integer:
            return f"{numbers} (whole numbers)"
        return numbers


def Choices(choices: Mapping[str, float | None]) -> Scale:  # noqa: N802  it is written where a Scale is made
    """Return a scale of labels, each with its score, 0..1, or None for "not applicable".

    Raises:
        ValidationError: as for `Scale`.
    """
    return Scale(choices=choices)


def fold_label(label: str) -> str:
    """Return a label as it is compared: `**Not_supported.**` is "not supported"."""
    words = unwrap(label)
    if words.isalnum():  # a number or a word, as most are
        return words.casefold()
    # Hyphens between letters become spaces; the dashes that remain have a meaning, as in "−1" and "A–".
    return fold_marks(words.casefold())


def fold_marks(text: str) -> str:
    """Return a text with the same white space, dashes and apostrophes as other texts."""
    return re.sub(SPACES, " ", text).translate(MARKS)


def unwrap(text: str) -> str:
    """Return a text without its final full stop and without pairs of marks and white space around it."""
    text = text.strip()
    if text.isalnum():  # a number or a word, as most are
        return text
    # By index: 200,000 quotation marks in a scorecard must not cause a copy for each of them.
    start, end = 0, len(text)
    while True:
        while start < end and text[start].isspace():
            start += 1
        words_end = end
        while start < words_end and (text[words_end - 1].isspace() or text[words_end - 1] in FULL_STOPS):
            words_end -= 1
        behind = text[words_end:end]
        if behind.count(".") + behind.count("。") > 1:  # an ellipsis is not a full stop
            return text[start:end].rstrip()
        end = words_end
        # Models mark values in many ways, often in two at once: "**(yes)**".
        if end - start < 2 or text[start] + text[end - 1] not in PAIRS:  # noqa: PLR2004  a pair
            return text[start:end]
        start += 1
        end -= 1


def _describe_choice(choice: str, score: float | None) -> str:
    if score is None:
        return f"{choice} (not applicable)"
    return f"{choice} ({score:g})"


def _fault_of_numbers(scale: Scale) -> str:
    # `best: 5` alone may mean a scale from 0 or from 1: a default for `worst` must not decide that.
    missing = [end for end in ("worst", "best") if end not in scale.model_fields_set]
    if missing:
        return f"{' and '.join(missing)} missing: a scale has worst and best, or choices (labels)"
    if scale.worst == scale.best:
        return "worst and best are the same number"
    return ""


def _fault_of_choices(scale: Scale) -> str:
    if scale.model_fields_set != {"choices"}:
        return "choices need no worst, best or integer: each has its own score"
    folded_labels = [fold_label(choice) for choice in scale.choices]
    # No reply could name a label of only full stops, or distinguish two labels that fold to one.
    has_no_words = any(not label.strip(".") for label in folded_labels)
    if has_no_words or len(set(folded_labels)) < len(folded_labels):
        return f"choices: labels must differ in their words; found {', '.join(map(repr, scale.choices))}"
    distinct_scores = set(scale.choices.values()) - {None}
    if len(distinct_scores) < 2:  # noqa: PLR2004  a judge must be able to choose
        return "choices: at least two of them must have different scores"
    return ""
