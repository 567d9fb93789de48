"""Find the decision model that a name, or a library's object, means."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from groundjudge.models.failure import model_error
from groundjudge.models.library import has_methods
from groundjudge.rubric.model import Model
from groundjudge.text.patterns import compile_when_used

FORMS = ("decisions", "systemone")
"""The prefixes of decision models' names, by the form of their endpoint, OpenAI's or System One's."""

ELSEWHERE = r"(?i)(?:langchain:)?(?:openai[-_:/]+)?"

OTHER_NAMES: Sequence[tuple[str, re.Pattern[str]]] = (
    ("decisions", compile_when_used(ELSEWHERE + r"decisions?[:/]+(.*)")),
    ("systemone", compile_when_used(ELSEWHERE + r"(?:system[-_]?one|typesafe)(?::/?|/(?!jev-))(.*)")),
    # By their own names: TypeSafe's, also at a gateway, and OpenRouter's for OpenAI's.
    ("systemone", compile_when_used(r"(?i)(?:openai:)?((?:typesafe/)?jev-.+|.+-decisions(?:-\d{8})?)")),
)
"""What decision models are called elsewhere, after the prefixes of their names here."""


def find_model(candidate: object, client: object, options: Mapping[str, Any]) -> Model | None:
    """Return the decision model of a name or of a library's object; None if it is not a decision model.

    Args:
        candidate: the name or the object.
        client: the client that was passed with a name; None without one.
        options: the options that were passed with a name.

    Raises:
        ModelError: `unknown_model`: a name is spelled as in another tool, or lacks the form or the model;
            the message has the right name.
    """
    if not isinstance(candidate, str):
        # An object without either method cannot answer questions, and does not wrap one that can.
        if not has_methods(candidate, "decide") and not has_methods(candidate, "ainvoke"):
            return None
        from groundjudge.decisions.libraries import library_model  # noqa: PLC0415

        return library_model(candidate)
    if candidate.partition(":")[0] in FORMS:
        # Importing the client takes a second.
        from groundjudge.decisions.endpoint import DecisionModel  # noqa: PLC0415

        return DecisionModel(candidate, client=client, **options)
    # Refused, not translated: a verdict names its model, and each model should have one name there.
    for form, spelling in OTHER_NAMES:
        other_name = spelling.fullmatch(candidate)
        if other_name:
            right_name = f"{form}:{other_name[1].strip() or 'MODEL'}"
            message = f'{candidate!r} is a decision model, which is called "{right_name}" here'
            raise model_error("unknown_model", message, candidate)
    return None
