"""The pages that commands write, never over a file that is something else."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from groundjudge.cli.screen import fail
from groundjudge.files import is_nonempty_file, replace_file
from groundjudge.lab.template import is_page

PageOut = Annotated[
    str,
    typer.Option("--out", "-o", metavar="PATH", help="Write the page to this file."),
]


def write_page(path: str, html: str) -> int:
    """Write a page, replacing an older one, and return its size in bytes."""
    with replace_file(Path(path)) as file:
        return file.write(html.encode())


def check_page(path: str) -> None:
    """Exit if a page would overwrite a file that is not a page of this library."""
    # A page can be made again from other files; any other file with that name may be the only copy.
    if is_nonempty_file(path) and not is_page(path):
        remedy = "it is not a groundjudge page: choose another file"
        fail(f"--out {path} already exists, and {remedy}")
