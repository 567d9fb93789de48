"""Edits that change nothing that a judge rates: the verdict on a right response must stay."""

from __future__ import annotations

import re
from collections.abc import Mapping

from groundjudge.case.case import Case, Document
from groundjudge.lab.probe.edit import Edit, text_in_language, unrelated, with_response
from groundjudge.text.sentences import sentences

_COUNTED = re.compile(
    r"\b(?:document|source)s? \d|\b(?:first|last|second) (?:document|source)|文档|第.[份个]文", re.IGNORECASE
)
# What means something else in capitals.
_BY_CASE = re.compile(r"\b(?:[mM]W|[mMkKgG]b|[mMkKgG]B|mS|MS|pH)\b|[\w.]+@|https?:|www\.|[a-z]/[a-z]")


def documents_reversed(case: Case) -> Case | None:
    """The documents in the opposite order."""
    turned = (case.context or ())[::-1]
    is_free = turned != (case.context or ()) and not _COUNTED.search(case.response_text)
    return case.replace(context=turned) if is_free else None


def unrelated_document(case: Case) -> Case | None:
    """One more document, about something else, before the others."""
    more = unrelated("documents", case)
    is_free = more and case.context and not _COUNTED.search(case.response_text)
    context = (Document(content=more or ""), *(case.context or ()))
    return case.replace(context=context) if is_free else None


def markdown(case: Case) -> Case | None:
    """The response as a list in Markdown, or in bold type if it is a single sentence."""
    found = [span.text for span in sentences(case.response_text)]
    lines = [f"- {text}" for text in found] if len(found) > 1 else [f"**{case.response_text.strip()}**"]
    return with_response(case, "\n".join(lines))


def capitals(case: Case) -> Case | None:
    """The response in capital letters."""
    response = case.response_text
    is_safe = response.isascii() and not _BY_CASE.search(response)
    return with_response(case, response.upper()) if is_safe else None


def white_space(case: Case) -> Case | None:
    """Each sentence of the response indented on a line of its own, with more spaces between the words."""
    lines = (span.text.replace(" ", "  ") for span in sentences(case.response_text))
    return with_response(case, "\n\n".join(f"  {line}" for line in lines))


def polite_sentence(case: Case) -> Case | None:
    """A polite sentence that claims nothing before the response."""
    return with_response(case, text_in_language("courtesy", case) + case.response_text)


def query_translated(case: Case) -> Case | None:
    """The query in another language: the case has it in its metadata, under `query_translated`."""
    translated = case.metadata.get("query_translated")
    is_text = isinstance(translated, str) and isinstance(case.query, str)
    return case.replace(query=translated) if is_text else None


# The edits by name.
EDITS: Mapping[str, Edit] = {
    "documents_reversed": Edit(documents_reversed, needs="context"),
    "unrelated_document": Edit(unrelated_document, needs="context"),
    "markdown": Edit(markdown),
    "capitals": Edit(capitals),
    "white_space": Edit(white_space),
    # One that rates sentences gives a sentence without a claim the lowest score; to one that compares
    # passages it is noise.
    "polite_sentence": Edit(polite_sentence, unless="sentences reference"),
    "query_translated": Edit(query_translated, needs="query"),
}
