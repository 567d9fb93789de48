"""The LangSmith adapter with the real package, unpatched, and a local stand-in for its server."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import formatter
import pytest
from adapter_entries import Target, by_aevaluate, by_evaluate, locally
from adapters_table import LABELS
from command_line import run_program
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langsmith import Client, evaluate, traceable
from langsmith.evaluation import evaluate_existing
from langsmith.schemas import Example, Run
from openai import OpenAI
from scripted_model import ScriptedModel
from standin_langsmith import Body, StandIn
from standin_openai import StandIn as Endpoint
from standin_openai import Text

from groundjudge import CachedModel, Case, ModelError, PromptError, Reply, Usage, load, load_rubric, panel
from groundjudge.adapters.langsmith import METRICS, evaluator, summary
from groundjudge.types import Request

with warnings.catch_warnings():  # by another module of the same package
    warnings.simplefilter("ignore", DeprecationWarning)
    from langsmith.wrappers import wrap_openai

pytestmark = [
    pytest.mark.filterwarnings("ignore:'upload_runs' parameter is in beta"),
    # LangSmith passes `metadata` of every summary to an endpoint, and warns that it does not use it.
    pytest.mark.filterwarnings("ignore:The following arguments are no longer used in the create_feedback"),
]

ROOT = Path(__file__).parents[2]
NO_VERDICT = "I would rather not say."


def tags_of(level: object) -> str:
    return f"<S0>Let me see.</S0><S1>All of it is there.</S1>{formatter.sure(level)}"


ADJACENT = """RECALL_Reasoning: One fact is missing.
RECALL_Formula: (4 * 0.6) + (5 * 0.4)
RECALL_Weighted_Summed_Score: 4.4
PRECISION_Reasoning: A third is noise.
PRECISION_Formula: (3 * 0.5) + (4 * 0.5)
PRECISION_Weighted_Summed_Score: 3.5
"""
QUESTION: Body = {"question": "How long does it last?"}
ANSWER: Body = {"answer": "Eleven hours.", "context": ["It lasts eleven hours."]}
EXPECTED: Body = {"answer": "11 hours"}


REPLIES: Mapping[str, str] = {"groundedness": tags_of(4), "passage_quality": ADJACENT}


def by_evaluate_existing(target: Target, data: Any, client: Client, **options: Any) -> list[dict[str, Any]]:
    """The rows of an experiment whose runs are loaded again and judged then."""
    experiment = evaluate(target, data=data, client=client)
    client.flush()
    experiment_results: Any = evaluate_existing(
        experiment.experiment_name, client=client, load_nested=True, **options
    )
    client.flush()
    return list(experiment_results)


def local_rows(by: Any, target: Target, *examples: tuple[Body, Body | None], **options: Any) -> Any:
    """The rows of an experiment that sends nothing."""
    data = [Example(id=uuid4(), inputs=inputs, outputs=outputs) for inputs, outputs in examples]
    return locally(by, target, *data, **options)


local, alocal = partial(local_rows, by_evaluate), partial(local_rows, by_aevaluate)


def results(row: dict[str, Any]) -> list[Any]:
    return cast("list[Any]", row["evaluation_results"]["results"])


def returning(outputs: Any) -> Target:
    """An application that returns these outputs."""
    return lambda _: outputs


# Fields of the case


@traceable(run_type="retriever")
def texts(_: str) -> list[str]:
    return ["one", "two"]


@traceable(run_type="retriever")
def nothing(_: str) -> list[str]:
    return []


@traceable(run_type="retriever")
def fails(_: str) -> list[str]:
    raise LookupError


@traceable(run_type="retriever")
def inside_out(question: str) -> list[str]:
    return [text for text in texts(question) if text == "two"]


@traceable
def call_tool_and_retriever(question: str) -> None:
    texts(question)
    weather(question)


@traceable(run_type="tool")
def weather(_: str) -> str:
    return "sunny"


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
        del run_manager
        return [LangChainDocument(page_content=f"about {query}", metadata={"title": "Shelf"})]


STEPS = (nothing, inside_out, call_tool_and_retriever, Shelf().invoke)
RETURNED = [
    ("two", "", "knowledge"),
    ("one", "", "knowledge"),
    ("two", "", "knowledge"),
    ("sunny", "Tool Result: weather", "tool"),
    ("about it", "Shelf", "knowledge"),
]
"""What the steps return: of an outer retriever alone, and of a tool with its name."""


def application(*steps: Callable[[str], Any]) -> Target:
    """An application that performs these steps and answers."""

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        del inputs
        for step in steps:
            with suppress(LookupError):
                step("it")
        return {"answer": "Eleven hours."}

    return target


def documents_in(case: Case) -> list[tuple[str, str, str]]:
    assert case.context is not None
    return [(document.content, document.title, document.kind) for document in case.context]


def relocal(target: Target, *examples: tuple[Body, Body | None], **options: Any) -> list[dict[str, Any]]:
    """Like `local`, by `evaluate_existing`."""
    with StandIn(examples) as server:
        return by_evaluate_existing(target, server.dataset, server.client(), **options)


WAYS = (local, alocal, relocal)
"""An experiment by `evaluate`, by `aevaluate` and by `evaluate_existing`."""


@pytest.mark.parametrize("run", WAYS, ids=["evaluate", "aevaluate", "evaluate_existing"])
def test_context_is_what_child_runs_returned_before_that_of_the_inputs(run: Any) -> None:
    inputs = {**QUESTION, "context": ["of the inputs"]}
    for steps, expected in ((STEPS, RETURNED), ([nothing], [])):
        model = ScriptedModel(tags_of(5))
        run(application(*steps), (inputs, None), evaluators=[evaluator("groundedness", model=model)])
        assert documents_in(model.asked[0].case) == expected


def test_a_retriever_that_raised_is_an_error_of_the_row_with_its_name() -> None:
    model = ScriptedModel(tags_of(5))
    for steps in ([fails], [*STEPS, fails]):
        (row,) = local(
            application(*steps), (QUESTION, None), evaluators=[evaluator("groundedness", model=model)]
        )
        comment = str(results(row)[0].comment)
        assert comment.startswith("retriever_failed: the retriever 'fails' raised an error: LookupError()")
    assert model.asked == []


PATHS: Mapping[str, str] = {
    "inputs.c": "input",
    "outputs.c": "output",
    "reference_outputs.c": "ideal",
    "example.outputs.c": "ideal",
    "run.outputs.c": "output",
}


def test_path_leads_to_each_side_of_an_experiment() -> None:
    for path, content in PATHS.items():
        model = ScriptedModel(tags_of(5))
        judge = evaluator("groundedness", model=model, fields={"context": path})
        target, example = returning({**ANSWER, "c": "output"}), ({**QUESTION, "c": "input"}, {"c": "ideal"})
        local(target, example, evaluators=[judge])
        assert documents_in(model.asked[0].case) == [(content, "", "knowledge")]


def test_missing_field_error_lists_the_keys() -> None:
    judge = evaluator("groundedness", model=ScriptedModel(""))
    (row,) = local(returning({"reply": "a"}), ({"prompt": "q"}, {"ideal": "r"}), evaluators=[judge])
    message = results(row)[0].comment
    assert message.startswith("missing_field: groundedness needs query, which is not given, and context, ")
    assert "LangSmith gave inputs: prompt; outputs: reply; reference_outputs: ideal" in message
    assert "load_nested=True" in message


# Runs that failed


def crash(_: dict[str, Any]) -> Any:
    message = "the database is down"
    raise RuntimeError(message)


def from_the_answer(run: Run, example: Example | None) -> Body:
    del example
    outputs: Any = run.outputs
    return {"query": "q", "context": ["c"], "response": outputs["answer"].strip()}


CRASHES: Mapping[str, tuple[str, Body, Any]] = {
    "the reference is missing too": ("passage_quality", QUESTION, None),
    "the question is missing too": ("groundedness", {"x": 1}, None),
    "an answer among the inputs": ("groundedness", {**QUESTION, **ANSWER}, None),
    "paths to the outputs": ("groundedness", QUESTION, {"query": "outputs.q", "response": "outputs.a"}),
    "a function of the outputs": ("groundedness", QUESTION, from_the_answer),
}


@pytest.mark.parametrize(("what", "run"), [*zip(CRASHES, cycle(WAYS), strict=False)], ids=[*CRASHES])
def test_crashed_run_is_an_error_and_lowers_the_coverage(what: str, run: Any) -> None:
    name, inputs, fields = CRASHES[what]
    model = ScriptedModel(tags_of(5))
    rows = run(crash, (inputs, None), evaluators=[evaluator(name, model=model, fields=fields)])
    for feedback in results(rows[0]):
        assert feedback.comment.startswith("no_response: ")
        assert "the run failed: RuntimeError('the database is down')" in feedback.comment
        assert (feedback.score, feedback.value, feedback.extra["error"]) == (None, None, True)
    assert [feedback.key for feedback in results(rows[0])] == [*load(name, model=model).score_names]
    totals = figures_of(name, rows)
    assert (totals["coverage"].score, totals["upper_bound"].score) == (0, 1)
    assert "0 not applicable, 1 errors (no_response 1)" in totals["coverage"].comment
    assert model.asked == []


def test_crashed_run_follows_empty_response() -> None:
    judge = evaluator("groundedness", model=ScriptedModel(tags_of(5)), empty_response="worst")
    (row,) = local(crash, ({**QUESTION, "context": ["c"]}, None), evaluators=[judge])
    assert results(row)[0].score == 0
    assert "error" not in results(row)[0].extra


def test_what_a_run_had_said_when_it_failed_is_no_response() -> None:
    now = datetime.now(UTC)
    inputs_and_outputs: dict[str, Any] = {
        "inputs": {**QUESTION, "context": ["c"]},
        "outputs": {"answer": "At "},
    }
    run = Run(
        id=uuid4(),
        name="app",
        run_type="chain",
        start_time=now,
        trace_id=uuid4(),
        error="Cut",
        **inputs_and_outputs,
    )
    judge: Any = evaluator("groundedness", model=ScriptedModel(tags_of(5)))
    feedback = judge.evaluate_run(run, None)["results"][0]
    assert (feedback.score, feedback.comment.startswith("no_response: ")) == (None, True)
    assert "the run failed: Cut" in feedback.comment


AUTH, TIMEOUT = ModelError("auth", "set a key"), ModelError("timeout", "too slow")
SLOW = "timeout: too slow"
GOOD = tags_of(5)
NOT_ASKED = "auth: not asked after this error: set a key"
SENT_NO_MORE = "groundedness: auth: set a key. No further row is sent to this model"


@pytest.mark.parametrize(
    ("run", "replies", "comments", "logged"),
    [
        pytest.param(
            local, [AUTH], ["auth: set a key", NOT_ASKED, NOT_ASKED], [SENT_NO_MORE], id="every row"
        ),
        pytest.param(
            alocal, [GOOD, AUTH], ["", "auth: set a key", NOT_ASKED], [SENT_NO_MORE], id="after a verdict"
        ),
        pytest.param(
            local,
            [TIMEOUT, AUTH],
            [SLOW, "auth: set a key", NOT_ASKED],
            [f"groundedness: {SLOW}", SENT_NO_MORE],
            id="after another error",
        ),
        pytest.param(
            alocal, [TIMEOUT], [SLOW] * 3, [f"groundedness: {SLOW}"], id="another error of the first row"
        ),
        pytest.param(local, [GOOD, TIMEOUT], ["", SLOW, SLOW], [], id="another error of later rows"),
    ],
)
def test_error_that_every_row_may_meet_is_logged_once_and_one_that_ends_a_run_ends_the_calls(
    run: Any,
    caplog: pytest.LogCaptureFixture,
    replies: list[str | Exception],
    comments: list[str],
    logged: list[str],
) -> None:
    model = ScriptedModel(*replies)
    rows = run(
        returning(ANSWER), *[(QUESTION, None)] * 3, evaluators=[evaluator("groundedness", model=model)]
    )
    shown = [results(row)[0].comment for row in rows]
    assert [text if ": " in text else "" for text in shown] == comments
    assert len(model.asked) == 3 - comments.count(NOT_ASKED)
    messages = [record.getMessage() for record in caplog.records if record.name == "langsmith.groundjudge"]
    assert messages == logged


@pytest.mark.parametrize("run", [local, alocal], ids=["evaluate", "aevaluate"])
def test_a_model_is_asked_again_in_the_next_experiment_and_outside_of_one(run: Any) -> None:
    model = ScriptedModel(AUTH)
    judge: Any = evaluator("groundedness", model=model)
    for n_experiments in (1, 2):
        run(returning(ANSWER), *[(QUESTION, None)] * 2, evaluators=[judge])
        assert len(model.asked) == n_experiments
    row = run(returning(ANSWER), (QUESTION, None), evaluators=[])[0]
    for n_rows in (3, 4):
        judge.evaluate_run(row["run"], row["example"])
        assert len(model.asked) == n_rows


def test_an_experiment_that_is_judged_again_is_asked_again_about() -> None:
    model = ScriptedModel(AUTH)
    judge = evaluator("groundedness", model=model)
    with StandIn([(QUESTION, None)] * 2) as server:
        client = server.client()
        experiment = evaluate(returning(ANSWER), data=server.dataset, client=client)
        client.flush()
        for n_times in (1, 2):
            evaluate_existing(experiment.experiment_name, evaluators=[judge], client=client)
            assert len(model.asked) == n_times


def test_one_model_of_a_panel_that_refuses_its_key_leaves_the_votes_of_the_others() -> None:
    models = ScriptedModel(AUTH), ScriptedModel(GOOD), ScriptedModel(GOOD)
    judges = [load("groundedness", model=model) for model in models]
    rows = local(
        returning(ANSWER), *[(QUESTION, None)] * 3, evaluators=[evaluator(panel(judges, stop="never"))]
    )
    assert [results(row)[0].score for row in rows] == [1, 1, 1]
    assert [len(model.asked) for model in models] == [1, 3, 3]


# Feedback keys


def test_key_names_the_feedback() -> None:
    judge = evaluator("passage_quality", model=ScriptedModel(ADJACENT), key="text_quality")
    assert judge.feedback_keys == ["text_quality", "text_recall", "text_precision"]
    for answer in ("Eleven hours.", ""):
        (row,) = local(returning({**ANSWER, "answer": answer}), (QUESTION, EXPECTED), evaluators=[judge])
        assert [feedback.key for feedback in results(row)] == judge.feedback_keys


SAME_KEYS: Mapping[str, tuple[tuple[str, str | None], tuple[str, str | None], str]] = {
    # the judges and keys of two evaluators, and the key of both
    "both keys are chosen": (("groundedness", "mine"), ("passage_quality", "mine"), "mine"),
    "the second is that of a part": (
        ("passage_quality", None),
        ("groundedness", "passage_recall"),
        "passage_recall",
    ),
    "a part has the first": (
        ("groundedness", "passage_precision"),
        ("passage_quality", None),
        "passage_precision",
    ),
}


@pytest.mark.parametrize(("first", "second", "shared_key"), SAME_KEYS.values(), ids=SAME_KEYS)
def test_second_evaluator_with_the_same_key_is_an_error(first: Any, second: Any, shared_key: str) -> None:
    first_name, first_key = first
    second_name, second_key = second
    first_model = ScriptedModel(REPLIES[first_name])
    second_model = ScriptedModel(REPLIES[second_name])
    first_evaluator = evaluator(first_name, model=first_model, key=first_key)
    second_evaluator = evaluator(second_name, model=second_model, key=second_key)
    evaluators = [first_evaluator, second_evaluator]
    (row,) = local(returning(ANSWER), (QUESTION, EXPECTED), evaluators=evaluators)
    n_of_first = len(first_evaluator.feedback_keys)
    feedback_of_first = results(row)[:n_of_first]
    feedback_of_second = results(row)[n_of_first:]
    assert all(feedback.score is not None for feedback in feedback_of_first)
    assert [feedback.key for feedback in feedback_of_second] == second_evaluator.feedback_keys
    message = f"duplicate_key: two evaluators share the feedback key '{shared_key}'"
    for feedback in feedback_of_second:
        assert feedback.comment.startswith(message)
        assert (feedback.score, feedback.extra["error"]) == (None, True)
    assert (len(first_model.asked), len(second_model.asked)) == (1, 0)
    assert figures_of(first_evaluator.feedback_keys[0], [row])["coverage"].score == 1


def test_evaluators_of_one_judge_with_different_keys_keep_their_verdicts() -> None:
    replies = {"by_2": tags_of(2), "by_5": tags_of(5)}
    judges = [evaluator("groundedness", model=ScriptedModel(replies[key]), key=key) for key in replies]
    rows = local(returning(ANSWER), (QUESTION, None), evaluators=judges)
    assert [(feedback.key, feedback.score) for feedback in results(rows[0])] == [("by_2", 0.25), ("by_5", 1)]
    assert [figures_of(key, rows)["mean"].score for key in ("by_2", "by_5")] == [0.25, 1]
    with pytest.raises(
        ValueError, match=r"under the key 'groundedness'.*; there are verdicts under by_2, by_5"
    ):
        figures_of("groundedness", rows)


def test_one_evaluator_can_judge_a_run_twice() -> None:
    judge = evaluator("groundedness", model=ScriptedModel(tags_of(2), tags_of(5)))
    rows = local(returning(ANSWER), (QUESTION, None), evaluators=[judge])
    again: Any = judge.evaluate_run(rows[0]["run"], rows[0]["example"])
    assert again["results"][0].score == 1
    assert figures_of("groundedness", rows)["mean"].score == 1


# Summary


def figures_of(key: str, rows: Sequence[dict[str, Any]], judge: Any = None) -> dict[str, Any]:
    """All figures of the summary under a key; the summary is of that key unless a judge is given."""
    summarise = summary(judge or key, metrics=METRICS)
    figures = summarise([row["run"] for row in rows], [row["example"] for row in rows])
    return {figure.key.removeprefix(f"{key}_"): figure for figure in figures.get("results", [])}


def test_summary_has_figures_of_the_evaluators_verdicts() -> None:
    replies = [tags_of(5), tags_of(2), tags_of(3), NO_VERDICT, NO_VERDICT]
    model = ScriptedModel(*replies)
    outputs: Iterator[Body] = iter([*[ANSWER] * 4, {}])

    def target(_: object) -> Body:
        return next(outputs)

    judge = evaluator("groundedness", model=model)
    rows = local(target, *[(QUESTION, None)] * 5, evaluators=[judge], max_concurrency=0)
    figures = figures_of("groundedness", rows)
    assert {name: figure.score for name, figure in figures.items()} == {
        "mean": 0.625,
        "lower_bound": 1.25 / 4,
        "upper_bound": 3.25 / 4,
        "coverage": 0.5,
        "pass_rate": 0.5,
    }
    assert figures["mean"].comment == (
        "5 rows: 2 with a score, 1 not applicable, 2 errors (no_response 1, no_verdict 1)"
    )
    assert len(model.asked) == 5  # the unreadable reply caused a reask; the summary made no call
    (signature,) = figures["mean"].evaluator_info["signatures"]
    assert signature.startswith("groundedness@")


def test_summary_takes_whatever_evaluator_takes() -> None:
    path = ROOT / "prompts" / "groundedness.prompty"
    model = ScriptedModel(tags_of(5))
    judges: list[Any] = [path, str(path), load(path, model=model), load_rubric(path), "groundedness"]
    for judge in judges:
        rows = local(returning(ANSWER), (QUESTION, None), evaluators=[evaluator(judge, model=model)])
        assert figures_of("groundedness", rows, judge)["mean"].score == 1
        assert summary(judge).__name__ == "groundedness_summary"
    with pytest.raises(PromptError, match=r"no judge '.*nowhere\.prompty' and no file"):
        summary(ROOT / "nowhere.prompty")


def test_summary_has_three_metrics_by_default_and_else_the_chosen_ones() -> None:
    judge = evaluator("groundedness", model=ScriptedModel(tags_of(4)), key="mine")
    rows = local(returning(ANSWER), (QUESTION, None), evaluators=[judge])
    runs = [row["run"] for row in rows]
    keys: list[list[str]] = []
    for summarise in (summary("mine"), summary("mine", metrics=["pass_rate", "lower_bound"])):
        keys.append([figure.key for figure in summarise(runs, []).get("results", [])])
    assert keys == [["mine_mean", "mine_coverage", "mine_pass_rate"], ["mine_pass_rate", "mine_lower_bound"]]


def test_a_summary_among_the_evaluators_says_where_it_belongs() -> None:
    misplaced: Any = summary("groundedness")
    (row,) = local(returning(ANSWER), (QUESTION, None), evaluators=[misplaced])
    (result,) = row["evaluation_results"]["results"]
    assert "it belongs in summary_evaluators=" in result.comment
    with pytest.raises(
        TypeError, match=r"summary\('groundedness'\) adds up .* belongs in summary_evaluators="
    ):
        misplaced(row["run"], row["example"])


@pytest.mark.parametrize(
    "metrics", [pytest.param(["mean", "median"], id="a list"), pytest.param("median", id="a name")]
)
def test_unknown_metric_raises_and_names_the_known_ones(metrics: Any) -> None:
    known_metrics = "mean, lower_bound, upper_bound, coverage, pass_rate"
    with pytest.raises(ValueError, match=f"unknown metric 'median': .* one or more of {known_metrics}"):
        summary("groundedness", metrics=metrics)


def test_summary_without_its_evaluator_raises() -> None:
    with pytest.raises(ValueError, match=r"evaluator\('groundedness', ...\) must be among the evaluators"):
        summary("groundedness")([], [])


# Uploads


def upload_by(
    by: Any, *evaluators: Any, steps: Sequence[Callable[[str], Any]] = (texts,), **options: Any
) -> StandIn:
    """The stand-in after an experiment of one row was uploaded to it."""
    with StandIn([(QUESTION, EXPECTED)]) as server:
        client = server.client()
        by(application(*steps), server.dataset, client=client, evaluators=evaluators, **options)
        client.flush()
    return server


@pytest.fixture(
    params=[
        pytest.param(by_evaluate, id="evaluate"),
        pytest.param(by_aevaluate, id="aevaluate", marks=pytest.mark.soak),
        pytest.param(by_evaluate_existing, id="evaluate_existing"),
    ]
)
def upload(request: pytest.FixtureRequest) -> Callable[..., StandIn]:
    """`upload_by` each of LangSmith's functions; each test with this fixture runs for all of them."""
    return partial(upload_by, request.param)


