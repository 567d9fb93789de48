"""The words of a text as they are compared: without endings and in one spelling, and its negations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, NamedTuple

from groundjudge.text.letters import fold_case

snowball: Any = import_module("Stemmer")  # which is not typed

_NEGATIONS = """
not no none nobody nothing nowhere never neither nor without unable hardly scarcely cannot cant doesnt didnt
isnt arent wasnt werent wont wouldnt couldnt shouldnt hasnt havent hadnt aint nicht kein keine keinen keinem
keiner keines keins nie niemals niemand niemandem niemanden nichts ohne weder nirgends nein niet geen nooit
niets zonder nergens pas jamais aucun aucune sans rien guère non nessuno nessuna nessun niente senza neanche
nunca jamás sin ningún ninguno ninguna nadie nada tampoco ni não nao sem nenhum nenhuma nem ninguém inte ikke
ingen değil yok не нет ни без никогда никто ничего нельзя لا ولا ليس وليس ليست ليسوا لم ولم لن ولن غير بدون
دون לא אין בלי نیست نه
"""
NEGATIONS = frozenset(_NEGATIONS.split())
"""Negations that are words of their own; of the two parts of a French one, the second."""

_FUNCTION_WORDS = """
a about after again against ah also although an and any are as at be because been before being between but by
can could did do does down during for from further had has have having he her here him his how however i if
in into is it its just longer may me meanwhile might must my of off ok okay on once or our out over own please
same shall she should so such than that the their them then there therefore these they this those though
through thus to too under until up us very was we well were what when where which while who whom whose why
will with would yeah yes yet you your das dem den der des die ein eine ist sind und von wird wurde zu
"""
FUNCTION_WORDS = NEGATIONS | frozenset(_FUNCTION_WORDS.split())
"""Words that hardly any text does without, so that they say little about what it states."""

_OPPOSITES = """
open close; open shut; allow forbid; allow forbidden; permit forbidden; allow prohibit; allow ban; permit
forbid; permit prohibit; permit ban; accept refuse; accept reject; include exclude; available unavailable;
possible impossible; legal illegal; safe unsafe; safe dangerous; valid invalid; required optional; enabled
disabled; active inactive; alive dead; true false; correct incorrect; increase decrease; rise fall; rose
fell; win lose; won lost; succeed fail; succeeded failed; approve reject; approve deny; present absent;
inside outside; free paid; public private; empty full; hot cold; indoors outdoors; welcome prohibited;
welcome forbidden; welcome banned; geöffnet geschlossen; offen geschlossen; öffnen schließen; erlaubt
verboten; gestattet verboten; kostenlos kostenpflichtig; möglich unmöglich; ouvert fermé; ouverts fermés;
ouverte fermée; ouvertes fermées; autorisé interdit; autorisés interdits; permis interdit; gratuit payant;
abierto cerrado; abiertos cerrados; abierta cerrada; permitido prohibido; permitidos prohibidos; aperto
chiuso; aperti chiusi; aperta chiusa; permesso vietato; ammessi vietati; aberto fechado; abertos fechados;
permitido proibido; geopend gesloten; open gesloten; toegestaan verboten
"""
ARTICLES = frozenset(("the", "a", "an"))
FUNCTION_SIGNS = frozenset(
    "在以于從从由對对向到為为被把將将按自比的了着著過过和與与及而且并並也都就还還是之其这這那或"
    "但可能会會应應须須要得让讓使有"
)
"""Function words of Chinese. Words stand side by side there: a pair with one of these is mostly no word."""

_SPELLINGS = """
grey gray; programme program; councillor councilor; aluminium aluminum; sept september;
km kilometer; cm centimeter; mm millimeter; kg kilogram; lb pound; tbsp tablespoon; tsp teaspoon; min minute;
eur euro; usd dollar; gbp pound
"""
MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
SPELLINGS: dict[str, str] = {}
for _pair in _SPELLINGS.split(";"):
    _spelling, _compared = _pair.split()
    SPELLINGS[_spelling] = _compared
for _month in MONTHS:
    SPELLINGS[_month[:3].lower()] = _month.lower()
"""Spellings and abbreviations that no rule leads to, and what each is compared as."""

MONTH_NUMBERS: dict[str, int] = {}
"""The month of each of its names in English and German, in small letters: 6 for june, jun and juni."""
for _number, _month in enumerate(MONTHS, 1):
    MONTH_NUMBERS[_month.lower()] = _number
    MONTH_NUMBERS[_month[:3].lower()] = _number
MONTH_NUMBERS.update(sept=9, januar=1, februar=2, märz=3, mai=5, juni=6, juli=7)
MONTH_NUMBERS.update(oktober=10, okt=10, dezember=12, dez=12)

_AMERICAN = (
    (r"(?<=\w\w)our(?=s?$|ed|ing|ite|able|ful|less|ist|al|er|y|hood)", "or"),  # colour, favourite
    (r"(?<=\w\w)([iy])s(?=e$|es$|ed$|er$|ers$|ing$|ation|able)", r"\1z"),  # organise, analyse
    (r"(?<=\w[tb])re(?=s?$|d$)", "er"),  # centre, fibre
    (r"ae(?=mi[ac])", "e"),  # anaemia
)

FUNCTION_WEIGHT = 0.4
MOST_KEPT = 1 << 14
"""Words whose stems are kept: most words of a text are those of all texts."""
LONGEST_KEPT = 40
LONGEST_STEM = 7
"""Letters that two words must share at least, to be forms of one: verlängert, Verlängerung."""

_UNSPACED = (
    "\u0e00-\u109f\u1780-\u17ff\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003134f"
)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_UNSPACED_SIGN = re.compile(f"[{_UNSPACED}]")
# A negation stands by itself, so that it does not hide the words on its two sides.
_RUN = re.compile(f"[没沒]有?|[无無]法?|[不未勿]|(?:(?![不没沒无無未勿])[{_UNSPACED}])+|[^{_UNSPACED}]+")
_FUNCTION_SIGNS = re.compile(f"[{''.join(sorted(FUNCTION_SIGNS))}]|^[\u3041-\u309f]{{2}}$")

_PER_CENT = re.compile(r"\s?\bper ?cent\b", re.IGNORECASE)
_HOUR = re.compile(r"(?:(?<=\d)\s?|\b(?=[ap]\.))([ap])\.?\s?m\b\.?", re.IGNORECASE)
# 6.12 am; without am or pm, a point makes a decimal.
_POINT_OF_HOUR = re.compile(r"(?<![\d.,:])(\d\d?)\.(?=[0-5]\d\ [ap]m\b)")
# With hours as `spell_out_dates` writes them: 6:12, 6:12 am, 9 am.
_CLOCK_TIME = re.compile(
    r"(?<![\d.,:])(?P<hour>\d\d?)(?::(?P<minute>[0-5]\d))?(?![.,:]?\d)(?:\ (?P<half>[ap]m)\b)?"
)
# 13:30 pm and 0:30 am are times of the clock of 24 hours.
_HALF_TOO_MUCH = re.compile(
    r"(?<![\d.,:])(?:(?P<late>1[3-9]|2[0-3])|(?P<midnight>00?))(?P<minute>:[0-5]\d)?\ (?(late)p|a)m\b"
)
NOON = 12
_DATE = re.compile(r"\b(?:(\d{4})-(\d\d)-(\d\d)(?!\d)|(\d\d?)\.(\d\d?)\.(\d{4}))(?=\D|$)")

_MONTH = rf"(?:{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})\b"
_ORDINAL = r"(?!\d)(?:st\b|nd\b|rd\b|th\b|\.)?"
_DAYS_JOINED = r"\s?(?:-|–|\b(?:to|and|until|till|through|bis|und)\b)\s?"
# In small letters.
_DAY_AND_MONTH = re.compile(
    rf"""
    (?<![\d.,:]) (?:
        (?P<first>\d\d?){_ORDINAL} (?:{_DAYS_JOINED} (?P<last>\d\d?){_ORDINAL})?
        \s? (?:of\s)? (?P<month>{_MONTH})
      | \b(?P<month_ahead>{_MONTH}) \.? \s (?P<first_behind>\d\d?){_ORDINAL}
        (?: {_DAYS_JOINED} (?P<last_behind>\d\d?){_ORDINAL} (?!\s(?:of\s)?{_MONTH}) )?
    )
    """,
    re.VERBOSE,
)

# Negations in Chinese.
_NEGATION_SIGN = re.compile(
    r"""
    未(?![来來]) | [不无無](?![仅僅但过過断斷论論]|同(?!意)) | [没沒勿禁]  # not in 不但, 未来, 无论
  | (?<![南北东東西是])非(?![常洲])  # 非常 is "very", 非洲 is Africa, 是非 right and wrong
  | 别(?=[再去说動动])
    """,
    re.VERBOSE,
)
# A word of letters that may deny: not the one of "not only", "no. 5" and "non-members".
_DENIAL = re.compile(r"\b(?!not\s+only\b|no\b\.?\s?\d|non-)[^\W\d_]+(?:['’][^\W\d_]+)*", re.IGNORECASE)
# Words of Portuguese; in small letters, as names are in any language.
_PORTUGUESE = re.compile(r"\b(?:[a-zà-ü]*[ãõ][a-z]*|uma?|em|aos?|às?|é|há|pel[ao]s?)\b")


class Word(NamedTuple):
    """A word as it is compared: its stem, how much it counts, how it is written and where it begins."""

    stem: str
    weight: float
    text: str
    start: int


class ClockTime(NamedTuple):
    """A time of day on one of the two clocks, and where it stands: `text[start:end]`."""

    hour: int  # 0 to 23
    minute: int
    is_halved: bool  # on the clock of twelve hours, with am or pm
    start: int
    end: int

    @property
    def key(self) -> str:
        """What it is looked up by: "14:30" on the clock of 24 hours, "14:30 pm" on the other."""
        half = (" pm" if self.hour >= NOON else " am") if self.is_halved else ""
        return f"{self.hour}:{self.minute:02}{half}"

    def in_other_half(self) -> ClockTime:
        """The time twelve hours from it."""
        return self._replace(hour=(self.hour + NOON) % (2 * NOON))

    def on_other_clock(self) -> ClockTime:
        """The same time on the other clock."""
        return self._replace(is_halved=not self.is_halved)

    def __str__(self) -> str:
        if not self.is_halved:
            return f"{self.hour}:{self.minute:02}"
        half = "pm" if self.hour >= NOON else "am"
        return f"{self.hour % NOON or NOON}:{self.minute:02} {half}"


def words(text: str) -> list[Word]:
    """The words of a text; in scripts without spaces, every two neighbouring signs."""
    found_words: list[Word] = []
    if not has_unspaced(text):  # most texts are searched for them once, and not at each of their words
        for match in _WORD.finditer(text):
            found_words.append(_spaced_word(match[0], match.start()))
        return found_words
    for match in _WORD.finditer(text):
        for run in _RUN.finditer(text, *match.span()):
            found_words.extend(_words_of_run(run[0], run.start()))
    return found_words


def has_unspaced(text: str) -> bool:
    """Whether a text has a sign of a script without spaces."""
    return not text.isascii() and _UNSPACED_SIGN.search(text) is not None


def is_unspaced(word: str) -> bool:
    """Whether a word comes from a script without spaces."""
    return bool(_UNSPACED_SIGN.match(word))


def spell_out_dates(text: str) -> str:
    """A text whose dates have a month's name, 2014-03-12 and 12.3.2014, and whose hours are am or pm."""
    text = _PER_CENT.sub("%", text)
    text = _HOUR.sub(_spell_out_half, text)
    text = _POINT_OF_HOUR.sub(r"\1:", text)
    text = _HALF_TOO_MUCH.sub(_without_half, text)
    return _DATE.sub(_spell_out_date, text)


