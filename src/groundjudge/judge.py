"""A judge is a prompt and a model: it asks, reads the reply, and gives a verdict."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import Any, cast

from groundjudge import evidence
from groundjudge.case import Case, is_blank
from groundjudge.errors import GroundjudgeError, ModelError, PromptError, ReplyError
from groundjudge.model import Model, ModelLike, Reply, Request, as_model
from groundjudge.prompt import Prompt
from groundjudge.replies import FORMATS, Adjacent, Format, Reading, Scorecard
from groundjudge.verdict import Failure, Part, Scale, Usage, Verdict

PROMPTS = Path(__file__).parent / "prompts"
ROOM_WHEN_UNTOLD = 2048
"""Tokens of the first reply, where a truncated one came without a limit of ours and without usage."""


@dataclass(frozen=True)
class Judge:
    """A judge. It keeps no state: what a call brought is in the verdict.

    Attributes:
        threshold: on the score (0..1): `passed` is score >= threshold.
        parameters: what is sent along with the messages.
        reasks: how often the model is asked again after a reply that cannot be read.
    """

    prompt: Prompt
    model: Model
    format: Format
    scale: Scale
    levels: Mapping[float, str]
    not_applicable: tuple[float, ...]
    threshold: float
    parameters: Mapping[str, Any]
    reasks: int

    @property
    def name(self) -> str:
        """The judge's name, which is its prompt's."""
        return self.prompt.name

    @cached_property
    def identity(self) -> str:
        """A hash of what the judge is: its name, its prompt, its model's name and its parameters."""
        told = [self.name, self.prompt.id.sha256, self.model.name, self.parameters]
        return sha256(json.dumps(told, sort_keys=True, default=repr).encode()).hexdigest()[:16]

    def key(self, case: Case | Mapping[str, Any]) -> str:
        """What the verdicts of this judge on this case are known by, before and after it is judged."""
        case = as_case(case)
        try:
            told = case.model_dump_json(exclude={"metadata"})
        except ValueError:  # tool calls may be nested deeper than pydantic goes
            told = repr(case.model_copy(update={"metadata": {}}))
        return f"{self.identity}-{sha256(told.encode()).hexdigest()[:32]}"

    def ask(self, case: Case | Mapping[str, Any]) -> Request:
        """What would be sent for a case; nothing is sent.

        Raises:
            CaseError: the case lacks what the judge needs, or cannot be read.
        """
        case = as_case(case)
        return Request(self.prompt.render(case), self.parameters, self, case)

    def read(self, reply: str | Reply, case: Case | Mapping[str, Any] | None = None) -> Verdict:
        """The verdict that a reply gives on a case. Without the case its quotes cannot be checked.

        Raises:
            ReplyError: the reply holds no verdict that can be read.
        """
        reply = Reply(reply) if isinstance(reply, str) else reply
        case = None if case is None else as_case(case)
        reading = self.format.read(reply, self.scale)
        parts, warnings = _checked(reading, self.scale, case)
        if case and isinstance(self.format, Scorecard):
            warnings = (*warnings, *evidence.unlisted([part.name for part in parts], case.response_text))
        label = label_of(reading.value, self.levels)
        if reading.level and _names_another(reading.level, label, self.levels):
            warnings = (*warnings, "band_mismatch")
        applies = reading.value not in self.not_applicable
        score = self._score(reading, parts) if applies else None
        return Verdict(
            judge=self.name,
            status="ok" if applies else "not_applicable",
            score=score,
            value=reading.value,
            label=label,
            passed=score is None or round(score, 9) >= self.threshold,
            reason=reading.reason,
            parts=parts,
            warnings=tuple(dict.fromkeys((*reading.warnings, *warnings))),
            usage=reply.usage,
            attempts=1,
            model=reply.model or self.model.name,
            prompt=self.prompt.id,
            reply=reply.text,
            case_id=case.id if case else None,
        )

    def judge(self, case: Case | Mapping[str, Any]) -> Verdict:
        """Judge a case: at most one call more than `reasks`, and one more if a reply was truncated.

        Raises:
            CaseError: the case cannot be judged as it is; no call was made.
            ModelError: no reply was had.
            ReplyError: no reply could be read.
            Each has the row's verdict (status "error") in its attribute `verdict`.
        """
        talk = self.conversation(case)
        try:
            request = next(talk)
            while True:
                try:
                    reply = self.model.complete(request)
                except ModelError as error:
                    request = talk.throw(error)
                else:
                    request = talk.send(reply)
        except StopIteration as end:
            return _verdict_of(end)

    async def ajudge(self, case: Case | Mapping[str, Any]) -> Verdict:
        """Judge a case without blocking the event loop; see `judge`."""
        return await converse(self.conversation(case), self.model.acomplete)

    def conversation(self, case: Case | Mapping[str, Any]) -> Generator[Request, Reply, Verdict]:
        """The conversation with a model about a case, for whoever drives it.

        It yields what to ask, is sent the replies, and returns the verdict. A ModelError that was met
        on the way is thrown in, so that the row's verdict knows what was spent.

        Raises:
            GroundjudgeError: as for `judge`.
        """
        started = perf_counter()
        spent = Verdict(judge=self.name, status="error", model=self.model.name, prompt=self.prompt.id)
        reasks, roomier = self.reasks, False
        try:
            case = as_case(case)
            spent = spent.model_copy(update={"case_id": case.id, "key": self.key(case)})
            if case.response is not None and is_blank(case.response):
                return spent.model_copy(
                    update={"status": "not_applicable", "label": "empty_response", "model": None}
                )
            request = self.ask(case)
            while True:
                spent = spent.model_copy(update={"attempts": spent.attempts + 1})
                reply = yield request
                spent = spent.model_copy(
                    update={
                        "usage": _sum(spent.usage, reply.usage),
                        "retries": spent.retries + reply.retries,
                        "latency_s": perf_counter() - started,
                        "model": reply.model or self.model.name,
                        "reply": reply.text,
                    }
                )
                try:
                    verdict = self.read(reply, case)
                except ReplyError as error:
                    if error.code == "truncated" and not roomier:
                        roomier = True
                        request = _with_room(request, reply)
                    elif error.code != "truncated" and reasks:
                        reasks -= 1
                        request = _again(request, error)
                    else:
                        raise
                else:
                    kept = ("attempts", "retries", "usage", "latency_s", "key")
                    return verdict.model_copy(update={name: getattr(spent, name) for name in kept})
        except GroundjudgeError as error:
            error.verdict = spent.model_copy(
                update={
                    "error": Failure(code=error.code, message=error.message),
                    "latency_s": perf_counter() - started if spent.attempts else 0.0,
                    "retries": spent.retries + (error.retries if isinstance(error, ModelError) else 0),
                }
            )
            raise

    def _score(self, reading: Reading, parts: Sequence[Part]) -> float:
        if isinstance(self.format, Adjacent | Scorecard):
            return self.format.headline([part.score for part in parts])
        return self.scale.score(reading.value or 0.0)


