"""Benchmark of looking up evidence: how the time grows when the text doubles, and how long it takes at most.

    PYTHONPATH=tests python tests/bench/evidence_growth.py

A step that is linear doubles its time with each doubling; `n log n` is a little more, and the limit
is 2 ** 1.2. Each figure is the least of ROUNDS rounds; the growth is the mean over the doublings.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from groundjudge import Reply, ReplyError, Scale, load_rubric
from groundjudge.evidence import find, fold
from groundjudge.replies import PartReading
from groundjudge.replies.json_object import Json
from groundjudge.replies.tiling import check_tiling
from groundjudge.types import Rubric

SCORECARD = Path(__file__).parents[1] / "sentence_cards.prompty"
ROUNDS = 3
DOUBLINGS = 3
HIGHEST_GROWTH = 2**1.2
MAX_QUOTE = 200_000
HIGHEST_SECONDS = 0.5

PROSE = "In room {n} of the old harbour library there are {m} chairs, and it is open until {h} o'clock."
# Sentences of the document in which many quotes are looked up: each of them scans it.
LARGE = 4000
OTHER = "The mayor of a village in the hills has planted {n} trees along the road to its railway station."
CHINESE = "港口旧图书馆第{n}号房间有{m}把椅子，工作日开放到{h}点。"


@dataclass(frozen=True)
class Work:
    """What is timed: work of a size, which is prepared outside the measured time."""

    name: str
    smallest: int
    prepare: Callable[[int], Callable[[], object]]


def lines(template: str, count: int, shift: int = 0) -> list[str]:
    """Sentences that differ in their numbers."""
    return [template.format(n=n, m=n * 7 % 90 + shift, h=n % 24) for n in range(count)]


def text(template: str, count: int) -> str:
    return " ".join(lines(template, count))


def prepare_search(quotes: list[str], documents: list[str]) -> Callable[[], object]:
    return lambda: find(quotes, [fold(content) for content in documents])


def absent_quote(n: int) -> Callable[[], object]:
    """A quote of 3.9 kB that none of n documents has."""
    return prepare_search([text(OTHER, 36)], [text(PROSE, 30)] * n)


def long_absent_quote(n: int) -> Callable[[], object]:
    return prepare_search([text(OTHER, n)], [text(PROSE, 1000)])


def verbatim_quotes(n: int) -> Callable[[], object]:
    return prepare_search(lines(PROSE, n)[::-1], [text(PROSE, LARGE)])


def altered_quotes(n: int) -> Callable[[], object]:
    return prepare_search(lines(PROSE, n, shift=1), [text(PROSE, LARGE)])


def foreign_quotes(n: int) -> Callable[[], object]:
    return prepare_search(lines(OTHER, n), [text(PROSE, LARGE)])


def chinese_quotes(n: int) -> Callable[[], object]:
    return prepare_search(lines(CHINESE, n, shift=1), ["".join(lines(CHINESE, LARGE))])


def one_quote_of_many_documents(n: int) -> Callable[[], object]:
    return prepare_search(lines(OTHER, 1), lines(PROSE, n))


def compare_sentences(sentences: list[str], response: str) -> None:
    """Compare a scorecard's sentences with the response."""
    with suppress(ReplyError):
        check_tiling([PartReading(sentence, 0.0) for sentence in sentences], response, Reply(""))


def copied_sentences(n: int) -> Callable[[], object]:
    sentences = lines(PROSE, n)
    return lambda: compare_sentences(sentences, " ".join(sentences))


def reworded_sentences(n: int) -> Callable[[], object]:
    sentences, response = lines(PROSE, n, shift=1), text(PROSE, n)
    return lambda: compare_sentences(sentences, response)


def foreign_sentences(n: int) -> Callable[[], object]:
    sentences, response = lines(OTHER, n), text(PROSE, n)
    return lambda: compare_sentences(sentences, response)


def one_sentence_many_times(n: int) -> Callable[[], object]:
    return lambda: compare_sentences(["Twice said."] * n, "Twice said. " * n)


def quote_of_signs(n: int) -> Callable[[], object]:
    """Dots, dashes and stars."""
    return prepare_search([f"a{'.-*' * (n // 3)}b"], [text(PROSE, 100)])


def quote_of_remarks(n: int) -> Callable[[], object]:
    return prepare_search([f"a{'(x) ' * (n // 4)}b"], [text(PROSE, 100)])


WORK = (
    Work("a quote of dots, dashes and stars", 32_000, quote_of_signs),
    Work("a quote of remarks in brackets", 32_000, quote_of_remarks),
    Work("a quote of 3.9 kB that no document has", 50, absent_quote),
    Work("an absent quote of 100 bytes a step", 40, long_absent_quote),
    Work("quotes, verbatim", 1000, verbatim_quotes),
    Work("quotes with another number", 500, altered_quotes),
    Work("quotes that no document has", 500, foreign_quotes),
    Work("quotes in Chinese with another number", 500, chinese_quotes),
    Work("a quote that no document has, many documents", 1000, one_quote_of_many_documents),
    Work("sentences copied from the response", 1000, copied_sentences),
    Work("sentences with another number", 500, reworded_sentences),
    Work("sentences that the response lacks", 500, foreign_sentences),
    Work("one sentence many times", 1000, one_sentence_many_times),
)

