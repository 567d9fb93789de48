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

LIGHT = [page for page in pages() if name_of(page) in {"README.md", "docs/quickstart.md"}]
"""The pages that are quick to run; the others belong to `make soak`."""

IN_LANGSMITH = "from langsmith import"
"""LangSmith keeps the environment that it first meets: a block with it runs in a process of its own."""

PAGES = [pytest.param(page, id=name_of(page)) for page in pages()]


@pytest.mark.parametrize("page", PAGES)
def test_every_block_is_run_or_shown_only_or_listed_with_the_reason(page: Path) -> None:
    page_blocks = [*blocks(page)]
    assert [block for block in page_blocks if block.language not in RUN_HERE | SHOWN_ONLY] == []
    assert [block for block in to_run(page) if block.language == "console" and not [*commands(block)]] == []


@pytest.mark.parametrize("page", NOT_RUN)
def test_every_reason_belongs_to_a_block(page: str) -> None:
    if (ROOT / page).exists():
        names = {name for block in blocks(ROOT / page) for name in (block.name, f"* {block.language}")}
        assert NOT_RUN[page].keys() <= names


@pytest.mark.parametrize("page", [pytest.param(page, id=name_of(page)) for page in LIGHT])
def test_light_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with stand_ins() as (endpoint, _, environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        check(page, [block for block in to_run(page) if IN_LANGSMITH not in block.code])
    if page == README:
        assert "1.0 grounded True\n" in capsys.readouterr().out
        assert len(endpoint.requests) == 2  # one each: DeepEval and LangChain


@pytest.mark.soak
def test_langsmith_block_of_the_readme_sends_its_feedback() -> None:
    with stand_ins() as (endpoint, langsmith, environment):
        process = apart(environment, "run", README, IN_LANGSMITH)
    assert process.returncode == 0, process.stderr
    feedback_sent = [(feedback["key"], feedback["score"]) for feedback in langsmith.feedback]
    assert feedback_sent[0] == ("groundedness", 1.0)
    assert ("groundedness_mean", 1.0) in feedback_sent
    assert len(endpoint.requests) == 1


@pytest.mark.soak
@pytest.mark.timeout(900)
@pytest.mark.parametrize("page", PAGES)
def test_page_runs_in_a_process_of_its_own(page: Path) -> None:
    with stand_ins() as (_, _, environment):
        process = apart(environment, "run", page)
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-3000:]


def test_links_of_the_readme_lead_to_files() -> None:
    links = re.findall(r"\]\(([^)#]+)", README.read_text(encoding="utf-8"))
    assert [link for link in links if not link.startswith("https:") and not (ROOT / link).exists()] == []
