"""A rubric: everything that decides how to ask about a case, and how a reply becomes a verdict.

It needs no model: a rubric renders prompts, reads replies and has an identity.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar, Unpack, runtime_checkable

from groundjudge.case.case import Case, CaseLike
from groundjudge.case.numbered import Sentences, number_sentences
from groundjudge.case.shapes import is_blank
from groundjudge.citations import check_citations
from groundjudge.errors import GroundjudgeError, ReplyError
from groundjudge.prompt.fences import without_control_tokens
from groundjudge.prompt.input import Input
from groundjudge.prompt.prompt import Prompt
from groundjudge.replies import Expectation, Format, Reading
from groundjudge.replies.contradiction import check_answers, check_places, find_levels
from groundjudge.replies.distribution import MAX_VALUES, confidence_of, name_of, values_of, weigh
from groundjudge.replies.found import Found
from groundjudge.replies.reading import READING_VERSION
from groundjudge.replies.reply import NOT_DECIDED, Reply
from groundjudge.replies.shares import SHARES_UNREADABLE, read_shares, write_shares
from groundjudge.replies.value import label_of
from groundjudge.replies.weighted import with_probabilities
from groundjudge.rubric.checks import (
    check_choices,
    check_format,
    check_numbered_inputs,
    check_numbers,
    check_weighted,
    check_window,
)
from groundjudge.rubric.complaint import follow_up, format_after, more_room
from groundjudge.rubric.options import (
    EmptyResponse,
    RubricOptions,
    Structured,
    check_choice,
    check_options,
)
from groundjudge.rubric.parts import doubt, make_parts, reason_of
from groundjudge.rubric.settings import change_prompt, prompt_error, read_settings
from groundjudge.rubric.windows import cut_windows, with_neighbours
from groundjudge.scale import Scale
from groundjudge.verdict import Part, Passes, Verdict, Weighted, __version__, passing_fields

PROBABILITIES: Mapping[str, Any] = {"logprobs": True, "top_logprobs": MAX_VALUES}
"""The parameters that request token probabilities."""

PROMPTS = Path(__file__).parents[1] / "prompts"


T = TypeVar("T")


class Payload(Protocol):
    """What to send to a model that takes no messages. Only such models and their way look inside."""

    @property
    def key(self) -> str:
        """Everything that is sent, as a text that differs between payloads."""
        ...

    @property
    def size(self) -> int:
        """The approximate number of bytes that are sent."""
        ...


@dataclass(frozen=True)
class Request:
    """What a model is asked.

    Attributes:
        messages: chat messages, each with role and content. They and `parameters` are all that is sent; ()
            with a payload.
        parameters: sampling parameters, named as in the chat completions API; {} with a payload.
        rubric: how the reply will be read. For models that are not language models, like the offline judge.
        case: what is judged; for the same models.
        sentences: the case's numbered sentences; None if they have no numbers.
        paced: whether the caller waits and asks again after a rate limit. A model that would do so itself
            must then raise instead.
        repeat: the index of one of several replies to the same request, for votes: a cache keeps them apart.
        attempt: which request of its conversation it is, from 1; of those with the same rubric, no two have
            the same number.
        problem: why it repeats another one: the error in the reply to that; None if it does not.
        fresh: whether a cache must not answer it, because the cached reply could not be read.
        payload: what is sent, instead of messages, to a model that takes none; None for all other models.
        long_source: what is searched before the case is judged, if this is the first search; otherwise None.
    """

    messages: tuple[Mapping[str, str], ...]
    parameters: Mapping[str, Any]
    rubric: Rubric
    case: Case
    sentences: Sentences | None = None
    paced: bool = False
    repeat: int = 0
    attempt: int = 1
    problem: ReplyError | None = None
    fresh: bool = False
    payload: Payload | None = None
    long_source: LongSource | None = None

    @property
    def added_parameters(self) -> frozenset[str]:
        """The names of the parameters that the library added: they help, but a model can do without them."""
        return frozenset(self.parameters.keys() - self.rubric.prompt.parameters.keys())


class LongSource(NamedTuple):
    """A source that is searched window by window, before its case is judged by what was found.

    Attributes:
        windows: the sentences of the case as each window shows them.
        rubric: the rubric by which the case is judged.
    """

    windows: Sequence[Sentences]
    rubric: Rubric


class Channel(Protocol):
    """Sends requests for a way, traces them and records their cost."""

    async def send(self, request: Request, read: Callable[[Reply], T]) -> tuple[Reply, T | ReplyError]:
        """Send a request, and read the reply.

        Returns:
            The reply, and what was read or the error of reading it.

        Raises:
            ModelError: the model returned no reply.
        """
        ...

    def update_record(self, **changes: object) -> None:
        """Change the fields of the verdict that records an error."""
        ...


@runtime_checkable
class Way(Protocol):
    """How to ask one kind of model about a case, lead it to an answer, and read that.

    Use a frozen value: it is a field of a rubric and part of its identity. A model declares its way in the
    attribute `way`; a model without one writes texts.
    """

    @property
    def writes_text(self) -> bool:
        """Whether replies are texts; other replies are the same each time and have probabilities."""
        ...

    def prepare(self, rubric: Rubric) -> Way:
        """Return this way with everything that it needs from a rubric.

        Raises:
            PromptError: models of this kind cannot be asked in the way the rubric requires.
        """
        ...

    def ask(self, rubric: Rubric, case: Case) -> Request:
        """Make the first request about a case.

        Raises:
            CaseError: the case lacks what the prompt needs, or cannot be read.
        """
        ...

    async def converse(self, request: Request, channel: Channel, max_reasks: int) -> Verdict:
        """Conduct the conversation that begins with a request, and return the verdict.

        Raises:
            ModelError: the model returned no reply.
            ReplyError: no reply could be read.
        """
        ...


@dataclass(frozen=True)
class TextWay:
    """The way of models that write texts: it sends messages, and the rubric's format reads the reply."""

    @property
    def writes_text(self) -> bool:
        """True: replies are texts."""
        return True

    def prepare(self, rubric: Rubric) -> Way:  # noqa: ARG002  it needs only the prompt
        """Return itself."""
        return self

    def ask(self, rubric: Rubric, case: Case) -> Request:
        """Render the prompt; for a source longer than a window, that to search the first one."""
        sentences = rubric.number_sentences(case)
        if sentences is not None and rubric.window is not None:
            windows = cut_windows(sentences, rubric.window)
            if len(windows) > 1:
                rubric.prompt.check(case, rubric.blank_fields)  # before any search is paid for
                search = rubric.searcher.request(case, windows[0])
                return replace(search, long_source=LongSource(windows, rubric))
        return rubric.request(case, sentences)

    async def converse(self, request: Request, channel: Channel, max_reasks: int) -> Verdict:
        """Ask, and ask again if the reply cannot be read or leaves a doubt; search a long source before."""
        if request.long_source is not None:
            request = await _search(request, request.long_source, channel, max_reasks)
        rubric, case, sentences = request.rubric, request.case, request.sentences
        kept = ""  # the lines that are kept from an earlier reply, which the next one completes
        text = ""  # everything from which the verdict is read

        def read(reply: Reply) -> Verdict:
            nonlocal text
            text = f"{text}\n\n{reply.text}" if kept else reply.text
            verdict = rubric.read_case(reply, case, sentences, kept)
            return verdict.model_copy(update={"reply": text}) if kept else verdict

        reasks = _reasks(max_reasks)
        verdict: Verdict | None = None
        while True:
            reply, outcome = await channel.send(request, read)
            if isinstance(outcome, ReplyError):
                problem = outcome
            else:
                verdict = outcome
                doubt_of_outcome = doubt(outcome)
                if doubt_of_outcome is None:
                    return verdict
                problem = doubt_of_outcome
            reason = _reask_reason(problem)
            # A verdict with doubtful evidence or shares is better than the error of a later reply.
            if verdict is not None and not (reasks[reason] and reasks["unreadable"]):
                return verdict
            if not reasks[reason]:
                raise problem
            reasks[reason] -= 1
            kept = problem.kept
            request = next_request(request, reply, problem)


