"""A scorecard rates every sentence of the response, and no other; or it gives no score."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from read_replies import READERS, SCALES, block, outcome
from scripted_model import ScriptedModel

from groundjudge import Case, Reply, ReplyError, Verdict, load
from groundjudge.replies import Expectation

RESPONSE = "The café opens at nine. It is closed on Sundays! Is there a terrace? Yes."
SENTENCES = ["The café opens at nine.", "It is closed on Sundays!", "Is there a terrace?", "Yes."]
LIST = "Bring:\n1. your ID card\n2. two photos\n\nThe fee is 12 euros, in 30 days."


def rated(sentences: list[str], response: str, scores: list[str] | None = None) -> object:
    """The outcome of a scorecard with a block for each sentence, at most 99; by default each scores 8."""
    if scores is None:
        scores = ["8"] * 99
    blocks = [block(score, "q", sentence) for sentence, score in zip(sentences, scores, strict=False)]
    return outcome("scorecard", "\n\n".join(blocks), response=response)


WHOLE: list[Any] = [
    pytest.param(SENTENCES, RESPONSE, id="each sentence"),
    pytest.param([*reversed(SENTENCES)], RESPONSE, id="in another order"),
    pytest.param(
        ["THE CAFE\u0301 opens at nine", *SENTENCES[1:]], RESPONSE, id="capitals, and an accent of its own"
    ),
    pytest.param(
        ["“The café opens at nine.”", "It's closed on Sunday!", *SENTENCES[2:]],
        RESPONSE,
        id="quotation marks, a short form and an ending",
    ),
    pytest.param(["The café opens at nien.", *SENTENCES[1:]], RESPONSE, id="two letters that changed places"),
    pytest.param(["The café opens", "at nine.", *SENTENCES[1:]], RESPONSE, id="a sentence in two blocks"),
    pytest.param(
        ["Bring:", "your ID card", "2. two photos", "The fee is 12 euros, in 30 days."],
        LIST,
        id="a list with and without its numbers",
    ),
    pytest.param(
        ["Twice said.", "Twice said."], "Twice said. Twice said.", id="a sentence twice in the response"
    ),
    pytest.param(["It has [1] two towers."], "It has two towers [1].", id="a citation in another place"),
    pytest.param(
        ["See https://example.org/a_b?c=1 now."], "See https://example.org/a_b?c=1 now.", id="an address"
    ),
    pytest.param(
        ["See the page.", "It is 5 km."],
        "See [the page](http://x.y/z). It’s <b>5km</b>.",
        id="a link and a tag",
    ),
    pytest.param(
        ["Accomodation is - by the way - 9-5 °C."],
        "ACCOMMODATION is — by the way — **9 – 5°C**.",
        id="signs for dashes and a doubled letter",
    ),
    pytest.param(
        ["The café opens at...", "So it is."],
        "The café opens at nine sharp. So it is.",
        id="the longest cut: two words behind an ellipsis",
    ),
    pytest.param(["It opens at...", "So it is."], "It opens at nine. So it is.", id="a cut of one word"),
    pytest.param(
        ["Dogs", "Cats", "狗可以。"], "+ Dogs\n2) Cats\n① 狗可以。", id="bullets and numbers of several kinds"
    ),
]


@pytest.mark.parametrize(("sentences", "response"), WHOLE)
def test_blocks_that_are_the_response_are_accepted(sentences: list[str], response: str) -> None:
    assert rated(sentences, response) == [8] * len(sentences)


PARTIAL: list[Any] = [
    pytest.param(SENTENCES[:3], RESPONSE, id="the last sentence left out"),
    pytest.param([*SENTENCES, "The café is on the roof of the tower."], RESPONSE, id="a sentence too many"),
    pytest.param(
        ["The café opens at ten.", "It is closed at Christmas, and so on!", *SENTENCES[2:]],
        RESPONSE,
        id="two sentences altered",
    ),
    pytest.param(
        ["Bring:", "your ID card", "two photos", "The fee is 13 euros, in 30 days."],
        LIST,
        id="another number",
    ),
    pytest.param(["Twice said."], "Twice said. Twice said.", id="a sentence left out that occurs twice"),
    pytest.param(["Yes. 😀", "!!"], "Yes.", id="signs that the response lacks"),
    pytest.param(["It is open [2]."], "It is open [1].", id="another citation"),
    pytest.param(
        ["The dose is 10 mg.", "The limit is 5 mg."],
        "The dose is 5 mg. The limit is 10 mg.",
        id="two numbers exchanged",
    ),
    pytest.param(
        ["The drug is not", "safe for children."],
        "The drug is not safe for children.",
        id="a negation cut from its words",
    ),
    pytest.param(
        ["It opens at...", "So it is."], "It opens at 9 every day. So it is.", id="a cut of three words"
    ),
    pytest.param(
        ["It opens...", "So it is."], "It opens. At 9. So it is.", id="a cut that goes on in another sentence"
    ),
    pytest.param(
        ["Dog barks.", "Dogs bark."], "Dogs bark.", id="a sentence too many that differs in endings"
    ),
]
ALTERED = """He can swim. = He can't swim. | Members may not enter. = Members may enter.
It is safe. = It is unsafe. | We never open at 9 on weekdays. = We open at 9 on weekdays.
Dogs are allowed. = Cats are allowed. | x < 5 = x > 5 | We open before 9. = We open after 9.
It costs 5 euros. = It costs 5 dollars. | It is -5 °C. = It is 5 °C. | Yes. = No.
Only members may. = Members may. | Correct. = Incorrect.
Es kostet keine Gebühr. = Es kostet eine Gebühr. | 不可以进入。 = 可以进入。
We open on all days except Sundays. = We open on all days. | Yapıyor. = Yapmıyor. | 5 € = 5
Take .5 mg. = Take 5 mg. | It is -.5 °C. = It is .5 °C. | It costs ₹5. = It costs ₽5.
It takes 1.5 hours. = It takes 15 hours. | Take prednisone. = Take prednisolone. | Room 101 = Room 110
We open at 9. = We open at. | A thoughtful answer. = A thoughtless answer.
Ann called Bob. = Bob called Ann. | 入れません。 = 入れます。 | not so = so"""
for pair in ALTERED.replace("\n", " | ").split(" | "):
    sentence, copy = pair.split(" = ")
    PARTIAL.append(pytest.param([copy], sentence, id=f"altered: {pair}"))


@pytest.mark.parametrize(("sentences", "response"), PARTIAL)
def test_blocks_that_are_not_the_response_give_no_score(sentences: list[str], response: str) -> None:
    assert rated(sentences, response) in ("unrated_sentences", "no_verdict")


def test_sentence_rated_twice_counts_once() -> None:
    assert rated(["It is so.", "It is so."], "It is so.") == [8]
    assert rated(["It is so.", "It is so."], "It is so.", ["8", "2"]) == "ambiguous"


SURPLUS = [
    pytest.param("It is so.", "another quote", id="a sentence again with other evidence"),
    pytest.param("It is so.", "NOTHING FOUND", id="a sentence again without evidence"),
    pytest.param("", "q", id="an empty sentence"),
    pytest.param(".", "q", id="a full stop"),
    pytest.param("is", "q", id="a word that may differ"),
]


@pytest.mark.parametrize(("sentence", "evidence"), SURPLUS)
def test_block_that_the_response_does_not_need_is_ambiguous(sentence: str, evidence: str) -> None:
    """A document that is quoted as evidence may end its block, and begin one that takes the judge's score."""
    text = block("0", evidence, "It is so.") + "\n\n" + block("0", evidence, sentence)
    if evidence == "another quote":
        text += "\n\n" + block("0", "q", sentence)
    assert outcome("scorecard", text, response="It is so.") == "ambiguous"


