"""A rubric: everything that decides how a case is asked about and how a reply becomes a verdict.

No model is needed: a rubric renders prompts, reads replies and says what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Unpack

from groundjudge.case.case import Case, CaseLike, Document
from groundjudge.case.data import is_number
from groundjudge.case.shapes import is_blank
from groundjudge.decisions.answers import Answers
from groundjudge.decisions.question import Kind, Question
from groundjudge.decisions.questionnaire import Questionnaire, Values, list_questions, questionnaire_of
from groundjudge.decisions.reading import EVIDENCE_NOT_FOUND, Inquiry, read_decision
from groundjudge.decisions.state import NO_SENTENCES, Sentences, make_state
from groundjudge.decisions.values import confidence_of
from groundjudge.errors import CaseError, PromptError, ReplyError, describe_fault
from groundjudge.evidence import Sources, find
from groundjudge.prompt.input import Input
from groundjudge.prompt.prompt import NAME_THE_PATH, Prompt
from groundjudge.replies import FORMATS, Expectation, Format, PartReading, Reading
from groundjudge.replies.format import missing_members
from groundjudge.replies.reading import READING_VERSION
from groundjudge.replies.reply import NOT_DECIDED, Reply
from groundjudge.replies.shares import (
    SHARES_UNREADABLE,
    WeighedReading,
    can_be_shared,
    has_shares,
    sure_shares,
    weigh_stated,
)
from groundjudge.replies.value import label_of
from groundjudge.replies.weighted import MAX_VALUES, is_weighable, scale_values, weigh
from groundjudge.rubric.options import EmptyResponse, RubricOptions, Structured, check_choice, check_options
from groundjudge.scale import Scale, fold_label
from groundjudge.verdict import Evidence, Part, Passes, Verdict, Weighted, __version__, passing_fields

FROM_THE_APPLICATION: Mapping[str, Any] = {"response": "-", "context": (Document(content="-"),)}
"""The fields that an application gives, all of which a crashed one lacks, each with a stand-in."""

PROBABILITIES: Mapping[str, Any] = {"logprobs": True, "top_logprobs": MAX_VALUES}
"""The parameters that ask for the probabilities of tokens."""

ADDED_TO_PROMPT = ("parameters", "may_be_empty", "optional")
"""The options that add to what the prompt says; the others replace a field of the rubric."""

PROMPTS = Path(__file__).parents[1] / "prompts"


@dataclass(frozen=True)
class Request:
    """What a model is asked.

    Attributes:
        messages: chat messages, each with role and content. With `parameters`, all that is sent; () for a
            decision model.
        parameters: sampling parameters by their names in the chat completions API; {} for a decision model.
        rubric: how the reply will be read. For models that are no language models, like the offline judge.
        case: what is judged; for the same models.
        paced: whether the caller waits and asks again after a rate limit: a model that would do so
            itself raises instead.
        repeat: the index of one of several replies to the same request, for votes: a cache keeps them apart.
        attempt: which request of its conversation it is, from 1.
        fresh: whether a cache must not answer it, because the reply that it has could not be read.
        state: what a decision model is shown, as JSON data: the rules under "rules", and the case under the
            names of its fields. With `questions`, all that is sent; None for a text model.
        questions: what a decision model is asked; () for a text model.
        sentences: the sentences of the case that have numbers in the state.
    """

    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]
    rubric: Rubric
    case: Case
    paced: bool = False
    repeat: int = 0
    attempt: int = 1
    fresh: bool = False
    state: Mapping[str, Any] | None = None
    questions: tuple[Question, ...] = ()
    sentences: Sentences = NO_SENTENCES

    @property
    def added_parameters(self) -> frozenset[str]:
        """The names of the parameters that the library added: they help, but a model can do without."""
        return frozenset(self.parameters.keys() - self.rubric.prompt.parameters.keys())


@dataclass(frozen=True)
class Rubric:
    """A prompt, and how the replies to it are read. Immutable.

    Attributes that are not listed here are options: see `RubricOptions`.

    Attributes:
        prompt: the prompt file, with the sampling parameters that are sent along.
        format: the reply format.
        levels: labels by the highest value that bears them, in rising order.

    Raises:
        PromptError: `bad_scale`, `bad_threshold`, `bad_levels` (a level or a value that is not applicable
            lies off the scale), `bad_reply_format` (an object that is no reply format),
            `bad_empty_response`, `bad_choices` (the format cannot express one of the scale's labels),
            `bad_weighted` (the scale has too many values), `bad_structured`, `bad_passes` (the weakest part
            of a format without parts).
    """

    prompt: Prompt
    format: Format
    scale: Scale
    levels: Mapping[float, str]
    not_applicable: tuple[float, ...]
    threshold: float
    empty_response: EmptyResponse = "error"
    weighted: Weighted = False
    structured: Structured = "reask"
    passes: Passes = "score"
    tool_titles: bool = True

    def __post_init__(self) -> None:
        _check_format(self.format)
        _check_numbers(self.scale, self.threshold)
        check_choice("bad_empty_response", "empty_response", self.empty_response, EmptyResponse)
        check_choice("bad_structured", "structured", self.structured, Structured)
        check_choice("bad_passes", "passes", self.passes, Passes)
        has_parts = self.format.part_names or self.format.parts_are_sentences
        if self.passes == "weakest" and not has_parts:
            raise prompt_error("bad_passes", self.prompt, "passes: weakest needs a reply format with parts")
        for value in (*self.levels, *self.not_applicable):
            if not self.scale.holds(value):
                fault = f"levels, not_applicable: {value:g} is not on the scale {self.scale}"
                fault += ": give some that fit"
                raise prompt_error("bad_levels", self.prompt, fault)
        last_value = max(self.scale.worst, self.scale.best)
        if self.levels and max(self.levels) < last_value:
            fault = f"levels: values above {max(self.levels):g} have no label: end at {last_value:g}"
            raise prompt_error("bad_levels", self.prompt, fault)
        # Lists and unsorted levels are taken too; the fields of a frozen dataclass are set like this.
        object.__setattr__(self, "levels", dict(sorted(self.levels.items())))
        object.__setattr__(self, "not_applicable", tuple(self.not_applicable))
        _check_choices(self)
        _check_weighted(self)

    @property
    def name(self) -> str:
        """The judge's name, which is its prompt's."""
        return self.prompt.name

    @property
    def is_bundled(self) -> bool:
        """Whether the prompt is one of the library's own."""
        return Path(self.prompt.path).resolve().parent == PROMPTS.resolve()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The fields of the case that the prompt shows."""
        return self.prompt.inputs

    @property
    def rubrics(self) -> tuple[Rubric, ...]:
        """This rubric, as the only one; a panel has several."""
        return (self,)

    @cached_property
    def identity(self) -> str:
        """A hash of all that decides on a verdict but the model.

        Two rubrics that could ask differently about a case, or read a reply differently, have different
        identities; so have those of different versions of this library.
        """
        # All attributes count, so that no new one can be forgotten here.
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        settings["prompt"] = self.prompt.sha256
        settings["format"] = _format_identity(self.format)
        inputs = [prompt_input.model_dump() for prompt_input in self.inputs]
        parameters = dict(self.prompt.parameters)
        content = json.dumps(
            [self.name, parameters, inputs, settings, __version__], sort_keys=True, default=repr
        )
        return sha256(content.encode()).hexdigest()[:16]

    def with_options(self, **options: Unpack[RubricOptions]) -> Rubric:
        """Make a rubric with other settings; parameters, may_be_empty and optional add to those that it has.

        Args:
            options: see `RubricOptions`.

        Raises:
            PromptError: as for `Rubric`; `unknown_input` if may_be_empty or optional names no input.
            TypeError: there is no option of that name.
        """
        check_options(options, RubricOptions)
        settings = {"weighted": weighted_with(options, self.weighted), **replaced_fields(options)}
        return replace(self, prompt=prompt_with(self.prompt, options), **settings)

    def ask(self, case: CaseLike, kind: Kind = "text") -> Request:
        """Make the request about a case.

        Args:
            case: the case.
            kind: how the model answers; only what such a model is sent is made.

        Raises:
            CaseError: the case lacks what the prompt needs, or cannot be read.
            PromptError: as for `questionnaire`, if a decision model is to be asked.
        """
        case = self._case_to_judge(case)
        if kind == "decision":
            self.prompt.check(case, self._blank_fields)
            questionnaire = self.questionnaire
            has_sentences = questionnaire.sentence is not None
            state, sentences = make_state(case, self.inputs, questionnaire.rules, has_sentences=has_sentences)
            questions = list_questions(questionnaire, sentences)
            return Request((), {}, self, case, state=state, questions=questions, sentences=sentences)
        messages = self.prompt.render(case, self._blank_fields)
        return Request(messages, self.parameters, self, case)

    @cached_property
    def questionnaire(self) -> Questionnaire:
        """What a decision model is asked.

        Raises:
            PromptError: `bad_questions`: the file's questions do not fit the scale, the levels or the parts.
                `no_questions`: it has none, and they cannot be made from its prompt.
        """
        values = Values(self.scale, self.levels, self.not_applicable)
        return questionnaire_of(self.prompt, self.format, values)

    def _case_to_judge(self, case: CaseLike) -> Case:
        """Read a case as this rubric judges it."""
        case = Case.of(case)
        return case if self.tool_titles else case.without_tool_titles()

    @property
    def _blank_fields(self) -> tuple[str, ...]:
        """The fields about which a model is asked even where they are given, but blank.

        A greeting after an empty retrieval needs no source. Whether the response claims something, sentences
        that are rated one by one say.
        """
        return ("context",) if self.format.parts_are_sentences else ()

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """What is sent along with the messages of a first request; the prompt's own parameters come first."""
        parameters: dict[str, Any] = {}
        if self.weighted is True:
            parameters.update(PROBABILITIES)
        if self.structured == "always":
            parameters.update(self.response_format)
        # The file's own parameters come last: a prompt may ask for another `response_format`.
        parameters.update(self.prompt.parameters)
        return parameters

    @cached_property
    def response_format(self) -> Mapping[str, Any]:
        """The parameter that asks an endpoint for a reply by the format's schema; {} if it has none."""
        if self.structured == "never":
            return {}
        schema = self.format.schema(self.scale)
        if schema is None:
            return {}
        json_schema = {"name": "verdict", "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": json_schema}}

    def write(self, reading: Reading) -> str:
        """Write a reply that `read` reads as this reading; without shares of its own it has no doubt."""
        if self.weighted == "stated" and not reading.shares:
            reading = replace(reading, shares=sure_shares(reading, self.scale, self.levels))
        return self.format.write_reply(reading, self.scale)

    def read(self, reply: str | Reply, case: CaseLike | None = None) -> Verdict:
        """Read the verdict that a reply gives on a case. Without the case, quotes cannot be checked.

        Raises:
            ReplyError: the reply holds no verdict that can be read.
            CaseError: `missing_field`: sentences of the response claim something, and the context that the
                prompt requires is blank.
        """
        if isinstance(reply, str):
            reply = Reply(reply)
        response_text: str | None = None
        if case is not None:
            case = self._case_to_judge(case)
            response_text = case.response_text
        reading = self.format.read_reply(reply, self.scale, Expectation(self.levels, response_text))
        weighed, distribution, is_applicable = self._weigh(reply, reading)
        parts, quote_warnings = _verdict_parts(weighed, reading, self.scale, case, self._n_values)
        # On a scale of labels the reply has one, on a scale of numbers the value may have a level.
        label = reading.label or label_of(reading.value, self.levels)
        warnings = [*weighed.warnings, *quote_warnings, *reply.warnings]
        if case is not None and not self._is_shown_whole(case):
            warnings.append("content_not_shown")
        if reading.level and _is_other_level(reading.level, label, self.levels):
            warnings.append("band_mismatch")
        # Whether a verdict applies is decided by the value and the shares that are stated, not by their mean.
        score: float | None = None
        if is_applicable and reading.value not in self.not_applicable:
            score = self.format.score(weighed, self.scale)
        expected: float | None = None
        confidences = [part.confidence for part in parts if part.confidence is not None]
        if distribution:
            confidences = [confidence_of(distribution.values(), self._n_values)]
            if score is not None:
                expected = weighed.value
        return self._make_verdict(
            reply,
            case,
            score,
            parts,
            value=reading.value,
            label=label,
            reason=_reason_of(weighed, parts, reply.limits),
            warnings=tuple(dict.fromkeys(warnings)),  # several parts may have the same
            expected=expected,
            distribution=distribution,
            confidence=0.0 if NOT_DECIDED in reply.warnings else min(confidences, default=None),
        )

    def _weigh(self, reply: Reply, reading: Reading) -> WeighedReading:
        """Put means in the place of the values that are read, where the score is weighted."""
        if self.weighted == "stated":
            return weigh_stated(reading, self.scale, self.levels, self.not_applicable)
        shares: Mapping[str, float] | None = None
        if self.weighted:
            reading, shares = weigh(reply, reading, self.scale, self.not_applicable)
        return WeighedReading(reading, shares, is_applicable=True)

    def read_answers(self, answers: Answers, request: Request, reply: Reply) -> Verdict:
        """Read the verdict that the answers of a decision model give on a case.

        Args:
            answers: the answers to all questions, from one reply or several.
            request: the request with all questions.
            reply: the last reply.

        Raises:
            AnswerError: an answer that the score needs is missing.
        """
        inquiry = Inquiry(self.questionnaire, request.questions, request.sentences, self.scale)
        answer = read_decision(inquiry, answers, reply.text)
        score: float | None = None
        if answer.is_applicable:
            score = self.format.score(answer.reading, self.scale)
        warnings = list(answer.warnings)
        if not self._is_shown_whole(request.case):
            warnings.append("content_not_shown")
        expected: float | None = None
        if answer.distribution and score is not None:
            expected = answer.reading.value
        return self._make_verdict(
            reply,
            request.case,
            score,
            answer.parts,
            value=answer.value,
            label=answer.label or None,
            reason=answer.reason,
            warnings=tuple(warnings),
            expected=expected,
            distribution=answer.distribution,
            confidence=answer.confidence,
        )

    def _make_verdict(
        self,
        reply: Reply,
        case: Case | None,
        score: float | None,
        parts: tuple[Part, ...],
        **fields: Any,  # noqa: ANN401  those of a verdict
    ) -> Verdict:
        if score is not None and case is not None:
            self._check_source(case)
        return Verdict(
            judge=self.name,
            status="not_applicable" if score is None else "ok",
            score=score,
            parts=parts,
            usage=reply.usage,
            attempts=1,
            model=reply.model,
            prompt=self.prompt.id,
            reply=reply.text,
            case_id=None if case is None else case.id,
            **fields,
            **passing_fields(score, parts, self.passes, self.threshold),
        )

    def _is_shown_whole(self, case: Case) -> bool:
        return case.is_shown_whole(prompt_input.field for prompt_input in self.inputs)

    @property
    def _n_values(self) -> int:
        """How many values a distribution is over."""
        if is_weighable(self.scale):
            return len(scale_values(self.scale))
        return len(self.levels)

    def _check_source(self, case: Case) -> None:
        """Check that what a response claims can be measured by a context, if the prompt requires one."""
        for prompt_input in self.prompt.inputs:
            is_needed = prompt_input.field in self._blank_fields and prompt_input.required
            value = case.value(prompt_input.field) if is_needed else None
            if value is not None and is_blank(value):
                self.prompt.check(case)

    def blank_response_verdict(self, case: Case) -> Verdict | None:
        """The verdict on a response that is missing or blank; None where there is something to judge.

        Raises:
            CaseError: `no_response` or `empty_response`, unless `empty_response` says otherwise;
                `missing_field` if the case also lacks an input that the application does not give
                (anything but the context): then it is not meant for this judge.
        """
        code = self._response_fault(case)
        if code is None:
            return None
        # A row that lacks more than an application gives was not meant for this judge: that is an error,
        # whatever `empty_response` says. So is a field that cannot be read: no stand-in takes its place.
        stand_ins = dict(FROM_THE_APPLICATION)
        for name in case.unreadable:
            stand_ins.pop(name, None)
        try:
            self.prompt.check(case.model_copy(update=stand_ins))
        except CaseError:
            self.prompt.check(case)  # names all that is missing, the response included
            raise
        if self.empty_response == "error":
            raise CaseError(code, _response_message(self.prompt, code, case), "response")
        verdict = Verdict(
            judge=self.name, status="not_applicable", label=code, prompt=self.prompt.id, case_id=case.id
        )
        if self.empty_response == "not_applicable":
            return verdict
        return self._worst_verdict(verdict, code)

    def _response_fault(self, case: Case) -> str | None:
        """Return the code of what is wrong with the response, where the prompt needs one."""
        response_inputs = [prompt_input for prompt_input in self.inputs if prompt_input.field == "response"]
        # A prompt may show the response twice, under two of its names: then the first decides.
        if not response_inputs or not response_inputs[0].required:
            return None
        if response_inputs[0].value(case) is None:
            return "no_response"
        if is_blank(case.response_text) and not response_inputs[0].may_be_empty:
            return "empty_response"
        return None

    def _worst_verdict(self, verdict: Verdict, code: str) -> Verdict:
        """Give a verdict the worst value of the scale, and to each named part too."""
        worst = self.scale.worst
        choice: str | None = None
        if self.scale.choices:
            choice = self.scale.nearest(0.0)
            worst = self.scale.choices[choice] or 0.0
        score = self.scale.score(worst)
        parts: list[Part] = []
        for name in self.format.part_names:
            parts.append(Part(name=name, value=worst, score=score, label=choice))
        value = None if parts else worst
        state = "missing" if code == "no_response" else "blank"
        changes: dict[str, Any] = {
            "status": "ok",
            "score": score,
            "value": value,
            "label": choice or label_of(value, self.levels),
            "reason": f"The response is {state}.",
            "parts": tuple(parts),
            "warnings": (code,),
        }
        changes.update(passing_fields(score, parts, self.passes, self.threshold))
        return verdict.model_copy(update=changes)


