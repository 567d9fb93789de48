"""Writes docs/assets/report.webp and report-row.webp: the report on the examples in headless Chromium.

.venv/python3/bin/python tools/report_picture.py     # after make test-browser, which installs selenium
"""

# Selenium has no types for the results of commands:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import shutil
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from groundjudge import Case, CaseError, load
from groundjudge.report.page import report
from groundjudge.runs.rows import read_rows
from groundjudge.runs.run import run

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs/assets"
SIZE = {"width": 1200, "height": 860, "deviceScaleFactor": 1, "mobile": False}
FLAGS = ("--headless=new", "--no-sandbox", "--disable-background-networking", "--hide-scrollbars")
JUDGES = ("groundedness", "statement_groundedness")
ROW = "rag-number-changed"
"""The case that the second picture shows."""
OPEN = """
    const rows = [...document.querySelectorAll("#verdicts tr")];
    const row = rows.find(row => [...arguments].every(text => row.textContent.includes(text)));
    row.querySelector("button, a").click();
"""


def main() -> None:
    """Make the report of the examples and take the pictures."""
    rows = [row for row in read_rows(ROOT / "examples/cases.jsonl") if not isinstance(row, CaseError)]
    verdicts = run([load(name, model="offline") for name in JUDGES], rows)
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        text = report(verdicts, title="verdicts.jsonl", cases=map(Case.from_mapping, rows))
        page.write_text(text, encoding="utf-8")
        _pictures(page)


def _pictures(page: Path) -> None:
    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    for flag in FLAGS:
        options.add_argument(flag)
    chrome = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    try:
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
        chrome.get(page.as_uri())
        _take(chrome, ASSETS / "report.webp")
        chrome.execute_script(OPEN, ROW, JUDGES[-1])
        _take(chrome, ASSETS / "report-row.webp")
    finally:
        chrome.quit()


def _take(chrome: webdriver.Chrome, path: Path) -> None:
    taken: Any = chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 75})
    path.write_bytes(b64decode(taken["data"]))


if __name__ == "__main__":
    main()