TEXT = TextWay()
"""The way of every model that does not declare another one."""


@dataclass(frozen=True)
class Rubric:
    """A prompt, and how to read the replies to it. Immutable.

    Attributes that are not listed here are options: see `RubricOptions`.

    Attributes:
        prompt: the prompt file, with the sampling parameters for its requests.
        format: the reply format.
        levels: the label of each level, by the level's highest value, in rising order.
        way: how to ask the judge's model; it is set from the model when a judge is made.

    Raises:
        PromptError: `bad_scale`, `bad_threshold`, `bad_levels` (a level or a value in `not_applicable` is not
            on the scale), `bad_reply_format` (an object that is not a reply format),
            `bad_empty_response`, `bad_choices` (the format cannot express one of the scale's labels),
            `bad_weighted` (the scale has too many values), `bad_structured`, `bad_passes` (the weakest part
            of a format without parts), `bad_citations` (a format without numbers), `bad_window` (a prompt
            that cannot search a source in parts); and those of the way.
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
    citations: bool = False
    window: int | None = None
    way: Way = TEXT

    def __post_init__(self) -> None:
        check_format(self.format)
        check_numbers(self.scale, self.threshold)
        check_choice("bad_empty_response", "empty_response", self.empty_response, EmptyResponse)
        check_choice("bad_structured", "structured", self.structured, Structured)
        check_choice("bad_passes", "passes", self.passes, Passes)
        has_parts = self.format.part_names or self.format.parts_are_sentences
        if self.passes == "weakest" and not has_parts:
            raise prompt_error("bad_passes", self.prompt, "passes: weakest needs a reply format with parts")
        if self.format.numbers_sentences:
            check_numbered_inputs(self.prompt, self.format)
        elif self.citations:
            fault = "citations: only a judge that cites the source's sentences by number can check them"
            raise prompt_error("bad_citations", self.prompt, f"{fault}: use statement_groundedness")
        if self.window is not None:
            check_window(self.window, self.prompt, self.format)
        for value in (*self.levels, *self.not_applicable):
            if not self.scale.holds(value):
                fault = f"levels, not_applicable: {value:g} is not on the scale {self.scale}"
                raise prompt_error("bad_levels", self.prompt, f"{fault}: use values on the scale")
        last_value = max(self.scale.worst, self.scale.best)
        if self.levels and max(self.levels) < last_value:
            fault = f"levels: values above {max(self.levels):g} have no label"
            raise prompt_error("bad_levels", self.prompt, f"{fault}: end the last level at {last_value:g}")
        # Lists and unsorted levels are accepted, too; this is how to set fields of a frozen dataclass.
        object.__setattr__(self, "levels", dict(sorted(self.levels.items())))
        object.__setattr__(self, "not_applicable", tuple(self.not_applicable))
        check_choices(self.prompt, self.format, self.scale)
        check_weighted(self.weighted, self.format, self.scale, self.levels, self.name)
        object.__setattr__(self, "way", self.way.prepare(self))

    @property
    def name(self) -> str:
        """The judge's name, which is the name of its prompt."""
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

    @property
    def best_label(self) -> str | None:
        """The label of the best value; None without labels."""
        if self.scale.choices:
            return self.scale.nearest(1.0)
        return label_of(self.scale.best, self.levels)

    @cached_property
    def identity(self) -> str:
        """A hash of everything that affects a verdict, except the model.

        Two rubrics that could ask about a case or read a reply differently have different identities; so have
        the rubrics of different versions of this library.
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
        """Make a copy with other settings; parameters, may_be_empty and optional are added to its own.

        Its way is the default until a judge is made from it: settings may suit one way but not another.

        Args:
            options: see `RubricOptions`.

        Raises:
            PromptError: as for `Rubric`; `unknown_input` if may_be_empty or optional names an unknown input.
            TypeError: an option is unknown, or its value has a wrong type.
        """
        check_options(options, RubricOptions)
        settings = read_settings(options, self.weighted)
        return replace(self, prompt=change_prompt(self.prompt, options), way=TEXT, **settings)

    def ask(self, case: CaseLike) -> Request:
        """Make the request about a case, in the rubric's way.

        Raises:
            CaseError: the case lacks what the prompt needs, or cannot be read.
        """
        return self.way.ask(self, self._case_to_judge(case))

    def request(self, case: Case, sentences: Sentences | None = None) -> Request:
        """Make a request for the verdict on a case that is already prepared for this rubric.

        Args:
            case: the case.
            sentences: its numbered sentences as the prompt shows them; None if the format numbers none.

        Raises:
            CaseError: as for `ask`.
        """
        messages = self.prompt.render(case, self.blank_fields, sentences)
        return Request(messages, self.parameters, self, case, sentences)

    @cached_property
    def searcher(self) -> Rubric:
        """The rubric that asks which sentences of a window matter, and reads the reply; it gives no score."""
        no_scale = Scale(worst=0, best=1)
        return Rubric(self.prompt.search, Found(), no_scale, levels={}, not_applicable=(), threshold=0)

    @property
    def scores_by_probability(self) -> bool:
        """Whether the deciding score is itself the probability that the source supports all claims."""
        return self.format.numbers_sentences and self.passes == "score"

    def number_sentences(self, case: Case) -> Sentences | None:
        """Split a case into the sentences that replies refer to by number; None if they do not."""
        return number_sentences(case) if self.format.numbers_sentences else None

    def _case_to_judge(self, case: CaseLike) -> Case:
        """Read a case as this rubric judges it."""
        case = Case.of(case)
        return case if self.tool_titles else case.without_tool_titles()

    @property
    def blank_fields(self) -> tuple[str, ...]:
        """The fields that may be given but blank: the model is asked all the same.

        A greeting after an empty retrieval needs no source. If every sentence is rated, the reply shows
        whether the response makes any claim.
        """
        return ("context",) if self.format.parts_are_sentences else ()

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of a first request; the prompt's own take precedence."""
        parameters: dict[str, Any] = {}
        if self.weighted is True:
            parameters.update(PROBABILITIES)
        if self.structured == "always":
            parameters.update(self.response_format)
        # The file's own parameters come last: a prompt may ask for another `response_format`.
        parameters.update(self.prompt.parameters)
        return parameters

    @cached_property
    def verdict_keys(self) -> frozenset[str]:
        """The keys, in lower case, of a verdict that is a JSON object; none if replies are not JSON."""
        schema = self.format.schema(self.scale) or {}
        return frozenset(key.casefold() for key in schema.get("properties", {}))

    @cached_property
    def response_format(self) -> Mapping[str, Any]:
        """The parameter that asks for a reply that follows the format's schema; {} if there is none."""
        if self.structured == "never":
            return {}
        schema = self.format.schema(self.scale)
        if schema is None:
            return {}
        json_schema = {"name": "verdict", "schema": schema, "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": json_schema}}

    def write(self, reading: Reading) -> str:
        """Write a reply that `read` reads as this reading. Without shares, its value gets all of them."""
        if self.weighted == "stated" and not reading.shares:
            sure = {name_of(reading, values_of(self.scale, self.levels), self.levels): 1.0}
            reading = replace(reading, shares=write_shares(sure, self.scale, self.levels))
        return self.format.write_reply(reading)

    def read(self, reply: str | Reply, case: CaseLike | None = None) -> Verdict:
        """Read the verdict that a reply gives on a case. Without the case, quotes cannot be checked.

        Raises:
            ReplyError: the reply contains no readable verdict.
            CaseError: `missing_field`: sentences of the response make claims, but the context that the prompt
                requires is blank.
        """
        if isinstance(reply, str):
            reply = Reply(reply)
        known_case = None if case is None else self._case_to_judge(case)
        sentences = None if known_case is None else self.number_sentences(known_case)
        return self.read_case(reply, known_case, sentences)

    def read_case(
        self, reply: Reply, case: Case | None, sentences: Sentences | None = None, earlier: str = ""
    ) -> Verdict:
        """Read the verdict that a reply gives on a case that is already prepared for this rubric.

        Args:
            reply: the reply.
            case: the case; None if it is unknown.
            sentences: its numbered sentences; None if the format numbers none.
            earlier: the part kept from an earlier reply, which this one completes.

        Raises:
            ReplyError, CaseError: as for `read`.
        """
        response_text = None if case is None else case.response_text
        expectation = Expectation(self.levels, response_text, sentences, earlier)
        check_answers(reply)
        reading = self.format.read_reply(reply, self.scale, expectation)
        shares = read_shares(reading.shares, self.scale, self.levels) if reading.shares else None
        check_places(reading, reply, self.scale, self.levels, shares)
        if self.weighted == "stated":
            reading = replace(reading, distribution=shares)
            if shares is None:
                reading = replace(reading, warnings=(*reading.warnings, SHARES_UNREADABLE))
        elif self.weighted:
            reading = with_probabilities(reading, reply, self.scale)
        # If the score is weighted, means replace the values that were read.
        weighed = reading
        if self.weighted:
            weighed = weigh(reading, self.scale, self.levels, self.not_applicable)
        parts, quote_warnings = make_parts(weighed, reading, self.scale, case, sentences)
        reason = reason_of(weighed, parts, reply.limits)
        # On a scale of labels, the reply has a label; on a scale of numbers, the value may have a level.
        label = reading.label or label_of(reading.value, self.levels)
        warnings = [*weighed.warnings, *quote_warnings, *reply.warnings]
        if sentences is not None and sentences.shown is not None:
            warnings.append("source_searched")
        if case is not None:
            warnings += self.warnings_on(case)
        named_levels = find_levels(reading.level, self.levels)
        if named_levels and label not in named_levels:
            warnings.append("band_mismatch")
        # The stated value, not the mean of its shares, decides whether a verdict is applicable.
        score: float | None = None
        if reading.value not in self.not_applicable:
            score = self.format.score(weighed, self.scale)
        scores: Mapping[str, float] = {}
        if score is not None:
            scores = self.format.scores(weighed, self.scale)
        expected: float | None = None
        confidences = [part.confidence for part in parts if part.confidence is not None]
        if reading.distribution:
            n_values = len(values_of(self.scale, self.levels))
            confidences = [confidence_of(reading.distribution.values(), n_values)]
            if score is not None:
                expected = weighed.value
        return self.make_verdict(
            reply,
            case,
            score,
            parts,
            sentences,
            scores=scores,
            value=reading.value,
            label=label,
            reason=reason,
            warnings=tuple(dict.fromkeys(warnings)),  # several parts may have the same warning
            expected=expected,
            distribution=reading.distribution,
            confidence=0.0 if NOT_DECIDED in reply.warnings else min(confidences, default=None),
        )

    def make_verdict(
        self,
        reply: Reply,
        case: Case | None,
        score: float | None,
        parts: tuple[Part, ...],
        sentences: Sentences | None = None,
        **fields: Any,  # noqa: ANN401  the fields of a verdict
    ) -> Verdict:
        """Make a verdict from a score and parts: decide whether it passes, and check citations.

        Raises:
            CaseError: as for `read`.
        """
        if score is not None and case is not None:
            self._check_source(case)
        if self.citations and case is not None and sentences is not None:
            checked = check_citations(case, sentences, parts)
            fields["citations"] = checked.citations
            fields["reason"] = "\n".join(line for line in (fields["reason"], checked.note) if line)
            if score is not None:
                fields["scores"] = {**fields["scores"], **checked.scores}
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

    def warnings_on(self, case: Case) -> tuple[str, ...]:
        """Return the warnings about the fields that the prompt shows: for example, one has an image."""
        return case.warnings(prompt_input.field for prompt_input in self.inputs)

    def _check_source(self, case: Case) -> None:
        """Check that there is a context to compare claims with, if the prompt requires one."""
        for prompt_input in self.prompt.inputs:
            is_needed = prompt_input.field in self.blank_fields and prompt_input.required
            value = case.value(prompt_input.field) if is_needed else None
            if value is not None and is_blank(value):
                self.prompt.check(case)


