"""A rubric: everything that decides how a case is asked about and how a reply becomes a verdict.

No model is needed: a rubric renders prompts, reads replies and says what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Unpack

from pydantic import TypeAdapter, ValidationError

from groundjudge.case.case import Case, CaseLike, Document
from groundjudge.case.shapes import is_blank
from groundjudge.errors import CaseError, PromptError, ReplyError, describe_fault
from groundjudge.evidence import Sources, find
from groundjudge.prompt.front_matter import ExampleReply
from groundjudge.prompt.input import Input
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies import FORMATS, Expectation, Format, PartReading, Reading
from groundjudge.replies.format import missing_members
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import label_of
from groundjudge.replies.weighted import MOST_VALUES, is_weighable, weigh
from groundjudge.rubric.options import EmptyResponse, RubricOptions, Structured, check_choice, check_options
from groundjudge.scale import Scale, fold_label
from groundjudge.verdict import Part, Passes, Verdict, __version__, decision

FROM_THE_APPLICATION: Mapping[str, Any] = {"response": "-", "context": (Document(content="-"),)}
"""The fields that an application gives, all of which a crashed one lacks, each with a stand-in."""

PROBABILITIES: Mapping[str, Any] = {"logprobs": True, "top_logprobs": MOST_VALUES}
"""The parameters that ask for the probabilities of tokens."""

EVIDENCE_NOT_FOUND = "evidence_not_found"
"""The code of a quote that is in none of the documents: of a warning, and of the error that asks again."""

PROMPTS = Path(__file__).parents[1] / "prompts"


@dataclass(frozen=True)
class Request:
    """What a model is asked.

    Attributes:
        messages: chat messages, each with role and content. With `parameters`, all that is sent.
        parameters: sampling parameters by their names in the chat completions API.
        rubric: how the reply will be read. For models that are no language models, like the lexical baseline.
        case: what is judged; for the same models.
        paced: whether the caller waits and asks again after a rate limit: a model that would do so
            itself raises instead.
        repeat: the index of one of several replies to the same request, for votes: a cache keeps them apart.
        attempt: which request of its conversation it is, from 1.
        fresh: whether a cache must not answer it, because the reply that it has could not be read.
    """

    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]
    rubric: Rubric
    case: Case
    paced: bool = False
    repeat: int = 0
    attempt: int = 1
    fresh: bool = False

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
    weighted: bool = False
    structured: Structured = "reask"
    passes: Passes = "score"
    tool_titles: bool = True

    def __post_init__(self) -> None:
        _check_format(self.format)
        _check_numbers(self.scale, self.threshold)
        check_choice("bad_empty_response", "empty_response", self.empty_response, EmptyResponse)
        check_choice("bad_structured", "structured", self.structured, Structured)
        check_choice("bad_passes", "passes", self.passes, Passes)
        if self.passes == "weakest" and not (self.format.part_names or self.format.parts_are_sentences):
            raise _refused("bad_passes", self.prompt, "passes: weakest needs a reply format with parts")
        off = [value for value in (*self.levels, *self.not_applicable) if not self.scale.holds(value)]
        if off:
            fault = f"levels, not_applicable: {off[0]:g} is not on the scale {self.scale}: give some that fit"
            raise _refused("bad_levels", self.prompt, fault)
        object.__setattr__(self, "levels", dict(sorted(self.levels.items())))
        object.__setattr__(self, "not_applicable", tuple(self.not_applicable))
        _check_choices(self)
        if self.weighted and not is_weighable(self.scale):
            needs = f"labels or at most {MOST_VALUES} whole numbers from 0, which a token can tell apart"
            message = f"{self.name}: `weighted` needs {needs}; the scale is {self.scale}"
            raise PromptError("bad_weighted", message, "weighted")

    @property
    def name(self) -> str:
        """The judge's name, which is its prompt's."""
        return self.prompt.name

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
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        own |= {"prompt": self.prompt.sha256, "format": _description(self.format)}
        inputs = [each.model_dump() for each in self.inputs]
        settings = [self.name, dict(self.prompt.parameters), inputs, own, __version__]
        return sha256(json.dumps(settings, sort_keys=True, default=repr).encode()).hexdigest()[:16]

    def with_options(self, **options: Unpack[RubricOptions]) -> Rubric:
        """The rubric with other settings; parameters, may_be_empty and optional add to those that it has.

        Raises:
            PromptError: as for `Rubric`; `unknown_input` if may_be_empty or optional names no input.
            TypeError: there is no option of that name.
        """
        check_options(options, RubricOptions)
        return replace(self, prompt=_adjusted(self.prompt, options), **_settings(options))

    def ask(self, case: CaseLike) -> Request:
        """What a model is asked about a case.

        Raises:
            CaseError: the case lacks what the prompt needs, or cannot be read.
        """
        case = self._seen(case)
        return Request(self.prompt.render(case), self.parameters, self, case)

    def _seen(self, case: CaseLike) -> Case:
        """The case as it is asked about."""
        return Case.of(case) if self.tool_titles else Case.of(case).without_tool_titles()

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """What is sent along with the messages of a first request; the prompt's own parameters come first."""
        probabilities: Mapping[str, Any] = PROBABILITIES if self.weighted else {}
        always: Mapping[str, Any] = self.response_format if self.structured == "always" else {}
        return {**probabilities, **always, **self.prompt.parameters}

    @cached_property
    def response_format(self) -> Mapping[str, Any]:
        """The parameter that asks an endpoint for a reply by the format's schema; {} if it has none."""
        schema = None if self.structured == "never" else self.format.schema(self.scale)
        if schema is None:
            return {}
        named = {"name": "verdict", "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": named}}

    def read(self, reply: str | Reply, case: CaseLike | None = None) -> Verdict:
        """The verdict that a reply gives on a case. Without the case, quotes cannot be checked.

        Raises:
            ReplyError: the reply holds no verdict that can be read.
        """
        reply = Reply(reply) if isinstance(reply, str) else reply
        case = None if case is None else self._seen(case)
        expectation = Expectation(self.levels, None if case is None else case.response_text)
        reading = self.format.read_reply(reply, self.scale, expectation)
        weighed, shares = reading, None
        if self.weighted:
            weighed, shares = weigh(reply, reading, self.scale, self.not_applicable)
        parts, about_quotes = _parts(weighed, reading, self.scale, case)
        unfound = _without_evidence(parts)
        evidence_note = describe_fault(EVIDENCE_NOT_FOUND, unfound) if unfound else ""
        label = reading.label or label_of(reading.value, self.levels)
        inconsistencies = self._consistency_warnings(reading, label, case)
        warnings = (*weighed.warnings, *about_quotes, *inconsistencies)
        is_applicable = reading.value not in self.not_applicable
        score = self.format.score(weighed, self.scale) if is_applicable else None
        return Verdict(
            judge=self.name,
            status="not_applicable" if score is None else "ok",
            score=score,
            value=reading.value,
            label=label,
            reason="\n".join(filter(None, (reading.reason, evidence_note))),
            parts=parts,
            warnings=tuple(dict.fromkeys(warnings)),
            usage=reply.usage,
            attempts=1,
            model=reply.model,
            prompt=self.prompt.id,
            reply=reply.text,
            case_id=case.id if case else None,
            expected=weighed.value if shares and score is not None else None,
            distribution=shares,
            **decision(score, parts, self.passes, self.threshold),
        )

    def blank_response_verdict(self, case: Case) -> Verdict | None:
        """The verdict on a response that is missing or blank; None where there is something to judge.

        Raises:
            CaseError: `no_response` or `empty_response`, unless `empty_response` says otherwise;
                `missing_field` if the case also lacks an input that the application does not give
                (anything but the context): then it is not meant for this judge.
        """
        code = self._missing_response(case)
        if code is None:
            return None
        try:
            self.prompt.check(case.model_copy(update=FROM_THE_APPLICATION))
        except CaseError:
            self.prompt.check(case)  # names all that is missing, the response included
            raise
        if self.empty_response == "error":
            raise CaseError(code, _no_response(self.prompt, code, case), "response")
        verdict = Verdict(
            judge=self.name, status="not_applicable", label=code, prompt=self.prompt.id, case_id=case.id
        )
        return verdict if self.empty_response == "not_applicable" else self._worst(verdict, code)

    def _missing_response(self, case: Case) -> str | None:
        """The code of what is wrong with the response, where the prompt needs one."""
        shown = next((each for each in self.inputs if each.field == "response"), None)
        if shown is None or not shown.required:
            return None
        response = shown.value(case)
        if response is None:
            return "no_response"
        return "empty_response" if is_blank(case.response_text) and not shown.may_be_empty else None

    def _worst(self, verdict: Verdict, code: str) -> Verdict:
        choice, names = self.scale.nearest(0.0) or None, self.format.part_names
        worst = self.scale.worst if choice is None else self.scale.choices[choice] or 0.0
        value, score = None if names else worst, self.scale.score(worst)
        parts = tuple(Part(name=name, value=worst, score=score, label=choice) for name in names)
        return verdict.model_copy(
            update={
                "status": "ok",
                "score": score,
                "value": value,
                "label": choice or label_of(value, self.levels),
                "reason": f"The response is {'missing' if code == 'no_response' else 'blank'}.",
                "parts": parts,
                "warnings": (code,),
                **decision(score, parts, self.passes, self.threshold),
            }
        )

    def _consistency_warnings(self, reading: Reading, label: str | None, case: Case | None) -> Iterable[str]:
        """The warnings that the format alone cannot give."""
        if case and not case.is_shown_whole(each.field for each in self.inputs):
            yield "content_not_shown"
        if reading.level and _names_another(reading.level, label, self.levels):
            yield "band_mismatch"


