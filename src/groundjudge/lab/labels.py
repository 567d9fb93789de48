"""Human labels: read from a file, in the terms of a judge, and joined with its verdicts.

What labels in words mean is learnt from the judge's verdicts, or read from its prompt file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from math import isfinite, nan
from pathlib import Path
from typing import Any, ClassVar, Literal, NoReturn, TypeAlias

from groundjudge.case.data import is_list, is_mapping
from groundjudge.case.fields import field_of
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.replies import PartReading, Reading
from groundjudge.rubric.rubric import Rubric, load_rubric, names
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.run import id_of
from groundjudge.runs.verdict_file import latest_verdicts
from groundjudge.scale import fold_label
from groundjudge.verdict import Verdict, Vote, deciding_score

# What verdicts on a missing or blank response have in place of a label.
NOT_LABELS = frozenset({"no_response", "empty_response"})

# What bears a label: the verdict of a single judge, or a vote.
VerdictOrVote: TypeAlias = Verdict | Vote

# Words that CSV files use for 1 and 0, in lower case.
BOOLEAN_WORDS: Mapping[str, float] = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


# How a labelled row without a score counts, an error or "not applicable": as a mistake of the judge, as none,
# or as it passed in its run, where "not applicable" passes and an error does not.
Unscored: TypeAlias = Literal["wrong", "right", "as-run"]

# Why a verdict is not compared with a label.
REASONS = ("n_error", "n_not_applicable", "n_unlabelled", "n_label_not_applicable")


class LabelError(GroundjudgeError):
    """Labels, samples or calibrations that cannot be read, or cannot be used with the given options."""

    codes: ClassVar[Mapping[str, str]] = {
        "bad_option": "An option does not fit the verdicts. Read it in the message: graded labels need "
        "`--label-threshold`, and several judges or a panel need `--judge`.",
        "label_conflict": "One id has two different labels. Correct one, give the rows ids of their own, or "
        "say in each row's `annotator` who gave which.",
        "no_labels": "No row has the field for labels or groups. Name it with `--label` or `--group`.",
        "no_sample": "The labelled rows were drawn with known probabilities, without which figures lie. "
        "Give the file of the draw with `--sample`.",
        "no_threshold": "No threshold reaches the precision of `--at-least` with these labels. "
        "Take another judge or prompt, label more rows, or ask for less.",
        "outside_sample": "A labelled row was not drawn, or is of another draw, or has no verdict. "
        "Leave it out.",
        "too_few_labels": "The split lacks positive or negative rows, or a stratum of a drawn sample has no "
        "label. Label more, or use fewer `--folds`.",
        "unreadable_calibration": "`groundjudge calibrate` did not write it. Pass the file of its `--out`.",
        "unreadable_sample": "`groundjudge label` did not write it. Give its file `.sample.json`.",
        "unreadable_label": "A label is not a boolean, a number on the scale or one of the judge's labels. "
        "Correct it; if people use a label that no verdict has, name the prompt file with `--judge-file`.",
    }


@dataclass(frozen=True)
class LabelVocabulary:
    """The labels that a judge is known to answer with.

    Attributes:
        scores: each label's score, 0..1, by rising score; last those that mean "not applicable", with None.
        threshold: the lowest score of a label that counts as grounded, 0..1; None if it is not known.
    """

    scores: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    threshold: float | None = None

    def named(self, text: str) -> str | None:
        """The label that a text is, compared as a judge's replies are; None if it is not one."""
        return {fold_label(name): name for name in self.scores}.get(fold_label(text))


