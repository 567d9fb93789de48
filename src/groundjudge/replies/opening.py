"""The part of a reply that can contain a verdict: finished, folded for reading, without the reasoning."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from groundjudge.errors import ReplyError
from groundjudge.evidence.origins import Origins, replaced
from groundjudge.replies.reply import Reply
from groundjudge.text.patterns import compile_when_used

# What finish reasons mean: "" for a natural end. Any other word is `interrupted`.
FINISH = {
    "": "(stop|eos)(_token)?|stop_sequence|end(_turn|oftext|_of_text)?|done|completed?|finish(ed)?|success",
    "truncated": (
        "(model_|max_)?length|max_(output_|new_)?tokens|model_context_window_exceeded|(token_)?limit|incomplete"
    ),
    "refused": (
        "content_filter(ed)?|refus(al|ed)|(image_)?safety|block(list|ed)|prohibited_content|recitation|spii"
        "|guardrail_intervened|error_toxic"
    ),
}
# Full-width forms, the minus sign, and the line end of old systems. A full-width comma stays as it is,
# because it is not a decimal comma: 3，4 is not 3.4.
WIDTHS = {code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)} | str.maketrans("\u3000−\r", " -\n")
del WIDTHS[ord("，")]
# Zero-width characters, the marks of writing direction, CRLF, and Markdown's escape: RECALL\_Formula.
# It begins with one set of characters, like the next one, so that most positions are skipped at once.
INVISIBLE = compile_when_used(
    "[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff\r\\\\]"
    r"(?:(?<![\r\\])|(?<=\r)(?=\n)|(?<=\\)(?=_))"
)
# Emphasis with no letter or digit next to it on the outside: 3*1 is not 31. It begins and ends with the same
# mark and in one element: in *so*</S1><S2>A*</S2> the last asterisk belongs to the grade.
EMPHASIS = compile_when_used(
    r"(?P<begin>([*_`])(?<!\w\2)(?<!\2\2)\2{0,2})(?!\s|\2)(?:(?!\2)[^\n<])++(?<!\s)(?P<end>(?P=begin))(?!\w|\2)"
)
# Both tags in turn, or just the end of the reasoning.
THINKING = compile_when_used(
    r"<think(?:ing)?(?:\s[^<>]*)?>(?:[^<]++|<(?!/?think))*+</think(?:ing)?>"
    r"|(?P<line>^[^\S\n]*+)?(?P<end></think(?:ing)?>)",
    re.IGNORECASE | re.MULTILINE,
)
REASONING = compile_when_used(
    r"\s*<(think(?:ing)?)(?:\s[^<>]*)?>(?:[^<]++|<(?!/\1>))*+(?:</\1>|(?P<open>\Z))", re.IGNORECASE
)
# What the names of tags for reasoning have in common.
_THINKING_WORD = "(?:think|thought|reason|reflect|analy[sz]|scratchpad|monologue|draft)"
# How reasoning and comments begin and end: while one is open, there is no verdict. The tags have many names,
# each of which contains such a word: <seed:think>, <|START_THINKING|>, <inner_thoughts>, ◁think▷.
ASIDE = compile_when_used(
    rf"(?P<tag>[<◁][|｜]?(?P<tag_end>/|end_(?:of_)?)?(?=[\w:.-]{{0,40}}?{_THINKING_WORD})[\w:.-]{{1,60}}+"
    r"(?:\s[^<>◁▷\n]*+)?[|｜]?[>▷])"
    r"|(?P<mistral>\[(?P<mistral_end>/)?(?-i:THINK)\])"  # [Reasoning] may be a heading
    r"|(?P<gemma>(?-i:<unused94>|(?P<gemma_end><unused95>)))"
    r"|(?P<channel>(?-i:<\|channel\|>(?!\s*final)|(?P<channel_end><\|end\|>|<\|channel\|>\s*final)))"
    r"|(?P<comment><!--|(?P<comment_end>-->))",
    re.IGNORECASE,
)
# A tag with any name at the beginning of a reply.
FIRST_TAG = compile_when_used(r"\s*+<(?P<name>[^\W\d_](?:[^\W\d]|[:.-]){0,60}+)(?:\s[^<>]*+)?(?<!/)>")
# HTML does not require these to end, chat template tokens never do, and </answer> may be the stop sequence.
NEVER_CLOSED = compile_when_used(
    r"br|hr|img|p|li|s|[bes]o[sp]|(?:start|end|begin)_of_\w+"
    r"|(?:final[_-]?)?(?:answer|evaluation|json|output|response|result|verdict)",
    re.IGNORECASE,
)
# The marks that begin and end quotations, in any language, and the one around text that is struck out.
QUOTATION_MARKS = tuple("\"'´‘’‚‛“”„‟«»‹›「」『』《》〈〉〝〞〟❛❜❝❞﹁﹂﹃﹄~")
# What ends a turn in the templates of chat models, for servers that leave it in the reply.
ENDS_OF_TURN = (
    *("<|im_end|>", "</s>", "<eos>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|end|>", "<|return|>"),
    *("<end_of_turn>", "<|end_of_turn|>", "<|END_OF_TURN_TOKEN|>", "<|end_of_text|>", "<|endoftext|>"),
    "<｜end▁of▁sentence｜>",
)
END_ALONE = compile_when_used(r"^[^\S\n]*</think(?:ing)?>[^\S\n]*$", re.IGNORECASE | re.MULTILINE)
# Matches nowhere.
NOTHING = compile_when_used(r"(?!)")
LETTER_OR_DIGIT = compile_when_used(r"[^\W_]")


@dataclass(frozen=True)
class FoldedText:
    """A folded text, and where each of its characters is in the raw reply.

    Attributes:
        raw: the whole reply.
        text: the folded text.
        origins: for each index of `text`, including its end, the index in `raw`.
        start: where the reasoning ends.
    """

    raw: str
    text: str
    origins: Origins
    start: int = 0

    def slice(self, start: int, end: int) -> str:
        """Return the original text at a span of the folded text, without white space around it.

        Emphasis at its ends is kept if it belongs to the span, unlike that of `**Score: 8**`.
        """
        if start >= end:
            return ""
        first = self.origins[start]
        last = self.origins[end - 1] + 1
        text = self.raw[first:last]
        # What was folded away immediately before and after the span.
        before = self.raw[self.origins[start - 1] + 1 if start else 0 : first]
        after = self.raw[last : self.origins[end]]
        # Marks that occur in the span have their counterpart in it.
        if before not in text:
            before = ""
        if after not in text:
            after = ""
        return f"{before}{text}{after}".strip()


def fold(raw: str) -> FoldedText:
    """Fold a text: what differs only in appearance becomes equal, and emphasis is removed.

    "**Score：** 8" becomes "Score: 8". For each remaining character, its index in the raw text is known.
    """
    removed = [(*match.span(), "") for match in INVISIBLE.finditer(raw)]
    for emphasis in EMPHASIS.finditer(raw):
        removed += ((*emphasis.span("begin"), ""), (*emphasis.span("end"), ""))
    text, origins = replaced(raw, sorted(removed))
    return FoldedText(raw, text.translate(WIDTHS), origins)


def open_reply(reply: Reply, marker: re.Pattern[str] = NOTHING, *, in_strings: bool = False) -> FoldedText:
    """Return a finished reply, folded, with blanks in place of the reasoning, which contains no verdict.

    Args:
        reply: the model's reply.
        marker: matches the tags or labels of the format. A `</think>` after one of them ends no reasoning.
        in_strings: whether the format has strings, which may contain reasoning tags, and which folding would
            change: then its text is returned unfolded, without the reasoning.

    Raises:
        ReplyError: `refused`, `truncated` or `interrupted` by its finish reason, `empty`, `no_verdict` for
            reasoning that is not closed, or `ambiguous` for the end of reasoning that never began, and for a
            reply that is quoted as a whole.
    """
    if reply.refusal:
        raise ReplyError("refused", reply.text)
    code = _finish_code(reply.finish_reason)
    if code:
        raise ReplyError(code, reply.text)
    folded = replace(fold(_cut_end_of_turn(reply.text)), raw=reply.text)
    if "think" in folded.text.casefold():  # like every reasoning tag that is cut
        folded = _blank_reasoning(folded, marker)
        if not in_strings and has_stray_end(folded.text, marker):
            raise ReplyError("ambiguous", reply.text)
    text = folded.text.strip()
    if not text:
        raise ReplyError("empty", reply.text)
    if _begins_with_open_tag(folded.text, marker):
        raise ReplyError("no_verdict", reply.text)
    if _is_quoted_whole(text, marker):
        raise ReplyError("ambiguous", reply.text)
    if in_strings:
        start = folded.origins[folded.start]
        return FoldedText(reply.text, " " * start + reply.text[start:], Origins(), start)
    return folded


def _finish_code(finish_reason: str | None) -> str:
    """Return the code for why a model stopped; "" for a natural end, or if the reason is not given."""
    if not finish_reason:
        return ""
    # Clients write `FinishReason.STOP`, `finish_reason_stop` and `max-tokens`.
    word = finish_reason.rpartition(".")[2].casefold().replace("-", "_").removeprefix("finish_reason_")
    for code, words in FINISH.items():
        if re.fullmatch(words, word):
            return code
    return "interrupted"


def _cut_end_of_turn(text: str) -> str:
    """Return a text without the chat template tokens, and the white space, at its very end."""
    end = len(text.rstrip())
    while text.endswith(ENDS_OF_TURN, 0, end):
        token = next(token for token in ENDS_OF_TURN if text.endswith(token, 0, end))
        end = len(text[: end - len(token)].rstrip())
    return text[:end]


def has_open_aside(text: str) -> bool:
    """Whether reasoning or a comment is open at the end of a text, so that no verdict can be there."""
    if not any(character in text for character in "<◁["):  # as nearly always
        return False
    depths: dict[str, int] = {}
    for tag in ASIDE.finditer(text):
        kind = str(tag.lastgroup)
        depth = depths.get(kind, 0)
        depths[kind] = depth + 1 if tag[f"{kind}_end"] is None else max(0, depth - 1)
    return any(depths.values())


def _begins_with_open_tag(text: str, marker: re.Pattern[str]) -> bool:
    """Whether a text begins with a tag that is never closed: all of it may be thoughts, under any name."""
    tag = FIRST_TAG.match(text)
    if tag is None or NEVER_CLOSED.fullmatch(tag["name"]):
        return False
    if marker.match(text, tag.start("name") - 1):  # a tag of the format, which has its own rule
        return False
    return re.search(rf"</{re.escape(tag['name'])}\s*>", text, re.IGNORECASE) is None


def is_quoted(text: str, start: int, end: int) -> bool:
    """Whether a span of a text is only quoted or struck out: by a mark right before it, or one on each side.

    If there is white space between, a single mark before it may be the end of another quotation.
    """
    if text.endswith(QUOTATION_MARKS, 0, start):
        return True
    before = text[:start].rstrip()
    after = text[end:].lstrip()
    return before.endswith(QUOTATION_MARKS) and after.startswith(QUOTATION_MARKS)


def _is_quoted_whole(text: str, marker: re.Pattern[str]) -> bool:
    """Whether a text with a verdict begins and ends with a quotation mark: the judge may only quote it.

    A verdict without any marks may itself be in quotation marks: "Yes".
    """
    if not text.startswith(QUOTATION_MARKS) or not text.endswith(QUOTATION_MARKS):
        return False
    return marker.search(text.strip("".join(QUOTATION_MARKS)).strip()) is not None


def has_stray_end(text: str, marker: re.Pattern[str]) -> bool:
    """Whether a text has the end of reasoning that never began, except within a line after a marker."""
    first_marker = marker.search(text)
    for tag in THINKING.finditer(text):
        if not tag["end"] or marker.match(tag[0]):
            continue
        is_at_line_start = tag["line"] is not None
        if is_at_line_start or first_marker is None or tag.start() < first_marker.start():
            return True
    return False


def _blank_reasoning(folded: FoldedText, marker: re.Pattern[str]) -> FoldedText:
    """Return a text with blanks in place of the reasoning at its beginning."""
    text, start = folded.text, 0
    block = REASONING.match(text)
    while block is not None and not marker.match(block[0].lstrip()):
        if block["open"] is not None:
            raise ReplyError("no_verdict", folded.raw)
        start = block.end()
        block = REASONING.match(text, start)
    if start == 0:
        # The tag that begins the reasoning may be missing; then the closing tag must be alone on its line.
        end_alone = END_ALONE.search(text)
        if end_alone is not None and not marker.search(text, 0, end_alone.start()):
            start = end_alone.end()
    return replace(folded, text=" " * start + text[start:], start=start)
