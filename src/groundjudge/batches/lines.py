"""The lines of batch files in OpenAI's form, which vLLM and others use too, and of Anthropic's results.

You can write and read batch files without a provider. Answers to a submitted run are kept by `custom_id`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from typing import Any

from pydantic_core import from_json, to_json

from groundjudge.batches.anthropic import read_anthropic_result
from groundjudge.batches.first import read_online_reply
from groundjudge.batches.provider import CODES
from groundjudge.batches.replay import (
    Answer,
    DiskDict,
    PendingRequest,
    pending_requests,
    verdicts_in,
)
from groundjudge.case.data import is_mapping
from groundjudge.errors import CaseError
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.failure import (
    FIRST_ERROR_STATUS,
    code_of_answer,
    message_of,
    model_error,
    no_reply,
)
from groundjudge.models.redaction import forms_of, redact, remove_secrets
from groundjudge.models.returned import completion_of
from groundjudge.models.secret_values import Secrets
from groundjudge.replies.reply import Reply
from groundjudge.runs.run import Row, check_cases, check_judges
from groundjudge.verdict import Usage, Verdict

URL = "/v1/chat/completions"

RESULT_FORMS: Mapping[str, Callable[[Mapping[str, Any]], Answer]] = {
    "result": read_anthropic_result,
    "reply": read_online_reply,
}
"""Result formats other than OpenAI's: the key that only their lines have, and the function that reads the
answer from its value."""


def request_line(pending: PendingRequest, url: str = URL) -> str:
    """Write a request as a line, without a line break.

    Args:
        pending: the request.
        url: the path of the endpoint, as the provider expects it.
    """
    request = pending.accepted
    body = {"model": pending.model.name, "messages": request.messages, **request.parameters}
    line = {"custom_id": pending.custom_id, "method": "POST", "url": url, "body": body}
    return to_json(line).decode()  # several times as fast as json.dumps


def unanswered_line(name: str, reason: str, code: str = "unanswered") -> str:
    """Write a result line for a request without a result, with the reason; the code is one of CODES."""
    return to_json({"custom_id": name, "error": {"code": code, "message": reason}}).decode()


def read_result(line: str, model: str = "") -> tuple[str, Answer]:
    """Read a line of an output file or an error file in OpenAI's form, or of Anthropic's results.

    Args:
        line: the line.
        model: the model's name, for error messages.

    Returns:
        The request's `custom_id`, and the reply or the error in its place.

    Raises:
        CaseError: `unreadable_row`: the line is not a result, such as the half-written last line of a file.
    """
    try:
        # Some editors write a byte order mark.
        result: Any = from_json(line.removeprefix("\ufeff"))
        for key, read_form in RESULT_FORMS.items():
            if key in result:
                return str(result["custom_id"]), read_form(result[key])
        return str(result["custom_id"]), _read_openai_answer(result, model)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        message = "not a line of batch results: it needs custom_id, and response, error or result"
        raise CaseError("unreadable_row", message, line[:80]) from error


def without_keys(secrets: Secrets) -> Callable[[str], str]:
    """Make a function that removes the secrets from a line of results.

    A failure may show parts of a key, so it is searched for these too.
    """
    keys = list(secrets)
    forms = forms_of(secrets)

    def clean(line: str) -> str:
        with suppress(CaseError):  # a line without a result is searched as thoroughly as a failure
            _, answer = read_result(line)
            if isinstance(answer, Reply):
                return remove_secrets(line, forms)
        return redact(line, keys)

    return clean


def _read_openai_answer(result: Mapping[str, Any], model: str) -> Answer:
    """Read the answer in a line in OpenAI's form."""
    origin = f"{model}: " if model else ""
    match result:
        case {"response": {"status_code": int(status)} as response} if status >= FIRST_ERROR_STATUS:
            fault = response.get("body") or result.get("error")  # vLLM puts it next to the response
            code = code_of_answer(status, fault) or "server"
            return model_error(code, f"{origin}{status}: {message_of(fault)}", model)
        case {"response": {} as response}:
            body = response.get("body", response)  # some servers leave the body out
            reply = completion_of(body)
            if reply is None:
                code = code_of_answer(None, body) or "server"
                return model_error(code, f"{origin}{no_reply(body)}", model)
            return reply
        case _:
            fault = result["error"]
            word = fault.get("code") if is_mapping(fault) else None
            return model_error(CODES.get(str(word), "failed"), origin + message_of(fault), model)


