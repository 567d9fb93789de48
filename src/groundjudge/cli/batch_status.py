"""`groundjudge batch status`: how far the batches of a run are."""

from __future__ import annotations

import typer

from groundjudge.batches.collect import note
from groundjudge.cli.options import SubmittedOut
from groundjudge.cli.screen import INCOMPLETE, fail, report_errors
from groundjudge.cli.submitted import line_of, open_state, submitted


def status(out: SubmittedOut) -> None:
    """Ask the provider how far the batches of a run are. Nothing is changed.

    Exit status: 0 if all batches have ended, 1 if not, 2 if nothing was submitted.
    """
    with report_errors(), open_state(out) as state:
        run = submitted(state, out)
        is_running = False
        for part in state.parts():
            if part.step == "created":
                batch = run.providers[part.model].batch(part.batch)
                note(state, part, batch)
                is_running = is_running or not batch.is_ended
            typer.echo(line_of(state.part(part.number)))
        if any(part.step in {"planned", "uploaded", "creating"} for part in state.parts()):
            fail("not all batches were created: run `groundjudge batch submit` again", status=INCOMPLETE)
    raise typer.Exit(INCOMPLETE if is_running else 0)
