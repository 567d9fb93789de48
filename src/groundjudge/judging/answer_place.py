"""Where the answer is in an application's output: the same place is judged and replaced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from groundjudge.case.data import as_data, is_list, is_mapping
from groundjudge.case.fields import find_keys
from groundjudge.case.shapes import shape_of
from groundjudge.errors import CaseError


@dataclass(frozen=True)
class AnswerPlace:
    """A place in the outputs of an application.

    Attributes:
        key: the key with the answer, of outputs that are mappings; None if the whole output is the answer.
    """

    key: str | None

    def answer_in(self, output: Any) -> Any:  # noqa: ANN401  the application's
        """Return what is judged and replaced.

        Raises:
            CaseError: `missing_field`: the output is a mapping without the key, or no key was named.
        """
        if self.key is None and not is_mapping(output):
            return output
        if self.key is not None and is_mapping(output) and self.key in output:
            return output[self.key]
        shown = type(output).__name__  # and no word of an answer that has not been judged
        if is_mapping(output):
            shown = shape_of(output)
        message = (
            f"guarded(output={self.key!r}) cannot find the answer, because the chain returned {shown}: name "
            "the key of the answer, as in output='answer', or leave `output` out if all of it is the answer"
        )
        raise CaseError("missing_field", message, "response")

    def with_answer(self, output: Any, answer: Any) -> Any:  # noqa: ANN401
        """Return the output with another answer."""
        if self.key is None:
            return answer
        return {**output, self.key: answer}

    def check_rejected(self, rejected: object, app_input: Any, output: Any) -> None:  # noqa: ANN401
        """Check that a rejected answer is in its place only, because nothing else is replaced.

        Sources may contain the same words, and so may what the application passes on from its input.

        Args:
            rejected: the answer, without a message around it.
            app_input: what the application was asked with.
            output: what it returned.

        Raises:
            CaseError: `answer_elsewhere`.
        """
        if self.key is None:
            return
        texts = [text for text in _strings_in(as_data(rejected)) if text.strip()]
        sources = find_keys(output, "context")
        for key, value in output.items():
            is_passed_on = is_mapping(app_input) and app_input.get(key) is value
            if key == self.key or key in sources or is_passed_on:
                continue
            words = "\n".join(_strings_in(as_data(value)))
            for text in texts:
                if text in words:
                    message = (
                        f"the answer under {self.key!r} was rejected, but it is also under {key!r}, which "
                        "guarded does not replace: guard the step of the chain that writes the answer"
                    )
                    raise CaseError("answer_elsewhere", message, key)


def key_for_note(app_input: Mapping[str, Any]) -> str:
    """Return where a note can be added to an input: the key of its messages, or else of its query.

    Raises:
        CaseError: `missing_field`: it has neither.
    """
    keys = find_keys(app_input, "messages") + find_keys(app_input, "query")
    if keys:
        return keys[0]
    message = (
        f"the chain's input has neither messages nor a query to which a note could be added; it is "
        f"{shape_of(app_input)}: pass retries=0, or name one of its keys `query`"
    )
    raise CaseError("missing_field", message, "query")


def _strings_in(data: Any) -> Iterator[str]:  # noqa: ANN401  any JSON
    """Yield all strings among the values of JSON data, at any depth; keys are not among them."""
    if isinstance(data, str):
        yield data
    elif is_mapping(data):
        for value in data.values():
            yield from _strings_in(value)
    elif is_list(data):
        for value in data:
            yield from _strings_in(value)
