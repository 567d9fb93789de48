"""Fit the offline baseline's model of support to labelled files.

    python tools/fit_support.py begin.jsonl wice.jsonl ragtruth.jsonl

A line of a file holds `query`, `response`, `context` (a list of texts) and `label` (1 supported, 0 not; rows
with any other label are left out).

A label is of a whole response, and the model is of a sentence: a response is supported if each of its
sentences is, and so its probability is the product of theirs. Each signal keeps the direction that its
comment claims. Every file weighs the same. Then the intercept is moved to where the share of responses whose
weakest sentence is supported comes closest, in all files, to the share that people call supported.

Which part of a sentence gives its signals, the weights decide that the package has. So a fit starts from the
last one, gives something a little different, and is measured before it is taken.

The weights of a contradiction and of a sentence of which the documents have nothing are fixed: both are too
rare in labelled files to be measured, and must never pass a judge.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
import typer
from numpy.typing import NDArray

from groundjudge.offline.claims import states_nothing
from groundjudge.offline.support import COEFFICIENTS, Signals, index, support
from groundjudge.text.sentences import sentences

optimize: Any = import_module("scipy.optimize")  # which is not typed

MODEL = Path(__file__).parents[1] / "src" / "groundjudge" / "offline" / COEFFICIENTS
GROUP_KEYS = ("claim_id", "document_id", "query", "context")
FIXED = {"foreign": -4.0, "contradicted": -4.0}
RISING = ("together",)
"""The signals that speak for a sentence; all others speak against it."""
PENALTY = 1e-4
"""How much the square of a weight costs."""
SHIFTS = np.arange(-3.0, 3.0, 0.01)

Floats: TypeAlias = NDArray[np.float64]


class Row(NamedTuple):
    """A labelled response; `fields` is all that its line holds."""

    file: str
    group: str
    is_supported: bool
    fields: dict[str, Any]


class LabelledSignals(NamedTuple):
    """The claims of a file's responses as columns."""

    signals: Floats  # of each claim; shape (claims, signals)
    response: NDArray[np.int_]  # which response the claim is of, in ascending order; shape (claims,)
    supported: NDArray[np.bool_]  # the label of each response; shape (responses,)


