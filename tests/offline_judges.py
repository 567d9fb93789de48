"""The scores that the offline judges give a sentence, before and after an edit."""

from __future__ import annotations

from groundjudge import load, names
from groundjudge.types import Judge


def offline_judges_of_context() -> list[Judge]:
    """The library's judges that compare a response with its context."""
    judges: list[Judge] = []
    for name in names():
        judge = load(name, model="offline")
        if any(prompt_input.field == "context" for prompt_input in judge.inputs):
            judges.append(judge)
    return judges


JUDGES = offline_judges_of_context()

MOST_LOSS = 0.1
"""What an edit that keeps the meaning may cost."""


def offline_scores(sentence: str, document: str) -> list[float]:
    """The score of each judge; a sentence that states something has one."""
    case = {"query": "?", "context": [document], "response": sentence}
    scores = [judge.judge(case).score for judge in JUDGES]
    assert None not in scores, sentence
    return [score or 0.0 for score in scores]
