"""Models in other processes: what is pickled is how to make a model, never a client or a key."""

from __future__ import annotations

from pickle import PicklingError
from typing import Any, TypeVar

M = TypeVar("M")

IN_THE_ENVIRONMENT = (
    'name it, as in model="openai:gpt-4o-mini", and set OPENAI_API_KEY and, unless it is OpenAI\'s endpoint, '
    "OPENAI_BASE_URL in the environment of the workers"
)
"""How a model behind an OpenAI-compatible endpoint gets its key in a worker."""

BY_NAME = (
    'name it, as in model="langchain:anthropic:claude-sonnet-4-5", and set the provider\'s key in the '
    "environment of the workers"
)
"""How a chat model of LangChain can be made again in a worker."""


def not_pickled(model: str, what: str, remedy: str) -> PicklingError:
    """The error of a model that cannot be sent to another process.

    Args:
        model: the model's name.
        what: what it holds that must not leave the process.
        remedy: how to pass the model instead.
    """
    return PicklingError(f"the model {model} cannot be sent to another process with {what}: {remedy}")


def same(model: M, _: Any = None) -> M:  # noqa: ANN401  the memo of deepcopy
    """A model's copy: itself, so that copying it needs no pickling."""
    return model
