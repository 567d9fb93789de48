"""Reading text: what all formats share. Folding, places, labels, and what counts as a number.

A score is read only in its place and never guessed. Whatever is folded for reading, what is kept
is a slice of the reply as the model wrote it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from types import MappingProxyType

from groundjudge.errors import ReplyError
from groundjudge.model import Reply
from groundjudge.verdict import Scale

# What endpoints say for it: OpenAI, Anthropic, Gemini, Mistral and Bedrock have words of their own.
CUT_OFF = frozenset(
    {
        *("length", "max_tokens", "MAX_TOKENS", "max_output_tokens"),
        *("model_length", "model_context_window_exceeded"),
    }
)
FILTERED = frozenset(
    {
        *("content_filter", "content_filtered", "refusal", "safety", "SAFETY"),
        *("PROHIBITED_CONTENT", "BLOCKLIST", "RECITATION", "SPII", "guardrail_intervened"),
    }
)

PLAIN: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad\r", ""),
        # The marks of writing direction, which surround numbers in Arabic and Hebrew replies.
        **dict.fromkeys("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ""),
        **{chr(ord("０") + digit): str(digit) for digit in range(10)},
        **dict(zip("：．／％－", ":./%-", strict=True)),
    }
)
FOLDED = re.compile(f"[{''.join(PLAIN)}]")

REASONING = re.compile(r"\s*<(think|thinking)>", re.IGNORECASE)
REASONING_END = re.compile(r"^[^\S\n]*</(?:think|thinking)>[^\S\n]*$", re.IGNORECASE | re.MULTILINE)

APOLOGY = re.compile(
    r"\b(?:i['’]?m (?:very |so |really )?sorry|i apologi[sz]e|as an ai\b"
    r"|i (?:can(?:no|['’])t|won['’]t|will not|must decline|am (?:unable|not able))"
    r"|tut mir leid|ich kann (?:das|dies|dabei|ihnen|dir)|je suis désolée?|je ne peux pas|lo siento|no puedo)"
    r"|抱歉|对不起|對不起|我无法|我不能|申し訳|できません|죄송|عذر|آسف|извините|к сожалению",
    re.IGNORECASE,
)
APOLOGY_WITHIN = 300

EMPHASIS = re.compile(r"[*_`]")
PLACEHOLDER = re.compile(
    r"\W*(?:your\s+(?:\w+\s+){0,2}(?:score|number|rating|value)|score|number)\W*|\s*(?:\.\.\.|…)\s*",
    re.IGNORECASE,
)
OWN_LABEL = re.compile(r"^(?:final\s+)?(?:score|rating)\s*[:=]\s*", re.IGNORECASE)
# A comma before exactly three digits may stand before thousands: "1,000" is no 1, only "0,125" is plain.
NUMBER = re.compile(r"[+\-−]?(?:0*,[0-9]+|[0-9]+(?:\.[0-9]+|,(?![0-9]{3}(?![0-9]))[0-9]+)?|\.[0-9]+)")
OUT_OF = re.compile(
    r"\s*(?:[(\[]\s*)?(?:/|out\s+of\b)\s*(?P<best>[0-9]+(?:[.,][0-9]+)?)(?:\s*[)\]])?", re.IGNORECASE
)
SECOND_NUMBER = re.compile(
    r"(?:\s+|\s*[-–—−~/|,;:&=+>→，、；]+\s*)[+\-−]?[.,]?\d"
    r"|\s*(?:[-–—−~/|,;:.!&=+>→(\[，、；（]+\s*)?"
    r"(?:(?:or|to|and|maybe|perhaps|possibly|rather|wait|no(?=,)|bis|oder|und|ou|à|o|y)\b\W{0,2}){1,3}"
    r"(?:\w+\s+)?\d"
    r"|\s*(?:[,(，（]\s*)?(?:或者?|至|到|か)\s*\d",
    re.IGNORECASE,
)
PERCENT = re.compile(r"\s*%")
COMMENT = re.compile(r"\s*(?:$|\n|[(\[（]|[-–—=:;\"'”。，；！]|[.,!](?:\s|$))")
# How a number breaks off that may go on: "72", "72.", "7-", "85/".
BROKEN_OFF = re.compile(r"[.,]?|\s*[-–—/]\s*")
LIST_ITEM = re.compile(r"\s*[0-9]+[.)]\s+\S")


@dataclass(frozen=True)
class Folded:
    """A text folded for reading, that still knows where each character stood in the raw text."""

    raw: str
    text: str
    origins: Sequence[int] | None = None

    def slice(self, start: int, end: int | None = None) -> str:
        """The raw text of a span of the folded one, with what was folded away inside and around it."""
        end = len(self.text) if end is None else end
        if self.origins is None:
            return self.raw[start:end]
        first = self.origins[start - 1] + 1 if start else 0
        last = self.origins[end] if end < len(self.text) else len(self.raw)
        return self.raw[first:last]


@dataclass(frozen=True)
class Field:
    """A labelled part of a reply: which label, where the label begins, and where its content stands."""

    label: str
    begin: int
    start: int
    end: int


def fold(raw: str) -> Folded:
    """Fold what differs only in looks: zero-width characters, full-width digits and signs, line ends."""
    if not FOLDED.search(raw):
        return Folded(raw, raw)
    kept: list[str] = []
    origins: list[int] = []
    for index, character in enumerate(raw):
        plain = PLAIN.get(character, character)
        if character == "\r" and raw[index + 1 : index + 2] != "\n":
            plain = "\n"
        if plain:
            kept.append(plain)
            origins.append(index)
    return Folded(raw, "".join(kept), origins)


def opened(reply: Reply, mark: re.Pattern[str]) -> Folded:
    """The part of a reply that can hold a verdict: folded, and without the reasoning ahead of it.

    `mark` finds the tags or labels of the format: what closes after one of them is content.

    Raises:
        ReplyError: `refused`, `empty`, `truncated`, or `no_verdict` for a reasoning that never ends.
    """
    if reply.refusal or reply.finish_reason in FILTERED:
        raise ReplyError("refused", reply.text)
    folded = fold(reply.text)
    begin = REASONING.match(folded.text)
    if begin:
        closing = re.compile(f"</{begin[1]}>", re.IGNORECASE).search(folded.text, begin.end())
        if not closing:
            raise unread(reply)
        folded = fold(folded.slice(closing.end()))
    else:
        end = REASONING_END.search(folded.text)
        if end and not mark.search(folded.text, 0, end.start()):
            folded = fold(folded.slice(end.end()))
    if not folded.text.strip():
        raise ReplyError("truncated" if is_cut_off(reply) else "empty", reply.text)
    return folded


def is_cut_off(reply: Reply) -> bool:
    """Whether the endpoint says that the reply ran into its length limit."""
    return reply.finish_reason in CUT_OFF


def unread(reply: Reply, code: str = "no_verdict", message: str = "") -> ReplyError:
    """The error for a reply without a verdict: a cut-off one was truncated, an apology is a refusal."""
    if is_cut_off(reply):
        return ReplyError("truncated", reply.text)
    if code == "no_verdict" and APOLOGY.search(reply.text, 0, APOLOGY_WITHIN):
        return ReplyError("refused", reply.text)
    return ReplyError(code, reply.text, message)


def label_pattern(labels: Mapping[str, Iterable[str]], *, numbered: bool = False) -> re.Pattern[str]:
    """A pattern for labels at the start of a line, whatever Markdown stands around them.

    `labels` maps each label's name to the ways in which it may be written; `fields` tells the names.
    `numbered` labels may count themselves ("Score 2:").
    """
    ways = "|".join(f"(?P<{name}>{'|'.join(map(_spaced, written))})" for name, written in labels.items())
    number = r"(?:[^\S\n]*\#?[0-9]+)?" if numbered else ""
    return re.compile(
        rf"^[^\S\n]*(?:(?:[-+•*]|[0-9]+[.)])[^\S\n]+|[>#][^\S\n]*)*+(?P<_mark>[*_`]*)(?:{ways}){number}"
        r"(?P=_mark)?[^\S\n]*:(?P=_mark)?",
        re.IGNORECASE | re.MULTILINE,
    )


def _spaced(label: str) -> str:
    """A pattern for a label, with spaces for its underscores or the other way round."""
    return "[_ ]".join(map(re.escape, re.split("[_ ]", label)))


def fields(text: str, labels: re.Pattern[str]) -> list[Field]:
    """The labelled parts of a text in their order; a part ends where the next label begins."""
    found = list(labels.finditer(text))
    return [
        Field(match.lastgroup or "", match.start(), match.end(), _end(text, match, after))
        for match, after in zip_longest(found, found[1:])
    ]


def _end(text: str, label: re.Match[str], after: re.Match[str] | None) -> int:
    """Where a label's part ends, without the Markdown that surrounds both: `**Score: 8**`."""
    end = after.start() if after else len(text)
    mark = label["_mark"]
    if mark and not label[0].rstrip(": ").endswith(mark):
        content = text[label.end() : end].rstrip()
        if content.endswith(mark):
            return label.end() + len(content) - len(mark)
    return end


