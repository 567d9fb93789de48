"""The lines of batch files in OpenAI's form, which vLLM and others use too, and of Anthropic's results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from groundjudge.batches.replay import Answer, PendingRequest
from groundjudge.case.shapes import is_mapping
from groundjudge.errors import CaseError, ModelError, code_of_status
from groundjudge.models.answer import message_of, no_completion, reply_in
from groundjudge.replies.reply import Reply
from groundjudge.verdict import Usage

URL = "/v1/chat/completions"

CODES = {"batch_expired": "expired", "batch_cancelled": "cancelled", "request_timeout": "timeout"}
"""The provider's error codes of requests without a response -> the codes of a ModelError."""

ANTHROPIC_CODES = {
    "authentication_error": "auth",
    "billing_error": "quota",
    "invalid_request_error": "bad_request",
    "not_found_error": "not_found",
    "permission_error": "auth",
    "rate_limit_error": "rate_limited",
    "timeout_error": "timeout",
}
"""The codes of a ModelError for Anthropic's types of errors; the others are the server's."""

ANTHROPIC_ENDS = {"expired": "expired", "canceled": "cancelled"}
"""The same for the results of requests that a batch did not come to."""

PROMPT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The tokens of a prompt, by whether they were cached."""

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
    """Read a line of an output file or an error file in OpenAI's form, or of Anthropic's results.

    Args:
        line: the line.
        model: the model's name, for error messages.

    Raises:
        CaseError: `unreadable_row`: the line is not a result, as the half-written last line of a file.
    """
    try:
        found: Any = from_json(line.removeprefix(BYTE_ORDER_MARK))
        answer = _anthropic_answer(found["result"]) if "result" in found else _answer(found, model)
        return Result(str(found["custom_id"]), answer)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        message = "not a line of batch results: it needs custom_id, and response, error or result"
        raise CaseError("unreadable_row", message, line[:80]) from error


def _answer(found: Mapping[str, Any], model: str) -> Answer:
    """The answer in a line in OpenAI's form."""
    where = f"{model}: " if model else ""
    match found:
        case {"response": {"status_code": int(status)} as response} if status >= FIRST_ERROR:
            reason = message_of(response.get("body") or found.get("error"))  # vLLM has it beside the response
            return ModelError(code_of_status(status), f"{where}{status}: {reason}", model)
        case {"response": {} as response}:
            body = response.get("body", response)
            error = ModelError("server", f"{where}{no_completion(body)}", model)
            return reply_in(body) or error
        case _:
            fault = found["error"]
            code = fault.get("code") if is_mapping(fault) else None
            return ModelError(CODES.get(str(code), "failed"), where + message_of(fault), model)


def _anthropic_answer(result: Mapping[str, Any]) -> Answer:
    """The answer in a line of Anthropic's results."""
    match result:
        case {"type": "succeeded", "message": {} as message}:
            text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
            used = message["usage"]
            n_prompt = sum(used.get(kind) or 0 for kind in PROMPT_TOKENS)
            usage = Usage(prompt_tokens=n_prompt, completion_tokens=used["output_tokens"])
            return Reply(text, message.get("stop_reason"), usage, message.get("model"))
        case {"type": "errored", "error": {"error": {"type": kind, "message": message}}}:
            return ModelError(ANTHROPIC_CODES.get(kind, "server"), f"{kind}: {message}")
        case _:
            kind = str(result["type"])
            why = f"the batch did not come to this request: {kind}"
            return ModelError(ANTHROPIC_ENDS.get(kind, "failed"), why)
