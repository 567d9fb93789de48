"""The part of a reply that can hold a verdict: finished, folded for reading, and without the reasoning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from groundjudge.errors import ReplyError
from groundjudge.replies.reply import Reply

# What finish reasons mean: "" for a natural end. Any word that is not here is `interrupted`.
FINISH = {
    "": "(stop|eos)(_token)?|stop_sequence|end(_turn|oftext|_of_text)?|done|completed?|finish(ed)?|success",
    "truncated": (
        "(model_|max_)?length|max_(output_|new_)?tokens|model_context_window_exceeded|(token_)?limit"
    ),
    "refused": (
        "content_filter(ed)?|refus(al|ed)|(image_)?safety|block(list|ed)|prohibited_content|recitation|spii"
        "|guardrail_intervened|error_toxic"
    ),
}
# Full-width forms, the sign for minus, and the line end of old systems.
WIDTHS = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | str.maketrans("\u3000−\r", " -\n")
# Zero-width characters, the marks of writing direction, CRLF, and Markdown's escape: RECALL\_Formula.
# It begins with one set of characters, as the next one does: so most places are left out at once.
INVISIBLE = re.compile(
    "[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\r\\\\]"
    r"(?:(?<![\r\\])|(?<=\r)(?=\n)|(?<=\\)(?=_))"
)
# Emphasis that no letter and no digit touches from outside: 3*1 is not 31.
EMPHASIS = re.compile(
    r"(?P<begin>([*_`])(?<!\w\2)(?<!\2\2)\2{0,2})(?!\s|\2)(?:(?!\2)[^\n])++(?<!\s)(?P<end>\2{1,3})(?!\w|\2)"
)
# What every tag of reasoning has; looking for it first saves time.
THINK = re.compile(r"</?think", re.IGNORECASE)
# Both tags in turn, or the end of a reasoning alone.
THINKING = re.compile(
    r"<think(?:ing)?>(?:[^<]++|<(?!/?think))*+</think(?:ing)?>|(?P<line>^[^\S\n]*+)?(?P<end></think(?:ing)?>)",
    re.IGNORECASE | re.MULTILINE,
)
REASONING = re.compile(r"\s*<(think(?:ing)?)>(?:[^<]++|<(?!/\1>))*+(?:</\1>|(?P<open>\Z))", re.IGNORECASE)
END_ALONE = re.compile(r"^[^\S\n]*</think(?:ing)?>[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
# Matches nowhere.
NOTHING = re.compile(r"(?!)")
LETTER_OR_DIGIT = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Folded:
    """A folded text, and where each of its characters stands in the raw reply.

    Attributes:
        raw: the whole reply.
        text: the folded text.
        origins: for each index of `text`, its end included, the index in `raw`.
        start: where the reasoning ends.
    """

    raw: str
    text: str
    origins: Sequence[int]
    start: int = 0

    def slice(self, start: int, end: int) -> str:
        """The reply's own text at a span of the folded text, without white space around it.

        Emphasis at its ends is kept if it belongs to the span: not that of `**Score: 8**`.
        """
        if start >= end:
            return ""
        first, last = self.origins[start], self.origins[end - 1] + 1
        text, after = self.raw[first:last], self.raw[last : self.origins[end]]
        before = self.raw[self.origins[start - 1] + 1 if start else 0 : first]
        return f"{before if before in text else ''}{text}{after if after in text else ''}".strip()


def fold(raw: str) -> Folded:
    """Fold a text: what differs only in appearance becomes equal, and emphasis is removed."""
    spans = [match.span() for match in INVISIBLE.finditer(raw)]
    spans += [match.span(end) for match in EMPHASIS.finditer(raw) for end in ("begin", "end")]
    if not spans:  # as nearly always, and it saves a step for each character
        return Folded(raw, raw.translate(WIDTHS), range(len(raw) + 1))
    removed = {index for span in spans for index in range(*span)}
    kept = [index for index in range(len(raw)) if index not in removed]
    return Folded(raw, "".join(map(raw.__getitem__, kept)).translate(WIDTHS), [*kept, len(raw)])


def open_reply(reply: Reply, own: re.Pattern[str] = NOTHING, *, has_strings: bool = False) -> Folded:
    """A finished reply, folded, with blanks in the place of the reasoning, which can hold no verdict.

    Args:
        reply: the reply of the model.
        own: matches the tags or labels of the format. A `</think>` behind one of them ends no reasoning.
        has_strings: whether the format has strings, in which the tags of reasoning may stand.

    Raises:
        ReplyError: `refused`, `truncated` or `interrupted` by its finish reason, `empty`, `no_verdict` for
            reasoning that is not closed, or `ambiguous` for the end of a reasoning that never began.
    """
    word = str(reply.finish_reason or "stop").rpartition(".")[2].casefold().replace("-", "_")
    word = word.removeprefix("finish_reason_")
    unfinished = next((code for code, words in FINISH.items() if re.fullmatch(words, word)), "interrupted")
    if reply.refusal or unfinished:
        raise ReplyError("refused" if reply.refusal else unfinished, reply.text)
    found = fold(reply.text)
    if THINK.search(found.text):
        found = _without_reasoning(found, own)
        if not has_strings and ends_nothing(found.text, own):
            raise ReplyError("ambiguous", reply.text)
    if not found.text.strip():
        raise ReplyError("empty", reply.text)
    return found


def ends_nothing(text: str, own: re.Pattern[str]) -> bool:
    """Whether a text has the end of a reasoning that never began, not quoted in a line of the format."""
    first = own.search(text)
    ends = (tag for tag in THINKING.finditer(text) if tag["end"] and not own.match(tag[0]))
    return any(tag["line"] is not None or not first or tag.start() < first.start() for tag in ends)


def _without_reasoning(found: Folded, own: re.Pattern[str]) -> Folded:
    """The same with blanks in the place of the reasoning at its beginning."""
    start, text = 0, found.text
    while (block := REASONING.match(text, start)) and not own.match(block[0].lstrip()):
        if block["open"] is not None:
            raise ReplyError("no_verdict", found.raw)
        start = block.end()
    alone = None if start else END_ALONE.search(text)
    if alone and not own.search(text, 0, alone.start()):
        start = alone.end()
    return replace(found, text=" " * start + text[start:], start=start)