def prompt_with(prompt: Prompt, options: RubricOptions) -> Prompt:
    """Make the prompt with the options that add to what its file says."""
    new_parameters = options.get("parameters") or {}
    parameters = {**prompt.parameters, **new_parameters}
    # Two names of one limit: a reasoning model, which knows only the newer one, would get the file's.
    if "max_completion_tokens" in new_parameters and "max_tokens" not in new_parameters:
        parameters.pop("max_tokens", None)
    prompt = prompt.with_inputs(may_be_empty=options.get("may_be_empty"), optional=options.get("optional"))
    return prompt.model_copy(update={"parameters": parameters})


def replaced_fields(options: RubricOptions) -> dict[str, Any]:
    """Return the fields of a rubric that the options replace."""
    replaced: dict[str, Any] = {}
    for option, value in options.items():
        if value is None or option in ADDED_TO_PROMPT:
            continue
        replaced["format" if option == "reply" else option] = value
    return replaced


def prompt_error(code: str, prompt: Prompt, fault: str) -> PromptError:
    """Make the error of a fault in a prompt file, which names the file."""
    return PromptError(code, f"{prompt.path}: {fault}", prompt.path)


def _check_format(candidate: object) -> None:
    missing = missing_members(candidate)
    if missing:
        kind = candidate.__name__ if isinstance(candidate, type) else type(candidate).__name__
        formats = ", ".join(map(str.capitalize, FORMATS))
        lacks = f"it lacks {', '.join(missing)}: pass one of {formats}, or an object that has them"
        raise PromptError("bad_reply_format", f"reply: {kind} is not a reply format, {lacks}", kind)


