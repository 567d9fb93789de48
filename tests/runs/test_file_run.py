"""Runs from a file to a file, without the command line."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from command_line import GOOD, ROW, verdicts_in
from scripted_model import ScriptedModel

from groundjudge import ModelError, load, run
from groundjudge.runs.rows import CaseFile
from groundjudge.runs.summary import Tally
from groundjudge.runs.verdict_file import MAX_UNREADABLE, RunTotals, write_verdicts


class Progress:
    """Counts how often it is entered, and how often it is advanced."""

    def __init__(self) -> None:
        self.entered = self.advanced = 0

    @contextmanager
    def shown(self) -> Generator[Callable[[], None], None, None]:
        self.entered += 1
        yield self.advance

    def advance(self) -> None:
        self.advanced += 1


def outcome_of(model: ScriptedModel, path: Path, out: Path, progress: Progress | None = None) -> RunTotals:
    judging = partial(run, load("groundedness", model=model), concurrency=1)
    outcome = RunTotals(Tally(["groundedness"]), frozenset({"row 1"}))
    rows = CaseFile(str(path), outcome.kept_ids)
    write_verdicts(judging(rows.source), str(out), outcome, progress.shown() if progress else None)
    return outcome


def test_verdicts_are_written_and_counted(file_of: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    outcome = outcome_of(ScriptedModel(GOOD, "?", "?"), file_of(ROW, "{", ROW), out)
    assert sorted((v.case_id, v.status) for v in verdicts_in(out.read_text())) == [
        ("row 1", "ok"),
        ("row 2", "error"),
        ("row 3", "error"),
    ]
    (summary,) = outcome.tally.summaries()
    assert (summary.n_ok, summary.n_error, outcome.n_new, outcome.n_unreadable) == (1, 1, 3, 1)
    assert outcome.first_errors["groundedness", "no_verdict"].startswith("row 3: ")
    assert [verdict.score for verdict in outcome.kept["row 1"]] == [1.0]
    assert outcome.stopped is None


def test_progress_advances_with_each_verdict(file_of: Callable[..., Path], tmp_path: Path) -> None:
    progress = Progress()
    outcome_of(ScriptedModel(GOOD), file_of(ROW, ROW, "{"), tmp_path / "out.jsonl", progress)
    assert (progress.entered, progress.advanced) == (1, 3)


def test_fatal_error_in_the_first_row_shows_no_progress_and_writes_no_file(
    file_of: Callable[..., Path], tmp_path: Path
) -> None:
    progress, out = Progress(), tmp_path / "out.jsonl"
    model = ScriptedModel(ModelError("auth", "Bad key"))
    with pytest.raises(ModelError, match="Bad key"):
        outcome_of(model, file_of(ROW), out, progress)
    assert (progress.entered, out.exists()) == (0, False)


def test_messages_of_unreadable_rows_are_limited(file_of: Callable[..., Path], tmp_path: Path) -> None:
    outcome = outcome_of(ScriptedModel(GOOD), file_of(*["{"] * 30), tmp_path / "out.jsonl")
    assert (outcome.n_unreadable, len(outcome.unreadable)) == (30, MAX_UNREADABLE)
