"""A scorecard rates every sentence of the response, and no other; or it gives no score."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_replies import READERS, SCALES, block, outcome
from scripted_model import ScriptedModel

from groundjudge import Case, Reply, ReplyError, Verdict, load
from groundjudge.replies import Expectation, Scorecard
from groundjudge.replies.tiling import fold_letters

RESPONSE = "The café opens at nine. It is closed on Sundays! Is there a terrace? Yes."
SENTENCES = ("The café opens at nine.", "It is closed on Sundays!", "Is there a terrace?", "Yes.")
FEE = "The fee is 12 euros, in 30 days."
LIST = f"Bring:\n1. your ID card\n2. two photos\n\n{FEE}"


def rated(sentences: Sequence[str], response: str) -> object:
    """The outcome of a scorecard with a block for each sentence, which scores 8."""
    blocks = [block("8", "q", sentence) for sentence in sentences]
    return outcome("scorecard", "\n\n".join(blocks), response=response)


WHOLE: dict[str, tuple[str, tuple[str, ...]]] = {
    # a response, and the sentences of blocks
    "each sentence": (RESPONSE, SENTENCES),
    "other case, accents, dashes and marks": (
        "The café — “a small one” — is open.",
        ("THE CAFE\u0301 - 'a small one' - is OPEN",),
    ),
    "a sentence in two blocks": ("It opens at nine.", ("It opens", "at nine.")),
    "two sentences in one block": ("It is old. It is high.", ("It is old. It is high.",)),
    "a list without its numbers": (LIST, ("Bring:", "your ID card", "two photos", FEE)),
    "a list with its numbers": (LIST, ("Bring:", "1. your ID card", "2. two photos", FEE)),
    "boxes and letters": ("- [x] Dogs\n- [ ] Cats\na) Mice", ("Dogs", "Cats", "Mice")),
    "numbers in circles, of full width and in Chinese": (
        "① Dogs\n２．Cats\n三、Mice",
        ("Dogs", "Cats", "Mice"),
    ),
    "emphasis": ("**Hours:** it is *open*.", ("Hours: it is open.",)),
    "a heading": ("## Hours\nAt nine.", ("Hours", "At nine.")),
    "a table with its frame": (
        "| Day | Hour |\n|---|---|\n| Monday | 9 |",
        ("| Day | Hour |", "| Monday | 9 |"),
    ),
    "a table without it": ("| Day | Hour |\n|---|---|\n| Monday | 9 |", ("Day Hour", "Monday 9")),
    "code without its fence": ("Run this:\n```sh\nmake all\n```", ("Run this:", "make all")),
    "a sentence twice, with others": ("So. It is. So. It was.", ("So.", "It is.", "So.", "It was.")),
    "a citation copied": ("It has two towers [1].", ("It has two towers [1].",)),
    "a citation left out": ("It has two towers [1].", ("It has two towers.",)),
    "an answer of a number": ("How many towers?\n2.", ("How many towers?", "2.")),
    "a sign behind a sentence": ("It is so. 👍", ("It is so.",)),
    "a sign alone": ("👍 !!", ("👍 !!",)),
    "Chinese": ("该博物馆每周一闭馆。成人票价为八十元。", ("该博物馆每周一闭馆。", "成人票价为八十元")),
    "Korean": ("네. 열려 있습니다. 무료입니다.", ("네.", "열려 있습니다.", "무료입니다.")),
    "Arabic": ("السعر ٢٥٠ دينارا. الدخول مجاني.", ("السعر ٢٥٠ دينارا", "الدخول مجاني.")),
    "Thai": ("เปิดทุกวัน เข้าฟรี", ("เปิดทุกวัน เข้าฟรี",)),
}


def test_blocks_that_are_the_response_are_accepted() -> None:
    for kind, (response, sentences) in WHOLE.items():
        assert rated(sentences, response) == [8] * len(sentences), kind


PARTIAL: dict[str, tuple[str, tuple[str, ...]]] = {
    "a sentence left out": (RESPONSE, (*SENTENCES[:1], *SENTENCES[2:])),
    "the last sentence left out": (RESPONSE, SENTENCES[:3]),
    "a short sentence left out": ("No. It is closed.", ("It is closed.",)),
    "an answer of a number left out": ("How many towers?\n2.", ("How many towers?",)),
    "more than three letters left out": ("It opens at nine.", ("It opens at",)),
    "an invented sentence": (RESPONSE, (*SENTENCES, "It is on the roof.")),
    "an altered word": (RESPONSE, ("The café opens at ten.", *SENTENCES[1:])),
    "a negation left out": ("It is not safe.", ("It is safe.",)),
    "another number": (LIST, ("Bring:", "your ID card", "two photos", FEE.replace("12", "13"))),
    "another order": (RESPONSE, tuple(reversed(SENTENCES))),
    "one of two equal sentences": ("Twice said. Twice said.", ("Twice said.",)),
    "a heading left out": ("## Hours\nAt nine.", ("At nine.",)),
    "a line of code left out": ("```sh\nmake all\nmake test\n```", ("make all",)),
    "the name of a step left out": ("Step 1: unplug it.", ("unplug it.",)),
    "a citation in words left out": ("It is old [doc 12].", ("It is old.",)),
}


def test_blocks_that_are_not_the_response_give_no_score() -> None:
    for kind, (response, sentences) in PARTIAL.items():
        assert rated(sentences, response) == "unrated_sentences", kind


SURPLUS: dict[str, tuple[str, tuple[str, ...]]] = {
    "a sentence rated twice": ("It is so.", ("It is so.", "It is so.")),
    "a sentence rated again behind others": (RESPONSE, (*SENTENCES, SENTENCES[0])),
    "an empty sentence": ("It is so.", ("", "It is so.")),
    "a full stop": ("It is so.", ("It is so.", ".")),
    "an emoji": ("It is so. 👍", ("It is so.", "👍")),
    "two signs that are all of the response": ("👍 !!", ("👍", "!!")),
    "the number of a list": (LIST, ("Bring:", "your ID card", "2.", "two photos", FEE)),
    "the letter of a list": ("a) It is old.\nb) It is high.", ("It is old.", "b)", "It is high.")),
    "a citation": ("It is so [1].", ("It is so.", "[1]")),
    "a tag": ("It is so.<br>It is old.", ("It is so.", "<br>", "It is old.")),
    "the end of a sentence": ("It is up.", ("It is", "up.")),
}


def test_block_that_the_response_does_not_need_is_ambiguous() -> None:
    """A document that is quoted as evidence may end its block, and begin one that takes the judge's score."""
    for kind, (response, sentences) in SURPLUS.items():
        assert rated(sentences, response) == "ambiguous", kind


