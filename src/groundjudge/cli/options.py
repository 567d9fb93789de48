"""How commands declare their options, and the options that several of them share: alone, or as groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, cast, get_args, get_type_hints

import typer

from groundjudge.case.fields import Fields
from groundjudge.case.paths import FieldPaths
from groundjudge.cli.screen import fail, refuse
from groundjudge.errors import CaseError
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import as_model, load
from groundjudge.judging.panel import AnyJudge, Rule, Stop, panel, repeat_judge
from groundjudge.models.cached import CachedModel
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import EmptyResponse, RubricOptions, Structured
from groundjudge.rubric.rubric import Rubric, names
from groundjudge.runs.cost import Prices
from groundjudge.runs.rows import CaseFile, FileFormat, FileRow, read_rows
from groundjudge.runs.run import duplicate_name

MODELS = (
    '"openai:MODEL" or just MODEL for any OpenAI-compatible endpoint (set OPENAI_API_KEY, and '
    "OPENAI_BASE_URL unless it is OpenAI's), "
    '"langchain:PROVIDER:MODEL" for any provider of LangChain, '
    'or "offline" for the lexical baseline (no language model, no key)'
)

ADD_VOTES = "--rule and --stop are about votes: add --repeats N, or --panel"
ADD_PANEL = "several --model: add --panel to let them vote, or run the command once for each"
NAME_JUDGES = "--panel with one --model: the judges vote, so name two or more --judge, or add another --model"
USE_REPEATS = "--panel needs several --model or --judge: to ask one judge several times, use --repeats N"


def option(text: str, *flags: str, default: Any = None, **more: Any) -> Any:  # noqa: ANN401  of any type
    """An option, as the default of a command's parameter or of a group's field.

    Args:
        text: its help.
        flags: its names, if they are not derived from the parameter's. A switch has no --no-... beside it.
        default: what it is if it is not given; `...`: it must be.
        more: as for `typer.Option`.
    """
    return field(default=default, metadata={"declare": partial(typer.Option, *flags, help=text, **more)})


OUT = "--out", "-o"
"""The names of the option for the file that a command writes."""


def argument(text: str, *, default: Any = ..., **more: Any) -> Any:  # noqa: ANN401  of any type
    """An argument, as the default of a command's parameter; see `option`."""
    return field(default=default, metadata={"declare": partial(typer.Argument, help=text, **more)})


def command_of(function: Callable[..., None]) -> Callable[..., None]:
    """The function as Typer reads it: with what `option` declared, and without groups.

    Args:
        function: the command. A parameter whose type is a dataclass stands for the options in its fields.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    parameters: list[Parameter] = []
    for name, parameter in signature(function).parameters.items():
        parameters += (
            _options_in(groups[name]) if name in groups else [_read(name, hints[name], parameter.default)]
        )

    @wraps(function)
    def command(**given: Any) -> None:  # noqa: ANN401  what the options hold
        for name, group in groups.items():
            given[name] = group(**{each.name: given.pop(each.name) for each in _options_in(group)})
        function(**given)

    command.__dict__["__signature__"] = Signature(parameters)  # what `inspect`, and with it Typer, looks at
    return command


def _options_in(group: Any) -> list[Parameter]:  # noqa: ANN401  a dataclass
    hints = get_type_hints(group)
    return [_read(each.name, hints[each.name], each) for each in fields(group)]


def _read(name: str, hint: Any, default: Any) -> Parameter:  # noqa: ANN401  of any type
    if isinstance(default, Field):
        declared: Any = default  # pyright: ignore[reportUnknownVariableType]  a field of any type
        declare, default = declared.metadata["declare"], declared.default
        flags = [f"--{name.replace('_', '-')}"] if hint is bool else []
        metavar = {"metavar": "N"} if int in {hint, *get_args(hint)} else {}
        hint = Annotated[hint, declare(*flags, **metavar)]
    default = Parameter.empty if default is ... else default
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def refuse_without(path: str | None, file: str, group: Any) -> None:  # noqa: ANN401  a dataclass
    """Exit if options were given that are about a file, but not the file.

    Args:
        path: the file's path, if it was given.
        file: the option that gives it.
        group: the options that are about it.
    """
    flags = [
        next(iter(each.metadata["declare"].args), f"--{each.name.replace('_', '-')}")
        for each in fields(group)
        if getattr(group, each.name) != each.default
    ]
    refuse((path is None and flags, f"{', '.join(flags)}: add {file} FILE, the file that this is about"))


def _judge_names(incomplete: str) -> list[str]:
    """Complete the name of a built-in judge; where none fits, the shell completes a file's name."""
    return [name for name in names() if name.startswith(incomplete)]


