"""Make a judge from what names it: a name, a file, a rubric, a judge, a panel, a cascade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypedDict, Unpack, overload

from groundjudge.errors import PromptError
from groundjudge.judging.cascade import By, Cascade, Until, bad_cascade
from groundjudge.judging.judge import BaseJudge, Judge
from groundjudge.judging.panel import AnyJudge, Panel, Rule, Stop, bad_panel, repeat_judge
from groundjudge.models.lookup import ModelLike, ModelOptions, as_model
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import COUNT, TRUE_OR_FALSE, Option, RubricOptions, check_options, pop_options
from groundjudge.rubric.rubric import Rubric

JudgeLike: TypeAlias = str | Path | Rubric | AnyJudge
"""What names a judge: a judge, a panel, a cascade, a rubric, a judge's name, or the path of a prompt file."""


class AskingOptions(ModelOptions, total=False):
    """The options for asking: those of the model, and how often it is asked again."""

    max_reasks: Annotated[
        int, Option("1", "How often a model is asked again after a reply that cannot be read.", COUNT)
    ]


class VoteOptions(TypedDict, total=False):
    """The options of a judge that votes several times."""

    rule: Annotated[
        Rule, Option("mean", "How the votes' scores are combined: mean, median or min; see `Panel`.")
    ]
    stop: Annotated[
        Stop,
        Option(
            "decided",
            "When to stop asking for votes: once the verdict is decided; or never, so that all votes are "
            "cast, which makes the mean score more precise.",
        ),
    ]
    repeats: Annotated[
        int,
        Option(
            "a single verdict, no votes",
            "How many votes a judge casts on each case, 2 or more; the majority decides. The temperature "
            "is 0.7, unless `parameters` sets another one above 0.",
            command_line="flag",
        ),
    ]


class JudgeOptions(RubricOptions, AskingOptions, total=False):
    """The options of a judge: those of `RubricOptions` and of asking its model."""


class PanelOptions(JudgeOptions, VoteOptions, total=False):
    """The options of a judge that may vote several times: those of `JudgeOptions`, and how it votes."""


class CascadeOptions(TypedDict, total=False):
    """The options of a cascade."""

    until: Annotated[
        Until,
        Option(
            "required",
            "When a cheaper judge's verdict is final: with a number of LOW or below, or of HIGH or above; "
            "none for an end at which it never is. One pair, or a pair for each judge but the last, as "
            "`groundjudge calibrate --cascade` finds them.",
        ),
    ]
    by: Annotated[
        By,
        Option(
            "score", "What bounds are compared with: the score, or the probability that a verdict passes."
        ),
    ]
    not_applicable_stands: Annotated[
        bool, Option("false", 'Whether "not applicable" from a cheaper judge may be final.', TRUE_OR_FALSE)
    ]


@overload
def load(name: str | Path, *, model: ModelLike | None = None, **options: Unpack[JudgeOptions]) -> Judge: ...


@overload
def load(
    name: str | Path,
    *,
    model: ModelLike | None = None,
    repeats: int,
    rule: Rule = "mean",
    stop: Stop = "decided",
    **options: Unpack[JudgeOptions],
) -> Panel: ...


def load(name: str | Path, *, model: ModelLike | None = None, **options: Unpack[PanelOptions]) -> AnyJudge:
    """Load a judge by its name, or your own prompt file by its path.

    Args:
        name: one of `names()`, or the path of a prompt file.
        model: a model's name ("openai:gpt-6-luna", "langchain:anthropic:claude-..."), "offline",
            (client, name), a LangChain chat model, a DeepEvalBaseLLM, a function from the request to its
            reply, or a Model. It is required.
        options: see `PanelOptions`.

    Returns:
        A judge; a panel if `repeats` is given.

    Raises:
        PromptError: there is no such judge, its file breaks its contract, or an option is out of range.
        ModelError: no model was given, or what was given cannot be used as a model.
        TypeError: there is no option with that name.
    """
    return as_judge(name, model, **options)


@overload
def as_judge(
    judge: str | Path | Rubric | Judge, model: ModelLike | None = None, **options: Unpack[JudgeOptions]
) -> Judge: ...


@overload
def as_judge(
    judge: JudgeLike, model: ModelLike | None = None, **options: Unpack[PanelOptions]
) -> AnyJudge: ...


