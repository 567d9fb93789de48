"""A model answers a request. Anything that can do that serves: an endpoint, a function, the baseline."""

from __future__ import annotations

from inspect import getattr_static
from typing import Protocol, cast, runtime_checkable

from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import TEXT, Request, Rubric, Way

MAX_WRAPPERS = 10
"""Models around a model, such as a cache. More are none: they wrap each other."""


@runtime_checkable
class Model(Protocol):
    """Whatever answers requests. It never judges, and it never reads a reply.

    A model may also have an `identity`, a text that changes with whatever changes its replies: a cache keeps
    the replies of models with different identities apart, and none of a model without one.

    A model that takes something else than messages has a `way`, see `Way`. One that wraps another has that
    as its attribute `model`, and the way of that model.

    A model may also have `limits`, a sentence without its point that a card of a probe shows: what its
    results are to be read with.

    A model may also have `never_waits`, which is True if its `acomplete` never does: synchronous callers then
    have their answer in their own thread.

    A model may also have `check_rubric`, which is called with the rubric of each judge that it is to answer
    for, and raises a ModelError if it cannot.
    """

    @property
    def name(self) -> str:
        """The model's name, as verdicts show it."""
        ...

    async def acomplete(self, request: Request) -> Reply:
        """Answer a request.

        It runs in the event loop of the caller; for synchronous callers, in one of the library.

        Raises:
            ModelError: the model returned no reply; it raises nothing else.
        """
        ...


def innermost(model: Model) -> Model:
    """Return the model itself, or the one that it wraps, as a cache does.

    Only an attribute that the object or its class holds counts: those that a mock makes up have no end.
    """
    for _ in range(MAX_WRAPPERS):
        inner = getattr(model, "__dict__", {}).get("model", getattr(type(model), "model", None))
        if inner is None or getattr_static(inner, "acomplete", None) is None:
            break
        model = cast("Model", inner)
    return model


def identity_of(model: Model) -> str:
    """What tells a model from others, its settings included, without secrets; "" if nothing does."""
    return str(getattr(model, "identity", ""))


def way_of(model: Model) -> Way:
    """Return how a model is asked: the way that it says, or else with messages for a text."""
    model = innermost(model)
    if getattr_static(model, "way", None) is None:  # what a mock makes up is none
        return TEXT
    return cast("Way", getattr(model, "way"))  # noqa: B009  not an attribute of every model


def check_rubric(model: Model, rubric: Rubric) -> None:
    """Make sure that a model can answer what a rubric asks.

    Raises:
        ModelError: it says that it cannot.
    """
    check = getattr(innermost(model), "check_rubric", None)
    if check is not None:
        check(rubric)
