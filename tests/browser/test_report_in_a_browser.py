"""The report as a reader meets it: opened from a file in a real browser."""

# Selenium leaves what a script takes and returns without types:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from make_verdicts import error, verdict
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.select import Select

from groundjudge import Case, Evidence, Part, Verdict
from groundjudge.analysis.agreement import agree
from groundjudge.analysis.labels import Labels
from groundjudge.report.page import report

QUIET = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync
    --disable-background-networking --disable-component-update --disable-dev-shm-usage""".split()
N_CASES = 1000
CONTEXT = (
    "Die Fähre 🚢👩‍👩‍👧 fährt um neun. The ferry 🇩🇪 sails at nine; it costs five crowns — 价格五元. 𝔈nd."
)
QUOTES = ("fährt um neun", "The ferry 🇩🇪 sails at nine; it costs", "it costs five crowns — 价格五元", "𝔈nd.")
SENTENCES = ("🚢 It sails at nine.", "It costs five crowns.", "Children sail free.")

Find = Callable[[str], list[WebElement]]


@pytest.fixture(scope="module")
def visits() -> Iterator[tuple[str, list[str]]]:
    """An address that hostile texts ask for, and what was asked of it."""
    asked: list[str] = []

    class Count(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base class names it so
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Count)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def page(visits: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of 2,000 verdicts on cases of everyday length, hostile ones and errors among them."""
    verdicts, cases, labels = content(visits[0])
    assert len(verdicts) == 2 * N_CASES
    path = tmp_path_factory.mktemp("report") / "report.html"
    made = report(
        verdicts,
        title="a <b>title</b>",
        cases=cases,
        labels=labels,
        agreements=agree(verdicts, labels, worst=9999),
    )
    path.write_text(made, encoding="utf-8")
    return path


def content(address: str) -> tuple[list[Verdict], list[Case], Labels]:
    generator = random.Random(1)  # noqa: S311  made-up texts
    words = "the ferry sails at nine every day but Sunday and costs five crowns a head".split()

    def text(length: int) -> str:
        return " ".join(generator.choice(words) for _ in range(length)) + "."

    hostile = (
        f'</script><script>window.hurt=1;fetch("{address}/f")</script>'
        f'<img src="{address}/i" onerror="window.hurt=1"><svg onload="window.hurt=1"></svg>'
        f'<iframe src="{address}/o"></iframe><a href="javascript:hurt=1">x</a>'
        f'<style>@import url("{address}/s");</style><!--'
    )
    cases = [
        Case(id=f"case-{place:04}", query=text(12), response=text(40), context=[text(120), text(60)])
        for place in range(N_CASES - 2)
    ]
    cases.append(Case(id="marked", query="q", response=" ".join(SENTENCES), context=["first", CONTEXT]))
    cases.append(
        Case(id=hostile, query=hostile, response=hostile, context=[{"title": hostile, "content": hostile}])
    )
    verdicts: list[Verdict] = []
    for place, case in enumerate(cases[:-2]):
        score = round(generator.random(), 3)
        verdicts.append(
            verdict(
                str(case.id),
                score,
                judge="whole",
                label="good" if score > 0.7 else "bad",
                reason=f"reason-{place:04}: {text(30)}",
                warnings=("band_mismatch",) if place % 10 == 0 else (),
                usage={"prompt_tokens": 400, "completion_tokens": place},
                latency_s=0.5,
            )
        )
        verdicts.append(
            error(str(case.id), "timeout", judge="parts")
            if place % 50 == 0
            else verdict(str(case.id), score, judge="parts")
        )
    verdicts.append(verdict("marked", 0.6, judge="parts", parts=tuple(parts())))
    verdicts.append(verdict("marked", None, judge="whole"))
    told = {"reason": hostile, "label": hostile, "warnings": (hostile,), "model": hostile}
    verdicts.append(verdict(hostile, 0.5, judge="whole", **told))
    verdicts.append(
        error(hostile, hostile, judge="parts").model_copy(update={"reply": hostile, "reason": hostile})
    )
    labels = Labels({str(case.id): place % 2 for place, case in enumerate(cases[:500])})
    return verdicts, cases, labels


