"""One browser for the tests of a file."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from a_browser import browsing
from selenium import webdriver


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    with browsing() as chrome:
        yield chrome
