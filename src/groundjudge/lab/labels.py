"""Human labels: read from a file, interpreted in a judge's terms, and joined with its verdicts.

A label is a number, a boolean or a word for one, or one of the labels in the judge's own prompt file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn

from groundjudge.case.data import is_absent, is_list, is_mapping
from groundjudge.case.fields import field_of, id_in
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.judging.judge import case_hash
from groundjudge.lab.brief import BriefVerdict, brief_verdict
from groundjudge.replies import PartReading, Reading
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.runs.rows import CaseFile, FileRow
from groundjudge.runs.run import case_of, id_of
from groundjudge.scale import fold_label
from groundjudge.verdict import Verdict, passes

# Maximum number of faults in a file of labels that a message names.
MAX_FAULTS = 10

# The words for 1 and 0, in lower case.
BOOLEAN_WORDS: Mapping[str, float] = {
    "true": 1.0,
    "yes": 1.0,
    "pass": 1.0,
    "false": 0.0,
    "no": 0.0,
    "fail": 0.0,
}

# Why a verdict is not compared with a label.
REASONS = ("n_error", "n_not_applicable", "n_unlabelled", "n_label_not_applicable")


class LabelError(GroundjudgeError):
    """Labels, samples or calibrations that cannot be read, or cannot be used with the given options."""

    codes: ClassVar[Mapping[str, str]] = {
        "bad_option": "An option does not fit the verdicts. The message names it: graded labels need "
        "`--label-threshold`, and several judges or a panel need `--judge`.",
        "label_conflict": "One id has two different labels. Correct one, give the rows different ids, or "
        "name the person who gave each label in the row's `annotator`.",
        "no_labels": "No row has the field for labels or groups. Name the field with `--label` or `--group`.",
        "no_sample": "The labelled rows were drawn with known probabilities, without which figures mislead. "
        "Pass the file of the draw with `--sample`.",
        "no_threshold": "No threshold reaches the precision of `--at-least`, or the `--accuracy` of a "
        "cascade, with these labels. Use another judge or prompt, label more rows, or require less.",
        "outside_sample": "A labelled row was not drawn, belongs to another draw, or has no verdict. "
        "Remove it from the labels.",
        "too_few_labels": "The split lacks positive or negative rows, or a stratum of a drawn sample has no "
        "label. Label more rows, or use fewer `--folds`.",
        "unreadable_calibration": "The file was not written by `groundjudge calibrate`. "
        "Pass the file from its `--out`.",
        "unreadable_sample": "The file was not written by `groundjudge label`. Pass its `.sample.json` file.",
        "unreadable_label": "A label is neither a number on the scale, nor yes or no, true or false, pass or "
        "fail, nor a label in the judge's prompt file. Correct it, or name the prompt file that defines it "
        "with `--judge-file`.",
    }


@dataclass(frozen=True)
class LabelVocabulary:
    """The labels that a judge's prompt file declares.

    Attributes:
        scores: each label's score, 0..1, by rising score, with "not applicable" (None) last.
        threshold: the lowest score of a label that counts as grounded, 0..1; None without labels.
    """

    scores: Mapping[str, float | None] = field(default_factory=dict[str, float | None])
    threshold: float | None = None

    def find_label(self, value: object) -> str | None:
        """Find the label that a value means, compared like a judge's replies; None if there isn't one."""
        if isinstance(value, float) and value.is_integer():  # from a column with gaps
            value = int(value)
        if not isinstance(value, str | int):
            return None
        return _labels_by_folded(tuple(self.scores)).get(fold_label(str(value)))


@cache
def _labels_by_folded(labels: tuple[str, ...]) -> Mapping[str, str]:
    """Labels by their normalised text. A million rows look up the same few."""
    return {fold_label(label): label for label in labels}


class DrawnRow(NamedTuple):
    """How a row of a drawn sample counts.

    Attributes:
        stratum: the name of the stratum that it was drawn from.
        weight: the inverse of the probability with which it was drawn.
    """

    stratum: str
    weight: float


@dataclass(frozen=True)
class Labels:
    """Human labels and groups, by case id.

    Attributes:
        by_case: the label as written in the file. 1, true, yes or pass: grounded; 0, false, no or fail:
            not grounded; any other finite number: a grade, higher is better; one of the judge's own
            labels (see `labels_for`); None, "" or NaN: no label; a mapping: one label per judge name, for
            built-in judges on the judge's own scale.
        groups: the group of each case. Cases of one group, such as the passages of one claim, are
            not independent; a case without an entry is its own group.
        vocabulary: what labels in words mean; None: what they mean in the prompt file of the built-in judge
            that they are compared with (see `rubric_vocabulary`).
        n_same_context: the number of labelled cases that share a context with another; 0 if there are groups.
        n_without_id: the number of labelled rows without an id, which count for the case at that position.
        samples: the draw that each case was labelled for, by case, even if people could not tell.
        annotators: what each person said, by case; empty if labels do not say who gave them.
        drawn_rows: how each case of a drawn sample counts (see `sample.weight_labels`).
        contents: the hash of each labelled row that is a whole case, as verdicts have it (`case_hash`).
    """

    by_case: Mapping[str, Any]
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    vocabulary: LabelVocabulary | None = None
    n_same_context: int = 0
    n_without_id: int = 0
    samples: Mapping[str, str] = field(default_factory=dict[str, str])
    annotators: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    drawn_rows: Mapping[str, DrawnRow] = field(default_factory=dict[str, DrawnRow])
    contents: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def reviewed_ids(self) -> frozenset[str]:
        """The cases that people have looked at, including those where they could not tell."""
        case_ids = frozenset(self.by_case.keys() | self.samples.keys())
        ids_of_people = [labels_of_person.keys() for labels_of_person in self.annotators.values()]
        return case_ids.union(*ids_of_people)

    def group_of(self, case_id: str | None) -> str:
        """Return the group of a case, which may be its own."""
        return self.groups.get(case_id or "", f"case {case_id}")

    def weight_of(self, case_id: str) -> float:
        """Return how many rows a labelled case represents: 1 unless it was drawn."""
        if not self.drawn_rows:
            return 1.0
        return self.drawn_rows[case_id].weight


@dataclass(frozen=True)
class HumanLabel:
    """A label as people gave it.

    Attributes:
        number: 0 or 1, a grade, or a score, 0..1; None for "not applicable" and without a label.
        word: the judge's label that it means; None if people's labels are numbers or booleans.
    """

    number: float | None
    word: str | None = None


NO_SAMPLE = "the labelled rows were drawn: pass the `sample`, without which figures are wrong"

# The label of a case without one.
NO_LABEL = HumanLabel(None)


class LabelledVerdict(NamedTuple):
    """A verdict, and the label of its case.

    Attributes:
        verdict: what figures need of the verdict.
        human_label: the label that people gave; its number may be a value on the judge's own scale converted
            to 0..1.
        judge_label: the judge's label, if it is known; None for a panel whose votes have no label in common.
        group: rows with the same group are not independent.
        drawn_row: how a case of a drawn sample counts; None for any other.
    """

    verdict: BriefVerdict
    human_label: HumanLabel
    judge_label: str | None
    group: str
    drawn_row: DrawnRow | None = None

    @property
    def case_id(self) -> str:
        """The id of the case, "" if it has none."""
        return self.verdict.case_id or ""

    @property
    def is_in_words(self) -> bool:
        """Whether people's label is a word, and the judge's is too or its votes have none in common."""
        if not self.human_label.word or self.verdict.status == "error":
            return False
        return self.judge_label is not None or self.verdict.label is None


@dataclass(frozen=True)
class JudgedRows:
    """The verdicts of one judge joined with the labels. Every verdict is counted exactly once.

    Attributes:
        labelled_rows: verdicts with a score and a label.
        unscored_rows: verdicts without a score (errors and "not applicable") whose case has a label
            with a number.
        counts: the number of all others, by name:
            n_error: verdicts that should have a score but failed.
            n_not_applicable: verdicts on cases with nothing to judge.
            n_unlabelled: verdicts with a score whose case has no label.
            n_label_not_applicable: verdicts with a score whose label is a word for "not applicable".
            n_unjudged: labelled cases without a verdict of this judge.
            n_repeated: earlier verdicts on a case that was judged again; only the last one counts.
        default_label_threshold: the lowest label that counts as grounded (see `JudgeLabels.threshold`).
        worded_rows: the rows where people's and the judge's labels are words, even "not applicable"; () if
            people's labels are numbers or booleans.
        labels: the labels that were joined.
    """

    judge: str
    labelled_rows: Sequence[LabelledVerdict]
    counts: Mapping[str, int]
    default_label_threshold: float | None
    unscored_rows: Sequence[LabelledVerdict] = ()
    worded_rows: Sequence[LabelledVerdict] = ()
    labels: Labels = field(default_factory=lambda: Labels({}))


def read_labels(
    path: str | Path,
    key: str = "label",
    group: str | None = None,
    rows: Iterable[FileRow] | None = None,
) -> Labels:
    """Read labels from a file whose rows have an `id` and a label; it can be the file of cases.

    Several people may label a case if each row, or its `metadata`, names the person in `annotator`: the most
    frequent label counts, and none if two are equally frequent.

    Args:
        path: JSON Lines, or a .csv, .tsv, .json or .parquet file.
        key: the field of a row, or of its `metadata`, that contains the label.
        group: the field that contains the group (see `Labels`), if there are groups.
        rows: the rows of the file, if not read by `CaseFile(path).rows()`.

    Raises:
        OSError: the file cannot be opened or read.
        LabelError: `no_labels` if no row has the field `key`, or the field `group` if one is passed;
            `label_conflict` if a case has two labels by one person, or by no named person, or if no case has
            a most frequent label;
            `unreadable_label` for an unreadable row. The message names all such rows, up to ten.
    """
    labels_by_annotator: dict[str, dict[str, Any]] = {}
    samples: dict[str, str] = {}
    groups: dict[str, str] = {}
    contents: dict[str, str] = {}
    case_by_context: dict[int, str] = {}
    same_context: set[str] = set()
    n_without_id = 0
    faults: list[LabelError] = []
    fields = [("sample", samples)]
    if group is not None:
        fields.append((group, groups))
    if rows is None:
        rows = CaseFile(path).rows()
    for number, row in enumerate(rows, 1):
        if isinstance(row, CaseError):
            faults.append(LabelError("unreadable_label", row.message, str(path)))
            continue
        case_id = id_of(row, number)
        for name, texts in fields:
            value = value_in(row, name)
            if value is not None:
                texts[case_id] = str(value)
        annotator, label = _read_label(row, key)
        if label is None and annotator == "":
            continue  # a row with neither a label nor a person says nothing
        # A case may appear in several rows if all of them have the same label.
        labels_of_person = labels_by_annotator.setdefault(annotator, {})
        first_label = labels_of_person.setdefault(case_id, label)
        if _comparable(first_label) != _comparable(label):
            message = f"row {number}: {case_id!r} has two labels, {first_label!r} and {label!r}"
            faults.append(LabelError("label_conflict", message, case_id))
            continue
        if label is not None:
            n_without_id += id_in(row) is None
            content = _content_hash(row, number)
            if content:
                contents[case_id] = content
            same_context |= _find_sharing(row, case_id, case_by_context)
    _raise_faults(faults, f"{path}: ")
    labels_by_case = _labels_by_case(labels_by_annotator)
    by_case = _majority_labels(labels_by_case)
    if not (by_case or samples):
        _refuse_no_labels(path, key, labels_by_case)
    if group and not groups:
        raise LabelError(
            "no_labels", f"{path}: no row has a {group!r} field: name the group's field (--group)", str(path)
        )
    # If the caller names groups, a shared context does not mean that a group is missing.
    if group:
        same_context.clear()
    # Labels without a person show nothing about how well people agree.
    labels_by_annotator.pop("", None)
    return Labels(
        by_case,
        groups,
        n_same_context=len(same_context),
        n_without_id=n_without_id,
        samples=samples,
        annotators=labels_by_annotator,
        contents=contents,
    )


def _read_label(row: Mapping[str, Any], key: str) -> tuple[str, Any]:
    """Read who labelled a row, "" for nobody in particular, and the label, None for no label."""
    annotator = value_in(row, "annotator")
    if _is_no_label(annotator):
        annotator = ""
    label = value_in(row, key)
    if _is_no_label(label):
        label = None
    return str(annotator), label


def _refuse_no_labels(path: str | Path, key: str, labels_by_case: Mapping[str, Sequence[Any]]) -> NoReturn:
    """Raise an error that says why no case has a label."""
    for case_id, labels in labels_by_case.items():
        names = [repr(label) for label in labels if label is not None]
        if names:
            message = (
                f"{path}: no case has a label that most of its annotators gave, such as {case_id!r} "
                f"({', '.join(names)}): let another person label it"
            )
            raise LabelError("label_conflict", message, case_id)
    raise LabelError(
        "no_labels", f"{path}: no row has a {key!r} field: name the label's field (--label)", str(path)
    )


def _content_hash(row: Mapping[str, Any], number: int) -> str:
    """Return the hash of a row that is a whole case, as verdicts have it; "" for any other row."""
    try:
        case = case_of(row, number)
    except CaseError:
        return ""
    is_whole = case.response is not None and (case.context or case.reference or case.profile)
    return case_hash(case, ()) if is_whole else ""


def _raise_faults(faults: Sequence[LabelError], source: str = "") -> None:
    """Raise all faults of labels as one error, so that they can be corrected together.

    Args:
        faults: an error for each unusable label or row; if there are none, nothing is raised.
        source: the beginning of the message.
    """
    if not faults:
        return
    messages = [fault.message for fault in faults[:MAX_FAULTS]]
    message = "; ".join(messages)
    if len(faults) > MAX_FAULTS:
        message += f"; and {len(faults) - MAX_FAULTS} more"
    if len(faults) > 1:
        message = f"{len(faults)} faults: {message}"
    codes = {fault.code for fault in faults}
    if "label_conflict" in codes:
        message += ". If an id has two labels, correct one, or name who gave each in `annotator`"
    code = faults[0].code if len(codes) == 1 else "unreadable_label"
    raise LabelError(code, source + message, faults[0].subject)


def _find_sharing(row: Mapping[str, Any], case_id: str, case_by_context: dict[int, str]) -> set[str]:
    """Return the case of a row and each earlier case with the same context; none if there is no such case.

    Args:
        row: the row.
        case_id: its case.
        case_by_context: the first case with each context, to which the row is added.
    """
    sharing: set[str] = set()
    for name, value in row.items():
        if value and field_of(name) == "context":
            # Contexts may be too long to keep.
            first_case = case_by_context.setdefault(hash(str(value)), case_id)
            if first_case != case_id:
                sharing |= {first_case, case_id}
    return sharing


def _labels_by_case(labels_by_annotator: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Sequence[Any]]:
    """Collect the labels that people gave each case; None from a person who could not tell."""
    labels_by_case: dict[str, list[Any]] = {}
    for labels_of_person in labels_by_annotator.values():
        for case_id, label in labels_of_person.items():
            labels_by_case.setdefault(case_id, []).append(label)
    return labels_by_case


def _majority_labels(labels_by_case: Mapping[str, Sequence[Any]]) -> Mapping[str, Any]:
    """Find the most frequent label of each case, omitting cases where two are equally frequent.

    People who could not tell vote for that.
    """
    majority_labels: dict[str, Any] = {}
    for case_id, labels in labels_by_case.items():
        values = [_comparable(label) for label in labels]
        most_common = Counter(values).most_common(2)
        winner, n_winner = most_common[0]
        is_tie = len(most_common) > 1 and most_common[1][1] == n_winner
        if winner is not None and not is_tie:
            majority_labels[case_id] = labels[values.index(winner)]
    return majority_labels


def _comparable(label: object) -> object:
    """Normalise a label for counting: 1, "1", 1.0 and true are the same, as are spellings of a word."""
    if label is None:
        return None
    number = _finite_number(label)
    if number is not None:
        return number
    if isinstance(label, str):
        return fold_label(label)
    return repr(label)  # one label per judge is a mapping, which cannot be counted because it is not hashable


def rubric_vocabulary(rubric: Rubric) -> LabelVocabulary:
    """Return the labels that a rubric defines: those of its scale, or the names of its levels, if any."""
    scores: dict[str, float | None] = dict(rubric.scale.choices)
    if not scores:
        for value, name in rubric.levels.items():
            scores[name] = None if value in rubric.not_applicable else rubric.scale.score(value)
    rising = sorted(scores, key=lambda name: (scores[name] is None, scores[name] or 0.0, name))
    return LabelVocabulary({name: scores[name] for name in rising}, rubric.threshold)


def vocabulary_of(judge: str, labels: Labels) -> LabelVocabulary:
    """Say what labels in words mean for a judge: as the caller says, or as a built-in judge's file says."""
    if labels.vocabulary is not None:
        return labels.vocabulary
    if judge not in names():
        return LabelVocabulary()
    return rubric_vocabulary(load_rubric(judge))