uploaded = partial(upload_by, by_evaluate)


NUMBERED = formatter.numbered([("1", "which", 7)], 75)


def test_uploaded_feedback_has_comment_source_and_parts_and_the_summary_is_the_experiments(
    upload: Any,
) -> None:
    judge = evaluator("statement_groundedness", model=ScriptedModel(NUMBERED))
    server = upload(judge, summary_evaluators=[summary("statement_groundedness", metrics=["mean"])])
    (total,) = (feedback for feedback in server.feedback if "run_id" not in feedback)
    (session,) = server.sessions.values()
    assert total["session_id"] == session["id"]
    assert (total["key"], total["score"]) == ("statement_groundedness_mean", 0.75)
    of_the_run = [feedback for feedback in server.feedback if "run_id" in feedback]
    mean, weakest, feedback = sorted(of_the_run, key=lambda feedback: (feedback["score"], feedback["key"]))
    assert (feedback["key"], feedback["score"]) == ("statement_groundedness", 0.75)
    assert feedback["comment"] == "Eleven hours. (7): which"
    assert (mean["key"], mean["score"]) == ("statement_groundedness_sentence_mean", 0.7)
    assert (weakest["key"], weakest["score"], weakest["value"]) == ("statement_groundedness_weakest", 0.7, 7)
    source = feedback["feedback_source"]["metadata"]
    assert {"prompt_name", "prompt_version", "prompt_sha256", "model", "signature", "__run"} == {*source}
    (part,) = feedback["extra"]["parts"]
    (evidence,) = part["evidence"]
    assert (part["number"], evidence["number"], evidence["quote"]) == (1, 1, "one")
    assert not {"error", "feedback_config"} & {name for name, value in feedback.items() if value}


