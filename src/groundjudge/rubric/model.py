"""A model answers a request. Anything that can do that serves: an endpoint, a function, the baseline."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from groundjudge.decisions.question import Kind
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request, Rubric


@runtime_checkable
class Model(Protocol):
    """Whatever answers requests. It never judges, and it never reads a reply.

    A model may also have an `identity`, a text that changes with whatever changes its replies: a cache keeps
    the replies of models with different identities apart, and none of a model without one.

    A model whose `kind` is "decision" answers requests with a state and questions, and the text of its
    reply is the JSON of the answers as an endpoint sends it. If it has `most_questions` above 0, no request
    has more. A model without a kind answers messages.

    A model may also have `limits`, a sentence without its point that a card of a probe shows: what its
    results are to be read with.

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


def identity_of(model: Model) -> str:
    """What tells a model from others, its settings included, without secrets; "" if nothing does."""
    return str(getattr(model, "identity", ""))


def kind_of(model: Model) -> Kind:
    """How a model answers: with the probabilities of options ("decision"), or else with a text."""
    if getattr(model, "kind", "text") == "decision":
        return "decision"
    return "text"


def most_questions_of(model: Model) -> int:
    """Return the most questions that a decision model answers in one request; 0 for any number."""
    return int(getattr(model, "most_questions", 0))


def check_rubric(model: Model, rubric: Rubric) -> None:
    """Make sure that a model can answer what a rubric asks.

    Raises:
        ModelError: it says that it cannot.
    """
    check = getattr(model, "check_rubric", None)
    if check is not None:
        check(rubric)
