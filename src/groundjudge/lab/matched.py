"""Two judges' verdicts on the same cases, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from groundjudge.lab.brief import BriefVerdict, brief_verdict
from groundjudge.lab.labels import LabelError
from groundjudge.runs.latest_verdicts import LatestVerdicts, latest_verdicts
from groundjudge.verdict import Verdict


@dataclass(frozen=True)
class MatchedCases:
    """The verdicts of two judges, matched by the ids of their cases.

    Attributes:
        judges: the name of each.
        sides: the verdicts of each on the cases that both judged, in the same order.
        n_changed: how many cases have other content for the second; they are left out and not counted below.
        n_first_only: how many cases only the first scored.
        n_second_only: how many cases only the second scored.
        n_neither: how many cases neither scored.
    """

    judges: tuple[str, str]
    sides: tuple[Sequence[BriefVerdict], Sequence[BriefVerdict]]
    n_changed: int
    n_first_only: int
    n_second_only: int
    n_neither: int


def single_judge(verdicts: Iterable[Verdict], who: str) -> LatestVerdicts:
    """Return the verdicts of a single judge that count; rows without a judge could not be read.

    Args:
        verdicts: the verdicts.
        who: whose they are, for the error.

    Raises:
        LabelError: `bad_option`: there is no judge, or there are several.
    """
    latest = latest_verdicts(verdicts)
    if len(latest.judges) != 1:
        names = ", ".join(latest.judges) or "no judge"
        message = f"{who}: these are verdicts of {names}: pass those of one judge (--judge)"
        raise LabelError("bad_option", message, who)
    return latest.select(latest.judges)


def match_cases(first: Iterable[Verdict], second: Iterable[Verdict]) -> MatchedCases:
    """Match the verdicts of two judges.

    Raises:
        LabelError: `bad_option`: either side does not come from exactly one judge.
    """
    first_verdicts = single_judge(first, "the first judge")
    second_verdicts = single_judge(second, "the second judge")
    first_by_case = by_case(first_verdicts)
    second_by_case = by_case(second_verdicts)
    first_side: list[BriefVerdict] = []
    second_side: list[BriefVerdict] = []
    n_changed = 0
    scored_by: Counter[tuple[bool, bool]] = Counter()
    for case_id in sorted(first_by_case.keys() | second_by_case.keys()):
        first_verdict = first_by_case.get(case_id)
        second_verdict = second_by_case.get(case_id)
        if first_verdict and second_verdict:
            if is_changed(first_verdict, second_verdict):
                n_changed += 1
                continue
            first_side.append(first_verdict)
            second_side.append(second_verdict)
        scored_by[_has_score(first_verdict), _has_score(second_verdict)] += 1
    return MatchedCases(
        judges=(first_verdicts.judges[0], second_verdicts.judges[0]),
        sides=(first_side, second_side),
        n_changed=n_changed,
        n_first_only=scored_by[True, False],
        n_second_only=scored_by[False, True],
        n_neither=scored_by[False, False],
    )


def is_changed(first: BriefVerdict, second: BriefVerdict | Verdict) -> bool:
    """Whether two verdicts on a case are on different contents."""
    hashes = {first.case_hash, second.case_hash}
    # A verdict without a key, such as one on an unreadable row, does not know its case's content.
    return len(hashes) > 1 and "" not in hashes


def by_case(verdicts: Iterable[Verdict]) -> dict[str, BriefVerdict]:
    """Return the verdicts on cases with an id, by that id."""
    verdict_by_case: dict[str, BriefVerdict] = {}
    for verdict in verdicts:
        if verdict.case_id:
            verdict_by_case[verdict.case_id] = brief_verdict(verdict, with_explanation=False)
    return verdict_by_case


def _has_score(verdict: BriefVerdict | None) -> bool:
    return verdict is not None and verdict.score is not None