class CollectedAnswers:
    """The answers in lines of results, by `custom_id`, kept on disk until this object is closed.

    A reply replaces an error, and nothing replaces a reply, so lines can be added in any order. If two
    replies to a request have different texts, neither is believed.

    Attributes:
        usage: the tokens of all batch replies: equal rows share a request and its tokens.
        online_usage: the tokens of the replies that came online.
        n_unreadable: how many lines are not results.
    """

    def __init__(self) -> None:
        self.usage = Usage()
        self.online_usage = Usage()
        self.n_unreadable = 0
        self._lines = DiskDict()

    def add(self, lines: Iterable[str], model: str = "", *, are_online: bool = False) -> None:
        """Add lines of results; blank lines are skipped, and those that are not results are counted.

        Args:
            lines: the lines.
            model: the model's name, for error messages.
            are_online: whether the replies came online, and so cost the full price.
        """
        for line in lines:
            if not line.strip():
                continue
            try:
                name, answer = read_result(line, model)
            except CaseError:
                self.n_unreadable += 1
                continue
            known = self(name)
            if isinstance(known, Reply):
                if isinstance(answer, Reply) and answer.text not in (known.text, *known.other_texts):
                    first_line, first_model, _ = self._lines.get(name)
                    self._lines[name] = (first_line, first_model, (*known.other_texts, answer.text))
                continue
            # A file of errors or a later batch can answer the same request again.
            self._lines[name] = (line, model, ())
            if not isinstance(answer, Reply) or not answer.usage:
                continue
            if are_online:
                self.online_usage += answer.usage
            else:
                self.usage += answer.usage

    def __call__(self, name: str) -> Answer | None:
        """Return the answer to the request with that `custom_id`, read anew; None if there is none."""
        entry = self._lines.get(name)
        if not entry:
            return None
        line, model, other_texts = entry
        _, answer = read_result(line, model)
        if other_texts and isinstance(answer, Reply):
            return replace(answer, other_texts=tuple(other_texts))
        return answer

    def close(self) -> None:
        """Remove what is on disk."""
        self._lines.close()


def request_lines(
    judges: AnyJudge | Sequence[AnyJudge],
    cases: Iterable[Row],
    *,
    answered: Iterable[str] = (),
    url: str = URL,
) -> Generator[str, None, None]:
    """Yield the requests of a run as lines of a batch file in OpenAI's form, each request once.

    Memory does not grow with the cases: what was written is remembered in a temporary file.

    Args:
        judges: one or more judges; for a panel, all votes are requested.
        cases: the cases. Rows that need no model, such as those without a response, produce no line.
        answered: existing lines of results: requests that they answer are left out; those that failed or
            cannot be read are requested again.
        url: the `url` of every line.

    Raises:
        TypeError, ValueError: no judge is passed, one is a name, or two share a name; or `cases` is one case,
            a path or a data frame.
    """
    check_cases(cases)
    with closing(CollectedAnswers()) as answers:
        answers.add(answered)
        # Nothing is sent, so any concurrency will do.
        for new_requests, _ in pending_requests(check_judges(judges), cases, answers):
            for pending in new_requests:
                yield request_line(pending, url)


def verdicts_of(
    results: Iterable[str], judges: AnyJudge | Sequence[AnyJudge], cases: Iterable[Row]
) -> Generator[Verdict, None, None]:
    """Yield the verdicts from lines of results, one for each case and judge, in the order of the cases.

    Args:
        results: lines in OpenAI's form, in any order; lines that are not results are skipped.
        judges: the judges of `request_lines`.
        cases: the cases of `request_lines`.

    Yields:
        Verdicts. A request without a result becomes the error `unanswered`.

    Raises:
        TypeError, ValueError: as for `request_lines`.
    """
    check_cases(cases)
    with closing(CollectedAnswers()) as answers:
        answers.add(results)
        yield from verdicts_in(answers, check_judges(judges), cases)