def _check_numbers(scale: object, threshold: object) -> None:
    # Both come from callers whom no type checker need have warned: a pair of numbers is no scale.
    if not isinstance(scale, Scale):
        message = f"scale must be a Scale, as in Scale(worst=1, best=5) or Choices({{...}}), not {scale!r}"
        raise PromptError("bad_scale", message, str(scale))
    if not is_number(threshold) or not 0 <= threshold <= 1:
        message = f"threshold must lie on the score, 0..1, not {threshold!r}"
        raise PromptError("bad_threshold", message, str(threshold))


def _check_choices(rubric: Rubric) -> None:
    """Make sure that the format can express every label: what it writes, it must read."""
    for label, value in rubric.scale.choices.items():
        names = rubric.format.part_names or ("-",)
        parts = tuple(PartReading(name, value, label=label) for name in names)
        labels: set[str] = set()
        try:
            reply_text = rubric.format.write_reply(Reading(value, parts=parts, label=label), rubric.scale)
            reading = rubric.format.read_reply(Reply(reply_text), rubric.scale)
        except (ReplyError, TypeError, ValueError):
            pass  # no label was read
        else:
            labels = {reading.label, *(part.label for part in reading.parts)}
        if labels - {""} != {label}:
            fault = f"the format {type(rubric.format).__name__} cannot express the label {label!r}"
            message = f"{rubric.name}: {fault}: give the scale numbers, or use another label or format"
            raise PromptError("bad_choices", message, rubric.prompt.path)


