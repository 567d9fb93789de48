"""The request about a case, for chains that call the model themselves."""

from __future__ import annotations

from groundjudge.case.case import Case
from groundjudge.errors import CaseError
from groundjudge.judging.judge import CaseSource, with_error
from groundjudge.rubric.blank_response import blank_response_verdict
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.verdict import Verdict


def request_for(rubric: Rubric, source: CaseSource) -> Request:
    """Return what a model is asked about a case.

    Args:
        rubric: how it is asked about.
        source: the case, a mapping with its fields, or a function without arguments to either.

    Raises:
        CaseError: the case cannot be asked about; the verdict is in its attribute `verdict`. Also on a blank
            response that `empty_response` makes "not_applicable" or "worst": a chain cannot skip its model.
    """
    verdict = Verdict(judge=rubric.name, status="error", prompt=rubric.prompt.id)
    verdict_on_blank: Verdict | None = None
    try:
        case = Case.of(source() if callable(source) else source)
        verdict = verdict.model_copy(update={"case_id": case.id})
        verdict_on_blank = blank_response_verdict(rubric, case)
        if verdict_on_blank is not None:
            # The rubric leaves a blank response out, or scores it 0: here it is an error.
            blank_response_verdict(rubric.with_options(empty_response="error"), case)
        return rubric.ask(case)
    except CaseError as error:
        error.verdict = verdict_on_blank or with_error(verdict, error)
        raise