@dataclass(frozen=True)
class Labels:
    """Human labels and groups, by case id.

    Attributes:
        by_case: the label as it stands in the file. 1, true or yes: grounded; 0, false or no: not
            grounded; any other finite number: a grade, higher is better; one of the judge's own
            labels (see `labels_for`); None or "": no label; a mapping: one label per judge name, for
            built-in judges on the judge's own scale.
        groups: the group of each case. Cases of one group, such as the passages of one claim, are
            not independent; a case without an entry is a group of its own.
        vocabulary: what labels in words mean; None: as the verdicts show (see `learn_vocabulary`).
        n_same_context: the labelled rows with a context that another one has too; 0 if there are groups.
        samples: the draw that each case was labelled for, by case; also cases of which people could not tell.
        annotators: what each person said, by case; empty if labels do not say whose they are.
        drawn: the stratum and the weight of each case of a drawn sample (see `sample.weighted`).
    """

    by_case: Mapping[str, Any]
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    vocabulary: LabelVocabulary | None = None
    n_same_context: int = 0
    samples: Mapping[str, str] = field(default_factory=dict[str, str])
    annotators: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    drawn: Mapping[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])

    @property
    def seen(self) -> frozenset[str]:
        """The cases that people have looked at, also those of which they could not tell."""
        by_name = (given.keys() for given in self.annotators.values())
        return frozenset(self.by_case.keys() | self.samples.keys()).union(*by_name)

    def group_of(self, case_id: str | None) -> str:
        """The group of a case, which may be its own."""
        return self.groups.get(case_id or "", f"case {case_id}")


@dataclass(frozen=True)
class HumanLabel:
    """A label as people gave it.

    Attributes:
        number: 0 or 1, a grade, or a score, 0..1; None for "not applicable", and where there is no label.
        word: the judge's label that it is; None if people's labels are numbers or booleans.
    """

    number: float | None
    word: str | None = None


NO_SAMPLE = "the labels are of rows that were drawn: give the `sample`, without which figures are wrong"

# The label of a case that has none.
NO_LABEL = HumanLabel(None)


@dataclass(frozen=True)
class LabelledVerdict:
    """A verdict, and the label of its case.

    Attributes:
        people: the label that people gave; its number may be a value on the judge's own scale converted to
            0..1.
        said: the judge's label, if it is a known one; None for a panel whose votes have no common one.
        group: rows with the same group are not independent.
        drawn: the stratum and the weight of a case of a drawn sample; None for any other.
    """

    verdict: Verdict
    people: HumanLabel
    said: str | None
    group: str
    drawn: tuple[str, float] | None = None

    @property
    def case_id(self) -> str:
        """The id of the case, "" if it has none."""
        return self.verdict.case_id or ""

    @property
    def is_in_words(self) -> bool:
        """Whether people gave a label in words, and the judge did or its votes have no common one."""
        verdict, is_known = self.verdict, self.said is not None
        return bool(self.people.word) and verdict.status != "error" and (is_known or verdict.label is None)


@dataclass(frozen=True)
class JudgedRows:
    """The verdicts of one judge joined with the labels. Every verdict is counted exactly once.

    Attributes:
        labelled_rows: verdicts with a score and a label.
        unscored_rows: verdicts without a score, errors and "not applicable", whose case has a label
            with a number.
        counts: all but `labelled_rows`, by name:
            n_error: verdicts that should have a score but failed.
            n_not_applicable: verdicts on cases with nothing to judge.
            n_unlabelled: verdicts with a score whose case has no label.
            n_label_not_applicable: verdicts with a score whose label in words means "not applicable".
            n_unjudged: labelled cases without a verdict of this judge.
            n_repeated: earlier verdicts on a case that was judged again; only the last one counts.
        default_label_threshold: the lowest label, 0..1, that counts as grounded where labels are
            on the scale of a built-in judge (the judge's own threshold) or in words; otherwise None.
        worded_rows: the rows where people and judge gave a label in words, "not applicable" included; () if
            people's labels are numbers or booleans.
        vocabulary: what these labels mean.
        labels: what was joined.
    """

    judge: str
    labelled_rows: tuple[LabelledVerdict, ...]
    counts: Mapping[str, int]
    default_label_threshold: float | None
    unscored_rows: tuple[LabelledVerdict, ...] = ()
    worded_rows: tuple[LabelledVerdict, ...] = ()
    vocabulary: LabelVocabulary = field(default_factory=LabelVocabulary)
    labels: Labels = field(default_factory=lambda: Labels({}))


