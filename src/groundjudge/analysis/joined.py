"""Human labels joined with the verdicts on the same cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from groundjudge.analysis.labels import NO_LABEL, HumanLabel, Labels, default_label_threshold, labels_for
from groundjudge.analysis.words import Words, words_of
from groundjudge.runs.summary import MISSING
from groundjudge.runs.verdict_file import last_of_each
from groundjudge.verdict import Verdict

REASONS = ("n_error", "n_not_applicable", "n_missing", "n_unlabelled", "n_label_not_applicable")
"""Why a verdict is not compared with a label."""


@dataclass(frozen=True)
class PairedLabel:
    """The label that people gave a case, and the judge's; None for the judge: a panel without a majority."""

    people: str
    judge: str | None
    group: str


@dataclass(frozen=True)
class LabelledVerdict:
    """A verdict with a score, and the label of its case.

    Attributes:
        score: the judge's score, 0..1.
        label: 0 or 1, a grade, or a value on the judge's own scale converted to 0..1.
        group: rows with the same group are not independent.
        word: the label in words, if people's labels are words.
    """

    verdict: Verdict
    score: float
    label: float
    group: str
    word: str | None = None

    @property
    def case_id(self) -> str:
        """The id of the case, "" if it has none."""
        return self.verdict.case_id or ""


@dataclass(frozen=True)
class Joined:
    """The verdicts of one judge joined with the labels. Every verdict is counted exactly once.

    Attributes:
        labelled: verdicts with a score and a label.
        counts: all else, by the names of the fields of `Agreement`.
        default_label_threshold: the lowest label, 0..1, that counts as grounded where labels are
            on the scale of a built-in judge (the judge's own threshold) or in words; otherwise None.
        paired: the labels of people and judge, for rows where both gave one in words, "not applicable"
            included; () if people's labels are numbers or booleans.
        words: what these labels mean.
    """

    judge: str
    labelled: tuple[LabelledVerdict, ...]
    counts: Mapping[str, int]
    default_label_threshold: float | None
    paired: tuple[PairedLabel, ...] = ()
    words: Words = field(default_factory=Words)


def join(verdicts: Iterable[Verdict], labels: Labels) -> list[Joined]:
    """Join verdicts with labels: one result per judge, sorted by judge name.

    Verdicts without a judge (rows that could not be read) are left out.

    Raises:
        LabelError: `unreadable_label` (see `labels_for`).
    """
    last = {judge: last_of_each(own) for judge, own in by_judge(verdicts).items() if judge}
    everything = [verdict for own, _ in last.values() for verdict in own]
    return [
        _joined(judge, own, n_repeated, labels, labels.words or words_of(own, everything))
        for judge, (own, n_repeated) in sorted(last.items())
    ]


def by_judge(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Verdicts by the name of their judge, in the order in which judges first appear."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        found.setdefault(verdict.judge, []).append(verdict)
    return found


def _joined(judge: str, last: Sequence[Verdict], n_repeated: int, labels: Labels, words: Words) -> Joined:
    people = labels_for(judge, labels, words)
    pairs = [(verdict, people.get(verdict.case_id or "", NO_LABEL)) for verdict in last]
    excluded = Counter(_reason_to_exclude(verdict, label) for verdict, label in pairs)
    judged = {verdict.case_id for verdict in last}
    paired = _paired(pairs, labels, words)
    return Joined(
        judge=judge,
        labelled=_labelled(pairs, labels),
        counts={
            **{reason: excluded[reason] for reason in REASONS},
            "n_unjudged": sum(label != NO_LABEL and id_ not in judged for id_, label in people.items()),
            "n_repeated": n_repeated,
        },
        default_label_threshold=default_label_threshold(judge, labels, people, words),
        paired=paired if any(pair.judge for pair in paired) else (),
        words=words,
    )


def _labelled(pairs: Iterable[tuple[Verdict, HumanLabel]], labels: Labels) -> tuple[LabelledVerdict, ...]:
    """The verdicts with a score and a label."""
    return tuple(
        LabelledVerdict(verdict, verdict.score, label.number, labels.group_of(verdict.case_id), label.word)
        for verdict, label in pairs
        if verdict.score is not None and label.number is not None and not verdict.error
    )


def _paired(
    pairs: Iterable[tuple[Verdict, HumanLabel]], labels: Labels, words: Words
) -> tuple[PairedLabel, ...]:
    """The labels of people and judge, where both have one, or the votes of a panel have no common one."""
    return tuple(
        PairedLabel(label.word, words.named(verdict.label or ""), labels.group_of(verdict.case_id))
        for verdict, label in pairs
        if label.word and verdict.status != "error" and (verdict.label is None or words.named(verdict.label))
    )


def _reason_to_exclude(verdict: Verdict, label: HumanLabel) -> str:
    """Why a verdict is not compared with a label; "" if it is."""
    if verdict.error:
        return "n_missing" if verdict.error.code == MISSING else "n_error"
    if verdict.score is None:
        return "n_not_applicable"
    if label.number is None:
        return "n_label_not_applicable" if label.word else "n_unlabelled"
    return ""
