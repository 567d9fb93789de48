"""Fit the offline baseline's model of support to labelled files.

    python tools/fit_support.py begin.jsonl wice.jsonl

A line of a file holds `query`, `response`, `context` (a list of texts) and `label` (1 supported, 0 not; rows
with any other label are left out). Rows that share a `claim_id`, a `document_id` or, without either, their
context form a group. A fifth of the groups of each file, drawn with a fixed seed, takes no part in anything
here: offline_figures.py measures the model on these.

The model is a logistic regression. Every file weighs the same, and so do the two labels within a file, so
that a score of 0.5 is where the two balance. The weight of a contradiction is fixed, and rows with one are
left out: they are too rare in labelled files to be measured, and must never pass a judge.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Annotated, Any, NamedTuple

import typer

from groundjudge.offline.support import COEFFICIENTS, Signals, index, support

linear_model: Any = import_module("sklearn.linear_model")  # which is not typed

MODEL = Path(__file__).parents[1] / "src" / "groundjudge" / "offline" / COEFFICIENTS
GROUP_KEYS = ("claim_id", "document_id", "context")
HELD_OUT = 5
"""One group in so many is held out."""
SEED = 7
CONTRADICTED = -4.0


class Row(NamedTuple):
    """A labelled response; `fields` is all that its line holds."""

    file: str
    group: str
    is_supported: bool
    fields: dict[str, Any]


def read_rows(path: Path) -> list[Row]:
    """The labelled rows of a file."""
    rows: list[Row] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        if fields["label"] in {0, 1}:
            rows.append(Row(path.stem, group_of(fields), fields["label"] == 1, fields))
    return rows


def group_of(fields: dict[str, Any]) -> str:
    """What the row shares with other rows: its claim, its document or else its context."""
    for key in GROUP_KEYS:
        if fields.get(key):
            return str(fields[key])
    message = f"a row has none of {', '.join(GROUP_KEYS)}: {fields}"
    raise ValueError(message)


def held_out_groups(groups: Iterable[str]) -> frozenset[str]:
    """The groups that take no part in fitting."""
    distinct = list(dict.fromkeys(groups))
    return frozenset(Random(SEED).sample(distinct, round(len(distinct) / HELD_OUT)))  # noqa: S311


def signals_of(row: Row) -> Signals:
    """What the model knows of a row."""
    return support(row.fields["response"], index(row.fields["context"])).signals


def split_rows(path: Path) -> tuple[list[Row], list[Row]]:
    """The rows of a file to fit to, and those that are held out."""
    rows = read_rows(path)
    held_out = held_out_groups(row.group for row in rows)
    rows_to_fit = [row for row in rows if row.group not in held_out]
    rows_to_measure = [row for row in rows if row.group in held_out]
    return rows_to_fit, rows_to_measure


def main(
    files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")],
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = MODEL,
) -> None:
    """Fit the model to all files together, and write it."""
    rows: list[Row] = []
    features: list[tuple[float, ...]] = []
    for path in files:
        for row in split_rows(path)[0]:
            signals = signals_of(row)
            if not signals.contradicted:
                rows.append(row)
                features.append(signals[:-1])
    labels = [row.is_supported for row in rows]
    counts = Counter((row.file, row.is_supported) for row in rows)
    weights = [len(rows) / len(counts) / counts[row.file, row.is_supported] for row in rows]
    model = linear_model.LogisticRegression().fit(features, labels, weights)
    coefficients = {"intercept": round(float(model.intercept_[0]), 3)}
    for name, value in zip(Signals._fields, [*model.coef_[0], CONTRADICTED], strict=True):
        coefficients[name] = round(float(value), 3)
    content = {
        "method": "logistic regression",
        "held_out": f"one group in {HELD_OUT}, seed {SEED}",
        "coefficients": coefficients,
    }
    out.write_text(f"{json.dumps(content, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
