"""The options that several commands share, and the small groups of them that mean something together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from groundjudge.case.fields import Fields, field_of
from groundjudge.case.paths import FieldPaths
from groundjudge.cli.screen import fail
from groundjudge.errors import CaseError
from groundjudge.judging.cascade import By
from groundjudge.judging.panel import AnyJudge, Rule, Stop
from groundjudge.lab.labels import Unscored
from groundjudge.rubric.load import names
from groundjudge.rubric.options import EmptyResponse, Structured
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import CaseFile, FileFormat, FileRow, read_rows
from groundjudge.text.patterns import compile_when_used

UTF_8 = "utf-8"
"""The encoding of files for which no other is named."""

MODELS_HELP = (
    '"openai:MODEL" or just MODEL for any OpenAI-compatible endpoint (set OPENAI_API_KEY, and '
    "OPENAI_BASE_URL unless it is OpenAI's), "
    '"langchain:PROVIDER:MODEL" for any provider of LangChain, '
    'or "offline" for the judge that calls no language model and needs no key'
)
LABELS_HELP = "A file with id and label in every row; the file of cases can be that file."

FURTHER_NAME = compile_when_used(r",\s*(?P<name>\w+)=")
"""What looks like another assignment in the text of one."""


def complete_judge(incomplete: str) -> list[str]:
    """Complete the name of a built-in judge; where none fits, the shell completes a file's name."""
    return [name for name in names() if name.startswith(incomplete)]


# --- what is judged -------------------------------------------------------------------------------

Cases = Annotated[
    str,
    typer.Argument(
        metavar="CASES",
        help='A file of cases: JSON Lines, .csv, .tsv, a .json array, or .parquet; "-" is stdin.',
    ),
]
Verdicts = Annotated[
    str,
    typer.Argument(metavar="VERDICTS", help='A file written by `groundjudge run`; "-" reads stdin.'),
]

# --- who judges, see `JudgeSelection` -------------------------------------------------------------

# A switch names its flag: of a bool without one, Typer would make a second flag, --no-...
JudgeNames = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        autocompletion=complete_judge,
        help="A judge's name or a prompt file; repeatable. Default: all built-in judges.",
    ),
]
ModelNames = Annotated[
    list[str] | None,
    typer.Option(
        "--model", "-m", metavar="MODEL", help=f"The model; with --panel repeatable: {MODELS_HELP}."
    ),
]
Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats", metavar="N", min=2, help="Ask each judge for up to N votes; the majority decides."
    ),
]
Panel = Annotated[
    bool,
    typer.Option(
        "--panel",
        help="Let several --model vote, for each judge; with one --model, let several --judge vote.",
    ),
]
VoteRule = Annotated[
    Rule | None,
    typer.Option("--rule", help="How the scores of the votes become one. Default: mean."),
]
CascadeModels = Annotated[
    list[str] | None,
    typer.Option(
        "--cascade",
        metavar="MODEL",
        help="Ask this cheaper model first, and --model only where it is not sure; repeatable, the cheapest "
        "first. Needs --until.",
    ),
]
UntilBounds = Annotated[
    list[str] | None,
    typer.Option(
        "--until",
        metavar="LOW,HIGH",
        help="With --cascade: its verdict stands where its score is at most LOW or at least HIGH, as "
        '`groundjudge calibrate --cascade` finds them; "none" for an end where it never does. Once, or once '
        "for each --cascade.",
    ),
]
UntilBy = Annotated[
    By | None,
    typer.Option(
        "--until-by",
        help="With --cascade: what --until is compared with: the score, which is the default, or the "
        "probability that the verdict passes.",
    ),
]
NotApplicableStands = Annotated[
    bool,
    typer.Option(
        "--not-applicable-stands",
        help='With --cascade: "not applicable" of the cheaper model may stand.',
    ),
]
Weighted = Annotated[
    bool | None,
    typer.Option(
        "--weighted/--unweighted",
        help="Score the mean over the values' probabilities, for which the endpoint must return logprobs; or "
        "the value alone, also where a judge states how probable each value is. Default: what the judge's "
        "file says.",
    ),
]
StructuredReplies = Annotated[
    Structured | None,
    typer.Option(
        "--structured",
        help="When to send the schema of a JSON format: after an unreadable reply, which is the default, "
        "always, or never.",
    ),
]
EmptyResponses = Annotated[
    EmptyResponse,
    typer.Option(
        "--empty-response",
        help="What becomes of a row whose response is missing or blank: an error, left out, or the score 0.",
    ),
]
NoToolTitles = Annotated[
    bool,
    typer.Option(
        "--no-tool-titles",
        help='Take no document for a tool result because of a title such as "Tool Result: get_order".',
    ),
]
MayBeEmpty = Annotated[
    list[str] | None,
    typer.Option(
        "--may-be-empty",
        metavar="INPUT",
        help="Accept a blank value of this input, such as the context where a search finds nothing, of each "
        "judge that has it; repeatable.",
    ),
]
JudgeThreshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        metavar="SCORE",
        min=0,
        max=1,
        help="The lowest score, 0..1, that passes, of each judge. Default: what the judge's file says.",
    ),
]
RequestParameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        metavar="NAME=VALUE",
        help="Send this parameter with each request, such as temperature=0 or max_tokens=2000; repeatable.",
    ),
]
VoteStop = Annotated[
    Stop | None,
    typer.Option(
        "--stop",
        help="When to stop asking for votes: once the majority is decided, which is the default, or never, "
        "which makes the mean score more precise.",
    ),
]

