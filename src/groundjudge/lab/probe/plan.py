"""What a probe judges: each case twice unchanged, and once for each edit that applies to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from groundjudge.case.case import Case
from groundjudge.judging.panel import AnyJudge, with_models
from groundjudge.lab.probe import attacks, faults, neutral_edits
from groundjudge.lab.probe.cases import ProbeCase, ProbeError, cases_for
from groundjudge.lab.probe.edit import Edit, suitable_edits
from groundjudge.replies.reply import Reply
from groundjudge.rubric.model import Model, identity_of
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.runs.run import Row

Family: TypeAlias = Literal["faults", "neutral_edits", "attacks"]
FAMILIES: tuple[Family, ...] = ("faults", "neutral_edits", "attacks")

FIRST, SECOND = "unchanged", "unchanged again"

# Added to the repeat index of the second unchanged judging, so that no cache answers with the first reply.
SECOND_REPEAT = 1000


@dataclass(frozen=True)
class Trial:
    """A case to judge.

    Attributes:
        case: the case, edited or unchanged; its id names the original and the edit.
        original: the labelled case that it was made from.
        edit: the edit's name; `FIRST` or `SECOND` for an unchanged case.
        family: the edit's family; None for an unchanged case.
    """

    case: Case
    original: ProbeCase
    edit: str
    family: Family | None = None


@dataclass(frozen=True)
class Plan:
    """Everything that a probe judges.

    Attributes:
        cases: the labelled cases.
        trials: the cases to judge, the unchanged ones first.
        skipped: for each edit that suits the judge, with its family, how many cases it does not apply to.
    """

    cases: Sequence[ProbeCase]
    trials: Sequence[Trial]
    skipped: Mapping[tuple[Family, str], int]


def plan_of(rubric: Rubric, cases: Iterable[Row] | None = None, without: Collection[str] = ()) -> Plan:
    """Plan the probe of a judge.

    Args:
        rubric: the judge's rubric; no request is sent.
        cases: rows with a label; right responses are edited by `faults` and `neutral_edits`, wrong ones by
            `attacks`. By default, the library's own.
        without: names of edits to leave out, because the judge's prompt rates them differently.

    Raises:
        ProbeError: the judge cannot be probed with these cases; `no_edit`: `without` names an unknown
            edit.
    """
    labelled_cases = cases_for(rubric, cases)
    tables: Mapping[Family, Mapping[str, Edit]] = {
        "faults": faults.EDITS,
        "neutral_edits": neutral_edits.EDITS,
        "attacks": attacks.edits(rubric),
    }
    _check_names(without, tables)
    trials: list[Trial] = []
    for judging in (FIRST, SECOND):
        for original in labelled_cases:
            trials.append(_trial(original, original.case, judging))
    skipped: dict[tuple[Family, str], int] = {}
    for family, table in tables.items():
        # Faults and neutral edits start from a right response, attacks from a wrong one.
        originals = [original for original in labelled_cases if original.is_right is (family != "attacks")]
        for name, edit in suitable_edits(table, rubric).items():
            if name in without:
                continue
            skipped[family, name] = 0
            for original in originals:
                edited = edit(original.case)
                # An edit that changes nothing would count as a missed fault.
                if edited and edited != original.case:
                    trials.append(_trial(original, edited, name, family))
                else:
                    skipped[family, name] += 1
    return Plan(labelled_cases, trials, skipped)


def _check_names(names: Collection[str], tables: Mapping[Family, Mapping[str, Edit]]) -> None:
    edit_names = set[str]().union(*tables.values())
    unknown = sorted(set(names) - edit_names)
    if unknown:
        message = f"there is no edit {unknown[0]!r}: choose from {', '.join(sorted(edit_names))}"
        raise ProbeError("no_edit", message, unknown[0])


def id_of(original: ProbeCase, edit: str, family: Family | None = None) -> str:
    """Make the id of a case to judge, from the labelled case and the edit."""
    if family is None:
        return f"{original.name}: {edit}"
    return f"{original.name}: {family}, {edit}"


def _trial(original: ProbeCase, case: Case, edit: str, family: Family | None = None) -> Trial:
    case_with_id = case.replace(id=id_of(original, edit, family))
    return Trial(case_with_id, original, edit, family)


def ask_twice(judge: AnyJudge) -> AnyJudge:
    """Return the judge, with a separate call for the second judging of each unchanged case."""
    (changed,) = with_models([judge], lambda model: TwiceAskedModel(model, model.name, identity_of(model)))
    return changed


@dataclass(frozen=True)
class TwiceAskedModel:
    """A model that distinguishes the second request about an unchanged case from the first one.

    Attributes:
        model: the underlying model.
        name: its name.
        identity: its identity, so that a cache recognises its replies.
    """

    model: Model
    name: str
    identity: str

    async def acomplete(self, request: Request) -> Reply:
        """Ask the model.

        Raises:
            ModelError: as for the underlying model.
        """
        if str(request.case.id).endswith(f": {SECOND}"):
            request = replace(request, repeat=request.repeat + SECOND_REPEAT)
        return await self.model.acomplete(request)