def weighted_with(options: RubricOptions, weighted: Weighted) -> Weighted:
    """Return how a score is weighted if the options do not say it.

    Stated shares do not go with a scale or a format of the caller's: the prompt asks for those of its own
    scale, in a place of its own format.
    """
    is_replaced = options.get("reply") is not None or options.get("scale") is not None
    if weighted == "stated" and is_replaced:
        return False
    return weighted


def _check_weighted(rubric: Rubric) -> None:
    """Make sure that there is something to weigh a score by."""
    is_stated = rubric.weighted == "stated"
    few_numbers = f"at most {MAX_VALUES} whole numbers from 0"
    needs = ""
    if is_stated and not has_shares(rubric.format):
        example = "`reply: {format: tags, shares: S3}`"
        needs = (
            f"a place for the shares in the reply: name it (as in {example}), and let the prompt ask for it"
        )
    elif is_stated and not can_be_shared(rubric.scale, rubric.levels):
        needs = f"labels, {few_numbers}, or levels; the scale is {rubric.scale}"
    elif rubric.weighted is True and not is_weighable(rubric.scale):
        needs = f"labels or {few_numbers}, which a token can tell apart; the scale is {rubric.scale}"
    if needs:
        option = "`weighted: stated`" if is_stated else "`weighted`"
        raise PromptError("bad_weighted", f"{rubric.name}: {option} needs {needs}", "weighted")


