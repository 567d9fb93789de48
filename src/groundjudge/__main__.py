"""`python -m groundjudge`: the command line, where the script `groundjudge` is not on the path."""

from groundjudge.cli.app import app

app(prog_name="groundjudge")
