"""Arguments and options that several commands share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from groundjudge.judging.panel import Stop
from groundjudge.judging.votes import Rule
from groundjudge.rubric.options import EmptyResponse, Structured
from groundjudge.rubric.rubric import names
from groundjudge.runs.rows import FileFormat

MODELS = (
    '"openai:MODEL" or just MODEL for any OpenAI-compatible endpoint (set OPENAI_API_KEY, and '
    "OPENAI_BASE_URL unless it is OpenAI's), "
    '"langchain:PROVIDER:MODEL" for any provider of LangChain, '
    'or "offline" for the lexical baseline (no language model, no key)'
)


def judge_names(incomplete: str) -> list[str]:
    """Complete the name of a built-in judge; where none fits, the shell completes a file's name."""
    return [name for name in names() if name.startswith(incomplete)]


CasesFile: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="CASES",
        help='A file of cases: JSON Lines, .csv, .tsv, a .json array, or .parquet; "-" is stdin.',
    ),
]
FormatChoice: TypeAlias = Annotated[
    FileFormat | None,
    typer.Option(
        "--format", help="The format of the file of cases. Default: by its suffix; of stdin: jsonl."
    ),
]
FieldPaths: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--fields",
        metavar="FIELD=PATH",
        help="Read a field from elsewhere in each row, as in query=inputs.question; repeatable.",
    ),
]
JudgeNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A judge's name or a prompt file; repeatable. Default: all built-in judges.",
        autocompletion=judge_names,
    ),
]
ModelNames: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="MODEL", help=f"The model; with --panel repeatable: {MODELS}."),
]
RepeatsCount: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--repeats", metavar="N", min=2, help="Ask each judge for up to N votes; the majority decides."
    ),
]
PanelFlag: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--panel",
        help="Let several --model vote, for each judge; with one --model, let several --judge vote.",
    ),
]
RuleChoice: TypeAlias = Annotated[
    Rule | None,
    typer.Option("--rule", help="How the scores of the votes become one. Default: mean."),
]
StopChoice: TypeAlias = Annotated[
    Stop | None,
    typer.Option(
        "--stop",
        help="When to stop asking for votes: once the majority is decided, which is the default, or never, "
        "which makes the mean score more precise.",
    ),
]
WeightedFlag: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--weighted",
        help="Score the mean over the probabilities of the values; the endpoint must return logprobs.",
    ),
]
StructuredChoice: TypeAlias = Annotated[
    Structured | None,
    typer.Option(
        "--structured",
        help="When to send the schema of a JSON format: after an unreadable reply, which is the default, "
        "always, or never.",
    ),
]
EmptyResponseChoice: TypeAlias = Annotated[
    EmptyResponse,
    typer.Option(
        "--empty-response",
        help="What becomes of a row whose response is missing or blank: an error, left out, or the score 0.",
    ),
]
Concurrency: TypeAlias = Annotated[int, typer.Option(metavar="N", min=1, help="Most requests in flight.")]
ResumeFlag: TypeAlias = Annotated[
    bool,
    typer.Option("--resume", help="Continue the file --out: judge only missing rows and rows with an error."),
]
OverwriteFlag: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace the file --out if it exists.")
]
Deadline: TypeAlias = Annotated[
    float | None,
    typer.Option(metavar="SECONDS", min=0.001, help="Time limit per verdict, with all retries and waits."),
]
MaxCalls: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Stop after this many model calls.")
]
MaxTokens: TypeAlias = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Stop once this many tokens are spent.")
]
CacheFile: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="PATH", help="Keep replies in this file and reuse those it already holds."),
]
PriceIn: TypeAlias = Annotated[
    float | None, typer.Option(metavar="PRICE", min=0, help="Price of a million prompt tokens.")
]
PriceOut: TypeAlias = Annotated[
    float | None, typer.Option(metavar="PRICE", min=0, help="Price of a million completion tokens.")
]

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

VerdictsFile: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="VERDICTS", help='A file written by `groundjudge run`; "-" reads stdin.'),
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
    "--labels",
    metavar="FILE",
    help="A file with id and label in every row; the file of cases can be that file.",
)
LabelsFile: TypeAlias = Annotated[str, _LABELS]
OptionalLabelsFile: TypeAlias = Annotated[str | None, _LABELS]
LabelKey: TypeAlias = Annotated[
    str,
    typer.Option(
        "--label",
        metavar="KEY",
        help="The key of the label in each row: 1 or true, 0 or false, a grade, or one value per judge.",
    ),
]
GroupKey: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="KEY",
        help="The key shared by rows that are not independent, such as several passages of one claim.",
    ),
]
LabelThreshold: TypeAlias = Annotated[
    float | None,
    typer.Option("--label-threshold", metavar="GRADE", help="The lowest grade that means grounded."),
]
Threshold: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="SCORE|FILE",
        help="The lowest score that passes, or a file written by `calibrate`. Default: as in the run.",
    ),
]
Seed: TypeAlias = Annotated[
    int, typer.Option("--seed", metavar="N", help="Seed for splits and bootstrap resamples.")
]
