"""Every public name as a user would write it; type checkers read this file, nobody runs it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

from agents import Agent as OpenAIAgent
from agents import RunResult
from deepeval.models import DeepEvalBaseLLM
from deepeval.models.base_model import DeepEvalBaseSystemOneModel
from inspect_ai.model import get_model
from inspect_ai.scorer import Scorer, Target
from inspect_ai.solver import TaskState
from langchain_core.decisions import BaseDecisionModel
from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langfuse import Langfuse
from langfuse.experiment import ExperimentItem, LocalExperimentItem
from mlflow.entities import Trace
from opentelemetry.trace import SpanContext
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai.models.system_one import SystemOneModel
from pydantic_evals import Case as EvalsCase
from pydantic_evals import Dataset
from pydantic_evals.evaluators import EvaluatorContext
from pyspark.sql import DataFrame

from groundjudge import (
    CachedModel,
    Case,
    CaseError,
    Document,
    GroundjudgeError,
    Guard,
    GuardError,
    Message,
    ModelError,
    Prices,
    PromptError,
    Reply,
    ReplyError,
    Scale,
    Usage,
    Verdict,
    __version__,
    arun,
    as_judge,
    cascade,
    estimate,
    load,
    load_rubric,
    names,
    run,
    summarise,
)
from groundjudge.adapters import deepeval, inspect
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langchain_agents import GroundingMiddleware, guarded
from groundjudge.adapters.langfuse import evaluator as langfuse_evaluator
from groundjudge.adapters.langfuse import summary as langfuse_summary
from groundjudge.adapters.langsmith import evaluator, summary
from groundjudge.adapters.mlflow import documents
from groundjudge.adapters.mlflow import scorer as mlflow_scorer
from groundjudge.adapters.openai_agents import guarded_run
from groundjudge.adapters.opentelemetry import emit
from groundjudge.adapters.promptfoo import get_assert
from groundjudge.adapters.pydantic_ai import grounding_validator
from groundjudge.adapters.pydantic_evals import JudgeEvaluator
from groundjudge.adapters.spark import add_keys, judge_dataframe
from groundjudge.decisions.answers import AnswerError
from groundjudge.decisions.endpoint import DecisionModel
from groundjudge.decisions.inquiry import inquiry_of
from groundjudge.decisions.libraries import decisions_by
from groundjudge.decisions.question import Question
from groundjudge.judging.guard import Outcome, as_guard, note_on
from groundjudge.lab.probe import Card, EditFigures, Probe, ProbeCase, ProbeError, Rate, Unchanged, probe
from groundjudge.replies import Adjacent, Banded, Format, Json, PartReading, Reading, Scorecard, Tags
from groundjudge.runs.arrow import add_keys as keyed_batches
from groundjudge.runs.arrow import judge_batches, schema_of
from groundjudge.types import (
    Cascade,
    Estimate,
    Evidence,
    Failure,
    Judge,
    JudgeOptions,
    Model,
    NamedScore,
    Part,
    Prompt,
    PromptId,
    Request,
    Rubric,
    RubricOptions,
    Summary,
)


def a_model(request: Request) -> str:
    return f"<S2>{len(request.messages)}</S2>"


async def an_async_model(request: Request) -> Reply:
    return Reply(a_model(request), finish_reason="stop", usage=Usage(prompt_tokens=1, completion_tokens=1))


class Echo:
    """The least that is a model."""

    name = "echo"

    async def acomplete(self, request: Request) -> Reply:
        return Reply(request.messages[-1]["content"])


def judges() -> list[Judge]:
    echo: Model = Echo()
    return [
        load("groundedness", model="offline"),
        load("groundedness", model="openai:gpt-6-luna", threshold=0.75, max_reasks=2),
        load("groundedness", model=a_model, parameters={"temperature": 0.2}),
        load("groundedness", model=an_async_model),
        load("groundedness", model=echo),
        load("groundedness", model=CachedModel(echo, Path("cache.db"), repeat=1)),
        load("groundedness", model=(object(), "a deployment")),
        load(
            Path("mine.prompty"),
            model=echo,
            reply=Tags(value="rating", reason="why"),
            scale=Scale(worst=1, best=5, integer=True),
            levels={1: "bad", 5: "good"},
            not_applicable=[3],
            may_be_empty=["context"],
            optional=("reference",),
            tool_titles=False,
        ),
        *(load(name, model=echo) for name in names()),
    ]


def cascades(cheap: Judge, strong: Judge) -> list[Cascade]:
    return [
        cascade([cheap, strong], until=(0.1, 0.9)),
        cascade((cheap, strong), until=(None, 0.9), by="probability", not_applicable_stands=True),
        cascade([cheap, cheap, strong], until=[(0.1, 0.9), (0.2, None)]),
    ]


FORMATS = [Tags(), Json(), Scorecard(), Adjacent(names=("recall", "precision")), Banded()]

CASES = [
    Case(query="q", response="r", context="c"),
    Case(query="q", response="r", context=["c", Document(content="d", title="t", kind="tool")]),
    Case(
        query=[{"role": "user", "content": "q"}],
        response=[Message(role="assistant", content="r")],
        context=[{"title": "t", "content": "c"}],
        id=7,
        metadata={"split": "test"},
    ),
    Case(agent_name="a", profile="p", conversation="c", answers=["one", "two"], response="r"),
    Case.from_mapping({"question": "q", "answer": "r", "contexts": ["c"]}),
    Case.from_exchange({"question": "q"}, {"answer": "r"}, {"answer": "expected"}),
]


def judge_one_case(judge: Judge, case: Case | Mapping[str, Any]) -> Verdict:
    assert_type(judge.rubric.ask(case), Request)
    assert_type(inquiry_of(judge.rubric.ask(case)).questions, tuple[Question, ...])
    assert_type(judge.rubric.read("<S2>4</S2><S3>1:0,2:0,3:0,4:1,5:0</S3>", case), Verdict)
    try:
        return judge.judge(case)
    except AnswerError as error:
        assert_type(error.parts, tuple[Part, ...])
        raise LookupError(
            *(option.key for question in error.questions for option in question.options)
        ) from error
    except (CaseError, ModelError, ReplyError) as error:
        assert_type(error.verdict, Verdict | None)
        raise LookupError(error.code, error.message, error.subject) from error


async def many(judge: Judge) -> list[Summary]:
    verdicts = [verdict async for verdict in arun(judge, CASES, concurrency=4, ordered=True)]
    verdicts.append(await judge.ajudge(CASES[0]))
    verdicts.extend(run([judge], CASES))
    there = {verdict.key: verdict for verdict in verdicts}
    assert_type(verdicts[0].confidence, float | None)
    assert_type(verdicts[0].parts[0].distribution, Mapping[str, float] | None)
    verdicts.extend(
        run(
            judge,
            CASES,
            deadline=60,
            max_calls=10,
            max_tokens=10_000,
            previous=lambda judge, case: there.get(judge.key(case)),
        )
    )
    return summarise(verdicts)


def cost(judge: Judge) -> int:
    (forecast,) = estimate(judge, CASES)
    assert_type(forecast, Estimate)
    prices = Prices(prompt=2.0, completion=8.0, cached=0.5)
    usage = Usage(prompt_tokens=forecast.prompt_tokens, cached_tokens=0)
    assert_type(prices.of(usage), float)
    return forecast.prompt_tokens + (forecast.completion_tokens or 0)


def describe(verdict: Verdict) -> str:
    assert_type(verdict.score, float | None)
    assert_type(verdict.parts, tuple[Part, ...])
    assert_type(verdict.error, Failure | None)
    assert_type(verdict.prompt, PromptId | None)
    quotes: list[Evidence] = [evidence for part in verdict.parts for evidence in part.evidence]
    return f"{__version__} {verdict.signature} {quotes}"


def prompt(path: Path) -> Prompt:
    try:
        return Prompt.from_file(path)
    except PromptError as error:
        base_error: GroundjudgeError = error
        raise base_error from None


def rubrics() -> list[Rubric]:
    rubric = load_rubric("groundedness", threshold=0.75, parameters={"seed": 1})
    assert_type(rubric.with_options(levels={5: "good"}), Rubric)
    assert_type(rubric.with_options(may_be_empty=["query"], optional=["context"]), Rubric)
    return [rubric, *(load_rubric(name) for name in names())]


def judges_of_choices(judge: Judge, rubric: Rubric) -> list[Judge]:
    return [
        as_judge(judge),
        as_judge(judge, threshold=0.9),
        as_judge(rubric, "offline", max_reasks=0),
        as_judge("groundedness", model=a_model),
    ]


async def never_raising(judge: Judge, case: Case) -> list[NamedScore]:
    verdict = judge.evaluate(case)
    assert_type(await judge.aevaluate(case), Verdict)
    assert_type(verdict.explanation, str)
    assert_type(judge.score_names, tuple[str, ...])
    return list(judge.scores(verdict))


def reader(format_: Format, scale: Scale) -> Reading:
    reading = format_.read_reply(Reply("{}"), scale)
    assert_type(reading.parts, tuple[PartReading, ...])
    assert_type(format_.score(reading, scale), float | None)
    assert_type(format_.write_reply(reading), str)
    return reading


def options() -> tuple[RubricOptions, JudgeOptions]:
    return {"threshold": 0.7, "optional": ["query"]}, {"may_be_empty": ["query"], "max_reasks": 2}


def adapters(path: Path) -> list[object]:
    return [
        evaluator(path, model="offline", may_be_empty=["context"], optional=["topic"]),
        runnable(path, model="offline", may_be_empty=["context"], optional=["topic"]),
        deepeval.JudgeMetric(judge=path, model="offline", may_be_empty=["context"], optional=["topic"]),
        deepeval.GroundednessMetric(model="offline", prices=Prices(prompt=0.15, completion=0.60)),
        deepeval.TurnGroundednessMetric(model="offline", threshold=0.7, repeats=3),
        evaluator("groundedness", model="offline", key="strict", fields={"query": "inputs.q"}),
        *(summary(judge, metrics=["mean", "coverage"]) for judge in ("strict", path, load_rubric(path))),
    ]


def case_of_state(state: TaskState, target: Target) -> dict[str, Any]:
    return {"query": state.input_text, "response": target.text}


def case_of_row(inputs: dict[str, Any], outputs: str, **_: object) -> Case:
    return Case(query=inputs["q"], response=outputs)


def inspect_scorers(path: Path, judge: Judge) -> list[Scorer]:
    return [
        inspect.groundedness(model="openai/gpt-6-luna", threshold=0.7, repeats=3, rule="mean"),
        inspect.confidence_grounding(model=get_model("openai/gpt-6-luna")),
        inspect.statement_groundedness(model_role="critic"),
        inspect.passage_quality(fields={"reference": "metadata.gold"}),
        inspect.knowledge_hallucination(),
        inspect.judge(path, model="offline", fields=case_of_state),
        inspect.judge(judge),
    ]


def mlflow_scorers(path: Path, judge: Judge, trace: Trace) -> tuple[Document, ...] | None:
    mlflow_scorer("groundedness", model="offline", threshold=0.7, repeats=3, rule="mean")
    mlflow_scorer(path, model=a_model, name="mine", fields={"query": "inputs.q"})
    mlflow_scorer(judge, fields=case_of_row)
    return documents(trace)


def case_of_context(ctx: EvaluatorContext[str, str, Any]) -> dict[str, Any]:
    return {"query": ctx.inputs, "response": ctx.output}


def dataset(path: Path) -> Dataset[str, str]:
    return Dataset[str, str, Any](
        name="data",
        cases=[EvalsCase(inputs="q", expected_output="g")],
        evaluators=[
            JudgeEvaluator("groundedness", model="offline", threshold=0.7, repeats=3, rule="mean"),
            JudgeEvaluator(path, a_model, name="mine", fields={"query": "inputs"}),
            JudgeEvaluator(load("groundedness", model="offline"), fields=case_of_context),
        ],
    )


def task(*, item: ExperimentItem, **_: object) -> str:
    return str(item)


def experiment(langfuse: Langfuse, data: list[LocalExperimentItem]) -> object:
    return langfuse.run_experiment(
        name="run",
        data=data,
        task=task,
        evaluators=[langfuse_evaluator("groundedness", model="offline", name="mine", threshold=0.7)],
        run_evaluators=[langfuse_summary("mine")],
    )


def again(note: str, verdict: Verdict) -> str:
    return f"{note} {verdict.score}"


async def again_later(note: str, verdict: Verdict) -> Case:
    return Case(response=again(note, verdict))


async def store(outcome: Outcome) -> None:
    assert_type(outcome.drafts[-1].verdict, Verdict)
    assert_type(outcome.usage, Usage | None)
    if outcome.usage is not None:
        assert_type(outcome.usage.cached_tokens, int | None)
        assert_type(outcome.usage.reasoning_tokens, int | None)


async def guarding(judge: Judge, case: Case) -> list[str]:
    guard = Guard(judge, retries=2, fallback="none", on_error="allow", deadline=20, on_outcome=store)
    guard = as_guard(guard, mode="observe", threshold=0.7, fallback=lambda verdict: str(verdict.score))
    try:
        outcomes = [guard.run(case, again), await guard.arun({"response": "r"}, again_later)]
    except GuardError as error:
        return [note_on(error.outcome.verdict, judge), error.outcome.reason]
    return [outcome.reason for outcome in outcomes]


async def guarded_agents(chain: Runnable[str, str], agent: OpenAIAgent[None]) -> RunResult:
    """The agents of the frameworks take what the adapters make."""
    GroundingMiddleware("groundedness", model="offline", fallback="none", fields={"query": "inputs.q"})
    assert_type(guarded(chain, "groundedness", model="offline", repeats=3, output="a"), Runnable[Any, Any])
    PydanticAgent("test").output_validator(grounding_validator("groundedness", model="offline", retries=2))
    return (await guarded_run(agent, "q", "groundedness", model="offline", on_error="raise")).result


def events(verdict: Verdict, judge: Judge, span: SpanContext) -> None:
    emit(verdict)
    emit(verdict, judge, span_context=span, response_id="chatcmpl-1")
    get_assert("r", {"vars": {}, "config": {"judge": "groundedness", "model": "offline"}})


def probing(judge: Judge) -> list[Rate]:
    result = assert_type(probe(judge, [{"expect": "pass"}], without=["capitals"], concurrency=4), Probe)
    card: Card = result.card
    unchanged: Unchanged = card.unchanged
    figures: EditFigures = card.family("faults")
    cases: list[ProbeCase] = [judged.trial.original for judged in result.worst(1)]
    try:
        probe(judge)
    except ProbeError as error:
        assert_type(error.code, str)
    return [unchanged.flips, figures.rate] if cases else []


def tables(judge: Judge, table: Any, df: DataFrame) -> DataFrame:
    """PyArrow has no types: a record batch is Any."""
    verdicts = judge_batches(table.to_batches(), [judge], concurrency=8, columns=["id"], ledger=Path("l.db"))
    assert schema_of(table, "*") != next(verdicts).schema
    next(keyed_batches(table.to_batches(), judge))
    return assert_type(
        judge_dataframe(add_keys(df, judge), judge, columns="*", concurrency=64, ledger="l.db"), DataFrame
    )


def misspelt_options_are_found(judge: Judge) -> None:
    """Every line would be an error, of which either checker says that the comment is needed."""
    probe(judge, concurency=4)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    load("groundedness", model="offline", treshold=0.7)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    load_rubric("groundedness", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    as_judge(judge, parameter={})  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    load("groundedness", model="offline", may_be_empty=True)  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    load("groundedness", model="offline", optionl=["query"])  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue]
    load("groundedness", model="offline", threshold="0.7")  # type: ignore[call-overload]  # pyright: ignore[reportArgumentType]
    summary("groundedness", metrics=["median"])  # type: ignore[list-item]  # pyright: ignore[reportArgumentType]
    evaluator("groundedness", model="offline", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    inspect.groundedness(model="offline", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    mlflow_scorer("groundedness", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    langfuse_evaluator("groundedness", model="offline", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    JudgeEvaluator("groundedness", model="offline", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    runnable("groundedness", model="offline", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    deepeval.GroundednessMetric(model="offline", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    deepeval.TurnGroundednessMetric(model="offline", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    deepeval.passage_metrics(model="offline", treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


async def misspelt_options_of_guards_are_found(judge: Judge, agent: OpenAIAgent[None]) -> None:
    """Likewise."""
    Guard(judge, retrys=2)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    Guard(judge, on_error="ignore")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Guard(judge, deadline="5")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Guard("groundedness")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    Guard(judge).run({"response": "r"}, "again")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    as_guard(judge, mode="silent")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    as_guard(judge, treshold=0.7)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    GroundingMiddleware(judge, falback="no")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    guarded(str, judge, falback="no")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    grounding_validator(judge, falback="no")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
    await guarded_run(agent, "q", judge, falback="no")  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def models_of_other_libraries(chat_model: BaseChatModel, llm: DeepEvalBaseLLM) -> list[Judge]:
    return [load(name, model=model) for name in names() for model in (chat_model, llm)]


def answer_questions(state: dict[str, Any], questions: Mapping[str, Any]) -> dict[str, Any]:
    return {name: {"type": "choice", "probabilities": state} for name in questions}


def decision_models(
    of_langchain: BaseDecisionModel, of_deepeval: DeepEvalBaseSystemOneModel, of_pydantic_ai: SystemOneModel
) -> list[Judge]:
    return [
        load("groundedness", model="decisions:gpt-6-luna"),
        load("groundedness", model=(object(), "systemone:jev-latest")),
        load("groundedness", model=DecisionModel("systemone:jev-latest", base_url="http://127.0.0.1:1")),
        load("groundedness", model=decisions_by(answer_questions)),
        load("groundedness", model=of_langchain),
        load("groundedness", model=of_deepeval),
        load("groundedness", model=of_pydantic_ai),
    ]
