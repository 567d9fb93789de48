"""Langfuse: a judge as an evaluator of experiments, and their mean and coverage as a run evaluator.

    langfuse.run_experiment(
        name="support",
        data=items,
        task=application,
        evaluators=[evaluator("groundedness", model="openai:gpt-6-luna")],
        run_evaluators=[summary("groundedness")],
    )

Both also work with `dataset.run_experiment`, and the evaluator with `run_batched_evaluation`. Each score
is a NUMERIC score, 0..1. Langfuse rejects a score without a value, so an item that has none (an error, or
not applicable) gets the CATEGORICAL score "groundedness_status" instead. The metadata of every score is
the whole verdict.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Unpack

from groundjudge.case.fields import Fields, FieldsLike
from groundjudge.errors import requires
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.lookup import ModelLike
from groundjudge.runs.summary import summarise
from groundjudge.verdict import Verdict

with requires("groundjudge.adapters.langfuse needs Langfuse", "langfuse"):
    from langfuse import Evaluation
    from langfuse.experiment import ExperimentItemResult

__all__ = ["evaluator", "summary"]

ROOTS = ("input", "output", "expected_output", "metadata")
"""What a path to a field can begin with, and the arguments of a function `fields`."""

SUMMARY_PLACE = "summary({0!r}) adds up the verdicts of all items: it belongs in run_evaluators="
EVALUATOR_PLACE = "evaluator({0!r}) judges one item: it belongs in evaluators=, and summary({0!r}) here"

ONE_NAME = "two evaluators have the name {0!r}: give one another, as in evaluator(..., name='{0}_2')"
OF_A_PART = "{0!r} is one of several scores of an evaluator, and its summary is that of {1!r}"
NO_VERDICTS = "no verdicts under the name {0!r}: evaluator({0!r}, ...) must be among the evaluators"


def evaluator(
    judge: JudgeLike,
    *,
    model: ModelLike | None = None,
    name: str | None = None,
    fields: FieldsLike = None,
    **options: Unpack[PanelOptions],
) -> Callable[..., Coroutine[Any, Any, list[Evaluation]]]:
    """Make a judge an evaluator of an experiment's items.

    The fields of the case are read from input, output and expected output under their usual names; each of
    them can be a mapping, a dataclass, a pydantic model, or the query, the response and the reference itself.
    What only a prompt file of your own shows is read from the item's metadata too.

    Args:
        judge: as for `groundjudge.as_judge`.
        model: as for `groundjudge.as_judge`.
        name: the score's name, by default the judge's. Evaluators of one experiment need different names.
        fields: where to find fields with other names, as for `Fields.of`. A path begins with input, output,
            expected_output or metadata; a function is called with these four as keyword arguments.
        options: as for `groundjudge.as_judge`.

    Returns:
        An async evaluator that never raises on an item. It returns a numeric Evaluation; one more for each
        further score of the judge (passage_quality, passage_recall, passage_precision; with name="mine":
        mine, mine_recall, mine_precision); on a scale of labels the label as a categorical one (mine_label);
        and for an item without a score mine_status, which is "not_applicable" or "error". It raises TypeError
        if it stands among the run evaluators.

    Raises:
        GroundjudgeError, TypeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
    """
    loaded = as_judge(judge, model, **options)
    case_of = loaded.cases(fields, ROOTS, _case_of_item)
    score_name = name or loaded.name

    async def evaluate(**arguments: object) -> list[Evaluation]:
        if "item_results" in arguments:  # what a run evaluator is given
            raise TypeError(EVALUATOR_PLACE.format(score_name))
        # Langfuse passes more than these as its versions grow, and leaves out what an item lacks.
        item = {root: arguments.get(root) for root in ROOTS}
        verdict = await loaded.aevaluate(lambda: case_of(**item))
        return _evaluations_of(verdict, loaded, score_name)

    evaluate.__name__ = score_name  # by which Langfuse names the evaluator in its log
    return evaluate


def summary(name: str) -> Callable[..., list[Evaluation]]:
    """Make a run evaluator of the verdicts that an evaluator gave in the same experiment.

    Args:
        name: the name of the evaluator's score: the judge's name, unless it has one of its own.

    Returns:
        A run evaluator of two scores that begin with the name: `_mean`, the mean over the items with a score,
        0..1; and `_coverage`, of the items that should have a score the share that has one, 0..1. There is no
        mean if no item has a score. An item whose task failed is in neither; if all tasks failed, there are
        no scores. It raises ValueError, which Langfuse logs, if the items have no verdicts under that name,
        if two evaluators have it, or if it is that of a further score, such as passage_recall; and TypeError
        if it stands among the evaluators.
    """

    def evaluate_run(
        *, item_results: Sequence[ExperimentItemResult] | None = None, **_: object
    ) -> list[Evaluation]:
        if item_results is None:  # Langfuse gives an evaluator one item
            raise TypeError(SUMMARY_PLACE.format(name))
        evaluations: list[Evaluation] = []
        for total in summarise(_verdicts_under(name, item_results)):
            for figure, value in (("mean", total.mean), ("coverage", total.coverage)):
                if value is not None:
                    evaluation = Evaluation(
                        name=f"{name}_{figure}", value=value, comment=total.counts, data_type="NUMERIC"
                    )
                    evaluations.append(evaluation)
        return evaluations

    evaluate_run.__name__ = f"{name}_summary"
    return evaluate_run


def _verdicts_under(name: str, items: Sequence[ExperimentItemResult]) -> list[Verdict]:
    """The verdicts that the evaluator with this name gave on the items.

    Raises:
        ValueError: there are items and no verdicts, or two verdicts on one item; or the name is that of a
            part, which an item with an error does not have.
    """
    verdicts: list[Verdict] = []
    other_names: list[str] = []
    for item in items:
        # Of one evaluator an item has a score of that name, or a status because it has no score: never both.
        n_before = len(verdicts)
        for evaluation in item.evaluations:
            has_name = evaluation.name in {name, f"{name}_status"}
            if has_name and evaluation.metadata is not None:  # that of a user's function may have none
                first = _first_with(evaluation.metadata, item)
                if first is not evaluation:
                    raise ValueError(OF_A_PART.format(name, first.name))
                verdicts.append(Verdict.model_validate(evaluation.metadata))
            elif evaluation.name not in other_names:
                other_names.append(evaluation.name)
        if len(verdicts) > n_before + 1:
            raise ValueError(ONE_NAME.format(name))
    if verdicts or not items:
        return verdicts
    message = NO_VERDICTS.format(name)
    if other_names:
        message += f"; there are scores of the names {', '.join(other_names)}"
    raise ValueError(message)


def _first_with(metadata: object, item: ExperimentItemResult) -> Evaluation:
    """The first evaluation of an item with this verdict: that of the headline, or of the status."""
    return next(evaluation for evaluation in item.evaluations if evaluation.metadata is metadata)


def _case_of_item(fields: Fields, **item: object) -> Mapping[str, Any]:
    """From an item, by `ROOTS`, to the fields of its case."""
    row = {
        "inputs": item["input"],
        "outputs": item["output"],
        "reference_outputs": item["expected_output"],
        "metadata": item["metadata"],
    }
    return fields.in_row(row, item)


def _evaluations_of(verdict: Verdict, judge: AnyJudge, name: str) -> list[Evaluation]:
    """The verdict as scores; what has no value is left out, as Langfuse rejects it."""
    metadata = verdict.model_dump(mode="json", exclude_none=True)

    def categorical(kind: str, value: str) -> Evaluation:
        return Evaluation(
            name=f"{name}_{kind}",
            value=value,
            comment=verdict.explanation,
            metadata=metadata,
            data_type="CATEGORICAL",
        )

    evaluations: list[Evaluation] = []
    for score in judge.scores(verdict, name):
        if score.score is not None:
            evaluation = Evaluation(
                name=score.name,
                value=score.score,
                comment=score.explanation,
                metadata=metadata,
                data_type="NUMERIC",
            )
            evaluations.append(evaluation)
    # On a scale of numbers the label follows from the score.
    if judge.scale.choices and verdict.label is not None:
        evaluations.append(categorical("label", verdict.label))
    if verdict.status != "ok":
        evaluations.append(categorical("status", verdict.status))
    return evaluations
