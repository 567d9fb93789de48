"""The labelling page, opened from a file in a real browser and worked on with keys alone."""

# Selenium has no types for the arguments and results of scripts:
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from a_browser import log_entries, screen, wait_until
from make_verdicts import verdict
from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from groundjudge import Case, load_rubric
from groundjudge.lab.labelling import labelling_page
from groundjudge.lab.labels import read_labels
from groundjudge.lab.rate import rate
from groundjudge.lab.sample import LabelSample, draw

pytest_plugins = ["browser_fixture"]

HOSTILE = '</script><script>window.hurt=1</script><img src="x" onerror="window.hurt=1">'
VERDICTS = [verdict(f"c{place}", 0.9 if place % 3 else 0.1) for place in range(300)]
LABELS: dict[str, int | None] = {"1": 1, "0": 0, "2": None}

Open = Callable[[str], Callable[[str], list[WebElement]]]


def case_of(place: int) -> Case:
    return Case(
        id=f"c{place}",
        query=f"What does item {place} cost?",
        response=f"Item {place} costs 9 euros. {HOSTILE}",
        context=[f"Item {place} costs 8 euros. Number {number}. " * 40 for number in (1, 2)],
    )


CASES = [case_of(place) for place in range(300)]


@pytest.fixture
def open_page(browser: webdriver.Chrome, tmp_path: Path) -> Open:
    """Opens the page, which the browser may have worked on before."""

    def open_html(html: str) -> Callable[[str], list[WebElement]]:
        path = tmp_path / "label.html"
        path.write_text(html, encoding="utf-8")
        params = {"behavior": "allow", "downloadPath": str(tmp_path)}
        browser.execute_cdp_cmd("Page.setDownloadBehavior", params)
        screen(browser, 1280, 900)
        browser.get(path.as_uri())
        return lambda selector: browser.find_elements(By.CSS_SELECTOR, selector)

    return open_html


def press(browser: webdriver.Chrome, keys: str) -> None:
    ActionChains(browser).send_keys(keys).perform()


def download_rows(
    browser: webdriver.Chrome, folder: Path, name: str = "labels.jsonl"
) -> list[dict[str, Any]]:
    path = folder / name
    path.unlink(missing_ok=True)
    browser.find_element(By.ID, "download").click()
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def page_of(sample: LabelSample, **options: bool) -> str:
    return labelling_page(sample, CASES, load_rubric("groundedness"), **options)


def test_a_hundred_rows_are_labelled_by_keys_alone_with_a_reload_in_the_middle(
    browser: webdriver.Chrome, open_page: Open, tmp_path: Path
) -> None:
    sample = draw(VERDICTS, 100)
    find = open_page(page_of(sample))
    find("#annotator")[0].send_keys("Ann\n")
    keys = random.Random(3).choices("102", k=100)  # noqa: S311  no secret
    press(browser, "".join(keys[:50]))
    browser.refresh()
    assert find("#count")[0].text.startswith("50 of 100 rows labelled, ")
    press(browser, "".join(keys[50:]))
    assert find("#count")[0].text.startswith("100 of 100 rows labelled")
    rows = download_rows(browser, tmp_path)
    assert [(row["id"], row["label"]) for row in rows] == [
        (case_id, LABELS[key]) for case_id, key in zip(sample.ids, keys, strict=True)
    ]
    assert {(row["annotator"], row["sample"], row["note"]) for row in rows} == {("Ann", sample.id, "")}
    assert all(0 <= row["seconds"] < 60 for row in rows)
    measured_rate = rate(VERDICTS, read_labels(tmp_path / "labels.jsonl"), sample)
    assert (measured_rate.rate.n, measured_rate.n_unlabelled) == (100 - keys.count("2"), 0)
    assert [entry for entry in log_entries(browser, "browser") if entry["level"] == "SEVERE"] == []
    assert HOSTILE in find("#response")[0].text
    assert browser.execute_script("return window.hurt") is None


