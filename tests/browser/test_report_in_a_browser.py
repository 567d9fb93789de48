"""The report, opened from a file in a real browser."""

# Selenium has no types for the arguments and results of scripts:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from a_browser import log_entries, screen, wait_until
from make_verdicts import error, panel_verdict, verdict, vote
from scripted_model import ScriptedModel
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from groundjudge import Case, Verdict, load
from groundjudge.lab.agreement import agree
from groundjudge.lab.labels import Labels, LabelVocabulary
from groundjudge.lab.probe import probe
from groundjudge.report.page import report
from groundjudge.types import Evidence, Part, Vote

pytest_plugins = ["browser_fixture"]

N_CASES = 1000
NOBODY = "http://127.0.0.1:9"
"""Where nobody answers."""

CONTEXT = (
    "Die Fähre 🚢👩‍👩‍👧 fährt um neun. The ferry 🇩🇪 sails at nine; it costs five crowns — 价格五元. 𝔈nd."
)
QUOTES = ("fährt um neun", "The ferry 🇩🇪 sails at nine; it costs", "it costs five crowns — 价格五元", "𝔈nd.")
SENTENCES = ("🚢 It sails at nine.", "It costs five crowns.", "Children sail free.")

Find = Callable[[str], list[WebElement]]


HOSTILE = (
    f'</script><script>window.hurt=1;fetch("{NOBODY}/f")</script><style>@import url("{NOBODY}/s");</style>'
    f'<img src="{NOBODY}/i" onerror="window.hurt=1"><svg onload="window.hurt=1"></svg>'
    f'<iframe src="{NOBODY}/o"></iframe><a href="javascript:hurt=1">x</a><!--'
)
"""Markup that would run scripts or send requests if it were parsed as HTML."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 2,000 verdicts on cases of realistic length, including hostile texts and errors."""
    generator = random.Random(1)  # noqa: S311  made-up texts
    words = "the ferry sails at nine every day but Sunday and costs five crowns a head".split()

    def text(length: int) -> str:
        return " ".join(generator.choice(words) for _ in range(length)) + "."

    cases = [
        Case(id=f"case-{index:04}", query=text(12), response=text(40), context=[text(120), text(60)])
        for index in range(N_CASES - 2)
    ]
    verdicts: list[Verdict] = []
    for index, case in enumerate(cases):
        score = round(generator.random(), 3)
        case_id = str(case.id)
        more: dict[str, Any] = {
            "label": "good" if score > 0.7 else "bad",
            "reason": f"reason-{index:04}: {text(30)}",
            "warnings": ("band_mismatch",) if index % 10 == 0 else (),
            "usage": {"prompt_tokens": 400, "completion_tokens": index},
        }
        verdicts.append(verdict(case_id, score, judge="whole", latency_s=0.5, **more))
        if index % 50 == 0:
            verdicts.append(error(case_id, "timeout", judge="parts"))
        else:
            verdicts.append(verdict(case_id, score, judge="parts"))
    cases.append(Case(id="marked", query="q", response=" ".join(SENTENCES), context=["first", CONTEXT]))
    verdicts.append(verdict("marked", 0.6, judge="parts", parts=tuple(parts())))
    verdicts.append(verdict("marked", None, judge="whole"))
    document = {"title": HOSTILE, "content": HOSTILE}
    cases.append(Case(id=HOSTILE, query=HOSTILE, response=HOSTILE, context=[document]))
    votes = (vote(HOSTILE, 1.0, label=HOSTILE, reply=HOSTILE), vote("m", 0.0, reply=HOSTILE))
    texts: dict[str, Any] = dict.fromkeys(("reason", "label", "model"), HOSTILE)
    weighted = {"agreement": 0.5, "expected": 0.5, "distribution": {HOSTILE: 1.0}}
    more = {**texts, **weighted, "warnings": (HOSTILE,), "votes": votes}
    verdicts.append(verdict(HOSTILE, 0.5, judge="whole", **more))
    failed = error(HOSTILE, HOSTILE, judge="parts")
    verdicts.append(failed.model_copy(update={"reply": HOSTILE, "reason": HOSTILE}))
    labels = Labels({str(case.id): index % 2 for index, case in enumerate(cases[:500])})
    path = tmp_path_factory.mktemp("report") / "report.html"
    agreements = agree(verdicts, labels, worst=9999)
    html = report(verdicts, title="a <b>title</b>", cases=cases, labels=labels, agreements=agreements)
    path.write_text(html, encoding="utf-8")
    return path


