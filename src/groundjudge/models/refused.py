"""Parameters that an endpoint refuses: learned from its error messages, because lists of models go stale."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LEFT_OUT = ""
"""Stands for the new name of a parameter that is no longer sent."""

RENAMED = {"max_tokens": "max_completion_tokens"}

REFUSING = ("bad_request", "not_found")
"""The codes of a ModelError that a refused parameter can cause."""

REFUSAL = re.compile(
    r"unsupported|not support|n.t support|not permitted|not allowed|not available|unavailable"
    r"|unrecognized|unknown|unexpected|deprecated|cannot both",
    re.IGNORECASE,
)
"""How endpoints word a refused parameter, but not a bad value ("max_tokens is too large")."""


def refused(message: str, param: str, sent: Iterable[str]) -> dict[str, str]:
    """The refused parameter with its new name or LEFT_OUT; an empty dict if the message refuses none.

    Args:
        message: the endpoint's error message.
        param: the parameter that the endpoint names in a field of its own, or "".
        sent: the names of the parameters that were sent.
    """
    names = list(sent)
    mentioned = [name for name in names if _mentions(param, name)] or [
        name for name in names if _mentions(message, name)
    ]
    # For "temperature and top_p cannot both be given" it is enough to leave out the last one. A response
    # format only helps: whatever is wrong with it, the model can reply without it.
    for name in reversed(mentioned):
        if name == "response_format" or REFUSAL.search(message):
            new = RENAMED.get(name, LEFT_OUT)
            return {name: new if _mentions(message, new) else LEFT_OUT}
    return {}


def accepted(parameters: Mapping[str, Any], refusals: Mapping[str, str]) -> dict[str, Any]:
    """The parameters as the endpoint accepts them: renamed or left out as `refusals` says."""
    sent: dict[str, Any] = {}
    for parameter, value in parameters.items():
        name = parameter
        while name in refusals:
            name = refusals[name]
        if name != LEFT_OUT:
            sent.setdefault(name, value)
    return sent


def _mentions(text: str, name: str) -> bool:
    return bool(name) and re.search(rf"\b{re.escape(name)}\b", text) is not None