@given(st.text(max_size=30), st.text(max_size=30))
def test_letters_of_a_text_are_those_of_its_pieces(first: str, second: str) -> None:
    assert fold_letters(first) + fold_letters(second) == fold_letters(first + second)
    assert fold_letters(first.upper()) == fold_letters(first.upper().lower())


def test_error_tells_which_block_is_one_too_many() -> None:
    blocks = [block("8", sentence=sentence) for sentence in ("Bring:", "a card", "2.", "two photos")]
    reply = Reply("\n\n".join(blocks))
    with pytest.raises(ReplyError) as caught:
        READERS["scorecard"].read_reply(
            reply, SCALES["scorecard"], Expectation({}, "Bring:\n1. a card\n2. two photos")
        )
    assert (caught.value.code, caught.value.quotes, caught.value.numbers) == ("ambiguous", ("2.",), (3,))
    assert "block 3 is one too many" in caught.value.wording


def test_error_names_what_is_missing_and_what_is_foreign() -> None:
    blocks = [block("8", sentence=sentence) for sentence in ("It is open.", "There is a huge terrace.")]
    reply = Reply("\n\n".join(blocks))
    with pytest.raises(ReplyError) as caught:
        READERS["scorecard"].read_reply(
            reply, SCALES["scorecard"], Expectation({}, "It is open. The pool is closed.")
        )
    assert caught.value.quotes == ("The pool is closed.", "There is a huge terrace.")
    assert "without a block: 1; blocks that are not in it: 1)" in caught.value.wording
    assert "pool" not in caught.value.wording