def test_rows_can_be_gone_back_to_undone_and_noted(
    browser: webdriver.Chrome, open_page: Open, tmp_path: Path
) -> None:
    find = open_page(page_of(draw(VERDICTS, 40, seed=1)))

    def title() -> str:
        return find("#row-title")[0].text

    press(browser, "11")
    assert title() == "Row 3 of 40"
    press(browser, "kk0")  # the first row again; the next without a label is the third
    assert title() == "Row 3 of 40"
    press(browser, "u")
    assert title() == "Row 1 of 40"
    press(browser, "n")
    find("#note")[0].send_keys("0 is the price\n")
    press(browser, "jj0")
    rows = download_rows(browser, tmp_path)
    assert [(row["label"], row["note"]) for row in rows] == [(1, "0 is the price"), (1, ""), (0, "")]


def test_a_label_that_is_undone_after_a_reload_is_gone(
    browser: webdriver.Chrome, open_page: Open, tmp_path: Path
) -> None:
    open_page(page_of(draw(VERDICTS, 40, seed=5)))
    press(browser, "1")
    browser.refresh()
    press(browser, "u0")
    assert [row["label"] for row in download_rows(browser, tmp_path)] == [0]
    press(browser, "ku")
    browser.find_element(By.ID, "marks").click()
    press(browser, "1")  # a switch that was clicked takes no keys
    assert [row["label"] for row in download_rows(browser, tmp_path)] == [1]


def test_an_id_that_every_object_has_is_an_id_like_others(
    browser: webdriver.Chrome, open_page: Open, tmp_path: Path
) -> None:
    ids = ["__proto__", "constructor", "toString", "hasOwnProperty", "5"]
    rows = [Case(id=case_id, query="q", response="r", context=["c"]) for case_id in ids]
    sample = draw([verdict(case_id, 0.9) for case_id in ids], 5)
    find = open_page(labelling_page(sample, rows, load_rubric("groundedness")))
    press(browser, "10")
    browser.refresh()
    assert find("#count")[0].text.startswith("2 of 5 rows labelled")
    labels = {row["id"]: row["label"] for row in download_rows(browser, tmp_path)}
    assert labels == dict(zip(sample.ids, (1, 0), strict=False))


def test_other_verdicts_on_the_same_sample_give_the_same_page() -> None:
    sample = draw(VERDICTS, 60, double=10)
    drawn_ids = tuple((case_id,) for case_id in sorted(sample.ids))
    whole = sample.strata[0].model_copy(update={"name": "error", "drawn": drawn_ids})
    other = sample.model_copy(update={"strata": (whole,), "signatures": ("other",)})
    assert page_of(other) == page_of(sample)
    assert page_of(other, second=True) == page_of(sample, second=True)


def test_the_second_person_sees_the_rows_that_two_label(
    browser: webdriver.Chrome, open_page: Open, tmp_path: Path
) -> None:
    sample = draw(VERDICTS, 60, double=10)
    open_page(page_of(sample, second=True))
    press(browser, "1" * 10)
    rows = download_rows(browser, tmp_path, "labels.2.jsonl")
    assert sorted(row["id"] for row in rows) == sorted(sample.double)


def test_people_can_choose_among_the_labels_of_the_judge(
    browser: webdriver.Chrome, open_page: Open, tmp_path: Path
) -> None:
    find = open_page(page_of(draw(VERDICTS, 30, seed=2), own_labels=True))
    texts = [button.text for button in find("#choices button")]
    assert texts == [
        "1 ungrounded",
        "2 incorrect",
        "3 nothing to ground",
        "4 incomplete",
        "5 grounded",
        "0 cannot tell",
    ]
    press(browser, "350")
    assert [row["label"] for row in download_rows(browser, tmp_path)] == [
        "nothing_to_ground",
        "grounded",
        None,
    ]


def test_words_that_a_sentence_shares_are_marked_only_where_people_want_that(
    browser: webdriver.Chrome, open_page: Open
) -> None:
    find = open_page(page_of(draw(VERDICTS, 30, seed=3)))

    def shared_words() -> set[str]:
        ActionChains(browser).move_to_element(find("#row-title")[0]).perform()
        ActionChains(browser).move_to_element(find(".sentence")[0]).perform()
        return {mark.text.lower() for mark in find("mark.shared")[:20]}

    assert shared_words() == set()
    find("#marks")[0].click()
    assert shared_words() >= {"item", "costs", "euros"}
    ActionChains(browser).move_to_element(find("#row-title")[0]).perform()
    assert find("mark.shared") == []
