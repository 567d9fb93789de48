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

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Unpack

from groundjudge.case.fields import Fields, FieldsLike
from groundjudge.errors import requires
from groundjudge.judging.load import JudgeLike, PanelOptions, as_judge
from groundjudge.judging.panel import AnyJudge
from groundjudge.models.lookup import ModelLike
from groundjudge.runs.named_verdicts import select_named
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


def evaluator(
    judge: JudgeLike,
    *,
    model: ModelLike | None = None,
    name: str | None = None,
    fields: FieldsLike = None,
    **options: Unpack[PanelOptions],
) -> Callable[..., Coroutine[Any, Any, list[Evaluation]]]:
    """Make an evaluator of an experiment's items from a judge.

    The fields of the case are read from input, output and expected output under their usual names; each of
    them can be a mapping, a dataclass, a pydantic model, or the query, the response and the reference itself.
    Inputs that only your own prompt file has are read from the item's metadata too.

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
        if you pass it as a run evaluator.

    Raises:
        GroundjudgeError, TypeError: as for `groundjudge.as_judge`; for `fields`, as for `Fields.of`.
    """
    loaded = as_judge(judge, model, **options)
    case_of = loaded.cases(fields, ROOTS, _case_of)
    score_name = name or loaded.name

    async def evaluate(**arguments: object) -> list[Evaluation]:
        if "item_results" in arguments:  # what a run evaluator gets
            raise TypeError(EVALUATOR_PLACE.format(score_name))
        # Langfuse passes more than these as its versions grow, and leaves out what an item lacks.
        item = {root: arguments.get(root) for root in ROOTS}
        verdict = await loaded.aevaluate(lambda: case_of(**item))
        return _result_of(verdict, loaded, score_name)

    evaluate.__name__ = score_name  # by which Langfuse names the evaluator in its log
    return evaluate


def summary(name: str) -> Callable[..., list[Evaluation]]:
    """Make a run evaluator for the verdicts that an evaluator gave in the same experiment.

    Args:
        name: the name of the evaluator's score: the judge's name, unless you gave it another one.

    Returns:
        A run evaluator of two scores that begin with the name: `_mean`, the mean over the items with a score,
        0..1; and `_coverage`, of the items that should have a score the share that has one, 0..1. There is no
        mean if no item has a score. An item whose task failed is in neither; if all tasks failed, there are
        no scores. It raises ValueError, which Langfuse logs, if the items have no verdicts under that name,
        which may be that of a further score, such as passage_recall, or if two evaluators share it; and
        TypeError if you pass it as an evaluator.
    """

    def evaluate_run(
        *, item_results: Sequence[ExperimentItemResult] | None = None, **_: object
    ) -> list[Evaluation]:
        if item_results is None:  # Langfuse gives an evaluator one item
            raise TypeError(SUMMARY_PLACE.format(name))
        if not item_results:  # Langfuse leaves out items whose task failed, and here all of them did
            return []
        stored = select_named(name, [_stored_in(item) for item in item_results], "name")
        evaluations: list[Evaluation] = []
        for total in summarise(Verdict.model_validate(metadata) for metadata in stored):
            for figure, value in total.figures.items():
                if value is not None and figure in {"mean", "coverage"}:
                    evaluations.append(_evaluation(f"{name}_{figure}", value, total.counts))
        return evaluations

    evaluate_run.__name__ = f"{name}_summary"
    return evaluate_run


def _case_of(fields: Fields, **item: object) -> Mapping[str, Any]:
    """Return the fields of an item's case; the item is given by `ROOTS`."""
    row = {
        "inputs": item["input"],
        "outputs": item["output"],
        "reference_outputs": item["expected_output"],
        "metadata": item["metadata"],
    }
    return fields.in_row(row, item)


def _result_of(verdict: Verdict, judge: AnyJudge, name: str) -> list[Evaluation]:
    """Return the verdict as scores; those without a value are left out, because Langfuse rejects them."""
    metadata = verdict.model_dump(mode="json", exclude_none=True)
    result: list[Evaluation] = []
    for score in judge.scores(verdict, name):
        if score.score is not None:
            result.append(_evaluation(score.name, score.score, score.explanation, metadata))
    # On a scale of numbers the label follows from the score.
    if judge.scale.choices and verdict.label is not None:
        result.append(_evaluation(f"{name}_label", verdict.label, verdict.explanation, metadata))
    if verdict.status != "ok":
        result.append(_evaluation(f"{name}_status", verdict.status, verdict.explanation, metadata))
    return result


def _evaluation(name: str, value: float | str, comment: str, metadata: Any = None) -> Evaluation:  # noqa: ANN401  JSON
    """Return a Langfuse score: a number, or a text as a category."""
    data_type: Any = "CATEGORICAL" if isinstance(value, str) else "NUMERIC"
    return Evaluation(name=name, value=value, comment=comment, metadata=metadata, data_type=data_type)


def _stored_in(item: ExperimentItemResult) -> Iterator[tuple[str, Any]]:
    """Yield the verdicts of an item, as JSON, by the names of their evaluators: `("groundedness", {...})`."""
    last_metadata: object = None
    for evaluation in item.evaluations:
        # All scores of an evaluator have one mapping; the first of them is the headline, or the status.
        if evaluation.metadata is None or evaluation.metadata is last_metadata:
            continue
        last_metadata = evaluation.metadata
        name = evaluation.name
        if evaluation.data_type == "CATEGORICAL":
            name = name.removesuffix("_status")
        yield name, last_metadata
