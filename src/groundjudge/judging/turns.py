"""A verdict on a conversation: each of its turns is judged, and the lowest one decides."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.judging.panel import AnyJudge
from groundjudge.verdict import Failure, Part, Verdict, deciding_score, sum_costs


async def judge_turns(
    judge: AnyJudge,
    turns: Mapping[str, Mapping[str, Any] | str],
    judge_case: Callable[[Mapping[str, Any]], Awaitable[Verdict]],
) -> Verdict:
    """Judge the turns of a conversation, one call for each, and give the verdict on the whole.

    Args:
        judge: the judge of each turn.
        turns: by its name each turn's case, or the field whose absence keeps it from being judged.
        judge_case: gives the judge's verdict on one case, or raises as `Judge.ajudge` does.

    Returns:
        The verdict of the turn that decides, with all turns as its parts, and what they took together. A turn
        that lacks a field, also one that only the judge misses, is a part without a score.

    Raises:
        GroundjudgeError: as for `Judge.ajudge`, with the turn's name; CaseError `missing_field` if no turn
            can be judged.
    """
    verdicts: dict[str, Verdict] = {}
    missing_fields: dict[str, str] = {}
    first_error: CaseError | None = None
    for name, case in turns.items():
        if isinstance(case, str):
            missing_fields[name] = case
            continue
        try:
            verdicts[name] = await judge_case(case)
        except GroundjudgeError as error:
            error.message = f"{name}: {error.message}"  # its class and code stay, for callers to recognise it
            failure = Failure(code=error.code, message=error.message)
            error.verdict = judge.error_verdict(error).model_copy(update={"error": failure})
            # A response that cannot be judged is not a gap in the data.
            if not isinstance(error, CaseError) or error.code != "missing_field":
                raise
            missing_fields[name] = error.subject
            first_error = first_error or error
    if not verdicts:
        lacks = ", ".join(f"{name} has no {field}" for name, field in missing_fields.items())
        message = f"no turn can be judged: {lacks or 'the assistant has none'}"
        raise first_error or CaseError("missing_field", message, "context")
    return _verdict_on_conversation(verdicts, missing_fields)


def _verdict_on_conversation(verdicts: Mapping[str, Verdict], missing_fields: Mapping[str, str]) -> Verdict:
    """Join the verdicts of the turns, by their names, and what each other turn lacks."""
    parts: list[Part] = []
    warnings: list[str] = []
    failed_turns: list[str] = []
    for name, verdict in verdicts.items():
        part = Part(
            name=name,
            value=verdict.value,
            score=deciding_score(verdict),
            label=verdict.label,
            reason=verdict.explanation,
        )
        parts.append(part)
        warnings.extend(verdict.warnings)
        if verdict.passed is False:
            failed_turns.append(name)
    names_by_field: dict[str, list[str]] = {}
    for name, field in missing_fields.items():
        parts.append(Part(name=f"{name} (not judged)", value=None, score=None, label=f"no {field}"))
        names_by_field.setdefault(field, []).append(name)

    if failed_turns:
        sentences = [f"Not passed: {', '.join(failed_turns)}."]
    elif len(verdicts) == 1:
        sentences = ["The one judged turn passed."]
    else:
        sentences = [f"All {len(verdicts)} judged turns passed."]
    for field, names in names_by_field.items():
        turns_were = "turn without a {} was" if len(names) == 1 else "turns without a {} were"
        sentences.append(f"{len(names)} {turns_were.format(field)} not judged: {', '.join(names)}.")

    # Among those with a score a failed one decides, then the lowest.
    scored = [verdict for verdict in verdicts.values() if verdict.score is not None]
    candidates = scored or verdicts.values()
    lowest = min(
        candidates, key=lambda verdict: (verdict.passed is not False, deciding_score(verdict) or 0.0)
    )
    changes: dict[str, Any] = {
        "score": deciding_score(lowest),
        "scores": {},
        "weakest": None,  # the lowest turn's is in the score already
        "reason": " ".join(sentences),
        "parts": tuple(parts),
        "citations": (),  # their places are those of one turn
        "warnings": tuple(dict.fromkeys(warnings)),
        **sum_costs(list(verdicts.values())),
    }
    return lowest.model_copy(update=changes)
