"""A run as it was submitted to a provider: what later commands need to know about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from groundjudge.batches.provider import Provider
from groundjudge.batches.state import PartOfRun, State, StateError
from groundjudge.cli.options import RowOptions
from groundjudge.cli.selection import JudgeSelection
from groundjudge.judging.panel import AnyJudge, models_of
from groundjudge.rubric.load import names
from groundjudge.runs.rows import CaseFile

DIFFERENCES: Mapping[str, str] = {
    "identities": "another judge, model or option, or a prompt file or groundjudge has changed since",
    "endpoints": "another endpoint: see OPENAI_BASE_URL",
    "cases": "another file of cases",
    "row_options": "another --format, --fields, --encoding, --limit, --rows or --keep-words",
}
"""How two runs can differ: the names of settings, each with the words for its difference."""


@dataclass(frozen=True)
class Submission:
    """A run as it was submitted.

    Attributes:
        state: its state.
        judges: its judges; panels request all votes.
        rows: the rows of the file of cases.
        settings: the stored settings, so that later commands need only the name of the file of verdicts.
        providers: the provider of each model, by the model's name.
    """

    state: State
    judges: Sequence[AnyJudge]
    rows: CaseFile
    settings: Mapping[str, Any]
    providers: Mapping[str, Provider]


def state_folder(out: str) -> Path:
    """Name the folder with the state of the run whose verdicts go to `out`."""
    return Path(f"{out}.batch")


def make_submission(
    state: State,
    selection: JudgeSelection,
    row_options: RowOptions,
    judges: Sequence[AnyJudge],
    rows: CaseFile,
    *,
    limits: Mapping[str, int] = MappingProxyType({}),
    refusals: Sequence[str] | None = None,
) -> Submission:
    """Make the run of a state, or a new one. The limits and refusals you pass replace its previous ones.

    Args:
        state: the state.
        selection: the judges as they were chosen.
        row_options: how the rows are read.
        judges: the judges that were chosen.
        rows: the rows.
        limits: the limits of its batches.
        refusals: the parameters that its models refuse; None: as before, or unknown.

    Raises:
        StateError: `other_run`: the state belongs to another run.
    """
    # Later commands may run in another folder, so all paths are absolute.
    judge_files: list[str] = []
    for name in selection.judge_names:
        judge_files.append(name if name in names() else str(Path(name).resolve()))
    # Batches can be fetched only from where they were sent.
    endpoints: dict[str, str] = {}
    for model in models_of(judges):
        endpoints[model.name] = str(getattr(model, "endpoint", ""))
    if refusals is None:
        refusals = state.settings.get("refused")
    settings = {
        "run": state.settings.get("run", uuid4().hex[:16]),
        "cases": str(Path(rows.path).resolve()),
        "row_options": asdict(row_options),
        # A later `submit` may change the limits of a run that waits for the provider.
        "limits": {**state.settings.get("limits", {}), **limits},
        "refused": refusals,
        "selection": {**asdict(selection), "judge": judge_files},
        "identities": {judge.name: judge.identity for judge in judges},
        "endpoints": endpoints,
    }
    if state.settings:
        for name, difference in DIFFERENCES.items():
            if state.settings.get(name) != settings[name]:
                remedy = "go back to what was submitted, or choose another --out"
                message = f"{state.folder} belongs to another run ({difference}): {remedy}"
                raise StateError("other_run", message, str(state.folder))
    from groundjudge.batches.providers import provider_of  # noqa: PLC0415  loaded only if used

    providers = {model.name: provider_of(model) for model in models_of(judges)}
    return Submission(state, judges, rows, settings, providers)


def load_submission(state: State) -> Submission:
    """Load the run of a state.

    Raises:
        StateError: `no_state`: it was interrupted before it was planned; `other_run`: a prompt file, the
            library or the endpoint has changed since.
        PromptError, ModelError: the judges cannot be loaded.
    """
    settings = state.settings
    if not settings:
        message = f"{state.folder} is empty: `groundjudge batch submit` was interrupted; run it again"
        raise StateError("no_state", message, str(state.folder))
    try:
        selection = JudgeSelection(**settings["selection"])
        row_options = RowOptions(**settings["row_options"])
    except (TypeError, KeyError) as error:  # the options had other names then
        remedy = "collect it with that version, or submit the cases again with another --out"
        message = f"{state.folder} was submitted by another version of groundjudge: {remedy}"
        raise StateError("other_run", message, str(state.folder)) from error
    judges = selection.judges(in_batches=True)
    rows = row_options.case_file(settings["cases"], judges)
    return make_submission(state, selection, row_options, judges, rows)


def part_line(part: PartOfRun) -> str:
    """Describe a part of a run, which is one batch, on one line."""
    batch = part.batch
    if not batch.id:
        step = batch.status or part.step
        return f"batch {part.number} ({part.model}): {step}, {part.n_requests:,} requests"
    reason = f" ({batch.message})" if batch.message else ""
    n_done = f"{batch.n_done:,} of {part.n_requests:,} done"
    return f"batch {part.number} {batch.id} ({part.model}): {batch.status}{reason}, {n_done}"
