"""A question for a decision model, independent of any endpoint's form: models write it in theirs.

Its options also say what they mean on the judge's scale, which no model is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple


class Option(NamedTuple):
    """A possible answer. Only its key and its description are sent.

    Attributes:
        key: what is sent and comes back: a letter; for a score the index of the level, from "0"; for an
            evidence question the number of a sentence of the source, and "0" for none.
        description: the situation in which it is the right answer; None if the key says it.
        name: its name in a distribution: the number, or the label on a scale of labels or levels; "" if it
            is not on the judge's scale, as in an evidence question.
        value: the number on the scale, or a label's score; None for "no claim", and for a label that means
            "not applicable".
        label: the label, or that of the value's level; "" if there is none.
        score: the value as a score, 0..1; None if it does not count in the score.
    """

    key: str
    description: str | None
    name: str = ""
    value: float | None = None
    label: str = ""
    score: float | None = None


@dataclass(frozen=True)
class Question:
    """A question; its instructions are complete, because a model is not told its id.

    Attributes:
        id: what distinguishes it from the other questions of its request.
        type: whether one of the options is chosen, or a level is given.
        instructions: the question.
        options: the options; for a score its levels, lowest first.
    """

    id: str
    type: Literal["choice", "score"]
    instructions: str
    options: tuple[Option, ...]

    @property
    def keys(self) -> list[str]:
        """The keys of the options."""
        return [option.key for option in self.options]


def system_one_questions(questions: Iterable[Question]) -> dict[str, dict[str, Any]]:
    """Return questions in the System One form, which libraries accept too, by their ids.

    As in `{"verdict": {"type": "choice", "instructions": "...", "criteria": {"A": "...", "B": "..."}}}`.
    """
    by_id: dict[str, dict[str, Any]] = {}
    for question in questions:
        criteria: object = {option.key: option.description for option in question.options}
        if question.type == "score":  # levels are known by their place
            criteria = [option.description for option in question.options]
        by_id[question.id] = {
            "type": question.type,
            "instructions": question.instructions,
            "criteria": criteria,
        }
    return by_id
