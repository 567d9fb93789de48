"""The names of decision models: how they begin, and what other tools call them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from groundjudge.models.answer import model_error
from groundjudge.text.patterns import LazyPattern, compile_when_used

FORMS = ("decisions", "systemone")
"""How the names of decision models begin: by the form that their endpoint has, OpenAI's or System One's."""

OTHER_SPELLINGS: Mapping[str, LazyPattern] = {
    "decisions": compile_when_used(r"(?:langchain:)?(?:openai[-_:/]+)?decisions?[:/]+(.*)", re.IGNORECASE),
    "systemone": compile_when_used(
        r"(?:langchain:)?(?:openai[-_:/]+)?(?:system[-_]?one|typesafe)(?::/?|/(?!jev-))(.*)", re.IGNORECASE
    ),
}
"""What other tools call decision models, by the beginning that their names have here."""

CANNOT_CHAT = compile_when_used(r"(?:openai:)?((?:typesafe/)?jev-.+|.+-decisions(?:-\d{8})?)", re.IGNORECASE)
"""Decision models by their own names: TypeSafe's, also at a gateway, and OpenRouter's names for OpenAI's."""


def is_decision_name(name: str) -> bool:
    """Whether a name is that of a decision model.

    Raises:
        ModelError: `unknown_model`: it is one in the spelling of another tool, or lacks the form or the
            model; the message has the right name.
    """
    form, _, model = name.partition(":")
    if form in FORMS:
        if model.strip():
            return True
        message = f'{name!r} lacks the name of the model, as in "decisions:gpt-6-luna"'
        raise model_error("unknown_model", message, name)
    for right_form, spelling in OTHER_SPELLINGS.items():
        other_name = spelling.fullmatch(name)
        if other_name:
            right_name = f"{right_form}:{other_name[1].strip() or 'MODEL'}"
            raise model_error("unknown_model", f'the model {name!r} is called "{right_name}" here', name)
    chatless = CANNOT_CHAT.fullmatch(name)
    if chatless:
        message = (
            f'{name!r} is a decision model, which cannot chat: pass "systemone:{chatless[1]}", and set '
            "TYPESAFE_BASE_URL if the endpoint is not TypeSafe's"
        )
        raise model_error("unknown_model", message, name)
    return False
