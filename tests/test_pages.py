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
    commands,
    name_of,
    pages,
    stand_ins,
    to_run,
)

LIGHT = {"docs/quickstart.md"}
"""The pages that are quick to run; the others belong to `make soak`."""

PAGES = [pytest.param(page, id=name_of(page)) for page in pages()]
BY_WEIGHT = [
    pytest.param(page, id=name_of(page), marks=[] if name_of(page) in LIGHT else pytest.mark.soak)
    for page in pages()
    if page != README  # which has a test of its own
]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_shown_only_or_listed_with_the_reason(page: Path) -> None:
    found = [*blocks(page)]
    assert [block for block in found if block.language not in RUN_HERE | SHOWN_ONLY] == []
    assert [block for block in to_run(page) if block.language == "console" and not [*commands(block)]] == []


@pytest.mark.parametrize("page", NOT_RUN)
def test_every_reason_belongs_to_a_block(page: str) -> None:
    if (ROOT / page).exists():
        names = {name for block in blocks(ROOT / page) for name in (block.name, f"* {block.language}")}
        assert NOT_RUN[page].keys() <= names


@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", BY_WEIGHT)
def test_the_blocks_of_a_page_run(page: Path) -> None:
    with stand_ins() as (_, _, environment):
        done = apart("run", page, environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_the_blocks_of_the_readme_ask_and_report() -> None:
    with stand_ins() as (endpoint, langsmith, environment):
        done = apart("run", README, environment)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "1.0 grounded True The context says so.\n" in done.stdout
    assert len(endpoint.requests) == 4  # one each: the core, LangSmith, DeepEval and LangChain
    sent = [(feedback["key"], feedback["score"]) for feedback in langsmith.feedback]
    assert sent[0] == ("groundedness", 1.0)
    assert ("groundedness_mean", 1.0) in sent


def test_links_of_the_readme_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith("https:") and not (ROOT / link).exists()] == []
