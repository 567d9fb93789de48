"""Models answer requests: an endpoint, a function, the baseline, or anything else that can."""

from __future__ import annotations

from inspect import getattr_static
from typing import Protocol, cast, runtime_checkable

from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import TEXT, Request, Rubric, Way

MAX_WRAPPERS = 10
"""The limit for models around a model, such as a cache. More would mean that they wrap each other."""


@runtime_checkable
class Model(Protocol):
    """Anything that answers requests. It never judges, and never reads a reply.

    A model may also have an `identity`, a text that changes with everything that affects its replies: a cache
    keeps the replies of models with different identities apart, and stores none for a model without one.

    A model that takes something other than messages has a `way`, see `Way`. A model that wraps another one
    has it as the attribute `model`, and is asked in that model's way.

    A model may also have `limits`, the caveats on its results: a sentence, without the full stop, for the
    probe's card.

    A model may also have `never_waits`, which is True if its `acomplete` never waits: synchronous callers are
    then answered in their own thread.

    A model may also have `check_rubric`, which is called with the rubric of each judge that uses the model,
    and raises a ModelError if the model cannot answer for it.
    """

    @property
    def name(self) -> str:
        """The model's name, as verdicts show it."""
        ...

    async def acomplete(self, request: Request) -> Reply:
        """Answer a request.

        It runs in the caller's event loop; for synchronous callers, in one of the library's.

        Raises:
            ModelError: the model returned no reply; it raises nothing else.
        """
        ...


def never_waits(model: Model) -> bool:
    """Whether a model answers at once, without a call, as the offline judge does."""
    return getattr(model, "never_waits", False) is True  # of a mock it is another mock


def innermost(model: Model) -> Model:
    """Return the model itself, or the one that it wraps, as a cache does.

    Only an attribute of the object or its class counts: a mock makes up endless ones.
    """
    for _ in range(MAX_WRAPPERS):
        inner = getattr(model, "__dict__", {}).get("model", getattr(type(model), "model", None))
        if inner is None or getattr_static(inner, "acomplete", None) is None:
            break
        model = cast("Model", inner)
    return model


def identity_of(model: Model) -> str:
    """Return what distinguishes a model from others, including its settings but no secrets; "" if unknown."""
    return str(getattr(model, "identity", ""))


def way_of(model: Model) -> Way:
    """Return how a model is asked: its own way or, by default, with messages for a text."""
    model = innermost(model)
    if getattr_static(model, "way", None) is None:  # a mock's made-up attribute does not count
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
