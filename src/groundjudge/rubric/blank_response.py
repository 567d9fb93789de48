"""What happens to a case whose response is missing or blank: no model is asked about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from groundjudge.case.case import Case, Document
from groundjudge.case.shapes import is_blank
from groundjudge.errors import CaseError
from groundjudge.prompt.prompt import NAME_THE_PATH, Prompt
from groundjudge.replies.value import label_of
from groundjudge.rubric.rubric import Rubric
from groundjudge.verdict import Part, Verdict, passing_fields

FROM_THE_APPLICATION: Mapping[str, Any] = {"response": "-", "context": (Document(content="-"),)}
"""The fields that the application provides, and a crashed one does not, each with a stand-in."""


def blank_response_verdict(rubric: Rubric, case: Case) -> Verdict | None:
    """Return the verdict on a response that is missing or blank; None if there is something to judge.

    Raises:
        CaseError: `no_response` or `empty_response`, unless `empty_response` says otherwise;
            `missing_field` if the case also lacks an input that the application does not provide
            (anything but the context): then it is not meant for this judge.
    """
    code = _response_fault(rubric, case)
    if code is None:
        return None
    # A row that lacks more than the application provides was not meant for this judge: that is an error,
    # regardless of `empty_response`. So is a field that cannot be read: it gets no stand-in.
    stand_ins = dict(FROM_THE_APPLICATION)
    for name in case.unreadable:
        stand_ins.pop(name, None)
    try:
        rubric.prompt.check(case.model_copy(update=stand_ins))
    except CaseError:
        rubric.prompt.check(case)  # names all missing fields, including the response
        raise
    if rubric.empty_response == "error":
        raise CaseError(code, _response_message(rubric.prompt, code, case), "response")
    verdict = Verdict(
        judge=rubric.name, status="not_applicable", label=code, prompt=rubric.prompt.id, case_id=case.id
    )
    if rubric.empty_response == "not_applicable":
        return verdict
    return _worst_verdict(rubric, verdict, code)


def _response_fault(rubric: Rubric, case: Case) -> str | None:
    """Return the code of what is wrong with the response, if the prompt needs one."""
    response_inputs = [prompt_input for prompt_input in rubric.inputs if prompt_input.field == "response"]
    # A prompt may show the response twice, under two names: then the first decides.
    if not response_inputs or not response_inputs[0].required:
        return None
    if response_inputs[0].value(case) is None:
        return "no_response"
    if is_blank(case.response_text) and not response_inputs[0].may_be_empty:
        return "empty_response"
    return None


def _worst_verdict(rubric: Rubric, verdict: Verdict, code: str) -> Verdict:
    """Give a verdict, and each named part, the worst value of the scale."""
    worst = rubric.scale.worst
    choice: str | None = None
    if rubric.scale.choices:
        choice = rubric.scale.nearest(0.0)
        worst = rubric.scale.choices[choice] or 0.0
    score = rubric.scale.score(worst)
    parts: list[Part] = []
    for name in rubric.format.part_names:
        parts.append(Part(name=name, value=worst, score=score, label=choice))
    further_scores = dict.fromkeys(rubric.format.score_names, score)
    value = None if parts or further_scores else worst
    state = "missing" if code == "no_response" else "blank"
    changes: dict[str, Any] = {
        "status": "ok",
        "score": score,
        "scores": further_scores,
        "value": value,
        "label": choice or label_of(value, rubric.levels),
        "reason": f"The response is {state}.",
        "parts": tuple(parts),
        "warnings": (code,),
    }
    changes.update(passing_fields(score, parts, rubric.passes, rubric.threshold))
    return verdict.model_copy(update=changes)


def _response_message(prompt: Prompt, code: str, case: Case) -> str:
    """Say that there is no response, what else is missing, and what the user can do."""
    fault = "no response was given" if code == "no_response" else "the response is blank"
    fault += case.hint("response")
    missing_fields = [prompt_input.field for prompt_input in prompt.missing(case)]
    missing_fields = [field for field in missing_fields if field != "response"]
    if missing_fields:
        fault += f", and no {' and no '.join(missing_fields)} either"
    # Otherwise, leaving such rows out would seem to be the remedy for an answer with another name.
    if code == "no_response" and case.has_other_keys() and not case.hint("response"):
        fault += f". If it has another name, rename it to response, {NAME_THE_PATH}"
    return (
        f"{prompt.name}: {fault}. "
        "A crashed application must not look like a good one: set "
        '`empty_response` to "not_applicable" to leave such rows out, or to "worst" to score them 0. '
        f"The case has: {', '.join(case.field_names()) or 'nothing'}"
    )
