"""Verdicts on labelled lines, such as `Score: 8`: the labels, the places after them, and the formats."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from groundjudge.replies.format import Place, Reading
from groundjudge.replies.opening import NOTHING
from groundjudge.replies.reading import Marks, PlacedFormat
from groundjudge.replies.value import Reader, write_value
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.printable import one_line

NOT_BLANK = compile_when_used(r"\S")
BULLETS = r"^[^\S\n]*+(?:(?:[-+•*]|(?P<heading>\#{1,6})|[0-9]{1,2}[.)])[^\S\n]++)*+"
BRACKET = r"(?:[^\S\n]*[(\[](?P<bracket>[^()\[\]\n]{0,20}?[0-9][^()\[\]\n]{0,20})[)\]])?"
# What follows a label; nothing needs to follow one that ends in a bracket, or a heading that is only a label.
COLON = r"(?:(?<=\])[^\S\n]*:?|" + BRACKET + r"[^\S\n]*(?::|(?(heading)(?P<title>$)|(?!))))"


def label_pattern(labels: Iterable[str], names: Iterable[str] = ()) -> re.Pattern[str]:
    """Return a pattern for labels, each followed by a colon unless it ends in a bracket or is a heading.

    In a label, a space and `_` are the same. A bracket that states a scale may follow: "Score (0-10): 7".

    Args:
        labels: the labels.
        names: the names of parts, which may be alone on a line above labels.
    """
    name = rf"(?P<name>{_spellings(names)})[^\S\n]*:?[^\S\n]*$"
    return compile_when_used(
        rf"{BULLETS}(?:(?P<label>{_spellings(labels)}){COLON}|{name})",
        re.IGNORECASE | re.MULTILINE,
    )


def _spellings(labels: Iterable[str]) -> str:
    """Return a pattern for labels with spaces or `_`: "final[_ ]score|grade"; without any, none matches."""
    spellings: list[str] = []
    for label in labels:
        words = re.split("[_ ]", label)
        spellings.append("[_ ]".join(map(re.escape, words)))
    return "|".join(spellings) if spellings else NOTHING.pattern


@dataclass(frozen=True)
class LabelledLines(PlacedFormat):
    """A format whose places follow labels at the beginning of lines; it says which."""

    @abstractmethod
    def kinds(self) -> Mapping[str, str]:
        """Return what follows each label. The places have the labels as they are written here."""

    @property
    def marks(self) -> Marks:
        """Its labels."""
        return Marks(self._pattern, "lines")

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return label_pattern(self.kinds(), self.part_names)

    @cached_property
    def _kinds_and_labels(self) -> Mapping[str, tuple[str, str]]:
        """What follows each label, and the label, by the form in which labels are compared."""
        return {_comparable(label): (kind, label) for label, kind in self.kinds().items()}

    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find the labelled lines of a reply, in order.

        The place of a value, or of shares, is the rest of the line or, if that is empty, the next line that
        is not; all others extend to the next label.
        """
        text = reader.text
        # From the end: each place extends to the label after it.
        places: list[Place] = []
        end = len(text)
        for match in reversed(list(self._pattern.finditer(text))):
            first_character = NOT_BLANK.search(text, match.end(), end)
            is_title = match["title"] is not None or match["name"] is not None
            # A heading right above a label is not text; the name of a part with text below is just text.
            if match["label"] is not None and not (is_title and first_character is None):
                start = end if first_character is None else first_character.start()
                line_end = text.find("\n", start, end)
                place_end = end if line_end < 0 else line_end
                # If case is ignored, "ı" is "i", but not that label.
                known = self._kinds_and_labels.get(_comparable(match["label"]))
                kind, label = known or ("text", match["label"])
                content_end = place_end if kind in ("value", "shares") else end
                places.append(
                    Place(
                        kind,
                        content=(start, content_end),
                        span=(match.start(), place_end),
                        label=label,
                        scale=match["bracket"] or "",
                        below=(place_end, end),
                    )
                )
                end = match.start()
            elif first_character is None:
                places.append(Place("other", content=match.span(), span=match.span()))
                end = match.start()
        places.reverse()
        return places


def _comparable(label: str) -> str:
    """Return a label in the form in which it is compared: lower case, with spaces for underscores."""
    return label.casefold().replace("_", " ")


