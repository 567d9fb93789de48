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

KEPT = Path(__file__).parents[1] / "src" / "groundjudge" / "offline" / COEFFICIENTS
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


def read(path: Path) -> list[Row]:
    """The labelled rows of a file."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    labelled = (fields for fields in lines if fields["label"] in {0, 1})
    return [Row(path.stem, _group(fields), fields["label"] == 1, fields) for fields in labelled]


def _group(fields: dict[str, Any]) -> str:
    return str(next(fields[key] for key in GROUP_KEYS if fields.get(key)))


def held_out(groups: Iterable[str]) -> frozenset[str]:
    """The groups that take no part in fitting."""
    each = list(dict.fromkeys(groups))
    return frozenset(Random(SEED).sample(each, round(len(each) / HELD_OUT)))  # noqa: S311


def signals(row: Row) -> Signals:
    """What the model knows of a row."""
    return support(row.fields["response"], index(row.fields["context"])).signals


def split(path: Path) -> tuple[list[Row], list[Row]]:
    """The rows of a file to fit to, and those that are held out."""
    rows = read(path)
    out = held_out(row.group for row in rows)
    return [row for row in rows if row.group not in out], [row for row in rows if row.group in out]


def main(
    files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")],
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = KEPT,
) -> None:
    """Fit the model to all files together, and write it."""
    rows = [row for path in files for row in split(path)[0]]
    known = [(row, signals(row)) for row in rows]
    measured = [(row, found[:-1]) for row, found in known if not found.contradicted]
    labels = [row.is_supported for row, _ in measured]
    kinds = Counter((row.file, row.is_supported) for row, _ in measured)
    weights = [len(measured) / len(kinds) / kinds[row.file, row.is_supported] for row, _ in measured]
    fitted = linear_model.LogisticRegression().fit([found for _, found in measured], labels, weights)
    values = [float(fitted.intercept_[0]), *map(float, fitted.coef_[0]), CONTRADICTED]
    named = zip(["intercept", *Signals._fields], (round(value, 3) for value in values), strict=True)
    kept = {
        "method": "logistic regression",
        "held_out": f"one group in {HELD_OUT}, seed {SEED}",
        "coefficients": dict(named),
    }
    out.write_text(f"{json.dumps(kept, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