def read_labels(
    path: str | Path,
    key: str = "label",
    group: str | None = None,
    rows: Iterable[FileRow] | None = None,
) -> Labels:
    """Read labels from a file whose rows have an `id` and a label; the file of cases will do.

    Several people may have labelled a case, if each row says in `annotator` who: then the label that most of
    them gave counts, and none if two are as frequent.

    Args:
        path: JSON Lines, or a .csv, .tsv, .json or .parquet file.
        key: the field of a row, or of its `metadata`, that holds the label.
        group: the field that holds the group (see `Labels`), if there are groups.
        rows: the rows of the file, if they are read in another way than by `read_rows(path)`.

    Raises:
        OSError: the file cannot be opened or read.
        LabelError: `no_labels` if no row has the field `key`, or `group` where one is given;
            `label_conflict` if one person, or nobody in particular, gave a case two labels;
            `unreadable_label` for an unreadable row.
    """
    given: dict[str, dict[str, Any]] = {}
    found: dict[str, dict[str, str]] = {"sample": {}, "group": {}}
    contexts: Counter[int] = Counter()
    for number, row in enumerate(read_rows(path) if rows is None else rows, 1):
        if isinstance(row, CaseError):
            raise LabelError("unreadable_label", f"{path}: {row.message}", str(path))
        case_id, label, annotator = id_of(row, number), value_in(row, key), str(row.get("annotator") or "")
        label = None if isinstance(label, str) and not label.strip() else label
        before = given.setdefault(annotator, {}).setdefault(case_id, label)
        if _vote(before) != _vote(label):
            message = (
                f"{path}: {case_id!r} has two labels, {before!r} and {label!r}: correct one, "
                "or say in `annotator` who gave which"
            )
            raise LabelError("label_conflict", message, case_id)
        if label is not None:
            contexts.update(
                hash(str(text)) for name, text in row.items() if text and field_of(name) == "context"
            )
        for name, where in (("sample", "sample"), ("group", group)):
            if where and (value := value_in(row, where)) is not None:
                found[name][case_id] = str(value)
    by_case = _by_majority(given)
    has_labels = by_case or found["sample"]
    for option, wanted, of_rows in (("--label", key, has_labels), ("--group", group, found["group"])):
        if wanted and not of_rows:
            raise LabelError("no_labels", f"{path}: no row has a {wanted!r} field ({option})", str(path))
    people = {name: own for name, own in given.items() if name}
    shared = 0 if group else sum(count for count in contexts.values() if count > 1)
    return Labels(by_case, found["group"], n_same_context=shared, samples=found["sample"], annotators=people)