PIECES = (
    *(" ", "\n", "'", '" "', "...", ".", "*", "a ", "1.\n", "- a\n", "a", "5", "5 ", "-", "—", "; ", " and "),
    *("[1]", "[", "(Document 1)", "Document 1: ", "A. ", "a, ", "不", "。", "十", "not ", "A ", '"a" and '),
    *(".-*", "(x) ", "\u0301", "\u00ad", "The library opens at nine. "),
)
"""What a long quote is made of."""


def seconds(work: Callable[[], object]) -> float:
    """The least CPU time of some rounds."""
    times: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def measure_growth(work: Work) -> None:
    """Time the work at sizes that double."""
    sizes = [work.smallest << step for step in range(DOUBLINGS + 1)]
    times = [seconds(work.prepare(size)) for size in sizes]
    growth = (times[-1] / times[0]) ** (1 / DOUBLINGS)
    table = "".join(f"{size:>7,}: {duration:6.3f} s" for size, duration in zip(sizes, times, strict=True))
    show(work.name, table, growth, HIGHEST_GROWTH)


def measure_long_quotes() -> None:
    """Time the slowest of all long quotes, in a short and in a long document, and the same as documents."""
    document = text(PROSE, 1000)
    prepared: Mapping[str, Callable[[str], Callable[[], object]]] = {
        "the slowest quote of 200 kB": lambda long: prepare_search([f"a{long}b"], [document]),
        "the slowest quote of 19 kB": lambda long: prepare_search([f"a{long[:19_000]}b"], [document]),
        "the same in quotation marks": lambda long: prepare_search([f'"a{long}"b'], [document]),
        "the slowest document of 200 kB": lambda long: prepare_search(["some “quote” not there"], [long]),
        "the same, and a short quote": lambda long: prepare_search([f"x{long[:40]}"], [f"ab{long}"]),
        "the slowest response of 200 kB": lambda long: lambda: compare_sentences([f"ab{long[:60]}c"], long),
    }
    for name, prepare in prepared.items():
        times: dict[str, float] = {}
        for piece in PIECES:
            long_text = piece * (MAX_QUOTE // len(piece))
            times[piece] = seconds(prepare(long_text))
        slowest_piece = max(times, key=lambda piece: times[piece])
        slowest = times[slowest_piece]
        show(name, f"{slowest_piece!r}: {slowest:.3f} s", slowest / HIGHEST_SECONDS, 1.0)


def scorecards() -> dict[str, tuple[list[str], str]]:
    """What replies of 200 kB consist of that are hard to read: sentences, and the context and response."""
    prose, chinese = lines(PROSE, 3000), lines(CHINESE, 3000)
    return {
        "altered": (lines(PROSE, 3000, shift=1), " ".join(prose)),
        "near": ([line.replace("harbour", "harbor") for line in prose], " ".join(prose)),
        "half right": ([line[:40] + lines(OTHER, 1)[0][40:] for line in prose], " ".join(prose)),
        "in other order": (prose[::-1], " ".join(prose)),
        "identical": (["Twice said."] * 9000, "Twice said. " * 9000),
        "of one word": ([f"word{n}" for n in range(9000)], " ".join(prose)),
        "of single letters": (["a " * (n % 40) + f"{n}" for n in range(9000)], "a " * 99_000),
        "without spaces": (lines(CHINESE, 3000, shift=1), "".join(chinese)),
        "of 5 kB": ([text(OTHER, 50)] * 40, " ".join(prose)),
    }


def measure_replies() -> None:
    """Time the reading of scorecards, with the sentences as their own evidence, and of invalid JSON."""
    rubric = load_rubric(SCORECARD)
    for name, (sentences, content) in scorecards().items():
        blocks = ""
        for sentence in sentences:
            blocks += f"Statement: {sentence}\nSupporting Evidence: {sentence}\nScore: 9\n"
        reply = blocks.encode()[:MAX_QUOTE].decode(errors="ignore").rpartition("Statement:")[0]
        source = content.encode()[:MAX_QUOTE].decode(errors="ignore")
        response = " ".join(sentences[: reply.count("Statement:")])  # all of it is rated
        case = {"query": "q", "context": source, "response": response}
        duration = seconds(lambda reply=reply, case=case: read_scorecard(rubric, reply, case))  # type: ignore[misc]
        show(f"a scorecard of 200 kB, sentences {name}", f"{duration:.3f} s", duration / HIGHEST_SECONDS, 1.0)
    for start in ('{"a": ["a", a"b', "{}", '{"a": {', '{"score": "'):
        reply = start * (MAX_QUOTE // len(start)) + "}"
        duration = seconds(lambda reply=reply: read_invalid_json(reply))  # type: ignore[misc]
        show(f"invalid JSON of 200 kB: {start}", f"{duration:.3f} s", duration / HIGHEST_SECONDS, 1.0)


def read_scorecard(rubric: Rubric, reply: str, case: Mapping[str, str]) -> None:
    with suppress(ReplyError):
        rubric.read(reply, case)


def read_invalid_json(reply: str) -> None:
    try:
        Json().read_reply(Reply(reply), Scale(worst=0, best=1))
    except ReplyError:
        return
    raise AssertionError(reply[:80])


def show(name: str, figures: str, ratio: float, limit: float) -> None:
    result = "ok" if ratio <= limit else "FAILED"
    sys.stdout.write(f"{name:<52}{figures:<70}{ratio:>7.2f}{limit:>7.2f}  {result}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    for work in WORK:
        measure_growth(work)
    measure_long_quotes()
    measure_replies()
