"""The lines of batch files in OpenAI's form, which vLLM's `run-batch` and other servers use too."""

from __future__ import annotations

from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from groundjudge.batches.replay import Answer, PendingRequest
from groundjudge.errors import CaseError, ModelError, code_of_status
from groundjudge.models.completion import NO_COMPLETION, message_of, reply_in

URL = "/v1/chat/completions"

CODES = {"batch_expired": "expired", "batch_cancelled": "cancelled", "request_timeout": "timeout"}
"""The provider's error codes of requests without a response -> the codes of a ModelError."""

BYTE_ORDER_MARK = "\ufeff"
"""What some editors and shells put before the first line of a file."""

FIRST_ERROR = 400
"""The lowest HTTP status of an error."""


class Result(NamedTuple):
    """A line of results: the request's `custom_id`, and the reply or why there is none."""

    custom_id: str
    answer: Answer


def request_line(pending: PendingRequest, url: str = URL) -> str:
    """A request as a line, without a line break.

    Args:
        pending: the request.
        url: the path of the endpoint, as the provider wants it.
    """
    messages = [dict(message) for message in pending.request.messages]
    body = {"model": pending.model.name, "messages": messages, **pending.request.parameters}
    line = {"custom_id": pending.custom_id, "method": "POST", "url": url, "body": body}
    return to_json(line).decode()  # several times as fast as json.dumps


def read_result(line: str, model: str = "") -> Result:
    """Read a line of an output file or an error file.

    Args:
        line: the line.
        model: the model's name, for error messages.

    Raises:
        CaseError: `unreadable_row`: the line is not a result, as the half-written last line of a file.
    """
    where = f"{model}: " if model else ""
    try:
        found: Any = from_json(line.removeprefix(BYTE_ORDER_MARK))
    except ValueError:
        found = None
    match found:
        case {"custom_id": str(name), "response": {"status_code": int(status)} as response} if (
            status >= FIRST_ERROR
        ):
            reason = message_of(
                response.get("body") or found.get("error")
            )  # vLLM puts it beside the response
            return Result(name, ModelError(code_of_status(status), f"{where}{status}: {reason}", model))
        case {"custom_id": str(name), "response": {} as response}:
            body = response.get("body", response)
            error = ModelError("server", f"{where}{NO_COMPLETION}: {message_of(body)}", model)
            return Result(name, reply_in(body) or error)
        case {"custom_id": str(name), "error": {"code": str(code)} as reason}:
            return Result(name, ModelError(CODES.get(code, "failed"), where + message_of(reason), model))
        case {"custom_id": str(name), "error": reason}:
            return Result(name, ModelError("failed", where + message_of(reason), model))
        case _:
            message = "not a line of batch results: it needs custom_id, and response or error"
            raise CaseError("unreadable_row", message, line[:80])
