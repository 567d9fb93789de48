"""Parameters that an endpoint refuses: learned from its error messages, because lists of models go stale."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from groundjudge.case.data import is_mapping
from groundjudge.errors import ModelError
from groundjudge.models.answer import message_in
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
    **dict.fromkeys(LOGPROBS, "(?i)log.?prob"),
    "response_format": "(?i)response.?(?:format|schema)|json.?(?:schema|object)|structured.?output|grammar",
}
"""How endpoints name these parameters (regular expressions); any other by its own name."""

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


async def negotiate(
    request: Request, known: dict[str, str], who: str, send: Callable[[dict[str, Any]], Awaitable[Reply]]
) -> Reply:
    """The reply to a request, sent again without each parameter that the endpoint refuses.

    What was refused is known to other requests once leaving it out has helped. What was ignored is not asked
    for again, unless the user asked for it.

    Args:
        request: the request.
        known: what the endpoint is known to refuse; it grows, by this request and by others.
        who: the model and its endpoint, for the log.
        send: from the parameters to the reply.

    Raises:
        ModelError: whatever `send` raises, unless it refuses a parameter.
    """
    refused: dict[str, str] = {}
    retries = 0
    while True:
        sent = apply_refusals(request.parameters, {**known, **refused})
        try:
            reply = await send(sent)
        except ModelError as error:
            news = _refused(error, sent)
            if not news:
                raise
            refused |= news
            retries += error.retries
        else:
            _learn(known, refused, f"{who} refuses")
            ignored = {
                name: new for name, new in _ignored(reply, sent).items() if name in request.added_parameters
            }
            _learn(known, ignored, f"{who} ignores")
            return replace(reply, retries=reply.retries + retries) if retries else reply


def apply_refusals(parameters: Mapping[str, Any], refusals: Mapping[str, str]) -> dict[str, Any]:
    """The parameters as the endpoint accepts them: renamed, replaced or left out as `refusals` says."""
    sent: dict[str, Any] = {}
    for parameter, value in parameters.items():
        name = refusals.get(parameter, parameter)
        name = refusals.get(name, name)  # the new name may be refused too
        if name == JSON_OBJECT:
            sent[parameter] = {"type": JSON_OBJECT}
        elif name != LEFT_OUT:
            sent.setdefault(name, value)
    return sent


def _learn(known: dict[str, str], changes: Mapping[str, str], who: str) -> None:
    """Add to what is known, and log it; what is left out stays so."""
    news = {name: new for name, new in changes.items() if known.get(name) not in (new, LEFT_OUT)}
    known.update(news)
    if news:
        told = [f"{name} is {f'sent as {new}' if new else 'left out'}" for name, new in news.items()]
        log.warning("%s parameters: from now on %s", who, ", ".join(told))


def _ignored(reply: Reply, sent: Mapping[str, Any]) -> dict[str, str]:
    """The parameters to which the reply pays no attention, each with what becomes of it."""
    found: dict[str, str] = {}
    if "logprobs" in sent and reply.text and reply.tokens is None:
        found |= dict.fromkeys(LOGPROBS, LEFT_OUT)
    is_finished = reply.finish_reason in {None, "stop"} and reply.refusal is None and reply.text.strip()
    if "response_format" in sent and is_finished and "{" not in reply.text:  # no schema allows that
        found["response_format"] = _looser_format(sent)
    return found


def _refused(error: ModelError, sent: Mapping[str, Any]) -> dict[str, str]:
    """The refused parameter with its new name or LEFT_OUT; an empty dict if the error refuses none."""
    raised = getattr(error.__cause__, "raised", None)  # of a RedactedError
    if raised is None or error.code not in REFUSING:
        return {}
    message = message_in(raised)
    mentioned = _mentioned(str(getattr(raised, "param", None)), sent) or _mentioned(message, sent)
    if {*LOGPROBS}.intersection(mentioned):
        return dict.fromkeys(LOGPROBS, LEFT_OUT)
    if error.code == "auth" or not mentioned:  # what else is forbidden is no matter of parameters
        return {}
    if "response_format" in mentioned:
        return {"response_format": _looser_format(sent)}
    if not REFUSAL.search(message):
        return {}
    # For "temperature and top_p cannot both be given" it is enough to leave out the last one.
    new = RENAMED.get(mentioned[-1], LEFT_OUT)
    return {mentioned[-1]: new if _mentioned(message, [new]) else LEFT_OUT}


def _mentioned(text: str, names: Iterable[str]) -> list[str]:
    """Those of the parameters that a text names."""
    return [name for name in names if re.search(WORDED.get(name, rf"\b{re.escape(name)}\b"), text)]


def _looser_format(sent: Mapping[str, Any]) -> str:
    """What becomes of a response format that was refused or ignored: JSON without a schema, then none."""
    asked = sent["response_format"]
    return JSON_OBJECT if is_mapping(asked) and asked.get("type") == "json_schema" else LEFT_OUT
