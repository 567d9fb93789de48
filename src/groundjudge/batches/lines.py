"""The lines of batch files in OpenAI's form, which vLLM's `run-batch` and other servers use too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from groundjudge.batches.asking import Answer, Ask
from groundjudge.errors import CaseError, ModelError, code_of_status
from groundjudge.models.completion import NO_COMPLETION, message_of, reply_in

URL = "/v1/chat/completions"

CODES = {"batch_expired": "expired", "batch_cancelled": "cancelled", "request_timeout": "timeout"}
"""The provider's error codes of requests without a response -> the codes of a ModelError."""

BYTE_ORDER_MARK = "\ufeff"
"""What some editors and shells put before the first line of a file."""

FIRST_ERROR = 400
"""The lowest HTTP status of an error."""


class _Line(BaseModel):
    """A line of results; a line of requests has neither `response` nor `error`."""

    custom_id: str
    response: Mapping[str, Any] | None = None
    error: Any = None


class Result(NamedTuple):
    """A line of results: the request's `custom_id`, and the reply or why there is none."""

    custom_id: str
    answer: Answer


def request_line(ask: Ask, url: str = URL) -> str:
    """A request as a line, without a line break.

    Args:
        ask: the request.
        url: the path of the endpoint, as the provider wants it.
    """
    messages = [dict(message) for message in ask.request.messages]
    body = {"model": ask.model.name, "messages": messages, **ask.request.parameters}
    line = {"custom_id": ask.custom_id, "method": "POST", "url": url, "body": body}
    return to_json(line).decode()  # several times as fast as json.dumps


def read_result(line: str, model: str = "") -> Result:
    """Read a line of an output file or an error file.

    Args:
        line: the line.
        model: the model's name, for error messages.

    Raises:
        CaseError: `unreadable_row`: the line is not a result, as the half-written last line of a file.
    """
    try:
        found = _Line.model_validate_json(line.removeprefix(BYTE_ORDER_MARK))
    except ValidationError as error:
        raise _not_a_result(line) from error
    if found.model_fields_set == {"custom_id"}:
        raise _not_a_result(line)
    return Result(found.custom_id, _answer(found, f"{model}: " if model else "", model))


def _not_a_result(line: str) -> CaseError:
    message = "not a line of batch results: it needs custom_id, and response or error"
    return CaseError("unreadable_row", message, line[:80])


def read_results(lines: Iterable[str], model: str = "") -> Iterator[Result | CaseError]:
    """Read the lines of a file of results, in any order; blank lines are skipped.

    Yields:
        A Result per line, or the CaseError of a line that is none.
    """
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield read_result(line, model)
        except CaseError as error:
            yield CaseError(error.code, f"line {number}: {error.message}", f"line {number}")


def _answer(line: _Line, where: str, model: str) -> Answer:
    """The reply, or the error of the request or of its response; its message begins with `where`."""
    if line.response is None:
        code = CODES.get(_code_of(line.error), "failed")
        return ModelError(code, where + message_of(line.error), model)
    body: Any = line.response.get("body", line.response)
    status = line.response.get("status_code")
    if isinstance(status, int) and status >= FIRST_ERROR:  # vLLM puts the reason beside the response
        message = f"{where}{status}: {message_of(body or line.error)}"
        return ModelError(code_of_status(status), message, model)
    reply = reply_in(body)
    return reply or ModelError("server", f"{where}{NO_COMPLETION}: {message_of(body)}", model)


def _code_of(error: object) -> str:
    match error:
        case {"code": str(code)}:
            return code
        case _:
            return ""
