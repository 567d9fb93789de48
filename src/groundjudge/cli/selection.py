"""The judges that a command's options select: which of them vote, and in which order they are asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Annotated, Any, cast

import typer

from groundjudge.case.data import is_number
from groundjudge.case.fields import FIELD_NAMED
from groundjudge.cli.fitting import input_fields
from groundjudge.cli.judging import JudgingOptions, judging_options
from groundjudge.cli.options import complete_judge
from groundjudge.cli.screen import fail
from groundjudge.errors import did_you_mean, name_list
from groundjudge.judging.cascade import cascade as make_cascade
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import CascadeOptions, JudgeOptions, VoteOptions, as_judge, load
from groundjudge.judging.panel import AnyJudge, panel, repeat_judge
from groundjudge.models.cached import CachedModel
from groundjudge.models.lookup import ModelOptions, as_model
from groundjudge.prompt.front_matter import REQUEST_PARAMETERS
from groundjudge.rubric.load import names
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import check_options, declared_options, pop_options
from groundjudge.runs.run import find_duplicate
from groundjudge.text.patterns import compile_when_used

MODEL_HELP = "openai:MODEL, langchain:PROVIDER:MODEL, or offline, without a key."

MODELS = (
    '"openai:MODEL" or just MODEL for any OpenAI-compatible endpoint (set OPENAI_API_KEY, and '
    "OPENAI_BASE_URL unless it is OpenAI's), "
    '"langchain:PROVIDER:MODEL" for any provider of LangChain, '
    'or "offline" for the judge that calls no language model and needs no key'
)

VOTE_OPTIONS = VoteOptions.__annotations__.keys()
"""The options that apply to votes rather than to each judge; `repeats` has a flag and is not set with -O."""

CASCADE_OPTIONS = CascadeOptions.__annotations__.keys()
"""The options that apply to a cascade."""

BLANK_OPTIONS = ("may_be_empty", "optional")
"""The options that name inputs: each judge takes those that it has."""

FURTHER_NAME = compile_when_used(r",\s*(?P<name>[\w.]+)=")
"""What looks like another assignment within the text of one."""


def _help_of(name: str) -> str:
    """Write the help of a judging flag: the first sentence of its option's help."""
    first_sentence = declared_options(JudgingOptions)[name].help.partition(". ")[0]
    return f"{first_sentence.removesuffix('.')}."


def complete_option(incomplete: str) -> list[str]:
    """Complete the name of an option of judging."""
    return [f"{name}=" for name in judging_options() if name.startswith(incomplete)]


