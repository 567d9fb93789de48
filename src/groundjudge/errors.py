"""What can go wrong, each with a short code to count by and the thing it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from groundjudge.verdict import Verdict


class GroundjudgeError(Exception):
    """Any error of this library.

    Attributes:
        code: short and stable, made for counting: "missing_field", "out_of_scale", "timeout".
        message: a sentence that names the thing and says what to do.
        subject: the offending thing: a field's name, a file, a raw reply.
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
    """No reply was had from a model.

    Codes: timeout, connection, rate_limited, quota, auth, bad_request, not_found, server (of an endpoint);
    no_model, unknown_model, no_endpoint (of what was passed as a model); failed (a callable raised);
    bad_cache (a file that is none); budget (a run may ask for nothing more).

    Attributes:
        retry_after: the seconds that the endpoint asks to be left alone; None if it does not ask.
        retries: how many times the request was sent again in vain.
    """

    retry_after: float | None = None
    retries: int = 0


class ReplyError(GroundjudgeError):
    """A model's reply holds no verdict that can be read; it is never turned into a number.

    Codes: empty, refused, truncated, no_verdict, missing_score, not_a_number, not_integer,
    out_of_scale, ambiguous, not_adjacent, bad_distribution.
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
    "ambiguous": "the reply gives more than one score and does not say which one counts",
    "not_adjacent": "the formula must weigh one score, or two scores that are next to each other",
    "bad_distribution": "the formula's shares must add up to 1",
}
"""The codes of a ReplyError, each with the sentence that the model is shown when it is asked again."""
