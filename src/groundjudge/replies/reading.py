"""The reader for all replies: a format says where its places are; they are read and checked here."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, Place, Reading, Span
from groundjudge.replies.opening import LETTER_OR_DIGIT, has_open_aside, is_quoted, open_reply
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader
from groundjudge.scale import FULL_STOPS, Scale

READING_VERSION = 6
"""Raise it when a reply may be read differently: verdicts with the same identity must be comparable."""


class Marks(NamedTuple):
    """How a format marks its places.

    Attributes:
        pattern: matches a mark: a tag, a label at the beginning of its line, a brace.
        kind: "tags" may be anywhere; "lines" begin with a label, which may be repeated before a verdict; the
            content of "strings" is not folded, and the format itself leaves out what is only quoted.
        prose_may_follow: whether prose may follow the verdict if it does not name another one.
    """

    pattern: re.Pattern[str]
    kind: Literal["tags", "lines", "strings"] = "tags"
    prose_may_follow: bool = False


class PlacedFormat(Format):
    """A format that only says where its places are; the base class makes all checks of a reply.

    Before it looks for places, it checks that the reply is finished and not quoted as a whole, and cuts the
    reasoning. Then no reasoning and no comment may be open before a verdict, verdicts must agree and must not
    be quoted or cut off, the explanation and the thoughts may each occur once, and only what `marks` allows
    may follow a verdict. Use a frozen dataclass: its name and its attributes are part of a judge's identity.
    """

    @property
    @abstractmethod
    def marks(self) -> Marks:
        """How its places are marked, and what may follow a verdict."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The texts that mark the verdict. They may also be in its place: "Score: 4"."""
        return ()

    @abstractmethod
    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find what the format marks in `reader.text`, in order, without reading it.

        Raises:
            ReplyError: the marks make no sense, such as a closing tag that closes nothing.
        """

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply.

        Raises:
            ReplyError: `no_verdict`, `ambiguous`, or the code of what is wrong with the value.
        """
        marks = self.marks
        opened = open_reply(reply, marks.pattern, in_strings=marks.kind == "strings")
        reader = Reader(opened, scale, expectation, self.labels)
        places = self.find_places(reader)
        # Before the values are read: open reasoning may draft "Score: 3" and then "Score: 5".
        _check_asides(reader, places)
        return self.read_places(reader, places)

    def read_places(self, reader: Reader, places: Sequence[Place]) -> Reading:
        """Read the verdict in the places that were found. A format with several scores overrides this.

        Raises:
            ReplyError: as for `read_reply`.
        """
        marks = self.marks
        values = [place for place in places if place.kind == "value"]
        verdict, reading = reader.read_verdict(values, prose_may_follow=marks.prose_may_follow)
        last_value = values[-1]
        _check_others(reader, places, marks, last_value)
        warnings: tuple[str, ...] = ()
        if not last_value.is_closed:
            # "<S2>4." may be the beginning of 4.5; "<S2>4" is complete if "</S2>" was the stop sequence.
            if reader.text_of(last_value).rstrip().endswith(FULL_STOPS):
                raise reader.make_error("ambiguous")
            warnings = ("unclosed_tag",)
        if marks.kind == "tags" and _is_example(reader.text, places, verdict):
            raise reader.make_error("ambiguous")
        prose = _prose_behind(reader, places, verdict)
        if marks.prose_may_follow:
            is_corrected = reader.may_contradict(reading, prose)
        else:
            # "Correction: it should be 2." is not understood, so any word counts as a correction.
            is_corrected = LETTER_OR_DIGIT.search(prose) is not None
        if is_corrected:
            raise reader.make_error("ambiguous")
        return Reading(
            reading.value,
            self.find_reason(reader, places, verdict),
            level=last_text(reader, places, "level"),
            warnings=warnings,
            label=reading.label,
            shares=_read_shares(reader, places, marks, verdict),
            span=reading.span,
        )

    def find_reason(self, reader: Reader, places: Sequence[Place], verdict: Place) -> str:  # noqa: ARG002  for formats
        """Return the explanation of the verdict that was read; "" if there is none."""
        return last_text(reader, places, "reason")


def last_text(reader: Reader, places: Sequence[Place], kind: str) -> str:
    """Return the original text in the last place of a kind, such as "reason"; "" if there is none."""
    # The last: a judge that corrects itself explains its final verdict there.
    for place in reversed(places):
        if place.kind == kind:
            return reader.reply.slice(*place.content)
    return ""


