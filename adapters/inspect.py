"""Inspect AI: a judge as a scorer of a task, with any model of Inspect's as the judge's model.

    Task(dataset, solver=generate(), scorer=groundedness(model="openai/gpt-4o-mini"))
    Task(dataset, solver=generate(), scorer=judge("my_judge.prompty", model="openai/gpt-4o-mini"))

    inspect score logs/my.eval --scorer groundjudge/groundedness -S model=openai/gpt-4o-mini

The sample's input is the query, the completion the response, the target the reference; the context is
`context` in the sample's metadata or, without it, what tools returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import nan
from typing import Any, TypeGuard, Unpack, cast

from groundjudge.case.case import Case
from groundjudge.case.fields import ALIASES, Fields, FieldsGiven
from groundjudge.errors import requires
from groundjudge.judging.judge import Judge
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import Panel
from groundjudge.models.lookup import ModelLike
from groundjudge.models.wrappers import FunctionModel
from groundjudge.replies.reply import Reply, tokens_of
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage, Verdict

with requires("groundjudge.adapters.inspect needs Inspect AI", "inspect"):
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        GenerateConfig,
        Model,
        ModelOutput,
        get_model,
    )
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState

__all__ = [
    "confidence_grounding",
    "groundedness",
    "judge",
    "knowledge_hallucination",
    "passage_quality",
    "statement_groundedness",
]

ROOTS = ("input", "output", "target", "messages", "metadata", "store")
"""What a path to a field can begin with."""

CONTEXT_NAMES = ("context", *(name for name in ALIASES["context"] if name not in {"source", "premise"}))
IN_METADATA = (*CONTEXT_NAMES, "conversation", "profile", "agent_name", "answers")
"""The fields that are read from a sample's metadata. Other names of fields mean too many things there."""

MESSAGES: Any = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}

CONFIG_NAMES = {"max_completion_tokens": "max_tokens", "stop": "stop_seqs"}
"""Parameters of a request that have another name in Inspect's configuration."""

SHOWN = {"status", "label", "value", "passed", "parts", "warnings", "signature", "key"}
"""What the metadata of a score shows of a verdict, besides the whole of it."""


class ScorerOptions(PanelOptions, total=False):
    """The keyword arguments of a scorer; the others are options of `groundjudge.as_judge`.

    Attributes:
        model: a model of Inspect's, or its name with a slash ("openai/gpt-4o-mini"); or what else
            `groundjudge.as_judge` accepts ("openai:gpt-4o-mini", "offline"). Without it a judge keeps its
            model, and any other judge uses the model with the `model_role`, or else the model that is
            evaluated.
        model_role: the role, "grader" by default.
        fields: where to find fields with other names, as for `Fields.of`. A path begins with input, output,
            target, messages, metadata or store; a function is called with (state, target).
    """

    model: ModelLike | Model | None
    model_role: str
    fields: FieldsGiven


@scorer(metrics=[mean(), stderr()])
def groundedness(**options: Unpack[ScorerOptions]) -> Scorer:
    """Score with the judge `groundedness`; see `judge`."""
    return _scorer("groundedness", **options)


@scorer(metrics=[mean(), stderr()])
def confidence_grounding(**options: Unpack[ScorerOptions]) -> Scorer:
    """Score with the judge `confidence_grounding`; see `judge`."""
    return _scorer("confidence_grounding", **options)


@scorer(metrics=[mean(), stderr()])
def statement_groundedness(**options: Unpack[ScorerOptions]) -> Scorer:
    """Score with the judge `statement_groundedness`; see `judge`."""
    return _scorer("statement_groundedness", **options)


@scorer(metrics=[mean(), stderr()])
def knowledge_hallucination(**options: Unpack[ScorerOptions]) -> Scorer:
    """Score with the judge `knowledge_hallucination`; see `judge`."""
    return _scorer("knowledge_hallucination", **options)


@scorer(metrics={"*": [mean(), stderr()]})
def passage_quality(**options: Unpack[ScorerOptions]) -> Scorer:
    """Score with the judge `passage_quality`, whose scores are three; see `judge`."""
    return _scorer("passage_quality", by_name=True, **options)


@scorer(metrics={"*": [mean(), stderr()]})
def judge(judge: JudgeLike, **options: Unpack[ScorerOptions]) -> Scorer:
    """Score with any judge.

    Args:
        judge: the path of a prompt file, the name of a judge, a judge, a panel or a rubric. A log can be
            scored again by the scorer it names only if this is a path or a name.
        options: see `ScorerOptions`.

    Returns:
        A scorer whose values are mappings of the names of the judge's scores to the scores, 0..1; those of
        the scorers of a single judge, such as `groundedness`, are numbers. It never raises: a sample with an
        error or with nothing to judge is unscored, with the error's code or "not_applicable" as the reason,
        and counts in no metric. The metadata has label, signature and, as `groundjudge`, the whole verdict.

    Raises:
        GroundjudgeError, TypeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
    """
    return _scorer(judge, by_name=True, **options)


