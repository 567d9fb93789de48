"""The cheap judge's verdict stands where it is sure; errors and doubts ask the next one, each once."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import pytest
from bundled_judges import reply_of as written_reply
from decision_models import RuleModel, answer_to, sure_of_the_best, sure_of_the_worst
from formatter import numbered, sure
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import ScriptedModel
from sentence_cards import SENTENCE_CARDS

from groundjudge import (
    CaseError,
    Choices,
    GroundjudgeError,
    ModelError,
    PromptError,
    Reply,
    Usage,
    Verdict,
    as_judge,
    cascade,
    load,
    load_rubric,
    panel,
    run,
    summarise,
)
from groundjudge.case.data import is_mapping
from groundjudge.decisions.question import Question
from groundjudge.judging.conversation import Step, run_untraced
from groundjudge.judging.probability import passing_probability
from groundjudge.types import Cascade, Judge, Request

CASE = {"query": "q", "response": "It rains.", "context": "It rains."}
RUBRIC = load_rubric("groundedness")
DOWN = ModelError("server", "down", "m")
UNREADABLE = "I would rather not say."


def reply_of(answer: object) -> str | Exception:
    """The reply with a level, with shares of levels, or what stands for itself."""
    if isinstance(answer, str | Exception):
        return answer
    if is_mapping(answer):
        shares: dict[Any, float] = {**dict.fromkeys(range(1, 6), 0.0), **answer}
        level = max(shares, key=lambda value: shares[value])
        stated = ", ".join(f"{value}: {share:g}" for value, share in shares.items())
        return f"<S1>shares</S1><S2>{level}</S2><S3>{stated}</S3>"
    return f"<S1>reason {answer}</S1>{sure(answer)}"


def judge_of(*answers: object, name: str = "m", **options: Any) -> Judge:
    """A judge that passes from a score of 0.5: level 5 scores 1, 4 0.75, 2 0.25, 1 0; 3 is not applicable."""
    model = ScriptedModel(*(reply_of(answer) for answer in answers))
    model.name = name
    return Judge(RUBRIC.with_options(**options), model, max_reasks=0)


def n_asked(judge: Cascade) -> list[int]:
    """How many requests each judge's model got."""
    counts: list[int] = []
    for model in judge.models:
        assert isinstance(model, ScriptedModel)
        counts.append(len(model.asked))
    return counts


BOUNDS = (0.1, 0.9)
# What each judge says, and how many of them are asked; the last one that is asked decides.
DECIDED: Mapping[str, tuple[Sequence[object], int]] = {
    "sure that it passes": ((5, 1), 1),
    "sure that it fails": ((1, 5), 1),
    "passes, and is not sure": ((4, 1), 2),
    "fails, and is not sure": ((2, 5), 2),
    "not applicable": ((3, 1), 2),
    "an error of the endpoint": ((DOWN, 5), 2),
    "a reply that cannot be read": ((UNREADABLE, 1), 2),
    "the strong one finds nothing to judge": ((4, 3), 2),
    "the second of three is sure": ((4, 1, 5), 2),
    "none but the last of three is sure": ((4, 2, 5), 3),
    "two errors before the last": ((DOWN, UNREADABLE, 2), 3),
}
RESULT = {"status", "score", "scores", "weakest", "value", "label", "passed", "reason", "parts", "reply"}


@pytest.mark.parametrize(("answers", "expected"), DECIDED.values(), ids=DECIDED)
def test_verdict_is_that_of_the_first_judge_that_is_sure(answers: Sequence[object], expected: int) -> None:
    judge = cascade([judge_of(answer, name=f"m{n}") for n, answer in enumerate(answers)], until=BOUNDS)
    verdict = judge.judge(CASE)
    assert n_asked(judge) == [1] * expected + [0] * (len(answers) - expected)
    assert (verdict.decided_after, len(verdict.votes), verdict.attempts) == (expected,) * 3
    assert verdict.decided_by == f"groundedness@m{expected - 1}"
    alone = judge_of(answers[expected - 1], name=f"m{expected - 1}").judge(CASE)
    assert verdict.model_dump(include=RESULT) == alone.model_dump(include=RESULT)
    assert [vote.model for vote in verdict.votes] == [f"m{n}" for n in range(expected)]
    assert [vote.status == "error" for vote in verdict.votes] == [
        isinstance(answer, Exception) or answer == UNREADABLE for answer in answers[:expected]
    ]
    assert (verdict.agreement, verdict.spread) == (None, None)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict


def test_asynchronous_callers_get_the_same_verdict() -> None:
    judges = [judge_of(4, 4), judge_of(1, 1, name="strong")]
    judge = cascade(judges, until=BOUNDS)
    verdict, awaited = judge.judge(CASE), asyncio.run(judge.ajudge(CASE))
    assert verdict.model_dump(exclude={"latency_s"}) == awaited.model_dump(exclude={"latency_s"})


AT_BOUNDS: Mapping[str, tuple[object, object, bool]] = {
    # the bounds, what the cheap judge says, and whether that stands
    "a score at the high bound": ((0.25, 0.75), 4, True),
    "a score at the low bound": ((0.25, 0.75), 2, True),
    "a score below the high bound": ((0.25, 0.7500001), 4, False),
    "a score above the low bound": ((0.2499999, 0.75), 2, False),
    "rounding errors do not count": ((0.1, 0.9), {5: 0.6, 4: 0.4}, True),
    "bounds that are all of the scale": ((0, 1), 5, True),
    "no low bound": ((None, 0.75), 1, False),
    "no low bound, and passes": ((None, 0.75), 5, True),
    "no high bound": ((0.25, None), 5, False),
    "bounds of each judge": ([(0.25, 0.75)], 4, True),
    "bounds that leave nothing open": ((0.499, 0.5), {2: 0.5, 4: 0.5}, True),
}


@pytest.mark.parametrize(("bounds", "answer", "stands"), AT_BOUNDS.values(), ids=AT_BOUNDS)
def test_bounds_are_sure_themselves(bounds: Any, answer: object, stands: object) -> None:
    judge = cascade([judge_of(answer), judge_of(3, name="strong")], until=bounds)
    assert judge.judge(CASE).decided_after == (1 if stands else 2)


def test_not_applicable_may_stand_where_that_was_proven() -> None:
    judges = [judge_of(3), judge_of(5, name="strong")]
    assert cascade(judges, until=BOUNDS).judge(CASE).status == "ok"
    verdict = cascade(judges, until=BOUNDS, not_applicable_stands=True).judge(CASE)
    assert (verdict.status, verdict.passed, verdict.decided_by) == (
        "not_applicable",
        True,
        "groundedness@m",
    )


def test_weakest_sentence_decides_whether_a_judge_of_sentences_is_sure() -> None:
    rubric = load_rubric(SENTENCE_CARDS)
    block = "Statement Sentence: {}\nSupporting Evidence: NOTHING FOUND\nScore: {}"
    reply = "\n\n".join([block.format("It rains.", 0), block.format("It snows.", 0)])
    half = reply.replace("Score: 0", "Score: 5", 1).replace("NOTHING FOUND", "It rains.", 1)
    case = {**CASE, "response": "It rains. It snows."}
    strong = Judge(rubric, ScriptedModel(reply), repeat=1)
    for first_reply in (reply, half):  # of which the mean is 0.25
        judge = cascade([Judge(rubric, ScriptedModel(first_reply)), strong], until=(0.1, 0.9))
        verdict = judge.judge(case)
        assert (verdict.decided_after, verdict.weakest) == (1, 0.0)


@pytest.mark.parametrize(
    ("by", "whole", "decided_after"),
    [
        ("score", 10, 1),
        ("score", 11, 2),
        ("score", 89, 2),
        ("score", 90, 1),
        ("probability", 10, 1),
        ("probability", 89, 2),
    ],
)
def test_whole_decides_whether_a_judge_of_numbered_sentences_is_sure(
    by: Any, whole: int, decided_after: int
) -> None:
    rubric = load_rubric("statement_groundedness")
    strong_reply = numbered([("1", "-", 8), ("1", "-", 5)], 60)
    case = {**CASE, "response": "It rains. It snows."}
    # Sentences between the bounds, and none that contradicts the whole.
    first = Judge(rubric, ScriptedModel(numbered([("1", "-", 7), ("1", "-", 5)], whole)))
    second = Judge(rubric, ScriptedModel(strong_reply), repeat=1)
    verdict = cascade([first, second], until=(0.1, 0.9), by=by).judge(case)
    assert verdict.decided_after == decided_after
    scores = {1: (whole / 100, 0.6, 0.5), 2: (0.6, 0.65, 0.5)}[decided_after]
    assert (verdict.score, verdict.scores["mean"], verdict.scores["weakest"]) == pytest.approx(scores)


