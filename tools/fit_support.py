"""Fit the offline baseline's model of support to labelled files.

    python tools/fit_support.py begin.jsonl wice.jsonl --hold-out 7

A line of a file holds `query`, `response`, `context` (a list of texts) and `label` (1 supported, 0 not; rows
with any other label are left out). Rows that share a `claim_id`, a `document_id` or, without either, their
context form a group. With `--hold-out SEED`, a fifth of the groups of each file takes no part in anything
here: offline_figures.py measures the model on these.

Every file weighs the same, and so do the two labels within a file, so that a score of 0.5 is where the two
balance. The coefficients are written to the library; the ROC AUC of ten-fold cross-validation by group, where
each row is scored by a model that saw no row of its group, is printed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Annotated, Any, NamedTuple

import typer

from groundjudge.analysis.figures import Figure, Floats, Sample, intervals, numbered
from groundjudge.analysis.libraries import NDArray, metrics, np, selection
from groundjudge.offline.support import COEFFICIENTS, Model, Signals, index, score, support

optimize: Any = import_module("scipy.optimize")  # which is not typed

KEPT = Path(__file__).parents[1] / "src" / "groundjudge" / "offline" / COEFFICIENTS
GROUP_KEYS = ("claim_id", "document_id", "context")
HELD_OUT = 5
"""One group in so many is held out."""
PENALTY = 1.0
"""Of the squares of the coefficients: what a ridge regression calls lambda."""
FOLDS = 10
DIGITS = 3
HALF = 0.5
NO_DIFFERENCE = 0.005
"""Of two areas: less than what a few hundred rows can tell."""
CUTS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)

Bound = tuple[float | None, float | None]
RISING: Bound = (0.0, None)
FALLING: Bound = (None, 0.0)
CONTRADICTION: Bound = (-4.0, -4.0)
"""Fixed: contradictions are too rare in the labelled files to be measured, and must never pass a judge."""
LIKELY: Bound = (-2.0, -2.0)
"""Fixed for the same reason, but milder: the other name may be another form of the same one."""
BOUNDS = {
    "covered": RISING,
    "together": RISING,
    "names": FALLING,
    "unknown": FALLING,
    "speaker": FALLING,
    "renamed": LIKELY,
    "contested": CONTRADICTION,
    "denied": CONTRADICTION,
    "opposed": CONTRADICTION,
    "exchanged": CONTRADICTION,
}


class Row(NamedTuple):
    """A labelled response; `fields` is all that its line holds."""

    file: str
    group: str
    is_supported: bool
    fields: dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Rows as columns of numbers.

    Attributes:
        rows: the rows themselves.
        signals: one line for each row, one column for each signal.
        labels: whether each is supported.
        groups: which rows belong together.
        weights: how much each counts.
    """

    rows: Sequence[Row]
    signals: Floats
    labels: NDArray[np.bool_]
    groups: NDArray[np.int64]
    weights: Floats


