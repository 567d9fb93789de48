"""What a judge asks a decision model: the questions of its prompt file, or one made from its prompt.

Questions contain no text from the case, only the numbers of sentences.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Literal

from pydantic import ValidationError

from groundjudge.case.numbered import Sentences
from groundjudge.decisions.block import (
    MAX_OPTIONS,
    NUMBER,
    AskedQuestion,
    EvidenceQuestion,
    read_questions,
)
from groundjudge.decisions.evidence import SourceIndex, SourceNumbers
from groundjudge.decisions.question import Option, Question
from groundjudge.decisions.state import RULES, inputs_by_name
from groundjudge.errors import PromptError, first_fault
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies.value import label_of, write_number
from groundjudge.replies.weighted import is_weighable
from groundjudge.rubric.rubric import Rubric
from groundjudge.scale import fold_label

VERDICT, SENTENCE, WHOLE, NO_CLAIM = "verdict", "sentence", "whole", "no_claim"
"""The ids of a judge's single question, of the question about each sentence, and of the question about all of
them; an option of the question about each."""

LETTERS = "ABCDEFGHIJ"

NO_SENTENCE = "0"
"""The key of the option that no sentence of the source supports a sentence of the response."""

QUESTIONS_KEPT = 1024
"""How many questions about sentences are kept, of each kind: enough for long responses and several judges."""


@dataclass(frozen=True)
class Alternative:
    """An option on the judge's scale.

    Attributes:
        name: its name in a distribution: the number, or the label on a scale of labels or levels.
        value: the number on the scale, or a label's score; None for "no claim", and for a label that means
            "not applicable".
        label: the label, or that of the value's level; "" if there is none.
        description: the situation in which it is right.
        score: the value as a score, 0..1; None if it does not count in the score.
    """

    name: str
    value: float | None
    label: str
    description: str
    score: float | None


# Equal only to itself, which is all that a cache of questions needs, and is quick to compare.
@dataclass(frozen=True, eq=False)
class JudgeQuestion:
    """A question of a judge, and what its answer means.

    Attributes:
        id: "verdict", the name of a part, or "sentence".
        type: "choice" or "score".
        instructions: the question.
        alternatives: the options in the order in which they are offered.
        evidence: the evidence question for each sentence; None if there is none.
    """

    id: str
    type: Literal["choice", "score"]
    instructions: str
    alternatives: tuple[Alternative, ...]
    evidence: EvidenceQuestion | None = None

    @property
    def best_value(self) -> float | None:
        """The value of the alternative with the best score."""
        scored = [alternative for alternative in self.alternatives if alternative.score is not None]
        return max(scored, key=lambda alternative: alternative.score or 0.0).value


@dataclass(frozen=True)
class Questionnaire:
    """Everything that a judge asks a decision model.

    Attributes:
        rules: what applies to all questions; "" for none.
        questions: one for each value, or one about each sentence and, if the format has a place for it, one
            about all of them.
    """

    rules: str
    questions: tuple[JudgeQuestion, ...]

    @property
    def sentence(self) -> JudgeQuestion | None:
        """The question that is asked about each sentence of the response; None if there is none."""
        if self.questions[0].id == SENTENCE:
            return self.questions[0]
        return None

    @property
    def whole(self) -> JudgeQuestion | None:
        """The question of whether the source supports everything in the response; None if there is none."""
        if self.questions[-1].id == WHOLE:
            return self.questions[-1]
        return None


def questionnaire_of(rubric: Rubric) -> Questionnaire:
    """Return what a judge asks: the questions of its file, or one made from its prompt.

    Raises:
        PromptError: `bad_questions`: they are not valid, or do not fit the scale, the levels or the parts;
            the message names the file and the key. `no_questions`: the file has none, and they cannot be made
            from its prompt.
    """
    prompt, reply_format = rubric.prompt, rubric.format
    for prompt_input in rubric.inputs:
        if prompt_input.name == RULES:
            raise _error(prompt, f"inputs: {RULES!r} is reserved for the rules: give the input another name")
    block = prompt.front_matter.questions
    if block is None:
        return _derive(rubric)
    try:
        questions = read_questions(block)
    except ValidationError as error:
        raise _error(prompt, first_fault(error)) from error
    ids = [question.id for question in questions.ask]
    expected_ids = [VERDICT]
    if reply_format.numbers_sentences:
        expected_ids = [SENTENCE, WHOLE]
    elif reply_format.parts_are_sentences:
        expected_ids = [SENTENCE]
    elif reply_format.part_names:
        expected_ids = [*reply_format.part_names]
    # Sorted, so that an id that occurs twice is noticed too.
    if sorted(ids) != sorted(expected_ids):
        expected = ", ".join(expected_ids)
        raise _error(prompt, f"questions.ask: the ids must be {expected}, not {', '.join(ids) or 'none'}")
    by_id: dict[str, JudgeQuestion] = {}
    for question in questions.ask:
        alternatives: list[Alternative] = []
        for name, description in question.options.items():
            alternative = _find_alternative(name, description, rubric, is_sentence=question.id == SENTENCE)
            if alternative is None:
                fault = f"{_place(question)}.{name}: it is not on the scale {rubric.scale}"
                if rubric.levels:
                    fault += f", and not a level; the levels are {', '.join(rubric.levels.values())}"
                raise _error(prompt, fault)
            alternatives.append(alternative)
        fault = _fault_of(question, alternatives, rubric)
        if fault:
            raise _error(prompt, fault)
        by_id[question.id] = JudgeQuestion(
            question.id, question.type, question.instructions, tuple(alternatives), question.evidence
        )
    return Questionnaire(questions.rules, tuple(by_id[id_] for id_ in expected_ids))


def _place(question: AskedQuestion) -> str:
    return f"questions.ask.{question.id}.options"


def _error(prompt: Prompt, fault: str, code: str = "bad_questions") -> PromptError:
    return PromptError(code, f"{prompt.path}: {fault}", prompt.path)


def _find_alternative(
    name: str, description: str, rubric: Rubric, *, is_sentence: bool
) -> Alternative | None:
    """Find an option on the scale: one of its labels or numbers, or a level; None if it is not there."""
    scale = rubric.scale
    if is_sentence and fold_label(name) == fold_label(NO_CLAIM):
        return Alternative(NO_CLAIM, None, NO_CLAIM, description, None)
    if scale.choices:
        choice = scale.find_choice(name)
        if choice is None:
            return None
        value = scale.choices[choice]
        return Alternative(choice, value, choice, description, value)
    number = _number_of(name)
    distribution_name = ""
    if number is None:
        number, distribution_name = _find_level(name, rubric)
    is_off_scale = number is None or not scale.holds(number) or (scale.integer and number % 1)
    if number is None or is_off_scale:
        return None
    if not distribution_name:
        distribution_name = write_number(number)
    return Alternative(
        distribution_name, number, _label_of(number, rubric), description, _score_of(number, rubric)
    )


def _number_of(text: str) -> float | None:
    """Return a text as a number: "4.5" -> 4.5; None if it is not one."""
    try:
        number = float(text)
    except ValueError:
        return None
    # float() reads nan, inf and 1_0 too, which are not values of a scale.
    if not isfinite(number) or "_" in text:
        return None
    return number + 0.0  # -0.0 would be called "-0" in distributions


def _label_of(number: float, rubric: Rubric) -> str:
    """Return the label of a number; "" if it has none."""
    return label_of(number, rubric.levels) or ""


def _score_of(number: float, rubric: Rubric) -> float | None:
    """Return the score of a number, 0..1; None if it does not count in a score."""
    if number in rubric.not_applicable:
        return None
    return rubric.scale.score(number)


def _find_level(text: str, rubric: Rubric) -> tuple[float | None, str]:
    """Find the value of a level by its label, and the name of the level in distributions.

    On a scale of whole numbers that is the number with the label; None if several have it. Elsewhere it is
    the middle of the level's range. It is None if there is no such level.
    """
    scale = rubric.scale
    lowest = min(scale.worst, scale.best)
    for highest, label in rubric.levels.items():
        if fold_label(label) == fold_label(text):
            if not scale.integer:
                return (lowest + highest) / 2, label
            numbers = [number for number in scale.whole_numbers if _label_of(number, rubric) == label]
            if len(numbers) != 1:
                return None, ""
            number = float(numbers[0])
            return number, write_number(number) if is_weighable(scale) else label
        lowest = highest
    return None, ""


def _fault_of(question: AskedQuestion, alternatives: Sequence[Alternative], rubric: Rubric) -> str:
    """Return what is wrong with the options of a question; "" for nothing."""
    place = _place(question)
    names = [alternative.name for alternative in alternatives]
    if len(set(names)) < len(names):
        return f"{place}: two options have the same value on the scale"
    scale = rubric.scale
    required_names: list[str] = list(dict.fromkeys(rubric.levels.values()))
    offered = {alternative.label for alternative in alternatives}
    if scale.choices:
        required_names = [*scale.choices]
    elif not rubric.levels and len(scale.whole_numbers) <= MAX_OPTIONS:
        required_names = [str(number) for number in scale.whole_numbers]
        offered = set(names)
    missing = [name for name in required_names if name not in offered]
    if missing:
        return f"{place}: there is no option for {', '.join(missing)}"
    scores = [alternative.score for alternative in alternatives if alternative.score is not None]
    if len(set(scores)) < 2:  # noqa: PLR2004  a judge must be able to choose
        return f"{place}: at least two options must have different scores"
    if question.type == "score":
        if len(scores) < len(alternatives):
            return f"{place}: a level of a `type: score` must have a score: make it a `type: choice`"
        if scores != sorted(scores):
            return f"{place}: list the levels of a `type: score` from worst to best"
    if question.evidence is not None and question.id != SENTENCE:
        return f"questions.ask.{question.id}.evidence: only a question about each sentence can have it"
    return ""


def _derive(rubric: Rubric) -> Questionnaire:
    """Make the question of a judge from its prompt: the options are the labels, or the labelled numbers.

    Raises:
        PromptError: `no_questions`: it has parts, or its values have no labels.
    """
    prompt, reply_format = rubric.prompt, rubric.format
    wants = "add `questions:` to the front matter, with"
    if reply_format.parts_are_sentences:
        fault = f"its replies rate each sentence: {wants} a question with the id `{SENTENCE}`"
        if reply_format.numbers_sentences:
            fault += f", and one with the id `{WHOLE}`"
        raise _error(prompt, fault, "no_questions")
    if reply_format.part_names:
        names = ", ".join(f"`{name}`" for name in reply_format.part_names)
        fault = f"its replies have parts: {wants} a question for each of {names}"
        raise _error(prompt, fault, "no_questions")
    scale = rubric.scale
    alternatives: list[Alternative] = []
    for choice, value in scale.choices.items():
        alternatives.append(Alternative(choice, value, choice, choice, value))
    for number in scale.whole_numbers:
        label = _label_of(number, rubric)
        if label:
            description = f"{number} ({label})"
            score = _score_of(number, rubric)
            alternatives.append(Alternative(str(number), float(number), label, description, score))
    labels = {alternative.label for alternative in alternatives}
    n_values = len(scale.choices) or len(scale.whole_numbers)
    if not alternatives or len(labels) < n_values or n_values > MAX_OPTIONS:
        few = f"at most {MAX_OPTIONS} labels, or whole numbers with a label each (`levels:`)"
        fault = f"it has no questions for a decision model, and they can be made only from {few}; {wants} one"
        raise _error(prompt, f"{fault} with the id `{VERDICT}`", "no_questions")
    # Levels are ordered, and "not applicable" has no place among them: then the options are a choice.
    is_score = not scale.choices and all(alternative.score is not None for alternative in alternatives)
    if is_score and scale.worst > scale.best:
        alternatives.reverse()
    # The levels of a score are listed from worst to best.
    type_: Literal["choice", "score"] = "score" if is_score else "choice"
    question = JudgeQuestion(VERDICT, type_, _body_of(prompt), tuple(alternatives))
    return Questionnaire("", (question,))


def _body_of(prompt: Prompt) -> str:
    """Return the text of a prompt with the names of the state's fields in place of their values."""
    names = {prompt_input.name: name for name, prompt_input in inputs_by_name(prompt.inputs).items()}
    texts: list[str] = []
    for _, pieces in prompt.sections:
        words = list(pieces)
        # Every second piece is the name of a placeholder.
        for index in range(1, len(words), 2):
            words[index] = f"`{names[words[index]]}`"
        texts.append("".join(words))
    return "\n\n".join(texts)


