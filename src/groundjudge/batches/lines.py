"""The lines of batch files in OpenAI's form, which vLLM and others use too, and of Anthropic's results.

Batch files can be written and read without a provider; the answers of a provider's are kept by their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any

from pydantic_core import from_json, to_json

from groundjudge.batches.replay import (
    Answer,
    DiskDict,
    PendingRequest,
    first_id,
    pending_requests,
    verdicts_in,
)
from groundjudge.case.case import Case
from groundjudge.case.data import is_mapping
from groundjudge.errors import CaseError, code_of_status
from groundjudge.judging.panel import AnyJudge, Panel
from groundjudge.models.answer import FIRST_ERROR_STATUS, message_of, model_error, no_reply
from groundjudge.models.redaction import Secrets, forms_of, redact, remove_secrets
from groundjudge.replies.reply import Reply, completion_of, usage_of
from groundjudge.runs.run import Previous, Row, check_judges
from groundjudge.verdict import Usage, Verdict

URL = "/v1/chat/completions"

CODES = {
    "batch_expired": "expired",
    "batch_cancelled": "cancelled",
    "request_timeout": "timeout",
    "expired": "expired",
    "canceled": "cancelled",
    "unanswered": "unanswered",
}
"""OpenAI's, Anthropic's and our own words for why a request has no response -> the codes of a ModelError."""

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

PROMPT_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""The tokens of a prompt, by whether they were cached."""

FURTHER = re.compile(r"(-v\d{1,4})?(-a\d{1,2})?$")
"""What the name of a further vote, or of a request that is made again, adds to that of the first one."""


def request_line(pending: PendingRequest, url: str = URL) -> str:
    """A request as a line, without a line break.

    Args:
        pending: the request.
        url: the path of the endpoint, as the provider wants it.
    """
    request = pending.request
    body = {"model": pending.model.name, "messages": request.messages, **request.parameters}
    line = {"custom_id": pending.custom_id, "method": "POST", "url": url, "body": body}
    return to_json(line).decode()  # several times as fast as json.dumps


def unanswered_line(name: str, reason: str, code: str = "unanswered") -> str:
    """A line of results for a request that has none, with the reason; the code is one of CODES."""
    return to_json({"custom_id": name, "error": {"code": code, "message": reason}}).decode()


def read_result(line: str, model: str = "") -> tuple[str, Answer]:
    """Read a line of an output file or an error file in OpenAI's form, or of Anthropic's results.

    Args:
        line: the line.
        model: the model's name, for error messages.

    Returns:
        The request's `custom_id`, and the reply or why there is none.

    Raises:
        CaseError: `unreadable_row`: the line is not a result, as the half-written last line of a file.
    """
    try:
        # Some editors write a byte order mark.
        found: Any = from_json(line.removeprefix("\ufeff"))
        answer = _anthropic_answer(found["result"]) if "result" in found else _answer(found, model)
        return str(found["custom_id"]), answer
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        message = "not a line of batch results: it needs custom_id, and response, error or result"
        raise CaseError("unreadable_row", message, line[:80]) from error


def without_keys(secrets: Secrets) -> Callable[[str], str]:
    """The function from a line of results to the line without these: what failed may show parts of a key."""
    known, forms = [*secrets], forms_of(secrets)

    def clean(line: str) -> str:
        with suppress(CaseError):
            if isinstance(read_result(line)[1], Reply):
                return remove_secrets(line, forms)
        return redact(line, known)

    return clean


def _answer(found: Mapping[str, Any], model: str) -> Answer:
    """The answer in a line in OpenAI's form."""
    where = f"{model}: " if model else ""
    match found:
        case {"response": {"status_code": int(status)} as response} if status >= FIRST_ERROR_STATUS:
            reason = message_of(response.get("body") or found.get("error"))  # vLLM has it beside the response
            return model_error(code_of_status(status), f"{where}{status}: {reason}", model)
        case {"response": {} as response}:
            body = response.get("body", response)
            error = model_error("server", f"{where}{no_reply(body)}", model)
            return completion_of(body) or error
        case _:
            fault = found["error"]
            code = fault.get("code") if is_mapping(fault) else None
            return model_error(CODES.get(str(code), "failed"), where + message_of(fault), model)


