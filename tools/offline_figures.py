"""Measure how well the offline baseline tells supported from unsupported responses.

    python tools/offline_figures.py begin.jsonl wice.jsonl summedits.jsonl --hold-out 7

Files are as in fit_support.py, and so is the seed: with it, only the fifth of the groups that took no part in
fitting is measured, and the same of the corpus of edits in tests/offline/edits. Without it, all rows are:
that is for files that the model was not fitted to. Brackets hold the 95 % interval of a bootstrap of groups.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from fit_support import Row, area, held_out, read, seen, table, written

from groundjudge import Judge, load
from groundjudge.analysis.figures import Floats
from groundjudge.analysis.libraries import np
from groundjudge.offline.support import Signals, score

JUDGES = ("groundedness", "confidence_grounding", "statement_groundedness")
NOTHING_TO_GROUND = 0.5
"""What a verdict without a score counts: neither supported nor unsupported."""
EDITS = Path(__file__).parents[1] / "tests" / "offline" / "edits"
LEAST_LOSS = 0.005
"""What an edit that makes a sentence wrong must cost with every judge."""
MOST_LOSS = 0.1
"""What an edit that keeps its meaning may cost with any."""


def measured(rows: Sequence[Row], seed: int | None) -> Sequence[Row]:
    """The rows of a file that are measured: those held out or, without a seed, all."""
    kept = {id(row) for row in seen(rows, seed)} if seed is not None else set[int]()
    return [row for row in rows if id(row) not in kept]


def supports(rows: Sequence[Row]) -> Floats:
    """The support of each row's response."""
    return np.array([score(Signals(*line)) for line in table(rows).signals])


def judged(judge: Judge, case: dict[str, Any]) -> float:
    """The score of a case."""
    found = judge.judge({key: case[key] for key in ("query", "context", "response")}).score
    return NOTHING_TO_GROUND if found is None else found


def edits(seed: int | None) -> Iterator[tuple[str, bool]]:
    """Of each edit of the corpus, its language and verdict, and whether the three judges score it rightly."""
    judges = [load(name, model="offline") for name in JUDGES]
    for file in sorted(EDITS.glob("*.jsonl")):
        rows = list(map(json.loads, file.read_text(encoding="utf-8").splitlines()))
        out = held_out((row["document"] for row in rows), seed)
        for row in (row for row in rows if seed is None or row["document"] in out):
            for verdict in ("wrong", "alike"):
                for text in (text for texts in row[verdict].values() for text in texts):
                    lost = losses(judges, row, text)
                    is_right = min(lost) >= LEAST_LOSS if verdict == "wrong" else max(lost) <= MOST_LOSS
                    yield f"{file.stem}, {verdict}", is_right


def losses(judges: Sequence[Judge], row: dict[str, Any], text: str) -> list[float]:
    """What each judge's score loses by an edit."""
    cases = [
        {"query": "?", "context": [row["document"]], "response": each} for each in (row["sentence"], text)
    ]
    return [judged(judge, cases[0]) - judged(judge, cases[1]) for judge in judges]


def main(
    files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")],
    hold_out: Annotated[int | None, typer.Option(help="The seed that the model was fitted with.")] = None,
) -> None:
    """Print the ROC AUC of the support and of three judges on each file, and the share of edits seen."""
    for path in files:
        rows = measured(read(path), hold_out)
        print(f"{path.stem}: {len(rows)} rows, {len({row.group for row in rows})} groups, ROC AUC")
        print(f"  {'support':26}{written(area(rows, supports(rows)))}")
        for name in JUDGES:
            judge = load(name, model="offline")
            scores = np.array([judged(judge, row.fields) for row in rows])
            print(f"  {name:26}{written(area(rows, scores))}")
    found = list(edits(hold_out))
    every, right = Counter(kind for kind, _ in found), Counter(kind for kind, is_right in found if is_right)
    for kind, count in every.items():
        print(f"edits, {kind}: {right[kind]} of {count} scored rightly ({right[kind] / count:.1%})")


if __name__ == "__main__":
    typer.run(main)
