"""Reply formats: each says where its places are, and `reading` reads them all."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from groundjudge.replies.adjacent import Adjacent
from groundjudge.replies.format import Expectation, Format, PartReading, Place, Reading
from groundjudge.replies.json_object import Json
from groundjudge.replies.labelled import Banded, Labelled, Line
from groundjudge.replies.numbered import Numbered
from groundjudge.replies.plain import Plain
from groundjudge.replies.reading import Marks, PlacedFormat
from groundjudge.replies.scorecard import Scorecard
from groundjudge.replies.tags import Tags
from groundjudge.replies.value import Reader, write_value

FORMATS: Mapping[str, Callable[..., Format]] = {
    "adjacent": Adjacent,
    "banded": Banded,
    "json": Json,
    "line": Line,
    "numbered": Numbered,
    "plain": Plain,
    "scorecard": Scorecard,
    "tags": Tags,
}
"""What makes each format, by its name in prompt files; its parameters are the format's options."""

FORMAT_EXAMPLES: Mapping[str, str] = {
    "tags": """\
# tags around the reason and the verdict: <S1>the price is missing</S1><S2>4</S2>
reply: {format: tags, value: S2, reason: S1}
scale: {worst: 1, best: 5, integer: true}
""",
    "json": """\
# a JSON object: {"reasoning": "the price is missing", "score": 0.8}
reply: {format: json, value: score, reason: reasoning}
scale: {worst: 0, best: 1}
""",
    "line": """\
# prose, then the verdict on a separate line: Final verdict: Consistent
reply: {format: line, name: Final verdict}
scale: {choices: {Consistent: 1, Inconsistent: 0}}
""",
    "plain": """\
# the verdict and nothing else: Yes
reply: {format: plain}
scale: {choices: {"yes": 1, "no": 0}}
""",
    "banded": """\
# the lines Analysis:, Level: and Score:, each level being a range of scores
reply: {format: banded}
scale: {worst: 0, best: 100}
""",
    "scorecard": """\
# the lines Statement Sentence:, Supporting Evidence: and Score: for each sentence
reply: {format: scorecard}
scale: {worst: 0, best: 10}
""",
    "numbered": """\
# a line for each sentence, and one for the whole response: 3 | 12, 14 | it is 31 metres high, not 37 | 4
reply: {format: numbered}
scale: {worst: 0, best: 10}
""",
    "adjacent": """\
# the lines RECALL_Reasoning:, RECALL_Formula: and RECALL_Weighted_Summed_Score: for each part
reply: {format: adjacent, names: [recall, precision]}
scale: {worst: 1, best: 5}
""",
}
"""When to use each format, and front matter to copy to a prompt file and adapt."""

__all__ = ["Adjacent", "Banded", "Json", "Labelled", "Line", "Numbered", "Plain", "Scorecard", "Tags"]
__all__ += ["Expectation", "Format", "Marks", "PartReading", "Place", "PlacedFormat", "Reader", "Reading"]
__all__ += ["write_value"]
