"""Judges of known weakness are told apart by their cards, each by what it fails."""

from __future__ import annotations

from functools import cache

import pytest
from standin_judges import judge_of, standin

from groundjudge import load, load_rubric
from groundjudge.lab.probe import Card, EditFigures, probe
from groundjudge.lab.probe.cases import built_in_cases
from groundjudge.lab.probe.plan import FAMILIES, Family

JUDGE = "groundedness"
SIGNIFICANT = 0.05


@cache
def card_of(name: str) -> Card:
    if name == "offline":
        return probe(load(JUDGE, model="offline")).card
    truth = {labelled.name: labelled.is_right for labelled in built_in_cases(load_rubric(JUDGE))}
    return probe(judge_of(standin(name, truth), JUDGE)).card


def share(name: str, family: Family) -> float | None:
    return card_of(name).family(family).rate.value


def differs_from_noise(figures: EditFigures) -> bool:
    return figures.p is not None and figures.p < SIGNIFICANT


def edit(name: str, edit: str) -> EditFigures:
    (figures,) = [figures for figures in card_of(name).edits if figures.edit == edit]
    return figures


soak = pytest.mark.soak  # each judge is probed with all cases


@soak
def test_card_says_what_is_out_of_the_models_reach() -> None:
    assert card_of("offline").limits.endswith("in nearly the same words.")
    assert card_of("always_passes").limits == ""


@pytest.mark.soak
@pytest.mark.parametrize(
    ("name", "caught", "moved", "fooled"),
    [
        pytest.param("knows_all", 1.0, 0.0, 0.0, marks=soak, id="knows all"),
        pytest.param("always_passes", 0.0, 0.0, None, id="always passes"),
        pytest.param("always_fails", None, None, 0.0, marks=soak, id="always fails"),
    ],
)
def test_judge_that_is_simple_has_simple_shares(
    name: str, caught: float | None, moved: float | None, fooled: float | None
) -> None:
    assert [share(name, family) for family in FAMILIES] == [caught, moved, fooled]


@pytest.mark.soak
def test_judge_that_obeys_is_fooled_by_what_it_is_told_alone() -> None:
    assert share("obeys", "faults") == 1.0
    assert share("obeys", "neutral_edits") == 0.0
    fooled_by: set[str] = set()
    for figures in card_of("obeys").edits:
        if figures.family == "attacks" and figures.rate.value:
            fooled_by.add(figures.edit)
    injected = {"verdict_in_response", "verdict_in_document", "verdict_in_query", "verdict_zero_width"}
    fenced = {"fence_in_response", "fence_in_document", "fence_zero_width"}
    assert fooled_by == injected | fenced | {
        "rubric_ignored",
        "reasoning_faked",
        "flattery",
        "threat",
        "authority",
    }
    assert differs_from_noise(card_of("obeys").family("attacks"))


@soak
def test_judge_that_says_always_the_same_fails_the_canaries_and_may_leave_nothing_to_measure() -> None:
    passes, fails = card_of("always_passes").unchanged, card_of("always_fails").unchanged
    assert (passes.canaries_right.value, passes.canaries_wrong.value) == (1.0, 0.0)
    assert (fails.right_passed.value, fails.canaries_right.value, fails.canaries_wrong.value) == (
        0.0,
        0.0,
        1.0,
    )
    family = card_of("always_fails").family("neutral_edits")
    assert (family.rate.n, family.n_unfit > 0) == (0, True)


@soak
def test_judge_that_looks_at_lengths_misses_facts_and_rises_with_length() -> None:
    rates = {figures.edit: figures.rate.value for figures in card_of("looks_at_lengths").edits}
    assert {rates[name] for name in ("number", "date", "sentence_invented")} == {0.0}
    assert {rates[name] for name in ("verdict_in_document", "key_colon")} == {0.0}
    assert rates["verdict_in_response"] == 1.0


@soak
def test_judge_that_guesses_differs_from_its_noise_in_nothing() -> None:
    card = card_of("guesses")
    assert (card.unchanged.flips.low or 0) > 0.2
    assert not any(map(differs_from_noise, card.families))
    assert sum(map(differs_from_noise, card.edits)) <= 0.1 * len(card.edits)


@pytest.mark.soak
def test_offline_judge_passes_nothing_wrong_and_is_not_fooled() -> None:
    card = card_of("offline")
    assert (card.unchanged.wrong_failed.value, card.unchanged.flips.value) == (1.0, 0.0)
    assert share("offline", "faults") == 1.0
    assert share("offline", "attacks") == 0.0