def _check_others(reader: Reader, places: Sequence[Place], marks: Marks, last_value: Place) -> None:
    """Check that no other place hides a verdict, and that explanation, thoughts and level occur once.

    A judge may quote a document that closes the explanation, gives its own verdict and opens a tag:
    `</S1><S2>5</S2><S0>`. What the judge writes after that then occurs twice, or is not closed.

    Raises:
        ReplyError: `ambiguous`.
    """
    seen_kinds: set[str] = set()
    for place in places:
        # The values were compared with each other already, and "text" is prose.
        if place.kind in ("value", "text"):
            continue
        # Labels may be repeated before the last verdict: a judge may draft "Reason: ... Score: ..." first.
        may_repeat = marks.kind == "lines" and place.span[0] < last_value.span[0]
        # An "other" place has no meaning that a second one could change.
        may_repeat = may_repeat or marks.prose_may_follow or place.kind == "other"
        is_repeated = place.kind in seen_kinds and not may_repeat
        # In an element that never ends, the judge's own verdict may be: `<S1>... <S2>1</S2>`.
        if is_repeated or not place.is_closed:
            raise reader.make_error("ambiguous", reader.text[slice(*place.span)])
        seen_kinds.add(place.kind)


def _is_example(text: str, places: Sequence[Place], verdict: Place) -> bool:
    """Whether a tag is only quoted, alone or with its neighbours: the format is `<S1>why</S1><S2>4</S2>`."""
    for start, end in (verdict.span, _span_with_neighbours(text, places, verdict)):
        if is_quoted(text, start, end) or text.endswith("`", 0, start):
            return True
    return False


def _span_with_neighbours(text: str, places: Sequence[Place], verdict: Place) -> Span:
    """Return where the places begin and end that follow each other, up to the verdict and from it on."""
    start, end = verdict.span
    for place in reversed(places):
        if place.span[1] <= start and not text[place.span[1] : start].strip():
            start = place.span[0]
    for place in places:
        if place.span[0] >= end and not text[end : place.span[0]].strip():
            end = place.span[1]
    return start, end


def _check_asides(reader: Reader, places: Sequence[Place]) -> None:
    """Check that no reasoning and no comment is open before the last value, or the last label.

    Raises:
        ReplyError: `no_verdict`: "<think> first Score: 4" is only a thought.
    """
    last_start = 0
    for place in places:
        if place.kind == "value" or place.label:
            last_start = place.span[0]
    # Inside a place such tags are text: an explanation may quote "<think>" from a document.
    spans = [place.span for place in places if place.kind != "text"]
    if has_open_aside(_text_outside(reader.text, spans, 0, last_start)):
        raise reader.make_error("no_verdict")


def _read_shares(reader: Reader, places: Sequence[Place], marks: Marks, verdict: Place) -> str:
    """Return the text in the place of the shares, such as "4: 0.3, 5: 0.7"; "" if there is none.

    They belong inside the element of their verdict, or right after it: elsewhere they may come from a
    document that the judge quotes.

    Raises:
        ReplyError: `ambiguous`: there are several that differ, they are elsewhere, something follows them, or
            one of several verdicts has none: it may be a quotation.
    """
    # In JSON the verdict and its shares have the same span, that of the object: both are echoes.
    echoes = {place.span for place in places if place.kind == "value" and place.span[0] < verdict.span[0]}
    own = [place for place in places if place.kind in {"value", "shares"} and place.span not in echoes]
    texts = [reader.text_of(place) for place in own if place.kind == "shares"]
    if not texts:
        return ""
    is_tagged = marks.kind == "tags"
    # A list of shares has no tags. "</S1><S2>5</S2><S3>" would span all up to the judge's own shares.
    is_odd = len(set(texts)) > 1 or (is_tagged and any(map(marks.pattern.search, texts)))
    # Each verdict is followed by its shares.
    is_odd = is_odd or [place.kind for place in own] != ["value", "shares"] * len(texts)
    for value, shares in zip(own[::2], own[1::2], strict=False):
        # In tags only other tags follow a verdict: there is no prose that could quote anything.
        has_prose = LETTER_OR_DIGIT.search(reader.text, value.span[1], shares.span[0]) is not None
        is_odd = is_odd or reader.has_below(shares) or (has_prose and not is_tagged)
    if is_odd:
        raise reader.make_error("ambiguous", " ... ".join(texts))
    return texts[0]


def _prose_behind(reader: Reader, places: Sequence[Place], verdict: Place) -> str:
    """Return what follows a verdict outside all other places: " No: 2" for "<S2>5</S2> No: 2"."""
    spans: list[Span] = []
    for place in places:
        start, end = place.span
        # "text" only looks marked, and what is "other" may be a correction in a form of its own.
        if end > verdict.span[1] and place.kind not in {"text", "other"}:
            # The content of a label may continue below its line, where the span ends.
            spans.append((start, max(end, place.content[1])))
    return _text_outside(reader.text, spans, verdict.span[1], len(reader.text))


def _text_outside(text: str, spans: Sequence[Span], start: int, end: int) -> str:
    """Return the text between two indexes that is in none of the spans, which are in order.

    For "abcdef" from 0 to 5, without the span (1, 3): "a de".
    """
    pieces: list[str] = []
    position = start
    for span_start, span_end in spans:
        if span_start >= end:
            break
        if span_start > position:
            pieces.append(text[position:span_start])
        # A span may be inside the one before it, like shares in the object of their verdict.
        position = max(position, span_end)
    pieces.append(text[position:end])
    return " ".join(pieces)