def _response_message(prompt: Prompt, code: str, case: Case) -> str:
    """Say that there is no response, what else is missing, and what the user can do."""
    fault = "no response was given" if code == "no_response" else "the response is blank"
    fault += case.hint("response")
    missing_fields = [prompt_input.field for prompt_input in prompt.missing(case)]
    missing_fields = [field for field in missing_fields if field != "response"]
    if missing_fields:
        fault += f", and no {' and no '.join(missing_fields)} either"
    # Otherwise it reads as if leaving such rows out were the remedy for an answer under a name of its own.
    if code == "no_response" and case.has_other_keys() and not case.hint("response"):
        fault += f". If it has another name, call it response, {NAME_THE_PATH}"
    return (
        f"{prompt.name}: {fault}. "
        "A crashed application must not look like a good one: set "
        '`empty_response` to "not_applicable" to leave such rows out, or to "worst" to score them 0. '
        f"The case has: {', '.join(case.field_names()) or 'nothing'}"
    )


def _format_identity(reply_format: Format) -> list[Any]:
    """Return what tells formats apart, wherever their modules lie: class, attributes and the reading."""
    if is_dataclass(reply_format):
        attributes: Any = {}
        for field in fields(reply_format):
            if field.compare:
                attributes[field.name] = getattr(reply_format, field.name)
    else:
        # An object of a class with slots has no `__dict__`.
        attributes = getattr(reply_format, "__dict__", repr(reply_format))
    return [type(reply_format).__qualname__, attributes, READING_VERSION]


