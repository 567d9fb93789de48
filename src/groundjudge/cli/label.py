"""`groundjudge label` and `rate`: how many answers people would call grounded."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundjudge.cli import options
from groundjudge.cli.measured import (
    check_contents,
    exit_after,
    load_labels,
    load_verdicts,
    mixed_signatures,
    people_lines,
)
from groundjudge.cli.outputs import check_files, check_page, held, write_page
from groundjudge.cli.screen import Screen, as_text, refuse, report_errors, with_interval
from groundjudge.errors import CaseError
from groundjudge.lab.labels import value_in
from groundjudge.lab.sample import draw, read_sample, save_sample
from groundjudge.rubric.rubric import Rubric, load_rubric, names
from groundjudge.runs.rows import read_rows
from groundjudge.runs.run import case_of, id_of

if TYPE_CHECKING:  # the statistics libraries are loaded when a command runs
    from groundjudge.lab.rate import TrueRate
    from groundjudge.lab.sample import LabelSample

JUDGE = options.option("Whose verdicts decide what is drawn. Default: the only judge.", **options.NAMED)


def label(  # noqa: PLR0913  one per option
    cases: str = options.CASES,
    verdicts: str = options.VERDICTS,
    *,
    n: int = options.option(
        "How many rows to label; with --group, how many groups.", "--n", default=100, min=1
    ),
    out: str = options.option(
        "Write the page to this file.", *options.OUT, default="label.html", metavar="PATH"
    ),
    judge: str | None = JUDGE,
    double: int = options.option("How many of the rows a second person labels too.", default=0, min=0),
    group: str | None = options.option(
        "The key shared by rows that belong together, such as those of one conversation: draw these whole.",
        metavar="KEY",
    ),
    own_labels: bool = options.option("Choose among the judge's own labels.", default=False),
    judge_file: str | None = options.option("The prompt file of a judge of your own.", metavar="FILE"),
    queue: str | None = options.option(
        "Make an annotation queue of this name in LangSmith, too: the ids of the rows are ids of runs there.",
        metavar="NAME",
    ),
    row_options: options.RowOptions,
    seed: int = options.option("Seed of the draw.", default=0),
    overwrite: bool = options.option("Replace the files of an earlier draw.", default=False),
) -> None:
    """Draw rows for people to label, and make the page on which they do.

    The page is one file for any browser, works offline, and shows nothing that the judge said. What was drawn
    is written beside it, as NAME.sample.json, and with --double the second person's page as NAME.2.html.

    Exit status: 0; 1 if a line could not be read; 2 if nothing could be drawn.
    """
    with report_errors(), ExitStack() as until_written:
        from groundjudge.report.labelling import labelling_page  # noqa: PLC0415

        page, sampled, second = _files(out)
        pages = [page, second] if double else [page]
        inputs = (("the file of cases", cases), ("the file of verdicts", verdicts))
        check_files([("--out", path) for path in (*pages, sampled)], inputs)
        until_written.enter_context(held("--out", sampled, overwrite=overwrite))
        for path in () if overwrite else pages:
            check_page(path)
        rows = {
            id_of(row, number): (row, number)
            for number, row in enumerate(row_options.rows(cases), 1)
            if not isinstance(row, CaseError)
        }
        file = load_verdicts(verdicts)
        groups = _groups(rows, group)
        sample = draw(file.verdicts, n, judge=judge, double=double, seed=seed, groups=groups)
        rubric = _rubric(sample.judge, judge_file)
        shown = [case_of(*rows[case_id]) for case_id in sample.ids if case_id in rows]
        check_contents(shown, rubric, file.by_judge(sample.judge))
        make = partial(labelling_page, sample, shown, rubric, own_labels=own_labels)
        made = {path: make(second=path == second) for path in pages}
        if queue:
            from groundjudge.adapters.langsmith_queue import queue_sample  # noqa: PLC0415  an extra

            queue_sample(sample, queue, rubric)
        for path, html in made.items():
            write_page(path, html)
        save_sample(sampled, sample)
    screen = Screen()
    screen.table(["stratum", "rows", "drawn"], _drawn(sample))
    screen.text(f"{' and '.join(pages)}: open in a browser, label, and download the labels.")
    screen.text(f"Then: groundjudge rate {verdicts} --labels labels.jsonl --sample {sampled}")
    exit_after(screen, mixed_signatures(file.verdicts), file)


def rate(  # noqa: PLR0913  one per option
    verdicts: str = options.VERDICTS,
    *,
    labels: list[str] | None = options.option(
        "People's labels; repeatable, for those of several people.", metavar="FILE"
    ),
    feedback: str | None = options.option(
        "With --sample: the labels are the feedback of this key on the runs in LangSmith.", metavar="KEY"
    ),
    random: bool = options.option("The labels are a simple random sample of the rows.", default=False),
    label_options: options.LabelOptions,
    encoding: str = options.LABELS_ENCODING,
    judge: str | None = options.option("With --random: the judge. Default: the only one.", **options.NAMED),
) -> None:
    """Estimate how many answers people would call grounded.

    A judge's own pass rate is not that number. Labels of a drawn sample correct it.

    Exit status: 0; 1 if a line could not be read; 2 if there is no estimate.
    """
    with report_errors():
        from groundjudge.lab.rate import rate as estimate  # noqa: PLC0415

        sample = label_options.sample
        choice = (
            "add --sample FILE, which `groundjudge label` wrote, or --random if the rows were drawn at random"
        )
        refuse(
            (not sample and not random, f"how were the labelled rows chosen? {choice}"),
            (
                not labels and not (feedback and sample),
                "add --labels FILE, or --sample FILE and --feedback KEY",
            ),
            (labels and feedback, "--labels and --feedback are two sources of labels: leave one out"),
            (sample and random, "--sample and --random contradict each other: leave one out"),
            (sample and judge, "--judge: the sample says whose verdicts it was drawn by: leave it out"),
        )
        file = load_verdicts(verdicts)
        drawn = read_sample(sample) if sample else None
        if feedback and drawn:
            from groundjudge.adapters.langsmith_queue import queue_labels  # noqa: PLC0415  an extra

            people = queue_labels(drawn, key=feedback)
        else:
            paths = labels or []
            rows = chain.from_iterable(read_rows(path, encoding=encoding) for path in paths)
            people = load_labels(", ".join(paths), label_options, rows=rows)
        found = estimate(
            file.verdicts, people, drawn, judge=judge, label_threshold=label_options.label_threshold
        )
    screen = Screen()
    _show(screen, found)
    exit_after(screen, [*_notes(found), *mixed_signatures(file.verdicts)], file)


def _files(out: str) -> tuple[str, str, str]:
    """The page, what was drawn, and the second person's page."""
    path = Path(out)
    is_page = path.suffix.casefold() in {".html", ".htm"}
    refuse((not is_page, f"--out {out}: the page is HTML: choose a name that ends in .html"))
    return out, str(path.with_suffix(".sample.json")), str(path.with_suffix(f".2{path.suffix}"))


