"""Whether the rated sentences are the response: each word is looked for, and no sentence is split.

As for quotes, the words that differ may only be articles, forms of "to be", "that" and "which", or two forms
of one word; and there may be slips of the pen. What a copy may leave out can have no block of its own.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

from groundjudge.errors import ReplyError
from groundjudge.evidence.copied import (
    LIST_NUMBER,
    asides_of,
    decode_entities,
    fold_word,
    is_alike,
    separate_words,
    without_asides,
)
from groundjudge.evidence.edges import is_whole
from groundjudge.evidence.near import MAY_DIFFER
from groundjudge.evidence.normalized import Normalized
from groundjudge.replies.format import PartReading, Span
from groundjudge.replies.marks import find_marks
from groundjudge.replies.opening import LETTER_OR_DIGIT
from groundjudge.replies.reply import Reply
from groundjudge.text.patterns import compile_when_used

# What ends a sentence or a line.
ENDS = compile_when_used(r"[.!?。\n]")
# So many words may be left out behind a sentence that ends in "...", at most.
MAX_CUT = 2
# How many of the rarest words of a sentence tell where it may be, and how many places of each are tried.
RAREST, MAX_PLACES = 4, 20
# What stands between white space.
UNBROKEN = compile_when_used(r"\S+")
# A word with the signs behind it, or the rest of its sentence.
UP_TO_END = compile_when_used(r"\S*(?:[^.!?。]*[.!?。]\S*)?")


class ComparableText:
    """A text, and the words that a copy of it must have.

    Attributes:
        raw: the text as it stands.
        decoded: the text without HTML's entities.
        normalized: the same in one width, without what a copy may leave out.
        text: the same with its words apart.
        words: which words of `text` a copy must have, by their numbers.
    """

    def __init__(self, raw: str) -> None:
        self.raw = raw
        self.decoded = decode_entities(raw)
        self.normalized = without_asides(self.decoded)
        self._separated = separate_words(self.normalized)
        self.text = Normalized(self._separated.text)
        numbers = array("I")
        for number, word in enumerate(self.text.words):
            if word not in MAY_DIFFER:
                numbers.append(number)
        self.words = WordSequence(self.text.words, numbers)

    @cached_property
    def unnumbered(self) -> ComparableText:
        """The text without the number ahead of it: a judge may number sentences, or number them otherwise."""
        number = LIST_NUMBER.match(self.normalized.text)
        if number is None:
            return self
        return ComparableText(self.normalized.text[number.end() :])

    def origin(self, number: int) -> int:
        """Where a word begins in the raw text; where that ends, for the number behind the last word."""
        if number == len(self.text.words):
            return len(self.raw)
        return self._separated.origins[self.text.span(number)[0]]

    def first_word(self, offset: int) -> int:
        """The number of the first word that begins at an offset of the raw text, or behind it."""
        return bisect_left(range(len(self.text.words)), offset, key=self.origin)


class WordSequence:
    """Some words of a text, in order.

    Attributes:
        numbers: their numbers among the words of the text.
        folded_words: the words, as `fold_word` folds them.
    """

    def __init__(self, words: Sequence[str], numbers: Sequence[int]) -> None:
        self.numbers = numbers
        self.folded_words = [fold_word(words[number]) for number in numbers]
        self._places: dict[str, array[int]] = {}

    def find_starts(self, words: Sequence[str], first_number: int) -> Iterator[int]:
        """Yield the indexes where words may begin: where they are expected, then where their rarest ones are.

        Args:
            words: the words, folded.
            first_number: the number, among the words of the text, of the word where they are expected.
        """
        reached = bisect_left(self.numbers, first_number)
        yield reached
        if not self._places:
            for index, word in enumerate(self.folded_words):
                self._places.setdefault(word, array("I")).append(index)
        candidates: list[tuple[int, Sequence[int]]] = []
        for number, word in enumerate(words):
            if word in self._places:
                candidates.append((number, self._places[word]))
        candidates.sort(key=lambda candidate: len(candidate[1]))
        for number, places in candidates[:RAREST]:
            behind = bisect_left(places, reached)
            for place in (*places[behind : behind + MAX_PLACES], *places[:MAX_PLACES]):
                if place >= number:
                    yield place - number

    def has_at(self, start: int, words: Sequence[str]) -> bool:
        """Whether words like these stand at an index."""
        candidates = self.folded_words[start : start + len(words)]
        return len(candidates) == len(words) and all(map(is_alike, candidates, words))


class RatedResponse:
    """A response, and which of its words are in a sentence that is rated.

    Attributes:
        response: the response.
        taken: for each word, by its number, whether a sentence that is rated has it.
        reached: the number of the word behind the sentence that was taken last.
        cuts: the numbers of the words behind sentences that end in "...".
    """

    def __init__(self, response: str) -> None:
        self.response = ComparableText(response)
        self.taken = bytearray(len(self.response.text.words))
        self.reached = 0
        self.cuts: set[int] = set()
        self._marks: set[int] = set()
        for start, end in find_marks(self.response.decoded, self.response.normalized):
            self._marks.update(range(self.response.first_word(start), self.response.first_word(end)))
        self._marks.intersection_update(self.response.words.numbers)
        self._required = self.response.words.numbers
        if self._marks:
            self._required = array("I", (number for number in self._required if number not in self._marks))
        # A copy has the marks of lists and the lines of fences, or it has none of them.
        self._sequences = [self.response.words]
        if self._marks:
            self._sequences.append(WordSequence(self.response.text.words, self._required))

    @cached_property
    def one_line(self) -> str:
        """The response as it is compared, with single blanks between its words."""
        return " ".join(self.response.text.source.split())

    def take_copy(self, sentences: Sequence[str]) -> list[Span]:
        """Take all words, and return those of each sentence; the sentences are a copy of the response."""
        self.taken[:] = b"\x01" * len(self.taken)
        ends = array("I", (match.end() for match in UNBROKEN.finditer(self.response.raw)))
        spans: list[Span] = []
        n_copied = first = 0
        for sentence in sentences:
            n_copied += len(sentence.split())
            end = self.response.first_word(ends[n_copied - 1]) if n_copied else 0
            spans.append((first, end))
            first = end
        return spans

    def take(self, sentence: ComparableText) -> Span | None:
        """Take the words of a sentence where the last ones ended, or else anywhere, if they are free there.

        Returns:
            The number of its first word in the response, and the one behind its last; None if the response
            has no such words; an empty span for a sentence without words.
        """
        if not sentence.words.numbers:
            return 0, 0
        for text in dict.fromkeys((sentence, sentence.unnumbered)):
            span = self._take_words(text.words.folded_words)
            if span is not None:
                if text.text.source.rstrip().endswith("..."):
                    self.cuts.add(self.reached)
                return span
        return None

    def _take_words(self, words: Sequence[str]) -> Span | None:
        """Take folded words, and return their span as `take` does, at the first place where they are free."""
        if not words:
            return None
        for sequence in self._sequences:
            for start in sequence.find_starts(words, self.reached):
                if not sequence.has_at(start, words):
                    continue
                first, last = sequence.numbers[start], sequence.numbers[start + len(words) - 1]
                if self._is_free(first, last + 1):
                    self.taken[first : last + 1] = b"\x01" * (last + 1 - first)
                    self.reached = last + 1
                    return first, last + 1
        return None

    def _is_free(self, first: int, end: int) -> bool:
        """Whether no sentence has taken any of these words yet, and nothing right before them denies them."""
        if any(self.taken[first:end]):
            return False
        # The words that may differ right before them are looked at, too: "is not" denies.
        numbers = self.response.words.numbers
        index = bisect_left(numbers, first)
        number = numbers[index - 1] + 1 if index else 0
        if number - 1 in self._marks:
            return True  # "1 - Two towers" is not the number twelve
        text = self.response.text
        return is_whole(text.source, text.span(number)[0], len(text.source))

    def unrated_texts(self) -> list[str]:
        """Return what is in no sentence that is rated, as it stands in the response."""
        texts: list[str] = []
        run: list[int] = []
        behind = 0
        for number in self._required:
            if not self.taken[number]:
                run.append(number)
                continue
            if run and not self._is_cut(behind, run):
                texts.append(self._quote(behind, run, number))
            run = []
            behind = number + 1
        if run and not self._is_cut(behind, run):
            texts.append(self._quote(behind, run, len(self.taken)))
        return texts

    def needs(self, span: Span) -> bool:
        """Whether some of the response would be unrated without the sentence that has taken these words.

        Nothing would without marks of lists, or without the end of a sentence that ends in "...".
        """
        start, end = (bisect_left(self._required, number) for number in span)
        if end - start > MAX_CUT:
            return True
        if start == end:
            return False
        # What is in no sentence on either side is a part of the same cut: no more than two words.
        while start > 0 and not self.taken[self._required[start - 1]]:
            start -= 1
        while end < len(self._required) and not self.taken[self._required[end]]:
            end += 1
        behind = self._required[start - 1] + 1 if start else 0
        return not self._is_cut(behind, self._required[start:end])

    def _is_cut(self, behind: int, run: Sequence[int]) -> bool:
        """Whether a run of words belongs to the sentence before it, which ends in "..."."""
        if behind not in self.cuts or len(run) > MAX_CUT:
            return False
        text = self.response.text
        return ENDS.search(text.source, text.span(behind - 1)[1], text.span(run[0])[0]) is None

    def _quote(self, behind: int, run: Sequence[int], end: int) -> str:
        """Return a run of unrated words as it stands, up to the ends of its sentence.

        The words around it that may differ belong to its sentence, or to the one before or behind it.

        Args:
            behind: the number of the word behind the last one before the run that is rated.
            run: the numbers of its words.
            end: the number of the first rated word behind it, or of all words.
        """
        response = self.response
        start = response.origin(behind)
        last = response.origin(run[-1])
        before = response.raw[start : response.origin(run[0])]
        sentence_ends = [*ENDS.finditer(before)]
        if sentence_ends:
            start += sentence_ends[-1].end()
        rest = UP_TO_END.match(response.raw, last, response.origin(end))
        if rest is not None:
            last = rest.end()
        return response.raw[start:last].strip()


def sentences_to_rate(sentences: Sequence[str], response: str) -> set[str]:
    """Return the sentences of a response that a scorecard must rate: not a sign or a citation alone.

    Of a response that has nothing else, all of them.
    """
    rated = RatedResponse(response)
    spans = [rated.take(ComparableText(sentence)) for sentence in sentences]
    needed: set[str] = set()
    for sentence, span in zip(sentences, spans, strict=True):
        if span is None or rated.needs(span):
            needed.add(sentence)
    return needed or {*sentences}


def check_completeness(parts: Sequence[PartReading], response: str, reply: Reply) -> list[PartReading]:
    """Check that the parts are sentences of the response, and that together they are all of it.

    Returns:
        The parts. A sentence that is rated twice counts once, unless the response has it twice.

    Raises:
        ReplyError: `unrated_sentences`: something of the response is in no part, or a part is not in the
            response; `ambiguous`: the response would be rated as well without one of the parts.
    """
    rated = RatedResponse(response)
    # Most replies copy the response exactly.
    if _is_copy(parts, response):
        copied_spans = rated.take_copy([part.name for part in parts])
        _check_surplus(parts, dict(enumerate(copied_spans)), [], rated, reply)
        return [*parts]
    asides = set(asides_of(rated.response.decoded.text))
    spans: dict[int, Span] = {}  # by the index of a part, the words of the response that it has taken
    repeated: list[int] = []  # the indexes of parts that say again what an earlier one says
    foreign: list[str] = []  # the sentences that are not in the response
    verdicts: dict[tuple[str, ...], tuple[float | None, str]] = {}  # by the words of a sentence, its last one
    absent: set[str] = set()  # the sentences for which the response has no words left
    for index, sentence in enumerate(_comparable_sentences(parts)):
        part = parts[index]
        words = tuple(sentence.unnumbered.text.words)
        verdict = (part.value, part.label)
        span = None if part.name in absent else rated.take(sentence)
        if span is None:
            absent.add(part.name)
            if verdicts.get(words) == verdict:
                repeated.append(index)
                continue
        verdicts[words] = verdict
        is_in_response = span is not None
        if not sentence.words.numbers:  # such as "!!": then its signs must be there
            is_in_response = " ".join(sentence.text.source.split()) in rated.one_line
        if not is_in_response or not asides.issuperset(asides_of(sentence.decoded.text)):
            foreign.append(part.name)
        elif span is not None:
            spans[index] = span
    unrated = rated.unrated_texts()
    if foreign or unrated:
        numbers = (len(unrated), len(foreign))
        raise ReplyError("unrated_sentences", reply.text, quotes=(*unrated, *foreign), numbers=numbers)
    _check_surplus(parts, spans, repeated, rated, reply)
    return [parts[index] for index in spans]


def _comparable_sentences(parts: Sequence[PartReading]) -> Iterator[ComparableText]:
    """Yield the sentence of each part as it is compared; one that comes several times is read once."""
    counts = Counter(part.name for part in parts)
    repeated_sentences: dict[str, ComparableText] = {}
    for part in parts:
        # A reply may have one sentence thousands of times; all those of a long one would take much memory.
        sentence = repeated_sentences.get(part.name)
        if sentence is None:
            sentence = ComparableText(part.name)
            if counts[part.name] > 1:
                repeated_sentences[part.name] = sentence
        yield sentence


def _is_copy(parts: Sequence[PartReading], response: str) -> bool:
    """Whether parts copy a response but for white space, each sentence up to its end."""
    if not all(ENDS.search(part.name[-1:]) for part in parts[:-1]):
        return False
    response_words = UNBROKEN.finditer(response)
    for part in parts:
        for copied_word in UNBROKEN.finditer(part.name):
            response_word = next(response_words, None)
            if response_word is None or copied_word[0] != response_word[0]:
                return False
    return next(response_words, None) is None


def _check_surplus(
    parts: Sequence[PartReading],
    spans: Mapping[int, Span],
    repeated: Collection[int],
    rated: RatedResponse,
    reply: Reply,
) -> None:
    """Check that the response would not be rated without a part, except for one that comes twice as it is.

    A judge may quote a document that ends a block with a score of its own, and begins another one: the
    judge's own score is then that of the other block. Its sentence is one that is rated anyway, or is
    something that need not be rated.

    Raises:
        ReplyError: `ambiguous`, with the number of the part.
    """
    surplus: list[int] = []
    counted = {parts[index] for index in spans} if repeated else set[PartReading]()
    for index in repeated:
        has_quote = any(map(LETTER_OR_DIGIT.search, parts[index].quotes))
        if parts[index] not in counted or not has_quote:
            surplus.append(index)
    if len(spans) > 1:  # all of the response may be a sign, which has one block all the same
        for index, span in spans.items():
            if not rated.needs(span):
                surplus.append(index)
    if surplus:
        quotes = (parts[surplus[0]].name,)
        raise ReplyError("ambiguous", reply.text, quotes=quotes, numbers=(surplus[0] + 1,))
