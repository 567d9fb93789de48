"""The formats a reply can have: one file each, all read by the same rules (see `opening` and `score`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, cast

from groundjudge.errors import PromptError
from groundjudge.replies.adjacent import Adjacent
from groundjudge.replies.banded import Banded
from groundjudge.replies.format import Format
from groundjudge.replies.json_object import Json
from groundjudge.replies.reading import PartReading, Reading
from groundjudge.replies.scorecard import Scorecard
from groundjudge.replies.tags import Tags

FORMATS: Mapping[str, type[Adjacent | Banded | Json | Scorecard | Tags]] = MappingProxyType(
    {
        "adjacent": Adjacent,
        "banded": Banded,
        "json": Json,
        "scorecard": Scorecard,
        "tags": Tags,
    }
)
"""The formats by the names that prompt files use. A new one adds its file and its line here."""


def format_of(settings: Mapping[str, Any] | None, path: str) -> Format:
    """The reply format that a prompt file asks for: `settings` is its `reply`, `path` names it in errors.

    Raises:
        PromptError: `no_reply_format`, `unknown_reply_format` or `bad_reply_option`.
    """
    if settings is None:
        message = f"{path}: reply is missing: put it into the file, or pass reply=Tags(value=…, reason=…)"
        raise PromptError("no_reply_format", message, path)
    given = dict(settings)
    kind = str(given.pop("format", None))
    if kind not in FORMATS:
        message = f"{path}: reply.format: {kind!r} is none of {', '.join(FORMATS)}"
        raise PromptError("unknown_reply_format", message, path)
    known = [field.name for field in fields(FORMATS[kind])]
    options: dict[str, Any] = {
        name: tuple(cast("list[object]", value)) if isinstance(value, list) else value
        for name, value in given.items()
    }
    if not options.keys() <= set(known) or not all(map(_is_text, options.values())):
        message = (
            f"{path}: reply: the format {kind} has the options {', '.join(known) or '(none)'}, "
            f"each a text or a list of texts, not {', '.join(f'{name}: {given[name]!r}' for name in given)}"
        )
        raise PromptError("bad_reply_option", message, path)
    return FORMATS[kind](**options)


def _is_text(option: object) -> bool:
    if isinstance(option, tuple):
        return all(isinstance(one, str) for one in cast("tuple[object, ...]", option))
    return isinstance(option, str)


__all__ = [
    "FORMATS",
    "Adjacent",
    "Banded",
    "Format",
    "Json",
    "PartReading",
    "Reading",
    "Scorecard",
    "Tags",
    "format_of",
]
