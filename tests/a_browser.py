"""A real browser for tests of pages, and what they ask of it."""

# Selenium has no types for the arguments and results of scripts:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

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


def screen(browser: webdriver.Chrome, width: int, height: int, scheme: str = "light") -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def logged(browser: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    """The browser's log entries of one kind since the last call."""
    untyped: Any = browser
    entries: list[dict[str, Any]] = untyped.get_log(kind)
    return entries


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "waited for ten seconds"
        time.sleep(0.02)
