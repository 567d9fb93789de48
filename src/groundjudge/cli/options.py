"""Arguments and options that several commands share: alone, or as a group in a dataclass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeAlias, get_type_hints

import typer

from groundjudge.cli.screen import fail
from groundjudge.judging.panel import Stop
from groundjudge.judging.votes import Rule
from groundjudge.rubric.options import EmptyResponse, RubricOptions, Structured
from groundjudge.rubric.rubric import names
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import FileFormat

MODELS = (
    '"openai:MODEL" or just MODEL for any OpenAI-compatible endpoint (set OPENAI_API_KEY, and '
    "OPENAI_BASE_URL unless it is OpenAI's), "
    '"langchain:PROVIDER:MODEL" for any provider of LangChain, '
    'or "offline" for the lexical baseline (no language model, no key)'
)


def command_of(function: Callable[..., None]) -> Callable[..., None]:
    """The function as Typer reads it: each parameter that is a group becomes the options of that group.

    Args:
        function: the command; a group is a parameter whose type is a dataclass with an option in each field.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    options: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        if name in groups:
            options.extend(_options_in(groups[name]))
        else:
            options.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))

    @wraps(function)
    def command(**given: Any) -> None:  # noqa: ANN401  what the options hold
        for name, group in groups.items():
            given[name] = group(**{option.name: given.pop(option.name) for option in _options_in(group)})
        function(**given)

    command.__dict__["__signature__"] = Signature(options)  # what `inspect`, and with it Typer, looks at
    return command


def _options_in(group: Any) -> list[Parameter]:  # noqa: ANN401  a dataclass
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(group)
    ]


def judge_names(incomplete: str) -> list[str]:
    """Complete the name of a built-in judge; where none fits, the shell completes a file's name."""
    return [name for name in names() if name.startswith(incomplete)]


@dataclass(frozen=True)
class JudgeSelection:
    """The judges that the options ask for.

    Attributes:
        judge: names or prompt files; none: all built-in judges.
        model: the models' names.
        repeats: how many times each judge votes; None: it is asked once.
        panel: whether the models vote; if there is only one, the judges do.
        rule: how the scores of the votes become one; None: the default.
    """

    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A judge's name or a prompt file; repeatable. Default: all built-in judges.",
            autocompletion=judge_names,
        ),
    ] = None
    model: Annotated[
        list[str] | None,
        typer.Option(metavar="MODEL", help=f"The model; with --panel repeatable: {MODELS}."),
    ] = None
    repeats: Annotated[
        int | None,
        typer.Option(metavar="N", min=2, help="Ask each judge for up to N votes; the majority decides."),
    ] = None
    panel: Annotated[
        bool,
        typer.Option(
            "--panel",
            help="Let several --model vote, for each judge; with one --model, let several --judge vote.",
        ),
    ] = False
    rule: Annotated[
        Rule | None, typer.Option(help="How the scores of the votes become one. Default: mean.")
    ] = None
    weighted: Annotated[
        bool,
        typer.Option(
            "--weighted",
            help="Score the mean over the probabilities of the values; the endpoint must return logprobs.",
        ),
    ] = False
    structured: Annotated[
        Structured | None,
        typer.Option(
            help="When to send the schema of a JSON format: after an unreadable reply, which is the default, "
            "always, or never.",
        ),
    ] = None
    empty_response: Annotated[
        EmptyResponse,
        typer.Option(
            help="What becomes of a row whose response is missing or blank: an error, left out, or the "
            "score 0.",
        ),
    ] = "error"

    @property
    def names(self) -> list[str]:
        """The judges' names, each once."""
        return [*dict.fromkeys(self.judge or names())]

    @property
    def prompt_files(self) -> list[tuple[str, str]]:
        """The judges that are prompt files, as inputs for `check_outputs`."""
        return [("the prompt file of a judge", judge) for judge in self.names if judge not in names()]

    @property
    def rubric_options(self) -> RubricOptions:
        """The options of every rubric; what was not given is left to the rubric."""
        return {
            "weighted": self.weighted or None,
            "structured": self.structured,
            "empty_response": self.empty_response,
        }


