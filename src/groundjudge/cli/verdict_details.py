"""A case's verdicts in full: every part, every quote, and the source's own text beside it."""

from __future__ import annotations

from collections.abc import Sequence

from groundjudge.case.case import Document
from groundjudge.cli.screen import Console, in_options, print_text
from groundjudge.verdict import Evidence, Failure, Part, Verdict, Vote


def show_case(
    console: Console, case_id: str, verdicts: Sequence[Verdict], sources: Sequence[Document]
) -> None:
    """Print a case's verdicts in full, by judge."""
    if not verdicts:
        print_text(console, f"\nno verdict is on a case with the id {case_id!r}")
    for verdict in sorted(verdicts, key=lambda verdict: verdict.judge):
        print_text(console, f"\n{case_id}, {verdict.judge or 'no judge'}", style="bold")
        for name, value in _fields(verdict).items():
            if value:
                print_text(console, f"{name}: {value}", margin=2)
        for part in verdict.parts:
            _show_part(console, part, sources)


def _fields(verdict: Verdict) -> dict[str, str]:
    """What is known of the verdict as a whole; "" is not shown."""
    passed = "passed" if verdict.passed else "not passed"
    shares = (verdict.distribution or {}).items()
    after = f"after {verdict.decided_after} votes"
    return {
        "status": verdict.status.replace("_", " "),
        "error": _error(verdict.error),
        "score": "" if verdict.score is None else f"{verdict.score:.4g}, {passed}",
        "value": "" if verdict.value is None else f"{verdict.value:g}",
        "label": verdict.label or "",
        "expected": "" if verdict.expected is None else f"{verdict.expected:.4g}",
        "distribution": ", ".join(f"{name} {share:.3g}" for name, share in shares),
        **{f"vote {number}": _vote(vote) for number, vote in enumerate(verdict.votes, 1)},
        "spread": "" if verdict.spread is None else f"{verdict.spread:.3f}",
        "agreement": "" if verdict.agreement is None else f"{verdict.agreement:.3f}, {after}",
        "reason": verdict.reason or "",
        "warnings": ", ".join(verdict.warnings),
    }


def _vote(vote: Vote) -> str:
    """Who voted, and what the vote says."""
    version = f"@{vote.prompt.version}" if vote.prompt else ""
    voter = f"{vote.judge}{version}, {vote.model or 'no model'}"
    if vote.error:
        return f"{voter}: error {_error(vote.error)}"
    label = f", label {vote.label}" if vote.label else ""
    if vote.score is None:
        return f"{voter}: not applicable{label}"
    return f"{voter}: score {vote.score:.4g}{label}, {'passed' if vote.passed else 'not passed'}"


def _error(error: Failure | None) -> str:
    return "" if error is None else f"{error.code}: {in_options(error.message)}"


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
