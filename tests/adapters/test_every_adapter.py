"""What is true at every adapter: the same verdict, case, reason and error, and the same refusals."""

# ruff: noqa: PLC0415  MLflow and Inspect take seconds to import
from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from adapter_entries import ADAPTERS, ENTRIES, OTHER_ENTRIES, Entry
from adapters_table import (
    ENDPOINT_CODES,
    JUDGES,
    TABLE,
    Exchange,
    exchanges,
    expected_verdicts,
    fields_of,
    judge_of,
)
from any_options import load_any
from chats import CHAT, LANGCHAIN, ON_TOPIC, OPENAI
from command_line import run_program
from fenced import without_codes
from formatter import numbered, sure
from scripted_model import ScriptedModel

from groundjudge import Case, GroundjudgeError, ModelError, PromptError, Reply, Verdict, load
from groundjudge.adapters.deepeval import JudgeMetric
from groundjudge.adapters.langchain import runnable
from groundjudge.adapters.langchain_agents import GroundingMiddleware, guarded
from groundjudge.adapters.langfuse import evaluator as langfuse_evaluator
from groundjudge.adapters.langsmith import evaluator as langsmith_evaluator
from groundjudge.adapters.langsmith import summary as langsmith_summary
from groundjudge.adapters.pydantic_evals import JudgeEvaluator
from groundjudge.case.data import is_mapping
from groundjudge.errors import WHAT_IS_WRONG
from groundjudge.types import Request
from groundjudge.verdict import Part, named_scores

pytestmark = [
    pytest.mark.usefixtures("current_event_loop"),
    pytest.mark.filterwarnings("ignore:'upload_runs' parameter is in beta"),
]

