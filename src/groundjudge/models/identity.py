"""What tells models apart for a cache, without secrets, and what of a model can go to another process."""

from __future__ import annotations

import json
import marshal
from functools import partial
from hashlib import sha256
from pickle import PicklingError
from typing import Any, TypeVar

from groundjudge.models.redaction import SECRET_NAME, redacted

M = TypeVar("M")

UNRELATED = frozenset(
    {"callbacks", "callback_manager", "cache", "verbose", "tags", "metadata", "rate_limiter"}
)
"""Settings of LangChain's classes that change no reply."""

BY_NAME = (
    'name it, as in model="langchain:anthropic:claude-sonnet-4-5", and set the provider\'s key in the '
    "environment of the workers"
)
"""How a chat model of LangChain can be made again in a worker."""


def identity_by_settings(name: str, model: object) -> str:
    """The identity of a model of another library: its name, its class and a hash of its settings."""
    settings = model if hasattr(type(model), "model_fields") else vars(model)
    text = json.dumps(settings, default=_fields, skipkeys=True)
    shown = json.dumps(json.loads(text, object_hook=_without_secrets), sort_keys=True)
    return f"{name} {class_of(model)} {_hash(redacted(shown))}"


def identity_by_code(name: str, function: Any) -> str:  # noqa: ANN401  anything that can be called
    """The identity of a function: its place, and a hash of its code and its values.

    Values without a `repr` of their own tell it from those of any other process too.
    """
    place = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', name)}"
    return f"{place} {_hash(_content(function))}"


def class_of(value: object) -> str:
    """The name of a value's class and of its module."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def not_pickled(model: str, what: str, remedy: str = BY_NAME) -> PicklingError:
    """The error of a model that cannot be sent to another process: only how to make it can, never a key.

    Args:
        model: the model's name.
        what: what it holds that must not leave the process.
        remedy: how to pass the model instead.
    """
    return PicklingError(f"the model {model} cannot be sent to another process with {what}: {remedy}")


def same(model: M, _: Any = None) -> M:  # noqa: ANN401  the memo of deepcopy
    """A model's copy: itself, so that copying it needs no pickling."""
    return model


def _hash(content: str) -> str:
    return sha256(content.encode()).hexdigest()[:16]


def _fields(value: object) -> dict[str, object]:
    """What JSON cannot hold: a pydantic model's class and fields, any other object's class."""
    fields = getattr(type(value), "model_fields", ())
    return {"class": class_of(value), **{name: getattr(value, name, None) for name in fields}}


def _without_secrets(settings: dict[str, object]) -> dict[str, object]:
    kept = [name for name in settings if name not in UNRELATED and not SECRET_NAME.search(name)]
    return {name: settings[name] for name in kept}


def _content(function: Any) -> str:  # noqa: ANN401
    """The code of a function and the values that it uses: defaults, closure, bound arguments, attributes."""
    if issubclass(type(function), partial):
        return f"{_content(function.func)} {function.args} {sorted(function.keywords.items())}"
    code = getattr(function, "__code__", None)
    values: list[Any] = [cell.cell_contents for cell in getattr(function, "__closure__", None) or ()]
    values += [getattr(function, name, None) for name in ("__defaults__", "__kwdefaults__")]
    owner = getattr(function, "__self__", None) if code else function  # an object that can be called
    values += [type(owner), getattr(owner, "__dict__", None) or owner]
    return f"{code and marshal.dumps(code)!r} {values}"
