"""Parameters that an endpoint refuses: learned from its error messages, because lists of models go stale."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from groundjudge.case.shapes import is_mapping
from groundjudge.models.model_error import message_in
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request

log = logging.getLogger("groundjudge")

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


_LEARNT: dict[tuple[int, str], dict[str, str]] = {}
"""What endpoints refuse, by the id of the process and the model's identity. A forked process starts anew."""


def learnt_from(identity: str) -> dict[str, str]:
    """The parameters that a model at an endpoint is known to refuse, each with its new name or LEFT_OUT.

    All models with one identity share them.
    """
    return _LEARNT.setdefault((os.getpid(), identity), {})


@dataclass
class Negotiation:
    """Finds the parameters that an endpoint accepts, for one request.

    Attributes:
        who: the model and its endpoint, for the log.
        request: the request.
        known: what the endpoint is known to refuse; it grows when a request succeeds, this one or another.
        refused: what was refused during this request.
        sent: the parameters of the last attempt.
    """

    who: str
    request: Request
    known: dict[str, str]
    refused: dict[str, str] = field(default_factory=dict[str, str])
    sent: dict[str, Any] = field(default_factory=dict[str, Any])

    def parameters(self, possible: Collection[str] | None = None) -> dict[str, Any]:
        """The parameters of the next attempt, without what was refused so far.

        Args:
            possible: the names of those that can be sent; None for all.
        """
        found = accepted(self.request.parameters, {**self.known, **self.refused})
        self.sent = {name: found[name] for name in found if possible is None or name in possible}
        return self.sent

    def is_refusal(self, code: str, error: Exception) -> bool:
        """Whether an error refuses a parameter, so that another attempt without it may succeed.

        Args:
            code: the code of the ModelError that the error means.
            error: what the client raised.
        """
        param = getattr(error, "param", None)
        found = refused(code, message_in(error), param if isinstance(param, str) else "", self.sent)
        self.refused |= found
        return bool(found)

    def succeeded(self, reply: Reply) -> None:
        """Share what was refused, now that leaving it out has helped, and what was ignored.

        The user's own parameters are sent as they are, ignored or not.
        """
        self._share(self.refused, "refuses parameters")
        ignored: dict[str, str] = {}
        if "logprobs" in self.sent and reply.text and reply.tokens is None:
            ignored |= dict.fromkeys(LOGPROBS, LEFT_OUT)
        if "response_format" in self.sent and _cannot_be_json(reply):
            ignored["response_format"] = looser_format(self.sent)
        self._share(
            {name: new for name, new in ignored.items() if name in self.request.added}, "ignores parameters"
        )

    def _share(self, refusals: Mapping[str, str], what: str) -> None:
        """Add to what is known, and log it; what is left out stays so."""
        news = {name: new for name, new in refusals.items() if self.known.get(name) not in (new, LEFT_OUT)}
        self.known.update(news)
        changes = [f"{name} is {f'sent as {new}' if new else 'left out'}" for name, new in news.items()]
        if changes:
            log.warning("%s %s: from now on %s", self.who, what, ", ".join(changes))


def _cannot_be_json(reply: Reply) -> bool:
    """Whether a finished reply has no brace, which no reply by a schema lacks: the format was ignored."""
    is_finished = reply.finish_reason in {None, "stop"} and reply.refusal is None
    return is_finished and bool(reply.text.strip()) and "{" not in reply.text


def refused(code: str, message: str, param: str, sent: Mapping[str, Any]) -> dict[str, str]:
    """The refused parameter with its new name or LEFT_OUT; an empty dict if the message refuses none.

    Args:
        code: the code of the ModelError.
        message: the endpoint's error message.
        param: the parameter that the endpoint names in a field of its own, or "".
        sent: the parameters that were sent.
    """
    names = sent if code in REFUSING else ()
    mentioned = [name for name in names if _mentions(param, name)] or [
        name for name in names if _mentions(message, name)
    ]
    if any(name in LOGPROBS for name in mentioned):
        return dict.fromkeys(LOGPROBS, LEFT_OUT)
    if code == "auth" or not mentioned:  # what else is forbidden is no matter of parameters
        return {}
    if "response_format" in mentioned:
        return {"response_format": looser_format(sent)}
    if not REFUSAL.search(message):
        return {}
    # For "temperature and top_p cannot both be given" it is enough to leave out the last one.
    name = mentioned[-1]
    new = RENAMED.get(name, LEFT_OUT)
    return {name: new if _mentions(message, new) else LEFT_OUT}


def looser_format(sent: Mapping[str, Any]) -> str:
    """What becomes of a response format that was refused or ignored: JSON without a schema, then none."""
    asked = sent["response_format"]
    return JSON_OBJECT if is_mapping(asked) and asked.get("type") == "json_schema" else LEFT_OUT


def accepted(parameters: Mapping[str, Any], refusals: Mapping[str, str]) -> dict[str, Any]:
    """The parameters as the endpoint accepts them: renamed, replaced or left out as `refusals` says."""
    sent: dict[str, Any] = {}
    for parameter, value in parameters.items():
        name = parameter
        if refusals.get(name) == JSON_OBJECT:
            sent[name] = {"type": JSON_OBJECT}
            continue
        while name in refusals:
            name = refusals[name]
        if name != LEFT_OUT:
            sent.setdefault(name, value)
    return sent


def _mentions(text: str, name: str) -> bool:
    worded = WORDED.get(name) or re.compile(rf"\b{re.escape(name)}\b")
    return bool(name) and worded.search(text) is not None