def test_block_of_signs_is_accepted_where_it_is_all_of_the_response() -> None:
    assert rated(["👍 !!"], "👍 !!") == [8]
    assert rated(["It is so.", "👍", "!!"], "It is so. 👍 !!") == "ambiguous"


def test_error_tells_which_block_is_one_too_many() -> None:
    blocks = [block("8", sentence=sentence) for sentence in ("Bring:", "a card", "2.", "two photos")]
    reply = Reply("\n\n".join(blocks))
    with pytest.raises(ReplyError) as caught:
        READERS["scorecard"].read_reply(
            reply, SCALES["scorecard"], Expectation({}, "Bring:\n1. a card\n2. two photos")
        )
    assert (caught.value.code, caught.value.quotes, caught.value.numbers) == ("ambiguous", ("2.",), (3,))
    assert "block 3 is one too many" in caught.value.wording


def test_block_of_the_template_hides_no_sentence() -> None:
    template, rated_one = (
        block("your Score", "the evidence", "the sentence"),
        block("4", sentence="It is so."),
    )
    assert outcome("scorecard", f"{template}\n\n{rated_one}", response="It is so.") == [4]
    both = f"{block('...', 'NOTHING FOUND', 'Or is it not?')}\n\n{rated_one}"
    assert outcome("scorecard", both, response="Or is it not? It is so.") == "unrated_sentences"


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
    verdict = load("statement_groundedness", model=model).evaluate(case)
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
        assert "evidence_not_found: the evidence for sentence 2" in verdict.reason
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
