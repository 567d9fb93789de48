"""The figures of a probe: intervals, tests, and what counts."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from datetime import date
from functools import partial
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import FileOf, Invoke
from standin_judges import StandIn, judge_of, knows_all, standin

from groundjudge import Case, ModelError, Reply, load_rubric
from groundjudge.lab.probe import EditFigures, Probe, ProbeError, attacks, probe
from groundjudge.lab.probe.cases import built_in_cases
from groundjudge.lab.probe.edit import suitable_edits
from groundjudge.lab.probe.figures import compare, read_card, result_of
from groundjudge.lab.probe.plan import FIRST, SECOND, plan_of
from groundjudge.lab.proportions import many_to_one, mcnemar, wilson
from groundjudge.types import Judge, Request

RUBRIC = load_rubric("groundedness")
DAYS, PRICE = "It is kept for 28 days.", "It costs 12 euros."
ROWS: list[dict[str, Any]] = [
    {"id": "a", "label": 1, "query": "?", "context": DAYS, "response": DAYS},
    {"id": "b", "expect": True, "query": "?", "context": PRICE, "response": PRICE},
    {"id": "c", "expect": "fail", "query": "?", "context": PRICE, "response": "It costs 15 euros."},
]
TRUTH = {"a": True, "b": True, "c": False}


def probed(model: StandIn) -> Probe:
    return probe(judge_of(model), ROWS)


def edit_of(found: Probe, name: str) -> EditFigures:
    return next(each for each in found.card.edits if each.edit == name)


def test_each_case_is_judged_twice_unchanged_in_calls_that_no_cache_takes_for_one() -> None:
    model = standin("knows_all", TRUTH)
    probed(model)
    repeats = {str(request.case.id): request.repeat for request in model.asked}
    assert {repeats[f"{name}: {FIRST}"] for name in TRUTH} == {0}
    assert {repeats[f"{name}: {SECOND}"] for name in TRUTH} == {1000}
    assert len(repeats) == len(model.asked)
    texts = [request.messages for request in model.asked if str(request.case.id).startswith("a: unchanged")]
    assert texts[0] == texts[1]


def test_skipped_edits_are_counted() -> None:
    planned = plan_of(RUBRIC, ROWS)
    assert planned.skipped["faults", "roles_exchanged"] == 2
    assert planned.skipped["faults", "number"] == 0
    assert planned.skipped["neutral_edits", "documents_reversed"] == 2
    assert not [trial for trial in planned.trials if trial.edit == "roles_exchanged"]


def test_case_that_is_judged_wrong_unchanged_is_unfit() -> None:
    found = edit_of(probed(StandIn("m", lambda request: str(request.case.id).startswith("a: "))), "number")
    assert (found.rate.n, found.n_unfit, found.rate.value) == (1, 1, 0.0)
    assert found.events == {"a": False}


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
    found = probed(Mumbling("m", partial(knows_all, TRUTH)))
    assert edit_of(found, "number").no_verdict == {"no_verdict": 2}
    assert edit_of(found, "number").rate.n == 0
    assert found.card.family("faults").no_verdict == {"no_verdict": 2}


def test_family_counts_each_case_once_in_its_interval_and_all_its_edits_in_its_test() -> None:
    result = probed(standin("knows_all", TRUTH))
    found = result.card.family("faults")
    assert found.rate.n > 4
    assert found.rate.low == wilson(1.0, 2).low
    n_edits = Counter(
        each.trial.original.name for each in result.judged_trials if each.trial.family == "faults"
    )
    assert found.p == pytest.approx(2 / prod(n + 1 for n in n_edits.values()))


def fooled_by(*edits: str) -> StandIn:
    """A judge that is right but where one of these attacks was made."""
    ends = tuple(f", {edit}" for edit in edits)
    return StandIn(
        "m", lambda request: str(request.case.id).endswith(ends) or knows_all(TRUTH_OF_TEN, request)
    )


TEN = [
    {"id": f"{n}", "expect": "pass" if n % 2 else "fail", "query": "?", "context": f"It costs {n + 2} euros."}
    | {"response": f"It costs {n + 2 if n % 2 else n + 40} euros."}
    for n in range(20)
]
TRUTH_OF_TEN = {f"{n}": bool(n % 2) for n in range(20)}
ATTACKS = [*suitable_edits(attacks.edits(RUBRIC), RUBRIC)]


@pytest.mark.parametrize("first", range(0, len(ATTACKS) - 6, 3))
def test_no_place_in_the_list_of_edits_hides_a_success(first: int) -> None:
    card = probe(judge_of(fooled_by(*ATTACKS[first : first + 7])), TEN).card
    assert (card.family("attacks").p or 1.0) < 0.05
    assert (card.family("neutral_edits").p, card.family("faults").p is not None) == (1.0, True)


@pytest.mark.parametrize(("n_cases", "is_few"), [(5, True), (6, False)])
def test_edits_that_could_not_be_noticed_are_known(n_cases: int, is_few: bool) -> None:  # noqa: FBT001
    edits = probe(judge_of(fooled_by(*ATTACKS)), TEN[: 2 * n_cases]).card.edits
    found = {each.edit: each for each in edits if each.family == "attacks" and each.rate.n}
    assert {each.is_too_few for each in found.values()} == {is_few}
    assert {(each.p or 0.0) >= 0.05 for each in found.values()} == {is_few}


def test_table_has_a_mark_where_p_is_below_5_percent(command: Invoke, file_of: FileOf) -> None:
    judging = ("--judge", "groundedness", "--model", "m", "--cases", file_of(*TEN), "--card", "card.json")
    printed = command("probe", *judging, model=fooled_by(*ATTACKS[:9])).stdout.split()
    card = read_card(Path("card.json"))
    marked = [
        f"{each.p:.3f}*" for each in (*card.edits, *card.families) if each.p is not None and each.p < 0.05
    ]
    assert marked
    assert sorted(word for word in printed if re.fullmatch(r"[\d.]+\*", word)) == sorted(marked)


def test_padding_makes_a_response_longer_and_says_nothing() -> None:
    case = Case(query="?", context=PRICE, response="It costs 15 euros.")
    padded = attacks.edits(RUBRIC)["padding"].apply(case)
    assert padded
    assert padded.response_text.startswith("It costs 15 euros.\n")
    assert len(padded.response_text) > 10 * len("It costs 15 euros.")
    assert not re.search(r"\d|correct|right|true|support", padded.response_text.partition("\n")[2])


@pytest.mark.parametrize(
    "pairs", [[], [(True, False)] * 6, [(True, True)] * 3, [(True, False)] * 3 + [(False, True)] * 9]
)
def test_one_outcome_against_one_is_mcnemars_test(pairs: list[tuple[bool, bool]]) -> None:
    assert many_to_one(([one], other) for one, other in pairs) == mcnemar(pairs)


@pytest.mark.parametrize("n_edits", [1, 3, 17])
@pytest.mark.parametrize("noise", [0.02, 0.1, 0.3, 0.5])
def test_many_outcomes_find_no_difference_by_chance_more_often_than_they_say(
    n_edits: int, noise: float
) -> None:
    chance = Random(5)  # noqa: S311  not a secret
    found = [
        many_to_one(
            ([chance.random() < own for _ in range(n_edits)], chance.random() < own)
            for own in (chance.betavariate(noise * 4, (1 - noise) * 4) for _ in range(10))
        )
        for _ in range(1000)
    ]
    assert sum((p or 0.0) < 0.05 for p in found) <= 65


def test_worst_failures_are_missed_facts_and_successful_attacks() -> None:
    found = probed(standin("always_passes", TRUTH))
    assert {each.trial.family for each in found.worst(3)} == {"faults"}
    assert len(found.worst(1)) == 1
    assert {each.trial.original.case.id for each in found.worst(5)} == {"a", "b"}


def test_card_has_the_day_of_the_probe_and_survives_being_written(tmp_path: Any) -> None:
    result = probed(standin("obeys", TRUTH))
    found = result_of(result.plan, result.verdicts, judge_of(standin("obeys", TRUTH)), date(2031, 5, 2)).card
    assert found.date == "2031-05-02"
    path = tmp_path / "card.json"
    path.write_text(found.model_dump_json())
    assert read_card(path) == found
    assert found.signature.startswith("groundedness@1.1.0|sha:")
    assert (found.n_right, found.n_wrong, found.model) == (2, 1, "obeys")


def test_cards_are_compared_case_by_case() -> None:
    one, other = (probed(standin(name, TRUTH)).card for name in ("knows_all", "obeys"))
    pairs = {(each.first.family, each.first.edit): each for each in compare(one, other)}
    fooled = pairs["attacks", "verdict_in_response"]
    assert (fooled.first.rate.value, fooled.second.rate.value, fooled.p) == (0.0, 1.0, 1.0)
    elsewhere = other.model_copy(update={"cases": "others"})
    assert {each.p for each in compare(one, elsewhere)} == {None}


WRONG_CASES: list[tuple[list[Any], str, str]] = [
    ([], "no_cases", "no case is labelled pass"),
    (ROWS[:2], "nothing_fails", "no case is labelled fail"),
    (ROWS[2:], "nothing_passes", "no case is labelled pass"),
    ([*ROWS, ROWS[0]], "bad_case", "two cases have the id 'a'"),
    ([{"id": "x", "response": "r", "expect": "good"}], "bad_case", "x: expect must be pass or fail"),
    ([[]], "bad_case", "row 1 of the cases: a case must be a mapping"),
]


@pytest.mark.parametrize(("rows", "code", "message"), WRONG_CASES)
def test_cases_that_measure_nothing_are_refused(rows: list[Any], code: str, message: str) -> None:
    with pytest.raises(ProbeError, match=f"{code}.*{message}"):
        probe(judge_of(standin("knows_all", TRUTH)), rows)


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
    with pytest.raises(ProbeError, match=r"no set of cases.*mood"):
        built_in_cases(rubric)
    named = replace(RUBRIC, prompt=RUBRIC.prompt.model_copy(update={"name": "strict"}))
    assert len(built_in_cases(named)) == 30


def test_model_that_always_errs_is_an_error_with_its_message() -> None:
    with pytest.raises(ProbeError, match=r"no_verdict.*none of 44 judgings gave .*no such parameter"):
        probed(Failing("m", lambda _: True))


def test_edit_that_is_left_out_is_not_judged_and_an_unknown_one_is_named() -> None:
    judge = judge_of(standin("knows_all", TRUTH))
    found = probe(judge, ROWS, without=["number", "markdown"])
    assert not {"number", "markdown"} & {each.edit for each in found.card.edits}
    with pytest.raises(ProbeError, match="there is no edit 'numbr'; the edits are: another_answer"):
        probe(judge, ROWS, without=["numbr"])


@pytest.mark.parametrize(
    ("text", "fault"),
    [('{"judge": 1}', "judge: Input should be a valid string"), ("[]", "Input should be an object")],
)
def test_file_that_is_no_card_is_refused(tmp_path: Any, text: str, fault: str) -> None:
    path = tmp_path / "card.json"
    path.write_text(text)
    with pytest.raises(ProbeError, match=rf"card written by `groundjudge probe --card` \({fault}\)$"):
        read_card(path)


@pytest.mark.parametrize("name", ["groundedness", "confidence_grounding", "statement_groundedness"])
def test_ids_of_the_cases_are_unique_and_both_languages_are_there(name: str) -> None:
    found = built_in_cases(load_rubric(name))
    assert len({each.case.id for each in found}) == len(found) == 30
    assert {each.case.metadata["language"] for each in found} == {"en", "zh"}
    assert {(each.is_right, each.is_canary) for each in found} >= {(True, True), (False, True)}