async def converse(
    talk: Generator[Request, Reply, Verdict], answer: Callable[[Request], Awaitable[Reply]]
) -> Verdict:
    """Drive a judge's conversation to its verdict, with whatever answers its requests.

    Raises:
        GroundjudgeError: as for `Judge.judge`.
    """
    try:
        request = next(talk)
        while True:
            try:
                reply = await answer(request)
            except ModelError as error:
                request = talk.throw(error)
            else:
                request = talk.send(reply)
    except StopIteration as end:
        return _verdict_of(end)


def names() -> list[str]:
    """The names of the judges that come with the library."""
    return sorted(file.stem for file in PROMPTS.glob("*.prompty"))


def load(  # noqa: PLR0913  what a prompt file may leave open is given here
    name: str | Path,
    *,
    model: ModelLike | None = None,
    threshold: float | None = None,
    parameters: Mapping[str, Any] | None = None,
    reasks: int = 1,
    reply: Format | None = None,
    scale: Scale | None = None,
    levels: Mapping[float, str] | None = None,
    not_applicable: Sequence[float] | None = None,
) -> Judge:
    """Load a judge by its name, or from a prompt file of your own by its path.

    Args:
        name: one of `names()`, or the path of a prompt file.
        model: a model's name ("openai:gpt-4o-mini"), "offline", (client, name), a function from the
            request to its reply, or a Model. It must be given.
        threshold: on the score, 0..1; without it the file's.
        parameters: sampling parameters, over the file's.
        reasks: how often the model is asked again after a reply that cannot be read.
        reply: the reply format, where the file does not say it.
        scale: the judge's scale, where the file does not say it.
        levels: labels by the highest value that bears them, where the file does not say them.
        not_applicable: values that mean "nothing to judge", where the file does not say them.

    Raises:
        PromptError: there is no such judge, or its file breaks its contract.
        ModelError: no model was given, or what was given is none.
    """
    prompt = Prompt.read(_file(name))
    read_as = reply or _format(prompt)
    on = scale or prompt.scale
    if on is None:
        message = f"{prompt.path}: scale is missing: say it in the file, or pass scale=Scale(worst=…, best=…)"
        raise PromptError("no_scale", message, prompt.path)
    if reply is None and scale is None:
        _check_example(prompt, read_as, on)
    is_number = isinstance(threshold, int | float | None)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not is_number or not 0 <= (threshold or 0) <= 1:
        message = f"threshold must lie on the score, 0..1, not {threshold!r}"
        raise PromptError("bad_threshold", message, str(threshold))
    return Judge(
        prompt=prompt,
        model=as_model(model),
        format=read_as,
        scale=on,
        levels=dict(sorted((prompt.levels if levels is None else levels).items())),
        not_applicable=tuple(prompt.not_applicable if not_applicable is None else not_applicable),
        threshold=prompt.threshold if threshold is None else threshold,
        parameters={**prompt.parameters, **(parameters or {})},
        reasks=reasks,
    )


