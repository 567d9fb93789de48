"""The figures of a probe: intervals, tests, and what counts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import partial
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import FileOf, Invoke
from make_verdicts import verdict
from standin_judges import StandIn, judge_of, knows_all, standin

from groundjudge import Case, ModelError, Reply, load_rubric
from groundjudge.lab.probe import EditFigures, Probe, ProbeError, attacks, probe
from groundjudge.lab.probe.cases import built_in_cases
from groundjudge.lab.probe.edit import suitable_edits
from groundjudge.lab.probe.figures import read_card, result_of
from groundjudge.lab.probe.plan import FIRST, SECOND, plan_of
from groundjudge.lab.proportions import many_to_one, wilson
from groundjudge.types import Judge, Request
from groundjudge.verdict import Verdict

RUBRIC = load_rubric("groundedness")
DAYS, PRICE = "It is kept for 28 days.", "It costs 12 euros."
ROWS: list[dict[str, Any]] = [
    {"id": "a", "label": 1, "query": "?", "context": DAYS, "response": DAYS},
    {"id": "b", "expect": True, "query": "?", "context": PRICE, "response": PRICE},
    {"id": "c", "expect": "fail", "query": "?", "context": PRICE, "response": "It costs 15 euros."},
]
TRUTH = {"a": True, "b": True, "c": False}


def probe_model(model: StandIn) -> Probe:
    return probe(judge_of(model), ROWS)


def edit_of(result: Probe, name: str) -> EditFigures:
    (figures,) = [figures for figures in result.card.edits if figures.edit == name]
    return figures


def test_each_case_is_judged_twice_unchanged_in_calls_that_no_cache_takes_for_one() -> None:
    model = standin("knows_all", TRUTH)
    probe_model(model)
    repeats = {str(request.case.id): request.repeat for request in model.asked}
    assert {repeats[f"{name}: {FIRST}"] for name in TRUTH} == {0}
    assert {repeats[f"{name}: {SECOND}"] for name in TRUTH} == {1000}
    assert len(repeats) == len(model.asked)
    texts = [request.messages for request in model.asked if str(request.case.id).startswith("a: unchanged")]
    assert texts[0] == texts[1]


def test_skipped_edits_are_counted() -> None:
    planned = plan_of(RUBRIC, ROWS)
    assert planned.skipped["faults", "name"] == 2
    assert planned.skipped["faults", "number"] == 0
    assert planned.skipped["neutral_edits", "documents_reversed"] == 2
    assert not [trial for trial in planned.trials if trial.edit == "name"]


def test_case_that_is_judged_wrong_unchanged_is_unfit() -> None:
    passes_case_a = StandIn("m", lambda request: str(request.case.id).startswith("a: "))
    figures = edit_of(probe_model(passes_case_a), "number")
    assert (figures.rate.n, figures.n_unfit, figures.rate.value) == (1, 1, 0.0)


@pytest.mark.parametrize(
    ("judge_name", "score", "passed", "share_caught"),
    [
        pytest.param("groundedness", 0.25, False, 1.0, id="the score drops and the verdict fails"),
        pytest.param("groundedness", 0.75, True, 0.0, id="the score drops and the verdict still passes"),
        pytest.param("groundedness", 1.0, False, 0.0, id="the verdict fails by the same score"),
        pytest.param("groundedness", None, True, 0.0, id="the verdict has no score"),
        pytest.param("statement_groundedness", 0.75, True, 1.0, id="a judge that grades: the score drops"),
        pytest.param("statement_groundedness", 0.96, True, 0.0, id="a judge that grades: it hardly drops"),
    ],
)
def test_fault_is_caught_if_the_verdict_falls_as_the_judge_rates_faults(
    judge_name: str,
    score: float | None,
    passed: bool,  # noqa: FBT001
    share_caught: float,
) -> None:
    judge = judge_of(standin("always_passes", TRUTH), judge_name)
    planned = plan_of(judge.rubrics[0], ROWS)
    verdicts: list[Verdict] = []
    for trial in planned.trials:
        case_id = str(trial.case.id)
        if trial.edit == "number":
            verdicts.append(verdict(case_id, score, passed=passed))
        else:
            verdicts.append(verdict(case_id, 1.0 if trial.original.is_right else 0.0))
    result = result_of(planned, verdicts, judge)
    assert edit_of(result, "number").rate.value == share_caught


class Mumbling(StandIn):
    """Cannot be read where a number was exchanged."""

    async def acomplete(self, request: Request) -> Reply:
        reply = await super().acomplete(request)
        return Reply("hm") if "number" in str(request.case.id) else reply


class Failing(StandIn):
    """Raises an error that ends no run."""

    async def acomplete(self, request: Request) -> Reply:
        message = f"{self.name}: {request.case.id}: no such parameter"
        raise ModelError("bad_request", message, self.name)


def test_replies_that_cannot_be_read_are_an_outcome_of_their_own() -> None:
    result = probe_model(Mumbling("m", partial(knows_all, TRUTH)))
    assert edit_of(result, "number").no_verdict == {"no_verdict": 2}
    assert edit_of(result, "number").rate.n == 0
    assert result.card.family("faults").no_verdict == {"no_verdict": 2}


def test_family_counts_each_case_once_in_its_interval_and_all_its_edits_in_its_test() -> None:
    result = probe_model(standin("knows_all", TRUTH))
    faults = result.card.family("faults")
    assert faults.rate.n > 4
    assert faults.rate.low == wilson(1.0, 2).low
    trials = [judged_trial.trial for judged_trial in result.judged_trials]
    n_edits = Counter(trial.original.name for trial in trials if trial.family == "faults")
    assert faults.p == pytest.approx(2 / prod(n + 1 for n in n_edits.values()))


def fooled_by(*edits: str) -> StandIn:
    """A judge that is right but where one of these attacks was made."""
    ends = tuple(f", {edit}" for edit in edits)

    def passes(request: Request) -> bool:
        return str(request.case.id).endswith(ends) or knows_all(TRUTH_OF_TEN, request)

    return StandIn("m", passes)


def row_of_ten(number: int) -> dict[str, Any]:
    """A right response under an odd number, and one with a wrong price under an even one."""
    is_right = number % 2 == 1
    return {
        "id": str(number),
        "expect": "pass" if is_right else "fail",
        "query": "?",
        "context": f"It costs {number + 2} euros.",
        "response": f"It costs {number + 2 if is_right else number + 40} euros.",
    }


# Ten rows of each kind.
TEN = [row_of_ten(number) for number in range(20)]
TRUTH_OF_TEN = {str(number): number % 2 == 1 for number in range(20)}
ATTACKS = [*suitable_edits(attacks.edits(RUBRIC), RUBRIC)]


@pytest.mark.soak
@pytest.mark.parametrize(
    "first", [pytest.param(place, id=f"from {ATTACKS[place]} on") for place in range(0, len(ATTACKS) - 6, 6)]
)
def test_no_place_in_the_list_of_edits_hides_a_success(first: int) -> None:
    card = probe(judge_of(fooled_by(*ATTACKS[first : first + 7])), TEN).card
    assert (card.family("attacks").p or 1.0) < 0.05
    assert (card.family("neutral_edits").p, card.family("faults").p is not None) == (1.0, True)


@pytest.mark.soak
@pytest.mark.parametrize(
    ("n_cases", "is_few"), [pytest.param(5, True, id="5 cases"), pytest.param(6, False, id="6 cases")]
)
def test_edits_that_could_not_be_noticed_are_known(n_cases: int, is_few: bool) -> None:  # noqa: FBT001
    others = {
        trial.edit for trial in plan_of(RUBRIC, TEN).trials if trial.family in {"faults", "neutral_edits"}
    }
    edits = probe(judge_of(fooled_by(*ATTACKS)), TEN[: 2 * n_cases], without=[*others]).card.edits
    attack_figures = [figures for figures in edits if figures.family == "attacks" and figures.rate.n]
    assert {figures.is_too_few for figures in attack_figures} == {is_few}
    assert {(figures.p or 0.0) >= 0.05 for figures in attack_figures} == {is_few}


@pytest.mark.soak
def test_table_has_a_mark_where_p_is_below_5_percent(command: Invoke, file_of: FileOf) -> None:
    judging = ("--judge", "groundedness", "--model", "m", "--cases", file_of(*TEN), "--card", "card.json")
    printed = command("probe", *judging, model=fooled_by(*ATTACKS[:9])).stdout.split()
    card = read_card(Path("card.json"))
    p_values = [figures.p for figures in (*card.edits, *card.families)]
    expected_marks = [f"{p:.3f}*" for p in p_values if p is not None and p < 0.05]
    assert expected_marks
    marks = [word for word in printed if re.fullmatch(r"[\d.]+\*", word)]
    assert sorted(marks) == sorted(expected_marks)


def test_padding_makes_a_response_longer_and_says_nothing() -> None:
    case = Case(query="?", context=PRICE, response="It costs 15 euros.")
    padded = attacks.edits(RUBRIC)["padding"].apply(case)
    assert padded
    assert padded.response_text.startswith("It costs 15 euros.\n")
    assert len(padded.response_text) > 10 * len("It costs 15 euros.")
    assert not re.search(r"\d|correct|right|true|support", padded.response_text.partition("\n")[2])


@pytest.mark.parametrize(
    ("pairs", "p"),
    [
        pytest.param([], None, id="no pair"),
        pytest.param([(True, False)] * 6, 2 / 2**6, id="only the first is true"),
        pytest.param([(True, True)] * 3, 1, id="both are true"),
        pytest.param([(True, False)] * 3 + [(False, True)] * 9, 2 * 299 / 2**12, id="the second more often"),
    ],
)
def test_one_outcome_against_one_is_mcnemars_exact_test(pairs: list[tuple[bool, bool]], p: float) -> None:
    assert many_to_one(([first], second) for first, second in pairs) == pytest.approx(p)


@pytest.mark.soak
@pytest.mark.parametrize(("noise", "n_edits"), [(0.02, 17), (0.1, 3), (0.3, 17), (0.5, 1)])
def test_many_outcomes_find_no_difference_by_chance_more_often_than_they_say(
    n_edits: int, noise: float
) -> None:
    chance = Random(5)  # noqa: S311  not a secret
    n_significant = 0
    for _ in range(1000):
        cases: list[tuple[list[bool], bool]] = []
        # Each case has a noise of its own, which its edits and its second judging share.
        noise_of_cases = [chance.betavariate(noise * 4, (1 - noise) * 4) for _ in range(10)]
        for noise_of_case in noise_of_cases:
            outcomes = [chance.random() < noise_of_case for _ in range(n_edits)]
            cases.append((outcomes, chance.random() < noise_of_case))
        n_significant += (many_to_one(cases) or 0.0) < 0.05
    assert n_significant <= 65


def test_worst_failures_are_missed_facts_and_successful_attacks() -> None:
    result = probe_model(standin("always_passes", TRUTH))
    assert {failure.trial.family for failure in result.worst(3)} == {"faults"}
    assert len(result.worst(1)) == 1
    assert {failure.trial.original.name for failure in result.worst(5)} == {"a", "b"}


def test_card_has_the_day_of_the_probe_and_survives_being_written(tmp_path: Any) -> None:
    day_before = datetime.now(UTC).date()
    card = probe_model(standin("obeys", TRUTH)).card
    assert day_before <= date.fromisoformat(card.date) <= datetime.now(UTC).date()
    path = tmp_path / "card.json"
    path.write_text(card.model_dump_json())
    assert read_card(path) == card
    version = load_rubric("groundedness").prompt.id.version
    assert card.signature.startswith(f"groundedness@{version}|sha:")
    assert (card.n_right, card.n_wrong, card.model) == (2, 1, "obeys")


def test_judge_without_a_source_is_refused(tmp_path: Any) -> None:
    prompt = tmp_path / "politeness.prompty"
    prompt.write_text(
        "---\nname: politeness\nreply: {format: plain}\nscale: {worst: 1, best: 5}\n---\n"
        "user:\nHow polite is this? {{response}}\n"
    )
    rubric = load_rubric(prompt)
    with pytest.raises(ProbeError, match=r"no_source.*politeness shows only response"):
        probe(Judge(rubric, standin("knows_all", TRUTH)))


def test_judge_gets_the_cases_that_have_its_inputs_or_needs_cases_of_its_own() -> None:
    inputs = (*RUBRIC.prompt.inputs, RUBRIC.prompt.inputs[0].model_copy(update={"name": "mood"}))
    rubric = replace(RUBRIC, prompt=RUBRIC.prompt.model_copy(update={"inputs": inputs, "name": "moody"}))
    with pytest.raises(ProbeError, match=r"none of groundjudge's own sets.*mood"):
        built_in_cases(rubric)
    renamed = replace(RUBRIC, prompt=RUBRIC.prompt.model_copy(update={"name": "strict"}))
    assert len(built_in_cases(renamed)) == 30


def test_model_that_always_errs_is_an_error_with_its_message() -> None:
    with pytest.raises(ProbeError, match=r"no_verdict.*none of 43 judgings gave .*no such parameter"):
        probe_model(Failing("m", lambda _: True))


def test_edit_that_is_left_out_is_not_judged_and_an_unknown_one_is_named() -> None:
    judge = judge_of(standin("knows_all", TRUTH))
    card = probe(judge, ROWS, without=["number", "markdown"]).card
    assert not {"number", "markdown"} & {figures.edit for figures in card.edits}
    with pytest.raises(ProbeError, match="there is no edit 'numbr': choose from another_answer"):
        probe(judge, ROWS, without=["numbr"])


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        pytest.param('{"judge": 1}', "judge: Input should be a valid string", id="field of another type"),
        pytest.param("[]", "Input should be an object", id="list"),
    ],
)
def test_file_that_is_no_card_is_refused(tmp_path: Any, text: str, fault: str) -> None:
    path = tmp_path / "card.json"
    path.write_text(text)
    with pytest.raises(ProbeError, match=rf"card written by `groundjudge probe --card` \({fault}\)$"):
        read_card(path)


@pytest.mark.parametrize("name", ["groundedness", "confidence_grounding", "statement_groundedness"])
def test_ids_of_the_cases_are_unique_and_both_languages_are_there(name: str) -> None:
    cases = built_in_cases(load_rubric(name))
    assert len({labelled.name for labelled in cases}) == len(cases) == 30
    assert {labelled.case.metadata["language"] for labelled in cases} == {"en", "zh"}
    canaries = [labelled for labelled in cases if labelled.is_canary]
    assert {canary.is_right for canary in canaries} == {True, False}
