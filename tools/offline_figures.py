"""Measure how well the offline baseline tells supported from unsupported responses.

    python tools/offline_figures.py begin.jsonl wice.jsonl

Files are as in fit_support.py. Only the fifth of the groups that took no part in fitting is measured, and the
same of the corpus of edits in tests/offline/edits. Brackets hold the 95 % interval, of groups.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from fit_support import Row, held_out_groups, signals_of, split_rows

from groundjudge import load
from groundjudge.cli.screen import with_interval
from groundjudge.lab.figures import Bootstrap, Sample
from groundjudge.offline.support import score
from groundjudge.types import Judge

JUDGES = [
    load(name, model="offline") for name in ("groundedness", "confidence_grounding", "statement_groundedness")
]
NOTHING_TO_GROUND = 0.5
"""What a verdict without a score counts: neither supported nor unsupported."""
EDITS = Path(__file__).parents[1] / "tests" / "offline" / "edits"
LEAST_LOSS = 0.005
"""What an edit that makes a sentence wrong must cost with every judge."""
MOST_LOSS = 0.1
"""What an edit that keeps its meaning may cost with any."""


def roc_auc(rows: Sequence[Row], scores: Sequence[float]) -> str:
    """Area under the ROC curve, with its interval."""
    supported = np.array([row.is_supported for row in rows])
    groups = np.array([row.group for row in rows])
    sample = Sample(np.array(scores), supported, groups, positive=supported)
    return with_interval(Bootstrap().figures(sample, Sample.agreement)["roc_auc"])


def score_of(judge: Judge, fields: dict[str, Any]) -> float:
    """The judge's score of a case."""
    case = {key: fields[key] for key in ("query", "context", "response")}
    score = judge.judge(case).score
    return NOTHING_TO_GROUND if score is None else score


def edits() -> Iterator[tuple[str, bool]]:
    """The language and kind of each held-out edit of the corpus, and whether all judges score it rightly."""
    for file in sorted(EDITS.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        held_out = held_out_groups(row["document"] for row in rows)
        for row in rows:
            if row["document"] not in held_out:
                continue
            for kind, texts in row["wrong"].items():
                for text in texts:
                    yield f"{file.stem}, wrong, {kind}", min(losses(row, text)) >= LEAST_LOSS
            for kind, texts in row["alike"].items():
                for text in texts:
                    yield f"{file.stem}, alike, {kind}", max(losses(row, text)) <= MOST_LOSS


def losses(row: dict[str, Any], text: str) -> list[float]:
    """What each judge's score loses by an edit."""
    case = {"query": "?", "context": [row["document"]], "response": row["sentence"]}
    edited_case = {**case, "response": text}
    return [score_of(judge, case) - score_of(judge, edited_case) for judge in JUDGES]


def main(files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")]) -> None:
    """Print the ROC AUC of the support and of three judges on each file, and the share of edits seen."""
    for path in files:
        _, rows = split_rows(path)
        groups = {row.group for row in rows}
        print(f"{path.stem}: {len(rows)} rows, {len(groups)} groups, ROC AUC")
        support_scores = [score(signals_of(row)) for row in rows]
        print(f"  {'support':26}{roc_auc(rows, support_scores)}")
        for judge in JUDGES:
            scores = [score_of(judge, row.fields) for row in rows]
            print(f"  {judge.name:26}{roc_auc(rows, scores)}")
    totals: Counter[str] = Counter()
    rights: Counter[str] = Counter()
    for kind, is_right in edits():
        totals[kind] += 1
        rights[kind] += is_right
    for kind, total in totals.items():
        print(f"edits, {kind}: {rights[kind]} of {total} scored rightly ({rights[kind] / total:.0%})")


if __name__ == "__main__":
    typer.run(main)