@dataclass(frozen=True)
class JudgeLabels:
    """People's labels in the terms of one judge.

    Attributes:
        by_case: the label of each case.
        vocabulary: what labels in words mean.
        threshold: the lowest label that counts as grounded: as passed, or else that of the vocabulary if
            labels are words, the judge's own if they are on its scale, and 1 if they are all 0 or 1; None
            for grades.
    """

    by_case: Mapping[str, HumanLabel]
    vocabulary: LabelVocabulary
    threshold: float | None

    def add_to(self, verdict: BriefVerdict, labels: Labels) -> LabelledVerdict:
        """Add its label to a verdict of this judge, on a case with a label."""
        case_id = verdict.case_id or ""
        return LabelledVerdict(
            verdict=verdict,
            human_label=self.by_case[case_id],
            judge_label=self.vocabulary.find_label(verdict.label),
            group=labels.group_of(case_id),
            drawn_row=labels.drawn_rows.get(case_id),
        )


def labels_for(judge: str, labels: Labels, threshold: float | None = None) -> JudgeLabels:
    """Read people's labels in the terms of one judge.

    If any label is one of the judge's words, all text is read that way: "Yes" may be the judge's label for
    what is not grounded, and so may 1 or true. A mapping has one label per judge: for a built-in judge, one
    of its words or a value on its own scale (see `_label_on_scale`).

    Args:
        judge: the judge's name.
        labels: people's labels.
        threshold: the lowest label that means grounded; None: what the labels imply.

    Raises:
        LabelError: `unreadable_label`, including a value off the judge's scale, and words that are neither a
            boolean nor a label of the judge. The message says how often each of the words occurs.
    """
    vocabulary = vocabulary_of(judge, labels)
    rubric = load_rubric(judge) if judge in names() else None
    values: dict[str, object] = {}
    for case_id, label in labels.by_case.items():
        values[case_id] = label.get(judge) if is_mapping(label) else label
    are_words = any(vocabulary.find_label(value) for value in values.values())
    by_case: dict[str, HumanLabel] = {}
    on_scale: list[object] = []
    unknown_words: Counter[str] = Counter()
    faults: list[LabelError] = []
    for case_id, value in values.items():
        word = vocabulary.find_label(value)
        number = _finite_number(value)
        if word is not None:
            by_case[case_id] = HumanLabel(vocabulary.scores[word], word)
        elif _is_no_label(value):
            by_case[case_id] = NO_LABEL
        elif isinstance(value, str) and (are_words or number is None):
            unknown_words[value.strip()] += 1
        elif are_words and not is_mapping(labels.by_case[case_id]):
            unknown_words[str(value)] += 1
        elif rubric is not None and is_mapping(labels.by_case[case_id]):
            on_scale.append(value)
            try:
                by_case[case_id] = _label_on_scale(value, rubric, case_id)
            except LabelError as error:
                faults.append(error)
        elif number is None:
            message = f"{case_id}: the label {value!r} is neither a boolean nor a number"
            faults.append(LabelError("unreadable_label", message, case_id))
        else:
            by_case[case_id] = HumanLabel(number)
    if unknown_words:
        _refuse_words(unknown_words, judge, vocabulary)
    _raise_faults(faults)
    if rubric is not None and on_scale and rubric.scale.best != 1:
        _refuse_zeros_and_ones(on_scale, rubric)
    if threshold is None and are_words:
        threshold = vocabulary.threshold
    elif threshold is None and rubric is not None and on_scale:
        threshold = rubric.threshold
    elif threshold is None and {label.number for label in by_case.values()} <= {0.0, 1.0, None}:
        threshold = 1.0
    return JudgeLabels(by_case, vocabulary, threshold)


