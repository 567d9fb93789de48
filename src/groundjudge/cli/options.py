"""The options that several commands share: each is declared once, in a group of related options."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from groundjudge.case.fields import Fields
from groundjudge.case.paths import FieldPaths
from groundjudge.cli.screen import fail, report_errors
from groundjudge.errors import CaseError
from groundjudge.judging.panel import AnyJudge
from groundjudge.rubric.load import names
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import CaseFile, FileFormat, FileRow
from groundjudge.runs.run import CONCURRENCY
from groundjudge.text.patterns import compile_when_used

UTF_8 = "utf-8"
"""The encoding of files for which no other is named."""

NEXT_ASSIGNMENT = compile_when_used(r",(?=\s*\w+=)")
"""The comma between two fields and their paths."""


def as_command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make a command of a function, whose errors are reported on one line.

    For a dataclass that the function takes, the command has an option for each field: Typer has no groups.
    """
    parameters = list(_parameters_of(function))

    def call(**values: Any) -> None:  # noqa: ANN401  what Typer read
        with report_errors():
            _call(function, values)

    # What Typer reads of a function: its help, and its parameters, in place of **values.
    call.__doc__ = function.__doc__
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(call)["__signature__"] = Signature(parameters)
    return call


def _parameters_of(function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the parameters of a function, and in place of a group the fields of that."""
    for parameter in signature(function, eval_str=True).parameters.values():
        if _is_group(parameter):
            for field in _parameters_of(parameter.annotation):
                yield field.replace(kind=Parameter.KEYWORD_ONLY)
        else:
            yield parameter


def _call(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:  # noqa: ANN401  what it returns
    """Call a function with those of the values that it takes, and with groups that are made of them."""
    arguments: dict[str, Any] = {}
    for name, parameter in signature(function, eval_str=True).parameters.items():
        if _is_group(parameter):
            arguments[name] = _call(parameter.annotation, values)
        else:
            arguments[name] = values[name]
    return function(**arguments)


def _is_group(parameter: Parameter) -> bool:
    return is_dataclass(parameter.annotation)


def complete_judge(incomplete: str) -> list[str]:
    """Complete the name of a built-in judge; if none fits, the shell completes a file name."""
    return [name for name in names() if name.startswith(incomplete)]


Cases = Annotated[
    str,
    typer.Argument(
        metavar="CASES",
        help='JSON Lines, JSON, CSV, TSV (also .gz) or Parquet; "-" is stdin.',
    ),
]
Verdicts = Annotated[
    str,
    typer.Argument(metavar="VERDICTS", help='A file written by `groundjudge run`; "-" reads stdin.'),
]

KeepWords = Annotated[
    bool,
    typer.Option("--keep-words", help='Read "None", "null" and the like in a table as text.'),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace --out if it exists."),
]


# A switch names its flag: of a bool without one, Typer would make a second flag, --no-...
@dataclass(frozen=True)
class RowOptions:
    """How the rows of a file of cases are read."""

    file_format: Annotated[
        FileFormat | None,
        typer.Option(
            "--format", metavar="FORMAT", help="jsonl, json, csv, tsv or parquet. Default: by the suffix."
        ),
    ] = None
    paths: Annotated[
        list[str] | None,
        typer.Option(
            "--fields",
            metavar="FIELD=PATH",
            help="Where fields are, as in query=inputs.question,context=facts.",
        ),
    ] = None
    encoding: Annotated[
        str,
        typer.Option("--encoding", metavar="NAME", help="The file's encoding, such as cp1252."),
    ] = UTF_8
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", min=1, help="Read only the first N rows."),
    ] = None
    rows: Annotated[
        str | None,
        typer.Option(
            "--rows", metavar="PATH", help="Where the rows are in a JSON object, as in results.results."
        ),
    ] = None
    keep_words: KeepWords = False

    def field_paths(self, judges: Iterable[AnyJudge | Rubric] | None = None) -> FieldPaths:
        """Read the paths of fields that are elsewhere. Exit if one is malformed, or names an unknown field.

        Args:
            judges: the judges of the cases: their own inputs are fields too. None: unknown, so a name that
                resembles no field may be one of their inputs.
        """
        paths: dict[str, str] = {}
        assignments: list[str] = []
        for text in self.paths or ():
            assignments += NEXT_ASSIGNMENT.split(text)
        for assignment in assignments:
            name, _, path = assignment.partition("=")
            name = name.strip()
            path = path.strip()
            if not path:
                fail(f"--fields {assignment}: expected FIELD=PATH, such as --fields query=inputs.question")
            if name in paths:  # a dictionary would silently keep the last one
                fail(f"--fields {assignment}: {name} is already read from {paths[name]}: leave one out")
            paths[name] = path
        # Without judges a name that resembles no field is let through; with them it is an error.
        inputs: list[str] | None = None
        if judges is not None:
            inputs = []
            for judge in judges:
                inputs += [prompt_input.name for prompt_input in judge.inputs]
        try:
            return Fields.of(paths, inputs).paths
        except CaseError as error:
            fail(f"--fields: {error.message}")

    def case_file(
        self,
        cases: str,
        judges: Iterable[AnyJudge | Rubric] | None = None,
        kept_ids: Iterable[str] | None = None,
    ) -> CaseFile:
        """Make the file of cases for the judges, see `field_paths`; rows with these ids are kept."""
        return CaseFile(
            cases,
            self.file_format,
            self.field_paths(judges),
            self.encoding,
            self.limit,
            array=self.rows,
            keep_words=self.keep_words,
            kept_ids=frozenset(kept_ids or ()),
        )

    def read(self, path: str, judges: Iterable[AnyJudge | Rubric] | None = None) -> Iterator[FileRow]:
        """Read the rows of a file as the options say; `judges` as for `field_paths`."""
        return self.case_file(path, judges).rows()


@dataclass(frozen=True)
class OutputOptions:
    """What happens to an existing --out; with neither option it is an error."""

    resume: Annotated[
        bool,
        typer.Option("--resume", help="Judge only what --out lacks, and rows with an error."),
    ] = False
    overwrite: Overwrite = False


@dataclass(frozen=True)
class RunLimits:
    """How many requests are in flight, and when a run ends early; the names are those of `run`."""

    concurrency: Annotated[
        int,
        typer.Option("--concurrency", metavar="N", min=1, help="Maximum number of requests at a time."),
    ] = CONCURRENCY
    deadline: Annotated[
        float | None,
        typer.Option(
            "--deadline",
            metavar="SECONDS",
            min=0.001,
            help="Time limit per verdict, including retries and waits.",
        ),
    ] = None
    max_calls: Annotated[
        int | None,
        typer.Option("--max-calls", metavar="N", min=1, help="Stop after this many model calls."),
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", metavar="N", min=1, help="Stop once this many tokens are spent."),
    ] = None


CacheFile = Annotated[
    str | None,
    typer.Option("--cache", metavar="PATH", help="Reuse the replies in this file, and save new ones to it."),
]
Price = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="IN,OUT", help="Prices per million tokens; a third is for cached prompt tokens."
    ),
]


def prices_of(price: str | None) -> Prices | None:
    """Read token prices, in any currency: "0.4,1.6" -> Prices(0.4, 1.6). Exit if they are not prices."""
    if price is None:
        return None
    try:
        prices = [float(part) for part in price.split(",")]
        return Prices(*prices)
    except (TypeError, ValueError):  # one price, or four; a word, or a price below 0
        fail(f"--price {price}: expected IN,OUT or IN,OUT,CACHED per million tokens, such as --price 0.4,1.6")


def flags_of(group: Any) -> list[str]:  # noqa: ANN401  one of the dataclasses of options
    """Name the flags of a group whose values differ from their defaults, such as ["--limit"]."""
    types = get_type_hints(group.__class__, include_extras=True)
    flags: list[str] = []
    for field in fields(group):
        if getattr(group, field.name) != field.default:
            (option,) = types[field.name].__metadata__
            flags.append(option.default)  # where Typer has the first word of an annotated option
    return flags


def refuse_without(path: str | None, file_option: str, flags: Sequence[str]) -> None:
    """Exit if options were given, but not the file that they apply to.

    Args:
        path: the file's path, if it was given.
        file_option: the option that gives it.
        flags: the options that were given, as from `flags_of`.
    """
    if path is None and flags:
        fail(f"{', '.join(flags)}: add {file_option} FILE, the file that this applies to")
