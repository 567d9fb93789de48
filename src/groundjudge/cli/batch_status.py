"""`groundjudge batch status`: how far the batches of a run are."""

from __future__ import annotations

import typer

from groundjudge.cli.options import SubmittedOut
from groundjudge.cli.screen import INCOMPLETE, report_errors
from groundjudge.cli.submitted import line_of, open_state, submitted


def status(out: SubmittedOut) -> None:
    """Ask the provider how far the batches of a run are. Nothing is changed.

    Exit status: 0 if all batches have ended, 1 if not, 2 if nothing was submitted.
    """
    with report_errors(), open_state(out) as state:
        run = submitted(state, out)
        has_ended = True
        for part in state.parts():
            message = ""
            if part.step == "created":
                batch = run.providers[part.model].batch(part.batch)
                state.note(part, batch.status, batch.n_done)
                has_ended, message = has_ended and batch.is_ended, batch.message
            elif part.step != "collected":
                has_ended, message = False, "not submitted yet: run `groundjudge batch submit` again"
            now = state.parts()[part.number - 1]
            typer.echo(f"{line_of(now)}{message and f': {message}'}")
    raise typer.Exit(0 if has_ended else INCOMPLETE)