# --- how rows are read ----------------------------------------------------------------------------

RowFormat = Annotated[
    FileFormat | None,
    typer.Option(
        "--format", help="The format of the file of cases. Default: by its suffix; of stdin: jsonl."
    ),
]
RowFields = Annotated[
    list[str] | None,
    typer.Option(
        "--fields",
        metavar="FIELD=PATH",
        help="Read a field from elsewhere in each row, as in query=inputs.question; repeatable.",
    ),
]
RowEncoding = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="The encoding of the file, such as cp1252."),
]
RowLimit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", min=1, help="Read only the first N rows."),
]

KeepWords = Annotated[
    bool,
    typer.Option(
        "--keep-words",
        help='Read "None", "null", "nan" and the like in the cells of a table as text, not as no value.',
    ),
]


@dataclass(frozen=True)
class RowOptions:
    """How the rows of a file of cases are read.

    Attributes:
        file_format: the format of the file; None: by its suffix.
        paths: assignments FIELD=PATH, for fields that stand elsewhere in a row.
        encoding: the encoding of the file.
        limit: how many rows are read at most; None: all.
        keep_words: whether words such as "None" are text in a table.
    """

    file_format: FileFormat | None = None
    paths: list[str] | None = None
    encoding: str = UTF_8
    limit: int | None = None
    keep_words: bool = False

    @property
    def flags(self) -> list[str]:
        """The options that differ from their defaults, for `refuse_without`."""
        flags: list[str] = []
        if self.file_format is not None:
            flags.append("--format")
        if self.paths is not None:
            flags.append("--fields")
        if self.encoding != UTF_8:
            flags.append("--encoding")
        if self.limit is not None:
            flags.append("--limit")
        if self.keep_words:
            flags.append("--keep-words")
        return flags

    def field_paths(self, judges: Iterable[AnyJudge | Rubric] | None = None) -> FieldPaths:
        """Read the paths of fields that stand elsewhere. Exit if one is malformed, or names no field.

        Args:
            judges: who will judge the cases: their own inputs are fields too. None: not known, so that a
                name that resembles no field can be an input of theirs.
        """
        paths: dict[str, str] = {}
        for assignment in self.paths or ():
            name, _, path = assignment.partition("=")
            name = name.strip()
            path = path.strip()
            if not path:
                fail(f"--fields {assignment}: expected FIELD=PATH, such as --fields query=inputs.question")
            fail_if_several("--fields", assignment, field_of)
            if name in paths:  # a dictionary would keep the last one, and nobody would notice
                fail(f"--fields {assignment}: {name} is already read from {paths[name]}: leave one out")
            paths[name] = path
        inputs: list[str] | None = None
        if judges is not None:
            inputs = []
            for judge in judges:
                for rubric in judge.rubrics:
                    inputs += [prompt_input.name for prompt_input in rubric.inputs]
        try:
            return Fields.of(paths, inputs).paths
        except CaseError as error:
            fail(f"--fields: {error.message}")

    def case_file(
        self, cases: str, judges: Iterable[AnyJudge], kept_ids: Iterable[str] | None = None
    ) -> CaseFile:
        """Make the file of cases for the judges; the rows with these ids are kept."""
        return CaseFile(
            cases,
            frozenset(kept_ids or ()),
            self.file_format,
            self.field_paths(judges),
            self.encoding,
            self.limit,
            keep_words=self.keep_words,
        )

    def read(self, path: str, judges: Iterable[AnyJudge | Rubric] | None = None) -> Iterator[FileRow]:
        """Read the rows of a file as the options say; `judges` as for `field_paths`."""
        return read_rows(
            path,
            self.file_format,
            self.field_paths(judges),
            self.encoding,
            self.limit,
            keep_words=self.keep_words,
        )