def keys_of(question: JudgeQuestion) -> str | Sequence[str]:
    """Return the keys of a question's options: letters, or the index of each level of a score."""
    if question.type == "choice":
        return LETTERS[: len(question.alternatives)]
    return [str(index) for index in range(len(question.alternatives))]


@lru_cache(QUESTIONS_KEPT)
def make_question(question: JudgeQuestion, number: int = 0) -> Question:
    """Make a question as it is asked; for one about each sentence, the one about that sentence number."""
    id_ = question.id
    instructions = question.instructions
    descriptions = [alternative.description for alternative in question.alternatives]
    if question.id == SENTENCE:
        id_ = f"s{number}"
        instructions = instructions.replace(NUMBER, str(number))
        descriptions = [description.replace(NUMBER, str(number)) for description in descriptions]
    options = tuple(map(Option, keys_of(question), descriptions))
    return Question(id_, question.type, instructions, options)


@lru_cache(QUESTIONS_KEPT)
def make_evidence_question(
    instructions: str, none: str, number: int, source_numbers: SourceNumbers
) -> Question:
    """Make the question of which sentence of the source supports a sentence of the response.

    Args:
        instructions: the question of the judge.
        none: its description of the option that no sentence does.
        number: the number of the sentence of the response.
        source_numbers: the numbers of the sentences of the source that can be chosen.
    """
    options = _evidence_options(none.replace(NUMBER, str(number)), source_numbers)
    return Question(f"e{number}", "choice", instructions.replace(NUMBER, str(number)), options)


