"""One row at every adapter: the same case, options and errors, stated once as a table over the adapters."""

# What LangSmith and MLflow leave without types is no concern of these tests:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# ruff: noqa: PLC0415  MLflow and Inspect take seconds to import
from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from any_options import load_any
from chats import CHAT, LANGCHAIN, OPENAI
from deepeval.test_case import LLMTestCase
from fenced import without_codes
from langsmith.schemas import Example, Run
from scripted_model import ScriptedModel

from groundjudge import Case, GroundjudgeError, ModelError, Verdict, as_judge, load
from groundjudge.adapters.deepeval import JudgeMetric
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langfuse import evaluator as langfuse_evaluator
from groundjudge.adapters.langsmith import evaluator
from groundjudge.adapters.opentelemetry import emit
from groundjudge.adapters.promptfoo import get_assert
from groundjudge.adapters.pydantic_evals import JudgeEvaluator
from groundjudge.verdict import Part, named_scores

pytestmark = pytest.mark.usefixtures("current_event_loop")

GOOD = "<S1>w</S1><S2>5</S2>"


@dataclass(frozen=True)
class Row:
    """What an application was given and returned; `metadata` is what the framework keeps beside it.

    `reference` is what a data set has of the right outputs.
    """

    inputs: Mapping[str, Any]
    outputs: Any
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    reference: dict[str, Any] | None = None


def by_langsmith(judge: Any, row: Row, **options: Any) -> Verdict:
    made = evaluator(judge, **options)
    times: Any = {"start_time": "2026-01-01T00:00:00", "end_time": "2026-01-01T00:00:01"}
    inputs: Any = row.inputs
    run = Run(
        id=uuid4(), name="a", run_type="chain", trace_id=uuid4(), inputs=inputs, outputs=row.outputs, **times
    )
    example = Example(id=uuid4(), inputs=inputs, outputs=row.reference, metadata={**row.metadata})
    results: Any = made.evaluate_run(run, example)
    assert all(one.comment.strip() for one in results["results"])
    ((_, verdict),) = (run.extra or {})["groundjudge"].values()
    return Verdict.model_validate(verdict)


def by_langfuse(judge: Any, row: Row, **options: Any) -> Verdict:
    made = langfuse_evaluator(judge, **options)
    sides: Any = {"input": row.inputs, "output": row.outputs, "expected_output": row.reference}
    scores = asyncio.run(made(**sides, metadata=row.metadata))
    assert all((one.comment or "").strip() for one in scores)
    return Verdict.model_validate(scores[0].metadata)


def by_pydantic_evals(judge: Any, row: Row, **options: Any) -> Verdict:
    made = JudgeEvaluator(judge, **options)
    context: Any = SimpleNamespace(
        inputs=row.inputs,
        output=row.outputs,
        expected_output=row.reference,
        metadata=row.metadata,
        name=None,
        attributes={},
    )
    with suppress(GroundjudgeError):  # pydantic-evals shows it as a failure
        scores = asyncio.run(made.evaluate(context))
        assert all((one.reason or "").strip() for one in scores.values())
    return Verdict.model_validate(next(iter(context.attributes["groundjudge"].values())))


def by_promptfoo(judge: Any, row: Row, **options: Any) -> Verdict:
    found = get_assert(row.outputs, {"vars": row.inputs, "config": {"judge": judge, **options}})
    assert found["reason"].strip()
    if "groundjudge" not in found["metadata"]:
        raise ValueError(found["reason"])
    return Verdict.model_validate(found["metadata"]["groundjudge"])


def by_langchain(judge: Any, row: Row, **options: Any) -> Verdict:
    metadata = {"metadata": row.metadata} if row.metadata else {}
    given = {**row.inputs, **row.outputs, **metadata}
    verdict: Verdict = runnable(judge, on_error="verdict", **options).invoke(given)
    return verdict


def by_mlflow(judge: Any, row: Row, **options: Any) -> Verdict:
    from groundjudge.adapters.mlflow import scorer

    made: Any = scorer(judge, **options)(inputs=row.inputs, outputs=row.outputs, expectations=row.reference)
    feedback = made if isinstance(made, list) else [made]
    assert all(one.rationale.strip() for one in feedback)
    verdict = Verdict.model_validate_json(feedback[0].metadata["groundjudge"])
    assert [one.value for one in feedback if verdict.error] == [None] * bool(verdict.error)
    assert (feedback[0].error is None) is (verdict.error is None)
    return verdict


