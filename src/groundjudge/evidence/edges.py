"""Where a quote may begin and end in a text: not inside a number or a word, and not right after a "not"."""

from __future__ import annotations

import re

from groundjudge.evidence.normalized import UNSPACED, WORD, plain

# Characters on either side of a place that tell whether it is inside a number or after a negation.
FAR = 48
# Signs that end a clause.
FINAL = ".,;:!?…。，；：！？、"

_BETWEEN_CLAUSES = re.compile(rf"(?<=[{FINAL}]\s)|(?<=[{FINAL}])(?=\s)|(?=[{FINAL}](?:\s|\Z))")
_LETTER = rf"[^\W_{UNSPACED}]"
_HYPHEN = re.compile(rf"(?<={_LETTER})[-\u2010\u2011](?={_LETTER})")
_HYPHEN_OR_APOSTROPHE = re.compile(rf"(?<={_LETTER})[-\u2010\u2011'’](?={_LETTER})")
_NUMERAL = (
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen"
    r"|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|(?:m|b|tr)illion)\b"
)
_NUMBER_OF_WORDS = re.compile(
    rf"(?:\d|{_NUMERAL})(?:(?: and)?[ -]+{_NUMERAL})+|{_NUMERAL}[ -]+\d", re.IGNORECASE
)
# What may stand between a negation and the words that it denies; a line may break before a small letter.
_GAP = r"(?:[^\w\n.,:;!?…。，、；：！？()（）]|\n(?=(?-i:[a-zß-öø-ÿа-яё])))"
_BETWEEN = (
    "of|the|a|an|any|all|be|is|are|was|were|it|that|true|der|die|das|dem|den|les?|la|de|du|des|el|los|las"
)
# "only" says that the rest is denied: who quotes what follows it says more than the document.
_NEGATION = (
    r"(?:(?<![\w'’])(?:not|no|none|never|neither|nor|without|cannot|(?<!not\ )only"
    "|nicht|kein(?:e[nmrs]?)?|nie|niemals|ohne|weder|niet|geen|nooit|zonder|pas|jamais|aucune?|sans|rien"
    "|nunca|jamás|sin|ningún|ninguna?|nadie|não|sem|nem|nenhuma?|non|mai|senza|nessuna?|inte|ikke|ingen|utan"
    "|не|нет|ни|без|нельзя|لا|لم|لن|ليس|ليست|غير|بدون|לא|אין|không|chưa|tidak|bukan|δεν|μην)|n['’]t)"
)
_DENIES = re.compile(
    rf"(?:{_NEGATION}(?:{_GAP}+(?:{_BETWEEN})\b){{0,4}}{_GAP}"
    rf"|(?:[不未没沒無无勿非别][有能会會得可以应應该該要许許被再曾准予]{{0,2}}|ไม่|ห้าม)){_GAP}*[\s\S]\Z",
    re.IGNORECASE,
)
_DENIED = re.compile(
    rf"""
    {_GAP}*
    (?: (?:not|never|nicht|nie|niemals|niet|nooit|inte|ikke|pas|jamais|değil|yok|नहीं|नहीँ|نیست) (?![\w'’])
        (?!\s+(?:only|nur|alleen|bara|seulement|just|merely)\b)
      | ませ?ん | ない | なかった | 않 | 없 | 못 | 아니 )
    """,
    re.VERBOSE | re.IGNORECASE,
)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a span cuts no number and no word in two, and its clause does not deny it."""
    return not (_is_cut(text, start) or _is_cut(text, end) or _is_denied(text, start, end))


def begins_clause(text: str, start: int) -> bool:
    """Whether a clause begins at a place."""
    before = text[max(0, start - FAR) : start].rstrip(" \t*_#>-\"'“„«‘「『")
    return not before or before[-1] in f"{FINAL}()（）—–\n"


def ends_clause(text: str, end: int) -> bool:
    """Whether a clause ends at a place."""
    after = text[end : end + FAR].lstrip(" \t*_\"'”“»’」』")
    return not after or after[0] in f"{FINAL}()（）—–\n"


def _is_cut(text: str, place: int) -> bool:
    if not 0 < place < len(text):
        return False
    if _BETWEEN_CLAUSES.match(text, place):
        return False
    if _HYPHEN.match(text, place - 1) or _HYPHEN_OR_APOSTROPHE.match(text, place):
        return True
    return _holds(WORD, text, place, 8) or _holds(_NUMBER_OF_WORDS, text, place, FAR)


def _holds(pattern: str | re.Pattern[str], text: str, place: int, far: int) -> bool:
    """Whether a place is inside of what a pattern matches nearby; parts of a word are matched, too."""
    first = max(0, place - far)
    nearby = plain(text[first : place + far])
    return any(held.start() < place - first < held.end() for held in re.finditer(pattern, nearby))


def _is_denied(text: str, start: int, end: int) -> bool:
    """Whether a span begins right after a negation of its clause, or ends right before one."""
    before, last = text[max(0, start - FAR) : start].rstrip(), text[max(start, end - FAR) : end].rstrip()[-1:]
    if before and before[-1] not in FINAL and _DENIES.search(text[max(0, start - FAR) : start + 1]):
        return True
    return last not in FINAL and bool(_DENIED.match(text[end : end + FAR]))
