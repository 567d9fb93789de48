"""Which rows people should label: a sample with known probabilities, drawn by what the judge said of them.

A hundred labels say most about ten thousand verdicts if rows that passed and rows that did not are both among
them, whatever their shares. So each is a stratum. Rows without a score are strata too: an answer that could
not be judged is an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import median

from pydantic import ValidationError, model_validator

from groundjudge.errors import first_fault
from groundjudge.files import replace_file
from groundjudge.lab.labels import LabelError, Labels, group_by_judge
from groundjudge.runs.verdict_file import latest_verdicts
from groundjudge.verdict import Frozen, Verdict, deciding_score

LEAST = 5
"""Labels in each stratum at least, unless it has fewer units."""

ENOUGH_TO_SPLIT = 20
"""With fewer units that did not pass, these are one stratum; otherwise they can be two, by score."""

ENOUGH_LABELS = 100
"""With fewer labels, the units that did not pass are one stratum, of which the labels then say more."""

PASSED, FAILED, NOT_APPLICABLE, ERROR = "passed", "failed", "not applicable", "error"
LOWER, HIGHER = f"{FAILED}, lower scores", f"{FAILED}, higher scores"

JUDGED = frozenset({PASSED, FAILED, LOWER, HIGHER})
"""The strata that share one half of the labels equally."""


class Stratum(Frozen):
    """Rows that are drawn with the same probability.

    Attributes:
        name: what the judge said of them.
        rows: how many rows it has.
        units: how many units are drawn from: its rows, or its groups.
        drawn: the ids of the rows that were drawn, unit by unit.
    """

    name: str
    rows: int
    units: int
    drawn: tuple[tuple[str, ...], ...]

    @model_validator(mode="after")
    def _adds_up(self) -> Stratum:
        if not 0 < len(self.drawn) <= self.units <= self.rows:
            message = f"{self.name}: {len(self.drawn)} drawn of {self.units} units in {self.rows} rows"
            raise ValueError(message)
        return self

    @property
    def probability(self) -> float:
        """The probability with which each of its rows is drawn, 0..1."""
        return len(self.drawn) / self.units


class LabelSample(Frozen):
    """A sample of the rows of one judge's verdicts.

    Attributes:
        judge: the judge's name.
        signatures: the signatures of its verdicts (see `Verdict.signature`).
        seed: of the draw.
        contents: a hash of the contents of the drawn cases, as far as the verdicts know them.
        strata: the strata, each with what was drawn from it.
        double: the ids of the rows that a second person labels too.
    """

    judge: str
    signatures: tuple[str, ...]
    seed: int
    contents: str
    strata: tuple[Stratum, ...]
    double: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the drawn rows as people see them, in an order that tells nothing of the strata."""
        units = sorted(unit for stratum in self.strata for unit in stratum.drawn)
        Random(f"{self.seed} order").shuffle(units)  # noqa: S311  no secret
        return tuple(case_id for unit in units for case_id in unit)

    @property
    def id(self) -> str:
        """The name of the draw: a hash of the rows, whatever the verdicts say of them."""
        named = "\0".join((self.judge, self.contents, *self.ids, "", *self.double))
        return sha256(named.encode()).hexdigest()[:16]

    @property
    def probabilities(self) -> dict[str, float]:
        """The probability with which each drawn row was drawn, by id."""
        drawn = ((stratum, case_id) for stratum in self.strata for unit in stratum.drawn for case_id in unit)
        return {case_id: stratum.probability for stratum, case_id in drawn}

    @property
    def rows(self) -> int:
        """How many rows the sample stands for."""
        return sum(stratum.rows for stratum in self.strata)


def draw(  # noqa: PLR0913  each option changes what is drawn
    verdicts: Iterable[Verdict],
    n: int,
    *,
    judge: str | None = None,
    double: int = 0,
    seed: int = 0,
    groups: Mapping[str, str] | None = None,
) -> LabelSample:
    """Draw rows for people to label.

    Half of the labels go to all strata in proportion to their size, and half in equal parts to those with a
    score, with at least `LEAST` in each stratum. The same verdicts and seed give the same sample, in whatever
    order the verdicts are.

    Args:
        verdicts: of any judges.
        n: how many rows to draw; with groups, how many groups.
        judge: whose verdicts decide the strata; None: the only judge there is.
        double: how many of the drawn rows a second person labels too, which shows how well people agree.
        seed: of the draw.
        groups: the group of each case, such as the conversation that it is from. Groups are drawn whole.

    Raises:
        LabelError: `bad_option`: several judges and none named, an unknown judge, a case without an id, or
            `n` or `double` that the rows do not allow.
    """
    by_name = {name: own for name, own in group_by_judge(latest_verdicts(verdicts)[0]).items() if name}
    name = judge_in(by_name, judge)
    own = by_name[name]
    units: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in own:
        if not verdict.case_id:
            raise LabelError("bad_option", f"{name}: a verdict has no case id: label rows need ids", name)
        group = (groups or {}).get(verdict.case_id)
        units.setdefault(("", verdict.case_id) if group is None else (group, ""), []).append(verdict)
    strata = _strata([units[key] for key in sorted(units)], n)
    sizes = {stratum: len(members) for stratum, members in strata.items()}
    least = sum(min(LEAST, size) for size in sizes.values())
    if not least <= n <= len(units):
        what = f"{name}: {n} labels cannot be drawn from {len(units)} {'groups' if groups else 'rows'}"
        raise LabelError(
            "bad_option", f"{what} in {len(sizes)} strata: give `n` from {least} to {len(units)}", "n"
        )
    random = Random(seed)  # noqa: S311  no secret
    counts = allocation(sizes, n)
    drawn = [
        Stratum(
            name=stratum,
            rows=sum(map(len, members)),
            units=len(members),
            drawn=tuple(tuple(sorted(_ids(unit))) for unit in random.sample(members, counts[stratum])),
        )
        for stratum, members in strata.items()
    ]
    ids = sorted(case_id for stratum in drawn for unit in stratum.drawn for case_id in unit)
    if not 0 <= double <= len(ids):
        raise LabelError(
            "bad_option", f"`double`: {double} of {len(ids)} drawn rows cannot be labelled twice", "double"
        )
    by_id = {verdict.case_id: verdict for verdict in own}
    contents = "\0".join(f"{case_id} {by_id[case_id].case_hash}" for case_id in ids)
    return LabelSample(
        judge=name,
        signatures=tuple(sorted({verdict.signature for verdict in own})),
        seed=seed,
        contents=sha256(contents.encode()).hexdigest()[:16],
        strata=tuple(drawn),
        double=tuple(sorted(random.sample(ids, double))),
    )


