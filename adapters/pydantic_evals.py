"""pydantic-evals: a judge as an evaluator of a dataset, in code or in the dataset's YAML file.

    dataset = Dataset(
        name="support",
        cases=cases,
        evaluators=[JudgeEvaluator("groundedness", model="openai:gpt-6-luna")],
    )
    report = dataset.evaluate_sync(application)

A scored case has the scores "groundedness" (and one for each further score of the judge), the label
"groundedness_label" if the verdict has one, and the assertion "groundedness_pass". A case that is not
applicable has none of them, and an error is one of the case's `evaluator_failures`. The whole verdict is
always in the case's `attributes["groundjudge"]`, under the evaluation's name, which no two evaluators of a
dataset should share.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import GetPydanticSchema
from pydantic_core.core_schema import str_schema

from groundjudge.case.case import CaseLike
from groundjudge.case.data import is_mapping
from groundjudge.case.fields import Fields, FieldsLike
from groundjudge.errors import GroundjudgeError, requires
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import AnyJudge, Rule, Stop
from groundjudge.models.lookup import ModelLike
from groundjudge.rubric.options import EmptyResponse, Structured, pop_options
from groundjudge.verdict import Passes, Verdict, Weighted

with requires("groundjudge.adapters.pydantic_evals needs pydantic-evals", "pydantic-evals"):
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext

__all__ = ["JudgeEvaluator"]

ROOTS = ("inputs", "output", "expected_output", "metadata")
"""What a path to a field can begin with."""

BY_NAME = GetPydanticSchema(lambda _type, _handler: str_schema())
"""In the JSON schema of a dataset's file, an argument of this kind is a string."""


def _case_of(fields: Fields, ctx: EvaluatorContext[Any, Any, Any]) -> Mapping[str, Any]:
    """Return the fields of a case from the context of an evaluation."""
    row = {
        "inputs": ctx.inputs,
        "outputs": ctx.output,
        "reference_outputs": ctx.expected_output,
        "id": ctx.name,
        "metadata": ctx.metadata,
    }
    roots = {root: getattr(ctx, root) for root in ROOTS}
    return fields.in_row(row, roots)


def _result_of(verdict: Verdict, judge: AnyJudge, name: str) -> dict[str, EvaluationReason]:
    """Return scores, a label and an assertion: `{"groundedness": ..., "groundedness_pass": ...}`.

    Not applicable gives {}: its `passed` is True, and would raise the pass rate.
    """
    result: dict[str, EvaluationReason] = {}
    if verdict.status == "not_applicable":
        return result
    for score in judge.scores(verdict, name):
        if score.score is not None:
            result[score.name] = EvaluationReason(score.score, score.explanation)
    if verdict.label is not None:
        result[f"{name}_label"] = EvaluationReason(verdict.label, verdict.explanation)
    if verdict.passed is not None:
        result[f"{name}_pass"] = EvaluationReason(verdict.passed, verdict.explanation)
    return result


@dataclass(repr=False)
class JudgeEvaluator(Evaluator[Any, Any, Any]):
    """A judge for `Dataset.evaluate`. Its version in the report is the hash of the judge's prompt.

    The fields of the case are read from inputs, output and expected output under their usual names; each of
    them can be a mapping, a dataclass, a pydantic model, or the query, the response and the reference itself.
    Inputs that only your own prompt file has are read from the metadata too.

    In a YAML file, the arguments are under the name of the class, and `Dataset.from_file` needs
    `custom_evaluator_types=[JudgeEvaluator]`. Judges, rubrics and models are written there by their names.

    Args:
        judge: as for `groundjudge.as_judge`.
        model: as for `groundjudge.as_judge`.
        name: the name of the evaluation, by default the judge's. A judge with several scores has one more
            name for each (passage_quality, passage_recall, passage_precision; with name="mine": mine,
            mine_recall, mine_precision).
        fields: where to find fields with other names, as for `Fields.of`. A path begins with inputs, output,
            expected_output or metadata; a function is called with the EvaluatorContext.
        threshold: this and what follows are options of `groundjudge.as_judge`. The others define a judge:
            put them into a prompt file, or pass the result of `load` or `load_rubric` as the judge.

    Raises:
        GroundjudgeError, TypeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
    """

    # Each option is a separate field, because the schema of a dataset's file is made from the fields.
    judge: Annotated[JudgeLike, BY_NAME]
    model: Annotated[ModelLike | None, BY_NAME] = None
    name: str | None = None
    fields: FieldsLike = None
    threshold: float | None = None
    parameters: dict[str, Any] | None = None
    max_reasks: int | None = None
    repeats: int | None = None
    rule: Rule | None = None
    stop: Stop | None = None
    empty_response: EmptyResponse | None = None
    structured: Structured | None = None
    weighted: Weighted | None = None
    tool_titles: bool | None = None
    citations: bool | None = None
    not_applicable: Sequence[float] | None = None
    passes: Passes | None = None
    may_be_empty: Sequence[str] | None = None
    optional: Sequence[str] | None = None

    def __post_init__(self) -> None:
        self.case_of  # noqa: B018  checked at once

    def __setattr__(self, name: str, value: object) -> None:
        """Set an argument and make the judge anew from it: a report shows the arguments."""
        super().__setattr__(name, value)
        # The cached properties, which are made from the arguments.
        vars(self).pop("loaded_judge", None)
        vars(self).pop("case_of", None)

    @cached_property
    def loaded_judge(self) -> AnyJudge:
        """The judge with its model and options."""
        # Some options have no field: see above.
        options: Any = pop_options(dict(vars(self)), PanelOptions.__annotations__)
        return as_judge(self.judge, self.model, **options)

    @cached_property
    def case_of(self) -> Callable[..., CaseLike]:
        """The function that makes the case from the context of an evaluation."""
        return self.loaded_judge.cases(self.fields, ROOTS, _case_of)

    def get_default_evaluation_name(self) -> str:
        """Return the name of the headline score and of failures."""
        return self.name or self.loaded_judge.name

    def get_evaluator_version(self) -> str:
        """Return the hash of the prompt."""
        return self.loaded_judge.prompt_id.sha256

    def build_serialization_arguments(self) -> dict[str, Any]:
        """Return the arguments as data, with names instead of what a file cannot contain."""
        # In place of a judge, a model or a function that was passed as an object.
        names = {
            "judge": self.loaded_judge.name,
            "model": self.loaded_judge.model_name,
            "fields": "(a function)",
        }
        arguments: dict[str, Any] = {}
        for name, value in super().build_serialization_arguments().items():
            if isinstance(value, Path):
                arguments[name] = str(value)
            elif name in names and not (isinstance(value, str) or is_mapping(value)):
                arguments[name] = names[name]
            else:
                arguments[name] = value
        return arguments

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Judge one case.

        Raises:
            GroundjudgeError: there is no verdict; pydantic-evals makes it an EvaluatorFailure.
        """
        name = self.get_default_evaluation_name()
        verdict = await self.loaded_judge.aevaluate(lambda: self.case_of(ctx))
        ctx.attributes.setdefault("groundjudge", {})[name] = verdict.model_dump(mode="json")
        if verdict.error:
            raise GroundjudgeError(verdict.error.code, verdict.error.message)
        return _result_of(verdict, self.loaded_judge, name)
