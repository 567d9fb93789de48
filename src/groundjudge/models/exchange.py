"""One request to an endpoint: the body to send, and what to do with each response. No network access here."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from groundjudge.errors import ModelError, ReplyError
from groundjudge.models.backoff import wait_before
from groundjudge.models.completion import completion_of
from groundjudge.models.unsupported_parameters import LEFT_OUT, LOGPROBS, accepted, looser_format, refused
from groundjudge.replies.reply import Reply, reply_of
from groundjudge.verdict import Usage

if TYPE_CHECKING:
    from groundjudge.rubric.rubric import Request

log = logging.getLogger(__name__)

TRANSIENT = ("timeout", "connection", "rate_limited", "server")
"""The error codes after which a retry may succeed."""

MAX_MESSAGE_LENGTH = 500
"""An endpoint's own error message is cut after this many characters."""

NO_COMPLETION = "the response is not a chat completion"
NO_REASON = "the endpoint gives no reason"

REMEDIES = {
    "timeout": "raise the timeout of the model if the endpoint needs longer",
    "connection": "check that the endpoint is up and that its URL is right: OPENAI_BASE_URL, or as passed",
    "rate_limited": "send fewer requests at a time",
    "quota": "check the plan and the balance of the account whose key is in OPENAI_API_KEY, or was passed",
    "auth": "check that key and URL belong together: OPENAI_API_KEY and OPENAI_BASE_URL, or as passed",
    "bad_request": "check the model's name, its parameters, and the URL: OPENAI_BASE_URL, or as passed",
    "not_found": "check the model's name, and that the URL is its endpoint's: OPENAI_BASE_URL, or as passed",
    "server": "the fault lies with the endpoint at OPENAI_BASE_URL, or at the URL passed",
}
"""What the user can do about an error, by its code."""


@dataclass(frozen=True)
class EndpointError:
    """Why an attempt brought no reply. A value, not an exception: `Exchange` retries or raises a ModelError.

    Attributes:
        code: one of the codes of ModelError.
        message: the endpoint's or the client's own words.
        param: the name of the parameter that the endpoint rejects, or "" if it names none.
        retry_after: the seconds that the endpoint asks to wait, or None if it does not ask.
        retries: how often the client itself sent the request again before it failed.
    """

    code: str
    message: str
    param: str = ""
    retry_after: float | None = None
    retries: int = 0