def weight_labels(labels: Labels, sample: LabelSample) -> Labels:
    """Labels of a drawn sample that count by one over the probability of their row.

    With them `agree`, `calibrate` and `compare` give figures of all rows that the sample was drawn from, and
    resample within strata.

    Raises:
        LabelError: `outside_sample`: a label of a row that was not drawn, or of another draw.
    """
    others = sorted(case_id for case_id, name in labels.samples.items() if name != sample.id)
    if others := others or sorted(labels.seen - set(sample.ids)):
        message = f"the label of {others[0]!r} is not of the draw {sample.id}: leave out what was not drawn"
        raise LabelError("outside_sample", message, others[0])
    drawn = {
        case_id: (stratum.name, 1 / stratum.probability)
        for stratum in sample.strata
        for unit in stratum.drawn
        for case_id in unit
    }
    units = [unit for stratum in sample.strata for unit in stratum.drawn if len(unit) > 1]
    groups = {case_id: f"group of {unit[0]}" for unit in units for case_id in unit}
    return replace(labels, drawn=drawn, groups={**labels.groups, **groups})


def allocation(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """How many units to draw from each stratum (see `draw`), given how many it has."""
    total, scored = sum(sizes.values()), len(JUDGED & sizes.keys())
    wanted = {
        name: n / 2 * size / total + (n / 2 / scored if name in JUDGED else 0) for name, size in sizes.items()
    }
    counts = {name: min(size, LEAST) for name, size in sizes.items()}
    while sum(counts.values()) < n:
        open_ones = [name for name, size in sizes.items() if counts[name] < size]
        counts[max(open_ones, key=lambda name: wanted[name] - counts[name])] += 1
    return counts


def judge_in(verdicts: Mapping[str, Sequence[Verdict]], judge: str | None) -> str:
    """The judge that is meant: the only one, unless it is named.

    Raises:
        LabelError: `bad_option`: there are several and none is named, or there is no such one.
    """
    known = ", ".join(sorted(verdicts)) or "none"
    if judge is None and len(verdicts) != 1:
        raise LabelError("bad_option", f"name the `judge`, one of: {known}", "judge")
    name = judge or next(iter(verdicts))
    if name not in verdicts:
        raise LabelError(
            "bad_option", f"`judge`: there is no verdict by {name!r}: it can be {known}", "judge"
        )
    return name


def save_sample(path: str | Path, sample: LabelSample) -> None:
    """Write a sample to a file of JSON, which `rate` reads.

    Raises:
        OSError: it cannot be written.
    """
    with replace_file(Path(path)) as file:
        file.write(f"{sample.model_dump_json(indent=1)}\n".encode())


def read_sample(path: str | Path) -> LabelSample:
    """Read what `save_sample` wrote.

    Raises:
        OSError: the file cannot be opened or read.
        LabelError: `unreadable_sample`.
    """
    try:
        return LabelSample.model_validate_json(Path(path).read_bytes())
    except ValidationError as error:
        message = f"{path}: not what `groundjudge label` wrote ({first_fault(error)}): give its .sample.json"
        raise LabelError("unreadable_sample", message, str(path)) from error


def _strata(units: Sequence[Sequence[Verdict]], n: int) -> dict[str, list[Sequence[Verdict]]]:
    """The units by stratum, those that did not pass in two halves by score where n labels are enough."""
    strata: dict[str, list[Sequence[Verdict]]] = {}
    for unit in units:
        strata.setdefault(_stratum(unit), []).append(unit)
    failed = strata.get(FAILED, ())
    is_split = len(failed) >= ENOUGH_TO_SPLIT and n >= ENOUGH_LABELS
    middle = median(map(_lowest, failed)) if is_split else 0.0
    halves = {
        LOWER: [unit for unit in failed if _lowest(unit) < middle],
        HIGHER: [unit for unit in failed if _lowest(unit) >= middle],
    }
    if all(halves.values()):
        del strata[FAILED]
        strata |= halves
    return strata


def _stratum(unit: Iterable[Verdict]) -> str:
    """Where a unit belongs: a group, where the worst that the judge said of its rows belongs."""
    said = {_outcome(verdict) for verdict in unit}
    return next(name for name in (FAILED, ERROR, PASSED, NOT_APPLICABLE) if name in said)


def _outcome(verdict: Verdict) -> str:
    if verdict.status == "ok":
        return PASSED if verdict.passed else FAILED
    return ERROR if verdict.status == "error" else NOT_APPLICABLE


def _lowest(unit: Iterable[Verdict]) -> float:
    scores = [score for verdict in unit if (score := deciding_score(verdict)) is not None]
    return min(scores, default=0.0)


def _ids(unit: Iterable[Verdict]) -> list[str]:
    return [str(verdict.case_id) for verdict in unit]