# A switch names its flag: of a bool without one, Typer would make a second flag, --no-...
@dataclass(frozen=True)
class JudgeSelection:
    """The judges that the options select; the state of a submitted run stores them under these names."""

    judge: Annotated[
        list[str] | None,
        typer.Option(
            "--judge",
            "-j",
            metavar="NAME",
            autocompletion=complete_judge,
            help="A judge or a prompt file; repeatable. Default: all that fit.",
        ),
    ] = None
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="MODEL", help=MODEL_HELP),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="SCORE",
            min=0,
            max=1,
            help=_help_of("threshold"),
        ),
    ] = None
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", metavar="N", min=2, help=_help_of("repeats")),
    ] = None
    panel: Annotated[
        bool,
        typer.Option("--panel", help="Let several --model vote; with one --model, several --judge."),
    ] = False
    cascade: Annotated[
        list[str] | None,
        typer.Option(
            "--cascade", metavar="MODEL", help="Ask this cheaper model first; needs -O until=LOW,HIGH."
        ),
    ] = None
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            "-O",
            metavar="NAME=VALUE",
            autocompletion=complete_option,
            help="An option of judging, see `groundjudge judges --options`.",
        ),
    ] = None

    @property
    def judge_names(self) -> list[str]:
        """The judges' names, each once."""
        if not self.judge:
            return names()
        # A judge that is named twice is asked once; --repeats asks for votes.
        return list(dict.fromkeys(self.judge))

    @property
    def prompt_files(self) -> list[tuple[str, str]]:
        """The judges that are prompt files, as inputs for `check_files`."""
        return [("the prompt file of a judge", name) for name in self.judge_names if name not in names()]

    def judges(
        self,
        *,
        in_batches: bool = False,
        cache: str | None = None,
        model_of: Callable[[str], Model] | None = None,
    ) -> list[AnyJudge]:
        """Load the judges: one for each name, or one panel of several prompts.

        Exit if the options contradict each other, or if it is unclear who votes or who is asked first.

        Args:
            in_batches: whether they are asked in batches, which ask for all votes at once.
            cache: a file that keeps the models' replies; None for no such file.
            model_of: makes a model from its name; None: as `load` does, with the options of models.

        Raises:
            PromptError, ModelError: as for `load` and `panel`.
        """
        options = read_options(self.option or ())
        self._check(options)
        if in_batches:
            if "stop" in options:
                fail("-O stop cannot be used with batches, which request all votes at once: leave it out")
            if self.panel or self.repeats:  # no vote can wait for the outcome of another in a batch
                options["stop"] = "never"
        model_options: Any = pop_options(options, ModelOptions.__annotations__)
        make_model: Callable[[str], Model] = partial(as_model, **model_options)
        if model_of is not None:
            make_model = model_of
        # The cheaper models are asked first.
        models = [make_model(name) for name in (self.cascade or []) + (self.model or [])]
        # Votes and verdicts are told apart by the names of models.
        same_model = find_duplicate(model.name for model in models)
        if same_model:
            fail(f"two models have the name {same_model!r}: to ask one model several times, use --repeats")
        if cache:
            models = [CachedModel(model, cache) for model in models]
        judges = self._load(models, options)
        # Two prompt files may contain the same name, and summaries are by name.
        same_judge = find_duplicate(judge.name for judge in judges)
        if same_judge:
            fail(f"--judge: two judges have the name {same_judge!r}: change `name` in a prompt file")
        return judges

    def _check(self, options: Mapping[str, Any]) -> None:
        """Exit if there is no model, or if the options do not say clearly who votes or who is asked first."""
        if not self.model:
            fail(f"no model given: add --model, which can be {MODELS}")
        flags: list[str] = []
        for flag in ("panel", "repeats", "cascade"):
            if getattr(self, flag):
                flags.append(f"--{flag}")
        if len(flags) > 1:
            fail(f"{' and '.join(flags)} exclude each other: use one of them")
        for name in options:
            if name in VOTE_OPTIONS and not (self.panel or self.repeats):
                fail(f"-O {name} only applies to votes: add --repeats N, or --panel")
            if name in CASCADE_OPTIONS and not self.cascade:
                fail(f"-O {name} only applies to a cascade: add --cascade MODEL, the cheaper model")
        if len(self.model) > 1 and not self.panel:
            fail("several --model: add --panel to let them vote, or run the command once for each")
        n_named = len(set(self.judge or ()))
        # All built-in judges would be one panel, and they answer on different scales.
        if self.panel and len(self.model) == 1 and n_named <= 1:
            fail(
                "--panel with one --model: name two or more --judge, or add another --model; "
                "to ask one judge several times, use --repeats N"
            )
        if self.cascade and "until" not in options:
            fail("--cascade: add -O until=LOW,HIGH, as `groundjudge calibrate --cascade` finds them")
        if self.cascade and n_named != 1:
            fail("--cascade: name one --judge, because bounds are specific to a judge")
        parameters: Mapping[str, Any] = options.get("parameters") or {}  # None after `-O parameters=none`
        if self.repeats and parameters.get("temperature") == 0:
            fail("-O parameters.temperature=0 with --repeats would repeat one reply: leave it out for 0.7")

    def _load(self, models: Sequence[Model], options: dict[str, Any]) -> list[AnyJudge]:
        """Load each judge with each model, and make one judge or one panel of those that belong together."""
        # Options for votes go to the panel, options for a cascade to that, and all others to each judge.
        votes = pop_options(options, VOTE_OPTIONS)
        bounds = pop_options(options, CASCADE_OPTIONS)
        blanks = pop_options(options, BLANK_OPTIONS)
        of_judges = cast("JudgeOptions", {**options, "threshold": self.threshold})
        loaded = [load(name, model=models[0], **of_judges) for name in self.judge_names]
        _check_inputs(loaded, blanks)
        groups: list[list[Judge]] = []
        for judge in loaded:
            own_blanks = _own_inputs(judge, blanks)
            groups.append([as_judge(judge, model, **own_blanks) for model in models])
        if self.panel and len(models) > 1:  # the models vote, on each judge's prompt
            return [panel(group, **votes) for group in groups]
        judges = list(chain.from_iterable(groups))
        if self.panel:
            return [panel(judges, **votes)]
        if self.cascade:
            return [make_cascade(judges, **bounds)]
        if self.repeats:
            return [repeat_judge(judge, self.repeats, **votes) for judge in judges]
        return list(judges)