def _format_identity(reply_format: Format) -> list[Any]:
    """Return what distinguishes formats, except their modules: class, attributes and reading version."""
    if is_dataclass(reply_format):
        attributes: Any = {}
        for field in fields(reply_format):
            if field.compare:
                attributes[field.name] = getattr(reply_format, field.name)
    else:
        # An object of a class with slots has no `__dict__`.
        attributes = getattr(reply_format, "__dict__", repr(reply_format))
    return [type(reply_format).__qualname__, attributes, READING_VERSION]


async def _search(first: Request, source: LongSource, channel: Channel, max_reasks: int) -> Request:
    """Search a source window by window, and return the request for the verdict by what was found.

    Args:
        first: the request to search the first window.
        source: the windows.
        channel: sends the requests.
        max_reasks: how often a window is searched again if the reply cannot be read.

    Raises:
        ModelError, ReplyError: as for `Way.converse`.
    """
    rubric, case = source.rubric, first.case
    n_windows = len(source.windows)
    searches = [(first, _reasks(max_reasks))]
    for attempt, window in enumerate(source.windows[1:], 2):
        search = replace(rubric.searcher.request(case, window), repeat=first.repeat, attempt=attempt)
        searches.append((search, _reasks(max_reasks)))
    found: set[int] = set()
    while searches:
        outcomes = await _send_all([search for search, _ in searches], channel)
        unread: list[tuple[Request, dict[str, int]]] = []
        for (search, reasks), (reply, outcome) in zip(searches, outcomes, strict=True):
            if not isinstance(outcome, ReplyError):
                for line in outcome.parts:
                    found.update(line.sources)
                continue
            reason = _reask_reason(outcome)
            if not reasks[reason]:
                raise outcome
            reasks[reason] -= 1
            # The next number belongs to the next window.
            again = replace(next_request(search, reply, outcome), attempt=search.attempt + n_windows)
            unread.append((again, reasks))
        searches = unread
    shown = with_neighbours(source.windows[0], found)
    return replace(rubric.request(case, shown), repeat=first.repeat, attempt=n_windows + 1)