def read(path: Path) -> list[Row]:
    """The labelled rows of a file."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return [
        Row(path.stem, _group(fields), fields["label"] == 1, fields) for fields in lines if _known(fields)
    ]


def _known(fields: dict[str, Any]) -> bool:
    return fields["label"] in {0, 1}


def _group(fields: dict[str, Any]) -> str:
    return str(next(fields[key] for key in GROUP_KEYS if fields.get(key)))


def held_out(groups: Iterable[str], seed: int | None) -> frozenset[str]:
    """The groups that a seed holds out; none without a seed."""
    each = list(dict.fromkeys(groups))
    return frozenset(Random(seed).sample(each, round(len(each) / HELD_OUT)) if seed is not None else ())  # noqa: S311


def seen(rows: Sequence[Row], seed: int | None) -> list[Row]:
    """The rows of one file that are not held out."""
    out = held_out((row.group for row in rows), seed)
    return [row for row in rows if row.group not in out]


def table(rows: Sequence[Row]) -> Table:
    """Rows with their signals."""
    kinds = Counter((row.file, row.is_supported) for row in rows)
    return Table(
        rows,
        np.array([support(row.fields["response"], index(row.fields["context"])).signals for row in rows]),
        np.array([row.is_supported for row in rows]),
        numbered([f"{row.file}: {row.group}" for row in rows]),
        np.array([len(rows) / len(kinds) / kinds[row.file, row.is_supported] for row in rows]),
    )


def fit(data: Table, chosen: Any) -> Model:  # noqa: ANN401  a mask or places
    """A logistic regression within the bounds, on some rows."""
    signals, weights = data.signals[chosen], data.weights[chosen]
    signs = np.where(data.labels[chosen], 1.0, -1.0)

    def loss(values: Floats) -> tuple[float, Floats]:
        margins = signs * (signals @ values[1:] + values[0])
        slopes = -weights * signs / (1 + np.exp(margins))
        penalised = PENALTY * np.array([0.0, *values[1:]])
        total = weights @ np.logaddexp(0, -margins) + penalised @ values / 2
        return total, np.array([slopes.sum(), *(signals.T @ slopes)]) + penalised

    bounds = [BOUNDS[name] for name in Signals._fields]
    start = [0.0, *(low or high or 0.0 for low, high in bounds)]
    found = optimize.minimize(loss, start, jac=True, bounds=[(None, None), *bounds], method="L-BFGS-B").x
    model = Model(Signals(*map(float, found[1:])), float(found[0]), 1.0)
    return model._replace(exact=exact(model, data, chosen))


def exact(model: Model, data: Table, chosen: Any) -> float:  # noqa: ANN401
    """The strictest cut whose three levels separate rows as well as any cut's, by the mean of files."""
    scores = np.array([score(Signals(*line), model) for line in data.signals[chosen]])
    labels, files = data.labels[chosen], np.array([row.file for row in data.rows])[chosen]

    def area(cut: float) -> float:
        levels = 1 * (scores >= HALF) + (scores >= cut)
        return fmean(
            metrics.roc_auc_score(labels[files == file], levels[files == file]) for file in set(files)
        )

    reached = {cut: area(cut) for cut in CUTS}
    return max(cut for cut in CUTS if reached[cut] >= max(reached.values()) - NO_DIFFERENCE)


def cross_validated(data: Table) -> Floats:
    """The support of each row by a model that saw no row of its group."""
    scores = np.empty(len(data.rows))
    splitter = selection.GroupKFold(FOLDS, shuffle=True, random_state=0)
    for others, fold in splitter.split(data.signals, data.labels, data.groups):
        fitted = fit(data, others)
        scores[fold] = [score(Signals(*line), fitted) for line in data.signals[fold]]
    return scores


def area(rows: Sequence[Row], scores: Floats) -> Figure:
    """Area under the ROC curve of the rows of one file, with its interval from a bootstrap of groups."""
    labels = np.array([row.is_supported for row in rows])
    return intervals(Sample(scores, scores >= HALF, labels, None, numbered([row.group for row in rows])))[
        "roc_auc"
    ]


def written(figure: Figure) -> str:
    """A figure and its interval."""
    return " ".join(
        "undefined" if value is None else form.format(value)
        for value, form in ((figure.value, "{:.3f}"), (figure.low, "[{:.3f},"), (figure.high, "{:.3f}]"))
    )


def main(
    files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")],
    hold_out: Annotated[
        int | None, typer.Option(help="A seed: leave out the groups that it holds out.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = KEPT,
) -> None:
    """Fit the model to all files together, write it, and print its cross-validated figures."""
    rows = [seen(read(path), hold_out) for path in files]
    data = table([row for each in rows for row in each])
    scores = np.split(cross_validated(data), np.cumsum([len(each) for each in rows])[:-1])
    for path, each, own in zip(files, rows, scores, strict=True):
        print(f"{path.stem}: ROC AUC {written(area(each, own))}, cross-validated on {len(each)} rows")
    fitted = fit(data, slice(None))
    kept = {
        "method": "logistic regression within bounds",
        "held_out": "nothing" if hold_out is None else f"one group in {HELD_OUT}, seed {hold_out}",
        "intercept": round(fitted.intercept, DIGITS),
        "exact": fitted.exact,
        "coefficients": {
            name: round(value, DIGITS) + 0.0 for name, value in fitted.coefficients._asdict().items()
        },
    }
    out.write_text(f"{json.dumps(kept, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
