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

ADD_VOTES = "--rule and --stop are about votes: add --repeats N, or --panel"
ADD_PANEL = "several --model: add --panel to let them vote, or run the command once for each"
NAME_JUDGES = "--panel with one --model: the judges vote, so name two or more --judge, or add another --model"
USE_REPEATS = "--panel needs several --model or --judge: to ask one judge several times, use --repeats N"


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
    given = (("rule", selection.rule), ("stop", stop))
    votes: dict[str, Any] = {option: choice for option, choice in given if choice is not None}
    if selection.repeats:
        return [repeated(judge, selection.repeats, **votes) for (judge,) in by_name]
    if not selection.panel:
        return [judge for (judge,) in by_name]
    if len(selection.model or ()) > 1:
        return [panel(row, **votes) for row in by_name]
    return [panel([judge for (judge,) in by_name], **votes)]


def _contradiction(selection: JudgeSelection, stop: Stop | None) -> str:
    """Why the options make no judges; "" if they do."""
    has_panel, has_repeats = selection.panel, bool(selection.repeats)
    has_models, is_named = len(selection.model or ()) > 1, bool(selection.judge)
    asks_one = has_panel and not has_models and len(selection.names) == 1
    reasons = {
        f"no model given: add --model, which can be {MODELS}": not all(selection.model or [""]),
        "--panel and --repeats are two ways to vote: use one of them": has_panel and has_repeats,
        ADD_VOTES: (selection.rule or stop) and not (has_panel or has_repeats),
        ADD_PANEL: has_models and not has_panel,
        NAME_JUDGES: has_panel and not has_models and not is_named,
        USE_REPEATS: asks_one,
    }
    return next((reason for reason, applies in reasons.items() if applies), "")
