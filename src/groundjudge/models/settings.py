"""What tells a model of another library from others of its name: its settings, without secrets."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

from groundjudge.models.model_error import redacted

SECRET_NAME = re.compile(
    r"key|secret|password|credential|authorization|(?<!max_)(?:^|[_-])token$", re.IGNORECASE
)
"""Names of settings that hold secrets."""

UNRELATED = frozenset(
    {"callbacks", "callback_manager", "cache", "verbose", "tags", "metadata", "rate_limiter"}
)
"""Settings of LangChain's classes that change no reply."""


def identity_by_settings(model: object) -> str:
    """The identity of a model of another library: its class and a hash of its settings."""
    settings = _settings(model) if hasattr(type(model), "model_fields") else _shown(vars(model))
    return f"{_class_of(model)} {sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]}"


def _settings(value: object) -> object:
    """A value as JSON; an object by its class, and by its fields if it is a pydantic model."""
    match value:
        case str():
            return redacted(value)
        case int() | float() | None:
            return value
        case Mapping():
            return _shown(cast("Mapping[object, object]", value))
        case list() | tuple():
            return [_settings(each) for each in cast("list[object]", value)]
        case _:
            fields: Mapping[str, Any] = getattr(type(value), "model_fields", {})
            return [_class_of(value), _shown({name: getattr(value, name, None) for name in fields})]


def _shown(values: Mapping[Any, object]) -> dict[str, object]:
    names = [name for name in values if str(name) not in UNRELATED and not SECRET_NAME.search(str(name))]
    return {str(name): _settings(values[name]) for name in names}


def _class_of(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
