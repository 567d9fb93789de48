"""A probe from start to end: plan, judge, figures; and two cards compared, edit by edit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Unpack

from pydantic import ValidationError

from groundjudge.errors import first_fault
from groundjudge.judging.panel import AnyJudge
from groundjudge.lab.probe.cases import ProbeError
from groundjudge.lab.probe.plan import FAMILIES, FIRST, SECOND, Family, Plan, Trial, ask_twice, id_of, plan_of
from groundjudge.lab.proportions import Rate, many_to_one, mcnemar, rate_of, wilson
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.run import Row, RunOptions, run
from groundjudge.verdict import Finite, Frozen, PromptId, Score, Verdict, __version__, deciding_score

# How far the score must drop where one wrong fact among several need not fail a case.
LEAST_DROP = 0.05

SIGNIFICANT = 0.05


class EditFigures(Frozen):
    """What one edit, or all edits of a family (`edit` is ""), did to the verdicts.

    Attributes:
        family: the family of the edit.
        edit: its name; "" for the whole family.
        rate: the share of edited cases whose fault was caught (faults), whose verdict moved
            (neutral_edits), or that fooled the judge (attacks). The interval of a family takes the
            edits of one case as one observation.
        noise: the share for which the same can be said of the second judging of the unchanged case.
        p: of an exact test of `rate` against `noise`; None without observations. It compares all edits of a
            case with the second judging of that case; for a single edit it is McNemar's. See `many_to_one`.
        n_skipped: cases to which the edit does not apply.
        n_unfit: edited cases that are not counted, as the judge's verdict on the unchanged case is wrong or
            missing: what does not pass cannot fall, and what passes cannot rise.
        no_verdict: edited cases without a verdict, by the code of the error; they are not counted either.
        events: for each case that is counted, whether it was caught, moved or fooled; {} for a family.
    """

    family: Family
    edit: str = ""
    rate: Rate
    noise: Rate
    p: Score | None = None
    n_skipped: int = 0
    n_unfit: int = 0
    no_verdict: Mapping[str, int] = {}
    events: Mapping[str, bool] = {}

    @property
    def is_too_few(self) -> bool:
        """Whether a single edit has so few cases that `p` could not be below 0.05, whatever the judge did."""
        n_open = self.noise.n - round((self.noise.value or 0) * self.noise.n)
        return bool(self.edit) and (many_to_one([([True], False)] * n_open) or 1.0) >= SIGNIFICANT


class Unchanged(Frozen):
    """The verdicts on unchanged cases.

    Attributes:
        right_passed: of right responses, how many pass.
        wrong_failed: of wrong responses, how many fail.
        flips: of all cases with two verdicts, how many pass once and fail once: the judge's own noise.
        canaries_right: of the cases that nobody could fail, how many pass both times.
        canaries_wrong: of the cases that nobody could pass, how many fail both times.
        no_verdict: judgings without a verdict, by the code of the error.
    """

    right_passed: Rate
    wrong_failed: Rate
    flips: Rate
    canaries_right: Rate
    canaries_wrong: Rate
    no_verdict: Mapping[str, int] = {}


class Card(Frozen):
    """All figures of a probe, and what they are quoted with.

    Attributes:
        judge: the judge's name.
        signature: judge, prompt, model and library, as every verdict has it.
        model: the model's name.
        prompt: which prompt was used.
        library: the version of groundjudge.
        date: the day of the probe, as in 2030-01-31.
        threshold: on the score: a verdict passes if its deciding score reaches it.
        graded: whether a fault is caught if the score drops by `LEAST_DROP`; otherwise the case must no
            longer pass.
        cases: a hash of cases and labels.
        n_right: cases with a right response.
        n_wrong: cases with a wrong response.
        unchanged: the verdicts on unchanged cases.
        families: one for each family.
        edits: one for each edit.
    """

    judge: str
    signature: str
    model: str
    prompt: PromptId
    library: str = __version__
    date: str
    threshold: Finite
    graded: bool
    cases: str
    n_right: int
    n_wrong: int
    unchanged: Unchanged
    families: tuple[EditFigures, ...]
    edits: tuple[EditFigures, ...]

    def family(self, name: Family) -> EditFigures:
        """The figures of a family."""
        return self.by_edit()[name, ""]

    def by_edit(self) -> dict[tuple[Family, str], EditFigures]:
        """The figures of the families, each under "", and of the edits, by family and edit."""
        return {(each.family, each.edit): each for each in (*self.families, *self.edits)}


class Compared(Frozen):
    """One edit, or a family, in two probes.

    Attributes:
        first: its figures in the first probe.
        second: those in the second one.
        p: of the exact McNemar test over the cases that count in both; None for a family, and where the
            probes used different cases.
    """

    first: EditFigures
    second: EditFigures
    p: Score | None = None


@dataclass(frozen=True)
class Judged:
    """An edited case with its verdict.

    Attributes:
        trial: the edited case.
        verdict: the verdict on it.
        first: the first verdict on the unchanged case.
        is_fit: whether that one is right: only then can the edit do anything.
        event: whether the fault was caught, the verdict moved, or the judge was fooled.
        noise: the same of the second verdict on the unchanged case; None without one.
    """

    trial: Trial
    verdict: Verdict
    first: Verdict
    is_fit: bool
    event: bool
    noise: bool | None


@dataclass(frozen=True)
class Probe:
    """The result of a probe.

    Attributes:
        plan: what was judged.
        verdicts: one for each trial, in no order.
        card: the figures.
        judged: the edited cases, each with its verdict and with those on the unchanged case.
    """

    plan: Plan
    verdicts: Sequence[Verdict]
    card: Card
    judged: Sequence[Judged]

    def worst(self, n: int = 3) -> list[Judged]:
        """For each family the n largest failures, one for each case if there are as many."""
        failures = [
            each
            for each in sorted(self.judged, key=_badness)
            if each.is_fit
            and each.verdict.status != "error"
            and each.event is (each.trial.family != "faults")
        ]
        of_each_case = {(each.trial.family, each.trial.original.name): each for each in failures}
        falling = sorted(of_each_case.values(), key=_badness, reverse=True)
        return [
            each
            for family in FAMILIES
            for each in [failure for failure in falling if failure.trial.family == family][:n]
        ]


def probe(
    judge: AnyJudge,
    cases: Iterable[Row] | None = None,
    *,
    without: Collection[str] = (),
    **options: Unpack[RunOptions],
) -> Probe:
    """Probe a judge: which faults does it miss, what moves its verdicts, and what fools it?

    Each case is judged twice unchanged, and once for each edit that applies to it; see `plan_of`.

    Args:
        judge: a judge or a panel.
        cases: rows with the judge's inputs and `expect`, "pass" or "fail" (or `label`, 1 or 0); by default
            those that come with the library.
        without: names of edits to leave out.
        options: as for `run`, see `RunOptions`; the order makes no difference.

    Raises:
        ProbeError: the judge cannot be probed with these cases, or every call failed.
        ModelError: as for `run`: no further case can be judged.
    """
    planned = plan_of(judge.rubrics[0], cases, without)
    verdicts = list(run(ask_twice(judge), [trial.case for trial in planned.trials], **options))
    return result_of(planned, verdicts, judge)


def result_of(
    planned: Plan, verdicts: Sequence[Verdict], judge: AnyJudge, today: date | None = None
) -> Probe:
    """The result of a plan whose cases were judged.

    Raises:
        ProbeError: `no_verdict`: every judging was an error.
    """
    errors = [verdict.error for verdict in verdicts if verdict.error]
    if len(errors) == len(verdicts):
        first = f": {errors[0].code}: {errors[0].message}" if errors else ""
        message = (
            f"{judge.name}: none of {len(verdicts)} judgings gave a verdict: nothing can be measured{first}"
        )
        raise ProbeError("no_verdict", message, judge.name)
    graded = _is_graded(judge.rubrics[0])
    judged = _judged(planned, verdicts, graded=graded)
    some = next(verdict for verdict in verdicts if verdict.status != "error")
    n_right = sum(each.is_right for each in planned.cases)
    labelled = (f"{each.is_right} {each.case.model_dump_json()}\n" for each in planned.cases)
    card = Card(
        judge=judge.name,
        signature=some.signature,
        model=some.model or judge.model_name,
        prompt=judge.prompt_id,
        date=(today or datetime.now(UTC).date()).isoformat(),
        threshold=judge.threshold,
        graded=graded,
        cases=sha256("".join(labelled).encode()).hexdigest()[:12],
        n_right=n_right,
        n_wrong=len(planned.cases) - n_right,
        unchanged=_unchanged(planned, verdicts),
        families=tuple(_figures(planned, judged, family) for family in FAMILIES),
        edits=tuple(_figures(planned, judged, family, edit) for family, edit in planned.skipped),
    )
    return Probe(planned, verdicts, card, judged)


def read_card(path: str | Path) -> Card:
    """Read a card that `groundjudge probe --card` wrote.

    Raises:
        ProbeError: `bad_card`.
        OSError: the file cannot be read.
    """
    try:
        return Card.model_validate_json(Path(path).read_bytes())
    except ValidationError as error:
        message = f"{path} is not a card written by `groundjudge probe --card` ({first_fault(error)})"
        raise ProbeError("bad_card", message, str(path)) from error


def compare(first: Card, second: Card) -> list[Compared]:
    """Compare what two probes have in common: the families, then the edits.

    Raises:
        ProbeError: `other_judge`: the probes have no edit in common.
    """
    mine, theirs = first.by_edit(), second.by_edit()
    pairs = [(mine[name], theirs[name]) for name in mine if name in theirs]
    if not any(one.edit for one, _ in pairs):
        message = f"the probes of {first.judge} and {second.judge} have no edit in common"
        raise ProbeError("other_judge", message, second.judge)
    is_paired = first.cases == second.cases
    return [
        Compared(first=one, second=other, p=_p(one, other) if is_paired else None) for one, other in pairs
    ]


def _is_graded(rubric: Rubric) -> bool:
    """Whether one wrong fact need not fail a case: a judge of parts, or of a character's facts."""
    shown = {each.field for each in rubric.inputs}
    return bool(rubric.format.part_names) or rubric.format.parts_are_sentences or "profile" in shown


