"""Parameters that an endpoint refuses: learned from its error messages, because lists of models go stale."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

LEFT_OUT = ""
"""Stands for the new name of a parameter that is no longer sent."""

JSON_OBJECT = "json_object"
"""Stands for a response format of any JSON, instead of a schema."""

RENAMED = {"max_tokens": "max_completion_tokens"}

LOGPROBS = ("logprobs", "top_logprobs")
"""Asked for together. Like a response format they only help: whatever is wrong with them, the model can
reply without them."""

REFUSING = ("bad_request", "not_found", "auth")
"""The codes of a ModelError that a refused parameter can cause. "auth" is a 403: "You are not allowed to
request logprobs from this model"."""

WORDED = {
    **dict.fromkeys(LOGPROBS, re.compile(r"log.?prob", re.IGNORECASE)),
    "response_format": re.compile(
        r"response.?(?:format|schema)|json.?(?:schema|object)|structured.?output|grammar", re.IGNORECASE
    ),
}
"""How endpoints name these parameters; any other by its own name."""

REFUSAL = re.compile(
    r"unsupported|not support|n.t support|not permitted|not allowed|not available|unavailable"
    r"|unrecognized|unknown|unexpected|deprecated|cannot both",
    re.IGNORECASE,
)
"""How endpoints word a refused parameter, but not a bad value ("max_tokens is too large")."""


def refused(code: str, message: str, param: str, sent: Mapping[str, Any]) -> dict[str, str]:
    """The refused parameter with its new name or LEFT_OUT; an empty dict if the message refuses none.

    Args:
        code: the code of the ModelError.
        message: the endpoint's error message.
        param: the parameter that the endpoint names in a field of its own, or "".
        sent: the parameters that were sent.
    """
    names = list(sent) if code in REFUSING else []
    mentioned = [name for name in names if _mentions(param, name)] or [
        name for name in names if _mentions(message, name)
    ]
    if any(name in LOGPROBS for name in mentioned):
        return dict.fromkeys(LOGPROBS, LEFT_OUT)
    if code == "auth":  # what else is forbidden is no matter of parameters
        return {}
    if "response_format" in mentioned:
        return {"response_format": looser_format(sent)}
    # For "temperature and top_p cannot both be given" it is enough to leave out the last one.
    for name in reversed(mentioned):
        if REFUSAL.search(message):
            new = RENAMED.get(name, LEFT_OUT)
            return {name: new if _mentions(message, new) else LEFT_OUT}
    return {}


def looser_format(sent: Mapping[str, Any]) -> str:
    """What becomes of a response format that was refused or ignored: JSON without a schema, then none."""
    match sent["response_format"]:
        case {"type": "json_schema"}:
            return JSON_OBJECT
        case _:
            return LEFT_OUT


def accepted(parameters: Mapping[str, Any], refusals: Mapping[str, str]) -> dict[str, Any]:
    """The parameters as the endpoint accepts them: renamed, replaced or left out as `refusals` says."""
    sent: dict[str, Any] = {}
    if refusals.get("response_format") == JSON_OBJECT and "response_format" in parameters:
        parameters = {**parameters, "response_format": {"type": JSON_OBJECT}}
        refusals = {name: new for name, new in refusals.items() if name != "response_format"}
    for parameter, value in parameters.items():
        name = parameter
        while name in refusals:
            name = refusals[name]
        if name != LEFT_OUT:
            sent.setdefault(name, value)
    return sent


def _mentions(text: str, name: str) -> bool:
    worded = WORDED.get(name) or re.compile(rf"\b{re.escape(name)}\b")
    return bool(name) and worded.search(text) is not None
