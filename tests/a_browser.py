"""What tests of pages ask of a browser."""

# Selenium has no types for the arguments and results of scripts:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from selenium import webdriver


def screen(browser: webdriver.Chrome, width: int, height: int, scheme: str = "light") -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def log_entries(browser: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    """The browser's log entries of one kind since the last call."""
    untyped: Any = browser
    entries: list[dict[str, Any]] = untyped.get_log(kind)
    return entries


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "waited for ten seconds"
        time.sleep(0.02)
