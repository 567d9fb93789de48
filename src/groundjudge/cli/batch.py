"""`groundjudge batch`: its commands, put together."""

from __future__ import annotations

import typer

from groundjudge.cli.batch_cancel import cancel
from groundjudge.cli.batch_collect import collect
from groundjudge.cli.batch_read import read
from groundjudge.cli.batch_status import status
from groundjudge.cli.batch_submit import submit
from groundjudge.cli.batch_write import write
from groundjudge.cli.options import command_of

COMMANDS = (submit, status, collect, cancel, write, read)
"""In the order of `groundjudge batch --help`."""

batch = typer.Typer(
    name="batch",
    help="Judge in a provider's batches, at half price and within a day; or write and read batch files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
for _command in COMMANDS:
    batch.command()(command_of(_command))
