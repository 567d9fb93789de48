"""Votes become one verdict by majority; errors withhold theirs; the order of the votes decides nothing."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache
from itertools import permutations
from pathlib import Path
from statistics import fmean, harmonic_mean, median, pstdev
from types import MappingProxyType
from typing import Any

import pytest
from formatter import sure
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import NamedModel, ScriptedModel
from sentence_cards import SENTENCE_CARDS

from groundjudge import (
    CachedModel,
    Case,
    CaseError,
    Choices,
    ModelError,
    PanelError,
    PromptError,
    Reply,
    ReplyError,
    Scale,
    Usage,
    Verdict,
    as_judge,
    load,
    load_rubric,
    panel,
    run,
    summarise,
)
from groundjudge.judging.conversation import Step, run_untraced
from groundjudge.judging.panel import repeat_judge
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.value import label_of
from groundjudge.types import Judge, Panel, Prompt, Request
from groundjudge.verdict import passes

CASE = Case(query="q", response="It rains.", context="It rains.")


def tag(score: object, *, has_shares: bool = True) -> str:
    verdict = sure(score) if has_shares else f"<S2>{score}</S2>"
    return f"<S1>reason {score}</S1>{verdict}"


RUBRIC = load_rubric("groundedness")


def voter(*replies: object, name: str = "scripted", **options: Any) -> Judge:
    """A judge that passes from a score of 0.5: 5 passes, 1 fails, 3 is not applicable."""
    rubric = RUBRIC.with_options(**options)
    script: list[str | Exception] = []
    for reply in replies:
        if isinstance(reply, Exception):
            script.append(reply)
        else:
            script.append(tag(reply, has_shares=rubric.weighted == "stated"))
    model = ScriptedModel(*script)
    model.name = name
    return Judge(rubric, model, max_reasks=0)


def panel_of(*votes: object, **options: Any) -> Panel:
    """A panel of one judge for each vote: its score, or what is raised in its place."""
    return panel([voter(vote, name=f"model {index}") for index, vote in enumerate(votes)], **options)


# What each of the votes says, with which outcome, after how many of them; E is an error, 3 is not applicable.
E = ModelError("server", "down", "m")
OUTCOMES: Mapping[str, tuple[Sequence[object], object, int]] = {
    "both pass": ((5, 5), True, 2),
    "both fail": ((1, 1), False, 2),
    "both not applicable": ((3, 3), "not_applicable", 2),
    "one of two passes": ((5, 1), "no_majority", 2),
    "two errors": ((E, E), "server", 1),
    "the third decides": ((5, 1, 5), True, 3),
    "two pass around an error": ((5, E, 5), True, 3),
    "two of three are errors": ((E, E, 5), "server", 2),
    "two of four pass": ((5, 1, 5, 1), "no_majority", 4),
    "two of five pass, and two are errors": ((5, 1, E, E, 5), "no_majority", 4),
    "the first two decide against the other three": ((5, 5, 1, 1, 1), True, 2),
    "the fourth of five decides": ((5, 1, 5, 5, 1), True, 4),
    "the last one makes three not applicable": ((E, 3, 3, 5, 3), "not_applicable", 5),
}


def outcome(verdict: Verdict) -> object:
    if verdict.error:
        return verdict.error.code
    return verdict.status if verdict.status == "not_applicable" else verdict.passed


@pytest.mark.parametrize(("votes", "expected", "n_calls"), OUTCOMES.values(), ids=OUTCOMES)
def test_majority_of_the_votes_asked_for_decides(
    votes: Sequence[object], expected: object, n_calls: int
) -> None:
    group = panel_of(*votes)
    verdict = group.evaluate(CASE)
    assert outcome(verdict) == expected
    requests: list[Request] = []
    for judge in group.judges:
        assert isinstance(judge.model, ScriptedModel)
        requests += judge.model.asked
    assert [verdict.decided_after, len(verdict.votes), len(requests)] == [n_calls] * 3
    assert [vote.status == "error" for vote in verdict.votes] == [vote is E for vote in votes[:n_calls]]


def test_asynchronous_callers_get_the_same_verdict() -> None:
    verdict, awaited = panel_of(5, E, 5).evaluate(CASE), asyncio.run(panel_of(5, E, 5).aevaluate(CASE))
    assert verdict.model_dump(exclude={"latency_s"}) == awaited.model_dump(exclude={"latency_s"})


VOTES = st.lists(st.sampled_from([5, 5, 4, 2, 1, 1, 3, E]), min_size=2, max_size=7)


@given(VOTES)
def test_outcome_has_more_than_half_of_the_votes_and_stopping_early_gives_the_same(votes: list[Any]) -> None:
    """Unless the first two agree: then they decide, whatever the others would have said."""
    early, late = panel_of(*votes).evaluate(CASE), panel_of(*votes, stop="never").evaluate(CASE)
    outcomes = {1: False, 2: False, 3: "not_applicable", 4: True, 5: True}
    counts = Counter(outcomes[vote] for vote in votes if vote is not E)
    winners = [winner for winner, count in counts.items() if 2 * count > len(votes)]
    assert outcome(late) in (winners or ("no_majority", "server"))
    assert late.decided_after == len(votes)
    assert (early.decided_after or 0) <= len(votes)
    if outcome(panel_of(*votes[:2]).evaluate(CASE)) not in {True, False, "not_applicable"}:
        assert (outcome(early) == outcome(late)) or (early.error and late.error)


FIELDS_OF_OUTCOME = {
    "status",
    "passed",
    "score",
    "value",
    "label",
    "reason",
    "reply",
    "spread",
    "agreement",
    "warnings",
}


@pytest.mark.parametrize(
    ("votes", "rule"),
    [
        pytest.param((5, 1, E), "mean", id="a pass, a fail and an error"),
        pytest.param((5, 4, 3), "median", id="two pass and one is not applicable"),
        pytest.param((5, 4, 1), "min", id="two pass and one fails"),
        pytest.param((1, 2, 5, 5), "mean", id="two pass and two fail"),
        pytest.param((E, 5, ReplyError("empty", "")), "mean", id="a pass and two different errors"),
    ],
)
def test_order_of_the_votes_changes_nothing(votes: Sequence[object], rule: Any) -> None:
    panels = [panel_of(*order, stop="never", rule=rule) for order in {*permutations(votes)}]
    outcomes = [group.evaluate(CASE).model_dump(include=FIELDS_OF_OUTCOME) for group in panels]
    assert outcomes == [outcomes[0]] * len(outcomes)


# Value, label, score and parts of one verdict fit each other.

NO_LEVELS: dict[str, Any] = {"levels": {}, "not_applicable": ()}
NO_THREE = NO_LEVELS | {"not_applicable": (3,), "threshold": 0.0}
FALLING = NO_LEVELS | {"scale": Scale(worst=10, best=0)}
IN_WORDS = NO_LEVELS | {"scale": Choices({"yes": 1, "partly": 0.5, "no": 0})}
BANDS = load_rubric("knowledge_hallucination").levels
RAIN = "It rains. It snows."
FIELDS = ("query", "response", "context", "reference", "agent_name", "profile", "conversation")
FULL = Case.of(dict.fromkeys(FIELDS, RAIN))


def whole_of(*values: float) -> float:
    """How probably sentences with these values are all borne out; it contradicts none of them."""
    return min(values) / 10


loaded_rubric = cache(load_rubric)


def verdict_of_votes(
    name: str | Path, *votes: Any, options: Any = MappingProxyType({}), **settings: Any
) -> Verdict:
    """The verdict of a panel of all votes: each a number, a label, or a number for each part."""
    rubric = loaded_rubric(name).with_options(**options)
    names = rubric.format.part_names or ("It rains.", "It snows.")

    def reading(vote: Any) -> Reading:
        if isinstance(vote, str):
            return Reading(rubric.scale.choices[vote], label=vote)
        if isinstance(vote, tuple):
            numbers: tuple[float, ...] = vote  # pyright: ignore[reportUnknownVariableType]
            pairs = zip(names, numbers, strict=True)
            parts = tuple(PartReading(name, number, name, (name,), sources=(1,)) for name, number in pairs)
            return Reading(None, parts=parts, whole=whole_of(*numbers))
        return Reading(vote, level=label_of(vote, rubric.levels) or "")

    replies = [rubric.write(reading(vote)) for vote in votes]
    judges = [Judge(rubric, ScriptedModel(reply)) for reply in replies]
    return panel(judges, stop="never", **settings).evaluate(FULL)


@pytest.mark.parametrize(
    ("name", "options", "votes", "rule", "expected"),
    [
        pytest.param(
            "groundedness",
            {},
            (2, 2, 5),
            "mean",
            (0.5, None, "incorrect"),
            id="mean that is no level: label of the majority",
        ),
        pytest.param(
            "groundedness",
            {},
            (5, 5, 2, 4),
            "median",
            (0.875, None, None),
            id="median between levels, no label in common",
        ),
        pytest.param("groundedness", {}, (5, 5, 3), "mean", (1.0, 5, "grounded"), id="one not applicable"),
        pytest.param(
            "groundedness",
            {},
            (3, 3, 5),
            "mean",
            (None, 3, "nothing_to_ground"),
            id="most not applicable",
        ),
        pytest.param(
            "groundedness",
            NO_THREE,
            (2, 4),
            "median",
            (0.5, None, None),
            id="median that would mean not applicable",
        ),
        pytest.param(
            "groundedness", NO_THREE, (2, 5), "mean", (0.625, 3.5, None), id="mean beside not applicable"
        ),
        pytest.param("groundedness", FALLING, (2, 4), "min", (0.6, 4, None), id="min of a falling scale"),
        pytest.param("groundedness", FALLING, (2, 4), "mean", (0.7, 3, None), id="mean of a falling scale"),
        pytest.param(
            "groundedness",
            IN_WORDS,
            ("yes", "no", "yes"),
            "mean",
            (pytest.approx(2 / 3), None, "yes"),
            id="mean of words",
        ),
        pytest.param(
            "knowledge_hallucination", {}, (65, 70, 75), "mean", (0.7, 70, BANDS[80]), id="mean in a band"
        ),
        pytest.param(
            "confidence_grounding", {}, (0.6, 0.7, 0.9), "min", (0.6, 0.6, None), id="min of confidences"
        ),
        pytest.param(
            "passage_quality",
            {},
            ((4, 2), (2, 4), (5, 5)),
            "mean",
            (0.375, None, None),
            id="mean of recall and precision",
        ),
        pytest.param(
            "passage_quality",
            {},
            ((5, 1), (5, 3), (5, 4)),
            "min",
            (pytest.approx(2 / 3), None, None),
            id="min of recall and precision",
        ),
        pytest.param(
            SENTENCE_CARDS,
            {},
            ((10, 4), (6, 6), (10, 8)),
            "mean",
            (0.6, 6, None),
            id="mean of sentences",
        ),
        pytest.param(
            "statement_groundedness",
            {},
            ((10, 4), (7, 6), (10, 8)),
            "mean",
            (0.6, None, None),
            id="mean of numbered sentences",
        ),
    ],
)
def test_votes_make_one_score_value_and_label(
    name: str | Path, options: Any, votes: Any, rule: Any, expected: object
) -> None:
    verdict = verdict_of_votes(name, *votes, rule=rule, options=options)
    assert (verdict.score, verdict.value, verdict.label) == expected


NUMBERS: dict[str | Path, Any] = {
    "groundedness": st.sampled_from([1, 2, 3, 4, 5]),
    "confidence_grounding": st.integers(0, 20).map(lambda number: number / 20),
    "knowledge_hallucination": st.integers(0, 100),
    "passage_quality": st.tuples(*[st.sampled_from([1, 2, 2.5, 3, 4.2, 5])] * 2),
    "statement_groundedness": st.tuples(*[st.sampled_from([1, 4, 5.5, 6, 7.5, 10])] * 2),
    SENTENCE_CARDS: st.tuples(*[st.sampled_from([1, 4, 5.5, 6, 7.5, 10])] * 2),
}


@given(st.data(), st.sampled_from([*NUMBERS]))
def test_what_a_panel_says_fits_itself(data: st.DataObject, name: str | Path) -> None:
    rubric, votes = loaded_rubric(name), data.draw(st.lists(NUMBERS[name], min_size=2, max_size=6))
    verdict = verdict_of_votes(name, *votes, rule=data.draw(st.sampled_from(["mean", "median", "min"])))
    if verdict.score is None:
        return
    parts = [part.score or 0.0 for part in verdict.parts]
    if parts:
        headlines: dict[str | Path, Callable[[list[float]], float]] = {
            "passage_quality": harmonic_mean,
            "statement_groundedness": min,
            SENTENCE_CARDS: fmean,
        }
        headline = headlines[name](parts)
        decides = min(parts) if rubric.passes == "weakest" else headline
        assert verdict.score == pytest.approx(headline)
        assert verdict.passed is passes(decides, rubric.threshold)
        assert verdict.weakest == (decides if rubric.passes == "weakest" else None)
        further_scores = {"mean": fmean(parts), "weakest": min(parts)}
        assert verdict.scores == (further_scores if name == "statement_groundedness" else {})
    if verdict.value is not None:
        assert verdict.value not in rubric.not_applicable
        assert verdict.score == pytest.approx(rubric.scale.score(verdict.value))
        assert verdict.label == label_of(verdict.value, rubric.levels)


@given(st.lists(NUMBERS[SENTENCE_CARDS], min_size=3, max_size=3))
def test_weakest_of_repeats_is_the_median_of_their_weakest(votes: list[tuple[float, float]]) -> None:
    verdict = verdict_of_votes(SENTENCE_CARDS, *votes)
    assert verdict.weakest == median(min(vote) / 10 for vote in votes)
    assert sorted(vote.weakest or 0.0 for vote in verdict.votes) == sorted(min(vote) / 10 for vote in votes)
    assert verdict.spread == pytest.approx(pstdev(min(vote) / 10 for vote in votes))


@given(st.lists(NUMBERS["statement_groundedness"], min_size=3, max_size=3))
def test_vote_of_the_median_score_gives_its_further_scores_too(votes: list[tuple[float, float]]) -> None:
    verdict = verdict_of_votes("statement_groundedness", *votes)
    assert verdict.score == median(whole_of(*vote) for vote in votes)
    further_scores = [{"mean": fmean(vote) / 10, "weakest": min(vote) / 10} for vote in votes]
    assert verdict.scores in [pytest.approx(scores) for scores in further_scores]
    assert verdict.scores["weakest"] == verdict.score
    assert verdict.spread == pytest.approx(pstdev(whole_of(*vote) for vote in votes))


def test_verdict_keeps_every_vote_and_what_all_of_them_cost() -> None:
    def model(request: Request) -> Reply:
        text = tag([5, 1, 5][request.repeat])
        return Reply(text, usage=Usage(prompt_tokens=10, completion_tokens=request.repeat), model="m-2024")

    verdict = load("groundedness", model=model, repeats=3).judge(CASE)
    votes = [(vote.score, vote.passed, vote.reply, vote.model) for vote in verdict.votes]
    assert votes == [(1, True, tag(5), "m-2024"), (0, False, tag(1), "m-2024"), (1, True, tag(5), "m-2024")]
    assert [vote.prompt for vote in verdict.votes] == [verdict.prompt] * 3
    assert (verdict.usage, verdict.attempts) == (Usage(prompt_tokens=30, completion_tokens=3), 3)
    assert (verdict.model, verdict.reply, verdict.reason) == ("m-2024", tag(5), "reason 5")
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_no_majority_is_an_error_with_the_counts_and_the_votes() -> None:
    with pytest.raises(PanelError, match=r"half of the 4 votes: 1 failed, 2 passed, 1 server") as raised:
        panel_of(5, 1, 5, E).judge(CASE)
    verdict = raised.value.verdict
    assert verdict
    assert (verdict.status, verdict.score, len(verdict.votes)) == ("error", None, 4)


def test_case_that_no_judge_can_read_raises_the_judges_own_error() -> None:
    with pytest.raises(CaseError, match="missing_field") as raised:
        panel_of(5, 5).judge({"response": "r", "context": "c"})
    verdict = raised.value.verdict
    assert verdict
    assert (verdict.attempts, verdict.agreement, len(verdict.votes)) == (0, None, 1)


def test_each_vote_is_a_step_with_the_steps_of_its_conversation_inside() -> None:
    names: list[str] = []

    def note_step(step: Step) -> AbstractContextManager[Callable[[Any], object]]:
        names.append(step.name.removeprefix("groundjudge."))
        return run_untraced(step)

    panel_of(5, 5).judge(CASE, note_step)
    assert names == [*("vote 1", "ask", "call", "read"), *("vote 2", "ask", "call", "read")]


@pytest.mark.parametrize("name", ["passage_quality", "statement_groundedness"])
def test_panel_has_the_named_scores_of_its_judges(name: str) -> None:
    verdict, judge = verdict_of_votes(name, (5, 4), (5, 3), (5, 5)), load(name, model="offline")
    group = load(name, model="offline", repeats=3)
    assert (group.score_names, group.scores(verdict)) == (judge.score_names, judge.scores(verdict))


# Repeats.


def test_repeats_ask_at_ones_own_temperature_or_above_0_and_with_other_seeds() -> None:
    model = ScriptedModel(tag(5), tag(1), tag(5))
    load("groundedness", model=model, repeats=3, parameters={"seed": 7}).judge(CASE)
    assert [request.parameters["temperature"] for request in model.asked] == [0.7] * 3
    assert [request.parameters["seed"] for request in model.asked] == [7, 8, 9]
    assert [request.repeat for request in model.asked] == [0, 1, 2]
    group = load("groundedness", model="offline", repeats=2, parameters={"temperature": 0.2})
    assert group.rubrics[0].prompt.parameters["temperature"] == 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"repeats": 1}, "repeats must be 2 or more, not 1", id="one repeat"),
        pytest.param(
            {"repeats": 2, "rule": "mode"},
            "rule must be one of 'mean', 'median', 'min', not 'mode'",
            id="unknown rule",
        ),
        pytest.param(
            {"repeats": 2, "stop": "early"},
            "stop must be one of 'decided', 'never', not 'early'",
            id="unknown stop",
        ),
        pytest.param(
            {"repeat": 3}, "unknown option 'repeat', did you mean 'repeats'", id="name with a typing error"
        ),
        pytest.param(
            {"rule": "mean"},
            "rule: only a judge that votes uses it: pass `repeats` too",
            id="rule without votes",
        ),
        pytest.param(
            {"repeats": 2, "parameters": {"temperature": 0.0}},
            "temperature: 0 would repeat one reply",
            id="temperature 0",
        ),
    ],
)
def test_bad_option_of_a_panel_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((PromptError, TypeError), match=message):
        load("groundedness", model="offline", **options)


OFTEN = voter(5, parameters={"temperature": 0})


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        pytest.param([voter(5)], "two judges or more, not 1", id="one judge"),
        pytest.param(
            [voter(5), load("confidence_grounding", model="offline")],
            r"not on several: groundedness 1\.\.5",
            id="judges of different scales",
        ),
        pytest.param([panel_of(5, 5), voter(5)], "must be judges, not Panel", id="panel in a panel"),
        pytest.param(["groundedness"] * 2, r"must be judges, not str: use load\(\)", id="names"),
        pytest.param(
            voter(5), r"needs a list of judges, as in panel\(.*, not Judge\(", id="a judge in no list"
        ),
        pytest.param(
            "groundedness", "needs a list of judges, .*, not 'groundedness'", id="a name in no list"
        ),
        pytest.param([OFTEN, OFTEN], "listed twice at temperature 0", id="the same judge at temperature 0"),
    ],
)
def test_judges_that_make_no_panel_are_refused(judges: Any, message: str) -> None:
    with pytest.raises(PromptError, match=message):
        panel(judges)


def test_judge_listed_twice_is_asked_twice() -> None:
    group = panel([voter(5, 1, 5, parameters={"temperature": 1})] * 3)
    assert [judge.repeat for judge in group.judges] == [0, 1, 2]
    assert outcome(group.judge(CASE)) is True


def test_judges_with_other_names_make_a_name_for_the_panel() -> None:
    text = Path(RUBRIC.prompt.path).read_text(encoding="utf-8")
    strict = Prompt.parse(text.replace("name: groundedness", "name: strict"))
    group = panel([voter(5), Judge(replace(RUBRIC, prompt=strict), ScriptedModel(tag(5)))])
    verdict = group.judge(CASE)
    assert (group.name, verdict.judge, verdict.status) == ("groundedness+strict",) * 2 + ("ok",)
    assert verdict.prompt
    assert verdict.prompt.sha256 not in {vote.prompt.sha256 for vote in verdict.votes if vote.prompt}


# What everything else does with a panel.


def test_identity_depends_on_all_that_decides() -> None:
    judge = load("groundedness", model="offline")
    warm = load("groundedness", model="offline", repeats=3, parameters={"temperature": 1})
    groups = [warm, repeat_judge(judge, 2), repeat_judge(judge, 3), repeat_judge(judge, 3, rule="median")]
    groups += [
        repeat_judge(judge, 3, stop="never"),
        repeat_judge(load("groundedness", model=lambda _: "x"), 3),
    ]
    assert len({judge.identity, *(group.identity for group in groups)}) == 7


def test_cache_keeps_the_replies_of_repeats_apart(tmp_path: Path) -> None:
    model = NamedModel(tag(5), tag(1), tag(5))
    judges = [load("groundedness", model=CachedModel(model, tmp_path / "c"), repeats=3) for _ in "12"]
    for judge in judges:
        assert [vote.score for vote in judge.judge(CASE).votes] == [1, 0, 1]
    assert len(model.asked) == 3


def rows(n: int) -> list[Case]:
    return [CASE.model_copy(update={"id": f"case {index}"}) for index in range(n)]


def test_run_takes_panels_like_judges_and_the_summary_counts_votes() -> None:
    verdicts = list(run(panel_of(5, 1, 5), rows(4), concurrency=1))
    assert [verdict.passed for verdict in verdicts] == [True] * 4
    (summary,) = summarise(verdicts)
    assert (summary.n_ok, summary.calls_per_row, summary.split_rate) == (4, 3, 1)
    assert summary.agreement == pytest.approx(2 / 3)
    (summary,) = summarise(run(voter(5), rows(2)))
    assert (summary.calls_per_row, summary.split_rate, summary.agreement) == (1, None, None)


def test_error_that_ends_a_run_ends_it_through_a_panel() -> None:
    group = panel([voter(5), voter(ModelError("auth", "stop", "m"))])
    with pytest.raises(ModelError, match="auth"):
        list(run(group, rows(3), concurrency=1))


@pytest.mark.parametrize("max_calls", [40, 7])
def test_budget_of_votes_is_not_spent_on_rows_that_do_not_finish(max_calls: int) -> None:
    group = panel_of(*[5] * 5, stop="never")
    verdicts: list[Verdict] = []
    with pytest.raises(ModelError, match="budget"):
        verdicts.extend(run(group, rows(40), concurrency=16, max_calls=max_calls))
    assert len(verdicts) >= max(1, max_calls // 10)


def named_model(name: str) -> ScriptedModel:
    model = ScriptedModel(tag(5))
    model.name = name
    return model


def test_one_model_for_a_panel_of_models_is_refused_and_for_one_of_prompts_or_repeats_taken() -> None:
    models = [load("groundedness", model=named_model(name)) for name in "ab"]
    one_model = named_model("c")
    with pytest.raises(
        PromptError, match="bad_panel: model: the judges of this panel differ only in their models"
    ):
        as_judge(panel(models), one_model)
    prompts = [models[0], as_judge(models[1], weighted=False)]
    repeats = repeat_judge(models[0], 2)
    for group in (panel(prompts), repeats):
        verdict = as_judge(group, one_model).judge(CASE)
        assert [vote.model for vote in verdict.votes] == ["c", "c"]


def test_options_given_to_a_panel_reach_its_judges() -> None:
    strict = as_judge(panel_of(4, 4), threshold=0.9)
    assert (panel_of(4, 4).judge(CASE).passed, strict.judge(CASE).passed) == (True, False)
    assert isinstance(strict, Panel)
    assert as_judge(panel_of(4, 4), stop="never", rule="min").identity != panel_of(4, 4).identity
    with pytest.raises(PromptError, match="a panel's judges vote already"):
        as_judge(panel_of(4, 4), repeats=3)