def parts() -> list[Part]:
    def found(quote: str) -> Evidence:
        start = CONTEXT.index(quote)
        return Evidence(quote=quote, document=1, start=start, end=start + len(quote), exact=True)

    quoted = ((QUOTES[0], QUOTES[1], QUOTES[3]), (QUOTES[2],), ())
    return [
        Part(name=sentence, value=value, score=value / 10, evidence=tuple(map(found, quotes)))
        for sentence, value, quotes in zip(SENTENCES, (10, 7, 0), quoted, strict=True)
    ]


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.fail(
            "Chromium and chromedriver are needed: on Debian, apt-get install chromium chromium-driver"
        )
    options = Options()
    options.binary_location = chromium
    for flag in QUIET:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


@pytest.fixture
def find(browser: webdriver.Chrome, page: Path) -> Find:
    """The page, opened anew on a wide and light screen; what a selector finds in it."""
    screen(browser, 1280, 900)
    browser.get(page.as_uri())
    return lambda selector: browser.find_elements(By.CSS_SELECTOR, selector)


def screen(browser: webdriver.Chrome, width: int, height: int, scheme: str = "light") -> None:
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    features = [
        {"name": "prefers-color-scheme", "value": scheme},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def logged(browser: webdriver.Chrome, kind: str) -> list[dict[str, Any]]:
    """What the browser has noted since it was asked last."""
    untyped: Any = browser
    noted: list[dict[str, Any]] = untyped.get_log(kind)
    return noted


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "waited for ten seconds"
        time.sleep(0.02)


def column(find: Find, name: str) -> list[str]:
    return [cell.text for cell in find(f"#body td.c-{name}")]


def count(find: Find) -> str:
    return find("#count")[0].text


def search(find: Find, text: str, expected: str) -> None:
    find("#by-text")[0].clear()
    find("#by-text")[0].send_keys(text)
    until(lambda: count(find) == expected)


def open_row(find: Find, case_id: str, judge: str) -> None:
    search(find, case_id, "2 of 2,000 verdicts")
    Select(find("#by-judge")[0]).select_by_visible_text(f"{judge} (1,000)")
    find("#body .open")[0].click()


def test_it_is_small_and_quick(browser: webdriver.Chrome, page: Path, find: Find) -> None:
    assert page.stat().st_size < 5_000_000
    browser.get(page.as_uri())
    ready = browser.execute_script(
        "const [opened] = performance.getEntriesByType('navigation');"
        "return document.documentElement.dataset.ready && opened.loadEventEnd"
    )
    assert 0 < ready < 2000
    assert len(find("#body tr")) == 50
    begun = time.monotonic()
    search(find, "reason-0077:", "1 of 2,000 verdicts")
    find(".rows th.c-score button")[0].click()
    assert time.monotonic() - begun < 2


def test_rows_are_filtered_by_judge_label_warning_people_and_text(find: Find) -> None:
    assert count(find) == "2,000 verdicts"
    Select(find("#by-judge")[0]).select_by_visible_text("whole (1,000)")
    assert count(find) == "1,000 of 2,000 verdicts"
    assert set(column(find, "judge")) == {"whole"}
    Select(find("#by-warning")[0]).select_by_visible_text("band mismatch (100)")
    assert count(find) == "100 of 2,000 verdicts"
    assert set(column(find, "warnings")) == {"band mismatch"}
    Select(find("#by-label")[0]).select_by_value("l:good")
    assert set(column(find, "label")) == {"good"}
    Select(find("#by-people")[0]).select_by_value("differ")
    assert {float(score) >= 0.5 for score in column(find, "score")} == {True}
    assert set(column(find, "person")) == {"0 ≠"}
    find("#clear")[0].click()
    assert count(find) == "2,000 verdicts"
    Select(find("#by-label")[0]).select_by_value("e:timeout")
    assert count(find) == "20 of 2,000 verdicts"
    search(find, "case-0050 nine", "1 of 2,000 verdicts")


@pytest.mark.parametrize("name", ["score", "judge", "case", "tokens", "person"])
def test_rows_are_sorted_both_ways_and_what_has_no_value_comes_last(find: Find, name: str) -> None:
    def keys() -> list[Any]:
        told = [text.replace(",", "").split(" ")[0] for text in column(find, name)]
        return told if name in {"judge", "case"} else [float(text) for text in told if text not in {"", "–"}]

    head = find(f".rows th.c-{name}")[0]
    for order, turned in (("ascending", False), ("descending", True)):
        head.find_element(By.TAG_NAME, "button").click()
        assert head.get_attribute("aria-sort") == order
        assert keys() == sorted(keys(), reverse=turned)
        assert len(keys()) == 50
    find("#pages button")[-1].click()
    if name in {"score", "tokens", "person"}:
        assert column(find, name)[-1] in {"", "–"}


def test_pages_show_every_row_once(find: Find) -> None:
    Select(find("#by-label")[0]).select_by_value("l:good")
    total = int(count(find).split(" ")[0])
    seen = column(find, "case")
    while find("#pages button")[2].is_enabled():
        find("#pages button")[2].click()
        seen.extend(column(find, "case"))
    assert len(seen) == len(set(seen)) == total


def test_a_row_opens_to_its_case_reason_and_texts(find: Find) -> None:
    open_row(find, "case-0007", "whole")
    told = find("dialog")[0].text
    assert "case-0007" in told
    assert find("#reason")[0].text.startswith("reason-0007: ")
    assert [one.text for one in find("dialog .document > p:first-child")] == ["Document 1", "Document 2"]
    assert "one@1.0.0|sha:aaaaaaaaaaaa" not in told  # folded away until asked for
    find("dialog summary")[0].click()
    assert "whole@1.0.0|sha:aaaaaaaaaaaa|model:m" in find("dialog")[0].text


def test_highlights_stand_at_the_offsets_of_the_evidence(browser: webdriver.Chrome, find: Find) -> None:
    open_row(find, "marked", "parts")
    document = find('[data-document="1"] .text')[0]
    assert document.text == CONTEXT
    for number, part in enumerate(parts()):
        marks = find(f'[data-document="1"] mark.quote[data-parts~="{number}"]')
        marked = {
            place
            for mark in marks
            for place in range(
                int(mark.get_attribute("data-start") or 0), int(mark.get_attribute("data-end") or 0)
            )
        }
        expected = {place for one in part.evidence for place in range(one.start, one.end)}
        assert marked == expected
        pieces = browser.execute_script("return arguments[0].map((mark) => mark.textContent)", marks)
        assert "".join(pieces) == "".join(CONTEXT[place] for place in sorted(expected))
    assert not find('[data-document="0"] mark')
    texts = {
        look: "".join(one.text for one in find(f"#response mark.{look}"))
        for look in ("unsupported", "partly")
    }
    assert texts == {"unsupported": SENTENCES[2], "partly": SENTENCES[1]}


def test_a_hostile_row_executes_nothing_and_shows_as_text(
    browser: webdriver.Chrome, find: Find, visits: tuple[str, list[str]]
) -> None:
    address, asked = visits
    assert find("h1")[0].text == "a <b>title</b>"
    search(find, "window.hurt", "2 of 2,000 verdicts")
    for place in range(2):
        find("#body .open")[place].click()
        assert find("#row-title")[0].text.startswith("</script><script>window.hurt=1;")
        assert "<script>window.hurt=1;" in find("#response")[0].text
        find("#close")[0].click()
    assert browser.execute_script("return window.hurt") is None
    for selector in ("dialog", "body > header", "main"):
        assert not find(f"{selector} :is(img, iframe, script, style, a[href^=javascript])")
    assert asked == []
    assert browser.execute_async_script(
        f"const done = arguments[0]; fetch('{address}/asked').then(() => done('sent'), () => done('blocked'))"
    ) == ("blocked")
    assert asked == []


def test_nothing_is_fetched_and_nothing_complains(browser: webdriver.Chrome, find: Find) -> None:
    logged(browser, "performance")
    logged(browser, "browser")
    browser.get(browser.current_url)
    open_row(find, "marked", "parts")
    events = [json.loads(entry["message"])["message"] for entry in logged(browser, "performance")]
    sent = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in sent if not url.startswith(("file:", "data:"))] == []
    assert sum(url.startswith("file:") for url in sent) == 1
    assert logged(browser, "browser") == []