def _label_on_scale(value: object, rubric: Rubric, case_id: str) -> HumanLabel:
    """Convert a label on a judge's own scale to a score, 0..1, like the judge's own values.

    A list has one value per sentence, of which the lowest counts, and a mapping one value per part.

    Raises:
        LabelError: `unreadable_label`.
    """
    values: Sequence[object] = [value]
    if value and is_list(value) and rubric.format.parts_are_sentences:
        values = value
    elif value and is_mapping(value) and set(value) == set(rubric.format.part_names):
        values = list(value.values())
    parts: list[PartReading] = []
    for part in values:
        number = _finite_number(part)
        # On a scale of 1 to 5, true would be the worst value.
        is_ambiguous = str(part).strip().casefold() in BOOLEAN_WORDS and rubric.scale.best != 1
        if number is None or is_ambiguous or not rubric.scale.holds(number):
            expected = f"a value on the scale of {rubric.name}, {rubric.scale}"
            if rubric.format.part_names:
                expected += f", for each of {', '.join(rubric.format.part_names)}"
            raise LabelError("unreadable_label", f"{case_id}: the label {value!r} is not {expected}", case_id)
        parts.append(PartReading("", number))
    first = parts[0].value
    if first in rubric.not_applicable:
        return NO_LABEL
    return HumanLabel(rubric.format.score(Reading(first, parts=tuple(parts)), rubric.scale))


