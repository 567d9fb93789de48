"""A sentence is backed by one source sentence with its content words in their order, and by nothing else."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from groundjudge.offline.alignment import read_sources
from groundjudge.offline.claims import Claim, read_claims

Row = tuple[str, str] | tuple[str, str, str]
"""A source, a text that is looked up in it, and the query that the text answers."""

TWO = "The mill is red. The bridge is old."
OPENING = "The cafe opens at 8. The museum opens at 10."
WHEN = "When does the museum open?"
RANGE = "The train goes from Bern to Basel."
SET = "The set has forks, knives and spoons."
TABLE = "| Boat | Departs | Berth |\n|---|---|---|\n| Skua | 7:40 | 3 |\n| Tern | 8:15 | 5 |"
STEPS = "1. Open the valve.\n2. Drain the tank."

BACKED: Mapping[str, Row] = {
    # forms of a word
    "singular for plural": ("The mills grind oats daily.", "The mill grinds oats daily."),
    "German plural": ("Die Mühle ist alt und rot.", "Die Mühlen sind alt und rot."),
    "a genitive": ("The dog's bed is red.", "The dog bed is red."),
    "a hyphen": ("The well-kept mill is red.", "The well kept mill is red."),
    "not for n't": ("The lift doesn't work today.", "The lift does not work today."),
    "cannot for can't": ("We can't open today.", "We cannot open today."),
    "n't for not": ("The lift will not work today.", "The lift won't work today."),
    # numbers are values
    "a comma of thousands": ("The hall has 1,000 seats.", "The hall has 1000 seats."),
    "a comma of thousands and decimals": ("It costs 1,000.50 euros.", "It costs 1000.50 euros."),
    "a point ahead": ("The dose is .5 ml daily.", "The dose is 0.5 ml daily."),
    "another sign for minus": ("It has -5 degrees today.", "It has −5 degrees today."),
    "a unit without a blank": ("The pier is 5km long.", "The pier is 5 km long."),
    "a currency with a blank": ("The price is €12 a day.", "The price is € 12 a day."),
    "a decimal comma": ("Der Stein wiegt 1,5 Tonnen.", "Der Stein wiegt 1.5 Tonnen."),
    "wide digits": ("The hall has ２ doors.", "The hall has 2 doors."),
    # function words
    "function words added": ("Opening hours: Sundays 10 to 16.", "The opening hours are Sundays 10 to 16."),
    "function words left out": ("The mill of the town has been red.", "Mill of town: red."),
    "a French article": ("Le bonnet de bain est obligatoire.", "Un bonnet de bain est obligatoire."),
    "a Spanish verb": ("Precio de la entrada: 8 euros.", "El precio de la entrada es 8 euros."),
    "an Italian plural": ("Il cane dorme nel giardino.", "I cani dormono nel giardino."),
    "a Dutch plural": ("De winkels in het park verkopen brood.", "De winkel in het park verkoopt brood."),
    # limits and qualifiers
    "a limit that is kept": ("Entry is free until June.", "Entry is free until June."),
    "a qualifier that is kept": ("Most guests sing.", "Most guests sing."),
    "more behind": ("The museum opens at 10 in June.", "The museum opens at 10."),
    # what stands ahead, and who is asked for
    "the subject is asked for": (OPENING, "It opens at 10.", WHEN),
    "the subject is asked for, with more ahead": ("Our wool museum opens at 10.", "It opens at 10.", WHEN),
    "all of what is asked for is in the sentence": (
        "The museum in Bern opens at 10 on weekdays.",
        "It opens at 10.",
        "When does the museum in Bern open?",
    ),
    # what is left out
    "one of two": ("The set has forks and spoons.", "The set has spoons."),
    "a colon for and": (
        "Returns are free: a label is in the box.",
        "Returns are free, and a label is in the box.",
    ),
    "a word that begins a phrase": ("The mill has a wide door.", "The mill has a door."),
    "a relative clause": ("The mill, which now houses a small shop, is red.", "The mill is red."),
    "the last of many sentences with its words": (
        " ".join(f"Mill {number} grinds oats." for number in range(100)),
        "Mill 99 grinds oats.",
    ),
    # clauses
    "a comma": (TWO, "The mill is red, the bridge is old."),
    "a semicolon": (TWO, "The mill is red; the bridge is old."),
    "and": (TWO, "The mill is red and the bridge is old."),
    "but": (TWO, "The mill is red, but the bridge is old."),
    "und": ("Die Mühle ist rot. Die Brücke ist alt.", "Die Mühle ist rot und die Brücke ist alt."),
    "a Russian и": ("Мельница красная. В озере лёд.", "Мельница красная, и в озере лёд."),
    "two clauses in one sentence, a third in another": (
        "The mill sells bread and butter. The bridge is old.",
        "The mill sells bread and butter, and the bridge is old.",
    ),
    # brackets
    "a time left out": ("The mill in Bern was built after the fire.", "The mill in Bern was built."),
    "an aside left out": ("The mill (built in 1850) is red.", "The mill is red."),
    "an aside kept": ("The mill (built in 1850) is red.", "The mill (built in 1850) is red."),
    # lists
    "numbers of a list": (STEPS, "Open the valve.\nDrain the tank."),
    "other numbers": (STEPS, "1) Drain the tank.\n2) Open the valve."),
    "letters": (STEPS, "a) Open the valve.\nb) Drain the tank."),
    # tables
    "a row as it is": (TABLE, "Skua: 7:40, 3"),
    # scripts and code
    "Chinese": ("博物馆周日开放，有40个展厅。", "博物馆周日开放。"),
    "a Chinese number with blanks": ("博物馆有40个展厅。", "博物馆有 40 个展厅。"),
    "Japanese": ("図書館は日曜日に休みます。", "図書館は日曜日に休みます"),
    "Korean": ("서울 박물관은 일요일에 쉽니다.", "서울 박물관은 일요일에 쉽니다."),
    "backticks": ("Set `max_size = 5` first.", "Set max_size = 5 first."),
    "brackets of a call": ("Call run() first.", "Call run first."),
}

UNDECIDED: Mapping[str, Row] = {
    "nothing": ("", "The mill is red."),
    "another word": ("The mill is red.", "The mill is green."),
    "another order": ("The mill is red.", "The red mill."),
    "a qualifier behind": ("Guests sing most days.", "Guests sing."),
    "one word": ("The capital is Paris.", "Paris."),
    "words of two sentences": (TWO, "The mill is old."),
    # what is left out
    "words between": (SET, "The set has spoons."),
    "the head of a compound": ("The mill shop is red.", "The mill is red."),
    "an owner's word": ("The mayor's wife sings.", "The mayor sings."),
    "a number": ("The mill has 12 old doors.", "The mill has doors."),
    "a symbol": ("The mill costs € or dollars.", "The mill costs dollars."),
    "what a link leads to": ("The mill of Bern is red.", "The mill is red."),
    "a qualifier": ("The mill never grinds oats.", "The mill grinds oats."),
    "by": ("The firm is owned by Alpha.", "The firm owns Alpha."),
    "who": ("Guests who sing are welcome.", "Guests sing."),
    "a word and a link word": ("Ada is the daughter of the mayor.", "Ada is the mayor."),
    "a hedge": ("The drug is unlikely safe for children.", "The drug is safe for children."),
    "a German hedge": ("Die Brücke ist vermutlich alt und rot.", "Die Brücke ist alt und rot."),
    "an aside that limits": ("The pool is (rarely) open here.", "The pool is open here."),
    "not in capitals": ("The dogs CANNOT enter here.", "The dogs enter here."),
    "a denial of a noun of documents": ("The cake is made with flour.", "It does not contain nuts."),
    "a heading that a source contradicts": ("The mill is open today.", "# Mill closed"),
    "no before what is not denied, without a question": (
        "The mill is open daily.",
        "No, the mill is open daily.",
        "Is the mill open",
    ),
    "a link word before an amount": ("The repair costs over $500.", "The repair costs $500."),
    "a link word before a number": ("The bag weighs under 5 kg.", "The bag weighs 5 kg."),
    "another link word at the end": ("The shop closes at 8, over.", "The shop closes at 8, on."),
    "a separate prefix": ("Der Laden macht um 8 Uhr auf.", "Der Laden macht um 8 Uhr zu."),
    "no that is a determiner": ("Dogs are allowed here.", "No dogs are allowed here."),
    "a subject with another word than is asked for": (
        "The basic plan costs 5 euros.",
        "It costs 5 euros.",
        "What does the premium plan cost?",
    ),
    "the end of a clause for another": (
        "The film was written by Ada and directed by Ben.",
        "The film was written and directed by Ben.",
    ),
    "a second subject": ("Ada was born in Rome and Ben in Oslo.", "Ada was born in Rome and in Oslo."),
    "a clause after and": ("Ada leads year 7 and Ben leads year 8.", "Ben leads year 8."),
    "whose words they are, behind": ("The drug is safe, the firm claimed.", "The drug is safe."),
    "its, which is no pronoun": ("The long mill burns wood.", "Its burns wood."),
    # what stands ahead
    "a time": ("In May the mill opens at 10.", "The mill opens at 10."),
    "a day without a link word": ("Mondays the mill is closed.", "The mill is closed."),
    "a condition": ("When it rains, the mill closes at 5.", "The mill closes at 5."),
    "whose words they are": ("Critics say it owes 5 million.", "It owes 5 million."),
    "another subject in apposition": ("Ada, sister of Ben, lives in Rome.", "Ben lives in Rome."),
    # what differs
    "a phrase at the other end": ("It was founded in 1932.", "In 1932 it was founded."),
    "a pronoun named": ("The mill is red. It grinds oats.", "The mill grinds oats."),
    "a clause takes its subject from the first": (
        "The mill is red. The mill has sold bread.",
        "The mill is red and has sold bread.",
    ),
    "a list of more clauses than are looked up": (
        " ".join(f"Mill {name} is red." for name in "ABCDEFGHIJ"),
        ", ".join(f"mill {name} is red" for name in "ABCDEFGHIJ"),
    ),
    # forms of a word
    "another verb form that is no ending": ("The mill grinds oats.", "The mill ground oats."),
    "a form in a language whose endings are not known": ("Stary młyn mieli.", "Stare młyny mielą."),
    # numbers are values
    "another number": ("The hall has 1,000 seats.", "The hall has 1,001 seats."),
    "a digit less": ("The hall has 12 doors.", "The hall has 2 doors."),
    "no minus": ("It has -5 degrees today.", "It has 5 degrees today."),
    "no point ahead": ("The dose is .5 ml daily.", "The dose is 5 ml daily."),
    "another unit": ("The pier is 5km long.", "The pier is 5m long."),
    "no currency between": ("The price is € 12 a day.", "The price is 12 a day."),
    # function words
    "a link word left out": ("The train goes to Basel.", "The train goes Basel."),
    "a link word added": ("We meet Sunday.", "We meet on Sunday."),
    "another link word": ("The train goes to Basel.", "The train goes from Basel."),
    "link words exchanged": (RANGE, "The train goes to Bern from Basel."),
    "link words exchanged between two": (
        "We meet at nine in the hall.",
        "We meet in nine at the hall.",
    ),
    "an umlaut": ("Der Zug wäre heute pünktlich.", "Der Zug war heute pünktlich."),
    "a Spanish accent": ("Yo hablo hoy con Ana.", "Yo habló hoy con Ana."),
    "the past in German": ("Das Café öffnet um 9 Uhr.", "Das Café öffnete um 9 Uhr."),
    "the present in German": ("Er arbeitete bei Bosch.", "Er arbeitet bei Bosch."),
    "they for we": ("We open at 9 daily.", "They open at 9 daily."),
    "an exception": ("Hunde sind erlaubt mit Ausnahme von Terriern.", "Hunde sind erlaubt."),
    "he for she": ("He lives in Oslo.", "She lives in Oslo."),
    # limits and qualifiers
    "a limit ahead": ("Only entry is free.", "Entry is free."),
    "a limit behind": ("Entry is free unless you ride.", "Entry is free."),
    "a limiting clause behind": ("Entry is free, but parking is not.", "Entry is free."),
    "a negation ahead": ("No dogs bark here.", "Dogs bark here."),
    "a negation behind": ("Dogs bark at cats, not at birds.", "Dogs bark at cats."),
    "a qualifier ahead": ("Most guests sing.", "Guests sing."),
    "a modal verb between": ("It may rain today.", "It rains today."),
    "a German limit": ("Der Eintritt ist frei, außer sonntags.", "Der Eintritt ist frei."),
    # what stands ahead, and who is asked for
    "another subject is asked for": (OPENING, "It opens at 8.", WHEN),
    "a subject that nobody speaks of": (OPENING, "The shop opens at 10.", WHEN),
    # clauses
    "a clause of no sentence": (TWO, "The mill is red, the bridge is new."),
    "a clause of another subject": (
        "The mill is red. The shop sells bread.",
        "The mill is red and sells bread.",
    ),
    "a pronoun for another subject": (TWO, "The mill is red and it is old."),
    "a clause of one word": (TWO, "The mill is red and old."),
    # brackets
    "what an aside is said of": ("The mill (not the bridge) is red.", "The bridge is red."),
    "an aside as a statement": ("The mill (built in 1850) is red.", "The mill was built in 1850."),
    # lists
    "an item more": (SET, "The set has forks, knives, spoons and plates."),
    "an item exchanged": (SET, "The set has forks, plates and spoons."),
    # tables
    "a cell of another row": (TABLE, "Skua: departs 8:15, berth 3."),
    "a cell of another column": (TABLE, "Skua: berth 7:40."),
    "rows without a header": ("| Skua | 7:40 | 5 |\n| Tern | 8:10 | 6 |", "Tern: 7:40 8:10."),
    # scripts and code
    "a Chinese negation": ("博物馆周日不开放。", "博物馆周日开放。"),
    "a Chinese number": ("博物馆有40个展厅。", "博物馆有45个展厅。"),
    "a Japanese day": ("図書館は日曜日に休みます。", "図書館は月曜日に休みます。"),
    "Japanese particles exchanged": ("図書館は日曜日に休みます。", "図書館に日曜日は休みます。"),
    "a negated operator": ("Retry if x != 200 here.", "Retry if x = 200 here."),
    "an operator": ("Set x >= 5 first.", "Set x > 5 first."),
    "a hyphen for an underscore": ("Set max_size = 5 first.", "Set max-size = 5 first."),
    "no ! ahead": ("Use if !ready here.", "Use if ready here."),
    "no # behind": ("It is written in C# today.", "It is written in C today."),
    "another path": ("Open /etc/hosts as root.", "Open /etc/passwd as root."),
}


def claims_of(row: Row) -> list[Claim]:
    source, text, *query = row
    return read_claims(text, read_sources([source], text), *query)


def is_backed(claim: Claim) -> bool:
    return claim.finding == "backed" and 0.8 <= claim.score <= 1


def test_words_of_one_source_sentence_in_their_order_are_backed() -> None:
    assert [kind for kind, row in BACKED.items() if not all(map(is_backed, claims_of(row)))] == []


def test_all_else_is_undecided() -> None:
    findings = {kind: [claim.finding for claim in claims_of(row)] for kind, row in UNDECIDED.items()}
    assert [kind for kind, found in findings.items() if found != ["undecided"]] == []


@pytest.mark.parametrize(
    ("row", "quotes"),
    [
        pytest.param(
            (TWO, "The bridge is old and the mill is red."),
            ["The bridge is old.", "The mill is red."],
            id="one for each clause",
        ),
        pytest.param((TWO, "The bridge is old."), ["The bridge is old."], id="one"),
        pytest.param((TWO, "The bridge is green."), ["The bridge is old."], id="the nearest"),
        pytest.param((TWO, "Penguins fish."), [], id="none"),
    ],
)
def test_passages_are_whole_sentences_of_the_source(row: Row, quotes: list[str]) -> None:
    (claim,) = claims_of(row)
    assert [row[0][source.start : source.end] for source in claim.sources] == quotes


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        pytest.param("The bridge is green and wide.", ("green", "wide"), id="words in their order"),
        pytest.param("The bridge is green, green.", ("green",), id="each once"),
    ],
)
def test_nearest_sentence_lacks_words(text: str, missing: tuple[str, ...]) -> None:
    (claim,) = claims_of((TWO, text))
    assert (claim.finding, claim.missing) == ("undecided", missing)


def test_the_more_of_a_claim_the_sources_have_the_higher_it_ranks() -> None:
    source = "The ferry carries 420 passengers in summer. Storks breed on the tower."
    texts = [
        "Penguins eat fish.",  # nothing of it
        "The ferry carries 430 penguins.",  # a number that no source has
        "The ferry carries penguins daily.",
        "The ferry carries storks.",  # a word of another sentence
        "The ferry carries passengers.",  # all words, with one between
    ]
    ranks = [claims_of((source, text))[0].score for text in texts]
    assert ranks == sorted(set(ranks))
    assert ranks[0] == 0


def test_a_sentence_in_its_own_words_scores_more_than_one_in_other_forms() -> None:
    source = "The mills grind oats daily."
    literal, changed = (
        claims_of((source, text))[0].score for text in (source, "A mill is grinding oats daily.")
    )
    assert literal == 1
    assert 0.8 <= changed < 1
