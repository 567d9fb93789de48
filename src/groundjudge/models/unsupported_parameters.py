"""Parameters that an endpoint refuses: learned from its error messages, because lists of models go stale."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

from groundjudge.case.data import is_mapping
from groundjudge.errors import ModelError
from groundjudge.models.answer import message_in
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request
from groundjudge.text.patterns import compile_when_used

log = logging.getLogger("groundjudge")

LEFT_OUT = ""
"""Stands for the new name of a parameter that is no longer sent."""

JSON_OBJECT = "json_object"
"""Stands for a response format of any JSON, instead of a schema."""

RENAMED = {"max_tokens": "max_completion_tokens"}
"""The new names that some endpoints demand."""

LOGPROBS = ("logprobs", "top_logprobs")
"""Asked for together. Like a response format they only help: whatever is wrong with them, the model can
reply without them."""

REFUSING = ("bad_request", "not_found", "auth", "failed")
"""The codes of a ModelError that a refused parameter can cause. "auth" is a 403: "You are not allowed to
request logprobs from this model". "failed" is an exception of LangChain's ChatAnthropic, which knows of some
models that they take no `temperature`, and sends nothing."""

WORDED = {
    **dict.fromkeys(LOGPROBS, "(?i)log.?prob"),
    "response_format": "(?i)response.?(?:format|schema)|json.?(?:schema|object)|structured.?output|grammar",
}
"""How endpoints name these parameters (regular expressions); any other by its own name."""

REFUSAL = compile_when_used(
    r"unsupported|not support|n.t support|not permitted|not allowed|not available|unavailable"
    r"|unrecognized|unknown|unexpected|deprecated|cannot both"
    r"|(?:may|can) only be set to",  # "`temperature` may only be set to 1 when thinking is enabled"
    re.IGNORECASE,
)
"""How endpoints word a refused parameter, but not a bad value ("max_tokens is too large")."""


_REFUSALS: dict[tuple[int, str], dict[str, str]] = {}
"""What endpoints refuse, by the id of the process and the model's identity. A forked process starts anew."""


def known_refusals(identity: str) -> dict[str, str]:
    """Return the parameters that a model at an endpoint is known to refuse, with new names or LEFT_OUT.

    All models with one identity share them.
    """
    return _REFUSALS.setdefault((os.getpid(), identity), {})


def refusals_of(model: Model) -> dict[str, str]:
    """Return the refusals of a model, see `known_refusals`; {} of a model that has none."""
    refusals: object = getattr(model, "refusals", None)
    if not isinstance(refusals, dict):
        return {}
    return cast("dict[str, str]", refusals)


def declare_refusals(model: Model, names: Iterable[str]) -> None:
    """Add parameters to what a model is known to refuse; those with a newer name are sent under that one."""
    refusals = refusals_of(model)
    for name in names:
        refusals[name] = RENAMED.get(name, LEFT_OUT)


async def negotiate(
    request: Request, refusals: dict[str, str], who: str, send: Callable[[dict[str, Any]], Awaitable[Reply]]
) -> Reply:
    """Return the reply to a request, which is sent again without each parameter that the endpoint refuses.

    What was refused is known to other requests once leaving it out has helped. What was ignored is not asked
    for again, unless the user asked for it.

    Args:
        request: the request.
        refusals: what the endpoint is known to refuse; it grows, by this request and by others.
        who: the model and its endpoint, for the log.
        send: from the parameters to the reply.

    Raises:
        ModelError: whatever `send` raises, unless it refuses a parameter.
    """
    new_refusals: dict[str, str] = {}
    retries = 0
    while True:
        # Each time anew: other requests may have found out more while this one waited.
        parameters = apply_refusals(request.parameters, {**refusals, **new_refusals})
        try:
            reply = await send(parameters)
        except ModelError as error:
            refusal = _find_refusal(error, parameters)
            if not refusal:
                raise
            new_refusals.update(refusal)
            retries += error.retries
        else:
            break
    _remember(refusals, new_refusals, f"{who} refuses")
    ignored: dict[str, str] = {}
    for name, new_name in _find_ignored(reply, parameters).items():
        if name in request.added_parameters:
            ignored[name] = new_name
    _remember(refusals, ignored, f"{who} ignores")
    return replace(reply, retries=reply.retries + retries) if retries else reply


def apply_refusals(parameters: Mapping[str, Any], refusals: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters as the endpoint accepts them: renamed, replaced or left out."""
    accepted: dict[str, Any] = {}
    for parameter, value in parameters.items():
        name = refusals.get(parameter, parameter)
        name = refusals.get(name, name)  # the new name may be refused too
        if name == JSON_OBJECT:
            accepted[parameter] = {"type": JSON_OBJECT}
        elif name != LEFT_OUT:
            accepted.setdefault(name, value)
    return accepted


def _remember(refusals: dict[str, str], changes: Mapping[str, str], who: str) -> None:
    """Add to what is known, and log what is new; a parameter that is left out stays so."""
    sentences: list[str] = []
    for name, new_name in changes.items():
        if refusals.get(name) in {new_name, LEFT_OUT}:
            continue
        refusals[name] = new_name
        if new_name == LEFT_OUT:
            sentences.append(f"{name} is left out")
        else:
            sentences.append(f"{name} is sent as {new_name}")
    if sentences:
        log.warning("%s parameters: from now on %s", who, ", ".join(sentences))


def _find_ignored(reply: Reply, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the parameters to which the reply pays no attention, each with what becomes of it."""
    ignored: dict[str, str] = {}
    if "logprobs" in parameters and reply.text and reply.tokens is None:
        ignored.update(dict.fromkeys(LOGPROBS, LEFT_OUT))
    is_finished = reply.finish_reason in {None, "stop"} and reply.refusal is None
    # No schema allows a text without a brace.
    if "response_format" in parameters and is_finished and reply.text.strip() and "{" not in reply.text:
        ignored["response_format"] = _looser_format(parameters)
    return ignored


def _find_refusal(error: ModelError, parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return the refused parameter with its new name or LEFT_OUT; an empty dict if the error refuses none."""
    raised = getattr(error.__cause__, "raised", None)  # of a RedactedError
    if raised is None or error.code not in REFUSING:
        return {}
    message = message_in(raised)
    names = _find_names(str(getattr(raised, "param", None)), parameters)
    if not names:
        names = _find_names(message, parameters)
    if "logprobs" in names or "top_logprobs" in names:
        return dict.fromkeys(LOGPROBS, LEFT_OUT)
    if error.code == "auth" or not names:  # what else is forbidden is no matter of parameters
        return {}
    if "response_format" in names:
        return {"response_format": _looser_format(parameters)}
    if not REFUSAL.search(message):
        return {}
    # For "temperature and top_p cannot both be given" it is enough to leave out the last one.
    name = names[-1]
    new_name = RENAMED.get(name)
    if new_name is not None and _find_names(message, [new_name]):
        return {name: new_name}
    return {name: LEFT_OUT}


def _find_names(text: str, parameters: Iterable[str]) -> list[str]:
    """Return those of the parameters that a text names."""
    names: list[str] = []
    for name in parameters:
        pattern = WORDED.get(name, rf"\b{re.escape(name)}\b")
        if re.search(pattern, text):
            names.append(name)
    return names


def _looser_format(parameters: Mapping[str, Any]) -> str:
    """Return what becomes of a response format that was refused or ignored: any JSON, then no format."""
    response_format = parameters["response_format"]
    if is_mapping(response_format) and response_format.get("type") == "json_schema":
        return JSON_OBJECT
    return LEFT_OUT
