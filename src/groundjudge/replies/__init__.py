"""Reply formats, all read by the same grammar (see `opening`, `value` and `labelled`)."""

from __future__ import annotations

from groundjudge.replies.adjacent import Adjacent
from groundjudge.replies.format import Expectation, Format, PartReading, Reading
from groundjudge.replies.json_object import Json
from groundjudge.replies.labelled import Banded, Line
from groundjudge.replies.scorecard import Scorecard
from groundjudge.replies.tags import Tags
from groundjudge.replies.value import Plain

FORMATS = {each.__name__.lower(): each for each in (Adjacent, Banded, Json, Line, Plain, Scorecard, Tags)}
"""The formats by the names that prompt files use."""

__all__ = ["Adjacent", "Banded", "Json", "Line", "Plain", "Scorecard", "Tags"]
__all__ += ["Expectation", "Format", "PartReading", "Reading"]
