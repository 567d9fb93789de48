"""`groundjudge batch cancel`: stop the batches of a run."""

from __future__ import annotations

import typer

from groundjudge.batches.collect import note
from groundjudge.cli.options import SubmittedOut
from groundjudge.cli.screen import report_errors
from groundjudge.cli.submitted import line_of, open_state, submitted


def cancel(out: SubmittedOut) -> None:
    """Ask the provider to stop the batches of a run that have not ended.

    What was answered by then is paid: `groundjudge batch collect` still makes verdicts of it, and
    `collect --finish online` asks for the rest.
    """
    with report_errors(), open_state(out) as state:
        run = submitted(state, out)
        for part in state.parts():
            if part.step != "created":
                continue
            provider = run.providers[part.model]
            batch = provider.batch(part.batch)
            if not batch.is_ended:
                batch = provider.cancel(part.batch)
            note(state, part, batch)
            typer.echo(line_of(state.part(part.number)))
