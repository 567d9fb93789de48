"""Paired comparison of two judges, prompts or models on the same cases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from groundjudge.analysis.agreement import sample_of
from groundjudge.analysis.figures import RESAMPLES, Bootstrap, Figure, paired, without_labels
from groundjudge.analysis.labels import LabelError, Labels, join, words_of
from groundjudge.runs.verdict_file import last_of_each
from groundjudge.verdict import Finite, Frozen, Score, Verdict


class Comparison(Frozen):
    """The figures of two judges on the same cases, and their differences.

    Attributes:
        first: the name of the first judge.
        second: the name of the second judge, the same where prompts or models are compared.
        n: cases with a score from both. Mean score and pass rate are computed from these.
        n_labelled: those of them that have a label. All other figures are computed from these.
        n_first_only: cases that only the first gave a score.
        n_second_only: cases that only the second gave a score.
        n_neither: cases that neither gave a score: errors, nothing to judge, missing inputs.
        n_changed: cases whose content differs between the two under one id; they are left out.
        n_groups: how many independent groups the n cases belong to.
        same_outcome: the share of the n cases that passed with both or with neither, 0..1; None if
            there are none.
        values: the figure of the first and of the second, by name; None where it is undefined. See
            `figures.Sample`.
        differences: the second minus the first, by name, with paired bootstrap intervals.
    """

    first: str
    second: str
    n: int
    n_labelled: int
    n_first_only: int
    n_second_only: int
    n_neither: int
    n_changed: int
    n_groups: int
    same_outcome: Score | None
    values: Mapping[str, tuple[Finite | None, Finite | None]]
    differences: Mapping[str, Figure]


def compare(  # noqa: PLR0913  each option changes the figures
    first: Iterable[Verdict],
    second: Iterable[Verdict],
    labels: Labels | None = None,
    *,
    thresholds: tuple[float | None, float | None] = (None, None),
    label_threshold: float | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare the verdicts of two judges case by case (see `figures.paired`).

    Args:
        first: the verdicts of one judge.
        second: those of another judge, or of the same with another prompt or model.
        labels: human labels, if there are any; their groups count even for unlabelled cases.
        thresholds: for each judge the lowest score, 0..1, that passes; None: whether a row passed
            in its run counts.
        label_threshold: the lowest label that means grounded, for graded labels.
        resamples: how many bootstrap resamples to draw for the intervals.
        seed: of the bootstrap.

    Raises:
        LabelError: `bad_option` if either side does not come from exactly one judge;
            `unreadable_label`.
    """
    bootstrap = Bootstrap(resamples, seed)
    sides = [last_of_each(verdicts)[0] for verdicts in (first, second)]
    judges = [_judge_of(side) for side in sides]
    labels = labels or Labels({})
    labels = replace(labels, words=labels.words or words_of([*sides[0], *sides[1]]))
    one, other = (
        {each.case_id: each for each in side if each.case_id and each.score is not None} for side in sides
    )
    in_both = sorted(one.keys() & other.keys())
    both = [case_id for case_id in in_both if _same_case(one[case_id], other[case_id])]
    compared = [[side[case_id] for case_id in both] for side in (one, other)]
    groups = [labels.group_of(case_id) for case_id in both]
    samples = [
        without_labels(side, groups, threshold) for side, threshold in zip(compared, thresholds, strict=True)
    ]
    tables = paired(samples[0].scores_alone, samples[1].scores_alone, samples[0].groups, bootstrap)
    joined = [join(side, labels) for side in compared]  # each for one judge; for none without verdicts
    ids = [{row.case_id for each in side for row in each.labelled} for side in joined]
    labelled = ids[0] & ids[1]
    if labelled:
        before, after = (
            sample_of(
                # Where each judge has labels of its own, one may lack some.
                replace(side, labelled=tuple(row for row in side.labelled if row.case_id in labelled)),
                threshold=threshold,
                label_threshold=label_threshold,
            )
            for (side,), threshold in zip(joined, thresholds, strict=True)
        )
        more = paired(before.agreement, after.agreement, before.groups, bootstrap)
        tables = [table | extra for table, extra in zip(tables, more, strict=True)]
    first_figures, second_figures, differences = tables
    return Comparison(
        first=judges[0],
        second=judges[1],
        n=len(both),
        n_labelled=len(labelled),
        n_first_only=len(one) - len(in_both),
        n_second_only=len(other) - len(in_both),
        n_neither=len({each.case_id for side in sides for each in side if each.case_id} - {*one, *other}),
        n_changed=len(in_both) - len(both),
        n_groups=samples[0].n_groups,
        same_outcome=float((samples[0].passed == samples[1].passed).mean()) if both else None,
        values={name: (first_figures[name].value, second_figures[name].value) for name in differences},
        differences=differences,
    )


def _judge_of(verdicts: Sequence[Verdict]) -> str:
    judges = sorted({verdict.judge for verdict in verdicts})
    if len(judges) != 1:
        found = ", ".join(judges) or "none"
        message = f"compare takes the verdicts of one judge on each side, not of {found}"
        raise LabelError("bad_option", message)
    return judges[0]


def _same_case(first: Verdict, second: Verdict) -> bool:
    """Whether two verdicts under one id are on the same content, as far as their keys say."""
    hashes = {verdict.key.rpartition("-")[2] for verdict in (first, second) if verdict.key}
    return len(hashes) <= 1