def _judged(plan: Plan, verdicts: Iterable[Verdict], *, graded: bool) -> list[Judged]:
    """The edited cases with their verdicts, and with those on the unchanged cases."""
    by_id = {verdict.case_id: verdict for verdict in verdicts}
    found = list[Judged]()
    for trial in (trial for trial in plan.trials if trial.family):
        first, again = (by_id.get(id_of(trial.original, which)) for which in (FIRST, SECOND))
        verdict = by_id.get(trial.case.id)
        if verdict and first:
            detected = partial(_detected, trial.family, first, graded=graded)
            is_fit = first.status != "error" and _has_passed(first) is trial.original.is_right
            noise = detected(again) if again and again.status != "error" else None
            found.append(Judged(trial, verdict, first, is_fit, detected(verdict), noise))
    return found


def _detected(family: Family | None, first: Verdict, verdict: Verdict, *, graded: bool) -> bool:
    """Whether a verdict differs from the first one as this family of edits is about."""
    if family == "neutral_edits":
        return (_has_passed(verdict), verdict.label) != (_has_passed(first), first.label)
    if family == "attacks":
        return _has_passed(verdict)
    score = deciding_score(verdict)
    drop = 0.0 if score is None else (deciding_score(first) or 0.0) - score
    # Where cases are rated by degrees, one fault among several statements need not fail a case.
    return drop >= LEAST_DROP if graded else drop > 0 and not _has_passed(verdict)


