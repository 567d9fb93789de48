"""The report's file: what it holds, and what it can never do. tests/browser opens it."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hatchling.builders.wheel import WheelBuilder
from hypothesis import given
from hypothesis import strategies as st
from make_verdicts import error, verdict

from groundjudge import Case, Evidence, Part
from groundjudge.analysis.agreement import agree
from groundjudge.analysis.labels import Labels
from groundjudge.report.page import PAGE, report

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]>&lt;script&gt;",
    "\u2028\u2029\x00",
    "@@data@@",
)


def data_of(page: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_verdicts_come_with_their_cases_and_judges() -> None:
    part = Part(
        name="It opens at nine.",
        value=8,
        score=0.8,
        reason="r",
        evidence=(Evidence(quote="opens at nine", document=0, start=4, end=17, exact=True),),
    )
    data = data_of(
        report(
            [verdict("a", 0.8, parts=(part,), warnings=("odd",)), verdict("b", None), error("c", "timeout")],
            title="t",
            cases=[Case(id="a", response="Yes. It opens  at nine.", context=["It opens at nine daily."])],
        )
    )
    assert [(row["id"], row["status"], row.get("score"), row.get("case")) for row in data["verdicts"]] == [
        ("a", "ok", 0.8, 0),
        ("b", "not_applicable", None, None),
        ("c", "error", None, None),
    ]
    shown = data["verdicts"][0]["parts"][0]
    assert (shown["at"], shown["evidence"]) == ([[5, 23]], [{"at": [0, 4, 17]}])
    assert data["cases"] == [
        {
            "id": "a",
            "response": "Yes. It opens  at nine.",
            "context": [{"content": "It opens at nine daily."}],
        }
    ]
    (judge,) = data["judges"]
    assert (judge["n_ok"], judge["n_error"], judge["errors"], judge["calls"]) == (1, 1, {"timeout": 1}, 2)
    assert judge["histogram"][16] == [0, 1]


def test_scores_of_nothing_are_kept() -> None:
    (row,) = data_of(report([verdict("a", 0.0, value=0.0)], cases=[Case(id="a", response="r", context=[])]))[
        "verdicts"
    ]
    assert (row["score"], row["value"], row["case"], row["judge"], row["signature"]) == (0.0, 0.0, 0, 0, 0)


def test_aspects_of_a_response_are_not_looked_up_in_it() -> None:
    part = Part(name="recall", value=4, score=0.75)
    data = data_of(
        report([verdict("a", 0.75, parts=(part,))], cases=[Case(id="a", response="Total recall.")])
    )
    assert "at" not in data["verdicts"][0]["parts"][0]


def test_people_and_disagreements_are_on_the_page() -> None:
    verdicts = [verdict("a", 1.0), verdict("b", 1.0), verdict("c", 0.0)]
    labels = Labels({"a": 1, "b": 0})
    data = data_of(report(verdicts, labels=labels, agreements=agree(verdicts, labels, worst=9)))
    assert [(row.get("person"), row.get("differs", False)) for row in data["verdicts"]] == [
        (1.0, False),
        (0.0, True),
        (None, False),
    ]
    assert data["judges"][0]["agreement"]["confusion"] == {
        "hits": 1,
        "false_passes": 1,
        "misses": 0,
        "rejections": 0,
    }


def test_of_several_verdicts_on_a_case_the_last_is_shown() -> None:
    data = data_of(report([error("a", "timeout"), verdict("a", 1.0)]))
    assert ([row["status"] for row in data["verdicts"]], data["repeated"]) == (["ok"], 1)


def test_no_verdicts_make_a_page_too() -> None:
    assert data_of(report([]))["verdicts"] == []


@pytest.mark.parametrize("text", HOSTILE)
def test_judged_text_is_data_and_nothing_else(text: str) -> None:
    plain, page = (
        report(
            [verdict("a", 1.0, judge=told, reason=told, label=told, reply=told)],
            title=told,
            cases=[Case(id="a", query=told, response=told, context=[{"title": told, "content": told}])],
        )
        for told in ("plain", text)
    )
    assert (page.count("<"), page.count(">")) == (plain.count("<"), plain.count(">"))
    data = data_of(page)
    assert (data["title"], data["cases"][0]["response"], data["verdicts"][0]["reason"]) == (text, text, text)


@given(st.text())
def test_any_text_comes_through_as_it_is(text: str) -> None:
    case = Case(id="a", query="q", response=text, context=[{"content": text + "."}])
    shown = data_of(report([verdict("a", 1.0, reason=text)], cases=[case]))
    assert shown["verdicts"][0].get("reason", "") == text
    assert (shown["cases"][0].get("response", ""), shown["cases"][0]["context"][0]["content"]) == (
        text,
        text + ".",
    )


def test_the_policy_allows_the_pages_own_style_and_script_and_no_network() -> None:
    page = report([verdict("a", 1.0)])
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    allowed = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert (allowed["default-src"], allowed["img-src"]) == ("'none'", "data:")
    for rule, code in (("script-src", re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[-1]),
                       ("style-src", re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[-1])):  # fmt: skip
        assert allowed[rule] == f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"
    assert "unsafe" not in policy[1]


def test_the_page_names_no_address_and_reads_no_text_as_html() -> None:
    code = "".join(file.read_text() for file in PAGE.iterdir())
    assert set(re.findall(r"https?://[^\"'\s)]+", code)) == {"http://www.w3.org/2000/svg"}
    reading = ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "srcdoc")
    fetching = ("fetch(", "XMLHttp", "WebSocket", "sendBeacon", "@import", "url(", "src=")
    assert [way for way in (*reading, *fetching) if way in code] == []


def test_the_same_verdicts_give_the_same_page() -> None:
    verdicts = [verdict("a", 1.0), verdict("b", 0.0, judge="two")]
    assert report(verdicts) == report(verdicts)


def test_the_page_is_in_the_wheel() -> None:
    builder = WheelBuilder(str(Path(__file__).parents[2]))
    held = {file.distribution_path for file in builder.recurse_included_files()}
    assert {f"groundjudge/report/{name}" for name in ("page.html", "page.css", "page.js")} <= held