def by_inspect(judge: Any, row: Row, **options: Any) -> Verdict:
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState

    from groundjudge.adapters.inspect import judge as scorer

    made = scorer(judge, **options)
    metadata = {**row.inputs, **row.outputs, **row.metadata}
    query, output = metadata.pop("query"), ModelOutput.from_content("none", metadata.pop("response"))
    name: Any = "none/none"
    state = TaskState(name, 1, 1, query, [], output=output, metadata=metadata)
    score: Any = asyncio.run(made(state, Target("")))
    assert score.explanation.strip()
    return Verdict.model_validate(score.metadata["groundjudge"])


def by_deepeval(judge: Any, row: Row, **options: Any) -> Verdict:
    metric = JudgeMetric(judge=judge, **options)
    case = LLMTestCase(
        input=row.inputs["query"],
        actual_output=row.outputs["response"],
        retrieval_context=row.outputs["context"],
        metadata={**row.metadata},
    )
    with suppress(Exception):  # it is kept with its verdict
        metric.measure(case)
    assert metric.verdict
    assert metric.reason
    assert metric.reason.strip()
    assert bool(metric.error) is bool(metric.verdict.error)
    return metric.verdict


def by_opentelemetry(judge: Any, row: Row, **options: Any) -> Verdict:
    made, records = as_judge(judge, **options), list[Any]()

    def keep(**record: Any) -> None:
        records.append(record)

    def get_logger(*_: Any, **__: Any) -> Any:
        return SimpleNamespace(emit=keep)

    provider: Any = SimpleNamespace(get_logger=get_logger)
    given = {**row.inputs, **row.outputs, "metadata": row.metadata}
    emit(made.evaluate(given), made, logger_provider=provider)
    attributes = [record["attributes"] for record in records]
    assert all(one["gen_ai.evaluation.explanation"].strip() for one in attributes)
    return Verdict.model_validate_json(attributes[0]["groundjudge.verdict"])


ENTRIES: Mapping[str, tuple[Callable[..., Verdict], str, str]] = {
    # the adapter: (one row of it, what paths to the inputs and to the outputs begin with; "": it has none)
    "langsmith": (by_langsmith, "inputs", "outputs"),
    "langfuse": (by_langfuse, "input", "output"),
    "pydantic-evals": (by_pydantic_evals, "inputs", "output"),
    "promptfoo": (by_promptfoo, "vars", "output"),
    "langchain": (by_langchain, "input", "input"),
    "mlflow": (by_mlflow, "inputs", "outputs"),
    "inspect": (by_inspect, "metadata", "metadata"),
    "deepeval": (by_deepeval, "", ""),
    "opentelemetry": (by_opentelemetry, "", ""),
}
PATHLESS = ("deepeval", "opentelemetry")


def entries(*without: str) -> Sequence[Any]:
    """The adapters as parameters, MLflow and Inspect only among the soak tests."""
    slow = {"mlflow", "inspect"}
    return [
        pytest.param(name, marks=[pytest.mark.soak] if name in slow else [])
        for name in ENTRIES
        if name not in without
    ]


def judged(adapter: str, model: Any, row: Row, judge: Any = "groundedness", **options: Any) -> Verdict:
    return ENTRIES[adapter][0](load(judge, model=model), row, **options)


# --- the same state of an agent is the same case ----------------------------------------------------

