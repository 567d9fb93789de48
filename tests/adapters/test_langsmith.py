"""The LangSmith adapter with the real package, unpatched, and a local stand-in for its server."""

# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias, cast
from uuid import uuid4

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import ToolCall
from langchain_core.retrievers import BaseRetriever
from langchain_core.tools import tool
from langsmith import Client, aevaluate, evaluate, traceable
from langsmith.evaluation import EvaluationResult, evaluate_existing
from langsmith.schemas import Example, Run
from pydantic import BaseModel
from scripted_model import ScriptedModel
from standin_langsmith import Body, StandIn

from groundjudge import Adjacent, Case, ModelError, Scale, load
from groundjudge.adapters.langsmith import documents, evaluator, summary

pytestmark = [
    pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta"),
    # LangSmith passes `metadata` of every summary to an endpoint, and warns that it does not use it.
    pytest.mark.filterwarnings("ignore:The following arguments are no longer used in the create_feedback"),
]

Target: TypeAlias = Callable[[dict[str, Any]], Any]

ROOT = Path(__file__).parents[2]
NO_VERDICT = "I would rather not say."
TAGS = "<S0>Let me see.</S0><S1>All of it is there.</S1><S2>{}</S2>"
ADJACENT = """RECALL_Reasoning: One fact is missing.
RECALL_Formula: (4 * 0.6) + (5 * 0.4)
RECALL_Weighted_Summed_Score: 4.4
PRECISION_Reasoning: A third is noise.
PRECISION_Formula: (3 * 0.5) + (4 * 0.5)
PRECISION_Weighted_Summed_Score: 3.5
"""
SCORECARD = """Statement Sentence: It is red.
Supporting Evidence: The door is red.
Score: 10
Statement Sentence: It is tall.
Supporting Evidence: The door is ... two metres tall.
Score: 5
"""
ASKED: Body = {"question": "How long does it last?"}
ANSWERED: Body = {"answer": "Eleven hours.", "context": ["It lasts eleven hours."]}
EXPECTED: Body = {"answer": "11 hours"}
PASSAGES: Mapping[str, tuple[Any, float | None]] = {
    "passage_quality": (pytest.approx(2 * 0.85 * 0.625 / (0.85 + 0.625)), None),
    "passage_recall": (pytest.approx(0.85), 4.4),
    "passage_precision": (pytest.approx(0.625), 3.5),
}
BARE = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("LANGSMITH_", "LANGCHAIN_", "PYTEST_"))
}


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The addresses to which sockets connect during the test."""
    addresses: list[Any] = []
    connect = socket.socket.connect

    def recording(self: socket.socket, address: Any) -> None:
        addresses.append(address)
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", recording)
    return addresses


def quiet() -> Client:
    """A client that sends nothing, not even a request for information on the server."""
    return Client(
        api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False, tracing_sampling_rate=0
    )


def local(target: Target, *examples: tuple[Body, Body | None], **options: Any) -> list[dict[str, Any]]:
    """The rows of a local `evaluate`."""
    data = [Example(id=uuid4(), inputs=inputs, outputs=outputs) for inputs, outputs in examples]
    found: Any = evaluate(target, data=data, client=quiet(), upload_results=False, **options)
    return [*found]


def alocal(target: Target, *examples: tuple[Body, Body | None], **options: Any) -> list[dict[str, Any]]:
    """The rows of a local `aevaluate`."""
    data = [Example(id=uuid4(), inputs=inputs, outputs=outputs) for inputs, outputs in examples]

    async def atarget(inputs: dict[str, Any]) -> Any:
        return target(inputs)

    async def rows() -> list[Any]:
        found: Any = await aevaluate(atarget, data=data, client=quiet(), upload_results=False, **options)
        return [row async for row in found]

    return asyncio.run(rows())


@pytest.fixture(params=[local, alocal])
def run(request: pytest.FixtureRequest) -> Callable[..., list[dict[str, Any]]]:
    """`local` or `alocal`; each test with this fixture runs for both."""
    return cast("Callable[..., list[dict[str, Any]]]", request.param)


def results(row: dict[str, Any]) -> list[EvaluationResult]:
    return cast("list[EvaluationResult]", row["evaluation_results"]["results"])


def comment(result: EvaluationResult) -> str:
    assert result.comment is not None
    return result.comment


def extra(result: EvaluationResult) -> Body:
    assert result.extra is not None
    return cast("Body", result.extra)


def returning(outputs: Any) -> Target:
    """An application that returns these outputs."""
    return lambda _: outputs


def judged(run: Callable[..., Any], name: str, reply: Any, **options: Any) -> dict[str, EvaluationResult]:
    """The feedback on one run, by its keys."""
    judge = load(name, model=ScriptedModel(reply), **options)
    (row,) = run(returning(ANSWERED), (ASKED, EXPECTED), evaluators=[evaluator(judge)])
    return {result.key: result for result in results(row)}


# Feedback


def test_feedback_has_the_fields_of_the_verdict(run: Any) -> None:
    found = judged(run, "groundedness", TAGS.format(4))["groundedness"]
    assert (found.score, found.value, found.comment) == (0.75, "incomplete", "All of it is there.")
    assert found.extra == {"status": "ok", "passed": True, "parts": [], "warnings": []}
    prompt = load("groundedness", model="offline").rubric.prompt
    assert {name: found.evaluator_info[f"prompt_{name}"] for name in ("name", "version", "sha256")} == {
        "name": "groundedness",
        "version": prompt.id.version,
        "sha256": prompt.id.sha256,
    }
    assert found.evaluator_info["model"] == "scripted"
    assert found.evaluator_info["signature"].startswith(f"groundedness@{prompt.id.version}|sha:")


def test_not_applicable_feedback_has_its_label_and_no_score(run: Any) -> None:
    found = judged(run, "groundedness", TAGS.format(3))["groundedness"]
    assert (found.score, found.value, found.comment) == (
        None,
        "nothing_to_ground",
        "Not applicable (nothing_to_ground). All of it is there.",
    )
    assert extra(found)["status"] == "not_applicable"
    assert "error" not in extra(found)


@pytest.mark.parametrize(
    ("name", "keys"), [("groundedness", ["groundedness"]), ("passage_quality", [*PASSAGES])]
)
def test_blank_response_makes_no_call(run: Any, name: str, keys: list[str]) -> None:
    model = ScriptedModel(NO_VERDICT)
    (row,) = run(returning({"answer": " "}), (ASKED, EXPECTED), evaluators=[evaluator(name, model=model)])
    assert [(one.key, one.score, extra(one)["error"]) for one in results(row)] == [
        (key, None, True) for key in keys
    ]
    assert comment(results(row)[0]).startswith(f"empty_response: {name}: the response is blank")
    lenient = evaluator(name, model=model, empty_response="not_applicable")
    (row,) = run(returning({"answer": " "}), (ASKED, EXPECTED), evaluators=[lenient])
    assert [(one.key, one.score, one.value) for one in results(row)] == [
        (key, None, "empty_response") for key in keys
    ]
    assert model.asked == []


def test_value_without_levels_is_the_feedback_value(run: Any) -> None:
    found = judged(run, "confidence_grounding", '{"reasoning": "Mostly.", "score": 0.7}')[
        "confidence_grounding"
    ]
    assert (found.score, found.value, found.comment) == (0.7, 0.7, "Mostly.")


def test_each_part_has_its_own_key_besides_the_headline(run: Any) -> None:
    found = judged(run, "passage_quality", ADJACENT)
    assert {key: (one.score, one.value) for key, one in found.items()} == PASSAGES
    assert found["passage_recall"].comment == "One fact is missing."
    assert (
        found["passage_quality"].comment
        == "precision (3.5): A third is noise.\nrecall (4.4): One fact is missing."
    )


def test_feedback_keys_of_a_custom_judge_with_parts(tmp_path: Path) -> None:
    path = tmp_path / "tone.prompty"
    path.write_text("---\nname: tone\n---\nRate {response}")
    judge = load(
        path, model=ScriptedModel(""), reply=Adjacent(("warmth", "calm")), scale=Scale(worst=1, best=5)
    )
    assert evaluator(judge).feedback_keys == ["tone", "tone_warmth", "tone_calm"]


def test_comment_begins_with_the_weakest_part_and_extra_has_evidence(run: Any) -> None:
    judge = load("statement_groundedness", model=ScriptedModel(SCORECARD))
    outputs = {
        "answer": "It is red. It is tall.",
        "context": ["The door is red.", "The door is not two metres tall."],
    }
    (row,) = run(returning(outputs), (ASKED, None), evaluators=[evaluator(judge)])
    (found,) = results(row)
    assert found.score == 0.75
    assert comment(found).startswith("It is tall. (5): ")
    assert [part["name"] for part in extra(found)["parts"]] == ["It is red.", "It is tall."]
    assert extra(found)["parts"][0]["evidence"][0] == {
        "quote": "The door is red.",
        "document": 0,
        "start": 0,
        "end": 16,
        "exact": True,
    }


@pytest.mark.parametrize(
    ("reply", "start"),
    [
        (NO_VERDICT, "no_verdict: the reply holds no verdict"),
        ("", "empty: the reply is empty"),
        (ModelError("timeout", "no answer within 60 s"), "timeout: no answer within 60 s"),
        (RuntimeError("out of order"), "unexpected: RuntimeError: out of order"),
    ],
)
@pytest.mark.parametrize(
    ("name", "keys"), [("groundedness", ["groundedness"]), ("passage_quality", [*PASSAGES])]
)
def test_error_is_recorded_under_every_key(
    run: Any, name: str, keys: list[str], reply: str | Exception, start: str
) -> None:
    found = judged(run, name, reply)
    assert [*found] == keys
    for one in found.values():
        assert (one.score, one.value) == (None, None)
        assert comment(one).startswith(start)
        assert extra(one)["error"] is True
        assert extra(one)["status"] == "error"


def test_error_in_one_row_does_not_affect_the_others(run: Any) -> None:
    judge = evaluator("groundedness", model=ScriptedModel(NO_VERDICT, TAGS.format(5)), max_reasks=0)
    rows = run(returning(ANSWERED), (ASKED, None), (ASKED, None), evaluators=[judge], max_concurrency=0)
    assert sorted([results(row)[0].score for row in rows], key=str) == [1.0, None]


def test_feedback_equals_the_verdict_of_judge(run: Any) -> None:
    verdict = load("groundedness", model="offline").judge(Case.from_exchange(ASKED, ANSWERED, EXPECTED))
    (row,) = run(
        returning(ANSWERED), (ASKED, EXPECTED), evaluators=[evaluator("groundedness", model="offline")]
    )
    (found,) = results(row)
    assert (found.score, found.value, found.comment) == (verdict.score, verdict.label, verdict.reason)


def test_evaluator_accepts_options_and_refuses_unknown_ones() -> None:
    judge = load("groundedness", model="offline")
    assert evaluator(judge).feedback_keys == ["groundedness"]
    assert evaluator(judge, model=ScriptedModel(""), threshold=0.9).feedback_keys == ["groundedness"]
    with pytest.raises(TypeError, match="unknown option 'treshold', did you mean 'threshold'"):
        evaluator(judge, treshold=0.9)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]


def test_options_reach_the_judge(run: Any) -> None:
    found = judged(run, "groundedness", TAGS.format(4), threshold=0.8)["groundedness"]
    assert extra(found)["passed"] is False


# Fields of the case


@traceable(run_type="retriever")
def dictionaries(_: str) -> list[dict[str, Any]]:
    return [{"page_content": "one", "metadata": {"title": "First"}, "type": "Document"}, {"text": "two"}]


@traceable(run_type="retriever")
def texts(_: str) -> list[str]:
    return ["one", "two"]


@traceable(run_type="retriever")
def a_text(_: str) -> str:
    return "one"


@traceable(run_type="retriever")
def with_scores(_: str) -> dict[str, Any]:
    return {"documents": [{"content": "one"}], "scores": [0.9]}


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
def chained(question: str) -> None:
    texts(question)
    weather(question)


@traceable(run_type="tool")
def weather(_: str) -> str:
    return "sunny"


@traceable(run_type="tool")
def readings(_: str) -> dict[str, Any]:
    return {"degrees": 21, "ort": "Köln"}


class Reading(BaseModel):
    degrees: int
    day: date


@traceable(run_type="tool")
def reading(_: str) -> Reading:
    return Reading(degrees=21, day=date(2025, 5, 1))


@traceable(run_type="tool")
def with_output(_: str) -> dict[str, Any]:
    return {"output": 21, "unit": "°C"}


@traceable(run_type="tool")
def rows(_: str) -> list[dict[str, Any]]:
    return [{"n": 1}]


@traceable(run_type="tool")
def silent(_: str) -> None:
    return None


class Shelf(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
        del run_manager
        return [LangChainDocument(page_content=f"about {query}", metadata={"title": "Shelf"})]


@tool
def clock(city: str) -> str:
    """Return the time."""
    return f"noon in {city}"


def shelf(question: str) -> None:
    Shelf().invoke(question)


def clock_by_text(question: str) -> None:
    clock.invoke({"city": question})


def clock_by_call(question: str) -> None:
    clock.invoke(ToolCall(name="clock", args={"city": question}, id="1", type="tool_call"))


RUNS: Sequence[tuple[Sequence[Callable[[str], Any]], list[tuple[str, str, str]]]] = [
    ([dictionaries], [("one", "First", "knowledge"), ("two", "", "knowledge")]),
    ([texts], [("one", "", "knowledge"), ("two", "", "knowledge")]),
    ([a_text], [("one", "", "knowledge")]),
    ([with_scores], [("one", "", "knowledge")]),
    ([nothing], []),
    ([fails], []),
    ([inside_out], [("two", "", "knowledge")]),
    (
        [chained],
        [("one", "", "knowledge"), ("two", "", "knowledge"), ("sunny", "Tool Result: weather", "tool")],
    ),
    ([weather, a_text], [("sunny", "Tool Result: weather", "tool"), ("one", "", "knowledge")]),
    ([readings], [('{"degrees":21,"ort":"Köln"}', "Tool Result: readings", "tool")]),
    ([reading], [('{"degrees":21,"day":"2025-05-01"}', "Tool Result: reading", "tool")]),
    ([with_output], [('{"output":21,"unit":"°C"}', "Tool Result: with_output", "tool")]),
    ([rows], [('[{"n":1}]', "Tool Result: rows", "tool")]),
    ([silent], []),
    ([shelf], [("about it", "Shelf", "knowledge")]),
    ([clock_by_text], [("noon in it", "Tool Result: clock", "tool")]),
    ([clock_by_call], [("noon in it", "Tool Result: clock", "tool")]),
]


STEPS = ["+".join(getattr(step, "__name__", "") for step in steps) for steps, _ in RUNS]
QUICK = {"dictionaries", "chained", "readings", "clock_by_call"}
ROUND_TRIPS = [  # each takes half a second because the client waits
    pytest.param(*run, id=name, marks=() if name in QUICK else pytest.mark.soak)
    for name, run in zip(STEPS, RUNS, strict=True)
]


def application(*steps: Callable[[str], Any]) -> Target:
    """An application that performs these steps and answers."""

    def target(inputs: dict[str, Any]) -> dict[str, Any]:
        del inputs
        for step in steps:
            with suppress(LookupError):
                step("it")
        return {"answer": "Eleven hours."}

    return target


def described(case: Case) -> list[tuple[str, str, str]]:
    assert case.context is not None
    return [(document.content, document.title, document.kind) for document in case.context]


@pytest.mark.parametrize(("steps", "expected"), RUNS, ids=STEPS)
def test_documents_are_the_outputs_of_child_runs(run: Any, steps: Any, expected: Any) -> None:
    model = ScriptedModel(TAGS.format(5))
    run(application(*steps), (ASKED, None), evaluators=[evaluator("groundedness", model=model)])
    assert described(model.asked[0].case) == expected


@pytest.mark.parametrize(("steps", "expected"), ROUND_TRIPS)
def test_documents_are_the_same_after_runs_are_reloaded(steps: Any, expected: Any) -> None:
    model = ScriptedModel(TAGS.format(5))
    with StandIn([(ASKED, None)]) as server:
        client = server.client()
        experiment = evaluate(application(*steps), data=server.dataset, client=client)
        client.flush()
        evaluate_existing(
            experiment.experiment_name,
            evaluators=[evaluator("groundedness", model=model)],
            client=client,
            load_nested=True,
        )
        client.flush()
    assert described(model.asked[0].case) == expected


def test_retrieved_object_without_text_is_an_error(run: Any) -> None:
    @traceable(run_type="retriever")
    def numbers(_: str) -> list[dict[str, int]]:
        return [{"rank": 1, "id": 7}]

    (row,) = run(
        application(numbers), (ASKED, None), evaluators=[evaluator("groundedness", model=ScriptedModel(""))]
    )
    (found,) = results(row)
    assert comment(found).startswith("context_unreadable:")
    assert "rank, id" in comment(found)


def test_judge_without_context_input_ignores_retrieved_objects(run: Any) -> None:
    @traceable(run_type="retriever")
    def numbers(_: str) -> list[int]:
        return [1]

    judge = evaluator("passage_quality", model=ScriptedModel(ADJACENT))
    (row,) = run(application(numbers), (ASKED, EXPECTED), evaluators=[judge])
    assert {one.key: (one.score, one.value) for one in results(row)} == PASSAGES


EXCHANGES: Sequence[tuple[Body, Any, Body | None, dict[str, Any]]] = [
    (
        ASKED,
        ANSWERED,
        EXPECTED,
        {"query_text": "How long does it last?", "response_text": "Eleven hours.", "reference": "11 hours"},
    ),
    (
        {"input": "q"},
        "plain text",
        {"output": "r"},
        {"query_text": "q", "response_text": "plain text", "reference": "r"},
    ),
    (
        {"messages": [{"role": "user", "content": "q"}]},
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]},
        None,
        {"query_text": "q", "response_text": "a", "reference": None},
    ),
    ({"question": "q", "documents": ["d"]}, {"answer": "a"}, None, {"query_text": "q", "response_text": "a"}),
]


@pytest.mark.parametrize(("inputs", "outputs", "expected", "fields"), EXCHANGES)
def test_fields_are_found_under_their_usual_names(
    run: Any, inputs: Body, outputs: Any, expected: Any, fields: Any
) -> None:
    model = ScriptedModel(TAGS.format(5))

    def target(_: dict[str, Any]) -> Any:
        texts("it")
        return outputs

    run(target, (inputs, expected), evaluators=[evaluator("groundedness", model=model)])
    (asked,) = model.asked
    assert {name: getattr(asked.case, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected", "context"),
    [
        (ASKED, {"answer": "a", "context": ["output"]}, {"context": ["ideal"]}, ["output"]),
        ({**ASKED, "context": ["input"]}, {"answer": "a"}, {"context": ["ideal"]}, ["one", "two"]),
        (ASKED, {"answer": "a", "context": []}, {"context": ["ideal"]}, []),
        (ASKED, {"answer": "a"}, {"context": ["ideal"]}, ["one", "two"]),
    ],
)
def test_context_is_from_outputs_then_child_runs_then_elsewhere(
    run: Any, inputs: Body, outputs: Body, expected: Body, context: list[str]
) -> None:
    model = ScriptedModel(TAGS.format(5))

    def target(_: dict[str, Any]) -> Any:
        texts("it")
        return outputs

    run(target, (inputs, expected), evaluators=[evaluator("groundedness", model=model)])
    assert [content for content, _, _ in described(model.asked[0].case)] == context


ODD_INPUTS: Body = {"payload": {"q": "q?"}}
ODD_OUTPUTS: Body = {"choices": [{"text": "first"}, {"text": "second"}], "used": [{"content": "d"}]}
PATHS = {
    "query": "inputs.payload.q",
    "response": "outputs.choices.1.text",
    "reference": "reference_outputs.ideal",
    "agent_name": "run.name",
}


def as_a_case(run: Run, example: Example | None) -> Case:
    sides: Any = example
    outputs: Any = run.outputs
    query, response = sides.inputs["payload"]["q"], outputs["choices"][1]["text"]
    return Case(query=query, response=response, reference="r", context=documents(run))


def as_a_mapping(run: Run, example: Example | None) -> Body:
    sides: Any = example
    outputs: Any = run.outputs
    query, response = sides.inputs["payload"]["q"], outputs["choices"][1]["text"]
    return {"question": query, "answer": response, "ground_truth": "r", "contexts": ["d"]}


def with_a_wrong_key(run: Run, example: Example | None) -> Body:
    del run
    asked: Any = example
    return {"question": asked.inputs["nowhere"]}


@pytest.mark.parametrize(
    ("case", "context"),
    [
        ({**PATHS, "context": "outputs.used"}, ["d"]),
        (PATHS, ["one", "two"]),
        (as_a_case, ["one", "two"]),
        (as_a_mapping, ["d"]),
    ],
)
def test_fields_are_found_by_paths_or_a_function(run: Any, case: Any, context: list[str]) -> None:
    model = ScriptedModel(TAGS.format(5))

    def target(_: dict[str, Any]) -> Any:
        texts("it")
        return ODD_OUTPUTS

    run(target, (ODD_INPUTS, {"ideal": "r"}), evaluators=[evaluator("groundedness", model=model, case=case)])
    found = model.asked[0].case
    assert (found.query, found.response, found.reference) == ("q?", "second", "r")
    assert [content for content, _, _ in described(found)] == context


def test_paths_are_added_to_fields_under_their_usual_names(run: Any) -> None:
    model = ScriptedModel(TAGS.format(5))
    paths = {"response": "outputs.text", "id": "inputs.number", "split": "inputs.split"}

    def target(_: dict[str, Any]) -> Any:
        return {"text": "r", "context": ["c"]}

    inputs = {"question": "q?", "number": 7, "split": "test"}
    run(target, (inputs, None), evaluators=[evaluator("groundedness", model=model, case=paths)])
    found = model.asked[0].case
    assert (found.query, found.response, found.id, found.metadata["split"]) == ("q?", "r", "7", "test")
    assert [content for content, _, _ in described(found)] == ["c"]


NEEDS_ALL = (
    "needs query, which is not given, and context, which is not given, and response, which is not given"
)


@pytest.mark.parametrize(
    ("case", "start"),
    [
        ({"query": "inputs.nowhere.q"}, f"missing_field: groundedness {NEEDS_ALL}. Give query as query or"),
        (
            {"query": "outputs.choices.9.text"},
            f"missing_field: groundedness {NEEDS_ALL}. Give query as query or",
        ),
        (
            {"query": "output.choices"},
            "bad_path: the path 'output.choices' begins with 'output', which is none of inputs, outputs,",
        ),
        (with_a_wrong_key, "unexpected: KeyError: 'nowhere'"),
    ],
)
def test_wrong_path_or_failing_function_is_an_error(run: Any, case: Any, start: str) -> None:
    judge = evaluator("groundedness", model=ScriptedModel(""), case=case)
    (row,) = run(returning(ODD_OUTPUTS), (ODD_INPUTS, None), evaluators=[judge])
    (found,) = results(row)
    assert comment(found).startswith(start)
    assert extra(found)["error"] is True


def test_missing_field_error_lists_the_keys(run: Any) -> None:
    judge = evaluator("groundedness", model=ScriptedModel(""))
    (row,) = run(returning({"reply": "a"}), ({"prompt": "q"}, {"ideal": "r"}), evaluators=[judge])
    message = comment(results(row)[0])
    assert message.startswith(f"missing_field: groundedness {NEEDS_ALL}. Give query as query or")
    assert "LangSmith gave inputs: prompt; outputs: reply; reference_outputs: ideal" in message
    assert "load_nested=True" in message


def test_missing_field_error_names_the_failure_of_the_application(run: Any) -> None:
    def target(_: dict[str, Any]) -> Any:
        message = "the database is down"
        raise RuntimeError(message)

    (row,) = run(
        target, (ASKED, EXPECTED), evaluators=[evaluator("passage_quality", model=ScriptedModel(""))]
    )
    assert [one.key for one in results(row)] == [*PASSAGES]
    message = comment(results(row)[0])
    assert message.startswith("no_response: passage_quality: no response was given")
    assert "the run failed: RuntimeError('the database is down')" in message


# Summary


def summarised(name: str, rows: Sequence[dict[str, Any]]) -> dict[str, EvaluationResult]:
    found = summary(name)([row["run"] for row in rows], [row["example"] for row in rows])
    return {one.key.removeprefix(f"{name}_"): one for one in found.get("results", [])}


def test_summary_has_figures_of_the_evaluators_verdicts(run: Any) -> None:
    replies = [TAGS.format(5), TAGS.format(2), TAGS.format(3), NO_VERDICT, NO_VERDICT]
    model = ScriptedModel(*replies)
    judge = evaluator("groundedness", model=model)
    outputs: Iterator[Body] = iter([*[ANSWERED] * 4, {}])

    def target(_: dict[str, Any]) -> Body:
        return next(outputs)

    totals = summary("groundedness")
    rows = run(
        target,
        *[(ASKED, None)] * 5,
        evaluators=[judge],
        summary_evaluators=[totals],
        max_concurrency=0,
    )
    found = summarised("groundedness", rows)
    assert {figure: one.score for figure, one in found.items()} == {
        "mean": 0.625,
        "lower_bound": 1.25 / 4,
        "upper_bound": 3.25 / 4,
        "coverage": 0.5,
        "pass_rate": 0.5,
    }
    assert found["mean"].comment == (
        "5 rows: 2 with a score, 1 not applicable, 0 without a required field, "
        "2 errors (no_response 1, no_verdict 1)"
    )
    assert len(model.asked) == 5  # the unreadable reply caused a reask; the summary made no call
    (signature,) = found["mean"].evaluator_info["signatures"]
    assert signature.startswith("groundedness@")


def test_summary_of_errors_has_no_mean(run: Any) -> None:
    judge = evaluator("groundedness", model=ScriptedModel(NO_VERDICT))
    found = summarised("groundedness", run(returning(ANSWERED), (ASKED, None), evaluators=[judge]))
    assert {figure: one.score for figure, one in found.items()} == {
        "mean": None,
        "lower_bound": 0.0,
        "upper_bound": 1.0,
        "coverage": 0.0,
        "pass_rate": None,
    }


def test_summary_is_of_one_judge_by_name_or_object(run: Any) -> None:
    good, bad = (
        load("groundedness", model=ScriptedModel(TAGS.format(5))),
        load("passage_quality", model=ScriptedModel(ADJACENT)),
    )
    rows = run(returning(ANSWERED), (ASKED, EXPECTED), evaluators=[evaluator(good), evaluator(bad)])
    assert summarised("groundedness", rows)["mean"].score == 1
    assert summarised("passage_quality", rows)["mean"].score == PASSAGES["passage_quality"][0]
    found = summary(bad)([row["run"] for row in rows], [])
    assert "passage_quality_mean" in {one.key for one in found.get("results", [])}


def test_summary_without_its_evaluator_raises() -> None:
    no_runs: Sequence[Run] = []
    with pytest.raises(ValueError, match=r"evaluator\('groundedness', ...\) must be among the evaluators"):
        summary("groundedness")(no_runs, [])


# Uploads


def uploaded(*evaluators: Any, steps: Sequence[Callable[[str], Any]] = (texts,), **options: Any) -> StandIn:
    """The stand-in after an experiment of one row was uploaded to it."""
    with StandIn([(ASKED, EXPECTED)]) as server:
        client = server.client()
        evaluate(application(*steps), data=server.dataset, evaluators=evaluators, client=client, **options)
        client.flush()
    return server


def auploaded(*evaluators: Any, steps: Sequence[Callable[[str], Any]] = (texts,), **options: Any) -> StandIn:
    """Like `uploaded`, with `aevaluate`."""
    target = application(*steps)

    async def atarget(inputs: dict[str, Any]) -> Any:
        return target(inputs)

    async def experiment(server: StandIn, client: Client) -> None:
        found = await aevaluate(atarget, data=server.dataset, evaluators=evaluators, client=client, **options)
        await found.wait()

    with StandIn([(ASKED, EXPECTED)]) as server:
        client = server.client()
        asyncio.run(experiment(server, client))
        client.flush()
    return server


@pytest.fixture(params=[uploaded, auploaded])
def upload(request: pytest.FixtureRequest) -> Callable[..., StandIn]:
    return cast("Callable[..., StandIn]", request.param)


def test_uploaded_feedback_has_comment_source_and_parts(upload: Any) -> None:
    blocks = (
        "Statement Sentence: x\nScore: 10",
        "Statement Sentence: Eleven hours.\nSupporting Evidence: one\nScore: 5",
    )
    server = upload(evaluator("statement_groundedness", model=ScriptedModel("\n".join(blocks))))
    (feedback,) = server.feedback
    assert (feedback["key"], feedback["score"], feedback["value"]) == ("statement_groundedness", 0.75, 7.5)
    assert feedback["comment"] == "Eleven hours. (5): one\nx (10)"
    assert feedback["feedback_source"]["type"] == "model"
    source = feedback["feedback_source"]["metadata"]
    assert {"prompt_name", "prompt_version", "prompt_sha256", "model", "signature", "__run"} == {*source}
    assert feedback["extra"]["warnings"] == ["statement_not_in_response"]
    assert feedback["extra"]["parts"][1]["evidence"][0]["quote"] == "one"
    assert "error" not in feedback


def test_run_of_the_judge_is_nested_in_the_evaluators_run_and_named_in_feedback(upload: Any) -> None:
    server = upload(evaluator("passage_quality", model=ScriptedModel(ADJACENT)))
    outer, inner = server.of_project("evaluators")
    assert (outer["name"], inner["name"]) == ("passage_quality", "judge")
    assert inner["parent_run_id"] == outer["id"]
    assert inner["inputs"]["case"]["reference"] == "11 hours"
    assert inner["outputs"]["parts"][0]["name"] == "recall"
    assert {one["feedback_source"]["metadata"]["__run"]["run_id"] for one in server.feedback} == {outer["id"]}
    assert sorted(one["key"] for one in server.feedback) == sorted(PASSAGES)
    (session,) = server.sessions.values()
    target = server.of_project(session["name"])[0]
    assert {one["run_id"] for one in server.feedback} == {target["id"]}


def test_uploaded_error_is_under_every_key(upload: Any) -> None:
    server = upload(evaluator("passage_quality", model=ScriptedModel(NO_VERDICT)))
    assert sorted(one["key"] for one in server.feedback) == sorted(PASSAGES)
    outer, inner = server.of_project("evaluators")
    assert "no_verdict" in inner["error"]
    for feedback in server.feedback:
        assert feedback["error"] is True
        assert feedback["comment"].startswith("no_verdict:")
        assert "score" not in feedback
        assert feedback["feedback_source"]["metadata"]["__run"]["run_id"] == outer["id"]


def test_uploaded_summary_belongs_to_the_experiment(upload: Any) -> None:
    judge = evaluator("groundedness", model=ScriptedModel(TAGS.format(4)))
    server = upload(judge, summary_evaluators=[summary("groundedness")])
    (session,) = server.sessions.values()
    totals = [one for one in server.feedback if "run_id" not in one]
    assert {one["key"]: one["score"] for one in totals} == {
        "groundedness_mean": 0.75,
        "groundedness_lower_bound": 0.75,
        "groundedness_upper_bound": 0.75,
        "groundedness_coverage": 1.0,
        "groundedness_pass_rate": 1.0,
    }
    assert {one["session_id"] for one in totals} == {session["id"]}


def test_verdicts_stored_for_the_summary_are_not_uploaded(upload: Any) -> None:
    judges = [
        evaluator(name, model=ScriptedModel(NO_VERDICT)) for name in ("groundedness", "passage_quality")
    ]
    server = upload(*judges, summary_evaluators=[summary("groundedness")])
    assert (
        len(server.runs) == 2 + 2 * 2 + 1
    )  # application and retriever, two evaluators and their judges, summary
    for run in server.runs.values():
        assert {*run.get("extra", {})} <= {"metadata", "runtime"}
        assert "groundjudge" not in str(run.get("inputs"))


def test_existing_experiment_is_judged_with_its_child_runs() -> None:
    model = ScriptedModel(TAGS.format(4))
    with StandIn([(ASKED, EXPECTED), (ASKED, None)]) as server:
        client = server.client()
        experiment = evaluate(application(dictionaries), data=server.dataset, client=client).experiment_name
        client.flush()
        judge = evaluator("groundedness", model=model)
        for nested in (True, False):
            evaluate_existing(
                experiment,
                evaluators=[judge],
                summary_evaluators=[summary(load("groundedness", model=model))],
                client=client,
                load_nested=nested,
            )
            client.flush()
    of_rows = [one for one in server.feedback if "run_id" in one]
    assert [one.get("score") for one in of_rows] == [0.75, 0.75, None, None]
    assert all("load_nested=True" in one["comment"] for one in of_rows[2:])
    assert [one["score"] for one in server.feedback if one["key"] == "groundedness_coverage"] == [1.0, 1.0]
    assert len(model.asked) == 2


def test_local_experiment_opens_no_connection(run: Any, connections: list[Any]) -> None:
    run(application(texts), (ASKED, None), evaluators=[evaluator("groundedness", model="offline")])
    assert connections == []


# LangSmith's pytest plugin

TESTED = f"""
import pytest
from groundjudge import GroundjudgeError, load
from groundjudge.adapters.langsmith import log_verdict

