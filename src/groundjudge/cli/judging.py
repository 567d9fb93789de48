"""From the options of a command to the judges that they ask for: single judges, repeats, and panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundjudge.cli.options import MODELS
from groundjudge.cli.screen import fail
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import as_model, load
from groundjudge.judging.panel import AnyJudge, Stop, panel, repeated
from groundjudge.judging.votes import Rule
from groundjudge.models.cached import CachedModel
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import EmptyResponse, RubricOptions, Structured
from groundjudge.rubric.rubric import names
from groundjudge.runs.run import named_twice


@dataclass(frozen=True)
class JudgeSelection:
    """The judges that the options ask for.

    Attributes:
        judges: names or prompt files; none: all built-in judges.
        models: the models' names.
        is_panel: whether the models vote; if there is only one, the judges do.
        repeats: how many times each judge votes; None: it is asked once.
        rule: how the scores of the votes become one; None: the default.
        stop: when to stop asking for votes; None: the default.
        options: for every rubric.
    """

    judges: Sequence[str] | None
    models: Sequence[str] | None
    is_panel: bool = False
    repeats: int | None = None
    rule: Rule | None = None
    stop: Stop | None = None
    options: RubricOptions = field(default_factory=RubricOptions)

    @property
    def names(self) -> list[str]:
        """The judges' names, each once."""
        return [*dict.fromkeys(self.judges or names())]


def rubric_options(
    *, weighted: bool, structured: Structured | None, empty_response: EmptyResponse | None = None
) -> RubricOptions:
    """The options of every rubric; what was not given is left to the rubric."""
    return {"weighted": weighted or None, "structured": structured, "empty_response": empty_response}


def cached_model(name: str, cache: str | None) -> Model:
    """The model of a name, with a file that keeps its replies if one is given."""
    model = as_model(name)
    return CachedModel(model, cache) if cache else model


def judges_of(wanted: JudgeSelection, model_of: Callable[[str], Model]) -> list[AnyJudge]:
    """The judges: one for each name, or one panel of several prompts.

    Exit if the options contradict each other, or if it is not clear who is to vote.

    Args:
        wanted: what the options ask for.
        model_of: makes a model of its name.

    Raises:
        PromptError, ModelError: as for `load` and `panel`.
    """
    fault = _fault(wanted)
    if fault:
        fail(fault)
    models = [model_of(name) for name in wanted.models or ()]
    if (twice := named_twice(models)) is not None:
        fail(f"--model: two models have the name {twice!r}: to ask one model several times, use --repeats")
    by_name = [[load(name, model=each, **wanted.options) for each in models] for name in wanted.names]
    judges = _voting(wanted, by_name)
    if (twice := named_twice(judges)) is not None:
        fail(f"--judge: two judges have the name {twice!r}: change `name` in one of the prompt files")
    return judges


def _voting(wanted: JudgeSelection, by_name: Sequence[Sequence[Judge]]) -> list[AnyJudge]:
    """The judges as they vote; `by_name` has a row for each name, and in it a judge for each model."""
    given: dict[str, Any] = {"rule": wanted.rule, "stop": wanted.stop}
    votes = {option: choice for option, choice in given.items() if choice is not None}
    if wanted.repeats:
        return [repeated(judge, wanted.repeats, **votes) for (judge,) in by_name]
    if not wanted.is_panel:
        return [judge for (judge,) in by_name]
    if len(wanted.models or ()) > 1:
        return [panel(row, **votes) for row in by_name]
    return [panel([judge for (judge,) in by_name], **votes)]


def _fault(wanted: JudgeSelection) -> str:
    """Why the options make no judges; "" if they do."""
    n_models, n_judges = len(wanted.models or ()), len(wanted.names)
    votes = wanted.is_panel or wanted.repeats
    faults = {
        f"no model given: add --model, which can be {MODELS}": not all(wanted.models or [""]),
        "--panel and --repeats are two ways to vote: use one of them": wanted.is_panel and wanted.repeats,
        "--rule and --stop are about votes: add --repeats N, or --panel": (wanted.rule or wanted.stop)
        and not votes,
        "several --model: add --panel to let them vote, or run the command once for each": n_models > 1
        and not wanted.is_panel,
        "--panel with one --model: the judges vote, so name two or more with --judge, or add another "
        "--model": wanted.is_panel and n_models == 1 and not wanted.judges,
        "--panel needs several --model or several --judge: to ask one judge several times, use --repeats N": (
            wanted.is_panel and n_models == n_judges == 1
        ),
    }
    return next((fault for fault, is_so in faults.items() if is_so), "")
