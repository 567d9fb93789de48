"""What a judge asks a decision model: the questions of its prompt file, or one made from its prompt.

Questions contain no text from the case, only the numbers of sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pydantic import ValidationError

from groundjudge.case.numbered import Sentences
from groundjudge.decisions.block import (
    MAX_OPTIONS,
    NUMBER,
    SENTENCE,
    AskedQuestion,
    EvidenceQuestion,
    Questions,
)
from groundjudge.decisions.evidence import MAX_OFFERED, SourceIndex
from groundjudge.decisions.question import Option, Question
from groundjudge.decisions.state import RULES, inputs_by_name
from groundjudge.errors import PromptError, first_fault
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies.distribution import values_of_level
from groundjudge.replies.value import label_of, write_number
from groundjudge.rubric.rubric import Rubric
from groundjudge.rubric.settings import prompt_error
from groundjudge.scale import fold_label

VERDICT, WHOLE, NO_CLAIM = "verdict", "whole", "no_claim"
"""The ids of a judge's single question, and of the question about all sentences; an option of the question
about each."""

LETTERS = "ABCDEFGHIJ"


@dataclass(frozen=True, eq=False)  # equal only to itself, which is quick to find again
class Questionnaire:
    """Everything that a judge asks a decision model.

    Attributes:
        rules: what applies to all questions; "" for none.
        questions: one for each value, or one about each sentence and, if the format has a place for it, one
            about all of them. In the one about each sentence, a placeholder stands for its number.
        evidence: which sentence of the source supports each sentence; None: that is not asked.
    """

    rules: str
    questions: tuple[Question, ...]
    evidence: EvidenceQuestion | None = None

    @property
    def sentence(self) -> Question | None:
        """The question that is asked about each sentence of the response; None if there is none."""
        if self.questions[0].id == SENTENCE:
            return self.questions[0]
        return None

    @property
    def whole(self) -> Question | None:
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
    prompt = rubric.prompt
    if any(prompt_input.name == RULES for prompt_input in rubric.inputs):
        raise _error(prompt, f"inputs: {RULES!r} is reserved for the rules: give the input another name")
    expected_ids = _expected_ids(rubric)
    block = prompt.front_matter.questions
    if block is None:
        questions = Questions.model_construct(rules="", ask=(_derive(rubric, expected_ids),))
    else:
        try:
            questions = Questions.model_validate(block)
        except ValidationError as error:
            raise _error(prompt, f"questions.{first_fault(error)}") from error
    ids = [question.id for question in questions.ask]
    # Sorted, so that an id that occurs twice is noticed too.
    if sorted(ids) != sorted(expected_ids):
        expected = ", ".join(expected_ids)
        raise _error(prompt, f"questions.ask: the ids must be {expected}, not {', '.join(ids) or 'none'}")
    asked_questions = sorted(questions.ask, key=lambda question: expected_ids.index(question.id))
    judge_questions = tuple(_judge_question(asked, rubric) for asked in asked_questions)
    # Only the question about each sentence, which comes first, may have it.
    return Questionnaire(questions.rules, judge_questions, asked_questions[0].evidence)


def _error(prompt: Prompt, fault: str) -> PromptError:
    return prompt_error("bad_questions", prompt, fault)


def _expected_ids(rubric: Rubric) -> list[str]:
    """Return the ids of the questions that a judge needs."""
    if rubric.format.numbers_sentences:
        return [SENTENCE, WHOLE]
    if rubric.format.parts_are_sentences:
        return [SENTENCE]
    return [*rubric.format.part_names] or [VERDICT]


def _judge_question(question: AskedQuestion, rubric: Rubric) -> Question:
    """Find the options of a question on the scale.

    Raises:
        PromptError: `bad_questions`: one is not there, or they do not fit the scale or the levels.
    """
    place = f"questions.ask.{question.id}.options"
    options: list[Option] = []
    keys = LETTERS if question.type == "choice" else map(str, range(MAX_OPTIONS))
    for key, (name, description) in zip(keys, question.options.items(), strict=False):
        if question.id == SENTENCE and fold_label(name) == fold_label(NO_CLAIM):
            options.append(Option(key, description, NO_CLAIM))
            continue
        option = _find_option(key, description, name, rubric)
        if option is None:
            fault = f"{place}.{name}: it is not on the scale {rubric.scale}"
            if rubric.levels:
                fault += f", and not a level; the levels are {', '.join(rubric.levels.values())}"
            raise _error(rubric.prompt, fault)
        options.append(option)
    fault = _fault_of(question, options, rubric)
    if fault:
        raise _error(rubric.prompt, f"{place}: {fault}")
    return Question(question.id, question.type, question.instructions, tuple(options))


def _find_option(key: str, description: str, name: str, rubric: Rubric) -> Option | None:
    """Make the option that is one of the scale's labels or numbers, or a level; None if it is not there."""
    scale = rubric.scale
    choice = scale.find_choice(name)
    if choice is not None:
        value = scale.choices[choice]
        return Option(key, description, choice, value, choice, value)
    is_range = False
    try:
        values = [float(name)]
    except ValueError:
        levels = {fold_label(level): level for level in rubric.levels.values()}
        values = values_of_level(levels.get(fold_label(name), ""), scale, rubric.levels)
        is_range = not scale.integer
    # The label of several numbers does not say which of them is meant.
    if len(values) != 1 or not scale.holds(values[0]) or (scale.integer and values[0] % 1):
        return None
    value = values[0]
    label = label_of(value, rubric.levels) or ""
    name = label if is_range else write_number(value)
    score = None if value in rubric.not_applicable else scale.score(value)
    return Option(key, description, name, value, label, score)


