"""The answers of a decision model, read from the JSON of its reply: probabilities, or an error.

Anything else that a server sends with them (its choice, its score, its confidence) is not read: it all
follows from the probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, TypeAlias

import orjson

from groundjudge.case.data import is_list, is_mapping
from groundjudge.decisions.block import MAX_OPTIONS
from groundjudge.decisions.question import Question
from groundjudge.errors import ReplyError
from groundjudge.verdict import Part

TOLERANCE = 0.005
"""How far each probability may be from its true value: servers round them to two decimals."""

NOISE = 1e-9
"""How far a sum of numbers may be from its true value."""

Probabilities: TypeAlias = tuple[float, ...]
"""How probable each option of a question is, in the order of the options."""

NUMERIC = frozenset([float, int])
"""The types of numbers in JSON."""

BAD_DISTRIBUTION = "bad_distribution"


class AnswerError(ReplyError):
    """The answers of a decision model cannot be trusted, or one is missing.

    Attributes:
        parts: the parts of the verdict that were answered.
        questions: the questions without an answer.
    """

    codes: ClassVar[Mapping[str, str]] = {
        BAD_DISTRIBUTION: "The probabilities of an answer do not match the options of its question. "
        "Changing the case does not help: look at the reply, and use another server or model, or a newer "
        "version of the server.",
        "missing_answer": "The model left a question unanswered, twice. Look at the reply; the server may "
        "accept only fewer questions at a time.",
        "refused": "The model declined to answer a question, twice. Look at the case; another model may "
        "judge it.",
    }

    parts: tuple[Part, ...] = ()
    questions: tuple[Question, ...] = ()


@dataclass(frozen=True)
class Answers:
    """What a decision model answered.

    Attributes:
        probabilities: those of each answer, by the id of its question.
        refused: the ids of the questions that the model declined to answer.
    """

    probabilities: Mapping[str, Probabilities] = field(default_factory=dict[str, Probabilities])
    refused: frozenset[str] = frozenset()

    def joined_with(self, later: Answers) -> Answers:
        """Return these answers and later ones; the later one counts if both have one."""
        probabilities = {**self.probabilities, **later.probabilities}
        refused = (self.refused | later.refused) - later.probabilities.keys()
        return Answers(probabilities, refused)


def read_answers(reply: str, questions: Sequence[Question]) -> Answers:
    """Read the answers to questions in the JSON of a reply.

    They are under `answers`: in a list, with the name of each question (as OpenAI's endpoint sends them),
    or in a mapping with the ids of the questions (as in the System One form).

    Args:
        reply: the text of the reply.
        questions: the questions that were asked.

    Returns:
        The probabilities of the answers. A question without an answer is not in them.

    Raises:
        AnswerError: `bad_distribution`: the text is not such JSON, a key occurs twice, an answer is to a
            question that was not asked, or of another type, or its probabilities are not numbers from 0 to 1,
            one for each option, which add up to 1 if there are at most ten options.
    """
    answers_by_id = _answers_by_id(reply)
    # A server that answers other questions may have mixed up two requests.
    unknown_ids = answers_by_id.keys() - {question.id for question in questions}
    if unknown_ids:
        _refuse(reply, f"{min(unknown_ids)!r} was not asked")
    probabilities: dict[str, Probabilities] = {}
    refused_ids: set[str] = set()
    for question in questions:
        answer = answers_by_id.get(question.id)
        if answer is None:  # the way asks it again, once
            continue
        if is_mapping(answer) and answer.get("type") == "refusal":
            refused_ids.add(question.id)
        else:
            probabilities[question.id] = _read_answer(answer, question, reply)
    return Answers(probabilities, frozenset(refused_ids))


def _answers_by_id(reply: str) -> dict[str, Any]:
    """Read the answers by the ids of their questions: `{"s1": {"type": "choice", "probabilities": ...}}`."""
    content = _read_json(reply)
    answers = content.get("answers") if is_mapping(content) else None
    if is_mapping(answers):  # the System One form
        return dict(answers)
    if not is_list(answers):
        _refuse(reply, "there is no list or mapping of answers")
    by_id: dict[str, Any] = {}
    for answer in answers:
        id_ = answer.get("name") if is_mapping(answer) else None
        if not isinstance(id_, str):
            _refuse(reply, "an answer has no name")
        if id_ in by_id:
            _refuse(reply, f"there are two answers to {id_!r}")
        by_id[id_] = answer
    return by_id


def _refuse(reply: str, fault: str) -> NoReturn:
    """Raise the error for a reply that cannot be trusted."""
    wording = f"the server's answers cannot be read: {fault}"
    raise AnswerError(BAD_DISTRIBUTION, reply, wording)


def _read_json(reply: str) -> Any:  # noqa: ANN401  any JSON
    """Read JSON in which no key occurs twice and every number is one."""

    def pairs_without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        mapping = dict(pairs)
        if len(mapping) < len(pairs):
            _refuse(reply, "a key occurs twice")
        return mapping

    def refuse_constant(name: str) -> NoReturn:
        _refuse(reply, f"{name} is not a number")

    content = _read_quickly(reply)
    if content is not None:  # so are nearly all replies read
        return content
    try:
        return json.loads(reply, parse_constant=refuse_constant, object_pairs_hook=pairs_without_repetition)
    except (ValueError, RecursionError) as error:
        wording = "the server's answers cannot be read: they are not JSON"
        raise AnswerError(BAD_DISTRIBUTION, reply, wording) from error


def _read_quickly(reply: str) -> Any:  # noqa: ANN401  any JSON
    """Read JSON in a quarter of the time of Python's parser, which has to look at every mapping.

    None where this parser refuses it, or where a key may occur twice.
    """
    try:
        content = orjson.loads(reply)
        written = orjson.dumps(content)
    except (ValueError, TypeError):
        return None
    # A key that occurs twice is read once, and its colon is missing when everything is written again. An
    # escaped colon is written plainly, and could make up for it.
    if reply.count(":") != written.count(b":") or "\\" in reply:
        return None
    return content


def _read_answer(answer: Any, question: Question, reply: str) -> Probabilities:  # noqa: ANN401  of a server
    """Read the probabilities of an answer, in the order of the options: `(0.1, 0.9)`."""
    probabilities = _stated_probabilities(answer, question, reply)
    # A boolean is an int to Python, but not a number here.
    is_numeric = NUMERIC.issuperset(map(type, probabilities))
    if not is_numeric or min(probabilities) < 0 or max(probabilities) > 1:
        _refuse(reply, f"the probabilities of {question.id!r} must be numbers from 0 to 1")
    total = sum(probabilities)
    if not total:
        _refuse(reply, f"the probabilities of {question.id!r} are all 0")
    # The sum of many rounded numbers says nothing: 60 sentences with .004 each are stated as 0.
    if len(probabilities) > MAX_OPTIONS:
        return tuple(probabilities)
    distance = abs(total - 1)
    if distance < NOISE:
        return tuple(probabilities)
    if distance > TOLERANCE * len(probabilities) + NOISE:
        _refuse(reply, f"the probabilities of {question.id!r} add up to {total:.4g}")
    return tuple(probability / total for probability in probabilities)


def _stated_probabilities(answer: Any, question: Question, reply: str) -> list[Any]:  # noqa: ANN401
    """Return what an answer states for each option of its question, in their order; nothing is checked."""
    if not is_mapping(answer):
        _refuse(reply, f"the answer to {question.id!r} is not an object")
    if answer.get("type") != question.type:
        _refuse(reply, f"the answer to {question.id!r} must be of the type {question.type!r}")
    stated = answer.get("probabilities")
    if is_list(stated):
        keys, probabilities = _read_entries(stated, question, reply)
    elif is_mapping(stated):
        keys, probabilities = [*stated], [*stated.values()]
    else:
        _refuse(reply, f"the answer to {question.id!r} has no probabilities")
    if keys != question.keys:  # a server may sort them
        # Anything but a text may be unhashable, and could not be a key below.
        if not {str}.issuperset(map(type, keys)):
            _refuse(reply, f"a probability of {question.id!r} does not name an option")
        by_key = dict(zip(keys, probabilities, strict=True))
        if len(by_key) < len(keys):
            _refuse(reply, f"an option of {question.id!r} has two probabilities")
        if by_key.keys() != set(question.keys):
            _refuse(reply, f"the probabilities of {question.id!r} are not those of its options")
        return [by_key[key] for key in question.keys]
    return probabilities


def _read_entries(entries: Sequence[Any], question: Question, reply: str) -> tuple[list[Any], list[Any]]:
    """Return the keys in a list of probabilities, and the probabilities; the caller compares and checks them.

    An entry of a score has the index of the level, a whole number, and may repeat the level's label, which is
    the key.
    """
    try:
        values = [entry["value"] for entry in entries]
        probabilities = [entry["probability"] for entry in entries]
    except (LookupError, TypeError):
        _refuse(reply, f"a probability of {question.id!r} has no option, or no number")
    if question.type == "choice":
        return values, probabilities
    if not {int}.issuperset(map(type, values)):
        _refuse(reply, f"a probability of {question.id!r} has no index of a level")
    keys = [str(value) for value in values]
    # A server that numbers levels from 1 would be read one level too high: its labels show that.
    for entry, key in zip(entries, keys, strict=True):
        if entry.get("label", key) != key:
            fault = "has the index of one level and the label of another"
            _refuse(reply, f"a probability of {question.id!r} {fault}")
    return keys, probabilities