def _scorer(
    judge: JudgeLike,
    *,
    by_name: bool = False,
    model: ModelLike | Model | None = None,
    model_role: str = "grader",
    fields: FieldsGiven = None,
    **options: Unpack[PanelOptions],
) -> Scorer:
    """A scorer that looks up a model of Inspect's for each sample: by then the roles have their models."""
    llm = model if isinstance(model, Model) or _has_slash(model) else None
    by_role = model is None and not isinstance(judge, Judge | Panel)
    is_late = by_role or llm is not None
    made = as_judge(judge, "offline" if is_late else cast("ModelLike | None", model), **options)
    found_by = Fields.of(fields, [each.name for each in made.inputs], ROOTS)

    async def score(state: TaskState, target: Target) -> Score:
        judging = made
        if is_late:
            found = get_model(llm, role=model_role if by_role else None)
            judging = as_judge(made, FunctionModel(partial(_ask, found), str(found)))
        verdict = await judging.aevaluate(lambda: _case(state, target, found_by))
        scores = {one.name: nan if one.score is None else one.score for one in judging.scores(verdict)}
        return _score(verdict, scores if by_name else scores[judging.name], state.output.completion)

    return score


def _has_slash(model: object) -> TypeGuard[str]:
    """Whether a model is given by a name of Inspect's: "openai/gpt-4o-mini"."""
    return isinstance(model, str) and "/" in model.partition(":")[0]


def _score(verdict: Verdict, value: float | Mapping[str, float], answer: str) -> Score:
    """A verdict as a score; NaN is how Inspect marks what is not scored."""
    shown = verdict.model_dump(mode="json", include=SHOWN, exclude_defaults=True)
    given: dict[str, Any] = {
        "answer": answer,
        "explanation": verdict.explanation,
        "metadata": {**shown, "groundjudge": verdict.model_dump(mode="json")},
    }
    if verdict.score is None:
        return Score.unscored(reason=verdict.error.code if verdict.error else verdict.status, **given)
    return Score(value=value, **given)


def _case(state: TaskState, target: Target, fields: Fields) -> Case | Mapping[str, Any]:
    """The case by `fields`, or what the sample and its transcript give."""
    if fields.function:
        return Case.of(fields.function(state, target))
    asked, metadata = state.input, dict(state.metadata)
    # A question and its answer are not an agent's thread, in which "no tool called" is an empty context.
    roles = [message.role for message in state.messages]
    is_thread = bool(state.tools) or "tool" in roles or roles.count("user") > 1
    named = {name: metadata.pop(name) for name in IN_METADATA if name in metadata}
    row = {
        "id": state.sample_id,
        "query": asked if isinstance(asked, str) else Case(query=[*map(_message, asked)]).query_text,
        "response": state.output.completion if state.output.choices else None,
        "messages": [*map(_message, state.messages)] if is_thread else None,
        "reference": [*target] if target.text else None,
        "metadata": metadata,
        **named,
    }
    roots = {name: getattr(state, name) for name in ROOTS if name != "target"}
    return fields.in_row(row, {**roots, "target": [*target]})


def _message(message: ChatMessage) -> dict[str, Any]:
    """A message in OpenAI's shape; Inspect has other names for tools, and keeps their errors apart."""
    tool, error = getattr(message, "function", None), getattr(message, "error", None)
    calls = getattr(message, "tool_calls", None) or ()
    return {
        "role": message.role,
        "content": message.text or (error.message if error else ""),
        "name": tool,
        "tool_calls": [{"name": call.function, "arguments": call.arguments} for call in calls],
    }


async def _ask(llm: Model, request: Request) -> Reply:
    """The reply of a model of Inspect's, whose own settings come before the judge's parameters."""
    parameters = {CONFIG_NAMES.get(name, name): value for name, value in request.parameters.items()}
    unset = {name for name in GenerateConfig.model_fields if getattr(llm.config, name) is None}
    config = GenerateConfig(**{name: value for name, value in parameters.items() if name in unset})
    messages = [MESSAGES[message["role"]](content=message["content"]) for message in request.messages]
    output = await llm.generate([*messages], config=config)
    first = output.choices[0] if output.choices else None
    return Reply(
        output.completion,
        finish_reason=first.stop_reason if first else None,
        usage=_usage(output),
        model=output.model or None,
        refusal=output.error,
        tokens=tokens_of(first.logprobs.model_dump()) if first and first.logprobs else None,
        cost=output.usage.total_cost if output.usage else None,
    )


def _usage(output: ModelOutput) -> Usage | None:
    """The tokens, with those that a cache answered or stored among those of the prompt."""
    used = output.usage
    if not used:
        return None
    cached = (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0)
    return Usage(prompt_tokens=used.input_tokens + cached, completion_tokens=used.output_tokens)
