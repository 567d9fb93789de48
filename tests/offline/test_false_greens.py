"""What must not pass the offline judges, and its twin: what must stay right.

A false green is a response that passes although it says nothing that the source has: a bare "Yes." that the
source denies, or what a crashed application leaves in place of an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from bundled_judges import judges_with_a_source, shown_fields

from groundjudge import Verdict, load

JUDGES = {name: load(name, model="offline") for name in judges_with_a_source()}

CLOSED = "We are closed on Sundays."
HOUSE = (
    "We are closed on Sundays. Dogs are not allowed in the garden. Breakfast is included in the price. "
    "The lift is out of order. The ferry does not run in winter. The museum opened in 1932. "
    "Smoking is forbidden in the rooms."
)
OPEN = "We are open on Sundays. Dogs are allowed in the garden. The pool is not heated."
SUNDAYS = "Are you open on Sundays?"
NAME = "What is the middle name?"

Row = tuple[str, str, str]
"""A source, a query and the response to it."""

FALSE_GREENS: Mapping[str, Row] = {
    # what the source denies
    "yes, closed": (HOUSE, SUNDAYS, "Yes."),
    "yes, without a point": (HOUSE, SUNDAYS, "Yes"),
    "yes in capitals": (HOUSE, SUNDAYS, "YES!"),
    "yes with an exclamation mark": (HOUSE, SUNDAYS, "Yes!"),
    "yes in bold": (HOUSE, SUNDAYS, "**Yes.**"),
    "yeah": (HOUSE, SUNDAYS, "Yeah."),
    "yep": (HOUSE, SUNDAYS, "Yep!"),
    "of course": (HOUSE, SUNDAYS, "Of course!"),
    "yes, of course": (HOUSE, SUNDAYS, "Yes, of course!"),
    "sure": (HOUSE, SUNDAYS, "Sure."),
    "sure, with thanks": (HOUSE, SUNDAYS, "Sure, thank you!"),
    "certainly": (HOUSE, SUNDAYS, "Certainly!"),
    "absolutely": (HOUSE, SUNDAYS, "Absolutely!"),
    "definitely": (HOUSE, SUNDAYS, "Definitely."),
    "correct": (HOUSE, SUNDAYS, "That's correct."),
    "exactly": (HOUSE, SUNDAYS, "Exactly."),
    "ok": (HOUSE, SUNDAYS, "OK."),
    "a thumb": (HOUSE, SUNDAYS, "👍"),
    "we are": (HOUSE, SUNDAYS, "We are."),
    "yes, we are": (HOUSE, SUNDAYS, "Yes, we are."),
    "I think so": (HOUSE, SUNDAYS, "I think so."),
    "yes, and a courtesy": (HOUSE, SUNDAYS, "Yes. Happy to help!"),
    "sure, and an offer": (HOUSE, SUNDAYS, "Sure, I'm happy to help!"),
    "of course, and a question back": (HOUSE, SUNDAYS, "Of course! Which day is it?"),
    "yes, and something else": (HOUSE, SUNDAYS, "Yes. The museum opened in 1932."),
    "yes, ahead of something else": (HOUSE, SUNDAYS, "Yes, the museum opened in 1932."),
    "yes, spelt out": (HOUSE, SUNDAYS, "Yes, we are open on Sundays."),
    "spelt out without yes": (HOUSE, SUNDAYS, "We are open on Sundays."),
    "no, open": (OPEN, SUNDAYS, "No."),
    "nope": (OPEN, SUNDAYS, "Nope."),
    "of course not": (OPEN, SUNDAYS, "Of course not."),
    "never": (OPEN, SUNDAYS, "Never."),
    "we are not": (OPEN, SUNDAYS, "We are not."),
    "no, we aren't": (OPEN, SUNDAYS, "No, we aren't."),
    "unfortunately not": (OPEN, SUNDAYS, "Unfortunately not."),
    "I'm afraid not": (OPEN, SUNDAYS, "I'm afraid not."),
    "yes, not allowed": (HOUSE, "Are dogs allowed in the garden?", "Yes."),
    "they are, not allowed": (HOUSE, "Are dogs allowed in the garden?", "They are."),
    "no, included": (HOUSE, "Is breakfast included in the price?", "No."),
    "it isn't, included": (HOUSE, "Is breakfast included in the price?", "It isn't."),
    "it does, does not run": (HOUSE, "Does the ferry run in winter?", "It does."),
    "yes, forbidden": (HOUSE, "Is smoking allowed in the rooms?", "Yes."),
    "no, forbidden": (HOUSE, "Is smoking forbidden in the rooms?", "No."),
    "yes, not heated": (OPEN, "Is the pool heated?", "Yes."),
    "a question without its mark": (HOUSE, "are you open on sundays", "yes"),
    "a greeting ahead of the question": (HOUSE, "Hello! Are you open on Sundays?", "Yes."),
    "an indirect question": (HOUSE, "Can you tell me whether you are open on Sundays?", "Yes."),
    "a question without a verb": (HOUSE, "Open on Sundays?", "Yes."),
    "a negated question": (HOUSE, "Aren't you open on Sundays?", "Yes."),
    "the second of two questions": (
        "Dogs are allowed. " + CLOSED,
        "Are dogs allowed? Open on Sundays?",
        "Yes.",
    ),
    # what the source does not settle
    "yes, nothing about it": (HOUSE, "Do you have a sauna?", "Yes."),
    "no, nothing about it": (HOUSE, "Do you have a sauna?", "No."),
    "of course, nothing about it": (HOUSE, "Can I bring my cat?", "Of course!"),
    "yes, an exception": ("We are open daily except on Sundays.", SUNDAYS, "Yes."),
    "yes, another exception": ("We are open every day but Sunday.", "Are you open on Sunday?", "Yes."),
    "yes, once": ("We were open on Sundays until 2019.", SUNDAYS, "Yes."),
    "yes, two sentences disagree": ("We are open on Sundays. " + CLOSED, SUNDAYS, "Yes."),
    "no, two sentences disagree": ("We are open on Sundays. " + CLOSED, SUNDAYS, "No."),
    "yes, another thing is open": ("The cafe is open on Sundays.", "Is the museum open on Sundays?", "Yes."),
    "yes, come along and another day": (OPEN, "Can I simply come along on Mondays?", "Yes."),
    "yes, come along, ahead of another day": (
        OPEN,
        "Can I simply come along on Mondays?",
        "Yes, we are open on Sundays.",
    ),
    "yes, come along with somebody": (
        OPEN,
        "Can my cat simply come along on Sundays?",
        "Yes, we are open on Sundays.",
    ),
    "yes to one of two": ("Tea is free.", "Is tea free or is coffee free?", "Yes."),
    "yes, no longer": ("We are no longer open on Sundays.", SUNDAYS, "Yes."),
    "yes to what": (HOUSE, "When did the museum open?", "Yes."),
    "yes to what, and something foreign": (
        HOUSE,
        "When did the museum open?",
        "Yes, the museum belongs to Ada Kestrel.",
    ),
    "yes to what, and another number": (
        HOUSE,
        "When did the museum open?",
        "Yes, the museum opened in 1923.",
    ),
    "yes to what and to whether": (
        HOUSE,
        "When did the museum open? Are you open on Sundays?",
        "Yes, the museum opened in 1932.",
    ),
    "yes, nothing about it, ahead of something else": (
        HOUSE,
        "Do you have a sauna?",
        "Yes, breakfast is included in the price.",
    ),
    # languages
    "German yes": ("Wir haben sonntags geschlossen.", "Haben Sie sonntags geöffnet?", "Ja."),
    "German no": ("Wir haben sonntags geöffnet.", "Haben Sie sonntags geöffnet?", "Nein."),
    "German courtesy": ("Hunde sind nicht erlaubt.", "Sind Hunde erlaubt?", "Natürlich!"),
    "French yes": ("Le musée est fermé le dimanche.", "Le musée est-il ouvert le dimanche ?", "Oui."),
    "French courtesy": ("Le musée est fermé le dimanche.", "Est-ce que le musée est ouvert ?", "Bien sûr !"),
    "Spanish yes": ("El museo está cerrado los domingos.", "¿El museo está abierto los domingos?", "Sí."),
    "Italian yes": ("Il museo è chiuso la domenica.", "Il museo è aperto la domenica?", "Sì."),
    "Portuguese yes": ("O museu está fechado.", "O museu está aberto?", "Sim."),
    "Dutch yes": ("Het museum is op zondag gesloten.", "Is het museum op zondag open?", "Ja."),
    "Chinese yes": ("博物馆周日不开放。", "博物馆周日开放吗？", "是的。"),
    "Chinese can": ("博物馆内不允许带狗。", "博物馆内允许带狗吗？", "可以。"),
    "Chinese no": ("博物馆周日开放。", "博物馆周日开放吗？", "不是。"),
    "Japanese yes": ("日曜日は休館です。", "日曜日は開いていますか？", "はい。"),
    "Russian yes": ("Музей закрыт по воскресеньям.", "Музей открыт по воскресеньям?", "Да."),
    # what a crashed application leaves
    "None": (HOUSE, SUNDAYS, "None"),
    "None with a point": (HOUSE, SUNDAYS, "None."),
    "none": (HOUSE, SUNDAYS, "none"),
    "null": (HOUSE, SUNDAYS, "null"),
    "NULL": (HOUSE, SUNDAYS, "NULL"),
    "nil": (HOUSE, SUNDAYS, "nil"),
    "nan": (HOUSE, SUNDAYS, "nan"),
    "NaN": (HOUSE, SUNDAYS, "NaN"),
    "NaT": (HOUSE, SUNDAYS, "NaT"),
    "undefined": (HOUSE, SUNDAYS, "undefined"),
    "#N/A": (HOUSE, SUNDAYS, "#N/A"),
    "N/A": (HOUSE, SUNDAYS, "N/A"),
    "n/a": (HOUSE, SUNDAYS, "n/a"),
    "NA of pandas": (HOUSE, SUNDAYS, "<NA>"),
    "an object of JavaScript": (HOUSE, SUNDAYS, "[object Object]"),
    "an empty list": (HOUSE, SUNDAYS, "[]"),
    "an empty list with a blank": (HOUSE, SUNDAYS, "[ ]"),
    "a list of null": (HOUSE, SUNDAYS, "[null]"),
    "an empty mapping": (HOUSE, SUNDAYS, "{}"),
    "an empty text in quotes": (HOUSE, SUNDAYS, '""'),
    "three points": (HOUSE, SUNDAYS, "..."),
    "an ellipsis": (HOUSE, SUNDAYS, "…"),
    "a hyphen": (HOUSE, SUNDAYS, "-"),
    "a dash": (HOUSE, SUNDAYS, "—"),
    "a question mark": (HOUSE, SUNDAYS, "?"),
    "a point": (HOUSE, SUNDAYS, "."),
    "an ideographic full stop": (HOUSE, SUNDAYS, "。"),
    "underscores": (HOUSE, SUNDAYS, "___"),
    "None, twice": (HOUSE, SUNDAYS, "None\nNone"),
    "None to a request": (HOUSE, "Please change my flight.", "None"),
    "points to a request": (HOUSE, "Please change my flight.", "..."),
    "None in a source that has the word": (
        "None of the rooms has a bath. We open at 9.",
        "When do you open?",
        "None",
    ),
    "None to a question for a name": ("First name: Ada. Middle name: Eve.", NAME, "None."),
    "null beside another key": ('{"first": "Ada", "middle_name": "Eve", "fax": null}', NAME, "null"),
    "a hyphen in a source that has one": ("The well-kept middle name.", NAME, "-"),
    "nothing": ("Bring a towel.", "What must I bring?", "Nothing."),
    "nobody": ("Ada painted the house.", "Who painted the house?", "Nobody."),
    "none of several": ("The rooms have a bath.", "Which rooms have a bath?", "None."),
}


def case_of(name: str, row: Row) -> dict[str, Any]:
    """A row as the case of a judge, with its source and query where that judge looks for them."""
    source, query, response = row
    fields = {
        "query": query,
        "conversation": [{"role": "user", "content": query}],
        "context": [source],
        "reference": source,
        "profile": source,
        "agent_name": "Mira",
        "response": response,
    }
    fields_of_judge = shown_fields(JUDGES[name].rubric) | {"query"}
    return {field: value for field, value in fields.items() if field in fields_of_judge}


def verdict_of(name: str, row: Row) -> Verdict:
    return JUDGES[name].judge(case_of(name, row))


@pytest.mark.parametrize("name", JUDGES)
@pytest.mark.parametrize("row", FALSE_GREENS.values(), ids=FALSE_GREENS)
def test_false_green_fails(name: str, row: Row) -> None:
    verdict = verdict_of(name, row)
    assert verdict.status == "ok"
    assert verdict.passed is False
    reasons = [verdict.reason, *(part.reason for part in verdict.parts)]
    is_explained = any("Not backed" in reason for reason in reasons)
    assert is_explained or any(part.evidence for part in verdict.parts)


RIGHT: Mapping[str, tuple[Row, str]] = {
    "no, closed": ((HOUSE, SUNDAYS, "No."), "passes"),
    "of course not, closed": ((HOUSE, SUNDAYS, "Of course not."), "passes"),
    "unfortunately not, closed": ((HOUSE, SUNDAYS, "Unfortunately not."), "passes"),
    "we aren't, closed": ((HOUSE, SUNDAYS, "We aren't."), "passes"),
    "no, no longer": (("We are no longer open on Sundays.", SUNDAYS, "No."), "passes"),
    "yes, open": ((OPEN, SUNDAYS, "Yes."), "passes"),
    "of course, open": ((OPEN, SUNDAYS, "Of course!"), "passes"),
    "of course and a question back, open": ((OPEN, SUNDAYS, "Of course! Which day is it?"), "passes"),
    "we are, open": ((OPEN, SUNDAYS, "We are."), "passes"),
    "yes, with a greeting": ((OPEN, "Hello! Are you open on Sundays?", "Hello! Yes."), "passes"),
    "yes, not closed": (("We are not closed on Sundays.", SUNDAYS, "Yes."), "passes"),
    "not open, closed": ((HOUSE, SUNDAYS, "We are not open on Sundays."), "passes"),
    "yes, allowed": ((OPEN, "Are dogs allowed in the garden?", "Yes, they are."), "passes"),
    "no, not allowed": ((HOUSE, "Are dogs allowed in the garden?", "No, they aren't."), "passes"),
    "no, forbidden": ((HOUSE, "Is smoking allowed in the rooms?", "No."), "passes"),
    "yes, forbidden": ((HOUSE, "Is smoking forbidden in the rooms?", "Yes."), "passes"),
    "yes, included": ((HOUSE, "Is breakfast included in the price?", "Yes."), "passes"),
    "yes, spelt out": ((OPEN, SUNDAYS, "Yes. We are open on Sundays."), "passes"),
    "yes, ahead of it": ((OPEN, SUNDAYS, "Yes, we are open on Sundays."), "passes"),
    "yes, come along, spelt out": (
        (OPEN, "Can I simply come along on Sundays?", "Yes, we are open on Sundays."),
        "passes",
    ),
    "yes, ahead of an answer to what": (
        (HOUSE, "When did the museum open?", "Yes, the museum opened in 1932."),
        "passes",
    ),
    "yeah, ahead of something else than what": (
        (HOUSE, "Who runs the museum?", "Yeah, the museum opened in 1932."),
        "passes",
    ),
    "no, ahead of it": ((HOUSE, SUNDAYS, "No, we are closed on Sundays."), "passes"),
    "yes, and another clause": (("We are open on Sundays, but not on Mondays.", SUNDAYS, "Yes."), "passes"),
    "yes, by a pronoun": (
        (
            "The wool museum has 40 rooms. It is open on Sundays.",
            "Is the wool museum open on Sundays?",
            "Yes.",
        ),
        "passes",
    ),
    "German no": (("Hunde sind nicht erlaubt.", "Sind Hunde erlaubt?", "Nein."), "passes"),
    "German yes": (("Wir haben sonntags geöffnet.", "Haben Sie sonntags geöffnet?", "Ja."), "passes"),
    "French no": (("Le musée est fermé le dimanche.", "Le musée est ouvert le dimanche ?", "Non."), "passes"),
    "Spanish no": (("El museo está cerrado.", "¿El museo está abierto?", "No."), "passes"),
    "Chinese yes": (("博物馆周日开放。", "博物馆周日开放吗？", "是的。"), "passes"),
    "Chinese no": (("博物馆周日不开放。", "博物馆周日开放吗？", "不是。"), "passes"),
    "none, as an answer": (("Middle name: none.", NAME, "None."), "passes"),
    "N/A, as an answer": (("Fax number: N/A", "What is the fax number?", "N/A"), "passes"),
    "null, as an answer": (('{"middle_name": null}', NAME, "null"), "passes"),
    "none of the rooms": (("None of the rooms has a bath.", "Which rooms have a bath?", "None."), "passes"),
    "a sentence with none": (
        ("None of the rooms has a bath.", "Do the rooms have baths?", "None of the rooms has a bath."),
        "passes",
    ),
    "you're welcome": ((HOUSE, "Thank you!", "You're welcome!"), "claims nothing"),
    "which booking": ((HOUSE, "Please change my flight.", "Which booking is it?"), "claims nothing"),
    "I do not know": ((HOUSE, SUNDAYS, "I do not know."), "claims nothing"),
    "I don't know": ((HOUSE, "When do you open?", "I don't know."), "claims nothing"),
    "of course to a request": ((HOUSE, "Please change my flight.", "Of course!"), "claims nothing"),
    "of course to a wish": (
        (HOUSE, "I have to change my flight.", "Of course! Which booking is it?"),
        "claims nothing",
    ),
    "sure to a polite request": ((HOUSE, "Could you change my flight for me?", "Sure!"), "claims nothing"),
    "yes to a request": ((HOUSE, "Please change my flight.", "Yes, of course."), "claims nothing"),
    "certainly to a wish to be told": (
        (HOUSE, "Can you tell me when you open?", "Certainly! Which day is it?"),
        "claims nothing",
    ),
    "of course to a question for help": ((HOUSE, "Can you help me?", "Of course!"), "claims nothing"),
    "of course to a question for a question": (
        (HOUSE, "May I ask you something?", "Of course!"),
        "claims nothing",
    ),
    "sure to a question for a time": ((HOUSE, "When do you open?", "Sure, happy to help!"), "claims nothing"),
    "hello": ((HOUSE, "Hello?", "Hello! How can I help you today?"), "claims nothing"),
    "a thumb to thanks": ((HOUSE, "Thank you!", "👍"), "claims nothing"),
    "Chinese thanks": ((HOUSE, "谢谢！", "不客气！"), "claims nothing"),
}


# A bare "Yes." is a poor passage, whatever it answers.
JUDGES_OF_ANSWERS = [name for name in JUDGES if "recall" not in JUDGES[name].part_names]


@pytest.mark.parametrize("name", JUDGES_OF_ANSWERS)
@pytest.mark.parametrize(("row", "expected"), RIGHT.values(), ids=RIGHT)
def test_what_is_right_stays_right(name: str, row: Row, expected: str) -> None:
    verdict = verdict_of(name, row)
    if expected == "claims nothing":
        assert verdict.status == "not_applicable" or (verdict.score or 0) >= 0.9
    else:
        assert (verdict.status, verdict.passed) == ("ok", True)


POOL = "The pool was built in 1932. Dogs are not allowed."
HEATED = "Is it heated in winter?"


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        pytest.param("Yes. The pool was built in 1932.", "Yes.", id="than alone"),
        pytest.param(
            "Yes. The pool was built in 1932.",
            "Yes. The pool was built in 1935.",
            id="than ahead of an error",
        ),
        pytest.param(
            "Yes. The pool was built in 1932.", "The pool was built in 1932. Yes.", id="than behind the claim"
        ),
        pytest.param(
            "Yes. Thank you. The pool was built in 1932.", "Yes. Thank you.", id="with a courtesy between"
        ),
        pytest.param(
            "Yes. Dogs are not allowed.", "Yes. Penguins hunt for fish.", id="than ahead of something foreign"
        ),
    ],
)
def test_unsettled_yes_fails_by_less_ahead_of_what_is_backed(better: str, worse: str) -> None:
    judge = JUDGES["confidence_grounding"]
    verdicts = [
        judge.judge({"query": HEATED, "context": [POOL], "response": response})
        for response in (better, worse)
    ]

    assert [verdict.passed for verdict in verdicts] == [False, False]
    assert (verdicts[0].score or 0) > (verdicts[1].score or 0)