def dates(text: str) -> tuple[str, ...]:
    """The days of a text that have a month's name, in one spelling: June 29, 29th of June are "29 june".

    In a range both days have the month that is written once: 14 to 29 June. Dates in digits are read once
    `spell_out_dates` gave them their names.
    """
    spelt_dates: list[str] = []
    for date in _DAY_AND_MONTH.finditer(fold_case(text)):
        number = MONTH_NUMBERS[date["month"] or date["month_ahead"]]
        month = MONTHS[number - 1].lower()
        for day in date.group("first", "last", "first_behind", "last_behind"):
            if day is not None:
                spelt_dates.append(f"{int(day)} {month}")
    return tuple(spelt_dates)


def clock_times(text: str) -> list[ClockTime]:
    """The times of day in a text whose hours `spell_out_dates` has written.

    An hour up to 12 without am or pm, as in 9:00, is read only beside one that can stand on no other clock,
    as in 9:00 to 17:00 or 06:12: alone it may be either in the morning or in the evening.
    """
    times: list[ClockTime] = []
    doubtful_times: list[ClockTime] = []
    has_long_day = False
    for match in _CLOCK_TIME.finditer(text):
        hour, minute = int(match["hour"]), int(match["minute"] or 0)
        if match["half"]:
            if 1 <= hour <= NOON:
                hour = hour % NOON + (NOON if match["half"] == "pm" else 0)
                times.append(ClockTime(hour, minute, is_halved=True, start=match.start(), end=match.end()))
        elif match["minute"] and hour <= 23:  # noqa: PLR2004
            time = ClockTime(hour, minute, is_halved=False, start=match.start(), end=match.end())
            if hour > NOON or match["hour"][0] == "0":
                has_long_day = True
                times.append(time)
            else:
                doubtful_times.append(time)
    if has_long_day:
        times.extend(doubtful_times)
    return times


