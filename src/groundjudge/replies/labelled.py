"""Verdicts on labelled lines, such as `Score: 8`: the labels, the places behind them, and the formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from sys import intern
from typing import NamedTuple

from groundjudge.replies.format import NO_EXPECTATION, Expectation, Format, Reading
from groundjudge.replies.opening import LETTER_OR_DIGIT, NOTHING, FoldedText, has_open_aside, open_reply
from groundjudge.replies.reply import Reply
from groundjudge.replies.value import Reader, write_number, write_value
from groundjudge.scale import Scale
from groundjudge.text.patterns import LazyPattern, compile_when_used

# A line below that goes on with the value: it begins with a digit or with a sign before one, or is a sign
# with nothing but closing marks behind it.
GOES_ON_BELOW = compile_when_used(
    r"\s*+(?:[0-9]|[-+–,./%][.。]?(?:[^\S\n]|[*_`\"'”’»」』\])】}])*(?:[0-9]|$))", re.MULTILINE
)
LINE_END = compile_when_used("\n")
NOT_BLANK = compile_when_used(r"\S")
BULLETS = r"^[^\S\n]*+(?:(?:[-+•*]|(?P<heading>\#{1,6})|[0-9]{1,2}[.)])[^\S\n]++)*+"
BRACKET = r"(?:[^\S\n]*[(\[](?P<bracket>[^()\[\]\n]{0,20}?[0-9][^()\[\]\n]{0,20})[)\]])?"
# What follows a label; nothing follows one that ends in a bracket, and a heading that is only a label.
COLON = r"(?:(?<=\])[^\S\n]*:?|" + BRACKET + r"[^\S\n]*(?::|(?(heading)(?P<title>$)|(?!))))"


class LabelledEntry(NamedTuple):
    """A label and what follows it, up to the next label. Positions are indexes into the folded text.

    Attributes:
        folded: the folded reply.
        label: the label, as `comparable_label` writes it.
        bracket: what stands in a bracket behind the label; "" if there is none.
        line_start: where its line begins.
        start: where its place begins.
        place_end: where its place ends.
        end: where the next label begins, or the reply ends.
    """

    folded: FoldedText
    label: str
    bracket: str
    line_start: int
    start: int
    place_end: int
    end: int

    @property
    def text(self) -> str:
        """The reply's own text behind the label, up to the next one or the end of the reply."""
        return self.folded.slice(self.start, self.end)

    @property
    def place(self) -> str:
        """The rest of the labelled line or, if that is empty, the next line that is not."""
        return self.folded.text[self.start : self.place_end]

    @property
    def below(self) -> str:
        """What follows the place."""
        return self.folded.text[self.place_end : self.end]


def label_pattern(labels: Iterable[str], names: Iterable[str] = ()) -> LazyPattern:
    """Return a pattern for labels, each followed by a colon unless it ends in a bracket or is a heading.

    In a label a space and `_` are the same. A bracket that states a scale may follow: "Score (0-10): 7".

    Args:
        labels: the labels.
        names: what may stand alone on a line above labels: the names of parts.
    """
    name = rf"(?P<name>{_spellings(names)})[^\S\n]*:?[^\S\n]*$"
    return compile_when_used(
        rf"{BULLETS}(?:(?P<label>{_spellings(labels)}){COLON}|{name})",
        re.IGNORECASE | re.MULTILINE,
    )


def _spellings(labels: Iterable[str]) -> str:
    """Return a pattern for labels with spaces or `_`; one that matches nothing if there are none."""
    spellings: list[str] = []
    for label in labels:
        words = re.split("[_ ]", label)
        spellings.append("[_ ]".join(map(re.escape, words)))
    return "|".join(spellings) if spellings else NOTHING.pattern


def comparable_label(label: str) -> str:
    """Return a label as it is compared: in small letters, with spaces for underscores."""
    return label.casefold().replace("_", " ")


