"""Human labels: read from a file, in the terms of a judge, and joined with its verdicts.

What labels in words mean is learnt from the judge's verdicts, or read from its prompt file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn, TypeAlias

from groundjudge.case.data import is_list, is_mapping
from groundjudge.case.fields import field_of, id_in
from groundjudge.errors import CaseError, GroundjudgeError
from groundjudge.lab.brief import BriefVerdict, brief_verdict
from groundjudge.replies import PartReading, Reading
from groundjudge.rubric.load import load_rubric, names
from groundjudge.rubric.rubric import Rubric
from groundjudge.runs.latest_verdicts import latest_verdicts
from groundjudge.runs.rows import FileRow, read_rows
from groundjudge.runs.run import id_of
from groundjudge.scale import fold_label
from groundjudge.verdict import Verdict, Vote, deciding_score

# What verdicts on a missing or blank response have in place of a label.
NOT_LABELS = frozenset({"no_response", "empty_response"})

# What bears a label: the verdict of a single judge, or a vote.
VerdictOrVote: TypeAlias = Verdict | Vote

# How many faults of a file of labels a message names.
MOST_FAULTS = 10

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
        "no_threshold": "No threshold reaches the precision of `--at-least`, or the `--accuracy` of a "
        "cascade, with these labels. Take another judge or prompt, label more rows, or ask for less.",
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

    def find_label(self, text: str) -> str | None:
        """The label that a text is, compared as a judge's replies are; None if it is not one."""
        labels = {fold_label(label): label for label in self.scores}
        return labels.get(fold_label(text))


