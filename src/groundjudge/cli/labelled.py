"""Verdicts joined with people's labels, for the judges that a command is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, TypeAlias

import typer

from groundjudge.analysis.joined import Joined, join
from groundjudge.analysis.labels import Labels
from groundjudge.analysis.words import words_in
from groundjudge.cli.screen import fail
from groundjudge.cli.verdicts import VerdictFile
from groundjudge.rubric.rubric import load_rubric

JudgeFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--judge-file",
        metavar="FILE",
        help="The judge's prompt file, where people use labels that no verdict has.",
    ),
]


def in_words_of(labels: Labels, judge_file: str | None) -> Labels:
    """People's labels in the words of a prompt file, if there is one. A file without labels is an error."""
    if judge_file is None:
        return labels
    rubric = load_rubric(judge_file)
    if not rubric.scale.choices:
        fail(f"--judge-file {judge_file}: its judge answers with numbers on {rubric.scale}, not with labels")
    return replace(labels, words=words_in(rubric))


def join_labels(
    file: VerdictFile, labels: Labels, labels_path: str, judges: Sequence[str] | None
) -> list[Joined]:
    """Join verdicts and labels, judge by judge. No case with both is an error, and so is an unknown judge."""
    joined = join(file.verdicts, labels)
    if not any(one.labelled or one.paired for one in joined):
        fail(_nothing_in_common(file, labels, labels_path))
    for name in judges or ():
        file.require_judge(name)
    return [one for one in joined if not judges or one.judge in judges]


def _nothing_in_common(file: VerdictFile, labels: Labels, labels_path: str) -> str:
    judged = next((verdict.case_id for verdict in file.verdicts if verdict.case_id), None)
    labelled = next(iter(labels.by_case), None)
    return (
        f"no case has both a score in {file.path} and a label in {labels_path}: cases are matched by id, "
        f"and the first ids are {judged!r} and {labelled!r}"
    )