def names() -> list[str]:
    """The names of the judges that come with the library."""
    return sorted(file.stem for file in PROMPTS.glob("*.prompty"))


def load_rubric(name: str | Path, **options: Unpack[RubricOptions]) -> Rubric:
    """Load a rubric by the name of its judge, or from a prompt file of your own by its path.

    Args:
        name: one of `names()`, or the path of a prompt file.
        options: what the file leaves open, or says otherwise; see `RubricOptions`.

    Raises:
        PromptError: there is no such judge, its file breaks its contract, an option is out of range, or it
            names an input that the prompt does not have.
        TypeError: there is no option of that name.
    """
    check_options(options, RubricOptions)
    prompt = Prompt.from_file(_file(name))
    own = ("scale", "levels", "not_applicable", "threshold", "passes")
    settings = {name: getattr(prompt.front_matter, name) for name in own}
    settings["format"] = options.get("reply") or _format(prompt)
    settings |= _settings(options)
    if settings["scale"] is None:
        raise _refused("no_scale", prompt, "scale is missing: put it into the file, or pass a Scale in code")
    example = prompt.front_matter.example_reply
    if example and options.get("reply") is None and options.get("scale") is None:
        _check_example(prompt, example, settings["format"], settings["scale"])
    return Rubric(prompt=_adjusted(prompt, options), **settings)


