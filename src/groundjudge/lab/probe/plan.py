"""What a probe asks for: each case twice unchanged, and once for each edit that applies to it."""

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

# Added to the repeat index of the second unchanged judging: no cache may answer it with the first reply.
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
    """All that a probe judges.

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
        rubric: the judge's rubric; nothing is asked.
        cases: rows with a label; right responses are edited by `faults` and `neutral_edits`, wrong ones by
            `attacks`. By default those that come with the library.
        without: names of edits to leave out, because the judge's prompt rates them differently.

    Raises:
        ProbeError: the judge cannot be probed with these cases; `no_edit`: there is no edit of a name in
            `without`.
    """
    listed = cases_for(rubric, cases)
    tables: Mapping[Family, Mapping[str, Edit]] = {
        "faults": faults.EDITS,
        "neutral_edits": neutral_edits.EDITS,
        "attacks": attacks.edits(rubric),
    }
    known = sorted({name for table in tables.values() for name in table})
    unknown = sorted({*without}.difference(known))
    if unknown:
        message = f"there is no edit {unknown[0]!r}; the edits are: {', '.join(known)}"
        raise ProbeError("no_edit", message, unknown[0])
    trials = [_trial(each, each.case, name) for name in (FIRST, SECOND) for each in listed]
    skipped = dict[tuple[Family, str], int]()
    for family, table in tables.items():
        fitting = [each for each in listed if each.is_right is (family != "attacks")]
        chosen = ((name, edit) for name, edit in suitable_edits(table, rubric).items() if name not in without)
        for name, edit in chosen:
            edited = [(each, edit(each.case)) for each in fitting]
            applied = [
                _trial(each, case, name, family) for each, case in edited if case and case != each.case
            ]
            skipped[family, name] = len(fitting) - len(applied)
            trials += applied
    return Plan(listed, trials, skipped)


def id_of(original: ProbeCase, edit: str, family: Family | None = None) -> str:
    """The id of a case to judge: it names the labelled case and the edit."""
    return f"{original.name}: {f'{family}, ' if family else ''}{edit}"


def _trial(original: ProbeCase, case: Case, edit: str, family: Family | None = None) -> Trial:
    named = case.replace(id=id_of(original, edit, family))
    return Trial(named, original, edit, family)


def ask_twice(judge: AnyJudge) -> AnyJudge:
    """The judge, with a call of its own for the second judging of each unchanged case."""
    (changed,) = with_models([judge], lambda model: AskedTwice(model, model.name, identity_of(model)))
    return changed


@dataclass(frozen=True)
class AskedTwice:
    """A model that tells the second request about an unchanged case from the first one.

    Attributes:
        model: the underlying model.
        name: its name.
        identity: its identity, so that a cache knows its replies.
    """

    model: Model
    name: str
    identity: str

    async def acomplete(self, request: Request) -> Reply:
        """Ask the model.

        Raises:
            ModelError: as for the underlying model.
        """
        is_second = str(request.case.id).endswith(f": {SECOND}")
        again = replace(request, repeat=request.repeat + SECOND_REPEAT) if is_second else request
        return await self.model.acomplete(again)
