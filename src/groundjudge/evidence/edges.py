"""Where a quote may begin and end in a text: not inside a number or a word, and not right after a "not"."""

from __future__ import annotations

import re
from functools import cache
from unicodedata import category

from groundjudge.evidence.skeleton import DROPPED, DROPPED_SIGNS

FAR = 48
"""Characters on either side of a place that tell whether it is inside a number or after a negation."""
LONGEST_WORD = 200
"""Characters by which a span is extended at most to make its words whole."""

_SKIPPED_BEFORE = re.compile(rf"[{DROPPED}]{{1,8}}\Z")
_SKIPPED_AFTER = re.compile(rf"[{DROPPED}]{{1,8}}")
UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3021-\u3029\u3041-\u309f\u30a1-\u30ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Scripts that put no spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese."""
_UNSPACED = re.compile(f"[{UNSPACED}]")
_FIRST_UNSPACED = UNSPACED[0]

_BETWEEN_DIGITS = frozenset(".,:：．，/'’٫٬·-\u2010\u2011\u2012\u2013\u2212")
_SIGNS = frozenset("-\u2212")
_PER = frozenset("%‰％°")
_HYPHENS = frozenset("-\u2010\u2011")
_APOSTROPHES = frozenset("'’")
_ELISION = re.compile(
    r"(?:\A|[^\w'’])(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quelqu|all|dell|nell|dall|sull|coll|un|quest)['’]\Z",
    re.IGNORECASE,
)
_WORD_BEFORE = re.compile(r"([^\W\d_]+(?:['’][^\W\d_]+)*|\d)[\s-]*\Z")
_WORD_AFTER = re.compile(r"[\s-]*([^\W\d_]+|\d)")
_CHINESE_NUMERALS = frozenset("〇零一二两兩三四五六七八九十百千万萬亿億")

_GAP = r"[\s*_\"'“”‘’«»„(\[\u00ad\u200b-\u200f]"
_BETWEEN = (
    "of|the|a|an|any|all|every|each|such|other|more|longer|to|be|is|are|was|were|it|that|true|case|"
    "der|die|das|den|dem|des|ein|eine|einen|alle|allen|mehr|wahr|dass|"
    "le|la|les|de|des|du|un|une|tout|tous|toute|toutes|el|los|las|una|uno|todos|todas|"
    "il|lo|gli|i|os|as|o|um|uma|het|een|van"
)
_DENIED_AFTER = re.compile(
    rf"""
      (?: [^\W\d_{UNSPACED}]+ (?:['’][^\W\d_]+)* (?:{_GAP}+(?:{_BETWEEN})\b){{0,4}}
        | [不未没沒無无勿非别][有能会會得可以应應该該要许許被再曾准予]{{0,2}} )
      {_GAP}*
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Negations of languages that `groundjudge.text` does not know: Thai, Vietnamese, Indonesian, Greek.
_DENIED_ELSEWHERE = re.compile(
    r"(?:ไม่|ห้าม|(?<!\w)(?:không|chưa|tidak|bukan|δεν|μην))[ \u00a0*_]*\Z", re.IGNORECASE
)
_DENIES_WHAT_PRECEDES = re.compile(
    rf"""
    {_GAP}*
    (?: (?:nicht|nie|niemals|keineswegs|niet|nooit|not|never|ikke|inte|aldrig|değil|değildir|yok|pas|jamais
        |नहीं|नहि|नहीँ|نیست) (?![\w'’])
        (?!\s+(?:nur|alleen|only|bare|bara|seulement|sadece|allein|just|merely)\b)
      | [まマ]?せん | ない | なかった | 않 | 없 | 못 | 아니 )
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ENDS_CLAUSE = frozenset(".,:;!?。，、：；！？…")


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a span cuts no number and no word in two, and its clause does not deny it."""
    return not (is_cut(text, start) or is_cut(text, end) or is_denied(text, start, end))


def whole_words(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The span extended until it cuts no number and no word in two, None where that goes too far."""
    first, last = max(0, start - LONGEST_WORD), min(len(text), end + LONGEST_WORD)
    while start >= first and is_cut(text, start):
        start -= 1
    while end <= last and is_cut(text, end):
        end += 1
    return (start, end) if start >= first and end <= last else None


def is_cut(text: str, place: int) -> bool:
    """Whether a place lies inside a number or, in scripts with spaces between words, inside a word."""
    if not 0 < place < len(text):
        return False
    first, last = _beside(text, place)
    if first < 0 or last >= len(text):
        return False
    before, after = text[first], text[last]
    if before.isspace() or after.isspace():  # which only a number in several words may hold
        return _may_be_inside_number(text, place) and _is_inside_number(text, place)
    if before.isalnum() and after.isalnum():
        is_one_word = not (_is_unspaced(before) or _is_unspaced(after))
        if is_one_word or (before in _CHINESE_NUMERALS and after in _CHINESE_NUMERALS):
            return is_one_word or _is_inside_number(text, place)
        return _is_between_numerals(before, after) and _is_inside_number(text, place)
    return (
        _is_inside_cluster(before, after)
        or _is_beside_joint(text, first, last)
        or (_may_be_inside_number(text, place) and _is_inside_number(text, place))
    )


def is_denied(text: str, start: int, end: int) -> bool:
    """Whether a span begins right after a negation of its clause, or ends right before one."""
    return _is_denied_before(text, start) or _is_denied_after(text, end)


def _beside(text: str, place: int) -> tuple[int, int]:
    """The offsets of the characters on both sides, without emphasis and invisible characters."""
    first, last = place - 1, place
    if text[first] in DROPPED_SIGNS:
        skipped = _SKIPPED_BEFORE.search(text, max(0, place - 8), place)
        first = skipped.start() - 1 if skipped else first
    if text[last] in DROPPED_SIGNS:
        skipped = _SKIPPED_AFTER.match(text, place)
        last = skipped.end() if skipped else last
    return first, last


def _is_unspaced(sign: str) -> bool:
    return sign >= _FIRST_UNSPACED and bool(_UNSPACED.match(sign))


def _is_between_numerals(before: str, after: str) -> bool:
    """150万, 三0: a digit beside a Chinese numeral."""
    return (before.isdecimal() and after in _CHINESE_NUMERALS) or (
        before in _CHINESE_NUMERALS and after.isdecimal()
    )


def _is_inside_cluster(before: str, after: str) -> bool:
    """Whether the second character is an accent or a vowel sign of the first."""
    return (
        not after.isascii()
        and category(after) in {"Mn", "Mc"}
        and (before.isalnum() or category(before) in {"Mn", "Mc"})
    ) or (
        not before.isascii()
        and category(before) in {"Mn", "Mc"}
        and after.isalnum()
        and not (_is_unspaced(before) or _is_unspaced(after))
    )


def _is_beside_joint(text: str, first: int, last: int) -> bool:
    """Whether a place is at a sign that holds a number or a word together: 19|:00, non-|smoking, 50|%."""
    before, after = text[first], text[last]
    earlier, later = text[first - 1 : first], text[last + 1 : last + 2]
    if after.isdecimal() and (
        (before in _BETWEEN_DIGITS and earlier.isdecimal())
        or (before in _SIGNS and (not earlier or earlier in " \t\n([\u00a0"))
    ):
        return True
    if before.isdecimal() and (after in _PER or (after in _BETWEEN_DIGITS and later.isdecimal())):
        return True
    return _joins_letters(text, before, earlier, after, last) or _joins_letters_on(before, after, later)


def _joins_letters(text: str, before: str, earlier: str, after: str, last: int) -> bool:
    """Whether a hyphen or an apostrophe joins what stands before a place with what begins there."""
    if not (_is_spaced_letter(earlier) and _is_spaced_letter(after)):
        return False
    return before in _HYPHENS or (
        before in _APOSTROPHES and not _ELISION.search(text, max(0, last - 12), last)
    )


def _joins_letters_on(before: str, after: str, later: str) -> bool:
    return (
        (after in _HYPHENS or after in _APOSTROPHES)
        and _is_spaced_letter(before)
        and _is_spaced_letter(later)
    )


def _is_spaced_letter(sign: str) -> bool:
    return sign.isalnum() and not _is_unspaced(sign)


def _may_be_inside_number(text: str, place: int) -> bool:
    """Whether both neighbouring words are digits or number words; it saves reading numbers."""
    after = _WORD_AFTER.match(text, place, place + FAR)
    if after is None or not _is_number_word(after[1]):
        return False
    before = _WORD_BEFORE.search(text, max(0, place - FAR), place)
    return before is not None and (before[1] in {"and", "y", "et", "e"} or _is_number_word(before[1]))


def _is_number_word(word: str) -> bool:
    low = word.casefold()
    return low in _number_words() or low.isdecimal()


@cache
def _number_words() -> frozenset[str]:
    from groundjudge.text.numbers import POWERS, TENS, UNITS  # noqa: PLC0415  imported with the first quote

    return frozenset((*UNITS, *TENS, *POWERS))


def _is_inside_number(text: str, place: int) -> bool:
    from groundjudge.text.numbers import numbers_at  # noqa: PLC0415  few quotes need it

    before, after = _clause_before(text, place), _clause_after(text, place)
    return any(number.start < len(before) < number.end for number in numbers_at(before + after))


def _clause_before(text: str, place: int) -> str:
    """What stands before a place, back to the line's beginning if a sentence begins there."""
    start = max(0, place - FAR)
    before = text[start:place]
    line = before.rfind("\n")
    if line >= 0 and not _goes_on(text, start + line):
        return before[line + 1 :]
    return before[before.rfind("\n", 0, line) + 1 :] if line > 0 else before


def _clause_after(text: str, place: int) -> str:
    after = text[place : place + FAR]
    line = after.find("\n")
    return after if line < 0 or _goes_on(text, place + line) else after[:line]


def _goes_on(text: str, line_break: int) -> bool:
    """Whether a sentence goes on behind a line break: with a small letter, on the very next line."""
    following = text[line_break + 1 : line_break + FAR]
    return (
        "\n" not in following[: len(following) - len(following.lstrip())] and following.lstrip()[:1].islower()
    )


def _is_denied_before(text: str, start: int) -> bool:
    if not start:
        return False
    nearby = text[max(0, start - FAR) : start].rstrip()
    if not nearby or nearby[-1] in _ENDS_CLAUSE:
        return False
    word = nearby.rsplit(None, 1)[-1].lower()
    if word.isascii() and word.isalnum() and not _may_deny(word):
        return False
    before = _clause_before(text, start)
    if _DENIED_ELSEWHERE.search(before):
        return True
    from groundjudge.text.negations import negated_at  # noqa: PLC0415  most quotes are not preceded by a negation

    following = _clause_after(text, start)
    places = [place for place in negated_at(before + following) if place < len(before)]
    return any(_DENIED_AFTER.fullmatch(before, place) for place in places)


def _may_deny(word: str) -> bool:
    return word in _denying_words() or word.endswith(("n't", "n’t"))


@cache
def _denying_words() -> frozenset[str]:
    """Negations, and the words that may stand between one and what it denies."""
    from groundjudge.text.negations import NEGATIONS  # noqa: PLC0415  imported with the first quote

    return NEGATIONS | frozenset(_BETWEEN.split("|"))


def _is_denied_after(text: str, end: int) -> bool:
    if text[max(0, end - FAR) : end].rstrip()[-1:] in _ENDS_CLAUSE:
        return False
    return bool(_DENIES_WHAT_PRECEDES.match(_clause_after(text, end)))
