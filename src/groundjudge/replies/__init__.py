"""Reply formats: one file each, all read by the same rules (see `opening` and `score`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, cast

from groundjudge.errors import PromptError
from groundjudge.replies.adjacent import Adjacent
from groundjudge.replies.banded import Banded
from groundjudge.replies.format import Format
from groundjudge.replies.json_object import Json
from groundjudge.replies.plain import Plain
from groundjudge.replies.reading import PartReading, Reading
from groundjudge.replies.scorecard import Scorecard
from groundjudge.replies.tags import Tags

FORMATS: Mapping[str, type[Adjacent | Banded | Json | Plain | Scorecard | Tags]] = MappingProxyType(
    {
        "adjacent": Adjacent,
        "banded": Banded,
        "json": Json,
        "plain": Plain,
        "scorecard": Scorecard,
        "tags": Tags,
    }
)
"""The formats by the names that prompt files use. To add a format, add its file and a line here."""


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
    return FORMATS[kind](**_checked(options, kind, path))


def _checked(options: Mapping[str, Any], kind: str, path: str) -> dict[str, Any]:
    """The options as arguments of the format's class, with tuples in place of lists."""
    known = [field.name for field in fields(FORMATS[kind]) if field.init]
    if not options.keys() <= set(known) or not all(map(_is_string_or_strings, options.values())):
        given = ", ".join(f"{name}: {value!r}" for name, value in options.items())
        message = (
            f"{path}: reply: the format {kind} has the options {', '.join(known) or '(none)'}, "
            f"each a string or a list of strings, not {given}"
        )
        raise PromptError("bad_reply_option", message, path)
    return {
        name: tuple(cast("list[str]", value)) if isinstance(value, list) else value
        for name, value in options.items()
    }


def _is_string_or_strings(option: object) -> bool:
    if isinstance(option, list | tuple):
        return all(isinstance(item, str) for item in cast("Sequence[object]", option))
    return isinstance(option, str)


__all__ = [
    "Adjacent",
    "Banded",
    "Format",
    "Json",
    "PartReading",
    "Plain",
    "Reading",
    "Scorecard",
    "Tags",
]
