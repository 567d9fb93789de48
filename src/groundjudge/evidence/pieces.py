"""Several quotes in one: with dots between them, listed, joined by a word, or with marks of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundjudge.evidence.skeleton import MARKS

MOST_PIECES = 300
"""Pieces of one quote that are looked up; what follows them counts as not found."""

_ELLIPSIS = r"[\[(（]?(?:\.{3,}|…+)[\])）]?"
_JOIN = "and also|and|or|und|et|y|e|en|и|و|和|及|以及|与|與|と"
_OPENING = "\"'“«„‘‹「『"
_CLOSING = "\"'”»“’›」』"
_JOINED = rf"[.,。，]?\s*+(?:[,;；、，+&/|—–-]|\b(?:{_JOIN})\b|[和及与與と])\s*+"
_QUOTED = rf"(?<=[{_CLOSING}])(?:{_JOINED}|\s++)(?=[{_OPENING}])"
_NAME = (
    r"(?:(?:from|in|see|per|aus|siehe|voir|véase)\s+)?"
    r"(?:documents?|docs?\.?|sources?|context|passages?|dokumente?|quellen?|documentos?|fuentes?|documenti?|fonti?"
    r"|документ|источник|文档|文件|来源|資料|文書|출처|문서)"
)
_NUMBER = r"\s*(?:\#|no\.?\s?|nr\.?\s?|n°\s?)?\[?[0-9]{1,4}\]?"
_NUMBERED = rf"{_NAME}{_NUMBER}(?:\s*(?:,|&|and|und|et|y)\s*(?:{_NAME})?{_NUMBER})*"
_NUMBERS = r"(?:[0-9]{1,3}(?:\s*[,;–-]\s*[0-9]{1,3})*)"
# [2], [1, 2], 【1】, (Document 2), [Document 1, Document 3]
_BRACKETED = rf"(?:[\[【]\s*{_NUMBERS}(?:†[^\]】]{{0,40}})?\s*[\]】]|[\[(（【]\s*{_NUMBERED}\s*[\])）】])"
# Document 1: ...
_BEGINNING = r"(?:(?<=\n)|(?<=[.!?。！？\"”»」]\s)|(?<=[.!?。！？])|\A)(?:[*\s•-]|[0-9]{1,3}[.)]\s){0,64}+"
_LABEL = rf"{_BEGINNING}{_NUMBERED}[*\s]*+(?:[:：]|\s[-–—])[*\s]*"
_SEPARATOR = re.compile(
    rf"{_ELLIPSIS}|{_QUOTED}|\n|(?:{_BRACKETED})+\s*[:：]?|{_LABEL}|(?<=[.!?。！？\"”»」])\s*[—–-]\s*{_NUMBERED}(?=\s*\Z)",
    re.IGNORECASE,
)
_MAY_SEPARATE = re.compile(rf"[0-9\n…{_CLOSING}]|\.{{3}}")
"""What every separator holds one of; looking for it saves time."""
_LEAD = re.compile(
    rf"\A[\s*]*(?:[-*•·–—]|[0-9]{{1,3}}[.)](?=\s))?\s*(?:{_NUMBERED}[*\s]*(?:[:：]|\s[-–—]|\s*[,])[*\s]*)?",
    re.IGNORECASE,
)
_EDGE = f" \t\r\n,;；、，+&|/*{MARKS}"
_BULLET = re.compile(
    r"\A\s*(?:(?:[-*•]|[0-9]{1,3}[.)])\s+)?(?:[\[(]?(?:document|doc|source)\s+[0-9]+[\])]?\s*[:：])?",
    re.IGNORECASE,
)
JOINT = re.compile(
    r"(?<!\s)(?:\s*+(?:[;；]|——|—)\s*|\s++[-–/|+&]\s+|[.。]?\s++(?:and|und|et|y|e|и|و|en)\s+|\s++(?=\w))|[,，、]\s*",
    re.IGNORECASE,
)
"""Where two quotes may be joined without marks around them."""
STRONG = re.compile(r"[;；—|/+&]|\s[-–]\s")
"""A joint that no sentence has by itself."""


def without_bullet(quote: str) -> str:
    """A quote without the bullet of a list, or the number of a document, before it."""
    return _BULLET.sub("", quote, count=1)


def pieces(quote: str) -> Iterator[str]:
    """The quotes that are listed, marked or joined by an ellipsis, without bullets and marks."""
    reached = 0
    for separator in _SEPARATOR.finditer(quote) if _MAY_SEPARATE.search(quote) else ():
        yield from _piece(quote[reached : separator.start()])
        reached = separator.end()
    yield from _piece(quote[reached:])


def _piece(text: str) -> Iterator[str]:
    piece = _LEAD.sub("", text, count=1).strip()
    piece = piece.strip(_EDGE) if any(map(str.isalnum, piece)) else ""
    if piece:
        yield piece