# --- where verdicts go ----------------------------------------------------------------------------

Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue the file --out: judge only missing rows and rows with an error."),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace the file --out if it exists."),
]


@dataclass(frozen=True)
class OutputOptions:
    """What becomes of an --out that exists; neither: it is an error.

    Attributes:
        resume: whether the run continues it.
        overwrite: whether the run replaces it.
    """

    resume: bool = False
    overwrite: bool = False


# --- when a run ends ------------------------------------------------------------------------------

Concurrency = Annotated[
    int,
    typer.Option("--concurrency", metavar="N", min=1, help="Most requests in flight."),
]
Deadline = Annotated[
    float | None,
    typer.Option(
        "--deadline",
        metavar="SECONDS",
        min=0.001,
        help="Time limit per verdict, with all retries and waits.",
    ),
]
MaxCalls = Annotated[
    int | None,
    typer.Option("--max-calls", metavar="N", min=1, help="Stop after this many model calls."),
]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", metavar="N", min=1, help="Stop once this many tokens are spent."),
]
CacheFile = Annotated[
    str | None,
    typer.Option(
        "--cache", metavar="PATH", help="Keep replies in this file and reuse those it already holds."
    ),
]
CONCURRENCY = 16
"""The usual limit of the requests in flight."""


@dataclass(frozen=True)
class RunLimits:
    """How many requests are in flight, and when a run ends early; the names are those of `run`.

    Attributes:
        concurrency: how many requests are in flight at most.
        deadline: the time limit of a verdict, in seconds; None: none.
        max_calls: after how many calls the run stops; None: no limit.
        max_tokens: after how many tokens the run stops; None: no limit.
    """

    concurrency: int = CONCURRENCY
    deadline: float | None = None
    max_calls: int | None = None
    max_tokens: int | None = None


# --- what it costs --------------------------------------------------------------------------------

PriceIn = Annotated[
    float | None,
    typer.Option("--price-in", metavar="PRICE", min=0, help="Price of a million prompt tokens."),
]
PriceOut = Annotated[
    float | None,
    typer.Option("--price-out", metavar="PRICE", min=0, help="Price of a million completion tokens."),
]
PriceCached = Annotated[
    float | None,
    typer.Option(
        "--price-cached",
        metavar="PRICE",
        min=0,
        help="Price of a million prompt tokens from the provider's cache; by default, as others.",
    ),
]


def prices_of(
    price_in: float | None, price_out: float | None, price_cached: float | None = None
) -> Prices | None:
    """Make the prices of tokens, in any currency; None without them. Exit if one is missing."""
    if price_in is None and price_out is None:
        if price_cached is not None:
            fail("--price-cached is the price of a part of the prompts: add --price-in and --price-out")
        return None
    # A cost of prompts alone would be taken for the whole.
    if price_in is None or price_out is None:
        fail("--price-in and --price-out belong together: add the other one")
    return Prices(price_in, price_out, price_cached)