class DrawnRow(NamedTuple):
    """How a row of a drawn sample counts.

    Attributes:
        stratum: the name of the stratum that it was drawn from.
        weight: one over the probability with which it was drawn.
    """

    stratum: str
    weight: float


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
        n_without_id: the labelled rows without an id, which count for the case at the same place of its file.
        samples: the draw that each case was labelled for, by case; also cases of which people could not tell.
        annotators: what each person said, by case; empty if labels do not say whose they are.
        drawn_rows: how each case of a drawn sample counts (see `sample.weight_labels`).
    """

    by_case: Mapping[str, Any]
    groups: Mapping[str, str] = field(default_factory=dict[str, str])
    vocabulary: LabelVocabulary | None = None
    n_same_context: int = 0
    n_without_id: int = 0
    samples: Mapping[str, str] = field(default_factory=dict[str, str])
    annotators: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    drawn_rows: Mapping[str, DrawnRow] = field(default_factory=dict[str, DrawnRow])

    @property
    def reviewed_ids(self) -> frozenset[str]:
        """The cases that people have looked at, also those of which they could not tell."""
        case_ids = frozenset(self.by_case.keys() | self.samples.keys())
        ids_of_people = [labels_of_person.keys() for labels_of_person in self.annotators.values()]
        return case_ids.union(*ids_of_people)

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


@dataclass(frozen=True, slots=True)
class LabelledVerdict:
    """A verdict, and the label of its case.

    Attributes:
        verdict: what figures need of it.
        human_label: the label that people gave; its number may be a value on the judge's own scale converted
            to 0..1.
        judge_label: the judge's label, if it is a known one; None for a panel whose votes have no common one.
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
        """Whether people gave a label in words, and the judge did or its votes have no common one."""
        if not self.human_label.word or self.verdict.status == "error":
            return False
        return self.judge_label is not None or self.verdict.label is None


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
            `unreadable_label` for an unreadable row. The message names all such rows, up to ten.
    """
    labels_by_annotator: dict[str, dict[str, Any]] = {}
    samples: dict[str, str] = {}
    groups: dict[str, str] = {}
    context_counts: Counter[int] = Counter()
    n_without_id = 0
    faults: list[LabelError] = []
    file_rows = read_rows(path) if rows is None else rows
    for number, row in enumerate(file_rows, 1):
        if isinstance(row, CaseError):
            faults.append(LabelError("unreadable_label", row.message, str(path)))
            continue
        case_id = id_of(row, number)
        annotator = str(row.get("annotator") or "")
        label = value_in(row, key)
        if isinstance(label, str) and not label.strip():
            label = None
        # A case may stand in several rows, if all of them have one label.
        first_label = labels_by_annotator.setdefault(annotator, {}).setdefault(case_id, label)
        if _comparable(first_label) != _comparable(label):
            message = f"row {number}: {case_id!r} has two labels, {first_label!r} and {label!r}"
            faults.append(LabelError("label_conflict", message, case_id))
            continue
        if label is not None:
            context_counts.update(_context_hashes(row))
            if id_in(row) is None:
                n_without_id += 1
        sample = value_in(row, "sample")
        if sample is not None:
            samples[case_id] = str(sample)
        group_name = value_in(row, group) if group else None
        if group_name is not None:
            groups[case_id] = str(group_name)
    _raise_faults(faults, f"{path}: ")
    by_case = _majority_labels(labels_by_annotator)
    if key and not (by_case or samples):
        raise LabelError("no_labels", f"{path}: no row has a {key!r} field (--label)", str(path))
    if group and not groups:
        raise LabelError("no_labels", f"{path}: no row has a {group!r} field (--group)", str(path))
    # Where the caller names groups, a context that rows share is no sign that one is missing.
    n_same_context = 0
    if not group:
        n_same_context = sum(count for count in context_counts.values() if count > 1)
    # Rows that do not say whose label they have are nobody's: they show nothing of how people agree.
    labels_by_annotator.pop("", None)
    return Labels(
        by_case,
        groups,
        n_same_context=n_same_context,
        n_without_id=n_without_id,
        samples=samples,
        annotators=labels_by_annotator,
    )


def _raise_faults(faults: Sequence[LabelError], source: str = "") -> None:
    """Raise all that is wrong with labels as one error, so that it can be corrected at once.

    Args:
        faults: an error for each label or row that cannot be used; none: nothing is raised.
        source: what the message begins with.
    """
    if not faults:
        return
    messages = [fault.message for fault in faults[:MOST_FAULTS]]
    message = "; ".join(messages)
    if len(faults) > MOST_FAULTS:
        message += f"; and {len(faults) - MOST_FAULTS} more"
    if len(faults) > 1:
        message = f"{len(faults)} faults: {message}"
    codes = {fault.code for fault in faults}
    if "label_conflict" in codes:
        message += ". Of two labels of one id correct one, or say in `annotator` who gave which"
    code = faults[0].code if len(codes) == 1 else "unreadable_label"
    raise LabelError(code, source + message, faults[0].subject)


def _context_hashes(row: Mapping[str, Any]) -> list[int]:
    """What stands for each context of a row; contexts may be too long to be kept."""
    hashes: list[int] = []
    for name, value in row.items():
        if value and field_of(name) == "context":
            hashes.append(hash(str(value)))
    return hashes


def _majority_labels(labels_by_annotator: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The label that most people gave to each case, without cases where two are as frequent.

    People who could not tell vote for that; rows without a label that nobody's name is on are none.
    """
    labels_by_case: dict[str, list[Any]] = {}
    for annotator, labels_of_person in labels_by_annotator.items():
        for case_id, label in labels_of_person.items():
            if annotator or label is not None:
                labels_by_case.setdefault(case_id, []).append(label)
    majority_labels: dict[str, Any] = {}
    for case_id, labels in labels_by_case.items():
        counts = Counter(_comparable(label) for label in labels)
        most_common = counts.most_common(2)
        winner, n_winner = most_common[0]
        is_tie = len(most_common) > 1 and most_common[1][1] == n_winner
        if winner is None or is_tie:
            continue
        for label in labels:
            if _comparable(label) == winner:
                majority_labels[case_id] = label
                break
    return majority_labels


def _comparable(label: object) -> object:
    """What a label is counted as: 1, "1", 1.0 and true are one, and so are spellings of a word."""
    if label is None:
        return None
    number = _finite_number(label)
    if number is not None:
        return number
    if isinstance(label, str):
        return fold_label(label)
    return repr(label)


