"""Sources longer than a window: windows are searched, and the case is judged once by what was found."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_model import ScriptedModel

from groundjudge import (
    Case,
    GroundjudgeError,
    ModelError,
    PromptError,
    Reply,
    ReplyError,
    Verdict,
    estimate,
    load,
    load_rubric,
    run,
)
from groundjudge.batches.replay import replay
from groundjudge.case.numbered import number_sentences
from groundjudge.models.lookup import as_model
from groundjudge.replies import Expectation, Numbered
from groundjudge.rubric.windows import cut_windows, with_neighbours
from groundjudge.types import Judge, Request

NAME = "statement_groundedness"
DOCUMENTS = [
    "The ferry to Eday is old. It sails at nine. It costs 4 euros. Dogs travel free. Cars do not.",
    "   ",
    "Eday has one shop. It opens at eight. It sells bread. Its owner is Ann Flett. She is 61.",
    "Kirkwall is a town. It has a cathedral.",
]
CASE = Case(response="The ferry sails at nine. The shop sells bread.", context=DOCUMENTS)
WINDOW = 32  # 5, 5 and 2 of the 12 sentences
ENOUGH = 1000
UNREADABLE = "unreadable_search"
SEARCHED = ("1 | 2\n2 | -", "1 | -\n2 | 8", "1 | -\n2 | -")
JUDGED = "1 | 2 | - | 10\n2 | 8 | - | 10\nALL | 95"


def judge_of(*replies: str | Reply, window: int = WINDOW) -> Judge:
    return Judge(load_rubric(NAME, window=window), ScriptedModel(*replies))


def asked(judge: Judge) -> list[Request]:
    model = judge.model
    assert isinstance(model, ScriptedModel)
    return model.asked


def shown(request: Request) -> list[str]:
    """The lines of the source, and where each document begins."""
    text = request.messages[1]["content"].partition("Statement:")[0]
    lines: list[str] = []
    for line in text.splitlines():
        if line == "..." or line[:1].isdigit():
            lines.append(line)
        elif "number=" in line:
            lines.append(line.partition("number=")[2].rstrip(">"))
    return lines


@pytest.mark.parametrize(
    ("n_tokens", "windows"),
    [
        pytest.param(ENOUGH, [[*range(1, 13)]], id="all fit"),
        pytest.param(1, [[n] for n in range(1, 13)], id="a longer sentence has a window of its own"),
        pytest.param(WINDOW, [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10], [11, 12]], id="whole sentences"),
    ],
)
def test_a_source_is_cut_into_windows_of_whole_sentences(n_tokens: int, windows: list[list[int]]) -> None:
    cut = cut_windows(number_sentences(CASE), n_tokens)
    assert [sorted(window.shown or ()) for window in cut] == windows


@pytest.mark.parametrize(
    ("found", "numbers"),
    [
        pytest.param((), [], id="nothing"),
        pytest.param((3,), [1, 2, 3, 4], id="its neighbours and the first sentence of its document"),
        pytest.param((5,), [1, 4, 5], id="not the next document's"),
        pytest.param((6, 12), [6, 7, 11, 12], id="the first and the last"),
    ],
)
def test_what_is_found_is_shown_with_its_neighbours(found: tuple[int, ...], numbers: list[int]) -> None:
    assert sorted(with_neighbours(number_sentences(CASE), found).shown or ()) == numbers


@pytest.mark.parametrize("method", ["judge", "ajudge"])
def test_windows_are_searched_and_the_case_is_judged_once(method: str) -> None:
    judge = judge_of(*SEARCHED, JUDGED)
    verdict = judge.judge(CASE) if method == "judge" else asyncio.run(judge.ajudge(CASE))
    first, second, _, last = asked(judge)
    assert shown(first) == ['"1"', *lines(1, 5)]
    assert shown(second) == ['"2"', *lines(6, 10)]  # the blank document has no number
    assert shown(last) == ['"1"', *lines(1, 3), "...", '"2"', *lines(6, 9), "..."]
    assert (verdict.score, verdict.attempts, verdict.reply) == (0.95, 4, JUDGED)
    assert verdict.warnings == ("source_searched",)
    for part, quote in zip(verdict.parts, ("It sails at nine.", "It sells bread."), strict=True):
        (evidence,) = part.evidence
        content = DOCUMENTS[evidence.document or 0]
        assert (evidence.quote, content[evidence.start : evidence.end]) == (quote, quote)


def lines(first: int, last: int) -> list[str]:
    """Sentences of the source with their numbers."""
    source = number_sentences(CASE).source
    return [f"{number} | {source[number - 1].text}" for number in range(first, last + 1)]


def test_a_source_that_fits_takes_one_call_with_the_same_request_as_without_a_window() -> None:
    judge = judge_of(JUDGED, window=ENOUGH)
    assert judge.judge(CASE).attempts == 1
    (request,) = asked(judge)
    assert request.messages == load_rubric(NAME).ask(CASE).messages


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        pytest.param("1 | 2", UNREADABLE, id="a sentence has no line"),
        pytest.param("1 | 2\n2 | -\n3 | -", UNREADABLE, id="a sentence too many"),
        pytest.param("2 | -\n1 | 2", UNREADABLE, id="another order"),
        pytest.param("1 | 7\n2 | -", UNREADABLE, id="a sentence of another window"),
        pytest.param("1 | 3-6\n2 | -", UNREADABLE, id="a range into another window"),
        pytest.param("1 | 99\n2 | -", UNREADABLE, id="a sentence that is not there"),
        pytest.param("1 | 2 | - | 10\n2 | 2 | - | 0\nALL | 1", UNREADABLE, id="a verdict"),
        pytest.param("1 | 2\n2 | -\nALL | 9", UNREADABLE, id="a last line"),
        pytest.param("Sentence 2 says so.", UNREADABLE, id="prose"),
        pytest.param(Reply("1 | 2\n2", finish_reason="length"), "truncated", id="cut off"),
        pytest.param(Reply("", refusal="No."), "refused", id="a refusal"),
    ],
)
def test_a_search_that_cannot_be_read_is_asked_again_once_and_then_an_error(
    reply: str | Reply, code: str
) -> None:
    judge = judge_of(reply, *SEARCHED[1:], SEARCHED[0], JUDGED)
    assert judge.judge(CASE).score == 0.95
    again = asked(judge)[3]
    assert shown(again) == shown(asked(judge)[0])
    if code == UNREADABLE:
        complaint = again.messages[-1]["content"]
        assert "one line for each sentence of the statement, in order: its number, a bar" in complaint
        assert "verdict" not in complaint
    else:
        assert len(again.messages) > 2 or again.parameters["max_tokens"] == 8000
    judge = judge_of(reply, *SEARCHED[1:], reply)
    with pytest.raises(ReplyError) as raised:
        judge.judge(CASE)
    assert (raised.value.code, len(asked(judge))) == (code, 4)
    assert raised.value.verdict
    assert raised.value.verdict.status == "error"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("```\n1 | 2\n2 | -\n```", id="code fence"),
        pytest.param("Here they are:\n\n1 | 2\n2 | -", id="prose ahead"),
        pytest.param("| n | source |\n|---|---|\n| 1 | 2 |\n| 2 | - |", id="table"),
        pytest.param("- **1** | 2\n- **2** | –", id="bullets, bold, a dash"),
        pytest.param("<think>1 | 4</think>1 | 2\n2 | -", id="thoughts ahead"),
    ],
)
def test_lines_as_models_write_them_are_read(reply: str) -> None:
    searcher = load_rubric(NAME, window=WINDOW).searcher
    sentences = cut_windows(number_sentences(CASE), WINDOW)[0]
    reading = searcher.format.read_reply(Reply(reply), searcher.scale, Expectation(sentences=sentences))
    assert [part.sources for part in reading.parts] == [(2,), ()]


def test_a_reader_without_the_case_reads_what_it_writes() -> None:
    searcher = load_rubric(NAME, window=WINDOW).searcher
    reading = searcher.format.read_reply(Reply("1 | 3-5\n2 | -"), searcher.scale)
    assert searcher.format.write_reply(reading) == "1 | 3, 4, 5\n2 | -"


def test_a_batch_holds_all_searches_then_those_asked_again_then_the_last_request() -> None:
    judge = judge_of(JUDGED)
    first, second, third = SEARCHED
    rounds = [["", second, third], [first], [JUDGED]]
    answers: dict[str, Reply] = {}
    for texts in rounds:
        _, pending = replay(judge, CASE, answers.get)
        assert len(pending) == len(texts)
        for request, text in zip(pending, texts, strict=True):
            assert request.custom_id not in answers
            answers[request.custom_id] = Reply(text)
    verdict, pending = replay(judge, CASE, answers.get)
    assert (verdict.score, verdict.attempts, pending) == (0.95, 5, ())


def test_an_estimate_counts_the_searches() -> None:
    judge = judge_of(*SEARCHED, JUDGED)
    (with_window,) = estimate([judge], [CASE])
    (without,) = estimate([load(NAME, model=ScriptedModel(JUDGED))], [CASE])
    assert (with_window.n_calls, without.n_calls) == (4, 1)
    assert with_window.prompt_tokens > without.prompt_tokens
    assert with_window.calls_per_row == (1, 4)
    assert judge.judge(CASE).attempts == 4


def test_judges_with_other_windows_are_others() -> None:
    rubrics = [load_rubric(NAME), load_rubric(NAME, window=ENOUGH), load_rubric(NAME, window=WINDOW)]
    assert len({rubric.identity for rubric in rubrics}) == 3


def test_votes_on_a_long_source_are_asked_apart() -> None:
    model = ScriptedModel(*(*SEARCHED, JUDGED) * 2)
    verdict = load(NAME, model=model, window=WINDOW, repeats=2).judge(CASE)
    assert (verdict.score, [request.repeat for request in model.asked]) == (0.95, [0] * 4 + [1] * 4)


def test_a_search_that_is_cut_off_is_repeated_once_whatever_max_reasks_says() -> None:
    cut_off = Reply("1 | 2\n2", finish_reason="length")
    for max_reasks in (0, 3):
        judge = replace(judge_of(cut_off, *SEARCHED[1:], SEARCHED[0], JUDGED), max_reasks=max_reasks)
        assert judge.judge(CASE).attempts == 5
        judge = replace(judge_of(cut_off, *SEARCHED[1:], cut_off), max_reasks=max_reasks)
        with pytest.raises(ReplyError, match="truncated"):
            judge.judge(CASE)
        assert len(asked(judge)) == 4


def test_a_budget_ends_after_as_many_verdicts_as_it_pays_for() -> None:
    async def answer(request: Request) -> str:
        await asyncio.sleep(0)
        if request.rubric.format == Numbered():
            return "1 | - | not there | 0\n2 | - | not there | 0\nALL | 1"
        return "1 | -\n2 | -"

    judge = load(NAME, model=answer, window=WINDOW, max_reasks=0)
    cases = [CASE.replace(id=f"{number}") for number in range(20)]
    verdicts: list[Verdict] = []
    with pytest.raises(ModelError, match="budget"):
        verdicts.extend(run(judge, cases, max_calls=20))
    assert [verdict.score for verdict in verdicts] == [0.01] * 5


def test_a_search_has_no_schema_of_a_verdict() -> None:
    schema = load_rubric(NAME).response_format
    rubric = load_rubric(NAME, window=WINDOW, parameters=dict(schema))
    judge = Judge(rubric, ScriptedModel(*SEARCHED, JUDGED))
    assert judge.judge(CASE).score == 0.95
    assert ["response_format" in request.parameters for request in asked(judge)] == [False] * 3 + [True]


SEARCH = "search: 'Search {{context}} for {{response}}.'\n"
OWN = """---
name: own
inputs: [{name: context, type: documents}, {name: query, required: true}, {name: response}]
reply: {format: numbered}
scale: {worst: 0, best: 10}
---
{{context}} {{query}} {{response}}"""


def own(search: str) -> str:
    return OWN.replace("reply:", f"{search}reply:")


def test_what_the_verdict_needs_is_missed_before_any_search(tmp_path: Path) -> None:
    file = tmp_path / "own.prompty"
    file.write_text(own(SEARCH))
    judge = load(file, model=ScriptedModel(JUDGED), window=WINDOW)
    error = judge.evaluate(CASE)
    assert (error.attempts, error.error and error.error.code) == (0, "missing_field")


@pytest.mark.parametrize(
    ("search", "message"),
    [
        pytest.param("", "the file does not say how to search", id="no search"),
        pytest.param(SEARCH.replace("{{context}}", "it"), "search: show what is searched", id="no context"),
        pytest.param(
            SEARCH.replace("Search", "Search {{profile}}"), "no placeholder 'profile'", id="another field"
        ),
    ],
)
def test_a_file_says_how_a_source_is_searched(tmp_path: Path, search: str, message: str) -> None:
    file = tmp_path / "own.prompty"
    file.write_text(own(search))
    with pytest.raises(PromptError, match=message):
        load_rubric(file, window=WINDOW)


REFUSED: dict[str, tuple[str, Any, str]] = {
    "a judge of one score": ("groundedness", WINDOW, "a score by a part of the source says little"),
    "no tokens": (NAME, 0, "a number of tokens, 1 or more, not 0"),
    "no whole number": (NAME, 2.5, "not 2.5"),
    "no number": (NAME, "many", "not 'many'"),
}


@pytest.mark.parametrize(("name", "window", "message"), REFUSED.values(), ids=REFUSED)
def test_a_window_without_a_meaning_is_refused(name: str, window: Any, message: str) -> None:
    with pytest.raises(PromptError, match=message) as raised:
        load(name, model=ScriptedModel(JUDGED), window=window)
    assert raised.value.code == "bad_window"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        pytest.param("offline", "it reads sources of any length", id="offline"),
        pytest.param("decisions:m", "`window` has no meaning", id="decisions"),
    ],
)
def test_a_model_that_reads_no_parts_refuses_a_window(model: str, message: str) -> None:
    with pytest.raises(GroundjudgeError, match=message):
        Judge(load_rubric(NAME, window=WINDOW), as_model(model))


def test_other_documents_than_the_source_are_shown_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "own.prompty"
    head = OWN.replace("{name: query, required: true}", "{name: glossary, type: documents}")
    file.write_text(head.replace("{{query}}", "{{glossary}}"))
    case = {"context": "It is old. It is red.", "response": "It is old.", "glossary": ["Old: not new. Rare."]}
    (message,) = load_rubric(file).ask(case).messages
    assert "1 | It is old.\n2 | It is red." in message["content"]
    assert "\nOld: not new. Rare.\n" in message["content"]
