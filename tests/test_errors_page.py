"""docs/errors.md: every code in the source has a cause and a remedy, and the page is up to date."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "tools/errors_page.py"


def test_the_page_of_errors_lists_every_code_and_is_not_stale() -> None:
    done = subprocess.run([sys.executable, PROGRAM, "--check"], capture_output=True, text=True, check=False)  # noqa: S603
    assert (done.returncode, done.stderr) == (0, "")
