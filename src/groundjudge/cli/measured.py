"""What the commands that measure read: files of verdicts, people's labels, and thresholds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, NoReturn

import typer

from groundjudge.case.case import Case
from groundjudge.cli.options import JUDGES, LABELS, LABELS_ENCODING, SEED, LabelOptions
from groundjudge.cli.screen import INCOMPLETE, Screen, as_notes, as_text, fail, refuse
from groundjudge.errors import CaseError
from groundjudge.judging.judge import case_hash
from groundjudge.lab.labels import JudgedRows, Labels, group_by_judge, join, read_labels, rubric_vocabulary
from groundjudge.lab.sample import read_sample, weight_labels
from groundjudge.rubric.rubric import Rubric, load_rubric
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.verdict_file import latest_verdicts, read_verdicts
from groundjudge.verdict import Verdict

if TYPE_CHECKING:  # the statistics libraries are loaded when a command needs them
    from groundjudge.lab.agreement import Thresholds
    from groundjudge.lab.people import People


@dataclass(frozen=True)
class VerdictFile:
    """What a file of verdicts holds.

    Attributes:
        verdicts: those of the judges that were asked for.
        unreadable: a message for each line that could not be read.
        others: the verdicts of other judges.
    """

    path: str
    verdicts: tuple[Verdict, ...]
    unreadable: tuple[str, ...]
    others: tuple[Verdict, ...] = ()

    @property
    def judges(self) -> frozenset[str]:
        """The names of the judges."""
        return frozenset(verdict.judge for verdict in self.verdicts if verdict.judge)

    def by_judge(self, name: str) -> Sequence[Verdict]:
        """The verdicts of one judge; exit if there are none."""
        if name not in self.judges:
            known = ", ".join(sorted(self.judges))
            fail(f"{self.path} has no verdict by the judge {name!r}: --judge can be {known}")
        return [verdict for verdict in self.verdicts if verdict.judge == name]


def load_verdicts(path: str, judges: Sequence[str] | None = None) -> VerdictFile:
    """Read a file of verdicts; one without any, or without any by one of `judges`, is an error."""
    rows = list(read_verdicts(path))
    verdicts = tuple(row for row in rows if isinstance(row, Verdict))
    unreadable = tuple(row.message for row in rows if isinstance(row, CaseError))
    first = f"; the first line: {unreadable[0]}" if unreadable else ""
    refuse((not verdicts, f"{path} holds no verdicts: expected a file written by `groundjudge run`{first}"))
    file = VerdictFile(path, verdicts, unreadable)
    if not judges:
        return file
    chosen = tuple(chain.from_iterable(map(file.by_judge, dict.fromkeys(judges))))
    return VerdictFile(path, chosen, unreadable, tuple(one for one in verdicts if one.judge not in judges))


def load_labels(
    path: str, options: LabelOptions, encoding: str | None = None, *, rows: Iterable[FileRow] | None = None
) -> Labels:
    """Read people's labels, in the words of the judge's prompt file if there is one.

    Args:
        path: the file.
        options: where in a row they are.
        encoding: of the file.
        rows: the rows of the file, if they were read already.

    Raises:
        LabelError, OSError: as for `read_labels`, `read_sample` and `weighted`.
    """
    given = read_rows(path, encoding=encoding) if rows is None else rows
    labels = read_labels(path, options.label, options.group, given)
    if options.sample:
        labels = weight_labels(labels, read_sample(options.sample))
    if options.judge_file is None:
        return labels
    rubric = load_rubric(options.judge_file)
    numbers = f"its judge answers with numbers on {rubric.scale}, not with labels: leave it out"
    refuse((not rubric.scale.choices, f"--judge-file {options.judge_file}: {numbers}"))
    return replace(labels, vocabulary=rubric_vocabulary(rubric))


@dataclass(frozen=True)
class LabelledFiles:
    """The options of a command that measures the judges in one file of verdicts."""

    labels: str = LABELS
    encoding: str = LABELS_ENCODING
    judge: list[str] | None = JUDGES
    seed: int = SEED

    def joined(
        self, verdicts: str, label_options: LabelOptions, *, counts_unscored: bool = False
    ) -> tuple[VerdictFile, list[JudgedRows]]:
        """Read both files, and join verdicts and labels, judge by judge (see `join_labels`)."""
        file = load_verdicts(verdicts, self.judge)
        labels = load_labels(self.labels, label_options, self.encoding)
        return file, join_labels(file, self.labels, labels, counts_unscored=counts_unscored)


def join_labels(
    file: VerdictFile, path: str, labels: Labels, *, counts_unscored: bool = False
) -> list[JudgedRows]:
    """Join verdicts and labels, judge by judge. No case with both is an error.

    Args:
        file: the verdicts.
        path: of the file of labels.
        labels: what it holds.
        counts_unscored: whether cases without a score count.
    """
    joined = join(file.verdicts, labels, file.others)
    unscored = [row.verdict for one in joined for row in one.unscored_rows]
    judged = next((verdict.case_id for verdict in file.verdicts if verdict.case_id), None)
    ids = (
        f"cases are matched by id, and the first ids are {judged!r} and {next(iter(labels.by_case), None)!r}"
    )
    is_apart = not any(one.labelled_rows or one.worded_rows for one in joined)
    no_scores = (
        f"{file.path}: no labelled case has a score: {_why_unscored(unscored)}; "
        "`groundjudge agree --count-unscored wrong` counts such cases"
    )
    refuse(
        (is_apart and unscored and not counts_unscored, no_scores),
        (
            is_apart and not unscored,
            f"no case has both a score in {file.path} and a label in {path}: {ids}",
        ),
    )
    return joined


def _why_unscored(verdicts: Iterable[Verdict]) -> str:
    """Why verdicts have no score, and how many of each kind."""
    found = Counter(one.error.code if one.error else "not applicable" for one in verdicts)
    return ", ".join(f"{reason} {count}" for reason, count in found.most_common())


def without_group(group: str | None, labels: Labels | None) -> list[str]:
    """A note on the labelled rows that lack the key of the groups; none if all have it."""
    if not group or not labels:
        return []
    lacking = len(labels.by_case.keys() - labels.groups.keys())
    rows = f"{lacking} of {len(labels.by_case)} labelled rows have no {group!r} (--group)"
    return [f"{rows}, so that each counts as independent"] if lacking else []


def thresholds_for(option: str | None, *judged: Sequence[Verdict]) -> tuple[Thresholds, list[str]]:
    """The thresholds that --threshold gives, and warnings about using them on each set of verdicts."""
    if option is None:
        return None, []
    with suppress(ValueError):
        number = float(option)
        refuse((not 0 <= number <= 1, f"--threshold must be a score, 0..1, not {option}"))
        return number, []
    from groundjudge.lab.calibration import read_calibrations, warn_if_changed, warn_if_reused  # noqa: PLC0415

    fitted = read_calibrations(option)
    lacks = f"{option} has no threshold for it, so the run's decision counts"
    warnings = [
        warning
        for verdicts in judged
        for warning in (
            *(
                f"{judge}: {lacks}"
                for judge in sorted(group_by_judge(verdicts).keys() - fitted.keys() - {""})
            ),
            *(check(one, verdicts) for one in fitted.values() for check in (warn_if_changed, warn_if_reused)),
        )
    ]
    return {judge: one.threshold for judge, one in fitted.items()}, [*filter(None, dict.fromkeys(warnings))]


def mixed_signatures(verdicts: Sequence[Verdict]) -> list[str]:
    """A note for each judge whose verdicts come from several prompts, models or versions."""
    return [
        f"{judge}: these figures mix verdicts with {len(found)} signatures: {', '.join(found)}"
        for judge, own in group_by_judge(latest_verdicts(verdicts)[0]).items()
        if len(found := signatures_of(own)) > 1
    ]


def signatures_of(verdicts: Sequence[Verdict]) -> list[str]:
    """The signatures of one judge's scores, sorted; of a panel, those of the verdicts with the most votes."""
    scored = [verdict for verdict in verdicts if verdict.score is not None]
    most = max((len(verdict.votes) for verdict in scored), default=0)
    return sorted({verdict.signature for verdict in scored if len(verdict.votes) == most})


