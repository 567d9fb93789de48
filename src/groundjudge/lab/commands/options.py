"""The options shared by the lab commands and the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import typer

from groundjudge.cli.options import UTF_8, KeepWords, complete_judge
from groundjudge.runs.rows import CaseFile, FileRow

LABELS_HELP = "A file with an id and a label in every row; it can be the file of cases."

LabelsFile = Annotated[str, typer.Option("--labels", metavar="FILE", help=LABELS_HELP)]
OptionalLabelsFile = Annotated[str | None, typer.Option("--labels", metavar="FILE", help=LABELS_HELP)]
LABEL = "label"
"""The usual key of a label."""

Group = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="KEY",
        help="The key shared by rows that belong together, such as those of one conversation.",
    ),
]
JudgeFile = Annotated[
    str | None,
    typer.Option(
        "--judge-file",
        metavar="FILE",
        help="For your own judge: its prompt file, which says what labels in words mean.",
    ),
]
OneJudge = Annotated[
    str | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        autocompletion=complete_judge,
        help="The judge. Default: the only one with verdicts.",
    ),
]


@dataclass(frozen=True)
class LabelOptions:
    """How people's labels are read, and what they mean."""

    label: Annotated[
        str,
        typer.Option(
            "--label",
            metavar="KEY",
            help="The key of the label in each row: 1 or true, 0 or false, a grade, or one value per judge.",
        ),
    ] = LABEL
    group: Group = None
    label_threshold: Annotated[
        float | None,
        typer.Option("--label-threshold", metavar="GRADE", help="The lowest grade that means grounded."),
    ] = None
    judge_file: JudgeFile = None
    sample: Annotated[
        str | None,
        typer.Option(
            "--sample",
            metavar="FILE",
            help="The sample from `groundjudge label`: each label then counts for all rows it represents.",
        ),
    ] = None


@dataclass(frozen=True)
class LabelsFileOptions:
    """How a file of labels is read."""

    encoding: Annotated[
        str,
        typer.Option("--encoding", metavar="NAME", help="The encoding of the labels, such as cp1252."),
    ] = UTF_8
    keep_words: KeepWords = False

    def read(self, path: str) -> Iterator[FileRow]:
        """Read the rows of a file as the options say."""
        return CaseFile(path, encoding=self.encoding, keep_words=self.keep_words).rows()


OnlyJudges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        autocompletion=complete_judge,
        help="Only this judge; repeatable. Default: all.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class LabelledInput:
    """People's labels, and the judges to compare with them."""

    labels: LabelsFile
    file_options: LabelsFileOptions
    judge: OnlyJudges = None
    label_options: LabelOptions


Threshold = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        metavar="SCORE|FILE",
        help="The lowest score that passes, or a file written by `calibrate`. Default: as in the run.",
    ),
]