GOOD = f"<S1>w</S1>{sure(5)}"
PLAIN = "<S1>w</S1><S2>5</S2>"
"""A reply to a prompt file of the tests' own, which asks for no shares."""
SLOW = tuple(name for name, adapter in ADAPTERS.items() if adapter.is_slow)
LOUD = pytest.mark.filterwarnings("default")
"""For MLflow and Inspect, whose packages warn."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder for what frameworks write."""
    monkeypatch.chdir(tmp_path)
    for name in ("INSPECT_LOG_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """MLflow without telemetry, and with few threads, as a local database locks; before it is imported."""
    path = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("DO_NOT_TRACK", "true")
        patch.setenv("MLFLOW_GENAI_EVAL_MAX_WORKERS", "2")
        yield path


@pytest.fixture
def entry(request: pytest.FixtureRequest) -> Entry:
    """One way through an adapter, by its name; MLflow has a database then."""
    name: str = request.param
    if name.startswith("mlflow"):
        database = request.getfixturevalue("database")
        from mlflow_adapter import use

        use(f"sqlite:///{database}/mlflow.db")
    return (ENTRIES | OTHER_ENTRIES)[name]


def adapters(with_place_for: str = "", *, with_paths: bool = False) -> pytest.MarkDecorator:
    """Runs a test for each adapter with a place for something; for the slow ones it is a soak test."""
    names: list[str] = []
    for name, adapter in ADAPTERS.items():
        if with_place_for not in adapter.lacks and (adapter.inputs or not with_paths):
            names.append(name)
    marks = [[LOUD, pytest.mark.soak] if name in SLOW else [] for name in names]
    rows = [pytest.param(name, name, marks=mark, id=name) for name, mark in zip(names, marks, strict=True)]
    return pytest.mark.parametrize(("entry", "adapter"), rows, indirect=["entry"])


def test_every_adapter_that_judges_rows_has_a_row_and_a_page() -> None:
    root = Path(__file__).parents[2]
    pages = (root / "mkdocs.yml").read_text(encoding="utf-8")
    to_do: list[str] = []
    for file in sorted((root / "adapters").glob("*.py")):
        code = file.read_text(encoding="utf-8")
        name = file.stem.replace("_", "-")
        # A guard finds no fields in rows, and has tables of its own.
        if not all(part in code for part in ("\nROOTS = ", "\ndef _case_of(", "\ndef _result_of(")):
            continue
        if name not in ADAPTERS:
            to_do.append(f"tests/adapter_entries.py: add a function and its row, {name!r}, to ADAPTERS")
        if f"adapters/{name}.md" not in pages:
            to_do.append(f"docs/adapters/{name}.md: write this page, and add it to mkdocs.yml")
    assert not to_do, "\n".join(to_do)


# --- the same verdict -----------------------------------------------------------------------------


@pytest.mark.soak
def test_table_covers_every_judge_status_and_error() -> None:
    verdicts = [verdict for name in JUDGES for verdict in expected_verdicts(name)]
    assert len(verdicts) == len(TABLE) >= 40
    assert {verdict["status"] for verdict in verdicts} == {"ok", "not_applicable", "error"}
    codes: set[str] = set()
    for verdict in verdicts:
        if isinstance(verdict["error"], str):
            codes.add(verdict["error"])
        elif verdict["error"]:
            codes.add(verdict["error"]["code"])
    asked_again = {"evidence_not_found", "share_mismatch", "shares_unreadable"}  # and never an error
    codes_of_replies = WHAT_IS_WRONG.keys() - asked_again
    codes_of_cases = {"missing_field", "empty_response", "no_response"}
    codes_of_answers = {"bad_distribution", "missing_answer", "refused", "too_long"}
    codes_of_endpoints = {*ENDPOINT_CODES, "no_majority"}
    assert codes == codes_of_replies | codes_of_cases | codes_of_answers | codes_of_endpoints


KINDS = ("passage_quality", "statement_groundedness", "cascade")
"""Judges of several scores, of sentences, and of votes in steps."""


def judges_of(name: str) -> Sequence[str]:
    """All judges at every adapter; its other ways, and the slow ones, differ in no judge."""
    if name in OTHER_ENTRIES:
        return ["passage_quality"]
    return KINDS if name in SLOW else JUDGES


def marks(name: str, judge: str) -> Sequence[pytest.MarkDecorator]:
    if name.startswith(SLOW):
        return [LOUD, pytest.mark.soak]
    # Groundedness, which has every error, at one adapter; in soak at all of them.
    quick_judges = ("groundedness", *KINDS) if name == "langsmith" else KINDS
    return [] if judge in quick_judges else [pytest.mark.soak]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        pytest.param(entry_name, name, marks=marks(entry_name, name))
        for entry_name in (ENTRIES | OTHER_ENTRIES)
        for name in judges_of(entry_name)
    ],
    indirect=["entry"],
)
def test_verdicts_are_those_of_the_judge(entry: Entry, name: str) -> None:
    verdicts = entry(judge_of(name), exchanges(name))
    assert [fields_of(verdict) for verdict in verdicts] == expected_verdicts(name)


@pytest.mark.soak
def test_example_shows_the_same_verdict_four_times() -> None:
    example = Path(__file__).parents[2] / "examples" / "one_judge_in_three_frameworks.py"
    status, printed, errors = run_program(
        f"import runpy; runpy.run_path({str(example)!r}, run_name='__main__')"
    )
    assert (status, "All the same: True" in printed) == (0, True), errors
    assert printed.count("score 0.23, ungrounded") == 4


# --- the same state of an agent is the same case ----------------------------------------------------


class ByCase:
    """Replies by the id of the case, and keeps the cases."""

    name = "scripted"

    def __init__(self, replies: Mapping[str, str | Exception] | None = None) -> None:
        self.replies = replies or {}
        self.asked: dict[str | None, Request] = {}

    async def acomplete(self, request: Request) -> Reply:
        self.asked[request.case.id] = request
        reply = self.replies.get(str(request.case.id), GOOD)
        if isinstance(reply, Exception):
            raise reply
        return Reply(reply)


def judge_rows(
    entry: Entry, model: Any, rows: Sequence[Exchange], judge: Any = "groundedness", **options: Any
) -> dict[str, Verdict]:
    """The verdicts by the ids of the rows."""
    verdicts = entry(load(judge, model=model), rows, **options)
    return {row.id: verdict for row, verdict in zip(rows, verdicts, strict=True)}


NEXT: list[Any] = [("user", "And when does it leave?"), ("assistant", "At 9.")]
STATES: Mapping[str, Mapping[str, Any]] = {
    "OpenAI": {"messages": OPENAI},
    "LangChain": {"messages": LANGCHAIN},
    "no tool": {"messages": [("user", "Hi!"), ("assistant", "Hello!")]},
    "documents beside it": {"messages": [*CHAT, *NEXT], "documents": ["It leaves at 9."]},
    "an answer beside it": {"messages": OPENAI, "answer": "In Köln."},
}


@adapters("states")
def test_state_is_the_same_case(entry: Entry, adapter: str) -> None:
    model = ByCase()
    judge_rows(entry, model, [Exchange(name, {}, state) for name, state in STATES.items()])
    cases = {name: request.case for name, request in model.asked.items()}
    assert cases == {name: Case.of({**state, "id": name}) for name, state in STATES.items()}, adapter


NINE = "It leaves at nine on weekdays."
TEN = "It leaves at ten on Sundays."
ASKS: Mapping[str, Any] = {"question": "When?"}
CHOICES = [{"index": 0, "message": {"role": "assistant", "content": "At 9."}, "finish_reason": "stop"}]
SAID = [
    ("user", "When?"),
    {"role": "assistant", "content": "At 9.", "context": {"citations": [{"content": NINE}]}},
]
OUTPUTS: Mapping[str, tuple[Mapping[str, Any], tuple[str, ...]]] = {
    # what an application returns: the warnings; all of it is one case
    "an answer and its sources": ({"answer": "At 9.", "sources": [NINE]}, ()),
    "pairs of a search": ({"answer": "At 9.", "context": [[{"page_content": NINE}, 0.83]]}, ()),
    "Chroma's lists": ({"answer": "At 9.", "documents": [[NINE]]}, ()),
    "flattened documents": ({"answer": "At 9.", "documents": [{"document.content": NINE}]}, ()),
    "a chat completion": ({"response": {"id": "c", "choices": CHOICES}, "context": NINE}, ()),
    "a message with sources": ({"messages": SAID}, ()),
    "two contexts": ({"answer": "At 9.", "context": [TEN], "retrieval_context": [NINE]}, ("also_given",)),
    "two answers": ({"answer": "At 9.", "output": "At ten.", "context": NINE}, ("also_given",)),
    "a file's name as the source": ({"answer": "At 9.", "contexts": [NINE], "source": "times.pdf"}, ()),
    "a text that nothing reads": (
        {"answer": "At 9.", "context": [{"text": NINE, "summary": TEN}]},
        ("content_not_read",),
    ),
}


@adapters("states")
def test_whatever_an_application_returns_is_the_same_case(entry: Entry, adapter: str) -> None:
    model = ByCase()
    verdicts = judge_rows(
        entry, model, [Exchange(name, ASKS, outputs) for name, (outputs, _) in OUTPUTS.items()]
    )
    for name, (_, warnings) in OUTPUTS.items():
        case = model.asked[name].case
        texts = [document.content for document in case.context or ()]
        assert (case.query_text, case.response_text, texts) == ("When?", "At 9.", [NINE]), (adapter, name)
        assert verdicts[name].warnings == warnings, (adapter, name)


QUESTION: Mapping[str, Any] = {"query": "q"}
ANSWER: Mapping[str, Any] = {"response": "r", "context": ["c"]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A prompt file with an input of its own."""
    path = tmp_path / "on_topic.prompty"
    file = ON_TOPIC.replace("{name: topic}", "{name: topic}, {name: query}, {name: context, type: documents}")
    path.write_text(file.replace("{{topic}}", "{{topic}} {{query}} {{context}}"), encoding="utf-8")
    return path


# --- a reason is never empty ------------------------------------------------------------------------

FAILED = "No reason given: incorrect, score 0.25, not passed."
UNEXPLAINED: Mapping[str, tuple[str, Mapping[str, Any], Mapping[str, str]]] = {
    # the judge and its options: the replies without a reason, and what is said instead
    "a judge": (
        "groundedness",
        {},
        {
            f"<S1> \n</S1>{sure(4)}": "No reason given: incomplete, score 0.75, passed.",
            sure(3): "Not applicable (nothing_to_ground).",
            "?": "no_verdict: ",
        },
    ),
    "a number": (
        "on_topic.prompty",
        {"optional": ["topic"], "threshold": 0.5},
        {"<S2>2</S2>": "No reason given: score 0.25, not passed."},
    ),
    "votes": ("groundedness", {"repeats": 3}, {sure(2): FAILED}),
    "sentences": (
        "statement_groundedness",
        {},
        {
            numbered([("1", "-", 10)], 60): "r (10)",
            numbered([("-", "-", "NO CLAIM")], 60): "Not applicable (",
        },
    ),
}


@adapters()
@pytest.mark.usefixtures("file")
def test_reason_is_never_empty(entry: Entry, adapter: str) -> None:
    for judge, options, replies in UNEXPLAINED.values():
        loaded_judge = load_any(judge, model=ByCase({reply: reply for reply in replies}), **options)
        verdicts = entry(loaded_judge, [Exchange(reply, QUESTION, ANSWER) for reply in replies])
        for verdict, reason in zip(verdicts, replies.values(), strict=True):
            assert verdict.explanation.startswith(reason), adapter
            for score in loaded_judge.scores(verdict):
                assert score.explanation.strip()


def test_reason_of_a_part_is_never_empty() -> None:
    parts = [
        Part(name="recall", value=3, score=0.5, reason=" "),
        Part(name="precision", value=None, score=None),
    ]
    verdict = Verdict(judge="passage_quality", status="ok", score=0.5, parts=tuple(parts))
    explanations = [score.explanation for score in named_scores(verdict, ["recall", "precision"])]
    assert explanations == ["recall (3)\nprecision (no claim)", "recall (3)", "precision (no claim)"]


# --- inputs of a prompt's own, fields= --------------------------------------------------------------


def in_code(*_: object, **__: object) -> Mapping[str, Any]:
    return {**QUESTION, **ANSWER, "topic": "dogs"}


TOPICS: Mapping[str, Exchange] = {
    # where the topic stands
    "inputs": Exchange("1", {**QUESTION, "topic": "dogs"}, ANSWER),
    "metadata": Exchange("1", QUESTION, ANSWER, {"topic": "dogs", "split": "x"}),
    "inputs before metadata": Exchange("1", {**QUESTION, "topic": "dogs"}, ANSWER, {"topic": "cats"}),
    "reference outputs": Exchange("1", QUESTION, ANSWER, reference={"topic": "dogs"}),
    "metadata among the inputs": Exchange("1", {**QUESTION, "metadata": {"topic": "dogs"}}, ANSWER),
}


def check_topic(entry: Entry, file: Path, row: Exchange, **options: Any) -> None:
    model = ScriptedModel(PLAIN)
    (verdict,) = judge_rows(entry, model, [row], file, **options).values()
    assert (verdict.error, verdict.score) == (None, 1)
    assert "<data-topic>\ndogs\n</data-topic>" in without_codes(model.asked[0].messages[0]["content"])


@adapters()
def test_own_input_is_filled(file: Path, entry: Entry, adapter: str) -> None:
    for place, row in TOPICS.items():
        if place not in ADAPTERS[adapter].lacks:
            check_topic(entry, file, row)


@adapters(with_paths=True)
def test_fields_are_found_at_paths_and_by_a_function(file: Path, entry: Entry, adapter: str) -> None:
    inputs, outputs = ADAPTERS[adapter].inputs, ADAPTERS[adapter].outputs
    row = Exchange("1", {**QUESTION, "t": {"u": "dogs"}}, ANSWER)
    check_topic(entry, file, row, fields={"topic": f"{inputs}.t.u"})
    if "function" not in ADAPTERS[adapter].lacks:
        check_topic(entry, file, row, fields=in_code)
    row = Exchange("1", QUESTION, {**ANSWER, "docs": ["d"]})
    (noted,) = judge_rows(entry, ScriptedModel(GOOD), [row]).values()
    assert (noted.score, noted.warnings) == (1, ("also_given",))
    (verdict,) = judge_rows(entry, ScriptedModel(GOOD), [row], fields={"context": f"{outputs}.docs"}).values()
    assert (verdict.score, verdict.warnings) == (1, ())


@adapters()
def test_options_of_inputs_reach_the_judge_and_a_missing_one_is_named(
    file: Path, entry: Entry, adapter: str
) -> None:
    model = ScriptedModel(PLAIN)
    row = Exchange("1", {**QUESTION, "topik": "dogs"}, {**ANSWER, "context": []})
    (verdict,) = judge_rows(entry, model, [row], file).values()
    assert verdict.error
    assert verdict.error.code == "missing_field"
    assert "needs topic, which is not given" in verdict.error.message
    if "options" not in ADAPTERS[adapter].lacks:
        options = {"may_be_empty": ["context"], "optional": ["topic"], "threshold": 1}
        (verdict,) = judge_rows(entry, model, [row], file, **options).values()
        assert (verdict.score, verdict.passed) == (1, True)


TITLED: Mapping[str, Any] = {"title": "Tool Result: x", "content": "c"}


@adapters("mappings")
def test_title_of_a_plain_mapping_makes_a_tool_result_unless_the_option_says_no(
    entry: Entry, adapter: str
) -> None:
    row = Exchange("1", QUESTION, {**ANSWER, "context": [TITLED]})
    prompts: list[str] = []
    for options in ({}, {"tool_titles": False}):
        model = ScriptedModel(GOOD)
        judge_rows(entry, model, [row], **options)
        prompts.append(without_codes(model.asked[0].messages[1]["content"]))
    assert [prompt.count('kind="tool result"') for prompt in prompts] == [1, 0], adapter
    for prompt in prompts:
        assert 'title="Tool Result: x">\nc\n' in prompt


# --- errors are errors, never scores ----------------------------------------------------------------


def fails(*_: object, **__: object) -> Any:
    message = "no such key"
    raise KeyError(message)


def returns_nothing(*_: object, **__: object) -> Any:
    """A function whose `return` was forgotten."""


async def case_later(*_: object, **__: object) -> Any:
    return {**QUESTION, **ANSWER}


REPLIES: Mapping[str, str | Exception] = {
    "no_verdict": "fine",
    "timeout": ModelError("timeout", "no answer"),
    "unexpected": RuntimeError("out of order"),
}
C: Mapping[str, Any] = {"context": ["c"]}
USER, CALLS, RESULT = OPENAI[1:4]
UNJUDGEABLE: Mapping[str, tuple[Mapping[str, Any], str]] = {
    # the state of an agent, which has no response or lacks something else
    "a question, and an older answer": ({"messages": [*OPENAI, USER], **C}, "no_response"),
    "a result of a tool": ({"messages": [USER, CALLS, RESULT]}, "no_response"),
    "a blank answer beside it": ({"messages": OPENAI, "answer": "", **C}, "empty_response"),
    "no question": ({"messages": [("assistant", "In Köln.")], **C}, "missing_field"),
    "no messages": ({"messages": [5], **C}, "field_unreadable"),
    "a context without text": ({**QUESTION, **ANSWER, "context": [{"n": 1}]}, "context_unreadable"),
}


@adapters()
def test_error_of_a_row_is_a_verdict_with_its_code(entry: Entry, adapter: str) -> None:
    rows = [Exchange(code, QUESTION, ANSWER) for code in REPLIES]
    rows.append(Exchange("empty_response", QUESTION, {**ANSWER, "response": " "}))
    codes = {row.id: row.id for row in rows}
    if "states" not in ADAPTERS[adapter].lacks:
        rows += [Exchange(what, {}, state) for what, (state, _) in UNJUDGEABLE.items()]
        codes |= {what: code for what, (_, code) in UNJUDGEABLE.items()}
    verdicts = judge_rows(entry, ByCase(REPLIES), rows)
    assert {what: verdict.error and verdict.error.code for what, verdict in verdicts.items()} == codes
    assert {(verdict.status, verdict.score) for verdict in verdicts.values()} == {("error", None)}


@adapters("function", with_paths=True)
def test_exception_of_the_function_is_an_error_of_its_row(entry: Entry, adapter: str) -> None:
    (verdict,) = judge_rows(
        entry, ScriptedModel(GOOD), [Exchange("1", QUESTION, ANSWER)], fields=fails
    ).values()
    assert verdict.error, adapter
    assert (verdict.error.code, verdict.score) == ("unexpected", None)


@adapters("function", with_paths=True)
def test_a_function_that_returns_nothing_is_an_error_of_its_row_that_says_so(
    entry: Entry, adapter: str
) -> None:
    model = ScriptedModel(GOOD)
    rows = [Exchange("1", QUESTION, {**ANSWER, **C})]  # which could be judged without the function
    (verdict,) = judge_rows(entry, model, rows, fields=returns_nothing).values()
    assert verdict.error, adapter
    assert (verdict.error.code, verdict.score, model.asked) == ("unreadable_row", None, [])
    assert "`fields` returned None" in verdict.error.message


# --- wrong arguments --------------------------------------------------------------------------------

WRONG: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "a misspelt option": ({"treshold": 0.9}, "unknown option 'treshold', did you mean 'threshold'"),
    "a threshold out of range": ({"threshold": 7}, "threshold"),
    "a misspelt field": ({"fields": {"qeury": "{}.q"}}, "unknown field 'qeury', did you mean 'query'"),
    "a field of no prompt": ({"fields": {"topic": "{}.q"}}, "unknown field 'topic'"),
    "an unknown root": ({"fields": {"query": "nowhere.q"}}, "starts with 'nowhere', which is not one of"),
    "a path without a root": (
        {"fields": {"query": "q"}},
        r"starts with 'q', which is not one of .*: write a path like \w+\.NAME",
    ),
    "no mapping": ({"fields": 5}, "fields must be a mapping of field to dotted path, or a function"),
    "an asynchronous function": ({"fields": case_later}, "must be a function that returns the case at once"),
}


