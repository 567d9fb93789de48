"""Files of verdicts that commands read: what they hold, and which lines could not be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import typer

from groundjudge.cli.screen import INCOMPLETE, fail, print_text
from groundjudge.errors import CaseError
from groundjudge.runs.verdict_file import last_of_each, read_verdicts
from groundjudge.verdict import Verdict

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console


@dataclass(frozen=True)
class VerdictFile:
    """What a file of verdicts holds.

    Attributes:
        unreadable: a message for each line that could not be read.
    """

    path: str
    verdicts: tuple[Verdict, ...]
    unreadable: tuple[str, ...]

    @property
    def judges(self) -> frozenset[str]:
        """The names of the judges."""
        return frozenset(verdict.judge for verdict in self.verdicts if verdict.judge)

    def by_judge(self, name: str) -> Sequence[Verdict]:
        """The verdicts of one judge."""
        return [verdict for verdict in self.verdicts if verdict.judge == name]

    def require_judge(self, name: str) -> None:
        """Exit if no verdict is by that judge."""
        if name not in self.judges:
            known = ", ".join(sorted(self.judges))
            fail(f"{self.path} has no verdict by the judge {name!r}: --judge can be {known}")


def load_verdicts(path: str) -> VerdictFile:
    """Read a file of verdicts; a file without any is an error."""
    rows = list(read_verdicts(path))
    verdicts = tuple(row for row in rows if isinstance(row, Verdict))
    unreadable = tuple(row.message for row in rows if isinstance(row, CaseError))
    if not verdicts:
        first = f"; the first line: {unreadable[0]}" if unreadable else ""
        fail(f"{path} holds no verdicts: expected a file written by `groundjudge run`{first}")
    return VerdictFile(path, verdicts, unreadable)


def mixed_signatures(verdicts: Sequence[Verdict]) -> list[str]:
    """A note for each judge whose verdicts come from several prompts, models or versions."""
    by_judge: dict[str, list[Verdict]] = {}
    for verdict in last_of_each(verdicts)[0]:
        by_judge.setdefault(verdict.judge, []).append(verdict)
    signatures = {judge: signatures_of(own) for judge, own in by_judge.items()}
    return [
        f"{judge}: these figures mix verdicts with {len(found)} signatures: {', '.join(found)}"
        for judge, found in signatures.items()
        if len(found) > 1
    ]


def signatures_of(verdicts: Sequence[Verdict]) -> list[str]:
    """The signatures of one judge's scores, sorted; of a panel, those of the verdicts with the most votes."""
    scored = [verdict for verdict in verdicts if verdict.score is not None]
    most = max((len(verdict.votes) for verdict in scored), default=0)
    return sorted({verdict.signature for verdict in scored if len(verdict.votes) == most})


def exit_after(console: Console, *files: VerdictFile) -> NoReturn:
    """Report the lines that could not be read, and exit with the status that says whether there are any."""
    incomplete = [file for file in files if file.unreadable]
    for file in incomplete:
        print_text(
            console,
            f"{file.path}: {len(file.unreadable)} unreadable lines, the first is {file.unreadable[0]}",
        )
    raise typer.Exit(INCOMPLETE if incomplete else 0)