# --- what people say ------------------------------------------------------------------------------

LabelsFile = Annotated[str, typer.Option("--labels", metavar="FILE", help=LABELS_HELP)]
OptionalLabelsFile = Annotated[str | None, typer.Option("--labels", metavar="FILE", help=LABELS_HELP)]
LabelsEncoding = Annotated[
    str,
    typer.Option("--encoding", metavar="NAME", help="The encoding of the labels, such as cp1252."),
]
LabelKey = Annotated[
    str,
    typer.Option(
        "--label",
        metavar="KEY",
        help="The key of the label in each row: 1 or true, 0 or false, a grade, or one value per judge.",
    ),
]
GroupKey = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="KEY",
        help="The key shared by rows that are not independent, such as passages of one claim.",
    ),
]
LabelThreshold = Annotated[
    float | None,
    typer.Option("--label-threshold", metavar="GRADE", help="The lowest grade that means grounded."),
]
JudgeFile = Annotated[
    str | None,
    typer.Option(
        "--judge-file",
        metavar="FILE",
        help="The prompt file that says what labels in words mean, for a judge of your own.",
    ),
]
SampleFile = Annotated[
    str | None,
    typer.Option(
        "--sample",
        metavar="FILE",
        help="What `groundjudge label` drew: each label then counts for all rows that it stands for.",
    ),
]
LABEL = "label"
"""The usual key of a label."""


@dataclass(frozen=True)
class LabelOptions:
    """How people's labels are read, and what they mean.

    Attributes:
        label: the key of the label in a row.
        group: the key shared by rows that are not independent; None: all are.
        label_threshold: the lowest grade that means grounded; None: labels are no grades.
        judge_file: the prompt file that declares labels in words; None: that of the built-in judge.
        sample: the file of the drawn sample; None: all rows count alike.
        keep_words: whether words such as "None" are text in a table.
    """

    label: str = LABEL
    group: str | None = None
    label_threshold: float | None = None
    judge_file: str | None = None
    sample: str | None = None
    keep_words: bool = False

    @property
    def flags(self) -> list[str]:
        """The options that differ from their defaults, for `refuse_without`."""
        flags: list[str] = []
        if self.label != LABEL:
            flags.append("--label")
        if self.group is not None:
            flags.append("--group")
        if self.label_threshold is not None:
            flags.append("--label-threshold")
        if self.judge_file is not None:
            flags.append("--judge-file")
        if self.sample is not None:
            flags.append("--sample")
        return flags


# --- how judges are measured ----------------------------------------------------------------------

OnlyJudges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        autocompletion=complete_judge,
        help="Only this judge; repeatable. Default: all.",
    ),
]
Threshold = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="SCORE|FILE",
        help="The lowest score that passes, or a file of `calibrate`. Default: as in the run.",
    ),
]
CountUnscored = Annotated[
    Unscored | None,
    typer.Option(
        "--count-unscored",
        help='How labelled rows without a score count: wrong, right, or as-run, where "not applicable" '
        "passes and an error does not. Default: they do not, and bounds show what they could change.",
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", metavar="N", help="Seed for splits and bootstrap resamples."),
]


def fail_if_several(option: str, assignment: str, is_name: Callable[[str], object]) -> None:
    """Exit if one option has several assignments with commas between them: all but the first would be text.

    Args:
        option: the option, with its dashes.
        assignment: what was given: NAME=TEXT.
        is_name: whether a word is one that can be assigned to. Another one is a part of a text.
    """
    for match in FURTHER_NAME.finditer(assignment):
        if is_name(match["name"]):
            name_and_rest = assignment[match.start("name") :]
            fail(f"{option} {assignment}: give {option} once for each, as in {option} {name_and_rest}")


def refuse_without(path: str | None, file_option: str, flags: list[str]) -> None:
    """Exit if options were given that are about a file, but not the file.

    Args:
        path: the file's path, if it was given.
        file_option: the option that gives it.
        flags: the options that were given and are about it.
    """
    if path is None and flags:
        fail(f"{', '.join(flags)}: add {file_option} FILE, the file that this is about")