def at_root(options: Mapping[str, Any], root: str) -> Mapping[str, Any]:
    """The options, with paths that begin with what the adapter's do."""
    fields = options.get("fields")
    if not is_mapping(fields):
        return options
    return {"fields": {name: path.format(root) for name, path in fields.items()}}


@adapters()
def test_wrong_argument_is_refused_before_any_row(entry: Entry, adapter: str) -> None:
    model, root = ScriptedModel(GOOD), ADAPTERS[adapter].inputs
    for what, (options, message) in WRONG.items():
        fields = options.get("fields")
        if fields and not root:
            continue
        if what == "a misspelt option" and "options" in ADAPTERS[adapter].lacks:
            continue  # a dataclass refuses it
        with pytest.raises((TypeError, ValueError, GroundjudgeError), match=message):
            judge_rows(entry, model, [Exchange("1", QUESTION, ANSWER)], **at_root(options, root))
    assert model.asked == []


def metric_of(judge: Any) -> JudgeMetric:
    return JudgeMetric(judge=judge)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(langsmith_evaluator, id="langsmith"),
        pytest.param(langsmith_summary, id="langsmith summary"),
        pytest.param(runnable, id="langchain"),
        pytest.param(GroundingMiddleware, id="langchain middleware"),
        pytest.param(partial(guarded, str.upper), id="langchain guard"),
        pytest.param(metric_of, id="deepeval"),
        pytest.param(langfuse_evaluator, id="langfuse"),
        pytest.param(JudgeEvaluator, id="pydantic-evals"),
    ],
)
def test_an_evaluator_in_the_place_of_a_judge_is_refused_with_what_to_pass(make: Any) -> None:
    wrong_judge = langsmith_evaluator("groundedness", model=ScriptedModel(GOOD))
    with pytest.raises(
        PromptError, match=r"JudgeEvaluator cannot be used as a judge: .*its attribute `judge`"
    ):
        make(wrong_judge)