@dataclass
class LabelMeanings:
    """What verdicts show of the labels that they bear, counted one verdict at a time.

    A panel's labels are those of its votes.

    Attributes:
        scores: each label's score, None if it means "not applicable".
        values: each label's value, likewise.
        have_single_scores: whether each label has had one score so far, from 0 to 1.
        have_single_values: whether each has had one value, from 0 to 1.
        has_weighted: whether a score is weighted by the probabilities of the labels, and so that of none.
        lowest_passing: the lowest score that passed; None if none did.
        highest_failing: the highest score that did not.
    """

    scores: dict[str, float | None] = field(default_factory=dict[str, float | None])
    values: dict[str, float | None] = field(default_factory=dict[str, float | None])
    have_single_scores: bool = True
    have_single_values: bool = True
    has_weighted: bool = False
    lowest_passing: float | None = None
    highest_failing: float | None = None

    def add(self, verdict: Verdict) -> None:
        """Count one more verdict; errors bear no label."""
        outcomes: tuple[VerdictOrVote, ...] = verdict.votes or (verdict,)
        for outcome in outcomes:
            if outcome.status == "error" or outcome.label in NOT_LABELS:
                continue
            self._add_score(deciding_score(outcome), passed=bool(outcome.passed))
            if _is_weighted(outcome):
                self.has_weighted = True
            if not outcome.label:
                continue
            score, value = outcome.score, outcome.value
            if outcome.status == "not_applicable":
                score, value = None, None
            if not _is_single_number(score, self.scores.setdefault(outcome.label, score)):
                self.have_single_scores = False
            if not _is_single_number(value, self.values.setdefault(outcome.label, value)):
                self.have_single_values = False

    def _add_score(self, score: float | None, *, passed: bool) -> None:
        if score is None:
            return
        if passed:
            if self.lowest_passing is None or score < self.lowest_passing:
                self.lowest_passing = score
        elif self.highest_failing is None or score > self.highest_failing:
            self.highest_failing = score

    def merge(self, other: LabelMeanings) -> None:
        """Count what other verdicts show as well."""
        for label, score in other.scores.items():
            if not _is_single_number(score, self.scores.setdefault(label, score)):
                self.have_single_scores = False
        for label, value in other.values.items():
            if not _is_single_number(value, self.values.setdefault(label, value)):
                self.have_single_values = False
        self.have_single_scores = self.have_single_scores and other.have_single_scores
        self.have_single_values = self.have_single_values and other.have_single_values
        self.has_weighted = self.has_weighted or other.has_weighted
        self._add_score(other.lowest_passing, passed=True)
        self._add_score(other.highest_failing, passed=False)

    @property
    def label_scores(self) -> Mapping[str, float | None]:
        """The score of each label; {} if labels have several, as the names of bands do."""
        if self.have_single_scores and not self.has_weighted:
            return self.scores
        return self.values if self.have_single_values else {}

    def threshold(self, scores: Iterable[float | None]) -> float | None:
        """The lowest score that passed, if no label's score lies between it and the highest failing one."""
        if self.lowest_passing is None:
            return None
        highest_failing = -1.0 if self.highest_failing is None else self.highest_failing
        if highest_failing >= self.lowest_passing:
            return None
        for label_score in scores:
            if label_score is not None and highest_failing < label_score < self.lowest_passing:
                return None  # nobody knows on which side that label is
        return self.lowest_passing


def learn_vocabulary(
    verdicts: Iterable[Verdict], further_verdicts: Iterable[Verdict] = ()
) -> LabelVocabulary:
    """Learn what labels mean from verdicts that bear them.

    A label's score is that of the verdicts with it; where scores are weighted by probabilities, it is their
    value. Labels that have several scores, as the names of bands do, are no labels in this sense.

    Args:
        verdicts: of one judge, or of judges with the same labels.
        further_verdicts: for labels that the first ones do not have.
    """
    meanings = LabelMeanings()
    for verdict in verdicts:
        meanings.add(verdict)
    further_meanings = LabelMeanings()
    for verdict in further_verdicts:
        further_meanings.add(verdict)
    return vocabulary_of(meanings, further_meanings)


def vocabulary_of(meanings: LabelMeanings, further_meanings: LabelMeanings) -> LabelVocabulary:
    """The vocabulary of a judge, from what its own verdicts and those of further judges show of labels."""
    names_and_scores: dict[str, tuple[str, float | None]] = {}
    # What the judge itself means by a label comes last, and counts.
    for some_meanings in (further_meanings, meanings):
        for name, score in some_meanings.label_scores.items():
            names_and_scores[fold_label(name)] = (name, score)
    scores = dict(sorted(names_and_scores.values(), key=_rising_score))
    return LabelVocabulary(scores, meanings.threshold(scores.values()))


