"""How decision models are asked: one request with all questions, and one more for unanswered ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from groundjudge.case.case import Case
from groundjudge.case.numbered import Sentences, cut_documents, number_sentences
from groundjudge.decisions.answers import AnswerError, Probabilities, read_answers
from groundjudge.decisions.inquiry import Inquiry, inquiry_of
from groundjudge.decisions.question import Question
from groundjudge.decisions.questionnaire import Questionnaire, list_questions, questionnaire_of
from groundjudge.decisions.reading import read_parts, read_verdict
from groundjudge.decisions.state import make_state
from groundjudge.errors import PromptError, ReplyError
from groundjudge.replies import PartReading, Reading
from groundjudge.replies.reply import Reply
from groundjudge.replies.shares import has_shares
from groundjudge.rubric.rubric import Channel, Request, Rubric
from groundjudge.verdict import Verdict, passes


@dataclass(frozen=True)
class DecisionWay:
    """How decision models are asked: a state and questions go out, and probabilities come back.

    Attributes:
        most_questions: the most questions in one request; 0 for any number.
        questionnaire: what the judge asks; it is made from the rubric.
    """

    most_questions: int = 0
    questionnaire: Questionnaire = field(default=Questionnaire("", ()), compare=False, repr=False)

    @property
    def writes_text(self) -> bool:
        """Whether the model writes words in its reply: never."""
        return False

    def prepare(self, rubric: Rubric) -> DecisionWay:
        """Return this way with the questions of a rubric.

        Raises:
            PromptError: `no_questions`, `bad_questions`: it does not say what is asked. `no_decision`: it has
                an option without a meaning here, or the best answers do not reach its threshold.
        """
        for name in _options_without_meaning(rubric):
            fault = f"`{name}` has no meaning for a decision model, which returns only probabilities"
            message = f"{rubric.name}: {fault}: leave it out"
            raise PromptError("no_decision", message, name)
        questionnaire = questionnaire_of(rubric)
        best = _highest_score(rubric, questionnaire)
        # No case could pass: this shows it now instead of after a run of failures.
        if best is not None and not passes(best, rubric.threshold):
            fault = f"`threshold` is {rubric.threshold:g}, but its questions reach at most {best:g}: lower it"
            raise PromptError("no_decision", f"{rubric.name}: {fault}", "threshold")
        return replace(self, questionnaire=questionnaire)

    def ask(self, rubric: Rubric, case: Case) -> Request:
        """Make the request with all questions about a case."""
        rubric.prompt.check(case, rubric.blank_fields)
        if self.questionnaire.sentence is None:
            sentences = Sentences(cut_documents(case.context or ()))
        else:
            sentences = number_sentences(case)
        state = make_state(case, rubric.inputs, self.questionnaire.rules, sentences)
        questions = list_questions(self.questionnaire, sentences)
        return Request((), {}, rubric, case, sentences, payload=Inquiry(state, questions))

    async def converse(self, request: Request, channel: Channel, max_reasks: int) -> Verdict:
        """Ask all questions, and again those refused or missing, at most `max_reasks` times.

        The questions are sent in one request, or in several if the model answers fewer in one.

        Raises:
            ModelError: the model returned no answers.
            AnswerError: they cannot be trusted, or one that the score needs is missing. What was answered is
                in the parts of the record.
        """
        inquiry = inquiry_of(request)
        answers: dict[str, Probabilities | None] = {}
        texts: list[str] = []  # the score may rest on several replies: a trace of it needs all of them
        waiting = self._split(inquiry.questions)  # the questions of each request that is to be sent
        questions: Sequence[Question] = ()

        def read(reply: Reply) -> Verdict | None:
            """Add the answers of a reply; with those of the last request they become the verdict."""
            answers.update(read_answers(reply.text, questions))
            if waiting:
                return None
            if texts:
                reply = replace(reply, text="\n".join([*texts, reply.text]))
            return read_verdict(self.questionnaire, request, answers, reply)

        while True:
            questions = waiting.pop(0)
            payload = replace(inquiry, questions=questions)
            next_request = replace(request, payload=payload, attempt=len(texts) + 1)
            reply, outcome = await channel.send(next_request, read)
            if isinstance(outcome, Verdict):
                return outcome
            texts.append(reply.text)
            # An error, whether this one or that of a later request, has the parts that were answered.
            parts, _, _ = read_parts(self.questionnaire, request, answers)
            channel.update_record(reply="\n".join(texts), parts=tuple(parts))
            if isinstance(outcome, ReplyError):
                if not max_reasks or not isinstance(outcome, AnswerError) or not outcome.questions:
                    raise outcome
                max_reasks -= 1
                waiting = self._split(outcome.questions)

    def _split(self, questions: Sequence[Question]) -> list[tuple[Question, ...]]:
        """Split questions into as many requests as a model needs."""
        most = self.most_questions or len(questions)
        return [tuple(questions[start : start + most]) for start in range(0, len(questions), most)]


def _options_without_meaning(rubric: Rubric) -> list[str]:
    """Return the options passed by the caller that only a text model could follow."""
    front_matter = rubric.prompt.front_matter
    options: list[str] = []
    for name, value in rubric.prompt.parameters.items():
        # What the file says is for text models; it is not sent.
        if name == "response_format" or front_matter.parameters.get(name) != value:
            options.append(name)
    if rubric.structured != "reask":
        options.append("structured")
    if rubric.window is not None:
        options.append("window")
    # The shares of the file's own prompt are not requested on another scale or in another format.
    is_own_scale = rubric.scale == front_matter.scale and has_shares(rubric.format)
    if rubric.weighted != front_matter.weighted and (rubric.weighted or is_own_scale):
        options.append("weighted")
    return options


def _highest_score(rubric: Rubric, questionnaire: Questionnaire) -> float | None:
    """Return the highest deciding score that the questions allow; None if none has a score.

    It is .95, not 1, if the best option of a question is 95 on a scale up to 100.
    """
    parts = tuple(PartReading(question.id, _best_value(question)) for question in questionnaire.questions)
    if rubric.passes == "weakest":
        return min(rubric.scale.score(part.value or 0.0) for part in parts)
    whole = None if questionnaire.whole is None else 1.0
    return rubric.format.score(Reading(parts[0].value, parts=parts, whole=whole), rubric.scale)


def _best_value(question: Question) -> float:
    """Return the value of the option with the best score."""
    scored = [option for option in question.options if option.score is not None]
    return max(scored, key=lambda option: option.score or 0.0).value or 0.0