def _format(prompt: Prompt) -> Format:
    """The reply format that a prompt file names."""
    if prompt.front_matter.reply is None:
        raise _refused("no_reply_format", prompt, "reply is missing: add it, or in Python pass a format")
    options = dict(prompt.front_matter.reply)
    kind = str(options.pop("format", None))
    if kind not in FORMATS:
        fault = f"reply.format: unknown format {kind!r}, the formats are {', '.join(FORMATS)}"
        raise _refused("unknown_reply_format", prompt, fault)
    known = {each.name: each.type for each in fields(FORMATS[kind])}
    with suppress(ValidationError):
        if options.keys() <= known.keys():
            return TypeAdapter(FORMATS[kind]).validate_python(options)
    named = ", ".join(f"{name} ({type_})" for name, type_ in known.items()) or "(none)"
    fault = f"reply: the format {kind} has the options {named}, not {options}"
    raise _refused("bad_reply_option", prompt, fault)


def _adjusted(prompt: Prompt, options: RubricOptions) -> Prompt:
    """The prompt with the options that add to what its file says."""
    parameters = {**prompt.parameters, **(options.get("parameters") or {})}
    inputs = prompt.with_inputs(may_be_empty=options.get("may_be_empty"), optional=options.get("optional"))
    return inputs.model_copy(update={"parameters": parameters})


def _settings(options: RubricOptions) -> dict[str, Any]:
    """The fields of a rubric that the options replace."""
    added = ("parameters", "may_be_empty", "optional")
    given = {name: value for name, value in options.items() if value is not None and name not in added}
    return {"format" if name == "reply" else name: value for name, value in given.items()}


def _refused(code: str, prompt: Prompt, fault: str) -> PromptError:
    return PromptError(code, f"{prompt.path}: {fault}", prompt.path)


def _check_format(candidate: object) -> None:
    missing = missing_members(candidate)
    if missing:
        kind = candidate.__name__ if isinstance(candidate, type) else type(candidate).__name__
        formats = ", ".join(each.__name__ for each in FORMATS.values())
        lacks = f"it lacks {', '.join(missing)}: pass one of {formats}, or an object that has them"
        raise PromptError("bad_reply_format", f"reply: {kind} is not a reply format, {lacks}", kind)


def _check_numbers(scale: object, threshold: object) -> None:
    if not isinstance(scale, Scale):
        message = f"scale must be a Scale, as in Scale(worst=1, best=5) or Choices({{...}}), not {scale!r}"
        raise PromptError("bad_scale", message, str(scale))
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        message = f"threshold must lie on the score, 0..1, not {threshold!r}"
        raise PromptError("bad_threshold", message, str(threshold))


