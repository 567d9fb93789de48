"""A probe from start to end: plan, judge, figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Unpack

from pydantic import ValidationError

from groundjudge.errors import first_fault
from groundjudge.judging.panel import AnyJudge
from groundjudge.lab.probe.cases import ProbeError
from groundjudge.lab.probe.plan import FAMILIES, FIRST, SECOND, Family, Plan, Trial, ask_twice, id_of, plan_of
from groundjudge.lab.proportions import Rate, many_to_one, rate_of, wilson
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.run import Row, RunOptions, run
from groundjudge.verdict import Finite, Frozen, PromptId, Score, Verdict, __version__, deciding_score

# How far the score must drop if one wrong fact among several need not fail a case.
MIN_DROP = 0.05

SIGNIFICANT = 0.05


class EditFigures(Frozen):
    """What one edit, or all edits of a family (`edit` is ""), did to the verdicts.

    Attributes:
        family: the family of the edit.
        edit: its name; "" for the whole family.
        rate: the share of edited cases whose fault was caught (faults), whose verdict moved
            (neutral_edits), or that fooled the judge (attacks). The interval of a family counts the
            edits of one case as one observation.
        noise: the share for which the same is true of the second judging of the unchanged case.
        p: the p of an exact test of `rate` against `noise`; None without observations. It compares all edits
            of a case with the second judging of that case; for a single edit it is McNemar's. See
            `many_to_one`.
        n_skipped: cases to which the edit does not apply.
        n_unfit: edited cases that are not counted because the verdict on the unchanged case is wrong or
            missing: what does not pass cannot fall, and what passes cannot rise.
        no_verdict: edited cases without a verdict, by the code of the error; they are not counted either.
    """

    family: Family
    edit: str = ""
    rate: Rate
    noise: Rate
    p: Score | None = None
    n_skipped: int = 0
    n_unfit: int = 0
    no_verdict: Mapping[str, int] = {}

    @property
    def is_too_few(self) -> bool:
        """Whether a single edit has too few cases for `p` to be below 0.05 with any judge."""
        if not self.edit:
            return False
        # The strongest result: each case without noise is caught, moved or fooled.
        n_without_noise = self.noise.n - round((self.noise.value or 0) * self.noise.n)
        p = many_to_one([([True], False)] * n_without_noise)
        return p is None or p >= SIGNIFICANT


class Unchanged(Frozen):
    """The verdicts on unchanged cases.

    Attributes:
        right_passed: the share of right responses that pass.
        wrong_failed: the share of wrong responses that fail.
        flips: the share of cases with two verdicts that pass once and fail once: the judge's own noise.
        canaries_right: the share of cases no one could fail that pass both times.
        canaries_wrong: the share of cases no one could pass that fail both times.
        no_verdict: judgings without a verdict, by the code of the error.
    """

    right_passed: Rate
    wrong_failed: Rate
    flips: Rate
    canaries_right: Rate
    canaries_wrong: Rate
    no_verdict: Mapping[str, int] = {}


class Card(Frozen):
    """All figures of a probe, and what to quote with them.

    Attributes:
        judge: the judge's name.
        signature: judge, prompt, model and library, as in every verdict.
        model: the model's name.
        prompt: the prompt that was used.
        library: the version of groundjudge.
        date: the day of the probe, as in 2030-01-31.
        threshold: a verdict passes if its deciding score reaches it.
        graded: whether a fault is caught if the score drops by `MIN_DROP`; otherwise the case must no
            longer pass.
        cases: a hash of cases and labels.
        n_right: the number of cases with a right response.
        n_wrong: the number of cases with a wrong response.
        unchanged: the verdicts on unchanged cases.
        families: one for each family.
        edits: one for each edit.
        limits: the model's caveats for reading the figures; "" if it has none.
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
    limits: str = ""

    def family(self, name: Family) -> EditFigures:
        """Return the figures of a family."""
        return next(figures for figures in self.families if figures.family == name)


@dataclass(frozen=True)
class JudgedTrial:
    """An edited case with its verdict.

    Attributes:
        trial: the edited case.
        verdict: the verdict on it.
        first: the first verdict on the unchanged case.
        is_fit: whether that verdict is right: only then can the edit have an effect.
        event: whether the fault was caught, the verdict moved, or the judge was fooled.
        noise: the same for the second verdict on the unchanged case; None without one.
    """

    trial: Trial
    verdict: Verdict
    first: Verdict
    is_fit: bool
    event: bool
    noise: bool | None

    @property
    def is_failure(self) -> bool:
        """Whether the judge failed: it missed a fault, or was moved or fooled."""
        if not self.is_fit or self.verdict.status == "error":
            return False
        return self.event is (self.trial.family != "faults")


