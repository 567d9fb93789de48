"""Writes replies in each format without any flaw, for tests that read them back."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence


def sure(level: object) -> str:
    """The tags of a level of groundedness, and of the shares of a judge that has no doubt about it."""
    shares = ", ".join(f"{number}: {int(str(number) == str(level))}" for number in range(1, 6))
    return f"<S2>{level}</S2><S3>{shares}</S3>"


def tags(value: float, reason: str) -> str:
    return f"<S0>Let me think.</S0>\n<S1>{reason}</S1>\n{sure(f'{value:g}')}"


def json_object(value: float, reason: str) -> str:
    return json.dumps({"reasoning": reason, "score": value})


def banded(value: float, reason: str) -> str:
    return f"Analysis: {reason}\nLevel: as the score says\nScore: {value:g}"


def scorecard(blocks: Sequence[tuple[str, str, float]]) -> str:
    """Each block is a sentence, its evidence and its score; line breaks become spaces."""
    return "\n\n".join(
        f"Statement Sentence: {one_line(sentence)}\n"
        f"Supporting Evidence: {one_line(evidence)}\n"
        f"Score: {score:g}"
        for sentence, evidence, score in blocks
    )


def numbered(lines: Sequence[tuple[str, str, float | str]], whole: float) -> str:
    """Each line has sources, a note and a score; at the end how many graders of a hundred would pass all."""
    written: list[str] = []
    for number, (sources, note, score) in enumerate(lines, 1):
        written.append(f"{number} | {sources} | {one_line(note)} | {score}")
    return "\n".join([*written, f"ALL | {whole:g}"])


def adjacent(recall: tuple[int, float], precision: tuple[int, float], reason: str) -> str:
    """Recall and precision as (lower score, share of the lower score), with one reason for both."""
    return "\n".join(
        f"{name}_Reasoning: {reason}\n{name}_Formula: {formula(*pair)}\n"
        f"{name}_Weighted_Summed_Score: {weighted_sum(*pair):g}"
        for name, pair in (("RECALL", recall), ("PRECISION", precision))
    )


def formula(lower: int, share: float) -> str:
    return f"({lower} * {share:g}) + ({lower + 1} * {1 - share:g})"


def weighted_sum(lower: int, share: float) -> float:
    return lower * share + (lower + 1) * (1 - share)


def one_line(text: str) -> str:
    return " ".join(text.split())


SINGLE: dict[str, Callable[[float, str], str]] = {"tags": tags, "json": json_object, "banded": banded}
"""The formats with a single value and a reason, by name."""
