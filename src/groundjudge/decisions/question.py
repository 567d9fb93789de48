"""A question for a decision model, independent of any endpoint's form: models write it in theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple


class Option(NamedTuple):
    """A possible answer.

    Attributes:
        key: what is sent and comes back: a letter; for a score the index of the level, from "0"; for an
            evidence question the number of a sentence of the source, and "0" for none.
        description: the situation in which it is the right answer; None if the key says it.
    """

    key: str
    description: str | None


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