def read_entries(
    reply: Reply, labels: LazyPattern, scale: Scale, expectation: Expectation, names: tuple[str, ...] = ()
) -> tuple[Reader, list[LabelledEntry]]:
    """Open a reply, and return its reader and its labelled entries in order.

    Args:
        reply: the reply of the model.
        labels: the `label_pattern` of the format's labels.
        scale: as for `Format.read_reply`.
        expectation: as for `Format.read_reply`.
        names: the names that may stand before a value, as for `Reader`.
    """
    reader = Reader(open_reply(reply, labels), scale, expectation, names)
    text = reader.reply.text
    line_starts = [0]
    line_starts.extend(line_end.end() for line_end in LINE_END.finditer(text))
    # From the end: each entry reaches to the label behind it.
    entries: list[LabelledEntry] = []
    end = len(text)
    for line_start in reversed(line_starts):
        match = labels.match(text, line_start)  # which is faster than to search for a label
        if match is None:
            continue
        is_title = match["title"] is not None or match["name"] is not None
        is_blank = NOT_BLANK.search(text, match.end(), end) is None
        # A heading right above a label is no text; the name of a part with text below it is nothing else.
        if match["label"] is not None and not (is_title and is_blank):
            entries.append(_read_entry(reader.reply, match, end))
            end = match.start()
        elif is_blank:
            end = match.start()
    entries.reverse()
    if entries:
        # Behind a label on its line a tag of reasoning is text.
        prose = [text[: entries[0].line_start]]
        prose.extend(entry.below for entry in entries[:-1])
        if has_open_aside("".join(prose)):
            raise reader.make_error("no_verdict")
    return reader, entries


def _read_entry(folded: FoldedText, match: re.Match[str], end: int) -> LabelledEntry:
    first_sign = NOT_BLANK.search(folded.text, match.end(), end)
    start = end if first_sign is None else first_sign.start()
    line_end = LINE_END.search(folded.text, start, end)
    return LabelledEntry(
        folded=folded,
        label=intern(comparable_label(match["label"])),
        bracket=match["bracket"] or "",
        line_start=match.start(),
        start=start,
        place_end=end if line_end is None else line_end.start(),
        end=end,
    )


def read_verdict(
    reader: Reader, entries: Sequence[LabelledEntry], part_name: str = "", *, prose_may_follow: bool = False
) -> tuple[LabelledEntry, Reading]:
    """Read the entries of a verdict, all of which must say the same.

    Returns:
        The first entry that is no echo of the prompt, and its reading.

    Raises:
        ReplyError: as for `Reader.read_places`; `out_of_scale` for a label with another scale, `ambiguous`
            if more follows in an entry than its verdict.
    """
    places = [(entry.start, entry.place_end) for entry in entries]
    index, reading = reader.read_verdict(places, part_name)
    for entry in entries[index:]:
        if entry.bracket and not _states_scale(entry.bracket, reader.scale):
            raise reader.make_error("out_of_scale", entry.bracket, part_name)
        is_followed = GOES_ON_BELOW.match(entry.below) is not None
        if not is_followed and not prose_may_follow:
            is_followed = LETTER_OR_DIGIT.search(entry.below) is not None
        if is_followed:
            raise reader.make_error("ambiguous", entry.below.strip(), part_name)
    return entries[index], reading


def _states_scale(bracket: str, scale: Scale) -> bool:
    """Whether a bracket states the scale: "0-10", "0 to 10", "/10" or "out of 10"."""
    if scale.choices:
        return False
    low = write_number(min(scale.worst, scale.best))
    high = write_number(max(scale.worst, scale.best))
    text = re.sub(r"\s", "", bracket).casefold().replace("–", "-")
    return text in (f"{low}-{high}", f"{low}to{high}", f"/{high}", f"outof{high}")


def one_line(text: str) -> str:
    """Return a text on one line, so that none of its words can be read as a label."""
    return " ".join(text.split())