def parts() -> list[Part]:
    def evidence(quote: str) -> Evidence:
        start = CONTEXT.index(quote)
        return Evidence(quote=quote, document=1, start=start, end=start + len(quote), exact=True)

    rows: list[tuple[str, int, list[str]]] = [
        (SENTENCES[0], 10, [QUOTES[0], QUOTES[1], QUOTES[3]]),
        (SENTENCES[1], 7, [QUOTES[2]]),
        (SENTENCES[2], 0, []),
    ]
    sentence_parts: list[Part] = []
    for sentence, value, quotes in rows:
        quotes_found = tuple(evidence(quote) for quote in quotes)
        sentence_parts.append(Part(name=sentence, value=value, score=value / 10, evidence=quotes_found))
    return sentence_parts


@pytest.fixture
def find(browser: webdriver.Chrome, page: Path) -> Find:
    """Reloads the page on a wide, light screen; returns a function that finds elements by selector."""
    screen(browser, 1280, 900)
    browser.get(page.as_uri())
    return lambda selector: browser.find_elements(By.CSS_SELECTOR, selector)


def column(find: Find, name: str) -> list[str]:
    return [cell.text for cell in find(f"#body td.c-{name}")]


def count(find: Find) -> str:
    return find("#count")[0].text


def search(find: Find, text: str, expected: str) -> None:
    find("#by-text")[0].clear()
    find("#by-text")[0].send_keys(text)
    wait_until(lambda: count(find) == expected)


def open_row(find: Find, case_id: str, judge: str) -> None:
    search(find, case_id, "2 of 2,000 verdicts")
    Select(find("#by-judge")[0]).select_by_visible_text(f"{judge} (1,000)")
    find("#body .open")[0].click()


def test_rows_are_filtered_by_judge_label_warning_human_label_and_text(find: Find) -> None:
    assert count(find) == "2,000 verdicts"
    Select(find("#by-judge")[0]).select_by_visible_text("whole (1,000)")
    assert count(find) == "1,000 of 2,000 verdicts"
    assert set(column(find, "judge")) == {"whole"}
    Select(find("#by-warning")[0]).select_by_visible_text("band mismatch (100)")
    assert count(find) == "100 of 2,000 verdicts"
    assert set(column(find, "warnings")) == {"band mismatch"}
    Select(find("#by-label")[0]).select_by_value("l:good")
    assert set(column(find, "label")) == {"good"}
    Select(find("#by-human")[0]).select_by_value("disagrees")
    assert {float(score) >= 0.5 for score in column(find, "score")} == {True}
    assert set(column(find, "human")) == {"0 ≠"}
    find("#clear")[0].click()
    assert count(find) == "2,000 verdicts"
    Select(find("#by-label")[0]).select_by_value("e:timeout")
    assert count(find) == "20 of 2,000 verdicts"
    search(find, "case-0050 nine", "1 of 2,000 verdicts")


@pytest.mark.parametrize("name", ["score", "judge", "case", "tokens", "human"])
def test_rows_sort_in_both_directions_with_missing_values_last(find: Find, name: str) -> None:
    is_text = name in {"judge", "case"}

    def keys() -> list[Any]:
        values = [text.replace(",", "").split(" ")[0] for text in column(find, name)]
        return values if is_text else [float(text) for text in values if text not in {"", "–"}]

    heading = find(f".rows th.c-{name}")[0]
    for order, reverse in (("ascending", False), ("descending", True)):
        heading.find_element(By.TAG_NAME, "button").click()
        assert heading.get_attribute("aria-sort") == order
        assert keys() == sorted(keys(), reverse=reverse)
        assert len(keys()) == 50
    find("#pages button")[-1].click()
    assert is_text or column(find, name)[-1] in {"", "–"}