def _refuse_zeros_and_ones(values: Iterable[object], rubric: Rubric) -> None:
    """Refuse labels on a judge's scale that are all 0 or 1: they more likely mean grounded or not."""
    if all(_finite_number(value) in {0, 1} for value in values):
        message = (
            f"all labels of {rubric.name} are 0 or 1, but its scale is {rubric.scale}: if 1 means grounded, "
            "write the label without the judge's name"
        )
        raise LabelError("unreadable_label", message, rubric.name)


def _refuse_words(counts: Counter[str], judge: str, vocabulary: LabelVocabulary) -> NoReturn:
    """Raise an error that names each word that is not a label, and how often it occurs."""
    words: list[str] = []
    for word, count in counts.most_common(MAX_FAULTS):
        words.append(f"{word!r} ({count} {'row' if count == 1 else 'rows'})")
    if len(counts) > MAX_FAULTS:
        words.append(f"and {len(counts) - MAX_FAULTS} more")
    labels = "a number, yes or no, true or false, or pass or fail"
    if vocabulary.scores:
        known_labels = ", ".join(repr(name) for name in vocabulary.scores)
        labels = f"a label of {judge} ({known_labels})"
    message = (
        f"{', '.join(words)}: not {labels}; correct the label, choose its judge with --judge, or name the "
        "prompt file that defines it with --judge-file"
    )
    raise LabelError("unreadable_label", message, next(iter(counts)))