@dataclass(frozen=True)
class Labelled(Format):
    """Reads the verdict on a labelled line: see `Line` and `Banded`, which make this format.

    Attributes:
        verdict: the label of the verdict, or several of which any may be used. It begins its line, and a
            colon follows unless it ends in a bracket, as `[RESULT]` does, or is a heading: `### Score`.
        brackets: whether the verdict stands in double brackets, as in `Rating: [[5]]`.
        reason: the label of the explanation; "" if that is the prose ahead of the verdict. With a label,
            nothing may follow the verdict but other labels.
        level: the label of the level that is named besides the number; "" if there is none.
        shares: the label of the shares, how probable each value is; "" if there are none. Nothing may follow
            them but other labels.
    """

    verdict: str | tuple[str, ...]
    brackets: bool = False
    reason: str = ""
    level: str = ""
    shares: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the verdict, or all of which any may be used."""
        if isinstance(self.verdict, str):
            return (self.verdict,)
        return self.verdict

    def read_reply(self, reply: Reply, scale: Scale, expectation: Expectation = NO_EXPECTATION) -> Reading:
        """Read a reply. Prose without a digit or, on a scale of labels, another label may follow the verdict.

        Raises:
            ReplyError: there is no such line, there are several that differ or more behind it (`ambiguous`),
                or it cannot be read.
        """
        reader, entries = read_entries(reply, self._pattern, scale, expectation, self.labels)
        verdicts = [entry for entry in entries if self._is_verdict(entry)]
        verdict, reading = read_verdict(reader, verdicts, prose_may_follow=not self.reason)
        reading = replace(reading, shares=self._read_shares(reader, entries))
        if self.reason:
            self._check_end(reader, entries, verdicts[-1])
            texts = {entry.label: entry.text for entry in entries}
            reason = texts.get(comparable_label(self.reason), "")
            level = texts.get(comparable_label(self.level), "")
            return replace(reading, reason=reason, level=level)
        for entry in entries[entries.index(verdict) :]:
            if entry.label == comparable_label(self.shares):
                continue
            prose = entry.below if self._is_verdict(entry) else entry.text
            if reader.may_contradict(reading, prose):
                raise reader.make_error("ambiguous")
        return replace(reading, reason=reader.reply.slice(reader.reply.start, verdict.line_start))

    def write_reply(self, reading: Reading, scale: Scale) -> str:  # noqa: ARG002  required by the protocol
        """Write the explanation and the labelled line of the verdict below it."""
        label = self.labels[0]
        colon = "" if label.endswith("]") else ":"
        place = f"[[{write_value(reading)}]]" if self.brackets else write_value(reading)
        verdict = f"{label}{colon} {place}"
        if self.shares and reading.shares:
            verdict += f"\n{self.shares}: {one_line(reading.shares)}"
        if not self.reason:
            prose = self._pattern.sub(lambda match: f"> {match[0]}", reading.reason)  # no label any more
            return f"{prose}\n{verdict}".lstrip()
        lines = [f"{self.reason}: {one_line(reading.reason)}"]
        if self.level:
            lines.append(f"{self.level}: {one_line(reading.level)}")
        lines.append(verdict)
        return "\n".join(lines)

    def _check_end(
        self, reader: Reader, entries: Sequence[LabelledEntry], last_verdict: LabelledEntry
    ) -> None:
        """Check that no other verdict begins behind the last one: with a label that is there already.

        Raises:
            ReplyError: `ambiguous`: the verdict is a draft, or that of a document that the judge quotes.
        """
        end = entries.index(last_verdict)
        labels = {entry.label for entry in entries[:end]}
        for entry in entries[end + 1 :]:
            if entry.label in labels:
                raise reader.make_error("ambiguous", entry.text)
            labels.add(entry.label)

    def _read_shares(self, reader: Reader, entries: Sequence[LabelledEntry]) -> str:
        """Return the text in the place of the shares; "" if there is none.

        Raises:
            ReplyError: `ambiguous`: there are several that differ, or more follows.
        """
        if not self.shares:
            return ""
        label = comparable_label(self.shares)
        shares_entries = [entry for entry in entries if entry.label == label]
        places = {entry.place for entry in shares_entries}
        is_followed = any(LETTER_OR_DIGIT.search(entry.below) for entry in shares_entries)
        if len(places) > 1 or is_followed:
            raise reader.make_error("ambiguous", " ... ".join(entry.text for entry in shares_entries))
        return shares_entries[0].place if shares_entries else ""

    def _is_verdict(self, entry: LabelledEntry) -> bool:
        if self.brackets and "[[" not in entry.place:
            return False
        return entry.label in map(comparable_label, self.labels)

    @cached_property
    def _pattern(self) -> LazyPattern:
        labels = [*self.labels]
        for label in (self.reason, self.level, self.shares):
            if label:
                labels.append(label)
        return label_pattern(labels)


def Line(  # noqa: N802  it is written where a format is made
    name: str | tuple[str, ...] = "Verdict",
    brackets: bool = False,  # noqa: FBT001, FBT002
    shares: str = "",
) -> Labelled:
    """A format that reads a verdict on a line of its own, as in `Final verdict: Inconsistent`.

    The explanation is the prose before it. Prose may follow the verdict, too, if it has no digit or, on a
    scale of labels, no other label.

    Args:
        name: the label of the line, or several of which any may be used. It begins the line, and a colon
            follows unless it ends in a bracket, as `[RESULT]` does, or is a heading.
        brackets: whether the verdict stands in double brackets, as in `Rating: [[5]]`.
        shares: the label of the line with the shares, how probable each value is; "" for none.
    """
    return Labelled(name, brackets, shares=shares)


def Banded(shares: str = "") -> Labelled:  # noqa: N802  it is written where a format is made
    """A format that reads the number or the label after `Score:`, the texts after `Analysis:` and `Level:`.

    Nothing may follow the verdict but the other labels.

    Args:
        shares: the label of the line with the shares, how probable each value or level is; "" for none.
    """
    return Labelled("Score", reason="Analysis", level="Level", shares=shares)