def first_line(text: str) -> str:
    """The first line that is not blank: a number may stand on the line below its label.

    A list that begins there is no number: "1. The response ...".
    """
    own, *below = text.split("\n")
    if own.strip():
        return own
    line = next(filter(str.strip, below), "")
    return "" if LIST_ITEM.match(line) else line


def is_placeholder(place: str) -> bool:
    """Whether a score's place only repeats what the prompt wrote there ("your Score")."""
    return bool(PLACEHOLDER.fullmatch(EMPHASIS.sub(" ", place)))


def ends_in_number(place: str) -> bool:
    """Whether a place breaks off within or right after its number, so that digits may be missing."""
    match = NUMBER.search(place)
    return match is None or bool(BROKEN_OFF.fullmatch(place, match.end()))


def number(place: str, scale: Scale, reply: Reply, whose: str = "") -> float:
    """The number in a score's place: digits, then nothing, a comment, or `/N` with the scale's best N.

    Args:
        place: what stands where the score belongs, folded.
        scale: what the number must lie on.
        reply: the reply it stands in, for the error.
        whose: what the score is of, for the error.

    Raises:
        ReplyError: `not_a_number`, `ambiguous`, `out_of_scale` or `not_integer`.
    """

    def error(code: str) -> ReplyError:
        of = f" of {whose[:80]!r}" if whose else ""
        return ReplyError(
            code, reply.text, f"the score{of} must be one number on {scale}, not {place.strip()[:80]!r}"
        )

    text = OWN_LABEL.sub("", EMPHASIS.sub(" ", place).strip().strip("\"'“”").strip())
    found = NUMBER.match(text)
    if not found:
        raise error("not_a_number")
    top = max(scale.worst, scale.best)
    rest = text[found.end() :]
    out_of = OUT_OF.match(rest)
    if out_of:
        if decimal(out_of["best"]) != top:
            raise error("out_of_scale")
        rest = rest[out_of.end() :]
    if SECOND_NUMBER.match(rest):
        raise error("ambiguous")
    percent = PERCENT.match(rest)
    if percent and (scale.worst, scale.best) == (0, 100):
        rest = rest[percent.end() :]
    if not COMMENT.match(rest):
        raise error("not_a_number")
    return on_scale(decimal(found[0]), scale, error)


def on_scale(value: float, scale: Scale, error: Callable[[str], ReplyError]) -> float:
    """The value, if it lies on the scale; never clamped, never rounded."""
    if isinstance(value, float) and math.isnan(value):
        raise error("not_a_number")
    if not scale.holds(value):
        raise error("out_of_scale")
    if scale.integer and value != int(value):
        raise error("not_integer")
    return float(value) + 0.0  # which makes a plain zero of a negative one


def same_number(place: str, value: float, scale: Scale, reply: Reply) -> bool:
    """Whether another place holds that value too; one that cannot be read does not."""
    try:
        return number(place, scale, reply) == value
    except ReplyError:
        return False


def decimal(digits: str) -> float:
    """The number that digits write, whichever of point and comma stands before the decimals."""
    return float(digits.replace(",", ".").replace("−", "-"))
