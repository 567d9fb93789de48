"""An edit of a case: a pure function, and which judges it makes sense for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from groundjudge.case.case import Case, Message
from groundjudge.case.shapes import text_of
from groundjudge.rubric.rubric import Rubric
from groundjudge.text.numbers import numbers
from groundjudge.text.words import words

Function: TypeAlias = Callable[[Case], Case | None]
"""Edits a case; None where the edit does not apply, or might not do what it claims."""

CHINESE = re.compile("[\u4e00-\u9fff]")

MOST_KEPT = 32
"""Texts whose content words are kept: each sentence of a response is compared with one source."""


class Edit(NamedTuple):
    """An edit, and the judges that it makes sense for.

    Attributes:
        apply: edits a case.
        needs: traits that a judge must have, see `traits_of`.
        unless: traits that a judge must not have, because its prompt rates the edit differently.
    """

    apply: Function
    needs: str = ""
    unless: str = ""

    def suits(self, rubric: Rubric) -> bool:
        """Whether the edit makes sense for a judge."""
        traits = traits_of(rubric)
        return traits.issuperset(self.needs.split()) and traits.isdisjoint(self.unless.split())


def traits_of(rubric: Rubric) -> frozenset[str]:
    """The fields that a judge shows, its name, and "sentences" if it rates each sentence."""
    kinds = {"sentences"} if rubric.format.parts_are_sentences else set[str]()
    return frozenset({*(each.field for each in rubric.inputs), rubric.name, *kinds})


def suiting(edits: Mapping[str, Edit], rubric: Rubric) -> dict[str, Function]:
    """The edits of a table that make sense for a judge."""
    return {name: edit.apply for name, edit in edits.items() if edit.suits(rubric)}


def in_language(case: Case, english: str, chinese: str) -> str:
    """The text in the language of the response."""
    return chinese if CHINESE.search(case.response_text) else english


def backing(case: Case) -> str:
    """All that can back a response: documents, reference, profile, conversation and real answers."""
    documents = (f"{document.title}\n{document.content}" for document in case.context or ())
    spoken = text_of(case.conversation, "")
    fields = (case.reference, case.profile, spoken, *(case.answers or ()))
    return "\n".join([*documents, *filter(None, fields)])


def everything(case: Case) -> str:
    """All text of a case."""
    return "\n".join([text_of(case.query, ""), backing(case), case.agent_name or "", case.response_text])


def with_response(case: Case, text: str) -> Case:
    """The case with another response; of messages, the last one with text by the assistant is replaced."""
    return case.model_copy(update={"response": _with_text(case.response, "assistant", text)})


def with_asked(field: str, case: Case, text: str) -> Case | None:
    """The case with text added to what the user said last, in the query or in the conversation."""
    value: str | tuple[Message, ...] | None = getattr(case, field)
    if not value:
        return None
    added = f"{text_of(value, 'user')}\n{text}"
    return case.model_copy(update={field: _with_text(value, "user", added)})


def with_document(case: Case, text: str) -> Case | None:
    """The case with text added to its last document that has any."""
    documents = list(case.context or ())
    if not documents:
        return None
    last = documents[-1]
    documents[-1] = last.model_copy(update={"content": f"{last.content}\n{text}"})
    return case.model_copy(update={"context": tuple(documents)})


def shares_nothing(text: str, case: Case) -> bool:
    """Whether a text has no number, and hardly a content word, in common with a case."""
    given = everything(case)
    mine, theirs = _content(text), _content(given)
    return len(mine & theirs) <= len(mine) // 5 and not set(numbers(text)) & set(numbers(given))


def stated_share(text: str, source: str) -> float:
    """The share of a text's content words that a source has."""
    mine = _content(text)
    return len(mine & _content(source)) / (len(mine) or 1)


def first_strange(texts: Iterable[str], case: Case) -> str | None:
    """The first text that shares nothing with a case."""
    return next((text for text in texts if shares_nothing(text, case)), None)


@lru_cache(MOST_KEPT)
def _content(text: str) -> frozenset[str]:
    return frozenset(word.stem for word in words(text) if word.weight == 1)


def _with_text(
    value: str | tuple[Message, ...] | None, role: str, text: str
) -> str | tuple[Message, ...] | None:
    if value is None or isinstance(value, str):
        return text
    places = [at for at, each in enumerate(value) if each.role == role and each.content.strip()]
    last = places[-1] if places else len(value) - 1
    return tuple(
        each.model_copy(update={"content": text}) if at == last else each for at, each in enumerate(value)
    )
