"""What the tests of the adapter do with Inspect. Only soak tests import it: that takes three seconds."""

# Inspect's `eval` takes scanners, whose package need not be installed:
# pyright: reportUnknownVariableType=false
from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from adapters_table import Exchange
from formatter import sure
from inspect_ai import Task
from inspect_ai import eval as inspect_eval
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    StopReason,
    modelapi,
)
from inspect_ai.scorer import Score, Scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolChoice, ToolInfo

from groundjudge import Verdict
from groundjudge.adapters.inspect import judge as scorer
from groundjudge.types import AnyJudge


@solver
def answers() -> Solver:
    """Answers with the `response` and the `calls` in the sample's metadata, after its `messages`."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:  # noqa: ARG001  no model is asked
        state.messages += state.metadata.get("messages", [])
        if "response" in state.metadata:
            state.output = ModelOutput.from_content("none", state.metadata["response"])
            state.output.message.tool_calls = state.metadata.get("calls")
            state.messages.append(state.output.message)
        return state

    return solve


SEEN: list[tuple[GenerateConfig, list[ChatMessage]]] = []
"""What the models below were asked."""

REPLIES: dict[str, tuple[str, StopReason]] = {
    "cut": ("<S1>cut", "max_tokens"),
    "filtered": ("", "content_filter"),
    "unreadable": ("?", "stop"),
}
"""The replies of models that do not give a level."""


@modelapi(name="scripted")
class Scripted(ModelAPI):
    """A model of Inspect's whose reply depends on its name."""

    def __init__(
        self, model_name: str, base_url: str | None, api_key: str | None, config: GenerateConfig, **_: object
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)

    def should_retry(self, ex: BaseException) -> bool:
        return isinstance(ex, ConnectionError)

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002  Inspect's names
        tools: list[ToolInfo],  # noqa: ARG002
        tool_choice: ToolChoice,  # noqa: ARG002
        config: GenerateConfig,
    ) -> ModelOutput:
        SEEN.append((config, input))
        if self.model_name == "down":
            raise ConnectionError
        reply, stop_reason = REPLIES.get(self.model_name, (f"<S1>backed</S1>{sure(4)}", "stop"))
        output = ModelOutput.from_content(self.model_name, reply, stop_reason)
        output.usage = ModelUsage(input_tokens=5, input_tokens_cache_read=2, output_tokens=3)
        return output


def evaluate(samples: Sequence[Sample], *scorers: Scorer, **options: Any) -> EvalLog:
    """The log of an evaluation, which ended well."""
    task = Task(dataset=list(samples), solver=answers(), scorer=list(scorers))
    settings: dict[str, Any] = {"model": "none/none", "display": "none", "log_level": "error"} | options
    (log,) = inspect_eval(task, **settings)
    assert log.status == "success", log.error
    return log


def scores_in(log: EvalLog, name: str) -> list[Score]:
    assert log.samples
    scores: list[Score] = []
    for sample in log.samples:
        assert sample.scores
        scores.append(sample.scores[name])
    return scores


def sample_of(row: Exchange) -> Sample:
    metadata = {**row.inputs, **row.outputs, **row.metadata}
    return Sample(
        input=metadata.pop("query"), target=row.reference.get("reference", ""), id=row.id, metadata=metadata
    )


def verdict_in(score: Score, judge: AnyJudge) -> Verdict:
    """The verdict in the metadata, after checking the score against it."""
    metadata = score.metadata or {}
    verdict = Verdict.model_validate(metadata["groundjudge"])
    assert score.explanation == verdict.explanation
    assert metadata["signature"] == verdict.signature
    if verdict.score is None:
        assert isnan(score.as_float())
        assert score.reason == (verdict.error.code if verdict.error else "not_applicable")
    else:
        assert score.value == {named_score.name: named_score.score for named_score in judge.scores(verdict)}
    return verdict


def by_eval(judge: AnyJudge, rows: Sequence[Exchange], **options: Any) -> list[Verdict]:
    log = evaluate([sample_of(row) for row in rows], scorer(judge, **options))
    verdicts: dict[str, Verdict] = {}
    for sample in log.samples or []:
        verdicts[str(sample.id)] = verdict_in((sample.scores or {})["judge"], judge)
    return [verdicts[row.id] for row in rows]


def figures(log: EvalLog) -> dict[str, tuple[float, int, int]]:
    """The mean, and how many samples are scored and unscored, of each score."""
    assert log.results
    counts: dict[str, tuple[float, int, int]] = {}
    for score in log.results.scores:
        mean = score.metrics["mean"].value
        counts[score.name] = (mean, score.scored_samples or 0, score.unscored_samples or 0)
    return counts
