"""The answers of a decision model, read from the JSON of its reply: probabilities, or an error.

Anything else that a server sends with them (its choice, its score, its confidence) is not read: it all
follows from the probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Any, ClassVar, NoReturn, TypeAlias

import orjson

from groundjudge.case.data import is_list, is_mapping, unique_keys
from groundjudge.decisions.block import MAX_OPTIONS
from groundjudge.decisions.question import Option, Question
from groundjudge.errors import ReplyError
from groundjudge.models.returned import usage_of_response
from groundjudge.replies.reply import Reply
from groundjudge.verdict import Part

TOLERANCE = 0.005
"""How far each probability may be from its true value: servers round them to two decimals."""

NOISE = 1e-9
"""How far a sum of numbers may be from its true value."""

Probabilities: TypeAlias = tuple[float, ...]
"""How probable each option of a question is, in the order of the options."""

Answers: TypeAlias = Mapping[str, Probabilities | None]
"""The probabilities by the ids of the questions; None for one that the model declined to answer."""

NUMERIC = frozenset([float, int])
"""The types of numbers in JSON."""


class AnswerError(ReplyError):
    """The answers of a decision model cannot be trusted, or one is missing.

    Attributes:
        parts: the parts of the verdict that were answered.
        questions: the questions without an answer.
    """

    codes: ClassVar[Mapping[str, str]] = {
        "bad_distribution": "The probabilities of an answer do not match the options of its question. "
        "Changing the case does not help: look at the reply, and use another server or model, or a newer "
        "version of the server.",
        "missing_answer": "The model left a question unanswered, twice. Look at the reply; the server may "
        "accept only fewer questions at a time.",
        "refused": "The model declined to answer a question, twice. Look at the case; another model may "
        "judge it.",
    }

    parts: tuple[Part, ...] = ()
    questions: tuple[Question, ...] = ()


def reply_with(text: str, response: Mapping[str, Any]) -> Reply:
    """Make a reply with the tokens and the name of the model that a response states beside its answers.

    Args:
        text: the response as JSON.
        response: the response of an endpoint, or of a library, where they have other names.
    """
    name = response.get("model", response.get("model_name"))
    usage = usage_of_response(response.get("usage"))
    return Reply(text, usage=usage, model=name if isinstance(name, str) else None)


def read_answers(reply: str, questions: Sequence[Question]) -> Answers:
    """Read the answers to questions in the JSON of a reply.

    They are under `answers`: in a list, with the name of each question (as OpenAI's endpoint sends them),
    or in a mapping with the ids of the questions (as in the System One form).

    Args:
        reply: the text of the reply.
        questions: the questions that were asked.

    Returns:
        The answers. A question without one is not in them.

    Raises:
        AnswerError: `bad_distribution`: the text is not such JSON, a key occurs twice, an answer is to a
            question that was not asked, or of another type, or its probabilities are not numbers from 0 to 1,
            one for each option, which add up to 1 if there are at most ten options.
    """
    answers: dict[str, Probabilities | None] = {}
    try:
        stated = _answers_by_id(_read_json(reply))
        # A server that answers other questions may have mixed up two requests.
        unknown_ids = stated.keys() - {question.id for question in questions}
        if unknown_ids:
            _refuse(f"{min(unknown_ids)!r} was not asked")
        options: Sequence[Option] = ()
        keys: list[str] = []
        for question in questions:
            if question.options is not options:  # evidence questions share theirs
                options, keys = question.options, question.keys
            answer = stated.get(question.id)
            if answer is not None:  # otherwise the way asks it again, once
                answers[question.id] = _read_answer(answer, question, keys)
    except ValueError as error:
        wording = f"the server's answers cannot be read: {error}"
        raise AnswerError("bad_distribution", reply, wording) from error
    return answers


def _refuse(fault: str) -> NoReturn:
    raise ValueError(fault)


@lru_cache(maxsize=1)  # a model has just looked for the tokens in the reply whose answers are read
def parse_json(reply: str) -> Any:  # noqa: ANN401  any JSON
    """Parse JSON in a quarter of the time of Python's parser; what is returned must not be changed.

    Raises:
        ValueError: it is not JSON, or nested too deeply.
    """
    return orjson.loads(reply)


def _read_json(reply: str) -> Any:  # noqa: ANN401  any JSON
    """Read JSON in which no key occurs twice.

    Raises:
        ValueError: it is not such JSON.
    """
    try:
        content = parse_json(reply)
        written = orjson.dumps(content)
    except (ValueError, TypeError):
        _refuse("they are not JSON, or nested too deeply")
    # A key that occurs twice is read once, and its colon is missing when everything is written again. Only an
    # escaped colon, which is written plainly, could make up for it.
    if "\\" in reply or reply.count(":") != written.count(b":"):
        json.loads(reply, object_pairs_hook=unique_keys)
    return content


def _answers_by_id(content: object) -> Mapping[str, Any]:
    """Return the answers by the ids of their questions: `{"s1": {"type": "choice", ...}}`."""
    answers = content.get("answers") if is_mapping(content) else None
    if is_mapping(answers):  # the System One form
        return answers
    if not is_list(answers):
        _refuse("there is no list or mapping of answers")
    by_id: dict[str, Any] = {}
    for answer in answers:
        id_ = answer.get("name") if is_mapping(answer) else None
        if not isinstance(id_, str) or id_ in by_id:
            _refuse("an answer has no name, or the same as another one")
        by_id[id_] = answer
    return by_id


def _read_answer(answer: object, question: Question, keys: Sequence[str]) -> Probabilities | None:
    """Read the probabilities of an answer, in the order of the options: `(0.1, 0.9)`; None for a refusal.

    Args:
        answer: what the server sent.
        question: the question.
        keys: the keys of its options.
    """
    if not is_mapping(answer):
        _refuse(f"the answer to {question.id!r} is not an object")
    if answer.get("type") == "refusal":
        return None
    if answer.get("type") != question.type:
        _refuse(f"the answer to {question.id!r} must be of the type {question.type!r}")
    stated = answer.get("probabilities")
    if is_list(stated):
        stated = _by_key(stated, question)
    if not is_mapping(stated):
        _refuse(f"the answer to {question.id!r} has no probabilities")
    if [*stated] != keys:  # a server may sort them
        if set(stated) != set(keys):
            _refuse(f"the probabilities of {question.id!r} are not those of its options")
        stated = {key: stated[key] for key in keys}
    probabilities = tuple(stated.values())
    # A boolean is an int to Python, but not a number here.
    is_numeric = NUMERIC.issuperset(map(type, probabilities))
    if not is_numeric or min(probabilities) < 0 or max(probabilities) > 1:
        _refuse(f"the probabilities of {question.id!r} must be numbers from 0 to 1")
    total = sum(probabilities)
    if not total:
        _refuse(f"the probabilities of {question.id!r} are all 0")
    # The sum of many rounded numbers says nothing: 60 sentences with .004 each are stated as 0.
    distance = abs(total - 1)
    if len(probabilities) > MAX_OPTIONS or distance < NOISE:
        return probabilities
    if distance > TOLERANCE * len(probabilities) + NOISE:
        _refuse(f"the probabilities of {question.id!r} add up to {total:.4g}")
    return tuple(probability / total for probability in probabilities)


def _by_key(entries: Sequence[Any], question: Question) -> dict[str, Any]:
    """Return a list of probabilities by the keys of their options.

    An entry of a score has the index of the level, a whole number, and may repeat the level's label, which is
    the key.
    """
    try:
        by_key: dict[Any, Any] = dict(map(itemgetter("value", "probability"), entries))
    except (LookupError, TypeError):
        _refuse(f"a probability of {question.id!r} has no option, or no number")
    if len(by_key) < len(entries):
        _refuse(f"an option of {question.id!r} has two probabilities")
    if question.type == "choice":
        return by_key
    # A server that numbers levels from 1 would be read one level too high: its labels show that.
    for entry in entries:
        index = entry["value"]
        if type(index) is not int or entry.get("label", str(index)) != str(index):
            _refuse(f"a probability of {question.id!r} has no index of a level, or the label of another one")
    return {str(index): probability for index, probability in by_key.items()}
