"""Decision models of other libraries, and functions in their place: asked in their words, without imports.

A library's classes for questions come from the library itself, which has been imported by whoever made the
model. What it answers becomes the JSON that an endpoint would have sent; a rubric reads that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from groundjudge.case.data import as_json, declared_fields, is_list, is_mapping
from groundjudge.models.decision_forms import options_of, state_of, system_one_questions
from groundjudge.models.loop_thread import call_function
from groundjudge.models.pacing import MAX_WRAPPERS
from groundjudge.models.redaction import text_of
from groundjudge.replies.reply import Reply, usage_of
from groundjudge.rubric.rubric import Request
from groundjudge.verdict import Usage

UNSTREAMED = {"tags": ["nostream"]}
"""The config of LangChain's calls: inside LangGraph, the judge's calls are no part of the application's."""

STATE_AND_QUESTIONS = 2
"""How many arguments a function takes that answers questions; one that answers messages takes the request."""


@dataclass(frozen=True)
class Library:
    """A library's kind of decision model.

    Attributes:
        package: where its classes for questions are.
        ask: from the model, that package and a request to what the model answers.
    """

    package: str
    ask: Callable[[Any, Any, Request], Awaitable[Reply]]


async def _ask_langchain(model: Any, package: Any, request: Request) -> Reply:  # noqa: ANN401
    questions: dict[str, Any] = {}
    for question_id, question in system_one_questions(request).items():
        make_question = package.Choice if question["type"] == "choice" else package.Score
        questions[question_id] = make_question(
            instructions=question["instructions"], criteria=question["criteria"]
        )
    response = await _invoke(model, {"state": _state_for(request), "questions": questions})
    return decision_reply(response)


async def _ask_openai_decisions(model: Any, package: Any, request: Request) -> Reply:  # noqa: ANN401
    questions: dict[str, Any] = {}
    for question in request.questions:
        if question.type == "choice":
            choices = options_of(question)
            questions[question.id] = package.Choice(instructions=question.instructions, choices=choices)
        else:
            levels: list[Any] = []
            for option in question.options:
                levels.append(package.Level(label=option.key, description=option.description))
            questions[question.id] = package.Score(instructions=question.instructions, levels=levels)
    response = await _invoke(model, {"input": _state_for(request), "questions": questions})
    return decision_reply(response)


async def _invoke(model: Any, argument: object) -> object:  # noqa: ANN401  a runnable
    return await _call(model.ainvoke, model.invoke, argument, UNSTREAMED)


async def _ask_deepeval(model: Any, package: Any, request: Request) -> Reply:  # noqa: ANN401
    questions: dict[str, Any] = {}
    for question_id, question in system_one_questions(request).items():
        instructions, criteria = question["instructions"], question["criteria"]
        if question["type"] == "choice":
            questions[question_id] = package.ChoiceQuestion(instructions=instructions, options=criteria)
        else:
            questions[question_id] = package.ScoreQuestion(instructions=instructions, levels=criteria)
    try:
        answers, cost = await _call(model.a_decide, model.decide, _state_for(request), questions)
    except Exception as error:
        # DeepEval's retries end in an error of tenacity, which hides the status.
        if type(error).__name__ == "RetryError" and error.__cause__ is not None:
            raise error.__cause__ from None
        raise
    answers_by_id: dict[str, Any] = {}
    for question_type, answers_of_type in (("choice", answers.choices), ("score", answers.scores)):
        for question_id, answer in answers_of_type.items():
            answers_by_id[question_id] = {"type": question_type, "probabilities": answer.probabilities}
    return decision_reply(answers_by_id, cost if isinstance(cost, int | float) else None)


async def _ask_pydantic_ai(model: Any, package: Any, request: Request) -> Reply:  # noqa: ANN401
    questions: dict[str, Any] = {}
    for question_id, question in system_one_questions(request).items():
        choice = question["type"] == "choice"
        make_question = package.ChoiceQuestion if choice else package.ScoreQuestion
        questions[question_id] = make_question(
            instructions=question["instructions"], criteria=question["criteria"]
        )
    response = await model.decide(package.DecisionRequest(state=_state_for(request), questions=questions), {})
    return decision_reply(response)


