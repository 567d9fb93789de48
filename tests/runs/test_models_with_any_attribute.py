"""Models that have every attribute, as mocks do: a run does not look for the end of what they wrap."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from many_rows import GOOD, codes, judge_named, rows
from outages import shorten_waits

from groundjudge import ModelError, Reply, run
from groundjudge.models.cached import CachedModel
from groundjudge.models.shared import share_calls
from groundjudge.types import Request


class Answers:
    """A model that answers all calls but the second."""

    name = identity = "m"
    n_asked = 0

    async def acomplete(self, _: Request) -> Reply:
        self.n_asked += 1
        if self.n_asked == 2:
            message = "cut"
            raise ModelError("connection", message)
        return Reply(GOOD)


class IsItsOwn(Answers):
    """Every other attribute is the object itself."""

    check_rubric = None

    def __getattr__(self, _: str) -> Any:
        return self


class IsEndless(Answers):
    """Every other attribute is a new object of the kind."""

    check_rubric = None

    def __getattr__(self, _: str) -> Any:
        return IsEndless()


class Raises(Answers):
    """Every other attribute is missing."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


class MakesItself(Answers):
    """Its `model` is a property: a new object of the kind."""

    @property
    def model(self) -> Any:
        return MakesItself()


class CannotTell(Answers):
    """Its `model` is a property that raises."""

    @property
    def model(self) -> Any:
        raise LookupError


class Wraps(Answers):
    """Its `model` is an attribute."""

    def __init__(self) -> None:
        self.model: Any = self


def two_that_wrap_each_other() -> Wraps:
    first, second = Wraps(), Wraps()
    first.model, second.model = second, first
    return first


class IsMock(Answers, Mock):
    """A mock of a model."""

    check_rubric = None


class IsAsyncMock(Answers, AsyncMock):
    """An asynchronous mock of a model."""

    check_rubric = None


MODELS = [
    pytest.param(IsMock, id="Mock"),
    pytest.param(IsAsyncMock, id="AsyncMock"),
    pytest.param(IsItsOwn, id="attributes are itself"),
    pytest.param(IsEndless, id="attributes are new objects"),
    pytest.param(Raises, id="attributes raise"),
    pytest.param(MakesItself, id="a property that makes new objects"),
    pytest.param(CannotTell, id="a property that raises"),
    pytest.param(Wraps, id="wraps itself"),
    pytest.param(two_that_wrap_each_other, id="two that wrap each other"),
]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


@pytest.mark.parametrize("make", MODELS)
def test_every_row_is_judged(make: Any) -> None:
    assert codes(run(judge_named("j", make()), rows(3), concurrency=1)) == {"ok": 3}


@pytest.mark.parametrize("make", [IsMock, IsEndless, two_that_wrap_each_other])
def test_every_row_is_judged_with_a_cache(make: Any, tmp_path: Path) -> None:
    model = share_calls(CachedModel(make(), tmp_path / "cache"))[0]
    assert codes(run(judge_named("j", model), rows(3), concurrency=1)) == {"ok": 3}
