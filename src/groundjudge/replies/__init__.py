"""Reply formats, all read by the same grammar (see `opening`, `value` and `labelled`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundjudge.replies.adjacent import Adjacent
from groundjudge.replies.format import Expectation, Format, PartReading, Reading
from groundjudge.replies.json_object import Json
from groundjudge.replies.labelled import Banded, Labelled, Line
from groundjudge.replies.scorecard import Scorecard
from groundjudge.replies.tags import Tags
from groundjudge.replies.value import Plain

FORMATS: Mapping[str, Callable[..., Format]] = {
    "adjacent": Adjacent,
    "banded": Banded,
    "json": Json,
    "line": Line,
    "plain": Plain,
    "scorecard": Scorecard,
    "tags": Tags,
}
"""What makes each format, by the name that prompt files use; its parameters are the options of the format."""

__all__ = ["Adjacent", "Banded", "Json", "Labelled", "Line", "Plain", "Scorecard", "Tags"]
__all__ += ["Expectation", "Format", "PartReading", "Reading"]
