"""What a decision model is sent about a case: a state, and questions about it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from groundjudge.decisions.question import Question, system_one_questions
from groundjudge.decisions.state import RULES
from groundjudge.rubric.rubric import Request


@dataclass(frozen=True)
class Inquiry:
    """The payload of a request to a decision model.

    Attributes:
        state: what it is shown, as JSON data: the rules under "rules", and the case under the names of its
            fields.
        questions: what it is asked.
    """

    state: Mapping[str, Any]
    questions: tuple[Question, ...]

    @property
    def key(self) -> str:
        """The state and the questions as JSON, in the System One form."""
        # `default`: a prompt's custom input may have any value, such as a date.
        return json.dumps(
            [self.state, system_one_questions(self.questions)], ensure_ascii=False, default=repr
        )

    @property
    def size(self) -> int:
        """The number of bytes in that JSON."""
        return len(self.key.encode())

    def __str__(self) -> str:
        """Write it for people: the rules, the fields and the questions."""
        lines: list[str] = []
        for name, value in self.state.items():
            if name == RULES:
                lines.append(f"rules:\n{value}\n")
            else:
                lines.append(f"{name}: {json.dumps(value, ensure_ascii=False)}\n")
        for question in self.questions:
            lines.append(f"{question.id} ({question.type}): {question.instructions}")
            for option in question.options:
                lines.append(f"  {option.key}: {option.description}")
            lines.append("")
        return "\n".join(lines).rstrip("\n")


def inquiry_of(request: Request) -> Inquiry:
    """Return the part of a request that a decision model is sent.

    Raises:
        TypeError: the request is for another kind of model.
    """
    payload = request.payload
    if not isinstance(payload, Inquiry):
        message = "a decision model needs a request with questions, not one for a text model"
        raise TypeError(message)
    return payload
