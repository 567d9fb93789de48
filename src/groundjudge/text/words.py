"""The words of a text as they are compared: without endings, in one spelling, in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import import_module
from threading import local
from types import MappingProxyType
from typing import Any, NamedTuple

from groundjudge.text.facts import NEGATIONS, Number

snowball: Any = import_module("Stemmer")  # which is not typed

FUNCTION_WORDS = NEGATIONS | frozenset(
    word
    for words in (
        "a an the and or but if then than that this these those it its he she they we you i his her",
        "their our",
        "your my me him them us is are was were be been being am do does did have has had having of",
        "in on at to",
        "for from by with as into about over under after before between during through out up down",
        "off so too",
        "very can could will would shall should may might must there here what which who whom whose",
        "when where longer",
        "why how all any both each few more most other some such only own same just also well while",
        "because",
        "until yet though although however meanwhile therefore thus against further once again",
        "yes yeah ok okay please ja oui sí sì sim да نعم हाँ",
        "der die das den dem des ein eine einer eines einem einen und oder aber wenn als dass daß",
        "ist sind",
        "waren wird werden wurde wurden haben hatte im am zum zur von vom mit auf für aus bei",
        "nach auch mehr meer es können konnte konnten muss müssen soll sollen darf dürfen lassen lässt sowie",
        "er sie wir ihr ich sich wie noch nur schon um über unter durch bis kann man zu",
        "le la les un une du de et ou mais est sont était ont avait à au aux en dans par pour sur",
        "avec que qui",
        "ne ce cette ces se sa ses il elle ils elles nous vous je plus y",
        "el los las lo una unos del al pero es fue ser ha han con por para su sus como más",
        "gli uno di e ed è sono era da nel nella dei delle della che si per alla anche come os as",
        "um uma do dos",
        "no na nos nas em ao pelo pela são foi mais het een zijn op te dat met aan ook",
        "maar om bij naar",
        "и в во на с со что как по к у о от за из это был была было были для но а то его её их",
        "في من على إلى عن أن إن كان كانت هذا هذه التي الذي أو ما مع هو هي كل قد فيه فيها به له",
        "है हैं था थी थे का की के को में से पर और यह वह ने एक कि भी",
    )
    for word in words.split()
)
"""Words that hardly any text does without, so that they say little about what it states."""

ARTICLES = frozenset(("the", "a", "an", "der", "die", "das", "le", "la", "les", "el", "los", "las"))
PREPOSITIONS = frozenset("在以于從从由對对向到為为被把將将按自比")
"""Signs that begin a phrase in Chinese."""
FUNCTION_SIGNS = PREPOSITIONS | frozenset(
    "的了着著过過和与與及而且并並也都就还還是之其这這那或但可能会會应應须須要得让讓使有"
)
"""The same in Chinese, where words stand side by side: who joins two words must not be one as well."""
DATE_SIGNS = frozenset("年月日")
"""They say little beside a number, but may be a part of a name."""

SPELLINGS = MappingProxyType(
    {
        one: other
        for pair in (
            "grey gray, programme program, tyre tire, kerb curb, plough plow, jewellery jewelry",
            "aluminium aluminum, mould mold, moustache mustache, pyjamas pajamas, draught draft",
            "cheque check, manoeuvre maneuver, cosy cozy, judgement judgment",
            "storey story, whisky whiskey, practise practice, doughnut donut, artefact artifact",
            "sceptic skeptic, sceptical skeptical, sulphur sulfur, learnt learned, burnt burned",
            "spelt spelled, amongst among",
            "skilful skillful",
            "januar january, janvier january, enero january, feb february, februar february",
            "fevrier february, febrero february, marz march, marzo march, apr april",
            "avril april, abril april, mai may, jun june, juni june, juin june, junio june",
            "jul july, juli july, juillet july, julio july, aug august, aout august, agosto august",
            "sep september, sept september, septembre september, septiembre september, oct october",
            "oktober october, octobre october, octubre october, nov november, novembre november",
            "noviembre november, dec december, dezember december, decembre december, diciembre december",
            "kilogramme kilogram, gramme gram, mum mom, axe ax, yoghurt yogurt, councillor councilor",
            "km kilometer, cm centimeter, mm millimeter, kg kilogram, eur euro, usd dollar, gbp pound",
        )
        for one, other in (words.split() for words in pair.split(", "))
    }
)
"""Spellings and abbreviations that no rule leads to, the months' names, and what each is compared as."""

FORMS = """
arise arose arisen; awake awoke awoken; bear bore borne; beat beaten; become became; begin began begun; bend
bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred; bring
brought; build built; buy bought; catch caught; choose chose chosen; come came; creep crept; deal dealt; dig
dug; draw drew drawn; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel
felt; fight fought; find found; fly flew flown; forbid forbade forbidden; forget forgot forgotten; freeze
froze frozen; get got gotten; give gave given; go went gone; grow grew grown; hang hung; hear heard; hide
hid hidden; hold held; keep kept; know knew known; lay laid; lead led; leave left; lend lent; lose lost;
make made; mean meant; meet met; pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say
said; see saw seen; seek sought; sell sold; send sent; shake shook shaken; shine shone; shoot shot; show
shown; shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; speak spoke spoken; spend
spent; spin spun; stand stood; steal stole stolen; stick stuck; strike struck; swear swore sworn; sweep
swept; swim swam swum; take took taken; teach taught; tear tore torn; tell told; think thought; throw threw
thrown; understand understood; wake woke woken; wear wore worn; weave wove woven; win won; withdraw withdrew
withdrawn; write wrote written; man men; woman women; child children; foot feet; tooth teeth; mouse mice
"""
"""English words and their forms that no rule leads to; "left" and "found" are taken for the verb's."""

