"""The offline baseline's model is fitted by a script, and what it wrote is what the library reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from groundjudge.offline.support import Signals, coefficients, score

TOOLS = Path(__file__).parents[2] / "tools"
PLACES = "Arnby Brask Corvin Dunmere Elsfield Farrow Gault Hexby Inver Jarl Kelm Lorne".split()


def write_labelled_rows(folder: Path) -> Path:
    """A file of a few towns: what is said of each, and the same with another number or of something else."""
    rows: list[dict[str, Any]] = []
    for number, place in enumerate(PLACES, start=20):
        source = f"The town of {place} has {number} bridges. Ferries leave at noon."
        labels = {
            f"{place} has {number} bridges.": 1,
            f"{place} has {number + 30} bridges.": 0,
            f"I saw 7 wolves near the market of {place}.": 0,
            "Ferries leave at noon.": 1,
            "Perhaps.": None,
        }
        for response, label in labels.items():
            row = {
                "query": f"What of {place}?",
                "response": response,
                "context": [source],
                "label": label,
                "claim_id": place,
            }
            rows.append(row)
    file = folder / "towns.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return file


def run(tool: str, *arguments: str | Path) -> str:
    command = [sys.executable, str(TOOLS / tool), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


@pytest.mark.soak
def test_fitting_writes_the_model_and_figures_are_of_rows_that_took_no_part(tmp_path: Path) -> None:
    file, out = write_labelled_rows(tmp_path), tmp_path / "model.json"
    run("fit_support.py", file, "--out", out)
    model = json.loads(out.read_text(encoding="utf-8"))
    assert model["coefficients"].keys() == {"intercept", *Signals._fields}
    printed = run("offline_figures.py", file)
    assert f"towns: {4 * len(PLACES)} rows, 12 groups; people call 50% grounded" in printed
    for name in (
        "groundedness",
        "confidence_grounding",
        "statement_groundedness, mean",
        "edits, english, wrong",
    ):
        assert name in printed


def test_kept_model_has_the_signs_that_its_signals_claim() -> None:
    rising = ("together",)
    for name in Signals._fields:
        assert (coefficients()[name] >= 0) is (name in rising)
    everything = Signals(1.0, *[0.0] * (len(Signals._fields) - 1))
    assert score(everything) > 0.9
    assert score(everything._replace(together=0.0, missing=1.0, foreign=1.0)) < 0.1