@dataclass(frozen=True)
class Labelled(LabelledLines):
    """Reads the verdict on a labelled line: `Line` and `Banded` make this format.

    Attributes:
        verdict: the label of the verdict, or several alternatives. It begins its line and is followed by a
            colon, unless it ends in a bracket, like `[RESULT]`, or is a heading: `### Score`.
        brackets: whether the verdict is in double brackets, as in `Rating: [[5]]`.
        reason: the label of the explanation; "" if that is the prose before the verdict. With a label, only
            other labels may follow the verdict.
        level: the label of the level that is named in addition to the number; "" if there is none.
        shares: the label of the shares (the probability of each value); "" if there are none. Only other
            labels may follow them.
    """

    verdict: str | tuple[str, ...]
    brackets: bool = False
    reason: str = ""
    level: str = ""
    shares: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the verdict, or all alternatives."""
        if isinstance(self.verdict, str):
            return (self.verdict,)
        return self.verdict

    @property
    def marks(self) -> Marks:
        """Its labels. Without a label for the explanation, prose may follow the verdict."""
        return Marks(self._pattern, "lines", prose_may_follow=not self.reason)

    def kinds(self) -> Mapping[str, str]:
        """Return what follows each label."""
        verdicts = dict.fromkeys(self.labels, "value")
        # Twice: the verdict's labels are looked for first, and win if another one is the same.
        kinds = {**verdicts, self.reason: "reason", self.level: "level", self.shares: "shares", **verdicts}
        kinds.pop("", None)
        return kinds

    def find_places(self, reader: Reader) -> Sequence[Place]:
        """Find the labelled lines. If the verdict must be in brackets, its label without them is prose."""
        places: list[Place] = []
        for place in super().find_places(reader):
            is_text = self.brackets and place.kind == "value" and "[[" not in reader.text_of(place)
            places.append(place._replace(kind="text") if is_text else place)
        return places

    def find_reason(self, reader: Reader, places: Sequence[Place], verdict: Place) -> str:
        """Return the explanation: the text after its label, or the prose before the verdict."""
        if self.reason:
            return super().find_reason(reader, places, verdict)
        return reader.reply.slice(reader.reply.start, verdict.span[0])

    def write_reply(self, reading: Reading) -> str:
        """Write the explanation and, below it, the verdict on its labelled line."""
        label = self.labels[0]
        colon = "" if label.endswith("]") else ":"
        place = f"[[{write_value(reading)}]]" if self.brackets else write_value(reading)
        verdict = f"{label}{colon} {place}"
        if self.shares and reading.shares:
            verdict += f"\n{self.shares}: {one_line(reading.shares)}"
        if not self.reason:
            prose = self._pattern.sub(lambda match: f"> {match[0]}", reading.reason)  # no longer a label
            return f"{prose}\n{verdict}".lstrip()
        lines = [f"{self.reason}: {one_line(reading.reason)}"]
        if self.level:
            lines.append(f"{self.level}: {one_line(reading.level)}")
        lines.append(verdict)
        return "\n".join(lines)


def Line(  # noqa: N802  used like the class of a format
    name: str | tuple[str, ...] = "Verdict",
    brackets: bool = False,  # noqa: FBT001, FBT002
    shares: str = "",
) -> Labelled:
    """Make a format that reads a verdict on a separate line, as in `Final verdict: Inconsistent`.

    The explanation is the prose before it. Prose may also follow the verdict if it has no digit or, on a
    scale of labels, no other label.

    Args:
        name: the label of the line, or several alternatives. It begins the line and is followed by a colon,
            unless it ends in a bracket, like `[RESULT]`, or is a heading.
        brackets: whether the verdict is in double brackets, as in `Rating: [[5]]`.
        shares: the label of the line with the shares (the probability of each value); "" for none.
    """
    return Labelled(name, brackets, shares=shares)


def Banded(shares: str = "") -> Labelled:  # noqa: N802  used like the class of a format
    """Make a format that reads the number or label after `Score:`, the texts after `Analysis:` and `Level:`.

    Only the other labels may follow the verdict.

    Args:
        shares: the label of the line with the shares (the probability of each value or level); "" for none.
    """
    return Labelled("Score", reason="Analysis", level="Level", shares=shares)
