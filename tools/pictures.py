"""Writes the pictures in docs/assets: the report and the labelling page, in headless Chromium.

.venv/python3/bin/python tools/pictures.py     # after make test-browser, which installs selenium
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

from groundjudge import Case, CaseError, load, load_rubric
from groundjudge.lab.sample import draw
from groundjudge.report.labelling import labelling_page
from groundjudge.report.page import report
from groundjudge.runs.rows import read_rows
from groundjudge.runs.run import run

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs/assets"
SIZE = {"width": 1200, "height": 860, "deviceScaleFactor": 1, "mobile": False}
FLAGS = ("--headless=new", "--no-sandbox", "--disable-background-networking", "--hide-scrollbars")
JUDGES = ("groundedness", "statement_groundedness")
ROWS_TO_LABEL = 20
"""How many rows the labelling page has."""
ROW = "rag-number-changed"
"""The case that the second picture shows."""
OPEN = """
    const ofCase = row => [...arguments].every(text => row.textContent.includes(text));
    [...document.querySelectorAll("#verdicts tr")].find(ofCase).querySelector("button, a").click();
"""


def main() -> None:
    """Make the pages of the examples and take their pictures."""
    rows = [row for row in read_rows(ROOT / "examples/cases.jsonl") if not isinstance(row, CaseError)]
    cases = [Case.from_mapping(row) for row in rows]
    judges = [load(name, model="offline") for name in JUDGES]
    verdicts = list(run(judges, rows))
    sample = draw(verdicts, ROWS_TO_LABEL, judge=JUDGES[0])
    pages = {
        "report": report(verdicts, title="verdicts.jsonl", cases=cases),
        "label": labelling_page(sample, cases, load_rubric(JUDGES[0])),
    }
    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    for flag in FLAGS:
        options.add_argument(flag)
    service = Service(str(shutil.which("chromedriver")))
    with TemporaryDirectory() as folder, webdriver.Chrome(options=options, service=service) as chrome:
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
        for name, text in pages.items():
            page = Path(folder) / f"{name}.html"
            page.write_text(text, encoding="utf-8")
            chrome.get(page.as_uri())
            _take_picture(chrome, ASSETS / f"{name}.webp")
            if name == "report":
                chrome.execute_script(OPEN, ROW, JUDGES[-1])
                _take_picture(chrome, ASSETS / "report-row.webp")


def _take_picture(chrome: webdriver.Chrome, path: Path) -> None:
    picture: Any = chrome.execute_cdp_cmd("Page.captureScreenshot", {"format": "webp", "quality": 75})
    path.write_bytes(b64decode(picture["data"]))


if __name__ == "__main__":
    main()