def as_judge(judge: JudgeLike, model: ModelLike | None = None, **options: Unpack[PanelOptions]) -> AnyJudge:
    """Make a judge from a name, a path, a rubric or a judge. Every adapter resolves judges this way.

    Args:
        judge: a judge, a panel, a cascade or a rubric, or the name or the path of one, which is loaded.
        model: as for `load`. If you pass none, a judge keeps its own, and so do the judges of a panel. If
            a panel's judges differ only in their models, passing one is an error. The judges of a cascade
            always keep theirs, and passing one is an error.
        options: see `PanelOptions`. They replace the options of a judge or a rubric, or those of each
            judge of a panel or a cascade. A cascade accepts only those of `JudgeOptions`.

    Raises:
        PromptError, ModelError, TypeError: as for `load`; `unknown_judge` also if `judge` is not a judge.
    """
    _check_judge(judge)
    check_options(options, PanelOptions)
    # None leaves what is there: adapters also pass on options that their callers left out.
    judge_options: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    model_options = pop_options(judge_options, ModelOptions.__annotations__)
    # One model for all members of a panel. Options without a model are an error that names them.
    own_model: Model | None = None
    if model is not None or model_options:
        own_model = as_model(model, **model_options)
    vote_options = pop_options(judge_options, ("repeats", "rule", "stop"))  # the order in errors
    _check_votes(judge, own_model, judge_options, vote_options)
    members = judge.judges if isinstance(judge, Panel | Cascade) else (judge,)
    judges = tuple(_single_judge(member, own_model, judge_options) for member in members)
    if isinstance(judge, Panel):
        # With one model the votes of several are one vote, counted twice: always unanimous.
        if own_model is not None and _have_one_vote_twice(judges) and not _have_one_vote_twice(judge.judges):
            raise bad_panel("model", "the judges of this panel differ only in their models: leave it out")
        return replace(judge, judges=judges, **vote_options)
    if isinstance(judge, Cascade):
        return replace(judge, judges=judges)
    (single,) = judges
    return repeat_judge(single, **vote_options) if vote_options else single


def _check_votes(
    judge: JudgeLike, own_model: Model | None, judge_options: dict[str, Any], vote_options: dict[str, Any]
) -> None:
    """Refuse options, or one model for all members, that a judge of this kind cannot use.

    Raises:
        PromptError: `bad_panel`, `bad_cascade`.
    """
    given = " and ".join(vote_options)
    if isinstance(judge, Panel):
        if "repeats" in vote_options:
            raise bad_panel("repeats", "a panel's judges vote already: pass it to load() or a single judge")
    elif isinstance(judge, Cascade):
        if vote_options:
            raise bad_cascade(given, "the judges of a cascade do not vote: leave it out")
        if own_model is not None:
            raise bad_cascade("model", "each judge of a cascade has its own model: leave it out")
    elif vote_options:
        if "repeats" not in vote_options:
            raise bad_panel(given, "only a judge that votes uses it: pass `repeats` too")
        # A temperature of 0 in the file gives way to 0.7; one that the caller asks for is a contradiction.
        if judge_options.get("parameters", {}).get("temperature") == 0:
            fault = "0 would repeat one reply: leave it out for 0.7, or pass one above 0"
            raise bad_panel("temperature", fault)


def _have_one_vote_twice(judges: Sequence[Judge]) -> bool:
    """Whether two judges would send the same request to models with the same name, and not as repeats."""
    votes = {(judge.identity, judge.repeat) for judge in judges}
    return len(votes) < len(judges)


def _check_judge(candidate: object) -> None:
    """Refuse what cannot name a judge, such as an adapter's object; the message says what to pass instead.

    Raises:
        PromptError: `unknown_judge`.
    """
    is_blank = candidate is None or candidate == ""
    is_path = isinstance(candidate, str) or hasattr(candidate, "__fspath__")
    if isinstance(candidate, BaseJudge | Rubric) or (is_path and not is_blank):
        return
    choices = (
        f"a judge is one of {', '.join(names())}, the path of a prompt file, a rubric, or what load() "
        "returns; pass a model as `model`"
    )
    if is_blank:
        message = f"no judge was given: {choices}"
        raise PromptError("unknown_judge", message, "")
    if isinstance(candidate, type):
        kind = f"the class {candidate.__name__}"
    else:
        kind = type(candidate).__name__
    message = f"{kind} cannot be used as a judge: {choices}"
    if isinstance(getattr(candidate, "judge", None), BaseJudge):  # an evaluator, a metric, a guard
        message += "; this one has a judge: pass its attribute `judge`"
    elif isinstance(candidate, list | tuple | set):
        message += "; pass several one by one, or panel([...]) for one verdict from all of them"
    raise PromptError("unknown_judge", message, kind)


def model_to_come(_: object) -> str:
    """Stand in for the model of a judge that is loaded before its model is known; it is never called."""
    return ""


def _single_judge(judge: str | Path | Rubric | Judge, model: Model | None, options: dict[str, Any]) -> Judge:
    """Make a single judge; a judge that was passed keeps what it has, unless an option replaces it."""
    rubric_options = dict(options)
    changes = pop_options(rubric_options, ["max_reasks"])
    rubric = judge.rubric if isinstance(judge, Judge) else judge
    if isinstance(rubric, Rubric):
        rubric = rubric.with_options(**rubric_options)
    else:
        rubric = load_rubric(rubric, **rubric_options)
    if model is None:
        model = judge.model if isinstance(judge, Judge) else as_model(None)  # which says what can be one
    if isinstance(judge, Judge):
        return replace(judge, rubric=rubric, model=model, **changes)
    return Judge(rubric, model, **changes)