def rubric_vocabulary(rubric: Rubric) -> LabelVocabulary:
    """The labels that a rubric knows: those of its scale, or the names of its levels; none without any."""
    scores: dict[str, float | None] = dict(rubric.scale.choices)
    if not scores:
        for value, name in rubric.levels.items():
            scores[name] = None if value in rubric.not_applicable else rubric.scale.score(value)
    return LabelVocabulary(dict(sorted(scores.items(), key=_rising_score)), rubric.threshold)


def labels_for(judge: str, labels: Labels, vocabulary: LabelVocabulary) -> dict[str, HumanLabel]:
    """The labels for one judge by case id.

    If any label is one of the judge's in words, all text is read so: "Yes" may be the judge's label for
    what is not grounded, and so may 1 or true. Otherwise see `label_of`.

    Raises:
        LabelError: `unreadable_label`, also for a word that is not among the judge's labels.
    """
    texts = {case_id: _label_text(value, judge, vocabulary) for case_id, value in labels.by_case.items()}
    are_words = _are_words([text for text in texts.values() if text], vocabulary)
    human_labels: dict[str, HumanLabel] = {}
    faults: list[LabelError] = []
    for case_id, value in labels.by_case.items():
        text = texts[case_id]
        try:
            if are_words and text:
                human_labels[case_id] = _word_label(text, judge, case_id, vocabulary)
            else:
                human_labels[case_id] = HumanLabel(label_of(value, judge, case_id))
        except LabelError as error:
            faults.append(error)
    _raise_faults(faults)
    return human_labels


def _are_words(texts: Iterable[str], vocabulary: LabelVocabulary) -> bool:
    """Whether texts are the judge's labels: one of them is, or cannot be anything else."""
    if not vocabulary.scores:
        return False
    return any(vocabulary.find_label(text) or _finite_number(text) is None for text in texts)


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
    human_labels = labels_for(judge, labels, vocabulary)
    if threshold is None:
        threshold = _default_label_threshold(judge, labels, human_labels, vocabulary)
    if threshold is None:
        numbers = {label.number for label in human_labels.values()}
        if numbers - {0.0, 1.0, None}:
            message = "the labels are grades: give `label_threshold`, the lowest grade that means grounded"
            raise LabelError("bad_option", message, "label_threshold")
        threshold = 1.0
    grounded: dict[str, bool | None] = {}
    for case_id, label in human_labels.items():
        if label == NO_LABEL:
            grounded[case_id] = None
        elif label.number is None:
            grounded[case_id] = True
        else:
            grounded[case_id] = label.number >= threshold
    return grounded


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
    number = _finite_number(value)
    if number is None:
        _refuse_label(value, source)
    return number


def label_of(value: object, judge: str, source: str) -> float | None:
    """Convert an entry of `Labels.by_case` to the label for one judge; None if it has none.

    A mapping holds one label per judge. For a built-in judge that label is on the judge's own scale
    (a list: one value per sentence; a mapping: one value per part) and is converted to a score,
    0..1, in the same way as the judge's own values; for any other judge see `number_of`.

    Raises:
        LabelError: `unreadable_label`, also for a value outside the judge's scale.
    """
    if not is_mapping(value):
        return number_of(value, source)
    judge_value = value.get(judge)
    if judge_value is None:
        return None
    rubric = _built_in_rubric(judge)
    if rubric is None:
        return number_of(judge_value, source)
    return _score_on_judge_scale(judge_value, rubric, source)


def join(
    verdicts: Iterable[Verdict], labels: Labels, judges: Collection[str] | None = None
) -> list[JudgedRows]:
    """Join verdicts with labels: one result per judge, sorted by judge name.

    Verdicts without a judge (rows that could not be read) are left out. Of those whose case has no label
    only their number is kept.

    Args:
        verdicts: of any judges. Labels that some judges did not give are learnt from the others.
        labels: people's labels.
        judges: whose verdicts to join; None: those of all.

    Raises:
        LabelError: `unreadable_label` (see `labels_for`); `no_sample`: the labels are of a drawn sample, and
            do not say how each row counts (see `sample.weight_labels`).
    """
    if labels.samples and not labels.drawn_rows:
        raise LabelError("no_sample", NO_SAMPLE, "sample")
    latest = latest_verdicts(verdicts)
    joined = {judge: _Joined(labels) for judge in latest.judges if judges is None or judge in judges}
    all_meanings = LabelMeanings()
    for verdict in latest:
        if not verdict.judge:
            continue
        all_meanings.add(verdict)
        if verdict.judge in joined:
            joined[verdict.judge].add(verdict)
    judged_rows: list[JudgedRows] = []
    for judge, verdicts_of_judge in joined.items():
        vocabulary = labels.vocabulary
        if vocabulary is None:
            vocabulary = vocabulary_of(verdicts_of_judge.meanings, all_meanings)
        rows = join_judge(judge, verdicts_of_judge.labelled, labels, vocabulary)
        counts = Counter(rows.counts)
        counts.update(verdicts_of_judge.counts)
        counts["n_repeated"] = latest.n_repeated.get(judge, 0)
        judged_rows.append(replace(rows, counts=counts))
    return judged_rows


