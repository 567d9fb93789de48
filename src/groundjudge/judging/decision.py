"""Judging with a decision model: one request with all questions, and one more for what was not answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from groundjudge.case.case import Case
from groundjudge.decisions.answers import AnswerError, Answers, read_answers
from groundjudge.decisions.question import Question
from groundjudge.errors import ModelError, PromptError, ReplyError
from groundjudge.judging.conversation import Conversation, Step
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.shares import has_shares
from groundjudge.rubric.model import Model, most_questions_of
from groundjudge.rubric.rubric import Request, Rubric
from groundjudge.verdict import Verdict, passes

NO_MEANING = "means nothing to a decision model"


def check_for_decisions(rubric: Rubric) -> None:
    """Check that a decision model can answer as a rubric says.

    Raises:
        PromptError: `no_questions`, `bad_questions`: it does not say what is asked. `no_decision`: it has an
            option that means nothing there, or the best answers do not reach its threshold.
    """
    for name in _options_without_meaning(rubric):
        message = f"{rubric.name}: `{name}` {NO_MEANING}, which only gives probabilities: leave it out"
        raise PromptError("no_decision", message, name)
    reading = _best_reading(rubric)
    score = rubric.format.score(reading, rubric.scale)
    if score is None:
        return
    scores: list[float] = []
    for part in reading.parts:
        if part.value is not None:
            scores.append(rubric.scale.score(part.value))
    best = score
    if rubric.passes == "weakest" and scores:
        best = min(scores)
    if not passes(best, rubric.threshold):
        fault = f"`threshold` is {rubric.threshold:g}, and its questions can reach {best:g}: lower it"
        raise PromptError("no_decision", f"{rubric.name}: {fault}", "threshold")


def _options_without_meaning(rubric: Rubric) -> list[str]:
    """Return the options that somebody gave, and that only a text model could follow."""
    front_matter = rubric.prompt.front_matter
    options: list[str] = []
    for name, value in rubric.prompt.parameters.items():
        # What the file says is for text models; it is not sent.
        if name == "response_format" or front_matter.parameters.get(name) != value:
            options.append(name)
    if rubric.structured != "reask":
        options.append("structured")
    # The shares of the file's own prompt are not asked for on another scale, or in another format.
    is_own_scale = rubric.scale == front_matter.scale and has_shares(rubric.format)
    if rubric.weighted != front_matter.weighted and (rubric.weighted or is_own_scale):
        options.append("weighted")
    return options


def _best_reading(rubric: Rubric) -> Reading:
    """Return what a reading is if all answers are the best ones."""
    questions = rubric.questionnaire.questions
    parts = tuple(PartReading(question.id, question.best_value) for question in questions)
    value = questions[0].best_value
    if rubric.format.part_names or rubric.format.parts_are_sentences:
        return Reading(value, parts=parts)
    return Reading(value)


async def decide(
    rubric: Rubric, model: Model, case: Case, conversation: Conversation, *, max_reasks: int
) -> Verdict:
    """Ask a decision model about a case.

    The questions are sent in one request, or in several if the model answers fewer in one. What is refused or
    missing is asked once more, alone, at most `max_reasks` times.

    Raises:
        ModelError: the model returned no answers.
        AnswerError: they cannot be believed, or one that the score needs is missing. What was answered is in
            the parts of the conversation's record.
    """
    answers = Answers()
    replies: list[str] = []

    def ask(case: Case) -> Request:
        return rubric.ask(case, "decision")

    def read(reply: Reply, questions: Sequence[Question], *, is_last: bool) -> Answers | Verdict:
        nonlocal answers
        answers = answers.joined_with(read_answers(reply.text, questions))
        if is_last:
            return rubric.read_answers(answers, request, reply)
        return answers

    request = conversation.run_step("groundjudge.ask", case, ask)
    waiting = _split_questions(request.questions, model)
    attempt = 0
    while True:
        questions = waiting.pop(0)
        attempt += 1
        next_request = replace(request, questions=questions, attempt=attempt)
        if attempt > 1:
            with conversation.around(Step("groundjudge.ask", case)) as report:
                report(next_request)
        read_reply = partial(read, questions=questions, is_last=not waiting)
        try:
            reply, outcome = await conversation.call_and_read(model, next_request, read_reply)
        except ModelError:
            _record_parts(conversation, rubric, request, answers)
            raise
        replies.append(reply.text)
        if len(replies) > 1:
            # The score rests on several replies: a trace of it needs all of them.
            all_replies = {"reply": "\n".join(replies)}
            conversation.record = conversation.record.model_copy(update=all_replies)
            if isinstance(outcome, Verdict):
                outcome = outcome.model_copy(update=all_replies)
        if isinstance(outcome, Verdict):
            return outcome
        if isinstance(outcome, ReplyError):
            if not max_reasks or not isinstance(outcome, AnswerError) or not outcome.questions:
                _record_parts(conversation, rubric, request, answers)
                raise outcome
            max_reasks -= 1
            waiting = _split_questions(outcome.questions, model)


def _record_parts(conversation: Conversation, rubric: Rubric, request: Request, answers: Answers) -> None:
    """Record the parts that were answered, for the verdict of an error.

    Args:
        conversation: where they are recorded.
        rubric: the judge's.
        request: the request with all questions.
        answers: those that came before the error.
    """
    if not answers.probabilities:
        return
    try:
        parts = rubric.read_answers(answers, request, Reply("")).parts
    except AnswerError as error:
        parts = error.parts
    conversation.record = conversation.record.model_copy(update={"parts": parts})


def _split_questions(questions: Sequence[Question], model: Model) -> list[tuple[Question, ...]]:
    """Split questions into as many requests as a model needs."""
    most = most_questions_of(model)
    if not most:
        most = len(questions)
    return [tuple(questions[start : start + most]) for start in range(0, len(questions), most)]
