"""Reply formats, all read by the same grammar (see `opening`, `value` and `labelled`)."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from typing import Any

from pydantic import TypeAdapter, ValidationError

from groundjudge.errors import PromptError
from groundjudge.replies.adjacent import Adjacent
from groundjudge.replies.format import Asked, Format, PartReading, Reading
from groundjudge.replies.json_object import Json
from groundjudge.replies.labelled import Banded, Line
from groundjudge.replies.scorecard import Scorecard
from groundjudge.replies.tags import Tags
from groundjudge.replies.value import Plain

FORMATS = {each.__name__.lower(): each for each in (Adjacent, Banded, Json, Line, Plain, Scorecard, Tags)}
"""The formats by the names that prompt files use."""


def format_of(settings: Mapping[str, Any] | None, path: str) -> Format:
    """The reply format that a prompt file specifies.

    Args:
        settings: the file's `reply` mapping: `format`, and the options of that format. None if the file
            has no `reply`.
        path: names the file in errors.

    Raises:
        PromptError: `no_reply_format`, `unknown_reply_format` or `bad_reply_option`.
    """
    if settings is None:
        message = f"{path}: reply is missing: add it to the file, or in Python pass a format"
        raise PromptError("no_reply_format", message, path)
    options = dict(settings)
    kind = str(options.pop("format", None))
    if kind not in FORMATS:
        message = f"{path}: reply.format: unknown format {kind!r}, the formats are {', '.join(FORMATS)}"
        raise PromptError("unknown_reply_format", message, path)
    known = ", ".join(f"{each.name} ({each.type})" for each in fields(FORMATS[kind])) or "(none)"
    with suppress(ValidationError):
        if options.keys() <= {each.name for each in fields(FORMATS[kind])}:
            return TypeAdapter(FORMATS[kind]).validate_python(options)
    message = f"{path}: reply: the format {kind} has the options {known}, not {options}"
    raise PromptError("bad_reply_option", message, path)


__all__ = [
    "Adjacent",
    "Asked",
    "Banded",
    "Format",
    "Json",
    "Line",
    "PartReading",
    "Plain",
    "Reading",
    "Scorecard",
    "Tags",
]