def _verdict_parts(
    weighed: Reading, reading: Reading, scale: Scale, case: Case | None, n_values: int
) -> tuple[tuple[Part, ...], Sequence[str]]:
    """Make the parts, scored as weighed, with their quotes looked up in the case; and warnings on quotes."""
    documents: Sequence[Document] = ()
    if case is not None and case.context is not None:
        documents = case.context
    sources = Sources(documents)
    parts: list[Part] = []
    warnings: list[str] = []
    for part, weighed_part in zip(reading.parts, weighed.parts, strict=True):
        score: float | None = None
        if weighed_part.value is not None:
            score = scale.score(weighed_part.value)
        evidence: tuple[Evidence, ...] = ()
        part_warnings: tuple[str, ...] = ()
        if case is not None:
            evidence, quote_warnings = find(part.quotes, sources)
            warnings.extend(quote_warnings)
            # A score of 0 needs no evidence.
            if score and EVIDENCE_NOT_FOUND in quote_warnings:
                part_warnings = (EVIDENCE_NOT_FOUND,)
        elif part.quotes:
            warnings.append("evidence_unchecked")
        confidence: float | None = None
        if weighed_part.distribution:
            confidence = confidence_of(weighed_part.distribution.values(), n_values)
        parts.append(
            Part(
                name=part.name,
                value=part.value,
                score=score,
                label=part.label or None,
                reason=part.reason,
                evidence=evidence,
                warnings=part_warnings,
                distribution=weighed_part.distribution or None,
                confidence=confidence,
            )
        )
    return tuple(parts), warnings


