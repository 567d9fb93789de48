"""Measure what the offline judge passes on labelled rows, and how well it ranks them.

    python tools/offline_figures.py begin.jsonl wice.jsonl ragtruth.jsonl

A file has one JSON object a line, with `query`, `context`, `response` and `label`: 1 if people call the
response grounded, 0 if not. For each judge it prints:

- passed: rows with a score that reaches the judge's default threshold, and their share of all rows;
- grounded: how many of these have the label 1, and their share;
- n/a: rows that claim nothing, which have no score and take no part in the other figures;
- ROC AUC of the score that the threshold applies to (of `statement_groundedness`, the weakest claim's);
- ms/row: CPU time, in milliseconds.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import typer

from groundjudge import load
from groundjudge.types import Judge

metrics: Any = import_module("sklearn.metrics")  # which has no types

JUDGES = ("groundedness", "confidence_grounding", "statement_groundedness")
COLUMNS = f"  {'judge':24}{'rows':>6}{'passed':>16}{'grounded':>16}{'n/a':>6}{'ROC AUC':>9}{'ms/row':>8}"


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a JSONL file."""
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def figures_of(judge: Judge, rows: list[dict[str, Any]]) -> str:
    """The figures of a judge on labelled rows, as a line of the table."""
    n_passed = n_grounded = n_not_applicable = 0
    labels: list[int] = []
    scores: list[float] = []
    start = process_time()
    for row in rows:
        verdict = judge.judge({name: row[name] for name in ("query", "context", "response")})
        if verdict.score is None:
            n_not_applicable += 1
            continue
        scores.append(verdict.score if verdict.weakest is None else verdict.weakest)
        labels.append(row["label"])
        if verdict.passed:
            n_passed += 1
            n_grounded += row["label"]
    milliseconds = (process_time() - start) * 1000 / len(rows)
    passed = f"{n_passed} ({n_passed / len(rows):.3f})"
    grounded = f"{n_grounded} ({n_grounded / n_passed:.3f})" if n_passed else "0"
    roc_auc = metrics.roc_auc_score(labels, scores)
    return (
        f"  {judge.name:24}{len(rows):6}{passed:>16}{grounded:>16}{n_not_applicable:6}"
        f"{roc_auc:9.3f}{milliseconds:8.2f}"
    )


def main(files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")]) -> None:
    """Print a table for each file, with a line for each judge."""
    judges = [load(name, model="offline") for name in JUDGES]
    for path in files:
        rows = read_rows(path)
        print(f"{path.stem}: people call {sum(row['label'] for row in rows)} of {len(rows)} grounded")
        print(COLUMNS)
        for judge in judges:
            print(figures_of(judge, rows))


if __name__ == "__main__":
    typer.run(main)
