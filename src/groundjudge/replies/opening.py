"""The part of a reply that can hold a verdict: finished, folded for reading, and without the reasoning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from groundjudge.errors import ReplyError
from groundjudge.replies.reply import Reply

NATURAL_ENDS = frozenset(
    {
        *(
            "stop",
            "stopped",
            "stop_sequence",
            "stop_token",
            "end",
            "end_turn",
            "end_of_turn",
            "eos",
            "eos_token",
        ),
        *("endoftext", "end_of_text", "complete", "completed", "finish", "finished", "done", "success"),
    }
)
"""Finish reasons of a reply that is whole. Any word that is in none of these sets is `interrupted`."""

CUT_OFF = frozenset(
    {
        *(
            "length",
            "max_tokens",
            "max_output_tokens",
            "max_new_tokens",
            "max_completion_tokens",
            "max_length",
        ),
        *("model_length", "model_context_window_exceeded", "context_length", "token_limit", "limit"),
    }
)
FILTERED = frozenset(
    {
        *("content_filter", "content_filtered", "refusal", "refused", "safety", "prohibited_content"),
        *("blocklist", "blocked", "recitation", "spii", "guardrail_intervened", "error_toxic"),
    }
)

WIDTHS = {0x3000: " ", 0x2212: "-", 0x000D: "\n"} | {
    code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)
}
"""Full-width forms, the sign for minus, and the line end of old systems."""

# Zero-width characters, the marks of writing direction, CRLF, and Markdown's escape: RECALL\_Formula.
INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]|\r(?=\n)|\\\\(?=_)")


def _pair(mark: str) -> str:
    """A pattern for emphasis that no letter and no digit touches from outside: 3*1 is not 31."""
    return rf"(?<![\w{mark}])({mark}{{1,3}})(?![\s{mark}])[^{mark}\n]++(?<!\s)({mark}{{1,3}})(?![\w{mark}])"


EMPHASIS = re.compile("|".join(map(_pair, (r"\*", "_", "`"))))
THINKING = re.compile(r"<(?P<end>/)?think(?:ing)?>", re.IGNORECASE)
BEGIN = re.compile(r"\s*<(think(?:ing)?)>", re.IGNORECASE)
END_ALONE = re.compile(r"^[^\S\n]*</think(?:ing)?>[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
LETTER_OR_DIGIT = re.compile(r"[^\W_]")


@dataclass(frozen=True)
class Folded:
    """A folded text, and where each of its characters stands in the raw reply.

    Attributes:
        raw: the whole reply.
        text: the folded text.
        origins: for each index of `text`, its end included, the index in `raw`.
    """

    raw: str
    text: str
    origins: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """A span of the folded text in the reply."""
        return self.origins[start], self.origins[end]

    def slice(self, start: int, end: int) -> str:
        """The reply's own text at a span of the folded text, without white space around it."""
        return self.raw[self.origins[start] : self.origins[end]].strip()

    def says_something(self, start: int, end: int) -> bool:
        """Whether a letter or a digit stands in a span of the folded text."""
        return bool(LETTER_OR_DIGIT.search(self.text, start, end))


def fold(raw: str) -> Folded:
    """Fold a text: what differs only in appearance becomes equal, and emphasis is removed."""
    marks = (match.span(group) for match in EMPHASIS.finditer(raw) for group in range(1, 7))
    removed = {index for span in chain(marks, _spans(INVISIBLE, raw)) for index in range(*span)}
    kept = [index for index in range(len(raw)) if index not in removed]
    return Folded(raw, "".join(map(raw.__getitem__, kept)).translate(WIDTHS), [*kept, len(raw)])


def opened(reply: Reply, own: re.Pattern[str], *, quotes_are_free: bool = False) -> Folded:
    """The part of a finished reply that can hold a verdict, folded.

    Args:
        reply: the reply of the model.
        own: matches the tags or labels of the format. A `</think>` behind one of them ends no reasoning.
        quotes_are_free: whether tags of reasoning may stand in that part, because the format has strings.

    Raises:
        ReplyError: `refused`, `truncated` or `interrupted` by its finish reason, `empty`, `no_verdict` for
            reasoning that is not closed, or `ambiguous` for the end of a reasoning that never began.
    """
    reason = str(reply.finish_reason or "stop").rpartition(".")[2].casefold().replace("-", "_")
    reason = reason.removeprefix("finish_reason_")
    if reply.refusal or reason in FILTERED:
        raise ReplyError("refused", reply.text)
    if reason not in NATURAL_ENDS:
        raise ReplyError("truncated" if reason in CUT_OFF else "interrupted", reply.text)
    whole = fold(reply.text)
    start = _behind_reasoning(whole.text, own)
    if start is None:
        raise ReplyError("no_verdict", reply.text)
    rest = Folded(whole.raw, whole.text[start:], whole.origins[start:])
    if not rest.text.strip():
        raise ReplyError("empty", reply.text)
    if not quotes_are_free and ends_nothing(rest.text, own):
        raise ReplyError("ambiguous", reply.text)
    return rest


def ends_nothing(text: str, own: re.Pattern[str]) -> bool:
    """Whether a text has the end of a reasoning that never began."""
    tags = (tag for tag in THINKING.finditer(text) if not own.match(tag[0]))
    return any(depth < 0 for depth in accumulate(-1 if tag["end"] else 1 for tag in tags))


def _behind_reasoning(text: str, own: re.Pattern[str]) -> int | None:
    """Where the reasoning at the beginning ends; None if it does not end."""
    start = 0
    while (tag := BEGIN.match(text, start)) and not own.match(tag[0].strip()):
        end = re.compile(rf"</{tag[1]}>", re.IGNORECASE).search(text, tag.end())
        if end is None:
            return None
        start = end.end()
    alone = None if start else END_ALONE.search(text)
    return start if alone is None or own.search(text, 0, alone.start()) else alone.end()


def _spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in pattern.finditer(text))