# --- the packages -----------------------------------------------------------------------------------

FRAMEWORKS = {
    # the adapter: (the package it needs, its extra)
    **{
        name.replace("-", "_"): (adapter.package, adapter.extra)
        for name, adapter in ADAPTERS.items()
        if adapter.package
    },
    "langsmith_online": ("langsmith", "langsmith"),
    "langsmith_queue": ("langsmith", "langsmith"),
    "langchain_agents": ("langchain", "langchain-agents"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
    "spark": ("pyspark", "spark"),
}


@pytest.mark.soak
def test_missing_framework_is_named_with_its_extra() -> None:
    _, printed, _ = run_program(
        "import sys, importlib\n"
        f"for adapter, (package, _) in {FRAMEWORKS!r}.items():\n"
        "    sys.modules[package] = None\n"
        "    try:\n"
        "        importlib.import_module(f'groundjudge.adapters.{adapter}')\n"
        "    except ImportError as error:\n"
        "        print(adapter, error)\n"
    )
    lines = dict(line.split(" ", 1) for line in printed.splitlines() if "pip install" in line)
    assert lines.keys() == FRAMEWORKS.keys()
    for adapter, (_, extra) in FRAMEWORKS.items():
        assert f'pip install "groundjudge[{extra}]"' in lines[adapter]


IMPORTS = ("langchain", "promptfoo", "langsmith", "opentelemetry", "pydantic_evals")


@pytest.mark.soak
@pytest.mark.parametrize("adapter", IMPORTS)
def test_import_loads_no_other_framework_and_no_client(adapter: str) -> None:
    needed_package, _ = FRAMEWORKS.get(adapter, ("", ""))
    unwanted = {other.package for other in ADAPTERS.values()} | {"pyspark", "openai", "pytest"}
    unwanted -= {needed_package, "opentelemetry", ""}
    if adapter == "langchain":
        unwanted.remove("langsmith")  # langchain-core needs it
    code = f"import sys, groundjudge.adapters.{adapter}\nprint(*sorted({unwanted!r} & {{*sys.modules}}))"
    assert run_program(code)[:2] == (0, "\n")
