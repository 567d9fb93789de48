"""Texts as they are compared, and in what a sentence differs from a passage that says nearly the same."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations, takewhile
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from rapidfuzz.distance import Levenshtein, MatchingBlock

from groundjudge.text.numbers import Number, numbers_at
from groundjudge.text.words import (
    ARTICLES,
    FUNCTION_SIGNS,
    ClockTime,
    Word,
    clock_times,
    dates,
    has_unspaced,
    is_unspaced,
    negated_at,
    opposites,
    spell_out_dates,
    words,
)

# What separates the clauses of a sentence.
CLAUSE = re.compile(r"[,:](?!\d)|[;–—，、；：。]|\bbut\b")
# Signs of units, which are beside a number.
MEASURE = re.compile("[€$£¥￥%％‰℃℉]")
# What signs of currencies are compared as: the stems of their names. Two currencies are written ¥.
CURRENCIES = {"€": "euro", "$": "dollar", "£": "pound"}
# Less than a word's: a passage is chosen by what it speaks of, and contradicts by its numbers.
NUMBER_WEIGHT = 0.5
# Words between items of a list, whose order does not matter.
JOINING = frozenset(("and", "or", "nor", "but", "und", "oder", "aber", *"和与與及或跟但"))
# Words between two numbers of one unit: 10 to 12 euros.
JOINING_NUMBERS = frozenset(("and", "or", "to", "und", "oder", "bis"))
# How far from a currency its numbers are looked for.
MOST_BESIDE = 8
# Words, by their stems, whose two sides are not alike: who acts and on whom, what comes first.
RELATING = frozenset(("after", "because", "befor", "by", "from", "to", *"被把给給从從向"))
# A negation denies one of the next two content words, in so many words of which it is the first.
SCOPE = 6
LONGEST_NAMED = 60
# The share of a sentence's content that a passage must have in the same order, for another name to contradict
# it, and that both must have of each other, for another word or a denial to do so: of labelled responses that
# differ in such a way from less, people call as many grounded as of all others.
LEAST_SHARE, LEAST_MUTUAL_SHARE = 0.7, 0.65
# Words that 1 may be written as.
ONE = frozenset(("one", "一"))
# Letters of a word in which one letter may be a slip of the pen.
LONG_WORD = 7
# Texts whose readings are kept: a sentence is read as part of its document, as a quote and as a claim.
MOST_KEPT = 256


class Token(NamedTuple):
    """A word, a number or, in scripts without spaces, a single sign; articles are left out."""

    key: str  # what it is compared by
    text: str
    start: int
    clause: int  # which clause of its text it is in
    is_content: bool = True  # whether it says something itself
    is_number: bool = False


@dataclass(frozen=True)
class TokenizedText:
    """A text as it is compared; of most passages nothing but the keys is ever needed."""

    text: str  # with dates and hours spelled in one way
    numbers: Sequence[Number]
    words: Sequence[Word]  # in scripts without spaces, every two neighbouring signs
    weights: Mapping[str, float]  # how much each of its stems and numbers counts
    dates: Sequence[str]  # its days that have a month, "29 june"
    times: Sequence[ClockTime]  # its times of day
    keys: frozenset[str]  # what a sentence finds in it: stems, numbers, signs, dates and times

    @cached_property
    def tokens(self) -> Sequence[Token]:
        """All that it consists of, in order."""
        return sorted(_tokens(self.text, self.numbers, self.words), key=attrgetter("start"))

    @cached_property
    def negated(self) -> frozenset[int]:
        """Where its negations begin."""
        return frozenset(negated_at(self.text))


class Difference(NamedTuple):
    """Tokens of the sentence from `start` on, where the passage has others between the same neighbours."""

    mine: Sequence[Token]
    theirs: Sequence[Token]
    start: int


Pair: TypeAlias = tuple[Sequence[Token], Sequence[Token]]
"""Tokens of the sentence, and those that the passage has instead."""


class Amount(NamedTuple):
    """A currency and the numbers beside it."""

    currency: Token
    numbers: frozenset[str]


@lru_cache(MOST_KEPT)
def tokenize_text(text: str) -> TokenizedText:
    """Read a text."""
    text = spell_out_dates(text)
    numbers = numbers_at(text)
    text_dates: Sequence[str] = ()
    times: Sequence[ClockTime] = ()
    if numbers:
        text_dates = dates(text)
        times = clock_times(text)
    return _read(text, numbers, words(_without_numbers(text, numbers)), text_dates, times)


def part_of(reading: TokenizedText, start: int, end: int) -> TokenizedText:
    """Read a part of a text that is read already, from one place of it to another."""
    numbers: list[Number] = []
    for number in reading.numbers:
        if start <= number.start < end:
            numbers.append(Number(number.value, number.start - start, number.end - start))
    word_list: list[Word] = []
    for word in reading.words:
        if start <= word.start < end:
            word_list.append(Word(word.stem, word.weight, word.text, word.start - start))
    # What is a time is known by the whole text: 9:00 by 17:00 beside it.
    part_times: list[ClockTime] = []
    for time in reading.times:
        if start <= time.start < end:
            part_times.append(time._replace(start=time.start - start, end=time.end - start))
    part = reading.text[start:end]
    # It has no date that its text lacks.
    part_dates = dates(part) if reading.dates else ()
    return _read(part, numbers, word_list, part_dates, part_times)


def _read(
    text: str,
    numbers: Sequence[Number],
    word_list: Sequence[Word],
    text_dates: Sequence[str],
    times: Sequence[ClockTime],
) -> TokenizedText:
    """A text with its numbers, words, dates and times as it is compared."""
    weights = dict.fromkeys((number.value for number in numbers), NUMBER_WEIGHT)
    for word in word_list:
        weights[word.stem] = weights.get(word.stem, 0.0) + word.weight
    keys = {*weights, *text_dates}
    for time in times:
        keys.add(time.key)
    for sign in MEASURE.finditer(text):
        keys.add(CURRENCIES.get(sign[0], sign[0]))
    for word in _unspaced_words(text, word_list):
        keys.update(word.text)
    if not keys.isdisjoint(ONE):
        keys.add("1")
    return TokenizedText(text, numbers, word_list, weights, text_dates, times, frozenset(keys))


def _without_numbers(text: str, numbers: Sequence[Number]) -> str:
    """A text with blanks where its numbers are."""
    if not numbers:
        return text
    signs = list(text)
    for _, start, end in numbers:
        signs[start:end] = " " * (end - start)
    return "".join(signs)


def _unspaced_words(text: str, word_list: Sequence[Word]) -> list[Word]:
    """The words of a text that are written without spaces."""
    if not has_unspaced(text):
        return []
    return [word for word in word_list if is_unspaced(word.text)]


def _tokens(text: str, numbers: Sequence[Number], word_list: Sequence[Word]) -> Iterator[Token]:
    """Yield the tokens of a text: its numbers, then its words, then its signs."""
    ends = [end.start() for end in CLAUSE.finditer(text)]
    signs = {sign.start(): sign[0] for sign in MEASURE.finditer(text)}
    for value, start, end in numbers:
        yield Token(value, text[start:end], start, bisect_left(ends, start), is_number=True)
    unspaced_words = _unspaced_words(text, word_list)
    for word in unspaced_words:
        signs.update(enumerate(word.text, word.start))  # each sign once, although neighbouring pairs share it
    unspaced_starts = {word.start for word in unspaced_words}
    for stem, weight, word_text, start in word_list:
        if stem not in ARTICLES and start not in unspaced_starts:
            is_content = weight == 1 or (len(word_text) == 1 and word_text.isupper())  # port B, 20 °C
            yield Token(stem, word_text, start, bisect_left(ends, start), is_content)
    for start, sign in signs.items():
        key = CURRENCIES.get(sign, sign)
        yield Token(key, sign, start, bisect_left(ends, start), sign not in FUNCTION_SIGNS)


def contradictions(sentence: TokenizedText, passage: TokenizedText) -> tuple[str, ...]:
    """What contradicts a sentence in a passage that says nearly the same, in words; empty if nothing does."""
    if sentence.text == passage.text:
        return ()
    tokens = sentence.tokens
    passage_tokens = _on_topic(passage, sentence)
    blocks = Levenshtein.opcodes(_keys(tokens), _keys(passage_tokens)).as_matching_blocks()
    differences = list(_differences(tokens, passage_tokens, blocks))
    swaps = [pair for pair in combinations(differences, 2) if _is_turned(*pair)]
    share, mutual_share = _common_shares(tokens, passage_tokens, blocks)
    has_most = share >= LEAST_SHARE
    is_alike = has_most and mutual_share >= LEAST_MUTUAL_SHARE
    pairs = [*_numbers(tokens, passage_tokens)]
    pairs.extend(_currencies(tokens, passage.tokens))  # a record has it in a field of its own
    for difference in differences:
        is_swapped = any(difference in swap for swap in swaps)
        if not has_most or is_swapped:
            continue
        if _is_replaced(difference, tokens, passage_tokens, is_alike=is_alike):
            pairs.append((difference.mine, difference.theirs))
    opposite_pairs = _find_opposites(tokens, passage_tokens)
    # "Not open" says the same as "closed": two denials are none.
    n_denials = _denials(sentence.negated, tokens, passage_tokens)
    n_passage_denials = _denials(passage.negated, passage_tokens, tokens)
    is_denied = n_denials != n_passage_denials
    if opposite_pairs and is_denied:
        opposite_pairs = []
        is_denied = False
    pairs.extend(opposite_pairs)
    findings = [f"{_in_quotes(mine)} instead of {_in_quotes(theirs)}" for mine, theirs in pairs]
    if _is_exchanged(swaps, tokens):
        first, second = swaps[0]
        findings.append(f"{_in_quotes(first.mine)} and {_in_quotes(second.mine)} in each other's place")
    if _is_related_otherwise(differences):
        findings.append("two things are related the other way round")
    if is_denied and is_alike:
        findings.append("one denies what the other says")
    return tuple(dict.fromkeys(findings))


def name_contradictions(
    sentence: TokenizedText, passage: TokenizedText, neighbour: TokenizedText
) -> tuple[str, ...]:
    """What contradicts a sentence in a passage that has all of it but a name, and another name in its place.

    Only whole names of as many words are compared, so that "Ada" contradicts no "Dr" ahead of the same name,
    and "WHO" not what it stands for.

    The neighbour is the sentence beside the passage, which has the name that the passage lacks. If it has the
    other name too, it may say how they belong together: who was born in Ulm was born in Germany, where "Ulm
    is a city in Germany".
    """
    tokens, passage_tokens = sentence.tokens, passage.tokens
    missing = [token for token in tokens if token.is_content and token.key not in passage.keys]
    if not _is_whole_name(missing):
        return ()
    findings: list[str] = []
    blocks = Levenshtein.opcodes(_keys(tokens), _keys(passage_tokens)).as_matching_blocks()
    for difference in _differences(tokens, passage_tokens, blocks):
        mine = [token for token in difference.mine if token.is_content]
        their_content = [token for token in difference.theirs if token.is_content]
        theirs = list(takewhile(_is_capital, their_content))
        if mine != missing or len(theirs) != len(mine) or not _is_whole_name(theirs):
            continue
        if not set(_keys(theirs)).isdisjoint(_keys(tokens)):
            continue  # it has both
        if neighbour.keys.issuperset(_keys(theirs)):
            continue
        end = difference.start + len(difference.mine)
        neighbours = [*tokens[max(0, difference.start - 1) : difference.start], *tokens[end : end + 1]]
        if not any(map(is_name, neighbours)):
            findings.append(f"{_in_quotes(mine)} instead of {_in_quotes(theirs)}")
    return tuple(findings)


def is_name(token: Token) -> bool:
    """Whether a word is taken for a name: it has a capital letter where none is needed, unlike "I"."""
    return token.start > 0 and _is_capital(token) and len(token.text) > 1


def _is_whole_name(tokens: Sequence[Token]) -> bool:
    """Whether words are one name: each has a capital letter, the first of a sentence as it may be."""
    return all(map(_is_capital, tokens)) and any(map(is_name, tokens))


def _is_capital(token: Token) -> bool:
    return token.text[0].isupper()


def _find_opposites(sentence_tokens: Sequence[Token], passage_tokens: Sequence[Token]) -> list[Pair]:
    """The words of a sentence whose opposite the passage has in their place."""
    sentence_keys, passage_keys = set(_keys(sentence_tokens)), set(_keys(passage_tokens))
    pairs: list[Pair] = []
    opposites_of_keys = opposites()
    for token in sentence_tokens:
        if token.key not in opposites_of_keys or token.key in passage_keys:
            continue
        opposite_keys = opposites_of_keys[token.key] - sentence_keys
        if opposite_keys.isdisjoint(passage_keys):
            continue
        other = next(other for other in passage_tokens if other.key in opposite_keys)
        pairs.append(([token], [other]))
    return pairs


def _on_topic(passage: TokenizedText, sentence: TokenizedText) -> list[Token]:
    """The clauses of a passage a third of whose content the sentence has."""
    content_counts: Counter[int] = Counter()
    common_counts: Counter[int] = Counter()
    for token in passage.tokens:
        if token.is_content:
            content_counts[token.clause] += 1
            common_counts[token.clause] += token.key in sentence.keys
    return [
        token for token in passage.tokens if 3 * common_counts[token.clause] >= content_counts[token.clause]
    ]


def _common_shares(
    sentence_tokens: Sequence[Token], passage_tokens: Sequence[Token], blocks: Sequence[MatchingBlock]
) -> tuple[float, float]:
    """The shares of a sentence's content, and of both texts' content, that they have in the same order."""
    common = 0
    for block in blocks:
        common += _content_count(sentence_tokens[block.a : block.a + block.size])
    content, passage_content = _content_count(sentence_tokens), _content_count(passage_tokens)
    return common / max(1, content), 2 * common / max(1, content + passage_content)


def _content_count(tokens: Sequence[Token]) -> int:
    return sum(token.is_content for token in tokens)


def _differences(
    sentence_tokens: Sequence[Token], passage_tokens: Sequence[Token], blocks: Sequence[MatchingBlock]
) -> Iterator[Difference]:
    """What the sentence and the passage have between the tokens that they share."""
    place = passage_place = 0
    for block in blocks:
        if block.a > place or block.b > passage_place:
            yield Difference(sentence_tokens[place : block.a], passage_tokens[passage_place : block.b], place)
        place, passage_place = block.a + block.size, block.b + block.size


def _numbers(sentence_tokens: Sequence[Token], passage_tokens: Sequence[Token]) -> Iterator[Pair]:
    """Each number that the passage lacks, and the most similar of its own that are as long."""
    sentence_keys, passage_keys = _keys(sentence_tokens), _keys(passage_tokens)
    passage_numbers = [
        token for token in passage_tokens if token.is_number and token.key not in sentence_keys
    ]
    for token in sentence_tokens:
        if not token.is_number or token.key in passage_keys:
            continue
        similar = [number for number in passage_numbers if len(number.key) == len(token.key)]
        if similar:
            nearest = min(similar, key=lambda number: Levenshtein.distance(token.key, number.key))
            yield [token], [nearest]


def _currencies(sentence_tokens: Sequence[Token], passage_tokens: Sequence[Token]) -> Iterator[Pair]:
    """Each currency, and another one that the passage has beside the same number.

    So "a 5 pound bag costs 3 pounds" contradicts 3 euros, although the sentence has 5 pounds, too. Where the
    passage has no currency beside that number, as a record has it in a field of its own, one that it lacks is
    compared with any that the sentence lacks.
    """
    amounts = _amounts(sentence_tokens)
    if not amounts:  # as in most sentences
        return
    passage_amounts = _amounts(passage_tokens)
    keys = {amount.currency.key for amount in amounts}
    passage_keys = {amount.currency.key for amount in passage_amounts}
    for currency, numbers in amounts:
        same = [other.currency for other in passage_amounts if not numbers.isdisjoint(other.numbers)]
        if not same and currency.key not in passage_keys:
            same = [other.currency for other in passage_amounts if other.currency.key not in keys]
        if same and all(other.key != currency.key for other in same):
            yield [currency], same[:1]


def _amounts(tokens: Sequence[Token]) -> list[Amount]:
    """The currencies of a text, each with the numbers beside it: $5, 5 dollars, 10 to 12 dollars."""
    known_keys = set(CURRENCIES.values())
    amounts: list[Amount] = []
    for place, token in enumerate(tokens):
        if token.key not in known_keys:
            continue
        behind = _numbers_at(tokens[place + 1 : place + 1 + MOST_BESIDE])
        ahead = _numbers_at(tokens[max(0, place - MOST_BESIDE) : place][::-1])
        # "In 2019 $5" is of 5. Which number "in 2019 USD 5" and "5 USD 2019" are of is not to be seen.
        is_attached = bool(behind) and tokens[place + 1].start == token.start + len(token.text)
        if is_attached:
            amounts.append(Amount(token, frozenset(behind)))
        else:
            amounts.append(Amount(token, frozenset((*ahead, *behind))))
    return amounts


def _numbers_at(tokens: Sequence[Token]) -> list[str]:
    """The numbers with which tokens begin, also several that are joined: 10 to 12."""
    numbers: list[str] = []
    for token in tokens:
        if token.is_number:
            numbers.append(token.key)
        elif not numbers or token.key not in JOINING_NUMBERS:
            break
    return numbers


def _is_replaced(
    difference: Difference,
    sentence_tokens: Sequence[Token],
    passage_tokens: Sequence[Token],
    *,
    is_alike: bool,
) -> bool:
    """Whether it is another unit, behind a number or a sign such as $, another name or a word from nearby.

    Of a name it is enough that the passage has the sentence; for other words both texts have to be alike.
    """
    mine = [token for token in difference.mine if token.is_content]
    theirs = [token for token in difference.theirs if token.is_content]
    both = [*mine, *theirs]
    if not mine or not theirs or any(token.is_number for token in both):
        return False
    is_counted = difference.start > 0 and sentence_tokens[difference.start - 1].is_number
    if is_counted or not any(token.text.isalnum() for token in both):
        return len(mine) == len(theirs) or is_unspaced(mine[0].text)
    if len(mine) != len(theirs) or not set(_keys(theirs)).isdisjoint(_keys(sentence_tokens)):
        return False
    if all(token.text[0].isupper() for token in both):
        return True
    if not is_alike or not set(_keys(mine)) <= set(_keys(passage_tokens)):
        return False
    return len(mine) > 1 or not _is_misspelt(mine[0].text, theirs[0].text)


def _is_misspelt(word: str, other_word: str) -> bool:
    """Whether two long words that begin alike differ in a single letter: compounds, compunds."""
    is_long = min(len(word), len(other_word)) >= LONG_WORD
    return is_long and word[:3] == other_word[:3] and Levenshtein.distance(word, other_word) == 1


def _is_turned(first: Difference, second: Difference) -> bool:
    """Whether each of two things is where the other one is in the passage, which may go on there."""
    first_keys, second_keys = _keys(first.mine), _keys(second.mine)
    if not first_keys or not second_keys or first_keys == second_keys:
        return False
    has_second = _keys(first.theirs)[: len(second_keys)] == second_keys
    return has_second and _keys(second.theirs)[: len(first_keys)] == first_keys


def _is_exchanged(swaps: Sequence[tuple[Difference, Difference]], tokens: Sequence[Token]) -> bool:
    """Whether things that changed places make a difference: items of a list, phrases and clauses do not."""
    if not swaps:
        return False
    first, second = swaps[0]
    first_token, last_token = first.mine[0], second.mine[0]
    between = _keys(tokens[first.start + len(first.mine) : second.start])
    if JOINING.isdisjoint(between) and first_token.clause == last_token.clause:
        return True
    sizes = Counter(token.clause for token in tokens)
    if all(sizes[difference.mine[0].clause] == len(difference.mine) for difference in (first, second)):
        return False  # whole clauses in another order
    before = _keys(tokens[: first.start])[-1:]
    items = [key for key in between if key not in JOINING.union(before)]
    return (
        len(swaps) == 1
        and first_token.is_content
        and last_token.is_content
        and len(items) > last_token.clause - first_token.clause
    )


def _is_related_otherwise(differences: Sequence[Difference]) -> bool:
    """Whether only relating words differ, or a phrase moved and has its own in another order: from A to B."""
    changed = [token for difference in differences for token in (*difference.mine, *difference.theirs)]
    if not any(token.is_content for token in changed):
        return not RELATING.isdisjoint(_keys(changed))
    for difference in differences:
        keys = _keys(difference.mine)
        if RELATING.isdisjoint(keys):
            continue
        for other_difference in differences:
            moved_keys = _keys(other_difference.theirs)
            if keys != moved_keys and sorted(keys) == sorted(moved_keys):
                return True
    return False


def _denials(negated: Collection[int], tokens: Sequence[Token], other_tokens: Sequence[Token]) -> int:
    """How many negations, by the places where they begin, deny what the other text speaks of."""
    other_keys = set(_keys(other_tokens))
    n_denials = 0
    for place, negation in enumerate(tokens):
        if negation.start not in negated:
            continue
        content_keys: list[str] = []
        for token in tokens[place + 1 : place + SCOPE]:
            if token.is_content and token.clause == negation.clause:
                content_keys.append(token.key)
        if not other_keys.isdisjoint(content_keys[:2]):
            n_denials += 1
    return n_denials


def _keys(tokens: Sequence[Token]) -> list[str]:
    return [token.key for token in tokens]


def _in_quotes(tokens: Sequence[Token]) -> str:
    space = "" if is_unspaced(tokens[0].text) else " "
    text = space.join(token.text for token in tokens)
    return f"“{text[:LONGEST_NAMED]}”"