def find_grounded(judge: str, labels: Labels, threshold: float | None = None) -> dict[str, bool]:
    """Say whether people call each case with a label grounded, by id.

    A label that means "not applicable" counts as grounded, because such verdicts pass.

    Args:
        judge: the judge whose terms labels may be in.
        labels: people's labels.
        threshold: the lowest label that means grounded; None: as for `agree`.

    Raises:
        LabelError: `unreadable_label`; `bad_option`: labels are grades without a threshold.
    """
    judge_labels = labels_for(judge, labels, threshold)
    if judge_labels.threshold is None:
        message = "the labels are grades: pass `label_threshold`, the lowest grade that means grounded"
        raise LabelError("bad_option", message, "label_threshold")
    grounded: dict[str, bool] = {}
    for case_id, label in judge_labels.by_case.items():
        if label.number is not None:
            grounded[case_id] = passes(label.number, judge_labels.threshold)
        elif label != NO_LABEL:
            grounded[case_id] = True
    return grounded


def check_weights(labels: Labels) -> None:
    """Refuse labels of a drawn sample that do not say how each row counts.

    Raises:
        LabelError: `no_sample`.
    """
    if labels.samples and not labels.drawn_rows:
        raise LabelError("no_sample", NO_SAMPLE, "sample")


def join(verdicts: Iterable[Verdict], labels: Labels) -> list[JudgedRows]:
    """Join verdicts with labels: one result per judge, sorted by judge name.

    Verdicts without a judge (rows that could not be read) are left out. Verdicts whose case has no label
    are only counted.

    Args:
        verdicts: of any judges.
        labels: people's labels.

    Raises:
        LabelError: `unreadable_label` (see `labels_for`); `no_sample`: the labels come from a drawn
            sample, and do not say how each row counts (see `sample.weight_labels`).
    """
    check_weights(labels)
    latest = latest_verdicts(verdicts)
    labelled: dict[str, list[BriefVerdict]] = {}
    counts: dict[str, Counter[str]] = {}
    for judge in latest.judges:
        labelled[judge] = []
        counts[judge] = Counter(n_repeated=latest.n_repeated.get(judge, 0))
    for verdict in latest:
        if not verdict.judge:
            continue
        if verdict.case_id in labels.by_case:
            labelled[verdict.judge].append(brief_verdict(verdict, with_explanation=True))
        else:
            counts[verdict.judge][_reason_to_exclude(verdict, NO_LABEL) or ""] += 1
    return [join_judge(judge, labelled[judge], labels, counts[judge]) for judge in latest.judges]


