"""The command line: judge a file of cases, list the judges, show what a judge asks."""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from groundjudge.case import Case
from groundjudge.cli.analysis import agree, calibrate, compare, report
from groundjudge.cli.estimate import CasesFile, JudgeNames, PriceIn, PriceOut, estimate, prices_of
from groundjudge.cli.outcome import Outcome, show_case, show_course, show_errors, show_summaries
from groundjudge.cli.terminal import console_of, errors_told, fail, printable, tell
from groundjudge.errors import CaseError
from groundjudge.judge import Judge, load
from groundjudge.models.cached import CachedModel
from groundjudge.models.lookup import as_model
from groundjudge.rubric import names
from groundjudge.runs.file_run import Rows, judge_rows
from groundjudge.runs.resume import Earlier, take_up
from groundjudge.runs.rows import STDIN, read_rows
from groundjudge.runs.run import case_of, id_of
from groundjudge.runs.run import run as run_all
from groundjudge.version import __version__

SOME_FAILED = 1
"""The exit status where rows are missing from the result."""

MODELS = (
    '"openai:MODEL" or MODEL alone (any OpenAI-compatible endpoint: OPENAI_API_KEY, and OPENAI_BASE_URL '
    'where it is not OpenAI\'s) or "offline" (no model and no key)'
)

EXAMPLE = Case(
    query="When will I get my refund?",
    response="Your refund arrives within five business days.",
    context=[
        {"title": "Refund policy", "content": "Refunds arrive within five business days of the return."},
        {"title": "Tool Result: get_return", "content": {"return": 1042, "received": "2024-05-06"}},
    ],
    reference="Refunds arrive within five business days of the day on which the return is received.",
    conversation=[
        {"role": "user", "content": "Good evening! Who am I talking to?"},
        {"role": "assistant", "content": "Ada, at the desk of the Harbour Hotel."},
    ],
    profile="Ada has worked at the desk of the Harbour Hotel for six years. She knows every tram line.",
    agent_name="Ada",
    answers=["Five business days at most.", "Within five business days of the return."],
    id="example",
)

app = typer.Typer(
    name="groundjudge",
    help="LLM judges of grounding and hallucination.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: quick, and whole on any terminal
)


def _version(wanted: bool) -> None:  # noqa: FBT001  how the option calls it
    if wanted:
        typer.echo(f"groundjudge {__version__}")
        raise typer.Exit


@app.callback()
def main(
    *,
    version: Annotated[  # noqa: ARG001  its callback does it
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """LLM judges of grounding and hallucination."""
    csv.field_size_limit(2**31 - 1)  # a context may well be longer than the 128 KiB that a cell has else
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal of another encoding gets what it can show
            stream.reconfigure(errors="backslashreplace")


@app.command()
def run(  # noqa: PLR0913  one per option
    cases: CasesFile,
    *,
    judge: JudgeNames = None,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help=f"The model: {MODELS}.")] = None,
    out: Annotated[
        str,
        typer.Option(metavar="PATH", help='Where the verdicts go, one JSON object per line; "-" is stdout.'),
    ] = STDIN,
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many verdicts are asked for at a time.")
    ] = 16,
    min_coverage: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="The share of rows due a score that must have one, for every judge.",
        ),
    ] = 1.0,
    full: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CASE_ID", help='Print this case\'s verdicts in full; repeatable. "row 3" without an id.'
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Go on with the file --out: judge what is not there, or there as an error."
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin the file --out anew, whatever it holds.")
    ] = False,
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0.001, help="The time for one verdict, all tries and waits included."
        ),
    ] = None,
    max_calls: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop after so many calls of the model.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop once so many tokens are spent.")
    ] = None,
    price_in: PriceIn = None,
    price_out: PriceOut = None,
    cache: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Keep replies in this file, and do not ask again for what is in it."
        ),
    ] = None,
) -> None:
    """Judge every case of a file with every judge, and sum up.

    A row may name the judges that apply to it (`judges`). A row that lacks what a judge needs is counted
    as missing, not as an error.

    A run that was killed, or stopped because a quota or a budget is used up, goes on with --resume.

    Exit status: 0; 1 when a judge's coverage is below --min-coverage, a row could not be read or the run
    was stopped; 2 when no row could be read, nothing could be judged or the arguments are wrong.
    """
    with errors_told():
        prices = prices_of(price_in, price_out)
        crew = _judges(judge or names(), model, cache)
        _check_paths(cases, out)
        rows = Rows(cases, frozenset(full or ()))
        with _earlier(out, crew, resume=resume, overwrite=overwrite) as earlier:
            judging = partial(
                run_all,
                crew,
                concurrency=concurrency,
                deadline=deadline,
                max_calls=max_calls,
                max_tokens=max_tokens,
                previous=earlier,
            )
            outcome = judge_rows(rows, judging, [judge.name for judge in crew], out, earlier)
        console = console_of(to_stderr=out == STDIN)
        if rows.n_read:
            show_summaries(console, outcome.tally.summaries())
        show_errors(console, outcome)
        show_course(console, outcome, earlier, prices)
        for case_id in dict.fromkeys(full or ()):
            show_case(console, case_id, outcome.in_full.get(case_id, []), rows.sources(case_id))
        if not rows.n_read:
            fail(
                f"{cases}: no row could be read; rows are JSON objects, one per line, or those of a .csv file"
            )
        counts = outcome.tally.summaries()
        if any(one.n_missing for one in counts) and not any(one.n > one.n_missing for one in counts):
            fail(f"{cases}: nothing was judged: see above what the rows lack")
        if outcome.stopped:
            told = "" if out == STDIN else f"; what is done is in {out}, --resume goes on"
            fail(f"stopped: {outcome.stopped}{told}", status=SOME_FAILED)
        raise typer.Exit(_status(outcome, min_coverage))


