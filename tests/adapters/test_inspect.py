"""The Inspect adapter: samples, transcripts, models and names. All are soak tests.

They import Inspect and `inspect_adapter` only when they run, because that takes three seconds.
"""

# ruff: noqa: PLC0415
from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from adapters_table import CASES, Exchange, exchanges, judge_of, verdict_of
from formatter import sure
from scripted_model import ScriptedModel

from groundjudge import Case, load

pytestmark = [pytest.mark.soak, pytest.mark.filterwarnings("default")]  # Inspect and its packages warn

GOOD = f"<S1>backed</S1>{sure(5)}"
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Logs, and whatever else Inspect writes, into an empty folder."""
    for name in ("INSPECT_LOG_DIR", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def sample(**metadata: Any) -> Any:
    from inspect_ai.dataset import Sample

    return Sample(input="When?", target="At 9.", id="one", metadata=metadata)


def score_of(test_sample: Any, **options: Any) -> Any:
    """The only score of a sample, by `groundedness`."""
    from inspect_adapter import evaluate, scores_in

    from groundjudge.adapters.inspect import groundedness

    options.setdefault("model", ScriptedModel(GOOD))
    return scores_in(evaluate([test_sample], groundedness(**options)), "groundedness")[0]


def key_in(score: Any) -> str:
    return str(score.metadata["key"]).partition("-")[2]


def key_of(**fields: Any) -> str:
    return load("groundedness", model="offline").key(Case(**fields)).partition("-")[2]


@pytest.mark.parametrize("name", ["passage_quality", "labels"])
def test_metrics_are_means_of_the_samples_that_have_a_score(name: str) -> None:
    from inspect_adapter import evaluate, figures, sample_of

    from groundjudge.adapters.inspect import judge

    loaded_judge = judge_of(name)
    log = evaluate([sample_of(row) for row in exchanges(name)], judge(loaded_judge), epochs=2)
    scores = [loaded_judge.scores(verdict_of(loaded_judge, case)) for case in CASES[name]]
    for scores_of_samples in zip(*scores, strict=True):
        numbers = [score.score for score in scores_of_samples if score.score is not None]
        mean, n_scored, n_unscored = figures(log)[scores_of_samples[0].name]
        assert (n_scored, n_unscored) == (len(numbers), len(scores_of_samples) - len(numbers))
        assert mean == pytest.approx(sum(numbers) / len(numbers))


def test_scorer_of_one_judge_gives_a_number_and_a_wrapper_another_name() -> None:
    from inspect_adapter import evaluate, figures, scores_in
    from inspect_ai.scorer import Scorer, mean, scorer

    from groundjudge.adapters.inspect import groundedness, passage_quality

    @scorer(metrics=[mean()])
    def strict() -> Scorer:
        return groundedness(model=ScriptedModel(f"<S1>nearly</S1>{sure(4)}"), threshold=0.9)

    passages = passage_quality(model=ScriptedModel("RECALL_Formula: (5 * 1.0)\nPRECISION_Formula: (3 * 1.0)"))
    log = evaluate([sample(response="At 9.", context=["c"])], strict(), passages)
    (score,) = scores_in(log, "strict")
    metadata = score.metadata or {}
    assert (score.value, score.answer, score.explanation) == (0.75, "At 9.", "nearly")
    assert (metadata["label"], metadata["value"], metadata["passed"]) == ("incomplete", 4.0, False)
    assert figures(log) == {
        "strict": (0.75, 1, 0),
        "passage_quality": (2 / 3, 1, 0),
        "passage_recall": (1.0, 1, 0),
        "passage_precision": (0.5, 1, 0),
    }


# --- the case --------------------------------------------------------------------------------------

BASE = {"query": "When?", "response": "At 9.", "reference": "At 9.", "id": "one"}


@pytest.mark.parametrize(
    ("metadata", "options", "fields"),
    [
        ({"response": "At 9.", "context": ["c"], "source": "a book", "answer": "10"}, {}, {"context": ["c"]}),
        ({"response": "At 9.", "retrieved_contexts": ["c", "d"]}, {}, {"context": ["c", "d"]}),
        (
            {"response": "At 9.", "context": ["c"]},
            {"fields": {"reference": "target.0", "query": "input", "response": "output.completion"}},
            {"context": ["c"]},
        ),
    ],
    ids=["other fields in metadata are not read", "usual name of the context", "paths to all sides"],
)
def test_case_is_read_from_the_sample(metadata: Any, options: Any, fields: Any) -> None:
    score = score_of(sample(**metadata), **options)
    assert (score.value, key_in(score)) == (1.0, key_of(**BASE, **fields))


def test_agent_that_was_cut_off_while_it_called_a_tool_did_not_answer() -> None:
    from inspect_ai.tool import ToolCall

    calls = [ToolCall(id="1", function="get_hours", arguments={})]
    score = score_of(sample(response="At 9. I will check.", context=["c"], calls=calls))
    assert (score.reason, score.metadata["groundjudge"]["attempts"]) == ("no_response", 0)


def test_images_of_questions_and_answers_are_not_dropped_silently() -> None:
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ChatMessageUser, ContentImage, ContentText

    text_and_image: Any = [ContentText(text="Where?"), ContentImage(image="data:image/png;base64,AAAA")]
    question_with_image = Sample(input=[ChatMessageUser(content=text_and_image)], id="one")
    for test_sample, answer in ((question_with_image, "There."), (sample(), text_and_image)):
        score = score_of(test_sample.model_copy(update={"metadata": {"context": ["c"], "response": answer}}))
        assert score.metadata["warnings"] == ["content_not_shown"]


def test_results_of_tools_are_the_context_and_what_was_said_before_is_the_conversation() -> None:
    from inspect_ai.dataset import Sample

    from groundjudge.adapters.inspect import MESSAGES

    day, result = {"day": "Monday"}, {"role": "tool"}
    call = {"id": "1", "function": "get_hours", "arguments": day}
    failed = {"type": "timeout", "message": "It took too long."}
    messages: Any = MESSAGES.validate_python(
        [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "When?"}]},
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {**result, "content": "It opens at 9.", "function": "get_hours"},
            {**result, "content": "", "function": "get_hours", "error": failed},
        ]
    )
    test_sample = Sample(
        input=messages[:2], target="", metadata={"messages": messages[2:], "response": "At 9."}
    )
    results = [
        {**result, "content": "It opens at 9.", "name": "get_hours"},
        {**result, "content": "It took too long.", "name": "get_hours"},
    ]
    conversation: list[dict[str, Any]] = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "", "tool_calls": [{"name": "get_hours", "args": day}]},
        *results,
    ]
    assert key_in(score_of(test_sample)) == key_of(
        query="When?", response="At 9.", context=results, conversation=conversation, id=1
    )


TRANSCRIPTS: dict[str, tuple[list[str], bool, dict[str, Any], Any]] = {
    # the roles of the messages, whether the task has tools, the metadata, and the context that is judged
    "after a system message": (["system", "user", "assistant"], False, {}, "missing_field"),
    "with a context": (["user", "assistant"], False, {"context": ["c"]}, ["c"]),
    "with tools that were not called": (["user", "assistant"], True, {}, []),
    "with a tool's result": (["user", "tool", "assistant"], False, {}, [{"role": "tool", "content": "tool"}]),
    "with several questions": (["user", "assistant", "user", "assistant"], False, {}, []),
}


@pytest.mark.parametrize("name", TRANSCRIPTS)
async def test_only_an_agents_transcript_has_an_empty_context(name: str) -> None:
    from inspect_ai.model import ModelName, ModelOutput
    from inspect_ai.scorer import Target
    from inspect_ai.solver import TaskState
    from inspect_ai.tool import ToolDef

    from groundjudge.adapters.inspect import MESSAGES, judge

    async def look(where: str) -> str:
        return where

    roles, has_tools, metadata, context = TRANSCRIPTS[name]
    messages = MESSAGES.validate_python([{"role": role, "content": role} for role in roles])
    output = ModelOutput.from_content("none", roles[-1])
    state = TaskState(ModelName("none/none"), 1, 1, "user", messages, output=output, metadata=metadata)
    tool = ToolDef(look, description="Looks.", parameters={"where": "A place."})
    state.tools = [tool.as_tool()] * has_tools
    model = ScriptedModel(GOOD)
    score_state: Any = judge("groundedness", model=model)
    score = await score_state(state, Target(""))
    if isinstance(context, str):
        assert (score.reason, model.asked) == (context, [])
    else:
        assert model.asked[0].case.context == Case(context=context).context


# --- models ----------------------------------------------------------------------------------------


def test_model_of_inspect_judges_with_its_own_settings_before_those_of_the_judge() -> None:
    from inspect_adapter import SEEN
    from inspect_ai.model import GenerateConfig, get_model

    SEEN.clear()
    test_sample = sample(response="At 9.", context=["c"])
    score_of(test_sample, model="scripted/a", parameters={"max_completion_tokens": 77, "stop": ["x"]})
    llm = get_model("scripted/b", config=GenerateConfig(temperature=0.3))
    score = score_of(test_sample, model=llm, repeats=2)
    (first, messages), (second, _), (third, _) = SEEN
    assert (first.max_tokens, first.stop_seqs, second.temperature, third.temperature) == (77, ["x"], 0.3, 0.3)
    assert [message.role for message in messages] == ["system", "user"]
    assert "At 9." in messages[1].text
    assert (score.value, score.metadata["groundjudge"]["model"]) == (0.75, "b")
    assert score.metadata["groundjudge"]["usage"] == {
        "prompt_tokens": 14,
        "completion_tokens": 6,
        "cached_tokens": 4,
        "reasoning_tokens": None,
    }


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        pytest.param({"temperatur": 0.5}, "'temperatur', did you mean 'temperature'?", id="misspelt"),
        pytest.param(
            {"min_p": 0.1},
            "parameters that only some endpoints know belong in `extra_body`",
            id="of an endpoint",
        ),
    ],
)
@pytest.mark.parametrize("model", ["scripted/a", None], ids=["a model", "the role's model"])
def test_parameter_that_inspect_cannot_send_is_refused_when_the_scorer_is_made(
    parameters: dict[str, Any], message: str, model: str | None
) -> None:
    from groundjudge.adapters.inspect import groundedness, judge

    for make in (groundedness, partial(judge, "groundedness")):
        with pytest.raises(TypeError, match="Inspect's models have no parameter") as raised:
            make(model=model, parameters=parameters)
        assert message in str(raised.value)


@pytest.mark.parametrize(
    ("parameters", "extra_body"),
    [
        pytest.param({"extra_body": {"min_p": 0.1}}, {"min_p": 0.1}, id="of an endpoint"),
        pytest.param({"response_format": {"type": "json_object"}}, None, id="form of the reply, left out"),
    ],
)
def test_parameter_that_not_all_models_of_inspect_have_is_no_error(
    parameters: dict[str, Any], extra_body: object
) -> None:
    from inspect_adapter import SEEN

    SEEN.clear()
    score = score_of(sample(response="At 9.", context=["c"]), model="scripted/a", parameters=parameters)
    ((config, _),) = SEEN
    assert (config.extra_body, score.metadata["status"]) == (extra_body, "ok")


def test_model_of_another_kind_takes_any_parameter() -> None:
    model = ScriptedModel(GOOD)
    score_of(sample(response="At 9.", context=["c"]), model=model, parameters={"min_p": 0.1})
    assert model.asked[0].parameters["min_p"] == 0.1


def test_without_a_model_the_role_judges_or_else_the_model_under_evaluation() -> None:
    from inspect_adapter import evaluate, scores_in

    from groundjudge.adapters.inspect import groundedness, judge

    loaded_judge = load("groundedness", model=ScriptedModel(GOOD))
    scorers = [groundedness(), judge("groundedness", model_role="critic"), judge(loaded_judge)]
    log = evaluate(
        [sample(response="At 9.", context=["c"])],
        *scorers,
        model="scripted/evaluated",
        model_roles={"critic": "scripted/critic"},
    )
    models: list[str] = []
    for name in ("groundedness", "judge", "judge1"):
        (score,) = scores_in(log, name)
        models.append((score.metadata or {})["groundjudge"]["model"])
    assert models == ["evaluated", "critic", "scripted"]


@pytest.mark.parametrize(
    ("model", "code"),
    [("cut", "truncated"), ("filtered", "refused"), ("unreadable", "no_verdict")],
)
def test_how_the_model_stopped_is_known(model: str, code: str) -> None:
    test_sample = sample(response="At 9.", context=["c"])
    assert score_of(test_sample, model=f"scripted/{model}").reason == code


def test_model_that_raises_leaves_the_sample_unscored() -> None:
    score = score_of(sample(response="At 9.", context=["c"]), model="none/none")
    assert score.reason == "failed"
    assert "the model none/none raised PrerequisiteError" in score.explanation


# --- names -----------------------------------------------------------------------------------------


def test_scorers_are_found_by_their_names_on_the_command_line(tmp_path: Path) -> None:
    from inspect_adapter import evaluate
    from inspect_ai.log import read_eval_log

    from groundjudge.adapters.inspect import passage_quality

    test_sample = sample(response="It opens at 9.", context=["It opens at 9."])
    log = evaluate([test_sample], passage_quality(model="offline"))
    site = _with_entry_point(tmp_path)
    for scorer in (["groundedness"], ["judge", "-S", "judge=groundedness"]):
        command = [sys.executable, "-m", "inspect_ai", "score", log.location, "--action", "append"]
        command += ["--overwrite", "--scorer", f"groundjudge/{scorer[0]}", *scorer[1:], "-S", "model=offline"]
        env = os.environ | {"PYTHONPATH": site}
        process = subprocess.run(command, capture_output=True, text=True, check=False, env=env)  # noqa: S603
        assert process.returncode == 0, process.stdout + process.stderr
    scores: Any = (read_eval_log(log.location).samples or [])[0].scores
    assert scores["groundedness"].value == 1.0
    assert scores["judge"].value == {"groundedness": 1.0}


def _with_entry_point(folder: Path) -> str:
    """The package in a folder of installed packages, with the entry point of pyproject.toml."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        points = tomllib.load(file)["project"]["entry-points"]["inspect_ai"]
    info = folder / "site-packages" / "groundjudge-0.dist-info"
    info.mkdir(parents=True)
    (info.parent / "groundjudge").symlink_to(ROOT / "src" / "groundjudge")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: groundjudge\nVersion: 0\n")
    (info / "entry_points.txt").write_text("\n".join(["[inspect_ai]", *lines]))
    return str(info.parent)


@pytest.mark.parametrize(
    ("settings", "calls"),
    [({}, 12), ({"timeout": 1}, None)],
    ids=["no limit", "the model's time"],
)
def test_an_endpoint_that_always_fails_ends_the_scoring(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], calls: int | None
) -> None:
    import inspect_adapter
    from inspect_ai.model import GenerateConfig, get_model

    from groundjudge.adapters import inspect as adapter

    monkeypatch.setattr(adapter, "PATIENCE", 1)
    inspect_adapter.SEEN.clear()
    down = get_model("scripted/down", config=GenerateConfig(**settings), memoize=False)
    samples = [
        inspect_adapter.sample_of(Exchange(str(n), {"query": "q"}, {"response": "r", "context": ["c"]}))
        for n in range(6)
    ]
    log = inspect_adapter.evaluate(samples, adapter.groundedness(model=down))
    scores = inspect_adapter.scores_in(log, "groundedness")
    assert {(score.reason, isnan(score.as_float())) for score in scores} == {("failed", True)}
    assert calls is None or len(inspect_adapter.SEEN) <= calls