def test_pages_of_the_table_show_every_row_once(find: Find, page: Path) -> None:
    assert page.stat().st_size < 5_000_000
    Select(find("#by-label")[0]).select_by_value("l:good")
    total = int(count(find).split(" ")[0])
    ids = column(find, "case")
    while find("#pages button")[2].is_enabled():
        find("#pages button")[2].click()
        ids.extend(column(find, "case"))
    assert len(ids) == len(set(ids)) == total


def test_click_on_a_row_opens_its_case_reason_and_documents(find: Find) -> None:
    open_row(find, "case-0007", "whole")
    text = find("dialog")[0].text
    assert "case-0007" in text
    assert find("#reason")[0].text.startswith("reason-0007: ")
    titles = [paragraph.text for paragraph in find("dialog .document > p:first-child")]
    assert titles == ["Document 1", "Document 2"]
    assert "whole@1.0.0|sha:aaaaaaaaaaaa" not in text  # inside a closed details element
    find("dialog summary")[0].click()
    assert "whole@1.0.0|sha:aaaaaaaaaaaa|model:m" in find("dialog")[0].text


def test_highlights_are_at_the_offsets_of_the_evidence(browser: webdriver.Chrome, find: Find) -> None:
    open_row(find, "marked", "parts")
    document = find('[data-document="1"] .text')[0]
    assert document.text == CONTEXT
    for number, part in enumerate(parts()):
        marks = find(f'[data-document="1"] mark.quote[data-parts~="{number}"]')
        offsets_of_marks: set[int] = set()
        for mark in marks:
            start = int(mark.get_attribute("data-start") or 0)
            end = int(mark.get_attribute("data-end") or 0)
            offsets_of_marks.update(range(start, end))
        expected: set[int] = set()
        for quote in part.evidence:
            expected.update(range(quote.start, quote.end))
        assert offsets_of_marks == expected
        pieces = browser.execute_script("return arguments[0].map((mark) => mark.textContent)", marks)
        assert "".join(pieces) == "".join(CONTEXT[index] for index in sorted(expected))
    assert not find('[data-document="0"] mark')
    assert "".join(mark.text for mark in find("#response mark.unsupported")) == SENTENCES[2]
    assert "".join(mark.text for mark in find("#response mark.partly")) == SENTENCES[1]


def numbered_page(tmp_path: Path) -> Path:
    """A report of one verdict whose sentences and sources have numbers."""
    replies = "1 | 1, 3 | - | 10\n2 | 2 | five, not nine | 3\n3 | - | - | NO CLAIM\nALL | 10"
    response = "🚢 It sails at nine, free for children. It costs nine crowns. Anything else?"
    context = ["The ferry sails at nine. It costs five crowns.", "🚢 Children sail free."]
    case = Case(id="a", response=response, context=context)
    judged = load("statement_groundedness", model=ScriptedModel(replies)).judge(case)
    path = tmp_path / "numbered.html"
    path.write_text(report([judged], cases=[case]), encoding="utf-8")
    return path


