"""docs/errors.md: every code in the source has a cause and a remedy, and the page is up to date."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_of_errors_lists_every_code_and_is_not_stale() -> None:
    text = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    assert runpy.run_path(str(ROOT / "tools/errors_page.py"))["page"](text) == text
