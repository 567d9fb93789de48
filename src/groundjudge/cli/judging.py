"""From the options of a command to the judges that they ask for: single judges, repeats, and panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from groundjudge.cli.options import MODELS, JudgeSelection
from groundjudge.cli.screen import fail
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import as_model, load
from groundjudge.judging.panel import AnyJudge, Stop, panel, repeated
from groundjudge.models.cached import CachedModel
from groundjudge.rubric.model import Model
from groundjudge.runs.run import named_twice


def cached_model(name: str, cache: str | None) -> Model:
    """The model of a name, with a file that keeps its replies if one is given."""
    model = as_model(name)
    return CachedModel(model, cache) if cache else model


def judges_of(
    selection: JudgeSelection, model_of: Callable[[str], Model], stop: Stop | None = None
) -> list[AnyJudge]:
    """The judges: one for each name, or one panel of several prompts.

    Exit if the options contradict each other, or if it is not clear who is to vote.

    Args:
        selection: what the options ask for.
        model_of: makes a model of its name.
        stop: when to stop asking for votes; None: the default.

    Raises:
        PromptError, ModelError: as for `load` and `panel`.
    """
    contradiction = _contradiction(selection, stop)
    if contradiction:
        fail(contradiction)
    models = [model_of(name) for name in selection.model or ()]
    if (twice := named_twice(models)) is not None:
        fail(f"--model: two models have the name {twice!r}: to ask one model several times, use --repeats")
    options = selection.rubric_options
    by_name = [[load(name, model=each, **options) for each in models] for name in selection.names]
    judges = _voting(selection, by_name, stop)
    if (twice := named_twice(judges)) is not None:
        fail(f"--judge: two judges have the name {twice!r}: change `name` in one of the prompt files")
    return judges


def _voting(
    selection: JudgeSelection, by_name: Sequence[Sequence[Judge]], stop: Stop | None
) -> list[AnyJudge]:
    """The judges as they vote; `by_name` has a row for each name, and in it a judge for each model."""
    given = {"rule": selection.rule, "stop": stop}
    votes: dict[str, Any] = {option: choice for option, choice in given.items() if choice is not None}
    if selection.repeats:
        return [repeated(judge, selection.repeats, **votes) for (judge,) in by_name]
    if not selection.panel:
        return [judge for (judge,) in by_name]
    if len(selection.model or ()) > 1:
        return [panel(row, **votes) for row in by_name]
    return [panel([judge for (judge,) in by_name], **votes)]


def _contradiction(selection: JudgeSelection, stop: Stop | None) -> str:
    """Why the options make no judges; "" if they do."""
    is_panel, n_models = selection.panel, len(selection.model or ())
    reasons = {
        f"no model given: add --model, which can be {MODELS}": not all(selection.model or [""]),
        "--panel and --repeats are two ways to vote: use one of them": is_panel and selection.repeats,
        "--rule and --stop are about votes: add --repeats N, or --panel": (selection.rule or stop)
        and not (is_panel or selection.repeats),
        "several --model: add --panel to let them vote, or run the command once for each": n_models > 1
        and not is_panel,
        "--panel with one --model: the judges vote, so name two or more with --judge, or add another "
        "--model": is_panel and n_models == 1 and not selection.judge,
        "--panel needs several --model or several --judge: to ask one judge several times, use --repeats N": (
            is_panel and n_models == len(selection.names) == 1
        ),
    }
    return next((reason for reason, applies in reasons.items() if applies), "")
