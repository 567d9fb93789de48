"""What can go wrong: errors, each with a short code to count by and the thing that it is about."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from groundjudge.verdict import Verdict

STATUS_CODES = {
    401: "auth",
    402: "quota",
    403: "auth",
    404: "not_found",
    408: "timeout",
    409: "server",
    429: "rate_limited",
}
FIRST_SERVER_STATUS = 500


class GroundjudgeError(Exception):
    """Any error of this library.

    Attributes:
        code: short and stable, made for counting: "missing_field", "out_of_scale", "timeout".
        message: a sentence that names the thing and says what to do.
        subject: the offending thing: a field's name, a file, a raw reply. If it is a parameter, the message
            names it in backquotes, and the command line shows its option there: --max-calls for `max_calls`.
        verdict: the row's verdict with status "error" (attempts, usage and raw reply kept),
            set when a judge raised the error while judging a case.
    """

    verdict: Verdict | None = None

    def __init__(self, code: str, message: str, subject: str = "") -> None:
        super().__init__(code, message, subject)  # all three, so that the error survives pickling
        self.code = code
        self.message = message
        self.subject = subject

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


class PromptError(GroundjudgeError):
    """A prompt file breaks its contract; the message names the file and the key."""


class CaseError(GroundjudgeError):
    """A case cannot be judged as it was given; the message names the field."""


class ModelError(GroundjudgeError):
    """The model returned no reply.

    Codes: timeout, connection, rate_limited, quota, auth, bad_request, not_found, server (of an endpoint);
    no_model, unknown_model, no_endpoint (of what was passed as a model); failed (a callable raised);
    bad_cache (the file is not a cache); budget (the run's budget is spent).

    Attributes:
        retry_after: the seconds that the endpoint asks clients to wait; None if it does not ask.
        retries: how many times the request was sent again without success.
    """

    retry_after: float | None = None
    retries: int = 0


class PanelError(GroundjudgeError):
    """The votes of a panel give no verdict. Code: no_majority."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: the nearest known one, if there is a near one."""
    nearest = get_close_matches(name, list(known), 1)
    return f", did you mean {nearest[0]!r}?" if nearest else ""


def code_of_status(status: int) -> str:
    """The code of a ModelError for an HTTP status of 400 or more (RFC 9110)."""
    return STATUS_CODES.get(status, "server" if status >= FIRST_SERVER_STATUS else "bad_request")


class ReplyError(GroundjudgeError):
    """A model's reply holds no verdict that can be read; it is never turned into a number.

    Codes: empty, refused, truncated, no_verdict, missing_score, not_a_number, not_integer,
    out_of_scale, unknown_label, ambiguous, not_adjacent, bad_distribution.
    """

    def __init__(self, code: str, reply: str, message: str = "") -> None:
        super().__init__(code, message or WHAT_IS_WRONG[code], reply)
        self.args = (code, reply, message)

    @property
    def reply(self) -> str:
        """The reply's raw text, as the model wrote it."""
        return self.subject


WHAT_IS_WRONG = {
    "empty": "the reply is empty",
    "refused": "the model declined to judge",
    "truncated": "the reply was cut off before its verdict was complete",
    "no_verdict": "the reply holds no verdict in the place where the format puts it",
    "missing_score": "a block of the reply has no score",
    "not_a_number": "what stands in the score's place is not a number",
    "not_integer": "the score must be a whole number",
    "out_of_scale": "the score lies outside the scale",
    "unknown_label": "what stands in the verdict's place is none of the labels",
    "ambiguous": "the reply gives more than one score and does not say which one counts",
    "not_adjacent": "the formula must weigh one score, or two scores that are next to each other",
    "bad_distribution": "the formula's shares must add up to 1",
}
"""The codes of a ReplyError, each with the sentence that the model is shown when it is asked again."""