LIBRARIES: Mapping[str, Library] = {
    "BaseDecisionModel": Library("langchain_core.decisions", _ask_langchain),
    "TypeSafeClassifier": Library("langchain_typesafe", _ask_langchain),
    "OpenAIDecisions": Library("langchain_openai.decisions", _ask_openai_decisions),
    "DeepEvalBaseSystemOneModel": Library("deepeval.models.system_one", _ask_deepeval),
    "DecisionModel": Library("pydantic_ai.models.decision", _ask_pydantic_ai),
}
"""The libraries by the names of the classes that their decision models have, or are derived from."""


def library_of(model: object) -> Library | None:
    """Return the library whose decision model something is, also behind LangChain's `with_retry`."""
    wrapped: object = model
    for _ in range(MAX_WRAPPERS):
        for kind in type(wrapped).__mro__:
            library = LIBRARIES.get(kind.__name__)
            if library is not None and kind.__module__.startswith(library.package.partition(".")[0]):
                return library
        if not hasattr(type(wrapped), "ainvoke"):
            return None
        wrapped = getattr(wrapped, "bound", getattr(wrapped, "runnable", None))
    return None


async def ask_library(library: Library, model: object, request: Request) -> Reply:
    """Ask a library's decision model.

    Raises:
        Exception: whatever it raises.
    """
    return await library.ask(model, import_module(library.package), request)


def takes_questions(function: Callable[..., Any]) -> bool:
    """Whether a function has two required parameters, state and questions, instead of one, the request."""
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # some that are written in C have none
        return False
    required = [
        parameter
        for parameter in parameters
        if parameter.default is Parameter.empty
        and parameter.kind in {Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD}
    ]
    return len(required) == STATE_AND_QUESTIONS


async def ask_function(function: Callable[..., Any], request: Request) -> Reply:
    """Return what a function answers to the state and the questions of a request.

    Raises:
        Exception: whatever it raises.
    """
    answer = await call_function(function, _state_for(request), system_one_questions(request))
    return decision_reply(answer)


def _state_for(request: Request) -> dict[str, Any]:
    """Return the state of a request for code that may change it, which the next request must not see."""
    return deepcopy(state_of(request))


def decision_reply(answer: object, cost: float | None = None) -> Reply:
    """Return what a library or a function answered as JSON. It is not checked here: a rubric reads it.

    Args:
        answer: a Reply, the JSON as a text, the answers by the ids of their questions, or all that an
            endpoint answers, with `answers`; as mappings or as objects.
        cost: what the call cost.

    Raises:
        TypeError: it is nothing of these.
    """
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply(answer, cost=cost)
    body = _fields_of(answer)
    if body is None:
        message = f"a decision model's answer must be a mapping of answers, not {type(answer).__name__}"
        raise TypeError(message)
    if not is_mapping(body.get("answers")) and not is_list(body.get("answers")):
        body = {"answers": body}
    counts = _fields_of(body.get("usage"))
    usage: Usage | None = None
    if counts is not None:
        usage = usage_of(
            counts.get("input_tokens"), counts.get("output_tokens"), cached=counts.get("cache_read_tokens")
        )
    name = body.get("model", body.get("model_name"))
    return Reply(
        as_json({"answers": body["answers"]}),
        usage=usage,
        model=name if isinstance(name, str) else None,
        cost=cost,
    )


def _fields_of(value: object) -> Mapping[str, Any] | None:
    """Return a mapping, or an object's fields as one; None of anything else."""
    if is_mapping(value):
        return value
    return declared_fields(value)


async def _call(
    method: Callable[..., Awaitable[Any]], sync_method: Callable[..., Any], *arguments: object
) -> Any:  # noqa: ANN401
    """Return what an asynchronous method returns, or else its synchronous one, in a thread."""
    try:
        return await method(*arguments)
    except RuntimeError as error:  # NotImplementedError is one too
        # An async client may belong to an event loop that has ended. The sync client needs no loop.
        if not isinstance(error, NotImplementedError) and "loop" not in text_of(error):
            raise
        return await call_function(sync_method, *arguments)
