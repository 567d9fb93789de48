"""Inspect AI: a judge as a scorer of a task, with any Inspect model as the judge's model.

    Task(dataset, solver=generate(), scorer=groundedness(model="openai/gpt-6-luna"))
    Task(dataset, solver=generate(), scorer=judge("my_judge.prompty", model="openai/gpt-6-luna"))

    inspect score logs/my.eval --scorer groundjudge/groundedness -S model=openai/gpt-6-luna

The sample's input is the query, the completion the response, the target the reference; the context is
`context` in the sample's metadata or, without it, what tools returned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from math import nan
from typing import Any, Unpack

from pydantic import TypeAdapter

from groundjudge.case.fields import ALIASES, Fields, FieldsLike
from groundjudge.errors import did_you_mean, requires
from groundjudge.judging.judge import BaseJudge
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge, model_to_come
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.function import FunctionModel
from groundjudge.models.lookup import ModelLike
from groundjudge.models.returned import tokens_of, usage_of
from groundjudge.replies.reply import Reply
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Verdict

with requires("groundjudge.adapters.inspect needs Inspect AI", "inspect"):
    from inspect_ai.model import ChatMessage, GenerateConfig, Model, ModelOutput, get_model
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

CONTEXT_NAMES = [name for name in ALIASES["context"] if name not in {"source", "premise"}]
IN_METADATA = (*CONTEXT_NAMES, "conversation", "profile", "agent_name", "answers")
"""The fields that are read from a sample's metadata. Other field names mean too many things there."""

MESSAGES = TypeAdapter[list[ChatMessage]](list[ChatMessage])

PATIENCE = 120
"""Seconds after which a call is not retried, unless the configuration of the model or of the evaluation has a
limit: without one, Inspect asks an endpoint that always fails forever."""

CONFIG_NAMES = {"max_completion_tokens": "max_tokens", "stop": "stop_seqs"}
"""Parameters of a request that have a different name in Inspect's configuration."""

NOT_SENT = {"response_format"}
"""Parameters that a judge can do without: its replies are read the same."""

IN_SCORE = {"status", "label", "value", "passed", "parts", "warnings", "signature", "key"}
"""What the metadata of a score shows of a verdict, in addition to the whole verdict."""


class ScorerOptions(PanelOptions, total=False):
    """The keyword arguments of a scorer; the others are options of `groundjudge.as_judge`.

    Attributes:
        model: an Inspect model, or its name with a slash ("openai/gpt-6-luna"); or anything else that
            `groundjudge.as_judge` accepts ("openai:gpt-6-luna", "offline"). Without it a loaded judge keeps
            its model, and any other uses the model with the `model_role`, or else the evaluated model.
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
            rescored by the scorer it names only if this is a path or a name.
        options: see `ScorerOptions`.

    Returns:
        A scorer whose values are mappings of the names of the judge's scores to the scores, 0..1; those of
        the scorers of a single judge, such as `groundedness`, are numbers. It never raises: a sample with an
        error or with nothing to judge is unscored, with the error's code or "not_applicable" as the reason,
        and counts in no metric. The metadata has label, signature and, as `groundjudge`, the whole verdict.

    Raises:
        GroundjudgeError, TypeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
        TypeError: also for a parameter that Inspect's configuration of a model does not have.
    """
    return _scorer(judge, by_name=True, **options)


def _scorer(judge: JudgeLike, *, by_name: bool = False, **options: Unpack[ScorerOptions]) -> Scorer:
    """Return a scorer that looks up an Inspect model for each sample: by then the roles have their models."""
    judge_options: dict[str, Any] = dict(options)
    model = judge_options.pop("model", None)
    role = judge_options.pop("model_role", "grader")
    fields = judge_options.pop("fields", None)
    # "openai/gpt-6-luna" is Inspect's way to name a model, and "openai:gpt-6-luna" this library's. A slash
    # after the colon belongs to the model's name: "openai:meta/llama".
    is_model_of_inspect = isinstance(model, Model)
    if isinstance(model, str):
        is_model_of_inspect = "/" in model.partition(":")[0]
    # A loaded judge has its model; a name or a path uses that of the role.
    by_role = model is None and not isinstance(judge, BaseJudge)
    needs_inspect = is_model_of_inspect or by_role
    # A placeholder until a sample is scored: options and fields are checked before the evaluation.
    loaded = as_judge(judge, model_to_come if needs_inspect else model, **judge_options)
    if needs_inspect:
        _check_parameters(loaded)
    case_of = loaded.cases(fields, ROOTS, _case_of)
    models_down: set[str] = set()

    async def score(state: TaskState, target: Target) -> Score:
        sample_judge = loaded
        if needs_inspect:
            # Only while a sample is scored do the roles have their models.
            model_of_inspect = get_model(model, role=role if by_role else None)
            ask = partial(_ask_model, model_of_inspect, models_down)
            sample_judge = as_judge(loaded, FunctionModel(ask, str(model_of_inspect)))
        verdict = await sample_judge.aevaluate(lambda: case_of(state, target))
        return _result_of(verdict, sample_judge, state, by_name=by_name)

    return score