async def _send_all(
    searches: Iterable[Request], channel: Channel
) -> list[tuple[Reply, Reading | ReplyError]]:
    """Send all requests to search windows, and read the replies.

    If a batch has no answer to one yet, the others are sent all the same: they go into the same batch.

    Raises:
        ModelError: as for `Channel.send`.
    """
    results: list[tuple[Reply, Reading | ReplyError]] = []
    pending: GroundjudgeError | None = None
    for search in searches:
        try:
            results.append(await channel.send(search, partial(_read_search, search)))
        except GroundjudgeError as error:
            if not error.is_pending:
                raise
            pending = error
    if pending is not None:
        raise pending
    return results


def _read_search(search: Request, reply: Reply) -> Reading:
    """Read which sentences of a window matter to each sentence of the response."""
    check_answers(reply)
    expectation = Expectation(sentences=search.sentences)
    return search.rubric.format.read_reply(reply, search.rubric.scale, expectation)


def _reasks(max_reasks: int) -> dict[str, int]:
    """Return how often a request may be repeated for each reason, see `_reask_reason`.

    One whose reply was cut off or interrupted is repeated once even if `max_reasks` is 0.
    """
    return {"unreadable": max_reasks, "truncated": 1, "interrupted": 1}


def _reask_reason(error: ReplyError) -> str:
    """Return why to ask a model again; each reason has a separate limit.

    Returns:
        "truncated" if the reply was cut off, "interrupted" if it ended early otherwise, or else "unreadable".
    """
    if error.code in {"truncated", "interrupted"}:
        return error.code
    return "unreadable"


