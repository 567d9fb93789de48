"""A door to pydantic-evals over the core alone: how little an adapter needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

from groundjudge import AnyJudge, Case, Verdict


@dataclass
class JudgeEvaluator(Evaluator[Any, Any, Any]):
    """A judge for `Dataset.evaluate`: a result for each of its scores, none where nothing applies."""

    judge: AnyJudge

    def get_evaluator_version(self) -> str:
        """The hash of the prompt."""
        return self.judge.prompt_id.sha256

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Judge one case."""
        verdict = await self.verdict(ctx)
        if verdict.error:
            raise RuntimeError(verdict.explanation)
        scores = self.judge.scores(verdict)
        return {
            one.name: EvaluationReason(one.score, one.explanation) for one in scores if one.score is not None
        }

    async def verdict(self, ctx: EvaluatorContext[Any, Any, Any]) -> Verdict:
        """What the judge says of a case; it never raises."""
        try:
            case = Case.from_exchange(ctx.inputs, ctx.output, ctx.expected_output)
        except Exception as error:  # noqa: BLE001  a row's error is that row's alone
            return self.judge.failed(error)
        return await self.judge.aevaluate(case)
