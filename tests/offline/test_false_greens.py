"""What must not pass the offline judges, and what must: what the source says in nearly the same words.

A false green is a response that passes although the source does not say so: one detail is wrong, a bare
"Yes." answers the question, or an answer is what a crashed application left behind.
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

LIBRARY = "The library opens at 9:00 on weekdays. It is closed on Sundays."
HOURS = "When is it open?"
CAFE = "Is there a cafe?"
DRUGS = "Aspirin is allowed. Ibuprofen is forbidden."
DOSES = "Dose for adults: 500 mg. Dose for children: 250 mg."
DOSE = "What is the dose?"
PRICES = "| Ticket | Price |\n|---|---|\n| Adult | 12 euros |\n| Child | 5 euros |\n| Senior | 8 euros |"
ROOMS = "Room Anna: 2 beds, 80 euros.\nRoom Berta: 3 beds, 110 euros."

Row = tuple[str, str, str]
"""A source, a query and the response to it."""

BARE_ANSWERS: Mapping[str, Row] = {
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

WRONG_DETAILS: Mapping[str, Row] = {
    # neighbouring sentences
    "another sentence's time": (LIBRARY, HOURS, "It opens at 9:00 on Sundays."),
    "open on the day it is closed": (LIBRARY, HOURS, "It is open on Sundays."),
    "the neighbour's subject": (LIBRARY, HOURS, "The library is closed on weekdays."),
    "opens at 9 on Sundays": (LIBRARY, HOURS, "The library opens at 9:00 on Sundays."),
    "both days": (LIBRARY, HOURS, "The library opens at 9:00 on weekdays and Sundays."),
    "closed on both days": (LIBRARY, HOURS, "It is closed on weekdays and on Sundays."),
    "closed at 9": (LIBRARY, HOURS, "It is closed at 9:00 on weekdays."),
    "closed on the other day": (LIBRARY, HOURS, "The library opens at 9:00. It is closed on weekdays."),
    "closes at 9": (LIBRARY, HOURS, "The library closes at 9:00 on weekdays."),
    "another hour": (LIBRARY, HOURS, "The library opens at 9:30 on weekdays."),
    "the other drug": (DRUGS, "What may I take?", "Ibuprofen is allowed."),
    "the drug that is allowed": (DRUGS, "What may I take?", "Aspirin is forbidden."),
    "both drugs": (DRUGS, "What may I take?", "Aspirin and ibuprofen are allowed."),
    "the adults' dose for children": (DOSES, DOSE, "The dose for children is 500 mg."),
    "the children's dose for adults": (DOSES, DOSE, "The dose for adults is 250 mg."),
    "one dose for both": (DOSES, DOSE, "The dose for adults and children is 500 mg."),
    "children's dose, by the query": (DOSES, "What is the dose for children?", "The dose is 500 mg."),
    "children's dose, alone": (DOSES, "What is the dose for children?", "500 mg."),
    "the neighbour's year": (
        "The mill was built in 1850. The bridge was built in 1911.",
        "?",
        "The mill was built in 1911.",
    ),
    "a pronoun for the neighbour": (
        "The mill was built in 1850. It burned down in 1911.",
        "?",
        "It was built in 1911.",
    ),
    "a clause's subject from another sentence": (
        "The mill is open daily. The bridge was built in 1911.",
        "?",
        "The mill is open daily and was built in 1911.",
    ),
    "a second clause of another subject": (
        "Ada wrote the report. Otto signed the contract.",
        "?",
        "Ada wrote the report and signed the contract.",
    ),
    "a clause joined by a semicolon": (
        "The cafe sells tea. The shop sells bread.",
        "?",
        "The cafe sells tea; it sells bread.",
    ),
    "another's subject by half of the query's words": (
        "The basic plan costs 5 euros.",
        "What does the premium plan cost?",
        "It costs 5 euros.",
    ),
    "the query's subject with another's sentence": (
        "The cafe opens at 8. The museum opens at 10.",
        "When does the museum open?",
        "It opens at 8.",
    ),
    # tables
    "another row's price": (PRICES, "What does a child pay?", "Child: 12 euros."),
    "the query's row": (PRICES, "What does a child pay?", "12 euros."),
    "another line's beds": (ROOMS, "Which room?", "Room Anna: 3 beds."),
    "another line's rate": (ROOMS, "Which room?", "Room Berta: 3 beds, 140 euros."),
    # code and operators
    "another operator": ("The test passes if x > 5.", "?", "The test passes if x < 5."),
    "a not of code": ("Use `if !ready` in the loop.", "?", "Use `if ready` in the loop."),
    "True for False": ("The default of shuffle is False.", "?", "The default of shuffle is True."),
    "another option": (
        "Run it with --force to overwrite files.",
        "?",
        "Run it with --dry-run to overwrite files.",
    ),
    "another language": ("The server is written in C#.", "?", "The server is written in C."),
    "another letter": ("Vitamin C is taken in the morning.", "?", "Vitamin D is taken in the morning."),
    "another version": ("It needs Python 3.10 or later.", "?", "It needs Python 3.1 or later."),
    "or later": ("It needs Python 3.10 or later.", "?", "It needs Python 3.10 or earlier."),
    # units, numbers, currencies
    "miles for kilometres": ("The pier is 5 km long.", "?", "The pier is 5 miles long."),
    "a unit without a blank": ("The pier is 5km long.", "?", "The pier is 5m long."),
    "a minus": ("At night it has -5 degrees.", "?", "At night it has 5 degrees."),
    "a decimal point": ("The file has 1.5 MB.", "?", "The file has 15 MB."),
    "a leading zero": ("The dose is .5 ml.", "?", "The dose is 5 ml."),
    "dollars for euros": ("The ticket costs €12.", "?", "The ticket costs $12."),
    "squared": ("The garden has 40 m².", "?", "The garden has 40 m³."),
    # names
    "another first name": ("The mill was built by Ada Moor.", "?", "The mill was built by Ina Moor."),
    "a name with a shared stem": (
        "The award went to Martin Organ.",
        "?",
        "The award went to Martin Organic.",
    ),
    "another product's number": ("The X100 has two ports.", "?", "The X200 has two ports."),
    # negation
    "not taken out": ("Dogs are not allowed in the garden.", "?", "Dogs are allowed in the garden."),
    "n't": ("The lift doesn't stop at floor 3.", "?", "The lift stops at floor 3."),
    "never": ("The ferry never runs in winter.", "?", "The ferry runs in winter."),
    "no": ("There is no charge for parking.", "?", "There is a charge for parking."),
    "no longer": ("The shop no longer sells stamps.", "?", "The shop sells stamps."),
    "without": ("Breakfast without coffee costs 9 euros.", "?", "Breakfast with coffee costs 9 euros."),
    "a denial behind": ("The pool is heated, they said, but it is not.", "?", "The pool is heated."),
    "a rumour ahead": ("Nobody believes that the mayor will resign.", "?", "The mayor will resign."),
    "un-": ("The path is unpaved behind the mill.", "?", "The path is paved behind the mill."),
    "an opposite": ("The offer is valid in May.", "?", "The offer is invalid in May."),
    # quantifiers
    "all for some": ("Some guests of the inn sing.", "?", "All guests of the inn sing."),
    "all for most": ("Most rooms have a balcony.", "?", "Rooms have a balcony."),
    "at least": ("The course takes at least 6 weeks.", "?", "The course takes at most 6 weeks."),
    "up to": ("The car seats up to 5 people.", "?", "The car seats over 5 people."),
    "more than": ("More than 300 people came.", "?", "300 people came."),
    "only": ("Only members may use the sauna.", "?", "Members may use the sauna."),
    "almost": ("The tank is almost empty.", "?", "The tank is empty."),
    # conditions
    "unless": ("Entry is free unless you bring a dog.", "?", "Entry is free if you bring a dog."),
    "a condition ahead left out": (
        "If it rains, the concert moves indoors.",
        "?",
        "The concert moves indoors.",
    ),
    "an exception left out": ("We deliver daily except on Sundays.", "?", "We deliver daily."),
    "may for must": ("Visitors may wear a helmet.", "?", "Visitors must wear a helmet."),
    "must left out": ("The drug might help patients.", "?", "The drug helps patients."),
    # times
    "until for from": ("The pass is valid until 1 May.", "?", "The pass is valid from 1 May."),
    "before for after": ("Take it before meals.", "?", "Take it after meals."),
    "was for is": ("The mill was formerly a bank.", "?", "The mill is a bank."),
    # roles
    "who did what to whom": ("Ada Moor paints Otto Blom.", "?", "Otto Blom paints Ada Moor."),
    "to for from": ("The train goes from Bern to Basel.", "?", "The train goes from Basel to Bern."),
    "by": ("The firm was bought by Alpha.", "?", "The firm bought Alpha."),
    "with for without": ("Coffee with milk costs 3 euros.", "?", "Coffee without milk costs 3 euros."),
    # lists
    "one more item": (
        "The set has forks, knives and spoons.",
        "?",
        "The set has forks, knives, spoons and plates.",
    ),
    "an item exchanged": (
        "The set has forks, knives and spoons.",
        "?",
        "The set has forks, plates and spoons.",
    ),
    "an item of the other list": (
        "Included: towels, soap. Not included: slippers, robes.",
        "?",
        "Included: towels, robes.",
    ),
    "the list that is excluded": (
        "Included: towels, soap. Not included: slippers, robes.",
        "?",
        "Included: slippers, robes.",
    ),
    "an item under the other heading": (
        "Allowed:\n- water\n- bread\nForbidden:\n- beer\n- wine",
        "What is allowed?",
        "Allowed: beer.",
    ),
    "the order of steps": (
        "First drain the tank, then open the valve.",
        "?",
        "First open the valve, then drain the tank.",
    ),
    # comparison
    "more for less": ("The train is cheaper than the bus.", "?", "The bus is cheaper than the train."),
    "a superlative of another": (
        "The tower is the tallest building. The mill is the oldest building.",
        "?",
        "The tower is the oldest building.",
    ),
    # attribution
    "a claim that was withdrawn": (
        "The firm denied that it had sold the data.",
        "?",
        "The firm had sold the data.",
    ),
    # six languages
    "German weekday": (
        "Die Bibliothek öffnet werktags um 9 Uhr. Sonntags ist sie geschlossen.",
        "?",
        "Die Bibliothek öffnet sonntags um 9 Uhr.",
    ),
    "German negation": ("Hunde sind im Garten nicht erlaubt.", "?", "Hunde sind im Garten erlaubt."),
    "German from and to": ("Der Zug fährt von Bern nach Basel.", "?", "Der Zug fährt von Basel nach Bern."),
    "German condition": ("Der Eintritt ist frei, falls Sie Mitglied sind.", "?", "Der Eintritt ist frei."),
    "French negation": (
        "Les chiens ne sont pas admis dans le jardin.",
        "?",
        "Les chiens sont admis dans le jardin.",
    ),
    "French neighbour": (
        "Le musée ouvre à 9 heures. Le café ouvre à 8 heures.",
        "?",
        "Le musée ouvre à 8 heures.",
    ),
    "Spanish negation": ("El hotel no tiene piscina.", "?", "El hotel tiene piscina."),
    "Spanish name": ("El puente lo construyó Ana Ruiz.", "?", "El puente lo construyó Eva Ruiz."),
    "Italian negation": ("Il museo non è aperto la domenica.", "?", "Il museo è aperto la domenica."),
    "Russian negation": ("Музей не работает по воскресеньям.", "?", "Музей работает по воскресеньям."),
    "Chinese negation": ("博物馆周日不开放。", "?", "博物馆周日开放。"),
    "Chinese neighbour": ("博物馆九点开门。商店八点开门。", "?", "博物馆八点开门。"),
    "Japanese negation": ("犬の同伴は許可されていません。", "?", "犬の同伴は許可されています。"),
    # refusals that the source refutes
    "not mentioned, but it is": (
        "The cafe is open daily.",
        "Is there a cafe?",
        "The documents do not mention a cafe.",
    ),
    "no information, but there is": (
        "Parking costs 5 euros.",
        "What does parking cost?",
        "There is no information about parking.",
    ),
    "I don't know of, but it stands there": (
        "Parking costs 5 euros.",
        "What does parking cost?",
        "I don't know what parking costs.",
    ),
    "not specified, but it is": ("The dose for adults is 500 mg.", "?", "The dose is not specified."),
    "German, not mentioned, but it is": (
        "Das Café ist täglich geöffnet.",
        "?",
        "Die Dokumente erwähnen kein Café.",
    ),
    # talk that states something
    "thanks, and a claim": (LIBRARY, HOURS, "Thanks, it is open on Sundays."),
    "words of conversation about the library": (LIBRARY, HOURS, "It is free."),
    "words of conversation about dogs": (LIBRARY, HOURS, "They are welcome."),
    "one word": (LIBRARY, HOURS, "It opens at 9:00 on weekdays. Free."),
    "one word, denied": (LIBRARY, HOURS, "It opens at 9:00 on weekdays. Not free."),
    "glad to say": (LIBRARY, HOURS, "I am happy to tell you that it is open on Sundays."),
    "a question that claims": (LIBRARY, HOURS, "Did you know that the library opens at 7:00 on Saturdays?"),
    "a heading that claims": (LIBRARY, HOURS, "## The library opens on Sundays"),
    "according to": (LIBRARY, HOURS, "According to the documents, it is open on Sundays."),
    "a refusal that goes on": (LIBRARY, HOURS, "I couldn't find that, but it's free."),
    "a question with a number": (LIBRARY, HOURS, "Would you like your refund of 50 euros now?"),
    "a question that says so": (LIBRARY, HOURS, "Did you know that entry is free?"),
    "an offer that says so": (LIBRARY, HOURS, "Can I help you with more, now that your refund is paid?"),
    "another tense": (LIBRARY, HOURS, "The library opened at 9:00 on weekdays."),
    "what the user asked for, as done": (HOUSE, "Please change my flight.", "I have changed your flight!"),
    "done": (HOUSE, "Please change my flight.", "Done!"),
    "no to a request": (HOUSE, "Please change my flight.", "No."),
    "a longer one in small talk": (HOUSE, "Good morning!", "Good morning! Our branches close at noon today."),
    "yes, where the source says so only of others": (
        "The tablets are safe for adults.",
        "Are the tablets safe for babies?",
        "Yes, the tablets are safe.",
    ),
    "doch": ("Der Eintritt ist frei.", "Kostet der Eintritt etwas?", "Doch, der Eintritt ist frei."),
    "yes, where the rest of the sentence denies it": (
        "The plant is safe for cats and toxic for dogs.",
        "Is the plant safe for dogs?",
        "Yes, the plant is safe.",
    ),
    "yes, where the rest of the sentence has what is asked": (
        "The shop sells postcards and maps.",
        "Does the shop sell maps?",
        "Yes, it sells postcards.",
    ),
    "no, where the source says so only of others": (
        "The visa is not required for 90 days.",
        "Do I need a visa for 100 days?",
        "No, the visa is not required.",
    ),
    "a denial of what nobody mentions": (HOUSE, "Is there parking?", "Parking is not available."),
    "no, and such a denial": (HOUSE, "Is there parking?", "No, parking is not available."),
    "a refusal that concludes": (HOUSE, CAFE, "The source does not mention a cafe, so there is none."),
    "a refusal with a fact": (HOUSE, CAFE, "The source does not state the fee, which is 9 euros."),
    "a refusal with a reason": (HOUSE, CAFE, "I can't answer because the cafe burnt down."),
    "a refusal of somebody else": (HOUSE, CAFE, "The police could not find the thief."),
    "a refusal about what is there, in words of talk": (
        "Check-out is at 11.",
        "When is check-out?",
        "The source does not mention the check-out time.",
    ),
    "a clause next to a greeting": (HOUSE, "Thanks!", "You're welcome, parking is free!"),
    "a status": (HOUSE, "I'd love a coffee.", "Your first cup is free."),
    "a greeting with a name": (LIBRARY, HOURS, "Welcome to the library, open on Sundays!"),
}


FALSE_GREENS = {**BARE_ANSWERS, **WRONG_DETAILS}

PASSING: Mapping[str, Row] = {
    "the whole source": (HOUSE, "?", HOUSE),
    "neighbouring sentences": (LIBRARY, HOURS, LIBRARY),
    "capitals, in the past": (HOUSE, "?", "THE MUSEUM OPENED IN 1932."),
    "one of them": (LIBRARY, HOURS, "It is closed on Sundays."),
    "its sentences in another order": (
        HOUSE,
        "?",
        "The museum opened in 1932. Breakfast is included in the price.",
    ),
    "two sentences in one": (DRUGS, "?", "Aspirin is allowed, ibuprofen is forbidden."),
    "an article and a verb more": (DOSES, "?", "The dose for children is 250 mg."),
    "a row of a table": (PRICES, "?", "Child: 5 euros."),
    "a line of a list": (ROOMS, "?", "Room Berta: 3 beds, 110 euros."),
    "a list": (HOUSE, "?", "1. The museum opened in 1932.\n2. Breakfast is included in the price."),
    "bold": (HOUSE, "?", "**The museum** opened in 1932."),
    "code": ("The test passes if x > 5.", "?", "The test passes if x > 5."),
    "n't": (HOUSE, "?", "Dogs aren't allowed in the garden."),
    "none": ("None of the rooms has a bath.", "Do the rooms have baths?", "None of the rooms has a bath."),
    "unfortunately": (HOUSE, SUNDAYS, "Unfortunately, we are closed on Sundays."),
    "a courtesy ahead and behind": (
        HOUSE,
        "?",
        "Thank you for your question! The museum opened in 1932. I hope this helps.",
    ),
    "behind a lead-in": (HOUSE, "?", "Here is what I found:\nThe museum opened in 1932."),
    "a name that is a word elsewhere": ("Ed opened the bar in Bern.", "?", "Ed opened the bar in Bern."),
    "yes, spelt out": (OPEN, SUNDAYS, "Yes. We are open on Sundays."),
    "yes, ahead of it": (OPEN, SUNDAYS, "Yes, we are open on Sundays."),
    "no, denied": (
        "El jarabe no contiene azúcar.",
        "¿El jarabe contiene azúcar?",
        "No, el jarabe no contiene azúcar.",
    ),
    "yes, ahead of an answer to what": (
        HOUSE,
        "When did the museum open?",
        "Yes, the museum opened in 1932.",
    ),
    "German": ("Hunde sind im Garten nicht erlaubt.", "?", "Leider sind Hunde im Garten nicht erlaubt."),
    "French": ("Le musée ouvre à 9 heures. Il est petit.", "?", "Le musée ouvre à 9 heures."),
    "Spanish": ("El hotel no tiene piscina. Es antiguo.", "?", "El hotel no tiene piscina."),
    "Russian": ("Музей закрыт. Парк открыт.", "?", "Музей закрыт."),
    "Chinese": ("博物馆周日不开放。商店八点开门。", "?", "博物馆周日不开放。"),
    "Japanese": ("図書館は日曜日に休みます。", "?", "図書館は日曜日に休みます。"),
}

GARTEN = "Hunde sind im Garten nicht erlaubt."
CLAIMING_NOTHING: Mapping[str, Row] = {
    "you're welcome": (HOUSE, "Thank you!", "You're welcome!"),
    "hello": (HOUSE, "Hello?", "Hello! How can I help you today?"),
    "an offer": (HOUSE, "Thank you!", "Feel free to ask if you have any other questions."),
    "a wish": (HOUSE, "Thank you!", "Glad I could help. Have a nice day!"),
    "an apology": (HOUSE, "?", "Sorry for the delay!"),
    "an offer in a clause": (HOUSE, "Thank you!", "Is there anything else that I can do for you?"),
    "a question back": (HOUSE, "Please change my flight.", "Which booking is it?"),
    "of course to a request": (HOUSE, "Please change my flight.", "Of course!"),
    "of course to a wish": (HOUSE, "I have to change my flight.", "Of course! Which booking is it?"),
    "no rush": (HOUSE, "Hang on, I need to find my glasses.", "No rush, take your time."),
    "no worries": (HOUSE, "I misread that, my bad.", "No worries at all, that happens."),
    "an opener and an apology": (HOUSE, "It broke again.", "Oh no, I'm so sorry to hear that!"),
    "a question with a word of the source": (HOUSE, "It is too cold.", "Which of the rooms do you mean?"),
    "a courtesy of two clauses": (HOUSE, "Bye!", "Goodbye, and all the very best wishes!"),
    "a German courtesy": (GARTEN, "Danke!", "Gern geschehen!"),
    "I do not know": (HOUSE, SUNDAYS, "I do not know."),
    "I don't know": (HOUSE, "When do you open?", "I don't know."),
    "documents do not mention it": (HOUSE, CAFE, "The documents do not mention a cafe."),
    "it is not mentioned": (HOUSE, CAFE, "A cafe is not mentioned."),
    "not enough information": (HOUSE, CAFE, "I don't have enough information to answer that."),
    "no information": (HOUSE, CAFE, "There is no information about a cafe."),
    "documents do not say whether": (HOUSE, CAFE, "The context does not say whether there is a cafe."),
    "nothing found": (HOUSE, CAFE, "Sorry, I could not find anything about a cafe."),
    "no answer": (HOUSE, CAFE, "I cannot answer this question based on the context."),
    "nothing on it": (HOUSE, CAFE, "I have nothing on a cafe."),
    "two clauses": (HOUSE, CAFE, "Whether there is a cafe, the documents do not say."),
    "I am, spelt out": (HOUSE, CAFE, "I am sorry, the documents do not mention a cafe."),
    "sorry, but": (HOUSE, CAFE, "I'm sorry, but a cafe isn't mentioned in the text."),
    "not covered": (HOUSE, CAFE, "The article does not cover whether there is a cafe."),
    "a German refusal": (GARTEN, "Gibt es ein Café?", "Ein Café wird in den Dokumenten nicht erwähnt."),
}


def verdict_of(name: str, row: Row) -> Verdict:
    """Judge a row, with its source and query where the judge looks for them."""
    source, query, response = row
    fields: dict[str, Any] = {
        "query": query,
        "conversation": [{"role": "user", "content": query}],
        "context": [source],
        "reference": source,
        "profile": source,
        "agent_name": "Mira",
        "response": response,
    }
    fields_of_judge = shown_fields(JUDGES[name].rubric) | {"query"}
    return JUDGES[name].judge({field: value for field, value in fields.items() if field in fields_of_judge})


# One core reads what a response claims; the judges differ in their sources, and in what they write.
def test_false_green_is_not_decided() -> None:
    assert [kind for kind, row in FALSE_GREENS.items() if not is_undecided("groundedness", row)] == []


@pytest.mark.parametrize("name", JUDGES)
def test_no_judge_passes_a_false_green(name: str) -> None:
    for kind in ("yes, closed", "None", "not taken out", "another sentence's time", "a status"):
        assert is_undecided(name, FALSE_GREENS[kind]), kind


def is_undecided(name: str, row: Row) -> bool:
    verdict = verdict_of(name, row)
    outcome = (verdict.status, verdict.passed, verdict.confidence)
    return outcome == ("ok", False, 0) and "not_decided" in verdict.warnings


def test_nearly_the_words_of_the_source_pass() -> None:
    for kind, row in PASSING.items():
        verdict = verdict_of("groundedness", row)
        assert (verdict.status, verdict.passed, verdict.warnings) == ("ok", True, ()), kind
        assert verdict.score is not None
        assert verdict.score >= 0.8, kind


# A passage that claims nothing has no precision.
@pytest.mark.parametrize("name", [name for name in JUDGES if "recall" not in JUDGES[name].part_names])
def test_talk_and_honest_refusals_claim_nothing(name: str) -> None:
    for kind, row in CLAIMING_NOTHING.items():
        verdict = verdict_of(name, row)
        assert verdict.warnings == (), kind
        assert (verdict.status, verdict.score) in {("not_applicable", None), ("ok", 0.9)}, kind
