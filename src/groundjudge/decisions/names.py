"""Find the decision model that a name, or a library's object, means."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from groundjudge.models.failure import model_error
from groundjudge.models.library import has_methods
from groundjudge.rubric.model import Model
from groundjudge.text.patterns import LazyPattern, compile_when_used

FORMS = ("decisions", "systemone")
"""The prefixes of decision models' names, by the form of their endpoint, OpenAI's or System One's."""

OTHER_SPELLINGS: Mapping[str, LazyPattern] = {
    "decisions": compile_when_used(r"(?:langchain:)?(?:openai[-_:/]+)?decisions?[:/]+(.*)", re.IGNORECASE),
    "systemone": compile_when_used(
        r"(?:langchain:)?(?:openai[-_:/]+)?(?:system[-_]?one|typesafe)(?::/?|/(?!jev-))(.*)", re.IGNORECASE
    ),
}
"""What other tools call decision models, by the prefix of their names here."""

CANNOT_CHAT = compile_when_used(r"(?:openai:)?((?:typesafe/)?jev-.+|.+-decisions(?:-\d{8})?)", re.IGNORECASE)
"""Decision models by their own names: TypeSafe's, also at a gateway, and OpenRouter's names for OpenAI's."""


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
    message = ""
    for right_form, spelling in OTHER_SPELLINGS.items():
        other_name = spelling.fullmatch(candidate)
        if other_name:
            right_name = f"{right_form}:{other_name[1].strip() or 'MODEL'}"
            message = f'the model {candidate!r} is called "{right_name}" here'
    chatless = CANNOT_CHAT.fullmatch(candidate)
    if chatless:
        message = (
            f'{candidate!r} is a decision model, which cannot chat: pass "systemone:{chatless[1]}", and set '
            "TYPESAFE_BASE_URL if the endpoint is not TypeSafe's"
        )
    if message:
        raise model_error("unknown_model", message, candidate)
    return None