SCRIPTS = (
    ("\u03ff", "greek"),
    ("\u052f", "russian"),
    ("\u05ff", ""),
    ("\u06ff", "arabic"),
    ("\u08ff", ""),
    ("\u097f", "hindi"),
    ("\U0010ffff", ""),
)
"""The last sign of each script, and the language by whose rules a word in it loses its ending.

In Latin script that is English. One language for a script, and not the text's own: what is guessed from one
sentence could differ from what is guessed from another, and a word would no longer be the same in the two.
"""
FUNCTION_WEIGHT = 0.4
LONGEST_SHORT_NAME = 3
MOST_KEPT = 1 << 14
"""Words whose stems are kept: most words of a text are those of all texts."""
LONGEST_KEPT = 40
KINSHIP = 5
"""Letters at its beginning that a word must share with another to be taken for a form of it."""
KIN_SHARE = 0.65
"""What these letters must be of the longer of the two."""

_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0903\u093a-\u094f"
    "\u0951-\u0957\u0962\u0963\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a4d\u0a81-\u0acd\u0b01-\u0b4d\u0b82-\u0bcd"
    "\u0c00-\u0c4d\u0c81-\u0ccd\u0d00-\u0d4d\u0dca-\u0ddf\u0e31-\u0e4e\u0eb1-\u0ecd\u102b-\u103e\u17b4-\u17d3"
)
_WORD = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*(?:['’][^\W_]+)?")
_FIRST_UNSPACED = _UNSPACED[0]
_UNSPACED_SIGN = re.compile(f"[{_UNSPACED}]")
# A negation stands by itself, so that it does not hide the words on its two sides.
_RUN = re.compile(f"[没沒]有?|[无無]法?|[不未勿]|(?:(?![不没沒无無未勿])[{_UNSPACED}])+|[^{_UNSPACED}]+")
_ORDINAL = re.compile("(?:st|nd|rd|th)\\b")
_FUNCTION_SIGNS = re.compile(f"[{''.join(sorted(FUNCTION_SIGNS | DATE_SIGNS))}]|^[\u3041-\u309f]{{2}}$")
_ARABIC_AND = re.compile("^و(?=...)")  # which the stemmer leaves before its word
_ELISION = re.compile("^(?:[cdjlmnst]|qu|dell|nell|all)['’](?=..)")  # l'homme, d'Italia
_LAST_OF_LATIN = "\u024f"
_STEMMERS = local()

_FIRST_FORMS = MappingProxyType(
    {form: forms[0] for forms in map(str.split, FORMS.split(";")) for form in forms[1:]}
)
_BRITISH = re.compile("our|[iy]s[eai]|[tb]re|ogue|nce|[ao]e")
"""What only words that may be spelt in two ways have in them: it saves looking at the others."""
_AMERICAN = tuple(
    (re.compile(british), american)
    for british, american in (
        (r"(?<=\w\w)our(?=s?$|ed|ing|ite|able|ful|less|ist|al|er|y|hood)", "or"),  # colour, favourite
        (r"(?<=\w\w)([iy])s(?=e$|es$|ed$|er$|ers$|ing$|ation|able)", r"\1z"),  # organise, analyse
        (r"(?<=\w[tb])re(?=s?$|d$)", "er"),  # centre, fibre
        (r"(?<=\w[tb])erd$", "ered"),  # centred
        (r"(?<=\w\w)ogue(?=s?$)", "og"),  # catalogue
        (r"(?<=\w\wen)c(?=e$|es$)", "s"),  # defence, licence
        (r"^((?:encyclop|orthop|arch|p(?=aed)|an(?=aes)|h(?=aem)|medi|leuk))ae", r"\1e"),
        (r"ae(?=mi[ac]|c)|^oe(?=so)", "e"),  # anaemia, gynaecology, oesophagus
        (r"^(|f|diarrh)oe(?=str|t|a)", r"\1e"),  # oestrogen, foetus, diarrhoea
    )
)


MONTHS = (
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_PER_CENT = re.compile(r"\bper cent\b", re.IGNORECASE)
_HOUR = re.compile(r"(?:(?<=\d)\s?|\b(?=[ap]\.))([ap])\.?\s?m\b\.?", re.IGNORECASE)
_CLOCK = re.compile(r"\b([01]?\d|2[0-3])\.([0-5]\d)(?=\s?(?:Uhr|h\b|[ap]\.?\s?m\b))", re.IGNORECASE)
_DATE = re.compile(r"\b(?:(\d{4})-(\d\d)-(\d\d)(?!\d)|(\d\d?)\.(\d\d?)\.(\d{4}))(?=\D|$)")


class Word(NamedTuple):
    """A word as it is compared: its stem, how much it counts, how it is written, whether it is a name."""

    stem: str
    weight: float
    text: str
    start: int
    is_name: bool = False


def words(text: str) -> list[Word]:
    """The words of a text; in scripts without spaces, every two neighbouring signs."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        word, start = match[0], match.start()
        if word.isascii() or not _UNSPACED_SIGN.search(word):
            stem, weight = _look_up(word)
            found.append(Word(stem, weight, word, start, start > 0 and word[0].isupper()))
        else:
            for run in _RUN.finditer(word):
                found.extend(_signs(run[0], start + run.start()))
    return found


def is_unspaced(word: str) -> bool:
    """Whether a word comes from a script without spaces."""
    return word >= _FIRST_UNSPACED and bool(_UNSPACED_SIGN.match(word))  # the comparison only saves time


def without_numbers(text: str, found: Iterable[Number]) -> str:
    """A text with blanks where its numbers stand, so that the words are what is left."""
    kept: list[str] = []
    reached = 0
    for _, start, end in found:
        ordinal = _ORDINAL.match(text, end)
        kept.append(text[reached:start])
        reached = ordinal.end() if ordinal else end
        kept.append(" " * (reached - start))
    return "".join((*kept, text[reached:]))


def akin(one: str, two: str) -> bool:
    """Whether two stems may be forms of one word: they are the same, or long enough and begin alike."""
    if one == two:
        return True
    pairs = enumerate(zip(one, two, strict=False))
    shared = next((at for at, (first, second) in pairs if first != second), min(len(one), len(two)))
    return shared >= KINSHIP and shared >= KIN_SHARE * max(len(one), len(two))


def spelled(text: str) -> str:
    """A text whose dates have a month's name, 2014-03-12 and 12.3.2014, and whose hours are am or pm."""
    text = _HOUR.sub(r" \1m", _CLOCK.sub(r"\1:\2", _PER_CENT.sub("percent", text)))
    return _DATE.sub(_dated, text) if _DATE.search(text) else text


def _dated(date: re.Match[str]) -> str:
    year, month, day = date.group(1, 2, 3) if date[1] else date.group(6, 5, 4)
    return f"{day} {MONTHS[int(month) - 1]} {year}" if 0 < int(month) <= len(MONTHS) else date[0]


def _look_up(word: str) -> tuple[str, float]:
    """What a word is compared by and how much it counts; long ones are not kept, as they may be anything."""
    return _looked_up(word) if len(word) <= LONGEST_KEPT else _looked_up.__wrapped__(word)


@lru_cache(MOST_KEPT)
def _looked_up(word: str) -> tuple[str, float]:
    """What a word is compared by and how much it counts."""
    low = word.casefold()
    is_short_name = word.isupper() and 1 < len(word) <= LONGEST_SHORT_NAME  # the US, the UN
    is_function = (
        (low in FUNCTION_WORDS and not is_short_name) or len(low) == 1 or low.endswith(("n't", "n’t"))
    )
    return stemmed(low), FUNCTION_WEIGHT if is_function else 1.0


def _signs(run: str, start: int) -> Iterator[Word]:
    if not _UNSPACED_SIGN.match(run):
        stem, weight = _look_up(run)
        yield Word(stem, weight, run, start, start > 0 and run[0].isupper())
    elif len(run) == 1 or run[0] in "没沒无無":
        yield Word(run[0], FUNCTION_WEIGHT, run, start)
    else:
        for offset in range(len(run) - 1):
            two = run[offset : offset + 2]
            yield Word(two, FUNCTION_WEIGHT if _FUNCTION_SIGNS.search(two) else 1.0, two, start + offset)


def stemmed(word: str) -> str:
    """A word in small letters without its ending (Snowball) and, in Latin script, its accents."""
    if word[0] > _LAST_OF_LATIN:
        word = _ARABIC_AND.sub("", word)
        language = next(language for last, language in SCRIPTS if word[0] <= last)
        return str(_stemmer(language).stemWord(word)) if language else word
    if not word.isascii():
        word = "".join(sign for sign in unicodedata.normalize("NFD", word) if not unicodedata.combining(sign))
    word = _ELISION.sub("", word)
    return str(_stemmer("english").stemWord(_regular(word.removesuffix("'s").removesuffix("’s"))))


def _stemmer(language: str) -> Any:  # noqa: ANN401  the library has no types
    """The stemmer of a language: each thread has its own, for they must not be shared."""
    if language not in vars(_STEMMERS):
        setattr(_STEMMERS, language, snowball.Stemmer(language))
    return vars(_STEMMERS)[language]


def _regular(word: str) -> str:
    """A word in its first form and in American spelling, as far as the tables above lead."""
    known = SPELLINGS.get(word) or SPELLINGS.get(word.removesuffix("s")) or _FIRST_FORMS.get(word)
    if known:
        return known
    if _BRITISH.search(word):
        for british, american in _AMERICAN:
            word = british.sub(american, word)
    return word
