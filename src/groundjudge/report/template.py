"""Pages of data: a template, a style sheet, a script, and what they show of a case.

A page fetches nothing, and text of cases and verdicts is never parsed as HTML: it is embedded as JSON, the
page's script inserts it as text nodes, and the page's Content-Security-Policy allows no other script.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from groundjudge.case.case import Case, Document, Message
from groundjudge.case.data import is_list
from groundjudge.verdict import well_formed

FOLDER = Path(__file__).parent
"""The folder of the templates, style sheets and scripts."""

HEAD = 1000
"""So many bytes at the beginning of a page have its mark."""

MARK = b'<meta name="generator" content="groundjudge">'
"""What every page has in its head."""

CASE_FIELDS = ("query", "conversation", "reference", "profile", "agent_name", "answers")
"""The fields of a case that are copied as they are; response and context are converted."""


def filled(name: str, title: str, data: Mapping[str, Any]) -> str:
    """Make a page from its parts, with a policy that allows its own style sheet and script alone.

    Args:
        name: of the page's body and script; it has the style sheet page.css, and one of its name.
        title: the page's heading.
        data: what the script shows.
    """
    style = "".join(_read(FOLDER / f"{each}.css") for each in dict.fromkeys(("page", name)))
    script = _read(FOLDER / f"{name}.js")
    policy = (
        f"default-src 'none'; img-src data:; script-src {_csp_hash(script)}; style-src {_csp_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    values = {
        "policy": policy,
        "title": escape(title),
        "style": style,
        "body": _read(FOLDER / f"{name}.html"),
        "data": _embedded(data),
        "script": script,
    }
    # Split once and joined once: a placeholder inside the data is left as it is.
    pieces = _read(FOLDER / "shell.html").split("@@")
    return well_formed("".join(values[piece] if index % 2 else piece for index, piece in enumerate(pieces)))


def is_page(path: str | Path) -> bool:
    """Whether a file begins as these pages do."""
    with Path(path).open("rb") as page:
        return MARK in page.read(HEAD)


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _csp_hash(code: str) -> str:
    """The source expression of an inline style sheet or script in a Content-Security-Policy."""
    return f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"


def _embedded(data: object) -> str:
    """JSON without `<`, `>` and `&`, which therefore cannot close the script element around it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate({ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def case_data(case: Case) -> dict[str, Any]:
    """The fields of a case as a page shows them."""
    fields = {
        "id": case.id,
        **{name: _displayed(getattr(case, name)) for name in CASE_FIELDS},
        "response": case.response_text,
    }
    if case.context is None:
        return without_empty(fields)
    return {**without_empty(fields), "context": [_document(document) for document in case.context]}


def _document(document: Document) -> dict[str, Any]:
    return without_empty(
        {"title": document.title, "tool": document.kind == "tool", "content": document.content}
    )


def _displayed(value: Any) -> object:  # noqa: ANN401  whatever a field of a case holds
    """A field as text or a list of texts; a message as [role, text], with its tool calls in the text."""
    if isinstance(value, Message):
        calls = [
            f"→ {call.name}({json.dumps(call.arguments, ensure_ascii=False)})" for call in value.tool_calls
        ]
        return [value.role, "\n".join([value.content, *calls]).strip()]
    return [_displayed(one) for one in value] if is_list(value) else value


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what is empty or false, which keeps a page of thousands of rows small."""
    return {
        key: value
        for key, value in fields.items()
        if value is not None and value is not False and value not in ("", [], ())
    }