def _spell_out_half(half: re.Match[str]) -> str:
    return f" {half[1].lower()}m"


def _without_half(time: re.Match[str]) -> str:
    hour = time["late"] or time["midnight"]
    minute = time["minute"] or ":00"
    return hour + minute


def _spell_out_date(date: re.Match[str]) -> str:
    if date[1]:
        year, month, day = date.group(1, 2, 3)
    else:
        day, month, year = date.group(4, 5, 6)
    if not 0 < int(month) <= len(MONTHS):
        return date[0]
    return f"{day} {MONTHS[int(month) - 1]} {year}"


def _words_of_run(run: str, start: int) -> Iterator[Word]:
    if not is_unspaced(run):
        yield _spaced_word(run, start)
        return
    if len(run) == 1 or run[0] in "没沒无無":
        yield Word(run[0], FUNCTION_WEIGHT, run, start)
        return
    for number, (sign, next_sign) in enumerate(pairwise(run)):
        pair = sign + next_sign
        weight = FUNCTION_WEIGHT if _FUNCTION_SIGNS.search(pair) else 1.0
        yield Word(pair, weight, pair, start + number)


def _spaced_word(text: str, start: int) -> Word:
    stem_of_word, weight = _stem_and_weight(text[:LONGEST_KEPT])
    return Word(stem_of_word, weight, text, start)