@lru_cache(QUESTIONS_KEPT)
def _evidence_options(none: str, numbers: SourceNumbers) -> tuple[Option, ...]:
    """Return the option that no sentence supports it, and those for sentences of the source.

    Where all sentences are offered, they are the same for each sentence of the response.
    """
    return Option(NO_SENTENCE, none), *map(_source_option, numbers)


@lru_cache(QUESTIONS_KEPT)
def _source_option(number: int) -> Option:
    # The number is enough: descriptions would be most of what is sent.
    return Option(str(number), None)


def list_questions(questionnaire: Questionnaire, sentences: Sentences) -> tuple[Question, ...]:
    """Return what is asked about a case: a question for each value, or those about each of its sentences."""
    sentence_question = questionnaire.sentence
    if sentence_question is None:
        return tuple(make_question(question) for question in questionnaire.questions)
    # All of one kind, then all of the other: `read_verdict` tells them apart by their ids.
    questions = [make_question(sentence_question, number) for number in range(1, len(sentences.response) + 1)]
    evidence = sentence_question.evidence
    if evidence is not None and sentences.source:
        index = SourceIndex(sentences.source)
        for number, sentence in enumerate(sentences.response, 1):
            source_numbers = index.offered_for(sentence.text)
            questions.append(
                make_evidence_question(evidence.instructions, evidence.none, number, source_numbers)
            )
    if questionnaire.whole is not None:
        questions.append(make_question(questionnaire.whole))
    return tuple(questions)