def _fault_of(question: AskedQuestion, options: list[Option], rubric: Rubric) -> str:
    """Return what is wrong with the options of a question; "" for nothing."""
    names = [option.name for option in options]
    if len(set(names)) < len(names):
        return "two options have the same value on the scale"
    scale = rubric.scale
    required_names = [*scale.choices] or list(dict.fromkeys(rubric.levels.values()))
    if not required_names and len(scale.whole_numbers) <= MAX_OPTIONS:
        required_names = [str(number) for number in scale.whole_numbers]
    labels = [option.label for option in options]
    missing = [name for name in required_names if name not in labels + names]
    if missing:
        return f"there is no option for {', '.join(missing)}"
    scores = [option.score for option in options if option.score is not None]
    if len(set(scores)) < 2:  # noqa: PLR2004  a judge must be able to choose
        return "at least two options must have different scores"
    if question.type == "score":
        if len(scores) < len(options):
            return "a level of a `type: score` must have a score: make it a `type: choice`"
        if scores != sorted(scores):
            return "list the levels of a `type: score` from worst to best"
    return ""


def _derive(rubric: Rubric, ids: list[str]) -> AskedQuestion:
    """Make the question of a judge from its prompt: the options are the labels, or the labelled numbers.

    Raises:
        PromptError: `no_questions`: it has parts, or its values have no labels.
    """
    names = ", ".join(f"`{id_}`" for id_ in ids)
    remedy = f"add `questions:` to the front matter, with a question for each of {names}"
    if ids != [VERDICT]:
        raise prompt_error("no_questions", rubric.prompt, f"its replies have parts: {remedy}")
    scale = rubric.scale
    options = {choice: choice for choice in scale.choices}
    for number in sorted(scale.whole_numbers, key=scale.score):
        label = label_of(number, rubric.levels)
        if label:
            options[str(number)] = f"{number} ({label})"
    n_labels = len(scale.choices) or len(set(rubric.levels.values()))
    n_values = len(scale.choices) or len(scale.whole_numbers)
    if not 0 < n_labels == len(options) == n_values <= MAX_OPTIONS:
        few = f"at most {MAX_OPTIONS} labels, or whole numbers with a label each (`levels:`)"
        fault = f"it has no questions for a decision model, and they can be made only from {few}: {remedy}"
        raise prompt_error("no_questions", rubric.prompt, fault)
    # The names of the state's fields stand in the places of their values.
    names_by_input = {input_.name: f"`{name}`" for name, input_ in inputs_by_name(rubric.inputs).items()}
    instructions = "\n\n".join(text for _, text in rubric.prompt.fill(names_by_input))
    # Levels are ordered, and "not applicable" has no place among them: then the options are a choice.
    is_choice = scale.choices or rubric.not_applicable
    # Not checked as a file's: its text is the prompt's, which may contain braces.
    return AskedQuestion.model_construct(
        id=VERDICT,
        type="choice" if is_choice else "score",
        instructions=instructions,
        options=options,
        evidence=None,
    )


def list_questions(questionnaire: Questionnaire, sentences: Sentences) -> tuple[Question, ...]:
    """Return what is asked about a case: a question for each value, or those about each of its sentences."""
    if questionnaire.sentence is None:
        return questionnaire.questions
    # All of one kind, then all of the other: `read_verdict` tells them apart by their ids.
    questions = [sentence_question(questionnaire, number) for number in range(1, len(sentences.response) + 1)]
    evidence = questionnaire.evidence
    if evidence is not None and sentences.source:
        none = Option("0", evidence.none)
        choices = [_numbered_option(number) for number in range(1, len(sentences.source) + 1)]
        options = (none, *choices)
        index = SourceIndex(sentences.source) if len(choices) > MAX_OFFERED else None
        for number, sentence in enumerate(sentences.response, 1):
            if index is not None:
                likeliest = [choices[place] for place in index.offered_for(sentence.text)]
                options = (none, *likeliest)
            instructions = evidence.instructions.replace(NUMBER, str(number))
            questions.append(Question(f"e{number}", "choice", instructions, options))
    if questionnaire.whole is not None:
        questions.append(questionnaire.whole)
    return tuple(questions)


@lru_cache(1024)  # they are the same for each case
def _numbered_option(number: int) -> Option:
    """Return the option of an evidence question that is a sentence of the source."""
    # The number is enough: descriptions would be most of what is sent.
    return Option(str(number), None)


@lru_cache(1024)  # those about long responses, of several judges: they are the same for each case
def sentence_question(questionnaire: Questionnaire, number: int) -> Question:
    """Return the question about the sentence with a number."""
    question = questionnaire.questions[0]
    options: list[Option] = []
    for option in question.options:
        description = (option.description or "").replace(NUMBER, str(number))
        options.append(option._replace(description=description))
    instructions = question.instructions.replace(NUMBER, str(number))
    return Question(f"s{number}", question.type, instructions, tuple(options))
