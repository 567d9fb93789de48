"""Edits that change nothing that a judge rates: the verdict on a right response must not change."""

from __future__ import annotations

import re
from collections.abc import Mapping

from groundjudge.case.case import Case, Document
from groundjudge.lab.probe.edit import Edit, text_in_language, unrelated_text, with_response
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import sentences

# A response that speaks of its documents may mean one by its number.
_DOCUMENT = compile_when_used(r"\b(?:document|source)|文档|第.[份个]文", re.IGNORECASE)
# An address, or a word that means something else in capitals, such as mW, pH and Mb.
_CASE_MATTERS = compile_when_used(r"[@/_]|www\.|[a-z][A-Z]|\b[MGT]b\b")


def documents_reversed(case: Case) -> Case | None:
    """Reverse the order of the documents."""
    documents = case.context or ()
    reversed_documents = documents[::-1]
    if reversed_documents == documents or _DOCUMENT.search(case.response_text):
        return None
    return case.replace(context=reversed_documents)


def unrelated_document(case: Case) -> Case | None:
    """Put a document about something else before the others."""
    text = unrelated_text("documents", case)
    if not text or not case.context or _DOCUMENT.search(case.response_text):
        return None
    return case.replace(context=(Document(content=text), *case.context))


def markdown(case: Case) -> Case | None:
    """Write the response as a Markdown list, or in bold if it is a single sentence."""
    texts = [span.text for span in sentences(case.response_text)]
    if len(texts) > 1:
        lines = [f"- {text}" for text in texts]
    else:
        lines = [f"**{case.response_text.strip()}**"]
    return with_response(case, "\n".join(lines))


def capitals(case: Case) -> Case | None:
    """Write the response in capital letters."""
    response = case.response_text
    if not response.isascii() or _CASE_MATTERS.search(response):
        return None
    return with_response(case, response.upper())


def white_space(case: Case) -> Case | None:
    """Put each sentence of the response on a separate, indented line, with more spaces between words."""
    lines: list[str] = []
    for span in sentences(case.response_text):
        wide_text = span.text.replace(" ", "  ")
        lines.append(f"  {wide_text}")
    return with_response(case, "\n\n".join(lines))


def polite_sentence(case: Case) -> Case | None:
    """Put a polite sentence that claims nothing before the response."""
    return with_response(case, text_in_language("courtesy", case) + case.response_text)


def query_translated(case: Case) -> Case | None:
    """Replace the query by its translation, which the case has in its metadata as `query_translated`."""
    translation = case.metadata.get("query_translated")
    if not isinstance(translation, str) or not isinstance(case.query, str):
        return None
    return case.replace(query=translation)


# The edits by name.
EDITS: Mapping[str, Edit] = {
    "documents_reversed": Edit(documents_reversed, needs="context"),
    "unrelated_document": Edit(unrelated_document, needs="context"),
    "markdown": Edit(markdown),
    "capitals": Edit(capitals),
    "white_space": Edit(white_space),
    # A judge that rates sentences gives one without a claim the lowest score; to one that compares passages,
    # it is noise.
    "polite_sentence": Edit(polite_sentence, unless="sentences reference"),
    "query_translated": Edit(query_translated, needs="query"),
}
