"""Which rows people should label: a sample with known probabilities, drawn by what the judge said about them.

A hundred labels say most about ten thousand verdicts if they include both rows that passed and rows that did
not, regardless of their shares. So each is a stratum. Rows without a score are strata too: an answer that
could not be judged is still an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from operator import attrgetter
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple, TypeAlias

from pydantic import ValidationError, model_validator

from groundjudge.errors import first_fault
from groundjudge.files import replace_file
from groundjudge.lab.brief import BriefVerdict
from groundjudge.lab.labels import DrawnRow, LabelError, Labels
from groundjudge.lab.matched import by_case, is_changed
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.verdict import Frozen, Verdict, deciding_score

# The minimum number of labels in each stratum, unless it has fewer units.
LEAST = 5

# With fewer units that did not pass, they form one stratum; otherwise there can be two, by score.
ENOUGH_TO_SPLIT = 20

# With fewer labels, the units that did not pass form one stratum, so the labels say more about it.
ENOUGH_LABELS = 100

PASSED, FAILED, NOT_APPLICABLE, ERROR = "passed", "failed", "not applicable", "error"
LOWER, HIGHER = f"{FAILED}, lower scores", f"{FAILED}, higher scores"
FAILED_NOW, PASSED_NOW = f"{FAILED}, {PASSED} before", f"{PASSED}, {FAILED} before"

# The strata that share half of the labels equally.
JUDGED = frozenset({PASSED, FAILED, LOWER, HIGHER, FAILED_NOW, PASSED_NOW})

# A group's stratum is the first of these that contains one of its rows: a flip, or else the worst.
FROM_WORST = (FAILED_NOW, PASSED_NOW, FAILED, ERROR, PASSED, NOT_APPLICABLE)

# Digits of the hashes that identify a draw and the contents of its cases.
HASH_DIGITS = 16


class JudgedRow(NamedTuple):
    """What the draw needs from a verdict.

    Attributes:
        case_id: the id of its case.
        outcome: what the judge said, which determines the stratum.
        score: the deciding score; None without a score.
    """

    case_id: str
    outcome: str
    score: float | None


# The unit of drawing: one row, or the rows of one group.
Unit: TypeAlias = Sequence[JudgedRow]


class Stratum(Frozen):
    """Rows that are drawn with the same probability.

    Attributes:
        name: what the judge said about them.
        rows: how many rows it has.
        units: how many units it has to draw from: its rows, or its groups.
        drawn: the ids of the rows that were drawn, unit by unit.
    """

    name: str
    rows: int
    units: int
    drawn: tuple[tuple[str, ...], ...]

    @model_validator(mode="after")
    def _adds_up(self) -> Stratum:
        if not 0 < len(self.drawn) <= self.units <= self.rows:
            message = f"{self.name}: {len(self.drawn)} of {self.units} units drawn, in {self.rows} rows"
            raise ValueError(message)
        return self

    @property
    def ids(self) -> list[str]:
        """The ids of its drawn rows."""
        return [case_id for unit in self.drawn for case_id in unit]

    @property
    def probability(self) -> float:
        """The probability with which each of its rows was drawn, 0..1."""
        return len(self.drawn) / self.units


class LabelSample(Frozen):
    """A sample of the rows of one judge's verdicts.

    Attributes:
        judge: the judge's name.
        signatures: the signatures of its verdicts (see `Verdict.signature`).
        seed: the seed of the draw.
        contents: a hash of the contents of the drawn cases, as far as the verdicts know them.
        strata: the strata, each with its drawn rows.
        double: the ids of the rows that a second person also labels.
    """

    judge: str
    signatures: tuple[str, ...]
    seed: int
    contents: str
    strata: tuple[Stratum, ...]
    double: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the drawn rows as people see them, in an order that does not reveal the strata."""
        units: list[tuple[str, ...]] = []
        for stratum in self.strata:
            units += stratum.drawn
        # The seed is in the file: if rows were shuffled from stratum order, the strata could be recovered.
        units.sort()
        Random(f"{self.seed} order").shuffle(units)  # noqa: S311  not a secret
        return tuple(case_id for unit in units for case_id in unit)

    @property
    def id(self) -> str:
        """The name of the draw: a hash of the rows, regardless of what verdicts say about them."""
        text = "\0".join((self.judge, self.contents, *self.ids, "", *self.double))
        return sha256(text.encode()).hexdigest()[:HASH_DIGITS]

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability with which each drawn row was drawn, by id."""
        probabilities: dict[str, float] = {}
        for stratum in self.strata:
            probabilities |= dict.fromkeys(stratum.ids, stratum.probability)
        return probabilities

    @property
    def rows(self) -> int:
        """How many rows the sample represents."""
        return sum(stratum.rows for stratum in self.strata)


def draw(  # noqa: PLR0913  each option changes what is drawn
    verdicts: Iterable[Verdict],
    n: int,
    *,
    judge: str | None = None,
    double: int = 0,
    seed: int = 0,
    groups: Mapping[str, str] | None = None,
    against: Iterable[Verdict] | None = None,
) -> LabelSample:
    """Draw rows for people to label.

    Half of the labels go to all strata in proportion to their size, and half in equal parts to those with a
    score, with at least `LEAST` in each stratum. The same verdicts and seed give the same sample, regardless
    of the order of the verdicts.

    Args:
        verdicts: of any judges.
        n: how many rows to draw; with groups, how many groups.
        judge: the judge whose verdicts decide the strata; None: the only judge.
        double: how many of the drawn rows a second person also labels, which shows how well people agree.
        seed: the seed of the draw.
        groups: the group of each case, such as the conversation that it comes from. Groups are drawn whole.
        against: the judge's earlier verdicts, such as with another model. Rows that passed then and do not
            now, or vice versa, form separate strata, so they are drawn more often than others.

    Raises:
        LabelError: `bad_option`: several judges and none named, an unknown judge, a case without an id, or
            `n` or `double` that does not fit the rows.
    """
    latest = latest_verdicts(verdicts)
    name = judge_in(latest.judges, judge)
    verdicts_of_judge = latest.select([name])
    earlier_verdicts: Mapping[str, BriefVerdict] = {}
    if against is not None:
        latest_earlier = latest_verdicts(against)
        earlier_name = name
        if name not in latest_earlier.judges:
            earlier_name = judge_in(latest_earlier.judges, None)
        earlier_verdicts = by_case(latest_earlier.select([earlier_name]))
    units = _units(name, verdicts_of_judge, groups or {}, earlier_verdicts)
    strata = _strata(units, n)
    sizes = {stratum: len(members) for stratum, members in strata.items()}
    least = sum(min(LEAST, size) for size in sizes.values())
    if not least <= n <= len(units):
        rows_or_groups = "groups" if groups else "rows"
        message = (
            f"{name}: {n} labels cannot be drawn from {len(units)} {rows_or_groups} in {len(sizes)} strata: "
            f"pass `n` from {least} to {len(units)}"
        )
        raise LabelError("bad_option", message, "n")
    random = Random(seed)  # noqa: S311  not a secret
    counts = allocation(sizes, n)
    drawn_strata: list[Stratum] = []
    ids: list[str] = []
    for stratum, members in strata.items():
        drawn_units: list[tuple[str, ...]] = []
        for unit in random.sample(members, counts[stratum]):
            unit_ids = sorted(row.case_id for row in unit)
            drawn_units.append(tuple(unit_ids))
        drawn_stratum = Stratum(
            name=stratum,
            rows=sum(len(unit) for unit in members),
            units=len(members),
            drawn=tuple(drawn_units),
        )
        drawn_strata.append(drawn_stratum)
        ids += drawn_stratum.ids
    ids.sort()
    if not 0 <= double <= len(ids):
        message = f"`double`: {double} rows cannot be labelled twice: only {len(ids)} are drawn"
        raise LabelError("bad_option", message, "double")
    return LabelSample(
        judge=name,
        signatures=tuple(sorted({origin.signature for origin in latest.origins if origin.judge == name})),
        seed=seed,
        contents=_hash_contents(ids, verdicts_of_judge),
        strata=tuple(drawn_strata),
        double=tuple(sorted(random.sample(ids, double))),
    )


def _hash_contents(ids: Sequence[str], verdicts: Iterable[Verdict]) -> str:
    """Hash the contents of the drawn cases, as far as the verdicts know them."""
    case_hashes: dict[str, str] = dict.fromkeys(ids, "")
    for verdict in verdicts:
        if verdict.case_id in case_hashes:
            case_hashes[verdict.case_id] = verdict.case_hash
    contents = "\0".join(f"{case_id} {case_hash}" for case_id, case_hash in case_hashes.items())
    return sha256(contents.encode()).hexdigest()[:HASH_DIGITS]


def weight_labels(labels: Labels, sample: LabelSample) -> Labels:
    """Weight the labels of a drawn sample by the inverse of their rows' probabilities.

    With them, `agree`, `calibrate` and `compare` give figures for all rows that the sample was drawn from,
    and resample within strata.

    Raises:
        LabelError: `outside_sample`: a labelled row was not drawn, or belongs to another draw.
    """
    sample_id = sample.id
    outside = [case_id for case_id, label_sample in labels.samples.items() if label_sample != sample_id]
    if not outside:
        outside = list(labels.reviewed_ids - set(sample.ids))
    if outside:
        first = min(outside)
        message = (
            f"the labelled row {first!r} is not in the draw {sample_id}: remove rows that were not drawn"
        )
        raise LabelError("outside_sample", message, first)
    drawn_rows: dict[str, DrawnRow] = {}
    groups = dict(labels.groups)
    for stratum in sample.strata:
        drawn_row = DrawnRow(stratum.name, 1 / stratum.probability)
        for unit in stratum.drawn:
            drawn_rows |= dict.fromkeys(unit, drawn_row)
            # Rows drawn together are not independent, regardless of what the labels say.
            if len(unit) > 1:
                groups |= dict.fromkeys(unit, f"group of {unit[0]}")
    return replace(labels, drawn_rows=drawn_rows, groups=groups)


def allocation(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """Compute how many units to draw from each stratum (see `draw`), given how many it has."""
    total = sum(sizes.values())
    n_judged = len(JUDGED & sizes.keys())
    # What each stratum would get if it were large enough and labels were divisible.
    ideal_counts: dict[str, float] = {}
    for name, size in sizes.items():
        ideal_counts[name] = n / 2 * size / total
        if name in JUDGED:
            ideal_counts[name] += n / 2 / n_judged
    counts = {name: min(size, LEAST) for name, size in sizes.items()}
    for _ in range(n - sum(counts.values())):
        not_exhausted = [name for name, size in sizes.items() if counts[name] < size]
        furthest_below = max(not_exhausted, key=lambda name: ideal_counts[name] - counts[name])
        counts[furthest_below] += 1
    return counts


def judge_in(judges: Sequence[str], judge: str | None) -> str:
    """Choose a judge among those with verdicts: the named one, or the only one.

    Raises:
        LabelError: `bad_option`: there are several and none was named, or none has that name.
    """
    all_names = ", ".join(judges) or "none"
    if judge is None and len(judges) != 1:
        raise LabelError("bad_option", f"name the `judge`, one of: {all_names}", "judge")
    name = judge or judges[0]
    if name not in judges:
        message = f"`judge`: there are no verdicts by {name!r}: choose from {all_names}"
        raise LabelError("bad_option", message, "judge")
    return name


def save_sample(path: str | Path, sample: LabelSample) -> None:
    """Write a sample to a JSON file, which `rate` reads.

    Raises:
        OSError: the file cannot be written.
    """
    with replace_file(Path(path)) as file:
        file.write(f"{sample.model_dump_json(indent=1)}\n".encode())


def read_sample(path: str | Path) -> LabelSample:
    """Read a sample written by `save_sample`.

    Raises:
        OSError: the file cannot be opened or read.
        LabelError: `unreadable_sample`.
    """
    try:
        return LabelSample.model_validate_json(Path(path).read_bytes())
    except ValidationError as error:
        message = (
            f"{path} was not written by `groundjudge label` ({first_fault(error)}): pass its .sample.json"
        )
        raise LabelError("unreadable_sample", message, str(path)) from error


def _units(
    judge: str,
    verdicts: Iterable[Verdict],
    groups: Mapping[str, str],
    earlier_verdicts: Mapping[str, BriefVerdict],
) -> list[Unit]:
    """Return the units to draw from, in an order that does not depend on the order of the verdicts."""
    single_rows: list[JudgedRow] = []
    rows_by_group: dict[str, list[JudgedRow]] = {}
    for verdict in verdicts:
        if not verdict.case_id:
            message = f"{judge}: a verdict has no case id: give each row to label an `id`"
            raise LabelError("bad_option", message, judge)
        outcome = _outcome(verdict, earlier_verdicts.get(verdict.case_id))
        row = JudgedRow(verdict.case_id, outcome, deciding_score(verdict))
        group = groups.get(verdict.case_id)
        if group is None:
            single_rows.append(row)
        else:
            rows_by_group.setdefault(group, []).append(row)
    single_rows.sort(key=attrgetter("case_id"))
    units: list[Unit] = [(row,) for row in single_rows]
    units += [rows_by_group[group] for group in sorted(rows_by_group)]
    return units


def _strata(units: Sequence[Unit], n: int) -> dict[str, list[Unit]]:
    """Group units by stratum; those that did not pass form two halves by score if n labels are enough."""
    strata: dict[str, list[Unit]] = {}
    for unit in units:
        outcomes = {row.outcome for row in unit}
        strata.setdefault(min(outcomes, key=FROM_WORST.index), []).append(unit)
    failed_units = strata.get(FAILED, [])
    if len(failed_units) < ENOUGH_TO_SPLIT or n < ENOUGH_LABELS:
        return strata
    lowest_scores: list[float] = []
    for unit in failed_units:
        scores = [row.score for row in unit if row.score is not None]
        lowest_scores.append(min(scores, default=0.0))
    middle = median(lowest_scores)
    lower: list[Unit] = []
    higher: list[Unit] = []
    for unit, lowest_score in zip(failed_units, lowest_scores, strict=True):
        if lowest_score < middle:
            lower.append(unit)
        else:
            higher.append(unit)
    # If more than half of the units have the lowest score, nothing is below the middle.
    if lower and higher:
        del strata[FAILED]
        strata[LOWER] = lower
        strata[HIGHER] = higher
    return strata


def _outcome(verdict: Verdict, earlier: BriefVerdict | None) -> str:
    """Say what the judge said about a case, and whether it said the opposite earlier."""
    if verdict.status == "error":
        return ERROR
    if verdict.status == "not_applicable":
        return NOT_APPLICABLE
    # A case whose content changed in between does not flip.
    if earlier is not None and earlier.score is not None and not is_changed(earlier, verdict):
        if earlier.passed and not verdict.passed:
            return FAILED_NOW
        if verdict.passed and not earlier.passed:
            return PASSED_NOW
    return PASSED if verdict.passed else FAILED
