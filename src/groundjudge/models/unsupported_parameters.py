"""Parameters that an endpoint refuses: learned from its errors, because lists of models go stale.

If an error names one of the request's parameters, the request is sent again without it; if it names the
system role, the request is sent again with the system's text in the user's message. If that helps, all later
requests to the model at that endpoint are sent that way.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from groundjudge.case.data import is_mapping
from groundjudge.errors import ModelError
from groundjudge.models.failure import message_in, status_of
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model
from groundjudge.rubric.rubric import Request

log = logging.getLogger("groundjudge")

LEFT_OUT = ""
"""Takes the place of a new name for a parameter that is no longer sent."""

JSON_OBJECT = "json_object"
"""Means a response format of any JSON, instead of a schema."""

OTHER_NAMES = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The two names of the limit: many endpoints accept only one of them."""

LOGPROBS = ("logprobs", "top_logprobs")
"""Requested together: the second has no meaning without the first."""

REFUSED = (None, 400, 422)
"""The statuses of a request with something that the endpoint refuses; None: only the body says so."""

SYSTEM = "system role"
"""Means the system messages, which some chat templates do not know."""

_REFUSALS: dict[tuple[int, str], dict[str, str]] = {}
"""What endpoints refuse, by the process id and the model's identity. A forked process starts over."""


def known_refusals(identity: str) -> dict[str, str]:
    """Return what a model at an endpoint is known to refuse: parameters, with new names or LEFT_OUT; SYSTEM.

    All models with the same identity share them.
    """
    return _REFUSALS.setdefault((os.getpid(), identity), {})


def refusals_of(model: Model) -> dict[str, str]:
    """Return the refusals of a model, see `known_refusals`; {} if it has none."""
    refusals: object = getattr(model, "refusals", None)
    if not isinstance(refusals, dict):
        return {}
    return cast("dict[str, str]", refusals)


def declare_refusals(model: Model, names: Iterable[str]) -> None:
    """Add parameters to those that a model is known to refuse; a limit is sent under its other name."""
    refused_names = set(names)
    refusals = refusals_of(model)
    for name in refused_names:
        refusals[name] = LEFT_OUT
        if name in OTHER_NAMES and OTHER_NAMES[name] not in refused_names:
            refusals[name] = OTHER_NAMES[name]


async def negotiate(
    request: Request, refusals: dict[str, str], who: str, send: Callable[[Request], Awaitable[Reply]]
) -> Reply:
    """Return the reply to a request; send it again without each thing that the endpoint refuses.

    Once dropping a parameter makes a request succeed, later requests drop it too.

    Args:
        request: the request.
        refusals: what the endpoint is known to refuse; this request and others add to it.
        who: the model and its endpoint, for the log.
        send: from the request, as the endpoint accepts it, to the reply.

    Raises:
        ModelError: any error of `send`, unless it refuses a parameter.
    """
    new_refusals: dict[str, str] = {}
    retries = 0
    while True:
        # Every time: other requests may have found out more while this one waited.
        all_refusals = {**refusals, **new_refusals}
        accepted = apply_refusals(request, all_refusals)
        try:
            reply = await send(accepted)
        except ModelError as error:
            refusal = _find_refusal(error, request, accepted, all_refusals)
            if not refusal:
                raise
            new_refusals.update(refusal)
            retries += error.retries
        else:
            break
    _remember(refusals, new_refusals, who)
    return replace(reply, retries=reply.retries + retries) if retries else reply


def apply_refusals(request: Request, refusals: Mapping[str, str]) -> Request:
    """Return a request as the endpoint accepts it: without what it refuses, or with that under another name.

    With the refusals {"max_tokens": "max_completion_tokens", "top_p": ""} the parameters
    {"max_tokens": 9, "top_p": 1} become {"max_completion_tokens": 9}.
    """
    if not refusals:
        return request
    accepted: dict[str, Any] = {}
    for parameter, value in request.parameters.items():
        name = refusals.get(parameter, parameter)
        name = refusals.get(name, name)  # the new name may be refused too
        if name == JSON_OBJECT:
            accepted[parameter] = {"type": JSON_OBJECT}
        elif name != LEFT_OUT:
            accepted.setdefault(name, value)
    messages = request.messages
    if SYSTEM in refusals:
        messages = _without_system(messages)
    return replace(request, messages=messages, parameters=accepted)


def _without_system(messages: Sequence[Mapping[str, str]]) -> tuple[Mapping[str, str], ...]:
    """Return messages with each system text moved to the beginning of the next message."""
    merged: list[Mapping[str, str]] = []
    texts: list[str] = []
    for message in messages:
        texts.append(message["content"])
        if message["role"] == "system":
            continue
        merged.append({**message, "content": "\n\n".join(texts)})
        texts.clear()
    if texts:
        merged.append({"role": "user", "content": "\n\n".join(texts)})
    return tuple(merged)


def _remember(refusals: dict[str, str], changes: Mapping[str, str], who: str) -> None:
    """Add to what is known, and log what is new; a parameter that is left out stays left out."""
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
        log.warning("%s refuses parameters: from now on %s", who, ", ".join(sentences))


def _find_refusal(
    error: ModelError, request: Request, accepted: Request, refusals: Mapping[str, str]
) -> dict[str, str]:
    """Return what an error refuses, with what is sent instead; {} if it refuses nothing.

    Args:
        error: what the request ended in.
        request: the request.
        accepted: the request as it was sent.
        refusals: what the endpoint is known to refuse.
    """
    raised = getattr(error.__cause__, "raised", None)  # of a RedactedError
    if raised is None:
        return {}
    status = status_of(raised)
    is_rejected = status in REFUSED and error.code == "bad_request"
    # LangChain's ChatAnthropic knows that some models accept no `temperature`, and sends nothing.
    is_unsent = status is None and error.code == "failed"
    if not is_rejected and not is_unsent:
        return {}
    message = message_in(raised)
    words = f"{message} {getattr(raised, 'body', '')}"
    parameters = accepted.parameters
    # The parameters that the error names.
    names = [name for name in parameters if _is_named(name, message)]
    # "System role not supported", "Only user and assistant roles are supported"
    names_role = any(_is_named(word, message) for word in ("system", "role", "roles"))
    has_system = any(sent["role"] == "system" for sent in accepted.messages)
    if not names and names_role and has_system and is_rejected:
        return {SYSTEM: "user"}
    if not names:  # other fields of a body may repeat the whole request
        names = [name for name in parameters if _is_named(name, words)]
    is_reask = request.attempt > 1 and "response_format" in request.added_parameters
    if not names and is_reask and "response_format" in parameters and is_rejected:
        # The first request was accepted, without the response format that is added for the re-ask.
        names = ["response_format"]
    if not names:
        return {}
    # For "temperature and top_p cannot both be given" it is enough to leave out the last one.
    name = names[-1]
    if name in LOGPROBS:
        return dict.fromkeys(LOGPROBS, LEFT_OUT)
    value = parameters[name]
    other_name = OTHER_NAMES.get(name)
    new_name = LEFT_OUT
    if name == "response_format" and is_mapping(value) and value.get("type") == "json_schema":
        new_name = JSON_OBJECT
    elif other_name is not None and other_name not in refusals and _is_named(other_name, words):
        new_name = other_name
    return {name: new_name}


def _is_named(name: str, words: str) -> bool:
    """Whether a text contains a parameter's name as a word; a sentence may begin with it."""
    return re.search(rf"\b{re.escape(name)}\b", words, re.IGNORECASE) is not None
