"""Citations: which markers there are, what they name, and what a judge finds of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import formatter
import pytest
from scripted_model import ScriptedModel

from groundjudge import CaseError, Guard, PromptError, Verdict, load, names, summarise
from groundjudge.citations import citations
from groundjudge.text.sentences import sentences
from groundjudge.types import Request

SOURCES: Sequence[Mapping[str, str]] = (
    {"title": "Opening hours", "content": "The pool opens at 9. It closes at 20."},
    {"title": "Prices", "content": "A ticket costs 4 euros. Children pay 2 euros."},
    {"title": "How to get there", "content": "Bus 7 stops at the gate."},
)
URLS: Sequence[Mapping[str, str]] = (
    {"id": "https://pool.example/hours", "content": "The pool opens at 9."},
    {"id": "https://pool.example/prices", "content": "A ticket costs 4 euros."},
)
NUMBERED: Sequence[Mapping[str, str]] = (
    {"id": "7", "content": "Open at 9."},
    {"id": "3", "content": "Shut."},
)

MARKERS: Mapping[str, tuple[str, Sequence[tuple[str, int, tuple[int, ...]]]]] = {
    # a response; each citation: what it says, the number of its sentence, the documents
    "one": ("It opens at 9 [1].", [("1", 1, (0,))]),
    "without a blank": ("It opens at 9[1].", [("1", 1, (0,))]),
    "behind a word": ("It opens at nine[1], daily.", [("1", 1, (0,))]),
    "behind the full stop": (
        "It opens at 9. [1] A ticket costs 4 euros. [2]",
        [("1", 1, (0,)), ("2", 2, (1,))],
    ),
    "right behind the full stop": ("It opens at 9.[1] It costs 4.[2]", [("1", 1, (0,)), ("2", 2, (1,))]),
    "inside a sentence": ("It opens [1] at 9 and costs 4 [2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "two in one": ("It opens at 9 [1, 2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "two in one, tight": ("It opens at 9 [1,3].", [("1", 1, (0,)), ("3", 1, (2,))]),
    "a semicolon": ("It opens at 9 [1; 2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "a range": ("It opens at 9 [1-3].", [("1", 1, (0,)), ("2", 1, (1,)), ("3", 1, (2,))]),
    "a range with a long dash": ("It opens at 9 [1–2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "a range and one": ("It opens at 9 [1-2, 3].", [("1", 1, (0,)), ("2", 1, (1,)), ("3", 1, (2,))]),
    "side by side": ("It opens at 9 [1][2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "side by side with a blank": ("It opens at 9 [1] [2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "a footnote": ("It opens at 9.[^1]", [("1", 1, (0,))]),
    "two footnotes": ("It opens at 9[^1][^2].", [("1", 1, (0,)), ("2", 1, (1,))]),
    "lenticular brackets": ("九时开门【1】。", [("1", 1, (0,))]),
    "lenticular brackets behind the stop": (
        "九时开门。【1】八时关门。【2】",
        [("1", 1, (0,)), ("2", 2, (1,))],
    ),
    "with its kind, as assistants write it": ("It opens at 9【2†source】.", [("2", 1, (1,))]),
    "round brackets": ("It opens at 9 (1). It costs 4 (2).", [("1", 1, (0,)), ("2", 2, (1,))]),
    "round brackets, two in one": (
        "It opens at 9 (1, 2). It costs 4 (2).",
        [("1", 1, (0,)), ("2", 1, (1,)), ("2", 2, (1,))],
    ),
    "a title": ("It opens at 9 [Opening hours].", [("Opening hours", 1, (0,))]),
    "a title in other letters": ("It opens at 9 [OPENING  hours].", [("OPENING  hours", 1, (0,))]),
    "two titles": ("It is open [Opening hours; Prices].", [("Opening hours", 1, (0,)), ("Prices", 1, (1,))]),
    "a title behind the stop": ("It costs 4. [Prices] Bus 7 stops there.", [("Prices", 1, (1,))]),
    "a link with a number": ("It opens at 9 [1](https://pool.example).", [("1", 1, (0,))]),
    "a link with a title": ("See [Prices](https://pool.example/prices).", [("Prices", 1, (1,))]),
    "a link in brackets": ("It opens at 9 ([1](https://pool.example)).", [("1", 1, (0,))]),
    "in bold": ("It opens at **9** **[1]**.", [("1", 1, (0,))]),
    "in a list": ("- It opens at 9 [1]\n- It costs 4 [2]", [("1", 1, (0,)), ("2", 2, (1,))]),
    "in a numbered list": ("1. It opens at 9 [2].\n2. It costs 4 [1].", [("2", 1, (1,)), ("1", 2, (0,))]),
    "ahead of its sentence": ("[1] It opens at 9.\n[2] It costs 4.", [("1", 1, (0,)), ("2", 2, (1,))]),
    "in a table": ("| day | hour |\n|---|---|\n| Monday | 9 [1] |", [("1", 2, (0,))]),
    "in a heading": ("# Hours [1]\nIt opens at 9.", [("1", 1, (0,))]),
    "in a quotation": ('"It opens at 9." [1]', [("1", 1, (0,))]),
    "no such document": ("It opens at 9 [1]. It costs 4 [7].", [("1", 1, (0,)), ("7", 2, ())]),
    "nought": ("It opens at 9 [1]. It costs 4 [0].", [("1", 1, (0,)), ("0", 2, ())]),
    "a range that leads too far": ("It opens [2-4].", [("2", 1, (1,)), ("3", 1, (2,)), ("4", 1, ())]),
    "leading noughts": ("It opens at 9 [01].", [("1", 1, (0,))]),
    "a year beside a number": ("In [2019] it opened [1].", [("1", 1, (0,))]),
    "behind an abbreviation": ("It opens at 9 a.m. [1] It costs 4. [2]", [("1", 1, (0,)), ("2", 2, (1,))]),
    "behind a question": ("When? At 9 [1]. Really?", [("1", 2, (0,))]),
    "behind an exclamation": ("It opens at 9! [1] Come! [2]", [("1", 1, (0,)), ("2", 2, (1,))]),
    "on a line of its own": ("It opens at 9.\n[1]", [("1", 1, (0,))]),
    "twice": ("It opens at 9 [1]. It closes at 20 [1].", [("1", 1, (0,)), ("1", 2, (0,))]),
    "Greek": ("Ανοίγει στις 9 [1]. Κλείνει στις 20 [1].", [("1", 1, (0,)), ("1", 2, (0,))]),
    "Japanese": ("9時に開きます[1]。20時に閉まります[1]。", [("1", 1, (0,)), ("1", 2, (0,))]),
    "Arabic": ("يفتح في التاسعة [1]. يغلق في العشرين [2].", [("1", 1, (0,)), ("2", 2, (1,))]),
    "a list of sources by title": (
        "It opens at 9 [1]. It costs 4 [2].\n\nSources:\n[1] Opening hours\n[2] Prices",
        [("1", 1, (0,)), ("2", 2, (1,))],
    ),
    "a list of sources in another order": (
        "It costs 4 [1]. It opens at 9 [2].\n\n## References\n[1] Prices\n[2] Opening hours, the pool's page",
        [("1", 1, (1,)), ("2", 2, (0,))],
    ),
    "footnotes with definitions": (
        "It costs 4.[^1]\n\n[^1]: Prices",
        [("1", 1, (1,))],
    ),
    "a numbered list of sources": (
        "It costs 4 [1].\n\nSources:\n1. Prices\n2. Opening hours",
        [("1", 1, (1,))],
    ),
    "a list of sources that no document is called by": (
        "It costs 4 [2].\n\n[1] The net\n[2] A friend",
        [("2", 1, (1,))],
    ),
    "a list of sources of which one is not there": (
        "It costs 4 [1]. It opens at 9 [2].\n\n[1] Another page\n[2] Opening hours",
        [("1", 1, ()), ("2", 2, (0,))],
    ),
    "bullets in the list of sources": ("It costs 4 [1].\n\nSources\n- [1]: Prices", [("1", 1, (1,))]),
}

NO_MARKERS: Mapping[str, str] = {
    "no brackets": "It opens at 9.",
    "a year": "In [2019] it opened.",
    "a year in round brackets": "It opened (2019). It closed (2021).",
    "a number without a document": "It costs 4 [12].",
    "several of them": "It costs 4 [12], and 5 [13].",
    "code in a line": "Take `a[1]` and `b[2]`.",
    "code in a fence": "So:\n```python\nx = a[1]\n```\nDone.",
    "code in a fence that is open": "So:\n```\nx = a[1]\n",
    "code in tildes": "So:\n~~~\na[1]\n~~~",
    "an assignment": "Write a[1] = 5 there.",
    "an open check box": "- [ ] open the gate",
    "a check box": "- [x] open the gate",
    "a numbered list": "1. Open the gate.\n2. Swim.",
    "a numbered list in brackets": "(1) Open the gate.\n(2) Swim.",
    "an enumeration": "First (1) open the gate, then (2) swim.",
    "a single number in round brackets": "It opens at 9 (1).",
    "a call": "Use open(1), then close(2).",
    "an address": "See [our page](https://pool.example/page).",
    "an image": "![a pool](pool.png)",
    "sic": "It opend [sic] at 9.",
    "an ellipsis": "It opens [...] at 9.",
    "a note": "It opens [at last] at 9.",
    "a title without brackets": "The page Opening hours says 9.",
    "empty brackets": "It opens [] at 9.",
    "open brackets": "It opens [1 at 9.",
    "crossed brackets": "It opens [1) at 9.",
    "a decimal": "It costs [4.50] euros.",
    "a coordinate": "It lies at (3.5, 7).",
    "a phone number": "Call (030) 1234.",
    "a range of years": "It ran [1999-2004].",
    "a blank text": "  ",
}


def cited(response: str, documents: Any = SOURCES, **options: Any) -> list[tuple[str, int, tuple[int, ...]]]:
    found = citations(response, documents, **options)
    for citation in found:
        marker = response[citation.start : citation.end]
        assert marker[0] in "[【(", marker
        assert marker[-1] in "]】)", marker
    return [(citation.text, citation.sentence, citation.documents) for citation in found]


@pytest.mark.parametrize(("response", "expected"), MARKERS.values(), ids=MARKERS)
def test_markers_name_documents(response: str, expected: list[tuple[str, int, tuple[int, ...]]]) -> None:
    assert cited(response) == expected


@pytest.mark.parametrize("response", NO_MARKERS.values(), ids=NO_MARKERS)
def test_what_is_not_a_marker(response: str) -> None:
    assert cited(response) == []


def test_documents_are_called_by_their_ids() -> None:
    assert cited("Open [https://pool.example/hours].", URLS) == [("https://pool.example/hours", 1, (0,))]
    assert cited("It costs [4 euros](https://pool.example/prices).", URLS) == [("4 euros", 1, (1,))]
    assert cited("Open [7]. Shut [3]. Gone [1].", NUMBERED) == [("7", 1, (0,)), ("3", 2, (1,)), ("1", 3, ())]


def test_a_mapping_says_what_numbers_stand_for() -> None:
    assert cited("Open [12].", numbers={"12": 1}) == [("12", 1, (1,))]
    assert cited("Open [1].\n\n[1] Prices", numbers={"1": 2}) == [("1", 1, (2,))]


def test_a_title_that_several_documents_have_cites_each() -> None:
    pieces = [
        {"title": "Hours", "content": "Open at 9."},
        {"title": "Hours", "content": "Closed on Sundays."},
    ]
    assert cited("Closed on Sundays [Hours].", pieces) == [("Hours", 1, (0, 1))]


@pytest.mark.parametrize("documents", [[], ""], ids=["no document", "a blank context"])
def test_without_a_document_nothing_is_cited(documents: Any) -> None:
    assert cited("It opens at 9 [1].", documents) == []


def test_documents_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(CaseError, match="context"):
        citations("It opens [1].", 5)  # type: ignore[arg-type]


def test_only_a_judge_with_numbered_sentences_checks_citations() -> None:
    with pytest.raises(PromptError, match="use statement_groundedness"):
        load("groundedness", model="offline", citations=True)


HOURS, PRICES, BUS = (
    "The pool opens at 9 [{}].",
    "A ticket costs 4 euros [{}].",
    "Bus 7 stops at the gate [{}].",
)
FOUND: Mapping[str, tuple[str, Sequence[tuple[str, str, Any]], Sequence[str], Mapping[str, float], str]] = {
    # a response; of each sentence its sources and its score; the findings; the scores; the note
    "right": (
        f"{HOURS.format(1)} {PRICES.format(2)}",
        [("1", "-", 10), ("3", "-", 10)],
        ["supported", "supported"],
        {"citation_precision": 1, "citation_recall": 1, "utilization": 0.4},
        "",
    ),
    "another document": (
        f"{HOURS.format(3)} {PRICES.format(2)}",
        [("1", "-", 10), ("3", "-", 10)],
        ["wrong_document", "supported"],
        {"citation_precision": 0.5, "citation_recall": 0.5, "utilization": 0.4},
        "Sentence 1: [3] does not say this; [1] does.",
    ),
    "one of two right": (
        HOURS.format("1, 3"),
        [("1", "-", 10)],
        ["supported", "wrong_document"],
        {"citation_precision": 0.5, "citation_recall": 1, "utilization": 0.2},
        "Sentence 1: [3] does not say this; [1] does.",
    ),
    "no document says it": (
        f"{HOURS.format(1)} A locker costs 1 euro [2].",
        [("1", "-", 10), ("3", "no lockers", 0)],
        ["supported", "unsupported"],
        {"citation_precision": 0.5, "citation_recall": 0.5, "utilization": 0.2},
        "Sentence 2: [2] does not say this, and no other source does.",
    ),
    "no such document": (
        f"{HOURS.format(1)} {PRICES.format(9)}",
        [("1", "-", 10), ("3", "-", 10)],
        ["supported", "dangling"],
        {"citation_precision": 0.5, "citation_recall": 0.5, "utilization": 0.4},
        "Sentence 2: there is no source [9]; [2] says this.",
    ),
    "nothing cited": (
        f"{HOURS.format(1)} A ticket costs 4 euros.",
        [("1", "-", 10), ("3", "-", 10)],
        ["supported"],
        {"citation_precision": 1, "citation_recall": 0.5, "utilization": 0.4},
        "Without a citation: sentence 2.",
    ),
    "no marker at all": (
        "The pool opens at 9. A ticket costs 4 euros.",
        [("1", "-", 10), ("3", "-", 10)],
        [],
        {"citation_recall": 0, "utilization": 0.4},
        "Without a citation: sentence 1, 2.",
    ),
    "a sentence that claims nothing": (
        f"Welcome [3]! {HOURS.format(1)}",
        [("-", "-", "NO CLAIM"), ("1", "-", 10)],
        ["no_claim", "supported"],
        {"citation_precision": 1, "citation_recall": 1, "utilization": 0.2},
        "",
    ),
    "a list of sources": (
        f"{HOURS.format(1)}\n\nSources:\n[1] Opening hours",
        [("1", "-", 10), ("-", "-", "NO CLAIM"), ("-", "-", 0)],
        ["supported"],
        {"citation_precision": 1, "citation_recall": 1, "utilization": 0.2},
        "",
    ),
    "by its title": (
        f"{HOURS.format('Opening hours')} {PRICES.format('How to get there')}",
        [("1", "-", 10), ("3", "-", 10)],
        ["supported", "wrong_document"],
        {"citation_precision": 0.5, "citation_recall": 0.5, "utilization": 0.4},
        "Sentence 2: [How to get there] does not say this; [2] does.",
    ),
    "two sources that both say it": (
        HOURS.format(2),
        [("1, 5", "-", 10)],
        ["wrong_document"],
        {"citation_precision": 0, "citation_recall": 0, "utilization": 0.4},
        "Sentence 1: [2] does not say this; [1] and [3] do.",
    ),
}


def judged(response: str, reply: str, context: Any = SOURCES) -> Verdict:
    judge = load(
        "statement_groundedness",
        model=ScriptedModel(reply),
        citations=True,
        max_reasks=0,
        may_be_empty=["context"],
    )
    return judge.judge({"context": context, "response": response})


@pytest.mark.parametrize(("response", "lines", "findings", "scores", "note"), FOUND.values(), ids=FOUND)
def test_citations_are_compared_with_what_bears_the_sentence_out(
    response: str,
    lines: Sequence[tuple[str, str, Any]],
    findings: Sequence[str],
    scores: Mapping[str, float],
    note: str,
) -> None:
    verdict = judged(response, formatter.numbered(lines, 80))
    assert [citation.finding for citation in verdict.citations] == findings
    found = {name: score for name, score in verdict.scores.items() if name not in {"mean", "weakest"}}
    assert found == pytest.approx(scores)
    assert verdict.reason == note


NOTHING: Mapping[str, tuple[Any, str, str, str, set[str]]] = {
    # the context, the response, the reply; the status and the scores of citations that there are
    "no document": ([], HOURS.format(1), formatter.numbered([("-", "-", 0)], 0), "ok", {"citation_recall"}),
    "no sentence with a claim": (
        SOURCES,
        "Hello [1]!",
        formatter.numbered([("-", "-", "NO CLAIM")], 100),
        "not_applicable",
        set(),
    ),
    "no marker": (
        SOURCES,
        "Open at 9.",
        formatter.numbered([("1", "-", 10)], 90),
        "ok",
        {"citation_recall", "utilization"},
    ),
    "no evidence for any": (
        SOURCES,
        HOURS.format(1),
        formatter.numbered([("-", "-", 10)], 90),
        "ok",
        {"utilization"},
    ),
}


@pytest.mark.parametrize(("context", "response", "reply", "status", "scores"), NOTHING.values(), ids=NOTHING)
def test_what_cannot_be_measured_has_no_score(
    context: Any, response: str, reply: str, status: str, scores: set[str]
) -> None:
    verdict = judged(response, reply, context)
    assert verdict.status == status
    assert verdict.scores.keys() - {"mean", "weakest"} == scores


def test_a_run_counts_where_the_documents_stood_that_were_used() -> None:
    verdicts = [
        judged(HOURS.format(1), formatter.numbered([("1", "-", 10)], 90)),
        judged(f"{HOURS.format(1)} {BUS.format(3)}", formatter.numbered([("2", "-", 10), ("5", "-", 9)], 90)),
        judged(PRICES.format(2), formatter.numbered([("3", "not 5", 0)], 5)),  # which stands against it
    ]
    (summary,) = summarise(verdicts)
    assert summary.used_documents == {1: 2, 3: 1}
    assert summary.scores["citation_recall"] == pytest.approx(2 / 3)


def test_a_guard_demands_citations() -> None:
    judge = load("statement_groundedness", model="offline", citations=True)
    guard = Guard(judge, require={"citation_recall": 0.8}, fallback="I do not know.")
    draft = {"context": SOURCES, "response": f"{HOURS.format(1)} {PRICES.format(1)} Bus 7 stops at the gate."}
    notes: list[str] = []

    def write_again(note: str, _: Verdict) -> str:
        notes.append(note)
        return f"{HOURS.format(1)} {PRICES.format(2)} {BUS.format(3)}"

    outcome = guard.run(draft, write_again)
    assert (outcome.reason, outcome.drafts[0].verdict.passed) == ("regenerated", True)
    assert outcome.drafts[0].unmet == {"citation_recall": pytest.approx(1 / 3)}
    (note,) = notes
    assert "[1] does not say this; [2] does." in note
    assert "Bus 7 stops at the gate.\n  Cite the source that says this." in note
    assert HOURS.format(1) not in note
    assert guard.run(draft).response == "I do not know."
    assert guard.run({"context": SOURCES, "response": "Hello!"}).reason == "not_applicable"


@pytest.mark.parametrize(
    ("require", "fault"),
    [
        pytest.param(
            {"recall": 1}, "mean, weakest, citation_precision, citation_recall, utilization", id="unknown"
        ),
        pytest.param({"citation_recall": 80}, "from 0 to 1", id="percent"),
        pytest.param(["citation_recall"], "a mapping", id="no mapping"),
    ],
)
def test_a_guard_refuses_what_it_cannot_demand(require: Any, fault: str) -> None:
    judge = load("statement_groundedness", model="offline", citations=True)
    with pytest.raises(ValueError, match=fault):
        Guard(judge, require=require)


EXAMPLES = Path(__file__).parents[1] / "examples/cases.jsonl"
MARK = {"ahead of the stop": r"\1 [1]\2", "behind the stop": r"\1\2 [1]", "tight": r"\1[1]\2"}


def with_markers(response: str, replacement: str) -> str:
    """A response with a marker in each sentence."""
    pieces: list[str] = []
    end = 0
    for sentence in sentences(response):
        pieces.append(response[end : sentence.start])
        pieces.append(re.sub(r"\A(.*?)([.!?。]*)\Z", replacement, sentence.text, flags=re.DOTALL))
        end = sentence.end
    return "".join(pieces)


@pytest.mark.parametrize("name", names())
def test_markers_disturb_no_judge(name: str) -> None:
    judge = load(name, model="offline")
    rows = map(json.loads, EXAMPLES.read_text(encoding="utf-8").splitlines())
    plain = [row for row in rows if name in row["judges"] and isinstance(row.get("response"), str)]
    assert plain
    for row, (place, replacement) in zip(plain, [*MARK.items()] * 2, strict=False):
        verdict = judge.evaluate(row)
        marked = {**row, "response": with_markers(row["response"], replacement)}
        texts = [re.sub(r" ?\[1\]", "", sentence.text) for sentence in sentences(marked["response"])]
        assert texts == [sentence.text for sentence in sentences(row["response"])]
        other = judge.evaluate(marked)
        assert (other.status, other.score) == (verdict.status, verdict.score), (row["id"], place)


def test_markers_are_shown_to_models_as_they_are() -> None:
    shown: list[str] = []

    def answer(request: Request) -> str:
        shown.append(request.messages[-1]["content"])
        return formatter.numbered([("1", "-", 10)], 90)

    load("statement_groundedness", model=answer).judge({"context": SOURCES, "response": HOURS.format(1)})
    assert HOURS.format(1) in shown[0]
