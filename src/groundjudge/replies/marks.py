"""What a response has beside its sentences, and a copy may have or not: marks of lists, lines of fences.

A mark stands in front of a text: a number with nothing behind it is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from groundjudge.evidence.copied import TracedText
from groundjudge.evidence.normalized import UNSPACED
from groundjudge.replies.format import Span
from groundjudge.text.patterns import compile_when_used

_NUMERALS = "一二三四五六七八九十"
_BLANK = r"[^\S\n]"
# What may stand ahead of a mark, and between it and its text: bullets, signs of headings, emphasis.
_SIGNS = r"(?:[^\w\n+]|_)*+"
_FEW_SIGNS = r"(?:[^\w\n+]|_){0,9}+"
# A mark as it begins a line; the widths of its signs are folded.
_MARK = rf"""(?:
      \d{{1,3}} (?:[.-]\d{{1,3}})*+ (?:\.?[^\W\d_{UNSPACED}])? {_BLANK}? \\? [.:)\]、]++ (?!\d)  # 1. 3a:
    | \d{{1,3}} (?:\.\d{{1,2}})++ (?={_BLANK}+ {_SIGNS} (?:\d++ {_SIGNS})?+ [^\W\d_])              # 1.1 Scope
    | \d{{1,3}} {_BLANK}+ [-–—] (?={_BLANK}+ {_SIGNS} [^\W\d_])                                    # 1 - Scope
    | [^\W\d_{UNSPACED}가-힣] (?:\.?\d{{1,3}})*+ [.)\]]++ (?=[\s*_])                               # a. Q1)
    | [가나다라마바사] [.)]++ (?=[\s*_])
    | (?=[ivx]) x{{0,3}} (?:ix|iv|v?i{{0,3}}) [.)\]]++ (?=[\s*_])
    | [{_NUMERALS}]{{1,3}} [、.)\]]++
    | (?: [^\W\d_{UNSPACED}]{{1,15}} \.? {_BLANK}? \d{{1,3}}
        | [{UNSPACED}]{{1,6}} {_BLANK}? \d{{1,3}} [{UNSPACED}]{{0,2}}
        | (?:第|步骤) [{_NUMERALS}\d]{{1,3}} [{UNSPACED}]{{0,2}} )
      (?: {_BLANK}? : (?!\d) | {_BLANK}+ [-–—] (?=\s) )                                            # Step 1:
    | [o+] (?=\s)                                                                                  # bullets
    )"""
_LIST_MARKS = compile_when_used(
    rf"^{_SIGNS} (?P<mark> {_MARK} (?:{_SIGNS} {_MARK}){{0,2}} ) (?={_SIGNS} [^\W_])",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
# Inside of a line, behind a sign.
_INNER_MARK = compile_when_used(
    rf"(?<=[.!?:;,。(]) {_FEW_SIGNS} (?P<mark> [a-z]\)++ (?=[\s*_]) | [{_NUMERALS}]{{1,3}}、 )"
    r"| (?P<bracket> \([0-9]{1,2}\) [.:]*+ ) (?=[\s*_])",
    re.IGNORECASE | re.VERBOSE,
)
# A number that stands alone on its line, or inside of one, is a mark only if a number before or after it is
# one, too: "How many? 2. Both are old."
_BARE_NUMBER = compile_when_used(
    rf"(?:(?<=[.!?:;,。]) {_FEW_SIGNS} | ^{_SIGNS}) (?P<number>[0-9]{{1,3}}) [.):]++ (?=[\s*_])"
    rf"(?={_SIGNS} \n? {_SIGNS} \w)",
    re.MULTILINE | re.VERBOSE,
)
# A line with such signs behind them, too, is text: ```make all```
_FENCE = compile_when_used(
    r"^[^\w\n`~]*+(?:`{3,}|~{3,})[^\S\n]*+(?P<info>(?:[^\S\n]*+[^\s`]++)*+)[^\S\n]*+$", re.MULTILINE
)
_LABEL_OF_CODE = compile_when_used(r"\{.*+ | \S*+ (?: \s++ (?:\{|\w++=) .*+)?+", re.VERBOSE)
_UNSEEN = compile_when_used(
    r"""
      <!--(?:[^<-]|-(?!->)|<(?!!--))*+-->                                       # a comment
    | !\[[^\[\]\n]*+\](?:\([^()\n]*+\)|\[[^\[\]\n]*+\])?                        # an image
    | ^[^\S\n]*+\[[^\[\]^\n]++\]:[^\S\n]*+<?(?:\w++:/|[/#])\S*+[^\S\n]*+$       # where a link leads
    | ^[^\w\n]++$                                                              # the frame of a table
    """,
    re.MULTILINE | re.VERBOSE,
)


def find_marks(decoded: TracedText, normalized: TracedText) -> Iterator[Span]:
    """Yield where something stands in a response that a copy may have or not.

    Args:
        decoded: the response as `decode_entities` returns it.
        normalized: the same as `without_asides` returns it.
    """
    for start, end in _unseen_spans(decoded.text):
        yield decoded.origins[start], decoded.origins[end]
    for start, end in _list_marks(normalized.text):
        yield normalized.origins[start], normalized.origins[end]


def find_fences(text: str) -> Iterator[re.Match[str]]:
    """Yield the lines between which code stands: one that begins it, one that ends it, and so on.

    Signs with text behind them begin code only where another line ends it: "``` It is free." may be all.
    """
    fences = [*_FENCE.finditer(text)]
    ends = [fence.start() for fence in fences if not fence["info"]]
    last_end = max(ends, default=-1)
    is_inside = False
    for fence in fences:
        if is_inside:
            is_fence = not fence["info"]
        else:
            is_fence = is_label_of_code(fence["info"]) or fence.start() < last_end
        if is_fence:
            yield fence
            is_inside = not is_inside


def is_label_of_code(info: str) -> bool:
    """Whether what stands behind the signs that begin code is a language with its attributes, or nothing."""
    return _LABEL_OF_CODE.fullmatch(info) is not None


def _unseen_spans(text: str) -> Iterator[Span]:
    """Yield the spans of what no reader sees: comments, images, frames of tables, the languages of code."""
    for match in _UNSEEN.finditer(text):
        yield match.span()
    for number, fence in enumerate(find_fences(text)):
        # Every other fence begins code.
        if number % 2 == 0 and is_label_of_code(fence["info"]):
            yield fence.span("info")


def _list_marks(text: str) -> Iterator[Span]:
    """Yield the spans of the marks of lists, such as "1." and "(2)", and of numbers that stand like one."""
    for match in _LIST_MARKS.finditer(text):
        yield match.span("mark")
    for match in _INNER_MARK.finditer(text):
        yield match.span()
    numbers = _numbers_in(_LIST_MARKS.finditer(text))
    bare_numbers = [*_BARE_NUMBER.finditer(text)]
    for match in bare_numbers:
        numbers.add(int(match["number"]))
    for match in bare_numbers:
        number = int(match["number"])
        if number - 1 in numbers or number + 1 in numbers:
            yield match.span("number")


def _numbers_in(marks: Iterable[re.Match[str]]) -> set[int]:
    """Return the numbers that marks of lists begin with."""
    numbers: set[int] = set()
    for match in marks:
        digits = re.match(r"\d{1,3}", match["mark"])
        if digits is not None:
            numbers.add(int(digits[0]))
    return numbers