CASE = dict(query="q", response="a", reference="r", context=["c"])


@pytest.mark.langsmith
@pytest.mark.parametrize("reply", [{ADJACENT!r}, {NO_VERDICT!r}])
def test_passages(reply):
    judge = load("passage_quality", model=lambda request: reply)
    try:
        verdict = judge.judge(CASE)
    except GroundjudgeError as error:
        verdict = error.verdict
    log_verdict(verdict, judge)


@pytest.mark.langsmith
def test_answer():
    judge = load("groundedness", model=lambda request: {TAGS.format(3)!r})
    log_verdict(judge.judge(CASE), judge)
"""


def plugin(tmp_path: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "test_it.py").write_text(TESTED)
    return subprocess.run(  # noqa: S603  runs this Python
        [sys.executable, "-m", "pytest", "-p", "langsmith.pytest_plugin", *arguments, "test_it.py"],
        cwd=tmp_path,
        env=BARE | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )


@pytest.mark.parametrize("arguments", [pytest.param((), marks=pytest.mark.soak), ("--langsmith-output",)])
def test_log_verdict_sends_feedback_for_each_score(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with StandIn() as server:
        done = plugin(
            tmp_path,
            *arguments,
            LANGSMITH_ENDPOINT=server.url,
            LANGSMITH_API_KEY="a-key",
            LANGSMITH_TRACING="true",
            LANGSMITH_TEST_SUITE=server.dataset,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    logged = [one for one in server.feedback if one["key"] != "pass"]
    passages = {one["key"]: one for one in logged if one["key"] in PASSAGES and "score" in one}
    errors = {one["key"]: one for one in logged if one.get("error")}
    (answer,) = (one for one in logged if one["key"] == "groundedness")
    assert len(logged) == 3 + 3 + 1
    assert {key: one.get("value") for key, one in passages.items()} == {
        key: value for key, (_, value) in PASSAGES.items()
    }
    assert {key: one["score"] for key, one in passages.items()} == {  # LangSmith sends four digits
        "passage_quality": 0.7203,
        "passage_recall": 0.85,
        "passage_precision": 0.625,
    }
    assert {*errors} == {*PASSAGES}
    assert all(
        one["comment"].startswith("no_verdict:") and one["value"] == "error" for one in errors.values()
    )
    assert (answer.get("score"), answer["value"], answer["comment"]) == (
        None,
        "nothing_to_ground",
        "Not applicable (nothing_to_ground). All of it is there.",
    )
    assert answer["feedback_source"]["metadata"]["signature"].startswith("groundedness@")
    assert answer["extra"]["status"] == "not_applicable"


def test_log_verdict_without_tracking_sends_nothing(tmp_path: Path) -> None:
    with StandIn() as server:
        done = plugin(tmp_path, LANGSMITH_ENDPOINT=server.url, LANGSMITH_TEST_TRACKING="false")
    assert done.returncode == 0, done.stdout + done.stderr
    assert server.requests == []


# The package

WITHOUT_SOCKETS = """
import runpy, sys


