"""Votes against people's labels: unanimous and split rows, and a panel beside its members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from make_verdicts import PROMPT, panel_verdict, verdict, vote

from groundjudge import Verdict
from groundjudge.lab.agreement import agree
from groundjudge.lab.labels import Labels
from groundjudge.lab.proportions import mcnemar
from groundjudge.lab.votes import SINGLE_VOTE, VoteAgreement

Votes = Sequence[float | None]


def measured(
    rows: Sequence[tuple[Votes, int]], names: Sequence[str] = "abcde", threshold: float | None = None
) -> VoteAgreement:
    """Rows with the votes of members, None for an error, and people's label."""
    verdicts = [
        panel_verdict(str(place), *(vote(name, score) for name, score in zip(names, votes, strict=False)))
        for place, (votes, _) in enumerate(rows)
    ]
    labels = Labels({str(place): label for place, (_, label) in enumerate(rows)})
    (found,) = agree(verdicts, labels, threshold=threshold, resamples=200)
    assert found.votes
    return found.votes


BIASED = [((1, 1, 0), 0)] * 20 + [((1, 1, 1), 1)] * 40 + [((0, 0, 0), 0)] * 38 + [((0, 0, 1), 0)] * 2
"""Two members share a bias that the third does not have."""


def test_a_panel_that_is_worse_than_its_best_member_is_found() -> None:
    found = measured(BIASED)
    assert (found.whole.n, found.unanimous.n, found.split.n) == (100, 78, 22)
    assert (found.whole.accuracy.value, found.unanimous.accuracy.value) == (0.8, 1.0)
    assert found.split.accuracy.value == pytest.approx(2 / 22)
    assert found.split.accuracy.low is not None
    members = [(one.name, one.n, one.accuracy.value) for one in found.members]
    assert members == [("a", 100, 0.8), ("b", 100, 0.8), ("c", 100, 0.98)]
    assert (found.finding, found.best.name) == ("worse", "c")
    assert found.best.difference.value == pytest.approx(0.18)
    assert found.best.p == mcnemar([(True, False)] * 20 + [(False, True)] * 2)


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        ([((1, 1, 0), 0)] * 6 + [((1, 1, 1), 1)] * 20, "no_difference"),  # p = 0.031, times 3 members
        ([((1, 1, 0), 0)] * 7 + [((1, 1, 1), 1)] * 20, "worse"),  # p = 0.016, times 3 members
        ([(votes, 1) for votes in ((1, 1, 0), (1, 0, 1), (0, 1, 1))] * 12, "better"),
    ],
)
def test_a_difference_is_named_only_if_it_is_more_than_noise(
    rows: Sequence[tuple[Votes, int]], finding: str
) -> None:
    assert measured(rows).finding == finding


def test_repeats_are_one_line_and_only_the_first_vote_counts() -> None:
    found = measured([((0, 1, 1), 1), ((1, 1), 1), ((1, 0, 0), 0), ((0, 0), 0)], names="aaa")
    assert [(one.name, one.n, one.accuracy.value, one.is_selected) for one in found.members] == [
        (SINGLE_VOTE, 4, 0.5, False)
    ]
    assert found.best.difference.value == -0.5


def test_a_member_that_is_only_asked_about_doubtful_rows_is_marked_and_not_the_best() -> None:
    rows = [((1, 1), 1)] * 10 + [((0, 0), 1)] * 5 + [((1, 0, 1), 1)] * 5
    found = measured(rows)
    members = [(one.name, one.n, one.is_selected) for one in found.members]
    assert members == [("a", 20, False), ("b", 20, False), ("c", 5, True)]
    assert (found.members[2].accuracy.value, found.best.name) == (1.0, "a")


def test_a_vote_with_an_error_is_left_out_for_its_member_and_splits_the_row() -> None:
    found = measured([((1, 1, None), 1), ((0, 0, 0), 0)])
    assert [one.n for one in found.members] == [2, 2, 1]
    assert (found.unanimous.n, found.split.n) == (1, 1)
    whole = measured([((1, 1), 1), ((0, 0), 1)])
    assert (whole.split.n, whole.split.accuracy.value, whole.unanimous.accuracy.value) == (0, None, 0.5)


def test_a_threshold_measures_votes_as_well_as_the_panel() -> None:
    rows = [((0.6, 0.6), 0), ((0.6, 0.9), 1)]
    assert [one.accuracy.value for one in measured(rows).members] == [0.5, 0.5]
    assert [one.accuracy.value for one in measured(rows, threshold=0.7).members] == [0.5, 1.0]


OTHER = PROMPT.model_copy(update={"sha256": "b" * 64})
MEMBERS: list[tuple[list[Mapping[str, object]], list[str]]] = [
    ([{"model": "m"}, {"model": "n"}], ["m", "n"]),
    ([{"judge": "one", "model": "m"}, {"judge": "two", "model": "n"}], ["one, m", "two, n"]),
    ([{"prompt": PROMPT}, {"prompt": OTHER}], [f"sha:{'a' * 12}", f"sha:{'b' * 12}"]),
]


@pytest.mark.parametrize(("members", "names"), MEMBERS)
def test_members_are_named_by_what_distinguishes_them(
    members: Sequence[Mapping[str, object]], names: Sequence[str]
) -> None:
    votes = [vote("m", 1.0).model_copy(update=dict(told)) for told in members]
    (found,) = agree([panel_verdict("a", *votes)], Labels({"a": 1}))
    assert found.votes
    assert [one.name for one in found.votes.members] == names


@pytest.mark.parametrize(
    ("made", "label"),
    [(verdict("a", 1.0), 1), (panel_verdict("a", vote("m", 1.0), vote("n", 1.0)), 3)],  # the latter a grade
)
def test_without_votes_or_positive_labels_there_are_no_figures(made: Verdict, label: object) -> None:
    (found,) = agree([made], Labels({"a": label}))
    assert found.votes is None
