"""Writes the tables of docs/errors.md, whose text is written by hand, from the codes in groundjudge.errors.

With --check, nothing is written, and a stale page is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from groundjudge.errors import CODES, ENDS_RUN, explain_code

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
    titles = {section.partition("\n")[0] for section in sections}
    if absent := CODES.keys() - {KINDS.get(title, title) for title in titles}:
        sys.exit(f"docs/errors.md has no section on {', '.join(sorted(absent))}: add one with an empty table")
    before, _, rest = head.partition(INDEX)
    after = rest.partition(END_OF_INDEX)[2]
    return "\n## ".join((f"{before}{INDEX}{_index()}{END_OF_INDEX}{after}", *map(_section, sections)))


def _section(text: str) -> str:
    title = text.partition("\n")[0]
    return text.partition(TABLE)[0] + TABLE + "".join(_rows(KINDS.get(title, title)))


def _rows(kind: str) -> Iterator[str]:
    for code in CODES[kind]:
        meaning, remedy = explain_code(kind, code)
        ends = " It ends a run." if kind == "ModelError" and code in ENDS_RUN else ""
        yield f'| <a id="{_anchor(kind, code)}"></a>`{code}` | {meaning}{ends} | {remedy or "None."} |\n'


def _index() -> str:
    found = sorted((code, kind) for kind, codes in CODES.items() for code in codes)
    options = "".join(f'<option value="{_anchor(kind, code)}">' for code, kind in found)
    links = ",\n".join(f"[`{code}`](#{_anchor(kind, code)}) ({kind})" for code, kind in found)
    return f'<datalist id="codes">{options}</datalist>\n\n{DETAILS}\n\n{links}'


def _anchor(kind: str, code: str) -> str:
    """The code itself; if several classes have it, only for the first of them."""
    first = next(each for each, codes in CODES.items() if code in codes)
    return code if first == kind else f"{kind.removesuffix('Error').lower()}-{code}"


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
