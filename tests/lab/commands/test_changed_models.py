"""The commands around a change of model, as a user meets them: compare, label and report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Invoke, words
from make_verdicts import verdict
from verdict_files import write_rows, write_verdicts

from groundjudge.lab.sample import FAILED_NOW, read_sample

N_ROWS = 200


def old_score(place: int) -> float:
    return 0.8 if place % 2 else 0.2


def new_score(place: int) -> float:
    """All scores fall by 0.1, and every tenth row that passed fails."""
    if place % 20 == 1:
        return 0.3
    return old_score(place) - 0.1


@pytest.fixture(autouse=True)
def usual_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdicts of two models on the same cases, and people who agree with the first."""
    monkeypatch.chdir(tmp_path)
    judge: dict[str, Any] = {"judge": "groundedness"}
    places = range(N_ROWS)
    cases = [{"id": str(place), "query": "q", "context": ["c"], "response": f"r{place}"} for place in places]
    write_rows("c.jsonl", cases)
    old = [verdict(str(place), old_score(place), reason=f"before {place}", **judge) for place in places]
    new = [
        verdict(str(place), new_score(place), reason=f"now {place}", model="new", **judge) for place in places
    ]
    write_verdicts("old.jsonl", old)
    write_verdicts("new.jsonl", new)
    write_rows("l.jsonl", [{"id": str(place), "label": place % 2} for place in places])


def test_compare_says_what_flips_and_how_many_labels_are_needed(command: Invoke) -> None:
    output = command("compare", "old.jsonl", "new.jsonl", "--flips", "2").stdout
    assert (
        "flips: 10 of 200 verdicts, 0.050 [0.027, 0.090]: 10 passed only with the first, 0 pass only"
        in output
    )
    assert "(McNemar test, mid-p: p = 0.00098)" in output
    assert "shift in scores: -0.120 [-0.13" in output
    assert "\n50 labels show which of the two is right, and where the threshold belongs: " in output
    assert "groundjudge label CASES new.jsonl --against old.jsonl --n 50\n" in output
    assert ["1", "0.800", "passed", "0.300", "failed"] in words(output)
    assert output.index("first: before 1\n") < output.index("second: now 1\n") < output.index("before 101\n")
    assert "before 121" not in output
    assert "before" not in command("compare", "old.jsonl", "new.jsonl", "--flips", "0").stdout


@pytest.mark.soak
def test_compare_says_where_the_threshold_belongs(command: Invoke) -> None:
    output = command("compare", "old.jsonl", "new.jsonl", "--labels", "l.jsonl", "--flips", "1").stdout
    assert (
        "the second judge agrees best with people at a threshold of 0.2, 95% interval 0.1 to 0.3 (200"
        in output
    )
    assert "keeping the old one gives 0.950 [" in output
    assert "on held-out rows, the new one changes that by +0.050 [" in output
    assert ["1", "0.800", "passed", "0.300", "failed", "grounded"] in words(output)
    assert "right only with the first: 10, only with the second: 0" in output
    write_rows("one.jsonl", [{"id": "1", "label": 1}])
    output = command("compare", "old.jsonl", "new.jsonl", "--labels", "one.jsonl").stdout
    assert (
        "no threshold was fitted: groundedness: 2 parts need 2 or more independent rows labelled not grounded"
        in output
    )


def test_flips_are_drawn_and_the_page_is_blind(command: Invoke) -> None:
    result = command("label", "c.jsonl", "new.jsonl", "--against", "old.jsonl", "--n", "50")
    assert result.exit_code == 0
    assert ["failed,", "passed", "before", "10", "9"] in words(result.stdout)
    assert "Then: groundjudge compare old.jsonl new.jsonl --labels labels.jsonl" in result.stdout
    page = Path("label.html").read_text()
    data = page.partition('id="data">')[2].partition("</script>")[0]
    assert '"response":"r1"' in data or '"response":"r101"' in data
    for told in ("before 1", FAILED_NOW, "passed", "now 1", "0.3"):
        assert told not in data
    sample = read_sample("label.sample.json")
    rows = [{"id": case_id, "label": int(case_id) % 2, "sample": sample.id} for case_id in sample.ids]
    write_rows("labels.jsonl", rows)
    drawn = ("--labels", "labels.jsonl", "--sample", "label.sample.json")
    output = command("compare", "old.jsonl", "new.jsonl", *drawn).stdout
    # The flips were nine of fifty labels, and count as ten of two hundred rows.
    assert ["accuracy", "1.000", "0.950"] in [line[:3] for line in words(output)]
    assert command("rate", "new.jsonl", *drawn).exit_code == 0
    assert command("label", "c.jsonl", "new.jsonl", "--against", "no.jsonl", "--overwrite").exit_code == 2


@pytest.mark.soak
def test_the_report_sets_both_reasons_side_by_side(command: Invoke) -> None:
    result = command("report", "new.jsonl", "--against", "old.jsonl", "--labels", "l.jsonl")
    assert result.exit_code == 0
    page = Path("report.html").read_text()
    data = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    (change,) = data["changes"]
    assert (change["n"], change["n_lost"], change["n_gained"]) == (200, 10, 0)
    assert len(change["flips"]) == 10
    assert change["flips"][0]["first_reason"] == "before 1"
    assert change["flips"][0]["second_reason"] == "now 1"
    assert change["flips"][0]["grounded"] is True
    assert change["refit"]["threshold"] == 0.2
    assert command("report", "new.jsonl", "-o", "alone.html").exit_code == 0
    assert '"changes":[]' in Path("alone.html").read_text()