def _check_choices(rubric: Rubric) -> None:
    """Make sure that the format can express every label: what it writes, it must read."""
    for label, value in rubric.scale.choices.items():
        names = rubric.format.part_names or ("-",)
        parts = tuple(PartReading(name, value, label=label) for name in names)
        try:
            written = rubric.format.write_reply(Reading(value, parts=parts, label=label), rubric.scale)
            found = rubric.format.read_reply(Reply(written), rubric.scale)
        except (ReplyError, TypeError, ValueError):
            found = Reading(None)
        if {found.label, *(part.label for part in found.parts)} - {""} != {label}:
            fault = f"the format {type(rubric.format).__name__} cannot express the label {label!r}"
            message = f"{rubric.name}: {fault}: give the scale numbers, or use another label or format"
            raise PromptError("bad_choices", message, rubric.prompt.path)


def _no_response(prompt: Prompt, code: str, case: Case) -> str:
    what = "no response was given" if code == "no_response" else "the response is blank"
    missing = [each.field for each in prompt.missing(case) if each.field != "response"]
    others = f", and no {' and no '.join(missing)} either" if missing else ""
    return (
        f"{prompt.name}: {what}{case.hint('response')}{others}. "
        "A crashed application must not look like a good one: set "
        '`empty_response` to "not_applicable" to leave such rows out, or to "worst" to score them 0. '
        f"The case has: {', '.join(case.field_names()) or 'nothing'}"
    )


def _description(format: Format) -> list[Any]:  # noqa: A002  the field's name
    """What tells one format from another: its class, and its attributes."""
    kind = type(format)
    attributes = getattr(format, "__dict__", repr(format))
    if is_dataclass(format):
        attributes = {each.name: getattr(format, each.name) for each in fields(format) if each.compare}
    return [kind.__module__, kind.__qualname__, attributes]


def _parts(
    weighed: Reading, reading: Reading, scale: Scale, case: Case | None
) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """The parts, scored as weighed, with their quotes looked up in the case, and warnings about quotes."""
    sources = Sources((case and case.context) or ())
    found = [find(part.quotes, sources) if case else ((), ()) for part in reading.parts]
    scores = [None if mean.value is None else scale.score(mean.value) for mean in weighed.parts]
    parts = tuple(
        Part(
            name=part.name,
            value=part.value,
            score=score,
            label=part.label or None,
            reason=part.reason,
            evidence=evidence,
            warnings=(EVIDENCE_NOT_FOUND,) if score and EVIDENCE_NOT_FOUND in warned else (),
        )
        for part, score, (evidence, warned) in zip(reading.parts, scores, found, strict=True)
    )
    if case is None and any(part.quotes for part in reading.parts):
        return parts, ("evidence_unchecked",)
    return parts, tuple(warning for _, warnings in found for warning in warnings)


def evidence_error(verdict: Verdict) -> ReplyError | None:
    """Why to ask again after a reply that could be read: its score needs quotes that no document has."""
    if not (numbers := _without_evidence(verdict.parts)):
        return None
    quotes = tuple(verdict.parts[number - 1].reason for number in numbers)
    return ReplyError(EVIDENCE_NOT_FOUND, verdict.reply or "", quotes=quotes, numbers=numbers)


def _without_evidence(parts: Sequence[Part]) -> tuple[int, ...]:
    """The numbers of the sentences whose evidence is in none of the documents."""
    return tuple(number for number, part in enumerate(parts, 1) if part.warnings)


def _names_another(level: str, label: str | None, levels: Mapping[float, str]) -> bool:
    """Whether a text names levels, but not the one that the score lies on."""
    said = fold_label(level)
    named = {other for other in levels.values() if re.search(rf"\b{re.escape(fold_label(other))}\b", said)}
    named |= {other for other in levels.values() if said and fold_label(other).startswith(f"{said} ")}
    return bool(named) and label not in named


def _file(name: str | Path) -> Path:
    path = PROMPTS / f"{name}.prompty" if str(name) in names() else Path(name)
    if not path.is_file():
        listed = ", ".join(names())
        message = f"there is no judge {str(name)!r}, and no file of that name; the judges are: {listed}"
        raise PromptError("unknown_judge", message, str(name))
    return path


def _check_example(prompt: Prompt, example: ExampleReply, reply: Format, scale: Scale) -> None:
    """Make sure that the file's own example is read as the file says."""
    try:
        reading = reply.read_reply(Reply(example.text), scale)
    except ReplyError as error:
        raise _refused("bad_example", prompt, f"example_reply cannot be read: {error}") from error
    if (found := _numbers(reading, example.value)) != example.value:
        raise _refused("bad_example", prompt, f"example_reply is read as {found}, not as {example.value}")


def _numbers(reading: Reading, like: object) -> object:
    """What was read, in the shape in which the file gives it: one verdict, those of the parts, or by name."""
    if isinstance(like, float | int | str):
        return reading.label or reading.value
    if isinstance(like, Mapping):
        return {part.name: part.label or part.value for part in reading.parts}
    return tuple(part.label or part.value for part in reading.parts)
