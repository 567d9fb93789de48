"""A real browser for tests of pages."""

# Selenium has no types for the arguments and results of scripts:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

QUIET = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync
    --disable-background-networking --disable-component-update --disable-dev-shm-usage""".split()


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    """One for the tests of a file."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.fail(
            "Chromium and chromedriver are needed: on Debian, apt-get install chromium chromium-driver"
        )
    options = Options()
    options.binary_location = chromium
    for flag in QUIET:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(driver))
    yield chrome
    chrome.quit()