def read_rows(path: Path) -> list[Row]:
    """The labelled rows of a file; those that share a claim, a document or a query have one group."""
    fields_of_rows: list[dict[str, Any]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        if fields["label"] in {0, 1}:
            fields_of_rows.append(fields)
    rows: list[Row] = []
    for group, fields in zip(groups_of(fields_of_rows), fields_of_rows, strict=True):
        rows.append(Row(path.stem, group, fields["label"] == 1, fields))
    return rows


def groups_of(fields_of_rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The name of each row's group: what rows are linked by, directly or through other rows."""
    group_of_link: dict[str, str] = {}
    groups: list[str] = []
    for number, fields in enumerate(fields_of_rows):
        links = [f"{key} {fields[key]}" for key in GROUP_KEYS if fields.get(key)]
        linked_groups = {group_of_link[link] for link in links if link in group_of_link}
        group = min(linked_groups, default=f"{number:06}")
        for link, other_group in group_of_link.items():
            if other_group in linked_groups:
                group_of_link[link] = group
        for link in links:
            group_of_link[link] = group
        groups = [group if other_group in linked_groups else other_group for other_group in groups]
        groups.append(group)
    return groups


def signals_of(row: Row) -> list[Signals]:
    """What the model knows of each claim of a row; of its first sentence if nothing is claimed."""
    sources = index(row.fields["context"])
    all_sentences = [sentence.text for sentence in sentences(row.fields["response"])]
    claim_texts = [text for text in all_sentences if not states_nothing(text)]
    if not claim_texts:
        claim_texts = all_sentences[:1]
    signals_of_claims: list[Signals] = []
    for text in claim_texts:
        signals = support(text, sources).signals
        if signals is not None:
            signals_of_claims.append(signals)
    return signals_of_claims


def label_signals(rows: Sequence[Row], signals_of_rows: Sequence[Sequence[Signals]]) -> list[LabelledSignals]:
    """The claims of the rows of each file."""
    files: list[LabelledSignals] = []
    for file in dict.fromkeys(row.file for row in rows):
        claims: list[Signals] = []
        response: list[int] = []
        supported: list[bool] = []
        for row, signals_of_row in zip(rows, signals_of_rows, strict=True):
            if row.file == file:
                claims.extend(signals_of_row)
                response.extend([len(supported)] * len(signals_of_row))
                supported.append(row.is_supported)
        files.append(LabelledSignals(np.array(claims), np.array(response), np.array(supported)))
    return files


def fit(files: Sequence[LabelledSignals]) -> dict[str, float]:
    """The intercept and the weight of each signal."""
    free_names = [name for name in Signals._fields if name not in FIXED]
    is_free = np.array([name in free_names for name in Signals._fields])
    weights = np.array([FIXED.get(name, 0.0) for name in Signals._fields])

    def loss(parameters: Floats) -> tuple[float, Floats]:
        weights[is_free] = parameters[1:]
        total = PENALTY * float(np.square(parameters[1:]).sum())
        gradient = np.concatenate([[0.0], 2 * PENALTY * parameters[1:]])
        for file in files:
            logits = file.signals @ weights + parameters[0]
            count = len(file.supported)
            log_probability = np.bincount(file.response, -np.logaddexp(0, -logits), count)
            log_probability = np.minimum(log_probability, -1e-9)
            probability = np.exp(log_probability)
            log_likelihood = np.where(file.supported, log_probability, np.log1p(-probability))
            total -= float(log_likelihood.mean())
            slope = np.where(file.supported, 1.0, -probability / (1 - probability)) / count
            slope_of_claim = slope[file.response] / (1 + np.exp(logits))
            gradient[0] -= slope_of_claim.sum()
            gradient[1:] -= slope_of_claim @ file.signals[:, is_free]
        return total, gradient

    bounds: list[tuple[float | None, float | None]] = [(None, None)]
    for name in free_names:
        bounds.append((0.0, None) if name in RISING else (None, 0.0))
    start = np.zeros(len(free_names) + 1)
    parameters = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    weights[is_free] = parameters[1:]
    intercept = parameters[0] + shift(files, weights, parameters[0])
    coefficients = {"intercept": round(float(intercept), 3)}
    for name, weight in zip(Signals._fields, weights, strict=True):
        coefficients[name] = round(float(weight), 3)
    return coefficients


def shift(files: Sequence[LabelledSignals], weights: Floats, intercept: float) -> float:
    """What to add to the intercept, so that as many responses pass in each file as people would let pass."""
    differences = np.zeros((len(files), len(SHIFTS)))
    for number, file in enumerate(files):
        weakest = np.full(len(file.supported), np.inf)
        np.minimum.at(weakest, file.response, file.signals @ weights + intercept)
        pass_shares = (weakest[:, None] + SHIFTS >= 0).mean(axis=0)
        differences[number] = np.abs(pass_shares - file.supported.mean())
    return float(SHIFTS[differences.max(axis=0).argmin()])


def main(
    files: Annotated[list[Path], typer.Argument(help="Labelled rows, JSONL.")],
    out: Annotated[Path, typer.Option(help="Where to write the model.")] = MODEL,
) -> None:
    """Fit the model to all files together, and write it."""
    rows: list[Row] = []
    for path in files:
        rows.extend(read_rows(path))
    coefficients = fit(label_signals(rows, [signals_of(row) for row in rows]))
    content = {
        "method": "logistic regression of each claim, by the labels of responses",
        "coefficients": coefficients,
    }
    out.write_text(f"{json.dumps(content, indent=2)}\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
