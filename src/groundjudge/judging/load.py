"""From what names a judge to the judge: a name, a file, a rubric, a judge, a panel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, Unpack, overload

from groundjudge.judging.judge import Judge
from groundjudge.judging.panel import AnyJudge, Panel, Rule, Stop, bad_panel, repeat_judge
from groundjudge.models.lookup import ModelLike, model_of
from groundjudge.rubric.model import Model
from groundjudge.rubric.options import RubricOptions, check_options
from groundjudge.rubric.rubric import Rubric, load_rubric

JudgeLike: TypeAlias = str | Path | Rubric | AnyJudge
"""What names a judge: a judge, a panel, a rubric, the name of a judge, or the path of a prompt file."""


class JudgeOptions(RubricOptions, total=False):
    """The options of a judge: those of a rubric, and `max_reasks`; see `load`."""

    max_reasks: int


class VotingOptions(JudgeOptions, total=False):
    """The options of a judge, and how votes become a verdict.

    Attributes:
        rule: how the scores of the votes become one: "mean", "median" or "min".
        stop: when to stop asking: "decided" or "never".
    """

    rule: Rule
    stop: Stop


class PanelOptions(VotingOptions, total=False):
    """The options of a judge, how votes become a verdict (`rule`, `stop`; see `Panel`), and `repeats`.

    With `repeats`, 2 or more, the judge is asked for so many votes on each case.
    """

    repeats: int


@overload
def load(name: str | Path, *, model: ModelLike | None = None, **options: Unpack[JudgeOptions]) -> Judge: ...


@overload
def load(
    name: str | Path, *, model: ModelLike | None = None, repeats: int, **options: Unpack[VotingOptions]
) -> Panel: ...


def load(name: str | Path, *, model: ModelLike | None = None, **options: Unpack[PanelOptions]) -> AnyJudge:
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
        if "repeats" in votes:
            raise bad_panel("repeats", "a panel's judges vote already: give it to load() or a single judge")
        return replace(judge, judges=tuple(_single(each, model, given) for each in judge.judges), **votes)
    if votes and "repeats" not in votes:
        raise bad_panel(" and ".join(votes), "only a judge that votes has them: pass `repeats` too")
    if votes and given.get("parameters", {}).get("temperature") == 0:
        raise bad_panel("temperature", "0 would repeat one reply: leave it out for 0.7, or pass one above 0")
    single = _single(judge, model, given)
    return repeat_judge(single, **votes) if votes else single


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
    options = {name: value for name, value in given.items() if name != "max_reasks"}
    changes = {"max_reasks": given["max_reasks"]} if "max_reasks" in given else {}
    if isinstance(judge, Judge):
        changes["model"] = judge.model if model is None else as_model(model)
        return replace(judge, rubric=judge.rubric.with_options(**options), **changes)
    rubric = judge.with_options(**options) if isinstance(judge, Rubric) else load_rubric(judge, **options)
    return Judge(rubric, as_model(model), **changes)