PROBABLE: Mapping[str, tuple[Mapping[int, float], bool, float]] = {
    # the stated shares, whether "not applicable" may stand, and the probability that the verdict passes
    "both passing levels together": ({5: 0.5, 4: 0.45, 1: 0.05}, False, 0.95),
    "both failing levels together": ({1: 0.5, 2: 0.46, 5: 0.04}, False, 0.04),
    "not applicable speaks against a verdict that passes": ({5: 0.7, 3: 0.3}, False, 0.7),
    "not applicable speaks against a verdict that fails": ({1: 0.7, 3: 0.3}, False, 0.3),
    "not applicable passes where it may stand": ({5: 0.7, 3: 0.3}, True, 1.0),
    "not applicable that may stand": ({3: 0.8, 1: 0.2}, True, 0.8),
}


@pytest.mark.parametrize(("shares", "stands", "expected"), PROBABLE.values(), ids=PROBABLE)
def test_probability_that_a_verdict_passes(shares: Mapping[int, float], stands: Any, expected: float) -> None:
    verdict = judge_of(shares).judge(CASE)
    found = passing_probability(RUBRIC, verdict, count_not_applicable=stands)
    assert found == pytest.approx(expected)
    second = judge_of(3, name="strong")
    judge = cascade(
        [judge_of(shares), second], until=(0.05, 0.9), by="probability", not_applicable_stands=stands
    )
    assert judge.judge(CASE).decided_after == (1 if expected >= 0.9 or expected <= 0.05 else 2)


@pytest.mark.parametrize(
    ("options", "label", "distribution", "expected"),
    [
        pytest.param({}, None, {"2": 0.3, "4": 0.7}, 0.7, id="numbers"),
        pytest.param({}, None, {"incorrect": 0.3, "incomplete": 0.7}, 0.7, id="labels of numbers"),
        pytest.param(
            {"scale": Choices({"yes": 1, "no": 0, "cannot tell": None}), "levels": {}, "not_applicable": ()},
            None,
            {"yes": 0.6, "no": 0.3, "cannot tell": 0.1},
            0.7,
            id="labels",
        ),
        pytest.param({}, None, {}, None, id="nothing is known"),
        pytest.param({}, None, None, None, id="no probabilities"),
    ],
)
def test_probabilities_are_those_of_numbers_levels_or_labels(
    options: Any, label: str | None, distribution: Any, expected: float | None
) -> None:
    rubric = RUBRIC.with_options(**options)
    verdict = Verdict(judge="j", status="ok", score=0.7, passed=False, label=label, distribution=distribution)
    found = passing_probability(rubric, verdict, count_not_applicable=True)
    assert found == (None if expected is None else pytest.approx(expected))


def test_level_that_is_a_range_passes_with_its_middle_or_with_the_value_that_was_named() -> None:
    rubric = load_rubric("knowledge_hallucination", threshold=0.55)
    moderate = {"moderate_hallucination": 1.0}
    expected = {None: 0.0, 58.0: 1.0, 52.0: 0.0}
    for value, probability in expected.items():
        verdict = Verdict(
            judge="j",
            status="ok",
            value=value,
            label=None if value is None else "moderate_hallucination",
            distribution=moderate,
        )
        assert passing_probability(rubric, verdict, count_not_applicable=False) == probability


# How probable the best option of each question is, and whether a decision model's verdict on that stands.
DECISIONS = {
    "sure that it passes": (0.97, 1),
    "sure that it fails": (0.02, 1),
    "not sure": (0.6, 2),
}


@pytest.mark.parametrize(
    ("name", "probability", "decided_after"),
    [
        *(pytest.param("groundedness", *row, id=name) for name, row in DECISIONS.items()),
        pytest.param("statement_groundedness", 0.97, 1, id="sure of every sentence"),
        pytest.param("confidence_grounding", 0.02, 1, id="sure of the worst level"),
    ],
)
def test_decision_model_decides_where_its_probability_says_so(
    name: str, probability: float, decided_after: int
) -> None:
    def rule(question: Question, _: int) -> Mapping[str, Any]:
        if question.id.startswith("e"):
            return sure_of_the_best(question)
        probabilities = [0.0] * len(question.options)
        (best,) = sure_places(sure_of_the_best(question))
        (worst,) = sure_places(sure_of_the_worst(question))
        probabilities[best] += probability
        probabilities[worst] += 1 - probability
        return answer_to(question, probabilities)

    case = {**CASE, "context": ["It rains."]}
    judges = [load(name, model=RuleModel(rule)), load(name, model="offline")]
    judge = cascade(judges, until=(0.05, 0.95), by="probability")
    verdict = judge.judge(case)
    assert verdict.decided_after == decided_after
    first = verdict.votes[0]
    assert first.error is None
    if decided_after == 1:
        assert verdict.passed is (probability > 0.5)
        assert verdict.confidence is not None


