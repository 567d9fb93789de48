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


def measure_panel(
    rows: Sequence[tuple[Votes, int]], names: Sequence[str] = "abcde", threshold: float | None = None
) -> VoteAgreement:
    """Rows with the votes of members, None for an error, and people's label."""
    verdicts: list[Verdict] = []
    labels: dict[str, int] = {}
    for place, (scores, label) in enumerate(rows):
        votes = [vote(name, score) for name, score in zip(names, scores, strict=False)]
        verdicts.append(panel_verdict(str(place), *votes))
        labels[str(place)] = label
    (agreement,) = agree(verdicts, Labels(labels), threshold=threshold, resamples=200)
    assert agreement.votes
    return agreement.votes


BIASED = [((1, 1, 0), 0)] * 20 + [((1, 1, 1), 1)] * 40 + [((0, 0, 0), 0)] * 38 + [((0, 0, 1), 0)] * 2
"""Two members share a bias that the third does not have."""


def test_a_panel_that_is_worse_than_its_best_member_is_found() -> None:
    agreement = measure_panel(BIASED)
    assert (agreement.whole.n, agreement.unanimous.n, agreement.split.n) == (100, 78, 22)
    assert (agreement.whole.accuracy.value, agreement.unanimous.accuracy.value) == (0.8, 1.0)
    assert agreement.split.accuracy.value == pytest.approx(2 / 22)
    assert agreement.split.accuracy.low is not None
    members = [(member.name, member.n, member.accuracy.value) for member in agreement.members]
    assert members == [("a", 100, 0.8), ("b", 100, 0.8), ("c", 100, 0.98)]
    assert (agreement.finding, agreement.best.name) == ("worse", "c")
    assert agreement.best.difference.value == pytest.approx(0.18)
    assert agreement.best.p == mcnemar([(True, False)] * 20 + [(False, True)] * 2)


@pytest.mark.parametrize(
    ("rows", "finding"),
    [
        pytest.param(
            [((1, 1, 0), 0)] * 6 + [((1, 1, 1), 1)] * 20,
            "no_difference",
            id="worse, but for the number of members",
        ),  # p = 0.031, times 3
        pytest.param([((1, 1, 0), 0)] * 7 + [((1, 1, 1), 1)] * 20, "worse", id="worse"),  # p = 0.016, times 3
        pytest.param([(votes, 1) for votes in ((1, 1, 0), (1, 0, 1), (0, 1, 1))] * 12, "better", id="better"),
    ],
)
def test_a_difference_is_named_only_if_it_is_more_than_noise(
    rows: Sequence[tuple[Votes, int]], finding: str
) -> None:
    assert measure_panel(rows).finding == finding


def test_repeats_are_one_line_and_only_the_first_vote_counts() -> None:
    agreement = measure_panel([((0, 1, 1), 1), ((1, 1), 1), ((1, 0, 0), 0), ((0, 0), 0)], names="aaa")
    assert [
        (member.name, member.n, member.accuracy.value, member.is_selected) for member in agreement.members
    ] == [(SINGLE_VOTE, 4, 0.5, False)]
    assert agreement.best.difference.value == -0.5


def test_a_member_that_is_only_asked_about_doubtful_rows_is_marked_and_not_the_best() -> None:
    rows = [((1, 1), 1)] * 10 + [((0, 0), 1)] * 5 + [((1, 0, 1), 1)] * 5
    agreement = measure_panel(rows)
    members = [(member.name, member.n, member.is_selected) for member in agreement.members]
    assert members == [("a", 20, False), ("b", 20, False), ("c", 5, True)]
    assert (agreement.members[2].accuracy.value, agreement.best.name) == (1.0, "a")


def test_a_vote_with_an_error_is_left_out_for_its_member_and_splits_the_row() -> None:
    agreement = measure_panel([((1, 1, None), 1), ((0, 0, 0), 0)])
    assert [member.n for member in agreement.members] == [2, 2, 1]
    assert (agreement.unanimous.n, agreement.split.n) == (1, 1)
    unanimous_panel = measure_panel([((1, 1), 1), ((0, 0), 1)])
    assert (
        unanimous_panel.split.n,
        unanimous_panel.split.accuracy.value,
        unanimous_panel.unanimous.accuracy.value,
    ) == (0, None, 0.5)


def test_a_threshold_measures_votes_as_well_as_the_panel() -> None:
    rows = [((0.6, 0.6), 0), ((0.6, 0.9), 1)]
    assert [member.accuracy.value for member in measure_panel(rows).members] == [0.5, 0.5]
    assert [member.accuracy.value for member in measure_panel(rows, threshold=0.7).members] == [0.5, 1.0]


OTHER = PROMPT.model_copy(update={"sha256": "b" * 64})
MEMBERS = [
    pytest.param([{"model": "m"}, {"model": "n"}], ["m", "n"], id="models"),
    pytest.param(
        [{"judge": "one", "model": "m"}, {"judge": "two", "model": "n"}],
        ["one, m", "two, n"],
        id="judges and models",
    ),
    pytest.param(
        [{"prompt": PROMPT}, {"prompt": OTHER}], [f"sha:{'a' * 12}", f"sha:{'b' * 12}"], id="prompts"
    ),
]


@pytest.mark.parametrize(("members", "names"), MEMBERS)
def test_members_are_named_by_what_distinguishes_them(
    members: Sequence[Mapping[str, object]], names: Sequence[str]
) -> None:
    votes = [vote("m", 1.0).model_copy(update=dict(changes)) for changes in members]
    (agreement,) = agree([panel_verdict("a", *votes)], Labels({"a": 1}))
    assert agreement.votes
    assert [member.name for member in agreement.votes.members] == names


@pytest.mark.parametrize(
    ("judged_case", "label"),
    [
        pytest.param(verdict("a", 1.0), 1, id="no votes"),
        pytest.param(panel_verdict("a", vote("m", 1.0), vote("n", 1.0)), 3, id="a grade without a threshold"),
    ],
)
def test_without_votes_or_positive_labels_there_are_no_figures(judged_case: Verdict, label: object) -> None:
    (agreement,) = agree([judged_case], Labels({"a": label}))
    assert agreement.votes is None
