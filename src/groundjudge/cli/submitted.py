"""A submitted run: what its state file says, as judges, rows and providers."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import typer

from groundjudge.batches.answers import answers_in
from groundjudge.batches.asking import Answers, with_all_votes
from groundjudge.batches.lines import Result
from groundjudge.batches.provider import Provider
from groundjudge.batches.state import PartOfRun, State, StateError
from groundjudge.cli.judging import JudgeSelection, judges_of
from groundjudge.cli.screen import fail, print_text, printable
from groundjudge.judging.load import as_model
from groundjudge.judging.panel import AnyJudge, models_of
from groundjudge.rubric.rubric import names
from groundjudge.runs.cost import BATCH_SHARE, Prices
from groundjudge.runs.file_run import Rows
from groundjudge.runs.resume import lock
from groundjudge.runs.rows import STDIO, FileFormat, is_kept
from groundjudge.verdict import Usage

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console


def state_path(out: str) -> Path:
    """The state file of the run whose verdicts go to `out`."""
    return Path(f"{out}.batch")


@dataclass(frozen=True)
class Submitted:
    """A run as it was submitted.

    Attributes:
        state: its state file.
        out: the file of verdicts.
        judges: its judges; panels ask for all votes.
        cases: the file of cases.
        file_format: its format, if it was given.
        fields: fields that stand elsewhere.
        providers: the provider of each model, by the model's name.
    """

    state: State
    out: str
    judges: tuple[AnyJudge, ...]
    cases: str
    file_format: FileFormat | None
    fields: Mapping[str, str]
    providers: Mapping[str, Provider]

    @property
    def rows(self) -> Rows:
        """The rows of the file of cases."""
        return Rows(self.cases, frozenset(), self.file_format, self.fields)

    @property
    def answers(self) -> Answers:
        """The answers that were collected."""
        return answers_in(self.state, self.read)

    def read(self, model: str, line: str) -> Result:
        """Read a line of results."""
        return self.providers[model].read(line)


def batch_judges(wanted: JudgeSelection) -> tuple[AnyJudge, ...]:
    """The judges that the options ask for; panels ask for all votes at once."""
    return tuple(map(with_all_votes, judges_of(wanted, as_model)))


def providers_of(judges: Iterable[AnyJudge]) -> dict[str, Provider]:
    """The provider of each model, by the model's name.

    Raises:
        ModelError: `no_batches`: a model's provider has none.
    """
    from groundjudge.batches.lookup import batches_of  # noqa: PLC0415  loaded only if used

    return {model.name: batches_of(model) for model in models_of(judges)}


def settings_of(
    wanted: JudgeSelection,
    judges: Sequence[AnyJudge],
    cases: str,
    file_format: FileFormat | None,
    fields: Mapping[str, str],
) -> dict[str, Any]:
    """What is kept of a run, so that later commands need only the name of its file of verdicts."""
    return {
        "run": uuid4().hex[:16],
        "cases": str(Path(cases).resolve()),
        "format": file_format,
        "fields": dict(fields),
        "wanted": {**asdict(wanted), "judges": [*map(_absolute, wanted.names)]},
        "identities": _identities(judges),
        "endpoints": _endpoints(judges),
    }


@contextmanager
def open_state(out: str, *, is_new: bool = False) -> Generator[State, None, None]:
    """The state file of a run, for this process alone.

    Raises:
        StateError: `no_state`: nothing was submitted for that file; ResumeError `in_use`: another process
            has it open.
    """
    path = state_path(out)
    if not is_new and not path.is_file():
        message = f"there is no {path}: name the file that `groundjudge batch submit` got as --out"
        raise StateError("no_state", message, str(path))
    with path.open("ab") as file:
        lock(file, path)
        state = State(path)
        try:
            yield state
        finally:
            state.close()  # before `file`: closing any handle of the file gives up SQLite's own locks


def submitted(state: State, out: str) -> Submitted:
    """The run of a state file.

    Raises:
        StateError: `no_state`: it was interrupted before it was planned; `other_run`: a prompt file, the
            library or the endpoint changed since.
        PromptError, ModelError: the judges cannot be loaded.
    """
    settings = state.settings
    if "run" not in settings:
        message = f"{state.path} is empty: `groundjudge batch submit` was interrupted, run it again"
        raise StateError("no_state", message, state.path)
    judges = batch_judges(JudgeSelection(**settings["wanted"]))
    check_same_run(state, judges)
    cases, file_format, fields = settings["cases"], settings["format"], settings["fields"]
    return Submitted(state, out, judges, cases, file_format, fields, providers_of(judges))


def check_same_run(state: State, judges: Sequence[AnyJudge]) -> None:
    """Make sure that a state was made by exactly these judges, at these endpoints.

    Raises:
        StateError: `other_run`.
    """
    reasons = {
        "another judge, model or option, or a prompt file or groundjudge changed since": (
            state.settings["identities"] != _identities(judges)
        ),
        "at another endpoint: see OPENAI_BASE_URL": state.settings["endpoints"] != _endpoints(judges),
    }
    reason = next((reason for reason, is_so in reasons.items() if is_so), None)
    if reason:
        remedy = "go back to what was submitted, or choose another --out"
        message = f"{state.path} belongs to another run ({reason}): {remedy}"
        raise StateError("other_run", message, state.path)


def show_part(part: PartOfRun) -> None:
    """Print a line about a part to stderr."""
    typer.echo(f"groundjudge: {printable(line_of(part))}", err=True)


def line_of(part: PartOfRun) -> str:
    """A part in a line."""
    done = (
        f", {part.n_done:,} of {part.n_requests:,} done" if part.batch else f", {part.n_requests:,} requests"
    )
    name = f" {part.batch}" if part.batch else ""
    return f"batch {part.number}{name} ({part.model}): {part.status or part.step}{done}"


def refuse_stdin(cases: str) -> None:
    """Exit if the cases come from stdin or a pipe, which cannot be read a second time."""
    if cases == STDIO or (Path(cases).exists() and not is_kept(cases)):
        fail(f"{cases}: a submitted run reads its cases several times: pass a file")


def show_batch_usage(
    console: Console, usage: Usage, prices: Prices | None, online: Usage | None = None
) -> None:
    """Print the tokens of the batches and of what was asked online, and their cost if there are prices."""
    for where, share, spent in (("in batches", BATCH_SHARE, usage), ("online", 1.0, online)):
        if spent is None or not spent.total_tokens:
            continue
        tokens = f"tokens {where}: {spent.prompt_tokens:,} prompt, {spent.completion_tokens:,} completion"
        price = "" if share == 1 else f" at {share:.0%} of the price"
        print_text(
            console, tokens + (f", cost: {prices.times(share).of(spent):.4f}{price}" if prices else "")
        )


def _absolute(judge: str) -> str:
    """A judge's name, or the whole path of a prompt file."""
    return judge if judge in names() else str(Path(judge).resolve())


def _identities(judges: Sequence[AnyJudge]) -> dict[str, str]:
    return {judge.name: judge.identity for judge in judges}


def _endpoints(judges: Sequence[AnyJudge]) -> dict[str, str]:
    return {model.name: str(getattr(model, "endpoint", "")) for model in models_of(judges)}