def sure_places(answer: Mapping[str, Any]) -> list[int]:
    """The places of the options that have all probability."""
    return [place for place, share in enumerate(answer["probabilities"].values()) if share == 1]


OFFLINE_FIRST: Mapping[str, tuple[str, int]] = {
    # a response, and how many judges decide; the second one fails whatever it is asked
    "the words of the source": ("It rains in May.", 1),
    "nearly its words": ("It is raining in May.", 1),
    "another tense": ("It rained in May.", 2),
    "another word": ("It rains in June.", 2),
    "other words": ("May is wet.", 2),
    "half of it": ("It rains in May. Nobody minds.", 2),
    "nothing to judge": ("Thank you!", 2),
}


@pytest.mark.parametrize(
    ("name", "response", "decided_after"),
    [
        *(pytest.param("groundedness", *row, id=name) for name, row in OFFLINE_FIRST.items()),
        pytest.param("statement_groundedness", "It rains in May.", 1, id="a sentence of the source"),
        pytest.param("statement_groundedness", "It rains in May. Nobody minds.", 2, id="one of two"),
    ],
)
def test_what_the_offline_judge_passes_stands_and_the_rest_is_asked(
    name: str, response: str, decided_after: int
) -> None:
    rubric = load_rubric(name)
    model = ScriptedModel(written_reply(rubric, response, 0))
    judge = cascade([load(name, model="offline"), Judge(rubric, model)], until=(None, 0.8))
    case = {"query": "When does it rain?", "context": ["It rains in May."], "response": response}
    verdict = judge.judge(case)
    assert (verdict.decided_after, len(model.asked)) == (decided_after, decided_after - 1)
    assert verdict.passed is (decided_after == 1)
    assert "not_decided" not in verdict.warnings


def test_verdict_that_fails_and_more_probably_passes_is_not_sure() -> None:
    shares = {5: 0.8, 1: 0.2}  # a mean of 0.8 fails at 0.85, and passes with a probability of 0.8
    judges = [judge_of(shares, threshold=0.85), judge_of(1, name="strong", threshold=0.85)]
    judge = cascade(judges, until=(0.2, 0.8), by="probability")
    assert judge.judge(CASE).decided_after == 2


def test_each_vote_has_its_own_cost_and_the_verdict_has_them_all() -> None:
    def cheap(_: Request) -> Reply:
        return Reply(str(reply_of(4)), usage=Usage(prompt_tokens=10, completion_tokens=1), model="cheap-1")

    def strong(_: Request) -> Reply:
        return Reply(str(reply_of(2)), usage=Usage(prompt_tokens=20, completion_tokens=5), model="strong-1")

    judges = [load("groundedness", model=model) for model in (cheap, strong)]
    verdict = cascade(judges, until=BOUNDS).judge(CASE)
    assert [vote.usage and vote.usage.total_tokens for vote in verdict.votes] == [11, 25]
    assert verdict.usage == Usage(prompt_tokens=30, completion_tokens=6)
    assert (verdict.model, verdict.decided_by) == ("cheap-1+strong-1", "groundedness@strong-1")
    assert [vote.label for vote in verdict.votes] == ["incomplete", "incorrect"]


@pytest.mark.soak
@given(st.lists(st.sampled_from([5, 4, 2, 1, 3, DOWN]), min_size=1, max_size=12))
def test_calls_are_one_a_row_and_one_for_each_that_is_handed_on(answers: list[object]) -> None:
    judge = cascade([judge_of(*answers), judge_of(2, name="strong")], until=BOUNDS)
    verdicts = list(run(judge, [{**CASE, "id": str(n)} for n in range(len(answers))], concurrency=1))
    n_handed_on = sum(answer not in {1, 5} for answer in answers)
    assert n_asked(judge) == [len(answers), n_handed_on]
    assert sum(verdict.attempts for verdict in verdicts) == len(answers) + n_handed_on
    (summary,) = summarise(verdicts)
    assert summary.calls_per_row == pytest.approx(1 + n_handed_on / len(answers))
    assert (summary.agreement, summary.split_rate) == (None, None)


