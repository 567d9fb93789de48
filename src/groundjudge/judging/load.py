"""From what names a judge to the judge: a name, a file, a rubric, a judge, a panel."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast, overload

from groundjudge.errors import PromptError
from groundjudge.judging.judge import Judge
from groundjudge.judging.panel import AnyJudge, Panel, Stop, repeated
from groundjudge.judging.votes import Rule
from groundjudge.models.lookup import ModelLike, model_of
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import RubricOptions, check_options
from groundjudge.rubric.rubric import Rubric, load_rubric

if TYPE_CHECKING:
    from collections.abc import Mapping


JudgeLike: TypeAlias = str | Path | Rubric | AnyJudge
"""What names a judge: a judge, a panel, a rubric, the name of a judge, or the path of a prompt file."""


class JudgeOptions(RubricOptions, total=False):
    """The options of a rubric, and how often the model is asked again after an unreadable reply."""

    max_reasks: int


class PanelOptions(JudgeOptions, total=False):
    """The same, and how often the judge is asked for a vote.

    Attributes:
        repeats: how many votes there are, 2 or more; see `Panel`.
        rule: how the scores of the votes become one: "mean", "median" or "min".
        stop: when to stop asking: "decided" or "never".
    """

    repeats: int
    rule: Rule
    stop: Stop


@overload
def load(name: str | Path, *, model: ModelLike | None = None, **options: Unpack[JudgeOptions]) -> Judge: ...


@overload
def load(
    name: str | Path,
    *,
    model: ModelLike | None = None,
    repeats: int,
    rule: Rule = ...,
    stop: Stop = ...,
    **options: Unpack[JudgeOptions],
) -> Panel: ...


def load(name: str | Path, *, model: ModelLike | None = None, **options: Any) -> AnyJudge:
    """Load a judge by its name, or from a prompt file of your own by its path.

    Args:
        name: one of `names()`, or the path of a prompt file.
        model: a model's name ("openai:gpt-4o-mini", "langchain:anthropic:claude-..."), "offline",
            (client, name), a LangChain chat model, a DeepEvalBaseLLM, a function from the request to its
            reply, or a Model. It must be given.
        options: as for `load_rubric`; max_reasks: how often the model is asked again after a reply that
            cannot be read, 1 by default; repeats: how many times the judge votes on each case, at
            temperature 0.7 unless `parameters` has another one above 0, and with it rule and stop, see
            `Panel`.

    Returns:
        A judge; a panel if `repeats` is given.

    Raises:
        PromptError: there is no such judge, its file breaks its contract, or an option is out of range.
        ModelError: no model was given, or what was given cannot be used as a model.
        TypeError: there is no option of that name.
    """
    judge: AnyJudge = as_judge(name, model, **options)
    return judge


@overload
def as_judge(
    judge: str | Path | Rubric | Judge, model: ModelLike | None = None, **options: Unpack[JudgeOptions]
) -> Judge: ...


@overload
def as_judge(
    judge: JudgeLike, model: ModelLike | None = None, **options: Unpack[PanelOptions]
) -> AnyJudge: ...


def as_judge(judge: JudgeLike, model: ModelLike | None = None, **options: Unpack[PanelOptions]) -> AnyJudge:
    """The judge that is meant by a name, a path, a rubric or a judge. Every adapter resolves judges so.

    Args:
        judge: a judge, a panel or a rubric, or the name or the path of one, which is loaded.
        model: as for `load`. A judge keeps the model that it has if none is given, and so do the judges of
            a panel.
        options: as for `load`. They replace what a judge or a rubric has; those of a panel, what each of its
            judges has.

    Raises:
        PromptError, ModelError, TypeError: as for `load`.
    """
    check_options(options, PanelOptions)
    given: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    votes: dict[str, Any] = {name: given.pop(name) for name in ("repeats", "rule", "stop") if name in given}
    if isinstance(judge, Panel):
        return _changed(judge, model, votes, given)
    if votes and "repeats" not in votes:
        message = f"{' and '.join(votes)}: only a judge that votes has them: pass `repeats` too"
        raise PromptError("bad_panel", message, "repeats")
    if "repeats" in votes:
        _check_temperature(given.get("parameters") or {})
    single = _single(judge, model, given)
    return repeated(single, **votes) if votes else single


def as_model(model: ModelLike | None) -> Model:
    """What can be passed as a model, as a Model: "offline" is the lexical baseline.

    Raises:
        ModelError: `no_model` if it is None, `unknown_model` if it cannot be used as a model.
    """
    if model != "offline":
        return model_of(model)
    from groundjudge.offline.model import OfflineModel  # noqa: PLC0415  loaded only if used

    return OfflineModel()


def _single(judge: str | Path | Rubric | Judge, model: ModelLike | None, given: Mapping[str, Any]) -> Judge:
    options = dict(given)
    max_reasks: int | None = options.pop("max_reasks", None)
    changes = cast("RubricOptions", options)
    if isinstance(judge, Judge):
        rubric = judge.rubric.with_options(**changes) if changes else judge.rubric
        made = replace(judge, rubric=rubric, model=judge.model if model is None else as_model(model))
    else:
        rubric = judge.with_options(**changes) if isinstance(judge, Rubric) else load_rubric(judge, **changes)
        made = Judge(rubric, as_model(model))
    return made if max_reasks is None else replace(made, max_reasks=max_reasks)


def _changed(
    panel: Panel, model: ModelLike | None, votes: Mapping[str, Any], given: Mapping[str, Any]
) -> Panel:
    if "repeats" in votes:
        message = "repeats: a panel's judges vote already: give repeats to load() or to a single judge"
        raise PromptError("bad_panel", message, "repeats")
    judges = tuple(_single(judge, model, given) for judge in panel.judges) if given or model else panel.judges
    return replace(panel, judges=judges, **votes)


def _check_temperature(parameters: Mapping[str, Any]) -> None:
    if parameters.get("temperature") == 0:
        message = (
            "repeats at temperature 0 would repeat one reply: leave temperature out (0.7 is used), "
            "or pass one above 0"
        )
        raise PromptError("bad_panel", message, "temperature")
