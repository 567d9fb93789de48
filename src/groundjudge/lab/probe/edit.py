"""An edit of a case: a pure function, and which judges it makes sense for."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from groundjudge.case.case import Case, Message
from groundjudge.case.shapes import text_of
from groundjudge.rubric.rubric import Rubric
from groundjudge.text.numbers import numbers
from groundjudge.text.words import words

# Edits a case; None where the edit does not apply, or might not do what it claims.
Function: TypeAlias = Callable[[Case], Case | None]

# What edits and attacks add to a case, by language; {verdict} is the best verdict in the judge's format.
TEXTS = Path(__file__).with_name("texts.json")

CHINESE = re.compile("[\u4e00-\u9fff]")

# Texts whose content words are kept: each sentence of a response is compared with one source.
MOST_KEPT = 32


class Edit(NamedTuple):
    """An edit, and the judges that it makes sense for.

    Attributes:
        apply: edits a case.
        needs: what a judge must show or be: the names of fields, its own name, "sentences" if it rates each.
        unless: what it must not show or be, because its prompt rates the edit differently.
    """

    apply: Function
    needs: str = ""
    unless: str = ""

    def suits(self, rubric: Rubric) -> bool:
        """Whether the edit makes sense for a judge."""
        traits = {rubric.name, *(each.field for each in rubric.inputs)}
        traits |= {"sentences"} if rubric.format.parts_are_sentences else set()
        return traits.issuperset(self.needs.split()) and traits.isdisjoint(self.unless.split())


def suitable_edits(edits: Mapping[str, Edit], rubric: Rubric) -> dict[str, Function]:
    """The edits of a table that make sense for a judge."""
    return {name: edit.apply for name, edit in edits.items() if edit.suits(rubric)}


@cache
def _texts() -> Mapping[str, Mapping[str, Sequence[str]]]:
    return json.loads(TEXTS.read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def texts_of(name: str, case: Case) -> Sequence[str]:
    """The texts of a name in the language of the response, from `TEXTS`."""
    return _texts()["chinese" if CHINESE.search(case.response_text) else "english"][name]


def text_in_language(name: str, case: Case) -> str:
    """The only text of a name."""
    return texts_of(name, case)[0]


def backing(case: Case) -> str:
    """All that can back a response: documents, reference, profile, conversation and real answers."""
    documents = (f"{document.title}\n{document.content}" for document in case.context or ())
    spoken = text_of(case.conversation, "")
    fields = (case.reference, case.profile, spoken, *(case.answers or ()))
    return "\n".join([*documents, *filter(None, fields)])


def everything(case: Case) -> str:
    """All text of a case."""
    return "\n".join([text_of(case.query, ""), backing(case), case.agent_name or "", case.response_text])


def with_response(case: Case, text: str | None) -> Case | None:
    """The case with another response; of messages, the assistant's last one with text is replaced.

    None if there is no text, or if it is the response.
    """
    new = _with_text(case.response, "assistant", text or "")
    return case.replace(response=new) if text and text != case.response_text else None


def with_asked(field: str, case: Case, text: str) -> Case | None:
    """The case with text added to what the user said last, in the query or in the conversation."""
    value: str | tuple[Message, ...] | None = getattr(case, field)
    added = f"{text_of(value, 'user')}\n{text}"
    changes: Any = {field: _with_text(value, "user", added)}
    return case.replace(**changes) if value else None


def with_document(case: Case, text: str) -> Case | None:
    """The case with text added to its last document."""
    if not case.context:
        return None
    *others, last = case.context
    longer = last.model_copy(update={"content": f"{last.content}\n{text}"})
    return case.replace(context=(*others, longer))


def appended(name: str, case: Case) -> Case | None:
    """The case with one more sentence in its response, about something that the case does not mention."""
    text = unrelated(name, case)
    between = text_in_language("between_sentences", case)
    return with_response(case, text and f"{case.response_text}{between}{text}")


def unrelated(name: str, case: Case) -> str | None:
    """The first text of a name that has no number, and hardly a content word, in common with a case."""
    given = everything(case)
    theirs, known = _content(given), set(numbers(given))
    fits = (
        text
        for text in texts_of(name, case)
        if len(_content(text) & theirs) <= len(_content(text)) // 5 and known.isdisjoint(numbers(text))
    )
    return next(fits, None)


def stated_share(text: str, source: str) -> float:
    """The share of a text's content words that a source has."""
    mine = _content(text)
    return len(mine & _content(source)) / (len(mine) or 1)


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
    return (*value[:last], value[last].model_copy(update={"content": text}), *value[last + 1 :])