def test_error_of_the_last_judge_is_the_verdict_with_both_votes() -> None:
    judge = cascade([judge_of(4), judge_of(DOWN, name="strong")], until=BOUNDS)
    with pytest.raises(ModelError, match="down") as raised:
        judge.judge(CASE)
    verdict = raised.value.verdict
    assert verdict
    assert (verdict.status, verdict.score, verdict.passed, verdict.decided_by) == ("error", None, None, None)
    assert [vote.status for vote in verdict.votes] == ["ok", "error"]
    assert judge.evaluate(CASE).error == verdict.error


def test_whatever_a_model_raises_asks_the_next_judge() -> None:
    judge = cascade([judge_of(RuntimeError("out of order")), judge_of(5, name="strong")], until=BOUNDS)
    verdict = judge.judge(CASE)
    assert (verdict.score, verdict.decided_after) == (1, 2)
    assert verdict.votes[0].error
    assert verdict.votes[0].error.code == "unexpected"


def test_case_that_no_judge_can_read_costs_no_call() -> None:
    judge = cascade([judge_of(5), judge_of(5, name="strong")], until=BOUNDS)
    with pytest.raises(CaseError, match="missing_field") as raised:
        judge.judge({"response": "r", "context": "c"})
    assert raised.value.verdict
    assert (raised.value.verdict.attempts, n_asked(judge)) == (0, [0, 0])


def test_each_vote_is_a_step_with_the_steps_of_its_conversation_inside() -> None:
    names: list[str] = []

    def note_step(step: Step) -> AbstractContextManager[Callable[[Any], object]]:
        names.append(step.name.removeprefix("groundjudge."))
        return run_untraced(step)

    cascade([judge_of(4), judge_of(5, name="strong")], until=BOUNDS).judge(CASE, note_step)
    assert names == [*("vote 1", "ask", "call", "read"), *("vote 2", "ask", "call", "read")]


def test_identity_is_that_of_the_judges_the_bounds_and_what_they_are_compared_with() -> None:
    judges = [judge_of(5), judge_of(5, name="strong")]
    cascades = [
        cascade(judges, until=BOUNDS),
        cascade(judges[::-1], until=BOUNDS),
        cascade(judges, until=(0.1, 0.91)),
        cascade(judges, until=(None, 0.9)),
        cascade(judges, until=BOUNDS, by="probability"),
        cascade(judges, until=BOUNDS, not_applicable_stands=True),
    ]
    assert len({judge.identity for judge in cascades}) == len(cascades)
    for bounds in ([BOUNDS], list(BOUNDS), [list(BOUNDS)]):
        same: Any = bounds  # as from JSON
        assert cascade(judges, until=same).identity == cascades[0].identity
    assert panel(judges).identity not in {judge.identity for judge in cascades}


def test_cascade_can_be_pickled() -> None:
    judges = [load("groundedness", model="offline", structured=how) for how in ("never", "always")]
    judge = cascade(judges, until=BOUNDS)
    copy: Cascade = pickle.loads(pickle.dumps(judge))  # noqa: S301  made here
    assert (copy.identity, copy.until) == (judge.identity, ((0.1, 0.9),))


# Wrong use.

