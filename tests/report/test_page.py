"""The report as a file: its data, and that judged text stays data. tests/browser opens it in a browser."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from make_verdicts import error, labelled, panel_verdict, verdict, vote
from scripted_model import ScriptedModel

import groundjudge
from groundjudge import Case, Verdict, load
from groundjudge.errors import WARNINGS, explain_code
from groundjudge.lab.agreement import agree
from groundjudge.lab.labels import Labels, LabelVocabulary
from groundjudge.report.page import report
from groundjudge.types import Evidence, Part

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(1)><!--<script>"
    "]]>&lt;script&gt;\u2028\u2029\x00@@data@@"
)


def data_of(page: str) -> dict[str, Any]:
    script = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert script
    data: dict[str, Any] = json.loads(script[1])
    return data


def test_data_holds_verdicts_cases_and_judges() -> None:
    evidence = (Evidence(quote="opens at nine", document=0, start=4, end=17, exact=True),)
    part = Part(name="It opens at nine.", value=8, score=0.8, reason="r", evidence=evidence)
    verdicts = [
        verdict("a", 0.8, parts=(part,), warnings=("odd",)),
        verdict("b", None),
        error("c", "timeout"),
    ]
    case = Case(id="a", response="Yes. It opens  at nine.", context=["It opens at nine daily."])
    data = data_of(report(verdicts, title="t", cases=[case]))
    assert [(row["id"], row["status"], row.get("score"), row.get("case")) for row in data["verdicts"]] == [
        ("a", "ok", 0.8, 0),
        ("b", "not_applicable", None, None),
        ("c", "error", None, None),
    ]
    part_shown = data["verdicts"][0]["parts"][0]
    assert (part_shown["at"], part_shown["evidence"]) == ([[5, 23]], [{"at": [0, 4, 17]}])
    context = [{"content": "It opens at nine daily."}]
    assert data["cases"] == [{"id": "a", "response": "Yes. It opens  at nine.", "context": context}]
    (judge,) = data["judges"]
    assert (judge["n_ok"], judge["n_error"], judge["errors"], judge["calls"]) == (1, 1, {"timeout": 1}, 2)
    assert judge["histogram"][16] == [0, 1]


def test_warnings_that_occur_are_explained_by_the_table_of_codes() -> None:
    codes = (*WARNINGS, "odd")
    data = data_of(report([verdict("a", 0.8, warnings=codes), verdict("b", 0.9)]))
    assert data["warnings"] == {code: explain_code("warnings", code)[0] for code in codes}
    assert [code for code, meaning in data["warnings"].items() if not meaning] == ["odd"]


def test_zeros_are_not_left_out_as_empty() -> None:
    case = Case(id="a", response="r", context=[])
    (row,) = data_of(report([verdict("a", 0.0, value=0.0)], cases=[case]))["verdicts"]
    assert (row["score"], row["value"], row["case"], row["judge"], row["signature"]) == (0.0, 0.0, 0, 0, 0)


def test_part_that_is_an_aspect_is_not_looked_up_in_the_response() -> None:
    part = Part(name="recall", value=4, score=0.75)
    case = Case(id="a", response="Total recall.")
    data = data_of(report([verdict("a", 0.75, parts=(part,))], cases=[case]))
    assert "at" not in data["verdicts"][0]["parts"][0]


def test_numbered_sentences_and_their_evidence_have_numbers_and_places_without_a_search() -> None:
    case = Case(id="a", response="At nine. At nine.", context=["Dogs may not. It opens at nine."])
    judge = groundjudge.load(
        "statement_groundedness",
        model=ScriptedModel("1 | 2 | - | 10\n2 | 1-2 | not dogs | 3\nALL | 20"),
    )
    judged = judge.judge(case)
    page = data_of(report([judged], cases=[case]))
    (row,) = page["verdicts"]
    assert (row["score"], row["scores"]) == (0.2, [["mean", 0.65], ["weakest", 0.3]])
    first, second = [(part["number"], part["at"], part["evidence"]) for part in row["parts"]]
    dogs, nine = {"number": 1, "at": [0, 0, 13]}, {"number": 2, "at": [0, 14, 31]}
    assert first == (1, [[0, 8]], [nine])
    assert second == (2, [[9, 17]], [dogs, nine])
    (shown,) = page["judges"]
    assert (shown["scores"], shown["histogram"][4]) == ({"mean": 0.65, "weakest": 0.3}, [1, 0])
    (without_case,) = data_of(report([judged]))["verdicts"]
    assert without_case["parts"][0]["evidence"] == [{**nine, "quote": "It opens at nine."}]
    assert "at" not in without_case["parts"][0]


def test_citations_lead_to_the_passage_that_bears_their_sentence_out() -> None:
    judge = load("statement_groundedness", model="offline", citations=True)
    response = "It opens at nine [2]. Tea costs two euros [2]. It is free [9]."
    case = Case(id="a", response=response, context=["It opens at nine.", "Tea costs two euros."])
    shown = data_of(report([judge.judge(case)], title="t", cases=[case]))["verdicts"][0]["citations"]
    assert shown == [
        {
            "at": [17, 20],
            "finding": "wrong_document",
            "note": "[2] does not say this; [1] does",
            "passage": [0, 0],
        },
        {"at": [42, 45], "finding": "supported", "passage": [1, 0]},
        {"at": [58, 61], "finding": "dangling", "note": "there is no source [9]"},
    ]


def test_verdicts_of_an_older_version_are_shown_as_they_were() -> None:
    evidence = {"quote": "opens at nine", "document": 0, "start": 3, "end": 16, "exact": False}
    part = {"name": "It opens.", "value": 3, "score": 0.3, "evidence": [evidence]}
    old = {"judge": "j", "status": "ok", "score": 0.8, "weakest": 0.3, "passed": False, "case_id": "a"}
    case = Case(id="a", response="Yes. It opens.", context=["It opens at nine."])
    page = data_of(report([Verdict.model_validate({**old, "parts": [part]})], cases=[case]))
    (row,) = page["verdicts"]
    assert (row["score"], row["weakest"], "scores" in row) == (0.8, 0.3, False)
    assert row["parts"] == [
        {"name": "It opens.", "score": 0.3, "value": 3, "at": [[5, 14]]}
        | {"evidence": [{"at": [0, 3, 16], "near": True, "quote": "opens at nine"}]}
    ]
    assert page["judges"][0]["histogram"][16] == [1, 0]  # the score that stands beside it


def test_human_labels_and_disagreements_are_in_the_data() -> None:
    verdicts = [verdict("a", 1.0), verdict("b", 1.0), verdict("c", 0.0)]
    labels = Labels({"a": 1, "b": 0})
    data = data_of(report(verdicts, labels=labels, agreements=agree(verdicts, labels, worst=9)))
    rows = [(row.get("human"), row.get("disagrees", False)) for row in data["verdicts"]]
    assert rows == [(1.0, False), (0.0, True), (None, False)]
    confusion = data["judges"][0]["agreement"]["confusion"]
    assert {name: n for name, n in confusion.items() if n} == {"true_positives": 1, "false_positives": 1}


def test_peoples_words_are_shown_as_the_judge_writes_them() -> None:
    verdicts = [
        labelled("a", "supported", 1.0),
        labelled("b", "not supported", 0.0),
        labelled("c", "n/a", None),
    ]
    vocabulary = LabelVocabulary({"not supported": 0.0, "supported": 1.0, "n/a": None}, 0.5)
    labels = Labels({"a": "Not_Supported.", "b": "not supported", "c": "N/A"}, vocabulary=vocabulary)
    data = data_of(report(verdicts, labels=labels, agreements=agree(verdicts, labels, worst=9)))
    assert [(row["human"], row["label"], row.get("disagrees", False)) for row in data["verdicts"]] == [
        ("not supported", "supported", True),
        ("not supported", "not supported", False),
        ("n/a", "n/a", False),
    ]
    matrix = data["judges"][0]["agreement"]["labels"]
    assert matrix["columns"] == ["not supported", "supported", "n/a"]
    assert matrix["counts"] == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_votes_are_in_the_data_with_their_replies_where_they_differ() -> None:
    failed = vote("m3", None, error={"code": "timeout", "message": "slow"})
    votes = [vote("m1", 1.0, label="yes", reply="Yes."), vote("m2", 0.0, reply="No."), failed]
    same = [vote("m1", 1.0, reply="Yes."), vote("m2", 1.0, reply="Yes.")]
    verdicts = [
        panel_verdict("a", *votes, agreement=1 / 3, spread=0.5),
        panel_verdict("b", *same, spread=0.0),
    ]
    data = data_of(report(verdicts))
    split, unanimous = data["verdicts"]
    assert [row.pop("judge") for row in split["votes"]] == ["one"] * 3
    assert split["votes"] == [
        {"model": "m1", "status": "ok", "score": 1.0, "label": "yes", "passed": True, "reply": "Yes."},
        {"model": "m2", "status": "ok", "score": 0.0, "reply": "No."},
        {"model": "m3", "status": "error", "error": ["timeout", "slow"]},
    ]
    assert (split["agreement"], split["spread"]) == (1 / 3, 0.5)
    assert (unanimous["agreement"], unanimous["spread"]) == (1.0, 0.0)
    assert [row.get("reply") for row in unanimous["votes"]] == [None, None]
    (judge,) = data["judges"]
    assert judge["split_rate"] == 0.5
    assert judge["vote_agreement"] == pytest.approx(2 / 3)


def test_weighted_verdicts_have_their_probabilities_and_parts_their_labels() -> None:
    parts = (
        Part(name="recall", value=None, score=None, label="n/a"),
        Part(name="tone", value=0, score=0.0, label="no"),
        Part(name="depth", value=1, score=1.0, distribution={"1": 0.8, "0": 0.2}, confidence=0.6),
        Part(name="style", value=1, score=1.0, distribution={}),
    )
    weighted = verdict("a", 0.9, value=1, expected=0.9, distribution={"yes": 0.9, "no": 0.1}, parts=parts)
    (row,) = data_of(report([weighted]))["verdicts"]
    assert (row["expected"], row["distribution"]) == (0.9, [["yes", 0.9], ["no", 0.1]])
    assert row["parts"] == [
        {"name": "recall", "label": "n/a"},
        {"name": "tone", "score": 0.0, "value": 0, "label": "no"},
        {
            "name": "depth",
            "score": 1.0,
            "value": 1,
            "confidence": 0.6,
            "distribution": [["1", 0.8], ["0", 0.2]],
        },
        {"name": "style", "score": 1.0, "value": 1},
    ]


def test_empty_distribution_is_left_out_as_the_script_lists_pairs_alone() -> None:
    (row,) = data_of(report([verdict("a", 0.9, distribution={})]))["verdicts"]
    assert "distribution" not in row


def test_last_of_several_verdicts_on_a_case_is_shown() -> None:
    data = data_of(report([error("a", "timeout"), verdict("a", 1.0)]))
    assert ([row["status"] for row in data["verdicts"]], data["n_repeated"]) == (["ok"], 1)


def test_no_verdicts_make_an_empty_page() -> None:
    assert data_of(report([]))["verdicts"] == []


def page_with(text: str) -> str:
    """A page with a text wherever a text can be."""
    votes = vote(text, 1.0, label=text, reply=text), vote(text, 0.0)
    verdicts = [
        verdict("a", 1.0, judge=text, reason=text, label=text, reply=text),
        panel_verdict("b", *votes, agreement=0.5),
        verdict("c", 1.0, distribution={text: 1.0}, expected=1.0),
    ]
    case = Case(id="a", query=text, response=text, context=[{"title": text, "content": f"{text}."}])
    return report(verdicts, title=text, cases=[case])


PLAIN = page_with("plain")


@example(HOSTILE)
@given(st.text())
def test_any_text_is_embedded_unchanged_and_adds_no_markup(text: str) -> None:
    page = page_with(text)
    for sign in "<>":
        assert page.count(sign) == PLAIN.count(sign)
    data = data_of(page)
    (case,) = data["cases"]
    verdict_row = data["verdicts"][0]
    assert data["title"] == case.get("response", "") == verdict_row.get("reason", "") == text
    assert case["context"][0]["content"] == f"{text}."


def test_content_security_policy_allows_the_pages_own_style_and_script_alone() -> None:
    page = report([verdict("a", 1.0)])
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    allowed = dict(rule.split(" ", 1) for rule in policy[1].split("; "))
    assert (allowed["default-src"], allowed["img-src"]) == ("'none'", "data:")
    script = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)[-1]
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)[-1]
    for rule, code in (("script-src", script), ("style-src", style)):
        assert allowed[rule] == f"'sha256-{b64encode(sha256(code.encode()).digest()).decode()}'"
    assert "unsafe" not in policy[1]


PACKAGE = Path(groundjudge.__file__).parent


def test_page_has_no_url_and_no_code_that_parses_html_or_fetches() -> None:
    folders = (PACKAGE / "report", PACKAGE / "lab")
    parts = [
        file for folder in folders for file in folder.iterdir() if file.suffix in {".js", ".css", ".html"}
    ]
    code = "".join(file.read_text() for file in parts)
    assert set(re.findall(r"https?://[^\"'\s)]+", code)) == {"http://www.w3.org/2000/svg"}
    parsing = ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(", "srcdoc")
    fetching = ("fetch(", "XMLHttp", "WebSocket", "sendBeacon", "@import", "url(", "src=")
    assert [call for call in (*parsing, *fetching) if call in code] == []


def test_same_verdicts_give_the_same_page() -> None:
    verdicts = [verdict("a", 1.0), verdict("b", 0.0, judge="two")]
    assert report(verdicts) == report(verdicts)