def people_lines(people: People | None) -> list[str]:
    """How far people agree, as a line; none if no row has two labels."""
    if not people:
        return []
    line = (
        f"{people.n} rows with two labels: the same on {people.same:.3f}, kappa {as_text(people.kappa)}, "
        f"alpha {as_text(people.alpha)}; the judge's kappa with one of them {as_text(people.judge_kappa)}"
    )
    return [line]


def exit_after(screen: Screen, notes: Iterable[str], *files: VerdictFile) -> NoReturn:
    """Print the notes and the lines that could not be read; the exit status says whether there are any."""
    incomplete = [file for file in files if file.unreadable]
    lost = (
        f"{each.path}: {len(each.unreadable)} unreadable lines, the first is {each.unreadable[0]}"
        for each in incomplete
    )
    screen.text(*as_notes(notes), *lost)
    raise typer.Exit(INCOMPLETE if incomplete else 0)


def check_contents(cases: Iterable[Case], rubric: Rubric, verdicts: Sequence[Verdict]) -> None:
    """Exit if a case is not the one that was judged, as far as its verdict's key says."""
    if any(each.is_custom for each in rubric.inputs):
        return  # what a prompt shows of the metadata is in the key, and a panel may show more of it
    judged = {verdict.case_id: verdict.case_hash for verdict in latest_verdicts(verdicts)[0]}
    for case in cases:
        known = judged.get(case.id)
        is_another = known and known != case_hash(case, rubric.inputs)
        remedy = "give the file that was judged, read in the same way (--fields, --format)"
        refuse((is_another, f"the case {case.id!r} is not what was judged under this id: {remedy}"))
