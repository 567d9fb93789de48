"""Edits that make a right response wrong: a judge must notice each of them.

They are deterministic. A fact is exchanged only if the source has it, for one that no text of the case has.
What might stay true is left alone, and so is what no simple rule can be sure of, such as numbers in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

from groundjudge.case.case import Case
from groundjudge.case.shapes import text_of
from groundjudge.lab.probe import edit
from groundjudge.lab.probe.edit import Edit, with_response
from groundjudge.text.negations import negated_at
from groundjudge.text.patterns import compile_when_used
from groundjudge.text.sentences import Sentence, sentences

# From a fact of the response to facts that could replace it, the best one first.
Replacements: TypeAlias = Callable[[re.Match[str]], Iterable[str]]

# From a sentence and its source to the edited sentence; None if the edit does not apply.
SentenceEdit: TypeAlias = Callable[[str, str], str | None]

# The share of a sentence's words that must be backed for it to count as a statement of fact.
MIN_STATED = 0.5

# Names of dates, as parts of patterns; without May, which is also a verb.
MONTHS = "January|February|March|April|June|July|August|September|October|November|December"
WEEKDAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
CHINESE_WEEKDAYS = "周一|周二|周三|周四|周五|周六|周日"

# Units of one kind, each exchanged for the other; an English word also in the plural.
UNITS = (
    ("minute", "hour"),
    ("day", "week"),
    ("month", "year"),
    ("euro", "cent"),
    ("kg", "g"),
    ("GB", "MB"),
    ("分钟", "小时"),
    ("天", "周"),
    ("公里", "米"),
    ("元", "角"),
)
OTHER_UNITS: Mapping[str, str] = {**dict(UNITS), **{second: first for first, second in UNITS}}

# Names of people and places that exist nowhere.
STRANGERS = ("Marlow Tilbury", "Hadley Corwen", "Selwyn Orford")

# A number that is not part of a date, a time, an address or a citation. Years are dates.
_NUMBER = compile_when_used(
    r"""(?<![\w.,:：/\[(（#-]) (?!(?:1[89]|20)\d\d\b)
        (?P<whole>\d{1,3}(?:,\d{3})+|\d{1,9}) (?P<fraction>(?:\.\d+)?)
        (?! [\d:：/\])）–年月日号点时-] | [.,]\d | \.\s | [A-Za-z] | \s?[ap]m\b | \s[A-Z] )""",
    re.ASCII | re.VERBOSE,
)
# Times of day, days of a Chinese date and years, each with the largest value that its first part can have.
_DATES_IN_DIGITS: Mapping[re.Pattern[str], int] = {
    compile_when_used(r"(?<![\d:.])([01]?\d|2[0-3])([:：][0-5]\d)(?![\d:])"): 23,
    compile_when_used(r"(?<=月)(\d\d?)(日)"): 28,
    compile_when_used(r"(?<![\d.,:/-])(1[89]\d\d|20\d\d)()(?![\d:/-]|[.,]\d)"): 2099,
}
# A name inside an English sentence, after a short word in small letters, such as "of", "the" or "from".
_NAME = compile_when_used(
    r"(?:(?<=\b[a-z]{2} )|(?<=\b[a-z]{3} )|(?<=\b[a-z]{4} ))"
    rf"(?!(?:May|{MONTHS}|{WEEKDAYS})s?\b)[A-Z][a-z]+(?: [A-Z][a-z]+)*(?![\w-])"
)

# A number in digits and its unit, without the s of the plural.
_MEASURE = compile_when_used(
    r"(?<![\w.,:：/–-])(?P<number>[1-9]\d*(?:[.,]\d+)*[ -]?)"
    rf"(?P<unit>{'|'.join(OTHER_UNITS)})(?=s?(?![A-Za-z/岁年]))",
    re.ASCII,
)

# What makes a fact a bound, an end of a range or the number of a document, and how far it may be before it.
MAX_BEFORE = 24
_BOUND_BEFORE = compile_when_used(
    r"""\b(?: up | least | most | over | under | within | below | above | after | before | than | or | from
           | to | by | between | about | around | approximately | nearly | almost | as | since | until | till
           | document | source | passage | page )\b
       | [-–—~至到从近满] \W{0,2} $
       | (?: 超过 | 至少 | 最[多早迟] | [少多低高]于 | 不到 | 约 ) .{0,3} $""",
    re.IGNORECASE | re.VERBOSE,
)
_BOUND_BEHIND = compile_when_used(
    r"""\s* (?: to | or | and | [-–—~至到] ) \W{0,2} \d
       | .{0,12} \b or\ (?: more | less | [a-z]+er ) \b
       | [^\W\d_]{0,3} (?: 以[上下内外] | 之?内 | 左右 | [前后起多余几] )""",
    re.IGNORECASE | re.VERBOSE,
)
# Words for all days, which contain any of them.
_EVERY_DAY = compile_when_used("daily|every ?day|weekday|weekend|每天|每日|工作日|周末", re.IGNORECASE)

_CHINESE_VERBS = "可以|需要|允许|提供|包括|包含"
_VERB = compile_when_used(
    rf"(?<=\s)(?:is|are|was|were|can|will|must)(?=\s)|(?<![所的])(?:{_CHINESE_VERBS})(?!的)"
)
# A verb and "not", without which "always", "know" and the like would say something else or nothing.
_DENIAL = compile_when_used(
    r"\b(?P<verb>is|are|was|were|can|must|should|do|does|did|has|have)(?:\s?not|n?['’]t)"
    r"(?=\s)(?!\s(?:yet|all|every|always|necessarily|know|worry|hesitate)\b)"
    rf"|不(?=(?:{_CHINESE_VERBS})(?![^，。；]*的))"
)
# Under a condition and for "some", a sentence and its negation may both be true; "is not only", "here is not"
# deny little.
_HINDERS_NEGATION = compile_when_used(
    r"\b(?:if|unless|whether|when|only|just|also|here|some)\b|[?？]|如果|若|当|是否|吗|(?<!大)部分|[一有]些",
    re.IGNORECASE,
)
# The beginning of a clause that only says which one is meant: "food that a brush cannot reach".
_RELATIVE_BEFORE = compile_when_used(r"\b(?:that|which|who|where)\b[^,;]*$", re.IGNORECASE)
# Whether "the passages do not provide details" is right depends on what one calls details.
_ON_SOURCE = compile_when_used(r"\b(?:passage|document|source|context)s?\b", re.IGNORECASE)

# A part of what a sentence is about. A superlative has "the" or an adjective: "most common symptoms".
_OF = r"\ (?:of\ (?:the|these|its|their|my)\ )?"
_PART = compile_when_used(
    rf"""^ Some (?={_OF} (?:[a-z-]+\ )? [a-z-]+s\b)
       | \b(?<!the\ )(?:[Ss]ome | [Mm]ost | [Aa]\ few)
         (?={_OF} [a-z-]+s\ (?:are | were | have | do | need | take | cannot | can\ be)\b)
       | (?:^ | (?<=[，。；：])) (?:一些 | 有些 | 大多数 | 大部分 | 部分)""",
    re.VERBOSE,
)
_HINDERS_ALL = compile_when_used(
    r"\b(?:all|always|every|may|might|could|ago|include)\b|所有|全部|总是|可能", re.IGNORECASE
)

# "from A to B" with names or times of day, or with numbers after a verb of change: others may be a range.
_CLOCK_TIME = r"\d\d?(?:[:：]\d\d|(?:[:：]\d\d)?\s?[ap]\.?m\b\.?)"
_NAME_OR_TIME = rf"(?:[A-Z][a-z]+(?: [A-Z][a-z]+)*|{_CLOCK_TIME})"
_CHINESE_TIME = r"(?:周[一二三四五六日]|\d\d?[:：]\d\d|\d\d?月(?!\d))"
_FROM_TO = (
    compile_when_used(
        rf"\bfrom (?P<first>{_NAME_OR_TIME})(?P<to> to )(?P<second>{_NAME_OR_TIME})(?![\w-]| \d)"
    ),
    compile_when_used(
        r"\b(?:rose|fell|grew|went|raised|changed|increased|reduced|decreased|lowered)\b[^,;]* from "
        r"(?P<first>[$€£]?\d[\d,.]*)(?P<to> to )(?P<second>[$€£]?\d+(?:[,.]\d+)*)"
    ),
    compile_when_used(rf"(?P<first>{_CHINESE_TIME})(?P<to>[至到])(?P<second>{_CHINESE_TIME})"),
)
# What is the same from B to A: a way, a time to travel, a range.
_BOTH_WAYS = compile_when_used(
    r"\b(?:distance|miles|km|kilomet\w+|hours|minutes|road|stretch\w*|extends?|rang(?:es?|ing)|var(?:y|ies))\b",
    re.IGNORECASE,
)

# How a response to a user who is wrong begins.
_DENIES = compile_when_used(
    r"\W*(?:no|never|nonsense|wrong)[,.!;:—]|\W*(?:不是|不对|没有|没这回事|反了|[您你]?[记弄搞]?错了)",
    re.IGNORECASE,
)


def number(case: Case, elsewhere: str = "") -> Case | None:
    """Replace a number in digits by a larger one. As in those below, a fact that is elsewhere too stays."""
    return _exchange(case, _fixed_facts(_NUMBER, case), _larger_numbers, elsewhere)


def unit(case: Case, elsewhere: str = "") -> Case | None:
    """Replace the unit after a number in digits by another one."""
    return _exchange(case, _fixed_facts(_MEASURE, case), _other_units, elsewhere)


def date(case: Case, elsewhere: str = "") -> Case | None:
    """Replace a weekday, month, year, time of day or the day of a Chinese date by another one."""
    case_text = edit.all_text(case)
    for any_name in (WEEKDAYS, MONTHS, CHINESE_WEEKDAYS):
        has_range = re.search(rf"(?:{any_name})s?\W+(?:\w+\W+)?(?:{any_name})", case_text)
        is_every_day = any_name != MONTHS and _EVERY_DAY.search(case_text)
        if has_range or is_every_day:
            continue
        pattern = compile_when_used(rf"(?<![A-Za-z])(?:{any_name})(?![a-rt-z])")
        edited = _exchange(case, _fixed_facts(pattern, case), partial(_other_names, any_name), elsewhere)
        if edited:
            return edited
    for pattern, largest in _DATES_IN_DIGITS.items():
        edited = _exchange(case, _fixed_facts(pattern, case), partial(_later_dates, largest), elsewhere)
        if edited:
            return edited
    return None


def name(case: Case, elsewhere: str = "") -> Case | None:
    """Replace a name in an English sentence by that of a stranger."""
    return _exchange(case, _NAME.finditer(case.response_text), _strangers, elsewhere)


def sentence_edited(change: SentenceEdit, case: Case) -> Case | None:
    """Edit the first sentence that states something backed and that the edit applies to."""
    response = case.response_text
    source = edit.backing_text(case)
    for sentence in sentences(response):
        if edit.stated_share(sentence.text, source) < MIN_STATED:
            continue
        new_sentence = change(sentence.text, source)
        if new_sentence:
            return with_response(case, response[: sentence.start] + new_sentence + response[sentence.end :])
    return None


def negation_added(sentence: str, _: str) -> str | None:
    """Negate a verb."""
    verb = _VERB.search(sentence)
    if verb is None or _HINDERS_NEGATION.search(sentence) or negated_at(sentence):
        return None
    negated_verb = f"{verb[0]} not" if verb[0].isascii() else f"不{verb[0]}"
    return _with_replaced(verb, negated_verb)


def negation_removed(sentence: str, _: str) -> str | None:
    """Remove the only negation: of two, one may undo the other."""
    denial = _DENIAL.search(sentence)
    if denial is None or _HINDERS_NEGATION.search(sentence) or len(negated_at(sentence)) != 1:
        return None
    if _ON_SOURCE.search(sentence) or _RELATIVE_BEFORE.search(sentence, 0, denial.start()):
        return None
    return _with_replaced(denial, denial["verb"] or "")


def some_made_all(sentence: str, source: str) -> str | None:
    """Turn a part into the whole, where the source speaks of a part in the same word."""
    part = _PART.search(sentence)
    if part is None or _HINDERS_ALL.search(sentence):
        return None
    word = rf"\b{part[0]}\b" if part[0].isascii() else part[0]
    if not re.search(word, source, re.IGNORECASE):
        return None
    if not part[0].isascii():
        return _with_replaced(part, "所有")
    return _with_replaced(part, "All" if part[0][0].isupper() else "all")


def roles_exchanged(sentence: str, source: str) -> str | None:
    """Exchange the two ends of "from A to B"."""
    if _BOTH_WAYS.search(sentence):
        return None
    for pattern in _FROM_TO:
        ends = pattern.search(sentence)
        if ends is None or f"{ends['first']}{ends['to']}{ends['second']}" not in source:
            continue
        reverse = f"{ends['second']}{ends['to']}{ends['first']}"
        if reverse not in source:
            return sentence[: ends.start("first")] + reverse + sentence[ends.end("second") :]
    return None


def tool_result_contradicted(case: Case) -> Case | None:
    """Exchange a fact that only a tool result has."""
    other_documents = tuple(document for document in case.context or () if document.kind != "tool")
    elsewhere = edit.backing_text(case.replace(context=other_documents))
    return number(case, elsewhere) or date(case, elsewhere) or unit(case, elsewhere)


def premise_followed(case: Case) -> Case | None:
    """Replace a response that corrects a false premise by agreement."""
    question = text_of(case.conversation, "user").rstrip()
    # A response may deny what the question denies, and so agree.
    if not question.endswith(("?", "？")) or negated_at(question) or not _DENIES.match(case.response_text):
        return None
    return with_response(case, edit.text_in_language("agreement", case))


def profile_changed(case: Case) -> Case | None:
    """Exchange a fact of the profile that the response repeats, and that is nowhere else."""
    elsewhere = edit.backing_text(case.replace(profile=None))
    # A response with the profile's text that the present response backs.
    mirrored = case.replace(response=case.profile, profile=case.response_text)
    for exchange in (number, date, unit, name):
        edited = exchange(mirrored, elsewhere)
        if edited:
            return case.replace(profile=edited.response_text)
    return None


def another_answer(case: Case) -> Case | None:
    """Replace the response by the answer to another question."""
    return with_response(case, edit.unrelated_text("elsewhere", case))


def needed_sentence_removed(case: Case) -> Case | None:
    """Remove the sentence of the passage that has most in common with the query and the reference."""
    response = case.response_text
    spans = sentences(response)
    if len(spans) < 2:  # noqa: PLR2004  a passage must be left
        return None
    reference = case.reference or ""
    candidates = [span for span in spans if edit.stated_share(span.text, reference) >= MIN_STATED]
    if not candidates:
        return None

    def relevance(span: Sentence) -> tuple[float, int]:
        return edit.stated_share(case.query_text, span.text), len(span.text)

    removed = max(candidates, key=relevance)
    before = response[: removed.start].rstrip()
    after = response[removed.end :].lstrip()
    between = edit.text_in_language("between_sentences", case)
    return with_response(case, f"{before}{between}{after}".strip())


# The edits by name. For courtesy, order and form see `neutral_edits`.
EDITS: Mapping[str, Edit] = {
    "number": Edit(number),
    "unit": Edit(unit),
    "date": Edit(date),
    "name": Edit(name),
    "negation_added": Edit(partial(sentence_edited, negation_added)),
    "negation_removed": Edit(partial(sentence_edited, negation_removed)),
    "some_made_all": Edit(partial(sentence_edited, some_made_all)),
    "roles_exchanged": Edit(partial(sentence_edited, roles_exchanged)),
    "sentence_invented": Edit(partial(edit.with_unrelated_sentence, "invented"), unless="profile reference"),
    "tool_result_contradicted": Edit(tool_result_contradicted, needs="context"),
    "another_answer": Edit(another_answer, unless="profile"),
    "invented_in_role": Edit(partial(edit.with_unrelated_sentence, "invented_in_role"), needs="profile"),
    "premise_followed": Edit(premise_followed, needs="profile conversation"),
    "profile_changed": Edit(profile_changed, needs="profile"),
    "needed_sentence_removed": Edit(needed_sentence_removed, needs="query reference", unless="context"),
    "irrelevant_sentence_added": Edit(
        partial(edit.with_unrelated_sentence, "elsewhere"), needs="reference", unless="context"
    ),
}


def _exchange(
    case: Case, facts: Iterable[re.Match[str]], replacements: Replacements, elsewhere: str
) -> Case | None:
    """Replace the first fact that the source has, but not a text elsewhere, by one that no text has."""
    backing = edit.backing_text(case)
    case_text = edit.all_text(case)
    for fact in facts:
        # Not "Anna" in "Annabel", nor "5" in "5.5".
        whole_fact = rf"(?<![A-Za-z\d.,]){re.escape(fact[0])}(?!\d|[.,]\d|[a-rt-z])"
        if not re.search(whole_fact, backing) or re.search(whole_fact, elsewhere):
            continue
        for replacement in replacements(fact):
            if replacement not in case_text:
                return with_response(case, _with_replaced(fact, replacement))
    return None


def _with_replaced(part: re.Match[str], replacement: str) -> str:
    """Return the text in which a part was found, with a replacement for it."""
    return part.string[: part.start()] + replacement + part.string[part.end() :]


def _fixed_facts(pattern: re.Pattern[str], case: Case) -> Iterator[re.Match[str]]:
    """Yield the facts of a response that no bound or range around them makes elastic."""
    response = case.response_text
    for fact in pattern.finditer(response):
        before = response[max(0, fact.start() - MAX_BEFORE) : fact.start()]
        if not _BOUND_BEFORE.search(before) and not _BOUND_BEHIND.match(response, fact.end()):
            yield fact


def _larger_numbers(fact: re.Match[str]) -> Iterator[str]:
    """Yield clearly larger numbers in the same notation; none for 0 and 1."""
    whole = int(fact["whole"].replace(",", ""))
    if whole <= 1:
        return
    for step in range(20):
        larger = f"{whole + max(2, whole // 3) + step:,}"
        if "," not in fact["whole"]:
            larger = larger.replace(",", "")
        yield f"{larger}{fact['fraction']}"


def _other_units(fact: re.Match[str]) -> list[str]:
    """Return the number with the other unit of its pair."""
    return [fact["number"] + OTHER_UNITS[fact["unit"]]]


def _other_names(any_name: str, fact: re.Match[str]) -> list[str]:
    """Return the other weekdays or months, those that are far away first."""
    names = any_name.split("|")
    place = names.index(fact[0])
    return [*names[place + 2 :], *names[: place + 2]]


def _later_dates(largest: int, fact: re.Match[str]) -> Iterator[str]:
    """Yield later dates in the same notation; after the largest value they start again at 1."""
    for distance in (3, 4, 5, 8, 11):
        value = int(fact[1]) + distance
        if value > largest:
            value -= largest
        digits = str(value).zfill(len(fact[1])) if fact[1].startswith("0") else str(value)
        yield f"{digits}{fact[2]}"


def _strangers(fact: re.Match[str]) -> Iterator[str]:
    """Yield names of strangers with as many words as a name; two for longer ones."""
    n_words = len(fact[0].split())
    for stranger in STRANGERS:
        yield " ".join(stranger.split()[:n_words])
