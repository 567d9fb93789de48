"""Several quotes in one: with dots between them, listed, in quotation marks, or with marks of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundjudge.evidence.normalized import BULLET

JOINING = frozenset("and also or und et y e en и و 和 及 与 與 と &".split())  # noqa: SIM905
"""Words that may join two quotes."""

_OPENING = "\"'“«„‘‹「『"
_CLOSING = "\"'”»“’›」』"
_JOINED = (
    rf"[.,。，]?\s*+(?:[,;；、，+&/|—–-]|\b(?:and\ also|{'|'.join(sorted(JOINING))})\b|[和及与與と])\s*+"
)
_NAME = (
    r"(?<!\w)(?:(?:from|in|see|per|aus|siehe|voir|véase)\s+)?"
    r"(?:documents?|docs?\.?|sources?|context|passages?|dokumente?|quellen?|documentos?|fuentes?|documenti?|fonti?"
    r"|документ|источник|文档|文件|来源|資料|文書|출처|문서)"
)
_NUMBER = r"\s*(?:\#|no\.?\s?|nr\.?\s?|n°\s?)?\[?[0-9]{1,4}\]?"
_NUMBERED = rf"{_NAME}{_NUMBER}(?:\s*(?:,|&|and|und|et|y)\s*(?:{_NAME})?{_NUMBER})*"
_SEPARATOR = re.compile(
    rf"""
      [\[(（]? (?: \.{{3,}} | …+ ) [\])）]?
    | (?<=[{_CLOSING}]) (?: {_JOINED} | \s++ ) (?=[{_OPENING}])
    | \n (?: \s*+ {BULLET} )?
    | [\[【] \s* [0-9]{{1,3}} (?:\s*[,;–-]\s*[0-9]{{1,3}})* \s* [\]】]                # [2], [1, 2]
    | [\[(（【] \s* {_NUMBERED} \s* [\])）】] \s* [:：]?                              # (Document 2)
    | {_NUMBERED} [*\s]*+ (?: [:：] | (?<=\s)[-–—] )                                  # Document 2: ...
    | [—–-] \s* {_NUMBERED} \s* \Z
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MAY_SEPARATE = re.compile(rf"[0-9\n…{_CLOSING}]|\.{{3}}")
"""What every separator holds one of; looking for it saves time."""


def pieces(quote: str) -> Iterator[str]:
    """The quotes that are listed, marked or joined by an ellipsis."""
    reached = 0
    for separator in _SEPARATOR.finditer(quote) if _MAY_SEPARATE.search(quote) else ():
        yield quote[reached : separator.start()]
        reached = separator.end()
    yield quote[reached:]
