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
from typing import Any, Unpack

from pydantic import TypeAdapter

from groundjudge.case.fields import ALIASES, Fields, FieldsLike
from groundjudge.errors import requires
from groundjudge.judging.judge import BaseJudge
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.models.lookup import FunctionModel, ModelLike
from groundjudge.replies.reply import Reply, tokens_of, usage_of
from groundjudge.rubric.rubric import Request

with requires("groundjudge.adapters.inspect needs Inspect AI", "inspect"):
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, get_model
    from inspect_ai.model._generate_config import active_generate_config
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

MESSAGES = TypeAdapter[list[ChatMessage]](list[ChatMessage])

PATIENCE = 120
"""Seconds after which a call is not tried again, unless the configuration of the model or of the evaluation
has a limit: without one, Inspect asks an endpoint that always fails for ever."""

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
    fields: FieldsLike


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


def _scorer(judge: JudgeLike, *, by_name: bool = False, **options: Unpack[ScorerOptions]) -> Scorer:
    """A scorer that looks up a model of Inspect's for each sample: by then the roles have their models."""
    given: dict[str, Any] = {"model": None, "model_role": "grader", "fields": None, **options}
    model, role, fields = (given.pop(name) for name in ("model", "model_role", "fields"))
    is_inspects = isinstance(model, Model) or (isinstance(model, str) and "/" in model.partition(":")[0])
    by_role = model is None and not isinstance(judge, BaseJudge)
    own: Any = "offline" if is_inspects or by_role else model
    made = as_judge(judge, own, **given)
    case_of = made.cases(fields, ROOTS, _case)
    down = set[str]()

    async def score(state: TaskState, target: Target) -> Score:
        judging = made
        if is_inspects or by_role:
            llm = get_model(model, role=role if by_role else None)
            judging = as_judge(made, FunctionModel(partial(_ask, llm, down), str(llm)))
        verdict = await judging.aevaluate(lambda: case_of(state, target))
        # NaN is how Inspect marks what is not scored.
        values = {one.name: nan if one.score is None else one.score for one in judging.scores(verdict)}
        code = verdict.error.code if verdict.error else verdict.status
        shown = verdict.model_dump(mode="json", include=SHOWN, exclude_defaults=True)
        return Score(
            value=values if by_name and verdict.score is not None else values[judging.name],
            answer=state.output.completion,
            explanation=verdict.explanation,
            metadata={**shown, "groundjudge": verdict.model_dump(mode="json")},
            reason=None if verdict.status == "ok" else code,
        )

    return score


def _case(fields: Fields, state: TaskState, target: Target) -> Mapping[str, Any]:
    """What the sample and its transcript give."""
    # A question and its answer are not an agent's thread, in which "no tool called" is an empty context.
    roles = [message.role for message in state.messages]
    is_thread = bool(state.tools) or "tool" in roles or roles.count("user") > 1
    asked = () if isinstance(state.input, str) else [each for each in state.input if each.role == "user"]
    answered = state.output.message if state.output.choices else None
    row = {
        "id": state.sample_id,
        "query": _said(asked[-1]) if asked else state.input_text,
        # An agent that calls a tool in its last message was cut off: it did not answer.
        "response": None if answered is None or answered.tool_calls else _said(answered),
        "messages": state.messages if is_thread else None,
        "reference": [*target] if target.text else None,
        "metadata": state.metadata,
        **{name: state.metadata[name] for name in IN_METADATA if name in state.metadata},
    }
    return fields.in_row(row, {**{name: getattr(state, name) for name in ROOTS}, "target": [*target]})


def _said(message: ChatMessage) -> object:
    """The text of a message, or the message if it holds more than text."""
    parts = () if isinstance(message.content, str) else message.content
    return message.text if {part.type for part in parts} <= {"text", "reasoning"} else [message]


async def _ask(llm: Model, down: set[str], request: Request) -> Reply:
    """The reply of a model of Inspect's, whose own settings come before the judge's parameters.

    Args:
        llm: the model.
        down: the models whose last call was given up: the next one is tried once, or a thousand samples
            would each wait in vain.
        request: what it is asked.
    """
    parameters = {CONFIG_NAMES.get(name, name): value for name, value in request.parameters.items()}
    own, run = llm.config, active_generate_config()
    unset = {name: value for name, value in parameters.items() if getattr(own, name, ...) is None}
    if all(each is None for each in (own.timeout, own.max_retries, run.timeout, run.max_retries)):
        unset["timeout"] = 0 if str(llm) in down else PATIENCE
    messages = MESSAGES.validate_python([*map(dict, request.messages)])
    try:
        output = await llm.generate(messages, config=GenerateConfig(**unset))
    except Exception:
        down.add(str(llm))
        raise
    down.discard(str(llm))
    first, used = output.choices[0] if output.choices else None, output.usage
    # Inspect counts tokens that a cache answered or stored apart from those of the prompt.
    prompt = (used.input_tokens, used.input_tokens_cache_read, used.input_tokens_cache_write) if used else ()
    n_prompt = sum(filter(None, prompt))
    return Reply(
        output.completion,
        finish_reason=first.stop_reason if first else None,
        usage=usage_of(n_prompt, used.output_tokens) if used else None,
        model=output.model or None,
        refusal=output.error,
        tokens=tokens_of(first.logprobs.model_dump()) if first and first.logprobs else None,
        cost=used.total_cost if used else None,
    )
