"""Verdicts in full, with their votes, parts and quotes: what --full prints."""

from __future__ import annotations

from collections.abc import Sequence

from groundjudge.case.case import Document
from groundjudge.cli.screen import Screen, in_options, outcome_text
from groundjudge.verdict import Evidence, Failure, Part, Verdict, Vote


def show_case(
    screen: Screen, case_id: str, verdicts: Sequence[Verdict], documents: Sequence[Document]
) -> None:
    """Print a case's verdicts in full, by judge."""
    if not verdicts:
        screen.text(f"\nthere is no verdict on a case with the id {case_id!r}")
    # Verdicts arrive as they are finished, in a different order each time.
    for verdict in sorted(verdicts, key=lambda verdict: verdict.judge):
        lines = [f"  {name}: {text}" for name, text in _verdict_fields(verdict).items()]
        for part in verdict.parts:
            lines += _part_lines(part, documents)
        screen.text(*lines, heading=f"\n{case_id}, {verdict.judge or 'no judge'}")


def _verdict_fields(verdict: Verdict) -> dict[str, str]:
    """Describe the verdict as a whole: the texts of its fields, in the order of the page."""
    fields = {"status": verdict.status.replace("_", " ")}
    if verdict.error is not None:
        fields["error"] = _failure_text(verdict.error)
    if verdict.score is not None:
        fields["score"] = f"{_scores_text(verdict)}, {outcome_text(verdict.passed)}"
    if verdict.value is not None:
        fields["value"] = f"{verdict.value:g}"
    if verdict.label:
        fields["label"] = verdict.label
    if verdict.expected is not None:
        fields["expected"] = f"{verdict.expected:.4g}"
    if verdict.distribution:
        shares = [f"{name} {share:.3g}" for name, share in verdict.distribution.items()]
        fields["distribution"] = ", ".join(shares)
    if verdict.confidence is not None:
        fields["confidence"] = f"{verdict.confidence:.3f}"
    for number, vote in enumerate(verdict.votes, 1):
        fields[f"vote {number}"] = _vote_text(vote)
    if verdict.spread is not None:
        fields["spread"] = f"{verdict.spread:.3f}"
    if verdict.agreement is not None:
        fields["agreement"] = f"{verdict.agreement:.3f}, after {verdict.decided_after} votes"
    if verdict.decided_by is not None:
        fields["decided by"] = verdict.decided_by
    if verdict.reason:
        fields["reason"] = verdict.reason
    if verdict.warnings:
        fields["warnings"] = ", ".join(verdict.warnings)
    return fields


def _scores_text(verdict: Verdict) -> str:
    """Write the score, the other scores of the reply by name, and that of the weakest part."""
    text = f"{verdict.score:.4g}"
    for name, score in verdict.scores.items():
        text += f", {name} {score:.4g}"
    if verdict.weakest is not None:
        text += f", weakest {verdict.weakest:.4g}"
    return text


def _vote_text(vote: Vote) -> str:
    """Write who voted, and what the vote says."""
    version = f"@{vote.prompt.version}" if vote.prompt else ""
    voter = f"{vote.judge}{version}, {vote.model or 'no model'}"
    if vote.error:
        return f"{voter}: error {_failure_text(vote.error)}"
    label = f", label {vote.label}" if vote.label else ""
    if vote.score is None:
        return f"{voter}: not applicable{label}"
    score = f"score {vote.score:.4g}"
    if vote.weakest is not None:
        score += f", weakest {vote.weakest:.4g}"
    return f"{voter}: {score}{label}, {outcome_text(vote.passed)}"


def _failure_text(failure: Failure) -> str:
    """Write an error with its code, naming options of the command line instead of Python's."""
    return f"{failure.code}: {in_options(failure.message)}"


def _part_lines(part: Part, documents: Sequence[Document]) -> list[str]:
    """Write a part: its score, its reason, and each quote above the place where it was found."""
    score = "not applicable" if part.score is None else f"score {part.score:.4g}"
    lines = [f"  {part.name}: {score}, value {part.value_text}"]
    if part.reason:
        lines.append(f"    reason: {part.reason}")
    for evidence in part.evidence:
        lines.append(f"    {_evidence_label(evidence, part)}: {evidence.quote}")
        lines.append(_source_line(evidence, documents))
    return lines


def _evidence_label(evidence: Evidence, part: Part) -> str:
    """Say what a piece of evidence is: a quote, or a source sentence, which may contradict the part."""
    if evidence.number is None:
        return "quote"
    label = f"source sentence {evidence.number}"
    if part.score is None or part.borne_out_by:
        return label
    return f"against it, {label}"


def _source_line(evidence: Evidence, documents: Sequence[Document]) -> str:
    """Write where a quote was found, and the source's text there; no text if the source is unavailable."""
    text = ""
    precision = "exact" if evidence.exact else "near"
    # A run that was stopped may not have reached the row of a verdict that it reuses.
    if 0 <= evidence.document < len(documents):
        content = documents[evidence.document].content
        text = content[evidence.start : evidence.end]
    line = f"    context[{evidence.document}][{evidence.start}:{evidence.end}], {precision}"
    # What is the same as the quote is printed once.
    if text in {"", evidence.quote}:
        return line
    return f"{line}: {text}"
