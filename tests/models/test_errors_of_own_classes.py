"""Errors of the user's own classes, whatever it takes to make one: each keeps its code and what it holds."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from many_rows import codes, judge_named, rows, until_error

from groundjudge import ModelError, Reply, run
from groundjudge.models import pacing
from groundjudge.models.failure import copy_of
from groundjudge.types import Request


class PlainError(ModelError):
    """One that takes what a ModelError takes."""


class WithArgumentsError(ModelError):
    """One that takes other arguments, all of them required."""

    def __init__(self, row: int, code: str) -> None:
        super().__init__(code, f"row {row}")
        self.row = row


class WithKeywordsError(ModelError):
    """One that takes keywords only."""

    def __init__(self, *, code: str, row: int) -> None:
        super().__init__(code, f"row {row}")
        self.row = row


class ClosedError(ModelError):
    """One that lets nobody set an attribute, and that no `copy` copies."""

    def __init__(self, code: str, row: int) -> None:
        super().__init__(code, "a row")
        vars(self)["row"] = row

    def __copy__(self) -> Any:
        raise NotImplementedError

    def __reduce__(self) -> Any:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        raise NotImplementedError


class OfTwoKindsError(ModelError, ConnectionError):
    """One that is an OSError too."""


Maker: TypeAlias = Callable[[str], ModelError]


def plain(code: str) -> ModelError:
    return PlainError(code, "a row")


def with_arguments(code: str) -> ModelError:
    return WithArgumentsError(7, code)


def with_keywords(code: str) -> ModelError:
    return WithKeywordsError(code=code, row=7)


def closed(code: str) -> ModelError:
    return ClosedError(code, 7)


def of_two_kinds(code: str) -> ModelError:
    return OfTwoKindsError(code, "a row")


def with_attribute(code: str) -> ModelError:
    error = PlainError(code, "a row")
    error.row = 7  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    return error


def pickled(code: str) -> ModelError:
    error: ModelError = pickle.loads(pickle.dumps(with_attribute(code)))  # noqa: S301  pickled here
    return error


def with_cause(code: str) -> ModelError:
    error = with_arguments(code)
    error.__cause__ = OSError("the cause")
    error.add_note("a note")
    return error


ERRORS = [
    pytest.param(plain, id="no arguments of its own"),
    pytest.param(with_arguments, id="required arguments"),
    pytest.param(with_keywords, id="keywords only"),
    pytest.param(closed, id="methods that raise"),
    pytest.param(of_two_kinds, id="a second base"),
    pytest.param(with_attribute, id="an attribute"),
    pytest.param(pickled, id="a pickled one"),
    pytest.param(with_cause, id="a cause and a note"),
]


@pytest.mark.parametrize("make", ERRORS)
def test_a_copy_has_what_the_error_has_and_is_another_object(make: Maker) -> None:
    error = make("server")
    copy = copy_of(error)
    assert copy is not error
    assert type(copy) is type(error)
    assert (str(copy), copy.args, vars(copy)) == (str(error), error.args, vars(error))
    assert getattr(copy, "row", None) == getattr(error, "row", None)
    assert copy.__cause__ is error.__cause__
    copy.retries += 1
    assert error.retries == 0


class Raises:
    """A model that raises one object again and again."""

    name = "m"

    def __init__(self, error: ModelError) -> None:
        self.error = error

    async def acomplete(self, request: Request) -> Reply:
        assert request.messages
        raise self.error


@pytest.mark.parametrize("make", ERRORS)
def test_a_row_has_the_code_of_the_error(make: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pacing, "FIRST_WAIT", 0.001)
    monkeypatch.setattr(pacing, "MAX_REJECTIONS", 2)
    error = make("rate_limited")
    model = Raises(error)
    for model_or_function in (model, model.acomplete):
        verdicts = list(run(judge_named("j", model_or_function), rows(2)))
        assert codes(verdicts) == {"rate_limited": 2}
        assert [verdict.retries for verdict in verdicts] == [2, 2]
        assert error.retries == 0


@pytest.mark.parametrize("make", ERRORS)
def test_an_error_that_ends_a_run_is_of_its_class(make: Maker) -> None:
    verdicts, error = until_error(run(judge_named("j", Raises(make("quota"))), rows(2)))
    assert not verdicts
    assert type(error) is type(make("quota"))
    assert str(error) == str(make("quota"))