def join_judge(
    judge: str, verdicts: Iterable[BriefVerdict], labels: Labels, counts: Mapping[str, int] | None = None
) -> JudgedRows:
    """Join one judge's verdicts, each on a case with a label, with the labels.

    Args:
        judge: the judge.
        verdicts: its verdicts, one per case.
        labels: people's labels.
        counts: how many other verdicts it has, by reason; None: there are no others.

    Raises:
        LabelError: `unreadable_label` (see `labels_for`).
    """
    judge_labels = labels_for(judge, labels)
    all_counts = dict.fromkeys(REASONS, 0) | dict(counts or {})
    all_counts["n_unjudged"] = sum(label != NO_LABEL for label in judge_labels.by_case.values())
    labelled_rows: list[LabelledVerdict] = []
    unscored_rows: list[LabelledVerdict] = []
    worded_rows: list[LabelledVerdict] = []
    for verdict in verdicts:
        row = judge_labels.add_to(verdict, labels)
        reason = _reason_to_exclude(verdict, row.human_label)
        if reason is None:
            labelled_rows.append(row)
        else:
            all_counts[reason] += 1
        if row.human_label != NO_LABEL:
            all_counts["n_unjudged"] -= 1
        if verdict.score is None and row.human_label.number is not None:
            unscored_rows.append(row)
        if row.is_in_words:
            worded_rows.append(row)
    # Words are only compared with words, and a judge that answers with numbers has none.
    if all(row.judge_label is None for row in worded_rows):
        worded_rows = []
    return JudgedRows(
        judge=judge,
        labelled_rows=labelled_rows,
        counts=all_counts,
        default_label_threshold=judge_labels.threshold,
        unscored_rows=unscored_rows,
        worded_rows=worded_rows,
        labels=labels,
    )


