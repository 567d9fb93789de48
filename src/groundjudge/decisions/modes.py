"""Who decides, in DeepEval's words: a text model, a decision model, or one after the other."""

from __future__ import annotations

import os
from typing import Literal, TypeAlias, Unpack, get_args

from groundjudge.errors import PromptError
from groundjudge.judging.cascade import Cascade, cascade
from groundjudge.judging.judge import BaseJudge, Judge
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.lookup import ModelLike

EvalMode: TypeAlias = Literal["llm", "hybrid", "system_one"]
"""A text model; a decision model, then a text model if that is not sure; a decision model."""

# Chosen, not measured: `groundjudge calibrate --cascade` finds a judge's bounds from labels.
SURE = (0.1, 0.9)
"""When a decision model's score is final with `hybrid`, if the threshold is between the two."""


def judge_by_mode(
    judge: JudgeLike,
    model: ModelLike | None,
    eval_mode: EvalMode | None,
    system_one_model: ModelLike | None,
    *,
    setting: str,
    **options: Unpack[PanelOptions],
) -> AnyJudge:
    """Make a judge with the model of a mode.

    The mode is `eval_mode`, or else "llm" if a model is passed, alone or in a judge, or else the setting.

    Args:
        judge: as for `as_judge`.
        model: the text model; with "system_one" the decision model.
        eval_mode: the mode; None: as above.
        system_one_model: the decision model; by default TypeSafe's.
        setting: the mode that the environment names.
        options: as for `as_judge`.

    Raises:
        PromptError: `bad_eval_mode`: there is no such mode, or it does not fit the models.
        GroundjudgeError, TypeError: as for `as_judge`.
    """
    mode: str = setting
    # The environment comes last: it must not override a model that the code names.
    if eval_mode is not None:
        mode = eval_mode
    elif model is not None or isinstance(judge, BaseJudge):
        mode = "llm"
    if mode not in get_args(EvalMode):
        raise _mode_error(
            "eval_mode", f"there is no mode {mode!r}: use one of {', '.join(get_args(EvalMode))}"
        )
    if mode == "llm":
        if system_one_model is not None:
            raise _mode_error(
                "system_one_model", "only eval_mode system_one and hybrid use it: pass one of them"
            )
        llm_judge = as_judge(judge, model, **options)
        if eval_mode == "llm" and not _writes_text(llm_judge):
            raise _mode_error("eval_mode", "llm cannot use a decision model: pass system_one")
        return llm_judge
    # A copy of a metric is made from the metric's judge, which already fits its mode.
    if mode == "hybrid" and isinstance(judge, Cascade):
        return as_judge(judge, **options)
    if mode == "system_one" and model is not None:
        if system_one_model is not None:
            raise _mode_error("system_one_model", "system_one asks one model: pass `model` or this, not both")
        system_one_model = model
    decision_model: ModelLike | None = None  # that of the judge
    if not isinstance(judge, Judge) or _writes_text(judge):
        decision_model = _decision_model(system_one_model)
    decision_judge = as_judge(judge, decision_model, **options)
    if any(rubric.way.writes_text for rubric in decision_judge.rubrics):
        fault = f"{mode} needs a decision model, but {decision_judge.model_name} answers with text"
        raise _mode_error("model", fault)
    if mode == "system_one":
        return decision_judge
    text_judge = as_judge(judge, model, **options)
    if not _writes_text(text_judge):
        raise _mode_error("model", "hybrid needs a text model as well as the decision model")
    if not isinstance(decision_judge, Judge) or not isinstance(text_judge, Judge):
        raise _mode_error("eval_mode", "hybrid asks two single judges: it cannot use repeats or panels")
    low, high = SURE
    threshold = text_judge.threshold
    # A score that is final as low must fail, and one that is final as high must pass.
    until = (low if low < threshold else None, max(high, threshold))
    return cascade([decision_judge, text_judge], until=until)


def _writes_text(judge: AnyJudge) -> bool:
    """Return whether all models of a judge answer with text, and none with probabilities."""
    return all(rubric.way.writes_text for rubric in judge.rubrics)


def _decision_model(passed: ModelLike | None) -> ModelLike:
    """Return the decision model that was passed, or TypeSafe's."""
    if passed is None:
        passed = os.environ.get("TYPESAFE_DEFAULT_MODEL") or "jev-latest"
    # DeepEval's users name TypeSafe's models without a prefix.
    if isinstance(passed, str) and ":" not in passed:
        return f"systemone:{passed}"
    return passed


def _mode_error(subject: str, fault: str) -> PromptError:
    return PromptError("bad_eval_mode", f"{subject}: {fault}", subject)
