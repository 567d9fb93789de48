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
from groundjudge.lab.probe import edit
from groundjudge.lab.probe.edit import Edit, with_response
from groundjudge.text.negations import negated_at
from groundjudge.text.patterns import LazyPattern, compile_when_used
from groundjudge.text.sentences import Span, sentences

# From a fact of the response to facts that could replace it, the best one first.
Replacements: TypeAlias = Callable[[re.Match[str]], Iterable[str]]

# The share of a sentence's words that must be backed for it to count as a statement of fact.
MIN_STATED = 0.5

# Names of dates, as parts of patterns; without May, which is also a verb.
MONTHS = "January|February|March|April|June|July|August|September|October|November|December"
WEEKDAYS = "Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday"
CHINESE_WEEKDAYS = "周一|周二|周三|周四|周五|周六|周日"

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
_DATES_IN_DIGITS: Mapping[LazyPattern, int] = {
    compile_when_used(r"(?<![\d:.])([01]?\d|2[0-3])([:：][0-5]\d)(?![\d:])"): 23,
    compile_when_used(r"(?<=月)(\d\d?)(日)"): 28,
    compile_when_used(r"(?<![\d.,:/-])(1[89]\d\d|20\d\d)()(?![\d:/-]|[.,]\d)"): 2099,
}
# A name inside an English sentence, after a short word in small letters, such as "of", "the" or "from".
_NAME = compile_when_used(
    r"(?:(?<=\b[a-z]{2} )|(?<=\b[a-z]{3} )|(?<=\b[a-z]{4} ))"
    rf"(?!(?:May|{MONTHS}|{WEEKDAYS})s?\b)[A-Z][a-z]+(?: [A-Z][a-z]+)*(?![\w-])"
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

_VERB = compile_when_used(
    r"(?<=\s)(?:is|are|was|were|can|will|must)(?=\s)|(?<![所的])(?:可以|需要|允许|提供|包括|包含)(?!的)"
)
# Under a condition, a sentence and its negation may both be true; "is not only", "here is not" deny little.
_HINDERS_NEGATION = compile_when_used(
    r"\b(?:if|unless|whether|when|only|just|also|here)\b|[?？]|如果|若|当|是否|吗", re.IGNORECASE
)


def number(case: Case) -> Case | None:
    """Replace a number in digits by a larger one."""
    return _exchange(case, _fixed_facts(_NUMBER, case), _larger_numbers)


def date(case: Case) -> Case | None:
    """Replace a weekday, month, year, time of day or the day of a Chinese date by another one."""
    case_text = edit.all_text(case)
    for any_name in (WEEKDAYS, MONTHS, CHINESE_WEEKDAYS):
        has_range = re.search(rf"(?:{any_name})s?\W+(?:\w+\W+)?(?:{any_name})", case_text)
        if has_range or _EVERY_DAY.search(case_text):
            continue
        pattern = compile_when_used(rf"(?<![A-Za-z])(?:{any_name})(?![a-rt-z])")
        edited = _exchange(case, _fixed_facts(pattern, case), partial(_other_names, any_name))
        if edited:
            return edited
    for pattern, largest in _DATES_IN_DIGITS.items():
        edited = _exchange(case, _fixed_facts(pattern, case), partial(_later_dates, largest))
        if edited:
            return edited
    return None


def name(case: Case) -> Case | None:
    """Replace a name in an English sentence by that of a stranger."""
    return _exchange(case, _NAME.finditer(case.response_text), _strangers)


def negation_added(case: Case) -> Case | None:
    """Negate the first sentence that states something backed."""
    response = case.response_text
    source = edit.backing_text(case)
    for sentence in sentences(response):
        verb = _VERB.search(sentence.text)
        if verb is None or _HINDERS_NEGATION.search(sentence.text) or negated_at(sentence.text):
            continue
        if edit.stated_share(sentence.text, source) < MIN_STATED:
            continue
        negated_verb = f"{verb[0]} not" if verb[0].isascii() else f"不{verb[0]}"
        before = response[: sentence.start + verb.start()]
        after = response[sentence.start + verb.end() :]
        return with_response(case, before + negated_verb + after)
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

    def relevance(span: Span) -> tuple[float, int]:
        return edit.stated_share(case.query_text, span.text), len(span.text)

    removed = max(candidates, key=relevance)
    before = response[: removed.start].rstrip()
    after = response[removed.end :].lstrip()
    between = edit.text_in_language("between_sentences", case)
    return with_response(case, f"{before}{between}{after}".strip())


# The edits by name. For courtesy, order and form see `neutral_edits`.
EDITS: Mapping[str, Edit] = {
    "number": Edit(number),
    "date": Edit(date),
    "name": Edit(name),
    "negation_added": Edit(negation_added),
    "sentence_invented": Edit(partial(edit.with_unrelated_sentence, "invented"), unless="profile reference"),
    "another_answer": Edit(another_answer, unless="profile"),
    "invented_in_role": Edit(partial(edit.with_unrelated_sentence, "invented_in_role"), needs="profile"),
    "needed_sentence_removed": Edit(needed_sentence_removed, needs="query reference", unless="context"),
    "irrelevant_sentence_added": Edit(
        partial(edit.with_unrelated_sentence, "elsewhere"), needs="reference", unless="context"
    ),
}


def _exchange(case: Case, facts: Iterable[re.Match[str]], replacements: Replacements) -> Case | None:
    """Replace the first fact that the source has by one that no text of the case has."""
    backing = edit.backing_text(case)
    case_text = edit.all_text(case)
    for fact in facts:
        if not re.search(rf"(?<![\d.,]){re.escape(fact[0])}(?!\d)", backing):
            continue
        for replacement in replacements(fact):
            if replacement not in case_text:
                response = case.response_text
                return with_response(case, response[: fact.start()] + replacement + response[fact.end() :])
    return None


def _fixed_facts(pattern: LazyPattern, case: Case) -> Iterator[re.Match[str]]:
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
        yield f"{value}{fact[2]}"


def _strangers(fact: re.Match[str]) -> Iterator[str]:
    """Yield names of strangers with as many words as a name; two for longer ones."""
    n_words = len(fact[0].split())
    for stranger in STRANGERS:
        yield " ".join(stranger.split()[:n_words])