@dataclass(frozen=True)
class Probe:
    """The result of a probe.

    Attributes:
        plan: what was judged.
        verdicts: one for each trial, in no particular order.
        card: the figures.
        judged_trials: the edited cases, each with its verdict and with those on the unchanged case.
    """

    plan: Plan
    verdicts: Sequence[Verdict]
    card: Card
    judged_trials: Sequence[JudgedTrial]

    def worst(self, n: int = 3) -> list[JudgedTrial]:
        """Return the n largest failures of each family, one for each case if there are enough."""
        by_badness = sorted(self.judged_trials, key=_badness, reverse=True)
        worst: list[JudgedTrial] = []
        for family in FAMILIES:
            worst_of_case: dict[str, JudgedTrial] = {}
            for judged_trial in by_badness:
                if judged_trial.trial.family == family and judged_trial.is_failure:
                    worst_of_case.setdefault(judged_trial.trial.original.name, judged_trial)
            worst.extend(list(worst_of_case.values())[:n])
        return worst


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
            the library's own.
        without: names of edits to leave out.
        options: as for `run`; see `RunOptions`. The order makes no difference.

    Raises:
        ProbeError: the judge cannot be probed with these cases, or every call failed.
        ModelError: as for `run`, if no further case can be judged.
    """
    planned = plan_of(judge.rubrics[0], cases, without)
    verdicts = list(run(ask_twice(judge), [trial.case for trial in planned.trials], **options))
    return result_of(planned, verdicts, judge)


def result_of(planned: Plan, verdicts: Sequence[Verdict], judge: AnyJudge) -> Probe:
    """Compute the result of a plan whose cases were judged.

    Raises:
        ProbeError: `no_verdict`: every judging ended in an error.
    """
    with_verdict = [verdict for verdict in verdicts if verdict.status != "error"]
    if not with_verdict:
        message = f"{judge.name}: none of {len(verdicts)} judgings gave a verdict: nothing can be measured"
        errors = [verdict.error for verdict in verdicts if verdict.error]
        if errors:
            message += f": {errors[0].code}: {errors[0].message}"
        raise ProbeError("no_verdict", message, judge.name)
    graded = _is_graded(judge.rubrics[0])
    judged_trials = _judged_trials(planned, verdicts, graded=graded)
    n_right = 0
    cases_hash = sha256()
    for labelled_case in planned.cases:
        n_right += labelled_case.is_right
        cases_hash.update(f"{labelled_case.is_right} {labelled_case.case.model_dump_json()}\n".encode())
    limits: list[str] = []
    for model in judge.models:
        model_limits = getattr(model, "limits", "")
        # The caller's own model may have anything under that name.
        if isinstance(model_limits, str) and model_limits:
            limits.append(model_limits)
    card = Card(
        judge=judge.name,
        signature=with_verdict[0].signature,
        model=with_verdict[0].model or judge.model_name,
        prompt=judge.prompt_id,
        date=datetime.now(UTC).date().isoformat(),
        threshold=judge.threshold,
        graded=graded,
        cases=cases_hash.hexdigest()[:12],
        n_right=n_right,
        n_wrong=len(planned.cases) - n_right,
        unchanged=_unchanged_figures(planned, verdicts),
        families=tuple(_edit_figures(planned, judged_trials, family) for family in FAMILIES),
        edits=tuple(_edit_figures(planned, judged_trials, family, edit) for family, edit in planned.skipped),
        limits="; ".join(dict.fromkeys(limits)),
    )
    return Probe(planned, verdicts, card, judged_trials)


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


def _is_graded(rubric: Rubric) -> bool:
    """Say whether one wrong fact need not fail a case: for a judge of parts, or of a character's facts."""
    if rubric.format.part_names or rubric.format.parts_are_sentences:
        return True
    return any(prompt_input.field == "profile" for prompt_input in rubric.inputs)


def _judged_trials(plan: Plan, verdicts: Iterable[Verdict], *, graded: bool) -> list[JudgedTrial]:
    """Pair the edited cases with their verdicts, and with those on the unchanged cases."""
    by_id = {verdict.case_id: verdict for verdict in verdicts}
    judged_trials: list[JudgedTrial] = []
    for trial in plan.trials:
        if trial.family is None:
            continue
        verdict = by_id.get(trial.case.id)
        first = by_id.get(id_of(trial.original, FIRST))
        second = by_id.get(id_of(trial.original, SECOND))
        if verdict is None or first is None:
            continue  # the run ended early, such as by a budget
        noise: bool | None = None
        if second and second.status != "error":
            noise = _is_event(trial.family, first, second, graded=graded)
        judged_trial = JudgedTrial(
            trial=trial,
            verdict=verdict,
            first=first,
            is_fit=first.status != "error" and _has_passed(first) is trial.original.is_right,
            event=_is_event(trial.family, first, verdict, graded=graded),
            noise=noise,
        )
        judged_trials.append(judged_trial)
    return judged_trials