def _reason_of(reading: Reading, parts: Sequence[Part], limits: str) -> str:
    """Write the reason of a verdict: that of the reply, what is in doubt, and the limits of the model."""
    lines: list[str] = []
    if reading.reason:
        lines.append(reading.reason)
    without_evidence = _parts_without_evidence(parts)
    if without_evidence:
        lines.append(describe_fault(EVIDENCE_NOT_FOUND, without_evidence))
    if SHARES_UNREADABLE in reading.warnings:
        lines.append(f"{SHARES_UNREADABLE}: {describe_fault(SHARES_UNREADABLE)}")
    # Formats without a place for a reason of the whole would else say it of some sentences only.
    if limits and not reading.reason.endswith(limits):
        lines.append(limits)
    return "\n".join(lines)


def doubt(verdict: Verdict) -> ReplyError | None:
    """Why to ask again after a reply that could be read.

    Its score needs quotes that no document has, or the shares that it should state cannot be read.
    """
    if SHARES_UNREADABLE in verdict.warnings:
        return ReplyError(SHARES_UNREADABLE, verdict.reply or "")
    numbers = _parts_without_evidence(verdict.parts)
    if not numbers:
        return None
    sentences = tuple(verdict.parts[number - 1].reason for number in numbers)
    return ReplyError(EVIDENCE_NOT_FOUND, verdict.reply or "", quotes=sentences, numbers=numbers)


def _parts_without_evidence(parts: Sequence[Part]) -> tuple[int, ...]:
    """Return the numbers of the sentences whose evidence is in none of the documents, from 1."""
    return tuple(number for number, part in enumerate(parts, 1) if EVIDENCE_NOT_FOUND in part.warnings)


def _is_other_level(level: str, label: str | None, levels: Mapping[float, str]) -> bool:
    """Whether a text names levels, but not the one that the score lies on."""
    level_text = fold_label(level)
    named_labels: set[str] = set()
    for level_label in levels.values():
        label_text = fold_label(level_label)
        is_inside = re.search(rf"\b{re.escape(label_text)}\b", level_text)
        # "mild" for "mild hallucination"
        is_beginning = level_text and label_text.startswith(f"{level_text} ")
        if is_inside or is_beginning:
            named_labels.add(level_label)
    return bool(named_labels) and label not in named_labels
