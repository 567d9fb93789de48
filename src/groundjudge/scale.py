"""A scale: the numbers or the labels that a judge may answer with."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import ceil, floor
from typing import Any, cast

from pydantic import Field, field_validator, model_validator

from groundjudge.verdict import Finite, Frozen, Score

DIGITS = 12
"""Decimal places of a score that are kept: the noise of floating point lies behind them."""

BRACKETS = ("[]", "()", "{}", "（）", "【】")
QUOTES = " \t\n\"'`*“”„‘’«»「」『』"
"""Quotation marks, emphasis and white space around a label."""

FINAL = ".,;:!。，；：！"
"""Punctuation with which a label may end."""

SPACES = re.compile(r"[\s_]+|(?<=[^\W\d_])[-‐-―](?=[^\W\d_])")
"""White space, `_`, and hyphens between letters. Other signs are part of a label: `A-` is not `A`."""

DASHES = str.maketrans("‐‑‒–—―−", "-------")


class Scale(Frozen):
    """The numbers that a judge may give, or the labels (`choices`).

    Attributes:
        worst: the number that scores 0. It may be the larger one.
        best: the number that scores 1.
        integer: whether only whole numbers are allowed.
        choices: the labels that the judge chooses from, each with its score, 0..1, or None for a label that
            means "not applicable". White space, `_`, hyphens between letters, case, quotation marks and
            final punctuation do not distinguish labels. {} if the judge answers with a number.

    Raises:
        ValidationError: worst and best are the same number or missing; or the choices cannot be told
            apart, lie outside of 0..1, do not have two different scores, or come with worst, best or integer.
    """

    worst: Finite = 0.0
    best: Finite = 1.0
    integer: bool = False
    choices: Mapping[str, Score | None] = Field(default_factory=dict[str, float | None])

    @field_validator("choices", mode="before")
    @classmethod
    def _named_in_words(cls, choices: object) -> object:
        """YAML reads the bare words yes, no, on, off, true and false as booleans."""
        if not isinstance(choices, Mapping):
            return choices
        named = cast("Mapping[object, object]", choices)
        by_text = {str(name): score for name, score in named.items()}
        if any(isinstance(name, bool | None) for name in named) or len(by_text) < len(named):
            words = "yes, no, on, off, true and false as booleans, null and ~ as nothing, and 1 as a number"
            message = f'YAML reads {words}: quote the labels, as in "yes": 1'
            raise ValueError(message)
        return by_text

    @model_validator(mode="after")
    def _is_consistent(self) -> Scale:
        fault = _choices_fault(self) if "choices" in self.model_fields_set else _numbers_fault(self)
        if fault:
            raise ValueError(fault)
        return self

    def holds(self, value: float) -> bool:
        """Whether the value lies on the scale, its ends included; on a scale of labels, no number does."""
        return not self.choices and min(self.worst, self.best) <= value <= max(self.worst, self.best)

    def score(self, value: float) -> float:
        """The value as a score: 0 at the scale's worst end, 1 at its best. A label's value is its score."""
        return round((value - self.worst) / (self.best - self.worst), DIGITS)  # 8.8 of 10 is 0.88

    def find_choice(self, text: str) -> str | None:
        """The choice that a text is, all of it; None if it is not one."""
        return {fold_label(name): name for name in self.choices}.get(fold_label(text))

    def nearest(self, score: float) -> str:
        """The choice whose score is nearest, the lower one of two; "" on a scale of numbers."""
        scored = {name: own for name, own in self.choices.items() if own is not None}
        return min(scored, key=lambda name: (abs(scored[name] - score), scored[name])) if scored else ""

    @property
    def expected_text(self) -> str:
        """What belongs in the place of a verdict, in words."""
        return f"one of {', '.join(self.choices)}" if self.choices else f"one number on {self}"

    @property
    def without_score(self) -> str | None:
        """The first choice that means "not applicable"; None if there is none."""
        return next((name for name, own in self.choices.items() if own is None), None)

    @property
    def whole_numbers(self) -> range:
        """The values of a scale of whole numbers; empty for any other scale."""
        lowest, highest = sorted((self.worst, self.best))
        return range(ceil(lowest), floor(highest) + 1) if self.integer else range(0)

    def __str__(self) -> str:
        if self.choices:
            scores = {
                name: "not applicable" if own is None else f"{own:g}" for name, own in self.choices.items()
            }
            return ", ".join(f"{name} ({score})" for name, score in scores.items())
        return f"{self.worst:g}..{self.best:g}{' (whole numbers)' if self.integer else ''}"


def Choices(choices: Mapping[str, float | None]) -> Scale:  # noqa: N802  it is written where a Scale is made
    """A scale of labels, each with its score, 0..1, or None for "not applicable".

    Raises:
        ValidationError: as for `Scale`.
    """
    given: Any = choices
    return Scale(choices=given)


def fold_label(label: str) -> str:
    """A label as it is compared: `**Not_supported.**` is "not supported"."""
    text = label.strip(QUOTES)
    while text[:1] + text[-1:] in BRACKETS:
        text = text[1:-1].strip(QUOTES)
    return SPACES.sub(" ", text.rstrip(QUOTES + FINAL).casefold()).strip().translate(DASHES)


def _numbers_fault(scale: Scale) -> str:
    missing = [end for end in ("worst", "best") if end not in scale.model_fields_set]
    if missing:
        return f"{' and '.join(missing)} missing: a scale has worst and best, or choices (labels)"
    return "worst and best are the same number" if scale.worst == scale.best else ""


def _choices_fault(scale: Scale) -> str:
    if scale.model_fields_set != {"choices"}:
        return "choices need no worst, best or integer: each has its own score"
    alike = [fold_label(name) for name in scale.choices]
    if "" in alike or len(set(alike)) < len(alike):
        return f"choices: labels must differ in their words, not {', '.join(map(repr, scale.choices))}"
    if len({*scale.choices.values()} - {None}) < 2:  # noqa: PLR2004  a judge must be able to choose
        return "choices: at least two of them must have different scores"
    return ""