ANTHROPIC: list[Any] = [
    {"role": "user", "content": "Where is it?"},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "1", "name": "get_order", "input": {"id": 7}}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "In Köln."}]},
    {"role": "assistant", "content": [{"type": "text", "text": "In Köln."}]},
]
NEXT: list[Any] = [("user", "And when does it leave?"), ("assistant", "At 9.")]
STATES: Mapping[str, Mapping[str, Any]] = {
    "OpenAI": {"messages": OPENAI},
    "LangChain": {"messages": LANGCHAIN},
    "Anthropic": {"messages": ANTHROPIC},
    "no tool": {"messages": [("user", "Hi!"), ("assistant", "Hello!")]},
    "a tool in an earlier turn": {"messages": [*CHAT, *NEXT]},
    "documents beside it": {"messages": [*CHAT, *NEXT], "documents": ["It leaves at 9."]},
    "an answer beside it": {"messages": OPENAI, "answer": "In Köln."},
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
@pytest.mark.parametrize("adapter", entries("deepeval", "inspect"))
def test_state_is_the_same_case(adapter: str, state: Mapping[str, Any]) -> None:
    model = ScriptedModel(GOOD)
    judged(adapter, model, Row({}, state))
    assert [request.case for request in model.asked] == [Case.of(state)]


ASKED: Mapping[str, Any] = {"query": "q"}
ANSWER: Mapping[str, Any] = {"response": "r", "context": ["c"]}

# --- a reason is never empty ------------------------------------------------------------------------

NUMBER = """\
---
name: number
inputs: [{name: query}, {name: context, type: documents}, {name: response}]
reply: {format: tags, value: S2, reason: S1}
scale: {worst: 1, best: 5}
threshold: 0.5
---
user:
{{query}} {{context}} {{response}}
"""

UNEXPLAINED: Mapping[str, tuple[Any, str, str]] = {
    # the reply without a reason: (the judge, the reply, what is said instead)
    "failed": ("groundedness", "<S2>2</S2>", "No reason given: incorrect, score 0.25, not passed."),
    "passed": ("groundedness", "<S2>5</S2>", "No reason given: grounded, score 1, passed."),
    "the worst": ("groundedness", "<S2>1</S2>", "No reason given: ungrounded, score 0, not passed."),
    "blank": ("groundedness", "<S1> \n</S1><S2>4</S2>", "No reason given: incomplete, score 0.75, passed."),
    "not applicable": ("groundedness", "<S2>3</S2>", "Not applicable (nothing_to_ground)."),
    "unreadable": ("groundedness", "", "empty: the reply is empty"),
    "a number": ("number", "<S2>2</S2>", "No reason given: score 0.25, not passed."),
    "votes": ("votes", "<S2>2</S2>", "No reason given: incorrect, score 0.25, not passed."),
}


@pytest.mark.parametrize("name", UNEXPLAINED)
@pytest.mark.parametrize("adapter", entries())
def test_reason_is_never_empty(adapter: str, name: str, tmp_path: Path) -> None:
    kind, reply, reason = UNEXPLAINED[name]
    path = tmp_path / "number.prompty"
    path.write_text(NUMBER, encoding="utf-8")
    judges: Mapping[str, Any] = {"number": path, "votes": "groundedness"}
    repeats: Any = {"repeats": 3} if kind == "votes" else {}
    made = load_any(judges.get(kind, kind), model=ScriptedModel(*[reply] * 6), **repeats)
    verdict = ENTRIES[adapter][0](made, Row(ASKED, ANSWER))
    assert verdict.explanation.startswith(reason)
    assert all(score.explanation.strip() for score in made.scores(verdict))


def test_reason_of_a_part_is_never_empty() -> None:
    parts = [
        Part(name="recall", value=3, score=0.5, reason=" "),
        Part(name="precision", value=None, score=None),
    ]
    verdict = Verdict(judge="passage_quality", status="ok", score=0.5, parts=tuple(parts))
    shown = [score.explanation for score in named_scores(verdict, ["recall", "precision"])]
    assert shown == ["recall (3)\nprecision (no claim)", "recall (3)", "precision (no claim)"]


# --- inputs of a prompt's own, fields= --------------------------------------------------------------

FILE = """\
---
name: on_topic
inputs: [{name: topic}, {name: query}, {name: context, type: documents}, {name: response}]
reply: {format: tags, value: S2, reason: S1}
scale: {worst: 1, best: 5}
---
user:
{{topic}} {{query}} {{context}} {{response}}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "on_topic.prompty"
    path.write_text(FILE, encoding="utf-8")
    return path


def in_code(*_: object, **__: object) -> Mapping[str, Any]:
    return {**ASKED, **ANSWER, "topic": "dogs"}


TOPICS: Mapping[str, tuple[Row, Any, Sequence[str]]] = {
    # where the topic stands: (the row, what `fields` is, the adapters that have no such place)
    "inputs": (Row({**ASKED, "topic": "dogs"}, ANSWER), None, ["deepeval"]),
    "metadata": (Row(ASKED, ANSWER, {"topic": "dogs", "split": "x"}), None, ["promptfoo", "mlflow"]),
    "inputs before metadata": (
        Row({**ASKED, "topic": "dogs"}, ANSWER, {"topic": "cats"}),
        None,
        ["deepeval", "langchain", "inspect", "opentelemetry"],
    ),
    "reference outputs": (
        Row(ASKED, ANSWER, reference={"topic": "dogs"}),
        None,
        ["deepeval", "langchain", "inspect", "promptfoo", "opentelemetry"],
    ),
    "metadata among the inputs": (
        Row({**ASKED, "metadata": {"topic": "dogs"}}, ANSWER),
        None,
        ["deepeval", "inspect", "opentelemetry"],
    ),
    "a path": (Row({**ASKED, "t": {"u": "dogs"}}, ANSWER), "t.u", PATHLESS),
    "a function": (Row(ASKED, ANSWER), in_code, [*PATHLESS, "promptfoo"]),
}


@pytest.mark.parametrize(
    ("adapter", "row", "fields"),
    [
        pytest.param(*adapter.values, row, fields, marks=adapter.marks, id=f"{adapter.values[0]}-{place}")
        for place, (row, fields, without) in TOPICS.items()
        for adapter in entries(*without)
    ],
)
def test_own_input_is_filled(file: Path, adapter: str, row: Row, fields: Any) -> None:
    model, root = ScriptedModel(GOOD), ENTRIES[adapter][1]
    given = {"topic": f"{root}.{fields}"} if isinstance(fields, str) else fields
    verdict = judged(adapter, model, row, file, **({"fields": given} if given else {}))
    assert (verdict.error, verdict.score) == (None, 1)
    assert "<data-topic>\ndogs\n</data-topic>" in without_codes(model.asked[0].messages[0]["content"])


@pytest.mark.parametrize("adapter", entries(*PATHLESS))
def test_conflict_of_names_is_resolved_by_a_path(adapter: str) -> None:
    row = Row(ASKED, {**ANSWER, "docs": ["d"]})
    conflict = judged(adapter, ScriptedModel(GOOD), row).error
    assert conflict
    assert conflict.code == "alias_conflict"
    fields = {"context": f"{ENTRIES[adapter][2]}.docs"}
    assert judged(adapter, ScriptedModel(GOOD), row, fields=fields).score == 1


@pytest.mark.parametrize("adapter", entries())
def test_missing_own_input_is_named(file: Path, adapter: str) -> None:
    verdict = judged(adapter, ScriptedModel(GOOD), Row({**ASKED, "topik": "dogs"}, ANSWER), file)
    assert verdict.error
    assert verdict.error.code == "missing_field"
    assert "needs topic, which is not given" in verdict.error.message


@pytest.mark.parametrize("adapter", entries("pydantic-evals"))  # which has fewer options
def test_options_of_inputs_reach_the_judge(file: Path, adapter: str) -> None:
    row, options = Row(ASKED, {**ANSWER, "context": []}), {"may_be_empty": ["context"], "optional": ["topic"]}
    assert judged(adapter, ScriptedModel(GOOD), row, file).error
    assert judged(adapter, ScriptedModel(GOOD), row, file, **options).score == 1


# --- errors are errors, never scores ----------------------------------------------------------------


def fails(*_: object, **__: object) -> Any:
    message = "no such key"
    raise KeyError(message)


FAULTS: Mapping[str, tuple[Any, Row, Any, str]] = {
    # (the model's reply, the row, what `fields` is, the code)
    "no verdict": ("fine", Row(ASKED, ANSWER), None, "no_verdict"),
    "the endpoint": (ModelError("timeout", "no answer"), Row(ASKED, ANSWER), None, "timeout"),
    "the model's code": (RuntimeError("out of order"), Row(ASKED, ANSWER), None, "unexpected"),
    "a blank response": (GOOD, Row(ASKED, {**ANSWER, "response": " "}), None, "empty_response"),
    "a context without text": (
        GOOD,
        Row(ASKED, {**ANSWER, "context": [{"n": 1}]}),
        None,
        "context_unreadable",
    ),
    "the function": (GOOD, Row(ASKED, ANSWER), fails, "unexpected"),
}
C: Mapping[str, Any] = {"context": ["c"]}
USER, CALLS, RESULT = OPENAI[1:4]
UNJUDGEABLE: Mapping[str, tuple[Mapping[str, Any], str]] = {
    # the state of an agent, which has no response or lacks something else
    "a question": ({"messages": [USER], **C}, "no_response"),
    "a question, and an older answer": ({"messages": [*OPENAI, USER], **C}, "no_response"),
    "a call of a tool": ({"messages": [USER, CALLS], **C}, "no_response"),
    "a result of a tool": ({"messages": [USER, CALLS, RESULT]}, "no_response"),
    "a blank answer": ({"messages": [USER, ("assistant", " ")], **C}, "empty_response"),
    "a blank answer beside it": ({"messages": OPENAI, "answer": "", **C}, "empty_response"),
    "no question": ({"messages": [("assistant", "In Köln.")], **C}, "missing_field"),
    "no message": ({"messages": [], **C}, "missing_field"),
    "no messages": ({"messages": [5], **C}, "field_unreadable"),
    "two contexts": ({"messages": OPENAI, "docs": ["d"], **C}, "alias_conflict"),
}
ERRORS = {
    **FAULTS,
    **{what: (GOOD, Row({}, state), None, code) for what, (state, code) in UNJUDGEABLE.items()},
}


@pytest.mark.parametrize(
    ("adapter", "reply", "row", "fields", "code"),
    [
        pytest.param(*adapter.values, *each, marks=adapter.marks, id=f"{adapter.values[0]}-{what}")
        for what, each in ERRORS.items()
        for adapter in entries(
            *([*PATHLESS, "promptfoo"] if each[2] else []),
            *(["deepeval", "inspect"] if what in UNJUDGEABLE else []),
            *(["deepeval"] if what == "a context without text" else []),  # DeepEval refuses it
        )
    ],
)
def test_error_of_a_row_is_a_verdict_with_its_code(
    adapter: str, reply: Any, row: Row, fields: Any, code: str
) -> None:
    verdict = judged(adapter, ScriptedModel(reply), row, **({"fields": fields} if fields else {}))
    assert (verdict.status, verdict.score) == ("error", None)
    assert verdict.error
    assert verdict.error.code == code


# --- wrong arguments --------------------------------------------------------------------------------

WRONG: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "a misspelt option": ({"treshold": 0.9}, "unknown option 'treshold', did you mean 'threshold'"),
    "a threshold out of range": ({"threshold": 7}, "threshold"),
    "a misspelt field": ({"fields": {"qeury": "{}.q"}}, "unknown field 'qeury', did you mean 'query'"),
    "a field of no prompt": ({"fields": {"topic": "{}.q"}}, "unknown field 'topic'"),
    "an unknown root": ({"fields": {"query": "nowhere.q"}}, "begins with 'nowhere', which is none of"),
    "no mapping": ({"fields": 5}, "fields must be a mapping of field to dotted path, or a function"),
}


@pytest.mark.parametrize(
    ("adapter", "options", "message"),
    [
        pytest.param(*adapter.values, *each, marks=adapter.marks, id=f"{adapter.values[0]}-{what}")
        for what, each in WRONG.items()
        for adapter in entries(*(PATHLESS if "fields" in each[0] else []))
        if (what, adapter.values[0]) != ("a misspelt option", "pydantic-evals")  # a dataclass refuses it
    ],
)
def test_wrong_argument_is_refused_before_any_row(
    adapter: str, options: Mapping[str, Any], message: str
) -> None:
    fields = options.get("fields")
    if isinstance(fields, dict):
        options = {"fields": {name: path.format(ENTRIES[adapter][1]) for name, path in fields.items()}}
    model = ScriptedModel(GOOD)
    with pytest.raises((TypeError, ValueError, GroundjudgeError), match=message):
        judged(adapter, model, Row(ASKED, ANSWER), **options)
    assert model.asked == []


# --- the packages -----------------------------------------------------------------------------------

FRAMEWORKS = {
    # the adapter: (the package it needs, its extra)
    "langsmith": ("langsmith", "langsmith"),
    "langchain": ("langchain_core", "langchain"),
    "deepeval": ("deepeval", "deepeval"),
    "inspect": ("inspect_ai", "inspect"),
    "langfuse": ("langfuse", "langfuse"),
    "mlflow": ("mlflow", "mlflow"),
    "opentelemetry": ("opentelemetry", "otel"),
    "pydantic_evals": ("pydantic_evals", "pydantic-evals"),
    "spark": ("pyspark", "spark"),
}


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    return done.stdout


def test_missing_framework_is_named_with_its_extra() -> None:
    said = python(
        "import sys, importlib\n"
        f"for adapter, (package, _) in {FRAMEWORKS!r}.items():\n"
        "    sys.modules[package] = None\n"
        "    try:\n"
        "        importlib.import_module(f'groundjudge.adapters.{adapter}')\n"
        "    except ImportError as error:\n"
        "        print(adapter, error)\n"
    )
    lines = dict(line.split(" ", 1) for line in said.splitlines() if "pip install" in line)
    assert lines.keys() == FRAMEWORKS.keys()
    for adapter, (_, extra) in FRAMEWORKS.items():
        assert f'pip install "groundjudge[{extra}]"' in lines[adapter]


@pytest.mark.parametrize(
    "adapter",
    [
        "langchain",
        "promptfoo",
        *(
            pytest.param(name, marks=pytest.mark.soak)
            for name in ("langsmith", "opentelemetry", "pydantic_evals")
        ),
    ],
)
def test_import_loads_no_other_framework_and_no_client(adapter: str) -> None:
    package, _ = FRAMEWORKS.get(adapter, ("", ""))
    others = {each for each, _ in FRAMEWORKS.values()} - {package, "opentelemetry"} | {"openai", "pytest"}
    others -= {"langsmith"} if adapter == "langchain" else set()  # langchain-core needs it
    code = f"import sys, groundjudge.adapters.{adapter}\nprint(*sorted({others!r} & {{*sys.modules}}))"
    assert python(code).split() == []