@dataclass
class Exchange:
    """The state of one request, from its first attempt to its reply.

    Attributes:
        model: the model's name.
        host: the endpoint's host and port, for messages.
        max_retries: how often the request may be sent again after a transient error.
        request: the request.
        known_refusals: the parameters that the endpoint is known to refuse, each with its new name or
            LEFT_OUT. All requests to one endpoint share it; it grows when a request succeeds.
        retries: how often the request has been sent again after a transient error.
        new_refusals: the parameters refused during this exchange, in the same form.
        sent: the parameters of the last attempt. What is known changes while others make requests.
    """

    model: str
    host: str
    max_retries: int
    request: Request
    known_refusals: dict[str, str]
    retries: int = 0
    new_refusals: dict[str, str] = field(default_factory=dict[str, str])
    sent: dict[str, Any] = field(default_factory=dict[str, Any])

    def body(self) -> dict[str, Any]:
        """The body of the next attempt, without the parameters that were refused so far."""
        messages = [dict(message) for message in self.request.messages]
        self.sent = accepted(self.request.parameters, {**self.known_refusals, **self.new_refusals})
        return {**self.sent, "model": self.model, "messages": messages}

    def wait_after(self, error: EndpointError) -> float:
        """The seconds to wait before the next attempt, whose body may differ from the last one's.

        Raises:
            ModelError: another attempt is pointless, or no retries are left.
        """
        refusal = refused(error.code, error.message, error.param, self.sent)
        if refusal:
            self.new_refusals |= refusal
            return 0.0
        caller_retries = error.code == "rate_limited" and self.request.paced
        may_retry = error.code in TRANSIENT and self.retries < self.max_retries and not caller_retries
        wait = wait_before(self.retries, error.retry_after) if may_retry else None
        if wait is None:
            raise self._model_error(error)
        self.retries += 1
        return wait

    def reply(self, answer: object) -> Reply:
        """Read a successful response: its body, or what a client made of it.

        Raises:
            ModelError: `server`, if it is not a chat completion.
        """
        if isinstance(answer, Reply):
            self._remember_refusals()
            return replace(answer, retries=self.retries)
        completion = completion_of(answer)
        reply = reply_in(completion)
        if reply is None:
            raise self._model_error(EndpointError("server", f"{NO_COMPLETION}: {message_of(completion)}"))
        self._remember_refusals()
        self._notice_ignored(reply)
        return replace(reply, retries=self.retries)

    def _notice_ignored(self, reply: Reply) -> None:
        """Share which parameters the endpoint takes and ignores, as some gateways do.

        That concerns only what the library added: the user's own parameters are sent as they are.
        """
        ignored: dict[str, str] = {}
        if "logprobs" in self.sent and reply.text and reply.tokens is None:
            ignored |= dict.fromkeys(LOGPROBS, LEFT_OUT)
        if "response_format" in self.sent and self._has_no_verdict(reply):
            ignored["response_format"] = looser_format(self.sent)
        if ignored:
            own = self.request.rubric.prompt.parameters
            self._share({name: new for name, new in ignored.items() if name not in own}, "ignores")

    def _has_no_verdict(self, reply: Reply) -> bool:
        """Whether a reply lacks what the response format asks for, by the judgement of who reads it."""
        found = self.request.rubric.outcome(reply, self.request.case).found
        return isinstance(found, ReplyError) and found.code == "no_verdict"

    def _remember_refusals(self) -> None:
        """Share the refusals of this exchange, now that leaving those parameters out has helped."""
        self._share(self.new_refusals, "does not take")

    def _share(self, refusals: Mapping[str, str], what: str) -> None:
        """Add to what is known, and log it; what is left out stays so."""
        known = self.known_refusals
        news = {name: new for name, new in refusals.items() if known.get(name) not in (new, LEFT_OUT)}
        known.update(news)
        for new in dict.fromkeys(news.values()):
            names = [name for name in news if news[name] == new]
            change = f"{'it is' if len(names) == 1 else 'they are'} {f'sent as {new}' if new else 'left out'}"
            log.warning(
                "%s at %s %s %s: %s from now on", self.model, self.host, what, " and ".join(names), change
            )

    def _model_error(self, error: EndpointError) -> ModelError:
        return model_error(replace(error, retries=self.retries + error.retries), self.model, self.host)


def model_error(error: EndpointError, model: str, host: str) -> ModelError:
    """The error to raise, with what the user can do about it."""
    remedy = f" ({REMEDIES[error.code]})" if error.code in REMEDIES else ""
    raised = ModelError(error.code, f"{model} at {host}: {error.message}{remedy}", model)
    raised.retry_after, raised.retries = error.retry_after, error.retries
    return raised


def reply_in(completion: Any) -> Reply | None:  # noqa: ANN401  what JSON can hold
    """The reply in a chat completion, with usage and model; None if it is no chat completion."""
    match completion:
        case {"choices": [{"message": Mapping()}, *_]}:
            usage, name = _usage(completion.get("usage")), completion.get("model")
            return replace(reply_of(completion), usage=usage, model=name if isinstance(name, str) else None)
        case _:
            return None


def message_of(body: object) -> str:
    """The message in an endpoint's error body, whichever of the usual shapes the body has."""
    match body:
        case {"error": object() as inner} | [{"error": object() as inner}] if inner:
            return message_of(inner)
        case {"message": str(message)} | str(message):
            return message.strip()[:MAX_MESSAGE_LENGTH] or NO_REASON
        case None:
            return NO_REASON
        case _:
            return json.dumps(body, ensure_ascii=False, default=str)[:MAX_MESSAGE_LENGTH]


def _usage(counts: object) -> Usage | None:
    match counts:
        case {"prompt_tokens": int(prompt), "completion_tokens": int(completion)}:
            return Usage(prompt_tokens=prompt, completion_tokens=completion)
        case {"prompt_tokens": int(prompt)}:
            return Usage(prompt_tokens=prompt)
        case _:
            return None
