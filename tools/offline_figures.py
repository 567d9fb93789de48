"""Measure how well the offline baseline tells supported from unsupported responses.

    python tools/offline_figures.py begin.jsonl wice.jsonl ragtruth.jsonl

Files are as in fit_support.py. Every row is judged by a model that was fitted without the row's group: the
groups of each file are dealt into five parts, and the rows of a part are judged by what was fitted to the
others. Brackets hold the 95 % interval, of groups. A judge passes a response at its default threshold. The
corpus of edits in tests/offline/edits is judged by the model that is shipped, which was not fitted to it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any
from unittest.mock import patch

import numpy as np
import typer
from fit_support import Row, fit, label_signals, read_rows, signals_of

from groundjudge import Verdict, load
from groundjudge.cli.screen import with_interval
from groundjudge.lab.figures import Bootstrap, Figure, Sample
from groundjudge.types import Judge

JUDGES = [
    load(name, model="offline") for name in ("groundedness", "confidence_grounding", "statement_groundedness")
]
PARTS = 5
SEED = 7
NOTHING_TO_GROUND = 0.5
"""What a verdict without a score counts: neither supported nor unsupported."""
EDITS = Path(__file__).parents[1] / "tests" / "offline" / "edits"
LEAST_LOSS = 0.005
"""What an edit that makes a sentence wrong must cost with every judge."""
MOST_LOSS = 0.1
"""What an edit that keeps its meaning may cost with any."""


def cross_fitted_verdicts(rows: Sequence[Row]) -> list[list[Verdict]]:
    """Each judge's verdict of each row, with the model that was fitted to the other parts."""
    parts = parts_of(rows)
    signals = [signals_of(row) for row in rows]
    verdicts: list[list[Verdict]] = [[] for _ in rows]
    for part in range(PARTS):
        numbers = [number for number, part_of_row in enumerate(parts) if part_of_row != part]
        files = label_signals([rows[number] for number in numbers], [signals[number] for number in numbers])
        with patch("groundjudge.offline.support.coefficients", return_value=fit(files)):
            for number, row in enumerate(rows):
                if parts[number] == part:
                    verdicts[number] = [judge_row(judge, row.fields) for judge in JUDGES]
    return verdicts


def parts_of(rows: Sequence[Row]) -> list[int]:
    """The part of each row: the groups of each file are shuffled with a fixed seed and dealt in turn."""
    part_of_group: dict[tuple[str, str], int] = {}
    for file in dict.fromkeys(row.file for row in rows):
        groups = list(dict.fromkeys(row.group for row in rows if row.file == file))
        Random(SEED).shuffle(groups)  # noqa: S311
        for number, group in enumerate(groups):
            part_of_group[file, group] = number % PARTS
    return [part_of_group[row.file, row.group] for row in rows]


def judge_row(judge: Judge, fields: dict[str, Any]) -> Verdict:
    """The judge's verdict of a case."""
    return judge.judge({key: fields[key] for key in ("query", "context", "response")})


def deciding_score(verdict: Verdict) -> float:
    """The score that the threshold applies to."""
    return mean_score(verdict) if verdict.weakest is None else verdict.weakest


def mean_score(verdict: Verdict) -> float:
    """The headline score."""
    return NOTHING_TO_GROUND if verdict.score is None else verdict.score


def figures_of(rows: Sequence[Row], scores: Sequence[float], passed: Sequence[bool]) -> dict[str, Figure]:
    """The figures of a judge, with their intervals."""
    supported = np.array([row.is_supported for row in rows])
    groups = np.array([row.group for row in rows])
    sample = Sample(np.array(scores), np.array(passed), groups, positive=supported)
    return dict(Bootstrap().figures(sample, Sample.agreement))


def print_file(rows: Sequence[Row], verdicts: Sequence[Sequence[Verdict]]) -> None:
    """Print the table of one file."""
    groups = {row.group for row in rows}
    people = sum(row.is_supported for row in rows) / len(rows)
    print(f"{rows[0].file}: {len(rows)} rows, {len(groups)} groups; people call {people:.0%} grounded")
    print(f"  {'judge':32}{'ROC AUC':24}{'passes':10}{'sensitivity':14}{'specificity':14}balanced accuracy")
    for number, judge in enumerate(JUDGES):
        verdicts_of_judge = [verdicts_of_row[number] for verdicts_of_row in verdicts]
        passed = [verdict.passed is not False for verdict in verdicts_of_judge]
        scores_by_name = {judge.name: [deciding_score(verdict) for verdict in verdicts_of_judge]}
        if any(verdict.weakest is not None for verdict in verdicts_of_judge):
            scores_by_name[f"{judge.name}, mean"] = [mean_score(verdict) for verdict in verdicts_of_judge]
        for name, scores in scores_by_name.items():
            figures = figures_of(rows, scores, passed)
            columns = [f"{sum(passed) / len(passed):.0%}".ljust(10)]
            for figure in ("recall", "recall_not_grounded", "balanced_accuracy"):
                columns.append(f"{figures[figure].value or 0.0:.2f}".ljust(14))
            print(f"  {name:32}{with_interval(figures['roc_auc']):24}{''.join(columns)}".rstrip())


def edits() -> Iterator[tuple[str, bool]]:
    """The language and kind of each edit of the corpus, and whether all judges score it rightly."""
    for file in sorted(EDITS.glob("*.jsonl")):
        for line in file.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
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
    differences: list[float] = []
    for judge in JUDGES:
        before = deciding_score(judge_row(judge, case))
        differences.append(before - deciding_score(judge_row(judge, edited_case)))
    return differences


def print_edits() -> None:
    """Print the share of edits that the judges score rightly, by language and kind."""
    totals: Counter[str] = Counter()
    rights: Counter[str] = Counter()
    for kind, is_right in edits():
        totals[kind] += 1
        rights[kind] += is_right
    for kind, total in totals.items():
        print(f"edits, {kind}: {rights[kind]} of {total} scored rightly ({rights[kind] / total:.0%})")


def main(files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")]) -> None:
    """Print what the judges make of each file beside what people do."""
    rows: list[Row] = []
    for path in files:
        rows.extend(read_rows(path))
    verdicts = cross_fitted_verdicts(rows)
    for path in files:
        numbers = [number for number, row in enumerate(rows) if row.file == path.stem]
        print_file([rows[number] for number in numbers], [verdicts[number] for number in numbers])
    print_edits()


if __name__ == "__main__":
    typer.run(main)