def _anthropic_answer(result: Mapping[str, Any]) -> Answer:
    """The answer in a line of Anthropic's results."""
    match result:
        case {"type": "succeeded", "message": {} as message}:
            text = "".join(block["text"] for block in message["content"] if block["type"] == "text")
            used = message["usage"]
            n_prompt = sum(used.get(kind) or 0 for kind in PROMPT_TOKENS)
            usage = usage_of(n_prompt, used["output_tokens"])
            return Reply(text, message.get("stop_reason"), usage, message.get("model"))
        case {"type": "errored", "error": {"error": {"type": kind, "message": message}}}:
            return model_error(ANTHROPIC_CODES.get(kind, "server"), f"{kind}: {message}", "")
        case _:
            kind = str(result["type"])
            why = f"the batch did not come to this request: {kind}"
            return model_error(CODES.get(kind, "failed"), why, "")


class CollectedAnswers:
    """The answers in lines of results, by `custom_id`. They are kept on disk until it is closed.

    A reply replaces an error, and nothing replaces a reply, so that lines can be added in any order.

    Attributes:
        usage: the tokens of all replies: equal rows share a request and its tokens.
        n_unreadable: how many lines are not results.
    """

    def __init__(self) -> None:
        self.usage, self.n_unreadable = Usage(), 0
        self._lines, self._asked = DiskDict(), DiskDict()

    @property
    def n_unfit(self) -> int:
        """How many belong to no request about the rows that `note_requests` has seen.

        They come from another model, judge or option, or from cases that have changed since.
        """
        return sum(not self._asked.get(FURTHER.sub("", name)) for name in self._lines)

    def note_requests(self, previous: Previous | None) -> Previous:
        """`previous`, which is called for each judge and case, noting that their requests are asked."""

        def looked_up(judge: AnyJudge, case: Case) -> Verdict | None:
            for one in judge.judges if isinstance(judge, Panel) else (judge,):
                self._asked[first_id(one, case)] = True
            return previous(judge, case) if previous else None

        return looked_up

    def add(self, lines: Iterable[str], model: str = "") -> None:
        """Add lines of results; blank lines are skipped, and those that are not results are counted."""
        for line in filter(str.strip, lines):
            try:
                name, answer = read_result(line, model)
            except CaseError:
                self.n_unreadable += 1
                continue
            if not self._lines.get(name, (False,))[-1]:  # there is no reply yet
                self._lines[name] = (line, model, isinstance(answer, Reply))
                self.usage += (isinstance(answer, Reply) and answer.usage) or Usage()

    def __call__(self, name: str) -> Answer | None:
        """The answer to the request with that `custom_id`, read anew; None if there is none."""
        found = self._lines.get(name)
        return read_result(found[0], found[1])[1] if found else None

    def close(self) -> None:
        """Remove what is on disk."""
        self._lines.close()
        self._asked.close()


def request_lines(
    judges: AnyJudge | Sequence[AnyJudge],
    cases: Iterable[Row],
    *,
    answered: Iterable[str] = (),
    url: str = URL,
) -> Generator[str, None, None]:
    """The requests of a run as lines of a batch file in OpenAI's form, each request once.

    Memory does not grow with the cases: what was written is remembered in a temporary file.

    Args:
        judges: one or more judges; of a panel all votes are asked for.
        cases: the cases. Rows that need no model, such as those without a response, give no line.
        answered: lines of results that are there already: what they answer is not asked again, and what
            failed or cannot be read is.
        url: the `url` of every line.

    Raises:
        TypeError, ValueError: there is no judge, one is a name, or two have one name.
    """
    with closing(CollectedAnswers()) as answers:
        answers.add(answered)
        for new, _ in pending_requests(check_judges(judges, 1), cases, answers):
            yield from (request_line(each, url) for each in new)


def verdicts_of(
    results: Iterable[str], judges: AnyJudge | Sequence[AnyJudge], cases: Iterable[Row]
) -> Generator[Verdict, None, None]:
    """The verdicts that lines of results give, one for each case and judge, in the order of the cases.

    Args:
        results: lines in OpenAI's form, in any order; lines that are not results are skipped.
        judges: the judges of `request_lines`.
        cases: the cases of `request_lines`.

    Yields:
        Verdicts. A request without a result gives the error `unanswered`.

    Raises:
        TypeError, ValueError: as for `request_lines`.
    """
    with closing(CollectedAnswers()) as answers:
        answers.add(results)
        yield from verdicts_in(answers, check_judges(judges, 1), cases)
