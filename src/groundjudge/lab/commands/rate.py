"""`groundjudge rate`: how many answers people would call grounded."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from groundjudge.cli import options
from groundjudge.cli.screen import Screen, as_text, fail
from groundjudge.lab.commands import options as measuring
from groundjudge.lab.commands.figures import with_interval
from groundjudge.lab.commands.inputs import (
    exit_after,
    label_notes,
    load_labels,
    load_verdicts,
    people_lines,
)
from groundjudge.lab.sample import read_sample

if TYPE_CHECKING:  # the statistics libraries are loaded when the command runs
    from groundjudge.lab.rate import TrueRate

LabelFiles = Annotated[
    list[str] | None,
    typer.Option("--labels", metavar="FILE", help="People's labels; repeatable, one file per person."),
]
FeedbackKey = Annotated[
    str | None,
    typer.Option(
        "--feedback",
        metavar="KEY",
        help="With --sample: take the labels from the feedback with this key on the LangSmith runs.",
    ),
]
RandomSample = Annotated[
    bool,
    typer.Option("--random", help="The labels are a simple random sample of the rows."),
]


def rate(
    verdicts: options.Verdicts,
    *,
    labels: LabelFiles = None,
    feedback: FeedbackKey = None,
    random: RandomSample = False,
    label_options: measuring.LabelOptions,
    file_options: measuring.LabelsFileOptions,
    judge: measuring.OneJudge = None,
) -> None:
    """Estimate how many answers people would call grounded.

    A judge's own pass rate is not that number. Labels on a drawn sample correct it.

    Exit status: 0; 1 if a line could not be read; 2 if there is no estimate.
    """
    from groundjudge.lab.rate import rate as estimate_rate  # noqa: PLC0415

    sample = label_options.sample
    _check_sources(labels, feedback, sample, judge, random=random)
    file = load_verdicts(verdicts)
    label_sample = read_sample(sample) if sample else None
    if feedback and label_sample:
        from groundjudge.adapters.langsmith_queue import queue_labels  # noqa: PLC0415  an extra

        people = queue_labels(label_sample, key=feedback)
    else:
        # The labels of several people are read as if they were in one file.
        paths = labels or []
        rows = chain.from_iterable(file_options.read(path) for path in paths)
        people = load_labels(", ".join(paths), label_options, rows)
    true_rate = estimate_rate(
        file.verdicts, people, label_sample, judge=judge, label_threshold=label_options.label_threshold
    )
    screen = Screen()
    _show_rate(screen, true_rate)
    notes = _rate_notes(true_rate)
    exit_after(screen, [*notes, *label_notes(None, people, file.verdicts)], file)


def _check_sources(
    labels: list[str] | None, feedback: str | None, sample: str | None, judge: str | None, *, random: bool
) -> None:
    """Exit unless it is clear where labels come from, and how the labelled rows were chosen."""
    if not sample and not random:
        fail(
            "say how the labelled rows were chosen: add --sample FILE, as written by `groundjudge label`, or "
            "--random if they were drawn at random"
        )
    if not labels and not (feedback and sample):
        fail("add --labels FILE, or --sample FILE and --feedback KEY")
    if labels and feedback:
        fail("--labels and --feedback are two sources of labels: omit one")
    if sample and random:
        fail("--sample and --random contradict each other: omit one")
    if sample and judge:
        fail("--judge: the sample already names the judge: omit the option")


def _show_rate(screen: Screen, true_rate: TrueRate) -> None:
    """Print the rate, next to what the judge alone and the labels alone say."""
    screen.text(heading=f"{true_rate.judge}: grounded answers among {true_rate.rows:,}")
    n_labels = true_rate.rate.n
    rows = [
        ["true rate", with_interval(true_rate.rate)],
        [f"{n_labels:,} labels alone", with_interval(true_rate.alone)],
    ]
    for pass_rate in true_rate.own:
        prompt, _, model, *_ = pass_rate.signature.split("|")
        rows.append([f"{prompt}|{model} passes", with_interval(pass_rate.passed)])
    screen.table(["", "share [95%]"], rows)
    # How many labels alone would give the same precision.
    gain = "the judge added nothing to the labels"
    if true_rate.worth > n_labels:
        gain = f"the judge makes {n_labels:,} labels as good as {true_rate.worth:,}"
    screen.text(gain, f"an interval of ±0.03 needs about {true_rate.needed:,} labels")
    if true_rate.cannot_tell:
        low, high = true_rate.bounds
        screen.text(
            f"people could not tell for {true_rate.cannot_tell:.3f} of the rows; "
            f"the rate is {as_text(low)} if none of these are grounded, {as_text(high)} if all are"
        )
    screen.text(*people_lines(true_rate.people))


def _rate_notes(true_rate: TrueRate) -> list[str]:
    """Make notes on drawn rows without a label, and on rows added or removed since the draw."""
    notes: list[str] = []
    if true_rate.n_unlabelled:
        notes.append(
            f"{true_rate.n_unlabelled} drawn rows have no label yet: the rate assumes they are like others"
        )
    if true_rate.n_verdicts != true_rate.rows:
        notes.append(
            f"the sample was drawn from {true_rate.rows:,} rows, but there are now verdicts on "
            f"{true_rate.n_verdicts:,}: the rate is for the rows at the time of the draw"
        )
    return notes
