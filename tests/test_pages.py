"""README.md and docs: every code block runs, and every command prints what is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import (
    NOT_RUN,
    README,
    ROOT,
    RUN_HERE,
    SHOWN_ONLY,
    apart,
    blocks,
    check,
    commands,
    name_of,
    pages,
    stand_ins,
    to_run,
)

from groundjudge import load

LIGHT = [page for page in pages() if name_of(page) in {"README.md", "docs/index.md"}]
"""The pages that are quick to run; the others belong to `make soak`."""

IN_LANGSMITH = "from langsmith import"
"""LangSmith keeps the environment that it first meets: a block with it runs in a process of its own."""


def test_every_block_is_run_or_shown_only_or_listed_with_the_reason() -> None:
    for page in pages():
        assert not [block for block in blocks(page) if block.language not in RUN_HERE | SHOWN_ONLY], page
        consoles = [block for block in to_run(page) if block.language == "console"]
        assert not [block for block in consoles if not [*commands(block)]], page


@pytest.mark.parametrize("page", NOT_RUN)
def test_every_reason_belongs_to_a_block(page: str) -> None:
    if (ROOT / page).exists():
        names = {name for block in blocks(ROOT / page) for name in (block.name, f"* {block.language}")}
        assert NOT_RUN[page].keys() <= names


@pytest.mark.parametrize("page", LIGHT, ids=name_of)
def test_light_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with stand_ins() as (endpoint, _, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        check(page, [block for block in to_run(page) if IN_LANGSMITH not in block.code])
    if page == README:
        assert len(endpoint.requests) == 2  # one each: DeepEval and LangChain


@pytest.mark.soak
def test_langsmith_block_of_the_readme_sends_its_feedback() -> None:
    with stand_ins() as (endpoint, langsmith, environment):
        process = apart(environment, "run", README, IN_LANGSMITH)
    assert process.returncode == 0, process.stderr
    assert [(feedback["key"], feedback["score"]) for feedback in langsmith.feedback] == [
        ("groundedness", 1.0)
    ]
    assert len(endpoint.requests) == 1


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", [page for page in pages() if page not in LIGHT], ids=name_of)
def test_page_runs_in_a_process_of_its_own(page: Path) -> None:
    with stand_ins() as (_, _, environment):
        process = apart(environment, "run", page)
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]


LINK = re.compile(r"\]\((?P<path>[^)#]*)#?(?P<anchor>[^)]*)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def test_links_of_the_readme_lead_to_files_and_headings() -> None:
    for link in LINK.finditer(README.read_text(encoding="utf-8")):
        target = ROOT / link["path"]
        assert target.exists(), link[0]
        if link["anchor"]:
            headings = HEADING.findall(target.read_text(encoding="utf-8"))
            anchors = [re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings]
            assert link["anchor"] in anchors, link[0]


def test_readme_is_read_in_three_minutes() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= 700


EXAMPLES = {
    # the source of an example on the first pages -> the response that they show
    "The library opens at 9:00 on weekdays. It is closed on Sundays.": "It opens at 9:00 on weekdays.",
    "We open at 9 on weekdays.": "We open at 9.",
}


@pytest.mark.parametrize(("source", "response"), EXAMPLES.items())
def test_examples_of_the_first_pages_pass_offline(source: str, response: str) -> None:
    readme = README.read_text(encoding="utf-8")
    assert f'"{source}"' in readme
    assert f'"{response}"' in readme
    assert _is_passed_offline(source, response)


@pytest.mark.parametrize(
    "response",
    [
        pytest.param("It opens at 10:00 on weekdays.", id="another hour"),
        pytest.param("It opens at 9:00 on Sundays.", id="the day of another sentence"),
        pytest.param("It opens at 9:00 on Saturdays.", id="a day that the source does not name"),
        pytest.param("It closes at 9:00 on weekdays.", id="closes for opens"),
        pytest.param("The museum opens at 9:00 on weekdays.", id="another place"),
        pytest.param("We open at 8.", id="another hour, in the short example"),
    ],
)
def test_examples_of_the_first_pages_do_not_pass_with_one_word_changed(response: str) -> None:
    assert not any(_is_passed_offline(source, response) for source in EXAMPLES)


def _is_passed_offline(source: str, response: str) -> bool:
    case = {"query": "When does the library open?", "context": [source], "response": response}
    return load("groundedness", model="offline").judge(case).passed is True
