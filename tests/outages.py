"""Endpoints that answer for a while and then cut connections, and runs that do not wait long for them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from many_rows import GOOD
from standin_openai import Answer, Cut

from groundjudge.models import pacing
from groundjudge.models.openai import OpenAIModel

SOON = 0.02


def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run wait for hundredths of a second between attempts."""
    monkeypatch.setattr(pacing, "FIRST_PAUSE", SOON)
    monkeypatch.setattr(pacing, "MAX_PAUSE", 5 * SOON)


def at(url: str, **options: Any) -> OpenAIModel:
    """A model at this URL."""
    return OpenAIModel("m", base_url=url, **options)


def number_in(body: dict[str, Any]) -> int:
    """The number of the row that a request judges; see `many_rows.rows`."""
    match = re.search(r"\n(\d+)\n", body["messages"][-1]["content"])
    assert match
    return int(match[1])


class Flaky:
    """A script that cuts `n_cut` requests in a row, after `n_good` answers."""

    def __init__(self, n_good: int, n_cut: int) -> None:
        self.n_good, self.n_cut, self.n = n_good, n_cut, 0

    def __call__(self, _: dict[str, Any]) -> Answer:
        self.n += 1
        return Cut() if self.n_good < self.n <= self.n_good + self.n_cut else GOOD
