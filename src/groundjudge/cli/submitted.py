"""A submitted run: what its state says, as judges, rows and providers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from groundjudge.batches.provider import Provider
from groundjudge.batches.replay import with_all_votes
from groundjudge.batches.state import PartOfRun, State, StateError
from groundjudge.cli.judging import judges_of
from groundjudge.cli.options import JudgeSelection
from groundjudge.judging.load import as_model
from groundjudge.judging.panel import AnyJudge, models_of
from groundjudge.rubric.rubric import names
from groundjudge.runs.file_run import CaseFile

DIFFERENCES = {
    "identities": "another judge, model or option, or a prompt file or groundjudge changed since",
    "endpoints": "at another endpoint: see OPENAI_BASE_URL",
    "cases": "another file of cases",
    "format": "another --format",
    "fields": "another --fields",
}
"""What tells two runs apart: the names of settings, each with what differs."""


@dataclass(frozen=True)
class Submitted:
    """A run as it was submitted.

    Attributes:
        state: its state.
        judges: its judges; panels ask for all votes.
        settings: what is kept of it, so that later commands need only the name of its file of verdicts.
        providers: the provider of each model, by the model's name.
    """

    state: State
    judges: tuple[AnyJudge, ...]
    settings: Mapping[str, Any]
    providers: Mapping[str, Provider]

    @property
    def rows(self) -> CaseFile:
        """The rows of the file of cases."""
        settings = self.settings
        return CaseFile(settings["cases"], frozenset(), settings["format"], settings["fields"])


def state_folder(out: str) -> Path:
    """The folder with the state of the run whose verdicts go to `out`."""
    return Path(f"{out}.batch")


def submission(state: State, selection: JudgeSelection, rows: CaseFile) -> Submitted:
    """The run of a state, or a new one.

    Raises:
        StateError: `other_run`: the state belongs to another run.
        PromptError, ModelError: the judges cannot be loaded.
    """
    judges = batch_judges(selection)
    models = models_of(judges)
    settings = {
        "run": state.settings.get("run", uuid4().hex[:16]),
        "cases": str(Path(rows.path).resolve()),
        "format": rows.file_format,
        "fields": dict(rows.fields),
        "selection": {**asdict(selection), "judge": [*map(_absolute, selection.names)]},
        "identities": {judge.name: judge.identity for judge in judges},
        "endpoints": {model.name: str(getattr(model, "endpoint", "")) for model in models},
    }
    for name, difference in DIFFERENCES.items():
        if state.settings and state.settings[name] != settings[name]:
            remedy = "go back to what was submitted, or choose another --out"
            message = f"{state.folder} belongs to another run ({difference}): {remedy}"
            raise StateError("other_run", message, str(state.folder))
    from groundjudge.batches.openai import batches_of  # noqa: PLC0415  loaded only if used

    return Submitted(state, judges, settings, {model.name: batches_of(model) for model in models})


def submitted(state: State) -> Submitted:
    """The run of a state.

    Raises:
        StateError: `no_state`: it was interrupted before it was planned; `other_run`: a prompt file, the
            library or the endpoint changed since.
        PromptError, ModelError: the judges cannot be loaded.
    """
    settings = state.settings
    if not settings:
        message = f"{state.folder} is empty: `groundjudge batch submit` was interrupted, run it again"
        raise StateError("no_state", message, str(state.folder))
    rows = CaseFile(settings["cases"], frozenset(), settings["format"], settings["fields"])
    return submission(state, JudgeSelection(**settings["selection"]), rows)


def batch_judges(selection: JudgeSelection) -> tuple[AnyJudge, ...]:
    """The judges that the options ask for; panels ask for all votes at once."""
    return tuple(map(with_all_votes, judges_of(selection, as_model)))


def line_of(part: PartOfRun) -> str:
    """A part in a line."""
    batch = part.batch
    if not batch.id:
        return f"batch {part.number} ({part.model}): {part.step}, {part.n_requests:,} requests"
    done = f"{batch.n_done:,} of {part.n_requests:,} done"
    reason = f" ({batch.message})" if batch.message else ""
    return f"batch {part.number} {batch.id} ({part.model}): {batch.status}{reason}, {done}"


def _absolute(judge: str) -> str:
    """A judge's name, or the whole path of a prompt file."""
    return judge if judge in names() else str(Path(judge).resolve())
