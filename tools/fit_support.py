"""Fit the offline baseline's model of support to labelled files, and keep what it reached.

    python tools/fit_support.py begin.jsonl wice.jsonl

A line of a file holds `query`, `response`, `context` (a list of texts), `label` (1 supported, 0 not; rows
with another are left out) and, where rows are not independent, what they share under the group's key;
without it, rows with one and the same context are a group. Every file weighs the same, and in it both
labels, so that a score of 0.5 is where the two balance. Written are the coefficients and the score that a
text of the highest level must reach, with figures from cross-validation by group: every row is scored by a
model that saw no row of its group.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, NamedTuple

import typer

from groundjudge.analysis.figures import Figure, Floats, Sample, intervals, numbered
from groundjudge.analysis.libraries import NDArray, metrics, np, selection
from groundjudge.offline.support import COEFFICIENTS, Model, Signals, index, score, support

optimize: Any = import_module("scipy.optimize")  # which is not typed

KEPT = Path(__file__).parents[1] / "src" / "groundjudge" / "offline" / COEFFICIENTS
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
"""Fixed: rare in what people wrote and models copied, so that it cannot be measured there, and the first
thing that a judge must see."""
LIKELY: Bound = (-2.0, -2.0)
"""Fixed for the same reason, but milder: the other name may be another form of the same one."""
BOUNDS = {
    "covered": RISING,
    "together": RISING,
    "missing": FALLING,
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


def read(paths: Iterable[Path], key: str) -> list[Row]:
    """The labelled rows of files."""
    return [
        Row(path.stem, str(fields.get(key) or fields["context"]), fields["label"] == 1, fields)
        for path in paths
        for fields in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        if fields["label"] in {0, 1}
    ]


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


def fit(data: Table, chosen: Any, without: Collection[str] = ()) -> Model:  # noqa: ANN401  a mask or places
    """A logistic regression within the bounds, on some rows; signals that are left out count nothing."""
    signals, weights = data.signals[chosen], data.weights[chosen]
    signs = np.where(data.labels[chosen], 1.0, -1.0)

    def loss(values: Floats) -> tuple[float, Floats]:
        margins = signs * (signals @ values[1:] + values[0])
        slopes = -weights * signs / (1 + np.exp(margins))
        penalised = PENALTY * np.array([0.0, *values[1:]])
        total = weights @ np.logaddexp(0, -margins) + penalised @ values / 2
        return total, np.array([slopes.sum(), *(signals.T @ slopes)]) + penalised

    bounds = [(0.0, 0.0) if name in without else BOUNDS[name] for name in Signals._fields]
    start = [0.0, *(low or high or 0.0 for low, high in bounds)]
    found = optimize.minimize(loss, start, jac=True, bounds=[(None, None), *bounds], method="L-BFGS-B").x
    model = Model(Signals(*map(float, found[1:])), float(found[0]), 1.0)
    return model._replace(exact=exact(model, data, chosen))


def exact(model: Model, data: Table, chosen: Any) -> float:  # noqa: ANN401
    """The strictest cut above `HALF` whose three levels part rows as well as any, by the mean of files."""
    scores = np.array([score(Signals(*line), model) for line in data.signals[chosen]])
    labels, files = data.labels[chosen], np.array([row.file for row in data.rows])[chosen]

    def area(cut: float) -> float:
        levels = 1 * (scores >= HALF) + (scores >= cut)
        return fmean(
            metrics.roc_auc_score(labels[files == file], levels[files == file]) for file in set(files)
        )

    reached = {cut: area(cut) for cut in CUTS}
    return max(cut for cut in CUTS if reached[cut] >= max(reached.values()) - NO_DIFFERENCE)


def folds(data: Table) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Where the rows to fit on and the rows to score stand, with no group in both."""
    splitter = selection.GroupKFold(FOLDS, shuffle=True, random_state=0)
    yield from splitter.split(data.signals, data.labels, data.groups)


def cross_validated(data: Table, without: Collection[str] = ()) -> Floats:
    """The support of each row by a model that saw no row of its group."""
    scores = np.empty(len(data.rows))
    for seen, unseen in folds(data):
        fitted = fit(data, seen, without)
        scores[unseen] = [score(Signals(*line), fitted) for line in data.signals[unseen]]
    return scores


def areas(data: Table, scores: Floats) -> dict[str, Figure]:
    """Area under the ROC curve with its interval, for each file."""
    files = np.array([row.file for row in data.rows])
    sample = Sample(scores, scores >= HALF, data.labels, None, data.groups)
    return {
        str(file): intervals(sample.rows(files == file))["roc_auc"] for file in dict.fromkeys(files.tolist())
    }


def main(
    files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")],
    group: Annotated[str, typer.Option(help="The key that rows of one group share.")] = "claim_id",
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = KEPT,
) -> None:
    """Fit the model to all files together and keep it with its cross-validated figures."""
    data = table(read(files, group))
    fitted = fit(data, slice(None))
    figures = areas(data, cross_validated(data))
    kept = {
        "method": f"logistic regression within bounds, {FOLDS}-fold cross-validation by group",
        "roc_auc": {file: rounded(figure) for file, figure in figures.items()},
        "intercept": round(fitted.intercept, DIGITS),
        "exact": fitted.exact,
        "coefficients": {
            name: round(value, DIGITS) + 0.0 for name, value in fitted.coefficients._asdict().items()
        },
    }
    written = json.dumps(kept, indent=2)
    out.write_text(f"{written}\n", encoding="utf-8")
    print(written)


def rounded(figure: Figure) -> dict[str, float | None]:
    """A figure and its interval to three places, as far as it is defined."""
    return {
        name: None if value is None else round(value, DIGITS)
        for name, value in (("value", figure.value), ("low", figure.low), ("high", figure.high))
    }


if __name__ == "__main__":
    typer.run(main)