NAMED: Mapping[str, Any] = {"metavar": "NAME", "autocompletion": _judge_names}
ENCODING = option("The encoding of the file, such as cp1252.", default="utf-8", metavar="NAME")
SHARE: Mapping[str, Any] = {"metavar": "SHARE", "min": 0, "max": 1}
"""How the options for judges and for shares are declared, besides their help."""


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

    judge: list[str] | None = option(
        "A judge's name or a prompt file; repeatable. Default: all built-in judges.", **NAMED
    )
    model: list[str] | None = option(f"The model; with --panel repeatable: {MODELS}.", metavar="MODEL")
    repeats: int | None = option("Ask each judge for up to N votes; the majority decides.", min=2)
    panel: bool = option(
        "Let several --model vote, for each judge; with one --model, let several --judge vote.", default=False
    )
    rule: Rule | None = option("How the scores of the votes become one. Default: mean.")
    weighted: bool = option(
        "Score the mean over the values' probabilities; the endpoint must return logprobs.", default=False
    )
    structured: Structured | None = option(
        "When to send the schema of a JSON format: after an unreadable reply, which is the default, always, "
        "or never."
    )
    empty_response: EmptyResponse = option(
        "What becomes of a row whose response is missing or blank: an error, left out, or the score 0.",
        default="error",
    )
    no_tool_titles: bool = option(
        'Take no document for a tool result because of a title such as "Tool Result: get_order".',
        default=False,
    )

    @property
    def names(self) -> list[str]:
        """The judges' names, each once."""
        return [*dict.fromkeys(self.judge or names())]

    @property
    def prompt_files(self) -> list[tuple[str, str]]:
        """The judges that are prompt files, as inputs for `check_outputs`."""
        return [("the prompt file of a judge", judge) for judge in self.names if judge not in names()]

    def judges(
        self,
        stop: Stop | None = None,
        *,
        in_batches: bool = False,
        cache: str | None = None,
        model_of: Callable[[str], Model] | None = None,
    ) -> list[AnyJudge]:
        """The judges: one for each name, or one panel of several prompts.

        Exit if the options contradict each other, or if it is not clear who is to vote.

        Args:
            stop: when to stop asking for votes; None: the default.
            in_batches: whether they are asked in batches, which ask for all votes at once.
            cache: a file that keeps the models' replies; None for no such file.
            model_of: makes a model of its name; None: as `load` does.

        Raises:
            PromptError, ModelError: as for `load` and `panel`.
        """
        has_panel, has_repeats, has_models = (self.panel, bool(self.repeats), len(self.model or ()) > 1)
        judges_vote, has_votes = has_panel and not has_models, has_panel or has_repeats
        refuse(
            (not all(self.model or [""]), f"no model given: add --model, which can be {MODELS}"),
            (has_panel and has_repeats, "--panel and --repeats are two ways to vote: use one of them"),
            ((self.rule or stop) and not has_votes, ADD_VOTES),
            (has_models and not has_panel, ADD_PANEL),
            (judges_vote and not self.judge, NAME_JUDGES),
            (judges_vote and len(self.names) == 1, USE_REPEATS),
        )
        models = [*map(model_of or as_model, self.model or ())]
        twice, remedy = duplicate_name(models), "to ask one model several times, use --repeats"
        refuse((twice, f"--model: two models have the name {twice!r}: {remedy}"))
        models = [CachedModel(model, cache) if cache else model for model in models]
        # What was not given is left to the rubric.
        known = RubricOptions.__annotations__
        own = {name: value or None for name, value in vars(self).items() if name in known}
        options = cast("RubricOptions", {**own, "tool_titles": not self.no_tool_titles})
        by_name = [[load(name, model=model, **options) for model in models] for name in self.names]
        groups = [*zip(*by_name, strict=True)] if judges_vote else by_name
        judges = self._voting(groups, "never" if in_batches else stop)
        twice = duplicate_name(judges)
        refuse(
            (twice, f"--judge: two judges have the name {twice!r}: change `name` in one of the prompt files")
        )
        return judges

    def _voting(self, groups: Sequence[Sequence[Judge]], stop: Stop | None) -> list[AnyJudge]:
        """One judge for each group: a panel of it, or its only judge, which may be asked several times."""
        given = (("rule", self.rule), ("stop", stop))
        votes: dict[str, Any] = {option: choice for option, choice in given if choice is not None}
        if self.panel:
            return [panel(group, **votes) for group in groups]
        n = self.repeats
        return [repeat_judge(judge, n, **votes) if n else judge for (judge,) in groups]


