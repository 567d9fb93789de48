"""What the tests of every judge need: a case, a reply that is read, and which judges show a source.

All of it comes from the prompt files, so that a new one needs no row in a table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundjudge import load_rubric, names
from groundjudge.lab.probe.cases import BACKING
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.value import label_of
from groundjudge.text.sentences import sentences
from groundjudge.types import Rubric

EVERY_FIELD: Mapping[str, Any] = {
    "query": "When does the library open?",
    "context": ["The library opens at nine."],
    "reference": "The library opens at nine.",
    "agent_name": "Mira",
    "profile": "Mira runs the library.",
    "conversation": "When do you open?",
    "response": "It opens at nine.",
}
"""A case that every judge can judge."""


def shown_fields(rubric: Rubric) -> set[str]:
    """The fields of a case that a judge shows."""
    return {prompt_input.field for prompt_input in rubric.inputs}


def judges_with_a_source() -> list[str]:
    """The judges that show something a response can be grounded in; others show its query alone."""
    return [name for name in names() if not BACKING.isdisjoint(shown_fields(load_rubric(name)))]


def reply_of(rubric: Rubric, response: str, score: float, reason: str = "why") -> str:
    """A reply in the judge's format that gives a response, and each of its parts, a score."""
    value = rubric.scale.worst + score * (rubric.scale.best - rubric.scale.worst)
    part_names: list[str] = list(rubric.format.part_names)
    if not part_names:
        part_names = [span.text for span in sentences(response)]
    parts = tuple(PartReading(part_name, value, reason, sources=(1,)) for part_name in part_names)
    reading = Reading(value, reason, parts, level=label_of(value, rubric.levels) or "", whole=score)
    return rubric.write(reading)
