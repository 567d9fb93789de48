"""Parameters that an endpoint turns down: found out by trying, as lists of what models take go stale."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LEFT_OUT = ""
"""What a parameter is called that is no longer sent."""

RENAMED = {"max_tokens": "max_completion_tokens"}

REFUSING = ("bad_request", "not_found")
"""The codes of a ModelError behind which a parameter may be that is not taken."""

REFUSAL = re.compile(
    r"unsupported|not support|n.t support|not permitted|not allowed|not available|unavailable"
    r"|unrecognized|unknown|unexpected|deprecated|cannot both",
    re.IGNORECASE,
)
"""A parameter is refused, in the words of many endpoints; a bad value ("max_tokens is too large") is not."""


def refused(words: str, param: str, sent: Iterable[str]) -> dict[str, str]:
    """The parameter that a complaint turns down, and its new name or LEFT_OUT; nothing if it turns down none.

    Args:
        words: the complaint.
        param: the parameter that it is about, if the endpoint says so.
        sent: the names of the parameters that were sent.
    """
    complained_of = [name for name in sent if _names(param, name)]
    named = complained_of or [name for name in sent if _names(words, name)]
    # Of "temperature and top_p cannot both be given" only the last one has to go. A response format
    # is no more than a help: whatever is wrong with it, the reply can be had without.
    for name in reversed(named):
        if name == "response_format" or REFUSAL.search(words):
            new = RENAMED.get(name, LEFT_OUT)
            return {name: new if _names(words, new) else LEFT_OUT}
    return {}


def accepted(parameters: Mapping[str, Any], refusals: Mapping[str, str]) -> dict[str, Any]:
    """The parameters as the endpoint takes them."""
    sent: dict[str, Any] = {}
    for parameter, value in parameters.items():
        name = parameter
        while name in refusals:
            name = refusals[name]
        if name != LEFT_OUT:
            sent.setdefault(name, value)
    return sent


def _names(words: str, name: str) -> bool:
    return bool(name) and re.search(rf"\b{re.escape(name)}\b", words) is not None