def _reason_to_exclude(verdict: Verdict | BriefVerdict, label: HumanLabel) -> str | None:
    """Say why a verdict is not compared with the label of its case; None if it is."""
    if verdict.status == "error":
        return "n_error"
    if verdict.score is None:
        return "n_not_applicable"
    if label.number is not None:
        return None
    if label.word:
        return "n_label_not_applicable"
    return "n_unlabelled"


def _is_no_label(value: object) -> bool:
    """Whether a value means that there is no label: None, NaN, or text that is blank or "nan"."""
    if isinstance(value, str):
        return value.strip().casefold() in {"", "nan"}  # pandas' `astype(str)` turns an empty cell into "nan"
    return is_absent(value)


def _finite_number(value: object) -> float | None:
    """Convert a boolean, a number, or text that means either to a finite number; None for others."""
    if isinstance(value, str):
        value = BOOLEAN_WORDS.get(value.strip().casefold(), value)
    if not isinstance(value, bool | int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):  # an integer of hundreds of digits
        return None
    return number if isfinite(number) else None


def value_in(row: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401  any value in the file
    """Return the value of a key in a row or its metadata; None if neither has it."""
    value = row.get(key)
    if value is not None:
        return value
    metadata = row.get("metadata")
    if is_mapping(metadata):
        return metadata.get(key)
    return None
