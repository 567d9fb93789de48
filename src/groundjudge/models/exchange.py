"""One request until its reply: what to send, and what to do about what comes back. It touches no network."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from groundjudge.errors import ModelError
from groundjudge.models.backoff import wait_before
from groundjudge.models.refused import LEFT_OUT, REFUSING, accepted, refused
from groundjudge.reply import reply_of
from groundjudge.verdict import Usage

if TYPE_CHECKING:
    from groundjudge.reply import Reply
    from groundjudge.rubric import Request

log = logging.getLogger(__name__)

TRANSIENT = ("timeout", "connection", "rate_limited", "server")
"""The codes of what may be gone at the next try."""

SHOWN = 500
"""So many characters of an endpoint's own words are shown."""

ADVICE = {
    "timeout": "raise timeout= if the endpoint needs longer",
    "connection": "see that the endpoint is up and that OPENAI_BASE_URL or base_url= leads to it",
    "rate_limited": "send fewer requests at a time",
    "quota": "see the plan and the balance of the account whose key is in OPENAI_API_KEY or api_key=",
    "auth": "see that the key in OPENAI_API_KEY or api_key= is one for OPENAI_BASE_URL or base_url=",
    "bad_request": "see the model's name, its parameters, and OPENAI_BASE_URL or base_url=",
    "not_found": "see the model's name, and that OPENAI_BASE_URL or base_url= leads to its endpoint",
    "server": "the fault is with the endpoint in OPENAI_BASE_URL or base_url=",
}


@dataclass(frozen=True)
class Trouble:
    """Why there is no reply.

    Attributes:
        code: a ModelError's.
        words: what the endpoint, or the client, says about it.
        param: the parameter that the endpoint turns down, if it says which.
        retry_after: the seconds that the endpoint asks to be left alone, if it does.
    """

    code: str
    words: str
    param: str = ""
    retry_after: float | None = None


@dataclass
class Exchange:
    """A request on its way.

    Attributes:
        model: the model's name.
        host: where the endpoint is, for messages.
        retries: how many times the request may be sent again after a transient error.
        request: what is asked.
        remembered: the parameters that the endpoint is known to refuse, kept from request to request.
    """

    model: str
    host: str
    retries: int
    request: Request
    remembered: dict[str, str]
    tried: int = 0
    refusals: dict[str, str] = field(default_factory=dict[str, str])

    def body(self) -> dict[str, Any]:
        """What to send."""
        messages = [dict(message) for message in self.request.messages]
        return {**self._parameters(), "model": self.model, "messages": messages}

    def wait_after(self, trouble: Trouble) -> float:
        """The seconds to wait before the body, as it is then, is sent.

        Raises:
            ModelError: when there is no sense in that, or too much was tried.
        """
        if trouble.code in REFUSING:
            refusal = refused(trouble.words, trouble.param, self._parameters())
            if refusal:
                self.refusals |= refusal
                return 0.0
        others_turn = trouble.code == "rate_limited" and self.request.paced
        again = trouble.code in TRANSIENT and self.tried < self.retries and not others_turn
        wait = wait_before(self.tried, trouble.retry_after) if again else None
        if wait is None:
            raise self._error(trouble)
        self.tried += 1
        return wait

    def reply(self, content: bytes) -> Reply:
        """Read the endpoint's answer.

        Raises:
            ModelError: `server`, if it is no chat completion.
        """
        try:
            completion = json.loads(content)
        except (ValueError, RecursionError):
            completion = None
        match completion:
            case {"choices": [{"message": Mapping()}, *_]}:
                self._remember()
                usage, name = _usage(completion.get("usage")), completion.get("model")
                model = name if isinstance(name, str) else None
                return replace(reply_of(completion), usage=usage, model=model, retries=self.tried)
            case _:
                said = words_of(completion or content.decode(errors="replace"))
                raise self._error(Trouble("server", f"what came back is no chat completion: {said}"))

    def _parameters(self) -> dict[str, Any]:
        return accepted(self.request.parameters, {**self.remembered, **self.refusals})

    def _remember(self) -> None:
        """Keep what was refused, now that the request has gone through without it."""
        for name, new in self.refusals.items():
            if self.remembered.get(name) != new:
                self.remembered[name] = new
                done = "it is left out from now on" if new == LEFT_OUT else f"it is sent as {new} from now on"
                log.warning("%s at %s does not take %s: %s", self.model, self.host, name, done)

    def _error(self, trouble: Trouble) -> ModelError:
        advice = f" ({ADVICE[trouble.code]})" if trouble.code in ADVICE else ""
        error = ModelError(trouble.code, f"{self.model} at {self.host}: {trouble.words}{advice}", self.model)
        error.retry_after, error.retries = trouble.retry_after, self.tried
        return error


def words_of(body: object) -> str:
    """An endpoint's complaint in its own words, of the several shapes in which they come."""
    match body:
        case {"error": object() as inner} | [{"error": object() as inner}] if inner:
            return words_of(inner)
        case {"message": str(words)} | str(words):
            return words.strip()[:SHOWN] or "it does not say why"
        case None:
            return "it does not say why"
        case _:
            return json.dumps(body, ensure_ascii=False, default=str)[:SHOWN]


def _usage(counted: object) -> Usage | None:
    match counted:
        case {"prompt_tokens": int(prompt), "completion_tokens": int(completion)}:
            return Usage(prompt_tokens=prompt, completion_tokens=completion)
        case {"prompt_tokens": int(prompt)}:
            return Usage(prompt_tokens=prompt)
        case _:
            return None