def next_request(request: Request, reply: Reply, error: ReplyError) -> Request:
    """Return the request that follows an unreadable reply.

    If the reply was cut off, the token limit is raised; if it was interrupted, the request is the same.
    Otherwise, or if part of the reply can be kept, the model is told what was wrong.

    Args:
        request: the request with that reply.
        reply: the reply.
        error: why it could not be read.
    """
    rubric = request.rubric
    messages = [*request.messages]
    parameters = request.parameters
    reason = _reask_reason(error)
    if reason == "truncated":
        parameters = more_room(parameters, reply)
    if reason == "unreadable" or error.kept:
        reply_text = without_control_tokens(error.reply)
        if reply_text.strip():
            messages.append({"role": "assistant", "content": reply_text})
        expected = rubric.scale.expected_text if error.is_misplaced else ""
        fenced = rubric.prompt.quoted(request.case, error.quotes, request.sentences)
        complaint = follow_up(error.code, error.numbers, expected, fenced, is_kept=bool(error.kept))
        messages.append({"role": "user", "content": complaint})
        if not error.kept and "response_format" not in rubric.prompt.parameters:
            parameters = format_after(parameters, rubric.response_format)
    return replace(
        request,
        messages=tuple(messages),
        parameters=parameters,
        attempt=request.attempt + 1,
        problem=error,
    )
