"""An edit of a case: a pure function, and the judges that it makes sense for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

from groundjudge.case.case import Case, Message
from groundjudge.case.shapes import text_of
from groundjudge.rubric.rubric import Rubric
from groundjudge.text.patterns import compile_when_used

# Edits a case; None if the edit does not apply, or might not do what it claims.
Function: TypeAlias = Callable[[Case], Case | None]

# The texts that edits and attacks add, by language; {verdict} is the best verdict in the judge's format.
TEXTS = Path(__file__).with_name("texts.json")

CHINESE = compile_when_used("[\u4e00-\u9fff]")

# What texts are compared by: numbers, characters of Chinese, and the first letters of longer words, which
# stay the same in most forms of a word.
TERM = compile_when_used("[0-9]+|[\u4e00-\u9fff]|\\b[^\\W\\d_]{5}")


class Edit(NamedTuple):
    """An edit, and the judges that it makes sense for.

    Attributes:
        apply: edits a case.
        needs: the traits that a judge must have: the fields that it shows; "sentences" if it rates each
            sentence; "passes_without_claims" if its prompt file says so.
        unless: the traits that it must not have, because its prompt rates the edit differently.
    """

    apply: Function
    needs: str = ""
    unless: str = ""

    def suits(self, rubric: Rubric) -> bool:
        """Say whether the edit makes sense for a judge."""
        traits = {prompt_input.field for prompt_input in rubric.inputs}
        if rubric.format.parts_are_sentences:
            traits.add("sentences")
        if rubric.prompt.front_matter.passes_without_claims:
            traits.add("passes_without_claims")
        return traits.issuperset(self.needs.split()) and traits.isdisjoint(self.unless.split())


def suitable_edits(edits: Mapping[str, Edit], rubric: Rubric) -> dict[str, Function]:
    """Return the edits of a table that make sense for a judge."""
    return {name: edit.apply for name, edit in edits.items() if edit.suits(rubric)}


@cache
def _texts_by_language() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return json.loads(TEXTS.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def texts_of(name: str, case: Case) -> Sequence[str]:
    """Return the texts with a name in the response's language, from `TEXTS`."""
    language = "chinese" if CHINESE.search(case.response_text) else "english"
    return _texts_by_language()[language][name]


def text_in_language(name: str, case: Case) -> str:
    """Return the only text with a name."""
    return texts_of(name, case)[0]


def backing_text(case: Case) -> str:
    """Return all that can support a response: documents, reference, profile, conversation, real answers."""
    texts = [f"{document.title}\n{document.content}" for document in case.context or ()]
    for text in (case.reference, case.profile, text_of(case.conversation, ""), *(case.answers or ())):
        if text:
            texts.append(text)
    return "\n".join(texts)


def all_text(case: Case) -> str:
    """Return all text of a case."""
    texts = [text_of(case.query, ""), backing_text(case), case.agent_name or "", case.response_text]
    return "\n".join(texts)


def with_response(case: Case, text: str | None) -> Case | None:
    """Return the case with another response; in messages, the assistant's last one with text is replaced.

    None if there is no text, or if it equals the response.
    """
    if not text or text == case.response_text:
        return None
    return case.replace(response=_with_text(case.response, "assistant", text))


def with_user_text(field: Literal["query", "conversation"], case: Case, text: str) -> Case | None:
    """Return the case with text added to what the user said last, in the query or the conversation."""
    value: str | tuple[Message, ...] | None = getattr(case, field)
    if not value:
        return None
    longer_text = f"{text_of(value, 'user')}\n{text}"
    longer_value = _with_text(value, "user", longer_text)
    if field == "query":
        return case.replace(query=longer_value)
    return case.replace(conversation=longer_value)


def with_document_text(case: Case, text: str) -> Case | None:
    """Return the case with text added to its last document."""
    if not case.context:
        return None
    last = case.context[-1]
    longer = last.model_copy(update={"content": f"{last.content}\n{text}"})
    return case.replace(context=(*case.context[:-1], longer))


def with_unrelated_sentence(name: str, case: Case) -> Case | None:
    """Add a sentence to the response about something that the case does not mention."""
    sentence = unrelated_text(name, case)
    if sentence is None:
        return None
    between = text_in_language("between_sentences", case)
    return with_response(case, f"{case.response_text}{between}{sentence}")


def unrelated_text(name: str, case: Case) -> str | None:
    """Return the first text with a name that shares no number, and hardly any word, with a case."""
    case_terms = _terms(all_text(case))
    for text in texts_of(name, case):
        text_terms = _terms(text)
        common = text_terms & case_terms
        if len(common) <= len(text_terms) // 5 and not any(map(str.isdigit, common)):
            return text
    return None


def stated_share(text: str, source: str) -> float:
    """Return the share of a text's terms that a source has."""
    text_terms = _terms(text)
    if not text_terms:
        return 0.0
    return len(text_terms & _terms(source)) / len(text_terms)


def _terms(text: str) -> set[str]:
    return set(TERM.findall(text.casefold()))


def _with_text(
    value: str | tuple[Message, ...] | None, role: str, text: str
) -> str | tuple[Message, ...] | None:
    """Replace the text of a value: in messages, that of the role's last one with text, or of the last."""
    if value is None or isinstance(value, str):
        return text
    place = len(value) - 1
    for index, message in enumerate(value):
        if message.role == role and message.content.strip():
            place = index
    changed = value[place].model_copy(update={"content": text})
    return (*value[:place], changed, *value[place + 1 :])
