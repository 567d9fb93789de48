"""What tells models apart for a cache, without secrets, and what of a model can go to another process."""

from __future__ import annotations

import json
import marshal
import re
from functools import partial
from hashlib import sha256
from pickle import PicklingError
from typing import Any, TypeVar

from groundjudge.models.answer import redacted

M = TypeVar("M")

SECRET_NAME = re.compile(
    r"key|secret|password|credential|authorization|(?<!max_)(?:^|[_-])token$", re.IGNORECASE
)
"""Names of settings that hold secrets."""

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
    return f"{name} {class_of(model)} {_hash(redacted(shown).encode())}"


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


def _hash(content: bytes) -> str:
    return sha256(content).hexdigest()[:16]


def _fields(value: object) -> dict[str, object]:
    """What JSON cannot hold: a pydantic model's class and fields, any other object's class."""
    fields = getattr(type(value), "model_fields", ())
    return {"class": class_of(value), **{name: getattr(value, name, None) for name in fields}}


def _without_secrets(settings: dict[str, object]) -> dict[str, object]:
    kept = [name for name in settings if name not in UNRELATED and not SECRET_NAME.search(name)]
    return {name: settings[name] for name in kept}


def _content(function: Any) -> bytes:  # noqa: ANN401
    """The code of a function and the values that it uses: defaults, closure, bound arguments, attributes."""
    if issubclass(type(function), partial):
        return _content(function.func) + repr((function.args, sorted(function.keywords.items()))).encode()
    code = getattr(function, "__code__", None)
    if code is None:
        return _state_of(function).encode()
    closed_over: list[Any] = [cell.cell_contents for cell in function.__closure__ or ()]
    owner = _state_of(getattr(function, "__self__", None))
    values = (closed_over, function.__defaults__, function.__kwdefaults__, owner)
    return marshal.dumps(code) + repr(values).encode()


def _state_of(owner: object) -> str:
    """The type and the attributes of an object, which tell it from others of its type."""
    return "" if owner is None else f"{type(owner)} {getattr(owner, '__dict__', None) or owner!r}"
