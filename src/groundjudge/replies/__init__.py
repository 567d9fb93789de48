"""The formats a reply can have: one file each, all read by the same rules (see `text`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeAlias

from groundjudge.replies.adjacent import Adjacent
from groundjudge.replies.banded import Banded
from groundjudge.replies.json_object import Json
from groundjudge.replies.reading import PartReading, Reading
from groundjudge.replies.scorecard import Scorecard
from groundjudge.replies.tags import Tags

Format: TypeAlias = Tags | Json | Scorecard | Adjacent | Banded

FORMATS: Mapping[str, type[Format]] = MappingProxyType(
    {
        "adjacent": Adjacent,
        "banded": Banded,
        "json": Json,
        "scorecard": Scorecard,
        "tags": Tags,
    }
)
"""The formats by the names that prompt files use. A new one adds its file and its line here."""

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
]