def _is_event(family: Family, first: Verdict, verdict: Verdict, *, graded: bool) -> bool:
    """Say whether a verdict differs from the first one in the way that this family of edits tests."""
    if family == "neutral_edits":
        # A label can move even if the outcome does not.
        return (_has_passed(verdict), verdict.label) != (_has_passed(first), first.label)
    if family == "attacks":
        return _has_passed(verdict)
    score = deciding_score(verdict)
    drop = 0.0  # "not applicable" has no score, so it catches nothing
    if score is not None:
        drop = (deciding_score(first) or 0.0) - score
    if graded:
        # If cases are rated by degrees, one fault among several statements need not fail a case.
        return drop >= MIN_DROP
    return drop > 0 and not _has_passed(verdict)


def _has_passed(verdict: Verdict) -> bool:
    """Say whether a verdict passes with a score; "not applicable" does not."""
    return verdict.status == "ok" and bool(verdict.passed)


def _badness(judged_trial: JudgedTrial) -> float:
    """Measure how far a verdict is from what it should be."""
    score = deciding_score(judged_trial.verdict) or 0.0
    if judged_trial.trial.family == "neutral_edits":
        return abs(score - (deciding_score(judged_trial.first) or 0.0))
    return score


def _error_counts(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """Count the verdicts that are errors, by code."""
    return dict(Counter(verdict.error.code for verdict in verdicts if verdict.error))


def _edit_figures(
    plan: Plan, judged_trials: Iterable[JudgedTrial], family: Family, edit: str = ""
) -> EditFigures:
    """Compute the figures of an edit, or of its whole family."""
    n_unfit = 0
    fit_verdicts: list[Verdict] = []
    events: list[bool] = []
    trials_by_case = defaultdict[str, list[JudgedTrial]](list)
    for judged_trial in judged_trials:
        if judged_trial.trial.family != family or edit not in {"", judged_trial.trial.edit}:
            continue
        if not judged_trial.is_fit:
            n_unfit += 1
            continue
        fit_verdicts.append(judged_trial.verdict)
        if judged_trial.verdict.status != "error":
            case_name = judged_trial.trial.original.name
            events.append(judged_trial.event)
            trials_by_case[case_name].append(judged_trial)
    # The edits of one case are not independent: for the interval, each case counts once. A family has one
    # second judging for each case, to compare with all its edits.
    events_and_noise: list[tuple[list[bool], bool]] = []
    for trials in trials_by_case.values():
        if trials[0].noise is not None:
            events_and_noise.append(([judged_trial.event for judged_trial in trials], trials[0].noise))
    n_skipped = 0
    for (edit_family, edit_name), count in plan.skipped.items():
        if edit_family == family and edit in {"", edit_name}:
            n_skipped += count
    share = sum(events) / (len(events) or 1)
    return EditFigures(
        family=family,
        edit=edit,
        rate=wilson(share, len(trials_by_case)).model_copy(update={"n": len(events)}),
        noise=rate_of([noise for _, noise in events_and_noise]),
        p=many_to_one(events_and_noise),
        n_skipped=n_skipped,
        n_unfit=n_unfit,
        no_verdict=_error_counts(fit_verdicts),
    )


def _unchanged_figures(plan: Plan, verdicts: Iterable[Verdict]) -> Unchanged:
    """Compute what the two judgings of each unchanged case say about the judge itself."""
    by_id = {verdict.case_id: verdict for verdict in verdicts}
    both_judgings: list[Verdict] = []
    right_passed: list[bool] = []
    wrong_failed: list[bool] = []
    flips: list[bool] = []
    canaries_right: list[bool] = []
    canaries_wrong: list[bool] = []
    for labelled_case in plan.cases:
        outcomes: list[bool] = []
        for judging in (FIRST, SECOND):
            verdict = by_id.get(id_of(labelled_case, judging))
            if verdict is None:
                continue
            both_judgings.append(verdict)
            if verdict.status != "error":
                outcomes.append(_has_passed(verdict))
        if outcomes and labelled_case.is_right:
            right_passed.append(outcomes[0])
        if outcomes and not labelled_case.is_right:
            wrong_failed.append(not outcomes[0])
        if len(outcomes) < len((FIRST, SECOND)):
            continue
        flips.append(outcomes[0] is not outcomes[1])
        if labelled_case.is_canary and labelled_case.is_right:
            canaries_right.append(all(outcomes))
        if labelled_case.is_canary and not labelled_case.is_right:
            canaries_wrong.append(not any(outcomes))
    return Unchanged(
        right_passed=rate_of(right_passed),
        wrong_failed=rate_of(wrong_failed),
        flips=rate_of(flips),
        canaries_right=rate_of(canaries_right),
        canaries_wrong=rate_of(canaries_wrong),
        no_verdict=_error_counts(both_judgings),
    )