JUDGE = judge_of(5)
STRONG = judge_of(5, name="strong")
BOTH = (JUDGE, STRONG)
UNWEIGHTED = (judge_of(5, weighted=False), STRONG)
PASSAGES = tuple(load("passage_quality", model=ScriptedModel("r"), max_reasks=n) for n in (0, 1))
REFUSED: Mapping[str, tuple[Any, Mapping[str, Any], str]] = {
    "no judge": ((), {}, "cascade: it needs two judges or more, not 0"),
    "one judge": ((JUDGE,), {}, "cascade: it needs two judges or more, not 1"),
    "a panel": ((JUDGE, panel(BOTH)), {}, "its members must be single judges, .*, not Panel"),
    "a name": (("groundedness", JUDGE), {}, r"its members must be single judges, as load\(\) .*, not str"),
    "a judge that is not in a list": (
        STRONG,
        {},
        r"it needs a list of judges, as in cascade\(.*, not Judge\(",
    ),
    "a name that is not in a list": ("groundedness", {}, "it needs a list of judges, .*, not 'groundedness'"),
    "one judge twice": ((JUDGE, JUDGE), {}, "groundedness with m is listed twice"),
    "two scales": (
        (JUDGE, load("confidence_grounding", model="offline")),
        {},
        r"must answer on one scale, not on several: groundedness with m: 1\.\.5",
    ),
    "two thresholds": (
        (JUDGE, judge_of(5, name="strong", threshold=0.7)),
        {},
        "one threshold, not several: groundedness with m: 0.5; groundedness with strong: 0.7",
    ),
    "bounds out of order": (BOTH, {"until": (0.9, 0.1)}, "the low bound 0.9 is above the high one 0.1"),
    "a bound above 1": (BOTH, {"until": (0.1, 90)}, "a number from 0 to 1, or None, not 90"),
    "a bound below 0": (BOTH, {"until": (-0.1, 0.9)}, "a number from 0 to 1, or None, not -0.1"),
    "a bound that is no number": (BOTH, {"until": (float("nan"), 0.9)}, "or None, not nan"),
    "a bound in words": (BOTH, {"until": ("0.1", 0.9)}, "or None, not '0.1'"),
    "a boolean": (BOTH, {"until": (False, 0.9)}, "or None, not False"),
    "one bound": (BOTH, {"until": (0.9,)}, r"it must be \(low, high\), as in \(0.1, 0.9\), not \(0.9,\)"),
    "a single number": (BOTH, {"until": 0.9}, r"it must be \(low, high\), as in \(0.1, 0.9\), not 0.9"),
    "no bounds": (BOTH, {"until": (None, None)}, "no verdict of this judge would ever be final"),
    "bounds for too many judges": (
        BOTH,
        {"until": [BOUNDS, BOUNDS]},
        "2 pairs of bounds for 2 judges: give one pair, or one for each judge but the last",
    ),
    "a low bound that passes": (BOTH, {"until": (0.5, 0.9)}, "the low bound 0.5 must be below the threshold"),
    "a high bound that fails": (BOTH, {"until": (0.1, 0.4)}, "the high bound 0.4 must reach the"),
    "an unknown way": (BOTH, {"by": "confidence"}, "by must be one of 'score', 'probability'"),
    "no probabilities": (UNWEIGHTED, {"by": "probability"}, "groundedness with m have no probabilities"),
    "parts have no common probability": (PASSAGES, {"by": "probability"}, "is made of several parts"),
    "a word for a boolean": (BOTH, {"not_applicable_stands": "no"}, "must be True or False, not 'no'"),
}


def make_cascade(judges: Sequence[Any], options: Mapping[str, Any]) -> Cascade:
    all_options: dict[str, Any] = {"until": BOUNDS, **options}
    return cascade(judges, **all_options)


@pytest.mark.parametrize(("judges", "options", "message"), REFUSED.values(), ids=REFUSED)
def test_cascade_that_cannot_be_is_refused_by_name(
    judges: Sequence[Any], options: Mapping[str, Any], message: str
) -> None:
    with pytest.raises(PromptError, match=message) as raised:
        make_cascade(judges, options)
    assert raised.value.code == "bad_cascade"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"model": "offline"}, "model: each judge of a cascade has its own model", id="model"),
        pytest.param({"repeats": 3}, "repeats: the judges of a cascade do not vote", id="repeats"),
        pytest.param({"rule": "min"}, "rule: the judges of a cascade do not vote", id="rule"),
        pytest.param({"threshold": 0.95}, "the high bound 0.9 must reach", id="threshold"),
    ],
)
def test_option_that_a_cascade_cannot_have_is_refused(options: dict[str, Any], message: str) -> None:
    judge = cascade(BOTH, until=BOUNDS)
    with pytest.raises(PromptError, match=message):
        as_judge(judge, **options)


def test_options_are_those_of_each_judge() -> None:
    judge: GroundjudgeError | Any = as_judge(cascade(BOTH, until=BOUNDS), threshold=0.8, max_reasks=2)
    assert isinstance(judge, Cascade)
    assert [(member.rubric.threshold, member.max_reasks) for member in judge.judges] == [(0.8, 2)] * 2
    assert (judge.threshold, judge.until, judge.name, judge.model_name) == (
        0.8,
        ((0.1, 0.9),),
        "groundedness",
        "m+strong",
    )