def test_sentence_and_its_sources_mark_each_other_by_number(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    screen(browser, 1280, 1400)
    browser.get(numbered_page(tmp_path).as_uri())

    def find(selector: str) -> list[WebElement]:
        return browser.find_elements(By.CSS_SELECTOR, selector)

    def marked(side: str) -> list[str]:
        return [mark.get_attribute("data-number") or "" for mark in find(f"{side} mark.on")]

    find("#body .open")[0].click()
    assert [mark.get_attribute("data-number") for mark in find("#response mark")] == ["1", "2", "3"]
    assert [mark.get_attribute("data-number") for mark in find(".document mark")] == ["1", "2", "3"]
    assert [mark.text for mark in find("mark.quote.against:not(.key mark)")] == ["It costs five crowns."]
    assert "contradicts it" in find(".key")[0].text
    script = "return getComputedStyle(arguments[0], '::before').content"
    content = browser.execute_script(script, find(".document mark.against")[0])
    assert content == '"2 against "'
    items = find("dialog .parts li")
    assert [item.text.splitlines()[-1] for item in items[:2]] == ["source: 1, 3", "five, not nine"]
    assert "contradicted by: 2" in items[1].text
    mouse = ActionChains(browser)
    for side, index, here, there in (
        ("#response", 0, ["1"], ["1", "3"]),
        ("#response", 1, ["2"], ["2"]),
        (".document", 2, ["1", "3"], ["1"]),
        (".document", 1, ["2"], ["2"]),
    ):
        other = ".document" if side == "#response" else "#response"
        mouse.move_to_element(find(f"{side} mark")[index]).perform()
        assert (marked(side), marked(other)) == (here, there)
    find("#response mark")[1].click()
    assert (marked("#response"), marked(".document")) == (["2"], ["2"])
    find("dialog .parts li button")[1].send_keys(Keys.ENTER)
    assert marked(".document") == ["1", "3"]


def test_hostile_row_executes_nothing_and_requests_nothing_and_shows_as_text(
    browser: webdriver.Chrome, find: Find
) -> None:
    log_entries(browser, "browser")
    assert find("h1")[0].text == "a <b>title</b>"
    search(find, "window.hurt", "2 of 2,000 verdicts")
    for index in range(2):
        find("#body .open")[index].click()
        assert find("#row-title")[0].text.startswith("</script><script>window.hurt=1;")
        assert "<script>window.hurt=1;" in find("#response")[0].text
        find("#close")[0].click()
    assert browser.execute_script("return window.hurt") is None
    for selector in ("dialog", "body > header", "main"):
        assert not find(f"{selector} :is(img, iframe, script, style, a[href^=javascript])")
    events = [json.loads(entry["message"])["message"] for entry in log_entries(browser, "performance")]
    requests = [event["params"] for event in events if event["method"] == "Network.requestWillBeSent"]
    schemes: set[str] = {urlsplit(request["request"]["url"]).scheme for request in requests}
    assert schemes - {"data"} == {"file"}
    assert log_entries(browser, "browser") == []
    directive = browser.execute_async_script(
        "addEventListener('securitypolicyviolation', (event) => arguments[1](event.effectiveDirective));"
        "fetch(arguments[0]).catch(() => {});",
        NOBODY,
    )
    assert directive == "connect-src"


def test_page_can_be_used_by_keyboard(browser: webdriver.Chrome, find: Find) -> None:
    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def focus_attribute(name: str) -> str | None:
        return browser.switch_to.active_element.get_attribute(name)

    press("/")
    assert focus_attribute("id") == "by-text"
    press("case-0001")
    wait_until(lambda: count(find) == "2 of 2,000 verdicts")
    while focus_attribute("data-row") is None:
        press(Keys.TAB)
    press(Keys.ARROW_DOWN, Keys.ENTER)
    title = find("#row-title")[0].text, find("dialog .inside > p")[0].text
    assert title == ("case-0001", "parts")
    press(Keys.ARROW_LEFT)
    assert find("dialog .inside > p")[0].text == "whole"
    press(Keys.ESCAPE)
    assert not find("dialog")[0].is_displayed()
    assert focus_attribute("class") == "open"


def test_light_and_dark_colours_meet_wcag_contrast(browser: webdriver.Chrome, find: Find) -> None:
    assert find("h1")
    contrast = """
        const parse = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const light = (color) => parse(color).map((c) => c / 255)
          .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, index) => sum + c * [0.2126, 0.7152, 0.0722][index], 0);
        const paper = light(getComputedStyle(document.body).backgroundColor);
        return [...document.querySelectorAll('h1, .lede, .is-bad, .is-good, .open, th button, figcaption')]
          .map((one) => light(getComputedStyle(one).color))
          .map((ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
    """
    papers: list[str] = []
    for scheme in ("light", "dark"):
        screen(browser, 1280, 900, scheme)
        papers.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        assert min(browser.execute_script(contrast)) >= 4.5  # WCAG 2, level AA
    assert papers[0] != papers[1]


def test_charts_and_fields_have_accessible_names(browser: webdriver.Chrome, find: Find) -> None:
    unnamed = browser.execute_script("""
        const charts = [...document.querySelectorAll('svg:not([aria-hidden])')];
        const named = (svg) => svg.getAttribute('role') === 'img'
          && svg.getAttribute('aria-labelledby').split(' ')
            .every((id) => document.getElementById(id).textContent.length > 5);
        const fields = [...document.querySelectorAll('input, select')];
        return [charts.length, charts.filter((svg) => !named(svg)).length,
          fields.filter((field) => !field.labels.length).length];
    """)
    assert unnamed[0] == 2 + 2 * 2  # scores of two judges; ROC and reliability of both
    assert unnamed[1:] == [0, 0]
    assert find("#agreement .confusion td.right")


@pytest.fixture(scope="module")
def panel_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 40 verdicts of a panel, of which every tenth is split, and people's labels in words."""
    words, scores = ("no", "partly", "yes"), (0.0, 0.5, 1.0)
    shares = {"yes": 0.7, "no": 0.3}
    part = Part(
        name="recall", value=None, score=None, label="cannot tell", distribution=shares, confidence=0.4
    )
    weighted = {"expected": 0.7, "distribution": {"yes": 0.7, "partly": 0.2, "no": 0.1}}
    more: dict[str, Any] = {"spread": 0.2, "parts": (part,), "value": 0.5, **weighted}
    verdicts: list[Verdict] = []
    for index in range(40):
        majority = index % 3
        places = [majority] * 5
        if index % 10 == 0:
            places[4] = (majority + 1) % 3
        votes: list[Vote] = []
        for number, place in enumerate(places):
            word = words[place]
            model = f"provider/model-{number}"
            votes.append(vote(model, scores[place], label=word, reply=f"It says {word}."))
        agreement = places.count(majority) / 5
        verdicts.append(
            panel_verdict(f"case-{index:04}", *votes, label=words[majority], agreement=agreement, **more)
        )
    label_by_id: dict[str, Any] = {}
    for index in range(40):
        place = index + 1 if index % 7 == 0 else index
        label_by_id[f"case-{index:04}"] = words[place % 3]
    labels = Labels(label_by_id, vocabulary=LabelVocabulary(dict(zip(words, scores, strict=True)), 0.5))
    path = tmp_path_factory.mktemp("panel") / "report.html"
    agreements = agree(verdicts, labels, worst=9999, resamples=100)
    path.write_text(report(verdicts, labels=labels, agreements=agreements), encoding="utf-8")
    return path


def test_page_of_a_panel_shows_its_votes(browser: webdriver.Chrome, find: Find, panel_page: Path) -> None:
    log_entries(browser, "browser")
    browser.get(panel_page.as_uri())
    assert len(find("#agreement .confusion")) == 2
    labels = find("#agreement .confusion")[1].find_elements(By.CSS_SELECTOR, "thead th, tbody th")
    assert [heading.text for heading in labels] == ["no", "partly", "yes"] * 2
    Select(find("#by-votes")[0]).select_by_visible_text("split (4)")
    assert count(find) == "4 of 40 verdicts"
    assert set(column(find, "votes")) == {"80%"}
    find(".rows th.c-votes button")[0].click()
    assert set(column(find, "human")) <= {"no", "partly", "yes", "no ≠", "partly ≠", "yes ≠"}
    find("#body .open")[0].click()
    votes = find("dialog .votes > li")
    models = [list_item.text.split("\n")[1].split(" · ")[0] for list_item in votes]
    assert models == [f"provider/model-{number}" for number in range(5)]
    assert not find("dialog .votes .raw")[0].is_displayed()
    find("dialog .votes summary")[0].click()
    assert find("dialog .votes .raw")[0].text.startswith("It says ")
    assert find("dialog .probabilities li")[0].text.split("\n") == ["yes", "70%"]
    (summary,) = find("dialog .parts:not(.votes) summary")
    assert summary.text == "Probabilities, confidence 0.400"
    summary.click()
    (yes, no) = find("dialog .parts .probabilities li")
    assert (yes.text.split("\n"), no.text.split("\n")) == (["yes", "70%"], ["no", "30%"])
    dialog_text = find("dialog")[0].text
    for text in ("Agreement of the votes", "Spread of their scores", "Expected value, weighted"):
        assert text in dialog_text
    assert "recall — cannot tell, not applicable" in dialog_text
    assert "NaN" not in dialog_text
    assert log_entries(browser, "browser") == []


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_overflows_the_screen(
    browser: webdriver.Chrome, find: Find, panel_page: Path, width: int
) -> None:
    width_script = "return document.querySelector(arguments[0]).scrollWidth"
    for url in (browser.current_url, panel_page.as_uri()):
        screen(browser, width, 900)
        browser.get(url)
        assert browser.execute_script(width_script, "html") <= width
        if url.startswith(panel_page.as_uri()):
            find("#body .open")[0].click()
        else:
            open_row(find, "marked", "parts")
        assert browser.execute_script(width_script, "dialog") <= width


def test_figures_of_a_probe_are_shown_and_its_texts_stay_text(
    browser: webdriver.Chrome, tmp_path: Path
) -> None:
    result = probe(load("groundedness", model="offline"))
    card = result.card.model_copy(update={"signature": HOSTILE})
    path = tmp_path / "probe.html"
    path.write_text(report(result.verdicts, probe=card), encoding="utf-8")
    browser.get(path.as_uri())
    section = browser.find_element(By.ID, "probe")
    assert section.is_displayed()
    headings = [heading.text for heading in section.find_elements(By.TAG_NAME, "h3")]
    assert headings == ["Faults", "Neutral edits", "Attacks"]
    rows = [row.text for row in section.find_elements(By.CSS_SELECTOR, "tbody tr")]
    assert len(rows) == len(card.edits) + len(card.families)
    position, edit = next(
        (position, edit) for position, edit in enumerate(card.edits) if edit.rate.value is not None
    )
    assert rows[position].startswith(f"{edit.edit} {edit.rate.n} {edit.rate.value:.3f} ")
    assert browser.execute_script("return window.hurt") is None
    path.write_text(report(result.verdicts), encoding="utf-8")
    browser.get(path.as_uri())
    assert not browser.find_element(By.ID, "probe").is_displayed()


def test_filters_are_in_the_address_and_a_link_shows_the_same_rows(
    browser: webdriver.Chrome, find: Find, page: Path
) -> None:
    assert "#" not in browser.current_url
    Select(find("#by-judge")[0]).select_by_index(1)
    search(find, "case-0007 ferry", "1 of 2,000 verdicts")
    link = browser.current_url
    assert "judge=0" in link
    assert "text=case-0007+ferry" in link
    browser.get("about:blank")
    browser.get(link)
    assert (count(find), find("#by-text")[0].get_attribute("value")) == (
        "1 of 2,000 verdicts",
        "case-0007 ferry",
    )
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#judge=nobody&label=x&sort=y")  # what no report has
    assert count(find) == "2,000 verdicts"
    hrefs = [link.get_attribute("href") or "" for link in find("nav.contents a")]
    parts = [part.get_attribute("id") for part in find("main > section:not([hidden])")]
    assert [href.partition("#")[2] for href in hrefs] == parts
    find("nav.contents a")[-1].click()
    assert browser.current_url.endswith("#verdicts")
