"""Say how well the offline baseline tells supported from unsupported responses, on labelled files.

    python tools/offline_figures.py begin.jsonl wice.jsonl

Files are as in fit_support.py. Every figure is cross-validated by group: fitted anew on nine tenths of the
rows, measured on the rest. Brackets hold the 95 % interval of a bootstrap of groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from unittest.mock import patch

import typer
from fit_support import BOUNDS, Row, Table, areas, cross_validated, fit, folds, read, table

from groundjudge import Judge, load
from groundjudge.analysis.figures import Figure, Floats
from groundjudge.analysis.libraries import np

JUDGES = ("groundedness", "confidence_grounding", "statement_groundedness")
NOTHING_TO_GROUND = 0.5
"""What a verdict without a score counts: neither supported nor unsupported."""


def judged(judge: Judge, rows: Sequence[Row]) -> list[float]:
    """The scores of rows."""
    fields = ({key: row.fields[key] for key in ("query", "context", "response")} for row in rows)
    scores = [judge.judge(case).score for case in fields]
    return [NOTHING_TO_GROUND if score is None else score for score in scores]


def cross_judged(name: str, data: Table) -> Floats:
    """The scores of an offline judge that rests on a model which saw no row of the case's group."""
    judge, scores = load(name, model="offline"), np.empty(len(data.rows))
    for seen, unseen in folds(data):
        with patch("groundjudge.offline.support.model", return_value=fit(data, seen)):
            scores[unseen] = judged(judge, [data.rows[int(place)] for place in unseen])
    return scores


def printed(name: str, figures: dict[str, Figure]) -> None:
    """One line of the table."""
    columns = [f"{each.value:.3f} [{each.low:.3f}, {each.high:.3f}]" for each in figures.values()]
    print(f"{name:26}", *(f"{column:24}" for column in columns))


def main(
    files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")],
    group: Annotated[str, typer.Option(help="The key that rows of one group share.")] = "claim_id",
) -> None:
    """Print the ROC AUC of the support score and the judges, and of the score without each signal."""
    data = table(read(files, group))
    print(f"{'ROC AUC':26}", *(f"{file.stem:24}" for file in files))
    printed("support", areas(data, cross_validated(data)))
    for name in JUDGES:
        printed(name, areas(data, cross_judged(name, data)))
    print("support without")
    for name in BOUNDS:
        printed(f"  {name}", areas(data, cross_validated(data, {name})))


if __name__ == "__main__":
    typer.run(main)