def _by_majority(given: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The label that most people gave to each case, without cases where two are as frequent.

    People who could not tell vote for that; rows without a label that nobody's name is on are none.
    """
    of_case: dict[str, list[Any]] = {}
    for annotator, own in given.items():
        for case_id, label in own.items():
            if annotator or label is not None:
                of_case.setdefault(case_id, []).append(label)
    found: dict[str, Any] = {}
    for case_id, labels in of_case.items():
        (first, count), *others = Counter(map(_vote, labels)).most_common(2)
        if first is not None and (not others or others[0][1] < count):
            found[case_id] = next(label for label in labels if _vote(label) == first)
    return found


def _vote(label: object) -> object:
    """What a label is counted as: 1, "1", 1.0 and true are one, and so are spellings of a word."""
    if label is None:
        return None
    number = _number(label)
    if number is not None:
        return number
    return fold_label(label) if isinstance(label, str) else repr(label)


def learn_vocabulary(verdicts: Sequence[Verdict], others: Sequence[Verdict] = ()) -> LabelVocabulary:
    """Learn what labels mean from verdicts that bear them.

    A panel's labels are those of its votes. A label's score is that of the verdicts with it; where scores
    are weighted by probabilities, it is their value. Labels that have several scores, as the names of bands
    do, are no labels in this sense.

    Args:
        verdicts: of one judge, or of judges with the same labels.
        others: further verdicts, for labels that the first ones do not have.
    """
    own, more = _outcomes(verdicts), _outcomes(others)
    known = {fold_label(name): (name, score) for one in (more, own) for name, score in _scores(one).items()}
    scores = dict(sorted(known.values(), key=_rising))
    return LabelVocabulary(scores, _threshold(own, scores))


def rubric_vocabulary(rubric: Rubric) -> LabelVocabulary:
    """The labels that a rubric knows: those of its scale, or the names of its levels; none without any."""
    levels = {
        name: None if value in rubric.not_applicable else rubric.scale.score(value)
        for value, name in rubric.levels.items()
    }
    known = dict(rubric.scale.choices) or levels
    return LabelVocabulary(dict(sorted(known.items(), key=_rising)), rubric.threshold)


def labels_for(judge: str, labels: Labels, words: LabelVocabulary) -> dict[str, HumanLabel]:
    """The labels for one judge by case id.

    If any label is one of the judge's in words, all text is read so: "Yes" may be the judge's label for
    what is not grounded, and so may 1 or true. Otherwise see `label_of`.

    Raises:
        LabelError: `unreadable_label`, also for a word that is not among the judge's labels.
    """
    texts = {case_id: _text(value, judge, words) for case_id, value in labels.by_case.items()}
    given = [text for text in texts.values() if text]
    # They are meant as the judge's labels if one of them is, or cannot be anything else.
    in_words = words.scores and any(words.named(text) or _number(text) is None for text in given)
    return {
        case_id: _in_words(texts[case_id], judge, case_id, words)
        if in_words and texts[case_id]
        else HumanLabel(label_of(value, judge, case_id))
        for case_id, value in labels.by_case.items()
    }


def find_grounded(
    judge: str, labels: Labels, vocabulary: LabelVocabulary, threshold: float | None = None
) -> dict[str, bool | None]:
    """Whether people call each case grounded, by id; None for a case without a label.

    A label that means "not applicable" counts as grounded, as such verdicts pass.

    Args:
        judge: whose terms labels may be in.
        labels: people's.
        vocabulary: what labels in words mean.
        threshold: the lowest label that means grounded; None: as for `agree`.

    Raises:
        LabelError: `unreadable_label`; `bad_option`: labels are grades, and there is no threshold.
    """
    people = labels_for(judge, labels, vocabulary)
    numbers = {label.number for label in people.values() if label.number is not None}
    if threshold is None:
        threshold = _default_label_threshold(judge, labels, people, vocabulary)
    if threshold is None and numbers - {0.0, 1.0}:
        message = "the labels are grades: give `label_threshold`, the lowest grade that means grounded"
        raise LabelError("bad_option", message, "label_threshold")
    lowest = 1.0 if threshold is None else threshold
    return {
        case_id: None if label == NO_LABEL else label.number is None or label.number >= lowest
        for case_id, label in people.items()
    }


def number_of(value: object, source: str) -> float | None:
    """Convert a label to a number: true and yes to 1, false and no to 0; None if it is empty.

    Args:
        value: a boolean, a finite number, a string that holds one, or None.
        source: what the error message names, such as the case's id.

    Raises:
        LabelError: `unreadable_label`.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    number = _number(value)
    return _unreadable(value, source) if number is None else number


def label_of(value: object, judge: str, source: str) -> float | None:
    """Convert an entry of `Labels.by_case` to the label for one judge; None if it has none.

    A mapping holds one label per judge. For a built-in judge that label is on the judge's own scale
    (a list: one value per sentence; a mapping: one value per part) and is converted to a score,
    0..1, in the same way as the judge's own values; for any other judge see `number_of`.

    Raises:
        LabelError: `unreadable_label`, also for a value outside the judge's scale.
    """
    own = value.get(judge) if is_mapping(value) else value
    rubric = _built_in(judge) if is_mapping(value) and own is not None else None
    return number_of(own, source) if rubric is None else _label_on_judge_scale(own, rubric, source)


def join(verdicts: Iterable[Verdict], labels: Labels, others: Iterable[Verdict] = ()) -> list[JudgedRows]:
    """Join verdicts with labels: one result per judge, sorted by judge name.

    Verdicts without a judge (rows that could not be read) are left out.

    Args:
        verdicts: of any judges.
        labels: people's labels.
        others: verdicts of further judges, to learn labels from that these judges did not give.

    Raises:
        LabelError: `unreadable_label` (see `labels_for`); `no_sample`: the labels are of a drawn sample, and
            do not say how each row counts (see `sample.weighted`).
    """
    if labels.samples and not labels.drawn:
        raise LabelError("no_sample", NO_SAMPLE, "sample")
    last = {judge: latest_verdicts(own) for judge, own in group_by_judge(verdicts).items() if judge}
    everything = [*chain.from_iterable(own for own, _ in last.values()), *others]
    return [
        _joined(judge, own, n_repeated, labels, labels.vocabulary or learn_vocabulary(own, everything))
        for judge, (own, n_repeated) in sorted(last.items())
    ]


def group_by_judge(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Verdicts by the name of their judge, in the order in which judges first appear."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.judge, []).append(verdict)
    return found


def _joined(
    judge: str, last: Sequence[Verdict], n_repeated: int, labels: Labels, words: LabelVocabulary
) -> JudgedRows:
    people = labels_for(judge, labels, words)
    rows = [
        LabelledVerdict(
            verdict=verdict,
            people=people.get(verdict.case_id or "", NO_LABEL),
            said=words.named(verdict.label or ""),
            group=labels.group_of(verdict.case_id),
            drawn=labels.drawn.get(verdict.case_id or ""),
        )
        for verdict in last
    ]
    excluded = Counter(map(_reason_to_exclude, rows))
    judged = {verdict.case_id for verdict in last}
    paired = tuple(row for row in rows if row.is_in_words)
    return JudgedRows(
        judge=judge,
        labelled_rows=tuple(row for row in rows if not _reason_to_exclude(row)),
        counts={
            **{reason: excluded[reason] for reason in REASONS},
            "n_unjudged": sum(label != NO_LABEL and id_ not in judged for id_, label in people.items()),
            "n_repeated": n_repeated,
        },
        default_label_threshold=_default_label_threshold(judge, labels, people, words),
        unscored_rows=tuple(
            row for row in rows if row.verdict.score is None and row.people.number is not None
        ),
        worded_rows=paired if any(row.said for row in paired) else (),
        vocabulary=words,
        labels=labels,
    )


def _default_label_threshold(
    judge: str, labels: Labels, people: Mapping[str, HumanLabel], words: LabelVocabulary
) -> float | None:
    """The lowest label, 0..1, that counts as grounded by itself (see `Joined`)."""
    if any(label.word for label in people.values()):
        return words.threshold
    rubric = _built_in(judge) if any(map(is_mapping, labels.by_case.values())) else None
    return rubric.threshold if rubric else None


def _reason_to_exclude(row: LabelledVerdict) -> str:
    """Why a verdict is not compared with a label; "" if it is."""
    if row.verdict.error:
        return "n_error"
    if row.verdict.score is None:
        return "n_not_applicable"
    if row.people.number is None:
        return "n_label_not_applicable" if row.people.word else "n_unlabelled"
    return ""


def _text(value: object, judge: str, words: LabelVocabulary) -> str:
    """An entry of `Labels.by_case` as text, numbers and booleans only if they are labels; "" for others."""
    own = value.get(judge) if is_mapping(value) else value
    if isinstance(own, bool | int):
        return words.named(str(own)) or ""
    return own.strip() if isinstance(own, str) else ""


def _number(value: object) -> float | None:
    """A boolean, number, word for one of them, or text of a number as a finite number; None if it is not."""
    if isinstance(value, str):
        value = BOOLEAN_WORDS.get(value.strip().casefold(), value)
    try:
        number = float(value) if isinstance(value, bool | int | float | str) else nan
    except (ValueError, OverflowError):  # an integer of hundreds of digits
        return None
    return number if isfinite(number) else None


def _in_words(text: str, judge: str, source: str, words: LabelVocabulary) -> HumanLabel:
    found = words.named(text)
    if found is None:
        message = (
            f"{source}: {text!r} is not among the known labels of {judge}: "
            f"{', '.join(map(repr, words.scores))}; if it has more, name its prompt file with --judge-file"
        )
        raise LabelError("unreadable_label", message, source)
    return HumanLabel(words.scores[found], found)


def _label_on_judge_scale(value: object, rubric: Rubric, source: str) -> float | None:
    """A label on the judge's own scale as a score, 0..1; None if it means "nothing to judge"."""
    parts = list(value.values()) if is_mapping(value) else list(value) if is_list(value) else [value]
    numbers = [number for part in parts if (number := number_of(part, source)) is not None]
    if not numbers or len(numbers) < len(parts) or not all(map(rubric.scale.holds, numbers)):
        _unreadable(value, f"{source}, {rubric.name} (scale {rubric.scale})")
    if numbers[0] in rubric.not_applicable:
        return None
    if len(numbers) > 1 and not (rubric.format.part_names or rubric.format.parts_are_sentences):
        _unreadable(value, f"{source}, {rubric.name} (a single value)")
    if rubric.passes == "weakest":
        return min(map(rubric.scale.score, numbers))
    reading = Reading(numbers[0], parts=tuple(PartReading("", number) for number in numbers))
    return rubric.format.score(reading, rubric.scale)


@cache
def _built_in(name: str) -> Rubric | None:
    """The rubric of a built-in judge; None for the name of any other judge."""
    return load_rubric(name) if name in names() else None


def value_in(row: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401  whatever the file holds
    """The value of a key of a row, or of its metadata; None if neither has it."""
    value = row.get(key)
    if value is None and is_mapping(metadata := row.get("metadata")):
        return metadata.get(key)
    return value


def _unreadable(value: object, source: str) -> NoReturn:
    message = f"{source}: the label {value!r} is neither a boolean nor a number on the scale"
    raise LabelError("unreadable_label", message, source)


def _rising(named: tuple[str, float | None]) -> tuple[bool, float, str]:
    name, score = named
    return score is None, score or 0.0, name


def _outcomes(verdicts: Iterable[Verdict]) -> list[VerdictOrVote]:
    """The verdicts of single judges, and the votes of panels, without errors."""
    everything = (one for verdict in verdicts for one in (verdict.votes or (verdict,)))
    return [one for one in everything if one.status != "error" and one.label not in NOT_LABELS]


def _scores(outcomes: Sequence[VerdictOrVote]) -> Mapping[str, float | None]:
    """The score of each label; {} if labels have several."""
    is_weighted = any(isinstance(one, Verdict) and one.label in (one.distribution or ()) for one in outcomes)
    by_score = {} if is_weighted else _one_each(outcomes, lambda one: one.score)
    return by_score or _one_each(outcomes, lambda one: one.value)


def _one_each(
    outcomes: Iterable[VerdictOrVote], number: Callable[[VerdictOrVote], float | None]
) -> dict[str, float | None]:
    """The number of each label; {} if a label has several, or one outside of 0..1."""
    found: dict[str, float | None] = {}
    for one in outcomes:
        own = None if one.status == "not_applicable" else number(one)
        if one.label and (found.setdefault(one.label, own) != own or not 0 <= (own or 0) <= 1):
            return {}
    return found


def _threshold(outcomes: Sequence[VerdictOrVote], scores: Mapping[str, float | None]) -> float | None:
    """The lowest score that passed, if no label's score lies between it and the highest that did not."""
    decided = [(score, one.passed) for one in outcomes if (score := deciding_score(one)) is not None]
    passed = [score for score, has_passed in decided if has_passed]
    failed = [score for score, has_passed in decided if not has_passed]
    if not passed:
        return None
    lowest, highest = min(passed), max(failed, default=-1.0)
    is_unclear = any(score is not None and highest < score < lowest for score in scores.values())
    return None if is_unclear or highest >= lowest else lowest