def test_the_keyboard_is_enough(browser: webdriver.Chrome, find: Find) -> None:
    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def focused(name: str) -> str | None:
        return browser.switch_to.active_element.get_attribute(name)

    press("/")
    assert focused("id") == "by-text"
    press("case-0001")
    until(lambda: count(find) == "2 of 2,000 verdicts")
    while focused("data-row") is None:
        press(Keys.TAB)
    press(Keys.ARROW_DOWN, Keys.ENTER)
    title = find("#row-title")[0].text, find("dialog .inside > p")[0].text
    assert title == ("case-0001", "parts")
    press(Keys.ARROW_LEFT)
    assert find("dialog .inside > p")[0].text == "whole"
    press(Keys.ESCAPE)
    assert not find("dialog")[0].is_displayed()
    assert focused("class") == "open"


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_nothing_runs_off_the_screen(browser: webdriver.Chrome, find: Find, width: int) -> None:
    screen(browser, width, 900)
    measured = "return document.documentElement.scrollWidth"
    assert browser.execute_script(measured) <= width
    open_row(find, "marked", "parts")
    assert browser.execute_script("return document.querySelector('dialog').scrollWidth") <= width


def test_light_and_dark_are_both_readable(browser: webdriver.Chrome, find: Find) -> None:
    assert find("h1")
    contrast = """
        const parse = (color) => color.match(/[\\d.]+/g).slice(0, 3).map(Number);
        const light = (color) => parse(color).map((c) => c / 255)
          .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
          .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
        const paper = light(getComputedStyle(document.body).backgroundColor);
        return [...document.querySelectorAll('h1, .lede, .is-bad, .is-good, .open, th button, figcaption')]
          .map((one) => light(getComputedStyle(one).color))
          .map((ink) => (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05));
    """
    papers: list[str] = []
    for scheme in ("light", "dark"):
        screen(browser, 1280, 900, scheme)
        papers.append(browser.execute_script("return getComputedStyle(document.body).backgroundColor"))
        assert min(browser.execute_script(contrast)) >= 4.5  # what WCAG asks for
    assert papers[0] != papers[1]


def test_pictures_and_fields_have_names(browser: webdriver.Chrome, find: Find) -> None:
    unnamed = browser.execute_script("""
        const charts = [...document.querySelectorAll('svg:not([aria-hidden])')];
        const named = (svg) => svg.getAttribute('role') === 'img'
          && svg.getAttribute('aria-labelledby').split(' ')
            .every((id) => document.getElementById(id).textContent.length > 5);
        const fields = [...document.querySelectorAll('input, select')];
        return [charts.length, charts.filter((svg) => !named(svg)).length,
          fields.filter((field) => !field.labels.length).length];
    """)
    assert unnamed[0] == 2 + 2 * 2  # scores of two judges; ROC and calibration of both
    assert unnamed[1:] == [0, 0]
    assert find("#agreement .confusion td.right")