def _has_passed(verdict: Verdict) -> bool:
    """Whether a verdict passes with a score: what is not applicable does not."""
    return verdict.status == "ok" and bool(verdict.passed)


def _badness(each: Judged) -> float:
    """How far a verdict is from what it should be."""
    score, first = deciding_score(each.verdict) or 0.0, deciding_score(each.first) or 0.0
    return abs(score - first) if each.trial.family == "neutral_edits" else score


def _no_verdict(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Errors, counted by their code."""
    return dict(Counter(verdict.error.code for verdict in verdicts if verdict.error))


def _figures(plan: Plan, judged: Iterable[Judged], family: Family, edit: str = "") -> EditFigures:
    """The figures of an edit, or of its whole family."""
    mine = [each for each in judged if each.trial.family == family and edit in {"", each.trial.edit}]
    fit = [each for each in mine if each.is_fit]
    counted = [each for each in fit if each.verdict.status != "error"]
    by_case = defaultdict[str, list[Judged]](list)
    for each in counted:
        by_case[each.trial.original.name].append(each)
    # The edits of one case are not independent: for the interval each case counts once. A family has one
    # second judging for each case, to compare with all its edits.
    paired = [group for group in by_case.values() if group[0].noise is not None]
    share = sum(each.event for each in counted) / (len(counted) or 1)
    return EditFigures(
        family=family,
        edit=edit,
        rate=wilson(share, len(by_case)).model_copy(update={"n": len(counted)}),
        noise=rate_of([bool(group[0].noise) for group in paired]),
        p=many_to_one(([each.event for each in group], bool(group[0].noise)) for group in paired),
        n_skipped=sum(n for (of, name), n in plan.skipped.items() if of == family and edit in {"", name}),
        n_unfit=len(mine) - len(fit),
        no_verdict=_no_verdict(each.verdict for each in fit),
        events={each.trial.original.name: each.event for each in counted} if edit else {},
    )


def _unchanged(plan: Plan, verdicts: Iterable[Verdict]) -> Unchanged:
    by_id = {verdict.case_id: verdict for verdict in verdicts}
    given = [[by_id.get(id_of(each, which)) for which in (FIRST, SECOND)] for each in plan.cases]
    passed = [
        (each, [_has_passed(verdict) for verdict in two if verdict and verdict.status != "error"])
        for each, two in zip(plan.cases, given, strict=True)
    ]
    both = [(each, found) for each, found in passed if len(found) == len((FIRST, SECOND))]
    canaries = [(each.is_right, found) for each, found in both if each.is_canary]
    return Unchanged(
        right_passed=rate_of([found[0] for each, found in passed if each.is_right and found]),
        wrong_failed=rate_of([not found[0] for each, found in passed if not each.is_right and found]),
        flips=rate_of([found[0] is not found[1] for _, found in both]),
        canaries_right=rate_of([all(found) for is_right, found in canaries if is_right]),
        canaries_wrong=rate_of([not any(found) for is_right, found in canaries if not is_right]),
        no_verdict=_no_verdict(verdict for two in given for verdict in two if verdict),
    )


def _p(first: EditFigures, second: EditFigures) -> float | None:
    common = first.events.keys() & second.events.keys()
    return mcnemar((first.events[name], second.events[name]) for name in common)
