"""The part of a reply that can hold a verdict, and the error when it holds none."""

from __future__ import annotations

import re

from groundjudge.errors import ReplyError
from groundjudge.replies.folded import Folded, fold
from groundjudge.replies.reply import Reply

# The finish reasons of OpenAI, Anthropic, Gemini, Mistral and Bedrock.
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

_REASONING = (
    "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis|inner_monologue|seed:think"
)
REASONING = re.compile(rf"\s*<({_REASONING})>", re.IGNORECASE)
REASONING_END = re.compile(rf"^[^\S\n]*</(?:{_REASONING})>[^\S\n]*$", re.IGNORECASE | re.MULTILINE)

APOLOGY = re.compile(
    r"\b(?:i['’]?m (?:very |so |really )?sorry|i apologi[sz]e|as an ai\b"
    r"|i (?:can(?:no|['’])t|won['’]t|will not|must decline|am (?:unable|not able))"
    r"|tut mir leid|ich kann (?:das|dies|dabei|ihnen|dir)|je suis désolée?|je ne peux pas|lo siento|no puedo)"
    r"|desculpe|lamento|não posso|maaf|saya tidak (?:bisa|dapat)|mi dispiace|non posso|üzgünüm|xin lỗi"
    r"|क्षमा|माफ़ करें|मैं नहीं कर|দুঃখিত|আমি পারব না|معذرت|میں نہیں کر|لا أستطيع|لا يمكنني"
    r"|抱歉|对不起|對不起|我无法|我不能|申し訳|できません|죄송|عذر|آسف|извините|к сожалению",
    re.IGNORECASE,
)
SAYS_NOTHING = ("no_verdict", "not_a_number", "unknown_label")
"""The codes of replies that may be refusals."""

APOLOGY_WITHIN = 300
"""The number of characters at the start of a reply in which an apology counts as a refusal."""


def opened(reply: Reply, mark: re.Pattern[str]) -> Folded:
    """The part of a reply that can hold a verdict: folded, and without the reasoning before it.

    Args:
        reply: the reply of the model.
        mark: matches the tags or labels of the format. A closing `</think>` after one of them is content.

    Raises:
        ReplyError: `refused`, `empty`, `truncated`, or `no_verdict` for reasoning that is not closed.
    """
    if reply.refusal or reply.finish_reason in FILTERED:
        raise ReplyError("refused", reply.text)
    folded = _without_reasoning(fold(reply.text), mark)
    if folded is None:
        raise unread(reply)
    if not folded.text.strip():
        raise ReplyError("truncated" if is_cut_off(reply) else "empty", reply.text)
    return folded


def _without_reasoning(folded: Folded, mark: re.Pattern[str]) -> Folded | None:
    """The text after the reasoning; None if the reasoning is not closed."""
    begin = REASONING.match(folded.text)
    if begin and not mark.match(folded.text, begin.start(1) - 1):  # unless the tag is the format's own
        closing = re.compile(f"</{begin[1]}>", re.IGNORECASE).search(folded.text, begin.end())
        return _after(folded, closing.end()) if closing else None
    end = REASONING_END.search(folded.text)
    if end and not mark.search(folded.text, 0, end.start()):
        return _after(folded, end.end())
    return folded


def _after(folded: Folded, index: int) -> Folded:
    return fold(folded.slice(index), folded.span(index)[0])


def is_cut_off(reply: Reply) -> bool:
    """Whether the reply reached its length limit, by its finish reason."""
    return reply.finish_reason in CUT_OFF


def unread(reply: Reply, code: str = "no_verdict", message: str = "") -> ReplyError:
    """The error for a reply without a verdict: `truncated` if cut off, `refused` if an apology, or `code`."""
    if is_cut_off(reply):
        return ReplyError("truncated", reply.text)
    if code in SAYS_NOTHING and APOLOGY.search(reply.text, 0, APOLOGY_WITHIN):
        return ReplyError("refused", reply.text)
    return ReplyError(code, reply.text, message)
