"""Two judges' verdicts on the same cases, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from groundjudge.lab.brief import BriefVerdict, brief_verdict
from groundjudge.lab.labels import LabelError
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.verdict import Verdict


@dataclass(frozen=True)
class Side:
    """The verdicts of one of the compared judges.

    Attributes:
        judge: the judge's name.
        verdict_by_case: the verdicts on cases with an id, by that id.
    """

    judge: str
    verdict_by_case: Mapping[str, BriefVerdict]

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> Side:
        """Read the verdicts of exactly one judge.

        Raises:
            LabelError: `bad_option`: the verdicts do not come from exactly one judge.
        """
        latest = latest_verdicts(verdicts)
        judges = sorted({origin.judge for origin in latest.origins})
        if latest.selected_judges is not None:
            judges = list(latest.judges)
        if len(judges) != 1:
            names = ", ".join(judges) or "none"
            message = f"compare takes the verdicts of one judge on each side, not of {names}: choose one"
            raise LabelError("bad_option", message)
        verdict_by_case: dict[str, BriefVerdict] = {}
        for verdict in latest:
            if verdict.case_id:
                verdict_by_case[verdict.case_id] = brief_verdict(verdict, with_explanation=False)
        return cls(judges[0], verdict_by_case)


@dataclass(frozen=True)
class MatchedCases:
    """The verdicts of two judges, matched by the ids of their cases.

    Attributes:
        judges: the name of each.
        sides: the verdicts of each on the cases that both judged, in the same order.
        changed_ids: the cases whose content differs between the two; they are not in `sides`.
        first_scored: the cases that the first scored, without the changed ones.
        second_scored: the cases that the second scored, without the changed ones.
        n_neither_scored: how many cases neither scored.
    """

    judges: tuple[str, str]
    sides: tuple[Sequence[BriefVerdict], Sequence[BriefVerdict]]
    changed_ids: frozenset[str]
    first_scored: frozenset[str]
    second_scored: frozenset[str]
    n_neither_scored: int

    @classmethod
    def of(cls, first_judge: Side, second_judge: Side) -> MatchedCases:
        """Match the verdicts of two judges."""
        first_by_case = first_judge.verdict_by_case
        second_by_case = second_judge.verdict_by_case
        first_side: list[BriefVerdict] = []
        second_side: list[BriefVerdict] = []
        changed_ids: set[str] = set()
        for case_id in sorted(first_by_case.keys() & second_by_case.keys()):
            first, second = first_by_case[case_id], second_by_case[case_id]
            # A verdict without a key, such as one on an unreadable row, does not know its case's content.
            if first.case_hash and second.case_hash and first.case_hash != second.case_hash:
                changed_ids.add(case_id)
            else:
                first_side.append(first)
                second_side.append(second)
        first_scored = {case_id for case_id, verdict in first_by_case.items() if verdict.score is not None}
        second_scored = {case_id for case_id, verdict in second_by_case.items() if verdict.score is not None}
        all_ids = first_by_case.keys() | second_by_case.keys()
        return cls(
            judges=(first_judge.judge, second_judge.judge),
            sides=(first_side, second_side),
            changed_ids=frozenset(changed_ids),
            first_scored=frozenset(first_scored - changed_ids),
            second_scored=frozenset(second_scored - changed_ids),
            n_neither_scored=len(all_ids - changed_ids - first_scored - second_scored),
        )
