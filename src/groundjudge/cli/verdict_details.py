"""A case's verdicts in full: every part, every quote, and the source's own text beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from groundjudge.case.case import Document
from groundjudge.cli.run_summary import ROW_PARAMETER
from groundjudge.cli.screen import in_options, print_text
from groundjudge.verdict import Evidence, Part, Verdict, Vote

if TYPE_CHECKING:  # `--help` does not wait for rich
    from rich.console import Console


def show_case(
    console: Console, case_id: str, verdicts: Sequence[Verdict], sources: Sequence[Document]
) -> None:
    """Print a case's verdicts in full, by judge."""
    if not verdicts:
        print_text(console, f"\nno verdict is on a case with the id {case_id!r}")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.judge):
        print_text(console, f"\n{case_id}, {verdict.judge or 'no judge'}", style="bold")
        for name, value in _fields(verdict):
            print_text(console, f"{name}: {value}", margin=2)
        for part in verdict.parts:
            _show_part(console, part, sources)


def _fields(verdict: Verdict) -> Iterator[tuple[str, object]]:
    """What is known of the verdict as a whole."""
    yield "status", verdict.status.replace("_", " ")
    if verdict.error:
        yield "error", f"{verdict.error.code}: {in_options(verdict.error.message, ROW_PARAMETER)}"
    if verdict.score is not None:
        yield "score", f"{verdict.score:.4g}, {'passed' if verdict.passed else 'not passed'}"
    if verdict.value is not None:
        yield "value", f"{verdict.value:g}"
    if verdict.label:
        yield "label", verdict.label
    if verdict.expected is not None:
        yield "expected", f"{verdict.expected:.4g}"
    if verdict.distribution:
        yield "distribution", ", ".join(f"{name} {share:.3g}" for name, share in verdict.distribution.items())
    yield from _votes(verdict)
    if verdict.reason:
        yield "reason", verdict.reason
    if verdict.warnings:
        yield "warnings", ", ".join(verdict.warnings)


def _votes(verdict: Verdict) -> Iterator[tuple[str, object]]:
    """Each vote, and how far the votes agree; nothing for a single judge."""
    for number, vote in enumerate(verdict.votes, 1):
        yield f"vote {number}", f"{_voter(vote)}: {', '.join(_vote(vote))}"
    if verdict.spread is not None:
        yield "spread", f"{verdict.spread:.3f}"
    if verdict.agreement is not None:
        yield "agreement", f"{verdict.agreement:.3f}, after {verdict.decided_after} votes"


def _voter(vote: Vote) -> str:
    version = f"@{vote.prompt.version}" if vote.prompt else ""
    return f"{vote.judge}{version}, {vote.model or 'no model'}"


def _vote(vote: Vote) -> Iterator[str]:
    """What a vote says."""
    if vote.error:
        yield f"error {vote.error.code}: {in_options(vote.error.message, ROW_PARAMETER)}"
        return
    yield "not applicable" if vote.score is None else f"score {vote.score:.4g}"
    if vote.label:
        yield f"label {vote.label}"
    if vote.score is not None:
        yield "passed" if vote.passed else "not passed"


def _show_part(console: Console, part: Part, sources: Sequence[Document]) -> None:
    score = "not applicable" if part.score is None else f"score {part.score:.4g}"
    print_text(console, f"{part.name}: {score}, value {part.said}", margin=2)
    if part.reason:
        print_text(console, f"reason: {part.reason}", margin=4)
    for found in part.evidence:
        print_text(console, f"quote: {found.quote}", margin=4)
        print_text(console, _source_of(found, sources), margin=4)


def _source_of(found: Evidence, sources: Sequence[Document]) -> str:
    """Where a quote was found, and the source's own text there; no text if the source is not at hand."""
    place = f"context[{found.document}][{found.start}:{found.end}]"
    source = "".join(one.content for one in sources[found.document : found.document + 1])
    return f"{place}, {'exact' if found.exact else 'near'}: {source[found.start : found.end]}"
