"""A scorecard has no place for a reason beside a quote: the verdict's reason says why sentences score low."""

from __future__ import annotations

import pytest

from groundjudge import Verdict, load
from groundjudge.offline.model import NOTICE

MUSEUM = (
    "The wool museum opened in 1932 and has 40 rooms. It is open on Sundays. Dogs are not allowed. "
    "Adults pay 12 euros. The roof is flat and made of copper from Wales."
)
LONG_NAME = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"


def verdict_of(response: str, threshold: float = 0.6) -> Verdict:
    judge = load("statement_groundedness", model="offline", threshold=threshold)
    return judge.judge({"context": MUSEUM, "response": response})


REASONS = [
    pytest.param("The wool museum opened in 1932.", "", id="passed"),
    pytest.param(
        "The museum has 45 rooms and a café.",
        "Backed in part: “The museum has 45 rooms and a café.” (not found: 45, café).",
        id="words that the source lacks",
    ),
    pytest.param(
        "My dogs are not allowed.",
        "Backed in part: “My dogs are not allowed.” (not found: My).",
        id="a speaker that the source lacks",
    ),
    pytest.param(
        "Dogs are allowed.",
        "Not backed: “Dogs are allowed.” (one denies what the other says).",
        id="the opposite",
    ),
    pytest.param("Penguins hunt for small fish.", "", id="nothing found, as its own part says"),
    pytest.param("Adults pay 14 euros.", "", id="another number, as its own part says"),
    pytest.param("Good morning!", "", id="no claim"),
    pytest.param(
        "It is open on Sundays.\n\nThe museum has a café and a cinema. Adults pay 12 euros. Penguins swim.",
        "Backed in part: “The museum has a café and a cinema.” (not found: café, cinema).",
        id="one of several",
    ),
    pytest.param(
        "The museum has a café. The museum has a café.",
        "Backed in part: “The museum has a café.” (not found: café).",
        id="a sentence that is repeated",
    ),
    pytest.param(
        "The museum has\n  a café.",
        "Backed in part: “The museum has a café.” (not found: café).",
        id="a line break in a sentence",
    ),
    pytest.param(
        "The museum has a café. The museum has a café, a cinema and a tower. It is open on Mondays. "
        "Dogs are allowed.",
        "Backed in part: “The museum has a café, a cinema and a tower.” (not found: café, cinema, tower). "
        "Backed in part: “It is open on Mondays.” (not found: Mondays). More below the pass mark: 2.",
        id="many: the worst first, and how many more",
    ),
    pytest.param(
        f"The wool museum of {LONG_NAME}, which opened in 1932 and has 40 rooms, a roof of copper "
        "from Wales, which is flat, and a café, is open on Sundays.",
        f"Backed in part: “The wool museum of {LONG_NAME}, which opened in 1932 and has 40 rooms, "
        f"a roof of copper from Wales, which is fla…” (not found: {LONG_NAME[:30]}, café).",
        id="a long sentence and a long word",
    ),
]


@pytest.mark.parametrize(("response", "reason"), REASONS)
def test_reason_says_why_sentences_beside_a_quote_are_below_the_pass_mark(response: str, reason: str) -> None:
    assert verdict_of(response).reason == f"{reason} {NOTICE}".lstrip()


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        pytest.param(
            "The dogs pay euros on Sundays.",
            "Backed in part: “The dogs pay euros on Sundays.” (found, but not together).",
            id="words of different sentences",
        ),
        pytest.param(
            "The wool museum in Cardiff has 40 rooms.",
            "Backed in part: “The wool museum in Cardiff has 40 rooms.” (not found: Cardiff).",
            id="passed by the judge's own mark",
        ),
        pytest.param("It is open on Sundays.", "", id="more than the baseline ever gives"),
    ],
)
def test_pass_mark_is_that_of_the_judge_in_use(response: str, reason: str) -> None:
    assert verdict_of(response, threshold=1.0).reason == f"{reason} {NOTICE}".lstrip()


def test_reason_of_a_long_response_stays_short() -> None:
    response = " ".join(f"The museum has {number} cafés and {LONG_NAME * 9}." for number in range(50, 250))

    assert len(verdict_of(response).reason) < 1_000
