"""A scorecard rates every sentence of the response, and no other; or it gives no score."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_replies import READERS, SCALES, block, outcome
from scripted_model import ScriptedModel

from groundjudge import Case, Reply, ReplyError, load
from groundjudge.replies import Asked

RESPONSE = "The café opens at nine. It is closed on Sundays! Is there a terrace? Yes."
SENTENCES = ["The café opens at nine.", "It is closed on Sundays!", "Is there a terrace?", "Yes."]
LIST = "Bring:\n1. your ID card\n2. two photos\n\nThe fee is 12 euros, in 30 days."
CHINESE = "馆在周一闭馆。门票十二元。"


def rated(sentences: list[str], response: str, scores: list[str] | None = None) -> object:
    blocks = [block(score, "q", each) for each, score in zip(sentences, scores or ["8"] * 99, strict=False)]
    return outcome("scorecard", "\n\n".join(blocks), response=response)


WHOLE: list[tuple[list[str], str]] = [
    (SENTENCES, RESPONSE),
    ([*reversed(SENTENCES)], RESPONSE),
    ([RESPONSE], RESPONSE),
    (["THE CAFE\u0301 opens at nine", *SENTENCES[1:]], RESPONSE),
    (["“The café opens at nine.”", "It's closed on Sunday!", *SENTENCES[2:]], RESPONSE),
    (["The café opens at nien.", *SENTENCES[1:]], RESPONSE),
    (["The café opens", "at nine.", *SENTENCES[1:]], RESPONSE),
    (["Bring:", "your ID card", "2. two photos", "The fee is 12 euros, in 30 days."], LIST),
    (["Bring: your ID card", "two photos", "The fee is 12 euros, in 30 days"], LIST),
    (["馆在周一闭馆。", "门票十二元。"], CHINESE),
    (["Twice said.", "Twice said."], "Twice said. Twice said."),
    (["It has [1] two towers."], "It has two towers [1]."),
    (["👍", "Yes."], "👍 Yes."),
    (["👍 👍"], "👍\n👍"),
    (["See https://example.org/a_b?c=1 now."], "See https://example.org/a_b?c=1 now."),
]


@pytest.mark.parametrize(("sentences", "response"), WHOLE)
def test_blocks_that_are_the_response_are_accepted(sentences: list[str], response: str) -> None:
    assert rated(sentences, response) == [8] * len(sentences)


PARTIAL: list[tuple[list[str], str]] = [
    (SENTENCES[:1], RESPONSE),
    (SENTENCES[:3], RESPONSE),
    ([*SENTENCES[:2], SENTENCES[3]], RESPONSE),
    ([*SENTENCES, "The café is on the roof of the tower."], RESPONSE),
    (["The café opens at ten.", "It is closed at Christmas, and so on!", *SENTENCES[2:]], RESPONSE),
    (["Bring:", "your ID card", "two photos", "The fee is 13 euros, in 30 days."], LIST),
    (["Bring:", "your ID card", "The fee is 12 euros, in 30 days."], LIST),
    (["馆在周一闭馆。"], CHINESE),
    (["Twice said."], "Twice said. Twice said."),
    (["Yes. 😀", "!!"], "Yes."),
    ([""], "Yes."),
]


@pytest.mark.parametrize(("sentences", "response"), PARTIAL)
def test_blocks_that_are_not_the_response_give_no_score(sentences: list[str], response: str) -> None:
    assert rated(sentences, response) in ("unrated_sentences", "no_verdict")


def test_sentence_rated_twice_counts_once_unless_the_response_has_it_twice() -> None:
    assert rated(["It is so.", "It is so."], "It is so.") == [8]
    assert rated(["It is so.", "It is so."], "It is so. It is so.") == [8, 8]
    assert rated(["It is so.", "It is so."], "It is so.", ["8", "2"]) == "ambiguous"


def test_block_of_the_template_hides_no_sentence() -> None:
    template = block("your Score", "the evidence", "the sentence")
    assert outcome(
        "scorecard", f"{template}\n\n{block('4', sentence='It is so.')}", response="It is so."
    ) == [4]
    echo = block("...", "NOTHING FOUND", "It is so.")
    both = f"{echo}\n\n{block('4', sentence='Or is it not so?')}"
    assert outcome("scorecard", both, response="It is so. Or is it not so?") == "unrated_sentences"


def test_error_names_what_is_missing_and_what_is_foreign() -> None:
    reply = Reply(
        block("8", sentence="It is open.") + "\n\n" + block("8", sentence="There is a huge terrace.")
    )
    with pytest.raises(ReplyError) as caught:
        READERS["scorecard"].read(reply, SCALES["scorecard"], Asked({}, "It is open. The pool is closed."))
    assert caught.value.quotes == ("the pool is closed", "There is a huge terrace.")
    assert "without a block: 1; blocks that are not in it: 1)" in caught.value.wording
    assert "pool" not in caught.value.wording


CASE = Case(response="It is open. The pool is closed.", context="It is open. The pool is shut, closed.")
FULL = block("8", "It is open.", "It is open.") + "\n\n" + block("5", "{}", "The pool is closed.")


def test_unrated_sentence_is_asked_about_once_inside_the_fence_and_then_an_error() -> None:
    partial = block("8", "It is open.", "It is open.")
    model = ScriptedModel(partial, FULL.format("The pool is shut, closed."))
    verdict = load("statement_groundedness", model=model).judge(CASE)
    assert (verdict.score, verdict.attempts, verdict.warnings) == (0.65, 2, ())
    asked = model.asked[-1].messages[-1]["content"]
    assert "<data-quote-" in asked
    assert asked.index("<data-quote-") < asked.index("the pool is closed") < asked.index("</data-quote-")
    failed = load("statement_groundedness", model=ScriptedModel(partial)).evaluate(CASE)
    assert failed.error
    assert (failed.error.code, failed.attempts, failed.score) == ("unrated_sentences", 2, None)


def test_evidence_that_is_nowhere_is_asked_about_once_and_then_shown() -> None:
    invented, found = FULL.format("Nobody may swim there at all."), FULL.format("The pool is shut, closed.")
    model = ScriptedModel(invented, found)
    verdict = load("statement_groundedness", model=model).judge(CASE)
    assert (verdict.score, verdict.attempts, verdict.warnings) == (0.65, 2, ())
    assert "Nobody may swim there at all." in model.asked[-1].messages[-1]["content"]
    for replies in ([invented], [invented, "no blocks"]):
        verdict = load("statement_groundedness", model=ScriptedModel(*replies)).judge(CASE)
        assert (verdict.score, verdict.attempts, verdict.warnings) == (0.65, 2, ("evidence_not_found",))
        assert [part.warnings for part in verdict.parts] == [(), ("evidence_not_found",)]
        assert "evidence_not_found: the evidence for sentence 2" in verdict.reason
        assert verdict.reason in verdict.explanation
    unneeded = FULL.replace("Score: 5", "Score: 0").format("Nobody may swim there at all.")
    assert load("statement_groundedness", model=ScriptedModel(unneeded)).judge(CASE).attempts == 1


def test_sentences_that_claim_nothing_have_no_score() -> None:
    case = Case(response="Hello! It is open.", context="It is open.")
    reply = block("NO CLAIM", "NOTHING FOUND", "Hello!") + "\n\n" + block("8", "It is open.", "It is open.")
    verdict = load("statement_groundedness", model=ScriptedModel(reply)).judge(case)
    assert ([part.score for part in verdict.parts], verdict.score) == ([None, 0.8], 0.8)
    nothing = load("statement_groundedness", model=ScriptedModel(block("NO CLAIM", sentence="Hello!")))
    verdict = nothing.judge(Case(response="Hello!", context="It is open."))
    assert (verdict.status, verdict.score, verdict.passed) == ("not_applicable", None, True)


WORDS = st.lists(st.sampled_from("rain snow sun wind 7 30 tea 山 水 é".split()), min_size=4, max_size=9)


@given(st.lists(WORDS.map(" ".join), min_size=2, max_size=6), st.data())
def test_dropped_sentence_is_found(sentences: list[str], data: st.DataObject) -> None:
    sentences = [f"s{number} {sentence}" for number, sentence in enumerate(sentences)]
    response = ". ".join(sentences) + "."
    assert rated(sentences, response) == [8] * len(sentences)
    dropped = data.draw(st.integers(0, len(sentences) - 1))
    rest = [*sentences[:dropped], *sentences[dropped + 1 :]]
    assert rated(rest, response) == "unrated_sentences"


LONG: list[tuple[list[str], str]] = [
    (["a"] * 500, "a " * 100_000),
    (["b"] * 2000, "a " * 100_000),
    (["a b" * 50] * 1000, "a b " * 50_000),
    (["x" * 100_000 + "y"], "x" * 200_000),
    ([f"word{n} is here." for n in range(0, 5000, 2)], " ".join(f"word{n} is here." for n in range(5000))),
    ([f"wxrd{n} is hero." for n in range(500)], " ".join(f"word{n} is here." for n in range(500))),
    (["山" * 50] * 1000, "山" * 100_000),
]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("number", range(len(LONG)))
def test_long_scorecards_are_compared_in_time(number: int) -> None:
    sentences, response = LONG[number]
    started = perf_counter()
    rated(sentences, response)
    assert perf_counter() - started < 10  # a quadratic comparison takes minutes
