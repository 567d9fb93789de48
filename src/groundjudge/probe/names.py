"""Names of people and places in a response, exchanged for others, or with one another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from groundjudge.probe.facts import WEEKDAYS
from groundjudge.text.words import MONTHS

MOST_KEPT = 256
"""Names that are remembered: a long response has the same ones again and again."""

STRANGERS = ("Marlow", "Tilbury", "Hadley", "Corwen", "Ashdown", "Penrith", "Selwyn", "Orford")
SURNAMES = ("欧阳", "司马", "诸葛", "上官", "夏侯", "慕容")

_ORDINARY = (
    "I I'm I'll I've Yes No The A An It Its In On At If For And But Or So To From With By Please You Your We"
    " Our They He She This That There When Where What Who How Why Not All After Before English Christmas"
    " Easter Mr Mrs Ms Dr Miss Wi-Fi"
    " Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
)
NO_NAMES = frozenset((*_ORDINARY.split(), *WEEKDAYS, *MONTHS, *(f"{day}s" for day in WEEKDAYS)))
"""Words with a capital letter that name neither a person nor a place."""

_KINDS = (
    "Street Road Lane Avenue Hall Park Station Museum Library Bridge Square Room House School Garden Gardens"
    " Centre Center Club Team Lake River Island Café Harbour Tower Church Gate Hotel Theatre Branch Valley"
    " Mill Farm Desk Office Building Line Inc Ltd Company University College Bank"
)
KINDS = frozenset(_KINDS.split())
"""Words that say what a name is the name of: they stay."""

_WORD = "[A-Z][a-z][A-Za-z]*"
_RUN = re.compile(rf"(?<![\w'’.-])(?<![A-Z]\w )(?:{_WORD})(?:[ ](?:of the |of |the )?{_WORD})*(?![\w-]|\.\w)")
_STARTS = re.compile(r"(?:^|[.!?:;\n\"“(*-]\s*)$")
_NATIONALITY = re.compile(r"(?:[aei]an|can|ish|ese|ch|[aq]i|eli)s?$")
_PERSON = re.compile(
    r"(?<![行国])[林罗郑梁谢宋唐韩冯邓曹彭董袁潘蒋蔡杜魏吕沈姚卢姜崔谭陆许何徐孙郭赵陈刘杨吴王李张朱胡周高马苏叶程方]"
    r"[\u4e00-\u9fff]{0,2}?"
    r"(?=老师|先生|女士|教练|馆长|经理|医生|师傅|校长|主任|教授|阿姨|叔叔|店长|园长|队长|馆员|奶奶|爷爷)"
)
"""A Chinese surname and a given name before a title; without a title, two signs may begin any word."""


def name(response: str, backed: str, text: str) -> str | None:
    """Another name in place of a backed one, wherever the response has it."""
    english = next(_inside_sentences(response, backed), None)
    if english:
        return _renamed(response, english, text)
    new = next((each for each in SURNAMES if each not in text), None)
    old = next((found[0] for found in _PERSON.finditer(response) if found[0] in backed), None)
    return response.replace(old, new + old[1:]) if new and old else None


def people(sentence: str, backed: str) -> list[re.Match[str]]:
    """The backed names of a sentence, in order."""
    english = [found for found in _RUN.finditer(sentence) if _is_name(found[0], backed)]
    return english or [found for found in _PERSON.finditer(sentence) if found[0] in backed]


def _inside_sentences(response: str, backed: str) -> Iterator[str]:
    """The backed names of an English text that do not open a sentence: there, any word has a capital."""
    for found in _RUN.finditer(response):
        before, behind = response[: found.start()], response[found.end() :]
        is_addressed = before.endswith(", ") and behind[:1] in {",", ".", "!", "?"}
        if not is_addressed and not _STARTS.search(before) and _is_name(found[0], backed):
            yield found[0]


@lru_cache(MOST_KEPT)
def _is_name(run: str, backed: str) -> bool:
    """Whether a run of words with capitals is a name that the backing has."""
    words = run.split()
    whole = rf"(?<![\w-])({re.escape(run)}|{re.escape(run.lower())})(?![\w-])"
    is_adjective = len(words) == 1 and _NATIONALITY.search(run)
    is_ordinary = NO_NAMES.intersection(words) or KINDS.issuperset(words)
    return set(re.findall(whole, backed)) == {run} and not is_adjective and not is_ordinary


def _renamed(response: str, old: str, text: str) -> str | None:
    """The response with a name, and each of its parts, replaced by names that the text does not have."""
    fresh = [each for each in STRANGERS if each not in text]
    parts = [word for word in dict.fromkeys(old.split()) if word not in KINDS and word[0].isupper()]
    if len(fresh) < len(parts):
        return None
    new = dict(zip(parts, fresh, strict=False))
    either = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, new))})(?![\w-])")
    return either.sub(lambda part: new[part[0]], response)
