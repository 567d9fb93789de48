"""Writes docs/errors.md: every code of the library's errors and warnings, with its cause and its remedy.

The codes come from the source (codes.py), causes and remedies from errors.toml. With --check, nothing is
written.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from codes import errors, warnings

ENTRIES = Path(__file__).with_name("errors.toml")
PAGE = Path(__file__).parents[1] / "docs/errors.md"
REFERENCE = PAGE.parent / "reference/errors.md"
TITLES = {"warnings": "Warnings", "GroundjudgeError": "Other errors"}

Entries: TypeAlias = Mapping[str, Mapping[str, str | list[str]]]


def entries() -> Entries:
    """What errors.toml says: by class of errors, its codes."""
    return {kind: codes for kind, codes in _file().items() if kind != "head"}


def _file() -> dict[str, Any]:
    return tomllib.loads(ENTRIES.read_text(encoding="utf-8"))


def faults() -> list[str]:
    """The codes without an entry, the entries without a code, and the classes that the reference lacks."""
    reference = REFERENCE.read_text(encoding="utf-8")
    written = {(kind, code) for kind, codes in entries().items() for code in codes if code != "about"}
    raised = {(kind, code) for kind, codes in errors().items() for code in codes}
    raised |= {("warnings", code) for code in warnings()}
    return [
        *(f"errors.toml lacks {kind}.{code}" for kind, code in sorted(raised - written)),
        *(f"errors.toml has {kind}.{code}, which no code uses" for kind, code in sorted(written - raised)),
        *(f"docs/reference/errors.md lacks {kind}" for kind in errors() if f".{kind}\n" not in reference),
    ]


def page() -> str:
    """The page, as Markdown."""
    every = entries()
    return "".join(
        (_file()["head"], *_index(every), *(line for kind in every for line in _section(kind, every[kind])))
    )


def _index(every: Entries) -> Iterator[str]:
    kinds: dict[str, list[str]] = {}
    for kind, codes in every.items():
        for code in codes.keys() - {"about"}:
            kinds.setdefault(code, []).append(kind)
    shown = [
        _link(kind, code, is_only=len(kinds[code]) == 1) for code in sorted(kinds) for kind in kinds[code]
    ]
    yield "Find a code:\n" + ",\n".join(shown) + ".\n{ data-search-exclude }\n"


def _link(kind: str, code: str, *, is_only: bool) -> str:
    text = f"`{code}`" if is_only else f"`{code}` ({TITLES.get(kind, kind)})"
    return f"[{text}](#{_anchor(kind, code)})"


def _section(kind: str, codes: Mapping[str, str | list[str]]) -> Iterator[str]:
    yield f"\n## {TITLES.get(kind, kind)}\n\n{codes['about']}\n\n| code | cause | remedy |\n|---|---|---|\n"
    for code, texts in sorted(codes.items()):
        if code != "about":
            yield _row(f'<a id="{_anchor(kind, code)}"></a>`{code}`', *texts)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |\n"


def _anchor(kind: str, code: str) -> str:
    """The code itself; if several classes have it, only for the first of them."""
    others = [each for each, codes in entries().items() if code in codes]
    return code if others[0] == kind else f"{kind.removesuffix('Error').lower()}-{code}"


def main() -> None:
    """Write the page, or with --check find out whether it is as it would be written.

    Raises:
        SystemExit: the entries do not match the codes, or the page that is to be checked is stale.
    """
    wrong = faults()
    if not wrong and "--check" not in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    elif not wrong and PAGE.read_text(encoding="utf-8") != page():
        wrong = ["docs/errors.md is stale: run tools/errors_page.py, or make docs"]
    if wrong:
        raise SystemExit("\n".join(wrong))


if __name__ == "__main__":
    main()
