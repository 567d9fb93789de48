"""JSON in a string, as in a table cell; it is read the same way in any container."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from groundjudge.case.data import is_absent, is_list, is_mapping
from groundjudge.errors import CaseError
from groundjudge.text.patterns import compile_when_used

STRING = r"""(?:'(?:[^'\\]|\\.)*+(?:'|\\?\Z)|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))"""
LIST_OF_TEXTS = compile_when_used(
    rf"\[\s*(?:(?:(?:{STRING}|None|nan)[\s,]*)++\]?\s*\Z|\{{\s*['\"]|\w+\(\w+=)"
)
"""A list of texts, also a cut-off one, or how a list of mappings or objects begins, in Python or JSON."""

LIST_OF_MESSAGES = compile_when_used(r"""\[\s*(?:\{\s*(['"])role\1\s*:|\w*Message\()""")
"""How a list of chat messages begins, in Python or JSON."""


def read_list(text: str, *types: type) -> Sequence[Any] | None:
    """Return the JSON list that a string is; None if it is not one, or has entries of other types.

    An entry may also be absent; the code that reads the entries refuses that as in any list.
    """
    values = _parse_list(text)
    if not is_list(values):
        return None
    for value in values:
        if not isinstance(value, types) and not is_absent(value):
            return None
    return values


def read_object(text: str) -> Mapping[str, Any] | None:
    """Return the JSON object that a string is; None if it is not one."""
    value: object = None
    if text.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(text)
    return value if is_mapping(value) else None


def opened(value: object) -> Any:  # noqa: ANN401  any value
    """Return the JSON object or list that a string is; any other value unchanged."""
    if isinstance(value, str) and looks_like_json(value):
        with suppress(ValueError, RecursionError):
            # Not strict: spreadsheets leave line breaks in strings unescaped.
            return json.loads(value, strict=False)
    return value


def looks_like_json(text: str) -> bool:
    """Return whether a text begins like a JSON object or list."""
    return text.lstrip()[:1] in {"{", "["}


def read_documents(field: str, text: str) -> object:
    """Return the list of documents that a string is; otherwise the string, which is a document.

    Raises:
        CaseError: `context_unreadable`, or `field_unreadable` of another field: it is a list, but not JSON.
    """
    values = read_list(text, str, dict)
    if values is not None:
        return values
    if _parse_list(text) is None and LIST_OF_TEXTS.match(text.lstrip()):
        raise CaseError(code_of(field), _why_no_list(field, text), field)
    return text


def code_of(field: str) -> str:
    """Return the error code of an unreadable field."""
    return "context_unreadable" if field == "context" else "field_unreadable"


def refuse_messages(field: str, text: str) -> None:
    """Refuse a string that is a list of chat messages, but not JSON.

    Raises:
        CaseError: `field_unreadable`.
    """
    if _parse_list(text) is None and LIST_OF_MESSAGES.match(text.lstrip()):
        raise CaseError("field_unreadable", _why_no_list(field, text), field)


def _parse_list(text: str) -> object:
    """Return the list that a string is; None if it begins like a list, but is not JSON; else the string."""
    stripped = text.strip()
    if not stripped.startswith("["):
        return text
    try:
        # Not strict: spreadsheets leave line breaks in strings unescaped.
        value, end = json.JSONDecoder(strict=False).raw_decode(stripped)
    except (ValueError, RecursionError):  # "[1] says so" is a list and more; "[red] says so" is not JSON
        return None
    if end < len(stripped):
        return text
    return cast("object", value)


def _why_no_list(field: str, text: str) -> str:
    fault = "a list that is cut off: export it in full"
    if text.rstrip().endswith("]"):
        fault = (
            "a list as Python writes it, and pandas in CSV: read it with ast.literal_eval, and give the "
            "list or write it with json.dumps"
        )
    return f"{field} is {fault}; if it is one text, give a list of that text: {text[:60]!r}"