@dataclass
class _Joined:
    """The verdicts of one judge on their way to the labels.

    Attributes:
        labels: people's.
        labelled: the verdicts whose case has a label.
        counts: how many others there are, by the reason why they are not compared.
        meanings: what all of them show of labels.
    """

    labels: Labels
    labelled: list[BriefVerdict] = field(default_factory=list[BriefVerdict])
    counts: Counter[str] = field(default_factory=Counter[str])
    meanings: LabelMeanings = field(default_factory=LabelMeanings)

    def add(self, verdict: Verdict) -> None:
        self.meanings.add(verdict)
        if (verdict.case_id or "") in self.labels.by_case:
            self.labelled.append(brief_verdict(verdict, with_explanation=True))
        else:
            self.counts[_reason_to_exclude(verdict, NO_LABEL) or ""] += 1


def group_by_judge(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Verdicts by the name of their judge, in the order in which judges first appear."""
    verdicts_by_judge: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        verdicts_by_judge.setdefault(verdict.judge, []).append(verdict)
    return verdicts_by_judge


def join_judge(
    judge: str, verdicts: Iterable[BriefVerdict], labels: Labels, vocabulary: LabelVocabulary
) -> JudgedRows:
    """Join verdicts of one judge, one on each case, with the labels.

    Raises:
        LabelError: `unreadable_label` (see `labels_for`).
    """
    human_labels = labels_for(judge, labels, vocabulary)
    labelled_rows: list[LabelledVerdict] = []
    unscored_rows: list[LabelledVerdict] = []
    worded_rows: list[LabelledVerdict] = []
    judged_ids: set[str] = set()
    counts: dict[str, int] = dict.fromkeys(REASONS, 0)
    for verdict in verdicts:
        case_id = verdict.case_id or ""
        judged_ids.add(case_id)
        row = LabelledVerdict(
            verdict=verdict,
            human_label=human_labels.get(case_id, NO_LABEL),
            judge_label=vocabulary.find_label(verdict.label or ""),
            group=labels.group_of(verdict.case_id),
            drawn_row=labels.drawn_rows.get(case_id),
        )
        reason = _reason_to_exclude(verdict, row.human_label)
        if reason is None:
            labelled_rows.append(row)
        else:
            counts[reason] += 1
        if verdict.score is None and row.human_label.number is not None:
            unscored_rows.append(row)
        if row.is_in_words:
            worded_rows.append(row)
    # Words are only compared with words: a judge that answers with numbers has none.
    if not any(row.judge_label for row in worded_rows):
        worded_rows = []
    counts["n_unjudged"] = 0
    for case_id, label in human_labels.items():
        if label != NO_LABEL and case_id not in judged_ids:
            counts["n_unjudged"] += 1
    counts["n_repeated"] = 0
    return JudgedRows(
        judge=judge,
        labelled_rows=tuple(labelled_rows),
        counts=counts,
        default_label_threshold=_default_label_threshold(judge, labels, human_labels, vocabulary),
        unscored_rows=tuple(unscored_rows),
        worded_rows=tuple(worded_rows),
        vocabulary=vocabulary,
        labels=labels,
    )


def _default_label_threshold(
    judge: str, labels: Labels, human_labels: Mapping[str, HumanLabel], vocabulary: LabelVocabulary
) -> float | None:
    """The lowest label, 0..1, that counts as grounded by itself (see `JudgedRows`)."""
    if any(label.word for label in human_labels.values()):
        return vocabulary.threshold
    if not any(is_mapping(value) for value in labels.by_case.values()):
        return None
    rubric = _built_in_rubric(judge)
    if rubric is None:
        return None
    return rubric.threshold


def _reason_to_exclude(verdict: Verdict | BriefVerdict, label: HumanLabel) -> str | None:
    """Why a verdict is not compared with the label of its case; None if it is."""
    if verdict.status == "error":
        return "n_error"
    if verdict.score is None:
        return "n_not_applicable"
    if label.number is not None:
        return None
    if label.word:
        return "n_label_not_applicable"
    return "n_unlabelled"


def _label_text(value: object, judge: str, vocabulary: LabelVocabulary) -> str:
    """An entry of `Labels.by_case` as text, numbers and booleans only if they are labels; "" for others."""
    judge_value = value.get(judge) if is_mapping(value) else value
    if isinstance(judge_value, bool | int):
        return vocabulary.find_label(str(judge_value)) or ""
    if isinstance(judge_value, str):
        return judge_value.strip()
    return ""


def _finite_number(value: object) -> float | None:
    """A boolean, number, word for one of them, or text of a number as a finite number; None if it is not."""
    if isinstance(value, str):
        value = BOOLEAN_WORDS.get(value.strip().casefold(), value)
    if not isinstance(value, bool | int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):  # an integer of hundreds of digits
        return None
    return number if isfinite(number) else None


def _word_label(text: str, judge: str, source: str, vocabulary: LabelVocabulary) -> HumanLabel:
    label = vocabulary.find_label(text)
    if label is None:
        known_labels = ", ".join(repr(name) for name in vocabulary.scores)
        message = (
            f"{source}: {text!r} is not among the known labels of {judge}: "
            f"{known_labels}; if it has more, name its prompt file with --judge-file"
        )
        raise LabelError("unreadable_label", message, source)
    return HumanLabel(vocabulary.scores[label], label)


def _score_on_judge_scale(value: object, rubric: Rubric, source: str) -> float | None:
    """A label on the judge's own scale as a score, 0..1; None if it means "nothing to judge"."""
    parts: list[object] = [value]
    if is_mapping(value):
        parts = list(value.values())
    elif is_list(value):
        parts = list(value)
    numbers: list[float] = []
    for part in parts:
        number = number_of(part, source)
        if number is not None:
            numbers.append(number)
    has_empty_part = len(numbers) < len(parts)
    if not numbers or has_empty_part or not all(rubric.scale.holds(number) for number in numbers):
        _refuse_label(value, f"{source}, {rubric.name} (scale {rubric.scale})")
    if numbers[0] in rubric.not_applicable:
        return None
    has_parts = rubric.format.part_names or rubric.format.parts_are_sentences
    if len(numbers) > 1 and not has_parts:
        _refuse_label(value, f"{source}, {rubric.name} (a single value)")
    if rubric.passes == "weakest":
        return min(rubric.scale.score(number) for number in numbers)
    part_readings = [PartReading("", number) for number in numbers]
    return rubric.format.score(Reading(numbers[0], parts=tuple(part_readings)), rubric.scale)


@cache
def _built_in_rubric(judge: str) -> Rubric | None:
    """The rubric of a built-in judge; None for the name of any other judge."""
    if judge not in names():
        return None
    return load_rubric(judge)


def value_in(row: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401  whatever the file holds
    """The value of a key of a row, or of its metadata; None if neither has it."""
    value = row.get(key)
    if value is not None:
        return value
    metadata = row.get("metadata")
    if is_mapping(metadata):
        return metadata.get(key)
    return None


def _refuse_label(value: object, source: str) -> NoReturn:
    message = f"{source}: the label {value!r} is neither a boolean nor a number on the scale"
    raise LabelError("unreadable_label", message, source)


def _rising_score(name_and_score: tuple[str, float | None]) -> tuple[bool, float, str]:
    """The order of labels: by rising score, then those without one; by name among equals."""
    name, score = name_and_score
    return score is None, score or 0.0, name


def _is_weighted(outcome: VerdictOrVote) -> bool:
    """Whether the score is weighted by the probabilities of the labels, and so that of no label."""
    if not isinstance(outcome, Verdict) or not outcome.distribution:
        return False
    return outcome.label in outcome.distribution


def _is_single_number(number: float | None, first_number: float | None) -> bool:
    """Whether a label's number is the one that it had at first, and within 0..1 if it is one."""
    if number != first_number:
        return False
    return number is None or 0 <= number <= 1
