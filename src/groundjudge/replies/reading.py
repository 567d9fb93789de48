"""The one reading of replies: a format says where its places are; they are read and checked here."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal, NamedTuple

from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, Place, Reading, Span
from groundjudge.replies.opening import LETTER_OR_DIGIT, Pattern, has_open_aside, is_quoted, open_reply
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader
from groundjudge.scale import FULL_STOPS, Scale

READING_VERSION = 1
"""Raise it when a reply may be read otherwise than before: verdicts of one identity must be comparable."""


class Marks(NamedTuple):
    """How a format marks its places.

    Attributes:
        pattern: matches a mark: a tag, a label at the beginning of its line, a brace.
        kind: "tags" stand anywhere; "lines" begin with a label, which may come again ahead of a verdict; what
            is in "strings" is not folded, and the format itself leaves out what is only quoted.
        prose_may_follow: whether prose may stand behind the verdict if it does not name another one.
    """

    pattern: Pattern
    kind: Literal["tags", "lines", "strings"] = "tags"
    prose_may_follow: bool = False


class PlacedFormat(Format):
    """A format that only says where its places are: all checks of a reply are made for it.

    Before its places are looked for, the reply must be finished and not quoted whole, and its reasoning is
    cut. Then no reasoning and no comment may be open ahead of a verdict, verdicts must agree and must not be
    quoted or cut off, explanation and thoughts come once, and nothing stands behind a verdict but what
    `marks` allows. Use a frozen dataclass: its name and its attributes are a part of a judge's identity.
    """

    @property
    @abstractmethod
    def marks(self) -> Marks:
        """How its places are marked, and what may stand behind a verdict."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The texts that mark the verdict, which may also stand in its place: "Score: 4"."""
        return ()

    @abstractmethod
    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find what the format marks in `reader.text`, in order; read nothing.

        Raises:
            ReplyError: the marks have no meaning, such as a closing tag that closes nothing.
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
        if marks.kind == "lines":
            # Labels are words of any text: in reasoning that is open they may come in any order.
            _check_asides(reader, places)
        return self.read_places(reader, places)

    def read_places(self, reader: Reader, places: Sequence[Place]) -> Reading:
        """Read the one verdict in the places that were found. A format with several scores reads them here.

        Raises:
            ReplyError: as for `read_reply`.
        """
        marks = self.marks
        values = [place for place in places if place.kind == "value"]
        verdict, reading = reader.read_verdict(values, prose_may_follow=marks.prose_may_follow)
        _check_others(reader, places, marks, verdict, values[-1])
        if marks.kind != "lines":
            _check_asides(reader, places)
        # A number that is cut off may go on behind its point.
        is_unclosed = not values[-1].is_closed
        is_cut_off = is_unclosed and reader.text_of(values[-1]).rstrip().endswith(FULL_STOPS)
        is_example = False
        if marks.kind == "tags":
            start, end = verdict.span
            is_example = is_quoted(reader.text, start, end) or reader.text.endswith("`", 0, start)
        prose = _prose_behind(reader, places, verdict)
        if marks.prose_may_follow:
            is_followed = reader.may_contradict(reading, prose)
        else:
            is_followed = LETTER_OR_DIGIT.search(prose) is not None
        if is_cut_off or is_example or is_followed:
            raise reader.make_error("ambiguous")
        return Reading(
            reading.value,
            self.find_reason(reader, places, verdict),
            level=last_text(reader, places, "level"),
            warnings=("unclosed_tag",) if is_unclosed else (),
            label=reading.label,
            shares=_read_shares(reader, places, marks, verdict),
            span=reading.span,
        )

    def find_reason(self, reader: Reader, places: Sequence[Place], verdict: Place) -> str:  # noqa: ARG002  for formats
        """Find the explanation of the verdict that was read; "" if there is none."""
        return last_text(reader, places, "reason")


def last_text(reader: Reader, places: Sequence[Place], kind: str) -> str:
    """Return the reply's own text in the last place of a kind; "" if there is none."""
    for place in reversed(places):
        if place.kind == kind:
            return reader.reply.slice(*place.content)
    return ""


def _check_others(
    reader: Reader, places: Sequence[Place], marks: Marks, verdict: Place, last_verdict: Place
) -> None:
    """Check that nothing hides a verdict, and that none begins anew: with what is there already.

    A judge may quote a document that closes the explanation, gives a verdict of its own and opens a tag:
    `</S1><S2>5</S2><S0>`. What the judge writes behind it then comes twice, or is not closed.

    Raises:
        ReplyError: `ambiguous`.
    """
    seen: set[str] = set()
    for place in places:
        if place.kind in ("value", "text"):
            continue
        if place.kind == "other":
            is_hiding = not place.is_closed and place.span[0] >= verdict.span[0]
            begins_anew = False
        else:
            is_hiding = not place.is_closed
            may_repeat = marks.kind == "lines" and place.span[0] < last_verdict.span[0]
            begins_anew = place.kind in seen and not may_repeat and not marks.prose_may_follow
        if is_hiding or begins_anew:
            raise reader.make_error("ambiguous", reader.text[slice(*place.span)])
        seen.add(place.kind)


def _check_asides(reader: Reader, places: Sequence[Place]) -> None:
    """Check that no reasoning and no comment is open ahead of the last value, or of the last label.

    Raises:
        ReplyError: `no_verdict`.
    """
    end = 0
    for place in places:
        if place.kind == "value" or place.label:
            end = place.span[0]
    spans = [place.span for place in places]
    if has_open_aside(_text_outside(reader.text, spans, 0, end)):
        raise reader.make_error("no_verdict")


def _read_shares(reader: Reader, places: Sequence[Place], marks: Marks, verdict: Place) -> str:
    """Return the text in the place of the shares; "" if there is none.

    Raises:
        ReplyError: `ambiguous`: there are several that differ, or more follows.
    """
    values = {place.span for place in places if place.kind == "value"}
    texts: list[str] = []
    is_followed = False
    for place in places:
        # Those in the element of another verdict belong to that one.
        if place.kind == "shares" and (place.span == verdict.span or place.span not in values):
            texts.append(reader.text_of(place))
            is_followed = is_followed or reader.has_below(place)
    # A list of shares has no tags. "</S1><S2>5</S2><S3>" would hold all up to the judge's own shares.
    has_tags = marks.kind == "tags" and any(map(marks.pattern.search, texts))
    if is_followed or has_tags or len(set(texts)) > 1:
        raise reader.make_error("ambiguous", " ... ".join(texts))
    return texts[0] if texts else ""


def _prose_behind(reader: Reader, places: Sequence[Place], verdict: Place) -> str:
    """Return what stands behind a verdict and in no other place."""
    spans: list[Span] = []
    for place in places:
        start, end = place.span
        if end > verdict.span[1] and place.kind != "text":
            spans.append((start, max(end, place.content[1])))
    return _text_outside(reader.text, spans, verdict.span[1], len(reader.text))


def _text_outside(text: str, spans: Sequence[Span], start: int, end: int) -> str:
    """Return what stands between two indexes of a text, but in none of the spans, which are in order."""
    pieces: list[str] = []
    for first, last in spans:
        if first >= end:
            break
        if first > start:
            pieces.append(text[start:first])
        start = max(start, last)
    pieces.append(text[start:end])
    return " ".join(pieces)
