"""Writes the tables of docs/errors.md, whose text is written by hand, from the tables of codes in the source.

With --check, nothing is written, and a stale page is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from groundjudge.batches.state import StateError
from groundjudge.decisions.answers import AnswerError
from groundjudge.errors import ENDS_RUN, explain_code, tables_of_codes
from groundjudge.lab.labels import LabelError
from groundjudge.lab.probe.cases import ProbeError
from groundjudge.runs.verdict_file import ResumeError

IMPORTED = (AnswerError, LabelError, ProbeError, ResumeError, StateError)
"""Classes that `import groundjudge` does not bring: a table of codes counts once its class is imported."""

PAGE = Path(__file__).parents[1] / "docs/errors.md"
KINDS = {"Other errors": "GroundjudgeError", "Warnings": "warnings"}
"""The headings that are not the name of a class of errors."""

INDEX, END_OF_INDEX, TABLE = (
    "<!-- all codes -->\n",
    ".\n{ data-search-exclude }\n\n</details>",
    "| code | cause | remedy |\n|---|---|---|\n",
)

DETAILS = '<details markdown="1">\n<summary>All codes from A to Z</summary>'


def page(text: str) -> str:
    """The page with the tables and the index that belong to the codes of today."""
    head, *sections = text.split("\n## ")
    tables = _tables_in_order(sections)
    new_sections: list[str] = []
    for section in sections:
        introduction = section.partition(TABLE)[0]
        new_sections.append(introduction + TABLE + _rows(_kind_of(section), tables))
    before, _, rest = head.partition(INDEX)
    after = rest.partition(END_OF_INDEX)[2]
    new_head = f"{before}{INDEX}{_index(tables)}{END_OF_INDEX}{after}"
    return "\n## ".join([new_head, *new_sections])


def _kind_of(section: str) -> str:
    """The class of the errors that a section of the page is on, or "warnings"."""
    title = section.partition("\n")[0]
    return KINDS.get(title, title)


def _tables_in_order(sections: list[str]) -> dict[str, Mapping[str, str]]:
    """The tables of codes in the order of the page's sections."""
    tables = tables_of_codes()
    kinds = [_kind_of(section) for section in sections]
    missing = sorted(tables.keys() - set(kinds))
    if missing:
        sys.exit(f"docs/errors.md has no section on {', '.join(missing)}: add one with an empty table")
    return {kind: tables[kind] for kind in kinds}


def _rows(kind: str, tables: Mapping[str, Mapping[str, str]]) -> str:
    rows = ""
    for code in tables[kind]:
        meaning, remedy = explain_code(kind, code)
        if kind == "ModelError" and code in ENDS_RUN:
            meaning += " It ends a run."
        if not remedy:
            remedy = "None."
        rows += f'| <a id="{_anchor(kind, code, tables)}"></a>`{code}` | {meaning} | {remedy} |\n'
    return rows


def _index(tables: Mapping[str, Mapping[str, str]]) -> str:
    entries = sorted((code, kind) for kind, codes in tables.items() for code in codes)
    options = ""
    links: list[str] = []
    for code, kind in entries:
        anchor = _anchor(kind, code, tables)
        options += f'<option value="{anchor}">'
        links.append(f"[`{code}`](#{anchor}) ({kind})")
    return f'<datalist id="codes">{options}</datalist>\n\n{DETAILS}\n\n' + ",\n".join(links)


def _anchor(kind: str, code: str, tables: Mapping[str, Mapping[str, str]]) -> str:
    """The code itself; if several classes have it, only for the first of them on the page."""
    kinds_with_code = [other_kind for other_kind, codes in tables.items() if code in codes]
    if kinds_with_code[0] == kind:
        return code
    return f"{kind.removesuffix('Error').lower()}-{code}"


def main() -> None:
    """Write the page, or with --check find out whether it is as it would be written.

    Raises:
        SystemExit: the page that is to be checked is stale.
    """
    text = PAGE.read_text(encoding="utf-8")
    if "--check" not in sys.argv:
        PAGE.write_text(page(text), encoding="utf-8")
    elif page(text) != text:
        sys.exit("docs/errors.md is stale: run tools/errors_page.py, or make docs")


if __name__ == "__main__":
    main()
