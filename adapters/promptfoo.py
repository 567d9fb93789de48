"""promptfoo: a judge as a Python assertion in a file of one line, with its options in the YAML.

    # judge.py
    from groundjudge.adapters.promptfoo import get_assert

    # promptfooconfig.yaml
    tests:
      - vars:
          query: When do you open?
          context: We open at 9.
        assert:
          - type: python
            value: file://judge.py
            config: {judge: groundedness, model: "openai:gpt-6-luna", threshold: 0.7}

The vars are the fields of a case under their usual names, and the output is the response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from groundjudge.case.case import CaseLike
from groundjudge.case.data import is_mapping
from groundjudge.case.fields import Fields
from groundjudge.judging.load import as_judge
from groundjudge.judging.panel import AnyJudge
from groundjudge.verdict import Usage, Verdict

__all__ = ["get_assert"]

ROOTS = ("vars", "output", "context")
"""What a path to a field can begin with."""

NO_SCORE = {"not_applicable": (True, 1.0), "error": (False, 0.0)}
"""Whether a verdict without a score passes, and the score to report, because promptfoo requires a number."""

GRADER_ERROR = {"graderError": True}
"""How promptfoo's own graders mark that they failed, rather than the output."""


def get_assert(output: object, context: Mapping[str, Any]) -> dict[str, Any]:
    """Judge an output; promptfoo calls this function by its name.

    The output is the response, and the test's vars are the other fields under their usual names. An output
    that is an object, rather than JSON text, can have several fields.

    The `config` of the assertion has `judge`, the name of a judge or the path of a prompt file; `model`;
    `fields`, which maps fields to dotted paths ({query: vars.q, response: output.text}) that begin with vars,
    output or context; and the options of `groundjudge.load`, such as threshold, repeats and parameters.

    Returns:
        A grading result whose metadata has the verdict, under "groundjudge". What is not applicable passes
        with a score of 1. An error, of the configuration too, fails with a score of 0 and with `graderError`
        in the metadata, as those of promptfoo's own graders do. Neither has `namedScores`, so the means of
        these are over the outputs with a score.
    """
    try:
        judge, case_of = _judge_from_config(context.get("config"))
    except Exception as error:  # noqa: BLE001  promptfoo would report it as a wrong output
        return {"pass": False, "score": 0.0, "reason": f"Not judged: {error}", "metadata": GRADER_ERROR}
    roots: dict[str, Any] = {"vars": context.get("vars") or {}, "output": output, "context": context}
    verdict = judge.evaluate(lambda: case_of(**roots))
    return _result_of(verdict, judge)


def _judge_from_config(config: object) -> tuple[AnyJudge, Callable[..., CaseLike]]:
    """Return the judge, and the function that makes the case from vars, output and context.

    Raises:
        TypeError: the configuration is not a mapping that names a judge, or has an unknown option.
        GroundjudgeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
    """
    if not is_mapping(config) or not config.get("judge"):  # None if the YAML has no `config`
        message = "the assertion's config must name a judge and a model: {judge: groundedness, model: ...}"
        raise TypeError(message)
    options = dict(config)  # a copy, as `fields` is taken out
    fields = options.pop("fields", None)
    judge = as_judge(**options)
    return judge, judge.cases(fields, ROOTS, _case_of)


def _case_of(fields: Fields, **roots: Any) -> CaseLike:  # noqa: ANN401
    """Make the case from vars, output and context: the vars are its inputs, the output its response."""
    return fields.in_row({"inputs": roots["vars"], "outputs": roots["output"]}, roots)


def _result_of(verdict: Verdict, judge: AnyJudge) -> dict[str, Any]:
    """Return the verdict as promptfoo's GradingResult."""
    passed, score = NO_SCORE.get(verdict.status, (verdict.passed, verdict.score))
    reason = verdict.explanation
    metadata: dict[str, Any] = {"groundjudge": verdict.model_dump(mode="json", exclude_none=True)}
    if verdict.error:
        reason = f"Not judged: {verdict.explanation}"
        metadata.update(GRADER_ERROR)
    named_scores: dict[str, float] = {}
    for named_score in judge.scores(verdict):
        if named_score.score is not None:  # so that promptfoo's means are over the outputs with a score
            named_scores[named_score.name] = named_score.score
    usage = verdict.usage or Usage()  # promptfoo expects numbers: all are 0
    return {
        "pass": passed,
        "score": score,
        "reason": reason,
        "namedScores": named_scores,
        "tokensUsed": {
            "total": usage.total_tokens,
            "prompt": usage.prompt_tokens,
            "completion": usage.completion_tokens,
            "numRequests": verdict.attempts,
        },
        "metadata": metadata,
    }