@dataclass(frozen=True)
class RowOptions:
    """How the rows of a file of cases are read."""

    file_format: FileFormat | None = option(
        "The format of the file of cases. Default: by its suffix; of stdin: jsonl.", "--format"
    )
    paths: list[str] | None = option(
        "Read a field from elsewhere in each row, as in query=inputs.question; repeatable.",
        "--fields",
        metavar="FIELD=PATH",
    )
    encoding: str = ENCODING
    limit: int | None = option("Read only the first N rows.", min=1)

    def fields(self, judges: Iterable[AnyJudge | Rubric] | None = None) -> FieldPaths:
        """The paths of fields that stand elsewhere. Exit if an option is malformed, or names no field.

        Args:
            judges: who will judge the cases: their own inputs are fields too. None: not known, so that a
                name that resembles no field can be an input of theirs.
        """
        paths: dict[str, str] = {}
        for given in self.paths or ():
            name, _, path = (part.strip() for part in given.partition("="))
            refuse(
                (not path, f"--fields {given}: expected FIELD=PATH, such as --fields query=inputs.question"),
                (
                    name in paths,
                    f"--fields {given}: {name} is already read from {paths.get(name)}: leave one out",
                ),
            )
            paths[name] = path
        rubrics = None if judges is None else [rubric for judge in judges for rubric in judge.rubrics]
        inputs = None if rubrics is None else [each.name for rubric in rubrics for each in rubric.inputs]
        try:
            return Fields.of(paths, inputs).paths
        except CaseError as error:
            fail(f"--fields: {error.message}")

    def case_file(
        self, cases: str, judges: Iterable[AnyJudge], kept_ids: Iterable[str] | None = None
    ) -> CaseFile:
        """The file of cases for the judges; the rows with these ids are kept."""
        reading = self.file_format, self.fields(judges), self.encoding, self.limit
        return CaseFile(cases, frozenset(kept_ids or ()), *reading)

    def rows(self, path: str, judges: Iterable[AnyJudge | Rubric] | None = None) -> Iterator[FileRow]:
        """The rows of a file, read as the options say; `judges` as for `fields`."""
        return read_rows(path, self.file_format, self.fields(judges), self.encoding, self.limit)


OVERWRITE = option("Replace the file --out if it exists.", default=False)


@dataclass(frozen=True)
class OutputOptions:
    """What becomes of an --out that exists; neither: it is an error."""

    resume: bool = option(
        "Continue the file --out: judge only missing rows and rows with an error.", default=False
    )
    overwrite: bool = OVERWRITE


@dataclass(frozen=True)
class RunLimits:
    """How many requests are in flight, and when a run ends early; the names are those of `run`."""

    concurrency: int = option("Most requests in flight.", default=16, min=1)
    deadline: float | None = option(
        "Time limit per verdict, with all retries and waits.", metavar="SECONDS", min=0.001
    )
    max_calls: int | None = option("Stop after this many model calls.", min=1)
    max_tokens: int | None = option("Stop once this many tokens are spent.", min=1)


@dataclass(frozen=True)
class PriceOptions:
    """Token prices, in any currency."""

    price_in: float | None = option("Price of a million prompt tokens.", metavar="PRICE", min=0)
    price_out: float | None = option("Price of a million completion tokens.", metavar="PRICE", min=0)

    @property
    def prices(self) -> Prices | None:
        """The prices, or None without them. One price alone is an error."""
        given = [price for price in (self.price_in, self.price_out) if price is not None]
        refuse((len(given) == 1, "--price-in and --price-out belong together: add the other one"))
        return Prices(*given) if given else None


@dataclass(frozen=True)
class LabelOptions:
    """How people's labels are read, and what they mean."""

    label: str = option(
        "The key of the label in each row: 1 or true, 0 or false, a grade, or one value per judge.",
        default="label",
        metavar="KEY",
    )
    group: str | None = option(
        "The key shared by rows that are not independent, such as passages of one claim.", metavar="KEY"
    )
    label_threshold: float | None = option("The lowest grade that means grounded.", metavar="GRADE")
    judge_file: str | None = option(
        "The judge's prompt file, where people use labels that no verdict has.", metavar="FILE"
    )
    sample: str | None = option(
        "What `groundjudge label` drew: each label then counts for all rows that it stands for.",
        metavar="FILE",
    )


CASES = argument(
    'A file of cases: JSON Lines, .csv, .tsv, a .json array, or .parquet; "-" is stdin.', metavar="CASES"
)
VERDICTS = argument('A file written by `groundjudge run`; "-" reads stdin.', metavar="VERDICTS")
STOP = option(
    "When to stop asking for votes: once the majority is decided, which is the default, or never, which "
    "makes the mean score more precise."
)
CACHE = option("Keep replies in this file and reuse those it already holds.", metavar="PATH")
JUDGES = option("Only this judge; repeatable. Default: all.", **NAMED)
_LABELS = "A file with id and label in every row; the file of cases can be that file."
LABELS_ENCODING = option("The encoding of the labels, such as cp1252.", default="utf-8", metavar="NAME")
LABELS = option(_LABELS, default=..., metavar="FILE")
OPTIONAL_LABELS = option(_LABELS, metavar="FILE")
THRESHOLD = option(
    "The lowest score that passes, or a file of `calibrate`. Default: as in the run.", metavar="SCORE|FILE"
)
COUNT_UNSCORED = option(
    'How labelled rows without a score count: wrong, right, or as-run, where "not applicable" passes and an '
    "error does not. Default: they do not, and bounds show what they could change."
)
SEED = option("Seed for splits and bootstrap resamples.", default=0)
SUBMITTED = argument("The file that `groundjudge batch submit` got as --out.", metavar="OUT")
