"""A question for a decision model, in no endpoint's form: models write it in theirs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal


@dataclass(frozen=True)
class Option:
    """What can be answered.

    Attributes:
        key: what is sent and comes back: a letter; of a score the index of the level, from "0"; of a question
            of evidence the number of a sentence of the source, and "0" for none.
        description: the situation in which it is the right answer; "" where the key says it.
    """

    key: str
    description: str


@dataclass(frozen=True)
class Question:
    """A question, which its instructions say in full: a model is not told its id.

    Attributes:
        id: what tells it from the other questions of its request.
        type: whether one of the options is chosen, or a level is given.
        instructions: the question.
        options: the options; of a score its levels, lowest first.
    """

    id: str
    type: Literal["choice", "score"]
    instructions: str
    options: tuple[Option, ...]

    @cached_property
    def keys(self) -> list[str]:
        """The keys of the options."""
        return [option.key for option in self.options]


def options_of(question: Question) -> dict[str, str | None]:
    """Return the descriptions of a choice's options by their keys; None where the key says it all."""
    return {option.key: option.description or None for option in question.options}


def system_one_questions(questions: Iterable[Question]) -> dict[str, dict[str, Any]]:
    """Return questions in the form of System One, which libraries take too, by their ids.

    As in `{"verdict": {"type": "choice", "instructions": "...", "criteria": {"A": "...", "B": "..."}}}`.
    """
    by_id: dict[str, dict[str, Any]] = {}
    for question in questions:
        criteria: object = options_of(question)
        if question.type == "score":  # levels are known by their place
            criteria = [option.description for option in question.options]
        by_id[question.id] = {
            "type": question.type,
            "instructions": question.instructions,
            "criteria": criteria,
        }
    return by_id