def test_uploaded_runs_of_two_judges_are_nested_and_named_in_their_feedback(upload: Any) -> None:
    fine = evaluator("passage_quality", model=ScriptedModel(ADJACENT), key="fine")
    failed = evaluator("passage_quality", model=ScriptedModel(NO_VERDICT), key="failed")
    server = upload(fine, failed)
    runs = server.of_project("evaluators")
    for key, n_calls in (("fine", 1), ("failed", 2)):
        (outer,) = (run for run in runs if run["name"] == key)
        (inner,) = (run for run in runs if run.get("parent_run_id") == outer["id"])
        calls = [run for run in runs if run.get("parent_run_id") == inner["id"]]
        assert [run["name"] for run in (inner, *calls)] == ["judge", *["groundjudge.call"] * n_calls]
        assert [call.get("error") for call in calls] == [None] * n_calls
        assert inner["inputs"]["case"]["reference"] == "11 hours"
        assert ("no_verdict" in (inner.get("error") or "")) is (key == "failed")
        feedback_of_judge = [feedback for feedback in server.feedback if feedback["key"].startswith(key)]
        assert len(feedback_of_judge) == 3
        for feedback in feedback_of_judge:
            assert feedback["feedback_source"]["metadata"]["__run"]["run_id"] == outer["id"]
            assert feedback.get("error", False) == (key == "failed")
    (session,) = server.sessions.values()
    target = server.of_project(session["name"])[0]
    assert {feedback["run_id"] for feedback in server.feedback} == {target["id"]}
    for run in server.runs.values():  # the verdicts stored for the summary are not among them
        assert {*run.get("extra", {})} <= {"metadata", "runtime"}
        assert "groundjudge" not in str(run.get("inputs"))


