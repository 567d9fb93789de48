"""Nearly all edits in tests/offline/edits that make a sentence wrong lower its scores, and few others do.

A line holds a document, a sentence that it supports, and edits of that sentence by kind: `wrong`, after which
the document does not support it, and `alike`, which keep its meaning. Word rules cannot see through all of
them, so the tests ask for a share.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from offline_judges import MOST_LOSS, offline_scores

LANGUAGES = ("english", "chinese")
LEAST_LOSS = 0.005
KNOWN_MISSES: Mapping[str, list[str]] = {
    "english": [],
    # 一 alone is no number, as it is part of too many words
    "chinese": ["红岭队以三比一击败了海城队，主攻手陈雪独得24分。"],
}
FIRST = 8
"""Documents whose edits are all told apart but for `KNOWN_MISSES`."""
LEAST_SHARE = 0.9
"""The share of the edits of a verdict in a language that the judges must score rightly."""


@cache
def losses(language: str, documents: int | None = None) -> list[tuple[str, str, list[float]]]:
    """The edits of all documents, or of the first ones: verdict, text and what each judge's score loses."""
    edited: list[tuple[str, str, list[float]]] = []
    file = Path(__file__).parent / "edits" / f"{language}.jsonl"
    for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()[:documents]):
        before = offline_scores(row["sentence"], row["document"])
        assert min(before) > 0.9, row["id"]
        for verdict in ("wrong", "alike"):
            for text in chain.from_iterable(row[verdict].values()):
                after = offline_scores(text, row["document"])
                lost = [score - score_after for score, score_after in zip(before, after, strict=True)]
                edited.append((verdict, text, lost))
    return edited


def told_wrongly(verdict: str, lost: list[float]) -> bool:
    return min(lost) < LEAST_LOSS if verdict == "wrong" else max(lost) > MOST_LOSS


@pytest.mark.parametrize("language", LANGUAGES)
def test_edits_of_the_first_documents_are_told_apart(language: str) -> None:
    edits = losses(language, FIRST)
    assert {verdict for verdict, _, _ in edits} == {"wrong", "alike"}
    assert [text for verdict, text, lost in edits if told_wrongly(verdict, lost)] == KNOWN_MISSES[language]


@pytest.mark.soak
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("verdict", ["wrong", "alike"])
def test_most_edits_of_all_documents_are_told_apart(language: str, verdict: str) -> None:
    edits = [edit for edit in losses(language) if edit[0] == verdict]
    unseen = [text for _, text, lost in edits if told_wrongly(verdict, lost)]
    assert len(unseen) <= (1 - LEAST_SHARE) * len(edits), unseen