CASE = Case(response="It is open. The pool is closed.", context="It is open. The pool is shut, closed.")
FULL = block("8", "It is open.", "It is open.") + "\n\n" + block("5", "{}", "The pool is closed.")


def verdict_on(case: Case, *replies: str) -> tuple[Verdict, str]:
    """The verdict, and the last thing that the model was told."""
    model = ScriptedModel(*replies)
    verdict = load("statement_groundedness", model=model, reply=Scorecard()).evaluate(case)
    return verdict, model.asked[-1].messages[-1]["content"]


def test_unrated_sentence_is_asked_about_once_inside_the_fence_and_then_an_error() -> None:
    partial = block("8", "It is open.", "It is open.")
    verdict, asked = verdict_on(CASE, partial, FULL.format("The pool is shut, closed."))
    assert (verdict.score, verdict.attempts, verdict.warnings) == (0.65, 2, ())
    assert asked.index("<data-quote-") < asked.index("The pool is closed.") < asked.index("</data-quote-")
    failed, _ = verdict_on(CASE, partial)
    assert failed.error
    assert (failed.error.code, failed.attempts, failed.score) == ("unrated_sentences", 2, None)


def test_evidence_that_is_nowhere_is_asked_about_once_and_then_shown() -> None:
    invented, corrected = (
        FULL.format("Nobody may swim there at all."),
        FULL.format("The pool is shut, closed."),
    )
    verdict, asked = verdict_on(CASE, invented, corrected)
    assert (verdict.score, verdict.attempts, verdict.warnings) == (0.65, 2, ())
    assert "Nobody may swim there at all." in asked
    for replies in ([invented], [invented, "no blocks"]):
        verdict, _ = verdict_on(CASE, *replies)
        assert (verdict.score, verdict.attempts, verdict.warnings) == (0.65, 2, ("evidence_not_found",))
        assert [part.warnings for part in verdict.parts] == [(), ("evidence_not_found",)]
        assert "no evidence in the documents is named for sentence 2" in verdict.reason
        assert verdict.reason in verdict.explanation
    assert verdict_on(CASE, invented.replace("Score: 5", "Score: 0"))[0].attempts == 1


WORDS = st.lists(st.sampled_from("rain snow sun wind 7 30 tea 山 水 é".split()), min_size=4, max_size=9)


@given(st.lists(WORDS.map(" ".join), min_size=2, max_size=6), st.data())
def test_dropped_sentence_is_found(sentences: list[str], data: st.DataObject) -> None:
    sentences = [f"s{number} {sentence}" for number, sentence in enumerate(sentences)]
    response = ". ".join(sentences) + "."
    assert rated(sentences, response) == [8] * len(sentences)
    dropped = data.draw(st.integers(0, len(sentences) - 1))
    remaining = [*sentences[:dropped], *sentences[dropped + 1 :]]
    assert rated(remaining, response) == "unrated_sentences"


LONG: list[Any] = [
    pytest.param(["b"] * 2000, "a " * 100_000, id="short blocks and many words"),
    pytest.param(["x" * 100_000 + "y"], "x" * 200_000, id="a long word without spaces"),
    pytest.param(
        [f"word{n} is here." for n in range(0, 5000, 2)],
        " ".join(f"word{n} is here." for n in range(5000)),
        id="every second sentence",
    ),
    pytest.param(
        [f"wxrd{n} is hero." for n in range(500)],
        " ".join(f"word{n} is here." for n in range(500)),
        id="slips in every sentence",
    ),
    pytest.param(["山" * 50] * 1000, "山" * 100_000, id="signs of a script without spaces"),
]


@pytest.mark.soak
@pytest.mark.timeout(30)
@pytest.mark.parametrize(("sentences", "response"), LONG)
def test_long_scorecards_are_compared_in_time(sentences: list[str], response: str) -> None:
    started = perf_counter()
    rated(sentences, response)
    assert perf_counter() - started < 10  # a quadratic comparison takes minutes
