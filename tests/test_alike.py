"""The comparison of two checkouts finds what differs, and nothing where nothing does."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.soak  # each comparison starts two processes


@pytest.fixture
def changed_checkout(tmp_path: Path) -> Path:
    """A copy of this checkout."""
    for folder in ("src", "adapters", "examples", "prompts"):
        shutil.copytree(ROOT / folder, tmp_path / folder, symlinks=True)
    return tmp_path


def compare(old: Path, new: Path, *options: str) -> tuple[int, str]:
    script = ROOT / "tests" / "bench" / "alike.py"
    command: list[str | Path] = [sys.executable, script, old, new, *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return result.returncode, result.stdout


def test_checkouts_that_differ_in_a_line_differ_in_what_depends_on_it(changed_checkout: Path) -> None:
    file = changed_checkout / "src" / "groundjudge" / "scale.py"
    text = file.read_text(encoding="utf-8")
    line = "DIGITS = 12\n"
    assert text.count(line) == 1
    file.write_text(text.replace(line, "DIGITS = 1\n"), encoding="utf-8")
    code, report = compare(ROOT, changed_checkout, "--replies", "320", "--rows", "20", "--examples", "1")
    assert code == 1
    assert "knowledge_hallucination: score\n" in report
    assert "row: " not in report


def test_checkout_does_not_differ_from_itself() -> None:
    code, report = compare(ROOT, ROOT, "--replies", "160", "--rows", "160")
    assert (code, report) == (0, "0 of 320 inputs differ, in 0 kinds\n")
