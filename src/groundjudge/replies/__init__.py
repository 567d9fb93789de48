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

FORMAT_EXAMPLES: Mapping[str, str] = {
    "tags": "tags around the verdict and the reason: <S1>the price is missing</S1><S2>4</S2>",
    "json": 'a JSON object: {"reasoning": "the price is missing", "score": 0.8}',
    "line": "prose, then a line that begins with a name: Final verdict: Consistent",
    "plain": "the verdict and nothing else: Yes",
    "banded": "three lines, Analysis:, Level: and Score:, the score in bands that have labels",
    "scorecard": "for each sentence the lines Statement Sentence:, Supporting Evidence: and Score:",
    "adjacent": "lines for each part: RECALL_Reasoning:, RECALL_Formula: and RECALL_Weighted_Summed_Score:",
}
"""How a reply in each format looks, in one line."""

__all__ = ["Adjacent", "Banded", "Json", "Labelled", "Line", "Plain", "Scorecard", "Tags"]
__all__ += ["Expectation", "Format", "PartReading", "Reading"]
