"""Writes the pictures in docs/assets: a verdict in the report, and the labelling page, in headless Chromium.

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
from groundjudge.lab.labelling import labelling_page
from groundjudge.lab.sample import draw
from groundjudge.report.page import report
from groundjudge.runs.rows import CaseFile
from groundjudge.runs.run import run
from groundjudge.types import Request

ROOT = Path(__file__).parents[1]
ASSETS = ROOT / "docs/assets"
SIZE = {"width": 1000, "height": 780, "deviceScaleFactor": 1, "mobile": False}
FLAGS = ("--headless=new", "--no-sandbox", "--disable-background-networking", "--hide-scrollbars")
ROWS_TO_LABEL = 20
"""How many rows the labelling page has."""
ROW = "rag-number-changed"
"""The case whose verdict is shown."""
REPLY = """1 | 4 | 24.9 cents, not 21.9 | 2
2 | 6 | - | 10
ALL | 3"""
"""What a language model might say of it: no model can be called where the pictures are taken."""
OPEN = 'document.querySelector("#verdicts tbody tr :is(button, a)").click();'
DIALOG = """
    const place = document.querySelector("dialog[open]").getBoundingClientRect();
    return {x: place.x, y: place.y, width: place.width, height: place.height, scale: 1};
"""


def main() -> None:
    """Make the pages of the examples and take their pictures."""
    rows = [row for row in CaseFile(ROOT / "examples/cases.jsonl").rows() if not isinstance(row, CaseError)]
    cases = [Case.from_mapping(row) for row in rows]
    shown_case = next(case for case in cases if case.id == ROW)
    verdict = load("statement_groundedness", model=_language_model).judge(shown_case)
    sample = draw(list(run(load("groundedness", model="offline"), rows)), ROWS_TO_LABEL, judge="groundedness")
    report_page = report([verdict], cases=[shown_case])
    label_page = labelling_page(sample, cases, load_rubric("groundedness"))
    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    for flag in FLAGS:
        options.add_argument(flag)
    service = Service(str(shutil.which("chromedriver")))
    with TemporaryDirectory() as folder, webdriver.Chrome(options=options, service=service) as chrome:
        chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", SIZE)
        page = Path(folder) / "page.html"
        page.write_text(report_page, encoding="utf-8")
        chrome.get(page.as_uri())
        chrome.execute_script(OPEN)
        _take_picture(chrome, ASSETS / "report-row.webp", chrome.execute_script(DIALOG))
        page.write_text(label_page, encoding="utf-8")
        chrome.get(page.as_uri())
        _take_picture(chrome, ASSETS / "label.webp", {"x": 0, "y": 0, **SIZE, "scale": 1})


def _language_model(_: Request) -> str:
    return REPLY


def _take_picture(chrome: webdriver.Chrome, path: Path, clip: dict[str, Any]) -> None:
    picture: Any = chrome.execute_cdp_cmd(
        "Page.captureScreenshot", {"format": "webp", "quality": 75, "clip": clip}
    )
    path.write_bytes(b64decode(picture["data"]))


if __name__ == "__main__":
    main()