def as_case(case: Case | Mapping[str, Any]) -> Case:
    """The case itself, or the one that a mapping describes."""
    return case if isinstance(case, Case) else Case.from_mapping(case)


def label_of(value: float | None, levels: Mapping[float, str]) -> str | None:
    """The label of a value: that of the lowest level it does not exceed."""
    if value is None:
        return None
    return next((label for highest, label in levels.items() if value <= highest), None)


def _file(name: str | Path) -> Path:
    if str(name) in names():
        return PROMPTS / f"{name}.prompty"
    path = Path(name)
    if path.is_file():
        return path
    message = f"no judge is called {str(name)!r}, and no file either; the judges are: {', '.join(names())}"
    raise PromptError("unknown_judge", message, str(name))


def _format(prompt: Prompt) -> Format:
    """The reply format that a prompt file asks for."""
    if prompt.reply is None:
        message = (
            f"{prompt.path}: reply is missing: say it in the file, or pass reply=Tags(value=…, reason=…)"
        )
        raise PromptError("no_reply_format", message, prompt.path)
    told = dict(prompt.reply)
    kind = str(told.pop("format", None))
    if kind not in FORMATS:
        message = f"{prompt.path}: reply.format: {kind!r} is none of {', '.join(FORMATS)}"
        raise PromptError("unknown_reply_format", message, prompt.path)
    known = [field.name for field in fields(FORMATS[kind])]
    options: dict[str, Any] = {
        name: tuple(cast("list[object]", value)) if isinstance(value, list) else value
        for name, value in told.items()
    }
    if not options.keys() <= set(known) or not all(map(_is_text, options.values())):
        message = (
            f"{prompt.path}: reply: the format {kind} has the options {', '.join(known) or '(none)'}, "
            f"each a text or a list of texts, not {', '.join(f'{name}: {told[name]!r}' for name in told)}"
        )
        raise PromptError("bad_reply_option", message, prompt.path)
    return FORMATS[kind](**options)


def _is_text(option: object) -> bool:
    if isinstance(option, tuple):
        return all(isinstance(one, str) for one in cast("tuple[object, ...]", option))
    return isinstance(option, str)


def _check_example(prompt: Prompt, read_as: Format, scale: Scale) -> None:
    """Make sure that the file's own example is read as the file says."""
    example = prompt.example_reply
    if example is None:
        return
    try:
        reading = read_as.read(Reply(example.text), scale)
    except ReplyError as error:
        message = f"{prompt.path}: example_reply cannot be read: {error}"
        raise PromptError("bad_example", message, prompt.path) from error
    parts: object = tuple(part.value for part in reading.parts)
    if isinstance(example.value, Mapping):
        parts = {part.name: part.value for part in reading.parts}
    found = reading.value if isinstance(example.value, float | int) else parts
    if found != example.value:
        message = f"{prompt.path}: example_reply is read as {found}, not as {example.value}"
        raise PromptError("bad_example", message, prompt.path)


def _checked(reading: Reading, scale: Scale, case: Case | None) -> tuple[tuple[Part, ...], tuple[str, ...]]:
    """The parts with their quotes looked up in the case, and what is odd about them."""
    parts: list[Part] = []
    warnings: list[str] = []
    sources = evidence.Sources((case and case.context) or ())
    for part in reading.parts:
        found, warned = evidence.find(part.quotes, sources) if case else ((), ())
        warnings.extend(warned)
        parts.append(
            Part(
                name=part.name,
                value=part.value,
                score=scale.score(part.value),
                reason=part.reason,
                evidence=found,
            )
        )
    if case is None and any(part.quotes for part in reading.parts):
        warnings.append("evidence_unchecked")
    return tuple(parts), tuple(warnings)


def _names_another(level: str, label: str | None, levels: Mapping[float, str]) -> bool:
    """Whether words name a level, and only other levels than the score's own."""
    named = {
        other for other in levels.values() if re.search(rf"\b{re.escape(other)}\b", level, re.IGNORECASE)
    }
    return bool(named) and label not in named


def _with_room(request: Request, reply: Reply) -> Request:
    """The same request with twice the room for its reply."""
    limit = next(
        (name for name in ("max_completion_tokens", "max_tokens") if name in request.parameters), "max_tokens"
    )
    used = reply.usage.completion_tokens if reply.usage else 0
    room = request.parameters.get(limit) or used or ROOM_WHEN_UNTOLD
    return replace(request, parameters={**request.parameters, limit: 2 * room})


def _again(request: Request, error: ReplyError) -> Request:
    """The request once more, with the reply and what was wrong with it."""
    told = {
        "role": "user",
        "content": f"Your last reply could not be read: {error.message}. "
        "Give the whole verdict again, in exactly the format that was asked for and nothing else.",
    }
    said = ({"role": "assistant", "content": error.reply},) if error.reply.strip() else ()
    return replace(request, messages=(*request.messages, *said, told))


def _sum(first: Usage | None, second: Usage | None) -> Usage | None:
    return first + second if first and second else first or second


def _verdict_of(end: StopIteration) -> Verdict:
    verdict: Verdict = end.value
    return verdict
