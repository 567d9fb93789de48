"""Answers are read from raw JSON in both forms: any fault is an error, and only the probabilities count."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from decision_models import Form, answer_to, listed, reply_of

from groundjudge.case.data import is_list
from groundjudge.decisions.answers import AnswerError, read_answers
from groundjudge.decisions.question import Option, Question

CHOICE = Question("verdict", "choice", "Which?", tuple(Option(key, key) for key in "ABCD"))
SCORE = Question("recall", "score", "How much?", tuple(Option(key, key) for key in "012"))
WIDE = Question("e1", "choice", "Which sentence?", tuple(Option(str(number), None) for number in range(41)))
QUESTIONS = (CHOICE, SCORE)

GOOD: Mapping[str, Any] = {
    "verdict": answer_to(CHOICE, [0.1, 0.2, 0.3, 0.4]),
    "recall": answer_to(SCORE, [0.25, 0.25, 0.5]),
}


def text_of(answers: Mapping[str, Any], form: Form) -> str:
    if form == "systemone":
        return json.dumps({"answers": answers})
    return json.dumps({"answers": [*map(listed, answers, answers.values())]})


FORMS: tuple[Form, ...] = ("openai", "systemone")


@pytest.mark.parametrize("form", FORMS)
def test_the_probabilities_are_read_in_the_order_of_the_options(form: Form) -> None:
    answers = read_answers(text_of(GOOD, form), QUESTIONS)
    assert answers == {"verdict": (0.1, 0.2, 0.3, 0.4), "recall": (0.25, 0.25, 0.5)}


GOOD_CHANGES: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "answers in another order": lambda answers: answers.update(verdict=answers.pop("verdict")),
    "probabilities in another order": lambda answers: answers["verdict"].update(
        probabilities=dict(reversed(answers["verdict"]["probabilities"].items()))
    ),
    "a choice that is not the likeliest": lambda answers: answers["verdict"].update(choice="A"),
    "a confidence of the server's": lambda answers: answers["verdict"].update(confidence=9),
    "a score of the server's": lambda answers: answers["recall"].update(score=-7),
    "a legend": lambda answers: answers["recall"].update(legend={"0": "none: at all", "1": "some"}),
}


@pytest.mark.parametrize("change", GOOD_CHANGES)
def test_what_stands_beside_the_probabilities_does_not_count(change: str) -> None:
    answers = json.loads(json.dumps(GOOD))
    GOOD_CHANGES[change](answers)
    for form in FORMS:
        assert read_answers(text_of(answers, form), QUESTIONS) == read_answers(text_of(GOOD, form), QUESTIONS)


def probabilities(id_: str, **changes: object) -> Callable[[dict[str, Any]], object]:
    """Change probabilities of an answer by the keys of their options; a key that is None is removed."""

    def change(answers: dict[str, Any]) -> None:
        stated = answers[id_]["probabilities"]
        for name, value in changes.items():
            key = name.removeprefix("_")
            if value is None:
                stated.pop(key)
            else:
                stated[key] = value

    return change


def fields(id_: str, **changes: object) -> Callable[[dict[str, Any]], object]:
    return lambda answers: answers[id_].update(changes)


FAULTS_OF_BOTH: Mapping[str, Callable[[dict[str, Any]], object]] = {
    "an option of a choice is left out": probabilities("verdict", A=None),
    "the likeliest option is left out": probabilities("verdict", D=None),
    "an option too many": probabilities("verdict", E=0.0),
    "an option in small letters": probabilities("verdict", A=None, a=0.1),
    "no option at all": lambda answers: answers["verdict"].update(probabilities={}),
    "a level is left out": probabilities("recall", _0=None),
    "levels from 1": lambda answers: answers["recall"].update(probabilities={"1": 0.25, "2": 0.25, "3": 0.5}),
    "a sum of 0.97": probabilities("verdict", D=0.37),
    "a sum of 1.03": probabilities("verdict", D=0.43),
    "percent": lambda answers: answers["verdict"].update(probabilities={"A": 10, "B": 20, "C": 30, "D": 40}),
    "all zero": lambda answers: answers["verdict"].update(probabilities={"A": 0, "B": 0.0, "C": 0, "D": 0}),
    "a number below 0": probabilities("verdict", A=-0.1, D=0.6),
    "a number above 1": probabilities("verdict", A=0, B=0, C=0, D=1.01),
    "a number as a text": probabilities("verdict", A="0.1"),
    "true for 1": lambda answers: answers["verdict"].update(
        probabilities={"A": False, "B": False, "C": False, "D": True}
    ),
    "a mapping for a number": probabilities("verdict", A={"probability": 0.1}),
    "no type": lambda answers: answers["verdict"].pop("type"),
    "an unknown type": fields("verdict", type="ranking"),
    "the type of the other question": fields("verdict", type="score"),
    "a predicate": fields("verdict", type="predicate", probability=0.9),
    "a noul": fields("recall", type="noul", noul=0.9),
    "a number as the type": fields("verdict", type=1),
    "an answer that nobody asked for": lambda answers: answers.update(s1=answers["verdict"]),
    "two answers under each other's names": lambda answers: answers.update(
        verdict=answers["recall"], recall=answers["verdict"]
    ),
}
"""Changes that make good answers bad ones, in both forms."""


@pytest.mark.parametrize("fault", FAULTS_OF_BOTH)
def test_a_fault_in_either_form_is_an_error(fault: str) -> None:
    answers = json.loads(json.dumps(GOOD))
    FAULTS_OF_BOTH[fault](answers)
    for form in FORMS:
        with pytest.raises(AnswerError) as raised:
            read_answers(text_of(answers, form), QUESTIONS)
        assert raised.value.code == "bad_distribution"


LISTED = '{"type": "score", "name": "recall", "probabilities": [%s]}'
MAPPED = '{"type": "score", "probabilities": %s}'
THIRDS = (
    '{"value": 0, "probability": 0.3}, {"value": 1, "probability": 0.3}, {"value": 2, "probability": 0.4}'
)

FAULTY_TEXTS: Mapping[str, str] = {
    "nothing": "",
    "prose": "The response is grounded.",
    "null": "null",
    "an error page": "<html>502 Bad Gateway</html>",
    "a chat completion": '{"choices": [{"message": {"content": "5"}}]}',
    "cut off": '{"answers": [{"type": "score", "name": "rec',
    "two documents": '{"answers": {}}{"answers": {}}',
    "no answers": "{}",
    "answers that are null": '{"answers": null}',
    "answers that are a text": '{"answers": "recall"}',
    "an entry that is null": '{"answers": [null]}',
    "an answer without a name": '{"answers": [{"type": "score", "probabilities": []}]}',
    "a name that is a number": '{"answers": [{"type": "refusal", "name": 1}]}',
    "an answer by its id": '{"answers": [{"type": "refusal", "id": "recall"}]}',
    "two answers of one name": f'{{"answers": [{LISTED % THIRDS}, {LISTED % THIRDS}]}}',
    "a refusal and an answer": '{"answers": [{"type": "refusal", "name": "recall"}, %s]}' % (LISTED % THIRDS),
    "an answer that is a number": '{"answers": {"recall": 0.9}}',
    "an answer that is a text": '{"answers": {"recall": "2"}}',
    "NaN": '{"answers": {"recall": %s}}' % (MAPPED % '{"0": NaN, "1": 0.5, "2": 0.5}'),
    "a number beyond all numbers": '{"answers": {"recall": %s}}' % (MAPPED % '{"0": 1e999, "1": 0, "2": 0}'),
    "NaN beside the answers": '{"answers": {"recall": %s}, "usage": NaN}'
    % (MAPPED % '{"0": 0, "1": 0, "2": 1}'),
    "a level twice": '{"answers": {"recall": %s}}' % (MAPPED % '{"0": 0.3, "1": 0.3, "2": 0.2, "2": 0.4}'),
    "an answer twice": '{{"answers": {{"recall": {}, "recall": {}}}}}'.format(
        MAPPED % '{"0": 1, "1": 0, "2": 0}', MAPPED % '{"0": 0, "1": 0, "2": 1}'
    ),
    "probabilities twice": '{"answers": {"recall": {"type": "score", '
    '"probabilities": {"0": 1, "1": 0, "2": 0}, "probabilities": {"0": 0, "1": 0, "2": 1}}}}',
    "answers twice": '{{"answers": {{"recall": {}}}, "answers": {{"recall": {}}}}}'.format(
        MAPPED % '{"0": 1, "1": 0, "2": 0}', MAPPED % '{"0": 0, "1": 0, "2": 1}'
    ),
    "probabilities that are null": '{"answers": {"recall": %s}}' % (MAPPED % "null"),
    "probabilities by position": '{"answers": {"recall": %s}}' % (MAPPED % "[0.3, 0.3, 0.4]"),
    "no probabilities": '{"answers": {"recall": {"type": "score", "score": 2, "confidence": 1}}}',
    "a score of 0 alone": '{"answers": [{"type": "score", "name": "recall", "score": 0}]}',
    "an index that is a text": '{"answers": [%s]}' % (LISTED % THIRDS.replace('"value": 0', '"value": "0"')),
    "an index with a point": '{"answers": [%s]}' % (LISTED % THIRDS.replace('"value": 0', '"value": 0.0')),
    "an index that is a boolean": '{"answers": [%s]}'
    % (LISTED % THIRDS.replace('"value": 1', '"value": true')),
    "an index below 0": '{"answers": [%s]}' % (LISTED % THIRDS.replace('"value": 0', '"value": -1')),
    "an index from 1": '{"answers": [%s]}' % (LISTED % THIRDS.replace('"value": 0', '"value": 3')),
    "an index twice": '{"answers": [%s]}' % (LISTED % THIRDS.replace('"value": 0', '"value": 1')),
    "a probability twice": '{"answers": [%s]}'
    % (LISTED % THIRDS.replace('"probability": 0.4', '"probability": 0.4, "probability": 0.4')),
    "a level twice beside a text with a colon": '{"model": "a:b", "answers": {"recall": %s}}'
    % (MAPPED % '{"0": 0.3, "1": 0.3, "2": 0.2, "2": 0.4}'),
    "a level twice beside an escaped colon": '{"model": "a\\u003ab", "answers": {"recall": %s}}'
    % (MAPPED % '{"0": 0.3, "1": 0.3, "2": 0.2, "2": 0.4}'),
    "a level twice, once with an escape": '{"answers": {"recall": %s}}'
    % (MAPPED % '{"0": 0.3, "1": 0.3, "2": 0.2, "\\u0032": 0.4}'),
    "a number without an index": '{"answers": [%s]}' % (LISTED % THIRDS.replace('"value": 0, ', "")),
    "an entry that is a pair": '{"answers": [%s]}' % (LISTED % "[0, 0.3], [1, 0.3], [2, 0.4]"),
    "the label of another level": '{"answers": [%s]}'
    % (LISTED % THIRDS.replace('"value": 0', '"value": 0, "label": "2"')),
    "levels in the opposite order": '{"answers": [%s]}'
    % (
        LISTED
        % (
            '{"value": 0, "label": "2", "probability": 0.9}, {"value": 1, "label": "1", "probability": 0.1}, '
            '{"value": 2, "label": "0", "probability": 0}'
        )
    ),
    "very deep": '{"answers": ' + "[" * 100_000,
    "very many digits": '{"answers": {"recall": %s}}'
    % (MAPPED % ('{"0": 1%s, "1": 0, "2": 0}' % ("0" * 5000))),
}
"""Texts of replies that hold no answer to the question about recall."""


@pytest.mark.parametrize("fault", FAULTY_TEXTS)
def test_a_text_without_answers_is_an_error(fault: str) -> None:
    with pytest.raises(AnswerError) as raised:
        read_answers(FAULTY_TEXTS[fault], [SCORE])
    assert raised.value.code == "bad_distribution"
    assert "server" in raised.value.message


@pytest.mark.parametrize("form", FORMS)
def test_rounded_probabilities_are_divided_by_their_sum(form: Form) -> None:
    rounded = {"recall": answer_to(SCORE, [0.33, 0.33, 0.33])}
    answers = read_answers(text_of(rounded, form), [SCORE])
    assert answers["recall"] == pytest.approx((1 / 3, 1 / 3, 1 / 3))


@pytest.mark.parametrize(("sum_", "is_read"), [(0.985, True), (1.015, True), (0.984, False), (1.016, False)])
def test_each_option_may_be_rounded_by_half_a_percent(sum_: float, *, is_read: bool) -> None:
    text = text_of({"recall": answer_to(SCORE, [0.4, 0.3, round(sum_ - 0.7, 6)])}, "systemone")
    if is_read:
        assert sum(read_answers(text, [SCORE])["recall"] or ()) == pytest.approx(1)
    else:
        with pytest.raises(AnswerError, match="add up to"):
            read_answers(text, [SCORE])


@pytest.mark.parametrize("form", FORMS)
def test_the_sum_of_a_wide_choice_does_not_count(form: Form) -> None:
    stated = [0.02] * 41
    answers = read_answers(text_of({"e1": answer_to(WIDE, stated)}, form), [WIDE])
    assert answers["e1"] == tuple(stated)


@pytest.mark.parametrize("form", FORMS)
def test_a_wide_choice_of_zeros_is_an_error(form: Form) -> None:
    with pytest.raises(AnswerError):
        read_answers(text_of({"e1": answer_to(WIDE, [0] * 41)}, form), [WIDE])


@pytest.mark.parametrize("form", FORMS)
def test_refused_and_missing_answers_are_told_apart(form: Form) -> None:
    answers = read_answers(text_of({"recall": {"type": "refusal"}}, form), QUESTIONS)
    assert answers == {"recall": None}


def test_an_answer_of_null_is_missing() -> None:
    assert read_answers('{"answers": {"recall": null}}', QUESTIONS) == {}


def hostile_reply(dice: random.Random) -> str:
    """Answers with a few random faults, or none."""
    form: Form = dice.choice(["openai", "systemone"])

    def answer(question: Question) -> Any:
        cuts = sorted(dice.random() for _ in question.options[1:])
        numbers: list[Any] = [end - start for start, end in zip([0, *cuts], [*cuts, 1], strict=True)]
        numbers = [round(number, dice.choice([2, 4, 17])) for number in numbers]
        if dice.random() < 0.5:
            wrong: list[Any] = [
                None,
                True,
                "1",
                -1,
                2,
                1e308,
                [],
                {},
                float("nan"),
                float("inf"),
                0.5,
                10**400,
                "",
                0,
            ]
            numbers[dice.randrange(len(numbers))] = dice.choice(wrong)
        return answer_to(question, numbers)

    text = reply_of(QUESTIONS, answer, form)
    if dice.random() < 0.5:
        pieces = [
            '"value": 0',
            '"A"',
            '"probabilities"',
            '"type"',
            "choice",
            "score",
            '"name"',
            "verdict",
            "}",
            ",",
        ]
        text = text.replace(
            dice.choice(pieces), dice.choice([*pieces, "null", "[]", '"value": 1', "1"]), dice.choice([1, -1])
        )
    if dice.random() < 0.1:
        text = text[: dice.randrange(len(text))]
    return text


def check_hostile_replies(first: int, n_replies: int) -> None:
    """Each reply is an error, or its numbers are exactly those that it states."""
    n_read = 0
    codes: set[str] = set()
    for seed in range(first, first + n_replies):
        text = hostile_reply(random.Random(seed))  # noqa: S311  no secret
        try:
            answers = read_answers(text, QUESTIONS)
        except AnswerError as error:
            codes.add(error.code)
            continue
        stated = json.loads(text)["answers"]
        if is_list(stated):
            stated = {answer["name"]: answer for answer in stated}
        for question in QUESTIONS:
            if answers.get(question.id) is None:
                continue
            n_read += 1
            numbers: Any = stated[question.id]["probabilities"]
            if is_list(numbers):
                numbers = {str(entry["value"]): entry["probability"] for entry in numbers}
            total = sum(numbers.values())
            expected: list[float] = [numbers[option.key] / total for option in question.options]
            assert answers[question.id] == pytest.approx(expected, abs=1e-12), text
    assert codes == {"bad_distribution"}
    assert n_read > n_replies / 10  # otherwise nothing was tested


@pytest.mark.parametrize("n_replies", [200, pytest.param(30_000, marks=pytest.mark.soak)])
def test_hostile_servers_get_no_number_but_the_one_they_state(n_replies: int) -> None:
    check_hostile_replies(10_000, n_replies)
