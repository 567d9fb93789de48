"""Pages of data: a template, a style sheet, a script, and the fields of a case that they show.

A page fetches nothing, and never parses text from cases and verdicts as HTML: the text is embedded as JSON,
the page's script inserts it as text nodes, and the page's Content-Security-Policy allows no other script.
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

# The folder of the parts that all pages share, and of the labelling page.
FOLDER = Path(__file__).parent

# Every page has this in its head, within this many bytes from the beginning.
MARK = b'<meta name="generator" content="groundjudge">'
HEAD = 1000

# The fields of a case to copy unchanged; response and context are converted.
CASE_FIELDS = ("query", "conversation", "reference", "profile", "agent_name", "answers")

# Characters that could end the script element around the data, or a line of a script, as JSON escapes.
ESCAPES = str.maketrans(
    {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
)


def fill_page(name: str, title: str, data: Mapping[str, Any], folder: Path = FOLDER) -> str:
    """Make a page from its parts, with a policy that allows its own style sheet and script alone.

    Args:
        name: the name of the page's body, script and style sheet; it also uses page.css.
        title: the page's heading.
        data: what the script shows.
        folder: the folder of the page's own parts.
    """
    style = _read_part(FOLDER / "page.css")
    if name != "page":
        style += _read_part(folder / f"{name}.css")
    script = _read_part(folder / f"{name}.js")
    policy = (
        f"default-src 'none'; img-src data:; script-src {_csp_hash(script)}; style-src {_csp_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    json_text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    values = {
        "policy": policy,
        "title": escape(title),
        "style": style,
        "body": _read_part(folder / f"{name}.html"),
        "data": json_text.translate(ESCAPES),
        "script": script,
    }
    # Split once and joined once: a placeholder inside the data is left as it is.
    pieces = _read_part(FOLDER / "shell.html").split("@@")
    for place in range(1, len(pieces), 2):
        pieces[place] = values[pieces[place]]
    return well_formed("".join(pieces))


def is_page(path: str | Path) -> bool:
    """Say whether a file begins like these pages."""
    with Path(path).open("rb") as page:
        return MARK in page.read(HEAD)


def _read_part(part: Path) -> str:
    return part.read_text(encoding="utf-8")


def _csp_hash(code: str) -> str:
    """Return an inline style sheet's or script's source expression for a Content-Security-Policy."""
    digest = b64encode(sha256(code.encode()).digest())
    return f"'sha256-{digest.decode()}'"


def case_data(case: Case) -> dict[str, Any]:
    """Return the fields of a case as a page shows them."""
    fields: dict[str, Any] = {"id": case.id}
    for name in CASE_FIELDS:
        fields[name] = _field_data(getattr(case, name))
    fields["response"] = case.response_text
    fields = without_empty(fields)
    # An empty context is shown as empty; only a missing one is left out.
    if case.context is not None:
        fields["context"] = [_document_data(document) for document in case.context]
    return fields


def _document_data(document: Document) -> dict[str, Any]:
    is_tool_result = document.kind == "tool"
    return without_empty({"title": document.title, "tool": is_tool_result, "content": document.content})


def _field_data(value: Any) -> object:  # noqa: ANN401  any value of a case's field
    """Return a field as text or a list of texts; a message as [role, text], its tool calls in the text."""
    if isinstance(value, Message):
        lines = [value.content]
        for call in value.tool_calls:
            arguments = json.dumps(call.arguments, ensure_ascii=False)
            lines.append(f"→ {call.name}({arguments})")
        return [value.role, "\n".join(lines).strip()]
    if is_list(value):
        return [_field_data(element) for element in value]
    return value


def without_empty(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out empty and false values, to keep a page of thousands of rows small."""
    present_fields: dict[str, Any] = {}
    for name, value in fields.items():
        if value is None or value is False or value in ("", [], ()):
            continue
        present_fields[name] = value
    return present_fields