@app.command()
def judges() -> None:
    """List the judges that come along, with their scales and inputs."""
    with errors_told():
        listed = [load(name, model=_no_model) for name in names()]
    console = console_of()
    for one in listed:
        tell(console, one.name, style="bold")
        tell(console, f"scale: {one.rubric.scale}", margin=2)
        tell(console, f"inputs: {_inputs(one)}", margin=2)
        tell(console, one.rubric.prompt.description, margin=2)


@app.command()
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A judge's name or a prompt file.")],
    *,
    cases: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file of cases to take the case from.")
    ] = None,
    case: Annotated[
        str | None, typer.Option(metavar="ID", help="The case's id in that file; without it the first case.")
    ] = None,
) -> None:
    """Print what a judge would send to a model for a case: an example's, or one of a file."""
    with errors_told():
        if case is not None and cases is None:
            fail("--case needs --cases: the file that the case is in")
        shown = EXAMPLE if cases is None else _case_in(cases, case)
        request = load(name, model=_no_model).rubric.ask(shown)
    for message in request.messages:
        content = message["content"]
        typer.echo(f"{message['role']}:\n{printable(content) if sys.stdout.isatty() else content}\n")
    typer.echo(f"parameters: {json.dumps(dict(request.parameters), ensure_ascii=False)}")


for _command in (estimate, agree, calibrate, compare, report):
    app.command()(_command)


def _judges(wanted: Sequence[str], model: str | None, cache: str | None) -> list[Judge]:
    if not model:
        fail(f"no model: give --model, which can be {MODELS}")
    shared = CachedModel(as_model(model), cache) if cache else as_model(model)
    crew = [load(name, model=shared) for name in dict.fromkeys(wanted)]
    twice = [name for name, count in Counter(judge.name for judge in crew).items() if count > 1]
    if twice:
        fail(f"two judges are called {twice[0]!r}: their verdicts could not be told apart")
    return crew


def _no_model(_: object) -> NoReturn:
    """The model of judges that are looked at and never ask."""
    raise NotImplementedError


def _check_paths(cases: str, out: str) -> None:
    """Make sure that the cases can be read, and that writing does not overwrite them."""
    if cases != STDIN and not Path(cases).is_fifo():
        Path(cases).open("rb").close()
    if STDIN not in {cases, out} and Path(out).exists() and Path(out).samefile(cases):
        fail(f"--out {out} is the file of the cases")
    if out != STDIN and not Path(out).parent.is_dir():
        fail(f"--out {out}: there is no folder {Path(out).parent}")


def _earlier(
    out: str, crew: Sequence[Judge], *, resume: bool, overwrite: bool
) -> AbstractContextManager[Earlier | None]:
    """What is in the file already, if the run is to go on with it."""
    if resume and (overwrite or out == STDIN):
        fail("--resume goes on with the file --out" + (", --overwrite begins it anew" if overwrite else ""))
    if out == STDIN or not Path(out).is_file() or not Path(out).stat().st_size:
        return nullcontext()
    if not resume and not overwrite:
        fail(f"--out {out} is there already: --resume goes on with it, --overwrite begins it anew")
    return closing(take_up(Path(out), crew)) if resume else nullcontext()


def _status(outcome: Outcome, min_coverage: float) -> int:
    below = [one for one in outcome.tally.summaries() if one.coverage < min_coverage]
    return SOME_FAILED if below or outcome.n_unreadable else 0


def _case_in(path: str, case_id: str | None) -> Case:
    """The case of that id in a file, or the file's first."""
    rows = ((number, row) for number, row in enumerate(read_rows(path), 1) if not isinstance(row, CaseError))
    found = next(((number, row) for number, row in rows if case_id in {None, id_of(row, number)}), None)
    if found is None:
        fail(f"{path} has no case" if case_id is None else f"{path} has no case called {case_id!r}")
    number, row = found
    return case_of(row, number)


def _inputs(judge: Judge) -> str:
    notes = {(True, False): "", (True, True): " (may be empty)"}
    inputs = judge.inputs
    return ", ".join(
        each.name + notes.get((each.required, each.may_be_empty), " (optional)") for each in inputs
    )


if __name__ == "__main__":
    app()