def _check_inputs(judges: Sequence[Judge], blanks: Mapping[str, Sequence[str]]) -> None:
    """Exit if an option names an input that no judge has."""
    inputs: dict[str, str] = {}
    for judge in judges:
        for prompt_input in judge.inputs:
            inputs[prompt_input.name] = prompt_input.field
    for option, blank_inputs in blanks.items():
        for name in blank_inputs:
            if FIELD_NAMED.get(name, name) not in inputs.values():
                fail(f"-O {option}={name}: no judge has that input; the inputs are: {', '.join(inputs)}")


def _own_inputs(judge: Judge, blanks: Mapping[str, Sequence[str]]) -> JudgeOptions:
    """Return the options with the inputs that a judge has, named by field, alias or placeholder."""
    fields = input_fields(judge)
    own_blanks: dict[str, list[str]] = {}
    for option, blank_inputs in blanks.items():
        own_blanks[option] = [name for name in blank_inputs if FIELD_NAMED.get(name, name) in fields]
    return cast("JudgeOptions", own_blanks)


def read_options(assignments: Sequence[str]) -> dict[str, Any]:
    """Read the options of judging from NAME=VALUE. Exit if an option is unknown, or its value is wrong.

    ["parameters.temperature=0", "rule=min"] -> {"parameters": {"temperature": 0}, "rule": "min"}.
    """
    options: dict[str, Any] = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        path = path.strip()
        name, dot, key = path.partition(".")
        if not equals or not (text or dot):
            fail(f"-O {assignment}: expected NAME=VALUE, such as -O empty_response=worst")
        _check_name(assignment, name, key, text)
        # `weighted=true` is an option, and `levels.2=poor` an entry of one.
        values: Any = options
        entry: object = name
        value = _read_value(text)
        if dot:
            values = options.setdefault(name, {})
            entry = _read_word(key)
            value = _read_word(text)
        if not isinstance(entry, str) and not is_number(entry):
            fail(f"-O {assignment}: {key} is neither a name nor a number")
        # `-O parameters=none` has set the whole option, which is then not a mapping.
        if not isinstance(values, dict):
            fail(f"-O {assignment}: {name} is given as a whole, too: leave one out")
        if entry in values:
            fail(f"-O {assignment}: {path} is given twice: leave one out")
        values[entry] = value
    try:
        check_options(options, JudgingOptions)
    except TypeError as error:
        fail(f"-O {error}")
    for name in BLANK_OPTIONS:
        inputs = options.pop(name, None)
        if isinstance(inputs, str):
            inputs = [inputs]
        if inputs is not None:  # `-O optional=none` names no input
            options[name] = [str(input_name) for input_name in inputs]
    return options


def _check_name(assignment: str, name: str, key: str, text: str) -> None:
    """Exit if -O does not have the option, or if its value contains another assignment."""
    declared = judging_options()
    for match in FURTHER_NAME.finditer(assignment):
        further_name = match["name"]
        if further_name in declared or further_name in REQUEST_PARAMETERS:
            fail(f"-O {assignment}: give -O once for each: {further_name} would be read as text")
    if name not in declared:
        fail(f"-O {assignment}: {_why_unknown(name, text, list(declared))}")
    if name == "parameters" and key in {"model", "messages"}:
        fail(f"-O {assignment}: the model is that of --model, and the messages are those of the prompt")


def _why_unknown(name: str, text: str, options: list[str]) -> str:
    """Say what to write in place of an option that -O does not have."""
    if name in REQUEST_PARAMETERS:
        return f"it is a parameter of the requests: -O parameters.{name}={text}"
    if name in JudgeSelection.__dataclass_fields__:
        return f"it has its own flag: --{name}"
    hint = did_you_mean(name, options) or ";"
    return f"unknown option {name!r}{hint} the options are: {name_list(options, name)}"


def _read_value(text: str) -> object:
    """Read a value: JSON, a word, or several with commas between them: "0.1,0.9" -> [0.1, 0.9]."""
    value = _read_word(text)
    if value == text and "," in text:
        return [_read_word(part.strip()) for part in text.split(",")]
    return value


def _read_word(text: str) -> object:
    """Read a word: "0.5" -> 0.5, "none" -> None, "worst" -> "worst"; JSON if it is that."""
    if text == "none":
        return None
    try:
        return json.loads(text, parse_constant=str)  # NaN, which is not JSON, is a text
    except ValueError:
        return text