def deny(event, arguments):
    if event in {"socket.connect", "socket.getaddrinfo", "socket.sendto"}:
        print("REACHED", event, arguments, file=sys.stderr)
        raise ConnectionError(event)


sys.addaudithook(deny)
"""


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603  runs this Python
        [sys.executable, "-c", code], env=BARE, capture_output=True, text=True, check=False, timeout=100
    )


def test_example_runs_without_a_network() -> None:
    path = ROOT / "examples" / "evaluate_a_langsmith_experiment.py"
    done = python(f"{WITHOUT_SOCKETS}\nrunpy.run_path({str(path)!r}, run_name='__main__')")
    assert done.returncode == 0, done.stderr
    assert "REACHED" not in done.stderr
    for line in (
        "grounded           How long does",
        "incorrect          How long is",
        "nothing_to_ground  Can you",
    ):
        assert line in done.stdout
    assert "groundedness_coverage     1.00" in done.stdout


def test_import_loads_langsmith_and_no_other_framework() -> None:
    done = python(
        "import sys, groundjudge.adapters.langsmith\n"
        "print(*sorted({'langsmith', 'langchain_core', 'deepeval', 'openai', 'pytest'} & {*sys.modules}))"
    )
    assert done.stdout.split() == ["langsmith"], done.stderr


def test_import_without_langsmith_names_the_extra() -> None:
    done = python("import sys\nsys.modules['langsmith'] = None\nimport groundjudge.adapters.langsmith")
    assert 'needs LangSmith: pip install "groundjudge[langsmith]"' in done.stderr