@dataclass(frozen=True)
class RowOptions:
    """How the rows of a file of cases are read."""

    file_format: Annotated[
        FileFormat | None,
        typer.Option(
            "--format", help="The format of the file of cases. Default: by its suffix; of stdin: jsonl."
        ),
    ] = None
    paths: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="FIELD=PATH",
            help="Read a field from elsewhere in each row, as in query=inputs.question; repeatable.",
        ),
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """What becomes of an --out that exists; neither: it is an error."""

    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Continue the file --out: judge only missing rows and rows with an error."
        ),
    ] = False
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file --out if it exists.")] = (
        False
    )


@dataclass(frozen=True)
class RunLimits:
    """How many requests are in flight, and when a run ends early; the names are those of `run`."""

    concurrency: Annotated[int, typer.Option(metavar="N", min=1, help="Most requests in flight.")] = 16
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0.001, help="Time limit per verdict, with all retries and waits."
        ),
    ] = None
    max_calls: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop after this many model calls.")
    ] = None
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop once this many tokens are spent.")
    ] = None


@dataclass(frozen=True)
class PriceOptions:
    """Token prices, in any currency."""

    price_in: Annotated[
        float | None, typer.Option(metavar="PRICE", min=0, help="Price of a million prompt tokens.")
    ] = None
    price_out: Annotated[
        float | None, typer.Option(metavar="PRICE", min=0, help="Price of a million completion tokens.")
    ] = None

    @property
    def prices(self) -> Prices | None:
        """The prices, or None without them. One price alone is an error."""
        if self.price_in is None and self.price_out is None:
            return None
        if self.price_in is None or self.price_out is None:
            fail("--price-in and --price-out belong together")
        return Prices(self.price_in, self.price_out)


@dataclass(frozen=True)
class LabelOptions:
    """How people's labels are read, and what they mean."""

    label: Annotated[
        str,
        typer.Option(
            metavar="KEY",
            help="The key of the label in each row: 1 or true, 0 or false, a grade, or one value per judge.",
        ),
    ] = "label"
    group: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="The key shared by rows that are not independent, such as several passages of one claim.",
        ),
    ] = None
    label_threshold: Annotated[
        float | None, typer.Option(metavar="GRADE", help="The lowest grade that means grounded.")
    ] = None
    judge_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The judge's prompt file, where people use labels that no verdict has."
        ),
    ] = None


CasesFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="CASES",
        help='A file of cases: JSON Lines, .csv, .tsv, a .json array, or .parquet; "-" is stdin.',
    ),
]
VerdictsFile: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="VERDICTS", help='A file written by `groundjudge run`; "-" reads stdin.'),
]
StopChoice: TypeAlias = Annotated[
    Stop | None,
    typer.Option(
        help="When to stop asking for votes: once the majority is decided, which is the default, or never, "
        "which makes the mean score more precise.",
    ),
]
CacheFile: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Keep replies in this file and reuse those it already holds."),
]
JudgeFilter: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="Only this judge; repeatable. Default: all.",
        autocompletion=judge_names,
    ),
]
_LABELS = typer.Option(
    metavar="FILE", help="A file with id and label in every row; the file of cases can be that file."
)
LabelsFile: TypeAlias = Annotated[str, _LABELS]
OptionalLabelsFile: TypeAlias = Annotated[str | None, _LABELS]
Threshold: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="SCORE|FILE",
        help="The lowest score that passes, or a file written by `calibrate`. Default: as in the run.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(metavar="N", help="Seed for splits and bootstrap resamples.")]
SubmittedOut: TypeAlias = Annotated[
    str, typer.Argument(metavar="OUT", help="The file that `groundjudge batch submit` got as --out.")
]
ListedWithin: TypeAlias = Annotated[
    float,
    typer.Option(
        metavar="SECONDS",
        min=0.0,
        help="Time within which the provider lists a new batch. Before a batch is created again because no "
        "answer came, it is looked for that long.",
    ),
]
