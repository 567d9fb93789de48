"""The scores that the offline judges give a sentence, before and after an edit."""

from __future__ import annotations

from groundjudge import load

JUDGES = [
    load(name, model="offline") for name in ("groundedness", "confidence_grounding", "statement_groundedness")
]

MOST_LOSS = 0.1
"""What an edit that keeps the meaning may cost."""


def offline_scores(sentence: str, document: str) -> list[float]:
    """The score of each judge; a sentence that states something has one."""
    case = {"query": "?", "context": [document], "response": sentence}
    scores = [judge.judge(case).score for judge in JUDGES]
    assert None not in scores, sentence
    return [score or 0.0 for score in scores]