# Calls of the model in the trace


def llm_runs(server: StandIn) -> list[Body]:
    return [run for run in server.of_project("evaluators") if run["run_type"] == "llm"]


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """The OpenAI-compatible endpoint of models that are given by name."""
    with Endpoint([Text(tags_of(4), usage=(100, 20), model="gpt-6-luna-dated")]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


def test_call_of_a_named_model_is_an_llm_run_with_messages_model_and_tokens(endpoint: Endpoint) -> None:
    server = uploaded(evaluator("groundedness", model="openai:gpt-6-luna"))
    (call,) = llm_runs(server)
    (body,) = endpoint.bodies
    assert call["inputs"] == body
    assert [message["role"] for message in call["inputs"]["messages"]] == ["system", "user"]
    tokens = {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120}
    message = {"role": "assistant", "content": tags_of(4), "refusal": None}
    assert call["outputs"] == {
        "choices": [{"message": message, "finish_reason": "stop"}],
        "model": "gpt-6-luna-dated",
        "usage_metadata": tokens,
    }
    names = {"ls_provider": "openai", "ls_model_name": "gpt-6-luna", "ls_model_type": "chat"}
    assert call["extra"]["metadata"].items() >= {"usage_metadata": tokens, **names}.items()
    assert call["start_time"] < call["end_time"]


def test_reask_is_a_second_llm_run() -> None:
    unread = Reply(NO_VERDICT, usage=Usage(prompt_tokens=7))
    model = ScriptedModel(unread, Reply(tags_of(4), usage=Usage(prompt_tokens=9)))
    server = uploaded(evaluator("groundedness", model=model))
    first, second = llm_runs(server)
    assert [len(call["inputs"]["messages"]) for call in (first, second)] == [2, 4]
    assert [call["outputs"]["usage_metadata"]["total_tokens"] for call in (first, second)] == [7, 9]
    assert first["outputs"]["choices"][0]["message"]["content"] == NO_VERDICT
    assert first["parent_run_id"] == second["parent_run_id"]


def test_failed_call_is_an_llm_run_with_its_error() -> None:
    server = uploaded(evaluator("groundedness", model=ScriptedModel(ModelError("timeout", "no answer"))))
    (call,) = llm_runs(server)
    assert "'timeout', 'no answer'" in call["error"]
    assert not call.get("outputs")


def by_a_sync_client(server: Endpoint) -> Any:
    return wrap_openai(OpenAI(base_url=server.url, api_key="k")), "gpt-6-luna"


def by_langchain(_: Endpoint) -> Any:
    return FakeListChatModel(responses=[tags_of(4)])


def by_a_function_around_a_client(server: Endpoint) -> Any:
    client, name = by_a_sync_client(server)

    @traceable
    def ask(request: Request) -> Any:
        return client.chat.completions.create(model=name, messages=[*request.messages]).model_dump()

    return ask


@pytest.mark.parametrize(
    ("model", "name"),
    [
        pytest.param(by_langchain, "FakeListChatModel", id="LangChain"),
        # Wrapping a client imports all of it, which takes a second.
        pytest.param(by_a_sync_client, "ChatOpenAI", id="a wrapped client", marks=pytest.mark.soak),
        pytest.param(
            by_a_function_around_a_client,
            "ChatOpenAI",
            id="a function around a wrapped client",
            marks=pytest.mark.soak,
        ),
    ],
)
def test_call_that_traces_itself_is_shown_once(endpoint: Endpoint, model: Any, name: str) -> None:
    server = uploaded(evaluator("groundedness", model=model(endpoint)))
    assert [feedback["score"] for feedback in server.feedback] == [0.75]
    assert [call["name"] for call in llm_runs(server)] == [name]


def test_function_that_traces_something_else_is_still_an_llm_run() -> None:
    def ask(request: Request) -> str:
        texts(request.case.query_text)
        return tags_of(4)

    (call,) = llm_runs(uploaded(evaluator("groundedness", model=ask)))
    assert call["extra"]["metadata"]["ls_model_name"] == "ask"
    assert "ls_provider" not in call["extra"]["metadata"]
    assert "usage_metadata" not in call["outputs"]


def test_reply_from_a_cache_has_no_tokens(endpoint: Endpoint, tmp_path: Path) -> None:
    client = OpenAI(base_url=endpoint.url, api_key="k")
    judge = evaluator("groundedness", model=CachedModel((client, "gpt-6-luna"), tmp_path / "replies.db"))
    calls = llm_runs(upload_by(by_evaluate, judge)) + llm_runs(upload_by(by_evaluate, judge))
    assert [call["outputs"]["usage_metadata"]["total_tokens"] for call in calls] == [120, 0]
    assert [call["extra"]["metadata"]["ls_provider"] for call in calls] == ["openai", "openai"]


# LangSmith's pytest plugin

TESTED = f"""
import pytest
from groundjudge import load
from groundjudge.adapters.langsmith import log_verdict

REPLIES = [
    ("passage_quality", {ADJACENT!r}),
    ("passage_quality", {NO_VERDICT!r}),
    ("groundedness", {tags_of(3)!r}),
]


@pytest.mark.langsmith
@pytest.mark.parametrize(("name", "reply"), REPLIES)
def test_answer(name, reply):
    judge = load(name, model=lambda request: reply)
    log_verdict(judge.evaluate(dict(query="q", response="a", reference="r", context=["c"])), judge)
"""


def plugin(tmp_path: Path, *arguments: str, **env: str) -> None:
    """Run the tests, which pass, with nothing of LangSmith or pytest in the environment but this."""
    prefixes = ("LANGSMITH_", "LANGCHAIN_", "PYTEST_")
    bare = {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
    (tmp_path / "test_it.py").write_text(TESTED)
    process = subprocess.run(  # noqa: S603  runs this Python
        [sys.executable, "-m", "pytest", "-p", "langsmith.pytest_plugin", *arguments, "test_it.py"],
        cwd=tmp_path,
        env={**bare, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr


@pytest.mark.soak
def test_log_verdict_sends_feedback_for_each_score(tmp_path: Path) -> None:
    with StandIn() as server:
        api = {"LANGSMITH_ENDPOINT": server.url, "LANGSMITH_API_KEY": "a-key"}
        suite = {"LANGSMITH_TRACING": "true", "LANGSMITH_TEST_SUITE": server.dataset}
        plugin(tmp_path, "--langsmith-output", **api, **suite)
    feedback_of_verdicts = [feedback for feedback in server.feedback if feedback["key"] != "pass"]
    scores: set[tuple[str, Any, Any, bool]] = set()
    for feedback in feedback_of_verdicts:
        score, value = feedback.get("score"), feedback.get("value")
        scores.add((feedback["key"], score, value, bool(feedback.get("error"))))
    assert scores == {
        ("passage_quality", 0.7203, None, False),  # LangSmith sends four digits
        ("passage_recall", 0.85, 4.4, False),
        ("passage_precision", 0.625, 3.5, False),
        ("passage_quality", None, "error", True),
        ("passage_recall", None, "error", True),
        ("passage_precision", None, "error", True),
        ("groundedness", None, "nothing_to_ground", False),
    }
    (answer,) = (feedback for feedback in feedback_of_verdicts if feedback["key"] == "groundedness")
    assert answer["comment"] == "Not applicable (nothing_to_ground). All of it is there."
    assert answer["feedback_source"]["metadata"]["signature"].startswith("groundedness@")
    assert answer["extra"]["status"] == "not_applicable"


@pytest.mark.soak
def test_log_verdict_without_tracking_sends_nothing(tmp_path: Path) -> None:
    with StandIn() as server:
        plugin(tmp_path, LANGSMITH_ENDPOINT=server.url, LANGSMITH_TEST_TRACKING="false")
    assert server.requests == []


# The package

WITHOUT_SOCKETS = """
import os, runpy, sys

REACHED = {"socket.connect", "socket.getaddrinfo", "socket.sendto"}
sys.addaudithook(lambda event, _: os._exit(3) if event in REACHED else None)
"""


@pytest.mark.soak
def test_example_runs_without_a_network() -> None:
    path = ROOT / "examples" / "evaluate_a_langsmith_experiment.py"
    code = f"{WITHOUT_SOCKETS}\nrunpy.run_path({str(path)!r}, run_name='__main__')"
    status, printed, errors = run_program(code)
    assert status == 0, errors
    assert "groundedness_coverage     1.00" in printed


# Labels and votes


@pytest.mark.parametrize(("label", "score"), [("supported", 1.0), ("not supported", 0.0), ("unclear", None)])
def test_label_is_categorical_feedback(label: str, score: float | None) -> None:
    judge = evaluator("groundedness", model=ScriptedModel(f"<S2>{label}</S2>"), **LABELS)
    (feedback,) = uploaded(judge).feedback
    assert (feedback["value"], feedback.get("score")) == (label, score)
    scores = {"supported": 1.0, "partly supported": 0.5, "not supported": 0.0}
    categories = [{"value": value, "label": name} for name, value in scores.items()]
    config = {"type": "categorical", "categories": categories}
    assert feedback.get("feedback_config") == (None if score is None else config)  # they need a value


def test_each_vote_is_a_run_with_its_call_inside() -> None:
    model = ScriptedModel(*(tags_of(score) for score in (5, 1, 5)))
    server = uploaded(evaluator("groundedness", model=model, repeats=3))
    runs = {run["id"]: run for run in server.of_project("evaluators")}
    calls = llm_runs(server)
    parents = [runs[call["parent_run_id"]]["name"] for call in calls]
    assert parents == [f"groundjudge.vote {number}" for number in (1, 2, 3)]
    (feedback,) = server.feedback
    extra = feedback["extra"]
    assert [vote["score"] for vote in extra["votes"]] == [1, 0, 1]
    assert (extra["decided_after"], extra["agreement"]) == (3, pytest.approx(2 / 3))
    assert "reply" not in extra["votes"][0]
