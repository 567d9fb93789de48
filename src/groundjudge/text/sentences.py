"""Cutting a text into sentences, in any script, with their places.

A text is cut by its lines first: a list item, a row of a table, a heading and a line of code is one sentence
each. Other lines are prose, which is cut after the marks that end sentences. JSON is cut by its entries.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from groundjudge.text.entries import entry_starts
from groundjudge.text.patterns import compile_when_used

sentencex: Any = import_module("sentencex")  # which is not typed

_LINE = compile_when_used(r"[^\n]*\n|[^\n]+\Z")
_FENCE = compile_when_used(r"^[ \t>]*(?:```+|~~~+)(?P<info>[^`\n]*)$", re.MULTILINE)
_BULLET = r"[-*+–·•‣⁃\u25a0-\u25ff]"  # with the geometric shapes of Unicode
_NUMBER = r"\d{1,3}(?:\.\d{1,3})*\."
# The beginning of a line that is one sentence.
_ITEM_OR_ROW = compile_when_used(
    rf"""
    [ \t>]*+ (?:
        (?P<item> (?:{_BULLET} | {_NUMBER}) [ \t] | \(?(?:\d{{1,3}} | [^\W\d_])[)）] | \d{{1,3}}[．、] | ・)
      | \#{{1,6}}[ \t]  # a heading
      | \|  # a row of a table
    )
    """,
    re.VERBOSE,
)
_CITATION = compile_when_used(r"\[\^?\d{1,3}(?:\s?[,;–-]\s?\^?\d{1,3})*\]|【[^】\n]{1,30}】")
_LETTER_OR_DIGIT = compile_when_used(r"[^\W_]")

# Characters that are searched for the word before a point.
_MAX_WORD = 24
# Letters of a word that may be an abbreviation: looking it up takes longer than everything else.
_MAX_ABBREVIATION = 7
_WORD_AHEAD = compile_when_used(r"[\w.&@:/?='’-]+\Z")
# Pairs of words, which texts share, whose answer is kept.
_MAX_KEPT = 1 << 14
# Letters of a capitalised word that is an abbreviation before a number, in any language: "Abb. 3".
_MAX_BEFORE_NUMBER = 4

# What closes a sentence after its mark. After a space these close a quotation or emphasis only if nothing
# follows them: . "Then
_CLOSING = r"[\"'”’»›)\]）」』】》*_]"
_OPENS_OR_CLOSES = r"[\"'»›*_]"
# The marker of a citation, but not a link: [text](address).
_MARKER = r"(?:\[[^\[\]\n]{1,40}\]|【[^【】\n]{1,40}】|[⁰¹²³⁴-⁹]{1,3})(?!\()"
_MARK = r"[.!?…]"
# What ends a sentence without white space after it, in the scripts that have such marks.
_WIDE_MARK = r"[。！？｡؟۔।॥։።፧။។៕]"
# What may end a sentence of prose, up to where the next one begins. A set of characters comes first: Python
# finds one in a tenth of the time it takes to try every place.
_BOUNDARY = compile_when_used(
    rf"""
    (?P<first> [`.!?…。！？｡؟۔।॥։።፧။។៕])
    (?:
        (?<=`) [^`\n]++`
      | (?<={_MARK}) (?<!{_MARK}{{2}}) (?P<more> {_MARK}*+)
        (?P<closing> (?: {_CLOSING} | [«‹“] | [^\S\n] (?!{_OPENS_OR_CLOSES}[^\W_]) {_CLOSING} )*+ )
        (?: [^\S\n]? {_MARKER} )*+ (?P<space> \s++) (?= [^\w\n]{{0,9}} (?P<next_word> \w{{0,12}}) )
      | (?<={_WIDE_MARK}) {_WIDE_MARK}*+ (?P<wide_closing> {_CLOSING}*+)
        (?: [^\S\n]? {_MARKER} )*+ \s*+
    )
    """,
    re.VERBOSE,
)


class Sentence(NamedTuple):
    """A sentence and where it is: `whole[start:end] == text`, in the document with that index."""

    text: str
    start: int
    end: int
    document: int = 0


def sentences(text: str, document: int = 0) -> list[Sentence]:
    """Return the sentences of a text, which contain all of it except the white space between them.

    Each has a letter or a digit: anything without belongs to the sentence before, and so do the citation
    markers after it, and the lines around code. A text without any is one sentence; a blank text has none.
    """
    plain = without_citations(text)
    if "```" in text or "~~~" in text:  # finding the lines takes a hundred times as long
        plain = _FENCE.sub(_blank, plain)
    # What comes before the first sentence belongs to it.
    sentence_starts: list[int] = [0]
    has_letter = False
    piece_start = 0
    for piece_end in [*(entry_starts(text) or _piece_starts(text)), len(text)]:
        if _LETTER_OR_DIGIT.search(plain, piece_start, piece_end):
            if has_letter:
                sentence_starts.append(piece_start)
            has_letter = True
        piece_start = piece_end
    found_sentences: list[Sentence] = []
    for start, end in pairwise([*sentence_starts, len(text)]):
        sentence = text[start:end].lstrip()
        if sentence:
            sentence_start = end - len(sentence)  # only white space comes before it
            sentence = sentence.rstrip()
            sentence_end = sentence_start + len(sentence)
            found_sentences.append(Sentence(sentence, sentence_start, sentence_end, document))
    return found_sentences


def without_citations(text: str) -> str:
    """Return a text with spaces in place of its citation markers: [1], [2, 3], [^1] and 【1】."""
    if "[" not in text and "【" not in text:  # like most texts: it takes a tenth of the time
        return text
    return _CITATION.sub(_blank, text)


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _piece_starts(text: str) -> list[int]:
    """Return where the pieces of a text begin: lines that are one sentence, and the sentences of prose."""
    # Where each line begins that does not continue the one before, and whether it is prose.
    lines: list[tuple[int, bool]] = []
    is_code = is_item = is_prose = False
    for line in _LINE.finditer(text):
        start = line.start()
        content = line[0].lstrip(" \t>")
        fence = _FENCE.match(text, start)
        # Nothing stands behind the fence that ends code.
        is_fence = fence is not None and (not is_code or not fence["info"].strip())
        beginning = _ITEM_OR_ROW.match(line[0])
        is_one = is_code or is_fence or beginning is not None
        if not is_one and (is_item or is_prose):
            # A line that was wrapped goes on in small letters, or in an item further to the right.
            is_indented = is_item and line[0].startswith(("  ", "\t"))
            if content[:1].islower() or is_indented:
                continue
        # A blank line ends a paragraph, even if the next one begins in small letters.
        is_prose = not is_one and content.strip() != ""
        is_item = beginning is not None and beginning["item"] is not None
        if is_fence:
            is_code = not is_code
        lines.append((start, is_prose))
    starts: list[int] = []
    for (start, is_prose), (end, _) in pairwise([*lines, (len(text), False)]):
        starts.append(start)
        if not is_prose:
            continue
        for boundary in _BOUNDARY.finditer(text, start, end):
            if _ends_sentence(text, boundary):
                starts.append(boundary.end())
    return starts


def _ends_sentence(text: str, boundary: re.Match[str]) -> bool:
    """Whether what `_BOUNDARY` matched ends a sentence.

    The marks of "It ran. We left", "Really? yes" and "走。去" do; those of "see p. 3", "Wait... what" and
    "'Why?' he asked" do not.
    """
    # All at once: one after the other takes several times as long.
    first, more, closing, space, next_word, wide_closing = boundary.groups()
    if first == "`":  # code in a line, all of which was matched: `a. B`
        return False
    start, end = boundary.span()
    if wide_closing is not None:
        # A sentence goes on at once after a quotation: “为什么？”他问, "Why?" he asked.
        goes_on = text[end : end + 1].isalnum() and not text[end - 1].isspace()
        return not (goes_on and wide_closing and first in "！？")
    # The same line goes on in small letters, maybe after a dash. Mostly, the first test is enough.
    goes_on = (
        next_word[:1].islower() and text[end : end + 3].lstrip("—–- ")[:1].islower() and "\n" not in space
    )
    if first == "." and not more:
        before = text[max(0, start - _MAX_WORD) : start]
        # A point that stands apart ends a sentence, as in texts that were split into words.
        return before[-1:].isspace() or not (goes_on or _is_abbreviation(before, next_word))
    # In small letters a sentence goes on after "...", after a quotation ("Why?" he asked) and before a
    # dash (Why? - he asked), but another one begins after a bare "?" or "!".
    is_bare = first + more in {"!", "?", "!?"} and not closing and text[end : end + 1] not in {"—", "–", "-"}
    return is_bare or not goes_on


def _is_abbreviation(text: str, next_word: str) -> bool:
    """Whether a point belongs to the word before it: as in "Dr. Smith" and "Abb. 3", not in "ran. We".

    Args:
        text: what comes before the point, as far as a word may go back.
        next_word: the word after it; "" if there is none.
    """
    word = text.rpartition(" ")[2]
    if len(word) > _MAX_ABBREVIATION and word.isalpha():  # as most are
        return False
    if not word.isalnum():
        word_ahead = _WORD_AHEAD.search(word)
        if word_ahead is None:
            return False
        word = word_ahead[0]
        if "/" in word or "@" in word:  # the end of an address
            return False
    if not next_word:
        return False
    if next_word[0].isdecimal() and len(word) <= _MAX_BEFORE_NUMBER and word.istitle() and word.isalpha():
        return True
    return _is_one_sentence(word, next_word)


@lru_cache(_MAX_KEPT)
def _is_one_sentence(word: str, next_word: str) -> bool:
    """Whether the library that knows abbreviations treats two words with a point between them as one."""
    language = "ru" if "\u0400" <= word[-1] <= "\u04ff" else "en"
    return len(sentencex.segment(language, f"{word}. {next_word}")) == 1