def _case_of(fields: Fields, state: TaskState, target: Target) -> Mapping[str, Any]:
    """Return the fields that the sample and its transcript give."""
    row: dict[str, Any] = {
        "id": state.sample_id,
        "query": _query_of(state),
        "response": _response_of(state),
        "messages": None,
        "reference": list(target) if target.text else None,  # a sample without a target has an empty one
        "metadata": state.metadata,
    }
    # Only an agent's messages are passed: of a thread without calls of tools, an empty context is read, and
    # where there is no agent, a context that is missing must be an error.
    roles = [message.role for message in state.messages]
    if state.tools or "tool" in roles or roles.count("user") > 1:
        row["messages"] = state.messages
    for name in IN_METADATA:
        if name in state.metadata:
            row[name] = state.metadata[name]
    roots: dict[str, Any] = {root: getattr(state, root) for root in ROOTS}
    roots["target"] = list(target)  # a Target is not a plain list, which a path such as target[0] needs
    return fields.in_row(row, roots)


def _query_of(state: TaskState) -> object:
    """Return the last thing that the sample's user asked: a text, or a message with an image in it."""
    if not isinstance(state.input, str):
        questions = [message for message in state.input if message.role == "user"]
        if questions:
            return _text_or_message(questions[-1])
    return state.input_text


def _response_of(state: TaskState) -> object:
    """Return the answer, as a text or a message; None without one."""
    if not state.output.choices:  # the model failed, or the task has no solver
        return None
    message = state.output.message
    if message.tool_calls:  # an agent that calls a tool in its last message was cut off: it did not answer
        return None
    return _text_or_message(message)


def _text_or_message(message: ChatMessage) -> object:
    """Return the text of a message, or a list of the message if it contains more than text."""
    if not isinstance(message.content, str):
        for part in message.content:
            # `message.text` leaves out reasoning, which is not part of the answer, but also images: the case
            # must see these, to warn that the judge is not shown them.
            if part.type not in {"text", "reasoning"}:
                return [message]
    return message.text


def _result_of(verdict: Verdict, judge: AnyJudge, state: TaskState, *, by_name: bool) -> Score:
    """Return the verdict as a score: a mapping with `by_name`, else the headline's number."""
    values: dict[str, float] = {}
    for named_score in judge.scores(verdict):
        # NaN is how Inspect marks what is not scored.
        values[named_score.name] = nan if named_score.score is None else named_score.score
    reason: str | None = None
    if verdict.error:
        reason = verdict.error.code
    elif verdict.status != "ok":
        reason = verdict.status
    metadata = verdict.model_dump(mode="json", include=IN_SCORE, exclude_defaults=True)
    metadata["groundjudge"] = verdict.model_dump(mode="json")
    value: float | dict[str, float] = values[judge.name]
    # Inspect treats a sample as unscored if its whole value is NaN, not a mapping.
    if by_name and verdict.score is not None:
        value = dict(values)
    return Score(
        value=value,
        answer=state.output.completion,
        explanation=verdict.explanation,
        metadata=metadata,
        reason=reason,
    )


def _check_parameters(judge: AnyJudge) -> None:
    """Check that Inspect can send each parameter of a judge's prompts.

    Raises:
        TypeError: its configuration has no such parameter.
    """
    known_names = [*GenerateConfig.model_fields, *CONFIG_NAMES, *NOT_SENT]
    for rubric in judge.rubrics:
        for name in rubric.prompt.parameters:
            # `GenerateConfig` would drop it silently.
            if name not in known_names:
                fault = f"Inspect's models have no parameter {name!r}{did_you_mean(name, known_names)}"
                message = f"{fault}; parameters that only some endpoints know belong in `extra_body`"
                raise TypeError(message)


async def _ask_model(model: Model, models_down: set[str], request: Request) -> Reply:
    """Return the reply of an Inspect model, whose own settings come before the judge's parameters.

    Args:
        model: the model.
        models_down: the models whose last call was given up: the next call is tried once, or a thousand
            samples would each wait in vain.
        request: what it is asked.
    """
    settings: dict[str, Any] = {}
    for name, value in request.parameters.items():
        config_name = CONFIG_NAMES.get(name, name)
        # What the model's own settings say comes first.
        if name not in NOT_SENT and getattr(model.config, config_name) is None:
            settings[config_name] = value
    evaluation = active_generate_config()
    limits = (model.config.timeout, model.config.max_retries, evaluation.timeout, evaluation.max_retries)
    if all(limit is None for limit in limits):
        # Inspect's `timeout` covers a call with all its retries: 0 leaves only the first try.
        settings["timeout"] = 0 if str(model) in models_down else PATIENCE
    messages = MESSAGES.validate_python([dict(message) for message in request.messages])
    try:
        output = await model.generate(messages, config=GenerateConfig(**settings))
    except Exception:
        models_down.add(str(model))
        raise  # the verdict becomes an error with the message of Inspect
    models_down.discard(str(model))
    return _reply_of(output)


def _reply_of(output: ModelOutput) -> Reply:
    """Return an Inspect model's output as a reply."""
    reply = Reply(output.completion, model=output.model or None, refusal=output.error)
    if output.choices:  # an error has none
        choice = output.choices[0]
        tokens = tokens_of(choice.logprobs.model_dump()) if choice.logprobs else None
        other_texts = tuple(other.message.text for other in output.choices[1:])
        reply = replace(reply, finish_reason=choice.stop_reason, tokens=tokens, other_texts=other_texts)
    if output.usage:
        # Inspect counts tokens that a cache answered or stored separately from those of the prompt.
        prompt_tokens = output.usage.input_tokens
        prompt_tokens += output.usage.input_tokens_cache_read or 0
        prompt_tokens += output.usage.input_tokens_cache_write or 0
        usage = usage_of(
            prompt_tokens,
            output.usage.output_tokens,
            cached=output.usage.input_tokens_cache_read,
            reasoning=output.usage.reasoning_tokens,
        )
        reply = replace(reply, usage=usage, cost=output.usage.total_cost)
    return reply
