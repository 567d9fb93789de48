"""From the options of a command to the judges that they ask for: single judges, repeats, and panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from groundjudge.cli.options import MODELS, JudgeSelection
from groundjudge.cli.screen import refuse
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


def judges_of(
    selection: JudgeSelection,
    stop: Stop | None = None,
    *,
    cache: str | None = None,
    model_of: Callable[[str], Model] | None = None,
) -> list[AnyJudge]:
    """The judges: one for each name, or one panel of several prompts.

    Exit if the options contradict each other, or if it is not clear who is to vote.

    Args:
        selection: what the options ask for.
        stop: when to stop asking for votes; None: the default.
        cache: a file that keeps the models' replies; None for no such file.
        model_of: makes a model of its name; None: as `load` does.

    Raises:
        PromptError, ModelError: as for `load` and `panel`.
    """
    has_panel, has_repeats, has_models = (
        selection.panel,
        bool(selection.repeats),
        len(selection.model or ()) > 1,
    )
    judges_vote, has_votes = has_panel and not has_models, has_panel or has_repeats
    refuse(
        (not all(selection.model or [""]), f"no model given: add --model, which can be {MODELS}"),
        (has_panel and has_repeats, "--panel and --repeats are two ways to vote: use one of them"),
        ((selection.rule or stop) and not has_votes, ADD_VOTES),
        (has_models and not has_panel, ADD_PANEL),
        (judges_vote and not selection.judge, NAME_JUDGES),
        (judges_vote and len(selection.names) == 1, USE_REPEATS),
    )
    models = [*map(model_of or as_model, selection.model or ())]
    twice, remedy = named_twice(models), "to ask one model several times, use --repeats"
    refuse((twice, f"--model: two models have the name {twice!r}: {remedy}"))
    models = [CachedModel(model, cache) if cache else model for model in models]
    options = selection.rubric_options
    by_name = [[load(name, model=model, **options) for model in models] for name in selection.names]
    judges = _voting(selection, [*zip(*by_name, strict=True)] if judges_vote else by_name, stop)
    twice = named_twice(judges)
    refuse((twice, f"--judge: two judges have the name {twice!r}: change `name` in one of the prompt files"))
    return judges


def _voting(
    selection: JudgeSelection, groups: Sequence[Sequence[Judge]], stop: Stop | None
) -> list[AnyJudge]:
    """One judge for each group: a panel of it, or its only judge, which may be asked several times."""
    given = (("rule", selection.rule), ("stop", stop))
    votes: dict[str, Any] = {option: choice for option, choice in given if choice is not None}
    if selection.panel:
        return [panel(group, **votes) for group in groups]
    n = selection.repeats
    return [repeated(judge, n, **votes) if n else judge for (judge,) in groups]
