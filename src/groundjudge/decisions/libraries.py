"""Decision models of other libraries, and functions, asked through their own interfaces, without imports.

A library's classes for questions come from the library itself, which was imported to create the model. Its
answer becomes the JSON that an endpoint would have sent; a rubric reads that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any, TypeAlias

from groundjudge.case.data import as_json, fields_of, is_list, is_mapping
from groundjudge.decisions.answers import reply_with
from groundjudge.decisions.inquiry import Inquiry, inquiry_of
from groundjudge.decisions.question import system_one_questions
from groundjudge.decisions.way import DecisionWay
from groundjudge.models.function import FunctionModel
from groundjudge.models.library import UNSTREAMED, LibraryModel, call_library
from groundjudge.models.loop_thread import call_function
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import MAX_WRAPPERS
from groundjudge.rubric.rubric import Request

DecisionFunction: TypeAlias = Callable[[dict[str, Any], dict[str, Any]], Any]
"""A function that takes the state and the questions in the System One form, and returns the answers in it."""


AskPackage: TypeAlias = Callable[[Any, Any, Inquiry], Awaitable[Reply]]
"""Takes a model, its package and an inquiry; returns what the model answers."""


Maker: TypeAlias = tuple[Callable[..., Any], str]
"""A library's class for questions of one type, and its argument for their options."""


def _make_questions(inquiry: Inquiry, choice: Maker, score: Maker) -> dict[str, Any]:
    """Make the questions of a library."""
    questions: dict[str, Any] = {}
    for question_id, question in system_one_questions(inquiry.questions).items():
        make, options_name = choice if question["type"] == "choice" else score
        arguments = {"instructions": question["instructions"], options_name: question["criteria"]}
        questions[question_id] = make(**arguments)
    return questions


async def _ask_langchain(model: Any, package: Any, inquiry: Inquiry) -> Reply:  # noqa: ANN401
    questions = _make_questions(inquiry, (package.Choice, "criteria"), (package.Score, "criteria"))
    return await _invoke(model, {"state": inquiry.state, "questions": questions})


async def _ask_openai_decisions(model: Any, package: Any, inquiry: Inquiry) -> Reply:  # noqa: ANN401
    def score(instructions: str, levels: list[str]) -> object:
        named_levels: list[Any] = []
        for index, description in enumerate(levels):
            named_levels.append(package.Level(label=str(index), description=description))
        return package.Score(instructions=instructions, levels=named_levels)

    questions = _make_questions(inquiry, (package.Choice, "choices"), (score, "levels"))
    return await _invoke(model, {"input": inquiry.state, "questions": questions})


async def _invoke(model: Any, argument: object) -> Reply:  # noqa: ANN401  a runnable
    return _decision_reply(await call_library(model.ainvoke, model.invoke, argument, UNSTREAMED))


async def _ask_deepeval(model: Any, package: Any, inquiry: Inquiry) -> Reply:  # noqa: ANN401
    choice, score = (package.ChoiceQuestion, "options"), (package.ScoreQuestion, "levels")
    questions = _make_questions(inquiry, choice, score)
    try:
        answers, cost = await call_library(model.a_decide, model.decide, inquiry.state, questions)
    except Exception as error:
        # DeepEval's retries end in a tenacity error, which hides the status.
        if type(error).__name__ == "RetryError" and error.__cause__ is not None:
            raise error.__cause__ from None
        raise
    answers_by_id: dict[str, Any] = {}
    for question_type, answers_of_type in (("choice", answers.choices), ("score", answers.scores)):
        for question_id, answer in answers_of_type.items():
            answers_by_id[question_id] = {"type": question_type, "probabilities": answer.probabilities}
    return replace(_decision_reply(answers_by_id), cost=cost if isinstance(cost, int | float) else None)


async def _ask_pydantic_ai(model: Any, package: Any, inquiry: Inquiry) -> Reply:  # noqa: ANN401
    choice, score = (package.ChoiceQuestion, "criteria"), (package.ScoreQuestion, "criteria")
    questions = _make_questions(inquiry, choice, score)
    response = await model.decide(package.DecisionRequest(state=inquiry.state, questions=questions), {})
    return _decision_reply(response)


LIBRARIES: Mapping[str, tuple[str, AskPackage]] = {
    "BaseDecisionModel": ("langchain_core.decisions", _ask_langchain),
    "TypeSafeClassifier": ("langchain_typesafe", _ask_langchain),
    "OpenAIDecisions": ("langchain_openai.decisions", _ask_openai_decisions),
    "DeepEvalBaseSystemOneModel": ("deepeval.models.system_one", _ask_deepeval),
    "DecisionModel": ("pydantic_ai.models.decision", _ask_pydantic_ai),
}
"""The classes of libraries' decision models, or their base classes.

Each has the package with its classes for questions, and the function that asks such a model.
"""


def library_model(candidate: object) -> LibraryModel | None:
    """Make a model from a library's decision model, also behind LangChain's `with_retry`; None for others."""
    wrapped: object = candidate
    for _ in range(MAX_WRAPPERS):  # a wrapper may contain itself
        # By names: importing each library to ask `isinstance` would take seconds.
        for kind in type(wrapped).__mro__:
            package, ask = LIBRARIES.get(kind.__name__, ("", None))
            if ask is not None and kind.__module__.startswith(package.partition(".")[0]):
                return LibraryModel(candidate, ask=partial(_ask_library, ask, package), way=DecisionWay())
        if not hasattr(type(wrapped), "ainvoke"):  # only LangChain's runnables wrap models
            return None
        wrapped = getattr(wrapped, "bound", getattr(wrapped, "runnable", None))
    return None


async def _ask_library(ask: AskPackage, package: str, model: object, request: Request) -> Reply:
    return await ask(model, import_module(package), _own_inquiry(request))


def decisions_by(function: DecisionFunction, name: str = "") -> FunctionModel:
    """Make a decision model from a function, sync or async, that takes a state and questions.

    It takes what an endpoint of the System One form is sent, and returns what that would answer: the answers
    by the ids of their questions, or an endpoint's whole response, as a mapping, an object or JSON.

    Args:
        function: the function.
        name: the model's name in verdicts; by default the function's own name.
    """
    return FunctionModel(function, name, ask=_ask_function, way=DecisionWay())


async def _ask_function(function: Callable[..., Any], request: Request) -> Reply:
    inquiry = _own_inquiry(request)
    questions = system_one_questions(inquiry.questions)
    return _decision_reply(await call_function(function, inquiry.state, questions))


def _own_inquiry(request: Request) -> Inquiry:
    """Return the inquiry with a state of its own for code that may change it, unseen by the next request."""
    inquiry = inquiry_of(request)
    return replace(inquiry, state=deepcopy(dict(inquiry.state)))


def _decision_reply(answer: object) -> Reply:
    """Return what a library or a function answered as JSON, `{"answers": {...}}`, which a rubric checks.

    Args:
        answer: a Reply, the JSON as a string, the answers by the ids of their questions, or an endpoint's
            whole response, with `answers`; as mappings or as objects.

    Raises:
        TypeError: it is none of these.
    """
    if isinstance(answer, Reply):
        return answer
    if isinstance(answer, str):
        return Reply(answer)
    response = fields_of(answer)
    if response is None:
        message = f"a decision model's answer must be a mapping of answers, not {type(answer).__name__}"
        raise TypeError(message)
    # A function may return the answers alone.
    if not is_mapping(response.get("answers")) and not is_list(response.get("answers")):
        response = {"answers": response}
    return reply_with(as_json({"answers": response["answers"]}), response)