def stem(word: str) -> str:
    """A word in small letters without its ending, by Snowball's rules for English. Keep it: it takes long."""
    stemmer = snowball.Stemmer("english")  # a new one each time: threads must not share one
    stemmed: str = stemmer.stemWord(word)
    return stemmed


@lru_cache(MOST_KEPT)
def _stem_and_weight(word: str) -> tuple[str, float]:
    """What a word is compared by and how much it counts.

    It is compared in small letters, American spelling, without its ending (Snowball's for English), and cut.
    One language for all, and not the text's own: what is guessed from one sentence could differ from what is
    guessed from another, and a word would no longer be the same in the two.
    """
    small = word.casefold()
    is_function_word = small in FUNCTION_WORDS or len(small) == 1 or small.endswith(("n't", "n’t"))
    base = small.removesuffix("'s").removesuffix("’s")
    if base in SPELLINGS:
        base = SPELLINGS[base]
    else:
        base = SPELLINGS.get(base.removesuffix("s"), base)
    for british, american in _AMERICAN:
        base = re.sub(british, american, base)
    weight = FUNCTION_WEIGHT if is_function_word else 1.0
    return stem(base)[:LONGEST_STEM], weight


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Stems of words, each with those of the words that mean the opposite: open, and close and shut."""
    stems: dict[str, set[str]] = {}
    for pair in _OPPOSITES.split(";"):
        first, second = map(_stem_of, pair.split())
        stems.setdefault(first, set()).add(second)
        stems.setdefault(second, set()).add(first)
    return {word_stem: frozenset(others) for word_stem, others in stems.items()}


def _stem_of(word: str) -> str:
    return _stem_and_weight(word)[0]


def negated_at(text: str) -> list[int]:
    """Where the negations of a text begin, in no order: not, n't, kein, jamais, sin, não, 不 and the like."""
    negations = NEGATIONS
    if _PORTUGUESE.search(text):
        negations = NEGATIONS - {"no"}  # "no" is "in the" there
    starts: list[int] = []
    for match in _DENIAL.finditer(text):
        word = match[0].casefold()
        if word in negations or word.endswith(("n't", "n’t")):
            starts.append(match.start())
    if not text.isascii():
        for sign in _NEGATION_SIGN.finditer(text):
            starts.append(sign.start())
    return starts