def _groups(rows: Mapping[str, tuple[Any, int]], key: str | None) -> dict[str, str]:
    """The group of each row that has one."""
    found = {case_id: value_in(row, key) for case_id, (row, _) in rows.items() if key}
    groups = {case_id: str(value) for case_id, value in found.items() if value is not None}
    refuse((key and not groups, f"--group {key}: no row has this field"))
    return groups


def _rubric(judge: str, file: str | None) -> Rubric:
    """The judge's, from its prompt file if it is not a built-in one."""
    remedy = "name its prompt file with --judge-file"
    refuse((not file and judge not in names(), f"{judge} is not a built-in judge: {remedy}"))
    return load_rubric(file or judge)


def _drawn(sample: LabelSample) -> list[tuple[str, str, str]]:
    return [(each.name, f"{each.rows:,}", f"{sum(map(len, each.drawn)):,}") for each in sample.strata]


def _show(screen: Screen, found: TrueRate) -> None:
    """Print the rate, and beside it what the judge and the labels say by themselves."""
    screen.text(heading=f"{found.judge}: grounded answers among {found.rows:,}")
    rows = [
        ("true rate", with_interval(found.rate)),
        (f"{found.rate.n:,} labels alone", with_interval(found.alone)),
        *((f"{_version(each.signature)} passes", with_interval(each.passed)) for each in found.own),
    ]
    screen.table(["", "share [95 %]"], rows)
    gain = f"the judge makes {found.rate.n:,} labels as good as {found.worth:,}"
    screen.text(
        gain if found.worth > found.rate.n else "the judge added nothing to the labels",
        f"an interval of ±0.03 takes about {found.needed:,} labels",
    )
    if found.cannot_tell:
        low, high = map(as_text, found.bounds)
        screen.text(
            f"people could not tell: {found.cannot_tell:.3f} of the rows; "
            f"the rate if none or all of these are grounded: {low} to {high}"
        )
    screen.text(*people_lines(found.people))


def _version(signature: str) -> str:
    """The judge, the version of its prompt and the model."""
    prompt, _, model, *_ = signature.split("|")
    return f"{prompt}|{model}"


def _notes(found: TrueRate) -> list[str]:
    left = f"{found.n_unlabelled} drawn rows have no label yet: the rate takes them to be as the others"
    others = (
        f"the sample was drawn from {found.rows:,} rows, and there are verdicts on {found.n_verdicts:,}: "
        "the rate is of those at the time of the draw"
    )
    return [*([left] if found.n_unlabelled else []), *([others] if found.n_verdicts != found.rows else [])]
